"""A workbook in the making: sheets filled from the top, open cells, lists of figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, Literal, NamedTuple

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.utility import quote_sheetname, xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from planner.currency import Currency
from planner.figures import FIGURES as COMMON
from planner.figures import capital
from planner.report.words import MW_FROM_KW, clean
from planner.schema.explanation import Edit
from planner.workbook.live import WHOLE, Scalar, Shown, Term, V, of, or_na

INK, BAND, PALE, SOFT, RULE = "#16324F", "#16324F", "#C9D6E3", "#EEF3F8", "#D5DDE6"
GREY, TEXT, INPUT, BLUE, RED, BAR = (
    "#5B6B7B",
    "#1F2933",
    "#FFF8DC",
    "#0B3FD1",
    "#B42318",
    "#7FB2E5",
)
THIN: Mapping[str, Any] = {"bottom": 1, "bottom_color": RULE}
OPEN: Mapping[str, Any] = {"bg_color": INPUT, "font_color": BLUE, "locked": False, **THIN}
"""The look of a cell that may be edited."""

NUMBERS = {
    "n0": '#,##0;-#,##0;"–"',
    "n1": '#,##0.0;-#,##0.0;"–"',
    "n2": '#,##0.00;-#,##0.00;"–"',
    "mega": "#,##0.0##,",
    "n4": "0.0000##",
    "fine": "#,##0.00##",
    "small": "0.00E+00",
    "pct": "0.0##%",
    "pct0": '0.0##%;-0.0##%;"–"',
    "pct2": "0.00%",
    "date": "d mmmm yyyy",
    "any": "General",
    "text": "General",
    "wrap": "General",
}
"""Number formats by look; those of money depend on its currency."""

Kind = Literal[
    "quantity", "discount", "unit_list", "spares", "own_line", "figure", "limit", "remark"
]


class Allowed(NamedTuple):
    """What a cell that may be edited takes: a number in a range, one of some words, or any text."""

    low: float = 0.0
    high: float = 1e15
    whole: bool = False
    blank: bool = False
    words: tuple[str, ...] = ()
    text: bool = False

    def takes(self, value: Scalar) -> bool:
        """Whether a cell may hold a value; None is blank."""
        if value is None:
            return self.blank
        if self.text or self.words:
            return isinstance(value, str) and (self.text or value in self.words)
        if isinstance(value, (str, bool)) or not math.isfinite(value):
            return False
        return self.low <= value <= self.high and (not self.whole or float(value).is_integer())

    @property
    def expected(self) -> str:
        """What it takes, in words."""
        if self.text:
            return "a text"
        if self.words:
            return f"one of {', '.join(self.words)}"
        kind = "a whole number" if self.whole else "a number"
        most = f" to {self.high:,.10g}" if self.high < 1e12 else " or more"
        return f"{kind} from {self.low:g}{most}{', or nothing' if self.blank else ''}"

    def rule(self) -> dict[str, Any] | None:
        """The rule of a spreadsheet program for it, None for any text."""
        if self.text:
            return None
        if self.words:
            return {"validate": "list", "source": list(self.words)}
        return {
            "validate": "integer" if self.whole else "decimal",
            "criteria": "between",
            "minimum": self.low,
            "maximum": self.high,
            "ignore_blank": self.blank,
            "error_title": "Not possible here",
            "error_message": f"Type {self.expected}.",
        }


COUNT = Allowed(0, 10_000_000, whole=True)
SHARE = Allowed(0, 1)
ANY_TEXT = Allowed(text=True, blank=True)


class Meaning(NamedTuple):
    """What a cell is an input of, as an `Edit` says it; one without a kind means nothing."""

    kind: Kind | None
    key: str
    label: str
    unit: str = ""


class Input(NamedTuple):
    """A cell that may be edited, with what it holds as planned."""

    sheet: str
    cell: str
    of: Meaning
    value: Scalar
    allowed: Allowed

    def edit(self, after: Scalar) -> Edit:
        """The edit that puts another value here."""
        kind, key, label, unit = self.of
        assert kind is not None
        before, after = (
            value if isinstance(value, str) or value is None else float(value)
            for value in (self.value, after)
        )
        place = {"sheet": self.sheet, "cell": self.cell}
        meaning = {"kind": kind, "key": key, "label": label, "unit": unit}
        return Edit.model_validate({**place, **meaning, "before": before, "after": after})


Place = tuple[str, str]
"""A sheet and an address."""


class Book:
    """A workbook, and its cells.

    ``inputs`` are the cells that may be edited, ``at`` their places; ``cells`` all others that hold
    something, each with its formula or value; ``names`` the figures that formulas refer to by name,
    at their ``places``; ``free`` are places that mean nothing to a plan.

    Args:
        stream: where it goes.
        title: of the document.
        created: its date; the same date and content give the same bytes.
        currency: that of all amounts.
        typed: values to compute with in place of those as planned, by the place of their cell.
        keep: whether to keep ``cells``, which take memory.
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
        self.file = xlsxwriter.Workbook(
            stream,
            {
                "in_memory": True,  # no temporary files, which a full or closed TMPDIR refuses
                "default_format_properties": {"font_name": "Arial", "font_size": 10},
            },
        )
        self.file.set_properties({"title": self.title, "created": created})
        self.inputs: list[Input] = []
        self.cells: dict[Place, Scalar] = {}
        self.names: dict[str, V] = {}
        self.at: dict[Place, V] = {}
        self.places: dict[str, Place] = {}
        self.free: set[Place] = set()
        self._typed, self._keep = typed or {}, keep
        self._looks: dict[tuple[Any, ...], Format] = {}

    def look(self, kind: str = "text", **more: Any) -> Format:
        """A format by its kind of number, with more properties of XlsxWriter's."""
        key = (kind, *sorted(more.items()))
        found = self._looks.get(key)
        if found is None:
            base: dict[str, Any] = {"valign": "vcenter", "font_color": TEXT}
            base["num_format"] = self.number(kind)
            if kind in ("text", "wrap", "date"):
                base |= {"align": "left", "indent": 1, "text_wrap": kind == "wrap"}
            found = self._looks[key] = self.file.add_format(base | more)
        return found

    def number(self, kind: str) -> str:
        """A number format; ``usd`` is money in whole units, ``cents`` to its smallest."""
        if kind in NUMBERS:
            return NUMBERS[kind]
        digits = self.currency.decimals if kind == "cents" else 0
        plain = f"#,##0.{'0' * digits}" if digits else "#,##0"
        if kind == "large":
            return '#,##0.0,," M"'
        return f'{plain};-{plain};"–"'

    @property
    def code(self) -> str:
        """The code of the currency of all amounts."""
        return self.currency.code

    def name(self, name: str, cell: V) -> V:
        """Give a cell a name that formulas use from now on."""
        self.file.define_name(name, f"={cell.text}")
        self.names[name] = V(cell.value, name)
        return self.names[name]

    def keep(self, sheet: str, row: int, column: int, held: Scalar) -> None:
        """Keep what a cell holds, where that is asked for."""
        if self._keep and held is not None:
            self.cells[sheet, xl_rowcol_to_cell(row, column)] = held

    def typed(self, sheet: str, cell: str, planned: Scalar) -> Scalar:
        """The value of an input cell."""
        return self._typed.get((sheet, cell), planned)

    def close(self) -> None:
        """Write the file; its cells are let go first where nobody reads them after."""
        if not self._keep:
            self.at.clear()
        self.file.close()


