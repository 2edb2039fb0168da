"""Bids read, and each as an offer: prices laid over the book's, counts of its lots, charges.

Every amount of a quote counts once: a product of the catalogs at its price per unit, anything else
as a charge on the order. The price book fills the rest.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.case import missing_figure, why_not_wanted
from planner.case.figures import unit_net_usd
from planner.errors import Finding, InputError
from planner.files import contents, json_of
from planner.inputs import Inputs
from planner.loader.documents import findings, read
from planner.loader.prices import today
from planner.quotes import QuoteOptions, read_quote
from planner.quotes.cells import date_of
from planner.quotes.lines import COUNTED
from planner.quotes.products import supported_categories, unlikely_prices
from planner.schema.bill import BidCharge, ChargeKind, Quote, Quoted, QuoteLine, QuoteMap
from planner.schema.catalog import Item, Source
from planner.schema.prices import Discount, Price, YearlySupport
from planner.schema.problem import Quantity

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOTS = ("gpu_system", "storage")
"""Categories with counts to decide; all other products follow from them."""
IMPORT = "planner quote import {}"
_RECORD = "give the FILE.quote.json that planner quote import writes"
_MOST_BYTES, _MOST, _LONGEST = 200_000_000, 1e15, 10_000
"""Limits of a record: bytes, figures, texts."""
_CHARGES: Mapping[str, ChargeKind] = {
    "service": "service",
    "support": "support",
    "freight": "freight",
    "discount": "other",
    "item": "unknown",
}


def read_bids(
    files: Sequence[Path], inputs: Inputs, rates: Sequence[str] = ()
) -> tuple[Quote, ...]:
    """Quotes in the order of their files: XLSX and CSV, or what `quote import` read of them.

    The vendor of an XLSX or CSV file is called after it.

    Args:
        rates: as ``EUR=1.08``, over those of the problem.

    Raises:
        InputError: a file or a rate is wrong.
    """
    twice = next((path for path in files if files.count(path) > 1), None)
    if not files:
        fix = "give the vendors' files: planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise _wrong("there is no bid to evaluate", fix)
    if len(files) > len(LETTERS) or twice is not None:
        message = f"{len(files)} bids, and {len(LETTERS)} are compared at most"
        message = message if twice is None else f"'{twice}' is given twice"
        raise _wrong(message, "leave some out")
    known = {code: each.usd for code, each in inputs.problem.currencies.items()}
    quotes: list[Quote] = []
    for path in files:
        options = read_options(inputs.by_id, vendor=path.stem, rates=rates, known=known)
        quote = _read_bid(path, options, inputs.by_id)
        remarks = [*quote.findings, *unlikely_prices(quote.prices, inputs.prices)]
        if quote.valid_until and datetime.date.fromisoformat(quote.valid_until) < today():
            remarks.append(f"expired on {quote.valid_until}: request it anew")
        if quote.vendor in {each.vendor for each in quotes}:
            fix = f"name one: {IMPORT.format(quote.file)} --vendor NAME"
            raise _wrong(f"two bids are called '{quote.vendor}'", fix)
        quotes.append(quote.model_copy(update={"findings": tuple(dict.fromkeys(remarks))}))
    return tuple(quotes)


def _read_bid(path: Path, options: QuoteOptions, items: Mapping[str, Item]) -> Quote:
    """A vendor's file, or the record of one that was read with statements on it."""
    if path.suffix == ".json":
        data = json_of(contents(path, most_bytes=_MOST_BYTES, what="quote"), str(path), _RECORD)
        with suppress(ValidationError):
            quote = Quote.model_validate(data)
            if _is_possible(quote, data):
                return quote
        raise InputError(Finding("quote", "no quote as read", str(path), fix=_RECORD))
    try:
        return read_quote(path, options, items)
    except InputError as error:
        stated = re.search(r"--(date \S+|currency \S+|map)", error.findings[0].fix or "")
        if stated is None:
            raise
        fix = f"{IMPORT.format(path)} {stated[0]}, then give {path.stem}.quote.json here"
        raise error.placed(fix=fix) from None


