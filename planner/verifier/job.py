"""The job: every figure of its operation, computed once from the decisions of a plan.

Decisions are counts, GPUs in use, mode, interval, local level, set points and precisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.operation import JobPlan
from planner.verifier import physics
from planner.verifier.basis import Basis, Findings, Near, times, value
from planner.verifier.physics import DAY_S, Times, gpus_of, replica_gpus, usable_gpus

CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered thread per GPU (S. Kartik, C. Tartow, VAST Data, 2024-01-10)."""
FAILURES_PER_GPU_DAY = {
    "rsc1": 8.13e-4,  # 6.50 failures per 1,000 node-days of 8 GPUs, arXiv 2410.21680 (HPCA'25)
    "rsc2": 2.93e-4,  # 2.34 failures per 1,000 node-days of 8 GPUs, the same paper
    "llama3": 4.74e-4,  # 419 interruptions in 54 days on 16,384 GPUs, arXiv 2407.21783 table 5
    "mlcommons": 4.8e-4,  # 50,000 h per accelerator, MLPerf Storage v2.0 press release
    "shared_research": 2.97e-3,  # 7.9 h per job of 1,024 GPUs, arXiv 2410.21680
}
DEFAULT_FAILURES = "llama3"
BYTES_PER_PARAMETER = {
    "mixed_adam": 14.0,  # bf16 weights 2, fp32 master 4, fp32 moments 4 + 4 (BLOOM-176B)
    "fp32_adam": 12.0,  # fp32 weights 4, fp32 moments 4 + 4
    "bf16_moments": 10.0,  # bf16 weights 2, fp32 master 4, bf16 moments 2 + 2, arXiv 2412.19437
    "weights_only": 2.0,
    "megatron_1t": 13.8,  # 13.8 TB of 1e12 parameters, arXiv 2104.04473 section 5.10
}
SIDES = ("read", "write")
LOSS_NOISE = 1e-9


def choose_ways(found: Findings, basis: Basis, j: JobPlan) -> Basis:
    """The basis with the plan's spread of a replica, GPUs of each system, and set points."""
    job, item, repair = basis.job, basis.items[j.gpu_type], basis.job.repair
    if len(job.options) > 1:
        spread = {way.option for way in j.ways}
        option = next((each for each in job.options if spread == {each.name}), None)
        known = option is not None
        found.require(known, "jobs.ways: no option of the problem spreads a replica like this")
        job = job.model_copy(update={"parallelisms": option or job.options[0]})
    used, tray = j.per_system_gpus, value(item.spare_unit.tray) if item.spare_unit else None
    in_rack = repair is not None and repair.unit == "tray" and tray and tray < gpus_of(item)
    if used is not None and job.gpus.most_of(item.id) is None and in_rack and tray:
        # Of a tensor group that takes several trays spares stay in their rack.
        if tray % physics.tensor_gpus(job) != 0:
            gpus = job.gpus.model_copy(update={"per_system": {item.id: used}})
            job = job.model_copy(update={"gpus": gpus})
            inside = 0 < used <= gpus_of(item) and usable_gpus(job, item) == used
            found.require(inside, f"jobs.per_system_gpus: plan says {used!r} of {gpus_of(item)}")
    shares, caps = {}, (1.0,) if job.power is None else job.power.allowed_caps
    for way in j.ways:
        item, name = basis.items[way.gpu_type], f"jobs.ways.{way.gpu_type}"
        point = physics.set_point(item, way.precision, way.gpu_cap, basis.rated_kw(item))
        known = caps is None or any(abs(way.gpu_cap - cap) < physics.SAME_CAP for cap in caps)
        found.require(known and bool(point), f"{name}.gpu_cap: {way.gpu_cap:g} is no set point")
        right = way.precision in job.training.precisions
        found.require(right, f"{name}.precision: {way.precision} is not asked for")
        power, throughput = point or (1.0, 1.0)
        found.expect(name, way, {"power_share": power, "throughput": throughput})
        if power != 1.0:
            shares[way.gpu_type] = power
    return replace(basis, job=job, power_share=shares)


class Share(NamedTuple):
    """Guaranteed bandwidth (GB/s) and spare units of one of several jobs in a cluster."""

    read: float
    write: float
    spares: int


