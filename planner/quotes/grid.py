"""A vendor's file as rows of cells, whichever program wrote it: XLSX and CSV.

Nothing is interpreted here but what the file itself says: values, which cells are merged, which
rows are hidden, and where a cell stands.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.foreign_files import contents
from planner.foreign_workbooks import open_xlsx

_MOST_BYTES = 20_000_000
_MOST_ROWS, _MOST_COLUMNS = 20_000, 200
_DELIMITERS = ",;\t|"
_ENCODINGS = ("utf-8-sig", "cp1252")
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

Value = str | float | datetime.date | None


@dataclass(frozen=True)
class Cell:
    """A cell that holds something: its value, and what the file's program calls it."""

    column: int
    value: str | float | datetime.date
    name: str

    @property
    def text(self) -> str:
        """The value as a text, spaces tidied."""
        if isinstance(self.value, float):
            return f"{self.value:.15g}"
        return " ".join(str(self.value).split())


@dataclass(frozen=True)
class Row:
    """A row of a sheet; cells by column.

    ``over`` are texts of cells that are merged over several columns or rows, in each of them.
    """

    sheet: str
    number: int
    cells: dict[int, Cell]
    hidden: bool
    over: dict[int, str]

    @property
    def texts(self) -> list[str]:
        """The texts of its cells from left to right."""
        return [self.cells[column].text for column in sorted(self.cells)]

    def header(self, column: int) -> str:
        """Return what stands in a column, or is merged over it."""
        cell = self.cells.get(column)
        return cell.text if cell is not None else self.over.get(column, "")


@dataclass(frozen=True)
class Grid:
    """The sheets of a file as rows, and the file's hash; which columns of a sheet are hidden."""

    file: str
    sha256: str
    sheets: dict[str, list[Row]]
    hidden: dict[str, frozenset[int]] = field(default_factory=dict)


def read(path: Path) -> Grid:
    """Return what stands in a vendor's file.

    Raises:
        InputError: it is neither XLSX nor CSV, is too large, or cannot be read.
    """
    kind = path.suffix.lower()
    if kind == ".pdf":
        raise _is_pdf(path)
    if kind not in (".xlsx", ".xlsm", ".csv", ".txt", ".tsv"):
        message = f"'{path.suffix}' is no kind of quote that is read"
        fix = "give an .xlsx or .csv file; save others as one of them"
        raise InputError(Finding("quote", message, str(path), fix=fix))
    raw = contents(path, most_bytes=_MOST_BYTES, what="quote")
    if raw.startswith(b"%PDF"):
        raise _is_pdf(path)
    digest = hashlib.sha256(raw).hexdigest()
    if kind in (".xlsx", ".xlsm"):
        book = open_xlsx(path, without="take out what is no part of the quote", shown=True)
        sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
        hidden = {sheet.title: _hidden_columns(sheet) for sheet in book.worksheets}
    else:
        sheets, hidden = {"": _csv_rows(_decoded(raw, path))}, {}
    if not any(sheets.values()):
        raise InputError(Finding("quote", "the file is empty", str(path)))
    return Grid(str(path), digest, sheets, hidden)


def _is_pdf(path: Path) -> InputError:
    fix = "ask the vendor for the .xlsx behind it, or copy its table into a spreadsheet"
    return InputError(Finding("quote", "is a PDF, which is not read", str(path), fix=fix))


def _rows(sheet: Worksheet) -> list[Row]:
    over: dict[int, dict[int, str]] = {}
    for area in sheet.merged_cells.ranges:
        text = sheet.cell(area.min_row, area.min_col).value
        if text in (None, "") or area.max_row > _MOST_ROWS or area.max_col > _MOST_COLUMNS:
            continue
        for row in range(area.min_row, area.max_row + 1):
            for column in range(area.min_col, area.max_col + 1):
                over.setdefault(row, {})[column] = " ".join(str(text).split())
    cells: dict[int, dict[int, Cell]] = {}
    for (row, column), cell in sheet._cells.items():
        value = _value(cell.value)
        if value is None or row > _MOST_ROWS or column > _MOST_COLUMNS:
            continue
        name = f"{sheet.title}!{cell.coordinate}"
        cells.setdefault(row, {})[column] = Cell(column, value, name)
    numbers = sorted(cells.keys() | over.keys())
    return [
        Row(
            sheet.title,
            number,
            cells.get(number, {}),
            bool(sheet.row_dimensions[number].hidden),
            over.get(number, {}),
        )
        for number in numbers
    ]


def _hidden_columns(sheet: Worksheet) -> frozenset[int]:
    """Return the columns that who opens the file does not see."""
    return frozenset(
        column
        for each in sheet.column_dimensions.values()
        if each.hidden and each.min and each.max
        for column in range(each.min, min(each.max, _MOST_COLUMNS) + 1)
    )


def _value(value: object) -> str | float | datetime.date | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    text = " ".join(str(value).split())
    return text or None


def _decoded(raw: bytes, path: Path) -> str:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    for encoding in _ENCODINGS:
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    message = "the text is in no encoding that is known"
    raise InputError(Finding("quote", message, str(path), fix="save it as UTF-8"))


def _csv_rows(text: str) -> list[Row]:
    found = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    for number, values in enumerate(reader, 1):
        if number > _MOST_ROWS:
            break
        cells = {}
        for column, value in enumerate(values[:_MOST_COLUMNS], 1):
            tidy = " ".join(value.split())
            if tidy:
                cells[column] = Cell(column, tidy, f"{get_column_letter(column)}{number}")
        found.append(Row("", number, cells, False, {}))
    return found


def _delimiter(text: str) -> str:
    """Return what parts columns: what stands equally often in most of the rows that have it."""

    def agreement(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row, _ in zip(rows, range(500), strict=False) if len(row) > 1)
        if not widths:
            return 0, 0
        width, rows_of_it = widths.most_common(1)[0]
        return rows_of_it, width

    return max(_DELIMITERS, key=agreement)
