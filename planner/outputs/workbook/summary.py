"""The sheet ``Summary``: the answer on one page, for whoever reads nothing else.

One sentence, nine figures, what holds the plan with what it would take to do better, the bill by
section, and where power, money and time go. Everything is live.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from planner import currency
from planner.figures import FIGURES, capital
from planner.limits import known as known_limit
from planner.outputs.scope import Entry, binding_limits
from planner.outputs.why_text import decided, needed, units
from planner.outputs.words import clean, in_money, next_step, product, quantity
from planner.outputs.workbook.answer import COUNT, NAME, TILES, add_answer, add_tiles
from planner.outputs.workbook.bom import subtotal_name
from planner.outputs.workbook.bom.columns import (
    figure_name,
    quantity_name,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_2,
    PERCENT_OR_DASH,
    Role,
    in_large,
    paid,
)
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.rows import UNKNOWN
from planner.schema.plan import LimitReport

_COLUMNS, _WIDTH = TILES, 18.5
_LAST = _COLUMNS - 1
_BESIDE = 5
"""The first column of what stands beside a table: charts, and what a limit is worth."""


def add(book: Book) -> None:
    """Add the sheet; its figures are read from the sheets that work them out."""
    page = Page(book, "Summary", _short(book.plan.problem, 90))
    page.text(
        1, 0, f"What to buy, what it does, what holds it · {book.created:%-d %B %Y}", "subtitle"
    )
    page.banner()
    page.sheet.repeat_rows(0, FIRST_ROW - 1)
    if book.job is None:
        text = "No plan: " + (book.plan.message or book.plan.status)
        page.text(FIRST_ROW, 0, text, "subtitle")
        page.finish(_LAST, (FIRST_ROW, 0))
        return
    page.sheet.set_column(0, _LAST, _WIDTH)
    row = add_tiles(page, FIRST_ROW + 3)
    row = _add_limits(page, row + 1)
    top = row + 1
    row, bill = _add_bill(page, top)
    add_answer(page, FIRST_ROW, bill.core)
    charts = [_power(page, bill)]
    if book.number(_USD):  # some section costs anything: a chart of money says something
        charts.insert(0, _spending(page, bill))
    _add_chart(page, top, row, charts[0])
    top = row + 1
    row = _add_losses(page, top)
    for chart in charts[1:]:
        _add_chart(page, top, row, chart)
    row = _add_storage(page, row + 1)
    page.text(row, 0, "Figures and charts follow edited quantities and inputs; what is said to be "
              "as solved does not.", "subtitle")  # fmt: skip
    page.finish(_LAST, (FIRST_ROW, 0))
    page.sheet.fit_to_pages(1, 1)


def _short(text: str, length: int) -> str:
    """Return a text on one line, with an ellipsis where it is longer than ``length`` characters.

    Args:
        text: anything a user or a catalog wrote.
        length: the most characters of the result.
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _heading(page: Page, row: int, first: int, titles: Sequence[str]) -> None:
    """Write the header row of a table.

    Args:
        first: its first column.
        titles: what stands over each column; the first one is the table's title.
    """
    for column, title in enumerate(titles, start=first):
        align = "left" if column == first else "right"
        page.text(row, column, title, "heading", align)


def _live(
    page: Page,
    row: int,
    column: int,
    formula: str,
    number: str,
    *,
    text: str = "",
    role: Role = "cross",
) -> None:
    """Write a figure that another sheet works out.

    Args:
        formula: a formula over names, without the equals sign, that may be blank or a text.
        number: number format.
        text: what stands where there is no number.
        role: the look of the cell.
    """
    formula = f'=IF(ISNUMBER({formula}),{formula},"{text}")'
    page.formula(row, column, formula, number, role, "right")


def _quotient(
    page: Page,
    row: int,
    column: int,
    over: str,
    under: str,
    number: str,
    role: Role = "formula",
) -> None:
    """Write a quotient of two cells.

    Args:
        over: the name or address of the dividend.
        under: that of the divisor.
        number: number format.
        role: the look of the cell.
    """
    page.formula(row, column, f'=IFERROR({over}/{under},"{UNKNOWN}")', number, role, "right")


_KW, _USD = "bom_it_power_kw", "bom_capex_usd"


class _Bill(NamedTuple):
    """Where the table of the bill stands: rows of its sections and of what is decided on."""

    first: int
    last: int
    core: tuple[int, ...]
    names: int = NAME
    power: int = 3
    net: int = 4


