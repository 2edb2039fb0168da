"""What an operation is worth in each objective and tie-break."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from planner.case import Case
from planner.case.model import Offer
from planner.case.money import SUMS
from planner.figures import FIGURES, OBJECTIVES
from planner.optimizer import purchase
from planner.optimizer.objective import name_weight, scale
from planner.optimizer.operate import Operation, missed_by


def measure(case: Case, name: str) -> Callable[[Operation], float]:
    """Return the value of an objective or tie-break on an operation, scaled as in the model."""
    mfu = case.job.mfu or 0.0
    summed = {"capex": "capex_usd", "least_meter": "facility_power_kw"}
    summed |= {key: asked.figure.name for key, asked in OBJECTIVES.items()}
    if name in summed and summed[name] in SUMS:
        figure = FIGURES[summed[name]]
        return lambda o: purchase.bill(case, o.units)[figure.name] / scale(figure)
    measures: dict[str, Callable[[Operation], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "overrun": lambda o: missed_by(case, o),
        "disliked": lambda o: float(sum(o.units[name] for name in case.policy.disliked)),
        "fewest_storage": lambda o: _count(case.storage, o),
        "most_storage": lambda o: -_count(case.storage, o),
        "fewest_systems": lambda o: _count(case.systems, o),
        "most_systems": lambda o: -float(sum(o.used.values())),
        "least_write": lambda o: purchase.bought_write_gb_per_s(case, o.units),
        "most_write": lambda o: -purchase.bought_write_gb_per_s(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def _count(offers: Sequence[Offer], operation: Operation) -> float:
    return float(sum(operation.units[offer.id] for offer in offers))
