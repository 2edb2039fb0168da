"""Operation of the job in a plan: every figure of the sizing model, local level, repair, bursts."""

from __future__ import annotations

from typing import Any

from planner.case import Case, System, Way
from planner.case.job import local_room_tb
from planner.case.ways import Choice, least_replicas, list_choices, peak_tflops
from planner.inputs import Inputs
from planner.optimizer import operate
from planner.optimizer.operate import Run
from planner.schema.operation import (
    BulkPlan,
    BurstPlan,
    JobPlan,
    LocalPlan,
    Loss,
    Repair,
    ShrunkPlan,
    WayPlan,
)
from planner.sizing.checkpoint import write_volume_tb_per_day
from planner.sizing.throughput import days_to_train


def job_plan(inputs: Inputs, case: Case, run: Run) -> JobPlan:
    """Report how the job runs on a plan."""
    job, stated = case.job, inputs.problem.job
    in_use = case.in_use(run.used, run.ways)
    pflops = None
    if job.mfu is not None and run.tflops_per_gpu > 0:
        pflops = run.useful_pflops(job.mfu)
    days = None
    if pflops is not None and job.tokens is not None and job.active_parameters is not None:
        days = days_to_train(job.active_parameters, job.tokens, pflops)
    families = tuple(sorted({item.family for item in case.flash if run.units[item.id]}))
    lost = operate.run_losses(case, run)
    read_gb_per_s, write_gb_per_s = run.delivered_read_gb_per_s, run.delivered_write_gb_per_s
    transfer_s = job.checkpoint_gb / write_gb_per_s
    system, way = in_use[0]
    per_system = stated.gpus.most_of(system.id)  # of one system the job uses no more
    if len({each.usable_gpus for each in system.ways if each.option == way.option}) > 1:
        per_system = way.usable_gpus
    return JobPlan(
        name=job.name,
        mode="sync" if run.mode == "sync" else "async",
        # GPU systems and storage.
        gpu_type=max(run.used, key=lambda key: (run.used[key], key)),
        gpu_types=tuple(sorted(run.used)),
        gpus_used=run.gpus,
        systems_used=sum(run.used.values()),
        systems_by_type={key: run.used[key] for key in sorted(run.used)},
        replica_gpus=run.replica_gpus,
        replicas=run.gpus / run.replica_gpus if run.replica_gpus else None,
        whole_replicas=job.whole_replicas,
        tensor_gpus=way.tensor_gpus,
        per_system_gpus=per_system,
        usable_gpus_by_type={system.id: way.usable_gpus for system, way in in_use},
        storage_family=families[0],
        storage_families=families,
        # Checkpoints and restores.
        checkpoint_gb=job.checkpoint_gb,
        bytes_per_parameter=job.bytes_per_parameter,
        delivered_write_gb_per_s=write_gb_per_s,
        delivered_read_gb_per_s=read_gb_per_s,
        client_write_limit_gb_per_s=run.client_write_gb_per_s,
        client_read_limit_gb_per_s=run.client_read_gb_per_s,
        writing_systems=run.writing_systems,
        reading_systems=run.reading_systems,
        writers="one_replica" if job.one_replica_writes else "all",
        interval_s=run.interval_s,
        interval_policy=stated.checkpoint.interval.policy,
        stall_s=run.stall_s,
        drain_s=run.drain_s,
        drain_slowdown=0.0 if run.mode == "sync" else job.drain_slowdown,
        overlap=0.0 if run.mode == "sync" else transfer_s / run.remote_interval_s,
        max_overlap=job.max_overlap if case.rule is None else None,
        blocking=run.stall_s / run.interval_s,
        max_blocking=job.max_blocking,
        fan_out=run.fan_out,
        restore_s=run.restore_s,
        restart_s=job.restart_s,
        ingest_demand_gb_per_s=run.gpus * job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=job.capacity_needed_tb,
        checkpoints_held=stated.checkpoint.keep_last + 1,
        other_data_tb=stated.dataset_tb,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, run.remote_interval_s),
        tolerate_down=case.tolerate_down,
        degraded_write_gb_per_s=run.degraded_write_gb_per_s if case.tolerate_down else None,
        degraded_read_gb_per_s=run.degraded_read_gb_per_s if case.tolerate_down else None,
        # Failures and work.
        failures_per_gpu_day=run.failures_per_gpu_day,
        mtti_s=run.mtti_s,
        goodput=run.goodput,
        loss=Loss(**lost, other=run.goodput * job.lost_time_share / job.progress),
        lost_time=job.lost_time_share,
        useful_gpus=run.useful_gpus,
        useful_pflops=pflops,
        days_to_train=days,
        tokens=job.tokens,
        active_parameters=job.active_parameters,
        **way_fields(inputs, case, run),
        local=_local(case, run) if run.mode == "local" else None,
        derived_stall=job.derived_stall and run.mode != "sync",
        repair=_repair(case, run),
        burst=_burst(case, run),
        bulk=_bulk(case, run) if job.bulk_needed_tb else None,
    )


def _local(case: Case, run: Run) -> LocalPlan:
    """The local level of checkpoints: of several types the fullest."""
    levels, job = case.job.levels, case.job
    assert levels is not None
    ways = [(way, way.drives) for _, way in case.in_use(run.used, run.ways)]
    types = [
        (drives, local_room_tb(job, way, run.gpus)) for way, drives in ways if drives is not None
    ]
    full, room_tb = max(types, key=lambda each: each[1] / each[0].capacity_tb)
    return LocalPlan(
        every=run.every,
        remote_interval_s=run.remote_interval_s,
        drain_s=run.local_drain_s,
        restart_s=levels.local_restart_s,
        remote_share=levels.remote_share,
        room_tb=room_tb,
        capacity_tb=full.capacity_tb,
    )


