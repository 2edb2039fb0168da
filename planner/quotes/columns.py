"""Where the table of a quote begins, and what each of its columns holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.errors import Finding, InputError
from planner.quotes.grid import Grid, Row
from planner.quotes.numbers import currency_of
from planner.schema.quote import QuoteField

_HEAD_ROWS = 200
"""A header further down is none."""
_LEAST_FIELDS = 3

_NAMES: dict[QuoteField, str] = {
    "line": r"line|line (no|number|item)|item (no|number|#)|no|nr|pos|position|#|ln|seq|item",
    "part": (
        r"(mfg |mfr |vendor |supplier |manufacturer |oem )?"
        r"(part|product|item|article|material|order) ?(number|no|nr|code|id|#|num)|"
        r"p ?/ ?n|pn|sku|mpn|model( number| no)?|product|artikel(nummer|nr)?|"
        r"catalog (number|no)|r[ée]f[ée]rence"
    ),
    "description": (
        r"(product |item |line |service )?(description|desc|name|details?)|bezeichnung|"
        r"beschreibung|d[ée]signation|description of goods|scope|position text|components?"
    ),
    "quantity": (
        r"(order(ed)? )?(qty|quantity|quantities|units|count|menge|anzahl|stk|quantit[ée]|pcs)"
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
    "discount": r"(disc|discount|rabatt|remise)( rate| pct| percent)?",
    "unit_net": (
        r"(unit|net|your|sell|selling|sales|customer|quoted?|partner|net unit|unit net|"
        r"unit selling) ?(price|cost|preis|rate)( each| per unit)?|"
        r"price( each| per unit| unit|/unit)?|each|einzelpreis|ep|net( each)?|"
        r"prix unitaire|cost per unit|unit cost|unit net"
    ),
    "amount": (
        r"(ext|extended|line|total|net|total net|ext net|extended net|subtotal|sum)( net)?"
        r"( price| amount| total| value| cost| sell)?|amount|gesamt(preis|betrag)?|gp|montant|"
        r"total price( net)?|price total|value"
    ),
    "currency": r"currency|curr|ccy|w[äa]hrung|devise",
    "lead_time": (
        r"(lead ?time|delivery( time)?|lieferzeit|availability|ships? in|eta)( weeks| days)?"
    ),
    "term": r"(service |support |contract )?(term|duration|period|laufzeit)( months| years)?",
    "note": r"notes?|comments?|remarks?|bemerkung",
}
_MATCHERS = {field: re.compile(pattern) for field, pattern in _NAMES.items()}


@dataclass(frozen=True)
class Header:
    """The columns of a table: ``fields`` says which column holds what."""

    sheet: str
    row: int
    last_row: int
    fields: dict[QuoteField, int]
    texts: dict[QuoteField, str]
    currency: str | None


def plain(text: str) -> str:
    """Return the words of a header, without what stands in brackets and without currencies."""
    text = re.sub(r"\(.*?\)|\[.*?\]|_", " ", text.lower())
    text = re.sub(r"\b(usd|eur|gbp|jpy|cny|krw|inr|chf|us\$)\b|[$€£¥₩₹%]", " ", text)
    return " ".join(re.sub(r"[^\w#/éèäöüß ]+", " ", text).split())


def headers(grid: Grid, mapping: Mapping[QuoteField, str]) -> list[Header]:
    """Return the headers of every table of a file, from top to bottom.

    Args:
        grid: the file.
        mapping: the headers of columns by what they hold, where somebody says so.

    Raises:
        InputError: there is no table, or none with the columns that are named.
    """
    found: list[Header] = []
    for sheet, rows in grid.sheets.items():
        at = 0
        while at < len(rows):
            header = _header(sheet, rows, at, mapping)
            if header is None or (not found and rows[at].number > _HEAD_ROWS):
                at += 1
                continue
            found.append(header)
            at += 1 + (header.last_row - header.row)
    if found:
        return found
    if mapping:
        message = f"no row has the columns that the mapping names: {', '.join(mapping.values())}"
        fix = "name columns as they stand in the file's header"
        raise InputError(Finding("quote", message, grid.file, fix=fix))
    message = "no table of a quote was found: a header with a description or part number, and a"
    fix = "name the columns with --map"
    raise InputError(Finding("quote", f"{message} quantity or price", grid.file, fix=fix))


def _header(
    sheet: str, rows: Sequence[Row], at: int, mapping: Mapping[QuoteField, str]
) -> Header | None:
    """Return the header that begins at a row, of one row or of two."""
    one = _fields([rows[at]], mapping)
    two = _fields(rows[at : at + 2], mapping) if at + 1 < len(rows) else {}
    if any(isinstance(cell.value, float) for cell in rows[at].cells.values()):
        return None
    below = rows[at + 1] if at + 1 < len(rows) else None
    if below is not None and any(isinstance(c.value, float) for c in below.cells.values()):
        two = {}
    if below is not None and len(_fields([below], mapping)) >= len(two) > len(one):
        return None  # the next row is a header by itself
    fields, last = (two, rows[at + 1]) if len(two) > len(one) else (one, rows[at])
    if mapping:
        if set(fields) < set(mapping):
            return None
    elif len(fields) < _LEAST_FIELDS or not _is_table(fields):
        return None
    taken = rows[at : at + 2] if last is not rows[at] else [rows[at]]
    whole = {field: _joined(taken, column) for field, column in fields.items()}
    above = [rows[at - 1].header(column) for column in fields.values()] if at else []
    named = [currency_of(text) for text in (*whole.values(), *above)]
    currencies = {currency for currency in named if currency}
    return Header(
        sheet,
        rows[at].number,
        last.number,
        fields,
        whole,
        currencies.pop() if len(currencies) == 1 else None,
    )


def _is_table(fields: Mapping[QuoteField, int]) -> bool:
    told = "description" in fields or "part" in fields
    return told and any(field in fields for field in ("unit_list", "unit_net", "amount"))


def _joined(rows: Sequence[Row], column: int) -> str:
    parts = [row.header(column) for row in rows]
    return " ".join(dict.fromkeys(part for part in parts if part))


def _fields(rows: Sequence[Row], mapping: Mapping[QuoteField, str]) -> dict[QuoteField, int]:
    """Return what each column of a header holds; a column holds one thing, the best that fits."""
    columns = sorted({column for row in rows for column in (*row.cells, *row.over)})
    texts = {column: _joined(rows, column) for column in columns}
    if mapping:
        wanted = {" ".join(text.lower().split()): field for field, text in mapping.items()}
        return {
            wanted[text.lower()]: column for column, text in texts.items() if text.lower() in wanted
        }
    found: dict[QuoteField, int] = {}
    for column, text in texts.items():
        field = _field_of(plain(text), found)
        if field is not None:
            found[field] = column
    for column, text in texts.items() if rows[1:] else ():  # a group's name says no more
        field = _field_of(plain(rows[-1].header(column)), found)
        if column not in found.values() and text and field is not None:
            found[field] = column
    if "description" not in found and "line" in found and plain(texts[found["line"]]) == "item":
        found["description"] = found.pop("line")
    return found


def _field_of(text: str, found: Mapping[QuoteField, int]) -> QuoteField | None:
    """Return what a header names, among what no column before it holds."""
    if not text:
        return None
    for field, matcher in _MATCHERS.items():
        if field not in found and matcher.fullmatch(text):
            return field
    return None
