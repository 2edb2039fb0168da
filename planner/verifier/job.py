"""The job: how fast its GPUs are, and every figure of its operation from the others.

Each figure is computed once, from other figures of the plan and from problem and catalogs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from planner.schema.catalog import Item
from planner.schema.job import Job, Parallelism, Repair
from planner.schema.operation import JobPlan
from planner.verifier import physics
from planner.verifier.basis import Basis, Findings, value
from planner.verifier.physics import (
    DAY_S,
    SAME_CAP,
    States,
    Times,
    gpus_of,
    least_replicas,
    measured_rate,
    peak_tflops,
    scale_share,
    set_point,
    tensor_gpus,
    usable_gpus,
    whole_replica,
)

HOURS_PER_YEAR = 8760
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


def choose_option(found: Findings, basis: Basis, j: JobPlan) -> Basis:
    """The basis with the option by which the plan spreads a replica, and the GPUs of each system.

    Also with the set points of its GPU types, which `check_ways` checks.
    """
    job = basis.job
    if len(job.options) > 1:
        spread = {way.option for way in j.ways}
        option = next((each for each in job.options if spread == {each.name}), None)
        known = option is not None
        found.require(known, "jobs.ways: no option of the problem spreads a replica like this")
        job = job.model_copy(update={"parallelisms": option or job.options[0]})
    used, item = j.per_system_gpus, basis.items[j.gpu_type]
    if used is not None and job.gpus.most_of(item.id) is None and _stay_in_rack(job, item):
        gpus = job.gpus.model_copy(update={"per_system": {item.id: used}})
        job = job.model_copy(update={"gpus": gpus})
        inside = 0 < used <= gpus_of(item) and usable_gpus(job, item) == used
        found.require(inside, f"jobs.per_system_gpus: plan says {used!r} of {gpus_of(item)}")
    shares = {way.gpu_type: way.power_share for way in j.ways if way.power_share != 1.0}
    return replace(basis, job=job, power_share=shares)


def _stay_in_rack(job: Job, item: Item) -> bool:
    """True if spare trays of a type stay in their rack: a tensor group takes several."""
    repair = job.repair
    if repair is None or repair.unit != "tray" or item.spare_unit is None:
        return False
    tray = item.spare_unit.tray.value
    return tray < gpus_of(item) and tray % tensor_gpus(job) != 0


def check_ways(found: Findings, basis: Basis, j: JobPlan, options: tuple[Parallelism, ...]) -> None:
    """Check set point, precision and rate of each GPU type in use."""
    job, training = basis.job, basis.job.training
    chosen = job.power or training.model or training.scale or len(options) > 1
    asked = chosen or not all(option.plain for option in options)
    types = sorted(j.gpu_types) if asked else []
    found.expect("jobs.ways", sorted(way.gpu_type for way in j.ways), types)
    for way in j.ways:
        item, name, option = basis.items[way.gpu_type], f"jobs.ways.{way.gpu_type}", job.parallelism
        caps, rated_kw = job.power, basis.rated_kw(item)
        point = set_point(item, way.precision, way.gpu_cap, rated_kw)
        allowed = (1.0,) if caps is None else caps.asked
        known = allowed is None or any(abs(way.gpu_cap - cap) < SAME_CAP for cap in allowed)
        found.require(known and bool(point), f"{name}.gpu_cap: {way.gpu_cap:g} is no set point")
        right = way.precision in training.precisions
        found.require(right, f"{name}.precision: {way.precision} is not asked for")
        row = measured_rate(item, job, way.precision)
        own: dict[str, Any] = {
            "rate_tflops": row and row.rate_tflops,
            "rate_gpus": row and row.gpus,
            "option": option and option.name,
        }
        own |= dict(zip(("power_share", "throughput"), point or (1.0, 1.0), strict=True))
        if option is not None:
            own["min_replicas"] = least_replicas(item, job)
        found.expect(name, way, own)
        least = way.min_replicas * (option.replica_gpus if option else 0)
        text = f"jobs.gpus_used: {way.min_replicas} replicas take {least}"
        found.require(j.gpus_used >= least, text)


# The figures of a job.


@dataclass(frozen=True)
class Run:
    """The job of a plan with its systems and storage; ``counts`` are units in the cluster."""

    basis: Basis
    counts: Mapping[str, int]
    j: JobPlan

    @cached_property
    def systems(self) -> dict[str, int]:
        """Systems in use by type."""
        used = self.j.systems_by_type
        return dict(used) if len(used) > 1 else {self.j.gpu_type: self.j.systems_used}

    @cached_property
    def types(self) -> list[Item]:
        """GPU types in use."""
        return [self.basis.items[sku] for sku in self.systems]

    @property
    def hot_spares(self) -> dict[str, int]:
        """Systems of each type that must stand ready."""
        return dict.fromkeys(self.systems, self.basis.job.gpus.hot_spares)

    @property
    def every(self) -> int:
        """Local checkpoints for each one to storage; 0 without a local level."""
        return 0 if self.j.local is None else self.j.local.every

    @property
    def writers(self) -> int:
        """GPUs that write a checkpoint."""
        option, one = self.basis.job.parallelism, self.j.writers == "one_replica"
        return option.replica_gpus if one and option is not None else self.j.gpus_used

    def times(self, interval_s: Any, every: int) -> Times:
        """The times that goodput follows from at an interval, repairs included."""
        j, job = self.j, self.basis.job
        slowed_s = job.checkpoint.drain_slowdown * j.drain_s / max(1, every)
        near: dict[str, Any] = {}
        if every and j.local is not None:
            near = {"every": every, "far": j.local.remote_share}
            near |= {"near_drain_s": j.local.drain_s, "near_restart_s": j.local.restart_s}
        mtti_s = DAY_S / (j.failures_per_gpu_day * j.gpus_used)
        kept = j.restart_s, j.restore_s, mtti_s
        times = Times(
            interval_s, j.stall_s + slowed_s, j.drain_s, *kept, idle=job.lost_share, **near
        )
        if j.repair is None:
            return times
        share = j.repair.hardware_share
        times = replace(times, swapped=share, swap_s=j.repair.swap_s)
        if self.states is None:
            return replace(times, waits=1.0 - j.repair.availability)
        return physics.with_fewer(times, self.states, share)

    @cached_property
    def states(self) -> States | None:
        """States of a job that goes on with fewer replicas, None of one that waits."""
        asked, repair = self.basis.job.repair, self.j.repair
        shrinks = asked is not None and repair is not None and asked.when_short == "shrink"
        if not shrinks or repair is None:
            return None
        j, job, item, spares = self.j, self.basis.job, self.types[0], max(0, repair.spares)
        holds = repair.unit_gpus if repair.unit == "tray" else usable_gpus(job, item)
        units, replica = math.ceil(j.gpus_used / holds) + spares, whole_replica(job)
        limits = least_replicas(item, job) or 1, j.gpus_used // replica
        running = physics.replicas_running(units, holds / replica, limits)
        load = j.failures_per_gpu_day / DAY_S * repair.hardware_share * repair.repair_s
        return States.of(running, load * replica * running[0], repair.repair_s)


def check_job(found: Findings, run: Run) -> None:
    """Compare every figure of the plan's job."""
    for part in (_check_size, _check_storage, _check_times, _check_work, _check_degraded):
        part(found, run)
    if run.j.repair is not None or run.basis.job.repair is not None:
        _check_repair(found, run)
    if run.j.local is not None:
        _check_local(found, run)


