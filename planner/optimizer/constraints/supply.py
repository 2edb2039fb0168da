"""What a purchase uses up: each sum over everything in place, or bought, <= its limit.

    sum_k w_k n_k <= limit,   w_k per unit as in ``SUMS``: kW, kW at the meter, heat, USD, racks

One unit more of a limit is one kW, rack or dollar more of equipment. Money is in millions of USD,
so that the model's numbers are of the size solvers like. The racks of each item, and those that
network devices share, are counts that follow from the purchase (``companions``).
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.case.money import SUMS
from planner.limits import MILLION, SUPPLIES, Limit
from planner.optimizer.context import Build
from planner.optimizer.model import total


def add_money(build: Build) -> None:
    """Add the budgets, sums of other budgets last, and what stock asks of purchases."""
    budgets = (limit for limit in SUPPLIES if limit.scale == MILLION)
    _add(build, sorted(budgets, key=lambda limit: len(SUMS[limit.figure])))
    for item in build.case.bill_items():
        if item.stock is not None:
            build.purchased[item.id]  # its rows hold the stock


def add_power(build: Build) -> None:
    """Add what is drawn and what heats, heat to air last: it is what liquid leaves of the draw."""
    drawn = (limit for limit in SUPPLIES if limit.scale != MILLION and limit.figure in SUMS)
    _add(build, sorted(drawn, key=lambda limit: limit.figure == "heat_air_kw"))


def add_racks(build: Build) -> None:
    """Add what counts by itself: racks, and those that only some positions take."""
    _add(build, (limit for limit in SUPPLIES if limit.figure not in SUMS))
    for some in build.case.companions.positions:
        stood = total(factor * build.units[name] for factor, name in some.racks)
        build.model.row(some.name, stood, "<=", some.count)


def _add(build: Build, limits: Iterable[Limit]) -> None:
    for limit in limits:
        most = getattr(build.case.limits, limit.field)
        if most is not None:
            spent = build.sum(limit.figure, limit.scale)
            build.model.row(limit.name, spent, "<=", most / limit.scale)
