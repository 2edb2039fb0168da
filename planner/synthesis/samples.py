"""What a cluster's storage would report: samples of its traffic, and how good they are.

A sample's rate is the mean over exactly the time it stands for, from its own time to the next
one's: the difference of what has been moved by then, which is the integral of rates that are
constant between events. A counter's value is what has been moved by its time; counters only grow,
but for when they start again at 0.

Other traffic takes nothing away from the jobs: their checkpoints are as fast as without it. In each
direction it has the mean that is asked for, of two parts:

* 80 % are steady but for the time of day, when they rise and fall as a sine, by half to either
  side. At what hour they are highest is drawn.
* 20 % are bursts. They come at random, one in 30 minutes on average, last 1 minute on average, and
  their rates are drawn, too; times, durations and rates are exponentially distributed.

What goes wrong with telemetry: samples get lost, clocks are set, counters start again. Each kind of
fault has random numbers of its own, so that none changes another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from planner.errors import Finding, InputError
from planner.simulation.history import History
from planner.units import DAY_S

MOST_SAMPLES = 1_000_000_000
"""More than that in one trace is a slip of the keyboard."""

_START = "write for example 2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Quality:
    """How a trace is sampled, and what is wrong with it.

    Attributes:
        start: when it begins, UTC.
        length_s: how long it is, in whole samples.
        sample_s: time between two samples, a multiple of 1 ms.
        background_gb_per_s: mean of other traffic, in each direction.
        noise: standard deviation of a sample's rate, as a share of it.
        missing: share of samples that got lost.
        jitter_s: how far a sampling time may lie off to either side.
        counter: whether samples are counters of bytes, and not rates.
        resets: how often counters start again at 0.
        clock_steps: how often the clock is set.
    """

    start: datetime
    length_s: float
    sample_s: float = 10.0
    background_gb_per_s: float = 0.0
    noise: float = 0.0
    missing: float = 0.0
    jitter_s: float = 0.0
    counter: bool = False
    resets: int = 0
    clock_steps: int = 0

    @property
    def sample_ms(self) -> int:
        """Time between two samples, ms."""
        return round(1000 * self.sample_s)

    @property
    def samples(self) -> int:
        """How many whole samples fit into the length."""
        return round(1000 * self.length_s) // self.sample_ms

    @property
    def sampled_s(self) -> float:
        """How long all samples together are, s."""
        return self.samples * self.sample_ms / 1000

    @property
    def start_ms(self) -> int:
        """The start in ms since 1970."""
        return (self.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def start_of(text: str) -> datetime:
    """Return a time as ISO 8601 has it, taken for UTC where it names no time zone.

    Raises:
        InputError: it is none, or before 1970.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong(f"--start '{text}' is no time", _START) from None
    if found.year < 1970:
        raise _wrong(f"--start '{text}' is before 1970", _START)
    return found


def require(quality: Quality, clusters: int = 1) -> None:
    """Refuse what no telemetry can be, each fault with one line.

    Raises:
        InputError: options are wrong, or do not go together.
    """
    findings = [Finding("option", message, fix=fix) for message, fix in _faults(quality, clusters)]
    if findings:
        raise InputError(findings)


def _faults(quality: Quality, clusters: int) -> Iterator[tuple[str, str | None]]:
    exact = abs(quality.sample_ms - 1000 * quality.sample_s) < 1e-6
    if quality.sample_ms < 1 or not exact:
        yield f"--sample {quality.sample_s:g} s is no multiple of 1 ms", "write for example '10 s'"
        return
    if quality.samples < 1:
        yield (
            f"--length {quality.length_s:g} s is shorter than one sample of {quality.sample_s:g} s",
            "write for example --length '14 d'",
        )
    yield from _too_much(quality, clusters)
    if quality.jitter_s >= quality.sample_s / 2:
        yield (
            f"--jitter {quality.jitter_s:g} s must be less than half of a sample of "
            f"{quality.sample_s:g} s",
            None,
        )
    if quality.missing >= 1:
        yield f"--missing {quality.missing:g} leaves no samples", "write for example '0.1 %'"
    if quality.noise > 1:
        yield f"--noise {quality.noise:g} is more than the rate itself", "write for example '3 %'"
    if quality.resets and not quality.counter:
        yield "--resets are of counters, and the samples are rates", "add --counter"
    for option, number in (("--resets", quality.resets), ("--clock-steps", quality.clock_steps)):
        if number > quality.samples:
            yield f"{option} {number} is more than the {quality.samples:,} samples", None


