"""Bills and operations of many purchases at once, as arrays: what `purchase.bill` and
`operate.operate` give for one.

A column is a purchase. Counts are exactly those of `planner/case/quantities.py`, since whole
numbers are added in the same order; goodput agrees with `planner/sizing/goodput.py` to 1e-12. The
tests hold both against the code for one purchase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, levels
from planner.case.model import Mode, Storage
from planner.case.quantities import (
    ROUNDING,
    AtLeast,
    Ceil,
    Packed,
    Quantity,
    Steps,
    Sum,
    Terms,
)
from planner.optimizer import purchase
from planner.optimizer.operate import MOST_STALLED, TOLERANCE
from planner.sizing.placement import packing
from planner.units import DAY_S

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

VOLUME_NOISE = 1e-6
"""A rack's shares add up to no more than this above a whole number by rounding."""


# The bill: every count that follows from what is bought, and the sums over it.


@dataclass(frozen=True)
class Bills:
    """The bills of many purchases.

    Attributes:
        counts: a row for each count by `Kernel.index`, a column for each purchase.
        purchased: a row for each item of the bill in its order, a column for each purchase.
        known: False where a fabric would have to be larger than it can be.
    """

    counts: Numbers
    purchased: Numbers
    known: Flags


class Kernel:
    """The bill of a case over arrays of purchases.

    Nothing in it depends on prices, limits or on how the job runs, but for `sums`, which takes
    those of the case that is given: one kernel serves every case with the same companions.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        companions = case.companions
        names = [offer.id for offer in case.offers()]
        for quantity in companions.quantities:
            names += quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        names += [item.id for item in companions.items]
        names += [way.standing for _, way in case.capped.values()]
        self.index: dict[str, int] = {
            name: place for place, name in enumerate(dict.fromkeys(names))
        }
        self.offers = tuple(offer.id for offer in case.offers())
        self.items = case.bill_items()
        self.places = np.array([self.index[item.id] for item in self.items], dtype=np.int64)
        column = (len(self.items), 1)

        def each(values: Sequence[float]) -> Numbers:
            return np.array(values, dtype=float).reshape(column)

        self.spare_share = each([item.spare_share for item in self.items])
        self.installed = each([item.installed for item in self.items])
        self.pack = each([item.pack for item in self.items])
        self.least_packs = each([-(-item.min_order // item.pack) for item in self.items])

    def bills(self, units: NDArray[np.int64], ways: Places | None = None, *,
              least: bool = False) -> Bills:  # fmt: skip
        """Return the bills of purchases.

        Args:
            units: a row for each offer of the case in their order, a column for each purchase.
            ways: the place in `Case.ways` of the way in which each runs; without, at full power.
            least: return counts that are never more than the bill's and never fall where more is
                bought: fabrics count as the least of any that is no smaller, shared racks as their
                shares added up.
        """
        counts = np.zeros((len(self.index), units.shape[1]))
        counts[: len(self.offers)] = units
        known = np.ones(units.shape[1], dtype=bool)
        for quantity in self.case.companions.quantities:
            self._add(quantity, counts, known, least=least)
        for item in self.case.companions.items:
            counts[self.index[item.id]] = np.rint(self.total(item.terms, counts))
        if ways is not None:
            for name, (system, way) in self.case.capped.items():
                number = next(n for n, one in enumerate(self.case.ways) if one.id == name)
                standing = np.where(ways == number, counts[self.index[system.place]], 0.0)
                counts[self.index[way.standing]] = standing
        return Bills(counts, self._purchased(counts), known)

    def total(self, terms: Terms, counts: Numbers) -> Numbers:
        """Return a sum of terms, added in their order."""
        summed = np.zeros(counts.shape[1])
        for factor, name in terms:
            row = counts[self.index[name]]
            summed += row if factor == 1.0 else factor * row
        return summed

    def _add(self, quantity: Quantity, counts: Numbers, known: Flags, *, least: bool) -> None:
        if isinstance(quantity, Packed):
            found = _least_shares if least else _packed
            counts[self.index[quantity.name]] = found(quantity, self._kinds(quantity, counts))
            return
        amount = self.total(quantity.terms, counts)
        if isinstance(quantity, Sum):
            counts[self.index[quantity.name]] = amount + quantity.constant
        elif isinstance(quantity, AtLeast):
            counts[self.index[quantity.name]] = np.maximum(amount, quantity.least)
        elif isinstance(quantity, Ceil):
            count = np.ceil(amount + quantity.constant - ROUNDING)
            counts[self.index[quantity.name]] = count + np.where(count != 0, quantity.if_any, 0)
        else:
            capacities, outputs = self._sizes(quantity, least)
            whole = np.rint(amount)
            size = np.searchsorted(capacities, whole, side="left")
            known &= (size < len(capacities)) | (amount <= 0)
            inside = np.minimum(size, max(0, len(capacities) - 1))
            for place, name in enumerate(quantity.outputs):
                some = outputs[place][inside] if len(capacities) else 0.0
                counts[self.index[name]] = np.where(whole > 0, some, 0.0)

    def _sizes(self, quantity: Steps, least: bool) -> tuple[Numbers, Numbers]:
        key = (quantity.name, least)
        if key not in self._tables:
            capacities = np.array([size.capacity for size in quantity.sizes], dtype=float)
            rows = np.array([size.outputs for size in quantity.sizes], dtype=float)
            outputs = rows.reshape(len(capacities), len(quantity.outputs)).T
            if least:
                outputs = np.minimum.accumulate(outputs[:, ::-1], axis=1)[:, ::-1]
            self._tables[key] = capacities, outputs
        return self._tables[key]

    @cached_property
    def _tables(self) -> dict[tuple[str, bool], tuple[Numbers, Numbers]]:
        return {}

    def _kinds(self, quantity: Packed, counts: Numbers) -> Numbers:
        return np.rint(counts[[self.index[name] for _, name in quantity.terms]])

    def _purchased(self, counts: Numbers) -> Numbers:
        """Return the units bought: spares, packs, least order; see `BillItem.purchased`."""
        standing = np.rint(counts[self.places])
        spares = np.ceil(self.spare_share * standing - ROUNDING)
        need = np.maximum(standing + spares - self.installed, 0.0)
        packs = np.ceil(need / self.pack)
        packs = np.where(packs > 0, np.maximum(packs, self.least_packs), 0.0)
        bought: Numbers = packs * self.pack
        return bought

    def sums(self, case: Case, bills: Bills, figures: Sequence[str]) -> Numbers:
        """Return sums over bills: a row for each figure, a column for each purchase.

        Args:
            case: the prices and draws that count, of a case with the same companions.
            bills: bills of this kernel.
            figures: names of figures that are sums over the bill, or racks.
        """
        found = np.empty((len(figures), bills.counts.shape[1]))
        for row, figure in enumerate(figures):
            if figure == "racks":
                found[row] = np.rint(self.total(case.companions.racks, bills.counts))
                continue
            standing, bought = self.weights(case, figure)
            found[row] = standing @ bills.counts + bought @ bills.purchased
        return found

    def weights(self, case: Case, figure: str) -> tuple[Numbers, Numbers]:
        """Return what one of each count, and one of each item that is bought, adds to a figure."""
        standing, bought = np.zeros(len(self.index)), np.zeros(len(self.items))
        numbers = {item.id: number for number, item in enumerate(self.items)}
        for factor, (side, name) in purchase.terms(case)[figure]:
            if side == 0:
                standing[self.index[name]] += factor
            else:
                bought[numbers[name]] += factor
        return standing, bought


def _packed(quantity: Packed, kinds: Numbers) -> Numbers:
    """Return the least racks of each column of counts; alike ones are packed once."""
    if not kinds.shape[1]:
        return np.zeros(0)
    each, places = np.unique(kinds, axis=1, return_inverse=True)
    least = packing(quantity.shares).least
    racks = [least(tuple(round(n) for n in column)) for column in each.T.tolist()]
    return np.array(racks, dtype=float)[np.ravel(places)]


def _least_shares(quantity: Packed, kinds: Numbers) -> Numbers:
    """Return racks that no packing needs fewer of: the fullest side of all that is packed."""
    sides = np.array(quantity.shares, dtype=float).T @ kinds
    racks: Numbers = np.ceil(sides.max(axis=0) - VOLUME_NOISE)
    return np.maximum(racks, 0.0)


@lru_cache(maxsize=8)
def kernel(case: Case) -> Kernel:
    """Return the kernel of a case, the same one for the same case."""
    return Kernel(case)


# The operation: how well a job runs on given bandwidths, at the best interval there is.


@dataclass(frozen=True)
class Uses:
    """How purchases are used, an entry for each: what `operate.operate` takes, as arrays.

    Attributes:
        way: the place of the way in `Case.ways`.
        systems: GPU systems of the type in the cluster.
        gpus: GPUs in use, whole steps of the way.
        write, read: nameplate bandwidth of the storage, GB/s; infinite where it sets no bound.
        safe_write, safe_read: the same with units down, as limits count on it.
        worn_s: the shortest interval that the drives endure, s.
        write_factor, read_factor: of the clients' limits, by the storage families in use.
    """

    way: Places
    systems: NDArray[np.int64]
    gpus: NDArray[np.int64]
    write: Numbers
    read: Numbers
    safe_write: Numbers
    safe_read: Numbers
    worn_s: Numbers
    write_factor: Numbers
    read_factor: Numbers


@dataclass(frozen=True)
class Ran:
    """How purchases run: ``allowed`` says where every limit on times and counts is met.

    ``goodput`` counts what waiting and swaps take; ``patient`` leaves out the waiting, so that it
    is no less with more spares. Both are 0 where nothing can run at all, whatever is allowed.
    """

    allowed: Flags
    goodput: Numbers
    patient: Numbers
    interval_s: Numbers
    pflops_per_gpu: Numbers


def covers(case: Case, mode: Mode) -> bool:
    """Say whether the operation of a case is one that `Operation` knows."""
    repair = case.job.repair
    return mode != "local" and not case.elastic and (repair is None or not repair.shrinks)


class Operation:
    """The job of a case in one mode, over arrays of uses. Formulas: `planner/sizing/goodput.py`."""

    def __init__(self, case: Case, mode: Mode) -> None:
        assert covers(case, mode)
        self.case, self.mode = case, mode
        job, ways = case.job, case.ways
        owner = [system for system in case.systems for _ in system.ways]

        def each(values: Sequence[float]) -> Numbers:
            return np.array(values, dtype=float)

        self.usable = each([way.usable_gpus for way in ways])
        self.least = each([max(job.gpus_min, way.least_gpus) for way in ways])
        self.rate = each([way.failures_per_gpu_day for way in ways])
        self.copy_s = each([levels.copy_s(job, way, 1) for way in ways])
        self.client_write = each([system.client_write_gb_per_s for system in owner])
        self.client_read = each([system.client_read_gb_per_s for system in owner])
        self.of_replica = each([-(-(w.replica_gpus or 0) // w.usable_gpus) for w in ways])
        fan = [job.fan_out_terms(way.replica_gpus) for way in ways]
        self.fan_once, self.fan_each = each([a for a, _ in fan]), each([c for _, c in fan])
        self.units = [way.spare_unit for way in ways]

    def run(self, use: Uses) -> Ran:
        """Return how purchases run at their best interval."""
        job, way = self.case.job, use.way
        gpus = use.gpus.astype(float)
        used = np.ceil(gpus / self.usable[way] - ROUNDING)
        mtti = DAY_S / (self.rate[way] * gpus)
        waiting, mends = self._waiting(use, mtti)
        allowed = self._gpus_allowed(use, used) & mends
        writers = self.of_replica[way] if job.one_replica_writes else used
        readers = self.of_replica[way] if job.one_replica_reads else used
        write_most = self.client_write[way] * writers * use.write_factor
        read_most = self.client_read[way] * readers * use.read_factor
        write = np.minimum(self.case.delivered_write * use.write, write_most)
        read = np.minimum(self.case.delivered_read * use.read, read_most)
        safe_write = np.minimum(self.case.delivered_write * use.safe_write, write_most)
        safe_read = np.minimum(self.case.delivered_read * use.safe_read, read_most)
        moves = (safe_write > 0) & (safe_read > 0)
        write, read = np.where(moves, write, 1.0), np.where(moves, read, 1.0)
        safe_write = np.where(moves, safe_write, 1.0)
        safe_read = np.where(moves, safe_read, 1.0)
        fan = self.fan_once[way] + self.fan_each[way] * gpus
        if job.max_restore_s is not None:
            slowest = fan * job.checkpoint_gb / safe_read
            allowed &= slowest <= job.max_restore_s * (1 + TOLERANCE)
        allowed &= gpus * job.ingest_per_gpu_gb_per_s <= read * (1 + TOLERANCE)
        transfer = job.checkpoint_gb / write
        stall = transfer if self.mode == "sync" else self._stalls(way, gpus)
        drain = np.zeros_like(transfer) if self.mode == "sync" else transfer
        low = self._shortest(use, stall, job.checkpoint_gb / safe_write)
        interval, there = self._interval(stall + job.drain_slowdown * drain, mtti, low)
        stopped = stall + job.drain_slowdown * drain
        there &= stopped <= MOST_STALLED * interval
        recovery = job.restart_s + fan * job.checkpoint_gb / read
        patient = _goodput(interval, np.minimum(stopped, interval), drain, recovery, mtti)
        if job.repair is not None:
            swaps = job.repair.hardware_share * np.expm1(-job.repair.swap_s / mtti)
            patient = patient * (1.0 + swaps)
        patient = np.where(moves & there, patient, 0.0)
        goodput = patient * (1.0 - waiting)
        return Ran(allowed & (goodput > 0), goodput, patient, interval, self._rates(use) * 1e-3)

    def _gpus_allowed(self, use: Uses, used: Numbers) -> Flags:
        job = self.case.job
        hot = job.hot_spares + np.ceil(job.hot_share * used - ROUNDING)
        allowed: Flags = (use.gpus >= self.least[use.way]) & (use.gpus >= 1)
        allowed &= used + np.where(used > 0, hot, 0.0) <= use.systems
        if job.gpus_max is not None:
            allowed &= use.gpus <= job.gpus_max
        return allowed

    def _stalls(self, way: Places, gpus: Numbers) -> Numbers:
        """Return how long GPUs stand still for an asynchronous checkpoint, s; see `levels`."""
        job = self.case.job
        return job.stall_s + self.copy_s[way] / (1.0 if job.one_replica_writes else gpus)

    def _shortest(self, use: Uses, stall: Numbers, transfer: Numbers) -> Numbers:
        """Return the shortest interval within the limits, s."""
        job = self.case.job
        if self.mode == "sync":
            return np.maximum(use.worn_s, transfer / job.max_blocking)
        low = np.maximum(use.worn_s, stall + transfer)
        return low if self.case.rule is not None else np.maximum(low, transfer / job.max_overlap)

    def _interval(self, stall: Numbers, mtti: Numbers, low: Numbers) -> tuple[Numbers, Flags]:
        """Return the best interval within the limits, and where there is any."""
        rule = self.case.job.interval
        if rule.policy != "optimal":
            at = np.full_like(mtti, rule.low_s) if rule.policy == "fixed" else rule.kappa * mtti
            return at, at * (1 + TOLERANCE) >= low
        low = np.maximum(low, rule.low_s)
        there: Flags = low <= rule.high_s * (1 + TOLERANCE)
        best = mtti * _optimal_period(stall / mtti)
        return np.clip(best, np.minimum(low, rule.high_s), rule.high_s), there

    def _waiting(self, use: Uses, mtti: Numbers) -> tuple[Numbers, Flags]:
        """Return the share of time waited for repairs, and where enough spares stand by."""
        repair = self.case.job.repair
        if repair is None:
            return np.zeros_like(mtti), np.ones(len(mtti), dtype=bool)
        waiting = np.zeros_like(mtti)
        mends: Flags = mtti >= repair.shortest_mtti_s() * (1.0 - 1e-9)
        for number in np.unique(use.way).tolist():
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
            waiting[here] = _erlang_b(np.maximum(left, 0.0) + 1.0, gpus * repair.load(rate, 1))
        return waiting, mends

    def _rates(self, use: Uses) -> Numbers:
        """Return the rate of a GPU in a job of so many, TFLOP/s, as the job uses it."""
        ways, job = self.case.ways, self.case.job
        rates = np.array([way.tflops_per_gpu for way in ways])[use.way] * (job.mfu or 0.0)
        if job.scale is None:
            return rates
        keys = np.stack([use.way, use.gpus])
        each, places = np.unique(keys, axis=1, return_inverse=True)
        shares = [job.scale.share(int(n), ways[int(w)].bubble) for w, n in each.T.tolist()]
        scaled: Numbers = rates * np.array(shares, dtype=float)[np.ravel(places)]
        return scaled


NEWTON_STEPS = 50


def _optimal_period(stall_per_mtti: Numbers) -> Numbers:
    """Return z of ``z - (1 - exp(-z)) = s/M`` by Newton steps; see `exact_period_s`."""
    share = np.asarray(stall_per_mtti, dtype=float)
    z = np.minimum(1.0 + share, np.sqrt(2.0 * share) + share)
    some = np.where(z > 0, z, 1.0)
    for _ in range(NEWTON_STEPS):
        step = (_deficit(some) - share) / -np.expm1(-some)
        step = np.where(z > 0, step, 0.0)
        some = some - step
        if np.all(np.abs(step) <= 1e-14 * some):
            break
    return np.where(z > 0, some, 0.0)


def _deficit(z: Numbers) -> Numbers:
    """Return z - (1 - exp(-z)) without cancellation."""
    small = np.minimum(z, 0.5)
    series = np.ones_like(small)
    for order in range(16, 2, -1):
        series = 1.0 - small / order * series
    return np.where(z < 0.5, small * small / 2.0 * series, z + np.expm1(-z))


def _goodput(interval: Numbers, stopped: Numbers, drain: Numbers, recovery: Numbers,
             mtti: Numbers) -> Numbers:  # fmt: skip
    """Return goodput; ``stopped`` are the seconds lost of each interval to stall and slowdown."""
    z = interval / mtti
    small = np.minimum(z, 0.01)
    series = -small / 2 - small**2 / 24 + small**4 / 2880
    large = np.maximum(z, 0.01)
    rework = np.where(z < 0.01, series, np.log(large) - large - np.log(-np.expm1(-large)))
    with np.errstate(divide="ignore"):
        logs = np.log1p(-stopped / interval) + rework - (drain + recovery) / mtti
    goodput: Numbers = np.exp(logs)
    return goodput


NEVER = 1e-30
"""A share of time below which waiting is none at all."""


def _erlang_b(places: Numbers, load: Numbers) -> Numbers:
    """Return the share of time in which all places are taken, by Erlang's recursion."""
    blocked = np.ones_like(load)
    found = np.ones_like(load)
    for place in range(1, int(places.max(initial=0.0)) + 1):
        blocked = load * blocked / (place + load * blocked)
        found = np.where(places >= place, blocked, found)
        if np.all((blocked < NEVER) | (places <= place)):
            break
    return found


def nameplates(store: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """Return the (read, write) nameplate bandwidth of so many units of an item, GB/s."""
    if not store.segments:
        return store.read_gb_per_s * units, store.write_gb_per_s * units
    rows = [(p.low, p.read_at_low, p.write_at_low) for p in store.segments]
    last = store.segments[-1]
    span = last.high - last.low
    end = (last.high, last.read_at_low + last.read_slope * span)
    rows.append((*end, last.write_at_low + last.write_slope * span))
    known, read, write = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
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
