"""The sheet ``Uncertainty``: inputs, outcomes, broken limits, candidates, indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from planner.outputs.sensitivity_words import goal, named, units
from planner.outputs.uncertain_text import describe_draw, findings, marks, outcomes
from planner.outputs.words import in_money, scale
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_3, INTEGER, PERCENT, PERCENT_2
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.sensitivity.charts import (
    FONT,
    GREY,
    GRID,
    NAVY,
    ORANGE,
    SOLID,
    STRIPED,
    add_bar_series,
    axis,
)
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    RECORD,
    Cell,
    Stack,
    headed,
    legend,
    number_format,
)
from planner.schema.sensitivity import CandidatePlan, Percentiles, Uncertain, UncertainInput

CHART_ROWS = 17
"""Rows that each chart takes."""

_CHART_PX = 1080
_PALE = "#B7C9E2"
_PARTS = (
    ("5 % to 25 %", {"fill": {"color": _PALE}, "border": {"color": NAVY}}),
    ("25 % to median", SOLID),
    ("median to 75 %", {"fill": {"color": NAVY}, "border": {"color": "#FFFFFF"}}),
    ("75 % to 95 %", {"fill": {"color": _PALE}, "border": {"color": NAVY}}),
)


def spread(each: Percentiles) -> tuple[float, ...] | None:
    """Return an outcome's percentiles as shares of its median, None where that says nothing."""
    marks = (each.p5, each.p25, each.p50, each.p75, each.p95)
    if each.p50 <= 0 or each.p5 < 0 or not all(math.isfinite(mark) for mark in marks):
        return None
    return tuple(mark / each.p50 for mark in marks)


def add_spread(page: Stack, shown: Sequence[tuple[int, Percentiles]], at: int) -> None:
    """Draw bars from the 5th to the 95th percentile of each outcome about its median.

    Args:
        shown: row of each outcome in the table, and the outcome.
        at: where the chart begins.
    """
    first, left = shown[0][0], page.workings
    titles = ("Outcome, against its median", "5 %", *(name for name, _ in _PARTS))
    shares = [spread(each) or () for _, each in shown]
    for place, ((_, each), marked) in enumerate(zip(shown, shares, strict=True)):
        steps = [high - low for low, high in pairwise(marked)]
        values: list[Scalar] = [each.label, marked[0], *steps]
        page.beside(first + place, titles if place == 0 else (), values)
    last = first + len(shown) - 1
    chart = page.book.workbook.add_chart({"type": "bar", "subtype": "stacked"})
    hidden: dict[str, Any] = {"fill": {"none": True}, "border": {"none": True}}
    for column, (name, look) in enumerate((("", hidden), *_PARTS), start=1):
        chart.add_series(
            {
                "name": name or "up to 5 %",
                "categories": [page.name, first, left, last, left],
                "values": [page.name, first, left + column, last, left + column],
                "gap": 60,
                **look,
            }
        )
    low, high = min(m[0] for m in shares), max(m[-1] for m in shares)
    step = max(0.01, 10.0 ** math.floor(math.log10(max(high - low, 1e-3))))
    ends = {"min": step * math.floor(low / step), "max": step * math.ceil(high / step)}
    chart.set_x_axis(axis("Share of the median", num_format="0%", major_gridlines=GRID, **ends))
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT,
                      "crossing": "max", "line": {"color": GREY}})  # fmt: skip
    chart.set_legend({"none": True})
    title = (
        "How far outcomes spread about their median: nine in ten scenarios, the middle half dark"
    )
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_breaks(page: Stack, first: int, last: int, at: int) -> None:
    """Draw how often limits are broken.

    Args:
        first: row of the first limit that is.
        last: row of the last.
        at: where the chart begins.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    add_bar_series(page, chart, "Share of the scenarios", (first, last, 3), STRIPED, "0.0%")
    _finish(chart, "Share of the scenarios", "0%")
    chart.set_legend({"none": True})
    title = "How often the nominal plan breaks each limit, share of the scenarios"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_indices(page: Stack, first: int, last: int, at: int) -> None:
    """Draw first-order and total indices with their confidence.

    Args:
        first: row of the first input.
        last: row of the last.
        at: where the chart begins.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    for name, column, look in (("alone", 2, SOLID), ("in all", 4, STRIPED)):
        sure = page.area(first, last, column + 1)
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, first, 0, last, 0],
                "values": [page.name, first, column, last, column],
                "gap": 60,
                "y_error_bars": {
                    "type": "custom", "plus_values": sure, "minus_values": sure,
                    "line": {"color": ORANGE if look is SOLID else NAVY, "width": 1.25},
                },
                **look,
            }
        )  # fmt: skip
    _finish(chart, "Share of the variance", "0.0")
    legend(chart)
    title = "Share of the variance that each input explains, with 95 % confidence"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _finish(chart: Any, across: str, number: str) -> None:
    chart.set_x_axis(
        axis(across, num_format=number, major_gridlines=GRID, label_position="high", min=0)
    )
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT,
                      "line": {"color": GREY}})  # fmt: skip


SHEET = "Uncertainty"

_LABEL, _TEXT, _NUMBER = 40.0, 52.0, 14.0
_NUMBERS = 9
_FROZEN = 2
_PERCENTILES = ("Outcome", "Unit", "Scenarios", "Mean", "Least", "5 %", "25 %", "50 %", "75 %",
                "95 %", "Most")  # fmt: skip


def sheets(study: Uncertain) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEET: partial(add, study=study)}


