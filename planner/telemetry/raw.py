"""A cluster's trace as it stands in its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
DATED_FROM_S = 5e8
"""Numbers above this are taken for seconds since 1970 (it was 1985); smaller ones have no date."""

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
    """

    cluster: str
    file: str
    time_s: Numbers
    write: Figures
    read: Figures | None
    is_rate: bool
    dated: bool