def _add_bill(page: Page, row: int) -> tuple[int, _Bill]:
    """Write the bill: its total, GPU systems and storage, then every section.

    Returns:
        The row under it, and where what stands.
    """
    listed = page.book.blocks
    power = "IT kW"
    money = (in_money("Net, USD"),) if page.book.has(_USD) else ("Of power",)
    _heading(page, row, 0, ("The bill", "", "Quantity", power, *money))
    row += 1
    page.fill(row, ("Total",), "total", _BESIDE)
    _bill_sums(page, row, (_KW, _USD), "total")
    core: list[int] = []
    for block in listed:
        if block.section in ("Compute", "Storage"):
            for entry in block.entries:
                row += 1
                core.append(row)
                _bill_line(page, entry, row)
    first = row + 1
    for block in listed:
        row += 1
        page.fill(row, (block.section,), "line", _BESIDE)
        count = len(block.entries)
        text = f"{count} line" + ("s" if count > 1 else "")
        page.text(row, COUNT, text, "fixed", "right")
        _bill_sums(page, row, (subtotal_name(_KW, block.section),
                               subtotal_name(_USD, block.section)), "cross")  # fmt: skip
    return row + 1, _Bill(first, row, tuple(core))


def _bill_line(page: Page, entry: Entry, row: int) -> None:
    """Write a line of GPU systems or storage."""
    book, line = page.book, entry.line
    name = product(line) if line.working else f"{product(line)} (owned, idle)"
    page.fill(row, ("  " + _short(name, _NAME_LENGTH),), "line", _BESIDE)
    _live(page, row, COUNT, quantity_name(entry.number), INTEGER)
    power = figure_name("power", entry.number)
    _live(page, row, 3, power, DECIMAL_1)
    if book.has(_USD):
        _live(page, row, 4, figure_name("extended_net", entry.number), paid(INTEGER))
    else:
        _quotient(page, row, 4, power, _KW, PERCENT)


def _bill_sums(page: Page, row: int, names: tuple[str, str], role: Role) -> None:
    """Write what a section, or all of them, draw and cost; ``names`` are of those two sums."""
    _live(page, row, 3, names[0], DECIMAL_1_OR_DASH, role=role)
    if page.book.has(_USD):
        _live(page, row, 4, names[1], paid(INTEGER_OR_DASH), role=role)
    else:
        _quotient(page, row, 4, names[0], _KW, PERCENT_OR_DASH, role)


_NAME_LENGTH, _LABEL_LENGTH = 40, 42
_LABEL, _USED, _ALLOWED, _SHARE, _BAR, _WORTH = 0, 2, 3, 4, 5, 6
_MOST_LIMITS = 9
_FULL = 1 + TIME_TOLERANCE
"""A share beyond which a limit is broken and not merely reached."""

_BLOCK, _BLOCKS = "█", 10
_BAR_LOOK = {
    "font_name": "Arial", "font_size": 8, "font_color": "#5B86B5", "align": "left", "indent": 1,
    "valign": "top", "bottom": 4, "bottom_color": "#BFBFBF",
}  # fmt: skip
_MINUTES_PER_DAY = 1440
_SENSES = {"<=": "≤", ">=": "≥"}


def _add_limits(page: Page, row: int) -> int:
    """Write what holds the plan: limits that bind, then those with the least room.

    Returns:
        The row under it.
    """
    better = "What it would take to do better" if page.book.plan.next_step is not None else ""
    heads = ("What holds the plan", "", "Value", "Limit", "Used", "", better, "", "")
    _heading(page, row, _LABEL, heads)
    page.text(row, _WORTH, better, "heading", "left")
    numbered = list(enumerate(page.book.plan.limits, start=1))
    listed = [pair for pair in numbered if not pair[1].exact]
    listed.sort(key=lambda pair: (not pair[1].binding, _is_count(pair[1]), -(_use(pair[1]) or 0.0)))
    style = page.book.workbook.add_format(_BAR_LOOK)
    for number, limit in listed[:_MOST_LIMITS]:
        row += 1
        _limit(page, row, number, limit, style)
    left = len(numbered) - len(listed[:_MOST_LIMITS])
    row += 1
    see = ": see Checks" if page.book.inside else ""
    more = f"; {left} more, with more room{see}" if left else ""
    page.text(row, _LABEL, _binding(page.book) + more, "subtitle")
    step = page.book.plan.next_step
    if step is not None and step.needs:
        row += 1
        page.text(row, _LABEL, f"As solved, {next_step(page.book.plan, step)}", "subtitle")
    return row + 1


