"""Companions of one purchase, counted one after the other: what the arrays are held to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from planner.case import Case
from planner.case.items import System
from planner.case.job import ceil
from planner.case.model import AtLeast, Ceil, Packed, Quantity, Steps, Sum


def counted(quantities: Iterable[Quantity], units: Mapping[str, float]) -> dict[str, float]:
    """Every quantity of whole units, with the units themselves; units not named are 0.

    Raises:
        ValueError: an amount is larger than any size holds.
    """
    values = dict(units)
    for quantity in quantities:
        for _, name in quantity.terms:
            values.setdefault(name, 0)
        amount = sum(factor * values[name] for factor, name in quantity.terms)
        outputs = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        values.update(zip(outputs, _values(quantity, amount, values), strict=True))
    return values


def _values(quantity: Quantity, amount: float, values: Mapping[str, float]) -> tuple[float, ...]:
    if isinstance(quantity, Sum):
        return (amount + quantity.constant,)
    if isinstance(quantity, AtLeast):
        return (max(amount, quantity.least),)
    if isinstance(quantity, Ceil):
        count = ceil(amount + quantity.constant)
        return (count + (quantity.if_any if count else 0),)
    if isinstance(quantity, Packed):
        kinds = tuple(round(values[name]) for _, name in quantity.terms)
        return (quantity.packing.least(kinds),)
    if round(amount) <= 0:
        return (0,) * len(quantity.outputs)
    for size in quantity.sizes:
        if size.capacity >= round(amount):
            return size.outputs
    raise ValueError(f"{quantity.name}: {amount:g} is more than any size holds")


def _fabric_of(case: Case, system: System, ways: Collection[str]) -> int:
    """The fabric of a type's own way; else one of the job's design, or the type's first."""
    designs = {
        f: name for each in case.systems for f, name in zip(each.fabrics, each.designs, strict=True)
    }
    chosen = [way.fabric for way in case.ways if way.id in ways and way.fabric is not None]
    own = [fabric for fabric in chosen if fabric in system.fabrics]
    joins = dict(zip(system.designs, system.fabrics, strict=True))
    others = [joins[designs[fabric]] for fabric in chosen if designs[fabric] in joins]
    return (own or others or [*system.fabrics])[0]


def companion_counts(
    case: Case, units: Mapping[str, int], ways: Collection[str] = ()
) -> dict[str, float]:
    """Every count of a purchase where the job runs in some ways."""
    own = dict(units)
    for system in case.rewired:
        joined = _fabric_of(case, system, ways)
        for fabric in system.fabrics:
            own[system.wired(fabric)] = units.get(system.id, 0) if fabric == joined else 0
    of_items = (Sum(item.id, item.terms) for item in case.companions.items)
    values = counted((*case.companions.quantities, *of_items), own)
    return values | {item.id: round(values[item.id]) for item in case.companions.items}
