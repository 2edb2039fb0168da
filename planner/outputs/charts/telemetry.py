"""Storage telemetry: a stretch of a trace, bandwidth by size, overlap by job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.figures import FIGURES
from planner.outputs.charts.model import (
    Axis,
    Bars,
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
    Whiskers,
    powers,
    time_axis,
)
from planner.outputs.charts.words import plain
from planner.outputs.telemetry_words import (
    USUAL_OVERLAP,
    figure,
    labels,
    largest,
    measured,
    moment,
    most,
    one_line,
    suited,
    within,
)
from planner.outputs.words import HOUR_S, MINUTE_S, Scale, counted, listed, percent
from planner.schema.telemetry import Characterization, ClusterFound, JobFound

Columns = Mapping[str, NDArray[Any]]
Places = NDArray[np.int64]

MOST_JOBS = 40
"""Jobs that one picture tells apart; those with the largest checkpoints come first."""

NAME = 26
"""Letters of a job's name in a legend."""

WHOLE = ("checkpoint", "inferred")
"""The kinds of bursts that are checkpoints as a job's figures count them."""

_TONES: tuple[Tone, ...] = ("main", "second", "third", "bad", "quiet")
_SHAPES: tuple[Shape, ...] = (
    "circle", "diamond", "square", "triangle", "down", "pentagon", "left", "right",
)  # fmt: skip


def look(place: int) -> tuple[Tone, Shape]:
    """Return the tone and shape of a job by its place; no two of the first 40 are the same."""
    return _TONES[place % len(_TONES)], _SHAPES[place % len(_SHAPES)]


def job_of_rows(table: Columns, jobs: Sequence[JobFound]) -> NDArray[np.int64]:
    """Return for each row the place of its job among these, -1 where it is none of theirs."""
    places = {(job.cluster, job.name): place for place, job in enumerate(jobs)}
    keys = zip(table["cluster"].tolist(), table["job"].tolist(), strict=True)
    count = len(table["job"])
    return np.fromiter((places.get(key, -1) for key in keys), np.int64, count)


