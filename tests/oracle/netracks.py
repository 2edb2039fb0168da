"""Racks of the class network: companions with a height share the fewest that hold them all.

Found by an integer program over all that one rack can hold, whose answer is checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, milp

from planner.schema.problem import Problem
from planner.verifier import hall
from tests.oracle import facility
from tests.oracle.facility import Whole
from tests.oracle.money import Market

Shares = tuple[float, ...]
Counts = tuple[int, ...]


class NetworkRacks:
    """How the companions that a problem names stand."""

    def __init__(self, market: Market) -> None:
        self.basis, self.rack = market.basis, hall.space(market.basis, "network")
        clusters = [family.cluster for family in market.families if family.cluster]
        named = _named(market.problem) | {part.item for c in clusters for part in c.parts}
        items = [market.catalog[name] for name in sorted(named)] if self.rack is not None else []
        self.own = {i.id: i.consumes.racks.value for i in items if i.consumes.racks}
        others = [item for item in items if item.id not in self.own]
        loads = {item.id: hall.load_of(market.basis, item) for item in others}
        self.mixed = {name: self._shares(load) for name, load in loads.items() if load[0] > 0}

    def _shares(self, load: hall.Load) -> Shares:
        """Return the shares of a rack (height, power, weight) that a unit takes."""
        assert self.rack is not None
        return tuple((load / self.rack).tolist())

    def by_item(self, counts: Mapping[str, Whole]) -> dict[str, Whole]:
        """Return the racks that are products."""
        return {name: counts[name] * each for name, each in self.own.items() if name in counts}

    def shared(self, counts: Mapping[str, Whole], rows: int) -> Whole:
        """Return the racks that are mixed."""
        names = sorted({*self.mixed} & {*counts}, key=lambda n: (-max(self.mixed[n]), n))
        for name in names:
            if counts[name].any() and max(self.mixed[name]) > 1.0 + facility.SLIVER:
                raise ValueError(f"{name} does not fit into a rack")
        kinds = tuple(self.mixed[name] for name in names)
        columns = [counts[name].tolist() for name in names]
        found = [fewest(kinds, row) for row in zip(*columns, strict=True)] if names else [0] * rows
        return np.array(found, dtype=np.int64)

    def racks_and_pdus(self, counts: Mapping[str, Whole], rows: int) -> tuple[Whole, Whole]:
        """Return racks that are no products, and their PDUs."""
        racks = self.shared(counts, rows)
        if self.rack is None:
            return racks, 0 * racks
        each = hall.pdus_of(self.basis, hall.densest_kw(self.basis, self.rack))
        return racks, racks * (each or 0)


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


def _named(problem: Problem) -> set[str]:
    """Return every switch, CDU and extra that the problem names."""
    network = problem.network
    names = set(problem.extras)
    names |= set(network.compute.switches) if network.compute else set()
    for fabric in (network.storage, network.in_band, network.out_of_band):
        names |= {fabric.switch} if fabric else set()
    return names | ({problem.site.cooling.cdu} if problem.site.cooling.cdu else set())
