"""What a study found, in a sentence or two."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.charts.amounts import amount, capital, short
from planner.outputs.charts.build import AnyStudy
from planner.outputs.charts.table import Table
from planner.outputs.comparison_words import counted, listed
from planner.outputs.frontier_text import knee
from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sweep_rows import Rows
from planner.outputs.uncertain_text import findings
from planner.schema.sensitivity import VARIED, Frontier, Sweep, Swing, Tornado, Uncertain

_LABEL = 60
_MOST_NAMED, _MOST_FOUND = 3, 4


def headline(study: AnyStudy, rows: Rows | None = None) -> str:
    """Return the finding of a study.

    Args:
        study: its record.
        rows: the table of a sweep, by column.
    """
    if isinstance(study, Sweep):
        parts = list(_sweep(Table(study, rows or {})))
    elif isinstance(study, Frontier):
        parts = list(_frontier(study))
    elif isinstance(study, Tornado):
        parts = list(_tornado(study))
    else:
        parts = findings(study)[:_MOST_FOUND] if study.outcomes or study.candidates else []
    if not parts and not isinstance(study, Sweep):
        parts = [study.message or f"{capital(STATUS[study.status])}."]
    return " ".join(parts)


def heading(study: AnyStudy) -> str:
    """Return the title of a study's part of a report."""
    if isinstance(study, Frontier):
        return f"{capital(study.y_label)} against {study.x_label}"
    if isinstance(study, Tornado):
        return f"What moves {goal(study)} most"
    if isinstance(study, Uncertain):
        return "Where inputs are not known exactly"
    names = [short(column.label, 40) for column in study.columns if column.kind == "input"]
    over = f"{len(names)} inputs" if len(names) > _MOST_NAMED else listed(names)
    return f"{capital(goal(study))} by {over}" if names else capital(goal(study))


def _frontier(study: Frontier) -> Iterator[str]:
    if study.best is not None:
        best = study.points[study.best]
        yield (
            f"The most {study.y_label} is {amount(best.y, study.y_unit)}, at "
            f"{amount(best.x, study.x_unit)} of {study.x_label}."
        )
    if study.knee is not None:
        yield knee(study)
    if not study.complete:
        yield "Not every plan of the curve is among these points."


def _tornado(study: Tornado) -> Iterator[str]:
    moving = [swing for swing in study.swings if swing.width]
    if moving:
        first = moving[0]
        low, high = (f"{objective(study, end.objective or 0.0)} at {short(end.text, 24)}"
                     for end in (first.low, first.high))  # fmt: skip
        yield f"{capital(short(first.label, _LABEL))} moves it most: {low}, {high}."
        others = listed([short(swing.label, _LABEL) for swing in moving[1:_MOST_NAMED]])
        if others:
            yield f"Then {others}."
    elif study.swings:
        yield "No input moves it."
    without = [short(swing.label, _LABEL) for swing in study.swings if _is_open(swing)]
    if without:
        named, more = without[:_MOST_NAMED], len(without) - _MOST_NAMED
        yield f"No plan at an end of {listed([*named, *([f'{more} more'] if more > 0 else [])])}."


def _is_open(swing: Swing) -> bool:
    return swing.low.objective is None or swing.high.objective is None


def _sweep(table: Table) -> Iterator[str]:
    study = table.sweep
    found = [value for value in table.numbers("objective") if value is not None]
    scenarios = counted(table.length, "scenario")
    if not found:
        yield f"None of {scenarios} has a plan." if table.length else "No scenario."
    elif study.objective == VARIED:
        yield f"{scenarios} of different objectives, whose values do not compare."
    else:
        yield f"{scenarios}; {_best(table)}."
        if min(found) != max(found):
            low, high = objective(study, min(found)), objective(study, max(found))
            yield f"It goes from {low} to {high}."
        if len(found) < table.length:
            none = counted(table.length - len(found), "scenario has", "scenarios have")
            yield f"{none} no plan."
    if study.rows < study.asked:
        yield f"{study.asked - study.rows:,} of those asked for are not answered."


def _best(table: Table) -> str:
    row = table.best_first()[0]
    columns = table.inputs()[:_MOST_NAMED]
    where = listed([f"{short(column.label, 40)} = {table.said(column, row)}" for column in columns])
    value = table.numbers("objective")[row] or 0.0
    return f"the best has {goal(table.sweep)} of {objective(table.sweep, value)} with {where}"
