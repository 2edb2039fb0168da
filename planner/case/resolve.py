"""From inputs to parameters: the items on offer with their figures, the job, limits and rates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planner.case import figures
from planner.case.bounds import cap
from planner.case.companions import derive_companions
from planner.case.fabrics import FabricKey, fabric_keys, no_compute_fabric, no_port_group
from planner.case.figures import (
    bill_item,
    it_power_kw,
    least_stated,
    needs_power,
    rack_units,
    rack_use,
    stated,
)
from planner.case.items import FamilyOffer, Offer, Segment, Storage, System
from planner.case.job import IntervalRule, Levels, Mode, Repair
from planner.case.job import Job as JobNumbers
from planner.case.model import Case, Companions, Limits, Policy, Rates, Split
from planner.case.ways import choices_on, no_spread, options_on, scale_law, ways_of, why_no_choice
from planner.errors import Finding, InputError
from planner.figures import FIGURES, STATED
from planner.inputs import NOTHING_ASKED, Inputs, demanded, job_size
from planner.limits import of_group
from planner.paths import job_path, steps_of, value_at
from planner.schema.catalog import Item, Sizes
from planner.schema.job import FixedInterval, Interval, Job
from planner.schema.problem import CustomRule, Problem
from planner.sizing.checkpoint import VENDOR_RULES, BandwidthRule, capacity_tb, exports_tb
from planner.sizing.facility import HOURS_PER_YEAR, discounted_years
from planner.sizing.two_levels import remote_share


def resolve(inputs: Inputs) -> Case:
    """Resolve validated inputs.

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
        reason = why_excluded(item, inputs)
        if reason is not None:
            _refuse_if_demanded(inputs, item, reason)
            if owned_units(item, problem):
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
        job=_job(problem, systems),
        limits=limits_of(problem),
        objective=problem.objective.name,
        delivered_read_share=problem.storage.delivered_fraction.read,
        delivered_write_share=problem.storage.delivered_fraction.write,
        max_families=problem.storage.max_families,
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
    """A case with its companions, for as many systems as its limits allow.

    A case whose limits are changed needs its companions anew: fabrics are derived only as far
    as a plan can need them.
    """
    tops = {offer.id: max(cap(case, offer), offer.low) for offer in case.offers()}
    return replace(case, companions=derive_companions(inputs, case, tops))


def _refuse_ways_of_several_types(inputs: Inputs, systems: list[System]) -> None:
    """Refuse open ways for a job that may run on several types at once.

    The slowest type sets the pace of all, so that each one's way depends on the others'.
    """
    several = next((system.id for system in systems if len(system.ways) > 1), None)
    if several is None or inputs.problem.job.gpus.max_types == 1:
        return
    message = f"{several} may run in several ways, and the job on several types of GPU system"
    fix = "give gpus.max_types: 1, or one power set point, precision and parallelism"
    raise _error(inputs, "several-types", job_path("gpus.max_types"), message, fix)


def _refuse_if_demanded(inputs: Inputs, item: Item, reason: str) -> None:
    if demanded(inputs.problem, item.id):
        message = f"'{item.id}' is demanded but cannot be planned: {reason}"
        fix = f"change that, or demand none (items.{item.id})"
        if missing_price_or_figure(item, inputs):
            fix = "give the figure in a catalog or price book of your own"
        raise _error(inputs, "demanded", f"items.{item.id}", message, fix)


def _error(inputs: Inputs, code: str, path: str, message: str, fix: str) -> InputError:
    document = inputs.document
    file, line = document.place(steps_of(path)) if document else (None, None)
    return InputError(Finding(code, message, file, line, path, fix))


def _standing(item: Item, inputs: Inputs) -> Offer:
    """Owned units that nothing can use and none may be added to."""
    reason = why_not_counted(item, inputs)
    if reason is not None:
        message = f"'{item.id}' is installed and stays, but cannot be counted: {reason}"
        fix = f"give the figure in a catalog of your own, or say items.{item.id}.retire: true"
        raise _error(inputs, "installed", f"items.{item.id}", message, fix)
    return Offer(**{**_offer(item, inputs), "high": 0})


