"""A workbook in the making: sheets filled from the top, open cells, lists of figures."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.utility import quote_sheetname, xl_rowcol_to_cell

from planner.currency import Currency
from planner.figures import FIGURES as COMMON
from planner.figures import capital
from planner.report.formats import MW_FROM_KW, clean
from planner.workbook.formulas import WHOLE, Scalar, Shown, Term, V, as_value, or_na

_INK, _GREY, _SOFT = "#16324F", "#5B6B7B", "#EEF3F8"
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "line": {"bottom": 1, "bottom_color": "#D5DDE6"},
    "open": {"bg_color": "#FFF8DC", "font_color": "#0B3FD1", "locked": False},
    "grey": {"font_color": _GREY},
    "note": {"font_color": _GREY, "font_size": 9},
    "mark": {"font_color": "#B42318", "font_size": 9},
    "answer": {"font_color": _INK, "bold": True, "font_size": 12},
    "figure": {"font_color": _INK, "bold": True, "font_size": 17},
    "tile": {"bg_color": _SOFT, "align": "left", "indent": 1},
    "band": {"bg_color": _INK, "font_color": "#FFFFFF", "bold": True},
    "section": {"bg_color": _SOFT, "font_color": _INK, "bold": True},
    "under": {"bottom": 2, "bottom_color": _INK, "font_color": _INK, "bold": True},
    "sum": {"top": 2, "top_color": _INK, "bold": True},
}
"""Properties of XlsxWriter's formats by name; `open` is a cell that may be edited."""

_NUMBERS = {
    "n0": '#,##0;-#,##0;"–"',
    "n1": '#,##0.0;-#,##0.0;"–"',
    "n2": '#,##0.00;-#,##0.00;"–"',
    "mega": "#,##0.0##,",
    "large": '#,##0.0,," M"',
    "n4": "0.0000##",
    "fine": "#,##0.00##",
    "small": "0.00E+00",
    "pct0": '0.0##%;-0.0##%;"–"',
    "pct2": "0.00%",
    "date": "d mmmm yyyy",
}
"""Number formats by look; those of money depend on its currency, all others are General."""


_BRIEF = '[>=1000000]#,##0.0,," M";[>0]#,##0;"–"'
"""Number format of labels in charts."""


def properties(*styles: str) -> dict[str, Any]:
    """The properties of styles, of later ones first."""
    return {name: value for style in styles for name, value in _STYLES[style].items()}


class Allowed(NamedTuple):
    """Values allowed in an editable cell: a number in a range, or any text."""

    low: float = 0.0
    high: float = 1e15
    whole: bool = False
    blank: bool = False
    text: bool = False

    def takes(self, value: Scalar) -> bool:
        """True if a cell may hold a value; None is blank."""
        if value is None:
            return self.blank
        if self.text:
            return isinstance(value, str)
        if isinstance(value, (str, bool)) or not math.isfinite(value):
            return False
        return self.low <= value <= self.high and (not self.whole or float(value).is_integer())

    @property
    def expected(self) -> str:
        """The allowed values in words."""
        if self.text:
            return "a text"
        kind = "a whole number" if self.whole else "a number"
        most = f" to {self.high:,.10g}" if self.high < 1e12 else " or more"
        return f"{kind} from {self.low:g}{most}{', or nothing' if self.blank else ''}"


ANY, COUNT, SHARE = Allowed(), Allowed(0, 10_000_000, whole=True), Allowed(0, 1)
Place = tuple[str, str]
"""A sheet and an address."""
CHART_ROWS = 10
"""Height of a chart in rows."""


class Meaning(NamedTuple):
    """An input of the plan, named as in an `Edit`, with the values its cell allows."""

    kind: str
    key: str
    label: str
    unit: str = ""
    allowed: Allowed = Allowed()


class Input(NamedTuple):
    """A cell that may be edited, with its value as planned."""

    place: Place
    of: Meaning
    value: Scalar
    cell: V
    """The typed value, for formulas."""


