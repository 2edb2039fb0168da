"""Racks: R_k >= x_k / per_rack_k, sum_k R_k <= racks. One more unit is one more rack position."""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add the rows, where the site limits racks."""
    limit = build.case.limits.racks
    if limit is None:
        return
    racks = []
    for offer in build.case.offers():
        use, units = offer.rack_use, build.units[offer.id]
        assert use is not None  # items that do not fit are not on offer
        if use.per_rack == 1:
            racks.append(float(use.racks_each) * units)
            continue
        most = float(max(build.caps[offer.id], offer.low))
        count = build.model.var(f"racks__{offer.id}", 0.0, use.racks(int(most)), True)
        build.model.row(f"racks_{offer.id}", units - float(use.per_rack) * count, "<=", 0.0)
        racks.append(count)
    build.model.row(
        "racks", total(racks), "<=", limit, unit="racks", origin="site.racks", relaxable=True
    )
