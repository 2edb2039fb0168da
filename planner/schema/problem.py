"""The problem file: site, budgets, storage rules, the job, the objective."""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from planner import units
from planner.currency import USD, Currency
from planner.figures import OBJECTIVES
from planner.schema.base import (
    Bandwidth,
    BandwidthOrZero,
    CapacityOrZero,
    Days,
    EnergyPrice,
    Identifier,
    LinkSpeed,
    Model,
    Money,
    Number,
    Parameters,
    PositiveShare,
    PositiveWhole,
    PowerPrice,
    Seconds,
    SecondsOrZero,
    Share,
    Size,
    Text,
    Unit,
    Whole,
)
from planner.schema.catalog import Category
from planner.schema.prices import CurrencyCode, Exchange
from planner.schema.running import (
    DEFAULT_FAILURES,
    DEFAULT_LOST_TIME,
    FailurePreset,
    FailureRate,
    LocalLevel,
    LostTime,
    Options,
    Parallelism,
    PowerPoints,
    Repair,
    Restart,
    Stall,
    Training,
)
from planner.schema.site import Site

Years = Annotated[float, Unit(units.NUMBER, high=50.0, open_low=True)]
Indifference = Annotated[float, Unit(units.SHARE, high=0.1)]
BlockingShare = Annotated[float, Unit(units.SHARE, high=0.99, open_low=True)]
PaidYears = Annotated[float, Unit(units.NUMBER, high=50.0)]
MOST_SPARES = 100.0
"""Cold spares of one item for each that is in place, at most."""
SpareShare = Annotated[float, Unit(units.SHARE, high=MOST_SPARES)]
MoreThanOne = Annotated[float, Unit(units.NUMBER, low=1.0, high=64.0)]
Within = Annotated[float, Unit(units.SHARE, high=0.5)]
Price = Annotated[float, Unit(units.MONEY, open_low=True)]


class Budget(Model):
    """Money that may be spent."""

    capex_usd: Money | None = Field(default=None, alias="capex")
    opex_usd_per_year: Money | None = Field(default=None, alias="opex_per_year")
    tco_usd: Money | None = Field(default=None, alias="tco")
    per_useful_gpu_hour_usd: Price | None = Field(default=None, alias="per_useful_gpu_hour")
    per_million_tokens_usd: Price | None = Field(default=None, alias="per_million_tokens")


class Term(Model):
    """How long the cluster is paid for, the price of energy, and which support is paid how long.

    ``support_level`` is that of all items whose prices have it; ``none`` is that of all.
    """

    years: Years
    electricity_usd_per_kwh: EnergyPrice = Field(alias="electricity")
    energy_basis: Literal["maximum", "typical"] = "maximum"
    colocation_usd_per_kw_month: PowerPrice = Field(default=0.0, alias="colocation")
    discount_rate: Share = 0.0
    support_years: PaidYears | None = None
    support_level: Identifier | None = None


class ReadWrite(Model):
    """A share for reading and one for writing."""

    read: PositiveShare
    write: PositiveShare


class ClientLimit(Model):
    """Client write and read limit of one GPU system, before the storage client's factor."""

    write: Bandwidth | None = None
    read: Bandwidth | None = None


class CustomRule(Model):
    """A bandwidth rule of the user's own, for each GPU bought."""

    name: Text = "custom"
    read: BandwidthOrZero
    write: BandwidthOrZero


RuleName = Literal["demand", "light", "medium", "high", "good", "better", "best"]


class DriveWrites(Model):
    """Full writes of flash a day over five years (DWPD), by kind.

    Read-intensive TLC drives are rated 1, QLC 0.3 to 0.6, storage-class memory tens. Writes of
    protection (7/5 with 5+2 stripes) come on top.
    """

    tlc: Number = 1.0
    qlc: Number = 0.5
    scm: Number = 30.0


