"""The sheet ``Checks``: one row per limit, with its slack, live where the figures are."""

from __future__ import annotations

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.limits import COUNTED_IN
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, INTEGER, PERCENT_2, Range, paid
from planner.outputs.workbook.checks.rows import Check, check_for, editable, waiting
from planner.outputs.workbook.formulas import known
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
    for number, limit in enumerate(limits, start=1):
        _row(page, _HEADER_ROW + number, limit, number)
    _summary(page, first, last)
    for row in range(first, last + 1):
        page.mark(row, _RESULT, "begins with", "OVER", "bad")
        page.mark(row, _RESULT, "begins with", "OK", "good")
    if limits:
        page.sheet.autofilter(_HEADER_ROW, 0, last, _ID)
    page.finish(_ID, (_HEADER_ROW + 1, 1))


def _row(page: Page, row: int, limit: LimitReport, number: int) -> None:
    """Write one limit."""
    check = check_for(page.book, limit)
    style = _number_format(limit)
    page.text(row, _LABEL, limit.label)
    _side(page, row, _VALUE, check.value, limit.value, style)
    page.text(row, _SENSE, "=" if limit.exact else _SENSE_TEXT[limit.sense], align="center")
    _allowed(page, row, limit, check, style)
    page.define(f"check_value_{number}", row, _VALUE)
    page.define(f"check_limit_{number}", row, _LIMIT)
    page.text(row, _UNIT, in_money(limit.unit))
    _verdict(page, row, limit, check, style)
    page.text(row, _BINDS, "binds" if limit.binding else "")
    page.text(row, _FOLLOWS, _follows(check))
    page.text(row, _SOURCE, limit.source or "")
    page.text(row, _ID, limit.name)
    page.grow(row, [(limit.label, 36), (limit.source or "", 34), (limit.name, 30)])


def _allowed(page: Page, row: int, limit: LimitReport, check: Check, style: str) -> None:
    """Write what is allowed: from another sheet, an input, or what the catalogs say."""
    if check.limit:
        _side(page, row, _LIMIT, check.limit, limit.limit, style)
        page.number(row, _SOLVED, None)
        return
    page.number(row, _SOLVED, limit.limit, style, "fixed")
    if not editable(limit.name) or (limit.name == "racks" and _of_several_kinds(page.book)):
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


def _of_several_kinds(book: Book) -> bool:
    """Return whether the racks of the hall are no one number that could be edited."""
    return any(limit.name.startswith("rack_positions.") for limit in book.plan.limits)


def whole_number(limit: LimitReport) -> bool:
    """Return whether a limit counts things."""
    return limit.unit in COUNTED_IN and float(limit.limit).is_integer()


def _number_format(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if limit.unit in ("USD", "USD/h") and limit.name.startswith("per_"):
        return "#,##0.0000"
    whole = float(limit.value).is_integer() and float(limit.limit).is_integer()
    if limit.unit in ("USD", "USD/year"):
        return paid(DECIMAL_2)
    return INTEGER if whole else DECIMAL_2


def _side(page: Page, row: int, column: int, formula: str, value: float, number: str) -> None:
    if formula:
        page.formula(row, column, f"={formula}", number, "cross", plan=value)
    else:
        page.number(row, column, value, number)


def _verdict(page: Page, row: int, limit: LimitReport, check: Check, number: str) -> None:
    """Write slack and result; what cannot be computed any more does not pass."""
    value, allowed = (xl_rowcol_to_cell(row, column) for column in (_VALUE, _LIMIT))
    slack = f"{allowed}-{value}" if limit.sense == "<=" else f"{value}-{allowed}"
    if limit.exact:
        slack = f"-ABS({slack})"
    both = known(value, allowed)
    page.formula(row, _SLACK, f'=IF({both},{slack},"n/a")', number)
    good = f'IF({check.about}="","OK","OK (about)")' if check.about else '"OK"'
    if check.flag:
        good = f'IF({check.flag}="",{good},"OK (known part)")'
    holds = f"{slack}>=-{check.tolerance:G}*ABS({allowed})"
    # A limit that was cleared limits nothing; a value that is no number reaches no limit.
    cleared = f"ISBLANK({check.limit or allowed})"
    text = f'IF({cleared},"no limit",IF({both},IF({holds},{good},"OVER"),"OVER"))'
    if check.applies:
        text = f'IF({check.applies},{text},"{NOT_NOW}")'
    page.formula(row, _RESULT, f"={text}", align="center")


def _follows(check: Check) -> str:
    if not check.value:
        return "no: as solved"
    return "yes" if check.limit else "the value"


def _summary(page: Page, first: int, last: int) -> None:
    """Say how many limits are broken, and count the limits edited on this sheet."""
    text, edits, limits = '="No limits"', "0", last - first + 1
    if limits:
        cells = _column(first, last, _RESULT)
        over, idle = f'COUNTIF({cells},"OVER")', f'COUNTIF({cells},"{NOT_NOW}")'
        count = f"({limits}-{idle})"
        text = (
            f'=IF({over}=0,"All "&{count}&" limits hold","OVER: "&{over}&" of "&{count}&" limits")'
        )
        limit, solved = _column(first, last, _LIMIT), _column(first, last, _SOLVED)
        edits = f'SUMPRODUCT(({solved}<>"")*({limit}<>{solved}))'
    page.strip(_SUMMARY_ROW, text, ("OVER",))
    page.text(_SUMMARY_ROW, _FOLLOWS, "Limits edited here", "subtitle", "right")
    page.formula(_SUMMARY_ROW, _SOLVED, f"={edits}", INTEGER, plan=0.0)
    page.define("checks_edits", _SUMMARY_ROW, _SOLVED)


def _column(first: int, last: int, column: int) -> str:
    top = xl_rowcol_to_cell(first, column, row_abs=True, col_abs=True)
    return f"{top}:{xl_rowcol_to_cell(last, column, row_abs=True, col_abs=True)}"
