"""A sweep: where the plan changes along one input, a map of two, scenarios of more; the page with
sliders.

The page needs no network: it holds the rows, its script and its style, and its policy allows
nothing else. Every position of its sliders is a scenario that was solved; nothing is interpolated.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import groupby
from numbers import Real
from statistics import median
from typing import Any

from planner.errors import Finding, InputError
from planner.figures import FIGURES, capital, objective_label
from planner.report import formats as fmt
from planner.report.blocks import (
    Axis,
    Block,
    Chart,
    Column,
    Facts,
    Heading,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Reference,
    Table,
    Text,
    figures,
    notes_block,
    proof_block,
    sized_axis,
    widest_gap_text,
    words,
)
from planner.schema.analysis import PLANNED, VARIED, Sweep
from planner.schema.analysis import Column as Input

Rows = Mapping[str, Sequence[Any]]
"""Columns by name."""

_MOST_INPUTS, _FIRST_ROWS, _MOST_ROWS = 3, 12, 20
_GAP = (
    "a row is solved to the gap asked for; solve the one to buy by itself, which takes the "
    "cheapest plan within objective.indifference"
)


# Rows, by the columns of the record.


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
    names = [c for c in study.columns if c.name == "name" and any(rows.get("name", ()))]
    inputs = [column for column in study.columns if column.kind == "input"]
    moving = [c for c in inputs if len(set(map(str, rows.get(c.name, ())))) > 1]
    return [*names, *(moving or inputs)]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


def _numeric(rows: Rows, column: Input) -> bool:
    """True if every value of an input is a number."""
    values = rows.get(column.name, ())
    return len(values) > 0 and all(map(_is_number, values))


def _texts(values: Sequence[Any], unit: str) -> tuple[list[str], str, float]:
    """Values of an input as texts, with the name and size of their unit."""
    if len(values) and all(map(_is_number, values)):
        written = fmt.scale(values, unit)
        return [written.text(value) for value in values], written.unit, written.size
    texts = [fmt.plain(float(v)) if _is_number(v) else str(v or "-") for v in values]
    return texts, "", 1.0


def _where(rows: Rows, inputs: Sequence[Input], place: int) -> str:
    """The values of inputs in a row."""
    found = []
    for column in inputs[:_MOST_INPUTS]:
        (text,), unit, _ = _texts([cell(rows, column.name, place)], column.unit)
        text = fmt.one_line(f"{text} {unit}".rstrip(), 40)
        found.append(f"{fmt.one_line(column.label, 40)} {text}")
    return ", ".join(found)


def bought(study: Sweep, rows: Rows, place: int) -> str:
    """The purchase of a row."""
    columns = [column for column in study.columns if column.kind == "count"]
    counts = {column.name: cell(rows, column.name, place) or 0 for column in columns}
    return fmt.purchase_text(counts, {column.name: column.label for column in columns})


def stretches(study: Sweep, rows: Rows, over: Input) -> list[tuple[int, int]]:
    """First and last row of each stretch of one input with the same purchase, GPUs and status."""
    names = ("gpus_in_use", *(c.name for c in study.columns if c.kind == "count"))

    def plan(place: int) -> tuple[Any, ...]:
        status = cell(rows, "status", place)
        if status not in PLANNED:
            return (status, cell(rows, "reason", place))
        return (status, *(cell(rows, name, place) or 0 for name in names))

    order = sorted(range(length(rows)), key=lambda row: rows[over.name][row])
    groups = (list(group) for _, group in groupby(order, plan))
    return [(places[0], places[-1]) for places in groups]


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
    inputs, at = varied(study, rows), best(study, rows)
    best_text = ""
    if at is not None:
        where = _where(rows, inputs, at)
        best_text = fmt.objective_amount(study, cell(rows, "objective", at))
        best_text += f" with {where}" if where else ""
    facts = (
        ("Best", best_text),
        ("Varied", "; ".join(_values(rows, column) for column in inputs) or "nothing"),
        ("Now", fmt.base_objective(study)),
        ("Ended", fmt.count_statuses(study.statuses)),
    )
    asked = fmt.count_noun(study.asked, "scenario")
    title = Heading(f"{fmt.study_name(study)}  (sweep of {asked})")
    if not length(rows):
        return [title, Facts(facts)]
    no_plan = Text(tuple(_no_plan(rows)), "No plan", points=True, most=5, first=3)
    proof = f"{study.solved:,} scenarios searched, {study.reused:,} certified by the searches of "
    proof += f"others; each within {fmt.gap(study.gap_asked)} of its bound where "
    proof += f"'{fmt.STATUS_WORDS['optimal']}'"
    missing = study.asked - study.rows
    proof += f"; {missing:,} of {study.asked:,} not answered" if missing > 0 else ""
    return [
        title,
        Facts(facts),
        _table(study, rows, inputs),
        no_plan,
        notes_block(() if study.exact else (_GAP,)),
        proof_block((fmt.unchanged_objective(study) if study.base is not None else "", proof)),
    ]


def _values(rows: Rows, column: Input) -> str:
    """An input with its path and values."""
    values = rows.get(column.name, ())
    texts, unit, _ = _texts(values, column.unit)
    path = "" if column.path in ("", column.label) else f" ({column.path})"
    distinct = list(dict.fromkeys(texts))
    if not _numeric(rows, column):
        shown = fmt.list_first([fmt.one_line(each, 40) for each in distinct], 6)
        return f"{column.label}{path}: {shown}"
    ends = [texts[values.index(end)] for end in (min(values), max(values))]
    span = f"{' to '.join(dict.fromkeys(ends))} {unit}".rstrip()
    return f"{column.label}{path}, {span}, {fmt.count_noun(len(distinct), 'value')}"


def _table(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> Table:
    """The scenarios in their order; of one input of numbers the stretches with one plan each."""
    heads = list(inputs[:_MOST_INPUTS])
    places, lasts = list(range(length(rows))), []
    is_line = len(inputs) == 1 and _numeric(rows, inputs[0])
    if is_line:
        places, lasts = map(list, zip(*stretches(study, rows, inputs[0]), strict=True))
    columns = [_input(rows, column, places, column.label) for column in heads]
    columns += [_input(rows, column, lasts, "to") for column in heads if is_line]
    for head, at in ((fmt.goal(study), places), *([("at its end", lasts)] if is_line else [])):
        columns.append(figures(head, (cell(rows, "objective", place) for place in at), study.unit))
    gpus = (cell(rows, "gpus_in_use", at) for at in places)
    columns.append(figures(FIGURES["gpus_used"].label, gpus, 0))
    columns.append(words("buys", (_bought_or_status(study, rows, at) for at in places)))
    if is_line:
        title = f"Plans by {inputs[0].label}"
        return Table(title, tuple(columns), most=_MOST_ROWS, first=_FIRST_ROWS, rows="stretches")
    hidden = [column.label for column in inputs[_MOST_INPUTS:]]
    notes = (f"in the files: {fmt.join_words(hidden)}",) if hidden else ()
    top = best(study, rows)
    kept = () if top is None else (top,)
    return Table("Scenarios", tuple(columns), notes, _MOST_ROWS, kept, "scenarios", _FIRST_ROWS)


def _input(rows: Rows, column: Input, places: Sequence[int], label: str) -> Column:
    values = rows.get(column.name, ())
    texts, unit, size = _texts(values, column.unit)
    if not _numeric(rows, column):
        return words(label, (fmt.one_line(texts[at], 18) for at in places))
    sized, shown = tuple(values[at] / size for at in places), tuple(texts[at] for at in places)
    return Column(fmt.column_head(label, unit), sized, texts=shown)


def _bought_or_status(study: Sweep, rows: Rows, place: int) -> str:
    status = str(cell(rows, "status", place))
    if status not in PLANNED:
        return fmt.STATUS_WORDS.get(status, status)
    mark = f" ({fmt.STATUS_WORDS[status]})" if status == "feasible" else ""
    return bought(study, rows, place) + mark


def _no_plan(rows: Rows) -> Iterator[str]:
    """Yield the reasons for no plan, the most frequent first."""
    without = (at for at in range(length(rows)) if cell(rows, "status", at) not in PLANNED)
    reasons = Counter(str(cell(rows, "reason", at) or "") for at in without)
    for text, count in reasons.most_common():
        if text:
            yield f"{fmt.count_noun(count, 'scenario')}: {text}"


# The chart: a line, a map, or bars of scenarios.

_WIDE = 50.0
"""Factor between the ends of an axis from which it is logarithmic."""
_MOST_POINTS, _MOST_SIDE, _FEW_ACROSS, _FEW_UP, _MOST_TICKS = 1500, 200, 9, 14, 8


def charts(study: Sweep, rows: Rows) -> tuple[Chart, ...]:
    """The chart of a sweep."""
    found, inputs = _numbers(rows, "objective"), varied(study, rows)
    names = [fmt.one_line(column.label, 40) for column in inputs]
    few = 0 < len(names) <= _MOST_INPUTS
    over = f"by {fmt.join_words(names)}" if few else f"over {len(names)} inputs"
    title = f"{capital(fmt.goal(study))} {over}"
    if not any(value is not None for value in found):
        text = f"No scenario of {length(rows):,} has a plan ({fmt.count_statuses(study.statuses)})."
        return (Chart("sweep", title, text if length(rows) else "No scenario was solved."),)
    is_line = len(inputs) == 1 and _numeric(rows, inputs[0])
    if is_line:
        panel, text = _line(study, rows, inputs[0])
    elif len(inputs) == 2 and _is_grid(rows, inputs):
        panel, text = _map(study, rows, inputs)
    else:
        return ()
    gaps = zip(found, _numbers(rows, "gap"), strict=True)
    bounds = widest_gap_text([gap for value, gap in gaps if value is not None])
    count = f"{fmt.count_noun(length(rows), 'scenario')}."
    if length(rows) < study.rows:
        count = f"The first {length(rows):,} of {study.rows:,} scenarios."
    return (Chart("sweep", title, " ".join((count, bounds, text)).strip(), panel),)


def _numbers(rows: Rows, name: str) -> list[float | None]:
    """A column as numbers, None where there is none."""
    cells = (cell(rows, name, at) for at in range(length(rows)))
    return [float(v) if _is_number(v) and math.isfinite(v) else None for v in cells]


def _line(study: Sweep, rows: Rows, column: Input) -> tuple[Panel, str]:
    """The objective over one input, with a gap where there is no plan."""
    places = [value or 0.0 for value in _numbers(rows, column.name)]
    found = _numbers(rows, "objective")
    order = sorted(range(length(rows)), key=lambda row: places[row])
    order = order[:: -(-len(order) // _MOST_POINTS)]
    log = min(places) > 0 and max(places) >= max(_WIDE * min(places), 4 * median(places))
    x, wide = sized_axis(column.label, places, column.unit, log=log)
    y, high = sized_axis(fmt.goal(study), [study.base, *found], study.unit)
    xs = [places[row] / wide for row in order]
    ys = [None if (value := found[row]) is None else value / high for row in order]
    layers: list[Layer] = [Line(f"best {fmt.goal(study)}", tuple(xs), tuple(ys), style="o-")]
    if study.base is not None:
        layers.append(
            Reference(f"now: {fmt.objective_amount(study, study.base)}", study.base / high)
        )
    without = sum(value is None for value in found)
    text = f"No plan in {fmt.count_noun(without, 'scenario')}." if without else ""
    return Panel(x, y, tuple(layers)), text


def _is_grid(rows: Rows, inputs: Sequence[Input]) -> bool:
    """True if two inputs are numbers whose pairs fill at least half of a grid."""
    if not all(_numeric(rows, column) for column in inputs):
        return False
    sides = [len(set(rows[column.name])) for column in inputs]
    return max(sides) <= _MOST_SIDE and length(rows) >= math.prod(sides) / 2


def _map(study: Sweep, rows: Rows, inputs: Sequence[Input]) -> tuple[Panel, str]:
    """A heat map of two inputs, its best cell marked by a star."""
    xs, ys = (sorted(set(rows[column.name])) for column in inputs)
    found, top = _numbers(rows, "objective"), best(study, rows)
    unit, size = sized_axis("", found, study.unit)
    few = len(xs) <= _FEW_ACROSS and len(ys) <= _FEW_UP
    values: list[list[float | None]] = [[None] * len(xs) for _ in ys]
    texts = [[""] * len(xs) for _ in ys]
    star = (0.0, 0.0)
    for row in range(length(rows)):
        x, y = (rows[column.name][row] for column in inputs)
        across, up, value = xs.index(x), ys.index(y), found[row]
        values[up][across] = None if value is None else value / size
        text = "no plan" if value is None else f"{float(f'{value / size:.4g}'):,g}"
        texts[up][across] = f"{'★ ' if row == top else ''}{text}" if few else ""
        star = (float(across), float(up)) if row == top else star
    heat = HeatMap(unit.unit, tuple(map(tuple, values)), tuple(map(tuple, texts)))
    layers: list[Layer] = [heat, *([] if few else [Mark("", *star, "star")])]
    axes = _map_axis(inputs[0], xs), _map_axis(inputs[1], ys)
    said = ""
    if top is not None:
        where = _where(rows, inputs, top)
        said = f"Star: the best, {fmt.objective_amount(study, found[top] or 0.0)} at {where}."
    without = sum(value is None for value in found)
    said += f" {fmt.count_noun(without, 'scenario')} without a plan." if without else ""
    return Panel(*axes, tuple(layers)), said


def _map_axis(column: Input, values: Sequence[float]) -> Axis:
    step = max(1, -(-len(values) // _MOST_TICKS))
    texts, unit, _ = _texts(values, column.unit)
    return Axis(column.label, unit, ticks=tuple(enumerate(texts))[::step])


# The page with sliders.

MOST_BYTES = 1_000_000
_TILES = {
    "gpus_in_use": "gpus_used",
    "capex_usd": "capex_usd",
    "goodput": "goodput",
    "days_to_train": "days_to_train",
    "facility_power_kw": "facility_power_kw",
}
"""Columns of a sweep that the page shows besides the objective, with their figures."""


def page(study: Sweep, rows: Rows, now: Mapping[str, Any]) -> bytes:
    """A sweep as one HTML file with sliders.

    Args:
        study: columns and results of the scenarios.
        rows: the scenarios by column.
        now: values of the problem as it is, by path: where the sliders begin.

    Raises:
        InputError: the file would be larger than 1 MB, or there is no scenario.
    """
    if not length(rows):
        raise InputError(Finding("html", "there is no scenario to show", fix="vary an input"))
    data = json.dumps(_data(study, rows, now), ensure_ascii=False, separators=(",", ":"))
    template = resources.files("planner.report").joinpath("sweep_page.html").read_text("utf-8")
    found = template.replace("{{data}}", data.replace("<", "\\u003c")).encode()
    if len(found) > MOST_BYTES:
        message = f"the page of {length(rows):,} scenarios takes {len(found) / 1e6:.1f} MB"
        raise InputError(Finding("html", message, fix="take larger steps: a page holds 1 MB"))
    return found


def _data(study: Sweep, rows: Rows, now: Mapping[str, Any]) -> dict[str, Any]:
    """Data of the script: axes, and columns of rows in the order of the grid."""
    axes, order = _axes(study, rows, now)
    texts: dict[str, int] = {}  # many rows share them
    reasons: dict[str, int] = {}
    buys, ends = [], []
    for at in order:
        status, reason = str(cell(rows, "status", at)), cell(rows, "reason", at)
        text = bought(study, rows, at) if status in PLANNED else ""
        buys.append(texts.setdefault(text, len(texts)) if text else -1)
        end = fmt.STATUS_WORDS[status] + (f": {reason}" if reason else "")
        ends.append(reasons.setdefault(end, len(reasons)))
    tiles = [_tile(rows, order, "objective", objective_label(study.objective), study.unit)]
    for name, figure in _TILES.items():
        if any(cell(rows, name, at) is not None for at in order):
            tiles.append(_tile(rows, order, name, FIGURES[figure].label, FIGURES[figure].unit))
    return {
        "title": f"{fmt.study_name(study)}: what if",
        "about": f"{length(rows):,} scenarios, each solved; nothing is interpolated",
        "axes": axes,
        "tiles": tiles,
        "buys": buys,
        "texts": list(texts),
        "ends": ends,
        "reasons": list(reasons),
    }


def _tile(rows: Rows, order: Sequence[int], name: str, label: str, unit: str) -> dict[str, Any]:
    """A column in the unit in which it is shown, with that unit and its decimals."""
    values = [cell(rows, name, at) for at in order]
    shown = fmt.result_scale(values, unit)
    large = any(value is not None and abs(value / shown.size) >= 1000 for value in values)
    digits = 0 if large else min(shown.digits, 2)
    sized = [None if v is None else _rounded(v / shown.size) for v in values]
    return {"label": capital(label), "unit": shown.unit, "digits": digits, "values": sized}


def _rounded(value: float) -> float:
    found = float(f"{value:.6g}")
    return int(found) if found.is_integer() else found


def _axes(
    study: Sweep, rows: Rows, now: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[int]]:
    """The sliders, and the places of rows in their order; one of all rows without a grid."""
    inputs, places = varied(study, rows), range(length(rows))
    values = {}
    for column in inputs:
        known = dict.fromkeys(cell(rows, column.name, at) for at in places)
        values[column.name] = sorted(known) if _numeric(rows, column) else list(known)
    keys = {
        tuple(values[c.name].index(cell(rows, c.name, at)) for c in inputs): at for at in places
    }
    if len(keys) == len(places) == math.prod(len(each) for each in values.values()):
        axes = [_axis(column, values[column.name], now.get(column.path)) for column in inputs]
        return axes, [keys[key] for key in sorted(keys)]
    texts = [str(cell(rows, "name", at) or _where(rows, inputs, at)) for at in places]
    axis = {"label": "Scenario", "unit": "", "texts": texts, "at": list(places), "now": 0}
    return [axis], list(places)


def _axis(column: Input, values: Sequence[Any], own: Any) -> dict[str, Any]:
    """A slider; it begins at the value that is nearest to the problem's own."""
    texts, unit, size = _texts(values, column.unit)
    is_line = all(map(_is_number, (*values, own)))
    far = [abs(value - own) if is_line else float(value != own) for value in values]
    places: list[float] = list(range(len(values)))
    if all(map(_is_number, values)):
        places = [_rounded(value / size) for value in values]
    start = {"at": places, "now": far.index(min(far))}
    return {"label": capital(column.label), "unit": unit, "texts": texts, **start}
