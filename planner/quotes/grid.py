"""A vendor's file as rows of cells, whichever program wrote it, and the numbers and dates in them.

Nothing is interpreted here but what the file itself says: values, which cells are merged, which
rows are hidden, and where a cell stands.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.foreign_files import contents
from planner.foreign_workbooks import open_xlsx

Decimal = Literal["point", "comma"]

SIGNS = {
    "US$": "USD", "USD": "USD", "$": "USD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP",
    "JPY": "JPY", "¥": "JPY", "CNY": "CNY", "RMB": "CNY", "KRW": "KRW", "₩": "KRW", "INR": "INR",
    "₹": "INR", "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "SGD": "SGD", "SEK": "SEK", "NOK": "NOK",
    "DKK": "DKK", "PLN": "PLN", "CA$": "CAD", "C$": "CAD", "AU$": "AUD", "A$": "AUD",
    "NZ$": "NZD", "NZD": "NZD", "S$": "SGD", "SG$": "SGD", "HK$": "HKD", "HKD": "HKD",
    "NT$": "TWD", "TWD": "TWD", "R$": "BRL", "BRL": "BRL", "MX$": "MXN", "MXN": "MXN",
    "AED": "AED", "SAR": "SAR", "ILS": "ILS", "ZAR": "ZAR", "CZK": "CZK", "THB": "THB",
}  # fmt: skip
"""How a currency is written. A dollar alone is that of the United States."""

NOTHING = {"-", "--", "–", "—"}
INCLUDED = {
    "included", "incl", "incl.", "inkl", "inkl.", "inklusive", "n/c", "no charge", "free",
    "bundled", "inclus",
}  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january januar", "feb february februar", "mar march märz", "apr april",
         "may mai", "jun june juni", "jul july juli", "aug august", "sep sept september",
         "oct october okt oktober", "nov november", "dec december dez dezember"), 1)
    for name in names.split()
}  # fmt: skip
_WORDED_SIGNS = {
    "zł": "PLN", "zl": "PLN", "kr": None, "sfr": "CHF", "fr": "CHF", "kč": "CZK", "kc": "CZK",
    "rs": "INR", "lei": "RON", "tl": "TRY", "₺": "TRY", "₪": "ILS", "฿": "THB",
}  # fmt: skip
"""Signs that are words: a currency only beside a number; a krone is that of three countries."""
_WORDED = "|".join(_WORDED_SIGNS)
_BESIDE = re.compile(
    rf"(?<=[\d,.–—-])\s?({_WORDED})\.?(?![^\W\d_])|(?<![^\W_])({_WORDED})\.?\s?(?=[\d(-])", re.I
)
_SIGN = re.compile(
    "|".join(
        rf"(?<![^\W\d_]){re.escape(sign)}" if sign[0].isalpha() and sign[-1] == "$"
        else re.escape(sign)
        for sign in sorted(SIGNS, key=len, reverse=True)
    ),
    re.I,
)  # fmt: skip
_BARE = r"(?:US\$|[$€£¥₩₹]|USD|EUR|GBP|JPY|CNY|KRW|INR|CHF)"
_CODE = rf"{_BARE}(?![^\W\d_])"
_LARGE = (
    (1e3, rf"(?<![^\W\d_])[kT] ?{_CODE}|{_BARE} ?[kT]\b|\b(thousands?|tausend|milliers|000s)\b|"
          r"['’]000\b|千"),
    (1e6, rf"(?<![^\W\d_])M ?{_CODE}|{_BARE} ?M\b|\b(millions?|millionen|mio|mn)\b|百万"),
    (1e5, r"\blakhs?\b"),
    (1e7, r"\bcrores?\b"),
)  # fmt: skip
"""How people say that amounts are in thousands, lakhs, millions or crores."""

_LARGEST = 1e15
"""A figure beyond it is none: sums of such would be of no size at all."""

_SPACES = str.maketrans("", "", " \u00a0\u202f\u2009'’")
_PLAIN = re.compile(r"-?\d+")
_TERM = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*-?\s*(years?|yrs?|yr|y|jahre?|months?|mths?|mo|monate?)\b", re.I
)


def currency_of(text: str) -> str | None:
    """Return the currency that a text names, None for none or several."""
    found = {SIGNS[match.group().upper()] for match in _SIGN.finditer(text) if _alone(text, match)}
    if number(text, "point") is not None:
        worded = (_WORDED_SIGNS[(one or two).lower()] for one, two in _BESIDE.findall(text))
        found |= {currency for currency in worded if currency is not None}
    return found.pop() if len(found) == 1 else None


def _alone(text: str, match: re.Match[str]) -> bool:
    """Say whether a code is a word of its own, as in "kEUR" too: the EUR of "EUROPE" is none."""
    if not match.group().isalpha():
        return True
    begins = re.search(r"(?<![^\W\d_])[kKMT]?$", text[: match.start()])
    return begins is not None and not text[match.end() :][:1].isalpha()


def size_of(text: str) -> float:
    """Return how many of its currency one of a column's amounts is: 1,000 in "Price (k€)"."""
    return next((size for size, word in _LARGE if re.search(word, text, re.I)), 1.0)


def style(texts: Iterable[str]) -> Decimal | None:
    """Return how the numbers among texts are written, None where none of them tells."""
    votes = {"point": 0, "comma": 0}
    for text in texts:
        mark = _decimal_mark(_bare(text)[0])
        if mark is not None:
            votes[mark] += 1
    if votes["point"] == votes["comma"]:
        return None
    return "point" if votes["point"] > votes["comma"] else "comma"


