"""Workbooks of shipped problems, and edits laid over them."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import openpyxl
from openpyxl.workbook import Workbook

from planner.assemble.ways import live
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.outputs.workbook import write
from planner.outputs.workbook.cells import InputCell, Scalar
from planner.schema.plan import Plan
from tests.workbook.office import to_read, with_value
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
    """Save the workbook with values typed into its inputs, and formulas that show no value yet."""
    document = to_read(source.content)
    typed: dict[str, Edits] = {}
    for key, value in edits.items():
        cell = source.cell(*key)
        assert not document[cell.sheet][cell.cell].protection.locked
        part = f"xl/worksheets/sheet{document.sheetnames.index(cell.sheet) + 1}.xml"
        typed.setdefault(part, {})[key] = value
    with (
        zipfile.ZipFile(io.BytesIO(source.content)) as read,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as write_to,
    ):
        for part in read.namelist():
            text = re.sub(rb"</f><v>[^<]*</v>", b"</f>", read.read(part))
            for key, value in typed.get(part, {}).items():
                text = with_value(text, source.cell(*key).cell, value)
            write_to.writestr(part, text)
    return path
