"""How a difference between two plans is put into words, whichever way is better."""

from __future__ import annotations

from planner.outputs.comparison_words import relative
from planner.schema.comparison import Measure

NOTHING = 1e-6
"""Smallest difference worth a word where nothing is known of a proof."""

_SAID = {
    "useful_pflops": ("does", "do", "{} {} useful work"),
    "useful_gpus": ("does", "do", "{} {} useful work"),
    "cost": ("costs", "cost", "{} {}"),
    "tco": ("costs", "cost", "{} {} over the term"),
    "power": ("draws", "draw", "{} {} IT power"),
}


def worse_by(difference: float, measure: Measure) -> float:
    """Return the share by which a plan is worse than another; negative where it is better.

    Args:
        difference: how far its value lies above the other's, as a share of it.
        measure: the measure of both.
    """
    return difference if measure.sense == "minimize" else -difference


def said(worse: float, measure: Measure, amount: str = "", *, many: bool = False) -> str:
    """Return a difference as a verb and what follows it: ``does 5.0 % less useful work``.

    Args:
        worse: what `worse_by` returned.
        measure: what is measured.
        amount: the difference in words, where it is not this one alone.
        many: whether the subject is a plural.
    """
    one, several, rest = _SAID[measure.name]
    more = (worse > 0) == (measure.sense == "minimize")
    told = rest.format(amount or relative(worse), "more" if more else "less")
    return f"{several if many else one} {told}"


def proven_alike(worse: float, *gaps: float | None) -> bool:
    """Return whether a difference is no larger than what is proven of the plans."""
    return abs(worse) <= max(NOTHING, *(gap or 0.0 for gap in gaps))
