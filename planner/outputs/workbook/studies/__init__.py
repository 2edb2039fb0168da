"""Workbooks of studies: results beside the plan, each sheet a record that does not recalculate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import BinaryIO

import xlsxwriter

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.text import clean
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
        sheets: what adds each sheet, in reading order.
        created: the date of the document.
        title: its title, by default the problem's name.
    """
    # The whole workbook may itself hold sheets of studies.
    from planner.outputs.workbook import DEFAULT_LOOK

    workbook = xlsxwriter.Workbook(
        stream, {"in_memory": True, "default_format_properties": dict(DEFAULT_LOOK)}
    )
    workbook.set_properties({"title": clean(title or plan.problem, 200), "created": created})
    book = Book(plan, workbook, created=created)
    for add in sheets:
        add(book)
    workbook.close()
