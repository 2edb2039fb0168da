"""The sheet ``Tornado``: inputs one at a time, the widest swing first, about the base."""

from __future__ import annotations

from functools import partial
from typing import Any

from planner.outputs.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    changes,
    goal,
    named,
    sentence,
    units,
)
from planner.outputs.words import changed_by, in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import INTEGER
from planner.outputs.workbook.sensitivity.charts import FONT, GREY, SOLID, STRIPED
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    RECORD,
    Cell,
    Stack,
    caption,
    figures,
    legend,
    number_format,
    signed,
)
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado

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


def choose_swings(study: Tornado) -> list[Swing]:
    """Return the swings that the chart shows: the first of those that move somewhere known."""
    there = [each for each in study.swings if any(c is not None for c in changes(study, each))]
    return there[:MOST_BARS]


def chart_rows(study: Tornado) -> int:
    """Return how many rows the chart takes, none where there is nothing to draw."""
    count = len(choose_swings(study))
    return round(_AROUND + _PER_BAR * count) if count else 0


def add_bars(page: Stack, study: Tornado, first: int, place: tuple[int, int]) -> None:
    """Draw the swings.

    Args:
        study: what to draw, which has a base.
        first: from which row on the figures of the bars stand to the right of the table.
        place: the first row of the chart, and how many it takes.
    """
    assert study.base is not None
    swings, at = choose_swings(study), page.workings
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
    texts = [_write_change(study, end, c) for end, c in ((swing.low, low), (swing.high, high))]
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


def _write_change(study: Tornado, end: End, change: float | None) -> str:
    """Return an end and what it changes; the parts do not break apart."""
    text = STATUS[end.status] if change is None else changed_by(change, study.unit)
    text = "no change" if change == 0 else text.replace("-", _MINUS)
    return f"{end.text}: {text}".replace(" ", _NO_BREAK)


SHEET = "Tornado"

_FROZEN = 2
_TEXTS = 44.0
_HEADS = (
    ("Rank", 7.0), ("Input", 36.0), ("As it stands", 12.5),
    ("Low", 12.5), ("At low", 12.5), ("Change at low", 12.5), ("No plan passes, at low", 12.5),
    ("High", 12.5), ("At high", 12.5), ("Change at high", 12.5), ("No plan passes, at high", 12.5),
    ("Width", 13.0), ("at least", 13.0), ("at most", 13.0),
    ("Bought at low, or why there is no plan", _TEXTS),
    ("Bought at high, or why there is no plan", _TEXTS), ("In the problem file", 36.0),
)  # fmt: skip


def sheets(study: Tornado) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEET: partial(add, study=study)}


def add(book: Book, study: Tornado) -> None:
    """Add the sheet."""
    title = f"What the {goal(study)} depends on, one input at a time"
    page = Stack(book, SHEET, title, [width for _, width in _HEADS])
    unit = f" in {in_money(study.unit)}" if study.unit else ""
    page.introduction(
        [
            f"{named(study)}. {sentence(as_it_stands(study))}",
            f"Each end of a bar is the best plan of the same problem with one input changed, "
            f"solved again and proven within {asked_gap(study)}; figures are {goal(study)}{unit}.",
            f"The true width lies between 'at least' and 'at most'. {RECORD}",
            *([study.message] if study.message else []),
        ]
    )
    page.row += 1
    rows = chart_rows(study)
    chart_at = page.reserve(rows) if rows else page.row
    if study.swings:
        first = _table(page, study)
        if rows:
            add_bars(page, study, first, (chart_at, rows))
    page.finish_stack((_FROZEN, 2))


def _table(page: Stack, study: Tornado) -> int:
    """Write the swings, each a row with a filter over its head; return the first."""
    values = [end.objective for s in study.swings for end in (s.low, s.high)]
    number = number_format(study.unit, values)
    rows = (_row(study, place, swing, number) for place, swing in enumerate(study.swings, start=1))
    return page.table([title for title, _ in _HEADS], rows)


def _row(study: Tornado, place: int, swing: Swing, number: str) -> list[Cell]:
    cells: list[Cell] = [(place, INTEGER), swing.label, swing.base_text]
    for end, change in zip((swing.low, swing.high), changes(study, swing), strict=True):
        worth = STATUS[end.status] if end.status not in PLANNED else end.objective
        cells += [end.text, (worth, number), (change, signed(number))]
        cells.append((end.bound, number))
    cells += [(w, number) for w in (swing.width, swing.least_width, swing.most_width)]
    return [*cells, describe_end(swing.low), describe_end(swing.high), swing.path]


def describe_end(end: End) -> str:
    """Return what the plan of an end buys, or why it has none."""
    if end.status in PLANNED:
        return units(end.counts, len(end.counts))
    return f"no plan: {end.reason}" if end.reason else STATUS[end.status]
