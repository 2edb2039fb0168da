"""Goodput of a job from its times: one or two checkpoint levels, swaps, and waiting for repairs.

Own derivation of the formulas in docs/model.md. Every figure may be an array: one number for each
of many plans.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

DAY_S = 86_400.0
MOST = 700.0
"""Largest argument of an exponential."""
FILLED = 1.0 - 1e-15
"""Largest share of an interval in stalls whose logarithm is taken."""
Values = Any
"""A number, or an array of them."""


@dataclass(frozen=True)
class Times:
    """Times (s) and shares that goodput follows from.

    ``stopped_s`` is stall and slowdown per interval. A share ``swapped`` of restarts takes
    ``swap_s`` longer. ``waits`` is the share of time waiting for repairs. With ``every`` > 0 there
    is a local level: each ``every``-th checkpoint drains to storage, a share ``far`` of
    interruptions needs that one, the rest restart in ``near_restart_s`` from a local checkpoint
    that is safe ``near_drain_s`` after its stall. ``idle`` is the share of the time between
    restarts without progress.
    """

    interval_s: Values
    stopped_s: Values
    drain_s: Values
    restart_s: Values
    restore_s: Values
    mtti_s: Values
    swapped: float = 0.0
    swap_s: float = 0.0
    waits: Values = 0.0
    every: Values = 0
    far: float = 1.0
    near_drain_s: float = 0.0
    near_restart_s: float = 0.0
    drain_restarts: bool = False
    idle: float = 0.0

    def survives(self, seconds: Values) -> Values:
        """Chance that a restart of this length sees no interruption, swaps included."""
        swaps = 1.0 - self.swapped + self.swapped * np.exp(-self.swap_s / self.mtti_s)
        return np.exp(-np.minimum(seconds / self.mtti_s, MOST)) * swaps


def log_goodput(t: Times) -> Values:
    """Logarithm of goodput while not waiting; minus infinity where stalls fill the interval."""
    share = t.stopped_s / t.interval_s
    running = np.where(share < FILLED, np.log1p(-np.minimum(share, FILLED)), -np.inf)
    if np.any(t.every):
        return (running + _log_two_levels(t))[()]
    z = t.interval_s / t.mtti_s
    rework = np.where(z < 1e-3, -z / 2 - z * z / 24, np.log(z) - z - np.log(-np.expm1(-z)))
    back = np.log(t.survives(t.restart_s + t.restore_s))
    return (running + rework - t.drain_s / t.mtti_s + back)[()]


def goodput(t: Times) -> Values:
    """Share of wall-clock time kept as progress."""
    return np.exp(log_goodput(t)) * (1.0 - t.waits) * (1.0 - t.idle)


def _log_two_levels(t: Times) -> Values:
    """Log goodput of two levels, stalls aside: work kept per renewal over its time.

    A renewal is an interruption that needs the remote level.
    """
    safe, back = np.exp(-t.near_drain_s / t.mtti_s), t.survives(t.near_restart_s)
    near = (1 - t.far) * back
    again = np.expm1(np.minimum(t.interval_s / t.mtti_s, MOST)) * t.far / (t.far + near * safe)
    first = safe * (t.far + near) / (t.far + near * safe)
    drains = np.exp(-t.far * t.drain_s / t.mtti_s)
    if t.drain_restarts:
        anew = np.expm1(np.minimum(t.drain_s / t.mtti_s, MOST))
        drains = 1 / (1 + anew * t.far / (t.far + near))
    renewals = np.expm1(np.minimum(t.every * np.log1p(again), MOST))
    kept_s = t.every * t.interval_s * first * drains / renewals
    restarted = 1.0 / t.survives(t.restart_s + t.restore_s)
    return np.log(kept_s / (t.mtti_s / t.far + t.mtti_s * (restarted - 1)))


def losses(t: Times) -> dict[str, float]:
    """1 - goodput by cause: what idles, the rest by each cause's share of the logarithm."""
    causes = ("stall", "rework", "drain", "restart", "restore", "waiting")
    if t.stopped_s >= t.interval_s:
        return dict.fromkeys(causes, 0.0) | {"stall": 1.0, "other": 0.0}
    own = ("drain_s", "near_drain_s"), ("restart_s", "near_restart_s", "swap_s"), ("restore_s",)
    none = dict.fromkeys((field for fields in own for field in fields), 0.0)
    steps = [replace(t, stopped_s=0.0, **none)]  # type: ignore[arg-type]
    for fields in own:
        steps.append(replace(steps[-1], **{field: getattr(t, field) for field in fields}))
    found = [log_goodput(each) for each in steps]
    logs = [math.log1p(-t.stopped_s / t.interval_s), found[0]]
    logs += [after - before for before, after in pairwise(found)] + [math.log1p(-t.waits)]
    lost = -math.expm1(sum(logs))
    parts = {cause: lost * log / sum(logs) for cause, log in zip(causes, logs, strict=True)}
    return parts | {"other": (1.0 - lost) * t.idle}


# Repairs.


def running_odds(spares: int, load: float) -> float:
    """Time a job runs over the time it waits: Poisson units out, cut at spares + 1.

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
    """Share of time with more units out than spares."""
    return 1.0 / (1.0 + running_odds(spares, load))


def share_of_states(replicas: Sequence[int], load: float) -> list[float]:
    """Share of time with 0, 1, ... units out, of a job that goes on with fewer replicas.

    Flow of failures out of each state equals flow of repairs back.

    Args:
        replicas: that run in each state.
        load: units of one replica that fail during one repair time.
    """
    logs = [0.0]
    for out, running in enumerate(replicas[:-1], 1):
        logs.append(logs[-1] + math.log(load * running / out))
    weights = [math.exp(log - max(logs)) for log in logs]
    return [weight / math.fsum(weights) for weight in weights]