def _offer(item: Item, inputs: Inputs) -> dict[str, Any]:
    """Fields of any offer."""
    rule = inputs.problem.items.get(item.id, NOTHING_ASKED)
    billed = bill_item(item, inputs)
    highs = [rule.fixed, rule.max, item.max_units.value if item.max_units else None]
    if billed.stock is not None:
        highs.append(rule.in_place + billed.stock)
    return {
        **vars(billed),
        # Owned units are in place anyway; a demand beyond them must be in the cluster.
        "low": rule.least if rule.least > rule.in_place else 0,
        "high": min((high for high in highs if high is not None), default=None),
        "min_units": item.min_units.value if item.min_units else 0,
        "rack_use": figures.rack_use(item, inputs),
        "forced": demanded(inputs.problem, item.id),
    }


def _system(item: Item, inputs: Inputs) -> System:
    assert item.provides.gpus is not None
    limit = inputs.problem.storage.client_limit
    gpus = item.provides.gpus.value
    return System(
        **_offer(item, inputs),
        gpus=gpus,
        ways=ways_of(item, inputs),
        client_write_gb_per_s=limit.write or figures.client_gb_per_s(item.client.write, gpus),
        client_read_gb_per_s=limit.read or figures.client_gb_per_s(item.client.read, gpus),
        options=options_on(item, inputs.problem.job),
    )


def _with_fabrics(inputs: Inputs, systems: list[System]) -> list[System]:
    """Systems with the compute fabrics that each may join, and each way in every one of them."""
    keys = {system.id: fabric_keys(inputs.by_id[system.id], inputs) for system in systems}
    order = sorted({key for each in keys.values() for key in each})
    designs = _design_names(order)
    result = []
    for system in systems:
        fabrics = tuple(order.index(key) for key in keys[system.id])
        names = tuple(designs[number] for number in fabrics)
        if len(fabrics) < 2:
            number = fabrics[0] if fabrics else None
            ways = tuple(replace(way, fabric=number) for way in system.ways)
        else:
            ways = tuple(
                replace(way, id=f"{way.id}__{name}", fabric=number)
                for way in system.ways
                for number, name in zip(fabrics, names, strict=True)
            )
        result.append(replace(system, ways=ways, fabrics=fabrics, designs=names))
    return result


def _design_names(keys: Sequence[FabricKey]) -> tuple[str, ...]:
    """Names of compute fabrics: the switch, with planes and oversubscription where they differ."""
    columns: list[list[str]] = [[key.switch for key in keys]]
    ratios = [f"{key.oversubscription:.6g}to1".replace(".", "_") for key in keys]
    for each in ([f"{key.planes}planes" for key in keys], ratios):
        if len(set(each)) > 1:
            columns.append(each)
    return tuple("__".join(parts) for parts in zip(*columns, strict=True))


def _storage(item: Item, inputs: Inputs) -> Storage:
    assert item.family is not None
    provides, problem = item.provides, inputs.problem
    read, write, usable = (
        figure.value if figure else 0.0
        for figure in (provides.read, provides.write, provides.usable)
    )
    if item.is_bulk:
        return Storage(
            **_offer(item, inputs),
            family="",
            nameplate_read_gb_per_s=0.0,
            nameplate_write_gb_per_s=0.0,
            usable_tb=0.0,
            endurance_tb_per_day=0.0,
            units_lost=0.0,
            segments=(),
            bulk_tb=usable,
            bulk_nameplate_read_gb_per_s=read,
        )
    rows = item.sizes.rows if item.sizes else ()
    sustained = max((row.write / row.units for row in rows), default=write)
    burst, window = provides.burst_write, provides.burst_window
    takes_bursts = burst is not None and window is not None and burst.value > sustained
    return Storage(
        **_offer(item, inputs),
        family=item.family,
        nameplate_read_gb_per_s=read,
        nameplate_write_gb_per_s=write,
        usable_tb=usable,
        endurance_tb_per_day=figures.endurance_tb_per_day(item, inputs),
        units_lost=problem.storage.tolerate_down
        / (item.fail_units.value if item.fail_units else 1),
        segments=segments(item.sizes) if item.sizes else (),
        burst_nameplate_gb_per_s=burst.value if burst and takes_bursts else 0.0,
        buffer_gb=(burst.value - sustained) * window.value
        if burst and window and takes_bursts
        else 0.0,
    )


def segments(sizes: Sizes) -> tuple[Segment, ...]:
    """Straight pieces between neighbouring rows; a single row is a piece of itself."""
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
    return tuple(
        FamilyOffer(
            id=family.id,
            write_factor=family.client_factor.write.value if family.client_factor else 1.0,
            read_factor=family.client_factor.read.value if family.client_factor else 1.0,
            max_units=family.max_units.value if family.max_units else None,
            forced=family.id in forced,
        )
        for family in sorted(inputs.families, key=lambda family: family.id)
        if family.id in on_offer
    )


