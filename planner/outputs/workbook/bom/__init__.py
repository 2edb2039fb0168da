"""The sheet ``BOM``: what to buy, section by section, with live subtotals and totals.

``Line notes`` has the full text of a line, what it is for and what is not known of it; ``Sources``,
in the appendix, where its price is from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from planner.figures import STATED
from planner.outputs import scope
from planner.outputs.scope import CORE_SECTIONS, Block, Entry
from planner.outputs.words import in_money
from planner.outputs.workbook.bom.bill_rows import (
    OPEN,
    BomPage,
    add_length,
    add_line,
    add_part,
)
from planner.outputs.workbook.bom.columns import (
    LAST_PRINTED,
    NAMED,
    SPANS,
    Columns,
    figure_name,
    figures,
    find_needs,
    has_stock,
    installed_name,
    job_gpus,
    least_order,
    needed,
    purchased_name,
    quantity_name,
    without_idle,
    working_name,
)
from planner.outputs.workbook.book import Book, counted_name
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2_OR_DASH,
    INTEGER,
    INTEGER_OR_DASH,
)
from planner.outputs.workbook.formulas import gpus_of_system, usable_gpus
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.beside import SHARED_RACKS
from planner.schema.plan import Line

_HEADER_ROW = FIRST_ROW + 1
_TOTAL_ROW, _FLAG_ROW = _HEADER_ROW + 1, _HEADER_ROW + 2
_SPACER_HEIGHT, _FLAGS_HEIGHT = 3, 1

_FOLLOW = (
    "When GPU systems or storage are edited, counts of switches, optics, racks, power and software",
    "follow as the sheet Counts says. Fabrics grow in steps: planner audit counts them anew.",
)
_STAY = (
    "Network, optics, racks, power and software, spares and shared racks keep their solved counts",
    "when GPU systems or storage are edited: planner audit counts them.",
)
_FOLLOWED = ("Compute", "Storage")


def add(book: Book) -> None:
    """Add the sheet and define a name for every grand total.

    The total stands on top, then each section: its title with its sums, and one row for each line.
    """
    page = BomPage(book, Columns(find_needs(book.plan, book.prices)))
    page.banner()
    page.legend("grey italics: part of a bundle")
    _bands(page)
    page.headers(_HEADER_ROW, [(column.title, column.width) for column in page.columns.listed], 42)
    listed = book.blocks
    row = first = _FLAG_ROW + 1
    tops: list[int] = []
    rows: dict[int, int] = {}
    for block in listed:
        tops.append(row)
        row = _block(page, block, row, rows)
    if not listed:
        page.text(row, 0, "No lines: " + (book.plan.message or "there is no plan."), "subtitle")
        row += 1
    if page.own_lines:
        _add_own_lines(page, row)
        row += 1
    printed = row - 1
    row += 1
    shared = scope.shared_racks(book.plan)
    if shared:
        _add_shared_racks(page, shared, row)
        row += 1
    _name_columns(page, first, printed)
    _add_total(page, listed, tops)
    _add_edit_count(page, listed, (first, printed), row)
    _job_gpus(page, listed, rows, row + 1)
    _add_lead_time(page, (first, printed), row + 2)
    if scope.complete(book.plan):
        words = _FOLLOW if book.follows else _STAY
        for offset, text in enumerate(words if book.inside else (), start=3):
            page.text(row + offset, 0, text, "subtitle")
        _add_companions(page, listed, row + 5)
    page.finish(page.columns.index[LAST_PRINTED], (_FLAG_ROW + 1, page.columns.index["quantity"]))
    page.sheet.print_area(0, 0, printed, page.columns.index[LAST_PRINTED])


def _name_columns(page: BomPage, first: int, last: int) -> None:
    """Name the columns of support down to the last line; what is no line counts 0 years."""
    if page.columns.has("support_paid"):
        for key in SPANS:
            span = page.columns.span(key, first, max(first, last))
            page.book.define(f"bom_{key}_column", f"{page.name}!{span}")


def _bands(page: BomPage) -> None:
    for name, columns in groupby(page.columns.listed, key=lambda column: column.band):
        indices = [page.columns.index[column.key] for column in columns]
        style, name = page.book.formats.get("band"), page.book.worded(name)
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
    _add_job_gpus(page, {rows[entry.number]: entry.line for entry in used}, row)


def _name_counts(page: BomPage, entry: Entry, row: int) -> None:
    index, line = page.columns.index, entry.line
    if line.section in CORE_SECTIONS or line.sku in page.limited:
        page.define(quantity_name(entry.number), row, index["quantity"])
    if scope.limited(page.book.plan, f"items.{line.sku}.installed"):
        page.define(installed_name(entry.number), row, index["installed"])
    if has_stock(page.book.plan, line):
        page.define(purchased_name(entry.number), row, index["purchased"])
    if line.section in CORE_SECTIONS:
        for key in filter(page.columns.has, NAMED):
            page.define(figure_name(key, entry.number), row, index[key])


def _block(page: BomPage, block: Block, top: int, rows: dict[int, int]) -> int:
    """Write one section, note the row of each line, and return the row under the section."""
    page.fill(top, (block.section,), "heading", page.columns.last + 1)
    row = top + 1
    for entry in block.entries:
        bundle_row = row
        rows[entry.number] = bundle_row
        _name_counts(page, entry, bundle_row)
        add_line(page, bundle_row, entry)
        for index in range(len(entry.parts)):
            row += 1
            add_part(page, row, entry, index, bundle_row)
        for index in range(len(entry.ordered)):
            row += 1
            add_length(page, row, entry, index, bundle_row)
        row += 1
    for key, opened in OPEN.items():
        if page.columns.has(key) and page.opened(key):
            index = page.columns.index[key]
            rule = opened.allowed.validation(
                in_money(opened.prompt), page.columns.listed[index].title
            )
            page.sheet.data_validation(top + 1, index, row - 1, index, rule)
    # Sums reach down to this thin row, so that a row inserted under the last line counts too.
    page.sheet.set_row(row, _SPACER_HEIGHT)
    page.sheet.set_row(row + 1, _FLAGS_HEIGHT)
    _add_sums(page, block, top, row)
    return row + 2


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
ABOUT = "about"
"""Stands for a total whose companions follow an edit, and were not counted anew."""

_A_NUMBER = ">-1E+300"
"""The criterion that every number meets and no text."""

_UNSEEN = ";;;"
"""The number format of a flag under a section: its sum turns grey and italic instead."""


def subtotal_name(total: str, section: str) -> str:
    """Return the defined name of a section's subtotal.

    Args:
        total: name of the grand total, such as ``bom_it_power_kw``.
        section: title of the section.
    """
    return f"{total}_{'_'.join(section.lower().replace('&', ' ').split())}"


def _add_sums(page: BomPage, block: Block, top: int, thin: int) -> None:
    """Write a section's sums beside its title, and the flags of those that lack a figure.

    Args:
        block: the section.
        top: row of the section's title.
        thin: the thin row under its last line; the flags stand under it.
    """
    sections = page.columns.span("section", top + 1, thin)
    may_lack = page.may_lack(block)
    for column in page.columns.summed:
        index = page.columns.index[column.key]
        figure_cells = page.columns.span(column.key, top + 1, thin)
        text = f'=SUMIF({sections},"{block.section}",{figure_cells})'
        page.formula(top, index, text, _DASHED.get(column.key, column.number), "heading", "right")
        page.define(subtotal_name(column.total, block.section), top, index)
        if column.key in may_lack:
            mine = f'{sections},"{block.section}"'
            text = f'=IF(COUNTIFS({mine},{figure_cells},"{_A_NUMBER}")<COUNTIF({mine}),'
            text += f'"{KNOWN_PART}","")'
            page.formula(thin + 1, index, text, _UNSEEN, role="flag")
            page.grey_while(top, index, f'={page.columns.at(column.key, thin + 1)}<>""')


def _add_total(page: BomPage, listed: Sequence[Block], tops: Sequence[int]) -> None:
    """Write the grand total over the sections and name every figure, with its ``<name>_flag``.

    Args:
        tops: rows of their titles.
    """
    page.fill(_TOTAL_ROW, ("Total",), "total", page.columns.last + 1)
    flags = [top + 2 + sum(1 + len(e.parts) + len(e.ordered) for e in block.entries)
            for top, block in zip(tops, listed, strict=True)]  # fmt: skip
    may_lack = [page.may_lack(block) for block in listed]
    for column in page.columns.summed:
        index = page.columns.index[column.key]
        added = [page.columns.at(column.key, top) for top in tops]
        if column.key == "racks" and page.book.has("bom_shared_racks"):
            added.append("bom_shared_racks")
        if column.total in _OWN and page.own_lines:
            added.append(_OWN[column.total])
        text = "=" + ("+".join(added) or "0")
        number = _DASHED.get(column.key, column.number)
        plan = page.book.total(column.total.removeprefix("bom_"))
        page.formula(_TOTAL_ROW, index, text, number, "total", plan=plan)
        page.define(column.total, _TOTAL_ROW, index)
        lacking = [
            page.columns.at(column.key, row)
            for row, keys in zip(flags, may_lack, strict=True)
            if column.key in keys
        ]
        if column.total in _OWN and page.own_lines:
            lacking.append("own_flag")
        checks = "&".join(lacking)
        if checks:
            text = f'=IF({checks}<>"","{KNOWN_PART}","")'
            page.formula(_FLAG_ROW, index, text, role="flag")
        page.define(f"{column.total}_flag", _FLAG_ROW, index)


_OWN = {
    "bom_list_usd": "own_list_usd",
    "bom_capex_usd": "own_net_usd",
    "bom_support_usd_per_year": "own_yearly_usd",
    "bom_yearly_usd": "own_yearly_usd",
    "bom_support_usd_over_term": "own_over_term_usd",
}
"""What lines of one's own add to a total, on the sheet Own lines."""


