"""From traces to checkpoints and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.errors import Finding, InputError
from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    Characterization,
    ClusterFound,
    JobFound,
)
from planner.telemetry import tables
from planner.telemetry.bursts import Bursts, BurstsFound, bursts, window_of
from planner.telemetry.jobs import CheckpointColumns, Sampling, job, table_of
from planner.telemetry.overlapping import Traffic, place_all, separate_overlapping
from planner.telemetry.raw import Places, Raw, ReadOptions, refusal
from planner.telemetry.restarts import Holes, broken_off, find_breaks
from planner.telemetry.series import Series, series
from planner.telemetry.tracking import WHOLE, Track, join_interleaved, tracks

_SHORTER = 0.8
"""No burst lasts less than this share of the window that samples are means over."""


@dataclass(frozen=True)
class ClusterTrace:
    """One cluster: its trace, the bursts in it, its jobs.

    Attributes:
        trace: the samples in order.
        writes: bursts of writing and their background.
        reads: bursts of reading, None where the trace has none.
        record: its result.
        jobs: its jobs.
        table: its checkpoints by column.
    """

    trace: Series
    writes: BurstsFound
    reads: BurstsFound | None
    record: ClusterFound
    jobs: tuple[JobFound, ...]
    table: CheckpointColumns


@dataclass(frozen=True)
class Characterized:
    """The record and the table of checkpoints."""

    record: Characterization
    table: CheckpointColumns


def characterize(
    paths: Sequence[Path],
    options: ReadOptions | None = None,
    seen: Callable[[ClusterTrace], None] | None = None,
) -> Characterized:
    """Return the checkpoints and jobs in traces.

    Args:
        paths: CSV, Excel, JSON or Parquet files; several clusters in one file by a column,
            or a file each.
        options: how to read them.
        seen: called with each cluster when it is done, while its samples are at hand.

    Raises:
        InputError: a file is wrong, or holds no trace.
    """
    options = options or ReadOptions()
    clusters: list[ClusterFound] = []
    jobs: list[JobFound] = []
    parts: list[CheckpointColumns] = []
    dated: set[bool] = set()
    kinds = []
    for raw in _raws(paths, options):
        if any(one.name == raw.cluster for one in clusters):
            message = f"cluster '{raw.cluster}' is in two files"
            fix = "put each cluster into one file, or name clusters in a column"
            raise refusal(raw.file, message, fix)
        found = cluster(raw, options)
        clusters.append(found.record)
        jobs += found.jobs
        parts.append(found.table)
        dated.add(found.trace.dated)
        kinds.append(found.trace.read_as)
        if seen is not None:
            seen(found)
    table = {name: np.concatenate([part[name] for part in parts]) for name in CHECKPOINT_COLUMNS}
    record = Characterization(
        traces=tuple(path.name for path in paths),
        clock="unix" if dated == {True} else "zero",
        read_as=kinds[0],
        clusters=tuple(clusters),
        jobs=tuple(jobs),
        bursts=sum(one.bursts for one in clusters),
        checkpoints=sum(one.checkpoints for one in clusters),
    )
    return Characterized(record, table)


def _raws(paths: Sequence[Path], options: ReadOptions) -> Iterator[Raw]:
    for path in paths:
        yield from tables.read_traces(path, options)


def cluster(raw: Raw, options: ReadOptions) -> ClusterTrace:
    """Result of one cluster's trace.

    Raises:
        InputError: there is too little of it.
    """
    trace = series(raw, options)
    writes = bursts(trace.write, trace.start_s, trace.width_s, trace.sample_s)
    reads = None
    if trace.read is not None:
        reads = bursts(trace.read, trace.start_s, trace.width_s, trace.sample_s)
    found = _tracks(writes, trace)
    seen = None if reads is None else reads.bursts
    gaps = find_breaks(found, _holes(trace), writes.bursts, seen, float(trace.start_s[-1]))
    ended = _broken_off(found, writes.bursts)
    sampling = _sampling(found, writes, trace, options.window_s)
    jobs = tuple(
        job(
            f"{trace.cluster}-{number}",
            track,
            trace,
            writes.bursts,
            seen,
            gaps[number - 1],
            sampling,
            options.bytes_per_parameter,
            aborted=len(ended[number - 1]),
        )
        for number, track in enumerate(found, start=1)
    )
    table = table_of(trace, sampling.sharpened(writes.bursts), found, ended, jobs)
    return ClusterTrace(
        trace, writes, reads, _record(trace, sampling, writes, jobs, table), jobs, table
    )


def _tracks(writes: BurstsFound, trace: Series) -> list[Track]:
    """Return the jobs in bursts of writing."""
    seen = writes.bursts
    alone = sorted(tracks(seen, trace.sample_s), key=lambda one: (one.start_s, one.size_gb))
    found = [
        track for track in separate_overlapping(alone, seen, trace.sample_s) if track.is_steady()
    ]
    excess = np.nan_to_num(trace.write - writes.background.level)
    return place_all(join_interleaved(found), seen, Traffic(excess, trace.start_s, trace.width_s))


def _sampling(
    found: Sequence[Track], writes: BurstsFound, trace: Series, given_s: float | None
) -> Sampling:
    """Sampling of a trace.

    Raises:
        InputError: bursts are shorter than the window that samples are said to be means over.
    """
    if given_s is None:
        return Sampling(trace.sample_s, window_of(trace.write, writes, trace.sample_s))
    for track in found:
        own = writes.bursts.chosen(track.places[track.kinds == WHOLE])
        lasts_s = float(np.median(own.size_gb / own.peak)) if len(own) else np.inf
        if lasts_s < _SHORTER * given_s and given_s > trace.sample_s:
            message = f"bursts of {lasts_s:.3g} s are shorter than the window of {given_s:g} s"
            fix = "say over which time each sample is a mean, or leave it out"
            raise InputError(Finding("option", message, path="--window", fix=fix))
    return Sampling(trace.sample_s, given_s, given=True)


def _holes(trace: Series) -> Holes:
    """Unknown parts of a trace: long gaps, and steps of its clock."""
    hole = np.isnan(trace.write)
    stepped = np.flatnonzero(np.diff(trace.clock_s) <= 0) + 1
    start = np.concatenate((trace.start_s[hole], trace.start_s[stepped]))
    end = np.concatenate(((trace.start_s + trace.width_s)[hole], trace.start_s[stepped]))
    order = np.argsort(start, kind="stable")
    return Holes(start[order], end[order])


def _broken_off(found: Sequence[Track], writes: Bursts) -> list[Places]:
    """Return the bursts that each job did not finish."""
    free = np.ones(len(writes), dtype=bool)
    for track in found:
        free[track.places] = False
    result = []
    for track in found:
        result.append(broken_off(track, writes, free))
        free[result[-1]] = False
    return result


def _record(
    trace: Series,
    sampling: Sampling,
    writes: BurstsFound,
    jobs: Sequence[JobFound],
    table: CheckpointColumns,
) -> ClusterFound:
    kind = table["kind"]
    return ClusterFound(
        name=trace.cluster,
        start_s=float(trace.clock_s[0]),
        end_s=float(trace.clock_s[-1] + trace.width_s[-1]),
        samples=trace.samples,
        sample_s=trace.sample_s,
        window_s=sampling.window_s,
        missing=trace.missing,
        steps=trace.steps,
        resets=trace.resets,
        repeated=trace.repeated,
        reads=trace.read is not None,
        background_gb_per_s=float(np.median(writes.background.level)),
        noise_gb_per_s=float(np.median(writes.background.noise)),
        peak_gb_per_s=float(np.nanmax(trace.write)),
        peak_read_gb_per_s=None if trace.read is None else float(np.nanmax(trace.read)),
        bursts=len(writes.bursts),
        checkpoints=sum(one.checkpoints for one in jobs),
        other=int(np.sum(kind == "other")),
        jobs=len(jobs),
    )
