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
    """So many units of a product: ``model`` without the vendor's name, ``product`` with it."""

    sku: str
    model: str
    product: str
    quantity: int


class Measure(Record):
    """What the rows of a table are measured by, and whether more of it is better."""

    name: Literal["useful_pflops", "useful_gpus", Minimized]
    label: str
    unit: str
    sense: Literal["maximize", "minimize"]


class Outcome(Record):
    """What a plan buys and how the job runs on it; None means not known or not asked for.

    ``measured`` is the plan's value in the measure of the table, ``difference`` how far it lies
    above that of the demand law's plan, as a share of it. ``gap`` is what is proven of the plan:
    differences that are no larger mean nothing. ``overlap`` is drain over interval.
    """

    systems: tuple[Bought, ...]
    storage: tuple[Bought, ...]
    storage_units: int
    storage_it_power_kw: float | None
    storage_capex_usd: float | None
    it_power_kw: float | None
    facility_power_kw: float | None
    capex_usd: float | None
    gpus: int
    gpus_used: int
    useful_gpus: float
    useful_pflops: float | None
    days_to_train: float | None
    mode: Literal["async", "sync"]
    interval_s: float
    overlap: float
    goodput: float
    objective_value: float | None
    gap: float | None
    measured: InMeasure | None
    difference: float | None


class RuleRow(Record):
    """One way to size or choose the storage, and the best plan that it allows.

    ``settings`` are laid over the problem by ``--set``, after those of the whole table. ``own``
    marks what the problem itself asks for. Without an ``outcome`` the ``reason`` says why there is
    no plan; ``status`` is None where the problem left nothing to solve.
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
    """The same problem by the demand law, by vendors' rules, by other means; the demand law first.

    ``argument`` is the worst rule, the best and the worst vendor in a line each; ``input_sha256``
    is that of a plan of the same inputs.
    """

    schema_version: int = COMPARISON_SCHEMA_VERSION
    kind: Literal["rules"] = "rules"
    problem: str
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    objective: str
    measure: Measure
    rows: tuple[RuleRow, ...]
    argument: tuple[str, ...]
    input_sha256: str | None = None


class Side(Record):
    """One of the plans compared: ``key`` is the letter it goes by, ``source`` its file.

    ``edits`` are the cells of a workbook that hold something else than the solved plan, ``broken``
    the limits that it breaks;
    ``given_away`` is how far the plan stays behind the best on purpose, as a share of it;
    ``verdict`` is what speaks against it.
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
    """A figure in every plan, and how far each lies above the first; None where it is not known."""

    values: tuple[InItsUnit | str | None, ...]
    changes: tuple[InItsUnit | None, ...]


class FigureRow(Record):
    """A figure or an input of every plan."""

    name: str
    group: str
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
    """What one plan reaches of a limit, what it is allowed, and whether that binds."""

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
    """Plans side by side; every change is against the first.

    All rows are listed; those that are ``equal`` are the same in every plan there is.
    """

    schema_version: int = COMPARISON_SCHEMA_VERSION
    sides: tuple[Side, ...]
    inputs: tuple[FigureRow, ...]
    lines: tuple[LineRow, ...]
    figures: tuple[FigureRow, ...]
    limits: tuple[LimitRow, ...]


class Way(Record):
    """A way in which a plan is extreme or different, and how to get such a plan.

    ``detail`` tells what it is about, such as the vendor. ``setting`` is what ``--set`` would take;
    None where a problem file cannot ask for it, as for the fewest storage units.
    """

    name: DirectionName | Literal["best"]
    label: str
    detail: str = ""
    setting: tuple[str, ...] | None = ()


class Alternative(Record):
    """A complete plan of the problem, verified, that lies within the tolerance of the best.

    ``plan`` carries the value of the problem's own objective with the bound of the best there is;
    ``shortfall`` is how far behind that bound it is at most, as a share of the bound. ``distance``
    is how different it is from the plans before it in the list: 1 for another storage vendor, 1 for
    another GPU type, and the relative difference in storage units and in GPU systems.
    """

    ways: tuple[Way, ...]
    plan: Plan
    value: InItsUnit
    shortfall: float
    distance: float


class Direction(Record):
    """What was looked for in one direction, and how that ended.

    ``ended`` is "within" where a plan was found, "beyond" where the best one lies outside the
    tolerance, "no_plan" where there is none and "not_found" where the search did not settle it.
    ``shortfall`` is that of the plan found, at most; ``at_least`` is proven of every plan there.
    ``proven`` says that the plan found is the best or the extreme there, not only one near it.
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

    ``bound`` is what no plan's objective passes; ``worst`` the worst value within the tolerance.
    ``found`` counts all different plans, those beyond ``--most`` included. ``message`` says why
    there are none.
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