class Run:
    """The job of a plan with its systems and storage; ``f`` are its figures by their names.

    Args:
        basis: with the options of the plan.
        counts: units in the cluster.
        j: the job as the plan states it; its decisions are used.
        share: of a job beside others.
    """

    def __init__(
        self, basis: Basis, counts: Mapping[str, int], j: JobPlan, share: Share | None = None
    ) -> None:
        self.basis, self.job, self.counts, self.j, self.share = basis, basis.job, counts, j, share
        used = j.systems_by_type
        self.systems = dict(used) if len(used) > 1 else {j.gpu_type: j.systems_used}
        self.types = [basis.items[sku] for sku in self.systems]
        self.every = 0 if j.local is None else j.local.every
        self.to_storage_s = j.interval_s * max(1, self.every)
        option, one = self.job.parallelism, self.job.checkpoint.writers == "one_replica"
        self.writers = replica_gpus(option) if one and option is not None else j.gpus_used
        self.stored, self.flash = basis.problem.storage, basis.flash(counts)
        self.units = np.array([*self.flash.values()], dtype=float)
        self.delivered = np.array([getattr(self.stored.delivered_fraction, s) for s in SIDES])
        read, write = self.delivered * (self.provided(*SIDES) @ self.units)
        self.sustained = (float(read), float(write)) if share is None else (share.read, share.write)
        self.states: physics.States | None = None
        self.f = SimpleNamespace()
        for part in (_size, _storage, _degraded, _times, _local, _repair, _work):
            vars(self.f).update(part(self))

    def provided(self, *figures: str) -> NDArray[np.float64]:
        """Figures of one unit of each storage item in use, a row for each; 0 where not stated."""
        items = [self.basis.items[sku].provides for sku in self.flash]
        rows = [[value(getattr(each, name)) or 0.0 for each in items] for name in figures]
        return np.array(rows, dtype=float)

    def times(self, interval_s: Any, every: int) -> Times:
        """The times that goodput follows from at an interval, repairs included."""
        f, job, near = self.f, self.job, dict[str, Any]()
        slowed_s = job.checkpoint.drain_slowdown * f.drain_s / max(1, every)
        if every and f.local is not None:
            near = {"every": every, "far": f.local["remote_share"]}
            near |= {"near_drain_s": f.local["drain_s"], "near_restart_s": f.local["restart_s"]}
        kept = f.restart_s, f.restore_s, DAY_S / (f.failures_per_gpu_day * self.j.gpus_used)
        times = Times(interval_s, f.stall_s + slowed_s, f.drain_s, *kept, idle=f.lost_time)
        times = replace(times, **near)
        if f.repair is None or job.repair is None:
            return times
        times = replace(times, swapped=job.repair.share, swap_s=job.repair.swap_s)
        if self.states is None:
            return replace(times, waits=1.0 - f.repair["availability"])
        return physics.with_fewer(times, self.states, job.repair.share)


def check_job(found: Findings, run: Run) -> None:
    """Compare every figure of the plan's job; check its GPUs in use and its spares."""
    j = run.j
    found.expect("jobs", j, vars(run.f))
    check_gpus(found, run)
    lost = sum(j.loss.model_dump().values())
    found.expect("jobs.loss: all that is lost", lost, Near(1.0 - run.f.goodput, LOSS_NOISE))
    found.require(j.goodput > 0, "jobs.goodput: the job makes no progress")
    left = min(run.f.degraded_write_gb_per_s or 1.0, run.f.degraded_read_gb_per_s or 1.0) > 0
    found.require(left, "jobs.degraded_read_gb_per_s: nothing is left with appliances down")
    repair, asked = run.f.repair, run.job.repair
    if repair is not None and asked is not None:
        enough = asked.spares == "open" or repair["in_rack"] or repair["spares"] == asked.spares
        found.require(enough, "jobs.repair.spares: fewer than the problem asks for")


