"""Every money and power expression once, on decision variables and on numbers alike.

``units`` and ``purchased`` map item ids to something that can be scaled and added: a PuLP variable
in the model, an int in a report. So the money reported is the money optimised. They cover
everything in the bill: what is chosen and the companions that follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from planner.case import Case

Weights = list[tuple[float, Any]]
MILLION = 1e6
"""Money in the model is in millions of USD, so that its numbers are of the size solvers like."""


class Named(Protocol):
    """Counts by item id: whole numbers, or expressions of a model that come when asked for."""

    def __getitem__(self, name: str, /) -> Any: ...


def capex_usd(case: Case, purchased: Named) -> Weights:
    """Return (USD per unit, units purchased) of everything that has a price."""
    return _used(
        (item.unit_net_usd or 0.0, purchased[item.id])
        for item in case.bill_items()
        if item.unit_net_usd is not None
    )


def support_usd_per_year(case: Case, purchased: Named) -> Weights:
    """Return (USD per unit and year, units purchased)."""
    return _used((item.support_usd_per_year, purchased[item.id]) for item in case.bill_items())


def subscriptions_usd_per_year(case: Case, purchased: Named) -> Weights:
    """Return (USD per unit and year, units purchased) of what is paid for by the year."""
    return _used((item.subscription_usd_per_year, purchased[item.id]) for item in case.bill_items())


def it_power_kw(case: Case, units: Named) -> Weights:
    """Return (kW per unit, units)."""
    return _used((item.it_power_kw, units[item.place]) for item in case.bill_items())


def meter_kw(case: Case, units: Named) -> Weights:
    """Return (kW at the meter per unit, units)."""
    return _used((item.meter_kw, units[item.place]) for item in case.bill_items())


def liquid_kw(case: Case, units: Named) -> Weights:
    """Return (kW of heat to liquid per unit, units)."""
    return _used((item.liquid_kw, units[item.place]) for item in case.bill_items())


def air_kw(case: Case, units: Named) -> Weights:
    """Return (kW of heat to air per unit, units)."""
    return _used(
        (item.it_power_kw - item.liquid_kw, units[item.place]) for item in case.bill_items()
    )


def energy_usd_per_year(case: Case, units: Named) -> Weights:
    """Return (USD of energy per unit and year, units)."""
    rate = case.rates.energy_usd_per_kw_year
    return _used((item.energy_kw * rate, units[item.place]) for item in case.bill_items())


def colocation_usd_per_year(case: Case, units: Named) -> Weights:
    """Return (USD of colocation per unit and year, units)."""
    rate = case.rates.colocation_usd_per_kw_year
    return _used((item.it_power_kw * rate, units[item.place]) for item in case.bill_items())


def opex_usd_per_year(case: Case, units: Named, purchased: Named) -> Weights:
    """Return support, subscriptions, energy and colocation, USD per year."""
    return [
        *support_usd_per_year(case, purchased),
        *subscriptions_usd_per_year(case, purchased),
        *energy_usd_per_year(case, units),
        *colocation_usd_per_year(case, units),
    ]


def tco_usd(case: Case, units: Named, purchased: Named) -> Weights:
    """Return capex and what is paid over the term, discounted, USD."""
    support = [
        (item.support_usd_per_year * item.support_factor, purchased[item.id])
        for item in case.bill_items()
    ]
    running = [
        *subscriptions_usd_per_year(case, purchased),
        *energy_usd_per_year(case, units),
        *colocation_usd_per_year(case, units),
    ]
    factor = case.rates.factor
    return [
        *capex_usd(case, purchased),
        *_used(support),
        *((usd * factor, count) for usd, count in running),
    ]


def _used(weights: Iterable[tuple[float, Any]]) -> Weights:
    """Return the weights that count for something."""
    return [(factor, count) for factor, count in weights if factor != 0.0]


def amount(weights: Iterable[tuple[float, float]]) -> float:
    """Return the weights' total on numbers."""
    return sum(factor * count for factor, count in weights)
