"""Inputs by path that a study changes, and how uncertain ones are distributed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from planner import units
from planner.case import Case, resolve
from planner.errors import Finding, FixableError, InputError, clip, did_you_mean
from planner.inputs import Change, Inputs
from planner.levers import levers
from planner.loader import NoPlaceError
from planner.loader.axes import FACTOR, Reading, Variable, factor, refuse_overlap
from planner.loader.places import number_of
from planner.paths import job_path
from planner.schema.catalog import Confidence
from planner.schema.job import DEFAULT_FAILURES
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, LOST_TIME
from planner.units import QuantityError

# Labels of paths

_WORDS = {"it": "IT", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "mfu": "MFU", "pdu": "PDU"}
_WORDS |= {"list": "list price"}
_PLAIN = {"consumes", "provides", "jobs", "targets"}
"""Steps of a path left out of its label."""


def labels(inputs: Inputs) -> dict[str, str]:
    """Labels of a problem's limits by path."""
    return {lever.path: lever.label for lever in levers(inputs) if not lever.choice}


def label(inputs: Inputs, path: str, known: Mapping[str, str]) -> str:
    """Label of a path: of its limit in ``known``, else words of its last steps."""
    if path in known:
        return known[path]
    steps, named = path.split("."), ""
    if steps[0] in {"items", "extras", "catalog", "prices"} and len(steps) > 2:
        models = {family.id: family.name for family in inputs.families}
        models |= {item.id: item.model for item in inputs.items}
        named = f" of {'every item' if steps[1] == '*' else models.get(steps[1], steps[1])}"
        steps = steps[2:]
    last = [step for step in steps if step not in _PLAIN and not step.isdigit()][-2:]
    return " ".join(_WORDS.get(word, word) for step in last for word in step.split("_")) + named


# Fields

_DIGITS = 9
_PRESETS = {"per_gpu_day": FAILURES_PER_GPU_DAY, "bytes_per_parameter": BYTES_PER_PARAMETER}
"""Numbers that words stand for."""


class Field:
    """A path with its possible numbers.

    ``base`` is the number in place, None where there is none; for a path of several places
    (``prices.*.list``) it is 1, and numbers are factors.

    Raises:
        NoPlaceError: the path leads nowhere.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.variable = Variable(inputs, path)
        self.money, self.rates = inputs.problem.shown_in, inputs.problem.currencies
        self.path, self.several = self.variable.path, self.variable.several
        self.slot = self.variable.first.slot
        self.base = 1.0 if self.several else _number_in_place(inputs, self.variable)

    @property
    def unit(self) -> str:
        """Unit of numbers; x for factors."""
        if self.several:
            return FACTOR
        unit = self.slot.unit
        return "share" if unit and unit.dimension is units.SHARE else self.slot.symbol

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most number."""
        if self.several:
            return 0.0, units.HUGE
        if self.slot.unit is None:
            return (1.0 if self.read("0").faults else 0.0), units.HUGE
        return self.slot.unit.low, self.slot.unit.high

    def text(self, number: float) -> str:
        """A number as in a problem file, or as a factor."""
        if self.slot.whole and not self.several:
            return str(round(number))
        return self.variable.text_of(float(f"{number:.{_DIGITS}g}"), factors=self.several)

    def read(self, text: str) -> Reading:
        """A text read as a value, or its faults."""
        return self.variable.read(text)


def _number_in_place(inputs: Inputs, variable: Variable) -> float | None:
    """Number in place, also where a word stands for it."""
    place = variable.first
    value = place.value
    if value is None and place.made is not None:
        value = Variable(inputs, place.parent).first.value
    elif value is None and place.path == job_path("failures.per_gpu_day"):
        value = inputs.problem.job.failure_rate or DEFAULT_FAILURES
    if isinstance(value, str):
        preset = _PRESETS.get(place.path.rpartition(".")[2], {}).get(value)
        return None if preset is None else preset.value
    return number_of(value)


# Distributions as text

KINDS: Mapping[str, tuple[str, ...]] = {
    "uniform": ("LOW", "HIGH"),
    "triangular": ("LOW", "MODE", "HIGH"),
    "loguniform": ("LOW", "HIGH"),
}
"""Distributions with their arguments."""
EXAMPLE = "uniform(8 MW, 12 MW)"
FIX = f"write for example --vary 'site.facility_power={EXAMPLE}'"
_CALL = re.compile(r"([A-Za-z_]+)\s*\((.*)\)\Z", re.DOTALL)
_INTERVAL = re.compile(r"(\S.*?)\s*\.\.\s*(\S.*)\Z")


