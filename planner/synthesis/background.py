"""Other traffic: what storage moves for others than the simulated jobs.

In each direction it has the mean that is asked for, of two parts:

* 80 % are steady but for the time of day, when they rise and fall as a sine, by half to either
  side. At what hour they are highest is drawn.
* 20 % are bursts. They come at random, one in 30 minutes on average, last 1 minute on average, and
  their rates are drawn, too; times, durations and rates are exponentially distributed.

It takes nothing away from the jobs: their checkpoints are as fast as without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.synthesis.traffic import Floats, Volume, volume

DAY_S = 86_400.0
STEADY = 0.8
SWING = 0.5
BURSTS_EVERY_S = 1800.0
BURST_S = 60.0


@dataclass(frozen=True)
class Background:
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


def background(mean_gb_per_s: float, length_s: float, rng: np.random.Generator) -> Background:
    """Draw other traffic of a mean rate over a time."""
    count = rng.poisson(length_s / BURSTS_EVERY_S) if mean_gb_per_s else 0
    mean_burst = (1 - STEADY) * mean_gb_per_s * BURSTS_EVERY_S / BURST_S
    starts = np.sort(rng.uniform(0, length_s, count))
    ends = starts + rng.exponential(BURST_S, count)
    rates = rng.exponential(mean_burst, count)
    phase = float(rng.uniform(0, 2 * math.pi))
    bursts = volume(zip(starts, ends, rates, strict=True))
    return Background(STEADY * mean_gb_per_s, phase, bursts)
