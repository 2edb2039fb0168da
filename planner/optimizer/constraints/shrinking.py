"""A job that goes on with fewer replicas where units are short, in the model.

The units of a purchase, K of them, carry the job or stand by. With d replicas in use and I from
one checkpoint to the next they do on average the work of w(K, d, I) GPUs, planned restarts taken
off that are as short as any storage makes them; what is kept sees the failures of v(K, d) GPUs, a
restart those of r(K, d); a second more of each planned restart costs c(K, d, I). All of it is
known of whole numbers. Over a range of each the model holds, of the GPUs W that run on average, of
those V and R that fail, and of the seconds t that restarts take more,

    W + min c t <= a line over K above all w,    log V >= log W + min log(v/w),  log V >= min log v
    log U <= log W + log E at the failures of V and R GPUs        (and of R as of V)

so no plan is better than the model says. Where one K and one d are left W is below lines over log I
too, and what remains is closed by dividing that. The concave hull of the most work of K units holds
everywhere besides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.case import System, Way
from planner.case.bandwidth import local_drain_s
from planner.case.repair import Repair
from planner.optimizer.context import LEAST_RUNNING, MOST_SPARED, Build
from planner.optimizer.kernel import Numbers
from planner.optimizer.model import Change, Ends, Linear, Log, NegativeExp, Row, Variable, total
from planner.optimizer.units_out import Units, states_of
from planner.sizing.availability import Restarts

MOST_TRIED = 64
"""So many numbers of replicas are tried of each number of units; fewer replicas than those are
taken to do all they could."""
ROOM = 1e-9
"""Bounds stand so much above the points they are of, against rounding."""
SEEN = 1e-7
"""A smaller share too much is left to the solver's tolerance."""
NEAR_WHOLE = 1e-5
"""Solvers' whole numbers are so near to one."""
BLOCK = 500_000
"""Numbers of an array at a time."""
PIECES = 8
"""A range of intervals is looked at in so many pieces."""
STEPS = 2_048
"""So many pieces of a range of intervals are looked at for a line below what is lost."""
BENT = 1.0
"""What is lost bends over the logarithm of the interval by no more than this share of the most that
can be lost, nor than all that is expected in an interval, forwards and back."""

Line = tuple[float, float, float]
"""The slopes of a line over units and the logarithm of the interval, and where it begins."""


@dataclass(frozen=True)
class Cells:
    """What units do over a range of their number, of replicas in use and of intervals.

    ``work`` is the most that 0, 1, ... units beyond the first of the range do, in GPUs; ``failing``
    the least logarithm of failing GPUs, ``more`` that of those over the ones that do the work;
    ``resting`` and ``spared`` the same of the failures that restarts see. ``growing`` is the least
    work that is lost where restarts take a time of repair longer. ``lines`` over the number of
    units and the logarithm of the interval are above the work, less that: the closer, the narrower
    the range of intervals is where one number of each of the others is left.
    """

    work: tuple[float, ...]
    failing: float = -math.inf
    more: float = 0.0
    resting: float = -math.inf
    spared: float = -MOST_SPARED
    growing: float = 0.0
    lines: tuple[Line, ...] = ()