def _add_own_lines(page: BomPage, row: int) -> None:
    """Write what the lines of the sheet ``Own lines`` come to, which the total counts too."""
    page.fill(row, ("Own lines, on the sheet of that name",), "heading", page.columns.last + 1)
    for column in page.columns.summed:
        if column.total in _OWN:
            index, text = page.columns.index[column.key], f"={_OWN[column.total]}"
            page.formula(row, index, text, DECIMAL_2_OR_DASH, "heading", "right")


def _add_shared_racks(page: BomPage, racks: int, row: int) -> None:
    """Write the racks that several lines share, which the grand total counts too.

    Args:
        racks: how many they are in the solved plan.
    """
    page.text(row, 0, "Racks that several lines share, as solved", "subtitle")
    column = page.columns.index["racks"]
    if SHARED_RACKS in page.book.follows:
        page.formula(row, column, f"={counted_name(SHARED_RACKS)}", INTEGER, plan=float(racks))
    else:
        page.number(row, column, racks, INTEGER)
    page.define("bom_shared_racks", row, page.columns.index["racks"])


def _add_companions(page: BomPage, listed: Sequence[Block], row: int) -> None:
    """Say whether companions were counted for the cluster as it is, or follow an edit."""
    changed = []
    for section in _FOLLOWED:
        names = [
            working_name(entry.line, entry.number)
            for block in listed
            for entry in block.entries
            if block.section == section
        ]
        units = sum(e.line.working for b in listed for e in b.entries if b.section == section)
        if names:
            changed.append(f"{'+'.join(names)}<>{units}")
    moved = "about, by the sheet Counts" if page.book.follows else "no"
    flag = ABOUT if page.book.follows else KNOWN_PART
    page.text(row, 0, "Companions counted again", "subtitle")
    index = page.columns.index["quantity"]
    edited = f"OR({','.join(changed)})" if len(changed) > 1 else changed[0]
    page.formula(row, index, f'=IF({edited},"{moved}","as solved")', align="right",
                 plan="as solved")  # fmt: skip
    page.formula(row, index + 1, f'=IF({edited},"{flag}","")', role="flag")
    page.define("bom_companions_flag", row, index + 1)


