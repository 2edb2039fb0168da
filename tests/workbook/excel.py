"""An engine that follows Excel where LibreOffice does not: it computes a workbook as Excel would.

Where it does something else than Excel, the reason stands here:

- it writes the negative zero of a rounding as ``-0`` into a text; Excel has no negative zero;
- ``ISFORMULA`` is FALSE of everything; Excel knows, as LibreOffice does.
"""

from __future__ import annotations

import html
import math
import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import formualizer
from openpyxl.utils import coordinate_to_tuple

from tests.workbook.office import with_value

Cells = dict[tuple[str, str], Any]

_CELL = re.compile(
    r'<c r="([A-Z]+\d+)"(?: s="\d+")?(?: t="(\w+)")?><f>(.*?)</f><v>(.*?)</v></c>', re.DOTALL
)
_FORMULA = re.compile(
    r'<c r="([A-Z]+\d+)"( s="\d+")?(?: t="\w+")?><f>(.*?)</f><v>[^<]*</v></c>', re.DOTALL
)
_SHEET = re.compile(r'<sheet name="([^"]*)"')
_NEGATIVE_ZERO = re.compile(r"(?<![\w.])-0(?![\w.])")


def cached(content: bytes) -> Cells:
    """Return what every formula of a workbook shows as it was written."""
    found: Cells = {}
    with zipfile.ZipFile(BytesIO(content)) as archive:
        names = _SHEET.findall(archive.read("xl/workbook.xml").decode())
        for place, name in enumerate(names, start=1):
            text = archive.read(f"xl/worksheets/sheet{place}.xml").decode()
            assert text.count("<f>") == len(_CELL.findall(text))
            for address, kind, _, value in _CELL.findall(text):
                is_text = kind == "str" or not value
                found[html.unescape(name), address] = (
                    html.unescape(value) if is_text else float(value)
                )
    return found


class Excel:
    """A workbook in the engine, to be edited and computed."""

    def __init__(self, content: bytes) -> None:
        self._book = formualizer.Workbook.from_bytes(content)
        self._book.set_temporal_egress("serial")
        self._book.evaluate_all()

    def value(self, sheet: str, address: str) -> Any:
        """Return what a cell shows; an error as its name."""
        shown = self._book.get_value(sheet, *coordinate_to_tuple(address))
        if isinstance(shown, dict):
            return f"#{shown['kind']}"
        return _NEGATIVE_ZERO.sub("0", shown) if isinstance(shown, str) else shown

    def write(self, sheet: str, address: str, value: float | str | None) -> None:
        """Put a value in the place of what a cell holds, and compute everything again."""
        self._book.set_value(sheet, *coordinate_to_tuple(address), value)
        self._book.evaluate_all()

    def formula(self, sheet: str, address: str, text: str) -> None:
        """Put a formula in the place of what a cell holds, and compute everything again."""
        self._book.set_formula(sheet, *coordinate_to_tuple(address), text)
        self._book.evaluate_all()


def _computed(content: bytes, typed: Cells) -> Cells:
    """Return the values of all formulas of a workbook after values were typed into cells."""
    book = Excel(content)
    for (sheet, address), value in typed.items():
        book.write(sheet, address, value)
    return {place: book.value(*place) for place in cached(content) if place not in typed}


def saved_with(content: bytes, target: Path, typed: Cells) -> Path:
    """Save a copy of a workbook with values typed into cells, and the values that follow."""
    return typed_into(content, target, typed, _computed(content, typed))


def typed_into(content: bytes, target: Path, typed: Cells, shown: Cells | None = None) -> Path:
    """Save a copy with values typed into cells; formulas show what they did, or ``shown``."""
    with zipfile.ZipFile(BytesIO(content)) as read, zipfile.ZipFile(target, "w") as write:
        sheets = {
            f"xl/worksheets/sheet{place}.xml": html.unescape(name)
            for place, name in enumerate(_SHEET.findall(read.read("xl/workbook.xml").decode()), 1)
        }
        for part in read.namelist():
            text = read.read(part)
            if part in sheets:
                text = text if shown is None else _saved(text, sheets[part], shown)
                for (sheet, address), value in typed.items():
                    text = with_value(text, address, value) if sheet == sheets[part] else text
            write.writestr(part, text)
    return target


def _saved(text: bytes, sheet: str, shown: Cells) -> bytes:
    """Return the XML of a sheet whose formulas show other values."""

    def cell(found: re.Match[str]) -> str:
        address, style, formula = found[1], found[2] or "", found[3]
        value = shown.get((sheet, address), "")
        if isinstance(value, bool):
            kind, value = ' t="b"', int(value)
        else:
            kind = ' t="str"' if isinstance(value, str) or value is None else ""
        written = html.escape(value or "") if kind == ' t="str"' else repr(value)
        return f'<c r="{address}"{style}{kind}><f>{formula}</f><v>{written}</v></c>'

    return _FORMULA.sub(cell, text.decode()).encode()


def unlike(content: bytes, shown: Cells | None = None) -> list[tuple[str, str, Any, Any]]:
    """Return the formulas that the engine finds another value for than a file shows.

    Args:
        content: the file.
        shown: what its formulas show, by default the values written into it.
    """
    book = Excel(content)
    return [
        (sheet, address, value, found)
        for (sheet, address), value in (cached(content) if shown is None else shown).items()
        if not same(value, found := book.value(sheet, address))
    ]


def same(one: Any, other: Any) -> bool:
    """Return whether two programs show the same: numbers to 1e-9 of them."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return (one or "") == (other or "") if 0 not in (one, other) else one == other
