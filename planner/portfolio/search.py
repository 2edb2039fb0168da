"""The search for the best plan of a portfolio: rounds of its integer program, and a bound.

Each round solves the program, fixes its whole numbers and finds the best shares for them (polish),
adding tangents until useful work is not overstated. Large problems begin with bounds by averaged
periods, site by site where nothing but who runs where binds sites together. Priority classes are
solved in order; last, the cheapest plan within the tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from pulp import LpContinuous, LpInteger, lpSum

from planner.optimizer import solvers
from planner.optimizer.counts import Expression, value_of
from planner.optimizer.solvers import Solved, SolverName
from planner.portfolio.averaged import Averaged, block_starts, kind_of
from planner.portfolio.inputs import Instance
from planner.portfolio.model import Program, Run
from planner.portfolio.sites import Sites

GAP = 1e-6  # to which a small problem is solved
LARGE = 400
"""From this number of whole numbers on a problem is large: averaged periods come first."""
LARGE_GAP = 0.005  # to which a large problem is solved, unless another is given
FINE = 1e-4  # gap of what decides between equally good plans
OVERSTATED = 1e-9
NOISE = 5e-7  # where tangents change nothing more, the solver's tolerance
STALLED = 1e-4  # of a bound: it needs no more tangents before whole numbers
MET = 1e-7  # of a floor, missed for rounding
FOR_WORK, FOR_THE_END = 0.75, 0.08
"""Shares of a time limit for the most work, and for shares and order dates; the rest is for the
cheapest plan."""
MOST_CPU_S, MOST_CPU_S_FOR_MONEY = 90.0, 180.0
"""A large problem stops after so much time of the processor where no time limit is given, so that a
busy machine decides alike."""
BUSY = 30.0  # times the time of the processor that a solve may take by the clock
HOPED = 0.5
"""Share of the distance of the last plan from its bound that the next assignment may keep; others
wait until all sites of the best are solved."""
FOR_A_ROUND, FOR_AVERAGES = 0.8, 0.7
"""Shares of the time left for a program of single periods, and for one of averaged periods."""
OF_JOBS = ("v", "replicas", "hot")  # whole numbers of jobs
ROUNDS, RELAXED, POLISHED, FEW = 40, 30, 40, 4
WIDE, SOON = 0.05, 0.5
"""Gap of a first plan where time is shorter than `MOST_CPU_S`, and the share of the time left for
each of its programs."""
PARTS_OF_GPUS, PARTS_OF_STORAGE = (1.0, 0.6, 0.35, 0.2, 0.1), (1.0, 0.3)
"""First tangents of each job and period, as shares of the most GPUs and bandwidth."""


@dataclass
class Answer:
    """Values of a plan, its objective, and the bound; one for each goal in turn."""

    status: Literal["optimal", "limit", "infeasible"]
    values: dict[str, float] = field(default_factory=dict)
    worth: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    rounds: int = 0


@dataclass
class Found:
    """The best plan of one goal so far: its worth and bound are to be least."""

    worth: float = math.inf
    bound: float = -math.inf
    values: dict[str, float] = field(default_factory=dict)
    infeasible: bool = False

    @property
    def gap(self) -> float:
        """The distance to the bound as a share of the worth."""
        if not math.isfinite(self.worth) or not math.isfinite(self.bound):
            return math.inf
        return max(0.0, self.worth - self.bound) / max(abs(self.worth), 1e-9)


class Search:
    """The search for the best plan of a program.

    Args:
        program: the integer program, to which tangents are added.
        solver: HiGHS, or CBC as a cross-check.
        gap: where to stop, as a share; by default by the size of the problem.
        time_limit_s: how long to search; None: a large one for `MOST_CPU_S` of the processor.
        cancelled: whether to stop now.
    """

    def __init__(
        self,
        program: Program,
        solver: SolverName = "highs",
        gap: float | None = None,
        time_limit_s: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self.program, self.solver, self.cancelled = program, solver, cancelled
        self.whole = [v for v in program.problem.variables() if v.cat == LpInteger]
        self.large = len(self.whole) > LARGE
        self.skeleton = [*dict.fromkeys((*program.placed.values(), *program.family.values()))]
        self.gap = gap if gap is not None else LARGE_GAP if self.large else GAP
        by_cpu = time_limit_s is None and self.large and solver == "highs"
        self.clock = time.thread_time if by_cpu else time.monotonic
        limit_s = math.inf if time_limit_s is None else time_limit_s
        self.hurried = limit_s < MOST_CPU_S
        if by_cpu:
            least = program.portfolio.objective.minimize is not None
            limit_s = MOST_CPU_S_FOR_MONEY if least else MOST_CPU_S
        self.deadline = self.clock() + limit_s
        self.rounds = 0
        self._first_tangents()
        self._fix_slack(0.0, 0.0)

    def least_missed(self) -> dict[str, float]:
        """The solution of an elastic program that misses its limits least; empty if none."""
        goal = lpSum(self.program.missed.values())
        return self._best(goal, {}, least=False).values

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
                self._soon(found, goal, least=least)
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

    def _soon(self, found: Found, goal: Expression, *, least: bool) -> None:
        """Find a plan: who runs where with fractions of all else, then counts with a wide gap."""
        self._relaxed(FEW)
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
        is left that may be better than the best plan by more than the gap.
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
                if values and sites.price is not None:
                    together = self.counted(goal, values, value, least=least)
                    values = together.values
                    lift = HOPED * (together.worth - value) if values else lift
                if values:
                    self._take(found, goal, values, least=least)
                continue
            if not unsolved:
                break
            sites.solve(min(unsolved, key=lambda key: len(key[1])), worst - bound)

    def part(self, at: int) -> Search:
        """The search for plans of a site alone."""
        program = Program(self.program.instance, moved=self.program.moved, sites=(at,))
        part = Search(program, self.solver, self.gap, math.inf, self.cancelled)
        part.clock, part.deadline, part.large = self.clock, self.deadline, False
        return part

    def take_goal(self, goal: Expression) -> Expression:
        """Take the share of a goal of all sites that is of the program's sites; return it."""
        known = {v.name: v for v in self.program.problem.variables()}
        own = lpSum(c * known[v.name] for v, c in goal.items() if v.name in known)
        self.program.set_objective(own, maximise=False)
        return own

    @contextmanager
    def placed(self, jobs: Sequence[int]) -> Iterator[None]:
        """Meanwhile some jobs alone run at the sites of the program."""
        here = self.program.here.items()
        with self._fixed({runs: float(number in jobs) for number, runs in here}):
            yield

    def averaged(
        self, jobs: Sequence[int], cutoff: float, *, money: bool
    ) -> tuple[Solved, dict[str, float]]:
        """Solve the program of averaged periods, with tangents where its fractions need them."""
        starts, before = block_starts(self.program, jobs), -math.inf
        for _ in range(RELAXED):
            averaged = Averaged(self.program, starts, money=money)
            solved = self.ask(averaged.problem, relaxed=True)
            worst = self._tighten(averaged.values(solved.values)) if solved.values else 0.0
            now = solved.objective or 0.0
            if worst < 1e-3 or now - before <= STALLED * abs(now):
                break
            before = now
        gap = self.gap * (0.2 if money else 0.5)
        solved = self.ask(averaged.problem, gap=gap, share=FOR_AVERAGES, cutoff=cutoff)
        return solved, averaged.values(solved.values) if solved.values else {}

    def counted(
        self, goal: Expression, values: Mapping[str, float], bound: float, *, least: bool
    ) -> Found:
        """The best plan of who runs where in a solution."""
        found = Found(bound=bound)
        if values:
            with self._fixed({v: values[v.name] for v in self.skeleton}):
                self._relaxed(RELAXED)
                self._rounds(found, goal, least=least)
        return found

    def _relaxed(self, rounds: int) -> float | None:
        """Add tangents to the program without whole numbers; its final value, None without any."""
        bound: float | None = -math.inf
        for _ in range(rounds):
            solved = self.ask(relaxed=True)
            if solved.status == "infeasible":
                return None
            if solved.status == "optimal" and solved.objective is not None:
                bound = solved.objective
            if not solved.values or self._tighten(solved.values) < 1e-3:
                break
        return bound

    def _rounds(self, found: Found, goal: Expression, *, least: bool) -> None:
        """Solve the program, with tangents at each solution, until the gap is reached."""
        gap = self.gap * (0.6 if self.large else 0.25)
        for _ in range(ROUNDS):
            if found.gap <= self.gap or self.late():
                break
            self.rounds += 1
            solved = self.ask(gap=gap, share=FOR_A_ROUND, start=found.values or None)
            found.infeasible = solved.status == "infeasible" and not found.values
            if solved.bound is not None:
                found.bound = max(found.bound, solved.bound)
            if not solved.values:
                break
            self._take(found, goal, solved.values, least=least)
            self._tighten(solved.values)

    def _take(
        self, found: Found, goal: Expression, values: dict[str, float], *, least: bool
    ) -> None:
        """Polish a solution; keep it where it is better than the best so far."""
        polished = self._polish(goal, values, least=least) if values else None
        worth = math.inf if polished is None else value_of(goal, polished)
        if polished is not None and worth < found.worth:
            found.worth, found.values = worth, polished

    def _polish(
        self, goal: Expression, values: Mapping[str, float], *, least: bool
    ) -> dict[str, float] | None:
        """The solution with the best shares for its whole numbers; None without any.

        Where money is least the shares are those that pass all floors by most.
        """
        slack = self.program.slack
        aim = -1.0 * slack if least else goal
        best: dict[str, float] | None = None
        with self._fixed({v: values[v.name] for v in self.whole}):
            if least:
                self._fix_slack(-1.0, 1.0)
            self.program.set_objective(aim, maximise=False)
            before = math.inf
            for _ in range(POLISHED):
                solved = self.ask(relaxed=True)
                if not solved.values or solved.objective is None:
                    best = None
                    break
                best = dict(solved.values)
                worst, now = self._tighten(solved.values), solved.objective
                still = abs(now - before) <= OVERSTATED * max(abs(now), 1e-3)
                if worst <= OVERSTATED or (still and worst <= NOISE):
                    break
                before = now
            self._fix_slack(0.0, 0.0)
        self.program.set_objective(goal, maximise=False)
        if best is None or (least and best[slack.name] < -MET):
            return None
        return {v.name: best.get(v.name, 0.0) for v in self.program.problem.variables()}

    # The best of equally good plans

    def _cheapest(self, values: dict[str, float]) -> dict[str, float]:
        """The cheapest plan that does as much work.

        Of a large one who runs where stays at first, of one in a hurry systems in use before that;
        last all is free, so that no type stays that another does the same work for less.
        """
        whole, used = self.deadline, [v for v in self.whole if kind_of(v) in OF_JOBS]
        stages: list[list[Any]] = [[*self.skeleton, *used]] if self.large and self.hurried else []
        for kept in [*stages, *([self.skeleton] if self.large else []), []]:
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
        stays = [v for v in self.whole if kind_of(v) not in OF_JOBS]
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

    # The solver

    def ask(
        self,
        problem: Any = None,
        *,
        relaxed: bool = False,
        gap: float = 1e-9,
        share: float = 1.0,
        start: Mapping[str, float] | None = None,
        cutoff: float = math.inf,
    ) -> Solved:
        """Solve the program for its last objective, within a share of the time left."""
        ends = self._until(share)
        return solvers.solve(
            self.program.problem if problem is None else problem,
            self.solver,
            gap=max(gap, 1e-9),
            time_limit_s=self._limit_s(ends),
            relaxed=relaxed,
            start=start,
            cutoff=cutoff,
            stop=lambda: self.cancelled() or self.clock() >= ends,
        )

    def _until(self, share: float) -> float:
        """End of a share of the time left, by the clock of the search."""
        now = self.clock()
        return now + max(share * (self.deadline - now), 0.05)

    def _limit_s(self, ends: float) -> float | None:
        """The time for a solve by the wall clock; where the processor's counts, `BUSY` times it."""
        factor = 1.0 if self.clock is time.monotonic else BUSY
        return factor * max(ends - self.clock(), 0.01) if math.isfinite(ends) else None

    def late(self) -> bool:
        """Whether the time is over."""
        return self.cancelled() or self.clock() >= self.deadline

    def _fix_slack(self, low: float, high: float) -> None:
        self.program.slack.lowBound, self.program.slack.upBound = low, high

    @contextmanager
    def _fixed(self, chosen: Mapping[Any, float]) -> Iterator[None]:
        """Hold variables at whole values meanwhile."""
        kept = [(v, v.lowBound, v.upBound) for v in chosen]
        for variable, value in chosen.items():
            variable.lowBound = variable.upBound = float(round(value))
        try:
            yield
        finally:
            for variable, low, high in kept:
                variable.lowBound, variable.upBound = low, high

    # Tangents

    def _first_tangents(self) -> None:
        for run in self.program.runs:
            for part, share in product(PARTS_OF_GPUS, PARTS_OF_STORAGE):
                write = max(run.most.write * share, run.least * (1 + 1e-9))
                at = run.most._replace(gpus=max(run.most.gpus * part, 1.0), write=write)
                self._cut(run, at._replace(safe_write=write, read=run.most.read * share))

    def _cut(self, run: Run, at: Any) -> None:
        tangent = run.column.work.tangent(at, "pflops", run.most)
        if tangent is not None:
            self.program.below(run, tangent)

    def _tighten(self, values: Mapping[str, float]) -> float:
        """Add tangents where work is overstated, and rows of racks that are too few.

        Returns by how much at most, as a share.
        """
        packed = [counts.add_racks(values) for counts in self.program.counts.values()]
        worst = float(any(packed))
        for run in self.program.runs:
            share, at = run.point(values)
            if share < 1e-3:
                continue
            true = (run.column.work.value(at, "pflops") or 0.0) * share
            over = (value_of(run.work, values) - true) / max(true, 1e-6)
            if over > OVERSTATED:
                self._cut(run, at)
                worst = max(worst, over)
        return worst


def search(
    instance: Instance,
    *,
    solver: SolverName = "highs",
    gap: float | None = None,
    time_limit_s: float | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Program, Answer]:
    """The program of an instance and its best plan.

    Args:
        instance: the portfolio in numbers.
        solver: HiGHS, or CBC as a cross-check.
        gap: where to stop, as a share.
        time_limit_s: how long all goals together may take.
        cancelled: whether to stop now.
    """
    begun, program = time.monotonic(), Program(instance)
    if time_limit_s is not None:
        time_limit_s -= time.monotonic() - begun
    return program, Search(program, solver, gap, time_limit_s, cancelled).solve()