def _add_edit_count(
    page: BomPage, listed: Sequence[Block], lines: tuple[int, int], row: int
) -> None:
    """Count the open cells that differ from the solved plan.

    Args:
        lines: the first and the last row of the bill.
    """
    first, last = lines[0], max(lines)
    span = page.columns.span
    # A component follows its bundle and has no quantity as solved.
    counted = f'({span("solved_quantity", first, last)}<>"")'
    changed = [
        f"SUMPRODUCT({counted}*({span(key, first, last)}<>{span(f'solved_{key}', first, last)}))"
        for key in OPEN
        if page.columns.has(f"solved_{key}")
    ]
    if page.columns.has("remark"):
        changed.append(f'SUMPRODUCT({counted}*({span("remark", first, last)}<>""))')
    page.text(row, 0, "Cells on this sheet that differ from the solved plan", "subtitle")
    text = "=" + "+".join(changed) if listed else "=0"
    page.formula(row, page.columns.index["quantity"], text, INTEGER, plan=0.0)
    page.define("bom_edits", row, page.columns.index["quantity"])


def _add_job_gpus(page: BomPage, used: Mapping[int, Line], row: int) -> None:
    """Sum the GPUs that the job can use, of the types it uses; other GPUs do not compute.

    Args:
        used: the lines of these types by their row.
    """
    job, terms = page.book.job, []
    for line_row, line in used.items():
        assert job is not None
        cell = without_idle(line, f"N({page.columns.at('quantity', line_row)})")
        usable = usable_gpus(job, line)
        whole = f"INT({cell}*{usable}/replica_gpus+1E-9)*replica_gpus"
        free = f"{cell}*{gpus_of_system(job, line)}"
        term = f"IF(ISNUMBER(replica_gpus),{whole},{free})" if job.whole_replicas else free
        terms.append(term)
    page.text(row, 0, "GPUs that the job can use, of the types it uses", "subtitle")
    text = "=" + ("+".join(terms) or "0")
    page.formula(row, page.columns.index["quantity"], text, INTEGER, plan=job_gpus(page.book.plan))
    page.define("bom_job_gpus", row, page.columns.index["quantity"])


