"""Whom an output is for, and what an edition for the outside shows of a plan.

Inside everything is shown. A partner sees net prices and discounts, a customer net prices, list and
net ones, or none. What leaves the house is marked in the schema, field by field (`Visible` of
`planner.schema.base`); what has no mark is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from planner.limits import known
from planner.schema.base import PlanModel, Prices, Visible
from planner.schema.plan import LimitReport, Line, ObjectiveReport, Plan

Audience = Literal["internal", "customer", "partner"]

PRICES: Mapping[Audience, Prices] = {"internal": "all", "customer": "net", "partner": "discount"}
"""What each audience sees unless another edition is asked for."""

HIDDEN_OBJECTIVE = "a figure that is not shown"
"""Name of an objective that is money, which an edition for the outside does not show."""

_ORDER = get_args(Prices)
_INSIDE_LIMITS = ("policy", "ratio")
"""Groups of limits that say how vendors are chosen, or what work may cost."""

ModelT = TypeVar("ModelT", bound=PlanModel)


def for_audience(plan: Plan, audience: Audience, prices: Prices | None = None) -> Plan:
    """The plan that an edition may show.

    Outside, limits and an objective that are money, or a choice of vendors, are left out as well.

    Args:
        prices: which prices it shows, by default those of the audience.
    """
    return plan if audience == "internal" else _shown(plan, prices or PRICES[audience])


@cache
def visible(model: type[PlanModel]) -> Mapping[str, Prices]:
    """The fields of a part of a plan that may leave, with the prices each of them needs."""
    marks = {
        name: next((mark for mark in info.metadata if isinstance(mark, Visible)), None)
        for name, info in model.model_fields.items()
    }
    return {name: mark.prices for name, mark in marks.items() if mark is not None}


def _shown(model: ModelT, prices: Prices) -> ModelT:
    """A plan, or a part of one, without the fields that stay inside."""
    if isinstance(model, ObjectiveReport) and "USD" in model.unit:
        hidden = {"name": HIDDEN_OBJECTIVE, "unit": "", "value": None}
        model = model.model_copy(update=hidden)
    if isinstance(model, Line) and model.is_percentage:  # what it counts is money
        once = {
            "quantity": 1,
            "purchased": 1,
            "unit": "order",
            "role": "once for the order",
            "unit_net_usd": model.extended_net_usd,
            "unit_list_usd": model.extended_list_usd,
        }
        model = model.model_copy(update=once)
    marks = visible(type(model))
    return type(model)(**{
        name: _value(getattr(model, name), prices)
        if name in marks and _ORDER.index(marks[name]) <= _ORDER.index(prices)
        else _nothing(model, name)
        for name in type(model).model_fields
    })  # fmt: skip


def _value(value: object, prices: Prices) -> object:
    if isinstance(value, PlanModel):
        return _shown(value, prices)
    if isinstance(value, tuple):
        return tuple(_value(entry, prices) for entry in value if not _stays(entry))
    return value


def _stays(entry: object) -> bool:
    """Whether an entry of a list stays inside as a whole: a limit of money or of choice."""
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
