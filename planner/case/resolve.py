"""From inputs to numbers: which items are on offer, with what figures, and why others are not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planner.case import figures, suitability
from planner.case.bounds import cap
from planner.case.choices import Choice
from planner.case.companions import derive_companions
from planner.case.figures import FabricKey, fabric_keys
from planner.case.model import (
    BandwidthRule,
    Case,
    Companions,
    FamilyOffer,
    IntervalRule,
    Levels,
    Limits,
    Mode,
    Offer,
    Policy,
    Rates,
    Segment,
    Split,
    Storage,
    System,
    Way,
)
from planner.case.model import Job as JobNumbers
from planner.case.money import bill_item
from planner.case.repair import Repair
from planner.errors import Finding, InputError
from planner.inputs import NOTHING_ASKED, Inputs, demanded, job_size
from planner.limits import of_group
from planner.paths import job_path, steps_of, value_at
from planner.schema.catalog import Item, Sizes
from planner.schema.problem import (
    CustomRule,
    FixedInterval,
    Interval,
    Job,
    LostWorkInterval,
    Problem,
)
from planner.schema.problem import Split as SplitRule
from planner.schema.running import Repair as RepairRule
from planner.sizing.demand import (
    VENDOR_RULES,
    WEIGHTS_ONLY_BYTES_PER_PARAMETER,
    capacity_tb,
)
from planner.sizing.facility import HOURS_PER_YEAR, discounted_years
from planner.sizing.throughput import ScaleLaw, pipeline_bubble
from planner.sizing.two_levels import remote_share


def resolve(inputs: Inputs) -> Case:
    """Return the case of validated inputs.

    Raises:
        InputError: an item the problem demands lacks a figure, a price or room in a rack.
    """
    problem = inputs.problem
    systems: list[System] = []
    storage: list[Storage] = []
    standing: list[Offer] = []
    left_out: list[tuple[str, str]] = []
    for item in sorted(inputs.items, key=lambda item: item.id):
        if item.category not in ("gpu_system", "storage"):
            continue
        reason = suitability.why_not(item, inputs)
        if reason is not None:
            _refuse_if_demanded(inputs, item, reason)
            if suitability.owned(item, problem):
                standing.append(_standing(item, inputs))
            left_out.append((item.id, reason))
        elif item.category == "gpu_system":
            systems.append(_system(item, inputs))
        else:
            storage.append(_storage(item, inputs))
    _refuse_ways_of_several_types(inputs, systems)
    systems = _with_fabrics(inputs, systems)
    case = Case(
        systems=tuple(systems),
        storage=tuple(storage),
        standing=tuple(standing),
        families=_families(inputs, storage),
        job=_with_drives(job_numbers(problem), systems),
        limits=limits_of(problem),
        objective=problem.objective.name,
        delivered_read=problem.storage.delivered_fraction.read,
        delivered_write=problem.storage.delivered_fraction.write,
        max_families=problem.storage.exact_families or problem.storage.max_families,
        exact_families=problem.storage.exact_families,
        tolerate_down=problem.storage.tolerate_down,
        rule=_rule(problem),
        rates=_rates(problem),
        companions=Companions(),
        policy=_policy(problem, systems, storage),
        indifference=problem.objective.indifferent,
        not_considered=tuple(left_out),
    )
    return with_companions(inputs, case)


def with_companions(inputs: Inputs, case: Case) -> Case:
    """Return a case with its companions, for as many systems as its limits allow.

    A case whose limits are changed needs its companions anew: fabrics are worked out only as far
    as a plan can need them.
    """
    tops = {offer.id: max(cap(case, offer), offer.low) for offer in case.offers()}
    return replace(case, companions=derive_companions(inputs, case, tops))


def _with_drives(job: JobNumbers, systems: list[System]) -> JobNumbers:
    """Return a job without its local level where nothing on offer has drives for it."""
    if any(way.drives is not None for system in systems for way in system.ways):
        return job
    others = tuple(mode for mode in job.modes if mode != "local")
    return replace(job, modes=others or job.modes)


def _with_fabrics(inputs: Inputs, systems: list[System]) -> list[System]:
    """Return the systems with the numbers of the compute fabrics that each may join, and each of
    their ways in every one of them."""
    known = inputs.by_id
    keys = {system.id: fabric_keys(known[system.id], inputs) for system in systems}
    order = sorted({key for every in keys.values() for key in every})
    designs = _designs(order)
    joined = {system.id: [order.index(key) for key in keys[system.id]] for system in systems}
    return [
        _joining(system, tuple(numbers), tuple(designs[number] for number in numbers))
        for system in systems
        for numbers in (joined[system.id],)
    ]


def _designs(keys: Sequence[FabricKey]) -> tuple[str, ...]:
    """Return the names of designs of compute fabrics: the switch, with what tells several apart."""
    columns: list[list[str]] = [[key.switch for key in keys]]
    ratios = [f"{key.oversubscription:.6g}to1".replace(".", "_") for key in keys]
    for each in ([f"{key.planes}planes" for key in keys], ratios):
        if len(set(each)) > 1:
            columns.append(each)
    return tuple("__".join(parts) for parts in zip(*columns, strict=True))


def _joining(system: System, fabrics: tuple[int, ...], designs: tuple[str, ...]) -> System:
    """Return a system with each of its ways in every compute fabric that it may join."""
    if len(fabrics) < 2:
        number = next(iter(fabrics), None)
        ways = tuple(replace(way, fabric=number) for way in system.ways)
    else:
        ways = tuple(
            replace(way, id=f"{way.id}__{design}", fabric=number)
            for way in system.ways
            for number, design in zip(fabrics, designs, strict=True)
        )
    return replace(system, ways=ways, fabrics=fabrics, designs=designs)


def _refuse_ways_of_several_types(inputs: Inputs, systems: list[System]) -> None:
    """Refuse a choice of ways for a job that may run on several types at once.

    The slowest type sets the pace of all, so that each one's way depends on the others'.
    """
    several = next((system.id for system in systems if len(system.ways) > 1), None)
    if several is None or inputs.problem.job.gpus.max_types == 1:
        return
    document, path = inputs.document, job_path("gpus.max_types")
    place = document.place(steps_of(path)) if document else (None, None)
    message = f"{several} may run in several ways, and the job on several types of GPU system"
    fix = "give gpus.max_types: 1, or one power set point, precision and parallelism"
    file, line = place
    raise InputError(Finding("several-types", message, file, line, path, fix))


def _refuse_if_demanded(inputs: Inputs, item: Item, reason: str) -> None:
    if not demanded(inputs.problem, item.id):
        return
    message = f"'{item.id}' is demanded but cannot be planned: {reason}"
    fix = "give the figure in a catalog or price book of your own"
    raise _at_items(inputs, item, "demanded", message, fix)


def _at_items(inputs: Inputs, item: Item, code: str, message: str, fix: str) -> InputError:
    """Return an error at the place where the problem speaks of an item's count."""
    document = inputs.document
    file, line = document.place(("items", item.id)) if document else (None, None)
    return InputError(Finding(code, message, file, line, f"items.{item.id}", fix))


