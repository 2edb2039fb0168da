"""Checkpoints on two levels: what the local one survives, how the job comes back from either."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from planner.schema.base import Identifier, Model, Number, PositiveShare, Seconds, SecondsOrZero


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
    def _says_something(self) -> FailureRate:
        if self.per_gpu_day is None and self.rate is None and not self.shares:
            raise ValueError("give a rate, such as rate: llama3 or per_gpu_day: 0.0005, or shares")
        return self


DEFAULT_FAILURES: FailurePreset = "llama3"
