"""Goodput, intervals, stall and the local level of checkpoints, computed again by formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.schema.catalog import Item
from planner.schema.plan import FailureClass, JobPlan, LocalPlan, StallPlan
from planner.schema.running import LocalLevel
from planner.verifier.basis import Basis, Ledger
from planner.verifier.decisions import Decisions, checkpoint_gb, usable_gpus


@dataclass(frozen=True)
class Levels:
    """The local level of checkpoints; ``remote_share`` of interruptions need the remote one."""

    every: int
    drain_s: float
    restart_s: float
    remote_share: float
    drain_restarts: bool


@dataclass(frozen=True)
class ProgressTimes:
    """What decides how much time becomes kept progress; all in seconds but the slowdown.

    ``stopped_s`` is the stall plus what the slowdown costs while a checkpoint drains. After a share
    ``swapped`` of interruptions the restart takes ``swap_s`` longer; the job ``waits`` for repairs
    for that share of its time. With ``levels`` the interval is of local checkpoints, drain and
    restore are of the remote level.
    """

    interval_s: float
    stopped_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    mtti_s: float
    levels: Levels | None = None
    swapped: float = 0.0
    swap_s: float = 0.0
    waits: float = 0.0

    @property
    def growing_s(self) -> tuple[float, float]:
        """What a restart with more replicas takes, and beside: to read back, and before until the
        capture that it goes on from is safe."""
        if self.levels is not None:
            return self.levels.restart_s, self.levels.drain_s
        return self.restart_s, self.restore_s + self.drain_s

    @property
    def starting_s(self) -> list[tuple[float, float]]:
        """Shares of failures, each with the restart after it, without reading back."""
        if self.levels is None:
            return [(1.0, self.restart_s)]
        far = self.levels.remote_share
        return [(1.0 - far, self.levels.restart_s), (far, self.restart_s)]

    @property
    def kept_by_swaps(self) -> float:
        """What longer restarts leave: the mean of exp(-swap/M) over interruptions."""
        return (1.0 - self.swapped) + self.swapped * math.exp(-self.swap_s / self.mtti_s)

    def swaps_spared(self, fewer_per_s: float) -> float:
        """By what share `kept_by_swaps` is more where restarts see fewer failures a second."""
        lost = self.swapped * math.exp(-self.swap_s / self.mtti_s)
        return lost * math.expm1(self.swap_s * fewer_per_s) / self.kept_by_swaps


def goodput(rhythm: ProgressTimes) -> float:
    """Return the share of wall-clock time kept as progress; 0 where the stall fills it.

    Source: (1 - s/I) exp(-(D + R)/M) z/(exp(z) - 1), z = I/M, with the mean of exp(-R/M) where
    restarts differ (of two levels in each of theirs), times the share of time not waited for
    repairs; see docs/model.md.
    """
    logs = _log_factors(rhythm)
    return 0.0 if logs is None else math.exp(sum(logs.values()))


def understated(rhythm: ProgressTimes, slowed_s: float) -> float:
    """Return the kept work that `goodput` misses, as a share of wall-clock time.

    Args:
        slowed_s: what a drain costs the interval it slows, s of work; the first interval of a life
            is charged it in vain, and counts where its checkpoint is safe before the next failure.
    """
    safe_s = rhythm.restart_s + rhythm.restore_s + rhythm.interval_s + rhythm.drain_s
    running = rhythm.kept_by_swaps * (1.0 - rhythm.waits)
    return slowed_s / rhythm.mtti_s / math.exp(min(safe_s / rhythm.mtti_s, 700.0)) * running


def first_order_goodput(rhythm: ProgressTimes) -> float:
    """Return the first-order form (1 - s/I) (1 - (R + I/2 + D)/M), while not waiting."""
    running = max(0.0, 1 - rhythm.stopped_s / rhythm.interval_s)
    recovery_s = rhythm.restart_s + rhythm.restore_s + rhythm.swapped * rhythm.swap_s
    lost_s = recovery_s + rhythm.interval_s / 2 + rhythm.drain_s
    near = rhythm.levels
    if near is not None:
        lost_s += near.drain_s + (near.every - 1) * rhythm.interval_s / 2
        near_s = near.restart_s + near.drain_s + rhythm.interval_s / 2
        near_s += rhythm.swapped * rhythm.swap_s
        lost_s = near.remote_share * lost_s + (1 - near.remote_share) * near_s
    return running * (1 - lost_s / rhythm.mtti_s) * (1.0 - rhythm.waits)


def losses(rhythm: ProgressTimes) -> dict[str, float]:
    """Return 1 - goodput by cause, split in proportion to the logarithm of each factor."""
    logs = _log_factors(rhythm)
    if logs is None:
        none = dict.fromkeys(("rework", "drain", "restart", "restore", "waiting"), 0.0)
        return {"stall": 1.0, **none}
    log_goodput = sum(logs.values())
    lost = -math.expm1(log_goodput)
    return {cause: lost * log / log_goodput for cause, log in logs.items()}


def log_spared(rhythm: ProgressTimes, fewer_per_s: float) -> float:
    """Return by how much the logarithm of goodput is higher if restarts see fewer failures.

    Ratios of what `_log_of_two` multiplies, after and before, each as 1 plus what changes: the
    share may be so small that logarithms do not tell it.

    Args:
        fewer_per_s: by so many a second.
    """
    near, mtti = rhythm.levels, rhythm.mtti_s
    far_s = rhythm.restart_s + rhythm.restore_s
    if near is None:
        return far_s * fewer_per_s
    q2, swaps = near.remote_share, rhythm.swaps_spared(fewer_per_s)
    back = (1 - q2) * math.exp(-near.restart_s / mtti) * rhythm.kept_by_swaps
    longer = math.expm1(near.restart_s * fewer_per_s)
    comes = back * (longer + swaps + longer * swaps)
    safe = math.exp(-near.drain_s / mtti)
    settles = comes * safe / (q2 + back * safe)
    log = math.log1p(comes / (q2 + back)) - math.log1p(settles)
    again = math.expm1(rhythm.interval_s / mtti) * q2 / (q2 + back * safe)
    kept = math.exp(min(near.every * math.log1p(again), 700.0))
    change = near.every * math.log1p(-again * settles / ((1 + settles) * (1 + again)))
    log -= math.log1p(math.expm1(change) * kept / (kept - 1))
    if near.drain_restarts:
        anew = math.expm1(rhythm.drain_s / mtti) * q2
        log -= math.log1p(-anew * comes / ((q2 + back + anew) * (q2 + back + comes)))
    long = q2 * math.exp(far_s / mtti) / rhythm.kept_by_swaps
    shorter = (math.expm1(-far_s * fewer_per_s) - swaps) / (1 + swaps)
    return log - math.log1p(long * shorter / (1 - q2 + long))


def _log_factors(rhythm: ProgressTimes) -> dict[str, float] | None:
    if rhythm.stopped_s >= rhythm.interval_s:
        return None
    if rhythm.levels is not None:
        return _log_factors_of_two(rhythm, rhythm.levels)
    z = rhythm.interval_s / rhythm.mtti_s
    return {
        "stall": math.log1p(-rhythm.stopped_s / rhythm.interval_s),
        "rework": log_rework(z),
        "drain": -rhythm.drain_s / rhythm.mtti_s,
        "restart": -rhythm.restart_s / rhythm.mtti_s + math.log(rhythm.kept_by_swaps),
        "restore": -rhythm.restore_s / rhythm.mtti_s,
        "waiting": math.log1p(-rhythm.waits),
    }


def _log_factors_of_two(rhythm: ProgressTimes, near: Levels) -> dict[str, float]:
    """Return what each cause takes when times are added one after the other, as logarithms."""
    running = math.log1p(-rhythm.stopped_s / rhythm.interval_s)
    free = replace(rhythm, stopped_s=0.0, drain_s=0.0, restart_s=0.0, restore_s=0.0, swap_s=0.0)
    rework = _log_of_two(free, replace(near, drain_s=0.0, restart_s=0.0))
    draining = replace(free, drain_s=rhythm.drain_s)
    drain = _log_of_two(draining, replace(near, restart_s=0.0))
    started = replace(draining, restart_s=rhythm.restart_s, swap_s=rhythm.swap_s)
    restart = _log_of_two(started, near)
    whole = _log_of_two(replace(rhythm, stopped_s=0.0), near)
    return {
        "stall": running,
        "rework": rework,
        "drain": drain - rework,
        "restart": restart - drain,
        "restore": whole - restart,
        "waiting": math.log1p(-rhythm.waits),
    }


def _log_of_two(rhythm: ProgressTimes, near: Levels) -> float:
    """Return the logarithm of the goodput of two levels, counted from renewal to renewal.

    A renewal is a failure that needs the remote level; between two of them a remote checkpoint
    after n local ones is kept with the probability that these are safe in time, and its drain.
    """
    mtti, q2 = rhythm.mtti_s, near.remote_share
    q1 = 1 - q2
    safe = math.exp(-near.drain_s / mtti)
    back = math.exp(-near.restart_s / mtti) * rhythm.kept_by_swaps
    again = math.expm1(rhythm.interval_s / mtti) * q2 / (q2 + q1 * back * safe)
    steps = near.every * math.log1p(again)
    first = safe * (q2 + q1 * back) / (q2 + q1 * back * safe)
    if near.drain_restarts:
        drains = 1 / (1 + math.expm1(rhythm.drain_s / mtti) * q2 / (q2 + q1 * back))
    else:
        drains = math.exp(-q2 * rhythm.drain_s / mtti)
    kept_s = near.every * rhythm.interval_s * first * drains / math.expm1(steps)
    far_s = rhythm.restart_s + rhythm.restore_s
    between_s = mtti / q2 + mtti * (math.exp(far_s / mtti) / rhythm.kept_by_swaps - 1)
    return math.log(kept_s / between_s)


def log_rework(z: float) -> float:
    """Return log(z / (exp(z) - 1)) of an interval of z MTTIs; the series where digits are lost."""
    if z < 1e-3:
        return -z / 2 - z * z / 24
    if z > 500:
        return math.log(z) - z
    return math.log(z / math.expm1(z))


def young_s(stopped_s: float, mtti_s: float) -> float:
    """Return Young's interval sqrt(2 s M) in seconds."""
    return math.sqrt(2 * stopped_s * mtti_s)