def limits_of(problem: Problem) -> Limits:
    """Limits of a problem."""
    rows = of_group("supply", "ratio", "target")
    given = {limit.field: value_at(problem, limit.path) for limit in rows}
    own = {"facility_power_kw": problem.site.facility_limit_kw, "racks": problem.site.racks}
    return Limits.from_values(given | own)


def limit_at(problem: Problem, path: str, value: float) -> float:
    """The limit on a supply once a path of the problem has a value, as `limits_of` after it."""
    facility_kw = problem.site.left_at_meter_kw(value) if path == "site.facility_power" else None
    return value if facility_kw is None else facility_kw


def _rule(problem: Problem) -> BandwidthRule | None:
    rule = problem.storage.rule
    if isinstance(rule, CustomRule):
        return BandwidthRule(rule.name, rule.read, rule.write)
    if rule == "demand":
        return None
    return VENDOR_RULES[rule]


def _rates(problem: Problem) -> Rates:
    term = problem.term
    if term is None:
        return Rates(0.0, 0.0, 0.0, 0.0)
    return Rates(
        energy_usd_per_kw_year=HOURS_PER_YEAR * term.electricity_usd_per_kwh,
        colocation_usd_per_kw_year=12.0 * term.colocation_usd_per_kw_month,
        years=term.years,
        discounted_years=discounted_years(0.0, term.years, term.discount_rate),
    )


def _policy(problem: Problem, systems: Sequence[System], storage: Sequence[Storage]) -> Policy:
    policy, kinds = problem.policy, {"gpu_system": systems, "storage": storage}
    liked = policy.prefer.vendors if policy.prefer else ()
    disliked = tuple(
        offer.id
        for kind in kinds.values()
        if any(offer.vendor in liked for offer in kind)
        for offer in kind
        if offer.vendor not in liked
    )
    return Policy(
        required=tuple(
            _offers_of_vendor((*systems, *storage), vendor) for vendor in policy.require_vendors
        ),
        splits=tuple(
            Split(
                weights=tuple((offer.id, 1.0) for offer in kinds[rule.category]),
                vendors=tuple(
                    (vendor, _offers_of_vendor(kinds[rule.category], vendor))
                    for vendor in sorted({offer.vendor for offer in kinds[rule.category]})
                ),
                max_share=rule.max_share,
            )
            for rule in policy.split
        ),
        disliked=disliked,
        within=policy.prefer.within if policy.prefer and disliked else 0.0,
    )


def _offers_of_vendor(offers: Sequence[Offer], vendor: str) -> tuple[str, ...]:
    return tuple(offer.id for offer in offers if offer.vendor == vendor)


def _job(problem: Problem, systems: Sequence[System]) -> JobNumbers:
    """The job of a problem, without its local level where no system has drives for it."""
    job = problem.job
    size_gb, bytes_each = job_size(job)
    checkpoint, restore = job.checkpoint, job.restore
    least = min((option.replica_gpus for option in job.options), default=1)
    modes = _modes(job)
    if not any(way.drives is not None for system in systems for way in system.ways):
        modes = tuple(mode for mode in modes if mode != "local") or modes
    return JobNumbers(
        name=job.name,
        checkpoint_gb=size_gb,
        bytes_per_parameter=bytes_each,
        active_parameters=job.training.active_parameters or job.parameters,
        tokens=job.training.tokens,
        mfu=1.0 if job.training.model is not None else job.training.mfu,
        scale=scale_law(job),
        replica_gpus=job.parallelism.replica_gpus if job.parallelism else None,
        modes=modes,
        stall_s=checkpoint.known_stall_s,
        drain_slowdown=checkpoint.drain_slowdown,
        max_overlap=checkpoint.max_overlap,
        max_blocking=checkpoint.max_blocking,
        interval=_interval_rule(checkpoint.interval),
        one_replica_writes=checkpoint.writers == "one_replica",
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
            parameters=job.parameters,
            fill_limit=problem.storage.fill_limit,
        ),
        bulk_needed_tb=_bulk_needed_tb(problem, size_gb),
        derived_stall=checkpoint.stall_s == "derived",
        levels=_levels(job),
        repair=_repair(job),
        lost_time_share=job.lost_share,
    )


