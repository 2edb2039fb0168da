"""Workbooks of shipped problems and of plans made by hand, each written once."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from planner.inputs import inputs_to_text
from planner.loader import load
from planner.report.edition import Audience
from planner.schema import Prices
from planner.schema.plan import Plan
from planner.workbook import write
from planner.workbook.book import Book, Input
from tests.world.solved import FILES, solved

CREATED = datetime(2026, 3, 1, 12, 0)
PROBLEMS = Path(__file__).parents[2] / "problems"
SOLVABLE = sorted(path.stem for path in PROBLEMS.glob("*.yaml") if "infeasible" not in path.stem)


@dataclass(frozen=True)
class Made:
    """A workbook as planner writes it: the plan, the bytes, and its cells."""

    plan: Plan
    content: bytes
    book: Book

    def input(self, kind: str, key: str) -> Input:
        """Return the cell that is an input of something."""
        return next(each for each in self.book.inputs if (each.of.kind, each.of.key) == (kind, key))


def made(
    plan: Plan,
    audience: Audience = "internal",
    prices: Prices | None = None,
    inputs: bytes | None = None,
) -> Made:
    """Return an edition of a plan's workbook."""
    stream = io.BytesIO()
    book = write(
        plan, stream, created=CREATED, audience=audience, prices=prices, inputs=inputs, keep=True
    )
    return Made(plan, stream.getvalue(), book)


def written(plan: Plan, audience: Audience = "internal", prices: Prices | None = None) -> bytes:
    """Return the bytes of an edition of a plan's workbook."""
    return made(plan, audience, prices).content


@cache
def shipped(problem: str, *settings: str) -> Made:
    """Return the internal workbook of a shipped problem, which carries its plan."""
    inputs = load(FILES[problem], settings=settings)
    return made(solved(problem, *settings), inputs=inputs_to_text(inputs))
