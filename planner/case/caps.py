"""How many units of one item the limits allow by themselves: bounds that keep the model tight."""

from __future__ import annotations

import math

from planner.case.model import Case, Offer, Storage, System

UNLIMITED_UNITS = 20_000
"""Where no limit holds an item back. No cluster has so many of anything; see ``at_cap``."""
ROUNDING = 1e-9


def cap(case: Case, offer: Offer) -> int:
    """Return the most units of ``offer`` that any plan can hold."""
    bounds = [math.inf if offer.high is None else float(offer.high)]
    limits = case.limits
    if limits.it_power_kw is not None and offer.it_power_kw > 0:
        bounds.append(limits.it_power_kw / offer.it_power_kw)
    if limits.racks is not None and offer.rack_use is not None:
        use = offer.rack_use
        bounds.append(limits.racks // use.racks_each * use.per_rack)
    bounds += _by_money(case, offer)
    if isinstance(offer, System) and case.job.gpus_max is not None:
        needed = math.ceil(case.job.gpus_max / offer.gpus)
        bounds.append(max(needed, offer.low, offer.min_units))
    if isinstance(offer, Storage) and offer.segments:
        bounds.append(offer.segments[-1].high)
    least = min(bounds)
    return UNLIMITED_UNITS if math.isinf(least) else math.floor(least * (1 + ROUNDING) + ROUNDING)


def _by_money(case: Case, offer: Offer) -> list[float]:
    price = offer.unit_net_usd or 0.0
    yearly = offer.support_usd_per_year
    energy = offer.it_power_kw * case.energy_usd_per_kw_year
    limits = case.limits
    bounds: list[float] = []
    if limits.capex_usd is not None and price > 0:
        bounds.append(offer.installed + limits.capex_usd / price)
    if limits.opex_usd_per_year is not None and yearly + energy > 0:
        bounds.append(offer.installed + limits.opex_usd_per_year / (yearly + energy))
    if limits.tco_usd is not None and (each := price + case.years * (yearly + energy)) > 0:
        bounds.append(offer.installed + limits.tco_usd / each)
    return bounds
