"""Where the table of a quote begins, and what each of its columns holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openpyxl.utils import get_column_letter

from planner.errors import Finding, InputError
from planner.quotes.grid import Grid, Row, currency_of, size_of
from planner.schema.bill import QuoteField

_HEAD_ROWS = 200
"""A header further down is none."""
_LEAST_FIELDS = 3
AMOUNTS: tuple[QuoteField, ...] = ("unit_list", "unit_net", "amount")
_ABOUT_AMOUNTS = re.compile(
    r"\b(amounts?|prices?|figures|values|betr[äa]ge|preise|angaben|montants|prix)\b.*\b(in|en)\b|"
    r"^\(?(in|en) ",
    re.I,
)
"""A note over a table that says in what its amounts are."""

_NAMES: dict[QuoteField, str] = {
    "line": r"line|line (no|number|item)|item (no|number|#)|no|nr|pos|position|#|ln|seq|item",
    "part": (
        r"(mfg |mfr |vendor |supplier |manufacturer |oem )?"
        r"(part|product|item|article|material|order) ?(number|no|nr|code|id|#|num)|"
        r"p ?/ ?n|pn|sku|mpn|model( number| no)?|product|artikel( ?(nummer|nr))?|"
        r"art ?(nummer|nr)|"
        r"catalog (number|no)|r[ée]f[ée]rence"
    ),
    "description": (
        r"(product |item |line |service )?(description|desc|name|details?)|bezeichnung|"
        r"beschreibung|d[ée]signation|description of goods|scope|position text|components?"
    ),
    "quantity": (
        r"(order(ed)? )?(qty|qt[éy]|quantity|quantities|units|count|menge|anz(ahl)?|stk|stück|"
        r"quantit[ée]|pcs)"
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
        r"price( each| per unit| unit|/unit| per (piece|pc|system|each))?|each|einzelpreis|ep|"
        r"net( each)?|prix unitaire|prix ?/ ?unit[ée]|p ?u( ht)?|cost per unit|unit cost|unit net|"
        r"(stück|einheits)preis|preis ?(/|je|pro) ?(stück|stk|einheit)"
    ),
    "amount": (
        r"(ext|extended|line|total|net|total net|ext net|extended net|subtotal|sum)( net)?"
        r"( price| amount| total| value| cost| sell)?|amount|gesamt(preis|betrag)?|gp|montant|"
        r"total price( net)?|price total|value"
    ),
    "currency": r"currency|curr|ccy|w[äa]hrung|devise",
    "lead_time": (
        r"(est(imated)? )?(lead ?time|delivery( time)?|liefer(zeit|frist)|availability|ships? in|"
        r"eta|d[ée]lai( de livraison)?)( weeks| days)?"
    ),
    "term": r"(service |support |contract )?(term|duration|period|laufzeit)( months| years)?",
    "note": r"notes?|comments?|remarks?|bemerkung",
}
_MATCHERS = {field: re.compile(pattern) for field, pattern in _NAMES.items()}


@dataclass(frozen=True)
class Header:
    """The columns of a table: ``fields`` says which column holds what.

    ``sizes`` says how many of the currency one of a column's amounts is, where that is not 1, and
    ``unread`` names columns of figures that are hidden, and so no part of the offer.
    """

    sheet: str
    row: int
    last_row: int
    fields: dict[QuoteField, int]
    texts: dict[QuoteField, str]
    currency: str | None
    sizes: dict[QuoteField, float]
    columns: frozenset[int]
    unread: dict[str, str]


def plain(text: str) -> str:
    """Return the words of a header, without what stands in brackets and without currencies."""
    text = re.sub(r"\(.*?\)|\[.*?\]|_", " ", text.lower())
    text = re.sub(r"\b(usd|eur|gbp|jpy|cny|krw|inr|chf|us\$)\b|[$€£¥₩₹%]", " ", text)
    return " ".join(re.sub(r"[^\w#/éèäöüß ]+", " ", text).split())


def headers(grid: Grid, mapping: Mapping[QuoteField, str]) -> list[Header]:
    """Return the headers of every table of a file, from top to bottom.

    Args:
        mapping: the headers of columns by what they hold, where somebody says so.

    Raises:
        InputError: there is no table, or none with the columns that are named.
    """
    found: list[Header] = []
    for sheet, rows in grid.sheets.items():
        at = 0
        while at < len(rows):
            header = _header(sheet, rows, at, mapping, grid.hidden.get(sheet, frozenset()))
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
    sheet: str,
    rows: Sequence[Row],
    at: int,
    mapping: Mapping[QuoteField, str],
    hidden: frozenset[int],
) -> Header | None:
    """Return the header that begins at a row, of one row or of two."""
    one = _fields([rows[at]], mapping, hidden)
    two = _fields(rows[at : at + 2], mapping, hidden) if at + 1 < len(rows) else {}
    if any(isinstance(cell.value, float) for cell in rows[at].cells.values()):
        return None
    below = rows[at + 1] if at + 1 < len(rows) else None
    if below is not None and any(isinstance(c.value, float) for c in below.cells.values()):
        two = {}
    if below is not None and len(_fields([below], mapping, hidden)) >= len(two) > len(one):
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
    unread = {
        get_column_letter(column): text
        for column in sorted(hidden)
        if column not in fields.values()
        and (text := _joined(taken, column))
        and _field_of(plain(taken[-1].header(column)), {}) in AMOUNTS
    }
    return Header(
        sheet,
        rows[at].number,
        last.number,
        fields,
        whole,
        currencies.pop() if len(currencies) == 1 else None,
        _sizes(whole, rows[:at]),
        frozenset(column for row in taken for column in (*row.cells, *row.over)),
        unread,
    )


def _sizes(whole: Mapping[QuoteField, str], above: Sequence[Row]) -> dict[QuoteField, float]:
    """Return in how many of its currency each column of amounts is: by its header, or a note."""
    sizes = {field: size_of(whole[field]) for field in AMOUNTS if field in whole}
    if all(size == 1.0 for size in sizes.values()):
        notes = (cell.text for row in above for cell in row.cells.values()
                 if isinstance(cell.value, str) and _ABOUT_AMOUNTS.search(cell.text))  # fmt: skip
        size = max(map(size_of, notes), default=1.0)
        sizes = dict.fromkeys(sizes, size)
    return {field: size for field, size in sizes.items() if size != 1.0}


def _is_table(fields: Mapping[QuoteField, int]) -> bool:
    names_a_product = "description" in fields or "part" in fields
    return names_a_product and any(field in fields for field in ("unit_list", "unit_net", "amount"))


def _joined(rows: Sequence[Row], column: int) -> str:
    parts = [row.header(column) for row in rows]
    return " ".join(dict.fromkeys(part for part in parts if part))


def _fields(
    rows: Sequence[Row], mapping: Mapping[QuoteField, str], hidden: frozenset[int]
) -> dict[QuoteField, int]:
    """Return what each column of a header holds; a column holds one thing, the best that fits.

    Columns that are hidden come last, and their amounts are not the offer's. What is called a cost
    is the price where nothing else is called one.
    """
    there = {column for row in rows for column in (*row.cells, *row.over)}
    columns = [*sorted(there - hidden), *sorted(there & hidden)]
    texts = {column: _joined(rows, column) for column in columns}
    if mapping:
        wanted = {" ".join(text.lower().split()): field for field, text in mapping.items()}
        return {
            wanted[text.lower()]: column for column, text in texts.items() if text.lower() in wanted
        }
    found: dict[QuoteField, int] = {}
    for column, text in texts.items():
        field = _field_of(plain(text), found)
        if field is not None and not (field in AMOUNTS and column in hidden):
            found[field] = column
    for column, text in texts.items() if rows[1:] else ():  # a group's name says no more
        field = _field_of(plain(rows[-1].header(column)), found)
        if column not in found.values() and text and field is not None:
            if not (field in AMOUNTS and column in hidden):
                found[field] = column
    _prefer_price(found, {column: rows[-1].header(column) for column in columns}, hidden)
    called: dict[QuoteField, tuple[str, ...]] = {"part": ("model", "product"), "line": ("item",)}
    for field, names in called.items():  # what else a product may be called by
        if "description" not in found and field in found and plain(texts[found[field]]) in names:
            found["description"] = found.pop(field)
    return found


def _prefer_price(
    found: dict[QuoteField, int], texts: Mapping[int, str], hidden: frozenset[int]
) -> None:
    """Take a unit's price for what it costs where a column is called a cost, another a price."""
    if "unit_net" not in found or "cost" not in texts[found["unit_net"]].lower():
        return
    for column, text in texts.items():
        free = column not in found.values() and column not in hidden
        if free and "cost" not in text.lower() and _MATCHERS["unit_net"].fullmatch(plain(text)):
            found["unit_net"] = column
            return


def _field_of(text: str, found: Mapping[QuoteField, int]) -> QuoteField | None:
    """Return what a header names, among what no column before it holds."""
    if not text:
        return None
    for field, matcher in _MATCHERS.items():
        if field not in found and matcher.fullmatch(text):
            return field
    return None
