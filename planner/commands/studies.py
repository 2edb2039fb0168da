"""Studies as further sheets of a plan's workbook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.api import Options
from planner.inputs import Inputs
from planner.schema.plan import Plan
from planner.studies.registry import BESIDE_PLANS, load

if TYPE_CHECKING:
    from planner.outputs.workbook.book import Book

Sheets = Iterator[tuple[str, "Callable[[Book], None]"]]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take where studies of it follow."""


def sheets(inputs: Inputs, plan: Plan, options: Options, names: Sequence[str]) -> Sheets:
    """Yield the sheets of studies by name, and what fills them.

    Args:
        inputs: the problem.
        plan: its best plan; without one there is nothing to study.
        options: how to solve.
        names: which studies.
    """
    for name, result in BESIDE_PLANS.items():
        if name in names and plan.lines:
            record = load(result.beside)(inputs, plan, options)
            if record is not None:
                yield from load(result.sheets)(record).items()
