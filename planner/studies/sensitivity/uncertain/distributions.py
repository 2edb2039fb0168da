"""Inputs that are not known exactly: their distributions by quantiles, and how they are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner import units
from planner.errors import Finding, FixableError, InputError, clip, did_you_mean
from planner.inputs import Change, Inputs
from planner.loader.vary.axis import FACTOR, Reading, Variable, factor
from planner.loader.vary.place import NoPlaceError, number_of
from planner.paths import job_path
from planner.schema.running import DEFAULT_FAILURES
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.goodput import FAILURES_PER_GPU_DAY
from planner.studies.sensitivity.scenarios import label, labels
from planner.units import QuantityError

Numbers = NDArray[np.float64]


class Shape(Protocol):
    """A distribution of a quantity, in the canonical unit of its field."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value that it can take; infinite where it has no end."""
        ...

    def at(self, shares: Numbers) -> Numbers:
        """Return its quantiles at shares between 0 and 1."""
        ...


@dataclass(frozen=True)
class Between:
    """A distribution with two ends."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high


class Uniform(Between):
    """Every value between two ends is as likely as any other."""

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        return self.low + shares * (self.high - self.low)


class Loguniform(Between):
    """Every factor is as likely as any other of its size, between two ends."""

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        low, high = math.log(self.low), math.log(self.high)
        return np.clip(np.exp(low + shares * (high - low)), self.low, self.high)


@dataclass(frozen=True)
class Triangular:
    """Likeliest at the mode, from there straight down to nothing at both ends."""

    low: float
    mode: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        width, left, right = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = self.low + np.sqrt(shares * width * left)
        falling = self.high - np.sqrt((1.0 - shares) * width * right)
        return np.where(shares < left / width, rising, falling)


@dataclass(frozen=True)
class Normal:
    """Normal, without what lies outside of least and most."""

    mean: float
    deviation: float
    least: float = -math.inf
    most: float = math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Where it is cut off."""
        return self.least, self.most

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        least, most = ((end - self.mean) / self.deviation for end in self.ends)
        return np.clip(self.mean + self.deviation * _quantile(shares, least, most), *self.ends)


