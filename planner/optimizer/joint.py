"""The best plan as a solver proves it on the model in logarithms: a check of another kind."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from planner.case import Case
from planner.case.model import Mode
from planner.optimizer.branch import Found, Goal
from planner.optimizer.build import build
from planner.optimizer.goals import goal_of, without_end
from planner.optimizer.master import Master, session
from planner.optimizer.model import Linear, save_mps
from planner.optimizer.objective import EXPRESSIONS, TIE_BREAKS, overrun
from planner.optimizer.optimise import Certificate, Status, of_whole, reduced, share
from planner.optimizer.solver import Effort, SolverName
from planner.optimizer.stage import run


def prove(
    case: Case,
    *,
    solver: SolverName = "highs",
    gap: float = 2e-6,
    effort: Effort | None = None,
    save_model: Path | None = None,
) -> Certificate:
    """Return the best plan of a case with its certificate, as a solver proves it.

    Args:
        solver: HiGHS in process, or the CBC that PuLP bundles as a cross-check.
        gap: the largest distance to the bound, as a share of the objective.
        effort: how far to go; beyond it the best plan so far is taken. Without: to the end.
        save_model: where to write the last master problem as MPS.
    """
    started, whole, case = time.monotonic(), case, reduced(case)
    effort = effort or Effort()
    proofs: list[_Proof] = []
    if case.systems and case.storage:
        modes = sorted(case.job.modes, key=lambda mode: mode != "local")  # as a rule the best
        for left, mode in zip(range(len(modes), 0, -1), modes, strict=True):
            if effort.over:  # building the model alone takes its time
                break
            part = effort.part(effort.left_work / left, share=1.0 / left)
            proofs.append(_prove(case, mode, solver, gap, part))
        proofs.sort(key=lambda proof: case.job.modes.index(proof.master.build.mode))
    if save_model is not None and proofs:
        last = proofs[-1]
        save_mps(last.master.build.model, last.goal.expression, case.maximise, save_model)
    best, taken = _best(case, proofs), _first(case, proofs)
    taken.unbounded = taken.unbounded or without_end(case, taken.operation)
    answers = [proof.found for proof in proofs]
    if case.systems and case.storage:  # a mode that was not looked at leaves everything open
        answers += [Found(stopped=True) for _ in case.job.modes[len(proofs) :]]
    solves = sum(proof.master.solves for proof in proofs)
    answer = _certificate(
        case, taken, best, answers, gap, solves, time.monotonic() - started, effort.late
    )
    return replace(answer, operation=of_whole(whole, answer.operation))


class _Proof(NamedTuple):
    """One mode's master problem, its goal, and what was found."""

    master: Master
    goal: Goal
    ties: Mapping[str, Linear]
    found: Found


def _prove(case: Case, mode: Mode, solver: SolverName, gap: float, effort: Effort) -> _Proof:
    """Return the best operation in one mode with its bound."""
    master_problem = build(case, mode)
    expression_of = overrun if case.objective == "overrun" else EXPRESSIONS[case.objective]
    expression = expression_of(master_problem)
    # Counts come into being when asked for, so everything is asked for before the solver starts.
    ties = {name: tie_break(master_problem) for name, tie_break in TIE_BREAKS.items()}
    master = Master(master_problem, session(solver, master_problem.model), effort, final=True)
    goal = goal_of(case, expression, gap / 20.0)
    return _Proof(master, goal, ties, run(master, goal))


def _best(case: Case, proofs: list[_Proof]) -> float | None:
    """Return the best value over the modes, None where there is no plan."""
    pick = max if case.maximise else min
    values = [proof.found.value for proof in proofs if proof.found.value is not None]
    return pick(values) if values else None


def _first(case: Case, proofs: list[_Proof]) -> Found:
    """Return the best answer over the modes, of equal ones the first."""
    found = [proof.found for proof in proofs if proof.found.value is not None]
    pick = max if case.maximise else min
    return pick(found, key=lambda answer: answer.value or 0.0) if found else Found()


def _certificate(
    case: Case,
    taken: Found,
    best: float | None,
    answers: list[Found],
    gap: float,
    solves: int,
    seconds: float,
    late: bool,
) -> Certificate:
    if any(answer.unbounded for answer in (*answers, taken)) or without_end(case, taken.operation):
        return Certificate("unbounded", None, None, None, None, solves, seconds, late)
    stopped = any(answer.stopped for answer in answers)
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    unknown = any(answer.stopped and answer.bound is None for answer in answers)
    pick = max if case.maximise else min
    bound = pick(bounds) if bounds and not unknown else None
    if taken.operation is None:
        # A bound without a plan: something was left open, so nothing is proven impossible.
        status: Status = "no_solution" if stopped or bounds else "infeasible"
        return Certificate(status, None, None, bound, None, solves, seconds, late)
    value = taken.value
    assert value is not None and best is not None
    best = pick(best, value)  # breaking ties may find more by the solver's tolerance
    if bound is None and not stopped:
        bound = best
    elif bound is not None:
        bound = pick(bound, best)
    distance = None if bound is None else share(case, best, bound)
    proven = distance is not None and distance <= gap + 1e-12
    return Certificate(
        status="optimal" if proven else "feasible",
        operation=taken.operation,
        value=value,
        bound=bound,
        gap=distance,
        iterations=solves,
        seconds=seconds,
        late=late,
        best=best,
        given_away=0.0,
    )