def _too_much(quality: Quality, clusters: int) -> Iterator[tuple[str, str | None]]:
    rows = quality.samples * clusters
    if rows > MOST_SAMPLES:
        yield (
            f"{rows:,} samples are more than the {MOST_SAMPLES:,} that a trace may have",
            "shorten --length or lengthen --sample",
        )
        return
    try:
        quality.start + timedelta(seconds=quality.length_s)
    except OverflowError:
        yield "the trace would end after the year 9999", "shorten --length"


def _wrong(message: str, fix: str) -> InputError:
    return InputError(Finding("option", message, fix=fix))


Floats = npt.NDArray[np.float64]
Stretch = tuple[float, float, float]
"""From, to (s) and at what rate (GB/s)."""


@dataclass(frozen=True)
class Volume:
    """What has been moved since the start, linear between the times ``at_s``."""

    at_s: Floats
    gb: Floats

    def by(self, times_s: Floats) -> Floats:
        """Return what has been moved by these times, GB."""
        found: Floats = np.interp(times_s, self.at_s, self.gb)
        return found


def volume(stretches: Iterable[Stretch]) -> Volume:
    """Return what stretches of constant rate move, whether or not they overlap."""
    each = np.array([one for one in stretches if one[1] > one[0]], dtype=float).reshape(-1, 3)
    if not len(each):
        return Volume(np.zeros(1), np.zeros(1))
    at = np.concatenate((each[:, 0], each[:, 1]))
    change = np.concatenate((each[:, 2], -each[:, 2]))
    active = np.repeat((1, -1), len(each))
    order = np.argsort(at, kind="stable")
    at, rate = at[order], np.cumsum(change[order])
    rate[np.cumsum(active[order]) == 0] = 0.0  # and not what rounding leaves of it
    moved = np.concatenate(((0.0,), np.cumsum(rate[:-1] * np.diff(at))))
    return Volume(at, moved)


def written(history: History) -> Volume:
    """Return what the jobs write: their checkpoints."""
    return volume(_stretches(history, "checkpoint"))


def read(history: History, ingest_gb_per_s: Sequence[float] = ()) -> Volume:
    """Return what the jobs read: checkpoints, and training data while they compute.

    Args:
        history: what happened.
        ingest_gb_per_s: how fast each job reads training data; none where empty.
    """
    data = [
        (stay.start_s, stay.end_s, ingest_gb_per_s[stay.job])
        for stay in history.stays
        if ingest_gb_per_s and stay.state == "compute" and ingest_gb_per_s[stay.job] > 0
    ]
    return volume([*_stretches(history, "restore"), *data])


def _stretches(history: History, kind: str) -> Iterable[Stretch]:
    return (one for each in history.transfers if each.kind == kind for one in each.stretches)


STEADY = 0.8
SWING = 0.5
BURSTS_EVERY_S = 1800.0
BURST_S = 60.0


@dataclass(frozen=True)
class OtherTraffic:
    """Other traffic in one direction."""

    steady_gb_per_s: float
    phase: float
    bursts: Volume

    def by(self, times_s: Floats) -> Floats:
        """Return what has been moved by these times, GB."""
        turn = 2 * math.pi / DAY_S
        swing = SWING / turn * (math.cos(self.phase) - np.cos(turn * times_s + self.phase))
        moved: Floats = self.steady_gb_per_s * (times_s + swing) + self.bursts.by(times_s)
        return moved


def background(mean_gb_per_s: float, length_s: float, rng: np.random.Generator) -> OtherTraffic:
    """Draw other traffic of a mean rate over a time."""
    count = rng.poisson(length_s / BURSTS_EVERY_S) if mean_gb_per_s else 0
    mean_burst = (1 - STEADY) * mean_gb_per_s * BURSTS_EVERY_S / BURST_S
    starts = np.sort(rng.uniform(0, length_s, count))
    ends = starts + rng.exponential(BURST_S, count)
    rates = rng.exponential(mean_burst, count)
    phase = float(rng.uniform(0, 2 * math.pi))
    bursts = volume(zip(starts, ends, rates, strict=True))
    return OtherTraffic(STEADY * mean_gb_per_s, phase, bursts)


Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

STRETCH = 30
"""So many samples are lost in a stretch, on average."""
MOST_STEP_S = 60


