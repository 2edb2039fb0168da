"""What a job's log says of repair and of failures by kind: units out and back, the level of
checkpoints that a restart came from, the class of each failure.

A log may have the events ``unit_out`` and ``unit_back``, and the columns ``unit``, ``level`` (of a
``resume``: local or remote) and ``class`` (of a ``failure``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.schema.telemetry import Measured
from planner.telemetry.raw import per_event, poisson

LEVELS = ("local", "remote")
COMPLETE = 0.9
"""Share of the failures of which a log must tell the class, for shares to be taken from it."""
_PLACES = 4


class LogRow(Protocol):
    """A row of a log, in order of time, s."""

    @property
    def at_s(self) -> float:
        """When."""

    @property
    def event(self) -> str:
        """What happened."""

    @property
    def unit(self) -> str:
        """Which unit went out or came back; empty where it is not told."""

    @property
    def kind(self) -> str:
        """Of which class a failure was; empty where it is not told."""


@dataclass(frozen=True)
class Mended:
    """What a log says of hardware and of kinds of failures; None or empty where it says too little.

    Attributes:
        repair_s: mean time that a unit is out.
        share: of the failures, those that took a unit out.
        out: how many units went out.
        classes: share of the failures by class; they add up to 1.
    """

    repair_s: Measured | None
    share: Measured | None
    out: int
    classes: dict[str, float]


def mended(rows: Sequence[LogRow]) -> Mended:
    """Return what a job's log says of hardware and kinds of failures.

    Time that units are still out at the end of the log counts, so that long repairs are not left
    out: the mean is all time out over the repairs that ended.
    """
    since: dict[str, list[float]] = {}
    out_s, ended = 0.0, 0
    for row in rows:
        if row.event == "unit_out":
            since.setdefault(row.unit, []).append(row.at_s)
        elif row.event == "unit_back" and since.get(row.unit):
            out_s += row.at_s - since[row.unit].pop(0)
            ended += 1
    out_s += sum(rows[-1].at_s - began for times in since.values() for began in times)
    failures = [row for row in rows if row.event == "failure"]
    out = sum(row.event == "unit_out" for row in rows)
    return Mended(per_event(out_s, ended), _share(out, len(failures)), out, _classes(failures))


def _share(part: int, whole: int) -> Measured | None:
    """Return a share of failures with the range of a Poisson count; None without failures."""
    if not part or part > whole:
        return None
    low, high = poisson(part)
    return Measured(value=part / whole, low=low / whole, high=min(1.0, high / whole))


def _classes(failures: Sequence[LogRow]) -> dict[str, float]:
    """Return the share of each class, rounded so that they add up to 1 as written."""
    told = Counter(row.kind for row in failures if row.kind)
    known = sum(told.values())
    if not known or known < COMPLETE * len(failures):
        return {}
    first, *others = [name for name, _ in told.most_common()]
    shares = {name: round(told[name] / known, _PLACES) for name in others}
    return {first: round(1.0 - sum(shares.values()), _PLACES), **shares}
