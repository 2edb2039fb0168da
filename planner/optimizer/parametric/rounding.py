"""Purchases near a relaxation: whole units that keep within the limits. They prove nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from planner.case.model import Offer, Storage, by_item
from planner.optimizer import operate
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.parametric.relaxed import Kept
from planner.optimizer.parametric.rows import Vector
from planner.optimizer.purchase import TOLERANCE

NEAR = 1e-6
MOST_STEPS = 6


def purchases(kept: Kept, plans: Plans, values: Vector, limits: Vector) -> Iterator[dict[str, int]]:
    """Yield purchases near the values of a relaxation that keep within limits."""
    counts = _counts(kept, values)
    case = kept.case
    up = {offer.id: _whole(offer, math.ceil(counts[offer.id] - NEAR)) for offer in case.offers()}
    down = dict(up)
    for offer in case.offers():
        floor = _whole(offer, math.floor(counts[offer.id] + NEAR))
        down[offer.id] = floor
    mixed = up | {system.id: down[system.id] for system in case.systems}
    seen = []
    for units in (mixed, down, up):
        fitting = _fitted(kept, plans, units, limits)
        if fitting is not None and fitting not in seen:
            seen.append(fitting)
            yield fitting


def uses(kept: Kept, units: Mapping[str, int], values: Vector) -> tuple[dict[str, int], int] | None:
    """Return the systems in use and GPUs of a purchase, all that may be; None where there are none.

    Of several types that are bought those that the relaxation uses.
    """
    case, job = kept.case, kept.case.job
    build = kept.build
    types = [s for s in case.systems if units[s.id] > 0]
    if len(types) > job.max_types:
        flags = {s.id: values[kept.index[build.type_used[s.id].name]] for s in types}
        types = sorted(types, key=lambda s: (-flags[s.id], s.id))[: job.max_types]
    used = {s.id: operate.most_in_use(case, units[s.id]) for s in types}
    used = {name: count for name, count in used.items() if count}
    left, use = job.gpus_max, {}
    for system in types:
        step = job.step(system)
        gpus = job.most_gpus(system, used.get(system.id, 0))
        use[system.id] = gpus if left is None else min(gpus, left // step * step)
        left = None if left is None else left - use[system.id]
    used = {s.id: math.ceil(use[s.id] / s.usable_gpus) for s in types if use[s.id]}
    return (used, sum(use.values())) if used else None


def _counts(kept: Kept, values: Vector) -> dict[str, float]:
    counts = kept.build.counts.items()
    return by_item((key, float(values[kept.index[v.name]])) for key, v in counts)


def _whole(offer: Offer, count: int) -> int:
    if not count:
        return offer.low
    first = offer.segments[0].low if isinstance(offer, Storage) and offer.segments else 0
    whole = max(count, offer.min_units, offer.low, first)
    return whole if offer.high is None else min(whole, offer.high)


def _fitted(
    kept: Kept, plans: Plans, units: dict[str, int], limits: Vector
) -> dict[str, int] | None:
    """Return a purchase with less storage, then fewer systems, until it keeps within limits."""
    case = kept.case
    for _ in range(MOST_STEPS):
        try:
            over = plans.takes(units) - limits * (1 + TOLERANCE)
        except ValueError:
            return None
        if np.all(over <= 0):
            return units
        fewer = _fewer(plans, units, over, [s for s in case.storage if units[s.id] > s.low])
        systems = [s for s in case.systems if units[s.id] > s.low]
        fewer = fewer or _fewer(plans, units, over, systems)
        if fewer is None:
            return None
        units = fewer
    return None


def _fewer(
    plans: Plans, units: dict[str, int], over: Vector, offers: Sequence[Offer]
) -> dict[str, int] | None:
    """Return the purchase with so much less of one item as what is over the limits asks for."""
    for offer in offers:
        less = units | {offer.id: units[offer.id] - 1}
        each = plans.takes(units) - plans.takes(less)
        broken = over > 0
        if np.any(each[broken] <= 0):
            continue
        count = max(1, math.ceil(float((over[broken] / each[broken]).max()) - NEAR))
        if units[offer.id] - count >= max(offer.low, 1):
            return units | {offer.id: units[offer.id] - count}
    return None
