"""Why a plan is the best, whether it holds, and edited workbooks against it.

Additive changes only, as with the plan.
"""

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from planner.schema.base import InItsUnit, InUnit, Record, Shown
from planner.schema.plan import LimitReport, Plan

VERIFICATION_SCHEMA_VERSION = 1
CheckName = Literal["file", "figures", "limits", "catalogs", "bound"]
CheckResult = Literal["holds", "fails", "not_checked"]
AUDIT_SCHEMA_VERSION = 1


class Check(Record):
    """One check: subject and result; ``findings``: wrong figures and broken limits with their
    place.
    """

    name: CheckName
    result: CheckResult
    text: str
    findings: tuple[str, ...] = ()


class Verification(Shown, Record):
    """A plan file, checked; skipped checks do not count.

    ``value`` and ``bound``: those of the ``solver`` that proved the bound again, None without.
    """

    schema_version: int = VERIFICATION_SCHEMA_VERSION
    plan: str
    problem: str
    result: Literal["holds", "fails"]
    checks: tuple[Check, ...]
    solver: str | None = None
    value: InItsUnit | None = None
    bound: InItsUnit | None = None
    unit: str = ""


class Edit(Record):
    """A changed cell of a workbook.

    ``kind``: owner of the input; ``key``: catalog id of a line, section, number and column of an
    added line, else the name of the figure or limit.
    """

    sheet: str
    cell: str
    kind: Literal[
        "quantity", "discount", "unit_list", "installed", "spares", "lead_time", "remark",
        "own_line", "figure", "limit",
    ]  # fmt: skip
    key: str
    label: str
    unit: str
    before: InItsUnit | str | None
    after: InItsUnit | str | None


class Breach(Record):
    """A limit that the edited plan breaks by ``over``; ``value`` None where not known."""

    name: str
    label: str
    value: InItsUnit | None
    sense: Literal["<=", ">="]
    limit: InItsUnit
    unit: str
    over: InItsUnit | None


def breaches_of(limits: Iterable[LimitReport], names: Collection[str]) -> tuple[Breach, ...]:
    """The broken limits of a plan, by their names."""
    return tuple(
        Breach(
            name=limit.name,
            label=limit.label,
            value=limit.value,
            sense=limit.sense,
            limit=limit.limit,
            unit=limit.unit,
            over=abs(limit.value - limit.limit),
        )
        for limit in limits
        if limit.name in names
    )


class Shortage(Record):
    """Something the edited cluster needs another number of than the workbook lists."""

    sku: str
    model: str
    listed: int
    needed: int


class Stale(Record):
    """A figure that the file shows otherwise than it is: not recalculated, or approximate there."""

    name: str
    shown: float
    computed: float


class Audit(Shown, Record):
    """An edited workbook, re-computed and compared.

    ``edited``: the plan of the workbook with the companions it needs, None with a ``reason``.
    ``best``: the best plan under the edited inputs. ``shortfall``: distance of the edited plan from
    it, as a share, negative where it breaks limits. ``sheet_capex_usd``: the bill with the counts
    of the workbook. ``remarks``: choices that the planner would make otherwise.
    """

    schema_version: int = AUDIT_SCHEMA_VERSION
    workbook: str
    problem: str
    edits: tuple[Edit, ...]
    solved: Plan
    edited: Plan | None
    best: Plan | None
    reason: str | None = None
    breaches: tuple[Breach, ...] = ()
    remarks: tuple[str, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    stale: tuple[Stale, ...] = ()
    added_sheets: tuple[str, ...] = ()
    sheet_capex_usd: float | None = None
    shortfall: float | None = None


ForcedKind = Literal["storage_vendor", "gpu_type"]
ItemKind = Literal["left_out", "no_plan", "worse", "as_good", "open"]
EXPLANATION_SCHEMA_VERSION = 1
Known = Literal["solved", "plan_fits", "no_limit_helps", "no_plan", "at_its_end", "not_decided"]
InUnitOfGoal = Annotated[float, InUnit("plan.objective.unit")]


class Forced(Record):
    """The best plan with something else forced by ``setting``.

    ``loss``: share by which its objective is worse than the plan's, negative within the gap.
    """

    kind: ForcedKind
    key: str
    label: str
    setting: tuple[str, ...]
    outcome: Literal["plan", "no_plan", "not_found"]
    reason: str | None = None
    value: InUnitOfGoal | None = None
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
    reason: str | None = None


class Item(Record):
    """Why an item of the catalogs is not in the plan.

    ``left_out``: it cannot be planned; ``no_plan`` holds a unit; ``worse`` by a share from
    ``at_least`` to ``at_most``; ``as_good``, but ``extra_capex_usd`` more or later in the order of
    ties; ``open``. ``exact``: the best plan with it is proven. Prices are today's, of a unit.
    """

    sku: str
    model: str
    category: Literal["gpu_system", "storage"]
    kind: ItemKind
    net_usd: float | None = None
    reason: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    exact: bool = False
    extra_capex_usd: float | None = None
    break_even: BreakEven | None = None
    asked: bool = False


class WhyNot(Record):
    """A plan beside those with other vendors, types and items; plans within ``tie`` are equal."""

    objective: str
    sense: Literal["maximize", "minimize"]
    tie: float
    forced: tuple[Forced, ...] = ()
    items: tuple[Item, ...] = ()
    message: str | None = None


class Moved(Record):
    """The best objective with a limit a step looser or tighter, all else unchanged.

    ``known``: ``solved`` anew, the ``plan_fits``, ``no_limit_helps``, ``no_plan``, ``at_its_end``,
    ``not_decided``.
    """

    to_text: str
    setting: str
    known: Known
    value: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
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
    binding: bool
    looser: Moved
    tighter: Moved
    next_step: NextStep | None = None


class Without(Record):
    """The best plan with a lever of the problem fixed elsewhere, by ``setting``; None: no plan."""

    label: str
    setting: str
    value: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None


class Explanation(Shown, Record):
    """Why this plan, or why none (``plan.infeasibility``).

    ``value``, ``bound`` and ``gpus_used`` are of the best objective without near-optimal tolerance.
    ``undecided``: questions that were cut short.
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
