"""Open a workbook that somebody sends back; one clear line for whatever is not ours to read."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

import openpyxl
from openpyxl.utils import range_boundaries
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.foreign_files import contents, in_words
from planner.outputs.workbook.data import SHEET, Packed, UnreadableError, unpack

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
_AGAIN = "open it in the spreadsheet program and save it again as .xlsx"

STUDIES = frozenset(
    {
        "Why", "No plan", "Rules", "Near-optimal", "Comparison", "Sweep", "Frontier storage",
        "Frontier cost", "Frontier power", "Tornado", "Uncertainty",
    }
)  # fmt: skip
"""The first sheets of study workbooks."""

_MOST_ROWS, _MOST_COLUMNS = 60_000, 300
"""Further out nothing of the planner's stands; a stray format there must not be waited for."""


def filled(sheet: Worksheet) -> list[Any]:
    """Return the cells that hold something; empty ones with a format may lie anywhere.

    openpyxl offers the whole rectangle only, which one stray cell can make of 17 thousand million.
    """
    return [cell for cell in sheet._cells.values() if cell.value not in (None, "")]


class Shown:
    """The values that a file last showed, read sheet by sheet as they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sheets: dict[str, dict[str, Any]] = {}

    def value(self, sheet: str, cell: str) -> Any:
        """Return what a cell showed, None where it held no value."""
        if sheet not in self._sheets:
            try:
                self._sheets[sheet] = self._read(sheet)
            except (ValueError, KeyError, IndexError):  # values of other tools that are none
                self._sheets[sheet] = {}
        return self._sheets[sheet].get(cell)

    def _read(self, sheet: str) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(self._path, data_only=True, read_only=True)
            try:
                return {
                    cell.coordinate: cell.value
                    for row in book[sheet].iter_rows(max_row=_MOST_ROWS, max_col=_MOST_COLUMNS)
                    for cell in row
                    if cell.value is not None
                }
            finally:
                book.close()


@dataclass(frozen=True)
class Opened:
    """A workbook as written, the values it last showed, and what it carries."""

    name: str
    cells: Workbook
    shown: Shown
    packed: Packed


def open_workbook(path: Path) -> Opened:
    """Return the workbook at ``path``.

    Raises:
        InputError: it cannot be read, is protected by a password, or planner did not write it.
    """
    name = str(path)
    _check_container(path, name)
    cells = _load(path, name)
    if SHEET not in cells.sheetnames:
        raise InputError(_not_ours(name, cells))
    column = sorted((cell.row, cell.value) for cell in filled(cells[SHEET]) if cell.column == 1)
    chunks = [text for _, text in column if isinstance(text, str) and " " not in text]
    try:
        packed = unpack(chunks)
    except UnreadableError as error:
        message = f"what planner packed into the sheet cannot be read: {error}"
        fix = "audit a copy in which that sheet is as planner wrote it"
        raise InputError(Finding("workbook", message, name, path=SHEET, fix=fix)) from None
    return Opened(name, cells, Shown(path), packed)


def load_bytes(stream: Any) -> Workbook:
    """Return a workbook with its formulas; the reader's remarks about its own limits are dropped.

    Args:
        stream: an open file or its path.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(stream)


def _load(path: Path, name: str) -> Workbook:
    try:
        return load_bytes(path)
    except MemoryError:
        raise
    except Exception as error:  # any other tool's file may break the reader in any way
        detail = str(error).split("\n")[0][:80]
        message = f"the file is damaged, or no workbook ({type(error).__name__}: {detail})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None


def _check_container(path: Path, name: str) -> None:
    """Raise where the file is no whole, open xlsx file."""
    head = contents(path, most_bytes=_MOST_FILE_BYTES, what="workbook")[:4]
    if head == _OLE:
        message = "the workbook is protected with a password, or an old .xls file"
        fix = "save it without the password, as .xlsx"
        raise InputError(Finding("workbook", message, name, fix=fix))
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: info.file_size for info in archive.infolist()}
            excess = _excess(archive, parts)
            broken = None if excess else archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
        message = "not a whole .xlsx file: it is cut off, or of another kind"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None
    except expat.ExpatError as error:
        message = f"the file is damaged, or no workbook ({error})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None
    if excess:
        fix = "audit a copy without what was added to it"
        raise InputError(Finding("too-large", f"{excess}; nothing is read", name, fix=fix))
    if broken is not None:
        message = f"the file is damaged (in {broken})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    if "xl/workbook.xml" not in parts:
        message = "a zip file, but no .xlsx workbook"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))


def _excess(archive: zipfile.ZipFile, parts: Mapping[str, int]) -> str | None:
    """Return what there is too much of for a reader that keeps all of it in memory, or None."""
    if sum(parts.values()) > _MOST_BYTES:
        return f"the workbook unpacks to more than {in_words(_MOST_BYTES)}"
    if len(parts) > _MOST_PARTS:
        return f"the workbook has {len(parts):,} parts, more than {_MOST_PARTS:,}"
    seen = _Seen()
    for part in parts:
        if part.endswith((".xml", ".rels", ".vml")) and (excess := seen.excess(archive, part)):
            return excess
    return None


class _Seen:
    """Counts what the parts of a workbook hold, without keeping any of it."""

    def __init__(self) -> None:
        self._elements = self._cells = self._sheets = self._ranges = 0

    def excess(self, archive: zipfile.ZipFile, part: str) -> str | None:
        """Return what there is too much of with this part, None where it can be borne."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._element
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
        self._sheets += name == _SHEET
        if name in _TAKEN_APART:
            self._ranges += _size(attributes.get("ref", ""))


def _refuse_entities(*_: object) -> None:
    raise expat.ExpatError("it declares entities")


def _size(reference: str) -> int:
    """Return how many cells a range has; 0 for what is none."""
    try:
        left, top, right, bottom = range_boundaries(reference)
    except (ValueError, TypeError):
        return 0
    return ((right or _WIDEST) - (left or 1) + 1) * ((bottom or _LONGEST) - (top or 1) + 1)


def _not_ours(name: str, cells: Workbook) -> Finding:
    if {"Cover", "BOM", "Checkpoint"} <= set(cells.sheetnames):
        message = (
            f"the workbook has no sheet '{SHEET}': it is a customer's edition, or it was removed"
        )
        return Finding("workbook", message, name, fix="audit the internal edition")
    if STUDIES & set(cells.sheetnames):
        message = "the workbook is the record of a study, with nothing in it to edit"
        fix = "audit takes the PROBLEM.xlsx that planner solve writes"
        return Finding("workbook", message, name, fix=fix)
    message = "planner did not write this workbook"
    fix = "audit takes the PROBLEM.xlsx that planner solve writes"
    return Finding("workbook", message, name, fix=fix)
