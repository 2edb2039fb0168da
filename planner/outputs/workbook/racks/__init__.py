"""The sheet ``Racks``: drawn racks, every device over its RUs, and a table of all of them.

The drawings are what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.bom import KNOWN_PART
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, GENERAL, INTEGER, Role
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW, Page, names_by_sku
from planner.outputs.workbook.racks.drawing import (
    BODY_WIDTH,
    LAST_COLUMN,
    SCALE_PERCENT,
    Drawing,
    Run,
    bands,
    choose_drawn,
    row_height,
    rows,
    runs,
    widths,
)
from planner.schema.plan import RackGroup

_NOTE_ROW, _LEGEND_ROW = FIRST_ROW - 2, FIRST_ROW - 1
_FIRST_BAND = FIRST_ROW + 1
_HEIGHT_ABOVE = 24 + 15.0 * (_FIRST_BAND - 1)
_PAPER_A4 = 9


def add(book: Book) -> None:
    """Add the sheet, where the plan places anything."""
    if not book.plan.racks:
        return
    page = Page(book, "Racks", "Racks")
    page.banner()
    for column, width in enumerate(widths()):
        page.sheet.set_column(column, column, width)
    groups = choose_drawn(book.plan.racks)
    tallest = max(rows(group) for group in groups)
    height, own_page = row_height(tallest, _HEIGHT_ABOVE)
    drawing = Drawing(page, height)
    drawing.legend(groups, _LEGEND_ROW)
    breaks = [_FIRST_BAND] if own_page else []
    row = _FIRST_BAND
    for band in bands(groups):
        row = drawing.band(band, row)
        breaks.append(row)
    _note(page, groups, row)
    _write_table(page, row)
    page.finish(LAST_COLUMN, (BANNER_ROW + 1, 0), SCALE_PERCENT)
    page.sheet.set_paper(_PAPER_A4)
    page.sheet.set_h_pagebreaks(breaks)
    page.sheet.print_area(0, 0, row - 1, LAST_COLUMN)


def _note(page: Page, groups: Sequence[RackGroup], table_row: int) -> None:
    """Say how to read the drawings, what they leave out, and where the table is."""
    every = page.book.plan.racks
    parts = ["As solved, from the front; RU 1 is the lowest. Edited quantities move nothing here."]
    if len(groups) < len(every):
        shown, count = (sum(group.count for group in some) for some in (groups, every))
        parts.append(
            f"Drawn are the {len(groups)} commonest of {len(every):,} kinds of content, "
            f"{shown:,} of {count:,} racks; the table holds all."
        )
    page.text(_NOTE_ROW, 0, " ".join(parts), "subtitle")
    link = f"internal:'{page.name}'!A{table_row + 1}"
    style = page.book.formats.get("subtitle", align="right")
    page.sheet.write_url(1, LAST_COLUMN, link, style, f"Table of all racks: row {table_row + 1}")


_TITLES = {
    0: "From rack",
    1: "To rack",
    2: "Racks",
    3: "Class",
    4: "Devices",
    5: "Device",
    8: "RU each",
    9: "Lowest RU",
    10: "Highest RU",
    11: "kW",
    12: "PDUs",
    13: "kg",
    14: "Power limit, kW",
    15: "Weight limit, kg",
    16: "Catalog id",
}
(
    _FROM,
    _TO,
    _COUNT,
    _CLASS,
    _DEVICES,
    _DEVICE,
    _HEIGHT,
    _LOWEST,
    _HIGHEST,
    _KW,
    _PDUS,
    _KG,
    _POWER_LIMIT,
    _WEIGHT_LIMIT,
    _ID,
) = _TITLES
_DEVICE_LAST = _HEIGHT - 1
_HEADER_HEIGHT = 30
_HEADING = (
    "All racks, from the top of each down; what stands in no rack (optics, cables) is not in them"
)


def _write_table(page: Page, row: int) -> None:
    """Write the table and its totals, which are the last row of the sheet.

    Args:
        page: the sheet, of a plan with racks.
        row: row of its heading; the header under it is repeated on every page that follows.
    """
    page.fill(row, (_HEADING,), "heading", LAST_COLUMN + 1)
    header_row = row + 1
    page.headers(header_row, list(zip(_titles(), widths(), strict=True)), _HEADER_HEIGHT)
    for first, last in ((_DEVICE, _DEVICE_LAST), (_ID, LAST_COLUMN)):
        _span(page, header_row, first, last, _TITLES[first], "header")
    models = names_by_sku(page.book.plan)
    row = header_row + 1
    for group in page.book.plan.racks:
        _group(page, group, row)
        for run in reversed(runs(group)):
            row += 1
            _devices(page, run, models, row)
        row += 1
    _total(page, header_row + 1, row + 1)


def _titles() -> list[str]:
    return [_TITLES.get(column, "") for column in range(LAST_COLUMN + 1)]


def _span(page: Page, row: int, first: int, last: int, text: str, role: Role) -> None:
    page.sheet.merge_range(row, first, row, last, "", page.book.formats.get(role))
    page.text(row, first, text, role)


def _group(page: Page, group: RackGroup, row: int) -> None:
    """Write what is the same of these racks: how many they are, their limits and sums."""
    for column in range(LAST_COLUMN + 1):
        page.text(row, column, "", "heading")
    page.text(row, _CLASS, group.rack_class, "heading", "center")
    page.text(row, _DEVICE, f"  {_kind(group)}{_standing(group)}", "heading")
    last = group.first + group.count - 1
    page.number(row, _DEVICES, len(group.devices), INTEGER, "heading")
    figures = (
        (_FROM, group.first, INTEGER),
        (_TO, last, INTEGER),
        (_COUNT, group.count, INTEGER),
        (_HEIGHT, group.height_ru, GENERAL),
        (_KW, group.it_power_kw, DECIMAL_2),
        (_KG, group.weight_kg, DECIMAL_1),
        (_POWER_LIMIT, group.power_limit_kw, DECIMAL_1),
        (_WEIGHT_LIMIT, group.weight_limit_kg, DECIMAL_1),
        (_PDUS, group.pdus, INTEGER),
    )
    for column, value, number in figures:
        page.number(row, column, value, number, "heading")


def _kind(group: RackGroup) -> str:
    if group.product:
        return "a product that is a rack"
    return "in this rack" if group.count == 1 else "in each of these racks"


def _standing(group: RackGroup) -> str:
    """Return at which positions racks stand, where the hall has groups of them."""
    spans = [
        f"{each.group}-{each.first:02d}"
        + (f" to {each.first + each.count - 1:02d}" if each.count > 1 else "")
        for each in group.places
    ]
    return f", at {', '.join(spans)}" if spans else ""


def _devices(page: Page, run: Run, models: dict[str, str], row: int) -> None:
    """Write equal neighbours; draw and weight are of all of them."""
    for column in (_FROM, _TO, _COUNT, _CLASS, _POWER_LIMIT, _WEIGHT_LIMIT, _PDUS):
        page.text(row, column, "", "formula")
    device, name = run.device, models.get(run.device.sku, run.device.sku)
    weight_kg = None if device.weight_kg is None else run.count * device.weight_kg
    page.number(row, _LOWEST, run.lowest, GENERAL)
    page.number(row, _HIGHEST, run.highest, GENERAL)
    page.number(row, _DEVICES, run.count, INTEGER)
    page.number(row, _HEIGHT, device.rack_units, GENERAL)
    page.number(row, _KW, run.count * device.it_power_kw, DECIMAL_2)
    page.number(row, _KG, weight_kg, DECIMAL_1)
    _span(page, row, _DEVICE, _DEVICE_LAST, name, "text")
    _span(page, row, _ID, LAST_COLUMN, device.sku, "text")
    width = (_DEVICE_LAST - _DEVICE + 1) * BODY_WIDTH
    page.grow(row, [(name, width), (device.sku, sum(widths()[_ID:]))])


def _total(page: Page, first: int, row: int) -> None:
    """Write the sums over all racks."""
    page.fill(row, ("All racks",), "total", LAST_COLUMN + 1)
    counts = cell_range(first, _COUNT, row - 1)
    page.formula(row, _COUNT, f"=SUM({counts})", INTEGER, "total")
    for column, number in ((_KW, DECIMAL_1), (_PDUS, INTEGER), (_KG, INTEGER)):
        text = f"=SUMPRODUCT({counts},{cell_range(first, column, row - 1)})"
        page.formula(row, column, text, number, "total")
    if any(group.weight_kg is None for group in page.book.plan.racks):
        page.text(row, _KG + 1, KNOWN_PART, "total", "right")
