"""The chart of the sheet ``Tornado``: bars from low to high, the base in the middle."""

from __future__ import annotations

from typing import Any

from planner.outputs.comparison_words import changed_by
from planner.outputs.sensitivity_words import STATUS, amount, changes, goal
from planner.outputs.workbook.sensitivity.charts import FONT, GREY, SOLID, STRIPED
from planner.outputs.workbook.studies.axes import caption, figures
from planner.outputs.workbook.studies.stack import Stack, legend
from planner.schema.sensitivity import End, Swing, Tornado

MOST_BARS = 24
"""Inputs that the chart shows; the table has all."""

_AROUND, _PER_BAR = 8, 1.9
_CHART_PX = 1240
_TITLES = ("Bar", "Low, behind", "High", "Low, in front")
_SERIES = (("at low", SOLID), ("at high", STRIPED), ("at low", SOLID))
"""Bars lie over one another in this order: of two to the same side the shorter is in front."""

_NO_BREAK, _MINUS = "\u00a0", "\u2212"

Label = dict[str, Any]
_NONE: Label = {"delete": True}


def drawn(study: Tornado) -> list[Swing]:
    """Return the swings that the chart shows: the first of those that move somewhere known."""
    there = [each for each in study.swings if any(c is not None for c in changes(study, each))]
    return there[:MOST_BARS]


def chart_rows(study: Tornado) -> int:
    """Return how many rows the chart takes, none where there is nothing to draw."""
    count = len(drawn(study))
    return round(_AROUND + _PER_BAR * count) if count else 0


def add_bars(page: Stack, study: Tornado, first: int, place: tuple[int, int]) -> None:
    """Draw the swings.

    Args:
        page: the sheet.
        study: what to draw, which has a base.
        first: from which row on the figures of the bars stand to the right of the table.
        place: the first row of the chart, and how many it takes.
    """
    assert study.base is not None
    swings, at = drawn(study), page.workings
    last = first + len(swings) - 1
    for row, swing in enumerate(swings, start=first):
        titles = _TITLES if row == first else ()
        page.beside(row, titles, (swing.label, *_lengths(*changes(study, swing))))
    labels = list(zip(*(_labels(study, swing) for swing in swings), strict=True))
    chart = page.book.workbook.add_chart({"type": "bar"})
    for column, ((name, look), custom) in enumerate(zip(_SERIES, labels, strict=True), start=1):
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, first, at, last, at],
                "values": [page.name, first, at + column, last, at + column],
                "overlap": 100,
                "gap": 40,
                "data_labels": {"value": True, "font": FONT, "custom": list(custom)},
                **look,
            }
        )
    moved = [change for swing in swings for change in changes(study, swing)]
    across = figures(f"change of {goal(study)}", study.unit, moved, label_position="high")
    chart.set_x_axis(across)
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT,
                      "line": {"color": GREY, "width": 1.5}})  # fmt: skip
    legend(chart, 2)
    title = f"Change of {goal(study)} from {amount(study, study.base)}, by input"
    page.chart(chart, title, place, _CHART_PX)


def _lengths(low: float | None, high: float | None) -> tuple[float | None, ...]:
    """Return the bars in the order of the series; low is in front where it is the shorter."""
    shorter = low is not None and high is not None and abs(low) < abs(high)
    return (None, high, low) if shorter else (low, high, None)


def _labels(study: Tornado, swing: Swing) -> tuple[Label, Label, Label]:
    """Return the label of each bar; the longer of two to one side speaks for both."""
    low, high = changes(study, swing)
    texts = [_told(study, end, c) for end, c in ((swing.low, low), (swing.high, high))]
    both = _label("; ".join(texts))
    if high is None:
        return both, _NONE, _NONE
    if low is None:
        return _NONE, both, _NONE
    if low * high < 0:
        one, other = (_label(text) for text in texts)
        return (_NONE, other, one) if abs(low) < abs(high) else (one, other, _NONE)
    return (both, _NONE, _NONE) if abs(low) > abs(high) else (_NONE, both, _NONE)


def _label(text: str) -> Label:
    return {"value": caption(text)}


def _told(study: Tornado, end: End, change: float | None) -> str:
    """Return an end and what it changes; the parts do not break apart."""
    said = STATUS[end.status] if change is None else changed_by(change, study.unit)
    said = "no change" if change == 0 else said.replace("-", _MINUS)
    return f"{end.text}: {said}".replace(" ", _NO_BREAK)
