"""How the job runs, and the sums over the lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from planner.assemble.ways import way_fields
from planner.case import Case, System, Way
from planner.case.bandwidth import (
    bought_nameplate,
    checkpoint_write,
    copy_s,
    local_part_gb,
    local_room_tb,
    nameplate,
    writing_gpus,
)
from planner.case.repair import SpareUnit
from planner.figures import STATED
from planner.inputs import Inputs
from planner.optimizer.bill import bill as bill_of
from planner.optimizer.operate import (
    Run,
    on_two_levels,
    recovery_s,
    restarts,
    shrunk_of,
    staging_gb_per_s,
    waiting_with,
)
from planner.schema.plan import (
    BulkPlan,
    BurstPlan,
    FailureClass,
    JobPlan,
    Line,
    LocalPlan,
    Loss,
    Repair,
    ShrunkPlan,
    StallPlan,
    Totals,
)
from planner.schema.problem import Job
from planner.sizing import goodput as goodput_model
from planner.sizing import two_levels
from planner.sizing.availability import Shrunk, units_out
from planner.sizing.demand import (
    WEIGHTS_ONLY_BYTES_PER_PARAMETER,
    write_volume_tb_per_day,
)
from planner.sizing.facility import HOURS_PER_YEAR, heat_btu_per_h
from planner.sizing.goodput import daly_s, exact_period_s, young_s
from planner.sizing.two_levels import survives

# How the job runs, with every figure of the sizing model.


def job_plan(inputs: Inputs, case: Case, operation: Run) -> JobPlan:
    """Return the job on the plan."""
    job, o, asked = case.job, operation, inputs.problem.job
    transfer_s = job.checkpoint_gb / o.write_gb_per_s
    slowdown = 0.0 if o.mode == "sync" else job.drain_slowdown
    stall = o.stall_s + slowdown * o.drain_s / o.every
    known = job.mfu is not None and o.tflops_per_gpu > 0
    pflops = o.useful_pflops(job.mfu or 0.0) if known else None
    down = case.tolerate_down > 0
    return JobPlan(
        **_degraded(case, o) if down else {},
        hot_spare_systems=sum(job.hot(count) for count in o.used.values()),
        tolerate_down=case.tolerate_down,
        name=job.name,
        gpu_type=max(o.used, key=lambda key: (o.used[key], key)),
        gpu_types=tuple(sorted(o.used)),
        storage_family=_families(case, o)[0],
        storage_families=_families(case, o),
        mode="sync" if o.mode == "sync" else "async",
        gpus_used=o.gpus,
        systems_used=sum(o.used.values()),
        systems_by_type={key: o.used[key] for key in sorted(o.used)},
        replica_gpus=o.replica_gpus,
        replicas=o.gpus / o.replica_gpus if o.replica_gpus else None,
        **way_fields(inputs, case, o),
        failures_per_gpu_day=o.failures_per_gpu_day,
        checkpoint_gb=job.checkpoint_gb,
        delivered_write_gb_per_s=o.write_gb_per_s,
        delivered_read_gb_per_s=o.read_gb_per_s,
        write_limited_by=_limited(o.client_write_gb_per_s, case, o, 1),
        read_limited_by=_limited(o.client_read_gb_per_s, case, o, 0),
        client_write_limit_gb_per_s=o.client_write_gb_per_s,
        client_read_limit_gb_per_s=o.client_read_gb_per_s,
        client_data_limit_gb_per_s=_data_limit(case, o),
        writing_systems=o.writing_systems,
        reading_systems=o.reading_systems,
        interval_s=o.interval_s,
        interval_policy=asked.checkpoint.interval.policy,
        young_s=young_s(stall, o.mtti_s) if stall > 0 else 0.0,
        daly_s=daly_s(stall, o.mtti_s) if stall > 0 else 0.0,
        exact_s=exact_period_s(stall, o.mtti_s),
        stall_s=o.stall_s,
        drain_s=o.drain_s,
        overlap=0.0 if o.mode == "sync" else transfer_s / o.remote_interval_s,
        blocking=o.stall_s / o.interval_s,
        fan_out=o.fan_out,
        restore_s=o.restore_s,
        restart_s=job.restart_s,
        drain_slowdown=slowdown,
        mtti_s=o.mtti_s,
        goodput=o.goodput,
        **_goodput(case, o, slowdown),
        useful_gpus=o.useful_gpus,
        useful_pflops=pflops,
        days_to_train=_days(case, pflops),
        ingest_gb_per_s=o.gpus * job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=job.capacity_needed_tb,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, o.remote_interval_s),
        fan_out_kind=job.fan_out,
        bytes_per_parameter=job.bytes_per_parameter,
        writers="one_replica" if job.one_replica_writes else "all",
        readers="one_replica" if job.one_replica_reads else "all",
        **_held(inputs),
        tokens=job.tokens,
        active_parameters=job.active_parameters,
        max_overlap=job.max_overlap if case.rule is None else None,
        max_blocking=job.max_blocking,
        whole_replicas=job.whole_replicas,
        tensor_gpus=case.in_use(o.used, o.ways)[0][1].tensor_gpus,
        per_system_gpus=_per_system(inputs, case, o),
        usable_gpus_by_type={s.id: way.usable_gpus for s, way in case.in_use(o.used, o.ways)},
        idle_gpus=sum(s.gpus * o.used.get(s.id, 0) for s in case.systems) - o.gpus,
        local=local_plan(inputs, case, o) if o.mode == "local" else None,
        derived_stall=_derived_stall(case, o) if job.derived_stall and o.mode != "sync" else None,
        repair=_repair(inputs, case, o),
        burst=_burst(case, o),
        bulk=_bulk(inputs, case, o) if job.bulk_needed_tb else None,
    )


def _goodput(case: Case, o: Run, slowdown: float) -> dict[str, Any]:
    """Return the first-order goodput, what the exact one understates, and where time is lost."""
    job, running = case.job, o.kept_by_swaps * (1.0 - o.waiting)
    times = (o.interval_s, o.stall_s, o.drain_s)
    if o.mode == "local":
        levels = on_two_levels(job, o)
        parts = two_levels.loss(levels, o.waiting)
        first_order = two_levels.first_order_goodput(levels)
        understated = 0.0  # not known with two levels
    else:
        parts = goodput_model.goodput_loss(
            *times, job.restart_s, o.restore_s, o.mtti_s, slowdown, o.kept_by_swaps, o.waiting
        )
        recovery_s = job.restart_s + o.restore_s
        swap_s = 0.0 if job.repair is None else job.repair.hardware_share * job.repair.swap_s
        first_order = goodput_model.first_order_goodput(
            *times, recovery_s + swap_s, o.mtti_s, slowdown
        )
        understated = running * goodput_model.understated_goodput(
            o.interval_s, o.drain_s, recovery_s, o.mtti_s, slowdown
        )
    return {
        "goodput_first_order": (1.0 - o.waiting) * first_order * job.progress,
        "goodput_understated": understated * job.progress,
        "loss": Loss(**vars(parts), other=o.goodput * job.lost_time / job.progress),
        "lost_time": job.lost_time,
    }


def local_plan(inputs: Inputs, case: Case, o: Run) -> LocalPlan:
    """Return the local level of checkpoints as the job uses it."""
    asked, levels = inputs.problem.job.levels, case.job.levels
    assert asked is not None and levels is not None
    ways = [(way, way.drives) for _, way in case.in_use(o.used, o.ways)]
    types = [(way, drives) for way, drives in ways if drives is not None]
    part_gb = max(local_part_gb(case.job, way, o.gpus) for way, _ in types)
    room = {way.id: local_room_tb(case.job, way, o.gpus) for way, _ in types}
    fullest, full = max(types, key=lambda each: room[each[0].id] / each[1].capacity_tb)
    parts_gb = [(local_part_gb(case.job, w, o.gpus), d.endurance_tb_per_day) for w, d in types]
    rated = [(part, endured) for part, endured in parts_gb if endured is not None]
    worn_gb, endured = max(rated, key=lambda each: each[0] / each[1], default=(part_gb, None))
    return LocalPlan(
        every=o.every,
        remote_interval_s=o.remote_interval_s,
        drain_s=o.local_drain_s,
        restart_s=levels.local_restart_s,
        remote_share=levels.remote_share,
        classes=tuple(
            FailureClass(
                name=name,
                share=share,
                recovers=asked.recovers[name],
                level="local" if survives(asked.recovers[name], asked.copies) else "remote",
            )
            for name, share in inputs.problem.job.failure_shares.items()
        ),
        copies=levels.copies,
        keep=levels.keep,
        remote_drain=asked.drain,
        write_gb_per_s=min(drives.write_gb_per_s for _, drives in types),
        part_gb=part_gb,
        room_tb=room[fullest.id],
        capacity_tb=full.capacity_tb,
        volume_tb_per_day=write_volume_tb_per_day(worn_gb, o.interval_s),
        endurance_tb_per_day=endured,
    )


def _derived_stall(case: Case, o: Run) -> StallPlan:
    """Return what a derived stall is made of, of the type that copies longest."""
    job = case.job
    slowest = max(
        (way for _, way in case.in_use(o.used, o.ways)), key=lambda way: copy_s(job, way, o.gpus)
    )
    return StallPlan(
        overhead_s=job.stall_s,
        gpu_gb=job.checkpoint_gb / writing_gpus(job, slowest, o.gpus),
        copy_gb_per_s=slowest.host_copy_gb_per_s or 0.0,
        copy_s=copy_s(job, slowest, o.gpus),
    )


def _per_system(inputs: Inputs, case: Case, o: Run) -> int | None:
    """Return the most GPUs of one system that the job uses: as it says, or as the plan decides."""
    system, way = case.in_use(o.used, o.ways)[0]
    if len({each.usable_gpus for each in system.ways if each.option == way.option}) > 1:
        return way.usable_gpus
    return inputs.problem.job.gpus.most_of(system.id)


def _repair(inputs: Inputs, case: Case, o: Run) -> Repair | None:
    """Return what is out for repair and what stands by, where the problem states repairs."""
    repair = case.job.repair
    if repair is None:
        return None
    (system, way), rate = case.in_use(o.used, o.ways)[0], o.failures_per_gpu_day
    unit, load = way.spare_unit, repair.load(rate, o.gpus)
    kept_gpus = o.useful_gpus / (1.0 - o.waiting)
    other, other_h = _other_unit(inputs, case, system, way), None
    left = o.waiting - waiting_with(case, o, o.spares + 1)
    shrunk = shrunk_of(case, o)
    other = None if shrunk is not None else other
    if other is not None:
        standing_by = max(0, repair.standing_by(other, o.units[system.id], o.gpus))
        other_h = HOURS_PER_YEAR * repair.waiting(other, standing_by, o.gpus, rate)
    return Repair(
        unit="tray" if unit.per_system > 1 else "system",
        unit_gpus=unit.gpus,
        in_rack=unit.in_rack,
        spares=o.spares,
        decided=repair.spares is None,
        hardware_share=repair.hardware_share,
        repair_s=repair.repair_s,
        swap_s=repair.swap_s,
        load=load,
        availability=1.0 - o.waiting,
        units_out=_units_out(o, shrunk, unit, load),
        waiting_h_per_year=HOURS_PER_YEAR * o.waiting,
        next_spare_gpus=None if unit.in_rack else kept_gpus * left,
        other_unit=None if other is None else ("tray" if other.per_system > 1 else "system"),
        other_waiting_h_per_year=other_h,
        shrunk=_shrunk(case, o, shrunk, way),
    )


def _units_out(o: Run, shrunk: Shrunk | None, unit: SpareUnit, load: float) -> float | None:
    if shrunk is not None:
        return shrunk.units_out
    return None if unit.in_rack else units_out(o.spares, load)


def _shrunk(case: Case, o: Run, shrunk: Shrunk | None, way: Way) -> ShrunkPlan | None:
    """Return what the job does with fewer replicas, None where it waits."""
    if shrunk is None:
        return None
    how = restarts(case.job, o)
    planned = shrunk.planned(how, o.interval_s, o.mtti_s)
    return ShrunkPlan(
        running=1.0 - shrunk.idle,
        failing=shrunk.failing,
        least_replicas=way.least_running,
        restarts_per_year=planned * HOURS_PER_YEAR * 3600.0 / how.repair_s,
        restart_s=how.grow_s + how.more_s,
        short_h_per_year=shrunk.short * HOURS_PER_YEAR,
        stopped_h_per_year=shrunk.stopped * HOURS_PER_YEAR,
        late=shrunk.waiting(how, o.interval_s, o.mtti_s),
    )


def _other_unit(inputs: Inputs, case: Case, system: System, way: Way) -> SpareUnit | None:
    """Return what could be swapped instead: systems for trays, or trays where they are known."""
    job, unit = inputs.problem.job, way.spare_unit
    if case.job.repair is None or case.job.repair.spares is not None:
        return None
    tensor = way.tensor_gpus or 1 if job.whole_replicas else 1
    if unit.per_system > 1:
        return SpareUnit.of(system.gpus, way.usable_gpus, None, tensor)
    stated = inputs.item(system.id).spare_unit
    if stated is None or stated.tray.value == system.gpus:
        return None
    return SpareUnit.of(system.gpus, way.usable_gpus, stated.tray.value, tensor)


def _held(inputs: Inputs) -> dict[str, float]:
    """Return what the capacity needed is made of, before the fill limit."""
    asked = inputs.problem.job
    held = asked.checkpoint.keep_last + 1
    if asked.in_bulk:
        return {"checkpoints_held": held, "other_data_tb": asked.dataset_tb}
    return {
        "checkpoints_held": held + asked.checkpoint.milestones,
        "other_data_tb": asked.dataset_tb + _exports_tb(asked),
    }


def _exports_tb(asked: Job) -> float:
    exports = asked.checkpoint.exports * (asked.parameters or 0.0)
    return WEIGHTS_ONLY_BYTES_PER_PARAMETER * exports / 1e12


def _burst(case: Case, o: Run) -> BurstPlan | None:
    """Return how the storage takes bursts, None where it does not."""
    bought = case.bought(o.units)
    if not case.bursts or not any(item.burst_gb_per_s for item in bought):
        return None
    share, sustained = case.delivered_write, bought_nameplate(bought, o.units)[1]
    rates = (
        item.burst_gb_per_s * o.units[item.id] or nameplate(item, o.units[item.id])[1]
        for item in bought
    )
    return BurstPlan(
        write_gb_per_s=share * sum(rates),
        sustained_gb_per_s=share * sustained,
        buffer_gb=share * sum(item.buffer_gb * o.units[item.id] for item in bought),
        recovery_s=recovery_s(case, o.units),
    )


def _bulk(inputs: Inputs, case: Case, o: Run) -> BulkPlan:
    """Return the bulk tier."""
    asked, (usable_tb, read) = inputs.problem.job, case.in_bulk(o.units)
    milestones_tb = asked.checkpoint.milestones * case.job.checkpoint_gb / 1e3
    return BulkPlan(
        dataset_tb=asked.tiered.size_tb,
        archives_tb=milestones_tb + _exports_tb(asked),
        staged_tb=asked.tiered.staged_tb,
        needed_tb=case.job.bulk_needed_tb,
        usable_tb=usable_tb,
        read_gb_per_s=read,
        staging_gb_per_s=staging_gb_per_s(case, o.units),
    )


def _degraded(case: Case, o: Run) -> dict[str, float | None]:
    """Return the figures that limits count on, with appliances down."""
    transfer_s = case.job.checkpoint_gb / o.degraded_write_gb_per_s
    return {
        "degraded_write_gb_per_s": o.degraded_write_gb_per_s,
        "degraded_read_gb_per_s": o.degraded_read_gb_per_s,
        "degraded_drain_s": transfer_s,
        "degraded_overlap": None if o.mode == "sync" else transfer_s / o.remote_interval_s,
        "degraded_restore_s": o.fan_out * case.job.checkpoint_gb / o.degraded_read_gb_per_s,
    }


def _families(case: Case, operation: Run) -> tuple[str, ...]:
    return tuple(sorted({i.family for i in case.flash if operation.units[i.id]}))


def _limited(clients: float, case: Case, o: Run, side: int) -> Literal["appliances", "clients"]:
    shares = (case.delivered_read, case.delivered_write)
    plate = bought_nameplate(case.storage, o.units)[side]
    plate = checkpoint_write(case, o.units) if side else plate
    return "appliances" if shares[side] * plate <= clients else "clients"


def _data_limit(case: Case, o: Run) -> float | None:
    """Return what all systems in use read of data, GB/s, where in a restore one replica's read."""
    job = case.job
    differs = job.one_replica_reads and job.ingest_per_gpu_gb_per_s > 0
    return o.client_data_gb_per_s if differs else None


