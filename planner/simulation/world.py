"""What is simulated, in plain numbers, and what strikes it from outside, whatever the jobs do.

Jobs and when they fail, the appliances they share, planned stops and outages. Times from one
failure to the next are independent of one another. All disturbances are drawn before a run, so
that two runs under the same ones can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.schema.plan import JobPlan, Plan

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exponential:
    """Failures without memory."""

    mean_s: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.exponential(self.mean_s, shape)

    def scaled(self, mean_s: float) -> Exponential:
        """Return the same kind of failures with another mean, s."""
        return Exponential(mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return 1.0


@dataclass(frozen=True)
class Weibull:
    """Failures that come in bunches (``shape`` below 1) or with wear (above 1)."""

    mean_s: float
    shape: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
        return scale * draw.weibull(self.shape, shape)

    def scaled(self, mean_s: float) -> Weibull:
        """Return the same kind of failures with another mean, s."""
        return Weibull(mean_s, self.shape)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        first, second = (math.gamma(1.0 + power / self.shape) for power in (1.0, 2.0))
        return math.sqrt(max(0.0, second / first**2 - 1.0))


@dataclass(frozen=True)
class Empirical:
    """Failures as far apart as measured ones, drawn with replacement."""

    measured_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        """Mean time between interruptions, s."""
        return math.fsum(self.measured_s) / len(self.measured_s)

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.choice(np.array(self.measured_s), shape)

    def scaled(self, mean_s: float) -> Empirical:
        """Return the same failures stretched to another mean, s."""
        factor = mean_s / self.mean_s
        return Empirical(tuple(gap * factor for gap in self.measured_s))

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        mean = self.mean_s
        squares = math.fsum((gap - mean) ** 2 for gap in self.measured_s)
        return math.sqrt(squares / len(self.measured_s)) / mean


Failures: TypeAlias = Exponential | Weibull | Empirical


@dataclass(frozen=True)
class JobRun:
    """A job.

    Attributes:
        name: what it is called.
        interval_s: start of one checkpoint to the start of the next.
        stall_s: seconds the GPUs stand still for one; of a synchronous checkpoint, what it takes to
            write with every appliance up and no other job.
        checkpoint_gb: what a checkpoint writes.
        restore_gb: what a restore reads.
        restart_s: from a failure until the restore begins.
        failures: when it is interrupted.
        drain_slowdown: share of computing speed lost while a checkpoint drains.
        sync: whether the GPUs stand still until a checkpoint is written.
        client_write_gb_per_s: what its GPU systems can write at most.
        client_read_gb_per_s: what they can read at most.
    """

    name: str
    interval_s: float
    stall_s: float
    checkpoint_gb: float
    restore_gb: float
    restart_s: float
    failures: Failures
    drain_slowdown: float = 0.0
    sync: bool = False
    client_write_gb_per_s: float = math.inf
    client_read_gb_per_s: float = math.inf

    @property
    def compute_s(self) -> float:
        """From the end of a capture until the next one is due."""
        return self.interval_s - self.stall_s


@dataclass(frozen=True)
class Appliances:
    """Appliances of one kind, and what each of them delivers."""

    count: int
    write_gb_per_s: float
    read_gb_per_s: float


@dataclass(frozen=True)
class Planned:
    """Planned stops of all jobs: every so many s, so many s long."""

    every_s: float
    lasting_s: float


@dataclass(frozen=True)
class Outages:
    """How long one appliance runs until it fails, and how long it is down, s on average."""

    between_s: float
    repair_s: float


@dataclass(frozen=True)
class World:
    """Everything that is simulated together."""

    jobs: tuple[JobRun, ...]
    appliances: tuple[Appliances, ...]
    planned: Planned | None = None
    outages: Outages | None = None

    @property
    def write_gb_per_s(self) -> float:
        """What all appliances together write."""
        return math.fsum(kind.count * kind.write_gb_per_s for kind in self.appliances)

    @property
    def read_gb_per_s(self) -> float:
        """What all appliances together read."""
        return math.fsum(kind.count * kind.read_gb_per_s for kind in self.appliances)


def world_of(
    plan: Plan,
    *,
    beside: Sequence[JobRun] = (),
    failures: Failures | None = None,
    interval_s: float | None = None,
    planned: Planned | None = None,
    outages: Outages | None = None,
) -> World:
    """Return what is to be simulated of a plan that has a job.

    Args:
        plan: the plan; its storage is shared by all jobs.
        beside: further jobs on the same storage.
        failures: when its job fails, by default without memory at the plan's mean.
        interval_s: another interval between checkpoints than the plan's.
        planned: planned stops, which all jobs make together.
        outages: how appliances fail.
    """
    stores = appliances(plan)
    job = job_run(plan.jobs[0], stores, failures=failures, interval_s=interval_s)
    return World((job, *beside), stores, planned, outages)


def appliances(plan: Plan) -> tuple[Appliances, ...]:
    """Return a plan's appliances, each with its share of what its kind delivers."""
    site = plan.site
    return tuple(
        Appliances(
            line.working,
            site.delivered_fraction_write * line.write_gb_per_s / line.working,
            site.delivered_fraction_read * line.read_gb_per_s / line.working,
        )
        for line in plan.lines
        if line.section == "Storage"
        and line.working
        and (line.write_gb_per_s or line.read_gb_per_s)
    )