def daly_s(stopped_s: float, mtti_s: float) -> float:
    """Return Daly's higher-order interval in seconds (doi 10.1016/j.future.2004.11.016)."""
    if stopped_s >= 2 * mtti_s:
        return mtti_s
    half = stopped_s / (2 * mtti_s)
    return young_s(stopped_s, mtti_s) * (1 + math.sqrt(half) / 3 + half / 9) - stopped_s


def exact_s(stopped_s: float, mtti_s: float) -> float:
    """Return the interval with the highest goodput in seconds, by bisection.

    It is where z - 1 + exp(-z) = s/M, with z the interval over the MTTI; the left side rises.
    """
    wanted = stopped_s / mtti_s
    low, high = 0.0, wanted + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _deficit(middle) < wanted:
            low = middle
        else:
            high = middle
    return high * mtti_s if wanted > 0 else 0.0


def _deficit(z: float) -> float:
    if z < 1e-2:
        return z**2 / 2 - z**3 / 6 + z**4 / 24 - z**5 / 120 + z**6 / 720
    return z + math.expm1(-z)


SECONDS_PER_DAY = 86400
GB_PER_TB = 1000


def check_choice(ledger: Ledger, basis: Basis, stated: JobPlan) -> None:
    """Require that the problem allows the local level that a plan uses, or that it uses none."""
    asked, local = basis.problem.job.checkpoint.local, stated.local
    use = "no" if asked is None else asked.use
    if local is None:
        ledger.require(use != "yes", "jobs.local: the problem asks for a local level")
        return
    if use == "no" or asked is None:
        ledger.fail("jobs.local: the problem has no local level")
        return
    ledger.require(stated.mode == "async", "jobs.mode: a local level is for asynchronous saves")
    every = [local.every] if isinstance(local.every, int) and local.every > 0 else []
    if local.every not in asked.every or not every:
        ledger.fail(f"jobs.local.every: {local.every!r} is not among {list(asked.every)}")
    for sku in stated.gpu_types:
        item = basis.items.get(sku)
        if item is not None and (item.local.write is None or item.local.capacity is None):
            ledger.fail(f"jobs.local: {sku} has no drives of known bandwidth and capacity")


