"""The sheet Quote: the answer, for whom, the bill with its totals, and the terms, on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from planner.report import edition
from planner.report.edition import Entry, list_price
from planner.report.formats import count_noun as counted_words
from planner.report.formats import join_words as listed_words
from planner.report.formats import product
from planner.schema import Prices
from planner.schema.plan import Plan
from planner.workbook.book import (
    COUNT,
    SHARE,
    Allowed,
    Book,
    Meaning,
    Sheet,
    height,
    here,
)
from planner.workbook.formulas import (
    Scalar,
    Term,
    V,
    any_of,
    as_value,
    constant,
    differs,
    grouped,
    if_,
    is_number,
    join,
    max_,
    round_,
    round_up,
    sum_,
    sum_of,
)

NAME = "Quote"
OWN, OWN_LINES = "Own lines", 5
VALID_DAYS = 30
_TILES, _SENTENCE, _BLOCK, _BILL = 3, 6, 8, 11
"""The rows above the bill, and its own first one."""
_MOST_ROWS_ON_A_PAGE = 62
_EDITED = "edited"


# The columns of the bill: content of each line, and its formulas.


class Row:
    """A line of the bill, its number, and its cells by column."""

    __slots__ = ("cells", "decimals", "line", "number", "parts")

    def __init__(self, entry: Entry, decimals: int) -> None:
        self.line, self.number, self.parts = entry.line, f"{entry.number}", entry.parts
        self.decimals = decimals
        self.cells: dict[str, V] = {}

    @property
    def described(self) -> str:
        """The product in words, a bundle with its components."""
        line, count = self.line, max(1, self.line.quantity)
        text = f"{product(line)} – {line.description}" if line.description else product(line)
        parts = [f"{part.quantity / count:,.4g} x {product(part)}" for part in self.parts]
        return f"{text}; with {listed_words(parts)}" if parts else text

    @property
    def working(self) -> V:
        """Units in the cluster: those in place without owned ones that are idle."""
        quantity, idle = self.cells["quantity"], self.line.idle
        return max_(0, quantity - idle) if idle else quantity

    @property
    def net(self) -> V:
        """The net price of a unit."""
        found = self.cells.get("net")
        return as_value(_net(self)) if found is None else found

    def paid(self, each: Term) -> V:
        """An amount for each unit ordered, in cents."""
        amount = self.cells["order"] * each
        return amount if self.line.is_percentage else round_(amount, self.decimals)


def _ordered(row: Row) -> Term:
    """The units to buy: in place and spare, less owned, in packs, at least the MOQ."""
    line, quantity = row.line, row.working
    spares: Term = row.cells["spares"]
    if line.quantity and line.spares:
        spares = if_(quantity > 0, spares, 0)
    need = quantity + spares
    if line.installed:
        need = max_(0, need - row.cells["owned"])
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
    return row.paid(_unit_amount(line.support_usd_per_year, line.purchased))


def _subscription(row: Row) -> Term:
    line = row.line
    if line.subscription_usd_per_year is None:
        return None
    if line.unit_subscription_list_usd is None or "discount" not in row.cells:
        return row.paid(_unit_amount(line.subscription_usd_per_year, line.purchased))
    left = constant(line.unit_subscription_list_usd) * (1 - row.cells["discount"])
    return row.paid(round_(left, row.decimals))


def _power(row: Row) -> Term:
    line = row.line
    if not line.it_power_kw:
        return line.it_power_kw
    return row.cells["quantity"] * _unit_amount(line.it_power_kw, line.quantity)


def _unit_amount(total: float | None, count: int) -> V:
    return constant(total / count if total and count else 0.0)


def _mark(row: Row) -> Term:
    line = row.line
    planned: dict[str, Scalar] = {"quantity": line.quantity, "unit_list": list_price(line)}
    planned["discount"] = line.discount
    pairs = [(row.cells[key], value) for key, value in planned.items() if key in row.cells]
    return if_(any_of([differs(*pair) for pair in pairs]), _EDITED, "")


class Column(NamedTuple):
    """A column of the bill, and its content of a line."""

    key: str
    title: str
    width: float
    look: str
    of: Callable[[Row], Term]


_COLUMNS = (
    Column("number", "#", 5, "text", lambda row: row.number),
    Column("part", "Part number", 24, "text", lambda row: edition.part_number(row.line)),
    Column("what", "Description", 80, "wrap", lambda row: row.described),
    Column("quantity", "In place", 8.5, "n0", lambda row: row.line.quantity),
    Column("spares", "Spares", 7.5, "n0", lambda row: row.line.spares),
    Column("owned", "Owned", 7.5, "n0", lambda row: row.line.installed),
    Column("order", "Order", 8.5, "n0", _ordered),
    Column("unit_list", "List price {}", 13, "cents", lambda row: list_price(row.line)),
    Column("discount", "Discount", 9, "pct0", lambda row: row.line.discount),
    Column("net", "Net price {}", 13, "cents", _net),
    Column("amount", "Amount {}", 14.5, "usd", lambda row: row.paid(row.net)),
    Column("support", "Support {}/year", 13, "usd", _support),
    Column("subscription", "Subscription {}/year", 13, "usd", _subscription),
    Column("it_kw", "IT load kW", 9, "n1", _power),
    Column("lead", "Lead time", 13, "text", lambda row: row.line.lead_time),
    Column("mark", "Edited", 9, "text", _mark),
)
"""From left to right."""
_TOTALS = ("amount", "support", "subscription", "it_kw")
_READ = ("quantity", "order", "it_kw")
"""Columns that other sheets read; the cells of the rest would fill the memory."""
_INPUTS = {
    "quantity": (COUNT, "units"),
    "unit_list": (Allowed(0, 1e12), "USD"),
    "discount": (SHARE, "share"),
}
"""Columns that may be edited, with what they take and its unit."""


def _columns(plan: Plan, prices: Prices, code: str) -> list[Column]:
    """The columns that a plan and an edition need."""
    own = edition.own_lines(plan)
    inside, money = prices == "all", prices != "none"
    nets = money and (not inside or any(line.discount for line in own))
    shown = {
        "owned": any(line.installed for line in own),
        "unit_list": prices not in ("none", "net"),
        "discount": prices in ("all", "discount"),
        "net": nets,
        "amount": money,
        "support": money,
        "subscription": money and any(x.subscription_usd_per_year is not None for x in own),
    }
    titles = {} if nets else {"unit_list": "Unit price {}"}
    return [
        column._replace(title=titles.get(column.key, column.title).format(code))
        for column in _COLUMNS
        if shown.get(column.key, True)
    ]


# The bill on the sheet.


class Bill:
    """The bill on the sheet: its lines as ``rows``, the sums of columns as ``totals`` by key."""

    def __init__(self, book: Book, plan: Plan, prices: Prices) -> None:
        self.book, self.plan, self.prices = book, plan, prices
        self.columns = _columns(plan, prices, book.currency.code)
        self.at = {column.key: index for index, column in enumerate(self.columns)}
        closed = {"unit_list"} if prices == "list+net" else set()  # the net price is paid
        keys = _INPUTS.keys() & self.at.keys() - closed
        self.inputs = {key: of for key, of in _INPUTS.items() if key in keys}
        services = any(line.section == "Services" for line in plan.lines)
        self.taxes = "with no taxes but those listed" if services else "without taxes"
        self.rows: list[Row] = []
        self.totals: dict[str, V] = {}
        self.wide = self.at["mark"] - 1
        """The last column that is printed."""
        self.looks = [
            book.look(column.look, "mark" if column.key == "mark" else "line")
            for column in self.columns
        ]
        widths = [column.width for column in self.columns]
        self.sheet = Sheet(book, NAME, widths, landscape=True)
        self.edited = as_value(0)
        """The number of edited lines."""
        self._edits = 0
        self.sections: list[tuple[str, dict[str, V]]] = []
        """Title and sums of each section."""

    def write(self) -> None:
        """Write the table from the sheet's next free row on."""
        sheet = self.sheet
        sheet.page.set_row(sheet.at, 32)
        for index, column in enumerate(self.columns):
            side = "left" if column.look in ("text", "wrap") else "right"
            sheet.put(sheet.at, index, column.title, self.book.look("wrap", "band", align=side))
        sheet.page.repeat_rows(sheet.at)
        sheet.at += 1
        sheet.page.freeze_panes(sheet.at, 0)
        first = sheet.at
        for section, entries in edition.bill_sections(self.plan):
            self._section(section, entries, self._line)
        if "amount" in self.at:
            title = f"{OWN} (installation, freight, services: type them here)"
            self._section(title, range(1, OWN_LINES + 1), self._own_line)
        span = sheet.span(first, sheet.at - 1, self.at["mark"])
        self.edited = V(self._edits, f'COUNTIF({span},"{_EDITED}")')
        self._totals()

    def _section(
        self, title: str, entries: Iterable[Any], write: Callable[[Any], dict[str, V]]
    ) -> None:
        """Write the lines of a section, and their sums into its first row."""
        sheet, top = self.sheet, self.sheet.at
        sheet.fill(top, self.book.look("text", "section"))
        sheet.put(top, 0, title, self.book.look("text", "section"))
        sheet.at += 1
        values: dict[str, list[Any]] = {key: [] for key in _TOTALS if key in self.at}
        for entry in entries:
            cells = write(entry)
            self._edits += cells["mark"].value == _EDITED
            for key, found in values.items():
                found.append(cells[key].value if key in cells else None)
        sums = {}
        for key, found in values.items():
            at = self.at[key]
            span = ":".join(sheet.place(row, at)[1] for row in (top + 1, sheet.at - 1))
            look = self.book.look(self.columns[at].look, "section")
            sums[key] = sheet.put(top, at, sum_(found, span), look)
        self.sections.append((title, sums))

    def _line(self, entry: Entry) -> dict[str, V]:
        sheet, line = self.sheet, entry.line
        row, read = Row(entry, self.book.currency.decimals), dict[str, V]()
        for index, (key, title, _, look, content) in enumerate(self.columns):
            value, at, shown = content(row), (sheet.at, index), self.looks[index]
            if look == "cents" and line.is_percentage:
                look, shown = "fine", self.book.look("fine", "line")
            if key in self.inputs and not isinstance(value, V):
                allowed, unit = self.inputs[key]
                label = f"{title[:1].lower()}{title[1:]} of {product(line)}"
                meaning = Meaning(key, line.sku, label, unit, allowed)
                cell = sheet.input(*at, value, look, meaning)
            else:
                cell = sheet.put(*at, value, shown)
            row.cells[key] = here(cell)
            read |= {key: cell} if key in _READ else {}
        width = self.columns[self.at["what"]].width
        sheet.page.set_row(sheet.at, height(row.described, width))
        sheet.at += 1
        self.rows.append(row)
        cells, row.cells = row.cells, read
        return cells

    def _own_line(self, number: int) -> dict[str, V]:
        """Write an open row: a description, a quantity, a price and a discount."""
        sheet, decimals, row = self.sheet, self.book.currency.decimals, self.sheet.at
        cells: dict[str, V] = {}
        sheet.fill(row, self.book.look("text", "line"), 0, self.wide)
        paid = "unit_list" if "unit_list" in self.inputs else "net"
        text = Allowed(text=True), ""
        parts = (("what", "model"), ("quantity",) * 2, (paid, "unit_list"), ("discount",) * 2)
        for key, part in parts:
            if key in self.at:
                allowed, unit = _INPUTS.get(part, text)
                allowed = allowed._replace(blank=True)
                label = f"own line {number}, {part.replace('_', ' ')}"
                meaning = Meaning("own_line", f"{OWN}|{number}|{part}", label, unit, allowed)
                look = self.columns[self.at[key]].look
                cells[key] = here(sheet.input(row, self.at[key], None, look, meaning))
        quantity, price = cells["quantity"], cells[paid]

        def put(key: str, value: V) -> None:
            look = self.book.look(self.columns[self.at[key]].look, "line")
            cells[key] = here(sheet.put(row, self.at[key], value, look))

        put("order", if_(is_number(quantity), quantity, if_(is_number(price), 1, 0)))
        net = price * (1 - cells["discount"]) if "discount" in cells else price
        put("amount", round_(cells["order"] * round_(net, decimals), decimals))
        edited = if_(differs(cells["amount"], 0), _EDITED, "")
        cells["mark"] = sheet.put(row, self.at["mark"], edited, self.book.look("text", "mark"))
        sheet.at += 1
        return cells

    def _totals(self) -> None:
        sheet, totals = self.sheet, self.plan.totals
        sheet.fill(sheet.at, self.book.look("text", "under", "sum"), 0, self.wide)
        sheet.put(sheet.at, 0, "Total", self.book.look("text", "under", "sum"))
        for key in (key for key in _TOTALS if key in self.at):
            total: Term = sum_of([here(sums[key]) for _, sums in self.sections])
            if key == "it_kw" and (totals is None or totals.it_power_kw is None):
                total = "n/a"
            look = self.book.look(self.columns[self.at[key]].look, "under", "sum")
            self.totals[key] = sheet.put(sheet.at, self.at[key], total, look, f"bill_{key}")
        sheet.page.set_row(sheet.at, 20)
        sheet.at += 1


