"""The bandwidth of checkpoints against their size, job by job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.outputs.charts.model import Axis, Chart, Layer, Line, Panel, Points
from planner.outputs.charts.telemetry_points import (
    MOST_JOBS,
    NAME,
    WHOLE,
    Places,
    Table,
    cut,
    hovers,
    look,
    of_kind,
    thinned,
    whose,
)
from planner.outputs.charts.ticks import powers
from planner.outputs.comparison_words import counted, listed
from planner.outputs.scales import Scale
from planner.outputs.telemetry_words import labels, largest, suited
from planner.outputs.words import HOUR_S, MINUTE_S
from planner.schema.telemetry import Characterization, JobFound

MOST_POINTS = 2_000
_LONG = 1.2
_WIDE, _ROOM, _MORE_ROOM = 5.0, 1.25, 1.7
"""By which factor the axes go beyond what is on them: more where it is not spread so wide."""

_DRAINS = (
    (1.0, "1 s"), (10.0, "10 s"), (MINUTE_S, "1 min"), (10 * MINUTE_S, "10 min"), (HOUR_S, "1 h"),
    (10 * HOUR_S, "10 h"),
)  # fmt: skip
_TITLE = "Write bandwidth of checkpoints against their size"


def bandwidth(record: Characterization, table: Table) -> Chart:
    """Return the chart of bandwidth against size: a point for a checkpoint, a star for a job.

    Args:
        record: the jobs.
        table: the checkpoints, by column.
    """
    jobs = [job for job in largest(record, MOST_JOBS) if _positive(job)]
    rows = _rows(table, jobs)
    total = sum(map(len, rows))
    if not total:
        return Chart("bandwidth", _TITLE, "No job was found: there is nothing to draw.")
    share = min(1.0, MOST_POINTS / total)
    kept = [thinned(each, share) if len(each) else each for each in rows]
    x, y, ends = _axes(table, jobs, kept)
    shown = sum(map(len, kept))
    words = [
        f"{counted(total, 'checkpoint')} of {counted(len(jobs), 'job')}"
        + (f", {shown:,} of them drawn, evenly spread." if shown < total else "."),
        "Star: a job's median.",
        _dashed(ends),
        cut(record),
    ]
    layers = (*_lines(ends, x), *_points(record, table, jobs, kept, x), _medians(jobs, x))
    panel = Panel(
        x=_axis("checkpoint size", x, ends[0]),
        y=_axis("write bandwidth", y, ends[1]),
        layers=layers,
    )
    return Chart("bandwidth", _TITLE, " ".join(word for word in words if word), (panel,))


Ends = tuple[tuple[float, float], tuple[float, float]]
"""How far the axes go, in GB and GB/s."""


def _positive(job: JobFound) -> bool:
    return job.size_gb.value > 0 and job.write_gb_per_s.value > 0


def _rows(table: Table, jobs: Sequence[JobFound]) -> list[Places]:
    owner = whose(table, jobs)
    good = of_kind(table, WHOLE) & (table["size_gb"] > 0) & (table["mean_gb_per_s"] > 0)
    good &= np.isfinite(table["size_gb"]) & np.isfinite(table["mean_gb_per_s"])
    return [np.flatnonzero((owner == place) & good) for place in range(len(jobs))]


def _axes(
    table: Table, jobs: Sequence[JobFound], kept: Sequence[Places]
) -> tuple[Scale, Scale, Ends]:
    drawn = np.concatenate(kept)
    sizes = [*table["size_gb"][drawn].tolist(), *(job.size_gb.value for job in jobs)]
    rates = [*table["mean_gb_per_s"][drawn].tolist(), *(job.write_gb_per_s.value for job in jobs)]
    return suited(max(sizes), "GB"), Scale(1.0, "GB/s", 0), (_ends(sizes), _ends(rates))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = _ROOM if high >= _WIDE * low else _MORE_ROOM
    return low / room, high * room


def _axis(label: str, scale: Scale, ends: tuple[float, float]) -> Axis:
    ticks = powers([end / scale.size for end in ends])
    return Axis(label, scale.unit, True, ticks)


def _drains(ends: Ends) -> Iterator[tuple[str, float, float, float]]:
    """Yield round drains that cross the picture: words, seconds, least and most size."""
    (left, right), (bottom, top) = ends
    for seconds, words in _DRAINS:
        start, end = max(left, bottom * seconds), min(right, top * seconds)
        if end > start * _LONG:
            yield words, seconds, start, end


def _lines(ends: Ends, x: Scale) -> Iterator[Line]:
    for _, seconds, start, end in _drains(ends):
        sizes, rates = (start / x.size, end / x.size), (start / seconds, end / seconds)
        yield Line("same drain", sizes, rates, "pale", dashed=True)


def _dashed(ends: Ends) -> str:
    """Return what the dashed lines are."""
    words = [words for words, *_ in _drains(ends)]
    order = ", from left to right" if len(words) > 1 else ""
    return f"Dashed: a drain of {listed(words)}{order}." if words else ""


def _points(
    record: Characterization,
    table: Table,
    jobs: Sequence[JobFound],
    kept: Sequence[Places],
    x: Scale,
) -> Iterator[Layer]:
    names = labels(record, jobs, NAME)
    for place, (rows, name) in enumerate(zip(kept, names, strict=True)):
        if not len(rows):
            continue
        sizes = tuple((table["size_gb"][rows] / x.size).tolist())
        rates = tuple(table["mean_gb_per_s"][rows].tolist())
        told = hovers(record, table, rows, name)
        yield Points(name, sizes, rates, told, *look(place), hollow=True, size=5.0)


def _medians(jobs: Sequence[JobFound], x: Scale) -> Points:
    return Points(
        "median of a job",
        tuple(job.size_gb.value / x.size for job in jobs),
        tuple(job.write_gb_per_s.value for job in jobs),
        tuple(job.name for job in jobs),
        "quiet",
        "star",
        size=10.0,
    )