def remote_share(basis: Basis) -> float:
    """Return the share of interruptions of which no local copy is left."""
    asked = basis.problem.job.checkpoint.local
    assert asked is not None
    return sum(
        share
        for name, share in basis.problem.job.failure_shares.items()
        if not _left(asked, asked.recovers[name])
    )


def _left(asked: LocalLevel, recovers: str) -> bool:
    return recovers == "yes" or (recovers == "peer" and asked.copies >= 2)


def copy_s(basis: Basis, decisions: Decisions) -> float:
    """Return how long the slowest GPU copies its part of the state to its host, s."""
    return max((one.copy_s for one in _copies(basis, decisions)), default=0.0)


def _copies(basis: Basis, decisions: Decisions) -> list[StallPlan]:
    """Return what a derived stall is made of on each type in use."""
    checkpoint = basis.problem.job.checkpoint
    if checkpoint.stall_s != "derived" or decisions.mode == "sync":
        return []
    held_gb = checkpoint_gb(basis.problem.job) / _writers(basis, decisions)
    rates = [basis.items[sku].local.host_copy for sku in decisions.gpu_types]
    overhead_s = checkpoint.stall_overhead_s or 0.0
    return [
        StallPlan(
            overhead_s=overhead_s,
            gpu_gb=held_gb,
            copy_gb_per_s=0.0 if rate is None else rate.value,
            copy_s=float("inf") if rate is None else held_gb / rate.value,
        )
        for rate in rates
    ]


