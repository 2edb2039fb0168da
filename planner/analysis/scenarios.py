"""Scenarios of a sweep: named ones of the problem file, times rows of a table, times a grid."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple, overload

from planner.analysis.variants import Scenario, error_text
from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES
from planner.inputs import Inputs
from planner.levers import levers
from planner.loader import load, scenario_names
from planner.loader.axes import (
    MOST,
    Axis,
    Input,
    Point,
    missing,
    of_table,
    read_table,
    refuse_overlap,
    values,
)
from planner.schema.analysis import Column, Kind


class Base(NamedTuple):
    """A problem that scenarios change; ``inputs`` is None where a named scenario is refused."""

    name: str
    inputs: Inputs | None
    reason: str = ""


class Scenarios(Sequence[Scenario]):
    """Scenarios by place: bases first, then axes, the last of them fastest; made when asked for.

    ``axes`` are the table's columns of inputs.
    """

    def __init__(
        self, bases: Sequence[Base], grids: Sequence[tuple[Axis, ...]], axes: Sequence[Column]
    ) -> None:
        self._bases, self._grids, self.axes = tuple(bases), tuple(grids), tuple(axes)
        self._each = prod(axis.count for axis in grids[0])

    def __len__(self) -> int:
        return self._each * len(self._bases)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> list[Scenario]: ...
    def __getitem__(self, index: int | slice) -> Scenario | list[Scenario]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        number, rest = divmod(index, self._each)
        base, points = self._bases[number], list[Point]()
        for axis in reversed(self._grids[number]):
            rest, place = divmod(rest, axis.count)
            points.insert(0, axis.point(place))
        return Scenario(
            index,
            tuple(change for point in points for change in point.changes),
            " / ".join(filter(None, [base.name, *(point.name for point in points)])),
            "; ".join(filter(None, [base.reason, *(point.refused for point in points)])),
            base.name,
            tuple(cell for point in points for cell in point.cells),
        )

    @property
    def bases(self) -> dict[str, Inputs]:
        """Problems that scenarios change, by name."""
        return {base.name: base.inputs for base in self._bases if base.inputs is not None}


def scenarios(
    inputs: Inputs,
    *,
    vary: Sequence[str] = (),
    table: Path | None = None,
    named: Sequence[str] | None = None,
    problem: Path | None = None,
) -> Scenarios:
    """Read the scenarios of a sweep.

    Args:
        vary: each as ``PATH=VALUES``; the last one goes fastest.
        table: a CSV file, a scenario in each row.
        named: scenarios of the problem file, an empty sequence for all; None for none.
        problem: the problem file.

    Raises:
        InputError: an argument cannot be read, or no scenario is left.
    """
    if not vary and table is None and named is None:
        message, fix = "nothing is varied", "give --vary or --scenarios"
        raise InputError(Finding("vary", message, fix=fix))
    bases = [Base("", inputs)]
    if named is not None:
        assert problem is not None
        bases = _named(inputs, problem, named)
    makes: list[Callable[[Inputs], Axis]] = []
    if table is not None:
        rows = read_table(table)
        makes.append(lambda inputs: of_table(inputs, rows))
    makes += [partial(lambda option, inputs: values(inputs, option), option) for option in vary]
    grids = _grids(bases, makes)
    _refuse_too_many([len(bases), *(axis.count for axis in grids[0])])
    axes = [each for axis in grids[0] for each in axis.inputs]
    return Scenarios(bases, grids, input_columns(inputs, axes))


def _named(inputs: Inputs, problem: Path, names: Sequence[str]) -> list[Base]:
    """Load named scenarios of a problem file (none named: all), with its settings on top."""
    if inputs.scenario is not None:
        message, fix = "a named scenario does not go with --scenario", "give the one or the other"
        raise InputError(Finding("scenario", message, "--scenarios", fix=fix))
    there = scenario_names(problem)
    if not there:
        fix = "add scenarios: {half_power: {site: {facility_power: 5 MW}}}"
        message = f"{problem.name} has no scenarios"
        raise InputError(Finding("scenario", message, "--scenarios", fix=fix))
    for name in names:
        if name not in there:
            fix = did_you_mean(name, there) or "known: " + ", ".join(there)
            message = f"no scenario '{name[:60]}'"
            raise InputError(Finding("scenario", message, "--scenarios", fix=fix))
    bases, errors = [], []
    for name in dict.fromkeys(names or there):
        try:
            bases.append(Base(name, load(problem, settings=inputs.overrides, scenario=name)))
        except InputError as error:
            errors.append(error)
            bases.append(Base(name, None, error_text(error)))
    if len(errors) == len(bases):
        raise errors[0]
    return bases


def _grids(
    bases: Sequence[Base], makes: Sequence[Callable[[Inputs], Axis]]
) -> list[tuple[Axis, ...]]:
    """Axes of each base; a base that lacks a path of others refuses its scenarios."""
    made = [[_axis(make, base) for base in bases] for make in makes]
    columns = []
    for axes in made:
        known = next((axis for axis in axes if isinstance(axis, Axis)), None)
        if known is None:
            errors = [each for each in axes if isinstance(each, InputError) and each.findings]
            raise errors[0]
        columns.append(
            [axis if isinstance(axis, Axis) else missing(known, str(axis)) for axis in axes]
        )
    grids = [tuple(column[place] for column in columns) for place in range(len(bases))]
    for grid in grids:
        refuse_overlap(variable for axis in grid for variable in axis.variables)
    return grids


def _axis(make: Callable[[Inputs], Axis], base: Base) -> Axis | InputError:
    if base.inputs is None:
        return InputError([])
    try:
        return make(base.inputs)
    except InputError as error:
        return error


def _refuse_too_many(counts: Sequence[int]) -> None:
    total = prod(counts)
    if total > MOST:
        factors = " x ".join(f"{count:,}" for count in counts if count > 1)
        message = f"{factors} are {total:,} scenarios, and at most {MOST:,} can be asked for"
        raise InputError(Finding("vary", message, fix="take larger steps or fewer paths"))


# Labels of paths

_WORDS = {"it": "IT", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "mfu": "MFU", "pdu": "PDU"}
_COUNTS = {"max": "most", "min": "least", "fixed": "exactly", "installed": "installed"}
_PLAIN = {"consumes", "provides", "jobs", "targets"}
"""Steps of a path left out of its label."""


def labels(inputs: Inputs) -> dict[str, str]:
    """Labels of a problem's limits by path."""
    return {lever.path: lever.label for lever in levers(inputs) if not lever.choice}


