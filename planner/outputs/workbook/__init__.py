"""The workbook: a plan as a live spreadsheet. One module per sheet; `SHEETS` is their order.

A sheet that has nothing to show is left out. A formula needs the names of the cells it reads, so
sheets are filled in another order than they are read in. Imported only when a workbook is written,
because it loads the spreadsheet writer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import BinaryIO

import xlsxwriter

from planner.outputs.audience import Audience, for_audience
from planner.outputs.workbook import data, fingerprint
from planner.outputs.workbook.alternatives import add as _alternatives
from planner.outputs.workbook.bom import add as _bom
from planner.outputs.workbook.bom.line_notes import add as _line_notes
from planner.outputs.workbook.book import Book, new_workbook
from planner.outputs.workbook.checkpoint import add as _checkpoint
from planner.outputs.workbook.checks import add as _checks
from planner.outputs.workbook.counts import add as _counts
from planner.outputs.workbook.cover import add as _cover
from planner.outputs.workbook.fabric import add as _fabric
from planner.outputs.workbook.inputs import InputCell, Scalar
from planner.outputs.workbook.notes import add as _notes
from planner.outputs.workbook.notes import add_assumptions as _assumptions
from planner.outputs.workbook.own_lines import add as _own_lines
from planner.outputs.workbook.power import add as _power
from planner.outputs.workbook.racks import add as _racks
from planner.outputs.workbook.sensitivity import add as _sensitivity
from planner.outputs.workbook.summary import add as _summary
from planner.outputs.workbook.tco import add as _tco
from planner.outputs.workbook.ways import add as _ways
from planner.schema.live import Live
from planner.schema.plan import Plan

SHEETS: dict[str, Callable[[Book], None]] = {
    "Cover": _cover,
    "Summary": _summary,
    "BOM": _bom,
    "Line notes": _line_notes,
    "Own lines": _own_lines,
    "Checkpoint": _checkpoint,
    "Ways": _ways,
    "Power & Cooling": _power,
    "Racks": _racks,
    "Fabric": _fabric,
    "TCO": _tco,
    "Alternatives": _alternatives,
    "Sensitivity": _sensitivity,
    "Counts": _counts,
    "Checks": _checks,
    "Assumptions": _assumptions,
    "Notes": _notes,
}
"""What fills each sheet, in reading order."""

STUDY_SHEETS = (
    "Why", "Why not", "Rules", "Near-optimal", "Sweep", "Sweep table", "Frontier storage",
    "Frontier cost", "Frontier power", "Tornado", "Uncertainty", "Cables",
)  # fmt: skip
"""Sheets that studies may add."""

_FIRST = ("BOM", "Own lines", "Counts", "Ways", "Checkpoint", "Checks")
"""Sheets whose names the others use; the rest follows in reading order."""

_LAST = ("Summary", "Cover")
"""Sheets that read the others; the cover lists the sheets there are, so it comes last of all."""


def write(
    plan: Plan,
    stream: BinaryIO,
    *,
    created: datetime,
    audience: Audience = "internal",
    inputs: str | None = None,
    studies: Sequence[tuple[str, Callable[[Book], None]]] = (),
    live: Live | None = None,
) -> tuple[InputCell, ...]:
    """Write ``plan`` as a workbook; the same plan and date give the same bytes.

    Returns the cells that a reader may change.

    Args:
        plan: what to show; one without lines gives sheets that say why there is no plan.
        stream: where the bytes go, open for writing.
        created: the date of the document.
        audience: whom it is for; the customer's edition holds no money at all.
        inputs: what the plan was made from, as JSON, for `planner audit`; an edition for the
            inside carries it.
        studies: sheets of studies by name, and what fills them: records that do not recalculate,
            for the inside.
        live: what figures follow an edit by: the counts of companions, the ways to run the job;
            without it they stay as solved.

    Raises:
        ValueError: the plan holds more than one job.
    """
    if len(plan.jobs) > 1:
        raise ValueError(f"a workbook shows one job, the plan holds {len(plan.jobs)}")
    plan = for_audience(plan, audience)
    if live is not None and audience != "internal":
        live = Live(growth=live.growth)  # rates and curves stay inside
    comments = "budgetary" if audience == "internal" else "indicative"
    workbook = new_workbook(stream, plan.problem, created, comments=comments)
    workbook.set_calc_mode("auto")
    book = Book(plan, workbook, created=created, audience=audience, live=live)
    between = (name for name in SHEETS if name not in (*_FIRST, *_LAST))
    for name in (*_FIRST, *between):
        SHEETS[name](book)
    if audience == "internal":
        for _, add in studies:
            add(book)
    if inputs is not None and audience == "internal":
        data.add(book, plan, inputs, tuple(name for name, _ in studies))
    SHEETS["Summary"](book)
    fingerprint.add(book)
    SHEETS["Cover"](book)
    book.calculate()
    _put_in_reading_order(workbook)
    workbook.close()
    return tuple(book.inputs)


def recalculated(
    plan: Plan,
    edits: Mapping[tuple[str, str], Scalar],
    *,
    created: datetime,
    live: Live | None = None,
) -> Book:
    """Return the sheets that formulas rest on, as they are with cells edited.

    Args:
        plan: what the workbook was made from.
        edits: what each edited cell holds, by sheet and address.
        created: the date of the document.
        live: as `write` was given it.
    """
    workbook = new_workbook(io.BytesIO(), plan.problem, created)
    book = Book(plan, workbook, created=created, live=live)
    for name in _FIRST:
        SHEETS[name](book)
    # The banner asks for it, after it has counted what was edited.
    book.sheet(fingerprint.SHEET).write_number(0, 0, 0)
    book.define("fingerprint_differs", f"{fingerprint.SHEET}!$A$1")
    book.lay(edits)
    return book


def _put_in_reading_order(workbook: xlsxwriter.Workbook) -> None:
    """Put sheets in their order, those of studies before the checks."""
    before = list(SHEETS).index("Counts")
    names = [*list(SHEETS)[:before], *STUDY_SHEETS, *list(SHEETS)[before:]]
    names += [fingerprint.SHEET, data.SHEET]
    places = {name: place for place, name in enumerate(names)}
    workbook.worksheets_objs.sort(key=lambda sheet: places[sheet.get_name()])
    # The tab that opens, print areas and repeated rows refer to a sheet by its place.
    for place, sheet in enumerate(workbook.worksheets()):
        sheet.index = place
