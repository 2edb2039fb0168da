"""When a training job writes checkpoints, fails, and reads one back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.telemetry.flow import Drains, Floats, Flow


@dataclass(frozen=True)
class Job:
    """A job. Times count from the start of the trace; a job may begin before it and end after.

    ``drift`` is how much the rate varies from drain to drain, ``noise`` within one, both as
    shares. A failure comes every ``mtti_s`` of running on average; after one, with the
    probability ``again``, the next comes before another checkpoint.
    """

    name: str
    size_gb: float
    interval_s: float
    drain_s: float
    start_s: float
    end_s: float
    jitter_s: float = 0.0
    noise: float = 0.0
    drift: float = 0.0
    ramp: bool = False
    mtti_s: float | None = None
    restart_s: tuple[float, float] = (120.0, 1200.0)
    again: float = 0.0
    fan_out: float = 1.0
    read_gb_per_s: float = 10.0

    @property
    def gb_per_s(self) -> float:
        return self.size_gb / self.drain_s


@dataclass(frozen=True)
class Timeline:
    """What a job did: when drains began, what broke off each (infinity: nothing) and in which
    stretch of running; those stretches, failures, and restoring reads."""

    starts_s: Floats
    cuts_s: Floats
    stretch: Floats
    runs: Flow
    failures_s: Floats
    restores: Flow


def lived(job: Job, random: np.random.Generator) -> Timeline:
    """Live through a job: run, fail, restart, read, run on, each a whole interval from there."""
    starts, cuts, stretch, failures = [], [], [], []
    runs, reads = [], []
    now, streak = job.start_s, False
    while now < job.end_s:
        fails = now + _running_s(job, streak, random)
        until = min(fails, job.end_s)
        begun = now + _rhythm(job, until - now, random)
        starts.append(begun)
        cuts.append(np.full(len(begun), fails))
        stretch.append(np.full(len(begun), float(len(failures))))
        runs.append((now, until, 1.0))
        if fails >= job.end_s:
            break
        failures.append(fails)
        streak = random.random() < job.again
        reads_at = fails + random.uniform(*job.restart_s)
        rate = job.read_gb_per_s * random.uniform(0.9, 1.1)
        now = reads_at + job.fan_out * job.size_gb / rate
        if now < job.end_s:
            reads.append((reads_at, now, rate))
    return Timeline(
        np.concatenate(starts),
        np.concatenate(cuts),
        np.concatenate(stretch),
        _flow(runs),
        np.array(failures),
        _flow(reads),
    )


def _flow(rows: list[tuple[float, float, float]]) -> Flow:
    return Flow(*np.array(rows).reshape(-1, 3).T)


def _running_s(job: Job, streak: bool, random: np.random.Generator) -> float:
    if job.mtti_s is None:
        return float("inf")
    if streak:
        return float(random.uniform(0.05, 0.8) * job.interval_s)
    return float(random.exponential(job.mtti_s))


def _rhythm(job: Job, running_s: float, random: np.random.Generator) -> Floats:
    count = int(running_s / job.interval_s * 1.2) + 10
    gaps = job.interval_s + job.jitter_s * np.clip(random.standard_normal(count), -3, 3)
    begun = np.cumsum(gaps)
    return begun[begun < running_s]


def drains_of(job: Job, timeline: Timeline, random: np.random.Generator) -> Drains:
    """The writes that a job asks of storage; the rate drifts from one to the next."""
    count = len(timeline.starts_s)
    steps = random.standard_normal(count)
    drift = np.empty(count)
    level = steps[0] if count else 0.0
    for n in range(count):
        level = 0.9 * level + np.sqrt(1 - 0.9**2) * steps[n]
        drift[n] = level
    return Drains(
        start_s=timeline.starts_s,
        size_gb=np.full(count, job.size_gb),
        gb_per_s=job.gb_per_s * np.exp(job.drift * drift),
        cut_s=timeline.cuts_s,
        noise=np.full(count, job.noise),
        ramp=np.full(count, job.ramp),
    )
