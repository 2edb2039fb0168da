"""An input that goes from low to high: its place, and the changes at either end."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from planner.errors import Finding, InputError
from planner.inputs import Change, Inputs
from planner.levers.numbers import written
from planner.loader.vary.place import NoPlaceError, short
from planner.studies.sensitivity.labels import label, labels
from planner.studies.sensitivity.uncertain.unknown import Field

SPAN_FIX = "write for example --vary budget.capex=400MUSD:500MUSD, =x0.8:x1.2 or =+-20%"
_AROUND = re.compile(r"(?:\+-|\+/-|±)\s*(\d+(?:\.\d+)?)\s*%\Z")
_WRITTEN = {unit: unit for unit in ("kW", "USD", "s", "GB/s", "TB", "share")} | {"day": "days"}
"""Units that are written in another one where that is shorter, and what they are called there."""
_NEAR = 1e-9


@dataclass(frozen=True)
class Side:
    """One end: the value as the problem file has it, as a number or word, and its changes."""

    text: str
    value: float | str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Span:
    """An input with both its ends."""

    path: str
    label: str
    unit: str
    base_text: str
    low: Side
    high: Side


def asked(inputs: Inputs, option: str) -> Span:
    """Return the span that a ``PATH=LOW:HIGH`` or ``PATH=+-20%`` asks for.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or a value is refused.
    """
    origin = f"--vary {option if len(option) <= 80 else option[:77] + '...'}"
    path, separator, spec = (part.strip() for part in option.partition("="))
    if not (path and separator and spec):
        raise InputError(Finding("vary", "not PATH=LOW:HIGH", origin, fix=SPAN_FIX))
    try:
        field = Field(inputs, path)
    except NoPlaceError as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None
    found = _AROUND.match(spec)
    if found is not None:
        span = around(inputs, field, float(found[1]) / 100.0)
        if span is None:
            message = f"there is no number here to take {spec} of"
            raise InputError(Finding("vary", message, origin, fix="write LOW:HIGH"))
        return span
    ends = [part.strip() for part in spec.split(":")]
    if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
        raise InputError(Finding("vary", f"'{spec[:60]}' is not LOW:HIGH", origin, fix=SPAN_FIX))
    low, high = (_read(field, text, origin) for text in ends)
    return _span(inputs, field, low, high)


def around(
    inputs: Inputs, field: Field, by: float, least: float = -math.inf, most: float = math.inf
) -> Span | None:
    """Return the span of a number by a share of it to either side, within what may stand there.

    Whole numbers go at least one up and down. None where there is no number, or no way to go.

    Args:
        inputs: the problem.
        field: where the number stands.
        by: the share.
        least: go no lower.
        most: go no higher.
    """
    base = field.base
    if base is None or not base or not field.numeric:
        return None
    low, high = base * (1.0 - by), base * (1.0 + by)
    if field.slot.whole and not field.several:
        low, high = math.floor(low + _NEAR), math.ceil(high - _NEAR)
    bottom, top = field.ends
    low, high = max(low, bottom, least), min(high, top, most)
    sides = _at(field, min(low, base)), _at(field, max(high, base))
    if sides[0] == sides[1]:
        return None
    return _span(inputs, field, *sides)


def _span(inputs: Inputs, field: Field, low: Side, high: Side) -> Span:
    base = field.variable.first.standing
    text = short(base) if field.base is None else _shown(field, field.base)
    name = label(inputs, field.path, labels(inputs))
    return Span(field.path, name, _unit(field), text, low, high)


def _unit(field: Field) -> str:
    return field.unit if field.numeric else ""


def _at(field: Field, number: float) -> Side:
    """Return the end at a number; the number that stands there where another is refused."""
    reading = field.read(field.text(number))
    if reading.faults:
        assert field.base is not None
        return Side(_shown(field, field.base), field.base, ())
    return Side(_shown(field, number), number, reading.changes)


def _read(field: Field, text: str, origin: str) -> Side:
    """Return the end at a text of the user's.

    Raises:
        InputError: it is refused.
    """
    reading = field.read(text)
    if reading.faults:
        raise InputError([replace(f, file=origin, path=field.path) for f in reading.faults])
    value = field.variable.cell(reading, field.variable.shown([text]))
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Side(_shown(field, float(value)), float(value), reading.changes)
    return Side(text, text, reading.changes)


def _shown(field: Field, number: float) -> str:
    """Return a number as a problem file has it, in a unit that keeps it short."""
    if field.unit in _WRITTEN and not field.slot.whole:
        return written(number, _WRITTEN[field.unit])
    return field.text(number)
