"""The sheets ``Fabric`` and ``Cables``: how full each network is, and its links, a row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xlsxwriter.utility import xl_col_to_name

from planner.outputs.words import NETWORKS
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import GENERAL, INTEGER, PERCENT
from planner.outputs.workbook.page import FIRST_ROW, Page, names_by_sku
from planner.schema.beside import CableSchedule
from planner.schema.plan import FabricReport

_LABEL_WIDTH, _NETWORK_WIDTH, _SUM_WIDTH = 36, 27, 14


class _Figure(NamedTuple):
    """A row of numbers; ``summed`` where a sum over the networks means something.

    ``may_lack`` where a network may have no such thing: it has a dash, then, instead of a 0.
    """

    label: str
    read: Callable[[FabricReport], float]
    summed: bool = False
    may_lack: bool = False


_SHAPE = (
    _Figure("Planes", lambda f: f.planes),
    _Figure("Tiers of switches", lambda f: f.tiers),
    _Figure("Units it is built of", lambda f: f.units, may_lack=True),
    _Figure("Ports per switch", lambda f: f.radix),
    _Figure("Parts a port counts as", lambda f: f.parts_per_port),
)
_SWITCHES = (
    _Figure("Leaf switches", lambda f: f.leaf_switches, True),
    _Figure("Spine switches", lambda f: f.spine_switches, True),
    _Figure("Core switches", lambda f: f.core_switches, True),
)
_PORTS = (
    _Figure("Ports of devices, in parts", lambda f: f.endpoints),
    _Figure("Ports it can hold, in parts", lambda f: f.capacity),
)
_LINKS = (
    _Figure("Uplinks per leaf", lambda f: f.uplinks_per_leaf, may_lack=True),
    _Figure("Links to devices", lambda f: f.system_links, True),
    _Figure("Links between leaf and spine", lambda f: f.leaf_spine_links, True),
    _Figure("Links between spine and core", lambda f: f.spine_core_links, True),
)


def add(book: Book) -> None:
    """Add the sheet, where the plan has fabrics."""
    fabrics = book.plan.fabrics
    if not fabrics:
        return
    page = Page(book, "Fabric", "Fabrics")
    page.banner()
    columns = [("Figure", _LABEL_WIDTH)]
    columns += [(NETWORKS[fabric.network], _NETWORK_WIDTH) for fabric in fabrics]
    page.headers(FIRST_ROW, [*columns, ("Together", _SUM_WIDTH)], 20)
    row = _texts(page, fabrics, FIRST_ROW + 1)
    row = _figures(page, fabrics, "Shape", _SHAPE, row)
    first = row + 1
    row = _figures(page, fabrics, "Switches", _SWITCHES, row)
    row = _switches(page, fabrics, first, row)
    ports = row + 1
    row = _figures(page, fabrics, "Ports", _PORTS, row)
    row = _used(page, fabrics, ports, row)
    row = _figures(page, fabrics, "Links", _LINKS, row)
    row = _oversubscription(page, fabrics, row)
    page.text(row + 1, 0, "As solved, over all planes; edited quantities change nothing here.",
              "subtitle")  # fmt: skip
    page.text(row + 2, 0, "A cable may carry several links, and some switches hold more ports than "
              "are in use.", "subtitle")  # fmt: skip
    networks = {fabric.network for fabric in fabrics}
    if "out_of_band" in networks and networks & {"in_band", "converged"}:
        page.text(row + 3, 0, "Out-of-band switches are devices of the in-band network: their "
                  "uplinks count there.", "subtitle")  # fmt: skip
    page.finish(len(fabrics) + 1, (FIRST_ROW + 1, 1))


def _texts(page: Page, fabrics: tuple[FabricReport, ...], row: int) -> int:
    """Write what the networks are made of and what they connect."""
    models = names_by_sku(page.book.plan)
    rows = (
        ("Switch", [models.get(f.switch_sku, f.switch_sku) for f in fabrics]),
        ("Connects", [", ".join(models.get(sku, sku) for sku in f.serves) for f in fabrics]),
    )
    for label, texts in rows:
        page.text(row, 0, label)
        for column, text in enumerate(texts, start=1):
            page.text(row, column, text)
        page.text(row, len(fabrics) + 1, "")
        page.grow(row, [(text, _NETWORK_WIDTH) for text in texts])
        row += 1
    return row


def _figures(
    page: Page,
    fabrics: tuple[FabricReport, ...],
    heading: str,
    figures: tuple[_Figure, ...],
    row: int,
) -> int:
    """Write a heading and its rows; return the next free row."""
    page.fill(row, (heading,), "heading", len(fabrics) + 2)
    for figure in figures:
        row += 1
        page.text(row, 0, figure.label)
        for column, fabric in enumerate(fabrics, start=1):
            value = figure.read(fabric)
            if figure.may_lack and not value:
                page.text(row, column, "–", "formula", "right")
            else:
                page.number(row, column, value, INTEGER)
        if figure.summed:
            text = f"=SUM(B{row + 1}:{xl_col_to_name(len(fabrics))}{row + 1})"
            page.formula(row, len(fabrics) + 1, text, INTEGER)
        else:
            page.number(row, len(fabrics) + 1, None)
    return row + 1


def _switches(page: Page, fabrics: tuple[FabricReport, ...], first: int, row: int) -> int:
    """Write the switches of all tiers."""
    page.text(row, 0, "Switches", "total")
    for column in range(1, len(fabrics) + 2):
        letter = xl_col_to_name(column)
        text = f"=SUM({letter}{first + 1}:{letter}{row})"
        page.formula(row, column, text, INTEGER, "total")
    return row + 1


def _used(page: Page, fabrics: tuple[FabricReport, ...], first: int, row: int) -> int:
    page.text(row, 0, "Ports in use, share")
    for column in range(1, len(fabrics) + 1):
        letter = xl_col_to_name(column)
        ports, capacity = f"{letter}{first + 1}", f"{letter}{first + 2}"
        page.formula(row, column, f'=IF({capacity}>0,{ports}/{capacity},"")', PERCENT)
    page.number(row, len(fabrics) + 1, None)
    return row + 1


def _oversubscription(page: Page, fabrics: tuple[FabricReport, ...], row: int) -> int:
    page.text(row, 0, "Oversubscription")
    for column, fabric in enumerate(fabrics, start=1):
        ratio = f"{fabric.oversubscription:g}:1" if fabric.tiers > 1 else "–"
        page.text(row, column, ratio, "formula", "right")
    page.number(row, len(fabrics) + 1, None)
    return row + 1


SCHEDULE_SHEET = "Cables"
_SCHEDULE = (
    ("Cable", 8.0), ("Network", 24.0), ("From", 28.0), ("Rack", 7.0), ("RU", 6.0), ("Port", 13.0),
    ("To", 28.0), ("Rack", 7.0), ("RU", 6.0), ("Port", 9.0), ("SKU", 22.0), ("Model", 30.0),
    ("Part number", 19.0), ("Medium", 22.0), ("Length, m", 10.0),
    ("Ordered, m", 10.0), ("From position", 14.0), ("To position", 14.0),
)  # fmt: skip
_NETWORK = 1


def add_schedule(book: Book, schedule: CableSchedule) -> None:
    """Add the sheet."""
    from planner.outputs.netbox import cells

    page = Page(book, SCHEDULE_SHEET, "Cable schedule")
    notes = ["As solved: edited quantities change nothing here.", *schedule.notes]
    page.text(FIRST_ROW - 3, 0, "; ".join(notes), "subtitle")
    page.headers(FIRST_ROW, _SCHEDULE, 20)
    row = FIRST_ROW
    for row, cable in enumerate(schedule.cables, start=FIRST_ROW + 1):
        for column, value in enumerate(cells(cable)):
            if column == _NETWORK:
                page.text(row, column, NETWORKS[cable.network])
            elif value is None or isinstance(value, str):
                page.text(row, column, value or "")
            else:
                page.number(row, column, value, INTEGER if isinstance(value, int) else GENERAL)
    last = len(_SCHEDULE) - 1
    page.sheet.autofilter(FIRST_ROW, 0, row, last)
    page.finish(last, (FIRST_ROW + 1, 3))
