"""Comparisons, alternatives, sweeps, frontiers, tornadoes, uncertainty. Additive changes only.

Rows of a sweep are a table (Parquet, CSV); ``Sweep`` describes its columns.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.schema.base import InItsUnit, InUnit, Record, Shown
from planner.schema.plan import Plan, Status
from planner.schema.prices import InCurrency

COMPARISON_SCHEMA_VERSION = 1
SideKind = Literal["plan", "problem", "workbook"]
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
    kind: SideKind
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
    section: str
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


class Comparison(Shown, InCurrency):
    """Plans side by side; every change is against the first; ``equal`` rows are listed too."""

    schema_version: int = COMPARISON_SCHEMA_VERSION
    sides: tuple[Side, ...]
    inputs: tuple[FigureRow, ...]
    lines: tuple[LineRow, ...]
    figures: tuple[FigureRow, ...]
    limits: tuple[LimitRow, ...]


InUnitOfGoal = Annotated[float, InUnit(of="Study")]
InX = Annotated[float, InUnit("x_unit")]
InY = Annotated[float, InUnit("y_unit")]
SENSITIVITY_SCHEMA_VERSION = 1
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

    schema_version: int = SENSITIVITY_SCHEMA_VERSION
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
    goodput: float
    capex_usd: float | None
    facility_power_kw: float
    binding: tuple[str, ...]


class FrontierMark(Record):
    """A storage rule and its best plan with the least storage; without one ``reason`` says why."""

    name: str
    label: str
    x: InX | None = None
    y: InY | None = None
    bound: InY | None = None
    reason: str = ""


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
    marks: tuple[FrontierMark, ...] = ()
    message: str | None = None


class End(Record):
    """One end of a swing: the input as the problem file has it, and the best plan there."""

    text: str
    value: InItsUnit | str
    status: RowStatus
    objective: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    counts: dict[str, int] = {}
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
    """An uncertain input; unit "x": factors."""

    path: str
    label: str
    unit: str
    distribution: str
    low: InItsUnit
    median: InItsUnit
    high: InItsUnit


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
    nominal: bool
    best_in: int
    feasible: float
    mean: InUnitOfGoal | None
    worst: InUnitOfGoal | None
    mean_regret: float
    most_regret: float


class Index(Record):
    """Shares of the objective's variance explained by an input alone and in all (Sobol)."""

    path: str
    label: str
    first: float
    total: float


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
    indices: tuple[Index, ...] = ()
    indices_note: str = ""
    message: str | None = None
    largest_gap: float | None = None