def job_run(
    job: JobPlan,
    stores: Sequence[Appliances],
    *,
    failures: Failures | None = None,
    interval_s: float | None = None,
) -> JobRun:
    """Return a plan's job as it runs on some appliances.

    Args:
        job: the job.
        stores: what it writes to and reads from.
        failures: when it fails, by default without memory at its mean.
        interval_s: another interval than its own.
    """
    sync = job.mode == "sync"
    alone = min(World((), tuple(stores)).write_gb_per_s, job.client_write_limit_gb_per_s)
    return JobRun(
        name=job.name,
        interval_s=job.interval_s if interval_s is None else interval_s,
        stall_s=job.checkpoint_gb / alone if sync else job.stall_s,
        checkpoint_gb=job.checkpoint_gb,
        restore_gb=job.fan_out * job.checkpoint_gb,
        restart_s=job.restart_s,
        failures=failures or Exponential(job.mtti_s),
        drain_slowdown=0.0 if sync else job.drain_slowdown,
        sync=sync,
        client_write_gb_per_s=job.client_write_limit_gb_per_s,
        client_read_gb_per_s=job.client_read_limit_gb_per_s,
    )


_SPARE = 6.0
"""Standard deviations of room when guessing how many times to draw."""


@dataclass(frozen=True)
class Disturbances:
    """The disturbances of several runs (lanes), in order of time, s; inf where there is no more.

    Attributes:
        failures: of each job, by lane.
        planned: when planned stops are due, the same in every lane.
        changes: when an appliance fails or is repaired, by lane.
        write_gb_per_s: what appliances write before the first change and after each, by lane.
        read_gb_per_s: what they read.
        down: how many of them are down.
    """

    failures: tuple[Array, ...]
    planned: Array
    changes: Array
    write_gb_per_s: Array
    read_gb_per_s: Array
    down: Array

    @property
    def lanes(self) -> int:
        """How many runs these are for."""
        return len(self.changes)


def draw(world: World, length_s: float, seed: int, lanes: int = 1, block: int = 0) -> Disturbances:
    """Return the disturbances of some runs.

    Args:
        world: what is simulated.
        length_s: how long each run is.
        seed: of all draws.
        lanes: how many runs.
        block: which runs of all those with the same seed.
    """

    def stream(number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, number)))

    failures = tuple(
        failure_times(job.failures, stream(number), length_s, lanes)
        for number, job in enumerate(world.jobs, start=1)
    )
    planned = planned_times(world.planned, length_s)
    return Disturbances(failures, planned, *_storage(world, stream(0), length_s, lanes))


