"""What goes wrong with telemetry: samples get lost, clocks are set, counters start again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.synthesis.quality import Quality
from planner.synthesis.traffic import Floats

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
class Steps:
    """When the clock is set, and by how much, s; ``Steps.off`` adds them up."""

    at_s: Floats
    by_s: Whole

    def off_ms(self, times_s: Floats) -> Whole:
        """Return how far the clock is ahead at these times, ms."""
        ahead = np.concatenate(((0,), np.cumsum(1000 * self.by_s)))
        found: Whole = ahead[np.searchsorted(self.at_s, times_s, side="right")]
        return found


def steps(quality: Quality, rng: np.random.Generator) -> Steps:
    """Draw when the clock is set, forward or back, by 1 to 60 s."""
    count = quality.clock_steps
    at = _moments(quality, count, rng)
    by = rng.integers(1, MOST_STEP_S, count, endpoint=True) * rng.choice((-1, 1), count)
    return Steps(at, by)


def resets(quality: Quality, rng: np.random.Generator) -> Floats:
    """Draw when counters start again at 0, s."""
    return _moments(quality, quality.resets, rng)


def _moments(quality: Quality, count: int, rng: np.random.Generator) -> Floats:
    """Draw moments after the start, to 1 ms, in order."""
    return np.sort(rng.integers(1, round(1000 * quality.sampled_s), count, endpoint=True)) / 1000
