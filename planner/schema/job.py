"""The job: model, spread, checkpoints, failures and repair, power, rate of training."""

import math
from itertools import pairwise
from math import lcm
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from planner import units
from planner.schema import (
    BandwidthOrZero,
    CapacityOrZero,
    Identifier,
    Model,
    Number,
    Parameters,
    PositiveShare,
    PositiveWhole,
    Seconds,
    SecondsOrZero,
    Share,
    Size,
    SizeOrZero,
    Text,
    Tokens,
    Unit,
    Whole,
    refuse,
)
from planner.schema.catalog import Precision

LONGEST_S = 365 * 86_400.0
"""Longest mean time to repair; a unit out for longer is replaced."""


class Repair(Model):
    """Repair of failed hardware, and spares.

    ``share`` of the job's interruptions takes one ``unit`` out for ``time`` on average and adds
    ``swap`` to the restart. With too few spares the job waits, or shrinks to fewer replicas.
    """

    share: PositiveShare
    time_s: Annotated[float, Unit(units.TIME, high=LONGEST_S, open_low=True)] = Field(alias="time")
    unit: Literal["system", "tray"] = "system"
    swap_s: SecondsOrZero = Field(default=0.0, alias="swap")
    spares: Whole | Literal["open"] = "open"
    when_short: Literal["wait", "shrink"] = "wait"