def _days(case: Case, pflops: float | None) -> float | None:
    job = case.job
    if pflops is None or job.tokens is None or job.active_parameters is None:
        return None
    return goodput_model.days_to_train(job.active_parameters, job.tokens, pflops)


# Sums over the lines; what one line does not know, the sum does not know.


TOKENS = 1e6
FLOPS_PER_PFLOPS = 1e15


def totals(
    inputs: Inputs, case: Case, operation: Run, bill: Iterable[Line], job: JobPlan
) -> Totals:
    """Return the totals of a bill."""
    lines = [line for line in bill if line.parent is None]
    power = _sum(line.it_power_kw for line in lines)
    days, critical = _lead_time(lines)
    sections: dict[str, float] = {}
    for line in lines:
        spent = line.extended_net_usd or 0.0
        sections[line.section] = sections.get(line.section, 0.0) + spent
    money = _money(inputs, case, operation, lines, job, known=power is not None)
    return Totals(
        gpus=sum(line.gpus for line in lines),
        gpus_used=operation.gpus,
        it_power_kw=power,
        facility_power_kw=_sum(line.facility_power_kw for line in lines),
        typical_power_kw=_sum(line.typical_power_kw for line in lines),
        **_heat(lines, power),
        racks=_racks(case, operation, lines),
        **{name: _sum(getattr(line, name) for line in lines) for name in STATED},
        read_gb_per_s=sum(line.read_gb_per_s for line in lines),
        write_gb_per_s=sum(line.write_gb_per_s for line in lines),
        usable_tb=_sum(line.usable_tb for line in lines if line.section == "Storage"),
        lead_time_days=days,
        critical_skus=critical,
        capex_by_section_usd=sections,
        **money,
    )


