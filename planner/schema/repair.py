"""The part of the problem file that says how failed hardware is mended, and what stands by."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from planner.schema.base import Model, PositiveShare, Seconds, SecondsOrZero, Whole

LONGEST_S = 365 * 86_400.0
"""The longest mean time of repair: what stays out for longer is bought anew, not waited for."""


class RepairClass(Model):
    """Failures that take hardware out for a time of their own, as a share of interruptions."""

    share: PositiveShare
    time_s: Seconds = Field(alias="time")

    @model_validator(mode="after")
    def _comes_back(self) -> RepairClass:
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
    """How failed hardware is mended, and what stands by for it meanwhile.

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
    def _complete(self) -> Repair:
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
