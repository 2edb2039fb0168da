"""The sheet ``Fabric``: one row per network with its switches, links and how full it is."""

from __future__ import annotations

from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

from planner.outputs.words import NETWORKS
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import INTEGER, PERCENT
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.text import names
from planner.schema.plan import FabricReport

_COLUMNS = (
    ("Network", 19),
    ("Switch", 26),
    ("Connects", 34),
    ("Planes", 8),
    ("Tiers", 7),
    ("Units", 7),
    ("Ports per switch", 9),
    ("Leaf switches", 9),
    ("Spine switches", 9),
    ("Core switches", 9),
    ("Switches", 9),
    ("Ports of devices", 10),
    ("Ports it can hold", 10),
    ("In use", 7),
    ("Uplinks per leaf", 9),
    ("Over-\nsubscription", 12),
    ("Links to devices", 10),
    ("Leaf-spine links", 10),
    ("Spine-core links", 10),
    ("Note", 26),
)
_LEAF, _CORE, _SWITCHES, _PORTS, _CAPACITY, _USE = 7, 9, 10, 11, 12, 13
_SUMMED = (7, 8, 9, 10, 16, 17, 18)
_NOTE = len(_COLUMNS) - 1


def add(book: Book) -> None:
    """Add the sheet, where the plan has fabrics."""
    if not book.plan.fabrics:
        return
    page = Page(book, "Fabric", "Fabrics")
    page.banner()
    page.headers(FIRST_ROW, _COLUMNS, 42)
    models = names(book.plan)
    first = row = FIRST_ROW + 1
    for fabric in book.plan.fabrics:
        _fabric(page, fabric, models, row)
        row += 1
    _total(page, first, row)
    page.text(row + 2, 0, "As solved, over all planes; edited quantities change nothing here. "
              "A cable may carry several links, and some switches hold more ports than are in use.",
              "subtitle")  # fmt: skip
    page.finish(_NOTE, (FIRST_ROW + 1, 1))


def _fabric(page: Page, fabric: FabricReport, models: dict[str, str], row: int) -> None:
    texts = (
        NETWORKS[fabric.network],
        models.get(fabric.switch_sku, fabric.switch_sku),
        ", ".join(models.get(sku, sku) for sku in fabric.serves),
    )
    for column, text in enumerate(texts):
        page.text(row, column, text)
    numbers = {
        3: fabric.planes,
        4: fabric.tiers,
        5: fabric.units,
        6: fabric.radix,
        7: fabric.leaf_switches,
        8: fabric.spine_switches,
        9: fabric.core_switches,
        _PORTS: fabric.endpoints,
        _CAPACITY: fabric.capacity,
        14: fabric.uplinks_per_leaf,
        16: fabric.system_links,
        17: fabric.leaf_spine_links,
        18: fabric.spine_core_links,
    }
    for column, value in numbers.items():
        page.number(row, column, value, INTEGER)
    switches = fabric.leaf_switches + fabric.spine_switches + fabric.core_switches
    cells = f"{_cell(row, _LEAF)}:{_cell(row, _CORE)}"
    page.formula(row, _SWITCHES, f"=SUM({cells})", switches, INTEGER)
    ports, capacity = _cell(row, _PORTS), _cell(row, _CAPACITY)
    used = fabric.endpoints / fabric.capacity if fabric.capacity else ""
    text = f'=IF({capacity}>0,{ports}/{capacity},"")'
    page.formula(row, _USE, text, used, PERCENT)
    ratio = f"{fabric.oversubscription:g}:1" if fabric.tiers > 1 else "–"
    page.text(row, 15, ratio, "formula", "right")
    parts = fabric.parts_per_port
    note = "" if parts == 1 else f"ports counted in parts, {parts} to a switch port"
    page.text(row, _NOTE, note)
    page.grow(row, [(texts[1], 26), (texts[2], 34), (note, 26)])


def _total(page: Page, first: int, row: int) -> None:
    for column in range(len(_COLUMNS)):
        page.text(row, column, "Together" if column == 0 else "", "total")
    fabrics = page.book.plan.fabrics
    sums = (
        sum(f.leaf_switches for f in fabrics),
        sum(f.spine_switches for f in fabrics),
        sum(f.core_switches for f in fabrics),
        sum(f.leaf_switches + f.spine_switches + f.core_switches for f in fabrics),
        sum(f.system_links for f in fabrics),
        sum(f.leaf_spine_links for f in fabrics),
        sum(f.spine_core_links for f in fabrics),
    )
    for column, value in zip(_SUMMED, sums, strict=True):
        letter = xl_col_to_name(column)
        text = f"=SUM({letter}{first + 1}:{letter}{row})"
        page.formula(row, column, text, value, INTEGER, "total")


def _cell(row: int, column: int) -> str:
    return str(xl_rowcol_to_cell(row, column))
