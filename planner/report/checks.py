"""Checks of a plan (file recomputed, workbook audited, job simulated), and sizing of a job."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import FIGURES
from planner.report import formats as fmt
from planner.report.blocks import (
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
    words,
)
from planner.report.edition import in_currency
from planner.schema.analysis import Audit, Verification
from planner.schema.operation import (
    ApplianceRow,
    IntervalTried,
    JobSimulated,
    ModeReport,
    RuleRow,
    Simulation,
    SizeReport,
)
from planner.schema.plan import Plan

# A plan file.

_RESULTS = {"holds": "holds", "fails": "FAILS", "not_checked": "not checked"}


def verification(found: Verification) -> list[Block]:
    """The checks of a plan as blocks."""
    left = sum(check.result == "not_checked" for check in found.checks)
    title = "the plan holds" if found.result == "holds" else "the plan DOES NOT HOLD"
    if left:
        title += f"; {left} of {len(found.checks)} checks could not be made"
    rows = tuple((each.name, f"{_RESULTS[each.result]}: {each.text}") for each in found.checks)
    findings = (
        Text(check.findings, f"Findings: {check.name}", points=True, most=10)
        for check in found.checks
    )
    return [Heading(f"{found.problem}: {title}"), Facts(rows), *findings]


# An edited workbook.

_WORK = ("useful_pflops", "useful_gpus", "gpus_used", "goodput")
_MAIN = (*_WORK, "facility_power_kw", "capex_usd", "tco_usd")
_ROWS = (*_MAIN, "interval_s", "overlap", "restore_s", "days_to_train", "racks")
"""Figures to compare, by name; the main ones are on the first screen."""


def audit(found: Audit) -> list[Block]:
    """The audit of a workbook as blocks: verdict, edits, figures, stale figures."""
    title = Heading(f"{found.problem}  (audit of {found.workbook})")
    unread = f"sheets not read: {', '.join(found.added_sheets)}" if found.added_sheets else ""
    if found.edited is None:
        verdict = f"nothing to compare: {found.reason}"
        return [title, Facts((("Verdict", verdict),)), _edits(found), notes_block((unread,))]
    broken = [in_currency(each, found.edited.shown_in) for each in found.breaches]
    facts = (
        ("Verdict", _verdict(found, found.edited)),
        ("Broken", "; ".join(map(fmt.breach_text, broken))),
        ("Edited", "" if found.edits else "nothing"),
    )
    models = {line.sku: line.model for line in (*found.solved.lines, *found.edited.lines)}
    lacking = [
        f"{models.get(sku, sku)}: {listed:,} listed, {needed:,} needed"
        for sku, (listed, needed) in found.shortages.items()
    ]
    stale = [
        f"{name}: {shown:,.9g} in the file, {computed:,.9g} computed"
        for name, (shown, computed) in found.stale.items()
    ]
    several = len(found.solved.jobs[0].gpu_types) > 1
    why = "approximate with several GPU types" if several else "recalculate the workbook"
    return [
        title,
        Facts(facts),
        _edits(found),
        _figures(found),
        notes_block(lacking, "Counts the edited cluster needs"),
        notes_block(stale, f"Stale figures ({why})"),
        notes_block((unread, *(f"interval: {text}" for text in found.remarks))),
    ]


def _edits(found: Audit) -> Table:
    rows = found.edits
    before, after = found.solved.shown_in, (found.edited or found.solved).shown_in
    columns = (
        words("cell", (f"{each.sheet}!{each.cell}" for each in rows)),
        words("input", (each.label for each in rows)),
        figures("solved", (fmt.write_in(before, each.before, each.unit) for each in rows), str),
        figures("edited", (fmt.write_in(after, each.after, each.unit) for each in rows), str),
    )
    return Table("Edits", columns, most=40, first=8, rows="edits")


def _figure(plan: Plan, name: str) -> float | None:
    """A figure of a plan's job or totals."""
    value = getattr(plan.jobs[0], name, None) if plan.jobs else None
    return getattr(plan.totals, name, None) if value is None else value


def _figures(found: Audit) -> Table:
    """The figures of the solved, the edited and the best plan."""
    plans = [in_currency(plan) for plan in (found.solved, found.edited, found.best) if plan]
    names = [name for name in _ROWS if any(_figure(plan, name) is not None for plan in plans)]
    rows = [
        fmt.write_row(FIGURES[name].label, FIGURES[name].unit, [_figure(p, name) for p in plans])
        for name in names
    ]
    columns = [words("figure", (label for label, *_ in rows))]
    columns += [
        Column(head, tuple(texts[at] for *_, texts in rows))
        for at, head in enumerate(("solved", "edited", "best now")[: len(plans)])
    ]
    return Table("Figures", tuple(columns), first=len(_MAIN), rows="figures")


