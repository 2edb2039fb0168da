"""The picture of sensitivity indices: what share of the variance each input explains."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.charts.amounts import capital, plain, short
from planner.outputs.charts.model import Axis, Bars, Chart, Layer, Panel, Whiskers
from planner.outputs.sensitivity_words import goal
from planner.schema.sensitivity import Index, Uncertain

MOST_ROWS = 20
_LABEL = 52
_AT, _PAIR = 0.14, 0.15


def indices(study: Uncertain) -> Chart:
    """Return the chart of first-order and total indices."""
    order = sorted(study.indices, key=lambda index: -index.total)
    shown = order[:MOST_ROWS]
    words = (
        f"Share of the variance of {goal(study)} that an input explains alone (first order) and "
        "with all its interactions (total). Thin lines: 95 % confidence."
    )
    if len(order) > len(shown):
        words += f" The {len(shown)} largest of {len(order)}."
    if study.indices_note:
        words += f" {capital(study.indices_note).rstrip('.')}."
    rows = tuple(short(index.label, _LABEL) for index in shown)
    layers: tuple[Layer, ...] = (
        *_index_layers(shown, "alone", -_PAIR),
        *_index_layers(shown, "in all", _PAIR),
    )
    panel = Panel(Axis("share of the variance"), Axis(""), layers, rows=rows)
    return Chart("indices", f"What makes {goal(study)} uncertain", words, (panel,))


def _index_layers(shown: Sequence[Index], which: str, offset: float) -> tuple[Bars, Whiskers]:
    total = which == "in all"
    values = [index.total if total else index.first for index in shown]
    halves = [index.total_confidence if total else index.first_confidence for index in shown]
    places = tuple(row + _AT + offset for row in range(len(shown)))
    bars = Bars(
        f"explains {which}",
        places,
        (0.0,) * len(values),
        tuple(values),
        tuple(_index(index) for index in shown),
        ("",) * len(values),
        "second" if total else "main",
        total,
        0.26,
    )
    lows = tuple(value - half for value, half in zip(values, halves, strict=True))
    highs = tuple(value + half for value, half in zip(values, halves, strict=True))
    return bars, Whiskers("95 % confidence", places, lows, highs)


def _index(index: Index) -> str:
    return "\n".join(
        (
            short(index.label, 60),
            f"alone: {plain(index.first)} ± {plain(index.first_confidence)}",
            f"in all: {plain(index.total)} ± {plain(index.total_confidence)}",
        )
    )
