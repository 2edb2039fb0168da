"""The workbook: a plan as a live spreadsheet. One module per sheet; `SHEETS` is their order.

A sheet that has nothing to show is left out. A formula needs the names of the cells it reads, so
sheets are filled in another order than they are read in. Imported only when a workbook is written,
because it loads the spreadsheet writer.
"""

from __future__ import annotations

import gc
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

import xlsxwriter

from planner.currency import shown_in
from planner.outputs.audience import Audience, Prices, for_audience
from planner.outputs.restated import restated
from planner.outputs.workbook import fingerprint
from planner.outputs.workbook.about import add as _about
from planner.outputs.workbook.alternatives import add as _alternatives
from planner.outputs.workbook.bom import add as _bom
from planner.outputs.workbook.bom import add_line_notes as _line_notes
from planner.outputs.workbook.bom import add_sources as _sources
from planner.outputs.workbook.book import Book, new_workbook
from planner.outputs.workbook.cells import InputCell, Scalar
from planner.outputs.workbook.checkpoint import add as _checkpoint
from planner.outputs.workbook.checks import add as _checks
from planner.outputs.workbook.counts import add as _counts
from planner.outputs.workbook.fabric import add as _fabric
from planner.outputs.workbook.notes import add as _notes
from planner.outputs.workbook.notes import add_assumptions as _assumptions
from planner.outputs.workbook.notes import add_left_out as _left_out
from planner.outputs.workbook.notes import add_terms as _terms
from planner.outputs.workbook.own_lines import add as _own_lines
from planner.outputs.workbook.power import add as _power
from planner.outputs.workbook.racks import add as _racks
from planner.outputs.workbook.sensitivity import add as _sensitivity
from planner.outputs.workbook.summary import add as _summary
from planner.outputs.workbook.tco import add as _tco
from planner.outputs.workbook.units_out import add as _units_out
from planner.outputs.workbook.ways import add as _ways
from planner.schema.beside import Live
from planner.schema.plan import Plan

SHEETS: dict[str, Callable[[Book], None]] = {
    "Summary": _summary,
    "About": _about,
    "BOM": _bom,
    "Line notes": _line_notes,
    "Own lines": _own_lines,
    "Checkpoint": _checkpoint,
    "Ways": _ways,
    "Units out": _units_out,
    "Power & Cooling": _power,
    "Racks": _racks,
    "Fabric": _fabric,
    "TCO": _tco,
    "Counts": _counts,
    "Checks": _checks,
    "Notes": _notes,
}
"""What fills each sheet of a plan, in reading order: the answer comes first."""

APPENDIX: dict[str, Callable[[Book], None]] = {
    "Alternatives": _alternatives,
    "Sensitivity": _sensitivity,
    "Assumptions": _assumptions,
    "Sources": _sources,
    "Left out": _left_out,
    "Terms": _terms,
}
"""What fills the sheets that stand in the appendix, which is for the inside."""

STUDY_SHEETS = (
    "Why", "Why not", "Rules", "Near-optimal", "Sweep", "Sweep table", "Frontier storage",
    "Frontier cost", "Frontier power", "Tornado", "Uncertainty", "Cables",
)  # fmt: skip
"""Sheets that studies may add, in reading order; those of others stand behind them."""

_PACKED = (fingerprint.SHEET, fingerprint.DATA_SHEET)
"""What a workbook knows of itself."""

_INSIDE = ("Line notes", "TCO")
"""Sheets of a plan that only the inside sees."""

_FIRST = ("BOM", "Own lines", "Counts", "Ways", "Units out", "Checkpoint", "Checks")
"""Sheets whose names the others use; the rest follows in reading order."""

_LAST = ("Summary", "About")
"""Sheets that read the others; the last one lists the sheets there are."""


