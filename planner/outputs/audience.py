"""Whom an output is for: the customer's edition of a plan holds no money, by construction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeVar

from planner.outputs.audience_rules import RULES
from planner.outputs.money_words import MoneyWords
from planner.schema.plan import Assumption, LimitReport, ObjectiveReport, Plan, PlanModel

Audience = Literal["internal", "customer"]
ModelT = TypeVar("ModelT", bound=PlanModel)

HIDDEN_OBJECTIVE = "a figure that is not shown"
"""Name of an objective that is money, where money is not shown."""

_SETTING = "--set "
_MONEY_INPUTS = ("electricity", "colocation", "discount_rate")
"""How the names of assumptions begin that are money though no word of theirs says so."""


def for_audience(plan: Plan, audience: Audience) -> Plan:
    """Return the plan that an edition may show.

    The customer's holds no prices, discounts, support or subscription money, totals, limits,
    assumptions and rates of money, no name of a price book, no ``--set``, and no text that speaks
    of money or states an amount that was taken out. The status and the proven gap stay; an
    objective that is money loses its name, value and bound.

    Args:
        plan: the plan as solved.
        audience: whom it is for.
    """
    return plan if audience == "internal" else _shown(plan, MoneyWords(_amounts(plan)))


def _shown(model: ModelT, speaks: MoneyWords) -> ModelT:
    """Return what an edition without money shows of a plan or of a part of one."""
    if isinstance(model, ObjectiveReport) and "USD" in model.unit:
        hidden = {"name": HIDDEN_OBJECTIVE, "unit": "", "value": None, "bound": None, "best": None}
        model = model.model_copy(update=hidden)
    rule = RULES[type(model)]
    fields: dict[str, Any] = {name: _passed(getattr(model, name), speaks) for name in rule.kept}
    for name, instead in rule.texts.items():
        fields[name] = _text(getattr(model, name), instead, speaks)
    return type(model)(**fields, **rule.removed)


def _passed(value: object, speaks: MoneyWords) -> object:
    if isinstance(value, PlanModel):
        return _shown(value, speaks)
    if isinstance(value, tuple):
        return tuple(_passed(entry, speaks) for entry in value if not _is_money(entry, speaks))
    return value


def _text(value: object, instead: object, speaks: MoneyWords) -> object:
    if isinstance(value, tuple):
        return tuple(entry for entry in value if not speaks(entry))
    if not isinstance(value, str):
        return value
    if value.startswith(_SETTING):  # it may hold more than the value it is given as the source of
        return "set for this run"
    return instead if speaks(value) else value


def _is_money(entry: object, speaks: MoneyWords) -> bool:
    """Return whether an entry of a list is left out as a whole: limits, assumptions."""
    if isinstance(entry, LimitReport):
        return "USD" in entry.unit or speaks(entry.label)
    if isinstance(entry, Assumption):
        said = entry.value if isinstance(entry.value, str) else ""
        texts = (entry.name, entry.label, entry.unit, said)
        return entry.name.startswith(_MONEY_INPUTS) or any(speaks(text) for text in texts)
    return False


def _amounts(plan: Plan) -> Iterator[float]:
    """Yield every amount that an edition without money takes out of a plan."""
    yield from _removed(plan.site)
    if plan.totals is not None:
        yield from _removed(plan.totals)
        yield from plan.totals.capex_by_section_usd.values()
    for line in plan.lines:
        yield from _removed(line)
        for yearly in (line.support_usd_per_year, line.subscription_usd_per_year):
            if yearly is not None and line.purchased:
                yield yearly / line.purchased
    goal = plan.objective
    yield from _removed(goal)
    if "USD" in goal.unit:
        amounts = (goal.value, goal.bound, goal.best)
        yield from (amount for amount in amounts if amount is not None)
    for limit in plan.limits:
        if "USD" in limit.unit:
            yield from (limit.value, limit.limit, limit.slack)
    for entry in plan.assumptions:
        if "USD" in entry.unit and isinstance(entry.value, (int, float)):
            yield entry.value


def _removed(model: PlanModel) -> Iterator[float]:
    for name in RULES[type(model)].removed:
        value = getattr(model, name)
        if isinstance(value, (int, float)) and not name.endswith("_years"):
            yield value