class Storage(Model):
    """Storage requirements: delivered fraction, fill limit, sizing rule.

    ``endurance`` limits daily writes: by the figure that a catalog states, else
    ``derived`` from the raw capacity of flash and ``dwpd``; ``stated`` alone; or it is ``off``.
    """

    delivered_fraction: ReadWrite
    fill_limit: PositiveShare = 0.85
    max_families: PositiveWhole = 1
    tolerate_down: Whole = 0
    client_limit: ClientLimit = ClientLimit.model_construct()
    rule: RuleName | CustomRule = "demand"
    endurance: Literal["derived", "stated", "off"] = "derived"
    dwpd: DriveWrites = DriveWrites.model_construct()


class Quantity(Model):
    """Bounds on one item's count, and its installed units.

    Installed units stay where they are, in use or idle, unless they are retired. ``spares`` is the
    share of the item that lies in store besides, in place of that of its category. A
    ``public_note`` stands on its line in every edition; all other notes stay inside.
    """

    fixed: Whole | None = None
    min: Whole | None = None
    max: Whole | None = None
    installed: Whole = 0
    retire: bool = False
    stock: Whole | None = None
    support_years: PaidYears | None = None
    support_level: Identifier | None = None
    spares: SpareShare | None = None
    required: bool = False
    exclude: bool = False
    public_note: Text | None = None

    @property
    def in_place(self) -> int:
        """Units that are owned and stay."""
        return 0 if self.retire else self.installed

    @property
    def least(self) -> int:
        """The fewest units that are to be in place."""
        return max(self.min or 0, int(self.required)) if self.fixed is None else self.fixed

    @model_validator(mode="after")
    def _owned_units_stay(self) -> Self:
        for key, most in (("fixed", self.fixed), ("max", self.max)):
            if most is not None and most < self.in_place:
                raise ValueError(
                    f"{key} {most} is fewer than the {self.in_place} installed, which stay; "
                    f"give at least {self.in_place}, or say retire: true"
                )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.fixed is not None and (self.min is not None or self.max is not None):
            raise ValueError("fixed does not go with min or max; leave out the one or the other")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        if self.required and 0 in (self.fixed, self.max):
            raise ValueError("required does not go with a count of 0")
        if self.exclude and (self.fixed or self.min or self.required):
            raise ValueError(
                "exclude does not go with fixed, min or required; leave out the one or the other"
            )
        return self


class Consider(Model):
    """Narrow the catalogs: only these GPU systems, storage families and vendors."""

    gpu_systems: tuple[Identifier, ...] | None = None
    storage_families: tuple[Identifier, ...] | None = None
    vendors: tuple[Text, ...] | None = None
    lifecycle: tuple[Literal["announced", "available", "end_of_sale"], ...] = (
        "announced",
        "available",
    )


class FixedInterval(Model):
    """Checkpoint at a given interval, start to start."""

    policy: Literal["fixed"]
    every_s: Seconds = Field(alias="every")


class OptimalInterval(Model):
    """Choose the interval together with the purchase, between two bounds."""

    policy: Literal["optimal"]
    min_s: Seconds = Field(default=60.0, alias="min")
    max_s: Seconds = Field(default=14_400.0, alias="max")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_s > self.max_s:
            raise ValueError(f"min {self.min_s:g} s is more than max {self.max_s:g} s")
        return self


def _with_policy(value: Any) -> Any:
    """Given values; bounds alone belong to the default interval."""
    if isinstance(value, dict) and value.get("policy") == "lost_work":
        raise ValueError(
            "policy lost_work is gone; write policy: fixed with every, or policy: optimal"
        )
    bounds = isinstance(value, dict) and bool(value) and value.keys() <= {"min", "max"}
    return {"policy": "optimal", **value} if bounds else value


Interval = Annotated[
    Annotated[FixedInterval | OptimalInterval, Field(discriminator="policy")],
    BeforeValidator(_with_policy),
]


class Checkpoint(Model):
    """How checkpoints are written.

    A ``derived`` stall is ``stall_overhead`` and the time that each GPU takes to copy its part of
    the state to its host, by the catalog.
    """

    size_gb: Size | None = Field(default=None, alias="size")
    mode: Literal["async", "sync", "open"] = "async"
    stall_s: Stall = Field(default=5.0, alias="stall")
    stall_overhead_s: SecondsOrZero | None = Field(default=None, alias="stall_overhead")
    local: LocalLevel | None = None
    writers: Literal["one_replica", "all"] = "all"
    max_overlap: PositiveShare = 0.10
    max_blocking: BlockingShare = 0.05
    drain_slowdown: Share = 0.0
    interval: Interval = OptimalInterval.model_construct(policy="optimal")
    keep_last: Whole = 2
    milestones: Whole = 0
    exports: Whole = 0

    @property
    def known_stall_s(self) -> float:
        """The given stall; of a derived one, the part besides the copy."""
        return (self.stall_overhead_s or 0.0) if self.stall_s == "derived" else self.stall_s


