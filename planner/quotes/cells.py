"""A vendor's file as rows of cells with numbers, currencies, dates, terms; its tables by header."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, takewhile
from pathlib import Path
from typing import Literal

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.files import contents, open_xlsx
from planner.schema.bill import QuoteField

Decimal = Literal["point", "comma"]

_CODES = (
    "USD EUR GBP JPY CNY KRW INR CHF CAD AUD SGD SEK NOK DKK PLN NZD HKD TWD BRL MXN AED SAR ILS "
    "ZAR CZK THB"
)
_SIGNS = {
    "USD": ("US$", "$", "US DOLLAR", "US DOLLARS"),
    "EUR": ("€", "EURO", "EUROS"),
    "GBP": ("£", "POUNDS STERLING"),
    "JPY": ("¥", "YEN"),
    "CHF": ("SWISS FRANCS",),
    "CNY": ("RMB",),
    "KRW": ("₩",),
    "INR": ("₹",),
    "CAD": ("CA$", "C$"),
    "AUD": ("AU$", "A$"),
    "NZD": ("NZ$",),
    "SGD": ("S$", "SG$"),
    "HKD": ("HK$",),
    "TWD": ("NT$",),
    "BRL": ("R$",),
    "MXN": ("MX$",),
}
SIGNS = {code: code for code in _CODES.split()} | {
    sign: code for code, signs in _SIGNS.items() for sign in signs
}
"""Currencies by sign, code and name; a dollar alone is that of the United States."""
_WORDED_SIGNS: dict[str, str | None] = {
    "kr": None,
    "rs": "INR",
    "lei": "RON",
    "₪": "ILS",
    "฿": "THB",
}
_WORDED_SIGNS |= dict.fromkeys(("zł", "zl"), "PLN") | dict.fromkeys(("sfr", "fr"), "CHF")
_WORDED_SIGNS |= dict.fromkeys(("kč", "kc"), "CZK") | dict.fromkeys(("tl", "₺"), "TRY")
"""Signs that are words: a currency only beside a number; a krone is that of three countries."""
NOTHING = {"-", "--", "–", "—"}
INCLUDED = {"included", "incl", "incl.", "inkl", "inkl.", "inklusive"}
INCLUDED |= {"n/c", "no charge", "free", "bundled"}

_WORDED = "|".join(_WORDED_SIGNS)
_BESIDE_A_NUMBER = re.compile(
    rf"(?<=[\d,.–—-])\s?({_WORDED})\.?(?![^\W\d_])|(?<![^\W_])({_WORDED})\.?\s?(?=[\d(-])", re.I
)
_SIGN = re.compile(
    "|".join(
        ("(?<![^\\W\\d_])" if sign[0].isalpha() and sign[-1] == "$" else "") + re.escape(sign)
        for sign in sorted(SIGNS, key=len, reverse=True)
    ),
    re.I,
)
_BARE = r"(?:US\$|[$€£¥₩₹]|USD|EUR|GBP|JPY|CNY|KRW|INR|CHF)"
_CODE = rf"{_BARE}(?![^\W\d_])"
_MULTIPLE = re.compile(
    rf"(?<![^\W\d_])[kKTM] ?{_CODE}|{_BARE} ?[kKTM]\b|['’]000\b|"
    r"\b(thousands?|tausend|000s|millions?|millionen|mio|mn)\b",
    re.I,
)
_LARGEST = 1e15
"""Larger figures are texts: their sums would have no cents."""
_SPACES = str.maketrans("", "", " \u00a0\u202f\u2009'’")


def currency_of(text: str) -> str | None:
    """The currency that a text names, None for none or several."""
    found = {SIGNS[each.group().upper()] for each in _SIGN.finditer(text) if _is_word(text, each)}
    if number(text, "point") is not None:
        worded = (_WORDED_SIGNS[(a or b).lower()] for a, b in _BESIDE_A_NUMBER.findall(text))
        found |= {currency for currency in worded if currency is not None}
    return found.pop() if len(found) == 1 else None


def _is_word(text: str, match: re.Match[str]) -> bool:
    """True for a sign, or a code that is a word, as in "kEUR": the EUR of "EUROPE" is none."""
    if not match.group().isalpha():
        return True
    begins = re.search(r"(?<![^\W\d_])[kKMT]?$", text[: match.start()])
    return begins is not None and not text[match.end() :][:1].isalpha()


def is_multiple(text: str) -> bool:
    """True if a header names thousands or millions of its currency: "Price (k€)"."""
    return _MULTIPLE.search(text) is not None


def decimal_mark(texts: Iterable[str]) -> Decimal | None:
    """The decimal mark of most numbers among texts, None where none of them decides."""
    votes = Counter(_currency_mark_amount(_digits(text)[0]) for text in texts)
    if votes["point"] == votes["comma"]:
        return None
    return "point" if votes["point"] > votes["comma"] else "comma"


def _currency_mark_amount(text: str) -> Decimal | None:
    points, commas = text.count("."), text.count(",")
    if points and commas:
        return "point" if text.rindex(".") > text.rindex(",") else "comma"
    if points > 1 or commas > 1:
        return "comma" if points > 1 else "point"
    if (points or commas) and not re.fullmatch(r"\d{1,3}[.,]\d{3}", text):
        return "point" if points else "comma"
    return None


def number(text: str, decimal: Decimal) -> float | None:
    """The number in a text without currency, spaces and percent sign; None where there is none."""
    digits, negative = _digits(text)
    own = _currency_mark_amount(digits) or decimal
    thousands, mark = (",", ".") if own == "point" else (".", ",")
    plain = digits.replace(thousands, "").replace(mark, ".")
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", plain) or float(plain) > _LARGEST:
        return None
    return -float(plain) if negative else float(plain)


def _digits(text: str) -> tuple[str, bool]:
    """A number without signs around it, and whether it is negative; brackets are a minus."""
    plain = _BESIDE_A_NUMBER.sub("", _SIGN.sub("", text)).translate(_SPACES).removesuffix("%")
    plain = re.sub(r"[,.][-–—]+$", "", plain)  # 1.200,-
    negative = plain.startswith(("-", "−")) or plain.endswith("-")
    negative = negative or (plain.startswith("(") and plain.endswith(")"))
    return plain.strip("()-−+"), negative


_TERM = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*-?\s*(years?|yrs?|yr|y|jahre?n?|months?|mths?|mo|monate?n?)\b", re.I
)


def term_years(text: str) -> float | None:
    """The term that a text names, in years."""
    match = _TERM.search(text)
    if match is None:
        return None
    length = float(match[1].replace(",", "."))
    return length / 12.0 if match[2].lower().startswith(("mo", "mt")) else length


_NAMES_OF_MONTHS = "jan feb mar/mär apr may/mai jun jul aug sep oct/okt nov dec/dez"
_MONTHS = {
    name: number
    for number, names in enumerate(_NAMES_OF_MONTHS.split(), 1)
    for name in names.split("/")
}


def date_of(text: str) -> datetime.date | None:
    """The date that a text names, None where it names none or could be two."""
    if match := re.search(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b", text):
        return _date(match[1], match[2], match[3])
    if match := re.search(r"\b(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b", text):
        one, two, year = match[1], match[3], match[4]
        days = {_date(year, two, one), _date(year, one, two) if match[2] != "." else None} - {None}
        return days.pop() if len(days) == 1 else None
    month = r"(?P<m>[a-zä]{3})[a-zäöü]*"
    for form in (
        rf"\b(?P<d>\d{{1,2}})\.?[ -]{month}\.?[ ,-]+(?P<y>\d{{4}})\b",
        rf"\b{month}\.? (?P<d>\d{{1,2}})(st|nd|rd|th)?,? (?P<y>\d{{4}})\b",
    ):
        match = re.search(form, text.lower())
        if match and match["m"] in _MONTHS:
            return _date(match["y"], _MONTHS[match["m"]], match["d"])
    return None


def _date(year: str, month: str | int, day: str) -> datetime.date | None:
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


# The file.

_MOST_BYTES = 20_000_000
_MOST_ROWS, _MOST_COLUMNS = 20_000, 200


@dataclass(frozen=True)
class Cell:
    """A cell with its name in the file; ``currency`` is that of its number format."""

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

    @property
    def date(self) -> datetime.date | None:
        """The date in it."""
        return self.value if isinstance(self.value, datetime.date) else date_of(self.text)


@dataclass(frozen=True)
class Row:
    """A row of a sheet, cells by column; ``over``: texts of cells merged over several columns."""

    sheet: str
    number: int
    cells: dict[int, Cell]
    hidden: bool = False
    over: dict[int, str] = field(default_factory=dict)

    @property
    def in_order(self) -> list[Cell]:
        """The cells from left to right."""
        return [self.cells[column] for column in sorted(self.cells)]

    def header(self, column: int) -> str:
        """The text in a column, or merged over it."""
        cell = self.cells.get(column)
        return cell.text if cell is not None else self.over.get(column, "")


@dataclass(frozen=True)
class Grid:
    """The sheets of a file as rows."""

    file: str
    sha256: str
    sheets: dict[str, list[Row]]

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all sheets."""
        for rows in self.sheets.values():
            yield from rows


