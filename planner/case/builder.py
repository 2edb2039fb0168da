"""Counts and needs of companions while they are collected."""

from __future__ import annotations

from collections import defaultdict

from planner.case.bounds import Bounds
from planner.case.model import Case, Fabric
from planner.case.quantities import Ceil, Packed, Quantity, Sum, Terms
from planner.inputs import Inputs
from planner.schema.catalog import Item

Term = tuple[float, str]


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
        self.bounds = Bounds.of(case, tops)
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
