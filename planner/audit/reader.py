"""Open a workbook that somebody sends back; one clear line for whatever is not ours to read."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.outputs.workbook.data import SHEET, Packed, UnreadableError, unpack

_OLE = b"\xd0\xcf\x11\xe0"
_MOST_BYTES = 2_000_000_000
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
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except FileNotFoundError:
        raise InputError(Finding("not-found", "there is no such file", name)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read: {reason.lower()}"
        raise InputError(Finding("unreadable", message, name)) from None
    if head == _OLE:
        message = "the workbook is protected with a password, or an old .xls file"
        fix = "save it without the password, as .xlsx"
        raise InputError(Finding("workbook", message, name, fix=fix))
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: info.file_size for info in archive.infolist()}
            broken = None if sum(parts.values()) > _MOST_BYTES else archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
        message = "not a whole .xlsx file: it is cut off, or of another kind"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None
    if sum(parts.values()) > _MOST_BYTES:
        raise InputError(Finding("workbook", "unpacks to more than 2 GB; nothing is read", name))
    if broken is not None:
        message = f"the file is damaged (in {broken})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    if "xl/workbook.xml" not in parts:
        message = "a zip file, but no .xlsx workbook"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))


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
