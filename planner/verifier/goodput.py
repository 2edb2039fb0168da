"""Goodput of a job from its times: one or two checkpoint levels, swaps, and waiting for repairs.

Own derivation of the formulas in docs/model.md; shares no code with `planner.sizing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

DAY_S = 86_400.0
MOST = 700.0
"""Largest argument of an exponential."""


@dataclass(frozen=True)
class Times:
    """Times (s) and shares that goodput follows from.

    ``stopped_s`` is stall and slowdown per interval. A share ``swapped`` of restarts takes
    ``swap_s`` longer. ``waits`` is the share of time waiting for repairs. With ``every`` > 0 there
    is a local level: each ``every``-th checkpoint drains to storage, a share ``far`` of
    interruptions needs that one, the rest restart in ``near_restart_s`` from a local checkpoint
    that is safe ``near_drain_s`` after its stall. ``idle`` is the share of the time between
    restarts without progress, ``restart_mtti_s`` the time between interruptions of restarts.
    """

    interval_s: float
    stopped_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    mtti_s: float
    swapped: float = 0.0
    swap_s: float = 0.0
    waits: float = 0.0
    every: int = 0
    far: float = 1.0
    near_drain_s: float = 0.0
    near_restart_s: float = 0.0
    drain_restarts: bool = False
    restart_mtti_s: float | None = None
    idle: float = 0.0

    def survives(self, seconds: float) -> float:
        """Return the chance that a restart of this length sees no interruption."""
        return math.exp(-min(seconds / (self.restart_mtti_s or self.mtti_s), MOST))

    @property
    def swaps(self) -> float:
        """Mean factor of longer restarts where hardware is swapped."""
        mtti_s = self.restart_mtti_s if self.restart_mtti_s and self.every else self.mtti_s
        return 1.0 - self.swapped + self.swapped * math.exp(-self.swap_s / mtti_s)


def log_goodput(t: Times) -> float | None:
    """Return the logarithm of goodput while not waiting, None where stalls fill the interval."""
    if t.stopped_s >= t.interval_s:
        return None
    running = math.log1p(-t.stopped_s / t.interval_s)
    if t.every:
        return running + _log_two_levels(t)
    z = t.interval_s / t.mtti_s
    rework = -z / 2 - z * z / 24 if z < 1e-3 else math.log(z) - z - math.log(-math.expm1(-z))
    back = math.log(t.survives(t.restart_s + t.restore_s) * t.swaps)
    return running + rework - t.drain_s / t.mtti_s + back


def goodput(t: Times) -> float:
    """Return the share of wall-clock time kept as progress."""
    log = log_goodput(t)
    return 0.0 if log is None else math.exp(log) * (1.0 - t.waits) * (1.0 - t.idle)


def _log_two_levels(t: Times) -> float:
    """Return log goodput of two levels, stalls aside: work kept per renewal over its time.

    A renewal is an interruption that needs the remote level.
    """
    safe, back = math.exp(-t.near_drain_s / t.mtti_s), t.survives(t.near_restart_s) * t.swaps
    near = (1 - t.far) * back
    again = math.expm1(t.interval_s / t.mtti_s) * t.far / (t.far + near * safe)
    first = safe * (t.far + near) / (t.far + near * safe)
    drains = math.exp(-t.far * t.drain_s / t.mtti_s)
    if t.drain_restarts:
        drains = 1 / (1 + math.expm1(t.drain_s / t.mtti_s) * t.far / (t.far + near))
    kept_s = t.every * t.interval_s * first * drains / math.expm1(t.every * math.log1p(again))
    restarted = 1.0 / (t.survives(t.restart_s + t.restore_s) * t.swaps)
    return math.log(kept_s / (t.mtti_s / t.far + t.mtti_s * (restarted - 1)))


def losses(t: Times) -> dict[str, float]:
    """Return 1 - goodput by cause: what idles, the rest by each cause's share of the logarithm."""
    causes = ("stall", "rework", "drain", "restart", "restore", "waiting")
    if t.stopped_s >= t.interval_s:
        return dict.fromkeys(causes, 0.0) | {"stall": 1.0, "other": 0.0}
    own = ("drain_s", "near_drain_s"), ("restart_s", "near_restart_s", "swap_s"), ("restore_s",)
    none = dict.fromkeys((field for fields in own for field in fields), 0.0)
    steps = [replace(t, stopped_s=0.0, **none)]  # type: ignore[arg-type]
    for fields in own:
        steps.append(replace(steps[-1], **{field: getattr(t, field) for field in fields}))
    found = [log_goodput(each) or 0.0 for each in steps]
    logs = [math.log1p(-t.stopped_s / t.interval_s), found[0]]
    logs += [after - before for before, after in pairwise(found)] + [math.log1p(-t.waits)]
    lost = -math.expm1(sum(logs))
    parts = {cause: lost * log / sum(logs) for cause, log in zip(causes, logs, strict=True)}
    return parts | {"other": (1.0 - lost) * t.idle}