class Page(Worksheet):  # type: ignore[misc]
    """A worksheet whose formulas name no function of later than Excel 2010.

    XlsxWriter looks for 29 of those in each formula, which takes a third of a bill of 10,000 lines.
    """

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return formula.removeprefix("=")


class Cell(V):
    """A cell, which formulas refer to by its absolute address."""

    __slots__ = ("column", "quoted", "row")

    def __init__(self, value: Shown, quoted: str, row: int, column: int) -> None:
        self.value, self.binds = value, WHOLE
        self.quoted, self.row, self.column = quoted, row, column

    @property
    def text(self) -> str:  # type: ignore[override]
        """Its address, worked out where a formula asks for it: most cells stand in none."""
        return f"{self.quoted}!{xl_rowcol_to_cell(self.row, self.column, True, True)}"


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
        self.page = book.file.add_worksheet(name, Page)
        self._quoted = quote_sheetname(name)
        self.page.hide_gridlines(2)
        for column, width in enumerate(widths):
            self.page.set_column(column, column, width)
        self.last = len(widths) - 1
        if landscape:
            self.page.set_landscape()
        self.page.set_paper(9)
        self.page.fit_to_pages(1, 0)
        self.page.set_margins(0.45, 0.45, 0.5, 0.6)
        title, shown = (text.replace("&", "&&") for text in (book.title[:80], name))
        self.page.set_footer(f"&L&8&K808080{title}&C&8&K808080{shown}&R&8&K808080Page &P of &N")
        allowed = {"format_columns": True, "format_rows": True, "autofilter": True}
        if locked:
            self.page.protect("", allowed)

    def put(self, row: int, column: int, value: Term, look: Format, name: str = "") -> V:
        """Write a value or a formula; return the cell, which formulas may read.

        Args:
            name: by which formulas refer to it, empty for its address.
        """
        if isinstance(value, V):
            shown = value.value if isinstance(value.value, (int, float, str)) else ""
            text: Scalar = f"={value.text}"
            self.page.write_formula(row, column, text, look, shown)
            self.book.keep(self.name, row, column, text)
            held: Shown = value.value
        else:
            held = self.write(row, column, value, look)
        return self._cell(row, column, held, name)

    def _cell(self, row: int, column: int, held: Shown, name: str) -> V:
        cell = Cell(held, self._quoted, row, column)
        if not name:
            return cell
        self.book.places[name] = self.name, xl_rowcol_to_cell(row, column)
        return self.book.name(name, cell)

    def write(self, row: int, column: int, value: Scalar, look: Format) -> Scalar:
        """Write a constant and return what the cell holds of it."""
        if value is None or value == "":
            self.page.write_blank(row, column, None, look)
            return None
        if isinstance(value, str):
            held: Scalar = clean(value)
            self.page.write_string(row, column, held, look)
        else:
            held = value if isinstance(value, int) else float(f"{value:.15g}")  # what a cell keeps
            self.page.write_number(row, column, held, look)
        self.book.keep(self.name, row, column, held)
        return held

    def span(self, first: int, last: int, column: int) -> str:
        """The absolute address of some cells of a column with their sheet."""
        ends = (xl_rowcol_to_cell(row, column, True, True) for row in (first, last))
        return f"{self._quoted}!{':'.join(ends)}"

    def input(
        self,
        row: int,
        column: int,
        value: Scalar,
        look: str,
        allowed: Allowed,
        meaning: Meaning,
        name: str = "",
        *,
        rule: bool = True,
    ) -> V:
        """Write a cell that may be edited; return it with the value to compute with.

        Args:
            rule: whether to have the spreadsheet program refuse what is not allowed.
        """
        address = xl_rowcol_to_cell(row, column)
        value = float(f"{value:.15g}") if isinstance(value, (int, float)) else value
        held = self.book.typed(self.name, address, value)
        self.write(row, column, held, self.book.look(look, **OPEN))
        self.book.cells.pop((self.name, address), None)  # it is an input
        if rule and (criteria := allowed.rule()):
            self.page.data_validation(row, column, row, column, criteria)
        planned = None if value == "" else value
        self.book.inputs.append(Input(self.name, address, meaning, planned, allowed))
        cell = self._cell(row, column, held, name)
        self.book.at[self.name, address] = cell
        return cell

    def rule(self, first: int, last: int, column: int, allowed: Allowed) -> None:
        """Have the spreadsheet program refuse what some cells of a column may not hold."""
        if last >= first and (criteria := allowed.rule()):
            self.page.data_validation(first, column, last, column, criteria)

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
        book, end = self.book, self.last if last is None else last
        self.page.set_row(0, 30)
        self.page.set_row(1, 18)
        self.over(
            0,
            0,
            end,
            title,
            book.look(bg_color=BAND, font_color="#FFFFFF", bold=True, font_size=16),
        )
        self.over(1, 0, end, under, book.look(bg_color=BAND, font_color=PALE, font_size=9))
        self.at = 3

    def heading(
        self, text: str, last: int | None = None, titles: Mapping[int, str] | None = None
    ) -> None:
        """Write the heading of a part, and titles of columns beside it."""
        look: dict[str, Any] = {"bottom": 2, "bottom_color": INK, "font_color": INK, "bold": True}
        self.fill(self.at, self.book.look(**look), 0, last)
        self.put(self.at, 0, text, self.book.look(**look, font_size=11))
        for column, title in (titles or {}).items():
            side = self.book.look(
                **{**look, "font_color": GREY, "font_size": 9, "align": "right", "indent": 0}
            )
            self.put(self.at, column, title, side)
        self.at += 1

    def text(self, value: Term, last: int | None = None, **more: Any) -> V:
        """Write a text over the sheet's columns, in a row as high as it needs."""
        end = self.last if last is None else last
        shown = value.value if isinstance(value, V) else value
        width = sum(self.widths[: end + 1]) * 10 / more.get("font_size", 10)
        self.page.set_row(self.at, height(str(shown), width, more.get("font_size", 10)))
        cell = self.over(self.at, 0, end, value, self.book.look("wrap", **more))
        self.at += 1
        return cell

    def area(self, first: int, last: int, wide: int | None = None) -> None:
        """Have some rows printed, of all columns or the first ones."""
        self.page.print_area(first, 0, last, self.last if wide is None else wide)


