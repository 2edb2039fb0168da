"""A row of the bill of materials: the line it is of, its texts, inputs and formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from xlsxwriter.format import Format

from planner import currency
from planner.figures import BTU_PER_H_PER_KW, STATED, Stated
from planner.outputs import scope
from planner.outputs.restated import listed
from planner.outputs.scope import Block, Entry
from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom.columns import (
    PER_UNIT,
    Columns,
    figures,
    lacking,
    least_order,
    paid_support,
    without_idle,
)
from planner.outputs.workbook.book import RATE, Book, counted_name
from planner.outputs.workbook.cells import DECIMAL_2_TO_4, InputCell, Range, Role
from planner.outputs.workbook.page import Page
from planner.schema.plan import Line, Plan
from planner.schema.prices import DAYS_PER_MONTH, LEAD_TIME

Open = Literal["quantity", "discount", "unit_list", "installed", "spares", "lead_time", "remark"]
"""The cells of a line that a reader may change."""

_COUNT = Range(0, 10_000_000, whole=True)


class OpenCell(NamedTuple):
    """A cell of a line that a reader may change.

    Attributes:
        allowed: what it may hold.
        unit: of what it holds.
        prompt: what it says when it is selected.
        field: of the line, which it holds as solved; blank without one.
    """

    allowed: Range
    unit: str
    prompt: str
    field: str = ""


OPEN: dict[Open, OpenCell] = {
    "quantity": OpenCell(_COUNT, "units", "Units in place. Money, power, racks and the sizing "
                         "model follow.", "quantity"),
    "discount": OpenCell(Range(0, 1), "share", "Off the list price, as a share: 12.5 % is 0.125.",
                         "discount"),
    "unit_list": OpenCell(Range(0, 1e12), "USD", "List price of one unit, USD. Support that is a "
                          "share of it follows.", "unit_list_usd"),
    "installed": OpenCell(_COUNT, "units", "Units that are owned and stay: so many fewer are "
                          "bought.", "installed"),
    "spares": OpenCell(_COUNT, "units", "Units that lie in store: bought, but not in place.",
                       "spares"),
    "lead_time": OpenCell(
        Range(pattern=LEAD_TIME, example="12 weeks or 8-16 weeks", blank=True), "",
        "From order to delivery. The longest of what is bought counts.", "lead_time",
    ),
    "remark": OpenCell(Range(free_text=True, blank=True), "", "A note of your own on this line."),
}  # fmt: skip


BOUGHT = ("extended_list", "extended_net", "support", "support_paid", "yearly")
"""Sums that an edited quantity leaves incomplete where what it buys has no price."""


class BomPage(Page):
    """A worksheet with named columns; ``limited`` are the catalog ids that a limit counts."""

    def __init__(self, book: Book, columns: Columns) -> None:
        super().__init__(book, "BOM", "Bill of materials")
        self.columns = columns
        limits = (limit.name.split(".") for limit in book.plan.limits)
        self.limited = {parts[1] for parts in limits if len(parts) > 1}
        self._places: dict[tuple[Role, bool], dict[str, tuple[int, Format]]] = {}
        self._known: dict[int, dict[str, float | None]] = {}

    def places(self, role: Role, percentage: bool = False) -> Mapping[str, tuple[int, Format]]:
        """Return where each column of the plan is, and the look of its cells in a role.

        Args:
            role: of the cells.
            percentage: whether the line's price is a percentage, which cents would not show whole.
        """
        found = self._places.get((role, percentage))
        if found is None:
            precise = ("unit_list", "unit_net", "solved_unit_list") if percentage else ()
            found = self._places[role, percentage] = {
                column.key: (index, self.book.formats.get(
                    role, DECIMAL_2_TO_4 if column.key in precise else column.number,
                    "center" if column.key == "lead_time" else ""))
                for index, column in enumerate(self.columns.listed)
            }  # fmt: skip
        return found

    @property
    def own_lines(self) -> bool:
        """Whether the workbook has lines of whoever sends it."""
        return self.book.money and self.book.job is not None

    def opened(self, key: Open) -> bool:
        """Return whether a column's cells may be changed in this edition."""
        inside = key in ("installed", "spares", "lead_time", "remark")
        return not inside or self.columns.has("solved_lead_time")

    def known(self, line: Line) -> dict[str, float | None]:
        """Return what the plan says of a line by column, gathered once."""
        found = self._known.get(id(line))
        if found is None:
            found = self._known[id(line)] = figures(line)
        return found

    def may_lack(self, block: Block) -> set[str]:
        """Return the columns of a section whose sums lack a line's figure, or do after an edit."""
        found: set[str] = set()
        racked = any(line.racks for line in self.book.plan.lines)
        for entry in block.entries:
            found |= lacking(entry.line, self.known(entry.line), racked=racked)
            if entry.line.unit_list_usd is None:
                found.update(BOUGHT)
        return found


