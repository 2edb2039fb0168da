"""The fabrics of a plan: switches by tier, links, and how far they are filled."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case
from planner.case.model import Fabric
from planner.case.quantities import total
from planner.optimizer.purchase import Bill
from planner.schema.plan import FabricReport
from planner.sizing.fabric import smallest


def fabric_reports(case: Case, spent: Bill) -> Iterator[FabricReport]:
    """Yield a report of every fabric that the plan has."""
    for fabric in case.companions.fabrics:
        amount = round(total(fabric.amount, spent.counts))
        if amount == 0:
            continue
        report = _flat if fabric.network == "out_of_band" else _tree
        yield report(fabric, amount, spent)


def _tree(fabric: Fabric, amount: int, spent: Bill) -> FabricReport:
    size = smallest(fabric.sizes, amount)
    assert size is not None
    tree, planes = size.tree, fabric.planes
    each = fabric.ports_per_amount
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=_serves(fabric, spent),
        planes=planes,
        tiers=tree.tiers,
        units=size.units,
        radix=fabric.radix,
        leaf_switches=planes * tree.leaves,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        endpoints=amount * each,
        parts_per_port=fabric.parts_per_port,
        capacity=size.capacity * each,
        uplinks_per_leaf=tree.uplinks_per_leaf,
        oversubscription=fabric.oversubscription,
        system_links=round(total(fabric.links, spent.counts)),
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
    )


def _flat(fabric: Fabric, amount: int, spent: Bill) -> FabricReport:
    switches = round(spent.counts["out_of_band.switches"])
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=_serves(fabric, spent),
        planes=1,
        tiers=1,
        units=0,
        radix=fabric.radix,
        leaf_switches=switches,
        spine_switches=0,
        core_switches=0,
        endpoints=amount,
        parts_per_port=1,
        capacity=switches * fabric.ports_per_amount,
        uplinks_per_leaf=0,
        oversubscription=1.0,
        system_links=amount,
        leaf_spine_links=0,
        spine_core_links=0,
    )


def _serves(fabric: Fabric, spent: Bill) -> tuple[str, ...]:
    return tuple(sorted(name for name in fabric.serves if spent.counts[name]))
