"""One sheet: typed writing of cells, the title block, print set-up and protection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from xlsxwriter.format import Format
from xlsxwriter.utility import quote_sheetname, xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from planner.outputs.words import clean, in_money, product, six_digits
from planner.outputs.workbook.book import RATE, Book
from planner.outputs.workbook.cells import GENERAL, InputCell, Kind, Range, Role
from planner.outputs.workbook.functions import Scalar
from planner.schema.plan import Plan

BANNER_ROW = 2
BANNER_BAD = ("EDITED", "No plan")
"""How a banner begins that says the workbook is not a solved plan."""

_LEGEND_ROW = 3
_STRIP_COLUMNS = 5
_LINE_HEIGHT = 13.0
_MOST_LINES = 12
# Column widths count digits; running text in a proportional font is a little narrower.
_WIDTH_OF_LETTER = 0.95
FIRST_ROW = 5
"""First row under the title block."""

_PAPER_A4, _PAPER_A3 = 9, 8


class Page:
    """A worksheet that writes user strings as text and formulas with their values."""

    def __init__(self, book: Book, name: str, title: str) -> None:
        self.book = book
        self.name = name
        self.sheet: Worksheet = book.sheet(name)
        self.sheet.hide_gridlines(2)
        self.text(0, 0, title, "title")
        self.sheet.set_row(0, 24)
        self.text(1, 0, _subtitle(book), "subtitle")

    def text(self, row: int, column: int, text: str, role: Role = "text", align: str = "") -> None:
        """Write a string that no program takes for a formula; an empty one is a blank cell."""
        style = self.book.formats.get(role, align=align)
        shown = self.book.worded(clean(text))
        if shown:
            self.sheet.write_string(row, column, shown, style)
        else:
            self.sheet.write_blank(row, column, None, style)

    def number(
        self,
        row: int,
        column: int,
        value: float | None,
        number: str = GENERAL,
        role: Role = "formula",
    ) -> None:
        """Write a number; one that is not known or not finite leaves the cell blank."""
        style = self.book.formats.get(role, number)
        if value is None or not math.isfinite(value):
            self.sheet.write_blank(row, column, None, style)
        else:
            self.sheet.write_number(row, column, value, style)

    def fill(self, row: int, texts: Sequence[str], role: Role, columns: int) -> None:
        """Write the first cells of a row in one look, blank where there is no text.

        Args:
            texts: what the first of them say.
            role: their look.
            columns: how many they are.
        """
        for column in range(columns):
            self.text(row, column, texts[column] if column < len(texts) else "", role)

    def scalar(
        self, row: int, column: int, value: Scalar, number: str = GENERAL, role: Role = "formula"
    ) -> None:
        """Write a number, a string or nothing."""
        if isinstance(value, str):
            self.text(row, column, value, role, "right" if role != "text" else "")
        else:
            self.number(row, column, value, number, role)

    def input(
        self,
        name: str,
        row: int,
        column: int,
        value: Scalar,
        number: str = GENERAL,
        *,
        label: str,
        unit: str = "",
        allowed: Range | None = None,
        kind: Kind = "local",
        key: str = "",
    ) -> None:
        """Write a cell that the reader may change.

        Args:
            name: its workbook-wide name, empty for none.
            value: what the solved plan has there; None leaves it blank.
            number: number format.
            allowed: what it may hold, by default any number from 0.
            kind: what it is an input of.
            key: which one of that kind, by default the name.
        """
        allowed = allowed or Range()
        self.scalar(row, column, value, number, "input")
        unit_shown = unit if name == RATE else in_money(unit)
        prompt = f"{label}, {unit_shown}" if unit else label
        self.sheet.data_validation(row, column, row, column, allowed.validation(prompt))
        if name:
            self.define(name, row, column)
        cell = xl_rowcol_to_cell(row, column)
        self.book.inputs.append(
            InputCell(self.name, cell, kind, key or name, label, unit, value, allowed)
        )

    def formula(
        self,
        row: int,
        column: int,
        formula: str,
        number: str = GENERAL,
        role: Role = "formula",
        align: str = "",
        *,
        plan: Scalar = None,
    ) -> None:
        """Write a formula; what it shows in the file is worked out from its text.

        Args:
            number: number format.
            role: the look of the cell.
            align: horizontal alignment, empty for the role's own.
            plan: what the plan says of it, to be held against the formula.
        """
        style = self.book.formats.get(role, number, align)
        self.sheet.write_formula(row, column, self.book.worded(formula), style)
        if plan is not None and not isinstance(plan, bool):
            shown = self.book.worded(plan) if isinstance(plan, str) else plan
            self.book.expect(self.name, row, column, shown)

    def flagged(
        self, row: int, column: int, flag: str, texts: tuple[str, str], role: Role = "text"
    ) -> str:
        """Write a text that says so for as long as a sum is incomplete; return what it says.

        An edit can make a sum incomplete that was not, so it is a formula wherever there are flags.

        Args:
            flag: names that mark incomplete sums, joined by ``&``; empty for none.
            texts: what stands for a complete sum, and for an incomplete one; without quotes.
            role: the look of the cell.
        """
        whole, part = texts
        if not flag:
            self.text(row, column, whole, role)
            return whole
        self.formula(row, column, f'=IF({flag}="","{whole}","{part}")', role=role)
        return str(self.book.at(self.name, row, column))

    def restyle(self, row: int, column: int, style: Format) -> None:
        """Give a cell that is written another look."""
        cells = self.sheet.table[row]
        cells[column] = cells[column]._replace(format=style)

    def address(self, row: int, column: int) -> str:
        """Return a cell's absolute address with its sheet."""
        cell = xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True)
        return f"{quote_sheetname(self.name)}!{cell}"

    def define(self, name: str, row: int, column: int) -> None:
        """Give the cell a workbook-wide name."""
        self.book.define(name, self.address(row, column))

    def headers(self, row: int, titles: Sequence[tuple[str, float]], height: float = 30) -> None:
        """Write a header row and set the column widths.

        Args:
            row: row of the headers; it is repeated on every printed page.
            titles: header and width in characters, column by column.
            height: row height in points.
        """
        self.sheet.set_row(row, height)
        for column, (title, width) in enumerate(titles):
            self.text(row, column, title, "header")
            self.sheet.set_column(column, column, width)
        self.sheet.repeat_rows(row)

    def banner(self) -> None:
        """Show whether the workbook still is the solved plan, on any sheet but its own."""
        self.strip(BANNER_ROW, "=plan_banner", BANNER_BAD)

    def strip(self, row: int, formula: str, bad: Sequence[str], plan: str | None = None) -> None:
        """Write a message over the first columns, coloured by how it begins.

        Args:
            formula: the message.
            bad: the beginnings that turn it red.
            plan: what it says of the solved plan.
        """
        style = self.book.formats.get("banner")
        for column in range(1, _STRIP_COLUMNS):
            self.sheet.write_blank(row, column, None, style)
        self.formula(row, 0, formula, role="banner", plan=plan)
        first = xl_rowcol_to_cell(row, 0, row_abs=True, col_abs=True)
        begins = ",".join(f'LEFT({first},{len(text)})="{text}"' for text in bad)
        rule = {
            "type": "formula",
            "criteria": f"=OR({begins})",
            "format": self.book.formats.condition("bad"),
        }
        self.sheet.conditional_format(row, 0, row, _STRIP_COLUMNS - 1, rule)

    def grow(self, row: int, texts: Iterable[tuple[str, float]]) -> None:
        """Make a row as high as its longest wrapped text, up to a limit.

        Args:
            texts: each text with the width of its column in characters.
        """
        lines = max((_lines(text, width) for text, width in texts), default=1)
        if lines > 1:
            self.sheet.set_row(row, _LINE_HEIGHT * min(lines, _MOST_LINES) + 1)

    def legend(self, more: str = "") -> None:
        """Explain the colours of the cells, each word in its own colour.

        Args:
            more: a further entry of this sheet, in the planner's own words.
        """
        pen = self.book.formats.pen
        parts: list[object] = [
            *(pen("input"), "Blue on yellow: input"),
            *(pen("text"), "  ·  black: formula or figure of the plan  ·  "),
            *(pen("cross"), "green: from another sheet"),
        ]
        if more:
            parts += [pen("part"), f"  ·  {more}"]
        self.sheet.write_rich_string(_LEGEND_ROW, 0, *parts)

    def mark(
        self, row: int, column: int, criteria: str, value: str, kind: Literal["bad", "good"]
    ) -> None:
        """Colour a cell while its text meets a condition; the text says the same in words.

        Args:
            criteria: a text criterion of the spreadsheet writer, such as ``begins with``.
            value: what it is compared with.
            kind: which colours.
        """
        style = self.book.formats.condition(kind)
        rule = {"type": "text", "criteria": criteria, "value": value, "format": style}
        self.sheet.conditional_format(row, column, row, column, rule)

    def grey_while(self, row: int, column: int, formula: str) -> None:
        """Write a cell in grey italics while a formula is true."""
        style = self.book.formats.condition("grey")
        rule = {"type": "formula", "criteria": formula, "format": style}
        self.sheet.conditional_format(row, column, row, column, rule)

    def unseen_while(self, row: int, last_column: int, formula: str) -> None:
        """Write a row in the colour of paper while a formula is true: there is nothing to say."""
        style = self.book.formats.condition("unseen")
        rule = {"type": "formula", "criteria": formula, "format": style}
        self.sheet.conditional_format(row, 0, row, last_column, rule)

    def finish(
        self, last_column: int, frozen: tuple[int, int], scale_percent: int | None = None
    ) -> None:
        """Set up printing, frozen panes and protection; the last thing done to a sheet.

        Args:
            last_column: last column to print.
            frozen: rows and columns that stay in view.
            scale_percent: print on A3 at this scale, breaking where the sheet says; without it
                the sheet prints one A4 page wide.
        """
        sheet = self.sheet
        sheet.finished = True
        sheet.freeze_panes(*frozen)
        sheet.set_landscape()
        if scale_percent is None:
            sheet.set_paper(_PAPER_A4)
            sheet.fit_to_pages(1, 0)
        else:
            sheet.set_paper(_PAPER_A3)
            sheet.set_print_scale(scale_percent)
        sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        sheet.set_footer(f"&L{footer(self.book.plan.problem)}&C&A&RPage &P of &N")
        sheet.print_area(0, 0, sheet.dim_rowmax, last_column)
        sheet.protect(
            "",
            {
                "insert_rows": True,
                "format_columns": True,
                "format_rows": True,
                "autofilter": True,
                "sort": True,
            },
        )


