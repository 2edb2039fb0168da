"""The least that a limit must be loosened before a better plan exists."""

from __future__ import annotations

from planner.api import Options
from planner.infeasible.oracle import Oracle
from planner.infeasible.single import UndecidedError, threshold
from planner.levers import Change, Lever
from planner.levers.numbers import written
from planner.loader import Inputs
from planner.schema.explanation import NextStep
from planner.studies.explain.probe import Best

PAYS = 1e-3
"""The least gain that counts as one, as a share of the objective."""
SECONDS = 4.0

_FLOORS = {
    "goodput": ("targets.min_useful_pflops", "number"),
    "useful_gpus": ("targets.min_useful_gpus", "number"),
    "gpus": ("targets.min_gpus", "GPUs"),
    "cost": ("budget.capex", "USD"),
    "tco": ("budget.tco", "USD"),
    "power": ("site.it_power", "kW"),
}
"""Where the problem says how good a plan must be at least, by objective."""


def next_step(inputs: Inputs, options: Options, base: Best, lever: Lever) -> NextStep | None:
    """Return where loosening a limit begins to pay, None where it never does or is not found.

    Args:
        inputs: the problem.
        options: which solver to ask.
        base: its best plan.
        lever: a limit that binds.
    """
    assert base.value is not None
    path, unit = _FLOORS[base.case.objective]
    if lever.path == path:
        return None
    sign = 1.0 if base.case.maximise else -1.0
    wanted: float = base.value * (1.0 + sign * PAYS)
    if unit == "GPUs":
        wanted = base.value + 1.0
    asked = round(wanted) if unit == "GPUs" else wanted
    floor = Change(path, asked, str(asked) if unit == "GPUs" else written(wanted, unit))
    oracle = Oracle(inputs, options.solver, SECONDS)
    try:
        found = threshold(oracle, lever, (floor,))
    except UndecidedError:
        return None
    if found is None or found.short is None:
        return None
    text = lever.text(found.enough)
    return NextStep(
        to_text=text,
        short_text=lever.text(found.short),
        setting=f"{lever.path}={text}",
        gain=abs(wanted - base.value),
    )
