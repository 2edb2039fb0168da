"""A trace put in order: elapsed time, the width of each sample, bandwidth, gaps.

Rows that come late or twice are dropped, steps of the clock are taken out of the elapsed time,
counters become rates, and where samples are missing one sample stands for the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.errors import Finding, InputError
from planner.telemetry.raw import Figures, Numbers, Raw, ReadAs, ReadOptions, refusal, stretches_of

FILLED_SAMPLES = 3
"""A gap of so many samples is bridged; a longer one is a hole in what is known."""

LATE_ROWS = 3
"""So many rows that are older than the one before them came late; more are a step of the clock."""

FIX_APART = (
    "rows of several hosts? tell them apart with --cluster COLUMN, or add them up with --sum"
)
_LEAST_SAMPLES = 8
_MOST_GB = 1e12
"""A figure of traffic is less: counters of 64 bits end at 2e10 GB."""

_ALIKE = 0.2
"""Stretches of several hosts, one after another, are about as long as one another."""

_GAP, _STEP = 1.5, 0.5
_BLOCK, _LEAST_STEP_S = 4096, 1e-3
_FALLS = 0.05
"""A counter falls, when it starts again, less often than it rises by this share."""


@dataclass(frozen=True)
class Series:
    """A cluster's traffic by sample.

    Attributes:
        start_s: elapsed time at which a sample begins, never falling.
        width_s: how long it is.
        clock_s: the time that the file gives to its beginning.
        write, read: mean bandwidth, GB/s; over a hole NaN.
        known: whether the sample was there; a bridged gap was not.
        sample_s: the usual width.
    """

    cluster: str
    start_s: Numbers
    width_s: Numbers
    clock_s: Numbers
    write: Numbers
    read: Numbers | None
    known: NDArray[np.bool_]
    sample_s: float
    read_as: ReadAs
    dated: bool
    samples: int
    missing: int = 0
    steps: int = 0
    resets: int = 0
    repeated: int = 0

    def clock(self, elapsed_s: Numbers) -> Numbers:
        """Return times of the file's clock for elapsed times."""
        place = np.clip(np.searchsorted(self.start_s, elapsed_s, "right") - 1, 0, None)
        return self.clock_s[place] + (elapsed_s - self.start_s[place])


def series(raw: Raw, options: ReadOptions) -> Series:
    """Return a cluster's trace in order.

    Raises:
        InputError: there are too few samples, or times do not move.
    """
    raw = _drop_useless(raw)
    usual = _usual_step(raw)
    ordered = _order(raw)
    kept = _kept(ordered, usual)
    _must_be_of_one(ordered, kept, usual)
    raw, repeated = _choose(ordered, kept), int(len(kept) - kept.sum())
    step = np.diff(raw.time_s)
    widths = _local_usual(step, usual)
    back = step < _STEP * widths
    step = np.where(back, widths, step)
    elapsed = np.concatenate(([0.0], np.cumsum(step)))
    ordered = replace(raw, time_s=elapsed)
    clock = raw.time_s
    read_as = _kind(raw, options)
    if read_as == "counter":
        found = _from_counter(ordered, clock, widths)
    else:
        found = _from_samples(ordered, clock, widths, options.stamp, read_as)
    return replace(
        found,
        steps=int(np.sum(np.diff(clock) <= 0)),
        repeated=repeated,
        samples=len(clock),
    )


def _drop_useless(raw: Raw) -> Raw:
    """Drop rows that say nothing: no time, no write, or one below 0 or beyond reason."""
    good = np.isfinite(raw.time_s) & (raw.write >= 0) & (raw.write < _MOST_GB)
    if raw.read is not None and np.any(raw.read >= _MOST_GB):
        raw = replace(raw, read=np.where(raw.read < _MOST_GB, raw.read, np.nan))
    if good.sum() < _LEAST_SAMPLES:
        message = f"cluster '{raw.cluster}' has {int(good.sum())} samples with time and write"
        raise refusal(raw.file, message, f"a trace needs {_LEAST_SAMPLES} at least")
    return _choose(raw, good)


