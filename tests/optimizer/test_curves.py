"""The concave functions: tangents above everywhere, slopes that are derivatives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planner.optimizer.model import (
    NEGLIGIBLE,
    Curve,
    Log,
    LogOneMinusExp,
    LogRework,
    Model,
    NegativeExp,
    evaluate,
)

SHIFT = 2.5
CURVES: dict[str, tuple[Curve, float, float]] = {
    "log": (Log(), 1e-3, 1e6),
    "negative_exp": (NegativeExp(), math.log(1e-7), math.log(60.0)),
    "log_one_minus_exp": (LogOneMinusExp(SHIFT), SHIFT + 1e-3, SHIFT + 25.0),
    "log_rework": (LogRework(), math.log(1e-7), math.log(700.0)),
}
shares = st.floats(0.0, 1.0)
curves = pytest.mark.parametrize("name", CURVES)


def at(name: str, share: float) -> tuple[Curve, float]:
    """Return a curve and a point of its domain, geometric where the domain is positive."""
    curve, low, high = CURVES[name]
    if name == "log":
        return curve, low * (high / low) ** share
    return curve, low + share * (high - low)


def rounding(*values: float) -> float:
    return 1e-12 * max(1.0, *(abs(value) for value in values))


@curves
@given(shares, shares)
def test_tangents_lie_above(name: str, first: float, second: float) -> None:
    curve, point = at(name, first)
    _, other = at(name, second)
    tangent = curve.value(point) + curve.slope(point) * (other - point)
    allowed = rounding(tangent, curve.value(other), curve.slope(point) * (other - point))
    assert curve.value(other) <= tangent + allowed


@curves
@given(shares, shares, shares)
def test_chords_lie_below(name: str, first: float, second: float, third: float) -> None:
    curve, low = at(name, first)
    _, high = at(name, second)
    between = (1.0 - third) * low + third * high
    chord = (1.0 - third) * curve.value(low) + third * curve.value(high)
    assert curve.value(between) >= chord - rounding(chord, curve.value(low), curve.value(high))


@curves
@given(st.floats(0.001, 0.999))
def test_slope_is_the_numeric_derivative(name: str, share: float) -> None:
    curve, point = at(name, share)
    room = point - SHIFT if name == "log_one_minus_exp" else abs(point) if name == "log" else 1.0
    step = 1e-4 * (room if name == "log" else min(room, 1.0))
    numeric = (curve.value(point + step) - curve.value(point - step)) / (2.0 * step)
    noise = 4e-16 * max(abs(curve.value(point)), 1.0) / step  # what cancellation leaves
    assert curve.slope(point) == pytest.approx(numeric, rel=1e-5, abs=noise)


@pytest.mark.parametrize("z", [1e-7, 9.999e-5, 1.0001e-4, 1.0, 699.9, 700.1])
def test_rework_branches_agree_with_its_definition(z: float) -> None:
    # log(z/(e^z - 1)) = -z/2 - z^2/24 + z^4/2880 - ...
    series = -z / 2.0 - z * z / 24.0 + z**4 / 2880.0
    expected = series if z < 0.1 else math.log(z) - z - math.log1p(-math.exp(-z))
    assert LogRework().value(math.log(z)) == pytest.approx(expected, rel=1e-9)
    slope = 1.0 + z / math.expm1(-z) if z > 1e-2 else -z / 2.0 - z * z / 12.0
    assert LogRework().slope(math.log(z)) == pytest.approx(slope, rel=1e-8)


def test_one_minus_exp_known_answer() -> None:
    # A stall of 5 s in 50 s leaves 90 %.
    curve = LogOneMinusExp(math.log(5.0))
    assert curve.value(math.log(50.0)) == pytest.approx(math.log(0.9))


@curves
@given(shares, shares)
def test_rows_of_tangents_never_cut_the_curve(name: str, first: float, second: float) -> None:
    curve, point = at(name, first)
    _, other = at(name, second)
    model = Model("tangents", True)
    low, argument = model.var("low", None, None), model.var("argument", None, None)
    domain = CURVES[name][1:]
    link = model.link("link", low, argument + 0, curve, domain)
    model.tangent(link, point)
    values = {"low": curve.value(other), "argument": other}
    for row in model.rows:
        terms, right, sense = row.terms()
        assert sense == -1
        left = sum(factor * values[variable.name] for variable, factor in terms)
        assert left <= right + rounding(left, right, *(abs(f * values[v.name]) for v, f in terms))
    assert link.violation(values) == pytest.approx(0.0, abs=rounding(values["low"]))


def test_flat_tangents_become_an_upper_bound_of_zero() -> None:
    model = Model("flat", True)
    low, argument = model.var("low", None, None), model.var("argument", None, None)
    domain = (math.log(NEGLIGIBLE / 10), 0.0)
    link = model.link("link", low, argument + 0, NegativeExp(), domain, seeds=1)
    terms, right, _ = model.rows[-1].terms()
    assert ([variable.name for variable, _ in terms], right) == (["low"], 0.0)
    assert model.tangent(link, domain[0]) is None  # one stands there already
    assert model.tangent(link, -1.0) is not None
    assert evaluate(link.argument, {"argument": 3.0}) == 3.0


def test_links_need_a_finite_domain() -> None:
    model = Model("open", True)
    low = model.var("low", None, None)
    with pytest.raises(ValueError, match="finite domain"):
        model.link("link", low, low + 0, Log(), (1.0, math.inf))
