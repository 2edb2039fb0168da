"""The overlap of every job: how much of the interval its drain takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.charts.model import Axis, Bars, Chart, Layer, Panel, Reference, Tone, Whiskers
from planner.outputs.charts.telemetry_points import MOST_JOBS, cut
from planner.outputs.comparison_words import counted
from planner.outputs.telemetry_words import USUAL_OVERLAP, labels, largest, measured, most, within
from planner.outputs.words import percent
from planner.schema.telemetry import Characterization, JobFound

_TITLE = "How much of the interval the drain takes"
_NAME, _AT, _THICKNESS = 40, 0.14, 0.3


def overlap(record: Characterization) -> Chart:
    """Return the chart of overlaps: a bar for a job, its range, and the usual limit."""
    jobs = sorted(largest(record, MOST_JOBS), key=lambda job: -job.overlap.value)
    if not jobs:
        return Chart("overlap", _TITLE, "No job was found: there is nothing to draw.")
    under, limit = within(record.jobs), percent(USUAL_OVERLAP, 0)
    words = [
        f"{under:,} of {counted(len(record.jobs), 'job')} under {limit}.",
        "Thin lines: where the truth may lie.",
        cut(record),
    ]
    panel = Panel(
        Axis("overlap: drain over interval", "%"),
        Axis(""),
        tuple(_layers(jobs)),
        references=(Reference(f"{limit} of the interval", 100 * USUAL_OVERLAP, False),),
        rows=tuple(_rows(record, jobs)),
    )
    return Chart("overlap", _TITLE, " ".join(word for word in words if word), (panel,))


def _rows(record: Characterization, jobs: Sequence[JobFound]) -> Iterator[str]:
    for job, name in zip(jobs, labels(record, jobs, _NAME), strict=True):
        share, drain = most(job.overlap, "share"), most(job.drain_s, "s")
        if job.resolved:
            share, drain = measured(job.overlap, "share"), measured(job.drain_s, "s")
        yield f"{name}: {share}, drain {drain} every {measured(job.interval_s, 's')}"


def _layers(jobs: Sequence[JobFound]) -> Iterator[Layer]:
    kinds: tuple[tuple[str, Tone, bool], ...] = (
        ("under the limit", "main", False),
        ("not under it", "second", False),
        ("at most this: too short to be resolved", "quiet", True),
    )
    placed = [(row + _AT, job) for row, job in enumerate(jobs)]
    for name, tone, hatched in kinds:
        own = [(row, job) for row, job in placed if _kind(job) == name]
        if own:
            yield Bars(
                name,
                tuple(row for row, _ in own),
                (0.0,) * len(own),
                tuple(100 * _end(job) for _, job in own),
                tuple(job.name for _, job in own),
                ("",) * len(own),
                tone,
                hatched,
                _THICKNESS,
            )
    known = [(row, job.overlap) for row, job in placed if job.resolved and _bounded(job)]
    if known:
        lows = tuple(100 * (each.value if each.low is None else each.low) for _, each in known)
        highs = tuple(100 * (each.value if each.high is None else each.high) for _, each in known)
        yield Whiskers("range", tuple(row for row, _ in known), lows, highs)


def _kind(job: JobFound) -> str:
    if not job.resolved:
        return "at most this: too short to be resolved"
    return "under the limit" if job.overlap.value < USUAL_OVERLAP else "not under it"


def _end(job: JobFound) -> float:
    if job.resolved:
        return job.overlap.value
    return max(job.overlap.value, job.overlap.high or 0.0)


def _bounded(job: JobFound) -> bool:
    return job.overlap.low is not None or job.overlap.high is not None
