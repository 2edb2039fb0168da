"""A simulation as blocks: goodput beside the predicted one, time lost by cause, other intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import FIGURES
from planner.outputs.blocks import Block, Column, FirstScreen, Heading, Table, Text
from planner.outputs.words import DAY_S, counted, duration, listed, number, percent, size
from planner.schema.simulation import IntervalTried, JobSimulated, Simulation

YEAR_S = 365 * DAY_S
CAUSES = {
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
"""Causes of lost time, by their names in a ``LossBudget``, with the figures that label them."""

SPLIT = (
    "The formula splits the loss by logarithms, the simulation by events: parts may differ "
    "although the sums agree."
)
_LIMITS = {
    "max_overlap": "breaks max_overlap",
    "max_blocking": "breaks max_blocking",
    "drain": "drain not done by the next checkpoint",
    "endurance": "exceeds the write endurance of the storage",
    "local_endurance": "exceeds the write endurance of the local drives",
}
_MOST_CAUSES = 3


def label_of(cause: str) -> str:
    """Return the label of a cause."""
    return FIGURES[CAUSES[cause]].label


def causes_of(job: JobSimulated) -> list[str]:
    """Return the causes that a job loses time to, by formula or simulation."""
    both = (job.predicted_loss, job.loss)
    return [cause for cause in CAUSES if any(getattr(each, cause) for each in both)]


def describe_runs(study: Simulation) -> str:
    """Return number, length and seed of the runs."""
    years = study.length_s / YEAR_S
    whole = years >= 1 and math.isclose(years, round(years, 2), rel_tol=1e-9)
    length = (f"{years:,g} years" if years > 1 else "1 year") if whole else duration(study.length_s)
    return f"{counted(study.replications, 'run')} of {length}, seed {study.seed}"


def digits(job: JobSimulated) -> int:
    """Return the decimals of a percentage that the noise leaves."""
    room = 100 * (job.goodput.high - job.goodput.mean)
    return 4 if room <= 0 else min(4, max(2, math.ceil(-math.log10(room))))


def verdict(job: JobSimulated) -> str:
    """Return the difference of formula and simulation, and effects that the formula lacks."""
    apart, room = job.goodput.mean - job.predicted, job.goodput.high - job.goodput.mean
    places = digits(job)
    blind = listed(list(_blind(job)))
    if abs(apart) <= room:
        text = f"formula and simulation agree ({100 * abs(apart):.{places}f} points, within noise)"
    else:
        side = "high" if apart < 0 else "low"
        text = f"formula {100 * abs(apart):.{places}f} ± {100 * room:.{places}f} points too {side}"
    return f"{text}; not in the formula: {blind}" if blind else text


def _blind(job: JobSimulated) -> Iterator[str]:
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


def failures_text(job: JobSimulated) -> str:
    """Return the law of the failures."""
    failures = job.failures
    every = f"interruption every {duration(failures.mean_s)}"
    if failures.kind == "weibull":
        return f"{every} (Weibull, shape {failures.shape:g})"
    if failures.file is None:
        return f"{every} ({failures.kind})"
    scaled = ", scaled to the plan's mean" if failures.scaled else ""
    return f"{every} ({counted(failures.times or 0, 'time')} of {failures.file}{scaled})"


def repair_text(job: JobSimulated) -> str:
    """Return the assumptions on repair; empty without repair."""
    seen = job.repair
    if seen is None:
        return ""
    spares = counted(seen.spares, "hot spare") + (" per rack" if seen.in_rack else "")
    short = "fewer replicas run" if seen.shrinks else "the job waits"
    return (
        f"Repair: {percent(seen.hardware_share, 0)} of interruptions take a unit out for "
        f"{duration(seen.repair_s)} (exponential); {spares}; with more units out {short}."
    )


def events_text(job: JobSimulated) -> str:
    """Return the events of a year."""
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


def checkpoint_text(job: JobSimulated) -> str:
    """Return size, interval and levels of the checkpoints."""
    text = f"{size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    if job.local is None:
        return text
    which = "each" if job.local.every == 1 else f"every {job.local.every}th"
    return f"{text}, kept locally, {which} on shared storage"


def advice(study: Simulation) -> str:
    """Return whether another interval is better."""
    if not study.intervals:
        return ""
    if study.best is None:
        return "no interval that was tried keeps the plan's limits"
    best = study.intervals[study.best]
    if not study.better:
        return "no allowed interval is better by more than the noise"
    room = best.high - best.difference
    return (
        f"{duration(best.interval_s)} is better by {100 * best.difference:.3f} ± "
        f"{100 * room:.3f} points"
    )


def first(study: Simulation) -> FirstScreen:
    """Return the first screen."""
    job = study.jobs[0]
    places, found = digits(job), job.goodput
    lost = sorted(CAUSES, key=lambda cause: -float(getattr(job.loss, cause)))[:_MOST_CAUSES]
    causes = ", ".join(
        f"{label_of(cause)} {percent(getattr(job.loss, cause), 2)}" for cause in lost
    )
    mean, predicted = percent(found.mean, places), percent(job.predicted, places)
    single = f"{percent(found.p5, places)} to {percent(found.p95, places)}"
    low, high = percent(found.low, places), percent(found.high, places)
    return FirstScreen(
        _title(study),
        (
            ("Goodput", f"{mean} simulated, {predicted} predicted; 9 of 10 runs {single}"),
            ("Formula", verdict(job)),
            ("Lost", causes),
            ("Per year", events_text(job)),
            ("Checkpoint", checkpoint_text(job)),
            ("Failures", failures_text(job)),
            ("Interval", advice(study)),
        ),
        notes=tuple(filter(None, (repair_text(job), _other_plan(job)))),
        proof=(f"{job.name}: mean between {low} and {high} with 95 % confidence", SPLIT),
        full="every loss beside the formula's"
        + (f", {len(study.intervals)} intervals" if study.intervals else ""),
    )


def _title(study: Simulation) -> str:
    name = study.problem if study.scenario is None else f"{study.problem}, {study.scenario}"
    return f"{name}  (simulated: {describe_runs(study)})"


def _other_plan(job: JobSimulated) -> str:
    stated = job.planned_goodput
    if stated is None or math.isclose(stated, job.predicted, rel_tol=1e-6):
        return ""
    return f"The plan states {100 * stated:.2f} %, for its own interval and MTTI."


def render(study: Simulation) -> tuple[Block, ...]:
    """Return the whole result."""
    job = study.jobs[0]
    texts = (
        f"Job {job.name}: checkpoint of {checkpoint_text(job)}; {failures_text(job)}.",
        repair_text(job),
        f"Per year: {events_text(job)}.",
        f"Result: {verdict(job)}.",
        _other_plan(job),
    )
    blocks: tuple[Block, ...] = (
        Heading(_title(study)),
        Text(tuple(filter(None, texts))),
        _losses(study, job),
    )
    return (*blocks, _intervals(study)) if study.intervals else blocks


def _losses(study: Simulation, job: JobSimulated) -> Table:
    places, causes, found = digits(job), causes_of(job), job.goodput
    names = ["goodput", *(label_of(cause) for cause in causes)]
    before = [job.predicted, *(getattr(job.predicted_loss, cause) for cause in causes)]
    after = [found.mean, *(getattr(job.loss, cause) for cause in causes)]
    bounds = f"{percent(found.low, places)} to {percent(found.high, places)}"
    single = f"{percent(found.p5, places)} to {percent(found.p95, places)}"
    waits = f"Waits for a drain, part of the stalls: {percent(job.waits, places)}."
    return Table(
        "Share of time",
        (
            Column("", tuple(names), words=True),
            _percents("predicted", before, places),
            _percents("simulated", after, places),
        ),
        notes=(
            f"Mean goodput with 95 % confidence: {bounds}; single runs, 9 of 10: {single}.",
            waits if job.waits else "",
            SPLIT,
        ),
    )


def _percents(label: str, values: list[float], places: int) -> Column:
    return Column(label, tuple(values), "share", tuple(percent(value, places) for value in values))


def _intervals(study: Simulation) -> Table:
    tried = study.intervals
    apart = [
        ""
        if each.factor == 1.0
        else f"{100 * each.difference:+.3f} ± {100 * (each.high - each.difference):.3f}"
        for each in tried
    ]
    return Table(
        "Other intervals under the same failures",
        (
            Column(
                "interval",
                tuple(each.interval_s for each in tried),
                "s",
                tuple(duration(each.interval_s) for each in tried),
            ),
            _percents("predicted", [each.predicted for each in tried], 2),
            _percents("simulated", [each.goodput for each in tried], 2),
            Column(
                "points more",
                tuple(100 * each.difference for each in tried),
                "points",
                tuple(apart),
            ),
            Column("", tuple(_remark(study, each) for each in tried), words=True),
        ),
        notes=(f"± holds for all of them together with 95 % confidence; {advice(study)}.",),
    )


def _remark(study: Simulation, each: IntervalTried) -> str:
    best = study.better and study.best is not None and each == study.intervals[study.best]
    mark = "simulated above" if each.factor == 1.0 else "best" if best else ""
    return "; ".join(filter(None, (mark, *(_LIMITS[name] for name in each.breaks))))
