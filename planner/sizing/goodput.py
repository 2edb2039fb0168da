"""Goodput of a job: one or two levels of checkpoints, best interval, lost time, hardware in repair.

Goodput (ETTR) is the share of wall-clock time that ends up as kept training progress. Figures are
arrays, an entry for each job. Arguments mean the same throughout:
    mtti: mean time to interruption, s.
    interval: start of one (local) checkpoint to the start of the next, s.
    stall: seconds the GPUs stop per checkpoint; ``stopped`` with the slowdown of its drain.
    drain: seconds from the end of the stall until the checkpoint is safe (0 if synchronous).
    restart: seconds from a failure until computing goes on, restore read included.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.sizing.availability import Restarts
from planner.units import DAY_S

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

LARGE = 30.0
"""Beyond it e^x - 1 counts as e^x."""
MOST_EXPONENT = 700.0
"""The highest power of e that floats hold."""
STEPS = 50
ROOM = 1e-9
"""Relative slack of the capacity of local drives."""
NEAR = 1e-6
"""After a Halley or secant step of a smaller share the next is below the resolution of floats."""


# Two levels of checkpoints: frequent ones to local drives or peers (NVMe of the GPU systems), every
# k-th of them drains on to the storage of the cluster. Which failures the local level survives
# decides its value.


class Local(NamedTuple):
    """The local level of checkpoints of uses; times in seconds.

    Each ``every``-th checkpoint goes on to storage. A share ``far`` of failures needs that; the
    others restart in ``near_s``, and begin a drain anew. After a share ``hardware`` of either a
    swap takes ``swap_s``. Local copies are safe after ``drain_s``, and have room where ``fits``.
    """

    every: int | Places
    far: float
    near_s: float
    hardware: float
    swap_s: float
    drain_s: Numbers
    fits: Flags

    def log_rework(self, interval: Numbers, near: Numbers, lag: Numbers) -> Numbers:
        """The factor of rework, the local drain and restart; times are shares of the MTTI.

        It is log{k I q2 C0 / [(1 + y)^k - 1]} of `log_kept`. For a whole k it is concave in the
        logarithms of its times where restart + lag <= 1; with log k relaxed it is not: q2 = 0.65,
        (log interval, log k, log restart, log lag) = (-0.1391, 2.7259, -0.2914, -2.1802) and
        (0, 2.5742, -0.1930, -2.0318) have a midpoint 2.3e-4 below their mean.
        """
        share = np.log(self.far) - self._mixed(near + lag)
        grown = np.exp(np.minimum(_log_expm1(interval) + share, MOST_EXPONENT))
        head = np.log(self.every * interval) - lag + self._mixed(near) + share
        return np.asarray(head - _log_expm1(self.every * np.log1p(grown)))

    def log_kept(
        self,
        interval_s: Numbers,
        drain_s: Numbers,
        far_s: Numbers,
        mtti_s: Numbers,
        seen: Numbers | float,
    ) -> Numbers:
        """The logarithm of the share of time kept, but for stalls.

        Exact for memoryless failures of both kinds, which may strike during either restart, where
        a local checkpoint is safe before the next (D1 <= I1) and a remote one likewise
        (D2 <= k I1). Source: renewals at failures that need the remote level. Between them the
        time until n local checkpoints are safe has the Laplace transform C0 (1 + y)^-n at the rate
        q2/M of those failures:

            h  = q2 / (q2 + q1 e^(-(R1 + D1)/M)),   y = (e^(I1/M) - 1) h
            C0 = e^(-D1/M) (q2 + q1 e^(-R1/M)) / (q2 + q1 e^(-(R1 + D1)/M))
            E  = (k I1/M) q2 C0
                 / {[(1 + y)^k - 1] [1 + q2 (e^(R2/M) - 1)]}
                 / {1 + (e^(D2/M) - 1) q2/(q2 + q1 e^(-R1/M))}

        Where a share p of restarts is longer by a swap w, e^(-R1/M) and e^(-R2/M) are their means:
        both times 1 - p + p e^(-w/M). q2 is ``far``, q1 the rest; each local restart begins a
        drain to storage anew.

        Args:
            interval_s: start of one local checkpoint to the start of the next, s.
            drain_s: from safe local copies to a safe checkpoint in storage, s.
            far_s: a restart from storage, reading back included, s.
            mtti_s: mean time between the failures that work sees, s.
            seen: the share of these that restarts see.
        """
        rate, lag, drain = seen / mtti_s, self.drain_s / mtti_s, drain_s / mtti_s
        near, far = self.restarts(rate), rate * far_s + self._swaps(rate)
        drained = self._mixed(near) - drain - self._mixed(near + drain)
        part = np.log1p(self.far * np.expm1(np.minimum(far, LARGE)))
        restarted = -np.where(far > LARGE, far + np.log(self.far), part)
        return np.asarray(self.log_rework(interval_s / mtti_s, near, lag) + drained + restarted)

    def best_interval_s(self, stopped_s: Numbers, mtti_s: Numbers) -> Numbers:
        """The interval of most goodput, s, where a local checkpoint takes ``stopped_s``.

        With z and s the interval and that time over the MTTI, c = q1/(q2 + q1 e^-(near + lag)) and
        F = k log(1 + c (e^z - 1)), the derivative of the logarithm of goodput is 0 where

            (z - s) r(z) = s,   r(z) = k z c / (c + (1 - c) e^-z) / (1 - e^-F) - 1

        Its logarithm is nearly straight in that of z - s: by secants, first as if r were
        z (1 - c + k c)/2.
        """
        rate, some = 1.0 / mtti_s, stopped_s > 0.0
        near, lag, s = self.restarts(rate), rate * self.drain_s, rate * stopped_s
        c, s = self.far * np.exp(-self._mixed(near + lag)), np.where(some, s, 1.0)

        def excess(beyond: Numbers) -> Numbers:
            z = s + np.exp(beyond)
            grown = self.every * np.log1p(c * np.expm1(np.minimum(z, MOST_EXPONENT)))
            part = z * c / (c + (1.0 - c) * np.exp(-z)) / -np.expm1(-grown)
            return np.asarray(beyond + np.log((self.every * part - 1.0) / s))

        first = s / (1.0 - c + self.every * c)
        before = np.log(4.0 * first / (s + np.sqrt(s * s + 8.0 * first)))
        value = excess(before)
        now = before - value / 2.0
        for _ in range(STEPS):
            last, value = value, excess(now)
            step = value * (now - before) / np.where(value == last, 1.0, value - last)
            before, now = now, now - step
            if np.all(np.abs(step) <= NEAR):
                break
        return np.where(some, (s + np.exp(now)) * mtti_s, 0.0)

    def restarts(self, rate: Numbers) -> Numbers:
        """Near restarts over the mean time between failures, swaps included."""
        return np.asarray(rate * self.near_s + self._swaps(rate))

    def _swaps(self, rate: Numbers) -> Numbers:
        swapped = self.hardware * np.exp(-rate * self.swap_s)
        return np.asarray(-np.log(1.0 - self.hardware + swapped))

    def _mixed(self, x: Numbers) -> Numbers:
        """log(q2 + q1 e^-x)."""
        return np.asarray(np.log1p((1.0 - self.far) * np.expm1(-x)))


@dataclass(frozen=True)
class Drives:
    """The local drives of teams, an entry each: those of the slowest and of the fullest type.

    ``drain_s`` and ``full`` (share of their capacity) are those of one GPU, which fall with the
    number of GPUs unless one replica writes (``one_writes``); ``full`` is infinite without drives.
    """

    drain_s: Numbers
    full: Numbers
    every: tuple[int, ...]
    far: float
    near_s: float
    hardware: float
    swap_s: float
    one_writes: bool

    @property
    def there(self) -> Flags:
        """Where every type has drives."""
        return np.isfinite(self.full)

    @property
    def longest_s(self) -> float:
        """The longest restart from a local copy, s."""
        return self.near_s + self.swap_s

    def local_level(self, team: Places, gpus: Numbers, every: Places | None = None) -> Local:
        """The local level of uses by GPUs in use, of each k or the only one."""
        writing = np.ones_like(gpus) if self.one_writes else gpus
        return Local(
            self.every[0] if every is None else every,
            *(self.far, self.near_s, self.hardware, self.swap_s),
            self.drain_s[team] / writing,
            self.full[team] / writing <= 1 + ROOM,
        )

    def most_gpus(self, number: int, failures_per_gpu_day: float, tolerance: float) -> float:
        """The most GPUs for which a local restart and drain fit between two failures."""
        if not self.there[number]:
            return 0.0
        mean_s = DAY_S / failures_per_gpu_day * (1.0 + tolerance)
        drain_s = float(self.drain_s[number])
        if self.one_writes:
            each_s, left_s = self.longest_s + drain_s, mean_s
        else:
            each_s, left_s = self.longest_s, mean_s - drain_s
        if left_s <= 0.0:
            return 0.0
        return left_s / each_s if each_s > 0.0 else np.inf


def _log_expm1(x: Numbers) -> Numbers:
    """log(e^x - 1) without overflow."""
    with np.errstate(divide="ignore"):
        small = np.log(np.expm1(np.minimum(x, LARGE)))
    return np.asarray(np.where(x > LARGE, x + np.log1p(-np.exp(-x)), small))


@dataclass(frozen=True)
class Times:
    """Times of jobs, s.

    Attributes:
        stall: GPUs stopped per checkpoint; ``stopped`` with the slowdown of its drain.
        drain: until a checkpoint is safe in storage, from the end of the stall or of a local drain.
        restore: reading back; ``recovery`` is the whole restart.
        low: the shortest interval within the limits.
    """

    stall: Numbers
    stopped: Numbers
    drain: Numbers
    recovery: Numbers
    restore: Numbers
    low: Numbers
    local: Local | None

    def log_kept(self, interval: Numbers, mtti: Numbers, seen: Numbers | float = 1.0) -> Numbers:
        """The logarithm of goodput, if restarts see a share of the failures."""
        stopped, recovery = np.minimum(self.stopped, interval), seen * self.recovery
        with np.errstate(divide="ignore"):
            left = np.log1p(-stopped / interval)
        if self.local is not None:
            kept = self.local.log_kept(interval, self.drain, self.recovery, mtti, seen)
        else:
            kept = _log_rework(interval / mtti) - (self.drain + recovery) / mtti
        return np.asarray(left + kept)

    def log_rework(self, interval: Numbers, mtti: Numbers, seen: Numbers | float) -> Numbers:
        """The logarithm of the share of intervals that no failure makes repeat."""
        if self.local is None:
            z = interval / mtti
            return np.asarray(np.log(z / np.expm1(np.clip(z, 1e-12, MOST_EXPONENT))))
        near = self.local.restarts(seen / mtti)
        return self.local.log_rework(interval / mtti, near, self.local.drain_s / mtti)


def _log_rework(z: Numbers) -> Numbers:
    """log(z/(e^z - 1))."""
    small, large = np.minimum(z, 0.01), np.maximum(z, 0.01)
    series = -small / 2 - small**2 / 24 + small**4 / 2880
    return np.where(z < 0.01, series, np.log(large) - large - np.log(-np.expm1(-large)))


CAUSES = ("stall", "rework", "drain", "restart", "restore", "waiting")
"""Causes of lost time: GPUs stopped, or slowed by a drain; progress since the last capture computed
again; progress lost as the newest checkpoint was not safe yet; detecting a failure, replacing the
unit and starting again; reading the checkpoint back; more units in repair than spares."""


def goodput_loss(
    t: Times, interval: Numbers, mtti: Numbers, *, swaps: Numbers, waiting: float = 0.0
) -> dict[str, float]:
    """1 - goodput of one job by cause, in proportion to the logarithm of each one's factor.

    The times of causes are added in the order rework, drains, restarts, restore: the parts depend
    on that order, their sum does not.

    Args:
        swaps: share of goodput that swaps leave with one level, 1 with two.
        waiting: share of time waited for repairs.
    """
    stopped = float(t.stopped[0] / interval[0])
    if stopped >= 1.0:
        return dict.fromkeys(CAUSES, 0.0) | {"stall": 1.0}
    none = np.zeros(1)
    at_once, safe = (
        None if t.local is None else t.local._replace(near_s=0.0, swap_s=0.0, drain_s=drain_s)
        for drain_s in (t.local.drain_s if t.local is not None else none, none)
    )
    steps = [0.0]
    for local, drain, recovery in (
        (safe, none, none),
        (at_once, t.drain, none),
        (t.local, t.drain, t.recovery - t.restore),
        (t.local, t.drain, t.recovery),
    ):
        done = replace(t, stopped=none, drain=drain, recovery=recovery, local=local)
        steps.append(float(done.log_kept(interval, mtti)[0]))
    swapped = float(np.log(swaps[0]))
    steps[3:] = [step + swapped for step in steps[3:]]
    parts = [after - before for before, after in itertools.pairwise(steps)]
    logs = [math.log1p(-stopped), *parts, math.log1p(-waiting)]
    whole = math.fsum(logs)
    loss_per_log = math.expm1(whole) / whole if whole else 1.0
    return {cause: abs(log * loss_per_log) for cause, log in zip(CAUSES, logs, strict=True)}


def goodput(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """Goodput of one job with one level; 0 where the stall fills the interval.

    Source: (1 - s/I) exp(-(D + R)/M) z/(exp(z) - 1) with z = I/M; for D = 0 this is
    J. T. Daly, doi 10.1016/j.future.2004.11.016.
    """
    left = 1.0 - (stall_s + drain_slowdown * drain_s) / interval_s
    rework = float(_log_rework(np.array(interval_s / mtti_s)))
    return max(0.0, left) * math.exp(rework - (drain_s + restart_s) / mtti_s)


# The best interval.

SECTIONS = 44
"""Golden sections of a range of intervals: 1e-9 of it is left."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def best_between(
    worth: Callable[[Numbers], Numbers], low_s: Numbers, high_s: Numbers | float
) -> Numbers:
    """The times of most worth between the shortest and the longest, by golden sections of a
    function with one peak over their logarithms."""
    most_s = np.broadcast_to(np.asarray(high_s, dtype=float), low_s.shape)
    left, right = np.log(low_s), np.log(most_s)
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    near, far = worth(np.exp(inner)), worth(np.exp(outer))
    for _ in range(SECTIONS):
        lower = near > far
        right, left = np.where(lower, outer, right), np.where(lower, left, inner)
        step = GOLDEN * (right - left)
        inner, outer = np.where(lower, right - step, outer), np.where(lower, inner, left + step)
        found = worth(np.exp(np.where(lower, inner, outer)))
        near, far = np.where(lower, found, far), np.where(lower, near, found)
    best = np.exp((left + right) / 2.0)
    for end in (low_s, most_s):
        best = np.where(worth(end) > worth(best), end, best)
    return np.asarray(best)