def _modes(job: Job) -> tuple[Mode, ...]:
    """Modes of saving checkpoints that the plan may choose from."""
    mode, levels = job.checkpoint.mode, job.levels
    if levels is not None and levels.use == "yes":
        return ("local",)
    modes: tuple[Mode, ...] = ("async", "sync") if mode == "open" else (mode,)
    return modes if levels is None else (*modes, "local")


def _interval_rule(interval: Interval) -> IntervalRule:
    if isinstance(interval, FixedInterval):
        return IntervalRule("fixed", interval.every_s, interval.every_s)
    return IntervalRule("optimal", interval.min_s, interval.max_s)


def _bulk_needed_tb(problem: Problem, checkpoint_gb: float) -> float:
    """Usable capacity of the bulk tier, TB: data set, milestones, exports."""
    job, saved = problem.job, problem.job.checkpoint
    if not job.in_bulk:
        return 0.0
    milestones_tb = saved.milestones * checkpoint_gb / 1e3
    held_tb = job.tiered.size_tb + milestones_tb + exports_tb(job.parameters, saved.exports)
    return held_tb / problem.storage.fill_limit


def _levels(job: Job) -> Levels | None:
    local = job.levels
    if local is None:
        return None
    return Levels(
        copies=local.copies,
        keep=local.keep,
        every=local.every,
        remote_share=remote_share(job.failure_shares, local.recovers, local.copies),
        local_restart_s=local.restart_s,
    )


def _repair(job: Job) -> Repair | None:
    repair = job.repair
    if repair is None:
        return None
    return Repair(
        hardware_share=repair.share,
        out_s=repair.share * repair.time_s,
        swap_s=repair.swap_s,
        spares=repair.spares if isinstance(repair.spares, int) else None,
        shrinks=repair.when_short == "shrink",
    )


# Why an item is excluded: unwanted, a figure missing, no room, no fabric, no way.


def why_excluded(item: Item, inputs: Inputs) -> str | None:
    """Why an item cannot be bought for the cluster or used in it, None where it can."""
    return (
        why_not_wanted(item, inputs.problem)
        or _no_price(item, inputs)
        or missing_figure(item, inputs)
        or _no_room(item, inputs)
        or no_compute_fabric(item, inputs)
        or no_port_group(item, inputs)
        or _no_parallelism(item, inputs.problem.job)
        or _check_ways(item, inputs)
        or _no_cluster(item, inputs)
    )


def missing_price_or_figure(item: Item, inputs: Inputs) -> str | None:
    """The missing price or figure that keeps an item out which the problem wants."""
    if why_not_wanted(item, inputs.problem) is not None:
        return None
    return _no_price(item, inputs) or missing_figure(item, inputs)


def owned_units(item: Item, problem: Problem) -> int:
    """Units of an item that are installed and stay."""
    rule = problem.items.get(item.id)
    return 0 if rule is None else rule.in_place


def why_not_counted(item: Item, inputs: Inputs) -> str | None:
    """Why the power and racks of an owned unit cannot be counted."""
    missing = _missing_draw_and_height(item, inputs)
    return f"not known: {', '.join(missing)}" if missing else _no_room(item, inputs)


def why_not_wanted(item: Item, problem: Problem) -> str | None:
    """Why the problem does not want an item, None where it does."""
    unwanted = _unwanted(item, problem)
    return None if unwanted is None else unwanted[0]


def change_to_include(item: Item, problem: Problem) -> str | None:
    """The change that lets an unwanted item in, None where it is wanted."""
    unwanted = _unwanted(item, problem)
    return None if unwanted is None else unwanted[1]


def _unwanted(item: Item, problem: Problem) -> tuple[str, str] | None:
    """Reason why an item is not wanted, and the change that lets it in."""
    consider, rule = problem.consider, problem.items.get(item.id)
    if rule is not None and rule.exclude:
        return "excluded by items", f"take away items.{item.id}.exclude"
    if item.is_bulk and not problem.job.in_bulk:
        reason = "bulk storage, and no data set is on the bulk tier"
        return reason, f"give {job_path('dataset')} with tier: bulk"
    key, names, name = "storage_families", consider.storage_families, item.family
    if item.category == "gpu_system":
        key, names, name = "gpu_systems", consider.gpu_systems, item.id
    if names is not None and name not in names and not item.is_bulk:
        return "not among those to consider", f"add {name} to consider.{key}"
    if item.vendor in problem.policy.forbid_vendors:
        reason = f"vendor {item.vendor} is forbidden by policy"
        return reason, f"take {item.vendor} out of policy.forbid_vendors"
    if consider.vendors is not None and item.vendor not in consider.vendors:
        reason = f"vendor {item.vendor} is not to be considered"
        return reason, f"add {item.vendor} to consider.vendors"
    if item.lifecycle not in consider.lifecycle and not owned_units(item, problem):
        reason = f"lifecycle is {item.lifecycle.replace('_', ' ')}"
        return reason, f"add {item.lifecycle} to consider.lifecycle"
    return None


