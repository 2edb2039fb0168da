"""A simulation on the screen: goodput beside the formula's, the loss budget, other intervals."""

from __future__ import annotations

from planner.outputs.sensitivity_words import printable
from planner.outputs.simulation_words import (
    CAUSES,
    LIMITS,
    SPLIT,
    advice,
    assumed,
    digits,
    drawn,
    happened,
    other_plan,
    span,
    storage,
    verdict,
)
from planner.outputs.size_text import table
from planner.outputs.words import duration, percent, size, wrapped
from planner.schema.simulation import IntervalTried, JobSimulated, LossBudget, Simulation


def render(study: Simulation) -> str:
    """Return the whole screen, at most 100 columns wide."""
    name = study.problem if study.scenario is None else f"{study.problem}, {study.scenario}"
    parts = [f"{name}  ({drawn(study)})"]
    for job in study.jobs:
        parts += [_goodput(study, job), _budget(job)]
    parts += [_events(study), _intervals(study)]
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _goodput(study: Simulation, job: JobSimulated) -> str:
    places = digits(job)
    saved = f"a checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)}"
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
    said = " ".join(part for part in (verdict(study, job), single, other_plan(job)) if part)
    head = wrapped(f"{job.name}: {saved}, {assumed(job.failures)}", "", "  ")
    return "\n".join([*head, *table(lines, left=(0, 2)), *wrapped(said)])


def _budget(job: JobSimulated) -> str:
    places = digits(job)
    lines = [["", "predicted", "simulated"]]
    lines.append(_row("kept progress", job.predicted, job.goodput.mean, places))
    for cause, words in CAUSES.items():
        before, after = _both(job.predicted_loss, job.loss, cause)
        if before or after or cause not in ("slowdown", "planned"):
            lines.append(_row(words, before, after, places))
        if cause == "stall" and job.waits:
            lines.append(["  of it waiting for a drain", "", percent(job.waits, places)])
    return "\n".join(["Where time goes", *table(lines, left=(0,)), *wrapped(SPLIT)])


def _both(predicted: LossBudget, simulated: LossBudget, cause: str) -> tuple[float, float]:
    return getattr(predicted, cause), getattr(simulated, cause)


def _row(words: str, before: float, after: float, places: int) -> list[str]:
    return [words, percent(before, places), percent(after, places)]


def _events(study: Simulation) -> str:
    said = [*(happened(study, job) for job in study.jobs), storage(study)]
    lines = [line for text in said if text for line in wrapped(text)]
    return "\n".join(["In a year, on average", *lines])


def _intervals(study: Simulation) -> str:
    if not study.intervals:
        return ""
    lines = [["interval", "predicted", "simulated", "points more", "", ""]]
    lines += [_interval(study, each) for each in study.intervals]
    title = "Other intervals under the same failures"
    note = "± holds for all of them together with 95 % confidence."
    body = table(lines, left=(5,))
    return "\n".join([title, *body, *wrapped(f"{note} {advice(study)}")])


def _interval(study: Simulation, each: IntervalTried) -> list[str]:
    own = each.factor == 1.0
    best = study.better and study.best is not None and each == study.intervals[study.best]
    mark = "simulated above" if own else "best" if best else ""
    said = [mark, *(LIMITS[name] for name in each.breaks)]
    room = 100 * (each.high - each.difference)
    return [
        duration(each.interval_s),
        percent(each.predicted, 2),
        percent(each.goodput, 2),
        "" if own else f"{100 * each.difference:+.3f}",
        "" if own else f"± {room:.3f}",
        "; ".join(part for part in said if part),
    ]