def _repair(case: Case, run: Run) -> Repair | None:
    """Units in repair and spares, where the problem states repairs."""
    repair = case.job.repair
    if repair is None:
        return None
    way = case.in_use(run.used, run.ways)[0][1]
    unit, load = way.spare_unit, repair.load(run.failures_per_gpu_day, run.gpus)
    return Repair(
        unit="tray" if unit.per_system > 1 else "system",
        unit_gpus=unit.gpus,
        in_rack=unit.in_rack,
        spares=run.spares,
        decided=repair.spares is None,
        hardware_share=repair.hardware_share,
        repair_s=repair.repair_s,
        swap_s=repair.swap_s,
        load=load,
        availability=1.0 - run.waiting,
        shrunk=_shrunk(case, run, way),
    )


def _shrunk(case: Case, run: Run, way: Way) -> ShrunkPlan | None:
    """Operation with fewer replicas; None where the job waits."""
    found = operate.elastic_averages(case, run)
    if found is None:
        return None
    return ShrunkPlan(
        running=float(found.running[0]),
        failing=float(found.failing[0]),
        least_replicas=way.min_replicas,
    )


def _burst(case: Case, run: Run) -> BurstPlan | None:
    bought, share = case.bought(run.units), case.delivered_write_share
    if not case.bursts or not any(item.burst_nameplate_gb_per_s for item in bought):
        return None
    counts = [(item, run.units[item.id]) for item in bought]
    sustained = [item.nameplate_write_gb_per_s * n for item, n in counts]
    steady = share * float(operate.purchased_storage(case, run.units).sustained[0])
    bursts = [item.burst_nameplate_gb_per_s * n for item, n in counts]
    rates = (burst or rate for burst, rate in zip(bursts, sustained, strict=True))
    return BurstPlan(
        delivered_write_gb_per_s=share * sum(rates),
        delivered_sustained_gb_per_s=share * sum(sustained),
        buffer_gb=share * sum(item.buffer_gb * n for item, n in counts),
        recovery_s=case.job.checkpoint_gb / steady,
    )


def _bulk(case: Case, run: Run) -> BulkPlan:
    stores = operate.purchased_storage(case, run.units)
    return BulkPlan(
        needed_tb=case.job.bulk_needed_tb,
        usable_tb=float(stores.bulk_tb[0]),
        delivered_read_gb_per_s=case.delivered_read_share * float(stores.bulk_read[0]),
        staging_gb_per_s=case.job.staged_share
        * (case.delivered_write_share * float(stores.sustained[0])),
    )


# The rate: configuration of each GPU type in use.


def ways_in_use(inputs: Inputs, case: Case, run: Run) -> list[tuple[System, Choice]]:
    """Each GPU system in use with its set point, precision and parallelism."""
    job, in_use = inputs.problem.job, []
    for system, way in case.in_use(run.used, run.ways):
        item = inputs.item(system.id)
        by_id = {each.way_id(item, job): each for each in list_choices(item, inputs)}
        in_use.append((system, by_id[way.choice]))
    return in_use


def is_stated(inputs: Inputs) -> bool:
    """True if the problem states power, measured rates, scale or parallelism options."""
    job = inputs.problem.job
    levers = (job.power, job.training.model, job.training.scale, len(job.options) > 1)
    return any(levers) or not all(option.plain for option in job.options)


def way_fields(inputs: Inputs, case: Case, run: Run) -> dict[str, Any]:
    """Fields of the job's plan on its rate; of several types those of the slowest."""
    if not is_stated(inputs):
        return {"tflops_per_gpu": run.tflops_per_gpu, "mfu": case.job.mfu}
    in_use = ways_in_use(inputs, case, run)
    rates = [way.tflops_per_gpu for _, way in case.in_use(run.used, run.ways)]
    system, choice = in_use[rates.index(min(rates))]
    peak = peak_tflops(inputs.item(system.id), choice.precision)
    rate, mfu = choice.rate_tflops or 0.0, case.job.mfu
    if choice.measured is not None and peak:
        rate, mfu = peak, choice.measured.rate_tflops / peak
    unscaled = rate * (mfu or 0.0) * choice.rate_share
    actual = run.tflops_per_gpu * (case.job.mfu or 0.0)
    scale = actual / unscaled if unscaled and inputs.problem.job.training.scale else 1.0
    return {
        "tflops_per_gpu": rate,
        "mfu": mfu,
        "scale_share": scale,
        "rate_share": choice.rate_share * scale,
        "ways": tuple(_way(inputs, system, each) for system, each in in_use),
    }


def _way(inputs: Inputs, system: System, choice: Choice) -> WayPlan:
    point, row, option, job = choice.point, choice.measured, choice.option, inputs.problem.job
    item, rest = inputs.item(system.id), dict[str, Any]()
    if row is not None:
        rest = {"rate_tflops": row.rate_tflops, "rate_gpus": row.gpus}
    if option is not None:
        rest["option"] = option.name
        rest["min_replicas"] = least_replicas(item, job.spread(option)) or 1
    return WayPlan(
        id=choice.way_id(item, job),
        gpu_type=system.id,
        precision=choice.precision,
        gpu_cap=point.gpu_cap,
        power_share=point.power,
        throughput=point.throughput,
        **rest,
    )
