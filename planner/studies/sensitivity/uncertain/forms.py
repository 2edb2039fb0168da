"""The distributions that can be asked for by name, each made of what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner import units
from planner.errors import Finding
from planner.loader.vary.place import number_of
from planner.loader.vary.values import factor
from planner.studies.sensitivity.uncertain.shapes import (
    Lognormal,
    Loguniform,
    Normal,
    Shape,
    Triangular,
    Uniform,
)
from planner.studies.sensitivity.uncertain.unknown import Field
from planner.units import QuantityError

Make = Callable[[Field, Sequence[str]], Shape]
EXAMPLES = {
    "uniform": "uniform(8 MW, 12 MW)",
    "triangular": "triangular(8 MW, 10 MW, 11 MW)",
    "normal": "normal(10 MW, 1 MW)",
    "lognormal": "lognormal(10 MW, 1.2)",
    "loguniform": "loguniform(5 MW, 20 MW)",
    "discrete": "discrete(8 MW: 0.3, 10 MW: 0.7)",
}
"""How each is written."""


class WrongError(ValueError):
    """A distribution that cannot be; ``fix`` says what would be right."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix


def value(field: Field, text: str) -> float:
    """Return a quantity of a field, or a factor of what stands there, in the unit drawn.

    Raises:
        WrongError: it is neither.
        QuantityError: it has the wrong unit, or none.
    """
    share = factor(text)
    if share is not None:
        if field.base is None:
            message = f"there is no number here to take {clip(text)} of"
            raise WrongError(message, "write the values themselves")
        return float(share) * field.base
    if field.several:
        message = f"'{field.path}' means several values, and {clip(text)} is no factor of them"
        raise WrongError(message, "write for example uniform(x0.8, x1.2)")
    if field.slot.unit is not None:
        return units.parse(text, field.slot.unit.dimension)
    if field.slot.whole:
        return units.parse(text, units.NUMBER)
    reading = field.read(text)
    refuse(reading.faults)
    return float(number_of(reading.changes[0].value) or 0.0)


def refuse(faults: Sequence[Finding]) -> None:
    """Raise the first of several faults, where there are any."""
    if faults:
        raise WrongError(faults[0].message, faults[0].fix)


def clip(text: str) -> str:
    """Return a text short enough for a message."""
    return text if len(text) <= 40 else text[:37] + "..."


def _uniform(field: Field, given: Sequence[str]) -> Shape:
    return Uniform(*_ends(field, *given))


def _loguniform(field: Field, given: Sequence[str]) -> Shape:
    low, high = _ends(field, *given)
    if low <= 0.0:
        raise WrongError(f"LOW {given[0]} of a loguniform is not more than 0", "take uniform")
    return Loguniform(low, high)


def _triangular(field: Field, given: Sequence[str]) -> Shape:
    (low, high), mode = _ends(field, given[0], given[2]), value(field, given[1])
    if not low <= mode <= high:
        message = f"MODE {given[1]} is not between LOW {given[0]} and HIGH {given[2]}"
        raise WrongError(message, "write triangular(LOW, MODE, HIGH)")
    return Triangular(low, mode, high)


def _normal(field: Field, given: Sequence[str]) -> Shape:
    mean, deviation = (value(field, text) for text in given)
    if deviation <= 0.0:
        raise WrongError(f"SD {given[1]} is not more than 0", "write normal(MEAN, SD)")
    refuse(field.refused(mean))
    return Normal(mean, deviation, *field.ends)


def _lognormal(field: Field, given: Sequence[str]) -> Shape:
    median, text = value(field, given[0]), given[1].removeprefix("x")
    try:
        spread = units.parse(text, units.NUMBER)
    except QuantityError:
        spread = 0.0
    if spread <= 1.0:
        message = f"FACTOR {clip(given[1])} of a lognormal is no number above 1"
        fix = "it is exp(sigma): two thirds lie between MEDIAN / FACTOR and MEDIAN * FACTOR"
        raise WrongError(message, fix)
    if median <= 0.0:
        raise WrongError(f"MEDIAN {given[0]} of a lognormal is not more than 0", "take normal")
    refuse(field.refused(median))
    return Lognormal(median, spread, *field.ends)


FORMS: dict[str, tuple[tuple[str, ...], Make]] = {
    "uniform": (("LOW", "HIGH"), _uniform),
    "triangular": (("LOW", "MODE", "HIGH"), _triangular),
    "normal": (("MEAN", "SD"), _normal),
    "lognormal": (("MEDIAN", "FACTOR"), _lognormal),
    "loguniform": (("LOW", "HIGH"), _loguniform),
}
"""What each distribution is given, and what makes it."""


def _ends(field: Field, lowest: str, highest: str) -> tuple[float, float]:
    """Return both ends, such as the field takes."""
    low, high = value(field, lowest), value(field, highest)
    if low > high:
        raise WrongError(f"LOW {lowest} is more than HIGH {highest}", "swap them")
    if low == high:
        message = f"from {lowest} to {highest} there is nothing uncertain"
        raise WrongError(message, "leave it out, or change it with --set")
    for end in (low, high):
        refuse(field.refused(end))
    return low, high
