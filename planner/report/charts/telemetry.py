"""The picture of a trace: a stretch of one cluster's writes and reads, checkpoints marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.report.charts.model import (
    Axis,
    Chart,
    Gap,
    Line,
    Panel,
    Points,
    Reference,
    ShadedRange,
    Shape,
    Tone,
    time_axis,
)
from planner.report.telemetry_words import figure, labels, moment, one_line
from planner.report.words import counted
from planner.schema.telemetry import Characterization, JobFound

Columns = Mapping[str, NDArray[Any]]

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
    checkpoints: Columns


def trace(record: Characterization, window: Window) -> Chart:
    """The chart of a stretch: writes with checkpoints marked, and a panel of reads."""
    title = f"Writes of {one_line(window.cluster, 40)}, checkpoint by checkpoint"
    if not len(window.time_s):
        return Chart("trace", title, "There are no samples in this stretch.")
    found = next((each for each in record.clusters if each.name == window.cluster), None)
    sample_s = 10.0 if found is None else found.sample_s
    ends = float(window.time_s[0]), float(window.time_s[-1])
    x = time_axis(*ends, record.clock)
    jobs = _jobs(record, window)
    write = Line("write", *outline(window.time_s, window.write_gb_per_s, sample_s), "quiet")
    missing = holes(window.time_s, window.write_gb_per_s, sample_s)
    level = 0.0 if found is None else found.background_gb_per_s
    panel = Panel(
        x,
        Axis("write", "GB/s"),
        (write, *_marks(record, window, jobs)),
        stretches=tuple(ShadedRange("samples missing", *hole) for hole in missing),
        references=(Reference(f"background {figure(level, 'GB/s')}", level),),
    )
    panels = [panel]
    if window.read_gb_per_s is not None:
        read = Line("read", *outline(window.time_s, window.read_gb_per_s, sample_s), "main")
        panels.append(Panel(x, Axis("read", "GB/s"), (read,)))
    count = int(np.sum(window.checkpoints["kind"] != "other"))
    span = " to ".join(moment(end, record.clock) for end in ends)
    words = f"{counted(count, 'checkpoint')} of {counted(len(jobs), 'job')}, {span}."
    words += " Hollow: not seen whole." if len(jobs) else ""
    return Chart("trace", title, words, tuple(panels))


def _jobs(record: Characterization, window: Window) -> list[JobFound]:
    names = set(window.checkpoints["job"].tolist())
    own = [job for job in record.jobs if job.cluster == window.cluster and job.name in names]
    return sorted(own, key=lambda job: -job.size_gb.value)


def _marks(record: Characterization, window: Window, jobs: list[JobFound]) -> Iterator[Points]:
    """Yield the checkpoints of each job at their peaks, those not seen whole as hollow."""
    table = window.checkpoints
    shown = jobs[:_MOST_JOBS]
    middle, peak = table["start_s"] + table["duration_s"] / 2, table["peak_gb_per_s"]
    every = max(1, -(-len(middle) // _MOST_POINTS))
    for place, (job, name) in enumerate(zip(shown, labels(record, shown, _NAME), strict=True)):
        for hollow in (False, True):
            whole = np.asarray(table["kind"]).astype(str) == "checkpoint"
            rows = np.flatnonzero((table["job"] == job.name) & (whole != hollow))[::every]
            if len(rows):
                texts = tuple(
                    f"{name}\n{moment(start, record.clock)}\n{figure(size, 'GB')}"
                    for start, size in zip(
                        table["start_s"][rows].tolist(),
                        table["size_gb"][rows].tolist(),
                        strict=True,
                    )
                )
                look = _TONES[place % len(_TONES)], _SHAPES[place % len(_SHAPES)]
                x, y = tuple(middle[rows].tolist()), tuple(peak[rows].tolist())
                yield Points("" if hollow else name, x, y, texts, *look, hollow, 6.0)


def outline(
    time_s: NDArray[Any], values: NDArray[Any], sample_s: float
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """A series as a line, broken at holes; of many samples the least and most in a bin."""
    there = np.isfinite(values)
    times, numbers = np.asarray(time_s)[there], np.asarray(values)[there]
    ends = np.flatnonzero(np.diff(times) > _LATE * sample_s) + 1
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


def holes(time_s: NDArray[Any], values: NDArray[Any], sample_s: float) -> list[tuple[float, float]]:
    """The longest stretches without samples, in order of time."""
    times = np.asarray(time_s)[np.isfinite(values)]
    steps = np.diff(times)
    late = np.flatnonzero(steps > _LATE * sample_s)
    longest = np.sort(late[np.argsort(-steps[late], kind="stable")][:_MOST_HOLES])
    return [(float(times[place]), float(times[place + 1])) for place in longest]
