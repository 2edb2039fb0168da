"""A workbook that somebody sends back: opened with care, and compared cell by cell."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError
from planner.foreign_workbooks import open_xlsx
from planner.outputs.workbook import study_sheets
from planner.outputs.workbook.cells import InputCell, Scalar
from planner.outputs.workbook.fingerprint import DATA_SHEET, Packed, UnreadableError, build, unpack
from planner.outputs.workbook.fingerprint import DATA_SHEET as DATA
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.verification import Edit

# Open a workbook that somebody sends back; one clear line for whatever is not ours to read.


STUDIES = frozenset(
    {
        "Why", "No plan", "Rules", "Near-optimal", "Comparison", "Sweep", "Frontier storage",
        "Frontier cost", "Frontier power", "Tornado", "Uncertainty",
    }
)  # fmt: skip
"""The first sheets of study workbooks."""

_MOST_ROWS, _MOST_COLUMNS = 60_000, 300
"""Further out nothing of the planner's stands; a stray format there must not be waited for."""


def filled_cells(sheet: Worksheet) -> list[Any]:
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
    cells = open_xlsx(path, without="audit a copy without what was added to it")
    if DATA_SHEET not in cells.sheetnames:
        raise InputError(_not_ours(name, cells))
    data = filled_cells(cells[DATA_SHEET])
    column = sorted((cell.row, cell.value) for cell in data if cell.column == 1)
    chunks = [text for _, text in column if isinstance(text, str) and " " not in text]
    try:
        packed = unpack(chunks)
    except UnreadableError as error:
        message = f"what planner packed into the sheet cannot be read: {error}"
        fix = "audit a copy in which that sheet is as planner wrote it"
        raise InputError(Finding("workbook", message, name, path=DATA_SHEET, fix=fix)) from None
    return Opened(name, cells, Shown(path), packed)


def _not_ours(name: str, cells: Workbook) -> Finding:
    if {"Sensitivity", "Assumptions", "Left out"} <= set(cells.sheetnames):
        message = "the workbook is the appendix of a plan, which follows no edit of the plan"
        return Finding("workbook", message, name, fix="audit the plan's own workbook, PROBLEM.xlsx")
    if {"About", "BOM", "Checkpoint"} <= set(cells.sheetnames):
        message = (
            f"the workbook has no sheet '{DATA_SHEET}': it is an edition for the outside, or it "
            "was removed"
        )
        return Finding("workbook", message, name, fix="audit the internal edition")
    if STUDIES & set(cells.sheetnames):
        message = "the workbook is the record of a study, with nothing in it to edit"
        fix = "audit takes the PROBLEM.xlsx that planner solve writes"
        return Finding("workbook", message, name, fix=fix)
    message = "planner did not write this workbook"
    fix = "audit takes the PROBLEM.xlsx that planner solve writes"
    return Finding("workbook", message, name, fix=fix)


# Whether two formulas are the same, whatever spelling a spreadsheet program gave them.


_QUOTED = re.compile(r"^'([A-Za-z_][A-Za-z0-9_.]*)'!")


def same_formula(one: str, other: str) -> bool:
    """Return whether two formulas are the same token by token.

    Spreadsheet programs change spaces, the spelling of numbers and functions, and quotes around the
    names of sheets when they save a file.
    """
    try:
        return one == other or canonical_tokens(one) == canonical_tokens(other)
    except Exception:  # no formula, such as =cmd|'/C calc'!A0: the tokenizer fails in many ways
        return False


def canonical_tokens(formula: str) -> tuple[str, ...]:
    """Return the tokens of a formula in one spelling."""
    text = formula if formula.startswith("=") else f"={formula}"
    tokens = Tokenizer(text).items
    return tuple(_spelled(token) for token in tokens if token.type != Token.WSPACE)


def _spelled(token: Token) -> str:
    value = str(token.value)
    if token.type == Token.OPERAND and token.subtype == Token.NUMBER:
        return repr(float(value))
    if token.type == Token.OPERAND and token.subtype == Token.TEXT:
        return value
    if token.type == Token.OPERAND:
        return _QUOTED.sub(r"\1!", value).removeprefix("$").lower()
    return value.upper().removeprefix("_XLFN.")


# What differs between a workbook as planner writes it and as it came back, cell by cell.


_MOST_FINDINGS = 8
_HEADS = 12
"""The header of the bill stands above this row."""
_FURTHEST, _MORE_ROWS = 1_100_000, 1_000
_CLOSE = 1e-12
_ONLY_BLUE = "undo it; only the blue cells may be edited"
_SOLVE_AGAIN = "put the item into the problem file and solve again"

Place = tuple[str, str]