def _use(limit: LimitReport) -> float | None:
    over, under = limit.value, limit.limit
    if limit.sense == ">=":
        over, under = under, over
    return over / under if under else None


def _number(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if limit.unit.startswith("USD") and limit.limit >= 1000:
        return paid(INTEGER)
    if float(limit.value).is_integer() and float(limit.limit).is_integer():
        return INTEGER
    return DECIMAL_1 if limit.limit >= 100 else DECIMAL_2


def _label(limit: LimitReport) -> str:
    """Return a limit's label with its unit, where the label does not say it."""
    unit_is_clear = limit.unit in ("", "share", "1", *limit.label.split())
    unit = "" if unit_is_clear else f", {in_money(limit.unit)}"
    label = _short(limit.label, _LABEL_LENGTH - len(unit)) + unit
    return capital(label)


_EACH = re.compile(r"(?:^|;)(?:\[[^]]*\])?")
"""Where each part of a format begins, behind its condition."""


def _limit(page: Page, row: int, number: int, limit: LimitReport, bar: Format) -> None:
    page.fill(row, (_label(limit),), "line", _COLUMNS)
    shown = _number(limit)
    _side(page, row, _USED, f"check_value_{number}", shown)
    bound = _EACH.sub(rf'\g<0>"{_SENSES[limit.sense]} "', shown)
    _side(page, row, _ALLOWED, f"check_limit_{number}", bound)
    over, under = (str(xl_rowcol_to_cell(row, column)) for column in (_USED, _ALLOWED))
    if limit.sense == ">=":
        over, under = under, over
    _quotient(page, row, _SHARE, over, under, PERCENT)
    share = str(xl_rowcol_to_cell(row, _SHARE))
    _bar(page, row, share, bar)
    state = _worth(page.book, limit) if limit.binding else '""'
    text = f'=IF(ISNUMBER({share}),IF({share}>{_FULL},"OVER",{state}),{state})'
    page.formula(row, _WORTH, text, role="line")
    page.mark(row, _WORTH, "begins with", "OVER", "bad")


def _is_count(limit: LimitReport) -> bool:
    """Return whether a limit is a count of an item, which says less than what the site allows."""
    row = known_limit(limit.name)
    return row is None or row.group == "count"


def _worth(book: Book, limit: LimitReport) -> str:
    """Return a formula for what is said of a limit that binds: what the next step needs of it."""
    step = book.plan.next_step
    need = next((n for n in step.needs if n.name == limit.name), None) if step else None
    if step is None or need is None:
        return '"binds"'
    models = {line.sku: product(line) for line in book.plan.lines}
    systems = f"{step.systems:,} {models[step.sku]} more".replace('"', '""')
    return f'"binds; as solved, {quantity(need.value, need.unit)} let in {systems}"'


def _side(page: Page, row: int, column: int, name: str, number: str) -> None:
    _live(page, row, column, name, number, text="no limit")


def _bar(page: Page, row: int, share: str, style: Format) -> None:
    """Draw a share as a bar of blocks, ten at 100 %: text, which every program shows and prints.

    Programs differ in the last bits of a share: one on the half of a block is rounded up in all.
    """
    blocks = f"MIN({_BLOCKS},ROUND({_BLOCKS}*{share}+1E-9,0))"
    text = f'=IF(ISNUMBER({share}),REPT("{_BLOCK}",{blocks}),"")'
    page.sheet.write_formula(row, _BAR, text, style)


def _add_losses(page: Page, row: int) -> int:
    """Write where the wall-clock time goes.

    Returns:
        The row under it.
    """
    _heading(page, row, 0, ("Where the time goes", "", "", "Share", "Minutes a day"))
    assert page.book.job is not None
    for name in page.book.job.losses:
        row += 1
        _loss(page, row, FIGURES[f"loss.{name}"].heading, f"loss_{name}")
    row += 1
    _loss(page, row, "Kept progress (goodput)", "goodput", "total")
    return row + 1


def _loss(page: Page, row: int, label: str, name: str, role: Role = "cross") -> None:
    page.fill(row, (label,), "total" if role == "total" else "line", _BESIDE)
    _live(page, row, 3, name, PERCENT_2, text=UNKNOWN, role=role)
    minutes = f"{name}*{_MINUTES_PER_DAY}"
    _live(page, row, 4, minutes, DECIMAL_1, text=UNKNOWN, role=role)


def _binding(book: Book) -> str:
    """Return which limits stop a better plan, in words."""
    labels = [limit.label for limit in binding_limits(book.plan)]
    if not labels:
        return "As solved, no limit binds"
    verb = "these bind" if len(labels) > 1 else "this binds"
    return _short(f"As solved, {verb}: {', '.join(labels)}", _SENTENCE_LENGTH)


_INK, _FILL, _LINE = "#1A1A1A", "#1F3A5F", "#D9D9D9"
_MILLION, _THOUSAND = 1e6, 1e3
_ROW_HEIGHT, _ROW_PIXELS = 15.75, 21
"""Height of a row beside a chart: the sheet says it, so that every program lays it out alike."""

_COLUMN_PIXELS = int(_WIDTH * 7 + 0.5) + 5
_LEAST_ROWS = 9
"""A chart under this many rows high could not be read."""


def _add_chart(page: Page, top: int, under: int, chart: Any) -> None:
    """Place a chart beside a table, from its first row to the last."""
    for row in range(top, under):
        page.sheet.set_row(row, _ROW_HEIGHT)
    size = {
        "width": (_COLUMNS - _BESIDE) * _COLUMN_PIXELS - 16,
        "height": max(_LEAST_ROWS, under - top) * _ROW_PIXELS,
    }
    chart.set_size(size)
    page.sheet.insert_chart(top, _BESIDE, chart, {"x_offset": 12, "y_offset": 0})


def _power(page: Page, bill: _Bill) -> Any:
    place = (bill.first, bill.last, bill.names, bill.power)
    up = FIGURES["it_power_kw"].column
    return _column_chart(page, "IT power by section, kW", up, place, "#,##0")


def _spending(page: Page, bill: _Bill) -> Any:
    largest = page.book.number("bom_capex_usd") or 0.0
    number, unit = in_large()
    if largest < _MILLION:
        number, unit = "#,##0.0,", in_money("thousand USD")
        if largest < _THOUSAND:
            number, unit = "#,##0", in_money("USD")
    place = (bill.first, bill.last, bill.names, bill.net)
    title = f"Purchase by section, {unit} net"
    return _column_chart(page, title, f"Net, {unit}", place, number)


def _column_chart(
    page: Page, title: str, up: str, place: tuple[int, int, int, int], number: str
) -> Any:
    """Return a chart of the sections of the bill with a label on every column.

    Args:
        title: what it shows, with the unit.
        up: title of the axis of values, with the unit.
        place: first and last row, column of the categories, column of the values.
        number: number format of the values.
    """
    first, last, names, values = place
    chart = page.book.workbook.add_chart({"type": "column"})
    font = {"name": "Arial", "size": 9, "color": _INK}
    chart.add_series(
        {
            "name": title,
            "categories": [page.name, first, names, last, names],
            "values": [page.name, first, values, last, values],
            "fill": {"color": _FILL},
            "gap": 70,
            "data_labels": {"value": True, "num_format": number, "font": font},
        }
    )
    chart.set_title({"name": title, "name_font": font | {"size": 10, "bold": True}})
    quiet = {"name_font": font | {"bold": False}, "num_font": font, "line": {"color": _LINE}}
    chart.set_x_axis({"name": "Section of the bill", **quiet})
    bare = {"visible": False}
    chart.set_y_axis({"name": up, "num_format": number, "major_gridlines": bare, "min": 0, **quiet})
    chart.set_legend({"none": True})
    chart.set_chartarea({"border": {"color": _LINE}})
    return chart


def _add_storage(page: Page, row: int) -> int:
    """Write who else could supply the storage, and whose quote decides; return the row under it."""
    found = page.book.plan.storage_options
    if found is None:
        return row
    size, unit = 1e3, in_money("kUSD")
    if currency.current().large[0] > _MILLION:
        size, unit = currency.current().sizes[1]
    prices = (f"{end}, {unit}" for end in ("Low", "List", "High"))
    _heading(page, row, 0, ("Storage, whoever sells it, as solved", "", "Units", *prices))
    for option in found.options:
        row += 1
        page.fill(row, (_short(units(option), _LABEL_LENGTH),), "line", 6)
        page.number(row, 2, sum(item.units for item in option.items), INTEGER, "fixed")
        for column, usd in enumerate((option.low_usd, option.list_usd, option.high_usd), start=3):
            page.number(row, column, usd / size, INTEGER, "fixed")
    texts = (needed(page.book.plan, found), decided(page.book.plan, found))
    for line in (line for text in texts for line in wrap(text, _STORAGE_LENGTH)):
        row += 1
        page.text(row, 0, line, "subtitle")
    return row + 2


_SENTENCE_LENGTH, _STORAGE_LENGTH = 100, 150
"""Characters of a line over the whole width."""
