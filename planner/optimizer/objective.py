"""The worth of a run: objectives, tie-breaks, floors on work, and limits on money per work.

The search scales useful work and money per useful work as logarithms, other money in MUSD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from hashlib import sha256

from planner.case import Case
from planner.case.figures import SUMS
from planner.figures import FIGURES, OBJECTIVES, RATIOS, Figure
from planner.limits import MILLION
from planner.optimizer.bill import bill
from planner.optimizer.checks import bought_write_gb_per_s
from planner.optimizer.operate import Run

TIE_TOLERANCE = 1e-6
"""Plans that differ by no more of the objective count as equally good (docs/model.md)."""
FLOOR_TOLERANCE = 9e-8
LEAST_TCO_MUSD = 1e-6
"""Counts as paid where nothing is, so that money per work has a logarithm."""
LOGARITHMIC = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that the search scales as logarithms."""


def name_weight(item_id: str) -> float:
    """A fixed number between 1 and 2 for an item id: the order of plans that nothing else
    tells apart, whatever else is in the catalogs."""
    return 1.0 + int.from_bytes(sha256(item_id.encode()).digest()[:2], "big") / 65_536.0


def scale(figure: Figure) -> float:
    """The scale of a figure in the search."""
    return MILLION if figure.money else 1.0


def natural(name: str, value: float) -> float:
    """An objective's value as the search scales it in the objective's own unit."""
    if name in LOGARITHMIC:
        return math.exp(value)
    return value * scale(OBJECTIVES[name].figure) if name in OBJECTIVES else value


def measure(case: Case, name: str) -> Callable[[Run], float]:
    """The value of an objective or tie-break on a run, as the search scales it."""
    mfu = case.job.mfu or 0.0
    summed = {"capex": "capex_usd", "least_meter": "facility_power_kw"}
    summed |= {key: asked.figure.name for key, asked in OBJECTIVES.items()}
    if name in summed and summed[name] in SUMS:
        figure = FIGURES[summed[name]]
        return lambda o: bill(case, o.units, o.ways)[figure.name] / scale(figure)
    measures: dict[str, Callable[[Run], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "usd_per_useful_gpu_hour": lambda o: math.log(_tco(case, o) / useful_hours(case, o)),
        "usd_per_million_tokens": lambda o: math.log(_tco(case, o) / million_tokens(case, o)),
        "disliked": lambda o: float(sum(o.units[name] for name in case.policy.disliked)),
        "least_write": lambda o: bought_write_gb_per_s(case, o.units),
        "most_write": lambda o: -bought_write_gb_per_s(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def useful_hours(case: Case, run: Run) -> float:
    """The useful GPU-hours of the term."""
    return run.useful_gpus * case.rates.hours


def million_tokens(case: Case, run: Run) -> float:
    """The million tokens trained in the term."""
    return run.useful_pflops(case.job.mfu or 0.0) * case.million_tokens_per_pflops()


def work_of_ratio(case: Case, run: Run) -> float:
    """The useful work of the term that the case's objective pays for: hours, or tokens."""
    hours = case.objective == "usd_per_useful_gpu_hour"
    return useful_hours(case, run) if hours else million_tokens(case, run)


def _tco(case: Case, run: Run) -> float:
    return max(bill(case, run.units, run.ways)["tco_usd"], LEAST_TCO_MUSD * MILLION)


def floors(case: Case, tolerance: float = FLOOR_TOLERANCE) -> Callable[[Run], bool]:
    """The predicate whether a run reaches every floor, and ratio of money to work."""
    limits, mfu, pflops = case.limits, case.job.mfu or 0.0, case.useful_pflops_floor()

    def meets(run: Run) -> bool:
        checks = (
            (limits["min_goodput"], run.goodput),
            (limits["min_useful_gpus"], run.useful_gpus),
            (pflops, run.useful_pflops(mfu)),
            *_ratios(case, run),
        )
        return all(f is None or value >= f * (1 - tolerance) for f, value in checks)

    return meets


def _ratios(case: Case, run: Run) -> Iterator[tuple[float, float]]:
    """Yield the TCO and the most that the useful work may cost for each ratio that is limited."""
    works = {"per_useful_gpu_hour": useful_hours, "per_million_tokens": million_tokens}
    for name, work in works.items():
        limit = case.limits[name]
        if limit is not None:
            yield bill(case, run.units, run.ways)["tco_usd"], limit * work(case, run)