class DistributionError(FixableError):
    """A distribution that cannot be."""


class Unknown(NamedTuple):
    """An uncertain input; ``distribution`` is one of scipy.stats, ``words`` as written."""

    field: Field
    distribution: Any
    words: str
    label: str

    def draw(self, number: float) -> tuple[tuple[Change, ...], str]:
        """Changes that set a number, and why it is refused."""
        reading = self.field.read(self.field.text(number))
        return reading.changes, "; ".join(fault.text() for fault in reading.faults)


def unknowns(inputs: Inputs, dists: Sequence[str]) -> tuple[Unknown, ...]:
    """Inputs of ``PATH=DISTRIBUTION`` texts; without any those usually uncertain.

    Raises:
        InputError: a distribution cannot be read or does not fit its path, or two of them overlap.
    """
    known, found = labels(inputs), list[Unknown]()
    if not dists:
        for path, text, reason in _usual(inputs, resolve(inputs)):
            with suppress(NoPlaceError):  # the problem does not state it
                found.append(_read(inputs, path, text, known, reason))
        return tuple(found)
    for option in dists:
        origin = f"--vary {clip(option, 80)}"
        path, separator, text = option.partition("=")
        if not separator or not path.strip() or not text.strip():
            raise InputError(Finding("dist", "not PATH=DISTRIBUTION", origin, fix=FIX))
        try:
            found.append(_read(inputs, path, text.strip(), known))
        except (NoPlaceError, DistributionError, QuantityError) as error:
            raise InputError(Finding("dist", str(error), origin, fix=error.fix)) from None
    refuse_overlap(each.field.variable for each in found)
    return tuple(found)


def _read(
    inputs: Inputs, path: str, text: str, known: Mapping[str, str], reason: str = ""
) -> Unknown:
    """Read the distribution of a path.

    Raises:
        NoPlaceError, DistributionError, QuantityError: path, distribution or a value is wrong.
    """
    field, (name, given) = Field(inputs, path), _parts(text)
    if not field.slot.numeric:
        message = f"'{field.path}' takes no numbers"
        raise DistributionError(message, f"--mode grid takes words: --vary {field.path}=A,B")
    words = f"{text}: {reason}" if reason else text
    return Unknown(field, _law(field, name, given), words, label(inputs, field.path, known))


def _parts(text: str) -> tuple[str, list[str]]:
    """Name of a distribution and its arguments."""
    call, interval = _CALL.match(text), _INTERVAL.match(text)
    if call is None and interval is not None:
        return "uniform", list(interval.groups())
    if call is None:
        fix = f"write LOW..HIGH or {EXAMPLE}; known: {', '.join(KINDS)}"
        raise DistributionError(f"'{clip(text, 40)}' is no distribution", fix)
    name = call[1].lower()
    if name not in KINDS:
        fix = did_you_mean(name, list(KINDS)) or f"known: {', '.join(KINDS)}"
        raise DistributionError(f"no distribution '{clip(call[1], 40)}'", fix)
    given = [part.strip() for part in call[2].split(",")]
    if not all(given) or len(given) != len(KINDS[name]):
        message = f"'{clip(text, 40)}' has {len(list(filter(None, given)))} values"
        fix = f"write {name}({', '.join(KINDS[name])})"
        raise DistributionError(f"{message}, not {len(KINDS[name])}", fix)
    return name, given


def _law(field: Field, name: str, given: Sequence[str]) -> Any:
    """Distribution of scipy.stats."""
    from scipy import stats

    numbers = [_value(field, text) for text in given]
    first, last = numbers[0], numbers[-1]
    shape = f"write {name}({', '.join(KINDS[name])})"
    _refuse(field.read(field.text(first)).faults)
    if sorted(numbers) != numbers or first == last:
        raise DistributionError(f"{', '.join(given)} do not rise from LOW to HIGH", shape)
    _refuse(field.read(field.text(last)).faults)
    if name == "triangular":
        return stats.triang((numbers[1] - first) / (last - first), first, last - first)
    if name == "uniform":
        return stats.uniform(first, last - first)
    if first <= 0.0:
        raise DistributionError(f"{given[0]} of a loguniform is not more than 0", shape)
    return stats.loguniform(first, last)


