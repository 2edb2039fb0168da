"""Storage telemetry: from traces to checkpoints and the jobs behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import Finding, InputError
from planner.schema.operation import CHECKPOINT_COLUMNS, Characterization, ClusterFound, JobFound
from planner.telemetry.jobs import find_breaks, job_of
from planner.telemetry.signal import Bursts, Series, Z, find_bursts, scatter, series
from planner.telemetry.tables import Numbers
from planner.telemetry.traces import Raw, ReadOptions, read_traces, refusal
from planner.telemetry.tracking import Track, find_tracks

__all__ = [
    "CheckpointColumns",
    "ClusterTrace",
    "ReadOptions",
    "characterize",
    "characterize_cluster",
]

CheckpointColumns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""

_SHORTEST = 0.1
"""Least duration of a burst behind its window, in samples."""

_SHORTER = 0.8
"""No burst lasts less than this share of the averaging window of samples."""


@dataclass(frozen=True)
class ClusterTrace:
    """One cluster: the samples in order, its result, its jobs, its checkpoints by column."""

    trace: Series
    record: ClusterFound
    jobs: tuple[JobFound, ...]
    table: CheckpointColumns


def characterize(
    paths: Sequence[Path],
    options: ReadOptions | None = None,
    seen: Callable[[ClusterTrace], None] | None = None,
) -> tuple[Characterization, CheckpointColumns]:
    """The checkpoints and jobs in traces, and the table of checkpoints.

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
    traces = []
    for raw in (raw for path in paths for raw in read_traces(path, options)):
        if any(one.name == raw.cluster for one in clusters):
            message = f"cluster '{raw.cluster}' is in two files"
            fix = "put each cluster into one file, or name clusters in a column"
            raise refusal(raw.file, message, fix)
        found = characterize_cluster(raw, options)
        clusters.append(found.record)
        jobs += found.jobs
        parts.append(found.table)
        traces.append((found.trace.dated, found.trace.read_as))
        if seen is not None:
            seen(found)
    table = {name: np.concatenate([part[name] for part in parts]) for name in CHECKPOINT_COLUMNS}
    record = Characterization(
        traces=tuple(path.name for path in paths),
        clock="unix" if all(dated for dated, _ in traces) else "zero",
        read_as=traces[0][1],
        clusters=tuple(clusters),
        jobs=tuple(jobs),
        checkpoints=sum(one.checkpoints for one in jobs),
    )
    return record, table


def characterize_cluster(raw: Raw, options: ReadOptions) -> ClusterTrace:
    """Result of one cluster's trace.

    Raises:
        InputError: there is too little of it.
    """
    trace = series(raw, options)
    writes = find_bursts(trace.write, trace.start_s, trace.width_s, trace.sample_s)
    reads = None
    if trace.read is not None:
        reads = find_bursts(trace.read, trace.start_s, trace.width_s, trace.sample_s)
    found = find_tracks(writes, trace.sample_s)
    _check_window(found, writes, trace, options.window_s)
    gaps = find_breaks(found, _holes(trace), writes, reads)
    jobs = tuple(
        job_of(f"{trace.cluster}-{number}", track, trace, writes, reads, own, options)
        for number, (track, own) in enumerate(zip(found, gaps, strict=True), start=1)
    )
    table = _table(trace, writes, found, jobs, options.window_s)
    record = ClusterFound(
        name=trace.cluster,
        start_s=float(trace.clock_s[0]),
        end_s=float(trace.clock_s[-1] + trace.width_s[-1]),
        samples=trace.samples,
        sample_s=trace.sample_s,
        window_s=options.window_s,
        missing=trace.missing,
        steps=trace.steps,
        reads=trace.read is not None,
        peak_gb_per_s=float(np.nanmax(trace.write)),
        other=int(np.sum(table["kind"] == "other")),
    )
    return ClusterTrace(trace, record, jobs, table)


def _table(
    trace: Series,
    writes: Bursts,
    found: Sequence[Track],
    jobs: Sequence[JobFound],
    window_s: float | None,
) -> CheckpointColumns:
    """A row for each checkpoint, and for each burst that is none."""
    if window_s is not None and window_s > trace.sample_s:  # as long as before a moving mean
        lasts = np.maximum(writes.span_s - window_s, _SHORTEST * trace.sample_s)
        error = np.maximum(writes.edge_error_s, trace.sample_s)
        writes = replace(writes, end_s=writes.start_s + lasts, edge_error_s=error)
    free = np.ones(len(writes), dtype=bool)
    parts = []
    for track, one in zip(found, jobs, strict=True):
        free[track.places] = False
        part, alone = writes.chosen(track.places), track.alone
        size = part.size_gb[alone]
        scattered = scatter(size) if len(size) else track.spread * track.size_gb
        rows = {
            "job": np.full(len(part), one.name, dtype=object),
            "kind": np.where(alone, "checkpoint", "inferred").astype(object),
            "start_s": track.times,
            "start_error_s": np.where(alone, part.edge_error_s, track.tolerance_s),
            "duration_s": np.where(alone, part.duration_s, one.drain_s.value),
            "duration_error_s": np.where(alone, part.edge_error_s, part.duration_s / 2),
            "size_gb": np.where(alone, part.size_gb, track.size_gb),
            "size_error_gb": np.hypot(part.size_error_gb, Z * scattered),
            "peak_gb_per_s": part.peak,
        }
        parts.append(rows)
    other = writes.chosen(free)
    parts.append(
        {
            "job": np.full(len(other), "", dtype=object),
            "kind": np.where(other.cut, "cut", "other").astype(object),
            "start_s": other.start_s,
            "start_error_s": other.edge_error_s,
            "duration_s": other.duration_s,
            "duration_error_s": other.edge_error_s,
            "size_gb": other.size_gb,
            "size_error_gb": other.size_error_gb,
            "peak_gb_per_s": other.peak,
        }
    )
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_s"], kind="stable")
    table = {name: column[order] for name, column in joined.items()}
    table["start_s"] = trace.clock(table["start_s"])
    table["mean_gb_per_s"] = table["size_gb"] / np.maximum(table["duration_s"], 1e-9)
    table["cluster"] = np.full(len(order), trace.cluster, dtype=object)
    return {name: table[name] for name in CHECKPOINT_COLUMNS}


def _check_window(
    found: Sequence[Track], writes: Bursts, trace: Series, window_s: float | None
) -> None:
    """Refuse a window that is longer than bursts."""
    for track in found if window_s is not None and window_s > trace.sample_s else ():
        own = writes.chosen(track.places[track.alone])
        lasts_s = float(np.median(own.size_gb / own.peak)) if len(own) else np.inf
        if lasts_s < _SHORTER * (window_s or 0.0):
            message = f"bursts of {lasts_s:.3g} s are shorter than the window of {window_s:g} s"
            fix = "give the averaging window of each sample, or leave it out"
            raise InputError(Finding("option", message, path="--window", fix=fix))


def _holes(trace: Series) -> tuple[Numbers, Numbers]:
    """Starts and ends of the unknown parts of a trace: long gaps, and steps of its clock."""
    hole = np.isnan(trace.write)
    stepped = np.flatnonzero(np.diff(trace.clock_s) <= 0) + 1
    start = np.concatenate((trace.start_s[hole], trace.start_s[stepped]))
    end = np.concatenate(((trace.start_s + trace.width_s)[hole], trace.start_s[stepped]))
    order = np.argsort(start, kind="stable")
    return start[order], end[order]
