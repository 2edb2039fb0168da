"""The scenarios of a study, made when they are asked for: a grid, the rows of a table, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import overload

from planner.errors import Finding, InputError
from planner.inputs import Change, Inputs
from planner.loader.vary import Axis, Cell, Point, check_key, checked
from planner.schema.sensitivity import Column
from planner.studies.sensitivity.named import Base
from planner.studies.sensitivity.scenario import Scenario


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
        name, reason = _joined(names, " / "), _joined(reasons, "; ")
        return Scenario(index, tuple(changes), name, reason, base.name)


def _joined(texts: list[str], mark: str) -> str:
    return mark.join(filter(None, texts)) if any(texts) else ""


def scenario_inputs(inputs: Inputs, scenario: Scenario) -> Inputs:
    """Return the inputs of a scenario, checked as those of a file are, its changes told.

    Args:
        inputs: those of its base.
        scenario: what to change.

    Raises:
        InputError: the scenario is refused, or its values do not go together.
    """
    if scenario.refused:
        raise InputError(Finding("scenario", scenario.refused))
    return checked(inputs, scenario.changes, told=True)


def fate(scenario: Scenario) -> tuple[object, ...]:
    """Return what decides whether ``scenario_inputs`` refuses a scenario.

    Of scenarios with the same fate one needs to be checked: they differ in plain limits alone.
    """
    return scenario.base, scenario.refused, check_key(scenario.changes)
