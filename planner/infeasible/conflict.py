"""Which limits cannot hold together: sets from which none can be left out."""

from __future__ import annotations

from collections.abc import Sequence

from planner.infeasible.oracle import Oracle
from planner.levers import Change, Lever

MOST_CONFLICTS = 6


def off(levers: Sequence[Lever]) -> tuple[Change, ...]:
    """Return the changes that give up every one of some levers."""
    return tuple(change for lever in levers for change in lever.off)


def conflicts(oracle: Oracle, levers: Sequence[Lever]) -> tuple[tuple[Lever, ...], ...]:
    """Return conflicts until giving up one limit of each leaves a plan.

    Args:
        oracle: of a problem that has no plan.
        levers: all of them, those to blame last first; without them all there must be a plan.
    """
    found: list[tuple[Lever, ...]] = []
    dropped: list[Lever] = []
    while len(found) < MOST_CONFLICTS and oracle.possible(off(dropped)) is False:
        kept = [lever for lever in levers if lever not in dropped]
        one = _minimal(oracle, kept, dropped)
        if not one:
            break
        found.append(one)
        dropped.append(one[-1])  # the one to blame first
    return tuple(found)


def _minimal(oracle: Oracle, levers: Sequence[Lever], dropped: list[Lever]) -> tuple[Lever, ...]:
    """Return levers of which no one can be left out of the conflict (a deletion filter).

    Halves are tried before single ones: most levers have nothing to do with it.
    """
    needed: list[Lever] = []
    open_ = list(levers)
    while open_:
        size = max(1, len(open_) // 2)
        while True:
            part, rest = open_[:size], open_[size:]
            without = [lever for lever in levers if lever not in needed and lever not in rest]
            if oracle.possible(off([*dropped, *without])) is False:
                open_ = rest
                break
            if size == 1:
                needed.append(part[0])
                open_ = rest
                break
            size = max(1, size // 2)
    return tuple(needed)
