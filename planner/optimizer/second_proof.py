"""A best plan proven a second time, with GPU types, way, mode and spares free.

The problem is divided into parts: a set of GPU types with a way each, a mode, how often local
checkpoints go on to storage, from so many to so many spares. A part buys the fewest spares of its
range and counts the most, so its program is a bound. Each is asked for a plan that is better than
the best one known, by more than a gap. A part that has none is closed; another is divided until its
range is a single number.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from planner.case import Case, System, Way
from planner.case.figures import cap
from planner.figures import RATIOS
from planner.optimizer import solvers
from planner.optimizer.program import Program
from planner.optimizer.proof import OverstatedError, Stage
from planner.optimizer.solvers import SolverName
from planner.optimizer.useful_work import Point, Team, UsefulWork

GAP = 2e-6
"""A plan has to be better by this share to count as better."""
MOST_COUNTS = 4_000
"""So many numbers of GPUs are worked out where useful work is not concave."""
MOST_TEAMS = 400
"""Sets of types and ways beyond which nothing is proven a second time."""
SEEDS = tuple(itertools.product((0.25, 0.5, 0.9), (0.05, 0.3)))
"""First tangents of a part stand at these shares of its most GPUs and of the most bandwidth."""


class SecondProof(NamedTuple):
    """Result of the proof: ``bound`` of every plan, None where parts are ``open``; ``better``
    is the value of a plan that is better than the best known one."""

    bound: float | None
    better: float | None
    open: tuple[str, ...]
    parts: int


def prove_again(
    case: Case,
    best: float | None,
    *,
    solver: SolverName = "cbc",
    time_limit_s: float | None = None,
) -> SecondProof:
    """Prove that no plan is better than the best one known, or that there is none at all.

    Args:
        case: the problem in numbers.
        best: its best value, in the unit of the objective; None for a problem without a plan.
        solver: who is asked in the end; where tangents stand HiGHS finds out.
        time_limit_s: how long it may take.

    Raises:
        SolverError: the solver is missing, or broke off.
    """
    deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
    asked = _Asked(case, best, solver, deadline)
    teams = list(itertools.islice(_teams(case), MOST_TEAMS + 1))
    if len(teams) > MOST_TEAMS:
        return SecondProof(None, None, (f"more than {MOST_TEAMS} sets of types and ways",), 0)
    left, parts = teams[::-1], 0
    while left:
        team, parts = left.pop(), parts + 1
        if asked.is_closed(team):
            continue
        if asked.better is not None:
            return SecondProof(None, asked.better, (), parts)
        halves = _halves(team)
        if halves:
            left += halves
        else:
            asked.open.append(_name(team))
    opened = tuple(dict.fromkeys(asked.open))
    return SecondProof(None if opened or best is None else asked.floor, None, opened, parts)


@dataclass
class _Asked:
    """Constraint on every part: a plan that is better than the best."""

    case: Case
    best: float | None
    solver: SolverName
    deadline: float
    better: float | None = None
    open: list[str] = field(default_factory=list)

    @property
    def floor(self) -> float:
        """The value from which on a plan counts as better."""
        assert self.best is not None
        return self.best * (1.0 + GAP if self.case.maximise else 1.0 - GAP)

    def is_closed(self, team: Team) -> bool:
        """True if a part has no better plan; one that is found is kept in ``better``."""
        low, high = UsefulWork(self.case, team).gpus_range
        if low > high or math.isinf(low):
            return True
        program = Program(self.case, team)
        if low > program.most_gpus:
            return True
        stage = Stage(program, self.solver, self.deadline)
        exact = not self.case.needs_goodput or self._bound_work(stage)
        scale = self._ask_for_better(program)
        try:
            relaxed = stage.settle(
                partial(solvers.solve, program.problem, relaxed=True), whole=False
            )
            if relaxed.status == "infeasible":
                return stage.ask().status == "infeasible"
        except OverstatedError:
            pass
        if _halves(team):
            return False
        try:
            found = stage.settle(stage.ask)
        except OverstatedError:
            return False
        if exact and found.status == "optimal" and found.objective is not None:
            value = found.objective * scale
            self.better = self.best if self.case.objective in RATIOS else value
        return found.status == "infeasible"

    def _ask_for_better(self, program: Program) -> float:
        """Ask for the objective, and a value better than the best; return its scale."""
        case, ratio = self.case, self.case.objective in RATIOS
        with_plan = self.best is not None
        objective, scale = program.objective(self.floor if ratio and with_plan else 0.0)
        if with_plan:
            floor = 0.0 if ratio else self.floor / scale
            program.row("better", objective >= floor if case.maximise else objective <= floor)
        program.ask_for(objective, maximise=case.maximise)
        return scale

    def _bound_work(self, stage: Stage) -> bool:
        """Bound useful work by tangents, or loosely where it is not concave; say which."""
        program = stage.program
        program.measure_work()
        if not program.useful.concave:
            self._bound_by_most(program)
            return False
        most, least = program.most, program.useful.gpus_range[0]
        stage.bound_work(
            stage.tangents_at(
                [
                    Point(
                        max(least, gpus * most.gpus),
                        each * most.write,
                        each * most.read,
                        each * most.write,
                        most.endured,
                    )
                    for gpus, each in SEEDS
                ]
            )
        )
        return True

    def _bound_by_most(self, program: Program) -> None:
        """work <= N GPUs that never stop; and no more than any number of GPUs
        does with the most bandwidth and endurance that a purchase can have."""
        useful, repair = program.useful, self.case.job.repair
        low, high = max(1.0, useful.gpus_range[0]), program.most_gpus
        step = math.gcd(*(way.step_gpus for way in program.ways))
        counts = range(math.ceil(low / step) * step, int(high) + 1, step)
        most: Point | None = None
        if len(counts) <= MOST_COUNTS and not (repair is not None and repair.shrinks):
            most = _most_delivered(program)
        for measure, work in program.work.items():
            rate = 1.0 if measure == "gpus" else useful.pflops_per_gpu(low)
            program.row(f"all_{measure}", work - rate * program.gpus <= 0.0)
            if most is not None:
                each = (useful.value(most._replace(gpus=float(n)), measure) for n in counts)
                top = max((value for value in each if value is not None), default=0.0)
                program.row(f"peak_{measure}", work <= top * (1.0 + GAP / 2.0))


def _most_delivered(program: Program) -> Point | None:
    """The most of everything that work depends on, of fractions of units; None without any
    purchase."""
    found = {"gpus": 1.0}
    for name, variable in program.coordinates.items():
        if name != "gpus":
            program.ask_for(variable, maximise=True)
            solved = solvers.solve(program.problem, "highs", relaxed=True)
            if solved.bound is None:
                return None
            found[name] = max(solved.bound, 1e-9)
    found.setdefault("safe_write", found["write"])
    return Point(**found)


def _teams(case: Case) -> Iterator[Team]:
    """Yield the sets of types with a way each, in every mode, with all their ranges."""
    systems = [system for system in case.systems if cap(case, system) > 0]
    for size in range(1, case.job.max_types + 1):
        for types in itertools.combinations(systems, size):
            for ways in itertools.product(*(system.ways for system in types)):
                if len({way.fabric for way in ways} - {None}) > 1:
                    continue
                yield from _modes(case, tuple(zip(types, ways, strict=True)))


def _modes(case: Case, running: tuple[tuple[System, Way], ...]) -> Iterator[Team]:
    job, (system, way) = case.job, running[0]
    spares = 0
    if job.repair is not None and not way.spare_unit.in_rack:
        units = cap(case, system) * way.spare_unit.per_system
        gpus = way.most_gpus(cap(case, system))
        spares = min(units, job.repair.most_useful(way.failures_per_gpu_day, max(1, gpus)))
    fixed = job.repair is not None and job.repair.spares is not None
    for mode in job.modes:
        every = job.levels.every if mode == "local" and job.levels is not None else (1,)
        for k in every:
            yield Team(running, mode, k, spares if fixed else 0, spares)


def _halves(team: Team) -> list[Team]:
    """A part in two; nothing where its ranges are single numbers."""
    if team.spares < team.spares_counted:
        middle = (team.spares + team.spares_counted) // 2
        return [replace(team, spares_counted=middle), replace(team, spares=middle + 1)]
    return []


def _name(team: Team) -> str:
    ways = " and ".join(way.id for way in team.ways)
    return f"{ways} ({team.mode})"
