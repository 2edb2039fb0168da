"""The portfolio problem file, and the plan made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from planner import limits, units
from planner.schema import (
    Customer,
    Date,
    Day,
    EnergyPrice,
    Identifier,
    Model,
    Money,
    Net,
    Number,
    PositiveWhole,
    Power,
    Record,
    Share,
    Shown,
    Size,
    Text,
    Tokens,
    Unit,
    Whole,
)
from planner.schema.catalog import Category
from planner.schema.job import Job
from planner.schema.plan import NetworkName
from planner.schema.prices import CurrencyCode, Exchange
from planner.schema.problem import Consider, Extra, Indifference, Network, Quantity, Site, Storage

Trend = Annotated[float, Unit(units.SHARE, low=-0.9, high=1.0)]
Weight = Annotated[float, Unit(units.NUMBER, open_low=True, high=1e6)]
Months = Annotated[int, Field(ge=1, le=120)]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


PeriodNumber = Annotated[int, Field(ge=1, le=60), BeforeValidator(_whole)]

# What a problem file says


class Periods(Model):
    """Periods of equal length from ``start`` on; orders and jobs change between them."""

    start: Day | None = None
    months: Months = 3
    count: Annotated[int, Field(ge=1, le=60)] = 1

    @property
    def years(self) -> float:
        """The length of a period, years."""
        return self.months / 12.0


class PortfolioSite(Site):
    """A site: power may change by period, units may be owned, fabrics and storage differ.

    ``facility_power_from`` maps a period to the facility power from then on. ``owned`` are units
    that stand there before the first period.
    """

    facility_power_from: dict[PeriodNumber, Power] = {}
    electricity_usd_per_kwh: EnergyPrice | None = Field(default=None, alias="electricity")
    owned: dict[Identifier, PositiveWhole] = {}
    network: Network | None = None
    storage: Storage | None = None


class PeriodBudget(Model):
    """Capital budget: in total, and in each period (the last entry holds for all later ones)."""

    total_usd: Money | None = Field(default=None, alias="total")
    per_period_usd: tuple[Money, ...] = Field(default=(), alias="per_period")


def _with_total(value: Any) -> Any:
    return value if isinstance(value, dict) else {"total": value}


class PortfolioBudget(Model):
    """Money that may be spent over all sites."""

    capex: Annotated[PeriodBudget, BeforeValidator(_with_total)] = PeriodBudget.model_construct()
    tco_usd: Money | None = Field(default=None, alias="tco")


class PortfolioTerm(Model):
    """Running costs and discounting; support is paid while units stand, after what is included."""

    electricity_usd_per_kwh: EnergyPrice = Field(alias="electricity")
    energy_basis: Literal["maximum", "typical"] = "maximum"
    discount_rate: Share = 0.0


class MarketRule(Model):
    """What changes over time for an item or a category.

    Attributes:
        price_trend: change of the price per year, as a share.
        available_from: first period in which it can be ordered.
        lead: periods from order to use; it is paid when ordered.
        retire: whether units may be retired at the start of a period. Of those bought, items sold
            one by one, without cold spares.
        resale: what retiring pays, a share of the price in that period.
        residual_loss: share of its price that a bought unit loses per year; without one nothing is
            left at the end.
        rewiring_usd: labour for a link of a switch that is laid anew, as spines or cores change.
    """

    price_trend: Trend = 0.0
    available_from: PositiveWhole = 1
    lead: Whole = 0
    retire: bool = False
    resale: Share = 0.0
    residual_loss: Share | None = None
    rewiring_usd: Money = Field(default=0.0, alias="rewiring")


class Window(Model):
    """The periods in which a job runs, first and last; it runs in all of them."""

    first: PositiveWhole = Field(default=1, alias="from")
    last: PositiveWhole | None = Field(default=None, alias="to")


class TokenGoal(Model):
    """Tokens that a job is trained on by the end of a period (the last of its window)."""

    count: Tokens
    by: PositiveWhole | None = None


class Placed(Model):
    """Where and when a job runs; it may change site and GPU type ``moves`` times."""

    sites: tuple[Identifier, ...] | None = None
    window: Window = Window.model_construct()
    optional: bool = False
    moves: Whole = 0


class TrainingJob(Placed, Job):
    """A training job beside others.

    Jobs of a lower ``priority`` number are served first; within a class work counts by ``weight``.
    Floors hold in every period of the window.
    """

    kind: Literal["training"] = "training"
    priority: PositiveWhole = 1
    weight: Weight = 1.0
    tokens: TokenGoal | None = None
    min_useful_pflops: Number | None = None
    storage_share: Share | None = None


class TokenRate(Model):
    """Tokens per second that one GPU of a type serves, as measured."""

    per_gpu: Number
    date: Date
    source: Text


class InferenceJob(Placed):
    """GPUs for inference in every period of the window; no checkpoints, no share of bandwidth.

    Either ``gpus`` of types whose GPUs have at least ``min_memory``, or ``tokens_per_s`` at the
    measured ``rates`` of types.
    """

    kind: Literal["inference"]
    name: Text
    gpus: PositiveWhole | None = None
    min_memory_gb: Size | None = Field(default=None, alias="min_memory")
    types: tuple[Identifier, ...] | None = None
    tokens_per_s: Number | None = None
    rates: dict[Identifier, TokenRate] = {}

    @model_validator(mode="after")
    def _one_demand(self) -> Self:
        if (self.gpus is None) == (self.tokens_per_s is None):
            raise ValueError("give exactly one of gpus: 64 or tokens_per_s: 100000 (with rates)")
        if (self.tokens_per_s is None) != (not self.rates):
            raise ValueError(
                "tokens_per_s and rates go together; "
                "write rates: {ITEM: {per_gpu: 900, date: ..., source: ...}}"
            )
        return self


def _job_kind(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "inference job" if kind == "inference" else "training job"


AnyJob = Annotated[
    Annotated[TrainingJob, Tag("training job")] | Annotated[InferenceJob, Tag("inference job")],
    Discriminator(_job_kind),
]


class PortfolioObjective(Model):
    """What is best over all jobs, sites and periods.

    ``goodput`` is the mean useful PFLOP/s, weighted; ``fairness`` the least useful PFLOP/s per
    weight. The cheapest plan within ``indifference`` of the best work is taken.
    """

    maximize: Literal["goodput", "fairness"] | None = None
    minimize: Literal["cost", "tco", "power"] | None = None
    indifference: Indifference | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.maximize is None) == (self.minimize is None):
            raise ValueError(
                "give exactly one of maximize (goodput, fairness) or minimize (cost, tco, power)"
            )
        return self

    @property
    def name(self) -> str:
        """Name of the goal."""
        return self.maximize or self.minimize or ""

    @property
    def tolerance(self) -> float:
        """Near-optimal tolerance: `indifference`, by default 0.5 % of work and nothing of money."""
        given = self.indifference
        return given if given is not None else 0.005 if self.maximize else 0.0


class Portfolio(Model):
    """A problem file with several jobs, sites or periods."""

    name: Text
    description: Text | None = None
    sites: Annotated[dict[Identifier, PortfolioSite], Field(min_length=1)]
    periods: Periods = Periods.model_construct()
    budget: PortfolioBudget = PortfolioBudget.model_construct()
    term: PortfolioTerm
    market: dict[Category | Identifier, MarketRule] = {}
    owned: Text | None = None
    catalogs: tuple[Text, ...] | None = None
    prices: Text | tuple[Text, ...] | None = None
    consider: Consider = Consider.model_construct()
    items: dict[Identifier, Quantity] = {}
    storage: Storage
    restores: Literal["alone", "together"] = "alone"
    jobs: Annotated[tuple[AnyJob, ...], Field(min_length=1)]
    network: Network = Network.model_construct()
    software: tuple[Identifier, ...] = ()
    extras: dict[Identifier, Extra] = {}
    spares: dict[Category, Share] = {}
    objective: PortfolioObjective
    currency: CurrencyCode | None = None
    exchange: Exchange = {}

    @property
    def years(self) -> float:
        """The length of all periods, years."""
        return self.periods.years * self.periods.count

    @property
    def most_capex_usd(self) -> float | None:
        """The most capital over all periods, USD; None without a budget."""
        given, count = self.budget.capex.per_period_usd, self.periods.count
        by_period = math.fsum((*given, *given[-1:] * count)[:count]) if given else math.inf
        total = self.budget.capex.total_usd
        most = by_period if total is None else min(by_period, total)
        return None if math.isinf(most) else most

    def rule(self, item_id: str, category: str) -> MarketRule:
        """Return the market rule of an item: its own settings before those of its category."""
        named: dict[str, Any] = {}
        for rule in (self.market.get(category), self.market.get(item_id)):
            if rule is not None:
                named |= {key: getattr(rule, key) for key in rule.model_fields_set}
        return MarketRule.model_construct(**named)

    def last_of(self, job: TrainingJob | InferenceJob) -> int:
        """Return the last period of a job's window, counted from 1."""
        return min(job.window.last or self.periods.count, self.periods.count)