_SHRUNK = ("part_number", "vendor", "lead_time", "section")
"""Columns whose texts are never cut: they are written smaller where they are long."""


class BomRow:
    """One row of it; a figure whose column the plan does not need is not written."""

    def __init__(
        self, page: BomPage, row: int, role: Role = "formula", *, percentage: bool = False
    ) -> None:
        self.page, self.row, self.role, self._percentage = page, row, role, percentage
        self._sheet = page.book.sheet(page.name)
        self._cells = self._sheet.row(row, page.columns.last)
        self._places = self._in(role)

    def _in(self, role: Role) -> Mapping[str, tuple[int, Format]]:
        """Return where each column is, and the look of the row's cells in a role."""
        return self.page.places(role, self._percentage)

    def text(self, key: str, text: str) -> None:
        """Write a string into a column that the plan needs."""
        if text and key in self._places:
            role: Role = "part" if self.role == "part" else "line"
            if key in _SHRUNK:
                role = "part code" if role == "part" else "code"
            self.page.text(self.row, self._places[key][0], text, role)

    def say(self, key: str, value: str | float | None) -> None:
        """Write what a line says, a text or a number."""
        if isinstance(value, str):
            self.text(key, value)
        elif value is not None:
            self.put(key, value)

    def fill(self) -> None:
        """Give every cell that holds nothing the look of the row."""
        style = self.page.book.formats.get("part" if self.role == "part" else "line")
        self._sheet.blanks(self.row, self.page.columns.every, style)

    def has(self, key: str) -> bool:
        """Return whether the plan needs this column."""
        return key in self._places

    def at(self, key: str) -> str:
        """Return the address of the row's cell in a column."""
        return self.page.columns.at(key, self.row)

    def put(self, key: str, value: float | None, role: Role | None = None) -> None:
        """Write a number into a column, in the row's own look by default."""
        places = self._places if role is None else self._in(role)
        if key in places:
            index, style = places[key]
            self._cells[index] = self._sheet.number(value, style)

    def input(self, key: Open, line: Line) -> None:
        """Write a cell that the reader may change; its column's rule is laid over it later."""
        if not self.has(key):
            return
        index, style = self._in("input")[key]
        opened = OPEN[key]
        value = getattr(line, opened.field) if opened.field else None
        value = listed(line) if key == "unit_list" else value
        if isinstance(value, str):
            self.page.sheet.write_string(self.row, index, value, style)
        else:
            self._cells[index] = self._sheet.number(value, style)
        label = f"{self.page.columns.listed[index].title.lower()} of {line.model}"
        book, cell = self.page.book, self.at(key)
        if key == "quantity" and self.follows(line):
            # It follows the cluster until somebody types over it.
            text = f"={counted_name(line.sku)}"
            self.page.sheet.write_formula(self.row, index, text, style)
        if key == "unit_list" and book.rate_of(line) is not None:
            self.put_list(key, line, "input")
        book.inputs.append(
            InputCell(
                self.page.name, cell, key, line.sku, label, opened.unit, value, opened.allowed
            )
        )

    def put_list(self, key: str, line: Line, role: Role) -> None:
        """Write a list price in whole cents, which follows the rate where it is in USD."""
        book, index = self.page.book, self.page.columns.index.get(key)
        rate, listed_usd = book.rate_of(line), line.unit_list_usd
        self.put(key, listed(line), role)
        if index is None or listed_usd is None or rate is None:
            return
        usd = as_written(listed_usd * rate)
        text = f"={in_cents(line, f'{usd!r}/{RATE}')}"
        self.page.sheet.write_formula(self.row, index, text, self._in(role)[key][1])

    def put_price(self, key: str, line: Line, value: float | None) -> None:
        """Write an amount of a price list, which follows the rate where it is in USD there.

        Args:
            key: the column.
            value: the amount, in the currency shown.
        """
        book, index = self.page.book, self.page.columns.index.get(key)
        rate = book.rate_of(line)
        self.put(key, value)
        if index is None or value is None or rate is None:
            return
        style = self._places[key][1]
        usd = as_written(value * rate)
        self.page.sheet.write_formula(self.row, index, f"={usd!r}/{RATE}", style)

    def follows(self, line: Line) -> bool:
        """Return whether the count of a line follows the cluster, on the sheet Counts."""
        return line.quantity > 0 and line.sku in self.page.book.follows

    def work_out(self, key: str, text: str, plan: float | None = None) -> None:
        """Write a formula into a column; what the plan says is held against it."""
        if key in self._places:
            index, style = self._places[key]
            self._cells[index] = self._sheet.formula(text, style)
            if plan is not None:
                self.page.book.expect(self.page.name, self.row, index, plan)


