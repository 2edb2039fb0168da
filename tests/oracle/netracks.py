"""Racks of the class network: companions with a height share the fewest that hold them all.

Found by an integer program over all that one rack can hold, whose answer is checked.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, milp

from tests.oracle import facility

Shares = tuple[float, ...]
Counts = tuple[int, ...]


@cache
def fewest(kinds: tuple[Shares, ...], counts: Counts) -> int:
    """Return the fewest racks that hold so many of each kind, each of given shares of a rack."""
    sides = zip(*kinds, strict=True)
    filled = [sum(map(float.__mul__, side, map(float, counts))) for side in sides]
    least, most = math.ceil(max(filled, default=0.0) - 1e-6), _placed(kinds, counts)
    return most if least >= most else programmed(kinds, counts)


def programmed(kinds: tuple[Shares, ...], counts: Counts) -> int:
    """Return the fewest racks: how often is each thing that one rack can hold taken?"""
    full = _full(kinds, counts)
    cover = LinearConstraint(full.T, lb=np.array(counts))
    solved = milp(np.ones(len(full)), constraints=cover, integrality=1)
    times = np.rint(solved.x)
    assert solved.status == 0 and (times @ full >= counts).all()
    assert solved.mip_dual_bound > times.sum() - 1 + 1e-6, "a rack less is not excluded"
    return int(times.sum())


def _placed(kinds: tuple[Shares, ...], counts: Counts) -> int:
    """Return the racks that placing one device after the other takes: enough, if not the fewest."""
    racks: list[list[float]] = []
    for share, count in zip(kinds, counts, strict=True):
        for _ in range(count):
            for rack in racks:
                if all(t + s <= 1.0 + facility.SLIVER for t, s in zip(rack, share, strict=True)):
                    break
            else:
                rack = [0.0] * len(share)
                racks.append(rack)
            for side, more in enumerate(share):
                rack[side] += more
    return len(racks)


def _full(kinds: tuple[Shares, ...], counts: Counts) -> npt.NDArray[np.int64]:
    """Return what one rack can hold of the counts, a row each, with room for nothing more."""
    ways, taken = np.zeros((1, 0), dtype=np.int64), np.zeros((1, 3))
    for share, count in zip(kinds, counts, strict=True):
        units = np.arange(count + 1)
        ways = np.hstack([np.repeat(ways, len(units), axis=0), np.tile(units, len(ways))[:, None]])
        taken = (taken[:, None] + units[:, None] * np.array(share)).reshape(-1, 3)
        fits = _fits(taken)
        ways, taken = ways[fits], taken[fits]
    grows = np.zeros(len(ways), dtype=bool)
    for kind, share in enumerate(kinds):
        grows |= (ways[:, kind] < counts[kind]) & _fits(taken + np.array(share))
    return ways[~grows]


def _fits(taken: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return of each row of shares whether a rack has room for them."""
    return taken.max(axis=1) <= 1.0 + facility.SLIVER
