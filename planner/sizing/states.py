"""What a job keeps that goes on with fewer replicas, state by state.

The law of `planner.sizing.availability` is a closed form: it takes means where states differ. Here
the states themselves are a chain, from capture to capture and from restart to restart: how many
units are out, how many replicas run, whether the job computes, waits for a capture to be safe, or
restarts. It takes a large system of equations, so it judges a plan and finds none.

Of two levels the same states are counted once more, from one failure that needs storage to the
next: how many copies became safe near, and what of them storage holds by then.

Failures and repairs are memoryless; times of the job are as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_Back = tuple[Array, Array, Array]

MOST_STATES = 1500
"""Beyond this the equations take longer than a plan is worth."""
SELDOM = 1e-6
"""Numbers of units out that take less of the time than this are left out."""
_NODES = 24
_ORDERS = 16


class Rhythm(NamedTuple):
    """How a job runs and restarts that goes on with fewer replicas; times in seconds.

    Every interval one checkpoint is captured, of which the job computed ``computed_s``; it is safe
    ``safe_s`` after that. ``restarts`` are shares of failures, each with the restart after it,
    reading back included. A restart with more replicas is like the first. Of the failures
    ``hardware_share`` take a unit out, and make the restart longer by ``swap_s``.

    With two levels of checkpoints the second restart is the far one: while it lasts any failure
    needs it again, and the job goes back to what is on storage. That is each so many-th checkpoint
    (``every``), once it has drained: ``drain_s`` after it is safe near; after the end of the last
    near restart meanwhile, where that begins the drain anew (``drain_restarts``).
    """

    interval_s: float
    computed_s: float
    safe_s: float
    restarts: tuple[tuple[float, float], ...]
    hardware_share: float
    swap_s: float
    repair_s: float
    every: int = 1
    drain_s: float = 0.0
    drain_restarts: bool = False
    slowed_s: float = 0.0


def kept(running: Sequence[int], fails_per_s: float, how: Rhythm) -> float | None:
    """Return the share of the work of all replicas that is kept; None where states are too many.

    Args:
        running: replicas that run with 0, 1, ... units out, as far as it counts.
        fails_per_s: failures of one replica.
        how: how the job runs and restarts.
    """
    chain = _Chain(running, fails_per_s, how)
    return chain.kept() if chain.count <= MOST_STATES else None


def likely(running: Sequence[int], load: float) -> list[int]:
    """Return the replicas that run with 0, 1, ... units out, up to where that is seldom.

    Args:
        running: the same up to where none runs.
        load: units out on average if all replicas ran and failed.
    """
    weights = [1.0]
    for out, now in enumerate(running[:-1], start=1):
        weights.append(weights[-1] * load * now / running[0] / out)
        if weights[-1] > 1e200:
            weights = [each / 1e200 for each in weights]
    whole = math.fsum(weights)
    last = max(out for out, weight in enumerate(weights) if weight >= SELDOM * whole)
    return list(running[: last + 1])


class _Chain:
    """Visits to each state, of which each is left at its end or at a failure.

    Computing has a block of states for each number of replicas, by units out; restarts one for each
    kind: after which failure, and with or without a swap. Waiting until a capture is safe belongs
    to the computing before it.
    """

    def __init__(self, running: Sequence[int], fails_per_s: float, how: Rhythm) -> None:
        self.how, self.fails_per_s = how, fails_per_s
        self.running = np.array(running)
        self.sizes = sorted({count for count in running if count > 0}, reverse=True)
        first, self.computes = 0, dict[int, slice]()
        for size in self.sizes:
            self.computes[size] = slice(first, first + int((self.running >= size).sum()))
            first = self.computes[size].stop
        self.kinds = [(after, swap) for after in range(len(how.restarts)) for swap in (0, 1)]
        self.restarts = {
            kind: slice(first + n * len(running), first + (n + 1) * len(running))
            for n, kind in enumerate(self.kinds)
        }
        self.near = slice(first, first + 2 * len(running))
        self.count = first + len(self.kinds) * len(running)
        self.sizes_of = np.array(
            [size for size, rows in self.computes.items() for _ in range(rows.stop - rows.start)]
        )

    def kept(self) -> float:
        """Return the work kept over the time, of all replicas."""
        self.moves, self.times = np.zeros((self.count, self.count)), np.zeros(self.count)
        work = np.zeros(self.count)
        computing, waiting = (self._back(each) for each in (self.how.interval_s, self.how.safe_s))
        for size in self.sizes:
            work[self.computes[size]] = self._compute(size, computing, waiting)
        for kind in self.kinds:
            self._restart(kind)
        system = self.moves.T - np.eye(self.count)
        system[-1] = 1.0
        visits = np.linalg.solve(system, np.eye(self.count)[-1])
        if len(self.how.restarts) > 1:
            work = self._until_far()
        return float(visits @ work / (visits @ self.times) / self.running[0])

    def _until_far(self) -> Array:
        """Return the work that is kept on storage up to the next failure that needs it, for each
        far restart that ends.

        Copies become safe near one after another. From one to the next, with no failure that needs
        storage before, lead `to_safe` from where one became safe, and `first` from the end of a
        restart; `work` are those sums with the work done for the copy that becomes safe. With ``s``
        how likely the drain of each k-th comes to its end, what is kept of k copies and of all
        after them is

            Z = X + T^k Z,   X = sum over i = 1..k of T^(i-1) T_work T^(k-i) s
        """
        how, computes = self.how, self.sizes_of.size
        near = self.near
        restarts = np.eye(2 * len(self.running)) - self.moves[near, near]
        back = np.asarray(np.linalg.solve(restarts, self.moves[near, :computes]), np.float64)
        begun, fails = self._to_safe(how.interval_s)
        again, fails_again = self._to_safe(how.interval_s - how.safe_s)
        done = self.sizes_of[:, None].astype(np.float64)
        anew = np.eye(computes) - fails @ back
        first, first_work = (np.linalg.solve(anew, each) for each in (begun, done * begun))
        grows = back[: len(self.running)]
        lost = np.vstack([fails_again @ back, grows])
        to_safe, work = lost @ first, lost @ first_work
        to_safe[:computes] += again
        work[:computes] += done * again
        drained, kept = self._drained(back), np.zeros(len(to_safe))
        for _ in range(how.every - 1):
            kept, drained = to_safe @ kept + work @ drained, to_safe @ drained
        whole = np.eye(len(to_safe)) - np.linalg.matrix_power(to_safe, how.every)
        after = np.linalg.solve(whole, to_safe @ kept + work @ drained)
        for _ in range(how.every - 1):
            after = to_safe @ after
        each = np.zeros(self.count)
        begins = (first_work @ drained + first @ kept) * (how.computed_s + how.slowed_s)
        begins += first @ after * how.computed_s
        each[near.stop :] = self.moves[near.stop :, :computes] @ begins
        return each

    def _to_safe(self, capture_s: float) -> tuple[Array, Array]:
        """Return how likely the next copy becomes safe without a failure, of a job that captures it
        after so long, and where near failures before lead.

        A job that computes on is then in a state of its size; one that restarts with more replicas
        begins that restart with so many units out, states after all others.
        """
        computing, waiting = self._back(capture_s), self._back(self.how.safe_s)
        computes, units = self.sizes_of.size, len(self.running)
        safe = np.zeros((computes, computes + units))
        fails = np.zeros((computes, 2 * units))
        for size, rows in self.computes.items():
            rates = np.full(rows.stop - rows.start, self.fails_per_s * size)
            ends, moves, _ = self._segment(rates, computing)
            ends = ends[:, : rates.size]
            lasts, waits, _ = self._segment(rates, waiting)
            more = np.where(self.running[: rates.size] > size, ends, 0.0)
            safe[rows, rows] = (ends - more) @ lasts[:, : rates.size]
            safe[rows, computes:] = more @ lasts
            fails[rows] = moves[:, self.near] + ends @ waits[:, self.near]
        return safe, fails

    def _drained(self, back: Array) -> Array:
        """Return how likely a drain comes to its end that begins in each state of `_to_safe`.

        Replicas that grow meanwhile are left out.
        """
        rates, drain_s = self.fails_per_s * self.sizes_of, self.how.drain_s
        computes = self.sizes_of.size
        if self.how.drain_restarts:
            fails = np.zeros((computes, 2 * len(self.running)))
            for rows in self.computes.values():
                fails[rows] = self._segment(rates[rows], self._back(drain_s))[1][:, self.near]
            drained = np.linalg.solve(np.eye(computes) - fails @ back, np.exp(-rates * drain_s))
        else:
            drained = self._outlasted(drain_s)
        grown = [
            drained[self.computes[now].start + out] if now else 1.0
            for out, now in enumerate(self.running.tolist())
        ]
        return np.append(drained, grown)

    def _compute(self, size: int, computing: _Back, waiting: _Back) -> float:
        """Compute with so many replicas up to the next capture; with more, where units are back,
        restart when it is safe. Return the work that is kept on average."""
        rows = self.computes[size]
        rates = np.full(rows.stop - rows.start, self.fails_per_s * size)
        ends, moves, times = self._segment(rates, computing)
        more = np.where(self.running[: rates.size] > size, ends[:, : rates.size], 0.0)
        moves[:, rows] += ends[:, : rates.size] - more
        ends, waits, lasts = self._segment(rates, waiting)
        waits[:, self.restarts[0, 0]] += ends
        self.moves[rows], self.times[rows] = moves + more @ waits, times + more @ lasts
        safe_s = self.how.interval_s + self.how.safe_s
        return size * self.how.computed_s * math.exp(-rates[0] * safe_s)

    def _restart(self, kind: tuple[int, int]) -> None:
        """Restart with the replicas that are left; with none wait for a unit."""
        after, swap = kind
        rows, lasts_s = self.restarts[kind], self.how.restarts[after][1] + self.how.swap_s * swap
        rates = self.fails_per_s * self.running
        ends, moves, times = self._segment(rates, self._back(lasts_s), after)
        for out, now in enumerate(self.running):
            if now == 0:
                moves[out], times[out] = 0.0, self.how.repair_s / out
                moves[out, rows.start + out - 1] = 1.0
                continue
            for left in range(out + 1):
                moves[out, self.computes[int(self.running[left])].start + left] += ends[out, left]
        self.moves[rows], self.times[rows] = moves, times

    def _outlasted(self, lasts_s: float) -> Array:
        """Return how likely no failure that needs storage comes for so long, from each state in
        which the job computes; what restarts take meanwhile is left out."""
        far, hardware = self.how.restarts[1][0], self.how.hardware_share
        flows = np.zeros((self.sizes_of.size + 1,) * 2)  # last where the job waits: nothing fails
        for size, rows in self.computes.items():
            for out, row in enumerate(range(rows.start, rows.stop)):
                fails = self.fails_per_s * size
                for taken, share in ((out, 1.0 - hardware), (out + 1, hardware)):
                    now = int(self.running[min(taken, len(self.running) - 1)])
                    left = self.computes[now].start + taken if now else -1
                    flows[row, left] += (1.0 - far) * share * fails
                if out:
                    flows[row, row - 1] += out / self.how.repair_s
                flows[row, row] -= fails + out / self.how.repair_s
        steps = math.ceil(float(np.abs(flows).max()) * lasts_s) + 1
        none = np.ones(len(flows))
        for _ in range(steps):
            term = none
            for order in range(1, _ORDERS):
                term = flows @ term * (lasts_s / steps / order)
                none = none + term
        return none[:-1]

    def _back(self, lasts_s: float) -> _Back:
        """Return moments of a time, the end last, their weights, and how likely of so many units so
        many are still out then."""
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        moments = np.append((nodes + 1.0) / 2.0, 1.0) * lasts_s
        out = np.exp(-moments / self.how.repair_s)[:, None, None]
        units = np.arange(len(self.running))
        ways = np.array([[math.comb(n, k) for k in units] for n in units], dtype=np.float64)
        gone = np.maximum(0, units[:, None] - units[None, :])
        return moments, weights * lasts_s / 2.0, ways * out**units * (1.0 - out) ** gone

    def _segment(self, rates: Array, back: _Back, far: int = 0) -> tuple[Array, Array, Array]:
        """Return how likely a time passes without a failure, by the units out at its end; where
        failures lead; and how long it is on average.

        Args:
            rates: failures a second in each state, by the units out at its start.
            back: `_back` of that time.
            far: the kind of restart that every failure needs at least.
        """
        moments, weights, out = back
        out = out[:, : rates.size]
        lasts = np.exp(-moments[:, None] * rates)
        fails = np.einsum("kr,krj->rj", weights[:, None] * rates * lasts[:-1], out[:-1])
        taken = np.hstack([np.zeros((rates.size, 1)), fails[:, :-1]])
        taken[:, -1] += fails[:, -1]
        shares = [share for share, _ in self.how.restarts]
        shares = [0.0] * far + [math.fsum(shares[: far + 1]), *shares[far + 1 :]]
        moves = np.zeros((rates.size, self.count))
        for after, share in enumerate(shares):
            moves[:, self.restarts[after, 1]] = share * self.how.hardware_share * taken
            moves[:, self.restarts[after, 0]] = share * (1.0 - self.how.hardware_share) * fails
        ends: Array = lasts[-1][:, None] * out[-1]
        return ends, moves, weights @ lasts[:-1]
