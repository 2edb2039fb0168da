"""Changes of a problem that a study makes, in memory and as ``--set`` would take them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from planner.case import Case
from planner.case.model import ObjectiveName
from planner.inputs import Change, Inputs, applied


def apply(inputs: Inputs, changes: Iterable[Change]) -> Inputs:
    """Return the inputs with every change made, told in the provenance of their plans."""
    return applied(inputs, changes, told=True)


def storage_of(case: Case, vendors: Collection[str]) -> tuple[Change, ...]:
    """Return what leaves only the storage of some vendors on offer."""
    members = {item.id for item in case.storage if item.vendor in vendors}
    families = tuple(sorted({item.family for item in case.storage if item.id in members}))
    changes = [Change("consider.storage_families", families, f"[{', '.join(families)}]")]
    for item in case.storage:
        if item.family in families and item.id not in members:
            changes.append(Change(f"items.{item.id}.exclude", True, "true"))
    return tuple(changes)


def systems_of(ids: Collection[str]) -> tuple[Change, ...]:
    """Return what leaves only some GPU systems on offer."""
    names = tuple(sorted(ids))
    return (Change("consider.gpu_systems", names, f"[{', '.join(names)}]"),)


def no_worse(inputs: Inputs, objective: ObjectiveName, worst: float, margin: float = 0.0) -> Change:
    """Return the change that lets no plan be worse than so in an objective.

    Args:
        inputs: the problem; what it asks for already stays asked for.
        objective: which of them.
        worst: the worst value that will do, in the objective's own unit.
        margin: how much tighter than that to ask, as a share.
    """
    targets, budget, site = inputs.problem.targets, inputs.problem.budget, inputs.problem.site
    low, high = worst * (1.0 + margin), worst * (1.0 - margin)
    if objective == "goodput":
        value = max(low, targets.min_useful_pflops or 0.0)
        return Change("targets.min_useful_pflops", value, f"{value:.9g}")
    if objective == "useful_gpus":
        value = max(low, targets.min_useful_gpus or 0.0)
        return Change("targets.min_useful_gpus", value, f"{value:.9g}")
    if objective == "gpus":
        gpus = max(math.ceil(worst - 1e-6), targets.min_gpus or 1)
        return Change("targets.min_gpus", gpus, f"{gpus}")
    if objective == "power":
        value = min(high, site.it_power_kw or math.inf)
        return Change("site.it_power", value, f"{value:.9g} kW")
    if objective == "tco":
        value = min(high, budget.tco_usd or math.inf)
        return Change("budget.tco", value, f"{value:.2f} USD")
    value = min(high, budget.capex_usd or math.inf)
    return Change("budget.capex", value, f"{value:.2f} USD")
