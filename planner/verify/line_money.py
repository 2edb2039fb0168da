"""The money of one line: prices, support and subscriptions, and how long support is paid."""

from __future__ import annotations

from planner.schema.catalog import Item
from planner.schema.plan import Line
from planner.verify.basis import Basis
from planner.verify.ledger import Ledger
from planner.verify.money import (
    cents,
    subscription_usd_per_year,
    support_usd_per_year,
    support_years,
    unit_money,
)

MONEY_FIELDS = (
    "extended_list_usd",
    "extended_net_usd",
    "support_usd_per_year",
    "subscription_usd_per_year",
)


def check_line_money(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    """Re-compute the money of a line that has a price, and require none where it has not.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the prices.
        name: the line's place in the plan.
        item: what the line is for.
        line: the line to check.
    """
    start, end = support_years(basis, item.id)
    years = None if end is None else max(0.0, end - start)
    price = basis.prices.get(line.sku)
    if price is None:
        _check_no_money(ledger, name, line)
        ledger.one_of(f"{name}.support_years", line.support_years, (years, None, 0.0))
        ledger.same(f"{name}.support_from_years", line.support_from_years, 0.0)
        ledger.same(f"{name}.lead_time_days", line.lead_time_days, None)
        return
    unit = unit_money(basis, item, price)
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, unit.list_usd)
    ledger.same(f"{name}.discount", line.discount, unit.discount)
    ledger.one_of(f"{name}.unit_net_usd", line.unit_net_usd, unit.net_usd)
    net_usd = line.unit_net_usd if line.unit_net_usd in unit.net_usd else unit.net_usd[0]
    assert net_usd is not None
    bought = line.purchased
    extended = cents(unit.list_usd * bought)
    ledger.one_of(f"{name}.extended_list_usd", line.extended_list_usd, extended)
    ledger.same(f"{name}.extended_net_usd", line.extended_net_usd, net_usd * bought)
    support = support_usd_per_year(price, net_usd, bought)
    ledger.one_of(f"{name}.support_usd_per_year", line.support_usd_per_year, support)
    yearly = subscription_usd_per_year(price, unit.discount, bought)
    ledger.one_of(f"{name}.subscription_usd_per_year", line.subscription_usd_per_year, yearly)
    ledger.same(f"{name}.unit_subscription_list_usd", line.unit_subscription_list_usd,
                price.per_year_usd)  # fmt: skip
    share = getattr(price.support_per_year, "share", None)
    ledger.same(f"{name}.support_share", line.support_share, share)
    ledger.same(f"{name}.support_years", line.support_years, years)
    # What the price includes may outlast the support that is asked for.
    since = (start, 0.0 if end is None else min(start, end))
    ledger.one_of(f"{name}.support_from_years", line.support_from_years, since)
    ledger.equal(f"{name}.lead_time", line.lead_time, price.lead_time)
    ledger.same(f"{name}.lead_time_days", line.lead_time_days, price.lead_time_days)
    if line.price is None:
        ledger.fail(f"{name}.price: where the price comes from is missing")
    else:
        ledger.equal(f"{name}.price.date", line.price.date, price.date)
        ledger.equal(f"{name}.price.confidence", line.price.confidence, price.confidence)


def _check_no_money(ledger: Ledger, name: str, line: Line) -> None:
    """Without a price no money is known; nothing bought costs nothing, or is left open."""
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, None)
    ledger.same(f"{name}.unit_net_usd", line.unit_net_usd, None)
    for field in MONEY_FIELDS:
        ledger.one_of(f"{name}.{field}", getattr(line, field), (None, 0.0))
    for field in ("support_share", "unit_subscription_list_usd"):
        ledger.same(f"{name}.{field}", getattr(line, field), None)
    ledger.require(line.price is None, f"{name}.price: the item has no price")
