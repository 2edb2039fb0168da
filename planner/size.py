"""`planner size`: storage demand of a job without solving, by interval and by rule.

The demand law (async) and the blocking law (sync) require delivered bandwidth, vendors' rules
nameplate bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from planner.case import Case, Storage, System, resolve
from planner.case.bandwidth import nameplate, stall_s
from planner.case.bounds import UNLIMITED_UNITS, cap_in_use
from planner.case.figures import it_power_kw
from planner.case.model import BandwidthRule, Mode
from planner.case.model import Job as JobNumbers
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.job import DEFAULT_FAILURES, Job
from planner.schema.operation import (
    ApplianceRow,
    Checkpoint,
    Cluster,
    GpuType,
    IntervalRow,
    ModeReport,
    RestoreDemand,
    RuleGroup,
    RuleRow,
    Running,
    SizeReport,
)
from planner.schema.problem import CustomRule, Quantity
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, FanOut, fan_out_terms
from planner.sizing.demand import (
    VENDOR_RULES,
    appliances_needed,
    exports_tb,
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
ROUNDING = 1e-9
_HALVINGS = 200


def size_report(inputs: Inputs, gpus: int | None = None) -> SizeReport:
    """Compute the storage demand of a problem without solving it.

    Args:
        inputs: a validated problem with its catalogs and prices.
        gpus: GPUs to size for, bought and in use; None for the most that the limits allow.

    Raises:
        InputError: there is no number of GPUs to size for, or it holds no replica.
    """
    case = resolve(inputs)
    types = gpu_types(inputs, case)
    cluster = cluster_of(inputs, case, types, gpus)
    case = replace(case, job=_with_known_stall(case, cluster))
    modes = tuple(_mode_report(case.job, cluster, mode) for mode in case.job.modes)
    return SizeReport(
        problem=inputs.problem.name,
        gpu_types=types,
        cluster=cluster,
        checkpoint=_checkpoint(inputs, case.job, cluster.gpus),
        restore=tuple(_restore_demands(inputs, case.job, cluster)),
        modes=modes,
        delivered_read_share=case.delivered_read,
        delivered_write_share=case.delivered_write,
        rules=(
            *(_law_row(inputs, case, cluster, mode) for mode in modes),
            *_vendor_rows(inputs, case, cluster),
        ),
        notes=tuple(_notes(case, cluster, modes)),
        currency=inputs.problem.shown_in,
    )


def _with_known_stall(case: Case, cluster: Cluster) -> JobNumbers:
    """The job on one number of GPUs: its stall in seconds, without a local level."""
    job = case.job
    way = next(system for system in case.systems if system.id == cluster.item).way()
    modes = tuple(mode for mode in job.modes if mode != "local") or ("async",)
    known_s = stall_s(job, way, cluster.gpus)
    return replace(job, stall_s=known_s, derived_stall=False, modes=modes)


def product_name(inputs: Inputs, sku: str) -> str:
    """Vendor and model of an item."""
    item = inputs.item(sku)
    return f"{item.vendor} {item.model}"


# The cluster: GPU type, GPUs, clients, failures.


def gpu_types(inputs: Inputs, case: Case) -> tuple[GpuType, ...]:
    """List the GPU types on offer, the reference first: demanded, then most peak FLOP/s.

    Raises:
        InputError: no GPU system is on offer.
    """
    if not case.systems:
        fix = "planner check PROBLEM lists why each one is left out"
        raise InputError(Finding("no-gpu-system", "no GPU system is on offer", fix=fix))
    types = []
    for system in case.systems:
        systems, way = cap_in_use(case, system), system.way()
        gpus = way.most_gpus(systems)
        types.append(
            GpuType(
                item=system.id,
                name=product_name(inputs, system.id),
                systems=systems,
                gpus=gpus,
                peak_pflops=gpus * way.tflops_per_gpu / 1000 if way.tflops_per_gpu else None,
                demanded=inputs.problem.items.get(system.id, Quantity()).least > 0,
                limited=systems != UNLIMITED_UNITS,
            )
        )
    types.sort(
        key=lambda kind: (not kind.demanded, -(kind.peak_pflops or 0.0), -kind.gpus, kind.item)
    )
    return tuple(types)


def cluster_of(
    inputs: Inputs, case: Case, types: tuple[GpuType, ...], asked_gpus: int | None
) -> Cluster:
    """Derive replicas, clients and failures of the GPUs to size for.

    Args:
        types: the GPU types on offer, the reference first.
        asked_gpus: GPUs to size for, or None for the most of the reference type.

    Raises:
        InputError: nothing limits the GPUs, not one system fits, or not even one replica.
    """
    kind, job = types[0], case.job
    system = next(system for system in case.systems if system.id == kind.item)
    gpus = _most_gpus(job, system, kind) if asked_gpus is None else asked_gpus
    way = system.way()
    replica = way.replica_gpus
    if replica is not None and gpus < replica:
        known = asked_gpus is not None
        held = f"--gpus {gpus}" if known else f"the {gpus:,} GPUs that the site holds"
        message = f"one replica needs {replica:,} GPUs (tensor x pipeline), more than {held}"
        fix = f"give at least {replica}" if known else "give --gpus N"
        raise InputError(Finding("replica", message, fix=fix))
    systems = way.systems_for(gpus)
    one_replica = systems if replica is None else min(systems, way.systems_for(replica))
    writers = one_replica if job.one_replica_writes else systems
    return Cluster(
        item=kind.item,
        name=kind.name,
        choice=_choice(types),
        count=_count(asked_gpus, kind),
        gpus=gpus,
        gpus_bought=systems * system.gpus if asked_gpus is None else gpus,
        gpus_per_system=system.gpus,
        systems=systems,
        system_it_power_kw=it_power_kw(inputs.item(kind.item), inputs),
        replica_gpus=replica,
        replicas=gpus // replica if replica else None,
        data_parallel=gpus / replica if replica else None,
        writing_systems=writers,
        reading_systems=systems,
        client_write_gb_per_s=writers * system.client_write_gb_per_s,
        client_read_gb_per_s=systems * system.client_read_gb_per_s,
        client_data_gb_per_s=systems * system.client_read_gb_per_s,
        failures_per_gpu_day=way.failures_per_gpu_day,
        failures_reason=_failures_reason(inputs, kind.item),
        mtti_s=mtti_s(way.failures_per_gpu_day, gpus),
    )


def _most_gpus(job: JobNumbers, system: System, kind: GpuType) -> int:
    if not kind.limited:
        message = "nothing limits the GPUs, so there is no number to size for"
        fix = "give --gpus N, or a power, space or cost budget"
        raise InputError(Finding("unlimited", message, fix=fix))
    way = system.way()
    most, step = job.gpus_max, way.step_gpus
    gpus = kind.gpus if most is None else min(kind.gpus, most)
    if gpus < step:
        unit = "replica" if step == way.replica_gpus else "system"
        held = kind.systems * system.gpus
        message = f"the site holds {held:,} GPUs of {kind.name}, and one {unit} is {step:,}"
        raise InputError(Finding("no-room", message, fix="raise the budgets, or give --gpus N"))
    return gpus // step * step


def _choice(types: tuple[GpuType, ...]) -> str:
    if len(types) == 1:
        return "the only type on offer"
    if types[0].demanded:
        return "the type that the problem demands"
    if types[0].peak_pflops is None:
        return "the type on offer with the most GPUs"
    return "the type on offer with the most peak FLOP/s"


def _count(asked_gpus: int | None, kind: GpuType) -> str:
    if asked_gpus is None:
        return "the most that power, racks, budgets and counts, each alone, allow"
    if kind.limited and asked_gpus > kind.gpus:
        return f"as asked by --gpus; more than the {kind.gpus:,} that the limits allow"
    return "as asked by --gpus"


def _failures_reason(inputs: Inputs, sku: str) -> str:
    given = inputs.problem.job.failure_rate
    if given is None and inputs.item(sku).gpu.failures_per_day is not None:
        return f"the catalog's figure for {product_name(inputs, sku)}"
    if isinstance(given, float):
        return "given in the problem"
    preset = FAILURES_PER_GPU_DAY[given or DEFAULT_FAILURES]
    default = "default " if given is None else ""
    return f"{default}{preset.name}: {preset.meaning}; {preset.source}"


# The checkpoint and its restore.


def _checkpoint(inputs: Inputs, numbers: JobNumbers, gpus: int) -> Checkpoint:
    job = inputs.problem.job
    archived = 0 if job.in_bulk else 1
    kept = job.checkpoint.keep_last + 1 + archived * job.checkpoint.milestones
    return Checkpoint(
        size_gb=numbers.checkpoint_gb,
        bytes_per_parameter=numbers.bytes_per_parameter if job.parameters else None,
        size_reason=_size_reason(job, numbers.bytes_per_parameter),
        capacity_needed_tb=numbers.capacity_needed_tb,
        dataset_tb=job.dataset_tb,
        checkpoints_tb=numbers.checkpoint_gb * kept / 1e3,
        exports_tb=exports_tb(job.parameters, archived * job.checkpoint.exports),
        fill_limit_share=inputs.problem.storage.fill_limit,
        ingest_gb_per_s=gpus * numbers.ingest_per_gpu_gb_per_s,
        bulk_needed_tb=numbers.bulk_needed_tb,
        bulk_read_gb_per_s=gpus * numbers.ingest_per_gpu_gb_per_s if job.in_bulk else 0.0,
    )


def _size_reason(job: Job, bytes_each: float) -> str:
    if job.parameters is None:
        return "size given in the problem"
    parameters = f"{job.parameters / 1e9:,.10g} billion parameters"
    if job.checkpoint.size_gb is not None:
        return f"size given in the problem; {parameters}"
    asked = job.bytes_per_parameter
    if not isinstance(asked, str):
        return f"{parameters}, {bytes_each:g} bytes each (given in the problem)"
    preset = BYTES_PER_PARAMETER[asked]
    basis = f"{preset.name}: {preset.meaning}; {preset.source}"
    return f"{parameters}, {bytes_each:g} bytes each ({basis})"


def _restore_demands(inputs: Inputs, job: JobNumbers, cluster: Cluster) -> Iterator[RestoreDemand]:
    """Yield each restore fan-out, as far as the job's layout is known."""
    kinds: list[FanOut] = ["broadcast"]
    if cluster.data_parallel is not None:
        if inputs.problem.job.parameters is not None and job.bytes_per_parameter >= 2.0:
            kinds.append("sharded_optimizer")
        kinds.append("every_replica")
    within_s = job.max_restore_s
    for kind in kinds:
        once, per_gpu = fan_out_terms(kind, job.bytes_per_parameter, cluster.replica_gpus)
        times = once + per_gpu * cluster.gpus
        read_gb = times * job.checkpoint_gb
        demand = None if within_s is None else read_gb / within_s
        yield RestoreDemand(kind, kind == job.fan_out, times, read_gb, within_s, demand)


