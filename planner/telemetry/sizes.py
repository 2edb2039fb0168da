"""Sizes that return: groups of bursts that are nearly equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.telemetry.raw import Numbers, Places

SCALES = (0.008, 0.02, 0.05)
"""Scatter of sizes that is tried, the narrowest first, as a share."""

_BIN = 0.002
_REACH = 4.0
_LEAST = 4


def groups(size_gb: Numbers, scale: float) -> Iterator[Places]:
    """Yield groups of bursts around each size that many of them have, as places in ``size_gb``.

    The density of sizes (on a logarithmic scale) is smoothed by the scatter; a group is what lies
    around one of its peaks, as far as the next valley and no farther than four times the scatter.

    Args:
        size_gb: more than 0.
        scale: scatter of a group, as a share.
    """
    if not len(size_gb):
        return
    logs = np.log(size_gb)
    low = float(logs.min()) - 5 * scale
    place = ((logs - low) / _BIN).astype(int)
    counts = np.bincount(place, minlength=int(place.max()) + int(5 * scale / _BIN) + 2)
    reach = int(_REACH * scale / _BIN)
    steps = np.arange(-reach, reach + 1) * _BIN / scale
    density = np.convolve(counts, np.exp(-0.5 * steps**2), mode="same")
    inner = density[1:-1]
    peaks = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1
    for peak in sorted(peaks, key=lambda one: (-density[one], one)):
        left, right = _basin(density, int(peak), reach)
        members = np.flatnonzero((place >= left) & (place <= right))
        if len(members) >= _LEAST:
            yield members


def _basin(density: Numbers, peak: int, reach: int) -> tuple[int, int]:
    """Return how far down a peak goes on either side."""
    left, right = peak, peak
    while left > 0 and peak - left < reach and density[left - 1] < density[left]:
        left -= 1
    while right < len(density) - 1 and right - peak < reach and density[right + 1] < density[right]:
        right += 1
    return left, right