SERIES = (1.0, 1.0 / 6.0, 1.0 / 36.0, 1.0 / 270.0, 1.0 / 4320.0)
"""Of z in powers of sqrt(2 s/M)."""


def optimal_period(stall_per_mtti: Numbers) -> Numbers:
    """Root z of ``z - (1 - exp(-z)) = s/M`` by Halley steps: the period of the highest goodput.

    In closed form it is 1 + s/M + W0(-exp(-(1 + s/M))), whatever drain and restart are.

    Steps begin at the first terms of its series in sqrt(2 s/M), or at 1 + s/M where that is less.
    """
    share = np.asarray(stall_per_mtti, dtype=float)
    root = np.sqrt(2.0 * share)
    series = np.zeros_like(root)
    for factor in reversed(SERIES):
        series = root * (factor + series)
    z = np.minimum(1.0 + share, series)
    some = np.where(z > 0, z, 1.0)
    for _ in range(STEPS):
        rises = -np.expm1(-some)
        step = (_deficit(some) - share) / rises
        step = step / (1.0 - step * (1.0 - rises) / (2.0 * rises))
        step = np.where(z > 0, step, 0.0)
        some = some - step
        if np.all(np.abs(step) <= NEAR * some):
            break
    return np.where(z > 0, some, 0.0)


