"""What an operation is worth: in each objective, and in what equally good plans differ.

Useful work and money per useful work count as their logarithm, other money in millions of USD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import sha256

from planner.case import Case, Way
from planner.case.model import Offer
from planner.case.money import SUMS
from planner.figures import FIGURES, OBJECTIVES, RATIOS, Figure
from planner.limits import MILLION
from planner.optimizer import purchase
from planner.optimizer.operate import Run, missed_by

LEAST_TCO_MUSD = 1e-6
"""What counts as paid where nothing is, so that money per work has a logarithm."""


def name_weight(item_id: str) -> float:
    """Return a fixed number between 1 and 2 for an item id.

    It orders plans that nothing else tells apart, in the same way whatever else is in the catalogs.
    """
    return 1.0 + int.from_bytes(sha256(item_id.encode()).digest()[:2], "big") / 65_536.0


def scale(figure: Figure) -> float:
    """Return how many of a figure's unit the search counts as one."""
    return MILLION if figure.money else 1.0


LOGARITHMIC = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that the search knows by the logarithm of their value."""


def natural(name: str, value: float) -> float:
    """Return an objective's value as the search scales it in the objective's own unit."""
    if name in LOGARITHMIC:
        return math.exp(value)
    return value * scale(OBJECTIVES[name].figure) if name in OBJECTIVES else value


def measure(case: Case, name: str) -> Callable[[Run], float]:
    """Return the value of an objective or tie-break on an operation, as the search scales it."""
    mfu = case.job.mfu or 0.0
    summed = {"capex": "capex_usd", "least_meter": "facility_power_kw"}
    summed |= {key: asked.figure.name for key, asked in OBJECTIVES.items()}
    if name in summed and summed[name] in SUMS:
        figure = FIGURES[summed[name]]
        return lambda o: purchase.bill(case, o.units, o.ways)[figure.name] / scale(figure)
    measures: dict[str, Callable[[Run], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "usd_per_useful_gpu_hour": lambda o: math.log(_tco(case, o) / useful_hours(case, o)),
        "usd_per_million_tokens": lambda o: math.log(_tco(case, o) / million_tokens(case, o)),
        "overrun": lambda o: missed_by(case, o),
        "disliked": lambda o: float(sum(o.units[name] for name in case.policy.disliked)),
        "fewest_storage": lambda o: _count(case.flash, o),
        "most_storage": lambda o: -_count(case.flash, o),
        "fewest_systems": lambda o: _count(case.systems, o),
        "most_systems": lambda o: -float(sum(o.used.values())),
        "least_write": lambda o: purchase.bought_write_gb_per_s(case, o.units),
        "most_write": lambda o: -purchase.bought_write_gb_per_s(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def work_of_one_gpu(case: Case, name: str, way: Way) -> float:
    """Return the useful work of the term, in what a ratio counts, of a GPU that never stops."""
    if name == "usd_per_useful_gpu_hour":
        return case.rates.hours
    pflops = way.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0
    return pflops * case.million_tokens_per_pflops()


def useful_hours(case: Case, operation: Run) -> float:
    """Return the useful GPU-hours of the term."""
    return operation.useful_gpus * case.rates.hours


def work_of_ratio(case: Case, operation: Run) -> float:
    """Return the useful work of the term that the case's objective pays for: hours, or tokens."""
    hours = case.objective == "usd_per_useful_gpu_hour"
    return useful_hours(case, operation) if hours else million_tokens(case, operation)


def million_tokens(case: Case, operation: Run) -> float:
    """Return the million tokens trained in the term."""
    return operation.useful_pflops(case.job.mfu or 0.0) * case.million_tokens_per_pflops()


def _tco(case: Case, operation: Run) -> float:
    """Return the TCO of an operation, USD: where nothing is paid at all, a least amount."""
    return max(
        purchase.bill(case, operation.units, operation.ways)["tco_usd"], LEAST_TCO_MUSD * MILLION
    )


def _count(offers: Sequence[Offer], operation: Run) -> float:
    return float(sum(operation.units[offer.id] for offer in offers))
