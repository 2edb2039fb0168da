"""Plans and records of studies with every amount as `Money` of the currency they are shown in.

Screens, pages, sheets and the bill lay out such records. Their fields are called ``usd`` all the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from planner.currency import USD, Currency, Money
from planner.currency import currency_of as _of
from planner.schema.base import InUnit, Record
from planner.schema.plan import Line
from planner.schema.prices import ShownIn

if TYPE_CHECKING:
    from planner.schema.analysis import Column

ModelT = TypeVar("ModelT", bound=Record)
_RATES = frozenset({"usd_per_unit"})
"""Rates of exchange, no amounts."""


def currency_of(result: object) -> Currency:
    """The currency of a result or of its plan; else USD."""
    found = (getattr(each, "shown_in", None) for each in (result, getattr(result, "plan", None)))
    return next(filter(None, found), USD)


def restated(record: ModelT, money: Currency | None = None) -> ModelT:
    """A plan or a study's record with every amount in a currency, by default its own.

    One shown in USD is returned as it is.
    """
    money = money or currency_of(record)
    return record if money == USD else _model(record, money, (), paid=False)


def restated_columns(
    columns: Sequence[Column], rows: Mapping[str, Sequence[Any]], money: Currency
) -> dict[str, Sequence[Any]]:
    """The rows of a sweep, by column, with every amount of USD in a currency."""
    if money == USD:
        return dict(rows)
    paid = {column.name for column in columns if "USD" in column.unit}
    return {
        name: [_value(value, money, (), paid=True) for value in values] if name in paid else values
        for name, values in rows.items()
    }


def _model(model: ModelT, money: Currency, held_by: tuple[Record, ...], *, paid: bool) -> ModelT:
    """A record restated; ``held_by``: the records around it, the nearest first; ``paid``: all of
    its figures are amounts."""
    if isinstance(model, ShownIn):
        return model
    records: tuple[Record, ...] = (model, *held_by)
    changes: dict[str, object] = {}
    for name, unit_source in _figures_by_unit(type(model)).items():
        value = getattr(model, name)
        amount = paid or ("usd" in name.split("_") and name not in _RATES)
        amount = amount or (unit_source is not None and "USD" in _unit(unit_source, records))
        changed = _value(value, money, records, paid=amount)
        if changed is not value:
            changes[name] = changed
    return model.model_copy(update=changes) if changes else model


@cache
def _figures_by_unit(kind: type[Record]) -> dict[str, InUnit | None]:
    """The fields of a record, each with the mark of its unit's field, where another has it."""
    found = {}
    for name, info in kind.model_fields.items():
        marks = (*info.metadata, *_parts(info.annotation))
        found[name] = next((mark for mark in marks if isinstance(mark, InUnit)), None)
    return found


def _parts(annotation: object) -> Iterator[object]:
    for part in get_args(annotation):
        yield part
        yield from _parts(part)


def _unit(source: InUnit, records: Sequence[Record]) -> str:
    """The unit of a figure by the nearest record that has it, empty where none has."""
    first, *rest = source.path.split(".")
    for record in records:
        names = {each.__name__ for each in type(record).__mro__}
        if first in type(record).model_fields and source.of in (names if source.of else ("",)):
            start = getattr(record, first)
            return str(reduce(lambda each, name: getattr(each, name, ""), rest, start))
    return ""


def _value(value: object, money: Currency, records: tuple[Record, ...], *, paid: bool) -> object:
    if isinstance(value, Record):
        return _model(value, money, records, paid=paid)
    if isinstance(value, tuple):
        parts = tuple(_value(part, money, records, paid=paid) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if not paid or isinstance(value, bool | Money):
        return value
    if isinstance(value, dict):
        return {key: _value(part, money, records, paid=True) for key, part in value.items()}
    if not isinstance(value, (int, float)):
        return value
    # Without the digits that are the noise of a division.
    return Money(float(f"{money.of(value):.15g}"), money)


def listed(line: Line) -> float | None:
    """The list price of a line of a restated plan as a bill lists it: in whole cents."""
    price, money = line.unit_list_usd, _of(line.unit_list_usd)
    whole = money.code != "USD" and not line.is_percentage
    return round(price, money.decimals) if price is not None and whole else price
