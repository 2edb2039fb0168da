"""A vendor's file to a quote: its table, its currency and date, its lines, and what they cost.

What cannot be known from the file is asked for by the name of the option that says it.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.errors import Finding, InputError, clip
from planner.quotes import products
from planner.quotes.columns import AMOUNTS, Header, headers
from planner.quotes.grid import Cell, Grid, Row, currency_of, date_of
from planner.quotes.grid import read as read_grid
from planner.quotes.lines import check_sums, decimal_of, read_lines, settle_lines
from planner.quotes.products import read_descriptions
from planner.schema.bill import Quote, QuoteLine, QuoteMap
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
    r"(vat|(sales )?tax(es)?|mwst|ust|gst|tva)\b|\bttc\b|\bbruttopreise?\b",
    re.I,
)
"""How people say that prices hold a tax."""

NO_DATE = "the file does not tell clearly when it was written"


@dataclass(frozen=True)
class QuoteOptions:
    """What the user states of a quote, besides its file.

    Attributes:
        vendor: who quotes.
        mapping: how its files are laid out.
        date: of the quote, YYYY-MM-DD.
        currency: of its amounts.
        rates: USD per unit of a currency.
        dated: whether the date must be known; else an unclear one is left empty, and said.
    """

    vendor: str
    mapping: QuoteMap
    date: str | None = None
    currency: str | None = None
    rates: Mapping[str, float] | None = None
    dated: bool = True


def read_quote(path: Path, options: QuoteOptions, items: Mapping[str, Item]) -> Quote:
    """Return a vendor's quote with every figure's cell.

    Args:
        path: an XLSX or CSV file.
        options: what the file does not say.
        items: the products that are known, by id.

    Raises:
        InputError: the file cannot be read, has no table, or does not tell its currency or date.
    """
    mapping = options.mapping
    grid = _chosen(read_grid(path), mapping)
    tables = headers(grid, mapping.columns)
    decimal = mapping.decimal or decimal_of(grid, tables)
    read = read_lines(grid, tables, decimal, mapping.quantities)
    lines = [line for line in read if not _left_out(line, mapping)]
    currency = options.currency or mapping.currency or _currency(grid, tables) or _commonest(lines)
    if currency is None:
        message = "the file names no currency, or several"
        raise InputError(Finding("quote", message, grid.file, fix="say it: --currency EUR"))
    rate = _rate(currency, options, grid)
    if options.currency is None and mapping.currency is None:
        lines = [_in_one_currency(_of_currency(line), currency, options, grid) for line in lines]
    date = options.date or mapping.date or _date(grid, tables)
    if date is None and options.dated:
        raise InputError(Finding("quote", NO_DATE, grid.file, fix="say it: --date 2026-11-20"))
    priced = {(line.sheet, line.row) for line in read
              if line.amount is not None or line.unit_net is not None}  # fmt: skip
    notes = [row for rows in grid.sheets.values() for row in rows
             if (row.sheet, row.number) not in priced]  # fmt: skip
    until = _valid_until(notes, date)
    matched = settle_lines(products.match(lines, items, mapping.items))
    sums, wrong = check_sums(matched)
    prices, doubtful = products.prices(matched, rate, items)
    return Quote(
        vendor=options.vendor,
        file=path.name,
        sha256=grid.sha256,
        date=date or "",
        currency=currency,
        usd_per_unit=rate,
        decimal=decimal,
        columns=dict(tables[0].texts),
        lines=matched,
        sums=sums,
        prices=prices,
        asked=products.products_to_ask_for(matched, options.vendor, read_descriptions(grid)),
        findings=(
            *_about_columns(tables, currency),
            *_with_tax(notes),
            *wrong,
            *_remarked(matched),
            *doubtful,
            *(() if date else (NO_DATE,)),
            *(f"{cell}: until when it holds is not understood" for cell in until.unclear),
        ),
        valid_until=until.day,
    )


def _rate(currency: str, options: QuoteOptions, grid: Grid) -> float:
    """Return what one unit of a currency is in USD.

    Raises:
        InputError: nobody says so.
    """
    rate = 1.0 if currency == "USD" else (options.rates or {}).get(currency)
    if rate is None:
        message = f"prices are in {currency}, and no rate is given"
        fix = f"say what one {currency} is in USD: --rate {currency}=..."
        raise InputError(Finding("quote", message, grid.file, fix=fix))
    return rate


def _commonest(lines: Iterable[QuoteLine]) -> str | None:
    """Return the currency that most lines name in a column of their own."""
    named = Counter(line.currency for line in lines if line.currency)
    return named.most_common(1)[0][0] if named else None


def _of_currency(line: QuoteLine) -> QuoteLine:
    """Return a sum in the currency that it names itself: "Total EUR" beside a column of them."""
    if line.currency or line.kind not in ("total", "subtotal"):
        return line
    return line.model_copy(update={"currency": currency_of(line.description) or ""})


def _in_one_currency(
    line: QuoteLine, currency: str, options: QuoteOptions, grid: Grid
) -> QuoteLine:
    """Return a line in the currency of the quote, where it is in another one, and say so."""
    if line.currency in ("", currency):
        return line
    factor = _rate(line.currency, options, grid) / _rate(currency, options, grid)
    figures = {name: getattr(line, name) for name in ("unit_list", "unit_net", "amount")}
    changed = {name: value * factor for name, value in figures.items() if value is not None}
    if "amount" not in changed:
        return line
    remark = (
        f"{line.amount:,.2f} {line.currency} is {changed['amount']:,.2f} {currency} at the rates "
        "given"
    )
    return line.model_copy(update={**changed, "remarks": (*line.remarks, remark)})


def _chosen(grid: Grid, mapping: QuoteMap) -> Grid:
    """Return the sheets that the mapping names; all where it names none."""
    if not mapping.sheets:
        return grid
    missing = [name for name in mapping.sheets if name not in grid.sheets]
    if missing:
        message = f"there is no sheet '{missing[0]}'"
        fix = "its sheets are: " + ", ".join(grid.sheets)
        raise InputError(Finding("quote", message, grid.file, fix=fix))
    return Grid(grid.file, grid.sha256, {name: grid.sheets[name] for name in mapping.sheets})


def _left_out(line: QuoteLine, mapping: QuoteMap) -> bool:
    return line.part_number in mapping.leave_out or line.description in mapping.leave_out


def _remarked(lines: Iterable[QuoteLine]) -> Iterable[str]:
    """Yield what is odd about single lines."""
    for line in lines:
        where = next(iter(line.cells.values()), f"row {line.row}")
        if line.kind == "not_understood":
            what = "; ".join(line.remarks) or "no price"
            yield f"{where}: not understood: '{_clip(line)}': {what}"
        elif line.kind != "included" or line.unit_net:
            yield from (f"{where}: {_clip(line)}: {remark}" for remark in line.remarks
                        if " is " in remark)  # fmt: skip
        if line.hidden and line.kind not in ("subtotal", "total"):
            yield f"{where}: row {line.row} is hidden: {_clip(line)}"


def _about_columns(tables: Sequence[Header], currency: str) -> Iterable[str]:
    """Yield what is odd about columns: amounts in thousands, figures that nobody sees."""
    for table in tables:
        of = f"{table.sheet}!" if table.sheet else ""
        for size in sorted(set(table.sizes.values())):
            names = ", ".join(table.texts[field] for field in table.sizes
                              if table.sizes[field] == size)  # fmt: skip
            yield f"{of}row {table.row}: {names}: in {size:,.0f} {currency}, as the file says"
        for letter, text in table.unread.items():
            yield f"{of}{letter}{table.last_row}: column '{text}' is hidden: not read"


def _clip(line: QuoteLine) -> str:
    return clip(line.description or line.part_number)


def _currency(grid: Grid, tables: Sequence[Header]) -> str | None:
    """Return the currency of the headers and of what cells show with their amounts.

    Else that of the currency column; else of the whole file.
    """
    amounts = {(header.sheet, column) for header in tables if "currency" not in header.fields
               for field, column in header.fields.items() if field in AMOUNTS}  # fmt: skip
    shown = {cell.currency for rows in grid.sheets.values() for row in rows
             for column, cell in row.cells.items() if (row.sheet, column) in amounts}  # fmt: skip
    heads = ({header.currency for header in tables} | shown) - {None}
    if len(heads) == 1:
        return heads.pop()
    if heads:
        return None
    columns = {(header.sheet, header.fields["currency"]) for header in tables
               if "currency" in header.fields}  # fmt: skip
    cells = [cell for rows in grid.sheets.values() for row in rows for cell in row.cells.values()]
    rows = [(row.sheet, cell) for rows in grid.sheets.values() for row in rows
            for cell in row.cells.values()]  # fmt: skip
    in_column = {currency_of(cell.text) for sheet, cell in rows
                 if (sheet, cell.column) in columns}  # fmt: skip
    named = in_column - {None} if columns else set()
    if not named:
        named = {currency_of(cell.text) for cell in cells if isinstance(cell.value, str)} - {None}
    return named.pop() if len(named) == 1 else None


def _date(grid: Grid, tables: Sequence[Header]) -> str | None:
    """Return the date beside the word date above the table, None where there is not just one."""
    first = {header.sheet: header.row for header in reversed(tables)}
    found = set()
    for sheet, rows in grid.sheets.items():
        for row in rows:
            if row.number < first.get(sheet, len(rows) + 1):
                found |= set(_dates(row))
    dated = {date for date in found if date is not None}
    return dated.pop().isoformat() if len(dated) == 1 else None


def _dates(row: Row) -> Iterable[datetime.date | None]:
    """Yield the dates of a row that stand in or right beside a cell that says so."""
    cells = [row.cells[column] for column in sorted(row.cells)]
    for at, cell in enumerate(cells):
        if not isinstance(cell.value, str) or not _DATED.search(cell.text):
            continue
        if _UNTIL.search(cell.text):
            continue
        yield _date_in(cell) or (_date_in(cells[at + 1]) if at + 1 < len(cells) else None)


@dataclass(frozen=True)
class _Until:
    """The day until which prices hold, empty where none is told; cells that tell it unclearly."""

    day: str
    unclear: tuple[str, ...]


def _valid_until(notes: Iterable[Row], date: str | None) -> _Until:
    """Return until when a quote holds: the earliest day where several are told."""
    days, unclear = [], []
    for row in notes:
        cells = [row.cells[column] for column in sorted(row.cells)]
        for at, cell in enumerate(cells):
            if isinstance(cell.value, str) and _HOLDS.search(cell.text):
                found = [_day(each, date) for each in cells[at : at + 2]]
                days += [day for day in found[: 1 if found[0] else 2] if day is not None]
                unclear += [] if any(found) else [f"{cell.name} ('{cell.text[:60]}')"]
    return _Until(min(days).isoformat() if days else "", tuple(unclear))


def _day(cell: Cell, date: str | None) -> datetime.date | None:
    """Return the day in a cell, or so many days after the date of the quote."""
    day, length = _date_in(cell), _DAYS.search(cell.text)
    if day is not None or length is None or date is None:
        return day
    unit = 7 if length[2].lower().startswith(("w", "woch")) else 1
    return datetime.date.fromisoformat(date) + datetime.timedelta(days=unit * int(length[1]))


def _with_tax(notes: Iterable[Row]) -> Iterable[str]:
    """Yield where a file says that its prices hold a tax, which no purchase is planned with."""
    for row in notes:
        for cell in row.cells.values():
            if isinstance(cell.value, str) and _TAXED.search(cell.text):
                yield (
                    f"{cell.name}: '{cell.text[:60]}': prices are taken as they stand, with the "
                    "tax in them"
                )


def _date_in(cell: Cell) -> datetime.date | None:
    return cell.value if isinstance(cell.value, datetime.date) else date_of(cell.text)
