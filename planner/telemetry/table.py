"""The table of checkpoints: a row for each, and for each burst that is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.schema.telemetry import CHECKPOINT_COLUMNS, JobFound
from planner.telemetry.bursts import Bursts
from planner.telemetry.figures import Z, scatter
from planner.telemetry.raw import Places
from planner.telemetry.series import Series
from planner.telemetry.track import CUT, INFERRED, WHOLE, Track

Columns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""

_KINDS = {WHOLE: "checkpoint", INFERRED: "inferred", CUT: "cut"}


def table_of(
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
        duration = np.where(inferred, one.drain_s.value, part.duration_s)
        parts.append(
            {
                "job": np.full(len(part), one.name, dtype=object),
                "kind": np.array([_KINDS[int(kind)] for kind in track.kinds], dtype=object),
                "start_s": track.times,
                "start_error_s": np.where(inferred, track.tolerance_s, part.edge_error_s),
                "duration_s": duration,
                "duration_error_s": np.where(inferred, part.duration_s / 2, part.edge_error_s),
                "size_gb": np.where(inferred, track.size_gb, part.size_gb),
                "size_error_gb": np.hypot(part.size_error_gb, _scatter(track, writes)),
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


def _scatter(track: Track, writes: Bursts) -> float:
    """Return half of the range in which a job's sizes scatter: they are the same in truth."""
    size = writes.size_gb[track.places[track.kinds == WHOLE]]
    if not len(size):
        return Z * track.spread * track.size_gb
    return Z * scatter(size)


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
