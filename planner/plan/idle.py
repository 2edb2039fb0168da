"""Installed units that a plan leaves idle: reason, change that uses them, gain of retiring."""

from __future__ import annotations

from planner.case import Case, Storage, System, suitability
from planner.case.model import Offer
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.paths import of_job
from planner.schema.plan import IdleUnits

Why = tuple[str, str]
"""Reason why units are idle, and the change that would use them ('' for none)."""


def idle_units(inputs: Inputs, case: Case, run: Run) -> tuple[IdleUnits, ...]:
    """The owned units that the plan keeps in place and does not use."""
    counts = bill(case, run.units, run.ways).counts
    result = []
    for offer in case.offers():
        used = run.units[offer.id]
        units = round(counts[offer.place]) - used
        if units == 0:
            continue
        reason, change = _why_idle(inputs, case, run, offer)
        retire = f"items.{offer.id}.retire: true {_freed(offer, used, units)}"
        fix = f"{change}; {retire}" if change else retire
        result.append(IdleUnits(sku=offer.id, units=units, reason=reason, fix=fix))
    return tuple(result)


def _freed(offer: Offer, working: int, idle: int) -> str:
    """Power and racks that retiring idle units frees, in words."""
    parts = [f"{offer.it_power_kw * idle:,.1f} kW"] if offer.it_power_kw else []
    if offer.rack_use is not None:
        racks = offer.rack_use.racks(working + idle) - offer.rack_use.racks(working)
        parts += [f"{racks:,} rack{'' if racks == 1 else 's'}"] if racks else []
    return f"frees {' and '.join(parts)}" if parts else "takes them out"


def _why_idle(inputs: Inputs, case: Case, run: Run, offer: Offer) -> Why:
    if isinstance(offer, System):
        in_use = offer.id in run.used
        return (
            _why_no_more(case, run, offer) if in_use else _why_other_type(inputs, case, run, offer)
        )
    if isinstance(offer, Storage):
        return _why_other_storage(inputs, case, run, offer)
    item = inputs.item(offer.id)
    return dict(case.not_considered)[offer.id], suitability.let_in(item, inputs.problem) or ""


def _why_other_type(inputs: Inputs, case: Case, run: Run, system: System) -> Why:
    job, used = case.job, run.used
    names = " and ".join(inputs.item(name).model for name in used)
    alone = f"consider.gpu_systems: [{system.id}] plans the job on them alone"
    fabrics = {way.fabric for _, way in case.in_use(used, run.ways)}
    fits = fabrics <= {*system.fabrics, *([] if system.fabrics else [None])}
    elsewhere = f"they do not fit into the compute fabric of {names}"
    if len(used) < job.max_types:
        if not fits:
            return elsewhere, alone
        return f"the plan is no better with them beside {names}, at the pace of the slowest", ""
    reason = f"{of_job('gpus.max_types', job.name)} is {job.max_types} and the job runs on {names}"
    if not fits:
        return f"{reason}; {elsewhere}", alone
    more = f"max_types: {job.max_types + 1} lets the job use them too, at the pace of the slowest"
    return reason, f"{more}; {alone}"


def _why_no_more(case: Case, run: Run, system: System) -> Why:
    """Why the job uses no more systems of a type in use."""
    job, way = case.job, system.way(run.ways)
    step = way.step_gpus
    if job.gpus_max is not None and run.gpus + step > job.gpus_max:
        place = of_job("gpus.max", job.name)
        spares = "" if job.repair is None else ", and more spares make the plan no better"
        return f"{place} is {job.gpus_max:,}{spares}", f"a larger {place}"
    if step > way.usable_gpus:
        return f"they do not make up another replica of {step:,} GPUs", ""
    return "the plan is no better with more of them in use", ""


def _why_other_storage(inputs: Inputs, case: Case, run: Run, item: Storage) -> Why:
    serving = [other for other in case.flash if run.units[other.id]]
    families = {other.family for other in serving}
    if item.family in families or item.is_bulk:
        return "the job needs no more of them", ""
    names = " and ".join(inputs.item(other.id).model for other in serving)
    if len(families) < case.max_families:
        return f"the plan is no better with them beside {names}", ""
    reason = f"storage.max_families is {case.max_families} and the job is served by {names}"
    alone = f"consider.storage_families: [{item.family}] plans with them alone"
    return reason, f"storage.max_families: {case.max_families + 1} lets the job use both; {alone}"
