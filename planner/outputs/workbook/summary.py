"""The sheet ``Summary``: the plan on one page, for whoever reads nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.outputs.numbering import Block, Entry, blocks
from planner.outputs.rivals_text import decided, needed, units
from planner.outputs.text_safety import clean
from planner.outputs.words import product
from planner.outputs.workbook.bom import subtotal_name
from planner.outputs.workbook.bom.rows import figure_name, quantity_name, working_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_2,
    Role,
)
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.rows import UNKNOWN
from planner.schema.plan import LimitReport


def add(book: Book) -> None:
    """Add the sheet; its figures are read from the sheets that work them out."""
    page = Page(book, "Summary", "Summary")
    page.banner()
    page.sheet.repeat_rows(0, FIRST_ROW - 1)
    if book.job is None:
        text = "No plan: " + (book.plan.message or book.plan.status)
        page.text(FIRST_ROW, 0, text, "subtitle")
        page.finish(_LAST, (FIRST_ROW, 0))
        return
    page.legend()
    for column, width in enumerate(_widths(book.money)):
        page.sheet.set_column(column, column, width)
    _tables(page)
    page.finish(_LAST, (FIRST_ROW, 0))
    page.sheet.fit_to_pages(1, 1)


def _tables(page: Page) -> None:
    under_bill, sections = _add_bill(page, FIRST_ROW)
    under_limits = _add_limits(page, FIRST_ROW)
    under_losses, losses = _add_losses(page, under_limits + 1)
    row = max(_add_figures(page, FIRST_ROW), under_bill, under_losses) + 1
    _add_charts(page, row, losses, sections)
    row = _add_storage(page, row + _CHART_ROWS)
    page.text(row, 0, "Figures and charts follow edited quantities and inputs; what is said to be "
              "as solved does not.", "subtitle")  # fmt: skip
    page.text(row, _LIMITS, _binding(page.book), "subtitle")
    for written in range(FIRST_ROW, row + 1):
        page.sheet.set_row(written, _ROW_HEIGHT)


def _add_storage(page: Page, row: int) -> int:
    """Write who else could supply the storage, and whose quote decides; return the row under it."""
    found = page.book.plan.storage_options
    if found is None:
        return row
    titles = ("Storage, whoever sells it, as solved", "Units", "Low kUSD", "List", "High kUSD")
    _heading(page, row, _PURCHASE, titles)
    said = [*wrap(needed(found), _STORAGE_LENGTH), *wrap(decided(found), _STORAGE_LENGTH)]
    for place, line in enumerate(said):
        page.text(row + place, _LIMITS, line, "subtitle")
    under = row + len(said)
    for option in found.options:
        row += 1
        page.text(row, _PURCHASE, _short(units(option), _LABEL_LENGTH))
        page.number(row, _PURCHASE + 1, sum(item.units for item in option.items), INTEGER, "fixed")
        for column, usd in enumerate((option.low_usd, option.list_usd, option.high_usd), start=2):
            page.number(row, _PURCHASE + column, usd / 1000.0, INTEGER, "fixed")
    return max(row + 2, under + 1)


_STORAGE_LENGTH = 100
"""Characters of a line over the columns of the limits."""
_GAP = 2.0
"""Width of the empty column between two tables, in characters."""

_HEADLINES, _PURCHASE, _LIMITS = 0, 4, 10
"""First columns of the three tables that stand beside each other."""

_WIDTHS = (33, 13, 9, _GAP, 34, 8.5, 9.5, 8.5, 14.5, _GAP, 41, 12.5, 14, 8.5, 13, 8)
_MONEY_COLUMN = 8
"""The column that an edition without money leaves empty."""

_LAST = len(_WIDTHS) - 1


def _widths(money: bool) -> tuple[float, ...]:
    """Return the width of every column in characters.

    Args:
        money: whether the edition shows any.
    """
    return _WIDTHS if money else (*_WIDTHS[:_MONEY_COLUMN], _GAP, *_WIDTHS[_MONEY_COLUMN + 1 :])


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
        page: the sheet.
        row: its row.
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
        page: the sheet.
        row: the cell's row.
        column: the cell's column.
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
        page: the sheet.
        row: the cell's row.
        column: the cell's column.
        over: the name or address of the dividend.
        under: that of the divisor.
        number: number format.
        role: the look of the cell.
    """
    page.formula(row, column, f'=IFERROR({over}/{under},"{UNKNOWN}")', number, role, "right")


