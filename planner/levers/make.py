"""Making one lever: where it stands, and what the problem is without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.inputs import Change, Inputs, value_at
from planner.levers.model import Direction, Lever
from planner.limits import Limit


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
