"""A trace put in order, its background, and the bursts of traffic above it.

Order: repeated rows are dropped, steps of the clock are taken out of the elapsed time, counters
become rates, and where samples are missing one sample stands for the gap. The background is other
traffic: its level along the trace, and its scatter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from planner.errors import Finding, InputError
from planner.telemetry.tables import Numbers
from planner.telemetry.traces import Raw, ReadAs, ReadOptions, refusal

Flags = NDArray[np.bool_]
Places = NDArray[np.intp]
"""Positions in an array."""

Z = 1.645
"""Half of the range that holds nine tenths of a normal distribution, in standard deviations."""

MAD = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""


def scatter(values: Numbers) -> float:
    """Scatter of values about their median, as a standard deviation."""
    return MAD * float(np.median(np.abs(values - np.median(values))))


def _stretches(mask: Flags) -> tuple[Places, Places]:
    """Starts and ends (one behind the last) of the stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges[::2], edges[1::2]


# A trace in order

FILLED_SAMPLES = 3
"""A gap of so many samples is bridged; a longer one is a hole."""

_FIX_APART = (
    "rows of several hosts? tell them apart with --cluster COLUMN, or add them up with --sum"
)
_LEAST_SAMPLES = 8
_MOST_GB = 1e12
"""A figure of traffic is less: counters of 64 bits end at 2e10 GB."""

_REPEATED = 0.1
"""Share of rows that repeat a time with other figures, above which they are of several hosts."""

_GAP, _STEP = 1.5, 0.5
_LEAST_STEP_S = 1e-3
_FALLS = 0.05
"""A counter falls, when it starts again, less often than it rises by this share."""


@dataclass(frozen=True)
class Series:
    """A cluster's traffic by sample.

    Attributes:
        start_s: elapsed time at which a sample begins, never falling.
        width_s: its length.
        clock_s: the file's time of its beginning.
        write, read: mean bandwidth, GB/s; over a hole NaN.
        sample_s: the usual width.
        samples, missing, steps: counts, as in ``ClusterFound``.
    """

    cluster: str
    start_s: Numbers
    width_s: Numbers
    clock_s: Numbers
    write: Numbers
    read: Numbers | None
    sample_s: float
    read_as: ReadAs
    dated: bool
    samples: int
    missing: int = 0
    steps: int = 0

    def clock(self, elapsed_s: Numbers) -> Numbers:
        """Times of the file's clock for elapsed times."""
        place = np.clip(np.searchsorted(self.start_s, elapsed_s, "right") - 1, 0, None)
        return self.clock_s[place] + (elapsed_s - self.start_s[place])


def series(raw: Raw, options: ReadOptions) -> Series:
    """A cluster's trace in order.

    Raises:
        InputError: there are too few samples, or times do not move.
    """
    good = np.isfinite(raw.time_s) & (raw.write >= 0) & (raw.write < _MOST_GB)
    if good.sum() < _LEAST_SAMPLES:
        message = f"cluster '{raw.cluster}' has {int(good.sum())} samples with time and write"
        raise refusal(raw.file, message, f"a trace needs {_LEAST_SAMPLES} at least")
    raw = _choose(raw, good)
    if raw.read is not None:
        raw = replace(raw, read=np.where(raw.read < _MOST_GB, raw.read, np.nan))
    if np.mean(np.diff(raw.time_s) < 0) > 0.01:  # in no order at all
        raw = _choose(raw, np.argsort(raw.time_s, kind="stable"))
    usual = _usual_step(raw)
    kept = np.append(True, np.diff(raw.time_s) != 0)
    _require_one_source(raw)
    raw = _choose(raw, kept)
    clock, step = raw.time_s, np.diff(raw.time_s)
    step = np.where(step < _STEP * usual, usual, step)
    raw = replace(raw, time_s=np.append(0.0, np.cumsum(step)))
    read_as = _kind(raw, options)
    if read_as == "counter":
        found = _from_counter(raw, clock, usual)
    else:
        found = _from_samples(raw, clock, usual, read_as)
    return replace(found, steps=int(np.sum(np.diff(clock) <= 0)))


