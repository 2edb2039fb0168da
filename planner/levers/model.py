"""A limit of the problem as something its owner may move: its place, and which way is looser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from planner.inputs import Change
from planner.levers.numbers import written

Direction = Literal[1, -1]


@dataclass(frozen=True)
class Lever:
    """A limit, demand or choice of the problem that its owner could decide otherwise.

    A lever with a ``value`` can be moved: ``looser`` says whether up (1) or down (-1) lets more
    plans in, ``least`` and ``most`` how far. One without is a choice: it stands or falls.
    ``limit`` is its name among the limits of a plan, where it has one. ``stated`` says whether the
    user gave it; else it is a default.
    """

    path: str
    label: str
    off: tuple[Change, ...]
    value: float | None = None
    unit: str = ""
    looser: Direction = 1
    whole: bool = False
    least: float = 0.0
    most: float = math.inf
    limit: str = ""
    stated: bool = True
    place: str | None = None
    between: bool = False
    choice: str = ""

    @property
    def loosest(self) -> float:
        """How far it can be moved at all."""
        return self.most if self.looser > 0 else self.least

    def looser_than(self, one: float, other: float) -> bool:
        """Say whether one value lets more plans in than another."""
        return (one - other) * self.looser > 0

    def text(self, value: float) -> str:
        """Return a value as the problem file has it."""
        return f"{round(value)}" if self.whole else written(value, self.unit)

    def to(self, value: float) -> tuple[Change, ...]:
        """Return the changes that give the lever a value, as a user would make them."""
        stored: Any = round(value) if self.whole else value
        return (Change(self.path, stored, self.text(value)),)

    def reaching(self, value: float) -> tuple[Change, ...]:
        """Return the changes that allow everything from where the lever stands to ``value``.

        The same as ``to``, but where a value is asked for exactly: there a looser one would not let
        all in that a tighter one does.
        """
        if not self.between:
            return self.to(value)
        assert self.value is not None
        low, high = sorted((self.value, value))
        if self.path.startswith("items."):
            stem = self.path.rpartition(".")[0]
            counts = {"fixed": None, "min": round(low), "max": round(high)}
            return tuple(Change(f"{stem}.{key}", each, "") for key, each in counts.items())
        stem = self.path.rpartition(".")[0]
        return (Change(stem, _between(low, high), ""),)


def _between(low_s: float, high_s: float) -> Any:
    from planner.schema.problem import OptimalInterval

    return OptimalInterval.model_construct(policy="optimal", min_s=low_s, max_s=high_s)
