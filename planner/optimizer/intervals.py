"""What intervals between checkpoints are worth, as arrays, an entry for each use of a purchase.

The laws are those of `planner/sizing/goodput.py` and, where jobs save on two levels, of
`planner/sizing/two_levels.py` for one k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.bandwidth import local_drain_s, local_room_tb, worn_interval_s
from planner.optimizer.kernel import Flags, Numbers, Places
from planner.optimizer.purchase import TOLERANCE as ROOM
from planner.units import DAY_S

LARGE = 30.0
"""Beyond it e^x - 1 counts as e^x."""
MOST = 700.0
"""The highest power of e that floats hold."""


class Local(NamedTuple):
    """How uses save: each ``every``-th checkpoint goes on to storage, a share ``far`` of failures
    needs that, the others take ``near_s``; a drain may begin anew with them (``again``). Either
    takes ``swap_s`` longer after a share of them, ``hardware``. Local copies are safe after
    ``drain_s``, drives endure ``worn_s``, and copies have room (``fits``)."""

    every: int
    far: float
    near_s: float
    again: bool
    hardware: float
    swap_s: float
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
        rate, lag, drain = seen / mtti_s, self.drain_s / mtti_s, drain_s / mtti_s
        near, far = self.restarts(rate), rate * far_s + self.swaps(rate)
        again = self._mixed(near) - drain - self._mixed(near + drain)
        drained = again if self.again else -self.far * drain
        part = np.log1p(self.far * np.expm1(np.minimum(far, LARGE)))
        restarted = -np.where(far > LARGE, far + np.log(self.far), part)
        return np.asarray(self.rework(interval_s / mtti_s, near, lag) + drained + restarted)

    def restarts(self, rate: Numbers) -> Numbers:
        """Return near restarts over the mean time between failures, swaps included."""
        return np.asarray(rate * self.near_s + self.swaps(rate))

    def swaps(self, rate: Numbers) -> Numbers:
        """Return what swaps add to restarts over the mean time between failures."""
        swapped = self.hardware * np.exp(-rate * self.swap_s)
        return np.asarray(-np.log(1.0 - self.hardware + swapped))

    def _mixed(self, x: Numbers) -> Numbers:
        """Return log(q2 + q1 e^-x)."""
        return np.asarray(np.log1p((1.0 - self.far) * np.expm1(-x)))


class Drives:
    """The drives of the GPU systems of a case that has a local level, a row for each way.

    Times and room are those of one GPU; where all GPUs write they fall with their number.
    """

    def __init__(self, case: Case) -> None:
        assert case.job.levels is not None
        self.levels, repair = case.job.levels, case.job.repair
        self.swaps = (0.0, 0.0) if repair is None else (repair.hardware_share, repair.swap_s)
        self.longest_s = case.job.longest_local_restart_s
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
            *self.swaps, drain_s, worn_s, fits,
        )  # fmt: skip

    def most_gpus(self, number: int, failures_per_gpu_day: float, tolerance: float) -> float:
        """Return how many GPUs may be in use for a restart from a local copy with its swap, and
        that copy, to take no longer than it is between failures.

        Args:
            number: the place of the way.
            failures_per_gpu_day: of one GPU.
            tolerance: by what share longer they may take.
        """
        if not self.there[number]:
            return 0.0
        mean_s = DAY_S / failures_per_gpu_day * (1.0 + tolerance)
        near_s, drain_s = self.longest_s, float(self.drain_s[number])
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


@dataclass(frozen=True)
class Times:
    """Times of jobs, s: what an interval is ``stopped`` for, how long a checkpoint takes to
    ``drain``, a ``recovery`` and the ``restore`` in it, the shortest interval (``low``)."""

    stopped: Numbers
    drain: Numbers
    recovery: Numbers
    restore: Numbers
    low: Numbers
    local: Local | None

    def log_kept(self, interval: Numbers, mtti: Numbers, seen: Numbers | float = 1.0) -> Numbers:
        """Return the logarithm of goodput, if restarts see a share of the failures."""
        stopped, recovery = np.minimum(self.stopped, interval), seen * self.recovery
        if self.local is None:
            return _log_goodput(interval, stopped, self.drain, recovery, mtti)
        kept = self.local.log_kept(interval, self.drain, self.recovery, mtti, seen)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-stopped / interval) + kept)

    def log_rework(self, interval: Numbers, mtti: Numbers, seen: Numbers | float) -> Numbers:
        """Return the logarithm of what failures leave of the work of intervals."""
        z = interval / mtti
        if self.local is None:
            return np.asarray(np.log(z / np.expm1(np.clip(z, 1e-12, 700.0))))
        near = self.local.restarts(seen / mtti)
        return self.local.rework(z, near, self.local.drain_s / mtti)

    def log_worth(self, interval: Numbers, mtti: Numbers) -> Numbers:
        """Return what an interval is worth, as a logarithm: what the others leave does not
        matter."""
        with np.errstate(divide="ignore"):
            left = np.log1p(-np.minimum(self.stopped / interval, 1.0))
        return np.asarray(left + self.log_rework(interval, mtti, 1.0))


SECTIONS = 44
"""Of a range of intervals: what is left is 1e-9 of it."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def best_between(
    worth: Callable[[Numbers], Numbers], low_s: Numbers, high_s: Numbers | float
) -> Numbers:
    """Return the times of most worth, each between its shortest and the longest: sections of a
    function with one peak over their logarithms."""
    most_s = np.broadcast_to(np.asarray(high_s, dtype=float), low_s.shape)
    left, right = np.log(low_s), np.log(most_s)
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    near, far = worth(np.exp(inner)), worth(np.exp(outer))
    for _ in range(SECTIONS):
        lower = near > far
        right, left = np.where(lower, outer, right), np.where(lower, left, inner)
        step = GOLDEN * (right - left)
        inner, outer = np.where(lower, right - step, outer), np.where(lower, inner, left + step)
        found = worth(np.exp(np.where(lower, inner, outer)))
        near, far = np.where(lower, found, far), np.where(lower, near, found)
    best = np.exp((left + right) / 2.0)
    for end in (low_s, most_s):
        best = np.where(worth(end) > worth(best), end, best)
    return np.asarray(best)


