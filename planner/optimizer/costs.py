"""Every money and power expression once, on decision variables and on numbers alike.

``units`` and ``purchased`` map item ids to something that can be scaled and added: a PuLP variable
in the model, an int in a report. So the money reported is the money optimised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.case import Case

Weights = list[tuple[float, Any]]
MILLION = 1e6
"""Money in the model is in millions of USD, so that its numbers are of the size solvers like."""


def capex_usd(case: Case, purchased: Mapping[str, Any]) -> Weights:
    """Return (USD per unit, units purchased) of everything that has a price."""
    return [
        (offer.unit_net_usd, purchased[offer.id])
        for offer in case.offers()
        if offer.unit_net_usd is not None
    ]


def support_usd_per_year(case: Case, purchased: Mapping[str, Any]) -> Weights:
    """Return (USD per unit and year, units purchased)."""
    return [(offer.support_usd_per_year, purchased[offer.id]) for offer in case.offers()]


def it_power_kw(case: Case, units: Mapping[str, Any]) -> Weights:
    """Return (kW per unit, units)."""
    return [(offer.it_power_kw, units[offer.id]) for offer in case.offers()]


def opex_usd_per_year(
    case: Case, units: Mapping[str, Any], purchased: Mapping[str, Any]
) -> Weights:
    """Return support of what is purchased and energy of all that draws power, USD per year."""
    energy = [(kw * case.energy_usd_per_kw_year, count) for kw, count in it_power_kw(case, units)]
    return support_usd_per_year(case, purchased) + energy


def tco_usd(case: Case, units: Mapping[str, Any], purchased: Mapping[str, Any]) -> Weights:
    """Return capex and the opex of all years, USD."""
    opex = opex_usd_per_year(case, units, purchased)
    return capex_usd(case, purchased) + [(usd * case.years, count) for usd, count in opex]


def amount(weights: Iterable[tuple[float, float]]) -> float:
    """Return the weights' total on numbers."""
    return sum(factor * count for factor, count in weights)
