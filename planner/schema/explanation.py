"""Why a plan is the best: marginal values of limits, forced plans, items not bought."""

from typing import Annotated, Literal

from planner.schema.base import (
    InItsUnit,
    InUnit,
    Record,
    Shown,
)
from planner.schema.plan import Plan

WHY_NOT_SCHEMA_VERSION = 1

ForcedKind = Literal["storage_vendor", "gpu_type"]
ItemKind = Literal["left_out", "no_plan", "worse", "as_good", "open"]

EXPLANATION_SCHEMA_VERSION = 1

Known = Literal["solved", "plan_fits", "no_limit_helps", "no_plan", "at_its_end", "not_decided"]

InUnitOfGoal = Annotated[float, InUnit("plan.objective.unit")]


class Bought(Record):
    """Units of a GPU system or storage item."""

    sku: str
    model: str
    category: Literal["gpu_system", "storage"]
    quantity: int


class Figures(Record):
    """Figures of a plan; None: not known or not defined."""

    gpus_used: int
    goodput: float
    useful_gpus: float
    useful_pflops: float | None
    days_to_train: float | None
    capex_usd: float
    tco_usd: float | None
    it_power_kw: float | None
    facility_power_kw: float | None
    systems: int
    appliances: int


class Certificate(Record):
    """A value of the objective with its bound; ``gap``: their distance as a share."""

    value: InItsUnit
    bound: InItsUnit
    gap: float


class Forced(Record):
    """The best plan with something else forced; of plans as good a cheap one.

    ``setting`` is for ``--set``. ``loss``: share by which its objective is worse than the plan's;
    negative: better, which the plan's gap allows.
    """

    kind: ForcedKind
    key: str
    label: str
    setting: tuple[str, ...]
    outcome: Literal["plan", "no_plan", "not_found"]
    reason: str | None = None
    figures: Figures | None = None
    bought: tuple[Bought, ...] = ()
    certificate: Certificate | None = None
    loss: float | None = None


class BreakEven(Record):
    """Highest price at which an item is part of a plan as good as the best without it.

    "As good": the objective first, then capex. At ``enters_at_usd`` such a plan is known, at
    ``not_at_usd`` and above none exists: both proven, for a unit after discount.
    """

    outcome: Literal["found", "no_price_helps", "not_computed"]
    enters_at_usd: float | None = None
    enters_at_list_usd: float | None = None
    not_at_usd: float | None = None
    not_at_list_usd: float | None = None
    units: int | None = None
    reason: str | None = None


class Item(Record):
    """Why an item of the catalogs is not in the plan.

    ``left_out``: it cannot be planned (``reason``). ``no_plan``: no plan holds a unit of it.
    ``worse``: the best plan with it is worse by a share from ``at_least`` to ``at_most``.
    ``as_good``: it ties, but costs ``extra_capex_usd`` more or comes later in the order of ties.
    ``open``: bounds do not decide. A GPU system is one that the job runs on. ``exact``: the best
    plan with it was found and proven. ``net_usd`` and ``list_usd``: price of a unit today.
    """

    sku: str
    model: str
    vendor: str
    category: Literal["gpu_system", "storage"]
    kind: ItemKind
    net_usd: float | None = None
    list_usd: float | None = None
    reason: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    exact: bool = False
    extra_capex_usd: float | None = None
    break_even: BreakEven | None = None
    asked: bool = False


class WhyNot(Record):
    """A plan beside those with other vendors, types and items.

    ``tie``: share of the objective within which plans count as equally good; ``message``: why
    nothing could be compared.
    """

    schema_version: int = WHY_NOT_SCHEMA_VERSION
    problem: str
    objective: str
    sense: Literal["maximize", "minimize"]
    unit: str
    value: InItsUnit | None
    bound: InItsUnit | None
    tie: float
    plan: Figures | None
    bought: tuple[Bought, ...] = ()
    forced: tuple[Forced, ...] = ()
    items: tuple[Item, ...] = ()
    message: str | None = None


class Moved(Record):
    """The best objective with a limit a step looser or tighter, all else unchanged.

    The true change lies between ``change_least`` and ``change_most``. ``known``: ``solved`` anew;
    ``plan_fits``: the best plan still meets the limit; ``no_limit_helps``: even without all limits
    that do not bind no plan is better; ``no_plan``; ``at_its_end``: it cannot move;
    ``not_decided``.
    """

    to_text: str
    setting: str
    known: Known
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
    change_least: InUnitOfGoal | None = None
    change_most: InUnitOfGoal | None = None
    gpus_used: int | None = None


class NextStep(Record):
    """Least loosening of a limit that pays: at ``to_text`` a plan is better by ``gain``, at
    ``short_text`` none is."""

    to_text: str
    short_text: str
    setting: str
    gain: InUnitOfGoal


class Marginal(Record):
    """Worth of moving one limit."""

    path: str
    label: str
    source: str | None
    unit: str
    value: InItsUnit
    text: str
    step_text: str
    binding: bool
    looser: Moved
    tighter: Moved
    next_step: NextStep | None = None


class Without(Record):
    """The best plan with a lever of the problem fixed elsewhere, by ``setting``."""

    label: str
    setting: str
    known: Literal["plan", "no_plan"]
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
    gpus_used: int | None = None


class Explanation(Shown, Record):
    """Why this plan, or why none (``plan.infeasibility``).

    ``value``, ``bound`` and ``gpus_used`` are of the best objective without near-optimal tolerance;
    worths are counted from there. ``undecided`` names questions that were cut short.
    """

    schema_version: int = EXPLANATION_SCHEMA_VERSION
    plan: Plan
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    gpus_used: int | None = None
    marginals: tuple[Marginal, ...] = ()
    without: tuple[Without, ...] = ()
    why_not: WhyNot | None = None
    undecided: tuple[str, ...] = ()
