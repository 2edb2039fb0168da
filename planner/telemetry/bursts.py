"""Bursts of traffic above the background: where they begin and end, how much they move.

The background is other traffic: its level along the trace, and how much it scatters.

Samples may be means over more than the time between them: `rate(...[5m])` every 10 s spreads each
drain over five minutes more. A sum over a moving window changes by what comes in, less what came in
a window before: what scatters in one sample comes back with the other sign after just that time.
This tells the window, where there is any scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.raw import MAD, Numbers, Places, Z, stretches_of

_CLEAR, _OVER = 6.0, 2.0
"""So many times the scatter above the background a burst rises, and as many it lasts above."""

_FLOOR = 2e-4
"""Least height, as a share of the largest bandwidth seen."""

_EDGE, _NOISY, _MOST_EDGE = 0.01, 5.0, 0.2
"""A sample at the edge of a burst has more than so much of its largest bandwidth, and more than so
many times the scatter, but that counts up to the last of these shares only."""

_TINY = 1e-300


@dataclass(frozen=True)
class Bursts:
    """Bursts in order of time; an array each, times are elapsed s.

    Attributes:
        start_s, end_s: where the traffic begins and ends, within their samples by what is in them.
        size_gb: volume above the background.
        peak: largest bandwidth of a sample above the background, GB/s.
        height: the usual one.
        span_s: all samples that stand out, from the start of the first to the end of the last.
        faint: share of the usual bandwidth below which a sample at the edge does not stand out.
        size_error_gb, edge_error_s: half of the range that noise and sampling leave.
        cut: whether it touches a hole in the trace, or its end.
    """

    start_s: Numbers
    end_s: Numbers
    size_gb: Numbers
    peak: Numbers
    height: Numbers
    span_s: Numbers
    faint: Numbers
    size_error_gb: Numbers
    edge_error_s: Numbers
    cut: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.start_s)

    def chosen(self, which: NDArray[np.bool_] | Places) -> Bursts:
        """Return some of them."""
        return Bursts(*(getattr(self, each.name)[which] for each in fields(self)))

    @property
    def duration_s(self) -> Numbers:
        """How long each lasts."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class BurstsFound:
    """The bursts of a column and the background they stand on."""

    bursts: Bursts
    background: Background


@dataclass(frozen=True)
class _Samples:
    """Samples above the background: where they begin, how long they are, by how much they rise."""

    start_s: Numbers
    width_s: Numbers
    excess: Numbers
    noise: Numbers


@dataclass(frozen=True)
class _Stretches:
    """Where bursts begin, and end (one sample behind the last)."""

    begins: Places
    ends: Places


def bursts(rate: Numbers, start_s: Numbers, width_s: Numbers, sample_s: float) -> BurstsFound:
    """Return the bursts in a column of bandwidth.

    Args:
        rate: mean bandwidth by sample, GB/s; NaN over a hole.
        start_s: where each sample begins.
        width_s: how long it is.
        sample_s: the usual width.
    """
    under = background(rate, sample_s)
    excess = rate - under.level
    floor = _FLOOR * float(np.nanmax(rate, initial=0.0))
    over = _Stretches(*stretches_of(excess > np.maximum(_OVER * under.noise, floor)))
    clear = excess > np.maximum(_CLEAR * under.noise, 2 * floor)
    total = np.concatenate(([0], np.cumsum(clear)))
    risen = total[over.ends] > total[over.begins]
    found = _Stretches(over.begins[risen], over.ends[risen])
    samples = _Samples(start_s, width_s, excess, under.noise)
    return BurstsFound(_measure(samples, found, sample_s), under)


def _measure(samples: _Samples, found: _Stretches, sample_s: float) -> Bursts:
    hole = np.isnan(samples.excess)
    last = len(hole) - 1
    cut = (found.begins == 0) | (found.ends > last)
    cut |= hole[np.maximum(found.begins - 1, 0)] | hole[np.minimum(found.ends, last)]
    size, error = _sizes(samples, found, hole)
    peak, height, first, final = _heights(samples, found)
    start, end = _edges(samples, size, peak, height, first, final, sample_s)
    blurred = 0.1 + Z * samples.noise[found.begins] / np.maximum(height, _TINY)
    edge = sample_s * np.where(final - first > 1, blurred, 1.0)
    span = samples.start_s[final] + samples.width_s[final] - samples.start_s[first]
    faint = _least_edge(samples.noise[found.begins], peak) / np.maximum(height, _TINY)
    return Bursts(start, end, size, peak, height, span, faint, error, edge, cut)


