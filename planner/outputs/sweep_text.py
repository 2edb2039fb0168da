"""A sweep on the screen: what was varied, how it ended, where the plan changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planner.figures import FIGURES
from planner.outputs.blocks import Block, Column, FirstScreen, Heading, Table, Text
from planner.outputs.sensitivity_words import (
    STATUS,
    amount,
    as_it_stands,
    asked_gap,
    ended,
    goal,
    named,
    scenarios,
)
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
    varied,
    write_value,
)
from planner.outputs.words import Scale, counted, fitted, listed, results, scale
from planner.schema.sensitivity import PLANNED, Sweep
from planner.schema.sensitivity import Column as Varied

MOST_ROWS = 20
"""Rows of the table on the screen."""

_MOST_INPUTS, _INPUT_WIDTH = 3, 18
_MOST_REASONS, _MOST_FIRST_REASONS = 5, 3
_FEW = 6
"""Values of a list of choices that are named one by one."""
_ROUGH = (
    "a row is solved to the gap asked for and tells the best there is; solve the one to buy by "
    "itself, which takes the cheapest plan within objective.indifference of it"
)


def view(study: Sweep, rows: Rows) -> list[Block]:
    """Return what a sweep says.

    Args:
        study: what the columns are and how the scenarios ended.
    """
    inputs = varied(study, rows)
    one = inputs[0] if len(inputs) == 1 and numeric(rows, inputs[0]) else None
    blocks: list[Block] = [Heading(_heading(study)), Text(tuple(_about(study, rows, inputs)))]
    if length(rows):
        blocks.append(_stretches(study, rows, one) if one else _first(study, rows, inputs))
        blocks.append(_why_none(study, rows, one))
    return blocks


_FIRST_ROWS = 12


def first(study: Sweep, rows: Rows) -> FirstScreen:
    """Return what one page says: what was varied, the best of it, where the plan changes.

    Args:
        study: what the columns are and how the scenarios ended.
    """
    if not length(rows):
        return FirstScreen(entire=True)
    inputs = varied(study, rows)
    one = inputs[0] if len(inputs) == 1 and numeric(rows, inputs[0]) else None
    at = best(study, rows)
    where = [] if at is None else [f"{c.label} {_one(rows, c, at)}" for c in inputs[:_MOST_INPUTS]]
    answer = [
        ("Varied", "; ".join(_values(rows, column) for column in inputs) or "nothing"),
        ("Best", "" if at is None else f"{amount(study, cell(rows, 'objective', at))}"
         + (f" with {', '.join(where)}" if where else "")),
        ("Now", "" if study.base is None else f"{goal(study)} {amount(study, study.base)}"),
        ("Ended", ended(study.statuses)),
    ]  # fmt: skip
    table = (
        _stretches(study, rows, one, _FIRST_ROWS)
        if one
        else _first(study, rows, inputs, _FIRST_ROWS)
    )
    why = replace(_why_none(study, rows, one), most=_MOST_FIRST_REASONS)
    stands = (as_it_stands(study),) if study.base is not None else ()
    return FirstScreen(
        _heading(study),
        tuple(answer),
        below=(table, why),
        proof=(*stands, _proof(study)),
        full=f"up to {MOST_ROWS} rows; the files have all {study.rows:,}",
        notes=() if study.exact else (_ROUGH,),
    )


def _heading(study: Sweep) -> str:
    return f"{named(study)}  (sweep of {scenarios(study.asked)})"


def _about(study: Sweep, rows: Rows, inputs: Sequence[Varied]) -> list[str]:
    """Return what was varied, how it ended, and between which values the objective lies."""
    texts = [f"varied: {_values(rows, column)}" for column in inputs] or ["varied: nothing"]
    stands = [as_it_stands(study)] if study.base is not None else []
    texts += [*stands, f"ended: {ended(study.statuses)}", _proof(study)]
    at = best(study, rows)
    if at is not None and length(rows) > 1:
        where = ", ".join(f"{c.label} {_one(rows, c, at)}" for c in inputs[:_MOST_INPUTS])
        texts.append(f"best of all: {amount(study, cell(rows, 'objective', at))} with {where}")
    return texts


def _values(rows: Rows, column: Varied) -> str:
    """Return an input with its place and the values it takes."""
    values = list(dict.fromkeys(rows.get(column.name, ())))
    path = "" if column.path in ("", column.label) else f" ({column.path})"
    if numeric(rows, column):
        written = scale(values, column.unit)
        span = written.with_unit(min(values))
        if len(values) > 1:
            span = f"{written.text(min(values))} to {written.with_unit(max(values))}"
        return f"{column.label}{path}, {span}, {counted(len(values), 'value')}"
    named_values = [fitted(write_value(value), 40) for value in values[:_FEW]]
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


def _one(rows: Rows, column: Varied, place: int) -> str:
    value = cell(rows, column.name, place)
    if not numeric(rows, column):
        return write_value(value)
    return scale(rows[column.name], column.unit).with_unit(value)


def _objectives(study: Sweep, rows: Rows) -> Scale:
    return results([cell(rows, "objective", at) for at in range(length(rows))], study.unit)


def _stretches(study: Sweep, rows: Rows, over: Varied, most: int = MOST_ROWS) -> Table:
    """Return the table of where the plan changes."""
    found = stretches(study, rows, over)
    shown, at = _spread(found, most), rows[over.name]
    values, worth = scale(at, over.unit), _objectives(study, rows)
    title = f"Where the plan changes with {over.label}"
    if len(found) > most:
        title += f": {most} of {len(found):,} stretches; the files have every row"
    gpus = tuple(_gpus(rows, each) for each in shown)
    bought_ = tuple(_buys(study, rows, each) for each in shown)
    columns = (
        _texts("from", values.unit, (values.text(at[each.first]) for each in shown)),
        _texts("to", values.unit, (values.text(at[each.last]) for each in shown)),
        _texts("rows", "", (f"{each.rows:,}" for each in shown)),
        _texts("at from", worth.unit, (_worth(rows, e, e.first, worth) for e in shown)),
        _texts("at to", worth.unit, (_worth(rows, e, e.last, worth) for e in shown)),
        Column(FIGURES["gpus_used"].label, gpus, head=("GPUs", "in use")),
        Column("buys", bought_, words=True, gives_way=True),
    )
    return Table(title, columns)


def _texts(label: str, unit: str, texts: Iterable[str]) -> Column:
    return Column(label, tuple(texts), head=(unit, label))


def _spread(found: Sequence[Stretch], most: int) -> Sequence[Stretch]:
    """Return as many stretches as the table takes, evenly from the first to the last."""
    if len(found) <= most:
        return found
    return [found[at * (len(found) - 1) // (most - 1)] for at in range(most)]


def _worth(rows: Rows, each: Stretch, place: int, scale_: Scale) -> str:
    return scale_.text(cell(rows, "objective", place) if each.status in PLANNED else None)


def _gpus(rows: Rows, each: Stretch) -> str:
    gpus = cell(rows, "gpus_in_use", each.first)
    return "-" if gpus is None or each.status not in PLANNED else f"{gpus:,.0f}"


def _buys(study: Sweep, rows: Rows, each: Stretch) -> str:
    if each.status not in PLANNED:
        return STATUS.get(each.status, each.status)
    mark = f" ({STATUS[each.status]})" if each.status == "feasible" else ""
    return bought(study, rows, each.first) + mark


def _first(study: Sweep, rows: Rows, inputs: Sequence[Varied], most: int = MOST_ROWS) -> Table:
    """Return the first rows, and how many more there are in the files."""
    count, worth = length(rows), _objectives(study, rows)
    places = range(min(count, most))
    statuses = [str(cell(rows, "status", at)) for at in places]
    gpus = [cell(rows, "gpus_in_use", at) for at in places]
    bought_ = tuple(
        bought(study, rows, at) if status in PLANNED else ""
        for at, status in zip(places, statuses, strict=True)
    )
    columns = [
        *(_input(rows, column, places) for column in inputs[:_MOST_INPUTS]),
        Column("ended", tuple(STATUS.get(each, each) for each in statuses), words=True),
        Column(
            goal(study),
            tuple(worth.text(cell(rows, "objective", at)) for at in places),
            head=(goal(study), worth.unit),
        ),
        Column(
            FIGURES["gpus_used"].label,
            tuple("-" if each is None else f"{each:,.0f}" for each in gpus),
            head=("GPUs", "in use"),
        ),
        Column("buys", bought_, words=True, gives_way=True),
    ]
    more = [f"{count - most:,} more rows"] if count > most else []
    hidden = [*more, *(column.label for column in inputs[_MOST_INPUTS:])]
    note = f"in the files: {listed(hidden)}" if hidden else ""
    title = f"The first {most} scenarios" if more else "Scenarios"
    return Table(title, tuple(columns), (note,))


def _input(rows: Rows, column: Varied, places: Iterable[int]) -> Column:
    values = [cell(rows, column.name, at) for at in places]
    label = fitted(column.label, _INPUT_WIDTH)
    if not numeric(rows, column):
        texts = tuple(fitted(write_value(value), _INPUT_WIDTH) for value in values)
        return Column(column.label, texts, head=(label, ""), words=True)
    written = scale(rows[column.name], column.unit)
    texts = tuple(written.text(value) for value in values)
    return Column(column.label, texts, head=(label, written.unit))


def _why_none(study: Sweep, rows: Rows, over: Varied | None) -> Text:
    """Return why there is no plan: by stretch of one input, otherwise by how often."""
    if over is not None:
        found = [_stretch_reason(rows, over, e) for e in stretches(study, rows, over) if e.reasons]
    else:
        found = [
            f"{scenarios(each.rows)}, {STATUS.get(each.status, each.status)}: {each.in_words}"
            for each in reasons(rows)
            if each.text
        ]
    return Text(tuple(found), "Why there is no plan", points=True, most=_MOST_REASONS)


def _stretch_reason(rows: Rows, over: Varied, each: Stretch) -> str:
    written = scale(rows[over.name], over.unit)
    first, last = (rows[over.name][at] for at in (each.first, each.last))
    where = written.with_unit(first)
    if first != last:
        where = f"{written.text(first)} to {written.with_unit(last)}"
    more = len(each.reasons) - 1
    also = f" (and {counted(more, 'other reason')})" if more else ""
    return f"{where}: {each.reasons[0].in_words}{also}"
