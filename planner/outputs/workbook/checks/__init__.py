"""The sheet ``Checks``: one row per limit, with its slack, live where the figures are."""

from __future__ import annotations

from collections.abc import Sequence

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.limits import COUNTED_IN
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checks.rows import Check, check_for, editable, waiting
from planner.outputs.workbook.formats import DECIMAL_2, INTEGER, PERCENT_2
from planner.outputs.workbook.formulas import known
from planner.outputs.workbook.inputs import Range
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import LimitReport

_COLUMNS = (
    ("Limit", 36),
    ("Value", 17),
    ("Sense", 8),
    ("Allowed", 17),
    ("Unit", 12),
    ("Slack", 17),
    ("Result", 17),
    ("In the solved plan", 12),
    ("Follows edits", 15),
    ("Allowed, as solved", 17),
    ("Where the limit comes from", 34),
    ("Id", 30),
)
(
    _LABEL,
    _VALUE,
    _SENSE,
    _LIMIT,
    _UNIT,
    _SLACK,
    _RESULT,
    _BINDS,
    _FOLLOWS,
    _SOLVED,
    _SOURCE,
    _ID,
) = range(len(_COLUMNS))
NOT_NOW = "n/a"
"""The result of a limit that says nothing as things stand."""

_SENSE_TEXT = {"<=": "≤", ">=": "≥"}
_SUMMARY_ROW = FIRST_ROW
_HEADER_ROW = FIRST_ROW + 2


def add(book: Book) -> None:
    """Add the sheet; limits that are nowhere else in the workbook are inputs here."""
    page = Page(book, "Checks", "Checks")
    page.banner()
    page.legend()
    page.headers(_HEADER_ROW, _COLUMNS)
    limits = (*book.plan.limits, *waiting(book))
    first, last = _HEADER_ROW + 1, _HEADER_ROW + len(limits)
    results = [_row(page, first + index, limit, index + 1) for index, limit in enumerate(limits)]
    _summary(page, results, first)
    for row in range(first, last + 1):
        page.mark(row, _RESULT, "begins with", "OVER", "bad")
        page.mark(row, _RESULT, "begins with", "OK", "good")
    if limits:
        page.sheet.autofilter(_HEADER_ROW, 0, last, _ID)
    page.finish(_ID, (_HEADER_ROW + 1, 1))


def _row(page: Page, row: int, limit: LimitReport, number: int) -> str:
    """Write one limit and return its result in the solved plan."""
    check = check_for(page.book, limit)
    style = _number_format(limit)
    page.text(row, _LABEL, limit.label)
    _side(page, row, _VALUE, check.value, limit.value, style)
    page.text(row, _SENSE, "=" if limit.exact else _SENSE_TEXT[limit.sense], align="center")
    _allowed(page, row, limit, check, style)
    page.define(f"check_value_{number}", row, _VALUE, limit.value)
    page.define(f"check_limit_{number}", row, _LIMIT, limit.limit)
    page.text(row, _UNIT, limit.unit)
    result = _verdict(page, row, limit, check, style)
    page.text(row, _BINDS, "binds" if limit.binding else "")
    page.text(row, _FOLLOWS, _follows(check))
    page.text(row, _SOURCE, limit.source or "")
    page.text(row, _ID, limit.name)
    page.grow(row, [(limit.label, 36), (limit.source or "", 34), (limit.name, 30)])
    return result


def _allowed(page: Page, row: int, limit: LimitReport, check: Check, style: str) -> None:
    """Write what is allowed: from another sheet, an input, or what the catalogs say."""
    if check.limit:
        _side(page, row, _LIMIT, check.limit, limit.limit, style)
        page.number(row, _SOLVED, None)
        return
    page.number(row, _SOLVED, limit.limit, style, "fixed")
    if not editable(limit.name):
        page.number(row, _LIMIT, limit.limit, style)
        return
    highest = 1.0 if limit.unit == "share" else 1e15
    # A budget or a count may be 0; a time, a rate or a price of work may not.
    counted = whole_number(limit) or limit.unit in ("USD", "USD/year", "kW")
    lowest = 0.0 if counted and not limit.name.startswith("per_") else 1e-9
    page.input(
        "",
        row,
        _LIMIT,
        limit.limit,
        style,
        label=limit.label,
        unit=limit.unit,
        allowed=Range(lowest, highest, whole_number(limit), blank=True),
        kind="limit",
        key=limit.name,
    )


