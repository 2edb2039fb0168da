"""Storage telemetry: from traces to checkpoints and the jobs behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.errors import Finding, InputError
from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization, ClusterFound, JobFound
from planner.telemetry.jobs import CheckpointColumns, job_of, table_of
from planner.telemetry.restarts import find_breaks
from planner.telemetry.rhythm import Track
from planner.telemetry.signal import Bursts, Series, find_bursts, series
from planner.telemetry.tables import Numbers
from planner.telemetry.traces import Raw, ReadOptions, read_traces, refusal
from planner.telemetry.tracking import find_tracks

__all__ = ["Characterized", "ClusterTrace", "ReadOptions", "characterize", "characterize_cluster"]

_SHORTER = 0.8
"""No burst lasts less than this share of the averaging window of samples."""


@dataclass(frozen=True)
class ClusterTrace:
    """One cluster: the samples in order, its result, its jobs, its checkpoints by column."""

    trace: Series
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
    """The checkpoints and jobs in traces.

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
    return Characterized(record, table)


def characterize_cluster(raw: Raw, options: ReadOptions) -> ClusterTrace:
    """Result of one cluster's trace.

    Raises:
        InputError: there is too little of it.
    """
    trace = series(raw, options)
    writes, under = find_bursts(trace.write, trace.start_s, trace.width_s, trace.sample_s)
    reads = None
    if trace.read is not None:
        reads, _ = find_bursts(trace.read, trace.start_s, trace.width_s, trace.sample_s)
    found = find_tracks(writes, trace.sample_s)
    _check_window(found, writes, trace, options.window_s)
    gaps = find_breaks(found, _holes(trace), writes, reads)
    jobs = tuple(
        job_of(f"{trace.cluster}-{number}", track, trace, writes, reads, own, options)
        for number, (track, own) in enumerate(zip(found, gaps, strict=True), start=1)
    )
    table = table_of(trace, writes, found, jobs, options.window_s)
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
        background_gb_per_s=float(np.median(under.level)),
        peak_gb_per_s=float(np.nanmax(trace.write)),
        other=int(np.sum(table["kind"] == "other")),
    )
    return ClusterTrace(trace, record, jobs, table)


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
