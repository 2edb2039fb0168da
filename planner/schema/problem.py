"""The problem file: site, budgets, storage rules, the job, the objective."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner import units
from planner.schema.base import (
    Bandwidth,
    BandwidthOrZero,
    CapacityOrZero,
    Count,
    Days,
    EnergyPrice,
    Identifier,
    Model,
    Money,
    Number,
    PositiveShare,
    PositiveWhole,
    Power,
    RackUnits,
    Seconds,
    SecondsOrZero,
    Share,
    Size,
    Text,
    Unit,
    Whole,
)

Pue = Annotated[float, Unit(units.NUMBER, low=1.0, high=5.0)]
Years = Annotated[float, Unit(units.NUMBER, high=50.0, open_low=True)]
Indifference = Annotated[float, Unit(units.SHARE, high=0.1)]
BlockingShare = Annotated[float, Unit(units.SHARE, high=0.99, open_low=True)]


class Rack(Model):
    """One rack position: what it may hold, and what a product that is a rack may draw."""

    height_ru: RackUnits = Field(alias="height")
    power_kw: Power | None = Field(default=None, alias="power")
    whole_rack_power_kw: Power | None = Field(default=None, alias="whole_rack_power")

    @property
    def whole_rack_limit_kw(self) -> float | None:
        """What a product that is a rack of its own may draw; the power of any rack by default."""
        return self.power_kw if self.whole_rack_power_kw is None else self.whole_rack_power_kw


class Site(Model):
    """Where the cluster stands: the power feed, its overhead and the room."""

    facility_power_kw: Power | None = Field(default=None, alias="facility_power")
    it_power_kw: Power | None = Field(default=None, alias="it_power")
    pue: Pue
    racks: Whole | None = None
    rack: Rack | None = None

    @model_validator(mode="after")
    def _racks_have_a_size(self) -> Site:
        if self.racks is not None and self.rack is None:
            raise ValueError("racks needs rack: {height: 48 RU, power: 45 kW}")
        return self


class Budget(Model):
    """Money that may be spent."""

    capex_usd: Money | None = Field(default=None, alias="capex")
    opex_usd_per_year: Money | None = Field(default=None, alias="opex_per_year")
    tco_usd: Money | None = Field(default=None, alias="tco")


class Term(Model):
    """How long the cluster is paid for, and the price of energy."""

    years: Years
    electricity_usd_per_kwh: EnergyPrice = Field(alias="electricity")


class ReadWrite(Model):
    """A share for reading and one for writing."""

    read: PositiveShare
    write: PositiveShare


class ClientLimit(Model):
    """What one GPU system can write and read, before the storage client's factor."""

    write: Bandwidth | None = None
    read: Bandwidth | None = None


class CustomRule(Model):
    """A bandwidth rule of the user's own: so much per so many GPUs."""

    name: Text = "custom"
    read: BandwidthOrZero
    write: BandwidthOrZero
    per_gpus: PositiveWhole = 1


RuleName = Literal["demand", "light", "medium", "high", "good", "better", "best"]


class Storage(Model):
    """How storage is judged: what it delivers, how full it may be, which rule sizes it."""

    delivered_fraction: ReadWrite
    fill_limit: PositiveShare = 0.85
    max_families: PositiveWhole = 1
    client_limit: ClientLimit = ClientLimit.model_construct()
    rule: RuleName | CustomRule = "demand"


class Quantity(Model):
    """What the user demands of one item's count."""

    fixed: Whole | None = None
    min: Whole | None = None
    max: Whole | None = None
    installed: Whole = 0
    required: bool = False
    exclude: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Quantity:
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


class Parallelism(Model):
    """Tensor and pipeline degrees; their product is the GPUs that hold one replica."""

    tensor: PositiveWhole
    pipeline: PositiveWhole

    @property
    def replica_gpus(self) -> int:
        """GPUs that hold one replica of the model."""
        return self.tensor * self.pipeline


class FixedInterval(Model):
    """Checkpoint at a given interval, start to start."""

    policy: Literal["fixed"]
    every_s: Seconds = Field(alias="every")


class LostWorkInterval(Model):
    """Interval = kappa times the job's mean time to interruption; kappa/2 of work is at risk."""

    policy: Literal["lost_work"]
    kappa: PositiveShare


class OptimalInterval(Model):
    """Choose the interval together with the purchase, between two bounds."""

    policy: Literal["optimal"]
    min_s: Seconds = Field(default=60.0, alias="min")
    max_s: Seconds = Field(default=14_400.0, alias="max")

    @model_validator(mode="after")
    def _ordered(self) -> OptimalInterval:
        if self.min_s > self.max_s:
            raise ValueError(f"min {self.min_s:g} s is more than max {self.max_s:g} s")
        return self


