"""Racks of whole units by the verifier, and rounding of many amounts at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Item
from planner.verifier import hall
from planner.verifier.basis import Basis

SLIVER = 1e-9
"""Sums of decimal figures may land this far (relative) beyond a limit they equal on paper."""
Whole = npt.NDArray[np.int64]


class Standing(NamedTuple):
    """How an item stands: so many units in so many racks, with the PDUs of one rack.

    ``own`` marks a product that is a rack (or several).
    """

    units: int
    racks_each: int
    own: bool
    pdus: int

    def racks(self, units: Whole) -> Whole:
        """Return the racks of so many units."""
        return -(-units // self.units) * self.racks_each


def up(amount: npt.NDArray[np.floating[Any]]) -> Whole:
    """Return amounts rounded up, forgiving what decimal figures leave behind."""
    return np.asarray(np.ceil(amount - SLIVER), dtype=np.int64)


def ceil(amount: float) -> int:
    """Return an amount rounded up, forgiving what decimal figures leave behind."""
    return math.ceil(amount - SLIVER)


def liquid_kw(item: Item, basis: Basis) -> float:
    """Return the part of one unit's draw that heats a liquid."""
    return (basis.rated_kw(item) or 0.0) * basis.liquid_share(item)


def standing(item: Item, basis: Basis) -> Standing | None:
    """Return how GPU systems or storage of a kind stand, None where that is not known."""
    found, own = hall.fits(basis, item), item.consumes.racks is not None
    if found is None:
        return None
    racks, units = found[0], max(1, found[1])
    pdus = 0 if own else hall.pdus_of(basis, (basis.rated_kw(item) or 0.0) * units / racks)
    return Standing(units, racks, own, pdus or 0)
