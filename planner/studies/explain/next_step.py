"""The least that a limit must be loosened before a better plan exists."""

from __future__ import annotations

from planner.api import Options
from planner.infeasible.oracle import Oracle, UndecidedError
from planner.infeasible.single import threshold
from planner.inputs import Inputs
from planner.levers import Lever
from planner.schema.explanation import NextStep
from planner.studies.changes import no_worse
from planner.studies.explain.probe import Best

PAYS = 1e-3
"""The least gain that counts as one, as a share of the objective."""
WORK = 400.0
"""How much that may take; see ``Effort``."""


def next_step(inputs: Inputs, options: Options, base: Best, lever: Lever) -> NextStep | None:
    """Return where loosening a limit begins to pay, None where it never does.

    Args:
        inputs: the problem.
        options: which solver to ask.
        base: its best plan.
        lever: a limit that binds.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert base.value is not None
    sign = 1.0 if base.case.maximise else -1.0
    wanted = base.value * (1.0 + sign * PAYS)
    if base.case.objective == "gpus":
        wanted = base.value + 1.0
    floor = no_worse(inputs, base.case.objective, wanted)
    if lever.path == floor.path:
        return None
    oracle = Oracle(inputs, options.solver, options.effort.part(WORK))
    found = threshold(oracle, lever, (floor,))
    if found is None:
        return None
    if found.short is None:
        raise UndecidedError
    text = lever.text(found.enough)
    return NextStep(
        to_text=text,
        short_text=lever.text(found.short),
        setting=f"{lever.path}={text}",
        gain=abs(wanted - base.value),
    )
