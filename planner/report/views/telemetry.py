"""Storage telemetry: findings, jobs, calibration, a fleet, a stretch of trace."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.report import words as fmt
from planner.report.blocks import (
    Axis,
    Block,
    Chart,
    Facts,
    Gap,
    Heading,
    Layer,
    Line,
    Panel,
    Points,
    Reference,
    Shape,
    Table,
    Text,
    Tone,
    figures,
    notes_block,
    words,
)
from planner.schema.telemetry import (
    CONFIDENCE,
    Calibration,
    Characterization,
    FleetJob,
    FleetStudy,
    JobFound,
    Measured,
    Trend,
)

_MOST_ROWS, _NAME, _TEXT, _MOST_NAMES = 20, 24, 400, 5
_LONGER = 1.25
"""Samples of a window above which it is shown."""

USUAL_OVERLAP = 0.10
"""The overlap that studies and problems take as the limit."""


def view(record: Characterization) -> list[Block]:
    """A characterization as blocks."""
    found, study = record.calibration, record.study
    count, clusters = fmt.counted(record.checkpoints, "checkpoint"), len(record.clusters)
    where = f"{fmt.counted(len(record.jobs), 'job')} on {fmt.counted(clusters, 'cluster')}"
    overrides = () if found is None else found.overrides
    calibrated = "; ".join(
        f"{each.label} {fmt.stated(each.measured, each.unit)}" for each in overrides
    )
    facts = [
        ("Found", _finding(record)),
        *(() if study is None else _fleet_facts(study)),
        ("Trace", _trace(record) if record.clusters else ""),
        ("Measured", calibrated),
    ]
    return [
        Heading(f"Storage telemetry  ({count} of {where})"),
        Facts(tuple(facts)),
        *_jobs(record),
        *(() if study is None else [_fleet_table(study)]),
        *(() if found is None else _calibration(found)),
        notes_block((*_notes(record), *(() if study is None else _fleet_notes(study)))),
    ]


def _finding(record: Characterization) -> str:
    jobs = record.jobs
    if not jobs:
        return "No job was found: no bursts of one size recur at an interval."
    rates = [job.write_gb_per_s.value for job in jobs]
    middle = fmt.percent(median(job.overlap.value for job in jobs))
    if len(jobs) == 1:
        return f"overlap {middle}, bandwidth {fmt.significant(rates[0], 'GB/s')}"
    under = sum(job.overlap.value < USUAL_OVERLAP for job in jobs)
    ends = f"{fmt.significant(min(rates), 'GB/s')} to {fmt.significant(max(rates), 'GB/s')}"
    text = f"overlap {middle} (median), {under:,} of {len(jobs):,} jobs under "
    return f"{text}{fmt.percent(USUAL_OVERLAP, 0)}; bandwidth {ends}"


def names_of(record: Characterization, jobs: Sequence[JobFound], width: int) -> list[str]:
    """Names of jobs, each distinct, cut to a width; of several clusters with that of its own."""
    names: list[str] = []
    for place, job in enumerate(jobs, start=1):
        several = len(record.clusters) > 1 and job.cluster not in job.name
        name = fmt.short(f"{job.cluster} {job.name}" if several else job.name, width) or "job"
        mark = f" #{place}"
        names.append(name if name not in names else fmt.short(name, width - len(mark)) + mark)
    return names


def _jobs(record: Characterization) -> Iterator[Table]:
    """Yield tables of jobs, the largest checkpoints first: writing, running."""
    jobs = sorted(record.jobs, key=lambda job: -job.size_gb.value)
    names = words("job", names_of(record, jobs, _NAME))

    def bounded(job: JobFound, name: str, unit: str) -> str:
        found = getattr(job, name)
        return fmt.measured(found, unit) if job.resolved else fmt.most(found, unit)

    writing = (
        names,
        figures("size", (fmt.measured(job.size_gb, "GB") for job in jobs), str),
        figures("interval", (fmt.measured(job.interval_s, "s") for job in jobs), str),
        figures("drain", (bounded(job, "drain_s", "s") for job in jobs), str),
        figures("write", (fmt.significant(job.write_gb_per_s.value, "GB/s") for job in jobs), str),
        figures("overlap", (bounded(job, "overlap", "share") for job in jobs), str),
    )
    yield Table("Jobs", writing, most=_MOST_ROWS, rows="jobs", first=6)
    sizes = (fmt.significant(job.parameters.value, "parameters") for job in jobs)
    running = (
        names,
        figures("parameters", sizes, str),
        figures("from", (fmt.moment(job.start_s, record.clock, day=True) for job in jobs), str),
        figures("seen for", (fmt.duration(job.observed_s) for job in jobs), str),
        figures("checkpoints", (job.checkpoints for job in jobs), 0),
        figures("restarts", (job.restarts for job in jobs), 0),
        figures("MTTI", (fmt.measured(job.mtti_s, "s") for job in jobs), str),
        figures("restore", (fmt.measured(job.restore_s, "s") for job in jobs), str),
    )
    yield Table("Runs", running, most=_MOST_ROWS, rows="jobs", detail=True)


def _trace(record: Characterization) -> str:
    every = record.clusters
    ends = min(each.start_s for each in every), max(each.end_s for each in every)
    span = " to ".join(fmt.moment(end, record.clock) for end in ends)
    utc = " UTC" if record.clock == "unix" else ""
    samples = fmt.counted(sum(each.samples for each in every), "sample")
    step = f"{min(each.sample_s for each in every):g}"
    names = fmt.some([fmt.short(name, 60) for name in record.traces], _MOST_NAMES)
    return f"{span}{utc}; {samples}, one every {step} s, read as {record.read_as}; {names}"


def _notes(record: Characterization) -> Iterator[str]:
    jobs, every = record.jobs, record.clusters
    names = names_of(record, jobs, 40)
    brief = [name for name, job in zip(names, jobs, strict=True) if not job.resolved]
    if brief:
        yield f"drains shorter than two samples, upper bounds: {fmt.some(brief, _MOST_NAMES)}"
    if any(each.window_s and each.window_s > _LONGER * each.sample_s for each in every):
        yield "each sample is a mean over a longer window; drains are given without it"
    if every and not all(each.reads for each in every):
        blind = fmt.some(
            [fmt.short(each.name, 40) for each in every if not each.reads], _MOST_NAMES
        )
        yield f"no reads in the trace of {blind}: no restores, restarts not confirmed"
    for count, text in (
        (sum(job.inferred for job in jobs), "checkpoints written together with others, inferred"),
        (sum(job.missed for job in jobs), "checkpoints missed"),
        (sum(job.restarts - job.confirmed for job in jobs), "restarts without a restoring read"),
        (sum(each.other for each in every), "bursts of no job"),
        (sum(each.missing for each in every), "missing samples"),
        (sum(each.steps for each in every), "steps of the clock"),
    ):
        yield f"{fmt.number(count)} {text}" if count > 0 else ""
    yield from (fmt.short(text, _TEXT) for text in record.notes)
    for job, name in zip(jobs, names, strict=True):
        yield from (f"{name}: {fmt.short(text, _TEXT)}" for text in job.notes)


def _calibration(found: Calibration) -> Iterator[Block]:
    rows = found.overrides
    gpus = "" if found.gpus is None else f", {found.gpus:,} GPUs"
    title = f"Calibration of {fmt.short(found.problem, 36)} by {fmt.short(found.job, 28)}{gpus}"
    columns = (
        words("input", (fmt.short(each.label, 34) for each in rows)),
        figures("now", (fmt.short(each.now or "-", 18) for each in rows), str),
        figures("measured", (fmt.measured(each.measured, each.unit) for each in rows), str),
        words("source", (fmt.short(each.source, _TEXT) for each in rows)),
    )
    notes = ("with -o: planner solve PROBLEM.yaml --set @NAME.overrides.yaml",)
    if rows:
        yield Table(title, columns, notes, detail=True)
    drawn = tuple(
        shlex.quote(fmt.short(each.distribution, _TEXT)) for each in rows if each.distribution
    )
    yield Text(drawn, "Ranges, for planner sweep --mode uncertain --vary", points=True, detail=True)
    texts = tuple(fmt.short(text, _TEXT) for text in found.not_measured)
    yield Text(texts, "Not measured" if rows else title, points=True, first=3)


# The study of a fleet: trends, overlaps, and the storage that suffices.

_SURE = 0.05


def _range(found: Measured, form: str = ".2f", scale: float = 1.0) -> str:
    """A figure with its range: ``1.02 (0.97 to 1.07)``."""
    value = f"{scale * found.value:{form}}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({scale * found.low:{form}} to {scale * found.high:{form}})"


def trend_text(trend: Trend | None) -> str:
    """The direction of a trend, with its exponent and its rank correlation."""
    if trend is None:
        return "too few jobs for a trend"
    low, high = trend.exponent.low or 0.0, trend.exponent.high or 0.0
    way = "decreases" if high < 0 else "increases" if low > 0 else "independent"
    chance = "" if trend.p_value < _SURE else ", no more than chance"
    return (
        f"{way}: exponent {_range(trend.exponent)}, rank correlation "
        f"{trend.rank_correlation:+.2f}{chance}, {fmt.counted(trend.jobs, 'job')}"
    )


def _law_text(study: FleetStudy) -> str:
    """The fitted demand law beside the law itself."""
    law = study.law
    if law is None:
        return "too few jobs for a fit of the demand law"
    overlap = f"overlap {_range(law.overlap, '.1f', 100)} %"
    if law.size_exponent is None or law.interval_exponent is None:
        return f"{overlap}; exponents not determined, since size and interval go together"
    exponents = f"{_range(law.size_exponent)}, of interval -{_range(law.interval_exponent)}"
    explained = f"{fmt.percent(law.explained, 0)} of the variance explained"
    return f"{overlap}; exponent of size {exponents} (law: 1, -1); {explained}"


def _storage_text(study: FleetStudy) -> str:
    """The storage that suffices for all clusters, in watts and GPUs; empty if unknown."""
    known = [each for each in study.storage if each.enough_kw is not None]
    names = ("enough_kw", "seen_kw", "gpus_more")
    enough, seen, gpus = (sum(getattr(each, name) or 0.0 for each in known) for name in names)
    text = f"{enough:,.1f} kW of storage suffice, {seen:,.1f} kW for the bandwidth seen: "
    text += f"{seen - enough:,.1f} kW power {math.floor(gpus):,} more GPUs"
    return text if known else ""


def _fleet_facts(study: FleetStudy) -> Iterator[tuple[str, str]]:
    """Yield the findings on a fleet."""
    yield "Model size", trend_text(study.bandwidth)
    yield "Per GPU", trend_text(study.per_gpu)
    yield "Interval", trend_text(study.interval)
    yield "Demand law", _law_text(study)
    checkpoints = fmt.percent(study.under_limit_checkpoints, 0)
    jobs = f"{_range(study.under_limit_jobs, '.0f', 100)} % of jobs"
    yield f"Overlap < {fmt.percent(study.limit, 0)}", f"{jobs}, {checkpoints} of their checkpoints"
    yield "Storage", _storage_text(study)


def _fleet_notes(study: FleetStudy) -> Iterator[str]:
    """Yield jobs that were not matched, and jobs outside of the fits."""
    brief = [job.name for job in study.jobs if not job.resolved]
    for text, names in (
        ("jobs of the table without telemetry", study.unmatched),
        ("jobs of the telemetry that the table lacks", study.unknown),
        (
            "drains under two samples, not in the fits",
            brief,
        ),
    ):
        shown = fmt.some([fmt.short(name, _NAME) for name in names], _MOST_NAMES)
        yield f"{text}: {shown}" if names else ""


def _fleet_table(study: FleetStudy) -> Table:
    """The jobs of the fleet, the largest models first."""
    jobs = sorted(study.jobs, key=lambda job: -job.parameters)
    limit = fmt.percent(study.limit, 0)

    def three(value: float) -> str:
        return f"{value:.3g}"

    columns = (
        words("job", (fmt.short(job.name, _NAME) for job in jobs)),
        words("cluster", (fmt.short(job.cluster, 16) for job in jobs)),
        figures("parameters", (fmt.significant(job.parameters, "parameters") for job in jobs), str),
        figures("GPUs", (job.gpus for job in jobs), 0),
        figures("size", (fmt.significant(job.size_gb, "GB") for job in jobs), str),
        figures("interval", (fmt.significant(job.interval_s, "s") for job in jobs), str),
        figures("overlap", (job.overlap for job in jobs), fmt.percent),
        figures("GB/s", (job.write_gb_per_s for job in jobs), three),
        figures(f"GB/s at {limit}", (job.demand_gb_per_s for job in jobs), three),
    )
    text = (
        f"law: size / (overlap x interval); ranges hold the truth with {fmt.percent(CONFIDENCE, 0)}"
    )
    return Table("Jobs of the fleet", columns, (text,), detail=True)


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """The charts of bandwidth against model size, per GPU, and against interval."""
    jobs = study.jobs
    sizes = [job.parameters / 1e9 for job in jobs]
    hours = [job.interval_s / fmt.HOUR_S for job in jobs]
    total = [job.write_gb_per_s for job in jobs]
    each = [job.mb_per_s_per_gpu for job in jobs]
    share = [fmt.HOUR_S * job.write_gb_per_s / job.size_gb for job in jobs]
    # By the law bandwidth over size is 1 / (overlap x interval): a line.
    ends = (min(hours) / 1.25, max(hours) * 1.25)
    heights = tuple(1.0 / (study.limit * end) for end in ends)
    law = Line(f"law, overlap {fmt.percent(study.limit, 0)}", ends, heights, "second", dashed=True)
    size = Axis("parameters", "10⁹", True)
    up = Axis("write bandwidth", "GB/s", True)
    up_each = Axis("write bandwidth per GPU", "MB/s", True)
    of_size = Axis("interval", "h", True), Axis("bandwidth over size", "1/h", True)
    named = (
        ("model_size", "Checkpoint bandwidth against model size", study.bandwidth),
        ("per_gpu", "Checkpoint bandwidth per GPU against model size", study.per_gpu),
        ("interval", "Checkpoint bandwidth over size against interval", study.interval),
    )
    axes = ((size, up), (size, up_each), of_size)
    found = []
    values = ((sizes, total), (sizes, each), (hours, share))
    for (name, title, trend), pair, (x, y) in zip(named, axes, values, strict=True):
        layers: list[Layer] = [] if trend is None else [_fitted(x, y, trend)]
        layers += [law] if name == "interval" else []
        panel = Panel(*pair, (*layers, _points(jobs, x, y)))
        text = f"{trend_text(trend)}." + (f" {_law_text(study)}." if name == "interval" else "")
        found.append(Chart(name, title, text, (panel,)))
    return tuple(found)


def _fitted(x: Sequence[float], y: Sequence[float], trend: Trend) -> Line:
    exponent = trend.exponent.value
    level = math.exp(float(np.mean(np.log(y) - exponent * np.log(x))))
    ends = (min(x), max(x))
    return Line("fitted power law", ends, tuple(level * end**exponent for end in ends), "third")


def _points(jobs: Sequence[FleetJob], x: Sequence[float], y: Sequence[float]) -> Points:
    hovers = tuple(
        f"{job.name}\n{fmt.significant(job.parameters, 'parameters')} on {job.gpus:,} GPUs\n"
        f"{fmt.significant(job.size_gb, 'GB')} every {fmt.significant(job.interval_s, 's')}, "
        f"{fmt.significant(job.write_gb_per_s, 'GB/s')}, overlap {fmt.percent(job.overlap)}"
        for job in jobs
    )
    return Points("job", tuple(x), tuple(y), hovers)


# A stretch of one cluster's trace: writes and reads, checkpoints marked.

_MOST_BINS, _MOST_POINTS, _MOST_JOBS = 1_500, 2_000, 20
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


def trace_chart(record: Characterization, window: Window) -> Chart:
    """A stretch over hours: writes with checkpoints marked, and a panel of reads."""
    title = f"Writes of {fmt.short(window.cluster, 40)}, checkpoint by checkpoint"
    if not len(window.time_s):
        return Chart("trace", title, "There are no samples in this stretch.")
    found = next((each for each in record.clusters if each.name == window.cluster), None)
    sample = (10.0 if found is None else found.sample_s) / fmt.HOUR_S
    start, end = float(window.time_s[0]), float(window.time_s[-1])
    utc = " UTC" if record.clock == "unix" else ""
    axis = Axis(f"time from {fmt.moment(start, record.clock)}{utc}", "h")
    names = set(window.checkpoints["job"].tolist())
    jobs = [job for job in record.jobs if job.cluster == window.cluster and job.name in names]
    jobs.sort(key=lambda job: -job.size_gb.value)
    hours = (window.time_s - start) / fmt.HOUR_S
    level = 0.0 if found is None else found.background_gb_per_s
    layers: list[Layer] = [
        Line("write", *outline(hours, window.write_gb_per_s, sample), "quiet"),
        *_marks(record, window, jobs[:_MOST_JOBS], start),
        Reference(f"background {fmt.significant(level, 'GB/s')}", level),
    ]
    panels = [Panel(axis, Axis("write", "GB/s"), tuple(layers))]
    if window.read_gb_per_s is not None:
        read = Line("read", *outline(hours, window.read_gb_per_s, sample))
        panels.append(Panel(axis, Axis("read", "GB/s"), (read,)))
    count = int(np.sum(window.checkpoints["kind"] != "other"))
    span = " to ".join(fmt.moment(each, record.clock) for each in (start, end))
    text = f"{fmt.counted(count, 'checkpoint')} of {fmt.counted(len(jobs), 'job')}, {span}."
    text += " Hollow: not seen whole." if jobs else ""
    return Chart("trace", title, text, tuple(panels))


def _marks(
    record: Characterization, window: Window, jobs: Sequence[JobFound], start: float
) -> Iterator[Points]:
    """Yield the checkpoints of each job at their peaks, those not seen whole as hollow."""
    table = window.checkpoints
    middle = (table["start_s"] + table["duration_s"] / 2 - start) / fmt.HOUR_S
    every = max(1, -(-len(middle) // _MOST_POINTS))
    whole = np.asarray(table["kind"]).astype(str) == "checkpoint"
    for place, (job, name) in enumerate(zip(jobs, names_of(record, jobs, 26), strict=True)):
        look = _TONES[place % len(_TONES)], _SHAPES[place % len(_SHAPES)]
        for hollow in (False, True):
            rows = np.flatnonzero((table["job"] == job.name) & (whole != hollow))[::every]
            if not len(rows):
                continue
            texts = tuple(
                f"{name}\n{fmt.moment(table['start_s'][row], record.clock)}\n"
                f"{fmt.significant(table['size_gb'][row], 'GB')}"
                for row in rows
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
        least, greatest = np.minimum.reduceat(part, starts), np.maximum.reduceat(part, starts)
        xs += np.repeat(part_times[starts], 2).tolist()
        ys += np.stack([least, greatest], axis=1).ravel().tolist()
    return tuple(xs), tuple(ys)