def add(book: Book, study: Uncertain) -> None:
    """Add the sheet."""
    widths = (_LABEL, _TEXT, *[_NUMBER] * _NUMBERS)
    page = Stack(book, SHEET, "What becomes of the plan where inputs are not known exactly", widths)
    page.introduction(
        [
            f"{named(study)}: {describe_draw(study)}; every scenario solved and proven on its own.",
            RECORD,
        ]
    )
    texts = [study.message or "", *findings(study)]
    if any(texts):
        page.heading("What it shows")
        page.sentences(texts)
    _inputs(page, study.inputs)
    _outcomes(page, study)
    _breaks(page, study)
    _candidates(page, study)
    _indices(page, study)
    page.finish_stack((_FROZEN, 1))


def _inputs(page: Stack, inputs: Sequence[UncertainInput]) -> None:
    if not inputs:
        return
    page.heading("Not known exactly: what was drawn")
    page.heads(("Input, and its place in the problem", "Distribution", "Unit", "Least", "Median",
                "Most"), 20)  # fmt: skip
    for each in inputs:
        figures = (each.low, each.median, each.high)
        number = "0%" if each.unit == "share" else _exact(figures, each.unit)
        unit = "" if each.unit == "share" else in_money(each.unit)
        label = each.label if each.label == each.path else f"{each.label}\n{each.path}"
        texts = (label, each.distribution, unit)
        page.line([*texts, *((figure, number) for figure in figures)])


def _exact(figures: Sequence[float], unit: str) -> str:
    """Return a number format with as many decimals as the figures need."""
    digits = scale(figures, "").digits
    return number_format(unit, figures) if digits == 0 else f"#,##0.{'0' * digits}"


def _outcomes(page: Stack, study: Uncertain) -> None:
    """Write the percentiles, and draw how far each outcome of the best plans spreads."""
    for place, (title, several) in enumerate(outcomes(study)):
        if place == 0:
            page.break_page()
        page.heading(title)
        page.heads(_PERCENTILES, 20)
        rows = [(page.line(_outcome(each)), each) for each in several]
        shown = [(row, each) for row, each in rows if spread(each) is not None]
        if shown and place == 0:
            page.row += 1
            add_spread(page, shown, page.reserve(CHART_ROWS))


def _outcome(each: Percentiles) -> list[Cell]:
    figures = (each.mean, each.least, each.p5, each.p25, each.p50, each.p75, each.p95, each.most)
    number = number_format(each.unit, figures)
    unit = "" if each.unit == "share" else in_money(each.unit)
    cells: list[Cell] = [each.label, unit]
    cells.append((each.count, INTEGER))
    return [*cells, *((figure, number) for figure in figures)]


def _breaks(page: Stack, study: Uncertain) -> None:
    """Write how often the nominal plan breaks each limit, the most often first."""
    if not study.breaks:
        return
    page.break_page()
    page.heading("Limits that the nominal plan breaks where it is bought and inputs turn out so")
    page.heads(("Limit", "In the plan", "Scenarios", "Share", "Passed by, at worst"), 32)
    listed = sorted(study.breaks, key=lambda each: -each.share)
    first = page.row
    for each in listed:
        page.line([each.label, each.limit, (each.breaks, INTEGER),
                   (each.share, PERCENT), (each.worst, PERCENT)])  # fmt: skip
    broken = sum(each.breaks > 0 for each in listed)
    if broken:
        page.row += 1
        add_breaks(page, first, first + broken - 1, page.reserve(CHART_ROWS))


def _candidates(page: Stack, study: Uncertain) -> None:
    """Write the candidates; those with least regret and the best worst case stand out."""
    if not study.candidates:
        return
    page.heading("Plans kept as they are in every scenario")
    page.sentences(
        ["Only interval and GPUs in use are decided again. Regret is how far behind the best plan "
         "of a scenario a plan stays; a scenario in which it breaks a limit counts as 100 %. "
         "Scenarios without any plan are left out."]
    )  # fmt: skip
    work = headed(goal(study), study.unit)
    page.heads(("Plan", "GPU systems and storage", "Best in", "Within every limit",
                f"Mean: {work}", f"Worst: {work}", "Mean regret", "Most regret"))  # fmt: skip
    figures = [value for each in study.candidates for value in (each.mean, each.worst)]
    number = number_format(study.unit, figures)
    for place, each in enumerate(study.candidates):
        chosen = place in (study.least_regret, study.best_worst_case)
        page.line(_candidate(each, marks(study, place), number), marked=chosen)


def _candidate(each: CandidatePlan, mark: str, number: str) -> list[Cell]:
    return [
        f"{each.name}: {mark}" if mark else each.name,
        units(each.counts, len(each.counts)),
        (each.best_in, INTEGER),
        (each.feasible, PERCENT),
        (each.mean, number),
        ("breaks a limit" if each.worst is None else each.worst, number),
        (each.mean_regret, PERCENT_2),
        (each.most_regret, PERCENT_2),
    ]


def _indices(page: Stack, study: Uncertain) -> None:
    """Write and draw what share of the variance each input explains, the largest first."""
    if not study.indices and not study.indices_note:
        return
    page.break_page()
    page.heading(f"What explains the spread of {goal(study)}: shares of its variance")
    page.sentences([study.indices_note])
    if not study.indices:
        return
    page.heads(("Input", "In the problem file", "Alone (first order)", "± 95 %",
                "In all (total)", "± 95 %"))  # fmt: skip
    first = page.row
    for each in sorted(study.indices, key=lambda each: -each.total):
        figures = (each.first, each.first_confidence, each.total, each.total_confidence)
        page.line([each.label, each.path,
                   *((figure, DECIMAL_3) for figure in figures)])  # fmt: skip
    last = page.row - 1
    page.row += 1
    add_indices(page, first, last, page.reserve(CHART_ROWS))
