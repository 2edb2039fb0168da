"""Studies as further sheets of a plan's workbook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from planner.api import Options
from planner.inputs import Inputs
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.outputs.workbook.book import Book

StudyName = Literal["why", "rules", "alternatives"]
Sheets = Iterator[tuple[str, "Callable[[Book], None]"]]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take where studies of it follow."""
WITHIN = 0.01
MOST = 8


def sheets(inputs: Inputs, plan: Plan, options: Options, names: Sequence[StudyName]) -> Sheets:
    """Yield the sheets of studies by name, and what fills them.

    Args:
        inputs: the problem.
        plan: its best plan; without one there is nothing to study.
        options: how to solve.
        names: which studies.
    """
    makers = {"why": _why, "rules": _rules, "alternatives": _alternatives}
    for name, make in makers.items():
        if name in names and plan.lines:
            yield from make(inputs, plan, options)


def _why(inputs: Inputs, plan: Plan, options: Options) -> Sheets:
    from planner.outputs.workbook.studies import why, why_not
    from planner.studies.explain import explain

    found = explain(inputs, options, plan=plan)
    yield why.SHEET, partial(why.add, found=found)
    if found.why_not is not None:
        yield why_not.SHEET, partial(why_not.add, study=found.why_not)


def _rules(inputs: Inputs, plan: Plan, options: Options) -> Sheets:
    from planner.outputs.workbook.studies import rules
    from planner.studies.compare.rules import rules_table

    yield rules.SHEET, partial(rules.add, table=rules_table(inputs, plan, options))


def _alternatives(inputs: Inputs, plan: Plan, options: Options) -> Sheets:
    from planner.outputs.workbook.studies import near
    from planner.studies.alternatives import alternatives

    found = alternatives(inputs, options, within=WITHIN, most=MOST)
    if found.alternatives:
        yield near.SHEET, partial(near.add, study=found)
