"""Items that may be in a plan, and that every one of them was searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.figures import FIGURES, OBJECTIVES, STATED
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.plan import Plan
from planner.verifier.basis import DECIDED, Basis, Findings, value
from planner.verifier.fabric import Devices, plug_of
from planner.verifier.limits import given
from planner.verifier.racks import fits
from planner.verifier.rates import (
    gpus_of,
    least_replicas,
    measured_rate,
    parameters_share,
    peak_tflops,
    set_point,
    tensor_gpus,
    usable_gpus,
    whole_replica,
)

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}


def check_allowed(found: Findings, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> None:
    """Require that the problem allows every item in the cluster, and that none was left out."""
    left_out = {entry.sku for entry in plan.not_considered}
    for sku, count in counts.items():
        item = basis.items[sku]
        reason = excluded(basis, item, basis.bought(item, count)) if count else None
        if reason is None and count and item.sizes is not None:
            low, high = item.sizes.rows[0].units, item.sizes.rows[-1].units
            reason = None if low <= count <= high else f"sizes go from {low} to {high} units"
        found.require(reason is None, f"lines.{sku}: {reason}")
        found.require(not count or sku not in left_out, f"lines.{sku}: listed as not considered")


def check_searched(found: Findings, basis: Basis, plan: Plan) -> None:
    """Require that each item that may be bought was searched, and each other listed as left out."""
    left_out = {entry.sku for entry in plan.not_considered}
    for sku, item in basis.items.items():
        if item.category not in DECIDED:
            continue
        reason = excluded(basis, item, 0 if basis.sale(item).owned else 1)
        if reason is None:
            text = f"searched: {sku} was not, and nothing excludes it"
            found.require(sku in plan.searched, text)
        else:
            found.require(sku in left_out, f"not_considered: {sku} is missing, {reason}")


def excluded(basis: Basis, item: Item, bought: int) -> str | None:
    """Return why an item may not be in the cluster, of which so many units are bought; or None."""
    return next((why for why in _reasons(basis, item, bought) if why is not None), None)


def _reasons(basis: Basis, item: Item, bought: int) -> Iterator[str | None]:
    problem, consider, decided = basis.problem, basis.problem.consider, item.category in DECIDED
    if item.category == "component":
        yield "a component is not bought alone"
    if basis.rule(item.id).exclude:
        yield "excluded by the problem"
    if item.is_bulk and not problem.job.in_bulk:
        yield "no data set is on the bulk tier"
    if item.vendor in problem.policy.forbid_vendors:
        yield f"vendor {item.vendor} is forbidden"
    if decided:
        system = item.category == "gpu_system"
        names = consider.gpu_systems if system else consider.storage_families
        named = names is None or item.is_bulk or (item.id if system else item.family) in names
        if not named or (consider.vendors is not None and item.vendor not in consider.vendors):
            yield "not to be considered"
        if bought and item.lifecycle not in consider.lifecycle:
            yield f"lifecycle is {item.lifecycle}"
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    of_clusters = {part.item for cluster in clusters for part in cluster.parts}
    if bought and item.id not in basis.inputs.prices and item.id not in of_clusters:
        yield "no price"
    if decided:
        yield from _unusable(basis, item)


def _unusable(basis: Basis, item: Item) -> Iterator[str | None]:
    """Yield why a GPU system or storage cannot serve the job or stand in the hall."""
    yield _unknown(basis, item)
    yield _no_draw_or_height(basis, item)
    placed = fits(basis, item)
    if placed is not None and placed[1] == 0:
        yield "does not fit into a rack"
    yield _unplugged(basis, item)
    if item.category == "gpu_system":
        options = basis.job.options or (None,)
        reasons = [_no_replica(basis, item, basis.job.spread(option)) for option in options]
        yield None if None in reasons else reasons[0]
    for family in basis.inputs.families if item.category == "storage" else ():
        for part in family.cluster.parts if family.cluster and family.id == item.family else ():
            needed = basis.items[part.item]
            if needed.vendor in basis.problem.policy.forbid_vendors:
                yield f"vendor {needed.vendor} of its clusters' {needed.id} is forbidden"
            yield _no_draw_or_height(basis, needed)


def _unknown(basis: Basis, item: Item) -> str | None:
    """Return which figure that the job needs is not known."""
    provides, local, checkpoint = item.provides, item.local, basis.job.checkpoint
    if item.category == "storage":
        rated = provides.read is not None and (item.is_bulk or provides.write is not None)
        known = (item.sizes is not None or rated) and provides.usable is not None
        return None if known else "bandwidth or capacity is not known"
    if provides.gpus is None:
        return "number of GPUs is not known"
    if checkpoint.stall_s == "derived" and local.host_copy is None:
        return "copy rate from GPU to host is not known"
    needed = checkpoint.local is not None and checkpoint.local.use == "yes"
    known = local.write is not None and local.capacity is not None
    return "local drives are not known" if needed and not known else None


def _no_draw_or_height(basis: Basis, item: Item) -> str | None:
    site, best = basis.problem.site, basis.problem.objective.minimize
    racked = site.racks is not None and item.consumes.racks is None
    drawn = "draw" in _needs(basis) or site.feeds is not None or site.cooling.cdu is not None
    powered = racked and site.rack is not None and site.rack.power_kw is not None
    if (drawn or powered) and basis.rated_kw(item) is None:
        return "draw is not known"
    if racked and basis.height_ru(item) is None:
        return "height is not known"
    least = "" if best is None else OBJECTIVES[best].figure.name
    missing = least in STATED and basis.stated(item, least) is None
    return f"{least} is not known" if missing else None


def _needs(basis: Basis) -> set[str]:
    """Return what the objective and the limits need to be known: draw, rate, ..."""
    figures = [row.figure for row, _ in given(basis.problem, "supply", "ratio", "target")]
    figures.append(OBJECTIVES[basis.problem.objective.name].figure.name)
    return {need for figure in figures for need in FIGURES[figure].needs}


def _unplugged(basis: Basis, item: Item) -> str | None:
    """Return which port of an item finds no switch."""
    network = basis.problem.network
    if network.compute is not None and item.category == "gpu_system":
        plugs = [plug_of(basis, item.id, each) for each in network.compute.planes_allowed]
        names = network.compute.switches
        if not any(plug.group_of(basis.items[s]) for plug in plugs if plug for s in names):
            return "its compute ports fit no switch"
    edges = {"storage": network.storage, "in_band": network.in_band or network.converged}
    for name, fabric in edges.items():
        port = getattr(item.ports, name)
        if fabric is not None and port is not None:
            speed, protocol = port.speed_gbit_per_s, port.protocol
            devices = Devices(item.id, 1, port.count, speed, None, port.form, protocol)
            if devices.served(basis.items[fabric.switch]) is None:
                return f"its {name} ports fit no switch"
    return None


def _no_replica(basis: Basis, item: Item, job: Job) -> str | None:
    """Return why a replica, spread in one way, does not run on a GPU system."""
    option, memory_gb, training = job.parallelism, value(item.gpu.memory), job.training
    each_gb = 0.0
    if job.parameters is not None and option is not None and memory_gb is not None:
        each_gb = job.parameters * parameters_share(job) / 1e9
    room_gb = (memory_gb or 0.0) * (1 + 1e-8)
    held = [p for p in training.precisions if each_gb * WEIGHT_BYTES[p] <= room_gb]
    if not held:
        return "its memory does not hold the weights of a replica"
    if option is not None and least_replicas(item, job) is None:
        return "its memory does not hold a replica"
    if whole_replica(job) is not None and usable_gpus(job, item) == 0:
        return "a tensor group does not fit into one system"
    if _no_pool(item, job):
        return "its spare trays stay in their racks"
    rated = "rate" in _needs(basis)
    for precision in held:
        row = measured_rate(item, job, precision)
        rate = peak_tflops(item, precision) if training.model is None else row
        if (rate is not None or not rated) and _has_point(basis, item, job, precision):
            return None
    return "no precision and set point with a known rate"


def _has_point(basis: Basis, item: Item, job: Job, precision: str) -> bool:
    caps = (1.0,) if job.power is None or job.power.asked is None else job.power.asked
    rated_kw = basis.rated_kw(item)
    return any(set_point(job, item, precision, cap, rated_kw) is not None for cap in caps)


def _no_pool(item: Item, job: Job) -> bool:
    """Whether spares, or fewer replicas, need a common pool that trays of a type do not make."""
    repair = job.repair
    if repair is None or repair.unit != "tray" or item.spare_unit is None:
        return False
    tray = item.spare_unit.tray.value
    pooled = tray >= gpus_of(item) or tray % tensor_gpus(job) == 0
    return not pooled and (repair.spares != "open" or repair.when_short == "shrink")
