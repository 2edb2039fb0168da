"""A sweep: where the plan changes along one input, a map of two, scenarios of more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from planner.figures import FIGURES, capital
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    notes_block,
    proof_block,
)
from planner.report.charts.model import (
    ROW_MIDDLE,
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
)
from planner.report.charts.words import BOUND, axis_scale, in_scale, plain, proven, short, shows
from planner.report.charts.words import amount as axis_amount
from planner.report.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    ended,
    goal,
    named,
    scenarios,
)
from planner.report.sweep_rows import (
    Rows,
    Stretch,
    best,
    bought,
    cell,
    is_number,
    length,
    numeric,
    reasons,
    stretches,
    varied,
    write_value,
)
from planner.report.words import Scale, counted, fitted, listed, results, scale
from planner.schema.analysis import PLANNED, Sweep
from planner.schema.analysis import Column as Input

MOST_ROWS, _FIRST_ROWS = 20, 12
_MOST_INPUTS, _INPUT_WIDTH, _FEW_VALUES = 3, 18, 6
_MOST_POINTS, _MOST_PANELS, _MOST_NAMES, _MOST_SIDE, _MOST_CELLS = 1_500, 12, 20, 200, 20_000
_FEW_ACROSS, _FEW_UP, _MOST_TICKS = 9, 14, 8
_GAP = (
    "a row is solved to the gap asked for; solve the one to buy by itself, which takes the "
    "cheapest plan within objective.indifference"
)


def view(study: Sweep, rows: Rows) -> list[Block]:
    """Return a sweep as blocks.

    Args:
        study: its columns and how its scenarios ended.
        rows: its scenarios by column.
    """
    inputs = varied(study, rows)
    one = inputs[0] if len(inputs) == 1 and numeric(rows, inputs[0]) else None
    at = best(study, rows)
    where = [] if at is None else [f"{c.label} {_one(rows, c, at)}" for c in inputs[:_MOST_INPUTS]]
    facts = (
        ("Best", "" if at is None else f"{amount(study, cell(rows, 'objective', at))}"
         + (f" with {', '.join(where)}" if where else "")),
        ("Varied", "; ".join(_values(rows, column) for column in inputs) or "nothing"),
        ("Now", "" if study.base is None else f"{goal(study)} {amount(study, study.base)}"),
        ("Ended", ended(study.statuses)),
    )  # fmt: skip
    title = Heading(f"{named(study)}  (sweep of {scenarios(study.asked)})")
    if not length(rows):
        return [title, Facts(facts)]
    return [
        title,
        Facts(facts),
        _stretches(study, rows, one) if one else _scenarios(study, rows, inputs),
        _no_plan(rows, stretches(study, rows, one) if one else None, one),
        notes_block(() if study.exact else (_GAP,)),
        proof_block((as_it_stands(study) if study.base is not None else "", _proof(study))),
    ]


def _values(rows: Rows, column: Input) -> str:
    """Return an input with its path and values."""
    values = list(dict.fromkeys(rows.get(column.name, ())))
    path = "" if column.path in ("", column.label) else f" ({column.path})"
    if numeric(rows, column):
        written = scale(values, column.unit)
        span = written.with_unit(min(values))
        if len(values) > 1:
            span = f"{written.text(min(values))} to {written.with_unit(max(values))}"
        return f"{column.label}{path}, {span}, {counted(len(values), 'value')}"
    texts = [fitted(write_value(value), 40) for value in values[:_FEW_VALUES]]
    more = [f"{len(values) - _FEW_VALUES} more"] if len(values) > _FEW_VALUES else []
    return f"{column.label}{path}: {listed([*texts, *more]) or 'no value'}"


def _proof(study: Sweep) -> str:
    text = (
        f"{study.solved:,} scenarios searched, {study.reused:,} certified by the searches of "
        f"others; each within {asked_gap(study)} of its bound where '{STATUS['optimal']}'"
    )
    missing = study.asked - study.rows
    return f"{text}; {scenarios(missing)} of {study.asked:,} not answered" if missing > 0 else text


def _one(rows: Rows, column: Input, place: int) -> str:
    value = cell(rows, column.name, place)
    if not numeric(rows, column):
        return write_value(value)
    return scale(rows[column.name], column.unit).with_unit(value)


def _objectives(study: Sweep, rows: Rows) -> Scale:
    return results([cell(rows, "objective", at) for at in range(length(rows))], study.unit)


def _stretches(study: Sweep, rows: Rows, over: Input) -> Table:
    """Return the stretches of one input with one plan each."""
    found, at = stretches(study, rows, over), rows[over.name]
    values, worth = scale(at, over.unit), _objectives(study, rows)

    def value(each: Stretch, place: int) -> str:
        return worth.text(cell(rows, "objective", place) if each.status in PLANNED else None)

    columns = (
        _texts("from", values.unit, (values.text(at[each.first]) for each in found)),
        _texts("to", values.unit, (values.text(at[each.last]) for each in found)),
        _texts("rows", "", (f"{each.rows:,}" for each in found)),
        _texts("at from", worth.unit, (value(each, each.first) for each in found)),
        _texts("at to", worth.unit, (value(each, each.last) for each in found)),
        *_plan_columns(study, rows, [each.first for each in found]),
    )
    return Table(f"Plans by {over.label}", columns, most=MOST_ROWS, first=_FIRST_ROWS,
                 rows="stretches")  # fmt: skip


def _texts(label: str, unit: str, texts: Iterable[str]) -> Column:
    return Column(label, tuple(texts), head=(unit, label))


def _plan_columns(study: Sweep, rows: Rows, places: Sequence[int]) -> tuple[Column, Column]:
    """Return GPUs in use and purchase of rows, or how a row without a plan ended."""
    gpus, buys = [], []
    for at in places:
        status, count = str(cell(rows, "status", at)), cell(rows, "gpus_in_use", at)
        planned = status in PLANNED
        gpus.append(f"{count:,.0f}" if planned and count is not None else "-")
        mark = f" ({STATUS[status]})" if status == "feasible" else ""
        buys.append(bought(study, rows, at) + mark if planned else STATUS.get(status, status))
    return (
        Column(FIGURES["gpus_used"].label, tuple(gpus), head=("GPUs", "in use")),
        Column("buys", tuple(buys), words=True, gives_way=True),
    )


def _scenarios(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> Table:
    """Return the scenarios in their order, a row each."""
    worth, places = _objectives(study, rows), range(length(rows))
    columns = (
        *(_input(rows, column) for column in inputs[:_MOST_INPUTS]),
        Column(goal(study), tuple(worth.text(cell(rows, "objective", at)) for at in places),
               head=(goal(study), worth.unit)),
        *_plan_columns(study, rows, places),
    )  # fmt: skip
    hidden = [column.label for column in inputs[_MOST_INPUTS:]]
    notes = (f"in the files: {listed(hidden)}",) if hidden else ()
    return Table("Scenarios", columns, notes, MOST_ROWS, first=_FIRST_ROWS, rows="scenarios")


def _input(rows: Rows, column: Input) -> Column:
    values = [cell(rows, column.name, at) for at in range(length(rows))]
    label = fitted(column.label, _INPUT_WIDTH)
    if not numeric(rows, column):
        texts = tuple(fitted(write_value(value), _INPUT_WIDTH) for value in values)
        return Column(column.label, texts, head=(label, ""), words=True)
    written = scale(rows[column.name], column.unit)
    texts = tuple(written.text(value) for value in values)
    return Column(column.label, texts, head=(label, written.unit))


def _no_plan(rows: Rows, found: Sequence[Stretch] | None, over: Input | None) -> Text:
    """Return reasons for no plan: by stretch of one input, else by frequency."""
    texts = []
    if over is None or found is None:
        texts = [
            f"{scenarios(each.rows)}, {STATUS.get(each.status, each.status)}: {each.in_words}"
            for each in reasons(rows)
            if each.text
        ]
    else:
        written = scale(rows[over.name], over.unit)
        for each in found:
            if each.reasons:
                first, last = (rows[over.name][at] for at in (each.first, each.last))
                where = written.with_unit(last)
                where = where if first == last else f"{written.text(first)} to {where}"
                more = len(each.reasons) - 1
                also = f" (and {counted(more, 'other reason')})" if more else ""
                texts.append(f"{where}: {each.reasons[0].in_words}{also}")
    return Text(tuple(texts), "No plan", points=True, most=5, first=3)


# Charts


def charts(study: Sweep, rows: Rows) -> tuple[Chart, ...]:
    """Return the chart of a sweep: a line, a heatmap, or a panel for each input."""
    found, inputs = _numbers(rows, "objective"), varied(study, rows)
    names = [short(column.label, 40) for column in inputs]
    over = f"by {listed(names)}" if 0 < len(names) <= _MOST_INPUTS else f"over {len(names)} inputs"
    title = f"{capital(goal(study))} {over}"
    if not any(value is not None for value in found):
        text = f"No scenario of {length(rows):,} has a plan ({ended(study.statuses)})."
        text = text if length(rows) else "No scenario was solved."
        return (Chart("sweep", title, text),)
    if len(inputs) == 1 and numeric(rows, inputs[0]):
        panels, words = _line(study, rows, inputs[0])
    elif len(inputs) == 2 and _is_grid(rows, inputs):
        panels, words = _map(study, rows, inputs)
    else:
        panels, words = _panels(study, rows, inputs)
    parts = [f"{counted(length(rows), 'scenario')}.", proven(_gaps(rows)), words]
    if length(rows) < study.rows:
        parts[0] = f"The first {length(rows):,} of {study.rows:,} scenarios."
    is_line = len(inputs) == 1 and numeric(rows, inputs[0])
    return (Chart("sweep", title, " ".join(filter(None, parts)), panels, legend=is_line),)


def _numbers(rows: Rows, name: str) -> list[float | None]:
    """Return a column as numbers, None where there is none."""
    cells = (cell(rows, name, at) for at in range(length(rows)))
    return [float(v) if is_number(v) and math.isfinite(v) else None for v in cells]


def _gaps(rows: Rows) -> list[float | None]:
    pairs = zip(_numbers(rows, "objective"), _numbers(rows, "gap"), strict=True)
    return [gap for value, gap in pairs if value is not None]


def _hover(study: Sweep, rows: Rows, row: int, inputs: Sequence[Input]) -> str:
    """Return a scenario: its inputs, its objective and bound, its purchase."""
    lines = []
    for column in inputs[:_MOST_INPUTS]:
        value = cell(rows, column.name, row)
        text = axis_amount(float(value), column.unit) if is_number(value) else str(value)
        lines.append(f"{short(column.label, 40)}: {short(text, 40)}")
    value, bound = cell(rows, "objective", row), cell(rows, "bound", row)
    status = str(cell(rows, "status", row))
    if value is None:
        return "\n".join([*lines, STATUS.get(status, status)])
    until = "" if bound is None else f", bound {amount(study, bound)}"
    lines.append(f"{goal(study)} {amount(study, value)}{until}")
    return "\n".join([*lines, bought(study, rows, row)])


def _evenly(places: Sequence[int]) -> list[int]:
    """Return at most 1,500 places, spread so that no grid of them is favoured."""
    if len(places) <= _MOST_POINTS:
        return list(places)
    order = sorted(range(len(places)), key=lambda place: place * 2_654_435_761 % 2**32)
    return [places[at] for at in sorted(order[:_MOST_POINTS])]


def _line(study: Sweep, rows: Rows, column: Input) -> tuple[tuple[Panel, ...], str]:
    """Return the objective over one input, shaded where there is no plan."""
    places = [value or 0.0 for value in _numbers(rows, column.name)]
    found, bounds = _numbers(rows, "objective"), _numbers(rows, "bound")
    kept = _evenly(sorted(range(length(rows)), key=lambda row: places[row]))
    x, y = axis_scale(places, column.unit), axis_scale([study.base, *found], study.unit)
    xs = [places[row] / x.size for row in kept]
    ys, tops = (
        [None if (value := side[row]) is None else value / y.size for row in kept]
        for side in (found, bounds)
    )
    log = is_wide(xs)
    there = [(at, height, row) for at, height, row in zip(xs, ys, kept, strict=True)
             if height is not None]  # fmt: skip
    holes = list(_holes(xs, ys, log))
    broken = tuple(at if height is not None else None for at, height in zip(xs, ys, strict=True))
    layers: list[Layer] = [Band(BOUND, broken, tuple(ys), tuple(tops))] if shows(ys, tops) else []
    layers += [
        Line(f"best {goal(study)}", broken, tuple(ys)),
        Points(
            "a scenario",
            tuple(at for at, _, _ in there),
            tuple(height for _, height, _ in there),
            tuple(_hover(study, rows, row, [column]) for _, _, row in there),
            size=6.0 if len(there) <= 60 else 3.5,
        ),
    ]
    base = () if study.base is None else (
        Reference(f"now: {amount(study, study.base)}", study.base / y.size),
    )  # fmt: skip
    panel = Panel(
        Axis(column.label, x.unit, log),
        Axis(goal(study), y.unit),
        tuple(layers),
        stretches=tuple(ShadedRange("no plan", start, end) for start, end, *_ in holes),
        references=base,
    )
    words = [] if len(kept) == length(rows) else [f"{len(kept):,} drawn, spread evenly."]
    for _, _, low, high, count in holes[:3]:
        first, last = (axis_amount(value * x.size, column.unit) for value in (low, high))
        where = f"at {first}" if first == last else f"from {first} to {last}"
        words.append(f"No plan {where} ({counted(count, 'scenario')}).")
    words += [f"No plan in {len(holes) - 3} more stretches."] if len(holes) > 3 else []
    return (panel,), " ".join(words)


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
    """True if two inputs are numbers whose pairs fill at least half of a grid."""
    if not all(numeric(rows, column) for column in inputs):
        return False
    sides = [len(set(rows[column.name])) for column in inputs]
    cells = math.prod(sides)
    return max(sides) <= _MOST_SIDE and cells <= _MOST_CELLS and length(rows) >= cells / 2


def _map(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> tuple[tuple[Panel, ...], str]:
    """Return a heatmap of two inputs, its best cell marked by a star."""
    xs, ys = (sorted(set(rows[column.name])) for column in inputs)
    found = _numbers(rows, "objective")
    unit = axis_scale(found, study.unit)
    row_of: dict[tuple[int, int], int] = {}
    for row in range(length(rows)):
        place = tuple(side.index(rows[column.name][row])
                      for side, column in zip((xs, ys), inputs, strict=True))  # fmt: skip
        row_of.setdefault((place[0], place[1]), row)
    sign = 1.0 if study.sense == "maximize" else -1.0
    top = max(row_of, key=lambda place: -math.inf if (v := found[row_of[place]]) is None
              else sign * v)  # fmt: skip
    few = len(xs) <= _FEW_ACROSS and len(ys) <= _FEW_UP
    values, texts, hovers = [], [], []
    for up in range(len(ys)):
        line = [row_of.get((across, up)) for across in range(len(xs))]
        heights = [None if row is None or (v := found[row]) is None else v / unit.size
                   for row in line]  # fmt: skip
        values.append(tuple(heights))
        texts.append(tuple(
            _cell_text(row, v, unit, (across, up) == top) if few else ""
            for across, (row, v) in enumerate(zip(line, heights, strict=True))
        ))  # fmt: skip
        hovers.append(tuple(
            "not asked" if row is None else _hover(study, rows, row, inputs) for row in line
        ))  # fmt: skip
    cells = HeatMap(goal(study), unit.unit, tuple(values), tuple(texts), tuple(hovers))
    star = () if few else (Mark("", float(top[0]), float(top[1]), "star"),)
    axes = [_map_axis(c, side) for c, side in zip(inputs, (xs, ys), strict=True)]
    panel = Panel(axes[0], axes[1], (cells,), marks=star)
    where = " and ".join(f"{short(c.label, 40)} {_one(rows, c, row_of[top])}" for c in inputs)
    words = f"Star: the best, {amount(study, found[row_of[top]] or 0.0)} at {where}."
    without = sum(value is None for value in found)
    if without:
        words += f" {counted(without, 'scenario')} without a plan."
    return (panel,), words


def _cell_text(row: int | None, value: float | None, unit: Scale, is_best: bool) -> str:
    if row is None:
        return ""
    return "no plan" if value is None else f"{'★ ' if is_best else ''}{plain(value, unit.unit)}"


def _map_axis(column: Input, values: Sequence[float]) -> Axis:
    step = max(1, -(-len(values) // _MOST_TICKS))
    written = scale(values, column.unit)
    places = range(0, len(values), step)
    ticks = tuple((float(place), written.text(values[place])) for place in places)
    return Axis(column.label, written.unit, ticks=ticks)


def _panels(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> tuple[tuple[Panel, ...], str]:
    """Return a panel for each input with the scenarios as points."""
    found = _numbers(rows, "objective")
    unit = axis_scale(found, study.unit)
    kept = _evenly([row for row in range(length(rows)) if found[row] is not None])
    goal_axis = Axis(goal(study), unit.unit)
    panels = []
    for column in inputs[:_MOST_PANELS]:
        if numeric(rows, column):
            panels.append(_scatter(study, rows, column, inputs, kept, (unit, goal_axis)))
        else:
            panels.append(_by_name(study, rows, column, inputs, kept, (unit, goal_axis)))
    words = [f"Each dot is a scenario: {goal(study)} by input."]
    words += [f"{len(kept):,} drawn."] if len(kept) < length(rows) else []
    if len(inputs) > _MOST_PANELS:
        words.append(f"{_MOST_PANELS} of {len(inputs)} inputs drawn.")
    return tuple(panels), " ".join(words)


def _scatter(
    study: Sweep,
    rows: Rows,
    column: Input,
    inputs: Sequence[Input],
    kept: Sequence[int],
    up: tuple[Scale, Axis],
) -> Panel:
    unit, axis = up
    places, found = _numbers(rows, column.name), _numbers(rows, "objective")
    x = axis_scale(places, column.unit)
    xs = in_scale([places[row] or 0.0 for row in kept], x)
    ys = in_scale([found[row] or 0.0 for row in kept], unit)
    log = is_wide(xs)
    hovers = tuple(_hover(study, rows, row, inputs) for row in kept)
    points = Points("a scenario", xs, ys, hovers, hollow=True, size=4.5)
    across = Axis(column.label, x.unit, log)
    return Panel(across, axis, (points,), title=column.label)


def _by_name(
    study: Sweep,
    rows: Rows,
    column: Input,
    inputs: Sequence[Input],
    kept: Sequence[int],
    up: tuple[Scale, Axis],
) -> Panel:
    """Return scenarios in a row for each value that is a name."""
    unit, axis = up
    found = _numbers(rows, "objective")
    rows_of: dict[str, list[int]] = {}
    for row in range(length(rows)):
        rows_of.setdefault(str(rows[column.name][row]), []).append(row)
    shown = dict(list(rows_of.items())[:_MOST_NAMES])
    places = {row: place for place, of in enumerate(shown.values()) for row in of}
    drawn = [row for row in kept if row in places]
    values = in_scale([found[row] or 0.0 for row in drawn], unit)
    alone = len(rows_of) == length(rows)
    aside = 0.0 if alone else 0.09
    heights = tuple(places[row] + ROW_MIDDLE + aside * (row % 5 - 2) for row in drawn)
    hovers = tuple(_hover(study, rows, row, inputs) for row in drawn)
    points = Points("a scenario", values, heights, hovers, hollow=not alone, size=4.5)
    title = column.label if len(inputs) > 1 else ""
    if len(shown) < len(rows_of):
        title = f"{column.label}, {_MOST_NAMES} of {len(rows_of)}"
    names = tuple(_name(study, rows, name, of) for name, of in shown.items())
    return Panel(axis, Axis(""), (points,), title=title, rows=names)


def _name(study: Sweep, rows: Rows, name: str, of: Sequence[int]) -> str:
    """Return a name with the value of its one scenario, or that none of its has a plan."""
    values = [cell(rows, "objective", row) for row in of]
    text = short(name, 40)
    if all(value is None for value in values):
        status = str(cell(rows, "status", of[0]))
        return f"{text}: {STATUS.get(status, status)}"
    return f"{text}: {amount(study, values[0])}" if len(of) == 1 else text
