"""Why a plan holds what it holds and nothing else, and what holds it. Additive changes only.

What one more unit of each limit is worth, and the least that would make a wish come true.
"""

from typing import Annotated, Literal

from planner.schema.base import InItsUnit, InUnit, Record, Shown
from planner.schema.plan import Plan

WHY_NOT_SCHEMA_VERSION = 1

ForcedKind = Literal["storage_vendor", "gpu_type"]
ItemKind = Literal["left_out", "no_plan", "worse", "as_good", "open"]

EXPLANATION_SCHEMA_VERSION = 1

Known = Literal["solved", "plan_fits", "no_limit_helps", "no_plan", "at_its_end", "not_decided"]

InUnitOfGoal = Annotated[float, InUnit("plan.objective.unit")]


class Bought(Record):
    """So many of a GPU system or storage item."""

    sku: str
    model: str
    category: Literal["gpu_system", "storage"]
    quantity: int


class Figures(Record):
    """What a plan is worth and takes. None where a figure is not known or not defined."""

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
    """A value of the objective with the bound that no plan of its kind passes.

    ``gap`` is their distance as a share of the value.
    """

    value: InItsUnit
    bound: InItsUnit
    gap: float


class Forced(Record):
    """The best plan with something else forced.

    ``setting`` is what ``--set`` would take. ``figures`` are those of a plan with the value in
    ``certificate``; of plans as good it is a cheap one. ``loss`` is how much worse its objective is
    than the plan's, as a share of it (negative: better, which the plan's gap allows).
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
    """The highest price at which an item is part of a plan as good as the best without it.

    "As good" is what the problem's own order says: the objective first, and where plans tie in it,
    capex. At ``enters_at_usd`` such a plan is known, at ``not_at_usd`` and above none exists: both
    are proven, for a unit after discount. ``reason`` says why there are no prices.
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

    ``left_out``: it cannot be planned with (``reason``). ``no_plan``: no plan holds a single unit
    of it (``reason`` says what stands in the way, where told). ``worse``: the best plan with it is
    worse than the plan by a share of the objective of at least ``at_least`` and, where known, at
    most ``at_most``. ``as_good``: such a plan ties with the best, but costs ``extra_capex_usd``
    more or comes later in the order of ties (``reason``: its vendor is not preferred). ``open``:
    bounds alone do not tell worse (or no plan) from as good.
    With a GPU system the job runs on it: alone where it runs on one type. ``exact`` says that the
    best plan with it was found and proven, not only bounded. ``net_usd`` and ``list_usd`` are the
    price of a unit today, after and before discount.
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
    """A plan side by side with what it is not.

    ``tie`` is the share of the objective within which plans count as equally good. ``message`` says
    why nothing could be compared.
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
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
    change_least: InUnitOfGoal | None = None
    change_most: InUnitOfGoal | None = None
    gpus_used: int | None = None


class NextStep(Record):
    """The least that a limit must be loosened before it pays at all.

    At ``to_text`` there is a plan better by ``gain`` at least, at ``short_text`` there is none.
    """

    to_text: str
    short_text: str
    setting: str
    gain: InUnitOfGoal


class Marginal(Record):
    """What moving one limit is worth. ``binding`` is the plan's own word."""

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
    """The best plan without a lever of the problem, or with it fixed elsewhere.

    ``change`` is of the objective, from the best plan with the lever; ``setting`` is what leaves it
    out as ``--set`` takes it. ``known`` is "no_plan" where there is none then.
    """

    label: str
    setting: str
    known: Literal["plan", "no_plan"]
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
    gpus_used: int | None = None


class Explanation(Shown, Record):
    """Why this plan, or why none.

    ``value`` and ``bound`` are of the best objective, without what ``objective.indifference`` may
    give away, and ``gpus_used`` of a plan that has it; worths are counted from there.
    ``plan.infeasibility`` says why there is no plan. ``undecided`` names questions that were cut
    short: by the time limit, or because an answer takes more work than is allowed.
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
