"""The plan, which every output reads, and why there is none.

Additive changes only, else ``schema_version`` counts up.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from planner.currency import USD, Currency
from planner.schema import (
    Customer,
    Discounted,
    InItsUnit,
    InUnit,
    Listed,
    Net,
    PlanModel,
    Record,
    Shown,
    is_empty,
    is_none,
)
from planner.schema.catalog import Category, Lifecycle
from planner.schema.operation import JobPlan

UNDECIDED = "not decided, as it takes too long"
_MOST_NAMED = 3
"""Changes named in one line; the screen has them all."""


class Named(Record):
    """A limit, demand or choice as in the file, its file and line, ``stated`` or default."""

    path: str
    label: str
    text: str
    source: str | None
    stated: bool

    @property
    def in_words(self) -> str:
        """The limit in words, with its place."""
        value = f" {self.text}" if self.text else ""
        place = self.source if self.stated else "the default"
        return f"{self.label}{value}" + (f" ({place})" if place else "")


class Step(Record):
    """One changed value; ``least`` is proven to be enough, ``not_enough`` not to be."""

    path: str
    label: str
    source: str | None
    unit: str
    value: InItsUnit | None
    least: InItsUnit | None
    not_enough: InItsUnit | None
    from_text: str
    to_text: str
    not_enough_text: str
    what: str
    settings: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """The change in words."""
        if self.value is None or self.least is None:
            return f"{self.label}: {self.what} ({self.path})"
        raised = self.least > self.value
        verb = "raise" if raised else "lower"
        limit = f"; {self.not_enough_text} is not enough" if self.not_enough_text else ""
        if limit and not raised:
            limit = f"; {self.not_enough_text} is still too much"
        change = f"{verb} {self.path} from {self.from_text} to {self.to_text}"
        return f"{self.label}: {change}{limit}"


class Combined(Record):
    """Several changes that help together.

    ``share``: sum of the changes, each as a share of its limit, a choice as 1; ``bound``: its
    proven lower bound.
    """

    steps: tuple[Step, ...]
    share: float
    bound: float


class Infeasibility(Record):
    """Why there is no plan.

    ``conflicts`` are irreducible sets of limits: relaxing one of each set leaves a plan, each of
    ``changes`` does alone, ``combined`` together. ``undecided``: limits for which time ran out.
    """

    reasons: tuple[str, ...] = ()
    conflicts: tuple[tuple[Named, ...], ...] = ()
    changes: tuple[Step, ...] = ()
    combined: Combined | None = None
    undecided: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The explanation as one line."""
        parts = list(self.reasons) or ["no plan meets every limit"]
        for conflict in self.conflicts:
            names = " and ".join(limit.in_words for limit in conflict)
            parts.append(f"{names} cannot {'hold together' if conflict[1:] else 'be met'}")
        combined = self.combined.steps if self.combined is not None else ()
        if steps := self.changes[:_MOST_NAMED] or combined:
            texts = (", or " if self.changes else " and ").join(_short(step) for step in steps)
            parts.append(f"there is a plan if you {texts}")
        if self.undecided:
            parts.append(f"{UNDECIDED}: {', '.join(self.undecided)}")
        return "; ".join(parts)


def _short(step: Step) -> str:
    return step.in_words.removeprefix(f"{step.label}: ").split("; ")[0]


SCHEMA_VERSION = 2
DEFAULT_GAP = 2e-6
"""It covers the proof and what preferring the cheaper of equally good plans may give away."""
Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
Section = Literal[
    "Compute",
    "Storage",
    "Network",
    "Optics & cables",
    "Racks & power",
    "Software",
    "Services",
    "Components",
]


def _is_default_gap(value: object) -> bool:
    return value == DEFAULT_GAP


RackClassName = Literal["gpu", "storage", "network"]


class Device(PlanModel):
    """A device in a rack: its lowest position (1 is the bottom), height and draw."""

    sku: Customer[str]
    position_ru: Customer[float]
    rack_units: Customer[float]
    it_power_kw: Customer[float]
    weight_kg: Customer[float | None]


