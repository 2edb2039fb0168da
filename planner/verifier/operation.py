"""Every figure of a plan's job, recomputed and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.schema.plan import JobPlan, LocalPlan
from planner.verifier import goodput as physics
from planner.verifier.goodput import DAY_S, Times
from planner.verifier.job import Run, failure_classes
from planner.verifier.ledger import Ledger, agrees, round_up
from planner.verifier.rates import Pace, gpus_of, replica_gpus, usable_gpus, whole_replica
from planner.verifier.repairs import Repairs


@dataclass(frozen=True)
class Operation:
    """The job's operation as recomputed: figures under the plan's names, times, repairs."""

    run: Run
    figures: Mapping[str, Any]
    times: Times
    stall_s: float
    repairs: Repairs | None

    def goodput_at(self, interval_s: float, every: int) -> float:
        """Return the goodput at another interval and local multiple."""
        times = replace(self.run, interval_s=interval_s, every=every).times()[1]
        return physics.goodput(times if self.repairs is None else self.repairs.added(times))

    @property
    def worst_times(self) -> tuple[float, float, float]:
        """Stall, drain and restore (s), with appliances down where the problem asks for it."""
        down_s, sync = self.figures["degraded_drain_s"], self.run.mode == "sync"
        if down_s is None:
            return self.stall_s, self.times.drain_s, self.times.restore_s
        stall_s, drain_s = (down_s, 0.0) if sync else (self.stall_s, down_s)
        return stall_s, drain_s, self.figures["degraded_restore_s"]


def operate(run: Run) -> Operation:
    """Return every figure of the job."""
    stall_s, times = run.times()
    repairs = Repairs.of(run)
    times = times if repairs is None else repairs.added(times)
    share = physics.goodput(times)
    figures = _work(run, share) | _storage(run) | _rhythm(run, times, stall_s)
    figures |= {"goodput": share, "useful_gpus": run.gpus * share} | _asked(run)
    return Operation(run, figures | _degraded(run, figures), times, stall_s, repairs)


def _work(run: Run, share: float) -> dict[str, Any]:
    """Return rates and the useful work, by the pace of the slowest type."""
    job, gpus = run.job, run.gpus

    def rate(pace: Pace) -> float:
        known = pace.useful_tflops(job, gpus)
        return (pace.tflops or 0.0) * pace.throughput if known is None else known

    pace = min(run.paces.values(), key=rate)
    each, active, tokens = (
        pace.useful_tflops(job, gpus),
        job.training.active_parameters,
        job.training.tokens,
    )
    scale = 1.0 if each is None else pace.scale(job, gpus)
    pflops = None if each is None else gpus * share * each / 1000
    active = active or job.parameters
    days = 6 * active * tokens / (pflops * 1e15) / DAY_S if active and tokens and pflops else None
    replica = None if job.parallelism is None else replica_gpus(job.parallelism)
    own = {"tflops_per_gpu": pace.tflops or 0.0, "mfu": pace.mfu, "scale_share": scale}
    own |= {"rate_share": pace.throughput * scale, "useful_pflops": pflops, "days_to_train": days}
    own |= {"tokens": tokens, "active_parameters": active, "replica_gpus": replica}
    return own | {"replicas": None if replica is None else gpus / replica}


def _storage(run: Run) -> dict[str, Any]:
    """Return bandwidth, capacity and what a checkpoint asks of storage."""
    job, saved = run.job, run.job.checkpoint
    (read, write), (read_limit, data_limit, reading) = run.delivered, run.clients("read")
    write_limit, _, writing = run.clients("write")
    apart = job.restore.readers == "one_replica" and job.ingest_per_gpu_gb_per_s > 0
    archives_tb = saved.exports * 2 * (job.parameters or 0.0) / 1e12
    held, other_tb = saved.keep_last + 1, job.tiered.staged_tb
    if not job.in_bulk:
        held, other_tb = held + saved.milestones, job.tiered.size_tb + archives_tb
    needed_tb = (held * run.size_gb / 1000 + other_tb) / run.basis.problem.storage.fill_limit
    own: dict[str, Any] = {"checkpoint_gb": run.size_gb, "fan_out": run.fan_out}
    own |= {"delivered_read_gb_per_s": min(read, read_limit), "checkpoints_held": held}
    own |= {"delivered_write_gb_per_s": min(write, write_limit), "other_data_tb": other_tb}
    own |= {"client_read_limit_gb_per_s": read_limit, "client_write_limit_gb_per_s": write_limit}
    own |= {"client_data_limit_gb_per_s": data_limit if apart else None, "reading": reading}
    own |= {"writing": writing, "stored_read": read, "stored_write": write}
    own |= {"ingest_gb_per_s": run.gpus * job.ingest_per_gpu_gb_per_s}
    own |= {"capacity_needed_tb": needed_tb, "bytes_per_parameter": run.bytes_per_parameter}
    archives_tb += saved.milestones * run.size_gb / 1000
    data_tb = job.tiered.size_tb
    own["burst"] = run.burst
    sustained = write if run.burst is None else run.burst["sustained_gb_per_s"]
    own["bulk"] = (
        None
        if not job.in_bulk
        else {
            "dataset_tb": data_tb,
            "archives_tb": archives_tb,
            "staged_tb": job.tiered.staged_tb,
            "needed_tb": (data_tb + archives_tb) / run.basis.problem.storage.fill_limit,
            "usable_tb": run.bulk[0],
            "read_gb_per_s": run.bulk[1],
            "staging_gb_per_s": (1.0 - saved.max_overlap) * sustained,
        }
    )
    return own | {"write_volume_tb_per_day": run.size_gb / 1000 * DAY_S / run.remote_s}


def _rhythm(run: Run, times: Times, stall_s: float) -> dict[str, Any]:
    """Return the times of checkpoints and restarts."""
    mtti_s, stopped_s = times.mtti_s, times.stopped_s
    slowed_s = stopped_s - stall_s if run.mode == "async" and not times.every else 0.0
    own = {"stall_s": stall_s, "drain_s": times.drain_s, "overlap": times.drain_s / run.remote_s}
    own |= {"blocking": stall_s / run.interval_s, "restore_s": times.restore_s, "mtti_s": mtti_s}
    own |= {"restart_s": times.restart_s, "failures_per_gpu_day": run.failures}
    own |= {
        "young_s": physics.young_s(stopped_s, mtti_s),
        "daly_s": physics.daly_s(stopped_s, mtti_s),
    }
    own |= {"exact_s": physics.exact_s(stopped_s, mtti_s)}
    own |= {"goodput_first_order": physics.first_order(times)}
    return own | {"goodput_understated": physics.understated(times, slowed_s)}


def _asked(run: Run) -> dict[str, Any]:
    """Return what the plan repeats of the problem's job."""
    job, saved, storage = run.job, run.job.checkpoint, run.basis.problem.storage
    option = job.parallelism
    own: dict[str, Any] = {
        "name": job.name,
        "fan_out_kind": job.restore.fan_out,
        "writers": saved.writers,
    }
    own |= {"readers": job.restore.readers, "interval_policy": saved.interval.policy}
    own |= {"max_overlap": saved.max_overlap if storage.rule == "demand" else None}
    own |= {"max_blocking": saved.max_blocking, "tolerate_down": storage.tolerate_down}
    own |= {"lost_time": job.lost_share}
    own |= {"whole_replicas": whole_replica(job) is not None}
    return own | {"tensor_gpus": None if option is None else option.tensor}


