"""How the job runs, on the screen: GPUs in use, repair, checkpoints, what storage delivers."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import FIGURES
from planner.outputs.words import (
    about,
    counted,
    duration,
    number,
    percent,
    size,
    too_low,
    wrapped,
)
from planner.schema.plan import JobPlan, LocalPlan, Plan, Repair, ShrunkPlan, WayPlan
from planner.sizing.demand import VENDOR_RULES, rule_demand


def run_part(plan: Plan, job: JobPlan) -> str:
    """Return how a job runs: GPUs in use, repair, checkpoints, time lost, what storage delivers."""
    return "Run\n" + "\n".join(line for text in _job_texts(plan, job) for line in wrapped(text))


def _job_texts(plan: Plan, job: JobPlan) -> Iterator[str]:
    bought = plan.totals.gpus if plan.totals else job.gpus_used
    idle = "" if bought == job.gpus_used else f" of {bought:,} in place"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        idle += f" ({spares_standing_by(job.repair)})"
    if job.hot_spare_systems:
        systems = (
            "system is a hot spare" if job.hot_spare_systems == 1 else "systems are hot spares"
        )
        idle += f" ({job.hot_spare_systems:,} {systems})"
    work = f"the work of {job.useful_gpus:,.0f} GPUs that never stop"
    if job.useful_pflops is not None:
        work += f", {about(job.useful_pflops)} useful PFLOP/s"
    yield f"{job.name}: {job.gpus_used:,} GPUs{idle}, goodput {percent(job.goodput, 2)}: {work}"
    yield from _replicas(job)
    yield from way_texts(plan, job)
    if job.days_to_train is not None:
        yield f"trains in {job.days_to_train:,.1f} days"
    yield _checkpoints(job)
    if job.local is not None:
        yield from _local_level(job.local)
    if job.derived_stall is not None:
        part = job.derived_stall
        yield (
            f"the stall is derived: {size(part.gpu_gb)} of each GPU to its host at "
            f"{part.copy_gb_per_s:,.0f} GB/s take {duration(part.copy_s)}, and "
            f"{duration(part.overhead_s)} come on top"
        )
    yield (
        f"an interruption every {duration(job.mtti_s)}; restart {duration(job.restart_s)}, "
        f"restore reads {job.fan_out:.3g} x {size(job.checkpoint_gb)} in {duration(job.restore_s)}"
    )
    yield from _repairs(job)
    shares = ", ".join(
        f"{FIGURES[f'loss.{name}'].label} {percent(share, 2)}" for name, share in job.losses.items()
    )
    yield f"time lost: {shares}"
    if note := too_low(job.goodput_understated):
        yield note
    yield from _demand(plan, job)
    yield from _bulk(job)
    per_gpu = 1000.0 * job.delivered_write_gb_per_s / job.gpus_used
    yield from _appliances_down(job)
    yield (
        f"delivered: write {about(job.delivered_write_gb_per_s)} GB/s ({about(per_gpu)} MB/s per "
        f"GPU, limited by {job.write_limited_by}), read {about(job.delivered_read_gb_per_s)} GB/s "
        f"(limited by {job.read_limited_by}){_data(job)}"
    )


def _bulk(job: JobPlan) -> Iterator[str]:
    """Yield bursts and the bulk tier."""
    burst, bulk = job.burst, job.bulk
    if burst is not None:
        yield (
            f"bursts: {about(burst.write_gb_per_s)} GB/s until buffers hold "
            f"{size(burst.buffer_gb)} beyond the sustained {about(burst.sustained_gb_per_s)} GB/s; "
            f"they are empty again after {duration(burst.recovery_s)}"
        )
    if bulk is None:
        return
    text = f"bulk tier: data set {number(bulk.dataset_tb)} TB"
    if bulk.archives_tb:
        text += f", archives {number(bulk.archives_tb)} TB"
    yield (
        f"{text}, on {number(bulk.usable_tb)} TB usable; read {about(bulk.read_gb_per_s)} GB/s, "
        f"staging on flash {about(bulk.staging_gb_per_s)} GB/s beside checkpoints, ingest "
        f"{about(job.ingest_gb_per_s)} GB/s"
    )


def _data(job: JobPlan) -> str:
    """Return what all systems read of training data, where not all of them read in a restore."""
    if job.client_data_limit_gb_per_s is None:
        return ""
    most = about(job.client_data_limit_gb_per_s)
    return f" for a restore; all GPU systems together take up to {most} GB/s of training data"


def units(repair: Repair, count: float) -> str:
    """Return so many spare units in words."""
    name = repair.unit if repair.unit == "system" else f"tray of {repair.unit_gpus} GPUs"
    plural = name.replace("tray", "trays") if repair.unit == "tray" else "systems"
    number = f"{count:,}" if isinstance(count, int) else f"{count:,.2f}"
    return f"{number} {name if count == 1 else plural}"


def _repairs(job: JobPlan) -> Iterator[str]:
    """What is out for repair, what stands by for it, and how long the job waits all the same."""
    repair = job.repair
    if repair is None:
        return
    text = (
        f"{percent(repair.hardware_share, 0)} of interruptions take a {repair.unit} out for "
        f"{duration(repair.repair_s)}"
    )
    text += f", swapped in {duration(repair.swap_s)}: " if repair.swap_s else ": "
    waits = f"{repair.waiting_h_per_year:,.1f} h a year ({percent(1.0 - repair.availability, 2)})"
    other = ""
    if repair.other_unit is not None:
        kind = "whole systems" if repair.other_unit == "system" else "trays"
        other = f"; with {kind} swapped {repair.other_waiting_h_per_year:,.1f} h"
    if repair.in_rack:
        each = repair.spares // job.systems_used
        yield (
            f"{text}{_standing_by(repair, each)} in each of {job.systems_used:,} systems, where "
            f"its tensor groups stand; the job waits for repairs at most {waits}{other}"
        )
        return
    decided = "" if repair.decided else " as asked"
    if repair.shrunk is None:
        short = f"the job waits for repairs {waits}{other}"
    else:
        short = _shrunk(repair, repair.shrunk)
    worth = repair.next_spare_gpus or 0.0
    yield (
        f"{text}{units(repair, repair.units_out or 0.0)} out on average, "
        f"{_standing_by(repair, repair.spares)}{decided}; {short}; "
        f"one spare more would give {worth:,.1f} useful GPUs"
    )


def spares_standing_by(repair: Repair) -> str:
    """Return how many units stand by, as what."""
    role = "as a spare" if repair.spares == 1 else "as spares"
    return f"{_standing_by(repair, repair.spares)} {role}"


def _standing_by(repair: Repair, count: int) -> str:
    return f"{units(repair, count)} {'stands' if count == 1 else 'stand'} by"


def _shrunk(repair: Repair, shrunk: ShrunkPlan) -> str:
    """What a job does that goes on with fewer replicas."""
    taken = percent(1.0 - repair.availability, 2)
    return (
        f"fewer replicas run for {shrunk.short_h_per_year:,.0f} h a year and are restarted to be "
        f"more {shrunk.restarts_per_year:,.0f} times, {duration(shrunk.restart_s)} each, which "
        f"takes {taken} of the work"
    )


def _replicas(job: JobPlan) -> Iterator[str]:
    """How the replicas fill the systems, and which GPUs stand idle in them."""
    if job.replicas is None or job.replica_gpus is None:
        return
    each = f"{job.replica_gpus:,} GPUs"
    if not job.whole_replicas:
        lost = job.gpus_used - int(job.replicas) * job.replica_gpus
        text = f"{job.replicas:,.2f} replicas of {each}, because gpus.whole is systems"
        yield f"{text}: {lost:,} of the GPUs in use hold no whole replica" if lost else text
        return
    text = f"{job.replicas:,.0f} replicas of {each}"
    fills = sorted(set(job.usable_gpus_by_type.values()))
    spread = [count for count in fills if job.replica_gpus > count]
    if spread:
        text += f", each over {job.replica_gpus / max(spread):,.3g} systems"
        shared = any(job.replica_gpus % count for count in spread)
        text += ", which replicas share" if shared else ""
    if job.idle_gpus:
        text += f"; {job.idle_gpus:,} GPUs of the systems in use stand idle"
    yield text


def _appliances_down(job: JobPlan) -> Iterator[str]:
    """How the job checkpoints while as many appliances are down as the plan must bear."""
    if not job.tolerate_down or job.degraded_write_gb_per_s is None:
        return
    count = job.tolerate_down
    save = "GPUs wait" if job.mode == "sync" else "drain takes"
    parts = [f"write {about(job.degraded_write_gb_per_s)} GB/s"]
    if job.degraded_drain_s is not None:
        parts.append(f"{save} {duration(job.degraded_drain_s)}")
    if job.degraded_overlap is not None:
        parts[-1] += f" ({percent(job.degraded_overlap)} of the interval)"
    if job.degraded_restore_s is not None:
        parts.append(f"restore {duration(job.degraded_restore_s)}")
    appliances = "storage appliance" if count == 1 else "storage appliances"
    yield f"with {count} {appliances} down: {', '.join(parts)}"


def _demand(plan: Plan, job: JobPlan) -> Iterator[str]:
    """What the checkpoints need, next to what the lightest vendor rule would have asked for."""
    overlap = next((limit for limit in plan.limits if limit.name == "overlap"), None)
    if overlap is None:
        return
    need = job.checkpoint_gb / (overlap.limit * job.to_storage_s)
    light, gpus = VENDOR_RULES["light"], plan.totals.gpus if plan.totals else job.gpus_used
    _, rule = rule_demand(light, gpus)
    per_gpu = about(1000 * need / job.gpus_used)
    yield (
        f"checkpoints need {about(need)} GB/s of write ({per_gpu} MB/s per GPU) to drain in "
        f"{percent(overlap.limit, 0)} of the interval; the vendors' light rule would ask for "
        f"{about(rule)} GB/s"
    )


def _checkpoints(job: JobPlan) -> str:
    how = {
        "optimal": "the best interval",
        "fixed": "as given",
        "lost_work": f"{job.interval_s / job.mtti_s:.3g} of the time between interruptions",
    }[job.interval_policy]
    start = f"checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)} ({how}): "
    if job.mode == "sync":
        return f"{start}synchronous, GPUs wait {duration(job.stall_s)} ({percent(job.blocking, 2)})"
    if job.local is not None:
        local, many = job.local, job.local.every
        to = f"one in {many} goes, every {duration(local.remote_interval_s)},"
        to = "each goes" if many == 1 else to
        return (
            f"{start}GPUs wait {duration(job.stall_s)}, drives of the GPU systems have it after "
            f"another {duration(local.drain_s)}; {to} on to storage, which drains it in "
            f"{duration(job.drain_s)} ({percent(job.overlap)} of the time)"
        )
    return (
        f"{start}GPUs wait {duration(job.stall_s)}, storage drains it in {duration(job.drain_s)} "
        f"({percent(job.overlap)} of the interval)"
    )


def _local_level(local: LocalPlan) -> Iterator[str]:
    """What the local level recovers, and what it takes of the drives."""
    near = [f"{one.name} {percent(one.share)}" for one in local.classes if one.level == "local"]
    far = [f"{one.name} {percent(one.share)}" for one in local.classes if one.level == "remote"]
    copies = "1 copy" if local.copies == 1 else f"{local.copies} copies"
    yield (
        f"from local copies the job comes back after {', '.join(near) or 'nothing'}, in "
        f"{duration(local.restart_s)}; from storage after {', '.join(far)}: "
        f"{percent(local.remote_share)} of interruptions"
    )
    worn = f"{local.volume_tb_per_day:,.0f} TB a day written"
    if local.endurance_tb_per_day is None:
        worn += ", whose endurance nobody states"
    yield (
        f"local checkpoints: {copies}, {local.room_tb:,.3g} TB of {local.capacity_tb:,.4g} TB of a "
        f"system's drives, {worn}"
    )


def way_texts(plan: Plan, job: JobPlan) -> Iterator[str]:
    """Yield a sentence on the set point and one on the rate of each type, then what scale costs."""
    for way in job.ways:
        name = next((line.model for line in plan.lines if line.sku == way.gpu_type), way.gpu_type)
        yield _set_point(name, way)
        if way.rate_tflops is not None:
            yield _rate(name, way)
    if job.scale_share != 1.0:
        yield (
            f"scale: a GPU does {percent(job.scale_share, 1)} of that rate in a job of "
            f"{job.gpus_used:,}"
        )
    span = useful_range(job)
    if span is not None:
        low, high = span
        yield (
            f"the curve leaves the useful work of this plan between {low:,.0f} and {high:,.0f} "
            "PFLOP/s"
        )


def cap_words(way: WayPlan) -> str:
    """Return the cap to configure: '80 % of their power (960 W each)'."""
    each = "" if way.gpu_limit_w is None else f" ({way.gpu_limit_w:,.0f} W each)"
    return f"{100.0 * way.gpu_cap:.4g} % of their power{each}"


def useful_range(job: JobPlan) -> tuple[float, float] | None:
    """Return the useful PFLOP/s at both ends of the curve's range, of the same plan.

    None where no curve counts, its range is a point, or several types share the work.
    """
    if len(job.ways) != 1 or job.useful_pflops is None:
        return None
    (way,) = job.ways
    if way.throughput_low == way.throughput_high:
        return None
    whole = job.useful_pflops / way.throughput
    return whole * way.throughput_low, whole * way.throughput_high


def _set_point(name: str, way: WayPlan) -> str:
    if way.gpu_cap == 1.0:
        return f"{name}: GPUs at full power, {way.precision}{_spread(way)}"
    rated = ""
    if way.rated_it_power_kw is not None:
        provisioned = way.power_share * way.rated_it_power_kw
        rated = f": {provisioned:,.1f} of {way.rated_it_power_kw:,.1f} kW a system"
    span = ""
    if way.throughput_low != way.throughput_high:
        low, high = percent(way.throughput_low, 1), percent(way.throughput_high, 1)
        span = f" ({low} to {high})"
    sure = "" if way.curve_confidence is None else f", {way.curve_confidence} confidence"
    return (
        f"{name}: GPUs capped at {cap_words(way)}{rated}, which leaves "
        f"{percent(way.throughput, 1)} of the rate{span}; {way.precision}{_spread(way)}; curve: "
        f"{way.curve}{sure}"
    )


def _spread(way: WayPlan) -> str:
    """Return how a replica is spread: ', tensor 8 x pipeline 16, at 97 % of the rate'."""
    if way.tensor is None:
        return ""
    context = f" x context {way.context}" if way.context > 1 else ""
    if way.experts > 1:
        of = way.expert_tensor or way.tensor
        context += f", experts over {way.experts:,} groups of {counted(of, 'GPU')} in a stage"
    factor = "" if way.option_factor == 1.0 else f", at {percent(way.option_factor)} of the rate"
    least = f", at least {way.min_replicas:,} replicas" if way.min_replicas > 1 else ""
    return f", tensor {way.tensor} x pipeline {way.pipeline}{context}{factor}{least}"


def _rate(name: str, way: WayPlan) -> str:
    assert way.rate_tflops is not None
    rate = f"{name}: {way.rate_tflops:,.0f} TFLOP/s per GPU at full power, {way.precision}"
    if way.rate_source == "assumed":
        return f"{rate}, assumed: {way.rate_note}"
    span = ""
    if way.rate_low_tflops is not None and way.rate_high_tflops is not None:
        span = f", range {way.rate_low_tflops:,.0f} to {way.rate_high_tflops:,.0f}"
    return (
        f"{rate}, measured on {way.rate_gpus or 0:,} GPUs{span} "
        f"({way.rate_source}, {way.rate_confidence} confidence)"
    )
