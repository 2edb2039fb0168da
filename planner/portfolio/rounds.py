"""Rounds of the integer program of a portfolio: solve, polish, add tangents; and its parts.

Each round solves the program, fixes its whole numbers and finds the best shares for them (polish),
adding tangents until useful work is not overstated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pulp import LpInteger, lpSum

from planner.optimizer import solvers
from planner.optimizer.counts import Expression, value_of
from planner.optimizer.solvers import Solved, SolverName
from planner.portfolio.averaged import Averaged, block_starts
from planner.portfolio.model import Program, Run

GAP = 1e-6  # to which a small problem is solved
LARGE = 400
"""From this number of whole numbers on a problem is large: averaged periods come first."""
LARGE_GAP = 0.005  # to which a large problem is solved, unless another is given
OVERSTATED = 1e-9
NOISE = 5e-7  # where tangents change nothing more, the solver's tolerance
STALLED = 1e-4  # of a bound: it needs no more tangents before whole numbers
MET = 1e-7  # of a floor, missed for rounding
MOST_CPU_S, MOST_CPU_S_FOR_MONEY = 90.0, 180.0
"""A large problem stops after so much time of the processor where no time limit is given, so that a
busy machine decides alike."""
BUSY = 30.0  # times the time of the processor that a solve may take by the clock
FOR_A_ROUND, FOR_AVERAGES = 0.8, 0.7
"""Shares of the time left for a program of single periods, and for one of averaged periods."""
ROUNDS, RELAXED, POLISHED, FEW = 40, 30, 40, 4
PARTS_OF_GPUS, PARTS_OF_STORAGE = (1.0, 0.6, 0.35, 0.2, 0.1), (1.0, 0.3)
"""First tangents of each job and period, as shares of the most GPUs and bandwidth."""


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


class Rounds:
    """A program with its solver, its time, and the rounds that solve it.

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

    def part(self, at: int) -> Rounds:
        """The search for plans of a site alone."""
        program = Program(self.program.instance, moved=self.program.moved, sites=(at,))
        part = Rounds(program, self.solver, self.gap, math.inf, self.cancelled)
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
        for _ in range(ROUNDS):
            if found.gap <= self.gap or self.late():
                break
            self.rounds += 1
            gap = self.gap * (0.25 if found.values and not self.large else 0.6)
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
    ) -> bool:
        """Polish a solution; keep it where it is better than the best. Returns if it is a plan."""
        polished = self._polish(goal, values, least=least) if values else None
        worth = math.inf if polished is None else value_of(goal, polished)
        if polished is not None and worth < found.worth:
            found.worth, found.values = worth, polished
        return polished is not None

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
