"""Sheets of studies: sentences, charts and tables one below the other, and the look of figures."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from xlsxwriter.utility import quote_sheetname

from planner.figures import FIGURES, capital
from planner.outputs.blocks import Block, Heading, Table, Text
from planner.outputs.words import clean, in_money, titled
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_2,
    GENERAL,
    INTEGER,
    PERCENT_2,
    SMALL,
    Role,
    paid,
)
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.sensitivity.charts import FONT, GRID, TITLE_FONT, axis

_LONGEST_CAPTION = 120
_ADDRESS = re.compile(r"!(?=\$?[A-Za-z]+\$?\d)")
"""What makes the writer take a text such as ``Sheet!A1`` for the place of one."""

_FAR = 0.5
"""From which share of the largest figure on the least one is far from zero."""

_MILLION, _THOUSAND = 1e6, 1e3


def caption(text: str) -> str:
    """Return a text for a chart: one line that the writer does not take for a cell's address."""
    line = clean(text, _LONGEST_CAPTION).replace("\n", " ")
    return _ADDRESS.sub("! ", line)


def beginning(values: Iterable[float | None]) -> dict[str, float]:
    """Return where an axis begins that need not show zero, as figures far from it would be flat."""
    there = [value for value in values if value is not None]
    least, most = min(there, default=0.0), max(there, default=0.0)
    if not 0 < least < most or least < _FAR * most:
        return {}
    step = 10.0 ** math.floor(math.log10(most - least))
    return {"min": step * math.floor(least / step)}


def figures(label: str, unit: str, values: Iterable[float | None], **more: Any) -> dict[str, Any]:
    """Return the settings of an axis of figures.

    Args:
        unit: their unit; money is told in thousands or millions.
        more: further settings.
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    number = "General"
    if unit == "share":
        number = "0%" if largest >= 0.1 else "0.0%"
    elif unit in ("USD", "USD/year"):
        number, unit = "#,##0", in_money(unit)
        if largest >= _THOUSAND:
            size, number = ("million", "#,##0.#,,") if largest >= _MILLION else ("1,000", "#,##0,")
            unit = f"{size} {unit}"
        label = f"{label}, {unit}"
    elif largest >= _THOUSAND:
        number = "#,##0"
    return axis(
        caption(capital(titled(label, unit))), num_format=number, major_gridlines=GRID, **more
    )


_FORMATS = {"USD": DECIMAL_2, "USD/year": DECIMAL_2, "share": PERCENT_2, "s": DECIMAL_1}
_LARGE_USD = 10_000.0
_MANY_DECIMALS = "0.0####"


def number_format(unit: str, values: Sequence[Scalar]) -> str:
    """Return the number format that suits a figure in every plan."""
    numbers = [abs(value) for value in values if isinstance(value, (int, float))]
    if unit in ("USD", "USD/year") and max(numbers, default=0.0) >= _LARGE_USD:
        return INTEGER
    if unit in _FORMATS:
        return paid(_FORMATS[unit]) if "USD" in unit else _FORMATS[unit]
    if all(float(number).is_integer() for number in numbers):
        return INTEGER
    smallest = min((number for number in numbers if number), default=1.0)
    if smallest < 0.1:
        return SMALL if smallest < 1e-4 else _MANY_DECIMALS
    return DECIMAL_2 if smallest < 100 else DECIMAL_1


def signed(number: str) -> str:
    """Return a number format that shows the sign of a change, and a dash for none."""
    return f'+{number};-{number};"–"'


def write_over(page: Page, row: int, column: int, last: int, text: str, width: float) -> None:
    """Write a text over several columns and make its row high enough.

    Args:
        column: first column.
        last: last column, beyond the first.
        width: of all these columns, in characters.
    """
    page.sheet.merge_range(row, column, row, last, "", page.book.formats.get("text"))
    page.text(row, column, text)
    page.grow(row, [(text, width)])


def put(page: Page, row: int, column: int, value: Scalar, number: str) -> None:
    """Write a figure of a plan; texts stand to the left so that long ones can be read."""
    role: Role = "formula"
    if isinstance(value, str):
        page.text(row, column, value)
    else:
        page.number(row, column, value, number, role)


RecordT = TypeVar("RecordT")


@dataclass(frozen=True)
class RecordColumn(Generic[RecordT]):
    """A column of a table of records.

    Attributes:
        name: of its figure, else its head.
        width: in characters.
        number: its number format.
        read: takes a record and returns what stands in its row.
        money: whether an edition without money leaves it out.
    """

    name: str
    width: float
    number: str
    read: Callable[[RecordT], Scalar]
    money: bool = False

    @property
    def title(self) -> str:
        """Its head; an amount names its currency."""
        return FIGURES[self.name].column if self.name in FIGURES else self.name


def figure_column(
    name: str, width: float, read: Callable[[RecordT], Scalar]
) -> RecordColumn[RecordT]:
    """Return the column of a figure, with its title and format."""
    figure = FIGURES[name]
    return RecordColumn(name, width, figure.excel, read, figure.money)


def figures_of(
    columns: Iterable[RecordColumn[RecordT]], record: RecordT | None
) -> list[tuple[Scalar, str]]:
    """Return what stands of a record in each column; blank cells where there is none."""
    return [(None if record is None else each.read(record), each.number) for each in columns]


ROW_PIXELS = 20
"""Height of a row of one line in pixels."""

RECORD = "The figures are a record: they do not follow edits of a workbook."
_POINTS = 0.75
"""Points of a pixel."""

_HEADER_HEIGHT = 44
_LONGEST = 1_000
"""Characters of a text of the introduction; only a name can be longer."""

_LETTERS = 1.05
"""Letters of running text that fit in a character's width."""

