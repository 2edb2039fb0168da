"""A sweep: where the plan changes along one input, a map of two, scenarios of more."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from numbers import Real
from typing import Any, NamedTuple

from planner.figures import FIGURES, capital
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    proof_block,
    words,
)
from planner.report.charts.model import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Chart,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Reference,
    ShadedRange,
    bound_band,
    is_wide,
    proven,
    sized_axis,
)
from planner.report.words import (
    STATUS_WORDS,
    Scale,
    amount,
    as_it_stands,
    counted,
    ended,
    exact_amount,
    goal,
    headed,
    listed,
    named,
    percent,
    plain,
    results,
    scale,
    short,
    some,
    units,
)
from planner.schema.analysis import PLANNED, VARIED, Sweep
from planner.schema.analysis import Column as Input

Rows = Mapping[str, Sequence[Any]]
"""Columns by name."""

MOST_ROWS, _FIRST_ROWS = 20, 12
_MOST_INPUTS, _INPUT_WIDTH, _FEW_VALUES = 3, 18, 6
_MOST_POINTS, _MOST_BARS, _MOST_SIDE, _MOST_CELLS = 1_500, 20, 200, 20_000
_FEW_ACROSS, _FEW_UP, _MOST_TICKS = 9, 14, 8
_GAP = (
    "a row is solved to the gap asked for; solve the one to buy by itself, which takes the "
    "cheapest plan within objective.indifference"
)
_NUMBER = re.compile(r"\d[\d.,]*(?: (?:[kMB]?[A-Z]{3}|[kM]?W|[TP]B|GB/s|s|min|h|days?|%)(?!\w))?")


# Rows, by the columns of the record.


class Stretch(NamedTuple):
    """Neighbouring values of an input with one plan or none, from row ``first`` to ``last``."""

    first: int
    last: int
    rows: int
    status: str
    reason: str = ""


def cell(rows: Rows, name: str, place: int) -> Any:
    """A value by column and row; None where the table has no such column, or no number."""
    column = rows.get(name)
    value = None if column is None else column[place]
    return None if isinstance(value, float) and value != value else value


def length(rows: Rows) -> int:
    """The number of rows."""
    return min((len(column) for column in rows.values()), default=0)


def varied(study: Sweep, rows: Rows) -> list[Input]:
    """The scenarios' names, if any, and inputs of more than one value, or all where none is."""
    names = [
        column for column in study.columns if column.name == "name" and any(rows.get("name", ()))
    ]
    inputs = [column for column in study.columns if column.kind == "input"]
    count = length(rows)
    moving = [c for c in inputs if len({cell(rows, c.name, at) for at in range(count)}) > 1]
    return [*names, *(moving or inputs)]


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def numeric(rows: Rows, column: Input) -> bool:
    """Whether every value of an input is a number."""
    count = len(rows.get(column.name, ()))
    return count > 0 and all(is_number(cell(rows, column.name, at)) for at in range(count))


def write_value(value: Any) -> str:
    """The value of an input that is not a number everywhere."""
    if value is None or value != value:
        return "-"
    return plain(float(value)) if is_number(value) else str(value)


def bought(study: Sweep, rows: Rows, place: int) -> str:
    """The purchase of a row."""
    columns = [column for column in study.columns if column.kind == "count"]
    counts = {column.name: cell(rows, column.name, place) or 0 for column in columns}
    return units(counts, {column.name: column.label for column in columns})


def stretches(study: Sweep, rows: Rows, over: Input) -> list[Stretch]:
    """Stretches of one input of numbers with the same purchase, GPUs in use and status."""
    names = ("gpus_in_use", *(c.name for c in study.columns if c.kind == "count"))
    values = rows[over.name]
    found: list[tuple[object, list[int]]] = []
    for place in sorted(range(length(rows)), key=lambda row: values[row]):
        status = str(cell(rows, "status", place))
        plan = tuple(cell(rows, name, place) or 0 for name in names) if status in PLANNED else ()
        if not found or found[-1][0] != (status, plan):
            found.append(((status, plan), []))
        found[-1][1].append(place)
    return [
        Stretch(
            places[0],
            places[-1],
            len(places),
            str(cell(rows, "status", places[0])),
            next((text for text, _ in reasons(rows, places)), ""),
        )
        for _, places in found
    ]


