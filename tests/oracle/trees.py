"""The fewest switches above leaves, and the fewest racks that devices share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, milp

from planner.verifier.basis import Basis
from planner.verifier.fabric import Choose, Name, Tree, UnbuildableError, plug_of
from planner.verifier.racks import shared_racks

SLIVER = 1e-9
Shares = tuple[float, ...]
Counts = tuple[int, ...]


def divisors(number: int) -> list[int]:
    """Return all divisors, rising."""
    return [n for n in range(1, number + 1) if number % n == 0]


def fewest_switches(basis: Basis) -> Choose:
    """Return the trees of a problem's fabrics that have the fewest switches."""

    def choose(name: Name, leaves: int, up: int, radix: int, planes: int) -> Tree:
        plug = plug_of(basis, name[1], planes) if name[1] else None
        rails, group = (plug.rails, plug.rail_group) if plug else (1, None)
        storage = basis.problem.network.storage
        apart = storage is not None and storage.storage_oversubscription is not None
        if up == 1 and (group or (apart and not name[1])):
            raise UnbuildableError("one uplink cannot reach two spines")
        found = _two_tiers(leaves, up, radix)
        if group and plug is not None:
            size = _leaves_of_group(basis, plug.ports // planes // rails, group, radix)
            if leaves > rails * size or leaves > radix:
                found = (
                    _three_tiers(leaves // size, size, radix, up) if size <= radix // 2 else None
                )
        elif leaves > radix:
            found = _best_shape(rails, leaves // rails, radix, up)
        if found is None:
            raise UnbuildableError(f"no tree over {leaves} leaves")
        return found

    return choose


def _leaves_of_group(basis: Basis, each: int, group: int, radix: int) -> int:
    asked = basis.problem.network.compute
    assert asked is not None
    down = radix - math.ceil(radix / (1.0 + asked.oversubscriptions[0]) - SLIVER)
    return math.ceil(group / max(1, min(group, down // each)))


def _two_tiers(leaves: int, up: int, radix: int) -> Tree | None:
    """Return the fewest spines that divide the uplinks of a leaf."""
    enough = max(2, math.ceil(leaves * up / radix))
    spines = [n for n in divisors(up) if n >= enough]
    return Tree(spines[0]) if spines and leaves <= radix else None


def _best_shape(rails: int, per_rail: int, radix: int, up: int) -> Tree | None:
    """Return the fewest switches over groups of rails, or of parts of a rail."""
    down = radix // 2
    shapes = [(rails // q, q * per_rail) for q in divisors(rails) if q * per_rail <= down]
    # A rail in parts, of which no two are as large with another number of them.
    parts = {math.ceil(per_rail / n): n for n in range(per_rail, 1, -1)}
    shapes += [(rails * n, size) for size, n in parts.items() if size <= down]
    trees = [_three_tiers(groups, size, radix, up) for groups, size in sorted(shapes)]
    known = [tree for tree in trees if tree is not None]
    return min(known, key=lambda tree: tree.spines + tree.cores, default=None)


def _three_tiers(groups: int, size: int, radix: int, up: int) -> Tree | None:
    """Return the fewest cores over groups of leaves, each below spines of its own."""
    spines = next(n for n in divisors(up) if n >= math.ceil(size * up / (radix // 2)))
    links = size * up // spines
    cores = [
        spines // b * c
        for b in divisors(spines)
        for c in divisors(links)
        if groups * b * links <= radix * c
    ]
    return Tree(groups * spines, min(cores), groups * spines * links) if cores else None


def fewest_racks(basis: Basis, counts: Mapping[str, int]) -> int | None:
    """Return the fewest racks for the devices that share them, None where racks have no size."""
    rack = basis.space("network")
    if rack is None:
        return None
    kinds, numbers = [], []
    for sku, count in counts.items():
        item = basis.items[sku]
        size = basis.height_ru(item), basis.in_rack_kw(item), basis.weight_kg(item)
        if count and size[0] and item.consumes.racks is None:
            shares = [s / room if s and room else 0.0 for s, room in zip(size, rack, strict=True)]
            kinds.append(tuple(shares))
            numbers.append(count)
    most = shared_racks(basis, counts, rack) if kinds else 0
    least = math.ceil(max(np.array(numbers) @ np.array(kinds)) - 1e-6) if kinds else 0
    return most if most <= least else fewest(tuple(kinds), tuple(numbers))


@cache
def fewest(kinds: tuple[Shares, ...], counts: Counts) -> int:
    """Return the fewest racks: how often is each thing that one rack can hold taken?"""
    if not any(counts):
        return 0
    full = _full(kinds, counts)
    cover = LinearConstraint(full.T, lb=np.array(counts))
    solved = milp(np.ones(len(full)), constraints=cover, integrality=1)
    times = np.rint(solved.x)
    assert solved.status == 0 and (times @ full >= counts).all()
    assert solved.mip_dual_bound > times.sum() - 1 + 1e-6, "a rack less is not excluded"
    return int(times.sum())


def _full(kinds: Sequence[Shares], counts: Counts) -> npt.NDArray[np.int64]:
    """Return what one rack can hold of the counts, a row each, with room for nothing more."""
    ways, taken = np.zeros((1, 0), dtype=np.int64), np.zeros((1, 3))
    for share, count in zip(kinds, counts, strict=True):
        units = np.arange(count + 1)
        ways = np.hstack([np.repeat(ways, len(units), axis=0), np.tile(units, len(ways))[:, None]])
        taken = (taken[:, None] + units[:, None] * np.array(share)).reshape(-1, 3)
        fits = taken.max(axis=1) <= 1.0 + SLIVER
        ways, taken = ways[fits], taken[fits]
    grows = np.zeros(len(ways), dtype=bool)
    for kind, share in enumerate(kinds):
        room = (taken + np.array(share)).max(axis=1) <= 1.0 + SLIVER
        grows |= (ways[:, kind] < counts[kind]) & room
    return ways[~grows]