def whole_number(limit: LimitReport) -> bool:
    """Return whether a limit counts things."""
    return limit.unit in COUNTED_IN and float(limit.limit).is_integer()


def _number_format(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if limit.unit in ("USD", "USD/h") and limit.name.startswith("per_"):
        return "#,##0.0000"
    whole = float(limit.value).is_integer() and float(limit.limit).is_integer()
    return INTEGER if whole and limit.unit not in ("USD", "USD/year") else DECIMAL_2


def _side(page: Page, row: int, column: int, formula: str, value: float, number: str) -> None:
    if formula:
        page.formula(row, column, f"={formula}", value, number, "cross")
    else:
        page.number(row, column, value, number)


def _verdict(page: Page, row: int, limit: LimitReport, check: Check, number: str) -> str:
    """Write slack and result; what cannot be computed any more does not pass."""
    value, allowed = (xl_rowcol_to_cell(row, column) for column in (_VALUE, _LIMIT))
    at_most = limit.sense == "<="
    slack = f"{allowed}-{value}" if at_most else f"{value}-{allowed}"
    solved_slack = limit.limit - limit.value if at_most else limit.value - limit.limit
    if limit.exact:
        slack, solved_slack = f"-ABS({slack})", -abs(solved_slack) or 0.0
    both = known(value, allowed)
    page.formula(row, _SLACK, f'=IF({both},{slack},"n/a")', solved_slack, number)
    flagged = any(page.book.value(name) for name in check.flag.split("&") if name)
    good = f'IF({check.flag}="","OK","OK (known part)")' if check.flag else '"OK"'
    holds = f"{slack}>=-{check.tolerance:G}*ABS({allowed})"
    # A limit that was cleared limits nothing; a value that is no number reaches no limit.
    cleared = f"ISBLANK({check.limit or allowed})"
    text = f'IF({cleared},"no limit",IF({both},IF({holds},{good},"OVER"),"OVER"))'
    if check.applies:
        text = f'IF({check.applies},{text},"{NOT_NOW}")'
    text = f"={text}"
    ok = solved_slack >= -check.tolerance * abs(limit.limit)
    shown = ("OK (known part)" if flagged else "OK") if ok else "OVER"
    if limit.name not in {each.name for each in page.book.plan.limits}:
        shown = NOT_NOW
    page.formula(row, _RESULT, text, shown, align="center")
    return shown


def _follows(check: Check) -> str:
    if not check.value:
        return "no: as solved"
    return "yes" if check.limit else "the value"


def _summary(page: Page, results: Sequence[str], first: int) -> None:
    """Say how many limits are broken, and count the limits edited on this sheet."""
    text, shown, edits = '="No limits"', "No limits", "0"
    if results:
        last = first + len(results) - 1
        cells = _column(first, last, _RESULT)
        over, idle = f'COUNTIF({cells},"OVER")', f'COUNTIF({cells},"{NOT_NOW}")'
        count = f"({len(results)}-{idle})"
        text = (
            f'=IF({over}=0,"All "&{count}&" limits hold","OVER: "&{over}&" of "&{count}&" limits")'
        )
        broken, counted = results.count("OVER"), len(results) - results.count(NOT_NOW)
        shown = f"All {counted} limits hold"
        if broken:
            shown = f"OVER: {broken} of {counted} limits"
        limit, solved = _column(first, last, _LIMIT), _column(first, last, _SOLVED)
        edits = f'SUMPRODUCT(({solved}<>"")*({limit}<>{solved}))'
    page.strip(_SUMMARY_ROW, text, shown, ("OVER",))
    page.text(_SUMMARY_ROW, _FOLLOWS, "Limits edited here", "subtitle", "right")
    page.formula(_SUMMARY_ROW, _SOLVED, f"={edits}", 0, INTEGER)
    page.define("checks_edits", _SUMMARY_ROW, _SOLVED, 0)


def _column(first: int, last: int, column: int) -> str:
    top = xl_rowcol_to_cell(first, column, row_abs=True, col_abs=True)
    return f"{top}:{xl_rowcol_to_cell(last, column, row_abs=True, col_abs=True)}"
