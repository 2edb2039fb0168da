"""IT power: sum_k kW_k x_k <= site power. One more kW is one more kW of equipment."""

from __future__ import annotations

from planner.optimizer import costs
from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add the row, where the site limits power."""
    limit = build.case.limits.it_power_kw
    if limit is None:
        return
    draw = total(kw * units for kw, units in costs.it_power_kw(build.case, build.units))
    build.model.row(
        "it_power", draw, "<=", limit, unit="kW", origin="site.facility_power", relaxable=True
    )
