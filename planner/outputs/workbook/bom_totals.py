"""Subtotals and the grand total of the bill of materials, and what they lack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from planner.outputs.workbook.bom_columns import INDEX, LAST, SUMMED, at, span
from planner.outputs.workbook.bom_lines import Block, figures, needed
from planner.outputs.workbook.bom_row import PART_OF
from planner.outputs.workbook.formats import DECIMAL_1_OR_DASH, INTEGER, INTEGER_OR_DASH
from planner.outputs.workbook.page import Page

# Compute has no bandwidth, storage no GPUs, some problems no racks: a dash says so.
_DASHED = {
    "gpus": INTEGER_OR_DASH,
    "racks": INTEGER_OR_DASH,
    "read": DECIMAL_1_OR_DASH,
    "write": DECIMAL_1_OR_DASH,
    "usable": DECIMAL_1_OR_DASH,
}

KNOWN_PART = "known part"
"""Stands under a total that lacks the figure of at least one line."""


def add_subtotal(page: Page, block: Block, first: int, last: int) -> None:
    """Write a section's subtotal two rows below its last line, and the row of flags under it.

    Args:
        page: the sheet.
        block: the section.
        first: row of the section's title.
        last: the thin row under its last line.
    """
    row = last + 1
    _label(page, row, f"Subtotal {block.section}")
    sections = span("section", first, last)
    for column in SUMMED:
        figure_cells = span(column.key, first, last)
        text = f'=SUMIF({sections},"{block.section}",{figure_cells})'
        value = _known_sum([block], column.key)
        number = _DASHED.get(column.key, column.number)
        page.formula(row, INDEX[column.key], text, value, number, "total")
        lacking = _lacking([block], column.key)
        if lacking:
            count = f'SUMPRODUCT(({sections}="{block.section}")*(1-ISNUMBER({figure_cells})))'
            text = f'=IF({count}>0,"{KNOWN_PART}","")'
            page.formula(row + 1, INDEX[column.key], text, KNOWN_PART, role="flag")


def add_total(page: Page, listed: Sequence[Block], row: int, subtotals: Sequence[int]) -> None:
    """Write the grand total and name every figure of it, with its flag as ``<name>_flag``.

    Args:
        page: the sheet.
        listed: the sections.
        row: row of the total.
        subtotals: rows of the subtotals.
    """
    _label(page, row, "Total")
    for column in SUMMED:
        index = INDEX[column.key]
        value = _known_sum(listed, column.key)
        text = "=" + ("+".join(at(column.key, subtotal) for subtotal in subtotals) or "0")
        page.formula(row, index, text, value, _DASHED.get(column.key, column.number), "total")
        page.define(column.total, row, index, value)
        lacking = [
            subtotal
            for subtotal, block in zip(subtotals, listed, strict=True)
            if _lacking([block], column.key)
        ]
        flag = KNOWN_PART if lacking else ""
        checks = "&".join(at(column.key, subtotal + 1) for subtotal in lacking)
        if lacking:
            text = f'=IF({checks}<>"","{KNOWN_PART}","")'
            page.formula(row + 1, index, text, flag, role="flag")
        page.define(f"{column.total}_flag", row + 1, index, flag)


def add_edit_count(page: Page, listed: Sequence[Block], first: int, total_row: int) -> None:
    """Count the quantities, discounts and prices that differ from the solved plan.

    Args:
        page: the sheet.
        listed: the sections.
        first: first row under the header.
        total_row: row of the grand total.
    """
    row = total_row + 3
    last = max(first, total_row - 1)
    counted = f'(LEFT({span("section", first, last)},{len(PART_OF)})<>"{PART_OF}")'
    changed = [
        f"SUMPRODUCT({counted}*({span(key, first, last)}<>{span(solved, first, last)}))"
        for key, solved in (
            ("quantity", "solved_quantity"),
            ("discount", "solved_discount"),
            ("unit_list", "solved_unit_list"),
        )
    ]
    page.text(row, 0, "Cells on this sheet that differ from the solved plan", "subtitle")
    text = "=" + "+".join(changed) if listed else "=0"
    page.formula(row, INDEX["quantity"], text, 0, INTEGER)
    page.define("bom_edits", row, INDEX["quantity"], 0)


def add_job_gpus(page: Page, rows: Sequence[int], gpus: int, row: int) -> None:
    """Sum the GPUs of the types that the job uses; bought GPUs of other types do not compute.

    Args:
        page: the sheet.
        rows: rows of the lines of these types.
        gpus: what they hold in the solved plan.
        row: where to write the sum.
    """
    page.text(row, 0, "GPUs of the types that the job uses", "subtitle")
    text = "=" + ("+".join(f"N({at('gpus', line_row)})" for line_row in rows) or "0")
    page.formula(row, INDEX["quantity"], text, gpus, INTEGER)
    page.define("bom_job_gpus", row, INDEX["quantity"], gpus)


def _label(page: Page, row: int, text: str) -> None:
    for column in range(LAST + 1):
        page.text(row, column, text if column == 0 else "", "total")


def _values(listed: Iterable[Block], key: str) -> list[float | None]:
    return [figures(entry.line)[key] for block in listed for entry in block.entries]


def _known_sum(listed: Iterable[Block], key: str) -> float:
    return math.fsum(value for value in _values(listed, key) if value is not None)


def _lacking(listed: Iterable[Block], key: str) -> bool:
    return any(
        figures(entry.line)[key] is None
        for block in listed
        for entry in block.entries
        if key in needed(entry.line)
    )
