"""How much has been moved by when: the integral of rates that are constant between events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.simulation.history import History

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
