"""A simulation in words: goodput beside the predicted one, where time is lost, intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.figures import FIGURES
from planner.outputs.blocks import FirstScreen, aligned, join_parts
from planner.outputs.words import DAY_S, counted, duration, listed, number, percent, size, wrapped
from planner.schema.simulation import (
    FailuresAssumed,
    IntervalTried,
    JobSimulated,
    Simulation,
)

YEAR_S = 365 * DAY_S
CAUSES = {
    name.split(".")[1]: FIGURES[name].label
    for name in (
        "budget.stall", "budget.slowdown", "loss.rework", "loss.drain", "loss.restart",
        "loss.restore", "budget.planned",
        "loss.waiting", "budget.shrunk",
    )
}  # fmt: skip
"""Where time is lost, by the names in a ``LossBudget``."""

SELDOM = ("slowdown", "planned", "waiting", "shrunk")
"""What is told only where it happens."""

LIMITS = {
    "max_overlap": "drains longer than max_overlap",
    "max_blocking": "blocks longer than max_blocking",
    "drain": "a drain is not done by the next checkpoint",
}
"""What an interval breaks."""

SPLIT = (
    "The formula splits its loss by logarithms, the simulation counts what happened: parts may "
    "differ although the sums agree."
)


def span(seconds: float) -> str:
    """Return a length of time, whole years as years."""
    years = seconds / YEAR_S
    if years >= 1 and math.isclose(years, round(years, 2), rel_tol=1e-9):
        return counted(1, "year") if years == 1 else f"{years:,g} years"
    return duration(seconds)


def describe_runs(study: Simulation) -> str:
    """Return what was simulated: how many runs of what length."""
    runs = counted(study.replications, "run")
    return f"simulated event by event: {runs} of {span(study.length_s)}, seed {study.seed}"


def digits(job: JobSimulated) -> int:
    """Return how many decimals of a percentage say something."""
    room = 100 * (job.goodput.high - job.goodput.mean)
    return 4 if room <= 0 else min(4, max(2, math.ceil(-math.log10(room))))


def assumed(failures: FailuresAssumed) -> str:
    """Return when a job fails."""
    every = f"an interruption every {duration(failures.mean_s)}"
    if failures.kind == "weibull":
        return f"{every} (Weibull, shape {failures.shape:g})"
    if failures.kind == "exponential":
        return f"{every} (exponential)"
    stretched = ", stretched to the plan's mean" if failures.scaled else ""
    return f"{every} ({counted(failures.times or 0, 'time')} of {failures.file}{stretched})"


def verdict(study: Simulation, job: JobSimulated) -> str:
    """Return how far formula and simulation are apart, and what the formula leaves out."""
    apart = job.goodput.mean - job.predicted
    room = job.goodput.high - job.goodput.mean
    places = digits(job)
    points = f"{100 * abs(apart):.{places}f} points ({relative(job)} of it)"
    blind = listed(list(_blind(study, job)))
    if abs(apart) <= room:
        text = f"Formula and simulation agree: {points} apart, which is within the noise."
        return f"{text} The formula knows nothing of {blind}." if blind else text
    side = "high" if apart < 0 else "low"
    low, high = sorted((100 * abs(apart) - 100 * room, 100 * abs(apart) + 100 * room))
    text = f"The formula is {points} too {side}, between {low:.{places}f} and {high:.{places}f}"
    return f"{text}: it knows nothing of {blind}." if blind else f"{text}."


def relative(job: JobSimulated) -> str:
    """Return how far simulation and formula are apart, as a share of the formula's goodput."""
    share = abs(job.goodput.mean - job.predicted) / job.predicted if job.predicted else math.inf
    return f"{100 * share:.2g} %"


def _blind(study: Simulation, job: JobSimulated) -> Iterator[str]:
    if job.failures.kind != "exponential":
        yield "failures with a memory"
    if study.planned is not None:
        yield "planned stops"
    if study.outages is not None:
        yield "outages"
    if len(study.jobs) > 1:
        yield "other jobs"
    if job.repair is not None and job.repair.in_rack:
        yield "repairs that go on while the job waits"
    if job.predicted_loss.slowdown:
        yield "first intervals after restarts, which no drain slows"
    room_s = job.interval_s - job.stall_s
    if job.local is not None:
        room_s = job.local.every * job.interval_s
    if job.mode == "async" and job.drain_s > room_s:
        yield "waiting for a drain longer than the interval"


