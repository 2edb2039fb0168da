"""The sheet Racks & fabric: networks with switches and links, and the content of racks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from planner.schema.plan import FabricReport, Plan, RackGroup
from planner.workbook.book import GREY, THIN, Book, Sheet, height
from planner.workbook.columns import named
from planner.workbook.live import Scalar

NAME = "Racks & fabric"
_WIDTHS = (26, 60, 10, 11, 11, 11, 12, 12, 12)

NETWORKS = {
    "compute": "Compute fabric",
    "storage": "Storage fabric",
    "converged": "Converged fabric",
    "in_band": "In-band management",
    "out_of_band": "Out-of-band management",
}


class Head(NamedTuple):
    """The head of a column of a plain table."""

    title: str
    look: str = "n0"


_FABRIC = (
    Head("Network", "text"),
    Head("Switch", "text"),
    Head("Planes"),
    Head("Leaf"),
    Head("Spine"),
    Head("Core"),
    Head("Ports used"),
    Head("Links"),
    Head("Oversub.", "n2"),
)
_RACKS = (
    Head("Racks", "text"),
    Head("Content of each", "wrap"),
    Head("Count"),
    Head("kW each", "n1"),
    Head("kW limit", "n1"),
    Head("kg each"),
    Head("Height RU"),
    Head("PDUs"),
    Head("Used RU"),
)


def write(book: Book, plan: Plan) -> None:
    """Write both; they stand as planned, as only a new plan can tell them."""
    sheet = Sheet(book, NAME, _WIDTHS, landscape=True)
    under = "As planned: counts of switches, links and racks follow a new plan, not an edit here."
    sheet.head("Racks and fabric", under)
    names = {line.sku: named(line) for line in plan.lines}
    sheet.heading("Fabric")
    rows = [_fabric(report, names) for report in plan.fabrics]
    table(sheet, _FABRIC, rows, "No network is part of this plan.")
    sheet.at += 1
    sheet.heading("Racks")
    table(
        sheet,
        _RACKS,
        [_racks(group, names) for group in plan.racks],
        "No racks are part of this plan.",
    )
    if plan.totals is not None and plan.totals.racks is not None:
        total = f"{plan.totals.racks:,} racks in all"
        weight = plan.totals.weight_kg
        total += f", {weight:,.0f} kg of equipment" if weight is not None else ""
        sheet.text(f"{total}.", font_color=GREY)
    sheet.area(0, sheet.at)


def _fabric(report: FabricReport, names: dict[str, str]) -> list[Scalar]:
    links = report.system_links + report.leaf_spine_links + report.spine_core_links
    return [
        NETWORKS[report.network],
        names.get(report.switch_sku, report.switch_sku),
        report.planes,
        report.leaf_switches,
        report.spine_switches,
        report.core_switches,
        report.endpoints / report.parts_per_port,
        links,
        report.oversubscription,
    ]


def _racks(group: RackGroup, names: dict[str, str]) -> list[Scalar]:
    last = group.first + group.count - 1
    counts = Counter(device.sku for device in group.devices)
    content = ", ".join(f"{count} x {names.get(sku, sku)}" for sku, count in counts.items())
    where = f"{group.first}" if last == group.first else f"{group.first} to {last}"
    used = sum(device.rack_units for device in group.devices)
    return [
        f"{where} ({group.rack_class})",
        content,
        group.count,
        group.it_power_kw,
        group.power_limit_kw,
        group.weight_kg,
        group.height_ru,
        group.pdus,
        used,
    ]


def table(
    sheet: Sheet, heads: Sequence[Head], rows: Sequence[Sequence[Scalar]], empty: str = ""
) -> None:
    """Write a plain table from the sheet's next free row on."""
    book = sheet.book
    if not rows:
        sheet.text(empty, font_color=GREY)
        return
    sheet.page.set_row(sheet.at, 30)
    for column, head in enumerate(heads):
        left = head.look in ("text", "wrap")
        style = book.look(
            "wrap",
            bold=True,
            font_color=GREY,
            align="left" if left else "right",
            indent=1 if left else 0,
            **THIN,
        )
        sheet.put(sheet.at, column, head.title, style)
    sheet.at += 1
    for row in rows:
        tall = 15.0
        for column, (head, value) in enumerate(zip(heads, row, strict=True)):
            words = isinstance(value, str)
            look = book.look("wrap" if words else head.look, **THIN)
            sheet.write(sheet.at, column, value, look)
            tall = (
                max(tall, height(value, sheet.widths[column])) if isinstance(value, str) else tall
            )
        sheet.page.set_row(sheet.at, tall)
        sheet.at += 1