@dataclass(frozen=True)
class Lognormal:
    """Normal in the logarithm, without what lies outside of least and most.

    Two thirds of the values lie between ``median / factor`` and ``median * factor``: the factor is
    exp(sigma).
    """

    median: float
    factor: float
    least: float = 0.0
    most: float = math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Where it is cut off."""
        return max(self.least, 0.0), self.most

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        sigma = math.log(self.factor)
        least, most = (
            -math.inf if end <= 0.0 else math.log(end / self.median) / sigma for end in self.ends
        )
        drawn = self.median * np.exp(sigma * _quantile(shares, least, most))
        return np.clip(drawn, *self.ends)


@dataclass(frozen=True)
class Discrete:
    """One of several values, each with its probability."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return min(self.values), max(self.values)

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles, in the order in which the values were given."""
        edges = np.cumsum(self.shares)[:-1]
        return np.asarray(self.values, dtype=float)[np.searchsorted(edges, shares, side="right")]


def _quantile(shares: Numbers, least: float, most: float) -> Numbers:
    """Return quantiles of the standard normal distribution between two ends."""
    from scipy.special import ndtr, ndtri

    if least > 0.0:  # the far side keeps its digits only where it is near 0
        return -_quantile(1.0 - shares, -most, -least)
    below = ndtr(least)
    return np.asarray(ndtri(below + shares * (ndtr(most) - below)), dtype=float)


_DIGITS = 9
"""Digits of what is drawn: as many as a change can be told with."""
_PRESETS = {"per_gpu_day": FAILURES_PER_GPU_DAY, "bytes_per_parameter": BYTES_PER_PARAMETER}
"""What words stand for where a number may stand, too."""


class Field:
    """A path of the input with what its numbers may be.

    ``base`` is the number that stands there, None where none does; where the path means several
    places (``prices.*.list``) it is 1, and what is drawn are factors.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        """Find it.

        Raises:
            NoPlaceError: the path leads nowhere.
        """
        self.variable = Variable(inputs, path)
        self.path, self.several = self.variable.path, self.variable.several
        self.slot = self.variable.first.slot
        self.base = 1.0 if self.several else _standing(inputs, self.variable)

    @property
    def numeric(self) -> bool:
        """Whether it takes numbers."""
        return self.slot.numeric

    @property
    def unit(self) -> str:
        """The unit of what is drawn; x for factors of values as they stand."""
        if self.several:
            return FACTOR
        unit = self.slot.unit
        return "share" if unit and unit.dimension is units.SHARE else self.slot.symbol

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that it takes."""
        if self.several:
            return 0.0, units.HUGE
        if self.slot.unit is None:
            return (1.0 if self.read("0").faults else 0.0), units.HUGE
        return self.slot.unit.low, self.slot.unit.high

    def text(self, number: float) -> str:
        """Return a number as the field would have it, or as a factor."""
        if self.slot.whole and not self.several:
            return str(round(number))
        return self.variable.text_of(float(f"{number:.{_DIGITS}g}"), factors=self.several)

    def read(self, text: str) -> Reading:
        """Return what a text means here."""
        return self.variable.read(text)

    def refused(self, number: float) -> tuple[Finding, ...]:
        """Return what is wrong with a number, nothing where it may stand here."""
        return self.read(self.text(number)).faults


@dataclass(frozen=True)
class Unknown:
    """An input with its distribution, and that in words.

    Where ``choices`` are given, they are what can stand here as texts, and the distribution is that
    of their places among them.
    """

    field: Field
    shape: Shape
    words: str
    label: str
    choices: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its path."""
        return self.field.path

    @property
    def unit(self) -> str:
        """The unit of what is drawn."""
        return "choice" if self.choices else self.field.unit

    def draw(self, number: float) -> tuple[tuple[Change, ...], str]:
        """Return the changes that make it a number, or why that cannot be."""
        text = self.choices[round(number)] if self.choices else self.field.text(number)
        reading = self.field.read(text)
        return reading.changes, "; ".join(fault.text() for fault in reading.faults)

    def recorded(self, number: float) -> float:
        """Return a number as the record has it: choices are counted from 1."""
        if self.choices:
            return number + 1.0
        return float(round(number)) if self.field.slot.whole else number


def _standing(inputs: Inputs, variable: Variable) -> float | None:
    """Return the number that stands at a place, that of a preset where a word does."""
    place = variable.first
    value = place.standing
    if value is None and place.made is not None:
        value = _value_at(inputs, place.parent)
    elif value is None and place.path == job_path("failures.per_gpu_day"):
        # It counts in the place of the rate that stands beside it, or of the default.
        value = inputs.problem.job.failure_rate or DEFAULT_FAILURES
    if isinstance(value, str):
        preset = _PRESETS.get(place.path.rpartition(".")[2], {}).get(value)
        return None if preset is None else preset.value
    return number_of(value)


def _value_at(inputs: Inputs, path: str) -> object:
    return Variable(inputs, path).first.standing


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


class WrongError(FixableError):
    """A distribution that cannot be."""


def value(field: Field, text: str) -> float:
    """Return a quantity of a field, or a factor of what stands there, in the unit drawn.

    Raises:
        WrongError: it is neither.
        QuantityError: it has the wrong unit, or none.
    """
    share = factor(text)
    if share is not None:
        if field.base is None:
            message = f"there is no number here to take {clip(text, 40)} of"
            raise WrongError(message, "write the values themselves")
        return float(share) * field.base
    if field.several:
        message = f"'{field.path}' means several values, and {clip(text, 40)} is no factor of them"
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
        message = f"FACTOR {clip(given[1], 40)} of a lognormal is no number above 1"
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


FIX = "write for example --vary 'site.facility_power=uniform(8 MW, 12 MW)'"
_CALL = re.compile(r"([A-Za-z_]+)\s*\((.*)\)\Z", re.DOTALL)
_INTERVAL = re.compile(r"(?:interval\s+)?(\S.*?)\s*\.\.\s*(\S.*)\Z")
_NUMBER = re.compile(r"x?\s*[+-]?\.?\d")
_SUM = 1e-6
_CLIP = 80