def _degraded(run: Run, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Return bandwidth, drain and restore with appliances down; None where that is not asked."""
    names = ("write_gb_per_s", "read_gb_per_s", "drain_s", "overlap", "restore_s")
    found: dict[str, float | None] = dict.fromkeys(f"degraded_{name}" for name in names)
    down = run.basis.problem.storage.tolerate_down
    if not down:
        return found
    (read, write), (read_lost, write_lost) = run.delivered, run.lost(down)
    write = min(write - write_lost, figures["client_write_limit_gb_per_s"])
    read = min(read - read_lost, figures["client_read_limit_gb_per_s"])
    write_s = run.size_gb / write if write > 0 else math.inf
    restore_s = run.fan_out * run.size_gb / read if read > 0 else math.inf
    overlap = write_s / run.remote_s if run.mode == "async" else None
    return dict(zip(found, (write, read, write_s, overlap, restore_s), strict=True))


def check_job(ledger: Ledger, operation: Operation, stated: JobPlan) -> None:
    """Compare every figure of the plan's job."""
    run, job, figures = operation.run, operation.run.job, operation.figures
    own = {name: value for name, value in figures.items() if name in JobPlan.model_fields}
    for part in ("bulk", "burst"):
        _same_parts(ledger, f"jobs.{part}", getattr(stated, part), own.pop(part))
    asked, idle = job.gpus.per_system, sum(gpus_of(i) * run.systems[i.id] for i in run.types)
    own["per_system_gpus"] = asked.get(stated.gpu_type) if isinstance(asked, dict) else asked
    own["usable_gpus_by_type"] = {item.id: usable_gpus(job, item) for item in run.types}
    own |= {"idle_gpus": idle - run.gpus, "hot_spare_systems": sum(hot_spares(run).values())}
    ledger.all_same("jobs", stated, own)
    for side in ("read", "write"):
        limit, stored = figures[f"client_{side}_limit_gb_per_s"], figures[f"stored_{side}"]
        if not agrees(limit, stored):
            by = "appliances" if stored < limit else "clients"
            ledger.same(f"jobs.{side}_limited_by", getattr(stated, f"{side}_limited_by"), by)
    for field, among in (("reading_systems", "reading"), ("writing_systems", "writing")):
        right = getattr(stated, field) in figures[among]
        ledger.require(right, f"jobs.{field}: not among {sorted(figures[among])}")
    if not (stated.mode == "sync" and stated.drain_slowdown == 0):
        slowdown = job.checkpoint.drain_slowdown
        ledger.same("jobs.drain_slowdown", stated.drain_slowdown, slowdown)
    ledger.all_same("jobs.loss", stated.loss, physics.losses(operation.times))
    derived = run.stall()
    _same_parts(
        ledger, "jobs.derived_stall", stated.derived_stall, dict(derived) if derived else None
    )
    _same_parts(ledger, "jobs.local", stated.local, _local_plan(operation))
    _check_replicas(ledger, run)
    _check_repairs(ledger, operation, stated)
    ledger.require(figures["goodput"] > 0, "jobs.goodput: the job makes no progress")


def _same_parts(ledger: Ledger, label: str, stated: Any, own: dict[str, Any] | None) -> None:
    if stated is None or own is None:
        ledger.same(f"{label}: given", stated is not None, own is not None)
    else:
        ledger.all_same(label, stated, own)


def _check_replicas(ledger: Ledger, run: Run) -> None:
    """Require whole replicas, and the fewest systems that hold the GPUs in use."""
    replica = whole_replica(run.job)
    usable = {item.id: usable_gpus(run.job, item) for item in run.types}
    most = sum(usable[sku] * n // (replica or 1) for sku, n in run.systems.items())
    if replica is None:
        ledger.same("jobs.gpus_used", run.gpus, most)
        return
    least = sum(usable[sku] * (n - 1) // replica + 1 for sku, n in run.systems.items())
    right = run.gpus % replica == 0 and least <= run.gpus // replica <= most
    text = f"{run.gpus} are not {least} to {most} whole replicas of {replica}"
    ledger.require(right, f"jobs.gpus_used: {text}, which these systems hold")


def _check_repairs(ledger: Ledger, operation: Operation, stated: JobPlan) -> None:
    repairs = operation.repairs
    own = None if repairs is None else repairs.figures(operation.times)
    shrunk = None if own is None else own.pop("shrunk")
    _same_parts(ledger, "jobs.repair", stated.repair, own)
    if repairs is None or stated.repair is None:
        return
    _same_parts(ledger, "jobs.repair.shrunk", stated.repair.shrunk, shrunk and dict(shrunk))
    enough = repairs.spares(repairs.unit) >= 0
    ledger.require(enough, "jobs.repair.spares: fewer than the problem asks for")
    longest_s = physics.longest_swap_share(repairs.share) * operation.times.mtti_s
    if repairs.repair.swap_s > longest_s * (1 + 1e-7):
        text = f"a swap of {repairs.repair.swap_s:.6g} s exceeds {longest_s:.6g} s, the most proven"
        ledger.breach("jobs.repair.swap_s", text)


def _local_plan(operation: Operation) -> dict[str, Any] | None:
    """Return the plan's figures of the local level, None without one."""
    run, times, asked = operation.run, operation.times, operation.run.job.checkpoint.local
    if not run.every or asked is None:
        return None
    drives = list(run.drives())
    own = LocalPlan(
        every=run.every,
        remote_interval_s=run.remote_s,
        drain_s=times.near_drain_s,
        restart_s=times.near_restart_s,
        remote_share=times.far,
        classes=failure_classes(run.job),
        copies=asked.copies,
        keep=asked.keep,
        remote_drain=asked.drain,
        write_gb_per_s=min(drive.write_gb_per_s for drive in drives),
        part_gb=max(drive.part_gb for drive in drives),
        **run.local_limits(),
    )
    return dict(own)


def hot_spares(run: Run) -> dict[str, int]:
    """Return the systems of each type that must stand ready."""
    systems, share = run.job.gpus.hot
    return {sku: max(systems, round_up(share * count)) for sku, count in run.systems.items()}
