"""What units that are out leave of a job that goes on with fewer replicas, as arrays.

The law is that of `planner/sizing/availability.py`, for many numbers of units and replicas at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.optimizer.kernel import Numbers
from planner.sizing.availability import Restarts

TAIL = 12.0
"""States further above the load than so many of its square roots take no time."""


class Units(NamedTuple):
    """The units of a way: GPUs of each for replicas, those of a replica, the fewest that run, the
    most that are wanted, the load of one replica, and how the job restarts at the shortest; until
    a capture is safe it takes what is spread over the GPUs in use beside, s."""

    unit_gpus: int
    replica_gpus: int
    least: int
    most_replicas: int
    load_each: float
    how: Restarts
    safe_s_of_one_gpu: float = 0.0

    def held(self, count: int) -> int:
        """Return how many replicas so many units hold, of those that are wanted."""
        return min(self.unit_gpus * count // self.replica_gpus, self.most_replicas)

    def more(self, replicas: Numbers) -> Numbers:
        """Return what restarts with more of so many replicas take at least beside themselves, in
        times of repair."""
        spread_s = self.safe_s_of_one_gpu / self.replica_gpus / np.maximum(replicas, 1.0)
        return np.asarray((self.how.more_s + spread_s) / self.how.repair_s)


class States(NamedTuple):
    """Averages over the units out, in replicas: those that ``running`` are, those ``failing`` that
    work sees; of units back that bring some, per time of repair, each (``restarts``), the units out
    that it has ``met``, those that can run then (``grown``) and those ``brought``; how much of what
    comes back late ``counts``."""

    units: Units
    running: Numbers
    failing: Numbers
    restarts: Numbers
    met: Numbers
    grown: Numbers
    brought: Numbers
    counts: Numbers

    def back(self) -> Back:
        """Return what becomes of units that are back."""
        how, load = self.units.how, self.units.load_each
        repair_s, share = how.repair_s, how.hardware_share
        per_s = load / share / repair_s / np.maximum(self.restarts, 1e-300)
        fails, after = (self.grown - self.brought) * per_s, self.grown * per_s
        rate = self.met / repair_s + (1.0 - share) * fails
        alone = np.asarray(sum(part * np.exp(-rate * s) for part, s in how.after_failures))
        again = np.minimum(after * how.grow_s, 700.0)
        stands_s = np.expm1(again) / np.maximum(after, 1e-300)
        others = np.maximum(self.met - 1.0, 0.0) / repair_s
        meanwhile = share * fails * stands_s
        late = self.counts * self.brought / repair_s * alone / np.maximum(fails, 1e-300)
        stands, longer = self.grown * stands_s / repair_s, self.grown * np.exp(again)
        return Back(alone, rate, fails, others, meanwhile, stands, longer, late)

    def resting(self) -> Numbers:
        """Return the replicas whose failures restarts see."""
        how, load = self.units.how, self.units.load_each
        spared = self.brought / np.maximum(self.running, 1e-300) / load
        return np.asarray(self.failing - how.hardware_share * how.left_out() * spared)


@dataclass(frozen=True)
class Back:
    """What becomes of units that are back, as in the sizing model: they find the job computing
    (``alone``), after restarts that ``began``; it ``fails`` and ``others`` come, per second,
    another is back ``meanwhile``; what restarts take, if each unit has its own (``stands``), each
    time of repair ``longer``; what units do not do that wait for the next failure."""

    alone: Numbers
    began: Numbers
    fails: Numbers
    others: Numbers
    meanwhile: Numbers
    stands: Numbers
    longer: Numbers
    waiting: Numbers

    def _planned(self, interval_s: Numbers | float) -> Numbers:
        """Return the share of units that a restart of its own follows."""
        passes = self.alone * self._passes(self.fails + self.others, interval_s)
        return np.asarray(passes / (1.0 + self.meanwhile * passes))

    def grows(self, interval_s: Numbers | float, more: Numbers) -> Numbers:
        """Return what restarts to grow take, so many times of repair ``more`` than themselves."""
        return np.asarray(self._planned(interval_s) * (self.stands + self.longer * more))

    def most(self, more: Numbers) -> Numbers:
        """Return what they take if captures follow at once, so that none is needless."""
        return np.asarray(self.alone * (self.stands + self.longer * more))

    def growing(self, interval_s: float) -> Numbers:
        """Return what is lost where a restart with more takes a time of repair longer."""
        return np.asarray(self._planned(interval_s) * self.longer)

    def late(self, interval_s: Numbers | float) -> Numbers:
        """Return what is lost while units that are back wait for the next capture."""
        return np.asarray(self.waiting * (1.0 - self._passes(self.fails, interval_s)))

    def _passes(self, per_s: Numbers, interval_s: Numbers | float) -> Numbers:
        """Return how likely the next capture comes before any of what comes so often."""
        began, comes = self.began * interval_s, per_s * interval_s
        first = np.exp(-np.minimum(began, comes))
        return np.asarray(first * _none_of(np.abs(began - comes)) / _none_of(began))


def _none_of(expected: Numbers) -> Numbers:
    """Return (1 - e^-x)/x."""
    x = np.maximum(expected, 1e-12)
    return np.asarray(-np.expm1(-x) / x)


def states_of(units: Units, counts: Numbers, replicas: Numbers) -> States:
    """Return averages over the units out, each weighted by the time it takes."""
    load = units.load_each * max(1.0, float(replicas.max(initial=0.0)))
    states = math.ceil(load + TAIL * math.sqrt(load + 1.0)) + 12
    states = min(int(counts.max(initial=0.0)), states)
    now, weight = replicas, np.where(replicas > 0, 1.0, 0.0)
    sums = [weight, now, now * now, *(np.zeros_like(now) for _ in range(6))]
    for out in range(1, states + 1):
        before = now
        weight = weight * units.load_each * before / out
        left = units.unit_gpus * np.maximum(counts - out, 0.0)[:, None] // units.replica_gpus
        now = np.where(left >= units.least, np.minimum(replicas, left), 0.0)
        back = np.where((now < before) & (now > 0), weight * out, 0.0)
        terms = (weight, weight * now, weight * now * now, back, back * out, back * before,
                 back * (before - now), weight * out, weight * out * now)  # fmt: skip
        sums = [each + term for each, term in zip(sums, terms, strict=True)]
        if not out % 16:
            scale = np.maximum(sums[0], 1.0)
            weight, sums = weight / scale, [each / scale for each in sums]
    whole, doing, squared, each, met, grown, brought, out_units, together = sums
    whole, does = np.maximum(whole, 1e-300), np.maximum(doing, 1e-300)
    met = np.where(each > 0.0, met / np.maximum(each, 1e-300), 1.0)
    backs = each / whole, met, grown / whole, brought / whole
    counts_late = np.clip(1.0 - out_units / whole + together / does, 0.0, None)
    return States(units, doing / whole, squared / does, *backs, counts_late)


@dataclass(frozen=True)
class Left:
    """What runs of each of many jobs, as shares of all replicas: ``running`` on average, those
    ``failing`` that work sees, those ``resting`` that restarts see; and what becomes of units that
    are back, of which a restart takes ``more_s`` beside itself, and each ``repair_s``."""

    running: Numbers
    failing: Numbers
    resting: Numbers
    back: Back
    repair_s: float

    @classmethod
    def of(cls, units: Units, counts: Numbers, replicas: Numbers) -> Left:
        """Return it of so many units and replicas each.

        Args:
            counts: units in use and standing by.
            replicas: in use with nothing out.
        """
        states, all_ = states_of(units, counts, replicas[:, None]), np.maximum(replicas, 1.0)
        back = {name: each[:, 0] for name, each in vars(states.back()).items()}
        for name in ("stands", "longer", "waiting"):
            back[name] = back[name] / all_
        shares = (each[:, 0] / all_ for each in (states.running, states.failing, states.resting()))
        running, failing, resting = shares
        return cls(running, failing, resting, Back(**back), units.how.repair_s)

    @classmethod
    def joined(cls, parts: Sequence[Left], order: Numbers) -> Left:
        """Return several one after the other, put in order by where each of them belongs."""
        at = np.argsort(order)

        def joined(each: Sequence[Numbers]) -> Numbers:
            return np.asarray(np.concatenate(each)[at])

        shares = (joined([getattr(part, name) for part in parts])
                  for name in ("running", "failing", "resting"))  # fmt: skip
        running, failing, resting = shares
        backs = zip(*(vars(part.back).values() for part in parts), strict=True)
        back = Back(*(joined(each) for each in backs))
        return cls(running, failing, resting, back, parts[0].repair_s)

    def work(self, interval_s: Numbers, more_s: Numbers) -> Numbers:
        """Return the share of the work of all replicas that is not lost to units out."""
        lost = self.back.grows(interval_s, more_s / self.repair_s) + self.back.late(interval_s)
        return np.asarray(self.running - lost)


NEVER = 1e-30
"""A share of time below which waiting is none at all."""


def erlang_b(spares: Numbers, load: Numbers) -> Numbers:
    """Return the share of time in which one unit more is out than spares stand by, by Erlang's
    recursion: over each load once, up to the most spares that stand by under it."""
    loads, of = np.unique(load, return_inverse=True)
    places, found = spares.astype(np.int64) + 1, np.ones_like(load)
    order, ends = np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))
    last = np.zeros(len(loads), dtype=np.int64)
    np.maximum.at(last, of, places)
    blocked = np.ones_like(loads)
    for place in range(1, len(ends)):
        blocked = blocked * loads
        blocked /= place + blocked
        rows = order[ends[place - 1] : ends[place]]
        found[rows] = blocked[of[rows]]
        if place % 8 == 0 and np.all((blocked < NEVER) | (last <= place)):
            rows = order[ends[place] :]
            found[rows] = blocked[of[rows]]
            break
    return found