def _choose(raw: Raw, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Raw:
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


def _order(raw: Raw) -> Raw:
    """Return rows by time where they are written in no order at all, else as they are."""
    if np.mean(np.diff(raw.time_s) < 0) > 0.01:
        return _choose(raw, np.argsort(raw.time_s, kind="stable"))
    return raw


def _kept(raw: Raw, usual: float) -> NDArray[np.bool_]:
    """Mask of rows that are neither duplicate nor late."""
    step = np.diff(raw.time_s)
    kept = np.concatenate(([True], step != 0))
    behind = raw.time_s < np.maximum.accumulate(raw.time_s)
    for begin, end in zip(*stretches_of(behind), strict=True):
        late = end < len(behind) and step[end - 1] > _GAP * usual
        if end - begin <= LATE_ROWS and late:  # else the clock was set, and goes on from there
            kept[begin:end] = False
    return kept


def _must_be_of_one(raw: Raw, kept: NDArray[np.bool_], usual: float) -> None:
    """Refuse rows of several hosts, that repeat times with other figures.

    In a long trace a few such rows are a clock that was set back by a sample, as by a leap second.

    Raises:
        InputError: there are such rows.
    """
    again = _again(raw, kept)
    if again > (LATE_ROWS if len(kept) >= 1000 * LATE_ROWS else 0):
        message = f"cluster '{raw.cluster}': {again:,} of {len(kept):,} rows repeat a time"
        message += " with other figures"
        raise refusal(raw.file, message, FIX_APART)
    begin = np.flatnonzero(
        (np.diff(raw.time_s) < 0) & (np.abs(raw.time_s[1:] - raw.time_s[0]) <= LATE_ROWS * usual)
    )
    parts = np.diff(np.concatenate(([0], begin + 1, [len(kept)])))
    if len(begin) and parts[0] >= _LEAST_SAMPLES and parts[0] >= _ALIKE * parts.max():
        message = f"cluster '{raw.cluster}': times start again {len(begin):,} times"
        raise refusal(raw.file, message, FIX_APART)


def _again(raw: Raw, kept: NDArray[np.bool_]) -> int:
    """Number of dropped rows that differ from the row kept for their time."""
    dropped = np.flatnonzero(~kept)
    if not len(dropped):
        return 0
    place = np.flatnonzero(kept)
    place = place[np.argsort(raw.time_s[place], kind="stable")]
    found = np.searchsorted(raw.time_s[place], raw.time_s[dropped]).clip(max=len(place) - 1)
    found = place[found]
    other = raw.write[found] != raw.write[dropped]
    if raw.read is not None:
        both = np.isfinite(raw.read[found]) & np.isfinite(raw.read[dropped])
        other |= both & (raw.read[found] != raw.read[dropped])
    return int(np.sum(other & (raw.time_s[found] == raw.time_s[dropped])))


def _local_usual(step: Numbers, usual: float) -> Numbers:
    """Return the usual step where each step is: sampling may change along a trace."""
    result = np.full(len(step), usual)
    for begin in range(0, len(step), _BLOCK):
        block = step[begin : begin + _BLOCK]
        ahead = block[block > 0]
        if len(ahead) >= _BLOCK // 8:
            result[begin : begin + _BLOCK] = max(np.median(ahead), _LEAST_STEP_S)
    return result


def _kind(raw: Raw, options: ReadOptions) -> ReadAs:
    """Kind of the figures: by unit, and by their monotony."""
    if options.read_as is not None:
        if raw.is_rate != (options.read_as == "rate"):
            unit = "a bandwidth" if raw.is_rate else "a size"
            message = f"the unit is {unit}, so the figures cannot be read as {options.read_as}"
            raise InputError(Finding("option", message, path="--read-as"))
        return options.read_as
    if raw.is_rate:
        return "rate"
    step = np.diff(raw.write)
    return "counter" if np.sum(step < 0) <= _FALLS * np.sum(step > 0) else "bytes"


def _from_samples(raw: Raw, clock: Numbers, usual: Numbers, stamp: str, read_as: ReadAs) -> Series:
    """Return rates of samples that stand for themselves, gaps bridged or left open."""
    step = np.diff(raw.time_s)
    last = float(usual[-1])
    gap_after = step > _GAP * usual
    width = np.append(np.where(gap_after, usual, step), last)
    if stamp == "end":
        width = np.concatenate(([float(usual[0])], np.where(gap_after, usual, step)))
        raw, clock = replace(raw, time_s=raw.time_s - width), clock - width
        holes = raw.time_s[1:] - (raw.time_s[:-1] + width[:-1])
    else:
        holes = np.where(gap_after, step - usual, 0.0)
    holes = np.where(gap_after, holes, 0.0)
    write, read = _rates(raw.write, width, read_as), None
    if raw.read is not None:
        read = _rates(np.nan_to_num(raw.read), width, read_as)
    after = np.flatnonzero(gap_after) + 1
    short = holes[after - 1] <= (FILLED_SAMPLES + _STEP) * usual[after - 1]

    def bridged(values: Numbers) -> Numbers:
        between = np.where(short, (values[after - 1] + values[after]) / 2, np.nan)
        return np.insert(values, after, between)

    return Series(
        raw.cluster,
        start_s=np.insert(raw.time_s, after, raw.time_s[after - 1] + width[after - 1]),
        width_s=np.insert(width, after, holes[after - 1]),
        clock_s=np.insert(clock, after, clock[after - 1] + width[after - 1]),
        write=bridged(write),
        read=None if read is None else bridged(read),
        known=np.insert(np.ones(len(width), dtype=bool), after, False),
        sample_s=float(np.median(usual)),
        read_as=read_as,
        dated=raw.dated,
        samples=len(width),
        missing=int(np.round(holes[after - 1] / usual[after - 1]).sum()),
    )


def _rates(figures: Figures, width: Numbers, read_as: ReadAs) -> Numbers:
    values = figures.astype(np.float64)
    return values if read_as == "rate" else values / width


def _from_counter(raw: Raw, clock: Numbers, usual: Numbers) -> Series:
    """Return rates between readings of a counter; a reading below the one before starts at 0."""
    width = np.diff(raw.time_s)
    write, resets = _increase(raw.write)
    if raw.summed:  # one of them started again: what the others counted meanwhile is not known
        write = np.where(np.diff(raw.write) < 0, np.nan, write)
    read = None if raw.read is None else _increase(_hold(raw.read))[0] / width
    missed = np.round(width / usual - 1).clip(0)
    hole = missed > FILLED_SAMPLES
    return Series(
        raw.cluster,
        start_s=raw.time_s[:-1],
        width_s=width,
        clock_s=clock[:-1],
        write=np.where(hole, np.nan, write / width),
        read=None if read is None else np.where(hole, np.nan, read),
        known=missed == 0,
        sample_s=float(np.median(usual)),
        read_as="counter",
        dated=raw.dated,
        samples=len(clock),
        missing=int(missed.sum()),
        resets=resets,
    )


def _increase(figures: Figures) -> tuple[Numbers, int]:
    step = np.diff(figures.astype(np.float64))
    fell = step < 0
    return np.where(fell, figures[1:], step), int(fell.sum())


def _hold(figures: Figures) -> Figures:
    """Return readings, each missing one replaced by the one before it."""
    place = np.maximum.accumulate(np.where(np.isnan(figures), 0, np.arange(len(figures))))
    return np.nan_to_num(figures[place])