def as_written(usd: float) -> float:
    """Return an amount of a price list that went to another currency and back, without the noise of
    two divisions: prices have fewer digits."""
    return float(f"{usd:.13g}")


NO_WAY: Mapping[str, str] = {}
BY_WAY = {"unit_power": "way_power_kw", "unit_typical": "way_typical_kw"}
"""Figures of the GPU system that the chosen way gives, and the names of its cells."""

PART_OF = "in line "
"""What the section of a component begins with; sums over a section leave it out."""


def add_line(page: BomPage, number: int, entry: Entry) -> None:
    """Write a line that counts: quantity and discount are inputs, the rest follows.

    Args:
        entry: the line.
    """
    plan, line = page.book.plan, entry.line
    known = page.known(line)
    row = BomRow(page, number, percentage=line.is_percentage)
    _identity(row, line, entry.label, line.section)
    _counts(row, line)
    _add_money(row, plan, line, known)
    _lead_time(row, line)
    ways = page.book.live.ways
    by_way = BY_WAY if ways is not None and ways.sku == line.sku else NO_WAY
    _write_physical(row, known, by_way)
    _heat_and_meter(row, known, scope.two_pues(plan), by_way)
    quantity = row.at("quantity")
    if line.racks is not None and line.units_per_rack is not None:
        text = f"=ROUNDUP({quantity}/{line.units_per_rack},0)"
        row.work_out("racks", text, line.racks)
    elif line.racks and line.quantity and line.racks % line.quantity == 0:
        row.work_out("racks", f"={quantity}*{line.racks // line.quantity}", line.racks)
    elif line.racks is None and line.quantity == 0:  # in store; in the hall it would need some
        row.work_out("racks", f'=IF({quantity}=0,0,"")')
    else:
        row.put("racks", line.racks)
    for key, unit_key in PER_UNIT.items():
        _per_unit(row, line, key, unit_key, known)
    _as_solved(row, line)
    row.fill()


def _as_solved(row: BomRow, line: Line) -> None:
    """Write what the inputs of a line hold as solved, which edits are told by."""
    row.put("solved_quantity", line.quantity, "fixed")
    if row.follows(line) and row.has("solved_quantity"):
        row.work_out("solved_quantity", f"={counted_name(line.sku)}", line.quantity)
    row.put_list("solved_unit_list", line, "fixed")
    row.put("solved_discount", line.discount, "fixed")
    row.put("solved_installed", line.installed, "fixed")
    row.put("solved_spares", line.spares, "fixed")
    row.text("solved_lead_time", line.lead_time or "")


