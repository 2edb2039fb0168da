"""Charts of storage telemetry: a stretch of a trace, bandwidth by size, overlap by job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.outputs.charts.amounts import plain
from planner.outputs.charts.clock import time_axis
from planner.outputs.charts.envelope import holes, outline
from planner.outputs.charts.model import (
    Axis,
    Chart,
    Layer,
    Line,
    Panel,
    Points,
    Reference,
    Stretch,
)
from planner.outputs.charts.telemetry_bandwidth import bandwidth
from planner.outputs.charts.telemetry_overlap import overlap
from planner.outputs.charts.telemetry_points import (
    MOST_JOBS,
    NAME,
    Places,
    Table,
    hovers,
    look,
    of_kind,
    thinned,
    whose,
)
from planner.outputs.comparison_words import counted
from planner.outputs.telemetry_words import figure, labels, moment, one_line
from planner.schema.telemetry import Characterization, ClusterFound, JobFound

__all__ = ["Window", "bandwidth", "overlap", "trace"]

_MOST_POINTS = 2_000
_FLOOR, _HEIGHT = -0.72, 0.56
"""Where the reads begin below the writes, and how high they go, as shares of the writes."""

_TICKS, _FEW = 4, 120
_MOST_AT_PEAKS, _LANES_FROM, _LANE = 8, 1.1, 0.04


@dataclass(frozen=True)
class Window:
    """A stretch of one cluster's trace, and the rows of the table of checkpoints that lie in it.

    Times are on the trace's clock, in order; samples that are missing are left out or not a
    number. ``read_gb_per_s`` is None where the trace has no reads.
    """

    cluster: str
    time_s: NDArray[Any]
    write_gb_per_s: NDArray[Any]
    read_gb_per_s: NDArray[Any] | None
    checkpoints: Table


def trace(record: Characterization, window: Window) -> Chart:
    """Return the chart of a stretch of a trace: writes with checkpoints marked, reads below.

    Args:
        record: the jobs and clusters.
        window: what to draw.
    """
    reads = "" if window.read_gb_per_s is None else " and reads"
    title = f"Writes{reads} of {one_line(window.cluster, 40)}, checkpoint by checkpoint"
    if not len(window.time_s):
        return Chart("trace", title, "There are no samples in this stretch.")
    jobs, sample_s = _jobs(record, window), _sample_s(record, window)
    top = _most(window.write_gb_per_s, window.checkpoints["peak_gb_per_s"])
    layers, y = _series(window, sample_s, top)
    holes_s = holes(window.time_s, window.write_gb_per_s, sample_s)
    panel = Panel(
        time_axis(float(window.time_s[0]), float(window.time_s[-1]), record.clock),
        y,
        (*layers, *_marked(record, window, jobs[:MOST_JOBS], top)),
        stretches=tuple(Stretch("samples missing", *hole) for hole in holes_s),
        references=tuple(_background(record, window)),
    )
    return Chart("trace", title, _words(record, window, len(jobs)), (panel,))


def _cluster(record: Characterization, window: Window) -> ClusterFound | None:
    return next((each for each in record.clusters if each.name == window.cluster), None)


def _sample_s(record: Characterization, window: Window) -> float:
    found = _cluster(record, window)
    if found is not None:
        return found.sample_s
    return float(np.median(np.diff(window.time_s))) if len(window.time_s) > 1 else 1.0


def _jobs(record: Characterization, window: Window) -> list[JobFound]:
    """Return the jobs with checkpoints in the stretch, the largest first."""
    names = set(window.checkpoints["job"].tolist())
    own = [job for job in record.jobs if job.cluster == window.cluster and job.name in names]
    return sorted(own, key=lambda job: -job.size_gb.value)


def _series(window: Window, sample_s: float, top: float) -> tuple[list[Layer], Axis]:
    """Return the lines of writes and reads, and the axis on which both stand."""
    write = Line("write", *outline(window.time_s, window.write_gb_per_s, sample_s), "quiet")
    ticks = tuple(_ticks(top))
    if window.read_gb_per_s is None:
        return [write], Axis("write", "GB/s", ticks=ticks)
    most, floor = _most(window.read_gb_per_s), _FLOOR * top
    size = _HEIGHT * top / most
    times, values = outline(window.time_s, window.read_gb_per_s, sample_s)
    lifted = tuple(None if value is None else floor + size * value for value in values)
    below = tuple((floor + size * place, words) for place, words in _ticks(most))
    axis = Axis("write, and below it read", "GB/s", ticks=(*below, *ticks))
    return [write, Line("read", times, lifted, "main")], axis


def _most(*series: NDArray[Any]) -> float:
    """Return the largest number there is, 1 where there is none above 0."""
    tops = [float(np.max(each[np.isfinite(each)], initial=0.0)) for each in series]
    return max(tops) or 1.0


def _ticks(top: float) -> Iterator[tuple[float, str]]:
    """Yield round places from 0 to a height, with their words."""
    power = 10.0 ** math.floor(math.log10(top / _TICKS))
    step = next(each * power for each in (1, 2, 5, 10, 20) if each * power * _TICKS >= top)
    for count in range(math.floor(top / step * (1 + 1e-9)) + 1):
        yield count * step, plain(count * step)


def _marked(
    record: Characterization, window: Window, jobs: Sequence[JobFound], top: float
) -> Iterator[Points]:
    """Yield the checkpoints of each job, those not seen whole as hollow.

    They stand at their peaks; of many jobs each has a row of its own above the writes.
    """
    table = window.checkpoints
    owner, whole = whose(table, jobs), of_kind(table, ("checkpoint",))
    share = min(1.0, _MOST_POINTS / max(1, len(owner)))
    size = 7.0 if len(owner) <= _FEW else 4.5
    for place, name in enumerate(labels(record, jobs, NAME)):
        for hollow in (False, True):
            rows = np.flatnonzero((owner == place) & (whole != hollow))
            if not len(rows):
                continue
            rows = thinned(rows, share)
            heights = _peaks(table, rows)
            if len(jobs) > _MOST_AT_PEAKS:
                heights = (top * (_LANES_FROM + place * _LANE),) * len(rows)
            told = hovers(record, table, rows, name)
            shown = "" if hollow else name
            yield Points(shown, _middles(table, rows), heights, told, *look(place), hollow, size)
    other = np.flatnonzero(of_kind(table, ("other",)))
    if len(other):
        told = hovers(record, table, other, "other burst")
        places = _middles(table, other), _peaks(table, other)
        yield Points("other bursts", *places, told, "quiet", "star", True, size)


def _middles(table: Table, rows: Places) -> tuple[float, ...]:
    return tuple((table["start_s"][rows] + table["duration_s"][rows] / 2).tolist())


def _peaks(table: Table, rows: Places) -> tuple[float, ...]:
    return tuple(table["peak_gb_per_s"][rows].tolist())


def _background(record: Characterization, window: Window) -> Iterator[Reference]:
    found = _cluster(record, window)
    if found is not None:
        level = found.background_gb_per_s
        yield Reference(f"background {figure(level, 'GB/s')}", level)


def _words(record: Characterization, window: Window, jobs: int) -> str:
    span = (moment(float(window.time_s[place]), record.clock) for place in (0, -1))
    kinds = window.checkpoints["kind"].tolist()
    count = sum(kind != "other" for kind in kinds)
    words = [f"{counted(count, 'checkpoint')} of {counted(jobs, 'job')}, {' to '.join(span)}."]
    if len(kinds) > _MOST_POINTS:
        words.append(f"About {_MOST_POINTS:,} of them are marked, evenly spread.")
    if any(kind not in ("checkpoint", "other") for kind in kinds):
        words.append("Hollow: inferred, broken off, or cut by missing samples.")
    if jobs > _MOST_AT_PEAKS:
        words.append("Marks: each job in a row of its own, the largest checkpoints lowest.")
    if jobs > MOST_JOBS:
        words.append(f"The {MOST_JOBS} jobs with the largest checkpoints are marked.")
    return " ".join(words)
