"""Useful work as a function of an operating point, and tangents to it.

Way and spares are given. An operating point says how many GPUs are in use and which bandwidth
serves their checkpoints; the interval is then the best one that the limits leave:

    V(p) = max over I of  N E(I; p) A(N) (N / N0)^-e,     p = (N, write, read, safe write, endured)
    W(p) = max { V(N', rest of p) : N' <= N }

For asynchronous checkpoints on one level W is concave in p (docs/optimisation.md), so a tangent
to W is never below it: a linear row that no plan breaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from planner.case import Case, System, Way
from planner.case.job import Mode, stall_s
from planner.optimizer.bill import Flags, Numbers
from planner.optimizer.goodput import Drives, Times, erlang_b
from planner.optimizer.stores import worn_interval_s
from planner.optimizer.work import MOST_STALLED, Flow, Work
from planner.sizing.checkpoint import write_volume_tb_per_day
from planner.units import DAY_S

Measure = Literal["gpus", "pflops"]
"""Useful work in GPUs that never stop, or in PFLOP/s."""
MEASURES: dict[str, Measure] = {
    "goodput": "pflops",
    "useful_gpus": "gpus",
    "usd_per_useful_gpu_hour": "gpus",
    "usd_per_million_tokens": "pflops",
}
"""The measure of useful work of each objective that has one."""

STEP = 1e-5
"""Half the width of a difference quotient, as a share of its argument."""
ABOVE = 1e-9
"""A tangent stands so much above the work, against rounding."""
BEYOND = 32
"""Places at which a tangent beyond the peak is checked."""
PEAK_ROUNDS = 7
"""Rounds of `BEYOND` places that find a peak to 1e-6."""


class Point(NamedTuple):
    """Arguments of useful work: GPUs in use, GB/s delivered, TB a day that flash endures.

    ``safe_write`` counts for limits, with appliances down where the problem states any.
    """

    gpus: float
    write: float
    read: float
    safe_write: float
    endured: float = math.inf


class Tangent(NamedTuple):
    """``work <= value + slopes (p - at)`` for every operating point p."""

    at: Point
    value: float
    slopes: Point

    def of(self, point: Point) -> float:
        """Its value at a point."""
        each = zip(self.slopes, point, self.at, strict=True)
        return self.value + sum(slope * (x - x0) for slope, x, x0 in each if slope)


@dataclass(frozen=True)
class Team:
    """Operation of the job, decided by the search: GPU systems, the way on each, mode and spares.

    ``every`` so many-th local checkpoint goes on to storage. ``spares`` are spare units bought, in
    the work as many as ``spares_counted``: more of them than bought give an upper bound.
    """

    running: tuple[tuple[System, Way], ...]
    mode: Mode
    every: int = 1
    spares: int = 0
    spares_counted: int = 0

    @property
    def ways(self) -> tuple[Way, ...]:
        """The way of each type in use."""
        return tuple(way for _, way in self.running)


class UsefulWork:
    """Useful work of a team, by `Work` with continuous GPUs and given spares."""

    def __init__(self, case: Case, team: Team) -> None:
        self.case, self.job, self.team = case, case.job, team
        self.failures_per_gpu_day = max(way.failures_per_gpu_day for way in team.ways)
        self.fan_out = case.job.fan_out_terms(team.ways[0].replica_gpus)
        job, levels = replace(case.job, max_types=len(team.running)), case.job.levels
        if levels is not None:
            job = replace(job, levels=replace(levels, every=(team.every,)))
        systems = tuple(replace(system, ways=(way,)) for system, way in team.running)
        self._work = Work(replace(case, systems=systems, job=job), team.mode)
        self._place = len(self._work.teams) - 1  # the last team is of all types
        self.gpus_range = self._gpus_range()

    @property
    def concave(self) -> bool:
        """True if useful work is concave in the operating point (docs/optimisation.md)."""
        job = self.job
        steady = job.scale is None or not job.scale.table
        shrinks = job.repair is not None and job.repair.shrinks
        steady = steady and not self.case.bursts
        return self.team.mode != "sync" and job.drain_slowdown == 0.0 and not shrinks and steady

    def value(self, at: Point, measure: Measure) -> float | None:
        """Useful work within a number of GPUs; None where limits leave no interval."""
        found = float(self.values([at], measure)[0])
        return None if math.isnan(found) else found

    def goodput(self, at: Point) -> float | None:
        """The share of time kept at the best interval; None where limits leave none."""
        found = float(self._goodputs([at])[0])
        return None if math.isnan(found) else found

    def values(self, points: Sequence[Point], measure: Measure) -> Numbers:
        """The useful work at points, nan where limits leave no interval."""
        each = [
            p.gpus * (1.0 if measure == "gpus" else self.pflops_per_gpu(p.gpus)) for p in points
        ]
        return np.asarray(np.array(each) * self._goodputs(points))

    def _goodputs(self, points: Sequence[Point]) -> Numbers:
        times, mean_s, interval, there = self._times(points)
        there &= times.stopped <= MOST_STALLED * interval
        kept = np.exp(times.log_kept(interval, mean_s)) * self._work.kept_by_swaps(mean_s)
        kept *= (1.0 - self._waiting(np.array([p.gpus for p in points]))) * self.job.progress
        return np.where(there & (kept > 0.0), kept, np.nan)

    def _times(self, points: Sequence[Point]) -> tuple[Times, Numbers, Numbers, Flags]:
        """Times, MTTI, best interval (s), and where limits leave one."""
        gpus, write, read, safe_write, endured = np.array(points, dtype=float).T
        team, mean_s = np.full(len(gpus), self._place), DAY_S / (self.failures_per_gpu_day * gpus)
        flow = Flow(write, read, safe_write, read, np.ones(len(gpus), dtype=bool))
        times = self._work.times(team, gpus, flow, worn_interval_s(self.case, endured))
        return times, mean_s, *self._work.interval(times, mean_s)

    def interval_s(self, at: Point) -> float | None:
        """The best interval; None where limits leave none."""
        _, _, interval, there = self._times([at])
        return float(interval[0]) if there[0] else None

    def _waiting(self, gpus: Numbers) -> Numbers:
        """The share of time that the job waits for repairs."""
        repair = self.job.repair
        if repair is None or repair.shrinks:
            return np.zeros_like(gpus)
        unit, rate = self.team.ways[0].spare_unit, self.failures_per_gpu_day
        if unit.in_rack:
            odds = gpus * repair.rack_odds(unit, rate)
            return np.asarray(odds / (1.0 + odds))
        spares = np.full_like(gpus, self.team.spares_counted)
        return erlang_b(spares, gpus * repair.load(rate, 1))

    def pflops_per_gpu(self, gpus: float) -> float:
        """The rate of a GPU that never stops in a job of N GPUs, PFLOP/s."""
        rate = min(way.tflops_per_gpu for way in self.team.ways) * (self.job.mfu or 0.0) / 1000.0
        return rate if self.job.scale is None else rate * self.job.scale.share(gpus)

    def stall_s(self, gpus: float) -> float:
        """The stall of an asynchronous checkpoint, s."""
        return max(stall_s(self.job, way, gpus) for way in self.team.ways)

    @property
    def longest_remote_s(self) -> float:
        """The longest interval between checkpoints that go to storage, s."""
        every = self.team.every if self.team.mode == "local" else 1
        return every * self.job.interval.high_s

    @property
    def volume_demand_tb_per_day(self) -> float:
        """Checkpoints written a day at the longest interval, TB."""
        return write_volume_tb_per_day(self.job.checkpoint_gb, self.longest_remote_s)

    def write_demand_gb_per_s(self, gpus: float) -> float:
        """The least safe write bandwidth with which a checkpoint fits the longest interval.

        Convex in the GPUs in use; infinite where no bandwidth is enough.
        """
        job, longest_s = self.job, self.job.interval.high_s
        if self.team.mode == "sync":
            return job.checkpoint_gb / (job.max_blocking * longest_s)
        left_s = self.longest_remote_s * (1.0 if self.case.rule is not None else job.max_overlap)
        if self.team.mode == "async":
            left_s = min(left_s, longest_s - self.stall_s(gpus))
        return job.checkpoint_gb / left_s if left_s > 0.0 else math.inf

    def tangent(self, at: Point, measure: Measure, most: Point) -> Tangent | None:
        """The tangent at a point; None where limits leave no interval there.

        Beyond the peak, where fewer GPUs would do more, work is concave until losses take twice
        what a GPU adds, and falls to nothing then. There the tangent is that at the peak, flat in
        the GPUs, unless the one at the point itself is above the work of as many as there can be.

        Args:
            at: the point; infinite endurance counts as no limit and has no slope.
            measure: the work that it bounds.
            most: the most of everything.
        """
        found = self._tangent(at, measure)
        if found is None or found.slopes.gpus >= 0.0 or self._is_above(found, measure, most):
            return found
        found = self._tangent(at._replace(gpus=self._peak(at, measure)), measure)
        if found is None or found.slopes.gpus * found.at.gpus < -found.value:
            return None  # fewer GPUs are not allowed
        slopes = found.slopes._replace(gpus=max(0.0, found.slopes.gpus))
        return found._replace(slopes=slopes)

    def _tangent(self, at: Point, measure: Measure) -> Tangent | None:
        """The tangent by difference quotients, one-sided at the end of what is allowed."""
        names = [name for name in Point._fields if math.isfinite(getattr(at, name))]
        sides = [
            at._replace(**{name: getattr(at, name) * (1.0 + step)})
            for name in names
            for step in (-STEP, STEP)
        ]
        value, *ends = self.values([at, *sides], measure).tolist()
        if math.isnan(value):
            return None
        slopes = dict.fromkeys(Point._fields, 0.0)
        for number, name in enumerate(names):
            low, high = ends[2 * number : 2 * number + 2]
            width = STEP * getattr(at, name) * (2 - math.isnan(low) - math.isnan(high))
            low, high = (value if math.isnan(end) else end for end in (low, high))
            slopes[name] = (high - low) / width if width else 0.0
        return Tangent(at, value * (1.0 + ABOVE), Point(**slopes))

    def _is_above(self, tangent: Tangent, measure: Measure, most: Point) -> bool:
        """True if a tangent is above the work of any GPUs, at its bandwidth and the most."""
        low, high = self.gpus_range[0], max(most.gpus, tangent.at.gpus)
        if tangent.slopes.gpus * tangent.at.gpus < -tangent.value:
            return False
        gpus = [low * (high / low) ** (number / BEYOND) for number in range(BEYOND + 1)]
        points = [rest._replace(gpus=n) for rest in (tangent.at, most) for n in gpus]
        values = np.nan_to_num(self.values(points, measure))
        return bool((np.array([tangent.of(point) for point in points]) >= values).all())

    def _peak(self, at: Point, measure: Measure) -> float:
        """The GPUs in use, at most those given, that do most; where nothing is left the peak
        is at fewer."""
        low, high = math.log(min(self.gpus_range[0], at.gpus)), math.log(at.gpus)
        for _ in range(PEAK_ROUNDS):
            places = np.linspace(low, high, BEYOND + 1)
            values = self.values([at._replace(gpus=n) for n in np.exp(places).tolist()], measure)
            best = int(np.argmax(np.where(np.isnan(values), -places, values)))
            low, high = float(places[max(best - 1, 0)]), float(places[min(best + 1, BEYOND)])
        return math.exp((low + high) / 2.0) if low < high else math.exp(low)

    def _gpus_range(self) -> tuple[float, float]:
        """The fewest and the most GPUs in use that no purchase changes.

        Most of them are infinite where nothing but the purchase limits them. A local level needs
        room for its copies, an interval that is long enough, and a restart within the time between
        failures; swaps must be short beside that, too.
        """
        job, ways = self.job, self.team.ways
        low = float(max(job.gpus_min, *(way.least_gpus for way in ways)))
        high = math.inf if job.gpus_max is None else float(job.gpus_max)
        if job.repair is not None and job.repair.swap_s > 0.0:
            high = min(high, DAY_S / job.repair.shortest_mtti_s() / self.failures_per_gpu_day)
        if job.repair is not None and job.repair.shrinks:
            low = max(low, *(float(way.least_running * way.step_gpus) for way in ways))
        if self._work.drives is not None:
            low, most = self._local_range(self._work.drives, max(low, 1.0))
            high = min(high, most)
        return low, high

    def _local_range(self, drives: Drives, low: float) -> tuple[float, float]:
        """The GPUs between room and time for local copies and a restart within the MTTI."""
        place, longest_s = self._place, self.job.interval.high_s * (1.0 + ABOVE)
        if not drives.there[place]:
            return math.inf, -math.inf
        fixed_s, each_s = self.job.stall_s, float(self._work.copy_s[place] + drives.drain_s[place])
        full = float(drives.room_tb[place] / drives.most_tb[place])
        if self.job.one_replica_writes:
            fits = full <= 1.0 and fixed_s + each_s <= longest_s
            low = low if fits else math.inf
        elif fixed_s >= longest_s:
            low = math.inf
        else:
            low = max(low, full, each_s / (longest_s - fixed_s))
        return low, drives.most_gpus(place, self.failures_per_gpu_day, 0.0)
