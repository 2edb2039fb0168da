"""A neutral request to vendors as a workbook: what is needed, and columns to answer in.

Its headers are those that `planner quote import` reads, so that an answer comes back without a
mapping. It names no product, no budget and no other vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from planner.quotes.products import ANSWER_COLUMNS, QUESTIONS

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
    looks = {name: book.add_format(look) for name, look in _LOOKS.items()}
    _needs(book.add_worksheet(NEEDS), inquiry, looks)
    _answers(book.add_worksheet(ANSWERS), inquiry, looks)
    _products(book.add_worksheet(PRODUCTS), looks)
    book.close()


_OPEN = {"border": 1, "bg_color": "#FFFFE5"}
_LOOKS: Mapping[str, dict[str, Any]] = {
    "title": {"bold": True, "font_size": 16},
    "head": {"bold": True, "bg_color": "#DCE6F1", "border": 1, "text_wrap": True},
    "part": {"bold": True, "bg_color": "#F2F2F2"},
    "open": _OPEN,
    "money": {**_OPEN, "num_format": "#,##0.00"},
    "sum": {"bold": True, "top": 1, "num_format": "#,##0.00"},
    "label": {"bold": True, "valign": "top"},
    "text": {"text_wrap": True, "valign": "top"},
}


def _needs(sheet: Any, inquiry: Inquiry, looks: Mapping[str, Format]) -> None:
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, _LINE_CHARACTERS + 6)
    sheet.write(0, 0, inquiry.title, looks["title"])
    # A row each: its look and label, and a text that wraps, in a row as high as its lines.
    blank = ("label", "", "")
    rows = [*(("label", label, text) for label, text in inquiry.facts), blank]
    for asked in inquiry.asked:
        rows += [("part", asked.name, ""), *(("label", "", need) for need in asked.needs)]
    rows.append(blank)
    rows += [("part", "How to answer", ""), *(("label", "", text) for text in inquiry.terms)]
    for row, (look, label, text) in enumerate(rows, start=2):
        if label:
            sheet.write_string(row, 0, label, looks[look])
        if text:
            sheet.write_string(row, 1, text, looks["text"])
            sheet.set_row(row, _LINE_POINTS * -(-len(text) // _LINE_CHARACTERS))
        elif label:
            sheet.write_blank(row, 1, None, looks[look])
    _print(sheet, inquiry.title)
    sheet.set_portrait()
    sheet.fit_to_pages(1, 1)


def _answers(sheet: Any, inquiry: Inquiry, looks: Mapping[str, Format]) -> None:
    for row, label in enumerate(("Vendor", "Quote Date", "Valid until", "Currency")):
        sheet.write_string(row, 0, label, looks["label"])
        sheet.write_blank(row, 2, None, looks["open"])
    if inquiry.currency:
        sheet.write_string(3, 2, inquiry.currency, looks["open"])
    for column, (label, width) in enumerate(ANSWER_COLUMNS):
        sheet.set_column(column, column, width)
        sheet.write_string(_HEAD, column, label, looks["head"])
    row = _HEAD + 1
    for number, asked in enumerate(inquiry.asked, 1):
        sheet.write_string(row, 0, f"{number} {asked.name}", looks["part"])
        for at in range(row + 1, row + 1 + _LINES):
            _line(sheet, at, looks)
        row += _LINES + 1
    sheet.write_string(row, 2, "Total", looks["label"])
    amounts = _AT["Ext. Net Price"]
    cells = f"{xl_rowcol_to_cell(_HEAD + 1, amounts)}:{xl_rowcol_to_cell(row - 1, amounts)}"
    sheet.write_formula(row, amounts, f"=SUM({cells})", looks["sum"], 0)
    sheet.freeze_panes(_HEAD + 1, 0)
    _print(sheet, inquiry.title)


_HEAD = 5
_AT = {label: at for at, (label, _) in enumerate(ANSWER_COLUMNS)}


def _line(sheet: Any, row: int, looks: Mapping[str, Format]) -> None:
    for label, column in _AT.items():
        sheet.write_blank(row, column, None, looks["money" if "Price" in label else "open"])
    names = ("Qty", "Unit List Price", "Discount %", "Unit Net Price")
    quantity, listed, off, net = (xl_rowcol_to_cell(row, _AT[name]) for name in names)
    formulas = {
        "Unit Net Price": f'=IF({listed}="","",{listed}*(1-{off}/100))',
        "Ext. Net Price": f'=IF(OR({quantity}="",{net}=""),"",{quantity}*{net})',
    }
    for label, text in formulas.items():
        sheet.write_formula(row, _AT[label], text, looks["money"], "")


def _products(sheet: Any, looks: Mapping[str, Format]) -> None:
    for column, question in enumerate(QUESTIONS):
        sheet.set_column(column, column, question.width)
        sheet.write_string(0, column, question.label, looks["head"])
        for row in range(1, 1 + 4 * _LINES):
            sheet.write_blank(row, column, None, looks["open"])
    sheet.freeze_panes(1, 2)
    _print(sheet, PRODUCTS)


def _print(sheet: Any, title: str) -> None:
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_footer(f"&L{title.replace('&', '&&')}&RPage &P of &N")
