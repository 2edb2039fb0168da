"""From what a user asks to vary to scenarios: named ones, the rows of a table, a grid, samples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from pathlib import Path

from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader.vary import (
    MOST,
    Axis,
    Input,
    Missing,
    of_samples,
    of_table,
    read_table,
    refuse_overlap,
    values,
)
from planner.schema.sensitivity import Column
from planner.studies.sensitivity.columns import ANSWERS
from planner.studies.sensitivity.labels import label, labels
from planner.studies.sensitivity.named import Base, Columns, columns, named_bases
from planner.studies.sensitivity.scenarios import Block, Scenarios

Make = Callable[[Inputs], Axis]


def scenarios(
    inputs: Inputs,
    *,
    vary: Sequence[str] = (),
    table: Path | None = None,
    named: Sequence[str] | None = None,
    problem: Path | None = None,
) -> Scenarios:
    """Return the scenarios that a user asks for: named ones, times rows, times a grid.

    Args:
        inputs: the problem as it stands.
        vary: what to vary, each as ``PATH=VALUES``; the last one goes fastest.
        table: a CSV file of scenarios.
        named: which of the problem file's scenarios, an empty sequence for all; None for none.
        problem: the problem file, which named scenarios are read from.

    Raises:
        InputError: what is asked for cannot be read, or leaves no scenario to ask.
    """
    if not vary and table is None and named is None:
        message, fix = "nothing is varied", "give --vary, --scenarios or --named"
        raise InputError(Finding("vary", message, fix=fix))
    bases, own = [Base("", inputs)], Columns()
    if named is not None:
        if problem is None:
            raise ValueError("named scenarios are read from the problem file")
        bases = named_bases(inputs, problem, named)
        own = columns(inputs, bases)
    grids = _grids(bases, [*_table_makes(table), *map(_value_make, vary)])
    _refuse_absurd([axis.count for axis in grids[0]], len(bases))
    return _joined(inputs, bases, own, grids)


def samples(
    inputs: Inputs, numbers: Mapping[str, Sequence[float]], *, factors: Collection[str] = ()
) -> Scenarios:
    """Return scenarios of numbers that were drawn: the n-th of every path is the n-th scenario.

    Args:
        inputs: the problem as it stands.
        numbers: for each path, in its canonical unit.
        factors: the paths whose numbers are factors of the values as they stand.

    Raises:
        InputError: a path leads nowhere, or every scenario is refused.
    """
    axis = of_samples(inputs, numbers, factors)
    refuse_overlap([axis])
    return _joined(inputs, [Base("", inputs)], Columns(), [(axis,)])


def _table_makes(path: Path | None) -> list[Make]:
    if path is None:
        return []
    table = read_table(path)
    return [lambda inputs: of_table(inputs, table)]


def _value_make(option: str) -> Make:
    return lambda inputs: values(inputs, option)


def _grids(bases: Sequence[Base], makes: Sequence[Make]) -> list[tuple[Axis, ...]]:
    """Return the axes of every base; what only some of them have is refused in the others."""
    rows = [[_attempt(make, base) for make in makes] for base in bases]
    grids = []
    for row in rows:
        axes = []
        for place, made in enumerate(row):
            known = [each[place] for each in rows if isinstance(each[place], Axis)]
            like = known[0] if known else made
            if not isinstance(like, Axis):
                raise _error([each[place] for each in rows])
            axes.append(made if isinstance(made, Axis) else Missing(like, str(made)))
        refuse_overlap(axes)
        grids.append(tuple(axes))
    return grids


def _attempt(make: Make, base: Base) -> Axis | InputError:
    if base.inputs is None:
        return InputError([])
    try:
        return make(base.inputs)
    except InputError as error:
        return error


def _error(made: Sequence[Axis | InputError]) -> InputError:
    """Return the first error that says something."""
    return next(one for one in made if isinstance(one, InputError) and one.findings)


def _refuse_absurd(counts: Sequence[int], bases: int) -> None:
    total = prod(counts) * bases
    if total > MOST:
        ways = " x ".join(f"{count:,}" for count in (bases, *counts) if count > 1)
        message = f"{ways} are {total:,} scenarios, and at most {MOST:,} can be asked for"
        raise InputError(Finding("vary", message, fix="take larger steps or fewer paths"))


def _joined(
    inputs: Inputs, bases: Sequence[Base], own: Columns, grids: Sequence[tuple[Axis, ...]]
) -> Scenarios:
    """Return scenarios with their columns; what an axis varies is no column of its base."""
    varied = [column for axis in grids[0] for column in axis.inputs]
    kept = [at for at, one in enumerate(own.inputs) if not any(_meet(one, v) for v in varied)]
    rows = own.cells or [()] * len(bases)
    blocks = [
        Block(base, tuple(row[at] for at in kept), axes)
        for base, row, axes in zip(bases, rows, grids, strict=True)
    ]
    known = labels(inputs)
    shown = [*(own.inputs[at] for at in kept), *varied]
    return Scenarios(blocks, [_column(inputs, one, known) for one in shown])


def _meet(one: Input, other: Input) -> bool:
    """Say whether one of two paths is a part of the other."""
    first, second = (f"{column.path}." for column in (one, other))
    return first.startswith(second) or second.startswith(first)


def _column(inputs: Inputs, column: Input, known: dict[str, str]) -> Column:
    unit = column.shown.unit
    name = f"{column.path} [{unit}]" if unit else column.path
    if name in ANSWERS:  # what is asked for is not what comes out: an objective and its value
        name = f"{name} (varied)"
    words = label(inputs, column.path, known)
    return Column(name=name, label=words, unit=unit, kind="input", path=column.path)
