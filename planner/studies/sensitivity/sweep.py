"""Sweeps: many scenarios in, one table out, in memory that does not grow with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from planner.figures import OBJECTIVES, objective_unit
from planner.inputs import Inputs, applied
from planner.loader.vary import Cell
from planner.schema.plan import Plan
from planner.schema.sensitivity import VARIED, Column, Sweep
from planner.studies.request import SweepOptions, head_of
from planner.studies.sensitivity.journal import Journal
from planner.studies.sensitivity.scenarios import (
    COUNT_PREFIX,
    NAME,
    PLACE,
    Row,
    Scenario,
    Scenarios,
    bought_columns,
    columns,
    items_on_offer,
    types,
)
from planner.studies.sensitivity.solve import pieces
from planner.studies.sensitivity.workers import Numbered, Work

BLOCK = 20_000
"""Scenarios that are looked at together; of them all only so many are in memory."""
REMEMBERED = 100_000
"""Up to so many scenarios it is remembered which piece each belongs to."""
_OBJECTIVES = ("objective", "objective.maximize", "objective.minimize")
_MINIMIZED = [name for name, asked in OBJECTIVES.items() if asked.sense == "minimize"]
NUMBERS = 100_000
"""Pieces of a block are numbered from this multiple of the block's own number."""


class Workforce(Protocol):
    """Works on pieces of a sweep: processes here, or a cluster."""

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come."""


@dataclass
class RunningSweep:
    """A sweep under way: its scenarios, the work, and what is done of it."""

    inputs: Inputs
    scenarios: Scenarios
    options: SweepOptions
    journal: Journal
    progress: Callable[[int, int], None]
    done: int = 0
    kept: dict[int, int] = field(default_factory=dict)
    _layout: list[tuple[int, list[int]]] = field(default_factory=list)
    _made: dict[int, tuple[Scenario, tuple[Cell, ...]]] = field(default_factory=dict)

    @property
    def work(self) -> Work:
        """What every piece needs."""
        return Work(self.scenarios.bases(), self.options)

    @property
    def pieces(self) -> int:
        """How many pieces there are, where that is known; of large sweeps only that it is many."""
        if len(self.scenarios) > REMEMBERED:
            return REMEMBERED
        return sum(1 for _ in self._numbered())

    def run(self, workforce: Workforce) -> None:
        """Work on every piece that is not done yet.

        Raises:
            InputError: the journal cannot be written.
        """
        self.progress(0, len(self.scenarios))
        for number, rows in workforce.rows(self._waiting()):
            self.journal.put(number, rows)
            self._count(number, len(rows))

    def _waiting(self) -> Iterator[Numbered]:
        for number, places in self._numbered():
            if self.journal.has(number):
                self._count(number, len(places))
            else:
                yield number, tuple(self.with_cells(place)[0] for place in places)

    def with_cells(self, place: int) -> tuple[Scenario, tuple[Cell, ...]]:
        """Return the scenario of a place with its inputs' cells; those of a block are kept."""
        return self._made.get(place) or (self.scenarios[place], self.scenarios.values(place))

    def _count(self, number: int, rows: int) -> None:
        self.kept[number] = rows
        self.done += rows
        self.progress(self.done, len(self.scenarios))

    def _numbered(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the number of each piece and the places of its scenarios."""
        if len(self.scenarios) > REMEMBERED:
            return self._laid_out()
        if not self._layout:
            self._layout += self._laid_out()
        return iter(self._layout)

    def _laid_out(self) -> Iterator[tuple[int, list[int]]]:
        for block, start in enumerate(range(0, len(self.scenarios), BLOCK)):
            made = (
                (one, self.scenarios.values(one.index))
                for one in self.scenarios[start : start + BLOCK]
            )
            self._made = {one.index: (one, cells) for one, cells in made}
            for number, piece in enumerate(pieces([one for one, _ in self._made.values()])):
                yield block * NUMBERS + number, [scenario.index for scenario in piece]

    def table(self) -> SweptRows:
        """Return the table of what is done."""
        return SweptRows.of(self)


@dataclass(frozen=True)
class SweptRows:
    """The rows that are done, in the order of their scenarios, and the record of them."""

    course: RunningSweep
    columns: tuple[Column, ...]
    types: dict[str, str]

    @classmethod
    def of(cls, course: RunningSweep) -> SweptRows:
        """Return the table of a course as far as it has come."""
        scenarios = course.scenarios
        used = {
            name
            for number in course.kept
            for name in course.journal.columns(number)
            if name.startswith(COUNT_PREFIX)
        }
        items = bought_columns(items_on_offer(scenarios.bases().values()), used)
        named = any(course.with_cells(place)[0].name for place in range(min(len(scenarios), BLOCK)))
        unit = objective_unit(goal(scenarios, course.inputs))
        shown = columns(scenarios.axes, items, unit, named=named)
        return cls(course, shown, dict(types(shown, _texts(scenarios))))

    def blocks(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the columns of one block of scenarios after the other."""
        done: list[tuple[int, list[int]]] = []
        block = 0
        for number, places in self.course._numbered():
            if number // NUMBERS != block:
                yield self._block(done)
                done, block = [], number // NUMBERS
            if number in self.course.kept:
                done.append((number, places))
        yield self._block(done)

    def _block(self, done: Sequence[tuple[int, list[int]]]) -> dict[str, list[Any]]:
        """Return the columns of some pieces, in the order of their scenarios."""
        places = [place for _, some in done for place in some]
        found = [(self.course.journal.values(number), len(some)) for number, some in done]
        order = sorted(range(len(places)), key=places.__getitem__)
        columns: dict[str, list[Any]] = self._inputs([places[at] for at in order])
        for name in (column.name for column in self.columns if column.name not in columns):
            parts = [values.get(name) or [None] * rows for values, rows in found]
            loose = [value for part in parts for value in part]
            columns[name] = [loose[at] for at in order]
        return columns

    def _inputs(self, places: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns that tell scenarios apart."""
        rows = [self.course.with_cells(place) for place in places]
        columns: dict[str, list[Any]] = {PLACE: list(places)}
        columns[NAME] = [scenario.name or None for scenario, _ in rows]
        for at, column in enumerate(self.course.scenarios.axes):
            cells = [row[at] for _, row in rows]
            if self._is_text(column):
                cells = [cell if cell is None else str(cell) for cell in cells]
            columns[column.name] = cells
        return columns

    def _is_text(self, column: Column) -> bool:
        return self.types[column.name] == "str"

    def record(self, counted: Counter[str], proofs: Counter[str]) -> Sweep:
        """Return what the table is, once its rows are counted by status and by certificate."""
        inputs = self.course.inputs
        objective = goal(self.course.scenarios, inputs)
        asked = head_of(inputs, self.course.options.gap) | {
            "objective": objective,
            "sense": "minimize" if objective in _MINIMIZED else "maximize",
            "unit": objective_unit(objective),
        }
        return Sweep(
            **asked,
            columns=self.columns,
            rows=sum(counted.values()),
            asked=len(self.course.scenarios),
            statuses=dict(sorted(counted.items())),
            solved=proofs["search"] + proofs["alone"],
            reused=proofs["reused"],
        )


def beside(study: Sweep, base: Plan | None) -> Sweep:
    """Return the record with what the problem's own plan is worth, where that compares."""
    if base is None or study.objective != base.objective.name:
        return study
    worth = {
        "base": base.objective.value if study.exact else base.objective.best,
        "base_bound": base.objective.bound,
    }
    return study.model_copy(update=worth)


def goal(scenarios: Scenarios, inputs: Inputs) -> str:
    """Return the objective of all scenarios, or that it differs from one to another.

    Args:
        inputs: the problem as it stands, whose objective is that of a sweep without scenarios.
    """
    varied = [at for at, column in enumerate(scenarios.axes) if column.path in _OBJECTIVES]
    if not varied:
        return _objective(inputs)
    first: dict[Hashable, Scenario] = {}
    for scenario in scenarios:
        cells = scenarios.values(scenario.index)
        if not scenario.refused:
            first.setdefault((scenario.base, *(cells[at] for at in varied)), scenario)
    goals = set()
    for scenario in first.values():
        changes = [change for change in scenario.changes if change.path in _OBJECTIVES]
        goals.add(_objective(applied(scenarios.inputs_of(scenario.base), changes)))
    return VARIED if len(goals) > 1 else next(iter(goals), _objective(inputs))


def _objective(inputs: Inputs) -> str:
    return inputs.problem.objective.name


def _texts(scenarios: Scenarios) -> set[str]:
    """Return the columns of inputs that hold words: a column is all numbers or all words."""
    open_ = dict(enumerate(scenarios.axes))
    texts: set[str] = set()
    for scenario in scenarios:
        cells = scenarios.values(scenario.index)
        for place in [place for place in open_ if cells[place] is not None]:
            column = open_.pop(place)
            if isinstance(cells[place], (str, bool)):
                texts.add(column.name)
        if not open_:
            break
    return texts
