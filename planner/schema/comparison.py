"""Plans and sizing rules side by side, and plans nearly as good as the best that differ from it.

Additive changes only, as with the plan.
"""

from typing import Annotated, Literal

from planner.schema.base import InItsUnit, InUnit, Record, Shown
from planner.schema.plan import Plan, Status
from planner.schema.prices import InCurrency
from planner.schema.problem import Minimized

COMPARISON_SCHEMA_VERSION = 1

RowGroup = Literal["demand", "rule", "mode", "variant", "vendor"]
SideKind = Literal["plan", "problem", "workbook"]

ALTERNATIVES_SCHEMA_VERSION = 1

DirectionName = Literal[
    "storage_vendor", "gpu_type", "least_capex", "least_tco", "least_power",
    "fewest_storage", "most_storage", "fewest_systems", "most_systems",
]  # fmt: skip

InMeasure = Annotated[float, InUnit("measure.unit")]


class Bought(Record):
    """Units of a product: ``model`` without the vendor's name, ``product`` with it."""

    sku: str
    model: str
    product: str
    quantity: int


class Measure(Record):
    """Measure of the rows of a table, and whether more of it is better."""

    name: Literal["useful_pflops", "useful_gpus", Minimized]
    label: str
    unit: str
    sense: Literal["maximize", "minimize"]


class Outcome(Record):
    """Purchase and operation of a plan; None: not known or not asked for.

    ``measured``: value in the table's measure; ``difference``: excess over the demand law's plan,
    as a share; below ``gap`` it means nothing.
    """

    systems: tuple[Bought, ...]
    storage: tuple[Bought, ...]
    storage_it_power_kw: float | None
    it_power_kw: float | None
    capex_usd: float | None
    gpus: int
    gpus_used: int
    useful_pflops: float | None
    days_to_train: float | None
    interval_s: float
    goodput: float
    objective_value: float | None
    gap: float | None
    measured: InMeasure | None
    difference: float | None


class RuleRow(Record):
    """One way to size or choose the storage, and the best plan that it allows.

    ``settings`` are for ``--set``. ``own``: the problem itself asks for it. ``status`` is None
    where there was nothing to solve; ``reason`` says why there is no plan.
    """

    group: RowGroup
    name: str
    label: str
    asks: str
    own: bool
    settings: tuple[str, ...]
    status: Status | None
    reason: str | None = None
    outcome: Outcome | None = None


class RulesTable(Shown, InCurrency):
    """The same problem by the demand law (first), vendors' rules and other means."""

    schema_version: int = COMPARISON_SCHEMA_VERSION
    kind: Literal["rules"] = "rules"
    problem: str
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    objective: str
    measure: Measure
    rows: tuple[RuleRow, ...]
    input_sha256: str | None = None


class Side(Record):
    """One of the plans compared: ``key`` is its letter, ``source`` its file.

    ``edits``: changed cells of a workbook, ``broken``: limits that it breaks; ``given_away``: share
    behind the best on purpose; ``verdict``: objections to the plan.
    """

    key: str
    source: str
    kind: SideKind
    problem: str
    status: Status
    message: str | None
    edits: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    given_away: float | None = None
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
    """A product in every bill: units in place, capital cost, IT power."""

    sku: str
    section: str
    product: str
    quantity: Series
    capex_usd: Series
    it_power_kw: Series
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


class Comparison(Shown, InCurrency):
    """Plans side by side; every change is against the first; ``equal`` rows are listed too."""

    schema_version: int = COMPARISON_SCHEMA_VERSION
    sides: tuple[Side, ...]
    inputs: tuple[FigureRow, ...]
    lines: tuple[LineRow, ...]
    figures: tuple[FigureRow, ...]
    limits: tuple[LimitRow, ...]


class Way(Record):
    """A direction in which a plan is extreme or different.

    ``setting`` is for ``--set``; None where a problem file cannot ask for it.
    """

    name: DirectionName | Literal["best"]
    label: str
    detail: str = ""
    setting: tuple[str, ...] | None = ()


class Alternative(Record):
    """A complete verified plan within the tolerance of the best.

    ``shortfall``: largest distance behind the bound of the best, as a share. ``distance`` to the
    plans before it: 1 for another storage vendor, 1 for another GPU type, plus the relative
    differences in storage units and GPU systems.
    """

    ways: tuple[Way, ...]
    plan: Plan
    value: InItsUnit
    shortfall: float
    distance: float


class Direction(Record):
    """A direction searched, and how that ended.

    "within": a plan was found; "beyond": the best one lies outside the tolerance; "no_plan";
    "not_found": undecided. ``shortfall``: of the plan found; ``at_least``: proven of every plan
    there; ``proven``: the plan found is the extreme there.
    """

    name: DirectionName
    label: str
    detail: str = ""
    ended: Literal["within", "beyond", "no_plan", "not_found"]
    proven: bool = True
    shortfall: float | None = None
    at_least: float | None = None


class Alternatives(Shown, InCurrency):
    """Plans within a share of the best, from the most to the least different.

    ``worst``: worst value within the tolerance; ``found``: number of different plans, shown or not;
    ``message``: why there are none.
    """

    schema_version: int = ALTERNATIVES_SCHEMA_VERSION
    problem: str
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    status: Status
    objective: str
    sense: Literal["maximize", "minimize"]
    unit: str
    within: float
    bound: InItsUnit | None = None
    worst: InItsUnit | None = None
    alternatives: tuple[Alternative, ...] = ()
    directions: tuple[Direction, ...] = ()
    found: int = 0
    message: str | None = None