_WORKINGS_APART = 2
_WORKINGS_WIDTH = 13.0

Cell = Scalar | tuple[Scalar, str]
Cells = Sequence[Cell]
"""What stands in a row: texts, and figures with their number formats."""


class Stack(Page):
    """A worksheet that is filled from the top down.

    Attributes:
        widths: of its columns, in characters.
        row: the next free one.
    """

    def __init__(self, book: Book, name: str, title: str, widths: Sequence[float]) -> None:
        super().__init__(book, name, title)
        self.widths = tuple(widths)
        self.row = FIRST_ROW - 2
        self._breaks: list[int] = []
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)

    @property
    def last(self) -> int:
        """The last column."""
        return len(self.widths) - 1

    @property
    def workings(self) -> int:
        """First column of the figures that charts read and nobody else has to."""
        return len(self.widths) + _WORKINGS_APART

    def introduction(self, texts: Iterable[str]) -> None:
        """Write what the sheet is about, in as many rows as the width asks for."""
        width = int(sum(self.widths) * _LETTERS)
        shown = (clean(text, _LONGEST) for text in texts)
        for line in (line for text in shown for line in textwrap.wrap(text, width)):
            self.text(self.row, 0, line, "subtitle")
            self.row += 1

    def sentences(self, texts: Iterable[str]) -> None:
        """Write texts over the whole width, a row each; empty ones are left out."""
        for text in texts:
            if text:
                write_over(self, self.row, 0, self.last, text, sum(self.widths))
                self.row += 1

    def records(self, says: Iterable[str], titles: Sequence[str]) -> None:
        """Write what the sheet is about, a row each, and heads that every printed page repeats."""
        for text in says:
            self.text(self.row, 0, text, "subtitle")
            self.row += 1
        self.row += 1
        self.sheet.repeat_rows(self.heads(titles))

    def heading(self, text: str, *, apart: bool = True) -> None:
        """Write the heading of a part, after a blank row where it stands apart."""
        self.row += apart
        self.fill(self.row, (text,), "heading", len(self.widths))
        self.row += 1

    def break_page(self) -> None:
        """Print what follows on a new page."""
        self._breaks.append(self.row)
        self.sheet.set_h_pagebreaks(self._breaks)

    def heads(self, titles: Sequence[str], height: float = _HEADER_HEIGHT) -> int:
        """Write the heads of a table; return their row."""
        self.sheet.set_row(self.row, height)
        for column, title in enumerate(titles):
            self.text(self.row, column, title, "header")
        self.row += 1
        return self.row - 1

    def table(
        self,
        titles: Sequence[str],
        rows: Iterable[Cells],
        marked: Collection[int] = (),
        height: float = _HEADER_HEIGHT,
    ) -> int:
        """Write a table with a filter over its heads, which every printed page repeats.

        Args:
            titles: its heads.
            marked: places of rows that stand out.
            height: of the heads, in points.

        Returns:
            The first row under the heads.
        """
        top = self.heads(titles, height)
        for place, cells in enumerate(rows):
            self.line(cells, marked=place in marked)
        if self.row > top + 1:
            self.sheet.autofilter(top, 0, self.row - 1, self.last)
        self.sheet.repeat_rows(top)
        return top + 1

    def line(self, cells: Cells, *, marked: bool = False) -> int:
        """Write a row of a table; return it.

        Args:
            marked: whether it stands out.
        """
        texts: list[tuple[str, float]] = []
        for column, cell in enumerate(cells):
            value, number = cell if isinstance(cell, tuple) else (cell, GENERAL)
            put(self, self.row, column, value, number)
            if isinstance(value, str):
                texts.append((value, self.widths[column]))
        self.grow(self.row, texts)
        if marked:
            rule = {"type": "no_errors", "format": self.book.formats.condition("good")}
            self.sheet.conditional_format(self.row, 0, self.row, len(cells) - 1, rule)
        self.row += 1
        return self.row - 1

    def beside(self, row: int, titles: Sequence[str], values: Sequence[Scalar]) -> None:
        """Write figures for a chart to the right of what is printed.

        Args:
            row: their row; the row above the first one has the titles.
            titles: of their columns, empty where they stand already.
        """
        for place, title in enumerate(titles):
            self.text(row - 1, self.workings + place, title, "fixed")
        for place, value in enumerate(values):
            self.scalar(row, self.workings + place, value, GENERAL, "fixed")

    def reserve(self, rows: int) -> int:
        """Leave rows free for a chart and go on under them; return the first.

        A cell under the chart keeps it in what is printed.
        """
        first = self.row
        for row in range(first, first + rows):
            self.sheet.set_row(row, ROW_PIXELS * _POINTS)
        self.row += rows
        self.text(self.row, 0, " ", "subtitle")
        return first

    def chart(self, chart: Any, title: str, at: tuple[int, int], width_px: int) -> None:
        """Place a chart in rows that are reserved for it.

        Args:
            at: the first of its rows, and how many they are.
            width_px: how wide it is.
        """
        chart.set_title({"name": caption(title), "name_font": TITLE_FONT, "overlay": False})
        chart.set_chartarea({"border": {"color": "#D9D9D9"}})
        chart.set_size({"width": width_px, "height": (at[1] - 1) * ROW_PIXELS})
        place = {"x_offset": 4, "y_offset": 6, "object_position": 3}
        self.sheet.insert_chart(at[0], 0, chart, place)

    def area(self, first: int, last: int, column: int) -> str:
        """Return the address of neighbouring rows of a column, for a chart."""
        return f"={quote_sheetname(self.name)}!{cell_range(first, column, last)}"

    def finish_stack(self, frozen: tuple[int, int]) -> None:
        """Set up printing and frozen panes, and hide nothing; the last thing done."""
        last = self.workings + _WORKINGS_APART + 4
        self.sheet.set_column(self.workings, last, _WORKINGS_WIDTH)
        self.finish(self.last, frozen)


