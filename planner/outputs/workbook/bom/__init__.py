"""The sheet ``BOM``: what to buy, section by section, with live totals."""

from __future__ import annotations

from itertools import groupby

from planner.outputs import scope
from planner.outputs.numbering import Block, Entry, blocks
from planner.outputs.scope import CORE_SECTIONS
from planner.outputs.workbook.bom import totals as bom_totals
from planner.outputs.workbook.bom.columns import Columns, shown
from planner.outputs.workbook.bom.lines import (
    NAMED,
    SPANS,
    figure_name,
    has_stock,
    purchased_name,
    quantity_name,
)
from planner.outputs.workbook.bom.page import ALLOWED, BomPage
from planner.outputs.workbook.bom.row import add_line, add_part
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW

_HEADER_ROW = FIRST_ROW + 1
_SPACER_HEIGHT = 4
_SCALE_PERCENT = 68
_PAGE_WIDTH = 290
"""Characters that fit on a page of this scale."""

_COMPANIONS = (
    "Network, optics, racks, power and software, spares and shared racks keep their solved counts",
    "when GPU systems or storage are edited. What the total is off by is told below, in proportion",
    "to the power of GPU systems and storage: a fabric grows in steps, planner audit counts it.",
)


def add(book: Book) -> None:
    """Add the sheet and define a name for every grand total."""
    page = BomPage(book, Columns(shown(book.plan, money=book.money)))
    page.banner()
    page.legend("grey italics: part of a bundle")
    _bands(page)
    page.headers(_HEADER_ROW, [(column.title, column.width) for column in page.columns.listed], 42)
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
    shared = scope.shared_racks(book.plan)
    if shared:
        bom_totals.add_shared_racks(page, shared, row)
        row += 2
    _name_columns(page, first, row - 1)
    bom_totals.add_total(page, listed, row, subtotals)
    bom_totals.add_edit_count(page, listed, first, row)
    _job_gpus(page, listed, rows, row + 4)
    bom_totals.add_lead_time(page, first, row)
    if scope.complete(book.plan):
        for offset, text in enumerate(_COMPANIONS, start=6):
            page.text(row + offset, 0, text, "subtitle")
        bom_totals.add_uncounted(page, listed, subtotals, row + 6 + len(_COMPANIONS))
    index = page.columns.index
    page.sheet.repeat_columns(0, index["quantity"] - 1)
    page.sheet.set_v_pagebreaks(_page_breaks(page))
    page.finish(index["note"], (_HEADER_ROW + 1, index["quantity"]), _SCALE_PERCENT)


def _name_columns(page: BomPage, first: int, last: int) -> None:
    """Name the columns of support down to the total; what is no line has no years and counts 0."""
    if page.columns.has("support_paid"):
        for key in SPANS:
            span = page.columns.span(key, first, max(first, last))
            page.book.define(f"bom_{key}_column", f"{page.name}!{span}")


def _page_breaks(page: BomPage) -> list[int]:
    """Return the columns where a printed page begins, each under the same item columns.

    One page wide would print letters nobody can read: the quote on the first page; support over
    the term, power and space on the next; delivery, sources and notes on the last; and a break
    between bands wherever a page would be too wide.
    """
    start = "support_from" if page.columns.has("support_from") else "unit_power"
    breaks: list[int] = []
    bands = [list(columns) for _, columns in groupby(page.columns.listed, key=lambda c: c.band)]
    item = sum(column.width for column in bands[0])
    used = item
    last = page.columns.index["note"]
    for band in bands[1:]:
        if page.columns.index[band[0].key] > last:
            break
        width = sum(column.width for column in band)
        if band[0].key in (start, "lead_time") or used + width > _PAGE_WIDTH:
            breaks.append(page.columns.index[band[0].key])
            used = item
        used += width
    return breaks


def _bands(page: BomPage) -> None:
    for name, columns in groupby(page.columns.listed, key=lambda column: column.band):
        indices = [page.columns.index[column.key] for column in columns]
        style = page.book.formats.get("band")
        if len(indices) > 1:
            page.sheet.merge_range(FIRST_ROW, indices[0], FIRST_ROW, indices[-1], name, style)
        else:
            page.sheet.write_string(FIRST_ROW, indices[0], name, style)


def _job_gpus(page: BomPage, listed: list[Block], rows: dict[int, int], row: int) -> None:
    types = page.book.job.gpu_types if page.book.job else ()
    used = [
        entry
        for block in listed
        for entry in block.entries
        if entry.line.gpus and entry.line.sku in types
    ]
    bom_totals.add_job_gpus(page, {rows[entry.number]: entry.line for entry in used}, row)


def _name_counts(page: BomPage, entry: Entry, row: int) -> None:
    index, line = page.columns.index, entry.line
    if line.section in CORE_SECTIONS or line.sku in page.limited:
        page.define(quantity_name(entry.number), row, index["quantity"])
    if has_stock(page.book.plan, line):
        page.define(purchased_name(entry.number), row, index["purchased"])
    if line.section in CORE_SECTIONS:
        for key in filter(page.columns.has, NAMED):
            page.define(figure_name(key, entry.number), row, index[key])


def _block(page: BomPage, block: Block, first: int, rows: dict[int, int]) -> int:
    """Write one section, note the row of each line, and return the row of the subtotal."""
    page.fill(first, (block.section,), "heading", page.columns.last + 1)
    row = first + 1
    for entry in block.entries:
        bundle_row = row
        rows[entry.number] = bundle_row
        _name_counts(page, entry, bundle_row)
        add_line(page, bundle_row, entry)
        for index in range(len(entry.parts)):
            row += 1
            add_part(page, row, entry, index, bundle_row)
        row += 1
    for key, allowed in ALLOWED.items():
        if page.columns.has(key):
            index = page.columns.index[key]
            page.sheet.data_validation(first + 1, index, row - 1, index, allowed.validation())
    # Sums reach down to this thin row, so that a row inserted under the last line counts too.
    page.sheet.set_row(row, _SPACER_HEIGHT)
    bom_totals.add_subtotal(page, block, first, row)
    return row + 1
