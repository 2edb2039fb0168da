"""Any study: its charts, what it found in a sentence or two, and tables that follow its charts."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs import blocks as blocks_of
from planner.outputs.charts.frontier import frontier
from planner.outputs.charts.markup import MOST_ROWS, Cells, Table, figures
from planner.outputs.charts.model import Chart
from planner.outputs.charts.scenarios import Scenarios
from planner.outputs.charts.sweep import scenario_table, sweep
from planner.outputs.charts.tornado import tornado
from planner.outputs.charts.uncertain import uncertain
from planner.outputs.charts.words import amount, capital, short
from planner.outputs.comparison_words import counted, listed
from planner.outputs.frontier_text import knee
from planner.outputs.frontier_text import view as frontier_view
from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sweep_rows import Rows
from planner.outputs.tornado_text import view as tornado_view
from planner.outputs.uncertain_text import findings
from planner.outputs.uncertain_text import view as uncertain_view
from planner.schema.sensitivity import (
    VARIED,
    Frontier,
    Sweep,
    Swing,
    Tornado,
    Uncertain,
)

AnyStudy = Frontier | Sweep | Tornado | Uncertain


def charts(study: AnyStudy, rows: Rows | None = None) -> tuple[Chart, ...]:
    """Return the charts of a study.

    Args:
        study: its record.
        rows: the table of a sweep, by column; other studies have none.
    """
    if isinstance(study, Uncertain):
        return uncertain(study)
    if isinstance(study, Sweep):
        return (sweep(study, rows or {}),)
    return (frontier(study) if isinstance(study, Frontier) else tornado(study),)


_LABEL = 60
_MOST_NAMED, _MOST_FOUND = 3, 4


def headline(study: AnyStudy, rows: Rows | None = None) -> str:
    """Return the finding of a study.

    Args:
        study: its record.
        rows: the table of a sweep, by column.
    """
    if isinstance(study, Sweep):
        parts = list(_sweep_found(Scenarios(study, rows or {})))
    elif isinstance(study, Frontier):
        parts = list(_frontier_found(study))
    elif isinstance(study, Tornado):
        parts = list(_tornado_found(study))
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


def _frontier_found(study: Frontier) -> Iterator[str]:
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


def _tornado_found(study: Tornado) -> Iterator[str]:
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


def _sweep_found(table: Scenarios) -> Iterator[str]:
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


def _best(table: Scenarios) -> str:
    row = table.best_first()[0]
    columns = table.inputs()[:_MOST_NAMED]
    where = listed(
        [f"{short(column.label, 40)} = {table.text_of(column, row)}" for column in columns]
    )
    value = table.numbers("objective")[row] or 0.0
    return f"the best has {goal(table.sweep)} of {objective(table.sweep, value)} with {where}"


def tables(study: AnyStudy, rows: Rows | None = None) -> dict[str, tuple[Table, ...]]:
    """Return the tables that follow each chart of a study, by the chart's name.

    Args:
        study: its record.
        rows: the table of a sweep, by column.
    """
    if isinstance(study, Sweep):
        return {"sweep": (scenario_table(Scenarios(study, rows or {})),)}
    if isinstance(study, Frontier):
        blocks = frontier_view(study)
    else:
        blocks = tornado_view(study) if isinstance(study, Tornado) else uncertain_view(study)
    found: dict[str, tuple[Table, ...]] = {}
    for block in blocks:
        if isinstance(block, blocks_of.Table) and block.near and block.count:
            found[block.near] = (*found.get(block.near, ()), _table(block))
    return found


def _table(block: blocks_of.Table) -> Table:
    """Return a table as a page has it."""
    which = "the first"
    places = list(range(min(block.count, MOST_ROWS)))
    if block.most is not None:
        which, places = "evenly chosen", blocks_of.chosen(block.count, MOST_ROWS, block.kept)
    columns = tuple(_column(column) for column in block.of(places).on("page"))
    return Table(block.called or block.title, columns, block.count, which)


def _column(column: blocks_of.Column) -> Cells:
    texts = [value for value in column.values if isinstance(value, str)]
    if len(texts) == len(column.values):
        return Cells(column.label, tuple(texts), column.words)
    values = [None if isinstance(value, str) else value for value in column.values]
    return figures(column.label, values, column.unit)
