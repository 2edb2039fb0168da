"""Reasons why an item cannot be planned: unwanted, a figure missing, no room, no fabric, no way."""

from __future__ import annotations

from planner.case.figures import it_power_kw, rack_units, rack_use, stated
from planner.case.ports import no_compute_fabric, no_port_group
from planner.case.ways import choices_on, no_spread, why_no_choice
from planner.figures import FIGURES, OBJECTIVES, STATED, Stated
from planner.inputs import Inputs, needs
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.problem import Problem


def why_not(item: Item, inputs: Inputs) -> str | None:
    """Why an item cannot be bought for the cluster or used in it, None where it can."""
    return (
        not_wanted(item, inputs.problem)
        or _no_price(item, inputs)
        or missing_figure(item, inputs)
        or _no_room(item, inputs)
        or no_compute_fabric(item, inputs)
        or no_port_group(item, inputs)
        or _no_parallelism(item, inputs.problem.job)
        or _no_way(item, inputs)
        or _no_cluster(item, inputs)
    )


def lacking(item: Item, inputs: Inputs) -> str | None:
    """The missing price or figure that keeps an item out which the problem wants."""
    if not_wanted(item, inputs.problem) is not None:
        return None
    return _no_price(item, inputs) or missing_figure(item, inputs)


def owned(item: Item, problem: Problem) -> int:
    """Units of an item that are installed and stay."""
    rule = problem.items.get(item.id)
    return 0 if rule is None else rule.in_place


def cannot_stand(item: Item, inputs: Inputs) -> str | None:
    """Why the power and racks of an owned unit cannot be counted."""
    missing = _missing_draw_and_height(item, inputs)
    return f"not known: {', '.join(missing)}" if missing else _no_room(item, inputs)


# What the problem wants.


def not_wanted(item: Item, problem: Problem) -> str | None:
    """Why the problem does not want an item, None where it does."""
    unwanted = _unwanted(item, problem)
    return None if unwanted is None else unwanted[0]


def let_in(item: Item, problem: Problem) -> str | None:
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
    if item.lifecycle not in consider.lifecycle and not owned(item, problem):
        reason = f"lifecycle is {item.lifecycle.replace('_', ' ')}"
        return reason, f"add {item.lifecycle} to consider.lifecycle"
    return None


# What must be known.


def least_stated(problem: Problem) -> list[Stated]:
    """Catalog figures that the objective minimises: an item without one would count as nothing."""
    best = OBJECTIVES.get(problem.objective.minimize or "")
    return [row for name, row in STATED.items() if best is not None and best.figure.name == name]


def needs_power(problem: Problem) -> bool:
    """Whether draw matters: limited, paid for, cooled by CDUs, or minimised."""
    site = problem.site
    return needs(problem, "draw") or site.feeds is not None or site.cooling.cdu is not None


def _no_price(item: Item, inputs: Inputs) -> str | None:
    if item.id in inputs.prices or owned(item, inputs.problem):
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
    """Unstated figures of what an item takes wherever it stands."""
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


# Room, parallelism, clusters.


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


def _no_way(item: Item, inputs: Inputs) -> str | None:
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
