"""Plans side by side, by storage rule, near-optimal ones; bids of vendors; a quote as read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from planner.figures import FIGURES, OBJECTIVES
from planner.report import formats as fmt
from planner.report.blocks import (
    MOST_NOTES,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    proof_block,
    read_values,
    widest_gap_text,
    words,
)
from planner.report.edition import bought_text, decided_lines
from planner.schema.analysis import (
    Alternatives,
    Comparison,
    FigureRow,
    LimitRow,
    LineRow,
    RulesTable,
    Side,
)
from planner.schema.bill import Bid, Bids, Quote
from planner.schema.plan import Plan
from planner.terminal import width

_WORK = ("useful_pflops", "useful_gpus", "days_to_train", "goodput", "gpus_used")
_MAIN = (*_WORK, "capex_usd", "tco_usd", "facility_power_kw", "racks")
_FIRST_ROWS = 6


def view(found: Comparison, *, full: bool = False) -> list[Block]:
    """A comparison as blocks; with ``full`` rows that are the same in all plans, too."""
    keys = [side.key for side in found.sides]
    inputs = [row for row in found.inputs if full or not row.equal]
    which = "" if full else " that differ"
    blocks: list[Block] = [
        Heading("Compared"),
        Facts(tuple((side.key, _side(side)) for side in found.sides)),
        _figures(f"Inputs{which}", inputs, keys, _FIRST_ROWS),
    ]
    if sum(side.status in ("optimal", "feasible") for side in found.sides) < 2:
        return blocks
    lines = [row for row in found.lines if full or not row.equal]
    lines.sort(key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes))
    rows = [row for row in found.figures if full or not row.equal]
    order = {name: at for at, name in enumerate(_MAIN)}
    rows.sort(key=lambda row: order.get(row.name.rpartition(".")[2], len(order)))
    main = sum(row.name.rpartition(".")[2] in order for row in rows)
    limits = [row for row in found.limits if full or not row.equal]
    return [
        *blocks,
        _lines(lines, keys),
        _figures(f"Figures{which}", rows, keys, max(1, main)),
        _limits(limits, keys),
    ]


def _side(side: Side) -> str:
    away, status = side.near_optimal_loss or 0.0, fmt.STATUS_WORDS[side.status]
    if side.edits and not side.message:
        status = "as edited"
    elif side.verdict:
        status = f"not to be built: {'; '.join(side.verdict)}"
    elif side.status == "optimal" and away > fmt.LEAST_LOSS:
        status = f"{fmt.gap(away)} behind the {status}"
    texts = [f"{side.source}: {side.problem} ({status})"]
    texts += [f"no plan: {side.message}"] if side.message else []
    texts += [f"edited: {'; '.join(side.edits)}"] if side.edits else []
    texts += [f"breaks: {'; '.join(side.broken)}"] if side.broken else []
    return "; ".join(texts)


def _table(title: str, columns: Sequence[Column], rows: str, first: int | None = None) -> Table:
    """A table of plans side by side; without rows a note that all are the same."""
    if not columns[0].values:
        return Table(title, (words("", ("the same in all",)),))
    return Table(title, tuple(columns), first=first, rows=rows, detail=first is None)


def _figures(title: str, rows: Sequence[FigureRow], keys: Sequence[str], first: int) -> Table:
    """Figures of the plans, and their change against the first."""
    longest = width() // 4
    wordy = any(isinstance(v, str) and len(v) > longest for r in rows for v in r.series.values)
    written = [fmt.write_row(row.label, row.unit, row.series.values) for row in rows]
    columns = [words("", (label for label, *_ in written))]
    for at, key in enumerate(keys):
        columns.append(Column(key, tuple(texts[at] for *_, texts in written), words=wordy))
    pairs = list(zip(rows, written, strict=True))
    for at, key in enumerate(keys[1:], 1):
        changes = (shown.text(row.series.changes[at], "+") for row, (_, shown, _) in pairs)
        columns.append(Column(f"{key} - {keys[0]}", tuple(changes), detail=True))
    return _table(title, columns, title.split()[0].lower(), first)


def _lines(rows: Sequence[LineRow], keys: Sequence[str]) -> Table:
    """Units in place, then capex against the first plan."""
    columns = [words("", (row.product for row in rows))]
    columns += [
        figures(key, (row.quantity.values[at] for row in rows), 0) for at, key in enumerate(keys)
    ]
    for at, key in enumerate(keys[1:], 1):
        changes = (row.capex_usd.changes[at] for row in rows)
        columns.append(figures(f"{key} - {keys[0]}, capex", changes, "USD", detail=True))
    return _table("Bill, units", columns, "lines", _FIRST_ROWS)


def _limits(rows: Sequence[LimitRow], keys: Sequence[str]) -> Table:
    """Value and bound of limits in each plan."""
    columns = [words("", (row.label for row in rows))]
    for at, key in enumerate(keys):
        sides = [(row.sides[at], row) for row in rows]
        texts = tuple(
            "-"
            if side is None
            else f"{fmt.quantity(side.value, row.unit)} {row.sense} "
            f"{fmt.quantity(side.limit, row.unit)}{'*' if side.binding else ''}"
            for side, row in sides
        )
        columns.append(Column(key, texts))
    return _table("Limits (* binding)", columns, "limits")


# Storage rules side by side.


def rules(found: RulesTable) -> list[Block]:
    """A table of rules as blocks."""
    gaps = [row.plan.objective.gap for row in found.rows if row.plan]
    return [
        Heading(f"{fmt.study_name(found)}  (storage by other rules)"),
        _rules_table(found),
        proof_block((widest_gap_text(gaps),)),
    ]


def _rules_table(found: RulesTable) -> Table:
    rows, measure = found.rows, found.measure
    plans = [row.plan for row in rows]
    totals = [None if plan is None else plan.totals for plan in plans]
    jobs = [None if plan is None else plan.jobs[0] for plan in plans]
    storage = (
        f"no plan: {row.reason or 'none was found'}"
        if row.plan is None
        else bought_text(row.plan, "Storage")
        for row in rows
    )

    def _kw(plan: Plan) -> float:
        return sum(line.it_power_kw or 0.0 for line in decided_lines(plan, "Storage"))

    columns = (
        words("", (f"{row.label}{' *' if row.own else ''}" for row in rows)),
        words("storage", storage),
        figures("against", (row.difference for row in rows), partial(fmt.relative, signed=True)),
        figures("capex", read_values(totals, lambda t: t.capex_usd), "USD"),
        figures("storage power", read_values(plans, _kw), "kW"),
        figures(measure.label, (row.measured for row in rows), measure.unit),
        figures("goodput", read_values(jobs, lambda j: j.goodput), fmt.percent, detail=True),
    )
    notes = ("* as the problem file requires",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


# Near-optimal plans.


def alternatives(found: Alternatives) -> list[Block]:
    """Near-optimal plans as blocks."""
    within = f"{100.0 * found.within:.6g} %"
    title = Heading(f"{found.problem}  (plans within {within} of the best)")
    if not found.alternatives:
        return [title, Text((found.message or "no plan",))]
    others = fmt.count_noun(len(found.alternatives) - 1, "other plan")
    facts = (
        ("Found", f"{others} within {within}"),
        ("Undecided", ", ".join(found.undecided)),
    )
    assert found.bound is not None
    better = "more" if found.sense == "maximize" else "less"
    label, bound = OBJECTIVES[found.objective].label, fmt.amount_of(found.objective, found.bound)
    proof = f"No plan has {label} of {better} than {bound}; 'behind' counts from there."
    return [title, Facts(facts), _plans(found), proof_block((proof,))]


def _plans(found: Alternatives) -> Table:
    rows = found.alternatives
    plans = [each.plan for each in rows]
    totals = [plan.totals for plan in plans]
    jobs = [plan.jobs[0] for plan in plans]
    ways = (", ".join(f"{way.label} {way.detail}".rstrip() for way in each.ways) for each in rows)
    columns = (
        figures("", range(1, len(plans) + 1), 0),
        words("buys", map(bought_text, plans)),
        figures("behind", (each.shortfall for each in rows), fmt.relative),
        figures("GPUs in use", (job.gpus_used for job in jobs), 0, detail=True),
        figures("capex", read_values(totals, lambda t: t.capex_usd), "USD"),
        figures("TCO", read_values(totals, lambda t: t.tco_usd), "USD", detail=True),
        figures("IT kW", read_values(totals, lambda t: t.it_power_kw), 0, detail=True),
        words("extreme in", ways),
    )
    return Table("Plans, that of solve first", columns, rows="plans", first=8)


# Bids side by side: the answer, gaps.

_LOTS = {"gpu_system": "GPU systems", "storage": "storage", "others": "other products"}
_STATES = {"meets": "met", "breaks": "broken", "open": "not evaluated"}
_CHARGES = {"other": "other", "unknown": "not in the catalogs", "surplus": "difference of units"}
_LACKS = {"units": "not quoted", "support": "support, subscription"}


def bids(found: Bids) -> list[Block]:
    """An evaluation of bids as blocks."""
    broken = tuple(f"{bid.key}: {text}" for bid in found.bids for text in bid.against)
    return [
        Heading(f"{found.problem}  ({fmt.count_noun(len(found.bids), 'bid')})"),
        Facts(tuple(_bid_facts(found))),
        _bids_table(found),
        Text(broken, "Broken limits", points=True, first=MOST_NOTES),
        _gaps(found),
        Text(tuple(_findings(found)), "Findings", points=True, most=24, first=3),
        proof_block(_how(found)),
    ]


def _bid_name(bid: Bid) -> str:
    """The key and vendor of a bid, marked where money of its file was not read."""
    return f"{bid.key} {bid.vendor}{' (incomplete)' if bid.unread else ''}"


def _value(found: Bids, value: float) -> str:
    return fmt.result_scale([value], found.measure.unit).with_unit(value)


def _ranked(found: Bids) -> list[Bid]:
    """The bids that meet every limit, the first one first."""
    return sorted((bid for bid in found.bids if bid.rank), key=lambda bid: bid.rank or 0)


def _bid_facts(found: Bids) -> Iterator[tuple[str, str]]:
    text, order = "no bid meets every limit of the problem", _ranked(found)
    if order and (value := order[0].measured) is not None:
        text = f"{_bid_name(order[0])}: {_value(found, value)}"
        unread = order[0].unread[:4]
        text += f"; not read: {fmt.join_words(unread)}" if unread else ""
    yield "First", text
    yield "Mix", _mix(found)


def _mix(found: Bids) -> str:
    mix = found.mix
    if mix is None:
        return f"none: {found.mix_reason}"
    each = "each planned to its proven best" if mix.proven else "not all planned to a proven best"
    proof = f"best of {fmt.count_noun(mix.tried, 'award')} of lots, {each}"
    first = next((bid for bid in found.bids if bid.rank == 1), None)
    if first is not None and mix.bids == (first.key,):
        return f"no mix is better than the first bid alone ({proof})"
    awards = "; ".join(
        f"{_LOTS[award.lot]} {'of ' if award.bids else ''}"
        f"{fmt.join_words(list(award.bids)) or 'at prices of the price book'} "
        f"({fmt.list_first([f'{count:,} {sku}' for sku, count in award.counts.items()], 4)})"
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


def _bids_table(found: Bids) -> Table:
    order = [*_ranked(found), *(bid for bid in found.bids if not bid.rank)]
    of = [bid.figures for bid in order]
    pflops = any(each is not None and each.useful_pflops is not None for each in of)
    work, unit = FIGURES["useful_pflops" if pflops else "useful_gpus"], found.measure.unit
    label = found.measure.label.removesuffix("".join(unit.partition(" per ")[1:]))
    columns = (
        figures("rank", (bid.rank for bid in order), 0),
        words("bid", map(_bid_name, order)),
        figures(label, (bid.measured for bid in order), unit),
        figures("quoted", (bid.quoted_usd for bid in order), "USD"),
        figures("lacks", (bid.lacks_usd if bid.figures else None for bid in order), "USD"),
        figures("capex", read_values(of, lambda f: f.capex_usd), "USD"),
        figures("TCO", read_values(of, lambda f: f.tco_usd), "USD"),
        figures(work.title, read_values(of, lambda f: getattr(f, work.name)), fmt.round_number),
        words("limits", (_STATES[bid.state] for bid in order)),
    )
    return Table("Bids", columns, rows="bids")


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

_MOST_ASKED = 20


def quote(found: Quote) -> list[Block]:
    """A quote as blocks."""
    asked = (
        f"{each.cell}: {each.description or each.part_number}: "
        + (f"a {each.category.replace('_', ' ')}? " if each.category else "category? ")
        + (f"needed: {', '.join(each.figures)}" if each.figures else "name it in the mapping")
        for each in found.asked
    )
    return [
        Heading(f"Quote of {found.vendor}, {found.date}: {found.file}"),
        Text(tuple(_answer(found))),
        Text(tuple(asked), "Not in the catalogs", points=True, most=_MOST_ASKED),
        notes_block(found.findings, "Findings"),
    ]


def _answer(quote: Quote) -> Iterator[str]:
    items = [line for line in quote.lines if line.kind == "item"]
    known = [line for line in items if line.item is not None]
    paid = math.fsum(line.amount or 0.0 for line in items)
    text = f"{fmt.count_noun(len(quote.lines), 'line')}: {fmt.count_noun(len(items), 'product')} "
    text += f"for {paid:,.2f} {quote.currency}, {len(known)} of them in the catalogs"
    yield text
    if quote.sums:
        right, last = sum(each.agrees for each in quote.sums), quote.sums[-1]
        text = f"{right} of {len(quote.sums)} totals agree with the lines; {last.label}: "
        yield f"{text}{last.stated:,.2f} {quote.currency}"
    yield f"valid until {quote.valid_until}" if quote.valid_until else ""
    book = f"next: add {quote.stem}.prices.yaml to `prices` of the problem"
    yield book if quote.prices else ""
    if quote.currency != "USD":
        yield f"1 {quote.currency} = {quote.usd_per_unit:.6g} USD, as given"
