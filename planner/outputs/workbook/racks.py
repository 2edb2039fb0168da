"""The sheet ``Racks``: what stands where, rack by rack; racks with the same content together."""

from __future__ import annotations

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, GENERAL, INTEGER, Role
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.text import names
from planner.schema.plan import Device, RackGroup

_COLUMNS = (
    ("From rack", 8),
    ("To rack", 8),
    ("Racks", 8),
    ("Class", 10),
    ("Lowest RU", 9),
    ("Highest RU", 9),
    ("Device", 46),
    ("Height, RU", 9),
    ("kW", 10),
    ("kg", 10),
    ("Power limit, kW", 10),
    ("Weight limit, kg", 10),
    ("PDUs", 7),
    ("Catalog id", 28),
)
(
    _FROM,
    _TO,
    _COUNT,
    _CLASS,
    _LOWEST,
    _HIGHEST,
    _DEVICE,
    _HEIGHT,
    _KW,
    _KG,
    _POWER_LIMIT,
    _WEIGHT_LIMIT,
    _PDUS,
    _ID,
) = range(len(_COLUMNS))
_SUMMARY_ROW = FIRST_ROW
_HEADER_ROW = FIRST_ROW + 2


def add(book: Book) -> None:
    """Add the sheet, where the plan places anything."""
    if not book.plan.racks:
        return
    page = Page(book, "Racks", "Racks")
    page.banner()
    page.text(_SUMMARY_ROW, 0, "As solved, from the top of each rack down; RU 1 is the lowest. "
              "Edited quantities move nothing here.", "subtitle")  # fmt: skip
    page.headers(_HEADER_ROW, _COLUMNS)
    models = names(book.plan)
    row = _HEADER_ROW + 1
    for group in book.plan.racks:
        _group(page, group, row)
        for device in reversed(group.devices):
            row += 1
            _device(page, device, group, models, row)
        row += 1
    _total(page, row + 1)
    page.finish(_ID, (_HEADER_ROW + 1, _CLASS))


def _group(page: Page, group: RackGroup, row: int) -> None:
    """Write what is the same of these racks: how many they are, their limits and sums."""
    for column in range(len(_COLUMNS)):
        page.text(row, column, "", "heading")
    kind = "a product that is a rack" if group.product else "content of each of these racks"
    if group.count == 1:
        kind = kind.replace("each of these racks", "this rack")
    page.text(row, _CLASS, group.rack_class, "heading", "center")
    page.text(row, _DEVICE, kind, "heading")
    last = group.first + group.count - 1
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


def _device(page: Page, device: Device, group: RackGroup, models: dict[str, str], row: int) -> None:
    role: Role = "formula"
    for column in (_FROM, _TO, _COUNT, _CLASS, _POWER_LIMIT, _WEIGHT_LIMIT, _PDUS):
        page.text(row, column, "", role)
    height = device.rack_units or (group.height_ru if group.product else 0.0)
    page.number(row, _LOWEST, device.position_ru, GENERAL)
    page.number(row, _HIGHEST, device.position_ru + max(height - 1, 0.0), GENERAL)
    page.text(row, _DEVICE, models.get(device.sku, device.sku))
    page.number(row, _HEIGHT, device.rack_units, GENERAL)
    page.number(row, _KW, device.it_power_kw, DECIMAL_2)
    page.number(row, _KG, device.weight_kg, DECIMAL_1)
    page.text(row, _ID, device.sku)
    page.grow(row, [(models.get(device.sku, device.sku), _COLUMNS[_DEVICE][1])])


def _total(page: Page, row: int) -> None:
    """Write the sums over all racks; what no rack holds (optics, cables) is not in them."""
    groups = page.book.plan.racks
    for column in range(len(_COLUMNS)):
        page.text(row, column, "All racks" if column == 0 else "", "total")
    counts = _column(row, _COUNT)
    racks = sum(group.count for group in groups)
    page.formula(row, _COUNT, f"=SUM({counts})", racks, INTEGER, "total")
    power_kw = sum(group.count * group.it_power_kw for group in groups)
    text = f"=SUMPRODUCT({counts},{_column(row, _KW)})"
    page.formula(row, _KW, text, power_kw, DECIMAL_1, "total")
    pdus = sum(group.count * group.pdus for group in groups)
    text = f"=SUMPRODUCT({counts},{_column(row, _PDUS)})"
    page.formula(row, _PDUS, text, pdus, INTEGER, "total")
    if all(group.weight_kg is not None for group in groups):
        weight_kg = sum(group.count * (group.weight_kg or 0.0) for group in groups)
        text = f"=SUMPRODUCT({counts},{_column(row, _KG)})"
        page.formula(row, _KG, text, weight_kg, INTEGER, "total")


def _column(total_row: int, column: int) -> str:
    top = xl_rowcol_to_cell(_HEADER_ROW + 1, column, row_abs=True, col_abs=True)
    return f"{top}:{xl_rowcol_to_cell(total_row - 1, column, row_abs=True, col_abs=True)}"