def reasons(rows: Rows, places: Iterable[int]) -> list[tuple[str, int]]:
    """Reasons and numbers of rows without a plan, the most frequent first.

    Reasons that differ in numbers alone are one, shown by an example.
    """
    counts: dict[str, Counter[str]] = {}
    for place in places:
        text = str(cell(rows, "reason", place) or "")
        if text and str(cell(rows, "status", place)) not in PLANNED:
            counts.setdefault(_NUMBER.sub("", text), Counter())[text] += 1
    found = [
        (f"{'for example ' if len(texts) > 1 else ''}{next(iter(texts))}", texts.total())
        for texts in counts.values()
    ]
    return sorted(found, key=lambda each: -each[1])


def best(study: Sweep, rows: Rows) -> int | None:
    """The place of the row with the best objective, None where objectives differ or none is."""
    if study.objective == VARIED:
        return None
    sign = 1.0 if study.sense == "maximize" else -1.0
    known = [(cell(rows, "objective", place), -place) for place in range(length(rows))]
    there = [(sign * value, place) for value, place in known if value is not None]
    return -max(there)[1] if there else None


# Blocks.


def view(study: Sweep, rows: Rows) -> list[Block]:
    """A sweep as blocks.

    Args:
        study: its columns and how its scenarios ended.
        rows: its scenarios by column.
    """
    inputs = varied(study, rows)
    one = inputs[0] if len(inputs) == 1 and numeric(rows, inputs[0]) else None
    at, best_text = best(study, rows), ""
    if at is not None:
        where = ", ".join(f"{c.label} {_one(rows, c, at)}" for c in inputs[:_MOST_INPUTS])
        best_text = amount(study, cell(rows, "objective", at)) + (f" with {where}" if where else "")
    facts = (
        ("Best", best_text),
        ("Varied", "; ".join(_values(rows, column) for column in inputs) or "nothing"),
        ("Now", "" if study.base is None else f"{goal(study)} {amount(study, study.base)}"),
        ("Ended", ended(study.statuses)),
    )
    title = Heading(f"{named(study)}  (sweep of {counted(study.asked, 'scenario')})")
    if not length(rows):
        return [title, Facts(facts)]
    return [
        title,
        Facts(facts),
        _stretches(study, rows, one) if one else _scenarios(study, rows, inputs),
        Text(tuple(_no_plan(study, rows, one)), "No plan", points=True, most=5, first=3),
        notes_block(() if study.exact else (_GAP,)),
        proof_block((as_it_stands(study) if study.base is not None else "", _proof(study))),
    ]


def _values(rows: Rows, column: Input) -> str:
    """An input with its path and values."""
    values = list(dict.fromkeys(rows.get(column.name, ())))
    path = "" if column.path in ("", column.label) else f" ({column.path})"
    if not numeric(rows, column):
        texts = [short(write_value(value), 40) for value in values]
        return f"{column.label}{path}: {some(texts, _FEW_VALUES) or 'no value'}"
    written = scale(values, column.unit)
    span = written.with_unit(min(values))
    if len(values) > 1:
        span = f"{written.text(min(values))} to {written.with_unit(max(values))}"
    return f"{column.label}{path}, {span}, {counted(len(values), 'value')}"


def _proof(study: Sweep) -> str:
    text = f"{study.solved:,} scenarios searched, {study.reused:,} certified by the searches of "
    text += f"others; each within {percent(study.gap_asked, 4)} of its bound where "
    text += f"'{STATUS_WORDS['optimal']}'"
    missing = study.asked - study.rows
    return f"{text}; {missing:,} of {study.asked:,} not answered" if missing > 0 else text


def _one(rows: Rows, column: Input, place: int) -> str:
    value = cell(rows, column.name, place)
    if not numeric(rows, column):
        return write_value(value)
    return scale(rows[column.name], column.unit).with_unit(value)


def _objectives(study: Sweep, rows: Rows) -> Scale:
    return results([cell(rows, "objective", at) for at in range(length(rows))], study.unit)


