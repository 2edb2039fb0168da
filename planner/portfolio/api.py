"""Solve, save and read portfolio plans: the calls behind the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from planner.errors import Finding, InputError, VerificationError
from planner.optimizer.solvers import SolverName
from planner.portfolio.check import faults
from planner.portfolio.inputs import MOST_PLAN_BYTES, load
from planner.portfolio.instance import Instance
from planner.portfolio.plan import assemble
from planner.portfolio.schema import PortfolioPlan
from planner.portfolio.search import search
from planner.untrusted_files import contents


def solve(
    instance: Instance,
    *,
    solver: SolverName = "highs",
    gap: float | None = None,
    time_limit_s: float | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> PortfolioPlan:
    """The best plan of an instance, recomputed by independent arithmetic.

    Args:
        instance: the portfolio in numbers.
        solver: HiGHS, or CBC as a cross-check.
        gap: where to stop, as a share; by default 1e-6, of a large problem 0.5 %.
        time_limit_s: how long the search may take.
        cancelled: whether to stop now, at the best plan so far.

    Raises:
        VerificationError: the plan does not agree with its recomputation.
    """
    program, answer = search(
        instance, solver=solver, gap=gap, time_limit_s=time_limit_s, cancelled=cancelled
    )
    plan = assemble(instance, program, answer, solver)
    wrong = faults(instance, plan)
    if wrong:
        raise VerificationError(wrong)
    return plan


def to_json(plan: PortfolioPlan) -> bytes:
    """A plan as JSON."""
    return (json.dumps(plan.model_dump(mode="json"), indent=1) + "\n").encode()


def read_plan(path: Path) -> PortfolioPlan:
    """A saved plan.

    Raises:
        InputError: it is no output of `to_json`.
    """
    try:
        return PortfolioPlan.model_validate_json(
            contents(path, most_bytes=MOST_PLAN_BYTES, what="plan")
        )
    except ValueError:
        message = "no portfolio plan that planner wrote"
        raise InputError(Finding("plan", message, str(path), fix="solve it again")) from None


__all__ = ["load", "read_plan", "solve", "to_json"]
