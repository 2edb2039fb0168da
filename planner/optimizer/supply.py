"""What may be used up: one table of the limits that a purchase alone takes of, and its vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.case.model import Limits
from planner.optimizer.costs import MILLION

if TYPE_CHECKING:
    from planner.optimizer.purchase import Bill

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Supply:
    """A limit that only a purchase uses up.

    ``row`` is its name in the model and the plan, ``field`` its place in ``Limits``, ``used`` what
    takes of it in a bill, ``scale`` that of its row.
    """

    row: str
    field: str
    used: str
    scale: float = 1.0


SUPPLIES = (
    Supply("it_power", "it_power_kw", "it_power_kw"),
    Supply("facility_power", "meter_kw", "meter_kw"),
    Supply("heat_air", "air_kw", "air_kw"),
    Supply("heat_liquid", "liquid_kw", "liquid_kw"),
    Supply("racks", "racks", "racks"),
    Supply("capex", "capex_usd", "capex_usd", MILLION),
    Supply("support", "support_usd_per_year", "support_usd_per_year", MILLION),
    Supply("subscriptions", "subscriptions_usd_per_year", "subscriptions_usd_per_year", MILLION),
    Supply("energy", "energy_usd_per_year", "energy_usd_per_year", MILLION),
    Supply("colocation", "colocation_usd_per_year", "colocation_usd_per_year", MILLION),
    Supply("opex", "opex_usd_per_year", "opex_usd_per_year", MILLION),
    Supply("tco", "tco_usd", "tco_usd", MILLION),
)


def given(limits: Limits) -> tuple[Supply, ...]:
    """Return the supplies that limits give."""
    return tuple(supply for supply in SUPPLIES if getattr(limits, supply.field) is not None)


def amounts(supplies: Iterable[Supply], limits: Limits) -> Vector:
    """Return what limits allow of each supply, in the unit of its row."""
    return np.array([getattr(limits, each.field) / each.scale for each in supplies], dtype=float)


def used(supplies: Iterable[Supply], bill: Bill) -> Vector:
    """Return what a purchase uses up of each supply, in the unit of its row."""
    return np.array([getattr(bill, each.used) / each.scale for each in supplies], dtype=float)
