"""Solved plans that screens, files and pages are tested on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.schema.plan import Plan
from tests.world import known_plans
from tests.world.known_plans import Known
from tests.world.solved import solve
from tests.world.tampering import put

Solved = Callable[[], Known]
CASES: dict[str, Solved] = {
    "complete": known_plans.everything,
    "async": known_plans.limited,
    "sync": known_plans.sync_bundle,
    "minimal": known_plans.vendor_rule,
}


def plan(solved: Solved) -> Plan:
    """Return the plan of a case."""
    return solved().plan


def infeasible() -> Plan:
    """Return the answer to a problem without a plan."""
    inputs = known_plans.limited().inputs
    asked = put(inputs.problem, ("site", "facility_power_kw"), 1.0)
    return solve(replace(inputs, problem=asked))