def label(inputs: Inputs, path: str, known: Mapping[str, str]) -> str:
    """Label of a path: of its limit in ``known``, else words of the path."""
    if path in known:
        return known[path]
    steps = path.split(".")
    if steps[0] not in {"items", "extras", "catalog", "prices"} or len(steps) < 3:
        return _in_words(steps)
    models = {family.id: family.name for family in inputs.families}
    models |= {item.id: item.model for item in inputs.items}
    name = "every item" if steps[1] == "*" else models.get(steps[1], steps[1])
    if steps[0] == "items" and steps[2] in _COUNTS:
        return f"{_COUNTS[steps[2]]} {name}"
    return f"{_in_words(['list', 'price'] if steps[2] == 'list' else steps[2:])} of {name}"


def _in_words(steps: Iterable[str]) -> str:
    """The last two steps of a path in words."""
    last = [step for step in steps if step not in _PLAIN and not step.isdigit()][-2:]
    return " ".join(_WORDS.get(word, word) for step in last for word in step.split("_"))


# Columns of the table

COUNT_PREFIX = "units."
PLACE, NAME = "scenario", "name"
COLUMNS: Mapping[str, Kind] = {
    **dict.fromkeys(("status", "objective", "bound", "gap", "certificate"), "answer"),
    **dict.fromkeys(
        (
            "capex_usd",
            "opex_usd_per_year",
            "tco_usd",
            "it_power_kw",
            "facility_power_kw",
            "racks",
            "gpus",
            "storage_units",
        ),
        "total",
    ),
    **dict.fromkeys(
        (
            "gpu_type",
            "storage_family",
            "gpus_in_use",
            "mode",
            "interval_s",
            "stall_s",
            "drain_s",
            "overlap",
            "restore_s",
            "mtti_s",
            "goodput",
            "useful_gpus",
            "useful_pflops",
            "write_gb_per_s",
            "read_gb_per_s",
            "days_to_train",
        ),
        "job",
    ),
    **dict.fromkeys(("binding", "reason"), "text"),
}
"""Columns besides those of inputs and bought items, in order; items stand before the totals."""
FIELD_OF = {
    "gpus_in_use": "gpus_used",
    "write_gb_per_s": "delivered_write_gb_per_s",
    "read_gb_per_s": "delivered_read_gb_per_s",
}
"""Fields of a plan that have another name in the table."""
_LABELS = {
    "objective": "objective",
    "bound": "bound of the objective",
    "gap": "proven gap",
    "gpu_type": "GPU type",
    "storage_family": "storage family",
    "mode": "checkpoint mode",
    "binding": "binding limits",
}
_WHOLE = frozenset({PLACE, "racks", "gpus", "gpus_in_use", "storage_units"})
_TEXTS = frozenset(
    {NAME, "status", "certificate", "gpu_type", "storage_family", "mode", "binding", "reason"}
)


