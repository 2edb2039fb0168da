"""Changes of a problem that a study makes, in memory and as ``--set`` would take them."""

from __future__ import annotations

import math
from collections.abc import Collection

from planner.case import Case
from planner.case.model import ObjectiveName
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Change, Inputs, value_at
from planner.limits import BY_NAME, COUNTED_IN


def storage_of(case: Case, vendors: Collection[str]) -> tuple[Change, ...]:
    """Changes that leave only the storage of some vendors on offer."""
    members = {item.id for item in case.flash if item.vendor in vendors}
    families = tuple(sorted({item.family for item in case.flash if item.id in members}))
    changes = [Change("consider.storage_families", families, f"[{', '.join(families)}]")]
    for item in case.storage:
        if item.family in families and item.id not in members:
            changes.append(Change(f"items.{item.id}.exclude", True, "true"))
    return tuple(changes)


def systems_of(ids: Collection[str]) -> tuple[Change, ...]:
    """Changes that leave only some GPU systems on offer."""
    names = tuple(sorted(ids))
    return (Change("consider.gpu_systems", names, f"[{', '.join(names)}]"),)


def no_worse(inputs: Inputs, objective: ObjectiveName, worst: float, margin: float = 0.0) -> Change:
    """Change that lets no plan be worse than a value of an objective.

    Args:
        inputs: the problem; what it asks for already stays asked for.
        objective: which of them.
        worst: the worst value that will do, in the objective's own unit.
        margin: how much tighter than that to ask, as a share.
    """
    asked = OBJECTIVES[objective]
    row = BY_NAME[asked.limit]
    own, worst = value_at(inputs, row.path), worst / asked.per
    if row.file_unit in COUNTED_IN:
        count = max(math.ceil(worst - 1e-6), own or 1)
        if row.sense == "<=":
            most = math.floor(worst + 1e-6)
            count = most if own is None else min(most, own)
        return Change(row.path, count, f"{count}")
    if row.sense == ">=":
        value = max(worst * (1.0 + margin), own or 0.0)
    else:
        value = min(worst * (1.0 - margin), own or math.inf)
    money = inputs.problem.shown_in
    if asked.name in RATIOS:  # cents would be coarse
        return Change(row.path, value, f"{money.of(value):.9g} {money.code}")
    if asked.figure.money:
        return Change(row.path, value, f"{money.of(value):.2f} {money.code}")
    return Change(row.path, value, f"{value:.9g} {'kW' if row.file_unit == 'kW' else ''}".rstrip())