def _verdict(found: Audit, edited: Plan) -> str:
    """Limits that the edited plan breaks, and its distance from the best."""
    goal, count, best = edited.objective, len(found.breaches), found.best
    broken = f"breaks {fmt.count_noun(count, 'limit')}" if count else "keeps every limit"
    if best is None and found.reason is None:
        return f"{broken}; not compared with the best plan"
    if best is None:
        return f"{broken}; no plan keeps every limit under the edited inputs: {found.reason}"
    if found.shortfall is None:
        return broken
    proven = f"(proven within {fmt.gap(best.objective.gap)})"
    if abs(found.shortfall) <= max(best.objective.gap or 0.0, 1e-9):
        return f"{broken}, as good as the best plan {proven}"
    is_less = (found.shortfall > 0) == (goal.sense == "maximize")
    share = f"{fmt.percent(abs(found.shortfall), 3)} {'less' if is_less else 'more'}"
    return f"{broken}, {share} than the best plan {proven}"


# A simulation: goodput beside the formula's, time lost by cause, other intervals.

YEAR_S = 365 * fmt.DAY_S
_SPLIT = (
    "The formula splits the loss by logarithms, the simulation by events: parts may differ "
    "although the sums agree."
)


def simulation(study: Simulation) -> list[Block]:
    """A simulation as blocks."""
    job = study.jobs[0]
    places, found = _digits(job), job.goodput
    mean, formula = fmt.percent(found.mean, places), fmt.percent(job.predicted, places)
    single = f"{fmt.percent(found.p5, places)} to {fmt.percent(found.p95, places)}"
    facts = (
        ("Goodput", f"{mean} simulated, {formula} predicted; 90 % of runs {single}"),
        ("Formula", _agreement(job)),
        ("Per year", _events(job)),
        ("Failures", _failures(job)),
        ("Interval", _advice(study)),
    )
    within = f"{fmt.percent(found.low, places)} to {fmt.percent(found.high, places)}"
    name = study.problem if study.scenario is None else f"{study.problem}, {study.scenario}"
    length = study.length_s / YEAR_S
    span = f"{length:g} year{'s' if length > 1 else ''}"
    span = span if round(length, 2) >= 1 else fmt.duration(study.length_s)
    runs = f"{fmt.count_noun(study.replications, 'run')} of {span}, seed {study.seed}"
    return [
        Heading(f"{name}  (simulated: {runs})"),
        Facts(facts),
        _losses(job),
        _intervals(study),
        proof_block((f"{job.name}: mean {within} with 95 % confidence. {_SPLIT}",)),
    ]


def _digits(job: JobSimulated) -> int:
    """The decimals of a percentage that the noise leaves."""
    room = 100 * (job.goodput.high - job.goodput.mean)
    return 4 if room <= 0 else min(4, max(2, math.ceil(-math.log10(room))))


def _agreement(job: JobSimulated) -> str:
    """The difference of formula and simulation beside the noise."""
    apart, room = job.goodput.mean - job.predicted, job.goodput.high - job.goodput.mean
    places = _digits(job)
    if abs(apart) <= room:
        return f"formula and simulation agree ({100 * abs(apart):.{places}f} points, within noise)"
    side = "high" if apart < 0 else "low"
    text = f"formula {100 * abs(apart):.{places}f} ± {100 * room:.{places}f} points too {side}"
    if job.failures.kind != "exponential":
        text += "; it assumes failures without a memory"
    return text


def _failures(job: JobSimulated) -> str:
    failures = job.failures
    law = f"{failures.kind}"
    if failures.kind == "weibull":
        law = f"Weibull, shape {failures.shape:g}"
    elif failures.file is not None:
        scaled = ", scaled to the plan's mean" if failures.scaled else ""
        law = f"{fmt.count_noun(failures.times or 0, 'time')} of {failures.file}{scaled}"
    return f"interruption every {fmt.duration(failures.mean_s)} ({law})"


def _events(job: JobSimulated) -> str:
    parts = [f"{fmt.number(job.interruptions_per_year, 1)} interruptions"]
    if (seen := job.repair) is not None:
        parts.append(f"{fmt.number(seen.taken_per_year, 1)} units out for repair")
        waited = fmt.duration(job.loss.waiting * YEAR_S)
        parts.append(f"{fmt.number(seen.waits_per_year, 1)} waits for a repair ({waited})")
        if seen.shrinks:
            parts.append(f"{fmt.number(seen.grown_per_year, 1)} restarts with more replicas")
    if (restores := job.remote_restores_per_year) is not None:
        parts.append(f"{fmt.number(restores, 1)} restores from shared storage")
    return ", ".join(parts)


