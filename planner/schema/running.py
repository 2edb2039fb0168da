"""How the job runs: power, precision, rate; levels of checkpoints; how hardware is mended."""

from itertools import pairwise
from math import lcm
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from planner import units
from planner.schema.base import (
    Identifier,
    Model,
    Number,
    Parameters,
    PositiveShare,
    PositiveWhole,
    Seconds,
    SecondsOrZero,
    Share,
    SizeOrZero,
    Text,
    Tokens,
    Unit,
    Whole,
)
from planner.schema.catalog import Precision

LONGEST_S = 365 * 86_400.0
"""The longest mean time of repair: what stays out for longer is bought anew, not waited for."""


class RepairClass(Model):
    """Failures that take hardware out for a time of their own, as a share of interruptions."""

    share: PositiveShare
    time_s: Seconds = Field(alias="time")

    @model_validator(mode="after")
    def _comes_back(self) -> Self:
        _check_comes_back(self.time_s)
        return self


def _check_comes_back(time_s: float) -> None:
    if time_s > LONGEST_S:
        raise ValueError(
            f"time {time_s / 86_400.0:,.0f} days: a repair takes 365 days at most; what is out for "
            "longer is bought anew, so give the time until its replacement runs"
        )


def _standing_kind(value: object) -> str:
    return "open" if isinstance(value, str) and not value.strip().isdigit() else "units"


StandingBy = Annotated[
    Annotated[Whole, Tag("units")] | Annotated[Literal["open"], Tag("open")],
    Discriminator(_standing_kind),
]


class Repair(Model):
    """Repair of failed hardware, and spares.

    ``share`` of the job's interruptions takes one ``unit`` out for ``time`` on average, whatever
    the law of that time; ``classes`` give both by kind of failure. The unit is a GPU system, or the
    tray of one where the catalog states it. ``swap`` is how much longer a restart takes where
    hardware failed. ``spares`` stand by and are decided unless a number is given. While more units
    are out than stood by the job waits, or with ``when_short: shrink`` goes on with fewer replicas.
    """

    share: PositiveShare | None = None
    time_s: Seconds | None = Field(default=None, alias="time")
    classes: tuple[RepairClass, ...] = ()
    unit: Literal["system", "tray"] = "system"
    swap_s: SecondsOrZero = Field(default=0.0, alias="swap")
    spares: StandingBy = "open"
    when_short: Literal["wait", "shrink"] = "wait"

    @property
    def hardware_share(self) -> float:
        """Share of interruptions that take a unit out."""
        return sum(each.share for each in self.classes) if self.share is None else self.share

    @property
    def out_s(self) -> float:
        """Repair time that an interruption causes on average, s: share times time, summed."""
        if self.share is None or self.time_s is None:
            return sum(each.share * each.time_s for each in self.classes)
        return self.share * self.time_s

    @model_validator(mode="after")
    def _complete(self) -> Self:
        example = "{share: 78 %, time: 24 h}"
        plain = (self.share is not None) + (self.time_s is not None)
        if plain == 1 or (plain == 0 and not self.classes):
            raise ValueError(f"give share and time: {example}")
        if plain and self.classes:
            raise ValueError(f"give {example} or classes: [{example}], not both")
        if self.time_s is not None:
            _check_comes_back(self.time_s)
        if self.hardware_share > 1.0 + 1e-9:
            raise ValueError(
                f"the shares of the classes add up to {100.0 * self.hardware_share:g} %; "
                "they are shares of all interruptions, at most 100 %"
            )
        return self


def _stall_kind(value: object) -> str:
    return "derived" if value == "derived" else "time"


Stall = Annotated[
    Annotated[SecondsOrZero, Tag("time")] | Annotated[Literal["derived"], Tag("derived")],
    Discriminator(_stall_kind),
]


