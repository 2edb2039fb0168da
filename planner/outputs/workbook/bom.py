"""The sheet ``BOM``: what to buy, section by section, with live totals."""

from __future__ import annotations

from itertools import groupby

from planner.outputs.workbook import bom_totals
from planner.outputs.workbook.bom_columns import COLUMNS, INDEX, LAST
from planner.outputs.workbook.bom_lines import Block, blocks, quantity_name
from planner.outputs.workbook.bom_row import add_line, add_part
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page

_HEADER_ROW = FIRST_ROW + 1
_SPACER_HEIGHT = 4
_SCALE_PERCENT = 54


def add(book: Book) -> None:
    """Add the sheet and define a name for every grand total."""
    page = Page(book, "BOM", "Bill of materials")
    page.banner()
    page.legend("grey italics: part of a bundle")
    _bands(page)
    page.headers(_HEADER_ROW, [(column.title, column.width) for column in COLUMNS], 42)
    listed = blocks(book.plan)
    row = first = _HEADER_ROW + 1
    subtotals: list[int] = []
    rows: dict[int, int] = {}
    for block in listed:
        subtotal_row = _block(page, block, row, rows)
        subtotals.append(subtotal_row)
        row = subtotal_row + 3
    if not listed:
        page.text(row, 0, "No lines: " + (book.plan.message or "there is no plan."), "subtitle")
        row += 2
    bom_totals.add_total(page, listed, row, subtotals)
    bom_totals.add_edit_count(page, listed, first, row)
    _job_gpus(page, listed, rows, row + 4)
    # One page wide would print letters nobody can read: money on one page, power, space and
    # performance on the next, both under the same item columns.
    page.sheet.repeat_columns(0, INDEX["quantity"] - 1)
    page.sheet.set_v_pagebreaks([INDEX["unit_power"]])
    page.finish(INDEX["note"], (_HEADER_ROW + 1, INDEX["quantity"]), _SCALE_PERCENT)


def _bands(page: Page) -> None:
    for name, columns in groupby(COLUMNS, key=lambda column: column.band):
        indices = [INDEX[column.key] for column in columns]
        style = page.book.formats.get("band")
        if len(indices) > 1:
            page.sheet.merge_range(FIRST_ROW, indices[0], FIRST_ROW, indices[-1], name, style)
        else:
            page.sheet.write_string(FIRST_ROW, indices[0], name, style)


def _job_gpus(page: Page, listed: list[Block], rows: dict[int, int], row: int) -> None:
    types = page.book.job.gpu_types if page.book.job else ()
    used = [
        entry
        for block in listed
        for entry in block.entries
        if entry.line.gpus and entry.line.sku in types
    ]
    gpus = sum(entry.line.gpus for entry in used)
    bom_totals.add_job_gpus(page, [rows[entry.number] for entry in used], gpus, row)


def _block(page: Page, block: Block, first: int, rows: dict[int, int]) -> int:
    """Write one section, note the row of each line, and return the row of the subtotal."""
    for column in range(LAST + 1):
        page.text(first, column, block.section if column == 0 else "", "heading")
    row = first + 1
    for entry in block.entries:
        bundle_row = row
        rows[entry.number] = bundle_row
        page.define(quantity_name(entry.number), bundle_row, INDEX["quantity"], entry.line.quantity)
        add_line(page, bundle_row, entry)
        for index in range(len(entry.parts)):
            row += 1
            add_part(page, row, entry, index, bundle_row)
        row += 1
    # Sums reach down to this thin row, so that a row inserted under the last line counts too.
    page.sheet.set_row(row, _SPACER_HEIGHT)
    bom_totals.add_subtotal(page, block, first, row)
    return row + 1
