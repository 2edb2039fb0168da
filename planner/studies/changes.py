"""Changes of a problem that a study makes, in memory and as ``--set`` would take them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.case import Case
from planner.loader import Inputs
from planner.loader.change import Change, applied


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