def _writers(basis: Basis, decisions: Decisions) -> int:
    """Return the GPUs that write, each its part of a checkpoint."""
    job = basis.problem.job
    if job.checkpoint.writers == "all" or job.parallelism is None:
        return decisions.gpus_used
    return job.parallelism.replica_gpus


def find_levels(basis: Basis, decisions: Decisions) -> Levels | None:
    """Return the times of the local level, None where the plan has none."""
    asked, restart_s = basis.problem.job.checkpoint.local, basis.problem.job.restart.local_s
    if not decisions.every or asked is None or restart_s is None:
        return None
    return Levels(
        every=decisions.every,
        drain_s=max(part / write for part, write, _, _ in _drives(basis, decisions)),
        restart_s=restart_s,
        remote_share=remote_share(basis),
        drain_restarts=asked.drain == "restarts",
    )


def _drives(
    basis: Basis, decisions: Decisions
) -> Iterator[tuple[float, float, float, float | None]]:
    """Yield of each type in use: GB of a system per checkpoint, GB/s, TB, TB a day endured."""
    asked = basis.problem.job.checkpoint.local
    copies = 0 if asked is None else asked.copies
    writers = _writers(basis, decisions)
    one_replica = basis.problem.job.checkpoint.writers == "one_replica"
    for sku in decisions.gpu_types:
        item: Item = basis.items[sku]
        local, provided = item.local, item.provides.gpus
        if local.write is None or local.capacity is None or provided is None:
            continue
        gpus = usable_gpus(basis.problem.job, sku, provided.value)
        held = min(gpus, writers) if one_replica else gpus
        part_gb = checkpoint_gb(basis.problem.job) / writers * held * copies
        endurance = None if local.endurance is None else local.endurance.value
        yield part_gb, local.write.value, local.capacity.value, endurance


