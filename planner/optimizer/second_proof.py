"""A best plan proven a second time, with GPU types, way, mode and spares free.

The problem is divided into parts: a set of GPU types with a way each, a mode, how often local
checkpoints go on to storage, from so many to so many spares, from so few to so many micro-batches
for each copy of the model. A part buys the fewest spares of its range and counts the most, so its
program is a bound. Each is asked for a plan that is better than the best one known, by more than a
gap. A part that has none is closed; another is divided until its ranges are single numbers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from planner.case import Case, System, Way
from planner.case.bounds import cap
from planner.figures import RATIOS
from planner.optimizer import solvers
from planner.optimizer.program import Program
from planner.optimizer.proof import MEASURES, OverstatedError, Stage, objective_of
from planner.optimizer.solvers import SolverName
from planner.optimizer.useful_work import Point, Team, UsefulWork

GAP = 2e-6
"""A plan has to be better by this share to count as better."""
MOST_COUNTS = 4_000
"""So many numbers of GPUs are worked out where useful work is not concave."""
MOST_TEAMS = 400
"""Sets of types and ways beyond which nothing is proven a second time."""
ROUNDS = 60
SEEDS = tuple(itertools.product((0.25, 0.5, 0.9), (0.05, 0.3)))
"""First tangents of a part stand at these shares of its most GPUs and of the most bandwidth."""


class SecondProof(NamedTuple):
    """What was proven: ``bound`` is what no plan passes, None where parts are ``open``; ``better``
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
    """What is asked of every part: a plan that is better than the best."""

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
        """Say whether a part has no better plan; one that is found is kept in ``better``."""
        low, high = UsefulWork(self.case, team).gpus_range
        if low > high or math.isinf(low):
            return True
        program = Program(self.case, team)
        if low > program.most_gpus:
            return True
        stage = Stage(self.case, None, program, "linear", self.solver, deadline=self.deadline)
        exact = not self.case.needs_goodput or self._bound_work(stage)
        objective, scale = self._objective(stage)
        program.ask_for(objective, maximise=self.case.maximise)
        if self._is_empty(stage):
            found = stage._ask()
            return found.status == "infeasible"
        if not _is_single(team):
            return False
        for _ in range(ROUNDS):
            found = stage._ask()
            if found.status == "infeasible":
                return True
            if found.status == "limit" or found.objective is None or not exact:
                return False
            try:
                if not stage.tighten(found.values):
                    value = found.objective * scale
                    self.better = self.best if self.case.objective in RATIOS else value
                    return False
            except OverstatedError:
                return False
        return False

    def _objective(self, stage: Stage) -> tuple[Any, float]:
        """Return the objective, with a row that asks for one better than the best."""
        case, program = self.case, stage.program
        if case.objective in RATIOS:
            objective, scale = objective_of(stage, 0.0 if self.best is None else self.floor)
            if self.best is not None:
                program.row("better", objective <= 0.0)
            return objective, scale
        objective, scale = objective_of(stage, 0.0)
        if self.best is not None:
            row = objective >= self.floor / scale
            program.row("better", row if case.maximise else objective <= self.floor / scale)
        return objective, scale

    def _bound_work(self, stage: Stage) -> bool:
        """Bound useful work by tangents, or loosely where it is not concave; say which."""
        case, program = self.case, stage.program
        program.measure_work()
        if case.objective in MEASURES:
            program.useful_work(MEASURES[case.objective])
        useful = program.useful
        if not useful.concave:
            self._bound_by_most(program)
            return False
        stage.form = "tangents"
        most = program.most
        for measure, (gpus, bandwidth) in itertools.product(list(program.work), SEEDS):
            read, write = bandwidth * most.read, bandwidth * most.write
            least = max(useful.gpus_range[0], gpus * most.gpus)
            at = Point(least, write, read, write, most.endured)
            tangent = useful.tangent(at, measure, most)
            if tangent is not None:
                program.below(measure, tangent)
        return True

    def _bound_by_most(self, program: Program) -> None:
        """work <= what a GPU that never stops does, N of them; and no more than any number of GPUs
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

    def _is_empty(self, stage: Stage) -> bool:
        """Say whether fractions of units have no better plan either, after tangents there."""
        for _ in range(ROUNDS):
            found = solvers.solve(stage.program.problem, "highs", relaxed=True)
            if found.status == "infeasible":
                return True
            if not found.values or stage.form != "tangents":
                return False
            try:
                if not stage.tighten(found.values, whole=False):
                    return False
            except OverstatedError:
                return False
        return False


def _most_delivered(program: Program) -> Point | None:
    """Return the most of everything that work depends on, of fractions of units; None without any
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
    even = job.scale is not None and job.scale.even
    batches = tuple(
        (1, each.gpus_max) if even and each.gpus_max is not None else None for _, each in running
    )
    for mode in job.modes:
        every = job.levels.every if mode == "local" and job.levels is not None else (1,)
        for k in every:
            yield Team(running, mode, k, spares if fixed else 0, spares, batches)


def _is_single(team: Team) -> bool:
    return not _halves(team)


def _halves(team: Team) -> list[Team]:
    """Return a part in two; nothing where its ranges are single numbers."""
    if team.spares < team.spares_counted:
        middle = (team.spares + team.spares_counted) // 2
        return [replace(team, spares_counted=middle), replace(team, spares=middle + 1)]
    for place, batches in enumerate(team.batches):
        if batches is not None and batches[0] < batches[1]:
            middle = math.isqrt(batches[0] * batches[1])
            parts = []
            for half in ((batches[0], middle), (middle + 1, batches[1])):
                each = list(team.batches)
                each[place] = half
                parts.append(replace(team, batches=tuple(each)))
            return parts
    return []


def _name(team: Team) -> str:
    ways = " and ".join(way.id for way in team.ways)
    return f"{ways} ({team.mode})"
