"""A program solved until its solution overstates nothing: work below tangents, racks enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from planner.errors import SolverError
from planner.optimizer import solvers
from planner.optimizer.counts import value_of
from planner.optimizer.program import Program
from planner.optimizer.solvers import Solved, SolverName
from planner.optimizer.useful_work import Measure, Point, Tangent

Form = Literal["tangents", "demands", "linear"]
"""Useful work by tangents, by the demands of an operating point, or not needed."""

GAP = 5e-7
"""Gap at which a solver stops, as a share of the objective."""
EXACT = 5e-8
"""Share by which work in a solution may pass that of its operating point."""
TIES = 1e-6
"""Share up to which plans count as equally good (docs/model.md)."""
NEAR = 1e-9
"""Slack of rows at a plan's own figures, against rounding."""
ROUNDS = 60


class OverstatedError(Exception):
    """No tangent holds useful work where a solution has it."""


@dataclass
class Stage:
    """A program and how it is solved.

    A ``deadline`` is one of ``time.monotonic``; a stage that it ends is ``cut``.
    """

    program: Program
    solver: SolverName = "highs"
    deadline: float = math.inf
    tolerance: float = solvers.TOLERANCE
    form: Form = "linear"
    cut: bool = False
    priced: set[str] = field(default_factory=set)

    def tangents_at(self, points: Sequence[Point]) -> list[tuple[Measure, Tangent]]:
        """Tangents of the measures of work at points, where there are any."""
        useful, most = self.program.useful, self.program.most
        each = [
            (measure, useful.tangent(at, measure, most))
            for measure in self.program.work
            for at in points
        ]
        return [(measure, tangent) for measure, tangent in each if tangent is not None]

    def bound_work(self, tangents: Sequence[tuple[Measure, Tangent]]) -> None:
        """Hold useful work below tangents."""
        self.form = "tangents"
        for measure, tangent in tangents:
            self.program.below(measure, tangent)

    def optimum(
        self, objective: Any, *, maximise: bool, known: float, label: str, unit: str = ""
    ) -> Solved:
        """The optimum of an objective in which nothing is overstated, with its bound.

        Args:
            known: value of a known plan; a bound that it passes is no bound.
            label: name of the objective, for an error.

        Raises:
            SolverError: the solver insists on a bound that a known plan passes.
            OverstatedError: no tangent holds useful work where a solution has it.
        """
        self.program.ask_for(objective, maximise=maximise)
        sign = 1.0 if maximise else -1.0

        def ask() -> Solved:
            found = self.ask(known)
            if _refuted(found, sign, known):
                found = self.ask(known, presolve=False)
            if _refuted(found, sign, known):
                end = found.status if found.bound is None else f"no better than {found.bound:,.9g}"
                text = f"{label}: {solvers.NAMES[self.solver]} says {end} {unit}"
                raise SolverError(f"{text}, yet a plan has {known:,.9g}")
            return found

        found = self.settle(ask)
        if found.status == "limit":
            self.cut = True
            return Solved("limit", bound=found.bound)
        return found

    def ask(self, known: float | None = None, *, presolve: bool = True) -> Solved:
        """The solver's answer to the program as it is."""
        return solvers.solve(
            self.program.problem,
            self.solver,
            gap=GAP,
            time_limit_s=min(solvers.LONGEST_S, self.deadline - time.monotonic()),
            presolve=presolve,
            tolerance=self.tolerance,
            known=known,
        )

    def settle(self, ask: Callable[[], Solved], *, whole: bool = True) -> Solved:
        """Ask again, with more rows, until a solution breaks none; "limit" after many rounds."""
        for _ in range(ROUNDS):
            found = ask()
            if found.status == "limit" or not found.values:
                return found
            if not self._tighten(found.values, whole=whole):
                return found
        return Solved("limit", bound=found.bound)

    def _tighten(self, values: dict[str, float], *, whole: bool) -> bool:
        """Add the tangents and rows of racks that a solution breaks; False for none.

        Raises:
            OverstatedError: no tangent holds useful work where the solution has it.
        """
        broken, program = whole and self._add_racks(values), self.program
        for measure, work in program.work.items() if self.form == "tangents" else ():
            if work.name not in values:
                continue
            at = program.delivered(values, whole=whole)
            true = program.useful.value(at, measure)
            if true is None or values[work.name] <= true * (1.0 + EXACT):
                continue
            tangent = program.useful.tangent(at, measure, program.most)
            if tangent is None or tangent.of(at) > values[work.name] * (1.0 - NEAR):
                raise OverstatedError
            program.below(measure, tangent)
            broken = True
        return broken

    def price_racks(self, counts: Mapping[str, float]) -> None:
        """Add rows of racks that hold at the counts of a known plan, before any solution."""
        for name, (quantity, _, _) in self.program.count.packed.items():
            if name not in self.priced:
                self.priced.add(name)
                prices = quantity.packing.prices_of(quantity.counts(counts))
                self.program.count.price(name, prices.each)

    def _add_racks(self, values: dict[str, float]) -> bool:
        """Add rows of racks that network devices share, where a solution has too few of them."""
        broken = False
        for name, (quantity, racks, kinds) in list(self.program.count.packed.items()):
            contents = tuple(round(value_of(kind, values)) for kind in kinds)
            least = quantity.packing.least(contents)
            if racks.name not in values or values[racks.name] >= least - 0.5:
                continue
            prices = quantity.packing.prices_of(contents)
            if prices.of(contents) > values[racks.name] + 1e-6:
                self.program.count.price(name, prices.each)
            else:
                self.program.count.fill(name, contents, least)
            broken = True
        return broken


def _refuted(found: Solved, sign: float, known: float) -> bool:
    """Whether a known plan passes the bound of a solver."""
    if found.bound is None:
        return found.status != "limit"
    return sign * (known - found.bound) > TIES * max(abs(known), NEAR)
