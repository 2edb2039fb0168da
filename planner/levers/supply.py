"""Levers of single items: counts that are asked for, stock."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Change, Inputs
from planner.levers.make import amount
from planner.levers.model import Lever
from planner.schema.catalog import Item
from planner.schema.problem import Quantity

_MOST_UNITS = 10_000_000


def supply_levers(inputs: Inputs) -> Iterator[Lever]:
    """Yield the levers of what the problem and the price books say of single items."""
    for item in sorted(inputs.items, key=lambda item: item.id):
        rule = inputs.problem.items.get(item.id, Quantity())
        yield from _counts(inputs, item, rule)
        yield from _stock(inputs, item, rule)


def _counts(inputs: Inputs, item: Item, rule: Quantity) -> Iterator[Lever]:
    path = f"items.{item.id}"
    if rule.fixed is not None:
        off = (Change(f"{path}.fixed", None, "null"),)
        label, limit = f"fixed count of {item.model}", f"{path}.fixed"
        if rule.fixed > rule.in_place:  # what is owned stays, so it cannot be moved below
            yield amount(inputs, f"{path}.fixed", label, "units", -1, rule.fixed, off,
                         limit=limit, between=True, least=float(rule.in_place))  # fmt: skip
        yield amount(inputs, f"{path}.fixed", label, "units", 1, rule.fixed, off,
                     limit=limit, between=True, least=float(rule.in_place),
                     most=_MOST_UNITS)  # fmt: skip
    if rule.min:
        off = (Change(f"{path}.min", None, "null"),)
        label = f"least {item.model}"
        yield amount(inputs, f"{path}.min", label, "units", -1, rule.min, off, limit=f"{path}.min")
    if rule.max is not None:
        off = (Change(f"{path}.max", None, "null"),)
        label = f"most {item.model}"
        yield amount(inputs, f"{path}.max", label, "units", 1, rule.max, off, limit=f"{path}.max",
                     least=float(rule.in_place), most=_MOST_UNITS)  # fmt: skip


def _stock(inputs: Inputs, item: Item, rule: Quantity) -> Iterator[Lever]:
    price = inputs.prices.get(item.id)
    stock = rule.stock if rule.stock is not None or price is None else price.stock
    if price is None or stock is None:
        return
    path = f"items.{item.id}.stock"
    off = (Change(path, _MOST_UNITS, str(_MOST_UNITS)),)
    yield amount(inputs, path, f"stock of {item.model}", "units", 1, stock, off,
                 limit=f"stock.{item.id}", most=_MOST_UNITS)  # fmt: skip
