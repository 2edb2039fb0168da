"""Distributions as they are written: ``PATH=uniform(8 MW, 12 MW)`` and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Inputs
from planner.loader.vary.place import NoPlaceError
from planner.studies.sensitivity.labels import label, labels
from planner.studies.sensitivity.uncertain.forms import (
    EXAMPLES,
    FORMS,
    WrongError,
    clip,
    refuse,
    value,
)
from planner.studies.sensitivity.uncertain.shapes import Discrete, Shape
from planner.studies.sensitivity.uncertain.unknown import Field, Unknown
from planner.units import QuantityError

FIX = "write for example --dist 'site.facility_power=uniform(8 MW, 12 MW)'"
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
    origin = f"--dist {option if len(option) <= _CLIP else option[: _CLIP - 3] + '...'}"
    path, separator, text = option.partition("=")
    if not separator or not path.strip() or not text.strip():
        raise InputError(Finding("dist", "not PATH=DISTRIBUTION", origin, fix=FIX))
    try:
        return described(inputs, Field(inputs, path), text.strip())
    except (NoPlaceError, WrongError, QuantityError) as error:
        raise InputError(Finding("dist", str(error), origin, fix=error.fix)) from None


def described(inputs: Inputs, field: Field, text: str, reason: str = "") -> Unknown:
    """Return a field with a distribution as it is written.

    Args:
        inputs: the problem, for what the field is called.
        field: where it stands.
        text: the distribution.
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
        raise WrongError(f"'{clip(text)}' has {count}", f"write {name}({', '.join(names)})")
    return Unknown(field, make(field, given), words, called)


def _parts(text: str) -> tuple[str, list[str]]:
    """Return the name of a distribution and what it is given."""
    call = _CALL.match(text)
    if call is None:
        interval = _INTERVAL.match(text)
        if interval is None:
            fix = f"write LOW..HIGH or {EXAMPLES['uniform']}; known: {', '.join(EXAMPLES)}"
            raise WrongError(f"'{clip(text)}' is no distribution", fix)
        return "uniform", list(interval.groups())
    name = call[1].lower()
    if name not in EXAMPLES:
        fix = did_you_mean(name, list(EXAMPLES)) or f"known: {', '.join(EXAMPLES)}"
        raise WrongError(f"no distribution '{clip(call[1])}'", fix)
    given = [part.strip() for part in call[2].split(",")]
    if not all(given):
        raise WrongError(f"'{clip(text)}' has an empty value", f"such as {EXAMPLES[name]}")
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
        message = f"'{clip(part)}' is no value with its probability"
        raise WrongError(message, f"such as {EXAMPLES['discrete']}")
    return share