def legend(chart: Any, *hidden: int) -> None:
    """Put the legend under a chart, without the series at some places."""
    chart.set_legend({"position": "bottom", "font": FONT, "delete_series": list(hidden)})


def headed(label: str, unit: str) -> str:
    """Return the head of a column: what it is, with the unit of its figures."""
    alone = unit in ("USD", "USD/year", "s")
    return capital(f"{label}, {in_money(unit)}" if alone else titled(label, unit))


_WIDEST, _NARROWEST, _FIGURE = 52.0, 10.0, 15.0
"""Widths of columns of words, at most and at least, and of figures."""


def add_blocks(book: Book, name: str, view: Callable[[], Iterable[Block]]) -> None:
    """Add a sheet that says what a view says, for a study that has none of its own.

    Args:
        book: the workbook, for the inside.
        name: of the sheet.
        view: returns the blocks, the first of them a heading.
    """
    heading, *blocks = view()
    assert isinstance(heading, Heading)
    shown = [
        replace(each, columns=each.on("sheet")) if isinstance(each, Table) else each
        for each in blocks
    ]
    tables = [each for each in shown if isinstance(each, Table) and each.count]
    page = Stack(book, name, heading.text, _widths(tables))
    page.introduction([RECORD])
    for block in shown:
        if isinstance(block, Text) and "sheet" in block.on and any(block.texts):
            if block.title:
                page.heading(block.title)
            page.sentences(block.texts)
        elif isinstance(block, Table) and block.count:
            _add_table(page, block, alone=len(tables) == 1)
            page.sentences((*block.items, *block.notes))
    page.finish_stack((FIRST_ROW - 1, 1))


def _widths(tables: Sequence[Table]) -> list[float]:
    """Return widths of columns that several tables share, together enough for a sentence."""
    found = [_WIDEST, _FIGURE, _FIGURE]
    for table in tables:
        for at, column in enumerate(table.columns):
            texts = [each for each in column.values if isinstance(each, str)]
            longest = max(map(len, texts), default=0) + 2.0
            width = min(_WIDEST, max(_NARROWEST, longest)) if texts else _FIGURE
            found[at : at + 1] = [max([width, *found[at : at + 1]])]
    return found


def _add_table(page: Stack, table: Table, *, alone: bool) -> None:
    """Write a table; one that is alone on its sheet has a filter over its heads."""
    if table.title:
        page.heading(table.title)
    columns = table.columns
    numbers = [number_format(column.unit, column.values) for column in columns]
    values = zip(*(column.values for column in columns), strict=True)
    rows = [list(zip(cells, numbers, strict=True)) for cells in values]
    heads = [headed(column.label, column.unit) for column in columns]
    if alone:
        page.table(heads, rows)
        return
    page.heads(heads)
    for row in rows:
        page.line(row)
