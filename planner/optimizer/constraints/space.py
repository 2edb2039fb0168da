"""Racks: sum of all racks <= racks. One more unit is one more rack position.

The racks of each item, and those that network devices share, are counts that follow from the
purchase (``companions``).
"""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add the row, where the site limits racks."""
    limit = build.case.limits.racks
    if limit is None:
        return
    racks = total(factor * build.units[name] for factor, name in build.case.companions.racks)
    build.model.row("racks", racks, "<=", limit, unit="racks", origin="site.racks", relaxable=True)