def read(path: Path) -> Grid:
    """Read a vendor's file, XLSX or text with separators.

    Raises:
        InputError: another kind of file, too large, empty or unreadable.
    """
    kind = path.suffix.lower()
    message = f"'{path.suffix}' is no kind of quote that is read"
    fix = "give an .xlsx or .csv file: request it, or copy the table into a spreadsheet"
    if kind not in (".xlsx", ".xlsm", ".csv", ".txt", ".tsv"):
        raise InputError(Finding("quote", message, str(path), fix=fix))
    raw = contents(path, most_bytes=_MOST_BYTES, what="quote")
    if raw.startswith(b"%PDF"):
        raise InputError(Finding("quote", "is a PDF, which is not read", str(path), fix=fix))
    sheets: dict[str, list[Row]] = {}
    if kind in (".xlsx", ".xlsm"):
        book = open_xlsx(path, without="take out what is no part of the quote", shown=True)
        for sheet in book.worksheets:
            sheets[sheet.title] = _sheet_rows(sheet, path)
    else:
        try:
            sheets[""] = _text_rows(_decoded(raw), path)
        except csv.Error as error:
            message, fix = f"cannot be read as rows: {error}", "save it again as .csv or .xlsx"
            raise InputError(Finding("quote", message, str(path), fix=fix)) from None
    if not any(sheets.values()):
        raise InputError(Finding("quote", "the file is empty", str(path)))
    return Grid(str(path), hashlib.sha256(raw).hexdigest(), sheets)


