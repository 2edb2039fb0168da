"""Power, heat, height and weight by section of the bill, and their totals."""

from __future__ import annotations

from dataclasses import dataclass

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.numbering import Block, blocks
from planner.outputs.workbook.bom.totals import KNOWN_PART, subtotal_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import (
    DECIMAL_1_OR_DASH,
    INTEGER_OR_DASH,
    PERCENT_OR_DASH,
    Role,
)
from planner.outputs.workbook.page import Page
from planner.schema.plan import Line

SECTION, POWER = 0, 1
_SECTION_WIDTH, _WIDTH = 36.0, 13.0
_SHARE = "share"
_AGREES, _DIFFERS = "agrees", "DIFFERS"


@dataclass(frozen=True)
class Column:
    """One figure by section.

    ``subtotal`` is the grand total of ``BOM`` whose subtotals it shows; without one ``formula``
    says how it follows, ``{power}`` and ``{liquid}`` being cells of its row. ``total`` is the name
    its sum must agree with, ``flag`` the name that marks an incomplete sum.
    """

    title: str
    number: str
    total: str
    flag: str = ""
    subtotal: str = ""
    formula: str = ""


def columns(book: Book) -> tuple[Column, ...]:
    """Return the figures that the plan has, IT power first."""
    flag = "bom_it_power_kw_flag"
    kw = DECIMAL_1_OR_DASH
    result = [
        Column("IT power, kW", kw, "it_power_kw", flag, "bom_it_power_kw"),
        Column("Share of IT power", PERCENT_OR_DASH, "", "", "", _SHARE),
    ]
    if book.has("bom_typical_power_kw"):
        name = "typical_power_kw"
        typical = Column("Typical IT power, kW", kw, name, f"bom_{name}_flag", f"bom_{name}")
        result.append(typical)
    metered = "bom_facility_power_kw"
    title, name = "At the meter, kW", "facility_power_kw"
    if book.has(metered):
        result.append(Column(title, kw, name, flag, metered))
    else:
        result.append(Column(title, kw, name, flag, "", "{power}*pue"))
    heat = "heat_btu_per_h"
    result.append(Column("Heat, BTU/h", INTEGER_OR_DASH, heat, flag, f"bom_{heat}"))
    if book.has("bom_heat_liquid_kw"):
        name = "heat_liquid_kw"
        result.append(Column("Heat to liquid, kW", kw, name, flag, f"bom_{name}"))
        result.append(Column("Heat to air, kW", kw, "heat_air_kw", flag, "", "{power}-{liquid}"))
    for title, name, known in (
        ("Rack units, RU", "bom_rack_units", "bom_rack_units"),
        ("Weight, kg", "bom_weight_kg", "weight_kg"),
    ):
        result.append(Column(title, kw, known, f"{name}_flag", name))
    return tuple(result)


def titles(listed: tuple[Column, ...]) -> list[tuple[str, float]]:
    """Return header and width of every column."""
    names = ("Section", *(column.title for column in listed))
    return list(zip(names, widths(len(listed)), strict=True))


def widths(figures: int) -> list[float]:
    """Return the widths of a column of sections and of so many columns of figures."""
    return [_SECTION_WIDTH, *[_WIDTH] * figures]


def shown(book: Book) -> list[Block]:
    """Return the sections of which something draws power, takes room or weighs."""
    return [
        block
        for block in blocks(book.plan)
        if any(_is_there(entry.line) for entry in block.entries)
    ]


def _is_there(line: Line) -> bool:
    figures = (line.unit_it_power_kw, line.unit_rack_units, line.unit_weight_kg)
    return line.section != "Software" or any(figures)


def write(page: Page, listed: tuple[Column, ...], first: int) -> int:
    """Write the sections and their totals, and return the next free row.

    Args:
        page: the sheet.
        listed: what to show.
        first: the first row under the header.
    """
    names = [block.section for block in shown(page.book)]
    total_row = first + len(names)
    for row, section in enumerate(names, start=first):
        page.text(row, SECTION, section)
        for index, column in enumerate(listed):
            text = _formula(listed, column, section, row, total_row)
            role: Role = "cross" if column.subtotal else "formula"
            page.formula(row, POWER + index, text, column.number, role)
    page.text(total_row, SECTION, "All sections", "total")
    for index, column in enumerate(listed):
        span = f"{_at(first, POWER + index)}:{_at(total_row - 1, POWER + index)}"
        page.formula(total_row, POWER + index, f"=SUM({span})", column.number, "total")
    return _compared(page, listed, total_row)


def _formula(
    listed: tuple[Column, ...], column: Column, section: str, row: int, total_row: int
) -> str:
    if column.subtotal:
        return f"={subtotal_name(column.subtotal, section)}"
    power = _at(row, POWER)
    if column.formula == _SHARE:
        whole = xl_rowcol_to_cell(total_row, POWER, row_abs=True)
        return f"=IF({whole}>0,{power}/{whole},0)"
    liquid = [
        _at(row, POWER + index)
        for index, other in enumerate(listed)
        if other.total == "heat_liquid_kw"
    ]
    return "=" + column.formula.format(power=power, liquid=liquid[0] if liquid else "")


def _compared(page: Page, listed: tuple[Column, ...], total_row: int) -> int:
    """Say whether each total agrees with the rest of the workbook, and what it lacks."""
    row, lacking = total_row + 1, False
    page.text(row, SECTION, "Against the totals of BOM and Checkpoint", "subtitle")
    for index, column in enumerate(listed):
        if column.total:
            total = _at(total_row, POWER + index)
            same = f"ABS({total}-{column.total})<=0.000000001*ABS({column.total})"
            text = f'=IF({same},"{_AGREES}","{_DIFFERS}")'
            page.formula(row, POWER + index, text, role="flag", plan=_AGREES)
            page.mark(row, POWER + index, "begins with", _DIFFERS, "bad")
        if column.flag and page.book.value(column.flag):
            lacking = True
            text = f'=IF({column.flag}="","","{KNOWN_PART}")'
            page.formula(row + 1, POWER + index, text, role="flag")
    if lacking:
        page.text(row + 1, SECTION, "Where a line lacks the figure", "subtitle")
    return row + 2 + lacking


def _at(row: int, column: int) -> str:
    return str(xl_rowcol_to_cell(row, column))
