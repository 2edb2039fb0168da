"""A limit of the problem as something its owner may move: its place, and which way is looser."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from planner.inputs import Change, Inputs, value_at
from planner.levers.numbers import written
from planner.limits import Limit

# A limit of the problem as something its owner may move: its place, and which way is looser.


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


# Making one lever: where it stands, and what the problem is without it.


def given(inputs: Inputs, *rows: Limit) -> Iterator[Lever]:
    """Yield a lever for each limit of the table that is given and may be left out."""
    for row in rows:
        value = value_at(inputs, row.path)
        if value is not None:
            off = (Change(row.path, None, "null"),)
            yield amount(
                inputs, row.path, row.demand, row.file_unit, row.looser, value, off, limit=row.name
            )


def amount(
    inputs: Inputs,
    path: str,
    label: str,
    unit: str,
    looser: Direction,
    value: float,
    off: tuple[Change, ...],
    **more: Any,
) -> Lever:
    """Return a lever that can be moved; one without a unit counts in whole numbers."""
    whole = more.pop("whole", isinstance(value, int))
    return Lever(
        path=path,
        label=label,
        off=off,
        value=float(value),
        unit=unit,
        looser=looser,
        whole=whole,
        stated=stated(inputs, path),
        place=inputs.where(path),
        **more,
    )


def bounded(
    inputs: Inputs, path: str, label: str, unit: str, looser: Direction, loosest: float, **more: Any
) -> Lever:
    """Return a lever that always has a value and can be moved as far as ``loosest``."""
    value = value_at(inputs, path)
    key = "most" if looser > 0 else "least"
    end = round(loosest) if isinstance(value, int) else loosest
    more = {key: loosest, "off": (Change(path, end, ""),), **more}
    return amount(inputs, path, label, unit, looser, value, **more)


def moved(inputs: Inputs, row: Limit, loosest: float, **more: Any) -> Lever:
    """Return the lever of a limit of the table that always has a value."""
    more = {"limit": row.name, **more}
    return bounded(inputs, row.path, row.demand, row.file_unit, row.looser, loosest, **more)


def choice(inputs: Inputs, path: str, label: str, what: str, *off: Change) -> Lever:
    """Return a choice that can be given up; ``what`` says in words what giving it up means."""
    return Lever(
        path=path,
        label=label,
        off=off,
        choice=what,
        stated=stated(inputs, path),
        place=inputs.where(path),
    )


def stated(inputs: Inputs, path: str) -> bool:
    """Say whether the user wrote a value; of inputs without a file, whether it is no default."""
    if inputs.document is not None:
        return inputs.where(path) is not None
    here: Any = inputs.problem
    for step in path.split("."):
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, tuple):
            here = here[int(step)]
        else:
            fields = type(here).model_fields if here is not None else {}
            names = [name for name, f in fields.items() if step in (f.alias, name)]
            if not names or names[0] not in here.model_fields_set:
                return False
            here = getattr(here, names[0])
    return True
