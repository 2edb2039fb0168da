"""The sheet ``Ways``: how the job may run on its GPU systems, each with its draw and its rate.

The cell ``way`` on Checkpoint chooses a row by its name; power, rate and all that follows are those
of the row.
"""

from __future__ import annotations

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_3, INTEGER, PERCENT
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.beside import Ways

SHEET = "Ways"

_COLUMNS = (
    ("Way", 24), ("Chosen", 9), ("GPU power cap", 11), ("Cap of one GPU, W", 12),
    ("System, kW", 12), ("System, typical kW", 12), ("Rate of one GPU, TFLOP/s", 14),
)  # fmt: skip
_LABEL, _CHOSEN, _CAP, _WATTS, _KW, _TYPICAL, _RATE = range(len(_COLUMNS))
_FIRST = FIRST_ROW + 2
_NAMES = {_WATTS: "way_gpu_limit_w", _KW: "way_power_kw", _TYPICAL: "way_typical_kw",
          _RATE: "way_tflops_per_gpu"}  # fmt: skip
_SAYS = (
    "Choose a way by its name, in the cell of the sheet Checkpoint; cap the GPUs as it says.",
    "Racks, PDUs and CDUs are those of the rated power: a cap can be taken back.",
)
_NUMBERS = {_WATTS: INTEGER, _KW: DECIMAL_3, _TYPICAL: DECIMAL_3, _RATE: DECIMAL_1}


def chosen_from(ways: Ways) -> str:
    """Return the range of the names to choose from, for the rule of a cell."""
    last = _FIRST + len(ways.rows) - 1
    return f"={SHEET}!{cell_range(_FIRST, _LABEL, last)}"


def add(book: Book) -> None:
    """Add the sheet, and name what the chosen way draws and does; left out where none is known."""
    ways = book.live.ways
    if ways is None or book.job is None:
        return
    page = Page(book, SHEET, "Ways to run the job")
    page.banner()
    for row, text in enumerate(_SAYS, start=FIRST_ROW - 2):
        page.text(row, 0, text, "subtitle")
    page.headers(_FIRST - 1, _COLUMNS, 42)
    several = len(ways.rows) > 1
    for row, way in enumerate(ways.rows, start=_FIRST):
        page.text(row, _LABEL, way.label)
        if several:
            text = f"=IF(way={_cell(row, _LABEL)},1,0)"
            page.formula(row, _CHOSEN, text, INTEGER, "cross")
        else:
            page.number(row, _CHOSEN, 1.0, INTEGER)
        page.number(row, _CAP, way.gpu_cap, PERCENT)
        figures = (way.gpu_limit_w, way.power_kw, way.typical_kw, way.tflops_per_gpu)
        for (column, number), figure in zip(_NUMBERS.items(), figures, strict=True):
            page.number(row, column, figure, number)
    total = _FIRST + len(ways.rows)
    page.fill(total, ("As chosen",), "total", len(_COLUMNS))
    chosen = cell_range(_FIRST, _CHOSEN, total - 1)
    for column, name in _NAMES.items():
        text = f"=SUMPRODUCT({chosen},{cell_range(_FIRST, column, total - 1)})"
        page.formula(total, column, text, _NUMBERS[column], "total")
        page.define(name, total, column)
    page.finish(_RATE, (_FIRST, 1))


def scale(ways: Ways) -> str:
    """Return the formula of what other counts of GPUs in use leave of the rate, as a factor."""
    if ways.exponent:
        return f"*(gpus_in_use/{ways.gpus_used})^-{ways.exponent!r}"
    if ways.filled is not None and (ways.lost or ways.stage_gpus):
        solved = 1.0 + ways.lost / (ways.filled // ways.gpus_used)
        lost, filled = repr(ways.lost), repr(ways.filled)
        if ways.stage_gpus:
            lost = f"(replica_gpus/{ways.stage_gpus}-1)/{ways.interleave}"
            filled = f"{ways.micro_batches}*replica_gpus"
        factor = f"{solved!r}/(1+{lost}/MAX(1,INT({filled}/MAX(1,gpus_in_use))))"
        if ways.stage_gpus:
            factor = f"IF(ISNUMBER(replica_gpus),{factor},{solved!r})"
        return f"*{factor}"
    return ""


def _cell(row: int, column: int) -> str:
    return f"{xl_rowcol_to_cell(row, column, True, True)}"
