"""The workbook: a plan as a live spreadsheet. One module per sheet; `SHEETS` is their order.

A sheet that has nothing to show is left out. Imported only when a workbook is written, because it
loads the spreadsheet writer.
"""

from __future__ import annotations

from datetime import datetime
from typing import BinaryIO

import xlsxwriter

from planner.outputs.workbook.assumptions import add as _assumptions
from planner.outputs.workbook.bom import add as _bom
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint import add as _checkpoint
from planner.outputs.workbook.checks import add as _checks
from planner.outputs.workbook.fabric import add as _fabric
from planner.outputs.workbook.racks import add as _racks
from planner.outputs.workbook.text import clean
from planner.schema.plan import Plan

SHEETS = (_bom, _checkpoint, _checks, _racks, _fabric, _assumptions)


def write(plan: Plan, stream: BinaryIO, *, created: datetime) -> None:
    """Write ``plan`` as a workbook; the same plan and date give the same bytes.

    Args:
        plan: what to show; one without lines gives sheets that say why there is no plan.
        stream: where the bytes go, open for writing.
        created: the date of the document.

    Raises:
        ValueError: the plan holds more than one job.
    """
    if len(plan.jobs) > 1:
        raise ValueError(f"a workbook shows one job, the plan holds {len(plan.jobs)}")
    workbook = xlsxwriter.Workbook(stream, {"in_memory": True})
    workbook.set_properties(
        {"title": clean(plan.problem, 200), "comments": "budgetary", "created": created}
    )
    workbook.set_calc_mode("auto")
    book = Book(plan, workbook)
    for add in SHEETS:
        add(book)
    workbook.close()
