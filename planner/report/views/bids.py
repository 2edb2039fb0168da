"""Bids side by side: the answer, gaps; and a quote as read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from planner.currency import currency_of
from planner.figures import FIGURES, RATIOS
from planner.report import words as fmt
from planner.report.blocks import (
    MOST_NOTES,
    Block,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    proof_block,
    values_of,
    words,
)
from planner.report.screen import show
from planner.schema.bill import Bid, Bids, LineKind, Quote

_LOTS = {"gpu_system": "GPU systems", "storage": "storage", "others": "other products"}
_STATES = {"meets": "meets every limit", "breaks": "breaks limits", "open": "not evaluated"}
_CHARGES = {"other": "other", "unknown": "not in the catalogs", "surplus": "more than is needed"}
_LACKS = {
    "units": "not quoted",
    "more_units": "more than quoted",
    "support": "support",
    "subscription": "subscription",
}


def view(found: Bids) -> list[Block]:
    """An evaluation of bids as blocks."""
    broken = tuple(f"{bid.key}: {text}" for bid in found.bids for text in bid.against)
    return [
        Heading(f"{found.problem}  ({fmt.counted(len(found.bids), 'bid')})"),
        Facts(tuple(_facts(found))),
        _table(found),
        Text(broken, "Broken limits", points=True, first=MOST_NOTES),
        _gaps(found),
        Text(tuple(_findings(found)), "Findings", points=True, most=24, first=3),
        proof_block(_how(found)),
    ]


def _bid_name(bid: Bid) -> str:
    """The key and vendor of a bid, marked where money of its file was not read."""
    return f"{bid.key} {bid.vendor}{' (incomplete)' if bid.unread else ''}"


def _value(found: Bids, value: float) -> str:
    """A value of the measure with its unit."""
    measure = found.measure
    if measure.unit.startswith("USD per"):
        unit = currency_of(value).named(measure.unit)
        return f"{fmt.number(value, 0 if value >= 1000 else 2)} {unit}"
    return fmt.ratio(value) if measure.name in RATIOS else fmt.quantity(value, measure.unit)


def _ranked(found: Bids) -> list[Bid]:
    """The bids that meet every limit, the first one first."""
    return sorted((bid for bid in found.bids if bid.rank), key=lambda bid: bid.rank or 0)


def _facts(found: Bids) -> Iterator[tuple[str, str]]:
    order = _ranked(found)
    if order:
        first = order[0]
        assert first.measured is not None
        text = f"{_bid_name(first)} is first: {_value(found, first.measured)}"
        unread = f"; not read: {fmt.listed(list(first.unread[:4]))}" if first.unread else ""
        yield "First", text + unread
    else:
        yield "First", "no bid meets every limit of the problem"
    best = order[0].measured if order else None
    behind = [
        f"{_bid_name(bid)} ({100 * ((bid.measured or 0.0) / best - 1.0):+.2f} %)"
        for bid in order[1:]
        if best
    ]
    yield "Next", fmt.listed(behind)
    yield "Mix", _mix(found)
    yield "No rank", "; ".join(_out(bid) for bid in found.bids if not bid.rank)


def _mix(found: Bids) -> str:
    mix = found.mix
    if mix is None:
        return f"none: {found.mix_reason}"
    each = "each planned to its proven best" if mix.proven else "not all planned to a proven best"
    proof = f"best of {fmt.counted(mix.tried, 'award')} of lots, {each}"
    first = next((bid for bid in found.bids if bid.rank == 1), None)
    if first is not None and mix.bids == (first.key,):
        return f"no mix is better than the first bid alone ({proof})"
    awards = "; ".join(
        f"{_LOTS[award.lot]} {'of ' if award.bids else ''}"
        f"{fmt.listed(list(award.bids)) or 'at prices of the price book'} "
        f"({fmt.some([f'{count:,} {sku}' for sku, count in award.counts.items()], 4)})"
        for award in mix.awards
        if award.counts
    )
    text = f"{awards}: {_value(found, mix.measured)}"
    if first is not None and first.measured and first.figures is not None:
        text += f", {100.0 * (mix.measured / first.measured - 1.0):+.2f} % against the first bid"
        was, now = (
            (of.tco_usd if found.money == "tco" else of.capex_usd) or 0.0
            for of in (first.figures, mix.figures)
        )
        text += f", {fmt.money(abs(was - now))} {'less' if was >= now else 'more'} to pay"
    return f"{text} ({proof})"


def _out(bid: Bid) -> str:
    if bid.state == "open":
        why = bid.open[0].partition(": ")[0] if bid.open else "not evaluated"
        return f"{_bid_name(bid)} ({why})"
    return f"{_bid_name(bid)} breaks {fmt.short(fmt.listed(bid.against), 60)}"


def _table(found: Bids) -> Table:
    known = [bid for bid in found.bids if bid.figures is not None]
    order = [*_ranked(found), *(bid for bid in known if not bid.rank)]
    of = [bid.figures for bid in order]
    pflops = any(each is not None and each.useful_pflops is not None for each in of)
    work = FIGURES["useful_pflops" if pflops else "useful_gpus"]
    columns = (
        figures("rank", (bid.rank for bid in order), 0),
        words("bid", map(_bid_name, order)),
        figures(found.measure.label, (bid.measured for bid in order), _short),
        figures("quoted", (bid.quoted_usd for bid in order), "USD"),
        figures("lacks", (bid.lacks_usd for bid in order), "USD"),
        figures("capex", values_of(of, lambda f: f.capex_usd), "USD"),
        figures("TCO", values_of(of, lambda f: f.tco_usd), "USD"),
        figures(work.title, values_of(of, lambda f: getattr(f, work.name)), fmt.about),
        words("limits", (_STATES[bid.state] for bid in order), detail=True),
    )
    return Table("Bids", columns, rows="bids")


def _short(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 1000 else 3}f}"


def _gaps(found: Bids) -> Table:
    rows = sorted(
        ((bid, lack) for bid in found.bids for lack in bid.lacks), key=lambda row: -row[1].usd
    )
    columns = (
        words("bid", (bid.key for bid, _ in rows)),
        words("item", (lack.product for _, lack in rows)),
        words("lacks", (_LACKS[lack.kind] for _, lack in rows)),
        figures("units", (lack.units for _, lack in rows), lambda units: f"{units:,.6g}"),
        figures("cost", (lack.usd for _, lack in rows), fmt.money),
    )
    title = "Gaps of the bids, at prices of the price book"
    return Table(title, columns, first=16, rows="gaps")


def _findings(found: Bids) -> Iterator[str]:
    """Yield faults in the files of bids, and charges that are no product of the plan."""
    from planner.quotes.products import supported_categories as supports  # reads workbooks

    for bid in found.bids:
        yield from (f"{bid.key}: {text}" for text in bid.open)
        yield from (f"{bid.key}: {bid.file}: {text}" for text in bid.findings)
        for charge in bid.charges if bid.state != "open" else ():
            where = f"{bid.key}: {', '.join(charge.cells)}: {charge.label}: "
            if charge.kind in _CHARGES:
                yield f"{where}{_CHARGES[charge.kind]}, counted as {fmt.money(charge.usd)}"
            elif charge.kind == "support" and not supports(charge.label):
                yield f"{where}support of everything, none is added at the book's rates"
        if bid.rebate:
            yield f"{bid.key}: discounts on the whole take {100 * bid.rebate:.3f} % off every price"


def _how(found: Bids) -> Iterator[str]:
    for bid in found.bids:
        rate = ""
        if bid.currency != "USD":
            rate = f", 1 {bid.currency} = {bid.usd_per_unit:.6g} USD as given"
        yield f"{bid.key}: {bid.vendor}, {bid.file}, {bid.date or 'not dated'}{rate}"
    term = "support over the whole term at the yearly rate"
    yield (
        f"Ranked by {found.measure.label}, without taxes and options; "
        f"{term if found.money == 'tco' else 'capex alone, without support and subscriptions'}. "
        "Items without a quote are at the price book's prices. In a mix, lots are at the prices "
        "of whole bids (ask whether they hold in part), and charges of each count in full."
    )


# A quote as read.

_MOST_LINES, _MOST_ASKED = 60, 20
_KINDS: dict[LineKind, str] = {
    "service": "service",
    "support": "support",
    "freight": "freight",
    "tax": "tax",
    "discount": "discount",
    "option": "option, not counted",
    "included": "included in others",
    "not_understood": "not understood",
}


def render_quote(quote: Quote) -> str:
    """The screen of a quote."""
    asked = (
        f"{each.cell}: {each.description or each.part_number}: "
        + (f"a {each.category.replace('_', ' ')}? " if each.category else "category? ")
        + (f"needed: {', '.join(each.figures)}" if each.figures else "name it in the mapping")
        for each in quote.asked
    )
    columns = ", ".join(f"{text} = {field}" for field, text in quote.columns.items())
    layout = (
        f"columns: {columns}; decimal {quote.decimal}",
        "The mapping keeps this layout for the next quote; correct it there: --map.",
    )
    blocks: list[Block] = [
        Heading(f"Quote of {quote.vendor}, {quote.date}: {quote.file}"),
        Text(tuple(_answer(quote))),
        _prices(quote),
        Text(tuple(asked), "Not in the catalogs", points=True, most=_MOST_ASKED),
        notes_block(quote.findings, "Findings"),
        Text(layout, "Layout"),
    ]
    return show(blocks, full=True)


def _answer(quote: Quote) -> Iterator[str]:
    kinds = Counter(line.kind for line in quote.lines)
    items = [line for line in quote.lines if line.kind == "item"]
    known = [line for line in items if line.item is not None]
    paid = math.fsum(line.amount or 0.0 for line in items)
    lines, products = fmt.counted(len(quote.lines), "line"), fmt.counted(len(items), "product")
    yield (
        f"{lines}: {products} for {paid:,.2f} {quote.currency}, "
        f"{len(known)} of them in the catalogs"
    )
    others = [f"{kinds[kind]:,} {text}" for kind, text in _KINDS.items() if kinds.get(kind)]
    yield f"also: {', '.join(others)}" if others else ""
    if quote.sums:
        right, last = sum(each.agrees for each in quote.sums), quote.sums[-1]
        text = f"{right} of {len(quote.sums)} totals agree with the lines; {last.label}: "
        yield f"{text}{last.stated:,.2f} {quote.currency}"
    yield f"valid until {quote.valid_until}" if quote.valid_until else ""
    if quote.currency != "USD":
        yield f"1 {quote.currency} = {quote.usd_per_unit:.6g} USD, as given"


def _prices(quote: Quote) -> Table:
    lines = [line for line in quote.lines if line.kind == "item"]
    columns = (
        words("cell", (line.cells.get("unit_net") or f"row {line.row}" for line in lines)),
        words("in the quote", (line.description or line.part_number for line in lines)),
        words("item", (line.item or "not known" for line in lines)),
        figures("units", (line.quantity or 0.0 for line in lines), lambda n: f"{n:,.6g}"),
        figures(f"net {quote.currency}", (line.unit_net or 0.0 for line in lines), 2),
    )
    return Table("Products", columns, most=_MOST_LINES, rows="products")
