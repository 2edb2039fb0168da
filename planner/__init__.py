"""planner decides what to buy for an AI training cluster, to a proven gap.

As a library: files or models in, models out, nothing printed, no file written but where that is the
purpose. A wrong input is an `InputError`, whose text is the line that the command prints.

    import planner

    plan = planner.solve("10MW.yaml", settings={"site.facility_power": "12 MW"})
    str(plan)                       # the first screen of the command
    plan.to_frame()                 # the bill; plan.to_frame("limits"), ...
    planner.verify(plan)

Each function has the options of its command, which calls it.
"""

from planner.errors import InputError, NoPlanError, PlannerError, VerificationError
from planner.inputs import Inputs
from planner.library import (
    alternatives,
    bid,
    characterize,
    compare,
    compare_rules,
    example,
    explain,
    frontier,
    simulate,
    size,
    solve,
    solve_portfolio,
    sweep,
    tornado,
    uncertain,
    verify,
    write_workbook,
)
from planner.schema.plan import Plan
from planner.shipped import __version__
from planner.sources import load

__all__ = [
    "InputError",
    "Inputs",
    "NoPlanError",
    "Plan",
    "PlannerError",
    "VerificationError",
    "__version__",
    "alternatives",
    "bid",
    "characterize",
    "compare",
    "compare_rules",
    "example",
    "explain",
    "frontier",
    "load",
    "simulate",
    "size",
    "solve",
    "solve_portfolio",
    "sweep",
    "tornado",
    "uncertain",
    "verify",
    "write_workbook",
]
