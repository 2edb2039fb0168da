"""The files of bids read, and each as an offer: its products with prices, and its charges.

Every amount of a quote counts once: a product of the catalogs at its price per unit, anything else
as a charge on the order. The price book fills the rest.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.case.money import unit_net_usd
from planner.currency import Currency, amount
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader import yaml12
from planner.loader.catalogs import check_item
from planner.loader.documents import findings, validated
from planner.loader.prices import today
from planner.quotes.answers import catalog_text
from planner.quotes.importing import QuoteOptions, read_quote
from planner.quotes.lines import COUNTED
from planner.quotes.products import supported_categories, unlikely_prices
from planner.schema.bill import (
    Asked,
    BidCharge,
    ChargeKind,
    Quote,
    QuoteLine,
    QuoteMap,
    TraceRow,
)
from planner.schema.catalog import Catalog, Item
from planner.schema.prices import Price, SupportMoney

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOTS = ("gpu_system", "storage")
"""Categories with counts to decide; all other products follow from them."""
_CHARGES: Mapping[str, ChargeKind] = {
    "service": "service", "support": "support", "freight": "freight", "discount": "other",
    "item": "unknown",
}  # fmt: skip
_NOT_COUNTED = {
    "option": "not counted: an option",
    "tax": "not counted: taxes are out of scope",
    "subtotal": "compared with the lines that were read",
    "total": "compared with the lines that were read",
    "not_understood": "not counted: not understood",
}


def _wrong(code: str, message: str, fix: str | None = None, file: str | None = None) -> InputError:
    return InputError(Finding(code, message, file, fix=fix))


# Options of the command line.


def read_mapping(path: Path | None, items: Mapping[str, Item]) -> QuoteMap:
    """Return the layout of a vendor's quotes, an empty one without a file.

    Args:
        path: the file of the mapping.
        items: the known items by id.

    Raises:
        InputError: no mapping, or an unknown item in it.
    """
    if path is None:
        return QuoteMap(quote_map="none")
    document = yaml12.read(path, "mapping")
    try:
        mapping = QuoteMap.model_validate(document.data)
    except ValidationError as error:
        raise InputError(findings(error, document, QuoteMap)) from None
    unknown = next((item for item in mapping.items.values() if item not in items), None)
    if unknown is not None:
        message = f"the mapping names '{unknown}', which no catalog in use has"
        fix = "see planner catalog, or give the catalog's problem with --problem"
        raise _wrong("unknown-item", message, fix, str(path))
    return mapping


def parse_date(given: str | None) -> str | None:
    """Return a date of the command line, YYYY-MM-DD.

    Raises:
        InputError: no date.
    """
    try:
        if given is not None and datetime.date.fromisoformat(given).isoformat() != given:
            raise ValueError
    except ValueError:
        message = f"'{given}' is no date of --date"
        raise _wrong("option", message, "write it as 2026-11-20") from None
    return given


def parse_currency(given: str | None) -> str | None:
    """Return a currency of the command line.

    Raises:
        InputError: no code of a currency.
    """
    if given is not None and not re.fullmatch(r"[A-Z]{3}", given):
        raise _wrong("option", f"'{given}' is no currency of --currency", "write it as EUR")
    return given


def parse_rates(given: Sequence[str]) -> dict[str, float]:
    """Return exchange rates of the command line, USD per unit of a currency.

    Raises:
        InputError: no rate.
    """
    matches = [(text, re.fullmatch(r"([A-Z]{3})=(\d+(?:\.\d+)?)", text)) for text in given]
    for text, match in matches:
        if match is None or float(match[2]) <= 0.0:
            raise _wrong("option", f"'{text}' is no rate", "write it as --rate EUR=1.08")
    return {match[1]: float(match[2]) for _, match in matches if match is not None}


def _by_file(files: Sequence[Path], option: str, given: Sequence[str]) -> dict[Path, str]:
    """The values of an option by file, from FILE=VALUE or a value for all files."""
    for_all = [text for text in given if "=" not in text]
    if len(for_all) > 1:
        fix = f"write it as {option} FILE={for_all[1]}"
        raise _wrong("option", f"{option} is given twice without a file", fix)
    found = dict.fromkeys(files, for_all[0]) if for_all else {}
    for text in (each for each in given if "=" in each):
        named = {
            path: text.removeprefix(f"{name}=").strip()
            for path in files
            for name in (path.stem, str(path), path.name)
            if text.startswith(f"{name}=")
        }
        if len(named) != 1 or not all(named.values()):
            message = f"{option} {text}: '{text.partition('=')[0]}' is none of the bids' files"
            raise _wrong("option", message, f"name one of {', '.join(p.name for p in files)}")
        found |= named
    return found


# The quotes.


def read_bids(
    files: Sequence[Path],
    inputs: Inputs,
    *,
    vendor: Sequence[str] = (),
    mapping: Sequence[str] = (),
    date: Sequence[str] = (),
    currency: Sequence[str] = (),
    rate: Sequence[str] = (),
) -> tuple[tuple[Quote, ...], Inputs]:
    """Return the quotes in the order of their files, and the problem with the products they add.

    Products that no catalog has and their vendor describes in full become products of the problem.

    Args:
        files: XLSX and CSV files.
        inputs: the problem.
        vendor, mapping, date, currency: FILE=VALUE, or a value for all; a vendor is called after
            its file otherwise.
        rate: exchange rates, as ``EUR=1.08``; before those of the problem.

    Raises:
        InputError: a file or an option is wrong.
    """
    _check_files(files)
    vendors, maps = _by_file(files, "--vendor", vendor), _by_file(files, "--map", mapping)
    dates, currencies = _by_file(files, "--date", date), _by_file(files, "--currency", currency)
    rates = {code: each.usd for code, each in inputs.problem.currencies.items()}
    rates |= parse_rates(rate)
    quotes: list[Quote] = []
    for path in files:
        layout = read_mapping(Path(maps[path]) if path in maps else None, inputs.by_id)
        options = QuoteOptions(
            (vendors.get(path) or path.stem).strip(),
            layout,
            parse_date(dates.get(path)),
            parse_currency(currencies.get(path)),
            rates,
            dated=False,
        )
        quote, inputs = _read_bid(path, options, inputs)
        if quote.vendor in {each.vendor for each in quotes}:
            message = f"two bids are called '{quote.vendor}'"
            raise _wrong("option", message, "name them: --vendor FILE=NAME")
        quotes.append(quote)
    return tuple(quotes), inputs


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        fix = "give the vendors' files: planner quote bid PROBLEM.yaml a.xlsx b.csv"
        raise _wrong("option", "there is no bid to evaluate", fix)
    if len(files) > len(LETTERS):
        message = f"{len(files)} bids, and {len(LETTERS)} are compared at most"
        raise _wrong("option", message, "leave some out")
    twice = next((path for path in files if files.count(path) > 1), None)
    if twice is not None:
        raise _wrong("option", f"'{twice}' is given twice", "give it once")


def _read_bid(path: Path, options: QuoteOptions, inputs: Inputs) -> tuple[Quote, Inputs]:
    """A quote, read again once the problem has the products that it describes in full."""
    quote = read_quote(path, options, inputs.by_id)
    in_full = [each for each in quote.asked if each.category and each.known and not each.figures]
    more, remarks = _with_described(quote, in_full, inputs)
    if more is not inputs:
        ids = {each.part_number or each.description: each.id for each in in_full}
        layout = options.mapping.model_copy(update={"items": {**ids, **options.mapping.items}})
        quote = read_quote(path, replace(options, mapping=layout), more.by_id)
    findings = [*quote.findings, *remarks, *unlikely_prices(quote.prices, inputs.prices)]
    if quote.valid_until and datetime.date.fromisoformat(quote.valid_until) < today():
        findings.append(f"expired on {quote.valid_until}: request it anew")
    return quote.model_copy(update={"findings": tuple(findings)}), more


def _with_described(
    quote: Quote, in_full: Sequence[Asked], inputs: Inputs
) -> tuple[Inputs, list[str]]:
    """The problem with the products that a vendor describes in full, and remarks."""
    taken = {item.id for item in inputs.items}
    in_full = [each for each in in_full if each.id not in taken]
    if not in_full:
        return inputs, []
    text = catalog_text(quote.model_copy(update={"asked": tuple(in_full)}))
    try:
        document = yaml12.parse(text, f"products described in {quote.file}")
        catalog = validated(Catalog, document)
    except InputError as error:
        return inputs, [finding.message for finding in error.findings]
    known = {item.id: item for item in (*inputs.items, *catalog.items)}
    families = {family.id: family for family in (*inputs.families, *catalog.families)}
    faults = [
        f"{item.model}: {message}"
        for item in catalog.items
        for message, *_ in check_item(item, catalog.sources, known, families)
    ]
    if faults:
        return inputs, faults
    sources = {item.id: dict(catalog.sources) for item in catalog.items}
    more = replace(
        inputs,
        items=(*inputs.items, *catalog.items),
        families=(*inputs.families, *catalog.families),
        item_sources={**inputs.item_sources, **sources},
    )
    return more, [
        f"{each.cell}: {each.description or each.part_number} is in no catalog of the problem; it "
        "is planned with the figures that its vendor states"
        for each in in_full
    ]


# The offers.


@dataclass(frozen=True)
class OfferedProduct:
    """A catalog item as offered: units at a price, USD.

    ``included``: all units are held in the price of another product; ``partly_included``: some.
    """

    item: Item
    units: float
    unit_usd: float
    cells: tuple[str, ...]
    included: bool = False
    partly_included: bool = False
    support_usd_per_year: float | None = None
    support_included_years: float | None = None
    lead_time: str | None = None


@dataclass(frozen=True)
class Offer:
    """A bid: products by id and charges on the order, both net of ``rebate`` on the whole.

    ``open`` are reasons why it cannot be evaluated.
    """

    key: str
    quote: Quote
    products: Mapping[str, OfferedProduct]
    charges: tuple[BidCharge, ...]
    rebate: float
    open: tuple[str, ...] = field(default=())

    def lot(self, category: str) -> dict[str, OfferedProduct]:
        """Its products of a category."""
        return {id_: each for id_, each in self.products.items() if each.item.category == category}

    def supports(self, item: Item) -> bool:
        """Whether a charge is the support of a product; support of no named sort is that of all."""
        sorts = [supported_categories(charge.label) for charge in self.charges
                 if charge.kind == "support"]  # fmt: skip
        return any(not each or item.category in each for each in sorts)

    @property
    def quoted_usd(self) -> float:
        """The sum of its file without taxes."""
        amounts = (line.amount or 0.0 for line in self.quote.lines if line.kind in COUNTED)
        return self.quote.usd_per_unit * math.fsum(amounts)

    @property
    def title(self) -> str:
        """The price book of its prices."""
        quote = self.quote
        dated = f" of {quote.date}" if quote.date else ""
        rate = f", 1 {quote.currency} = {quote.usd_per_unit:.6g} USD"
        rate = "" if quote.currency == "USD" else rate
        return f"Bid {self.key}, {quote.vendor}{dated}, file {quote.file}{rate}"

    def at(self, share: float) -> Offer:
        """The same bid at a share of all its prices."""
        if share == 1.0:
            return self
        products = {}
        for id_, each in self.products.items():
            support = each.support_usd_per_year
            products[id_] = replace(
                each,
                unit_usd=each.unit_usd * share,
                support_usd_per_year=None if support is None else support * share,
            )
        charges = tuple(c.model_copy(update={"usd": c.usd * share}) for c in self.charges)
        return replace(self, products=products, charges=charges)


def offer_of(key: str, quote: Quote, inputs: Inputs, *, free: bool) -> Offer:
    """Return the offer of a quote on a problem.

    Args:
        key: its letter.
        quote: the quote, with items of the problem's catalogs.
        inputs: the problem.
        free: whether quantities are optimised.
    """
    amounts = [line.amount or 0.0 for line in quote.lines if line.kind in COUNTED]
    off = -math.fsum(each for each in amounts if each < 0.0)
    total = math.fsum(each for each in amounts if each > 0.0)
    rebate = off / total if total and off < total else 0.0
    products = dict(_products(quote, inputs.by_id, 1.0 - rebate))
    offer = Offer(key, quote, products, tuple(_charges(quote, products, rebate)), rebate)
    return replace(offer, open=tuple(_open_reasons(offer, free=free)))


def _products(
    quote: Quote, items: Mapping[str, Item], share: float
) -> Iterator[tuple[str, OfferedProduct]]:
    included: dict[str, list[QuoteLine]] = defaultdict(list)
    for line in quote.lines:
        if line.kind == "included" and line.item in items and line.quantity:
            included[line.item or ""].append(line)
    for price in quote.prices:
        if price.item not in items:
            continue
        free = included.pop(price.item, [])
        units = price.quantity + sum(line.quantity or 0.0 for line in free)
        support, part = price.support_usd_per_year, share * price.quantity / units
        yield (
            price.item,
            OfferedProduct(
                items[price.item],
                units,
                price.net_usd * part,
                (*price.cells, *map(place_of, free)),
                partly_included=bool(free),
                support_usd_per_year=None if support is None else support * part,
                support_included_years=price.support_included_years,
                lead_time=price.lead_time,
            ),
        )
    for id_, lines in included.items():
        units = sum(line.quantity or 0.0 for line in lines)
        cells = tuple(map(place_of, lines))
        yield id_, OfferedProduct(items[id_], units, 0.0, cells, included=True)


def place_of(line: QuoteLine) -> str:
    """Return the cell of a line's price, or its row."""
    return line.cells.get("amount") or line.cells.get("unit_net") or f"row {line.row}"


