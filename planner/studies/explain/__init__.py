"""Why this plan, what each limit is worth, why nothing else; or why there is none."""

from __future__ import annotations

from collections.abc import Mapping

from planner.api import FOR_THE_SEARCH, Options, solve_with
from planner.inputs import Inputs
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.studies.explain.marginal import marginals
from planner.studies.why_not import why_not

__all__ = ["explain"]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take; the rest is for questions about it."""
QUESTIONS = 4
"""A count and not a time, so that the same problem always gets the same explanation."""


def explain(
    inputs: Inputs,
    options: Options,
    *,
    steps: Mapping[str, str] | None = None,
    asked: tuple[str, ...] = (),
    questions: int | None = QUESTIONS,
    plan: Plan | None = None,
) -> Explanation:
    """Return why the best plan of a problem is what it is.

    Args:
        inputs: the problem, catalogs and prices.
        options: how to solve.
        steps: by how much to move a limit, by path, as the user wrote it.
        asked: items whose absence is to be explained exactly, with their break-even price.
        questions: how many proofs items that were not asked for may take, None for any number.
        plan: the best plan, where it is known.

    Raises:
        InputError: a step names no limit of the problem, or what is asked for is no item.
        VerificationError: the plan does not agree with its independent re-computation.
    """
    options = options.started()
    plan = solve_with(inputs, options, search=FOR_THE_PLAN) if plan is None else plan
    options = options.searching(FOR_THE_SEARCH)
    base, found = marginals(inputs, plan, options, steps or {})
    if not plan.jobs:
        return Explanation(plan=plan)
    return Explanation(
        plan=plan,
        value=base.value,
        bound=base.bound,
        gpus_used=base.gpus_used,
        marginals=found,
        undecided=base.undecided,
        why_not=why_not(inputs, plan, options, asked=asked, questions=questions),
    )
