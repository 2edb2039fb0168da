"""Validated inputs with a value changed in memory, by the dotted path that ``--set`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from planner.limits import entry, field_of
from planner.limits import value_at as _value_at
from planner.loader.inputs import Inputs
from planner.schema.problem import Quantity


@dataclass(frozen=True)
class Change:
    """One value of the problem replaced; ``text`` is what ``--set`` would be given."""

    path: str
    value: Any
    text: str

    @property
    def setting(self) -> str:
        """The change as ``--set`` takes it."""
        return f"{self.path}={self.text}"


def key_of(changes: Iterable[Change]) -> tuple[tuple[str, str], ...]:
    """Return what tells changes apart, for answers that are kept."""
    return tuple((change.path, repr(change.value)) for change in changes)


def applied(inputs: Inputs, changes: Iterable[Change], *, told: bool = False) -> Inputs:
    """Return the inputs with changes made.

    Args:
        inputs: validated inputs.
        changes: what to change, in this order.
        told: whether plans made of them tell the changes in their provenance.
    """
    for change in changes:
        inputs = changed(inputs, change.path, change.value, change.text if told else None)
    return inputs


def changed(inputs: Inputs, path: str, value: Any, text: str | None = None) -> Inputs:
    """Return the inputs with one value of the problem replaced.

    Args:
        inputs: validated inputs.
        path: as for ``--set``: ``budget.capex``, ``jobs.0.restore.max_time``, ``items.ID.max``.
        value: in the canonical unit of the field; None takes an optional value away.
        text: what ``--set`` would be given; it is then told in the plan's provenance.

    Raises:
        KeyError: the problem has no such place.
    """
    problem = _replaced(inputs.problem, path.split("."), value, path)
    told = () if text is None else (f"{path}={text}",)
    return replace(inputs, problem=problem, overrides=(*inputs.overrides, *told))


def value_at(inputs: Inputs, path: str) -> Any:
    """Return the value at a dotted path, None where nothing is given.

    Raises:
        KeyError: the problem has no such place.
    """
    return _value_at(inputs.problem, path)


def _replaced(here: Any, steps: list[str], value: Any, path: str) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    below = entry(here, step, path)
    if below is None and rest:
        if not path.startswith("items."):
            raise KeyError(path)
        below = Quantity()
    new = _replaced(below, rest, value, path)
    if isinstance(here, BaseModel):
        return here.model_copy(update={field_of(type(here), step, path): new})
    if isinstance(here, Mapping):
        return {**here, step: new}
    return (*here[: int(step)], new, *here[int(step) + 1 :])