def _choose(raw: Raw, rows: Flags | Places) -> Raw:
    read = None if raw.read is None else raw.read[rows]
    return replace(raw, time_s=raw.time_s[rows], write=raw.write[rows], read=read)


def _usual_step(raw: Raw) -> float:
    step = np.diff(raw.time_s)
    ahead = step[step > 0]
    if not len(ahead):
        message = f"times of cluster '{raw.cluster}' do not move on"
        raise refusal(raw.file, message, "name the right column: --time")
    usual = float(np.median(ahead))
    if usual < _LEAST_STEP_S:
        message = f"samples of cluster '{raw.cluster}' are {usual:.2g} s apart"
        raise refusal(raw.file, message, "write times in seconds, or name their unit as in time_ms")
    return usual


def _require_one_source(raw: Raw) -> None:
    """Refuse rows of several hosts, that repeat many times with other figures.

    A clock that was set back repeats a few.

    Raises:
        InputError: there are such rows.
    """
    order = np.argsort(raw.time_s, kind="stable")
    time, write = raw.time_s[order], raw.write[order]
    again = int(np.sum((np.diff(time) == 0) & (np.diff(write) != 0)))
    if again > _REPEATED * len(time):
        message = f"cluster '{raw.cluster}': {again:,} of {len(time):,} rows repeat a time"
        raise refusal(raw.file, f"{message} with other figures", _FIX_APART)


def _kind(raw: Raw, options: ReadOptions) -> ReadAs:
    """Kind of the figures: by unit, and by their monotony."""
    if options.read_as is not None:
        if raw.is_rate != (options.read_as == "rate"):
            unit = "a bandwidth" if raw.is_rate else "a size"
            message = f"the unit is {unit}, so the figures cannot be read as {options.read_as}"
            fix = "give the unit: --unit B for bytes, --unit GB/s for a bandwidth"
            raise InputError(Finding("option", message, path="--read-as", fix=fix))
        return options.read_as
    if raw.is_rate:
        return "rate"
    step = np.diff(raw.write)
    return "counter" if np.sum(step < 0) <= _FALLS * np.sum(step > 0) else "bytes"


def _from_samples(raw: Raw, clock: Numbers, usual: float, read_as: ReadAs) -> Series:
    """Rates of samples that stand for themselves, gaps bridged or left open."""
    step = np.diff(raw.time_s)
    width = np.append(np.where(step > _GAP * usual, usual, step), usual)
    start, after = raw.time_s, np.flatnonzero(step > _GAP * usual) + 1
    ends = start[after - 1] + width[after - 1]
    hole = start[after] - ends
    short = hole <= (FILLED_SAMPLES + _STEP) * usual

    def bridge_gaps(figures: Numbers) -> Numbers:
        values = figures if read_as == "rate" else figures / width
        between = np.where(short, (values[after - 1] + values[after]) / 2, np.nan)
        return np.insert(values, after, between)

    return Series(
        raw.cluster,
        start_s=np.insert(start, after, ends),
        width_s=np.insert(width, after, hole),
        clock_s=np.insert(clock, after, clock[after - 1] + width[after - 1]),
        write=bridge_gaps(raw.write),
        read=None if raw.read is None else bridge_gaps(np.nan_to_num(raw.read)),
        sample_s=usual,
        read_as=read_as,
        dated=raw.dated,
        samples=len(width),
        missing=int(np.round(hole / usual).sum()),
    )


