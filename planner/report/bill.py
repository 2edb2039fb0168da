"""The bill of materials for other programs: one row per line, with stable columns, as CSV and JSON.

What is not known is null. The CSV (RFC 4180) begins with a byte order mark, without which Excel
garbles letters beyond ASCII. Text is quoted and numbers are not; Excel guesses all the same where a
file is opened by a double click: import it with the columns as text, or take the JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from planner import currency
from planner.figures import STATED
from planner.report.audience import PRICES, Audience, for_audience
from planner.report.restated import listed, restated
from planner.report.scope import CORE_SECTIONS, Entry, blocks
from planner.report.words import clean
from planner.schema.base import Prices
from planner.schema.bill import (
    MONEY_OF_LINES,
    MONEY_OF_TOTALS,
    Bill,
    BillLine,
    BillSums,
    BillTotals,
)
from planner.schema.plan import Line, Plan

COLUMNS = tuple(BillLine.model_fields)
"""The columns of the internal edition, in order."""

_NET = frozenset(
    ("currency", "unit_net", "extended_net", "support_per_year", "subscription_per_year")
)
_LIST = _NET | {"unit_list", "extended_list"}
_SHOWN: Mapping[Prices, frozenset[str]] = {
    "none": frozenset(),
    "net": _NET,
    "list+net": _LIST,
    "discount": _LIST | {"discount"},
    "all": MONEY_OF_LINES,
}
"""Columns of money by the prices that an edition shows."""


def columns_of(prices: Prices) -> tuple[str, ...]:
    """The columns of an edition, in the order of the internal one."""
    hidden = MONEY_OF_LINES - _SHOWN[prices]
    return tuple(name for name in COLUMNS if name not in hidden)


RowT = TypeVar("RowT", BillLine, BillTotals)

_BYTE_ORDER_MARK = "\ufeff"
_SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b]"
"""What starts a formula, in full width and small form too."""

_UNSEEN = "[\\s\"'\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
"""What may stand before it without stopping that."""

_AT_START = re.compile(_UNSEEN + _SIGN)
# Excel splits at semicolons in many countries, and then takes a cell to start there.
_AFTER_SEMICOLON = re.compile(f"(;{_UNSEEN})({_SIGN})")


def _excluded(prices: Prices) -> dict[str, Any]:
    """Fields that the JSON of an edition lacks."""
    lines, totals = MONEY_OF_LINES - _SHOWN[prices], MONEY_OF_TOTALS - _SHOWN[prices]
    excluded: dict[str, Any] = {
        "lines": {"__all__": dict.fromkeys(lines, True)},
        "totals": {
            "sections": {"__all__": dict.fromkeys(totals, True)},
            "grand": dict.fromkeys(totals, True),
        },
    }
    return excluded | ({"currency": True} if prices == "none" else {})


def bill(plan: Plan, audience: Audience = "internal", prices: Prices | None = None) -> Bill:
    """The bill of a plan.

    Args:
        prices: which prices it shows, by default those of the audience.
    """
    code, plan = plan.shown_in.code, restated(for_audience(plan, audience, prices))
    money = (prices or PRICES[audience]) != "none"
    listed = [(block.section, block.entries) for block in blocks(plan)]
    paid_in = code if money else ""
    rows = {section: list(_rows(entries, paid_in)) for section, entries in listed}
    own = {
        section: [row for row in known if row.parent_line is None]
        for section, known in rows.items()
    }
    grand = _totals([row for known in own.values() for row in known])
    racks = None if plan.totals is None else plan.totals.racks
    return Bill(
        problem=_text(plan.problem),
        currency=code if money else None,
        audience=audience,
        lines=tuple(_as_meant(row) for known in rows.values() for row in known),
        totals=BillSums(
            sections={section: _as_meant(_totals(known)) for section, known in own.items()},
            grand=_as_meant(grand.model_copy(update={"racks": racks})),
        ),
    )


def _as_meant(row: RowT) -> RowT:
    """A row with figures of 15 digits: 6.6, not the 6.6000000000000005 of 3 x 2.2."""
    figures = {name: value for name, value in row if isinstance(value, float)}
    return row.model_copy(update={name: float(f"{each:.15g}") for name, each in figures.items()})


def _rows(entries: Sequence[Entry], code: str) -> Iterator[BillLine]:
    for entry in entries:
        line = entry.line
        yield _row(line, entry.label, None, _money(line, code) if code else {})
        currency = {"currency": code} if code else {}
        for index, part in enumerate(entry.parts):
            yield _row(part, entry.part_label(index), entry.label, currency)


_PHYSICAL = ("it_power_kw", *(name for name in STATED if name in BillLine.model_fields))
"""What the files of a bill have of one unit and of a line, and sum up."""


def _row(line: Line, number: str, parent: str | None, money: Mapping[str, object]) -> BillLine:
    price_note = line.price.note if line.price is not None else None
    notes = (*line.notes, *([price_note] if price_note and money else []))
    same = {name: getattr(line, name) for name in COLUMNS if hasattr(line, name)}
    texts = ("site", "sku", "model", "unit")
    known = ("part_number", "description", "lead_time", "role")
    changes = {
        "line": number,
        "parent_line": parent,
        "manufacturer": _text(line.vendor),
        "notes": tuple(text for note in notes if (text := _text(note))),
        "category": line.category or None,
        "lifecycle": line.lifecycle or "available",
        **{name: _text(same[name]) for name in texts},
        **{name: _known(same[name]) for name in known},
    }
    return BillLine.model_validate(
        same | dict.fromkeys(MONEY_OF_LINES & same.keys()) | changes | dict(money)
    )


def _money(line: Line, code: str) -> dict[str, object]:
    """The money of a line; nothing purchased costs nothing, priced or not."""
    bought, price = line.purchased > 0, line.price
    return {
        "currency": code,
        "unit_list": listed(line),
        "discount": None if line.unit_list_usd is None else line.discount,
        "unit_net": line.unit_net_usd if line.is_percentage else _in_cents(line.unit_net_usd),
        "extended_list": _in_cents(line.extended_list_usd) if bought else 0.0,
        "extended_net": _in_cents(line.extended_net_usd) if bought else 0.0,
        "support_per_year": line.support_usd_per_year if bought else 0.0,
        "subscription_per_year": line.subscription_usd_per_year,
        "support_years": line.support_years if line.support_usd_per_year else None,
        "price_source": None if price is None else _known(price.source),
        "price_date": None if price is None else _known(price.date),
        "price_confidence": None if price is None else _known(price.confidence),
        "support_from_years": line.support_from_years if line.support_usd_per_year else None,
        "price_book": None if price is None else _known(price.book),
        "price_valid_until": None if price is None else price.valid_until,
        "unit_list_low": _first(price.low_usd if price else None, line.unit_list_usd),
        "unit_list_high": _first(price.high_usd if price else None, line.unit_list_usd),
        **{f"subscription_per_year_{end}": _yearly_end(line, end) for end in ("low", "high")},
    }


def _in_cents(amount: float | None) -> float | None:
    return None if amount is None else round(amount, currency.currency_of(amount).decimals)


def _first(stated: float | None, otherwise: float | None) -> float | None:
    return otherwise if stated is None else stated


def _yearly_end(line: Line, end: str) -> float | None:
    """The low or high of a line's subscription, less the line's discount."""
    stated = None if line.price is None else getattr(line.price, f"per_year_{end}_usd")
    each = _first(stated, line.unit_subscription_list_usd)
    return None if each is None else round(each * (1.0 - line.discount), 2) * line.purchased


def _totals(rows: Sequence[BillLine]) -> BillTotals:
    """The sums over lines; a companion without racks of its own takes none here."""
    racks = [
        0 if row.racks is None and row.section not in CORE_SECTIONS else row.racks for row in rows
    ]
    return BillTotals(
        extended_list=_sum(row.extended_list for row in rows),
        extended_net=_sum(row.extended_net for row in rows),
        support_per_year=_sum(row.support_per_year for row in rows),
        subscription_per_year=_sum(row.subscription_per_year or 0.0 for row in rows),
        heat_btu_per_h=_sum(row.heat_btu_per_h for row in rows),
        racks=None if None in racks else sum(count for count in racks if count is not None),
        **{name: _sum(getattr(row, name) for row in rows) for name in _PHYSICAL},
    )


def _sum(figures: Iterable[float | None]) -> float | None:
    known = list(figures)
    return None if None in known else math.fsum(figure for figure in known if figure is not None)


def _text(text: str) -> str:
    return clean(text, limit=None)


def _known(text: str | None) -> str | None:
    """A text without what no file can hold, None where nothing is left."""
    return _text(text) or None if text is not None else None


def csv_bytes(bill: Bill, prices: Prices | None = None) -> bytes:
    """The bill as CSV in UTF-8 with CRLF line ends; what is not known is an empty cell."""
    columns = columns_of(prices or PRICES[bill.audience])
    records = [",".join(columns)]
    records += [",".join(_cell(getattr(line, name)) for name in columns) for line in bill.lines]
    return (_BYTE_ORDER_MARK + "".join(f"{record}\r\n" for record in records)).encode()


def _cell(value: object) -> str:
    """A cell: numbers in full and without separators, text quoted."""
    if isinstance(value, tuple):
        value = "; ".join(value) or None
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else ""
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"' if value else ""
    return "" if value is None else str(value)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula, in one line.

    An apostrophe goes before ``=``, ``+``, ``-`` and ``@`` where a cell may start with them.
    Whoever reads such a cell by program finds the text as it was in the JSON.
    """
    line = _AFTER_SEMICOLON.sub(r"\1'\2", clean(text, limit=None).replace("\n", " "))
    return clean(f"'{line}" if _AT_START.match(line) else line)


def json_bytes(bill: Bill, prices: Prices | None = None) -> bytes:
    """The bill as indented UTF-8 JSON with a final newline.

    Texts are as the catalogs have them, without control characters and without what turns text
    round (see `planner.report.words`); outside there are no keys of money but the prices
    asked for.
    """
    shown = prices or PRICES[bill.audience]
    excluded = None if shown == "all" else _excluded(shown)
    return (bill.model_dump_json(indent=2, exclude=excluded) + "\n").encode()