Interval = Annotated[
    FixedInterval | LostWorkInterval | OptimalInterval, Field(discriminator="policy")
]


class Checkpoint(Model):
    """How checkpoints are written."""

    size_gb: Size | None = Field(default=None, alias="size")
    mode: Literal["async", "sync", "open"] = "async"
    stall_s: SecondsOrZero = Field(default=5.0, alias="stall")
    writers: Literal["one_replica", "all"] = "all"
    max_overlap: PositiveShare = 0.10
    max_blocking: BlockingShare = 0.05
    drain_slowdown: Share = 0.0
    interval: Interval = OptimalInterval.model_construct(policy="optimal")
    keep_last: Whole = 2
    milestones: Whole = 0
    exports: Whole = 0


class Restore(Model):
    """How a job comes back after an interruption."""

    max_time_s: Seconds | None = Field(default=None, alias="max_time")
    fan_out: Literal["broadcast", "sharded_optimizer", "every_replica"] = "broadcast"
    readers: Literal["one_replica", "all"] = "all"
    restart_s: SecondsOrZero = Field(default=600.0, alias="restart")


class FailureRate(Model):
    """Job-interrupting failures per GPU and day."""

    per_gpu_day: Number


FailurePreset = Literal["rsc2", "llama3", "mlcommons", "rsc1", "shared_research"]


class Training(Model):
    """What is trained: for days to train and useful FLOP/s."""

    tokens: Count | None = None
    mfu: PositiveShare | None = None
    precision: Literal["bf16", "fp8"] = "bf16"
    active_parameters: Count | None = None


class GpuRange(Model):
    """Bounds on the GPUs in use, whether whole systems or whole replicas are used."""

    min: PositiveWhole | None = None
    max: PositiveWhole | None = None
    whole: Literal["systems", "replicas"] = "systems"
    max_types: PositiveWhole = 1

    @model_validator(mode="after")
    def _ordered(self) -> GpuRange:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        if self.whole == "replicas" and self.max_types > 1:
            raise ValueError("whole: replicas needs max_types: 1")
        return self


BytesPreset = Literal["mixed_adam", "fp32_adam", "bf16_moments", "weights_only", "megatron_1t"]


class Job(Model):
    """One training job."""

    name: Text
    parameters: Count | None = None
    bytes_per_parameter: BytesPreset | Number = "mixed_adam"
    trained_share: PositiveShare = 1.0
    parallelism: Parallelism | None = None
    checkpoint: Checkpoint = Checkpoint.model_construct()
    restore: Restore = Restore.model_construct()
    failures: FailurePreset | FailureRate = "llama3"
    training: Training = Training.model_construct()
    gpus: GpuRange = GpuRange.model_construct()
    dataset_tb: CapacityOrZero = Field(default=0.0, alias="dataset")
    ingest_per_gpu_gb_per_s: BandwidthOrZero = Field(default=0.0, alias="ingest_per_gpu")

    @model_validator(mode="after")
    def _has_a_size(self) -> Job:
        if self.parameters is None and self.checkpoint.size_gb is None:
            raise ValueError("give parameters (and bytes_per_parameter) or checkpoint.size")
        if self.parallelism is None and (
            self.checkpoint.writers == "one_replica"
            or self.restore.readers == "one_replica"
            or self.restore.fan_out != "broadcast"
            or self.gpus.whole == "replicas"
        ):
            raise ValueError(
                "needs parallelism: {tensor: 8, pipeline: 64} for one_replica, whole replicas, "
                "sharded_optimizer or every_replica"
            )
        return self


class Objective(Model):
    """What is best: exactly one of the two; plans within ``indifference`` of it count as equal."""

    maximize: Literal["goodput", "useful_gpus", "gpus"] | None = None
    minimize: Literal["cost", "tco", "power"] | None = None
    indifference: Indifference = 0.0

    @model_validator(mode="after")
    def _exactly_one(self) -> Objective:
        if (self.maximize is None) == (self.minimize is None):
            raise ValueError(
                "give exactly one of maximize (goodput, useful_gpus, gpus) "
                "or minimize (cost, tco, power)"
            )
        return self


class Targets(Model):
    """Floors the plan must reach, whatever the objective."""

    min_gpus: PositiveWhole | None = None
    min_goodput: PositiveShare | None = None
    min_useful_gpus: Number | None = None
    min_useful_pflops: Number | None = None
    max_days_to_train: Days | None = None


class Problem(Model):
    """One problem file."""

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
    objective: Objective
    targets: Targets = Targets.model_construct()

    @property
    def job(self) -> Job:
        """The only job: several jobs on one cluster are not supported yet."""
        return self.jobs[0]
