"""What a plan gives in one scenario, and how that is spread over many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.assemble import UNITS
from planner.case import Case
from planner.optimizer import purchase
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.outputs.words import OBJECTIVES
from planner.schema.sensitivity import Percentiles

Figures = Mapping[str, float]
"""Figures of a plan by name; those that are not known are left out."""

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


@dataclass(frozen=True)
class Outcome:
    """A figure that is followed: its name, what to call it, its unit, how it is worked out."""

    name: str
    label: str
    unit: str
    of: Callable[[Case, Operation], float | None]


def worth(case: Case, run: Operation) -> float:
    """Return what an operation is worth in the problem's objective, in its own unit."""
    return natural(case.objective, measure(case, case.objective)(run))


def _useful_pflops(case: Case, run: Operation) -> float | None:
    known = case.job.mfu is not None and run.tflops_per_gpu > 0
    return run.useful_pflops(case.job.mfu or 0.0) if known else None


def _days_to_train(case: Case, run: Operation) -> float | None:
    pflops = _useful_pflops(case, run)
    if not pflops or case.job.tokens is None or case.job.active_parameters is None:
        return None
    return case.days_at_one_pflops() / pflops


def _tco_usd(case: Case, run: Operation) -> float | None:
    return purchase.bill(case, run.units)["tco_usd"] if case.rates.years else None


OUTCOMES = (
    Outcome("useful_gpus", "useful GPUs", "GPUs", lambda case, run: run.useful_gpus),
    Outcome("useful_pflops", "useful PFLOP/s", "PFLOP/s", _useful_pflops),
    Outcome("goodput", "goodput", "share", lambda case, run: run.goodput),
    Outcome("capex_usd", "capital cost", "USD",
            lambda case, run: purchase.bill(case, run.units)["capex_usd"]),
    Outcome("tco_usd", "TCO", "USD", _tco_usd),
    Outcome("facility_power_kw", "power at the meter", "kW",
            lambda case, run: purchase.bill(case, run.units)["facility_power_kw"]),
    Outcome("gpus_in_use", "GPUs in use", "GPUs", lambda case, run: float(run.gpus)),
    Outcome("write_gb_per_s", "storage write bandwidth", "GB/s",
            lambda case, run: run.write_gb_per_s),
    Outcome("interval_s", "checkpoint interval", "s", lambda case, run: run.interval_s),
    Outcome("days_to_train", "days to train", "days", _days_to_train),
)  # fmt: skip
"""What is followed beside the objective."""
_SAME = {
    "goodput": "useful_pflops", "useful_gpus": "useful_gpus", "gpus": "gpus_in_use",
    "cost": "capex_usd", "tco": "tco_usd", "power": "",
}  # fmt: skip
"""The outcome that each objective is."""


def figures(case: Case, run: Operation) -> Figures:
    """Return what an operation gives under a case, the objective included."""
    found = {"objective": worth(case, run)}
    for outcome in OUTCOMES:
        value = outcome.of(case, run)
        if value is not None:
            found[outcome.name] = value
    return found


def percentiles(case: Case, runs: Sequence[Figures]) -> tuple[Percentiles, ...]:
    """Return how each figure is spread over scenarios; that of the objective is told once.

    Args:
        case: the problem as it stands, for what its objective is.
        runs: the figures of each scenario that has them.
    """
    name = case.objective
    first = Outcome("objective", OBJECTIVES[name], UNITS[name], worth)
    rest = (outcome for outcome in OUTCOMES if outcome.name != _SAME[name])
    return tuple(
        _spread(outcome, [run[outcome.name] for run in runs if outcome.name in run])
        for outcome in (first, *rest)
        if any(outcome.name in run for run in runs)
    )


def _spread(outcome: Outcome, values: Sequence[float]) -> Percentiles:
    several = np.asarray(values, dtype=float)
    at = np.quantile(several, list(QUANTILES.values()))
    return Percentiles(
        name=outcome.name,
        label=outcome.label,
        unit=outcome.unit,
        count=len(several),
        mean=float(several.mean()),
        least=float(several.min()),
        most=float(several.max()),
        **dict(zip(QUANTILES, at.tolist(), strict=True)),
    )