def _stretches(study: Sweep, rows: Rows, over: Input) -> Table:
    """The stretches of one input with one plan each."""
    found, at = stretches(study, rows, over), rows[over.name]
    values, worth = scale(at, over.unit), _objectives(study, rows)

    def value(each: Stretch, place: int) -> str:
        return worth.text(cell(rows, "objective", place) if each.status in PLANNED else None)

    columns = (
        figures(headed("from", values.unit), (values.text(at[each.first]) for each in found), str),
        figures(headed("to", values.unit), (values.text(at[each.last]) for each in found), str),
        figures("rows", (each.rows for each in found), 0, detail=True),
        figures(headed("at from", worth.unit), (value(each, each.first) for each in found), str),
        figures(headed("at to", worth.unit), (value(each, each.last) for each in found), str),
        *_plan_columns(study, rows, [each.first for each in found]),
    )
    title = f"Plans by {over.label}"
    return Table(title, columns, most=MOST_ROWS, first=_FIRST_ROWS, rows="stretches")


def _plan_columns(study: Sweep, rows: Rows, places: Sequence[int]) -> tuple[Column, Column]:
    """GPUs in use and purchase of rows, or how a row without a plan ended."""
    gpus: list[float | None] = []
    buys = []
    for at in places:
        status, count = str(cell(rows, "status", at)), cell(rows, "gpus_in_use", at)
        is_planned = status in PLANNED
        gpus.append(count if is_planned else None)
        mark = f" ({STATUS_WORDS[status]})" if status == "feasible" else ""
        text = STATUS_WORDS.get(status, status)
        buys.append(bought(study, rows, at) + mark if is_planned else text)
    return figures(FIGURES["gpus_used"].label, gpus, 0), words("buys", buys)


