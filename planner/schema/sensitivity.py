"""Results of sensitivity studies. Additive changes only, as with the plan.

A sweep is a table with one row per scenario (Parquet, CSV); ``Sweep`` says what its columns are. A
frontier, a tornado and an uncertainty study are small enough to be whole records.
"""

from typing import Annotated, Literal

from planner.schema.base import InItsUnit, InUnit, Record, Shown
from planner.schema.plan import Status
from planner.schema.prices import InCurrency

InUnitOfGoal = Annotated[float, InUnit(of="Study")]
InX = Annotated[float, InUnit("x_unit")]
InY = Annotated[float, InUnit("y_unit")]

SENSITIVITY_SCHEMA_VERSION = 1

RowStatus = Literal[
    "optimal", "feasible", "infeasible", "unbounded", "no_solution", "invalid", "failed"
]
"""How a scenario ended. ``invalid``: the input is refused; ``failed``: an error of planner itself,
or a plan that its verification refused."""

Kind = Literal["input", "answer", "count", "total", "job", "text"]


PLANNED = ("optimal", "feasible")
"""The statuses of scenarios that have a plan."""


class Column(Record):
    """A column of a table: its name there, what to call it, the unit of its numbers.

    ``path`` is the place in the problem, catalogs or prices that an input varies.
    """

    name: str
    label: str
    unit: str = ""
    kind: Kind
    path: str = ""


VARIED = "objective, which varies"
"""The objective of a sweep whose scenarios have different ones: their values do not compare."""


class Study(Shown, InCurrency):
    """What every sensitivity study says about the problem it varies.

    ``base`` is the objective of the problem as it stands, None where it has no plan; ``gap_asked``
    the largest distance between a value and its bound, as a share. ``input_sha256`` is that of a
    plan of the same inputs. ``products`` names GPU systems and storage by their ids.
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
    """A table of scenarios: its columns, how many rows ended how, and whether all are there."""

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
    """A plan that no other passes: for no more ``x`` there is no more ``y`` than ``bound``.

    ``from_x`` and ``to_x`` are the ends of the stretch of x on which it is the best plan to the
    gap asked for; ``to_x`` is None at the open end.
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
    """A rule for storage, and the best plan that follows it with the least storage it allows.

    ``x``, ``y`` and ``bound`` are None where there is none; ``reason`` then says why.
    """

    name: str
    label: str
    x: InX | None = None
    y: InY | None = None
    bound: InY | None = None
    reason: str = ""


class Frontier(Study):
    """Best useful work against something that is held or limited, every point proven.

    ``x_name`` is "storage" (delivered write bandwidth bought, the goldilocks curve), "cost"
    (capex) or "power" (at the meter). ``knee`` is the place in ``points`` where the curve bends
    most, ``best`` that of the most useful work; ``knee_rule`` says how the knee is found. ``marks``
    are vendors' rules beside the storage curve.
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
    """One end of a swing: the input as the problem file has it, how it ended, the best there."""

    text: str
    value: InItsUnit | str
    status: RowStatus
    objective: InUnitOfGoal | None = None
    bound: InUnitOfGoal | None = None
    counts: dict[str, int] = {}
    reason: str = ""


class Swing(Record):
    """What the best plan does when one input goes from low to high, all else as it stands.

    ``width`` is the distance between the two objectives, None where an end has no plan; the truth
    lies between ``least_width`` and ``most_width``.
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
    """An input that is not known: its distribution in words, and what was drawn of it.

    With the unit "x" these are factors of values as they stand; with "choice" they are the places
    of the drawn texts in the distribution, from 1 on.
    """

    path: str
    label: str
    unit: str
    distribution: str
    low: InItsUnit
    median: InItsUnit
    high: InItsUnit


class Percentiles(Record):
    """A distribution of an outcome over the scenarios that have one; ``count`` of them."""

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
    """How often the nominal plan breaks a limit when it is bought and the input turns out so.

    ``share`` is that of all scenarios whose input is not refused, those without any plan included.
    ``worst`` is by how much the limit is passed at worst, as a share of it; None where it is never
    broken or that is no matter of more or less.
    """

    limit: str
    label: str
    breaks: int
    share: float
    worst: float | None = None


class CandidatePlan(Record):
    """A plan that is best somewhere, kept as it is in every scenario.

    Only interval and GPUs in use (and the mode, where it is open) are decided again. ``regret`` is
    how far behind the best plan known of each scenario it stays, as a share of that and at most 1;
    a scenario in which it breaks a limit counts as the whole (1). ``worst`` is its value in its
    worst scenario, None where it breaks a limit in one. ``feasible`` is the share of scenarios in
    which it meets every limit, ``best_in`` their number in which no known plan is better by more
    than the gap asked for. Scenarios without any plan are left out.
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
    """Share of the objective's variance that an input explains alone (first), and in all (total).

    `scipy.stats.sobol_indices`; the intervals are 95 % half-widths of 200 resamples.
    """

    path: str
    label: str
    first: float
    first_confidence: float
    total: float
    total_confidence: float


class Uncertain(Study):
    """What a problem's answer becomes where inputs are not known exactly.

    ``outcomes`` are those of the best plan of each scenario, ``nominal_outcomes`` those of the plan
    of the problem as it stands, bought as it is, whatever limits it breaks. ``least_regret`` is the
    place of the candidate with the least regret in its worst scenario (of equal ones, on average),
    ``best_worst_case`` that of the best worst value among those that meet every limit in all
    scenarios. ``largest_gap`` is the largest distance between a scenario's plan and its bound.
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