_POWER_FLAG = "bom_it_power_kw_flag"


@dataclass(frozen=True)
class _Headline:
    """A headline: a figure over one cell's name, in its unit or a larger one.

    ``flag`` are the names that mark an incomplete sum; ``cell`` is the name where it is not the
    figure's.
    """

    figure: Figure
    flag: str = ""
    cell: str = ""
    larger: tuple[float, str] = (1.0, "")

    @property
    def name(self) -> str:
        return self.cell or self.figure.name

    @property
    def formula(self) -> str:
        size, _ = self.larger
        return self.name if size == 1 else f"{self.name}/{size:g}"

    @property
    def unit(self) -> str:
        _, unit = self.larger
        return unit or ("of time" if self.figure.unit == "share" else self.figure.unit)


_JOB = (
    _Headline(FIGURES["useful_pflops"]),
    _Headline(FIGURES["goodput"]),
    _Headline(FIGURES["gpus"], cell="bom_gpus"),
    _Headline(FIGURES["gpus_used"], cell="gpus_in_use"),
    _Headline(FIGURES["useful_gpus"]),
    _Headline(FIGURES["days_to_train"]),
)
_CHECKPOINT = (
    _Headline(FIGURES["checkpoint_gb"], larger=(1000.0, "TB")),
    _Headline(FIGURES["interval_s"], larger=(60.0, "min")),
    _Headline(FIGURES["stall_s"]),
    _Headline(FIGURES["drain_s"]),
    _Headline(FIGURES["restore_s"]),
)
_SITE = (
    _Headline(FIGURES["usable_tb"], "bom_usable_tb_flag"),
    _Headline(FIGURES["it_power_kw"], _POWER_FLAG),
    _Headline(FIGURES["facility_power_kw"], _POWER_FLAG),
    _Headline(FIGURES["racks"], "bom_racks_flag"),
)
_MONEY = (
    _Headline(FIGURES["capex_usd"], "bom_capex_usd_flag"),
    _Headline(FIGURES["opex_usd_per_year"], _POWER_FLAG),
    _Headline(FIGURES["tco_usd"], TCO_FLAG),
    _Headline(FIGURES["usd_per_useful_gpu_hour"], TCO_FLAG),
)
_GOALS = {"maximize": " (maximised)", "minimize": " (minimised)"}


def _add_figures(page: Page, row: int) -> int:
    """Write the table of headline figures.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it.
    """
    _heading(page, row, _HEADLINES, ("Headline figures", "Value", ""))
    for figure in _known_figures(page.book, (*_JOB, *_CHECKPOINT)):
        row += 1
        _write_figure(page, row, figure)
    row = _appliances(page, row)
    for figure in _known_figures(page.book, (*_SITE, *_money(page.book))):
        row += 1
        _write_figure(page, row, figure)
    return row + 1


def _money(book: Book) -> tuple[_Headline, ...]:
    """Return the headlines of money: of tokens where they are what is minimised."""
    if not book.money:
        return ()
    tokens = book.plan.objective.name == "usd_per_million_tokens"
    return (*_MONEY, _Headline(FIGURES["usd_per_million_tokens"], TCO_FLAG)) if tokens else _MONEY


def _known_figures(book: Book, figures: tuple[_Headline, ...]) -> Iterator[_Headline]:
    return (figure for figure in figures if book.number(figure.name) is not None)


def _write_figure(page: Page, row: int, headline: _Headline) -> None:
    goal, label = page.book.plan.objective, headline.figure.heading
    if goal.name in OBJECTIVES and OBJECTIVES[goal.name].figure == headline.figure:
        label += _GOALS[goal.sense]
    page.flagged(row, _HEADLINES, headline.flag, (label, f"{label}, known part"))
    number = headline.figure.excel
    _live(page, row, _HEADLINES + 1, headline.formula, number, text="n/a")
    page.text(row, _HEADLINES + 2, headline.unit)


