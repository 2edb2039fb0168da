"""What the studies of sensitivity say in words, on the screen and in the workbook."""

from __future__ import annotations

from collections.abc import Mapping

from planner.figures import capital, objective_label
from planner.report.words import amount_of, counted, listed
from planner.schema.analysis import (
    End,
    RulesTable,
    Study,
    Swing,
    Tornado,
)

STATUS = {
    "optimal": "proven best",
    "feasible": "not proven",
    "infeasible": "no plan",
    "unbounded": "no limit",
    "no_solution": "none in time",
    "invalid": "refused",
    "failed": "failed",
}
"""How a scenario ended, in the order in which they are told."""

_MOST_UNITS = 3


def named(study: Study | RulesTable) -> str:
    """The problem's name with its scenario."""
    return (
        study.problem if study.scenario is None else f"{study.problem}, scenario {study.scenario}"
    )


def goal(study: Study) -> str:
    """The label of the objective."""
    return objective_label(study.objective)


def amount(study: Study, value: float) -> str:
    """A value of the objective with its unit."""
    return amount_of(study.objective, value)


def as_it_stands(study: Study) -> str:
    """The objective of the unchanged problem, with its bound."""
    if study.base is None:
        return "the unchanged problem is infeasible"
    text = f"unchanged problem: {goal(study)} {amount(study, study.base)}"
    if study.base_bound is None:
        return f"{text}; no bound"
    return f"{text}; bound {amount(study, study.base_bound)}"


def asked_gap(study: Study) -> str:
    """The gap asked for."""
    return f"{100 * study.gap_asked:.3g} %"


def ended(statuses: Mapping[str, int]) -> str:
    """Scenarios by status; 'no scenario' where there are none."""
    known = [*STATUS, *(name for name in statuses if name not in STATUS)]
    parts = [f"{statuses[name]:,} {STATUS.get(name, name)}" for name in known if statuses.get(name)]
    return listed(parts) if parts else "no scenario"


def units(counts: Mapping[str, int], names: Mapping[str, str], most: int = _MOST_UNITS) -> str:
    """The purchase; the first items of many, and the number of others.

    Args:
        counts: units by id.
        names: products by id.
        most: how many to name.
    """
    there = [f"{count:,.0f} × {names.get(sku, sku)}" for sku, count in counts.items() if count]
    more = len(there) - most
    return ", ".join([*there[:most], *([f"+{more} more"] if more > 0 else [])]) or "nothing"


def changes(study: Tornado, swing: Swing) -> tuple[float | None, float | None]:
    """Changes of the objective at low and at high."""
    low, high = (_change(study, end) for end in (swing.low, swing.high))
    return low, high


def _change(study: Tornado, end: End) -> float | None:
    if study.base is None or end.objective is None:
        return None
    return end.objective - study.base


def no_plan(end: End) -> str:
    """The reason for no plan at an end of a swing."""
    ended = STATUS[end.status]
    return end.reason if end.reason.startswith(ended) else f"{ended}: {end.reason}".rstrip(": ")


def scenarios(count: int) -> str:
    """A number of scenarios with its noun."""
    return counted(count, "scenario")


def sentence(text: str) -> str:
    """A text as a sentence of its own."""
    return f"{capital(text)}."