def _sizes(
    samples: _Samples, found: _Stretches, hole: NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Volume of each burst, and half of its range by the background's scatter.

    A sample on either side may hold the rest of an edge that is too small to stand out.
    """
    begins, ends = found.begins, found.ends
    left = _is_nobodys(begins - 1, np.concatenate(([-1], ends[:-1])), hole)
    right = _is_nobodys(ends, np.concatenate((begins[1:] - 1, [len(hole)])), hole)
    moved = np.nan_to_num(samples.excess) * samples.width_s
    total = np.concatenate(([0.0], np.cumsum(moved)))
    size = total[ends] - total[begins] + _at(moved, begins - 1, left) + _at(moved, ends, right)
    scatter = (samples.noise * samples.width_s) ** 2
    variance = np.concatenate(([0.0], np.cumsum(scatter)))
    error = Z * np.sqrt(variance[ends] - variance[begins] + 2 * scatter[begins])
    return np.maximum(size, 0.0), error


def _edges(
    samples: _Samples,
    size: Numbers,
    peak: Numbers,
    height: Numbers,
    first: Places,
    final: Places,
    sample_s: float,
) -> tuple[Numbers, Numbers]:
    """Starts and ends of bursts; a sample at the edge is filled in part.

    One that lies in a single sample is put in its middle, as long as its size and bandwidth say.
    """
    width = samples.width_s
    start = samples.start_s[first] + width[first] * _empty(samples.excess[first], height)
    end = samples.start_s[final] + width[final] * (1 - _empty(samples.excess[final], height))
    middle = samples.start_s[first] + width[first] / 2
    half = np.minimum(size / np.maximum(peak, _TINY), sample_s) / 2
    one = first == final
    return np.where(one, middle - half, start), np.where(one, middle + half, end)


def _is_nobodys(place: Places, other: Places, hole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True if the sample beside a burst exists, is known and is no other burst's."""
    inside = (place >= 0) & (place < len(hole)) & (place != other)
    return np.asarray(inside & ~hole[np.clip(place, 0, len(hole) - 1)])


def _at(values: Numbers, place: Places, which: NDArray[np.bool_]) -> Numbers:
    return np.where(which, values[np.clip(place, 0, len(values) - 1)], 0.0)


def _empty(edge: Numbers, height: Numbers) -> Numbers:
    """Return the share of a sample at the edge in which nothing was moved yet."""
    return np.clip(1.0 - edge / np.maximum(height, _TINY), 0.0, 1.0)


def _least_edge(noise: Numbers, peak: Numbers) -> Numbers:
    """Least value of a sample at the edge of a burst."""
    return np.minimum(np.maximum(_NOISY * noise, _EDGE * peak), _MOST_EDGE * peak)


def _heights(samples: _Samples, found: _Stretches) -> tuple[Numbers, Numbers, Places, Places]:
    """Return the largest and the usual bandwidth of each burst, and the samples at its edges.

    The usual one is the median of the samples between the first and the last that stand out; of a
    burst of two samples or one it is the largest. Samples far below the largest are no edge: the
    background had risen there.
    """
    count = len(found.begins)
    peak, height = np.zeros(count), np.zeros(count)
    first, final = found.begins.copy(), found.ends - 1
    for place, (begin, end) in enumerate(zip(found.begins, found.ends, strict=True)):
        inside = samples.excess[begin:end]
        peak[place] = inside.max()
        high = np.flatnonzero(inside >= _least_edge(samples.noise[begin], peak[place]))
        first[place], final[place] = begin + high[0], begin + high[-1]
        core = inside[high[0] + 1 : high[-1]]
        height[place] = np.median(core) if len(core) else peak[place]
    return peak, height, first, final


_BLOCK_S = 1800.0
_LEAST_BLOCK, _MOST_BLOCK = 12, 720
_AROUND = 6
"""Blocks on either side: with blocks of half an hour a window of some six hours."""

_LOWEST, _LOW, _TAIL = 5.0, 20.0, 3.0


@dataclass(frozen=True)
class Background:
    """Level and scatter (standard deviation) of the background by sample, GB/s."""

    level: Numbers
    noise: Numbers


def background(rate: Numbers, sample_s: float) -> Background:
    """Return the background of a trace; NaN samples say nothing.

    First a low quantile of blocks, which bursts do not lift; then, where no burst stands out of it,
    the mean and the scatter of the rest.

    Args:
        rate: bandwidth by sample, GB/s.
        sample_s: usual width of a sample, s.
    """
    size = int(np.clip(_BLOCK_S / sample_s, _LEAST_BLOCK, _MOST_BLOCK))
    size = max(1, min(size, len(rate) // 2 or 1))
    blocks = _blocks(rate, size)
    with np.errstate(all="ignore"):
        lowest, low, middle = _quantiles(blocks, _LOWEST, _LOW, 50.0)
    # Where bursts fill more than half of the time, the median is one of theirs.
    spread = _smooth(np.minimum(middle - low, _TAIL * (low - lowest)).clip(0.0), np.median)
    # No long burst lifts a low quantile of the blocks around each.
    low = _smooth(low, lambda windows, axis: np.percentile(windows, 30.0, axis=axis))
    rough = _along(low, size, len(rate))
    peak = float(np.nanmax(rate, initial=0.0))
    limit = rough + _CLEAR * np.maximum(_along(spread, size, len(rate)), 1e-3 * peak)
    quiet = ~_widen(rate > limit)
    return _refine(rate, quiet, size)


def _blocks(values: Numbers, size: int) -> Numbers:
    short = -len(values) % size
    padded = np.concatenate((values, np.full(short, np.nan)))
    return np.asarray(padded.reshape(-1, size))


def _quantiles(blocks: Numbers, *percents: float) -> list[Numbers]:
    """Return quantiles of each block, NaN where nothing is known."""
    ordered = np.sort(blocks, axis=1)  # NaN last
    known = np.sum(~np.isnan(blocks), axis=1)
    rows = np.arange(len(blocks))
    found = []
    for percent in percents:
        place = np.clip((known - 1) * percent / 100, 0, None).astype(int)
        found.append(np.where(known > 0, ordered[rows, place], np.nan))
    return found


def _smooth(values: Numbers, how: Callable[..., Any]) -> Numbers:
    filled = _fill_in(values)
    around = min(_AROUND, max(len(filled) - 1, 0))
    padded = np.pad(filled, around, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * around + 1)
    return np.asarray(how(windows, axis=1))


def _fill_in(values: Numbers) -> Numbers:
    """Interpolate unknown values between their neighbours."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return np.zeros(len(values))
    return np.asarray(np.interp(np.arange(len(values)), known, values[known]))


def _along(blocks: Numbers, size: int, samples: int) -> Numbers:
    centres = (np.arange(len(blocks)) + 0.5) * size
    return np.asarray(np.interp(np.arange(samples) + 0.5, centres, blocks))


def _widen(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the samples of a mask and two more on either side."""
    result = mask.copy()
    for shift in (1, 2):
        result[shift:] |= mask[:-shift]
        result[:-shift] |= mask[shift:]
    return result


def _refine(rate: Numbers, quiet: NDArray[np.bool_], size: int) -> Background:
    blocks = _blocks(np.where(quiet, rate, np.nan), size)
    few = np.sum(~np.isnan(blocks), axis=1) < size // 6 + 1
    blocks[few] = np.nan
    (middle,) = _quantiles(blocks, 50.0)
    (scatter,) = _quantiles(np.abs(blocks - middle[:, None]), 50.0)
    scatter = _fill_in(MAD * scatter)
    outlying = np.abs(blocks - middle[:, None]) > _CLEAR * scatter[:, None] + 1e-12
    blocks[outlying] = np.nan
    known = np.sum(~np.isnan(blocks), axis=1)
    mean = np.where(known > 0, np.nansum(blocks, axis=1) / np.maximum(known, 1), np.nan)
    noise = _smooth(scatter, np.median)
    return Background(_along(_fill_in(mean), size, len(rate)), _along(noise, size, len(rate)))


_MOST_SAMPLES = 1 << 19
"""So many samples are enough to tell."""

_LONGEST_S = 3600.0
_LEAST_PAIRS = 200
_STILL = 4.0
_RETURNS = -0.35
"""The correlation of changes that are a window apart is -1/2; so near to it tells a window."""


def window_of(rate: Numbers, found: BurstsFound, sample_s: float) -> float | None:
    """Return the window over which samples are means, s: one sample where they are no more than
    that; None where too little scatters to tell.

    Args:
        rate: bandwidth by sample.
        found: bursts and background.
        sample_s: the usual width of a sample.
    """
    level, noise = found.background.level[:_MOST_SAMPLES], found.background.noise[:_MOST_SAMPLES]
    excess = rate[:_MOST_SAMPLES] - level
    change = np.diff(excess)
    quiet = np.abs(excess) <= _STILL * noise  # false where nothing is known
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