Stall = SecondsOrZero | Literal["derived"]
OneIn = Annotated[int, Field(ge=1, le=1000)]
MOST_EVERY = 20
"""Values of ``k`` in a list."""
Every = (
    Literal["open"]
    | OneIn
    | Annotated[tuple[OneIn, ...], Field(min_length=1, max_length=MOST_EVERY)]
)
OPEN_EVERY = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Tried values of an open ``k``; the next value costs less than 0.1 %."""


class LocalLevel(Model):
    """Checkpoints on drives of the GPU systems; each ``k``-th of them goes on to storage.

    ``recovers``, by class of ``failures.shares``: any local copy survives (yes), only one on a peer
    (peer; needs ``copies`` of 2 or more), or none (no). ``restart`` from a local copy has its read.
    """

    use: Literal["open", "yes", "no"] = "open"
    copies: Annotated[int, Field(ge=1, le=8)]
    # as in the NVIDIA Resiliency Extension's usage guide of local checkpoints (2025)
    keep: Annotated[int, Field(ge=2, le=100)] = 2
    recovers: dict[Identifier, Literal["yes", "peer", "no"]]
    k: Every = "open"
    restart_s: Seconds = Field(alias="restart")

    @property
    def every(self) -> tuple[int, ...]:
        """The values of k to choose from, in order."""
        if self.k == "open":
            return OPEN_EVERY
        return (self.k,) if isinstance(self.k, int) else tuple(sorted(set(self.k)))


FailurePreset = Literal["rsc2", "llama3", "mlcommons", "rsc1", "shared_research"]


class FailureRate(Model):
    """Job-interrupting failures per GPU and day (by default the catalog's), and shares by class."""

    per_gpu_day: FailurePreset | Number | None = None
    shares: dict[Identifier, PositiveShare] = {}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        unstated = self.per_gpu_day is None and not self.shares
        refuse((unstated, "give per_gpu_day, such as 0.0005 or llama3, or shares"))
        return self


def _as_rate(value: Any) -> Any:
    return {"per_gpu_day": value} if isinstance(value, str) else value


Failures = Annotated[
    FailureRate, BeforeValidator(_as_rate, json_schema_input_type=FailurePreset | FailureRate)
]
DEFAULT_FAILURES: FailurePreset = "llama3"
DEFAULT_LOST_TIME = 0.05
"""Lost time besides failures; published range in `planner.sizing.availability.LOST_TIME`."""
LostTime = Annotated[float, Unit(units.SHARE, high=0.9)] | Literal["none"]
"""Share of the time between restarts without progress."""


class ReplicaMemory(Model):
    """Bytes per parameter ``held`` by each replica, ``shared`` by all, in ``usable`` memory."""

    held: Number
    shared: Number
    activations_gb: SizeOrZero = Field(default=0.0, alias="activations")
    usable: PositiveShare = 0.9


class Parallelism(Model):
    """Spread of a replica over GPUs: tensor, pipeline and context degrees.

    ``expert_parameters`` are spread over ``experts`` groups of ``expert_tensor`` GPUs in each
    pipeline stage; ``factor`` is the remaining share of the rate.
    """

    tensor: PositiveWhole
    pipeline: PositiveWhole
    context: PositiveWhole = 1
    experts: PositiveWhole = 1
    expert_tensor: PositiveWhole | None = None
    expert_parameters: Parameters | None = None
    min_replicas: PositiveWhole = 1
    factor: PositiveShare = 1.0
    memory: ReplicaMemory | None = None

    @property
    def replica_gpus(self) -> int:
        """GPUs that hold one replica of the model."""
        return self.pipeline * lcm(self.tensor * self.context, self.expert_gpus)

    @property
    def expert_gpus(self) -> int:
        """GPUs of a pipeline stage that hold its experts; 1 where there are none."""
        if self.experts == 1 and self.expert_parameters is None:
            return 1
        return self.experts * (self.expert_tensor or self.tensor)

    def parameters_per_gpu(self, parameters: float) -> float:
        """Number of parameters that a GPU holds; of those in experts its part."""
        inside = self.expert_parameters or 0.0
        each = (parameters - inside) / self.tensor + inside / self.expert_gpus
        return each / self.pipeline

    @property
    def plain(self) -> bool:
        """True if only degrees are given."""
        return (
            self.min_replicas == 1
            and self.factor == 1.0
            and self.memory is None
            and self.expert_parameters is None
        )

    @property
    def name(self) -> str:
        """Key of this option: 't8p16'."""
        context = f"c{self.context}" if self.context > 1 else ""
        experts = f"e{self.experts}" if self.expert_parameters is not None else ""
        if self.expert_tensor is not None and self.expert_tensor != self.tensor:
            experts += f"x{self.expert_tensor}"
        return f"t{self.tensor}p{self.pipeline}{context}{experts}"

    @model_validator(mode="after")
    def _experts_are_known(self) -> Self:
        asked = self.experts > 1 or self.expert_tensor is not None
        lacks, odd = asked and self.expert_parameters is None, self.expert_tensor or self.tensor
        refuse(
            (lacks, "experts need expert_parameters, the parameters in experts, such as 650 B"),
            (self.tensor % odd, f"expert_tensor {odd} does not divide tensor {self.tensor}"),
        )
        return self


Options = Parallelism | Annotated[tuple[Parallelism, ...], Field(min_length=1, max_length=20)]
Points = Literal["open"] | PositiveShare | Annotated[tuple[PositiveShare, ...], Field(min_length=1)]


class PowerPoints(Model):
    """Allowed GPU power caps, shares of rated power; ``open``: every point of catalogs."""

    points: Points

    @property
    def allowed_caps(self) -> tuple[float, ...] | None:
        """Allowed caps; None: all."""
        if self.points == "open":
            return None
        return self.points if isinstance(self.points, tuple) else (self.points,)

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if self.allowed_caps is not None and len(set(self.allowed_caps)) < len(self.allowed_caps):
            raise ValueError("points has a cap twice; give each once")
        return self


class ScaleRow(Model):
    """Scaling efficiency at a number of GPUs, relative to a small job."""

    gpus: PositiveWhole
    share: PositiveShare


class Scale(Model):
    """Scaling: a GPU's rate goes with (N / ``reference``)^-``exponent``, or by ``table``."""

    exponent: Share | None = None
    reference: PositiveWhole | None = None
    table: tuple[ScaleRow, ...] | None = Field(default=None, min_length=2, max_length=50)

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        one_of = "give exactly one of exponent: 0.03 (with reference: 2048) or table: [...]"
        steep = "an exponent of 1 or more says that more GPUs do no more work"
        refuse(
            ((self.exponent is None) == (self.table is None), one_of),
            ((self.exponent or 0.0) >= 1.0, steep),
        )
        for one, more in pairwise(self.table or ()):
            falls = more.gpus <= one.gpus or more.share > one.share
            idle = more.share * more.gpus <= one.share * one.gpus
            refuse(
                (falls, "table: gpus must rise from row to row, shares must not"),
                (idle, f"table: {more.gpus} GPUs do no more work than {one.gpus}; end it there"),
            )
        return self


ASSUMED_AT_GPUS = 1024
"""Job size at which an assumed rate holds, where a law of scale counts."""


class Training(Model):
    """Rate of training: ``mfu`` of every type's peak, or measured rates of a ``model`` or class.

    A type without a measured rate is left out, unless ``assumed_mfu`` is given. ``rate_factor``
    multiplies all these rates.
    """

    tokens: Tokens | None = None
    mfu: PositiveShare | None = None
    assumed_mfu: PositiveShare | None = None
    rate_factor: Number = 1.0
    precision: Precision | Annotated[tuple[Precision, ...], Field(min_length=1)] = "bf16"
    active_parameters: Parameters | None = None
    model: Text | None = None
    scale: Scale | None = None

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """Allowed precisions."""
        return self.precision if isinstance(self.precision, tuple) else (self.precision,)

    @property
    def scale_reference(self) -> int | None:
        """The GPUs at which ``mfu`` holds, where that is stated."""
        return None if self.scale is None else self.scale.reference

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        scale, mfu, precisions = self.scale, self.mfu is not None, set(self.precisions)
        peak, twice = self.model is None, len(precisions) < len(self.precisions)
        assumed, scaled = self.assumed_mfu is not None, self.rate_factor != 1.0
        unknown = scale is not None and scale.exponent is not None and scale.reference is None
        refuse(
            (mfu and not peak, "mfu does not go with model, whose rates are measured; give one"),
            (
                assumed and peak,
                "assumed_mfu is for types without a measured rate; give model: dense",
            ),
            (scaled and peak, "rate_factor is of measured rates; change mfu, or give model: dense"),
            (
                peak and len(precisions) > 1,
                "one mfu says nothing about several precisions; give model",
            ),
            (twice, "precision has one twice; give each once"),
            (peak and "nvfp4" in precisions, "catalogs have no peak for nvfp4; give a model"),
            (scale and peak and not mfu, "scale needs the rate it acts on; give mfu or model"),
            (unknown and mfu, "with mfu an exponent needs scale.reference: the GPUs it holds at"),
        )
        return self


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
    bounds = isinstance(value, dict) and bool(value) and value.keys() <= {"min", "max"}
    return {"policy": "optimal", **value} if bounds else value


Interval = Annotated[
    Annotated[FixedInterval | OptimalInterval, Field(discriminator="policy")],
    BeforeValidator(_with_policy),
]


class Checkpoint(Model):
    """Size, mode and rhythm; a ``derived`` stall is ``stall_overhead`` and a copy to the host."""

    size_gb: Size | None = Field(default=None, alias="size")
    mode: Literal["async", "sync", "open"] = "async"
    stall_s: Stall = Field(default=5.0, alias="stall")
    stall_overhead_s: SecondsOrZero | None = Field(default=None, alias="stall_overhead")
    local: LocalLevel | None = None
    writers: Literal["one_replica", "all"] = "all"
    max_overlap: PositiveShare = 0.10
    max_blocking: Annotated[float, Unit(units.SHARE, high=0.99, open_low=True)] = 0.05
    drain_slowdown: Share = 0.0
    interval: Interval = OptimalInterval.model_construct(policy="optimal")
    keep_last: Whole = 2

    @property
    def known_stall_s(self) -> float:
        """The given stall; of a derived one, the part besides the copy."""
        return (self.stall_overhead_s or 0.0) if self.stall_s == "derived" else self.stall_s


class Restore(Model):
    """Return to computing after an interruption."""

    max_time_s: Seconds | None = Field(default=None, alias="max_time")
    fan_out: Literal["broadcast", "sharded_optimizer", "every_replica"] = "broadcast"
    restart_s: SecondsOrZero = Field(default=600.0, alias="restart")


class GpuRange(Model):
    """Bounds of the GPUs in use; ``per_system``: most of one system, by type or of all."""

    min: PositiveWhole | None = None
    max: PositiveWhole | None = None
    whole: Literal["systems", "replicas"] | None = None
    per_system: PositiveWhole | Annotated[dict[Text, PositiveWhole], Field(min_length=1)] | None = (
        None
    )
    max_types: PositiveWhole = 1

    def most_of(self, sku: str) -> int | None:
        """Most GPUs of one system of a type that the job uses, None for all."""
        return self.per_system.get(sku) if isinstance(self.per_system, dict) else self.per_system

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        several = isinstance(self.per_system, dict) and self.max_types > 1
        crossed = (self.min or 0) > (self.max or math.inf)
        refuse(
            (crossed, f"min {self.min} is more than max {self.max}"),
            (several, "per_system by type needs one GPU type per job; give one number for all"),
        )
        return self


class DataSet(Model):
    """Training data and its tier; on ``bulk``, ``staged`` of it is on flash at a time."""

    size_tb: CapacityOrZero = Field(alias="size")
    tier: Literal["flash", "bulk"] = "flash"
    staged_tb: CapacityOrZero = Field(default=0.0, alias="staged")

    @model_validator(mode="after")
    def _staged_is_a_part(self) -> Self:
        staged, size = self.staged_tb, self.size_tb
        refuse(
            (staged > size, f"staged {staged:g} TB is more than size {size:g} TB"),
            (staged and self.tier == "flash", "staged needs tier: bulk; on flash all is held"),
        )
        return self


Data = CapacityOrZero | DataSet
BytesPreset = Literal["mixed_adam", "fp32_adam", "bf16_moments", "weights_only", "megatron_1t"]


_BY_REPLICA = "one_replica, whole replicas, sharded_optimizer or every_replica"


class Job(Model):
    """One training job; ``lost_time``: share of its time between restarts without progress."""

    name: Text
    parameters: Parameters | None = None
    bytes_per_parameter: BytesPreset | Number = "mixed_adam"
    parallelisms: Options | None = Field(default=None, alias="parallelism")
    checkpoint: Checkpoint = Checkpoint.model_construct()
    restore: Restore = Restore.model_construct()
    failures: Failures = FailureRate.model_construct()
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
        """True if the data set is on the bulk tier."""
        return self.tiered.tier == "bulk"

    @property
    def dataset_tb(self) -> float:
        """Training data on flash, TB."""
        return self.tiered.staged_tb if self.in_bulk else self.tiered.size_tb

    @property
    def options(self) -> tuple[Parallelism, ...]:
        """Allowed parallelism mappings; empty where none is given."""
        given = self.parallelisms
        if given is None:
            return ()
        return given if isinstance(given, tuple) else (given,)

    @property
    def parallelism(self) -> Parallelism | None:
        """Spread of a replica; of several options the first."""
        given = self.parallelisms
        return given[0] if isinstance(given, tuple) else given

    def spread(self, option: Parallelism | None) -> Self:
        """The job with one of its options alone."""
        return self if option is None else self.model_copy(update={"parallelisms": option})

    @property
    def failure_rate(self) -> FailurePreset | float | None:
        """Given rate, a preset's name or a number, or None."""
        return self.failures.per_gpu_day

    @property
    def lost_share(self) -> float:
        """Share of the time between restarts without progress."""
        return 0.0 if self.lost_time == "none" else self.lost_time

    @property
    def failure_shares(self) -> dict[str, float]:
        """The share of each class of interruptions; empty where the problem gives none."""
        return self.failures.shares

    @property
    def restart_s(self) -> float:
        """Seconds of a restart from storage, without the restore read."""
        return self.restore.restart_s

    @property
    def levels(self) -> LocalLevel | None:
        """The local level of checkpoints, None if unused."""
        local = self.checkpoint.local
        return None if local is None or local.use == "no" else local

    @property
    def whole_replicas(self) -> bool:
        """True if only whole replicas run: always, unless systems are asked for."""
        return self.parallelism is not None and self.gpus.whole != "systems"

    @model_validator(mode="after")
    def _repair_fits(self) -> Self:
        if self.repair is None:
            return self
        types = "repair needs one GPU type per job; leave gpus.max_types out, or set repair to null"
        shrink = "when_short: shrink needs parallelism: {tensor: 8, pipeline: 64}, in replicas"
        refuse(
            (self.gpus.max_types > 1, types),
            (self.repair.when_short == "shrink" and not self.whole_replicas, shrink),
        )
        return self

    @model_validator(mode="after")
    def _has_a_size(self) -> Self:
        known, checkpoint, names = self.parameters, self.checkpoint, [o.name for o in self.options]
        by_replica = checkpoint.writers == "one_replica" or self.restore.fan_out != "broadcast"
        replicas = self.parallelism is None and (by_replica or self.gpus.whole == "replicas")
        inside = max((option.expert_parameters or 0.0 for option in self.options), default=0.0)
        no_size = known is None and checkpoint.size_gb is None
        refuse(
            (no_size, "give parameters (and bytes_per_parameter) or checkpoint.size"),
            (replicas, f"needs parallelism: {{tensor: 8, pipeline: 64}} for {_BY_REPLICA}"),
            (
                inside > (known or math.inf),
                f"expert_parameters {inside / 1e9:g} B are more than all {(known or 0) / 1e9:g} B",
            ),
            (len(set(names)) < len(names), "parallelism has an option twice; give each once"),
        )
        return self