def study_sheets(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the names that a plan's workbook can have for a study's sheet, once each."""
    own = {name.casefold() for name in (*SHEETS, *APPENDIX, *_PACKED)}
    found: dict[str, str] = {}
    for name in names:
        if re.fullmatch(r"[A-Z][A-Za-z -]{0,30}", name) and name.casefold() not in own:
            found.setdefault(name.casefold(), name)
    return tuple(found.values())


def write(
    plan: Plan,
    stream: BinaryIO,
    *,
    created: datetime,
    audience: Audience = "internal",
    prices: Prices | None = None,
    inputs: str | None = None,
    studies: Sequence[tuple[str, Callable[[Book], None]]] = (),
    appendix: bool = False,
    live: Live | None = None,
) -> tuple[InputCell, ...]:
    """Write ``plan`` as a workbook; the same plan and date give the same bytes.

    The appendix is a workbook of its own for the inside. It holds the plan's sheets too, hidden,
    because its own are live over them; only the plan's workbook carries what `planner audit` reads.

    Returns the cells that a reader may change.

    Args:
        plan: what to show; one without lines gives sheets that say why there is no plan.
        stream: where the bytes go, open for writing.
        prices: which prices it shows, by default those of the audience.
        inputs: what the plan was made from, as JSON, for `planner audit`; an edition for the
            inside carries it.
        studies: sheets of studies by name, and what fills them: records in the plan's currency
            that do not recalculate, for the inside.
        appendix: write the appendix in place of the plan.
        live: what figures follow an edit by: the counts of companions, the ways to run the job;
            without it they stay as solved.

    Raises:
        ValueError: the plan holds more than one job, or an appendix is asked for the outside.
    """
    if len(plan.jobs) > 1:
        raise ValueError(f"a workbook shows one job, the plan holds {len(plan.jobs)}")
    inside = audience == "internal"
    if appendix and not inside:
        raise ValueError("the appendix is for the inside")
    solved, plan = plan, restated(for_audience(plan, audience, prices))
    if live is not None and not inside:
        live = Live(growth=live.growth)  # rates and curves stay inside
    comments = "budgetary" if inside else "indicative"
    with (
        shown_in(replace(plan.shown_in, usd=1.0)),
        _no_collection(),
    ):  # amounts are in that currency
        workbook = new_workbook(stream, plan.problem, created, comments=comments)
        workbook.set_calc_mode("auto")
        book = Book(plan, workbook, created=created, audience=audience, prices=prices,
                    appendix=appendix, live=live)  # fmt: skip
        book.studies = tuple(name for name, _ in studies) if inside else ()
        shown = [name for name in SHEETS if inside or name not in _INSIDE]
        for name in (*_FIRST, *(name for name in shown if name not in (*_FIRST, *_LAST))):
            SHEETS[name](book)
        for add in APPENDIX.values() if appendix else ():
            add(book)
        for _, add in studies if inside else ():
            add(book)
        if inputs is not None and inside and not appendix:
            fingerprint.add_data(book, solved, inputs, tuple(name for name, _ in studies))
        SHEETS["Summary"](book)
        fingerprint.add(book)
        _hide(book)
        SHEETS["About"](book)
        book.calculate()
        _put_in_reading_order(workbook, appendix)
        workbook.close()
    return tuple(book.inputs)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection: hundreds of thousands of cells have no cycles to find."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


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
        live: as `write` was given it.
    """
    plan = restated(plan)
    with shown_in(replace(plan.shown_in, usd=1.0)):
        workbook = new_workbook(io.BytesIO(), plan.problem, created)
        book = Book(plan, workbook, created=created, live=live)
        for name in _FIRST:
            SHEETS[name](book)
        # The banner asks for it, after it has counted what was edited.
        book.sheet(fingerprint.SHEET).write_number(0, 0, 0)
        book.define("fingerprint_differs", f"{fingerprint.SHEET}!$A$1")
        book.lay(edits)
    return book


def _hide(book: Book) -> None:
    """Hide what is not for reading: workings, by what a workbook knows itself, a plan's appendix.

    Outside, what the limits come to stands on the first page; the sheet it is read from is hidden.
    """
    names = [
        fingerprint.SHEET,
        fingerprint.DATA_SHEET,
        "Counts",
        *(SHEETS if book.appendix else ()),
    ]
    for name in (*names, *(() if book.inside else ("Checks",))):
        sheet = book.workbook.get_worksheet_by_name(name)
        if sheet is not None and name != "About":
            sheet.hide()
            sheet.print_area_range = ""  # what is hidden is printed by some programs all the same


def _put_in_reading_order(workbook: xlsxwriter.Workbook, appendix: bool) -> None:
    """Put sheets in their order, those of studies before the checks."""
    before = list(SHEETS).index("Counts")
    names = [*list(SHEETS)[:before], *STUDY_SHEETS, *list(SHEETS)[before:]]
    if appendix:
        names = ["About", *APPENDIX, *STUDY_SHEETS, *(name for name in SHEETS if name != "About")]
    names += _PACKED
    after = names.index(STUDY_SHEETS[-1])
    others = [sheet.get_name() for sheet in workbook.worksheets() if sheet.get_name() not in names]
    names[after:after] = others
    places = {name: place for place, name in enumerate(names)}
    workbook.worksheets_objs.sort(key=lambda sheet: places[sheet.get_name()])
    # The tab that opens, print areas and repeated rows refer to a sheet by its place.
    for place, sheet in enumerate(workbook.worksheets()):
        sheet.index = place
