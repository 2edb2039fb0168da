"""The sheet ``Power & Cooling``: what the plan draws, what it heats, what carries the heat away."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.figures import BTU_PER_H_PER_KW, FIGURES, STATED
from planner.outputs import scope
from planner.outputs.scope import Block
from planner.outputs.workbook.bom import KNOWN_PART, subtotal_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    DECIMAL_3,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_OR_DASH,
    Role,
)
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW, Page
from planner.outputs.workbook.rows import Input, Result
from planner.schema.plan import Line, RackGroup
from planner.sizing.facility import HOURS_PER_YEAR

_HEADERS = ("Figure", "Value", "Unit", "Limit", "In use", "How it comes about")
_LABEL, _VALUE, _UNIT, _LIMIT, _USED, _NOTE = range(len(_HEADERS))
_LAST_OF_NOTE = 9
"""The note reaches as far as this column, or as far as the table of sections."""

_LIMITS = {
    "it_power_kw": "it_power",
    "facility_power_kw": "facility_power",
    "heat_air_kw": "heat_air",
    "heat_liquid_kw": "heat_liquid",
    "racks": "racks",
}
"""Figures that a plan may limit, and what their limits are called."""

_PIXELS_PER_CHARACTER, _PIXELS_OF_COLUMN = 7, 5
_PIXELS_OF_ROW = 17


def add(book: Book) -> None:
    """Add the sheet, where there is a job; it reads ``BOM``, ``Checkpoint`` and ``Checks``."""
    if book.job is None:
        return
    page = Page(book, "Power & Cooling", "Power and cooling")
    page.banner()
    page.legend()
    columns = _section_columns(book)
    page.headers(FIRST_ROW, _titles(columns))
    widths = _widths(max(len(columns), _LAST_OF_NOTE))
    for column, width in enumerate(widths):
        page.sheet.set_column(column, column, width)
    # The header is not that of the rows below; the title is repeated on every page instead.
    page.sheet.repeat_rows(0)
    first = FIRST_ROW + 1
    row = _write_sections(page, columns, first)
    row = _chart(page, first, row, widths)
    _figures(page, row, widths)
    page.finish(len(widths) - 1, (BANNER_ROW + 1, 0))
    page.sheet.fit_to_pages(1, 1)


def _figures(page: Page, row: int, widths: list[float]) -> None:
    """Write what follows from the sections, under headings."""
    last, width = len(widths) - 1, sum(widths[_NOTE:])
    for column, title in enumerate(_HEADERS):
        page.text(row, column, title, "header")
    page.sheet.merge_range(row, _NOTE, row, last, "", page.book.formats.get("header"))
    page.text(row, _NOTE, _HEADERS[_NOTE], "header")
    row += 1
    for heading, rows in (*_row_sections(page.book), _rack_rows(page.book)):
        page.fill(row, (heading,), "heading", last + 1)
        row += 1
        for entry in rows:
            _row(page, row, entry, (last, width))
            row += 1
        row += 1


def _chart(page: Page, first: int, row: int, widths: list[float]) -> int:
    """Add the chart under the sections and return the row below it."""
    bars = len(_list_sections(page.book))
    if not bars:
        return row
    width_px = sum(int(width * _PIXELS_PER_CHARACTER) + _PIXELS_OF_COLUMN for width in widths)
    cells = (first, first + bars - 1, _SECTION, _POWER)
    _add_chart(page, row, cells, width_px - 4)
    return row + math.ceil(_chart_height_px(bars) / _PIXELS_OF_ROW) + 1


def _row(page: Page, row: int, entry: Row, note: tuple[int, float]) -> None:
    """Write a figure or an input; ``note`` is the last column of its note and its width."""
    page.text(row, _LABEL, entry.label)
    page.text(row, _UNIT, entry.unit)
    last, width = note
    page.sheet.merge_range(row, _NOTE, row, last, "", page.book.formats.get("text"))
    if isinstance(entry, Result):
        _figure(page, row, entry)
        _limit(page, row, entry)
        page.grow(row, [(page.flagged(row, _NOTE, entry.flag, entry.notes), width)])
        return
    entry.put(page, row, _VALUE)
    for column in (_LIMIT, _USED):
        page.text(row, column, "", "formula")
    page.text(row, _NOTE, entry.note)


def _figure(page: Page, row: int, entry: Result) -> None:
    if entry.formula:
        role: Role = "cross" if entry.cross else "formula"
        page.formula(row, _VALUE, entry.cell_formula, entry.number, role, "right", plan=entry.plan)
    else:
        page.scalar(row, _VALUE, entry.plan, entry.number)
    if not page.book.has(entry.name):
        page.define(entry.name, row, _VALUE)


def _limit(page: Page, row: int, entry: Result) -> None:
    """Write what is allowed, from ``Checks``, and how much of it is in use."""
    for column in (_LIMIT, _USED):
        page.text(row, column, "", "formula")
    for count, limit in enumerate(page.book.plan.limits, start=1):
        name = f"check_limit_{count}"
        if limit.name != _LIMITS.get(entry.name) or not page.book.has(name):
            continue
        # A limit that was cleared limits nothing.
        text = f'=IF(ISNUMBER({name}),{name},"none")'
        page.formula(row, _LIMIT, text, entry.number, "cross", "right")
        allowed, value = (xl_rowcol_to_cell(row, column) for column in (_LIMIT, _VALUE))
        text = f'=IF(ISNUMBER({allowed}),IFERROR({value}/{allowed},""),"")'
        page.formula(row, _USED, text, PERCENT)
        rule = {
            "type": "cell",
            "criteria": ">",
            "value": 1 + 1e-9,
            "format": page.book.formats.condition("bad"),
        }
        page.sheet.conditional_format(row, _USED, row, _USED, rule)


_SECTION, _POWER = 0, 1
_SECTION_WIDTH, _FIGURE_WIDTH = 36.0, 13.0
_SHARE = "share"
_AGREES, _DIFFERS = "agrees", "DIFFERS"


class _Column(NamedTuple):
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


def _section_columns(book: Book) -> tuple[_Column, ...]:
    """Return the figures that the plan has, IT power first."""
    flag = "bom_it_power_kw_flag"
    kw = DECIMAL_1_OR_DASH
    result = [
        _Column(FIGURES["it_power_kw"].column, kw, "it_power_kw", flag, "bom_it_power_kw"),
        _Column("Share of IT power", PERCENT_OR_DASH, "", "", "", _SHARE),
    ]
    if book.has("bom_typical_power_kw"):
        name = "typical_power_kw"
        typical = _Column(
            FIGURES["typical_power_kw"].column, kw, name, f"bom_{name}_flag", f"bom_{name}"
        )
        result.append(typical)
    metered = "bom_facility_power_kw"
    title, name = FIGURES["facility_power_kw"].column, "facility_power_kw"
    if book.has(metered):
        result.append(_Column(title, kw, name, flag, metered))
    else:
        result.append(_Column(title, kw, name, flag, "", "{power}*pue"))
    heat = "heat_btu_per_h"
    result.append(
        _Column(FIGURES["heat_btu_per_h"].column, INTEGER_OR_DASH, heat, flag, f"bom_{heat}")
    )
    if book.has("bom_heat_liquid_kw"):
        name = "heat_liquid_kw"
        result.append(_Column(FIGURES["heat_liquid_kw"].column, kw, name, flag, f"bom_{name}"))
        result.append(
            _Column(FIGURES["heat_air_kw"].column, kw, "heat_air_kw", flag, "", "{power}-{liquid}")
        )
    for title, name, known in (
        (FIGURES["rack_units"].column, "bom_rack_units", "bom_rack_units"),
        (FIGURES["weight_kg"].column, "bom_weight_kg", "weight_kg"),
    ):
        result.append(_Column(title, kw, known, f"{name}_flag", name))
    return tuple(result)


def _titles(listed: tuple[_Column, ...]) -> list[tuple[str, float]]:
    """Return header and width of every column."""
    names = ("Section", *(column.title for column in listed))
    return list(zip(names, _widths(len(listed)), strict=True))


def _widths(figures: int) -> list[float]:
    """Return the widths of a column of sections and of so many columns of figures."""
    return [_SECTION_WIDTH, *[_FIGURE_WIDTH] * figures]


def _list_sections(book: Book) -> list[Block]:
    """Return the sections of which something draws power, takes room or weighs."""
    return [block for block in book.blocks if any(_is_there(entry.line) for entry in block.entries)]


def _is_there(line: Line) -> bool:
    figures = (line.unit_it_power_kw, *(getattr(line, row.of_one) for row in STATED.values()))
    return line.section not in ("Software", "Services") or any(figures)


def _write_sections(page: Page, listed: tuple[_Column, ...], first: int) -> int:
    """Write the sections and their totals, and return the next free row.

    Args:
        first: the first row under the header.
    """
    names = [block.section for block in _list_sections(page.book)]
    total_row = first + len(names)
    for row, section in enumerate(names, start=first):
        page.text(row, _SECTION, section)
        for index, column in enumerate(listed):
            text = _formula(listed, column, section, row, total_row)
            role: Role = "cross" if column.subtotal else "formula"
            page.formula(row, _POWER + index, text, column.number, role)
    page.text(total_row, _SECTION, "All sections", "total")
    for index, column in enumerate(listed):
        span = f"{_at(first, _POWER + index)}:{_at(total_row - 1, _POWER + index)}"
        page.formula(total_row, _POWER + index, f"=SUM({span})", column.number, "total")
    return _compared(page, listed, total_row)


def _formula(
    listed: tuple[_Column, ...], column: _Column, section: str, row: int, total_row: int
) -> str:
    if column.subtotal:
        return f"={subtotal_name(column.subtotal, section)}"
    power = _at(row, _POWER)
    if column.formula == _SHARE:
        whole = xl_rowcol_to_cell(total_row, _POWER, row_abs=True)
        return f"=IF({whole}>0,{power}/{whole},0)"
    liquid = [
        _at(row, _POWER + index)
        for index, other in enumerate(listed)
        if other.total == "heat_liquid_kw"
    ]
    return "=" + column.formula.format(power=power, liquid=liquid[0] if liquid else "")


def _compared(page: Page, listed: tuple[_Column, ...], total_row: int) -> int:
    """Say whether each total agrees with the rest of the workbook, and what it lacks."""
    row, lacking = total_row + 1, False
    page.text(row, _SECTION, "Against the totals of BOM and Checkpoint", "subtitle")
    for index, column in enumerate(listed):
        if column.total:
            total = _at(total_row, _POWER + index)
            same = f"ABS({total}-{column.total})<=0.000000001*ABS({column.total})"
            text = f'=IF({same},"{_AGREES}","{_DIFFERS}")'
            page.formula(row, _POWER + index, text, role="flag", plan=_AGREES)
            page.mark(row, _POWER + index, "begins with", _DIFFERS, "bad")
        if column.flag and page.book.value(column.flag):
            lacking = True
            text = f'=IF({column.flag}="","","{KNOWN_PART}")'
            page.formula(row + 1, _POWER + index, text, role="flag")
    if lacking:
        page.text(row + 1, _SECTION, "Where a line lacks the figure", "subtitle")
    return row + 2 + lacking


def _at(row: int, column: int) -> str:
    return str(xl_rowcol_to_cell(row, column))


_GREY, _INK, _BAR = "#D9D9D9", "#1A1A1A", "#4F81BD"
_BAR_HEIGHT, _AROUND_HEIGHT = 26, 110
"""Pixels of a bar, and of title and axes together."""


def _chart_height_px(bars: int) -> int:
    """Return how high the chart is."""
    return bars * _BAR_HEIGHT + _AROUND_HEIGHT


def _add_chart(page: Page, row: int, cells: tuple[int, int, int, int], width_px: int) -> None:
    """Add the chart.

    Args:
        row: where its upper edge lies.
        cells: first and last row of the sections, the column of their names and of their power.
    """
    first, last, names, power = cells
    font = {"name": "Arial", "size": 9, "color": _INK}
    chart = page.book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": FIGURES["it_power_kw"].column,
            "categories": [page.name, first, names, last, names],
            "values": [page.name, first, power, last, power],
            "fill": {"color": _BAR},
            "gap": 45,
            "data_labels": {"value": True, "num_format": "#,##0.0", "font": font},
        }
    )
    chart.set_title({"name": "IT power by section", "name_font": {**font, "size": 11}})
    line = {"line": {"color": _GREY}, "num_font": font, "name_font": {**font, "bold": False}}
    grid = {"visible": True, "line": {"color": _GREY, "width": 0.5}}
    chart.set_x_axis(
        {
            "name": FIGURES["it_power_kw"].column,
            "num_format": "#,##0",
            "min": 0,
            "major_gridlines": grid,
            **line,
        }
    )
    # From the top down in the order of the table, the values' axis under it all the same.
    chart.set_y_axis({"name": "Section of the bill", "reverse": True, "crossing": "max", **line})
    chart.set_legend({"none": True})
    chart.set_chartarea({"border": {"color": _GREY}})
    chart.set_size({"width": width_px, "height": _chart_height_px(last - first + 1)})
    page.sheet.insert_chart(row, 0, chart, {"x_offset": 2, "y_offset": 4})


Row = Input | Result
Rows = tuple[str, tuple[Row, ...]]
"""A heading with its rows."""

BTU_PER_H_PER_TON = 12_000.0
AIR_RISE_DEGF, LIQUID_RISE_K = 20.0, 10.0
"""What the rises of temperature are until the reader says otherwise."""

_OWN = "an assumption of this sheet, not of the plan: give the site's own"

_DEGF_PER_K = 1.8
# BTU/h that a CFM of standard air carries per degF: 60 min/h x 0.075 lb/ft3 x 0.24 BTU/(lb degF).
_BTU_PER_CFM_DEGF = 1.08
_M3_PER_H_PER_CFM = 1.69901079552  # 0.3048^3 m³/ft³ x 60 min/h
_KJ_PER_KG_K = 4.186  # water
_KWH_PER_MWH = 1000.0
_FLAG, _TYPICAL_FLAG = "bom_it_power_kw_flag", "bom_typical_power_kw_flag"


def _row_sections(book: Book) -> list[Rows]:
    """Return the rows under their headings, each after what it rests on."""
    return [
        ("Power, from the IT load to the meter", (*_it_power(book), *_meter(book))),
        ("Energy in a year of 8,760 h", _energy(book)),
        ("Heat of the IT load, and what carries it", (*_heat(book), *_air(book), *_liquid(book))),
    ]


def _same(name: str, how: str, number: str = DECIMAL_1, flag: str = _FLAG, **own: str) -> Result:
    """Return the row of a figure that has its place elsewhere in the workbook."""
    return Result.of(name, name, how, number, flag=flag, cross=True, **own)


def _ratio(
    name: str,
    label: str,
    cells: tuple[str, str],
    *,
    how: str,
    unit: str = "",
    number: str = DECIMAL_2,
    flag: str = "",
) -> Result:
    """Return the row of one figure divided by another, ``cells`` being their names."""
    return Result(name, label, unit, "/".join(cells), how, number, flag=flag)


def _it_power(book: Book) -> tuple[Row, ...]:
    how = "what every device draws at most, from BOM"
    rows: list[Row] = [_same("it_power_kw", how)]
    if book.has("typical_power_kw"):
        name, how = "typical_power_kw", "the maximum where a line's typical draw is not known"
        rows.append(_same(name, how, flag=_TYPICAL_FLAG))
        label, how = "Typical power, share of the maximum", "typical / maximum IT power"
        cells = (name, "it_power_kw")
        share = _ratio("typical_share", label, cells, how=how, unit="share", number=PERCENT)
        rows.append(share)
    return tuple(rows)


def _meter(book: Book) -> tuple[Row, ...]:
    two = scope.two_pues(book.plan)
    how = "power usage effectiveness; from Checkpoint, where it can be changed"
    label = "PUE of heat to air" if two else "PUE"
    rows: list[Row] = [_same("pue", how, DECIMAL_3, "", label=label)]
    if two:
        rows.append(_same("pue_liquid", "likewise", DECIMAL_3, ""))
    how = "every line's IT power x its PUE" if two else "IT power x PUE"
    name = "facility_power_kw"
    rows.append(_same(name, how))
    if two:
        label, how = "PUE of the whole", "power at the meter / IT power"
        cells = (name, "it_power_kw")
        rows.append(_ratio("pue_mean", label, cells, how=how, number=DECIMAL_3))
    return (*rows, *_typical_at_meter(book))


def _typical_at_meter(book: Book) -> tuple[Result, ...]:
    """Return the row of the typical power at the meter, where the plan or one PUE gives it."""
    label = "Typical power at the meter"
    if book.has("energy_kw"):
        how = "every line's typical power x its PUE"
        return (Result("energy_kw", label, "kW", "energy_kw", how, DECIMAL_1,
                       flag=_TYPICAL_FLAG, cross=True),)  # fmt: skip
    if book.number("typical_power_kw") is None or scope.two_pues(book.plan):
        return ()
    name, formula, how = "typical_meter_kw", "typical_power_kw*pue", "typical IT power x PUE"
    return (Result(name, label, "kW", formula, how, DECIMAL_1, flag=_TYPICAL_FLAG),)


def _energy(book: Book) -> tuple[Row, ...]:
    basis = book.plan.site.energy_basis
    rows = []
    for meter, kind, flag in (
        ("facility_power_kw", "maximum", _FLAG),
        *((meter.name, "typical", _TYPICAL_FLAG) for meter in _typical_at_meter(book)),
    ):
        how = f"{kind} power at the meter x {HOURS_PER_YEAR:,.0f} h"
        how += "; what the plan counts energy by" if kind == basis else ""
        formula = f"{meter}*{HOURS_PER_YEAR:.0f}/{_KWH_PER_MWH:.0f}"
        name, label = f"energy_{kind}_mwh", f"Energy per year at {kind} power"
        rows.append(Result(name, label, "MWh", formula, how, INTEGER, flag=flag))
    return tuple(rows)


def _heat(book: Book) -> tuple[Row, ...]:
    how = f"IT power x {BTU_PER_H_PER_KW:,.2f} BTU/h per kW; without pumps, fans and losses on site"
    rows: list[Row] = [
        _same("heat_btu_per_h", how, INTEGER),
        Result("cooling_tons", "Heat in tons of refrigeration", "tons",
               f"heat_btu_per_h/{BTU_PER_H_PER_TON:.0f}",
               f"1 ton of refrigeration is {BTU_PER_H_PER_TON:,.0f} BTU/h", DECIMAL_1, flag=_FLAG),
    ]  # fmt: skip
    rows.append(_to_air(book))
    if book.has("heat_liquid_kw"):
        rows.append(_same("heat_liquid_kw", "every line's IT power x its share of heat to liquid"))
    return tuple(rows)


def _to_air(book: Book) -> Result:
    """Return the row of the heat to air, which is all of it where the plan knows no other."""
    if book.has("heat_air_kw"):
        return _same("heat_air_kw", "IT power less what goes to liquid")
    how = "all of the IT power: no line says that some of its heat goes to liquid"
    return replace(_same("heat_air_kw", how), name="air_heat_kw", formula="it_power_kw")


def _air(book: Book) -> tuple[Row, ...]:
    rise = "air_rise_degf"
    carried = f"{_to_air(book).name}*{BTU_PER_H_PER_KW!r}/({_BTU_PER_CFM_DEGF!r}*{rise})"
    label, unit = "Rise of the air's temperature", "°F"
    return (
        Input(rise, label, unit, AIR_RISE_DEGF, DECIMAL_1, _OWN, low=1.0, high=100.0),
        Result("air_rise_k", f"{label}, metric", "K", f"{rise}/{_DEGF_PER_K!r}", "°F / 1.8",
               DECIMAL_1, (rise,)),
        Result("air_flow_cfm", "Air flow needed", "CFM", carried,
               "heat to air in BTU/h / (1.08 x rise in °F); 1.08 = 60 min/h x 0.075 lb/ft³ x 0.24 "
               "BTU/(lb °F): standard air, at sea level", INTEGER, (rise,), _FLAG),
        Result("air_flow_m3_per_h", "Air flow needed, metric", "m³/h",
               f"air_flow_cfm*{_M3_PER_H_PER_CFM!r}", "1 CFM is 1.699 m³/h", INTEGER,
               ("air_flow_cfm",), _FLAG),
    )  # fmt: skip


def _liquid(book: Book) -> tuple[Row, ...]:
    if not book.has("heat_liquid_kw"):
        return ()
    rise = "liquid_rise_k"
    label, unit = "Rise of the liquid's temperature", "K"
    return (
        Input(rise, label, unit, LIQUID_RISE_K, DECIMAL_1, _OWN, low=1.0, high=60.0),
        Result("liquid_flow_l_per_min", "Liquid flow needed", "l/min",
               f"heat_liquid_kw*60/({_KJ_PER_KG_K!r}*{rise})",
               "heat to liquid x 60 / (4.186 kJ/(kg K) x rise): water of 1 kg/l; glycol takes more",
               INTEGER, (rise,), _FLAG),
    )  # fmt: skip


def _rack_rows(book: Book) -> Rows:
    """Return the rows on racks; what the placement says of single racks is as solved."""
    how = "from BOM; 0 where the problem says nothing of racks"
    mean_kw = _ratio(
        "kw_per_rack",
        "Mean power of a rack",
        ("it_power_kw", "racks"),
        how="IT power / racks, optics and cables included",
        unit="kW",
        flag="bom_it_power_kw_flag",
    )
    mean_kg = _ratio(
        "kg_per_rack",
        "Mean weight of a rack",
        ("weight_kg", "racks"),
        how="weight on BOM / racks; the racks' own weight where BOM has it",
        unit="kg",
        number=DECIMAL_1,
        flag="bom_weight_kg_flag",
    )
    return (
        "Racks",
        (
            _same("racks", how, INTEGER_OR_DASH, "bom_racks_flag"),
            mean_kw,
            *_extreme(book, "densest_rack_kw", "Densest rack", "kW"),
            mean_kg,
            *_extreme(book, "heaviest_rack_kg", "Heaviest rack", "kg"),
        ),
    )


def _extreme(book: Book, name: str, label: str, unit: str) -> tuple[Result, ...]:
    """Return the rack that draws or weighs most, where the plan places anything."""

    def figure(group: RackGroup) -> float | None:
        return group.it_power_kw if unit == "kW" else group.weight_kg

    known = [(value, group) for group in book.plan.racks if (value := figure(group)) is not None]
    if not known:
        return ()
    value, group = max(known, key=lambda pair: pair[0])
    limit = group.power_limit_kw if unit == "kW" else group.weight_limit_kg
    how = f"as solved: {_which(group)}" + ("" if limit is None else f", limit {limit:,g} {unit}")
    every = len(book.plan.racks)
    if len(known) < every:
        how += f"; not known of {every - len(known):,} of {every:,} kinds of rack"
    number = DECIMAL_2 if unit == "kW" else DECIMAL_1
    return (Result(name, label, unit, "", how, number, plan=value),)


def _which(group: RackGroup) -> str:
    if group.count == 1:
        return f"rack {group.first:,}"
    return f"racks {group.first:,} to {group.first + group.count - 1:,}, each"
