"""A workbook in the making: its cells, its names, and what its formulas come to."""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, BinaryIO

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.packager import Packager
from xlsxwriter.utility import xl_cell_to_rowcol, xl_col_to_name, xl_rowcol_to_cell
from xlsxwriter.worksheet import (
    CellBlankTuple,
    CellDatetimeTuple,
    CellFormulaTuple,
    CellNumberTuple,
    CellStringTuple,
    Worksheet,
)

from planner.outputs.audience import PRICES, Audience, Prices
from planner.outputs.scope import Block, blocks
from planner.outputs.words import clean, small_share, status
from planner.outputs.workbook.cells import Formats, InputCell
from planner.outputs.workbook.evaluate import Evaluator
from planner.outputs.workbook.functions import (
    FormulaError,
    Scalar,
)
from planner.schema.beside import Live
from planner.schema.plan import JobPlan, Line, Plan


class Sheet(Worksheet):  # type: ignore[misc]
    """A worksheet for formulas of functions that every spreadsheet program has had for decades.

    XlsxWriter looks through each formula for 29 newer functions that need a prefix, which takes
    most of the time a long bill takes to write; no formula of the planner uses one.
    Cells are always given by row and column, so the search for addresses such as ``A1`` is left out
    as well.

    ``results`` holds what formulas were found to come to so far, by row, then column; ``finished``
    says that no cell of it is written any more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.results: defaultdict[int, dict[int, Scalar | FormulaError]] = defaultdict(dict)
        self.finished = False
        self._texts: list[str] = []
        self._styles: dict[Format, int] = {}
        self._blanks: dict[Format, CellBlankTuple] = {}

    def row(self, row: int, last: int) -> dict[int, Any]:
        """Return the cells of a row that reaches to a column; `cell` and `blank` make them."""
        self._check_dimensions(row, 0)
        self._check_dimensions(row, last)
        cells: dict[int, Any] = self.table[row]
        return cells

    def blank(self, look: Format) -> Any:
        """Return a cell that holds nothing."""
        found = self._blanks.get(look)
        if found is None:
            found = self._blanks[look] = CellBlankTuple(look)
        return found

    def number(self, value: float | None, look: Format) -> Any:
        """Return a cell that holds a number, or nothing where there is no finite one."""
        if value is None or not math.isfinite(value):
            return self.blank(look)
        return CellNumberTuple(value, look)

    def formula(self, text: str, look: Format) -> Any:
        """Return a cell that holds a formula."""
        return CellFormulaTuple(text.removeprefix("="), look, 0)

    def write_blank(self, row: int, col: int, blank: None, look: Format | None = None) -> None:
        """Give a cell that holds nothing a look."""
        if look is not None:
            self._check_dimensions(row, col)
            self.table[row][col] = self.blank(look)

    def write_number(self, row: int, col: int, number: float, look: Format | None = None) -> None:
        """Write a finite number."""
        if not math.isfinite(number):
            raise TypeError(f"a cell holds no {number}")
        self._check_dimensions(row, col)
        self.table[row][col] = CellNumberTuple(number, look)

    def write_string(self, row: int, col: int, text: str, look: Format | None = None) -> None:
        """Write a text of at most as many characters as a cell takes."""
        self._check_dimensions(row, col)
        number = self.str_table._get_shared_string_index(text)
        self.table[row][col] = CellStringTuple(number, look)

    def write_formula(
        self, row: int, col: int, formula: str, look: Format | None = None, value: Any = 0
    ) -> None:
        """Write a formula that is no array's."""
        self._check_dimensions(row, col)
        self.table[row][col] = CellFormulaTuple(formula.removeprefix("="), look, value)

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return formula.removeprefix("=")

    def _check_dimensions(self, row: int, col: int, *ignored: bool, **kept: bool) -> int:
        # Most cells are written within those that are there.
        if not ignored and not kept and self.dim_rowmax is not None:
            if self.dim_rowmin <= row <= self.dim_rowmax:
                if self.dim_colmin <= col <= self.dim_colmax:
                    return 0
        found: int = super()._check_dimensions(row, col, *ignored, **kept)
        return found

    def _calculate_spans(self) -> None:
        self.row_spans, first, last = {}, None, 0
        for row in range(self.dim_rowmin, self.dim_rowmax + 1):
            columns = self.table.get(row)
            if columns:
                low, high = min(columns), max(columns)
                first, last = (low, high) if first is None else (min(first, low), max(last, high))
            if first is not None and ((row + 1) % 16 == 0 or row == self.dim_rowmax):
                self.row_spans[row // 16], first = f"{first + 1}:{last + 1}", None

    def _write_rows(self) -> None:
        # An address and the number of a style hold nothing that XML must have escaped, so in most
        # cells of a workbook there is nothing to search for it but the text of a formula. A row is
        # not needed once it is written.
        self._calculate_spans()
        letters = [xl_col_to_name(column) for column in range(self.dim_colmax + 1)]
        for row in range(self.dim_rowmin, self.dim_rowmax + 1):
            cells, info = self.table.pop(row, None), self.row_info.get(row)
            span = self.row_spans.get(row // 16)
            if not cells:
                if info is not None:
                    self._write_empty_row(row, span, info)
                continue
            self._write_row(row, span, info)
            self._write_cells(letters, row, cells)
            self._xml_end_tag("row")

    def _write_cells(self, letters: list[str], row: int, cells: dict[int, Any]) -> None:
        """Write the cells of a row, as many as follow one another at once."""
        ready: list[str] = []
        add, styles, number = ready.append, self._styles, row + 1
        for column in sorted(cells):
            cell = cells[column]
            kind = type(cell)
            look = cell[0] if kind is CellBlankTuple else cell[1]
            style = styles.get(look)
            if style is None and look is not None:
                style = styles[look] = look._get_xf_index()
            start = f'<c r="{letters[column]}{number}" s="{style}"'
            if style is None:  # the writer's own way is for any cell
                self.fh.write("".join(ready))
                ready.clear()
                self._write_cell(row, column, cell)
            elif kind is CellNumberTuple:
                add(f"{start}><v>{cell[0]:.16G}</v></c>")
            elif kind is CellBlankTuple:
                add(f"{start}/>")
            elif kind is CellFormulaTuple and type(cell[2]) in (int, float):
                text = cell[0]
                if "<" in text or ">" in text or "&" in text:
                    text = self._escape_data(text)
                add(f"{start}><f>{text}</f><v>{cell[2]}</v></c>")
            elif kind is CellStringTuple:
                add(f'{start} t="s"><v>{cell[0]}</v></c>')
            else:
                self.fh.write("".join(ready))
                ready.clear()
                self._write_cell(row, column, cell)
        self.fh.write("".join(ready))

    def blanks(self, row: int, columns: frozenset[int], style: Format) -> None:
        """Give the empty ones of these cells a look; within what holds something."""
        cells = self.table[row]
        cells.update(dict.fromkeys(columns - cells.keys(), self.blank(style)))

    def held(self, cell: Any) -> Scalar:
        """Return the number or text that a cell of it holds, None where it holds neither."""
        kind = type(cell)
        if kind is CellNumberTuple or kind is CellDatetimeTuple:
            return float(cell.number)
        return self._text(cell.string) if kind is CellStringTuple else None

    def _text(self, number: int) -> str:
        """Return a text of the workbook by its number."""
        if number >= len(self._texts):
            self._texts += islice(self.str_table.string_table, len(self._texts), None)
        return self._texts[number]


class _Utf8(io.StringIO):
    """A file of a workbook as it goes into the archive, so that a long sheet is held once."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = io.BytesIO()

    def write(self, text: str) -> int:
        return self._bytes.write(text.encode())

    def getvalue(self) -> memoryview:  # type: ignore[override]  # what the archive takes
        return self._bytes.getbuffer()


class _Packager(Packager):  # type: ignore[misc]
    def _filename(self, xml_filename: str) -> _Utf8:
        file = _Utf8()
        self.filenames.append((file, xml_filename, True))
        return file


class _Workbook(Workbook):  # type: ignore[misc]
    def _get_packager(self) -> _Packager:
        return _Packager()

    def _store_workbook(self) -> None:
        super()._store_workbook()
        for sheet in self.worksheets():
            sheet.fh = None  # what is in the archive is not kept by what wrote it


DEFAULT_LOOK = {"font_name": "Arial", "font_size": 10, "font_scheme": False}
"""The default font, in whose digits widths of columns are counted: where the usual one is missing,
another as wide as it happens to be would take its place and columns would come out wider."""


def new_workbook(stream: BinaryIO, title: str, created: datetime, **properties: str) -> Workbook:
    """Return an empty workbook.

    Args:
        stream: where the bytes go, open for writing.
        properties: what else the document says of itself.
    """
    options = {"in_memory": True, "default_format_properties": dict(DEFAULT_LOOK)}
    workbook = _Workbook(stream, options)
    workbook.set_properties({"title": clean(title, 200), "created": created, **properties})
    return workbook


_SOLVED = re.compile(r"\b[Ss]olved\b")

CHECKED = False
"""Whether numbers of the plan are held against formulas; the tests set it."""

_CLOSE = 1e-9
_NO_CELLS: dict[int, Any] = {}
_READS_ITSELF = FormulaError("a formula reads itself")


RATE = "usd_of_currency"
"""Name of the cell that says what one of the currency shown is in USD, where that is another."""


def counted_name(sku: str) -> str:
    """Return the defined name of the count that follows, of a catalog id or of shared racks."""
    return f"counted_{sku.replace('.', '_')}"


class MismatchError(Exception):
    """A formula comes to something else than the plan says: one of the two is wrong."""


class Book:
    """A workbook in the making, and the grid that its formulas read.

    Sheets talk through defined names only: `define` gives a cell its name, and any sheet written
    later can use the name in a formula and ask for the `value` that it shows. That follows from the
    formulas, worked out when it is first asked for; whatever they read must be written by then.
    """

    def __init__(
        self,
        plan: Plan,
        workbook: Workbook,
        *,
        created: datetime,
        audience: Audience = "internal",
        prices: Prices | None = None,
        appendix: bool = False,
        live: Live | None = None,
    ) -> None:
        self.plan = plan
        self.live = live or Live()
        self.growth = self.live.growth
        self.follows = dict.fromkeys(name for each in self.growth for name in each.counts)
        self.created = created
        self.audience = audience
        self.prices: Prices = "all" if audience == "internal" else prices or PRICES[audience]
        self.appendix = appendix
        self.workbook = workbook
        self.formats = Formats(workbook)
        self.inputs: list[InputCell] = []
        self._names: dict[str, str] = {}
        self._sheets: dict[str, Sheet] = {}
        self.studies: tuple[str, ...] = ()
        self._evaluator = Evaluator(self)
        self._areas: dict[tuple[str, int, int, int, int], list[Scalar]] = {}
        self._complete = False
        self._planned: list[tuple[str, int, int, float | str]] = []

    def sheet(self, name: str) -> Sheet:
        """Return the worksheet of this name, new at the end where it does not exist yet."""
        found = self._sheets.get(name)
        if found is None:
            found = self.workbook.add_worksheet(name, worksheet_class=Sheet)
            self._sheets[name] = found
        return found

    @cached_property
    def blocks(self) -> list[Block]:
        """The sections of the bill that have lines."""
        return blocks(self.plan)

    @property
    def inside(self) -> bool:
        """Whether this edition stays in the house: it says how the plan was made and from what."""
        return self.audience == "internal"

    @property
    def money(self) -> bool:
        """Whether this edition shows all of money: sources of prices, rates, budgets, TCO."""
        return self.inside

    def rate_of(self, line: Line) -> float | None:
        """Return the rate that a line's price follows, None where it follows none.

        Prices in the currency shown stay as they are, and so do all in an edition for the outside.
        """
        money = self.plan.shown_in
        stays = line.price is None or line.price.currency == money.code
        return None if stays or money.code == "USD" or not self.money else money.usd

    def worded(self, text: str) -> str:
        """Return a text of the planner's own as the edition has it: outside nothing is solved."""
        if self.inside or "olved" not in text:
            return text
        return _SOLVED.sub(lambda found: "Offered" if found[0][0] == "S" else "offered", text)

    @property
    def job(self) -> JobPlan | None:
        """The plan's job, None where there is no plan."""
        return self.plan.jobs[0] if self.plan.jobs else None

    def total(self, name: str) -> float | None:
        """Return what the plan itself says of a figure of the whole, None where it says nothing."""
        value: float | None = getattr(self.plan.totals, name, None)
        return value

    @property
    def as_solved(self) -> str:
        """What the banner says while nothing is edited."""
        plan, gap = self.plan, self.plan.objective.gap
        if not plan.lines:
            return f"No plan: {plan.status}"
        if not self.inside:
            return "As offered"
        proven = f" (proof to {small_share(gap)})" if gap else ""
        return f"As solved: {status(plan)}{proven}"

    def define(self, name: str, reference: str) -> None:
        """Give a cell a workbook-wide name.

        Args:
            name: a name that does not look like a cell address.
            reference: absolute address with its sheet, such as ``BOM!$A$1``.

        Raises:
            ValueError: the name is taken or not allowed.
        """
        if name in self._names:
            raise ValueError(f"the name {name} is taken")
        if self.workbook.define_name(name, f"={reference}") != 0:
            raise ValueError(f"{name} is not a name a workbook allows")
        self._names[name] = reference

    def has(self, *names: str) -> bool:
        """Return whether all these names are defined."""
        return all(name in self._names for name in names)

    def value(self, name: str) -> Scalar:
        """Return what the cell with this name shows; None where it is blank or does not exist."""
        if name not in self._names or ":" in self._names[name]:
            return None
        return self._evaluator.place(name, "").value()  # type: ignore[return-value]  # one cell

    def number(self, name: str) -> float | None:
        """Return the number in the cell with this name, None where it shows none."""
        value = self.value(name)
        return value if type(value) is float else None

    def value_of(self, cell: InputCell) -> Scalar:
        """Return what an input holds, or what its formula comes to."""
        return self.at(cell.sheet, *xl_cell_to_rowcol(cell.cell))

    # ---- the grid ----

    def at(self, sheet: str, row: int, column: int) -> Scalar:
        """Return what a cell shows; an error is raised."""
        page = self._sheets[sheet]
        cell = page.table.get(row, _NO_CELLS).get(column)
        kind = type(cell)
        if kind is CellNumberTuple:
            return float(cell.number)
        if kind is CellFormulaTuple:
            known = page.results.get(row, _NO_CELLS).get(column)
            if type(known) is float:
                return known
        return None if cell is None else self._evaluated(page, row, column, cell)

    def cells(
        self, sheet: str, top: int, bottom: int, right: int
    ) -> Iterator[tuple[int, int, Scalar, bool]]:
        """Yield row, column and value of what holds something in a range, and if by a formula."""
        page = self._sheets[sheet]
        for row in range(top, bottom + 1):
            cells = page.table.get(row, _NO_CELLS)
            for column in sorted(cells):
                if column > right:
                    break
                cell = cells[column]
                kind = type(cell)
                if kind is CellNumberTuple:
                    yield row, column, float(cell[0]), False
                elif kind is CellStringTuple:
                    yield row, column, page.held(cell), False
                elif kind is CellFormulaTuple:
                    yield row, column, self._evaluated(page, row, column, cell), True

    def area(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[Scalar]:
        """Return what the cells of a range show, row by row."""
        place = (sheet, top, left, bottom, right)
        found = self._areas.get(place)
        if found is None:
            found = self._values(self._sheets[sheet], range(top, bottom + 1), left, right)
            if self._complete or (left == right and self._sheets[sheet].finished):
                self._areas[place] = found
        return found

    def _values(self, page: Sheet, rows: range, left: int, right: int) -> list[Scalar]:
        """Return what the cells of some rows show; most are numbers, or formulas worked out."""
        table, results, columns = page.table, page.results, range(left, right + 1)
        found: list[Scalar] = []
        add = found.append
        for row in rows:
            cells = table.get(row, _NO_CELLS)
            for column in columns:
                cell = cells.get(column)
                kind = type(cell)
                if kind is CellNumberTuple:
                    add(float(cell.number))
                elif kind is CellFormulaTuple:
                    known = results.get(row, _NO_CELLS).get(column)
                    shown = known if type(known) is float else None
                    add(self._evaluated(page, row, column, cell) if shown is None else shown)
                elif cell is None or kind is CellBlankTuple:
                    add(None)
                else:
                    add(page.held(cell))
        return found

    def _evaluated(self, page: Sheet, row: int, column: int, cell: Any) -> Scalar:
        """Return what a cell shows, worked out once if it holds a formula."""
        if type(cell) is not CellFormulaTuple:
            return page.held(cell)
        results = page.results[row]
        result = results.get(column)
        if result is None:
            results[column] = _READS_ITSELF
            try:
                result = self._evaluator.value(cell.formula, page.name, row)
            except ArithmeticError as error:
                result = FormulaError(str(error))
            results[column] = result
        if isinstance(result, FormulaError):
            raise result
        return result

    def formulas(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[bool]:
        """Return which cells of a range hold a formula, row by row."""
        table, columns = self._sheets[sheet].table, range(left, right + 1)
        return [
            type(cells.get(column)) is CellFormulaTuple
            for row in range(top, bottom + 1)
            for cells in (table.get(row, _NO_CELLS),)
            for column in columns
        ]

    def lay(self, edits: Mapping[tuple[str, str], Scalar]) -> None:
        """Put other values into cells and forget what formulas came to.

        Args:
            edits: what each cell holds, by sheet and address; None leaves it blank.
        """
        for (name, address), value in edits.items():
            page, (row, column) = self._sheets[name], xl_cell_to_rowcol(address)
            if value is None:
                page.write_blank(row, column, None, self.formats.get("input"))
            elif isinstance(value, str):
                page.write_string(row, column, value)
            else:
                page.write_number(row, column, float(value))
        self._areas.clear()
        for sheet in self._sheets.values():
            sheet.results.clear()

    def address(self, name: str) -> str:
        """Return where the cell of a defined name is."""
        return self._names[name]

    # ---- what formulas come to ----

    def expect(self, sheet: str, row: int, column: int, planned: float | str) -> None:
        """Note what the plan says of a cell that holds a formula; `calculate` compares them."""
        if CHECKED:
            self._planned.append((sheet, row, column, planned))

    def take(self, sheet: str, row: int, column: int, value: float) -> None:
        """Record a formula's value without working it out, as long as nothing is `CHECKED`."""
        if not CHECKED:
            self._sheets[sheet].results[row][column] = value

    def calculate(self) -> None:
        """Work out what every formula shows, for programs that read a file and do not calculate.

        Raises:
            MismatchError: `CHECKED` is set and the plan says otherwise of a cell.
        """
        self._complete = True  # ranges are read once from here on
        for name, sheet in self._sheets.items():
            for row, cells in sorted(sheet.table.items()):
                for column, cell in cells.items():
                    if type(cell) is CellFormulaTuple:
                        shown = _as_shown(self.at(name, row, column))
                        cells[column] = CellFormulaTuple(cell[0], cell[1], shown)
        if CHECKED:
            self._compare()
        self._areas.clear()
        for sheet in self._sheets.values():
            sheet.results.clear()

    def _compare(self) -> None:
        """Hold formulas against the plan, and against what they come to once all is written."""
        early = [
            (name, row, column, value)
            for name, sheet in self._sheets.items()
            for row, results in sheet.results.items()
            for column, value in results.items()
        ]
        self._areas.clear()
        for sheet in self._sheets.values():
            sheet.results.clear()
        asked = (
            (name, row, column, value)
            for name, row, column, value in early
            if not isinstance(value, FormulaError) and value is not None
        )
        for name, row, column, expected in (*self._planned, *asked):
            found = self.at(name, row, column)
            same = expected == found and isinstance(expected, bool) == isinstance(found, bool)
            if not isinstance(expected, (str, bool)) and type(found) is float:
                same = math.isclose(expected, found, rel_tol=_CLOSE, abs_tol=_CLOSE)
            if not same:
                cell = xl_rowcol_to_cell(row, column)
                formula = self._sheets[name].table[row][column].formula
                raise MismatchError(
                    f"{name}!{cell} comes to {found!r}, not to {expected!r}: ={formula}"
                )


def _as_shown(value: Scalar) -> float | str | bool:
    """Return a value as a file holds it: whole numbers without a fraction."""
    if type(value) is float and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return clean(value) if isinstance(value, str) else value or 0