def height(text: str, width: float, size: float = 10) -> float:
    """The height of a row in which a text wraps, in points.

    Args:
        width: of its cell, in characters.
    """
    room = max(4.0, width * 1.05 - 2)
    lines = sum(max(1, math.ceil(len(line) / room)) for line in text.split("\n") or [""])
    return max(15.0, lines * size * 1.32 + 2)


def constant(value: Scalar) -> V:
    """A constant as a term of a formula, as a cell keeps it."""
    return of(float(f"{value:.15g}") if isinstance(value, float) else value)


# Lists of figures: label, value, unit and note; some may be edited.

LABEL, VALUE, UNIT, NOTE = range(4)
"""The columns of a list."""


class Figure(NamedTuple):
    """A figure's label, its unit and the look of its number; without a label that of its name."""

    label: str
    unit: str = ""
    look: str = "n1"


FIGURES = {
    # Inputs of the job.
    "async_stall_s": Figure("GPU stall per checkpoint", "s", "n2"),
    "drain_slowdown": Figure("", "", "pct"),
    "failures_per_gpu_day": Figure("", "1/day", "small"),
    "lost_time": Figure("", "", "pct"),
    "hardware_share": Figure("Interruptions with hardware out", "", "pct"),
    "swap_s": Figure("Replacement time", "s"),
    "hot_spares": Figure("Hot spares", "systems", "n0"),
    "delivered_fraction_write": Figure("", "", "pct"),
    "delivered_fraction_read": Figure("", "", "pct"),
    "client_write_gb_per_s": Figure("Client write limit", "GB/s", "n2"),
    "client_read_gb_per_s": Figure("Client read limit", "GB/s", "n2"),
    "fill_limit": Figure("", "", "pct"),
    "mfu": Figure("", "", "pct"),
    "tokens_trillion": Figure("Training tokens", "trillion", "n2"),
    "active_parameters_billion": Figure("Active parameters per token", "billion"),
    # How the job runs.
    "systems_used": Figure("", "systems", "n0"),
    "gpus_used": Figure("", "GPUs", "n0"),
    "nameplate_write": Figure("Nameplate write bandwidth", "GB/s"),
    "nameplate_read": Figure("Nameplate read bandwidth", "GB/s"),
    "stall_s": Figure("", "s", "n2"),
    "mtti_s": Figure("Mean time to interruption (MTTI)", "s", "n0"),
    "waiting": Figure("Waiting for repairs (spare exhaustion)", "", "pct2"),
    # Power and cost.
    "pue": Figure("", "", "n2"),
    "pue_liquid": Figure("", "", "n2"),
    "electricity_usd_per_kwh": Figure("", "USD/kWh", "n4"),
    "years": Figure("", "years", "n2"),
    "discount_rate": Figure("", "per year", "pct"),
    "colocation_usd_per_kw_month": Figure("", "USD/kW/month", "n2"),
    "heat_btu_per_h": Figure("", "BTU/h", "n0"),
    "support_over_term": Figure("Support over the term", "USD", "usd"),
    "tco_usd": Figure("Total cost of ownership (TCO)", "USD", "usd"),
    "usd_per_useful_gpu_hour": Figure("", "USD", "n4"),
    "usd_per_million_tokens": Figure("", "USD", "n4"),
}
"""By their name in formulas; all others are named as everywhere, with the look of their unit."""