class Restore(Model):
    """How a job comes back after an interruption."""

    max_time_s: Seconds | None = Field(default=None, alias="max_time")
    fan_out: Literal["broadcast", "sharded_optimizer", "every_replica"] = "broadcast"
    restart_s: SecondsOrZero = Field(default=600.0, alias="restart")


def _spares_kind(value: object) -> str:
    return "share" if isinstance(value, str) else "systems"


HotShare = Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?%$", examples=["2 %"])]


HotSpares = Annotated[
    Annotated[Whole, Tag("systems")] | Annotated[HotShare, Tag("share")],
    Discriminator(_spares_kind),
]


def _per_system_kind(value: object) -> str:
    return "types" if isinstance(value, dict) else "all"


PerSystem = Annotated[
    Annotated[PositiveWhole, Tag("all")]
    | Annotated[dict[Text, PositiveWhole], Field(min_length=1), Tag("types")],
    Discriminator(_per_system_kind),
]


class GpuRange(Model):
    """Bounds and steps of the GPUs in use.

    ``whole`` is in replicas where the job gives ``parallelism``, unless systems are asked for:
    those count GPUs, too, that no replica holds. ``per_system`` is the most GPUs of one system
    that the job uses, such as 64 of a rack of 72: of every type, or by type.
    """

    min: PositiveWhole | None = None
    max: PositiveWhole | None = None
    hot_spares: HotSpares = 0
    whole: Literal["systems", "replicas"] | None = None
    per_system: PerSystem | None = None
    max_types: PositiveWhole = 1

    def most_of(self, sku: str) -> int | None:
        """Return the most GPUs of one system of a type that the job uses, None where all."""
        return self.per_system.get(sku) if isinstance(self.per_system, dict) else self.per_system

    @property
    def hot(self) -> tuple[int, float]:
        """Return hot spares as (systems, share of the systems in use); one of them is 0."""
        if isinstance(self.hot_spares, int):
            return self.hot_spares, 0.0
        return 0, units.parse(self.hot_spares, units.SHARE)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        if isinstance(self.per_system, dict) and self.max_types > 1:
            raise ValueError(
                "per_system by type needs one GPU type per job; give one number for all types, "
                "or leave max_types out"
            )
        return self


class DataSet(Model):
    """Training data and where it is held.

    On the ``bulk`` tier the data set, milestones and exports are on object or capacity storage
    beside the flash tier; ``staged`` of it is on flash at a time, and moves there at the rate of
    ingest.
    """

    size_tb: CapacityOrZero = Field(alias="size")
    tier: Literal["flash", "bulk"] = "flash"
    staged_tb: CapacityOrZero = Field(default=0.0, alias="staged")

    @model_validator(mode="after")
    def _staged_is_a_part(self) -> Self:
        if self.staged_tb > self.size_tb:
            raise ValueError(f"staged {self.staged_tb:g} TB is more than size {self.size_tb:g} TB")
        if self.staged_tb and self.tier == "flash":
            raise ValueError("staged needs tier: bulk; on flash the whole data set is held")
        return self


def _data_kind(value: object) -> str:
    return "tiered" if isinstance(value, (dict, DataSet)) else "size"


Data = Annotated[
    Annotated[CapacityOrZero, Tag("size")] | Annotated[DataSet, Tag("tiered")],
    Discriminator(_data_kind),
]

BytesPreset = Literal["mixed_adam", "fp32_adam", "bf16_moments", "weights_only", "megatron_1t"]


