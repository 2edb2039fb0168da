"""Which of many plans to show: those that differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.case import Case
from planner.optimizer.operate import Operation
from planner.schema.alternatives import Way


@dataclass
class Candidate:
    """A plan within the tolerance and the ways that led to it."""

    operation: Operation
    ways: list[Way]
    distance: float = 0.0


def distance(case: Case, one: Operation, other: Operation) -> float:
    """Return how different two plans are, from 0 to 4.

    The share of storage vendors and of GPU types they do not have in common, and the relative
    differences in the number of storage units and of GPU systems.
    """
    storage, systems = case.storage, case.systems
    vendors = ({item.vendor for item in storage if run.units[item.id]} for run in (one, other))
    types = ({system.id for system in systems if run.units[system.id]} for run in (one, other))
    units = (sum(run.units[item.id] for item in storage) for run in (one, other))
    counts = (sum(run.units[system.id] for system in systems) for run in (one, other))
    return _unlike(*vendors) + _unlike(*types) + _relative(*units) + _relative(*counts)


def _unlike(one: set[str], other: set[str]) -> float:
    return 1.0 - len(one & other) / len(one | other) if one | other else 0.0


def _relative(one: int, other: int) -> float:
    return abs(one - other) / max(one, other, 1)


def merged(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with equal purchases and GPUs in use made one."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        run = candidate.operation
        key = (*sorted(run.units.items()), run.gpus, run.mode)
        if key in kept:
            kept[key].ways += candidate.ways
        else:
            kept[key] = candidate
    return list(kept.values())


def most_different(case: Case, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return so many candidates, the first first: each next is farthest from those before it."""
    rest = list(candidates)
    chosen = [rest.pop(0)] if rest else []
    while rest and len(chosen) < most:
        for candidate in rest:
            candidate.distance = min(
                distance(case, candidate.operation, other.operation) for other in chosen
            )
        best = max(rest, key=lambda candidate: candidate.distance)  # of equals the first
        rest.remove(best)
        chosen.append(best)
    return chosen
