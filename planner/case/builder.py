"""The companions of a problem as they are collected: counts, needs, and what they are for."""

from __future__ import annotations

from collections import defaultdict

from planner.case.bounds import Bounds
from planner.case.cabling import longest_run_m, part_that_reaches
from planner.case.model import Case, Fabric
from planner.case.quantities import Ceil, Packed, Quantity, Sum, Terms
from planner.inputs import Inputs
from planner.schema.catalog import Item


class CompanionsBuilder:
    """Counts and needs as they are collected.

    ``offers`` can be in the cluster; ``placed`` is all that stands in racks and is cooled.
    """

    def __init__(self, inputs: Inputs, case: Case, tops: dict[str, int]) -> None:
        self.inputs = inputs
        self.items = inputs.by_id
        self.longest_run_m = longest_run_m(inputs)
        self.offers = (*case.systems, *case.storage)
        self.placed = case.offers()
        self.bounds = Bounds.of(case, tops)
        self.bounded = 0
        self.quantities: list[Quantity] = []
        self.needs: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self.roles: defaultdict[str, list[str]] = defaultdict(list)
        self.fabrics: list[Fabric] = []
        self.racks: list[tuple[float, str]] = []
        self.standing: list[tuple[float | None, float | None, str]] = []
        self.own_racks: list[tuple[float, str]] = []
        self.pdus: list[tuple[float, str]] = []
        self.pdus_per_rack: list[tuple[str, int]] = []
        self.switches: list[tuple[float, str]] = []
        self.extras: list[tuple[Item, str]] = []
        self.of_clusters: list[tuple[Item, str]] = []
        self.shared: Packed | None = None
        self.shared_pdus_per_rack = 0

    def sum(self, name: str, terms: Terms, constant: float = 0.0) -> str:
        """Add a count that is a sum, and return its name."""
        self.quantities.append(Sum(name, terms, constant))
        return name

    def ceil(self, name: str, terms: Terms, constant: float = 0.0, if_any: int = 0) -> str:
        """Add a count that is rounded up, and return its name."""
        self.quantities.append(Ceil(name, terms, constant, if_any))
        return name

    def most(self, terms: Terms) -> int:
        """Return an upper bound of a sum of terms; larger fabrics are not looked at."""
        self.bounds.add(self.quantities[self.bounded :])
        self.bounded = len(self.quantities)
        return int(self.bounds.most(terms)) + 1

    def need(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Say that ``factor`` units of an item are needed for each of a count, and what for."""
        self.needs[item_id].append((factor, name))
        self.roles[item_id].append(role)

    def need_part(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Say the same of a cable or transceiver: of the one that reaches through the hall."""
        self.need(part_that_reaches(item_id, self.items, self.longest_run_m), factor, name, role)

    def item(self, item_id: str) -> Item:
        """Return an item of the catalogs."""
        return self.items[item_id]
