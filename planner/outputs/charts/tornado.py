"""The picture of a tornado: what the best plan does when one input goes from low to high."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.figures import capital
from planner.outputs.charts.model import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Chart,
    Layer,
    Panel,
    Reference,
    Tone,
    Whiskers,
)
from planner.outputs.charts.words import (
    axis_scale,
    counted_lines,
    in_scale,
    proof,
    short,
)
from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.words import Scale, counted
from planner.schema.sensitivity import End, Swing, Tornado

MOST_ROWS = 20
"""Inputs that one picture shows; the widest come first."""

_LABEL, _VALUE = 52, 24
_STILL = 1e-6
"""A change of the objective below this share of it is none."""
_THICKNESS, _APART = 0.3, 0.17


class _Bar(NamedTuple):
    """An end of a swing that has a plan, and the place of its bar."""

    row: float
    swing: Swing
    end: End
    value: float


def charts(study: Tornado) -> tuple[Chart, ...]:
    """Return the chart of a tornado."""
    return (_chart(study),)


def heading(study: Tornado) -> str:
    """Return the title of a tornado."""
    return f"What moves {goal(study)} most"


def _chart(study: Tornado) -> Chart:
    title = heading(study)
    moving = [swing for swing in study.swings if _moves(swing, study.base or 0.0)]
    shown = moving[:MOST_ROWS]
    if study.base is None or not shown:
        return Chart("tornado", title, study.message or "There is nothing to draw.")
    ends = [end.objective for swing in shown for end in (swing.low, swing.high)]
    unit = axis_scale([study.base, *ends], study.unit)
    base = study.base / unit.size
    panel = Panel(
        Axis(goal(study), unit.unit),
        Axis(""),
        tuple(_layers(study, shown, unit, base)),
        references=(Reference(f"as it stands: {objective(study, study.base)}", base, False),),
        rows=tuple(_row(swing) for swing in shown),
    )
    return Chart("tornado", title, " ".join(_words(study, len(shown), len(moving))), (panel,))


def _moves(swing: Swing, base: float) -> bool:
    ends = (swing.low.objective, swing.high.objective)
    return any(end is None or abs(end - base) > _STILL * abs(base) for end in ends)


def _words(study: Tornado, shown: int, moving: int) -> Iterator[str]:
    cut = f", the {shown} widest shown" if shown < moving else ""
    yield f"{counted(len(study.swings), 'input')} changed one at a time{cut}."
    if moving < len(study.swings):
        yield f"{len(study.swings) - moving} of them change nothing within their range."
    yield "Beside each bar: the input's value there."
    if any(end.objective is None for swing in study.swings for end in (swing.low, swing.high)):
        yield "Where an end has no plan, its row says so."
    if study.message:
        yield study.message


def _row(swing: Swing) -> str:
    without = [
        f"{side} {short(end.text, _VALUE)}: {STATUS[end.status]}"
        for side, end in (("low", swing.low), ("high", swing.high))
        if end.objective is None
    ]
    return "; ".join([short(f"{swing.label}, now {swing.base_text}", _LABEL), *without])


def _layers(study: Tornado, shown: Sequence[Swing], unit: Scale, base: float) -> Iterator[Layer]:
    found = {side: list(_bars(study, shown, side)) for side in ("low", "high")}
    looks: dict[str, tuple[Tone, bool]] = {"low": ("main", False), "high": ("second", True)}
    for side, bars in found.items():
        yield Bars(
            f"input at its {side} end",
            tuple(bar.row for bar in bars),
            (base,) * len(bars),
            in_scale([bar.value for bar in bars], unit),
            tuple(_hover(study, bar) for bar in bars),
            tuple(short(bar.end.text, _VALUE) for bar in bars),
            *looks[side],
            _THICKNESS,
        )
    proofs = [
        (bar.row, *sorted((bar.value, bar.end.bound)))
        for bars in found.values()
        for bar in bars
        if bar.end.bound is not None and bar.end.bound != bar.value
    ]
    if proofs:
        rows, lows, highs = zip(*proofs, strict=True)
        yield Whiskers("up to its bound", rows, in_scale(lows, unit), in_scale(highs, unit))


def _bars(study: Tornado, shown: Sequence[Swing], side: str) -> Iterator[_Bar]:
    for row, swing in enumerate(shown):
        end: End = getattr(swing, side)
        if end.objective is not None:
            place = row + ROW_MIDDLE + _offset(study.base or 0.0, swing, side)
            yield _Bar(place, swing, end, end.objective)


def _offset(base: float, swing: Swing, side: str) -> float:
    """Return how far a bar is moved out of the way of one that goes to the same side."""
    low, high = swing.low.objective, swing.high.objective
    if low is None or high is None or (low - base) * (high - base) < 0:
        return 0.0
    return -_APART if side == "low" else _APART


def _hover(study: Tornado, bar: _Bar) -> str:
    bound = bar.end.bound
    share = None if bound is None else abs(bound - bar.value) / abs(bar.value or 1.0)
    change = bar.value - (study.base or 0.0)
    sign = "+" if change >= 0 else "-"
    return "\n".join(
        (
            f"{capital(short(bar.swing.label, 60))}: {short(bar.end.text, 60)}",
            *counted_lines(bar.end.counts),
            *proof(study, bar.value, bound, share),
            f"{sign}{objective(study, abs(change))} against as it stands",
        )
    )


_NAME, _MOST_NAMED = 60, 3
