"""Operation of one plan: every figure that depends on its GPUs in use and interval, and its limits.

The figures are those of `Work`, of an array of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, System, Way
from planner.case.items import Storage
from planner.case.job import ROUNDING, Mode
from planner.case.model import NEEDS_GOODPUT, Split
from planner.limits import BY_NAME
from planner.optimizer.bill import TOLERANCE as SLACK
from planner.optimizer.bill import (
    Counts,
    Numbers,
    Stores,
    Vendors,
    bill,
    given_supplies,
    least_order,
    sum_storage,
    unmet_needs,
)
from planner.optimizer.useful_work import PRICES, BestUse
from planner.optimizer.work import ANY_SYSTEMS, TOLERANCE, JobRun, Ports, Uses, Work
from planner.sizing.checkpoint import write_volume_tb_per_day
from planner.sizing.goodput import Shrunk, goodput_loss

AROUND = 16
"""Numbers of GPUs that are tried together where several types share them."""


@dataclass(frozen=True)
class Run:
    """Operating point of a job on a purchase.

    A restore reads at ``read_gb_per_s``, through the clients that read then; training data comes at
    ``data_gb_per_s``, through all in use. ``goodput`` counts the share of time ``waiting`` for
    repairs. Of a job that goes on with fewer replicas ``waiting`` is the share of its work lost to
    units out, and ``mtti_s`` that of the replicas that run. ``ways`` are ids, one for each type in
    use; ``units`` and ``used`` count by item; each ``every``-th local checkpoint goes on.
    """

    mode: Mode
    units: Mapping[str, int]
    used: Mapping[str, int]
    gpus: int
    ways: tuple[str, ...]
    delivered_write_gb_per_s: float
    delivered_read_gb_per_s: float
    data_gb_per_s: float
    degraded_write_gb_per_s: float
    degraded_read_gb_per_s: float
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    writing_systems: int
    reading_systems: int
    interval_s: float
    stall_s: float
    drain_s: float
    local_drain_s: float
    fan_out: float
    restore_s: float
    mtti_s: float
    failures_per_gpu_day: float
    tflops_per_gpu: float
    goodput: float
    replica_gpus: int | None
    every: int
    spares: int
    waiting: float

    @property
    def remote_interval_s(self) -> float:
        """Start of one checkpoint that goes to storage to the start of the next."""
        return self.every * self.interval_s

    @property
    def useful_gpus(self) -> float:
        """N * E."""
        return self.gpus * self.goodput

    def useful_pflops(self, mfu: float) -> float:
        """N * f * mfu * E, PFLOP/s."""
        return self.useful_gpus * self.tflops_per_gpu * mfu / 1000.0


def operate(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
    ways: Collection[str] = (),
) -> Run | None:
    """A purchase run at its best interval, with a local level at the best k; None where a
    limit on running breaks.

    Args:
        used: systems in use by type.
        ways: ids of the ways; a type without one runs in its first.
    """
    if any(count > units.get(name, 0) for name, count in used.items()):
        return None
    single = _Single.build(case, mode, units, used, gpus, ways)
    if single is None:
        return None
    ran = single.work.run(single.use)
    best = int(np.argmax(np.where(ran.allowed, ran.goodput, 0.0)))
    return single.record(ran, best) if ran.allowed[best] else None


def run_at(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
    interval_s: float,
    ways: Collection[str] = (),
    every: int = 1,
) -> Run | None:
    """A purchase run at a given interval, whatever limits that breaks; None where nothing
    works: no bandwidth, no drives of a local level, or no progress between failures.

    Args:
        units: units in the cluster by item.
        used: systems in use by type, at least one.
        interval_s: start of one checkpoint to the start of the next, s.
        ways: ids of the ways; a type without one runs in its first.
        every: each how many-th local checkpoint goes on to storage.
    """
    single = _Single.build(case, mode, units, used, gpus, ways, every)
    if single is None or any(mode == "local" and way.drives is None for _, way in single.running):
        return None
    ran = single.work.run(single.use, interval_s=np.array([interval_s]))
    return single.record(ran) if ran.goodput[0] > 0.0 else None


def goodput_with(case: Case, run: Run, stores: Stores) -> Numbers:
    """The goodput of the GPUs of a run with other storage, an entry each, with a local level
    at the best k; 0 where a limit on running breaks."""
    single = _Single.build(case, run.mode, run.units, run.used, run.gpus, run.ways)
    assert single is not None
    use, count, some = single.use, len(stores.write), len(single.use.gpus)
    each = np.repeat(np.arange(some), count)
    many = replace(use.take(each), stores=stores.take(np.tile(np.arange(count), some)))
    ran = single.work.run(many)
    return np.asarray(np.where(ran.allowed, ran.goodput, 0.0).reshape(some, count).max(axis=0))


@dataclass(frozen=True)
class _Single:
    """One purchase as arrays, an entry for each k of a local level, with the types in use."""

    case: Case
    work: Work
    use: Uses
    running: list[tuple[System, Way]]
    units: Mapping[str, int]
    used: Mapping[str, int]

    @classmethod
    def build(
        cls,
        case: Case,
        mode: Mode,
        units: Mapping[str, int],
        used: Mapping[str, int],
        gpus: int,
        ways: Collection[str],
        every: int | None = None,
    ) -> _Single | None:
        """The operation; None where nothing runs, or the types run no job together."""
        running = case.in_use(used, ways)
        job = replace(case.job, max_types=max(1, len(running)))
        systems = tuple(replace(system, ways=(way,)) for system, way in running)
        work = Work(replace(case, systems=systems, job=job), mode)
        team = tuple(range(len(running)))
        if gpus <= 0 or team not in work.teams:
            return None
        tried = np.array([1 if every is None else every])
        if mode == "local" and job.levels is not None and every is None:
            tried = np.array(job.levels.every)
        place, same = work.teams.index(team), np.zeros(len(tried), dtype=np.int64)
        counts = np.array([[used[system.id] for system, _ in running]], dtype=float)
        count = ANY_SYSTEMS if len(team) > 1 else units[running[0][0].id]
        use = Uses(
            same + place,
            same + count,
            same + gpus,
            purchased_storage(case, units).take(same),
            ports=Ports(*(each[same] for each in work.ports_of(place, counts))),
            every=tried,
        )
        return cls(case, work, use, running, units, used)

    def record(self, ran: JobRun, place: int = 0) -> Run:
        """Every figure of the run of an entry."""

        def entry(figures: NDArray[Any]) -> float:
            return float(figures[place])

        work, use, flow, t = self.work, self.use, ran.flow, ran.times
        job, repair, gpus = self.case.job, self.case.job.repair, int(use.gpus[place])
        (system, way), in_use = self.running[0], sum(self.used.values())
        ports, stores, writing = work.ports(use), use.stores, in_use
        client_read = entry(ports.read * stores.read_factor)
        if job.one_replica_writes:  # the systems of one, of the type whose ports move least
            counts = [(-(-(w.replica_gpus or 0) // w.usable_gpus), s) for s, w in self.running]
            writing = min((n * s.client_write_gb_per_s, n) for n, s in counts)[1]
        spares = 0
        if repair is not None:
            spares = max(0, repair.count_spares(way.spare_unit, self.units[system.id], gpus))
        return Run(
            mode=work.mode,
            units=self.units,
            used=self.used,
            gpus=gpus,
            ways=tuple(way.id for _, way in self.running),
            delivered_write_gb_per_s=entry(flow.write),
            delivered_read_gb_per_s=entry(flow.read),
            data_gb_per_s=min(self.case.delivered_read_share * entry(stores.read), client_read),
            degraded_write_gb_per_s=entry(flow.degraded_write),
            degraded_read_gb_per_s=entry(flow.degraded_read),
            client_write_gb_per_s=entry(ports.write * stores.write_factor),
            client_read_gb_per_s=client_read,
            writing_systems=writing,
            reading_systems=in_use,
            interval_s=entry(ran.interval_s),
            stall_s=entry(t.stall),
            drain_s=entry(t.drain),
            local_drain_s=0.0 if t.local is None else entry(t.local.drain_s),
            fan_out=entry(work.fan_once[use.team] + work.fan_each[use.team] * gpus),
            restore_s=entry(t.restore),
            mtti_s=entry(ran.mtti_s),
            failures_per_gpu_day=entry(work.rate[use.team]),
            tflops_per_gpu=entry(work.rates(use.team, use.gpus.astype(float), job.scale)),
            goodput=entry(ran.goodput),
            replica_gpus=way.replica_gpus,
            every=1 if t.local is None or use.every is None else int(use.every[place]),
            spares=spares,
            waiting=entry(ran.waiting),
        )


def purchased_storage(case: Case, units: Mapping[str, int]) -> Stores:
    """Bandwidth, capacity and endurance of the storage of one purchase."""
    counts = [[units.get(item.id, 0)] for item in case.storage]
    return sum_storage(case, np.array(counts, dtype=np.int64).reshape(-1, 1))


# The GPUs in use of one purchase, divided among several types.


def best_division(
    work: BestUse,
    team: int,
    systems: Sequence[int],
    stores: Stores,
    score: Callable[[Uses], Numbers],
) -> tuple[int, tuple[int, ...]] | None:
    """The GPUs in use of the best score and the systems in use of each type.

    Numbers of GPUs are tried in the order of their bound, until the best is no worse than the
    next bound; each is divided among the types in every way that no other exceeds both in
    write and in read bandwidth.

    Args:
        team: a team of several types.
        systems: systems of each type in the cluster.
        stores: bandwidth and capacity of the one purchase.
        score: of uses, -inf where they are not allowed; no less with more ports.
    """
    case, numbers = work.case, np.zeros(1, dtype=np.int64)
    ways = [case.ways[way] for way in work.teams[team]]
    pairs = zip(work.teams[team], systems, strict=True)
    most = [int(work.most_gpus(number, np.array([n]))[0]) for number, n in pairs]
    for way, top in zip(ways, most, strict=True):  # sums of whole steps of every type
        steps = np.arange(way.step_gpus, top + 1, way.step_gpus)
        numbers = np.unique(numbers[:, None] + steps)

    def scores(gpus: Counts, ports: Ports | None = None) -> Numbers:
        some = np.zeros(len(gpus), dtype=np.int64)
        return score(Uses(some + team, some + ANY_SYSTEMS, gpus, stores.take(some), ports=ports))

    bounds, best, found = scores(numbers), -math.inf, None
    order = np.argsort(-bounds, kind="stable")
    for first in range(0, len(order), AROUND):
        some = order[first : first + AROUND]
        if bounds[some[0]] <= best:
            break
        counts = numbers[some].tolist()
        rows = [(n, used) for n in counts for used in _divisions(work, team, most, n)]
        if not rows:
            continue
        gpus, used = (np.array(each) for each in zip(*rows, strict=True))
        values = scores(gpus, work.ports_of(team, used.astype(float)))
        place = int(np.argmax(values))
        if values[place] > best:
            best, found = float(values[place]), rows[place]
    return found


def _divisions(work: Work, team: int, most: Sequence[int], gpus: int) -> list[tuple[int, ...]]:
    """Systems in use by type for a number of GPUs: no other writes as much and reads more."""
    ways = [work.case.ways[way] for way in work.teams[team]]
    ends = [min(m, gpus) for m in most]
    first = [np.arange(w.step_gpus, m + 1, w.step_gpus) for w, m in zip(ways, ends, strict=True)]
    parts = [np.ravel(each) for each in np.meshgrid(*first[:-1], indexing="ij")]
    last = gpus - np.sum(parts, axis=0)
    fine = (last > 0) & (last <= most[-1]) & (last % ways[-1].step_gpus == 0)
    each = zip([*parts, last], ways, strict=True)
    used = np.array([np.ceil(p[fine] / w.usable_gpus - ROUNDING) for p, w in each]).T
    if not len(used):
        return []
    types = [work.case.systems[row] for row in work.rows_of[team]]
    write = used @ np.array([system.client_write_gb_per_s for system in types])
    read = used @ np.array([system.client_read_gb_per_s for system in types])
    order = np.lexsort((-read, -write))
    most_read = np.maximum.accumulate(read[order])
    ahead = np.concatenate([[True], most_read[1:] > most_read[:-1]])
    return [tuple(int(n) for n in used[place]) for place in order[ahead].tolist()]


# Figures of a run beside its record.


def elastic_averages(case: Case, run: Run) -> Shrunk | None:
    """The averages over the units out of a job that goes on with fewer replicas."""
    repair = case.job.repair
    if repair is None or not repair.shrinks:
        return None
    single = _Single.build(case, run.mode, run.units, run.used, run.gpus, run.ways, run.every)
    assert single is not None
    return single.work.shrunk(single.use)


def run_losses(case: Case, run: Run) -> dict[str, float]:
    """Shares of time that a run loses, by cause; see `goodput_loss`."""
    single = _Single.build(case, run.mode, run.units, run.used, run.gpus, run.ways, run.every)
    assert single is not None
    work, use, mtti = single.work, single.use, np.array([run.mtti_s])
    gpus, flow = use.gpus.astype(float), work.flow(use)
    times = work.times(use.team, gpus, flow, use.stores.worn_s, use.every)
    swaps, interval = work.kept_by_swaps(mtti), np.array([run.interval_s])
    return goodput_loss(times, interval, mtti, swaps=swaps, waiting=run.waiting)


# Limits on how a job runs.


def exceeded_limits(case: Case, run: Run) -> list[str]:
    """Names of the limits on running that a run exceeds."""
    return [
        name
        for name, value, allowed in limits_on(case, run)
        if allowed is not None and BY_NAME[name].looser * (value - allowed) > TOLERANCE * allowed
    ]


def meets_floors(case: Case, run: Run) -> bool:
    """True if a run reaches every floor and ratio of money to work."""
    return NEEDS_GOODPUT.isdisjoint(exceeded_limits(case, run))


def limits_on(case: Case, run: Run) -> Iterator[tuple[str, float, float | None]]:
    """Yield each limit on running with its value and the amount allowed, None where it is not."""
    job, limits, gpus, stores = case.job, case.limits, run.gpus, purchased_storage(case, run.units)
    pflops = run.useful_pflops(job.mfu or 0.0)
    write_s = job.checkpoint_gb / run.degraded_write_gb_per_s
    bought = case.delivered_write_share * float(stores.sustained[0])
    yield "min_goodput", run.goodput, limits["min_goodput"]
    yield "min_useful_gpus", run.useful_gpus, limits["min_useful_gpus"]
    yield "min_useful_pflops", pflops, limits["min_useful_pflops"]
    if (days := limits["max_days_to_train"]) is not None:
        yield "max_days_to_train", case.days_at_one_pflops() / pflops, days
    for ratio in PRICES:
        if (limit := limits[ratio]) is not None:
            done = run.useful_gpus * case.rates.hours
            if ratio == "per_million_tokens":
                done = pflops * case.million_tokens_per_pflops()
            yield ratio, bill(case, run.units, run.ways)["tco_usd"] / done, limit
    yield "replica_fits", gpus, run.replica_gpus
    yield "gpus_min", gpus, job.gpus_min if job.gpus_min > (run.replica_gpus or 1) else None
    yield "gpus_max", gpus, job.gpus_max
    restore_s = run.fan_out * job.checkpoint_gb / run.degraded_read_gb_per_s
    yield "restore_time", restore_s, job.max_restore_s
    if run.mode == "sync":
        yield "blocking", write_s / run.interval_s, job.max_blocking
    else:
        most = job.max_overlap if case.rule is None else None
        yield "overlap", write_s / run.remote_interval_s, most
        stall_s = run.stall_s if run.mode == "async" else 0.0
        yield "drain_fits", stall_s + write_s, run.remote_interval_s
    if run.mode == "local":
        yield "local_fits", run.stall_s + run.local_drain_s, run.interval_s
    ingest = gpus * job.ingest_per_gpu_gb_per_s
    yield "ingest", ingest, run.data_gb_per_s
    if job.bulk_needed_tb and ingest > 0:
        yield "bulk_read", ingest, case.delivered_read_share * float(stores.bulk_read[0])
        yield "staging", ingest, job.staged_share * bought
    if case.bursts and bought > 0.0:
        yield "burst_recovery", job.checkpoint_gb / bought, run.remote_interval_s
    rated = [(item.endurance_tb_per_day, run.units[item.id]) for item in case.bought(run.units)]
    if all(each is not None for each, _ in rated):
        written = write_volume_tb_per_day(job.checkpoint_gb, run.remote_interval_s)
        yield "endurance", written, sum((each or 0.0) * count for each, count in rated)


# Limits on a purchase, whatever the job does with it.


def is_orderable(case: Case, units: Mapping[str, int]) -> bool:
    """True if counts keep minimum orders, highest counts and the families allowed."""
    serving: dict[str, int] = {}
    for offer in case.offers():
        count, high = units.get(offer.id, 0), offer.high
        if count < (max(offer.low, least_order(offer)) if count else offer.low):
            return False
        if not count:
            continue
        if high is not None and count > high:
            return False
        if isinstance(offer, Storage) and not offer.is_bulk:
            serving[offer.family] = serving.get(offer.family, 0) + count
    if len(serving) > case.max_families:
        return False
    most = {family.id: family.max_units for family in case.families}
    return all((limit := most[name]) is None or n <= limit for name, n in serving.items())


def broken_limits(case: Case, units: Mapping[str, int], ways: Collection[str]) -> list[str]:
    """The names of the limits that a purchase breaks, whatever the job does with it.

    Args:
        ways: ids of the ways that run the job.
    """
    try:
        spent = bill(case, units, ways)
    except ValueError:
        return ["fabric"]
    sums = given_supplies(case.limits)
    unplaced = (name for way in ways for name in case.unplaced.get(way, ()))
    return [
        *(s.name for s in sums if spent[s.figure] > (case.limits[s.field] or 0.0) * (1 + SLACK)),
        *(
            f"stock_{i.id}"
            for i in case.bill_items()
            if i.stock is not None and spent.purchased[i.id] > i.stock
        ),
        *(f"unplaced_{name}" for name in dict.fromkeys(unplaced) if units[name]),
        *broken_by_counts(case, units),
    ]


def broken_by_counts(case: Case, units: Mapping[str, int]) -> list[str]:
    """The limits that counts of GPU systems and storage break without their bill."""
    most, stores = case.limits["most_write_gb_per_s"], purchased_storage(case, units)
    offers = (*case.systems, *case.storage)
    counts = np.array([[units.get(offer.id, 0)] for offer in offers], dtype=np.int64)
    broken = []
    if most is not None and case.delivered_write_share * stores.sustained[0] > most * (1 + SLACK):
        broken.append("most_write")
    named = (*Vendors(case).broken(counts, counts), *unmet_needs(case, counts, stores))
    return broken + [name for name, flags in named if flags[0]]


def largest_share(split: Split, units: Mapping[str, int]) -> float:
    """The largest share of one vendor in a category, 0 where nothing is bought."""
    parts = [sum(units[name] for name in ids) for ids in split.vendors]
    return max(parts) / sum(parts) if any(parts) else 0.0


# The plan of another case.


def fit_operation(case: Case, run: Run) -> Run | None:
    """An operation at its best under a case; None where that refuses its purchase or use.

    Args:
        run: an operation of another case with the same products.
    """
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    units = {name: run.units.get(name, 0) for name in ids}
    if not is_orderable(case, units) or broken_limits(case, units, run.ways):
        return None
    if len(run.used) > case.job.max_types or run.mode not in case.job.modes:
        return None
    found = operate(case, run.mode, units, run.used, run.gpus, run.ways)
    if found is None or not meets_floors(case, found):
        return None
    held = units | {system.id: found.used.get(system.id, 0) for system in case.systems}
    if not all(held[name] for name in case.must_use):
        return None
    return replace(found, units=units)
