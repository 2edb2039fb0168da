"""From traces to checkpoints and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import Finding, InputError
from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization, ClusterFound, JobFound
from planner.telemetry import hdf5, tables
from planner.telemetry.bursts import Bursts, Found, bursts
from planner.telemetry.jobs import job
from planner.telemetry.options import ReadOptions
from planner.telemetry.placing import Traffic, placed
from planner.telemetry.raw import Raw
from planner.telemetry.restarts import Holes, broken_off
from planner.telemetry.rhythm import Places
from planner.telemetry.series import Series, series
from planner.telemetry.together import shared
from planner.telemetry.track import CUT, INFERRED, WHOLE, Track
from planner.telemetry.tracking import merged_away, tracks

Columns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""

_KINDS = {WHOLE: "checkpoint", INFERRED: "inferred", CUT: "cut"}


@dataclass(frozen=True)
class Cluster:
    """One cluster: its trace, the bursts in it, its jobs.

    Attributes:
        trace: the samples in order.
        writes: bursts of writing and their background.
        reads: bursts of reading, None where the trace has none.
        record: what is said of it.
        jobs: its jobs.
        table: its checkpoints by column.
    """

    trace: Series
    writes: Found
    reads: Found | None
    record: ClusterFound
    jobs: tuple[JobFound, ...]
    table: Columns


@dataclass(frozen=True)
class Characterized:
    """The record and the table of checkpoints."""

    record: Characterization
    table: Columns


def characterize(
    paths: Sequence[Path],
    options: ReadOptions | None = None,
    seen: Callable[[Cluster], None] | None = None,
) -> Characterized:
    """Return the checkpoints and jobs in traces.

    Args:
        paths: CSV, Parquet or HDF5 files; several clusters in one file by a column, or a file each.
        options: how to read them.
        seen: called with each cluster when it is done, while its samples are at hand.

    Raises:
        InputError: a file is wrong, or holds no trace.
    """
    options = options or ReadOptions()
    clusters: list[ClusterFound] = []
    jobs: list[JobFound] = []
    parts: list[Columns] = []
    dated: set[bool] = set()
    kinds = []
    for raw in _raws(paths, options):
        if any(one.name == raw.cluster for one in clusters):
            message = f"cluster '{raw.cluster}' is in two files"
            fix = "put each cluster into one file, or name clusters in a column"
            raise InputError(Finding("trace", message, raw.file, fix=fix))
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
        reader = hdf5.read if path.suffix.lower() in hdf5.HDF5 else tables.read
        yield from reader(path, options)


def cluster(raw: Raw, options: ReadOptions) -> Cluster:
    """Return what the trace of one cluster shows.

    Raises:
        InputError: there is too little of it.
    """
    trace = series(raw, options)
    writes = bursts(trace.write, trace.start_s, trace.width_s, trace.sample_s)
    reads = None
    if trace.read is not None:
        reads = bursts(trace.read, trace.start_s, trace.width_s, trace.sample_s)
    found = _tracks(writes, trace)
    holes = _holes(trace)
    ended = _broken_off(found, writes.bursts)
    jobs = tuple(
        job(
            f"{trace.cluster}-{number}",
            track,
            trace,
            writes.bursts,
            None if reads is None else reads.bursts,
            holes,
            options.bytes_per_parameter,
        ).model_copy(update={"aborted": len(ended[number - 1])})
        for number, track in enumerate(found, start=1)
    )
    table = _table(trace, writes.bursts, found, ended, jobs)
    return Cluster(trace, writes, reads, _record(trace, writes, jobs, table), jobs, table)


def _tracks(writes: Found, trace: Series) -> list[Track]:
    """Return the jobs in bursts of writing."""
    seen = writes.bursts
    alone = merged_away(tracks(seen, trace.sample_s))
    found = shared(alone, seen, trace.sample_s)
    if len(merged_away(found)) < len(found):
        found = shared(merged_away(alone), seen, trace.sample_s)
    found = [track for track in found if track.is_steady()]
    excess = np.nan_to_num(trace.write - writes.background.level)
    return placed(found, seen, Traffic(excess, trace.start_s, trace.width_s))


def _holes(trace: Series) -> Holes:
    """Return what is not known of a trace: long gaps, and steps of its clock."""
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


def _table(
    trace: Series,
    writes: Bursts,
    found: Sequence[Track],
    ended: Sequence[Places],
    jobs: Sequence[JobFound],
) -> Columns:
    """Return a row for each checkpoint, and for each burst that is none."""
    free = np.ones(len(writes), dtype=bool)
    parts = []
    for track, unfinished, one in zip(found, ended, jobs, strict=True):
        free[track.places] = False
        free[unfinished] = False
        parts.append(_as_seen(writes.chosen(unfinished), one.name, "aborted"))
        inferred = track.kinds == INFERRED
        part = writes.chosen(track.places)
        duration = np.where(inferred, track.drain_s, part.duration_s)
        parts.append(
            {
                "job": np.full(len(part), one.name, dtype=object),
                "kind": np.array([_KINDS[int(kind)] for kind in track.kinds], dtype=object),
                "start_s": track.times,
                "start_error_s": np.where(inferred, track.tolerance_s, part.edge_error_s),
                "duration_s": duration,
                "duration_error_s": np.where(inferred, part.duration_s / 2, part.edge_error_s),
                "size_gb": np.where(inferred, track.size_gb, part.size_gb),
                "size_error_gb": np.where(
                    inferred, 1.645 * track.spread * track.size_gb, part.size_error_gb
                ),
                "peak_gb_per_s": part.peak,
            }
        )
    parts.append(_as_seen(writes.chosen(free), "", "other"))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_s"], kind="stable")
    table = {name: column[order] for name, column in joined.items()}
    table["start_s"] = trace.clock(table["start_s"])
    table["mean_gb_per_s"] = table["size_gb"] / np.maximum(table["duration_s"], 1e-9)
    table["cluster"] = np.full(len(order), trace.cluster, dtype=object)
    return {name: table[name] for name in CHECKPOINT_COLUMNS}


def _as_seen(bursts: Bursts, job: str, kind: str) -> dict[str, Any]:
    """Return the rows of bursts as they were measured."""
    return {
        "job": np.full(len(bursts), job, dtype=object),
        "kind": np.where(bursts.cut, "cut", kind).astype(object),
        "start_s": bursts.start_s,
        "start_error_s": bursts.edge_error_s,
        "duration_s": bursts.duration_s,
        "duration_error_s": bursts.edge_error_s,
        "size_gb": bursts.size_gb,
        "size_error_gb": bursts.size_error_gb,
        "peak_gb_per_s": bursts.peak,
    }


def _record(trace: Series, writes: Found, jobs: Sequence[JobFound], table: Columns) -> ClusterFound:
    kind = table["kind"]
    return ClusterFound(
        name=trace.cluster,
        start_s=float(trace.clock_s[0]),
        end_s=float(trace.clock_s[-1] + trace.width_s[-1]),
        samples=trace.samples,
        sample_s=trace.sample_s,
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
