"""Results of analyses: comparisons, sweeps, frontiers, explanations, verifications, audits.

Additive changes only. Rows of a sweep are a table (Parquet, CSV); ``Sweep`` describes its columns.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.currency import USD, Currency
from planner.schema import InItsUnit, InUnit, Record, Shown, is_none
from planner.schema.plan import LimitReport, Plan, Status

InMeasure = Annotated[float, InUnit("measure.unit")]


class Measure(Record):
    """Measure of the rows of a table, and whether more of it is better."""

    name: str
    label: str
    unit: str
    sense: Literal["maximize", "minimize"]


class Side(Record):
    """One of the compared plans, or a workbook with its ``edits``."""

    key: str
    source: str
    problem: str
    status: Status
    message: str | None
    edits: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    near_optimal_loss: float | None = None
    verdict: tuple[str, ...] = ()


class Series(Record):
    """A figure in every plan, and its excess over the first; None where it is not known."""

    values: tuple[InItsUnit | str | None, ...]
    changes: tuple[InItsUnit | None, ...]


class FigureRow(Record):
    """A figure or an input of every plan."""

    name: str
    label: str
    unit: str
    series: Series
    equal: bool


class LineRow(Record):
    """A product in every bill: units in place and capital cost."""

    sku: str
    product: str
    quantity: Series
    capex_usd: Series
    equal: bool


class LimitSide(Record):
    """Value and limit of one plan, and whether the limit binds."""

    value: InItsUnit
    limit: InItsUnit
    binding: bool


class LimitRow(Record):
    """A limit of any of the plans; a side that does not have it is None."""

    name: str
    label: str
    unit: str
    sense: Literal["<=", ">="]
    sides: tuple[LimitSide | None, ...]
    equal: bool


class InCurrency(Record):
    """A result with the currency in which it is shown, None for USD; its figures are in USD."""

    currency: Currency | None = Field(default=None, exclude_if=is_none)

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        return self.currency or USD


class Comparison(Shown, InCurrency):
    """Plans side by side; every change is against the first; ``equal`` rows are listed too."""

    schema_version: int = 1
    sides: tuple[Side, ...]
    inputs: tuple[FigureRow, ...]
    lines: tuple[LineRow, ...]
    figures: tuple[FigureRow, ...]
    limits: tuple[LimitRow, ...]


InUnitOfGoal = Annotated[float, InUnit(of="Study")]
InX = Annotated[float, InUnit("x_unit")]
InY = Annotated[float, InUnit("y_unit")]
RowStatus = Literal[
    "optimal", "feasible", "infeasible", "unbounded", "no_solution", "invalid", "failed"
]
"""``invalid``: the input is refused; ``failed``: an error, or a plan that the verifier refused."""
Kind = Literal["input", "answer", "count", "total", "job", "text"]
PLANNED = ("optimal", "feasible")
"""The statuses of scenarios that have a plan."""


class Column(Record):
    """A column of a table; ``path`` is the place of a varied input."""

    name: str
    label: str
    unit: str = ""
    kind: Kind
    path: str = ""


VARIED = "objective, which varies"
"""The objective of a sweep whose scenarios have different ones: their values do not compare."""


class Study(Shown, InCurrency):
    """Head of every analysis; ``base``: best objective of the unchanged problem."""

    schema_version: int = 1
    problem: str
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    objective: str
    sense: Literal["maximize", "minimize"]
    unit: str
    gap_asked: float
    base: InUnitOfGoal | None = None
    base_bound: InUnitOfGoal | None = None
    input_sha256: str | None = None
    products: dict[str, str] = {}


class RuleRow(Record):
    """One way to size the storage (``own``: the problem's), and the best plan that it allows."""

    name: str
    label: str
    own: bool
    settings: tuple[str, ...]
    status: Status | None = None
    reason: str | None = None
    plan: Plan | None = None
    measured: InMeasure | None = None
    difference: float | None = None


class RulesTable(Study):
    """The demand law (first), vendors' rules and the other checkpoint mode on one problem."""

    kind: Literal["rules"] = "rules"
    measure: Measure
    rows: tuple[RuleRow, ...]


class Way(Record):
    """A direction in which a plan is extreme, and the settings that ask for it."""

    name: str
    label: str
    detail: str = ""
    setting: tuple[str, ...] = ()


class Alternative(Record):
    """A verified plan, ``shortfall`` behind the bound."""

    ways: tuple[Way, ...]
    plan: Plan
    value: InItsUnit
    shortfall: float


class Alternatives(Study):
    """Plans within a share of the best; directions whose search was cut short are ``undecided``."""

    kind: Literal["alternatives"] = "alternatives"
    status: Status
    within: float
    bound: InItsUnit | None = None
    worst: InItsUnit | None = None
    alternatives: tuple[Alternative, ...] = ()
    undecided: tuple[str, ...] = ()
    message: str | None = None


EXACT_GAP = 2e-6
"""Rows of a sweep proven to this gap state the plan that `solve` takes of equally good ones."""


class Sweep(Study):
    """A table of scenarios: columns, rows by status; all of them unless interrupted."""

    kind: Literal["sweep"] = "sweep"
    columns: tuple[Column, ...]
    rows: int
    asked: int
    statuses: dict[str, int]
    solved: int
    reused: int

    @property
    def exact(self) -> bool:
        """True if rows are the plans of `solve`."""
        return self.gap_asked <= EXACT_GAP


class SweepTable(Sweep):
    """A sweep with its rows.

    Attributes:
        table: columns by name, as the files have them.
        types: "int", "float" or "str" by column.
        start: inputs of the problem as it is, by path.
    """

    table: Mapping[str, tuple[Any, ...]] = Field(exclude=True, repr=False)
    types: Mapping[str, str] = Field({}, exclude=True, repr=False)
    start: Mapping[str, Any] = Field({}, exclude=True, repr=False)


class FrontierPoint(Record):
    """A Pareto-optimal plan: for no more ``x`` there is no more ``y`` than ``bound``."""

    x: InX
    y: InY
    bound: InY
    gap: float
    counts: dict[str, int]
    gpus_in_use: int
    capex_usd: float | None
    facility_power_kw: float


class Frontier(Study):
    """Pareto frontier of useful work; ``knee`` and ``best`` are places in ``points``."""

    kind: Literal["frontier"] = "frontier"
    status: Status
    x_name: Literal["storage", "cost", "power"]
    x_label: str
    x_unit: str
    y_label: str
    y_unit: str
    points: tuple[FrontierPoint, ...]
    knee: int | None = None
    best: int | None = None
    message: str | None = None


class End(Record):
    """One end of a swing: the input as the problem file has it, and the best objective there."""

    text: str
    value: InItsUnit | str
    status: RowStatus
    objective: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    reason: str = ""


class Swing(Record):
    """Best objective as one input goes from low to high; ``width``: distance of both."""

    path: str
    label: str
    unit: str
    base_text: str
    low: End
    high: End
    width: InUnitOfGoal | None = None


class Tornado(Study):
    """Inputs varied one at a time, the widest swing first; those without a plan at an end last."""

    kind: Literal["tornado"] = "tornado"
    status: Status
    swings: tuple[Swing, ...]
    message: str | None = None


class UncertainInput(Record):
    """An uncertain input, its distribution in words."""

    path: str
    label: str
    distribution: str


class Percentiles(Record):
    """Distribution of an outcome over the ``count`` scenarios that have one."""

    name: str
    label: str
    unit: str
    count: int
    mean: InItsUnit
    p5: InItsUnit
    p25: InItsUnit
    p50: InItsUnit
    p75: InItsUnit
    p95: InItsUnit
    least: InItsUnit
    most: InItsUnit


class CandidatePlan(Record):
    """A purchase kept in every scenario; regret: share behind the best there, 1: a limit breaks."""

    name: str
    counts: dict[str, int]
    best_in: int
    feasible: float
    mean: InUnitOfGoal | None
    mean_regret: float
    most_regret: float


class Uncertain(Study):
    """Best plans of scenarios, and regret of purchases where inputs are not known exactly."""

    kind: Literal["uncertain"] = "uncertain"
    status: Status
    seed: int
    samples: int
    statuses: dict[str, int]
    inputs: tuple[UncertainInput, ...]
    outcomes: tuple[Percentiles, ...]
    candidates: tuple[CandidatePlan, ...] = ()
    least_regret: int | None = None
    message: str | None = None
    largest_gap: float | None = None


CheckName = Literal["file", "figures", "limits", "catalogs", "bound"]
CheckResult = Literal["holds", "fails", "not_checked"]


class Check(Record):
    """One check: subject and result, with wrong figures and broken limits by place."""

    name: CheckName
    result: CheckResult
    text: str
    findings: tuple[str, ...] = ()


class Verification(Shown, Record):
    """A plan file, checked; ``value`` and ``bound``: proven again by ``solver``."""

    schema_version: int = 1
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
        "quantity",
        "discount",
        "unit_list",
        "installed",
        "spares",
        "lead_time",
        "remark",
        "own_line",
        "figure",
        "limit",
    ]
    key: str
    label: str
    unit: str
    before: InItsUnit | str | None
    after: InItsUnit | str | None