def failure_times(
    failures: Failures, draws: np.random.Generator, length_s: float, lanes: int
) -> Array:
    """Return when a job fails in each lane, up to the length, and inf after it."""
    times = np.cumsum(
        failures.gaps(draws, (lanes, _enough(length_s / failures.mean_s, failures.variation))), 1
    )
    while times[:, -1].min() < length_s:
        more = failures.gaps(draws, (lanes, max(8, times.shape[1] // 4)))
        times = np.hstack([times, times[:, -1:] + np.cumsum(more, 1)])
    return cut(times, length_s)


def planned_times(planned: Planned | None, length_s: float) -> Array:
    """Return when planned stops are due, and inf at the end."""
    if planned is None:
        return np.array([math.inf])
    due: Array = planned.every_s * np.arange(1.0, int(length_s / planned.every_s) + 1.0)
    return np.append(due[due < length_s], math.inf)


def cut(times: Array, length_s: float) -> Array:
    """Return times up to a length, with one inf at least at the end of each lane."""
    most = int((times < length_s).sum(1).max(initial=0))
    kept = np.where(times[:, :most] < length_s, times[:, :most], math.inf)
    return np.hstack([kept, np.full((len(times), 1), math.inf)])


def _enough(count: float, variation: float) -> int:
    return math.ceil(count + _SPARE * variation * math.sqrt(count) + 8.0)


def _storage(
    world: World, draws: np.random.Generator, length_s: float, lanes: int
) -> tuple[Array, Array, Array, Array]:
    """Return when bandwidth changes, and bandwidth for writing and reading and units down."""
    kinds = world.appliances
    counts = np.array([kind.count for kind in kinds])
    times, deltas = _changes(world.outages, counts, draws, length_s, lanes)
    up = counts[:, None, None] + np.pad(np.cumsum(deltas, 2), ((0, 0), (0, 0), (1, 0)))
    each = np.array([[kind.write_gb_per_s, kind.read_gb_per_s] for kind in kinds]).T
    write, read = (np.einsum("k,kln->ln", rate, up.astype(np.float64)) for rate in each)
    return times, write, read, (counts.sum() - up.sum(0)).astype(np.float64)


def _changes(
    outages: Outages | None,
    counts: np.ndarray[tuple[int], np.dtype[np.int_]],
    draws: np.random.Generator,
    length_s: float,
    lanes: int,
) -> tuple[Array, np.ndarray[tuple[int, int, int], np.dtype[np.int_]]]:
    """Return the times of changes by lane, and what each does to the units up, by kind."""
    if outages is None:
        return np.full((lanes, 1), math.inf), np.zeros((len(counts), lanes, 1), np.int_)
    units = int(counts.sum())
    means = (outages.between_s, outages.repair_s)
    times = np.zeros((lanes, units, 0))
    while times.shape[2] == 0 or times[:, :, -1].min() < length_s:
        pairs = max(4, _enough(length_s / sum(means), 1.0) // 2)
        spans = draws.exponential(1.0, (lanes, units, pairs, 2)) * means
        start = times[:, :, -1:] if times.shape[2] else np.zeros((lanes, units, 1))
        more = start + np.cumsum(spans.reshape(lanes, units, 2 * pairs), 2)
        times = np.concatenate([times, more], 2)
    kind_of = np.repeat(np.repeat(np.arange(len(counts)), counts), times.shape[2])
    step = np.tile([-1, 1], units * times.shape[2] // 2)
    flat = times.reshape(lanes, -1)
    order = np.argsort(flat, 1, kind="stable")
    kept = cut(np.take_along_axis(flat, order, 1), length_s)
    width = kept.shape[1]
    first = np.pad(order, ((0, 0), (0, 1)))[:, :width]
    there = np.isfinite(kept)
    deltas = np.stack(
        [np.where(there & (kind_of[first] == kind), step[first], 0) for kind in range(len(counts))]
    )
    return kept, deltas
