"""The operation of purchases as arrays: goodput at the best interval.

An entry is a use of a purchase by a team: one way, or one way each of several GPU types that run
the job together, as slow as the slowest. A plan is an array of one. Without the division of the
GPUs among several types, figures of a team are upper bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.case import Case, System, Way
from planner.case.job import ROUNDING, Job, Mode, copy_s, local_drain_s, local_room_tb
from planner.optimizer.bill import Counts, Flags, Numbers, Places, Stores
from planner.sizing.availability import Restarts
from planner.sizing.goodput import (
    Drives,
    Shrunk,
    Times,
    Units,
    best_between,
    erlang_b,
    kept_by_swaps,
    optimal_period,
)
from planner.sizing.throughput import ScaleLaw, concave_above
from planner.units import DAY_S

TOLERANCE = 9e-8
"""Relative slack of limits on time and bandwidth, a little less than the verifier's."""
MOST_STALLED = 0.999
"""No plan may lose more of its intervals to stalls; see docs/model.md."""
ANY_SYSTEMS = 2**20
"""Systems of a team of several: its hot spares are counted type by type."""


class Ports(NamedTuple):
    """Client bandwidth limits in use: of writes, and of reads, GB/s."""

    write: Numbers
    read: Numbers


class Flow(NamedTuple):
    """Bandwidth that reaches jobs, GB/s, and with units down; where it is 0 (not ``moves``) it
    counts as 1."""

    write: Numbers
    read: Numbers
    degraded_write: Numbers
    degraded_read: Numbers
    moves: Flags


@dataclass(frozen=True)
class Uses:
    """GPUs and ways in use of purchases, an entry for each.

    Attributes:
        team: the place of the team in `Work.teams`; the first are the ways of `Case.ways`.
        systems: GPU systems of the type in the cluster.
        gpus: GPUs in use, whole steps.
        stores: bandwidth and capacity of the storage.
        tco_usd: the TCO at least, where limits on money per work ask for it.
        ports: of the systems in use; without, those that the GPUs in use fill.
        spares: spare units; without, those that the systems leave.
        every: the k of each; without, the only one of the job.
        flow: the bandwidth that reaches them; without, that of storage and ports.
    """

    team: Places
    systems: Counts
    gpus: Counts
    stores: Stores
    tco_usd: Numbers | None = None
    ports: Ports | None = None
    spares: Places | None = None
    every: Places | None = None
    flow: Flow | None = None

    def take(self, places: Places) -> Uses:
        """The operations at some places; of none with a given ``flow``."""
        tco_usd = None if self.tco_usd is None else self.tco_usd[places]
        spares, every = (None if e is None else e[places] for e in (self.spares, self.every))
        ports = None if self.ports is None else Ports(*(each[places] for each in self.ports))
        some = self.team[places], self.systems[places], self.gpus[places], self.stores.take(places)
        return Uses(*some, tco_usd, ports, spares, every)


class JobRun(NamedTuple):
    """Operating points of purchases.

    ``allowed`` is where every limit on times and counts is met. ``patient`` is goodput without
    waiting for repairs, no less with more spares; ``mtti_s`` that of the failures that work sees.
    ``most_pflops_per_gpu`` is by a concave law of scale that is no less.
    """

    allowed: Flags
    goodput: Numbers
    patient: Numbers
    interval_s: Numbers
    pflops_per_gpu: Numbers
    most_pflops_per_gpu: Numbers
    waiting: Numbers
    mtti_s: Numbers
    flow: Flow
    times: Times


def list_modes(case: Case) -> Iterator[tuple[Case, Mode]]:
    """Yield the modes of a case, each with it; of a local level with each k alone, because work
    has one peak in the GPUs in use for each k by itself."""
    levels = case.job.levels
    for mode in case.job.modes:
        if mode != "local" or levels is None or len(levels.every) == 1:
            yield case, mode
            continue
        for k in levels.every:
            yield replace(case, job=replace(case.job, levels=replace(levels, every=(k,)))), mode