def _from_counter(raw: Raw, clock: Numbers, usual: float) -> Series:
    """Rates between readings of a counter; one below that before counts from 0 at least, and no
    less than the rates beside it, since it had gone on until it started again."""
    width = np.diff(raw.time_s)
    missed = np.round(width / usual - 1).clip(0)

    def rates(figures: Numbers) -> Numbers:
        step = np.diff(figures)
        rate = np.where(step < 0, figures[1:], step) / width
        beside = np.minimum(np.roll(rate, 1), np.roll(rate, -1))
        rate = np.where(step < 0, np.maximum(rate, beside), rate)
        # where one of several counters started again, the increase of the others is unknown
        unknown = (missed > FILLED_SAMPLES) | ((step < 0) & raw.summed)
        return np.where(unknown, np.nan, rate)

    return Series(
        raw.cluster,
        start_s=raw.time_s[:-1],
        width_s=width,
        clock_s=clock[:-1],
        write=rates(raw.write),
        read=None if raw.read is None else np.nan_to_num(rates(_hold(raw.read))),
        sample_s=usual,
        read_as="counter",
        dated=raw.dated,
        samples=len(clock),
        missing=int(missed.sum()),
    )


def _hold(figures: Numbers) -> Numbers:
    """Readings, each missing one replaced by the one before it."""
    return np.asarray(pd.Series(figures).ffill().fillna(0.0).to_numpy(float))