def best_interval_s(
    stall_s: float, mtti_s: float, low_s: float = 0.0, high_s: float = math.inf
) -> float:
    """The interval within bounds that has the highest goodput, s; 0 without a stall and bounds.

    Goodput has a single peak in the interval, so it is the peak or the bound nearest to it.

    Args:
        stall_s: stall per checkpoint; with a slowdown while draining, plus slowdown times drain.
    """
    best_s = mtti_s * float(optimal_period(np.array(stall_s / mtti_s)))
    return min(max(best_s, low_s), high_s)


_DEFICIT = tuple(2.0 * (-1.0) ** n / math.factorial(n + 2) for n in range(15))
"""Of 2 (z - (1 - exp(-z))) / z**2 in powers of z."""


def _deficit(z: Numbers) -> Numbers:
    """z - (1 - exp(-z)) without cancellation."""
    small = np.minimum(z, 0.5)
    series = np.full_like(small, _DEFICIT[-1])
    for factor in _DEFICIT[-2::-1]:
        series *= small
        series += factor
    return np.where(z < 0.5, small * small / 2.0 * series, z + np.expm1(-z))


# Units in repair.

NEVER_WAITS = 1e-30
"""A share of time below which nothing is waited for."""


def erlang_b(spares: Numbers, load: Numbers) -> Numbers:
    """The share of time in which more units are in repair than there are spares, by Erlang's
    recursion: over each load once, up to the most spares under it."""
    loads, of = np.unique(load, return_inverse=True)
    most = loads.max(initial=0.0)  # of still more spares fewer than NEVER_WAITS are ever out
    places = np.minimum(spares, most + 40.0 * np.sqrt(most) + 200.0).astype(np.int64) + 1
    found = np.ones_like(load)
    order, ends = np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))
    last = np.zeros(len(loads), dtype=np.int64)
    np.maximum.at(last, of, places)
    blocked = np.ones_like(loads)
    for place in range(1, len(ends)):
        blocked = blocked * loads
        blocked /= place + blocked
        rows = order[ends[place - 1] : ends[place]]
        found[rows] = blocked[of[rows]]
        if place % 8 == 0 and np.all((blocked < NEVER_WAITS) | (last <= place)):
            rows = order[ends[place] :]
            found[rows] = blocked[of[rows]]
            break
    return found


