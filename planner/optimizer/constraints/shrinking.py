"""A job that goes on with fewer replicas where units are short, in the model.

The units of a purchase, K of them, carry the job or stand by. On average they do the work of W GPUs
of it, planned restarts taken off, and what is kept sees failures of at least so many. So with

    w <= log W,  W <= N,  W <= work(K)        work(K): the most that K units do, for any N
    log U <= w + log E at the failures of e^w GPUs

no plan is better than the model says. ``work`` is known for whole K, and its concave hull is kept
by tangents; it counts planned restarts as short as any storage makes them. What is left open, by
replicas that span units and by the time of those restarts, the search closes by counts: a purchase
is worth what it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from planner.case import System, Way
from planner.case.repair import Repair
from planner.optimizer.context import Build
from planner.optimizer.model import Linear, Log, total

MOST_TRIED = 64
"""So many numbers of replicas are tried of each number of units; fewer replicas than those are
taken to do all they could."""
TAIL = 12.0
"""States further above the load than so many of its square roots take no time."""
ROOM = 1e-9
"""The hull stands so much above the points it is of, against rounding."""
BLOCK = 500_000
"""Numbers of an array at a time."""

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """The units of a way: GPUs of each for replicas, those of a replica, the fewest that run, the
    most that are wanted, the load of one replica, and how long a restart to grow takes at least."""

    unit_gpus: int
    replica_gpus: int
    least: int
    most_replicas: int
    load_each: float
    restart_per_repair: float
    drain_per_repair: float


@lru_cache(maxsize=64)
def work(units: Units, most: int) -> tuple[float, ...]:
    """Return at least the GPUs that 0, 1, ..., ``most`` units do the work of, however many of them
    stand by, restarts to grow taken off.

    Args:
        units: what they are.
        most: the largest number of units.
    """
    counts = np.arange(1, most + 1)
    held = np.minimum(units.unit_gpus * counts // units.replica_gpus, units.most_replicas)
    load = units.load_each * max(1, int(held.max(initial=0)))
    states = min(most, math.ceil(load + TAIL * math.sqrt(load + 1.0)) + 12)
    width = min(MOST_TRIED, int(held.max(initial=0)))
    best = np.zeros(most + 1)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, most, step):
        part = slice(start, min(start + step, most))
        best[part.start + 1 : part.stop + 1] = _work(units, counts[part], held[part], width, states)
    return tuple(best.tolist())


def _work(
    units: Units, counts: Whole, held: Whole, width: int, states: int
) -> npt.NDArray[np.float64]:
    replicas = held[:, None] - np.arange(width)[None, :]
    runs = replicas >= units.least
    now = np.where(runs, replicas, 0)
    weight = np.where(runs, 1.0, 0.0)
    whole, doing, growing = weight.copy(), weight * now, np.zeros(replicas.shape)
    restart, drain = units.restart_per_repair, units.drain_per_repair
    for out in range(1, states + 1):
        before = now
        weight = weight * units.load_each * before / out
        left = units.unit_gpus * np.maximum(counts - out, 0)[:, None] // units.replica_gpus
        now = np.where(left >= units.least, np.minimum(replicas, left), 0)
        now = np.where(runs, now, 0)
        whole += weight
        doing += weight * now
        stops = weight * out * (before * drain + now * restart)
        growing += np.where((now < before) & (now > 0), stops, 0.0)
        if not out % 16:
            scale = np.maximum(whole, 1.0)
            weight, whole, doing, growing = (x / scale for x in (weight, whole, doing, growing))
    kept = (doing - growing) / np.maximum(whole, 1e-300)
    tried = np.where(runs, kept, 0.0).max(axis=1, initial=0.0)
    most: npt.NDArray[np.float64] = np.maximum(tried, np.maximum(held - width, 0))
    return most * units.replica_gpus


@dataclass(frozen=True)
class Hull:
    """The least concave function above points at 0, 1, 2, ..., the first of them 0."""

    corners: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Hull:
        """Return the hull of the values at 0, 1, 2, ..."""
        corners: list[tuple[float, float]] = []
        for at, value in enumerate(values):
            point = (float(at), value * (1.0 + ROOM))
            while len(corners) > 1 and _below(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        return cls(tuple(corners))

    def _piece(self, at: float) -> tuple[tuple[float, float], float]:
        """Return a corner of the piece at a point, and the slope of the piece."""
        low, high = 0, len(self.corners) - 1
        if high == 0:
            return self.corners[0], 0.0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.corners[middle][0] <= at else (low, middle)
        (x, y), (to, rise) = self.corners[low], self.corners[high]
        return (x, y), (rise - y) / (to - x)

    def value(self, at: float) -> float:
        """Return the hull at a point."""
        (x, y), slope = self._piece(at)
        return y + slope * (at - x)

    def slope(self, at: float) -> float:
        """Return the slope of the piece at a point."""
        return self._piece(at)[1]

    def top(self, high: float) -> float:
        """Return the most up to a point."""
        return max(y for _, y in self.corners)


def _below(
    one: tuple[float, float], middle: tuple[float, float], other: tuple[float, float]
) -> bool:
    """Say whether the middle one of three points is no corner of a concave function."""
    rise = (other[1] - one[1]) / (other[0] - one[0])
    return middle[1] <= one[1] + rise * (middle[0] - one[0])


def add_running(build: Build) -> None:
    """Add the logarithm of the GPUs that run on average, where a job goes on with fewer."""
    repair = build.case.job.repair
    if repair is None or not repair.shrinks:
        return
    low, high = build.running_range
    parts = [_add_way(build, repair, system, way)
             for system in build.case.systems for way in system.ways]  # fmt: skip
    running = build.model.var("log_running", math.log(low), math.log(high))
    build.model.link("log_running", running, total(parts), Log(), (low, high), seeds=9)
    build.log_running = running


def _add_way(build: Build, repair: Repair, system: System, way: Way) -> Linear:
    """Return the GPUs that run in a way: no more than are in use, nor than its units do."""
    model, unit, flag = build.model, way.spare_unit, build.way_used[way.id]
    most = unit.per_system * build.tops[system.id]
    at_hand = model.var(f"at_hand__{way.id}", 0.0, float(most))
    model.row(f"at_hand_{way.id}", at_hand - float(most) * flag, "<=", 0.0)
    bought = float(unit.per_system) * build.units[system.id]
    model.row(f"at_hand_of_{way.id}", at_hand - bought, "<=", 0.0)
    if repair.spares is not None:  # of trays in use the last may hold a part of a replica
        in_use = float(unit.per_system) * build.systems_of[way.id]
        if unit.per_system > 1:
            in_use = (1.0 / unit.gpus) * build.gpus_in(system, way) + flag
        row = at_hand - in_use - float(repair.spares) * flag
        model.row(f"at_hand_asked_{way.id}", row, "<=", 0.0)
    gpus_max = build.gpus_range[1]
    restart_s, drain_s = shortest_growth_s(build)
    units = Units(
        unit.holding_gpus, way.step_gpus, way.least_running, int(gpus_max // way.step_gpus),
        repair.load(way.failures_per_gpu_day, way.step_gpus),
        restart_s / repair.repair_s, drain_s / repair.repair_s,
    )  # fmt: skip
    values = work(units, most)
    hull = Hull.of(values)
    running = model.var(f"running__{way.id}", 0.0, hull.top(float(most)))
    model.row(f"running_{way.id}", running - build.gpus_in(system, way), "<=", 0.0)
    model.link(f"work_{way.id}", running, at_hand + 0, hull, (0.0, float(most)), seeds=9)
    model.table(f"work_{way.id}", running, at_hand, values)
    return running


def shortest_growth_s(build: Build) -> tuple[float, float]:
    """Return at most how long a restart with more replicas takes, and until its capture is safe,
    s."""
    job = build.case.job
    if build.mode == "local":
        assert job.levels is not None
        return job.levels.local_restart_s, 0.0
    size, (_, write), (_, read) = job.checkpoint_gb, build.write_range, build.read_range
    terms = [job.fan_out_terms(way.replica_gpus) for way in build.case.ways]
    times = min(once + each * build.gpus_range[0] for once, each in terms)
    drain_s = size / write if build.mode == "async" else 0.0
    return job.restart_s + times * size / read, drain_s
