"""A quote as an offer on a problem: products with units and prices, and what comes on top.

Everything that the quote asks money for counts once: a product of the catalogs at its price per
unit, anything else as a charge on the order. What it does not ask for is the book's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.case.money import unit_net_usd
from planner.currency import Currency, amount
from planner.inputs import Inputs
from planner.quotes.products import supported_categories as supports
from planner.schema.bids import BidCharge, ChargeKind, TraceRow
from planner.schema.bill import Asked, Quote, QuoteLine
from planner.schema.catalog import Item, Source
from planner.schema.prices import Discount, Price, SupportMoney
from planner.schema.problem import Quantity

LOTS = ("gpu_system", "storage")
"""Categories whose counts are decided; everything else follows from them."""
_COUNTED = frozenset({"item", "service", "support", "freight", "discount"})
_CHARGES: Mapping[str, ChargeKind] = {
    "service": "service", "support": "support", "freight": "freight", "discount": "other",
    "item": "unknown",
}  # fmt: skip
NOT_COUNTED: Mapping[str, str] = {
    "option": "not counted: an option",
    "tax": "not counted: taxes are left out of every bid",
    "subtotal": "compared with the lines that were read",
    "total": "compared with the lines that were read",
    "not_understood": "not counted: not understood",
}


@dataclass(frozen=True)
class OfferedProduct:
    """A product of the catalogs as it is offered: so many units, each for so much, USD.

    ``included`` goods are held in the price of something else, and cost nothing by themselves; of
    ``some_included`` that is true of some units, so that a share of the price is no unit's.
    """

    item: Item
    units: float
    unit_usd: float
    cells: tuple[str, ...]
    included: bool = False
    some_included: bool = False
    support_usd_per_year: float | None = None
    support_included_years: float | None = None
    lead_time: str | None = None


@dataclass(frozen=True)
class Tender:
    """What a bid offers: its products by id, and its charges on the order.

    ``rebate`` is the share that a discount on the whole takes off every price; ``open`` says why
    it cannot be judged.
    """

    key: str
    quote: Quote
    goods: Mapping[str, OfferedProduct]
    charges: tuple[BidCharge, ...]
    rebate: float
    open: tuple[str, ...]

    def lot(self, category: str) -> dict[str, OfferedProduct]:
        """Return its products of a category."""
        return {sku: each for sku, each in self.goods.items() if each.item.category == category}

    def supported_at_once(self, item: Item) -> bool:
        """Return whether it asks for support of a product beside it: then no other counts.

        Support that names no sort of product is that of all of them.
        """
        sorts_of_all = (
            supports(charge.label) for charge in self.charges if charge.kind == "support"
        )
        return any(not sorts or item.category in sorts for sorts in sorts_of_all)

    @property
    def quoted_usd(self) -> float:
        """What it asks for, USD."""
        return self.quote.usd_per_unit * math.fsum(
            line.amount or 0.0 for line in self.quote.lines if line.kind in _COUNTED
        )

    def at(self, share: float) -> Tender:
        """Return the same bid at a share of all its prices."""
        goods = {
            sku: replace(
                each,
                unit_usd=each.unit_usd * share,
                support_usd_per_year=None if each.support_usd_per_year is None
                else each.support_usd_per_year * share,
            )
            for sku, each in self.goods.items()
        }  # fmt: skip
        charges = tuple(c.model_copy(update={"usd": c.usd * share}) for c in self.charges)
        return replace(self, goods=goods, charges=charges)


def tender_of(key: str, quote: Quote, inputs: Inputs, *, free: bool) -> Tender:
    """Return what a quote offers on a problem.

    Args:
        key: the letter that the bid goes by.
        quote: the quote, matched with the problem's catalogs.
        free: whether quantities are free.
    """
    rebate = _rebate(quote)
    goods = dict(_goods(quote, inputs.by_id, 1.0 - rebate))
    charges = tuple(_charges(quote, goods, rebate))
    found = Tender(key, quote, goods, charges, rebate, ())
    return replace(found, open=tuple(_open(found, free=free)))


def _rebate(quote: Quote) -> float:
    """Return what discounts on the whole take off, as a share of what is asked for besides."""
    amounts = [line.amount or 0.0 for line in quote.lines if line.kind in _COUNTED]
    off = -math.fsum(amount for amount in amounts if amount < 0.0)
    asked = math.fsum(amount for amount in amounts if amount > 0.0)
    return off / asked if asked and off < asked else 0.0


def _goods(
    quote: Quote, items: Mapping[str, Item], share: float
) -> Iterator[tuple[str, OfferedProduct]]:
    included: dict[str, list[QuoteLine]] = defaultdict(list)
    for line in quote.lines:
        known = line.item is not None and line.item in items
        if line.kind == "included" and known and line.item is not None and line.quantity:
            included[line.item].append(line)
    for price in quote.prices:
        if price.item not in items:
            continue
        free = included.pop(price.item, [])
        units = price.quantity + sum(line.quantity or 0.0 for line in free)
        support = price.support_usd_per_year
        yield price.item, OfferedProduct(
            items[price.item],
            units,
            price.net_usd * share * price.quantity / units,
            (*price.cells, *map(place, free)),
            support_usd_per_year=None if support is None
            else support * share * price.quantity / units,
            support_included_years=price.support_included_years,
            lead_time=price.lead_time,
            some_included=bool(free),
        )  # fmt: skip
    for sku, lines in included.items():
        units = sum(line.quantity or 0.0 for line in lines)
        yield sku, OfferedProduct(items[sku], units, 0.0, tuple(map(place, lines)), included=True)


def place(line: QuoteLine) -> str:
    """Return the cell of a line that says what it costs, or its row."""
    return line.cells.get("amount") or line.cells.get("unit_net") or f"row {line.row}"


def _charges(
    quote: Quote, goods: Mapping[str, OfferedProduct], rebate: float
) -> Iterator[BidCharge]:
    """Yield what is asked for beside products of the catalogs."""
    counted = {cell for price in quote.prices for cell in price.support_cells}
    for line in quote.lines:
        product = line.kind == "item" and line.item in goods
        if line.kind not in _COUNTED or product or place(line) in counted or not line.amount:
            continue
        if line.amount < 0.0 and rebate:
            continue
        yield BidCharge(
            kind=_CHARGES[line.kind],
            label=line.description or line.part_number,
            usd=line.amount * quote.usd_per_unit * (1.0 - rebate),
            cells=(place(line),),
        )


def _open(tender: Tender, *, free: bool) -> Iterator[str]:
    """Yield why a bid cannot be judged."""
    nothing = True
    for category, what in (("gpu_system", "GPU system"), ("storage", "storage")):
        unknown = [each for each in tender.quote.asked if each.category == category]
        if unknown and not tender.lot(category):
            names = [_asked(each) for each in unknown]
            yield (
                f"its {what} is in no catalog of the problem: {'; '.join(names)}; name it in a "
                "mapping (--map), or describe it: planner quote import writes what is asked for"
            )
            nothing = False
        for goods in tender.lot(category).values():
            if free and goods.included:
                yield (
                    f"{goods.item.model} is held in another price, and has none of its own: take "
                    "quantities as quoted"
                )
            if abs(goods.units - round(goods.units)) > 1e-9 or goods.units < 0.5:
                yield f"{goods.units:g} units of {goods.item.model} are no whole number"
    if not tender.goods and not tender.charges:
        yield "no line of it was understood"
    elif nothing and not tender.goods:
        yield "no product of it is in a catalog of the problem"


def _asked(product: Asked) -> str:
    needed = f", which has to tell {', '.join(product.figures)}" if product.figures else ""
    return f"{product.description or product.part_number} ({product.cell}){needed}"


def price_of(goods: OfferedProduct, tender: Tender, inputs: Inputs) -> Price:
    """Return the price of a product as a price book has it: the quote's, and the book's besides.

    Support that is not quoted, and a subscription, are the book's where it has them.
    """
    book = inputs.prices.get(goods.item.id)
    own = goods.support_usd_per_year is not None or goods.support_included_years is not None
    more: dict[str, Any] = {}
    if book is not None:
        more = {name: getattr(book, name) for name in
                ("per_year_usd", "per_year_low_usd", "per_year_high_usd", "lead_time")}  # fmt: skip
    if own:
        yearly = goods.support_usd_per_year
        if yearly is not None:
            more["support_per_year"] = SupportMoney.model_construct(usd=yearly)
        more["support_included_years"] = goods.support_included_years or 0.0
        more["support_source"] = "quote"
        more["support_confidence"] = "high"
    elif book is not None and not tender.supported_at_once(goods.item):
        for name in ("support_per_year", "support_included_years", "support_source",
                     "support_confidence"):  # fmt: skip
            more[name] = getattr(book, name)
        if goods.included or goods.some_included:  # a share of nothing is nothing
            shown_in = inputs.problem.shown_in
            net = unit_net_usd(goods.item, book, inputs.discounts, shown_in)
            yearly = book.support_usd_per_year(net)
            more["support_per_year"] = SupportMoney.model_construct(usd=yearly)
    if goods.lead_time is not None:
        more["lead_time"] = goods.lead_time
    return Price.model_construct(
        list_usd=goods.unit_usd,
        date=tender.quote.date or "0000",
        source="quote",
        confidence="high",
        note=f"bid {tender.key}, {tender.quote.file}: {', '.join(goods.cells)}"[:1000],
        valid_until=tender.quote.valid_until or None,
        **more,
    )


Counts = Mapping[str, Mapping[str, int | None]]
"""By lot: units of each product that are in place, None where they are free; nothing else is."""


def lot_counts(
    tender: Tender, category: str, inputs: Inputs, *, free: bool
) -> dict[str, int | None]:
    """Return the units of a lot in place: with their spares they come to what is quoted.

    Args:
        category: the lot.
        inputs: the problem, which says what share of spares is bought besides.
        free: whether the quantities are free.
    """
    problem = inputs.problem
    found: dict[str, int | None] = {}
    for sku, goods in tender.lot(category).items():
        owned = problem.items.get(sku, Quantity()).in_place
        share = 0.0 if goods.item.components else problem.spares.get(goods.item.category, 0.0)
        quoted = round(goods.units)
        count = quoted + owned
        while count > owned and count + math.ceil(share * count - 1e-9) - owned > quoted:
            count -= 1
        found[sku] = None if free else count if count > owned else quoted + owned
    return found


def laid_over(
    inputs: Inputs,
    prices: Mapping[str, tuple[Price, Tender]],
    lots: Counts,
    charges: Sequence[tuple[Tender, BidCharge]],
) -> Inputs:
    """Return a problem in which bids are what is on offer.

    Args:
        prices: what bids ask for products, and whose price it is.
        lots: the counts of each lot that bids have; lots that are not named are as they were.
        charges: what comes on top.
    """
    problem = inputs.problem
    rules = dict(problem.items)
    for item in inputs.items:
        if item.category in lots:
            rules[item.id] = _rule(rules.get(item.id, Quantity()), item.id, lots[item.category])
    titles = {sku: _title(tender) for sku, (_, tender) in prices.items()}
    added = [(_service(number, *each), each) for number, each in enumerate(charges, 1)]
    for item, (tender, _) in added:
        titles[item.id] = _title(tender)
    sold = {sku: price for sku, (price, _) in prices.items()}
    sold |= {
        item.id: Price.model_construct(
            list_usd=charge.usd, date=tender.quote.date or "0000", source="quote",
            confidence="high",
        )
        for item, (tender, charge) in added
    }  # fmt: skip
    services = (*problem.services, *(item.id for item, _ in added))
    off = tuple(Discount.model_construct(discount=0.0, item=sku, vendor=None, category=None)
                for sku in sold)  # fmt: skip
    return replace(
        inputs,
        problem=problem.model_copy(update={"items": rules, "services": services}),
        items=(*inputs.items, *(item for item, _ in added)),
        prices={**inputs.prices, **sold},
        discounts=(*inputs.discounts, *off),
        price_sources={**inputs.price_sources, **{
            sku: {**inputs.price_sources.get(sku, {}), "quote": Source(title=title)}
            for sku, title in titles.items()}},
        price_books={**inputs.price_books, **titles},
    )  # fmt: skip


def _rule(rule: Quantity, sku: str, lot: Mapping[str, int | None]) -> Quantity:
    """Return a problem's rule for an item under a lot: its count fixed, or nothing bought."""
    if sku not in lot:
        gone = {"fixed": None, "min": None, "max": rule.in_place, "required": False}
        return rule.model_copy(update=gone)
    count = lot[sku]
    if count is None:
        return rule
    fixed = {"fixed": count, "min": None, "max": None, "required": False, "stock": None}
    return rule.model_copy(update=fixed)


