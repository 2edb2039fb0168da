"""What a plan is judged by: the user's problem and the catalogs, by identifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem, Quantity

if TYPE_CHECKING:
    from planner.loader import Inputs

_NOTHING_DEMANDED = Quantity()


@dataclass(frozen=True)
class Basis:
    """The problem, the items and families by identifier, the prices and the discounts."""

    problem: Problem
    items: Mapping[str, Item]
    families: Mapping[str, Family]
    prices: Mapping[str, Price]
    discounts: tuple[Discount, ...]

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> Basis:
        """Return what a plan made from ``inputs`` is judged by."""
        return cls(
            problem=inputs.problem,
            items={item.id: item for item in inputs.items},
            families={family.id: family for family in inputs.families},
            prices=inputs.prices,
            discounts=inputs.discounts,
        )

    def demanded(self, item_id: str) -> Quantity:
        """Return what the user demands of an item's count."""
        return self.problem.items.get(item_id, _NOTHING_DEMANDED)

    def purchased(self, item_id: str, count: int) -> int:
        """Return how many of ``count`` units are bought, the rest being installed already."""
        return max(0, count - self.demanded(item_id).installed)

    def unit_it_power_kw(self, item: Item) -> float | None:
        """Return the maximum draw of one unit in kW, None where it is not known."""
        return self._figure(item, "it_power")

    def unit_rack_units(self, item: Item) -> float | None:
        """Return the height of one unit in rack units, None where it is not known."""
        return self._figure(item, "rack_units")

    def unit_weight_kg(self, item: Item) -> float | None:
        """Return the weight of one unit in kg, None where it is not known."""
        return self._figure(item, "weight")

    def _figure(self, item: Item, resource: str) -> float | None:
        """Return what one unit consumes; a bundle consumes what its components do."""
        own = getattr(item.consumes, resource)
        if own is not None:
            return float(own.value)
        if not item.components:
            return None
        total = 0.0
        for component in item.components:
            figure = getattr(self.items[component.id].consumes, resource)
            if figure is None:
                return None
            total += component.quantity * figure.value
        return total
