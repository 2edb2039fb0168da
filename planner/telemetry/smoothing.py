"""Samples that are means over more than the time between them: rates over a moving window.

`rate(...[5m])` every 10 s spreads each drain over five minutes more. A sum over a moving window
changes by what comes in, less what came in a window before: what scatters in one sample comes back
with the other sign after just that time. This tells the window, where there is any scatter.
"""

from __future__ import annotations

import numpy as np

from planner.telemetry.bursts import Found
from planner.telemetry.raw import Numbers

_MOST = 1 << 19
"""So many samples are enough to tell."""

_LONGEST_S = 3600.0
_LEAST_PAIRS = 200
_QUIET = 4.0
_RETURNS = -0.35
"""The correlation of changes that are a window apart is -1/2; so near to it tells a window."""


def window_of(rate: Numbers, found: Found, sample_s: float) -> float | None:
    """Return the window over which samples are means, s: one sample where they are no more than
    that; None where too little scatters to tell.

    Args:
        rate: bandwidth by sample.
        found: what stands out of it, and the background.
        sample_s: the usual width of a sample.
    """
    level, noise = found.background.level[:_MOST], found.background.noise[:_MOST]
    excess = rate[:_MOST] - level
    change = np.diff(excess)
    quiet = np.abs(excess) <= _QUIET * noise  # false where nothing is known
    both = quiet[1:] & quiet[:-1]
    longest = min(int(_LONGEST_S / sample_s), len(change) // 4)
    if longest < 3 or not np.any(change[both]):
        return None
    change = np.where(both, change, 0.0)
    products, pairs = _lagged(change, longest), _lagged(both.astype(float), longest)
    return_after = np.divide(
        products, pairs, out=np.zeros(len(products)), where=pairs >= _LEAST_PAIRS
    ) / np.mean(change[both] ** 2)
    lag = 1 + int(np.argmin(return_after[1:]))
    return lag * sample_s if return_after[lag] <= _RETURNS else None


def _lagged(values: Numbers, longest: int) -> Numbers:
    """Return the sums of products of values some samples apart, for each lag up to the longest."""
    size = 1 << (len(values) + longest - 1).bit_length()
    spectrum = np.fft.rfft(values, size)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size)[: longest + 1])
