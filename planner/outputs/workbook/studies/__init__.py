"""Workbooks of studies: results beside the plan, each sheet a record that does not recalculate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from planner.currency import shown_in
from planner.outputs.restated import restated
from planner.outputs.workbook.book import Book, new_workbook
from planner.schema.plan import Plan

Sheet = Callable[[Book], None]
"""What adds one sheet, such as ``partial(rules.add, table=table)``."""


def write_study(
    stream: BinaryIO, plan: Plan, sheets: Iterable[Sheet], *, created: datetime, title: str = ""
) -> None:
    """Write a workbook of these sheets; the same input and date give the same bytes.

    Args:
        stream: where the bytes go, open for writing.
        plan: the plan that the sheets are about, for subtitles and footers.
        sheets: what adds each sheet, in reading order; of records in the plan's currency.
        title: its title, by default the problem's name.
    """
    workbook = new_workbook(stream, title or plan.problem, created)
    book = Book(restated(plan), workbook, created=created)
    with shown_in(replace(plan.shown_in, usd=1.0)):  # records are restated
        for add in sheets:
            add(book)
        workbook.close()