def _lead_time(row: BomRow, line: Line) -> None:
    """Write how long delivery takes, and the upper end of it in days; blank counts for none."""
    readable = line.lead_time is None or re.fullmatch(LEAD_TIME, line.lead_time)
    row.input("remark", line)
    if not row.has("solved_lead_time") or not readable:
        row.text("lead_time", line.lead_time or "")
        row.put("lead_days", line.lead_time_days)
        return
    row.input("lead_time", line)
    cell = row.at("lead_time")
    number = f'SUBSTITUTE(SUBSTITUTE({cell}," weeks","")," months","")'
    upper = f'VALUE(TRIM(RIGHT(SUBSTITUTE({number},"-",REPT(" ",20)),20)))'
    days = f'IF(RIGHT({cell},6)="months",{DAYS_PER_MONTH!r},7)'
    row.work_out("lead_days", f'=IF({cell}="",0,IFERROR({upper}*{days},0))', line.lead_time_days)


def add_part(page: BomPage, number: int, entry: Entry, index: int, bundle_row: int) -> None:
    """Write a component: its count follows its bundle, its figures are informative.

    Args:
        entry: the bundle.
        index: which of its components.
        bundle_row: the bundle's row.
    """
    line = entry.parts[index]
    known = page.known(line)
    row = BomRow(page, number, "part")
    _identity(row, line, entry.part_label(index), f"{PART_OF}{entry.label}")
    for key in ("quantity", "purchased"):
        value = line.quantity if key == "quantity" else line.purchased
        count = entry.line.quantity if key == "quantity" else entry.line.purchased
        if count == 0 or value % count:
            row.put(key, value)
        else:
            bundles = row.page.columns.at(key, bundle_row)
            row.work_out(key, f"={bundles}*{value // count}", value)
    _write_physical(row, known)
    for key, unit_key in PER_UNIT.items():
        _per_unit(row, line, key, unit_key, known)
    row.fill()


def add_length(page: BomPage, number: int, entry: Entry, index: int, bundle_row: int) -> None:
    """Write what is ordered in one length of what a line counts, whose money is in that line.

    Where the line's count follows an edit, its lengths keep their shares of it.

    Args:
        entry: the line that counts.
        index: which of what is ordered of it.
        bundle_row: that line's row.
    """
    line, part = entry.line, entry.ordered[index]
    row = BomRow(page, number, "part")
    length = "" if part.length_m is None else f", {part.length_m:g} m"
    copper = f", in place of {part.in_place_of}" if part.sku != line.sku else ""
    row.text("line", entry.ordered_label(index))
    row.text("part_number", part.part_number or "")
    row.text("vendor", part.vendor)
    row.text("model", f"{part.model}{length}{copper}")
    row.text("unit", line.unit)
    row.text("section", f"{PART_OF}{entry.label}")
    row.text("sku", part.sku)
    counted, bought = (page.columns.at(key, bundle_row) for key in ("quantity", "purchased"))
    quantity = row.at("quantity")
    if row.follows(line):
        share = f"=ROUND({counted}*{part.quantity}/{line.quantity},0)"
        row.work_out("quantity", share, part.quantity)
    else:
        row.put("quantity", part.quantity)
    more = f"+MAX(0,{bought}-{counted})" if part is entry.stored else ""
    stored = max(0, line.purchased - line.quantity) if part is entry.stored else 0
    row.work_out("purchased", f"={quantity}{more}", part.quantity + stored)
    row.put("unit_net", part.unit_net_usd)
    row.put("length", part.length_m)
    row.fill()


def _identity(row: BomRow, line: Line, number: str, section: str) -> None:
    """Write the texts of a row."""
    made = {"line": number, "model": _named(line), "section": section}
    for column in row.page.columns.listed:
        if column.key in made:
            row.text(column.key, made[column.key])
        elif column.field:
            row.say(column.key, getattr(line, column.field))


