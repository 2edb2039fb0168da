"""Power and heat: each sum over everything in place <= its limit.

    sum_k kW_k n_k <= IT power;   sum_k pue_k kW_k n_k <= power at the meter;
    sum_k liquid_k kW_k n_k <= cooling by liquid;   sum_k (1 - liquid_k) kW_k n_k <= cooling by air

One more kW is one more kW of equipment.
"""

from __future__ import annotations

from planner.optimizer import costs
from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add a row for each limit the site has."""
    case, limits, units = build.case, build.case.limits, build.units
    rows = (
        ("it_power", limits.it_power_kw, costs.it_power_kw, "site.it_power"),
        ("facility_power", limits.meter_kw, costs.meter_kw, "site.facility_power"),
        ("heat_liquid", limits.liquid_kw, costs.liquid_kw, "site.cooling.liquid_limit"),
        ("heat_air", limits.air_kw, costs.air_kw, "site.cooling.air_limit"),
    )
    for name, limit, weights, origin in rows:
        if limit is not None:
            draw = total(kw * count for kw, count in weights(case, units))
            build.model.row(name, draw, "<=", limit, unit="kW", origin=origin, relaxable=True)
