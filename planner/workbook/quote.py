"""The sheet Quote: the answer, for whom, the bill with its totals, and the terms, on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.report import edition
from planner.report.edition import Entry, list_price
from planner.report.words import counted as counted_words
from planner.report.words import listed as listed_words
from planner.report.words import product
from planner.schema.base import Prices
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.plan import Line, Plan
from planner.sizing.facility import discounted_years
from planner.workbook.book import (
    ANY_TEXT,
    COUNT,
    GREY,
    INK,
    OPEN,
    RED,
    SHARE,
    SOFT,
    THIN,
    Allowed,
    Book,
    Kind,
    Meaning,
    Sheet,
    constant,
    height,
)
from planner.workbook.live import (
    Scalar,
    Term,
    V,
    and_,
    count_if,
    differs,
    grouped,
    if_,
    is_number,
    join,
    max_,
    of,
    round_,
    round_up,
    same,
    sum_,
)

NAME = "Quote"
OWN, OWN_LINES = "Own lines", 5
VALID_DAYS = 30
PRICE = Allowed(0, 1e12)
_TILES, _SENTENCE, _BLOCK, _BILL = 3, 6, 8, 11
"""The rows above the bill, and its own first one."""
_MOST_ROWS_ON_A_PAGE, _TILE = 62, 20.0
"""Rows of one printed page, and characters that a headline figure needs."""
_MARK: dict[str, Any] = {"font_color": RED, "font_size": 9}
_UNITS: dict[Kind, str] = {
    "quantity": "units",
    "unit_list": "USD",
    "discount": "share",
}


# The columns of the bill: content of each line, and its formulas.


class Row:
    """A line of the bill, its number, and its cells by column; ``opened`` may be edited."""

    def __init__(self, line: Line, label: str, bill: Bill) -> None:
        self.line, self.label, self.opened, self.site = line, label, bill.opened, bill.plan.site
        self.decimals = bill.book.currency.decimals
        self.cells: dict[str, V] = {}

    @property
    def working(self) -> V:
        """Units in the cluster: those in place without owned ones that are idle."""
        quantity = self.cells["quantity"]
        return max_(0, quantity - self.line.idle) if self.line.idle else quantity

    @property
    def net(self) -> V:
        """The net price of a unit."""
        found = self.cells.get("net")
        return of(_net(self)) if found is None else found

    def paid(self, each: Term) -> V:
        """An amount for each unit ordered, in cents."""
        amount = self.cells["order"] * each
        return amount if self.line.is_percentage else round_(amount, self.decimals)


class Column(NamedTuple):
    """A column of the bill; one with a kind may be edited."""

    key: str
    title: str
    width: float
    look: str
    of: Callable[[Row], Term]
    kind: Kind | None = None
    allowed: Allowed = COUNT

    @property
    def total(self) -> bool:
        """Whether it is summed."""
        return self.key in ("amount", "support", "over_term", "subscription", "it_kw")


def _ordered(row: Row) -> Term:
    """The units to buy: in place and spare, less owned, in packs, at least the MOQ."""
    line, quantity = row.line, row.working
    spares: Term = row.cells.get("spares", of(line.spares))
    if line.quantity and line.spares:
        spares = if_(quantity > 0, spares, 0)
    need = quantity + spares
    if line.installed:
        need = max_(0, need - row.cells.get("owned", of(line.installed)))
    if line.pack > 1:
        need = round_up(need / line.pack) * line.pack
    planned = max(0, line.working + line.spares - line.installed)
    if line.purchased > line.pack * -(-planned // line.pack):  # the minimum order
        return if_(need > 0, max_(need, line.purchased), 0)
    return need


def _net(row: Row) -> Term:
    if "discount" not in row.cells:
        return row.line.unit_net_usd
    left = row.cells["unit_list"] * (1 - row.cells["discount"])
    return left if row.line.is_percentage else round_(left, row.decimals)


def _support(row: Row) -> Term:
    line = row.line
    if not line.support_share and not line.support_usd_per_year:
        return 0.0
    if line.support_share is not None and "unit_list" in row.cells:
        return row.paid(round_(constant(line.support_share) * row.net, row.decimals))
    return row.paid(_each(line.support_usd_per_year, line.purchased))


def support_span(line: Line, years: float) -> tuple[float, float]:
    """Begin and end of the support that is paid, in years of the term."""
    since = min(line.support_from_years, years)
    left = years - since if line.support_years is None else line.support_years
    return since, min(years, since + left)


def _support_over_term(row: Row) -> Term:
    span = support_span(row.line, row.site.years or 0.0)
    paid = discounted_years(*span, row.site.discount_rate)
    return row.cells["support"] * constant(paid)


def _subscription(row: Row) -> Term:
    line = row.line
    if line.subscription_usd_per_year is None:
        return None
    if line.unit_subscription_list_usd is None or "discount" not in row.cells:
        return row.paid(_each(line.subscription_usd_per_year, line.purchased))
    left = constant(line.unit_subscription_list_usd) * (1 - row.cells["discount"])
    return row.paid(round_(left, row.decimals))


def _power(row: Row) -> Term:
    line = row.line
    if not line.it_power_kw:
        return line.it_power_kw
    return row.cells["quantity"] * _each(line.it_power_kw, line.quantity)


def _each(total: float | None, count: int) -> V:
    return constant(total / count if total and count else 0.0)


def _mark(row: Row) -> Term:
    """The edited inputs of a line: quantity, price or both."""
    prices: dict[str, Scalar] = {"unit_list": list_price(row.line), "discount": row.line.discount}
    priced = [same(row.cells[k], constant(v)) for k, v in prices.items() if k in row.opened]
    counted = same(row.cells["quantity"], row.line.quantity)
    if not priced:
        return if_(counted, "", "quantity")
    as_priced = and_(*priced)
    return if_(counted, if_(as_priced, "", "price"), if_(as_priced, "quantity", "both"))


def _described(row: Row) -> Term:
    more = row.line.description
    return f"{product(row.line)} – {more}" if more else product(row.line)


def _part_number(text: str | None) -> str:
    return "on request" if text in (None, "", NO_PART_NUMBER) else str(text)


_CONTENT: Mapping[str, tuple[str, float, str, Callable[[Row], Term]]] = {
    "number": ("#", 5, "text", lambda row: row.label),
    "part": ("Part number", 22, "text", lambda row: _part_number(row.line.part_number)),
    "what": ("Description", 80, "wrap", _described),
    "quantity": ("In place", 8.5, "n0", lambda row: row.line.quantity),
    "spares": ("Spares", 7.5, "n0", lambda row: row.line.spares),
    "owned": ("Owned", 7.5, "n0", lambda row: row.line.installed),
    "order": ("Order", 8.5, "n0", _ordered),
    "unit_list": ("List price {}", 13, "cents", lambda row: list_price(row.line)),
    "discount": ("Discount", 9, "pct0", lambda row: row.line.discount),
    "net": ("Net price {}", 13, "cents", _net),
    "amount": ("Amount {}", 14.5, "usd", lambda row: row.paid(row.net)),
    "support": ("Support {}/year", 13, "usd", _support),
    "over_term": ("Support, term {}", 13, "usd", _support_over_term),
    "subscription": ("Subscription {}/year", 13, "usd", _subscription),
    "it_kw": ("IT load kW", 9, "n1", _power),
    "lead": ("Lead time", 13, "text", lambda row: row.line.lead_time),
    "mark": ("Edited", 9, "text", _mark),
}
"""Title, width, look and content by key, from left to right."""

_EDITED: Mapping[str, tuple[Kind, Allowed]] = {
    "quantity": ("quantity", COUNT),
    "unit_list": ("unit_list", PRICE),
    "discount": ("discount", SHARE),
}


def _columns(plan: Plan, prices: Prices, code: str) -> list[Column]:
    """The columns that a plan and an edition need."""
    own = edition.own_lines(plan)
    inside, money = prices == "all", prices != "none"
    nets = prices in ("net", "list+net", "discount") or any(line.discount for line in own)
    absent = {
        "owned": not any(line.installed for line in own),
        "unit_list": prices in ("none", "net"),
        "discount": prices not in ("all", "discount"),
        "net": not (nets and money),
        "amount": not money,
        "support": not money,
        "over_term": not (inside and edition.over_time(plan)),
        "subscription": not (money and edition.subscribed(plan)),
    }
    closed = {"unit_list": prices == "list+net"}
    found = []
    for key, (title, width, look, content) in _CONTENT.items():
        title = "Unit price {}" if key == "unit_list" and not nets else title
        kind, allowed = _EDITED.get(key, (None, COUNT))
        kind = None if closed.get(key) else kind
        if not absent.get(key):
            found.append(Column(key, title.format(code), width, look, content, kind, allowed))
    return found


# The bill on the sheet.


class Bill:
    """The bill on the sheet: its lines as ``rows``, the sums of columns as ``totals`` by key."""

    def __init__(self, book: Book, plan: Plan, prices: Prices) -> None:
        self.book, self.plan, self.prices = book, plan, prices
        self.columns = _columns(plan, prices, book.code)
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

    def marked(self, *texts: str) -> V:
        """The number of lines marked with one of some texts."""
        span = self.sheet.span(self._first, self._last, self.at["mark"])
        counts = [count_if(self._marks, span, text) for text in texts]
        return sum(counts[1:], counts[0])

    def write(self) -> None:
        """Write the table from the sheet's next free row on."""
        sheet = self.sheet
        look: dict[str, Any] = {"bold": True, "font_color": "#FFFFFF", "bg_color": INK}
        sheet.page.set_row(sheet.at, 32)
        for index, column in enumerate(self.columns):
            side = "left" if column.look in ("text", "wrap") else "right"
            sheet.put(sheet.at, index, column.title, self.book.look("wrap", **look, align=side))
        sheet.page.repeat_rows(sheet.at)
        sheet.at += 1
        sheet.page.freeze_panes(sheet.at, 0)
        self._first = sheet.at
        for block in edition.bill_sections(self.plan):
            top = self._section(block.section)
            self._sum(top, [self._line(entry) for entry in block.entries])
        if "amount" in self.at:
            self._own_lines()
        self._last = sheet.at - 1
        for column in self.columns:
            if column.kind is not None:
                sheet.rule(self._first, self._last, self.at[column.key], column.allowed)
        self._totals()

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
        row = Row(line, f"{entry.number}", self)
        for index, column in enumerate(self.columns):
            value, at, kind = column.of(row), (sheet.at, index), column.look
            kind = "fine" if kind == "cents" and line.is_percentage else kind
            if column.kind is None or isinstance(value, V):
                look = self.book.look(kind, **(_MARK if column.key == "mark" else THIN))
                row.cells[column.key] = sheet.put(*at, value, look)
                continue
            label, unit = f"{column.title.lower()} of {product(line)}", _UNITS[column.kind]
            meaning = Meaning(column.kind, line.sku, label, unit)
            cell = sheet.input(*at, value, kind, column.allowed, meaning, rule=False)
            row.cells[column.key] = cell
        self._set_height(str(row.cells["what"].value))
        self.rows.append(row)
        self._marks.append(row.cells["mark"])
        for index, part in enumerate(entry.parts):
            number = _part_number(part.part_number)
            text, counts = f"incl. {product(part)}", _counts(row, part)
            self._under(f"{entry.number}.{index + 1}", number, text, counts)
        return row

    def _set_height(self, text: str) -> None:
        width = self.columns[self.at["what"]].width
        self.sheet.page.set_row(self.sheet.at, height(text, width))
        self.sheet.at += 1

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
        self._set_height(f"    {what}")

    def _own_lines(self) -> None:
        """Write open rows: a description, a quantity, a price and a discount each."""
        top = self._section(f"{OWN} (installation, freight, services: type them here)")
        self._sum(top, [self._own_line(number) for number in range(1, OWN_LINES + 1)])
        if "unit_list" not in self.at:
            self.sheet.rule(top + 1, self.sheet.at - 1, self.at["net"], PRICE)

    def _own_line(self, number: int) -> Row:
        sheet, decimals = self.sheet, self.book.currency.decimals
        row = Row(self.plan.lines[0], "", self)
        cells, paid = row.cells, "unit_list" if "unit_list" in self.at else "net"
        sheet.fill(sheet.at, self.book.look(**THIN), 0, self.wide)
        for key, part, allowed, unit in (
            ("what", "model", ANY_TEXT, ""),
            ("quantity", "quantity", COUNT._replace(blank=True), "units"),
            (paid, "unit_list", PRICE._replace(blank=True), "USD"),
            ("discount", "discount", SHARE._replace(blank=True), "share"),
        ):
            if key in self.at:
                at, look = self.at[key], self.columns[self.at[key]].look
                label = f"own line {number}, {part.replace('_', ' ')}"
                meaning = Meaning("own_line", f"{OWN}|{number}|{part}", label, unit)
                cells[key] = sheet.input(sheet.at, at, None, look, allowed, meaning, rule=False)
        quantity, price = cells["quantity"], cells[paid]
        order = if_(is_number(quantity), quantity, if_(is_number(price), 1, 0))
        thin = self.book.look("n0", **THIN)
        cells["order"] = sheet.put(sheet.at, self.at["order"], order, thin)
        net = price * (1 - cells["discount"]) if "discount" in cells else price
        amount = round_(cells["order"] * round_(net, decimals), decimals)
        thin = self.book.look("usd", **THIN)
        cells["amount"] = sheet.put(sheet.at, self.at["amount"], amount, thin)
        edited = if_(same(cells["amount"], 0), "", "own line")
        self._marks.append(sheet.put(sheet.at, self.at["mark"], edited, self.book.look(**_MARK)))
        sheet.at += 1
        return row

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


