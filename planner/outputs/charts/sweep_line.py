"""A sweep over one number: a line of the best, its bound, and where there is no plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from planner.outputs.charts.amounts import amount, suited
from planner.outputs.charts.bound import BOUND, proven, shows
from planner.outputs.charts.model import (
    Axis,
    Band,
    Layer,
    Line,
    Panel,
    Points,
    Reference,
    Stretch,
)
from planner.outputs.charts.table import Table, spread
from planner.outputs.charts.ticks import is_wide, powers
from planner.outputs.comparison_words import counted
from planner.outputs.scales import Scale
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.schema.sensitivity import Column, Sweep

MOST_POINTS = 1_500
_FEW = 60
_MOST_TOLD = 3


class _Gap(NamedTuple):
    """Neighbouring scenarios without a plan: where it is shaded, their ends, how many they are."""

    start: float
    end: float
    first: float
    last: float
    rows: int


def line(table: Table, column: Column) -> tuple[Panel, str]:
    """Return the panel of a sweep over one number, and what is to be said of it."""
    study = table.sweep
    places = [value or 0.0 for value in table.numbers(column.name)]
    found, bounds = table.numbers("objective"), table.numbers("bound")
    order = sorted(range(table.length), key=lambda row: places[row])
    kept = [order[place] for place in spread(len(order), MOST_POINTS)]
    x, y = suited(places, column.unit), suited([study.base, *found], study.unit)
    xs = [places[row] / x.size for row in kept]
    ys, tops = ([None if (value := side[row]) is None else value / y.size for row in kept]
                for side in (found, bounds))  # fmt: skip
    hovers = [table.hover(row, [column]) for row in kept]
    log = is_wide(xs)
    gaps = list(_stretches(xs, ys, log))
    panel = Panel(
        Axis(column.label, x.unit, log, powers(xs) if log else ()),
        Axis(goal(study), y.unit),
        tuple(_layers(goal(study), xs, ys, tops, hovers)),
        stretches=tuple(Stretch("no plan", gap.start, gap.end) for gap in gaps),
        references=tuple(_base(study, y)),
    )
    return panel, _words(table, len(kept), gaps, (x, column.unit))


def _base(study: Sweep, y: Scale) -> Iterator[Reference]:
    if study.base is not None:
        yield Reference(f"as it stands: {objective(study, study.base)}", study.base / y.size)


def _words(table: Table, shown: int, gaps: Sequence[_Gap], along: tuple[Scale, str]) -> str:
    x, unit = along
    parts = [f"{counted(table.length, 'scenario')}."]
    if shown < table.length:
        parts = [f"{shown:,} of {table.length:,} scenarios, spread evenly."]
    better = "above" if table.sweep.sense == "maximize" else "below"
    parts.append(proven(table.gaps(), better))
    for gap in gaps[:_MOST_TOLD]:
        first, last = (amount(value * x.size, unit) for value in (gap.first, gap.last))
        where = f"at {first}" if first == last else f"from {first} to {last}"
        parts.append(f"No plan {where} ({counted(gap.rows, 'scenario')}).")
    more = len(gaps) - _MOST_TOLD
    if more > 0:
        parts.append(f"No plan in {counted(more, 'more stretch', 'more stretches')}.")
    return " ".join(parts)


def _layers(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float | None],
    tops: Sequence[float | None],
    hovers: Sequence[str],
) -> Iterator[Layer]:
    places = tuple(x if y is not None else None for x, y in zip(xs, ys, strict=True))
    if shows(ys, tops):
        yield Band(BOUND, places, tuple(ys), tuple(tops))
    yield Line(f"best {name}", places, tuple(ys))
    found = [(x, y, hover) for x, y, hover in zip(xs, ys, hovers, strict=True) if y is not None]
    points = tuple(x for x, _, _ in found), tuple(y for _, y, _ in found)
    told = tuple(hover for _, _, hover in found)
    yield Points("a scenario", *points, told, size=6.0 if len(found) <= _FEW else 3.5)


def _stretches(xs: Sequence[float], ys: Sequence[float | None], log: bool) -> Iterator[_Gap]:
    """Yield where there is no plan, shaded to halfway to the next place with one."""
    place = 0
    for without, group in groupby(ys, key=lambda y: y is None):
        count = len(list(group))
        first, last = place, place + count - 1
        place += count
        if without:
            start = _half(xs[first - 1], xs[first], log) if first else xs[first]
            end = _half(xs[last], xs[last + 1], log) if last + 1 < len(xs) else xs[last]
            yield _Gap(start, end, xs[first], xs[last], count)


def _half(one: float, other: float, log: bool) -> float:
    return float((one * other) ** 0.5) if log else (one + other) / 2