def _heat(lines: list[Line], power: float | None) -> dict[str, float | None]:
    if power is None:
        names = ("heat_btu_per_h", "heat_air_kw", "heat_liquid_kw")
        return dict.fromkeys((*names, "heat_air_btu_per_h", "heat_liquid_btu_per_h"))
    liquid = sum((line.it_power_kw or 0.0) * line.liquid_share for line in lines)
    return {
        "heat_btu_per_h": heat_btu_per_h(power),
        "heat_air_kw": power - liquid,
        "heat_liquid_kw": liquid,
        "heat_air_btu_per_h": heat_btu_per_h(max(0.0, power - liquid)),
        "heat_liquid_btu_per_h": heat_btu_per_h(liquid),
    }


def _money(
    inputs: Inputs,
    case: Case,
    operation: Run,
    lines: list[Line],
    job: JobPlan,
    *,
    known: bool,
) -> dict[str, float | None]:
    """Return the money over the term; what needs the draw of a line that is not known is None."""
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    subscriptions = sum(line.subscription_usd_per_year or 0.0 for line in lines)
    result: dict[str, float | None] = {
        "capex_usd": capex,
        "support_usd_per_year": support,
        "subscriptions_usd_per_year": subscriptions,
        "energy_usd_per_year": None,
        "colocation_usd_per_year": None,
        "opex_usd_per_year": None,
        "tco_usd": None,
        "usd_per_useful_gpu_hour": None,
        "usd_per_million_tokens": None,
    }
    term = inputs.problem.term
    if term is None or not known:
        return result
    spent = bill_of(case, operation.units, operation.ways)
    factors = inputs.once("support", case, lambda: _support_factors(case))
    over_term = sum((line.support_usd_per_year or 0.0) * factors[line.sku] for line in lines)
    running = subscriptions + spent["energy_usd_per_year"] + spent["colocation_usd_per_year"]
    tco = capex + over_term + running * case.rates.factor
    tokens = _tokens(case, job, term.years)
    return result | {
        "energy_usd_per_year": spent["energy_usd_per_year"],
        "colocation_usd_per_year": spent["colocation_usd_per_year"],
        "opex_usd_per_year": support + running,
        "tco_usd": tco,
        "usd_per_useful_gpu_hour": tco / (job.useful_gpus * HOURS_PER_YEAR * term.years),
        "usd_per_million_tokens": None if tokens is None else tco / (tokens / TOKENS),
    }