# The parts above and below the bill.


Tile = tuple[str, V, str]
"""A headline figure: label, value, look."""


def begin(book: Book, plan: Plan, prices: Prices) -> Bill:
    """Write the bill, leaving room above it for `finish`.

    Sheets after it refer to its cells, and the cells above it refer to theirs.
    """
    bill = Bill(book, plan, prices)
    standing = "Bill of materials" if prices == "none" else "Budgetary quotation"
    money = "" if prices == "none" else f" · {book.currency.code}, {bill.taxes}"
    bill.sheet.head(plan.problem, f"{standing}{money} · estimates, not an offer", bill.wide)
    bill.sheet.at = _BILL
    bill.write()
    return bill


def finish(bill: Bill, tiles: Sequence[Tile], sentence: Term, banner: V) -> None:
    """Write the parts above and below the bill."""
    sheet, book, below, wide = bill.sheet, bill.book, bill.sheet.at, bill.wide
    _write_tiles(bill, tiles)
    sheet.at = _SENTENCE
    sheet.text(sentence, "answer", wide)
    _customer_block(bill)
    sheet.at = below + 1
    amber = book.file.add_format({"bg_color": "#FFE8B3", "font_color": "#7A4B00", "bold": True})
    rule = {"type": "text", "criteria": "begins with", "value": "EDITED", "format": amber}
    sheet.page.conditional_format(sheet.at, 0, sheet.at, wide, rule)
    sheet.text(banner, "grey", wide)
    sheet.at += 1
    sheet.heading("Terms", wide)
    for text in _terms(bill):
        sheet.text(text, "note", wide)
    sheet.over(sheet.at, 0, wide, "", book.look("wrap", "open", "line"))
    book.free.add(sheet.place(sheet.at, 0))
    sheet.area(0, sheet.at, wide)
    sheet.page.fit_to_pages(1, 1 if sheet.at <= _MOST_ROWS_ON_A_PAGE else 0)


