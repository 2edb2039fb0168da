"""The sheet ``Sweep``: what was varied, a picture of what comes of it, where the plan changes.

The rows themselves stand on a sheet of their own, ``Sweep table``, where they can be filtered.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    length,
    numeric,
    reasons,
    stretches,
    varied,
)
from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import GENERAL, INTEGER
from planner.outputs.workbook.studies import sweep_table
from planner.outputs.workbook.studies.grid import over
from planner.outputs.workbook.studies.stack import RECORD, Stack, headed
from planner.outputs.workbook.studies.sweep_charts import CHART_ROWS, add_bars, add_curve, add_lines
from planner.outputs.workbook.studies.sweep_matrix import Matrix, matrix
from planner.outputs.workbook.studies.sweep_table import Table, format_of
from planner.schema.sensitivity import PLANNED, Column, Sweep

SHEET = "Sweep"

_FROZEN = 2
_PATH = 5
"""Column where the places of inputs begin."""

_LABEL, _NUMBER, _NUMBERS = 46.0, 13.0, 10
_MOST_STRETCHES, _MOST_REASONS, _MOST_BARS = 500, 40, 30


def add(book: Book, study: Sweep, rows: Rows) -> None:
    """Add the sheet, and the sheet of its rows.

    Args:
        book: the workbook.
        study: what the columns are and how the scenarios ended.
        rows: the table, by column.
    """
    inputs = varied(study, rows)
    found = matrix(study, rows, inputs)
    across = max(_NUMBERS, 0 if found is None else len(found.across))
    page = Stack(book, SHEET, _title(study, inputs), [_LABEL, *[_NUMBER] * across])
    page.introduction([f"{named(study)}. {sentence(as_it_stands(study))}", *_told(study), RECORD])
    _inputs(page, rows, [column for column in study.columns if column.kind == "input"])
    _ended(page, study)
    table = sweep_table.add(book, study, rows)
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


def _told(study: Sweep) -> list[str]:
    """Return how the rows were proven, and where all of them are."""
    said = [
        f"{scenarios(study.rows)}: {study.solved:,} needed a search, {study.reused:,} are "
        f"certified by what the searches of others proved. Where a row says "
        f"'{STATUS['optimal']}', its value is within {asked_gap(study)} of the bound that no plan "
        "passes."
    ]
    if study.asked > study.rows:
        said.append(f"{study.asked - study.rows:,} of {study.asked:,} scenarios are not answered.")
    return said


def _inputs(page: Stack, rows: Rows, inputs: Sequence[Column]) -> None:
    """Write what was varied, between which values, and where it stands in the problem."""
    page.heading("What was varied")
    top = page.heads(("Input", "Unit", "Values", "From", "To"), 20)
    page.sheet.merge_range(top, _PATH, top, page.last, "", page.book.formats.get("header"))
    page.text(top, _PATH, "In the problem file", "header")
    for column in inputs:
        values = rows.get(column.name, ())
        number = format_of(column, values)
        ends: list[tuple[Scalar, str]] = [("", GENERAL), ("", GENERAL)]
        if numeric(rows, column):
            ends = [(min(values), number), (max(values), number)]
        count = (len(dict.fromkeys(values)), INTEGER)
        at = page.line([(column.label, GENERAL), (column.unit, GENERAL), count, *ends])
        _beside(page, at, _PATH, column.path)


def _beside(page: Stack, row: int, column: int, text: str) -> None:
    """Write a text over the columns that are left in a row."""
    over(page, row, column, page.last, text, sum(page.widths[column:]))


def _ended(page: Stack, study: Sweep) -> None:
    page.heading("How the scenarios ended")
    known = [*STATUS, *(name for name in study.statuses if name not in STATUS)]
    for name in known:
        if study.statuses.get(name):
            page.line([(STATUS.get(name, name), GENERAL), (study.statuses[name], INTEGER)])


def _one(page: Stack, study: Sweep, rows: Rows, over_: Column, table: Table) -> None:
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
                "GPUs in use"))  # fmt: skip
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
) -> list[tuple[Scalar, str]]:
    planned, ends = each.status in PLANNED, (each.first, each.last)
    what = bought(study, rows, each.first)
    if not planned:
        said = [reason.said for reason in each.reasons[:1]]
        what = ": ".join([STATUS.get(each.status, each.status), *said])
    return [
        (what, GENERAL),
        *((rows[over_.name][at], numbers[0]) for at in ends),
        (each.rows, INTEGER),
        *((cell(rows, "objective", at) if planned else None, numbers[1]) for at in ends),
        (cell(rows, "gpus_in_use", each.first) if planned else None, INTEGER),
    ]


def _why_none(page: Stack, rows: Rows) -> None:
    """Write why rows have no plan, the most frequent reason first."""
    told = reasons(rows)
    if not told:
        return
    page.heading("Why rows have no plan")
    for each in told[:_MOST_REASONS]:
        at = page.line([(STATUS.get(each.status, each.status), GENERAL), (each.rows, INTEGER)])
        _beside(page, at, 2, each.said or "no reason is told")
    if len(told) > _MOST_REASONS:
        page.sentences([f"{len(told) - _MOST_REASONS:,} more reasons are in the table."])
