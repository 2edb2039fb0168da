"""Availability of a job with hardware in repair: spares, waiting, running with fewer replicas.

Of the job's interruptions a share takes one spare unit (a GPU system, or a tray of it) out for a
repair. Others stand by and take its place; the job waits while more are out than stood by. Nothing
fails while it waits, so the units out are a loss system with as many places as there are spares,
and one more: Erlang's loss formula, whatever the law of the repair times is.

A job may also go on with fewer replicas. Then what runs fails, the less the more units are out: a
loss system whose arrivals fall with the units out, and as little depends on the law.

``spares`` are hot spares, ``load`` is the result of `repair_load`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

FULL = 1e200
"""Sums beyond this are scaled down."""


def repair_load(failures_per_gpu_day: float, gpus: float, out_s: float) -> float:
    """Units out on average if the job never waited.

    Args:
        failures_per_gpu_day: job-interrupting failures per GPU and day.
        out_s: repair time per interruption, s: the share of interruptions that take a unit out,
            times the mean of its repair; a sum over classes where there are some.
    """
    return failures_per_gpu_day / 86_400.0 * gpus * out_s


def waiting(spares: int, load: float) -> float:
    """Share of time in which the job waits: more units are out than stood by.

    Source: A. K. Erlang, 1917: B(0) = 1, B(c) = load B(c - 1)/(c + load B(c - 1)), with a place
    more than there are spares.
    """
    blocked = 1.0
    for place in range(1, spares + 2):
        blocked = load * blocked / (place + load * blocked)
    return blocked


def waiting_odds(spares: int, load: float) -> float:
    """Time a job waits for repairs over the time it does not."""
    blocked = waiting(spares, load)
    return blocked / (1.0 - blocked)


def units_out(spares: int, load: float) -> float:
    """Units in repair on average."""
    return load * (1.0 - waiting(spares, load))


@lru_cache(maxsize=256)
def most_spares(load: float, waiting: float) -> int:
    """The fewest spares with which the job waits no more than a share of its time, above 0."""
    spares, blocked = 0, load / (1.0 + load)
    while blocked > waiting:
        spares += 1
        blocked = load * blocked / (spares + 1 + load * blocked)
    return spares


def in_rack_waiting(racks: float, spares_each: int, load_each: float) -> float:
    """Upper bound of the share of time in which some rack has fewer units than the job needs.

    The spares of a rack take the place of units of that rack alone, and the job needs all racks.
    Repairs go on while it waits, so it is no exact share; it is close up to 0.02.

    Args:
        racks: racks in use, in parts of one where the last is not full.
        spares_each: units of each rack that stand by.
        load_each: `repair_load` of the GPUs in use of one rack.
    """
    odds = racks * waiting_odds(spares_each, load_each)
    return odds / (1.0 + odds)


class Shrinking(NamedTuple):
    """A job of ``replicas`` replicas that goes on with fewer where units are short.

    ``units`` carry it or stand by, each with ``unit_gpus`` GPUs for replicas of ``replica_gpus``;
    fewer than ``least`` replicas do not run: then the job waits.
    """

    units: int
    unit_gpus: int
    replica_gpus: int
    replicas: int
    least: int = 1

    def running(self, out: int) -> int:
        """Replicas that run while ``out`` units are out, 0 where the job waits."""
        held = self.unit_gpus * max(0, self.units - out) // self.replica_gpus
        return min(self.replicas, held) if held >= self.least else 0


class Restarts(NamedTuple):
    """Restarts of a job that goes on with fewer replicas; times in seconds.

    ``after_failures`` are shares of failures, each with the restart after it, ``grow_s`` is that
    with more replicas, all without reading a checkpoint back. For that, and until the capture that
    it goes on from is safe, a restart with more takes ``more_s`` beside. A ``hardware_share`` of
    failures takes a unit out, for ``repair_s``.
    """

    hardware_share: float
    repair_s: float
    after_failures: tuple[tuple[float, float], ...]
    grow_s: float
    more_s: float

    def left_out(self) -> float:
        """Share of the longest restart for which a unit that failed before it is out."""
        longest = max(each_s for _, each_s in self.after_failures) / self.repair_s
        return -math.expm1(-longest) / longest if longest > 0.0 else 1.0


class Shrunk(NamedTuple):
    """Averages of a job that shrinks.

    ``idle`` is the share of its replicas that does not run, over all time; ``failing`` the share of
    its failures that kept work sees: of replicas that run, weighted by what they do.
    ``restarts`` are the units back that let more replicas run, per mean time of repair, ``met``
    those out before, each with itself, on average; ``grown`` is each counted with the share of the
    job that can run then, ``late`` with the share that it brings back. ``eased`` is the share of
    what ran less for some other reason that comes back, because less fails. ``short`` is the share
    of time in which fewer than all replicas run, ``stopped`` that in which none does.
    """

    idle: float
    failing: float
    grown: float
    restarts: float
    met: float
    late: float
    eased: float
    short: float
    stopped: float
    units_out: float

    def planned(self, how: Restarts, interval_s: float, mtti_s: float) -> float:
        """Planned restarts to grow per mean time of repair."""
        return self.restarts and self.restarts * self._growth(how, interval_s, mtti_s)[0]

    def waiting(self, how: Restarts, interval_s: float, mtti_s: float) -> float:
        """Share of the work of all replicas that repaired units do not do before a capture.

        They wait for it, or for a failure, whichever is first.
        """
        late = max(0.0, 1.0 - self.eased) * self.late / how.repair_s
        return self.restarts and late * self._growth(how, interval_s, mtti_s)[1]

    def _growth(self, how: Restarts, interval_s: float, mtti_s: float) -> tuple[float, float]:
        """Chance that a unit back has a restart of its own at the next capture; its wait, s.

        Backwards in time the units out are the same loss system with repairs for failures: so the
        failures before are those of software, and of the units that are out. The job computes with
        the probability ``alone``; another unit back during a planned restart needs none.

        ``mtti_s``: mean time between the interruptions that kept work sees.
        """
        each_per_s = 1.0 / self.failing / mtti_s / self.restarts
        fails, after = (self.grown - self.late) * each_per_s, self.grown * each_per_s
        rate = self.met / how.repair_s + (1.0 - how.hardware_share) * fails
        alone = math.fsum(share * math.exp(-rate * each_s) for share, each_s in how.after_failures)
        stands_s = math.expm1(min(after * how.grow_s, 700.0)) / after
        others_per_s = (self.met - 1.0) / how.repair_s
        passes = alone * _captured(rate * interval_s, (fails + others_per_s) * interval_s)
        chance = passes / (1.0 + how.hardware_share * fails * stands_s * passes)
        return chance, alone * (1.0 - _captured(rate * interval_s, fails * interval_s)) / fails


def _captured(began: float, comes: float) -> float:
    """Chance that the next capture comes before an event of a rate.

    The time since an interval began has the density e^(-began t), cut off at its end; both are
    numbers of events in an interval.
    """
    return math.exp(-min(began, comes)) * none_of(abs(began - comes)) / none_of(began)


def none_of(expected: float) -> float:
    """(1 - e^-x)/x: chance of no event in an even part of a time in which x are expected."""
    return -math.expm1(-expected) / expected if expected > 0.0 else 1.0


NEGLIGIBLE = 1e-18
"""States that take less of the time than this, beyond the likeliest, are left out."""


def shrunk(running: Callable[[int], float], load: float) -> Shrunk:
    """Average a job that shrinks.

    With j units out d(j) replicas run and only these fail, so p(j + 1)/p(j) is load d(j)/d(0) over
    j + 1; whatever the law of the repair times is. A unit that comes back and lets a replica more
    run costs a restart.

    Args:
        running: how many replicas run with 0, 1, ... units out, never more than with fewer out; 0
            from some number on. In whatever they are counted.
        load: `repair_load` of all replicas.
    """
    whole = now = float(running(0))
    out, weight = 0, 1.0
    sums = [1.0, whole, whole * whole, *9 * (0.0,)]
    while now > 0 and (out <= load or weight >= NEGLIGIBLE * sums[0]):
        before, out = now, out + 1
        weight *= load * before / whole / out
        now = running(out)
        back = out * weight if before > now > 0 else 0.0
        short, none = weight * (now < whole), weight * (now == 0)
        work = (weight, weight * now, weight * now * now, weight * (whole - now))
        grows = back * before, back, back * out, back * (before - now)
        terms = (*work, *grows, short, none, weight * out, weight * out * now)
        for place, term in enumerate(terms):
            sums[place] += term
        if sums[0] > FULL:  # only ratios count
            weight, sums = weight / FULL, [each / FULL for each in sums]
    total, doing, squared, idle, grown, restarts, met, late, short, none, units, together = sums
    return Shrunk(
        idle=idle / total / whole,
        failing=squared / doing / whole,
        grown=grown / total / whole,
        restarts=restarts / total,
        met=met / restarts if restarts else 0.0,
        late=late / total / whole,
        eased=units / total - together / doing,
        short=short / total,
        stopped=none / total,
        units_out=units / total,
    )


def swap_factor(hardware_share: float, swap_s: float, mtti_s: float) -> float:
    """Factor of swaps on goodput: restarts take longer where hardware failed.

    Args:
        hardware_share: share of interruptions after which a unit is swapped.
        swap_s: how much longer such a restart takes, s.
        mtti_s: mean time to interruption, s.

    Source: goodput has exp(-R/M) for a restart of R, so the mean of it where R differs by failure.
    """
    return 1.0 + hardware_share * math.expm1(-swap_s / mtti_s)


@lru_cache(maxsize=256)
def longest_swap_per_mtti(hardware_share: float) -> float:
    """The longest swap, as a share of the MTTI, up to which the optimum can be proven.

    Up to it the logarithm of `swap_factor` is concave in the logarithm of the MTTI: where
    g (1 - p) <= 1, g the swap over the MTTI and p the share of hardware in what is left.
    """
    low, high = 1.0, 700.0
    for _ in range(100):
        middle = (low + high) / 2.0
        left = hardware_share * math.exp(-middle)
        if middle * (1.0 - left / (1.0 - hardware_share + left)) <= 1.0:
            low = middle
        else:
            high = middle
    return low
