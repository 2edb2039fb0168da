"""Samples of what flowed, and what goes wrong with them on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tests.telemetry.flow import Flags, Floats, Flow


@dataclass(frozen=True)
class Sampling:
    """How samples are taken: rates are means over a sample, ``bytes`` what it moved, a counter is
    read at its ends. ``jitter`` shifts the times by up to this share of a sample; ``stamp`` says
    which end a rate is filed under."""

    sample_s: float = 10.0
    form: Literal["rate", "bytes", "counter"] = "rate"
    jitter: float = 0.0
    stamp: Literal["start", "end"] = "start"


@dataclass(frozen=True)
class Faults:
    """What is lost or wrong: single samples (a share), stretches of minutes (a day), outages of
    hours, rows that come twice (a share), steps of the clock, and counters that begin again.
    ``blank``: rows are there without figures."""

    single: float = 0.0
    stretches_per_day: float = 0.0
    outages: int = 0
    repeated: float = 0.0
    steps: int = 0
    step_s: tuple[float, float] = (5.0, 3600.0)
    resets: int = 0
    blank: bool = False


@dataclass(frozen=True)
class Trace:
    """Rows as they were stored: seconds since 1970, and GB/s or (bytes, counters) bytes."""

    time_s: Floats
    write: Floats
    read: Floats
    form: Literal["rate", "bytes", "counter"]
    sample_s: float


@dataclass(frozen=True)
class Taken:
    """A trace, and which samples of the real time are in it as they were.

    ``steps`` are the times at which the clock jumped, ``offsets_s`` what it was off by after each.
    """

    trace: Trace
    edges_s: Floats
    lost: Flags
    epoch_s: float
    length_s: float
    steps_s: Floats
    offsets_s: Floats

    def on_clock(self, at_s: Floats) -> Floats:
        """Return the trace's own time for times from its start."""
        off = np.concatenate(([0.0], self.offsets_s))[np.searchsorted(self.steps_s, at_s)]
        return np.asarray(at_s + self.epoch_s + off, dtype=float)

    def whole(self, start_s: Floats, end_s: Floats) -> Flags:
        """Return for spans of time whether every sample of them, and one on each side, is there."""
        lost = np.concatenate(([0], np.cumsum(self.lost)))
        first = np.searchsorted(self.edges_s, start_s, "right") - 2
        last = np.searchsorted(self.edges_s, end_s, "left") + 1
        inside = (first >= 0) & (last < len(lost))
        first, last = np.maximum(first, 0), np.minimum(last, len(lost) - 1)
        return np.asarray(inside & (lost[last] == lost[first]))


def sampled(
    sampling: Sampling,
    faults: Faults,
    length_s: float,
    epoch_s: float,
    writing: Flow,
    reading: Flow,
    random: np.random.Generator,
) -> Taken:
    """Take samples of both flows; lose, repeat and misdate some."""
    count = round(length_s / sampling.sample_s)
    edges = np.arange(count + 1) * sampling.sample_s
    edges += sampling.jitter * sampling.sample_s * random.uniform(-0.5, 0.5, count + 1)
    steps, offsets = _steps(faults, length_s, random)
    resets = np.sort(random.uniform(0.01, 0.99, faults.resets) * length_s)
    gone = _gone(faults, edges, random)  # rows: one each sample, for counters also the last edge
    rows = count + (sampling.form == "counter")
    stamps = edges[1:] if sampling.stamp == "end" and sampling.form != "counter" else edges[:rows]
    columns = [
        _column(sampling.form, edges, flow.moved_gb(edges), np.searchsorted(edges, resets), random)
        for flow in (writing, reading)
    ]
    lost = gone[:-1].copy()
    if sampling.form == "counter":
        lost |= gone[1:]
    for moments in (steps, resets) if sampling.form == "counter" else (steps,):
        lost[np.clip(np.searchsorted(edges, moments) - 1, 0, count - 1)] = True
    offset = np.concatenate(([0.0], offsets))[np.searchsorted(steps, stamps)]
    time = np.round(epoch_s + stamps + offset, 3)
    trace = _stored(sampling, faults, time, columns, gone[:rows], random)
    return Taken(trace, edges, lost, epoch_s, length_s, steps, offsets)


def _stored(
    sampling: Sampling,
    faults: Faults,
    time: Floats,
    columns: list[Floats],
    gone: Flags,
    random: np.random.Generator,
) -> Trace:
    times = np.ones(len(time), dtype=int) + (random.random(len(time)) < faults.repeated)
    if faults.blank:
        columns = [np.where(gone, np.nan, column) for column in columns]
    else:
        times[gone] = 0
    time, write, read = (np.repeat(column, times) for column in (time, *columns))
    return Trace(time, write, read, sampling.form, sampling.sample_s)


def _column(
    form: str,
    edges: Floats,
    moved_gb: Floats,
    resets: NDArray[np.intp],
    random: np.random.Generator,
) -> Floats:
    """Return mean rates of samples, what each moved, or the counter at every edge."""
    if form == "rate":
        return np.diff(moved_gb) / np.diff(edges)
    if form == "bytes":
        return np.round(np.diff(moved_gb) * 1e9)
    count = np.floor(moved_gb * 1e9) + float(random.integers(0, 10**14))
    for at in resets:
        missed = (moved_gb[at] - moved_gb[at - 1]) * 1e9 * random.random()
        count[at:] -= count[at] - np.floor(missed)
    return count


def _steps(faults: Faults, length_s: float, random: np.random.Generator) -> tuple[Floats, Floats]:
    at = np.sort(random.uniform(0.05, 0.95, faults.steps) * length_s)
    size = np.exp(random.uniform(*np.log(faults.step_s), faults.steps))
    return at, np.cumsum(np.round(size) * random.choice([-1.0, 1.0], faults.steps))


def _gone(faults: Faults, edges: Floats, random: np.random.Generator) -> Flags:
    gone = random.random(len(edges)) < faults.single
    length_s = edges[-1]
    spans = [(120.0, 1800.0)] * random.poisson(faults.stretches_per_day * length_s / 86400)
    spans += [(3600.0, 8 * 3600.0)] * faults.outages
    for low, high in spans:
        start = random.uniform(0, length_s)
        gone |= (edges >= start) & (edges < start + random.uniform(low, high))
    return gone
