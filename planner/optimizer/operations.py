"""How jobs run on many purchases at once, as arrays: what `operate.operate` gives for one.

An entry is a use of a purchase. Goodput agrees with `planner/sizing/goodput.py` to 1e-12; the tests
hold it against the code for one use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, bandwidth
from planner.case.bandwidth import ends
from planner.case.model import Mode, Storage
from planner.case.quantities import ROUNDING
from planner.optimizer.goals import FLOOR_TOLERANCE
from planner.optimizer.intervals import Drives, Local, Times, best_between, optimal_period
from planner.optimizer.kernel import Flags, Numbers, Places
from planner.optimizer.operate import MOST_STALLED, TOLERANCE
from planner.optimizer.units_out import Left, Units, erlang_b
from planner.sizing.availability import Restarts
from planner.sizing.throughput import ScaleLaw, concave_above
from planner.units import DAY_S


@dataclass(frozen=True)
class Stores:
    """What storage gives, an entry for each purchase.

    Attributes:
        write, read: nameplate bandwidth, GB/s; infinite where it sets no bound.
        safe_write, safe_read: the same with units down, as limits count on it.
        worn_s: the shortest interval that the drives endure, s.
        write_factor, read_factor: of the clients' limits, by the storage families in use.
        plate: nameplate write bandwidth that is sustained, GB/s; ``write`` takes a checkpoint.
        bulk_read: nameplate read bandwidth of the bulk tier, GB/s.
        bulk_tb: usable capacity of the bulk tier, TB.
    """

    write: Numbers
    read: Numbers
    safe_write: Numbers
    safe_read: Numbers
    worn_s: Numbers
    write_factor: Numbers
    read_factor: Numbers
    plate: Numbers
    bulk_read: Numbers
    bulk_tb: Numbers

    def at(self, places: Places | Flags) -> Stores:
        """Return some of them."""
        write, read = self.write[places], self.read[places]
        return Stores(
            write,
            read,
            write if self.safe_write is self.write else self.safe_write[places],
            read if self.safe_read is self.read else self.safe_read[places],
            self.worn_s[places],
            self.write_factor[places],
            self.read_factor[places],
            write if self.plate is self.write else self.plate[places],
            self.bulk_read[places],
            self.bulk_tb[places],
        )

    @classmethod
    def joined(cls, parts: Sequence[Stores]) -> Stores:
        """Return several one after the other."""
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


@dataclass(frozen=True)
class Uses:
    """How purchases are used, an entry for each: what `operate.operate` takes, as arrays.

    Attributes:
        way: the place of the way in `Case.ways`.
        systems: GPU systems of the type in the cluster.
        gpus: GPUs in use, whole steps of the way.
        stores: what the storage of each gives.
        tco_usd: what each costs at least; None where no limit on money per useful work asks.
    """

    way: Places
    systems: NDArray[np.int64]
    gpus: NDArray[np.int64]
    stores: Stores
    tco_usd: Numbers | None = None

    def twice(self, some: NDArray[np.int64], others: NDArray[np.int64]) -> Uses:
        """Return the purchases with so many GPUs in use, and after these with so many others."""
        places, gpus = np.tile(np.arange(len(self.way)), 2), np.concatenate([some, others])
        cost = None if self.tco_usd is None else self.tco_usd[places]
        return Uses(self.way[places], self.systems[places], gpus, self.stores.at(places), cost)


class Flow(NamedTuple):
    """Bandwidth that reaches jobs, GB/s: of storage through the ports of systems in use, and with
    units down; and where any ``moves`` at all (elsewhere it counts as 1)."""

    write: Numbers
    read: Numbers
    safe_write: Numbers
    safe_read: Numbers
    moves: Flags


class Ran(NamedTuple):
    """How purchases run: ``allowed`` says where every limit on times and counts is met.

    ``goodput`` counts what waiting and swaps take; ``patient`` leaves out the waiting, so that it
    is no less with more spares. Both are 0 where nothing can run at all, whatever is allowed. GPUs
    do ``most_pflops_per_gpu`` by a law of scale that is no less, and concave.
    """

    allowed: Flags
    goodput: Numbers
    patient: Numbers
    interval_s: Numbers
    pflops_per_gpu: Numbers
    most_pflops_per_gpu: Numbers


PRICED = FLOOR_TOLERANCE + 1e-9
"""By so much a purchase may pass a limit on money per useful work here, as a share: sums of arrays
and of one purchase differ by rounding, and the plan itself is judged by its own bill."""
PRICES = ("per_useful_gpu_hour", "per_million_tokens")
"""Limits on money per useful work."""
WORTH = frozenset({"goodput", "useful_gpus", "gpus"})
"""Objectives that a use of a purchase is worth more of, whatever it costs."""


def covers(case: Case, mode: Mode) -> bool:
    """Say whether the operation of a case is one that `Operation` knows."""
    return not case.elastic


def ways_to_save(case: Case) -> Iterator[tuple[Case, Mode]]:
    """Yield the modes of a case, each with it; of a local level with each k alone, because work
    has one peak in the GPUs in use for each k by itself."""
    for mode in case.job.modes:
        for one in case.by_every if mode == "local" else (case,):
            yield one, mode


TRIED = 4
"""So many uses of a purchase are looked at first: two are hardly ever enough, and asking costs."""


class Operation:
    """The job of a case in one mode, over arrays of uses; of a local level with one k. Formulas:
    `planner/sizing/goodput.py`, `planner/sizing/two_levels.py`."""

    def __init__(self, case: Case, mode: Mode) -> None:
        assert covers(case, mode)
        self.case, self.mode = case, mode
        self.ran = 0  # uses that were looked at
        job, ways = case.job, case.ways
        owner = [system for system in case.systems for _ in system.ways]

        def each(values: Sequence[float]) -> Numbers:
            return np.array(values, dtype=float)

        self.usable = each([way.usable_gpus for way in ways])
        self.least = each([max(job.gpus_min, way.least_gpus) for way in ways])
        most = (job.gpus_max_in(way) for way in ways)
        self.gpus_max = each([np.inf if limit is None else limit for limit in most])
        self.rate = each([way.failures_per_gpu_day for way in ways])
        self.tflops = each([way.tflops_per_gpu for way in ways]) * (job.mfu or 0.0)
        self.copy_s = each([bandwidth.copy_s(job, way, 1) for way in ways])
        self.client_write = each([system.client_write_gb_per_s for system in owner])
        self.client_read = each([system.client_read_gb_per_s for system in owner])
        self.of_replica = each([-(-(w.replica_gpus or 0) // w.usable_gpus) for w in ways])
        fan = [job.fan_out_terms(way.replica_gpus) for way in ways]
        self.fan_once, self.fan_each = each([a for a, _ in fan]), each([c for _, c in fan])
        self.units = [way.spare_unit for way in ways]
        self.step = np.array([way.step_gpus for way in ways], dtype=np.int64)
        self.drives = Drives(case) if mode == "local" else None
        self.concave = None if job.scale is None else concave_above(job.scale)
        self.even = job.scale is not None and job.scale.even
        self.filled = np.array([way.gpus_max or 0 for way in ways], dtype=np.int64)
        self.flat_pflops = each([way.tflops_per_gpu for way in ways]) * (job.mfu or 0.0) * 1e-3
        per_hour, per_tokens = (case.limits[name] for name in PRICES)
        self.usd_per_gpu = None if per_hour is None else per_hour * case.rates.hours
        tokens = 0.0 if per_tokens is None else case.million_tokens_per_pflops()
        self.usd_per_pflops = None if per_tokens is None else per_tokens * tokens

    def flow(self, use: Uses) -> Flow:
        """Return the bandwidth that reaches the jobs."""
        job, way, stores = self.case.job, use.way, use.stores
        used = np.ceil(use.gpus / self.usable[way] - ROUNDING)
        writers = self.of_replica[way] if job.one_replica_writes else used
        readers = self.of_replica[way] if job.one_replica_reads else used
        write_most = self.client_write[way] * writers * stores.write_factor
        read_most = self.client_read[way] * readers * stores.read_factor
        write = np.minimum(self.case.delivered_write * stores.write, write_most)
        read = np.minimum(self.case.delivered_read * stores.read, read_most)
        safe_write, safe_read = write, read
        if stores.safe_write is not stores.write:
            safe_write = np.minimum(self.case.delivered_write * stores.safe_write, write_most)
        if stores.safe_read is not stores.read:
            safe_read = np.minimum(self.case.delivered_read * stores.safe_read, read_most)
        moves: Flags = (safe_write > 0) & (safe_read > 0)
        if not moves.all():
            write, read = np.where(moves, write, 1.0), np.where(moves, read, 1.0)
            safe_write = np.where(moves, safe_write, 1.0)
            safe_read = np.where(moves, safe_read, 1.0)
        return Flow(write, read, safe_write, safe_read, moves)

    def most_pflops(self, way: Places, gpus: Numbers) -> Numbers:
        """Return the most that each GPU does in jobs of so many or more, PFLOP/s."""
        each: Numbers = self.tflops[way] * 1e-3
        return each if self.concave is None else each * self._scaled(way, gpus, self.concave)

    def run(self, use: Uses, *, waits: bool = True) -> Ran:
        """Return how purchases run at their best interval; without ``waits`` if repairs took none
        of their time."""
        job, way = self.case.job, use.way
        gpus = use.gpus.astype(float)
        used = np.ceil(gpus / self.usable[way] - ROUNDING)
        mtti = DAY_S / (self.rate[way] * gpus)
        shrinks = job.repair is not None and job.repair.shrinks and len(way) > 0
        waiting, mends = np.zeros(1), np.ones(1, bool)
        if waits:
            waiting, mends = self.waiting(use, mtti)
        allowed = self._gpus_allowed(use, used) & mends
        write, read, safe_write, safe_read, moves = self.flow(use)
        fan = self.fan_once[way] + self.fan_each[way] * gpus
        if job.max_restore_s is not None:
            slowest = fan * job.checkpoint_gb / safe_read
            allowed &= slowest <= job.max_restore_s * (1 + TOLERANCE)
        allowed &= self._fed(use, used)
        transfer = job.checkpoint_gb / write
        stall = transfer if self.mode == "sync" else self.stalls(way, gpus)
        drain = np.zeros_like(transfer) if self.mode == "sync" else transfer
        local = None if self.drives is None else self.drives.of(way, gpus)
        every = 1
        if local is not None and self.drives is not None:
            every, allowed = local.every, allowed & local.fits
            allowed &= self.drives.longest_s + local.drain_s <= mtti * (1 + TOLERANCE)
        low = self.shortest(use, stall, job.checkpoint_gb / safe_write, local)
        stopped = stall + job.drain_slowdown * drain / every
        restore = fan * job.checkpoint_gb / read
        times = Times(stopped, drain, job.restart_s + restore, restore, low, local)
        if shrinks:
            fanned = self.fan_each[way] * gpus * job.checkpoint_gb / read
            patient, runs = self._at_most(use, times, fanned, mtti)
            goodput, interval = patient, low
            if waits:
                goodput, interval, runs = self._with_fewer(use, times, mtti)
        else:
            interval, runs = self.interval(times, mtti)
            runs &= stopped <= MOST_STALLED * interval
            patient = np.exp(times.log_kept(interval, mtti)) * self.kept_by_swaps(mtti)
            goodput = patient * (1.0 - waiting)
        progress = job.progress
        patient, goodput = (
            np.where(moves & runs, progress * kept, 0.0) for kept in (patient, goodput)
        )
        each = most_each = self._rates(use, job.scale) * 1e-3
        if self.concave is not job.scale:
            most_each = self._rates(use, self.concave) * 1e-3
        return Ran(allowed & (goodput > 0), goodput, patient, interval, each, most_each)

    def kept_by_swaps(self, mtti: Numbers) -> Numbers:
        """Return what swaps leave of goodput with one level; of two they are in its restarts."""
        repair = self.case.job.repair
        if repair is None or self.drives is not None:
            return np.ones_like(mtti)
        return 1.0 + repair.hardware_share * np.expm1(-repair.swap_s / mtti)

    # A job that goes on with fewer replicas.

    def _at_most(
        self, use: Uses, t: Times, fanned: Numbers, mtti: Numbers
    ) -> tuple[Numbers, Flags]:
        """Return what goodput no more GPUs than those in use pass, as a share of them, whatever
        units are out, and where there is an interval.

        Of N in use x do the work on average. At least so many fail as work sees, and a restart sees
        `MOST_SPARED` of those less at most. So no more is kept than by x without units out, such
        restarts and what the N allow. The logarithm of that, and of the rate of so many, is concave
        in log x: where a few more would do more it is most at N; elsewhere nothing is said.

        Args:
            use: the N.
            t: their times.
            fanned: of each recovery, what grows with the GPUs that read, s.
            mtti: at the failures of all N, s.
        """
        repair = self.case.job.repair
        assert repair is not None
        left_out = self._restarts().left_out()
        seen = 1.0 - repair.hardware_share * left_out * (1.0 - math.exp(-MOST_SPARED))
        interval, runs = self.interval(t, mtti)
        runs &= t.stopped <= MOST_STALLED * interval
        less = math.exp(-RISING)
        wider = replace(t, recovery=t.recovery + fanned * math.expm1(RISING))
        at, beyond = (
            each.log_kept(interval, mean, seen) + np.log(self.kept_by_swaps(mean))
            for each, mean in ((t, mtti), (wider, mtti * less))
        )
        now, then = (self._scaled(use.way, use.gpus / s, self.concave) for s in (1.0, less))
        scaled = np.log(then / now)
        with np.errstate(invalid="ignore"):
            rises = beyond + scaled + RISING >= at
        unsaid = np.where(scaled + RISING >= 0.0, 1.0, np.inf)
        return np.where(rises, np.exp(at), unsaid), runs

    def _with_fewer(self, use: Uses, t: Times, mtti: Numbers) -> tuple[Numbers, Numbers, Flags]:
        """Return what is kept at the best interval, that interval, and where there is one."""
        rule, left = self.case.job.interval, self._left(use)
        seen = mtti / np.maximum(left.failing, 1e-300)
        more = t.restore + t.drain if t.local is None else t.local.drain_s
        rests = left.resting / np.maximum(left.failing, 1e-300)
        low, there = self._bounds(t, mtti)

        def worth(interval: Numbers) -> Numbers:
            kept = left.work(interval, more) * (1.0 - t.stopped / interval)
            return np.asarray(kept * np.exp(t.log_rework(interval, seen, rests)))

        def done(interval: Numbers) -> tuple[Numbers, Numbers]:
            kept, rested = t.log_kept(interval, seen), t.log_kept(interval, seen, rests)
            some = np.isfinite(kept)
            spared = np.exp(np.where(some, rested, 0.0) - np.where(some, kept, 0.0))
            return np.exp(kept), np.maximum(left.work(interval, more) * spared, 0.0)

        def capped(interval: Numbers) -> Numbers:
            kept, works = done(interval)
            return np.asarray(kept * np.minimum(works, 1.0))

        interval = low if rule.policy != "optimal" else best_between(worth, low, rule.high_s)
        if rule.policy == "optimal" and (done(interval)[1] > 1.0).any():
            interval = best_between(capped, low, rule.high_s)
        there &= t.stopped <= MOST_STALLED * interval
        return capped(interval) * self.kept_by_swaps(seen), interval, there

    def _restarts(self) -> Restarts:
        """Return how the job restarts; reading back, and captures to be waited for, come on top."""
        job, repair = self.case.job, self.case.job.repair
        assert repair is not None
        grow_s = job.restart_s
        after: tuple[tuple[float, float], ...] = ((1.0, grow_s),)
        if self.drives is not None:
            far, grow_s = self.drives.levels.remote_share, self.drives.levels.local_restart_s
            after = ((1.0 - far, grow_s), (far, job.restart_s))
        return Restarts(repair.hardware_share, repair.repair_s, after, grow_s, 0.0)

    def _left(self, use: Uses) -> Left:
        """Return what units out leave of the jobs, by their units and replicas."""
        repair = self.case.job.repair
        assert repair is not None
        parts, places, how = [], [], self._restarts()
        for number in np.flatnonzero(np.bincount(use.way)).tolist():
            here, way, unit = (
                np.flatnonzero(use.way == number),
                self.case.ways[number],
                self.units[number],
            )
            gpus = use.gpus[here].astype(float)
            counts = use.systems[here].astype(float) * unit.per_system
            if repair.spares is not None:
                counts = np.ceil(gpus / unit.holding_gpus) + repair.spares
            step, rate = way.step_gpus, way.failures_per_gpu_day
            most = int(use.gpus[here].max()) // step
            units = Units(unit.holding_gpus, step, way.least_running, most, repair.load(rate, step),
                          how)  # fmt: skip
            parts.append(Left.of(units, counts, np.floor(gpus / step + ROUNDING)))
            places.append(here)
        return Left.joined(parts, np.concatenate(places))

    def worth(self, use: Uses) -> tuple[Numbers, Numbers]:
        """Return the score of each use, -inf where it is not allowed, and what no spares pass.

        Scores are those of the search: logarithms of useful work, or GPUs in use.
        """
        ran, limits = self.run(use), self.case.limits
        gpus = use.gpus.astype(float)
        allowed, pflops = ran.allowed.copy(), self.case.useful_pflops_floor()
        reached = (
            (limits["min_goodput"], ran.goodput),
            (limits["min_useful_gpus"], gpus * ran.goodput),
            (pflops, gpus * ran.goodput * ran.pflops_per_gpu),
        )
        for floor, value in reached:
            if floor is not None:
                allowed &= value >= floor * (1 - FLOOR_TOLERANCE)
        if use.tco_usd is not None:
            useful = gpus * ran.goodput
            most = self._may_cost(useful, useful * ran.pflops_per_gpu)
            allowed &= use.tco_usd * (1 - PRICED) <= most
        score = self._score(use, ran.goodput, ran.pflops_per_gpu)
        return np.where(allowed, score, -np.inf), self._patient(use, ran)

    def without_waiting(self, use: Uses) -> Numbers:
        """Return what no spares pass: the score of each use were repairs never waited for."""
        return self._patient(use, self.run(use, waits=False))

    def _patient(self, use: Uses, ran: Ran) -> Numbers:
        return self._score(use, ran.patient, ran.most_pflops_per_gpu)

    def _score(self, use: Uses, goodput: Numbers, pflops_per_gpu: Numbers) -> Numbers:
        gpus = use.gpus.astype(float)
        if self.case.objective == "gpus":
            return np.where(goodput > 0, gpus, -np.inf)
        each = pflops_per_gpu if self.case.objective == "goodput" else 1.0
        with np.errstate(divide="ignore"):
            score: Numbers = np.log(gpus * goodput * each)
        return score

    def _may_cost(self, gpus: Numbers | None, pflops: Numbers | None) -> Numbers:
        """Return the TCO that limits on money per useful work allow, USD; of work that is not known
        they are left out."""
        most = np.full(1, np.inf)
        for usd, work in ((self.usd_per_gpu, gpus), (self.usd_per_pflops, pflops)):
            if usd is not None and work is not None:
                most = np.minimum(most, usd * work)
        return most

    def affordable(self, way: Places, score: Numbers) -> Numbers:
        """Return the TCO that limits on money per useful work allow of what scores no more, USD.

        With a law of scale that is told only of the work that is scored.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            work = score if self.case.objective == "gpus" else np.exp(score)
            each = None if self.concave is not None else self.flat_pflops[way]
            if self.case.objective == "goodput":
                most = self._may_cost(None if each is None else work / each, work)
            else:
                most = self._may_cost(work, None if each is None else work * each)
        found: Numbers = np.broadcast_to(np.where(np.isnan(most), np.inf, most), score.shape)
        return found

    def best(
        self,
        way: Places,
        systems: NDArray[np.int64],
        most: NDArray[np.int64],
        stores: Stores,
        tco_usd: Numbers | None = None,
    ) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the best score of each purchase over the GPUs in use, and those GPUs.

        Fewer GPUs are tried, twice as many uses each time, until what would be without waiting is
        no better than the best so far, and falls: useful work without waiting has one peak, so no
        fewer are better then. Where it rises at first they begin at the peak: with fewer GPUs less
        is waited for, so no more are better than it; of a job that goes on with fewer replicas that
        is not known, nor where a table of scale is not concave.

        Args:
            way: the place in `Case.ways` of the way in which each runs.
            systems: GPU systems of its type in the cluster.
            most: the most GPUs that may be in use; see `most_gpus`.
            stores: what its storage gives.
            tco_usd: what it costs at least, where limits on money per useful work ask.
        """
        best, chosen = np.full(len(way), -np.inf), most.copy()
        step = self.step[way]
        least, most = self._served(way, most, stores)
        least = np.maximum(least, np.maximum(step, self.least[way]))
        # Where the interval follows from the time between interruptions, fewer GPUs may make
        # possible what more cannot do at all.
        rises = self.case.job.interval.policy == "lost_work"
        dips = self.concave != self.case.job.scale and not self.even  # then no peak is known
        dips |= self.case.job.repair is not None and self.case.job.repair.shrinks
        open_, first = np.flatnonzero(most >= least), 0
        while len(open_):
            tried = np.arange(first, max(TRIED, 2 * first))
            first = int(tried[-1]) + 1
            gpus = most[open_, None] - tried * step[open_, None]
            some = gpus > 0
            rows = np.repeat(open_, len(tried))[some.ravel()]
            self.ran += len(rows)
            score, patient = np.full((2, *gpus.shape), -np.inf)
            cost = None if tco_usd is None else tco_usd[rows]
            use = Uses(way[rows], systems[rows], gpus[some], stores.at(rows), cost)
            score[some], patient[some] = self.worth(use)
            at, here = np.argmax(score, axis=1), np.arange(len(open_))
            better = score[here, at] > best[open_]
            best[open_[better]] = score[here, at][better]
            chosen[open_[better]] = gpus[here, at][better]
            falls = patient[:, -1] <= patient[:, -2]
            if rises:
                falls &= np.isfinite(patient[:, -1])
            poor = patient[:, -1] <= best[open_]
            if tco_usd is not None:
                most_usd = self.affordable(way[open_], patient[:, -1])
                poor |= tco_usd[open_] * (1 - PRICED) > most_usd * (1 + ROUNDING)
            done = (falls & poor) | (gpus[:, -1] <= least[open_])
            up = open_[~done & ~falls & np.isfinite(patient[:, 0])]
            if first == TRIED and not dips and len(up):
                cost = None if tco_usd is None else tco_usd[up]
                of = Uses(way[up], systems[up], most[up], stores.at(up), cost)
                most[up] -= self._above_the_peak(of, least[up])
            open_ = open_[~done]
        return best, chosen

    def _above_the_peak(self, use: Uses, least: Numbers) -> NDArray[np.int64]:
        """Return how many GPUs fewer than in use leave the most useful work in the second tries.

        None where that may not be, nor where systems are used in part: their ports come in jumps.
        """
        step = self.step[use.way]
        low, high = np.ones_like(step), ((use.gpus - least) // step).astype(np.int64)
        high = np.where(step % self.usable[use.way] == 0, np.maximum(high, low), low)
        while (low < high).any():
            middle = (low + high + 1) // 2
            self.ran += 2 * len(low)
            tried = use.gpus - middle * step
            at, before = self.without_waiting(use.twice(tried, tried + step)).reshape(2, -1)
            low, high = np.where(at > before, middle, low), np.where(at > before, high, middle - 1)
        peak = use.gpus - low * step
        at, _ = self.worth(replace(use, gpus=peak))
        if self.even:
            return self._no_better_above(use, peak, at)
        return np.where(np.isfinite(at), np.maximum(low - TRIED - 1, 0) * step, 0)

    def _no_better_above(
        self, use: Uses, peak: NDArray[np.int64], at: Numbers
    ) -> NDArray[np.int64]:
        """Return the same where copies of the model share micro-batches evenly.

        The peak is of what no GPUs pass: of those above it are left out whose bound is no more than
        what the peak, or the end of a step below it, is worth.
        """
        step, filled = self.step[use.way], self.filled[use.way]
        end = np.maximum(filled // -(-filled // peak) // step, 1) * step
        worth = np.maximum(at, self.worth(replace(use, gpus=end))[0])
        high = (use.gpus - peak) // step
        low = np.zeros_like(high)
        while (low < high).any():
            middle = (low + high) // 2
            self.ran += len(low)
            may = self.without_waiting(replace(use, gpus=use.gpus - middle * step)) > worth
            low = np.where(may, low, np.minimum(middle + 1, high))
            high = np.where(may, middle, high)
        return np.where(np.isfinite(worth), np.maximum(low - TRIED, 0) * step, 0)

    def _served(
        self, way: Places, most: NDArray[np.int64], stores: Stores
    ) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the fewest and the most GPUs between which all lie that are read for in time.

        What is to be read, for a restore and every second, rises with the GPUs, and so do the
        ports through which it comes, unless one replica alone reads in a restore; what storage
        gives does not.
        """
        job, asked = self.case.job, []
        if job.max_restore_s is not None:
            each_s = job.checkpoint_gb / job.max_restore_s
            once, each = self.fan_once[way] * each_s, self.fan_each[way] * each_s
            asked.append((once, each, stores.safe_read, job.one_replica_reads))
        if job.ingest_per_gpu_gb_per_s > 0:
            each = np.full(len(way), job.ingest_per_gpu_gb_per_s)
            asked.append((np.zeros(len(way)), each, stores.read, False))
        sides: list[tuple[Numbers, Numbers | float]]
        low, high = np.zeros(len(way)), np.full(len(way), np.inf)
        port = self.client_read[way] * stores.read_factor * (1 + TOLERANCE)
        for once, each, stored, by_one_replica in asked:
            # once + each * gpus <= gives + more * gpus
            whole = self.case.delivered_read * stored * (1 + TOLERANCE)
            if by_one_replica:
                sides = [(np.minimum(whole, port * self.of_replica[way]), 0.0)]
            else:  # a system that is used in part has its port, too
                sides = [(whole, 0.0), (port, port / self.usable[way])]
            for gives, more in sides:
                with np.errstate(divide="ignore", invalid="ignore"):
                    end = (gives - once) / (each - more)
                high = np.where((each > more) & (end < high), end, high)
                low = np.where((each < more) & (end > low), end, low)
                high = np.where((each == more) & (gives < once), 0.0, high)
        if job.bulk_needed_tb and job.ingest_per_gpu_gb_per_s > 0:
            staged = self.staged(stores) * (1 + TOLERANCE) / job.ingest_per_gpu_gb_per_s
            high = np.minimum(high, staged)
        step = self.step[way]
        over = np.ceil(np.maximum(most - high * (1 + ROUNDING), 0.0) / step)
        return low * (1 - ROUNDING), most - over.astype(np.int64) * step

    def _gpus_allowed(self, use: Uses, used: Numbers) -> Flags:
        job = self.case.job
        hot = job.hot_spares + np.ceil(job.hot_share * used - ROUNDING)
        allowed: Flags = (use.gpus >= self.least[use.way]) & (use.gpus >= 1)
        allowed &= used + np.where(used > 0, hot, 0.0) <= use.systems
        return allowed & (use.gpus <= self.gpus_max[use.way])

    def _fed(self, use: Uses, used: Numbers) -> Flags:
        """Say where training data arrives as fast as it is asked for; all systems in use read."""
        each = self.case.job.ingest_per_gpu_gb_per_s
        if each == 0.0:
            return np.ones(len(use.way), dtype=bool)
        ports = self.client_read[use.way] * used * use.stores.read_factor
        arrives = np.minimum(self.case.delivered_read * use.stores.read, ports)
        if self.case.job.bulk_needed_tb:
            arrives = np.minimum(arrives, self.staged(use.stores))
        return use.gpus * each <= arrives * (1 + TOLERANCE)

    def staged(self, stores: Stores) -> Numbers:
        """Return the training data that comes from the bulk tier to flash, GB/s."""
        write = self.case.job.staged_share * self.case.delivered_write * stores.plate
        return np.asarray(np.minimum(self.case.delivered_read * stores.bulk_read, write))

    def stalls(self, way: Places, gpus: Numbers) -> Numbers:
        """Return how long GPUs stand still for an asynchronous checkpoint, s; see `levels`."""
        job = self.case.job
        return job.stall_s + self.copy_s[way] / (1.0 if job.one_replica_writes else gpus)

    def most_gpus(self, number: int, systems: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the most GPUs that the job can use of so many systems; see `most_gpus`."""
        gpus = most_gpus(self.case, number, systems)
        if self.drives is None:
            return gpus
        most = self.drives.most_gpus(number, float(self.rate[number]), TOLERANCE)
        step = int(self.step[number])
        steps = np.floor(np.minimum(most, gpus) / step * (1.0 + ROUNDING) + ROUNDING)
        return np.asarray(steps.astype(np.int64) * step)

    def shortest(
        self, use: Uses, stall: Numbers, transfer: Numbers, local: Local | None
    ) -> Numbers:
        """Return the shortest interval within the limits, s."""
        job = self.case.job
        if local is not None:
            remote = transfer if self.case.rule is not None else transfer / job.max_overlap
            remote = np.maximum(use.stores.worn_s, remote) / local.every
            return np.maximum(np.maximum(stall + local.drain_s, local.worn_s), remote)
        if self.mode == "sync":
            return np.maximum(use.stores.worn_s, transfer / job.max_blocking)
        low = np.maximum(use.stores.worn_s, stall + transfer)
        return low if self.case.rule is not None else np.maximum(low, transfer / job.max_overlap)

    def interval(self, t: Times, mtti: Numbers) -> tuple[Numbers, Flags]:
        """Return the best interval within the limits, and where there is any."""
        rule = self.case.job.interval
        low, there = self._bounds(t, mtti)
        if rule.policy != "optimal":
            return low, there
        if t.local is not None:
            return best_between(lambda at: t.log_worth(at, mtti), low, rule.high_s), there
        return np.clip(mtti * optimal_period(t.stopped / mtti), low, rule.high_s), there

    def _bounds(self, t: Times, mtti: Numbers) -> tuple[Numbers, Flags]:
        """Return the shortest interval that may be chosen, or the one that is set, and where it is
        one within the limits."""
        rule = self.case.job.interval
        if rule.policy != "optimal":
            at = np.full_like(mtti, rule.low_s) if rule.policy == "fixed" else rule.kappa * mtti
            return at, at * (1 + TOLERANCE) >= t.low
        low = np.maximum(t.low, rule.low_s)
        return np.minimum(low, rule.high_s), low <= rule.high_s * (1 + TOLERANCE)

    def waiting(self, use: Uses, mtti: Numbers) -> tuple[Numbers, Flags]:
        """Return the share of time waited for repairs, and where enough spares stand by."""
        repair = self.case.job.repair
        if repair is None:
            return np.zeros_like(mtti), np.ones(len(mtti), dtype=bool)
        waiting = np.zeros_like(mtti)
        least = np.array([way.least_running * way.step_gpus for way in self.case.ways])
        mends: Flags = mtti >= repair.shortest_mtti_s() * (1.0 - 1e-9)
        for number in np.flatnonzero(np.bincount(use.way)).tolist():
            here, unit = np.flatnonzero(use.way == number), self.units[number]
            gpus, rate = use.gpus[here].astype(float), float(self.rate[number])
            if unit.in_rack:
                odds = gpus * repair.rack_odds(unit, rate)
                waiting[here] = odds / (1.0 + odds)
                continue
            left = use.systems[here] * unit.per_system - np.ceil(gpus / unit.holding_gpus)
            if repair.spares is not None:
                mends[here] &= left >= repair.spares
                left = np.full_like(left, repair.spares)
            mends[here] &= left >= 0
            if repair.shrinks:
                mends[here] &= gpus >= least[number]
                continue
            waiting[here] = erlang_b(np.maximum(left, 0.0), gpus * repair.load(rate, 1))
        return waiting, mends

    def _rates(self, use: Uses, law: ScaleLaw | None) -> Numbers:
        """Return the rate of a GPU in a job of so many, TFLOP/s, as the job uses it."""
        rates: Numbers = self.tflops[use.way]
        return rates if law is None else rates * self._scaled(use.way, use.gpus.astype(float), law)

    def _scaled(self, way: Places, gpus: Numbers, law: ScaleLaw | None) -> Numbers:
        """Return what a law of scale leaves of the rate of a GPU in jobs of so many."""
        if law is None:
            return np.ones(len(way))
        each, places = np.unique(np.stack([way, gpus]), axis=1, return_inverse=True)
        of = [(one.bubble, one.gpus_max) for one in self.case.ways]
        shares = [law.share(n, *of[int(w)]) for w, n in each.T.tolist()]
        return np.array(shares, dtype=float)[np.ravel(places)]


MOST_SPARED = math.log(4.0)
"""Restarts see at least a quarter of the failures that work sees: after one that takes a unit out
a third or more of what ran goes on, or the job waits."""
RISING = 1e-4
"""By what share more GPUs are looked at to see whether they would do more."""


def nameplates(store: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """Return the (read, write) nameplate bandwidth of so many units of an item, GB/s."""
    if not store.segments:
        return store.read_gb_per_s * units, store.write_gb_per_s * units
    known, read, write = (np.array(side, dtype=float) for side in zip(*ends(store), strict=True))
    inside = (units >= known[0]) & (units <= known[-1])
    return (
        np.where(inside, np.interp(units, known, read), 0.0),
        np.where(inside, np.interp(units, known, write), 0.0),
    )


def degraded(store: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """Return (read, write) with ``units_lost`` of so many units down, GB/s; see `bandwidth`."""
    left = units - store.units_lost
    if not store.segments:
        return store.read_gb_per_s * left, store.write_gb_per_s * left
    first = store.segments[0]
    few = left < first.low
    read, write = nameplates(store, np.maximum(left, first.low))
    return (
        np.where(few, first.read_at_low * left / first.low, read),
        np.where(few, first.write_at_low * left / first.low, write),
    )


def stored(case: Case, counts: NDArray[np.int64]) -> tuple[Stores, Numbers]:
    """Return what storage gives, and what it holds, TB.

    Args:
        counts: a row for each storage item of the case, a column for each purchase.
    """
    size = counts.shape[1]
    read, write, lost_read, lost_write = (np.zeros(size) for _ in range(4))
    endured, bulk_read, bulk_tb = np.zeros(size), np.zeros(size), np.zeros(size)
    burst, buffer_gb = np.zeros(size), np.zeros(size)
    factors = {f.id: (f.write_factor, f.read_factor) for f in case.families}
    factor = np.full((2, size), np.inf)
    for row, item in enumerate(case.storage):
        units = counts[row].astype(float)
        some = units > 0
        if not some.any():
            continue
        if item.is_bulk:
            bulk_read, bulk_tb = (
                bulk_read + item.bulk_read_gb_per_s * units,
                bulk_tb + item.bulk_tb * units,
            )
            continue
        each_read, each_write = (np.where(some, e, 0.0) for e in nameplates(item, units))
        read, write = read + each_read, write + each_write
        burst = burst + (item.burst_gb_per_s * units if item.burst_gb_per_s else each_write)
        buffer_gb = buffer_gb + item.buffer_gb * units
        if case.tolerate_down:
            left = degraded(item, units)
            lost_read = np.maximum(lost_read, np.where(some, each_read - left[0], 0.0))
            lost_write = np.maximum(lost_write, np.where(some, each_write - left[1], 0.0))
        endured[some] += endurance_tb_per_day(item) * units[some]
        both = np.array(factors[item.family])[:, None]
        factor = np.where(some, np.minimum(factor, both), factor)
    usable: Numbers = np.array([item.usable_tb for item in case.storage]) @ counts.astype(float)
    safe = write - lost_write, read - lost_read
    worn = worn_interval_s(case, endured)
    plate = write
    if case.bursts:
        write, worn = with_bursts(case, write, burst, buffer_gb, worn)
        safe = write, read
    by_write, by_read = np.where(np.isinf(factor), 1.0, factor)
    return Stores(write, read, *safe, worn, by_write, by_read, plate, bulk_read, bulk_tb), usable


def with_bursts(
    case: Case,
    plate: Numbers,
    burst: Numbers,
    buffer_gb: Numbers,
    worn_s: Numbers,
) -> tuple[Numbers, Numbers]:
    """Return the nameplate bandwidth at which checkpoints are taken, and the shortest interval
    between them that drives endure and in which buffers recover; see `bandwidth.bursting`."""
    checkpoint_gb, share = case.job.checkpoint_gb, case.delivered_write
    write = bandwidth.bursting(plate, burst, buffer_gb, checkpoint_gb, share)
    with np.errstate(divide="ignore"):
        return write, np.maximum(worn_s, checkpoint_gb / (share * plate))


def endurance_tb_per_day(store: Storage) -> float:
    """Return what may be written to a unit every day, TB; without end where that is not rated."""
    rated = store.endurance_tb_per_day
    return np.inf if rated is None else rated


def worn_interval_s(case: Case, endured_tb_per_day: Numbers) -> Numbers:
    """Return the shortest interval that drives endure, s; 0 where they set none."""
    with np.errstate(divide="ignore"):
        worn = case.job.checkpoint_gb / 1e3 * DAY_S / endured_tb_per_day
    return np.where(endured_tb_per_day > 0, worn, 0.0)


def most_gpus(case: Case, number: int, systems: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most GPUs that a job can use of so many systems; see `operate.most_gpus`.

    Args:
        number: the place of the way in `Case.ways`.
        systems: how many systems of the way's type there are, for each.
    """
    job, way = case.job, case.ways[number]
    repair, unit, step = job.repair, way.spare_unit, way.step_gpus
    used = systems.astype(float)
    if repair is not None and repair.spares is not None and not unit.in_rack:
        if unit.per_system == 1:
            used = np.maximum(used - repair.spares, 0.0)
        else:
            left = np.maximum(used * unit.per_system - repair.spares, 0.0) * unit.gpus
            used = np.minimum(used, left / way.usable_gpus)
    elif job.hot_spares or job.hot_share:
        used = np.floor((used - job.hot_spares) / (1.0 + job.hot_share)) + 1.0
        for _ in range(3):
            hot = job.hot_spares + np.ceil(job.hot_share * used - 1e-9)
            used = np.where(used + hot > systems, used - 1.0, used)
        used = np.maximum(used, 0.0)
    gpus = np.floor(used * way.usable_gpus / step + 1e-9).astype(np.int64) * step
    limit = job.gpus_max_in(way)
    return gpus if limit is None else np.minimum(gpus, limit // step * step)