class RackGroup(PlanModel):
    """``count`` racks with the same content, numbered from ``first`` on over the whole plan."""

    first: Customer[int]
    count: Customer[int]
    rack_class: Customer[RackClassName]
    product: Customer[bool]
    height_ru: Customer[float]
    power_limit_kw: Customer[float | None]
    weight_limit_kg: Customer[float | None]
    it_power_kw: Customer[float]
    weight_kg: Customer[float | None]
    pdus: Customer[int]
    devices: Customer[tuple[Device, ...]]


NetworkName = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


class FabricReport(PlanModel):
    """One fabric; links of all planes, ``endpoints`` in parts of a base port."""

    network: Customer[NetworkName]
    switch_sku: Customer[str]
    serves: Customer[tuple[str, ...]]
    planes: Customer[int]
    tiers: Customer[int]
    units: Customer[int]
    radix: Customer[int]
    leaf_switches: Customer[int]
    spine_switches: Customer[int]
    core_switches: Customer[int]
    endpoints: Customer[int]
    parts_per_port: Customer[int]
    capacity: Customer[int]
    uplinks_per_leaf: Customer[int]
    oversubscription: Customer[float]
    system_links: Customer[int]
    leaf_spine_links: Customer[int]
    spine_core_links: Customer[int]


@dataclass(frozen=True, slots=True)
class CableEnd:
    """A device, its port and, where there are racks, its rack and lowest unit."""

    device: str
    port: str
    rack: int | None = None
    position_ru: float | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """One link; links with the same ``number`` and ``sku`` share a cable."""

    number: int
    network: NetworkName
    lower: CableEnd
    upper: CableEnd
    sku: str | None
    model: str | None
    part_number: str | None
    length_m: int | None
    medium: str


@dataclass(frozen=True)
class CableSchedule:
    """All cables of a plan, with notes."""

    cables: tuple[Cable, ...]
    notes: tuple[str, ...]


class OptionItem(PlanModel):
    """Units of a storage item, ``purchased`` of them bought, with list prices of a unit in USD."""

    sku: str
    model: str
    vendor: str
    units: int
    purchased: int
    unit_list_usd: float | None
    unit_low_usd: float | None
    unit_high_usd: float | None


class StorageOption(PlanModel):
    """A storage family with the fewest units that carry the plan's operation within every limit.

    ``beside_usd``: additional cost of everything else. At a unit list price of ``sure_usd`` it
    is the cheapest whatever other vendors quote.
    """

    chosen: bool
    items: tuple[OptionItem, ...]
    fewer_systems: int
    shortfall: float
    write_demand_gb_per_s: float
    low_usd: float
    list_usd: float
    high_usd: float
    beside_usd: float
    sure_usd: float | None


class StorageOptions(PlanModel):
    """Storage demand of the plan's operation, and candidates by vendor, the cheapest first.

    ``choice``: the cheapest whatever is quoted; ``settled_by``: items whose quote could settle it.
    """

    read_demand_gb_per_s: float
    usable_tb: float
    within: float
    counted: Literal["purchase", "term"]
    options: tuple[StorageOption, ...]
    choice: str | None
    settled_by: tuple[str, ...]


class PriceNote(PlanModel):
    """Source of a unit price and the expected range of a quote, list and per year."""

    source: str
    date: str
    confidence: str
    book: str
    note: str | None = None
    low_usd: float | None = Field(default=None, exclude_if=is_none)
    high_usd: float | None = Field(default=None, exclude_if=is_none)
    per_year_low_usd: float | None = Field(default=None, exclude_if=is_none)
    per_year_high_usd: float | None = Field(default=None, exclude_if=is_none)
    valid_until: str | None = Field(default=None, exclude_if=is_none)
    currency: str | None = Field(default=None, exclude_if=is_none)