def first_order(t: Times) -> float:
    """Return the first-order form (1 - s/I) (1 - (R + I/2 + D)/M), while not waiting."""
    lost_s = t.restart_s + t.restore_s + t.swapped * t.swap_s + t.interval_s / 2 + t.drain_s
    if t.every:
        lost_s += t.near_drain_s + (t.every - 1) * t.interval_s / 2
        near_s = t.near_restart_s + t.near_drain_s + t.interval_s / 2 + t.swapped * t.swap_s
        lost_s = t.far * lost_s + (1 - t.far) * near_s
    left = (1 - t.waits) * (1 - t.idle)
    return max(0.0, 1 - t.stopped_s / t.interval_s) * (1 - lost_s / t.mtti_s) * left


def understated(t: Times, slowed_s: float) -> float:
    """Return the kept work that goodput misses: slowed drains are charged to every interval."""
    safe_s = t.restart_s + t.restore_s + t.interval_s + t.drain_s
    left = t.swaps * (1 - t.waits) * (1 - t.idle)
    return slowed_s / t.mtti_s * math.exp(-min(safe_s / t.mtti_s, MOST)) * left


def daly_s(stopped_s: float, mtti_s: float) -> float:
    """Return Daly's higher-order interval, s (doi 10.1016/j.future.2004.11.016)."""
    half, young_s = stopped_s / (2 * mtti_s), math.sqrt(2 * stopped_s * mtti_s)
    return mtti_s if half >= 1 else young_s * (1 + math.sqrt(half) / 3 + half / 9) - stopped_s


def exact_s(stopped_s: float, mtti_s: float) -> float:
    """Return the interval with the highest goodput, s: z - 1 + exp(-z) = s/M by Newton's steps.

    They begin above the root and come down to it, for the left side is convex.
    """
    wanted = stopped_s / mtti_s
    z = (wanted + math.sqrt(wanted * wanted + 8.0 * wanted)) / 2
    for _ in range(8 if wanted > 0 else 0):
        small = z * z * (0.5 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z / 720))))
        z -= ((small if z < 1e-2 else z + math.expm1(-z)) - wanted) / -math.expm1(-z)
    return z * mtti_s


