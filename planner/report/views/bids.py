"""Bids side by side: the answer, break-even prices, gaps, a chart of costs; and a quote as read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from planner.currency import currency_among, currency_of
from planner.figures import RATIOS
from planner.report.blocks import (
    MOST_NOTES,
    PAGE,
    Block,
    Column,
    Heading,
    Table,
    Text,
    proof_block,
)
from planner.report.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Panel, Whiskers
from planner.report.charts.words import axis_scale, in_scale, short
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
)
from planner.schema.bids import Award, Bid, BidMeasure, Bids, Lack
from planner.schema.bill import LineKind, Quote, QuoteLine

_MOST_FINDINGS, _MOST_LACKS = 24, 16
LOT_WORDS = {"gpu_system": "GPU systems", "storage": "storage", "others": "other products"}
STATE_WORDS = {"meets": "meets every limit", "breaks": "breaks limits", "open": "not evaluated"}
CHARGE_WORDS = {
    "service": "service", "support": "support", "freight": "freight", "other": "other",
    "unknown": "not in the catalogs", "surplus": "more than is needed",
}  # fmt: skip
LACK_WORDS = {
    "units": "not quoted", "more_units": "more than quoted", "support": "support",
    "subscription": "subscription",
}  # fmt: skip


TO_WIN = "Break-even prices"


def view(found: Bids) -> list[Block]:
    """An evaluation of bids as blocks."""
    return [
        Heading(_heading(found)),
        Text(tuple(answer(found)), points=True),
        _table(found),
        Text(tuple(to_win(found)), title=TO_WIN, points=True),
        Text(tuple(broken_limits(found)), title="Broken limits", points=True, first=MOST_NOTES),
        _mix(found),
        _lacks(found),
        Text(tuple(findings(found)), title="Findings", points=True, most=_MOST_FINDINGS, first=3),
        proof_block(_how(found)),
    ]


def _heading(found: Bids) -> str:
    return f"{found.problem}  ({counted(len(found.bids), 'bid')})"


def name_of(bid: Bid) -> str:
    """The key and vendor of a bid, marked where money of its file was not read."""
    return f"{bid.key} {bid.vendor}{' (incomplete)' if bid.unread else ''}"


def value_text(measure: BidMeasure, value: float) -> str:
    """A value of the measure with its unit."""
    if measure.unit.startswith("USD per"):
        unit = currency_of(value).named(measure.unit)
        return f"{number(value, 0 if value >= 1000 else 2)} {unit}"
    if measure.name in RATIOS:
        return ratio(value)
    if measure.unit == "USD":
        return money(value)
    return quantity(value, measure.unit)


def ranked(found: Bids) -> list[Bid]:
    """The bids that meet every limit, the first one first."""
    return sorted((bid for bid in found.bids if bid.rank), key=lambda bid: bid.rank or 0)


# The answer.


def answer(found: Bids) -> Iterator[str]:
    """Yield the answer: who is first, who is next, the best mix, and who is out."""
    order = ranked(found)
    yield _first(found, order)
    if len(order) > 1:
        yield _next(found, order)
    yield _mixed(found)
    out = [_out(bid) for bid in found.bids if not bid.rank]
    if out:
        yield f"without a rank: {'; '.join(out)}"


def _first(found: Bids, order: Sequence[Bid]) -> str:
    if not order:
        return "no bid meets every limit of the problem"
    first = order[0]
    figures, measured = first.figures, first.measured
    assert figures is not None
    assert measured is not None
    paid = f"capex {money(figures.capex_usd)}"
    if figures.tco_usd is not None:
        paid += f", TCO {money(figures.tco_usd)}"
    each = figures.usd_per_useful_gpu_hour
    per_hour = "" if each is None else f", {ratio(each)} per useful GPU-hour"
    unread = f"; not read: {listed(list(first.unread[:4]))}" if first.unread else ""
    return (
        f"{name_of(first)} is first: {value_text(found.measure, measured)}; {_work(first)} for "
        f"{paid}{per_hour}{unread}"
    )


def _work(bid: Bid) -> str:
    figures = bid.figures
    assert figures is not None
    if figures.useful_pflops is not None:
        return f"{number(figures.useful_pflops)} useful PFLOP/s"
    return f"{number(figures.useful_gpus)} useful GPUs"


def _next(found: Bids, order: Sequence[Bid]) -> str:
    behind = [f"{name_of(bid)} ({_behind(order[0], bid)})" for bid in order[1:]]
    text = f"then {listed(behind)}"
    second = order[1]
    if second.break_even is not None and second.break_even.share is not None:
        text += f"; {second.key} would be first at {_price(second)}"
    return text


def _behind(first: Bid, bid: Bid) -> str:
    assert first.measured is not None
    assert bid.measured is not None
    share = bid.measured / first.measured - 1.0 if first.measured else 0.0
    return f"{100.0 * share:+.2f} %"


def _price(bid: Bid) -> str:
    """At which price a bid is first."""
    even = bid.break_even
    assert even is not None
    if even.share is None or even.usd is None:
        return even.reason
    change = even.usd - bid.quoted_usd
    more = "more" if change > 0 else "less"
    return f"{100.0 * even.share:.2f} % of its prices ({money(abs(change))} {more})"


def _mixed(found: Bids) -> str:
    mix = found.mix
    if mix is None:
        return f"no mix: {found.mix_reason}"
    what = "; ".join(f"{LOT_WORDS[award.lot]} {'of ' if award.bids else ''}{bidders_of(award)}"
                     for award in mix.awards if award.counts)  # fmt: skip
    each = "each planned to its proven best" if mix.proven else "not all planned to a proven best"
    proof = f"the best of {counted(mix.tried, 'award')} of lots, {each}"
    if mix.bound is not None:
        proof += f"; none passes {value_text(found.measure, mix.bound)}"
    if mix.better is None:
        return f"the best mix: {what}: {value_text(found.measure, mix.measured)} ({proof})"
    if mix.bids == tuple(bid.key for bid in found.bids if bid.rank == 1):
        return f"no mix is better than the first bid alone ({proof})"
    saved = "" if mix.saves_usd is None else f", {_changed(mix.saves_usd)}"
    worse = "behind" if mix.better < 0.0 else "better than"
    far = f"{100.0 * abs(mix.better):.2f} % {worse}"
    far = "as good as" if abs(mix.better) < 5e-5 else far
    return (
        f"the best mix: {what}: {value_text(found.measure, mix.measured)}, "
        f"{far} the first bid{_which_lacks(found) if mix.better < 0.0 else ''}{saved} ({proof})"
    )


def _which_lacks(found: Bids) -> str:
    """Lots that the first bid takes at the book's prices."""
    lots = [line.product for bid in found.bids if bid.rank == 1 for line in bid.lines
            if line.priced_by == "book" and line.section in ("Compute", "Storage")]  # fmt: skip
    return f", which takes {listed(lots[:2])} at the book's prices" if lots else ""


