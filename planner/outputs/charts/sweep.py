"""A sweep: one input a line, two a map, more a panel each; and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from planner.figures import capital
from planner.outputs.charts.model import (
    Axis,
    Band,
    Chart,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Reference,
    ShadedRange,
    is_wide,
    powers,
)
from planner.outputs.charts.scenarios import Scenarios, spread
from planner.outputs.charts.words import (
    BOUND,
    amount,
    axis_scale,
    in_scale,
    plain,
    proven,
    short,
    shows,
)
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import ended, goal
from planner.outputs.sweep_rows import Rows
from planner.outputs.words import Scale, counted, listed, scale
from planner.schema.sensitivity import Column, Sweep

_MOST_NAMED = 3


def charts(study: Sweep, rows: Rows) -> tuple[Chart, ...]:
    """Return the chart of a sweep."""
    return (_chart(study, rows),)


def heading(study: Sweep) -> str:
    """Return the title of a sweep."""
    names = [short(column.label, 40) for column in study.columns if column.kind == "input"]
    over = f"{len(names)} inputs" if len(names) > _MOST_NAMED else listed(names)
    return f"{capital(goal(study))} by {over}" if names else capital(goal(study))


def _chart(study: Sweep, rows: Rows) -> Chart:
    table = Scenarios(study, rows)
    inputs = table.inputs() if table.length else []
    title = _title(study, inputs)
    if not any(value is not None for value in table.numbers("objective")):
        return Chart("sweep", title, _nothing(table))
    if not inputs:
        return Chart("sweep", title, "No input differs from row to row.")
    drawn, words = _panels_of(table, inputs)
    if table.length < study.rows:
        words = f"The first {table.length:,} of {study.rows:,} scenarios. {words}"
    is_line = not drawn[0].rows and not isinstance(drawn[0].layers[0], HeatMap)
    return Chart("sweep", title, words, drawn, legend=len(drawn) == 1 and is_line)


def _panels_of(table: Scenarios, inputs: Sequence[Column]) -> tuple[tuple[Panel, ...], str]:
    if len(inputs) == 1 and table.is_numeric(inputs[0]):
        panel, words = _line_panel(table, inputs[0])
        return (panel,), words
    if len(inputs) == 2 and _is_grid(table, inputs):
        panel, words = _map_panel(table, inputs)
        return (panel,), words
    return _input_panels(table, inputs)


def _title(study: Sweep, inputs: Sequence[Column]) -> str:
    names = [short(column.label, 40) for column in inputs]
    if not names or len(names) > _MOST_NAMED:
        over = f"over {len(names)} inputs" if names else "over scenarios"
    else:
        over = f"by {listed(names)}"
    return f"{capital(goal(study))} {over}"


def _nothing(table: Scenarios) -> str:
    if not table.length:
        return "The table has no rows."
    text = ended(table.sweep.statuses)
    return f"None of {counted(table.length, 'scenario')} has a plan ({text})."


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


def _line_panel(table: Scenarios, column: Column) -> tuple[Panel, str]:
    """Return the panel of a sweep over one number, and what is to be said of it."""
    study = table.sweep
    places = [value or 0.0 for value in table.numbers(column.name)]
    found, bounds = table.numbers("objective"), table.numbers("bound")
    order = sorted(range(table.length), key=lambda row: places[row])
    kept = [order[place] for place in spread(len(order), MOST_POINTS)]
    x, y = axis_scale(places, column.unit), axis_scale([study.base, *found], study.unit)
    xs = [places[row] / x.size for row in kept]
    ys, tops = (
        [None if (value := side[row]) is None else value / y.size for row in kept]
        for side in (found, bounds)
    )
    hovers = [table.hover(row, [column]) for row in kept]
    log = is_wide(xs)
    gaps = list(_stretches(xs, ys, log))
    panel = Panel(
        Axis(column.label, x.unit, log, powers(xs, x.unit) if log else ()),
        Axis(goal(study), y.unit),
        tuple(_layers(goal(study), xs, ys, tops, hovers)),
        stretches=tuple(ShadedRange("no plan", gap.start, gap.end) for gap in gaps),
        references=tuple(_base(study, y)),
    )
    return panel, _line_words(table, len(kept), gaps, (x, column.unit))


def _base(study: Sweep, y: Scale) -> Iterator[Reference]:
    if study.base is not None:
        yield Reference(f"as it stands: {objective(study, study.base)}", study.base / y.size)


def _line_words(
    table: Scenarios, shown: int, gaps: Sequence[_Gap], along: tuple[Scale, str]
) -> str:
    x, unit = along
    parts = [f"{counted(table.length, 'scenario')}."]
    if shown < table.length:
        parts = [f"{shown:,} of {table.length:,} scenarios, spread evenly."]
    better = "above" if table.sweep.sense == "maximize" else "below"
    parts.append(proven(table.gaps(), better))
    for hole in gaps[:_MOST_TOLD]:
        first, last = (amount(value * x.size, unit) for value in (hole.first, hole.last))
        where = f"at {first}" if first == last else f"from {first} to {last}"
        parts.append(f"No plan {where} ({counted(hole.rows, 'scenario')}).")
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
    texts = tuple(hover for _, _, hover in found)
    yield Points("a scenario", *points, texts, size=6.0 if len(found) <= _FEW else 3.5)


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


_MOST_A_SIDE, _MOST_CELLS = 200, 20_000
_FULL = 0.5
_MOST_TICKS = 8
_FEW_ACROSS, _FEW_UP = 9, 14


def _is_grid(table: Scenarios, inputs: Sequence[Column]) -> bool:
    """Return whether two inputs are numbers whose pairs fill most of a grid."""
    if not all(table.is_numeric(column) for column in inputs):
        return False
    across, up = (set(table.numbers(column.name)) for column in inputs)
    cells = len(across) * len(up)
    if max(len(across), len(up)) > _MOST_A_SIDE or cells > _MOST_CELLS:
        return False
    return table.length >= _FULL * cells


def _map_panel(table: Scenarios, inputs: Sequence[Column]) -> tuple[Panel, str]:
    """Return the panel of a sweep over two numbers, and what is to be said of it."""
    study = table.sweep
    wide, high = inputs
    xs, ys = (
        sorted({value for value in table.numbers(column.name) if value is not None})
        for column in inputs
    )
    found = table.numbers("objective")
    unit = axis_scale(found, study.unit)
    row_of = _places(table, inputs, xs, ys)
    best = table.best_first()[0]
    cells = [[row_of.get((column, row)) for column in range(len(xs))] for row in range(len(ys))]
    values = [
        [
            None if row is None or (value := found[row]) is None else value / unit.size
            for row in line
        ]
        for line in cells
    ]
    few = len(xs) <= _FEW_ACROSS and len(ys) <= _FEW_UP
    texts = [
        [
            _text(row, value, unit.unit, row == best) if few else ""
            for row, value in zip(*both, strict=True)
        ]
        for both in zip(cells, values, strict=True)
    ]
    hovers = [
        ["not asked" if row is None else table.hover(row, inputs) for row in line] for line in cells
    ]
    panel = Panel(
        _axis(wide, xs),
        _axis(high, ys),
        (HeatMap(goal(study), unit.unit, _frozen(values), _frozen(texts), _frozen(hovers)),),
        marks=() if few else (_star(row_of, best, table.hover(best, inputs)),),
    )
    where = " and ".join(
        f"{short(column.label, 40)} = {table.text_of(column, best)}" for column in inputs
    )
    return panel, _map_words(table, where, objective(study, found[best] or 0.0), few)


def _text(row: int | None, value: float | None, unit: str, is_best: bool) -> str:
    if row is None:
        return ""
    return "no plan" if value is None else f"{'★ ' if is_best else ''}{plain(value, unit)}"


def _star(row_of: dict[tuple[int, int], int], best: int, hover: str) -> Mark:
    x, y = next(place for place, row in row_of.items() if row == best)
    return Mark("", float(x), float(y), "star", hover=f"Best\n{hover}")


def _map_words(table: Scenarios, where: str, value: str, few: bool) -> str:
    parts = [
        f"{counted(table.length, 'scenario')}.",
        proven(table.gaps()),
        f"The star is the best: {value} at {where}.",
    ]
    without = sum(value is None for value in table.numbers("objective"))
    if without:
        cells = "say so" if few else "are crossed out"
        parts.append(f"{counted(without, 'scenario')} without a plan {cells}.")
    return " ".join(parts)


def _places(
    table: Scenarios, inputs: Sequence[Column], xs: Sequence[float], ys: Sequence[float]
) -> dict[tuple[int, int], int]:
    """Return the first row of each cell."""
    across, up = ({value: place for place, value in enumerate(values)} for values in (xs, ys))
    wide, high = (table.numbers(column.name) for column in inputs)
    found: dict[tuple[int, int], int] = {}
    for row, (x, y) in enumerate(zip(wide, high, strict=True)):
        if x is not None and y is not None:
            found.setdefault((across[x], up[y]), row)
    return found


def _axis(column: Column, values: Sequence[float]) -> Axis:
    step = max(1, -(-len(values) // _MOST_TICKS))
    written = scale(values, column.unit)
    places = range(0, len(values), step)
    ticks = tuple((float(place), written.text(values[place])) for place in places)
    return Axis(column.label, written.unit, ticks=ticks)


def _frozen(table: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in table)


MOST_PANELS = 12
MOST_NAMES = 20
_AT, _JITTER = 0.14, 0.18
_STEPS, _SIZE = 5, 4.5


def _input_panels(table: Scenarios, inputs: Sequence[Column]) -> tuple[tuple[Panel, ...], str]:
    """Return a panel for each input with the scenarios in it, and what is to be said of them."""
    found = table.numbers("objective")
    solved = [row for row in range(table.length) if found[row] is not None]
    kept = [solved[place] for place in spread(len(solved), MOST_POINTS)]
    shown = inputs[:MOST_PANELS]
    each = tuple(
        _numbers(table, column, inputs, kept)
        if table.is_numeric(column)
        else _names(table, column, inputs, kept)
        for column in shown
    )
    parts = [f"Each dot is a scenario: {goal(table.sweep)} by each input.", proven(table.gaps())]
    if len(kept) < len(solved):
        parts.append(f"{len(kept):,} of {len(solved):,} scenarios are drawn, spread evenly.")
    if len(solved) < table.length:
        parts.append(f"{counted(table.length - len(solved), 'scenario')} without a plan left out.")
    if len(shown) < len(inputs):
        parts.append(f"{len(shown)} of {len(inputs)} inputs are shown.")
    return each, " ".join(parts)


def _numbers(
    table: Scenarios, column: Column, inputs: Sequence[Column], kept: Sequence[int]
) -> Panel:
    places = [value or 0.0 for value in table.numbers(column.name)]
    x = axis_scale(places, column.unit)
    y, values = _found(table, kept)
    xs = in_scale([places[row] for row in kept], x)
    log = is_wide(xs)
    hovers = tuple(table.hover(row, inputs) for row in kept)
    points = Points("a scenario", xs, values, hovers, hollow=True, size=_SIZE)
    axis = Axis(column.label, x.unit, log, powers(xs, x.unit) if log else ())
    return Panel(axis, Axis(goal(table.sweep), y.unit), (points,), title=column.label)


def _names(
    table: Scenarios, column: Column, inputs: Sequence[Column], kept: Sequence[int]
) -> Panel:
    rows_of: dict[str, list[int]] = {}
    for row in range(table.length):
        rows_of.setdefault(str(table.rows[column.name][row]), []).append(row)
    shown = dict(list(rows_of.items())[:MOST_NAMES])
    places = {row: place for place, rows in enumerate(shown.values()) for row in rows}
    rows_shown = [row for row in kept if row in places]
    unit, values = _found(table, rows_shown)
    one_each = len(rows_of) == table.length
    aside = 0.0 if one_each else _JITTER / 2
    heights = tuple(places[row] + _AT + aside * (row % _STEPS - 2) for row in rows_shown)
    hovers = tuple(table.hover(row, inputs) for row in rows_shown)
    points = Points("a scenario", values, heights, hovers, hollow=not one_each, size=_SIZE)
    title = column.label if len(inputs) > 1 else ""
    if len(shown) < len(rows_of):
        title = f"{column.label}, {MOST_NAMES} of {len(rows_of)}"
    rows = tuple(_row(table, name, rows) for name, rows in shown.items())
    return Panel(Axis(goal(table.sweep), unit.unit), Axis(""), (points,), title=title, rows=rows)


def _row(table: Scenarios, name: str, rows: Sequence[int]) -> str:
    """Return a name with what is known of its one scenario, or that none of its has a plan."""
    found = table.numbers("objective")
    text = short(name, 40)
    value = found[rows[0]]
    if len(rows) == 1:
        return (
            f"{text}: {table.status(rows[0]) if value is None else objective(table.sweep, value)}"
        )
    return f"{text}: no plan" if all(found[row] is None for row in rows) else text


def _found(table: Scenarios, rows: Sequence[int]) -> tuple[Scale, tuple[float, ...]]:
    """Return the objective in rows, in the unit of all."""
    found = table.numbers("objective")
    unit = axis_scale(found, table.sweep.unit)
    return unit, in_scale([found[row] or 0.0 for row in rows], unit)