class Audit(Shown, Record):
    """An edited workbook, re-computed, beside the ``best`` plan under the edited inputs.

    ``breaches``: broken limits; ``shortages``: units (listed, needed) by item; ``stale``: figures
    (shown, computed) by name that the file shows otherwise; ``shortfall``: distance from the best.
    """

    schema_version: int = 1
    workbook: str
    problem: str
    edits: tuple[Edit, ...]
    solved: Plan
    edited: Plan | None
    best: Plan | None
    reason: str | None = None
    breaches: tuple[LimitReport, ...] = ()
    remarks: tuple[str, ...] = ()
    shortages: dict[str, tuple[int, int]] = {}
    stale: dict[str, tuple[float, float]] = {}
    added_sheets: tuple[str, ...] = ()
    shortfall: float | None = None


ItemKind = Literal["left_out", "no_plan", "worse", "as_good", "open"]
Known = Literal["solved", "no_plan", "at_its_end", "not_decided"]
InPlanUnit = Annotated[float, InUnit("plan.objective.unit")]


class Forced(Record):
    """The best plan with something else forced; ``loss``: share worse than the plan, whose capex
    it exceeds by ``extra_capex_usd``."""

    label: str
    setting: tuple[str, ...]
    reason: str | None = None
    value: InPlanUnit | None = None
    loss: float | None = None
    extra_capex_usd: float | None = None


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

    tie: float
    forced: tuple[Forced, ...] = ()
    items: tuple[Item, ...] = ()


class Moved(Record):
    """The best objective with a limit a step looser or tighter, all else unchanged."""

    to_text: str
    setting: str
    known: Known
    change: InPlanUnit | None = None
    gpus_used: int | None = None


class NextStep(Record):
    """Least loosening of a limit that pays."""

    to_text: str
    setting: str
    gain: InPlanUnit


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
    change: InPlanUnit | None = None


class Explanation(Shown, Record):
    """Why this plan, or why none; ``value`` and ``bound`` without near-optimal tolerance."""

    schema_version: int = 1
    plan: Plan
    value: InPlanUnit | None = None
    bound: InPlanUnit | None = None
    gpus_used: int | None = None
    marginals: tuple[Marginal, ...] = ()
    without: tuple[Without, ...] = ()
    why_not: WhyNot | None = None
    undecided: tuple[str, ...] = ()