def _decimal_mark(text: str) -> Decimal | None:
    """Return what the decimal mark of a number must be, None where both may be."""
    points, commas = text.count("."), text.count(",")
    if points and commas:
        return "point" if text.rindex(".") > text.rindex(",") else "comma"
    if points > 1 or commas > 1:
        return "comma" if points > 1 else "point"
    for mark, name in ((".", "point"), (",", "comma")):
        if mark in text and not re.fullmatch(rf"\d{{1,3}}{re.escape(mark)}\d{{3}}", text):
            return "point" if name == "point" else "comma"
    return None


def number(text: str, decimal: Decimal) -> float | None:
    """Return the number that a text is; None where it is none.

    Currencies, spaces and signs of percent are left out; brackets are a minus. A share is returned
    as its number of percent.
    """
    bare, negative = _bare(text)
    if not bare:
        return None
    own = _decimal_mark(bare) or decimal
    thousands, mark = (",", ".") if own == "point" else (".", ",")
    plain = bare.replace(thousands, "").replace(mark, ".")
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", plain):
        return None
    value = float(plain)
    if value > _LARGEST:
        return None
    return -value if negative else value


def _bare(text: str) -> tuple[str, bool]:
    """Return a number without what stands around it, and whether it is negative."""
    plain = _BESIDE.sub("", _SIGN.sub("", text)).translate(_SPACES).removesuffix("%")
    plain = re.sub(r"[,.][-–—]+$", "", plain)  # 1.200,-
    negative = plain.startswith(("-", "−")) or plain.endswith("-")
    negative = negative or (plain.startswith("(") and plain.endswith(")"))
    return plain.strip("()-−+"), negative


def term_years(text: str) -> float | None:
    """Return the term that a text names, years."""
    match = _TERM.search(text)
    if match is None:
        return None
    length = float(match[1].replace(",", "."))
    return length / 12.0 if match[2].lower().startswith(("mo", "mt")) else length


def date_of(text: str) -> datetime.date | None:
    """Return the date that a text names, None where it names none or could be two."""
    text = text.strip()
    match = re.search(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b", text)
    if match:
        return _date(int(match[1]), int(match[2]), int(match[3]))
    match = re.search(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b", text)
    if match:
        return _date(int(match[3]), int(match[2]), int(match[1]))
    match = re.search(r"\b(\d{1,2})[/-](\d{1,2})[/-](\d{4})\b", text)
    if match:
        one, two, year = int(match[1]), int(match[2]), int(match[3])
        both = {_date(year, one, two), _date(year, two, one)} - {None}
        return both.pop() if len(both) == 1 else None
    words = re.findall(r"[^\W\d_]+|\d+", text.lower())
    month = next((_MONTHS[word] for word in words if word in _MONTHS), None)
    digits = [int(word) for word in words if _PLAIN.fullmatch(word)]
    years = [each for each in digits if 1990 <= each <= 2100]
    days = [each for each in digits if 1 <= each <= 31]
    if month is None or len(years) != 1 or len(days) != 1:
        return None
    return _date(years[0], month, days[0])


def _date(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


_FORMATTED = re.compile(r"\[\$([^\]-]+)")
"""The currency in a format of numbers: ``#,##0.00 [$EUR]``, ``[$€-407]``."""

_MOST_BYTES = 20_000_000
_MOST_ROWS, _MOST_COLUMNS = 20_000, 200
_DELIMITERS = ",;\t|"
_ENCODINGS = ("utf-8-sig", "cp1252")
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True)
class Cell:
    """A cell that holds something: its value, and what the file's program calls it.

    ``currency`` is the one that the program shows with a number without it standing in the cell.
    """

    column: int
    value: str | float | datetime.date
    name: str
    currency: str | None = None

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
        sheets = {sheet.title: _rows(sheet, path) for sheet in book.worksheets}
        hidden = {sheet.title: _hidden_columns(sheet) for sheet in book.worksheets}
    else:
        sheets, hidden = {"": _csv_rows(_decoded(raw, path), path)}, {}
    if not any(sheets.values()):
        raise InputError(Finding("quote", "the file is empty", str(path)))
    return Grid(str(path), digest, sheets, hidden)


def _is_pdf(path: Path) -> InputError:
    fix = "ask the vendor for the .xlsx behind it, or copy its table into a spreadsheet"
    return InputError(Finding("quote", "is a PDF, which is not read", str(path), fix=fix))


def _too_long(path: Path) -> InputError:
    message = f"more than {_MOST_ROWS:,} rows"
    return InputError(Finding("quote", message, str(path), fix="split the file, or delete rows"))


def _rows(sheet: Worksheet, path: Path) -> list[Row]:
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
        if value is None or column > _MOST_COLUMNS:
            continue
        if row > _MOST_ROWS:
            raise _too_long(path)
        name = f"{sheet.title}!{cell.coordinate}"
        shown = _shown_in(cell.number_format) if isinstance(value, float) else None
        cells.setdefault(row, {})[column] = Cell(column, value, name, shown)
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


def _shown_in(number_format: str) -> str | None:
    """Return the currency that a format shows a number in.

    A bare dollar is none: programs store the currency of the country as that.
    """
    named = [currency_of(text) for text in _FORMATTED.findall(number_format)]
    marked = [SIGNS[sign] for sign in re.findall(r"[€£¥₩₹]", number_format)]
    found = {each for each in (*named, *marked) if each is not None}
    return found.pop() if len(found) == 1 else None


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
        return float(value) if abs(value) <= _LARGEST else f"{value:.3g}"
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


def _csv_rows(text: str, path: Path) -> list[Row]:
    found = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    for number, values in enumerate(reader, 1):
        if number > _MOST_ROWS:
            raise _too_long(path)
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