def other_plan(job: JobSimulated) -> str:
    """Return what the plan itself states, where something else was simulated."""
    stated = job.planned_goodput
    if stated is None or math.isclose(stated, job.predicted, rel_tol=1e-6):
        return ""
    return (
        f"The plan states {100 * stated:.2f} %, for its own interval and mean time between "
        "interruptions."
    )


def happened(study: Simulation, job: JobSimulated) -> str:
    """Return what happened to a job in a year, on average."""
    expected = YEAR_S / job.failures.mean_s
    parts = [
        f"{number(job.interruptions_per_year, 1)} interruptions "
        f"({number(expected, 1)} if all time counts)"
    ]
    if study.planned is not None:
        parts.append(f"{number(job.stops_per_year, 1)} planned stops")
    if job.waits_per_year >= 0.05:
        waits = f"{number(job.waits_per_year, 1)} waits for a drain"
        parts.append(f"{waits}, {duration(job.waits * YEAR_S)} in all")
    else:
        parts.append("no waits for a drain")
    parts += _repairs(job)
    if job.local is not None:
        parts.append(f"{number(job.local.remote_per_year, 1)} needed the shared storage")
    return f"{job.name}: {'; '.join(parts)}"


def _repairs(job: JobSimulated) -> Iterator[str]:
    """Yield what happened to a job's hardware in a year."""
    seen = job.repair
    if seen is None:
        return
    yield f"{number(seen.taken_per_year, 1)} units out for repair"
    waited = duration(job.loss.waiting * YEAR_S)
    yield f"{number(seen.waits_per_year, 1)} waits for one, {waited} in all"
    if seen.shrinks:
        yield f"{number(seen.grown_per_year, 1)} restarts with more replicas"


def repair_text(job: JobSimulated) -> str:
    """Return what is assumed of repairs, nothing where there are none."""
    seen = job.repair
    if seen is None:
        return ""
    law = {"lognormal": "log-normal"}.get(seen.law, seen.law)
    place = " in each rack" if seen.in_rack else ""
    short = "fewer replicas run" if seen.shrinks else "the job waits"
    return (
        f"{percent(seen.hardware_share, 0)} of the interruptions take a unit out, for "
        f"{duration(seen.repair_s)} on average ({law}); {counted(seen.spares, 'spare')} "
        f"{'stands' if seen.spares == 1 else 'stand'} by{place}, and where more are out {short}."
    )


def storage(study: Simulation) -> str:
    """Return what happened to the appliances in a year, on average; nothing where none fails."""
    seen = study.storage
    if study.outages is None:
        return ""
    units = counted(seen.units, "appliance")
    return (
        f"storage: {number(seen.outages_per_year, 1)} outages of one of {units}; some down "
        f"{duration(seen.some_down * YEAR_S)}, all down {duration(seen.all_down * YEAR_S)}"
    )


def advice(study: Simulation) -> str:
    """Return whether another interval would have been better."""
    if not study.intervals:
        return ""
    if study.best is None:
        return "None of these intervals keeps the plan's limits, the simulated one neither."
    best = study.intervals[study.best]
    if not study.better:
        return "No other interval that is allowed is better by more than the noise."
    low, high = 100 * best.low, 100 * best.high
    places = min(4, max(2, math.ceil(-math.log10(max(high - low, 1e-9))) + 1))
    text = (
        f"A checkpoint every {duration(best.interval_s)} would have been better, by "
        f"{100 * best.difference:.{places}f} points, between {low:.{places}f} and "
        f"{high:.{places}f}."
    )
    if study.jobs[0].failures.kind == "exponential":
        return text
    return f"{text} The best interval of the formula supposes failures without memory."


def render(study: Simulation) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [_heading(study)]
    for job in study.jobs:
        parts += [_goodput(study, job), _budget(job)]
    parts += [_events(study), _intervals(study)]
    return join_parts(parts)


_MOST_CAUSES = 3


def first(study: Simulation) -> FirstScreen:
    """Return what one page says: goodput beside the predicted one, where time goes, advice."""
    answer: list[tuple[str, str]] = []
    for job in study.jobs:
        answer += _of_job(study, job)
    answer += [("Storage", storage(study)), ("Interval", advice(study))]
    jobs = study.jobs
    return FirstScreen(
        _heading(study),
        tuple(answer),
        notes=tuple(text for job in jobs for text in (repair_text(job), other_plan(job)) if text),
        proof=(
            *(
                f"{job.name}: the mean lies between {percent(job.goodput.low, digits(job))} and "
                f"{percent(job.goodput.high, digits(job))} with 95 % confidence"
                for job in jobs
            ),
            SPLIT,
        ),
        full="every loss beside the formula's" + (
            f", {len(study.intervals)} intervals" if study.intervals else ""
        ),
    )  # fmt: skip