def unknown(inputs: Inputs, option: str) -> Unknown:
    """Return the input that a ``PATH=DISTRIBUTION`` is about.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or no such values may stand there.
    """
    origin = f"--vary {option if len(option) <= _CLIP else option[: _CLIP - 3] + '...'}"
    path, separator, text = option.partition("=")
    if not separator or not path.strip() or not text.strip():
        raise InputError(Finding("dist", "not PATH=DISTRIBUTION", origin, fix=FIX))
    try:
        return describe(inputs, Field(inputs, path), text.strip())
    except (NoPlaceError, WrongError, QuantityError) as error:
        raise InputError(Finding("dist", str(error), origin, fix=error.fix)) from None


def describe(inputs: Inputs, field: Field, text: str, reason: str = "") -> Unknown:
    """Return a field with a distribution as it is written.

    Args:
        inputs: the problem, for what the field is called.
        field: where it stands.
        reason: why it is this one.

    Raises:
        WrongError: it is no distribution, or none of this field.
        QuantityError: a value has the wrong unit, or none.
    """
    name, given = _parts(text)
    words = f"{text}: {reason}" if reason else text
    called = label(inputs, field.path, labels(inputs))
    if name == "discrete":
        shape, choices = _discrete(field, given)
        return Unknown(field, shape, words, called, choices)
    if not field.numeric:
        message = f"'{field.path}' takes no numbers"
        raise WrongError(message, "write discrete(A: 0.3, B: 0.7) with what may stand there")
    names, make = FORMS[name]
    if len(given) != len(names):
        count = "1 value" if len(given) == 1 else f"{len(given)} values"
        raise WrongError(f"'{clip(text, 40)}' has {count}", f"write {name}({', '.join(names)})")
    return Unknown(field, make(field, given), words, called)


def _parts(text: str) -> tuple[str, list[str]]:
    """Return the name of a distribution and what it is given."""
    call = _CALL.match(text)
    if call is None:
        interval = _INTERVAL.match(text)
        if interval is None:
            fix = f"write LOW..HIGH or {EXAMPLES['uniform']}; known: {', '.join(EXAMPLES)}"
            raise WrongError(f"'{clip(text, 40)}' is no distribution", fix)
        return "uniform", list(interval.groups())
    name = call[1].lower()
    if name not in EXAMPLES:
        fix = did_you_mean(name, list(EXAMPLES)) or f"known: {', '.join(EXAMPLES)}"
        raise WrongError(f"no distribution '{clip(call[1], 40)}'", fix)
    given = [part.strip() for part in call[2].split(",")]
    if not all(given):
        raise WrongError(f"'{clip(text, 40)}' has an empty value", f"such as {EXAMPLES[name]}")
    return name, given


def _discrete(field: Field, given: Sequence[str]) -> tuple[Shape, tuple[str, ...]]:
    """Return a distribution over values, and their texts where they are not all numbers."""
    pairs = [part.rpartition(":") for part in given]
    texts = [text.strip() for text, _, _ in pairs]
    shares = [_share(share.strip(), part) for (_, _, share), part in zip(pairs, given, strict=True)]
    if len(texts) < 2 or len(set(texts)) < len(texts):
        message = "a discrete distribution has at least two values, each once"
        raise WrongError(message, f"such as {EXAMPLES['discrete']}")
    if abs(sum(shares) - 1.0) > _SUM:
        raise WrongError(f"the probabilities add up to {sum(shares):.6g}", "they must add up to 1")
    if field.numeric and all(map(_NUMBER.match, texts)):
        numbers = tuple(value(field, text) for text in texts)
        for number in numbers:
            refuse(field.refused(number))
        return Discrete(numbers, tuple(shares)), ()
    for text in texts:
        refuse(field.read(text).faults)
    return Discrete(tuple(map(float, range(len(texts)))), tuple(shares)), tuple(texts)


def _share(text: str, part: str) -> float:
    try:
        share = units.parse(text, units.SHARE)
    except QuantityError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        message = f"'{clip(part, 40)}' is no value with its probability"
        raise WrongError(message, f"such as {EXAMPLES['discrete']}")
    return share
