"""Fabrics of a plan: switches by tier, links, and how far they are filled."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case
from planner.case.fabrics import WORDS
from planner.case.model import Fabric
from planner.case.quantities import total
from planner.optimizer.bill import Bill
from planner.schema.layout import FabricReport
from planner.sizing.fabric import Tree, smallest


def fabric_reports(case: Case, bill: Bill) -> Iterator[FabricReport]:
    """Yield a report of every fabric that the plan has."""
    for fabric in case.companions.fabrics:
        amount = round(total(fabric.amount, bill.counts))
        if amount == 0:
            continue
        if fabric.network == "out_of_band":
            yield _management(fabric, amount, bill)
        else:
            yield _tree(fabric, amount, bill)


def _tree(fabric: Fabric, amount: int, bill: Bill) -> FabricReport:
    size = smallest(fabric.sizes, amount)
    assert size is not None
    return _report(
        fabric,
        bill,
        size.tree,
        units=size.units,
        leaf_switches=fabric.planes * size.tree.leaves,
        endpoints=amount * fabric.ports_per_amount,
        capacity=size.capacity * fabric.ports_per_amount,
        uplinks_per_leaf=size.tree.uplinks_per_leaf,
    )


def _management(fabric: Fabric, amount: int, bill: Bill) -> FabricReport:
    switches = round(bill.counts["out_of_band.switches"])
    return _report(
        fabric,
        bill,
        Tree(tiers=1, leaves=switches),
        units=0,
        leaf_switches=switches,
        endpoints=amount,
        capacity=switches * fabric.ports_per_amount,
        uplinks_per_leaf=0,
    )


def _report(fabric: Fabric, bill: Bill, tree: Tree, **more: int) -> FabricReport:
    """The report of a fabric whose spines and cores are those of a tree, in each plane."""
    counts, planes = bill.counts, fabric.planes
    serves = fabric.serves
    if fabric.design is not None:
        joined = zip(serves, fabric.amount, strict=True)
        serves = tuple(name for name, (_, count) in joined if counts[count])
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=tuple(sorted(name for name in serves if counts[name])),
        planes=planes,
        tiers=tree.tiers,
        radix=fabric.radix,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        parts_per_port=fabric.parts_per_port,
        oversubscription=fabric.oversubscription,
        system_links=round(total(fabric.links, counts)),
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
        **more,
    )


def switches_text(report: FabricReport) -> str:
    """Switches of a fabric by tier, in words."""
    tiers = (
        (report.leaf_switches, "leaf"),
        (report.spine_switches, "spine"),
        (report.core_switches, "core"),
    )
    parts = [f"{count} {name}" for count, name in tiers if count]
    return f"{WORDS[report.network]}: {', '.join(parts)}"