def _changed(saves_usd: float) -> str:
    return f"{money(abs(saves_usd))} {'less' if saves_usd >= 0 else 'more'} to pay"


def bidders_of(award: Award) -> str:
    """The bids of an award."""
    return listed(list(award.bids)) if award.bids else "at the book's prices"


def _out(bid: Bid) -> str:
    if bid.state == "open":
        return f"{name_of(bid)} ({bid.open[0].partition(': ')[0] if bid.open else 'not evaluated'})"
    broken = [each.label for each in bid.breaches] + list(bid.against)
    return f"{name_of(bid)} breaks {listed(broken)}" if broken else f"{name_of(bid)}: not evaluated"


# The rest of the screen.


def _table(found: Bids) -> Table:
    known = [bid for bid in found.bids if bid.figures is not None]
    order = [*ranked(found), *(bid for bid in known if not bid.rank)]
    figures = [bid.figures for bid in order if bid.figures is not None]
    pflops = any(each.useful_pflops is not None for each in figures)
    work = tuple(each.useful_pflops if pflops else each.useful_gpus for each in figures)
    columns = [
        Column("rank", tuple(f"{bid.rank}" if bid.rank else "-" for bid in order)),
        Column("bid", tuple(name_of(bid) for bid in order), words=True, gives_way=True),
        _paid("quoted", [bid.quoted_usd for bid in order], spare=4),
        _paid("lacks", [bid.lacks_usd for bid in order], spare=5),
        _paid("capex", [each.capex_usd for each in figures], spare=1),
        _two_lines("useful", "PFLOP/s" if pflops else "GPUs", work, spare=2 if pflops else 3),
    ]
    if any(each.tco_usd is not None for each in figures):
        columns.insert(5, _paid("TCO", [each.tco_usd or 0.0 for each in figures]))
    hours = tuple(each.usd_per_useful_gpu_hour for each in figures)
    if any(each is not None for each in hours):
        texts = tuple("-" if each is None else f"{each:.4f}" for each in hours)
        label = f"{found.shown_in.code} per useful GPU-hour"
        head = (f"{found.shown_in.code} per", "GPU-hour")
        columns.append(Column(label, hours, texts=texts, head=head, spare=6))
    measured = tuple(bid.measured for bid in order)
    texts = tuple("-" if v is None else f"{v:,.{0 if abs(v) >= 1000 else 3}f}" for v in measured)
    first, _, rest = found.measure.label.partition(" ")
    columns.append(Column(found.measure.label, measured, texts=texts, head=(first, rest)))
    states = tuple(STATE_WORDS[bid.state] for bid in order)
    columns.append(Column("limits", states, words=True, on=PAGE))
    return Table("Bids", tuple(columns), rows="bids")


