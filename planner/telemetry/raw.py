"""A cluster's trace as it stands in its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import Finding, InputError

Numbers = NDArray[np.float64]
DATED_FROM_S = 5e8
"""Numbers above this are taken for seconds since 1970 (it was 1985); smaller ones have no date."""

LAST_S = 7_258_118_400.0
"""The year 2200: no trace is later, nor as long."""

MOST_SAMPLES = 10_000_000
"""Of one cluster, three years at 10 s: what comes after takes 150 bytes of memory for each."""

Places = NDArray[np.intp]
"""Positions in an array."""

Figures = NDArray[np.floating]
"""Single or double precision: rates need no more than the one, counters the other."""


@dataclass(frozen=True)
class Raw:
    """What a file says of one cluster, row by row.

    Attributes:
        cluster: its name.
        file: where it stands, for messages.
        time_s: times as they are written, s; in the file's order.
        write, read: figures, GB/s or GB; NaN where a cell is empty.
        is_rate: whether figures are GB/s; else GB.
        dated: whether times count from 1970.
        summed: whether figures are sums over hosts or targets.
    """

    cluster: str
    file: str
    time_s: Numbers
    write: Figures
    read: Figures | None
    is_rate: bool
    dated: bool
    summed: bool = False


def too_many(cluster: str, file: str, most: int = MOST_SAMPLES) -> InputError:
    """Return what to say of a trace that is too long."""
    message = f"cluster '{cluster}' has more than {most:,} samples"
    fix = "give a shorter stretch, or fewer samples a minute"
    return InputError(Finding("trace", message, file, fix=fix))