def _read_demands(job: JobNumbers, gpus: int) -> tuple[float, float]:
    """(restore, training data): delivered read bandwidth required, GB/s; 0 where none is."""
    data = gpus * job.ingest_per_gpu_gb_per_s
    if job.max_restore_s is None:
        return 0.0, data
    return job.fan_out_on(gpus) * job.checkpoint_gb / job.max_restore_s, data


# The laws: demand by interval, and the operation with just that.


def _mode_report(job: JobNumbers, cluster: Cluster, mode: Mode) -> ModeReport:
    policy_s = _policy_interval_s(job, mode, cluster.mtti_s)
    others = (shown for shown in SHOWN_INTERVALS_S if shown != policy_s)
    return ModeReport(
        mode=mode,
        policy=job.interval.policy,
        law="blocking law" if mode == "sync" else "demand law",
        limit_share=job.max_blocking if mode == "sync" else job.max_overlap,
        interval_s=policy_s,
        rows=tuple(
            _interval_row(job, cluster, mode, interval_s, interval_s == policy_s)
            for interval_s in (policy_s, *others)
        ),
    )


def _policy_interval_s(job: JobNumbers, mode: Mode, mtti_s: float) -> float:
    """Interval of the policy with just the bandwidth that the law then requires, s.

    Source: the optimum of `goodput.goodput` for the stall; the part of the stall that grows with
    the interval (a synchronous save, the slowdown of a drain) is taken at the law's limit.
    """
    rule = job.interval
    if rule.policy == "fixed":
        return rule.low_s
    if mode == "sync":
        best_s = _best_with_growing_stall_s(0.0, job.max_blocking, mtti_s)
    else:
        growing = job.drain_slowdown * job.max_overlap
        best_s = _best_with_growing_stall_s(job.stall_s, growing, mtti_s)
    return min(max(best_s, rule.low_s), rule.high_s)


