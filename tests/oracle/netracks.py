"""Racks of the class network: companions with a height, mixed, alone or products of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import Problem
from tests.oracle import facility
from tests.oracle.facility import Space, Whole
from tests.oracle.money import Market

EIGHTH = 0.125 + 1e-9


class NetworkRacks:
    """How the companions that a problem names stand."""

    def __init__(self, market: Market) -> None:
        self.site, self.catalog = market.problem.site, market.catalog
        self.rack = facility.space(self.site, "network")
        clusters = [family.cluster for family in market.families if family.cluster]
        named = _named(market.problem) | {part.item for c in clusters for part in c.parts}
        items = [self.catalog[name] for name in sorted(named)]
        self.own = {
            i.id: i.consumes.racks.value
            for i in items
            if i.consumes.racks and self.rack is not None
        }
        self.weights: dict[str, float] = {}
        if self.rack is not None:
            for item in items:
                if item.id not in self.own and (facility.height_ru(item, self.catalog) or 0.0) > 0:
                    self.weights[item.id] = self._weight(item, self.rack)
        self.alone = {
            name: math.floor(1.0 / weight * (1.0 + facility.SLIVER))
            for name, weight in self.weights.items()
            if weight > EIGHTH
        }
        self.mixed = {name: w for name, w in self.weights.items() if w <= EIGHTH}

    def _weight(self, item: Item, rack: Space) -> float:
        """Return the largest share of a rack (height, power, weight) that a unit takes."""
        shares = [
            (facility.height_ru(item, self.catalog) or 0.0) / rack.height_ru,
            self._power_kw(item) / rack.power_kw,
            (facility.weight_kg(item, self.catalog) or 0.0) / rack.weight_kg,
        ]
        if max(shares) > 1.0 + facility.SLIVER:
            raise ValueError(f"{item.id} does not fit into a rack")
        return max(shares)

    def _power_kw(self, item: Item) -> float:
        """Return the draw of a device with every transceiver its front panel may hold."""
        optics = [0.0]
        for group in item.switch.ports if item.switch else ():
            end = group.link.switch_end if group.link else None
            if end is not None:
                each = facility.power_kw(self.catalog[end.item], self.catalog) or 0.0
                optics.append(math.ceil(group.count / end.links) * each)
        return (facility.power_kw(item, self.catalog) or 0.0) + max(optics)

    def by_item(self, counts: Mapping[str, Whole]) -> dict[str, Whole]:
        """Return the racks that kinds have for themselves."""
        found = {name: counts[name] * each for name, each in self.own.items() if name in counts}
        by_kind = {
            name: facility.up(counts[name] / each)
            for name, each in self.alone.items()
            if name in counts
        }
        return found | by_kind

    def shared(self, counts: Mapping[str, Whole], rows: int) -> Whole:
        """Return the racks that are mixed."""
        filled = np.zeros(rows)
        for name, weight in self.mixed.items():
            if name in counts:
                filled += weight * counts[name]
        largest = max(self.mixed.values(), default=0.0)
        return facility.up(filled / (1.0 - largest))

    def racks_and_pdus(self, counts: Mapping[str, Whole], rows: int) -> tuple[Whole, Whole]:
        """Return racks that are no products, and their PDUs."""
        racks = self.shared(counts, rows)
        pdus = racks * facility.pdus(self.site, self.catalog, self._shared_load_kw())
        for name, each in self.alone.items():
            if name in counts:
                load_kw = each * self._power_kw(self.catalog[name])
                own = facility.up(counts[name] / each)
                pdus = pdus + own * facility.pdus(self.site, self.catalog, load_kw)
                racks = racks + own
        return racks, pdus

    def _shared_load_kw(self) -> float:
        """Return the most a mixed rack can draw, by its power or by its fullest kind."""
        if self.rack is None:
            return 0.0
        loads = []
        for name in self.mixed:
            height = facility.height_ru(self.catalog[name], self.catalog) or 0.0
            draw_kw = self._power_kw(self.catalog[name])
            loads.append(math.floor(self.rack.height_ru / height + facility.SLIVER) * draw_kw)
        return min(self.rack.power_kw, max(loads, default=0.0))


def _named(problem: Problem) -> set[str]:
    """Return every switch, CDU and extra that the problem names."""
    network = problem.network
    names = set(problem.extras)
    names |= set(network.compute.switches) if network.compute else set()
    for fabric in (network.storage, network.in_band, network.out_of_band):
        names |= {fabric.switch} if fabric else set()
    return names | ({problem.site.cooling.cdu} if problem.site.cooling.cdu else set())
