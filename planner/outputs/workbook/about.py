"""The sheet ``About``: what this document is, for whom, how good the plan is, and what is where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, time

from planner.outputs import scope
from planner.outputs.words import clean, gives_away, quantity, small_share
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import Range
from planner.outputs.workbook.page import FIRST_ROW, Page

_WIDTHS = (28, 54, 30, 30, 28)
_LABEL, _VALUE = 0, 1
_LAST = len(_WIDTHS) - 1
_DATE = "d mmmm yyyy"
_VALID_DAYS = 30
_TITLE_LENGTH = 90

_STATUS = {
    "optimal": "optimal: no plan is better by more than the gap below",
    "feasible": "feasible: the search ended before the proof; a better plan may exist",
    "infeasible": "infeasible: no plan keeps to every limit",
    "unbounded": "unbounded: nothing limits the objective",
    "no_solution": "no plan was found before the search ended",
}
_SOLVERS = {"highs": ("HiGHS", "highspy"), "cbc": ("CBC", "pulp")}
"""What each solver is called, and the package it comes with."""

_SHOWS = {
    "Summary": "The answer on one page: what to buy, what it does, what holds it",
    "BOM": "Bill of materials, line by line, with quantities to edit and live totals",
    "Line notes": "Each line of the bill in full: what it is for, what is not known of it",
    "Sources": "Where the price of each line is from",
    "Own lines": "Lines of your own: what they cost counts in every total",
    "Checkpoint": "The sizing model, live: inputs, drain, restore, goodput, totals",
    "Units out": "How long so many units are out at once, and the replicas that run meanwhile",
    "Ways": "The power set points and precisions that the job may run at, with draw and rate",
    "Power & Cooling": "Power and heat by section and at the meter, feeds and cooling",
    "Racks": "What stands where, rack by rack",
    "Fabric": "Every network: switches, links, how full it is",
    "TCO": "What it costs: at once, year by year, and for what it yields",
    "Alternatives": "What storage by the vendors' rules would take, and what it would buy",
    "Sensitivity": "This purchase under other conditions: one input at a time, bandwidth, interval",
    "Why": "What holds the plan, and what one more unit of each limit is worth (a record)",
    "Why not": "Other vendors, GPU systems and rules; every item left aside, and why (a record)",
    "Rules": "The same problem with storage sized and chosen in other ways (a record)",
    "Near-optimal": "Plans nearly as good that differ as much as possible (a record)",
    "Sweep": "The best plan of many scenarios: what was varied, where the plan changes (a record)",
    "Sweep table": "Every scenario of the sweep, a row each, to be filtered (a record)",
    "Frontier storage": "The most useful work against delivered write bandwidth (a record)",
    "Frontier cost": "The most useful work against capex (a record)",
    "Frontier power": "The most useful work against power at the meter (a record)",
    "Tornado": "Which inputs the best plan depends on most, one at a time (a record)",
    "Uncertainty": "What becomes of the plan where inputs are not known exactly (a record)",
    "Cables": "Every link with its ends: what to pull, from where to where, how long",
    "Checks": "Every limit: value, allowed, slack, OK or OVER",
    "Left out": "What the catalogs have and the plan could not hold, each with the reason",
    "Terms": "Words that the sheets use, and how their figures are meant",
    "Assumptions": "Every input of the plan: value, unit, source, confidence",
    "Notes": "What is counted and what is not, and what to know of it",
}
"""What each sheet shows, in reading order."""

_STUDY, _AFTER_STUDIES = "A study of this plan (a record)", "Checks"


def add(book: Book) -> None:
    """Add the sheet; it is written last, so that it lists the sheets there are."""
    page = Page(book, "About", clean(" ".join(book.plan.problem.split()), _TITLE_LENGTH))
    if book.appendix:
        page.text(1, 0, "Appendix: records and workings of the plan as solved; what is edited in "
                  "the plan's workbook does not show here", "subtitle")  # fmt: skip
    else:
        page.text(1, 0, "AI training cluster: what to buy, and how the job runs on it", "subtitle")
    page.banner()
    page.legend()
    for column, width in enumerate(_WIDTHS):
        page.sheet.set_column(column, column, width)
    row = _document(page)
    if book.inside:
        row = _texts(page, "The plan, as solved", _plan(book), row)
    row = _sheets(page, row)
    if book.inside:
        _texts(page, "Made with", _made(book), row)
    page.sheet.repeat_rows(0, FIRST_ROW - 1)
    page.finish(_LAST, (FIRST_ROW, 0))
    page.sheet.fit_to_pages(1, 1)


_EDITIONS = {
    "internal": "Internal edition: holds prices and discounts, not for the customer",
    "partner": "Partner edition",
    "customer": "Customer edition",
}
_CURRENCIES = {
    "net": "{money}, net, {taxes}",
    "list+net": "{money}, list and net, {taxes}",
}
_NET_OF_DISCOUNTS = "{money}, net of discounts, {taxes}"


def _paid_in(book: Book) -> str:
    """Return in which currency amounts are and, inside, at what rate."""
    money = book.plan.shown_in
    text = _CURRENCIES.get(book.prices, _NET_OF_DISCOUNTS)
    rate = f"; {money.rate_text()}" if book.inside and money.code != "USD" else ""
    named = money.code if money.name == money.code else f"{money.name} ({money.code})"
    return text.format(money=named, taxes=scope.taxes(book.plan)) + rate


def _document(page: Page) -> int:
    """Write who made this for whom, and until when it is good; return the next free row."""
    book = page.book
    page.fill(FIRST_ROW, ("This document",), "heading", _LAST + 1)
    row = _text(page, "Project", book.plan.problem, FIRST_ROW + 1)
    if book.plan.description:
        row = _text(page, "Description", book.plan.description, row)
    row = _text(page, "Edition", _EDITIONS[book.audience], row)
    for label in ("Prepared by", "Prepared for", "Reference"):
        _label(page, label, row)
        name = f"cover_{label.lower().replace(' ', '_')}"
        page.input(name, row, _VALUE, None, label=label, allowed=Range(free_text=True))
        row += 1
    row = _dates(page, row)
    if book.prices != "none":
        row = _text(page, "Currency", _paid_in(book), row)
    standing = "Budgetary" if book.prices != "none" else "Indicative"
    return _text(page, "Standing", f"{standing} figures, not an offer", row) + 1


def _dates(page: Page, row: int) -> int:
    """Write date, validity and end of validity; return the next free row."""
    book, formats = page.book, page.book.formats
    _label(page, "Date", row)
    day = datetime.combine(book.created.date(), time())
    page.sheet.write_datetime(row, _VALUE, day, formats.get("formula", _DATE, "left"))
    page.define("cover_date", row, _VALUE)
    _label(page, "Valid for", row + 1)
    days = '0 "days"'
    allowed = Range(0, 3650, whole=True)
    page.input("cover_valid_days", row + 1, _VALUE, _VALID_DAYS, days, label="Valid for",
               unit="days", allowed=allowed)  # fmt: skip
    style = formats.get("input", days, "left")
    page.sheet.write_number(row + 1, _VALUE, _VALID_DAYS, style)
    _label(page, "Valid until", row + 2)
    text = '=IF(ISNUMBER(cover_valid_days),cover_date+cover_valid_days,"n/a")'
    page.formula(row + 2, _VALUE, text, _DATE, align="left")
    return row + 3


def _plan(book: Book) -> list[tuple[str, str]]:
    plan, goal = book.plan, book.plan.objective
    pairs = [("Status", _STATUS[plan.status])]
    if plan.message:
        pairs.append(("Message", plan.message))
    pairs.append(("Objective", f"{goal.sense} {goal.name.replace('_', ' ')}"))
    if goal.value is not None:
        pairs.append(("Value", quantity(goal.value, goal.unit)))
    if goal.gap is not None:
        pairs.append(("Proven gap, at most", f"{small_share(goal.gap)} of the best value"))
    if gives_away(goal) and goal.given_away is not None:
        pairs.append(("Given away for less", small_share(goal.given_away)))
    return pairs


def _made(book: Book) -> list[tuple[str, str]]:
    made = book.plan.provenance
    solver, package = _SOLVERS.get(made.solver, (made.solver, ""))
    version = made.versions.get(package)
    return [
        ("Tool", made.tool),
        ("Solver", f"{solver} ({package} {version})" if version else solver),
        ("Input SHA-256", made.input_sha256),
    ]


def _sheets(page: Page, row: int) -> int:
    """Write a link to every other sheet of the workbook; return the next free row."""
    page.fill(row, ("Sheets: click a name to go there",), "heading", _LAST + 1)
    row += 1
    look = {
        "font_name": "Arial", "font_size": 10, "font_color": "#1F3A5F", "bold": True,
        "underline": 1, "align": "left", "indent": 1, "valign": "top",
        "bottom": 4, "bottom_color": "#BFBFBF",
    }  # fmt: skip
    style = page.book.workbook.add_format(look)
    for name, shows in _all(page.book):
        sheet = page.book.workbook.get_worksheet_by_name(name)
        if sheet is None or sheet.hidden:
            continue
        page.sheet.write_url(row, _LABEL, f"internal:'{name}'!A1", style, name)
        _merged(page, shows, row)
        row += 1
    return row + 1


def _all(book: Book) -> Iterator[tuple[str, str]]:
    """Yield every sheet there may be with what it shows, in reading order."""
    for name, shows in _SHOWS.items():
        if name == _AFTER_STUDIES:
            yield from ((other, _STUDY) for other in book.studies if other not in _SHOWS)
        yield name, shows


def _texts(page: Page, heading: str, pairs: Sequence[tuple[str, str]], row: int) -> int:
    page.fill(row, (heading,), "heading", _LAST + 1)
    row += 1
    for label, text in pairs:
        row = _text(page, label, text, row)
    return row + 1


def _label(page: Page, label: str, row: int) -> None:
    page.text(row, _LABEL, label)
    for column in range(_VALUE, _LAST + 1):
        page.text(row, column, "")


def _text(page: Page, label: str, text: str, row: int) -> int:
    page.text(row, _LABEL, label)
    _merged(page, text, row)
    page.grow(row, [(text, sum(_WIDTHS[_VALUE:]))])
    return row + 1


def _merged(page: Page, text: str, row: int) -> None:
    """Write a text over all columns beside the label."""
    style = page.book.formats.get("text", align="left")
    page.sheet.merge_range(row, _VALUE, row, _LAST, "", style)
    page.text(row, _VALUE, text, "text", "left")
