"""Formulas of a job: rates of its GPUs, goodput with one or two checkpoint levels, repairs.

Own derivation of the formulas in docs/model.md. Times and goodput may be arrays: one number for
each of many plans.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.schema.catalog import Item
from planner.schema.job import ASSUMED_AT_GPUS, Job, Parallelism
from planner.verifier.basis import round_up, value

DAY_S = 86_400.0
MOST = 700.0
"""Largest argument of an exponential."""
FILLED = 1.0 - 1e-15
"""Largest share of an interval in stalls whose logarithm is taken."""
SAME_CAP = 1e-9
FAR = 40.0
"""Logarithm of the GPUs up to which the last piece of a table of scale goes on."""
Values = Any
"""A number, or an array of them."""


# Replicas and rates.


def replica_gpus(option: Parallelism) -> int:
    """GPUs of a replica: in each pipeline stage whole tensor groups and whole sets of experts."""
    dense = option.tensor * option.context
    return option.pipeline * math.lcm(dense, _expert_gpus(option))


def _expert_gpus(option: Parallelism) -> int:
    """GPUs of a pipeline stage that its experts are spread over."""
    known = option.experts > 1 or option.expert_parameters is not None
    return option.experts * (option.expert_tensor or option.tensor) if known else 1


def has_whole_replicas(job: Job) -> bool:
    """True if only whole replicas run: of a replica that is stated, unless systems are asked."""
    return job.parallelism is not None and job.gpus.whole != "systems"


def tensor_gpus(job: Job) -> int:
    """GPUs that must be in one system: a tensor group, where only whole ones run."""
    option = job.parallelism
    return option.tensor if option is not None and has_whole_replicas(job) else 1


def whole_replica(job: Job) -> int:
    """GPUs of a replica where only whole ones run, else 1."""
    option = job.parallelism
    return replica_gpus(option) if option is not None and has_whole_replicas(job) else 1


def gpus_of(item: Item) -> int:
    """GPUs of one system."""
    return value(item.provides.gpus) or 0


def usable_gpus(job: Job, item: Item) -> int:
    """GPUs of one system that the job can use: whole replicas or tensor groups."""
    most, replica = min(job.gpus.most_of(item.id) or math.inf, gpus_of(item)), whole_replica(job)
    return int(most - most % (replica if replica <= most else tensor_gpus(job)))


def least_replicas(item: Item, job: Job) -> int | None:
    """Fewest replicas whose memory holds their shared state, None where none does."""
    option, memory = job.parallelism, item.gpu.memory
    if option is None or option.memory is None or memory is None or job.parameters is None:
        return 1 if option is None else option.min_replicas
    held, expert = option.memory, option.expert_parameters or 0.0
    each = (job.parameters - expert) / option.tensor + expert / _expert_gpus(option)
    each = each / option.pipeline / 1e9
    room_gb = memory.value * held.usable - held.activations_gb - each * held.held
    if room_gb <= 0:
        return None
    return max(option.min_replicas, round_up(each * held.shared / room_gb))


def peak_tflops(item: Item, precision: str) -> float | None:
    """Dense peak rate of one GPU, TFLOP/s; None if not known."""
    figure = getattr(item.gpu, f"{precision}_dense", None)
    return None if figure is None else float(figure.value)


def measured_rate(item: Item, job: Job, precision: str) -> tuple[float, int] | None:
    """Rate (TFLOP/s of one GPU) that counts, and the GPUs that it was measured on.

    Of the most GPUs, of equals the slowest; a type without a measurement has the assumed rate.
    """
    training, peak = job.training, peak_tflops(item, precision)
    rows = [
        (row.gpus, -row.rate_tflops)
        for row in item.achieved
        if (row.model, row.precision) == (training.model, precision)
    ]
    if not rows and peak and training.assumed_mfu:
        rows = [(ASSUMED_AT_GPUS, -peak * training.assumed_mfu)]
    if not rows:
        return None
    gpus, negative = max(rows)
    return -negative * training.rate_factor, gpus


def set_point(
    item: Item, precision: str, cap: float, rated_kw: float | None
) -> tuple[float, float] | None:
    """Shares of power and of throughput at a cap of the GPUs' power; or None."""
    if cap >= 1.0:
        return 1.0, 1.0
    for row in item.power_points:
        fits = row.of == "training" and row.precision in (None, precision)
        if fits and abs(row.gpu_cap - cap) < SAME_CAP:
            tdp_kw = value(item.gpu.tdp)
            if not tdp_kw or not gpus_of(item) or not rated_kw:
                return None
            gpus_kw = min(tdp_kw * gpus_of(item), rated_kw)  # all but the GPUs draws as before
            return 1.0 - gpus_kw * (1.0 - row.gpu_cap) / rated_kw, row.throughput
    return None


