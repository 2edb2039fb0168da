"""Plan files as `planner solve` writes them."""

from __future__ import annotations

from pathlib import Path

from planner import api
from planner.inputs import inputs_to_text
from planner.outputs import plan_json
from planner.schema.plan import Plan


def write_plan(path: Path, problem: Path | str, *settings: str) -> Plan:
    """Solve a problem file and write the plan to ``path``; return it."""
    inputs = api.load(Path(problem), settings=settings)
    plan = api.solve_with(inputs, api.Options())
    path.write_bytes(plan_json.to_bytes(plan, inputs_to_text(inputs)))
    return plan