def _support_factors(case: Case) -> dict[str, float]:
    return {item.id: item.support_factor for item in case.bill_items()}


def _tokens(case: Case, job: JobPlan, years: float) -> float | None:
    """Return the tokens trained in the term, None where the model or its rate is not known."""
    if job.useful_pflops is None or case.job.active_parameters is None:
        return None
    seconds = years * HOURS_PER_YEAR * 3600.0
    return job.useful_pflops * FLOPS_PER_PFLOPS * seconds / (6.0 * case.job.active_parameters)


def _racks(case: Case, operation: Run, lines: list[Line]) -> int | None:
    chosen = [line for line in lines if line.section in ("Compute", "Storage")]
    if any(line.racks is None for line in chosen):
        return None
    if case.companions.shared is None and any(_stands_somewhere(line) for line in lines):
        return None
    return round(bill_of(case, operation.units, operation.ways)["racks"])


def _stands_somewhere(line: Line) -> bool:
    """Say whether a companion stands in a rack that is not counted: the problem knows no racks."""
    companion = line.section not in ("Compute", "Storage")
    return companion and line.racks is None and (line.rack_units or 0.0) > 0


def _lead_time(lines: list[Line]) -> tuple[float | None, tuple[str, ...]]:
    """Return the longest lead time of what is purchased, and the items that have it."""
    times = {
        line.sku: line.lead_time_days
        for line in lines
        if line.purchased and line.lead_time_days is not None
    }
    longest = max(times.values(), default=None)
    return longest, tuple(sku for sku, days in times.items() if days == longest)


def _sum(values: Iterable[float | None]) -> float | None:
    result = 0.0
    for value in values:
        if value is None:
            return None
        result += value
    return result