@dataclass(frozen=True)
class Losses:
    """Which samples are lost: stretches of them, and each of the others with a small chance."""

    starts: Whole
    ends: Whole
    chance: float

    def lost(self, first: int, count: int, rng: np.random.Generator) -> Flags:
        """Return which of ``count`` samples from ``first`` on are lost; call it in their order."""
        at = np.arange(first, first + count)
        begun = np.searchsorted(self.starts, at, side="right")
        over = np.searchsorted(self.ends, at, side="right")
        found: Flags = (begun > over) | (rng.random(count) < self.chance)
        return found


def losses(quality: Quality, rng: np.random.Generator) -> Losses:
    """Draw which samples are lost: half of the share alone, half of it in stretches."""
    chance = 1 - math.sqrt(1 - quality.missing)
    # As many stretches as cover the same share, overlaps included.
    often = -math.log1p(-chance) / STRETCH * quality.samples
    count = int(rng.poisson(often)) if chance else 0
    starts = np.sort(rng.integers(0, quality.samples, count))
    ends = np.sort(starts + rng.geometric(1 / STRETCH, count))
    return Losses(starts, ends, chance)


@dataclass(frozen=True)
class ClockSteps:
    """When the clock is set, and by how much, s; ``ClockSteps.off`` adds them up."""

    at_s: Floats
    by_s: Whole

    def off_ms(self, times_s: Floats) -> Whole:
        """Return how far the clock is ahead at these times, ms."""
        ahead = np.concatenate(((0,), np.cumsum(1000 * self.by_s)))
        found: Whole = ahead[np.searchsorted(self.at_s, times_s, side="right")]
        return found


def steps(quality: Quality, rng: np.random.Generator) -> ClockSteps:
    """Draw when the clock is set, forward or back, by 1 to 60 s."""
    count = quality.clock_steps
    at = _moments(quality, count, rng)
    by = rng.integers(1, MOST_STEP_S, count, endpoint=True) * rng.choice((-1, 1), count)
    return ClockSteps(at, by)


def resets(quality: Quality, rng: np.random.Generator) -> Floats:
    """Draw when counters start again at 0, s."""
    return _moments(quality, quality.resets, rng)


def _moments(quality: Quality, count: int, rng: np.random.Generator) -> Floats:
    """Draw moments after the start, to 1 ms, in order."""
    return np.sort(rng.integers(1, round(1000 * quality.sampled_s), count, endpoint=True)) / 1000


_BYTES = 1e9


class Counter:
    """A counter that starts at 0 and is read now and then."""

    def __init__(self, resets_s: Floats) -> None:
        self._resets_s = resets_s
        self._counted = 0

    def read(self, edges_s: Floats, rates_gb_per_s: Floats) -> Whole:
        """Return its values at all edges but the first, where the last call ended.

        Args:
            edges_s: times.
            rates_gb_per_s: what is moved between each two of them.
        """
        moved = np.rint(rates_gb_per_s * np.diff(edges_s) * _BYTES).astype(np.int64)
        values: Whole = self._counted + np.cumsum(moved)
        for at_s in self._resets_s:
            if edges_s[0] < at_s <= edges_s[-1]:
                place = int(np.searchsorted(edges_s, at_s)) - 1
                begin, end = edges_s[place], edges_s[place + 1]
                since = round(float((end - at_s) / (end - begin)) * int(moved[place]))
                values[place:] -= values[place] - since
        self._counted = int(values[-1])
        return values


BLOCK = 1 << 18
"""So many samples are made at once."""

Figures = npt.NDArray[np.generic]
"""Rates in GB/s, or counters of bytes."""


@dataclass(frozen=True)
class TraceRows:
    """Rows of a trace: times in ms since 1970, and what was written and read."""

    time_ms: Whole
    write: Figures
    read: Figures


@dataclass(frozen=True)
class _Dice:
    """Random numbers by what they are for."""

    writes: np.random.Generator
    reads: np.random.Generator
    write_noise: np.random.Generator
    read_noise: np.random.Generator
    jitter: np.random.Generator
    stretches: np.random.Generator
    singles: np.random.Generator
    clock: np.random.Generator
    resets: np.random.Generator


def _dice(seed: Sequence[int]) -> _Dice:
    each = np.random.SeedSequence(tuple(seed)).spawn(len(fields(_Dice)))
    return _Dice(*map(np.random.default_rng, each))