class Job(Model):
    """One training job.

    ``lost_time`` is the share of its time between restarts in which it makes no progress: for
    evaluation, restarts by people, network faults, slow starts. ``none`` counts failures alone.
    """

    name: Text
    parameters: Parameters | None = None
    bytes_per_parameter: BytesPreset | Number = "mixed_adam"
    parallelisms: Options | None = Field(default=None, alias="parallelism")
    checkpoint: Checkpoint = Checkpoint.model_construct()
    restore: Restore = Restore.model_construct()
    restart: Restart = Restart.model_construct()
    failures: FailurePreset | FailureRate = DEFAULT_FAILURES
    repair: Repair | None = None
    lost_time: LostTime = DEFAULT_LOST_TIME
    training: Training = Training.model_construct()
    power: PowerPoints | None = None
    gpus: GpuRange = GpuRange.model_construct()
    dataset: Data = 0.0
    ingest_per_gpu_gb_per_s: BandwidthOrZero = Field(default=0.0, alias="ingest_per_gpu")

    @property
    def tiered(self) -> DataSet:
        """The data set with its tier."""
        given = self.dataset
        return given if isinstance(given, DataSet) else DataSet.model_construct(size_tb=given)

    @property
    def in_bulk(self) -> bool:
        """Whether data set, milestones and exports are on the bulk tier."""
        return self.tiered.tier == "bulk"

    @property
    def dataset_tb(self) -> float:
        """Training data on flash, TB."""
        return self.tiered.staged_tb if self.in_bulk else self.tiered.size_tb

    @property
    def options(self) -> tuple[Parallelism, ...]:
        """The ways to spread a replica that the plan may choose from; none where none is given."""
        given = self.parallelisms
        if given is None:
            return ()
        return given if isinstance(given, tuple) else (given,)

    @property
    def parallelism(self) -> Parallelism | None:
        """How a replica is spread; of several options the first."""
        given = self.parallelisms
        return given[0] if isinstance(given, tuple) else given

    def spread(self, option: Parallelism | None) -> Self:
        """Return the job with one of its options alone."""
        return self if option is None else self.model_copy(update={"parallelisms": option})

    @property
    def failure_rate(self) -> FailurePreset | float | None:
        """The rate the problem gives, a preset's name or a number; None where it gives none."""
        if "failures" not in self.model_fields_set:
            return None
        given = self.failures
        if isinstance(given, str):
            return given
        return given.rate if given.per_gpu_day is None else given.per_gpu_day

    @property
    def lost_share(self) -> float:
        """Share of the time between restarts without progress."""
        return 0.0 if self.lost_time == "none" else self.lost_time

    @property
    def failure_shares(self) -> dict[str, float]:
        """The share of each class of interruptions; empty where the problem gives none."""
        return {} if isinstance(self.failures, str) else self.failures.shares

    @property
    def restart_s(self) -> float:
        """Seconds of a restart from the remote level, without the restore read."""
        given = self.restart.remote_s
        return self.restore.restart_s if given is None else given

    @property
    def levels(self) -> LocalLevel | None:
        """The local level of checkpoints, None where the problem does not use one."""
        local = self.checkpoint.local
        return None if local is None or local.use == "no" else local

    @property
    def whole_replicas(self) -> bool:
        """Whether only whole replicas run: always, unless systems are asked for."""
        return self.parallelism is not None and self.gpus.whole != "systems"

    @model_validator(mode="after")
    def _spares_have_one_home(self) -> Self:
        if self.repair is None:
            return self
        if self.gpus.hot != (0, 0.0):
            raise ValueError(
                "gpus.hot_spares does not go with repair, which decides the spares; "
                "leave it out, or give their number as repair: {spares: 2}"
            )
        if self.gpus.max_types > 1:
            raise ValueError(
                "repair needs one GPU type per job: a spare of one type does not take the place "
                "of another; leave gpus.max_types out, or set repair to null"
            )
        if self.repair.when_short == "shrink":
            self._can_shrink()
        return self

    def _can_shrink(self) -> None:
        if not self.whole_replicas:
            raise ValueError(
                "repair: when_short: shrink goes on with fewer replicas, and needs parallelism: "
                "{tensor: 8, pipeline: 64} (without gpus.whole: systems) to say what one is"
            )

    @model_validator(mode="after")
    def _has_a_size(self) -> Self:
        if self.parameters is None and self.checkpoint.size_gb is None:
            raise ValueError("give parameters (and bytes_per_parameter) or checkpoint.size")
        if self.parallelism is None and (
            self.checkpoint.writers == "one_replica"
            or self.restore.fan_out != "broadcast"
            or self.gpus.whole == "replicas"
        ):
            raise ValueError(
                "needs parallelism: {tensor: 8, pipeline: 64} for one_replica, whole replicas, "
                "sharded_optimizer or every_replica"
            )
        inside = max((option.expert_parameters or 0.0 for option in self.options), default=0.0)
        if self.parameters is not None and inside > self.parameters:
            raise ValueError(
                f"expert_parameters {inside / 1e9:g} B are more than the parameters, "
                f"{self.parameters / 1e9:g} B, of which they are a part"
            )
        names = [option.name for option in self.options]
        if len(set(names)) < len(names):
            raise ValueError("parallelism has an option twice; give each once")
        return self


