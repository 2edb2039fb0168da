"""The sheets ``Sweep`` and ``Sweep table``: what comes of it, where the plan changes, its rows.

The rows themselves stand on a sheet of their own, ``Sweep table``, where they can be filtered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from planner import currency
from planner.figures import FIGURES
from planner.outputs.sensitivity_words import (
    STATUS,
    as_it_stands,
    asked_gap,
    goal,
    named,
    scenarios,
    sentence,
)
from planner.outputs.sweep_rows import (
    Rows,
    Stretch,
    bought,
    cell,
    is_number,
    known,
    length,
    numeric,
    reasons,
    stretches,
    varied,
)
from planner.outputs.words import clean, decimals, in_money, scale, write_figure
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import GENERAL, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.sensitivity.charts import FONT, GREY, NAVY, ORANGE, SOLID
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    RECORD,
    Cell,
    Stack,
    beginning,
    caption,
    figures,
    headed,
    legend,
    number_format,
    put,
    write_over,
)
from planner.schema.sensitivity import PLANNED, Column, Sweep

TABLE_SHEET = "Sweep table"

MOST_ROWS = 20_000
"""Rows that are written; the files have all."""

_WIDTHS = {"input": 14.0, "answer": 13.0, "count": 12.0, "total": 14.0, "job": 12.0, "text": 60.0}
_TEXT_WIDTH = 20.0
_ROW_POINTS, _NAMES_POINTS = 13.5, 40
_PAGE_WIDTH, _PRINT_PERCENT = 300.0, 60
"""Characters up to which a row is printed on one page, and the scale where it takes several."""

_SMALL_SHARE = "0.0000%"
_MOST_DIGITS = 6


class TablePlace(NamedTuple):
    """Where the rows of a sweep are: the first, how many, and each column by its name."""

    first: int
    rows: int
    columns: dict[str, int]

    def range(self, name: str) -> list[Any]:
        """Return the cells of a column for a chart."""
        column = self.columns[name]
        return [TABLE_SHEET, self.first, column, self.first + self.rows - 1, column]


def add_table(book: Book, study: Sweep, rows: Rows) -> TablePlace:
    """Add the sheet; return where its cells are.

    Args:
        rows: the table, by column; a column without any value is left out.
    """
    page = Page(book, TABLE_SHEET, "The rows of the sweep")
    page.sheet.set_default_row(_ROW_POINTS)
    count = length(rows)
    shown = min(count, MOST_ROWS)
    text = "A row for each scenario; under its title is the name that a column has in the files."
    if currency.current().code != "USD":
        text = f"{text} Amounts in the files are in USD."
    if shown < count:
        text = f"The first {shown:,} of {count:,} rows; the Parquet file has all of them. {text}"
    page.text(FIRST_ROW - 2, 0, text, "subtitle")
    columns = [c for c in study.columns if any(known(v) is not None for v in rows.get(c.name, ()))]
    top = FIRST_ROW
    page.sheet.set_row(top, _NAMES_POINTS)
    heads = [(headed(c.label, c.unit), _width(c, rows)) for c in columns]
    page.headers(top - 1, heads, 44)
    for place, column in enumerate(columns):
        page.text(top, place, column.name, "part code")
        _column(page, column, rows[column.name][:shown], (top + 1, place))
    if columns:
        page.sheet.autofilter(top, 0, top + shown, len(columns) - 1)
        page.sheet.repeat_rows(top - 1, top)
    inputs = sum(column.kind == "input" for column in columns)
    wide = sum(width for _, width in heads) > _PAGE_WIDTH
    if wide and inputs:
        page.sheet.repeat_columns(0, inputs - 1)
    page.finish(max(0, len(columns) - 1), (top + 1, inputs), _PRINT_PERCENT if wide else None)
    return TablePlace(top + 1, shown, {column.name: at for at, column in enumerate(columns)})


def _width(column: Column, rows: Rows) -> float:
    first = next((v for v in rows[column.name] if known(v) is not None), None)
    words = isinstance(first, str) and column.kind != "text"
    return _TEXT_WIDTH if words else _WIDTHS[column.kind]


def _column(page: Page, column: Column, values: Sequence[Any], at: tuple[int, int]) -> None:
    """Write the values of a column under one another, each with the look of its kind."""
    sheet, formats = page.sheet, page.book.formats
    number = formats.get("formula", format_of(column, values))
    text = formats.get("text")
    says = STATUS if column.name == "status" else {}
    first, place = at
    for row, value in enumerate(map(known, values), start=first):
        if is_number(value) and math.isfinite(value):
            sheet.write_number(row, place, value, number)
        elif value is None or value == "" or is_number(value):
            sheet.write_blank(row, place, None, number)
        else:
            shown = str(value)
            sheet.write_string(row, place, clean(says.get(shown, shown)).replace("\n", " "), text)


def format_of(column: Column, values: Sequence[Any]) -> str:
    """Return the number format of a column: inputs show every digit that tells them apart.

    Args:
        values: what it holds.
    """
    there = [v for v in map(known, values) if is_number(v) and math.isfinite(v)]
    if column.kind == "count":
        return INTEGER
    if column.name == "gap":
        return _SMALL_SHARE
    if column.kind != "input":
        return number_format(column.unit, there) if there else GENERAL
    share = column.unit == "share"
    digits = decimals([100.0 * v for v in there] if share else there)
    if digits > _MOST_DIGITS:
        return GENERAL
    point = f".{'0' * digits}" if digits else ""
    return f"0{point}%" if share else f"#,##0{point}"


MOST_ACROSS, MOST_DOWN = 60, 400
"""Values of the inputs up to which a matrix can be read."""

_LEAST_FILLED = 0.5
_MOST_LINES, _LEAST_POINTS = 8, 3
_WORST, _MIDDLE, _BEST = "#F4C9A8", "#FFFFFF", "#8FB4DC"


@dataclass(frozen=True)
class Matrix:
    """Two inputs and their values, one down and one across, and the rows where they meet."""

    rows: Rows
    inputs: tuple[Column, Column]
    down: tuple[Any, ...]
    across: tuple[Any, ...]
    places: dict[tuple[Any, Any], int]

    def heading(self, study: Sweep) -> str:
        """Return what the matrix shows."""
        down, across = (column.label for column in self.inputs)
        return f"{headed(goal(study), study.unit)}: down {down}, across {across}"

    def legend(self, study: Sweep) -> str:
        """Return what the colours mean."""
        better = "more" if study.sense == "maximize" else "less"
        return f"Blue is better ({better}), orange is worse; a word says why there is no value."

    def as_lines(self) -> bool:
        """Return whether the matrix can be drawn as a few lines over an input with numbers."""
        few = len(self.across) <= _MOST_LINES and len(self.down) >= _LEAST_POINTS
        return few and numeric(self.rows, self.inputs[0])

    def write(self, page: Stack, study: Sweep) -> int:
        """Write the matrix; return the row of its heads, whose values stand under them."""
        down, across = self.inputs
        top = page.row
        page.text(top, 0, f"{headed(*_named(down))} \\ {headed(*_named(across))}", "header")
        page.sheet.set_row(top, 32)
        style = page.book.formats.get("header", format_of(across, self.across))
        for place, value in enumerate(self.across, start=1):
            if isinstance(value, str):
                page.text(top, place, value, "header")
            else:
                page.sheet.write_number(top, place, value, style)
        numbers = (
            format_of(down, self.down),
            number_format(study.unit, [self._value(at) for at in self.places.values()]),
        )
        for row, value in enumerate(self.down, start=top + 1):
            self._row(page, row, value, numbers)
        page.row = top + 1 + len(self.down)
        self._colour(page, study, top)
        return top

    def _value(self, place: int) -> Any:
        return cell(self.rows, "objective", place)

    def _row(self, page: Stack, row: int, value: Any, numbers: tuple[str, str]) -> None:
        put(page, row, 0, value, numbers[0])
        for column, other in enumerate(self.across, start=1):
            place = self.places.get((value, other))
            if place is None:
                page.number(row, column, None)
            elif self._value(place) is None:
                status = str(cell(self.rows, "status", place))
                page.text(row, column, STATUS.get(status, status), "fixed", "right")
            else:
                page.number(row, column, self._value(place), numbers[1])

    def _colour(self, page: Stack, study: Sweep, top: int) -> None:
        low, high = (_WORST, _BEST) if study.sense == "maximize" else (_BEST, _WORST)
        rule = {"type": "3_color_scale", "min_color": low, "mid_color": _MIDDLE, "max_color": high}
        last = top + len(self.down)
        page.sheet.conditional_format(top + 1, 1, last, len(self.across), rule)


def _named(column: Column) -> tuple[str, str]:
    return column.label, column.unit


def matrix(study: Sweep, rows: Rows, inputs: Sequence[Column]) -> Matrix | None:
    """Return the matrix of two inputs, the one with fewer values across.

    None where there are not two, where they have too many values for a matrix to be read, where
    they hardly ever meet, or where they meet more than once.
    """
    if len(inputs) != 2:
        return None
    values = {c.name: _values(rows, c) for c in inputs}
    across, down = sorted(inputs, key=lambda c: len(values[c.name]))
    sizes = len(values[across.name]), len(values[down.name])
    if sizes[0] > MOST_ACROSS or sizes[1] > MOST_DOWN:
        return None
    places = {
        (cell(rows, down.name, at), cell(rows, across.name, at)): at for at in range(length(rows))
    }
    if len(places) < length(rows) or len(places) < _LEAST_FILLED * sizes[0] * sizes[1]:
        return None
    return Matrix(rows, (down, across), values[down.name], values[across.name], places)


def _values(rows: Rows, column: Column) -> tuple[Any, ...]:
    """Return the values of an input, numbers in their order."""
    distinct = dict.fromkeys(cell(rows, column.name, at) for at in range(length(rows)))
    return tuple(sorted(distinct)) if numeric(rows, column) else tuple(distinct)


CHART_ROWS = 25
"""Rows that a chart takes."""

_CHART_PX = 1180
_MARKED = 40
"""Rows up to which each is marked by a dot."""

_LOOKS = (
    (NAVY, "solid"), (ORANGE, "solid"), ("#00703C", "solid"), (GREY, "solid"),
    (NAVY, "dash"), (ORANGE, "dash"), ("#00703C", "dash"), (GREY, "dash"),
)  # fmt: skip


def add_curve(
    page: Stack, study: Sweep, over: Column, table: TablePlace, rows: Rows, at: int
) -> None:
    """Draw the objective and the bound that no plan passes over one input.

    Args:
        over: the input, which has numbers alone.
        table: where its values are.
        at: where the chart begins.
    """
    across = [float(value) for value in rows[over.name][: table.rows]]
    worth = [cell(rows, "objective", place) for place in range(table.rows)]
    if not any(map(is_number, worth)):
        return
    ordered = all(one <= other for one, other in pairwise(across))
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight"})
    for name, column, look in (
        (goal(study), "objective", {"color": NAVY, "width": 2.0}),
        ("no plan passes", "bound", {"color": ORANGE, "width": 1.25, "dash_type": "dash"}),
    ):
        if column in table.columns:
            dotted = not ordered or (column == "objective" and table.rows <= _MARKED)
            chart.add_series(
                {
                    "name": caption(name),
                    "categories": table.range(over.name),
                    "values": table.range(column),
                    "line": look if ordered else {"none": True},
                    "marker": _dot(str(look["color"])) if dotted else {"type": "none"},
                }
            )
    _finish(study, chart, figures(over.label, over.unit, across, **beginning(across)), worth)
    legend(chart)
    title = f"Best {goal(study)} over {over.label}"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_bars(
    page: Stack, study: Sweep, over: Column, table: TablePlace, rows: Rows, at: int
) -> None:
    """Draw the objective of each choice of an input.

    Args:
        over: the input, which is a choice.
        table: where its values are.
        at: where the chart begins.
    """
    if "objective" not in table.columns:
        return
    chart = page.book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": caption(goal(study)),
            "categories": table.range(over.name),
            "values": table.range("objective"),
            "gap": 45,
            "data_labels": {"value": True, "font": FONT, "num_format": "#,##0.0"},
            **SOLID,
        }
    )
    there = [value for value in map(known, rows["objective"]) if is_number(value)]
    chart.set_x_axis(figures(goal(study), study.unit, there, label_position="high"))
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT})
    chart.set_legend({"none": True})
    page.chart(chart, f"Best {goal(study)} by {over.label}", (at, CHART_ROWS), _CHART_PX)


def add_lines(page: Stack, study: Sweep, found: Matrix, top: int, at: int) -> None:
    """Draw the columns of a matrix as lines over the input that goes down.

    Args:
        top: the row of its heads.
        at: where the chart begins.
    """
    down, across = found.inputs
    last = top + len(found.down)
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for column, (value, (color, dash)) in enumerate(
        zip(found.across, _LOOKS, strict=False), start=1
    ):
        chart.add_series(
            {
                "name": caption(_value(across, value, found)),
                "categories": [page.name, top + 1, 0, last, 0],
                "values": [page.name, top + 1, column, last, column],
                "line": {"color": color, "width": 1.75, "dash_type": dash},
                "marker": _dot(color),
            }
        )
    worth = [cell(found.rows, "objective", place) for place in found.places.values()]
    values = [float(value) for value in found.down]
    _finish(study, chart, figures(down.label, down.unit, values, **beginning(values)), worth)
    legend(chart)
    title = f"Best {goal(study)} over {down.label}, lines: {across.label}"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _value(column: Column, value: Any, found: Matrix) -> str:
    """Return a value of the input across, with its unit."""
    if not all(map(is_number, found.across)):
        return write_figure(str(value), "")
    return scale([float(each) for each in found.across], column.unit).with_unit(float(value))


def _dot(color: str) -> dict[str, Any]:
    return {"type": "circle", "size": 5, "fill": {"color": color}, "border": {"color": color}}


def _finish(study: Sweep, chart: Any, across: dict[str, Any], worth: list[Any]) -> None:
    """Set the axes; where there is no plan, there is no line."""
    there = [float(value) for value in worth if is_number(value)]
    chart.set_x_axis({**across, "label_position": "low"})
    up = figures(goal(study), study.unit, there, label_position="low", **beginning(there))
    chart.set_y_axis(up)
    chart.show_blanks_as("gap")


SHEET = "Sweep"

_FROZEN = 2
_PATH = 5
"""Column where the places of inputs begin."""

_LABEL, _NUMBER, _NUMBERS = 46.0, 13.0, 10
_MOST_STRETCHES, _MOST_REASONS, _MOST_BARS = 500, 40, 30


def sheets(study: Sweep, rows: Rows) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEET: partial(add, study=study, rows=rows)}


def add(book: Book, study: Sweep, rows: Rows) -> None:
    """Add the sheet, and the sheet of its rows.

    Args:
        study: what the columns are and how the scenarios ended.
    """
    inputs = varied(study, rows)
    found = matrix(study, rows, inputs)
    across = max(_NUMBERS, 0 if found is None else len(found.across))
    page = Stack(book, SHEET, _title(study, inputs), [_LABEL, *[_NUMBER] * across])
    page.introduction(
        [f"{named(study)}. {sentence(as_it_stands(study))}", *_describe_proofs(study), RECORD]
    )
    _inputs(page, rows, [column for column in study.columns if column.kind == "input"])
    page.heading("How the scenarios ended")
    known = [*STATUS, *(name for name in study.statuses if name not in STATUS)]
    for name in known:
        if study.statuses.get(name):
            page.line([STATUS.get(name, name), (study.statuses[name], INTEGER)])
    table = add_table(book, study, rows)
    if found is not None:
        _matrix(page, study, found)
    elif len(inputs) == 1 and length(rows):
        _one(page, study, rows, inputs[0], table)
    _why_none(page, rows)
    page.finish_stack((_FROZEN, 1))


def _title(study: Sweep, inputs: Sequence[Column]) -> str:
    names = " and ".join(column.label for column in inputs[:2])
    more = f" and {len(inputs) - 2} more" if len(inputs) > 2 else ""
    return f"{goal(study).capitalize()} over {names}{more}" if names else "Sweep"


def _describe_proofs(study: Sweep) -> list[str]:
    """Return how the rows were proven, and where all of them are."""
    texts = [
        f"{scenarios(study.rows)}: {study.solved:,} needed a search, {study.reused:,} are "
        f"certified by what the searches of others proved. Where a row says "
        f"'{STATUS['optimal']}', its value is within {asked_gap(study)} of the bound that no plan "
        "passes."
    ]
    if study.asked > study.rows:
        texts.append(f"{study.asked - study.rows:,} of {study.asked:,} scenarios are not answered.")
    return texts


def _inputs(page: Stack, rows: Rows, inputs: Sequence[Column]) -> None:
    """Write what was varied, between which values, and where it stands in the problem."""
    page.heading("What was varied")
    top = page.heads(("Input", "Unit", "Values", "From", "To"), 20)
    page.sheet.merge_range(top, _PATH, top, page.last, "", page.book.formats.get("header"))
    page.text(top, _PATH, "In the problem file", "header")
    for column in inputs:
        values = rows.get(column.name, ())
        number = format_of(column, values)
        ends: list[Cell] = ["", ""]
        if numeric(rows, column):
            ends = [(min(values), number), (max(values), number)]
        count = (len(dict.fromkeys(values)), INTEGER)
        at = page.line([column.label, in_money(column.unit), count, *ends])
        _beside(page, at, _PATH, column.path)


def _beside(page: Stack, row: int, column: int, text: str) -> None:
    """Write a text over the columns that are left in a row."""
    write_over(page, row, column, page.last, text, sum(page.widths[column:]))


def _one(page: Stack, study: Sweep, rows: Rows, over_: Column, table: TablePlace) -> None:
    """Draw the objective over one input; where that is a number, list where the plan changes."""
    if numeric(rows, over_):
        page.row += 1
        add_curve(page, study, over_, table, rows, page.reserve(CHART_ROWS))
        page.break_page()
        _stretches(page, study, rows, over_)
    elif table.rows <= _MOST_BARS:
        page.row += 1
        add_bars(page, study, over_, table, rows, page.reserve(CHART_ROWS))


def _matrix(page: Stack, study: Sweep, found: Matrix) -> None:
    """Draw the matrix as lines where there are few, and write it coloured by what is better."""
    drawn = found.as_lines()
    if drawn:
        page.row += 1
        chart_at = page.reserve(CHART_ROWS)
        page.break_page()
    page.heading(found.heading(study))
    page.introduction([found.legend(study)])
    place = found.write(page, study)
    if drawn:
        add_lines(page, study, found, place, chart_at)


def _stretches(page: Stack, study: Sweep, rows: Rows, over_: Column) -> None:
    """Write from where to where along the input the plan is the same, or there is none."""
    found = stretches(study, rows, over_)
    page.heading(f"Where the plan changes with {over_.label}")
    if len(found) > _MOST_STRETCHES:
        page.introduction([f"The first {_MOST_STRETCHES} of {len(found):,} stretches."])
    work, place = headed(goal(study), study.unit), headed("", over_.unit).strip(", ")
    page.heads(("GPU systems and storage, or why there is no plan", f"From {place}".strip(),
                f"To {place}".strip(), "Rows", f"{work}, at 'from'", f"{work}, at 'to'",
                FIGURES["gpus_used"].label))  # fmt: skip
    number = format_of(over_, rows[over_.name])
    worth = format_of(_objective(study), rows.get("objective", ()))
    for each in found[:_MOST_STRETCHES]:
        page.line(_stretch(study, rows, over_, each, (number, worth)))


def _objective(study: Sweep) -> Column:
    return next(
        (column for column in study.columns if column.name == "objective"),
        Column(name="objective", label=goal(study), unit=study.unit, kind="answer"),
    )


def _stretch(
    study: Sweep, rows: Rows, over_: Column, each: Stretch, numbers: tuple[str, str]
) -> list[Cell]:
    planned, ends = each.status in PLANNED, (each.first, each.last)
    what = bought(study, rows, each.first)
    if not planned:
        texts = [reason.in_words for reason in each.reasons[:1]]
        what = ": ".join([STATUS.get(each.status, each.status), *texts])
    return [
        what,
        *((rows[over_.name][at], numbers[0]) for at in ends),
        (each.rows, INTEGER),
        *((cell(rows, "objective", at) if planned else None, numbers[1]) for at in ends),
        (cell(rows, "gpus_in_use", each.first) if planned else None, INTEGER),
    ]


def _why_none(page: Stack, rows: Rows) -> None:
    """Write why rows have no plan, the most frequent reason first."""
    found = reasons(rows)
    if not found:
        return
    page.heading("Why rows have no plan")
    for each in found[:_MOST_REASONS]:
        at = page.line([STATUS.get(each.status, each.status), (each.rows, INTEGER)])
        _beside(page, at, 2, each.in_words or "no reason is found")
    if len(found) > _MOST_REASONS:
        page.sentences([f"{len(found) - _MOST_REASONS:,} more reasons are in the table."])
