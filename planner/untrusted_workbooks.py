"""Workbooks from elsewhere: opened with care, whatever they hold.

A workbook is a zip file that can unpack to anything; its parts are counted before a reader keeps
all of them in memory.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers import expat

import openpyxl
from openpyxl.utils import range_boundaries
from openpyxl.workbook import Workbook

from planner.errors import Finding, InputError, PlannerError
from planner.untrusted_files import contents, in_words

NO_VALUE = "a formula without a value"
"""Value of a cell whose formula no program computed."""

_OLE = b"\xd0\xcf\x11\xe0"
_MOST_FILE_BYTES, _MOST_BYTES = 50_000_000, 150_000_000
"""Limits of the file and of its unpacked size; planner's own have a hundredth of them."""
_MOST_SHEETS, _MOST_PARTS = 300, 3000
_MOST_ELEMENTS, _MOST_CELLS = 3_000_000, 500_000
_MOST_RANGE = 100_000
"""Cells of ranges that the reader takes apart cell by cell."""
_PIECE = 1 << 20
_WIDEST, _LONGEST = 16_384, 1_048_576
_AGAIN = "open it in the spreadsheet program and save it again as .xlsx"


def open_xlsx(path: Path, *, without: str, shown: bool = False) -> Workbook:
    """The workbook at a path.

    Args:
        path: the file.
        without: the fix where it holds more than can be read.
        shown: the last shown values of cells instead of their formulas; ``NO_VALUE`` in those with
            a formula that no program computed.

    Raises:
        InputError: it cannot be read, is protected by a password, or is too large.
    """
    name = str(path)
    if contents(path, most_bytes=_MOST_FILE_BYTES, what="workbook")[:4] == _OLE:
        message = "the workbook is protected with a password, or an old .xls file"
        fix = "save it without the password, as .xlsx"
        raise InputError(Finding("workbook", message, name, fix=fix))
    with reading(name):
        counts = _count_parts(path, name, without)
        book = load_bytes(path, shown=shown)
        if shown and counts.formulas and not counts.computed:
            for sheet in load_bytes(path).worksheets:
                for place, cell in sheet._cells.items():
                    if cell.data_type == "f":
                        book[sheet.title].cell(*place).value = NO_VALUE
    return book


def load_bytes(stream: Any, *, shown: bool = False) -> Workbook:
    """A workbook with its formulas; the reader's remarks about its own limits are dropped.

    Args:
        stream: an open file or its path.
        shown: the last shown values of cells instead of their formulas.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(stream, data_only=shown)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn any error of reading a workbook into one line: other tools' files fail in any way.

    Raises:
        InputError: the file ``name`` cannot be read.
    """
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:
        detail = str(error).split("\n")[0][:80]
        message = f"the file is damaged, or no .xlsx workbook ({type(error).__name__}: {detail})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None


def _count_parts(path: Path, name: str, without: str) -> _Counts:
    """Counts of a whole, open xlsx file; refuse more than fits in memory."""
    counts, excess = _Counts(), ""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: info.file_size for info in archive.infolist()}
        if sum(parts.values()) > _MOST_BYTES:
            excess = f"the workbook unpacks to more than {in_words(_MOST_BYTES)}"
        elif len(parts) > _MOST_PARTS:
            excess = f"the workbook has {len(parts):,} parts, more than {_MOST_PARTS:,}"
        for part in parts if not excess else ():
            if part.endswith((".xml", ".rels", ".vml")):
                excess = excess or counts.add(archive, part)
        broken = None if excess else archive.testzip()
    if excess:
        raise InputError(Finding("too-large", f"{excess}; nothing is read", name, fix=without))
    if broken is not None or "xl/workbook.xml" not in parts:
        message = "a zip file, but no .xlsx workbook"
        message = message if broken is None else f"the file is damaged (in {broken})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    return counts


class _Counts:
    """Counts of the parts of a workbook, without keeping any of it.

    ``computed``: formulas with a value other than 0, which libraries store with every formula.
    """

    def __init__(self) -> None:
        self._elements = self._cells = self._sheets = self._ranges = 0
        self.formulas = self.computed = 0
        self._formula = self._value = False

    def add(self, archive: zipfile.ZipFile, part: str) -> str:
        """Count a part; return the excess, empty where it fits in memory."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._element
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = _refuse_entities
        with archive.open(part) as stream:
            while piece := stream.read(_PIECE):
                parser.Parse(piece)
                for count, most, name in (
                    (self._cells, _MOST_CELLS, "cells"),
                    (self._sheets, _MOST_SHEETS, "sheets"),
                    (self._elements, _MOST_ELEMENTS, "elements"),
                    (self._ranges, _MOST_RANGE, "cells that are merged or linked"),
                ):
                    if count > most:
                        return f"the workbook has more than {most:,} {name}"
        return ""

    def _element(self, name: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        name = name.rpartition(" ")[2]
        self._cells += name == "c"
        self.formulas += name == "f"
        self._value = name == "v" and self._formula
        self._formula = name == "f"
        self.computed += name == "c" and attributes.get("t") in ("str", "e", "b")
        self._sheets += name == "sheet"
        if name in ("mergeCell", "hyperlink"):
            self._ranges += _size(attributes.get("ref", ""))

    def _text(self, text: str) -> None:
        self.computed += self._value and text.strip() not in ("", "0")
        self._value = False


def _refuse_entities(*_: object) -> None:
    raise expat.ExpatError("it declares entities")


def _size(reference: str) -> int:
    """Number of cells of a range; 0 of anything else."""
    try:
        left, top, right, bottom = range_boundaries(reference)
    except (ValueError, TypeError):
        return 0
    return ((right or _WIDEST) - (left or 1) + 1) * ((bottom or _LONGEST) - (top or 1) + 1)
