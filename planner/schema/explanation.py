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
    """One check: subject and result, with wrong figures and broken limits by place."""

    name: CheckName
    result: CheckResult
    text: str
    findings: tuple[str, ...] = ()


class Verification(Shown, Record):
    """A plan file, checked; ``value`` and ``bound``: proven again by ``solver``."""

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
    """A changed cell of a workbook; ``key``: item, section or name of the figure or limit."""

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
    same = ("name", "label", "value", "sense", "limit", "unit")
    return tuple(
        Breach(**{f: getattr(each, f) for f in same}, over=abs(each.value - each.limit))
        for each in limits
        if each.name in names
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
    """An edited workbook, re-computed, beside the ``best`` plan under the edited inputs.

    ``shortfall``: distance from the best; ``sheet_capex_usd``: with the workbook's counts.
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
Known = Literal["solved", "no_plan", "at_its_end", "not_decided"]
InUnitOfGoal = Annotated[float, InUnit("plan.objective.unit")]


class Forced(Record):
    """The best plan with something else forced; ``loss``: share worse than the plan."""

    kind: ForcedKind
    key: str
    label: str
    setting: tuple[str, ...]
    outcome: Literal["plan", "no_plan", "not_found"]
    reason: str | None = None
    value: InUnitOfGoal | None = None
    loss: float | None = None


class BreakEven(Record):
    """Highest price at which an item is in a plan as good as the best without it."""

    outcome: Literal["found", "no_price_helps", "not_computed"]
    enters_at_usd: float | None = None
    enters_at_list_usd: float | None = None
    not_at_list_usd: float | None = None
    reason: str | None = None


class Item(Record):
    """Why an item is not in the plan; worse by ``at_least`` to ``at_most``, as a share."""

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
    """The best objective with a limit a step looser or tighter, all else unchanged."""

    to_text: str
    setting: str
    known: Known
    value: InUnitOfGoal | None = None
    change: InUnitOfGoal | None = None
    gpus_used: int | None = None


class NextStep(Record):
    """Least loosening of a limit that pays, and the largest that does not."""

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
    """Why this plan, or why none; ``value`` and ``bound`` without near-optimal tolerance."""

    schema_version: int = EXPLANATION_SCHEMA_VERSION
    plan: Plan
    value: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    gpus_used: int | None = None
    marginals: tuple[Marginal, ...] = ()
    without: tuple[Without, ...] = ()
    why_not: WhyNot | None = None
    undecided: tuple[str, ...] = ()