def _is_possible(quote: Quote, data: Any) -> bool:
    """True of a record, and of its data, that reading a file can have made."""

    def parts(value: Any) -> Iterator[Any]:
        if not isinstance(value, dict | list):
            yield value
            return
        for each in value.values() if isinstance(value, dict) else value:
            yield from parts(each)

    days = {quote.date, quote.valid_until or quote.date}
    return (
        all(
            len(each) <= _LONGEST if isinstance(each, str) else abs(each or 0.0) < _MOST
            for each in parts(data)
        )
        and all((day := date_of(text)) is not None and day.isoformat() == text for text in days)
        and all(price.quantity > 0.0 and price.net_usd >= 0.0 for price in quote.prices)
        and quote.usd_per_unit > 0.0
        and quote.schema_version == Quote.model_fields["schema_version"].default
    )


def read_options(
    items: Mapping[str, Item],
    *,
    vendor: str,
    mapping: Path | None = None,
    date: str | None = None,
    currency: str | None = None,
    rates: Sequence[str] = (),
    known: Mapping[str, float] | None = None,
) -> QuoteOptions:
    """Options of the command line; ``rates`` as ``EUR=1.08``, over the ``known`` ones.

    Raises:
        InputError: an option is wrong, or the mapping names an item that is none.
    """
    usd, day = dict(known or {}), None if date is None else date_of(date)
    if not vendor.strip():
        raise _wrong("--vendor is empty", "give the name of the vendor")
    if date is not None and (day is None or day.isoformat() != date):
        raise _wrong(f"'{date}' is no date of --date", "write it as 2026-11-20")
    if currency is not None and not re.fullmatch(r"[A-Z]{3}", currency):
        raise _wrong(f"'{currency}' is no currency of --currency", "write it as EUR")
    for text in rates:
        match = re.fullmatch(r"([A-Z]{3})=(\d+(?:\.\d+)?)", text)
        if match is None or float(match[2]) <= 0.0:
            raise _wrong(f"'{text}' is no rate", "write it as --rate EUR=1.08")
        usd[match[1]] = float(match[2])
    layout = QuoteMap(quote_map="none") if mapping is None else _read_mapping(mapping, items)
    return QuoteOptions(vendor.strip(), layout, date, currency, usd)


def _read_mapping(path: Path, items: Mapping[str, Item]) -> QuoteMap:
    document = read(path, "mapping")
    try:
        mapping = QuoteMap.model_validate(document.data)
    except ValidationError as error:
        raise InputError(findings(error, document, QuoteMap)) from None
    unknown = next((item for item in mapping.items.values() if item not in items), None)
    if unknown is not None:
        message = f"the mapping names '{unknown}', which no catalog in use has"
        fix = "see planner catalog, or give the catalog's problem with --problem"
        raise InputError(Finding("unknown-item", message, str(path), fix=fix))
    return mapping


def _wrong(message: str, fix: str) -> InputError:
    return InputError(Finding("option", message, fix=fix))


# Offers


@dataclass(frozen=True)
class OfferedProduct:
    """A catalog item as offered."""

    item: Item
    units: float
    price: Price
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """A bid: products by id and charges on the order, both net of ``rebate`` on the whole.

    ``title`` is the price book of its prices; ``open`` are reasons why it cannot be evaluated.
    """

    key: str
    quote: Quote
    products: Mapping[str, OfferedProduct]
    charges: tuple[BidCharge, ...]
    rebate: float
    title: str
    open: tuple[str, ...] = ()

    def lot(self, category: str) -> dict[str, OfferedProduct]:
        """Its products of a category."""
        return {id_: each for id_, each in self.products.items() if each.item.category == category}


def make_offer(key: str, quote: Quote, inputs: Inputs) -> Offer:
    """The offer of a quote on a problem.

    Args:
        key: its letter.
        quote: the quote, with items of the problem's catalogs.
        inputs: the problem.
    """
    counted = [line for line in quote.lines if line.kind in COUNTED and line.amount]
    off = -math.fsum(min(line.amount or 0.0, 0.0) for line in counted)
    total = math.fsum(max(line.amount or 0.0, 0.0) for line in counted)
    rebate = off / total if total and off < total else 0.0
    known = {each.item for each in quote.prices} & inputs.by_id.keys()
    known |= {line.item or "" for line in quote.lines if line.kind == "included" and line.quantity}
    support = {cell for price in quote.prices for cell in price.support_cells}
    charges = tuple(
        BidCharge(
            kind=_CHARGES[line.kind],
            label=line.description or line.part_number,
            usd=(line.amount or 0.0) * quote.usd_per_unit * (1.0 - rebate),
            cells=(price_cell(line),),
        )
        for line in counted
        if not (line.kind == "item" and line.item in known)
        and price_cell(line) not in support
        and not ((line.amount or 0.0) < 0.0 and rebate)  # taken off every price
    )
    title = f"Bid {key}, {quote.vendor} of {quote.date}, file {quote.file}"
    if quote.currency != "USD":
        title += f", 1 {quote.currency} = {quote.usd_per_unit:.6g} USD"
    offer = Offer(key, quote, {}, charges, rebate, title)
    offer = replace(offer, products=dict(_products(offer, inputs)))
    return replace(offer, open=tuple(_open_reasons(offer, inputs)))


