"""By how much each limit is moved: a step its owner would think in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.errors import Finding, InputError, did_you_mean
from planner.levers import Lever
from planner.levers.numbers import read
from planner.units import QuantityError

_MINUTE_S = 60.0
_POINT = 0.01


def step_of(lever: Lever, steps: Mapping[str, str]) -> float:
    """Return the step of a lever: what the user gave, or what suits its unit.

    Raises:
        InputError: what the user gave is no quantity of that kind.
    """
    given = steps.get(lever.path)
    if given is not None:
        return _given(lever, given)
    value = abs(lever.value or 0.0)
    if lever.unit == "s" and value >= 2.0 * _MINUTE_S:
        return _MINUTE_S
    if lever.unit == "share" and value >= 2.0 * _POINT:
        return _POINT
    if lever.whole:
        return float(max(1, round(_one_digit(value / 100.0)))) if lever.unit == "GPUs" else 1.0
    if lever.unit == "days":
        return 1.0
    return _one_digit(value / 100.0)


def _one_digit(value: float) -> float:
    """Return a value rounded to one digit."""
    return float(f"{value:.0e}") if value > 0 else 1.0


def _given(lever: Lever, text: str) -> float:
    origin = f"--step {lever.path}"
    try:
        step = _number(text) if lever.whole else read(text, lever.unit)
    except QuantityError as error:
        raise InputError(Finding("step", str(error), origin, fix=error.fix)) from None
    if not (math.isfinite(step) and step > 0) or (lever.whole and step != round(step)):
        fix = "give a whole number of at least 1" if lever.whole else "give more than 0"
        raise InputError(Finding("step", f"'{text[:40]}' is no step", origin, fix=fix))
    return step


def _number(text: str) -> float:
    """Return a number, not a number where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_names(names: Sequence[str], levers: Sequence[Lever], option: str) -> None:
    """Refuse a name that is no limit of the problem.

    Raises:
        InputError: with the names that are nearest.
    """
    known = sorted({lever.path for lever in levers})
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known) or "limits: " + ", ".join(known)
            message = f"the problem has no limit '{name[:80]}'"
            raise InputError(Finding("limit", message, option, fix=fix))