def _two_lines(first: str, rest: str, values: tuple[float | None, ...], spare: int) -> Column:
    return Column(f"{first} {rest}", values, head=(first, rest), spare=spare)


def _paid(label: str, usd: Sequence[float], spare: int = 0) -> Column:
    """A column of amounts in millions."""
    size, million = currency_among(usd).large
    values, texts = tuple(each / size for each in usd), tuple(map(millions, usd))
    return Column(f"{label}, {million}", values, texts=texts, head=(label, million), spare=spare)


def broken_limits(found: Bids) -> Iterator[str]:
    """Yield the limits that bids break, and by how much, and what else they go against."""
    for bid in found.bids:
        for breach in bid.breaches:
            yield f"{bid.key}: {breach_text(breach)}"
        yield from (f"{bid.key}: {text}" for text in bid.against)
        if bid.state == "breaks" and not bid.breaches and not bid.against:
            yield f"{bid.key}: no plan is possible with it"


def to_win(found: Bids) -> Iterator[str]:
    """Yield the change that makes each bid the first."""
    for bid in found.bids:
        even = bid.break_even
        if even is None:
            continue
        if even.share is None:
            yield f"{bid.key}: {even.reason}"
        elif bid.rank == 1:
            yield f"{bid.key}: stays first up to {_price(bid)}"
        else:
            yield f"{bid.key}: first at {_price(bid)}"


def _mix(found: Bids) -> Table:
    mix = found.mix
    if mix is None:
        return Table("The best mix", ())
    awards = [award for award in mix.awards if award.counts]
    return Table(
        "The best mix",
        (
            Column("lot", tuple(LOT_WORDS[award.lot] for award in awards), words=True),
            Column("of bid", tuple(bidders_of(award) for award in awards), words=True),
            Column("units", tuple(_units(award) for award in awards), words=True, gives_way=True),
        ),
        notes=(
            f"Of {counted(mix.tried, 'award')} {mix.possible} meet every limit. Lots are taken at "
            "the prices of whole bids: ask whether they hold in part. No lot is split between two "
            "bids, and none is chosen for its price by quantity. Charges of every bid that is "
            "taken count in full; what nobody of them quotes is at the book's prices.",
            found.mix_reason,
        ),
    )


def _units(award: Award) -> str:
    parts = [f"{count:,} {sku}" for sku, count in award.counts.items()]
    more = len(parts) - 4
    return ", ".join(parts[:4]) + (f" and {more} more" if more > 0 else "")


def _lacks(found: Bids) -> Table:
    rows = [(bid, lack) for bid in found.bids for lack in sorted(bid.lacks, key=_by_money)]
    largest = sorted(rows, key=lambda row: _by_money(row[1]))[:_MOST_LACKS]
    shown = [row for row in rows if row in largest]
    more = len(rows) - len(shown)
    size, million = found.shown_in.large
    return Table(
        "Gaps of the bids, at the book's prices",
        (
            Column("bid", tuple(bid.key for bid, _ in shown), words=True),
            Column("what", tuple(lack.product for _, lack in shown), words=True, gives_way=True),
            Column("lacks", tuple(LACK_WORDS[lack.kind] for _, lack in shown), words=True),
            Column("units", tuple(lack.units for _, lack in shown),
                   texts=tuple(f"{lack.units:,.6g}" for _, lack in shown)),
            Column(million, tuple(lack.usd / size for _, lack in shown),
                   texts=tuple(f"{lack.usd / size:,.3f}" for _, lack in shown)),
            Column("low to high", tuple(_span(lack) for _, lack in shown), words=True),
        ),
        notes=(f"{more:,} smaller ones are in the files",) if more > 0 else (),
    )  # fmt: skip


def _by_money(lack: Lack) -> float:
    return -lack.usd


