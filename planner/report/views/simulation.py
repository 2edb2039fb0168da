"""A simulation: goodput beside the formula's, time lost by cause, other intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import FIGURES
from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    figures,
    notes_block,
    proof_block,
    words,
)
from planner.report.words import DAY_S, counted, duration, listed, number, percent, size
from planner.schema.telemetry import IntervalTried, JobSimulated, Simulation

YEAR_S = 365 * DAY_S
_CAUSES = {
    "stall": "budget.stall",
    "slowdown": "budget.slowdown",
    "rework": "loss.rework",
    "drain": "loss.drain",
    "restart": "loss.restart",
    "restore": "loss.restore",
    "waiting": "loss.waiting",
    "shrunk": "budget.shrunk",
    "other": "loss.other",
}
_SPLIT = (
    "The formula splits the loss by logarithms, the simulation by events: parts may differ "
    "although the sums agree."
)
_LIMITS = {
    "max_overlap": "breaks max_overlap",
    "max_blocking": "breaks max_blocking",
    "drain": "drain not done by the next checkpoint",
    "endurance": "exceeds the write endurance of the storage",
}
_MOST_CAUSES, _APART = 3, 0.17


def view(study: Simulation) -> list[Block]:
    """A simulation as blocks."""
    job = study.jobs[0]
    places, found = _digits(job), job.goodput
    ranked = sorted(_CAUSES, key=lambda cause: -float(getattr(job.loss, cause)))
    lost = ", ".join(
        f"{_label(cause)} {percent(getattr(job.loss, cause), 2)}" for cause in ranked[:_MOST_CAUSES]
    )
    mean, formula = percent(found.mean, places), percent(job.predicted, places)
    single = f"{percent(found.p5, places)} to {percent(found.p95, places)}"
    facts = (
        ("Goodput", f"{mean} simulated, {formula} predicted; 90 % of runs {single}"),
        ("Formula", _verdict(job)),
        ("Lost", lost),
        ("Per year", _events(job)),
        ("Checkpoint", f"{size(job.checkpoint_gb)} every {duration(job.interval_s)}"),
        ("Failures", _failures(job)),
        ("Interval", _advice(study)),
    )
    stated, planned = job.planned_goodput, ""
    if stated is not None and not math.isclose(stated, job.predicted, rel_tol=1e-6):
        planned = f"the plan states {100 * stated:.2f} %, for its own interval and MTTI"
    waits = f"waits for a drain, part of the stalls: {percent(job.waits, places)}"
    within = f"{percent(found.low, places)} to {percent(found.high, places)}"
    name = study.problem if study.scenario is None else f"{study.problem}, {study.scenario}"
    return [
        Heading(f"{name}  (simulated: {_runs(study)})"),
        Facts(facts),
        _losses(job),
        _intervals(study),
        notes_block((planned, waits if job.waits else "")),
        proof_block((f"{job.name}: mean {within} with 95 % confidence. {_SPLIT}",)),
    ]


def _label(cause: str) -> str:
    return FIGURES[_CAUSES[cause]].label


def _causes(job: JobSimulated) -> list[str]:
    both = (job.predicted_loss, job.loss)
    return [cause for cause in _CAUSES if any(getattr(each, cause) for each in both)]


def _runs(study: Simulation) -> str:
    years = study.length_s / YEAR_S
    length = duration(study.length_s)
    if years >= 1 and math.isclose(years, round(years, 2), rel_tol=1e-9):
        length = f"{years:,g} years" if years > 1 else "1 year"
    return f"{counted(study.replications, 'run')} of {length}, seed {study.seed}"


def _digits(job: JobSimulated) -> int:
    """The decimals of a percentage that the noise leaves."""
    room = 100 * (job.goodput.high - job.goodput.mean)
    return 4 if room <= 0 else min(4, max(2, math.ceil(-math.log10(room))))


def _verdict(job: JobSimulated) -> str:
    """The difference of formula and simulation, and effects that the formula lacks."""
    apart, room = job.goodput.mean - job.predicted, job.goodput.high - job.goodput.mean
    places = _digits(job)
    if abs(apart) <= room:
        text = f"formula and simulation agree ({100 * abs(apart):.{places}f} points, within noise)"
    else:
        side = "high" if apart < 0 else "low"
        text = f"formula {100 * abs(apart):.{places}f} ± {100 * room:.{places}f} points too {side}"
    lacks = listed(list(_lacking(job)))
    return f"{text}; not in the formula: {lacks}" if lacks else text


def _lacking(job: JobSimulated) -> Iterator[str]:
    if job.failures.kind != "exponential":
        yield "failures with a memory"
    if job.repair is not None and job.repair.in_rack:
        yield "repairs that go on while the job waits"
    if job.predicted_loss.slowdown:
        yield "first intervals after restarts, which no drain slows"
    room_s = job.interval_s - job.stall_s
    if job.local is not None:
        room_s = job.local.every * job.interval_s
    if job.mode == "async" and job.drain_s > room_s:
        yield "waits for a drain longer than the interval"


def _failures(job: JobSimulated) -> str:
    failures = job.failures
    law = f"{failures.kind}"
    if failures.kind == "weibull":
        law = f"Weibull, shape {failures.shape:g}"
    elif failures.file is not None:
        scaled = ", scaled to the plan's mean" if failures.scaled else ""
        law = f"{counted(failures.times or 0, 'time')} of {failures.file}{scaled}"
    return f"interruption every {duration(failures.mean_s)} ({law})"


def _events(job: JobSimulated) -> str:
    parts = [f"{number(job.interruptions_per_year, 1)} interruptions"]
    if job.waits_per_year >= 0.05:
        parts.append(f"{number(job.waits_per_year, 1)} waits for a drain")
    if (seen := job.repair) is not None:
        parts.append(f"{number(seen.taken_per_year, 1)} units out for repair")
        waited = duration(job.loss.waiting * YEAR_S)
        parts.append(f"{number(seen.waits_per_year, 1)} waits for a repair ({waited})")
        if seen.shrinks:
            parts.append(f"{number(seen.grown_per_year, 1)} restarts with more replicas")
    if job.local is not None:
        parts.append(f"{number(job.local.remote_per_year, 1)} restores from shared storage")
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
    return f"{duration(best.interval_s)} is better by {_difference(best)} points"


def _difference(each: IntervalTried) -> str:
    return f"{100 * each.difference:+.3f} ± {100 * (each.high - each.difference):.3f}"


def _losses(job: JobSimulated) -> Table:
    places, causes = _digits(job), _causes(job)
    before = [job.predicted, *(getattr(job.predicted_loss, cause) for cause in causes)]
    after = [job.goodput.mean, *(getattr(job.loss, cause) for cause in causes)]
    columns = (
        words("", ("goodput", *map(_label, causes))),
        figures("predicted", before, lambda share: percent(share, places)),
        figures("simulated", after, lambda share: percent(share, places)),
    )
    return Table("Share of time", columns, detail=True)


def _intervals(study: Simulation) -> Table:
    rows = study.intervals
    columns = (
        figures("interval", (each.interval_s for each in rows), duration),
        figures("predicted", (each.predicted for each in rows), lambda share: percent(share, 2)),
        figures("simulated", (each.goodput for each in rows), lambda share: percent(share, 2)),
        figures("difference, points", map(_difference, rows), str),
        words("", (_remark(study, each) for each in rows)),
    )
    notes = ("± holds for all of them together with 95 % confidence",)
    return Table("Other intervals under the same failures", columns, notes, detail=True)


def _remark(study: Simulation, each: IntervalTried) -> str:
    best = study.better and study.best is not None and each == study.intervals[study.best]
    mark = "simulated above" if each.factor == 1.0 else "best" if best else ""
    return "; ".join(filter(None, (mark, *(_LIMITS[name] for name in each.breaks))))
