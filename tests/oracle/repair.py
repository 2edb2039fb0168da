"""Hardware out for repair by its Markov chain, one state after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from planner.schema.catalog import Item
from planner.schema.job import Job, Repair
from tests.oracle.money import Array
from tests.oracle.ways import least_replicas

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class Mended:
    """What repairs leave of the goodput: the share of time that is not waited, and swaps."""

    spares: int
    availability: float
    kept_by_swaps: float
    swaps: tuple[float, float] = (0.0, 0.0)
    """The share of failures after which a unit is swapped, and how long that takes, s."""
    growing: Growing | None = None
    """What a job does that goes on with fewer replicas."""

    @property
    def failing(self) -> float:
        """Which share of the failures of all replicas the work of those that run sees."""
        return 1.0 if self.growing is None else self.growing.chain.failing

    def factor(self, interval_s: Array, more_s: Array, mtti_s: float) -> Array:
        """What is left of the goodput of a job that is never short of hardware.

        Args:
            interval_s: from one checkpoint to the next.
            more_s: of a restart with more replicas, beside itself: its capture, reading back.
            mtti_s: between the failures that the job's work sees.
        """
        left = np.asarray(self.availability * self.kept_by_swaps)
        if self.growing is None:
            return left
        runs = self.growing.runs(interval_s, more_s, mtti_s)
        return np.asarray(np.maximum(runs, 0.0) * self.kept_by_swaps)

    def on_levels(self, restart_s: float, far: float) -> Mended:
        """Return the same with restarts from local copies, but for the share that is far; swaps
        are then a part of each."""
        if self.growing is None:
            return replace(self, kept_by_swaps=1.0)
        after = ((1.0 - far, restart_s), (far, self.growing.after[-1][1]))
        growing = replace(self.growing, after=after, start_s=restart_s)
        return replace(self, kept_by_swaps=1.0, growing=growing)

    def outlast(self, mtti_s: Array) -> Array:
        """Return how likely nothing fails in what a swap takes, or there is none."""
        share, swap_s = self.swaps
        return np.asarray(share * np.exp(-swap_s / mtti_s) + (1.0 - share))

    def restarts_see_s(self, mtti_s: float) -> Array:
        """Return the mean time between the failures that restarts see."""
        if self.growing is None:
            return np.asarray(mtti_s)
        return np.asarray(self.growing.restarts_see_s(mtti_s))


@dataclass(frozen=True)
class Growing:
    """How a job that goes on with fewer replicas grows again; times in seconds.

    ``after`` are restarts after failures, each with its share of them, ``hardware`` the share of
    failures that take a unit out, ``start_s`` a restart with more.
    """

    chain: Chain
    repair_s: float
    hardware: float
    after: tuple[tuple[float, float], ...]
    start_s: float

    def runs(self, interval_s: Array, more_s: Array, mtti_s: float) -> Array:
        """Return the share of the work of all replicas that is done, a restart with more taking so
        much more for its capture and to read it back."""
        if not self.chain.ups:
            return np.asarray(self.chain.runs + 0.0 * interval_s * more_s)
        full_per_s = 1.0 / mtti_s / self.chain.failing
        out, could, ran = self.chain.mean_up
        before = out / self.repair_s + (1.0 - self.hardware) * ran * full_per_s
        computes = sum(part * math.exp(-each_s * before) for part, each_s in self.after)
        fails, others = ran * full_per_s, (out - 1.0) / self.repair_s
        last = computes * _passes(before, fails + others, interval_s)
        stands_s = self.start_s
        if self.start_s > 0.0:
            stands_s = math.expm1(could * full_per_s * self.start_s) / (could * full_per_s)
        last = last / (1.0 + self.hardware * fails * stands_s * last)
        again = math.exp(could * full_per_s * self.start_s)
        back, brought = (each / self.repair_s for each in self.chain.grown)
        waits_s = (1.0 - _passes(before, fails, interval_s)) / fails
        late = max(0.0, 1.0 - self.chain.eased) * brought * computes * waits_s
        return np.asarray(self.chain.runs - back * last * (stands_s + again * more_s) - late)

    def restarts_see_s(self, mtti_s: float) -> float:
        """Return the mean time between failures without those whose units make no restart."""
        longest_s = max(each_s for _, each_s in self.after)
        share = 1.0
        if longest_s > 0.0:
            share = self.repair_s * -math.expm1(-longest_s / self.repair_s) / longest_s
        gone_per_s = self.chain.grown[1] / self.chain.runs / self.repair_s
        return 1.0 / (1.0 / mtti_s - share * gone_per_s)


def _passes(before: float, rate: float, interval_s: Array) -> Array:
    """How likely nothing of a rate comes in what is left of an interval, that began at the other
    rate before: the mean of e^(-rate left) at an age that has the density e^(-before age)."""
    slow, fast = min(before, rate), max(before, rate)
    ages = -np.expm1(-before * interval_s) / before
    apart = interval_s
    if fast - slow > 1e-9 * fast:
        apart = -np.expm1((slow - fast) * interval_s) / (fast - slow)
    return np.asarray(np.exp(-slow * interval_s) * apart / ages)


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


@cache
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
    mean, out = float(shares @ doing), np.arange(len(runs))
    stops = float(back @ doing[:-1]), float(back @ (doing[:-1] - doing[1:]))
    eased = float(shares @ out) - float(shares @ (out * doing)) / mean
    ups = [(float(back[j]), float(j + 1), float(doing[j]), float(doing[j + 1]))
           for j in range(len(back)) if back[j] > 0.0]  # fmt: skip
    return Chain(mean, stops, float(shares @ doing**2) / mean, eased, tuple(ups))


@dataclass(frozen=True)
class Chain:
    """Share of the replicas that run; units back that bring more, per repair time, each with the
    share that can run then, and with that which it brings; share of their failures that the work
    of those that run sees; how much of what runs less comes back because less fails; of each state
    with units back that bring more how often that is, the units out, what could run, what ran."""

    runs: float
    grown: tuple[float, float]
    failing: float
    eased: float
    ups: tuple[tuple[float, float, float, float], ...] = ()

    @cached_property
    def mean_up(self) -> tuple[float, float, float]:
        """The units out, what could run and what ran, on average over units back that bring
        more."""
        often = math.fsum(up[0] for up in self.ups)
        out, could, ran = (
            math.fsum(up[0] * up[place] for up in self.ups) / often for place in (1, 2, 3)
        )
        return out, could, ran


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
    mends = (share, repair.swap_s)
    load = per_s * sum(each * time_s for each, time_s in kinds)
    repair_s = sum(each * time_s for each, time_s in kinds) / share
    tray, pool = pooled(item, job, repair)
    per_system = item.provides.gpus.value // tray
    if not pool:
        each = per_system - math.ceil(usable / tray)
        out = states(each, load * usable / gpus)[-1]
        odds = gpus / usable * out / (1.0 - out)
        return Mended(each * used, 1.0 / (1.0 + odds), swaps, mends)
    left = bought - used if per_system == 1 else bought * per_system - math.ceil(gpus / tray)
    if isinstance(repair.spares, int):
        if left < repair.spares:
            return None
        left = repair.spares
    if left < 0:
        return None
    if repair.when_short == "wait":
        return Mended(left, 1.0 - states(left, load)[-1], swaps, mends)
    assert job.parallelism is not None
    holds, size = usable if per_system == 1 else tray, job.parallelism.replica_gpus
    replicas = (gpus // size, size, least_replicas(item, job) or 1)
    chain = shrunk(math.ceil(gpus / holds) + left, holds, replicas, load)
    swaps = 1.0 - share + share * math.exp(-repair.swap_s * per_s * chain.failing)
    growing = Growing(chain, repair_s, share, ((1.0, job.restart_s),), job.restart_s)
    return Mended(left, chain.runs, swaps, mends, growing)


def _provable(share: float, swaps: float) -> bool:
    """Say whether the logarithm of what swaps keep bends down here, by its second difference."""

    def log_kept(x: float) -> float:
        return math.log(1.0 - share + share * math.exp(-swaps * math.exp(x)))

    step = 1e-3
    return log_kept(step) + log_kept(-step) - 2.0 * log_kept(0.0) <= 1e-12
