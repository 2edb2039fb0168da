"""What a job keeps that saves on two levels, as arrays, an entry for each use of a purchase.

The law is that of `planner/sizing/two_levels.py`, for one k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.case import Case
from planner.case.bandwidth import local_drain_s, local_room_tb, worn_interval_s
from planner.optimizer.purchase import TOLERANCE as ROOM
from planner.units import DAY_S

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

LARGE = 30.0
"""Beyond it e^x - 1 counts as e^x."""
MOST = 700.0
"""The highest power of e that floats hold."""


@dataclass(frozen=True)
class Local:
    """How uses save: each ``every``-th checkpoint goes on to storage, a share ``far`` of failures
    needs that, the others take ``near_s``; a drain may begin anew with them (``again``). Local
    copies are safe after ``drain_s``, drives endure ``worn_s``, and copies have room (``fits``)."""

    every: int
    far: float
    near_s: float
    again: bool
    drain_s: Numbers
    worn_s: Numbers
    fits: Flags

    def rework(self, interval: Numbers, near: Numbers, lag: Numbers) -> Numbers:
        """Return `two_levels.kept`; times are over the mean time between failures."""
        share = np.log(self.far) - self._mixed(near + lag)
        grown = np.exp(np.minimum(_log_expm1(interval) + share, MOST))
        head = np.log(self.every * interval) - lag + self._mixed(near) + share
        return np.asarray(head - _log_expm1(self.every * np.log1p(grown)))

    def log_kept(
        self, interval_s: Numbers, drain_s: Numbers, far_s: Numbers, mtti_s: Numbers,
        seen: Numbers | float,
    ) -> Numbers:  # fmt: skip
        """Return the logarithm of what is kept of time, but for stalls.

        Args:
            interval_s: start of one local checkpoint to the start of the next, s.
            drain_s: from local copies that are safe until one in storage is, s.
            far_s: a restart from storage, reading back included, s.
            mtti_s: mean time between the failures that work sees, s.
            seen: the share of them that restarts see.
        """
        near, lag, drain = seen * self.near_s / mtti_s, self.drain_s / mtti_s, drain_s / mtti_s
        again = self._mixed(near) - drain - self._mixed(near + drain)
        drained = again if self.again else -self.far * drain
        far = seen * far_s / mtti_s
        part = np.log1p(self.far * np.expm1(np.minimum(far, LARGE)))
        restarted = -np.where(far > LARGE, far + np.log(self.far), part)
        return np.asarray(self.rework(interval_s / mtti_s, near, lag) + drained + restarted)

    def _mixed(self, x: Numbers) -> Numbers:
        """Return log(q2 + q1 e^-x)."""
        return np.asarray(np.log1p((1.0 - self.far) * np.expm1(-x)))


class Drives:
    """The drives of the GPU systems of a case that has a local level, a row for each way.

    Times and room are those of one GPU; where all GPUs write they fall with their number.
    """

    def __init__(self, case: Case) -> None:
        assert case.job.levels is not None
        self.levels = case.job.levels
        ways = [(way, way.drives) for way in case.ways]
        self.there = np.array([drives is not None for _, drives in ways])

        def each(of: list[float]) -> Numbers:
            return np.array(of, dtype=float)

        job = case.job
        self.drain_s = each([local_drain_s(job, way, 1) if some else 0.0 for way, some in ways])
        self.worn_s = each([worn_interval_s(job, way, 1) if some else 0.0 for way, some in ways])
        self.room_tb = each([local_room_tb(job, way, 1) if some else 0.0 for way, some in ways])
        self.most_tb = each([some.capacity_tb if some else 0.0 for _, some in ways])
        self.one_writes = job.one_replica_writes

    def of(self, way: Places, gpus: Numbers) -> Local:
        """Return how uses save, by their ways and the GPUs in use."""
        (every,), levels = self.levels.every, self.levels
        writing = np.ones_like(gpus) if self.one_writes else gpus
        drain_s, worn_s = self.drain_s[way] / writing, self.worn_s[way] / writing
        fits = self.there[way] & (self.room_tb[way] / writing <= self.most_tb[way] * (1 + ROOM))
        return Local(
            every, levels.remote_share, levels.local_restart_s, levels.drain_restarts,
            drain_s, worn_s, fits,
        )  # fmt: skip

    def most_gpus(self, number: int, failures_per_gpu_day: float, tolerance: float) -> float:
        """Return how many GPUs may be in use for a restart from a local copy, and that copy, to
        take no longer than it is between failures.

        Args:
            number: the place of the way.
            failures_per_gpu_day: of one GPU.
            tolerance: by what share longer they may take.
        """
        if not self.there[number]:
            return 0.0
        mean_s = DAY_S / failures_per_gpu_day * (1.0 + tolerance)
        near_s, drain_s = self.levels.local_restart_s, float(self.drain_s[number])
        if self.one_writes:
            each_s, left_s = near_s + drain_s, mean_s
        else:
            each_s, left_s = near_s, mean_s - drain_s
        if left_s <= 0.0:
            return 0.0
        return left_s / each_s if each_s > 0.0 else np.inf


def _log_expm1(x: Numbers) -> Numbers:
    """Return log(e^x - 1) without overflow."""
    with np.errstate(divide="ignore"):
        small = np.log(np.expm1(np.minimum(x, LARGE)))
    return np.asarray(np.where(x > LARGE, x + np.log1p(-np.exp(-x)), small))
