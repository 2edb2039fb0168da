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
    replicas: Sequence[int],
    load: float,
    repair_s: float,
    hardware: float,
    near_s: float,
    far: tuple[float, float],
    interval_s: float,
    grow_s: float,
    more_s: float,
) -> tuple[float, float, float]:
    """Return what a job does of the work of all its replicas, which share of their failures its
    work sees, and which its restarts.

    Args:
        replicas: how many run with 0, 1, ... units out; nothing more fails when none runs.
        load: units that would be out if all replicas always ran.
        repair_s: mean time of repair.
        hardware: share of failures that take a unit out.
        near_s: a restart after a failure, but for
        far: a share of them, after which it takes so long, s.
        interval_s: start of one checkpoint to the start of the next.
        grow_s: a restart with more replicas.
        more_s: what it takes beside: to read back, and until the capture before is safe.
    """
    weights = [1.0]
    for out, count in enumerate(replicas[:-1], start=1):
        weights.append(weights[-1] * load * count / replicas[0] / out)
    states = [weight / math.fsum(weights) for weight in weights]
    share = [count / replicas[0] for count in replicas]
    pairs = list(zip(states, share, strict=True))
    runs = math.fsum(p * d for p, d in pairs)
    seen = math.fsum(p * d * d for p, d in pairs) / runs
    full = load / repair_s / hardware
    # Per second, units back: those out before, how much runs then, and how much of that they bring.
    rises = [
        (states[out] * out / repair_s, out, share[out - 1], share[out - 1] - share[out])
        for out in range(1, len(replicas))
        if replicas[out - 1] > replicas[out] > 0
    ]
    if not rises:
        return runs, seen, seen
    often = math.fsum(rise[0] for rise in rises)
    met, could, brings = (math.fsum(r[0] * r[at] for r in rises) / often for at in (1, 2, 3))
    rate, (part, far_s) = full * (could - brings), far
    before = met / repair_s + (1.0 - hardware) * rate
    alone = (1.0 - part) * math.exp(-near_s * before) + part * math.exp(-far_s * before)
    last = alone * captured(before, rate + (met - 1.0) / repair_s, interval_s)
    anew = math.exp(full * could * grow_s)
    stands_s = (anew - 1.0) / (full * could)
    planned = last / (1.0 + hardware * rate * stands_s * last)
    mean = math.fsum(out * p for out, p in enumerate(states))
    weighted = math.fsum(out * p * d for out, (p, d) in enumerate(pairs)) / runs
    waits_s = alone * (1.0 - captured(before, rate, interval_s)) / rate
    waits_s *= max(0.0, 1.0 - mean + weighted)
    left = runs - often * (could * planned * (stands_s + anew * more_s) + brings * waits_s)
    longest_s = max(near_s, far_s) if part else near_s
    out_s = repair_s * -math.expm1(-longest_s / repair_s) / longest_s if longest_s else 1.0
    return left, seen, seen - often * brings / runs * out_s / full


def captured(before: float, rate: float, interval_s: float) -> float:
    """How likely an interval ends before anything of a rate comes, at a moment in it that has the
    density exp(-before * age)."""
    z = before * interval_s
    if math.isclose(before, rate, rel_tol=1e-9):
        return z / math.expm1(z)
    ends = math.exp(-rate * interval_s) - math.exp(-z)
    return before / (before - rate) * ends / -math.expm1(-z)


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
