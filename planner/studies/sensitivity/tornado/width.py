"""How far apart two optima lie that are known between value and bound."""

from __future__ import annotations

from planner.studies.sensitivity.solve import Answer


def width(one: Answer, other: Answer) -> tuple[float | None, float | None, float | None]:
    """Return the distance of two values, and the least and the most that of the optima can be.

    None where an end has no plan, or no bound.
    """
    if one.value is None or other.value is None:
        return None, None, None
    apart = abs(one.value - other.value)
    if one.bound is None or other.bound is None:
        return apart, None, None
    low, high = sorted((one.value, one.bound)), sorted((other.value, other.bound))
    least = max(0.0, high[0] - low[1], low[0] - high[1])
    return apart, least, max(high[1] - low[0], low[1] - high[0])
