"""What tests of the verifier share: plans with one figure changed, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from planner.errors import VerificationError
from planner.inputs import Inputs
from planner.schema.plan import Plan
from planner.verifier import verify

DataPath = tuple[str | int, ...]
JOB: DataPath = ("jobs", 0)

FREE = {"log_value", "program", "bound", "gap", "near_optimal_loss", "best_capex_usd", "source"}
"""Of the solver, with tests of their own; and lines of the problem file, which no plan carries."""


def disagreements(inputs: Inputs, plan: Plan) -> str:
    with pytest.raises(VerificationError) as caught:
        verify(inputs, plan)
    return "\n".join(caught.value.disagreements)


def other(value: object) -> object:
    """Return something that differs from ``value`` by little."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 1e-3) if value else 0.01
        case "<=" | ">=":
            return ">=" if value == "<=" else "<="
        case "gpu" | "storage" | "network":
            return "network" if value != "network" else "gpu"
        case None:
            return 1.0
        case dict():
            return {**value, next(iter(value)): 10**6} if value else {"nothing": 1}
        case tuple():
            return ("nothing",)
        case _:
            return "other"


def put(model: Any, path: DataPath, value: object) -> Any:
    """Return ``model`` with the value at ``path`` replaced, whatever its type."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(model, tuple):
        assert isinstance(step, int)
        return (*model[:step], put(model[step], rest, value), *model[step + 1 :])
    if isinstance(model, dict):
        return {**model, step: put(model[step], rest, value)}
    assert isinstance(model, BaseModel)
    field = str(step)
    return model.model_copy(update={field: put(getattr(model, field), rest, value)})


def leaves(plan: Plan) -> Iterator[DataPath]:
    """Yield the path of every field that verification must judge."""
    parts: list[tuple[DataPath, BaseModel | None]] = [(("totals",), plan.totals)]
    parts += [(("objective",), plan.objective), (("site",), plan.site), (JOB, plan.jobs[0])]
    parts.append(((*JOB, "loss"), plan.jobs[0].loss))
    for name in ("lines", "limits", "fabrics", "racks"):
        parts += [((name, index), part) for index, part in enumerate(getattr(plan, name))]
    for index, group in enumerate(plan.racks):
        parts += [(("racks", index, "devices", n), each) for n, each in enumerate(group.devices)]
    for path, part in parts:
        yield from ((*path, field) for field in type(part).model_fields if field not in FREE)


def tampered(plan: Plan, path: DataPath) -> Plan:
    """Return the plan with the value at ``path`` a little wrong."""
    value: Any = plan
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    changed: Plan = put(plan, path, other(value))
    return changed
