"""How a job runs: GPUs in use, set points, checkpoints, failures and repair, storage delivered."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import FIGURES
from planner.report.words import about, counted, duration, number, percent, size, too_low
from planner.schema.plan import JobPlan, LocalPlan, Plan, Repair, ShrunkPlan, WayPlan
from planner.sizing.demand import VENDOR_RULES, rule_demand

Facts = Iterator[tuple[str, str]]


def run_facts(plan: Plan, job: JobPlan) -> tuple[tuple[str, str], ...]:
    """The operation of a job, a label and a text each."""
    found = [("Job", job.name), ("GPUs", _gpus(plan, job)), ("Work", _work(job))]
    found += [("Replicas", _replicas(job)), *_set_points(plan, job), *_checkpoint(job)]
    shares = ", ".join(
        f"{FIGURES[f'loss.{name}'].label} {percent(share, 2)}" for name, share in job.losses.items()
    )
    restore = (
        f"{duration(job.mtti_s)} between interruptions; restart {duration(job.restart_s)}, "
        f"restore of {job.fan_out:.3g} x {size(job.checkpoint_gb)} in {duration(job.restore_s)}"
    )
    found += [("Failures", restore), ("Repair", _repair(job)), ("Time lost", shares)]
    found += [("", too_low(job.goodput_understated) or ""), ("Required", _required(plan, job))]
    found += [*_bulk(job), ("Degraded", _degraded(job)), ("Delivered", _delivered(job))]
    return tuple((label, text) for label, text in found if text)


def _gpus(plan: Plan, job: JobPlan) -> str:
    bought = plan.totals.gpus if plan.totals else job.gpus_used
    text = f"{job.gpus_used:,} GPUs"
    text += "" if bought == job.gpus_used else f" of {bought:,} in place"
    repair = job.repair
    if repair is not None and repair.spares and not repair.in_rack:
        text += f"; hot spares: {_units(repair, repair.spares)}"
    if job.hot_spare_systems:
        text += f"; hot spares: {counted(job.hot_spare_systems, 'system')}"
    return text


def _work(job: JobPlan) -> str:
    text = f"goodput {percent(job.goodput, 2)}, {job.useful_gpus:,.0f} equivalent GPUs"
    if job.useful_pflops is not None:
        text = f"{about(job.useful_pflops)} PFLOP/s useful, {text}"
    return text + (f"; {job.days_to_train:,.1f} days to train" if job.days_to_train else "")


def _units(repair: Repair, count: float) -> str:
    """Return spare units with their name."""
    name = repair.unit if repair.unit == "system" else f"tray of {repair.unit_gpus} GPUs"
    plural = name.replace("tray", "trays") if repair.unit == "tray" else "systems"
    text = f"{count:,}" if isinstance(count, int) else f"{count:,.2f}"
    return f"{text} {name if count == 1 else plural}"


def _repair(job: JobPlan) -> str:
    """Return units in repair, spares, and the wait for repairs."""
    repair = job.repair
    if repair is None:
        return ""
    text = (
        f"{percent(repair.hardware_share, 0)} of interruptions take a {repair.unit} out for "
        f"{duration(repair.repair_s)}"
    )
    text += f", replaced in {duration(repair.swap_s)}; " if repair.swap_s else "; "
    wait = f"{repair.waiting_h_per_year:,.1f} h a year ({percent(1.0 - repair.availability, 2)})"
    if repair.other_unit is not None:
        kind = "whole systems" if repair.other_unit == "system" else "trays"
        wait += f", {repair.other_waiting_h_per_year:,.1f} h with {kind} replaced"
    if repair.in_rack:
        each = _units(repair, repair.spares // job.systems_used)
        return (
            f"{text}hot spares: {each} in each of {job.systems_used:,} systems, where its tensor "
            f"groups run; spares exhausted at most {wait}"
        )
    short = f"spares exhausted {wait}" if repair.shrunk is None else _shrunk(repair, repair.shrunk)
    decided = "" if repair.decided else " (as set)"
    return (
        f"{text}{_units(repair, repair.units_out or 0.0)} in repair on average, hot spares: "
        f"{_units(repair, repair.spares)}{decided}; {short}; one more spare: "
        f"{repair.next_spare_gpus or 0.0:+,.1f} useful GPUs"
    )


def _shrunk(repair: Repair, shrunk: ShrunkPlan) -> str:
    taken = percent(1.0 - repair.availability, 2)
    return (
        f"fewer replicas run for {shrunk.short_h_per_year:,.0f} h a year and grow again in "
        f"{shrunk.restarts_per_year:,.0f} restarts of {duration(shrunk.restart_s)}, {taken} of the "
        "work"
    )


def _replicas(job: JobPlan) -> str:
    """Replicas, systems per replica, and idle GPUs."""
    if job.replicas is None or job.replica_gpus is None:
        return ""
    each = f"{job.replica_gpus:,} GPUs"
    if not job.whole_replicas:
        lost = job.gpus_used - int(job.replicas) * job.replica_gpus
        text = f"{job.replicas:,.2f} x {each} (gpus.whole: systems)"
        return f"{text}; {lost:,} GPUs in use hold no whole replica" if lost else text
    text = f"{job.replicas:,.0f} x {each}"
    fills = sorted(set(job.usable_gpus_by_type.values()))
    spread = [count for count in fills if job.replica_gpus > count]
    if spread:
        text += f", each over {job.replica_gpus / max(spread):,.3g} systems"
        text += " (shared)" if any(job.replica_gpus % count for count in spread) else ""
    return text + (f"; {job.idle_gpus:,} GPUs of the systems in use idle" if job.idle_gpus else "")


def _checkpoint(job: JobPlan) -> Facts:
    how = "optimal" if job.interval_policy == "optimal" else "as set"
    start = f"{size(job.checkpoint_gb)} every {duration(job.interval_s)} ({how}), "
    stall = f"stall {duration(job.stall_s)}"
    share = f"{duration(job.drain_s)} ({percent(job.overlap)} of the interval)"
    local = job.local
    if job.mode == "sync":
        yield "Checkpoint", f"{start}synchronous, {stall} ({percent(job.blocking, 2)})"
    elif local is None:
        yield "Checkpoint", f"{start}{stall}, drain {share}"
    else:
        every = "each" if local.every == 1 else f"one in {local.every}"
        yield (
            "Checkpoint",
            (
                f"{start}{stall}, on local drives after {duration(local.drain_s)}; {every} to "
                f"storage, every {duration(local.remote_interval_s)}, drain {share}"
            ),
        )
        yield from _local(local)
    part = job.derived_stall
    if part is not None:
        yield (
            "Stall",
            (
                f"derived: {size(part.gpu_gb)} of each GPU to its host at "
                f"{part.copy_gb_per_s:,.0f} GB/s take {duration(part.copy_s)}, overhead "
                f"{duration(part.overhead_s)}"
            ),
        )


def _local(local: LocalPlan) -> Facts:
    near = [f"{one.name} {percent(one.share)}" for one in local.classes if one.level == "local"]
    far = [f"{one.name} {percent(one.share)}" for one in local.classes if one.level == "remote"]
    worn = f"{local.volume_tb_per_day:,.0f} TB a day written"
    if local.endurance_tb_per_day is None:
        worn += ", endurance not known"
    yield (
        "Local level",
        (
            f"restores after {', '.join(near) or 'nothing'} in {duration(local.restart_s)}; from "
            f"storage after {', '.join(far)} ({percent(local.remote_share)} of interruptions)"
        ),
    )
    yield (
        "Local drives",
        (
            f"{counted(local.copies, 'copy', 'copies')}, {local.room_tb:,.3g} TB of "
            f"{local.capacity_tb:,.4g} TB per system, {worn}"
        ),
    )


def _bulk(job: JobPlan) -> Facts:
    burst, bulk = job.burst, job.bulk
    if burst is not None:
        yield (
            "Burst",
            (
                f"{about(burst.write_gb_per_s)} GB/s until buffers hold {size(burst.buffer_gb)} "
                f"beyond the sustained {about(burst.sustained_gb_per_s)} GB/s; buffers empty after "
                f"{duration(burst.recovery_s)}"
            ),
        )
    if bulk is not None:
        text = f"data set {number(bulk.dataset_tb)} TB"
        text += f", archives {number(bulk.archives_tb)} TB" if bulk.archives_tb else ""
        yield (
            "Bulk tier",
            (
                f"{text}, on {number(bulk.usable_tb)} TB usable; read {about(bulk.read_gb_per_s)} "
                f"GB/s, staging on flash {about(bulk.staging_gb_per_s)} GB/s, ingest "
                f"{about(job.ingest_gb_per_s)} GB/s"
            ),
        )


def _degraded(job: JobPlan) -> str:
    """Return checkpoint and restore with the tolerated number of appliances down."""
    if not job.tolerate_down or job.degraded_write_gb_per_s is None:
        return ""
    parts = [f"write {about(job.degraded_write_gb_per_s)} GB/s"]
    if job.degraded_drain_s is not None:
        save = "stall" if job.mode == "sync" else "drain"
        parts.append(f"{save} {duration(job.degraded_drain_s)}")
    if job.degraded_overlap is not None:
        parts[-1] += f" ({percent(job.degraded_overlap)} of the interval)"
    if job.degraded_restore_s is not None:
        parts.append(f"restore {duration(job.degraded_restore_s)}")
    beside = "" if job.bulk is None else "; the bulk tier with none down"
    return f"{counted(job.tolerate_down, 'storage appliance')} down: {', '.join(parts)}{beside}"


def _required(plan: Plan, job: JobPlan) -> str:
    """Return the write demand of the checkpoints beside the lightest vendor rule."""
    overlap = next((limit for limit in plan.limits if limit.name == "overlap"), None)
    if overlap is None:
        return ""
    need = job.checkpoint_gb / (overlap.limit * job.to_storage_s)
    gpus = plan.totals.gpus if plan.totals else job.gpus_used
    _, rule = rule_demand(VENDOR_RULES["light"], gpus)
    return (
        f"write {about(need)} GB/s ({about(1000 * need / job.gpus_used)} MB/s per GPU) to drain in "
        f"{percent(overlap.limit, 0)} of the interval; vendors' light rule {about(rule)} GB/s"
    )


def _delivered(job: JobPlan) -> str:
    per_gpu = 1000.0 * job.delivered_write_gb_per_s / job.gpus_used
    return (
        f"write {about(job.delivered_write_gb_per_s)} GB/s ({about(per_gpu)} MB/s per GPU, limited "
        f"by {job.write_limited_by}), read {about(job.delivered_read_gb_per_s)} GB/s (limited by "
        f"{job.read_limited_by})"
    )


# Set points and rates by GPU type


def _set_points(plan: Plan, job: JobPlan) -> Facts:
    for way in job.ways:
        name = next((line.model for line in plan.lines if line.sku == way.gpu_type), way.gpu_type)
        yield "Set point", f"{name}: {_set_point(way)}{_spread(way)}"
        if way.rate_tflops is not None:
            yield "Rate", f"{name}: {_rate(way)}"
    if job.scale_share != 1.0:
        yield "Scaling", f"{percent(job.scale_share, 1)} of that rate with {job.gpus_used:,} GPUs"
    if len(job.ways) == 1 and job.useful_pflops is not None:
        (way,) = job.ways
        low, high = (job.useful_pflops * end / way.throughput
                     for end in (way.throughput_low, way.throughput_high))  # fmt: skip
        if low != high:
            yield "Range", f"{low:,.0f} to {high:,.0f} PFLOP/s useful, by the range of the curve"


def _set_point(way: WayPlan) -> str:
    if way.gpu_cap == 1.0:
        return f"GPUs at full power, {way.precision}"
    each = "" if way.gpu_limit_w is None else f" ({way.gpu_limit_w:,.0f} W each)"
    text = f"GPUs capped at {100.0 * way.gpu_cap:.4g} % of their power{each}"
    if way.rated_it_power_kw is not None:
        kw = way.power_share * way.rated_it_power_kw
        text += f", {kw:,.1f} of {way.rated_it_power_kw:,.1f} kW a system"
    span = ""
    if way.throughput_low != way.throughput_high:
        span = f" ({percent(way.throughput_low, 1)} to {percent(way.throughput_high, 1)})"
    sure = "" if way.curve_confidence is None else f", {way.curve_confidence} confidence"
    text += f", {percent(way.throughput, 1)} of the rate{span}; {way.precision}"
    return f"{text}; curve: {way.curve}{sure}"


def _spread(way: WayPlan) -> str:
    """Return the parallelism mapping of a replica."""
    if way.tensor is None:
        return ""
    context = f" x context {way.context}" if way.context > 1 else ""
    if way.experts > 1:
        of = way.expert_tensor or way.tensor
        context += f", experts over {way.experts:,} groups of {counted(of, 'GPU')} in a stage"
    factor = "" if way.option_factor == 1.0 else f", at {percent(way.option_factor)} of the rate"
    least = f", at least {way.min_replicas:,} replicas" if way.min_replicas > 1 else ""
    return f", tensor {way.tensor} x pipeline {way.pipeline}{context}{factor}{least}"


def _rate(way: WayPlan) -> str:
    rate = f"{way.rate_tflops:,.0f} TFLOP/s per GPU at full power, {way.precision}"
    if way.rate_source == "assumed":
        return f"{rate}, assumed: {way.rate_note}"
    span = ""
    if way.rate_low_tflops is not None and way.rate_high_tflops is not None:
        span = f", range {way.rate_low_tflops:,.0f} to {way.rate_high_tflops:,.0f}"
    return (
        f"{rate}, measured on {way.rate_gpus or 0:,} GPUs{span} "
        f"({way.rate_source}, {way.rate_confidence} confidence)"
    )