def _too_long(path: Path) -> InputError:
    message = f"more than {_MOST_ROWS:,} rows"
    return InputError(Finding("quote", message, str(path), fix="split the file, or delete rows"))


def _sheet_rows(sheet: Worksheet, path: Path) -> list[Row]:
    """Rows of a sheet; hidden columns are no part of the offer."""
    over: dict[int, dict[int, str]] = {}
    for area in sheet.merged_cells.ranges:
        text = sheet.cell(area.min_row, area.min_col).value
        if text not in (None, "") and area.max_row <= _MOST_ROWS and area.max_col <= _MOST_COLUMNS:
            for row, column in product(*(range(a, b + 1) for a, b in _sides(area.bounds))):
                over.setdefault(row, {})[column] = " ".join(str(text).split())
    hidden = {
        column
        for each in sheet.column_dimensions.values()
        if each.hidden and each.min and each.max
        for column in range(each.min, min(each.max, _MOST_COLUMNS) + 1)
    }
    cells: dict[int, dict[int, Cell]] = {}
    for (row, column), cell in sheet._cells.items():
        value = _value(cell.value)
        if value is None or column > _MOST_COLUMNS or column in hidden:
            continue
        if row > _MOST_ROWS:
            raise _too_long(path)
        currency = _format_currency(cell.number_format) if isinstance(value, float) else None
        name = f"{sheet.title}!{cell.coordinate}"
        cells.setdefault(row, {})[column] = Cell(column, value, name, currency)
    return [
        Row(
            sheet.title,
            at,
            cells.get(at, {}),
            bool(sheet.row_dimensions[at].hidden),
            over.get(at, {}),
        )
        for at in sorted(cells.keys() | over.keys())
    ]


