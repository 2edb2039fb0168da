"""Counts that follow: sizes as ramps, upper bounds, and the model against plain numbers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.case.builder import Bounds
from planner.case.figures import cap
from planner.case.model import AtLeast, Case, Ceil, Companions, Size, Steps, Sum
from planner.optimizer.stores import broken_limits
from tests.optimizer.cases import resolved
from tests.optimizer.counted import companion_counts, counted

LIMITS = {
    "it_power", "facility_power", "heat_air", "heat_liquid", "racks", "capex", "support",
    "subscriptions", "energy", "colocation", "opex", "tco", "fabric",
}  # fmt: skip

outputs = st.tuples(st.integers(0, 9), st.integers(-5, 40))
gaps = st.lists(st.tuples(st.integers(1, 4), outputs), max_size=12)
straight = st.tuples(st.integers(1, 5), st.integers(0, 4), outputs)


@st.composite
def sized(draw: st.DrawFn) -> tuple[Size, ...]:
    """Return sizes of rising capacity, some of them in equal steps."""
    capacity, sizes = 0, list[Size]()
    for _ in range(draw(st.integers(1, 4))):
        stride, repeats, slope = draw(straight)
        start = draw(outputs)
        for index in range(repeats + 1):
            capacity += stride
            sizes.append(
                Size(capacity, tuple(a + b * index for a, b in zip(start, slope, strict=True)))
            )
        for gap, after in draw(gaps):
            capacity += gap
            sizes.append(Size(capacity, after))
    return tuple(sizes)


@given(sized())
def test_runs_reproduce_every_size(sizes: tuple[Size, ...]) -> None:
    steps = Steps("fabric", ((1.0, "x"),), sizes, ("a", "b"))
    low, rebuilt = 0, list[Size]()
    for ramp in steps.ramps:
        for v in range(ramp.steps + 1):
            assert ramp.low + v * ramp.stride == low
            low = ramp.high + v * ramp.stride
            pairs = zip(ramp.outputs, ramp.slopes, strict=True)
            rebuilt.append(Size(low, tuple(output + v * slope for output, slope in pairs)))
    assert tuple(rebuilt) == sizes


def test_counts_are_worked_off_in_order() -> None:
    size = (Size(4, (2,)), Size(9, (5,)))
    chain = (
        Ceil("racks", ((0.25, "x"),), if_any=1),
        Sum("ports", ((2.0, "racks"), (1.0, "x")), 1.0),
        Steps("fabric", ((1.0, "ports"),), size, ("switches",)),
    )
    assert counted(chain, {"x": 0}) == {"x": 0, "racks": 0, "ports": 1, "switches": 2}
    assert counted(chain, {"x": 4}) == {"x": 4, "racks": 2, "ports": 9, "switches": 5}
    with pytest.raises(ValueError, match="fabric: 12 is more than any size holds"):
        counted(chain, {"x": 5})


def allowed(case: Case, most: int) -> list[dict[str, int]]:
    """Return every purchase of up to ``most`` of each offer that keeps the limits on sums."""
    offers = case.offers()
    ranges = [range(min(cap(case, offer), most) + 1) for offer in offers]
    every = (
        {offer.id: count for offer, count in zip(offers, counts, strict=True)}
        for counts in itertools.product(*ranges)
    )
    return [units for units in every if not LIMITS & set(broken_limits(case, units, ()))]


def check_bounds(case: Case, most: int) -> int:
    """Compare every count's upper bound with the largest there is; return how many were close."""
    tops = {offer.id: min(cap(case, offer), most) for offer in case.offers()}
    bounds = Bounds.of_case(case, tops)
    bounds.follow(case.rewired)
    bounds.add(case.companions.quantities)
    # The systems are in any of the fabrics that they may join.
    ways = ((), *((way.id,) for way in case.ways))
    every = [companion_counts(case, units, each) for units in allowed(case, most) for each in ways]
    close = 0
    for name in bounds.majorants:
        largest = max((values[name] for values in every), default=0.0)
        assert bounds.most(((1.0, name),)) >= largest - 1e-9, name
        close += bounds.most(((1.0, name),)) <= 2 * largest + 2
    return close


def test_bounds_hold_for_random_problems() -> None:
    checked = 0
    for seed in range(700, 760):
        case = resolved(seed)
        if case.companions.quantities and len(case.offers()) <= 4:
            check_bounds(case, 4)
            checked += 1
    assert checked > 8


def test_owned_parts_of_what_is_not_built_stay_in_sums() -> None:
    """The program left the switches out that stay of a fabric not chosen: freight was too low."""
    owned = AtLeast("owned", ((1.0, "switches"),), 8)
    companions = Companions(
        quantities=(owned, Sum("new", ((1.0, "switches"),)), Ceil("freight", ((4.6, "owned"),))),
        items=(),
    )
    left = companions.renamed({"switches": None}).quantities
    assert [quantity.name for quantity in left if not isinstance(quantity, Steps)] == [
        "owned",
        "freight",
    ]
    assert counted(left, {})["freight"] == 37