def _counts(row: Row, part: Line) -> dict[str, Term]:
    """Units of a component in place and ordered, as its bundle."""
    found: dict[str, Term] = {}
    for key, count, whole in (
        ("quantity", part.quantity, row.line.quantity),
        ("order", part.purchased, row.line.purchased),
    ):
        follows = whole and count % whole == 0
        found[key] = row.cells[key] * (count // whole) if follows else count
    return found


# The parts above and below the bill.


class Tile(NamedTuple):
    """A headline figure."""

    label: str
    value: V
    look: str


def begin(book: Book, plan: Plan, prices: Prices) -> Bill:
    """Write the bill, leaving room above it for what `finish` writes.

    Sheets after it refer to its cells, and what stands above refers to theirs.
    """
    bill = Bill(book, plan, prices)
    standing = "Bill of materials" if prices == "none" else "Budgetary quotation"
    money = "" if prices == "none" else f" · {book.code}, {edition.taxes(plan)}"
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


def _tiles(sheet: Sheet, found: Sequence[Tile], wide: int) -> None:
    """Write headline figures side by side, over columns that are wide enough."""
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


def _customer_block(bill: Bill) -> None:
    """Write open cells: customer, reference, date of the quote and its end."""
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
            f"Prices: {bill.book.code}, net of discounts, {edition.taxes(plan)}. Budgetary "
            "estimates until vendors' quotes replace them; not an offer."
        )
        yearly = "Support and subscriptions" if edition.subscribed(plan) else "Support"
        years = plan.site.years
        term = f" over the term of {years:g} years" if years and bill.prices == "all" else ""
        yield f"{yearly}: paid per year{term}, not part of the amount."
    totals = plan.totals
    if totals is not None and totals.lead_time_days is not None:
        late = [product(x) for x in edition.own_lines(plan) if x.sku in totals.critical_skus]
        weeks = counted_words(round(totals.lead_time_days / 7), "week")
        yield f"Delivery: up to {weeks} after order ({listed_words(late[:3])})."
    yield "Order: units in place and cold spares, less what is owned, in whole packs."
    left = [*plan.not_counted]
    yield (
        "Not included unless listed: building works, installation, freight, duties and taxes"
        f"{'; ' + listed_words(left) if left else ''}."
    )
    yield from plan.public_notes
    for row in bill.rows:
        for note in row.line.public_notes:
            yield f"Line {row.label}, {product(row.line)}: {note}"


def bought(bill: Bill, section: str) -> list[Term]:
    """The lines of a section that count for the job as a sentence lists them, largest first."""
    rows = [row for row in bill.rows if row.line.section == section and row.line.working]
    rows.sort(key=lambda row: -row.line.working)
    parts: list[Term] = []
    for place, row in enumerate(rows):
        parts += ["" if not place else " and " if place == len(rows) - 1 else ", "]
        parts += [join(grouped(row.cells["quantity"]), f" {product(row.line)}")]
    return parts


def changed_quantities(bill: Bill) -> V:
    """The number of lines of GPU systems and storage with an edited quantity."""
    rows = [row for row in bill.rows if row.line.section in ("Compute", "Storage")]
    return count_of([differs(row.cells["quantity"], row.line.quantity) for row in rows])


def count_of(tests: Sequence[V]) -> V:
    """The number of tests that hold."""
    return sum((1 * test for test in tests[1:]), 1 * tests[0]) if tests else of(0)