def _title(tender: Tender) -> str:
    quote = tender.quote
    dated = f" of {quote.date}" if quote.date else ""
    rate = "" if quote.currency == "USD" else f", 1 {quote.currency} = {quote.usd_per_unit:.6g} USD"
    return f"Bid {tender.key}, {quote.vendor}{dated}, file {quote.file}{rate}"


def _service(number: int, tender: Tender, charge: BidCharge) -> Item:
    return Item.model_validate(
        {
            "id": f"bid_{tender.key.lower()}_{number}",
            "vendor": tender.quote.vendor,
            "model": charge.label or charge.kind,
            "category": "service",
            "service": {"per": "order"},
        }
    )


def trace_lines(tender: Tender, money: Currency) -> Iterator[TraceRow]:
    """Yield every line of a bid's file and its figure, amounts in a currency."""
    quote = tender.quote
    support = {cell: each.item for each in quote.prices for cell in each.support_cells}
    for line in quote.lines:
        rate = quote.usd_per_unit
        yield TraceRow(
            bid=tender.key,
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
            usd_per_unit=rate,
            usd=None if line.amount is None else line.amount * rate,
            became="; ".join(
                (_figure_of_line(line, tender, support.get(place(line)), money), *line.remarks)
            ),
        )


def _figure_of_line(line: QuoteLine, tender: Tender, supports: str | None, money: Currency) -> str:
    """Return which figure a line became."""
    less = f", less {100 * tender.rebate:.3f} % of discounts on the whole" if tender.rebate else ""
    if line.kind in NOT_COUNTED:
        return NOT_COUNTED[line.kind]
    if supports is not None and line.kind == "support":
        return f"support per year of {supports}{less}"
    goods = None if line.item is None else tender.goods.get(line.item)
    if line.kind == "item" and goods is not None:
        price = amount(money.of(goods.unit_usd))
        return f"{goods.item.id}: {line.quantity:g} units and their price, {price}{less}"
    if line.kind == "included":
        if goods is not None and line.quantity:
            return f"{goods.item.id}: {line.quantity:g} units, held in another price"
        return "held in another price"
    if line.amount is not None and line.amount < 0.0 and tender.rebate:
        return f"taken off every price: {100 * tender.rebate:.3f} %"
    if not line.amount:
        return "nothing: it has no amount"
    what = "a product that no catalog of the problem has: its money alone counts"
    return f"{what if line.kind == 'item' else line.kind} on the order{less}"
