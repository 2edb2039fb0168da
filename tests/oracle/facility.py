"""Racks and fabrics of items by the verifier, and rounding of many amounts at once."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, milp

from planner.schema.catalog import Item, PortGroup
from planner.schema.problem import Network
from planner.verifier import bill
from planner.verifier.basis import Basis
from planner.verifier.fabric import Devices, plug_of

SLIVER = 1e-9
"""Sums of decimal figures may land this far (relative) beyond a limit they equal on paper."""
Whole = npt.NDArray[np.int64]


class Standing(NamedTuple):
    """How an item stands: so many units in so many racks, with the PDUs of one rack.

    ``own`` marks a product that is a rack (or several).
    """

    units: int
    racks_each: int
    own: bool
    pdus: int

    def racks(self, units: Whole) -> Whole:
        """Return the racks of so many units."""
        return -(-units // self.units) * self.racks_each


def up(amount: npt.NDArray[np.floating[Any]]) -> Whole:
    """Return amounts rounded up, forgiving what decimal figures leave behind."""
    return np.asarray(np.ceil(amount - SLIVER), dtype=np.int64)


def standing(item: Item, basis: Basis) -> Standing | None:
    """Return how GPU systems or storage of a kind stand, None where that is not known."""
    found, own = bill.fits(basis, item), item.consumes.racks is not None
    if found is None:
        return None
    racks, units = found[0], max(1, found[1])
    pdus = 0 if own else bill.pdus_of(basis, (basis.rated_kw(item) or 0.0) * units / racks)
    return Standing(units, racks, own, pdus)


def built(network: Network) -> list[Network]:
    """Return a network for each compute fabric that may be built: the job's switch stands first,
    the others by name, for what the job does not use and its switch does not fit."""
    wanted = network.compute
    if wanted is None:
        return [network]
    found = []
    for switch in wanted.switches:
        others = sorted(set(wanted.switches) - {switch})
        for planes, ratio in product(wanted.planes_allowed, wanted.oversubscriptions):
            one = {"switches": (switch, *others), "planes": planes, "oversubscription": ratio}
            found.append(network.model_copy(update={"compute": wanted.model_copy(update=one)}))
    return found


class Design(NamedTuple):
    """The compute fabric a GPU type belongs to; equal designs are one fabric."""

    switch: str
    group: PortGroup
    ports: int
    rails: int
    rail_group: int | None = None


def design(item: Item, basis: Basis) -> Design | None:
    """Return the design of a GPU type: the first switch whose protocol and speed fit."""
    wanted, plug = basis.network.compute, plug_of(basis, item.id)
    for name in wanted.switches if wanted and plug else ():
        served = plug.served(basis.items[name]) if plug else None
        if served is not None and plug is not None:
            return Design(name, served[0], plug.ports, plug.rails, plug.rail_group)
    return None


def connects(item: Item, basis: Basis) -> bool:
    """Return whether every fabric of the problem has a port for the item."""
    network = basis.network
    if network.compute is not None and item.category == "gpu_system":
        if design(item, basis) is None:
            return False
    in_band = network.in_band or network.converged
    for wanted, port in ((network.storage, item.ports.storage), (in_band, item.ports.in_band)):
        if wanted is not None and port is not None:
            speed, form = port.speed_gbit_per_s, port.form
            plugged = Devices("", 1, 1, speed, form=form, protocol=port.protocol)
            if plugged.served(basis.items[wanted.switch]) is None:
                return False
    return True


# Racks of the class network: companions with a height share the fewest that hold them all.


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
                if all(t + s <= 1.0 + SLIVER for t, s in zip(rack, share, strict=True)):
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
    return taken.max(axis=1) <= 1.0 + SLIVER
