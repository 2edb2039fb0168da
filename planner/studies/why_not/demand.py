"""Cases of plans that hold a given item: with less on offer where that changes nothing."""

from __future__ import annotations

from dataclasses import replace

from planner.case import Case, Storage, resolve
from planner.errors import InputError
from planner.inputs import Inputs, changed
from planner.schema.prices import Price
from planner.studies.why_not.study import Study


def demanding(study: Study, name: str, inputs: Inputs | None = None) -> Case:
    """Return the case of plans with at least one unit of an item (of a GPU system: in use).

    Args:
        study: the problem.
        name: the item.
        inputs: the problem at other prices.
    """
    inputs = inputs or study.inputs
    for path, value in _narrowing(study, name):
        try:
            narrowed = changed(inputs, path, value)
            resolve(narrowed)
        except InputError:  # something else is demanded
            continue
        inputs = narrowed
    return replace(resolve(inputs), must_use=(name,))


def insisting(study: Study, name: str) -> tuple[Inputs, str] | None:
    """Return the problem with an item demanded in its own terms, and where that stands in it.

    A GPU system is made the only one, since one that is demanded may stand idle. None where the
    problem's other demands do not allow it.
    """
    path = f"items.{name}.required"
    if name in {system.id for system in study.case.systems}:
        path = "consider.gpu_systems"
    inputs = changed(study.inputs, path, True if path.startswith("items.") else (name,))
    try:
        resolve(inputs)
    except InputError:
        return None
    return inputs, path


def _narrowing(study: Study, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return what need not be on offer where a plan holds the item."""
    case = study.case
    item = next((each for each in case.storage if each.id == name), None)
    if isinstance(item, Storage):
        one = (case.exact_families or case.max_families) == 1
        return [("consider.storage_families", (item.family,))] if one else []
    return [("consider.gpu_systems", (name,))] if only_type(study) else []


def only_type(study: Study) -> bool:
    """Say whether a plan on one GPU type is one of that type alone.

    Idle systems of other types, which a fabric may gain by, are then no part of the question.
    """
    case = study.case
    named = {item_id for ids in case.policy.required for item_id in ids}
    split = {item_id for each in case.policy.splits for item_id, _ in each.weights}
    idle = any(system.low > 0 or system.id in named | split for system in case.systems)
    return case.job.max_types == 1 and not idle


def at_price(study: Study, name: str, list_usd: float) -> Inputs:
    """Return the inputs with another list price of an item; its support follows where a share."""
    price: Price = study.inputs.prices[name]
    prices = {**study.inputs.prices, name: price.model_copy(update={"list_usd": list_usd})}
    return replace(study.inputs, prices=prices)
