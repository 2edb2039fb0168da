"""Points of the unit cube: from a Latin hypercube, a Sobol sequence, or Saltelli's design."""

from __future__ import annotations

from typing import Literal

import numpy as np

from planner.studies.sensitivity.uncertain.shapes import Numbers

Method = Literal["lhs", "sobol"]
LEAST, MOST = 2, 1_000_000
EDGE = 1e-9
"""How near to 0 and 1 a point may come: some distributions have no end there."""


def points(method: Method, inputs: int, samples: int, seed: int) -> Numbers:
    """Return a point for each sample, a coordinate for each input.

    Args:
        method: how they are spread.
        inputs: how many coordinates they have.
        samples: how many there are; a power of two for a Sobol sequence.
        seed: the same one gives the same points.
    """
    from scipy.stats import qmc

    made: Numbers
    if method == "lhs":
        made = qmc.LatinHypercube(inputs, rng=np.random.default_rng(seed)).random(samples)
    else:
        sequence = qmc.Sobol(inputs, rng=np.random.default_rng(seed))
        made = sequence.random_base2(samples.bit_length() - 1)
    return np.clip(made, EDGE, 1.0 - EDGE)


def power_of_two(samples: int) -> int:
    """Return the largest power of two that is no more than a number of samples."""
    return 1 << (samples.bit_length() - 1)