def _of_job(study: Simulation, job: JobSimulated) -> Iterator[tuple[str, str]]:
    """Yield the lines of a job; with several each names its own."""
    places, found, several = digits(job), job.goodput, len(study.jobs) > 1
    whose = f"{job.name}: " if several else ""
    yield (
        "Goodput",
        f"{whose}{percent(found.mean, places)} simulated, {percent(job.predicted, places)} "
        f"predicted; single runs {percent(found.p5, places)} to {percent(found.p95, places)} in "
        "nine of ten",
    )
    yield "Formula", verdict(study, job)
    lost = sorted(CAUSES, key=lambda cause: -float(getattr(job.loss, cause)))[:_MOST_CAUSES]
    causes = [f"{CAUSES[cause]} {percent(getattr(job.loss, cause), 2)}" for cause in lost]
    yield "Lost", f"{whose}most to {listed(causes)}"
    yield "In a year", happened(study, job).removeprefix(f"{job.name}: ")
    saved = f"a checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    yield "Job", f"{job.name}: {saved}, {assumed(job.failures)}"


def _heading(study: Simulation) -> str:
    name = study.problem if study.scenario is None else f"{study.problem}, {study.scenario}"
    return f"{name}  ({describe_runs(study)})"


def _goodput(study: Simulation, job: JobSimulated) -> str:
    places = digits(job)
    saved = f"a checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    if job.local is not None:
        which = "each of them" if job.local.every == 1 else f"one in {job.local.every}"
        saved += f", kept locally, {which} on the shared storage, too"
    found = job.goodput
    between = f"{percent(found.low, places)} to {percent(found.high, places)}"
    lines = [
        ["goodput predicted", percent(job.predicted, places), ""],
        ["goodput simulated", percent(found.mean, places), f"{between} with 95 % confidence"],
    ]
    single = (
        f"Single runs of {span(study.length_s)}: {percent(found.p5, places)} to "
        f"{percent(found.p95, places)} in nine of ten."
    )
    words = (repair_text(job), verdict(study, job), single, other_plan(job))
    text = " ".join(part for part in words if part)
    head = wrapped(f"{job.name}: {saved}, {assumed(job.failures)}", "", "  ")
    return "\n".join([*head, *aligned(lines, left=(0, 2)), *wrapped(text)])


def _budget(job: JobSimulated) -> str:
    places = digits(job)
    lines = [["", "predicted", "simulated"]]
    lines.append(_row("kept progress", job.predicted, job.goodput.mean, places))
    for cause, words in CAUSES.items():
        before, after = getattr(job.predicted_loss, cause), getattr(job.loss, cause)
        if before or after or cause not in SELDOM:
            lines.append(_row(words, before, after, places))
        if cause == "stall" and job.waits:
            lines.append(["  of it waiting for a drain", "", percent(job.waits, places)])
    return "\n".join(["Where time goes", *aligned(lines, left=(0,)), *wrapped(SPLIT)])


def _row(words: str, before: float, after: float, places: int) -> list[str]:
    return [words, percent(before, places), percent(after, places)]


def _events(study: Simulation) -> str:
    texts = [*(happened(study, job) for job in study.jobs), storage(study)]
    lines = [line for text in texts if text for line in wrapped(text)]
    return "\n".join(["In a year, on average", *lines])


def _intervals(study: Simulation) -> str:
    if not study.intervals:
        return ""
    lines = [["interval", "predicted", "simulated", "points more", "", ""]]
    lines += [_interval(study, each) for each in study.intervals]
    title = "Other intervals under the same failures"
    note = "± holds for all of them together with 95 % confidence."
    body = aligned(lines, left=(5,))
    return "\n".join([title, *body, *wrapped(f"{note} {advice(study)}")])


def _interval(study: Simulation, each: IntervalTried) -> list[str]:
    own = each.factor == 1.0
    best = study.better and study.best is not None and each == study.intervals[study.best]
    mark = "simulated above" if own else "best" if best else ""
    texts = [mark, *(LIMITS[name] for name in each.breaks)]
    room = 100 * (each.high - each.difference)
    return [
        duration(each.interval_s),
        percent(each.predicted, 2),
        percent(each.goodput, 2),
        "" if own else f"{100 * each.difference:+.3f}",
        "" if own else f"± {room:.3f}",
        "; ".join(part for part in texts if part),
    ]
