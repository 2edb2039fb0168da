"""What theory says of a job under repair with spares, and with local copies: written here once
more, so that neither the simulation nor the planner's own formulas are asked.

Rates per s, times in s. Failures have no memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def availability(spares: int, load: float) -> float:
    """Share of time that a job does not wait: a loss system (Erlang) with one place more than there
    are spares; ``load`` is how many units would be out on average."""
    lost = 1.0
    for places in range(1, spares + 2):
        lost = load * lost / (places + load * lost)
    return 1.0 - lost


def rack_availability(spares: int, load: float, racks: int) -> float:
    """A lower bound for a job that needs all of some racks, each with spares of its own."""
    one = availability(spares, load)
    return 1.0 / (1.0 + racks * (1.0 - one) / one)


def shrunk(
    replicas: Sequence[int], load: float, repair_s: float, restart_s: float, drain_s: float
) -> tuple[float, float]:
    """Return which share of a job's replicas runs, and which share of its failures is seen.

    Args:
        replicas: how many run with 0, 1, ... units out; nothing more fails when none runs.
        load: units that would be out if all replicas always ran.
        repair_s: mean time of repair.
        restart_s: what a restart with more replicas costs those that ran; the others were spared
            as much when the unit failed.
        drain_s: what it costs all that can run, until its capture is safe.
    """
    weights = [1.0]
    for out, count in enumerate(replicas[:-1], start=1):
        weights.append(weights[-1] * load * count / replicas[0] / out)
    states = [weight / math.fsum(weights) for weight in weights]
    share = [count / replicas[0] for count in replicas]
    runs = math.fsum(p * d for p, d in zip(states, share, strict=True))
    rises = math.fsum(
        states[out] * out / repair_s * (share[out - 1] * drain_s + share[out] * restart_s)
        for out in range(1, len(replicas))
        if replicas[out - 1] > replicas[out] > 0
    )
    seen = math.fsum(p * d * d for p, d in zip(states, share, strict=True)) / runs
    return runs - rises, seen


def one_level(
    interval_s: float, stall_s: float, drain_s: float, passes: float, rate: float
) -> float:
    """Goodput with one level.

    Args:
        interval_s: start of one checkpoint to the next.
        stall_s: the GPUs stand still for it.
        drain_s: until it is safe.
        passes: how likely nothing fails during a restart.
        rate: of interruptions.
    """
    z = rate * interval_s
    kept = (1.0 - stall_s / interval_s) * z / math.expm1(z)
    return kept * math.exp(-rate * drain_s) * passes


def two_levels(
    interval_s: float,
    stall_s: float,
    every: int,
    settle_s: float,
    drain_s: float,
    near: float,
    far: float,
    rate: float,
    remote: float,
    *,
    survives: bool = True,
) -> float:
    """Goodput with a local level, every so many-th copy of which is drained.

    Args:
        interval_s: between local copies.
        stall_s: for each.
        every: which of them is drained.
        settle_s: from a capture until the local copy can be used.
        drain_s: until one is safe on the shared storage.
        near: how likely nothing fails during a restart from a local copy.
        far: during a restart from the shared storage, the same.
        rate: of interruptions.
        remote: share of them that needs the shared storage.
        survives: whether a drain goes on through failures that local copies survive.
    """
    local = 1.0 - remote
    settled = math.exp(-rate * settle_s)
    once_more = remote / (remote + local * near * settled)
    lost = math.expm1(rate * interval_s) * once_more
    first = settled * (remote + local * near) / (remote + local * near * settled)
    arrives = math.exp(-remote * rate * drain_s)
    if not survives:
        again = remote / (remote + local * near)
        arrives = 1.0 / (1.0 + math.expm1(rate * drain_s) * again)
    work = every * (interval_s - stall_s) * rate * remote * first * arrives
    return work / ((1.0 + lost) ** every - 1.0) / (1.0 + remote * (1.0 / far - 1.0))
