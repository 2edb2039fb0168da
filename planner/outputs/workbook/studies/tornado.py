"""The sheet ``Tornado``: inputs one at a time, the widest swing first, about the base."""

from __future__ import annotations

from planner.outputs.sensitivity_words import (
    STATUS,
    as_it_stands,
    asked_gap,
    changes,
    goal,
    named,
    sentence,
    units,
)
from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import GENERAL, INTEGER
from planner.outputs.workbook.studies.grid import number_format, signed
from planner.outputs.workbook.studies.stack import RECORD, Stack
from planner.outputs.workbook.studies.tornado_chart import add_bars, chart_rows
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado

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


def add(book: Book, study: Tornado) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        study: what to show.
    """
    title = f"What the {goal(study)} depends on, one input at a time"
    page = Stack(book, SHEET, title, [width for _, width in _HEADS])
    unit = f" in {study.unit}" if study.unit else ""
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
    top = page.heads([title for title, _ in _HEADS])
    values = [end.objective for s in study.swings for end in (s.low, s.high)]
    number = number_format(study.unit, values)
    for place, swing in enumerate(study.swings, start=1):
        page.line(_row(study, place, swing, number))
    page.sheet.autofilter(top, 0, page.row - 1, page.last)
    page.sheet.repeat_rows(top)
    return top + 1


def _row(study: Tornado, place: int, swing: Swing, number: str) -> list[tuple[Scalar, str]]:
    cells: list[tuple[Scalar, str]] = [
        (place, INTEGER), (swing.label, GENERAL), (swing.base_text, GENERAL),
    ]  # fmt: skip
    for end, change in zip((swing.low, swing.high), changes(study, swing), strict=True):
        worth = STATUS[end.status] if end.status not in PLANNED else end.objective
        cells += [(end.text, GENERAL), (worth, number), (change, signed(number))]
        cells.append((end.bound, number))
    cells += [(w, number) for w in (swing.width, swing.least_width, swing.most_width)]
    return [*cells, *((told(end), GENERAL) for end in (swing.low, swing.high)),
            (swing.path, GENERAL)]  # fmt: skip


def told(end: End) -> str:
    """Return what the plan of an end buys, or why it has none."""
    if end.status in PLANNED:
        return units(end.counts, len(end.counts))
    return f"no plan: {end.reason}" if end.reason else STATUS[end.status]