class Line(PlanModel):
    """One line of the bill of materials. None means not known, never zero.

    ``parent``: SKU of the bundle of a component, whose figures are in the bundle's line.
    ``quantity`` is in place, ``idle`` of it owned units outside the cluster; ``purchased``: bought,
    cold ``spares`` and whole packs included. ``notes`` stay inside.
    """

    sku: Customer[str]
    site: Customer[str] = "site"
    period: Customer[int] = 0
    parent: Customer[str | None] = None
    section: Customer[Section]
    vendor: Customer[str]
    model: Customer[str]
    part_number: Customer[str | None]
    description: Customer[str | None]
    quantity: Customer[int]
    installed: Customer[int] = 0
    purchased: Customer[int]
    unit_list_usd: Listed[float | None] = None
    discount: Discounted[float] = 0.0
    unit_net_usd: Net[float | None] = None
    extended_list_usd: Listed[float | None] = None
    extended_net_usd: Net[float | None] = None
    support_usd_per_year: Net[float | None] = None
    price: PriceNote | None = None
    lead_time: Customer[str | None] = None
    unit_it_power_kw: Customer[float | None]
    it_power_kw: Customer[float | None]
    unit_heat_btu_per_h: Customer[float | None]
    heat_btu_per_h: Customer[float | None]
    unit_rack_units: Customer[float | None]
    rack_units: Customer[float | None]
    racks: Customer[int | None]
    unit_weight_kg: Customer[float | None]
    weight_kg: Customer[float | None]
    gpus: Customer[int] = 0
    nameplate_read_gb_per_s: Customer[float] = 0.0
    nameplate_write_gb_per_s: Customer[float] = 0.0
    usable_tb: Customer[float | None] = None
    bulk_tb: Customer[float] = Field(default=0.0, exclude_if=is_empty)
    notes: tuple[str, ...] = ()
    category: Customer[Category | Literal[""]] = ""
    role: Customer[str | None] = None
    unit: Customer[str] = "each"
    spares: Customer[int] = 0
    pack: Customer[int] = 1
    subscription_usd_per_year: Net[float | None] = None
    support_years: float | None = None
    support_from_years: float = 0.0
    lead_time_days: Customer[float | None] = None
    liquid_share: Customer[float] = 0.0
    facility_power_kw: Customer[float | None] = None
    unit_typical_power_kw: Customer[float | None] = None
    typical_power_kw: Customer[float | None] = None
    rack_class: Customer[RackClassName | None] = None
    support_share: Discounted[float | None] = None
    unit_subscription_list_usd: Discounted[float | None] = None
    idle: Customer[int] = 0
    lifecycle: Customer[Lifecycle | None] = Field(default=None, exclude_if=is_none)
    min_order: Customer[int | None] = Field(default=None, exclude_if=is_none)

    @property
    def is_percentage(self) -> bool:
        """True if it counts every 100 USD of hardware, so that its price is not in cents."""
        return self.unit.startswith("100 USD")

    @property
    def working(self) -> int:
        """Units in the cluster: those in place without idle owned ones."""
        return self.quantity - self.idle


class Totals(PlanModel):
    """Sums over the lines; None where a line's figure is not known."""

    gpus: Customer[int]
    gpus_used: Customer[int]
    it_power_kw: Customer[float | None]
    facility_power_kw: Customer[float | None]
    heat_btu_per_h: Customer[float | None]
    rack_units: Customer[float | None]
    racks: Customer[int | None]
    weight_kg: Customer[float | None]
    capex_usd: Net[float | None]
    support_usd_per_year: Net[float | None]
    energy_usd_per_year: float | None
    opex_usd_per_year: float | None
    tco_usd: float | None
    nameplate_read_gb_per_s: Customer[float]
    nameplate_write_gb_per_s: Customer[float]
    usable_tb: Customer[float | None]
    typical_power_kw: Customer[float | None] = None
    heat_air_kw: Customer[float | None] = None
    heat_liquid_kw: Customer[float | None] = None
    subscriptions_usd_per_year: Net[float | None] = None
    colocation_usd_per_year: float | None = None
    usd_per_useful_gpu_hour: float | None = None
    usd_per_million_tokens: float | None = None
    lead_time_days: Customer[float | None] = None
    critical_skus: Customer[tuple[str, ...]] = ()
    capex_by_section_usd: Net[dict[str, float]] = {}


class LimitReport(PlanModel):
    """One limit; ``binding``: no room for more GPUs of a type in use, or below 1e-6 relative."""

    name: Customer[str]
    label: Customer[str]
    value: Customer[InItsUnit]
    sense: Customer[Literal["<=", ">="]]
    limit: Customer[InItsUnit]
    unit: Customer[str]
    binding: Customer[bool]
    source: str | None
    exact: Customer[bool] = False


class StepNeed(PlanModel):
    """Bound of a limit that the next step needs, in the limit's unit."""

    label: str
    value: InItsUnit
    unit: str


