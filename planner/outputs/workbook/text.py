"""Strings from users and catalogs, made safe for a cell."""

from __future__ import annotations

from planner.outputs.text_safety import CELL_LIMIT, clean
from planner.outputs.words import product
from planner.schema.plan import Plan

__all__ = ["CELL_LIMIT", "clean", "footer", "names"]


def footer(text: str) -> str:
    """Return ``text`` for a page footer, where an ampersand starts a code."""
    return clean(text, 60).replace("\n", " ").replace("&", "&&")


def names(plan: Plan) -> dict[str, str]:
    """Return manufacturer and model of everything in a plan, by catalog id."""
    return {line.sku: product(line) for line in plan.lines}
