"""How well a result agrees with the truth: jobs matched, and checkpoints one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from planner.schema.telemetry import Characterization, JobFound
from tests.telemetry.flow import Flags, Floats, Ints
from tests.telemetry.truth import TrueJob, Truth

SIZE_TARGET = 0.05
INTERVAL_TARGET = 0.02
OVERLAP_TARGET = 0.02
OVERLAP_FROM_S = 30.0
FOUND_TARGET = 0.95
FALSE_TARGET = 0.02
SAME_SIZE = 0.10
COUNTED = ("checkpoint", "inferred")


@dataclass(frozen=True)
class JobScore:
    """A true job against the found one: relative errors, and the overlap's in absolute terms.

    All is None where no found job is it. ``overlap_error`` is also None for drains too short.
    ``found`` is the share of its complete checkpoints that were found, whatever their job.
    """

    true: TrueJob
    matched: JobFound | None
    size_error: float | None
    interval_error: float | None
    overlap_error: float | None
    found: float


@dataclass(frozen=True)
class Score:
    """A result against the truth. ``false`` is a share of the checkpoints found."""

    jobs: tuple[JobScore, ...]
    jobs_true: int
    jobs_found: int
    checkpoints_true: int
    found: float
    rows: int
    false: float
    assigned: float

    @property
    def counted_right(self) -> bool:
        return self.jobs_true == self.jobs_found and all(job.matched for job in self.jobs)

    def misses(self) -> list[str]:
        """Return the targets that are missed, in words; none is a pass."""
        said = []
        if not self.counted_right:
            said.append(f"{self.jobs_found} jobs for {self.jobs_true}")
        for job in self.jobs:
            if job.matched is None:
                said.append(f"{job.true.name} not matched")
                continue
            for label, error, target in (
                ("size", job.size_error, SIZE_TARGET),
                ("interval", job.interval_error, INTERVAL_TARGET),
                ("overlap", job.overlap_error, OVERLAP_TARGET),
            ):
                if error is not None and abs(error) > target:
                    said.append(f"{job.true.name} {label} {error:+.1%}")
        if self.found < FOUND_TARGET:
            said.append(f"found {self.found:.1%}")
        if self.false >= FALSE_TARGET:
            said.append(f"false {self.false:.1%}")
        return said


def score(
    truth: Truth,
    record: Characterization,
    table: Mapping[str, Any],
    cluster: str | None = None,
) -> Score:
    """Compare; with ``cluster`` only what was found in it."""
    jobs = [job for job in record.jobs if cluster in (None, job.cluster)]
    kept = np.isin(np.asarray(table["kind"], dtype=str), COUNTED)
    if cluster is not None:
        kept &= np.asarray(table["cluster"], dtype=str) == cluster
    start, size = (np.asarray(table[name], dtype=float)[kept] for name in ("start_s", "size_gb"))
    row = paired(truth, start, size)
    written = truth.checkpoints
    wanted = written.complete & written.clear
    matches = matched(truth.jobs, jobs)
    names = np.asarray(table["job"], dtype=str)[kept]
    by_truth = np.array(["" if job is None else job.name for job in matches] or [""])
    agreed = row >= 0
    right = names[row[agreed]] == by_truth[written.job[agreed]]
    return Score(
        jobs=tuple(
            _job_score(job, match, _share(row[wanted & (written.job == n)] >= 0), truth.sample_s)
            for n, (job, match) in enumerate(zip(truth.jobs, matches, strict=True))
        ),
        jobs_true=len(truth.jobs),
        jobs_found=len(jobs),
        checkpoints_true=int(wanted.sum()),
        found=_share(row[wanted] >= 0),
        rows=len(start),
        false=1 - len(row[agreed]) / len(start) if len(start) else 0.0,
        assigned=_share(right),
    )


def _share(flags: Flags) -> float:
    return float(flags.mean()) if len(flags) else 1.0


def _job_score(true: TrueJob, found: JobFound | None, share: float, sample_s: float) -> JobScore:
    if found is None:
        return JobScore(true, None, None, None, None, share)
    long = true.drain_s >= max(OVERLAP_FROM_S, 3 * sample_s)
    return JobScore(
        true,
        found,
        found.size_gb.value / true.size_gb - 1,
        found.interval_s.value / true.interval_s - 1,
        found.overlap.value - true.overlap if long else None,
        share,
    )


def matched(true: Sequence[TrueJob], found: Sequence[JobFound]) -> list[JobFound | None]:
    """Return for each true job the found one that is nearest to it in size, interval and span of
    time, one to one, or None where none is near."""
    cost = np.array([[_apart(a, b) for b in found] for a in true]).reshape(len(true), len(found))
    near = [n for n in range(len(found)) if np.any(cost[:, n] < 1)]
    places: list[int | None] = [*near, *([None] * len(true))]
    if len(near) > 8:  # so many permutations are not worth it
        near = sorted(near, key=lambda n: float(cost[:, n].min()))[:8]
        places = [*near, *([None] * len(true))]
    best = min(
        set(permutations(places, len(true))),
        key=lambda choice: (
            sum(1.0 if p is None else min(cost[n, p], 9.0) for n, p in enumerate(choice)),
            [-1 if p is None else p for p in choice],
        ),
    )
    return [None if p is None or cost[n, p] >= 1 else found[p] for n, p in enumerate(best)]


def _apart(true: TrueJob, found: JobFound) -> float:
    """Return how far apart two jobs are; from 1 on they are not the same."""
    size = abs(np.log(max(found.size_gb.value, 1e-9) / true.size_gb)) / 0.3
    interval = abs(np.log(max(found.interval_s.value, 1e-9) / true.interval_s)) / 0.8
    both = min(true.end_s, found.end_s) - max(true.start_s, found.start_s)
    either = max(true.end_s, found.end_s) - min(true.start_s, found.start_s)
    span = 1 - max(both, 0.0) / either
    if max(size, interval, span / 0.8) >= 1:
        return 9.0
    return float(0.5 * size + 0.3 * interval + 0.2 * span)


def paired(truth: Truth, start_s: Floats, size_gb: Floats) -> Ints:
    """Return for each true write the row that is it (-1: none), nearest pairs first.

    A start may be off by two samples or half the drain, a size by 10 %. A write that was broken
    off at nearly its whole size, or that samples are missing of, may be found but need not be.
    """
    written = truth.checkpoints
    order = np.argsort(start_s, kind="stable")
    reach = np.maximum(2 * truth.sample_s, 0.5 * (written.end_s - written.start_s))
    first = np.searchsorted(start_s[order], written.start_s - reach, "left")
    last = np.searchsorted(start_s[order], written.start_s + reach, "right")
    counts = last - first
    write = np.repeat(np.arange(len(reach)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = order[np.repeat(first, counts) + within]
    whole = np.array([job.size_gb for job in truth.jobs] or [0.0])[written.job]
    eligible = written.size_gb >= (1 - SAME_SIZE) * whole
    off_size = np.abs(size_gb[rows] / whole[write] - 1) / SAME_SIZE
    off_start = np.abs(start_s[rows] - written.start_s[write]) / reach[write]
    good = eligible[write] & (off_size <= 1)
    write, rows, off = write[good], rows[good], (off_size + off_start)[good]
    row, taken = np.full(len(reach), -1), np.zeros(len(start_s), dtype=bool)
    for n in np.argsort(off, kind="stable"):
        if row[write[n]] < 0 and not taken[rows[n]]:
            row[write[n]] = rows[n]
            taken[rows[n]] = True
    return row