@dataclass(frozen=True)
class NearLimits:
    """What the drives of a system hold, are written, and may be written: of several types in use of
    the fullest, and of the one that wears out first."""

    room_tb: float
    capacity_tb: float
    volume_tb_per_day: float
    endurance_tb_per_day: float | None


def near_limits(basis: Basis, decisions: Decisions) -> NearLimits | None:
    """Return what a local level asks of the drives, None where the plan has none."""
    asked = basis.problem.job.checkpoint.local
    if not decisions.every or asked is None:
        return None
    drives = list(_drives(basis, decisions))
    fullest = max(drives, key=lambda drive: drive[0] / drive[2])
    rated = [(part, endured) for part, _, _, endured in drives if endured is not None]
    written_gb, endured = max(drive[0] for drive in drives), None
    if rated:
        written_gb, endured = max(rated, key=lambda drive: drive[0] / drive[1])
    return NearLimits(
        room_tb=asked.keep * fullest[0] / GB_PER_TB,
        capacity_tb=fullest[2],
        volume_tb_per_day=written_gb / GB_PER_TB * SECONDS_PER_DAY / decisions.interval_s,
        endurance_tb_per_day=endured,
    )


def shortest_worn_s(basis: Basis, decisions: Decisions) -> float:
    """Return the shortest local interval that the drives endure, s."""
    rated = [
        part / GB_PER_TB * SECONDS_PER_DAY / endured
        for part, _, _, endured in _drives(basis, decisions)
        if endured is not None
    ]
    return max(rated, default=0.0)


def check_levels(ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan) -> None:
    """Compare what the plan says of a derived stall and of its local level."""
    slowest = max(_copies(basis, decisions), key=lambda one: one.copy_s, default=None)
    _compare(ledger, "jobs.derived_stall", stated.derived_stall, slowest)
    _compare(ledger, "jobs.local", stated.local, _local_plan(basis, decisions))


def _local_plan(basis: Basis, decisions: Decisions) -> LocalPlan | None:
    levels, near = find_levels(basis, decisions), near_limits(basis, decisions)
    job, asked = basis.problem.job, basis.problem.job.checkpoint.local
    if levels is None or near is None or asked is None:
        return None
    drives = list(_drives(basis, decisions))
    return LocalPlan(
        every=decisions.every,
        remote_interval_s=decisions.every * decisions.interval_s,
        drain_s=levels.drain_s,
        restart_s=levels.restart_s,
        remote_share=levels.remote_share,
        classes=tuple(
            FailureClass(
                name=name,
                share=share,
                recovers=asked.recovers[name],
                level="local" if _left(asked, asked.recovers[name]) else "remote",
            )
            for name, share in job.failure_shares.items()
        ),
        copies=asked.copies,
        keep=asked.keep,
        remote_drain=asked.drain,
        write_gb_per_s=min(write for _, write, _, _ in drives),
        part_gb=max(part for part, _, _, _ in drives),
        **vars(near),
    )


def _compare(
    ledger: Ledger,
    name: str,
    stated: LocalPlan | StallPlan | None,
    computed: LocalPlan | StallPlan | None,
) -> None:
    if stated is None or computed is None:
        missing = "missing" if stated is None else "the job has none"
        ledger.require(stated is computed, f"{name}: {missing}")
        return
    for field in type(computed).model_fields:
        mine, theirs = getattr(computed, field), getattr(stated, field)
        if isinstance(mine, float):
            ledger.same(f"{name}.{field}", theirs, mine)
        else:
            ledger.equal(f"{name}.{field}", theirs, mine)