def edits(
    opened: Opened, written: Workbook, inputs: tuple[InputCell, ...]
) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """Return the edits of the inputs, and the sheets that were added.

    Args:
        written: the same workbook as planner writes it, with formulas.
        inputs: the cells that may be edited.

    Raises:
        InputError: anything else was changed, or an input holds what it cannot hold.
    """
    by_place = {(cell.sheet, cell.cell): cell for cell in inputs}
    found = list(_swapped(opened, written)) or list(_structure(opened, written, by_place))
    if found:
        raise _refusal(opened, found)
    changed: list[Edit] = []
    for sheet in written.worksheets:
        if sheet.title not in (DATA, *study_sheets(written.sheetnames)):
            _compare_sheet(opened, sheet, by_place, changed, found)
    if found:
        raise _refusal(opened, found)
    added = tuple(name for name in opened.cells.sheetnames if name not in written.sheetnames)
    return tuple(changed), added


def _refusal(opened: Opened, found: list[Finding]) -> InputError:
    """Return the error of what was found, which in another build's workbook may be no edit."""
    findings = _clipped(opened.name, found)
    if opened.packed.build != build():
        message = (
            f"written by another build of {opened.packed.tool}: what follows may be its own texts "
            "and formulas, which nobody edited"
        )
        fix = "solve its problem again and type its edits into the new workbook"
        findings.insert(0, Finding("version", message, opened.name, fix=fix))
    return InputError(findings)


def _clipped(name: str, found: list[Finding]) -> list[Finding]:
    """Return the first findings; one slip can touch thousands of cells."""
    if len(found) <= _MOST_FINDINGS:
        return found
    more = f"and {len(found) - _MOST_FINDINGS:,} more cells that were changed"
    return [*found[:_MOST_FINDINGS], Finding("edited-cell", more, name, fix=_ONLY_BLUE)]


def _swapped(opened: Opened, written: Workbook) -> Iterator[Finding]:
    """Yield that the packed plan is of another workbook: title and input hash are others."""
    cover = opened.cells["About"] if "About" in opened.cells.sheetnames else None
    hashes = {cell.value for cell in filled_cells(written["About"]) if _is_hash(cell.value)}
    if cover is None or not hashes:
        return
    there = {cell.value for cell in filled_cells(cover) if _is_hash(cell.value)}
    if there and not there & hashes and cover["A1"].value != written["About"]["A1"].value:
        message = "the sheet belongs to another workbook"
        fix = "audit a copy in which that sheet is as planner wrote it"
        yield Finding("workbook", message, opened.name, path=DATA, fix=fix)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _structure(
    opened: Opened, written: Workbook, by_place: Mapping[Place, InputCell]
) -> Iterator[Finding]:
    """Yield sheets that are gone, and rows that were added or deleted."""
    for sheet in written.worksheets:
        if sheet.title in study_sheets(written.sheetnames):
            continue
        if sheet.title not in opened.cells.sheetnames:
            message, fix = "the sheet is gone", "undo it, or audit a copy that has it"
            yield Finding("sheet", message, opened.name, path=sheet.title, fix=fix)
        elif sheet.title != DATA:
            yield from _rows(opened, sheet, by_place)


def _rows(
    opened: Opened, sheet: Worksheet, by_place: Mapping[Place, InputCell]
) -> Iterator[Finding]:
    """Yield the rows that only one of the two has, told by their fixed texts."""
    other = opened.cells[sheet.title]
    before = _texts(sheet, by_place, _FURTHEST)
    after = _texts(other, by_place, len(before) + _MORE_ROWS)
    if before == after:
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, low, high, new_low, new_high in matcher.get_opcodes():
        if tag == "equal" or high - low == new_high - new_low:
            continue
        for row in range(low, high) if tag != "insert" else ():
            message = f"row {row + 1} ({_named(before[row])}) is gone"
            in_bill = "; a quantity of 0 takes a line out of the bill"
            fix = "undo it" + (in_bill if sheet.title == "BOM" else "")
            yield Finding("row", message, opened.name, path=sheet.title, fix=fix)
        for row in range(new_low, new_high) if tag != "delete" else ():
            message = f"row {row + 1} ({_named(after[row])}) was added"
            fix = _SOLVE_AGAIN if sheet.title == "BOM" else "undo it"
            yield Finding("row", message, opened.name, path=sheet.title, fix=fix)


def _texts(
    sheet: Worksheet, by_place: Mapping[Place, InputCell], most: int
) -> list[tuple[str, ...]]:
    """Return the fixed texts of every row down to the last that has some, or to row ``most``."""
    found: dict[int, list[tuple[int, str]]] = {}
    for cell in filled_cells(sheet):
        if cell.data_type == "s" and (sheet.title, cell.coordinate) not in by_place:
            found.setdefault(cell.row, []).append((cell.column, str(cell.value)))
    last = max((row for row in found if row <= most), default=0)
    return [tuple(text for _, text in sorted(found.get(row, ()))) for row in range(1, last + 1)]


def _named(texts: tuple[str, ...]) -> str:
    """Return a row by its texts, as far as they tell it from others."""
    return " ".join(text for text in texts if text != NO_PART_NUMBER)[:60] or "without text"


