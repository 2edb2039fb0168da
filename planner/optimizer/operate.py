"""How a purchase is best run: the smooth problem in N and I, solved exactly.

Given the counts, everything but GPUs in use and interval is fixed. For each N the best interval is
the closed-form optimum clamped to what the limits allow, because goodput is unimodal in it. Where
limits are elastic, the interval is the one that misses them by least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

from planner.case import Case, System, Way, bandwidth
from planner.case.bandwidth import bought_nameplate, safe_bandwidth
from planner.case.model import Elastic, Job, Mode
from planner.limits import BY_NAME, LIMITS, of_group
from planner.optimizer import purchase
from planner.sizing import two_levels
from planner.sizing.availability import Restarts, Shrunk, rework_factor
from planner.sizing.demand import write_volume_tb_per_day
from planner.sizing.goodput import best_interval_s, goodput, mtti_s
from planner.sizing.throughput import most_of_each_share
from planner.sizing.two_levels import TwoLevels

TOLERANCE = 9e-8
"""Relative slack of limits on time and bandwidth, a little less than the verifier's."""

MOST_STALLED = 0.999
"""No plan may lose more of its intervals to stalls; see docs/model.md."""

NEAR = 3
"""Steps in the GPUs in use to either side that are tried where spares stand by."""
NEAR_SHRINKING = 12
"""The same where a job goes on with fewer replicas: each spare is then a replica less."""
SECTIONS = 60
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

FLOORS = frozenset(limit.name for limit in LIMITS if limit.sense == ">=")
LOGARITHMIC = frozenset(limit.name for limit in LIMITS if limit.elastic == "log")
"""Limits whose change counts as the logarithm of its factor."""
OF_INTERVAL = LOGARITHMIC - {"restore_time"}
"""Limits whose amounts depend on the interval."""


Running = list[tuple[System, Way]]
"""The GPU systems in use, each with the way in which the job runs on it."""


@dataclass(frozen=True)
class Run:
    """How a job runs on a purchase: every figure that depends on N and I.

    A restore reads at ``read_gb_per_s``, through those of the systems that read then; training data
    comes at ``data_gb_per_s``, through all in use.
    ``goodput`` counts what is ``waiting``, the share of time in which more units are out for repair
    than the ``spares`` that stand by, and with one level of checkpoints ``kept_by_swaps``: with two
    swaps are in its restarts. A job that goes on with fewer replicas is ``shrunk``: ``waiting`` is
    what of the work of all of them that takes, and ``mtti_s`` what those that run see. ``ways`` are
    the ids of the ways in which, one for each type in use.
    """

    mode: Mode
    units: Mapping[str, int]
    used: Mapping[str, int]
    gpus: int
    write_gb_per_s: float
    read_gb_per_s: float
    data_gb_per_s: float
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    client_data_gb_per_s: float
    writing_systems: int
    reading_systems: int
    interval_s: float
    stall_s: float
    drain_s: float
    fan_out: float
    restore_s: float
    mtti_s: float
    failures_per_gpu_day: float
    tflops_per_gpu: float
    goodput: float
    safe_write_gb_per_s: float
    safe_read_gb_per_s: float
    ways: tuple[str, ...] = ()
    replica_gpus: int | None = None
    every: int = 1
    local_drain_s: float = 0.0
    spares: int = 0
    waiting: float = 0.0
    kept_by_swaps: float = 1.0
    shrunk: Shrunk | None = None

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