def _span(lack: Lack) -> str:
    if lack.high_usd - lack.low_usd < 0.005:
        return "no range"
    size = currency_of(lack.high_usd).large[0]
    return f"{lack.low_usd / size:,.3f} to {lack.high_usd / size:,.3f}"


def findings(found: Bids) -> Iterator[str]:
    """Yield faults in the files of bids, and charges that are no product of the plan."""
    from planner.quotes.products import supported_categories as supports  # reads workbooks

    for bid in found.bids:
        yield from (f"{bid.key}: {text}" for text in bid.open)
        yield from (f"{bid.key}: {bid.file}: {text}" for text in bid.findings)
        for charge in bid.charges if bid.state != "open" else ():
            if charge.kind in ("unknown", "surplus", "other"):
                yield (
                    f"{bid.key}: {', '.join(charge.cells)}: {charge.label}: "
                    f"{CHARGE_WORDS[charge.kind]}, counted as {money(charge.usd)}"
                )
            elif charge.kind == "support" and not supports(charge.label):
                yield (
                    f"{bid.key}: {', '.join(charge.cells)}: {charge.label}: taken for the support "
                    "of everything, so none is added at the book's rates"
                )
        if bid.rebate:
            yield f"{bid.key}: discounts on the whole take {100 * bid.rebate:.3f} % off every price"


def _how(found: Bids) -> Iterator[str]:
    for bid in found.bids:
        rate = ""
        if bid.currency != "USD":
            rate = f", 1 {bid.currency} = {bid.usd_per_unit:.6g} USD as given"
        dated = f" of {bid.date}" if bid.date else ", not dated"
        yield f"{bid.key}: {bid.vendor}, {bid.file}{dated}{rate}"
    yield (
        f"Ranked by {found.measure.label}. Taxes and options are left out of every bid: an "
        "alternative that may be taken goes into a file of its own. Each is planned by the "
        "problem's objective with what it has of GPU systems and storage; what it does not have "
        "is the book's. "
        + (
            "Support over the whole term is counted at the yearly rate."
            if found.money == "tco"
            else "Only capex counts, without support and subscriptions."
        )
    )


_MOST_LINES, _MOST_SAID = 60, 20
_KINDS: dict[LineKind, tuple[str, str]] = {
    "service": ("service", "services"),
    "support": ("support", "support"),
    "freight": ("freight", "freight"),
    "tax": ("tax", "taxes"),
    "discount": ("discount", "discounts"),
    "option": ("option, not counted", "options, not counted"),
    "included": ("included in others", "included in others"),
    "not_understood": ("not understood", "not understood"),
}


def render_quote(quote: Quote) -> str:
    """The screen of a quote."""
    return show(list(view_quote(quote)), full=True)


def view_quote(quote: Quote) -> Iterator[Block]:
    """Yield a quote as blocks."""
    yield Heading(f"Quote of {quote.vendor}, {quote.date}: {quote.file}")
    yield Text(tuple(_answer(quote)))
    yield _prices(quote)
    if quote.asked:
        texts = (
            f"{each.cell}: {each.description or each.part_number}: "
            + (f"a {each.category.replace('_', ' ')}? " if each.category else "category? ")
            + (f"needed: {', '.join(each.figures)}" if each.figures else "name it in the mapping")
            for each in quote.asked
        )
        yield Text(tuple(texts), title="Not in the catalogs", points=True, most=_MOST_SAID)
    if quote.findings:
        yield Text(quote.findings, title="Findings", points=True, most=_MOST_SAID)
    columns = ", ".join(f"{text} = {field}" for field, text in quote.columns.items())
    yield Text(
        (
            f"columns: {columns}; decimal {quote.decimal}",
            "The mapping keeps this layout for the next quote; correct it there: --map.",
        ),
        title="Layout",
    )


def _answer(quote: Quote) -> Iterator[str]:
    kinds = Counter(line.kind for line in quote.lines)
    items = [line for line in quote.lines if line.kind == "item"]
    known = [line for line in items if line.item is not None]
    paid = sum(line.amount or 0.0 for line in items)
    yield (
        f"{len(quote.lines)} lines: {len(items)} products for {_amount(paid, quote)}, "
        f"{len(known)} of them in the catalogs"
    )
    others = [counted(kinds[kind], *words) for kind, words in _KINDS.items() if kinds.get(kind)]
    if others:
        yield "also: " + ", ".join(others)
    right = [each for each in quote.sums if each.agrees]
    if quote.sums:
        yield (
            f"{len(right)} of {len(quote.sums)} totals agree with the lines"
            + (f"; {quote.sums[-1].label}: {_amount(quote.sums[-1].stated, quote)}")
        )
    if quote.valid_until:
        yield f"valid until {quote.valid_until}"
    if quote.currency != "USD":
        yield f"1 {quote.currency} = {quote.usd_per_unit:.6g} USD, as given"


