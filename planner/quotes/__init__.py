"""Vendors' quotes: rows of cells, columns, typed lines, products, prices.

Every figure keeps its cell.

A missing statement is requested with the option that gives it.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.errors import Finding, InputError, clip
from planner.quotes.cells import AMOUNTS, Cell, Grid, Row, Table, currency_of, find_tables, read
from planner.quotes.lines import Line, check_sums, find_decimal, leave_out_hidden, read_lines
from planner.quotes.products import item_prices, recognise_items, unknown_products
from planner.schema.bill import Quote, QuoteMap
from planner.schema.catalog import Item

_DATED = re.compile(r"\b(quote|offer|issue|quotation|angebots?)?[ -]?(date|dated|datum)\b", re.I)
_UNTIL = re.compile(r"\b(valid|expir\w*|until|due|delivery|g[üu]ltig)\b", re.I)
_HOLDS = re.compile(
    r"\b(valid(ity)?( of (the|this) (quote|offer))? ?(until|till?|through|thru|to|for|period|:|$)|"
    r"(quote|offer|quotation) (validity|expires?|expiration|expiry)|expir(es|y|ation)\b|"
    r"g[üu]ltig bis|g[üu]ltigkeit|bindefrist)",
    re.I,
)
_DAYS = re.compile(r"\b(\d{1,4}) ?(?:calendar )?(days?|tagen?|weeks?|wochen)\b", re.I)
_TAXED = re.compile(
    r"(?<!\w)(incl(\.|uding|usive)?( of)?|inkl(\.|usive)?|einschl\.?) ?(\d+([.,]\d+)? ?% ?)?"
    r"(vat|(sales )?tax(es)?|mwst|ust|gst)\b|\bbruttopreise?\b",
    re.I,
)
NO_DATE = "no clear date of the quote in the file"


@dataclass(frozen=True)
class QuoteOptions:
    """Statements of the user on a quote: vendor, layout, date, currency, USD per unit."""

    vendor: str
    mapping: QuoteMap
    date: str | None = None
    currency: str | None = None
    rates: Mapping[str, float] = field(default_factory=dict)


def read_quote(path: Path, options: QuoteOptions, items: Mapping[str, Item]) -> Quote:
    """A vendor's quote with the cell of every figure.

    Args:
        path: an XLSX or CSV file.
        options: statements on it.
        items: the known items by id.

    Raises:
        InputError: an unreadable file, no table, no currency or rate, or no date.
    """
    mapping = options.mapping
    grid = read(path)
    tables = find_tables(grid, mapping.columns)
    decimal = mapping.decimal or find_decimal(grid, tables)
    lines = read_lines(grid, tables, decimal, mapping.quantities)
    stated = options.currency or mapping.currency
    named = Counter(line.currency for line in lines if line.currency).most_common(1)
    currency = stated or _currency(grid, tables) or (named[0][0] if named else None)
    if currency is None:
        message = "the file names no currency, or several"
        raise InputError(Finding("quote", message, grid.file, fix="state it: --currency EUR"))
    rate = _rate(currency, options, grid)
    for line in [] if stated else lines:
        if line.currency not in ("", currency) and line.amount is not None:
            line.remarks.append(f"in {line.currency}, not {currency}")
            line.kind = "not_understood"
    date = options.date or mapping.date or _date(grid, tables)
    if date is None:
        raise InputError(Finding("quote", NO_DATE, grid.file, fix="state it: --date 2026-11-20"))
    priced = {
        (line.row.sheet, line.row.number)
        for line in lines
        if line.figures.keys() & {"amount", "unit_net"}
    }
    notes = [row for row in grid.rows() if (row.sheet, row.number) not in priced]
    recognise_items(lines, items, mapping.items)
    leave_out_hidden(lines)
    sums, wrong = check_sums(lines)
    prices, doubtful = item_prices(lines, items, rate)
    return Quote(
        vendor=options.vendor,
        file=path.name,
        sha256=grid.sha256,
        date=date,
        currency=currency,
        usd_per_unit=rate,
        decimal=decimal,
        columns=dict(tables[0].texts),
        lines=tuple(line.record() for line in lines),
        sums=sums,
        prices=prices,
        asked=unknown_products(lines, options.vendor, grid),
        findings=(
            *_tax_findings(notes),
            *wrong,
            *_line_findings(lines),
            *doubtful,
        ),
        valid_until=_valid_until(notes, date),
    )


def _rate(currency: str, options: QuoteOptions, grid: Grid) -> float:
    """USD for one unit of a currency; InputError without a rate."""
    rate = 1.0 if currency == "USD" else options.rates.get(currency)
    if rate is None:
        message = f"prices are in {currency}, and no rate is given"
        fix = f"give USD for one {currency}: --rate {currency}=1.08"
        raise InputError(Finding("quote", message, grid.file, fix=fix))
    return rate


def _currency(grid: Grid, tables: Sequence[Table]) -> str | None:
    """The one currency of headers and number formats; else of its column; else of the file."""
    cells = [(row.sheet, cell) for row in grid.rows() for cell in row.cells.values()]
    columns = {
        (table.sheet, table.fields[each])
        for table in tables
        for each in (("currency",) if "currency" in table.fields else AMOUNTS)
        if each in table.fields
    }
    own = [cell for sheet, cell in cells if (sheet, cell.column) in columns]
    for named in (
        {table.currency for table in tables} | {cell.currency for cell in own},
        {currency_of(cell.text) for cell in own if isinstance(cell.value, str)},
        {currency_of(cell.text) for _, cell in cells if isinstance(cell.value, str)},
    ):
        known = named - {None}
        if known:
            return known.pop() if len(known) == 1 else None
    return None


def _date(grid: Grid, tables: Sequence[Table]) -> str | None:
    """The one date beside the word date above the tables, None for none or several."""
    first = {table.sheet: table.row for table in reversed(tables)}
    found = {
        date
        for sheet, rows in grid.sheets.items()
        for row in rows
        if row.number < first.get(sheet, len(rows) + 1)
        for date in _dates(row)
    }
    return found.pop().isoformat() if len(found) == 1 else None


def _dates(row: Row) -> Iterator[datetime.date]:
    cells = row.in_order
    for at, cell in enumerate(cells):
        if isinstance(cell.value, str) and _DATED.search(cell.text):
            if not _UNTIL.search(cell.text):
                found = next(filter(None, (each.date for each in cells[at : at + 2])), None)
                yield from () if found is None else (found,)


def _valid_until(notes: Iterable[Row], date: str | None) -> str:
    """The earliest last day of validity, empty without one."""
    days = [
        day
        for row in notes
        for at, cell in enumerate(row.in_order)
        if isinstance(cell.value, str) and _HOLDS.search(cell.text)
        for day in [_last_day(each, date) for each in row.in_order[at : at + 2]]
        if day is not None
    ]
    return min(days).isoformat() if days else ""


def _last_day(cell: Cell, date: str | None) -> datetime.date | None:
    """The day in a cell, or a number of days after the date of the quote."""
    length = _DAYS.search(cell.text)
    if cell.date is not None or length is None or date is None:
        return cell.date
    days = (7 if length[2].lower().startswith("w") else 1) * int(length[1])
    return datetime.date.fromisoformat(date) + datetime.timedelta(days=days)


def _line_findings(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        where = next(iter(sorted(line.cells.items())), ("", f"row {line.row.number}"))[1]
        label = clip(line.label)
        if line.kind == "not_understood":
            yield f"{where}: not understood: '{label}': {'; '.join(line.remarks) or 'no price'}"
        elif line.kind != "included" or line.figures.get("unit_net"):
            yield from (
                f"{where}: {label}: {remark}" for remark in line.remarks if " is " in remark
            )
        if line.row.hidden and line.kind not in ("subtotal", "total"):
            yield f"{where}: row {line.row.number} is hidden: {label}"


def _tax_findings(notes: Iterable[Row]) -> Iterator[str]:
    for row in notes:
        for cell in row.cells.values():
            if isinstance(cell.value, str) and _TAXED.search(cell.text):
                yield f"{cell.name}: '{cell.text[:60]}': prices are taken with the tax in them"
