"""The sheet ``Own lines``: lines that whoever sends the bill adds to it, ten to a section.

What they come to counts in the totals of BOM, in budgets and everything that follows from money.
They draw nothing and take no space: what does belongs into the problem.
"""

from __future__ import annotations

from typing import Literal

from xlsxwriter.utility import xl_rowcol_to_cell

from planner import currency
from planner.outputs import scope
from planner.outputs.words import in_money
from planner.outputs.workbook import formulas
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_2,
    DECIMAL_2_OR_DASH,
    GENERAL,
    INTEGER,
    PERCENT,
    InputCell,
    Range,
    paid,
)
from planner.outputs.workbook.page import FIRST_ROW, Page

SHEET = "Own lines"
LINES = 10
"""Open lines of a section."""
SECTIONS = (
    "Compute", "Storage", "Network", "Optics & cables", "Racks & power", "Software", "Services",
)  # fmt: skip

Field = Literal[
    "model", "vendor", "part_number", "quantity", "unit_list", "discount", "per_year", "remark"
]
_TEXT = Range(free_text=True, blank=True)
_OPEN: dict[Field, tuple[str, float, str, Range, str]] = {
    "model": ("Description", 40, GENERAL, _TEXT,
              "What is added to the bill, such as Installation or Freight."),
    "vendor": ("Supplier", 16, GENERAL, _TEXT, "Who supplies it."),
    "part_number": ("Part number", 16, GENERAL, _TEXT, "As the supplier has it."),
    "quantity": ("Quantity", 9.5, INTEGER, Range(0, 10_000_000, whole=True, blank=True),
                 "Units; blank counts as 1."),
    "unit_list": ("Unit list, USD", 13.5, DECIMAL_2, Range(0, 1e12, blank=True),
                  "List price of one unit, USD. Without it the line does not count."),
    "discount": ("Discount", 9.5, PERCENT, Range(0, 1, blank=True),
                 "Off the list price, as a share."),
    "per_year": ("Per unit and year, USD", 13.5, DECIMAL_2, Range(0, 1e12, blank=True),
                 "Support, or what else of one unit is paid every year of the term, USD; the "
                 "discount is not taken off it."),
    "remark": ("Remark", 30, GENERAL, _TEXT, "A note of your own on this line."),
}  # fmt: skip
"""Title, width, number format, what may be written and the prompt of each open column."""
_SECTION, _NUMBER, _FIRST_OPEN = 0, 1, 2
_FIELDS = tuple(_OPEN)
_AT = {field: _FIRST_OPEN + place for place, field in enumerate(_FIELDS)}
_NET, _LIST_SUM, _NET_SUM, _YEAR_SUM = (_FIRST_OPEN + len(_FIELDS) + at for at in range(4))
_SUMS = (
    ("Unit net, USD", 13.5), ("Extended list, USD", 15), ("Extended net, USD", 15),
    ("Per year, USD", 15),
)  # fmt: skip

_SAYS = (
    "Lines of your own, ten to a section: what they cost, at once and every year, counts in the "
    "totals of BOM, in budgets, opex and TCO. They draw no power and take no space.",
    "planner audit takes them back as services of the order. Something that draws power or takes "
    "space belongs into the problem file, as an item under extras.",
)


def key(section: str, number: int, field: str) -> str:
    """Return what tells an open cell from the others: its section, its line and its column."""
    return f"{section}|{number}|{field}"


def add(book: Book) -> None:
    """Add the sheet, where the edition shows money and there is a bill to add to."""
    if not book.money or book.job is None:
        return
    page = Page(book, SHEET, "Lines of your own")
    page.banner()
    for row, text in enumerate(_SAYS, start=FIRST_ROW - 2):
        page.text(row, 0, text, "subtitle")
    head = FIRST_ROW + 1
    titles = [(in_money(title), width) for title, width, *_ in _OPEN.values()]
    sums = [(in_money(title), width) for title, width in _SUMS]
    page.headers(head, [("Section", 16), ("Line", 6), *titles, *sums])
    first, row = head + 1, head + 1
    for section in SECTIONS:
        for number in range(1, LINES + 1):
            _line(page, row, section, number)
            row += 1
    _open(page, first, row - 1)
    _totals(page, first, row)
    page.finish(_YEAR_SUM, (head + 1, _AT["quantity"]))
    page.sheet.fit_to_pages(1, 1)