def _best_with_growing_stall_s(stall_s: float, share: float, mtti_s: float) -> float:
    """Solve I = exact_period(stall + share * I); the larger root, as goodput peaks there."""
    if share == 0:
        return exact_period_s(stall_s, mtti_s)
    if share >= 1:
        return math.inf
    low, high = 0.0, (mtti_s + stall_s) / (1 - share)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if exact_period_s(stall_s + share * middle, mtti_s) > middle:
            low = middle
        else:
            high = middle
    return high


def _interval_row(
    job: JobNumbers, cluster: Cluster, mode: Mode, interval_s: float, by_policy: bool
) -> IntervalRow:
    """Demand of one interval; without a read demand, reading is taken to equal writing."""
    share = job.max_blocking
    if mode != "sync":  # stall and drain fit into the interval
        share = min(job.max_overlap, 1 - job.stall_s / interval_s)
    write = None
    if share > 0:
        write = write_demand_gb_per_s(job.checkpoint_gb, share, interval_s)
    restore, data = _read_demands(job, cluster.gpus)
    read_back = max(restore, data) or write
    runs = None
    if write is not None and read_back is not None:
        runs = _running(job, mode, interval_s, write, read_back, cluster)
    return IntervalRow(
        interval_s=interval_s,
        by_policy=by_policy,
        interval_per_mtti=interval_s / cluster.mtti_s,
        write_gb_per_s=write,
        write_mb_per_s_per_gpu=None if write is None else 1000 * write / cluster.gpus,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, interval_s),
        read_gb_per_s=max(restore, data) or write,
        running=runs,
    )