def _appliances(page: Page, row: int) -> int:
    """Write how many storage appliances there are; return the last row written."""
    stores = [
        entry
        for block in blocks(page.book.plan)
        if block.section == "Storage"
        for entry in block.entries
    ]
    if not stores:
        return row
    units = sum(entry.line.working for entry in stores)
    text = "+".join(working_name(entry.line, entry.number) for entry in stores)
    row += 1
    page.text(row, _HEADLINES, "Storage appliances")
    page.formula(row, _HEADLINES + 1, f"={text}", INTEGER, "cross", plan=units)
    page.text(row, _HEADLINES + 2, "units")
    return row


_ITEM, _COUNT, _POWER, _SIDE, _NET = range(_PURCHASE, _PURCHASE + 5)
_ITEM_LENGTH = 38
_KW, _USD = "bom_it_power_kw", "bom_capex_usd"


@dataclass(frozen=True)
class _Sections:
    """Where the table of sections stands, for charts: rows and columns."""

    first: int
    last: int
    names: int = _ITEM
    power: int = _POWER
    net: int = _NET


def _add_bill(page: Page, row: int) -> tuple[int, _Sections]:
    """Write both tables.

    Args:
        page: the sheet.
        row: their first row.

    Returns:
        The row under them, and where the table of sections stands.
    """
    listed = blocks(page.book.plan)
    row = _core(page, listed, row) + 1
    return _bill_sections(page, listed, row)


def _core(page: Page, listed: list[Block], row: int) -> int:
    """Write a row for each line of GPU systems and storage; return the next free row."""
    _head(page, row, ("What to buy", "Quantity", "IT kW", "Racks"))
    for block in listed:
        if block.section in ("Compute", "Storage"):
            for entry in block.entries:
                row += 1
                _bill_line(page, entry, row)
    return row + 1


def _head(page: Page, row: int, titles: tuple[str, ...]) -> None:
    money = ("Net USD",) if page.book.money else ()
    _heading(page, row, _PURCHASE, (*titles, *money))


def _bill_line(page: Page, entry: Entry, row: int) -> None:
    book, line = page.book, entry.line
    page.text(row, _ITEM, _short(product(line), _ITEM_LENGTH))
    _live(page, row, _COUNT, quantity_name(entry.number), INTEGER)
    columns = [(_POWER, "power", DECIMAL_1), (_SIDE, "racks", INTEGER_OR_DASH)]
    if book.money:
        columns.append((_NET, "extended_net", INTEGER))
    for column, key, number in columns:
        _live(page, row, column, figure_name(key, entry.number), number)


def _bill_sections(page: Page, listed: list[Block], row: int) -> tuple[int, _Sections]:
    """Write a row for each section and their total; return the next free row and the place."""
    _head(page, row, ("All sections", "Lines", "IT kW", "Of power"))
    first = row + 1
    for block in listed:
        row += 1
        names = (subtotal_name(_KW, block.section), subtotal_name(_USD, block.section))
        _bill_sum(page, row, block.section, len(block.entries), names)
    place = _Sections(first, row)
    row += 1
    lines = sum(len(block.entries) for block in listed)
    _bill_sum(page, row, "Total", lines, (_KW, _USD), "total")
    return row + 1, place


def _bill_sum(
    page: Page, row: int, label: str, lines: int, names: tuple[str, str], role: Role = "cross"
) -> None:
    """Write what a section, or all of them, draw and cost; ``names`` are of those two sums."""
    book, total = page.book, role == "total"
    page.text(row, _ITEM, label, "total" if total else "text")
    page.number(row, _COUNT, lines, INTEGER, "total" if total else "formula")
    _live(page, row, _POWER, names[0], DECIMAL_1, role=role)
    _quotient(page, row, _SIDE, names[0], _KW, PERCENT, "total" if total else "formula")
    if book.money:
        _live(page, row, _NET, names[1], INTEGER, role=role)


def _shows_money(book: Book) -> bool:
    """Return whether some section costs anything, so that a chart of money says something."""
    return book.money and bool(book.number(_USD))


_LABEL, _USED, _ALLOWED, _SHARE, _BAR, _STATE = range(_LIMITS, _LIMITS + 6)
_LABEL_LENGTH, _SENTENCE_LENGTH = 46, 100
_MOST_LIMITS = 14
_FULL = 1 + TIME_TOLERANCE
"""A share beyond which a limit is broken and not merely reached."""