def _advice(study: Simulation) -> str:
    """The better interval, or that there is none."""
    if not study.intervals:
        return ""
    if study.best is None:
        return "no interval tried keeps the plan's limits"
    if not study.better:
        return "no allowed interval is better by more than the noise"
    best = study.intervals[study.best]
    return f"{fmt.duration(best.interval_s)} is better by {_difference(best)} points"


def _difference(each: IntervalTried) -> str:
    return f"{100 * each.difference:+.3f} ± {100 * (each.high - each.difference):.3f}"


def _losses(job: JobSimulated) -> Table:
    places, both = _digits(job), (job.predicted_loss, job.loss)
    causes = [c for c in type(job.loss).model_fields if any(getattr(each, c) for each in both)]
    labels = (FIGURES.get(f"budget.{c}") or FIGURES[f"loss.{c}"] for c in causes)
    columns = [words("", ("goodput", *(each.label for each in labels)))]
    for head, loss, goodput in (
        ("predicted", job.predicted_loss, job.predicted),
        ("simulated", job.loss, job.goodput.mean),
    ):
        shares = [goodput, *(getattr(loss, cause) for cause in causes)]
        columns.append(figures(head, shares, lambda share: fmt.percent(share, places)))
    return Table("Share of time", tuple(columns))


def _intervals(study: Simulation) -> Table:
    rows = study.intervals
    columns = (
        figures("interval", (each.interval_s for each in rows), fmt.duration),
        figures(
            "predicted", (each.predicted for each in rows), lambda share: fmt.percent(share, 2)
        ),
        figures("simulated", (each.goodput for each in rows), lambda share: fmt.percent(share, 2)),
        figures("difference, points", map(_difference, rows), str),
        words("", (_remark(study, each) for each in rows)),
    )
    notes = ("± holds for all of them together with 95 % confidence",)
    return Table("Other intervals under the same failures", columns, notes, detail=True)


def _remark(study: Simulation, each: IntervalTried) -> str:
    best = study.better and study.best is not None and each == study.intervals[study.best]
    mark = "simulated above" if each.factor == 1.0 else "best" if best else ""
    return "; ".join(filter(None, (mark, *(f"breaks {name}" for name in each.breaks))))


# Sizing: checkpoint, intervals, demand of the job and of vendor rules, appliances.

_FAMILIES = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}


def size(report: SizeReport) -> list[Block]:
    """A sizing report as blocks."""
    write, read = report.delivered_write_share, report.delivered_read_share
    bases = (
        "not comparable: demand is in delivered bandwidth (of nameplate "
        f"{fmt.percent(write, 0)} in writing, {fmt.percent(read, 0)} in reading), vendor rules in "
        "nameplate; goodput is that of the job with just that bandwidth"
    )
    return [
        Heading(f"{report.problem}  (sizing only, no optimisation)"),
        Facts(tuple(_size_facts(report))),
        _rules(report),
        _appliances(report),
        Facts(tuple(_details(report)), "Basis", detail=True),
        *(_size_intervals(mode) for mode in report.modes),
        notes_block((*report.notes, bases)),
    ]


def _chosen(report: SizeReport) -> RuleRow:
    return next((rule for rule in report.rules if rule.chosen), report.rules[0])


def _fitting(rule: RuleRow) -> list[ApplianceRow]:
    """The item of each family that fits with the least power, the least of all first."""
    first = {row.family: row for row in reversed(rule.appliances)}
    return [row for row in rule.appliances if row is first[row.family]]


def _size_facts(report: SizeReport) -> Iterator[tuple[str, str]]:
    mode, own = report.modes[0], _chosen(report)
    row, by_need = mode.rows[0], own.group == "demand_law"
    text = f"{report.gpus:,} GPUs in {report.systems:,} {report.name}: an interruption every "
    yield "Cluster", text + fmt.duration(report.mtti_s)
    text = f"{fmt.significant(report.checkpoint_gb, 'GB')} every {fmt.duration(row.interval_s)}; "
    place = "on flash" if report.bulk_needed_tb else "with the data set"
    yield "Checkpoint", f"{text}{fmt.number(report.capacity_needed_tb)} TB usable {place}"
    if by_need:
        per_gpu = row.write_mb_per_s_per_gpu
        each = "" if per_gpu is None else f" ({_rate(per_gpu)} MB/s per GPU)"
        busy = "drain" if mode.mode == "async" else "stall"
        limit = f"{busy} {100 * mode.limit_share:g} % of the interval at most"
        yield "Write", f"{_rate(row.write_demand_gb_per_s)} GB/s{each}, {limit}"
        read = "no limit on the restore time"
        if report.max_restore_s is not None:
            within = fmt.duration(report.max_restore_s)
            read = f"{_rate(report.restore_gb_per_s)} GB/s to restore within {within}"
        yield "Read", read
    else:
        yield "Write", f"{_rate(own.write_demand_gb_per_s)} GB/s nameplate by the {own.rule} rule"
        yield "Read", f"{_rate(own.read_demand_gb_per_s)} GB/s nameplate by the {own.rule} rule"
    if report.bulk_needed_tb:
        text = f"read {_rate(report.ingest_demand_gb_per_s)} GB/s delivered for training data"
        if not report.ingest_demand_gb_per_s:
            text = "no read rate (ingest_per_gpu is 0)"
        yield "Bulk tier", f"{fmt.number(report.bulk_needed_tb)} TB usable for the data set; {text}"
    if own.running is not None:
        yield "Goodput", f"{fmt.percent(own.running.goodput_share, 2)} with just that bandwidth"


