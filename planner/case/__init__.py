"""From inputs to parameters: the items on offer with their figures, the job, limits and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planner.case import figures
from planner.case.companions import derive_companions
from planner.case.fabrics import fabric_keys, no_compute_fabric, no_port_group
from planner.case.figures import (
    bill_item,
    catalog_figure,
    it_power_kw,
    least_stated,
    max_units,
    needs_power,
    rack_units,
    rack_use,
)
from planner.case.items import FamilyOffer, Offer, Storage, System
from planner.case.job import IntervalRule, Job, Levels, Mode, Repair, Way
from planner.case.model import HELD, Case, Companions, Limits, Policy, Rates, Split
from planner.case.ways import list_choices, list_ways, scale_law, why_no_choice, why_no_spread
from planner.currency import discounted_years
from planner.errors import InputError
from planner.figures import FIGURES, STATED
from planner.inputs import NOTHING_ASKED, Inputs, demanded, job_size
from planner.limits import of_group
from planner.paths import job_path, value_at
from planner.schema.catalog import Item
from planner.schema.job import Job as StatedJob
from planner.schema.job import OptimalInterval
from planner.schema.problem import CustomRule, Problem
from planner.sizing.availability import remote_share
from planner.sizing.checkpoint import VENDOR_RULES, BandwidthRule, capacity_tb
from planner.units import HOURS_PER_YEAR

__all__ = [
    "Case",
    "FamilyOffer",
    "IntervalRule",
    "Job",
    "Limits",
    "Storage",
    "System",
    "Way",
    "limit_after_change",
    "missing_figure",
    "missing_price_or_figure",
    "problem_limits",
    "resolve",
    "unwanted_reason",
    "why_excluded",
    "why_not_wanted",
    "with_companions",
]


def resolve(inputs: Inputs) -> Case:
    """Resolve validated inputs.

    Raises:
        InputError: an item the problem demands lacks a figure, a price or room in a rack.
    """
    problem = inputs.problem
    systems: list[System] = []
    storage: list[Storage] = []
    unusable: list[Offer] = []
    left_out: list[tuple[str, str]] = []
    for item in sorted(inputs.items, key=lambda item: item.id):
        if item.category not in ("gpu_system", "storage"):
            continue
        reason = why_excluded(item, inputs)
        if reason is None and item.category == "gpu_system":
            systems.append(_system(item, inputs))
        elif reason is None:
            storage.append(_storage(item, inputs))
        else:
            unusable += _installed_unusable(item, inputs, reason)
            left_out.append((item.id, reason))
    several = next((system.id for system in systems if len(system.ways) > 1), None)
    if several is not None and problem.job.gpus.max_types != 1:
        # The slowest type sets the pace of all, so that each one's way depends on the others'.
        message = f"{several} may run in several ways, and the job on several types of GPU system"
        fix = "give gpus.max_types: 1, or one power set point, precision and parallelism"
        raise _error(inputs, "several-types", job_path("gpus.max_types"), message, fix)
    systems, term = _with_fabrics(inputs, systems), problem.term
    rule = problem.storage.rule
    case = Case(
        systems=tuple(systems),
        storage=tuple(storage),
        unusable=tuple(unusable),
        families=_families(inputs, storage),
        job=_job(problem, systems),
        limits=problem_limits(problem),
        objective=problem.objective.name,
        delivered_read_share=problem.storage.delivered_fraction.read,
        delivered_write_share=problem.storage.delivered_fraction.write,
        max_families=problem.storage.max_families,
        tolerate_down=problem.storage.tolerate_down,
        rule=BandwidthRule(rule.name, rule.read, rule.write)
        if isinstance(rule, CustomRule)
        else VENDOR_RULES.get(rule),
        rates=Rates(0.0, 0.0, 0.0, 0.0)
        if term is None
        else Rates(
            energy_usd_per_kw_year=HOURS_PER_YEAR * term.electricity_usd_per_kwh,
            colocation_usd_per_kw_year=12.0 * term.colocation_usd_per_kw_month,
            years=term.years,
            discounted_years=discounted_years(0.0, term.years, term.discount_rate),
        ),
        companions=Companions(),
        policy=_policy(problem, systems, storage),
        indifference=problem.objective.indifferent,
        not_considered=tuple(left_out),
    )
    return with_companions(inputs, case)


def with_companions(inputs: Inputs, case: Case) -> Case:
    """A case with its companions, whose fabrics are only as large as its limits allow."""
    tops = {offer.id: max(max_units(case, offer), offer.low) for offer in case.offers()}
    return replace(case, companions=derive_companions(inputs, case, tops))


def _error(inputs: Inputs, code: str, path: str, message: str, fix: str) -> InputError:
    return InputError(inputs.finding(code, path, message, fix))


def _installed_unusable(item: Item, inputs: Inputs, reason: str) -> list[Offer]:
    """Owned units of an excluded item: in place, and none may be added to them.

    Raises:
        InputError: units of the item are demanded, or its owned ones cannot be counted.
    """
    path = f"items.{item.id}"
    if demanded(inputs.problem, item.id):
        message = f"'{item.id}' is demanded but cannot be planned: {reason}"
        fix = f"change that, or demand none ({path})"
        if missing_price_or_figure(item, inputs):
            fix = "give the figure in a catalog or price book of your own"
        raise _error(inputs, "demanded", path, message, fix)
    if not inputs.problem.items.get(item.id, NOTHING_ASKED).in_place:
        return []
    missing = _missing_draw_and_height(item, inputs)
    unknown = f"not known: {', '.join(missing)}" if missing else _no_room(item, inputs)
    if unknown is not None:
        message = f"'{item.id}' is installed and stays, but cannot be counted: {unknown}"
        fix = f"give the figure in a catalog of your own, or say {path}.retire: true"
        raise _error(inputs, "installed", path, message, fix)
    return [Offer(**{**_offer(item, inputs), "high": 0})]


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
    limit, client = inputs.problem.storage.client_limit, item.client
    gpus = item.provides.gpus.value
    assumed = figures.CLIENT_GB_PER_S_PER_GPU * gpus
    return System(
        **_offer(item, inputs),
        gpus=gpus,
        ways=list_ways(item, inputs),
        client_write_gb_per_s=limit.write or (client.write.value if client.write else assumed),
        client_read_gb_per_s=limit.read or (client.read.value if client.read else assumed),
    )


def _with_fabrics(inputs: Inputs, systems: list[System]) -> list[System]:
    """Systems with the compute fabrics that each may join, and each way in every one of them.

    A fabric is named by its switch, with planes and oversubscription where they differ.
    """
    keys = {system.id: fabric_keys(inputs.by_id[system.id], inputs) for system in systems}
    order = sorted({key for each in keys.values() for key in each})
    columns: list[list[str]] = [[key.switch for key in order]]
    ratios = [f"{key.oversubscription:.6g}to1".replace(".", "_") for key in order]
    for each in ([f"{key.planes}planes" for key in order], ratios):
        if len(set(each)) > 1:
            columns.append(each)
    designs = ["__".join(parts) for parts in zip(*columns, strict=True)]
    result = []
    for system in systems:
        fabrics = tuple(order.index(key) for key in keys[system.id])
        names = tuple(designs[number] for number in fabrics)
        ways = tuple(
            replace(way, id=f"{way.id}__{name}" if len(fabrics) > 1 else way.id, fabric=number)
            for way in system.ways
            for number, name in zip(fabrics or (None,), names or ("",), strict=True)
        )
        result.append(replace(system, ways=ways, fabrics=fabrics, designs=names))
    return result


def _storage(item: Item, inputs: Inputs) -> Storage:
    provides, problem = item.provides, inputs.problem
    read, write, usable = (
        figure.value if figure else 0.0
        for figure in (provides.read, provides.write, provides.usable)
    )
    if item.is_bulk:
        offer = _offer(item, inputs)
        return Storage(**offer, bulk_tb=usable, bulk_nameplate_read_gb_per_s=read)
    assert item.family is not None
    burst = buffer_gb = 0.0
    if provides.burst_write is not None and provides.burst_window is not None:
        burst = provides.burst_write.value
        burst = burst if burst > write else 0.0
        buffer_gb = max(0.0, burst - write) * provides.burst_window.value
    return Storage(
        **_offer(item, inputs),
        family=item.family,
        nameplate_read_gb_per_s=read,
        nameplate_write_gb_per_s=write,
        usable_tb=usable,
        endurance_tb_per_day=figures.endurance_tb_per_day(item, inputs),
        units_lost=problem.storage.tolerate_down
        / (item.fail_units.value if item.fail_units else 1),
        burst_nameplate_gb_per_s=burst,
        buffer_gb=buffer_gb,
    )


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


def problem_limits(problem: Problem) -> Limits:
    """Limits of a problem."""
    rows = of_group("supply", "ratio", "target")
    given = {limit.field: value_at(problem, limit.path) for limit in rows}
    own = {"facility_power_kw": problem.site.facility_limit_kw, "racks": problem.site.racks}
    return Limits(given | own | dict.fromkeys(HELD))


def limit_after_change(problem: Problem, path: str, value: float) -> float:
    """A limit on a supply, in the unit of `Limits`, after a path of the problem gets a value."""
    facility_kw = problem.site.left_at_meter_kw(value) if path == "site.facility_power" else None
    return value if facility_kw is None else facility_kw


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

    def ids_by_vendor(offers: Sequence[Offer]) -> dict[str, tuple[str, ...]]:
        vendors = sorted({offer.vendor for offer in offers})
        return {name: tuple(o.id for o in offers if o.vendor == name) for name in vendors}

    every = ids_by_vendor((*systems, *storage))
    return Policy(
        required=tuple(every.get(vendor, ()) for vendor in policy.require_vendors),
        splits=tuple(
            Split(
                vendors=tuple(ids_by_vendor(kinds[rule.category]).values()),
                max_share=rule.max_share,
            )
            for rule in policy.split
        ),
        disliked=disliked,
        within=policy.prefer.within if policy.prefer and disliked else 0.0,
    )


def _job(problem: Problem, systems: Sequence[System]) -> Job:
    """The job of a problem, without its local level where no system has drives for it."""
    job, checkpoint, restore = problem.job, problem.job.checkpoint, problem.job.restore
    size_gb, bytes_each = job_size(job)
    local, interval, repair = job.levels, checkpoint.interval, job.repair
    return Job(
        name=job.name,
        checkpoint_gb=size_gb,
        bytes_per_parameter=bytes_each,
        active_parameters=job.training.active_parameters or job.parameters,
        tokens=job.training.tokens,
        mfu=1.0 if job.training.model is not None else job.training.mfu,
        scale=scale_law(job),
        replica_gpus=job.parallelism.replica_gpus if job.parallelism else None,
        modes=_modes(job, systems),
        stall_s=checkpoint.known_stall_s,
        drain_slowdown=checkpoint.drain_slowdown,
        max_overlap=checkpoint.max_overlap,
        max_blocking=checkpoint.max_blocking,
        interval=IntervalRule("optimal", interval.min_s, interval.max_s)
        if isinstance(interval, OptimalInterval)
        else IntervalRule("fixed", interval.every_s, interval.every_s),
        one_replica_writes=checkpoint.writers == "one_replica",
        fan_out=restore.fan_out,
        max_restore_s=restore.max_time_s,
        restart_s=job.restart_s,
        gpus_min=max(min((o.replica_gpus for o in job.options), default=1), job.gpus.min or 1),
        gpus_max=job.gpus.max,
        whole_replicas=job.whole_replicas,
        max_types=job.gpus.max_types,
        ingest_per_gpu_gb_per_s=job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=capacity_tb(
            dataset_tb=job.dataset_tb,
            checkpoint_gb=size_gb,
            keep_last=checkpoint.keep_last,
            fill_limit=problem.storage.fill_limit,
        ),
        bulk_needed_tb=(job.tiered.size_tb if job.in_bulk else 0.0) / problem.storage.fill_limit,
        derived_stall=checkpoint.stall_s == "derived",
        levels=None
        if local is None
        else Levels(
            copies=local.copies,
            keep=local.keep,
            every=local.every,
            remote_share=remote_share(job.failure_shares, local.recovers, local.copies),
            local_restart_s=local.restart_s,
        ),
        repair=None
        if repair is None
        else Repair(
            hardware_share=repair.share,
            repair_s=repair.time_s,
            swap_s=repair.swap_s,
            spares=repair.spares if isinstance(repair.spares, int) else None,
            shrinks=repair.when_short == "shrink",
        ),
        lost_time_share=job.lost_share,
    )


def _modes(job: StatedJob, systems: Sequence[System]) -> tuple[Mode, ...]:
    """Modes of saving checkpoints that the plan may choose from."""
    mode, levels = job.checkpoint.mode, job.levels
    if levels is not None and levels.use == "yes":
        return ("local",)
    modes: tuple[Mode, ...] = ("async", "sync") if mode == "open" else (mode,)
    drives = any(way.drives is not None for system in systems for way in system.ways)
    return (*modes, "local") if levels is not None and drives else modes


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
        or _no_way(item, inputs)
        or _no_cluster(item, inputs)
    )


def missing_price_or_figure(item: Item, inputs: Inputs) -> str | None:
    """The missing price or figure that keeps an item out which the problem wants."""
    if unwanted_reason(item, inputs.problem) is not None:
        return None
    return _no_price(item, inputs) or missing_figure(item, inputs)


def why_not_wanted(item: Item, problem: Problem) -> str | None:
    """Why the problem does not want an item, None where it does."""
    return (unwanted_reason(item, problem) or (None, None))[0]


def unwanted_reason(item: Item, problem: Problem) -> tuple[str, str] | None:
    """Reason why an item is not wanted, and the change that lets it in; None where it is."""
    consider, rule = problem.consider, problem.items.get(item.id, NOTHING_ASKED)
    if rule.exclude:
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
    if item.lifecycle not in consider.lifecycle and not rule.in_place:
        reason = f"lifecycle is {item.lifecycle.replace('_', ' ')}"
        return reason, f"add {item.lifecycle} to consider.lifecycle"
    return None


def _no_price(item: Item, inputs: Inputs) -> str | None:
    owned = inputs.problem.items.get(item.id, NOTHING_ASKED).in_place
    return None if item.id in inputs.prices or owned else "no price in the price books"


def missing_figure(item: Item, inputs: Inputs) -> str | None:
    """The figures that the problem requires of an item and nobody states, None for none."""
    missing: list[str] = []
    if item.category == "gpu_system":
        missing += _missing_gpu(item, inputs)
    if item.category == "storage":
        sides = ("read",) if item.is_bulk else ("read", "write")
        missing += [name for name in sides if getattr(item.provides, name) is None]
        if item.provides.usable is None:
            missing.append(FIGURES["usable_tb"].label)
    missing += _missing_draw_and_height(item, inputs)
    return f"not known: {', '.join(missing)}" if missing else None


def _missing_gpu(item: Item, inputs: Inputs) -> list[str]:
    job = inputs.problem.job
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
    return missing + [row.figure.label for row in rows if catalog_figure(item, inputs, row) is None]


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


def _no_way(item: Item, inputs: Inputs) -> str | None:
    """Why the job cannot run on a type in any parallelism and precision."""
    job = inputs.problem.job
    reasons = [why_no_spread(item, job.spread(option)) for option in job.options or (None,)]
    if None not in reasons:
        return reasons[0]
    if item.category != "gpu_system" or item.provides.gpus is None or list_choices(item, inputs):
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
