"""The stall and the local level of checkpoints, re-computed from the catalogs' figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.schema.catalog import Item
from planner.schema.levels import LocalLevel
from planner.schema.plan import FailureClass, JobPlan, LocalPlan, StallPlan
from planner.verifier.basis import Basis
from planner.verifier.decisions import Decisions, checkpoint_gb, usable_gpus
from planner.verifier.ledger import Ledger
from planner.verifier.progress import Levels

SECONDS_PER_DAY = 86400
GB_PER_TB = 1000


def check_choice(ledger: Ledger, basis: Basis, stated: JobPlan) -> None:
    """Require that the problem allows the local level that a plan uses, or that it uses none.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        stated: the plan's job.
    """
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
    """Compare what the plan says of a derived stall and of its local level.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        stated: the plan's job.
    """
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
