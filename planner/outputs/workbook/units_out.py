"""The sheet ``Units out``: of a job that goes on with fewer replicas, how long so many are out.

A row for each number of units out, with the replicas that run then. How long it lasts follows from
the row above: what runs fails, what is out comes back. What the job loses by it is on Checkpoint.
"""

from __future__ import annotations

import math

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_3, INTEGER, SMALL
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import Repair
from planner.sizing.facility import HOURS_PER_YEAR

SHEET = "Units out"
NEVER = "-1E+99"
"""What stands for the logarithm of nothing."""

_COLUMNS = (
    ("Units out", 12), ("Replicas that run", 12), ("Hours a year", 14),
    ("Logarithm of its weight", 16), ("Weight: 1 of the likeliest", 16),
    ("Weight of units that come back and let more run", 22),
)  # fmt: skip
OUT, RUNNING, _HOURS, LOG, WEIGHT, BACK = range(len(_COLUMNS))
_FIRST = FIRST_ROW + 2
_SAYS = (
    "Each row follows from the one above: only what runs fails, and what is out comes back.",
    "The rows are enough for four times the repairs as solved, or 300 more; else Checkpoint shows "
    "n/a.",
)


def add(book: Book) -> None:
    """Add the sheet; left out where no job goes on with fewer replicas."""
    repair = None if book.job is None else book.job.repair
    if repair is None or repair.shrunk is None:
        return
    page = Page(book, SHEET, "Units out at once, and the replicas that run meanwhile")
    page.banner()
    for row, text in enumerate(_SAYS, start=FIRST_ROW - 2):
        page.text(row, 0, text, "subtitle")
    page.headers(_FIRST - 1, _COLUMNS, 42)
    for out in range(most_out(repair) + 1):
        _row(page, out, repair.shrunk.least_replicas)
    page.finish(BACK, (_FIRST, 1))


def most_out(repair: Repair) -> int:
    """Return the last number of units out that has a row: what is beyond takes next to no time,
    even after an edit that asks for some times the repairs."""
    load = min(4.0 * repair.load, repair.load + 300.0)
    return math.ceil(load + 8.0 * math.sqrt(load) + 20.0)


def column(repair: Repair, of: int, *, above: bool = False) -> str:
    """Return a column of the table as formulas of other sheets read it.

    Args:
        of: which column.
        above: for each row but the first what the row above has, rather than the row itself.
    """
    first, last = (_FIRST, most_out(repair) - 1) if above else (_FIRST + 1, most_out(repair))
    return f"'{SHEET}'!{cell_range(first, of, _FIRST + last)}"


def whole_column(repair: Repair, of: int) -> str:
    """Return a column of the table with its first row, that of no unit out."""
    return f"'{SHEET}'!{cell_range(_FIRST, of, _FIRST + most_out(repair))}"


def last(repair: Repair, of: int) -> str:
    """Return a cell of the last row of the table."""
    return f"'{SHEET}'!{_cell(_FIRST + most_out(repair), of)}"


def _row(page: Page, out: int, least: int) -> None:
    row = _FIRST + out
    held = f"INT(gpus_of_unit*MAX(0,units_in_all-{_cell(row, OUT)})/replica_gpus+1E-9)"
    log, back = "0", "0"
    if out:
        above, now = _cell(row - 1, RUNNING), _cell(row, RUNNING)
        longer = f"LN(repair_load*{above}/replicas_whole/{_cell(row, OUT)})"
        log = f"IF({above}>0,{_cell(row - 1, LOG)}+{longer},{NEVER})"
        back = f"IF(AND({now}>0,{above}>{now}),{_cell(row, WEIGHT)}*{_cell(row, OUT)},0)"
    page.number(row, OUT, float(out), INTEGER, "fixed")
    text = f"=IFERROR(IF({held}>={least},MIN(replicas_whole,{held}),0),0)"
    page.formula(row, RUNNING, text, INTEGER, "cross")
    text = f"=IFERROR({HOURS_PER_YEAR:.0f}*{_cell(row, WEIGHT)}/states_weigh,0)"
    page.formula(row, _HOURS, text, DECIMAL_1, "cross")
    page.formula(row, LOG, f"=IFERROR({log},{NEVER})", DECIMAL_3, "cross")
    page.formula(row, WEIGHT, f"=EXP({_cell(row, LOG)}-likeliest_log)", SMALL, "cross")
    page.formula(row, BACK, f"={back}", SMALL)


def _cell(row: int, of: int) -> str:
    return str(xl_rowcol_to_cell(row, of, row_abs=True, col_abs=True))