def price_cell(line: QuoteLine) -> str:
    """Cell of a line's price, or its row."""
    return line.cells.get("amount") or line.cells.get("unit_net") or f"row {line.row}"


def _products(offer: Offer, inputs: Inputs) -> Iterator[tuple[str, OfferedProduct]]:
    """Yield products, net of the rebate; units that come free lower the price of the others."""
    included: dict[str, list[QuoteLine]] = defaultdict(list)
    for line in offer.quote.lines:
        if line.kind == "included" and line.item is not None and line.quantity:
            included[line.item].append(line)
    priced = {price.item: price for price in offer.quote.prices}
    for id_ in {**priced, **included}:
        if id_ not in inputs.by_id:
            continue
        item, quoted, free = inputs.by_id[id_], priced.get(id_), included.get(id_, [])
        units, cells = (
            math.fsum(line.quantity or 0.0 for line in free),
            tuple(map(price_cell, free)),
        )
        share = 0.0
        if quoted is not None:
            units, cells = units + quoted.quantity, (*quoted.cells, *cells)
            share = (1.0 - offer.rebate) * quoted.quantity / units
        price = _offered_price(item, offer, inputs, quoted, share, free=bool(free))
        note = f"bid {offer.key}, {offer.quote.file}: {', '.join(cells)}"[:1000]
        yield id_, OfferedProduct(item, units, price.model_copy(update={"note": note}), cells)


def _offered_price(
    item: Item, offer: Offer, inputs: Inputs, quoted: Quoted | None, share: float, *, free: bool
) -> Price:
    """Price of a product as a price book has it; ``share`` of the quoted one.

    Support that is not quoted, and subscriptions, are the book's.
    """
    book = inputs.prices.get(item.id)
    more: dict[str, Any] = {"valid_until": offer.quote.valid_until or None}
    if book is not None:
        names = ("per_year_usd", "per_year_low_usd", "per_year_high_usd", "lead_time")
        more |= {name: getattr(book, name) for name in names}
    yearly, years = None, None
    if quoted is not None:
        yearly, years = quoted.support_usd_per_year, quoted.support_included_years
        more |= {"lead_time": quoted.lead_time} if quoted.lead_time else {}
    supports = [
        supported_categories(each.label) for each in offer.charges if each.kind == "support"
    ]
    if yearly is not None or years is not None:
        if yearly is not None:
            more["support_per_year"] = YearlySupport.model_construct(usd=yearly * share)
        more |= {"support_included_years": years or 0.0, "support_source": "quote"}
        more["support_confidence"] = "high"
    elif book is not None and not any(not each or item.category in each for each in supports):
        for name in ("per_year", "included_years", "source", "confidence"):
            more[f"support_{name}"] = getattr(book, f"support_{name}")
        if free:  # a share of nothing is nothing
            net = unit_net_usd(item, book, inputs.discounts, inputs.problem.shown_in)
            usd = book.support_usd_per_year(net)
            more["support_per_year"] = YearlySupport.model_construct(usd=usd)
    return _price(0.0 if quoted is None else quoted.net_usd * share, offer, **more)


def _price(usd: float, offer: Offer, **more: Any) -> Price:
    date = offer.quote.date
    return Price.model_construct(list_usd=usd, date=date, source="quote", confidence="high", **more)


