"""A characterization as blocks: findings, jobs, clusters, the trace, calibration."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, notes_block
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
    within,
)
from planner.report.views import fleet
from planner.report.words import DAY_S, counted, duration, listed, number, percent
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
    """Return a characterization as blocks."""
    found = record.calibration
    texts = [f"{each.label} {stated(each.measured, each.unit)}" for each in
             (found.overrides if found is not None else ())]  # fmt: skip
    facts = [("Found", " ".join(_findings(record)))]
    if record.study is not None:
        facts += fleet.facts(record.study)
    trace = list(_trace(record)) if record.clusters else []
    facts += [("Trace", trace[0] if trace else ""), ("Measured", "; ".join(texts))]
    blocks: list[Block] = [Heading(_title(record)), Facts(tuple(facts)), *_jobs(record)]
    if len(record.clusters) > 1:
        blocks.append(_clusters(record))
    blocks.append(Text(tuple(trace[1:]), "Trace", points=True, detail=True))
    if record.study is not None:
        blocks += fleet.blocks(record.study)
    if found is not None:
        blocks += _calibration(found)
    study_notes = () if record.study is None else fleet.notes(record.study)
    return [*blocks, notes_block((*_notes(record), *study_notes))]


def _title(record: Characterization) -> str:
    found = counted(record.checkpoints, "checkpoint")
    where = counted(len(record.clusters), "cluster")
    return f"Storage telemetry  ({found} of {counted(len(record.jobs), 'job')} on {where})"


def _findings(record: Characterization) -> Iterator[str]:
    overlap = median_overlap(record.jobs)
    if overlap is None:
        yield "No job was found: no bursts of one size recur at an interval."
        return
    rates = [job.write_gb_per_s.value for job in record.jobs]
    limit, count = percent(USUAL_OVERLAP, 0), within(record.jobs)
    text = f"overlap {percent(overlap)}, bandwidth {figure(median(rates), 'GB/s')}"
    if len(rates) > 1:
        ends = f"{figure(min(rates), 'GB/s')} to {figure(max(rates), 'GB/s')}"
        text = f"overlap {percent(overlap)} (median of checkpoints), {count:,} of {len(rates):,} "
        text += f"jobs under {limit}; bandwidth {ends}, median {figure(median(rates), 'GB/s')}"
    yield text


# Jobs

Cell = Callable[[Characterization, JobFound], str]


def _bounded(job: JobFound, name: str, unit: str) -> str:
    found = getattr(job, name)
    return measured(found, unit) if job.resolved else most(found, unit)


_WRITING: tuple[tuple[str, Cell], ...] = (
    ("size", lambda _, job: measured(job.size_gb, "GB")),
    ("interval", lambda _, job: measured(job.interval_s, "s")),
    ("drain", lambda _, job: _bounded(job, "drain_s", "s")),
    ("write", lambda _, job: figure(job.write_gb_per_s.value, "GB/s")),
    ("overlap", lambda _, job: _bounded(job, "overlap", "share")),
)
_RUNNING: tuple[tuple[str, Cell], ...] = (
    ("parameters", lambda _, job: figure(job.parameters.value, "parameters")),
    ("from", lambda record, job: day(job.start_s, record.clock)),
    ("seen for", lambda _, job: duration(job.observed_s)),
    ("checkpoints", lambda _, job: f"{job.checkpoints:,}"),
    ("missed", lambda _, job: f"{job.missed:,}"),
    ("aborted", lambda _, job: f"{job.aborted:,}"),
    ("restarts", lambda _, job: f"{job.restarts:,}"),
    ("MTTI", lambda _, job: measured(job.mtti_s, "s")),
)
_RESTORES: tuple[tuple[str, Cell], ...] = (
    ("restores", lambda _, job: f"{job.confirmed:,}"),
    ("read", lambda _, job: measured(job.restore_gb, "GB")),
    ("in", lambda _, job: measured(job.restore_s, "s")),
    ("bandwidth", lambda _, job: measured(job.read_gb_per_s, "GB/s")),
)


def _job_table(
    record: Characterization,
    columns: Sequence[tuple[str, Cell]],
    title: str,
    jobs: Sequence[JobFound],
    *,
    detail: bool,
) -> Table:
    """Return a table of jobs, the largest checkpoints first."""
    order = sorted(jobs, key=lambda job: -job.size_gb.value)
    names = tuple(labels(record, order, _NAME))
    cells = (Column(label, tuple(of(record, job) for job in order)) for label, of in columns)
    kept = tuple(range(_FIRST_JOBS))
    return Table(title, (Column("", names, words=True, gives_way=True), *cells), most=_MOST_ROWS,
                 first=_FIRST_JOBS, kept=kept, rows="jobs", detail=detail)  # fmt: skip


def _jobs(record: Characterization) -> Iterator[Table]:
    jobs = record.jobs
    yield _job_table(record, _WRITING, "Jobs", jobs, detail=False)
    yield _job_table(record, _RUNNING, "Runs", jobs, detail=True)
    read = [job for job in jobs if job.restore_gb is not None]
    yield _job_table(record, _RESTORES, "Restores", read, detail=True)


def _clusters(record: Characterization) -> Table:
    order = sorted(record.clusters, key=lambda each: -each.checkpoints)
    overlaps = [
        median_overlap([job for job in record.jobs if job.cluster == each.name]) for each in order
    ]
    return Table(
        "Clusters",
        (
            Column("", tuple(one_line(each.name, _NAME) for each in order), words=True),
            Column("days", tuple(number((e.end_s - e.start_s) / DAY_S, 1) for e in order)),
            Column("jobs", tuple(f"{each.jobs:,}" for each in order)),
            Column("checkpoints", tuple(f"{each.checkpoints:,}" for each in order)),
            Column("other bursts", tuple(f"{each.other:,}" for each in order)),
            Column("overlap", tuple("-" if o is None else percent(o) for o in overlaps)),
            Column("background", tuple(figure(e.background_gb_per_s, "GB/s") for e in order)),
            Column("peak", tuple(figure(each.peak_gb_per_s, "GB/s") for each in order)),
        ),
        most=_MOST_ROWS,
        rows="clusters",
        detail=True,
    )


# Trace


def _trace(record: Characterization) -> Iterator[str]:
    all_of = record.clusters
    start, end = min(each.start_s for each in all_of), max(each.end_s for each in all_of)
    samples = sum(each.samples for each in all_of)
    steps = sorted({each.sample_s for each in all_of})
    every = f"{steps[0]:g} s" if len(steps) == 1 else f"{steps[0]:g} to {steps[-1]:g} s"
    utc = " UTC" if record.clock == "unix" else ""
    yield (
        f"{moment(start, record.clock)} to {moment(end, record.clock)}{utc}; "
        f"{counted(samples, 'sample')}, one every {every}, read as {_READ_AS[record.read_as]}; "
        f"{_some([one_line(name, 60) for name in record.traces])}"
    )
    windows = {each.window_s for each in all_of if _is_smoothed(each)}
    if windows:
        means = listed([duration(each) for each in sorted(filter(None, windows))])
        yield f"each sample is a mean over {means}; drains are given without it"
    flaws = [
        counted(total, *words)
        for name, words in (
            ("missing", ("missing sample",)),
            ("repeated", ("repeated sample",)),
            ("steps", ("step of the clock", "steps of the clock")),
            ("resets", ("reset of a counter", "resets of counters")),
        )
        if (total := sum(getattr(each, name) for each in all_of))
    ]
    if flaws:
        yield ", ".join(flaws)
    blind = [one_line(each.name, 40) for each in all_of if not each.reads]
    if blind:
        where = "" if len(blind) == len(all_of) else f" of {_some(blind)}"
        yield f"no reads in the trace{where}: no restores, restarts not confirmed"
    yield f"ranges hold the truth with {percent(CONFIDENCE, 0)}"


def _is_smoothed(cluster: ClusterFound) -> bool:
    return cluster.window_s is not None and cluster.window_s > _LONGER * cluster.sample_s


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else [])])


def _notes(record: Characterization) -> Iterator[str]:
    jobs = record.jobs
    names = labels(record, jobs, 40)
    short = [name for name, job in zip(names, jobs, strict=True) if not job.resolved]
    if short:
        yield f"drains shorter than two samples, upper bounds: {_some(short)}"
    for count, what in (
        (sum(job.inferred for job in jobs), "checkpoints written together with others, inferred"),
        (sum(job.missed for job in jobs), "checkpoints missed"),
        (sum(job.contested for job in jobs), "restoring reads that suit two jobs"),
        (sum(job.restarts - job.confirmed for job in jobs), "restarts without a restoring read"),
        (sum(each.other for each in record.clusters), "bursts of no job"),
        (sum(job.aborted for job in jobs), "checkpoints broken off, in no figure"),
    ):
        if count > 0:
            yield f"{count:,} {what}"
    yield from (one_line(text, _TEXT) for text in record.notes)
    for job, name in zip(jobs, names, strict=True):
        yield from (f"{name}: {one_line(text, _TEXT)}" for text in job.notes)


# Calibration


def value_of(override: Override) -> str:
    """Return the value of an override, as a problem file has it."""
    return one_line(override.setting.removeprefix(f"{override.path}="))


def _calibration(found: Calibration) -> Iterator[Block]:
    rows = found.overrides
    scales = [exact(each.measured, each.unit) for each in rows]
    gpus = "" if found.gpus is None else f", {found.gpus:,} GPUs"
    title = f"Calibration of {one_line(found.problem, 36)} by {one_line(found.job, 28)}{gpus}"
    if rows:
        pairs = list(zip(rows, scales, strict=True))
        yield Table(
            title,
            (
                Column("", tuple(one_line(each.label, 34) for each in rows), words=True,
                       gives_way=True),
                Column("now", tuple(one_line(each.now or "-", 18) for each in rows)),
                Column("measured", tuple(s.with_unit(e.measured.value) for e, s in pairs)),
                Column("low", tuple(s.text(e.measured.low) for e, s in pairs)),
                Column("high", tuple(s.text(e.measured.high) for e, s in pairs)),
                Column("source", tuple(one_line(each.source, _TEXT) for each in rows), words=True,
                       under=True),
            ),
            notes=("with -o: planner solve PROBLEM.yaml --set @NAME.overrides.yaml",),
            detail=True,
        )  # fmt: skip
    drawn = (shlex.quote(one_line(each.distribution)) for each in rows if each.distribution)
    yield Text(tuple(drawn), "Ranges, for planner sweep --mode uncertain --vary", points=True,
               detail=True)  # fmt: skip
    texts = tuple(one_line(text, _TEXT) for text in found.not_measured)
    yield Text(texts, "Not measured" if rows else title, points=True, first=3)