# What a plan says; periods count from 1


class Order(Record):
    """Units of an item ordered for a site: paid in ``period``, there from ``arrives`` on.

    They are in use from ``in_use_from`` on, later where a budget has money left before.
    """

    period: Customer[int]
    arrives: int
    in_use_from: int
    date: str | None
    site: Customer[str]
    item: str
    model: Customer[str]
    part_number: Customer[str | None]
    category: Customer[str]
    quantity: Customer[int]
    unit_net_usd: Net[float]
    extended_usd: Net[float]
    support_usd_per_year: Net[float]


class Standing(Record):
    """Units at a site in a period: ``needed`` in service, ``held``, and ``retired`` so far."""

    period: int
    site: str
    item: str
    category: str
    needed: int
    held: int
    retired: int = 0


class Retirement(Record):
    """Units that leave at the start of a period; ``arrived``: that of their order, 0 if owned."""

    period: int
    site: str
    item: str
    arrived: int
    quantity: int


class Rewiring(Record):
    """Links of a fabric that are laid anew at the start of a period: its spines or cores change."""

    period: int
    site: str
    network: NetworkName
    switch: str
    links: int
    usd: float


class JobRun(Record):
    """How a job runs in a period; ``tokens`` are those trained since its start.

    ``spares`` are its hot spares (systems or trays); bandwidth and endurance its guaranteed shares.
    """

    job: str
    period: int
    site: str
    item: str
    way: str
    systems: int
    gpus: int
    spares: int = 0
    delivered_write_gb_per_s: float | None = None
    delivered_read_gb_per_s: float | None = None
    endurance_tb_per_day: float | None = None
    interval_s: float | None = None
    goodput: float | None = None
    useful_pflops: float | None = None
    tokens: float | None = None


