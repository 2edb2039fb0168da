"""Useful work over the GPUs in use: their best number for a purchase, and tangents for a program.

The search asks for the number that does most work (`BestUse`), of many purchases as arrays. The
program (`UsefulWork`) decides the number itself; way and spares are given. An operating point says
how many GPUs are in use and which bandwidth serves their checkpoints; the interval is then the best
one that the limits leave:

    V(p) = max over I of  N E(I; p) A(N) (N / N0)^-e,     p = (N, write, read, safe write, endured)
    W(p) = max { V(N', rest of p) : N' <= N }

For asynchronous checkpoints on one level W is concave in p (docs/optimisation.md), so a tangent
to W is never below it: a linear row that no plan breaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from planner.case import Case, System, Way
from planner.case.job import ROUNDING, Mode, stall_s
from planner.optimizer.bill import Counts, Flags, Numbers, Places, Stores, worn_interval_s
from planner.optimizer.work import ANY_SYSTEMS, TOLERANCE, Flow, JobRun, Ports, Uses, Work, staged
from planner.optimizer.work import most_gpus as most_gpus_of
from planner.sizing.checkpoint import write_volume_tb_per_day
from planner.sizing.goodput import MOST_EXPONENT, Drives, best_between
from planner.units import DAY_S

PRICES = ("per_useful_gpu_hour", "per_million_tokens")
"""Limits on money per useful work."""
PRICED = TOLERANCE + 1e-9
"""Share by which arrays may pass a limit on money per work; a plan is judged by its own bill."""
WORK_OBJECTIVES = frozenset({"goodput", "useful_gpus", "gpus"})
"""Objectives that measure the use of a purchase, whatever it costs."""
TRIED = 4
"""Numbers of GPUs of a purchase that are tried first."""
PARTS = 16
"""Parts of a range of fewer GPUs that are looked at together."""


# The best number of GPUs in use.


class BestUse(Work):
    """`Work` with the number of GPUs in use that does most of it."""

    # Scores: logarithms of useful work, or GPUs in use.

    def score_uses(self, use: Uses) -> tuple[Numbers, Numbers, Numbers]:
        """The score of each use, -inf where it is not allowed; its bound without waiting for
        repairs, and what waiting adds to that."""
        ran, limits = self.run(use), self.case.limits
        useful = use.gpus.astype(float) * ran.goodput
        pflops, allowed = useful * ran.pflops_per_gpu, ran.allowed.copy()
        for floor, value in (
            (limits["min_goodput"], ran.goodput),
            (limits["min_useful_gpus"], useful),
            (self.case.useful_pflops_floor(), pflops),
        ):
            if floor is not None:
                allowed &= value >= floor * (1 - TOLERANCE)
        if use.tco_usd is not None:
            allowed &= use.tco_usd * (1 - PRICED) <= self._may_cost(useful, pflops)
        score = self._score(use, ran.goodput, ran.pflops_per_gpu)
        patient = self._score(use, ran.patient, ran.most_pflops_per_gpu)
        if len(some := np.flatnonzero(self.jumps[use.team])):
            smooth = self.run(use.take(some), waits=False)
            patient[some] = self._score(use.take(some), smooth.patient, smooth.most_pflops_per_gpu)
        waited = np.zeros_like(score)
        if self.case.objective != "gpus":
            waited = np.log1p(-np.minimum(ran.waiting, 1.0 - 1e-16))
        return np.where(allowed, score, -np.inf), patient, waited

    def _score(self, use: Uses, goodput: Numbers, pflops_per_gpu: Numbers) -> Numbers:
        gpus = use.gpus.astype(float)
        if self.case.objective == "gpus":
            return np.where(goodput > 0, gpus, -np.inf)
        each = pflops_per_gpu if self.case.objective == "goodput" else 1.0
        with np.errstate(divide="ignore"):
            score: Numbers = np.log(gpus * goodput * each)
        return score

    @cached_property
    def _least_score(self) -> float:
        """The score below which a floor on the work that is scored is broken."""
        floors = {
            "goodput": self.case.useful_pflops_floor(),
            "useful_gpus": self.case.limits["min_useful_gpus"],
        }
        floor = floors.get(self.case.objective)
        return math.log(floor * (1 - TOLERANCE)) - ROUNDING if floor else -math.inf

    def _may_cost(self, gpus: Numbers | None, pflops: Numbers | None) -> Numbers:
        """The TCO that limits on money per useful work allow, USD; None is not known."""
        case, most = self.case, np.full(1, np.inf)
        per_hour, per_tokens = (case.limits[name] for name in PRICES)
        if per_hour is not None and gpus is not None:
            most = np.minimum(most, per_hour * case.rates.hours * gpus)
        if per_tokens is not None and pflops is not None:
            most = np.minimum(most, per_tokens * case.million_tokens_per_pflops() * pflops)
        return most

    def affordable(self, team: Places, score: Numbers) -> Numbers:
        """The TCO that limits on money per useful work allow up to a score, USD; with a law
        of scale by the work that is scored alone."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            work = score if self.case.objective == "gpus" else np.exp(score)
            each = None if self.concave is not None else self.tflops[team] * self.pflops_each
            if self.case.objective == "goodput":
                most = self._may_cost(None if each is None else work / each, work)
            else:
                most = self._may_cost(work, None if each is None else work * each)
        found: Numbers = np.broadcast_to(np.where(np.isnan(most), np.inf, most), score.shape)
        return found

    # How many may be in use.

    def systems_and_gpus(self, team: Places, systems: Counts) -> tuple[Counts, Counts]:
        """The systems and the most GPUs of purchases.

        Args:
            team: the team of each.
            systems: a row for each GPU system of the case, a column for each purchase.
        """
        count, most = np.zeros((2, len(team)), dtype=np.int64)
        for place in np.unique(team).tolist():
            here = team == place
            if not self.several[place]:
                count[here] = systems[self.rows_of[place][0], here]
                most[here] = self.most_gpus(place, count[here])
                continue
            for way, row in zip(self.teams[place], self.rows_of[place], strict=True):
                most[here] += self.most_gpus(way, systems[row, here])
            limit = min(self.gpus_max, float(ANY_SYSTEMS) * 64)
            most[here] = np.minimum(most[here], int(limit)) // self.step[place] * self.step[place]
            count[here] = ANY_SYSTEMS
        return count, most

    def most_gpus(self, number: int, systems: Counts) -> Counts:
        """Most GPUs that the job can use of a number of systems of one way's type."""
        way, job, step = self.case.ways[number], self.case.job, int(self.step[number])
        gpus, limit = most_gpus_of(job, way, systems), job.gpus_max
        if limit is not None:
            gpus = np.minimum(gpus, limit // way.step_gpus * way.step_gpus)
        lost_s = job.restart_s + job.interval.low_s
        if lost_s > 0.0:  # of more GPUs work is lost to the last float, and more with more
            most = MOST_EXPONENT / 2.0 * DAY_S / (float(self.rate[number]) * lost_s)
            gpus = np.minimum(gpus, max(int(most), int(self.least[number]) + step) // step * step)
        swaps_s = 0.0 if job.repair is None else job.repair.shortest_mtti_s()
        if swaps_s > 0.0:
            most = DAY_S / (float(self.rate[number]) * swaps_s) * (1.0 + 2.0 * ROUNDING)
            gpus = np.minimum(gpus, int(most) // step * step)
        if self.drives is None:
            return gpus
        most = self.drives.most_gpus(number, float(self.rate[number]), TOLERANCE)
        steps = np.floor(np.minimum(most, gpus) / step * (1.0 + ROUNDING) + ROUNDING)
        return np.asarray(steps.astype(np.int64) * step)

    def _served(self, team: Places, most: Counts, stores: Stores) -> tuple[Numbers, Counts]:
        """The fewest and the most GPUs between which all lie that are read for in time.

        Reads, for a restore and every second, rise with the GPUs, and so do the ports through
        which they come; storage gives the same.
        """
        job, asked = self.case.job, []
        if job.max_restore_s is not None:
            each_s = job.checkpoint_gb / job.max_restore_s
            once, each = self.fan_once[team] * each_s, self.fan_each[team] * each_s
            asked.append((once, each, stores.degraded_read))
        if job.ingest_per_gpu_gb_per_s > 0:
            each = np.full(len(team), job.ingest_per_gpu_gb_per_s)
            asked.append((np.zeros(len(team)), each, stores.read))
        sides: list[tuple[Numbers, Numbers | float]]
        low, high = np.zeros(len(team)), np.full(len(team), np.inf)
        factor = stores.read_factor * (1 + TOLERANCE)
        port, part = self.client_read[team] * factor, self.more_read[team] * factor
        for once, each, stored in asked:
            # once + each * gpus <= gives + more * gpus; a system used in part has its port, too
            whole = self.case.delivered_read_share * stored * (1 + TOLERANCE)
            sides = [(whole, 0.0), (part, port / self.usable[team])]
            for gives, more in sides:
                with np.errstate(divide="ignore", invalid="ignore"):
                    end = (gives - once) / (each - more)
                high = np.where((each > more) & (end < high), end, high)
                low = np.where((each < more) & (end > low), end, low)
                high = np.where((each == more) & (gives < once), 0.0, high)
        if job.bulk_needed_tb and job.ingest_per_gpu_gb_per_s > 0:
            most_staged = staged(self.case, stores) * (1 + TOLERANCE)
            high = np.minimum(high, most_staged / job.ingest_per_gpu_gb_per_s)
        step = self.step[team]
        over = np.ceil(np.maximum(most - high * (1 + ROUNDING), 0.0) / step)
        return low * (1 - ROUNDING), most - over.astype(np.int64) * step

    # The best of them.

    def best(
        self,
        team: Places,
        systems: Counts,
        most: Counts,
        stores: Stores,
        tco_usd: Numbers | None = None,
    ) -> tuple[Numbers, Counts]:
        """The best score of each purchase over the GPUs in use, and these GPUs.

        A few numbers are tried from the most on; where the bound of fewer is no better than the
        best of these, as nearly always, that is all.

        Args:
            team: the team that runs each.
            systems: GPU systems of its type in the cluster.
            most: the most GPUs that may be in use; see `systems_and_gpus`.
            stores: bandwidth and capacity of its storage.
            tco_usd: the TCO at least, where limits on money per useful work ask for it.
        """
        best, chosen = np.full(len(team), -np.inf), most.copy()
        step = self.step[team]
        least, most = self._served(team, most, stores)
        least = np.maximum(least, np.maximum(step, self.least[team]))

        def use(rows: Places, fewer: Counts) -> Uses:
            cost = None if tco_usd is None else tco_usd[rows]
            gpus = most[rows] - fewer * step[rows]
            return Uses(team[rows], systems[rows], gpus, stores.take(rows), cost)

        open_ = np.flatnonzero(most >= least)
        tried = np.tile(np.arange(TRIED), (len(open_), 1))
        some = most[open_, None] > tried * step[open_, None]
        score, patient = np.full((2, *tried.shape), -np.inf)
        rows = np.repeat(open_, TRIED)[some.ravel()]
        score[some], patient[some], _ = self.score_uses(use(rows, tried[some]))
        at, here = np.argmax(score, axis=1), np.arange(len(open_))
        best[open_] = score[here, at]
        chosen[open_] = most[open_] - at * step[open_]
        last = ((most[open_] - least[open_]) // step[open_]).astype(np.int64)
        done = (last < TRIED) | (
            ((patient[:, -1] <= patient[:, -2]) | self.shrinks)
            & ~self._may_be_better(use(open_, tried[:, -1]), patient[:, -1], best[open_])
        )
        if not done.all():
            self._try_fewer(use, open_[~done], last[~done], patient[~done], best, chosen)
        return best, chosen

    def _may_be_better(self, use: Uses, bound: Numbers, best: Numbers) -> Flags:
        """Mask of uses whose bound is better than the best so far, enough, and may be paid for."""
        fine = (bound > best) & (bound >= self._least_score)
        if use.tco_usd is not None:
            most_usd = self.affordable(use.team, bound) * (1 + ROUNDING)
            fine &= use.tco_usd * (1 - PRICED) <= most_usd
        return np.asarray(fine)

    def _may_reach_goodput(self, use: Uses, bound: Numbers) -> Flags:
        """Mask of ranges, by their fewest GPUs and the bound of their work, with enough goodput."""
        least, objective = self.case.limits["min_goodput"], self.case.objective
        if least is None or objective == "gpus":
            return np.ones(len(bound), dtype=bool)
        each: Numbers | float = 1.0
        if objective == "goodput":  # more GPUs together never compute less
            each = self.rates(use.team, use.gpus.astype(float), self.concave) * self.pflops_each
        with np.errstate(over="ignore"):
            most = np.exp(bound) / each
        return np.asarray(most >= least * (1 - TOLERANCE) * (1 - ROUNDING) * use.gpus)

    def _try_fewer(
        self,
        use: Callable[[Places, Counts], Uses],
        rows: Places,
        last: Counts,
        first: Numbers,
        best: Numbers,
        chosen: Counts,
    ) -> None:
        """Improve on the best of purchases with fewer GPUs in use.

        Ranges of numbers are divided while they may hold a better one: with fewer GPUs less is
        waited for, and work without waiting has one peak. So where the peak is not in a range none
        of it does more than the better of its ends would, if it waited as little as the fewest.

        Args:
            use: uses of purchases by their rows, and numbers of steps below the most.
            last: the most steps fewer of each.
            first: the bounds of the first tries, a row for each purchase.
        """
        peak, top = np.argmax(first, axis=1), first.max(axis=1)
        place, few, many = np.arange(len(rows)), np.full(len(rows), TRIED - 1), last
        at_few, parts = first[:, -1], np.arange(PARTS + 1)
        while len(place):
            grow = (many / few)[:, None] ** (parts / PARTS)  # fewer GPUs matter less and less
            ends = np.rint(few[:, None] * grow).astype(np.int64)
            place, few, many = np.repeat(place, PARTS), ends[:, :-1].ravel(), ends[:, 1:].ravel()
            tried, of = use(rows[place], many), rows[place]
            score, patient, waited = self.score_uses(tried)
            order = np.argsort(score, kind="stable")  # of each purchase the best comes last
            order = order[score[order] > best[of[order]]]
            best[of[order]], chosen[of[order]] = score[order], tried.gpus[order]
            order = np.argsort(patient, kind="stable")
            order = order[patient[order] > top[place[order]]]
            top[place[order]], peak[place[order]] = patient[order], many[order]
            patient = patient.reshape(-1, PARTS)
            at_few = np.column_stack([at_few, patient[:, :-1]]).ravel()
            bound = np.maximum(at_few, patient.ravel())
            bound[(few <= peak[place]) & (peak[place] <= many)] = np.inf
            bound = at_few if self.shrinks else bound + waited
            keep = (many - few > 1) & self._may_be_better(tried, bound, best[of])
            keep &= self._may_reach_goodput(tried, bound)
            place, few, many, at_few = place[keep], few[keep], many[keep], at_few[keep]


# Tangents.


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
"""Share by which a tangent is raised above the work, against rounding."""
BEYOND = 32
"""Places at which a tangent beyond the peak is checked."""


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

    def evaluate(self, point: Point) -> float:
        """Its value at a point."""
        each = zip(self.slopes, point, self.at, strict=True)
        return self.value + sum(slope * (x - x0) for slope, x, x0 in each if slope)


@dataclass(frozen=True)
class Team:
    """Operation of the job, decided by the search: GPU systems, the way on each, mode and spares.

    Each ``every``-th local checkpoint goes on to storage. ``spares`` are spare units bought, in
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
        found = float(self._run([at]).goodput[0])
        return found if found > 0.0 else None

    def values(self, points: Sequence[Point], measure: Measure) -> Numbers:
        """The useful work at points, nan where limits leave no interval."""
        ran = self._run(points)
        useful = np.array([point.gpus for point in points]) * ran.goodput
        useful = useful if measure == "gpus" else useful * ran.pflops_per_gpu
        return np.where(ran.goodput > 0.0, useful, np.nan)

    def _run(self, points: Sequence[Point]) -> JobRun:
        """The operation at points, whatever storage gives their bandwidth."""
        gpus, write, read, safe_write, endured = np.array(points, dtype=float).T
        size, ports = len(gpus), Ports(np.full(len(gpus), np.inf), np.full(len(gpus), np.inf))
        stores = Stores(*(np.full(size, np.inf) for _ in Stores.__dataclass_fields__))
        use = Uses(
            np.full(size, self._place),
            np.full(size, ANY_SYSTEMS),
            gpus,
            replace(stores, worn_s=worn_interval_s(self.case, endured)),
            ports=ports,
            spares=np.full(size, self.team.spares_counted),
            flow=Flow(write, read, safe_write, read, np.ones(size, dtype=bool)),
        )
        return self._work.run(use)

    def interval_s(self, at: Point) -> float | None:
        """The best interval; None where limits leave none."""
        ran = self._run([at])
        return float(ran.interval_s[0]) if ran.goodput[0] > 0.0 else None

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
        """The tangent by difference quotients, one-sided at the end of the allowed range."""
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
        return bool((np.array([tangent.evaluate(point) for point in points]) >= values).all())

    def _peak(self, at: Point, measure: Measure) -> float:
        """The GPUs in use, at most those given, that do most; where nothing is left the peak
        is at fewer."""

        def done(gpus: Numbers) -> Numbers:
            values = self.values([at._replace(gpus=n) for n in gpus.tolist()], measure)
            return np.where(np.isnan(values), -gpus, values)

        least = np.array([min(self.gpus_range[0], at.gpus)])
        return float(best_between(done, least, at.gpus)[0])

    def _gpus_range(self) -> tuple[float, float]:
        """Fewest and most GPUs in use by the job's limits, whatever is bought.

        Without such a limit the most are infinite. A local level needs room for its copies, a long
        enough interval, and restarts shorter than the time between failures, swaps likewise.
        """
        job, ways = self.job, self.team.ways
        low = float(max(job.gpus_min, *(way.least_gpus for way in ways)))
        high = math.inf if job.gpus_max is None else float(job.gpus_max)
        if job.repair is not None and job.repair.swap_s > 0.0:
            high = min(high, DAY_S / job.repair.shortest_mtti_s() / self.failures_per_gpu_day)
        if job.repair is not None and job.repair.shrinks:
            low = max(low, *(float(way.min_replicas * way.step_gpus) for way in ways))
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
        full = float(drives.full[place])
        if self.job.one_replica_writes:
            fits = full <= 1.0 and fixed_s + each_s <= longest_s
            low = low if fits else math.inf
        elif fixed_s >= longest_s:
            low = math.inf
        else:
            low = max(low, full, each_s / (longest_s - fixed_s))
        return low, drives.most_gpus(place, self.failures_per_gpu_day, 0.0)
