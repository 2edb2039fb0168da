"""The answer on the sheet ``Summary``: the plan in one sentence, and nine figures in a large type.

The sentence is a formula over the names and counts of the page's bill, so that it follows edits; it
uses no function that formats numbers, which would read another country's separators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xlsxwriter.utility import xl_rowcol_to_cell

from planner import currency
from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.outputs.words import in_money, six_digits, small_share
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, INTEGER, PERCENT_2, millions
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.rows import UNKNOWN

NAME, COUNT = 0, 2
"""Columns of the bill on the page: what something is, and how many there are."""

_POWER_FLAG = "bom_it_power_kw_flag"
TILES = 9


class _Tile(NamedTuple):
    """A headline: a figure over one cell's name, as it reads in a large type.

    ``flag`` are the names that mark an incomplete sum; ``cell`` is the name where it is not the
    figure's; ``times`` turns it into the unit of the format.
    """

    figure: Figure
    number: str
    flag: str = ""
    cell: str = ""
    times: str = ""

    @property
    def name(self) -> str:
        return self.cell or self.figure.name


_WORK = (
    _Tile(FIGURES["useful_pflops"], '#,##0" PFLOP/s"'),
    _Tile(FIGURES["gpus_used"], INTEGER, cell="gpus_in_use"),
    _Tile(FIGURES["goodput"], PERCENT_2),
)
_MILLIONS = "millions"
"""The format of an amount in millions of the currency shown."""

_MONEY = (
    _Tile(FIGURES["capex_usd"], _MILLIONS, "bom_capex_usd_flag"),
    _Tile(FIGURES["tco_usd"], _MILLIONS, TCO_FLAG),
    _Tile(FIGURES["usd_per_useful_gpu_hour"], '0.00" USD"', TCO_FLAG),
    _Tile(FIGURES["usd_per_million_tokens"], '0.0000" USD"', TCO_FLAG),
)
_PRICE = (_Tile(FIGURES["capex_usd"], _MILLIONS, cell="bom_capex_usd"),)
"""Outside there are no costs but what is bought."""

_SITE = (
    _Tile(FIGURES["it_power_kw"], '#,##0" kW"', _POWER_FLAG),
    _Tile(FIGURES["facility_power_kw"], '#,##0" kW"', _POWER_FLAG),
    _Tile(FIGURES["racks"], INTEGER, "bom_racks_flag"),
    _Tile(FIGURES["delivered_write_gb_per_s"], '#,##0" GB/s"', cell="write_gb_per_s"),
    _Tile(FIGURES["interval_s"], '0.0" min"', times="/60"),
    _Tile(FIGURES["days_to_train"], DECIMAL_1),
    _Tile(FIGURES["usable_tb"], '#,##0" TB"', "bom_usable_tb_flag"),
    _Tile(FIGURES["restore_s"], '#,##0" s"'),
    _Tile(FIGURES["useful_gpus"], INTEGER),
)
_GOALS = {"maximize": " (maximised)", "minimize": " (minimised)"}


def add_tiles(page: Page, row: int) -> int:
    """Write nine figures in a large type, what is maximised or minimised among them.

    Args:
        row: the row of the values; their labels stand under it.

    Returns:
        The row under both.
    """
    book = page.book
    value, label = (book.workbook.add_format(look) for look in (_TILE, _TILE_LABEL))
    page.sheet.set_row(row, 27)
    page.sheet.set_row(row + 1, 26)
    known = [tile for tile in _tiles(book) if book.number(tile.name) is not None]
    if book.plan.totals is not None and book.plan.totals.racks is None:  # the sum would read 0
        known = [tile for tile in known if tile.name != "racks"]
    for column, tile in enumerate(known[:TILES]):
        number = millions() if tile.number == _MILLIONS else in_money(tile.number)
        look = book.workbook.add_format({**_TILE, "num_format": number})
        text = f'=IF(ISNUMBER({tile.name}),{tile.name}{tile.times},"{UNKNOWN}")'
        page.sheet.write_formula(row, column, text, look)
        words = tile.figure.heading
        if _is_goal(book, tile):
            words += _GOALS[book.plan.objective.sense]
        page.flagged(row + 1, column, tile.flag, (words, f"{words}, known part"))
        page.restyle(row + 1, column, label)
    for column in range(len(known), TILES):
        page.sheet.write_blank(row, column, None, value)
        page.sheet.write_blank(row + 1, column, None, label)
    return row + 2


def _tiles(book: Book) -> Iterator[_Tile]:
    """Yield the figures a plan is known by: the objective, work, money, site."""
    money = _MONEY[:2] if book.money else _PRICE if book.has("bom_capex_usd") else ()
    every = (*_WORK, *money, *_SITE)
    goals = [tile for tile in (*every, *_MONEY) if book.money and _is_goal(book, tile)]
    yield from dict.fromkeys((*goals, *every))


def _is_goal(book: Book, tile: _Tile) -> bool:
    goal = OBJECTIVES.get(book.plan.objective.name)
    return goal is not None and goal.figure == tile.figure


_ARIAL = {"font_name": "Arial", "valign": "vcenter", "align": "center"}
_TILE = _ARIAL | {
    "font_size": 15, "bold": True, "font_color": "#1F3A5F", "bg_color": "#EEF2F7", "shrink": True,
}  # fmt: skip
_TILE_LABEL = _ARIAL | {
    "font_size": 9, "font_color": "#6B6B6B", "bg_color": "#EEF2F7", "text_wrap": True,
    "valign": "top",
}  # fmt: skip
_ANSWER = {
    "font_name": "Arial", "font_size": 13, "bold": True, "font_color": "#1A1A1A",
    "text_wrap": True, "valign": "vcenter",
}  # fmt: skip
_MOST_NAMED = 4


def add_answer(page: Page, row: int, core: Sequence[int]) -> None:
    """Write the plan in a sentence, and how good it is in another.

    Args:
        core: rows of the page's table that name GPU systems and storage, and how many.
    """
    book = page.book
    text = f'IF(gpus_in_use>0,{"&".join(_sentence(book, core))},"This purchase runs no job.")'
    style = book.workbook.add_format(_ANSWER)
    page.sheet.merge_range(row, 0, row, TILES - 1, "", style)
    page.sheet.write_formula(row, 0, f'=IFERROR({text},"This purchase runs no job.")', style)
    page.sheet.set_row(row, 36)
    goal = book.plan.objective
    if not book.inside or goal.bound is None or goal.value is None:
        return
    words = f"As solved: {book.as_solved[len('As solved: ') :]}."
    if goal.name in OBJECTIVES:
        best, sense = OBJECTIVES[goal.name].label, goal.sense
        most = "more" if sense == "maximize" else "less"
        of = "" if goal.unit in best else f" ({best})"
        words = (
            f"As solved: no plan within these limits has {most} than "
            f"{six_digits(goal, goal.bound)}{of}; this one has {six_digits(goal, goal.value)}"
        )
        words += _given_away(book)
    page.text(row + 1, 0, words, "subtitle")


def _given_away(book: Book) -> str:
    """Return what the plan gives away of the best there is, and why."""
    goal, totals = book.plan.objective, book.plan.totals
    away = goal.given_away or 0.0
    if away < 5e-6:
        return "."
    text = f": {small_share(away)} is given away"
    if goal.best_capex_usd is not None and totals is not None and totals.capex_usd is not None:
        saved = goal.best_capex_usd - totals.capex_usd
        if saved > 0:
            size, unit = currency.current().large
            return f"{text}, which saves {saved / size:,.1f} {unit}."
    return f"{text}."


def _sentence(book: Book, core: Sequence[int]) -> Iterator[str]:
    """Yield the parts of the sentence, over cells of the page and names."""
    for place, row in enumerate(core[:_MOST_NAMED]):
        name, count = (xl_rowcol_to_cell(row, column) for column in (NAME, COUNT))
        between = "" if place == 0 else " and " if place == len(core) - 1 else ", "
        yield f'"{between}"&{count}&" "&TRIM({name})'
    if len(core) > _MOST_NAMED:
        yield f'" and {len(core) - _MOST_NAMED} more"'
    yield '": "&gpus_in_use&" GPUs in use"'
    if book.number("useful_pflops") is not None:
        yield '" that do "&ROUND(useful_pflops,0)&" PFLOP/s of useful training work"'
    elif book.number("useful_gpus") is not None:
        yield '" that do the work of "&ROUND(useful_gpus,0)&" that never stop"'
    if (kw := book.number("it_power_kw")) is not None:
        shown = 'ROUND(it_power_kw/1000,2)&" MW' if kw >= 1000 else 'ROUND(it_power_kw,0)&" kW'
        yield f'", on "&{shown} of IT power"'
    if (usd := book.number("bom_capex_usd")) is not None and usd > 0:
        size, unit = currency.current().large
        if usd < size:
            size, unit = next(each for each in currency.current().sizes[::-1] if each[0] >= 1e3)
        shown = f'ROUND(bom_capex_usd/{size:.0f},1)&" {unit}"'
        yield f'", for "&{shown}'
    yield '"."'