_LOOKS = {"share": "pct2", "USD": "usd", "USD/year": "usd"}


def _figure(name: str) -> Figure:
    found = FIGURES.get(name) or FIGURES.get(name.partition(".")[0])
    if found is None:
        unit = COMMON[name].unit
        found = Figure("", "" if unit == "share" else unit, _LOOKS.get(unit, "n1"))
    return found if found.label else found._replace(label=capital(COMMON[name].label))


class Fact(NamedTuple):
    """A figure that follows from others, or stands as planned; the note says how."""

    name: str
    value: Term
    note: str = ""


class Given(NamedTuple):
    """A figure that may be edited; its key, to the first dot, is its name."""

    key: str
    value: Scalar
    note: str = ""
    allowed: Allowed = Allowed()
    more: str = ""
    """What the label says besides."""


def write_figures(sheet: Sheet, rows: Iterable[Fact | Given], cells: dict[str, V]) -> None:
    """Write figures one below the other; add each cell by name before the next is made."""
    for row in rows:
        name = row.key if isinstance(row, Given) else row.name
        cells[name] = _write(sheet, row, name)


def _write(sheet: Sheet, row: Fact | Given, name: str) -> V:
    book, at = sheet.book, sheet.at
    label, unit, look = _figure(name)
    if unit == "kW" and isinstance(row, Fact) and of(row.value).number > MW_FROM_KW:
        unit, look = "MW", "mega"
    if isinstance(row, Given) and row.more:
        label = f"{label}, {row.more}"
    sheet.put(at, LABEL, label, book.look("wrap", **THIN))
    sheet.put(at, UNIT, book.currency.named(unit), book.look(font_color=GREY, **THIN))
    quiet = book.look("wrap", font_color=GREY, font_size=9, **THIN)
    sheet.over(at, NOTE, sheet.last, row.note, quiet)
    room = sum(sheet.widths[NOTE:])
    high = max(height(label, sheet.widths[LABEL]), height(row.note, room, 9))
    sheet.page.set_row(at, high)
    sheet.at += 1
    if isinstance(row, Given):
        meaning = Meaning("figure", row.key, label, unit)
        return sheet.input(at, VALUE, row.value, look, row.allowed, meaning, row.key)
    value = or_na(row.value) if isinstance(row.value, V) else row.value
    return sheet.put(at, VALUE, value, book.look(look, align="right", **THIN), name)