def _scenarios(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> Table:
    """The scenarios in their order, a row each."""
    worth, places = _objectives(study, rows), range(length(rows))
    at = best(study, rows)
    texts = (worth.text(cell(rows, "objective", place)) for place in places)
    columns = (
        *(_input(rows, column) for column in inputs[:_MOST_INPUTS]),
        figures(headed(goal(study), worth.unit), texts, str),
        *_plan_columns(study, rows, places),
    )
    hidden = [column.label for column in inputs[_MOST_INPUTS:]]
    notes = (f"in the files: {listed(hidden)}",) if hidden else ()
    kept = () if at is None else (at,)
    return Table("Scenarios", columns, notes, MOST_ROWS, kept, "scenarios", _FIRST_ROWS)


def _input(rows: Rows, column: Input) -> Column:
    values = [cell(rows, column.name, at) for at in range(length(rows))]
    if not numeric(rows, column):
        return words(column.label, (short(write_value(value), _INPUT_WIDTH) for value in values))
    written = scale(rows[column.name], column.unit)
    return figures(headed(column.label, written.unit), map(written.text, values), str)


def _no_plan(study: Sweep, rows: Rows, over: Input | None) -> Iterator[str]:
    """Yield reasons for no plan: by stretch of one input, else by frequency."""
    if over is None:
        for text, count in reasons(rows, range(length(rows))):
            yield f"{counted(count, 'scenario')}: {text}"
        return
    written = scale(rows[over.name], over.unit)
    for each in stretches(study, rows, over):
        if each.reason:
            first, last = (rows[over.name][at] for at in (each.first, each.last))
            where = written.with_unit(last)
            where = where if first == last else f"{written.text(first)} to {where}"
            yield f"{where}: {each.reason}"


# The chart: a line, a map, or bars of scenarios.


def charts(study: Sweep, rows: Rows) -> tuple[Chart, ...]:
    """The chart of a sweep."""
    found, inputs = _numbers(rows, "objective"), varied(study, rows)
    names = [short(column.label, 40) for column in inputs]
    over = f"by {listed(names)}" if 0 < len(names) <= _MOST_INPUTS else f"over {len(names)} inputs"
    title = f"{capital(goal(study))} {over}"
    if not any(value is not None for value in found):
        text = f"No scenario of {length(rows):,} has a plan ({ended(study.statuses)})."
        text = text if length(rows) else "No scenario was solved."
        return (Chart("sweep", title, text),)
    is_line = len(inputs) == 1 and numeric(rows, inputs[0])
    if is_line:
        panels, text = _line(study, rows, inputs[0])
    elif len(inputs) == 2 and _is_grid(rows, inputs):
        panels, text = _map(study, rows, inputs)
    else:
        panels, text = _bars(study, rows, inputs)
    gaps = _numbers(rows, "gap")
    bounds = proven([gap for value, gap in zip(found, gaps, strict=True) if value is not None])
    count = f"{counted(length(rows), 'scenario')}."
    if length(rows) < study.rows:
        count = f"The first {length(rows):,} of {study.rows:,} scenarios."
    return (Chart("sweep", title, " ".join((count, bounds, text)).strip(), panels, is_line),)


def _numbers(rows: Rows, name: str) -> list[float | None]:
    """A column as numbers, None where there is none."""
    cells = (cell(rows, name, at) for at in range(length(rows)))
    return [float(v) if is_number(v) and math.isfinite(v) else None for v in cells]


def _hover(study: Sweep, rows: Rows, row: int, inputs: Sequence[Input]) -> str:
    """A scenario: its inputs, its objective and bound, its purchase."""
    lines = []
    for column in inputs[:_MOST_INPUTS]:
        value = cell(rows, column.name, row)
        text = exact_amount(float(value), column.unit) if is_number(value) else str(value)
        lines.append(f"{short(column.label, 40)}: {short(text, 40)}")
    value, bound = cell(rows, "objective", row), cell(rows, "bound", row)
    until = "" if bound is None else f", bound {amount(study, bound)}"
    lines.append(f"{goal(study)} {amount(study, value)}{until}")
    return "\n".join([*lines, bought(study, rows, row)])


def _evenly(places: Sequence[int]) -> list[int]:
    """At most 1,500 places, spread so that no grid of them is favoured."""
    if len(places) <= _MOST_POINTS:
        return list(places)
    order = sorted(range(len(places)), key=lambda place: place * 2_654_435_761 % 2**32)
    return [places[at] for at in sorted(order[:_MOST_POINTS])]


def _line(study: Sweep, rows: Rows, column: Input) -> tuple[tuple[Panel, ...], str]:
    """The objective over one input, shaded where there is no plan."""
    places = [value or 0.0 for value in _numbers(rows, column.name)]
    found, bounds = _numbers(rows, "objective"), _numbers(rows, "bound")
    kept = _evenly(sorted(range(length(rows)), key=lambda row: places[row]))
    log = is_wide(places)
    x, wide = sized_axis(column.label, places, column.unit, log=log)
    y, high = sized_axis(goal(study), [study.base, *found], study.unit)
    xs = [places[row] / wide for row in kept]
    ys, tops = (
        [None if (value := side[row]) is None else value / high for row in kept]
        for side in (found, bounds)
    )
    there = [(at, v, row) for at, v, row in zip(xs, ys, kept, strict=True) if v is not None]
    holes = list(_holes(xs, ys, log))
    broken = tuple(at if v is not None else None for at, v in zip(xs, ys, strict=True))
    layers: list[Layer] = [
        *bound_band(broken, ys, tops),
        Line(f"best {goal(study)}", broken, tuple(ys)),
        Points(
            "a scenario",
            tuple(at for at, _, _ in there),
            tuple(height for _, height, _ in there),
            tuple(_hover(study, rows, row, [column]) for _, _, row in there),
            size=6.0 if len(there) <= 60 else 3.5,
        ),
        *(ShadedRange("no plan", start, end) for start, end, *_ in holes),
    ]
    if study.base is not None:
        layers.append(Reference(f"now: {amount(study, study.base)}", study.base / high))
    texts = [] if len(kept) == length(rows) else [f"{len(kept):,} drawn, spread evenly."]
    for _, _, low, top, count in holes[:3]:
        first, last = (exact_amount(value * wide, column.unit) for value in (low, top))
        where = f"at {first}" if first == last else f"from {first} to {last}"
        texts.append(f"No plan {where} ({counted(count, 'scenario')}).")
    texts += [f"No plan in {len(holes) - 3} more stretches."] if len(holes) > 3 else []
    return (Panel(x, y, tuple(layers)),), " ".join(texts)


def _holes(
    xs: Sequence[float], ys: Sequence[float | None], log: bool
) -> Iterator[tuple[float, float, float, float, int]]:
    """Yield stretches without a plan: ends of the shade, halfway to a plan, own ends, count."""

    def half(one: float, other: float) -> float:
        return math.sqrt(one * other) if log else (one + other) / 2

    at = 0
    for without, group in groupby(ys, key=lambda y: y is None):
        count = len(list(group))
        first, last = at, at + count - 1
        at += count
        if without:
            start = half(xs[first - 1], xs[first]) if first else xs[first]
            end = half(xs[last], xs[last + 1]) if last + 1 < len(xs) else xs[last]
            yield start, end, xs[first], xs[last], count


def _is_grid(rows: Rows, inputs: Sequence[Input]) -> bool:
    """Whether two inputs are numbers whose pairs fill at least half of a grid."""
    if not all(numeric(rows, column) for column in inputs):
        return False
    sides = [len(set(rows[column.name])) for column in inputs]
    cells = math.prod(sides)
    return max(sides) <= _MOST_SIDE and cells <= _MOST_CELLS and length(rows) >= cells / 2


def _map(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> tuple[tuple[Panel, ...], str]:
    """A heat map of two inputs, its best cell marked by a star."""
    xs, ys = (sorted(set(rows[column.name])) for column in inputs)
    found = _numbers(rows, "objective")
    unit, size = sized_axis("", found, study.unit)
    row_of: dict[tuple[int, int], int] = {}
    for row in range(length(rows)):
        x, y = (rows[column.name][row] for column in inputs)
        row_of.setdefault((xs.index(x), ys.index(y)), row)
    at = best(study, rows)
    top = next((place for place, row in row_of.items() if row == at), (0, 0))
    few = len(xs) <= _FEW_ACROSS and len(ys) <= _FEW_UP

    def value(across: int, up: int) -> float | None:
        row = row_of.get((across, up))
        return None if row is None or (v := found[row]) is None else v / size

    def text(across: int, up: int) -> str:
        if not few or (across, up) not in row_of:
            return ""
        v = value(across, up)
        star = "★ " if (across, up) == top else ""
        return "no plan" if v is None else f"{star}{float(f'{v:.4g}'):,g}"

    grid = [[(across, up) for across in range(len(xs))] for up in range(len(ys))]
    values = tuple(tuple(value(*place) for place in line) for line in grid)
    texts = tuple(tuple(text(*place) for place in line) for line in grid)
    layers: list[Layer] = [HeatMap(goal(study), unit.unit, values, texts)]
    layers += [] if few else [Mark("", float(top[0]), float(top[1]), "star")]
    x_axis, y_axis = _map_axis(inputs[0], xs), _map_axis(inputs[1], ys)
    where = " and ".join(f"{short(c.label, 40)} {_one(rows, c, row_of[top])}" for c in inputs)
    said = f"Star: the best, {amount(study, found[row_of[top]] or 0.0)} at {where}."
    without = sum(v is None for v in found)
    said += f" {counted(without, 'scenario')} without a plan." if without else ""
    return (Panel(x_axis, y_axis, tuple(layers)),), said


def _map_axis(column: Input, values: Sequence[float]) -> Axis:
    step = max(1, -(-len(values) // _MOST_TICKS))
    written = scale(values, column.unit)
    ticks = tuple((float(at), written.text(values[at])) for at in range(0, len(values), step))
    return Axis(column.label, written.unit, ticks=ticks)


def _bars(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> tuple[tuple[Panel, ...], str]:
    """The scenarios that have a plan as bars, in their order."""
    found = _numbers(rows, "objective")
    there = [row for row in range(length(rows)) if found[row] is not None]
    shown = there[:_MOST_BARS]
    values = [found[row] or 0.0 for row in shown]
    axis, size = sized_axis(goal(study), values, study.unit)
    names = tuple(
        short(", ".join(_one(rows, column, row) for column in inputs[:_MOST_INPUTS]), 52)
        for row in shown
    )
    bars = Bars(
        "",
        tuple(at + ROW_MIDDLE for at in range(len(shown))),
        (0.0,) * len(shown),
        tuple(value / size for value in values),
        tuple(_hover(study, rows, row, inputs) for row in shown),
        tuple(amount(study, value) for value in values),
    )
    text = "" if len(shown) == length(rows) else f"{len(shown)} scenarios drawn."
    return (Panel(axis, Axis(""), (bars,), rows=names),), text
