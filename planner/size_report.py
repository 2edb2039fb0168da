"""`planner size`: storage demand of a job without solving, by interval and by rule.

The demand law (async) and the blocking law (sync) require delivered bandwidth, vendors' rules
nameplate bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, takewhile

from planner.case import Case, Storage, System, resolve
from planner.case.bounds import UNLIMITED_UNITS, cap_in_use
from planner.case.figures import it_power_kw
from planner.case.items import nameplate
from planner.case.job import ROUNDING, Mode, stall_s
from planner.case.job import Job as JobNumbers
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.job import DEFAULT_FAILURES
from planner.schema.operation import (
    ApplianceRow,
    Checkpoint,
    Cluster,
    IntervalRow,
    ModeReport,
    RuleRow,
    Running,
    SizeReport,
)
from planner.schema.problem import Quantity
from planner.sizing.checkpoint import (
    BYTES_PER_PARAMETER,
    VENDOR_RULES,
    BandwidthRule,
    appliances_needed,
    rule_demand,
    write_demand_gb_per_s,
    write_volume_tb_per_day,
)
from planner.sizing.goodput import (
    FAILURES_PER_GPU_DAY,
    best_interval_s,
    exact_period_s,
    goodput,
    mtti_s,
)

SHOWN_INTERVALS_S = (600.0, 1800.0, 3600.0, 14_400.0)
_HALVINGS = 200


@dataclass(frozen=True)
class Sizing:
    """A problem on one number of GPUs; the demand is of delivered reads, or 0."""

    inputs: Inputs
    case: Case
    job: JobNumbers
    cluster: Cluster
    read_demand_gb_per_s: float


def size_report(inputs: Inputs, gpus: int | None = None) -> SizeReport:
    """Compute the storage demand of a problem without solving it.

    Args:
        inputs: a validated problem with its catalogs and prices.
        gpus: GPUs to size for, bought and in use; None for the most that the limits allow.

    Raises:
        InputError: there is no number of GPUs to size for, or it holds no replica.
    """
    case = resolve(inputs)
    if not case.systems:
        fix = "planner check PROBLEM lists why each one is left out"
        raise InputError(Finding("no-gpu-system", "no GPU system is on offer", fix=fix))
    system = min(case.systems, key=partial(_rank, inputs, case))
    cluster = _cluster(inputs, case.job, system, cap_in_use(case, system), gpus)
    modes = tuple(mode for mode in case.job.modes if mode != "local") or ("async",)
    known_s = stall_s(case.job, system.way(), cluster.gpus)
    job = replace(case.job, stall_s=known_s, derived_stall=False, modes=modes)
    checkpoint = _checkpoint(inputs, job, cluster.gpus)
    read = max(checkpoint.ingest_demand_gb_per_s, checkpoint.restore_gb_per_s or 0.0)
    sizing = Sizing(inputs, replace(case, job=job), job, cluster, read)
    own = (case.rule,) if case.rule is not None and case.rule.family == "custom" else ()
    reports = tuple(_mode_report(sizing, mode) for mode in modes)
    return SizeReport(
        problem=inputs.problem.name,
        cluster=cluster,
        checkpoint=checkpoint,
        modes=reports,
        delivered_read_share=case.delivered_read_share,
        delivered_write_share=case.delivered_write_share,
        rules=(
            *(_law_row(sizing, mode) for mode in reports),
            *(_nameplate_row(sizing, rule) for rule in (*VENDOR_RULES.values(), *own)),
        ),
        notes=tuple(_notes(sizing, reports)),
        currency=inputs.problem.shown_in,
    )


# The cluster: GPU type, GPUs, clients, failures.


def _rank(inputs: Inputs, case: Case, system: System) -> tuple[bool, float, int, str]:
    """Order of GPU systems to size for: demanded ones first, then by most peak FLOP/s."""
    way, demanded = system.way(), inputs.problem.items.get(system.id, Quantity()).least > 0
    gpus = way.most_gpus(cap_in_use(case, system))
    return not demanded, -gpus * (way.tflops_per_gpu or 0.0), -gpus, system.id


def _cluster(
    inputs: Inputs, job: JobNumbers, system: System, most: int, asked_gpus: int | None
) -> Cluster:
    """Clients and failures of the GPUs to size for.

    Raises:
        InputError: nothing limits the GPUs, not one system fits, or not even one replica.
    """
    item, way = inputs.item(system.id), system.way()
    held = way.most_gpus(most)
    if asked_gpus is None and most == UNLIMITED_UNITS:
        message = "nothing limits the GPUs, so there is no number to size for"
        fix = "give --gpus N, or a power, space or cost budget"
        raise InputError(Finding("unlimited", message, fix=fix))
    gpus = int(min(held, job.gpus_max or held) // way.step_gpus * way.step_gpus)
    if asked_gpus is None and not gpus:
        room, needed = f"{most * system.gpus:,} GPUs of {item.product}", f"{way.step_gpus:,}"
        message = f"the site holds {room}, and a job needs {needed}"
        raise InputError(Finding("no-room", message, fix="raise the budgets, or give --gpus N"))
    gpus = gpus if asked_gpus is None else asked_gpus
    replica = way.replica_gpus
    if replica is not None and gpus < replica:
        message = f"one replica needs {replica:,} GPUs (tensor x pipeline), more than {gpus:,}"
        fix = "give --gpus N" if asked_gpus is None else f"give at least {replica}"
        raise InputError(Finding("replica", message, fix=fix))
    systems = way.systems_for(gpus)
    writers = systems
    if job.one_replica_writes and replica is not None:
        writers = min(systems, way.systems_for(replica))
    rate = inputs.problem.job.failure_rate
    failures = "given in the problem"
    if rate is None and item.gpu.failures_per_day is not None:
        failures = f"the catalog's figure for {item.product}"
    elif not isinstance(rate, float):
        preset = FAILURES_PER_GPU_DAY[rate or DEFAULT_FAILURES]
        failures = f"{preset.name}: {preset.meaning}; {preset.source}"
    reason = "the most that power, racks, budgets and counts, each alone, allow"
    if asked_gpus is not None:
        above = most != UNLIMITED_UNITS and asked_gpus > held
        reason = "by --gpus" + (f"; more than the {held:,} that the limits allow" if above else "")
    return Cluster(
        item=system.id,
        name=item.product,
        reason=reason,
        gpus=gpus,
        gpus_bought=systems * system.gpus if asked_gpus is None else gpus,
        systems=systems,
        replicas=gpus // replica if replica else None,
        writing_systems=writers,
        client_write_gb_per_s=writers * system.client_write_gb_per_s,
        client_read_gb_per_s=systems * system.client_read_gb_per_s,
        failures_per_gpu_day=way.failures_per_gpu_day,
        failures_reason=failures,
        mtti_s=mtti_s(way.failures_per_gpu_day, gpus),
    )


# The checkpoint and its restore.


def _checkpoint(inputs: Inputs, numbers: JobNumbers, gpus: int) -> Checkpoint:
    job = inputs.problem.job
    ingest = gpus * numbers.ingest_per_gpu_gb_per_s
    reads, within_s = numbers.fan_out_on(gpus), numbers.max_restore_s
    reason, size = "given in the problem", numbers.checkpoint_gb
    if job.parameters is not None and job.checkpoint.size_gb is None:
        each, asked = f"{numbers.bytes_per_parameter:g} bytes", job.bytes_per_parameter
        reason = f"{job.parameters / 1e9:,.10g} billion parameters, {each} each"
        if isinstance(asked, str):
            preset = BYTES_PER_PARAMETER[asked]
            reason += f" ({preset.name}: {preset.meaning}; {preset.source})"
    return Checkpoint(
        size_gb=size,
        size_reason=reason,
        max_restore_s=within_s,
        restore_gb_per_s=None if within_s is None else reads * size / within_s,
        capacity_needed_tb=numbers.capacity_needed_tb,
        dataset_tb=job.dataset_tb,
        checkpoints_tb=size * (job.checkpoint.keep_last + 1) / 1e3,
        fill_limit_share=inputs.problem.storage.fill_limit,
        ingest_demand_gb_per_s=ingest,
        bulk_needed_tb=numbers.bulk_needed_tb,
        bulk_read_gb_per_s=ingest if job.in_bulk else 0.0,
    )


# The laws: demand by interval, and the operation with just that.


def _mode_report(sizing: Sizing, mode: Mode) -> ModeReport:
    job = sizing.job
    policy_s = _policy_interval_s(job, mode, sizing.cluster.mtti_s)
    intervals = (policy_s, *(shown for shown in SHOWN_INTERVALS_S if shown != policy_s))
    return ModeReport(
        mode=mode,
        policy=job.interval.policy,
        law="blocking law" if mode == "sync" else "demand law",
        limit_share=job.max_blocking if mode == "sync" else job.max_overlap,
        interval_s=policy_s,
        rows=tuple(_interval_row(sizing, mode, each, each == policy_s) for each in intervals),
    )


def _policy_interval_s(job: JobNumbers, mode: Mode, mtti_s: float) -> float:
    """Interval of the policy with just the bandwidth that the law then requires, s.

    Source: the optimum of `goodput.goodput` for the stall; the part of the stall that grows with
    the interval (a synchronous save, the slowdown of a drain) is taken at the law's limit. So the
    interval solves I = exact_period(stall + growing * I); the larger root, as goodput peaks there.
    """
    rule = job.interval
    if rule.policy == "fixed":
        return rule.low_s
    stall, growing = job.stall_s, job.drain_slowdown * job.max_overlap
    if mode == "sync":
        stall, growing = 0.0, job.max_blocking
    if growing >= 1:
        return rule.high_s
    low, best_s = 0.0, (mtti_s + stall) / (1 - growing)
    if growing == 0:
        best_s = exact_period_s(stall, mtti_s)
    for _ in range(_HALVINGS if growing else 0):
        middle = (low + best_s) / 2
        if exact_period_s(stall + growing * middle, mtti_s) > middle:
            low = middle
        else:
            best_s = middle
    return min(max(best_s, rule.low_s), rule.high_s)


def _interval_row(sizing: Sizing, mode: Mode, interval_s: float, by_policy: bool) -> IntervalRow:
    """Demand of one interval; without a read demand, reading is taken to equal writing."""
    job = sizing.job
    share = job.max_blocking
    if mode != "sync":  # stall and drain fit into the interval
        share = min(job.max_overlap, 1 - job.stall_s / interval_s)
    write = running = None
    if share > 0:
        write = write_demand_gb_per_s(job.checkpoint_gb, share, interval_s)
        read = sizing.read_demand_gb_per_s or write
        running = _running(sizing, mode, interval_s, write, read)
    return IntervalRow(
        interval_s=interval_s,
        by_policy=by_policy,
        write_demand_gb_per_s=write,
        write_mb_per_s_per_gpu=None if write is None else 1000 * write / sizing.cluster.gpus,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, interval_s),
        running=running,
    )


def _running(
    sizing: Sizing, mode: Mode, interval_s: float, write_gb_per_s: float, read_gb_per_s: float
) -> Running:
    """The operation with delivered bandwidths."""
    job, cluster = sizing.job, sizing.cluster
    transfer_s = job.checkpoint_gb / write_gb_per_s
    stall, drain, slowdown = job.stall_s, transfer_s, job.drain_slowdown
    if mode == "sync":
        stall, drain, slowdown = transfer_s, 0.0, 0.0
    restore_s = job.fan_out_on(cluster.gpus) * job.checkpoint_gb / read_gb_per_s
    restart_s = job.restart_s + restore_s
    kept = goodput(interval_s, stall, drain, restart_s, cluster.mtti_s, slowdown)
    return Running(
        stall_s=stall,
        drain_s=drain,
        overlap_share=drain / interval_s,
        blocking_share=stall / interval_s,
        restore_s=restore_s,
        goodput_share=kept * job.progress,
    )


def _interval_at(job: JobNumbers, mode: Mode, write_gb_per_s: float, mtti_s: float) -> float | None:
    """Interval of the policy at a delivered bandwidth, s; None where none is allowed."""
    transfer_s = job.checkpoint_gb / write_gb_per_s
    least_s, stall = job.stall_s + transfer_s, job.stall_s + job.drain_slowdown * transfer_s
    if mode == "sync":
        least_s, stall = transfer_s / job.max_blocking, transfer_s
    rule = job.interval
    if rule.policy != "optimal":
        return rule.low_s if rule.low_s >= least_s else None
    if least_s > rule.high_s:
        return None
    return best_interval_s(stall, mtti_s, max(least_s, rule.low_s), rule.high_s)


# The rules: the job's law, DDN's, NVIDIA's, the user's own.


def _law_row(sizing: Sizing, mode: ModeReport) -> RuleRow:
    row = next(row for row in mode.rows if row.by_policy)
    read, write, case = sizing.read_demand_gb_per_s, row.write_demand_gb_per_s, sizing.case
    rows: tuple[ApplianceRow, ...] = ()
    if write is not None:
        nameplate_gb_per_s = read / case.delivered_read_share, write / case.delivered_write_share
        rows = _appliance_rows(sizing, nameplate_gb_per_s, write, row.write_volume_tb_per_day)
    return RuleRow(
        rule=mode.law,
        group="demand_law",
        chosen=case.rule is None,
        basis="delivered",
        read_demand_gb_per_s=read,
        write_demand_gb_per_s=write,
        mode=mode.mode,
        interval_s=mode.interval_s,
        running=row.running,
        appliances=rows,
    )


def _nameplate_row(sizing: Sizing, rule: BandwidthRule) -> RuleRow:
    case, job, cluster = sizing.case, sizing.job, sizing.cluster
    read, write = rule_demand(rule, cluster.gpus_bought)
    delivered_read = min(case.delivered_read_share * read, cluster.client_read_gb_per_s)
    delivered_write = min(case.delivered_write_share * write, cluster.client_write_gb_per_s)
    mode, interval_s, runs = _best_run(sizing, delivered_read, delivered_write)
    lasting_s = interval_s or _policy_interval_s(job, job.modes[0], cluster.mtti_s)
    volume = write_volume_tb_per_day(job.checkpoint_gb, lasting_s)
    reads = max(read, sizing.read_demand_gb_per_s / case.delivered_read_share)
    return RuleRow(
        rule=rule.name,
        group=rule.family,
        chosen=case.rule == rule,
        basis="nameplate",
        read_demand_gb_per_s=read,
        write_demand_gb_per_s=write,
        mode=mode,
        interval_s=interval_s,
        running=runs,
        appliances=_appliance_rows(sizing, (reads, write), 0.0, volume),
    )


def _best_run(
    sizing: Sizing, read_gb_per_s: float, write_gb_per_s: float
) -> tuple[Mode, float, Running] | tuple[None, None, None]:
    """Mode of the highest goodput at a delivered bandwidth, its interval and operation."""
    runs = []
    for mode in sizing.job.modes if read_gb_per_s > 0 and write_gb_per_s > 0 else ():
        every_s = _interval_at(sizing.job, mode, write_gb_per_s, sizing.cluster.mtti_s)
        if every_s is not None:
            run = _running(sizing, mode, every_s, write_gb_per_s, read_gb_per_s)
            runs.append((mode, every_s, run))
    return max(runs, key=lambda run: run[2].goodput_share) if runs else (None, None, None)


# Appliances: units that meet a demand, their power, and the GPUs that this power would feed.


def _appliance_rows(
    sizing: Sizing,
    nameplate_gb_per_s: tuple[float, float],
    delivered_gb_per_s: float,
    tb_per_day: float,
) -> tuple[ApplianceRow, ...]:
    """Every storage item on offer, family by family, that of the least power marked.

    Items of one family are not mixed.

    Args:
        nameplate_gb_per_s: demand of reads and of writes.
        delivered_gb_per_s: demand of writes as clients deliver them.
        tb_per_day: demand of endurance.
    """
    demand = nameplate_gb_per_s, delivered_gb_per_s, tb_per_day

    def order(row: ApplianceRow) -> tuple[str, bool, float, float, str]:
        power = math.inf if row.it_power_kw is None else row.it_power_kw
        cost = math.inf if row.net_usd is None else row.net_usd
        return row.family, row.units is None, power, cost, row.item

    rows = sorted((_appliance(sizing, item, *demand) for item in sizing.case.flash), key=order)
    first = {row.family: row.item for row in reversed(rows)}
    return tuple(replace(row, best_of_family=first[row.family] == row.item) for row in rows)


def _appliance(
    sizing: Sizing,
    item: Storage,
    nameplate_gb_per_s: tuple[float, float],
    delivered_gb_per_s: float,
    tb_per_day: float,
) -> ApplianceRow:
    cluster, record = sizing.cluster, sizing.inputs.item(item.id)
    family = next(family for family in sizing.case.families if family.id == item.family)
    row = ApplianceRow(item.id, record.product, item.family)
    for verb, required, most in (
        ("write", delivered_gb_per_s, cluster.client_write_gb_per_s * family.write_factor),
        ("read", sizing.read_demand_gb_per_s, cluster.client_read_gb_per_s * family.read_factor),
    ):
        if required > most * (1 + ROUNDING):
            return replace(row, reason=f"the GPU systems {verb} at most {most:,.0f} GB/s")
    table = item.segments[-1].high if item.segments else None
    bounds = [bound for bound in (item.high, family.max_units, table) if bound is not None]
    units, decided_by = _units_needed(sizing, item, nameplate_gb_per_s, tb_per_day)
    if units > (most_units := min(bounds, default=UNLIMITED_UNITS)):
        return replace(row, reason=f"needs more than {most_units:,}")
    count, each_kw = int(units), it_power_kw(record, sizing.inputs)
    bought = max(0, count - item.installed)
    return replace(
        row,
        units=count,
        decided_by=decided_by,
        it_power_kw=None if each_kw is None else each_kw * count,
        racks=item.rack_use.racks(count) if item.rack_use else None,
        net_usd=0.0 if not bought else item.unit_net_usd and item.unit_net_usd * bought,
    )


def _units_needed(
    sizing: Sizing, item: Storage, nameplate_gb_per_s: tuple[float, float], tb_per_day: float
) -> tuple[float, str]:
    """Fewest units of an item that meet a demand, inf for none, and the figure that decides."""
    read, write = nameplate_gb_per_s
    counts = [
        (_bandwidth_units(item, 1, write), "write"),
        (_bandwidth_units(item, 0, read), "read"),
        (_units(sizing.job.capacity_needed_tb, item.usable_tb), "capacity"),
    ]
    if item.endurance_tb_per_day is not None:
        counts.append((_units(tb_per_day, item.endurance_tb_per_day), "endurance"))
    units, decided_by = max(counts, key=lambda count: count[0])
    least = max(item.min_units, item.low, 1)
    if item.segments:
        least = max(least, item.segments[0].low)
    smallest = bool(item.segments) and units == least
    return (least, "minimum order") if units < least or smallest else (units, decided_by)


def _units(demand: float, each: float) -> float:
    if demand == 0:
        return 0
    return appliances_needed(demand, each) if each > 0 else math.inf


def _bandwidth_units(item: Storage, side: int, demand: float) -> float:
    """Units by bandwidth; of a table the least from which on sizes are enough."""
    if not item.segments or demand == 0:
        return _units(demand, nameplate(item, 1)[side] if demand else 0.0)

    def short(units: int) -> bool:
        return nameplate(item, units)[side] < demand * (1 - ROUNDING)

    sizes = dropwhile(short, range(item.segments[-1].high, item.segments[0].low - 1, -1))
    return min(takewhile(lambda units: not short(units), sizes), default=math.inf)


# Notes.


def _notes(sizing: Sizing, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    job, cluster = sizing.job, sizing.cluster
    if not job.gpus_min <= cluster.gpus <= (job.gpus_max or cluster.gpus):
        yield f"the problem has other limits of GPUs in use than {cluster.gpus:,}"
    if not sizing.read_demand_gb_per_s:
        yield (
            "nothing asks for read bandwidth (no restore.max_time, no ingest); for goodput under "
            "the job's law, reading is taken to be as fast as writing"
        )
    write = max(mode.rows[0].write_demand_gb_per_s or 0.0 for mode in modes)
    for verb, demand, most in (
        ("reading", sizing.read_demand_gb_per_s, cluster.client_read_gb_per_s),
        ("writing", write, cluster.client_write_gb_per_s),
    ):
        if demand > most:
            yield f"{verb} needs {demand:,.0f} GB/s, the GPU systems move at most {most:,.0f} GB/s"
    for mode in modes:
        if mode.rows[0].running is None:
            yield f"the stall of {job.stall_s:g} s fills the interval of {mode.interval_s:g} s"