def best(case: Case, mode: Mode, units: Mapping[str, int], used: Mapping[str, int], gpus: int,
         value: Callable[[Run], float], ways: Collection[str] = ()) -> Run | None:  # fmt: skip
    """Return the best feasible operation near the given use of the GPUs, or None.

    N moves in growing steps from the proposed point for as long as ``value`` improves, which finds
    the best N because value is unimodal in it. Where copies of the model share micro-batches evenly
    it is so among the N with one share alone: it begins at the best of the most N of each. The ways
    are those given.
    """
    if mode == "local" and len(case.by_every) > 1:  # unimodal for each k by itself
        each = (best(one, mode, units, used, gpus, value, ways) for one in case.by_every)
        runs = [run for run in each if run is not None]
        return max(runs, key=lambda run: (value(run), run.goodput), default=None)
    start = operate(case, mode, units, used, gpus, ways)
    if len(used) != 1:
        return start
    ((system, way),) = case.in_use(used, ways)
    step, repair = way.step_gpus, case.job.repair
    at = cache(partial(_at, case, mode, units, system, way=way))
    most = most_allowed(case, way, units[system.id]) // step
    # Whole units in use round up, so a little beyond a worse number may stand a better one.
    near = 0 if repair is None else NEAR_SHRINKING if repair.shrinks else NEAR
    found, here, law = start, gpus // step, case.job.scale
    if law is not None and law.even and way.gpus_max is not None:
        ends = most_of_each_share(way.gpus_max, step, 1, most * step)
        _, peak = _climb(at, start, here, most, near, lambda run: run.useful_gpus)
        for there in (peak, *(end // step for end in ends)):
            if _beats(at(there), found, value):
                found, here = at(there), there
    return _climb(at, found, here, most, near, value)[0]


def _beats(run: Run | None, other: Run | None, value: Callable[[Run], float]) -> bool:
    return run is not None and (other is None or value(run) > value(other))


def _climb(at: Callable[[int], Run | None], found: Run | None, here: int, most: int, near: int,
           value: Callable[[Run], float]) -> tuple[Run | None, int]:  # fmt: skip
    """Return the best run of those with more or fewer steps of GPUs, and how many it has.

    Args:
        at: how so many steps run.
        found: how it runs where it begins.
        here: how many steps those are.
        most: the most there are.
        near: so many to either side are tried one by one at last.
        value: what a run is worth.
    """
    moved = True
    while moved:  # a long step may have gone past the best N: turn round until neither side helps
        moved = False
        for direction in (1, -1):
            width = 1
            while width:
                there = here + direction * width
                if 1 <= there <= most and _beats(at(there), found, value):
                    found, here, width, moved = at(there), there, width * 2, True
                else:
                    width //= 2
        if near and not moved:
            for there in range(max(1, here - near), min(most, here + near) + 1):
                if _beats(at(there), found, value):
                    found, here, moved = at(there), there, True
    return found, here


def most_in_use(case: Case, units: int) -> int:
    """Return the most systems of so many that can be in use beside their hot spares."""
    used = units
    while used > 0 and used + case.job.hot(used) > units:
        used -= max(1, (used + case.job.hot(used) - units) // 2)
    return used


def most_gpus(case: Case, way: Way, units: int) -> int:
    """Return the most GPUs that the job can use of so many systems beside spares it must have."""
    repair, unit = case.job.repair, way.spare_unit
    if repair is None or repair.spares is None or unit.in_rack:
        return way.most_gpus(most_in_use(case, units))
    if unit.per_system == 1:
        return way.most_gpus(max(0, units - repair.spares))
    left = max(0, units * unit.per_system - repair.spares) * unit.gpus
    return min(way.most_gpus(units), left // way.step_gpus * way.step_gpus)


def most_allowed(case: Case, way: Way, units: int) -> int:
    """Return the same where no more may be in use than the job says and its micro-batches fill."""
    gpus, limit, step = most_gpus(case, way, units), case.job.gpus_max_in(way), way.step_gpus
    return gpus if limit is None else min(gpus, limit // step * step)


def _at(
    case: Case, mode: Mode, units: Mapping[str, int], system: System, steps: int, way: Way
) -> Run | None:
    gpus = steps * way.step_gpus
    return operate(case, mode, units, {system.id: way.systems_for(gpus)}, gpus, (way.id,))


def operate(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
    ways: Collection[str] = (),
) -> Run | None:
    """Return the purchase run on so many GPUs at its best interval; None where a limit breaks.

    With a local level also each how many-th of its checkpoints goes on to storage is the best.

    Args:
        mode: how checkpoints are saved.
        used: systems in use by type.
        ways: the ways in which, by id; a type that none is given of runs in its first.
    """
    job = case.job
    running = case.in_use(used, ways)
    if not running or not _gpus_allowed(case, running, units, used, gpus):
        return None
    flow = _flow(case, running, units, used, gpus)
    if flow is not None and mode == "local":
        flow = _on_drives(case, running, flow, gpus)
    if flow is None:
        return None
    slowest_s = flow.fan_out * job.checkpoint_gb / flow.safe_read_gb_per_s
    if job.max_restore_s is not None and slowest_s > job.max_restore_s * (1 + TOLERANCE):
        return None
    fed = min(flow.data_gb_per_s, _staged_gb_per_s(case, units))
    if gpus * job.ingest_per_gpu_gb_per_s > fed * (1 + TOLERANCE):
        return None
    tried = job.levels.every if mode == "local" and job.levels is not None else (1,)
    runs = [_at_best(case, mode, units, used, gpus, flow, every) for every in tried]
    found = [run for run in runs if run is not None]
    if len(found) > 1 and any(limit.name in OF_INTERVAL for limit in case.elastic):
        return min(found, key=lambda run: missed_by(case, run))
    return max(found, key=lambda run: run.goodput, default=None)


def _staged_gb_per_s(case: Case, units: Mapping[str, int]) -> float:
    """Return the training data that comes from the bulk tier to flash, GB/s; no limit without."""
    if case.job.bulk_needed_tb == 0.0:
        return math.inf
    return min(case.in_bulk(units)[1], staging_gb_per_s(case, units))


def staging_gb_per_s(case: Case, units: Mapping[str, int]) -> float:
    """Return the training data that flash takes from the bulk tier beside checkpoints, GB/s."""
    write = case.delivered_write * bought_nameplate(case.bought(units), units)[1]
    return case.job.staged_share * write


def _at_best(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
    flow: _Flow,
    every: int,
) -> Run | None:
    """Return the purchase run at its best interval; None where there is none within the limits."""
    allowed = _intervals(case, mode, units, flow, every)
    if allowed is None:
        return None

    def run_every(interval_s: float) -> Run:
        return _run(case, mode, units, used, gpus, interval_s, flow, every)

    run = run_every(_best_interval(case, mode, flow, allowed, run_every))
    slowdown = 0.0 if mode == "sync" else case.job.drain_slowdown
    stalled = run.stall_s + slowdown * run.drain_s / every > MOST_STALLED * run.interval_s
    return None if stalled or run.goodput <= 0 else run


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
    """Return the purchase run as somebody says, whatever limits that breaks.

    Args:
        mode: how checkpoints are saved.
        units: units in place by item.
        used: systems in use by type, at least one.
        interval_s: start of one checkpoint to the start of the next, s.
        ways: the ways in which, by id; a type that none is given of runs in its first.
        every: each how many-th checkpoint goes on to storage.

    None where nothing works: no bandwidth, or no progress between failures.
    """
    running = case.in_use(used, ways)
    flow = _flow(case, running, units, used, gpus) if running and gpus > 0 else None
    if mode == "local" and any(way.drives is None for _, way in running):
        return None
    if flow is not None and mode == "local":
        local = _Local(max(bandwidth.local_drain_s(case.job, way, gpus) for _, way in running), 0.0)
        flow = replace(flow, local=local)
    run = None if flow is None else _run(case, mode, units, used, gpus, interval_s, flow, every)
    return None if run is None or run.goodput <= 0 else run


@dataclass(frozen=True)
class _Flow:
    """What moves through the storage of a purchase, and how often the job is interrupted."""

    write_gb_per_s: float
    read_gb_per_s: float
    data_gb_per_s: float
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    client_data_gb_per_s: float
    writing_systems: int
    reading_systems: int
    safe_write_gb_per_s: float
    safe_read_gb_per_s: float
    fan_out: float
    mtti_s: float
    failures_per_gpu_day: float
    tflops_per_gpu: float
    ways: tuple[str, ...]
    replica_gpus: int | None
    spares: int
    waiting: float
    kept_by_swaps: float
    shrunk: Shrunk | None
    stall_s: float
    local: _Local | None = None


class _Local(NamedTuple):
    """The local level of a use of GPUs: how long it drains, and how rarely its drives want it."""

    drain_s: float
    worn_s: float


def _flow(
    case: Case,
    running: Running,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
) -> _Flow | None:
    """Return the flow, None where nothing moves."""
    clients = _clients(case, running, used, units)
    read_plate, _ = bought_nameplate(case.bought(units), units)
    write_plate = bandwidth.checkpoint_write(case, units)
    write = min(case.delivered_write * write_plate, clients.write_gb_per_s)
    read, data = (
        min(case.delivered_read * read_plate, most)
        for most in (clients.read_gb_per_s, clients.data_gb_per_s)
    )
    safe_write, safe_read = _safe(case, units, (write, read), clients[:2])
    if safe_write <= 0 or safe_read <= 0:
        return None
    ways = [way for _, way in running]
    a, c = case.job.fan_out_terms(ways[0].replica_gpus)
    rate = max(way.failures_per_gpu_day for way in ways)
    repairs = _repair_terms(case, running, units, gpus)
    seen = 1.0 if repairs[-1] is None else repairs[-1].failing
    return _Flow(
        write, read, data, *clients, safe_write, safe_read, a + c * gpus,
        mtti_s(rate, gpus * seen), rate, _rate(case, ways, gpus),
        tuple(way.id for way in ways), ways[0].replica_gpus, *repairs,
        max(bandwidth.stall_s(case.job, way, gpus) for way in ways),
    )  # fmt: skip


def _on_drives(case: Case, running: Running, flow: _Flow, gpus: int) -> _Flow | None:
    """Return the flow with its local level; None without drives, room, or time to come back."""
    job, types = case.job, [way for _, way in running]
    assert job.levels is not None
    if any(way.drives is None for way in types):
        return None
    for way in types:
        most_tb = 0.0 if way.drives is None else way.drives.capacity_tb
        if bandwidth.local_room_tb(job, way, gpus) > most_tb * (1 + purchase.TOLERANCE):
            return None
    drain_s = max(bandwidth.local_drain_s(job, way, gpus) for way in types)
    mean_s = mtti_s(flow.failures_per_gpu_day, gpus)  # of all replicas, where fewer may run
    if job.longest_local_restart_s + drain_s > mean_s * (1 + TOLERANCE):
        return None
    worn_s = max(bandwidth.worn_interval_s(job, way, gpus) for way in types)
    return replace(flow, local=_Local(drain_s, worn_s))


def _rate(case: Case, ways: list[Way], gpus: int) -> float:
    """Return the rate of the slowest type's GPUs in a job of so many, TFLOP/s."""
    law = case.job.scale
    if law is None:
        return min(way.tflops_per_gpu for way in ways)
    return min(way.tflops_per_gpu * law.share(gpus, way.bubble, way.gpus_max) for way in ways)


def _repair_terms(
    case: Case, running: Running, units: Mapping[str, int], gpus: int
) -> tuple[int, float, float, Shrunk | None]:
    """Return the spares standing by, the share of time waited, what swaps leave, and what a job
    does that shrinks, whose time lost follows from its restarts."""
    repair = case.job.repair
    if repair is None:
        return 0, 0.0, 1.0, None
    ((system, way),) = running
    rate = way.failures_per_gpu_day
    spares = max(0, repair.standing_by(way.spare_unit, units[system.id], gpus))
    if not repair.shrinks:
        waiting = repair.waiting(way.spare_unit, spares, gpus, rate)
        return spares, waiting, repair.swap_factor(mtti_s(rate, gpus)), None
    replicas = (gpus // way.step_gpus, way.step_gpus, way.least_running)
    shrunk = repair.shrunk(way.spare_unit, spares, replicas, rate)
    return spares, 0.0, repair.swap_factor(mtti_s(rate, gpus * shrunk.failing)), shrunk


def restarts(job: Job, run: Run) -> Restarts:
    """Return how a job restarts that goes on with fewer replicas."""
    assert job.repair is not None
    share, repair_s = job.repair.hardware_share, job.repair.repair_s
    if run.mode == "local" and job.levels is not None:
        near_s, far = job.levels.local_restart_s, job.levels.remote_share
        after = ((1.0 - far, near_s), (far, job.restart_s))
        return Restarts(share, repair_s, after, near_s, run.local_drain_s)
    more_s = run.restore_s + run.drain_s
    return Restarts(share, repair_s, ((1.0, job.restart_s),), job.restart_s, more_s)


def short_of_units(job: Job, run: Run, shrunk: Shrunk) -> float:
    """Return the share of its work that a job loses to units that are out, going on with fewer.

    What it spares in restarts, which those that are out do not make, is taken off.

    Args:
        run: how it runs.
        shrunk: what it does, with the spares of the run or others.
    """
    how, mean_s = restarts(job, run), mtti_s(run.failures_per_gpu_day, run.gpus * shrunk.failing)
    fewer_per_s = shrunk.spared(how) / shrunk.failing / mean_s
    lost = shrunk.lost(how, run.interval_s, mean_s)
    if run.mode == "local":
        saved = replace(on_two_levels(job, run), mtti_s=mean_s)
        spared = two_levels.log_spared(saved, fewer_per_s)
    else:
        spared = (job.restart_s + run.restore_s) * fewer_per_s
    return min(1.0, max(0.0, lost - (1.0 - lost) * math.expm1(spared)))


def _run(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
    interval_s: float,
    flow: _Flow,
    every: int,
) -> Run:
    job = case.job
    transfer_s = job.checkpoint_gb / flow.write_gb_per_s
    restore_s = flow.fan_out * job.checkpoint_gb / flow.read_gb_per_s
    stall = transfer_s if mode == "sync" else flow.stall_s
    drain = 0.0 if mode == "sync" else transfer_s
    slowdown = 0.0 if mode == "sync" else job.drain_slowdown
    recovery_s = job.restart_s + restore_s
    run = Run(
        mode, units, used, gpus, flow.write_gb_per_s, flow.read_gb_per_s, flow.data_gb_per_s,
        flow.client_write_gb_per_s, flow.client_read_gb_per_s, flow.client_data_gb_per_s,
        flow.writing_systems, flow.reading_systems, interval_s, stall, drain, flow.fan_out,
        restore_s, flow.mtti_s, flow.failures_per_gpu_day, flow.tflops_per_gpu, 0.0,
        flow.safe_write_gb_per_s, flow.safe_read_gb_per_s, flow.ways, flow.replica_gpus, every,
        0.0 if flow.local is None else flow.local.drain_s, flow.spares, flow.waiting,
        flow.kept_by_swaps, flow.shrunk,
    )  # fmt: skip
    if flow.local is None:
        kept = goodput(interval_s, stall, drain, recovery_s, flow.mtti_s, slowdown)
        kept *= flow.kept_by_swaps
    else:
        kept = two_levels.goodput(on_two_levels(job, run))
    waiting = flow.waiting
    if flow.shrunk is not None and kept > 0.0:
        waiting = short_of_units(job, run, flow.shrunk)
    return replace(run, waiting=waiting, goodput=kept * (1.0 - waiting) * job.progress)


def on_two_levels(job: Job, run: Run) -> TwoLevels:
    """Return the times of a run with a local level, from which its goodput follows."""
    asked, repair = job.levels, job.repair
    assert asked is not None
    swaps = (0.0, 0.0) if repair is None else (repair.hardware_share, repair.swap_s)
    return TwoLevels(
        run.interval_s, run.every, run.stall_s, run.local_drain_s, run.drain_s,
        asked.local_restart_s, job.restart_s, run.restore_s, run.mtti_s, asked.remote_share,
        job.drain_slowdown, asked.drain_restarts, *swaps,
    )  # fmt: skip


def _gpus_allowed(
    case: Case,
    running: Running,
    units: Mapping[str, int],
    used: Mapping[str, int],
    gpus: int,
) -> bool:
    job, hot = case.job, case.job.hot
    ways = [way for _, way in running]
    least, most = max(job.gpus_min, *(way.least_gpus for way in ways)), job.gpus_max_in(*ways)
    within = gpus >= least and (most is None or gpus <= most)
    fabrics = {way.fabric for way in ways if way.fabric is not None}
    return (
        within
        and len(fabrics) <= 1
        and all(used[s.id] + hot(used[s.id]) <= units[s.id] for s, _ in running)
        and _mends(case, running, units, gpus)
    )


def _mends(case: Case, running: Running, units: Mapping[str, int], gpus: int) -> bool:
    """Say whether the spares asked for stand by, swaps are as short as they must be, and a job
    that goes on with fewer replicas ever has those that must run."""
    repair = case.job.repair
    if repair is None:
        return True
    ((system, way),) = running
    if repair.shrinks and gpus < way.least_running * way.step_gpus:
        return False
    standing_by = repair.standing_by(way.spare_unit, units[system.id], gpus)
    return standing_by >= 0 and repair.swaps_fit(mtti_s(way.failures_per_gpu_day, gpus))


class _Clients(NamedTuple):
    """What the systems can write, read in a restore and read of training data, which all in use
    do; and how many write a checkpoint and read it back."""

    write_gb_per_s: float
    read_gb_per_s: float
    data_gb_per_s: float
    writing_systems: int
    reading_systems: int


def _clients(
    case: Case, running: Running, used: Mapping[str, int], units: Mapping[str, int]
) -> _Clients:
    serving = {item.family for item in case.bought(units)}
    families = [family for family in case.families if family.id in serving]
    write_factor = min((family.write_factor for family in families), default=1.0)
    read_factor = min((family.read_factor for family in families), default=1.0)
    job = case.job
    replica = running[0][1].replica_gpus
    write, writers = _side(
        [(s.client_write_gb_per_s, way.usable_gpus, used[s.id]) for s, way in running],
        replica if job.one_replica_writes else None,
    )
    ports = [(s.client_read_gb_per_s, way.usable_gpus, used[s.id]) for s, way in running]
    read, readers = _side(ports, replica if job.one_replica_reads else None)
    data, _ = _side(ports, None)
    return _Clients(write * write_factor, read * read_factor, data * read_factor, writers, readers)


def _side(types: list[tuple[float, int, int]], replica_gpus: int | None) -> tuple[float, int]:
    if replica_gpus is None:
        return sum(limit * used for limit, _, used in types), sum(used for _, _, used in types)
    return min((math.ceil(replica_gpus / gpus) * limit, math.ceil(replica_gpus / gpus))
               for limit, gpus, _ in types)  # fmt: skip


def _safe(
    case: Case,
    units: Mapping[str, int],
    delivered: tuple[float, float],
    clients: tuple[float, float],
) -> tuple[float, float]:
    """Return the (write, read) bandwidth that limits count on: with appliances down, if asked."""
    if not case.tolerate_down:
        return delivered
    read, write = safe_bandwidth((item, units.get(item.id, 0)) for item in case.storage)
    return (
        min(case.delivered_write * write, clients[0]),
        min(case.delivered_read * read, clients[1]),
    )


def _intervals(
    case: Case, mode: Mode, units: Mapping[str, int], flow: _Flow, every: int
) -> tuple[float, float] | None:
    """Return the shortest and the longest interval within the limits, or None."""
    rule = case.job.interval
    low = _shortest(case, mode, units, flow, every)
    if rule.policy != "optimal":
        interval = rule.low_s if rule.policy == "fixed" else rule.kappa * flow.mtti_s
        return (interval, interval) if interval * (1 + TOLERANCE) >= low else None
    low = max(low, rule.low_s)
    if low > rule.high_s * (1 + TOLERANCE):
        return None
    return min(low, rule.high_s), rule.high_s


def _best_interval(
    case: Case,
    mode: Mode,
    flow: _Flow,
    allowed: tuple[float, float],
    run_every: Callable[[float], Run],
) -> float:
    """Return the interval of most useful work, or the one that misses elastic limits least."""
    low, high = allowed
    if low == high:
        return low
    if any(limit.name in OF_INTERVAL for limit in case.elastic):
        return _least_missed(low, high, lambda every: missed_by(case, run_every(every)))
    job, transfer_s = case.job, case.job.checkpoint_gb / flow.write_gb_per_s
    if flow.shrunk is not None:
        best_s = _best_shrinking(job, flow.shrunk, run_every(high), low, high)
        if run_every(best_s).waiting > 0.0:
            return best_s
        return two_levels.peak_s(lambda at: run_every(math.exp(at)).goodput, low, high)
    if mode == "local":
        return two_levels.best_interval_s(on_two_levels(job, run_every(high)), low, high)
    stall = transfer_s if mode == "sync" else flow.stall_s + job.drain_slowdown * transfer_s
    return best_interval_s(stall, flow.mtti_s, low, high)


def _best_shrinking(job: Job, shrunk: Shrunk, run: Run, low: float, high: float) -> float:
    """Return the interval of most work: units that are back wait for its end to be used. What
    restarts spare may seem more than units out take; then it is another."""
    how, rate = restarts(job, run), 1.0 / run.mtti_s
    slowdown = 0.0 if run.mode == "sync" else job.drain_slowdown
    stopped_s = run.stall_s + slowdown * run.drain_s / run.every
    restart, share = 0.0, 1.0
    if run.mode == "local" and job.levels is not None:
        seen = rate * (1.0 - shrunk.spared(how) / shrunk.failing)
        restart, share = on_two_levels(job, run).restarts(seen)[0], job.levels.remote_share
    most = 1.0 - shrunk.idle
    back = shrunk.back(how, run.mtti_s) if shrunk.restarts else None
    grown, late = 0.0, 0.0
    if back is not None:
        grown = shrunk.grown / how.repair_s * (back.stands_s + back.longer * how.more_s)
        late = max(0.0, 1.0 - shrunk.eased) * shrunk.late / how.repair_s

    def worth(log_interval: float) -> float:
        interval_s = math.exp(log_interval)
        at, left = rate * interval_s, most
        if back is not None:
            left -= grown * back.planned(interval_s) + late * back.waits_s(interval_s)
        if stopped_s >= interval_s or left <= 0.0:
            return -math.inf
        left *= 1.0 - stopped_s / interval_s
        if run.mode == "local":
            times = at, restart, rate * run.local_drain_s
            return math.log(left) + two_levels.kept(*times, run.every, share)
        kept = left * rework_factor(at)
        return math.log(kept) if kept > 0.0 else -math.inf

    return two_levels.peak_s(worth, low, high)


def _least_missed(low: float, high: float, missed: Callable[[float], float]) -> float:
    """Return the interval at which a function, convex in its logarithm, is least."""
    left, right = math.log(low), math.log(high)
    width = GOLDEN * (right - left)
    below, above = missed(math.exp(right - width)), missed(math.exp(left + width))
    for _ in range(SECTIONS):  # of the two points within, one stays
        if below <= above:
            right = left + width
            width = GOLDEN * (right - left)
            below, above = missed(math.exp(right - width)), below
        else:
            left = right - width
            width = GOLDEN * (right - left)
            below, above = above, missed(math.exp(left + width))
    ends = (low, high, math.exp(left), math.exp(right))
    return min(ends, key=missed)


def _shortest(case: Case, mode: Mode, units: Mapping[str, int], flow: _Flow, every: int) -> float:
    job, transfer_s = case.job, case.job.checkpoint_gb / flow.safe_write_gb_per_s
    bounds = [max(_endurance_interval(case, units), recovery_s(case, units))]
    if mode == "sync":
        bounds.append(transfer_s / job.max_blocking)
    elif flow.local is not None:
        remote = transfer_s if case.rule is not None else transfer_s / job.max_overlap
        near = (flow.stall_s + flow.local.drain_s, flow.local.worn_s)
        return max(*near, max(bounds[0], remote) / every)
    else:
        bounds.append(flow.stall_s + transfer_s)
        if case.rule is None:
            bounds.append(transfer_s / job.max_overlap)
    return max(bounds)


def recovery_s(case: Case, units: Mapping[str, int]) -> float:
    """Return the shortest interval at which buffers that take bursts are empty again, s; 0 where
    nothing bursts."""
    if not case.bursts:
        return 0.0
    sustained = case.delivered_write * bought_nameplate(case.bought(units), units)[1]
    return case.job.checkpoint_gb / sustained if sustained > 0.0 else 0.0


def _endurance_interval(case: Case, units: Mapping[str, int]) -> float:
    """Return the shortest interval the drives endure, s; 0 where an item bought is not rated."""
    endured = 0.0
    for item in case.bought(units):
        if item.endurance_tb_per_day is None:
            return 0.0
        endured += item.endurance_tb_per_day * units[item.id]
    return write_volume_tb_per_day(case.job.checkpoint_gb, 1.0) / endured if endured else 0.0


def missed_by(case: Case, operation: Run) -> float:
    """Return the weighted sum of what an operation misses each elastic limit by."""
    return sum(limit.weight * _share(case, operation, limit) for limit in case.elastic)


def _share(case: Case, operation: Run, limit: Elastic) -> float:
    other = "overlap" if operation.mode == "sync" else "blocking"
    if limit.name == other:
        return 0.0
    value = amount(case, operation, limit.name)
    if limit.name in LOGARITHMIC:
        if value <= 0.0:  # no progress at all
            return math.inf
        ratio = math.log(value / limit.value)
        return max(0.0, -ratio if limit.name in FLOORS else ratio)
    over = limit.value - value if limit.name in FLOORS else value - limit.value
    return max(0.0, over / limit.scale)


_OF_INGEST = ("ingest", "bulk_read", "staging")
_OF_GPUS = tuple(limit.name for limit in LIMITS if limit.figure == "gpus_used")


def amount(case: Case, operation: Run, name: str) -> float:
    """Return what an operation reaches in the unit of a limit."""
    limit = BY_NAME[name]
    if limit.group == "supply":
        return purchase.bill(case, operation.units, operation.ways)[limit.figure]
    job, run = case.job, operation
    pflops = run.useful_pflops(job.mfu or 0.0)
    drain_s = job.checkpoint_gb / run.safe_write_gb_per_s

    def tco_usd() -> float:
        return purchase.bill(case, run.units, run.ways)["tco_usd"]

    amounts: dict[str, Callable[[], float]] = {
        **dict.fromkeys(_OF_GPUS, lambda: float(run.gpus)),
        "capacity": lambda: sum(i.usable_tb * run.units[i.id] for i in case.storage),
        "restore_time": lambda: run.fan_out * job.checkpoint_gb / run.safe_read_gb_per_s,
        "overlap": lambda: drain_s / run.remote_interval_s,
        "blocking": lambda: drain_s / run.interval_s,
        "drain_fits": lambda: (run.stall_s if run.mode == "async" else 0.0) + drain_s,
        "local_fits": lambda: run.stall_s + run.local_drain_s,
        **dict.fromkeys(_OF_INGEST, lambda: run.gpus * job.ingest_per_gpu_gb_per_s),
        "burst_recovery": lambda: recovery_s(case, run.units),
        "endurance": lambda: write_volume_tb_per_day(job.checkpoint_gb, run.remote_interval_s),
        "interval_max": lambda: run.interval_s,
        "interval_min": lambda: run.interval_s,
        "min_goodput": lambda: run.goodput,
        "min_useful_gpus": lambda: run.useful_gpus,
        "min_useful_pflops": lambda: pflops,
        "max_days_to_train": lambda: case.days_at_one_pflops() / pflops,
        "per_useful_gpu_hour": lambda: tco_usd() / (run.useful_gpus * case.rates.hours),
        "per_million_tokens": lambda: tco_usd() / (pflops * case.million_tokens_per_pflops()),
    }
    return amounts[name]()


def passed_by(case: Case, run: Run) -> dict[str, float | None]:
    """Return the limits on how a job runs that a run passes, each by what share of itself.

    The share is None of a limit of nothing.
    """
    found: dict[str, float | None] = {}
    for name, allowed in _limits_on(case, run):
        if allowed is None:
            continue
        value = amount(case, run, name)
        over = BY_NAME[name].looser * (value - allowed)
        if over > TOLERANCE * allowed:
            found[name] = over / allowed if allowed else None
    return found


def most_by(case: Case, run: Run) -> dict[str, int | None]:
    """Return the limits on the GPUs in use of a run, each None where it is not."""
    filled = [way.gpus_max for _, way in case.in_use(run.used, run.ways)]
    most = min((gpus for gpus in filled if gpus is not None), default=None)
    return {"gpus_max": case.job.gpus_max, "micro_batches": most}


def _limits_on(case: Case, run: Run) -> Iterator[tuple[str, float | None]]:
    """Yield each limit on how a job runs with what it allows or asks for, None where it is not."""
    job = case.job
    for limit in of_group("target", "ratio"):
        yield limit.name, case.limits[limit.field]
    yield "replica_fits", run.replica_gpus
    others = max(1, run.replica_gpus or 1, case.limits["min_gpus"] or 1)
    yield "gpus_min", job.gpus_min if job.gpus_min > others else None
    yield from most_by(case, run).items()
    yield "restore_time", job.max_restore_s
    if run.mode == "sync":
        yield "blocking", job.max_blocking
    else:
        yield "overlap", job.max_overlap if case.rule is None else None
        yield "drain_fits", run.remote_interval_s
    if run.mode == "local":
        yield "local_fits", run.interval_s
    yield "ingest", run.data_gb_per_s
    if job.bulk_needed_tb and job.ingest_per_gpu_gb_per_s > 0:
        yield "bulk_read", case.in_bulk(run.units)[1]
        yield "staging", staging_gb_per_s(case, run.units)
    if case.bursts:
        yield "burst_recovery", run.remote_interval_s
    rated = [item.endurance_tb_per_day for item in case.storage if run.units[item.id]]
    if None not in rated:
        yield (
            "endurance",
            sum((item.endurance_tb_per_day or 0.0) * run.units[item.id] for item in case.storage),
        )
