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

# Text for people, and inputs of the solver, which no arithmetic can judge.
FREE = {"label", "source", "notes", "log_value", "role", "unit"}
# These have tests of their own below.
FREE |= {
    "price",
    "binding",
    "bound",
    "gap",
    "near_optimal_loss",
    "best_capex_usd",
    "program",
}
# Changing a decision makes its consequences wrong, rather than the decision.
# Where a device stands is free within a rack; what overlaps or sticks out has tests of its own.
FREE |= {"position_ru", "devices"}
# Rules that leave more than one answer.
OPEN = {"sync_bundle-jobs[0].drain_slowdown", "sync_bundle-limits[items.bundle.fixed].sense"}


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


def parts(plan: Plan) -> Iterator[tuple[str, DataPath, Any]]:
    """Yield (label, path, part) for every part of a plan that holds figures."""
    yield "totals", ("totals",), plan.totals
    yield "objective", ("objective",), plan.objective
    yield "site", ("site",), plan.site
    yield "jobs[0]", ("jobs", 0), plan.jobs[0]
    yield "jobs[0].loss", ("jobs", 0, "loss"), plan.jobs[0].loss
    yield from ((f"lines[{x.sku}]", ("lines", i), x) for i, x in enumerate(plan.lines))
    yield from ((f"limits[{x.name}]", ("limits", i), x) for i, x in enumerate(plan.limits))
    yield from ((f"fabrics[{i}]", ("fabrics", i), x) for i, x in enumerate(plan.fabrics))
    for i, group in enumerate(plan.racks):
        yield f"racks[{i}]", ("racks", i), group
        yield from (
            (f"racks[{i}].devices[{j}]", ("racks", i, "devices", j), device)
            for j, device in enumerate(group.devices)
        )


def leaves(name: str, plan: Plan) -> Iterator[tuple[str, DataPath]]:
    """Yield (identifier, path) for every field that verification must judge."""
    for label, path, part in parts(plan):
        for field in type(part).model_fields:
            key = f"{name}-{label}.{field}"
            if field not in FREE and field != "loss" and key not in OPEN:
                yield key, (*path, field)


def tampered(plan: Plan, path: DataPath) -> Plan:
    """Return the plan with the value at ``path`` a little wrong."""
    value: Any = plan
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    changed: Plan = put(plan, path, other(value))
    return changed
