"""What a cluster's storage would report: samples of its traffic, some at a time.

A sample's rate is the mean over exactly the time it stands for, from its own time to the next
one's: the difference of what has been moved by then. A counter's value is what has been moved by
its time. Each kind of fault has random numbers of its own, so that none changes another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from planner.simulation.history import History
from planner.synthesis import faults
from planner.synthesis.background import background
from planner.synthesis.counters import Counter
from planner.synthesis.faults import Flags, Whole
from planner.synthesis.quality import Quality
from planner.synthesis.traffic import Floats, read, written

BLOCK = 1 << 18
"""So many samples are made at once."""

Figures = npt.NDArray[np.generic]
"""Rates in GB/s, or counters of bytes."""


@dataclass(frozen=True)
class Block:
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
        self._losses = faults.losses(quality, dice.stretches)
        self.steps = faults.steps(quality, dice.clock)
        self.resets_s = faults.resets(quality, dice.resets)
        self.done = 0
        self.missing = 0
        self.peak_write_gb_per_s = 0.0
        self.peak_read_gb_per_s = 0.0

    def blocks(self) -> Iterator[Block]:
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
    ) -> Block:
        """Return counters at the samples' ends; the very first stands at 0 before them."""
        pairs = zip(counters, rates, strict=True)
        values = [counter.read(edges_ms / 1000, each) for counter, each in pairs]
        if edges_ms[0]:
            return self._block(edges_ms[1:], values, kept)
        values = [np.concatenate(((0,), each)) for each in values]
        return self._block(edges_ms, values, np.concatenate(((True,), kept)))

    def _block(self, at_ms: Whole, figures: Sequence[Figures], kept: Flags) -> Block:
        at = at_ms[kept]
        time_ms = self._quality.start_ms + at + self.steps.off_ms(at / 1000)
        return Block(time_ms, figures[0][kept], figures[1][kept])