_NAME_LENGTH = 50


def _named(line: Line) -> str:
    """Return model and description on one line, the description cut where there is no room."""
    text = " ".join(f"{line.model} — {line.description}".split())
    room = max(_NAME_LENGTH, len(line.model))
    if not line.description:
        return line.model
    return text if len(text) <= room else f"{text[:room].rpartition(' ')[0].rstrip(' —,:;')} …"


def _counts(row: BomRow, line: Line) -> None:
    """Write what is in place, what is spare, and what that means for what is bought."""
    row.input("quantity", line)
    quantity = without_idle(line, row.at("quantity"))
    if row.has("solved_spares"):
        row.input("spares", line)
        row.input("installed", line)
    else:
        row.put("spares", line.spares)
        row.put("installed", line.installed)
    row.put("pack", line.pack)
    # Without the thing itself no spares are bought. Spare parts are all there is.
    spares = f"+IF({quantity}>0,{row.at('spares')},0)" if row.has("spares") else ""
    if line.quantity == 0 and line.spares:
        spares = f"+{row.at('spares')}"
    text = f"MAX(0,{quantity}{spares}-{row.at('installed')})"
    if line.pack > 1:
        text = f"{row.at('pack')}*ROUNDUP({text}/{row.at('pack')},0)"
    least = least_order(line)
    if least:
        text = f"IF({text}=0,0,MAX({text},{least}))"
    row.work_out("purchased", f"={text}", line.purchased)


def _write_physical(
    row: BomRow, known: dict[str, float | None], by_way: Mapping[str, str] = NO_WAY
) -> None:
    """Write power, heat and what catalogs state, each per unit and for the line."""
    _each_and_all(row, "power", "unit_power", known, by_way)
    for each in STATED.values():
        _each_and_all(row, each.name, each.of_one, known, _by_draw(row, each, known))
    power = row.at("power")
    row.work_out("heat", f'=IF(ISNUMBER({power}),{power}*{BTU_PER_H_PER_KW},"")', known["heat"])


def _by_draw(row: BomRow, each: Stated, known: dict[str, float | None]) -> Mapping[str, str]:
    """Return how what follows from the draw follows the cell of it, which a set point changes."""
    one, drawn_kw = known[each.of_one], known["unit_power"]
    if not each.follows_draw or not one or not drawn_kw:
        return NO_WAY
    return {each.of_one: f"{row.at('unit_power')}*{one / drawn_kw:.12g}"}


def _each_and_all(
    row: BomRow,
    key: str,
    unit_key: str,
    known: dict[str, float | None],
    by_way: Mapping[str, str],
) -> None:
    """Write what one unit takes and what all do; ``by_way`` names what the chosen way gives."""
    row.put(unit_key, known[unit_key])
    if unit_key in by_way and known[unit_key] is not None:  # as the way that is chosen draws
        row.work_out(unit_key, f"={by_way[unit_key]}", known[unit_key])
    unit = row.at(unit_key)
    row.work_out(key, f'=IF(ISNUMBER({unit}),{row.at("quantity")}*{unit},"")', known.get(key))


def _heat_and_meter(
    row: BomRow, known: dict[str, float | None], two_pues: bool, by_way: Mapping[str, str]
) -> None:
    """Write the typical draw, where the heat goes, and the draw at the meter."""
    power = row.at("power")
    if row.has("typical"):
        _each_and_all(row, "typical", "unit_typical", known, by_way)
    factor = "pue"
    if row.has("liquid"):
        share = row.at("liquid_share")
        row.put("liquid_share", known["liquid_share"])
        text = f'=IF(ISNUMBER({power}),{power}*{share},"")'
        row.work_out("liquid", text)
        factor = f"({share}*pue_liquid+(1-{share})*pue)" if two_pues else "pue"
    row.work_out("facility", f'=IF(ISNUMBER({power}),{power}*{factor},"")')
    if row.has("metered"):
        drawn = row.at("typical")
        text = f'=IF(ISNUMBER({drawn}),{drawn}*{factor},"")'
        row.work_out("metered", text)


