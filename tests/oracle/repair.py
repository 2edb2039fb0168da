"""Hardware out for repair by its Markov chain, one state after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import Job
from planner.schema.running import Repair
from tests.oracle.money import Array
from tests.oracle.ways import least_replicas

SECONDS_PER_DAY = 86_400.0
YEAR_H = 8760.0


@dataclass(frozen=True)
class Mended:
    """What repairs leave of the goodput: the share of time that is not waited, and swaps."""

    spares: int
    availability: float
    kept_by_swaps: float
    grown_per_s: tuple[float, float] = (0.0, 0.0)
    """Where fewer replicas may run: the work lost to growing again, per s until a capture is safe,
    and per s of the restart after it."""
    failing: float = 1.0
    """And which share of the failures of all replicas the work of those that run sees."""

    def factor(self, safe_s: Array, restart_s: Array) -> Array:
        """What is left of the goodput of a job that is never short of hardware."""
        safe, back = self.grown_per_s
        left = self.availability - safe * safe_s - back * restart_s
        return np.asarray(np.maximum(left, 0.0) * self.kept_by_swaps)


def states(spares: int, load: float) -> list[float]:
    """Return the share of time with 0, 1, ... units out, up to one more than the spares.

    Failures come at the load (in repair times) while the job runs, and each unit out is mended in
    one repair time: the flow from a state to the next equals the flow back.
    """
    weights = [1.0]
    for out in range(1, spares + 2):
        weights.append(weights[-1] * load / out)
    whole = math.fsum(weights)
    return [weight / whole for weight in weights]


def shrunk(units: int, holds: int, replicas: tuple[int, int, int], load: float) -> Chain:
    """Return what a job does that goes on with fewer replicas, state by state.

    Args:
        units: those that carry it or stand by.
        holds: GPUs of each that replicas can fill.
        replicas: how many there are, the GPUs of one, and the fewest that run.
        load: units out on average if all replicas always ran.
    """
    count, size, least = replicas
    runs, logs = [count], [0.0]
    while runs[-1]:
        logs.append(logs[-1] + math.log(load * runs[-1] / count / len(runs)))
        fit = (units - len(runs)) * holds // size
        runs.append(min(count, fit) if fit >= least else 0)
    weights = np.exp(np.array(logs) - max(logs))
    shares, doing = weights / weights.sum(), np.array(runs) / count
    more = (doing[:-1] > doing[1:]) & (doing[1:] > 0.0)
    back = np.where(more, shares[1:] * np.arange(1, len(runs)), 0.0)
    mean, stops = float(shares @ doing), (float(back @ doing[:-1]), float(back @ doing[1:]))
    return Chain(mean, stops, float(shares @ doing**2) / mean)


@dataclass(frozen=True)
class Chain:
    """Share of the replicas that run; of their work that stops to grow, per repair time, for what
    those take that can run then and that ran; share of their failures that the work of those that
    run sees."""

    runs: float
    grown: tuple[float, float]
    failing: float


def pooled(item: Item, job: Job, repair: Repair) -> tuple[int, bool]:
    """Return the GPUs of a spare unit, and whether any unit's place can be taken by any other."""
    assert item.provides.gpus is not None
    size = item.provides.gpus.value
    if repair.unit == "system" or item.spare_unit is None:
        return size, True
    tray = item.spare_unit.tray.value
    whole = job.parallelism is not None and job.gpus.whole != "systems"
    if not whole or job.parallelism is None or tray == size:
        return tray, True
    return tray, tray % job.parallelism.tensor == 0


def spares_can_be_counted(item: Item, job: Job) -> bool:
    """Say whether so many spares as the job asks for, or fewer replicas, mean something of a GPU
    system."""
    repair = job.repair
    if repair is None or (repair.spares == "open" and repair.when_short == "wait"):
        return True
    return pooled(item, job, repair)[1]


def mended(
    item: Item, job: Job, usable: int, bought: int, used: int, gpus: int, rate: float
) -> Mended | None:
    """Return what repairs leave of a job, None where it may not run so.

    Args:
        item: the GPU system in use.
        job: with or without a repair.
        usable: GPUs of one system that the job fills.
        bought: systems in the cluster.
        used: systems in use.
        gpus: GPUs in use.
        rate: interruptions per GPU and day.
    """
    repair = job.repair
    if repair is None:
        return Mended(0, 1.0, 1.0)
    assert item.provides.gpus is not None
    kinds = [(each.share, each.time_s) for each in repair.classes]
    if repair.share is not None and repair.time_s is not None:
        kinds = [(repair.share, repair.time_s)]
    share = sum(each for each, _ in kinds)
    per_s = rate * gpus / SECONDS_PER_DAY
    if repair.swap_s > 0.0 and not _provable(share, repair.swap_s * per_s):
        return None
    swaps = 1.0 - share + share * math.exp(-repair.swap_s * per_s)
    load = per_s * sum(each * time_s for each, time_s in kinds)
    repair_s = sum(each * time_s for each, time_s in kinds) / share
    tray, pool = pooled(item, job, repair)
    per_system = item.provides.gpus.value // tray
    if not pool:
        each = per_system - math.ceil(usable / tray)
        out = states(each, load * usable / gpus)[-1]
        odds = gpus / usable * out / (1.0 - out)
        return Mended(each * used, 1.0 / (1.0 + odds), swaps)
    left = bought - used if per_system == 1 else bought * per_system - math.ceil(gpus / tray)
    if isinstance(repair.spares, int):
        if left < repair.spares:
            return None
        left = repair.spares
    if left < 0:
        return None
    if repair.when_short == "wait":
        return Mended(left, 1.0 - states(left, load)[-1], swaps)
    assert job.parallelism is not None
    holds, size = usable if per_system == 1 else tray, job.parallelism.replica_gpus
    replicas = (gpus // size, size, least_replicas(item, job) or 1)
    chain = shrunk(math.ceil(gpus / holds) + left, holds, replicas, load)
    swaps = 1.0 - share + share * math.exp(-repair.swap_s * per_s * chain.failing)
    safe, back = chain.grown
    return Mended(left, chain.runs, swaps, (safe / repair_s, back / repair_s), chain.failing)


def _provable(share: float, swaps: float) -> bool:
    """Say whether the logarithm of what swaps keep bends down here, by its second difference."""

    def log_kept(x: float) -> float:
        return math.log(1.0 - share + share * math.exp(-swaps * math.exp(x)))

    step = 1e-3
    return log_kept(step) + log_kept(-step) - 2.0 * log_kept(0.0) <= 1e-12