class NextStep(PlanModel):
    """The fewest additional GPU systems of use, and limits without room for them."""

    sku: str
    systems: int
    value: Annotated[float, InUnit("objective.unit")]
    needs: tuple[StepNeed, ...]


class ProgramReport(PlanModel):
    """Proof by the integer program; ``capex_usd``: the cheapest bill as good as required."""

    form: Literal["tangents", "demands", "linear"]
    solver: str
    status: Literal["optimal", "limit"]
    value: InItsUnit | None
    bound: InItsUnit | None
    unit: str
    gap: float | None
    capex_usd: float | None
    capex_bound_usd: float | None
    capex_gap: float | None
    variables: int
    rows: int


class ObjectiveReport(PlanModel):
    """The objective with its certificate.

    ``gap``: from the incumbent ``best`` to ``bound``, relative to ``best``.
    ``near_optimal_loss``: the share of ``best`` that ``indifference`` and preferred vendors cost.
    """

    name: Customer[str]
    sense: Customer[Literal["maximize", "minimize"]]
    value: Customer[InItsUnit | None]
    unit: Customer[str]
    bound: InItsUnit | None
    gap: float | None
    log_value: float | None = None
    gap_asked: float
    best: InItsUnit | None = None
    near_optimal_loss: float | None = None
    best_capex_usd: float | None = None
    indifference: float = 0.0
    program: ProgramReport | None = Field(default=None, exclude_if=is_none)


class Assumption(PlanModel):
    """One input the plan rests on: value, unit, source, confidence."""

    name: str
    label: str
    value: InItsUnit | str | None
    unit: str
    source: str
    date: str | None = None
    confidence: str | None = None
    note: str | None = None


class Provenance(PlanModel):
    """Provenance of a plan, without times, so that its bytes are reproducible."""

    tool: Customer[str]
    catalogs: tuple[str, ...]
    price_books: tuple[str, ...]
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    input_sha256: Customer[str]
    solver: str
    versions: dict[str, str]
    iterations: int
    gap: float = Field(default=DEFAULT_GAP, exclude_if=_is_default_gap)


class Site(PlanModel):
    """Site, budget and term for the outputs."""

    pue: Customer[float]
    years: Customer[float | None] = None
    electricity_usd_per_kwh: float | None = None
    delivered_fraction_read: Customer[float]
    delivered_fraction_write: Customer[float]
    fill_limit: Customer[float]
    pue_liquid: Customer[float] = 1.0
    colocation_usd_per_kw_month: float = 0.0
    discount_rate: float = 0.0
    energy_basis: Customer[Literal["maximum", "typical"]] = "maximum"


class Plan(Shown, PlanModel):
    """A verified plan, or why there is none.

    ``verdict``: doubts by their code (goodput, supply, storage, search), with the cause.
    ``not_considered``: items that could not enter, with reasons. ``inputs``: problem, catalogs and
    prices, compressed (zlib, base64); ``checksums`` of every other part of the file show changes
    and are no signature.
    """

    schema_version: Customer[int] = SCHEMA_VERSION
    status: Customer[Status]
    problem: Customer[str]
    description: str | None
    message: str | None = None
    verdict: dict[str, str] = Field(default={}, exclude_if=is_empty)
    infeasibility: Infeasibility | None = None
    objective: Customer[ObjectiveReport]
    site: Customer[Site]
    lines: Customer[tuple[Line, ...]] = ()
    totals: Customer[Totals | None] = None
    jobs: Customer[tuple[JobPlan, ...]] = ()
    limits: Customer[tuple[LimitReport, ...]] = ()
    next_step: NextStep | None = Field(default=None, exclude_if=is_none)
    fabrics: Customer[tuple[FabricReport, ...]] = ()
    racks: Customer[tuple[RackGroup, ...]] = ()
    assumptions: tuple[Assumption, ...] = ()
    not_considered: dict[str, str] = {}
    searched: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    warnings: tuple[str, ...] = ()
    not_counted: Customer[tuple[str, ...]] = ()
    provenance: Customer[Provenance]
    storage_options: StorageOptions | None = Field(default=None, exclude_if=is_none)
    currency: Customer[Currency | None] = Field(default=None, exclude_if=is_none)
    inputs: str | None = Field(default=None, exclude_if=is_none)
    checksums: dict[str, str] | None = Field(default=None, exclude_if=is_none)

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        return self.currency or USD
