"""Bursts of traffic above the background: where they begin and end, how much they move."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.background import Background, background
from planner.telemetry.raw import Numbers

_CLEAR, _OVER = 6.0, 2.0
"""So many times the scatter above the background a burst rises, and as many it lasts above."""
_FLOOR = 2e-4
"""Least height, as a share of the largest bandwidth seen."""
_EDGE, _NOISY, _MOST_EDGE = 0.01, 5.0, 0.2
"""A sample at the edge of a burst has more than so much of its largest bandwidth, and more than so
many times the scatter, but that counts up to the last of these shares only."""

_Z = 1.645
"""Half of the range that holds nine tenths of a normal distribution."""


@dataclass(frozen=True)
class Bursts:
    """Bursts in order of time; an array each, times are elapsed s.

    Attributes:
        start_s, end_s: where the traffic begins and ends, within their samples by what is in them.
        size_gb: what was moved above the background.
        peak: largest bandwidth of a sample above the background, GB/s.
        height: the usual bandwidth within the burst, GB/s.
        size_error_gb, edge_error_s: half of the range that noise and sampling leave.
        whole: samples that the burst fills.
        cut: whether it touches a hole in the trace, or its end.
    """

    start_s: Numbers
    end_s: Numbers
    size_gb: Numbers
    peak: Numbers
    height: Numbers
    size_error_gb: Numbers
    edge_error_s: Numbers
    whole: Numbers
    cut: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.start_s)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Bursts:
        """Return some of them."""
        return Bursts(*(getattr(self, each.name)[which] for each in fields(self)))

    @property
    def duration_s(self) -> Numbers:
        """How long each lasts."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Found:
    """The bursts of a column and the background they stand on."""

    bursts: Bursts
    background: Background


def bursts(rate: Numbers, start_s: Numbers, width_s: Numbers, sample_s: float) -> Found:
    """Return the bursts in a column of bandwidth.

    Args:
        rate: mean bandwidth by sample, GB/s; NaN over a hole.
        start_s: where each sample begins.
        width_s: how long it is.
        sample_s: the usual width.
    """
    under = background(rate, sample_s)
    excess = rate - under.level
    peak = float(np.nanmax(rate, initial=0.0))
    floor = _FLOOR * peak
    over = excess > np.maximum(_OVER * under.noise, floor)
    clear = excess > np.maximum(_CLEAR * under.noise, 2 * floor)
    begins, ends = _runs(over)
    risen = np.add.reduceat(clear, begins) > 0 if len(begins) else np.zeros(0, dtype=bool)
    if len(begins):
        total = np.concatenate(([0], np.cumsum(clear)))
        risen = total[ends] > total[begins]
    begins, ends = begins[risen], ends[risen]
    return Found(_measured(excess, start_s, width_s, under.noise, begins, ends, sample_s), under)


def _runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where stretches of True begin and end (one behind the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges[::2], edges[1::2]


def _measured(
    excess: Numbers,
    start_s: Numbers,
    width_s: Numbers,
    noise: Numbers,
    begins: NDArray[np.intp],
    ends: NDArray[np.intp],
    sample_s: float,
) -> Bursts:
    last = len(excess) - 1
    before, after = np.maximum(begins - 1, 0), np.minimum(ends, last)
    hole = np.isnan(excess)
    cut = (begins == 0) | (ends > last) | hole[before] | hole[after]
    # A sample on either side may hold the rest of an edge that is too small to stand out.
    left = _shared(begins - 1, np.concatenate(([-1], ends[:-1])), hole)
    right = _shared(ends, np.concatenate((begins[1:] - 1, [last + 1])), hole)
    moved = np.nan_to_num(excess) * width_s
    total = np.concatenate(([0.0], np.cumsum(moved)))
    size = total[ends] - total[begins] + _at(moved, begins - 1, left) + _at(moved, ends, right)
    variance = np.concatenate(([0.0], np.cumsum((noise * width_s) ** 2)))
    error = _Z * np.sqrt(variance[ends] - variance[begins] + 2 * (noise * width_s)[begins] ** 2)
    peak, height, first, final = _heights(excess, noise, begins, ends)
    start = start_s[first] + width_s[first] * _empty(excess[first], height)
    end = (start_s + width_s)[final] - width_s[final] * _empty(excess[final], height)
    one = first == final
    middle = (start_s + width_s / 2)[first]
    half = np.where(one, np.minimum(size / np.maximum(peak, 1e-300), sample_s) / 2, 0.0)
    start, end = np.where(one, middle - half, start), np.where(one, middle + half, end)
    whole = np.maximum(final - first - 1, 0).astype(float)
    edge = np.where(whole > 0, sample_s * (0.1 + _Z * noise[begins] / np.maximum(height, 1e-300)),
                    sample_s)  # fmt: skip
    return Bursts(start, end, np.maximum(size, 0.0), peak, height, error, edge, whole, cut)


def _shared(
    place: NDArray[np.intp], other: NDArray[np.intp], hole: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whether the sample beside a burst is there, known and no other burst's."""
    inside = (place >= 0) & (place < len(hole)) & (place != other)
    return np.asarray(inside & ~hole[np.clip(place, 0, len(hole) - 1)])


def _at(values: Numbers, place: NDArray[np.intp], which: NDArray[np.bool_]) -> Numbers:
    return np.where(which, values[np.clip(place, 0, len(values) - 1)], 0.0)


def _empty(edge: Numbers, height: Numbers) -> Numbers:
    """Return the share of a sample at the edge in which nothing was moved yet."""
    return np.clip(1.0 - edge / np.maximum(height, 1e-300), 0.0, 1.0)


def _heights(
    excess: Numbers, noise: Numbers, begins: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[Numbers, Numbers, NDArray[np.intp], NDArray[np.intp]]:
    """Return the largest and the usual bandwidth of each burst, and the samples at its edges.

    The usual one is the median of the samples between the first and the last that stand out; of a
    burst of two samples or one it is the largest. Samples far below the largest are no edge: the
    background had risen there.
    """
    peak, height = np.zeros(len(begins)), np.zeros(len(begins))
    first, final = begins.copy(), ends - 1
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        inside = excess[begin:end]
        peak[place] = inside.max()
        edge = min(max(_NOISY * noise[begin], _EDGE * peak[place]), _MOST_EDGE * peak[place])
        high = np.flatnonzero(inside >= edge)
        first[place], final[place] = begin + high[0], begin + high[-1]
        core = inside[high[0] + 1 : high[-1]]
        height[place] = np.median(core) if len(core) else peak[place]
    return peak, height, first, final