def _rate(gb_per_s: float | None) -> str:
    if gb_per_s is None:
        return "infeasible"
    return f"{gb_per_s:,.0f}" if gb_per_s >= 1000 else f"{gb_per_s:,.3g}"


def _details(report: SizeReport) -> Iterator[tuple[str, str]]:
    yield "GPUs", report.reason
    yield "Failures", f"{report.failures_per_gpu_day:.3g} per GPU and day"
    text = f"{report.writing_systems:,} systems write (at most {report.client_write_gb_per_s:,.0f} "
    text += f"GB/s), {report.systems:,} read (at most {report.client_read_gb_per_s:,.0f} GB/s)"
    yield "Clients", text
    reads = report.ingest_demand_gb_per_s
    yield "Ingest", f"{fmt.number(reads, 1)} GB/s" if reads else ""


def _size_intervals(mode: ModeReport) -> Table:
    is_sync, rows = mode.mode == "sync", mode.rows
    runs = [row.running for row in rows]
    share = read_values(runs, lambda r: (r.stall_s if is_sync else r.drain_s) / r.interval_s)
    names = (f"{fmt.duration(row.interval_s)}{'' if n else ' *'}" for n, row in enumerate(rows))
    columns = (
        words("interval", names),
        figures("write GB/s", (_rate(row.write_demand_gb_per_s) for row in rows), str),
        figures("MB/s per GPU", (row.write_mb_per_s_per_gpu for row in rows), _rate),
        figures("TB a day", (row.write_volume_tb_per_day for row in rows), 0),
        figures("drain", read_values(runs, lambda r: r.drain_s), fmt.duration),
        figures("stalled" if is_sync else "overlap", share, fmt.percent),
        figures(
            "goodput", read_values(runs, lambda r: r.goodput_share), lambda v: fmt.percent(v, 2)
        ),
    )
    kind, busy = ("Synchronous", "stalled") if is_sync else ("Asynchronous", "draining")
    title = f"{kind} checkpoints, at most {100 * mode.limit_share:g} % of the interval {busy}"
    note = "* as set" if mode.policy == "fixed" else "* optimal within the bounds of the problem"
    return Table(title, columns, (note,), detail=True)


def _rules(report: SizeReport) -> Table:
    """Demand of the job and of vendors' rules, each with the appliance of least power."""
    rows = report.rules
    runs = [rule.running for rule in rows]
    names = (f"{_FAMILIES.get(r.group, '')} {r.rule}{' *' if r.chosen else ''}" for r in rows)
    best = [next(iter(_fitting(rule)), None) for rule in rows]
    columns = (
        words("rule", (name.strip() for name in names)),
        figures("read GB/s", (_rate(rule.read_demand_gb_per_s) for rule in rows), str),
        figures("write GB/s", (_rate(rule.write_demand_gb_per_s) for rule in rows), str),
        figures(
            "goodput", read_values(runs, lambda r: r.goodput_share), lambda v: fmt.percent(v, 2)
        ),
        words("least power", (f"{b.units:,} {b.name}" if b else "not possible" for b in best)),
    )
    return Table("Demand by rule", columns, ("* the rule of this problem",))


def _appliances(report: SizeReport) -> Table:
    """The appliances that meet the problem's own rule."""
    rows = _fitting(_chosen(report))
    prices = (None if r.net_usd is None else report.currency.convert(r.net_usd) for r in rows)
    columns = (
        figures("units", (row.units for row in rows), 0),
        words("appliance", (row.name for row in rows)),
        figures("kW", (row.it_power_kw for row in rows), 1),
        figures("racks", (row.racks for row in rows), 0),
        figures("net price", prices, "USD"),
        words("binding", (row.decided_by for row in rows)),
    )
    note = "the item of each storage family that draws least, alone"
    return Table("Appliances", columns, (note,), first=4, rows="appliances")
