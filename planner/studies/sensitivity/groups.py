"""Which scenarios share everything but what may be used up, and pieces of them of a fair size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.limits import SUPPLIES
from planner.loader.change import Change
from planner.studies.sensitivity.scenario import Scenario

FIELDS: Mapping[str, str] = {limit.path: limit.field for limit in SUPPLIES}
"""Where a problem says what may be used up, and the limit of a case that follows from it alone."""

LEAST_SPLIT = 64
HALVED = 512
PIECE = 2500
TOGETHER = 16
"""Groups of few scenarios are worked on so many at a time."""


@dataclass(frozen=True)
class Group:
    """Scenarios that differ in what may be used up, and in nothing else.

    ``shared`` are the other changes; ``paths`` the places of supplies that all of them change.
    """

    base: str
    shared: tuple[Change, ...]
    paths: tuple[str, ...]
    scenarios: tuple[Scenario, ...]


def groups(scenarios: Iterable[Scenario]) -> list[Group]:
    """Return scenarios in groups, each in the order in which its first one stands."""
    found: dict[tuple[object, ...], list[Scenario]] = {}
    parts: dict[tuple[object, ...], tuple[tuple[Change, ...], tuple[str, ...]]] = {}
    for scenario in scenarios:
        supplies = [c for c in scenario.changes if c.path in FIELDS and c.value is not None]
        paths = tuple(sorted({change.path for change in supplies}))
        shared = tuple(c for c in scenario.changes if c not in supplies)
        key = (scenario.base, tuple((c.path, repr(c.value)) for c in shared), paths)
        found.setdefault(key, []).append(scenario)
        parts.setdefault(key, (shared, paths))
    return [Group(some[0].base, *parts[key], tuple(some)) for key, some in found.items()]


def pieces(scenarios: Sequence[Scenario]) -> list[tuple[Scenario, ...]]:
    """Return scenarios in pieces to be worked on one by one, the same whoever works on them.

    A large group falls into compact parts, because what is proven of a scenario serves those near
    it; small groups go several together.
    """
    result: list[tuple[Scenario, ...]] = []
    small: list[Scenario] = []
    count = 0
    for group in groups(scenarios):
        if len(group.scenarios) >= LEAST_SPLIT:
            result += _compact(group)
            continue
        small += group.scenarios
        count += 1
        if count == TOGETHER or len(small) >= LEAST_SPLIT:
            result.append(tuple(small))
            small, count = [], 0
    return [*result, tuple(small)] if small else result


def values(group: Group) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return what each scenario changes its supplies to: a row each, a column for each path."""
    rows = []
    for scenario in group.scenarios:
        last = {change.path: change.value for change in scenario.changes}
        rows.append([float(last[path]) for path in group.paths])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(group.paths))


def _compact(group: Group) -> list[tuple[Scenario, ...]]:
    """Return a group cut in halves, across its widest side, until the parts are small enough."""
    points = values(group)
    span = np.ptp(points, axis=0)
    scaled = points / np.where(span > 0, span, 1.0)
    halved = HALVED <= len(points) < 2 * PIECE  # two cores are to have something to do
    most = -(-len(points) // 2) if halved else PIECE
    parts = [np.arange(len(points))]
    while any(len(part) > most for part in parts):
        parts = [half for part in parts for half in _halves(part, scaled, most)]
    return [tuple(group.scenarios[i] for i in part.tolist()) for part in parts]


def _halves(
    part: np.ndarray[tuple[int], np.dtype[np.int64]],
    points: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    most: int,
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    if len(part) <= most:
        return [part]
    side = int(np.argmax(np.ptp(points[part], axis=0)))
    order = part[np.argsort(points[part, side], kind="stable")]
    middle = len(order) // 2
    return [order[:middle], order[middle:]]
