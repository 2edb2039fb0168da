"""The sheet Racks & fabric: networks with switches and links, and the content of racks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from planner.report.blocks import Column, Table, Value
from planner.report.words import NETWORKS
from planner.schema.layout import FabricReport, RackGroup
from planner.schema.plan import Plan
from planner.workbook.book import GREY, Book, Sheet
from planner.workbook.columns import named
from planner.workbook.tables import write_table

NAME = "Racks & fabric"
_WIDTHS = (30, 60, 10, 11, 11, 11, 12, 12, 15)
_FABRIC = (
    "Network", "Switch", "Planes", "Leaf", "Spine", "Core", "Ports used", "Links",
    "Oversubscription",
)  # fmt: skip
_RACKS = (
    "Racks", "Content of each", "Count", "Power each, kW", "Power limit, kW", "Weight each, kg",
    "Height, RU", "PDUs", "Used, RU",
)  # fmt: skip


def write(book: Book, plan: Plan) -> None:
    """Write both tables; they stand as planned, as only a new plan can tell them."""
    sheet = Sheet(book, NAME, _WIDTHS, landscape=True)
    under = "As planned: counts of switches, links and racks follow a new plan, not an edit here."
    sheet.head("Racks and fabric", under)
    names = {line.sku: named(line) for line in plan.lines}
    fabrics = [_fabric(report, names) for report in plan.fabrics]
    table_of(sheet, "Fabric", _FABRIC, fabrics, "No network is part of this plan.")
    racks = [_racks(group, names) for group in plan.racks]
    table_of(sheet, "Racks", _RACKS, racks, "No racks are part of this plan.")
    if plan.totals is not None and plan.totals.racks is not None:
        weight = plan.totals.weight_kg
        total = f"{plan.totals.racks:,} racks in all"
        total += f", {weight:,.0f} kg of equipment" if weight is not None else ""
        sheet.text(f"{total}.", font_color=GREY)
    sheet.area(0, sheet.at)


def table_of(
    sheet: Sheet, title: str, heads: Sequence[str], rows: Sequence[Sequence[Value]], empty: str
) -> None:
    """Write rows under heads, or a text where there are none."""
    if rows:
        columns = map(Column, heads, zip(*rows, strict=True))
        write_table(sheet, Table(title, tuple(columns)))
        return
    sheet.heading(title)
    sheet.text(empty, font_color=GREY)
    sheet.at += 1


def _fabric(report: FabricReport, names: Mapping[str, str]) -> tuple[Value, ...]:
    network = NETWORKS[report.network]
    return (
        network[:1].upper() + network[1:],
        names.get(report.switch_sku, report.switch_sku),
        report.planes,
        report.leaf_switches,
        report.spine_switches,
        report.core_switches,
        report.endpoints / report.parts_per_port,
        report.system_links + report.leaf_spine_links + report.spine_core_links,
        report.oversubscription,
    )


def _racks(group: RackGroup, names: Mapping[str, str]) -> tuple[Value, ...]:
    last = group.first + group.count - 1
    counts = Counter(device.sku for device in group.devices)
    where = f"{group.first}" if last == group.first else f"{group.first} to {last}"
    return (
        f"{where} ({group.rack_class})",
        ", ".join(f"{count} x {names.get(sku, sku)}" for sku, count in counts.items()),
        group.count,
        group.it_power_kw,
        group.power_limit_kw,
        group.weight_kg,
        group.height_ru,
        group.pdus,
        sum(device.rack_units for device in group.devices),
    )
