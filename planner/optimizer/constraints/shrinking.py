"""A job that goes on with fewer replicas where units are short, in the model.

The units of a purchase, K of them, carry the job or stand by. With d replicas in use they do on
average the work of w(K, d) GPUs, planned restarts taken off that are as short as any storage makes
them; what is kept sees the failures of v(K, d) GPUs; a second more of each restart costs c(K, d).
All of it is known of whole numbers. Over a range of both the model holds, of the GPUs W that run
on average, of those V that fail, and of the seconds t that restarts take more,

    W + min c t <= a line over K above all w,    log V >= log W + min log(v/w),  log V >= min log v
    log U <= log W + log E at the failures of V GPUs

so no plan is better than the model says, and where one K and one d are left the model is exact: the
search divides both. The concave hull of the most work of K units holds everywhere besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from planner.case import System, Way
from planner.case.bandwidth import local_drain_s
from planner.case.repair import Repair
from planner.optimizer.context import LEAST_RUNNING, Build
from planner.optimizer.model import Change, Ends, Linear, Log, NegativeExp, Row, Variable, total

MOST_TRIED = 64
"""So many numbers of replicas are tried of each number of units; fewer replicas than those are
taken to do all they could."""
TAIL = 12.0
"""States further above the load than so many of its square roots take no time."""
ROOM = 1e-9
"""Bounds stand so much above the points they are of, against rounding."""
SEEN = 1e-7
"""A smaller share too much is left to the solver's tolerance."""
NEAR_WHOLE = 1e-5
"""Solvers' whole numbers are so near to one."""
BLOCK = 500_000
"""Numbers of an array at a time."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The units of a way: GPUs of each for replicas, those of a replica, the fewest that run, the
    most that are wanted, the load of one replica, and how long a restart to grow takes at least,
    and until its capture is safe: for any number of GPUs, and spread over those in use. Times are
    those of so many repairs."""

    unit_gpus: int
    replica_gpus: int
    least: int
    most_replicas: int
    load_each: float
    restart_per_repair: float
    drain_per_repair: float
    drain_of_one_gpu: float = 0.0

    def held(self, count: int) -> int:
        """Return how many replicas so many units hold, of those that are wanted."""
        return min(self.unit_gpus * count // self.replica_gpus, self.most_replicas)

    def drains(self, replicas: Numbers) -> Numbers:
        """Return how long captures of so many replicas take at least to be safe."""
        spread = self.drain_of_one_gpu / self.replica_gpus / np.maximum(replicas, 1.0)
        return np.asarray(self.drain_per_repair + spread)


@dataclass(frozen=True)
class Cells:
    """What units do over a range of their number and of replicas in use.

    ``work`` is the most that 0, 1, ... units beyond the first of the range do, in GPUs; ``failing``
    the least logarithm of failing GPUs, ``more`` that of those over the ones that do the work.
    ``restart`` and ``drain`` are the least work that is lost where restarts, or the drains before
    them, take a time of repair longer.
    """

    work: tuple[float, ...]
    failing: float = -math.inf
    more: float = 0.0
    restart: float = 0.0
    drain: float = 0.0


@lru_cache(maxsize=512)
def cells(units: Units, counts: tuple[int, int], replicas: tuple[int, int]) -> Cells:
    """Return what units do over a range.

    Args:
        units: what they are.
        counts: the least and the most of them.
        replicas: the least and the most replicas in use.
    """
    least, most = max(replicas[0], units.least, 1), min(replicas[1], units.most_replicas)
    width = min(MOST_TRIED, max(1, most - least + 1))
    parts = []
    step = max(1, BLOCK // width)
    for start in range(counts[0], counts[1] + 1, step):
        every = range(start, min(start + step, counts[1] + 1))
        tops = np.array([min(units.held(count), most) for count in every], dtype=float)
        parts.append(_cells(units, np.array(every, dtype=float), tops, least, width))
    works = tuple(np.concatenate([part[0] for part in parts]).tolist())
    if counts[0] == 0:  # nor does a way that is not in use
        return Cells(works)
    return Cells(works, *np.array([part[1:] for part in parts]).min(axis=0).tolist())


def work(units: Units, most: int) -> tuple[float, ...]:
    """Return at least the GPUs that 0, 1, ..., ``most`` units do the work of, however many of them
    stand by."""
    return cells(units, (0, most), (0, units.most_replicas)).work


def _cells(
    units: Units, counts: Numbers, tops: Numbers, least: int, width: int
) -> tuple[Numbers, float, float, float, float]:
    """Return the most work of each number of units, and the least of the rest over all cells."""
    replicas = tops[:, None] - np.arange(width)[None, :]
    runs = replicas >= least
    whole, doing, squared, grown, resumed = _states(units, counts, np.where(runs, replicas, 0.0))
    whole = np.maximum(whole, 1e-300)
    growing = grown * units.drains(replicas) + resumed * units.restart_per_repair
    kept = np.where(runs, (doing - growing) / whole, 0.0)
    untried = tops - width
    untried = np.where(untried >= least, untried, 0.0)
    most = np.maximum(kept.max(axis=1), untried) * units.replica_gpus
    if untried.any():
        return most, -math.inf, 0.0, 0.0, 0.0
    can = runs & (kept > LEAST_RUNNING * replicas)  # what does less is no plan
    if not can.any():
        return most, -math.inf, 0.0, 0.0, 0.0
    failing = units.replica_gpus * squared[can] / doing[can]
    more = failing / (units.replica_gpus * kept[can])
    restart, drain = (units.replica_gpus * (each / whole)[can] for each in (resumed, grown))
    logs = (float(np.log(each.min())) for each in (failing, more))
    return most, *logs, float(restart.min()), float(drain.min())


def _states(units: Units, counts: Numbers, replicas: Numbers) -> tuple[Numbers, ...]:
    """Return sums over the units out, each weighted by the time it takes: the time, replicas that
    run, their squares, and for restarts to grow the replicas after each and before."""
    load = units.load_each * max(1.0, float(replicas.max(initial=0.0)))
    states = math.ceil(load + TAIL * math.sqrt(load + 1.0)) + 12
    states = min(int(counts.max(initial=0.0)), states)
    now, weight = replicas, np.where(replicas > 0, 1.0, 0.0)
    sums = [weight, now, now * now, np.zeros_like(now), np.zeros_like(now)]
    for out in range(1, states + 1):
        before = now
        weight = weight * units.load_each * before / out
        left = units.unit_gpus * np.maximum(counts - out, 0.0)[:, None] // units.replica_gpus
        now = np.where(left >= units.least, np.minimum(replicas, left), 0.0)
        back = np.where((now < before) & (now > 0), weight * out, 0.0)
        terms = weight, weight * now, weight * now * now, back * before, back * now
        sums = [each + term for each, term in zip(sums, terms, strict=True)]
        if not out % 16:
            scale = np.maximum(sums[0], 1.0)
            weight, sums = weight / scale, [each / scale for each in sums]
    return tuple(sums)


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


@dataclass
class Table:
    """What the units of a way do, over the range of their number and of GPUs in use that the search
    has come down to.

    ``chord`` keeps ``running`` below a line over ``count``, less what longer restarts take;
    ``failing`` and ``more`` keep the logarithm of failing GPUs high enough.
    """

    name: str
    units: Units
    flag: Variable
    count: Variable
    gpus: Variable
    running: Variable
    logs: tuple[Variable, Variable]
    longer: tuple[Variable, Variable]
    chord: Row
    failing: Row
    more: Row

    @property
    def divided(self) -> Variable:
        """The number of units."""
        return self.count

    @property
    def ends(self) -> tuple[Linear, Linear]:
        """What is least where there are fewest units, and most where there are most."""
        return self.count + 0, self.count + 0

    def width(self, low: float, high: float) -> float:
        """Return how many counts there are between two bounds beyond the first."""
        return max(0.0, math.floor(high + NEAR_WHOLE) - math.ceil(low - NEAR_WHOLE))

    def rows(self, ends: Ends) -> Iterator[Change]:
        """Yield both rows as they are in a part of the search."""
        counts, replicas = self.counts(ends), self.replicas(ends)
        restart, drain = (more.name for more in self.longer)
        found = Cells((0.0,))
        if counts[1] > 0:
            found = cells(self.units, counts, replicas)
        slope, last = 0.0, len(found.work) - 1
        if last > 0:
            slope = (found.work[last] - found.work[0]) / last
        most = max(each - slope * at for at, each in enumerate(found.work, start=counts[0]))
        factors = {self.running.name: 1.0, self.count.name: -slope}
        factors |= {restart: found.restart, drain: found.drain}
        yield self.chord, factors, most * (1.0 + ROOM)
        yield self.more, {self.flag.name: found.more - ROOM}, 0.0
        low = self.logs[1].lowBound
        least = max(0.0, found.failing - ROOM - low)
        yield self.failing, {self.flag.name: least}, -low

    def counts(self, ends: Ends) -> tuple[int, int]:
        """Return the fewest and the most units in a part of the search."""
        low, high = ends(self.count)
        first, last = math.ceil(low - NEAR_WHOLE), math.floor(high + NEAR_WHOLE)
        used, open_ = ends(self.flag)
        if open_ < 0.5:
            return 0, 0
        return max(first, 1 if used > 0.5 else 0), max(first, last)

    def replicas(self, ends: Ends) -> tuple[int, int]:
        """Return the fewest and the most replicas in use in a part of the search."""
        low, high = (gpus / self.units.replica_gpus for gpus in ends(self.gpus))
        return math.ceil(low - NEAR_WHOLE), math.floor(high + NEAR_WHOLE)

    def at(self, values: Mapping[str, float]) -> tuple[int, int]:
        """Return the units and the replicas in use of a solution."""
        count = math.ceil(values[self.count.name] - NEAR_WHOLE)
        return count, round(values[self.gpus.name] / self.units.replica_gpus)

    def passed(self, values: Mapping[str, float], found: Cells) -> float:
        """Return by how much, as a share, values go beyond what cells of their units do."""
        if values[self.flag.name] < 0.5:
            return -1.0
        longer = zip(self.longer, (found.restart, found.drain), strict=True)
        most = found.work[0] - sum(values[more.name] * each for more, each in longer)
        running, failing = (values[log.name] for log in self.logs)
        much = values[self.running.name] / max((1.0 + SEEN) * most, 1e-9) - 1.0
        return max(much, running + found.more - failing - SEEN, found.failing - failing - SEEN)

    def overdrawn(self, values: Mapping[str, float]) -> float:
        """Return by how much, as a share, values go beyond what is true of their counts."""
        count, replicas = self.at(values)
        return self.passed(values, cells(self.units, (count, count), (replicas, replicas)))

    def split_counts(self, values: Mapping[str, float], ends: Ends) -> bool:
        """Say whether the number of units is to be split, not that of replicas: where the latter is
        not what lets values go beyond."""
        count, _ = self.at(values)
        if self.width(*self.counts(ends)) == 0:
            return False
        found = cells(self.units, (count, count), self.replicas(ends))
        return self.passed(values, found) > 0.0


def add_running(build: Build) -> None:
    """Add the logarithms of the GPUs that run, and of those that fail, on average, where a job goes
    on with fewer."""
    repair = build.case.job.repair
    if repair is None or not repair.shrinks:
        return
    low, high = build.running_range
    build.log_running = build.model.var("log_running", math.log(low), math.log(high))
    build.log_failing = build.model.var("log_failing", math.log(low), math.log(high))
    longer = _longer(build)
    parts = [_add_way(build, repair, system, way, longer)
             for system in build.case.systems for way in system.ways]  # fmt: skip
    running, domain = build.log_running, (low, high)
    build.model.link("log_running", running, total(parts), Log(), domain, seeds=9)


def _longer(build: Build) -> tuple[Variable, Variable]:
    """Return by how many times of repair restarts to grow, and the drains before them, are longer
    than those that no storage makes shorter."""
    model, job = build.model, build.case.job
    assert job.repair is not None
    repair_s = job.repair.repair_s
    restart = model.var("longer_restart", 0.0, None)
    drain = model.var("longer_drain", 0.0, None)
    if build.mode == "local":
        return restart, drain
    log_size = math.log(job.checkpoint_gb / repair_s)
    a, c = job.fan_out_terms(build.case.ways[0].replica_gpus)
    parts = []
    if a > 0.0:
        parts.append(_time(build, "growing_read", math.log(a) + log_size - build.q))
    if c > 0.0:
        each = build.of_way("fan_out", lambda way: job.fan_out_terms(way.replica_gpus)[1], 1)
        parts.append(_time(build, "growing_reads", build.n + each + log_size - build.q))
    shortest = [each / repair_s for each in shortest_growth_s(build)]
    read = shortest[0] - job.restart_s / repair_s
    model.row("longer_restart", restart - total(parts), ">=", -read)
    if build.mode == "async":
        wrote = _time(build, "growing_drain", log_size - build.b)
        model.row("longer_drain", drain - wrote, ">=", -shortest[1])
    return restart, drain


def _time(build: Build, name: str, log: Linear) -> Variable:
    """Return a variable that is at least e^log."""
    time = build.model.var(name, 0.0, None)
    build.model.link(name, -1 * time, log, NegativeExp(), (math.log(1e-9), math.log(10.0)), seeds=9)
    return time


def _add_way(
    build: Build, repair: Repair, system: System, way: Way, longer: tuple[Variable, Variable]
) -> Linear:
    """Return the GPUs that run in a way: no more than are in use, nor than its units do."""
    model, flag = build.model, build.way_used[way.id]
    at_hand = _units_at_hand(build, repair, system, way)
    units = _units(build, repair, way)
    most = round(at_hand.upBound)
    hull = Hull.of(work(units, most))
    running = model.var(f"running__{way.id}", 0.0, hull.top(float(most)))
    model.row(f"running_{way.id}", running - build.gpus_in(system, way), "<=", 0.0)
    model.link(f"work_{way.id}", running, at_hand + 0, hull, (0.0, float(most)), seeds=9)
    less = 0.0 * at_hand + 0.0 * longer[0] + 0.0 * longer[1]
    chord = model.row(f"table_work_{way.id}", running + less, "<=", hull.top(float(most)))
    logs = build.log_running, build.log_failing
    failing = model.row(f"failing_{way.id}", 0.0 * flag - logs[1], "<=", -logs[1].lowBound)
    more = model.row(f"failing_more_{way.id}", logs[0] - logs[1] + 0.0 * flag, "<=", 0.0)
    rows = chord, failing, more
    name, gpus = f"work_{way.id}", build.gpus
    model.chords.append(Table(name, units, flag, at_hand, gpus, running, logs, longer, *rows))
    return running


def _units_at_hand(build: Build, repair: Repair, system: System, way: Way) -> Variable:
    """Return the units of a way: in use and standing by, all that there are or as many as asked."""
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
    return at_hand


def _units(build: Build, repair: Repair, way: Way) -> Units:
    unit, step = way.spare_unit, way.step_gpus
    restart_s, drain_s = shortest_growth_s(build)
    each_s = 0.0
    if build.mode == "local" and way.drives is not None:
        job = build.case.job
        each_s = local_drain_s(job, way, 1)
        if job.one_replica_writes:
            drain_s, each_s = each_s, 0.0
    return Units(
        unit.holding_gpus, step, way.least_running, int(build.gpus_range[1] // step),
        repair.load(way.failures_per_gpu_day, step), restart_s / repair.repair_s,
        drain_s / repair.repair_s, each_s / repair.repair_s,
    )  # fmt: skip


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
