"""Results with their amounts in the currency they are shown in, for what lays them out as numbers.

Texts convert an amount where they write it. Sheets and the bill take numbers by the hundred, so
they are given a plan, or the record of a study, in which every amount is in that currency already.
Such a record is for showing alone: its fields are called ``usd`` all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from planner.currency import Currency, shown, shown_in
from planner.schema.base import Record
from planner.schema.plan import Line, Plan
from planner.schema.prices import ShownIn

if TYPE_CHECKING:
    from planner.schema.sensitivity import Column

Asked = ParamSpec("Asked")
MadeT = TypeVar("MadeT")
ModelT = TypeVar("ModelT", bound=Record)

_VALUES = ("value", "limit", "slack")
_BASE = ("base", "base_bound")
_CHANGED = ("value", "bound", "change", "change_least", "change_most", "gain")
_BY_UNIT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "LimitReport": {"unit": _VALUES},
    "StepNeed": {"unit": _VALUES},
    "ObjectiveReport": {"unit": ("value", "bound", "best")},
    "Assumption": {"unit": _VALUES},
    "RulesTable": {"measure.unit": ("measured",)},
    "Alternatives": {"unit": ("bound", "worst", "value")},
    "FigureRow": {"unit": ("values", "changes")},
    "LimitRow": {"unit": _VALUES},
    "Explanation": {"plan.objective.unit": _CHANGED},
    "Marginal": {"unit": _VALUES},
    "WhyNot": {"unit": ("value", "bound")},
    "Sweep": {"unit": _BASE},
    "Frontier": {"unit": _BASE, "x_unit": ("x", "from_x", "to_x"), "y_unit": ("y", "bound")},
    "Tornado": {"unit": (*_BASE, "objective", "bound", "width", "least_width", "most_width")},
    "Uncertain": {"unit": (*_BASE, "mean", "worst")},
    "BreakRate": {"unit": ()},
    "UncertainInput": {"unit": ("low", "median", "high")},
    "Percentiles": {"unit": ("mean", "p5", "p25", "p50", "p75", "p95", "least", "most")},
    "Bids": {"unit": _BASE, "measure.unit": ("measured", "bound")},
}
"""By the class of a record: fields of it, and of those inside, that are money where the unit at a
path is. Classes are named and not imported, so that a plan is shown without loading studies."""

_RATES = frozenset({"usd_per_unit"})
"""What one of a currency is in USD: a rate, no amount."""


def currency_of(result: object) -> Currency:
    """Return the currency that a result says it is shown in, or its plan; else what is shown."""
    told = (getattr(each, "shown_in", None) for each in (result, getattr(result, "plan", None)))
    return next(filter(None, told), shown())


def restated(record: ModelT) -> ModelT:
    """Return a plan or a study's record with every amount in the currency that it is shown in.

    Nothing else changes. What is shown in USD is returned as it is.
    """
    money = currency_of(record)
    return record if money.usd == 1.0 else _model(record, money, frozenset())


def restated_columns(
    columns: Sequence[Column], rows: Mapping[str, Sequence[Any]], money: Currency
) -> dict[str, Sequence[Any]]:
    """Return the rows of a sweep, by column, with every amount in a currency.

    Args:
        columns: what the columns are.
        rows: their values, amounts in USD.
        money: the currency.
    """
    if money.usd == 1.0:
        return dict(rows)
    paid = {column.name for column in columns if "USD" in column.unit}
    return {
        name: [_value(value, money, paid=True, inside=frozenset()) for value in values]
        if name in paid else values
        for name, values in rows.items()
    }  # fmt: skip


def _model(model: ModelT, money: Currency, above: frozenset[str]) -> ModelT:
    """Return a record restated; ``above`` are fields that are money by a unit of what holds it."""
    if isinstance(model, ShownIn):
        return model
    if isinstance(model, Plan):
        above = frozenset()
    units = _BY_UNIT.get(type(model).__name__, {})
    own = {name for unit, names in units.items() if "USD" in _at(model, unit) for name in names}
    by_unit, inside = (own if "unit" in units else own | above), above | own
    changes: dict[str, object] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        paid = name in by_unit or ("usd" in name.split("_") and name not in _RATES)
        of_goal = isinstance(model, Plan) and name == "next_step" and "USD" in model.objective.unit
        changed = _value(value, money, paid=paid, inside=frozenset(_NEXT) if of_goal else inside)
        if changed is not value:
            changes[name] = changed
    return model.model_copy(update=changes) if changes else model


_NEXT = ("value",)
"""What the next step of a plan gives, in the unit of the plan's objective."""


def _at(model: object, path: str) -> str:
    return str(reduce(lambda each, name: getattr(each, name, ""), path.split("."), model))


def _value(value: object, money: Currency, *, paid: bool, inside: frozenset[str]) -> object:
    if isinstance(value, Record):
        more = frozenset(type(value).model_fields) if paid else frozenset()
        return _model(value, money, inside | more)
    if isinstance(value, tuple):
        parts = tuple(_value(part, money, paid=paid, inside=inside) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if not paid or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {key: _value(part, money, paid=True, inside=inside) for key, part in value.items()}
    return _exact(value, money) if isinstance(value, (int, float)) else value


def listed(line: Line) -> float | None:
    """Return the list price of a line of a restated plan as a bill lists it: in whole cents."""
    price, money = line.unit_list_usd, shown()
    return price if price is None or money.code == "USD" else round(price, money.decimals)


def _exact(usd: float, money: Currency) -> float:
    """Return an amount without the digits that are the noise of a division."""
    return float(f"{money.of(usd):.15g}")


def in_its_currency(
    render: Callable[Concatenate[Plan, Asked], MadeT],
) -> Callable[Concatenate[Plan, Asked], MadeT]:
    """Have what shows a plan show its money in the plan's currency."""

    @wraps(render)
    def rendered(plan: Plan, /, *args: Asked.args, **options: Asked.kwargs) -> MadeT:
        with shown_in(plan.shown_in):
            return render(plan, *args, **options)

    return rendered