def _running(
    job: JobNumbers,
    mode: Mode,
    interval_s: float,
    write_delivered_gb_per_s: float,
    read_delivered_gb_per_s: float,
    cluster: Cluster,
) -> Running:
    transfer_s = job.checkpoint_gb / write_delivered_gb_per_s
    stall, drain, slowdown = job.stall_s, transfer_s, job.drain_slowdown
    if mode == "sync":
        stall, drain, slowdown = transfer_s, 0.0, 0.0
    restore_s = job.fan_out_on(cluster.gpus) * job.checkpoint_gb / read_delivered_gb_per_s
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


def _interval_at(
    job: JobNumbers, mode: Mode, write_delivered_gb_per_s: float, mtti_s: float
) -> float | None:
    """Interval of the policy at a given bandwidth, s; None where none is allowed."""
    transfer_s = job.checkpoint_gb / write_delivered_gb_per_s
    if mode == "sync":
        least_s, stall = transfer_s / job.max_blocking, transfer_s
    else:
        least_s, stall = job.stall_s + transfer_s, job.stall_s + job.drain_slowdown * transfer_s
    rule = job.interval
    if rule.policy != "optimal":
        return rule.low_s if rule.low_s >= least_s else None
    if least_s > rule.high_s:
        return None
    return best_interval_s(stall, mtti_s, max(least_s, rule.low_s), rule.high_s)


# The rules: the job's law, DDN's, NVIDIA's, the user's own.


class Demand(NamedTuple):
    """Required of storage: nameplate bandwidth, delivered bandwidth, capacity, writes a day."""

    read_nameplate_gb_per_s: float
    write_nameplate_gb_per_s: float
    restore_delivered_gb_per_s: float
    data_delivered_gb_per_s: float
    write_delivered_gb_per_s: float
    usable_tb: float
    write_tb_per_day: float


def _law_row(inputs: Inputs, case: Case, cluster: Cluster, mode: ModeReport) -> RuleRow:
    row = next(row for row in mode.rows if row.by_policy)
    restore, data = _read_demands(case.job, cluster.gpus)
    read, write = max(restore, data), row.write_gb_per_s
    capacity = case.job.capacity_needed_tb
    demand = Demand(0.0, 0.0, restore, data, write or 0.0, capacity, row.write_volume_tb_per_day)
    limited = "blocked" if mode.mode == "sync" else "of it draining"
    return RuleRow(
        rule=mode.law,
        group="demand_law",
        chosen=case.rule is None,
        basis="delivered",
        note=f"at most {100 * mode.limit_share:g} % {limited}; read for restore and ingest",
        source="checkpoint size, interval and limits of the job",
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=read,
        delivered_write_gb_per_s=write,
        mode=mode.mode,
        interval_s=mode.interval_s,
        running=row.running,
        appliances=() if write is None else _appliance_rows(inputs, case, cluster, demand),
    )


