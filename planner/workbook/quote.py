"""The sheet Quote: the answer, for whom, the bill with its totals, and the terms, on one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.report import scope
from planner.report.scope import Entry
from planner.report.words import counted
from planner.report.words import listed as listed_words
from planner.schema.base import Prices
from planner.schema.plan import Line, Plan
from planner.workbook.book import (
    ANY_TEXT,
    COUNT,
    GREY,
    INK,
    OPEN,
    SHARE,
    SOFT,
    THIN,
    Book,
    Kind,
    Meaning,
    Sheet,
    height,
)
from planner.workbook.columns import PRICE, Row, columns_of, named, part_number
from planner.workbook.live import (
    Term,
    V,
    count_if,
    differs,
    grouped,
    if_,
    is_number,
    join,
    of,
    round_,
    same,
    sum_,
)

NAME = "Quote"
OWN, OWN_LINES = "Own lines", 5
VALID_DAYS = 30
_TILES, _SENTENCE, _BLOCK, _BILL = 3, 6, 8, 11
"""The rows above the bill, and its own first one."""
_MOST_ROWS_ON_A_PAGE = 62
_TILE = 20.0
"""Characters that a headline figure needs."""
_MARK: dict[str, Any] = {"font_color": "#B42318", "font_size": 9}
_UNITS: dict[Kind, str] = {
    "quantity": "units",
    "spares": "units",
    "unit_list": "USD",
    "discount": "share",
}


class Bill:
    """The bill as it stands on the sheet.

    ``rows`` are its lines; ``totals`` the sums of columns, ``at`` the places of these, by key.
    """

    def __init__(self, book: Book, plan: Plan, prices: Prices) -> None:
        self.book, self.plan, self.prices = book, plan, prices
        self.columns = columns_of(plan, prices, book.code)
        self.at = {column.key: index for index, column in enumerate(self.columns)}
        self.opened = {column.key for column in self.columns if column.kind is not None}
        self.rows: list[Row] = []
        self.totals: dict[str, V] = {}
        self.wide = self.at["mark"] - 1
        """The last column that is printed."""
        widths = [column.width for column in self.columns]
        self.sheet = Sheet(book, NAME, widths, landscape=True)
        self._first = self._last = 0
        self._marks: list[V] = []
        self._subtotals: dict[str, list[V]] = {column.key: [] for column in self.columns}

    def span(self, key: str) -> str:
        """The address of a column over all lines."""
        return self.sheet.span(self._first, self._last, self.at[key])

    def marked(self, *texts: str) -> V:
        """The number of lines marked with one of some texts."""
        counts = [count_if(self._marks, self.span("mark"), text) for text in texts]
        return sum(counts[1:], counts[0])

    def write(self) -> None:
        """Write the table from the sheet's next free row on."""
        self._head()
        self._first = self.sheet.at
        for block in scope.blocks(self.plan):
            top = self._section(block.section)
            rows = [self._line(entry) for entry in block.entries]
            self._sum(top, rows)
        if "amount" in self.at:
            self._own_lines()
        self._last = self.sheet.at - 1
        for column in self.columns:
            if column.kind is not None:
                self.sheet.rule(self._first, self._last, self.at[column.key], column.allowed)
        self._totals()

    def _head(self) -> None:
        look: dict[str, Any] = {"bold": True, "font_color": "#FFFFFF", "bg_color": INK}
        sheet = self.sheet
        sheet.page.set_row(sheet.at, 32)
        for index, column in enumerate(self.columns):
            left = column.look in ("text", "wrap")
            style = self.book.look("wrap", **look, align="left" if left else "right")
            sheet.put(sheet.at, index, column.title, style)
        sheet.page.repeat_rows(sheet.at)
        sheet.at += 1
        sheet.page.freeze_panes(sheet.at, 0)

    def _section(self, title: str) -> int:
        style = self.book.look(bold=True, bg_color=SOFT, font_color=INK)
        self.sheet.fill(self.sheet.at, style)
        self.sheet.put(self.sheet.at, 0, title, style)
        self.sheet.at += 1
        return self.sheet.at - 1

    def _sum(self, top: int, rows: Sequence[Row]) -> None:
        """Write the sums of a section into its first row."""
        for index, column in enumerate(self.columns):
            if column.total:
                ends = (xl_rowcol_to_cell(at, index) for at in (top + 1, self.sheet.at - 1))
                cells = [row.cells[column.key] for row in rows if column.key in row.cells]
                style = self.book.look(column.look, bold=True, bg_color=SOFT, font_color=INK)
                cell = self.sheet.put(top, index, sum_(cells, ":".join(ends)), style)
                self._subtotals[column.key].append(cell)

    def _line(self, entry: Entry) -> Row:
        sheet, line = self.sheet, entry.line
        row = Row(line, f"{entry.number}", sheet.at, self.opened, self.book.currency.decimals)
        for index, column in enumerate(self.columns):
            value, at, kind = column.of(row), (sheet.at, index), column.look
            kind = "fine" if kind == "cents" and line.is_percentage else kind
            if column.kind is None or isinstance(value, V):
                look = self.book.look(kind, **(_MARK if column.key == "mark" else THIN))
                row.cells[column.key] = sheet.put(*at, value, look)
                continue
            label, unit = f"{column.title.lower()} of {named(line)}", _UNITS[column.kind]
            meaning = Meaning(column.kind, line.sku, label, unit)
            row.cells[column.key] = sheet.input(
                *at, value, kind, column.allowed, meaning, rule=False
            )
        sheet.page.set_row(sheet.at, self._height(row.cells["what"].value))
        self.rows.append(row)
        self._marks.append(row.cells["mark"])
        sheet.at += 1
        for index, part in enumerate(entry.parts):
            text, number = f"incl. {named(part)}", part_number(part.part_number)
            self._under(entry.part_label(index), number, text, self._counts(row, part))
        for index, each in enumerate(entry.ordered):
            length = "" if each.length_m is None else f", {each.length_m:g} m"
            copper = "" if each.sku == line.sku else f", in place of {each.in_place_of}"
            text = f"of which {each.vendor} {each.model}{length}{copper}"
            number, label = part_number(each.part_number), entry.ordered_label(index)
            self._under(label, number, text, {"quantity": each.quantity})
        return row

    def _height(self, text: object) -> float:
        return height(str(text), self.columns[self.at["what"]].width)

    def _counts(self, row: Row, part: Line) -> dict[str, Term]:
        """Units of a component in place and ordered, as its bundle."""
        found: dict[str, Term] = {}
        wholes = (
            ("quantity", part.quantity, row.line.quantity),
            ("order", part.purchased, row.line.purchased),
        )
        for key, count, whole in wholes:
            follows = whole and count % whole == 0
            found[key] = row.cells[key] * (count // whole) if follows else count
        return found

    def _under(self, label: str, number: str, what: str, counts: dict[str, Term]) -> None:
        """Write a row under a line, which has no money of its own."""
        sheet = self.sheet
        quiet: dict[str, Any] = {"font_color": GREY, "italic": True, **THIN}
        style = self.book.look("wrap", **quiet)
        sheet.fill(sheet.at, style, 0, self.wide)
        for key, text in (("number", label), ("part", number), ("what", f"    {what}")):
            sheet.put(sheet.at, self.at[key], text, style)
        for key, count in counts.items():
            sheet.put(sheet.at, self.at[key], count, self.book.look("n0", **quiet))
        sheet.page.set_row(sheet.at, self._height(f"    {what}"))
        sheet.at += 1

    def _own_lines(self) -> None:
        """Write open rows: a description, a quantity, a price and a discount each."""
        top = self._section(f"{OWN} (installation, freight, services: type them here)")
        rows = [self._own_line(number) for number in range(1, OWN_LINES + 1)]
        self._sum(top, rows)
        if "unit_list" not in self.at:
            self.sheet.rule(top + 1, self.sheet.at - 1, self.at["net"], PRICE)

    def _own_line(self, number: int) -> Row:
        sheet, decimals = self.sheet, self.book.currency.decimals
        line = self.plan.lines[0]
        row = Row(line, "", sheet.at, self.opened, decimals)
        cells, paid = row.cells, "unit_list" if "unit_list" in self.at else "net"
        sheet.fill(sheet.at, self.book.look(**THIN), 0, self.wide)
        for key, part, allowed, unit in (
            ("what", "model", ANY_TEXT, ""),
            ("quantity", "quantity", COUNT._replace(blank=True), "units"),
            (paid, "unit_list", PRICE._replace(blank=True), "USD"),
            ("discount", "discount", SHARE._replace(blank=True), "share"),
        ):
            if key in self.at:
                look = self.columns[self.at[key]].look
                label = f"own line {number}, {part.replace('_', ' ')}"
                meaning = Meaning("own_line", f"{OWN}|{number}|{part}", label, unit)
                cells[key] = sheet.input(
                    sheet.at, self.at[key], None, look, allowed, meaning, rule=False
                )
        quantity, price = cells["quantity"], cells[paid]
        order = if_(is_number(quantity), quantity, if_(is_number(price), 1, 0))
        cells["order"] = self._plain("order", order, "n0")
        net = price * (1 - cells["discount"]) if "discount" in cells else price
        amount = round_(cells["order"] * round_(net, decimals), decimals)
        cells["amount"] = self._plain("amount", amount, "usd")
        edited = if_(same(cells["amount"], 0), "", "own line")
        self._marks.append(sheet.put(sheet.at, self.at["mark"], edited, self.book.look(**_MARK)))
        sheet.at += 1
        return row

    def _plain(self, key: str, value: Term, look: str) -> V:
        style = self.book.look(look, **THIN)
        return self.sheet.put(self.sheet.at, self.at[key], value, style)

    def _totals(self) -> None:
        sheet, totals = self.sheet, self.plan.totals
        rules: dict[str, Any] = {"top": 2, "top_color": INK, "bottom": 2, "bottom_color": INK}
        for index, column in enumerate(self.columns[: self.wide + 1]):
            look = column.look if column.total else "text"
            style = self.book.look(look, bold=True, font_size=11, **rules)
            if not column.total:
                sheet.put(sheet.at, index, "" if index else "Total", style)
                continue
            parts = self._subtotals[column.key]
            total: Term = sum(parts[1:], parts[0]) if parts else 0
            if column.key == "it_kw" and (totals is None or totals.it_power_kw is None):
                total = "n/a"
            name = f"bill_{column.key}"
            self.totals[column.key] = sheet.put(sheet.at, index, total, style, name)
        sheet.page.set_row(sheet.at, 20)
        sheet.at += 1


class Tile(NamedTuple):
    """A headline figure."""

    label: str
    value: V
    look: str


def _tiles(sheet: Sheet, found: Sequence[Tile], wide: int) -> None:
    """Write headline figures side by side."""
    ends = list(accumulate(sheet.widths[: wide + 1]))
    starts = [0]
    for place in range(1, len(found)):
        target, begun = ends[-1] * place / len(found), starts[-1]
        before = ends[begun] - sheet.widths[begun]
        room = [at for at in range(begun + 1, wide + 1) if ends[at - 1] - before >= _TILE]
        starts.append(min(room, key=lambda at: abs(ends[at - 1] - target)))
    ground: dict[str, Any] = {"bg_color": SOFT, "align": "left", "indent": 1}
    for tile, first, after in zip(found, starts, [*starts[1:], wide + 1], strict=True):
        big = sheet.book.look(tile.look, bold=True, font_size=17, font_color=INK, **ground)
        small = sheet.book.look(font_color=GREY, font_size=9, **ground)
        sheet.over(_TILES, first, after - 1, tile.value, big)
        sheet.over(_TILES + 1, first, after - 1, tile.label, small)
    sheet.page.set_row(_TILES, 30)


def begin(book: Book, plan: Plan, prices: Prices) -> Bill:
    """Write the bill, leaving room above it for what `finish` writes.

    Sheets after it refer to its cells, and what stands above refers to theirs.
    """
    bill = Bill(book, plan, prices)
    standing = "Bill of materials" if prices == "none" else "Budgetary quotation"
    money = "" if prices == "none" else f" · {book.code}, {scope.taxes(plan)}"
    bill.sheet.head(plan.problem, f"{standing}{money} · estimates, not an offer", bill.wide)
    bill.sheet.at = _BILL
    bill.write()
    return bill


def finish(bill: Bill, found: Sequence[Tile], sentence: Term, banner: V) -> None:
    """Write the parts above and below the bill."""
    sheet, book, below = bill.sheet, bill.book, bill.sheet.at
    _tiles(sheet, found, bill.wide)
    sheet.at = _SENTENCE
    sheet.text(sentence, bill.wide, bold=True, font_size=12, font_color=INK)
    _customer_block(bill)
    sheet.at = below + 1
    amber = book.file.add_format({"bg_color": "#FFE8B3", "font_color": "#7A4B00", "bold": True})
    rule = {"type": "text", "criteria": "begins with", "value": "EDITED", "format": amber}
    sheet.page.conditional_format(sheet.at, 0, sheet.at, bill.wide, rule)
    sheet.text(banner, bill.wide, font_color=GREY)
    sheet.at += 1
    sheet.heading("Terms", bill.wide)
    for text in _terms(bill):
        sheet.text(text, bill.wide, font_size=9, font_color=GREY)
    style = book.look("wrap", **OPEN, font_size=9)
    sheet.page.merge_range(sheet.at, 0, sheet.at, bill.wide, "", style)
    sheet.input(sheet.at, 0, "", "wrap", ANY_TEXT, Meaning(None, "", "terms"))
    sheet.area(0, sheet.at, bill.wide)
    sheet.page.fit_to_pages(1, 1 if sheet.at <= _MOST_ROWS_ON_A_PAGE else 0)


def _customer_block(bill: Bill) -> None:
    """Write for whom the quote is and until when it is good: open cells."""
    sheet, book = bill.sheet, bill.book
    label = book.look(font_color=GREY, font_size=9)
    for row, text in enumerate(("Prepared for", "Reference"), start=_BLOCK):
        sheet.over(row, 0, 1, text, label)
        sheet.input(row, 2, "", "text", ANY_TEXT, Meaning(None, "", text.lower()))
    opened = book.look("date", **OPEN)
    first = bill.at["order"] + 1
    last = min(first + 1, bill.wide)
    today = book.created.replace(hour=0, minute=0, second=0, microsecond=0)
    dates = (("Date", today), ("Valid until", today + timedelta(days=VALID_DAYS)))
    for row, (text, date) in enumerate(dates, start=_BLOCK):
        sheet.over(row, 3, first - 1, text, label)
        if last > first:
            sheet.page.merge_range(row, first, row, last, "", opened)
        sheet.page.write_datetime(row, first, date, opened)
        book.free.add((sheet.name, xl_rowcol_to_cell(row, first)))


def _terms(bill: Bill) -> Iterator[str]:
    """Yield the terms of the quote, a sentence each."""
    plan = bill.plan
    if bill.prices != "none":
        yield (
            f"Prices: {bill.book.code}, "
            f"net of discounts, {scope.taxes(plan)}. Budgetary estimates until vendors' quotes "
            "replace them; not an offer."
        )
        yearly = "Support and subscriptions" if scope.subscribed(plan) else "Support"
        years = plan.site.years
        term = f" over the term of {years:g} years" if years and bill.prices == "all" else ""
        yield f"{yearly}: paid per year{term}, not part of the amount."
    lead = plan.totals.lead_time_days if plan.totals else None
    if lead is not None and plan.totals is not None:
        late = [
            named(line) for line in scope.own_lines(plan) if line.sku in plan.totals.critical_skus
        ]
        weeks = counted(round(lead / 7), "week")
        yield f"Delivery: up to {weeks} after order ({listed_words(late[:3])})."
    yield "Order: units in place and cold spares, less what is owned, in whole packs."
    left = [*plan.not_counted]
    yield (
        "Not included unless listed: building works, installation, freight, duties and taxes"
        f"{'; ' + listed_words(left) if left else ''}."
    )
    for note in plan.public_notes:
        yield note
    for row in bill.rows:
        for note in row.line.public_notes:
            yield f"Line {row.label}, {named(row.line)}: {note}"


def decided(bill: Bill, section: str) -> list[Row]:
    """The lines of a section that count for the job, largest first."""
    rows = [row for row in bill.rows if row.line.section == section and row.line.working]
    return sorted(rows, key=lambda row: -row.line.working)


def bought(rows: Sequence[Row]) -> V:
    """Lines as a sentence counts them."""
    parts: list[Term] = []
    for place, row in enumerate(rows):
        parts += ["" if not place else " and " if place == len(rows) - 1 else ", "]
        parts += [grouped(row.cells["quantity"]), f" {named(row.line)}"]
    return join(*parts)


def changed_quantities(bill: Bill) -> V:
    """The number of lines of GPU systems and storage with an edited quantity."""
    rows = [row for row in bill.rows if row.line.section in ("Compute", "Storage")]
    tests = [differs(row.cells["quantity"], row.line.quantity) for row in rows]
    return count_of(tests)


def count_of(tests: Sequence[V]) -> V:
    """The number of tests that hold."""
    return sum((1 * test for test in tests[1:]), 1 * tests[0]) if tests else of(0)
