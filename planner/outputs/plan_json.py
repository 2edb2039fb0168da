"""The plan as JSON: stable key order, quantities' keys end in their unit."""

from __future__ import annotations

from planner.schema.plan import Plan


def to_bytes(plan: Plan) -> bytes:
    """Return the plan as indented UTF-8 JSON with a final newline."""
    return (plan.model_dump_json(indent=2) + "\n").encode()


def from_bytes(data: bytes) -> Plan:
    """Return the plan in such JSON; raises pydantic's ValidationError where it is none."""
    return Plan.model_validate_json(data)
