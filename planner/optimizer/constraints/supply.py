"""What a purchase uses up: each sum over everything in place, or bought, <= its limit.

    sum_k w_k n_k <= limit,   w_k per unit as in ``SUMS``: kW, kW at the meter, heat, USD, racks

One unit more of a limit is one kW, rack or dollar more of equipment. Money is in millions of USD,
so that the model's numbers are of the size solvers like. The racks of each item, and those that
network devices share, are counts that follow from the purchase (``companions``).
"""

from __future__ import annotations

from planner.limits import SUPPLIES
from planner.optimizer.context import Build


def add(build: Build) -> None:
    """Add a row for each such limit the problem gives, and what stock asks of purchases."""
    for limit in SUPPLIES:
        most = getattr(build.case.limits, limit.field)
        if most is not None:
            spent = build.sum(limit.figure, limit.scale)
            build.model.row(limit.name, spent, "<=", most / limit.scale)
    for good in build.case.goods():
        if good.stock is not None:
            build.purchased[good.id]  # its rows hold the stock
