"""The answers of a why-not in words, for the screen and for the workbook."""

from __future__ import annotations

from planner.outputs.words import money, percent
from planner.schema.why_not import Forced, Item, WhyNot

_WORSE = {
    "goodput": "does {share} less useful work",
    "useful_gpus": "has {share} fewer useful GPUs",
    "gpus": "uses {share} fewer GPUs",
    "cost": "costs {share} more",
    "tco": "costs {share} more over the term",
    "power": "draws {share} more power",
}
_SMALL = 5e-7
"""A share of the objective below which nothing is worth telling."""


def share(value: float) -> str:
    """Return a share of the objective with as many digits as it needs."""
    size = abs(value)
    digits = 1 if size >= 0.1 else 2 if size >= 0.001 else 3 if size >= 0.0001 else 4
    return percent(size, digits)


def by_how_much(why: WhyNot, loss: float, *, at_least: bool = False) -> str:
    """Return a loss in words: how much less work, or how much more money."""
    said = f"at least {share(loss)}" if at_least else share(loss)
    return _WORSE[why.objective].format(share=said)


def difference(why: WhyNot, row: Forced) -> str:
    """Return how much more or less of the objective a forced plan has."""
    if row.loss is None:
        return ""
    if abs(row.loss) < _SMALL or -why.tie <= row.loss < 0:  # better by no more than ties give away
        return "0 %"
    less = (row.loss > 0) == (why.sense == "maximize")
    return f"{'-' if less else '+'}{share(row.loss)}"


def verdict(why: WhyNot, item: Item, *, money_shown: bool = True) -> str:
    """Return in one line why an item is not in the plan.

    Args:
        why: what it is part of.
        item: the item.
        money_shown: whether amounts of money may be named.
    """
    if item.kind == "left_out":
        return f"left out: {item.reason}"
    if item.kind == "no_plan":
        return "no plan holds even one"
    if item.kind == "as_good":
        return _as_good(item) if money_shown else "is just as good; ties decided"
    if item.kind == "open":
        return "is as good or worse: to be asked for"
    if item.exact and item.at_most is not None:
        return by_how_much(why, item.at_most)
    if item.at_least is not None and item.at_least > _SMALL:
        return by_how_much(why, item.at_least, at_least=True)
    return "is worse, by very little"


def _as_good(item: Item) -> str:
    extra, why = item.extra_capex_usd, item.reason
    if extra is None or abs(extra) < 1.0:
        return f"is just as good; {why or 'ties decided'}"
    if extra < 0:
        return f"is just as good, {money(-extra)} cheaper; {why or 'ties decided'}"
    return f"is just as good, but {money(extra)} dearer"


def price_today(item: Item) -> str:
    """Return what a unit costs today, after discount."""
    if item.kind == "left_out":
        return ""
    return "" if item.net_usd is None else f"{item.net_usd:,.0f}"


def enters(item: Item) -> str:
    """Return at which price of a unit an item enters the plan."""
    price = item.break_even
    if price is None:
        return ""
    if price.outcome == "no_price_helps":
        return "at no price"
    if price.outcome == "not_computed":
        return "not computed"
    if price.not_at_usd is None:
        return "at today's"
    return f"{price.enters_at_usd:,.0f}"


def details(why: WhyNot, item: Item) -> list[str]:
    """Return what there is to tell of an item that was asked for, in sentences."""
    if item.kind == "left_out":
        return [f"It cannot be planned with: {item.reason}."]
    if item.kind == "no_plan":
        told = f": {item.reason}" if item.reason else ""
        return [f"No plan of this problem holds even one unit of it{told}."]
    return [_standing(why, item), *_price(item)]


def _standing(why: WhyNot, item: Item) -> str:
    if item.kind == "as_good":
        tie = f" within {share(why.tie)}, which is what the problem calls equal"
        costs = _as_good(item).removeprefix("is just as good").lstrip(",; ")
        return f"A plan with it is just as good{tie}: {costs}."
    if item.kind == "open":
        return "Bounds alone do not tell whether a plan with it is just as good."
    if item.exact and item.at_most is not None:
        return f"The best plan with it {by_how_much(why, item.at_most)} (found and proven)."
    least = by_how_much(why, item.at_least or 0.0, at_least=True)
    return f"Any plan with it {least} (proven)."


def _price(item: Item) -> list[str]:
    price = item.break_even
    if price is None:
        return []
    if price.outcome == "not_computed":
        return [f"No break-even price: {price.reason}."]
    if price.outcome == "no_price_helps":
        return ["No price helps: even for nothing the plan would not change."]
    assert price.enters_at_usd is not None
    if price.not_at_usd is None:
        return ["At today's price it would do as well."]
    units = "one unit" if price.units == 1 else f"{price.units:,} units"
    text = (
        f"It enters the plan ({units}) at {price.enters_at_usd:,.2f} USD a unit or less, and not "
        f"at {price.not_at_usd:,.2f} USD; today it is {item.net_usd:,.2f} USD"
    )
    if item.list_usd != item.net_usd:
        at = price.enters_at_list_usd
        text += f" (list prices: {at:,.2f} USD, and {item.list_usd:,.2f} USD today)"
    return [f"{text}."]
