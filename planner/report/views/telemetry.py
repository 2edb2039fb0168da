"""A characterization as blocks: findings, jobs, clusters, the trace, calibration, a fleet."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    words,
)
from planner.report.charts.model import Axis, Band, Chart, Layer, Line, Panel, Points
from planner.report.telemetry_words import (
    USUAL_OVERLAP,
    day,
    exact,
    figure,
    labels,
    measured,
    median_overlap,
    moment,
    most,
    one_line,
    stated,
)
from planner.report.words import HOUR_S, counted, duration, listed, number, percent, some
from planner.schema.telemetry import (
    CONFIDENCE,
    Calibration,
    Characterization,
    ClusterFound,
    FleetJob,
    FleetStudy,
    JobFound,
    Measured,
    Override,
    Trend,
)

_MOST_ROWS, _NAME, _TEXT, _MOST_NAMES, _FIRST_JOBS = 20, 24, 400, 5, 6
_READ_AS = {"rate": "rates", "bytes": "bytes of each sample", "counter": "counters"}
_LONGER = 1.25
"""Samples of a window above which it is shown."""


def view(record: Characterization) -> list[Block]:
    """A characterization as blocks."""
    found, study = record.calibration, record.study
    count, clusters = counted(record.checkpoints, "checkpoint"), len(record.clusters)
    where = f"{counted(len(record.jobs), 'job')} on {counted(clusters, 'cluster')}"
    overrides = () if found is None else found.overrides
    calibrated = "; ".join(f"{each.label} {stated(each.measured, each.unit)}" for each in overrides)
    trace = list(_trace(record)) if record.clusters else []
    facts = [("Found", _finding(record))]
    facts += [] if study is None else _fleet_facts(study)
    facts += [("Trace", trace[0] if trace else ""), ("Measured", calibrated)]
    return [
        Heading(f"Storage telemetry  ({count} of {where})"),
        Facts(tuple(facts)),
        *_jobs(record),
        Text(tuple(trace[1:]), "Trace", points=True, detail=True),
        *(() if study is None else _fleet_blocks(study)),
        *(() if found is None else _calibration(found)),
        notes_block((*_notes(record), *(() if study is None else _fleet_notes(study)))),
    ]


def _finding(record: Characterization) -> str:
    overlap = median_overlap(record.jobs)
    if overlap is None:
        return "No job was found: no bursts of one size recur at an interval."
    rates = [job.write_gb_per_s.value for job in record.jobs]
    if len(rates) == 1:
        return f"overlap {percent(overlap)}, bandwidth {figure(rates[0], 'GB/s')}"
    under = sum(job.overlap.value < USUAL_OVERLAP for job in record.jobs)
    ends = f"{figure(min(rates), 'GB/s')} to {figure(max(rates), 'GB/s')}"
    text = f"overlap {percent(overlap)} (median of checkpoints), {under:,} of {len(rates):,} jobs "
    text += f"under {percent(USUAL_OVERLAP, 0)}; bandwidth {ends}, median "
    return text + figure(median(rates), "GB/s")


def _jobs(record: Characterization) -> Iterator[Table]:
    """Yield tables of jobs, the largest checkpoints first: writing, running."""
    jobs = sorted(record.jobs, key=lambda job: -job.size_gb.value)
    for title, columns in (("Jobs", _writing), ("Runs", _running)):
        names = words("job", labels(record, jobs, _NAME))
        found = (names, *columns(record, jobs))
        detail = title != "Jobs"
        yield Table(title, found, (), _MOST_ROWS, (), "jobs", _FIRST_JOBS, detail)


def _bounded(job: JobFound, name: str, unit: str) -> str:
    found = getattr(job, name)
    return measured(found, unit) if job.resolved else most(found, unit)


def _writing(_: Characterization, jobs: Sequence[JobFound]) -> Iterator[Column]:
    yield figures("size", (measured(job.size_gb, "GB") for job in jobs), str)
    yield figures("interval", (measured(job.interval_s, "s") for job in jobs), str)
    yield figures("drain", (_bounded(job, "drain_s", "s") for job in jobs), str)
    yield figures("write", (figure(job.write_gb_per_s.value, "GB/s") for job in jobs), str)
    yield figures("overlap", (_bounded(job, "overlap", "share") for job in jobs), str)


def _running(record: Characterization, jobs: Sequence[JobFound]) -> Iterator[Column]:
    yield figures("parameters", (figure(j.parameters.value, "parameters") for j in jobs), str)
    yield figures("from", (day(job.start_s, record.clock) for job in jobs), str)
    yield figures("seen for", (duration(job.observed_s) for job in jobs), str)
    for name in ("checkpoints", "missed", "restarts"):
        yield figures(name, (getattr(job, name) for job in jobs), 0)
    yield figures("MTTI", (measured(job.mtti_s, "s") for job in jobs), str)
    yield figures("restore", (measured(job.restore_s, "s") for job in jobs), str)


# Trace.


def _trace(record: Characterization) -> Iterator[str]:
    every = record.clusters
    start, end = min(each.start_s for each in every), max(each.end_s for each in every)
    samples = counted(sum(each.samples for each in every), "sample")
    steps = [f"{step:g}" for step in sorted({each.sample_s for each in every})]
    step = " to ".join(dict.fromkeys((steps[0], steps[-1])))
    utc = " UTC" if record.clock == "unix" else ""
    span = f"{moment(start, record.clock)} to {moment(end, record.clock)}{utc}"
    names = some([one_line(name, 60) for name in record.traces], _MOST_NAMES)
    yield f"{span}; {samples}, one every {step} s, read as {_READ_AS[record.read_as]}; {names}"
    windows = {each.window_s for each in every if _is_smoothed(each)}
    if windows:
        means = listed([duration(each) for each in sorted(filter(None, windows))])
        yield f"each sample is a mean over {means}; drains are given without it"
    flaws = (
        ("missing", ("missing sample",)),
        ("steps", ("step of the clock", "steps of the clock")),
    )
    totals = [(sum(getattr(each, name) for each in every), text) for name, text in flaws]
    yield ", ".join(counted(total, *text) for total, text in totals if total)
    blind = [one_line(each.name, 40) for each in every if not each.reads]
    if blind:
        where = "" if len(blind) == len(every) else f" of {some(blind, _MOST_NAMES)}"
        yield f"no reads in the trace{where}: no restores, restarts not confirmed"
    yield f"ranges hold the truth with {percent(CONFIDENCE, 0)}"


def _is_smoothed(cluster: ClusterFound) -> bool:
    return cluster.window_s is not None and cluster.window_s > _LONGER * cluster.sample_s


def _notes(record: Characterization) -> Iterator[str]:
    jobs = record.jobs
    names = labels(record, jobs, 40)
    brief = [name for name, job in zip(names, jobs, strict=True) if not job.resolved]
    if brief:
        yield f"drains shorter than two samples, upper bounds: {some(brief, _MOST_NAMES)}"
    for count, text in (
        (sum(job.inferred for job in jobs), "checkpoints written together with others, inferred"),
        (sum(job.missed for job in jobs), "checkpoints missed"),
        (sum(job.restarts - job.confirmed for job in jobs), "restarts without a restoring read"),
        (sum(each.other for each in record.clusters), "bursts of no job"),
    ):
        yield f"{number(count)} {text}" if count > 0 else ""
    yield from (one_line(text, _TEXT) for text in record.notes)
    for job, name in zip(jobs, names, strict=True):
        yield from (f"{name}: {one_line(text, _TEXT)}" for text in job.notes)


# Calibration.


def value_of(override: Override) -> str:
    """The value of an override, as a problem file has it."""
    return one_line(override.setting.removeprefix(f"{override.path}="))


def _calibration(found: Calibration) -> Iterator[Block]:
    rows = found.overrides
    pairs = [(exact(each.measured, each.unit), each.measured) for each in rows]
    gpus = "" if found.gpus is None else f", {found.gpus:,} GPUs"
    title = f"Calibration of {one_line(found.problem, 36)} by {one_line(found.job, 28)}{gpus}"
    columns = (
        words("input", (one_line(each.label, 34) for each in rows)),
        figures("now", (one_line(each.now or "-", 18) for each in rows), str),
        figures("measured", (scale.with_unit(each.value) for scale, each in pairs), str),
        figures("low", (scale.text(each.low) for scale, each in pairs), str),
        figures("high", (scale.text(each.high) for scale, each in pairs), str),
        words("source", (one_line(each.source, _TEXT) for each in rows)),
    )
    notes = ("with -o: planner solve PROBLEM.yaml --set @NAME.overrides.yaml",)
    if rows:
        yield Table(title, columns, notes, detail=True)
    drawn = tuple(shlex.quote(one_line(each.distribution)) for each in rows if each.distribution)
    yield Text(drawn, "Ranges, for planner sweep --mode uncertain --vary", points=True, detail=True)
    texts = tuple(one_line(text, _TEXT) for text in found.not_measured)
    yield Text(texts, "Not measured" if rows else title, points=True, first=3)


# The study of a fleet: trends, overlaps, and the storage that suffices.

_SURE = 0.05
_TITLES = {
    "bandwidth": "Checkpoint bandwidth against model size",
    "per_gpu": "Checkpoint bandwidth per GPU against model size",
    "interval": "Checkpoint bandwidth over size against interval",
}


def range_text(found: Measured, form: str = ".2f", scale: float = 1.0) -> str:
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
        f"{way}: exponent {range_text(trend.exponent)}, rank correlation "
        f"{trend.rank_correlation:+.2f}{chance}, {counted(trend.jobs, 'job')}"
    )


def law_text(study: FleetStudy) -> str:
    """The fitted demand law beside the law itself."""
    law = study.law
    if law is None:
        return "too few jobs for a fit of the demand law"
    overlap = f"overlap {range_text(law.overlap, '.1f', 100)} %"
    if law.size_exponent is None or law.interval_exponent is None:
        return f"{overlap}; exponents not determined, since size and interval go together"
    return (
        f"bandwidth = size^{range_text(law.size_exponent)} / (overlap x "
        f"interval^{range_text(law.interval_exponent)}), {overlap}; law: 1, 1; explains "
        f"{percent(law.explained, 0)} of the variance"
    )


def under_text(study: FleetStudy) -> str:
    """The shares of jobs and checkpoints under the limit."""
    jobs = range_text(study.under_limit_jobs, ".0f", 100)
    checkpoints = percent(study.under_limit_checkpoints, 0)
    limit = percent(study.limit, 0)
    return f"overlap under {limit}: {jobs} % of jobs, {checkpoints} of their checkpoints"


def storage_text(study: FleetStudy) -> str:
    """The storage that suffices for all clusters, in watts and GPUs; empty if unknown."""
    known = [each for each in study.storage if each.enough_kw is not None]
    if not known:
        return ""
    enough, seen, gpus = (
        sum(getattr(each, name) or 0.0 for each in known)
        for name in ("enough_kw", "seen_kw", "gpus_more")
    )
    return (
        f"{enough:,.1f} kW of storage suffice on {counted(len(known), 'cluster')}, {seen:,.1f} kW "
        f"for the bandwidth seen: {seen - enough:,.1f} kW power {math.floor(gpus):,} more GPUs"
    )


def _fleet_facts(study: FleetStudy) -> Iterator[tuple[str, str]]:
    """Yield the findings on a fleet."""
    yield "Model size", trend_text(study.bandwidth)
    yield "Per GPU", trend_text(study.per_gpu)
    yield "Interval", trend_text(study.interval)
    yield "Demand law", law_text(study)
    yield "Overlap", under_text(study)
    yield "Storage", storage_text(study)


def _fleet_notes(study: FleetStudy) -> Iterator[str]:
    """Yield jobs that were not matched, and jobs outside of the fits."""
    short = [job.name for job in study.jobs if not job.resolved]
    for text, names in (
        ("jobs of the table without telemetry", study.unmatched),
        ("jobs of the telemetry that the table lacks", study.unknown),
        ("drains under two samples, not in the fits", short),
    ):
        listed = some([one_line(name, _NAME) for name in names], _MOST_NAMES)
        yield f"{text}: {listed}" if names else ""
    if not any(each.enough_kw is not None for each in study.storage):
        yield "--problem PROBLEM.yaml adds the storage that suffices, from its catalogs"


def _fleet_blocks(study: FleetStudy) -> Iterator[Table]:
    """Yield a table of jobs and one of clusters."""
    jobs = sorted(study.jobs, key=lambda job: -job.parameters)
    limit = percent(study.limit, 0)
    columns = (
        words("job", (one_line(job.name, _NAME) for job in jobs)),
        words("cluster", (one_line(job.cluster, 16) for job in jobs)),
        figures("parameters", (job.parameters for job in jobs), lambda n: figure(n, "parameters")),
        figures("GPUs", (job.gpus for job in jobs), 0),
        figures("size", (job.size_gb for job in jobs), lambda gb: figure(gb, "GB")),
        figures("interval", (job.interval_s for job in jobs), lambda s: figure(s, "s")),
        figures("overlap", (job.overlap for job in jobs), percent),
        figures("GB/s", (job.write_gb_per_s for job in jobs), lambda v: f"{v:.3g}"),
        figures("MB/s per GPU", (job.mb_per_s_per_gpu for job in jobs), lambda v: f"{v:.3g}"),
        figures(f"GB/s at {limit}", (job.demand_gb_per_s for job in jobs), lambda v: f"{v:.3g}"),
    )
    text = f"law: size / (overlap x interval); ranges hold the truth with {percent(CONFIDENCE, 0)}"
    yield Table("Jobs of the fleet", columns, (text,), detail=True)
    rows = study.storage
    clusters = (
        words("cluster", (one_line(each.cluster, _NAME) for each in rows)),
        figures("GPUs", (each.gpus for each in rows), 0),
        figures("demand GB/s", (each.demand_gb_per_s for each in rows), 1),
        figures("seen GB/s", (each.seen_gb_per_s for each in rows), 1),
        words("suffices", (each.enough for each in rows)),
        figures("kW", (each.enough_kw for each in rows), 1),
        figures("kW, seen", (each.seen_kw for each in rows), 1),
        figures("GPUs more", (each.gpus_more for each in rows), 1),
    )
    yield Table(f"Storage for an overlap of {limit}", clusters, detail=True)


# Charts.


def charts(study: FleetStudy) -> tuple[Chart, ...]:
    """The charts of bandwidth against model size, per GPU, and against interval."""
    jobs = study.jobs
    sizes = [job.parameters / 1e9 for job in jobs]
    parameters = Axis("parameters", "10⁹", True)
    total = [job.write_gb_per_s for job in jobs]
    each = [job.mb_per_s_per_gpu for job in jobs]
    up = Axis("write bandwidth", "GB/s", True), Axis("write bandwidth per GPU", "MB/s", True)
    return (
        _trend_chart("bandwidth", jobs, (parameters, up[0]), sizes, total, study.bandwidth),
        _trend_chart("per_gpu", jobs, (parameters, up[1]), sizes, each, study.per_gpu),
        _interval_chart(study),
    )


def _trend_chart(
    name: str,
    jobs: Sequence[FleetJob],
    axes: tuple[Axis, Axis],
    x: list[float],
    y: list[float],
    trend: Trend | None,
) -> Chart:
    layers: list[Layer] = []
    if trend is not None:
        exponent = trend.exponent.value
        level = float(np.mean(np.log(y) - exponent * np.log(x)))
        ends = (min(x), max(x))
        heights = tuple(math.exp(level) * end**exponent for end in ends)
        layers.append(Line("fitted power law", ends, heights, "third"))
    panel = Panel(*axes, (*layers, _points(jobs, x, y)))
    place = "model_size" if name == "bandwidth" else name
    return Chart(place, _TITLES[name], f"{trend_text(trend)}.", (panel,))


def _interval_chart(study: FleetStudy) -> Chart:
    """Bandwidth over size against interval: by the law 1 / (overlap x interval), one line."""
    x = [job.interval_s / HOUR_S for job in study.jobs]
    y = [HOUR_S * job.write_gb_per_s / job.size_gb for job in study.jobs]
    ends = (min(x) / 1.25, max(x) * 1.25)

    def law(overlap: float) -> tuple[float, ...]:
        return tuple(1.0 / (overlap * end) for end in ends)

    layers: list[Layer] = []
    name = f"law, overlap {percent(study.limit, 0)}"
    if study.law is not None:
        found = study.law.overlap
        low, high = law(found.high or found.value), law(found.low or found.value)
        layers.append(Band(f"its {percent(CONFIDENCE, 0)} range", ends, low, high))
        fitted = f"fitted, overlap {percent(found.value)}"
        layers.append(Line(fitted, ends, law(found.value), "third"))
    layers.append(Line(name, ends, law(study.limit), "second", dashed=True))
    axes = Axis("interval", "h", True), Axis("bandwidth over size", "1/h", True)
    text = f"{trend_text(study.interval)}. {law_text(study)}. {under_text(study)}."
    panel = Panel(*axes, (*layers, _points(study.jobs, x, y)))
    return Chart("interval", _TITLES["interval"], text, (panel,))


def _points(jobs: Sequence[FleetJob], x: list[float], y: list[float]) -> Points:
    hovers = tuple(
        f"{job.name}\n{figure(job.parameters, 'parameters')} on {job.gpus:,} GPUs\n"
        f"{figure(job.size_gb, 'GB')} every {figure(job.interval_s, 's')}, "
        f"{figure(job.write_gb_per_s, 'GB/s')}, overlap {percent(job.overlap)}"
        for job in jobs
    )
    return Points("job", tuple(x), tuple(y), hovers)