_BLOCK, _BLOCKS = "█", 10
_BAR_LOOK = {
    "font_name": "Arial", "font_size": 8, "font_color": "#5B86B5", "align": "left", "indent": 1,
    "valign": "top", "bottom": 4, "bottom_color": "#BFBFBF",
}  # fmt: skip
_MINUTES_PER_DAY = 1440
_SENSES = {"<=": "≤", ">=": "≥"}


@dataclass(frozen=True)
class _Losses:
    """Where the table of losses stands, for a chart: rows and columns."""

    first: int
    last: int
    names: int = _LABEL
    share: int = _USED


def _add_limits(page: Page, row: int) -> int:
    """Write the table of limits, those with the least room where there are many.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it.
    """
    titles = ("Limits", "Value", "Limit", "Used", "", "State")
    _heading(page, row, _LIMITS, titles)
    numbered = list(enumerate(page.book.plan.limits, start=1))
    tightest = sorted(numbered, key=lambda pair: -(_use(pair[1]) or 0.0))[:_MOST_LIMITS]
    shown = [pair for pair in numbered if pair in tightest]
    style = page.book.workbook.add_format(_BAR_LOOK)
    for number, limit in shown:
        row += 1
        _limit(page, row, number, limit, style)
    left = len(numbered) - len(shown)
    if not numbered or left:
        row += 1
        text = f"{left} more, with more room: see Checks" if left else "The plan has no limits"
        page.text(row, _LABEL, text, "subtitle")
    return row + 1


def _use(limit: LimitReport) -> float | None:
    over, under = limit.value, limit.limit
    if limit.sense == ">=":
        over, under = under, over
    return over / under if under else None


