"""What the buyer wants of vendors and families, and what must stand ready."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.schema.plan import JobPlan
from planner.schema.problem import Split
from planner.verify.basis import DECIDED, Basis
from planner.verify.decisions import Decisions
from planner.verify.limit import Limit
from planner.verify.money import unit_money
from planner.verify.whole import at_least


def policy_limits(basis: Basis, decisions: Decisions, stated: JobPlan) -> Iterator[Limit]:
    """Yield the limits on vendors, families and hot spares.

    Args:
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        stated: the plan's job, for how many systems of each type it runs on.
    """
    policy = basis.problem.policy
    for place, vendor in enumerate(policy.require_vendors):
        units = _by_vendor(basis, decisions, DECIDED).get(vendor, 0)
        yield Limit(f"require_vendor.{place}", units, ">=", 1, "units")
    for place, split in enumerate(policy.split):
        largest = _largest_share(basis, decisions, split)
        yield Limit(f"split.{place}", largest, "<=", split.max_share, "share")
    families = basis.problem.storage.exact_families
    if families is not None:
        serving = len(decisions.families)
        yield Limit("exact_families", serving, ">=", families, "families", exact=True)
    used = systems_by_type(decisions, stated)
    for sku, hot in hot_spares(basis, used).items():
        if hot > 0:
            idle = decisions.counts[sku] - used[sku]
            yield Limit(f"hot_spares.{sku}", idle, ">=", hot, "systems")


def systems_by_type(decisions: Decisions, stated: JobPlan) -> dict[str, int]:
    """Return the systems of each type in use; one type's are all there are."""
    if len(decisions.gpu_types) == 1:
        return {decisions.gpu_types[0]: decisions.systems_used}
    return {sku: stated.systems_by_type.get(sku, 0) for sku in decisions.gpu_types}


def hot_spares(basis: Basis, used: Mapping[str, int]) -> dict[str, int]:
    """Return the systems of each type that must stand ready."""
    systems, share = basis.problem.job.gpus.hot
    return {sku: max(systems, at_least(share * count)) for sku, count in used.items()}


def _by_vendor(basis: Basis, decisions: Decisions, categories: tuple[str, ...]) -> dict[str, int]:
    units: dict[str, int] = {}
    for sku, count in decisions.counts.items():
        item = basis.items[sku]
        if item.category in categories:
            units[item.vendor] = units.get(item.vendor, 0) + count
    return units


def _largest_share(basis: Basis, decisions: Decisions, split: Split) -> float:
    """Return the largest vendor's share of a category, by units or by money; 0 of nothing."""
    if split.measure == "units":
        amounts: Mapping[str, float] = _by_vendor(basis, decisions, (split.category,))
    else:
        amounts = _money_by_vendor(basis, decisions, split.category)
    total = sum(amounts.values())
    return max(amounts.values()) / total if total else 0.0


def _money_by_vendor(basis: Basis, decisions: Decisions, category: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for sku, count in decisions.counts.items():
        item, price = basis.items[sku], basis.prices.get(sku)
        if item.category == category:
            # Half a cent goes up, as in the lines.
            nets = (0.0,) if price is None else unit_money(basis, item, price).net_usd
            net_usd = max(net or 0.0 for net in nets)
            amounts[item.vendor] = amounts.get(item.vendor, 0.0) + net_usd * count
    return amounts
