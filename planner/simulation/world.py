"""What is simulated, in plain numbers, and what strikes it from outside, whatever the jobs do.

Jobs and when they fail, the appliances they share, planned stops and outages. Times from one
failure to the next are independent of one another. All disturbances are drawn before a run, so
that two runs under the same ones can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.simulation.operation import (
    Array,
    FailureClass,
    Failures,
    LocalCopies,
    Marks,
    RepairUnits,
    draw_marks,
)


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
        classes: kinds of failures; without any, all need the shared storage and take nothing out.
        units: those that are repaired, and the spares for them; None where nothing is ever out.
        local: checkpoints kept close to the GPUs, None where there are none. The checkpoint on the
            shared storage is then every so many-th one; such a job is asynchronous.
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
    classes: tuple[FailureClass, ...] = ()
    units: RepairUnits | None = None
    local: LocalCopies | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            ValueError: units go out that are not given, or a local copy takes too long.
        """
        if self.units is None and any(each.out for each in self.classes):
            raise ValueError("failures take units out, and there are no units")
        if self.local is not None and self.local.settle_s > self.compute_s:
            raise ValueError("a local copy is not safe when the next capture is due")

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

    @property
    def warm_s(self) -> float:
        """How long a run goes on before it counts, s: until as many units are out as usual, which
        takes the longer the more single repairs differ."""
        repairs = (each.repair for job in self.jobs for each in job.classes if each.repair)
        left_s = (law.mean_s * max(1.0, (1.0 + law.variation**2) / 2.0) for law in repairs)
        return _WARM * max(left_s, default=0.0)


_WARM = 5.0
"""Mean times that a repair under way still takes, before a run counts."""
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
        marks: what each failure of each job does; None for a job without kinds of failures.
    """

    failures: tuple[Array, ...]
    planned: Array
    changes: Array
    write_gb_per_s: Array
    read_gb_per_s: Array
    down: Array
    marks: tuple[Marks | None, ...] = ()

    @property
    def lanes(self) -> int:
        """How many runs these are for."""
        return len(self.changes)


def draw(world: World, length_s: float, seed: int, lanes: int = 1, block: int = 0) -> Disturbances:
    """Return the disturbances of some runs.

    Args:
        length_s: how long each run is.
        seed: of all draws.
        lanes: how many runs.
        block: which runs of all those with the same seed.
    """

    def stream(*key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, *key)))

    failures = tuple(
        failure_times(job.failures, stream(number), length_s, lanes)
        for number, job in enumerate(world.jobs, start=1)
    )
    marks = tuple(
        job_marks(job, stream(number, 1), times)
        for number, (job, times) in enumerate(zip(world.jobs, failures, strict=True), start=1)
    )
    planned = planned_times(world.planned, length_s)
    return Disturbances(failures, planned, *_storage(world, stream(0), length_s, lanes), marks)


def job_marks(job: JobRun, draws: np.random.Generator, times: Array) -> Marks | None:
    """Return what each of a job's failures does, by lane; None for a job without kinds of them."""
    if not job.classes:
        return None
    racks = 1 if job.units is None else job.units.racks
    return draw_marks(job.classes, racks, draws, (len(times), times.shape[1]))


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
    return cut_to_length(times, length_s)


def planned_times(planned: Planned | None, length_s: float) -> Array:
    """Return when planned stops are due, and inf at the end."""
    if planned is None:
        return np.array([math.inf])
    due: Array = planned.every_s * np.arange(1.0, int(length_s / planned.every_s) + 1.0)
    return np.append(due[due < length_s], math.inf)


def cut_to_length(times: Array, length_s: float) -> Array:
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
    kept = cut_to_length(np.take_along_axis(flat, order, 1), length_s)
    width = kept.shape[1]
    first = np.pad(order, ((0, 0), (0, 1)))[:, :width]
    there = np.isfinite(kept)
    deltas = np.stack(
        [np.where(there & (kind_of[first] == kind), step[first], 0) for kind in range(len(counts))]
    )
    return kept, deltas
