"""What comes with GPU systems and storage, by the verifier's bill: fabrics, racks, PDUs, extras.

The verifier takes the trees of fabrics and the racks that devices share from a plan; here they are
the smallest, of the formulas that `tests/sizing` tries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from planner.schema.catalog import Item, PortGroup
from planner.schema.plan import FabricReport, Plan
from planner.sizing.fabric import ComputeDesign, Tree, compute_sizes, fat_tree, smallest_size
from planner.verifier import bill
from planner.verifier.basis import Basis, Findings
from planner.verifier.fabric import Devices, Fabrics, plug_of
from tests.oracle.facility import Whole, design, fewest
from tests.oracle.money import RACKS, RESOURCES, Array, Market, Mask


class _Unread(Findings):
    """Findings of a plan that states nothing."""

    def expect(self, path: str, stated: Any, own: Any) -> None:
        """Compare nothing."""


class _Smallest(Fabrics):
    """Fabrics of the smallest trees, in place of those that a plan states."""

    def compute(self, report: FabricReport) -> None:
        self.systems = sum(self.counts[sku] for sku in report.serves)
        self.plug = plug_of(self.basis, report.serves[0])
        super().compute(report)

    def _stated(self, network: str, switch: str, devices: object) -> FabricReport:
        report = cast(FabricReport, SimpleNamespace(network=network, switch_sku=switch, serves=()))
        self.left.append(report)
        cast(list[FabricReport], self.plan.fabrics).append(report)
        return report

    def _check(self, report: FabricReport, group: PortGroup, *rest: Any, alone: bool) -> None:
        leaves, up = rest[0]
        asked, planes = self.basis.network.compute, 1
        tree: Tree | None = Tree(1, leaves)
        if report.network == "compute" and asked is not None:
            planes = asked.planes_allowed[0]
            assert self.plug is not None
            tree = self._of_systems(self.plug, group.count)
        elif not alone:
            tree = fat_tree(leaves, 1, group.count, up)
        if tree is None:
            raise ValueError(f"{report.network}: no tree is so large")
        known: dict[str, Any] = vars(report)
        known |= {"leaf_switches": planes * leaves, "spine_switches": planes * tree.spines}
        known |= {"core_switches": planes * tree.cores}
        known |= {"spine_core_links": planes * tree.spine_core_links}
        super()._check(report, group, *rest, alone=alone)

    def _of_systems(self, plug: Devices, radix: int) -> Tree | None:
        asked = self.basis.network.compute
        assert asked is not None
        ports = plug.ports // asked.planes_allowed[0]
        managed = asked.manager.slots, asked.manager.ports
        wanted = ComputeDesign(
            radix, asked.oversubscriptions[0], ports, plug.rails, 1, *managed, plug.rail_group or 0
        )
        size = smallest_size(compute_sizes(wanted, self.systems), self.systems)
        return None if size is None else size.tree


def _shared_racks(basis: Basis, counts: Mapping[str, int], rack: bill.Load) -> int:
    items = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    loads = {i.id: bill.load_of(basis, i) for i in items if basis.of_unit(i, "rack_units")}
    shares = {sku: tuple((load / rack).tolist()) for sku, load in loads.items()}
    names = sorted(shares, key=lambda sku: (-max(shares[sku]), sku))
    return fewest(tuple(shares[n] for n in names), tuple(counts[n] for n in names))


class Companions:
    """Everything that follows from the counts of GPU systems and storage."""

    def __init__(self, market: Market, items: Sequence[Item]) -> None:
        self.market = market
        self.items = items
        self.net = [
            SimpleNamespace(sku=sku, unit_net_usd=market.unit_net_usd(item), parent=None)
            for sku, item in market.catalog.items()
        ]

    @cached_property
    def any(self) -> bool:
        """Whether the problem names companions at all."""
        problem = self.market.problem
        site, network = problem.site, problem.network
        fabrics = (network.compute, network.storage, network.in_band, network.out_of_band)
        rack = (site.rack.item, site.rack.pdu) if site.rack is not None else ()
        families = {item.family for item in self.items}
        clusters = [f for f in self.market.families if f.id in families and f.cluster]
        spares = [part for item in self.items for part in item.components]
        lists = (problem.software, problem.services, problem.extras, clusters, spares)
        return any(each is not None for each in (*fabrics, *rack, site.cooling.cdu)) or any(lists)

    def consumption(self, counts: Whole) -> tuple[Array, Mask]:
        """Return what companions consume, and where they are possible, for counts of the items."""
        if not self.any:
            return np.zeros((len(counts), RESOURCES)), np.ones(len(counts), dtype=bool)
        ids = [item.id for item in self.items]
        found = [self._row(dict(zip(ids, units, strict=True))) for units in counts.tolist()]
        possible = np.array([row is not None for row in found], dtype=bool)
        rows = [row or ({}, 0) for row in found]
        consumed = np.zeros((len(counts), RESOURCES))
        consumed[:, RACKS] = [racks for _, racks in rows]
        for name in sorted({name for units, _ in rows for name in units}):
            units, item = np.array([row.get(name, 0) for row, _ in rows]), self.market.catalog[name]
            consumed += self.market.consumption(item, units, np.zeros_like(units))
            possible &= self.market.available(item, units)
        parts: dict[str, Whole] = {}
        for item, units in zip(self.items, counts.T, strict=True):
            for name, spare in self.market.spare_parts(item, units).items():
                parts[name] = parts.get(name, np.zeros_like(spare)) + spare
        for name, spare in parts.items():
            consumed += self.market.in_store(self.market.catalog[name], spare)
            possible &= self.market.in_stock(self.market.catalog[name], spare)
        return consumed, possible

    def _row(self, counts: dict[str, int]) -> tuple[dict[str, int], int] | None:
        """Return companions of a cluster and their racks, None where its fabrics cannot be."""
        basis, cluster = self.market.basis, {sku: n for sku, n in counts.items() if n}
        plan = SimpleNamespace(fabrics=self._compute_fabrics(cluster), racks=(), lines=self.net)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bill, "Fabrics", _Smallest)
            patch.setattr(bill, "shared_racks", _shared_racks)
            try:
                made = bill.build_bill(_Unread(), basis, cluster, cast(Plan, plan))
            except ValueError:
                return None
        racks = made.room.by_item.items()
        return dict(made.companions), sum(n for sku, n in racks if sku not in made.standing)

    def _compute_fabrics(self, cluster: Mapping[str, int]) -> list[Any]:
        """Return a fabric for each design of GPU systems, with what it serves."""
        serves: dict[Any, list[str]] = defaultdict(list)
        for sku in cluster:
            own = design(self.market.catalog[sku], self.market.basis)
            if own is not None:
                serves[own].append(sku)
        return [
            SimpleNamespace(
                network="compute", switch_sku=design.switch, serves=skus, core_switches=0
            )
            for design, skus in serves.items()
        ]