def _charges(
    quote: Quote, products: Mapping[str, OfferedProduct], rebate: float
) -> Iterator[BidCharge]:
    counted = {cell for price in quote.prices for cell in price.support_cells}
    for line in quote.lines:
        product = line.kind == "item" and line.item in products
        if line.kind not in COUNTED or product or place_of(line) in counted or not line.amount:
            continue
        if line.amount > 0.0 or not rebate:
            yield BidCharge(
                kind=_CHARGES[line.kind],
                label=line.description or line.part_number,
                usd=line.amount * quote.usd_per_unit * (1.0 - rebate),
                cells=(place_of(line),),
            )


def _open_reasons(offer: Offer, *, free: bool) -> Iterator[str]:
    unknown_lot = False
    for category, what in (("gpu_system", "GPU system"), ("storage", "storage")):
        lot = offer.lot(category)
        unknown = [each for each in offer.quote.asked if each.category == category]
        if unknown and not lot:
            unknown_lot = True
            names = "; ".join(map(_missing_figures, unknown))
            yield (
                f"its {what} is in no catalog of the problem: {names}; name it in a "
                "mapping (--map), or describe it: planner quote import writes the figures to add"
            )
        for each in lot.values():
            if free and each.included:
                yield (
                    f"{each.item.model} is held in another price, and has none of its own: take "
                    "quantities as quoted"
                )
            if abs(each.units - round(each.units)) > 1e-9 or each.units < 0.5:
                yield f"{each.units:g} units of {each.item.model} are no whole number"
    if not offer.products and not offer.charges:
        yield "no line of it was understood"
    elif not unknown_lot and not offer.products:
        yield "no product of it is in a catalog of the problem"