def _write_tiles(bill: Bill, tiles: Sequence[Tile]) -> None:
    """Write headline figures side by side."""
    sheet, order = bill.sheet, bill.at["order"]
    starts = [0, bill.at["what"], bill.at["quantity"], order + 1, order + 3][: len(tiles)]
    small = sheet.book.look("text", "note", "tile")
    ends = [*starts[1:], bill.wide + 1]
    for (label, value, look), first, end in zip(tiles, starts, ends, strict=True):
        big = sheet.book.look(look, "figure", "tile")
        sheet.over(_TILES, first, end - 1, value, big)
        sheet.over(_TILES + 1, first, end - 1, label, small)
    sheet.page.set_row(_TILES, 30)


def _customer_block(bill: Bill) -> None:
    """Write open cells: customer, reference, date of the quote and its end."""
    sheet, book, first = bill.sheet, bill.book, bill.at["order"] + 1
    label = book.look("text", "note")
    today = book.created.replace(hour=0, minute=0, second=0, microsecond=0)
    for row, text, second, date in (
        (_BLOCK, "Prepared for", "Date", today),
        (_BLOCK + 1, "Reference", "Valid until", today + timedelta(days=VALID_DAYS)),
    ):
        sheet.over(row, 0, 1, text, label)
        sheet.put(row, 2, "", book.look("text", "open", "line"))
        sheet.over(row, 3, first - 1, second, label)
        opened = book.look("date", "open", "line")
        sheet.page.merge_range(row, first, row, first + 1, "", opened)
        sheet.page.write_datetime(row, first, date, opened)
        book.free |= {sheet.place(row, 2), sheet.place(row, first)}


