"""The tables of a quote: where each begins, and the content of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import Finding, InputError
from planner.quotes.cells import Grid, Row, currency_of, is_multiple
from planner.schema.bill import QuoteField

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
        r"p ?/ ?n|pn|sku|mpn|model( number| no)?|product|artikel( ?(nummer|nr))?|"
        r"art ?(nummer|nr)|catalog (number|no)"
    ),
    "description": (
        r"(product |item |line |service )?(description|desc|name|details?)|bezeichnung|"
        r"beschreibung|description of goods|scope|position text|components?"
    ),
    "quantity": (
        r"(order(ed)? )?(qty|quantity|quantities|units|count|menge|anz(ahl)?|stk|stück|pcs)"
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
        r"price( each| per unit| unit|/unit| per (piece|pc|system|each))?|each|einzelpreis|ep|"
        r"net( each)?|cost per unit|unit cost|unit net|"
        r"(stück|einheits)preis|preis ?(/|je|pro) ?(stück|stk|einheit)"
    ),
    "amount": (
        r"(ext|extended|line|total|net|total net|ext net|extended net|subtotal|sum)( net)?"
        r"( price| amount| total| value| cost| sell)?|amount|gesamt(preis|betrag)?|gp|"
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
    if _has_numbers(rows[at]):
        return None
    taken = [rows[at]]
    fields = _fields(taken, mapping)
    if at + 1 < len(rows) and not _has_numbers(rows[at + 1]):
        both = _fields(rows[at : at + 2], mapping)
        if len(_fields([rows[at + 1]], mapping)) >= len(both) > len(fields):
            return None  # the next row is a header by itself
        if len(both) > len(fields):
            taken, fields = [*rows[at : at + 2]], both
    if set(fields) < set(mapping) if mapping else not _is_table(fields):
        return None
    texts = {field: _joined(taken, column) for field, column in fields.items()}
    above = [rows[at - 1].header(column) for column in fields.values()] if at else []
    currencies = {currency_of(text) for text in (*texts.values(), *above)} - {None}
    columns = {column for row in taken for column in (*row.cells, *row.over)}
    _refuse_multiples(file, texts, rows[:at])
    return Table(
        taken[0].sheet,
        taken[0].number,
        taken[-1].number,
        fields,
        texts,
        currencies.pop() if len(currencies) == 1 else None,
        max(columns, default=0),
    )


def _has_numbers(row: Row) -> bool:
    return any(isinstance(cell.value, float) for cell in row.cells.values())


def _is_table(fields: Mapping[QuoteField, int]) -> bool:
    named = "description" in fields or "part" in fields
    return len(fields) >= _LEAST_FIELDS and named and any(each in fields for each in AMOUNTS)


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
        return {by_text[text.lower()]: column for column, text in texts.items()
                if text.lower() in by_text}  # fmt: skip
    found: dict[QuoteField, int] = {}
    below = {column: rows[-1].header(column) for column in columns}
    for names in (texts, below)[: len(rows)]:  # of two rows the lower one may do alone
        for column in columns:
            field = _field_of(plain_words(names[column]), found)
            if field is not None and column not in found.values():
                found[field] = column
    called: dict[QuoteField, tuple[str, ...]] = {"part": ("model", "product"), "line": ("item",)}
    for field, words in called.items():  # other headers of a description
        if "description" not in found and field in found:
            if plain_words(texts[found[field]]) in words:
                found["description"] = found.pop(field)
    return found


def _field_of(text: str, found: Mapping[QuoteField, int]) -> QuoteField | None:
    """The content that a header names, among those without a column yet."""
    if not text:
        return None
    matching = (field for field, matcher in _MATCHERS.items() if matcher.fullmatch(text))
    return next((field for field in matching if field not in found), None)
