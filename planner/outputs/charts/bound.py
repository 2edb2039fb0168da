"""How far above a line a plan could be: a band where it can be seen, and words."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.charts.amounts import gap

BOUND = "up to what no plan can pass"
_SEEN = 0.004
"""A band thinner than this share of the axis is hidden by the line itself."""


def shows(heights: Sequence[float | None], bounds: Sequence[float | None]) -> bool:
    """Return whether the room between a line and its bound can be seen on a picture."""
    pairs = [
        (height, bound)
        for height, bound in zip(heights, bounds, strict=True)
        if height is not None and bound is not None
    ]
    if not pairs:
        return False
    known = [value for pair in pairs for value in pair]
    widest = max(abs(bound - height) for height, bound in pairs)
    return widest > _SEEN * (max(known) - min(known) or 1.0)


def proven(gaps: Sequence[float | None], better: str = "") -> str:
    """Return the widest of some gaps in a sentence.

    Args:
        gaps: shares, None where nothing is proven.
        better: on which side of a line better plans would be; empty where there is no line.
    """
    known = [share for share in gaps if share is not None]
    if len(known) < len(gaps):
        return (
            f"Of {len(gaps) - len(known):,} nothing is proven about how much better they could be."
        )
    widest = max(known, default=0.0)
    if not widest:
        return "Proven exactly."
    if better:
        return f"No plan is more than {gap(widest)} {better} the line."
    return f"Each is proven to be within {gap(widest)} of the best there."