def _check_size(found: Findings, run: Run) -> None:
    """Size of a checkpoint, failures, GPUs of replicas; copies of problem values."""
    j, job, storage = run.j, run.basis.job, run.basis.problem.storage
    saved, given, option = job.checkpoint, job.bytes_per_parameter, job.parallelism
    each = BYTES_PER_PARAMETER[given] if isinstance(given, str) else given
    if saved.size_gb is not None and job.parameters:
        if "bytes_per_parameter" not in job.model_fields_set:
            each = saved.size_gb * 1e9 / job.parameters
    asked = job.failure_rate
    preset = DEFAULT_FAILURES if asked is None else asked
    rate = FAILURES_PER_GPU_DAY[preset] if isinstance(preset, str) else preset
    types = [] if asked is not None else [item.gpu.failures_per_day for item in run.types]
    held = {item.id: usable_gpus(job, item) for item in run.types}
    replica = None if option is None else option.replica_gpus
    own: dict[str, Any] = {
        "bytes_per_parameter": each,
        "checkpoint_gb": (job.parameters or 0) * each / 1e9,
        "failures_per_gpu_day": max((f.value if f else rate for f in types), default=rate),
        "interval_policy": saved.interval.policy,
        "max_overlap": saved.max_overlap if storage.rule == "demand" else None,
        "tolerate_down": storage.tolerate_down,
        "lost_time": job.lost_share,
        "whole_replicas": job.whole_replicas,
        "tensor_gpus": option and option.tensor,
        "per_system_gpus": job.gpus.most_of(run.types[0].id),
        "usable_gpus_by_type": held,
        "hot_spare_systems": sum(run.hot_spares.values()),
        "replica_gpus": replica,
        "replicas": None if replica is None else j.gpus_used / replica,
        **{key: getattr(job, key) for key in ("name", "restart_s")},
        **{key: getattr(saved, key) for key in ("writers", "max_blocking", "drain_slowdown")},
    }
    if saved.size_gb is not None:
        own["checkpoint_gb"] = saved.size_gb
    if j.mode == "sync" and j.drain_slowdown == 0:
        del own["drain_slowdown"]
    found.expect("jobs", j, own)
    one = whole_replica(job)
    most = sum(held[sku] * n // one for sku, n in run.systems.items())
    least = sum(held[sku] * (n - 1) // one + 1 for sku, n in run.systems.items())
    least = least if job.whole_replicas else most
    right = j.gpus_used % one == 0 and least <= j.gpus_used // one <= most
    text = f"{j.gpus_used} are not {least} to {most} times {one}, which these systems hold"
    found.require(right, f"jobs.gpus_used: {text}")


# Storage.


def _clients(run: Run, side: str, one: str) -> tuple[float, set[int]]:
    """Client limit (GB/s) of the systems at work, and how many these may be.

    One replica's systems are of the least favourable type.
    """
    basis, j, option = run.basis, run.j, run.basis.job.parallelism
    known = {family.id: family.client_factor for family in basis.inputs.families}
    factors = [value(getattr(known.get(name), side, None)) for name in j.storage_families]
    factor = min(1.0 if each is None else each for each in factors)
    given, each_gb = getattr(basis.problem.storage.client_limit, side), {}
    for item in run.types:
        own = value(getattr(item.client, side))
        own = gpus_of(item) * CLIENT_GB_PER_S_PER_GPU if own is None else own
        each_gb[item.id] = (own if given is None else given) * factor
    if one == "all" or option is None:
        whole = math.fsum(run.systems[sku] * gb for sku, gb in each_gb.items())
        return whole, {sum(run.systems.values())}
    replica = option.replica_gpus
    held = [(-(-replica // usable_gpus(basis.job, i)), each_gb[i.id]) for i in run.types]
    least = min(n * gb for n, gb in held)
    return least, {n for n, gb in held if n * gb <= least * (1 + 1e-9)}


def sustained(run: Run) -> tuple[float, float]:
    """(Read, write) bandwidth that all storage delivers without bursts, GB/s."""
    share = run.basis.problem.storage.delivered_fraction
    plates = [run.basis.nameplate(sku, count) for sku, count in run.counts.items()]
    return share.read * sum(p[0] for p in plates), share.write * sum(p[1] for p in plates)


def _burst(run: Run) -> dict[str, float] | None:
    """Delivered burst bandwidth of storage; None without bursts, or where units may be down."""
    basis, asked, rates, buffers = run.basis, run.basis.problem.storage, 0.0, []
    for sku, count in basis.flash(run.counts).items():
        item, rate = basis.items[sku], basis.nameplate(sku, count)[1]
        burst, window = value(item.provides.burst_write), value(item.provides.burst_window)
        rows = item.sizes.rows if item.sizes else ()
        each = max((row.write / row.units for row in rows), default=rate / count)
        bursts = burst is not None and window is not None and burst > each
        rates += burst * count if bursts else rate
        buffers += [(burst - each) * window * count] if bursts else []
    if not buffers or asked.tolerate_down:
        return None
    share, rate = asked.delivered_fraction.write, sustained(run)[1]
    own = {"delivered_write_gb_per_s": share * rates, "delivered_sustained_gb_per_s": rate}
    return own | {"buffer_gb": share * sum(buffers), "recovery_s": run.j.checkpoint_gb / rate}


def _check_storage(found: Findings, run: Run) -> None:
    """Bandwidth delivered, capacity held and needed, volume written."""
    j, job, storage = run.j, run.basis.job, run.basis.problem.storage
    saved, data, (read, write), burst = job.checkpoint, job.tiered, sustained(run), _burst(run)
    if burst is not None:
        late_s = (j.checkpoint_gb - burst["buffer_gb"]) / write
        write = j.checkpoint_gb / max(j.checkpoint_gb / burst["delivered_write_gb_per_s"], late_s)
    needed_tb = j.checkpoints_held * j.checkpoint_gb / 1000 + j.other_data_tb
    own: dict[str, Any] = {
        "ingest_demand_gb_per_s": j.gpus_used * job.ingest_per_gpu_gb_per_s,
        "checkpoints_held": saved.keep_last + 1,
        "other_data_tb": data.staged_tb if job.in_bulk else data.size_tb,
        "capacity_needed_tb": needed_tb / storage.fill_limit,
        "write_volume_tb_per_day": j.checkpoint_gb / 1000 * DAY_S / j.to_storage_s,
        "burst": burst,
        "bulk": None,
    }
    for side, stored in (("read", read), ("write", write)):
        limit, among = _clients(run, side, j.writers if side == "write" else "all")
        own[f"client_{side}_limit_gb_per_s"] = limit
        own[f"delivered_{side}_gb_per_s"] = min(limit, stored)
        working = {"read": j.reading_systems, "write": j.writing_systems}[side]
        found.require(working in among, f"jobs.{side}ing_systems: not among {sorted(among)}")
    if job.in_bulk:
        items = [(run.basis.items[sku], count) for sku, count in run.counts.items()]
        bulk = [(item.provides, count) for item, count in items if item.is_bulk]
        most = sum((value(each.read) or 0.0) * count for each, count in bulk)
        own["bulk"] = {
            "needed_tb": data.size_tb / storage.fill_limit,
            "usable_tb": sum((value(each.usable) or 0.0) * count for each, count in bulk),
            "delivered_read_gb_per_s": storage.delivered_fraction.read * most,
            "staging_gb_per_s": (1.0 - saved.max_overlap) * sustained(run)[1],
        }
    found.expect("jobs", j, own)


def _check_degraded(found: Findings, run: Run) -> None:
    """Bandwidth, drain and restore with appliances down; None where that is not asked."""
    j, storage = run.j, run.basis.problem.storage
    share, down, worst = storage.delivered_fraction, storage.tolerate_down, (0.0, 0.0)
    for sku, count in run.basis.of_kind(run.counts, "storage").items() if down else ():
        left = count - down / (value(run.basis.items[sku].fail_units) or 1)
        now, after = run.basis.nameplate(sku, count), run.basis.nameplate(sku, left)
        worst = max(worst[0], now[0] - after[0]), max(worst[1], now[1] - after[1])
    read, write = sustained(run)
    write = min(write - share.write * worst[1], j.client_write_limit_gb_per_s)
    read = min(read - share.read * worst[0], j.client_read_limit_gb_per_s)
    if down:
        left = min(read, write) > 0
        found.require(left, "jobs.degraded_read_gb_per_s: nothing is left with appliances down")
    own = {"degraded_write_gb_per_s": write, "degraded_read_gb_per_s": read}
    found.expect("jobs", j, own if down else dict.fromkeys(own))


# Times and goodput.


def _check_times(found: Findings, run: Run) -> None:
    """Stall, drain, restore, interruptions; goodput with its parts."""
    j, job, option = run.j, run.basis.job, run.basis.job.parallelism
    saved, write_s = job.checkpoint, j.checkpoint_gb / j.delivered_write_gb_per_s
    times, fan_out = run.times(j.interval_s, run.every), 1.0
    derived = j.mode != "sync" and saved.stall_s == "derived"
    if option is not None and job.restore.fan_out != "broadcast":
        replicas = j.gpus_used / option.replica_gpus
        fan_out = 1.0 + 2.0 * (replicas - 1.0) / (j.bytes_per_parameter or 1.0)
        fan_out = replicas if job.restore.fan_out == "every_replica" else fan_out
    stall_s: float = write_s
    if derived:
        slowest = min(value(item.local.host_copy) or 1e-9 for item in run.types)
        stall_s = saved.known_stall_s + j.checkpoint_gb / run.writers / slowest
    elif j.mode != "sync":
        stall_s = saved.known_stall_s
    own = {
        "fan_out": fan_out,
        "restore_s": fan_out * j.checkpoint_gb / j.delivered_read_gb_per_s,
        "stall_s": stall_s,
        "derived_stall": j.mode != "sync" and saved.stall_s == "derived",
        "drain_s": 0.0 if j.mode == "sync" else write_s,
        "overlap": j.drain_s / j.to_storage_s,
        "blocking": j.stall_s / j.interval_s,
        "mtti_s": times.mtti_s,
        "goodput": physics.goodput(times),
        "loss": physics.losses(times),
    }
    found.expect("jobs", j, own)
    found.require(j.goodput > 0, "jobs.goodput: the job makes no progress")


def _check_work(found: Findings, run: Run) -> None:
    """Rates and useful work, by the pace of the slowest type."""
    j, job, training = run.j, run.basis.job, run.basis.job.training
    paces = []
    for item in run.types:
        way = next((each for each in j.ways if each.gpu_type == item.id), None)
        precision, factor = training.precisions[0], 1.0
        if way is not None:
            precision, factor = way.precision, way.throughput
            factor *= job.parallelism.factor if job.parallelism else 1.0
        tflops, mfu, at = peak_tflops(item, precision), training.mfu, training.scale_reference
        if training.model is not None and way is not None:
            rate = way.rate_tflops
            mfu, at = rate / tflops if tflops and rate else 1.0, way.rate_gpus
            tflops = None if rate is None else tflops or rate
        scale = 1.0 if None in (tflops, mfu) else scale_share(job, j.gpus_used, at)
        each = None if tflops is None or mfu is None else tflops * mfu * factor * scale
        paces.append((each, tflops, mfu, factor, scale))
    slowest = min(paces, key=lambda p: (p[1] or 0.0) * p[3] if p[0] is None else p[0])
    each, tflops, mfu, factor, scale = slowest
    active, days = training.active_parameters or job.parameters, None
    pflops = None if each is None else j.gpus_used * j.goodput * each / 1000
    if active and training.tokens and pflops:
        days = 6 * active * training.tokens / (pflops * 1e15) / DAY_S
    own = {
        "useful_gpus": j.gpus_used * j.goodput,
        "tflops_per_gpu": tflops or 0.0,
        "mfu": mfu,
        "scale_share": scale,
        "rate_share": factor * scale,
        "useful_pflops": pflops,
        "days_to_train": days,
        "tokens": training.tokens,
        "active_parameters": active,
    }
    found.expect("jobs", j, own)


# The local level, and repairs.


def _check_local(found: Findings, run: Run) -> None:
    """Figures of the local level; room and wear are those of the worst type."""
    j, job, local, asked = run.j, run.basis.job, run.j.local, run.basis.job.checkpoint.local
    assert local is not None and asked is not None
    most = run.writers if j.writers == "one_replica" else math.inf
    each_gb = asked.copies * j.checkpoint_gb / run.writers
    drives = [(each_gb * min(usable_gpus(job, item), most), item) for item in run.types]
    lost = {"no"} if asked.copies > 1 else {"no", "peer"}
    shares = job.failure_shares.items()
    part_gb, fullest = max(drives, key=lambda each: each[0] / value(each[1].local.capacity))
    own = {
        "remote_interval_s": j.interval_s * local.every,
        "drain_s": max(gb / value(item.local.write) for gb, item in drives),
        "restart_s": asked.restart_s,
        "remote_share": sum(share for name, share in shares if asked.recovers[name] in lost),
        "room_tb": asked.keep * part_gb / 1000,
        "capacity_tb": value(fullest.local.capacity),
    }
    found.expect("jobs.local", local, own)


def _repair_unit(run: Run, asked: Repair, repair_s: float) -> dict[str, Any]:
    """Unit of repair of the type in use: its trays, or the system; spares of it and time waited."""
    j, job, item, tray = run.j, run.basis.job, run.types[0], asked.unit == "tray"
    whole, usable = gpus_of(item), usable_gpus(job, item)
    gpus = item.spare_unit.tray.value if tray and item.spare_unit is not None else whole
    each, in_rack = whole // gpus, gpus < whole and gpus % tensor_gpus(job) != 0
    load = j.failures_per_gpu_day / DAY_S * asked.share * repair_s * j.gpus_used
    spares = run.counts[item.id] * each
    spares -= math.ceil(j.gpus_used / gpus) if each > 1 else j.systems_used
    spares = min(spares, asked.spares) if isinstance(asked.spares, int) else spares
    odds, in_each = physics.running_odds(max(0, spares), load), each - math.ceil(usable / gpus)
    waits = 1.0 / (1.0 + odds)
    if in_rack:
        one = physics.waiting_share(in_each, load * usable / j.gpus_used)
        racks = j.gpus_used / usable * one / (1.0 - one)
        spares, waits = in_each * j.systems_used, racks / (1.0 + racks)
    return {
        "unit": "tray" if each > 1 else "system",
        "unit_gpus": gpus,
        "in_rack": in_rack,
        "spares": spares,
        "load": load,
        "availability": 1.0 - waits,
    }


def _check_repair(found: Findings, run: Run) -> None:
    """Unit of repair, spares, units out; time waited, or fewer replicas meanwhile."""
    j, job, stated, asked = run.j, run.basis.job, run.j.repair, run.basis.job.repair
    found.require(bool(stated and asked), "jobs.repair: not as the problem asks")
    if stated is None or asked is None:
        return
    own = _repair_unit(run, asked, stated.repair_s)
    decided = asked.spares == "open"
    enough = decided or own["in_rack"] or own["spares"] == asked.spares
    found.require(enough, "jobs.repair.spares: fewer than the problem asks for")
    times = run.times(j.interval_s, run.every)
    own |= {"decided": decided, "repair_s": asked.time_s}
    own |= {"hardware_share": asked.share, "swap_s": asked.swap_s}
    if run.states is not None:
        full_s = DAY_S / (j.failures_per_gpu_day * j.gpus_used)
        own["availability"] = 1.0 - run.states.lost(times, asked.share, full_s)
        shrunk = {
            "running": run.states.running,
            "failing": run.states.seen,
            "least_replicas": least_replicas(run.types[0], job) or 1,
        }
        found.expect("jobs.repair.shrunk", stated.shrunk, shrunk)
    found.expect("jobs.repair", stated, own)
