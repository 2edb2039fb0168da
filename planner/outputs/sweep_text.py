"""A sweep on the screen: what was varied, how it ended, where the plan changes."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.comparison_words import counted, fitted, listed
from planner.outputs.scales import Scale, results, scale
from planner.outputs.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    ended,
    goal,
    named,
    narrowed,
    printable,
    scenarios,
)
from planner.outputs.size_text import table
from planner.outputs.sweep_rows import (
    Rows,
    Stretch,
    best,
    bought,
    cell,
    length,
    numeric,
    reasons,
    stretches,
    told,
    varied,
)
from planner.outputs.words import INDENT, wrapped
from planner.schema.sensitivity import PLANNED, Column, Sweep

MOST_ROWS = 20
"""Rows of the table on the screen."""

_MOST_INPUTS, _INPUT_WIDTH = 3, 18
_MOST_REASONS = 5
_FEW = 6
"""Values of a list of choices that are named one by one."""


def render(study: Sweep, rows: Rows) -> str:
    """Return the whole screen, at most 100 columns wide.

    Args:
        study: what the columns are and how the scenarios ended.
        rows: the table, by column.
    """
    inputs = varied(study, rows)
    one = inputs[0] if len(inputs) == 1 and numeric(rows, inputs[0]) else None
    parts = [f"{named(study)}  (sweep of {scenarios(study.asked)})", _about(study, rows, inputs)]
    if length(rows):
        parts.append(_stretches(study, rows, one) if one else _first(study, rows, inputs))
        parts.append(_why_none(study, rows, one))
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _about(study: Sweep, rows: Rows, inputs: Sequence[Column]) -> str:
    """Return what was varied, how it ended, and between which values the objective lies."""
    texts = [f"varied: {_values(rows, column)}" for column in inputs] or ["varied: nothing"]
    stands = [as_it_stands(study)] if study.base is not None else []
    texts += [*stands, f"ended: {ended(study.statuses)}", _proof(study)]
    at = best(study, rows)
    if at is not None and length(rows) > 1:
        where = ", ".join(f"{c.label} {_one(rows, c, at)}" for c in inputs[:_MOST_INPUTS])
        texts.append(f"best of all: {amount(study, cell(rows, 'objective', at))} with {where}")
    return "\n".join(line for text in texts for line in wrapped(text))


def _values(rows: Rows, column: Column) -> str:
    """Return an input with its place and the values it takes."""
    values = list(dict.fromkeys(rows.get(column.name, ())))
    path = "" if column.path in ("", column.label) else f" ({column.path})"
    if numeric(rows, column):
        written = scale(values, column.unit)
        span = written.with_unit(min(values))
        if len(values) > 1:
            span = f"{written.text(min(values))} to {written.with_unit(max(values))}"
        return f"{column.label}{path}, {span}, {counted(len(values), 'value')}"
    named_values = [fitted(told(value), 40) for value in values[:_FEW]]
    more = [f"{len(values) - _FEW} more"] if len(values) > _FEW else []
    return f"{column.label}{path}: {listed([*named_values, *more]) or 'no value'}"


def _proof(study: Sweep) -> str:
    """Return how the answers were proven, and whether all are there."""
    text = (
        f"{study.solved:,} needed a search, {study.reused:,} are certified by what the searches "
        f"of others proved; each value is within {asked_gap(study)} of its bound where it says "
        f"'{STATUS['optimal']}'"
    )
    missing = study.asked - study.rows
    return f"{text}; {scenarios(missing)} of {study.asked:,} not answered" if missing > 0 else text


def _one(rows: Rows, column: Column, place: int) -> str:
    value = cell(rows, column.name, place)
    if not numeric(rows, column):
        return told(value)
    return scale(rows[column.name], column.unit).with_unit(value)


def _objectives(study: Sweep, rows: Rows) -> Scale:
    return results([cell(rows, "objective", at) for at in range(length(rows))], study.unit)


def _stretches(study: Sweep, rows: Rows, over: Column) -> str:
    """Return the table of where the plan changes."""
    found = stretches(study, rows, over)
    values, worth = scale(rows[over.name], over.unit), _objectives(study, rows)
    lines = [
        [values.unit, values.unit, "", worth.unit, worth.unit, "GPUs", ""],
        ["from", "to", "rows", "at from", "at to", "in use", "buys"],
    ]
    lines += [_stretch(study, rows, over, each, (values, worth)) for each in _spread(found)]
    title = f"Where the plan changes with {over.label}"
    if len(found) > MOST_ROWS:
        title += f": {MOST_ROWS} of {len(found):,} stretches; the files have every row"
    return "\n".join([*wrapped(title, "", ""), *table(narrowed(lines, 6), left=(6,))])


def _spread(found: Sequence[Stretch]) -> Sequence[Stretch]:
    """Return as many stretches as the table takes, evenly from the first to the last."""
    if len(found) <= MOST_ROWS:
        return found
    return [found[at * (len(found) - 1) // (MOST_ROWS - 1)] for at in range(MOST_ROWS)]


def _stretch(
    study: Sweep, rows: Rows, over: Column, each: Stretch, scales: tuple[Scale, Scale]
) -> list[str]:
    values, worth = scales
    planned = each.status in PLANNED
    ends = [cell(rows, "objective", at) if planned else None for at in (each.first, each.last)]
    gpus = cell(rows, "gpus_in_use", each.first)
    what = bought(study, rows, each.first) if planned else STATUS.get(each.status, each.status)
    mark = f" ({STATUS[each.status]})" if each.status == "feasible" else ""
    return [
        *(values.text(rows[over.name][at]) for at in (each.first, each.last)),
        f"{each.rows:,}",
        *(worth.text(value) for value in ends),
        "-" if gpus is None or not planned else f"{gpus:,.0f}",
        what + mark,
    ]


def _first(study: Sweep, rows: Rows, inputs: Sequence[Column]) -> str:
    """Return the first rows, and how many more there are in the files."""
    shown, worth = inputs[:_MOST_INPUTS], _objectives(study, rows)
    scales = [scale(rows[c.name], c.unit) if numeric(rows, c) else None for c in shown]
    units = [each.unit if each else "" for each in scales]
    lines = [
        [*(fitted(column.label, _INPUT_WIDTH) for column in shown), "", goal(study), "GPUs", ""],
        [*units, "ended", worth.unit, "in use", "buys"],
    ]
    count = length(rows)
    for at in range(min(count, MOST_ROWS)):
        own = [
            each.text(value) if each else fitted(told(value), _INPUT_WIDTH)
            for value, each in zip((cell(rows, c.name, at) for c in shown), scales, strict=True)
        ]
        lines.append([*own, *_answer(study, rows, at, worth)])
    words = [place for place, each in enumerate(scales) if each is None]
    last = len(lines[0]) - 1
    body = table(narrowed(lines, last), left=(*words, len(shown), last))
    hidden = [c.label for c in inputs[_MOST_INPUTS:]]
    more = [f"{count - MOST_ROWS:,} more rows"] if count > MOST_ROWS else []
    also = [line for line in wrapped(f"in the files: {listed([*more, *hidden])}") if more or hidden]
    title = f"The first {MOST_ROWS} scenarios" if more else "Scenarios"
    return "\n".join([title, *body, *also])


def _answer(study: Sweep, rows: Rows, at: int, worth: Scale) -> list[str]:
    status = str(cell(rows, "status", at))
    gpus = cell(rows, "gpus_in_use", at)
    return [
        STATUS.get(status, status),
        worth.text(cell(rows, "objective", at)),
        "-" if gpus is None else f"{gpus:,.0f}",
        bought(study, rows, at) if status in PLANNED else "",
    ]


def _why_none(study: Sweep, rows: Rows, over: Column | None) -> str:
    """Return why there is no plan: by stretch of one input, otherwise by how often."""
    if over is not None:
        said = [_stretch_reason(rows, over, e) for e in stretches(study, rows, over) if e.reasons]
    else:
        said = [
            f"{scenarios(each.rows)}, {STATUS.get(each.status, each.status)}: {each.said}"
            for each in reasons(rows)
            if each.text
        ]
    if not said:
        return ""
    lines = [line for text in said[:_MOST_REASONS] for line in wrapped(text, f"{INDENT}- ", "    ")]
    if len(said) > _MOST_REASONS:
        lines.append(f"{INDENT}- {len(said) - _MOST_REASONS:,} more in the files")
    return "\n".join(["Why there is no plan", *lines])


def _stretch_reason(rows: Rows, over: Column, each: Stretch) -> str:
    written = scale(rows[over.name], over.unit)
    first, last = (rows[over.name][at] for at in (each.first, each.last))
    where = written.with_unit(first)
    if first != last:
        where = f"{written.text(first)} to {written.with_unit(last)}"
    more = len(each.reasons) - 1
    also = f" (and {counted(more, 'other reason')})" if more else ""
    return f"{where}: {each.reasons[0].said}{also}"
