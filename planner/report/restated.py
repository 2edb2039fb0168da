"""Plans and records of studies with every amount as `Money` of the currency they are shown in.

Screens, pages, sheets and the bill lay out such records. They are for showing alone: their fields
are called ``usd`` all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_args

from planner.currency import USD, Currency, Money
from planner.currency import currency_of as _of
from planner.schema.base import InUnit, Record
from planner.schema.plan import Line, Plan
from planner.schema.prices import ShownIn

if TYPE_CHECKING:
    from planner.schema.analysis import Column

Asked = ParamSpec("Asked")
MadeT = TypeVar("MadeT")
ModelT = TypeVar("ModelT", bound=Record)

_RATES = frozenset({"usd_per_unit"})
"""What one of a currency is in USD: a rate, no amount."""


def currency_of(result: object) -> Currency:
    """The currency of a result or of its plan; else USD."""
    currencies = (
        getattr(each, "shown_in", None) for each in (result, getattr(result, "plan", None))
    )
    return next(filter(None, currencies), USD)


def restated(record: ModelT, money: Currency | None = None) -> ModelT:
    """A plan or a study's record with every amount in a currency, by default its own.

    Nothing else changes. What is shown in USD is returned as it is.
    """
    money = money or currency_of(record)
    return record if money == USD else _model(record, money, ())


def restated_view(record: Any, beside: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A record restated, and what its view takes besides: the rows of a sweep."""
    found = dict(beside)
    if "rows" in found:
        found["rows"] = restated_columns(record.columns, found["rows"], currency_of(record))
    return restated(record) if isinstance(record, Record) else record, found


def restated_columns(
    columns: Sequence[Column], rows: Mapping[str, Sequence[Any]], money: Currency
) -> dict[str, Sequence[Any]]:
    """The rows of a sweep, by column, with every amount in a currency.

    Args:
        rows: their values, amounts in USD.
    """
    if money == USD:
        return dict(rows)
    paid = {column.name for column in columns if "USD" in column.unit}
    return {
        name: [_value(value, money, (), paid=True) for value in values]
        if name in paid else values
        for name, values in rows.items()
    }  # fmt: skip


def _model(
    model: ModelT, money: Currency, held_by: tuple[Record, ...], *, paid: bool = False
) -> ModelT:
    """A record restated.

    Args:
        held_by: the records that hold it, the nearest first.
        paid: whether all of its figures are amounts.
    """
    if isinstance(model, ShownIn):
        return model
    records: tuple[Record, ...] = (model, *held_by)
    changes: dict[str, object] = {}
    for name, unit_source in figures_by_unit(type(model)).items():
        value = getattr(model, name)
        amount = paid or ("usd" in name.split("_") and name not in _RATES)
        amount = amount or (unit_source is not None and "USD" in _unit(unit_source, records))
        changed = _value(value, money, records, paid=amount)
        if changed is not value:
            changes[name] = changed
    return model.model_copy(update=changes) if changes else model


@cache
def figures_by_unit(kind: type[Record]) -> dict[str, InUnit | None]:
    """The fields of a record, each with what tells its unit, where another field does."""
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
    """The unit of a figure, empty where no record tells it; the nearest come first."""
    first, *rest = source.path.split(".")
    for record in records:
        names = {each.__name__ for each in type(record).__mro__}
        if first in type(record).model_fields and source.of in (names if source.of else ("",)):
            return str(reduce(lambda each, name: getattr(each, name, ""), rest,
                              getattr(record, first)))  # fmt: skip
    return ""


def _value(value: object, money: Currency, records: tuple[Record, ...], *, paid: bool) -> object:
    if isinstance(value, Record):
        return _model(value, money, records, paid=paid)
    if isinstance(value, tuple):
        parts = tuple(_value(part, money, records, paid=paid) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if not paid or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {key: _value(part, money, records, paid=True) for key, part in value.items()}
    if isinstance(value, Money) or not isinstance(value, (int, float)):
        return value
    # Without the digits that are the noise of a division.
    return Money(float(f"{money.of(value):.15g}"), money)


def listed(line: Line) -> float | None:
    """The list price of a line of a restated plan as a bill lists it: in whole cents."""
    price, money = line.unit_list_usd, _of(line.unit_list_usd)
    whole = money.code != "USD" and not line.is_percentage
    return round(price, money.decimals) if price is not None and whole else price


def in_its_currency(
    render: Callable[Concatenate[Plan, Asked], MadeT],
) -> Callable[Concatenate[Plan, Asked], MadeT]:
    """Decorate a view of a plan: it is given the plan restated."""

    @wraps(render)
    def rendered(plan: Plan, /, *args: Asked.args, **options: Asked.kwargs) -> MadeT:
        return render(restated(plan), *args, **options)

    return rendered