def _standing(item: Item, inputs: Inputs) -> Offer:
    """Return owned units that nothing can use and none may be added to: they stand there."""
    reason = suitability.cannot_stand(item, inputs)
    if reason is not None:
        message = f"'{item.id}' is installed and stays, but cannot be counted: {reason}"
        fix = f"give the figure in a catalog of your own, or say items.{item.id}.retire: true"
        raise _at_items(inputs, item, "installed", message, fix)
    return Offer(**{**_base(item, inputs), "high": 0})


def _base(item: Item, inputs: Inputs) -> dict[str, Any]:
    """Return the fields of what is on offer."""
    problem = inputs.problem
    rule = problem.items.get(item.id, NOTHING_ASKED)
    billed = bill_item(item, inputs)
    # What is owned is in place anyway; only what is demanded beyond must be in the cluster.
    low = rule.least if rule.least > rule.in_place else 0
    highs = [rule.fixed, rule.max, item.max_units.value if item.max_units else None]
    if billed.stock is not None:
        highs.append(rule.in_place + billed.stock)
    bounds = [high for high in highs if high is not None]
    return {
        **vars(billed),
        "low": low,
        "high": min(bounds) if bounds else None,
        "min_units": item.min_units.value if item.min_units else 0,
        "rack_use": figures.rack_use(item, inputs),
        "forced": demanded(problem, item.id),
    }


def _system(item: Item, inputs: Inputs) -> System:
    assert item.provides.gpus is not None
    limit = inputs.problem.storage.client_limit
    gpus = item.provides.gpus.value
    return System(
        **_base(item, inputs),
        gpus=gpus,
        ways=ways_of(item, inputs),
        client_write_gb_per_s=limit.write or figures.client_gb_per_s(item.client.write, gpus),
        client_read_gb_per_s=limit.read or figures.client_gb_per_s(item.client.read, gpus),
        options=figures.options_on(item, inputs.problem.job),
    )


