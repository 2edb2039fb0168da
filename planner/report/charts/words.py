"""Figures, names and proofs in the words of charts, and pieces of HTML with compact tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from planner.report.words import Scale, clean, fitted, scale
from planner.report.words import gap as percent_of

_SHORT, _EXACT = 4, 7
_TINIEST, _TINY = 1e-6, "< 0.0001 %"


def plain(value: float, unit: str = "") -> str:
    """A number in a unit that stands elsewhere, short enough for a picture."""
    return _scale(value, "", _SHORT)._replace(unit=unit).text(value)


def amount(value: float, unit: str) -> str:
    """A figure with its unit."""
    return _scale(value, unit.replace("1/", "per "), _EXACT).with_unit(value)


def _scale(value: float, unit: str, digits: int) -> Scale:
    """The unit and decimals of a figure with a number of digits at most."""
    written = scale([value], unit)
    size = abs(value / written.size)
    before = math.floor(math.log10(size)) + 1 if size > 0 and math.isfinite(size) else 0
    return written._replace(digits=min(written.digits, max(0, digits - before)))


def gap(share: float | None) -> str:
    """A gap as percent; one too small to matter is not told by its power of ten."""
    return _TINY if share is not None and 0 < share < _TINIEST else percent_of(share)


def axis_scale(values: Iterable[float | None], unit: str) -> Scale:
    """The unit of an axis on which these figures stand."""
    there = [value for value in values if value is not None]
    return scale([min(there), max(there)] if there else [], unit)


def in_scale(values: Sequence[float], written: Scale) -> tuple[float, ...]:
    """Figures in the unit of an axis."""
    return tuple(value / written.size for value in values)


def short(text: str, most: int) -> str:
    """A text on one line, cut to so many characters."""
    return fitted(" ".join(clean(text, limit=None).split()), most)


BOUND = "up to what no plan can pass"
_SEEN = 0.004
"""A band thinner than this share of the axis is hidden by the line itself."""


def shows(heights: Sequence[float | None], bounds: Sequence[float | None]) -> bool:
    """Whether the room between a line and its bound can be seen on a picture."""
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
    """The widest of some gaps in a sentence.

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
