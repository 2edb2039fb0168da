"""A plan with its amounts in the currency that it is shown in, for what lays them out as numbers.

Texts convert an amount where they write it. Sheets and the bill take numbers from a plan by the
hundred, so they are given a plan in which every amount is in that currency already. Such a plan is
for showing alone: its fields are called ``usd`` all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from planner.currency import Currency, shown, shown_in
from planner.schema.base import PlanModel
from planner.schema.plan import Assumption, LimitReport, Line, ObjectiveReport, Plan, StepNeed

Asked = ParamSpec("Asked")
MadeT = TypeVar("MadeT")
ModelT = TypeVar("ModelT", bound=PlanModel)

_BY_UNIT: Mapping[type[PlanModel], tuple[str, ...]] = {
    LimitReport: ("value", "limit", "slack"),
    StepNeed: ("value", "limit"),
    ObjectiveReport: ("value", "bound", "best"),
    Assumption: ("value",),
}
"""Fields that are money where the unit beside them is."""

_RATES = frozenset({"usd"})
"""What one of a currency is in USD: a rate, no amount."""


def restated(plan: Plan) -> Plan:
    """Return a plan with every amount in the currency that it is shown in.

    Nothing else changes. A plan that is shown in USD is returned as it is.
    """
    money = plan.shown_in
    if money.usd == 1.0:
        return plan
    shown = _model(plan, money)
    step, goal = shown.next_step, plan.objective
    if step is not None and "USD" in goal.unit:
        shown = shown.model_copy(
            update={"next_step": step.model_copy(update={"value": _exact(step.value, money)})}
        )
    return shown


def _model(model: ModelT, money: Currency) -> ModelT:
    changes: dict[str, object] = {}
    by_unit = _BY_UNIT.get(type(model), ()) if "USD" in getattr(model, "unit", "") else ()
    for name in type(model).model_fields:
        value = getattr(model, name)
        paid = name in by_unit or ("usd" in name.split("_") and name not in _RATES)
        changed = _value(value, money, paid=paid)
        if changed is not value:
            changes[name] = changed
    return model.model_copy(update=changes) if changes else model


def _value(value: object, money: Currency, *, paid: bool) -> object:
    if isinstance(value, PlanModel):
        return _model(value, money)
    if isinstance(value, tuple):
        parts = tuple(_value(part, money, paid=paid) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if not paid or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {key: _value(part, money, paid=True) for key, part in value.items()}
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