def _every_kind(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "list"
    return "open" if isinstance(value, str) else "one"


MOST_LOCAL = 1000
OneIn = Annotated[int, Field(ge=1, le=MOST_LOCAL)]
MOST_EVERY = 20
"""Values of ``k`` in a list."""
Every = Annotated[
    Annotated[Literal["open"], Tag("open")]
    | Annotated[OneIn, Tag("one")]
    | Annotated[tuple[OneIn, ...], Field(min_length=1, max_length=MOST_EVERY), Tag("list")],
    Discriminator(_every_kind),
]
OPEN_EVERY = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""What is tried where ``k`` is open: close enough that the next value costs less than 0.1 %."""


class LocalLevel(Model):
    """Checkpoints on drives of the GPU systems; each ``k``-th of them goes on to storage.

    ``recovers`` says of each class of ``failures.shares`` whether a local copy survives it: any
    (yes), only one on a peer, which takes ``copies`` of 2 or more (peer), or none (no). ``keep``
    local checkpoints need room at a time: the last one and the one being written, at least. A
    restart from the local level lets a drain to storage go on, or it ``restarts`` the drain.
    """

    use: Literal["open", "yes", "no"] = "open"
    copies: Annotated[int, Field(ge=1, le=8)]
    # as in the NVIDIA Resiliency Extension's usage guide of local checkpoints (2025)
    keep: Annotated[int, Field(ge=2, le=100)] = 2
    recovers: dict[Identifier, Literal["yes", "peer", "no"]]
    k: Every = "open"
    drain: Literal["continues", "restarts"] = "restarts"

    @property
    def every(self) -> tuple[int, ...]:
        """Return the values of k that may be chosen, in order."""
        if self.k == "open":
            return OPEN_EVERY
        return (self.k,) if isinstance(self.k, int) else tuple(sorted(set(self.k)))


class Restart(Model):
    """Seconds from a failure until computing goes on, by the level the job comes back from.

    From the remote level without the restore read; from the local level with it.
    """

    remote_s: SecondsOrZero | None = Field(default=None, alias="remote")
    local_s: Seconds | None = Field(default=None, alias="local")


FailurePreset = Literal["rsc2", "llama3", "mlcommons", "rsc1", "shared_research"]


def _rate_kind(value: object) -> str:
    return "preset" if isinstance(value, str) else "number"


class FailureRate(Model):
    """Job-interrupting failures per GPU and day, and their shares by class.

    ``rate`` is a preset or a number; a ``per_gpu_day`` counts in its place. Without either the rate
    is the catalog's, or the default.
    """

    per_gpu_day: Number | None = None
    rate: (
        Annotated[
            Annotated[FailurePreset, Tag("preset")] | Annotated[Number, Tag("number")],
            Discriminator(_rate_kind),
        ]
        | None
    ) = None
    shares: dict[Identifier, PositiveShare] = {}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.per_gpu_day is None and self.rate is None and not self.shares:
            raise ValueError("give a rate, such as rate: llama3 or per_gpu_day: 0.0005, or shares")
        return self


DEFAULT_FAILURES: FailurePreset = "llama3"

DEFAULT_LOST_TIME = 0.05
"""Lost time besides failures; published range in `planner.sizing.goodput.LOST_TIME`."""


def _lost_time_kind(value: object) -> str:
    return "none" if value == "none" else "share"


LostTime = Annotated[
    Annotated[float, Unit(units.SHARE, high=0.9), Tag("share")]
    | Annotated[Literal["none"], Tag("none")],
    Discriminator(_lost_time_kind),
]
"""Share of the time between restarts without progress."""


class ReplicaMemory(Model):
    """Memory of a replica on its GPUs, bytes per parameter.

    ``held`` is in every replica (weights, gradients), ``shared`` is spread over all of them (an
    optimizer that is sharded), ``activations`` come on top in each GPU. A replica fits where all
    of it takes at most ``usable`` of a GPU's memory.
    """

    held: Number
    shared: Number
    activations_gb: SizeOrZero = Field(default=0.0, alias="activations")
    usable: PositiveShare = 0.9


class Parallelism(Model):
    """How a replica is spread over GPUs: tensor, pipeline and context degrees.

    Their product is the GPUs that hold one replica. With a mixture of experts, of which
    ``expert_parameters`` are in the experts, these are spread over ``experts`` groups of
    ``expert_tensor`` GPUs (of ``tensor`` where it is not given) in each pipeline stage, and the
    others over tensor and context: a replica is the smallest group of GPUs that is whole in both.

    At least ``min_replicas`` run, those of all GPU types together; where ``memory`` is given, at
    least as many as its shared part needs. ``factor`` is the remaining share of the rate.
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
        """Whether nothing is said but degrees."""
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
        if asked and self.expert_parameters is None:
            raise ValueError(
                "experts need expert_parameters: how many of the parameters are in experts, "
                "such as expert_parameters: 650 B"
            )
        if self.tensor % (self.expert_tensor or self.tensor):
            raise ValueError(
                f"expert_tensor {self.expert_tensor} does not divide tensor {self.tensor}; "
                "give 1, or a divisor of tensor"
            )
        return self


def _one_or_several(value: object) -> str:
    return "several" if isinstance(value, (list, tuple)) else "one"


Options = Annotated[
    Annotated[Parallelism, Tag("one")]
    | Annotated[
        Annotated[tuple[Parallelism, ...], Field(min_length=1, max_length=20)], Tag("several")
    ],
    Discriminator(_one_or_several),
]


def _points_kind(value: object) -> str:
    if value == "open":
        return "open"
    return "several" if isinstance(value, (list, tuple)) else "one"


Points = Annotated[
    Annotated[Literal["open"], Tag("open")]
    | Annotated[PositiveShare, Tag("one")]
    | Annotated[Annotated[tuple[PositiveShare, ...], Field(min_length=1)], Tag("several")],
    Discriminator(_points_kind),
]


class PowerPoints(Model):
    """At which power the GPUs may run: caps as shares of their rated power.

    ``open`` leaves the choice among 100 % and every point of the curve in a type's catalog to the
    plan.
    """

    points: Points

    @property
    def asked(self) -> tuple[float, ...] | None:
        """The caps that are allowed, None where every one is."""
        if self.points == "open":
            return None
        return self.points if isinstance(self.points, tuple) else (self.points,)

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if self.asked is not None and len(set(self.asked)) < len(self.asked):
            raise ValueError("points has a cap twice; give each once")
        return self


class ScaleRow(Model):
    """Scaling efficiency at a number of GPUs, relative to a small job."""

    gpus: PositiveWhole
    share: PositiveShare


class Scale(Model):
    """Scaling efficiency curve: exactly one of two laws.

    ``exponent`` e: the rate of a GPU goes with ``(N / reference)^-e``. ``table``: shares at so many
    GPUs, straight lines between them on logarithmic scales; the first row's share below it, the
    last line's slope beyond it.
    """

    exponent: Share | None = None
    reference: PositiveWhole | None = None
    table: tuple[ScaleRow, ...] | None = Field(default=None, min_length=2, max_length=50)

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if (self.exponent is None) == (self.table is None):
            raise ValueError(
                "give exactly one of exponent: 0.03 (with reference: 2048) or "
                "table: [{gpus: 512, share: 100 %}, ...]"
            )
        if self.exponent is not None and self.exponent >= 1.0:
            raise ValueError("an exponent of 1 or more says that more GPUs do no more work")
        rows = self.table or ()
        for one, other in pairwise(rows):
            if other.gpus <= one.gpus or other.share > one.share:
                raise ValueError("table: gpus must rise from row to row, shares must not")
            if other.share * other.gpus <= one.share * one.gpus:
                raise ValueError(
                    f"table: {other.gpus} GPUs do no more work than {one.gpus}; end the table "
                    "where more GPUs stop paying"
                )
        return self


Precisions = Annotated[
    Annotated[Precision, Tag("one")]
    | Annotated[Annotated[tuple[Precision, ...], Field(min_length=1)], Tag("several")],
    Discriminator(_one_or_several),
]


ASSUMED_AT_GPUS = 1024
"""Job size at which an assumed rate holds, where a law of scale counts."""


class Training(Model):
    """Model and rate of training: for days to train and useful FLOP/s.

    Either ``mfu``, a share of the peak of every type, or ``model``: the rates measured with that
    model or class of models (``dense``, ``moe``), which the catalogs list as ``achieved``. A type
    without such a rate is left out, unless ``assumed_mfu`` states the share of its dense peak to
    count with. ``rate_factor`` multiplies every measured or assumed rate.
    """

    tokens: Tokens | None = None
    mfu: PositiveShare | None = None
    assumed_mfu: PositiveShare | None = None
    rate_factor: Number = 1.0
    precision: Precisions = "bf16"
    active_parameters: Parameters | None = None
    model: Text | None = None
    scale: Scale | None = None

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions that the plan may choose from."""
        return self.precision if isinstance(self.precision, tuple) else (self.precision,)

    @property
    def scale_reference(self) -> int | None:
        """The GPUs at which ``mfu`` holds, where that is stated."""
        return None if self.scale is None else self.scale.reference

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        if self.mfu is not None and self.model is not None:
            raise ValueError("mfu does not go with model, whose rates are measured; give one")
        if self.assumed_mfu is not None and self.model is None:
            raise ValueError("assumed_mfu is for types without a measured rate; give model: dense")
        if self.rate_factor != 1.0 and self.model is None:
            raise ValueError("rate_factor is of measured rates; change mfu, or give model: dense")
        if self.model is None and len(set(self.precisions)) > 1:
            raise ValueError(
                "one mfu says nothing about several precisions; give model: llama3.1_405b, "
                "or one precision"
            )
        if len(set(self.precisions)) < len(self.precisions):
            raise ValueError("precision has one twice; give each once")
        if self.model is None and "nvfp4" in self.precisions:
            raise ValueError("catalogs have no peak for nvfp4; give model: llama3.1_405b")
        scale = self.scale
        if scale is not None and self.mfu is None and self.model is None:
            raise ValueError("scale needs the rate it acts on; give mfu or model")
        if scale is not None and self.mfu is not None and scale.exponent is not None:
            if scale.reference is None:
                raise ValueError("with mfu an exponent needs scale.reference: the GPUs it holds at")
        return self
