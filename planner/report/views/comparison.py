"""Plans compared: side by side, by storage rule, and near-optimal ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.currency import currency_among
from planner.figures import FIGURES, OBJECTIVES
from planner.report import words as fmt
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    proven,
    values_of,
    words,
)
from planner.report.edition import decided_lines
from planner.report.views.plan import bought_text
from planner.schema.analysis import (
    Alternatives,
    Comparison,
    FigureRow,
    LimitRow,
    LineRow,
    RulesTable,
    Side,
)
from planner.schema.plan import Plan
from planner.terminal import width

_WORK = ("useful_pflops", "useful_gpus", "days_to_train", "goodput", "gpus_used")
_MAIN = (*_WORK, "capex_usd", "tco_usd", "facility_power_kw", "racks")
_FIRST_ROWS = 6


def view(found: Comparison, *, everything: bool = False) -> list[Block]:
    """A comparison as blocks; with ``everything`` rows that are the same in all plans, too."""
    keys = [side.key for side in found.sides]
    inputs = [row for row in found.inputs if everything or not row.equal]
    which = "" if everything else " that differ"
    blocks: list[Block] = [
        Heading("Compared"),
        Facts(tuple((side.key, _side(side)) for side in found.sides)),
        _figures(f"Inputs{which}", inputs, keys, _FIRST_ROWS),
    ]
    if sum(side.status in ("optimal", "feasible") for side in found.sides) < 2:
        return blocks
    lines = [row for row in found.lines if everything or not row.equal]
    lines.sort(key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes))
    rows = [row for row in found.figures if everything or not row.equal]
    order = {name: at for at, name in enumerate(_MAIN)}
    rows.sort(key=lambda row: order.get(row.name.rpartition(".")[2], len(order)))
    main = sum(row.name.rpartition(".")[2] in order for row in rows)
    limits = [row for row in found.limits if everything or not row.equal]
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
    elif side.status == "optimal" and away > fmt.LEAST_GIVEN_AWAY:
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
    labels = [fmt.titled(row.label, row.unit, currency_among(row.series.values)) for row in rows]
    longest = width() // 4
    wordy = any(isinstance(v, str) and len(v) > longest for r in rows for v in r.series.values)
    columns = [words("", labels)]
    written = [fmt.write_row(row.series.values, row.unit) for row in rows]
    for at, key in enumerate(keys):
        columns.append(Column(key, tuple(texts[at] for texts in written), words=wordy))
    for at, key in enumerate(keys[1:], 1):
        texts = tuple(fmt.changed_by(row.series.changes[at], row.unit) for row in rows)
        columns.append(Column(f"{key} - {keys[0]}", texts, detail=True))
    return _table(title, columns, title.split()[0].lower(), first)


def _lines(rows: Sequence[LineRow], keys: Sequence[str]) -> Table:
    """Units in place, then capex against the first plan."""
    columns = [words("", (row.product for row in rows))]
    for at, key in enumerate(keys):
        columns.append(
            Column(key, tuple(fmt.write_figure(r.quantity.values[at], "") for r in rows))
        )
    for at, key in enumerate(keys[1:], 1):
        capex = tuple(fmt.changed_by(row.capex_usd.changes[at], "USD") for row in rows)
        columns.append(Column(f"{key} - {keys[0]}, capex", capex, detail=True))
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
    own, measure = found.rows[0], found.measure
    text = f"no plan: {own.reason or 'none was found'}"
    if own.plan is not None and own.plan.totals is not None:
        value = f"{fmt.quantity(own.measured or 0.0, measure.unit)} of {measure.label}"
        capex_usd = own.plan.totals.capex_usd
        cost = "" if capex_usd is None else f", {fmt.money(capex_usd)} of capex"
        text = f"{_storage(own.plan)}: {value}{cost}"
    other = next((row for row in found.rows if row.settings and not row.own), own)
    command = _command(found.problem_file, found.scenario, (*found.overrides, *other.settings))
    gaps = [row.plan.objective.gap for row in found.rows if row.plan]
    return [
        Heading(f"{fmt.named(found)}  (storage by other rules)"),
        Facts((("Required", text),)),
        _rules_table(found),
        Text((command,), f"Command: {other.label}", detail=True),
        proof_block((proven(gaps),)),
    ]


def _rules_table(found: RulesTable) -> Table:
    rows, measure = found.rows, found.measure
    plans = [row.plan for row in rows]
    totals = [None if plan is None else plan.totals for plan in plans]
    jobs = [None if plan is None else plan.jobs[0] for plan in plans]
    storage = (
        f"no plan: {row.reason or 'none was found'}" if row.plan is None else _storage(row.plan)
        for row in rows
    )

    def signed(share: float) -> str:
        return fmt.relative(share, signed=True)

    columns = (
        words("", (f"{row.label}{' *' if row.own else ''}" for row in rows)),
        words("storage", storage),
        figures("against", (row.difference for row in rows), signed),
        figures("capex", values_of(totals, lambda t: t.capex_usd), "USD"),
        figures("storage power", values_of(plans, _storage_kw), "kW"),
        figures(measure.label, (row.measured for row in rows), measure.unit, detail=True),
        figures("goodput", values_of(jobs, lambda j: j.goodput), fmt.percent, detail=True),
    )
    notes = ("* as the problem file requires",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


def _storage_kw(plan: Plan) -> float:
    return sum(line.it_power_kw or 0.0 for line in decided_lines(plan, "Storage"))


def _storage(plan: Plan) -> str:
    lines = decided_lines(plan, "Storage")
    return ", ".join(f"{line.working:,} {line.model}" for line in lines) or "no storage"


def _command(problem: str | None, scenario: str | None, settings: Sequence[str]) -> str:
    """The command that solves a row in full."""
    options = [] if scenario is None else ["--scenario", scenario]
    options += [part for text in settings for part in ("--set", text)]
    return shlex.join(["planner", "solve", problem or "PROBLEM.yaml", *options])


# Near-optimal plans.


def alternatives(found: Alternatives) -> list[Block]:
    """Near-optimal plans as blocks."""
    within = f"{100.0 * found.within:.6g} %"
    title = Heading(f"{found.problem}  (plans within {within} of the best)")
    if not found.alternatives:
        return [title, Text((found.message or "no plan",))]
    best, *others = found.alternatives
    job = best.plan.jobs[0]
    name = "useful_gpus" if job.useful_pflops is None else "useful_pflops"
    work = fmt.quantity(getattr(job, name), FIGURES[name].unit)
    facts = (
        ("Best", f"{bought_text(best.plan)}: {work} of {FIGURES[name].label}"),
        ("Found", f"{fmt.counted(len(others), 'other plan')} within {within}"),
        ("Undecided", ", ".join(found.undecided)),
    )
    commands = tuple(
        _command(found.problem_file, found.scenario, (*found.overrides, *each.ways[0].setting))
        for each in found.alternatives
    )
    assert found.bound is not None
    better = "more" if found.sense == "maximize" else "less"
    label, bound = OBJECTIVES[found.objective].label, fmt.amount_of(found.objective, found.bound)
    proof = f"No plan has {label} of {better} than {bound}; 'behind' counts from there."
    return [
        title,
        Facts(facts),
        _plans(found),
        Text(commands, "Commands", detail=True),
        proof_block((proof,)),
    ]


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
        figures("capex", values_of(totals, lambda t: t.capex_usd), "USD"),
        figures("TCO", values_of(totals, lambda t: t.tco_usd), "USD", detail=True),
        figures("IT kW", values_of(totals, lambda t: t.it_power_kw), 0, detail=True),
        words("extreme in", ways),
    )
    return Table("Plans, that of solve first", columns, rows="plans", first=8)