def _add_lead_time(page: BomPage, lines: tuple[int, int], row: int) -> None:
    """Take the longest lead time of what is bought, where it says something.

    Args:
        lines: the first and the last row of the bill.
    """
    plan = page.book.plan
    any_known = any(line.lead_time_days is not None for line in scope.own_lines(plan))
    if not any_known or not (scope.complete(plan) or scope.limited(plan, "lead_time")):
        return
    first, last = lines[0], max(lines)
    bought = page.columns.span("purchased", first, last)
    page.text(row, 0, "Longest lead time of what is bought, days", "subtitle")
    # Titles have no figure in either column, and components no lead time of their own.
    text = f"=SUMPRODUCT(MAX(({bought}>0)*{page.columns.span('lead_days', first, last)}))"
    page.formula(row, page.columns.index["quantity"], text, DECIMAL_1)
    page.define("bom_lead_time_days", row, page.columns.index["quantity"])


_LINE, _ITEM = ("Line", 6.0), ("Item", 52.0)
_NOTES = (_LINE, _ITEM, ("Note", 140.0))
_SOURCES = (
    _LINE, _ITEM, ("Price source", 46.0), ("Price date", 11.5), ("Confi-\ndence", 9.5),
    ("Note on the price", 74.0),
)  # fmt: skip


def add_line_notes(book: Book) -> None:
    """Add the notes; without lines there are none."""
    _add(book, "Line notes", "Notes on the lines of the bill", _NOTES)


def add_sources(book: Book) -> None:
    """Add where prices are from; without lines there is nothing to tell."""
    _add(book, "Sources", "Where prices are from", _SOURCES)


def _add(book: Book, name: str, title: str, columns: tuple[tuple[str, float], ...]) -> None:
    listed = book.blocks
    if not listed:
        return
    page = Page(book, name, title)
    page.banner()
    page.headers(FIRST_ROW, columns)
    row = FIRST_ROW + 1
    for block in listed:
        page.fill(row, (block.section,), "heading", len(columns))
        row += 1
        for entry in block.entries:
            _write(page, row, columns, entry.label, entry.line, None)
            row += 1
            for index, part in enumerate(entry.parts):
                _write(page, row, columns, entry.part_label(index), part, entry.number)
                row += 1
    page.finish(len(columns) - 1, (FIRST_ROW + 1, 2))


def _write(
    page: Page,
    row: int,
    columns: tuple[tuple[str, float], ...],
    label: str,
    line: Line,
    bundle: int | None,
) -> None:
    """Write what is told of a line, or of a component of the bundle with that number."""
    price = line.price
    item = f"{line.model} — {line.description}" if line.description else line.model
    source_cells: tuple[str, ...] = (note(line, bundle),)
    if columns is _SOURCES:
        source_cells = ("", "", "", "") if price is None else (
            price.source, price.date or "", price.confidence, price.note or "",
        )  # fmt: skip
    texts = (label, item, *source_cells)
    for column, text in enumerate(texts):
        page.text(row, column, text)
    page.grow(row, [(text, width) for text, (_, width) in zip(texts, columns, strict=True)])


_FLAGS = {
    "power": "power not known",
    **{name: f"{row.figure.label} not known" for name, row in STATED.items()},
    "usable": "usable capacity not known",
}


def note(line: Line, bundle: int | None) -> str:
    """Return the note of a line: what it is for, what is not known of it, then its own notes.

    Args:
        bundle: number of the line whose price and power include this one's, else None.
    """
    known: Mapping[str, float | None] = figures(line)
    notes = [line.role] if line.role else []
    if bundle is not None:
        notes.append(f"price, power, space and weight are counted in line {bundle}.0")
    elif line.unit_list_usd is None:
        notes.append("price not known")
    wanted = needed(line) if bundle is None else ("power", *STATED)
    notes += [text for key, text in _FLAGS.items() if key in wanted and known[key] is None]
    least = least_order(line) if bundle is None else 0
    notes += [f"least order {least:,}"] if least else []
    notes += [*line.public_notes, *line.notes]
    return "; ".join(text.rstrip(". ") for text in notes)
