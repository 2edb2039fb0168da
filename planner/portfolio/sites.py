"""Bounds of a portfolio by its sites, with each set of jobs there; plans of assignments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from pulp import LpInteger, LpMinimize, LpProblem, lpSum

from planner.optimizer import solvers
from planner.optimizer.counts import Expression
from planner.optimizer.solvers import Solved
from planner.portfolio.averaged import Averaged, block_starts
from planner.portfolio.rounds import Found, Rounds

Key = tuple[int, tuple[int, ...]]
"""A site, and jobs that run there."""
MOST_SETS = 500  # of jobs at a site, with a bound of their own
UNKNOWN = -1e9  # where no bound was found
FEW_SITES = 4
"""Up to this number of sites those that a limit binds together are one part: with prices a gap of
one site's steps is left."""
FEW_BLOCKS = 0.5
"""Periods are averaged where so large a share of them are starts of blocks, at most."""


class Sites:
    """Bounds of each part of a portfolio, a site, with each set of jobs; plans of assignments.

    No sum of bounds over an assignment passes a plan of it. Limits of many sites together have
    prices, and each part pays for its use of them: that holds for any prices (Lagrange). Few sites
    that such limits bind together, and jobs that move, leave all sites one part.
    """

    def __init__(self, whole: Rounds, goal: Expression, *, least: bool) -> None:
        program = whole.program
        self.whole, self.least, self.goal = whole, least, goal
        self.money = least or program.portfolio.budget.tco_usd is not None
        everyone = tuple(range(len(program.portfolio.jobs)))
        self.parts, self.constant = [(whole, goal)], 0.0
        self.bounds: dict[Key, float] = {}
        self.solutions: dict[Key, dict[str, float]] = {}
        self.plans: dict[Key, Found] = {}
        self.done: dict[tuple[Key, ...], float] = {}
        self.averaged: dict[tuple[int, tuple[int, ...]], Averaged] = {}
        solved = self._bound_by_fractions(0, everyone)
        self.price = self._price_of_limits(solved.duals)
        if solved.values and self._is_separable():
            self._bound_sets()
        elif len(block_starts(program, everyone)) > FEW_BLOCKS * len(program.periods):
            self.bounds = {}

    def _is_separable(self) -> bool:
        """Whether sites may be parts: jobs stay, sets of jobs are few, sites that share many.

        CBC states no prices.
        """
        program = self.whole.program
        at_sites = Counter(at for at, _ in {(c.site, c.job) for c in program.columns})
        return (
            len(program.places) > (1 if self.price is None else FEW_SITES)
            and sum(2**jobs for jobs in at_sites.values()) <= MOST_SETS
            and not program.elastic
            and self.whole.solver == "highs"
            and program.portfolio.objective.name != "fairness"
            and not any(job.moves for job in program.portfolio.jobs)
        )

    def _price_of_limits(self, duals: Mapping[str, float]) -> Expression | None:
        """The price of what all sites together use of their limits, less that of the limits."""
        parts: list[Expression] = []
        by_row = {name.partition(".")[2]: dual for name, dual in duals.items()}
        for use, used in self.whole.program.limits:
            each = -by_row.get(f"limit.{use.key}", 0.0) / max(abs(use.limit), 1e-9)
            if use.site is None and not use.is_floor and each > 0.0:
                parts.append(each * used - each * use.limit)
        return lpSum(parts) if parts else None

    def _bound_sets(self) -> None:
        """Find the bound by fractions of each site with each set of jobs, at the prices."""
        goal = self.goal if self.price is None else self.goal + self.price
        self.constant, self.bounds, self.averaged = goal.constant, {}, {}
        parts = [self.whole.part(at) for at in self.whole.program.places]
        self.parts = [(part, part.take_goal(goal)) for part in parts]
        for at, part in enumerate(parts):
            for jobs in part.program.sets_of_jobs():
                if not self.whole.late():
                    self._bound_by_fractions(at, jobs)

    def _bound_by_fractions(self, at: int, jobs: tuple[int, ...]) -> Solved:
        """Find the bound by fractions of a part with some jobs; return its solution."""
        part, _ = self.parts[at]
        starts = block_starts(part.program, jobs)
        with part.placed(jobs):
            averaged = self.averaged.get((at, starts))
            if averaged is None:
                averaged = Averaged(part.program, starts, money=self.money)
                self.averaged[at, starts] = averaged
            averaged.refresh()
            solved = part.ask(averaged.problem, relaxed=True)
        if solved.status != "infeasible":
            known = solved.objective if solved.status == "optimal" else None
            self.bounds[at, jobs] = UNKNOWN if known is None else known
        return solved

    def assignment(self, *, solved: bool = False) -> tuple[float, tuple[Key, ...]]:
        """The assignment that may be best of those not done, after its bound; of solved sites."""
        problem = LpProblem("assignment", LpMinimize)
        chosen = {
            key: problem.add_variable(f"x{n}", 0, 1, LpInteger)
            for n, key in enumerate(self.bounds)
            if not solved or self.solutions.get(key)
        }
        if not chosen:
            return math.inf, ()
        problem.setObjective(lpSum(self.bounds[key] * x for key, x in chosen.items()))
        for at in range(len(self.parts)):
            problem.addConstraint(lpSum(x for key, x in chosen.items() if key[0] == at) == 1)
        for number, job in enumerate(self.whole.program.portfolio.jobs):
            runs = lpSum(x for key, x in chosen.items() if number in key[1])
            optional = job.optional and len(self.parts) > 1
            problem.addConstraint(runs <= 1 if optional else runs == 1)
        for keys in self.done:
            known = [chosen[key] for key in keys if key in chosen]
            problem.addConstraint(lpSum(known) <= len(keys) - 1)
        found = solvers.solve(problem, gap=1e-9)
        unknown = math.inf if found.status == "infeasible" else -math.inf  # all done, or stopped
        best = unknown if found.bound is None else found.bound
        keys = tuple(key for key, x in chosen.items() if found.values.get(x.name, 0.0) > 0.5)
        return best + self.constant, keys

    def solve(self, key: Key, room: float) -> None:
        """Find the bound of a part with its jobs by averaged periods.

        It need not be known where it is more than ``room`` above that by fractions.
        """
        (part, _), cutoff = self.parts[key[0]], self.bounds[key] + room
        with part.placed(key[1]):
            solved, self.solutions[key] = part.averaged(key[1], cutoff, money=self.money)
        bound = cutoff if solved.status == "infeasible" else solved.bound
        if bound == math.inf:
            del self.bounds[key]
        elif bound is not None:
            self.bounds[key] = max(self.bounds[key], bound)

    def plan(self, keys: tuple[Key, ...]) -> dict[str, float]:
        """The plans of an assignment's sites, which is done; empty where a site has none.

        Where limits have prices they are those of averaged periods, to be counted together.
        """
        self.done[keys] = math.fsum(self.bounds[key] for key in keys) + self.constant
        if self.price is not None:
            return dict(item for key in keys for item in self.solutions[key].items())
        for key in keys:
            if key not in self.plans:
                part, goal = self.parts[key[0]]
                self.plans[key] = part.counted(
                    goal, self.solutions[key], self.bounds[key], least=self.least
                )
        plans = [self.plans[key].values for key in keys]
        return dict(item for plan in plans for item in plan.items()) if all(plans) else {}