def peak(share: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one peak is highest, by thirds of the logarithm."""
    a, b = math.log(low), math.log(max(low, high))
    while b - a > 1e-7:
        third = (b - a) / 3
        left, right = share(math.exp(a + third)), share(math.exp(b - third))
        a, b = (a + third, b) if left < right or right <= 0 else (a, b - third)
    return max((low, max(low, high), math.exp(a)), key=share)


# Repairs.


def running_odds(spares: int, load: float) -> float:
    """Return the time a job runs over the time it waits: Poisson units out, cut at spares + 1.

    Args:
        load: units out on average if the job never waited.
    """
    term, below = 1.0, 0.0
    for count in range(spares + 1, 0, -1):
        term *= count / load
        below += term
        if term < 1e-18 * below or below > 1e250:
            break
    return below


def waiting_share(spares: int, load: float) -> float:
    """Return the share of time with more units out than spares."""
    return 1.0 / (1.0 + running_odds(spares, load))


def longest_swap_share(hardware_share: float) -> float:
    """Return the longest swap over the MTTI for which the optimum is proven, by bisection."""
    low, high = 0.0, MOST
    while high - low > 1e-12 * high:
        g = (low + high) / 2
        kept = hardware_share * math.exp(-g) + 1.0 - hardware_share
        low, high = (g, high) if g * (1.0 - hardware_share) <= kept else (low, g)
    return low


@dataclass(frozen=True)
class States:
    """A job that goes on with fewer replicas: share of time and replicas by units out."""

    shares: tuple[float, ...]
    replicas: tuple[int, ...]
    repair_s: float

    @classmethod
    def of(cls, loads: list[float], replicas: list[int], repair_s: float) -> States:
        """Return the states: flow of failures out of each equals flow of repairs back.

        Args:
            loads: units that fail during one repair time, in each state.
            replicas: that run in each state.
            repair_s: of a unit.
        """
        logs = [0.0]
        for out, load in enumerate(loads[:-1], 1):
            logs.append(logs[-1] + math.log(load / out))
        weights = [math.exp(log - max(logs)) for log in logs]
        whole = math.fsum(weights)
        return cls(tuple(w / whole for w in weights), tuple(replicas), repair_s)

    def mean(self, of: Callable[[int, int], float]) -> float:
        """Return the mean over time of a function of (units out, replicas running)."""
        each = enumerate(zip(self.shares, self.replicas, strict=True))
        return math.fsum(p * of(out, running) for out, (p, running) in each)

    @cached_property
    def running(self) -> float:
        """Share of the replicas that run on average."""
        return self.mean(lambda _, d: d) / self.replicas[0]

    @cached_property
    def seen(self) -> float:
        """Share of the failures of all replicas that kept work sees."""
        return self.mean(lambda _, d: d * d) / self.replicas[0] ** 2 / self.running

    def lost(self, t: Times, hardware_share: float, full_s: float) -> tuple[float, float, float]:
        """Return the share of work lost, of it by waiting for a capture; restarts per second.

        Args:
            t: times of the job, with the failures that its work sees.
            hardware_share: of interruptions, that take a unit out.
            full_s: mean time between failures of all replicas, s.
        """
        most = self.replicas[0]
        grows_per_s, stops, late = self._grows(t, hardware_share, full_s * most)
        gained = math.fsum(per_s * (could - ran) for per_s, _, could, ran in self._rises)
        longest_s, out = max(t.restart_s, t.near_restart_s if t.every else 0.0), 1.0
        if longest_s:
            out = self.repair_s * -math.expm1(-longest_s / self.repair_s) / longest_s
        fewer_per_s, seen_s = out * gained / (most * self.running), full_s / self.seen
        now = replace(t, mtti_s=seen_s, stopped_s=0.0)
        then = replace(now, restart_mtti_s=1.0 / (1.0 / seen_s - fewer_per_s))
        spared = (log_goodput(then) or 0.0) - (log_goodput(now) or 0.0)
        lost = (self.mean(lambda _, d: most - d) + stops) / most + late
        return max(0.0, lost - (1.0 - lost) * math.expm1(spared)), late, grows_per_s

    @cached_property
    def _rises(self) -> list[tuple[float, int, int, int]]:
        """Return (per second, units out, replicas then, replicas before) of each rise."""
        steps = zip(self.shares[1:], pairwise(self.replicas), strict=True)
        return [
            (share * out / self.repair_s, out, could, ran)
            for out, (share, (could, ran)) in enumerate(steps, 1)
            if 0 < ran < could
        ]

    def _grows(self, t: Times, share: float, each_s: float) -> tuple[float, float, float]:
        """Return planned restarts per second, replicas they stop, share that waits for a capture.

        Args:
            t: times of the job.
            share: of interruptions, that take a unit out.
            each_s: mean time between failures of one replica, s.
        """
        rises = self._rises
        often = math.fsum(rise[0] for rise in rises)
        if not often:
            return 0.0, 0.0, 0.0
        out, could, ran = (math.fsum(r[0] * r[k] for r in rises) / often for k in (1, 2, 3))
        began = out / self.repair_s + (1.0 - share) * ran / each_s
        start_s, more_s = t.restart_s, t.restore_s + t.drain_s
        alone = math.exp(-began * start_s)
        if t.every:
            start_s, more_s = t.near_restart_s, t.near_drain_s
            alone = t.far * alone + (1.0 - t.far) * math.exp(-began * start_s)
        fails, others = ran / each_s, (out - 1.0) / self.repair_s
        first = alone * _captured(began, fails + others, t.interval_s)
        anew = math.exp(min(start_s * could / each_s, MOST))
        takes_s = (anew - 1.0) * each_s / could if start_s else 0.0
        first /= 1.0 + share * fails * takes_s * first
        stops = math.fsum(r[0] * r[2] for r in rises) * first
        gained = math.fsum(r[0] * (r[2] - r[3]) for r in rises)
        late = gained * alone / fails * (1.0 - _captured(began, fails, t.interval_s))
        most = self.replicas[0]
        eased = self.mean(lambda j, _: j) - self.mean(lambda j, d: j * d) / (self.running * most)
        return often * first, stops * (takes_s + anew * more_s), late * max(0.0, 1.0 - eased) / most


def _captured(began: float, comes: float, interval_s: float) -> float:
    """Return the chance that the next capture comes before an event of rate ``comes``.

    The mean of exp(-comes (I - t)) over t in the interval, weighted by exp(-began t).
    """
    low, high = sorted((began * interval_s, comes * interval_s))
    part = -math.expm1(low - high) / (high - low) if high > low else 1.0
    whole = -math.expm1(-began * interval_s) / (began * interval_s)
    return math.exp(-low) * part / whole
