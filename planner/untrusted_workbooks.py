"""Workbooks from elsewhere: opened with care, whatever they hold.

A workbook is a zip file that can unpack to anything; what it holds is counted before a reader that
keeps all of it in memory is let at it.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
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
"""What stands in a cell whose formula no program worked out."""

_OLE = b"\xd0\xcf\x11\xe0"
_MOST_FILE_BYTES, _MOST_BYTES = 50_000_000, 150_000_000
"""Of the file, and of what it unpacks to; the largest of planner's own has a hundredth of them."""

_MOST_SHEETS, _MOST_PARTS = 300, 3000
_MOST_ELEMENTS, _MOST_CELLS = 3_000_000, 500_000
_MOST_RANGE = 100_000
"""Cells of a range that the reader takes apart cell by cell."""

_PIECE = 1 << 20
_WIDEST, _LONGEST = 16_384, 1_048_576
_CELL, _SHEET, _TAKEN_APART = "c", "sheet", ("mergeCell", "hyperlink")
_FORMULA, _VALUE = "f", "v"
_TEXTS = ("str", "e", "b")
"""What formulas give that is no number, which may be an empty text."""
_AGAIN = "open it in the spreadsheet program and save it again as .xlsx"


def open_xlsx(path: Path, *, without: str, shown: bool = False) -> Workbook:
    """Return the workbook at a path.

    Args:
        without: what to do where it holds more than can be read.
        shown: the values that its cells last showed, instead of their formulas; ``NO_VALUE`` in
            those with a formula that no program worked out.

    Raises:
        InputError: it cannot be read, is protected by a password, or is too large.
    """
    name = str(path)
    seen = _check_container(path, name, without)
    book = _load(path, name, shown)
    if shown and seen.formulas and not seen.worked_out:
        for sheet in _load(path, name, shown=False).worksheets:
            for place, cell in sheet._cells.items():
                if cell.data_type == "f":
                    book[sheet.title].cell(*place).value = NO_VALUE
    return book


def load_bytes(stream: Any, *, shown: bool = False) -> Workbook:
    """Return a workbook with its formulas; the reader's remarks about its own limits are dropped.

    Args:
        stream: an open file or its path.
        shown: the values that its cells last showed, instead of their formulas.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(stream, data_only=shown)


def _load(path: Path, name: str, shown: bool) -> Workbook:
    with reading(name):
        return load_bytes(path, shown=shown)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn any error of reading a workbook into one line: other tools' files fail in any way.

    Args:
        name: the file that is read.

    Raises:
        InputError: it cannot be read.
    """
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:
        detail = str(error).split("\n")[0][:80]
        message = f"the file is damaged, or no workbook ({type(error).__name__}: {detail})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None


def _check_container(path: Path, name: str, without: str) -> _Seen:
    """Return what was counted in the file; raise where it is no whole, open xlsx file."""
    head = contents(path, most_bytes=_MOST_FILE_BYTES, what="workbook")[:4]
    if head == _OLE:
        message = "the workbook is protected with a password, or an old .xls file"
        fix = "save it without the password, as .xlsx"
        raise InputError(Finding("workbook", message, name, fix=fix))
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: info.file_size for info in archive.infolist()}
            seen = _Seen()
            excess = _excess(archive, parts, seen)
            broken = None if excess else archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
        message = "not a whole .xlsx file: it is cut off, or of another kind"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None
    except expat.ExpatError as error:
        message = f"the file is damaged, or no workbook ({error})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None
    if excess:
        raise InputError(Finding("too-large", f"{excess}; nothing is read", name, fix=without))
    if broken is not None:
        message = f"the file is damaged (in {broken})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    if "xl/workbook.xml" not in parts:
        message = "a zip file, but no .xlsx workbook"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    return seen


def _excess(archive: zipfile.ZipFile, parts: Mapping[str, int], seen: _Seen) -> str | None:
    """Return what there is too much of for a reader that keeps all of it in memory, or None."""
    if sum(parts.values()) > _MOST_BYTES:
        return f"the workbook unpacks to more than {in_words(_MOST_BYTES)}"
    if len(parts) > _MOST_PARTS:
        return f"the workbook has {len(parts):,} parts, more than {_MOST_PARTS:,}"
    for part in parts:
        if part.endswith((".xml", ".rels", ".vml")) and (excess := seen.excess(archive, part)):
            return excess
    return None


class _Seen:
    """Counts what the parts of a workbook hold, without keeping any of it.

    ``formulas`` are cells with one; ``worked_out`` those of them that hold its value, too, which
    is not 0: libraries store 0 with every formula, and no program has worked that out.
    """

    def __init__(self) -> None:
        self._elements = self._cells = self._sheets = self._ranges = 0
        self.formulas = self.worked_out = 0
        self._formula = self._value = False

    def excess(self, archive: zipfile.ZipFile, part: str) -> str | None:
        """Return what there is too much of with this part, None where it can be borne."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._element
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = _refuse_entities
        with archive.open(part) as stream:
            while piece := stream.read(_PIECE):
                parser.Parse(piece)
                for count, most, what in (
                    (self._cells, _MOST_CELLS, "cells"),
                    (self._sheets, _MOST_SHEETS, "sheets"),
                    (self._elements, _MOST_ELEMENTS, "elements"),
                    (self._ranges, _MOST_RANGE, "cells that are merged or linked"),
                ):
                    if count > most:
                        return f"the workbook has more than {most:,} {what}"
        return None

    def _element(self, name: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        name = name.rpartition(" ")[2]
        self._cells += name == _CELL
        self.formulas += name == _FORMULA
        self._value = name == _VALUE and self._formula
        self._formula = name == _FORMULA
        self.worked_out += name == _CELL and attributes.get("t") in _TEXTS
        self._sheets += name == _SHEET
        if name in _TAKEN_APART:
            self._ranges += _size(attributes.get("ref", ""))

    def _text(self, text: str) -> None:
        self.worked_out += self._value and text.strip() not in ("", "0")
        self._value = False


def _refuse_entities(*_: object) -> None:
    raise expat.ExpatError("it declares entities")


def _size(reference: str) -> int:
    """Return how many cells a range has; 0 for what is none."""
    try:
        left, top, right, bottom = range_boundaries(reference)
    except (ValueError, TypeError):
        return 0
    return ((right or _WIDEST) - (left or 1) + 1) * ((bottom or _LONGEST) - (top or 1) + 1)