def _terms(bill: Bill) -> Iterator[str]:
    """Yield the terms of the quote, a sentence each."""
    plan = bill.plan
    if bill.prices != "none":
        yield (
            f"Prices: {bill.book.currency.code}, net of discounts, {bill.taxes}. "
            "Budgetary estimates until vendors' quotes replace them; not an offer."
        )
        yearly = "Support and subscriptions" if "subscription" in bill.at else "Support"
        years = plan.site.years
        term = f" over the term of {years:g} years" if years and bill.prices == "all" else ""
        yield f"{yearly}: paid per year{term}, not part of the amount."
    totals = plan.totals
    if totals is not None and totals.lead_time_days is not None:
        late = [product(x) for x in edition.own_lines(plan) if x.sku in totals.critical_skus]
        weeks = counted_words(round(totals.lead_time_days / 7), "week")
        yield f"Delivery: up to {weeks} after order ({listed_words(late[:3])})."
    yield "Order: units in place and cold spares, less what is owned, in whole packs."
    left = f"; {listed_words([*plan.not_counted])}" if plan.not_counted else ""
    yield (
        "Not included unless listed: building works, installation, freight, duties and taxes"
        f"{left}."
    )


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
    return sum_of([1 * differs(row.cells["quantity"], row.line.quantity) for row in rows])
