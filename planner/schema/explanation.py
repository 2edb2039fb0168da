"""Why a plan is what it is: what holds it, and what one more unit of each limit is worth."""

from __future__ import annotations

from typing import Literal

from planner.schema.plan import Plan
from planner.schema.record import Record
from planner.schema.why_not import WhyNot

EXPLANATION_SCHEMA_VERSION = 1

Known = Literal["solved", "plan_fits", "no_limit_helps", "no_plan", "at_its_end", "not_decided"]


class Moved(Record):
    """The best objective with a limit a step looser or tighter, everything else as it is.

    ``change`` is how much more (or less) of the objective the best plan then has; the true change
    lies between ``change_least`` and ``change_most``, which are proven. ``known`` says how:
    ``solved`` anew; ``plan_fits``: the best plan still meets the tighter limit; ``no_limit_helps``:
    even without this and others that do not bind no plan is better; ``no_plan`` is left;
    ``at_its_end``: it cannot be moved that way; ``not_decided``: the search was cut short.
    """

    to_text: str
    setting: str
    known: Known
    value: float | None = None
    bound: float | None = None
    change: float | None = None
    change_least: float | None = None
    change_most: float | None = None
    gpus_used: int | None = None


class NextStep(Record):
    """The least that a limit must be loosened before it pays at all.

    At ``to_text`` there is a plan better by ``gain`` at least, at ``short_text`` there is none.
    """

    to_text: str
    short_text: str
    setting: str
    gain: float


class Marginal(Record):
    """What moving one limit is worth. ``binding`` is the plan's own word."""

    path: str
    label: str
    source: str | None
    unit: str
    value: float
    text: str
    step_text: str
    binding: bool
    looser: Moved
    tighter: Moved
    next_step: NextStep | None = None


class Explanation(Record):
    """Why this plan, or why none.

    ``value`` and ``bound`` are of the best objective, without what ``objective.indifference`` may
    give away, and ``gpus_used`` of a plan that has it; worths are counted from there.
    ``plan.infeasibility`` says why there is no plan. ``undecided`` names questions that were cut
    short: by the time limit, or because an answer takes more work than is allowed.
    """

    schema_version: int = EXPLANATION_SCHEMA_VERSION
    plan: Plan
    value: float | None = None
    bound: float | None = None
    gpus_used: int | None = None
    marginals: tuple[Marginal, ...] = ()
    why_not: WhyNot | None = None
    undecided: tuple[str, ...] = ()
