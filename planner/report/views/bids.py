"""Bids side by side: the answer, break-even prices, gaps; and a quote as read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from planner.currency import currency_among, currency_of
from planner.figures import RATIOS
from planner.report.blocks import (
    MOST_NOTES,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    words,
)
from planner.report.screen import show
from planner.report.words import (
    about,
    breach_text,
    counted,
    listed,
    millions,
    money,
    number,
    quantity,
    ratio,
    some,
)
from planner.schema.bill import Bid, Bids, Lack, LineKind, Quote

_MOST_FINDINGS, _MOST_LACKS = 24, 16
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
    return [
        Heading(f"{found.problem}  ({counted(len(found.bids), 'bid')})"),
        Facts(tuple(_facts(found))),
        _table(found),
        Text(tuple(_to_win(found)), "Break-even prices", points=True),
        Text(tuple(_broken(found)), "Broken limits", points=True, first=MOST_NOTES),
        _gaps(found),
        Text(tuple(_findings(found)), "Findings", points=True, most=_MOST_FINDINGS, first=3),
        proof_block(_how(found)),
    ]


def _named(bid: Bid) -> str:
    """The key and vendor of a bid, marked where money of its file was not read."""
    return f"{bid.key} {bid.vendor}{' (incomplete)' if bid.unread else ''}"


def _value(found: Bids, value: float) -> str:
    """A value of the measure with its unit."""
    measure = found.measure
    if measure.unit.startswith("USD per"):
        unit = currency_of(value).named(measure.unit)
        return f"{number(value, 0 if value >= 1000 else 2)} {unit}"
    if measure.name in RATIOS:
        return ratio(value)
    return money(value) if measure.unit == "USD" else quantity(value, measure.unit)


def _ranked(found: Bids) -> list[Bid]:
    """The bids that meet every limit, the first one first."""
    return sorted((bid for bid in found.bids if bid.rank), key=lambda bid: bid.rank or 0)


def _work(bid: Bid) -> str:
    of = bid.figures
    assert of is not None
    if of.useful_pflops is not None:
        return f"{number(of.useful_pflops)} useful PFLOP/s"
    return f"{number(of.useful_gpus)} useful GPUs"


def _facts(found: Bids) -> Iterator[tuple[str, str]]:
    order = _ranked(found)
    yield "First", _first(found, order)
    first = order[0].measured or 0.0 if order else 0.0
    behind = [
        f"{_named(bid)} ({100 * ((bid.measured or 0.0) / first - 1.0 if first else 0.0):+.2f} %)"
        for bid in order[1:]
    ]
    yield "Next", listed(behind)
    yield "Mix", _mix(found)
    yield "No rank", "; ".join(_out(bid) for bid in found.bids if not bid.rank)


def _first(found: Bids, order: Sequence[Bid]) -> str:
    if not order:
        return "no bid meets every limit of the problem"
    first = order[0]
    of, measured = first.figures, first.measured
    assert of is not None
    assert measured is not None
    paid = f"capex {money(of.capex_usd)}"
    paid += f", TCO {money(of.tco_usd)}" if of.tco_usd is not None else ""
    each = of.usd_per_useful_gpu_hour
    per_hour = "" if each is None else f", {ratio(each)} per useful GPU-hour"
    unread = f"; not read: {listed(list(first.unread[:4]))}" if first.unread else ""
    text = f"{_named(first)} is first: {_value(found, measured)}; {_work(first)} for "
    return f"{text}{paid}{per_hour}{unread}"


def _mix(found: Bids) -> str:
    mix = found.mix
    if mix is None:
        return f"none: {found.mix_reason}"
    each = "each planned to its proven best" if mix.proven else "not all planned to a proven best"
    proof = f"best of {counted(mix.tried, 'award')} of lots, {each}"
    first = next((bid for bid in found.bids if bid.rank == 1), None)
    if first is not None and mix.bids == (first.key,):
        return f"no mix is better than the first bid alone ({proof})"
    awards = "; ".join(
        f"{_LOTS[award.lot]} {'of ' if award.bids else ''}"
        f"{listed(list(award.bids)) or 'at prices of the price book'} "
        f"({some([f'{count:,} {sku}' for sku, count in award.counts.items()], 4)})"
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
        text += f", {money(abs(was - now))} {'less' if was >= now else 'more'} to pay"
    return f"{text} ({proof})"


def _out(bid: Bid) -> str:
    if bid.state == "open":
        return f"{_named(bid)} ({bid.open[0].partition(': ')[0] if bid.open else 'not evaluated'})"
    broken = [each.label for each in bid.breaches] + list(bid.against)
    return f"{_named(bid)} breaks {listed(broken)}" if broken else f"{_named(bid)}: no plan with it"


def _table(found: Bids) -> Table:
    known = [bid for bid in found.bids if bid.figures is not None]
    order = [*_ranked(found), *(bid for bid in known if not bid.rank)]
    of = [bid.figures for bid in order if bid.figures is not None]
    pflops = any(each.useful_pflops is not None for each in of)
    code = found.shown_in.code
    columns = (
        figures("rank", (bid.rank for bid in order), 0),
        words("bid", map(_named, order)),
        figures(found.measure.label, (bid.measured for bid in order), _short),
        _millions("quoted", [bid.quoted_usd for bid in order]),
        _millions("lacks", [bid.lacks_usd for bid in order]),
        _millions("capex", [each.capex_usd for each in of]),
        _millions("TCO", [each.tco_usd for each in of]),
        figures(f"{code} per GPU-hour", (each.usd_per_useful_gpu_hour for each in of), 4),
        figures(
            "useful PFLOP/s" if pflops else "useful GPUs",
            (each.useful_pflops if pflops else each.useful_gpus for each in of),
            about,
        ),
        words("limits", (_STATES[bid.state] for bid in order), detail=True),
    )
    return Table("Bids", columns, rows="bids")


def _short(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 1000 else 3}f}"


def _millions(label: str, usd: Sequence[float | None]) -> Column:
    size, million = currency_among(usd).large
    column = figures(f"{label}, {million}", usd, millions)
    return Column(column.label, tuple(v and v / size for v in usd), texts=column.texts)


def _broken(found: Bids) -> Iterator[str]:
    """Yield the limits that bids break with the excess, and other faults."""
    for bid in found.bids:
        yield from (f"{bid.key}: {breach_text(breach)}" for breach in bid.breaches)
        yield from (f"{bid.key}: {text}" for text in bid.against)
        if bid.state == "breaks" and not bid.breaches and not bid.against:
            yield f"{bid.key}: no plan is possible with it"


def _to_win(found: Bids) -> Iterator[str]:
    """Yield the change that makes each bid the first."""
    for bid in found.bids:
        even = bid.break_even
        if even is None:
            continue
        if even.share is None or even.usd is None:
            yield f"{bid.key}: {even.reason}"
        else:
            change = even.usd - bid.quoted_usd
            price = f"{100.0 * even.share:.2f} % of its prices "
            price += f"({money(abs(change))} {'more' if change > 0 else 'less'})"
            yield f"{bid.key}: {'stays first up to' if bid.rank == 1 else 'first at'} {price}"


def _gaps(found: Bids) -> Table:
    rows = sorted(
        ((bid, lack) for bid in found.bids for lack in bid.lacks), key=lambda row: -row[1].usd
    )
    columns = (
        words("bid", (bid.key for bid, _ in rows)),
        words("item", (lack.product for _, lack in rows)),
        words("lacks", (_LACKS[lack.kind] for _, lack in rows)),
        figures("units", (lack.units for _, lack in rows), lambda units: f"{units:,.6g}"),
        figures("cost", (lack.usd for _, lack in rows), money),
        words("range", (_span(lack) for _, lack in rows)),
    )
    title = "Gaps of the bids, at prices of the price book"
    return Table(title, columns, first=_MOST_LACKS, rows="gaps")


def _span(lack: Lack) -> str:
    if lack.high_usd - lack.low_usd < 0.005:
        return ""
    return f"{money(lack.low_usd)} to {money(lack.high_usd)}"


def _findings(found: Bids) -> Iterator[str]:
    """Yield faults in the files of bids, and charges that are no product of the plan."""
    from planner.quotes.products import supported_categories as supports  # reads workbooks

    for bid in found.bids:
        yield from (f"{bid.key}: {text}" for text in bid.open)
        yield from (f"{bid.key}: {bid.file}: {text}" for text in bid.findings)
        for charge in bid.charges if bid.state != "open" else ():
            where = f"{bid.key}: {', '.join(charge.cells)}: {charge.label}: "
            if charge.kind in _CHARGES:
                yield f"{where}{_CHARGES[charge.kind]}, counted as {money(charge.usd)}"
            elif charge.kind == "support" and not supports(charge.label):
                yield f"{where}support of everything, none is added at the book's rates"
        if bid.rebate:
            yield f"{bid.key}: discounts on the whole take {100 * bid.rebate:.3f} % off every price"


def _how(found: Bids) -> Iterator[str]:
    for bid in found.bids:
        rate = ""
        if bid.currency != "USD":
            rate = f", 1 {bid.currency} = {bid.usd_per_unit:.6g} USD as given"
        dated = f" of {bid.date}" if bid.date else ", not dated"
        yield f"{bid.key}: {bid.vendor}, {bid.file}{dated}{rate}"
    term = "support over the whole term at the yearly rate"
    yield (
        f"Ranked by {found.measure.label}, without taxes and options; "
        f"{term if found.money == 'tco' else 'capex alone, without support and subscriptions'}. "
        "Items without a quote are at the price book's prices. In a mix, lots are at the prices "
        "of whole bids (ask whether they hold in part), none is split between two bids, and "
        "charges of each chosen bid count in full."
    )


# A quote as read.

_MOST_LINES, _MOST_SAID = 60, 20
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
        Text(tuple(asked), "Not in the catalogs", points=True, most=_MOST_SAID),
        Text(quote.findings, "Findings", points=True, most=_MOST_SAID),
        Text(layout, "Layout"),
    ]
    return show(blocks, full=True)


def _answer(quote: Quote) -> Iterator[str]:
    kinds = Counter(line.kind for line in quote.lines)
    items = [line for line in quote.lines if line.kind == "item"]
    known = [line for line in items if line.item is not None]
    paid = math.fsum(line.amount or 0.0 for line in items)
    yield (
        f"{len(quote.lines)} lines: {len(items)} products for {paid:,.2f} {quote.currency}, "
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
    by = {"mapping": "mapping", "part_number": "part number", "name": "name", None: "not known"}
    cells = (
        line.cells.get("unit_net") or line.cells.get("amount") or f"row {line.row}"
        for line in lines
    )
    columns = (
        words("cell", cells),
        words("in the quote", (line.description or line.part_number for line in lines)),
        words("item", (line.item or "-" for line in lines)),
        words("recognised by", (by[line.matched_by] for line in lines)),
        figures("units", (line.quantity or 0.0 for line in lines), lambda n: f"{n:,.6g}"),
        figures(f"net {quote.currency}", (line.unit_net or 0.0 for line in lines), 2),
    )
    return Table("Products", columns, most=_MOST_LINES, rows="products")