class Book:
    """A workbook, and its cells.

    ``inputs`` are the cells that may be edited; ``cells`` all others that hold something, each with
    its formula or value; ``names`` the figures that formulas refer to by name, at their ``places``;
    ``free`` are places that mean nothing to a plan.

    Args:
        stream: where it goes.
        title: of the document.
        created: its date; the same date and content give the same bytes.
        currency: that of all amounts.
        typed: values to compute with in place of those as planned, by the place of their cell.
        keep: whether to keep ``cells`` and all ``inputs``, which take memory; else only the inputs
            with a name.
    """

    def __init__(
        self,
        stream: BinaryIO,
        title: str,
        created: datetime,
        currency: Currency,
        typed: Mapping[Place, Scalar] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.title = clean(" ".join(title.split()), 120)
        self.created, self.currency = created, currency
        font = {"font_name": "Arial", "font_size": 10}
        self.file = xlsxwriter.Workbook(stream, {"default_format_properties": font})
        self.file.set_properties({"title": self.title, "created": created})
        self.inputs: list[Input] = []
        self.cells: dict[Place, Scalar] = {}
        self.names: dict[str, V] = {}
        self.places: dict[str, Place] = {}
        self.free: set[Place] = set()
        self.typed, self.keep = typed or {}, keep
        self._looks: dict[tuple[Any, ...], Format] = {}

    def look(self, kind: str = "text", *styles: str, **more: Any) -> Format:
        """A format by its kind of number and styles, with more properties of XlsxWriter's."""
        key = (kind, *styles, *sorted(more.items()))
        found = self._looks.get(key)
        if found is None:
            more = properties(*styles) | more
            base: dict[str, Any] = {"valign": "vcenter", "font_color": "#1F2933"}
            base["num_format"] = self._number(kind)
            if kind in ("text", "wrap", "date"):
                base |= {"align": "left", "indent": 1, "text_wrap": kind == "wrap"}
            found = self._looks[key] = self.file.add_format(base | more)
        return found

    def _number(self, kind: str) -> str:
        """A number format; ``usd`` is money in whole units, ``cents`` to its smallest."""
        if kind not in ("usd", "cents"):
            return _NUMBERS.get(kind, "General")
        digits = self.currency.decimals if kind == "cents" else 0
        plain = f"#,##0.{'0' * digits}" if digits else "#,##0"
        return f'{plain};-{plain};"–"'

    def name(self, name: str, cell: V, place: Place) -> V:
        """Give a cell a name that formulas use from now on."""
        self.file.define_name(name, f"={cell.text}")
        self.names[name], self.places[name] = V(cell.value, name), place
        return self.names[name]

    def close(self) -> None:
        """Write the file.

        Raises:
            OSError: the folder of temporary files is full or closed.
        """
        failure: OSError | None = None
        try:
            with TemporaryDirectory(prefix="planner-") as self.file.tmpdir:
                self.file.close()
        except xlsxwriter.exceptions.FileCreateError as error:
            failure = OSError(*error.args[0].args)
        if failure:  # out of the handler: its frames hold an open ZIP file
            raise failure


class Cell(V):
    """A cell, which formulas refer to by its absolute address."""

    __slots__ = ("column", "quoted", "row")

    def __init__(self, value: Shown, quoted: str, row: int, column: int) -> None:
        self.value, self.binds = value, WHOLE
        self.quoted, self.row, self.column = quoted, row, column

    @property
    def text(self) -> str:  # type: ignore[override]
        """Its address, computed on demand: most cells are in no formula."""
        if not self.quoted:
            return str(xl_rowcol_to_cell(self.row, self.column))
        return f"{self.quoted}!{xl_rowcol_to_cell(self.row, self.column, True, True)}"


def here(cell: V) -> V:
    """A cell as formulas of its own sheet refer to it."""
    return Cell(cell.value, "", cell.row, cell.column) if isinstance(cell, Cell) else cell


class Sheet:
    """A worksheet that is filled from the top; ``at`` is the next free row.

    Args:
        widths: of its columns, in characters.
        landscape: how it is printed: on A4, as wide as a page.
        locked: whether cells that are no inputs are protected, without a password.
    """

    def __init__(
        self,
        book: Book,
        name: str,
        widths: Sequence[float],
        *,
        landscape: bool = False,
        locked: bool = True,
    ) -> None:
        self.book, self.name, self.at, self.widths = book, name, 0, widths
        self.page, self.last = book.file.add_worksheet(name), len(widths) - 1
        self._quoted = quote_sheetname(name)
        self.page.hide_gridlines(2)
        for column, width in enumerate(widths):
            self.page.set_column(column, column, width)
        if landscape:
            self.page.set_landscape()
        self.page.set_paper(9)
        self.page.fit_to_pages(1, 0)
        self.page.set_margins(0.45, 0.45, 0.5, 0.6)
        title, shown = (text.replace("&", "&&") for text in (book.title[:80], name))
        self.page.set_footer(f"&L&8&K808080{title}&C&8&K808080{shown}&R&8&K808080Page &P of &N")
        if locked:
            self.page.protect("", {"format_columns": True, "format_rows": True, "autofilter": True})

    def put(self, row: int, column: int, value: Term, look: Format, name: str = "") -> V:
        """Write a value or a formula; return the cell, which formulas may read.

        Args:
            name: by which formulas refer to it, empty for its address.
        """
        if isinstance(value, V):
            shown = value.value if isinstance(value.value, (int, float, str)) else ""
            self.page.write_formula(row, column, value.text, look, shown)
            self._keep(row, column, f"={value.text}")
            return self._cell(row, column, value.value, name)
        return self._cell(row, column, self.write(row, column, value, look), name)

    def _cell(self, row: int, column: int, held: Shown, name: str) -> V:
        cell = Cell(held, self._quoted, row, column)
        return self.book.name(name, cell, self.place(row, column)) if name else cell

    def _keep(self, row: int, column: int, held: Scalar) -> None:
        if self.book.keep:
            self.book.cells[self.place(row, column)] = held

    def place(self, row: int, column: int) -> Place:
        """The sheet and address of a cell."""
        return self.name, xl_rowcol_to_cell(row, column)

    def write(self, row: int, column: int, value: Scalar, look: Format) -> Scalar:
        """Write a constant and return the value of the cell."""
        if value is None or value == "":
            self.page.write_blank(row, column, None, look)
            return None
        if isinstance(value, str):
            held: Scalar = clean(value)
            self.page.write_string(row, column, held, look)
        else:
            held = value if isinstance(value, int) else float(f"{value:.15g}")  # as a cell keeps it
            self.page.write_number(row, column, held, look)
        self._keep(row, column, held)
        return held

    def span(self, first: int, last: int, column: int) -> str:
        """The absolute address of some cells of a column with their sheet."""
        ends = (xl_rowcol_to_cell(row, column, True, True) for row in (first, last))
        return f"{self._quoted}!{':'.join(ends)}"

    def input(
        self, row: int, column: int, value: Scalar, look: str, meaning: Meaning, name: str = ""
    ) -> V:
        """Write a cell that may be edited; return it with the value to compute with."""
        book, place = self.book, self.place(row, column)
        value = float(f"{value:.15g}") if isinstance(value, (int, float)) else value
        held = book.typed.get(place, value)
        self.write(row, column, held, book.look(look, "open", "line"))
        book.cells.pop(place, None)
        cell = self._cell(row, column, held, name)
        if name or book.keep:
            book.inputs.append(Input(place, meaning, value, cell))
        return cell

    def fill(self, row: int, look: Format, first: int = 0, last: int | None = None) -> None:
        """Give cells of a row a look."""
        for column in range(first, (self.last if last is None else last) + 1):
            self.page.write_blank(row, column, None, look)

    def over(self, row: int, first: int, last: int, value: Term, look: Format) -> V:
        """Write a value over several columns."""
        if last > first:
            self.page.merge_range(row, first, row, last, "", look)
        return self.put(row, first, value, look)

    def head(self, title: str, under: str, last: int | None = None) -> None:
        """Write the band at the top of the sheet."""
        end = self.last if last is None else last
        self.page.set_row(0, 30)
        self.page.set_row(1, 18)
        self.over(0, 0, end, title, self.book.look("text", "band", font_size=16))
        quiet = self.book.look("text", "band", font_color="#C9D6E3", bold=False, font_size=9)
        self.over(1, 0, end, under, quiet)
        self.at = 3

    def heading(
        self,
        text: str,
        last: int | None = None,
        titles: Mapping[int, str] | None = None,
        left: Collection[int] = (),
    ) -> None:
        """Write the heading of a part, and titles of columns, over words at the ``left``."""
        self.fill(self.at, self.book.look("text", "under"), 0, last)
        self.put(self.at, 0, text, self.book.look("text", "under", font_size=11))
        words, figures = (
            self.book.look("text", "under", "note", align=side, indent=int(side == "left"))
            for side in ("left", "right")
        )
        for column, title in (titles or {}).items():
            self.put(self.at, column, title, words if column in left else figures)
        self.at += 1

    def text(self, value: Term, style: str = "grey", last: int | None = None) -> None:
        """Write a text over the sheet's columns, in a row as high as it needs."""
        end = self.last if last is None else last
        size = properties(style).get("font_size", 10)
        width = sum(self.widths[: end + 1]) * 10 / size
        self.page.set_row(self.at, height(str(as_value(value).value), width, size))
        self.over(self.at, 0, end, value, self.book.look("wrap", style))
        self.at += 1

    def bars(self, first: int, last: int, column: int, most: float | None = None) -> None:
        """Draw a bar behind each number; the longest is ``most``, by default the largest."""
        bars = {
            "type": "data_bar",
            "data_bar_2010": True,
            "bar_solid": True,
            "bar_color": "#7FB2E5",
        }
        bars |= {"min_type": "num", "min_value": 0}
        ends = {} if most is None else {"max_type": "num", "max_value": most}
        self.page.conditional_format(first, column, last, column, bars | ends)

    def bar_chart(self, title: str, bars: tuple[int, int, int], column: int, width: int) -> None:
        """Draw the figures of rows, with labels of the first column, from the next free row on.

        Args:
            bars: first and last row, and column of the figures.
            column: the left edge; ``width``: in pixels.
        """
        first, last, at = bars
        found: Any = self.book.file.add_chart({"type": "bar"})
        series: dict[str, Any] = {"categories": [self.name, first, 0, last, 0]}
        series |= {"values": [self.name, first, at, last, at], "fill": {"color": "#2F6DB5"}}
        text = {"value": True, "num_format": _BRIEF, "font": {"color": _GREY, "size": 9}}
        series |= {"data_labels": text, "gap": 40}
        found.add_series(series)
        found.set_title({"name": title, "name_font": {"color": _INK, "size": 11}})
        found.set_legend({"none": True})
        found.set_y_axis({"reverse": True, "line": {"none": True}})
        found.set_x_axis({"visible": False, "major_gridlines": {"visible": False}})
        found.set_chartarea({"border": {"none": True}})
        found.set_size({"width": width, "height": 20 * CHART_ROWS})
        self.page.insert_chart(self.at, column, found)

    def area(self, first: int, last: int, wide: int | None = None) -> None:
        """Have some rows printed, of all columns or the first ones."""
        self.page.print_area(first, 0, last, self.last if wide is None else wide)


def height(text: str, width: float, size: float = 10) -> float:
    """The height of a row in which a text wraps, in points.

    Args:
        width: of its cell, in characters.
    """
    room = max(4.0, width * 1.05 - 2)
    if len(text) <= room and "\n" not in text:
        return max(15.0, size * 1.32 + 2)
    lines = sum(max(1, math.ceil(len(line) / room)) for line in text.split("\n"))
    return max(15.0, lines * size * 1.32 + 2)


# Lists of figures: label, value, unit and note; some may be edited.

LABEL, VALUE, UNIT, NOTE = range(4)
"""The columns of a list."""


_FIGURES = {
    "async_stall_s": ("GPU stall per checkpoint", "s", "n2"),
    "failures_per_gpu_day": ("Job-interrupting failures per GPU and day", "1/day", "small"),
    "hot_spares": ("Hot spares", "systems", "n0"),
    "client_write_gb_per_s": ("Client write limit", "GB/s", "n2"),
    "client_read_gb_per_s": ("Client read limit", "GB/s", "n2"),
    "tokens_trillion": ("Training tokens", "trillion", "n2"),
    "active_parameters_billion": ("Active parameters per token", "billion", "n1"),
    "systems_ready": ("GPU systems ready for the job", "systems", "n0"),
    "waiting": ("Waiting for repairs (spare exhaustion)", "", "pct2"),
}
"""Label, unit and look by the name in formulas; all others are as in `planner.figures`."""
_LOOKS = {
    "share": "pct2",
    "USD": "usd",
    "USD/year": "usd",
    "USD/kWh": "n4",
    "years": "n2",
    "": "n2",
}
_LOOKS |= {"GPUs": "n0", "BTU/h": "n0"}


def _figure(name: str) -> tuple[str, str, str]:
    found = _FIGURES.get(name) or _FIGURES.get(name.partition(".")[0])
    if found is not None:
        return found
    row = COMMON[name]
    look = "n4" if name.startswith("usd_per") else _LOOKS.get(row.unit, "n1")
    return capital(row.label), "" if row.unit == "share" else row.unit, look


class Figure(NamedTuple):
    """A figure of a list; its key, to the first dot, is its name, the note says how it follows."""

    name: str
    value: Term
    note: str = ""
    allowed: Allowed | None = None
    """Of a figure that may be edited."""
    more: str = ""
    """Note beside the label."""


def write_figures(sheet: Sheet, rows: Iterable[Figure], cells: dict[str, V]) -> None:
    """Write figures one below the other; add each cell by name before the next is made."""
    for row in rows:
        cells[row.name] = _write(sheet, row)


def _write(sheet: Sheet, row: Figure) -> V:
    book, at = sheet.book, sheet.at
    label, unit, look = _figure(row.name)
    if unit == "kW" and row.allowed is None and as_value(row.value).number > MW_FROM_KW:
        unit, look = "MW", "mega"
    label = f"{label}, {row.more}" if row.more else label
    sheet.put(at, LABEL, label, book.look("wrap", "line"))
    sheet.put(at, UNIT, book.currency.named(unit), book.look("text", "grey", "line"))
    quiet = book.look("wrap", "note", "line")
    sheet.over(at, NOTE, sheet.last, row.note, quiet)
    room = sum(sheet.widths[NOTE:])
    sheet.page.set_row(at, max(height(label, sheet.widths[LABEL]), height(row.note, room, 9)))
    sheet.at += 1
    if row.allowed is not None and not isinstance(row.value, V):
        meaning = Meaning("figure", row.name, label, unit, row.allowed)
        return sheet.input(at, VALUE, row.value, look, meaning, row.name)
    value = or_na(row.value) if isinstance(row.value, V) else row.value
    return sheet.put(at, VALUE, value, book.look(look, "line", align="right"), row.name)
