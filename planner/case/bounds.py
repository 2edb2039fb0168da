"""How large counts can become: upper bounds that keep fabrics and the model small.

Every count is at most a linear function of the offers' units (its majorant); that function is
bounded by each limit alone, as in a knapsack filled with the best item.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.case.model import Case
from planner.case.quantities import AtLeast, Ceil, Packed, Quantity, Steps
from planner.case.racks import RackUse
from planner.sizing.packing import packing

Majorant = tuple[dict[str, float], float]
ROOM = 1.0


@dataclass
class Bounds:
    """Upper bounds of the counts of a case; ``tops`` are the most units of each offer."""

    tops: dict[str, int]
    weights: list[tuple[float, dict[str, float]]]
    majorants: dict[str, Majorant] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, tops: dict[str, int]) -> Bounds:
        """Return the bounds of a case whose offers have at most ``tops`` units."""
        limits, offers = case.limits, case.offers()
        each = (
            (limits.it_power_kw, {o.id: o.it_power_kw for o in offers}),
            (limits.facility_power_kw, {o.id: o.meter_kw for o in offers}),
            (limits.capex_usd, {o.id: _price(o.unit_net_usd, o.installed) for o in offers}),
            (limits.racks, {o.id: _racks(o.rack_use) for o in offers}),
        )
        return cls(tops, [(float(limit), use) for limit, use in each if limit is not None])

    def add(self, quantities: Iterable[Quantity]) -> None:
        """Add the majorants of counts that follow from those known so far."""
        for quantity in quantities:
            terms, constant = self._majorant(quantity.terms)
            if isinstance(quantity, Packed):
                self.majorants[quantity.name] = self._by_kind(quantity)
            elif isinstance(quantity, Steps):
                for index, name in enumerate(quantity.outputs):
                    self.majorants[name] = self._steps(quantity, index, terms, constant)
            elif isinstance(quantity, AtLeast):
                self.majorants[quantity.name] = terms, constant + quantity.least
            elif isinstance(quantity, Ceil):
                more = quantity.constant + 1.0 + quantity.if_any
                self.majorants[quantity.name] = terms, constant + more
            else:
                self.majorants[quantity.name] = terms, constant + quantity.constant

    def most(self, terms: Iterable[tuple[float, str]]) -> float:
        """Return an upper bound of a sum of terms."""
        factors, constant = self._majorant(terms)
        best = sum(factor * self.tops[name] for name, factor in factors.items())
        for limit, use in self.weights:
            best = min(best, self._knapsack(factors, limit, use))
        return best + constant

    def _knapsack(self, factors: dict[str, float], limit: float, use: dict[str, float]) -> float:
        free = sum(f * self.tops[name] for name, f in factors.items() if use[name] <= 0)
        rates = (f / use[name] for name, f in factors.items() if use[name] > 0)
        return free + limit * max(rates, default=0.0) * (1 + 1e-9)

    def _majorant(self, terms: Iterable[tuple[float, str]]) -> Majorant:
        factors: dict[str, float] = {}
        constant = 0.0
        for factor, name in terms:
            inner, more = self.majorants.get(name, ({name: 1.0}, 0.0))
            constant += factor * more
            for key, value in inner.items():
                factors[key] = factors.get(key, 0.0) + factor * value
        return factors, constant

    def _by_kind(self, quantity: Packed) -> Majorant:
        """Return the racks that would hold every kind by itself."""
        alone = packing(quantity.shares).alone
        terms = ((1.0 / n, name) for n, (_, name) in zip(alone, quantity.terms, strict=True))
        factors, constant = self._majorant(terms)
        return factors, constant + len(alone)

    def _steps(
        self, quantity: Steps, index: int, terms: dict[str, float], constant: float
    ) -> Majorant:
        """Return output <= first + rate * amount, with the steepest rate of any size reached."""
        most = self.most(quantity.terms) + ROOM
        first = low = 0
        rate = 0.0
        for number, size in enumerate(quantity.sizes):
            if low >= most:
                break
            if number == 0:
                first = size.outputs[index]
            else:
                rate = max(rate, (size.outputs[index] - first) / (low + 1))
            low = size.capacity
        return {key: rate * value for key, value in terms.items()}, first + rate * constant


def _price(unit_net_usd: float | None, installed: int) -> float:
    return 0.0 if unit_net_usd is None or installed else unit_net_usd


def _racks(use: RackUse | None) -> float:
    return use.racks_each / use.per_rack if use is not None else 0.0
