"""Counts and needs of companions while they are collected, and upper bounds of these counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.case.figures import at_least
from planner.case.items import System, Terms
from planner.case.job import ROUNDING
from planner.case.model import AtLeast, Case, Ceil, Fabric, Packed, Quantity, Steps, Sum
from planner.inputs import Inputs
from planner.schema.catalog import Item

Term = tuple[float, str]
Majorant = tuple[dict[str, float], float]
"""Factors of the offers' units, and a constant."""

# Upper bounds of counts, which keep fabrics small.


@dataclass
class Bounds:
    """Upper bounds of the counts of a case; ``tops`` are the most units of each offer."""

    tops: dict[str, int]
    weights: list[tuple[float, dict[str, float]]]
    majorants: dict[str, Majorant] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Case, tops: dict[str, int]) -> Bounds:
        """The bounds of a case whose offers have at most ``tops`` units."""
        limits, offers = case.limits, [at_least(offer) for offer in case.offers()]
        price = {o.id: 0.0 if o.installed else o.unit_net_usd or 0.0 for o in offers}
        uses = ((o.id, o.rack_use) for o in offers)
        racks = {name: use.racks_each / use.per_rack if use else 0.0 for name, use in uses}
        each = (
            (limits["it_power_kw"], {o.id: o.it_power_kw for o in offers}),
            (limits["facility_power_kw"], {o.id: o.meter_kw for o in offers}),
            (limits["capex_usd"], price),
            (limits["racks"], racks),
        )
        return cls(tops, [(float(limit), use) for limit, use in each if limit is not None])

    def follow(self, systems: Iterable[System]) -> None:
        """Add the systems that each compute fabric joins: at most all of a type."""
        for system in systems:
            for fabric in system.fabrics:
                self.majorants[system.wired(fabric)] = {system.id: 1.0}, 0.0

    def add(self, quantities: Iterable[Quantity]) -> None:
        """Add the majorants of counts that follow from those known so far."""
        for quantity in quantities:
            terms, constant = self.linear(quantity.terms)
            if isinstance(quantity, Packed):
                self.majorants[quantity.name] = self._racks_by_kind(quantity)
            elif isinstance(quantity, Steps):
                for index, name in enumerate(quantity.outputs):
                    self.majorants[name] = self._steps(quantity, index, terms, constant)
            elif isinstance(quantity, AtLeast):
                self.majorants[quantity.name] = terms, constant + quantity.least
            elif isinstance(quantity, Ceil):
                more = quantity.constant + 1.0 + quantity.if_any
                self.majorants[quantity.name] = terms, constant + more
            else:
                self.majorants[quantity.name] = terms, constant + quantity.constant

    def most(self, terms: Iterable[tuple[float, str]]) -> float:
        """Upper bound of a sum of terms."""
        factors, constant = self.linear(terms)
        best = sum(factor * self.tops[name] for name, factor in factors.items())
        for limit, use in self.weights:
            free = sum(f * self.tops[name] for name, f in factors.items() if use[name] <= 0)
            rates = (f / use[name] for name, f in factors.items() if use[name] > 0)
            best = min(best, free + limit * max(rates, default=0.0) * (1 + ROUNDING))
        return best + constant

    def linear(self, terms: Iterable[tuple[float, str]]) -> Majorant:
        """Majorant of a sum of terms."""
        factors: dict[str, float] = {}
        constant = 0.0
        for factor, name in terms:
            inner, more = self.majorants.get(name, ({name: 1.0}, 0.0))
            constant += factor * more
            for key, value in inner.items():
                factors[key] = factors.get(key, 0.0) + factor * value
        return factors, constant

    def _racks_by_kind(self, quantity: Packed) -> Majorant:
        """Racks that would hold every kind by itself."""
        alone = quantity.packing.alone
        terms = ((1.0 / n, name) for n, (_, name) in zip(alone, quantity.terms, strict=True))
        factors, constant = self.linear(terms)
        return factors, constant + len(alone)

    def _steps(
        self, quantity: Steps, index: int, terms: dict[str, float], constant: float
    ) -> Majorant:
        """Output <= first + rate * amount, with the steepest rate of any size reached."""
        most = self.most(quantity.terms) + 1.0
        first = low = 0
        rate = 0.0
        for number, size in enumerate(quantity.sizes):
            if low >= most:
                break
            if number == 0:
                first = size.outputs[index]
            else:
                rate = max(rate, (size.outputs[index] - first) / (low + 1))
            low = size.capacity
        return {key: rate * value for key, value in terms.items()}, first + rate * constant


# Counts and needs while they are collected.


class CompanionsBuilder:
    """Quantities in working order, and the items that they need.

    ``offers`` can be in the cluster; ``placed`` is all that stands in racks and is cooled.
    ``switches``, ``pdus``: terms of those with a counted console; ``extras``, ``of_clusters``:
    items with the name of their count.
    """

    def __init__(self, inputs: Inputs, case: Case, tops: dict[str, int]) -> None:
        self.inputs = inputs
        self.items = inputs.by_id
        self.offers = (*case.systems, *case.storage)
        self.placed = case.offers()
        self.bounds = Bounds.of_case(case, tops)
        self.bounds.follow(case.rewired)
        self.bounded = 0
        self.quantities: list[Quantity] = []
        self.needs: defaultdict[str, list[Term]] = defaultdict(list)
        self.roles: defaultdict[str, list[str]] = defaultdict(list)
        self.fabrics: list[Fabric] = []
        self.racks: list[Term] = []
        self.own_racks: list[Term] = []
        self.pdus: list[Term] = []
        self.pdus_per_rack: list[tuple[str, int]] = []
        self.switches: list[Term] = []
        self.extras: list[tuple[Item, str]] = []
        self.of_clusters: list[tuple[Item, str]] = []
        self.shared: Packed | None = None
        self.shared_pdus_per_rack = 0

    def item(self, item_id: str) -> Item:
        """An item of the catalogs."""
        return self.items[item_id]

    def sum(self, name: str, terms: Terms, constant: float = 0.0) -> str:
        """Add a count that is a sum, and return its name."""
        self.quantities.append(Sum(name, terms, constant))
        return name

    def ceil(self, name: str, terms: Terms, constant: float = 0.0, if_any: int = 0) -> str:
        """Add a count that is rounded up, and return its name."""
        self.quantities.append(Ceil(name, terms, constant, if_any))
        return name

    def each(self, name: str, terms: Terms, shared_by: int) -> str:
        """Add the count of items of which one serves ``shared_by`` of a sum."""
        if shared_by == 1:
            return self.sum(name, terms)
        return self.ceil(name, tuple((factor / shared_by, key) for factor, key in terms))

    def most(self, terms: Terms) -> int:
        """Upper bound of a sum of terms; larger fabrics are not derived."""
        self.bounds.add(self.quantities[self.bounded :])
        self.bounded = len(self.quantities)
        return int(self.bounds.most(terms)) + 1

    def need(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Require ``factor`` units of an item for each of a count."""
        self.needs[item_id].append((factor, name))
        self.roles[item_id].append(role)