def _value(field: Field, text: str) -> float:
    """A quantity of a field, or a factor times its base, in the unit drawn.

    Raises:
        DistributionError: it is neither.
        QuantityError: it has the wrong unit, or none.
    """
    share = factor(text)
    if share is not None:
        if field.base is None:
            message = f"there is no number here to take {clip(text, 40)} of"
            raise DistributionError(message, "write the values themselves")
        return float(share) * field.base
    if field.several:
        message = f"'{field.path}' means several values, and {clip(text, 40)} is no factor of them"
        raise DistributionError(message, "write for example uniform(x0.8, x1.2)")
    if field.slot.unit is not None:
        return units.parse(text, field.slot.unit.dimension, field.rates)
    if field.slot.whole:
        return units.parse(text, units.NUMBER)
    reading = field.read(text)
    _refuse(reading.faults)
    return float(number_of(reading.changes[0].value) or 0.0)


def _refuse(faults: Sequence[Finding]) -> None:
    if faults:
        raise DistributionError(faults[0].message, faults[0].fix)


# Inputs that are usually uncertain

_PRICES: dict[Confidence, tuple[str, str]] = {
    "low": ("triangular(x0.6, x1, x1.4)", "published prices of one GPU rack, low confidence"),
    "medium": ("triangular(x0.8, x1, x1.2)", "prices of medium confidence, from third parties"),
    "high": ("uniform(x0.95, x1.05)", "prices of high confidence, until the order is signed"),
}
"""By confidence, the least known first."""
_POWER = "triangular(x0.8, x1, x1.1)", "typical to maximum draw of the shipped catalogs"
_OWN_RATE = "loguniform(x0.5, x2)", "a rate of one's own, of as few failures as one cluster has"
_WRITTEN = 0.16, 0.40
"""Write bandwidth of production systems as shares of nameplate: arXiv 2605.09370, 2104.04473."""
_BYTES = 10.0, 14.0
"""Bytes per parameter of training recipes: bf16 moments, and mixed precision with Adam."""


def _usual(inputs: Inputs, case: Case) -> Iterator[tuple[str, str, str]]:
    """Yield path, distribution and reason of prices (as little known as the least known on offer),
    draw, failures, lost time, storage and checkpoint size."""
    job = inputs.problem.job
    priced = {inputs.prices[o.id].confidence for o in case.offers() if o.id in inputs.prices}
    known = [words for confidence, words in _PRICES.items() if confidence in priced]
    if known:
        yield "prices.*.list", *known[0]
    yield "catalog.*.consumes.it_power", *_POWER
    yield _failures(inputs)
    if "lost_time" not in job.model_fields_set:
        low, high = LOST_TIME.low, LOST_TIME.high
        reason = f"published runs lost {100 * low:g} to {100 * high:g} %"
        yield job_path("lost_time"), f"uniform({low:g}, {high:g})", reason
    assumed = inputs.problem.storage.delivered_fraction.write
    low, high = min(_WRITTEN[0], assumed), max(_WRITTEN[1], assumed)
    reason = "production systems wrote at {} to {:.2f} of nameplate".format(*_WRITTEN)
    path = "storage.delivered_fraction.write"
    yield path, f"uniform({low:g}, {high:g})", f"{reason}, {assumed:g} is assumed"
    sized = job.checkpoint.size_gb is not None
    if sized and job.parameters is not None and "bytes_per_parameter" in job.model_fields_set:
        return  # size and bytes have to agree
    (low, high), middle = _BYTES, sum(_BYTES) / 2.0
    path = job_path("checkpoint.size") if sized else job_path("bytes_per_parameter")
    each = None if sized else Field(inputs, path).base
    factors = f"uniform(x{low / middle:.2f}, x{high / middle:.2f})"
    text = f"uniform({low:g}, {high:g})" if each and low <= each <= high else factors
    yield path, text, f"recipes write {low:g} to {high:g} bytes per parameter"


def _failures(inputs: Inputs) -> tuple[str, str, str]:
    job, path = inputs.problem.job, job_path("failures.per_gpu_day")
    stated = any(item.gpu.failures_per_day is not None for item in inputs.items)
    if job.failure_rate is None and stated:
        return "catalog.*.gpu.failures_per_day", *_OWN_RATE
    if isinstance(job.failure_rate, float):
        return path, *_OWN_RATE
    rates = [preset.value for preset in FAILURES_PER_GPU_DAY.values()]
    usual = job.failure_rate in (None, "llama3")
    text = "loguniform(x0.6, x6)" if usual else f"loguniform({min(rates)}, {max(rates)})"
    return path, text, f"published clusters: {min(rates):.3g} to {max(rates):.3g} per GPU and day"
