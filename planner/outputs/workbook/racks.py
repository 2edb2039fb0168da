"""The sheet ``Racks``: what stands where, rack by rack; racks with the same content together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, GENERAL, INTEGER
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
    ("Devices", 9),
    ("Device", 46),
    ("Height each, RU", 9),
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
    _DEVICES,
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
        for run in reversed(_runs(group)):
            row += 1
            _devices(page, run, models, row)
        row += 1
    _total(page, row + 1)
    page.finish(_ID, (_HEADER_ROW + 1, _CLASS))


def _group(page: Page, group: RackGroup, row: int) -> None:
    """Write what is the same of these racks: how many they are, their limits and sums."""
    for column in range(len(_COLUMNS)):
        page.text(row, column, "", "heading")
    page.text(row, _CLASS, group.rack_class, "heading", "center")
    page.text(row, _DEVICE, f"  {_kind(group)}", "heading")
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
    if not group.devices:
        return "no device: room that the rule for mixed racks sets aside"
    return "in this rack" if group.count == 1 else "in each of these racks"


@dataclass(frozen=True)
class _Run:
    """Equal devices one above the other, from RU ``lowest`` to ``highest``."""

    device: Device
    count: int
    lowest: float
    highest: float


def _runs(group: RackGroup) -> list[_Run]:
    """Return a rack's devices from the bottom up, equal neighbours together."""
    runs: list[_Run] = []
    for device in group.devices:
        height = device.rack_units or (group.height_ru if group.product else 0.0)
        top = device.position_ru + max(height - 1, 0.0)
        if runs and _continues(runs[-1], device):
            runs[-1] = replace(runs[-1], count=runs[-1].count + 1, highest=top)
        else:
            runs.append(_Run(device, 1, device.position_ru, top))
    return runs


def _continues(run: _Run, device: Device) -> bool:
    same = run.device.model_copy(update={"position_ru": device.position_ru}) == device
    return same and abs(run.highest + 1 - device.position_ru) < 1e-6


def _devices(page: Page, run: _Run, models: dict[str, str], row: int) -> None:
    """Write equal neighbours; draw and weight are of all of them."""
    for column in (_FROM, _TO, _COUNT, _CLASS, _POWER_LIMIT, _WEIGHT_LIMIT, _PDUS):
        page.text(row, column, "", "formula")
    device, name = run.device, models.get(run.device.sku, run.device.sku)
    weight_kg = None if device.weight_kg is None else run.count * device.weight_kg
    page.number(row, _LOWEST, run.lowest, GENERAL)
    page.number(row, _HIGHEST, run.highest, GENERAL)
    page.number(row, _DEVICES, run.count, INTEGER)
    page.text(row, _DEVICE, name)
    page.number(row, _HEIGHT, device.rack_units, GENERAL)
    page.number(row, _KW, run.count * device.it_power_kw, DECIMAL_2)
    page.number(row, _KG, weight_kg, DECIMAL_1)
    page.text(row, _ID, device.sku)
    page.grow(row, [(name, _COLUMNS[_DEVICE][1])])


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