TAIL = 12.0
"""States further above the load than this many of its square roots take no time."""


class Units(NamedTuple):
    """The repair units of a way: GPUs of each that replicas use, GPUs of a replica, the fewest
    replicas that run, the load of one replica, and the restarts of the job."""

    unit_gpus: int
    replica_gpus: int
    least: int
    load_each: float
    how: Restarts


@dataclass(frozen=True)
class Shrunk:
    """Jobs that go on with fewer replicas, averages over the units out as shares of all replicas.

    ``running`` replicas, those ``failing`` that work sees, those ``resting`` that restarts see. A
    unit that is back finds the job computing with the probability ``alone``, after restarts that
    ``began`` per second; the job ``fails`` and ``others`` come back, per second; another is back
    ``meanwhile``. Restarts with more replicas take the share ``growing``, each time of repair
    ``longer``; units that wait for a capture leave ``late`` undone.
    """

    running: Numbers
    failing: Numbers
    resting: Numbers
    alone: Numbers
    began: Numbers
    fails: Numbers
    others: Numbers
    meanwhile: Numbers
    growing: Numbers
    longer: Numbers
    late: Numbers

    @classmethod
    def average_states(cls, units: Units, counts: Numbers, replicas: Numbers) -> Shrunk:
        """The averages.

        Args:
            units: the repair units.
            counts: units in use and spares of each job.
            replicas: replicas with nothing out.
        """
        whole, doing, squared, backs, met, grown, brought, out, together = _states(
            units, counts, replicas
        )
        whole, does = np.maximum(whole, 1e-300), np.maximum(doing, 1e-300)
        all_, how, load = np.maximum(replicas, 1.0), units.how, units.load_each
        met = np.where(backs > 0.0, met / np.maximum(backs, 1e-300), 1.0)
        backs, grown, brought = backs / whole, grown / whole, brought / whole
        running, failing = doing / whole, squared / does
        per_s = load / how.hardware_share / how.repair_s / np.maximum(backs, 1e-300)
        fails, after = (grown - brought) * per_s, grown * per_s
        began = met / how.repair_s + (1.0 - how.hardware_share) * fails
        alone = np.asarray(sum(part * np.exp(-began * s) for part, s in how.after_failures))
        again = np.minimum(after * how.grow_s, MOST_EXPONENT)
        growing_s = np.expm1(again) / np.maximum(after, 1e-300)
        counted = np.clip(1.0 - out / whole + together / does, 0.0, None)
        late = counted * brought / how.repair_s * alone / np.maximum(fails, 1e-300)
        spared = brought / np.maximum(running, 1e-300) / load
        resting = failing - how.hardware_share * how.left_out() * spared
        return cls(
            running=running / all_,
            failing=failing / all_,
            resting=resting / all_,
            alone=alone,
            began=began,
            fails=fails,
            others=np.maximum(met - 1.0, 0.0) / how.repair_s,
            meanwhile=how.hardware_share * fails * growing_s,
            growing=grown * growing_s / how.repair_s / all_,
            longer=grown * np.exp(again) / all_,
            late=late / all_,
        )

    @classmethod
    def joined(cls, parts: Sequence[Shrunk], order: Places) -> Shrunk:
        """Several one after the other, sorted by ``order``."""
        at = np.argsort(order)
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(p, name) for p in parts])[at] for name in names))

    def work(self, interval_s: Numbers, more: Numbers) -> Numbers:
        """The share of the work of all replicas that is not lost to units out.

        Args:
            interval_s: start of one checkpoint to the start of the next.
            more: of a restart with more replicas, beside itself, in times of repair.
        """
        passes = self.alone * self._passes(self.fails + self.others, interval_s)
        planned = passes / (1.0 + self.meanwhile * passes)
        waits = self.late * (1.0 - self._passes(self.fails, interval_s))
        return np.asarray(self.running - planned * (self.growing + self.longer * more) - waits)

    def _passes(self, per_s: Numbers, interval_s: Numbers) -> Numbers:
        """The probability that the next capture comes before an event of this rate."""
        began, comes = self.began * interval_s, per_s * interval_s
        first = np.exp(-np.minimum(began, comes))
        return np.asarray(first * _none_of(np.abs(began - comes)) / _none_of(began))


