"""One row of the bill of materials: text, inputs and formulas of a line or a component."""

from __future__ import annotations

from planner.outputs.workbook.bom_columns import COLUMNS, INDEX, NUMBER, WIDTH, at
from planner.outputs.workbook.bom_lines import PER_UNIT, Entry, figures, note
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.page import Page
from planner.schema.plan import Line
from planner.sizing.facility import BTU_PER_H_PER_KW

PART_OF = "in line "
"""What the section of a component begins with; sums over a section leave it out."""

_UNWRAPPED = ("line", "section", "price_date", "confidence", "sku")


def add_line(page: Page, row: int, entry: Entry) -> None:
    """Write a line that counts: quantity and discount are inputs, the rest follows.

    Args:
        page: the sheet.
        row: zero-based row.
        entry: the line.
    """
    line = entry.line
    _identity(page, row, line, f"{entry.number}.0", line.section, "text", note(line, None))
    _count(page, row, "quantity", line.quantity)
    _put(page, row, "installed", line.installed)
    purchased = f"=MAX(0,{at('quantity', row)}-{at('installed', row)})"
    _formula(page, row, "purchased", purchased, line.purchased)
    _money(page, row, line)
    _physical(page, row, line, "formula")
    _racks(page, row, line)
    for key, unit_key in PER_UNIT.items():
        _per_unit(page, row, key, unit_key, line, "formula")
    _put(page, row, "solved_quantity", line.quantity, "fixed")
    _put(page, row, "solved_unit_list", line.unit_list_usd, "fixed")
    _put(page, row, "solved_discount", line.discount, "fixed")


def add_part(page: Page, row: int, entry: Entry, index: int, bundle_row: int) -> None:
    """Write a component: its count follows its bundle, its figures are informative.

    Args:
        page: the sheet.
        row: zero-based row.
        entry: the bundle.
        index: which of its components.
        bundle_row: the bundle's row.
    """
    line = entry.parts[index]
    number = f"{entry.number}.{index + 1}"
    text = note(line, entry.number)
    _identity(page, row, line, number, f"{PART_OF}{entry.number}.0", "part", text)
    for key in ("quantity", "purchased"):
        value = line.quantity if key == "quantity" else line.purchased
        _part_count(page, row, key, value, entry.line, bundle_row)
    _physical(page, row, line, "part")
    for key, unit_key in PER_UNIT.items():
        _per_unit(page, row, key, unit_key, line, "part")


def _identity(
    page: Page, row: int, line: Line, number: str, section: str, role: Role, text: str
) -> None:
    price = line.price
    described = f"{line.model} — {line.description}" if line.description else line.model
    cells = {
        "line": number,
        "section": section,
        "vendor": line.vendor,
        "part_number": line.part_number or "",
        "model": described,
        "price_source": "" if price is None else price.source,
        "price_date": "" if price is None else price.date,
        "confidence": "" if price is None else price.confidence,
        "lead_time": line.lead_time or "",
        "note": text,
        "sku": line.sku,
    }
    for column in COLUMNS:
        page.text(row, INDEX[column.key], cells.get(column.key, ""), role)
    page.grow(row, [(value, WIDTH[key]) for key, value in cells.items() if key not in _UNWRAPPED])


def _count(page: Page, row: int, key: str, value: int) -> None:
    _put(page, row, key, value, "input")
    page.sheet.data_validation(
        row,
        INDEX[key],
        row,
        INDEX[key],
        {
            "validate": "integer",
            "criteria": ">=",
            "value": 0,
            "error_title": "Quantity",
            "error_message": "A whole number of units, 0 or more.",
        },
    )


def _money(page: Page, row: int, line: Line) -> None:
    known = figures(line)
    unit_list, unit_net = at("unit_list", row), at("unit_net", row)
    purchased, discount = at("purchased", row), at("discount", row)
    # A price that is not known may be filled in; one from a price book stays what its source says.
    _put(page, row, "unit_list", known["unit_list"], _price_role(line))
    _put(page, row, "discount", line.discount, "input")
    page.sheet.data_validation(
        row,
        INDEX["discount"],
        row,
        INDEX["discount"],
        {
            "validate": "decimal",
            "criteria": "between",
            "minimum": 0,
            "maximum": 1,
            "error_title": "Discount",
            "error_message": "A share of the list price between 0 % and 100 %.",
        },
    )
    net = f'=IF(ISNUMBER({unit_list}),ROUND({unit_list}*(1-{discount}),2),"")'
    _formula(page, row, "unit_net", net, known["unit_net"])
    _put(page, row, "unit_support", known["unit_support"])
    for key, unit in (
        ("extended_list", unit_list),
        ("extended_net", unit_net),
        ("support", at("unit_support", row)),
    ):
        text = f'=IF({purchased}=0,0,IF(ISNUMBER({unit}),ROUND({unit}*{purchased},2),""))'
        _formula(page, row, key, text, known[key])


def _price_role(line: Line) -> Role:
    return "input" if line.unit_list_usd is None else "formula"


def _physical(page: Page, row: int, line: Line, role: Role) -> None:
    """Write power, heat, height and weight, each per unit and for the line."""
    known = figures(line)
    for key, unit_key in (
        ("power", "unit_power"),
        ("rack_units", "unit_rack_units"),
        ("weight", "unit_weight"),
    ):
        _put(page, row, unit_key, known[unit_key], role)
        unit = at(unit_key, row)
        text = f'=IF(ISNUMBER({unit}),{at("quantity", row)}*{unit},"")'
        _formula(page, row, key, text, known[key], role)
    power = at("power", row)
    text = f'=IF(ISNUMBER({power}),{power}*{BTU_PER_H_PER_KW},"")'
    _formula(page, row, "heat", text, known["heat"], role)


def _racks(page: Page, row: int, line: Line) -> None:
    if line.racks is None or line.racks <= 0 or line.quantity <= 0:
        _put(page, row, "racks", line.racks)
        return
    quantity = at("quantity", row)
    if line.racks % line.quantity == 0:
        _formula(page, row, "racks", f"={quantity}*{line.racks // line.quantity}", line.racks)
        return
    # The fewest units per rack that explain the plan's racks: an edited count never looks better.
    per_rack = -(-line.quantity // line.racks)
    _formula(page, row, "racks", f"=ROUNDUP({quantity}/{per_rack},0)", line.racks)


def _per_unit(page: Page, row: int, key: str, unit_key: str, line: Line, role: Role) -> None:
    known = figures(line)
    _put(page, row, unit_key, known[unit_key], role)
    if known[unit_key] is None:
        _put(page, row, key, known[key], role)
    else:
        text = f"={at('quantity', row)}*{at(unit_key, row)}"
        _formula(page, row, key, text, known[key], role)


def _part_count(page: Page, row: int, key: str, value: int, bundle: Line, bundle_row: int) -> None:
    count = bundle.quantity if key == "quantity" else bundle.purchased
    if count == 0 or value % count:
        _put(page, row, key, value, "part")
    else:
        _formula(page, row, key, f"={at(key, bundle_row)}*{value // count}", value, "part")


def _put(page: Page, row: int, key: str, value: float | None, role: Role = "formula") -> None:
    page.number(row, INDEX[key], value, NUMBER[key], role)


def _formula(
    page: Page, row: int, key: str, text: str, value: float | None, role: Role = "formula"
) -> None:
    page.formula(row, INDEX[key], text, value, NUMBER[key], role)
