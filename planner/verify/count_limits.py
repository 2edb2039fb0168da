"""How many units may be bought: the catalog's limits and the user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.schema.catalog import Item
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.limit import Limit
from planner.verify.purchases import owned, purchased, stock


def count_limits(
    basis: Basis, decisions: Decisions, companions: Mapping[str, int]
) -> Iterator[Limit]:
    """Yield the limits on unit counts.

    Args:
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        companions: units of everything that follows from it.
    """
    for sku, item in basis.items.items():
        count = decisions.counts.get(sku, 0) or companions.get(sku, 0)
        if count > 0:
            yield from _catalog_limits(item, count)
            yield from _stock_limits(basis, item, count)
        in_place = decisions.standing.get(sku, 0) or count
        yield from _demanded_limits(basis, sku, in_place)
        if in_place > decisions.counts.get(sku, 0) and sku in decisions.standing:
            yield Limit(f"items.{sku}.installed", in_place, ">=", owned(basis, item), "units")
    yield from _family_limits(basis, decisions)
    types, most = len(decisions.gpu_types), basis.problem.job.gpus.max_types
    yield Limit("gpu_types", types, "<=", most, "types", must_be_listed=False)


def _catalog_limits(item: Item, count: int) -> Iterator[Limit]:
    if item.min_units is not None:
        yield Limit(f"min_units.{item.id}", count, ">=", item.min_units.value, "units")
    if item.max_units is not None:
        yield Limit(f"max_units.{item.id}", count, "<=", item.max_units.value, "units")


def _stock_limits(basis: Basis, item: Item, count: int) -> Iterator[Limit]:
    bought, there_are = purchased(basis, item, count), stock(basis, item)
    if bought > 0 and there_are is not None:
        yield Limit(f"stock.{item.id}", bought, "<=", there_are, "units")


def _demanded_limits(basis: Basis, sku: str, count: int) -> Iterator[Limit]:
    rule, name = basis.demanded(sku), f"items.{sku}"
    if rule.fixed is not None:
        must_be_listed = rule.fixed > 0 or count > 0
        yield Limit(
            f"{name}.fixed", count, "<=", rule.fixed, "units",
            must_be_listed=must_be_listed, exact=True,
        )  # fmt: skip
    least = max(rule.min or 0, 1 if rule.required else 0)
    if rule.min is not None or rule.required:
        yield Limit(f"{name}.min", count, ">=", least, "units", must_be_listed=least > 0)
    if rule.max is not None:
        yield Limit(f"{name}.max", count, "<=", rule.max, "units", must_be_listed=count > 0)


def _family_limits(basis: Basis, decisions: Decisions) -> Iterator[Limit]:
    for family in basis.families.values():
        if family.max_units is None:
            continue
        members = [
            count for sku, count in decisions.counts.items() if basis.items[sku].family == family.id
        ]
        yield Limit(
            f"family_max_units.{family.id}", sum(members), "<=", family.max_units.value, "units",
            must_be_listed=sum(members) > 0,
        )  # fmt: skip