def _number(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if float(limit.value).is_integer() and float(limit.limit).is_integer():
        return INTEGER
    if limit.unit.startswith("USD") and limit.limit >= 1000:
        return INTEGER
    return DECIMAL_1 if limit.limit >= 100 else DECIMAL_2


def _label(limit: LimitReport) -> str:
    """Return a limit's label with its unit, where the label does not say it."""
    told = limit.unit in ("", "share", "1", *limit.label.split())
    unit = "" if told else f", {limit.unit}"
    label = _short(limit.label, _LABEL_LENGTH - len(unit)) + unit
    return label[:1].upper() + label[1:]


def _limit(page: Page, row: int, number: int, limit: LimitReport, bar: Format) -> None:
    page.text(row, _LABEL, _label(limit))
    shown = _number(limit)
    _side(page, row, _USED, f"check_value_{number}", shown)
    _side(page, row, _ALLOWED, f"check_limit_{number}", f'"{_SENSES[limit.sense]} "{shown}')
    over, under = (str(xl_rowcol_to_cell(row, column)) for column in (_USED, _ALLOWED))
    if limit.sense == ">=":
        over, under = under, over
    _quotient(page, row, _SHARE, over, under, PERCENT)
    share = str(xl_rowcol_to_cell(row, _SHARE))
    _bar(page, row, share, bar)
    state = "binds" if limit.binding else ""
    text = f'=IF(ISNUMBER({share}),IF({share}>{_FULL},"OVER","{state}"),"{state}")'
    page.formula(row, _STATE, text, align="right")
    page.mark(row, _STATE, "begins with", "OVER", "bad")


def _side(page: Page, row: int, column: int, name: str, number: str) -> None:
    _live(page, row, column, name, number, text="no limit")


def _bar(page: Page, row: int, share: str, style: Format) -> None:
    """Draw a share as a bar of blocks, ten at 100 %: text, which every program shows and prints."""
    text = f'=IF(ISNUMBER({share}),REPT("{_BLOCK}",MIN({_BLOCKS},ROUND({_BLOCKS}*{share},0))),"")'
    page.sheet.write_formula(row, _BAR, text, style)


def _add_losses(page: Page, row: int) -> tuple[int, _Losses]:
    """Write where the wall-clock time goes.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it, and where the losses stand.
    """
    _heading(page, row, _LIMITS, ("Where the time goes", "Share", "Minutes a day"))
    first = row + 1
    assert page.book.job is not None
    for name in page.book.job.losses:
        row += 1
        _loss(page, row, FIGURES[f"loss.{name}"].heading, f"loss_{name}")
    row += 1
    _loss(page, row, "Kept progress (goodput)", "goodput", "total")
    return row + 1, _Losses(first, row - 1)


def _loss(page: Page, row: int, label: str, name: str, role: Role = "cross") -> None:
    page.text(row, _LABEL, label, "total" if role == "total" else "text")
    _live(page, row, _USED, name, PERCENT_2, text=UNKNOWN, role=role)
    minutes = f"{name}*{_MINUTES_PER_DAY}"
    _live(page, row, _ALLOWED, minutes, DECIMAL_1, text=UNKNOWN, role=role)


def _binding(book: Book) -> str:
    """Return which limits stop a better plan, in words."""
    labels = [limit.label for limit in book.plan.limits if limit.binding]
    if not labels:
        return "As solved, no limit binds"
    verb = "these bind" if len(labels) > 1 else "this binds"
    return _short(f"As solved, {verb}: {', '.join(labels)}", _SENTENCE_LENGTH)


_CHART_ROWS = 18
"""Rows that the charts cover."""

_ROW_HEIGHT = 15.75
"""Height of a row in points: the sheet says it, so that every program lays it out alike."""

_ROW_PIXELS = 21
_MARGIN_PIXELS = 8
_INK, _FILL, _LINE = "#1A1A1A", "#1F3A5F", "#D9D9D9"
_MILLION, _THOUSAND = 1e6, 1e3


def _add_charts(page: Page, row: int, losses: _Losses, sections: _Sections) -> None:
    """Place the charts beside each other over the whole width.

    Args:
        page: the sheet.
        row: their first row.
        losses: where the losses of time stand.
        sections: where the sections of the bill stand.
    """
    charts = [
        _column_chart(page, "Time lost, share of the wall-clock time", "Cause", "Share of time",
                 (losses.first, losses.last, losses.names, losses.share), "0.00%"),
        _column_chart(page, "IT power by section, kW", "Section of the bill",
                 FIGURES["it_power_kw"].column,
                 (sections.first, sections.last, sections.names, sections.power), "#,##0"),
    ]  # fmt: skip
    if _shows_money(page.book):
        charts.append(_spending(page, sections))
    pixels = sum(int(width * 7 + 0.5) + 5 for width in _widths(page.book.money))
    # A character of the default font is 7 pixels wide, a cell's padding 5.
    each = (pixels + _MARGIN_PIXELS) // len(charts)
    for place, chart in enumerate(charts):
        size = {
            "width": each - _MARGIN_PIXELS,
            "height": _CHART_ROWS * _ROW_PIXELS - _MARGIN_PIXELS,
        }
        chart.set_size(size)
        page.sheet.insert_chart(row, 0, chart, {"x_offset": place * each, "y_offset": 0})


def _spending(page: Page, sections: _Sections) -> Any:
    largest = page.book.number("bom_capex_usd") or 0.0
    number, unit = "#,##0.0,,", "million USD"
    if largest < _MILLION:
        number, unit = ("#,##0.0,", "thousand USD") if largest >= _THOUSAND else ("#,##0", "USD")
    place = (sections.first, sections.last, sections.names, sections.net)
    title = f"Purchase by section, {unit} net"
    return _column_chart(page, title, "Section of the bill", f"Net, {unit}", place, number)


def _column_chart(
    page: Page, title: str, across: str, up: str, place: tuple[int, int, int, int], number: str
) -> Any:
    """Return a column chart with a label on every column.

    Args:
        page: the sheet.
        title: what it shows, with the unit.
        across: title of the axis of categories.
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
    chart.set_title({"name": title, "name_font": font | {"size": 11, "bold": True}})
    quiet = {"name_font": font | {"bold": False}, "num_font": font, "line": {"color": _LINE}}
    chart.set_x_axis({"name": across, **quiet})
    bare = {"visible": False}
    chart.set_y_axis({"name": up, "num_format": number, "major_gridlines": bare, "min": 0, **quiet})
    chart.set_legend({"none": True})
    chart.set_chartarea({"border": {"color": _LINE}})
    return chart