def _lines(text: str, width: float) -> int:
    """Return how many lines a wrapped text takes in a column, up to a few too many."""
    letters = max(1, int(width / _WIDTH_OF_LETTER))
    if len(text) <= letters and "\n" not in text:
        return 1
    parts = text[: letters * _MOST_LINES].split("\n")
    return sum(_wrapped(part, letters) for part in parts)


def _wrapped(text: str, letters: int) -> int:
    """Return the lines of a paragraph that breaks between words, long words anywhere."""
    lines, used = 1, 0
    for word in text.split(" "):
        length = len(word)
        if used and used + 1 + length > letters:
            lines, used = lines + 1, 0
        used += length + (1 if used else 0)
        if used > letters:
            more = (used - 1) // letters
            lines, used = lines + more, used - more * letters
    return lines


def _subtitle(book: Book) -> str:
    """Return what stands under a title: the problem, and inside what was asked for."""
    plan = book.plan
    goal = plan.objective
    parts = [plan.problem]
    if book.inside:
        parts.append(f"status: {plan.status}")
        if goal.value is not None:
            parts.append(f"{goal.sense} {goal.name} = {six_digits(goal, goal.value)}")
    return clean(" · ".join(parts), 300).replace("\n", " ")


def footer(text: str) -> str:
    """Return ``text`` for a page footer, where an ampersand starts a code."""
    return clean(text, 60).replace("\n", " ").replace("&", "&&")


def names_by_sku(plan: Plan) -> dict[str, str]:
    """Return manufacturer and model of everything in a plan, by catalog id."""
    return {line.sku: product(line) for line in plan.lines}
