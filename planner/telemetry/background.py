"""What is written besides bursts: its level along the trace, and how much it scatters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.figures import MAD
from planner.telemetry.raw import Numbers

_BLOCK_S = 1800.0
_LEAST_BLOCK, _MOST_BLOCK = 12, 720
_AROUND = 6
"""Blocks on either side: with blocks of half an hour a window of some six hours."""
_LOWEST, _LOW, _TAIL = 5.0, 20.0, 3.0
_CLEAR = 6.0


@dataclass(frozen=True)
class Background:
    """Level and scatter (standard deviation) of the background by sample, GB/s."""

    level: Numbers
    noise: Numbers


def background(rate: Numbers, sample_s: float) -> Background:
    """Return the background of a trace; NaN samples say nothing.

    First a low quantile of blocks, which bursts do not lift; then, where no burst stands out of it,
    the mean and the scatter of what is left.

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
    low = _lowered(low)
    rough = _along(low, size, len(rate))
    limit = rough + _CLEAR * np.maximum(_along(spread, size, len(rate)), 1e-3 * _peak(rate))
    quiet = ~_widened(rate > limit)
    return _refined(rate, quiet, size)


def _peak(rate: Numbers) -> float:
    return float(np.nanmax(rate, initial=0.0))


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


def _lowered(low: Numbers) -> Numbers:
    """Return block levels that no long burst lifts: a low quantile of the blocks around each."""

    def quantile(window: Numbers, axis: int) -> Numbers:
        return np.asarray(np.percentile(window, 30.0, axis=axis))

    return _smooth(low, quantile)


def _smooth(values: Numbers, how: Callable[..., Any]) -> Numbers:
    filled = _filled(values)
    around = min(_AROUND, max(len(filled) - 1, 0))
    padded = np.pad(filled, around, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * around + 1)
    return np.asarray(how(windows, axis=1))


def _filled(values: Numbers) -> Numbers:
    """Return values with what is not known drawn between its neighbours."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return np.zeros(len(values))
    return np.asarray(np.interp(np.arange(len(values)), known, values[known]))


def _along(blocks: Numbers, size: int, samples: int) -> Numbers:
    centres = (np.arange(len(blocks)) + 0.5) * size
    return np.asarray(np.interp(np.arange(samples) + 0.5, centres, blocks))


def _widened(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the samples of a mask and two more on either side."""
    result = mask.copy()
    for shift in (1, 2):
        result[shift:] |= mask[:-shift]
        result[:-shift] |= mask[shift:]
    return result


def _refined(rate: Numbers, quiet: NDArray[np.bool_], size: int) -> Background:
    blocks = _blocks(np.where(quiet, rate, np.nan), size)
    few = np.sum(~np.isnan(blocks), axis=1) < size // 6 + 1
    blocks[few] = np.nan
    (middle,) = _quantiles(blocks, 50.0)
    (scatter,) = _quantiles(np.abs(blocks - middle[:, None]), 50.0)
    scatter = _filled(MAD * scatter)
    outlying = np.abs(blocks - middle[:, None]) > _CLEAR * scatter[:, None] + 1e-12
    blocks[outlying] = np.nan
    known = np.sum(~np.isnan(blocks), axis=1)
    mean = np.where(known > 0, np.nansum(blocks, axis=1) / np.maximum(known, 1), np.nan)
    noise = _smooth(scatter, np.median)
    return Background(_along(_filled(mean), size, len(rate)), _along(noise, size, len(rate)))