def _per_unit(
    row: BomRow, line: Line, key: str, unit_key: str, known: dict[str, float | None]
) -> None:
    row.put(unit_key, known[unit_key])
    if known[unit_key] is None:
        row.put(key, known[key])
    else:
        working = without_idle(line, row.at("quantity"))
        row.work_out(key, f"={working}*{row.at(unit_key)}", known[key])


def _add_money(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the money of a line.

    Args:
        known: its figures.
    """
    if not row.has("unit_net"):
        return
    _unit_money(row, line, known)
    bought = row.at("purchased")
    for key, each in (
        ("extended_list", "unit_list"),
        ("extended_net", "unit_net"),
        ("support", "unit_support"),
    ):
        if row.has(each):
            unit = row.at(each)
            every = in_cents(line, f"{unit}*{bought}")
            text = f'=IF({bought}=0,0,IF(ISNUMBER({unit}),{every},""))'
            row.work_out(key, text, known[key])
    _by_year(row, plan, line, known)
    support, subscription = row.at("support"), ""
    if known["unit_subscription"] is not None:
        subscription = f"+{row.at('subscription')}"
    text = f'=IF(ISNUMBER({support}),{support}{subscription},"")'
    row.work_out("yearly", text, known["yearly"])


def in_cents(line: Line, amount: str) -> str:
    """Return a formula's amount in whole cents; of a percentage of hardware as it comes."""
    return amount if line.is_percentage else f"ROUND({amount},{currency.current().decimals})"


def _unit_money(row: BomRow, line: Line, known: dict[str, float | None]) -> None:
    """Write what a unit costs: from list and discount where the edition shows both."""
    row.input("unit_list", line)
    row.input("discount", line)
    cents = currency.current().decimals
    if row.has("discount"):
        unit_list, discount = row.at("unit_list"), row.at("discount")
        left = in_cents(line, f"{unit_list}*(1-{discount})")
        net = f'=IF(ISNUMBER({unit_list}),{left},"")'
        row.work_out("unit_net", net, known["unit_net"])
    else:
        row.put("unit_net", known["unit_net"])
    if line.support_share is None:
        row.put("unit_support", known["unit_support"])
    else:
        row.put("support_share", line.support_share)
        text = f"=ROUND({row.at('support_share')}*{row.at('unit_net')},{cents})"
        row.work_out("unit_support", text, known["unit_support"])


def _unit_subscription(row: BomRow, line: Line, known: dict[str, float | None]) -> None:
    listed = known["subscription_list"]
    if listed is None or not row.has("subscription_list"):
        row.put_price("unit_subscription", line, known["unit_subscription"])
        return
    cents = currency.current().decimals
    row.put_price("subscription_list", line, listed)
    text = f"=ROUND({row.at('subscription_list')}*(1-{row.at('discount')}),{cents})"
    row.work_out("unit_subscription", text, known["unit_subscription"])


def _by_year(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the subscription, and what support is worth over the term."""
    if known["unit_subscription"] is not None:
        unit, bought = row.at("unit_subscription"), row.at("purchased")
        _unit_subscription(row, line, known)
        row.work_out(
            "subscription",
            f"=ROUND({unit}*{bought},{currency.current().decimals})",
            known["subscription"],
        )
    if not row.has("support_paid"):
        return
    support, factor = row.at("support"), row.at("support_factor")
    if known["support"] != 0:
        paid = paid_support(plan, line)
        since, until = row.at("support_from"), row.at("support_until")
        row.put("support_from", paid.since_years)
        ends = "=years" if paid.whole else f"=MIN(years,{paid.until_years!r})"
        row.work_out("support_until", ends, paid.until_years)
        start = f"MIN({since},{until})" if paid.since_years > 0 else ""
        row.work_out("support_factor", "=" + formulas.years(until, start))
    text = f'=IF(ISNUMBER({support}),{support}*N({factor}),"")'
    row.work_out("support_paid", text)
