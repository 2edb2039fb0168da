"""The sheets ``Fingerprint`` and ``Data``: how a workbook tells edits, and what audits read.

The banner counts the inputs that were edited. What else can change is noticed here: a line that was
deleted or added, a locked figure that was overwritten, a value pasted over a formula. Of each sheet
that states the plan, two copies lie here. In the first every number ``v`` stands as ``p/v``, with
``p`` between 1 and 2 and another one for every cell: the sum of products of sheet and copy is the
sum of all ``p``, moves by ``p`` times the relative change of any cell, and two changes do not make
up for one another. In the second texts stand as they are and are compared one by one.

A sheet of very many rows is not copied cell by cell. Its numbers are summed by column, each row by
a weight of its own, and compared with what that comes to; of its texts the columns that hold any
lie here.

Only functions that work on ranges and operators are used, so that every spreadsheet program agrees;
what it takes for an error (a reference to a deleted row) counts as a difference.

A workbook travels without its problem file and its catalogs. With them inside, whoever gets it back
can tell what was edited, re-compute it and solve it again.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from xlsxwriter.utility import quote_sheetname, xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import GENERAL, INTEGER
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.beside import Live
from planner.schema.plan import Plan

SHEET = "Fingerprint"

_WATCHED: dict[str, int | None] = {
    "Summary": None,
    "BOM": None,
    "Own lines": None,
    "Checkpoint": None,
    "Power & Cooling": None,
    "TCO": None,
    # Slack is a difference of two columns that are watched: near 0 it has few digits of its own.
    "Checks": 3,
}
"""The sheets that state the plan, and the last column of each that is compared, None for all."""

_SAYS = (
    "1: not as solved any more. What stands below is made of the solved plan: not to be changed."
)
_CLOSE = 1e-9
"""Relative to a single cell: far more than programs differ by in their last digits."""
_AS_GOOD_AS_ZERO = 1e-9
_GOLDEN = 0.6180339887498949
_MOST_COPIED = 500
"""Rows of a sheet that are copied cell by cell at most."""
_READ_AT_ONCE = 500
"""Rows of such a sheet that are read together."""
_CLOSE_SUM = 1e-11
"""Relative to what is summed: a cent in a column of a thousand million, and more than programs
differ by in the last digits of sums."""
_A_NUMBER = "-"
"""Stands for a number among the texts, which it never equals; 0 would equal a blank cell."""


@dataclass(frozen=True)
class _Area:
    """The part of a sheet that is compared, from its first row under the title block."""

    book: Book
    name: str
    last_row: int
    last_column: int

    def cells(self) -> Iterator[tuple[int, int, Scalar, bool]]:
        """Yield row, column and value of every cell that holds something, and if by a formula."""
        return self.book.cells(self.name, FIRST_ROW, self.last_row, self.last_column)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last_row - FIRST_ROW + 1


class _Count(NamedTuple):
    """What is counted of an area in the solved plan."""

    filled: int = 0
    numbers: int = 0
    formulas: int = 0
    unlike: int = 0
    total: float = 0.0


def add(book: Book) -> None:
    """Add the sheet; it is written after all that it watches, and left out where no plan is."""
    if book.job is None:
        return
    page = Page(book, SHEET, "Fingerprint of the solved plan")
    page.banner()
    page.text(FIRST_ROW - 2, 0, _SAYS, "subtitle")
    areas = [area for name, last in _WATCHED.items() if (area := _area(book, name, last))]
    page.sheet.set_column(0, 0, 20)
    page.text(FIRST_ROW, 0, "Sheet", "header")
    page.text(FIRST_ROW, 1, "Differs", "header")
    page.sheet.repeat_rows(FIRST_ROW)
    first, last = FIRST_ROW + 1, FIRST_ROW + len(areas)
    top = last + 4
    for row, area in enumerate(areas, start=first):
        page.text(row, 0, area.name)
        if area.rows > _MOST_COPIED:
            page.formula(row, 1, _by_column(page, area, top), INTEGER, plan=0.0)
            # It is made so that it comes to 0, which takes as long to work out as all the rest of a
            # workbook. The tests do it.
            book.take(SHEET, row, 1, 0.0)
            top += area.rows + 1
            continue
        count = _copy(page, area, top)
        page.formula(row, 1, _compared(area, count, top), INTEGER, plan=0.0)
        top += 2 * area.rows + 1
    page.text(last + 1, 0, "Sheets that differ", "total")
    added = f"=SUM({xl_rowcol_to_cell(first, 1)}:{xl_rowcol_to_cell(last, 1)})"
    page.formula(last + 1, 1, added, INTEGER, "total")
    page.define("fingerprint_differs", last + 1, 1)
    page.finish(1, (FIRST_ROW + 1, 0))
    page.sheet.print_area(0, 0, last + 1, 8)


def _area(book: Book, name: str, last_column: int | None) -> _Area | None:
    """Return what is compared of a sheet: all of it above the first input that is its own."""
    sheet = book.workbook.get_worksheet_by_name(name)
    if sheet is None:
        return None
    own = [
        int(cell.cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) - 1
        for cell in book.inputs
        if cell.sheet == name and cell.kind == "local"
    ]
    last_row = min(own, default=sheet.dim_rowmax + 1) - 1
    return _Area(book, name, last_row, sheet.dim_colmax if last_column is None else last_column)


def _copy(page: Page, area: _Area, top: int) -> _Count:
    """Write the copies of an area from row ``top`` on, one below the other; return what is held."""
    filled = numbers = formulas = unlike = 0
    total = 0.0
    for number, (row, column, value, computed) in enumerate(area.cells(), start=1):
        filled += 1
        formulas += computed
        weights = row - FIRST_ROW + top
        texts = weights + area.rows
        if isinstance(value, (int, float)):
            part = 1.0 + number * _GOLDEN % 1.0
            zero = abs(value) < _AS_GOOD_AS_ZERO
            page.number(weights, column, part if zero else part / value, GENERAL, "fixed")
            page.text(texts, column, _A_NUMBER, "fixed")
            total += part * value if zero else part  # next to nothing of many cells adds up
            numbers += 1
            unlike += 1
        elif computed or "\n" in str(value):  # line ends may change when a file is saved
            unlike += value not in (None, "")
        else:
            page.text(texts, column, str(value), "fixed")
    return _Count(filled, numbers, formulas, unlike, total)


def _compared(area: _Area, count: _Count, top: int) -> str:
    """Return the formula that is 1 where an area differs from its copies, from row ``top`` on."""
    name = quote_sheetname(area.name)
    live = f"{name}!{cell_range(FIRST_ROW, 0, area.last_row, area.last_column)}"
    weights = cell_range(top, 0, top + area.rows - 1, area.last_column)
    texts = cell_range(top + area.rows, 0, top + 2 * area.rows - 1, area.last_column)
    *sizes, formulas = _whole(area, count.filled, count.numbers, count.formulas)
    holds = (
        *sizes,
        # No more digits than every program keeps when it saves the file.
        f"ABS(SUMPRODUCT({live},{weights})-{count.total:.13g})<={_CLOSE:G}",
        f"SUMPRODUCT(1*({live}<>{texts}))={count.unlike}",
        formulas,
    )
    return f"=IFERROR(IF(AND({','.join(holds)}),0,1),1)"


@dataclass
class _Column:
    """What is known of a column of a large area: its numbers as a sum, its texts one by one."""

    total: float = 0.0
    size: float = 0.0
    numbers: int = 0
    unlike: int = 0
    texts: list[tuple[int, str]] = field(default_factory=list)

    def take(
        self, top: int, values: list[Scalar], computed: list[bool], weights: list[float]
    ) -> None:
        """Take more of its rows; texts are to lie from row ``top`` on."""
        rows = zip(values, computed, weights, strict=True)
        for row, (value, by_formula, weight) in enumerate(rows, start=top):
            if type(value) is float:
                weighed = weight * value
                self.total += weighed
                self.size += abs(weighed)
                self.numbers += 1
                self.unlike += abs(value) >= _AS_GOOD_AS_ZERO
            elif by_formula or "\n" in str(value):
                self.unlike += value != ""
            elif value is not None:
                self.texts.append((row, str(value)))


def _by_column(page: Page, area: _Area, top: int) -> str:
    """Return the formula that is 1 where a large area differs from what is known of its columns.

    Weights of its rows are written from row ``top`` on, and copies of the columns that hold texts.
    """
    width, shift = area.last_column + 1, top - FIRST_ROW
    columns = [_Column() for _ in range(width)]
    filled = formulas = 0
    for first in range(FIRST_ROW, area.last_row + 1, _READ_AT_ONCE):
        place = (area.name, first, 0, min(first + _READ_AT_ONCE - 1, area.last_row), width - 1)
        shown, computed = page.book.area(*place), page.book.formulas(*place)
        weights = [1.0 + row * _GOLDEN % 1.0 for row in range(first, place[3] + 1)]
        for row, weight in enumerate(weights, start=first + shift):
            page.number(row, width, weight, GENERAL, "fixed")
        for index, column in enumerate(columns):
            column.take(first + shift, shown[index::width], computed[index::width], weights)
        filled += len(shown) - shown.count(None)
        formulas += sum(computed)
    last = top + area.rows - 1
    weights_there = cell_range(top, width, last)
    live = f"{quote_sheetname(area.name)}!"
    holds = _whole(area, filled, sum(column.numbers for column in columns), formulas)
    fixed = page.book.formats.get("fixed")
    for index, column in enumerate(columns):
        cells = f"{live}{cell_range(FIRST_ROW, index, area.last_row)}"
        if column.size:
            found = f"SUMPRODUCT({cells},{weights_there})-{column.total:.15g}"
            holds.append(f"ABS({found})<={column.size * _CLOSE_SUM:.3G}")
        if column.texts:
            for row, text in column.texts:  # as it stands in a cell, fit for one
                page.sheet.write_string(row, index, text, fixed)
            compared = f"SUMPRODUCT(1*({cells}<>{cell_range(top, index, last)}))"
            holds.append(f"{compared}={column.unlike}")
    return f"=IFERROR(IF(AND({','.join(holds)}),0,1),1)"


def _whole(area: _Area, filled: int, numbers: int, formulas: int) -> list[str]:
    """Return the conditions that a sheet has so many rows, columns, cells, numbers and formulas."""
    cells = cell_range(FIRST_ROW, 0, area.last_row, area.last_column)
    live = f"{quote_sheetname(area.name)}!{cells}"
    return [
        f"ROWS({live})={area.rows}",
        f"COLUMNS({live})={area.last_column + 1}",
        f"COUNTA({live})={filled}",
        f"COUNT({live})={numbers}",
        # A program without ISFORMULA for ranges finds none, in the cell of a known formula either.
        f"SUMPRODUCT(1*_xlfn.ISFORMULA({live}))={formulas}*_xlfn.ISFORMULA(bom_edits)",
    ]


DATA_SHEET = "Data"
FORMAT = 1
"""Counts up when what is packed changes its meaning."""

_CHUNK = 32_000
_MOST_BYTES = 500_000_000
_PACKED = (
    "The solved plan and its inputs (problem, catalogs, prices), compressed, for planner audit.",
    "Nothing here is for reading, and nothing may be changed. It holds prices: this file is for "
    "the inside.",
)


class UnreadableError(ValueError):
    """The packed text is not there, incomplete, or of another format."""


@dataclass(frozen=True)
class Packed:
    """What a workbook carries of itself: JSON texts of plan and inputs, and when it was written.

    ``studies`` names the sheets that are records of studies, which it does not carry; ``live`` is
    what figures follow an edit by, as JSON (`live_of`); ``build`` is of what wrote it (`build`),
    empty of workbooks that do not say.
    """

    tool: str
    created: datetime
    plan: str
    inputs: str
    studies: tuple[str, ...] = ()
    live: str = "{}"
    build: str = ""


@cache
def build() -> str:
    """Return a digest of the code that writes workbooks: a version does not change with each."""
    digest = sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def add_data(book: Book, plan: Plan, inputs: str, studies: tuple[str, ...] = ()) -> None:
    """Add the sheet.

    Args:
        plan: the plan, whole.
        inputs: the plan's inputs as JSON.
        studies: the names of sheets that are records of studies.
    """
    text = plan.model_dump_json()
    live = book.live.model_dump_json()
    packed = Packed(plan.provenance.tool, book.created, text, inputs, studies, live, build())
    page = Page(book, DATA_SHEET, "Data for planner audit")
    for row, text in enumerate(_PACKED, start=2):
        page.text(row, 0, text, "subtitle")
    page.sheet.set_column(0, 0, 110)
    for row, chunk in enumerate(_chunks(pack(packed)), start=FIRST_ROW):
        page.text(row, 0, chunk, "fixed", align="fill")
    page.finish(0, (FIRST_ROW, 0))
    page.sheet.print_area(0, 0, FIRST_ROW - 1, 0)


def live_of(packed: Packed) -> Live:
    """Return what the figures of a workbook follow an edit by."""
    return Live.model_validate_json(packed.live)


def pack(packed: Packed) -> str:
    """Return the text that `unpack` reads."""
    whole = {
        "format": FORMAT,
        "tool": packed.tool,
        "created": packed.created.isoformat(),
        "plan": packed.plan,
        "inputs": packed.inputs,
        "studies": packed.studies,
        "live": packed.live,
        "build": packed.build,
    }
    return base64.b64encode(zlib.compress(json.dumps(whole).encode(), 6)).decode()


def unpack(chunks: Iterable[str]) -> Packed:
    """Return what the text cells of the sheet hold.

    Raises:
        UnreadableError: a part is missing or changed, or another version packed it.
    """
    try:
        data = base64.b64decode("".join(chunks), validate=True)
        reader = zlib.decompressobj()
        text = reader.decompress(data, _MOST_BYTES)
        if not reader.eof:
            raise UnreadableError("it is cut off")
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise UnreadableError(f"its format is {whole['format']}, this planner reads {FORMAT}")
        created = datetime.fromisoformat(whole["created"])
        studies = tuple(map(str, whole.get("studies", ())))
        live = Live.model_validate_json(whole.get("live", "{}")).model_dump_json()
        given = whole["tool"], created, whole["plan"], whole["inputs"]
        return Packed(*given, studies, live, str(whole.get("build", "")))
    except UnreadableError:
        raise
    except Exception:  # what somebody else packed may break a reader in any way
        raise UnreadableError("it was changed") from None


def _chunks(text: str) -> list[str]:
    return [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
