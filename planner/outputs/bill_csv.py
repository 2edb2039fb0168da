"""The bill as CSV: RFC 4180, one record per physical line, the same columns for every plan.

The file begins with a byte order mark. Excel takes a CSV without one for the code page of the
machine and garbles every letter beyond ASCII when it is opened by a double click. Programs read it
as ``utf-8-sig``; header names are not quoted, so one that does not know the mark still finds all
columns but the first.

Text is always quoted and numbers never are, so ``0012``, ``1E5`` and ``2026-11`` are text to every
program that reads CSV by the book. Excel guesses all the same when it opens the file by a double
click: import it with the columns as text, or take the JSON.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from planner.outputs.bill import COLUMNS, CUSTOMER_COLUMNS
from planner.outputs.text_safety import clean
from planner.schema.bill import Bill

_BYTE_ORDER_MARK = "\ufeff"
_SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b]"
"""What starts a formula, in full width and small form too."""

_UNSEEN = "[\\s\"'\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
"""What may stand before it without stopping that."""

_AT_START = re.compile(_UNSEEN + _SIGN)
# Excel splits at semicolons in many countries, and then takes a cell to start there.
_AFTER_SEMICOLON = re.compile(f"(;{_UNSEEN})({_SIGN})")


def to_bytes(bill: Bill) -> bytes:
    """Return the bill as CSV in UTF-8 with CRLF line ends; what is not known is an empty cell."""
    columns = COLUMNS if bill.audience == "internal" else CUSTOMER_COLUMNS
    records = [",".join(columns)]
    records += [",".join(_cell(getattr(line, name)) for name in columns) for line in bill.lines]
    return (_BYTE_ORDER_MARK + "".join(f"{record}\r\n" for record in records)).encode()


def _cell(value: object) -> str:
    """Return a cell: numbers in full and without separators, text quoted."""
    if isinstance(value, tuple):
        value = "; ".join(value) or None
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else ""
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"' if value else ""
    return "" if value is None else str(value)


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, in one line.

    An apostrophe goes before ``=``, ``+``, ``-`` and ``@`` where a cell may start with them.
    Whoever reads such a cell by program finds the text as it was in the JSON.
    """
    line = _AFTER_SEMICOLON.sub(r"\1'\2", clean(text, limit=None).replace("\n", " "))
    return clean(f"'{line}" if _AT_START.match(line) else line)
