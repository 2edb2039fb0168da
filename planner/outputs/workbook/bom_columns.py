"""The columns of the bill of materials, in order."""

from __future__ import annotations

from dataclasses import dataclass

from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    GENERAL,
    INTEGER,
    PERCENT,
)


@dataclass(frozen=True)
class Column:
    """One column: what it holds, under which band, how wide in characters, how printed.

    ``total`` is the defined name of the column's grand total, empty where nothing is summed.
    """

    key: str
    band: str
    title: str
    width: float
    number: str = GENERAL
    total: str = ""


COLUMNS: tuple[Column, ...] = (
    Column("line", "Item", "Line", 6),
    Column("section", "Item", "Section", 12),
    Column("vendor", "Item", "Manufacturer", 13),
    Column("part_number", "Item", "Part number", 16),
    Column("model", "Item", "Model and description", 35),
    Column("quantity", "Quantity", "Quantity", 9.5, INTEGER),
    Column("installed", "Quantity", "Installed", 9.5, INTEGER),
    Column("purchased", "Quantity", "Purchased", 10.5, INTEGER),
    Column("unit_list", "Price, USD", "Unit list", 13.5, DECIMAL_2),
    Column("price_source", "Price, USD", "Price source", 17),
    Column("price_date", "Price, USD", "Price date", 11.5),
    Column("confidence", "Price, USD", "Confi-\ndence", 9),
    Column("discount", "Price, USD", "Discount", 9.5, PERCENT),
    Column("unit_net", "Price, USD", "Unit net", 13.5, DECIMAL_2),
    Column("extended_list", "Cost, USD", "Extended list", 16, DECIMAL_2, "bom_list_usd"),
    Column("extended_net", "Cost, USD", "Extended net", 16, DECIMAL_2, "bom_capex_usd"),
    Column("unit_support", "Cost, USD", "Support per unit and year", 12.5, DECIMAL_2),
    Column("support", "Cost, USD", "Support per year", 14.5, DECIMAL_2, "bom_support_usd_per_year"),
    Column("lead_time", "Cost, USD", "Lead time", 14),
    Column("unit_power", "Power and heat", "kW each", 9, DECIMAL_3),
    Column("power", "Power and heat", "kW total", 10, DECIMAL_1, "bom_it_power_kw"),
    Column("heat", "Power and heat", "BTU/h total", 12, INTEGER, "bom_heat_btu_per_h"),
    Column("unit_rack_units", "Space and weight", "RU each", 8, DECIMAL_1),
    Column("rack_units", "Space and weight", "RU total", 10, DECIMAL_1, "bom_rack_units"),
    Column("racks", "Space and weight", "Racks", 8, INTEGER, "bom_racks"),
    Column("unit_weight", "Space and weight", "kg each", 10, DECIMAL_1),
    Column("weight", "Space and weight", "kg total", 11, DECIMAL_1, "bom_weight_kg"),
    Column("unit_gpus", "Performance", "GPUs each", 8, INTEGER),
    Column("gpus", "Performance", "GPUs total", 9, INTEGER, "bom_gpus"),
    Column("unit_read", "Performance", "Read GB/s each", 10, DECIMAL_2),
    Column("read", "Performance", "Read GB/s total", 11, DECIMAL_1, "bom_read_gb_per_s"),
    Column("unit_write", "Performance", "Write GB/s each", 10, DECIMAL_2),
    Column("write", "Performance", "Write GB/s total", 11, DECIMAL_1, "bom_write_gb_per_s"),
    Column("unit_usable", "Performance", "Usable TB each", 10, DECIMAL_1),
    Column("usable", "Performance", "Usable TB total", 12, DECIMAL_1, "bom_usable_tb"),
    Column("note", "Notes", "Note", 36),
    Column("sku", "As solved", "Catalog id", 24),
    Column("solved_quantity", "As solved", "Solved quantity", 9.5, INTEGER),
    Column("solved_unit_list", "As solved", "Solved unit list", 13.5, DECIMAL_2),
    Column("solved_discount", "As solved", "Solved discount", 9.5, PERCENT),
)

INDEX: dict[str, int] = {column.key: index for index, column in enumerate(COLUMNS)}
NUMBER: dict[str, str] = {column.key: column.number for column in COLUMNS}
WIDTH: dict[str, float] = {column.key: column.width for column in COLUMNS}
SUMMED: tuple[Column, ...] = tuple(column for column in COLUMNS if column.total)
LAST = len(COLUMNS) - 1


def at(key: str, row: int) -> str:
    """Return the address of a cell.

    Args:
        key: the column's key.
        row: zero-based row.
    """
    return str(xl_rowcol_to_cell(row, INDEX[key]))


def span(key: str, first: int, last: int) -> str:
    """Return the absolute range of a column between two zero-based rows, both included."""
    letter = xl_col_to_name(INDEX[key])
    return f"${letter}${first + 1}:${letter}${last + 1}"