def _vendor_rows(inputs: Inputs, case: Case, cluster: Cluster) -> Iterator[RuleRow]:
    for vendor in VENDOR_RULES.values():
        rule = BandwidthRule(
            vendor.name, vendor.read_gb_per_s, vendor.write_gb_per_s, vendor.per_gpus
        )
        row = _nameplate_row(inputs, case, cluster, vendor.family, rule)
        yield replace(row, note=vendor.note, source=vendor.source)
    if case.rule is not None and isinstance(inputs.problem.storage.rule, CustomRule):
        row = _nameplate_row(inputs, case, cluster, "custom", case.rule)
        note = "given in the problem, for each GPU"
        yield replace(row, note=note, source="the problem")


def _nameplate_row(
    inputs: Inputs, case: Case, cluster: Cluster, group: RuleGroup, rule: BandwidthRule
) -> RuleRow:
    read, write = rule_demand(rule, cluster.gpus_bought)
    delivered_read = min(case.delivered_read * read, cluster.client_read_gb_per_s)
    delivered_write = min(case.delivered_write * write, cluster.client_write_gb_per_s)
    mode, interval_s, runs = _best_run(case.job, cluster, delivered_read, delivered_write)
    lasting_s = interval_s or _policy_interval_s(case.job, case.job.modes[0], cluster.mtti_s)
    volume = write_volume_tb_per_day(case.job.checkpoint_gb, lasting_s)
    restore, data = _read_demands(case.job, cluster.gpus)
    demand = Demand(read, write, restore, data, 0.0, case.job.capacity_needed_tb, volume)
    return RuleRow(
        rule=rule.name,
        group=group,
        chosen=case.rule == rule,
        basis="nameplate",
        note="",
        source="",
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=delivered_read,
        delivered_write_gb_per_s=delivered_write,
        mode=mode,
        interval_s=interval_s,
        running=runs,
        appliances=_appliance_rows(inputs, case, cluster, demand),
    )


def _best_run(
    job: JobNumbers, cluster: Cluster, read_gb_per_s: float, write_gb_per_s: float
) -> tuple[Mode, float, Running] | tuple[None, None, None]:
    """Mode of the highest goodput at a delivered bandwidth, its interval and operation."""
    runs = []
    for mode in job.modes if read_gb_per_s > 0 and write_gb_per_s > 0 else ():
        every_s = _interval_at(job, mode, write_gb_per_s, cluster.mtti_s)
        if every_s is not None:
            run = _running(job, mode, every_s, write_gb_per_s, read_gb_per_s, cluster)
            runs.append((mode, every_s, run))
    return max(runs, key=lambda run: run[2].goodput_share) if runs else (None, None, None)


# Appliances: units that meet a demand, their power, and the GPUs that this power would feed.


def _appliance_rows(
    inputs: Inputs, case: Case, cluster: Cluster, demand: Demand
) -> tuple[ApplianceRow, ...]:
    """Every storage item on offer, family by family, that of the least power marked.

    Items of one family are not mixed.
    """

    def by_power(row: ApplianceRow) -> tuple[bool, float, float, str]:
        power = math.inf if row.it_power_kw is None else row.it_power_kw
        cost = math.inf if row.net_usd is None else row.net_usd
        return row.units is None, power, cost, row.item

    rows = [_appliance(inputs, case, cluster, item, demand) for item in case.flash]
    marked: list[ApplianceRow] = []
    for _, family in groupby(sorted(rows, key=lambda row: row.family), lambda row: row.family):
        first, *others = sorted(family, key=by_power)
        marked += [replace(first, best_of_family=True), *others]
    return tuple(marked)