DEFAULT_INDIFFERENCE = 0.005
"""Far below what any figure of a job is known to, and worth much money at the last watt."""


Maximized = Literal["goodput", "useful_gpus", "gpus"]
Minimized = Literal[
    "cost", "tco", "power", "heat", "usd_per_useful_gpu_hour", "usd_per_million_tokens"
]


class Objective(Model):
    """Objective: exactly one of the two; plans within ``indifference`` count as equal.

    The cheapest of these is taken. Where money itself is minimised, nothing is given away unless
    asked for.
    """

    maximize: Maximized | None = None
    minimize: Minimized | None = None
    indifference: Indifference | None = None

    @property
    def name(self) -> Maximized | Minimized:
        """Which it is."""
        name = self.maximize or self.minimize
        assert name is not None
        return name

    @property
    def sense(self) -> Literal["maximize", "minimize"]:
        """Whether more of it is better, or less."""
        return "minimize" if self.maximize is None else "maximize"

    @property
    def indifferent(self) -> float:
        """The share of the objective within which plans count as equal.

        None of ``minimize: cost``: the cheapest of plans that cost about the same is the best one.
        """
        if self.minimize == "cost":
            return 0.0
        if self.indifference is not None:
            return self.indifference
        money = self.minimize is not None and OBJECTIVES[self.minimize].figure.money
        return 0.0 if money else DEFAULT_INDIFFERENCE

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.maximize is None) == (self.minimize is None):
            raise ValueError(
                f"give exactly one of maximize ({', '.join(get_args(Maximized))}) "
                f"or minimize ({', '.join(get_args(Minimized))})"
            )
        return self


class Targets(Model):
    """Floors the plan must reach, whatever the objective."""

    min_gpus: PositiveWhole | None = None
    min_goodput: PositiveShare | None = None
    min_useful_gpus: Number | None = None
    min_useful_pflops: Number | None = None
    max_days_to_train: Days | None = None
    max_lead_time_days: Days | None = Field(default=None, alias="max_lead_time")


class Manager(Model):
    """Links of the fabric manager in a compute fabric; ``transceiver`` is at its own end."""

    slots: Whole = 0
    ports: Whole = 0
    transceiver: Identifier | None = None


class ComputeFabric(Model):
    """The fabric between the GPUs: rail-optimised leaves, spines, and cores where it is large.

    ``switches`` is a set: the plan chooses one of them that fits the ports of its GPU systems, and
    where several ``planes`` or ``oversubscription`` ratios are given, one of each. The fabric
    manager takes ``manager.slots`` system positions and ``manager.ports`` cables.
    """

    switches: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    oversubscription: MoreThanOne | Annotated[tuple[MoreThanOne, ...], Field(min_length=1)] = 1.0
    planes: PositiveWhole | Annotated[tuple[PositiveWhole, ...], Field(min_length=1)] = 1
    manager: Manager = Manager.model_construct()

    @property
    def planes_allowed(self) -> tuple[int, ...]:
        """The numbers of planes that the plan may choose from."""
        return self.planes if isinstance(self.planes, tuple) else (self.planes,)

    @property
    def oversubscriptions(self) -> tuple[float, ...]:
        """The ratios that the plan may choose from."""
        asked = self.oversubscription
        return asked if isinstance(asked, tuple) else (asked,)


