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
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from planner.case import Case, System, Way, bandwidth
from planner.case.model import Mode
from planner.sizing import two_levels
from planner.sizing.demand import write_volume_tb_per_day
from planner.sizing.goodput import best_interval_s, goodput, mtti_s
from planner.sizing.two_levels import TwoLevels
from planner.units import DAY_S

Measure = Literal["gpus", "pflops"]
"""Useful work in GPUs that never stop, or in PFLOP/s."""

STEP = 1e-5
"""Half the width of a difference quotient, as a share of its argument."""
ABOVE = 1e-9
"""A tangent stands so much above the work, against rounding."""
MOST_STALLED = 0.999
"""No plan may lose more of its intervals to stalls; see docs/model.md."""
SECTIONS = 60
BEYOND = 32
"""A tangent beyond the peak is looked at in so many places."""
MOST_GPUS = 1e9


class Point(NamedTuple):
    """What useful work depends on: GPUs in use, GB/s delivered, TB a day that flash endures.

    ``safe_write`` is what limits count on, with appliances down where the problem asks for it.
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
        """Return what it allows at a point."""
        each = zip(self.slopes, point, self.at, strict=True)
        return self.value + sum(slope * (x - x0) for slope, x, x0 in each if slope)


@dataclass(frozen=True)
class Team:
    """How the job runs, as the search decided it: GPU systems, the way on each, mode and spares.

    ``every`` so many-th local checkpoint goes on to storage. ``spares`` are spare units bought, in
    the work as many as ``spares_counted``: more of them than bought give an upper bound.
    ``batches`` are, where copies of the model share micro-batches evenly, the fewest and the most
    that a copy takes, of each way; between them work is at most as if they were not whole.
    """

    running: tuple[tuple[System, Way], ...]
    mode: Mode
    every: int = 1
    spares: int = 0
    spares_counted: int = 0
    batches: tuple[tuple[int, int] | None, ...] = ()

    @property
    def ways(self) -> tuple[Way, ...]:
        """The way of each type in use."""
        return tuple(way for _, way in self.running)


class UsefulWork:
    """Useful work of a team, by the formulas of `planner.sizing`."""

    def __init__(self, case: Case, team: Team) -> None:
        self.case, self.job, self.team = case, case.job, team
        self.failures_per_gpu_day = max(way.failures_per_gpu_day for way in team.ways)
        self.fan_out = case.job.fan_out_terms(team.ways[0].replica_gpus)
        self.gpus_range = self._gpus_range()

    @property
    def concave(self) -> bool:
        """Whether useful work is concave in the operating point (docs/optimisation.md)."""
        job = self.job
        steady = job.scale is None or not job.scale.table
        shrinks = job.repair is not None and job.repair.shrinks
        steady = steady and not self.case.bursts
        return self.team.mode != "sync" and job.drain_slowdown == 0.0 and not shrinks and steady

    def value(self, at: Point, measure: Measure) -> float | None:
        """Return the useful work on at most so many GPUs; None where limits leave no interval."""
        kept = self.goodput(at)
        if kept is None:
            return None
        return at.gpus * kept * (1.0 if measure == "gpus" else self.pflops_per_gpu(at.gpus))

    def pflops_per_gpu(self, gpus: float) -> float:
        """Return what a GPU that never stops does in a job of so many, PFLOP/s."""
        rates = (
            way.tflops_per_gpu * self._share_at_scale(place, way, gpus)
            for place, way in enumerate(self.team.ways)
        )
        return min(rates) * (self.job.mfu or 0.0) / 1000.0

    def _share_at_scale(self, place: int, way: Way, gpus: float) -> float:
        """Return what the law of scale leaves of a GPU's rate in a job of so many."""
        law = self.job.scale
        if law is None:
            return 1.0
        batches = self.team.batches[place] if self.team.batches else None
        if batches is None or way.gpus_max is None:
            return law.share(gpus, way.bubble)
        if batches[0] == batches[1]:
            gpus = way.gpus_max / batches[0]
        return 1.0 / (1.0 + way.bubble * gpus)

    def goodput(self, at: Point) -> float | None:
        """Return the share of time kept at the best interval; None where limits leave none."""
        allowed = self._intervals(at)
        if allowed is None:
            return None
        low, high = allowed
        job, team, mean_s = self.job, self.team, mtti_s(self.failures_per_gpu_day, at.gpus)
        drain_s = job.checkpoint_gb / at.write
        restore_s = (self.fan_out[0] + self.fan_out[1] * at.gpus) * job.checkpoint_gb / at.read
        stall_s = drain_s if team.mode == "sync" else self.stall_s(at.gpus)
        slowdown = 0.0 if team.mode == "sync" else job.drain_slowdown
        if team.mode == "local":
            return self._on_two_levels(at, drain_s, restore_s, (low, high))
        stopped_s = stall_s + slowdown * drain_s
        interval_s = low if low == high else best_interval_s(stopped_s, mean_s, low, high)
        if stopped_s > MOST_STALLED * interval_s:
            return None
        lag_s = 0.0 if team.mode == "sync" else drain_s
        recovery_s = job.restart_s + restore_s
        kept = goodput(interval_s, stall_s, lag_s, recovery_s, mean_s, slowdown)
        swaps = 1.0 if job.repair is None else job.repair.swap_factor(mean_s)
        return kept * swaps * (1.0 - self.waiting(at.gpus)) * job.progress or None

    def interval_s(self, at: Point) -> float | None:
        """Return the best interval of one level of checkpoints; None where limits leave none."""
        allowed = self._intervals(at)
        if allowed is None:
            return None
        mean_s = mtti_s(self.failures_per_gpu_day, at.gpus)
        stopped_s = (
            self.stall_s(at.gpus) + self.job.drain_slowdown * self.job.checkpoint_gb / at.write
        )
        return (
            allowed[0] if allowed[0] == allowed[1] else best_interval_s(stopped_s, mean_s, *allowed)
        )

    def waiting(self, gpus: float) -> float:
        """Return the share of time that the job waits for repairs."""
        repair = self.job.repair
        if repair is None or repair.shrinks:
            return 0.0
        (way,) = self.team.ways
        spares = self.team.spares_counted
        return repair.waiting(way.spare_unit, spares, gpus, way.failures_per_gpu_day)

    def stall_s(self, gpus: float) -> float:
        """Return how long the GPUs stop for an asynchronous checkpoint, s."""
        return max(bandwidth.stall_s(self.job, way, gpus) for way in self.team.ways)

    def longest_interval_s(self, gpus: float) -> float:
        """Return the longest interval that the job may have, s."""
        rule = self.job.interval
        if rule.policy == "lost_work":
            return rule.kappa * mtti_s(self.failures_per_gpu_day, gpus)
        return rule.high_s

    def write_demand_gb_per_s(self, gpus: float) -> float:
        """Return the least safe write bandwidth with which a checkpoint fits the longest interval.

        Convex in the GPUs in use; infinite where no bandwidth is enough.
        """
        job, longest_s = self.job, self.longest_interval_s(gpus)
        if self.team.mode == "sync":
            return job.checkpoint_gb / (job.max_blocking * longest_s)
        remote_s = longest_s * (self.team.every if self.team.mode == "local" else 1)
        share = 1.0 if self.case.rule is not None else job.max_overlap
        left_s = remote_s * share
        if self.team.mode == "async":
            left_s = min(left_s, longest_s - self.stall_s(gpus))
        return job.checkpoint_gb / left_s if left_s > 0.0 else math.inf

    def volume_demand_tb_per_day(self, gpus: float) -> float:
        """Return what checkpoints write a day at the longest interval, TB."""
        every = self.team.every if self.team.mode == "local" else 1
        return write_volume_tb_per_day(
            self.job.checkpoint_gb, every * self.longest_interval_s(gpus)
        )

    def tangent(self, at: Point, measure: Measure, most: Point) -> Tangent | None:
        """Return the tangent at a point; None where limits leave no interval there.

        Beyond the peak, where fewer GPUs would do more, work is concave until losses take twice
        what a GPU adds, and falls to nothing then. There the tangent is that at the peak, flat in
        the GPUs, unless the one at the point itself is above the work of as many as there can be.

        Args:
            at: the point; infinite endurance counts as no limit and has no slope.
            measure: the work that it bounds.
            most: the most of everything.
        """
        value = self.value(at, measure)
        if value is None:
            return None
        found = Tangent(at, value * (1.0 + ABOVE), self._slopes(at, value, measure))
        if found.slopes.gpus >= 0.0 or self._is_above(found, measure, most):
            return found
        at = at._replace(gpus=self._peak(at, measure))
        value = self.value(at, measure) or 0.0
        slopes = self._slopes(at, value, measure)
        if slopes.gpus * at.gpus < -value or not value:  # fewer GPUs are not allowed
            return None
        slopes = slopes._replace(gpus=max(0.0, slopes.gpus))
        return Tangent(at, value * (1.0 + ABOVE), slopes)

    def _is_above(self, tangent: Tangent, measure: Measure, most: Point) -> bool:
        """Say whether a tangent is above the work of any GPUs, at its bandwidth and at the most."""
        low, high = self.gpus_range[0], max(most.gpus, tangent.at.gpus)
        if tangent.slopes.gpus * tangent.at.gpus < -tangent.value:
            return False
        for rest in (tangent.at, most):
            for number in range(BEYOND + 1):
                at = rest._replace(gpus=low * (high / low) ** (number / BEYOND))
                if tangent.of(at) < (self.value(at, measure) or 0.0):
                    return False
        return True

    def _slopes(self, at: Point, value: float, measure: Measure) -> Point:
        slopes = dict.fromkeys(Point._fields, 0.0)
        for name, here in zip(Point._fields, at, strict=True):
            if math.isinf(here):
                continue
            ends = [
                (x, found)
                for x in (here * (1.0 - STEP), here * (1.0 + STEP))
                if (found := self.value(at._replace(**{name: x}), measure)) is not None
            ]
            (low, below), (high, above) = (*ends, (here, value), (here, value))[:2]
            slopes[name] = (above - below) / (high - low) if ends else 0.0
        return Point(**slopes)

    def _peak(self, at: Point, measure: Measure) -> float:
        """Return the GPUs in use, at most those given, that do most."""

        def worth(log_gpus: float) -> float:
            value = self.value(at._replace(gpus=math.exp(log_gpus)), measure)
            return value or -math.exp(log_gpus)  # where nothing is left the peak is at fewer

        return two_levels.peak_s(worth, min(self.gpus_range[0], at.gpus), at.gpus)

    def _intervals(self, at: Point) -> tuple[float, float] | None:
        """Return the shortest and the longest interval within the limits; None without any."""
        rule, low, high = self.job.interval, self._shortest_s(at), self.longest_interval_s(at.gpus)
        if rule.policy != "optimal":
            interval = rule.low_s if rule.policy == "fixed" else high
            return (interval, interval) if low <= interval * (1.0 + ABOVE) else None
        low = max(low, rule.low_s)
        return (min(low, high), high) if low <= high * (1.0 + ABOVE) else None

    def _shortest_s(self, at: Point) -> float:
        job, team = self.job, self.team
        drain_s = job.checkpoint_gb / at.safe_write
        worn_s = write_volume_tb_per_day(job.checkpoint_gb, 1.0) / at.endured
        if team.mode == "sync":
            return max(worn_s, drain_s / job.max_blocking)
        overlapped_s = drain_s if self.case.rule is not None else drain_s / job.max_overlap
        if team.mode == "async":
            return max(worn_s, overlapped_s, self.stall_s(at.gpus) + drain_s)
        return max(self._local_floor_s(at.gpus), max(worn_s, overlapped_s) / team.every)

    def _local_floor_s(self, gpus: float) -> float:
        ways = self.team.ways
        drained_s = max(bandwidth.local_drain_s(self.job, way, gpus) for way in ways)
        worn_s = max(bandwidth.worn_interval_s(self.job, way, gpus) for way in ways)
        return max(self.stall_s(gpus) + drained_s, worn_s)

    def _on_two_levels(
        self, at: Point, drain_s: float, restore_s: float, allowed: tuple[float, float]
    ) -> float | None:
        levels, repair = self.job.levels, self.job.repair
        assert levels is not None
        swaps = (0.0, 0.0) if repair is None else (repair.hardware_share, repair.swap_s)
        times = TwoLevels(
            interval_s=allowed[1],
            every=self.team.every,
            stall_s=self.stall_s(at.gpus),
            local_drain_s=max(
                bandwidth.local_drain_s(self.job, way, at.gpus) for way in self.team.ways
            ),
            drain_s=drain_s,
            local_restart_s=levels.local_restart_s,
            restart_s=self.job.restart_s,
            restore_s=restore_s,
            mtti_s=mtti_s(self.failures_per_gpu_day, at.gpus),
            remote_share=levels.remote_share,
            drain_slowdown=self.job.drain_slowdown,
            drain_restarts=levels.drain_restarts,
            hardware_share=swaps[0],
            swap_s=swaps[1],
        )
        low, high = allowed
        best_s = low if low == high else two_levels.best_interval_s(times, low, high)
        times = replace(times, interval_s=best_s)
        if times.stopped_share > MOST_STALLED:
            return None
        kept = two_levels.goodput(times) * self.job.progress
        return kept * (1.0 - self.waiting(at.gpus)) or None

    def _gpus_range(self) -> tuple[float, float]:
        """Return the fewest and the most GPUs in use that no purchase changes.

        Most of them are infinite where nothing but the purchase limits them. A local level needs
        room for its copies, and a restart from it within the time between failures; swaps must be
        short beside that, too. Copies of the model with so many micro-batches each are a range.
        """
        job, ways = self.job, self.team.ways
        low = float(max(job.gpus_min, *(way.least_gpus for way in ways)))
        most = job.gpus_max_in(*ways)
        highs = [math.inf if most is None else float(most)]
        if job.repair is not None and job.repair.swap_s > 0.0:
            highs.append(DAY_S / job.repair.shortest_mtti_s() / self.failures_per_gpu_day)
        if job.repair is not None and job.repair.shrinks:
            low = max(low, *(float(way.least_running * way.step_gpus) for way in ways))
        if self.team.mode == "local":
            low, high = self._local_range(low)
            highs.append(high)
        for way, batches in zip(ways, self.team.batches, strict=False):
            if batches is not None and way.gpus_max is not None:
                low = max(low, way.gpus_max // (batches[1] + 1) + 1.0)
                highs.append(float(way.gpus_max // batches[0]))
        return low, min(highs)

    def _local_range(self, low: float) -> tuple[float, float]:
        """Return the GPUs between room for local copies and a restart within the MTTI."""
        job, high = self.job, math.inf
        rate = self.failures_per_gpu_day / DAY_S
        for way in self.team.ways:
            if way.drives is None:
                return math.inf, -math.inf
            room_tb = bandwidth.local_room_tb(job, way, max(low, 1.0))
            if room_tb > way.drives.capacity_tb:
                if job.one_replica_writes:
                    return math.inf, -math.inf
                low = max(low, 1.0) * room_tb / way.drives.capacity_tb
            # restart + drain(1) / N <= 1 / (rate N), or restart + drain <= 1 / (rate N)
            drain_s = bandwidth.local_drain_s(job, way, 1.0)
            restart_s = job.longest_local_restart_s
            if job.one_replica_writes:
                high = min(high, 1.0 / (rate * (restart_s + drain_s)))
            elif restart_s > 0.0:
                high = min(high, (1.0 / rate - drain_s) / restart_s)
        return self._least_where_local_fits(low), high

    def _least_where_local_fits(self, low: float) -> float:
        """Return the fewest GPUs whose local checkpoint is safe within the longest interval."""

        def fits(gpus: float) -> bool:
            return self._local_floor_s(gpus) <= self.longest_interval_s(gpus) * (1.0 + ABOVE)

        low = max(low, 1.0)
        if fits(low):
            return low
        high = low
        while not fits(high):
            high *= 2.0
            if high > MOST_GPUS:
                return math.inf
        for _ in range(SECTIONS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high
