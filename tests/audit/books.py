"""Workbooks of shipped problems, and edits laid over them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import openpyxl
from openpyxl.workbook import Workbook

from planner.assemble.live import live
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.outputs.workbook import write
from planner.outputs.workbook.inputs import InputCell, Scalar
from planner.schema.plan import Plan
from tests.world.solved import solved

PROBLEMS = Path(__file__).parents[2] / "problems"
SOLVABLE = sorted(
    path.stem for path in PROBLEMS.glob("*.yaml") if path.stem != "infeasible_restore"
)


@dataclass(frozen=True)
class Book:
    """A workbook as planner writes it: the plan, the bytes, and the cells that may be edited."""

    plan: Plan
    content: bytes
    cells: tuple[InputCell, ...]

    def opened(self) -> Workbook:
        return openpyxl.load_workbook(io.BytesIO(self.content))

    def cell(self, kind: str, key: str) -> InputCell:
        return next(cell for cell in self.cells if (cell.kind, cell.key) == (kind, key))


@lru_cache
def book(problem: str, *settings: str) -> Book:
    """Return the workbook of a shipped problem."""
    inputs, plan = load(PROBLEMS / f"{problem}.yaml", settings=settings), solved(problem, *settings)
    stream = io.BytesIO()
    cells = write(
        plan,
        stream,
        created=datetime(2026, 3, 1),
        inputs=inputs_to_text(inputs),
        live=live(inputs, plan),
    )
    return Book(plan, stream.getvalue(), cells)


Edits = dict[tuple[str, str], Scalar]
"""Value by (kind, key) of the input."""


def edited(source: Book, path: Path, edits: Edits) -> Path:
    """Save the workbook with values typed into its inputs."""
    document = source.opened()
    for (kind, key), value in edits.items():
        cell = source.cell(kind, key)
        assert not document[cell.sheet][cell.cell].protection.locked
        document[cell.sheet][cell.cell].value = value
    document.save(path)
    return path
