"""What a purchase uses up of each limit, which products it may and must hold, whose they are.

    sum_k w_k n_k <= limit,   w_k per unit as in ``SUMS``: kW, kW at the meter, heat, USD, racks

One unit more of a limit is one kW, rack or dollar more of equipment. Money is in millions of USD,
so that the model's numbers are of the size solvers like. The racks of each item, and those that
network devices share, are counts that follow from the purchase (``companions``).
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.case.money import SUMS
from planner.limits import MILLION, SUPPLIES, Limit
from planner.optimizer.context import Build
from planner.optimizer.model import total


def add_money(build: Build) -> None:
    """Add the budgets, sums of other budgets last, and what stock asks of purchases."""
    budgets = (limit for limit in SUPPLIES if limit.scale == MILLION)
    _add(build, sorted(budgets, key=lambda limit: len(SUMS[limit.figure])))
    for item in build.case.bill_items():
        if item.stock is not None:
            build.purchased[item.id]  # its rows hold the stock


def add_power(build: Build) -> None:
    """Add what is drawn and what heats, heat to air last: it is what liquid leaves of the draw."""
    drawn = (limit for limit in SUPPLIES if limit.scale != MILLION and limit.figure in SUMS)
    _add(build, sorted(drawn, key=lambda limit: limit.figure == "heat_air_kw"))


def add_racks(build: Build) -> None:
    """Add what counts by itself: racks, and those that only some positions take."""
    _add(build, (limit for limit in SUPPLIES if limit.figure not in SUMS))
    for some in build.case.companions.positions:
        stood = total(factor * build.units[name] for factor, name in some.racks)
        build.model.row(some.name, stood, "<=", some.count)


def _add(build: Build, limits: Iterable[Limit]) -> None:
    for limit in limits:
        most = build.case.limits[limit.field]
        if most is not None:
            spent = build.sum(limit.figure, limit.scale)
            build.model.row(limit.name, spent, "<=", most / limit.scale)


# Which GPU types and storage families a plan may hold.
#
#     sum_k y_k <= types per job;  N = sum_k g_k u_k  (whole systems)  or, for whole replicas,
#     N = sum_k m v_k,  m v_k <= g_k u_k <= m v_k + (g_k - 1) y_k:  the fewest that hold them
#     (k a type, or each way in which the job may run on it)
#     N >= d_k m y_k:  the least replicas, those of all types together
#     N_k <= B r_k y_k:  a micro-batch of the step for each copy of the model, of r_k GPUs
#     y_w <= fabric_g(w),  sum_g fabric_g <= 1:  a job runs within one compute fabric
#     sum_f z_f <= families (or = exactly so many);  x_k <= cap_k z_f(k)
#     x_k = 0 or x_k >= least order
#
# One more unit of a limit here means one more GPU type or storage vendor in the plan.


def add_selection(build: Build) -> None:
    """Add the rows."""
    _types(build)
    _one_fabric(build)
    _gpus(build)
    _families(build)
    _least_orders(build)


def _types(build: Build) -> None:
    flags = list(build.type_used.values())
    job = build.case.job
    build.model.row("gpu_types", total(flags), "<=", job.max_types)
    build.model.row("some_gpu_type", total(flags), ">=", 1.0)


def _one_fabric(build: Build) -> None:
    if build.case.job.max_types == 1 or len(build.fabrics) < 2:
        return
    flags = build.fabrics
    build.model.row("one_fabric", total(flags.values()), "<=", 1.0)
    for way in build.case.ways:
        if way.fabric is not None:
            row = build.way_used[way.id] - flags[way.fabric]
            build.model.row(f"fabric_of_{way.id}", row, "<=", 0.0)


def _gpus(build: Build) -> None:
    in_use = []
    for system in build.case.systems:
        for way in system.ways:
            in_use.append(build.gpus_in(system, way))
            if way.least_gpus > build.case.job.gpus_min:
                least = float(way.least_gpus) * build.way_used[way.id]
                held = in_use[-1] if build.case.job.max_types == 1 else build.gpus
                build.model.row(f"memory_{way.id}", held - least, ">=", 0.0)
            if way.gpus_max is not None and way.gpus_max < build.gpus_range[1]:
                most = float(way.gpus_max) * build.way_used[way.id]
                build.model.row(f"micro_batches_{way.id}", in_use[-1] - most, "<=", 0.0)
    name = "whole_replicas" if build.case.job.whole_replicas else "gpus_in_use"
    build.model.row(name, build.gpus - total(in_use), "==", 0.0)


def _families(build: Build) -> None:
    serving = total(build.serves.values())
    exact = build.case.exact_families
    if exact is None:
        build.model.row("storage_families", serving, "<=", build.case.max_families)
    else:
        build.model.row("storage_families", serving, "==", exact)
    build.model.row("some_storage", serving, ">=", 1.0)
    for item in build.case.storage:
        units = build.units[item.id] - float(build.caps[item.id]) * build.serves[item.family]
        build.model.row(f"family_of_{item.id}", units, "<=", 0.0)
    for family in build.case.families:
        members = [build.units[i.id] for i in build.case.storage if i.family == family.id]
        build.model.row(
            f"served_by_{family.id}", total(members) - build.serves[family.id], ">=", 0.0
        )
        if family.max_units is not None:
            build.model.row(f"family_max_units_{family.id}", total(members), "<=", family.max_units)


def _least_orders(build: Build) -> None:
    for offer in build.case.offers():
        if offer.min_units <= 1:
            continue
        bought = build.model.var(f"some__{offer.id}", 0.0, 1.0, True)
        units, most = build.units[offer.id], float(max(build.caps[offer.id], offer.low))
        build.model.row(f"least_{offer.id}", units - float(offer.min_units) * bought, ">=", 0.0)
        build.model.row(f"none_or_{offer.id}", units - most * bought, "<=", 0.0)


# What the plan must hold, so that one can ask how good a plan with it can be.
#
#     x_k >= max(1, least order), z_f(k) = 1    (storage)
#     u_k >= 1, type_k = 1                      (GPU systems: in use, not only bought)
#
# A limit of a question, not of the problem: there is no unit of it to have one more of.


def add_in_use(build: Build) -> None:
    """Add the rows."""
    for system in build.case.systems:
        if system.id in build.case.must_use:
            build.model.row(f"in_use_{system.id}", build.type_used[system.id] + 0, ">=", 1.0)
    for item in build.case.storage:
        if item.id in build.case.must_use:
            least = float(max(1, item.min_units))
            build.model.row(f"some_{item.id}", build.units[item.id], ">=", least)
            build.model.row(f"serving_{item.id}", build.serves[item.family] + 0, ">=", 1.0)


# What stands in the cluster idle: of types that hold a replica as it is spread.
#
#     sum_{w spread like that} y_w + x / x_most <= 1


def add_unplaced(build: Build) -> None:
    """Add a row for each GPU system and each way to spread a replica that finds no place on it."""
    case = build.case
    options = dict.fromkeys(way.option for way in case.ways if way.id in case.unplaced)
    for number, option in enumerate(options):
        chosen = total(build.way_used[way.id] for way in case.ways if way.option == option)
        for system in case.systems:
            most = float(max(build.caps[system.id], system.low))
            if option not in system.options and build.may_idle(system) and most:
                row = build.units[system.id] + most * chosen
                build.model.row(f"unplaced_{number}_{system.id}", row, "<=", most)


# What the buyer wants of vendors.
#
#     sum_{k of vendor} x_k >= 1;   sum_{k of vendor} w_k x_k <= share * sum_k w_k x_k
#
# One unit more of a share is that much more that one vendor may supply.


def add_policy(build: Build) -> None:
    """Add a row for each required vendor, and for each vendor of a split category."""
    policy, units = build.case.policy, build.units
    for number, ids in enumerate(policy.required):
        some = total(units[item_id] for item_id in ids) if ids else -1 * build.gpus  # impossible
        build.model.row(f"require_vendor_{number}", some, ">=", 1.0)
    for number, split in enumerate(policy.splits):
        scale = max((weight for _, weight in split.weights), default=1.0) or 1.0
        weights = {item_id: weight / scale for item_id, weight in split.weights}
        whole = total(weight * units[item_id] for item_id, weight in weights.items())
        for place, (_, ids) in enumerate(split.vendors):
            part = total(weights[item_id] * units[item_id] for item_id in ids)
            row = part - split.max_share * whole
            build.model.row(f"split_{number}_{place}", row, "<=", 0.0)