def _storage(item: Item, inputs: Inputs) -> Storage:
    assert item.family is not None
    provides, problem = item.provides, inputs.problem
    if item.is_bulk:
        assert provides.read is not None and provides.usable is not None
        return Storage(
            **_base(item, inputs), family="", read_gb_per_s=0.0, write_gb_per_s=0.0, usable_tb=0.0,
            endurance_tb_per_day=0.0, units_lost=0.0, segments=(), bulk_tb=provides.usable.value,
            bulk_read_gb_per_s=provides.read.value,
        )  # fmt: skip
    return Storage(
        **_base(item, inputs),
        family=item.family,
        read_gb_per_s=provides.read.value if provides.read else 0.0,
        write_gb_per_s=provides.write.value if provides.write else 0.0,
        usable_tb=provides.usable.value if provides.usable else 0.0,
        endurance_tb_per_day=figures.endurance_tb_per_day(item, inputs),
        units_lost=problem.storage.tolerate_down
        / (item.fail_units.value if item.fail_units else 1),
        segments=segments(item.sizes) if item.sizes else (),
        **_burst(item),
    )


def _burst(item: Item) -> dict[str, Any]:
    """Return how a unit of storage takes bursts, nothing where no window is stated."""
    burst, window = item.provides.burst_write, item.provides.burst_window
    if burst is None or window is None:
        return {}
    rows = item.sizes.rows if item.sizes else ()
    stated = item.provides.write.value if item.provides.write else 0.0
    sustained = max((row.write / row.units for row in rows), default=stated)
    if burst.value <= sustained:
        return {}
    return {
        "burst_gb_per_s": burst.value,
        "buffer_gb": (burst.value - sustained) * window.value,
    }


def segments(sizes: Sizes) -> tuple[Segment, ...]:
    """Return the straight pieces between neighbouring rows; a single row is a piece of itself."""
    rows = sizes.rows
    if len(rows) == 1:
        row = rows[0]
        return (Segment(row.units, row.units, row.read, 0.0, row.write, 0.0),)
    pieces = []
    for low, high in itertools.pairwise(rows):
        span = high.units - low.units
        read_slope = (high.read - low.read) / span
        write_slope = (high.write - low.write) / span
        pieces.append(Segment(low.units, high.units, low.read, read_slope, low.write, write_slope))
    return tuple(pieces)


def _families(inputs: Inputs, storage: list[Storage]) -> tuple[FamilyOffer, ...]:
    on_offer = {item.family for item in storage if not item.is_bulk}
    forced = {item.family for item in storage if item.forced}
    result = []
    for family in sorted(inputs.families, key=lambda family: family.id):
        if family.id not in on_offer:
            continue
        factor = family.client_factor
        result.append(
            FamilyOffer(
                id=family.id,
                write_factor=factor.write.value if factor else 1.0,
                read_factor=factor.read.value if factor else 1.0,
                max_units=family.max_units.value if family.max_units else None,
                forced=family.id in forced,
            )
        )
    return tuple(result)


def limits_of(problem: Problem) -> Limits:
    """Return what a problem limits."""
    rows = of_group("supply", "ratio", "target")
    given = {limit.field: value_at(problem, limit.path) for limit in rows}
    site = problem.site
    own = {"facility_power_kw": site.facility_limit_kw, "racks": site.rack_count}
    return Limits.from_values(given | own)


def limit_at(problem: Problem, path: str, value: float) -> float:
    """Return what a supply is limited to where the place of its limit has a value, as `limits_of`
    would after the change."""
    left_kw = problem.site.left_at_meter_kw(value) if path == "site.facility_power" else None
    return value if left_kw is None else left_kw


def _rule(problem: Problem) -> BandwidthRule | None:
    rule = problem.storage.rule
    if isinstance(rule, CustomRule):
        return BandwidthRule(rule.name, rule.read, rule.write, rule.per_gpus)
    if rule == "demand":
        return None
    vendor = VENDOR_RULES[rule]
    return BandwidthRule(vendor.name, vendor.read_gb_per_s, vendor.write_gb_per_s, vendor.per_gpus)


def _rates(problem: Problem) -> Rates:
    term = problem.term
    if term is None:
        return Rates(0.0, 0.0, 0.0, 0.0)
    return Rates(
        energy_usd_per_kw_year=HOURS_PER_YEAR * term.electricity_usd_per_kwh,
        colocation_usd_per_kw_year=12.0 * term.colocation_usd_per_kw_month,
        years=term.years,
        factor=discounted_years(0.0, term.years, term.discount_rate),
    )