def _appliance(
    inputs: Inputs, case: Case, cluster: Cluster, item: Storage, demand: Demand
) -> ApplianceRow:
    family = next(family for family in case.families if family.id == item.family)
    named = next(family for family in inputs.families if family.id == item.family)
    row = ApplianceRow(
        item=item.id,
        name=product_name(inputs, item.id),
        family=item.family,
        family_name=f"{named.vendor} {named.name}",
    )
    for verb, required, most in (
        (
            "write",
            demand.write_delivered_gb_per_s,
            cluster.client_write_gb_per_s * family.write_factor,
        ),
        (
            "read",
            demand.restore_delivered_gb_per_s,
            cluster.client_read_gb_per_s * family.read_factor,
        ),
        ("read", demand.data_delivered_gb_per_s, cluster.client_data_gb_per_s * family.read_factor),
    ):
        if required > most * (1 + ROUNDING):
            reason = f"the GPU systems {verb} at most {most:,.0f} GB/s"
            return replace(row, reason=reason)
    tables = item.segments[-1].high if item.segments else None
    bounds = [bound for bound in (item.high, family.max_units, tables) if bound is not None]
    most = min(bounds, default=math.inf)
    units, decided_by = _units_needed(case, item, demand)
    if units > most or math.isinf(units):
        reason = "one unit is not enough" if most == 1 else f"{most:,.0f} units are not enough"
        if math.isinf(most):
            reason = "gives nothing of what is asked"
        return replace(row, reason=reason)
    count = int(units)
    each = it_power_kw(inputs.item(item.id), inputs)
    power = None if each is None else each * count
    systems = None
    if power is not None and cluster.system_it_power_kw:
        systems = power / cluster.system_it_power_kw + ROUNDING
    purchased, price = max(0, count - item.installed), item.unit_net_usd
    return replace(
        row,
        units=count,
        decided_by=decided_by,
        it_power_kw=power,
        racks=item.rack_use.racks(count) if item.rack_use else None,
        net_usd=price * purchased
        if price is not None and purchased
        else None
        if purchased
        else 0.0,
        power_equivalent_gpus=None if systems is None else int(systems * cluster.gpus_per_system),
        whole_systems_gpus=None if systems is None else int(systems) * cluster.gpus_per_system,
    )


def _units_needed(case: Case, item: Storage, demand: Demand) -> tuple[float, str]:
    """Fewest units of an item that meet a demand, inf for none, and the figure that decides."""
    read_delivered = max(demand.restore_delivered_gb_per_s, demand.data_delivered_gb_per_s)
    read = max(demand.read_nameplate_gb_per_s, read_delivered / case.delivered_read)
    write = max(
        demand.write_nameplate_gb_per_s, demand.write_delivered_gb_per_s / case.delivered_write
    )
    counts = [
        (_bandwidth_units(item, 1, write), "write"),
        (_bandwidth_units(item, 0, read), "read"),
        (_units(demand.usable_tb, item.usable_tb), "capacity"),
    ]
    if item.endurance_tb_per_day is not None:
        counts.append((_units(demand.write_tb_per_day, item.endurance_tb_per_day), "endurance"))
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
    """Units by bandwidth; a table need not rise throughout, so its last row too small counts."""
    if not item.segments:
        return _units(demand, nameplate(item, 1)[side])
    if demand == 0:
        return 0
    sizes = range(item.segments[0].low, item.segments[-1].high + 1)
    enough = [nameplate(item, units)[side] >= demand * (1 - ROUNDING) for units in sizes]
    if True not in enough:
        return math.inf
    last = max(place for place, holds in enumerate(enough) if holds)
    short = (place for place in range(last) if not enough[place])
    return sizes[max(short, default=-1) + 1]


# Notes.


def _notes(case: Case, cluster: Cluster, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    job = case.job
    if cluster.gpus < job.gpus_min:
        yield f"the problem asks for at least {job.gpus_min:,} GPUs"
    if job.gpus_max is not None and cluster.gpus > job.gpus_max:
        yield f"the problem allows at most {job.gpus_max:,} GPUs in use"
    if max(_read_demands(job, cluster.gpus)) == 0:
        yield (
            "nothing asks for read bandwidth (no restore.max_time, no ingest); for goodput under "
            "the job's law, reading is taken to be as fast as writing"
        )
    yield from _client_notes(job, cluster, modes)
    for mode in modes:
        if mode.rows[0].running is None:
            yield f"the stall of {job.stall_s:g} s fills the interval of {mode.interval_s:g} s"
    if not case.storage:
        yield "no storage is on offer; planner check lists why each item is left out"


def _client_notes(
    job: JobNumbers, cluster: Cluster, modes: tuple[ModeReport, ...]
) -> Iterator[str]:
    read = max(_read_demands(job, cluster.gpus))
    writes = [mode.rows[0].write_gb_per_s or 0.0 for mode in modes]
    for verb, demand, most in (
        ("reading", read, cluster.client_read_gb_per_s),
        *(("writing", write, cluster.client_write_gb_per_s) for write in writes),
    ):
        if demand > most:
            yield (
                f"the job's law asks for {verb} {demand:,.0f} GB/s, more than the {most:,.0f} GB/s "
                "that its GPU systems can move before any client's factor"
            )
