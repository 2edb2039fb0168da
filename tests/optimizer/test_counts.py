"""Counts that follow: sizes as ramps, upper bounds, and the model against plain numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.case.model import AtLeast, Ceil, Companions, Size, Steps, Sum
from tests.optimizer.counted import counted

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
