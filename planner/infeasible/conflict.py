"""Which limits cannot hold together: sets from which none can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.infeasible.oracle import Oracle, UndecidedError
from planner.levers import Change, Lever

MOST_CONFLICTS = 8


def off(levers: Sequence[Lever]) -> tuple[Change, ...]:
    """Return the changes that give up every one of some levers."""
    return tuple(change for lever in levers for change in lever.off)


@dataclass(frozen=True)
class Clash:
    """Limits that cannot hold together, and the one to give up; None where all must be kept."""

    levers: tuple[Lever, ...]
    given_up: Lever | None


def conflicts(oracle: Oracle, levers: Sequence[Lever], keep: Sequence[str]) -> tuple[Clash, ...]:
    """Return conflicts until giving up one limit of each leaves a plan.

    Args:
        oracle: of a problem that has no plan.
        levers: all of them, those to blame last first; without them all there must be a plan.
        keep: paths that must not be given up.

    Raises:
        UndecidedError: work or time ran out.
    """
    found: list[Clash] = []
    dropped: list[Lever] = []
    while len(found) < MOST_CONFLICTS and not oracle.decided(off(dropped)).possible:
        kept = [lever for lever in levers if lever not in dropped]
        one = minimal(oracle, kept, off(dropped))
        if not one:
            break
        free = [lever for lever in one if lever.path not in keep]
        found.append(Clash(one, free[-1] if free else None))
        if not free:
            break
        dropped.append(free[-1])  # the one to blame first
    return tuple(found)


def minimal(oracle: Oracle, levers: Sequence[Lever], made: tuple[Change, ...]) -> tuple[Lever, ...]:
    """Return levers of which no one can be left out of the conflict (a deletion filter).

    Halves are tried before single ones: most levers have nothing to do with it.

    Args:
        oracle: of a problem that has no plan.
        levers: those that may be part of it, those to blame last first.
        made: changes with which there still is none.

    Raises:
        UndecidedError: work or time ran out.
    """
    needed: list[Lever] = []
    open_ = list(levers)
    while open_:
        size = max(1, len(open_) // 2)
        while True:
            part, rest = open_[:size], open_[size:]
            without = [lever for lever in levers if lever not in needed and lever not in rest]
            possible = oracle.possible((*off(without), *made))
            if possible is False:
                open_ = rest
                break
            if size == 1:
                if possible is None:
                    raise UndecidedError
                needed.append(part[0])
                open_ = rest
                break
            size = max(1, size // 2)
    return tuple(needed)
