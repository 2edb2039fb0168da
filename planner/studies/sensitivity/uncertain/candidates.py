"""Plans that could be bought: the planned one, and those that are best where inputs turn out so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.case import Case
from planner.optimizer import purchase
from planner.optimizer.operate import Operation
from planner.studies.sensitivity.solve import Answer

MOST = 40
"""Candidates that are compared, at most."""

Key = tuple[tuple[str, int], ...]


def candidates(
    case: Case, planned: Operation | None, answers: Sequence[Answer], most: int = MOST
) -> list[Operation]:
    """Return different purchases, the planned one first.

    All are taken where they fit in. Else the most cautious are taken, which draw and cost least,
    then those that were found most often; of those found equally often as many as there is room
    for, evenly spread from the one that draws least to the one that draws most.

    Args:
        case: the problem as it stands.
        planned: its plan, None where it has none.
        answers: the best plan of each scenario.
        most: how many to return.
    """
    chosen: dict[Key, Operation] = {} if planned is None else {purchase_of(planned): planned}
    found: dict[Key, Operation] = {}
    times: dict[Key, int] = {}
    for answer in answers:
        if answer.operation is not None:
            key = purchase_of(answer.operation)
            found.setdefault(key, answer.operation)
            times[key] = times.get(key, 0) + 1
    sizes = {key: _size(case, run) for key, run in found.items()}
    for place in (0, 1):
        cautious = min(found, key=lambda key: (sizes[key][place], key), default=None)
        if cautious is not None:
            chosen.setdefault(cautious, found[cautious])
    for number in sorted(set(times.values()), reverse=True):
        group = [key for key in found if times[key] == number and key not in chosen]
        group.sort(key=lambda key: (sizes[key], key))
        for key in _spread(group, most - len(chosen)):
            chosen[key] = found[key]
    return list(chosen.values())


def purchase_of(run: Operation) -> Key:
    """Return what tells one purchase from another: the units of everything bought."""
    return tuple(sorted((name, count) for name, count in run.units.items() if count))


def _size(case: Case, run: Operation) -> tuple[float, float]:
    """Return what a purchase draws, kW, and costs, USD, with inputs as they stand."""
    units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
    try:
        spent = purchase.bill(case, units)
    except ValueError:  # no fabric is large enough for it
        return math.inf, math.inf
    return spent["it_power_kw"], spent["capex_usd"]


def _spread(keys: list[Key], room: int) -> list[Key]:
    if len(keys) <= room:
        return keys
    places = np.unique(np.linspace(0, len(keys) - 1, max(room, 0)).round().astype(int))
    return [keys[place] for place in places]
