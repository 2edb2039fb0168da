"""Where a curve bends most: the point farthest above the chord between its ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST_BEND = 1e-9


def knee(xs: Sequence[float], ys: Sequence[float], *, logarithmic: bool) -> int | None:
    """Return the place of the knee of a rising curve; None where it does not bend.

    Both axes are scaled to run from 0 at the first point to 1 at the last one; the knee is where
    y - x is largest (Kneedle without smoothing; of equals the first).

    Args:
        xs: rising.
        ys: rising.
        logarithmic: whether x counts by its logarithm.
    """
    if len(xs) < 3 or (logarithmic and xs[0] <= 0.0):
        return None
    places = [math.log(x) for x in xs] if logarithmic else list(xs)
    width, height = places[-1] - places[0], ys[-1] - ys[0]
    if width <= 0.0 or height <= 0.0:
        return None
    above = [
        (y - ys[0]) / height - (place - places[0]) / width
        for place, y in zip(places, ys, strict=True)
    ]
    most = max(above)
    return above.index(most) if most > LEAST_BEND else None
