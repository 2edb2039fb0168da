"""A neutral request to vendors as a workbook: what is needed, and columns to answer in.

Its headers are those that `planner quote import` reads, so that an answer comes back without a
mapping. It names no product, no budget and no other vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

import xlsxwriter

from planner.quotes.answers import ANSWER_COLUMNS, QUESTIONS

ANSWERS, PRODUCTS, NEEDS = "Quote", "Products", "Request"
_LINES = 6
"""Empty lines to answer in, for each thing that is asked for."""
_LINE_POINTS, _LINE_CHARACTERS = 13.5, 88


@dataclass(frozen=True)
class Asked:
    """One thing that is asked for: its name, and what it must do, in sentences."""

    name: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Inquiry:
    """What a request says.

    Attributes:
        title: of the request.
        facts: what vendors must know, each a label and a text.
        asked: what is to be offered, in order.
        terms: how to answer, in sentences.
        currency: of the answer, open where empty.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    asked: tuple[Asked, ...]
    terms: tuple[str, ...]
    currency: str = ""


def write_inquiry(stream: BinaryIO, inquiry: Inquiry, *, created: datetime) -> None:
    """Write a request; the same input and date give the same bytes."""
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    book.set_properties({"title": inquiry.title, "created": created})
    styles = {
        "title": book.add_format({"bold": True, "font_size": 16}),
        "head": book.add_format(
            {"bold": True, "bg_color": "#DCE6F1", "border": 1, "text_wrap": True}
        ),
        "part": book.add_format({"bold": True, "bg_color": "#F2F2F2"}),
        "open": book.add_format({"border": 1, "bg_color": "#FFFFE5"}),
        "money": book.add_format({"border": 1, "bg_color": "#FFFFE5", "num_format": "#,##0.00"}),
        "sum": book.add_format({"bold": True, "top": 1, "num_format": "#,##0.00"}),
        "label": book.add_format({"bold": True, "valign": "top"}),
        "text": book.add_format({"text_wrap": True, "valign": "top"}),
    }
    _needs(book.add_worksheet(NEEDS), inquiry, styles)
    _answers(book.add_worksheet(ANSWERS), inquiry, styles)
    _products(book.add_worksheet(PRODUCTS), styles)
    book.close()


def _needs(sheet: Any, inquiry: Inquiry, styles: dict[str, object]) -> None:
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, _LINE_CHARACTERS + 6)
    sheet.write(0, 0, inquiry.title, styles["title"])
    row = 2
    for label, text in inquiry.facts:
        sheet.write_string(row, 0, label, styles["label"])
        _paragraph(sheet, row, text, styles)
        row += 1
    for asked in inquiry.asked:
        row += 1
        sheet.write_string(row, 0, asked.name, styles["part"])
        sheet.write_blank(row, 1, None, styles["part"])
        for need in asked.needs:
            row += 1
            _paragraph(sheet, row, need, styles)
    row += 2
    sheet.write_string(row, 0, "How to answer", styles["part"])
    sheet.write_blank(row, 1, None, styles["part"])
    for text in inquiry.terms:
        row += 1
        _paragraph(sheet, row, text, styles)
    _page(sheet, inquiry.title)
    sheet.set_portrait()
    sheet.fit_to_pages(1, 1)


def _paragraph(sheet: Any, row: int, text: str, styles: dict[str, object]) -> None:
    """Write a text that wraps, its row as high as its lines."""
    sheet.write_string(row, 1, text, styles["text"])
    sheet.set_row(row, _LINE_POINTS * -(-len(text) // _LINE_CHARACTERS))


def _answers(sheet: Any, inquiry: Inquiry, styles: dict[str, object]) -> None:
    for label, row in (("Vendor", 0), ("Quote Date", 1), ("Valid until", 2), ("Currency", 3)):
        sheet.write_string(row, 0, label, styles["label"])
        sheet.write_blank(row, 2, None, styles["open"])
    if inquiry.currency:
        sheet.write_string(3, 2, inquiry.currency, styles["open"])
    head = 5
    for column, (label, wide) in enumerate(ANSWER_COLUMNS):
        sheet.set_column(column, column, wide)
        sheet.write_string(head, column, label, styles["head"])
    row = head + 1
    amounts = _column(ANSWER_COLUMNS, "Ext. Net Price")
    for number, asked in enumerate(inquiry.asked, 1):
        sheet.write_string(row, 0, f"{number} {asked.name}", styles["part"])
        for _ in range(_LINES):
            row += 1
            _line(sheet, row, styles)
        row += 1
    sheet.write_string(row, 2, "Total", styles["label"])
    letter = chr(ord("A") + amounts)
    sheet.write_formula(row, amounts, f"=SUM({letter}{head + 2}:{letter}{row})", styles["sum"], 0)
    sheet.freeze_panes(head + 1, 0)
    _page(sheet, inquiry.title)


def _line(sheet: Any, row: int, styles: dict[str, object]) -> None:
    for column, (label, _) in enumerate(ANSWER_COLUMNS):
        sheet.write_blank(row, column, None, styles["money" if "Price" in label else "open"])
    quantity, listed, off, net = (
        f"{chr(ord('A') + _column(ANSWER_COLUMNS, label))}{row + 1}"
        for label in ("Qty", "Unit List Price", "Discount %", "Unit Net Price")
    )
    each = f'=IF({listed}="","",{listed}*(1-{off}/100))'
    total = f'=IF(OR({quantity}="",{net}=""),"",{quantity}*{net})'
    for label, text in (("Unit Net Price", each), ("Ext. Net Price", total)):
        sheet.write_formula(row, _column(ANSWER_COLUMNS, label), text, styles["money"], "")


def _products(sheet: Any, styles: dict[str, object]) -> None:
    for column, question in enumerate(QUESTIONS):
        sheet.set_column(column, column, question.width)
        sheet.write_string(0, column, question.label, styles["head"])
    for row in range(1, 1 + 4 * _LINES):
        for column in range(len(QUESTIONS)):
            sheet.write_blank(row, column, None, styles["open"])
    sheet.freeze_panes(1, 2)
    _page(sheet, PRODUCTS)


def _column(columns: Sequence[tuple[str, int]], label: str) -> int:
    return next(at for at, (name, _) in enumerate(columns) if name == label)


def _page(sheet: Any, title: str) -> None:
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_footer(f"&L{title.replace('&', '&&')}&RPage &P of &N")
