"""Edition of a plan for an output: its audience's part, amounts in its currency, the bill in order.

Inside everything is shown. A partner sees net prices and discounts, a customer net prices, list and
net ones, or none. What leaves the house is marked in the schema, field by field (`Visible` of
`planner.schema`); what has no mark is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel

from planner.currency import USD, Currency, Money
from planner.currency import currency_of as currency_of_amount
from planner.limits import known
from planner.report.formats import product
from planner.schema import InUnit, PlanModel, Prices, Record, Visible
from planner.schema.catalog import NO_PART_NUMBER
from planner.schema.plan import LimitReport, Line, ObjectiveReport, Plan, Section

# Audience.

Audience = Literal["internal", "customer", "partner"]

PRICES: Mapping[Audience, Prices] = {"internal": "all", "customer": "net", "partner": "discount"}
"""Default edition of each audience."""

HIDDEN_OBJECTIVE = "a figure that is not shown"
"""Name of an objective that is money, which an edition for the outside does not show."""

_ORDER = get_args(Prices)
_INSIDE_LIMITS = ("policy", "ratio")
"""Groups of limits that say how vendors are chosen, or what work may cost."""

PartT = TypeVar("PartT", bound=PlanModel)


def for_audience(plan: Plan, audience: Audience, prices: Prices | None = None) -> Plan:
    """The plan that an edition may show.

    Outside, limits and an objective that are money, or a choice of vendors, are left out as well.

    Args:
        prices: which prices it shows, by default those of the audience.
    """
    return plan if audience == "internal" else _redacted(plan, prices or PRICES[audience])


def may_show(needed: Prices, prices: Prices) -> bool:
    """True if an edition with some prices shows a field that needs others."""
    return _ORDER.index(needed) <= _ORDER.index(prices)


@cache
def visible_fields(model: type[BaseModel]) -> Mapping[str, Prices]:
    """The fields of a part of a plan that may leave, with the prices each of them needs."""
    marks = {
        name: next((mark for mark in info.metadata if isinstance(mark, Visible)), None)
        for name, info in model.model_fields.items()
    }
    return {name: mark.prices for name, mark in marks.items() if mark is not None}


def _redacted(model: PartT, prices: Prices) -> PartT:
    """A plan, or a part of one, without the fields that stay inside."""
    if isinstance(model, ObjectiveReport) and "USD" in model.unit:
        hidden = {"name": HIDDEN_OBJECTIVE, "unit": "", "value": None}
        model = model.model_copy(update=hidden)
    if isinstance(model, Line) and model.is_percentage:  # its quantity is money
        once = {
            "quantity": 1,
            "purchased": 1,
            "unit": "order",
            "role": "once for the order",
            "unit_net_usd": model.extended_net_usd,
            "unit_list_usd": model.extended_list_usd,
        }
        model = model.model_copy(update=once)
    marks = visible_fields(type(model))
    return type(model)(
        **{
            name: _visible_value(getattr(model, name), prices)
            if name in marks and may_show(marks[name], prices)
            else _nothing(model, name)
            for name in type(model).model_fields
        }
    )


def _visible_value(value: object, prices: Prices) -> object:
    if isinstance(value, Currency):  # without the source of its rate
        return Currency(value.code, value.usd)
    if isinstance(value, PlanModel):
        return _redacted(value, prices)
    if isinstance(value, tuple):
        return tuple(_visible_value(entry, prices) for entry in value if not _stays(entry))
    return value


def _stays(entry: object) -> bool:
    """True if an entry of a list stays inside as a whole: a limit of money or of choice."""
    if not isinstance(entry, LimitReport):
        return False
    row = known(entry.name)
    return row is None or row.group in _INSIDE_LIMITS or "USD" in entry.unit


def _nothing(model: PlanModel, name: str) -> Any:
    """The blank value of a field that stays inside."""
    info = type(model).model_fields[name]
    if not info.is_required():
        return info.get_default(call_default_factory=True)
    if type(None) in get_args(info.annotation) or info.annotation is None:
        return None
    value = getattr(model, name)
    return () if isinstance(value, tuple) else type(value)()


# Currency: plans and records with every amount as `Money` of the one they are shown in.
# Their fields are called ``usd`` all the same.

ShownT = TypeVar("ShownT")


def currency_of(result: object) -> Currency:
    """The currency of a result or of its plan; else USD."""
    found = (getattr(each, "shown_in", None) for each in (result, getattr(result, "plan", None)))
    return next(filter(None, found), USD)


def in_currency(value: ShownT, money: Currency | None = None, *, paid: bool = False) -> ShownT:
    """A record, or figures, with every amount in a currency, by default that of the record.

    Args:
        paid: whether all figures are amounts; else those named ``usd`` and those of a unit of USD.
    """
    money = money or currency_of(value)
    return value if money == USD else _converted(value, money, (), paid=paid)


def _converted(value: Any, money: Currency, around: tuple[Record, ...], *, paid: bool) -> Any:
    """A value in a currency; ``around``: the records that hold it, the nearest first."""
    if isinstance(value, Record):
        records = (value, *around)
        amounts = {name for name, _ in value if paid or _is_amount(name, records)}
        parts = {n: _converted(each, money, records, paid=n in amounts) for n, each in value}
        return value.model_copy(update=parts)
    if isinstance(value, tuple):
        return tuple(_converted(each, money, around, paid=paid) for each in value)
    if isinstance(value, dict):
        return {key: _converted(each, money, around, paid=paid) for key, each in value.items()}
    if not paid or not isinstance(value, (int, float)) or isinstance(value, bool | Money):
        return value
    return Money(float(f"{money.convert(value):.15g}"), money)  # without the noise of a division


def _is_amount(name: str, records: tuple[Record, ...]) -> bool:
    """True if a field of the first record is an amount, by its name or its unit."""
    if "usd" in name.split("_"):
        return name != "usd_per_unit"  # a rate of exchange
    mark = _marks(type(records[0])).get(name)
    if mark is None:
        return False
    for record in records:
        with suppress(AttributeError):
            if mark.of in ("", *(each.__name__ for each in type(record).__mro__)):
                return "USD" in attrgetter(mark.path)(record)
    return False


@cache
def _marks(kind: type[Record]) -> Mapping[str, InUnit]:
    """The marks of fields in the unit of another field."""
    return {
        name: mark
        for name, info in kind.model_fields.items()
        for mark in (*info.metadata, *_parts(info.annotation))
        if isinstance(mark, InUnit)
    }


def _parts(annotation: object) -> Iterator[object]:
    for part in get_args(annotation):
        yield part
        yield from _parts(part)


def list_price(line: Line) -> float | None:
    """The list price of a line of a plan in its currency as a bill lists it: in whole cents."""
    price, money = line.unit_list_usd, currency_of_amount(line.unit_list_usd)
    whole = money.code != "USD" and not line.is_percentage
    return round(price, money.decimals) if price is not None and whole else price


def part_number(line: Line) -> str:
    """The part number of a line as a bill shows it."""
    return "on request" if line.part_number in (None, "", NO_PART_NUMBER) else str(line.part_number)


# The bill: its lines in order, numbered; figures worth showing.


class Entry(NamedTuple):
    """A line with its number and its components."""

    number: int
    line: Line
    parts: tuple[Line, ...]


def bill_sections(plan: Plan) -> list[tuple[Section, list[Entry]]]:
    """The sections that have lines, numbered; components follow the bundle they belong to.

    A component whose bundle is not in the plan is a line of its own.
    """
    bundles = {_key(line, line.sku) for line in own_lines(plan)}
    parts: dict[tuple[str, str, int], list[Line]] = {}
    own: dict[Section, list[Line]] = {section: [] for section in get_args(Section)}
    for line in plan.lines:
        if line.parent is not None and _key(line, line.parent) in bundles:
            parts.setdefault(_key(line, line.parent), []).append(line)
        else:
            own[line.section].append(line)
    number = count(1)

    def entry(line: Line) -> Entry:
        known = parts.get(_key(line, line.sku), ()) if line.parent is None else ()
        return Entry(next(number), line, tuple(known))

    return [(section, list(map(entry, lines))) for section, lines in own.items() if lines]


def _key(line: Line, sku: str) -> tuple[str, str, int]:
    return sku, line.site, line.period


CORE_SECTIONS = ("Compute", "Storage", "Components")
"""Sections of decided items; all others hold dependent items."""


def own_lines(plan: Plan) -> list[Line]:
    """The lines that carry money: all but the components of bundles."""
    return [line for line in plan.lines if line.parent is None]


def decided_lines(plan: Plan, *sections: str) -> list[Line]:
    """The lines of GPU systems, then of storage, that are in use; or of one section."""
    return [
        line
        for section in sections or ("Compute", "Storage")
        for line in own_lines(plan)
        if line.section == section and line.working
    ]


def bought_text(plan: Plan, *sections: str) -> str:
    """The GPU systems and the storage in use, or the lines of sections."""
    lines = decided_lines(plan, *sections)
    return ", ".join(f"{line.working:,} × {product(line)}" for line in lines)


def cooled_by_liquid(plan: Plan) -> bool:
    """True if some heat goes to liquid."""
    return any(line.liquid_share > 0 for line in own_lines(plan))


def over_time(plan: Plan) -> bool:
    """True if money is discounted, or support is paid for less than the term."""
    years = plan.site.years
    if years is None:
        return False
    spans = [line.support_years for line in own_lines(plan) if line.support_usd_per_year]
    shorter = any(span is not None and abs(span - years) > 1e-9 for span in spans)
    return plan.site.discount_rate > 0 or shorter


def can_run_short(limit: LimitReport) -> bool:
    """True if there can be too little of a limit's quantity."""
    return limit.name != "gpu_types" and not limit.name.endswith(".installed")