def _none_of(expected: Numbers) -> Numbers:
    """(1 - e^-x)/x."""
    x = np.maximum(expected, 1e-12)
    return np.asarray(-np.expm1(-x) / x)


def _states(units: Units, counts: Numbers, replicas: Numbers) -> list[Numbers]:
    """Sums over the units out, each state weighted by the time it takes.

    With j units out d(j) replicas run and only these fail, so p(j + 1)/p(j) is load d(j)/d(0) over
    j + 1, whatever the law of the repair times is.
    """
    load = units.load_each * max(1.0, float(replicas.max(initial=0.0)))
    states = math.ceil(load + TAIL * math.sqrt(load + 1.0)) + 12
    states = min(int(counts.max(initial=0.0)), states)
    now, weight = replicas, np.where(replicas > 0, 1.0, 0.0)
    sums = [weight, now, now * now, *(np.zeros_like(now) for _ in range(6))]
    for out in range(1, states + 1):
        before = now
        weight = weight * units.load_each * before / out
        left = units.unit_gpus * np.maximum(counts - out, 0.0) // units.replica_gpus
        now = np.where(left >= units.least, np.minimum(replicas, left), 0.0)
        back = np.where((now < before) & (now > 0), weight * out, 0.0)
        terms = (
            *(weight, weight * now, weight * now * now, back, back * out, back * before),
            *(back * (before - now), weight * out, weight * out * now),
        )
        sums = [each + term for each, term in zip(sums, terms, strict=True)]
        if not out % 16:
            scale = np.maximum(sums[0], 1.0)
            weight, sums = weight / scale, [each / scale for each in sums]
    return sums


def kept_by_swaps(hardware_share: float, swap_s: float, mtti: Numbers) -> Numbers:
    """The share of goodput that swaps leave, of one level of checkpoints."""
    return np.asarray(1.0 + hardware_share * np.expm1(-swap_s / mtti))
