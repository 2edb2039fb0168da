"""The search for the best plan of a portfolio: its goals in order, each with a bound.

Large problems begin with bounds by averaged periods, site by site where sites can be parts; rounds
of the whole program follow. Priority classes are solved in order; last, the cheapest plan within
the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pulp import LpContinuous, LpInteger, lpSum

from planner.optimizer.counts import Expression, value_of
from planner.portfolio.averaged import WHOLE, kind_of
from planner.portfolio.rounds import FEW, MET, RELAXED, Found, Rounds
from planner.portfolio.sites import Sites

FINE = 1e-4  # gap of what decides between equally good plans
FOR_WORK, FOR_THE_END = 0.75, 0.08
"""Shares of a time limit for the most work, and for shares and order dates; the rest is for the
cheapest plan."""
HOPED = 0.5
"""Share of the distance of the last plan from its bound that the next assignment may keep; others
wait until all sites of the best are solved."""
WIDE, SOON = 0.05, 0.5
"""Gap of a first plan where time is shorter than `MOST_CPU_S`, and the share of the time left for
each of its programs."""


@dataclass
class Answer:
    """Values of a plan, its objective, and the bound; one for each goal in turn."""

    status: Literal["optimal", "limit", "infeasible"]
    values: dict[str, float] = field(default_factory=dict)
    worth: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    rounds: int = 0


class Search(Rounds):
    """The search for the best plan of a program; arguments are those of `Rounds`."""

    def least_missed(self) -> dict[str, float]:
        """The solution of an elastic program that misses its limits least; empty if none."""
        goal = lpSum(self.program.missed.values())
        return self._best(goal, {}, least=False).values

    def first_goal(self) -> float | None:
        """The best of the first goal, of a large problem with fractions of units; None if none."""
        if not self.large:
            return next(iter(self.solve(cheapest=False).worth), None)
        program = self.program
        least = program.portfolio.objective.minimize is not None
        sign = 1.0 if least else -1.0
        goal, _ = program.goal(None if least else program.classes()[0])
        program.set_objective(sign * goal, maximise=False)
        bound = self._relaxed(RELAXED)
        return None if bound is None else sign * bound

    def solve(self, *, cheapest: bool = True) -> Answer:
        """The best plan: of each priority class in turn, then the cheapest as good.

        Args:
            cheapest: whether to look for that.
        """
        program, answer = self.program, Answer("optimal")
        started, whole, objective = self.clock(), self.deadline, program.portfolio.objective
        cheapest = cheapest and objective.maximize is not None and objective.tolerance > 0
        if cheapest and math.isfinite(whole):
            self.deadline = started + FOR_WORK * (whole - started)
        classes: list[int | None] = [*program.classes()] if objective.maximize else [None]
        start, goals = dict[str, float](), list[Expression]()
        for number, priority in enumerate(classes or [None]):
            goal, sense = program.goal(priority)
            goals.append(goal)
            sign = -1.0 if sense == "max" else 1.0
            found = self._best(sign * goal, start, least=sense == "min")
            if not found.values:
                answer.status = "infeasible" if found.infeasible else "limit"
                break
            start = answer.values = found.values
            answer.worth.append(sign * found.worth)
            answer.bounds.append(sign * min(found.bound, found.worth))
            if found.gap > self.gap * (1.0 + 1e-6):
                answer.status = "limit"
            if sense == "max":
                self._hold(goal, sign * found.worth, number)
        if math.isfinite(whole):
            self.deadline = whole - FOR_THE_END * (whole - started)
        if answer.values and cheapest:
            answer.values = self._cheapest(answer.values)
        self.deadline = whole
        if answer.values and objective.maximize is not None:
            answer.values = self._most_work(answer.values, -1.0 * lpSum(goals))
        if answer.values:
            answer.values = self._late_orders(answer.values)
        answer.rounds = self.rounds
        return answer

    def _hold(self, goal: Expression, worth: float, number: int) -> None:
        """Keep a goal within the tolerance of its best."""
        tolerance = max(self.program.portfolio.objective.tolerance, MET)
        scale = max(abs(worth), 1e-9)
        row = (1.0 / scale) * goal - self.program.slack >= (1.0 - tolerance) * worth / scale
        self.program.row(f"hold.{number}", row)

    # One goal

    def _best(self, goal: Expression, start: Mapping[str, float], *, least: bool) -> Found:
        """The best plan of a goal that is to be least."""
        found = Found()
        if start:
            self._take(found, goal, dict(start), least=least)
        self.program.set_objective(goal, maximise=False)
        if self.large and not start:
            if self.hurried:
                self._find_early(found, goal, least=least)
            self._by_sites(found, goal, least=least)
        if found.infeasible or found.gap <= self.gap:
            return found
        bound = self._relaxed(3 if found.values else RELAXED)
        if bound is None:
            found.infeasible = not found.values
            return found
        found.bound = max(found.bound, bound)
        self._rounds(found, goal, least=least)
        return found

    def _find_early(self, found: Found, goal: Expression, *, least: bool) -> None:
        """Find a plan: who runs where with fractions of all else, then counts with a wide gap."""
        counts = [v for v in self.whole if v not in {*self.skeleton}]
        for variable in counts:
            variable.cat = LpContinuous
        values = self.ask(gap=WIDE, share=SOON).values
        for variable in counts:
            variable.cat = LpInteger
        if not values:
            return
        self._tighten(values)
        with self._fixed({v: values[v.name] for v in self.skeleton}):
            self._relaxed(FEW)
            for _ in range(FEW):
                if found.values or self.late():
                    break
                self.rounds += 1
                self._take(found, goal, self.ask(gap=WIDE, share=SOON).values, least=least)

    def _by_sites(self, found: Found, goal: Expression, *, least: bool) -> None:
        """Find a bound and a plan site by site.

        Each site has a bound for each set of jobs: by fractions, then by averaged periods. The
        assignment of jobs to sites with the least sum of bounds is solved and left out, until none
        is left that may be better than the best plan by more than the gap. Its sites are counted
        together where limits have prices, or where their plans pass a limit.
        """
        sites, lift = Sites(self, goal, least=least), 0.0
        while sites.bounds and not self.late():
            bound, keys = sites.assignment()
            worst = found.worth * (1.0 - math.copysign(self.gap, found.worth))
            if bound < math.inf or sites.done:
                found.bound = max(found.bound, min([bound, *sites.done.values()]))
            if not keys or bound >= worst:
                break
            value, solved = sites.assignment(solved=True)
            unsolved = [key for key in keys if key not in sites.solutions]
            if solved and (value + lift < worst or not unsolved):
                values = sites.plan(solved)
                priced = sites.price is not None
                if priced or (values and not self._take(found, goal, values, least=least)):
                    together = self.counted(goal, values, value, least=least)
                    lift = HOPED * (together.worth - value) if together.values else lift
                    if together.worth < found.worth:
                        found.worth, found.values = together.worth, together.values
                continue
            if not unsolved:
                break
            sites.solve(min(unsolved, key=lambda key: len(key[1])), worst - bound)

    # The best of equally good plans

    def _cheapest(self, values: dict[str, float]) -> dict[str, float]:
        """The cheapest plan that does as much work.

        Of a large one who runs where stays at first, of one in a hurry systems in use before that;
        last all is free, so that no type stays that another does the same work for less.
        """
        whole, used = self.deadline, [v for v in self.whole if kind_of(v) in WHOLE]
        stages = [[*self.skeleton, *used], self.skeleton, []]
        for kept in stages[not self.hurried :] if self.large else stages[2:]:
            self.deadline = self._until(0.5) if kept else whole
            with self._fixed({v: values[v.name] for v in kept}):
                values = self._best(self.program.total_capex, values, least=True).values or values
        self.deadline = whole
        return values

    def _most_work(self, values: dict[str, float], goal: Expression) -> dict[str, float]:
        """The plan that does the most work with no more units for no more capital.

        Without it a unit that the tolerance just asks for comes late, for no saving. In a large
        problem purchases stay as they are.
        """
        program, last = self.program, len(self.program.periods) - 1
        capex = program.total_capex
        program.row("as_much", capex <= value_of(capex, values) * (1.0 + 1e-9))
        for (at, sku, period), units in program.units.items():
            if period == last and not isinstance(units, float):
                program.row(f"as_many.{at}.{sku}", units <= float(round(value_of(units, values))))
        program.set_objective(goal, maximise=False)
        stays = [v for v in self.whole if kind_of(v) not in WHOLE]
        with self._fixed({v: values[v.name] for v in (stays if self.large else self.skeleton)}):
            solved = self.ask(gap=FINE, share=0.4, start=values)
        found = self._polish(goal, solved.values or values, least=False)
        if found is None and solved.values:
            found = self._polish(goal, values, least=False)
        return values if found is None else found

    def _late_orders(self, values: dict[str, float]) -> dict[str, float]:
        """The plan with orders of dependent items as late as money allows."""
        program, last = self.program, len(self.program.periods) - 1
        orders = [v for v in self.whole if kind_of(v) in ("buy", "ordered")]
        if not last or not orders:
            return values
        for number, money in enumerate((program.total_capex, program.tco)):
            program.row(f"as_cheap.{number}", money <= value_of(money, values) * (1.0 + 1e-9))
        early = lpSum(float(last - p) * capex for p, capex in program.capex.items())
        program.set_objective(early, maximise=False)
        known = set(orders)
        with self._fixed({v: values[v.name] for v in self.whole if v not in known}):
            solved = self.ask(gap=FINE, start=values)
        return values | {v.name: solved.values[v.name] for v in orders if v.name in solved.values}