def _policy(problem: Problem, systems: Sequence[System], storage: Sequence[Storage]) -> Policy:
    policy = problem.policy
    offers: tuple[Offer, ...] = (*systems, *storage)
    liked = policy.prefer.vendors if policy.prefer else ()
    disliked = _disliked(systems, liked) + _disliked(storage, liked)
    return Policy(
        required=tuple(
            tuple(offer.id for offer in offers if offer.vendor == vendor)
            for vendor in policy.require_vendors
        ),
        splits=tuple(
            _split(rule, systems if rule.category == "gpu_system" else storage)
            for rule in policy.split
        ),
        disliked=disliked,
        within=policy.prefer.within if policy.prefer and disliked else 0.0,
    )


def _disliked(offers: Sequence[Offer], liked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the offers of other vendors, in a category that has one of a preferred vendor."""
    if not any(offer.vendor in liked for offer in offers):
        return ()
    return tuple(offer.id for offer in offers if offer.vendor not in liked)


def _split(rule: SplitRule, offers: Sequence[Offer]) -> Split:
    weights = {o.id: (o.unit_net_usd or 0.0) if rule.measure == "money" else 1.0 for o in offers}
    vendors = sorted({offer.vendor for offer in offers})
    return Split(
        weights=tuple(weights.items()),
        vendors=tuple((v, tuple(o.id for o in offers if o.vendor == v)) for v in vendors),
        max_share=rule.max_share,
    )


def job_numbers(problem: Problem) -> JobNumbers:
    """Return the only job of a problem in numbers."""
    job = problem.job
    size_gb, bytes_each = job_size(job)
    checkpoint, restore = job.checkpoint, job.restore
    replica = job.parallelism.replica_gpus if job.parallelism else None
    least = min((option.replica_gpus for option in job.options), default=1)
    return JobNumbers(
        name=job.name,
        checkpoint_gb=size_gb,
        bytes_per_parameter=bytes_each,
        active_parameters=job.training.active_parameters or job.parameters,
        tokens=job.training.tokens,
        mfu=1.0 if job.training.model is not None else job.training.mfu,
        scale=scale_law(job),
        replica_gpus=replica,
        modes=modes_of(job),
        stall_s=checkpoint.known_stall_s,
        drain_slowdown=checkpoint.drain_slowdown,
        max_overlap=checkpoint.max_overlap,
        max_blocking=checkpoint.max_blocking,
        interval=interval_rule(checkpoint.interval),
        one_replica_writes=checkpoint.writers == "one_replica",
        one_replica_reads=restore.readers == "one_replica",
        fan_out=restore.fan_out,
        max_restore_s=restore.max_time_s,
        restart_s=job.restart_s,
        gpus_min=max(1, least, job.gpus.min or 1, problem.targets.min_gpus or 1),
        gpus_max=job.gpus.max,
        hot_spares=job.gpus.hot[0],
        hot_share=job.gpus.hot[1],
        whole_replicas=job.whole_replicas,
        max_types=job.gpus.max_types,
        ingest_per_gpu_gb_per_s=job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=capacity_tb(
            dataset_tb=job.dataset_tb,
            checkpoint_gb=size_gb,
            keep_last=checkpoint.keep_last,
            milestones=0 if job.in_bulk else checkpoint.milestones,
            exports=0 if job.in_bulk else checkpoint.exports,
            parameters=job.parameters or 0.0,
            fill_limit=problem.storage.fill_limit,
        ),
        bulk_needed_tb=_bulk_needed_tb(problem, size_gb),
        derived_stall=checkpoint.stall_s == "derived",
        levels=_levels(job),
        repair=_repair(job.repair),
        lost_time=job.lost_share,
    )


def _bulk_needed_tb(problem: Problem, checkpoint_gb: float) -> float:
    """Return the usable capacity of the bulk tier, TB: data set, milestones, exports."""
    job, saved = problem.job, problem.job.checkpoint
    if not job.in_bulk:
        return 0.0
    exports_tb = WEIGHTS_ONLY_BYTES_PER_PARAMETER * (job.parameters or 0.0) * saved.exports / 1e12
    held_tb = job.tiered.size_tb + saved.milestones * checkpoint_gb / 1e3 + exports_tb
    return held_tb / problem.storage.fill_limit


def modes_of(job: Job) -> tuple[Mode, ...]:
    """Return the ways of saving checkpoints that the plan may choose from."""
    asked, levels = job.checkpoint.mode, job.levels
    if levels is not None and levels.use == "yes":
        return ("local",)
    modes: tuple[Mode, ...] = ("async", "sync") if asked == "open" else (asked,)
    return modes if levels is None else (*modes, "local")


def _levels(job: Job) -> Levels | None:
    """Return the local level in numbers, None where the problem has none."""
    local = job.levels
    if local is None:
        return None
    assert job.restart.local_s is not None  # see planner/loader/contradictions.py
    return Levels(
        copies=local.copies,
        keep=local.keep,
        every=local.every,
        remote_share=remote_share(job.failure_shares, local.recovers, local.copies),
        local_restart_s=job.restart.local_s,
        drain_restarts=local.drain == "restarts",
    )


def _repair(asked: RepairRule | None) -> Repair | None:
    if asked is None:
        return None
    return Repair(
        hardware_share=min(1.0, asked.hardware_share),
        out_s=asked.out_s,
        swap_s=asked.swap_s,
        spares=asked.spares if isinstance(asked.spares, int) else None,
        shrinks=asked.when_short == "shrink",
    )


def interval_rule(interval: Interval) -> IntervalRule:
    """Return an interval policy in numbers."""
    if isinstance(interval, FixedInterval):
        return IntervalRule("fixed", interval.every_s, interval.every_s, 0.0)
    if isinstance(interval, LostWorkInterval):
        return IntervalRule("lost_work", 0.0, 0.0, interval.kappa)
    return IntervalRule("optimal", interval.min_s, interval.max_s, 0.0)


# The ways in which the job may run on a GPU system: as it is sold where nothing is left open.


def ways_of(item: Item, inputs: Inputs) -> tuple[Way, ...]:
    """Return the ways in which the job may run on a GPU system that can be planned."""
    job = inputs.problem.job
    return tuple(
        _way(item, job, each, usable)
        for each in figures.choices_on(item, inputs)
        for usable in figures.uses_of(item, job.spread(each.option))
    )


def _way(item: Item, job: Job, choice: Choice, usable: int) -> Way:
    name, several, job = choice.id_of(item, job), len(job.options) > 1, job.spread(choice.option)
    decided = len(figures.uses_of(item, job)) > 1
    parallel = job.parallelism
    replica = parallel.replica_gpus if parallel else None
    (bubble, filled), least = _pipeline(job), figures.least_replicas(item, job) or 1
    return Way(
        id=f"{name}__{usable}gpus" if decided else name,
        choice=name,
        usable_gpus=usable,
        step_gpus=replica if job.whole_replicas and replica else usable,
        replica_gpus=replica,
        tflops_per_gpu=_rate_tflops(job, choice) * choice.rate_share,
        failures_per_gpu_day=figures.failures_per_gpu_day(item, job),
        spare_unit=figures.spare_unit(item, usable, job),
        power_share=choice.point.power,
        min_replicas=least,
        least_running=least,
        bubble=bubble,
        option=choice.option.name if several and choice.option else None,
        gpus_max=filled,
        tensor_gpus=parallel.tensor if parallel else None,
        drives=figures.drives(item, job),
        host_copy_gb_per_s=figures.host_copy_gb_per_s(item, job),
    )


def _rate_tflops(job: Job, choice: Choice) -> float:
    """Return a GPU's rate at full power where the law of scale gives 1, TFLOP/s; 0 if not known."""
    law, rate = scale_law(job), choice.rate_tflops or 0.0
    if law is None:
        return rate
    holds_at = choice.measured.gpus if choice.measured else job.training.scale_reference
    return rate if holds_at is None else rate / law.share(holds_at, *_pipeline(job))


def scale_law(job: Job) -> ScaleLaw | None:
    """Return the law of scale that the job states, None without one."""
    scale = job.training.scale
    if scale is None:
        return None
    rows = tuple((float(row.gpus), row.share) for row in scale.table or ())
    even = scale.micro_batches is not None
    return ScaleLaw(scale.exponent or 0.0, float(scale.reference or 1), rows, even)


def _pipeline(job: Job) -> tuple[float, int | None]:
    """Return what the pipeline's bubble takes per GPU, and the GPUs of as many copies of the model
    as a step has micro-batches; 0 and None where no such law is asked for."""
    scale, parallel = job.training.scale, job.parallelism
    if scale is None or scale.micro_batches is None or parallel is None:
        return 0.0, None
    each, batches = parallel.batch_gpus, scale.micro_batches
    bubble = pipeline_bubble(parallel.pipeline, each, batches, scale.interleave)
    return bubble, batches * each