def _no_price(item: Item, inputs: Inputs) -> str | None:
    if item.id in inputs.prices or owned_units(item, inputs.problem):
        return None
    return "no price in the price books"


def missing_figure(item: Item, inputs: Inputs) -> str | None:
    """The figures that the problem requires of an item and nobody states, None for none."""
    missing = _missing_bandwidth(item) if item.category == "storage" else _missing_gpu(item, inputs)
    missing += _missing_draw_and_height(item, inputs)
    return f"not known: {', '.join(missing)}" if missing else None


def _missing_bandwidth(item: Item) -> list[str]:
    missing, sides = [], ("read",) if item.is_bulk else ("read", "write")
    if item.sizes is None:
        missing += [name for name in sides if getattr(item.provides, name) is None]
    if item.provides.usable is None:
        missing.append(FIGURES["usable_tb"].label)
    return missing


def _missing_gpu(item: Item, inputs: Inputs) -> list[str]:
    job = inputs.problem.job
    if item.category != "gpu_system":
        return []
    reasons = [why_no_choice(item, inputs, job.spread(option)) for option in job.options or (None,)]
    missing = [] if None in reasons else [reasons[0] or ""]
    if job.checkpoint.stall_s == "derived" and item.local.host_copy is None:
        missing.append("the copy from GPU to host (local.copy), which a derived stall takes")
    if job.levels is not None and job.levels.use == "yes":
        drives = (("write", item.local.write), ("capacity", item.local.capacity))
        missing += [f"local.{key} of its drives" for key, figure in drives if figure is None]
    return missing


def _missing_draw_and_height(item: Item, inputs: Inputs) -> list[str]:
    """Missing draw and height of an item."""
    site = inputs.problem.site
    racked = site.racks is not None and item.consumes.racks is None
    rack_power = racked and site.rack is not None and site.rack.power_kw is not None
    missing = []
    if (needs_power(inputs.problem) or rack_power) and it_power_kw(item, inputs) is None:
        missing.append("power draw")
    required = {row.name for row in least_stated(inputs.problem)}
    if racked:
        required.add("rack_units")
    rows = (row for name, row in STATED.items() if name in required)
    return missing + [row.figure.label for row in rows if stated(item, inputs, row) is None]


def _no_room(item: Item, inputs: Inputs) -> str | None:
    site = inputs.problem.site
    if site.rack is None or rack_use(item, inputs) is not None:
        return None
    if item.consumes.racks is not None:
        limit = site.rack.whole_rack_limit_kw
        return (
            f"draws more than the {limit:g} kW a rack of its own may (site.rack.whole_rack_power)"
        )
    known = rack_units(item, inputs) is not None and it_power_kw(item, inputs) is not None
    return "one unit does not fit into a rack" if known else None


def _no_parallelism(item: Item, job: Job) -> str | None:
    """Why no parallelism of the job fits a type."""
    reasons = [no_spread(item, job.spread(option)) for option in job.options or (None,)]
    return None if None in reasons else reasons[0]


def _check_ways(item: Item, inputs: Inputs) -> str | None:
    if item.category != "gpu_system" or item.provides.gpus is None or choices_on(item, inputs):
        return None
    return "no precision and spread of a replica that fit into its memory have a known rate"


def _no_cluster(item: Item, inputs: Inputs) -> str | None:
    """Why the parts of a storage cluster cannot be had."""
    cluster = next((f.cluster for f in inputs.families if f.id == item.family), None)
    for each in cluster.parts if cluster is not None else ():
        part = inputs.by_id[each.item]
        if part.vendor in inputs.problem.policy.forbid_vendors:
            return f"its clusters need {part.model} of {part.vendor}, forbidden by policy"
        missing = _missing_draw_and_height(part, inputs)
        if missing:
            return f"its clusters need {part.model}, whose {' and '.join(missing)} nobody states"
    return None
