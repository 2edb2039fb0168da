"""Any study: its charts, what it found in a sentence or two, and tables that follow its charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.figures import FIGURES
from planner.outputs.charts.frontier import frontier
from planner.outputs.charts.markup import MOST_ROWS, Cells, Table, bought, cut, figures, words
from planner.outputs.charts.model import Chart
from planner.outputs.charts.scenarios import Scenarios
from planner.outputs.charts.sweep import scenario_table, sweep
from planner.outputs.charts.tornado import tornado
from planner.outputs.charts.uncertain import uncertain
from planner.outputs.charts.words import amount, capital, gap, plain, short
from planner.outputs.comparison_words import counted, listed
from planner.outputs.frontier_text import knee
from planner.outputs.frontier_text import marks as frontier_marks
from planner.outputs.scales import results
from planner.outputs.sensitivity_words import STATUS, goal, no_plan
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sweep_rows import Rows
from planner.outputs.uncertain_text import findings, marks, outcomes
from planner.schema.sensitivity import (
    VARIED,
    End,
    Frontier,
    Percentiles,
    Study,
    Sweep,
    Swing,
    Tornado,
    Uncertain,
    UncertainInput,
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


_PERCENTILES = {"least": "least", "p5": "5 %", "p25": "25 %", "p50": "median", "mean": "mean",
                "p75": "75 %", "p95": "95 %", "most": "most"}  # fmt: skip


def tables(study: AnyStudy, rows: Rows | None = None) -> dict[str, tuple[Table, ...]]:
    """Return the tables that follow each chart of a study, by the chart's name.

    Args:
        study: its record.
        rows: the table of a sweep, by column.
    """
    if isinstance(study, Sweep):
        found: dict[str, tuple[Table, ...]] = {
            "sweep": (scenario_table(Scenarios(study, rows or {})),)
        }
    elif isinstance(study, Frontier):
        found = {"frontier": (_frontier_table(study),)}
    elif isinstance(study, Tornado):
        found = {"tornado": (_tornado_table(study),)}
    else:
        found = _uncertain(study)
    return {name: tuple(table for table in each if table.total) for name, each in found.items()}


def _uncertain(study: Uncertain) -> dict[str, tuple[Table, ...]]:
    return {
        "outcomes": (_inputs(study), *(_outcomes(*titled) for titled in outcomes(study))),
        "breaks": (_breaks(study),),
        "candidates": (_candidates(study),),
        "indices": (_indices(study),),
    }


def _frontier_table(study: Frontier) -> Table:
    places = _spread(study)
    points = [study.points[place] for place in places]
    columns = [
        figures(study.x_label, [point.x for point in points], study.x_unit),
        words("", [frontier_marks(study, place) for place in places]),
        figures(study.y_label, [point.y for point in points], study.y_unit),
        figures("no plan has more than", [point.bound for point in points], study.y_unit),
        Cells("gap", tuple(gap(point.gap) for point in points)),
        _figures("gpus_used", [point.gpus_in_use for point in points]),
        _figures("goodput", [point.goodput for point in points]),
    ]
    if study.x_name != "cost":
        columns.append(_figures("capex_usd", [point.capex_usd for point in points]))
    if study.x_name != "power":
        columns.append(_figures("facility_power_kw", [p.facility_power_kw for p in points]))
    columns.append(bought([point.counts for point in points]))
    return Table("Plans on the curve", tuple(columns), len(study.points), "evenly chosen")


def _figures(name: str, values: Sequence[float | None]) -> Cells:
    figure = FIGURES[name]
    return figures(figure.label, values, "" if figure.says(figure.unit) else figure.unit)


def _spread(study: Frontier) -> list[int]:
    """Return the places of the points to show: the ends, the knee, the best, evenly between."""
    count = len(study.points)
    if count <= MOST_ROWS:
        return list(range(count))
    even = MOST_ROWS - 2
    chosen = {at * (count - 1) // (even - 1) for at in range(even)}
    return sorted(chosen | {at for at in (study.knee, study.best) if at is not None})


def _tornado_table(study: Tornado) -> Table:
    swings = study.swings
    return cut(
        "Inputs by how much they move it",
        words("input", [swing.label for swing in swings]),
        Cells("now", tuple(swing.base_text for swing in swings)),
        Cells("low", tuple(swing.low.text for swing in swings)),
        Cells(f"{goal(study)} there", tuple(_end(study, swing.low) for swing in swings)),
        Cells("high", tuple(swing.high.text for swing in swings)),
        Cells(f"{goal(study)} there", tuple(_end(study, swing.high) for swing in swings)),
        Cells("swing", tuple("" if swing.width is None else objective(study, swing.width)
                             for swing in swings)),
    )  # fmt: skip


def _end(study: Study, end: End) -> str:
    return no_plan(end) if end.objective is None else objective(study, end.objective)


def _inputs(study: Uncertain) -> Table:
    inputs = study.inputs
    return cut(
        "Inputs that are not known exactly",
        words("input", [each.label for each in inputs]),
        words("distribution", [each.distribution for each in inputs]),
        Cells("least drawn", tuple(_sample_text(each, each.low) for each in inputs)),
        Cells("median", tuple(_sample_text(each, each.median) for each in inputs)),
        Cells("most drawn", tuple(_sample_text(each, each.high) for each in inputs)),
    )


def _sample_text(each: UncertainInput, value: float) -> str:
    return f"choice {plain(value)}" if each.unit == "choice" else amount(value, each.unit)


def _outcomes(title: str, several: Sequence[Percentiles]) -> Table:
    scales = [results([getattr(one, step) for step in _PERCENTILES], one.unit)
              for one in several]  # fmt: skip
    columns = (
        Cells(head, tuple(written.text(getattr(one, step))
                          for one, written in zip(several, scales, strict=True)))
        for step, head in _PERCENTILES.items()
    )  # fmt: skip
    return cut(
        title,
        words("outcome", [one.label for one in several]),
        words("unit", [written.unit for written in scales]),
        *columns,
        figures("scenarios", [one.count for one in several]),
    )


def _breaks(study: Uncertain) -> Table:
    ranked = sorted(study.breaks, key=lambda rate: -rate.share)
    return cut(
        "Limits of the nominal plan",
        words("limit", [rate.label for rate in ranked]),
        figures("scenarios that break it", [rate.breaks for rate in ranked]),
        figures("share", [rate.share for rate in ranked], "share"),
        figures("passed at worst by", [rate.worst for rate in ranked], "share"),
    )


def _candidates(study: Uncertain) -> Table:
    plans = study.candidates
    worst = figures(f"worst {goal(study)}", [plan.worst for plan in plans], study.unit)
    return cut(
        "Plans kept as they are in every scenario",
        words("plan", [plan.name for plan in plans]),
        words("", [marks(study, place) for place in range(len(plans))]),
        figures("mean regret", [plan.mean_regret for plan in plans], "share"),
        figures("regret at worst", [plan.most_regret for plan in plans], "share"),
        figures("meets every limit in", [plan.feasible for plan in plans], "share"),
        figures("scenarios it is best in", [plan.best_in for plan in plans]),
        figures(f"mean {goal(study)}", [plan.mean for plan in plans], study.unit),
        Cells(worst.head, tuple(text or "breaks a limit" for text in worst.texts)),
        bought([plan.counts for plan in plans]),
    )


def _indices(study: Uncertain) -> Table:
    ranked = sorted(study.indices, key=lambda index: -index.total)
    return cut(
        "Share of the variance",
        words("input", [index.label for index in ranked]),
        figures("alone", [index.first for index in ranked]),
        figures("±", [index.first_confidence for index in ranked]),
        figures("in all", [index.total for index in ranked]),
        figures("±", [index.total_confidence for index in ranked]),
    )