def of_kind(table: Columns, kinds: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows are of these kinds."""
    return np.isin(np.asarray(table["kind"]).astype(str), kinds)


def every_few(rows: Places, share: float) -> Places:
    """Return a share of rows, one at least, evenly spread over their order."""
    count = max(1, int(len(rows) * share))
    if count >= len(rows):
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]


def not_all_drawn(record: Characterization) -> str:
    """Return that not all jobs are drawn, nothing where they are."""
    count = len(record.jobs)
    if count <= MOST_JOBS:
        return ""
    return f"The {MOST_JOBS} with the largest checkpoints of {counted(count, 'job')}."


def hovers(record: Characterization, table: Columns, rows: Places, name: str) -> tuple[str, ...]:
    """Return what is known of each checkpoint."""
    starts, sizes, spans = (table[of][rows].tolist() for of in ("start_s", "size_gb", "duration_s"))
    return tuple(
        f"{name}\n{moment(start, record.clock)}\n{figure(size, 'GB')} in {figure(span, 's')}"
        for start, size, span in zip(starts, sizes, spans, strict=True)
    )


MOST_BINS = 1_500
_MOST_HOLES = 60
_LATE = 1.5
"""A sample that comes later than so many samples after the one before leaves a hole."""


def outline(
    time_s: NDArray[Any], values: NDArray[Any], sample_s: float
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """Return a series as a line, broken at holes; of many samples the least and most in a bin.

    Args:
        time_s: when the samples were taken, in order.
        values: the samples; what is no number is a hole.
        sample_s: how far apart they are.
    """
    there = np.isfinite(values)
    times, numbers = np.asarray(time_s)[there], np.asarray(values)[there]
    ends = np.flatnonzero(np.diff(times) > _LATE * sample_s) + 1
    each = max(1, -(-len(times) // MOST_BINS))
    xs: list[Gap] = []
    ys: list[Gap] = []
    for part, part_times in zip(np.split(numbers, ends), np.split(times, ends), strict=True):
        if xs:
            xs.append(None)
            ys.append(None)
        for place, value in zip(*_binned(part_times, part, each), strict=True):
            xs.append(place)
            ys.append(value)
    return tuple(xs), tuple(ys)


def _binned(
    times: NDArray[Any], values: NDArray[Any], each: int
) -> tuple[list[float], list[float]]:
    if each <= 2 or not len(values):
        return times.tolist(), values.tolist()
    starts = np.arange(0, len(values), each)
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.repeat(times[starts], 2).tolist(), np.stack([least, most], axis=1).ravel().tolist()


def holes(time_s: NDArray[Any], values: NDArray[Any], sample_s: float) -> list[tuple[float, float]]:
    """Return the longest stretches without samples, in order of time."""
    times = np.asarray(time_s)[np.isfinite(values)]
    steps = np.diff(times)
    late = np.flatnonzero(steps > _LATE * sample_s)
    longest = np.sort(late[np.argsort(-steps[late], kind="stable")][:_MOST_HOLES])
    return [(float(times[place]), float(times[place + 1])) for place in longest]


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
    checkpoints: Columns


def trace(record: Characterization, window: Window) -> Chart:
    """Return the chart of a stretch of a trace: writes with checkpoints marked, reads below."""
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
        stretches=tuple(ShadedRange("samples missing", *hole) for hole in holes_s),
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
    owner, whole = job_of_rows(table, jobs), of_kind(table, ("checkpoint",))
    share = min(1.0, _MOST_POINTS / max(1, len(owner)))
    size = 7.0 if len(owner) <= _FEW else 4.5
    for place, name in enumerate(labels(record, jobs, NAME)):
        for hollow in (False, True):
            rows = np.flatnonzero((owner == place) & (whole != hollow))
            if not len(rows):
                continue
            rows = every_few(rows, share)
            heights = _peaks(table, rows)
            if len(jobs) > _MOST_AT_PEAKS:
                heights = (top * (_LANES_FROM + place * _LANE),) * len(rows)
            texts = hovers(record, table, rows, name)
            shown = "" if hollow else name
            yield Points(shown, _middles(table, rows), heights, texts, *look(place), hollow, size)
    other = np.flatnonzero(of_kind(table, ("other",)))
    if len(other):
        texts = hovers(record, table, other, "other burst")
        places = _middles(table, other), _peaks(table, other)
        yield Points("other bursts", *places, texts, "quiet", "star", True, size)


def _middles(table: Columns, rows: Places) -> tuple[float, ...]:
    return tuple((table["start_s"][rows] + table["duration_s"][rows] / 2).tolist())


def _peaks(table: Columns, rows: Places) -> tuple[float, ...]:
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


MOST_POINTS = 2_000
_LONG = 1.2
_WIDE, _ROOM, _MORE_ROOM = 5.0, 1.25, 1.7
"""By which factor the axes go beyond what is on them: more where it is not spread so wide."""

_DRAINS = (
    (1.0, "1 s"), (10.0, "10 s"), (MINUTE_S, "1 min"), (10 * MINUTE_S, "10 min"), (HOUR_S, "1 h"),
    (10 * HOUR_S, "10 h"),
)  # fmt: skip
_BANDWIDTH = "Write bandwidth of checkpoints against their size"


def bandwidth(record: Characterization, table: Columns) -> Chart:
    """Return the chart of bandwidth against size: a point for a checkpoint, a star for a job.

    Args:
        table: the checkpoints, by column.
    """
    jobs = [
        job
        for job in largest(record, MOST_JOBS)
        if job.size_gb.value > 0 and job.write_gb_per_s.value > 0
    ]
    owner = job_of_rows(table, jobs)
    good = of_kind(table, WHOLE) & (table["size_gb"] > 0) & (table["mean_gb_per_s"] > 0)
    good &= np.isfinite(table["size_gb"]) & np.isfinite(table["mean_gb_per_s"])
    rows = [np.flatnonzero((owner == place) & good) for place in range(len(jobs))]
    total = sum(map(len, rows))
    if not total:
        return Chart("bandwidth", _BANDWIDTH, "No job was found: there is nothing to draw.")
    share = min(1.0, MOST_POINTS / total)
    kept = [every_few(each, share) if len(each) else each for each in rows]
    x, y, ends = _axes(table, jobs, kept)
    shown = sum(map(len, kept))
    words = [
        f"{counted(total, 'checkpoint')} of {counted(len(jobs), 'job')}"
        + (f", {shown:,} of them drawn, evenly spread." if shown < total else "."),
        "Star: a job's median.",
        _dashed(ends),
        not_all_drawn(record),
    ]
    layers = (*_lines(ends, x), *_points(record, table, jobs, kept, x), _medians(jobs, x))
    panel = Panel(
        x=_axis(FIGURES["checkpoint_gb"].label, x, ends[0]),
        y=_axis("write bandwidth", y, ends[1]),
        layers=layers,
    )
    return Chart("bandwidth", _BANDWIDTH, " ".join(word for word in words if word), (panel,))


Ends = tuple[tuple[float, float], tuple[float, float]]
"""How far the axes go, in GB and GB/s."""


def _axes(
    table: Columns, jobs: Sequence[JobFound], kept: Sequence[Places]
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
    table: Columns,
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
        texts = hovers(record, table, rows, name)
        yield Points(name, sizes, rates, texts, *look(place), hollow=True, size=5.0)


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


_OVERLAP = "How much of the interval the drain takes"
_NAME, _AT, _THICKNESS = 40, 0.14, 0.3


def overlap(record: Characterization) -> Chart:
    """Return the chart of overlaps: a bar for a job, its range, and the usual limit."""
    jobs = sorted(largest(record, MOST_JOBS), key=lambda job: -job.overlap.value)
    if not jobs:
        return Chart("overlap", _OVERLAP, "No job was found: there is nothing to draw.")
    under, limit = within(record.jobs), percent(USUAL_OVERLAP, 0)
    words = [
        f"{under:,} of {counted(len(record.jobs), 'job')} under {limit}.",
        "Thin lines: where the truth may lie.",
        not_all_drawn(record),
    ]
    panel = Panel(
        Axis("overlap: drain over interval", "%"),
        Axis(""),
        tuple(_layers(jobs)),
        references=(Reference(f"{limit} of the interval", 100 * USUAL_OVERLAP, False),),
        rows=tuple(_overlap_rows(record, jobs)),
    )
    return Chart("overlap", _OVERLAP, " ".join(word for word in words if word), (panel,))


def _overlap_rows(record: Characterization, jobs: Sequence[JobFound]) -> Iterator[str]:
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
