"""Why an end of a swing has no plan."""

from __future__ import annotations

from planner.errors import InputError
from planner.infeasible import clash
from planner.levers import Lever
from planner.loader import Inputs
from planner.loader.change import Change
from planner.loader.vary import checked
from planner.outputs.comparison_words import listed

NO_PLAN = "no plan meets every limit"
SECONDS = 20.0


def why(inputs: Inputs, changes: tuple[Change, ...]) -> str:
    """Return which limits cannot hold together after changes that leave no plan."""
    try:
        found = clash(checked(inputs, changes), seconds=SECONDS)
    except InputError:
        return NO_PLAN
    names = [_named(lever) for lever in found]
    if len(names) < 2:
        return f"{names[0]} cannot be met" if names else NO_PLAN
    return f"{listed(names)} cannot hold together"


def _named(lever: Lever) -> str:
    return lever.label if lever.value is None else f"{lever.label} {lever.text(lever.value)}"
