"""A characterization as blocks: findings, jobs, clusters, the trace, calibration."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from statistics import median

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
from planner.report.views import fleet
from planner.report.words import DAY_S, counted, duration, listed, number, percent, some
from planner.schema.telemetry import (
    CONFIDENCE,
    Calibration,
    Characterization,
    ClusterFound,
    JobFound,
    Override,
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
    facts += [] if study is None else fleet.facts(study)
    facts += [("Trace", trace[0] if trace else ""), ("Measured", calibrated)]
    return [
        Heading(f"Storage telemetry  ({count} of {where})"),
        Facts(tuple(facts)),
        *_jobs(record),
        *([_clusters(record)] if clusters > 1 else []),
        Text(tuple(trace[1:]), "Trace", points=True, detail=True),
        *(() if study is None else fleet.blocks(study)),
        *(() if found is None else _calibration(found)),
        notes_block((*_notes(record), *(() if study is None else fleet.notes(study)))),
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
    """Yield tables of jobs, the largest checkpoints first: writing, running, restores."""
    jobs = sorted(record.jobs, key=lambda job: -job.size_gb.value)
    read = [job for job in jobs if job.restore_gb is not None]
    parts = (("Jobs", jobs, _writing), ("Runs", jobs, _running), ("Restores", read, _restores))
    for title, rows, columns in parts:
        names = words("job", labels(record, rows, _NAME))
        found = (names, *columns(record, rows))
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
    for name in ("checkpoints", "missed", "aborted", "restarts"):
        yield figures(name, (getattr(job, name) for job in jobs), 0)
    yield figures("MTTI", (measured(job.mtti_s, "s") for job in jobs), str)


def _restores(_: Characterization, jobs: Sequence[JobFound]) -> Iterator[Column]:
    yield figures("restores", (job.confirmed for job in jobs), 0)
    yield figures("read", (measured(job.restore_gb, "GB") for job in jobs), str)
    yield figures("in", (measured(job.restore_s, "s") for job in jobs), str)
    yield figures("bandwidth", (measured(job.read_gb_per_s, "GB/s") for job in jobs), str)


def _clusters(record: Characterization) -> Table:
    rows = sorted(record.clusters, key=lambda each: -each.checkpoints)
    overlaps = [
        median_overlap([job for job in record.jobs if job.cluster == each.name]) for each in rows
    ]
    columns = (
        words("cluster", (one_line(each.name, _NAME) for each in rows)),
        figures("days", ((each.end_s - each.start_s) / DAY_S for each in rows), 1),
        figures("jobs", (each.jobs for each in rows), 0),
        figures("checkpoints", (each.checkpoints for each in rows), 0),
        figures("other bursts", (each.other for each in rows), 0),
        figures("overlap", overlaps, percent),
        figures("background", (figure(each.background_gb_per_s, "GB/s") for each in rows), str),
        figures("peak", (figure(each.peak_gb_per_s, "GB/s") for each in rows), str),
    )
    return Table("Clusters", columns, most=_MOST_ROWS, rows="clusters", detail=True)


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
        ("repeated", ("repeated sample",)),
        ("steps", ("step of the clock", "steps of the clock")),
        ("resets", ("reset of a counter", "resets of counters")),
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
        (sum(job.aborted for job in jobs), "checkpoints broken off, in no figure"),
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
