"""The picture of a trace: a stretch of one cluster's writes and reads, checkpoints marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.report.charts.model import (
    Axis,
    Chart,
    Gap,
    Layer,
    Line,
    Panel,
    Points,
    Reference,
    ShadedRange,
    Shape,
    Tone,
)
from planner.report.telemetry_words import figure, labels, moment, one_line
from planner.report.words import HOUR_S, counted
from planner.schema.telemetry import Characterization, JobFound

_MOST_BINS, _MOST_POINTS, _MOST_HOLES, _MOST_JOBS, _NAME = 1_500, 2_000, 60, 20, 26
_LATE = 1.5
"""Samples apart beyond which a hole lies between two samples."""

_TONES: tuple[Tone, ...] = ("main", "second", "third", "bad", "quiet")
_SHAPES: tuple[Shape, ...] = ("circle", "diamond", "square", "triangle")


@dataclass(frozen=True)
class Window:
    """A stretch of one cluster's trace, with the rows of its checkpoints.

    Times are on the trace's clock, in order; missing samples are left out or NaN.
    ``read_gb_per_s`` is None where the trace has no reads.
    """

    cluster: str
    time_s: NDArray[Any]
    write_gb_per_s: NDArray[Any]
    read_gb_per_s: NDArray[Any] | None
    checkpoints: Mapping[str, NDArray[Any]]


def trace(record: Characterization, window: Window) -> Chart:
    """The chart of a stretch, over hours: writes with checkpoints marked, and a panel of reads."""
    title = f"Writes of {one_line(window.cluster, 40)}, checkpoint by checkpoint"
    if not len(window.time_s):
        return Chart("trace", title, "There are no samples in this stretch.")
    found = next((each for each in record.clusters if each.name == window.cluster), None)
    sample_s = 10.0 if found is None else found.sample_s
    start, end = float(window.time_s[0]), float(window.time_s[-1])
    utc = " UTC" if record.clock == "unix" else ""
    axis = Axis(f"time from {moment(start, record.clock)}{utc}", "h")
    names = set(window.checkpoints["job"].tolist())
    jobs = [job for job in record.jobs if job.cluster == window.cluster and job.name in names]
    jobs.sort(key=lambda job: -job.size_gb.value)
    hours = (window.time_s - start) / HOUR_S
    level = 0.0 if found is None else found.background_gb_per_s
    layers: list[Layer] = [
        Line("write", *outline(hours, window.write_gb_per_s, sample_s / HOUR_S), "quiet"),
        *_marks(record, window, jobs, start),
        *(
            ShadedRange("samples missing", *hole)
            for hole in holes(hours, window.write_gb_per_s, sample_s / HOUR_S)
        ),
        Reference(f"background {figure(level, 'GB/s')}", level),
    ]
    panels = [Panel(axis, Axis("write", "GB/s"), tuple(layers))]
    if window.read_gb_per_s is not None:
        read = Line("read", *outline(hours, window.read_gb_per_s, sample_s / HOUR_S))
        panels.append(Panel(axis, Axis("read", "GB/s"), (read,)))
    count = int(np.sum(window.checkpoints["kind"] != "other"))
    span = " to ".join(moment(each, record.clock) for each in (start, end))
    text = f"{counted(count, 'checkpoint')} of {counted(len(jobs), 'job')}, {span}."
    text += " Hollow: not seen whole." if jobs else ""
    return Chart("trace", title, text, tuple(panels))


def _marks(
    record: Characterization, window: Window, jobs: Sequence[JobFound], start: float
) -> Iterator[Points]:
    """Yield the checkpoints of each job at their peaks, those not seen whole as hollow."""
    table = window.checkpoints
    shown = jobs[:_MOST_JOBS]
    middle = (table["start_s"] + table["duration_s"] / 2 - start) / HOUR_S
    every = max(1, -(-len(middle) // _MOST_POINTS))
    whole = np.asarray(table["kind"]).astype(str) == "checkpoint"
    for place, (job, name) in enumerate(zip(shown, labels(record, shown, _NAME), strict=True)):
        look = _TONES[place % len(_TONES)], _SHAPES[place % len(_SHAPES)]
        for hollow in (False, True):
            rows = np.flatnonzero((table["job"] == job.name) & (whole != hollow))[::every]
            if not len(rows):
                continue
            pairs = zip(
                table["start_s"][rows].tolist(), table["size_gb"][rows].tolist(), strict=True
            )
            texts = tuple(
                f"{name}\n{moment(at, record.clock)}\n{figure(size, 'GB')}" for at, size in pairs
            )
            x, y = tuple(middle[rows].tolist()), tuple(table["peak_gb_per_s"][rows].tolist())
            yield Points("" if hollow else name, x, y, texts, *look, hollow, 6.0)


def outline(
    times: NDArray[Any], values: NDArray[Any], sample: float
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """A series as a line, broken at holes; of many samples the least and most in a bin."""
    there = np.isfinite(values)
    times, numbers = np.asarray(times)[there], np.asarray(values)[there]
    ends = np.flatnonzero(np.diff(times) > _LATE * sample) + 1
    each = max(1, -(-len(times) // _MOST_BINS))
    xs: list[Gap] = []
    ys: list[Gap] = []
    for part, part_times in zip(np.split(numbers, ends), np.split(times, ends), strict=True):
        if xs:
            xs.append(None)
            ys.append(None)
        if each <= 2 or not len(part):
            xs += part_times.tolist()
            ys += part.tolist()
            continue
        starts = np.arange(0, len(part), each)
        least, most = np.minimum.reduceat(part, starts), np.maximum.reduceat(part, starts)
        xs += np.repeat(part_times[starts], 2).tolist()
        ys += np.stack([least, most], axis=1).ravel().tolist()
    return tuple(xs), tuple(ys)


def holes(times: NDArray[Any], values: NDArray[Any], sample: float) -> list[tuple[float, float]]:
    """The longest stretches without samples, in order of time."""
    times = np.asarray(times)[np.isfinite(values)]
    steps = np.diff(times)
    late = np.flatnonzero(steps > _LATE * sample)
    longest = np.sort(late[np.argsort(-steps[late], kind="stable")][:_MOST_HOLES])
    return [(float(times[place]), float(times[place + 1])) for place in longest]