class Sampler:
    """The telemetry of one cluster; counts and peaks are whole when all blocks are made.

    Attributes:
        done: samples that were made.
        missing: those of them that got lost.
        peak_write_gb_per_s: largest rate of a sample that is not lost.
        peak_read_gb_per_s: the same of reading.
        steps: when the clock is set.
        resets_s: when counters start again at 0.
    """

    def __init__(
        self,
        history: History,
        quality: Quality,
        seed: Sequence[int],
        ingest_gb_per_s: Sequence[float] = (),
    ) -> None:
        """Prepare to sample.

        Args:
            history: what happened.
            quality: how it is sampled.
            seed: whole numbers; the same give the same samples.
            ingest_gb_per_s: how fast each job reads training data while it computes.
        """
        dice = _dice(seed)
        self._dice, self._quality = dice, quality
        mean, length_s = quality.background_gb_per_s, quality.sampled_s
        self._moved = (
            (written(history), background(mean, length_s, dice.writes)),
            (read(history, ingest_gb_per_s), background(mean, length_s, dice.reads)),
        )
        self._losses = losses(quality, dice.stretches)
        self.steps = steps(quality, dice.clock)
        self.resets_s = resets(quality, dice.resets)
        self.done = 0
        self.missing = 0
        self.peak_write_gb_per_s = 0.0
        self.peak_read_gb_per_s = 0.0

    def blocks(self) -> Iterator[TraceRows]:
        """Yield all samples in the order in which they are taken; only once."""
        quality = self._quality
        counters = (Counter(self.resets_s), Counter(self.resets_s))
        edge = 0
        for first in range(0, quality.samples, BLOCK):
            count = min(BLOCK, quality.samples - first)
            edges = self._edges_ms(first, count, edge)
            edge = int(edges[-1])
            rates = self._rates(edges / 1000)
            kept = ~self._losses.lost(first, count, self._dice.singles)
            self.done += count
            self._note(rates, kept)
            if quality.counter:
                yield self._counted(edges, rates, kept, counters)
            else:
                yield self._block(edges[:-1], rates, kept)

    def _edges_ms(self, first: int, count: int, edge: int) -> Whole:
        """Return when ``count`` samples begin, and the last ends, on a clock that is right."""
        quality = self._quality
        even = np.arange(first + 1, first + count + 1, dtype=np.int64) * quality.sample_ms
        off = self._dice.jitter.uniform(-1000, 1000, count) * quality.jitter_s
        if first + count == quality.samples:
            off[-1] = 0
        # Cut to whole ms, so that neighbours never meet.
        return np.concatenate(((edge,), even + off.astype(np.int64)))

    def _rates(self, edges_s: Floats) -> tuple[Floats, Floats]:
        """Return the mean rates between edges, to 1 byte/s."""
        write, read_ = (
            np.diff(jobs.by(edges_s) + other.by(edges_s)) / np.diff(edges_s)
            for jobs, other in self._moved
        )
        dice = self._dice
        return self._noisy(write, dice.write_noise), self._noisy(read_, dice.read_noise)

    def _noisy(self, rates: Floats, rng: np.random.Generator) -> Floats:
        noise = self._quality.noise
        if noise:
            rates = rates * (1 + noise * rng.standard_normal(len(rates)))
        found: Floats = np.maximum(rates, 0.0).round(9)
        return found

    def _note(self, rates: Sequence[Floats], kept: Flags) -> None:
        self.missing += int(np.count_nonzero(~kept))
        write, read_ = (float(each[kept].max(initial=0.0)) for each in rates)
        self.peak_write_gb_per_s = max(self.peak_write_gb_per_s, write)
        self.peak_read_gb_per_s = max(self.peak_read_gb_per_s, read_)

    def _counted(
        self, edges_ms: Whole, rates: Sequence[Floats], kept: Flags, counters: Sequence[Counter]
    ) -> TraceRows:
        """Return counters at the samples' ends; the very first stands at 0 before them."""
        pairs = zip(counters, rates, strict=True)
        values = [counter.read(edges_ms / 1000, each) for counter, each in pairs]
        if edges_ms[0]:
            return self._block(edges_ms[1:], values, kept)
        values = [np.concatenate(((0,), each)) for each in values]
        return self._block(edges_ms, values, np.concatenate(((True,), kept)))

    def _block(self, at_ms: Whole, figures: Sequence[Figures], kept: Flags) -> TraceRows:
        at = at_ms[kept]
        time_ms = self._quality.start_ms + at + self.steps.off_ms(at / 1000)
        return TraceRows(time_ms, figures[0][kept], figures[1][kept])