class Edge(Model):
    """Links to the customer's own network; the far end is the customer's."""

    ports: PositiveWhole
    speed_gbit_per_s: LinkSpeed = Field(alias="speed")


class EthernetFabric(Model):
    """The storage or the in-band fabric: one switch model, leaves and spines."""

    switch: Identifier
    oversubscription: MoreThanOne = 1.0
    min_switches: Literal[1, 2] = 2
    edge: Edge | None = None


class StorageFabric(EthernetFabric):
    """The storage fabric; with ``carries_in_band`` in-band management is on it too."""

    carries_in_band: bool = False


class OutOfBand(Model):
    """Management ports of everything, on copper."""

    switch: Identifier
    reserve_ports: Whole = 4
    uplinks: Whole = 2


class Network(Model):
    """Fabrics of the systems; an omitted fabric is not in the bill."""

    compute: ComputeFabric | None = None
    storage: StorageFabric | None = None
    in_band: EthernetFabric | None = None
    out_of_band: OutOfBand | None = None

    @property
    def converged(self) -> StorageFabric | None:
        """The fabric of storage and in-band management together, where there is one."""
        return self.storage if self.storage is not None and self.storage.carries_in_band else None


class Extra(Model):
    """Something else the cluster needs: a fixed count, or one per so many of something."""

    count: PositiveWhole | None = None
    per: Literal["gpu_system", "gpu", "storage_unit", "rack", "switch"] | None = None
    every: Annotated[int, Field(ge=1, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.count is None) == (self.per is None):
            raise ValueError("give exactly one of count: 4 or per: gpu_system (with every: 32)")
        return self


class Split(Model):
    """No vendor may have more than a share of the units of a category."""

    category: Literal["gpu_system", "storage"]
    max_share: PositiveShare


class Prefer(Model):
    """Vendors to buy from where it costs no more than a share of the objective."""

    vendors: Annotated[tuple[Text, ...], Field(min_length=1)]
    within: Within = 0.0


class Policy(Model):
    """Vendor policy of the buyer."""

    require_vendors: tuple[Text, ...] = ()
    forbid_vendors: tuple[Text, ...] = ()
    prefer: Prefer | None = None
    split: tuple[Split, ...] = ()


class Problem(Model):
    """One problem file.

    ``currency`` is the one in which money is shown, ``exchange`` the rates to USD: an
    amount may be in any of them. ``public_notes`` stand in every edition of the offer; all other
    notes stay inside.
    """

    name: Text
    description: Text | None = None
    site: Site
    budget: Budget = Budget.model_construct()
    term: Term | None = None
    catalogs: tuple[Text, ...] | None = None
    prices: Text | tuple[Text, ...] | None = None
    consider: Consider = Consider.model_construct()
    items: dict[Identifier, Quantity] = {}
    storage: Storage
    jobs: Annotated[tuple[Job, ...], Field(min_length=1, max_length=1)]
    network: Network = Network.model_construct()
    software: tuple[Identifier, ...] = ()
    services: tuple[Identifier, ...] = ()
    extras: dict[Identifier, Extra] = {}
    spares: dict[Category, Share] = {}
    policy: Policy = Policy.model_construct()
    objective: Objective
    targets: Targets = Targets.model_construct()
    currency: CurrencyCode | None = None
    exchange: Exchange = {}
    public_notes: tuple[Text, ...] = ()

    @property
    def currencies(self) -> dict[str, Currency]:
        """The currencies that amounts may be in besides USD, by code."""
        return {code: rate.of(code) for code, rate in self.exchange.items()}

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        rate = self.exchange.get(self.currency or USD.code)
        return USD if rate is None or self.currency is None else rate.of(self.currency)

    def spare_share(self, item_id: str, category: Category) -> float:
        """Return the share of an item that lies in store besides: its own, or its category's."""
        own = self.items[item_id].spares if item_id in self.items else None
        return self.spares.get(category, 0.0) if own is None else own

    @property
    def job(self) -> Job:
        """The only job: several jobs on one cluster are not supported yet."""
        return self.jobs[0]