def _amount(amount: float, quote: Quote) -> str:
    return f"{amount:,.2f} {quote.currency}"


def _prices(quote: Quote) -> Table:
    lines = [line for line in quote.lines if line.kind == "item"]
    by = {"mapping": "mapping", "part_number": "part number", "name": "name", None: "not known"}
    columns = (
        Column("cell", tuple(_cell(line) for line in lines), words=True),
        Column("in the quote", tuple(_called(line) for line in lines), words=True,
               gives_way=True),
        Column("item", tuple(line.item or "-" for line in lines), words=True),
        Column("recognised by", tuple(by[line.matched_by] for line in lines), words=True),
        Column("units", tuple(f"{line.quantity or 0.0:,.6g}" for line in lines)),
        Column(f"net {quote.currency}", tuple(f"{line.unit_net or 0.0:,.2f}" for line in lines)),
    )  # fmt: skip
    return Table("Products", columns, most=_MOST_LINES, rows="products")


def _called(line: QuoteLine) -> str:
    return line.description or line.part_number


def _cell(line: QuoteLine) -> str:
    return line.cells.get("unit_net") or line.cells.get("amount") or f"row {line.row}"


# The chart: cost of each bid, its unquoted part, and the range of that.

_LABEL = 60
_THICKNESS = 0.34


def charts(study: Bids) -> tuple[Chart, ...]:
    """The chart of bids."""
    title = f"{len(study.bids)} bids on {short(study.problem, 40)}"
    shown = [*ranked(study), *(bid for bid in study.bids if bid.figures and not bid.rank)]
    if not shown:
        return (Chart("bids", title, study.message or "There is nothing to draw."),)
    totals = [_total(study, bid) for bid in shown]
    unit = axis_scale(totals, "USD")
    rows = tuple(place + ROW_MIDDLE for place in range(len(shown)))
    own = [total - bid.lacks_usd for total, bid in zip(totals, shown, strict=True)]
    hovers = tuple(_hover(study, bid, total) for bid, total in zip(shown, totals, strict=True))
    ends = [_ends(bid, total) for bid, total in zip(shown, totals, strict=True)]
    what = "over the term" if study.money == "tco" else "at once"
    panel = Panel(
        Axis(f"paid {what}", unit.unit),
        Axis(""),
        (
            Bars("quoted, with energy and colocation", rows, (0.0,) * len(shown),
                 in_scale(own, unit), hovers, ("",) * len(shown), "main", False, _THICKNESS),
            Bars("not quoted, at the book's rates", rows, in_scale(own, unit),
                 in_scale(totals, unit), hovers, tuple(money(total) for total in totals),
                 "second", True, _THICKNESS),
            Whiskers("within the book's ranges", rows, in_scale([low for low, _ in ends], unit),
                     in_scale([high for _, high in ends], unit)),
        ),
        rows=tuple(_row(bid) for bid in shown),
    )  # fmt: skip
    text = "Bids that meet every limit are on top, the best first."
    return (Chart("bids", title, text, (panel,)),)


def _total(study: Bids, bid: Bid) -> float:
    figures = bid.figures
    assert figures is not None
    return (figures.tco_usd if study.money == "tco" else figures.capex_usd) or 0.0


def _ends(bid: Bid, total: float) -> tuple[float, float]:
    low = math.fsum(lack.low_usd - lack.usd for lack in bid.lacks)
    high = math.fsum(lack.high_usd - lack.usd for lack in bid.lacks)
    return total + low, total + high


def _row(bid: Bid) -> str:
    rank = f"{bid.rank}. " if bid.rank else ""
    return short(f"{rank}{name_of(bid)}: {STATE_WORDS[bid.state]}", _LABEL)


def _hover(study: Bids, bid: Bid, total: float) -> str:
    figures = bid.figures
    assert figures is not None
    work = f"{figures.useful_gpus:,.0f} useful GPUs"
    if figures.useful_pflops is not None:
        work = f"{about(figures.useful_pflops)} useful PFLOP/s"
    return "\n".join(
        (
            name_of(bid),
            f"{money(total)}, of which {money(bid.lacks_usd)} not quoted",
            work,
            f"{study.measure.label}: {bid.measured or 0.0:,.6g}",
        )
    )