class JobResult(Record):
    """What a job gets over all periods, against what it asks.

    ``tokens_in`` is the period in which its tokens are reached.
    """

    job: str
    site: str | None
    mean_useful_pflops: float | None = None
    tokens: float | None = None
    tokens_demand: float | None = None
    tokens_by: int | None = None
    tokens_in: int | None = None
    starved: bool
    note: str = ""


class Use(Record):
    """A limit and what a plan uses of it.

    It is ``binding`` without room for one more replica or system of a job that runs there; a floor
    where one fewer would break it.
    """

    name: str
    period: int | None
    site: str | None
    unit: str
    used: float
    limit: float
    binding: bool = False

    @property
    def key(self) -> str:
        """A name that tells it from all others; periods count from 0."""
        name = self.name if self.site is None else f"{self.name}.{self.site}"
        return name if self.period is None else f"{name}@{self.period - 1}"

    @property
    def is_floor(self) -> bool:
        """True if at least the limit is to be reached: work and tokens of a job."""
        return "_of_" in self.name

    def label(self, *, dated: bool = True) -> str:
        """Its name in words with its site and, where ``dated``, its period."""
        kind, _, job = self.name.partition("_of_")
        name = f"{'tokens' if kind == 'tokens' else 'useful work'} of {job}"
        name = name if job else limits.named(self.name).label
        name += f" at {self.site}" if self.site else ""
        return name + (f" in period {self.period}" if dated and self.period is not None else "")


class MoneyOfPeriod(Record):
    """Money of a period, USD, before it is discounted; resale is income."""

    period: int
    start: str | None
    discount: float
    capex_usd: float
    energy_usd: float
    support_usd: float
    resale_usd: float


class PortfolioPlan(Shown, Record):
    """A plan for several jobs, sites and periods, with its bound."""

    kind: Literal["portfolio"] = "portfolio"
    problem: str
    problem_file: str
    version: str
    status: Literal["optimal", "limit", "infeasible"]
    message: str = ""
    objective: str
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    best: float | None = None
    solver: str
    tolerance: float = 0.0
    capex_usd: float | None = None
    tco_usd: float | None = None
    residual_usd: float = 0.0
    orders: tuple[Order, ...] = ()
    standing: tuple[Standing, ...] = ()
    retired: tuple[Retirement, ...] = ()
    rewired: tuple[Rewiring, ...] = ()
    runs: tuple[JobRun, ...] = ()
    jobs: tuple[JobResult, ...] = ()
    uses: tuple[Use, ...] = ()
    money: tuple[MoneyOfPeriod, ...] = ()
    models: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    relaxations: tuple[str, ...] = ()
    scenario: str | None = None
    settings: tuple[str, ...] = ()

    def left(self) -> Mapping[str, Mapping[str, int]]:
        """Units held in the last period, by site and item."""
        last = max((each.period for each in self.standing), default=0)
        sites: dict[str, dict[str, int]] = {}
        for each in self.standing:
            if each.period == last and each.held:
                sites.setdefault(each.site, {})[each.item] = each.held
        return sites
