"""What is owned and stands idle in a plan: why, what would use it, and what letting it go frees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.case import Case, Storage, System, figures
from planner.case.model import Offer
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.plan import IdleUnits

Why = tuple[str, str]
"""Why units are not used, and what would use them; the latter may be nothing."""


def idle_units(inputs: Inputs, case: Case, operation: Operation) -> tuple[IdleUnits, ...]:
    """Return the owned units that the plan keeps in place and does not use."""
    known = {item.id: item for item in inputs.items}
    counts = bill(case, operation.units).counts
    return tuple(_idle(inputs, case, operation, known, counts))


def _idle(
    inputs: Inputs,
    case: Case,
    operation: Operation,
    known: Mapping[str, Item],
    counts: Mapping[str, float],
) -> Iterator[IdleUnits]:
    for offer in case.offers():
        units = round(counts[offer.place]) - operation.units[offer.id]
        if units == 0:
            continue
        if isinstance(offer, System):
            reason, use = _system(case, operation, offer, known)
        elif isinstance(offer, Storage):
            reason, use = _storage(case, operation, offer, known)
        else:
            reason, use = _kept_out(inputs, case, known[offer.id])
        fix = f"items.{offer.id}.retire: true {_freed(offer, operation.units[offer.id], units)}"
        yield IdleUnits(
            sku=offer.id, units=units, reason=reason, fix=f"{use}; {fix}" if use else fix
        )


def _freed(offer: Offer, working: int, idle: int) -> str:
    """Return in words what is free once the units are gone."""
    parts = [f"{offer.it_power_kw * idle:,.1f} kW"] if offer.it_power_kw else []
    use = offer.rack_use
    if use is not None:
        racks = use.racks(working + idle) - use.racks(working)
        parts += [f"{racks:,} rack{'' if racks == 1 else 's'}"] if racks else []
    return f"frees {' and '.join(parts)}" if parts else "takes them out"


def _system(case: Case, operation: Operation, system: System, known: Mapping[str, Item]) -> Why:
    job, used = case.job, operation.used
    if system.id in used:
        return _more_of(case, operation, system)
    names = " and ".join(known[name].model for name in used)
    alone = f"consider.gpu_systems: [{system.id}] plans the job on them alone"
    fabrics = {other.fabric for other in case.systems if other.id in used}
    elsewhere = f"they do not fit into the compute fabric of {names}"
    if len(used) < job.max_types:
        if fabrics != {system.fabric}:
            return elsewhere, alone
        return f"the plan is no better with them beside {names}, at the pace of the slowest", ""
    reason = f"{job_path('gpus.max_types')} is {job.max_types} and the job runs on {names}"
    if fabrics != {system.fabric}:
        return f"{reason}; {elsewhere}", alone
    more = f"max_types: {job.max_types + 1} lets the job use them too, at the pace of the slowest"
    return reason, f"{more}; {alone}"


def _more_of(case: Case, operation: Operation, system: System) -> Why:
    """Return why the job uses no more systems of a type that it uses."""
    job, step = case.job, case.job.step(system)
    if job.gpus_max is not None and operation.gpus + step > job.gpus_max:
        path = job_path("gpus.max")
        return f"{path} is {job.gpus_max:,}", f"a larger {path}"
    if step > system.usable_gpus:
        return f"they do not make up another replica of {step:,} GPUs", ""
    return "the plan is no better with more of them in use", ""


def _storage(case: Case, operation: Operation, item: Storage, known: Mapping[str, Item]) -> Why:
    serving = {other.family for other in case.storage if operation.units[other.id]}
    if item.family in serving:
        return "the job needs no more of them", ""
    names = " and ".join(
        known[other.id].model for other in case.storage if operation.units[other.id]
    )
    if len(serving) < case.max_families:
        return f"the plan is no better with them beside {names}", ""
    key = "max_families" if case.exact_families is None else "exact_families"
    reason = f"storage.{key} is {case.max_families} and the job is served by {names}"
    alone = f"consider.storage_families: [{item.family}] plans with them alone"
    return reason, f"storage.{key}: {case.max_families + 1} lets the job use both; {alone}"


def _kept_out(inputs: Inputs, case: Case, item: Item) -> Why:
    """Return why the problem or the catalogs keep owned units out of the cluster."""
    reason = dict(case.not_considered)[item.id]
    return reason, figures.let_in(item, inputs.problem) or ""