def _line(page: Page, row: int, section: str, number: int) -> None:
    page.text(row, _SECTION, section, "fixed")
    page.number(row, _NUMBER, float(number), INTEGER, "fixed")
    for field, (title, _, form, allowed, _) in _OPEN.items():
        page.scalar(row, _AT[field], None, paid(form), "input")
        label = f"{title.partition(',')[0].lower()} of own line {number} of {section}"
        unit = {"unit_list": "USD", "discount": "share", "quantity": "units",
                "per_year": "USD"}.get(field, "")  # fmt: skip
        cell = xl_rowcol_to_cell(row, _AT[field])
        name = key(section, number, field)
        page.book.inputs.append(
            InputCell(SHEET, cell, "own_line", name, label, unit, None, allowed)
        )
    price, discount, count, yearly = (
        xl_rowcol_to_cell(row, _AT[field])
        for field in ("unit_list", "discount", "quantity", "per_year")
    )
    net = xl_rowcol_to_cell(row, _NET)
    bought, cents = f'IF({count}="",1,{count})', currency.current().decimals
    form = paid(DECIMAL_2_OR_DASH)
    page.formula(row, _NET, f'=IF({price}="",0,ROUND({price}*(1-N({discount})),{cents}))',
                 form)  # fmt: skip
    page.formula(row, _LIST_SUM, f'=IF({price}="",0,ROUND({price}*{bought},{cents}))', form)
    page.formula(row, _NET_SUM, f'=IF({price}="",0,ROUND({net}*{bought},{cents}))', form)
    text = f'=IF({yearly}="",0,ROUND(ROUND({yearly},{cents})*{bought},{cents}))'
    page.formula(row, _YEAR_SUM, text, form)


def _open(page: Page, first: int, last: int) -> None:
    """Lay the rule and the prompt of each open column over all its lines."""
    for field, (title, _, _, allowed, prompt) in _OPEN.items():
        rule = allowed.validation(in_money(prompt), in_money(title))
        page.sheet.data_validation(first, _AT[field], last, _AT[field], rule)


def _totals(page: Page, first: int, row: int) -> None:
    """Write the sums, what of them is not known, and how many cells were filled in."""
    page.fill(row, ("Total of own lines",), "total", _YEAR_SUM + 1)
    sums = (("own_list_usd", _LIST_SUM), ("own_net_usd", _NET_SUM), ("own_yearly_usd", _YEAR_SUM))
    for name, column in sums:
        text = f"=SUM({formulas.cell_range(first, column, row - 1)})"
        page.formula(row, column, text, paid(DECIMAL_2_OR_DASH), "total", plan=0.0)
        page.define(name, row, column)
    model, count, price, yearly = (
        formulas.cell_range(first, _AT[field], row - 1)
        for field in ("model", "quantity", "unit_list", "per_year")
    )
    named, priceless = f'({model}<>"")+({count}<>"")', f'({price}="")*({yearly}="")'
    page.formula(row + 1, _NET_SUM, f'=IF(SUMPRODUCT({priceless}*({named}))>0,"known part","")',
                 role="flag")  # fmt: skip
    page.define("own_flag", row + 1, _NET_SUM)
    cells = formulas.cell_range(first, _FIRST_OPEN, row - 1, _FIRST_OPEN + len(_FIELDS) - 1)
    if scope.over_time(page.book.plan):
        page.text(row + 1, 0, "Per year, over the term", "subtitle")
        text = f"=IFERROR(own_yearly_usd*({formulas.years('years')}),0)"
        page.formula(row + 1, _YEAR_SUM, text, paid(DECIMAL_2_OR_DASH), plan=0.0)
        page.define("own_over_term_usd", row + 1, _YEAR_SUM)
    page.text(row + 2, 0, "Cells filled in on this sheet", "subtitle")
    page.formula(row + 2, _AT["quantity"], f"=COUNTA({cells})", INTEGER, plan=0.0)
    page.define("own_edits", row + 2, _AT["quantity"])
