"""Results of sweeps, frontiers, tornadoes and uncertainty studies. Additive changes only.

Rows of a sweep are a table (Parquet, CSV); ``Sweep`` describes its columns.
"""

from typing import Annotated, Literal

from planner.schema.base import (
    InItsUnit,
    InUnit,
    Record,
    Shown,
)
from planner.schema.plan import Status
from planner.schema.prices import InCurrency

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
    """Head of every sensitivity study.

    ``base``: best objective of the problem as it stands, None without a plan; ``gap_asked``:
    largest distance between a value and its bound, as a share; ``products``: names by item id.
    """

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
        """Whether rows state the plans that `solve` gives."""
        return self.gap_asked <= EXACT_GAP


class FrontierPoint(Record):
    """A Pareto-optimal plan: for no more ``x`` there is no more ``y`` than ``bound``.

    It is the best plan from ``from_x`` to ``to_x`` (None: the open end), to the gap asked for.
    """

    x: InX
    y: InY
    bound: InY
    gap: float
    from_x: InX
    to_x: InX | None
    counts: dict[str, int]
    gpu_type: str
    storage_family: str
    gpus_in_use: int
    goodput: float
    useful_gpus: float
    useful_pflops: float
    capex_usd: float | None
    facility_power_kw: float
    write_gb_per_s: float
    interval_s: float
    overlap: float | None
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
    """Pareto frontier of useful work against an axis, every point proven.

    ``x_name``: "storage" (delivered write bandwidth bought), "cost" (capex) or "power" (facility).
    ``knee`` and ``best`` are places in ``points``: strongest bend, most useful work. ``marks`` are
    vendors' rules beside the storage curve.
    """

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
    knee_rule: str = ""
    complete: bool = True
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
    """Best objective as one input goes from low to high, all else unchanged.

    ``width``: distance of both objectives, None where an end has no plan; proven to lie between
    ``least_width`` and ``most_width``.
    """

    path: str
    label: str
    unit: str
    base_text: str
    low: End
    high: End
    width: InUnitOfGoal | None = None
    least_width: InUnitOfGoal | None = None
    most_width: InUnitOfGoal | None = None


class Tornado(Study):
    """Inputs varied one at a time, the widest swing first; those without a plan at an end last."""

    kind: Literal["tornado"] = "tornado"
    status: Status
    swings: tuple[Swing, ...]
    message: str | None = None


class UncertainInput(Record):
    """An uncertain input: its distribution in words, and the range drawn.

    Unit "x": factors of values as they stand; "choice": places in the distribution, from 1 on.
    """

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


class BreakRate(Record):
    """Frequency with which the nominal plan breaks a limit over all valid scenarios.

    ``worst``: largest excess as a share of the limit; None where it is no matter of more or less.
    """

    limit: str
    label: str
    breaks: int
    share: float
    worst: float | None = None


class CandidatePlan(Record):
    """A plan that is best somewhere, kept in every scenario; only its operation is decided again.

    Regret: distance behind the best plan known of a scenario, as a share, 1 where a limit breaks.
    ``worst``: value in its worst scenario, None where it breaks a limit in one. ``feasible``: share
    of scenarios in which it meets every limit; ``best_in``: number in which no known plan is better
    by more than the gap. Scenarios without any plan are left out.
    """

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
    """Share of the objective's variance explained by an input alone (first) and in all (total).

    `scipy.stats.sobol_indices`; confidences are 95 % half-widths of 200 resamples.
    """

    path: str
    label: str
    first: float
    first_confidence: float
    total: float
    total_confidence: float


class Uncertain(Study):
    """Best plans, broken limits and regret where inputs are not known exactly.

    ``outcomes``: of the best plan of each scenario; ``nominal_outcomes``: of the plan of the
    problem as it stands, whatever limits it breaks. ``least_regret`` and ``best_worst_case`` are
    places in ``candidates``. ``largest_gap``: between any scenario's plan and its bound.
    """

    kind: Literal["uncertain"] = "uncertain"
    status: Status
    method: Literal["lhs", "sobol"]
    seed: int
    samples: int
    statuses: dict[str, int]
    inputs: tuple[UncertainInput, ...]
    outcomes: tuple[Percentiles, ...]
    breaks: tuple[BreakRate, ...]
    candidates: tuple[CandidatePlan, ...]
    least_regret: int | None = None
    best_worst_case: int | None = None
    indices: tuple[Index, ...] = ()
    indices_note: str = ""
    message: str | None = None
    nominal_outcomes: tuple[Percentiles, ...] = ()
    largest_gap: float | None = None
