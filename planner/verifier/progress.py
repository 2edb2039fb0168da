"""Goodput and the classic intervals, written out once more from the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Levels:
    """The local level of checkpoints; ``remote_share`` of interruptions need the remote one."""

    every: int
    drain_s: float
    restart_s: float
    remote_share: float
    drain_restarts: bool


@dataclass(frozen=True)
class ProgressTimes:
    """What decides how much time becomes kept progress; all in seconds but the slowdown.

    ``stopped_s`` is the stall plus what the slowdown costs while a checkpoint drains. After a share
    ``swapped`` of interruptions the restart takes ``swap_s`` longer; the job ``waits`` for repairs
    for that share of its time. With ``levels`` the interval is of local checkpoints, drain and
    restore are of the remote level.
    """

    interval_s: float
    stopped_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    mtti_s: float
    levels: Levels | None = None
    swapped: float = 0.0
    swap_s: float = 0.0
    waits: float = 0.0

    @property
    def growing_s(self) -> tuple[float, float]:
        """What a restart with more replicas takes: until its capture is safe, and to be back."""
        if self.levels is not None:
            return self.levels.drain_s, self.levels.restart_s
        return self.drain_s, self.restart_s + self.restore_s

    @property
    def starting_s(self) -> list[tuple[float, float]]:
        """Shares of failures, each with the restart after it, without reading back."""
        if self.levels is None:
            return [(1.0, self.restart_s)]
        far = self.levels.remote_share
        return [(1.0 - far, self.levels.restart_s), (far, self.restart_s)]

    @property
    def kept_by_swaps(self) -> float:
        """What longer restarts leave: the mean of exp(-swap/M) over interruptions."""
        return (1.0 - self.swapped) + self.swapped * math.exp(-self.swap_s / self.mtti_s)


def goodput(rhythm: ProgressTimes) -> float:
    """Return the share of wall-clock time kept as progress; 0 where the stall fills it.

    Source: (1 - s/I) exp(-(D + R)/M) z/(exp(z) - 1), z = I/M, with the mean of exp(-R/M) where
    restarts differ, times the share of time not waited for repairs; see docs/model.md.
    """
    logs = _log_factors(rhythm)
    return 0.0 if logs is None else math.exp(sum(logs.values()))


def understated(rhythm: ProgressTimes, slowed_s: float) -> float:
    """Return the kept work that `goodput` misses, as a share of wall-clock time.

    Args:
        rhythm: the job's times.
        slowed_s: what a drain costs the interval it slows, s of work; the first interval of a life
            is charged it in vain, and counts where its checkpoint is safe before the next failure.
    """
    safe_s = rhythm.restart_s + rhythm.restore_s + rhythm.interval_s + rhythm.drain_s
    running = rhythm.kept_by_swaps * (1.0 - rhythm.waits)
    return slowed_s / rhythm.mtti_s / math.exp(min(safe_s / rhythm.mtti_s, 700.0)) * running


def first_order_goodput(rhythm: ProgressTimes) -> float:
    """Return the first-order form (1 - s/I) (1 - (R + I/2 + D)/M), while not waiting."""
    running = max(0.0, 1 - rhythm.stopped_s / rhythm.interval_s)
    recovery_s = rhythm.restart_s + rhythm.restore_s + rhythm.swapped * rhythm.swap_s
    lost_s = recovery_s + rhythm.interval_s / 2 + rhythm.drain_s
    near = rhythm.levels
    if near is not None:
        lost_s += near.drain_s + (near.every - 1) * rhythm.interval_s / 2
        near_s = near.restart_s + near.drain_s + rhythm.interval_s / 2
        near_s += rhythm.swapped * rhythm.swap_s
        lost_s = near.remote_share * lost_s + (1 - near.remote_share) * near_s
    return running * (1 - lost_s / rhythm.mtti_s) * (1.0 - rhythm.waits)


def losses(rhythm: ProgressTimes) -> dict[str, float]:
    """Return 1 - goodput by cause, split in proportion to the logarithm of each factor."""
    logs = _log_factors(rhythm)
    if logs is None:
        none = dict.fromkeys(("rework", "drain", "restart", "restore", "waiting"), 0.0)
        return {"stall": 1.0, **none}
    log_goodput = sum(logs.values())
    lost = -math.expm1(log_goodput)
    return {cause: lost * log / log_goodput for cause, log in logs.items()}


def log_spared(rhythm: ProgressTimes, fewer_per_s: float) -> float:
    """Return by how much the logarithm of goodput is higher if restarts see fewer failures.

    Ratios of what `_log_of_two` multiplies, after and before, each as 1 plus what changes: the
    share may be so small that logarithms do not tell it.

    Args:
        rhythm: the job's times.
        fewer_per_s: by so many a second.
    """
    near, mtti = rhythm.levels, rhythm.mtti_s
    far_s = rhythm.restart_s + rhythm.restore_s
    if near is None:
        return far_s * fewer_per_s
    q2 = near.remote_share
    back = (1 - q2) * math.exp(-near.restart_s / mtti)
    comes = back * math.expm1(near.restart_s * fewer_per_s)
    safe = math.exp(-near.drain_s / mtti)
    settles = comes * safe / (q2 + back * safe)
    log = math.log1p(comes / (q2 + back)) - math.log1p(settles)
    again = math.expm1(rhythm.interval_s / mtti) * q2 / (q2 + back * safe)
    kept = math.exp(min(near.every * math.log1p(again), 700.0))
    change = near.every * math.log1p(-again * settles / ((1 + settles) * (1 + again)))
    log -= math.log1p(math.expm1(change) * kept / (kept - 1))
    if near.drain_restarts:
        anew = math.expm1(rhythm.drain_s / mtti) * q2
        log -= math.log1p(-anew * comes / ((q2 + back + anew) * (q2 + back + comes)))
    long = q2 * math.exp(far_s / mtti)
    return log - math.log1p(long * math.expm1(-far_s * fewer_per_s) / (1 - q2 + long))


def _log_factors(rhythm: ProgressTimes) -> dict[str, float] | None:
    if rhythm.stopped_s >= rhythm.interval_s:
        return None
    if rhythm.levels is not None:
        return _log_factors_of_two(rhythm, rhythm.levels)
    z = rhythm.interval_s / rhythm.mtti_s
    return {
        "stall": math.log1p(-rhythm.stopped_s / rhythm.interval_s),
        "rework": log_rework(z),
        "drain": -rhythm.drain_s / rhythm.mtti_s,
        "restart": -rhythm.restart_s / rhythm.mtti_s + math.log(rhythm.kept_by_swaps),
        "restore": -rhythm.restore_s / rhythm.mtti_s,
        "waiting": math.log1p(-rhythm.waits),
    }


def _log_factors_of_two(rhythm: ProgressTimes, near: Levels) -> dict[str, float]:
    """Return what each cause takes when times are added one after the other, as logarithms."""
    running = math.log1p(-rhythm.stopped_s / rhythm.interval_s)
    free = replace(rhythm, stopped_s=0.0, drain_s=0.0, restart_s=0.0, restore_s=0.0)
    rework = _log_of_two(free, replace(near, drain_s=0.0, restart_s=0.0))
    draining = replace(free, drain_s=rhythm.drain_s)
    drain = _log_of_two(draining, replace(near, restart_s=0.0))
    restart = _log_of_two(replace(draining, restart_s=rhythm.restart_s), near)
    whole = _log_of_two(replace(rhythm, stopped_s=0.0), near)
    return {
        "stall": running,
        "rework": rework,
        "drain": drain - rework,
        "restart": restart - drain + math.log(rhythm.kept_by_swaps),
        "restore": whole - restart,
        "waiting": math.log1p(-rhythm.waits),
    }


def _log_of_two(rhythm: ProgressTimes, near: Levels) -> float:
    """Return the logarithm of the goodput of two levels, counted from renewal to renewal.

    A renewal is a failure that needs the remote level; between two of them a remote checkpoint
    after n local ones is kept with the probability that these are safe in time, and its drain.
    """
    mtti, q2 = rhythm.mtti_s, near.remote_share
    q1 = 1 - q2
    safe = math.exp(-near.drain_s / mtti)
    back = math.exp(-near.restart_s / mtti)
    again = math.expm1(rhythm.interval_s / mtti) * q2 / (q2 + q1 * back * safe)
    steps = near.every * math.log1p(again)
    first = safe * (q2 + q1 * back) / (q2 + q1 * back * safe)
    if near.drain_restarts:
        drains = 1 / (1 + math.expm1(rhythm.drain_s / mtti) * q2 / (q2 + q1 * back))
    else:
        drains = math.exp(-q2 * rhythm.drain_s / mtti)
    kept_s = near.every * rhythm.interval_s * first * drains / math.expm1(steps)
    far_s = rhythm.restart_s + rhythm.restore_s
    between_s = mtti / q2 + mtti * math.expm1(far_s / mtti)
    return math.log(kept_s / between_s)


def log_rework(z: float) -> float:
    """Return log(z / (exp(z) - 1)) of an interval of z MTTIs; the series where digits are lost."""
    if z < 1e-3:
        return -z / 2 - z * z / 24
    if z > 500:
        return math.log(z) - z
    return math.log(z / math.expm1(z))


def young_s(stopped_s: float, mtti_s: float) -> float:
    """Return Young's interval sqrt(2 s M) in seconds."""
    return math.sqrt(2 * stopped_s * mtti_s)


def daly_s(stopped_s: float, mtti_s: float) -> float:
    """Return Daly's higher-order interval in seconds (doi 10.1016/j.future.2004.11.016)."""
    if stopped_s >= 2 * mtti_s:
        return mtti_s
    half = stopped_s / (2 * mtti_s)
    return young_s(stopped_s, mtti_s) * (1 + math.sqrt(half) / 3 + half / 9) - stopped_s


def exact_s(stopped_s: float, mtti_s: float) -> float:
    """Return the interval with the highest goodput in seconds, by bisection.

    It is where z - 1 + exp(-z) = s/M, with z the interval over the MTTI; the left side rises.
    """
    wanted = stopped_s / mtti_s
    low, high = 0.0, wanted + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _deficit(middle) < wanted:
            low = middle
        else:
            high = middle
    return high * mtti_s if wanted > 0 else 0.0


def _deficit(z: float) -> float:
    if z < 1e-2:
        return z**2 / 2 - z**3 / 6 + z**4 / 24 - z**5 / 120 + z**6 / 720
    return z + math.expm1(-z)