@lru_cache(maxsize=512)
def cells(
    units: Units,
    counts: tuple[int, int],
    replicas: tuple[int, int],
    interval_s: tuple[float, float],
    longer: float = 0.0,
) -> Cells:
    """Return what units do over a range.

    Args:
        counts: the least and the most of them.
        replicas: the least and the most replicas in use.
        interval_s: the shortest and the longest interval, s.
        longer: by how many times of repair restarts to grow are longer at least.
    """
    least, most = max(replicas[0], units.least, 1), min(replicas[1], units.most_replicas)
    width = min(MOST_TRIED, max(1, most - least + 1))
    parts = []
    step = max(1, BLOCK // width)
    for start in range(counts[0], counts[1] + 1, step):
        every = range(start, min(start + step, counts[1] + 1))
        tops = np.array([min(units.held(count), most) for count in every], dtype=float)
        part = _cells(units, np.array(every, dtype=float), tops, least, width, interval_s, longer)
        parts.append(part)
    pieces = np.concatenate([part[0] for part in parts], axis=1)
    rest = np.array([part[1:] for part in parts]).min(axis=0).tolist()
    if counts[0] == 0:  # a way that is not in use loses nothing
        rest[-1] = 0.0
    lines: tuple[Line, ...] = ()
    if interval_s[0] < interval_s[1]:
        at = np.log(_edges(interval_s))
        if counts[0] == counts[1] and least == most:
            lines = _lines_of_one(units, counts[0], most, interval_s, longer)
        else:
            lines = _lines(counts[0], pieces[1:], at)
    failing, more, resting, spared, growing = rest
    return Cells(tuple(pieces[0].tolist()), failing, more, resting, spared, growing, lines)


def work(units: Units, most: int, interval_s: tuple[float, float]) -> tuple[float, ...]:
    """Return at least the GPUs that 0, 1, ..., ``most`` units do the work of, however many of them
    stand by."""
    return cells(units, (0, most), (0, units.most_replicas), interval_s).work


def _edges(interval_s: tuple[float, float]) -> Numbers:
    """Return the ends of the pieces that a range of intervals is looked at in."""
    pieces = PIECES if interval_s[0] < interval_s[1] else 0
    return np.geomspace(*interval_s, pieces + 1)


def _cells(
    units: Units,
    counts: Numbers,
    tops: Numbers,
    least: int,
    width: int,
    interval_s: tuple[float, float],
    longer: float,
) -> tuple[Numbers, float, float, float, float, float]:
    """Return the most work of each number of units, over all intervals and over each piece of them,
    and the least of the rest over all cells."""
    replicas = tops[:, None] - np.arange(width)[None, :]
    runs = replicas >= least
    states = states_of(units, counts, np.where(runs, replicas, 0.0))
    found = states.back()
    more = units.more(replicas) + longer
    untried = tops - width
    untried = np.where(untried >= least, untried, 0.0)
    edges = _edges(interval_s)
    spans = [(interval_s[0], interval_s[1]), *itertools.pairwise(edges)]
    pieces = [
        np.where(runs, states.running - found.grows(high, more) - found.late(low), 0.0)
        for low, high in spans
    ]
    kept, size = pieces[0], units.replica_gpus
    most = size * np.array([np.maximum(each.max(axis=1), untried) for each in pieces])
    can = runs & (kept > LEAST_RUNNING * replicas)  # what does less is no plan
    if untried.any() or not can.any():
        return most, -math.inf, 0.0, -math.inf, -MOST_SPARED, 0.0
    failing, resting, does = states.failing[can], states.resting()[can], kept[can]
    ratios = size * failing, failing / does, size * resting, resting / does
    growing = found.growing(interval_s[1])[can].min()
    logs = [float(np.log(one.min())) for one in ratios]
    return most, logs[0], logs[1], logs[2], logs[3], float(size * growing)


def _lines(first: int, pieces: Numbers, at: Numbers) -> tuple[Line, ...]:
    """Return lines above the work of units, in each piece between two logarithms of intervals: as
    steep as the most of all of them at either end, and between both."""
    counts, best = first + np.arange(pieces.shape[1]), pieces.max(axis=1)
    middle = pieces[len(pieces) // 2]
    by_count = (middle[-1] - middle[0]) / max(1, len(counts) - 1)
    over = (pieces - by_count * counts).max(axis=1)
    width = at[1] - at[0]
    slopes = (best[1] - best[0]) / width, (best[-1] - best[-2]) / width
    found = []
    for slope in (*slopes, (best[-1] - best[0]) / (width * (len(best) - 1))):
        lowest = np.minimum(slope * at[:-1], slope * at[1:])
        found.append((float(by_count), float(slope), float((over - lowest).max())))
    return tuple(found)


def _lines_of_one(
    units: Units, count: int, replicas: int, interval_s: tuple[float, float], longer: float
) -> tuple[Line, ...]:
    """Return lines over the logarithm of the interval above the work of units that are known:
    as steep as what is lost at either end, and between both."""
    counts, every = np.array([float(count)]), np.array([[float(replicas)]])
    states = states_of(units, counts, every)
    ends = np.log(np.array(interval_s))
    at = np.linspace(ends[0], ends[1], STEPS + 1)
    back, more = states.back(), units.more(every) + longer
    lost = (back.grows(np.exp(at), more) + back.late(np.exp(at)))[0]
    step = at[1] - at[0]
    expected = float((back.began + back.fails + back.others)[0, 0]) * interval_s[1]
    bends = min(BENT, expected) * float((back.most(more) + back.waiting)[0, 0])
    slopes = ((lost[1] - lost[0]) / step, (lost[-1] - lost[-2]) / step,
              (lost[-1] - lost[0]) / (at[-1] - at[0]))  # fmt: skip
    whole, size = float(states.running[0, 0] + step * step / 8.0 * bends), units.replica_gpus
    return tuple(
        (0.0, -size * float(slope), size * (whole - float((lost - slope * at).min())))
        for slope in slopes
    )


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
class UnitsChord:
    """What the units of a way do, over the range of their number, of GPUs in use and of intervals
    that the search has come down to.

    ``chord`` keeps ``running`` below a line over ``count``, less what longer restarts take, the
    rows ``over`` below lines over the logarithm of the ``interval``; ``failing`` and ``more`` keep
    the logarithm of failing GPUs high enough, ``resting`` and ``spared`` that of those whose
    failures restarts see.
    """

    name: str
    units: Units
    flag: Variable
    count: Variable
    gpus: Variable
    running: Variable
    interval: Variable
    logs: tuple[Variable, Variable, Variable]
    longer: Variable
    chord: Row
    over: tuple[Row, ...]
    failing: Row
    more: Row
    resting: Row
    spared: Row

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
        """Yield all rows as they are in a part of the search."""
        counts, longer = self.counts(ends), self.longer.name
        found = Cells((0.0,))
        if counts[1] > 0:
            every = counts, self.replicas(ends), self.intervals(ends)
            found = cells(self.units, *every, ends(self.longer)[0])
        slope, last = 0.0, len(found.work) - 1
        if last > 0:
            slope = (found.work[last] - found.work[0]) / last
        most = max(each - slope * at for at, each in enumerate(found.work, start=counts[0]))
        most += found.growing * ends(self.longer)[0]
        name = self.running.name
        factors = {name: 1.0, self.count.name: -slope, longer: found.growing}
        yield self.chord, factors, most * (1.0 + ROOM)
        top = self.units.replica_gpus * float(self.units.most_replicas)
        for place, row in enumerate(self.over):
            by_count, by, begins = 0.0, 0.0, top
            factors = {longer: 0.0}
            if found.lines:
                by_count, by, begins = found.lines[place]
                begins += found.growing * ends(self.longer)[0]
                factors = {longer: found.growing}
            factors |= {name: 1.0, self.count.name: -by_count, self.interval.name: -by}
            yield row, factors, begins + ROOM * top
        yield self.more, {self.flag.name: found.more - ROOM}, 0.0
        yield self.spared, {self.flag.name: found.spared - ROOM + MOST_SPARED}, MOST_SPARED
        pairs = zip((self.failing, self.resting), (found.failing, found.resting), strict=True)
        for (row, least), log in zip(pairs, self.logs[1:], strict=True):
            low = log.lowBound
            yield row, {self.flag.name: max(0.0, least - ROOM - low)}, -low

    def intervals(self, ends: Ends) -> tuple[float, float]:
        """Return the shortest and the longest interval in a part of the search, s."""
        low, high = ends(self.interval)
        return math.exp(low), math.exp(high)

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
        most = found.work[0] - values[self.longer.name] * found.growing
        running, failing, resting = (values[log.name] for log in self.logs)
        much = values[self.running.name] / max((1.0 + SEEN) * most, 1e-9) - 1.0
        logs = ((found.more, running - failing), (found.failing, -failing),
                (found.spared, running - resting), (found.resting, -resting))  # fmt: skip
        return max(much, *(least + log - SEEN for least, log in logs))

    def overdrawn(self, values: Mapping[str, float]) -> float:
        """Return by how much, as a share, values go beyond what is true of their counts."""
        count, replicas = self.at(values)
        interval_s = math.exp(values[self.interval.name])
        alone = (count, count), (replicas, replicas), (interval_s, interval_s)
        return self.passed(values, cells(self.units, *alone))

    def split_counts(self, values: Mapping[str, float], ends: Ends, *, alone: bool) -> bool:
        """Say whether the number of units is to be split, not that of replicas: where the latter is
        not what lets values go beyond, or is known ``alone``."""
        count, _ = self.at(values)
        if alone or self.width(*self.counts(ends)) == 0:
            return self.width(*self.counts(ends)) > 0
        found = cells(self.units, (count, count), self.replicas(ends), self.intervals(ends))
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
    least = math.log(low) - MOST_SPARED
    build.log_resting = build.model.var("log_resting", least, math.log(high))
    longer = _longer(build)
    parts = [_add_way(build, repair, system, way, longer)
             for system in build.case.systems for way in system.ways]  # fmt: skip
    running, domain = build.log_running, (low, high)
    build.model.link("log_running", running, total(parts), Log(), domain, seeds=9)


def _longer(build: Build) -> Variable:
    """Return by how many times of repair restarts to grow, and the drains before them, are longer
    than those that no storage makes shorter."""
    model, job = build.model, build.case.job
    assert job.repair is not None
    repair_s = job.repair.repair_s
    if build.mode == "local":
        return model.var("longer_restart", 0.0, 0.0)
    longer = model.var("longer_restart", 0.0, _longest_growth_s(build) / repair_s)
    log_size = math.log(job.checkpoint_gb / repair_s)
    a, c = job.fan_out_terms(build.case.ways[0].replica_gpus)
    parts = []
    if a > 0.0:
        parts.append(_time(build, "growing_read", math.log(a) + log_size - build.q))
    if c > 0.0:
        each = build.of_way("fan_out", lambda way: job.fan_out_terms(way.replica_gpus)[1], 1)
        parts.append(_time(build, "growing_reads", build.n + each + log_size - build.q))
    if build.mode == "async":
        parts.append(_time(build, "growing_drain", log_size - build.b))
    model.row("longer_restart", longer - total(parts), ">=", -shortest_more_s(build) / repair_s)
    return longer


def _longest_growth_s(build: Build) -> float:
    """Return at least how long a restart with more replicas takes for reading back, and until its
    capture is safe, s."""
    job = build.case.job
    terms = [job.fan_out_terms(way.replica_gpus) for way in build.case.ways]
    times = max(once + each * build.gpus_range[1] for once, each in terms)
    drain_s = job.checkpoint_gb / build.write_range[0] if build.mode == "async" else 0.0
    return 2.0 * (times * job.checkpoint_gb / build.read_range[0] + drain_s)


def _time(build: Build, name: str, log: Linear) -> Variable:
    """Return a variable that is at least e^log."""
    time = build.model.var(name, 0.0, None)
    build.model.link(name, -1 * time, log, NegativeExp(), (math.log(1e-9), math.log(10.0)), seeds=9)
    return time


def _add_way(build: Build, repair: Repair, system: System, way: Way, longer: Variable) -> Linear:
    """Return the GPUs that run in a way: no more than are in use, nor than its units do."""
    model, flag = build.model, build.way_used[way.id]
    at_hand = _units_at_hand(build, repair, system, way)
    units = _units(build, repair, way)
    most = round(at_hand.upBound)
    hull = Hull.of(work(units, most, build.interval_range_s))
    top = hull.top(float(most))
    running = model.var(f"running__{way.id}", 0.0, top)
    model.row(f"running_{way.id}", running - build.gpus_in(system, way), "<=", 0.0)
    model.link(f"work_{way.id}", running, at_hand + 0, hull, (0.0, float(most)), seeds=9)
    less = running + 0.0 * at_hand + 0.0 * longer
    chord = model.row(f"table_work_{way.id}", less, "<=", top)
    over = tuple(
        model.row(f"interval_{way.id}_{place}", less + 0.0 * build.i, "<=", top)
        for place in range(3)
    )
    logs = build.log_running, build.log_failing, build.log_resting
    failing, resting = (
        model.row(f"{name}_{way.id}", 0.0 * flag - log, "<=", -log.lowBound)
        for name, log in zip(("failing", "resting"), logs[1:], strict=True)
    )
    more = model.row(f"failing_more_{way.id}", logs[0] - logs[1] + 0.0 * flag, "<=", 0.0)
    left = logs[0] - logs[2] + 0.0 * flag
    spared = model.row(f"spared_{way.id}", left, "<=", MOST_SPARED)
    rows = chord, over, failing, more, resting, spared
    names = f"work_{way.id}", units, flag, at_hand, build.gpus, running
    model.chords.append(UnitsChord(*names, build.i, logs, longer, *rows))
    return running


def _units_at_hand(build: Build, repair: Repair, system: System, way: Way) -> Variable:
    """Return the units of a way: in use and standing by, all that there are or as many as asked."""
    model, unit, flag = build.model, way.spare_unit, build.way_used[way.id]
    most = unit.per_system * build.tops[system.id]
    at_hand = model.var(f"at_hand__{way.id}", 0.0, float(most))
    model.row(f"at_hand_{way.id}", at_hand - float(most) * flag, "<=", 0.0)
    bought = float(unit.per_system) * build.units[system.id]
    model.row(f"at_hand_of_{way.id}", at_hand - bought, "<=", 0.0)
    if repair.spares is not None:
        in_use = float(unit.per_system) * build.systems_of[way.id]
        if unit.per_system > 1:  # of trays in use the last may hold a part of a replica
            last = 1.0 - math.gcd(unit.gpus, way.step_gpus) / unit.gpus
            in_use = (1.0 / unit.gpus) * build.gpus_in(system, way) + last * flag
        row = at_hand - in_use - float(repair.spares) * flag
        model.row(f"at_hand_asked_{way.id}", row, "<=", 0.0)
    return at_hand


def _units(build: Build, repair: Repair, way: Way) -> Units:
    unit, step, job = way.spare_unit, way.step_gpus, build.case.job
    grow_s, more_s, each_s = job.restart_s, shortest_more_s(build), 0.0
    after: tuple[tuple[float, float], ...] = ((1.0, grow_s),)
    if build.mode == "local" and way.drives is not None and job.levels is not None:
        far, grow_s = job.levels.remote_share, job.levels.local_restart_s
        after = ((1.0 - far, grow_s), (far, job.restart_s))
        each_s = local_drain_s(job, way, 1)
        if job.one_replica_writes:
            more_s, each_s = each_s, 0.0
    how = Restarts(repair.hardware_share, repair.repair_s, after, grow_s, more_s)
    load_each = repair.load(way.failures_per_gpu_day, step)
    most = int(build.gpus_range[1] // step)
    return Units(unit.holding_gpus, step, way.least_running, most, load_each, how, each_s)


def shortest_more_s(build: Build) -> float:
    """Return at most how long a checkpoint is read back for a restart with more replicas, and until
    its capture is safe, s; not of local copies."""
    job = build.case.job
    if build.mode == "local":
        return 0.0
    size, (_, write), (_, read) = job.checkpoint_gb, build.write_range, build.read_range
    terms = [job.fan_out_terms(way.replica_gpus) for way in build.case.ways]
    times = min(once + each * build.gpus_range[0] for once, each in terms)
    drain_s = size / write if build.mode == "async" else 0.0
    return times * size / read + drain_s