def columns(
    axes: Sequence[Column],
    bases: Iterable[Inputs],
    used: Collection[str],
    unit: str,
    *,
    named: bool,
) -> tuple[Column, ...]:
    """Columns of a table in order.

    Args:
        axes: those of inputs.
        bases: problems whose items may be bought.
        used: names of columns with units in any row.
        unit: of the objective.
        named: whether scenarios have names.
    """
    made = [_column(name, kind, unit) for name, kind in COLUMNS.items()]
    kinds = ("gpu_system", "storage")
    offers = {i.id: i for base in bases for i in base.items if i.category in kinds}
    items = [
        Column(name=COUNT_PREFIX + item.id, label=item.product, unit="units", kind="count")
        for item in sorted(offers.values(), key=lambda item: (item.category, item.id))
        if COUNT_PREFIX + item.id in used
    ]
    return (
        Column(name=PLACE, label=PLACE, kind="text"),
        *([Column(name=NAME, label=NAME, kind="text")] if named else []),
        *axes,
        *(column for column in made if column.kind == "answer"),
        *items,
        *(column for column in made if column.kind != "answer"),
    )


def _column(name: str, kind: Kind, unit: str) -> Column:
    figure = FIGURES.get(FIELD_OF.get(name, name))
    if figure is not None and name not in _LABELS:
        return Column(name=name, label=figure.label, unit=figure.unit, kind=kind)
    own = {"objective": unit, "bound": unit, "gap": "share"}.get(name, "")
    return Column(name=name, label=_LABELS.get(name, name), unit=own, kind=kind)


def input_columns(inputs: Inputs, axes: Iterable[Input]) -> list[Column]:
    """Columns of the inputs that axes vary."""
    known, found = labels(inputs), []
    for each in axes:
        unit = each.display.unit
        name = f"{each.path} [{unit}]" if unit else each.path
        name = f"{name} (varied)" if name in {PLACE, NAME, *COLUMNS} else name
        words = label(inputs, each.path, known)
        found.append(Column(name=name, label=words, unit=unit, kind="input", path=each.path))
    return found


def types(table: Iterable[Column], texts: Collection[str]) -> dict[str, str]:
    """Type by column, "int", "float" or "str"; ``texts`` are inputs that hold words."""
    found = {}
    for column in table:
        is_text = column.name in _TEXTS or (column.kind == "input" and column.name in texts)
        whole = column.name in _WHOLE or column.kind == "count"
        found[column.name] = "str" if is_text else "int" if whole else "float"
    return found
