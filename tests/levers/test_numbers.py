"""Values as a problem file has them: read back the same, short, and without noise."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.currency import USD
from planner.levers import DIGITS, FINEST, grid, read, written

RANGES = {
    "kW": (1e-3, 1e9), "USD": (1e-2, 1e15), "s": (1e-3, 1e9), "days": (1e-3, 1e6),
    "GB/s": (1e-6, 1e6), "TB": (1e-6, 1e9), "share": (1e-6, 1.0), "number": (1e-6, 1e9),
}  # fmt: skip
"""What values of a unit may be."""
PLAIN = re.compile(r"-?\d+(\.\d*[1-9])?( [A-Za-z%/]+)?\Z")
EXACT = 1e-11
RATES = {"USD": USD}


def values(unit: str) -> st.SearchStrategy[float]:
    low, high = RANGES[unit]
    return st.floats(low, high, allow_nan=False)


@pytest.mark.parametrize("unit", RANGES)
@given(data=st.data())
def test_read_gives_back_what_was_written(unit: str, data: st.DataObject) -> None:
    value = data.draw(values(unit))
    text = written(value, unit)
    assert PLAIN.match(text), text
    assert read(text, unit, RATES) == pytest.approx(value, rel=EXACT)
    again = written(read(text, unit, RATES), unit)
    assert read(again, unit, RATES) == pytest.approx(value, rel=EXACT)


@pytest.mark.parametrize("unit", RANGES)
@given(data=st.data())
def test_the_grid_shows_a_change_in_few_digits(unit: str, data: st.DataObject) -> None:
    value = data.draw(values(unit))
    change = data.draw(st.floats(-1.0, 1.0)) * value
    step = grid(change, value, unit, USD)
    assert step > 0
    assert math.isfinite(step)
    shown = max(abs(change), abs(value) * FINEST)
    # A change has at most DIGITS digits, at least one fewer, and no step is finer than a solver.
    assert step <= shown * 10.0 ** (1 - DIGITS) * (1 + 1e-9) or step <= abs(value) * FINEST * 10.1
    assert step >= abs(value) * FINEST * (1 - 1e-9) or step >= 1e-12
    exponent = math.log10(step / _size(value, unit))
    assert exponent == pytest.approx(round(exponent), abs=1e-9)


def _size(value: float, unit: str) -> float:
    """Return how much one of the unit is that a value is written in, by its text."""
    symbol = written(value, unit).partition(" ")[2]
    return read(f"1 {symbol}".rstrip(), unit, RATES)
