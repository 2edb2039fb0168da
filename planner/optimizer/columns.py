"""What purchases take and are counted by: the columns that a search limits, holds and minimises.

Every column rises, or stays, with each unit that is bought: sums over the bill, and counts of units
with a weight each. Bandwidth that is bought rises as long as tables of sizes do; of one that falls
somewhere boxes see the least per unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.case import Case
from planner.case.figures import SUMS
from planner.case.items import Offer, Storage, ends
from planner.figures import FIGURES, OBJECTIVES, RATIOS
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.bill import Numbers
from planner.optimizer.objective import name_weight
from planner.optimizer.work import PRICES

TCO = "tco_usd"
WRITTEN = "bought_write"
"""The write bandwidth of the storage bought, as delivered, whatever clients can move."""
TIES = ("capex_usd", "it_power_kw", "units", "names")
"""What equally good plans are told apart by, in this order."""


@dataclass(frozen=True)
class Columns:
    """The columns of a search, in order, for the purchases of a case.

    Attributes:
        figures: sums over the bill by name, first.
        counted: the other columns by name.
    """

    case: Case
    figures: tuple[str, ...]
    counted: tuple[str, ...]

    @classmethod
    def of(cls, case: Case, also: Iterable[str] = ()) -> Columns:
        """The columns that limits of a case need, and others."""
        asked = {*also}
        if case.objective in RATIOS or any(case.limits[name] is not None for name in PRICES):
            asked.add(TCO)
        limited = {each.figure for each in SUPPLIES if case.limits[each.field] is not None}
        if case.limits["most_write_gb_per_s"] is not None:
            asked.add(WRITTEN)
        figures = [name for name in (*SUMS, "racks") if name in limited | asked]
        return cls(case, tuple(figures), tuple(sorted(asked - {*figures})))

    @property
    def names(self) -> tuple[str, ...]:
        """Every column."""
        return (*self.figures, *self.counted)

    def place(self, name: str) -> int:
        """The place of a column."""
        return self.names.index(name)

    @cached_property
    def scale(self) -> Numbers:
        """How many of its unit each column counts as one: money in millions."""
        money = [FIGURES[name].money for name in self.figures]
        return np.array([MILLION if each else 1.0 for each in money] + [1.0] * len(self.counted))

    def limits(self, case: Case) -> Numbers:
        """The limit of a case on each column, infinite where there is none."""
        fields = {each.figure: each.field for each in SUPPLIES}
        most = [case.limits[fields[name]] if name in fields else None for name in self.figures]
        for name in self.counted:
            most.append(case.limits["most_write_gb_per_s"] if name == WRITTEN else None)
        allowed = np.array([math.inf if each is None else each for each in most])
        return np.asarray(allowed / self.scale)

    @cached_property
    def weights(self) -> Numbers:
        """What one unit of each GPU system and storage item, a row each, counts of ``counted``."""
        offers: Sequence[Offer] = (*self.case.systems, *self.case.storage)
        rows = [[self._counts(name, offer) for name in self.counted] for offer in offers]
        return np.array(rows, dtype=float).reshape(len(offers), len(self.counted))

    def _counts(self, name: str, offer: Offer) -> float:
        stores = isinstance(offer, Storage)
        if name == WRITTEN:
            return self.case.delivered_write * least_write(offer) if stores else 0.0
        by_name = {
            "units": 1.0,
            "names": name_weight(offer.id),
            "disliked": float(offer.id in self.case.policy.disliked),
        }
        return by_name[name]


def least_write(item: Offer) -> float:
    """The least write bandwidth that a unit of storage gives in any number, GB/s."""
    assert isinstance(item, Storage)
    if not item.segments:
        return item.nameplate_write_gb_per_s
    return min(write / count for count, _, write in ends(item))


def most_each(item: Storage) -> tuple[float, float]:
    """The most (read, write) bandwidth that a unit of an item gives, GB/s."""
    if not item.segments:
        return item.nameplate_read_gb_per_s, item.nameplate_write_gb_per_s
    known = ends(item)
    return max(r / n for n, r, _ in known), max(w / n for n, _, w in known)


def least_column(objective: str) -> str | None:
    """The column that an objective minimises, None where it is not one."""
    of_questions = {
        "least_meter": "facility_power_kw",
        "least_write": WRITTEN,
    }
    if objective in of_questions:
        return of_questions[objective]
    asked = OBJECTIVES.get(objective)
    if asked is None or asked.sense == "maximize" or objective in RATIOS:
        return None
    return asked.figure.name
