"""Named scenarios of a problem file: each is loaded on its own, and what it changes is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Inputs
from planner.loader import load, scenario_names
from planner.loader.overrides import CHOICES
from planner.loader.vary import Cell, Input, NoPlaceError, Shown, Variable
from planner.loader.vary.place import number_of, short, shown_unit


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
        problem: its file.
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


def columns(inputs: Inputs, bases: Sequence[Base]) -> Columns:
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
        shown = Shown(True, shown_unit(given[0], places[0].slot))
        cells = [None if variable is None else variable.standing(shown) for variable in variables]
        return Input(places[0].path, shown), cells
    texts = [None if (value := _at(each, path)) is None else short(value) for each in data]
    return Input(places[0].path if places else path, Shown(False)), list(texts)


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
