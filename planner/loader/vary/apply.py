"""Making inputs of changes: of the problem, of catalogs, of prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from planner.loader.change import Change, changed
from planner.loader.inputs import Inputs
from planner.loader.vary.place import CATALOG, PRICES
from planner.schema.catalog import Figure

Parts = dict[str, list[Change]]


def applied(inputs: Inputs, changes: Iterable[Change], *, told: bool = False) -> Inputs:
    """Return the inputs with changes made, to the problem, to catalogs and to prices.

    Nothing is checked: see ``checked``. A figure of a catalog keeps its source and confidence.

    Args:
        inputs: validated inputs.
        changes: what to change, in this order.
        told: whether plans made of them tell the changes in their provenance.
    """
    changes = tuple(changes)
    items, prices = _by_part(changes, CATALOG), _by_part(changes, PRICES)
    for change in changes:
        if not _outside(change):
            inputs = changed(inputs, change.path, change.value)
    if items:
        inputs = _with_figures(inputs, items)
    if prices:
        new = {name: _with_all(inputs.prices[name], made) for name, made in prices.items()}
        inputs = replace(inputs, prices={**inputs.prices, **new})
    settings = tuple(change.setting for change in changes) if told else ()
    return replace(inputs, overrides=(*inputs.overrides, *settings))


def _outside(change: Change) -> bool:
    """Say whether a change is one of a catalog or of prices; the problem's own have two steps."""
    steps = change.path.split(".", 2)
    return len(steps) == 3 and steps[0] in (CATALOG, PRICES)


def _by_part(changes: Iterable[Change], root: str) -> Parts:
    found: Parts = defaultdict(list)
    for change in changes:
        if _outside(change) and change.path.startswith(f"{root}."):
            found[change.path.split(".", 2)[1]].append(change)
    return found


def _with_figures(inputs: Inputs, changes: Parts) -> Inputs:
    """Return the inputs with items and families changed; an item goes before a family."""
    items = {item.id: item for item in inputs.items}
    families = {family.id: family for family in inputs.families}
    for name, made in changes.items():
        if name in items:
            items[name] = _with_all(items[name], made)
        else:
            families[name] = _with_all(families[name], made)
    return replace(inputs, items=tuple(items.values()), families=tuple(families.values()))


def _with_all(part: Any, changes: Iterable[Change]) -> Any:
    for change in changes:
        part = _with(part, change.path.split(".")[2:], change)
    return part


def _with(here: Any, steps: list[str], change: Change) -> Any:
    """Return a part of a catalog or price with the value at ``steps`` replaced."""
    if not steps:
        if isinstance(here, Figure):
            return here.model_copy(update={"value": change.value})
        return change.value
    step, rest = steps[0], steps[1:]
    if isinstance(here, tuple) and step.isdigit() and int(step) < len(here):
        index = int(step)
        return (*here[:index], _with(here[index], rest, change), *here[index + 1 :])
    if isinstance(here, Mapping) and step in here:
        return {**here, step: _with(here[step], rest, change)}
    if isinstance(here, BaseModel):
        for name, field in type(here).model_fields.items():
            if step in (field.alias, name):
                return here.model_copy(update={name: _with(getattr(here, name), rest, change)})
    raise KeyError(change.path)