def _sides(bounds: tuple[int, int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    left, top, right, bottom = bounds
    return (top, bottom), (left, right)


def _format_currency(number_format: str) -> str | None:
    """The currency in a number format; a bare dollar is that of the reader's country."""
    named = [currency_of(text) for text in re.findall(r"\[\$([^\]-]+)", number_format)]
    found = {*named, *(SIGNS[sign] for sign in re.findall(r"[€£¥₩₹]", number_format))} - {None}
    return found.pop() if len(found) == 1 else None


def _value(value: object) -> str | float | datetime.date | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= _LARGEST else f"{value:.3g}"
    if isinstance(value, datetime.date):
        return value.date() if isinstance(value, datetime.datetime) else value
    return " ".join(str(value).split()) or None


def _decoded(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _text_rows(text: str, path: Path) -> list[Row]:
    found = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    for number, values in enumerate(reader, 1):
        if number > _MOST_ROWS:
            raise _too_long(path)
        tidy = enumerate((" ".join(value.split()) for value in values[:_MOST_COLUMNS]), 1)
        cells = {
            column: Cell(column, value, f"{get_column_letter(column)}{number}")
            for column, value in tidy
            if value
        }
        found.append(Row("", number, cells))
    return found


def _delimiter(text: str) -> str:
    """The separator that gives the most rows of one width."""

    def agreement(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row, _ in zip(rows, range(500), strict=False) if len(row) > 1)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        return count, width

    return max(",;\t|", key=agreement)


# Tables: where each begins, and the content of its columns

AMOUNTS: tuple[QuoteField, ...] = ("unit_list", "unit_net", "amount")
_DEEPEST = 200
"""The first header stands in one of so many rows."""
_LEAST_FIELDS = 3
_ABOUT_AMOUNTS = re.compile(
    r"\b(amounts?|prices?|figures|values|betr[äa]ge|preise|angaben)\b.*\b(in)\b|^\(?in ", re.I
)
"""A note above a table on the unit of its amounts."""

_NAMES: dict[QuoteField, str] = {
    "line": r"line|line (no|number|item)|item (no|number|#)|no|nr|pos|position|#|ln|seq|item",
    "part": (
        r"(mfg |mfr |vendor |supplier |manufacturer |oem )?"
        r"(part|product|item|article|material|order) ?(number|no|nr|code|id|#|num)|"
        r"p ?/ ?n|pn|part|sku|mpn|model( number| no)?|product|artikel( ?(nummer|nr))?|"
        r"art ?(nummer|nr)|catalog (number|no)"
    ),
    "description": (
        r"(product |item |line |service |material )?(description|desc|name|details?)|bezeichnung|"
        r"beschreibung|description of goods|nomenclature|scope|position text|components?"
    ),
    "quantity": (
        r"(order(ed)? )?(qty|q ty|quantity|quantities|units|count|menge|anz(ahl)?|stk|stück|pcs)"
    ),
    "from_quantity": (
        r"(qty|quantity|units|volume|menge) ?(from|break|tier|range|min(imum)?|ab|von)|ab menge|"
        r"(from|min(imum)?|break|tier|volume) ?(qty|quantity|units)|"
        r"(quantity|volume|price) breaks?|tier|from"
    ),
    "unit_list": (
        r"(unit |list )?(list|msrp|rrp|listen) ?(price|preis)?( unit| each)?|unit list( price)?|"
        r"gross (unit )?price|list price per unit"
    ),
    "discount": r"(disc|discount|rabatt)( rate| pct| percent)?",
    "unit_net": (
        r"(unit|net|your|sell|selling|sales|customer|quoted?|partner|net unit|unit net|"
        r"unit selling) ?(price|cost|preis|rate)( each| per unit)?|"
        r"price( each| per unit| unit|/unit| per (piece|pc|system|each))?|each|einzelpreis|"
        r"e ?preis|ep|"
        r"net( each)?|cost per unit|unit cost|unit net|"
        r"(stück|einheits)preis|preis ?(/|je|pro) ?(stück|stk|einheit)"
    ),
    "amount": (
        r"(ext|extended|line|total|net|total net|ext net|extended net|subtotal|sum)( net)?"
        r"( price| amount| total| value| cost| sell)?|amount|gesamt(preis|betrag)?|g ?preis|gp|"
        r"total price( net)?|price total|value"
    ),
    "currency": r"currency|curr|ccy|w[äa]hrung",
    "lead_time": (
        r"(est(imated)? )?(lead ?time|delivery( time)?|liefer(zeit|frist)|availability|ships? in|"
        r"eta)( weeks| days)?"
    ),
    "term": r"(service |support |contract )?(term|duration|period|laufzeit)( months| years)?",
    "note": r"notes?|comments?|remarks?|bemerkung",
}
_MATCHERS = {field: re.compile(pattern) for field, pattern in _NAMES.items()}


@dataclass(frozen=True)
class Table:
    """The header of a table: its rows, columns and texts by content, its currency and width."""

    sheet: str
    row: int
    last_row: int
    fields: dict[QuoteField, int]
    texts: dict[QuoteField, str]
    currency: str | None
    width: int


def find_tables(grid: Grid, mapping: Mapping[QuoteField, str]) -> list[Table]:
    """Every table of a file from top to bottom.

    Args:
        mapping: headers of columns by content, as in the file; empty to recognise them.

    Raises:
        InputError: no table, or none with the mapped columns.
    """
    found: list[Table] = []
    for rows in grid.sheets.values():
        at = 0
        while at < len(rows):
            table = _table(grid.file, rows, at, mapping)
            if table is None or (not found and rows[at].number > _DEEPEST):
                at += 1
                continue
            found.append(table)
            at += 1 + (table.last_row - table.row)
    if found:
        return found
    message = "no table of a quote was found: a header with a description or part number, and a"
    message, fix = f"{message} quantity or price", "name the columns with --map"
    if mapping:
        message = f"no row has the columns of the mapping: {', '.join(mapping.values())}"
        fix = "name columns as in the file's header"
    raise InputError(Finding("quote", message, grid.file, fix=fix))


def body(grid: Grid, tables: Sequence[Table]) -> Iterator[tuple[Row, Table]]:
    """Yield the rows under each header, down to the next."""
    heads = {(table.sheet, table.row): table for table in tables}
    for sheet, rows in grid.sheets.items():
        table: Table | None = None
        for row in rows:
            table = heads.get((sheet, row.number), table)
            if table is not None and row.number > table.last_row and row.cells:
                yield row, table


def _table(
    file: str, rows: Sequence[Row], at: int, mapping: Mapping[QuoteField, str]
) -> Table | None:
    """The table whose header begins at a row, of one row or of two."""
    heads = list(takewhile(lambda row: not _has_numbers(row), rows[at : at + 2]))
    taken = heads[:1]
    fields = _fields(taken, mapping)
    if len(heads) == 2 and len(both := _fields(heads, mapping)) > len(fields):
        if len(_fields(heads[1:], mapping)) >= len(both):
            return None  # the next row is a header by itself
        taken, fields = heads, both
    if not mapping and not fields.keys() & {"unit_list", "unit_net"}:
        below = rows[at + len(taken)].cells if at + len(taken) < len(rows) else {}
        for column, cell in below.items():  # else a column of units of measure
            if plain_words(_joined(taken, column)) == "unit" and cell.text[-1:].isdigit():
                fields["unit_net"] = column
    named = fields.keys() & {"description", "part"} and any(each in fields for each in AMOUNTS)
    found = set(fields) >= set(mapping) if mapping else named and len(fields) >= _LEAST_FIELDS
    if not taken or not found:
        return None
    texts = {field: _joined(taken, column) for field, column in fields.items()}
    above = [rows[at - 1].header(column) for column in fields.values()] if at else []
    currencies = {currency_of(text) for text in (*texts.values(), *above)} - {None}
    columns = {column for row in taken for column in (*row.cells, *row.over)}
    _refuse_multiples(file, texts, rows[:at])
    currency = currencies.pop() if len(currencies) == 1 else None
    ends = taken[0].number, taken[-1].number
    return Table(taken[0].sheet, *ends, fields, texts, currency, max(columns, default=0))


def _has_numbers(row: Row) -> bool:
    return any(isinstance(cell.value, float) for cell in row.cells.values())


def _refuse_multiples(file: str, texts: Mapping[QuoteField, str], above: Sequence[Row]) -> None:
    """Refuse amounts in thousands or millions, by their header or a note above the table."""
    notes = [cell.text for row in above for cell in row.cells.values()]
    stated = [texts[each] for each in AMOUNTS if each in texts]
    for text in (*stated, *(text for text in notes if _ABOUT_AMOUNTS.search(text))):
        if is_multiple(text):
            message = f"'{text[:60]}': amounts are in thousands or millions"
            fix = "write them in full, in the currency itself"
            raise InputError(Finding("quote", message, file, fix=fix))


def _joined(rows: Sequence[Row], column: int) -> str:
    return " ".join(dict.fromkeys(filter(None, (row.header(column) for row in rows))))


def plain_words(text: str) -> str:
    """The words of a header without brackets and currencies."""
    text = re.sub(r"\(.*?\)|\[.*?\]|_", " ", text.lower())
    text = re.sub(r"\b(usd|eur|gbp|jpy|cny|krw|inr|chf|us\$)\b|[$€£¥₩₹%]", " ", text)
    return " ".join(re.sub(r"[^\w#/éèäöüß ]+", " ", text).split())


def _fields(rows: Sequence[Row], mapping: Mapping[QuoteField, str]) -> dict[QuoteField, int]:
    """Columns by content, each content once."""
    columns = sorted({column for row in rows for column in (*row.cells, *row.over)})
    texts = {column: _joined(rows, column) for column in columns}
    if mapping:
        by_text = {" ".join(text.lower().split()): field for field, text in mapping.items()}
        return {
            by_text[text.lower()]: column
            for column, text in texts.items()
            if text.lower() in by_text
        }
    found: dict[QuoteField, int] = {}
    below = {column: rows[-1].header(column) for column in columns}
    for names in (texts, below)[: len(rows)]:  # of two rows the lower one may do alone
        for column in columns:
            text = plain_words(names[column])
            matching = (each for each, named in _MATCHERS.items() if named.fullmatch(text))
            field = next((each for each in matching if each not in found), None)
            if text and field is not None and column not in found.values():
                found[field] = column
    called: dict[QuoteField, tuple[str, ...]] = {"part": ("model", "product"), "line": ("item",)}
    for field, words in called.items():  # other headers of a description
        if "description" not in found and field in found:
            if plain_words(texts[found[field]]) in words:
                found["description"] = found.pop(field)
    beside: dict[QuoteField, str] = {"amount": "price", "description": "product"}
    plain = {column: plain_words(texts[column]) for column in columns}
    for field, word in beside.items():  # of a unit price, of a part number
        named = [column for column in columns if plain[column] == word]
        if field not in found and named and not {*named} & {*found.values()}:
            found[field] = named[0]
    return found
