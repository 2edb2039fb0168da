"""Why an end of a swing has no plan."""

from __future__ import annotations

from planner.errors import InputError
from planner.infeasible import clash
from planner.inputs import Change, Inputs
from planner.loader.vary import checked
from planner.studies.sensitivity.reasons import NO_PLAN, said

WORK = 2000.0


def why(inputs: Inputs, changes: tuple[Change, ...]) -> str:
    """Return which limits cannot hold together after changes that leave no plan."""
    try:
        found = clash(checked(inputs, changes), work=WORK)
    except InputError:
        return NO_PLAN
    return said(found, {})