def scale_share(job: Job, gpus: int, at: int | None) -> float:
    """Share of a rate measured at some GPUs that is left on more, by the law of scale."""
    law = job.training.scale
    if law is None:
        return 1.0
    if law.exponent is not None:
        return float((gpus / (at or 1)) ** -law.exponent)
    x, y = np.log([(row.gpus, row.share) for row in law.table or ()]).T
    x, y = np.append(x, x[-1] + FAR), np.append(y, y[-1] + FAR * (y[-1] - y[-2]) / (x[-1] - x[-2]))
    left, reference = np.interp(np.log([gpus, at or 1]), x, y)
    return math.exp(left - (0.0 if at is None else reference))


# Goodput.


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
    idle: float = 0.0
    restart_mtti_s: Values = None

    def survives(self, seconds: Values) -> Values:
        """Chance that a restart of this length sees no interruption, swaps included."""
        sees_s = self.mtti_s if self.restart_mtti_s is None else self.restart_mtti_s
        swap_sees_s = sees_s if np.any(self.every) else self.mtti_s
        swaps = 1.0 - self.swapped + self.swapped * np.exp(-self.swap_s / swap_sees_s)
        return np.exp(-np.minimum(seconds / sees_s, MOST)) * swaps


def log_goodput(t: Times) -> Values:
    """Logarithm of goodput while not waiting; minus infinity where stalls fill the interval.

    Work kept per renewal over its time; a renewal is an interruption that needs the remote level,
    of one level every one.
    """
    share, every = t.stopped_s / t.interval_s, np.maximum(1, t.every)
    running = np.where(share < FILLED, np.log1p(-np.minimum(share, FILLED)), -np.inf)
    z, drain = t.interval_s / t.mtti_s, t.drain_s / t.mtti_s
    safe, near = np.exp(-t.near_drain_s / t.mtti_s), (1 - t.far) * t.survives(t.near_restart_s)
    again = np.expm1(np.minimum(z, MOST)) * t.far / (t.far + near * safe)
    first = safe * (t.far + near) / (t.far + near * safe)
    drains = 1 / (1 + np.expm1(np.minimum(drain, MOST)) * t.far / (t.far + near))
    renewals = np.expm1(np.minimum(every * np.log1p(again), MOST))
    restarted = 1 / t.survives(t.restart_s + t.restore_s)
    kept = every * z * t.far * first * drains / renewals / (1 + t.far * (restarted - 1))
    return (running + np.log(kept))[()]


def goodput(t: Times) -> Values:
    """Share of wall-clock time kept as progress."""
    return np.exp(log_goodput(t)) * (1.0 - t.waits) * (1.0 - t.idle)


# Repairs.


def running_odds(spares: int, load: float) -> float:
    """Time a job runs over the time it waits: Poisson units out, cut at spares + 1.

    ``load`` are units out on average if the job never waited.
    """
    with np.errstate(over="ignore"):
        return float(np.cumprod(np.arange(spares + 1, 0, -1) / load).sum())


def waiting_share(spares: int, load: float) -> float:
    """Share of time with more units out than spares."""
    return 1.0 / (1.0 + running_odds(spares, load))


def replicas_running(units: int, each: float, replicas: tuple[int, int]) -> list[int]:
    """Replicas that run with 0, 1, 2, ... units out, of units that hold ``each``.

    ``replicas`` are the fewest that run, and the most.
    """
    held = [math.floor((units - out) * each + 1e-9) for out in range(1, units + 1)]
    return [replicas[1], *(min(replicas[1], n) for n in held if n >= replicas[0])]


