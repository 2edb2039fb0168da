"""Plans compared: side by side, by storage rule, and near-optimal ones."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

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
    Bought,
    Comparison,
    Direction,
    FigureRow,
    LimitSide,
    LineRow,
    Outcome,
    RulesTable,
    Side,
)
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
_FIRST_ROWS = 6


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

_GROUPS = {"rule": "rule", "mode": "mode", "variant": "file system", "vendor": "vendor"}


def rules(found: RulesTable) -> list[Block]:
    """A table of rules as blocks."""
    own, measure = found.rows[0], found.measure
    text = f"no plan: {own.reason or 'none was found'}"
    if (plan := own.outcome) is not None:
        bought = ", ".join(f"{each.quantity:,} {each.model}" for each in plan.storage)
        cost = f", {money(plan.capex_usd)} of capex" if plan.capex_usd is not None else ""
        value = f"{valued(plan.measured or 0.0, measure.unit)} of {measure.label}"
        text = f"{bought or 'no storage'}: {value}{cost}"
    return [
        Heading(f"{named(found)}  (storage by other rules)"),
        Facts((("Required", text),)),
        _rules_table(found),
        Text((_command(found),), "Command", detail=True),
        proof_block((proven([row.outcome.gap for row in found.rows if row.outcome]),)),
    ]


def _rules_table(found: RulesTable) -> Table:
    rows = found.rows
    plans = [row.outcome for row in rows]
    million = found.shown_in.large[1]

    def column(label: str, write: Callable[[Outcome], str], *, detail: bool = False) -> Column:
        return figures(label, plans, write, detail=detail)

    storage = (
        f"no plan: {row.reason or 'none was found'}" if p is None else _storage(p.storage)
        for row, p in zip(rows, plans, strict=True)
    )
    columns = (
        words("", (f"{row.label}{' *' if row.own else ''}" for row in rows)),
        words("kind", (_GROUPS.get(row.group, "") for row in rows), detail=True),
        words("storage", storage),
        column("against", lambda p: signed(p.difference)),
        column(f"capex, {million}", lambda p: millions(p.capex_usd)),
        column("storage kW", lambda p: valued(p.storage_it_power_kw or 0.0, "")),
        column("GPUs in use", lambda p: f"{p.gpus_used:,}", detail=True),
        column(
            FIGURES["useful_pflops"].label if found.measure.name == "useful_pflops"
            else found.measure.label,
            lambda p: valued(p.measured or 0.0, found.measure.unit),
            detail=True,
        ),
        column(
            "days to train",
            lambda p: "-" if p.days_to_train is None else f"{p.days_to_train:,.1f}",
            detail=True,
        ),
        column("interval", lambda p: duration(p.interval_s), detail=True),
        column("goodput", lambda p: percent(p.goodput, 2), detail=True),
    )  # fmt: skip
    notes = ("* as the problem file requires",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


def _storage(bought: Sequence[Bought]) -> str:
    """The largest of several purchases, and the number of others."""
    if not bought:
        return "none"
    first = max(bought, key=lambda each: each.quantity)
    more = f", +{len(bought) - 1} more" if len(bought) > 1 else ""
    return f"{first.quantity:,} {first.model}{more}"


def _command(found: RulesTable) -> str:
    """The command that solves a row in full."""
    row = next((row for row in found.rows if row.settings and not row.own), found.rows[0])
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    settings = [part for text in (*found.overrides, *row.settings) for part in ("--set", text)]
    return shlex.join(["planner", "solve", found.problem_file, *scenario, *settings])


# Near-optimal plans.

_OTHERS = {"storage_vendor": "storage vendor", "gpu_type": "GPU system"}


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
        *_searched(found),
        ("", found.message or ""),
    )
    commands = tuple(filter(None, (_command_of(found, each) for each in found.alternatives)))
    assert found.bound is not None
    better = "more" if found.sense == "maximize" else "less"
    label, bound = OBJECTIVES[found.objective].label, amount_of(found.objective, found.bound)
    return [
        title,
        Facts(facts),
        _plans(found),
        Text(commands, "Commands", detail=True),
        proof_block((
            f"No plan has {label} of {better} than {bound}; 'behind' counts from there. Least and "
            "most are among all plans within the tolerance.",
        )),
    ]  # fmt: skip


def _tolerance(found: Alternatives) -> str:
    return f"{100.0 * found.within:.6g} %"


def _command_of(found: Alternatives, alternative: Alternative) -> str:
    """The command that solves a plan; empty where no problem file can ask for it."""
    settings = next((way.setting for way in alternative.ways if way.setting is not None), None)
    if settings is None:
        return ""
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    options = [part for text in (*found.overrides, *settings) for part in ("--set", text)]
    return shlex.join(
        ["planner", "solve", found.problem_file or "PROBLEM.yaml", *scenario, *options]
    )


def _searched(found: Alternatives) -> Iterator[tuple[str, str]]:
    """Yield the result of the search in each direction."""
    for name, label in _OTHERS.items():
        mine = [each for each in found.directions if each.name == name]
        yield f"Other {label}", "; ".join(_others(found, mine)) or "none on offer"
    labels = [each.label for each in found.directions if each.ended == "not_found"]
    yield "Undecided", ", ".join(labels)
    near = [each.label for each in found.directions if each.ended == "within" and not each.proven]
    yield "Not proven", ", ".join(near)
    more = found.found - len(found.alternatives)
    yield "Omitted", f"{counted(more, 'plan')} alike" if more > 0 else ""


def _others(found: Alternatives, mine: Sequence[Direction]) -> Iterator[str]:
    within = [
        f"{each.detail} {relative(each.shortfall or 0.0)} behind"
        for each in mine
        if each.ended == "within"
    ]
    if within:
        yield ", ".join(within)
    if mine and mine[-1].ended == "no_plan":
        yield f"no plan with any {'further one' if within else 'other'}"
    elif mine and mine[-1].ended == "beyond":
        last = mine[-1]
        ends = (relative(last.at_least or 0.0), relative(last.shortfall or 0.0))
        far = " to ".join(dict.fromkeys(ends))
        proven = " (proven)" if last.proven else ""
        yield f"none within {_tolerance(found)}: {last.detail} is {far} behind{proven}"


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
    return Table("Plans, that of solve first", columns)
