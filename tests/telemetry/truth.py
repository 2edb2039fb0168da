"""Synthetic storage telemetry with known truth.

Written from the physics alone, on numpy: it shares nothing with what it is to examine. A job
writes checkpoints of one size in a rhythm, each in a drain; drains, unrelated writes and a
background add up to a rate that is constant piece by piece; a sample is the exact mean over its
time, so volumes are exact. What goes wrong with telemetry is done to the samples afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.telemetry.flow import (
    NOTHING,
    Background,
    Drains,
    Flags,
    Floats,
    Flow,
    Ints,
    freely,
    in_pieces,
    shared,
)
from tests.telemetry.sampling import Faults, Sampling, Taken, Trace, sampled
from tests.telemetry.timeline import Job, Timeline, drains_of, lived


@dataclass(frozen=True)
class Case:
    """A trace to be made. ``most_gb_per_s`` is what storage gives to all drains together; where
    it is None the rates of drains that coincide add. ``epoch_s`` is when the trace begins."""

    name: str
    seed: int
    length_s: float
    jobs: tuple[Job, ...]
    most_gb_per_s: float | None = None
    background: Background = field(default_factory=Background)
    reading: Background = field(default_factory=Background)
    sampling: Sampling = field(default_factory=Sampling)
    faults: Faults = field(default_factory=Faults)
    epoch_s: float = 1_767_225_600.0


@dataclass(frozen=True)
class Written:
    """Checkpoints, by start, on the trace's own clock.

    ``job`` is a position, ``size_gb`` what was written, ``complete`` whether that was all of it,
    ``clear`` whether every sample of it is there as it was taken.
    """

    job: Ints
    start_s: Floats
    end_s: Floats
    size_gb: Floats
    complete: Flags
    clear: Flags


@dataclass(frozen=True)
class TrueJob:
    """A job as it was. ``interval_s`` is the median from start to start where nothing failed in
    between, ``drain_s`` the median of complete drains, ``mtti_s`` time of running per failure.
    ``restarts`` are failures between its first and last complete checkpoint, ``breaks`` the gaps
    between two complete checkpoints that they fall in. Only what lies within the trace counts."""

    name: str
    start_s: float
    end_s: float
    size_gb: float
    interval_s: float
    drain_s: float
    checkpoints: int
    clear: int
    restarts: int
    breaks: int
    mtti_s: float | None

    @property
    def overlap(self) -> float:
        return self.drain_s / self.interval_s


@dataclass(frozen=True)
class Truth:
    jobs: tuple[TrueJob, ...]
    checkpoints: Written
    sample_s: float


def made(case: Case) -> tuple[Trace, Truth]:
    """Make a trace and say what is in it. The same case gives the same trace."""
    random = np.random.default_rng([case.seed, 20_260_301])
    lives = [lived(job, random) for job in case.jobs]
    job, drains = _all_drains(case, lives, random)
    owner, writes = _written(case, drains, random)
    restores = sum((life.restores for life in lives), NOTHING)
    step_s = case.sampling.sample_s
    writing = writes + case.background.flow(case.length_s, step_s, random)
    reading = restores + case.reading.flow(case.length_s, step_s, random)
    taken = sampled(
        case.sampling, case.faults, case.length_s, case.epoch_s, writing, reading, random
    )
    ends = drains.start_s.copy()
    np.maximum.at(ends, owner, writes.end_s)
    size = np.bincount(owner, writes.gb_per_s * (writes.end_s - writes.start_s), minlength=len(job))
    complete = size >= drains.size_gb * (1 - 1e-9)
    clear = taken.whole(drains.start_s, ends)
    seen = (ends > 0) & (drains.start_s < case.length_s)
    shown = Written(
        job[seen],
        taken.on_clock(drains.start_s[seen]),
        taken.on_clock(ends[seen]),
        size[seen],
        complete[seen],
        clear[seen],
    )
    inside = (drains.start_s >= 0) & (ends <= case.length_s)
    jobs = tuple(
        _true_job(
            case.jobs[n], lives[n], ends[job == n], (complete & inside)[job == n],
            clear[job == n], taken,
        )
        for n in range(len(case.jobs))
    )  # fmt: skip
    return taken.trace, Truth(jobs, shown, step_s)


def _all_drains(
    case: Case, lives: list[Timeline], random: np.random.Generator
) -> tuple[Ints, Drains]:
    """All jobs' drains in order of time, and whose they are."""
    parts = [drains_of(job, life, random) for job, life in zip(case.jobs, lives, strict=True)]
    job = np.repeat(np.arange(len(parts)), [len(part.start_s) for part in parts])
    names = list(Drains.__dataclass_fields__)
    if not parts:
        return job.astype(int), Drains(
            *(np.zeros(0, bool if n == "ramp" else float) for n in names)
        )
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    order = np.argsort(columns["start_s"], kind="stable")
    return job[order], Drains(**{name: column[order] for name, column in columns.items()})


def _written(case: Case, drains: Drains, random: np.random.Generator) -> tuple[Ints, Flow]:
    if not len(drains.start_s):
        return np.zeros(0, int), NOTHING
    pieces = in_pieces(drains, random)
    if case.most_gb_per_s is None:
        return freely(drains, pieces)
    return shared(drains, pieces, case.most_gb_per_s)


def _true_job(
    job: Job, life: Timeline, ends_s: Floats, complete: Flags, clear: Flags, taken: Taken
) -> TrueJob:
    """Return what a job's timeline says of it, from its complete checkpoints within the trace."""
    starts = life.starts_s
    assert complete.sum() >= 2, "a job needs two complete checkpoints"
    pair = (np.diff(life.stretch) == 0) & complete[1:] & complete[:-1]
    gaps = np.diff(starts)[pair]
    done = starts[complete]
    fails = life.failures_s[(life.failures_s > done[0]) & (life.failures_s < done[-1])]
    first, last = max(job.start_s, 0.0), min(job.end_s, taken.length_s)
    return TrueJob(
        name=job.name,
        start_s=float(taken.on_clock(np.array([first]))[0]),
        end_s=float(taken.on_clock(np.array([last]))[0]),
        size_gb=job.size_gb,
        interval_s=float(np.median(gaps)) if len(gaps) else job.interval_s,
        drain_s=float(np.median((ends_s - starts)[complete])),
        checkpoints=int(complete.sum()),
        clear=int((complete & clear).sum()),
        restarts=len(fails),
        breaks=len(np.unique(np.searchsorted(done, fails))),
        mtti_s=float(np.diff(life.runs.moved_gb(done[[0, -1]]))[0]) / len(fails)
        if len(fails)
        else None,
    )
