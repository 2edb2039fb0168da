"""Checkpoints of jobs as points: which rows are whose, how each job looks, how many are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.outputs.charts.model import Shape, Tone
from planner.outputs.comparison_words import counted
from planner.outputs.telemetry_words import figure, moment
from planner.schema.telemetry import Characterization, JobFound

Table = Mapping[str, NDArray[Any]]
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


def whose(table: Table, jobs: Sequence[JobFound]) -> NDArray[np.int64]:
    """Return for each row the place of its job among these, -1 where it is none of theirs."""
    places = {(job.cluster, job.name): place for place, job in enumerate(jobs)}
    keys = zip(table["cluster"].tolist(), table["job"].tolist(), strict=True)
    count = len(table["job"])
    return np.fromiter((places.get(key, -1) for key in keys), np.int64, count)


def of_kind(table: Table, kinds: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows are of these kinds."""
    return np.isin(np.asarray(table["kind"]).astype(str), kinds)


def thinned(rows: Places, share: float) -> Places:
    """Return a share of rows, one at least, evenly spread over their order."""
    count = max(1, int(len(rows) * share))
    if count >= len(rows):
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]


def cut(record: Characterization) -> str:
    """Return that not all jobs are drawn, nothing where they are."""
    count = len(record.jobs)
    if count <= MOST_JOBS:
        return ""
    return f"The {MOST_JOBS} with the largest checkpoints of {counted(count, 'job')}."


def hovers(record: Characterization, table: Table, rows: Places, name: str) -> tuple[str, ...]:
    """Return what is known of each checkpoint."""
    starts, sizes, spans = (table[of][rows].tolist() for of in ("start_s", "size_gb", "duration_s"))
    return tuple(
        f"{name}\n{moment(start, record.clock)}\n{figure(size, 'GB')} in {figure(span, 's')}"
        for start, size, span in zip(starts, sizes, spans, strict=True)
    )