# Bursts

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
        start_s, end_s: where the traffic begins and ends, interpolated within their samples.
        size_gb: volume above the background.
        peak: largest bandwidth of a sample above the background, GB/s.
        height: the median bandwidth above the background.
        span_s: all samples that stand out, from the start of the first to the end of the last.
        size_error_gb, edge_error_s: half of the range that noise and sampling leave.
        cut: whether it touches a hole in the trace, or its end.
    """

    start_s: Numbers
    end_s: Numbers
    size_gb: Numbers
    peak: Numbers
    height: Numbers
    span_s: Numbers
    size_error_gb: Numbers
    edge_error_s: Numbers
    cut: Flags

    def __len__(self) -> int:
        """Number of bursts."""
        return len(self.start_s)

    def chosen(self, which: Flags | Places) -> Bursts:
        """Some of the bursts."""
        return Bursts(*(getattr(self, each.name)[which] for each in fields(self)))

    @property
    def duration_s(self) -> Numbers:
        """Duration of each."""
        return self.end_s - self.start_s


def find_bursts(rate: Numbers, start_s: Numbers, width_s: Numbers, sample_s: float) -> Bursts:
    """Bursts in a column of bandwidth over its background.

    Args:
        rate: mean bandwidth by sample, GB/s; NaN over a hole.
        start_s, width_s: start and length of each sample, s.
        sample_s: the usual length.
    """
    level, noise = background(rate, sample_s)
    excess = rate - level
    floor = _FLOOR * float(np.nanmax(rate, initial=0.0))
    begins, ends = _stretches(excess > np.maximum(_OVER * noise, floor))
    clear = excess > np.maximum(_CLEAR * noise, 2 * floor)
    total = np.concatenate(([0], np.cumsum(clear)))
    risen = total[ends] > total[begins]
    begins, ends = begins[risen], ends[risen]
    total_gb = np.append(0.0, np.cumsum(np.nan_to_num(excess) * width_s))
    variance = np.append(0.0, np.cumsum((noise * width_s) ** 2))
    size = np.maximum(total_gb[ends] - total_gb[begins], 0.0)
    peak, height, first, final = _heights(excess, noise, begins, ends)
    rising = width_s[first] * np.clip(1 - excess[first] / np.maximum(height, _TINY), 0, 1)
    falling = width_s[final] * np.clip(1 - excess[final] / np.maximum(height, _TINY), 0, 1)
    start, end = start_s[first] + rising, start_s[final] + width_s[final] - falling
    # A burst in a single sample is put in its middle, as long as its size and bandwidth say.
    one, middle = first == final, start_s[first] + width_s[first] / 2
    half = np.minimum(size / np.maximum(peak, _TINY), sample_s) / 2
    hole, last = np.isnan(excess), len(excess) - 1
    cut = (begins == 0) | (ends > last)
    cut |= hole[np.maximum(begins - 1, 0)] | hole[np.minimum(ends, last)]
    blurred = 0.1 + Z * noise[begins] / np.maximum(height, _TINY)
    return Bursts(
        start_s=np.where(one, middle - half, start),
        end_s=np.where(one, middle + half, end),
        size_gb=size,
        peak=peak,
        height=height,
        span_s=start_s[final] + width_s[final] - start_s[first],
        size_error_gb=Z * np.sqrt(variance[ends] - variance[begins]),
        edge_error_s=sample_s * np.where(final - first > 1, blurred, 1.0),
        cut=cut,
    )


def _heights(
    excess: Numbers, noise: Numbers, begins: Places, ends: Places
) -> tuple[Numbers, Numbers, Places, Places]:
    """Largest and usual bandwidth of each burst, and the samples at its edges.

    The usual one is the median of the samples between the first and the last that stand out; of a
    burst of two samples or one it is the largest. Samples far below the largest are no edge: the
    background had risen there.
    """
    count = len(begins)
    peak, height = np.zeros(count), np.zeros(count)
    first, final = begins.copy(), ends - 1
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        inside = excess[begin:end]
        most = peak[place] = float(inside.max())
        edge = min(max(_NOISY * float(noise[begin]), _EDGE * most), _MOST_EDGE * most)
        high = np.flatnonzero(inside >= edge)
        first[place], final[place] = begin + high[0], begin + high[-1]
        core = inside[high[0] + 1 : high[-1]]
        height[place] = np.median(core) if len(core) else peak[place]
    return peak, height, first, final


# Background

_BLOCK_S = 1800.0
_LEAST_BLOCK, _MOST_BLOCK = 12, 720
_AROUND = 13
"""Blocks in a window: with blocks of half an hour some six hours."""

_LOW = 0.2


def background(rate: Numbers, sample_s: float) -> tuple[Numbers, Numbers]:
    """Level and scatter (standard deviation) of the background by sample, GB/s; NaN: unknown.

    First a low quantile of blocks, which bursts do not lift; then, where no burst stands out of it,
    the mean and the scatter of the rest.

    Args:
        rate: bandwidth by sample, GB/s.
        sample_s: usual width of a sample, s.
    """
    size = int(np.clip(_BLOCK_S / sample_s, _LEAST_BLOCK, _MOST_BLOCK))
    size = max(1, min(size, len(rate) // 2 or 1))
    blocks = _blocks(rate, size)
    low, middle = blocks.quantile([_LOW, 0.5], interpolation="lower").to_numpy()
    spread = _around(middle - low).median()
    peak = float(np.nanmax(rate, initial=0.0))
    # No long burst lifts a low quantile of the blocks around each.
    limit = _along(_around(low).quantile(0.3), size, len(rate))
    limit += _CLEAR * np.maximum(_along(spread, size, len(rate)), 1e-3 * peak)
    quiet = ~np.convolve(rate > limit, np.ones(5), "same").astype(bool)  # two samples on each side
    blocks = _blocks(np.where(quiet, rate, np.nan), size)
    known = blocks.count() >= size // 6 + 1
    level = _filled(blocks.mean().where(known))
    noise = (MAD * (blocks - blocks.median()).abs().median()).where(known)
    noise = _around(noise).median()
    return _along(level, size, len(rate)), _along(noise, size, len(rate))


def _blocks(values: Numbers, size: int) -> pd.DataFrame:
    """Samples in blocks, a column each."""
    padded = np.concatenate((values, np.full(-len(values) % size, np.nan)))
    return pd.DataFrame(padded.reshape(-1, size).T)


def _filled(values: Any) -> pd.Series[float]:
    """Unknown values interpolated between their neighbours; 0 where none is known."""
    return pd.Series(values).interpolate(limit_direction="both").fillna(0.0)


def _around(values: Any) -> Any:
    """Windows around each block."""
    return _filled(values).rolling(_AROUND, center=True, min_periods=1)


def _along(blocks: Any, size: int, samples: int) -> Numbers:
    centres = (np.arange(len(blocks)) + 0.5) * size
    return np.asarray(np.interp(np.arange(samples) + 0.5, centres, blocks))