def check_gpus(found: Findings, run: Run) -> None:
    """Require that the GPUs in use are those of the systems: whole replicas, enough memory."""
    j, job, one = run.j, run.job, physics.whole_replica(run.job)
    held = {item.id: usable_gpus(job, item) for item in run.types}
    most = sum(held[sku] * n // one for sku, n in run.systems.items())
    least = sum(held[sku] * (n - 1) // one + 1 for sku, n in run.systems.items())
    least = least if physics.has_whole_replicas(job) else most
    right = j.gpus_used % one == 0 and least <= j.gpus_used // one <= most
    text = f"{j.gpus_used} are not {least} to {most} times {one}, which these systems hold"
    found.require(right, f"jobs.gpus_used: {text}")
    if job.parallelism is not None:
        fewest = max(physics.least_replicas(item, job) or math.inf for item in run.types)
        fewest_gpus = fewest * replica_gpus(job.parallelism)
        found.at_most("jobs.gpus_used: for replicas in memory", fewest_gpus, j.gpus_used)


def checkpoint_size(job: Job) -> tuple[float, float]:
    """GB of a checkpoint, and its bytes per parameter: either follows from the other."""
    size_gb, given, parameters = job.checkpoint.size_gb, job.bytes_per_parameter, job.parameters
    each = float(BYTES_PER_PARAMETER[given] if isinstance(given, str) else given)
    if size_gb is None:
        return (parameters or 0.0) * each / 1e9, each
    if parameters and "bytes_per_parameter" not in job.model_fields_set:
        each = size_gb * 1e9 / parameters
    return size_gb, each


def failure_rate(job: Job, types: Iterable[Item]) -> float:
    """Interruptions per GPU and day: as stated, else the most of the GPU types."""
    given: Any = job.failures.per_gpu_day
    if given is not None:
        return float(FAILURES_PER_GPU_DAY.get(given, given))
    usual = FAILURES_PER_GPU_DAY[DEFAULT_FAILURES]
    return max(value(item.gpu.failures_per_day) or usual for item in types)


def _size(run: Run) -> dict[str, Any]:
    """Size of a checkpoint, copies that a restore reads, and interruptions."""
    j, job, option = run.j, run.job, run.job.parallelism
    kind, fan_out, (size_gb, each) = job.restore.fan_out, 1.0, checkpoint_size(job)
    if option is not None and kind != "broadcast":
        replicas = j.gpus_used / replica_gpus(option)
        fan_out = replicas if kind == "every_replica" else 1.0 + 2.0 * (replicas - 1.0) / each
    return {
        "replica_gpus": None if option is None else replica_gpus(option),
        "bytes_per_parameter": each,
        "checkpoint_gb": size_gb,
        "failures_per_gpu_day": failure_rate(job, run.types),
        "fan_out": fan_out,
        "restart_s": job.restore.restart_s,
        "lost_time": 0.0 if job.lost_time == "none" else job.lost_time,
    }


# Storage.


def _client_limit(run: Run, side: str) -> float:
    """Client limit (GB/s) of the systems at work: all, or one replica's of the least type."""
    basis, option, each_gb = run.basis, run.job.parallelism, {}
    families = {basis.items[sku].family for sku in run.flash}
    known = [family.client_factor for family in basis.inputs.families if family.id in families]
    factors = [value(getattr(each, side, None)) for each in known]
    factor = min((1.0 if each is None else each for each in factors), default=1.0)
    given = getattr(run.stored.client_limit, side)
    for item in run.types:
        own = value(getattr(item.client, side))
        own = gpus_of(item) * CLIENT_GB_PER_S_PER_GPU if own is None else own
        each_gb[item.id] = (own if given is None else given) * factor
    if option is None or side == "read" or run.job.checkpoint.writers == "all":
        return math.fsum(run.systems[sku] * gb for sku, gb in each_gb.items())
    replica = replica_gpus(option)
    return min(-(-replica // usable_gpus(run.job, i)) * each_gb[i.id] for i in run.types)


def _burst(run: Run, size_gb: float) -> dict[str, float] | None:
    """Delivered burst bandwidth of storage; None without, for a share, or with units down."""
    write, burst, window_s = run.provided("write", "burst_write", "burst_window")
    bursts = (burst > write) & (window_s > 0.0)
    if not bursts.any() or run.stored.tolerate_down or run.share is not None:
        return None
    share, rate = run.stored.delivered_fraction.write, run.sustained[1]
    return {
        "delivered_write_gb_per_s": share * float(np.where(bursts, burst, write) @ run.units),
        "buffer_gb": share * float((bursts * (burst - write) * window_s) @ run.units),
        "recovery_s": size_gb / rate,
    }


def _storage(run: Run) -> dict[str, Any]:
    """Bandwidth delivered, capacity held and needed, volume written; the bulk tier beside flash."""
    job, saved, stored, size_gb = run.job, run.job.checkpoint, run.stored, run.f.checkpoint_gb
    (read, write), burst, bulk = run.sustained, _burst(run, size_gb), None
    if burst is not None:
        late_s = (size_gb - burst["buffer_gb"]) / write
        write = size_gb / max(size_gb / burst["delivered_write_gb_per_s"], late_s)
    if job.in_bulk:
        items = [(run.basis.items[sku], count) for sku, count in run.counts.items()]
        tier = [(item.provides, count) for item, count in items if item.is_bulk]
        most = sum((value(each.read) or 0.0) * count for each, count in tier)
        bulk = {
            "needed_tb": job.tiered.size_tb / stored.fill_limit,
            "usable_tb": sum((value(each.usable) or 0.0) * count for each, count in tier),
            "delivered_read_gb_per_s": stored.delivered_fraction.read * most,
            "staging_gb_per_s": (1.0 - saved.max_overlap) * run.sustained[1],
        }
    held, other_tb = saved.keep_last + 1, job.tiered.staged_tb if bulk else job.tiered.size_tb
    limits = {side: _client_limit(run, side) for side in SIDES}
    return {
        "burst": burst,
        "bulk": bulk,
        "client_read_limit_gb_per_s": limits["read"],
        "client_write_limit_gb_per_s": limits["write"],
        "delivered_read_gb_per_s": min(read, limits["read"]),
        "delivered_write_gb_per_s": min(write, limits["write"]),
        "ingest_demand_gb_per_s": run.j.gpus_used * job.ingest_per_gpu_gb_per_s,
        "capacity_needed_tb": (held * size_gb / 1000 + other_tb) / stored.fill_limit,
        "write_volume_tb_per_day": size_gb / 1000 * DAY_S / run.to_storage_s,
    }


def _degraded(run: Run) -> dict[str, Any]:
    """Bandwidth with appliances down; None where that is not asked."""
    names, down = [f"degraded_{side}_gb_per_s" for side in SIDES], run.stored.tolerate_down
    if not down:
        return dict.fromkeys(names)
    parts = [value(run.basis.items[sku].fail_units) or 1 for sku in run.flash]
    lost = (run.provided(*SIDES) * down / np.array(parts)).max(axis=1)
    left = (np.array(run.sustained) - run.delivered * lost).tolist()
    most = run.f.client_read_limit_gb_per_s, run.f.client_write_limit_gb_per_s
    return dict(zip(names, map(min, left, most), strict=True))


# Times, repairs and work.


def _times(run: Run) -> dict[str, Any]:
    """Stall, drain and restore of a checkpoint."""
    j, f, saved, sync = run.j, run.f, run.job.checkpoint, run.j.mode == "sync"
    write_s = f.checkpoint_gb / f.delivered_write_gb_per_s
    stall_s, drain_s = (write_s, 0.0) if sync else (saved.stall_s, write_s)
    if stall_s == "derived":
        slowest = min(value(item.local.host_copy) or 1e-9 for item in run.types)
        stall_s = (saved.stall_overhead_s or 0.0) + f.checkpoint_gb / run.writers / slowest
    return {
        "restore_s": f.fan_out * f.checkpoint_gb / f.delivered_read_gb_per_s,
        "stall_s": stall_s,
        "drain_s": drain_s,
        "overlap": drain_s / run.to_storage_s,
        "blocking": stall_s / j.interval_s,
    }


def _local(run: Run) -> dict[str, Any]:
    """Figures of the local level; room and wear are those of the worst type."""
    job, asked = run.job, run.job.checkpoint.local
    if run.j.local is None or asked is None:
        return {"local": None}
    most = run.writers if job.checkpoint.writers == "one_replica" else math.inf
    each_gb = asked.copies * run.f.checkpoint_gb / run.writers
    drives = [(each_gb * min(usable_gpus(job, item), most), item) for item in run.types]
    lost, shares = {"no"} if asked.copies > 1 else {"no", "peer"}, job.failure_shares.items()
    part_gb, fullest = max(drives, key=lambda each: each[0] / value(each[1].local.capacity))
    own = {
        "drain_s": max(gb / value(item.local.write) for gb, item in drives),
        "restart_s": asked.restart_s,
        "remote_share": sum(share for name, share in shares if asked.recovers[name] in lost),
        "room_tb": asked.keep * part_gb / 1000,
        "capacity_tb": value(fullest.local.capacity),
    }
    return {"local": own}


def _repair(run: Run) -> dict[str, Any]:
    """Unit of repair: its trays, or the system; spares of it; time waited, or fewer replicas."""
    j, job, item, asked = run.j, run.job, run.types[0], run.job.repair
    if asked is None:
        return {"repair": None}
    whole, usable, rate = gpus_of(item), usable_gpus(job, item), run.f.failures_per_gpu_day
    gpus = whole
    if asked.unit == "tray" and item.spare_unit is not None:
        gpus = item.spare_unit.tray.value
    each, in_rack = whole // gpus, gpus < whole and gpus % physics.tensor_gpus(job) != 0
    load = rate / DAY_S * asked.share * asked.time_s * j.gpus_used
    spares = run.counts[item.id] * each
    spares -= math.ceil(j.gpus_used / gpus) if each > 1 else j.systems_used
    spares = min(spares, asked.spares) if isinstance(asked.spares, int) else spares
    spares = spares if run.share is None else run.share.spares
    waits = physics.waiting_share(max(0, spares), load)
    if in_rack:
        in_each = each - math.ceil(usable / gpus)
        one = physics.waiting_share(in_each, load * usable / j.gpus_used)
        racks = j.gpus_used / usable * one / (1.0 - one)
        spares, waits = in_each * j.systems_used, racks / (1.0 + racks)
    own: dict[str, Any] = {
        "unit": "tray" if each > 1 else "system",
        "unit_gpus": gpus,
        "in_rack": in_rack,
        "spares": spares,
        "load": load,
        "availability": 1.0 - waits,
    }
    if asked.when_short == "shrink":
        holds, replica = gpus if each > 1 else usable, physics.whole_replica(job)
        units = math.ceil(j.gpus_used / holds) + max(0, spares)
        limits = physics.least_replicas(item, job) or 1, j.gpus_used // replica
        running = physics.replicas_running(units, holds / replica, limits)
        failing = rate / DAY_S * asked.share * asked.time_s * replica * running[0]
        run.f.repair, run.states = own, physics.States.balanced(running, failing, asked.time_s)
        own["availability"] = 1.0 - run.times(j.interval_s, run.every).waits
        shrunk = {"running": run.states.running, "failing": run.states.seen}
        own["shrunk"] = shrunk | {"least_replicas": limits[0]}
    return {"repair": own}


def _pace(run: Run, item: Item) -> float | None:
    """Rate of one GPU of a type as it runs, TFLOP/s; None if not known."""
    job, training, option = run.job, run.job.training, run.job.parallelism
    way = next((each for each in run.j.ways if each.gpu_type == item.id), None)
    precision, share, at = training.precisions[0], 1.0, training.scale_reference
    if way is not None:
        precision, share = way.precision, way.throughput * (option.factor if option else 1.0)
    tflops = times(physics.peak_tflops(item, precision), training.mfu)
    if training.model is not None:
        tflops, at = physics.measured_rate(item, job, precision) or (None, None)
    return times(tflops, share * physics.scale_share(job, run.j.gpus_used, at))


def _work(run: Run) -> dict[str, Any]:
    """Goodput and useful work, by the pace of the slowest type; losses are all that is lost."""
    j, job, training = run.j, run.job, run.job.training
    now, paces = run.times(j.interval_s, run.every), [_pace(run, item) for item in run.types]
    kept, active, days, pflops = float(physics.goodput(now)), training.active_parameters, None, None
    active = active or job.parameters
    if None not in paces:
        pflops = j.gpus_used * kept * min(each for each in paces if each is not None) / 1000
    if active and training.tokens and pflops:
        days = 6 * active * training.tokens / (pflops * 1e15) / DAY_S
    return {
        "mtti_s": now.mtti_s,
        "goodput": kept,
        "useful_gpus": j.gpus_used * kept,
        "useful_pflops": pflops,
        "days_to_train": days,
        "active_parameters": active,
    }