def _missing_figures(product: Asked) -> str:
    needed = f", which has to tell {', '.join(product.figures)}" if product.figures else ""
    return f"{product.description or product.part_number} ({product.cell}){needed}"


def price_of(product: OfferedProduct, offer: Offer, inputs: Inputs) -> Price:
    """Return the price of a product as a price book has it.

    Support that is not quoted, and subscriptions, are the book's.
    """
    book = inputs.prices.get(product.item.id)
    more: dict[str, Any] = {}
    if book is not None:
        for name in ("per_year_usd", "per_year_low_usd", "per_year_high_usd", "lead_time"):
            more[name] = getattr(book, name)
    yearly, included = product.support_usd_per_year, product.support_included_years
    if yearly is not None or included is not None:
        if yearly is not None:
            more["support_per_year"] = SupportMoney.model_construct(usd=yearly)
        more |= {"support_included_years": included or 0.0, "support_source": "quote"}
        more["support_confidence"] = "high"
    elif book is not None and not offer.supports(product.item):
        for name in ("support_per_year", "support_included_years", "support_source",
                     "support_confidence"):  # fmt: skip
            more[name] = getattr(book, name)
        if product.included or product.partly_included:  # a share of nothing is nothing
            shown_in = inputs.problem.shown_in
            net = unit_net_usd(product.item, book, inputs.discounts, shown_in)
            usd = book.support_usd_per_year(net)
            more["support_per_year"] = SupportMoney.model_construct(usd=usd)
    if product.lead_time is not None:
        more["lead_time"] = product.lead_time
    return Price.model_construct(
        list_usd=product.unit_usd,
        date=offer.quote.date or "0000",
        source="quote",
        confidence="high",
        note=f"bid {offer.key}, {offer.quote.file}: {', '.join(product.cells)}"[:1000],
        valid_until=offer.quote.valid_until or None,
        **more,
    )


