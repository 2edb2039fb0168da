"""Plans compared: side by side, by storage rule, and near-optimal ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.currency import currency_among
from planner.figures import FIGURES, OBJECTIVES
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    values_of,
    words,
)
from planner.report.charts.model import proven
from planner.report.scope import own_lines
from planner.report.views.plan import bought_text
from planner.report.words import (
    LEAST_GIVEN_AWAY,
    STATUS_WORDS,
    amount_of,
    changed_by,
    counted,
    duration,
    gap,
    millions,
    money,
    named,
    number,
    percent,
    relative,
    signed,
    titled,
    valued,
    write_figure,
)
from planner.schema.analysis import (
    Alternative,
    Alternatives,
    Comparison,
    FigureRow,
    LimitSide,
    LineRow,
    RulesTable,
    Side,
)
from planner.schema.plan import Line, Plan
from planner.terminal import width

_MAIN = (
    "useful_pflops",
    "useful_gpus",
    "days_to_train",
    "goodput",
    "gpus_used",
    "capex_usd",
    "tco_usd",
    "facility_power_kw",
    "racks",
)
_FIRST_ROWS, _FIRST_PLANS = 6, 8


def view(found: Comparison, *, everything: bool = False) -> list[Block]:
    """A comparison as blocks; with ``everything`` rows that are the same in all plans, too."""
    keys = [side.key for side in found.sides]
    sides = Facts(tuple((side.key, _side(side)) for side in found.sides))
    inputs = [row for row in found.inputs if everything or not row.equal]
    which = "" if everything else " that differ"
    blocks: list[Block] = [Heading("Compared"), sides]
    blocks.append(_figures(f"Inputs{which}", inputs, keys, _FIRST_ROWS))
    if sum(side.status in ("optimal", "feasible") for side in found.sides) < 2:
        return blocks
    lines = [row for row in found.lines if everything or not row.equal]
    lines.sort(key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes))
    rows = [row for row in found.figures if everything or not row.equal]
    order = {name: at for at, name in enumerate(_MAIN)}
    rows.sort(key=lambda row: order.get(row.name.rpartition(".")[2], len(order)))
    main = sum(row.name.rpartition(".")[2] in order for row in rows)
    return [
        *blocks,
        _lines(lines, keys),
        _figures(f"Figures{which}", rows, keys, max(1, main)),
        _limits(found, keys, everything=everything),
    ]


def _side(side: Side) -> str:
    texts = [f"{side.source}: {side.problem} ({_status(side)})"]
    texts += [f"no plan: {side.message}"] if side.message else []
    texts += [f"edited: {'; '.join(side.edits)}"] if side.edits else []
    texts += [f"breaks: {'; '.join(side.broken)}"] if side.broken else []
    return "; ".join(texts)


def _status(side: Side) -> str:
    if side.edits and not side.message:
        return "as edited"
    if side.verdict:
        return f"not to be built: {'; '.join(side.verdict)}"
    away, text = side.given_away or 0.0, STATUS_WORDS[side.status]
    if side.status == "optimal" and away > LEAST_GIVEN_AWAY:
        return f"{gap(away)} behind the {text}"
    return text


def _table(title: str, columns: Sequence[Column], rows: str, first: int | None = None) -> Table:
    """A table of plans side by side; without rows a note that all are the same."""
    if not columns[0].values:
        return Table(title, (words("", ("the same in all",)),))
    return Table(title, tuple(columns), first=first, rows=rows, detail=first is None)


def _figures(title: str, rows: Sequence[FigureRow], keys: Sequence[str], first: int) -> Table:
    """Figures of the plans, and their change against the first."""
    named = [titled(row.label, row.unit, currency_among(row.series.values)) for row in rows]
    longest = width() // 4
    wordy = any(isinstance(v, str) and len(v) > longest for r in rows for v in r.series.values)
    columns = [words("", named)]
    for at, key in enumerate(keys):
        texts = tuple(write_figure(row.series.values[at], row.unit) for row in rows)
        columns.append(Column(key, texts, words=wordy))
    for at, key in enumerate(keys[1:], 1):
        texts = tuple(changed_by(row.series.changes[at], row.unit) for row in rows)
        columns.append(Column(f"{key} - {keys[0]}", texts, detail=True))
    return _table(title, columns, title.split()[0].lower(), first)


def _lines(rows: Sequence[LineRow], keys: Sequence[str]) -> Table:
    """Units in place, then capex and IT power against the first plan."""
    columns = [words("", (row.product for row in rows))]
    for at, key in enumerate(keys):
        columns.append(Column(key, tuple(write_figure(r.quantity.values[at], "") for r in rows)))
    for at, key in enumerate(keys[1:], 1):
        changes = (
            ("units", [changed_by(row.quantity.changes[at], "") for row in rows]),
            ("capex", [changed_by(row.capex_usd.changes[at], "USD") for row in rows]),
            ("IT kW", [changed_by(row.it_power_kw.changes[at], "") for row in rows]),
        )
        for label, texts in changes:
            columns.append(Column(f"{key} - {keys[0]}, {label}", tuple(texts), detail=True))
    return _table("Bill, units", columns, "lines", _FIRST_ROWS)


def _limits(found: Comparison, keys: Sequence[str], *, everything: bool) -> Table:
    """Value and bound of every limit in each plan."""
    rows: list[tuple[str, ...]] = []
    for row in found.limits:
        if row.equal and not everything:
            continue
        bound = "at most" if row.sense == "<=" else "at least"
        reached = [_reached(side, row.unit) for side in row.sides]
        allowed = ["-" if side is None else valued(side.limit, row.unit) for side in row.sides]
        common = {text for text in allowed if text != "-"}
        if len(common) == 1:
            rows.append((f"{row.label}, {bound} {common.pop()}", *reached))
        else:
            rows.append((row.label, *reached))
            rows.append((f"  allowed {bound}", *allowed))
    columns = [
        Column(key, tuple(row[at] for row in rows), words=not at)
        for at, key in enumerate(("", *keys))
    ]
    return _table("Limits (* binding)", columns, "limits")


def _reached(side: LimitSide | None, unit: str) -> str:
    if side is None:
        return "-"
    return f"{valued(side.value, unit)}{'*' if side.binding else ''}"


# Storage rules side by side.


def rules(found: RulesTable) -> list[Block]:
    """A table of rules as blocks."""
    own = found.rows[0]
    text = f"no plan: {own.reason or 'none was found'}"
    if own.plan is not None and own.plan.totals is not None:
        value = f"{valued(own.measured or 0.0, found.measure.unit)} of {found.measure.label}"
        capex_usd = own.plan.totals.capex_usd
        cost = "" if capex_usd is None else f", {money(capex_usd)} of capex"
        text = f"{_storage(own.plan, most=None)}: {value}{cost}"
    gaps = [row.plan.objective.gap for row in found.rows if row.plan]
    return [
        Heading(f"{named(found)}  (storage by other rules)"),
        Facts((("Required", text),)),
        _rules_table(found),
        Text((_command(found),), "Command", detail=True),
        proof_block((proven(gaps),)),
    ]


def _rules_table(found: RulesTable) -> Table:
    rows, million = found.rows, found.shown_in.large[1]
    plans = [row.plan for row in rows]
    jobs = [None if plan is None else plan.jobs[0] for plan in plans]
    totals = [None if plan is None else plan.totals for plan in plans]
    storage = (
        f"no plan: {row.reason or 'none was found'}" if row.plan is None else _storage(row.plan)
        for row in rows
    )
    columns = (
        words("", (f"{row.label}{' *' if row.own else ''}" for row in rows)),
        words("storage", storage),
        figures("against", (row.difference for row in rows), signed),
        figures(f"capex, {million}", values_of(totals, lambda t: t.capex_usd), millions),
        figures("storage kW", map(_storage_kw, plans), lambda kw: valued(kw, "")),
        figures("GPUs in use", values_of(jobs, lambda j: j.gpus_used), 0, detail=True),
        figures(
            found.measure.label, (row.measured for row in rows), found.measure.unit, detail=True
        ),
        figures("days to train", values_of(jobs, lambda j: j.days_to_train), 1, detail=True),
        figures("interval", values_of(jobs, lambda j: j.interval_s), duration, detail=True),
        figures("goodput", values_of(jobs, lambda j: j.goodput), percent, detail=True),
    )
    notes = ("* as the problem file requires",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


def _stores(plan: Plan) -> list[Line]:
    return [line for line in own_lines(plan) if line.section == "Storage"]


def _storage_kw(plan: Plan | None) -> float | None:
    return None if plan is None else sum(line.it_power_kw or 0.0 for line in _stores(plan))


def _storage(plan: Plan, most: int | None = 1) -> str:
    """The largest purchases of storage, and the number of others."""
    bought = sorted(_stores(plan), key=lambda line: -line.working)
    bought = [line for line in bought if line.working]
    texts = [f"{line.working:,} {line.model}" for line in bought[:most]]
    texts += [f"+{len(bought) - len(texts)} more"] if len(bought) > len(texts) else []
    return ", ".join(texts) or "no storage"


def _command(found: RulesTable) -> str:
    """The command that solves a row in full."""
    row = next((row for row in found.rows if row.settings and not row.own), found.rows[0])
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    settings = [part for text in (*found.overrides, *row.settings) for part in ("--set", text)]
    return shlex.join(["planner", "solve", found.problem_file, *scenario, *settings])


# Near-optimal plans.


def alternatives(found: Alternatives) -> list[Block]:
    """Near-optimal plans as blocks."""
    title = Heading(f"{found.problem}  (plans within {_tolerance(found)} of the best)")
    if not found.alternatives:
        return [title, Text((found.message or "no plan",))]
    best, *others = found.alternatives
    job = best.plan.jobs[0]
    work = f"{number(job.useful_gpus)} useful GPUs"
    if job.useful_pflops is not None:
        work = f"{number(job.useful_pflops, 1)} useful PFLOP/s"
    facts = (
        ("Best", f"{bought_text(best.plan)}: {work}"),
        ("Found", f"{counted(len(others), 'other plan')} within {_tolerance(found)}"),
        ("Undecided", ", ".join(found.undecided)),
    )
    commands = tuple(_command_of(found, each) for each in found.alternatives)
    assert found.bound is not None
    better = "more" if found.sense == "maximize" else "less"
    label, bound = OBJECTIVES[found.objective].label, amount_of(found.objective, found.bound)
    return [
        title,
        Facts(facts),
        _plans(found),
        Text(commands, "Commands", detail=True),
        proof_block((
            f"No plan has {label} of {better} than {bound}; 'behind' counts from there. Least is "
            "among all plans within the tolerance.",
        )),
    ]  # fmt: skip


def _tolerance(found: Alternatives) -> str:
    return f"{100.0 * found.within:.6g} %"


def _command_of(found: Alternatives, alternative: Alternative) -> str:
    """The command that solves a plan."""
    settings = alternative.ways[0].setting
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    options = [part for text in (*found.overrides, *settings) for part in ("--set", text)]
    return shlex.join(
        ["planner", "solve", found.problem_file or "PROBLEM.yaml", *scenario, *options]
    )


def _plans(found: Alternatives) -> Table:
    rows = found.alternatives
    plans = [each.plan for each in rows]
    jobs = [plan.jobs[0] for plan in plans]
    totals = [plan.totals for plan in plans]
    flops = jobs[0].useful_pflops is not None
    work = [job.useful_pflops if flops else job.useful_gpus for job in jobs]
    ways = (
        ", ".join(f"{way.label} ({way.detail})" if way.detail else way.label for way in each.ways)
        for each in rows
    )
    million = found.shown_in.large[1]
    columns = (
        figures("", range(1, len(plans) + 1), 0),
        words("buys", map(bought_text, plans)),
        figures("useful PFLOP/s" if flops else "useful GPUs", work, 1, detail=True),
        figures("behind", (each.shortfall for each in rows), relative),
        figures("GPUs in use", (job.gpus_used for job in jobs), 0, detail=True),
        figures(f"capex {million}", values_of(totals, lambda t: t.capex_usd), millions),
        figures(f"TCO {million}", values_of(totals, lambda t: t.tco_usd), millions, detail=True),
        figures(FIGURES["it_power_kw"].title, values_of(totals, lambda t: t.it_power_kw), 1),
        figures("days to train", (job.days_to_train for job in jobs), 1, detail=True),
        words("extreme in", ways),
    )
    return Table("Plans, that of solve first", columns, rows="plans", first=_FIRST_PLANS)