STEPS = 50
NEAR = 1e-6
"""A step of so small a share of z leaves less than floats can tell: the next is about its cube."""
SERIES = (1.0, 1.0 / 6.0, 1.0 / 36.0, 1.0 / 270.0, 1.0 / 4320.0)
"""Of z in powers of sqrt(2 s/M)."""


def optimal_period(stall_per_mtti: Numbers) -> Numbers:
    """Return z of ``z - (1 - exp(-z)) = s/M`` by Halley steps; see `exact_period_s`.

    They begin at the first terms of its series in sqrt(2 s/M), or at 1 + s/M where that is less.
    """
    share = np.asarray(stall_per_mtti, dtype=float)
    root = np.sqrt(2.0 * share)
    series = np.zeros_like(root)
    for factor in reversed(SERIES):
        series = root * (factor + series)
    z = np.minimum(1.0 + share, series)
    some = np.where(z > 0, z, 1.0)
    for _ in range(STEPS):
        rises = -np.expm1(-some)
        step = (_deficit(some) - share) / rises
        step = step / (1.0 - step * (1.0 - rises) / (2.0 * rises))
        step = np.where(z > 0, step, 0.0)
        some = some - step
        if np.all(np.abs(step) <= NEAR * some):
            break
    return np.where(z > 0, some, 0.0)


_DEFICIT = tuple(2.0 * (-1.0) ** n / math.factorial(n + 2) for n in range(15))
"""Of 2 (z - (1 - exp(-z))) / z**2 in powers of z."""


def _deficit(z: Numbers) -> Numbers:
    """Return z - (1 - exp(-z)) without cancellation."""
    small = np.minimum(z, 0.5)
    series = np.full_like(small, _DEFICIT[-1])
    for factor in _DEFICIT[-2::-1]:
        series *= small
        series += factor
    return np.where(z < 0.5, small * small / 2.0 * series, z + np.expm1(-z))


def _log_goodput(interval: Numbers, stopped: Numbers, drain: Numbers, recovery: Numbers,
                 mtti: Numbers) -> Numbers:  # fmt: skip
    """Return log goodput; ``stopped`` is lost of each interval to stall and slowdown, s."""
    z = interval / mtti
    small = np.minimum(z, 0.01)
    series = -small / 2 - small**2 / 24 + small**4 / 2880
    large = np.maximum(z, 0.01)
    rework = np.where(z < 0.01, series, np.log(large) - large - np.log(-np.expm1(-large)))
    with np.errstate(divide="ignore"):
        logs: Numbers = np.log1p(-stopped / interval) + rework - (drain + recovery) / mtti
    return logs