def with_fewer(times: Times, states: States, share: float) -> Times:
    """Times of a job with failures of all replicas that goes on with fewer.

    A ``share`` of interruptions takes a unit out.
    """
    lost = states.lost(times, share, times.mtti_s)
    return replace(times, waits=lost, mtti_s=times.mtti_s / states.seen)


@dataclass(frozen=True)
class States:
    """An elastic job: share of time and running replicas, by units in repair."""

    shares: NDArray[np.float64]
    replicas: NDArray[np.float64]
    repair_s: float

    @classmethod
    def balanced(cls, running: Sequence[float], load: float, repair_s: float) -> States:
        """Steady state: as many failures out of each state as repairs back into it.

        ``running`` are replicas with 0, 1, 2, ... units out, none with more; ``load`` units fail
        during one repair time if all replicas run.
        """
        at = np.array([*(each for each in running if each > 0), 0.0])
        logs = np.log(load * at[:-1] / at[0] / np.arange(1, len(at)))
        weights = np.cumsum([0.0, *logs])
        weights = np.exp(weights - weights.max())
        return cls(weights / weights.sum(), at, repair_s)

    @property
    def running(self) -> float:
        """Share of the replicas that run on average."""
        return float(self.shares @ self.replicas / self.replicas[0])

    @property
    def seen(self) -> float:
        """Share of the failures of all replicas that kept work sees."""
        return float(self.shares @ self.replicas**2 / self.replicas[0] ** 2 / self.running)

    def lost(self, t: Times, share: float, full_s: float) -> Values:
        """Share of the work of all replicas that is lost, planned restarts included.

        A ``share`` of interruptions, one each ``full_s`` of all replicas, takes a unit out.
        """
        p, d, out = self.shares, self.replicas, np.arange(len(self.shares))
        most, local, seen_s = d[0], np.any(t.every), full_s / self.seen
        before, ran = d[:-1], d[1:]
        rises = p[1:] * out[1:] / self.repair_s * ((ran > 0) & (ran < before))
        gained, stops, late = rises @ (before - ran), 0.0, 0.0
        if gained > 0:
            units, could, each = (rises @ n / rises.sum() for n in (out[1:], before, ran))
            fails, others = each / (full_s * most), (units - 1.0) / self.repair_s
            began = units / self.repair_s + (1.0 - share) * fails
            start_s, more_s = t.restart_s, t.restore_s + t.drain_s
            alone = math.exp(-began * start_s)
            if local:
                start_s, more_s = t.near_restart_s, t.near_drain_s
                alone = t.far * alone + (1.0 - t.far) * math.exp(-began * start_s)
            first = alone * _captured(began, fails + others, t.interval_s)
            anew = math.exp(min(start_s * could / (full_s * most), MOST))
            takes_s = (anew - 1.0) * full_s * most / could
            first = first / (1.0 + share * fails * takes_s * first)
            stops = rises @ before * first * (takes_s + anew * more_s)
            eased = p @ out - (p * out) @ d / (self.running * most)
            late = gained * alone / fails * (1.0 - _captured(began, fails, t.interval_s))
            late = late * max(0.0, 1.0 - eased) / most
        longest_s, fewer = max(t.restart_s, t.near_restart_s if local else 0.0), 1.0
        if longest_s:
            fewer = self.repair_s * -math.expm1(-longest_s / self.repair_s) / longest_s
        fewer_per_s = fewer * gained / (most * self.running)
        now = replace(t, mtti_s=seen_s, stopped_s=0.0)
        then = replace(now, restart_mtti_s=1.0 / (1.0 / seen_s - fewer_per_s))
        lost = (p @ (most - d) + stops) / most + late
        return np.maximum(0.0, lost - (1.0 - lost) * np.expm1(log_goodput(then) - log_goodput(now)))


def _captured(began: float, comes: float, interval_s: Values) -> Values:
    """Chance that the next capture comes before an event of rate ``comes``.

    The mean of exp(-comes (I - t)) over t in the interval, weighted by exp(-began t).
    """
    low, high = min(began, comes) * interval_s, max(began, comes) * interval_s
    part = -np.expm1(low - high) / (high - low) if began != comes else 1.0
    whole = -np.expm1(-began * interval_s) / (began * interval_s)
    return np.exp(-low) * part / whole
