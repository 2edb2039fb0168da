"""The columns of the bill on the sheet Quote: what each line has in them, and its formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from planner.report import scope
from planner.report.restated import listed
from planner.report.words import product
from planner.schema.base import Prices
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.plan import Line, Plan
from planner.workbook.book import COUNT, SHARE, Allowed, Kind, constant
from planner.workbook.live import Scalar, Term, V, and_, if_, max_, of, round_, round_up, same

PRICE = Allowed(0, 1e12)
WHOLE_TERM = "whole term"


class Row:
    """A line of the bill, and its cells by column.

    Args:
        line: what it is of.
        label: its number.
        at: its row on the sheet.
        opened: the columns that may be edited.
        decimals: of amounts.
    """

    def __init__(
        self, line: Line, label: str, at: int, opened: Collection[str], decimals: int
    ) -> None:
        self.line, self.label, self.at = line, label, at
        self.opened, self.decimals = opened, decimals
        self.cells: dict[str, V] = {}

    @property
    def working(self) -> V:
        """Units in the cluster: those in place without owned ones that are idle."""
        quantity = self.cells["quantity"]
        return max_(0, quantity - self.line.idle) if self.line.idle else quantity


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
        return self.key in ("amount", "support", "subscription", "it_kw")


def _ordered(row: Row) -> Term:
    """The units to buy: in place and spare, less owned, in packs, at least the MOQ."""
    line, quantity = row.line, row.working
    spares: Term = row.cells.get("spares", of(line.spares))
    if line.quantity and (line.spares or "spares" in row.opened):
        spares = if_(quantity > 0, spares, 0)
    owned: Term = row.cells.get("owned", of(line.installed))
    need = max_(0, quantity + spares - owned) if line.installed else quantity + spares
    if line.pack > 1:
        need = round_up(need / line.pack) * line.pack
    least = least_order(line)
    return if_(need > 0, max_(need, least), 0) if least else need


def least_order(line: Line) -> int:
    """The units bought at least, 0 where no more is bought than is needed, in packs."""
    need = max(0, line.working + line.spares - line.installed)
    return line.purchased if line.purchased > line.pack * -(-need // line.pack) else 0


def _net(row: Row) -> Term:
    """The net price of a unit."""
    line = row.line
    if "discount" not in row.cells:
        return line.unit_net_usd
    left = row.cells["unit_list"] * (1 - row.cells["discount"])
    return left if line.is_percentage else round_(left, row.decimals)


def _amount(row: Row) -> Term:
    net = row.cells.get("net")
    if net is None:
        net = of(_net(row))
    return _in_cents(row, row.cells["order"] * net)


def _in_cents(row: Row, amount: V) -> V:
    return amount if row.line.is_percentage else round_(amount, row.decimals)


def _support(row: Row) -> Term:
    line = row.line
    if not line.support_share and not line.support_usd_per_year:
        return 0.0
    if line.support_share is not None and "unit_list" in row.cells:
        net = row.cells.get("net")
        share = constant(line.support_share) * (of(_net(row)) if net is None else net)
        return _in_cents(row, row.cells["order"] * round_(share, row.decimals))
    return _in_cents(row, row.cells["order"] * _each(line.support_usd_per_year, line.purchased))


def _subscription(row: Row) -> Term:
    line = row.line
    if line.subscription_usd_per_year is None:
        return None
    each: Term = _each(line.subscription_usd_per_year, line.purchased)
    if line.unit_subscription_list_usd is not None and "discount" in row.cells:
        left = constant(line.unit_subscription_list_usd) * (1 - row.cells["discount"])
        each = round_(left, row.decimals)
    return _in_cents(row, row.cells["order"] * each)


def _power(row: Row) -> Term:
    line = row.line
    if not line.it_power_kw:
        return line.it_power_kw
    return row.cells["quantity"] * _each(line.it_power_kw, line.quantity)


def _each(total: float | None, count: int) -> V:
    return constant(total / count if total and count else 0.0)


def paid_span(plan: Plan, line: Line) -> tuple[float, float | None]:
    """From when until when of the term support is paid, years; None is to its end."""
    years = plan.site.years or 0.0
    since = min(line.support_from_years, years)
    until = years if line.support_years is None else since + line.support_years
    return since, None if until > years - 1e-9 else until


def span_text(since: float, until: float | None) -> str:
    """In words when support is paid."""
    if until is None:
        return WHOLE_TERM if not since else f"from year {since:g} on"
    return f"until year {until:g}" if not since else f"years {since:g} to {until:g}"


def _mark(row: Row) -> Term:
    """The edited inputs of a line: quantity, price or both."""
    planned: dict[str, Scalar] = {"quantity": row.line.quantity, "spares": row.line.spares}
    prices: dict[str, Scalar] = {"unit_list": listed(row.line), "discount": row.line.discount}
    counted, priced = (
        [same(row.cells[key], constant(value)) for key, value in part.items() if key in row.opened]
        for part in (planned, prices)
    )
    if not priced:
        return if_(and_(*counted), "", "quantity")
    as_priced = and_(*priced)
    return if_(and_(*counted), if_(as_priced, "", "price"), if_(as_priced, "quantity", "both"))


def named(line: Line) -> str:
    """A product by vendor and model; one that several vendors make by its model."""
    return line.model if line.vendor.casefold() == "generic" else product(line)


def _described(row: Row) -> Term:
    name, more = named(row.line), row.line.description
    return f"{name} – {more}" if more else name


def part_number(text: str | None) -> str:
    """A part number as the bill shows it."""
    return "on request" if text in (None, "", NO_PART_NUMBER) else str(text)


_CONTENT: Mapping[str, tuple[str, float, str, Callable[[Row], Term]]] = {
    "number": ("#", 5, "text", lambda row: row.label),
    "part": ("Part number", 22, "text", lambda row: part_number(row.line.part_number)),
    "what": ("Description", 80, "wrap", _described),
    "quantity": ("In place", 8.5, "n0", lambda row: row.line.quantity),
    "spares": ("Spares", 7.5, "n0", lambda row: row.line.spares),
    "owned": ("Owned", 7.5, "n0", lambda row: row.line.installed),
    "order": ("Order", 8.5, "n0", _ordered),
    "unit_list": ("List price {}", 13, "cents", lambda row: listed(row.line)),
    "discount": ("Discount", 9, "pct0", lambda row: row.line.discount),
    "net": ("Net price {}", 13, "cents", _net),
    "amount": ("Amount {}", 14.5, "usd", _amount),
    "support": ("Support {}/year", 13, "usd", _support),
    "subscription": ("Subscription {}/year", 13, "usd", _subscription),
    "it_kw": ("IT load kW", 9, "n1", _power),
    "paid": ("Support paid", 14, "text", lambda row: None),
    "lead": ("Lead time", 13, "text", lambda row: row.line.lead_time),
    "mark": ("Edited", 9, "text", _mark),
}
"""Title, width, look and content by key, from left to right."""

_EDITED: Mapping[str, tuple[Kind, Allowed]] = {
    "quantity": ("quantity", COUNT),
    "spares": ("spares", COUNT),
    "unit_list": ("unit_list", PRICE),
    "discount": ("discount", SHARE),
}


def columns_of(plan: Plan, prices: Prices, code: str) -> list[Column]:
    """The columns that a plan and an edition need.

    Args:
        plan: in the currency shown.
        prices: which prices the edition shows.
        code: of that currency.
    """
    own = scope.own_lines(plan)
    inside, money = prices == "all", prices != "none"
    nets = prices in ("net", "list+net", "discount") or any(line.discount for line in own)
    absent = {
        "owned": not any(line.installed for line in own),
        "unit_list": prices in ("none", "net"),
        "discount": prices not in ("all", "discount"),
        "net": not (nets and money),
        "amount": not money,
        "support": not money,
        "subscription": not (money and scope.subscribed(plan)),
        "paid": not (inside and scope.over_time(plan)),
    }
    closed = {"spares": not inside, "unit_list": prices == "list+net"}
    found = []
    for key, (title, width, look, content) in _CONTENT.items():
        if absent.get(key):
            continue
        if key == "paid":
            content = _paid_in(plan)
        title = "Unit price {}" if key == "unit_list" and not nets else title
        kind, allowed = _EDITED.get(key, (None, COUNT))
        kind = None if closed.get(key) else kind
        found.append(Column(key, title.format(code), width, look, content, kind, allowed))
    return found


def _paid_in(plan: Plan) -> Callable[[Row], Term]:
    return lambda row: span_text(*paid_span(plan, row.line))
