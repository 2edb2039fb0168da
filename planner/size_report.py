"""`planner size`: storage demand of a job without solving, by interval and by rule.

The demand law (async) and the blocking law (sync) require delivered bandwidth, vendors' rules
nameplate bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from planner.case import Case, Storage, System, resolve
from planner.case.figures import UNLIMITED_UNITS, it_power_kw, max_units_in_use
from planner.case.job import ROUNDING, Job, Mode, stall_s
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.operation import (
    ApplianceRow,
    IntervalRow,
    ModeReport,
    RuleRow,
    Running,
    SizeReport,
)
from planner.schema.problem import Quantity
from planner.sizing.availability import mtti_s
from planner.sizing.checkpoint import (
    VENDOR_RULES,
    BandwidthRule,
    appliances_needed,
    rule_demand,
    write_demand_gb_per_s,
    write_volume_tb_per_day,
)
from planner.sizing.goodput import best_interval_s, goodput

SHOWN_INTERVALS_S = (600.0, 1800.0, 3600.0, 14_400.0)
_HALVINGS = 200


class _Sizing(NamedTuple):
    """A problem on one number of GPUs; ``report`` without modes and rules."""

    inputs: Inputs
    case: Case
    report: SizeReport
    gpus_bought: int

    @property
    def job(self) -> Job:
        return self.case.job

    @property
    def read_demand_gb_per_s(self) -> float:
        """Delivered bandwidth of ingest or restore, or 0."""
        return max(self.report.ingest_demand_gb_per_s, self.report.restore_gb_per_s or 0.0)


def size_report(inputs: Inputs, gpus: int | None = None) -> SizeReport:
    """Compute the storage demand of a problem without solving it.

    Args:
        inputs: a validated problem with its catalogs and prices.
        gpus: GPUs in use; None for the most that the limits allow.

    Raises:
        InputError: there is no number of GPUs to size for, or it holds no replica.
    """
    case = resolve(inputs)
    if not case.systems:
        fix = "planner check PROBLEM lists why each one is left out"
        raise InputError(Finding("no-gpu-system", "no GPU system is on offer", fix=fix))
    system = min(case.systems, key=partial(_rank, inputs, case))
    way, item = system.way(), inputs.item(system.id)
    number, reason = _gpus(case, system, item.product, gpus)
    modes = tuple(mode for mode in case.job.modes if mode != "local") or ("async",)
    known_s = stall_s(case.job, way, number)
    job = replace(case.job, stall_s=known_s, derived_stall=False, modes=modes)
    writers = systems = way.systems_for(number)
    if job.one_replica_writes and way.replica_gpus is not None:
        writers = min(systems, way.systems_for(way.replica_gpus))
    within_s = job.max_restore_s
    report = SizeReport(
        problem=inputs.problem.name,
        item=system.id,
        name=item.product,
        reason=reason,
        gpus=number,
        systems=systems,
        writing_systems=writers,
        client_write_gb_per_s=writers * system.client_write_gb_per_s,
        client_read_gb_per_s=systems * system.client_read_gb_per_s,
        failures_per_gpu_day=way.failures_per_gpu_day,
        mtti_s=mtti_s(way.failures_per_gpu_day, number),
        checkpoint_gb=job.checkpoint_gb,
        max_restore_s=within_s,
        restore_gb_per_s=within_s and job.fan_out_on(number) * job.checkpoint_gb / within_s,
        capacity_needed_tb=job.capacity_needed_tb,
        bulk_needed_tb=job.bulk_needed_tb,
        ingest_demand_gb_per_s=number * job.ingest_per_gpu_gb_per_s,
        delivered_read_share=case.delivered_read_share,
        delivered_write_share=case.delivered_write_share,
        currency=inputs.problem.shown_in,
    )
    sizing = _Sizing(inputs, replace(case, job=job), report, systems * system.gpus)
    own = (case.rule,) if case.rule is not None and case.rule.family == "custom" else ()
    reports = tuple(_mode_report(sizing, mode) for mode in modes)
    return replace(
        report,
        modes=reports,
        rules=(
            *(_law_row(sizing, mode) for mode in reports),
            *(_nameplate_row(sizing, rule) for rule in (*VENDOR_RULES.values(), *own)),
        ),
        notes=tuple(_notes(sizing, reports)),
    )


def _rank(inputs: Inputs, case: Case, system: System) -> tuple[bool, float, int, str]:
    """Order of GPU systems to size for: demanded ones first, then by most peak FLOP/s."""
    way, demanded = system.way(), inputs.problem.items.get(system.id, Quantity()).least > 0
    gpus = way.most_gpus(max_units_in_use(case, system))
    return not demanded, -gpus * (way.tflops_per_gpu or 0.0), -gpus, system.id


def _gpus(case: Case, system: System, product: str, asked: int | None) -> tuple[int, str]:
    """GPUs to size for, and their reason.

    Raises:
        InputError: nothing limits the GPUs, not one system fits, or not even one replica.
    """
    way, most, replica = system.way(), max_units_in_use(case, system), system.way().replica_gpus
    held = way.most_gpus(most)
    gpus, reason = asked or 0, "by --gpus"
    if asked is None:
        if most == UNLIMITED_UNITS:
            message = "nothing limits the GPUs, so there is no number to size for"
            fix = "give --gpus N, or a power, space or cost budget"
            raise InputError(Finding("unlimited", message, fix=fix))
        gpus = int(min(held, case.job.gpus_max or held) // way.step_gpus * way.step_gpus)
        reason = "the most that power, racks, budgets and counts, each alone, allow"
        if not gpus:
            room, needed = f"{most * system.gpus:,} GPUs of {product}", f"{way.step_gpus:,}"
            message = f"the site holds {room}, and a job needs {needed}"
            raise InputError(Finding("no-room", message, fix="raise the budgets, or give --gpus N"))
    elif most != UNLIMITED_UNITS and asked > held:
        reason += f"; more than the {held:,} that the limits allow"
    if replica is not None and gpus < replica:
        message = f"one replica needs {replica:,} GPUs (tensor x pipeline), more than {gpus:,}"
        fix = "give --gpus N" if asked is None else f"give at least {replica}"
        raise InputError(Finding("replica", message, fix=fix))
    return gpus, reason


# The laws: demand by interval, and the operation with just that.


def _mode_report(sizing: _Sizing, mode: Mode) -> ModeReport:
    job = sizing.job
    policy_s = _policy_interval_s(job, mode, sizing.report.mtti_s)
    intervals = (policy_s, *(shown for shown in SHOWN_INTERVALS_S if shown != policy_s))
    return ModeReport(
        mode=mode,
        policy=job.interval.policy,
        limit_share=job.max_blocking if mode == "sync" else job.max_overlap,
        rows=tuple(_interval_row(sizing, mode, each) for each in intervals),
    )


def _policy_interval_s(job: Job, mode: Mode, mtti_s: float) -> float:
    """Interval of the policy with just the bandwidth that the law then requires, s.

    Source: the optimum of `goodput.goodput` for the stall; the part of the stall that grows with
    the interval (a synchronous save, the slowdown of a drain) is taken at the law's limit. So the
    interval solves I = best_interval(stall + growing * I); the larger root, as goodput peaks there.
    """
    rule = job.interval
    if rule.policy == "fixed":
        return rule.low_s
    stall, growing = job.stall_s, job.drain_slowdown * job.max_overlap
    if mode == "sync":
        stall, growing = 0.0, job.max_blocking
    if growing >= 1:
        return rule.high_s
    low_s, best_s = 0.0, (mtti_s + stall) / (1 - growing)
    for _ in range(_HALVINGS):
        middle_s = (low_s + best_s) / 2
        above = best_interval_s(stall + growing * middle_s, mtti_s) > middle_s
        low_s, best_s = (middle_s, best_s) if above else (low_s, middle_s)
    return min(max(best_s, rule.low_s), rule.high_s)


def _interval_row(sizing: _Sizing, mode: Mode, interval_s: float) -> IntervalRow:
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
        write_demand_gb_per_s=write,
        write_mb_per_s_per_gpu=None if write is None else 1000 * write / sizing.report.gpus,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, interval_s),
        running=running,
    )


def _running(
    sizing: _Sizing, mode: Mode, interval_s: float, write_gb_per_s: float, read_gb_per_s: float
) -> Running:
    """The operation with delivered bandwidths."""
    job, report = sizing.job, sizing.report
    transfer_s = job.checkpoint_gb / write_gb_per_s
    stall, drain, slowdown = job.stall_s, transfer_s, job.drain_slowdown
    if mode == "sync":
        stall, drain, slowdown = transfer_s, 0.0, 0.0
    restore_s = job.fan_out_on(report.gpus) * job.checkpoint_gb / read_gb_per_s
    kept = goodput(interval_s, stall, drain, job.restart_s + restore_s, report.mtti_s, slowdown)
    return Running(mode, interval_s, stall, drain, restore_s, kept * job.progress)


def _interval_at(job: Job, mode: Mode, write_gb_per_s: float, mtti_s: float) -> float | None:
    """Interval of the policy at a delivered bandwidth, s; None where none is allowed."""
    transfer_s = job.checkpoint_gb / write_gb_per_s
    least_s, stall = job.stall_s + transfer_s, job.stall_s + job.drain_slowdown * transfer_s
    if mode == "sync":
        least_s, stall = transfer_s / job.max_blocking, transfer_s
    rule = job.interval
    if least_s > rule.high_s:
        return None
    return best_interval_s(stall, mtti_s, max(least_s, rule.low_s), rule.high_s)


# The rules: the job's law, DDN's, NVIDIA's, the user's own.


def _law_row(sizing: _Sizing, mode: ModeReport) -> RuleRow:
    row, case = mode.rows[0], sizing.case
    read, write = sizing.read_demand_gb_per_s, row.write_demand_gb_per_s
    rows: tuple[ApplianceRow, ...] = ()
    if write is not None:
        nameplate_gb_per_s = read / case.delivered_read_share, write / case.delivered_write_share
        rows = _appliances(sizing, nameplate_gb_per_s, write, row.write_volume_tb_per_day)
    return RuleRow(
        rule="blocking law" if mode.mode == "sync" else "demand law",
        group="demand_law",
        chosen=case.rule is None,
        read_demand_gb_per_s=read,
        write_demand_gb_per_s=write,
        running=row.running,
        appliances=rows,
    )


def _nameplate_row(sizing: _Sizing, rule: BandwidthRule) -> RuleRow:
    case, job, report = sizing.case, sizing.job, sizing.report
    read, write = rule_demand(rule, sizing.gpus_bought)
    delivered_read = min(case.delivered_read_share * read, report.client_read_gb_per_s)
    delivered_write = min(case.delivered_write_share * write, report.client_write_gb_per_s)
    runs = []
    for mode in job.modes if delivered_read > 0 and delivered_write > 0 else ():
        every_s = _interval_at(job, mode, delivered_write, report.mtti_s)
        if every_s is not None:
            runs.append(_running(sizing, mode, every_s, delivered_write, delivered_read))
    best = max(runs, key=lambda run: run.goodput_share, default=None)
    lasting_s = _policy_interval_s(job, job.modes[0], report.mtti_s)
    volume = write_volume_tb_per_day(job.checkpoint_gb, best.interval_s if best else lasting_s)
    reads = max(read, sizing.read_demand_gb_per_s / case.delivered_read_share)
    return RuleRow(
        rule=rule.name,
        group=rule.family,
        chosen=case.rule == rule,
        read_demand_gb_per_s=read,
        write_demand_gb_per_s=write,
        running=best,
        appliances=_appliances(sizing, (reads, write), 0.0, volume),
    )


# Appliances: units that meet a demand, and their power.


def _appliances(
    sizing: _Sizing,
    nameplate_gb_per_s: tuple[float, float],
    delivered_gb_per_s: float,
    tb_per_day: float,
) -> tuple[ApplianceRow, ...]:
    """Every storage item that meets a demand alone, the least power first.

    Args:
        nameplate_gb_per_s: demand of reads and of writes.
        delivered_gb_per_s: demand of writes as clients deliver them.
        tb_per_day: demand of endurance.
    """
    report, rows = sizing.report, []
    families = {family.id: family for family in sizing.case.families}
    for item in sizing.case.flash:
        record, family = sizing.inputs.item(item.id), families[item.family]
        most_write = report.client_write_gb_per_s * family.write_factor * (1 + ROUNDING)
        most_read = report.client_read_gb_per_s * family.read_factor * (1 + ROUNDING)
        if delivered_gb_per_s > most_write or sizing.read_demand_gb_per_s > most_read:
            continue
        bounds = [bound for bound in (item.high, family.max_units) if bound is not None]
        units, decided_by = _units_needed(sizing, item, nameplate_gb_per_s, tb_per_day)
        if units > min(bounds, default=UNLIMITED_UNITS):
            continue
        count, each_kw = int(units), it_power_kw(record, sizing.inputs)
        bought = max(0, count - item.installed)
        row = ApplianceRow(
            item=item.id,
            name=record.product,
            family=item.family,
            units=count,
            decided_by=decided_by,
            it_power_kw=None if each_kw is None else each_kw * count,
            racks=item.rack_use.racks(count) if item.rack_use else None,
            net_usd=0.0 if not bought else item.unit_net_usd and item.unit_net_usd * bought,
        )
        rows.append(row)

    def order(row: ApplianceRow) -> tuple[float, float, str]:
        power = math.inf if row.it_power_kw is None else row.it_power_kw
        return power, math.inf if row.net_usd is None else row.net_usd, row.item

    return tuple(sorted(rows, key=order))


def _units_needed(
    sizing: _Sizing, item: Storage, nameplate_gb_per_s: tuple[float, float], tb_per_day: float
) -> tuple[float, str]:
    """Fewest units of an item that meet a demand, inf for none, and the figure that decides."""
    read, write = nameplate_gb_per_s
    counts = [
        (_units(write, item.nameplate_write_gb_per_s), "write"),
        (_units(read, item.nameplate_read_gb_per_s), "read"),
        (_units(sizing.job.capacity_needed_tb, item.usable_tb), "capacity"),
    ]
    if item.endurance_tb_per_day is not None:
        counts.append((_units(tb_per_day, item.endurance_tb_per_day), "endurance"))
    units, decided_by = max(counts, key=lambda count: count[0])
    least = max(item.min_units, item.low, 1)
    return (least, "minimum order") if units < least else (units, decided_by)


def _units(demand: float, each: float) -> float:
    if demand == 0:
        return 0
    return appliances_needed(demand, each) if each > 0 else math.inf


def _notes(sizing: _Sizing, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    report, read = sizing.report, sizing.read_demand_gb_per_s
    if not read:
        yield "no read demand (no restore.max_time, no ingest): reading as fast as writing"
    write = max(mode.rows[0].write_demand_gb_per_s or 0.0 for mode in modes)
    for verb, demand, most in (
        ("reading", read, report.client_read_gb_per_s),
        ("writing", write, report.client_write_gb_per_s),
    ):
        if demand > most:
            yield f"{verb} needs {demand:,.0f} GB/s, the GPU systems move at most {most:,.0f} GB/s"
    for mode in modes:
        if mode.rows[0].running is None:
            every_s = mode.rows[0].interval_s
            yield f"the stall of {sizing.job.stall_s:g} s fills the interval of {every_s:g} s"