def _compare_sheet(
    opened: Opened,
    sheet: Worksheet,
    by_place: Mapping[Place, InputCell],
    changed: list[Edit],
    found: list[Finding],
) -> None:
    other = opened.cells[sheet.title]
    places = dict.fromkeys(_coordinates(sheet) | _coordinates(other))
    for coordinate in sorted(places, key=_in_order):
        before, after = sheet[coordinate], other[coordinate]
        entry = by_place.get((sheet.title, coordinate))
        if entry is not None:
            try:
                changed += _edit(entry, before, after, opened.shown)
            except ValueError as error:
                place = f"{sheet.title}!{coordinate}"
                found.append(_wrong(opened, place, entry, str(error)))
            continue
        finding = _fixed(sheet.title, before, after)
        if finding is not None:
            message, fix = finding
            title = _title(sheet, before) if sheet.title == "BOM" else ""
            message = f"unknown {title}: {message}" if title else message
            code = "formula" if before.data_type == "f" else "edited-cell"
            place = f"{sheet.title}!{coordinate}"
            found.append(Finding(code, message, opened.name, path=place, fix=fix))


def _title(sheet: Worksheet, cell: Any) -> str:
    """Return what a cell of the bill names a product by, empty for other cells."""
    heads = (str(sheet.cell(row, cell.column).value).lower() for row in range(1, _HEADS))
    return next((head for head in heads if head in ("part number", "catalog id")), "")


def _coordinates(sheet: Worksheet) -> set[str]:
    return {cell.coordinate for cell in filled_cells(sheet)}


def _in_order(coordinate: str) -> tuple[int, int, str]:
    letters = coordinate.rstrip("0123456789")
    return int(coordinate[len(letters) :]), len(letters), letters


def _wrong(opened: Opened, place: str, entry: InputCell, what: str) -> Finding:
    name = entry.label or entry.key
    return Finding("input-cell", f"{name}: {what}", opened.name, path=place,
                   fix=f"write {entry.range.expected()}")  # fmt: skip


def _edit(entry: InputCell, written: Any, cell: Any, shown: Shown) -> Iterator[Edit]:
    """Yield the edit of an input; raise ValueError where it holds what it cannot hold.

    One that follows the cluster is edited where something is typed over its formula.
    """
    value, follows = cell.value, written.data_type == "f"
    if follows and cell.data_type == "f" and same_formula(str(written.value), str(value)):
        return
    if cell.data_type == "f":
        computed = shown.value(entry.sheet, entry.cell)
        if computed in (None, ""):
            raise ValueError(f"holds the formula {_text(value)[:40]}, which was never computed")
        value = computed
    if entry.kind == "local":
        return
    after = _scalar(value)
    if not follows and _alike(entry.value, after):
        return
    if after is None and not entry.range.blank:
        raise ValueError("is blank")
    if not entry.range.allows(after):
        raise ValueError(f"holds {_quoted(after)}")
    yield Edit(
        sheet=entry.sheet,
        cell=entry.cell,
        kind=entry.kind,
        key=entry.key,
        label=entry.label,
        unit=entry.unit,
        before=entry.value,
        after=after,
    )


def _scalar(value: Any) -> Scalar:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"holds {value}, which is no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("holds no finite number")
    return value.strip() or None if isinstance(value, str) else float(value)


def _quoted(value: Scalar) -> str:
    return f"the text '{value[:40]}'" if isinstance(value, str) else f"{value:,.12g}"


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=0.0)
    return (one or None) == (other or None) if 0 not in (one, other) else one == other


def _fixed(sheet: str, before: Any, after: Any) -> tuple[str, str] | None:
    """Return what is wrong with a cell that nobody may change, and what to do; None for nothing."""
    if before.data_type == "f":
        if after.data_type == "f" and same_formula(str(before.value), str(after.value)):
            return None
        now = _now(after.value)
        return f"held the formula {_short(before.value)}, now {now}", "put the formula back"
    if after.data_type != "f" and _alike(_plain(before.value), _plain(after.value)):
        return None
    if before.value in (None, ""):
        fix = _SOLVE_AGAIN if sheet == "BOM" else "notes are welcome on a sheet of your own"
        return f"was empty, now {_now(after.value)}", fix
    fix = f"{_ONLY_BLUE}; another product: {_SOLVE_AGAIN}" if sheet == "BOM" else _ONLY_BLUE
    return f"held {_short(before.value)}, now {_now(after.value)}", fix


def _plain(value: Any) -> Any:
    """Return a value without what saving changes: line ends, and the time of a date."""
    return value.replace("\r\n", "\n").rstrip() if isinstance(value, str) else value


def _now(value: Any) -> str:
    return "is blank" if value in (None, "") else f"holds {_short(value)}"


def _text(value: Any) -> str:
    """Return a value as the sheet has it; formulas over several cells come as objects."""
    return str(getattr(value, "text", value))


def _short(value: Any) -> str:
    text = _text(value)
    return f"'{text[:40]}…'" if len(text) > 40 else f"'{text}'"
