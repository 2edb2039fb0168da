"""Racks of a plan with their devices, and its fabrics: switches by tier, links, how full."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case, figures
from planner.case.fabrics import WORDS
from planner.case.figures import box
from planner.case.items import total
from planner.case.model import Fabric
from planner.inputs import Inputs
from planner.optimizer.bill import Bill, bill
from planner.optimizer.operate import Run
from planner.schema.catalog import Item
from planner.schema.plan import Device, FabricReport, RackClassName, RackGroup
from planner.sizing.fabric import FabricSize, Tree, smallest
from planner.sizing.placement import Box, Filled, Space, mixed, uniform


def rack_groups(inputs: Inputs, case: Case, run: Run) -> tuple[RackGroup, ...]:
    """The racks of a plan; none where the problem has no rack data."""
    if inputs.problem.site.rack is None:
        return ()
    pdus, counts = dict(case.companions.pdus_per_rack), bill(case, run.units, run.ways).counts
    racks = _Racks(inputs)
    for offer in case.offers():
        count, item, use = round(counts[offer.place]), inputs.item(offer.id), offer.rack_use
        if not count or use is None:
            continue
        name = figures.class_of(item)
        if item.consumes.racks is not None:
            racks.add_product(item, count, name)
            continue
        parts = [(box(part, inputs), n) for part, n in figures.parts(item, inputs)]
        space, each = racks.space(name), pdus.get(f"racks.{offer.id}", 0)
        for filled, times in uniform(parts, count, use, space):
            racks.add(filled, times, space, name, each)
    together: list[tuple[Box, int]] = []
    placed = [each.id for each in case.companions.items if counts[each.id] and not each.stored]
    for item, count in ((inputs.item(sku), round(counts[sku])) for sku in placed):
        if item.consumes.racks is not None:
            racks.add_product(item, count, "network")
        elif (device := box(item, inputs)).rack_units > 0:
            together.append((device, count))
    space, each = racks.space("network"), case.companions.shared_pdus_per_rack
    for filled, times in mixed(together, space):
        racks.add(filled, times, space, "network", each)
    return tuple(racks.groups)


class _Racks:
    """The racks of a plan so far, numbered on."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.groups: list[RackGroup] = []

    def space(self, name: RackClassName) -> Space:
        space = figures.rack_space(self.inputs.problem, name)
        assert space is not None
        return space

    def add(
        self,
        content: Filled,
        count: int,
        space: Space,
        name: RackClassName,
        pdus: int = 0,
        *,
        product: bool = False,
    ) -> None:
        """Add racks with the same content."""
        weights = [box.weight_kg for _, box in content]
        group = RackGroup(
            first=1 + sum(group.count for group in self.groups),
            count=count,
            rack_class=name,
            product=product,
            height_ru=space.height_ru,
            power_limit_kw=space.power_kw,
            weight_limit_kg=space.weight_kg,
            it_power_kw=sum(box.it_power_kw for _, box in content),
            weight_kg=None if None in weights else sum(weight or 0.0 for weight in weights),
            pdus=pdus,
            devices=tuple(Device(position_ru=at, **vars(box)) for at, box in content),
        )
        self.groups.append(group)

    def add_product(self, item: Item, count: int, name: RackClassName) -> None:
        """Add racks that are products: one device that fills its own height."""
        rack, whole = self.inputs.problem.site.rack, box(item, self.inputs)
        assert item.consumes.racks is not None and rack is not None
        racks = item.consumes.racks.value
        height = whole.rack_units / racks if whole.rack_units else rack.height_ru
        weight = None if whole.weight_kg is None else whole.weight_kg / racks
        device = Box(item.id, height, whole.it_power_kw / racks, weight)
        space = Space(height, rack.whole_rack_limit_kw, None)
        self.add(((1.0, device),), racks * count, space, name, product=True)


# Fabrics.


def fabric_reports(case: Case, bill: Bill) -> Iterator[FabricReport]:
    """Yield a report of every fabric that the plan has."""
    for fabric in case.companions.fabrics:
        amount = round(total(fabric.amount, bill.counts))
        if amount and fabric.network == "out_of_band":
            switches = round(bill.counts["out_of_band.switches"])
            size = FabricSize(switches, 0, Tree(tiers=1, leaves=switches))
            yield _report(fabric, bill, size, amount)
        elif (held := smallest(fabric.sizes, amount)) is not None:
            yield _report(fabric, bill, held, amount * fabric.ports_per_amount)


def _report(fabric: Fabric, bill: Bill, size: FabricSize, endpoints: int) -> FabricReport:
    """The report of a fabric of a size, its tree in each plane."""
    counts, planes, serves, tree = bill.counts, fabric.planes, fabric.serves, size.tree
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
        units=size.units,
        endpoints=endpoints,
        capacity=size.capacity * fabric.ports_per_amount,
        leaf_switches=planes * tree.leaves,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        uplinks_per_leaf=tree.uplinks_per_leaf,
        parts_per_port=fabric.parts_per_port,
        oversubscription=fabric.oversubscription,
        system_links=round(total(fabric.links, counts)),
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
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