def trace_lines(offer: Offer, shown_in: Currency) -> Iterator[TraceRow]:
    """Yield every line of a bid's file with the figure that it became, amounts in a currency."""
    quote = offer.quote
    for line in quote.lines:
        yield TraceRow(
            bid=offer.key,
            file=quote.file,
            row=line.row,
            cells=line.cells,
            kind=line.kind,
            description=line.description or line.part_number,
            item=line.item,
            quantity=line.quantity,
            unit_net=line.unit_net,
            amount=line.amount,
            currency=quote.currency,
            usd_per_unit=quote.usd_per_unit,
            usd=None if line.amount is None else line.amount * quote.usd_per_unit,
            became="; ".join((_figure_of(line, offer, shown_in), *line.remarks)),
        )


def _figure_of(line: QuoteLine, offer: Offer, shown_in: Currency) -> str:
    if line.kind in _NOT_COUNTED:
        return _NOT_COUNTED[line.kind]
    off = f"{100 * offer.rebate:.3f} %"
    less = f", less {off} of discounts on the whole" if offer.rebate else ""
    support = {cell: each.item for each in offer.quote.prices for cell in each.support_cells}
    if line.kind == "support" and place_of(line) in support:
        return f"support per year of {support[place_of(line)]}{less}"
    product = offer.products.get(line.item or "")
    if line.kind == "item" and product is not None:
        price = amount(shown_in.of(product.unit_usd))
        return f"{product.item.id}: {line.quantity:g} units and their price, {price}{less}"
    if line.kind == "included":
        units = f"{line.item}: {line.quantity:g} units, " if product and line.quantity else ""
        return f"{units}held in another price"
    if line.amount is not None and line.amount < 0.0 and offer.rebate:
        return f"taken off every price: {off}"
    if not line.amount:
        return "nothing: it has no amount"
    unknown = "a product that no catalog of the problem has: its money alone counts"
    return f"{unknown if line.kind == 'item' else line.kind} on the order{less}"