def _open_reasons(offer: Offer, inputs: Inputs) -> Iterator[str]:
    unknown = [
        each for each in offer.quote.asked if each.category in LOTS and not offer.lot(each.category)
    ]
    for one in unknown:
        name = one.description or one.part_number
        needed = f", figures needed: {', '.join(one.figures)}" if one.figures else ""
        yield (
            f"a product is in no catalog of the problem: {name} ({one.cell}){needed}; name it "
            "in the mapping that planner quote import writes and reads (--map), or add the "
            "catalog that it writes"
        )
    for id_ in sorted({each.item for each in offer.quote.prices} - inputs.by_id.keys()):
        yield f"{id_} is in no catalog of the problem: add its catalog to the problem"
    for each in (each for lot in LOTS for each in offer.lot(lot).values()):
        if abs(each.units - round(each.units)) > 1e-9 or each.units < 0.5:
            yield f"{each.units:g} units of {each.item.model} are no whole number"
        figure = missing_figure(each.item, inputs)
        if figure is not None:
            yield f"{each.item.model}: {figure}"
    if not offer.products and not unknown:
        yield "no product of it is in a catalog of the problem"


# The problem with offers as its supply

Counts = Mapping[str, Mapping[str, int]]
"""By lot: units of each product; other products of the lot are not bought."""
Prices = Mapping[str, tuple[Price, Offer]]
"""Offered prices by product, each with its bid."""
Charges = Sequence[tuple[Offer, BidCharge]]


def lot_counts(offer: Offer, category: str, inputs: Inputs) -> dict[str, int]:
    """Units of a lot in place; with their cold spares they are the quoted units."""
    problem = inputs.problem
    found: dict[str, int] = {}
    for id_, each in offer.lot(category).items():
        owned = problem.items.get(id_, Quantity()).in_place
        share = 0.0 if each.item.components else problem.spares.get(each.item.category, 0.0)
        quoted = round(each.units)
        count = quoted + owned
        while count > owned and count + math.ceil(share * count - 1e-9) - owned > quoted:
            count -= 1
        found[id_] = count if count > owned else quoted + owned
    return found


def apply_offers(inputs: Inputs, prices: Prices, lots: Counts, charges: Charges) -> Inputs:
    """The problem with offers as its supply; charges are services of the order."""
    problem = inputs.problem
    rules = dict(problem.items)
    for item in inputs.items:
        if item.category in lots:
            rule, count = rules.get(item.id, Quantity()), lots[item.category].get(item.id)
            most = rule.in_place if count is None else None
            fixed = {"fixed": count, "min": None, "max": most}
            fixed |= {} if count is None else {"stock": None}
            rules[item.id] = rule.model_copy(update=fixed)
    sold = {id_: price for id_, (price, _) in prices.items()}
    titles = {id_: offer.title for id_, (_, offer) in prices.items()}
    services = []
    for number, (offer, charge) in enumerate(charges, 1):
        id_ = f"bid_{offer.key.lower()}_{number}"
        named = {"id": id_, "vendor": offer.quote.vendor, "model": charge.label or charge.kind}
        each = {**named, "category": "service", "service": {"per": "order"}}
        services.append(Item.model_validate(each))
        sold[id_], titles[id_] = _price(charge.usd, offer), offer.title
    net = (
        Discount.model_construct(discount=0.0, item=id_, vendor=None, category=None) for id_ in sold
    )
    quoted = {
        id_: {**inputs.price_sources.get(id_, {}), "quote": Source(title=title)}
        for id_, title in titles.items()
    }
    wanted = (*problem.services, *(item.id for item in services))
    return replace(
        inputs,
        problem=problem.model_copy(update={"items": rules, "services": wanted}),
        items=(*inputs.items, *services),
        prices={**inputs.prices, **sold},
        discounts=(*inputs.discounts, *net),
        price_sources={**inputs.price_sources, **quoted},
        price_books={**inputs.price_books, **titles},
    )


def list_objections(inputs: Inputs, lots: Counts) -> Iterator[str]:
    """Yield the rules, of the problem or a vendor, that offered products or counts violate."""
    problem = inputs.problem
    for id_, count in (each for lot in lots.values() for each in lot.items()):
        item, rule = inputs.item(id_), problem.items.get(id_, Quantity())
        unwanted = why_not_wanted(item, problem)
        if unwanted is not None:
            yield f"{item.model}: {unwanted}"
        ends = [None if end is None else end.value for end in (item.min_units, item.max_units)]
        for words, (low, high) in (
            ("the vendor sells", ends),
            (f"items.{id_} allows", (rule.fixed or rule.min, rule.fixed or rule.max)),
        ):
            if not (low or 0) <= count <= (math.inf if high is None else high):
                most = "any" if high is None else f"{high:,}"
                yield f"{count:,} {item.model}, and {words} {low or 0:,} to {most}"
