"""The scenarios of a study: what a user asks to vary, as problems with some values replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, overload

from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES
from planner.inputs import Change, Inputs
from planner.levers import levers
from planner.loader import load, scenario_names
from planner.loader.overrides import CHOICES
from planner.loader.vary import (
    MOST,
    Axis,
    Cell,
    Display,
    Input,
    Missing,
    NoPlaceError,
    Point,
    Variable,
    of_samples,
    of_table,
    read_table,
    refuse_overlap,
    values,
)
from planner.loader.vary.place import name_unit, number_of, short
from planner.schema.sensitivity import Column, Kind

Row = dict[str, Any]
"""A row of the table: column name to number, text or None."""


@dataclass(frozen=True)
class Scenario:
    """One scenario of a study, by its place among all of them.

    ``changes`` replace values of the problem, of catalogs (``catalog.ITEM.GROUP.FIGURE``) or of
    prices (``prices.ITEM.list``). ``refused`` tells why the scenario cannot be asked at all; it is
    then a row with status "invalid" and this reason. ``base`` names the scenario of the problem
    file that is changed, empty for the problem as it stands.
    """

    index: int
    changes: tuple[Change, ...]
    name: str = ""
    refused: str = ""
    base: str = ""


COUNT_PREFIX = "units."


_WORDS = {"it": "IT", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "mfu": "MFU", "pdu": "PDU"}
_COUNTS = {"max": "most", "min": "least", "fixed": "exactly", "installed": "installed"}
_PLAIN = {"consumes", "provides", "jobs", "targets"}
"""Steps that say nothing that the next one does not."""


def labels(inputs: Inputs) -> dict[str, str]:
    """Return what the limits of a problem are called, by their paths."""
    return {lever.path: lever.label for lever in levers(inputs) if not lever.choice}


def label(inputs: Inputs, path: str, known: dict[str, str]) -> str:
    """Return what a path is called: as its limit, or in the words of the path.

    Args:
        known: what limits are called.
    """
    if path in known:
        return known[path]
    steps = path.split(".")
    if steps[0] not in {"items", "extras", "catalog", "prices"} or len(steps) < 3:
        return _worded([step for step in steps if step not in _PLAIN])
    name = _name(inputs, steps[1])
    if steps[0] == "items" and steps[2] in _COUNTS:
        return f"{_COUNTS[steps[2]]} {name}"
    rest = ["list", "price"] if steps[2] == "list" else steps[2:]
    return f"{_worded([step for step in rest if step not in _PLAIN])} of {name}"


def _name(inputs: Inputs, step: str) -> str:
    """Return what an item or a family is called."""
    families = {family.id: family.name for family in inputs.families}
    models = families | {item.id: item.model for item in inputs.items}
    return "every item" if step == "*" else models.get(step, step)


def _worded(steps: list[str]) -> str:
    """Return the last two steps in words."""
    words = [word for step in steps for word in [step.split("_")] if not step.isdigit()][-2:]
    return " ".join(_WORDS.get(each, each) for word in words for each in word)


FIELD_OF = {
    "gpus_in_use": "gpus_used", "write_gb_per_s": "delivered_write_gb_per_s",
    "read_gb_per_s": "delivered_read_gb_per_s",
}  # fmt: skip
"""The field of a plan that a column shows, where it is not called as the column."""


def _figure(name: str) -> tuple[str, str, str]:
    """Return the column of a figure: its name, what it is called, its unit."""
    figure = FIGURES[FIELD_OF.get(name, name)]
    return name, figure.label, figure.unit


PLACE, NAME = "scenario", "name"
_ANSWER = (
    ("status", "status", ""), ("objective", "objective", "objective"),
    ("bound", "bound of the objective", "objective"), ("gap", "proven gap", "share"),
    ("certificate", "certificate", ""),
)  # fmt: skip
_TOTALS = (
    *(_figure(name) for name in (
        "capex_usd", "opex_usd_per_year", "tco_usd", "it_power_kw", "facility_power_kw", "racks",
        "gpus", "storage_units",
    )),
)  # fmt: skip
_JOB = (
    ("gpu_type", "GPU type", ""), ("storage_family", "storage family", ""),
    _figure("gpus_in_use"), ("mode", "checkpoint mode", ""),
    *(_figure(name) for name in (
        "interval_s", "stall_s", "drain_s", "overlap", "restore_s", "mtti_s", "goodput",
        "useful_gpus", "useful_pflops", "write_gb_per_s", "read_gb_per_s", "days_to_train",
    )),
)  # fmt: skip
OF_TOTALS, OF_JOB = (tuple(name for name, *_ in rows) for rows in (_TOTALS, _JOB))
"""The columns that a plan fills, by the part of it that does."""
_TEXT = (("binding", "binding limits", ""), ("reason", "reason", ""))
WHOLE = frozenset({PLACE, "racks", "gpus", "gpus_in_use", "storage_units"})
WORDS = frozenset(
    {NAME, "status", "certificate", "gpu_type", "storage_family", "mode", "binding", "reason"}
)


ANSWERS = frozenset(
    {PLACE, NAME, *(name for names in (_ANSWER, _TOTALS, _JOB, _TEXT) for name, *_ in names)}
)
"""Names that no column of an input may have."""


def columns(
    axes: Sequence[Column], items: Sequence[Column], unit: str, *, named: bool
) -> tuple[Column, ...]:
    """Return all columns of a table in their order.

    Args:
        axes: those of the inputs.
        items: those of the items that any plan buys.
        named: whether scenarios have names.
    """
    names = [Column(name=NAME, label="name", kind="text")] if named else []
    return (
        Column(name=PLACE, label="scenario", kind="text"),
        *names,
        *axes,
        *_made(_ANSWER, "answer", unit),
        *items,
        *_made(_TOTALS, "total", unit),
        *_made(_JOB, "job", unit),
        *_made(_TEXT, "text", unit),
    )


def _made(rows: Iterable[tuple[str, str, str]], kind: Kind, unit: str) -> list[Column]:
    return [
        Column(name=name, label=label, unit=unit if of == "objective" else of, kind=kind)
        for name, label, of in rows
    ]


def items_on_offer(bases: Iterable[Inputs]) -> tuple[Column, ...]:
    """Return a column for each GPU system and storage item of any catalog."""
    offers = {
        item.id: item
        for inputs in bases
        for item in inputs.items
        if item.category in ("gpu_system", "storage")
    }
    order = sorted(offers.values(), key=lambda item: (item.category, item.id))
    return tuple(
        Column(name=COUNT_PREFIX + item.id, label=item.product, unit="units", kind="count")
        for item in order
    )


def bought_columns(items: Iterable[Column], used: Collection[str]) -> tuple[Column, ...]:
    """Return the columns of items that any row buys."""
    return tuple(column for column in items if column.name in used)


def types(all_columns: Iterable[Column], texts: Collection[str]) -> Mapping[str, str]:
    """Return what a column holds: "int", "float" or "str"; ``texts`` are inputs that are words."""
    kinds = {}
    for column in all_columns:
        if column.name in WORDS or (column.kind == "input" and column.name in texts):
            kinds[column.name] = "str"
        elif column.name in WHOLE or column.kind == "count":
            kinds[column.name] = "int"
        else:
            kinds[column.name] = "float"
    return kinds


@dataclass(frozen=True)
class Block:
    """The scenarios of one base: what its own columns show, and the axes of its grid."""

    base: Base
    cells: tuple[Cell, ...]
    axes: tuple[Axis, ...]


class Scenarios(Sequence[Scenario]):
    """Scenarios by their place: the bases first, then the axes, the last of them fastest.

    A slice is one, too, whose scenarios keep their place among all. ``axes`` are the columns of
    inputs of the table, ``values`` gives what a scenario has in them.
    """

    def __init__(
        self, blocks: Sequence[Block], axes: Sequence[Column], places: range | None = None
    ) -> None:
        self._blocks = tuple(blocks)
        self._block = prod(axis.count for axis in blocks[0].axes)
        self.axes = tuple(axes)
        self._places = range(self._block * len(blocks)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> Scenarios: ...
    def __getitem__(self, index: int | slice) -> Scenario | Scenarios:
        if isinstance(index, slice):
            return Scenarios(self._blocks, self.axes, self._places[index])
        return self._made(self._places[index])

    def values(self, index: int) -> tuple[Cell, ...]:
        """Return what a scenario has in the columns of ``axes``.

        Args:
            index: the scenario's own, its place among all.
        """
        block, points = self._at(index)
        return (*block.cells, *(cell for point in points for cell in point.cells))

    def bases(self) -> dict[str, Inputs]:
        """Return the inputs that scenarios change, by the name of their base."""
        return {b.base.name: b.base.inputs for b in self._blocks if b.base.inputs is not None}

    def inputs_of(self, base: str) -> Inputs:
        """Return the inputs that scenarios of a base change.

        Raises:
            KeyError: there is no such base, or it is refused.
        """
        for block in self._blocks:
            if block.base.name == base and block.base.inputs is not None:
                return block.base.inputs
        raise KeyError(base)

    def _at(self, index: int) -> tuple[Block, list[Point]]:
        """Return the block of a scenario and its point on each axis of it."""
        number, rest = divmod(index, self._block)
        block, points = self._blocks[number], list[Point]()
        for axis in reversed(block.axes):
            rest, place = divmod(rest, axis.count)
            points.append(axis.point(place))
        return block, points[::-1]

    def _made(self, index: int) -> Scenario:
        block, points = self._at(index)
        base, changes = block.base, list[Change]()
        names, reasons = [base.name], [base.reason]
        for point in points:
            changes += point.changes
            names.append(point.name)
            reasons.append(point.refused)
        name, reason = _join(names, " / "), _join(reasons, "; ")
        return Scenario(index, tuple(changes), name, reason, base.name)


def _join(texts: list[str], mark: str) -> str:
    return mark.join(filter(None, texts)) if any(texts) else ""


@dataclass(frozen=True)
class Base:
    """A problem that scenarios change: as it stands, or a named scenario of its file.

    ``inputs`` is None where the scenario is refused, ``reason`` says why.
    """

    name: str
    inputs: Inputs | None
    reason: str = ""


@dataclass(frozen=True)
class Columns:
    """The inputs in which bases differ, and for each base what it has there."""

    inputs: tuple[Input, ...] = ()
    cells: tuple[tuple[Cell, ...], ...] = ()


def named_bases(inputs: Inputs, problem: Path, names: Sequence[str]) -> list[Base]:
    """Return the named scenarios of a problem file.

    Args:
        inputs: the problem as it stands; its settings are laid over every scenario.
        names: which of them; all where none is given.

    Raises:
        InputError: there is no such scenario, or every one of them is refused.
    """
    origin = "--named"
    if inputs.scenario is not None:
        fix = "give the one or the other"
        raise InputError(
            Finding("scenario", "--named does not go with --scenario", origin, fix=fix)
        )
    there = scenario_names(problem)
    if not there:
        fix = "add scenarios: {half_power: {site: {facility_power: 5 MW}}}"
        raise InputError(Finding("scenario", f"{problem.name} has no scenarios", origin, fix=fix))
    for name in names:
        if name not in there:
            fix = did_you_mean(name, there) or "known: " + ", ".join(there)
            raise InputError(Finding("scenario", f"no scenario '{name[:60]}'", origin, fix=fix))
    bases, errors = [], []
    for name in dict.fromkeys(names or there):
        try:
            bases.append(Base(name, load(problem, settings=inputs.overrides, scenario=name)))
        except InputError as error:
            errors.append(error)
            bases.append(Base(name, None, "; ".join(found.text() for found in error.findings)))
    if len(errors) == len(bases):
        raise errors[0]
    return bases


def named_columns(inputs: Inputs, bases: Sequence[Base]) -> Columns:
    """Return the inputs in which named scenarios differ from the problem, and each one's values.

    What is no number is told as a short text.
    """
    found = [base.inputs for base in bases]
    paths: dict[str, None] = {}
    for one in found:
        if one is not None:
            paths |= dict.fromkeys(_differences(_data(inputs), _data(one), ()))
    data = [_data(one) if one else None for one in found]
    made = [_column(data, found, path) for path in paths]
    cells = tuple(tuple(column[place] for _, column in made) for place in range(len(bases)))
    return Columns(tuple(column for column, _ in made), cells)


def _data(inputs: Inputs) -> Any:
    return inputs.document.data if inputs.document is not None else {}


def _differences(old: Any, new: Any, path: tuple[str, ...]) -> list[str]:
    """Return the paths at which data differ; a choice and what belongs to it differ as a whole."""
    if old == new and type(old) is type(new):
        return []
    old, new = (
        {} if one is None and isinstance(two, Mapping) else one
        for one, two in ((old, new), (new, old))
    )
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if not CHOICES & (old.keys() | new.keys()):
            keys = dict.fromkeys((*old, *new))
            pairs = [(key, old.get(key), new.get(key)) for key in keys]
            return [p for key, a, b in pairs for p in _differences(a, b, (*path, str(key)))]
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        trios = enumerate(zip(old, new, strict=True))
        return [p for place, (a, b) in trios for p in _differences(a, b, (*path, str(place)))]
    return [".".join(path)]


def _column(
    data: Sequence[Any], found: Sequence[Inputs | None], path: str
) -> tuple[Input, list[Cell]]:
    """Return a column of numbers where every scenario has one there, else of texts."""
    try:
        variables = [Variable(inputs, path) if inputs else None for inputs in found]
    except NoPlaceError:
        variables = []
    places = [variable.first for variable in variables if variable is not None]
    given = [place.standing for place in places if place.standing is not None]
    if given and all(number_of(value) is not None for value in given):
        shown = Display(True, name_unit(given[0], places[0].slot))
        cells = [None if variable is None else variable.standing(shown) for variable in variables]
        return Input(places[0].path, shown), cells
    texts = [None if (value := _at(each, path)) is None else short(value) for each in data]
    return Input(places[0].path if places else path, Display(False)), list(texts)


def _at(data: Any, path: str) -> Any:
    """Return what stands in data at a path, None where nothing does."""
    for step in path.split("."):
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, tuple):
            data = data[int(step)]
        else:
            return None
    return data


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
        own = named_columns(inputs, bases)
    grids = _grids(bases, [*_table_makes(table), *map(_value_make, vary)])
    _refuse_absurd([axis.count for axis in grids[0]], len(bases))
    return _joined(inputs, bases, own, grids)


def samples(
    inputs: Inputs, numbers: Mapping[str, Sequence[float]], *, factors: Collection[str] = ()
) -> Scenarios:
    """Return scenarios of numbers that were drawn: the n-th of every path is the n-th scenario.

    Args:
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
    """Return scenarios with their named_columns; what an axis varies is no column of its base."""
    varied = [column for axis in grids[0] for column in axis.inputs]
    kept = [at for at, one in enumerate(own.inputs) if not any(_meet(one, v) for v in varied)]
    rows = own.cells or [()] * len(bases)
    blocks = [
        Block(base, tuple(row[at] for at in kept), axes)
        for base, row, axes in zip(bases, rows, grids, strict=True)
    ]
    known = labels(inputs)
    shown = [*(own.inputs[at] for at in kept), *varied]
    return Scenarios(blocks, [_shown_column(inputs, one, known) for one in shown])


def _meet(one: Input, other: Input) -> bool:
    """Say whether one of two paths is a part of the other."""
    first, second = (f"{column.path}." for column in (one, other))
    return first.startswith(second) or second.startswith(first)


def _shown_column(inputs: Inputs, column: Input, known: dict[str, str]) -> Column:
    unit = column.display.unit
    name = f"{column.path} [{unit}]" if unit else column.path
    if name in ANSWERS:  # what is asked for is not what comes out: an objective and its value
        name = f"{name} (varied)"
    words = label(inputs, column.path, known)
    return Column(name=name, label=words, unit=unit, kind="input", path=column.path)