def list_teams(case: Case) -> list[tuple[int, ...]]:
    """The places in `Case.ways` that can run the job together, single ways first.

    Types in use share one compute fabric, and are all that must be in use.
    """
    owner = [system for system in case.systems for _ in system.ways]
    teams: list[tuple[int, ...]] = [(way,) for way in range(len(owner))]
    most = 1 if case.job.repair is not None else case.job.max_types
    for size in range(2, most + 1):
        for team in itertools.combinations(range(len(owner)), size):
            types = {owner[way].id for way in team}
            fabrics = {case.ways[way].fabric for way in team} - {None}
            if len(types) == size and len(fabrics) <= 1:
                teams.append(team)
    return teams


class Work:
    """The job of a case in one mode, a local level with one k, over arrays of uses.

    Attributes:
        teams: places in `Case.ways` of each team.
        rows_of: places in `Case.systems` of each team.
        ways_of: the teams as an array, a column for each, -1 for none.
        several: where a team is of several types.
    """

    def __init__(self, case: Case, mode: Mode) -> None:
        self.case, self.mode, job = case, mode, case.job
        running = [(system, way) for system in case.systems for way in system.ways]
        rows = [row for row, system in enumerate(case.systems) for _ in system.ways]
        self.teams = list_teams(case)
        self.rows_of = [[rows[way] for way in team] for team in self.teams]
        self.several = np.array([len(team) > 1 for team in self.teams], dtype=bool)
        widest = max(map(len, self.teams), default=1)
        padded = [[*team, *[-1] * (widest - len(team))] for team in self.teams]
        self.ways_of = np.array(padded, dtype=np.int64).reshape(len(padded), widest).T
        types = [[running[way] for way in team] for team in self.teams]

        def each(
            figure: Callable[[System, Way], float], joined: Callable[..., float] = max
        ) -> Numbers:
            """A figure of each team, from those of its types."""
            return np.array([joined([figure(*one) for one in team]) for team in types], dtype=float)

        self.usable = each(lambda _, way: way.usable_gpus, min)
        self.least = each(lambda _, way: max(job.gpus_min, way.least_gpus))
        self.gpus_max = np.inf if job.gpus_max is None else float(job.gpus_max)
        self.rate = each(lambda _, way: way.failures_per_gpu_day)
        self.tflops = each(lambda _, way: way.tflops_per_gpu, min)
        self.pflops_each = (job.mfu or 0.0) * 1e-3
        self.copy_s = each(lambda _, way: copy_s(job, way, 1))
        self.of_replica = each(lambda _, way: -(-(way.replica_gpus or 0) // way.usable_gpus))
        self.fan_once = each(lambda _, way: job.fan_out_terms(way.replica_gpus)[0], min)
        self.fan_each = each(lambda _, way: job.fan_out_terms(way.replica_gpus)[1], min)
        self.step = each(lambda _, way: way.step_gpus, np.gcd.reduce).astype(np.int64)
        # Ports of a number of GPUs are at most those of the type with most ports per GPU, and those
        # of systems of each type that are used in part: ceil(n / g) c <= n c / g + more.
        least = [min(way.usable_gpus for _, way in team) for team in types]
        self.client_write, self.client_read = (
            np.array(
                [
                    max(getattr(system, side) * (few / way.usable_gpus) for system, way in team)
                    for few, team in zip(least, types, strict=True)
                ]
            )
            for side in ("client_write_gb_per_s", "client_read_gb_per_s")
        )
        self.more_write = each(lambda s, way: _part(way) * s.client_write_gb_per_s, sum)
        self.more_read = each(lambda s, way: _part(way) * s.client_read_gb_per_s, sum)
        self.drives = self._local_drives(each) if mode == "local" else None
        self.concave = None if job.scale is None else concave_above(job.scale)
        self.shrinks = job.repair is not None and job.repair.shrinks
        self.jumps = (self.step % self.usable != 0) & ~self.several & (not self.shrinks)

    def _local_drives(self, each: Callable[..., Numbers]) -> Drives:
        """The local drives of teams; ``each`` joins a figure of the types of each team."""
        job, levels, repair = self.case.job, self.case.job.levels, self.case.job.repair
        assert levels is not None

        def full(_: System, way: Way) -> float:
            return local_room_tb(job, way, 1) / way.drives.capacity_tb if way.drives else math.inf

        return Drives(
            each(lambda _, way: local_drain_s(job, way, 1) if way.drives else 0.0),
            each(full),
            levels.every,
            levels.remote_share,
            levels.local_restart_s,
            *((0.0, 0.0) if repair is None else (repair.hardware_share, repair.swap_s)),
            job.one_replica_writes,
        )

    # Bandwidth.

    def flow(self, use: Uses, *, whole: bool = True) -> Flow:
        """The bandwidth that reaches the jobs; see `ports`."""
        if use.flow is not None:
            return use.flow
        case, stores, ports = self.case, use.stores, self.ports(use, whole=whole)
        most = ports.write * stores.write_factor, ports.read * stores.read_factor
        write = np.minimum(case.delivered_write_share * stores.write, most[0])
        read = np.minimum(case.delivered_read_share * stores.read, most[1])
        safe_write, safe_read = write, read
        if case.tolerate_down:
            safe_write = np.minimum(case.delivered_write_share * stores.degraded_write, most[0])
            safe_read = np.minimum(case.delivered_read_share * stores.degraded_read, most[1])
        moves: Flags = (safe_write > 0) & (safe_read > 0)
        found = Flow(write, read, safe_write, safe_read, moves)
        if moves.all():
            return found
        return Flow._make((*(np.where(moves, side, 1.0) for side in found[:4]), moves))

    def ports(self, use: Uses, *, whole: bool = True) -> Ports:
        """Bandwidth of the clients in use, before the factors of storage families; without
        ``whole`` systems at most, and without jumps in the GPUs."""
        if use.ports is not None:
            return use.ports
        team = use.team
        used, parted = use.gpus / self.usable[team], self.several[team] | (not whole)
        used = np.where(parted, used, np.ceil(used - ROUNDING))
        write, read = (
            ports[team] * used + np.where(parted, more[team], 0.0)
            for ports, more in (
                (self.client_write, self.more_write),
                (self.client_read, self.more_read),
            )
        )
        if self.case.job.one_replica_writes:
            write = self.client_write[team] * self.of_replica[team]
        return Ports(write, read)

    def ports_of(self, team: int, used: Numbers) -> Ports:
        """The ports of systems in use, a row for each use, a column for each type."""
        case, job = self.case, self.case.job
        types = [case.systems[row] for row in self.rows_of[team]]
        ways = [case.ways[way] for way in self.teams[team]]
        replica = [-(-(way.replica_gpus or 0) // way.usable_gpus) for way in ways]
        write = np.array([system.client_write_gb_per_s for system in types])
        read = used @ np.array([system.client_read_gb_per_s for system in types])
        one_write = np.full(len(used), np.min(replica * write))
        return Ports(one_write if job.one_replica_writes else used @ write, read)

    # Times.

    def times(
        self,
        team: Places,
        gpus: Numbers,
        flow: Flow,
        worn_s: Numbers,
        every: Places | None = None,
    ) -> Times:
        """The times of jobs with GPUs in use, at the bandwidth that reaches them.

        Args:
            worn_s: the shortest interval that storage endures, s.
        """
        job, local = self.case.job, None
        drain, safe = job.checkpoint_gb / flow.write, job.checkpoint_gb / flow.degraded_write
        low = np.maximum(worn_s, safe if self.case.rule is not None else safe / job.max_overlap)
        stall = job.stall_s + self.copy_s[team] / (1.0 if job.one_replica_writes else gpus)
        if self.drives is not None:
            local = self.drives.local_level(team, gpus, every)
            low = np.maximum(stall + local.drain_s, low / local.every)
        elif self.mode == "sync":
            stall, drain = drain, np.zeros_like(drain)
            low = np.maximum(worn_s, safe / job.max_blocking)
        else:
            low = np.maximum(low, stall + safe)
        slowed = job.drain_slowdown * drain / (1 if local is None else local.every)
        restore = (self.fan_once[team] + self.fan_each[team] * gpus) * job.checkpoint_gb / flow.read
        return Times(stall, stall + slowed, drain, job.restart_s + restore, restore, low, local)

    def interval(self, t: Times, mtti: Numbers) -> tuple[Numbers, Flags]:
        """The best interval within the limits, and where there is any."""
        rule = self.case.job.interval
        low, there = self._bounds(t, mtti)
        if rule.policy != "optimal":
            return low, there
        if t.local is not None:
            best = t.local.best_interval_s(t.stopped, mtti)
        else:
            best = mtti * optimal_period(t.stopped / mtti)
        return np.clip(best, low, rule.high_s), there

    def _bounds(self, t: Times, mtti: Numbers) -> tuple[Numbers, Flags]:
        """The shortest interval that may be chosen, or the one that is set, and where it is
        within the limits."""
        rule = self.case.job.interval
        if rule.policy != "optimal":
            at = np.full_like(mtti, rule.low_s)
            return at, at * (1 + TOLERANCE) >= t.low
        low = np.maximum(t.low, rule.low_s)
        return np.minimum(low, rule.high_s), low <= rule.high_s * (1 + TOLERANCE)

    # Goodput.

    def run(self, use: Uses, *, waits: bool = True, interval_s: Numbers | None = None) -> JobRun:
        """Operation of purchases at their best interval, or a given one.

        Args:
            use: the purchases.
            waits: whether repairs are waited for; a job that shrinks has no bound without.
            interval_s: start of one checkpoint to the start of the next.
        """
        job, team, gpus = self.case.job, use.team, use.gpus.astype(float)
        mtti = DAY_S / (self.rate[team] * gpus)
        waiting, allowed = np.zeros_like(mtti), np.ones(len(mtti), dtype=bool)
        if waits:
            waiting, allowed = self.waiting(use, mtti)
        flow = self.flow(use, whole=waits)
        t = self.times(team, gpus, flow, use.stores.worn_s, use.every)
        allowed &= self._allowed(use, gpus, flow, t, mtti)
        if self.shrinks and len(team):
            patient = self._at_most(use, t, mtti)
            kept, waiting, interval, mtti, runs = self._goodput_with_fewer(use, t, mtti, interval_s)
        else:
            if interval_s is None:
                interval, runs = self.interval(t, mtti)
                runs &= t.stopped <= MOST_STALLED * interval
            else:
                interval, runs = interval_s, np.ones(len(mtti), bool)
            kept = patient = np.exp(t.log_kept(interval, mtti)) * self.kept_by_swaps(mtti)
        patient, goodput = (
            np.where(flow.moves & runs, job.progress * share, 0.0)
            for share in (patient, kept * (1.0 - waiting))
        )
        each = most_each = self.rates(team, gpus, job.scale) * self.pflops_each
        if self.concave is not job.scale:
            most_each = self.rates(team, gpus, self.concave) * self.pflops_each
        return JobRun(
            *(allowed & (goodput > 0), goodput, patient, interval, each, most_each),
            *(waiting, mtti, flow, t),
        )

    def kept_by_swaps(self, mtti: Numbers) -> Numbers:
        """The share that swaps leave; with two levels they are in the restarts."""
        repair = self.case.job.repair
        if repair is None or self.drives is not None:
            return np.ones_like(mtti)
        return kept_by_swaps(repair.hardware_share, repair.swap_s, mtti)

    def rates(self, team: Places, gpus: Numbers, law: ScaleLaw | None) -> Numbers:
        """The rate of a GPU of the slowest type in jobs of these sizes, TFLOP/s."""
        return self.tflops[team] if law is None else self.tflops[team] * _shares(gpus, law)

    def _allowed(self, use: Uses, gpus: Numbers, flow: Flow, t: Times, mtti: Numbers) -> Flags:
        """Mask of uses within the limits on counts, bandwidth and times."""
        case, job, used = self.case, self.case.job, np.ceil(gpus / self.usable[use.team] - ROUNDING)
        allowed: Flags = (gpus >= self.least[use.team]) & (gpus >= 1) & (gpus <= self.gpus_max)
        allowed &= used <= use.systems
        if job.ingest_per_gpu_gb_per_s:  # all systems in use read
            arrives = self.ports(use).read * use.stores.read_factor
            arrives = np.minimum(case.delivered_read_share * use.stores.read, arrives)
            if job.bulk_needed_tb:
                arrives = np.minimum(arrives, staged(case, use.stores))
            allowed &= gpus * job.ingest_per_gpu_gb_per_s <= arrives * (1 + TOLERANCE)
        if job.max_restore_s is not None:
            slowest = t.restore * flow.read / flow.degraded_read
            allowed &= slowest <= job.max_restore_s * (1 + TOLERANCE)
        if t.local is not None and self.drives is not None:
            allowed &= t.local.fits
            allowed &= self.drives.longest_s + t.local.drain_s <= mtti * (1 + TOLERANCE)
        return allowed

    # Repairs.

    def _uses_by_way(self, use: Uses) -> Iterator[tuple[Places, Way]]:
        for number in np.flatnonzero(np.bincount(use.team)).tolist():
            yield np.flatnonzero(use.team == number), self.case.ways[number]

    def waiting(self, use: Uses, mtti: Numbers) -> tuple[Numbers, Flags]:
        """The share of time waited for repairs, and where there are enough spares."""
        repair, waiting = self.case.job.repair, np.zeros_like(mtti)
        if repair is None:
            return waiting, np.ones(len(mtti), dtype=bool)
        mends: Flags = mtti >= repair.shortest_mtti_s() * (1.0 - 1e-9)
        for here, way in self._uses_by_way(use):
            unit, rate = way.spare_unit, way.failures_per_gpu_day
            gpus = use.gpus[here].astype(float)
            if unit.in_rack:
                odds = gpus * repair.waiting_odds_in_rack(unit, rate)
                waiting[here] = odds / (1.0 + odds)
                continue
            left = use.systems[here] * unit.per_system - np.ceil(gpus / unit.holding_gpus)
            if repair.spares is not None:
                mends[here] &= left >= repair.spares
                left = np.full_like(left, repair.spares)
            if use.spares is not None:
                left = use.spares[here].astype(float)
            mends[here] &= left >= 0
            if repair.shrinks:
                mends[here] &= gpus >= way.min_replicas * way.step_gpus
                continue
            waiting[here] = erlang_b(np.maximum(left, 0.0), gpus * repair.load(rate, 1))
        return waiting, mends

    def restarts(self) -> Restarts:
        """The restarts of a job that goes on with fewer replicas, without reading back."""
        job, repair = self.case.job, self.case.job.repair
        levels, restart_s = job.levels, job.restart_s
        assert repair is not None
        grow_s = restart_s
        after_failures: tuple[tuple[float, float], ...] = ((1.0, restart_s),)
        if self.mode == "local" and levels is not None:
            far, grow_s = levels.remote_share, levels.local_restart_s
            after_failures = (1.0 - far, grow_s), (far, restart_s)
        return Restarts(repair.hardware_share, repair.repair_s, after_failures, grow_s)

    def shrunk(self, use: Uses) -> Shrunk:
        """The averages over the units out of jobs that go on with fewer replicas."""
        repair, parts, places, how = self.case.job.repair, [], [], self.restarts()
        assert repair is not None
        for here, way in self._uses_by_way(use):
            unit, step, gpus = way.spare_unit, way.step_gpus, use.gpus[here].astype(float)
            counts = use.systems[here].astype(float) * unit.per_system
            in_use = np.ceil(gpus / unit.holding_gpus)
            if repair.spares is not None:
                counts = in_use + repair.spares
            if use.spares is not None:
                counts = in_use + use.spares[here]
            load = repair.load(way.failures_per_gpu_day, step)
            units = Units(unit.holding_gpus, step, way.min_replicas, load, how)
            parts.append(Shrunk.average_states(units, counts, np.floor(gpus / step + ROUNDING)))
            places.append(here)
        return Shrunk.joined(parts, np.concatenate(places))

    def _at_most(self, use: Uses, t: Times, mtti: Numbers) -> Numbers:
        """A bound on the goodput of any fewer GPUs as a share of those in use, whatever units are
        out.

        Of N in use x do the work on average. At least those of x fail as work sees, and a restart
        sees `MOST_SPARED` of these less at most. So no more is kept than by x without units out,
        such restarts and the limits of N. The logarithm of that, and of the rate of x, is concave
        in log x: where a few more would do more it is most at N; elsewhere there is no bound.
        """
        repair, gpus = self.case.job.repair, use.gpus.astype(float)
        assert repair is not None
        seen = 1.0 - repair.hardware_share * self.restarts().left_out() * MOST_SPARED
        interval, _ = self.interval(t, mtti)
        less = math.exp(-RISING)
        once = self.fan_once[use.team]
        fanned = t.restore * (1.0 - once / (once + self.fan_each[use.team] * gpus))
        wider = replace(t, recovery=t.recovery + fanned * math.expm1(RISING))
        at, beyond = (
            each.log_kept(interval, mean, seen) + np.log(self.kept_by_swaps(mean))
            for each, mean in ((t, mtti), (wider, mtti * less))
        )
        scaled = np.zeros(len(gpus))
        if self.concave is not None:
            now, then = (_shares(gpus / s, self.concave) for s in (1.0, less))
            scaled = np.log(then / now)
        with np.errstate(invalid="ignore"):
            rises = beyond + scaled + RISING >= at
        unbounded = np.where(scaled + RISING >= 0.0, 1.0, np.inf)
        return np.where(rises, np.exp(at), unbounded)

    def _goodput_with_fewer(
        self, use: Uses, t: Times, mtti: Numbers, interval_s: Numbers | None
    ) -> tuple[Numbers, Numbers, Numbers, Numbers, Flags]:
        """The goodput without units out, the share lost to these, the best interval or the
        given one, the MTTI that work sees, and where there is an interval."""
        rule, repair, shrunk = self.case.job.interval, self.case.job.repair, self.shrunk(use)
        assert repair is not None
        failing = np.maximum(shrunk.failing, 1e-300)
        seen, rests = mtti / failing, shrunk.resting / failing
        more = (t.restore + t.drain if t.local is None else t.local.drain_s) / repair.repair_s

        def first(interval: Numbers) -> Numbers:
            kept = shrunk.work(interval, more) * (1.0 - t.stopped / interval)
            return np.asarray(kept * np.exp(t.log_rework(interval, seen, rests)))

        def done(interval: Numbers) -> tuple[Numbers, Numbers]:
            kept, rested = t.log_kept(interval, seen), t.log_kept(interval, seen, rests)
            some = np.isfinite(kept)
            spared = np.exp(np.where(some, rested, 0.0) - np.where(some, kept, 0.0))
            return np.exp(kept), np.maximum(shrunk.work(interval, more) * spared, 0.0)

        def capped(interval: Numbers) -> Numbers:
            kept, works = done(interval)
            return np.asarray(kept * np.minimum(works, 1.0))

        if interval_s is not None:
            interval, there = interval_s, np.ones(len(mtti), bool)
        else:
            interval, there = self._bounds(t, mtti)
            if rule.policy == "optimal":
                low, interval = interval, best_between(first, interval, rule.high_s)
                if (done(interval)[1] > 1.0).any():  # more is spared in restarts than units take
                    interval = best_between(capped, low, rule.high_s)
            there &= t.stopped <= MOST_STALLED * interval
        kept, works = done(interval)
        return kept * self.kept_by_swaps(seen), 1.0 - np.minimum(works, 1.0), interval, seen, there


def _part(way: Way) -> float:
    """The share of a system by which its use may fall short where replicas do not fill it."""
    return 1.0 - math.gcd(way.usable_gpus, way.step_gpus) / way.usable_gpus


def _shares(gpus: Numbers, law: ScaleLaw) -> Numbers:
    each, places = np.unique(gpus, return_inverse=True)
    return np.array([law.share(n) for n in each.tolist()], dtype=float)[np.ravel(places)]


MOST_SPARED = 0.75
"""Restarts see at least a quarter of the failures that work sees: after one that takes a unit out
a third or more of what ran goes on, or the job waits."""
RISING = 1e-4
"""The share of more GPUs that is looked at to see whether they would do more."""


def staged(case: Case, stores: Stores) -> Numbers:
    """The training data that comes from the bulk tier to flash, GB/s."""
    write = case.job.staged_share * case.delivered_write_share * stores.sustained
    return np.asarray(np.minimum(case.delivered_read_share * stores.bulk_read, write))


def most_gpus(job: Job, way: Way, systems: Counts) -> Counts:
    """Most GPUs that a job can use of a number of systems beside its spares."""
    repair, unit, step = job.repair, way.spare_unit, way.step_gpus
    used = systems.astype(float)
    if repair is not None and repair.spares is not None and not unit.in_rack:
        if unit.per_system == 1:
            used = np.maximum(used - repair.spares, 0.0)
        else:
            left = np.maximum(used * unit.per_system - repair.spares, 0.0) * unit.gpus
            used = np.minimum(used, left / way.usable_gpus)
    return np.floor(used * way.usable_gpus / step + 1e-9).astype(np.int64) * step
