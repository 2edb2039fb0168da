"""The bill of purchases, as arrays: every count that follows from units bought, and the sums.

A column is a purchase; the bill of one plan is an array of one. Whole numbers are added in the
order of their terms, so counts are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.figures import weights
from planner.case.items import Terms, total
from planner.case.job import ROUNDING
from planner.case.model import AtLeast, Ceil, Limits, Packed, Quantity, Steps, Sum, vanishes
from planner.limits import SUPPLIES, Limit

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Counts = NDArray[np.int64]

TOLERANCE = 1e-9
"""Relative slack of limits on sums over the bill, bandwidth bought and capacity."""
MOST_PRICES = 8
"""Sets of rack prices of devices that are kept as lower bounds of other racks."""
MOST_FOLLOWED = 1_000
"""Sets of nonzero rows whose dependent counts are kept."""
VOLUME_NOISE = 1e-6
"""A rack's shares add up to no more than this above a whole number by rounding."""

PlacedTerms = tuple[tuple[float, int], ...]
"""Terms of a sum: a factor, and a row."""


class Bills(NamedTuple):
    """The bills of many purchases.

    Attributes:
        counts: units in place, a row for each count by `Kernel.index`, a column for each purchase.
        purchased: units bought, a row for each item of the bill.
        known: False where a fabric would have to be larger than three tiers can be.
    """

    counts: Numbers
    purchased: Numbers
    known: Flags


class Dependents(NamedTuple):
    """Counts that may differ from 0: quantities with their terms, rows of companions with the
    factors of the rows that they count, items of the bill."""

    quantities: list[tuple[Quantity, PlacedTerms]]
    companions: Places
    counted: Places
    factors: Numbers
    items: Places


class Layout:
    """The rows of a bill.

    Attributes:
        index: the row of each count: first the ``decided`` ones (offers, and the systems that each
            compute fabric joins), then all that follow.
        items: every item of the bill; ``places`` has the row of its units in place.
        spare_share, installed, pack, least_packs: of each item, a row each.
    """

    def __init__(self, case: Case) -> None:
        companions, self.case, self.items = case.companions, case, case.bill_items()
        self.offers = tuple(offer.id for offer in case.offers())
        names = [*self.offers, *(s.wired(f) for s in case.rewired for f in s.fabrics)]
        self.decided = len(names)
        for quantity in companions.quantities:
            names += quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        names += [item.id for item in companions.items]
        names += [way.standing for _, way in case.capped.values()]
        self.index = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.quantities = [(each, self.placed(each.terms)) for each in companions.quantities]
        self.companions = [(self.index[c.id], self.placed(c.terms)) for c in companions.items]
        self.places = np.array([self.index[item.id] for item in self.items], dtype=np.int64)
        least = [-(-item.min_order // item.pack) for item in self.items]
        self.spare_share, self.installed, self.pack, self.least_packs = (
            np.array(values, dtype=float).reshape(-1, 1)
            for values in (
                [item.spare_share for item in self.items],
                [item.installed for item in self.items],
                [item.pack for item in self.items],
                least,
            )
        )
        self.sizes = {q.name: _Sizes(q) for q, _ in self.quantities if isinstance(q, Steps)}
        self.prices: dict[str, list[tuple[float, ...]]] = {
            q.name: [] for q, _ in self.quantities if isinstance(q, Packed)
        }
        self._dependents: dict[tuple[int, ...], Dependents] = {}
        self._weights: dict[str, tuple[Numbers, Numbers]] = {}

    def placed(self, terms: Terms) -> PlacedTerms:
        """Terms with rows in place of names."""
        return tuple((factor, self.index[name]) for factor, name in terms)

    def dependents(self, bought: tuple[int, ...]) -> Dependents:
        """The counts that may differ from 0 where only some rows do."""
        if bought not in self._dependents:
            if len(self._dependents) == MOST_FOLLOWED:
                self._dependents.clear()
            self._dependents[bought] = self._followed(bought)
        return self._dependents[bought]

    def _followed(self, bought: tuple[int, ...]) -> Dependents:
        there, quantities = set(bought), list[tuple[Quantity, PlacedTerms]]()
        for quantity, terms in self.quantities:
            some = tuple(term for term in terms if term[1] in there)
            if some or not vanishes(quantity):
                names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
                there.update(self.index[name] for name in names)
                quantities.append((quantity, terms if isinstance(quantity, Packed) else some))
        companions = [
            (row, tuple(t for t in terms if t[1] in there)) for row, terms in self.companions
        ]
        companions = [(row, terms) for row, terms in companions if terms]
        rows = np.array([row for row, _ in companions], dtype=np.int64)
        counted = sorted({place for _, terms in companions for _, place in terms})
        factors = np.zeros((len(rows), len(counted)))
        for number, (_, terms) in enumerate(companions):
            for factor, place in terms:
                factors[number, counted.index(place)] += factor
        there.update(rows.tolist())
        items = [number for number, row in enumerate(self.places.tolist()) if row in there]
        places = (np.array(each, dtype=np.int64) for each in (counted, items))
        return Dependents(quantities, rows, next(places), factors, next(places))

    def weights(self, figure: str) -> tuple[Numbers, Numbers]:
        """Share of a figure of one unit of each count in place, and of each item bought."""
        if figure not in self._weights:
            standing, bought = np.zeros(len(self.index)), np.zeros(len(self.items))
            numbers = {item.id: number for number, item in enumerate(self.items)}
            for factor, (side, name) in weights(self.case, figure, _Side(0), _Side(1)):
                if side == 0:
                    standing[self.index[name]] += factor
                else:
                    bought[numbers[name]] += factor
            self._weights[figure] = standing, bought
        return self._weights[figure]


@dataclass(frozen=True)
class _Side:
    """A mapping that returns names: `money.weights` then yields factors by name."""

    number: int

    def __getitem__(self, name: str) -> tuple[int, str]:
        return self.number, name


class _Sizes:
    """The sizes of a fabric: capacities, outputs, and the least outputs of this size or larger."""

    def __init__(self, quantity: Steps) -> None:
        self.capacities = np.array([size.capacity for size in quantity.sizes], dtype=float)
        rows = np.array([size.outputs for size in quantity.sizes], dtype=float)
        self.outputs = rows.reshape(len(self.capacities), len(quantity.outputs)).T
        self.least = np.minimum.accumulate(self.outputs[:, ::-1], axis=1)[:, ::-1]


@lru_cache(maxsize=16)
def _layout(case: Case) -> Layout:
    return Layout(case)


class Kernel:
    """The bill of a case over arrays of purchases."""

    def __init__(self, case: Case) -> None:
        self.case, self.layout = case, _layout(case.billed)
        self.index, self.offers = self.layout.index, self.layout.offers
        self.items = self.layout.items
        self._capped = [
            (n, *case.capped[w.id]) for n, w in enumerate(case.ways) if w.id in case.capped
        ]

    def bills(
        self,
        units: Counts,
        ways: Places | None = None,
        *,
        least: bool = False,
    ) -> Bills:
        """The bills of purchases.

        Args:
            units: a row for each offer, a column for each purchase.
            ways: the place in `Case.ways` of the way that runs the job, or a row for each of
                several (-1 for none); without, at full power.
            least: lower bounds of the counts, monotone in the units: fabrics count as the least of
                any that is no smaller, shared racks by the prices of their contents.
        """
        layout, counts = self.layout, np.zeros((len(self.index), units.shape[1]))
        counts[: len(units)] = units
        self._join_fabrics(counts, ways)
        known = np.ones(units.shape[1], dtype=bool)
        rows = np.flatnonzero(counts[: layout.decided].any(axis=1)).tolist()
        dependents = layout.dependents(tuple(rows))
        for quantity, terms in dependents.quantities:
            if isinstance(quantity, Steps):
                known &= self._size(quantity, terms, counts, least=least)
            elif isinstance(quantity, Packed):
                kinds = np.rint(counts[[place for _, place in terms]])
                packed = self._least_racks if least else self._racks
                counts[self.index[quantity.name]] = packed(quantity, kinds)
            else:
                counts[self.index[quantity.name]] = _count_of_amount(
                    quantity, summed(terms, counts)
                )
        counted = counts[dependents.counted]
        counts[dependents.companions] = np.rint(dependents.factors @ counted)
        if ways is not None:
            for number, system, way in self._capped:
                here = (ways == number).any(axis=0) if ways.ndim > 1 else ways == number
                standing = np.where(here, counts[self.index[system.place]], 0.0)
                counts[self.index[way.standing]] = standing
        return Bills(counts, self._purchased(counts, dependents.items), known)

    def _join_fabrics(self, counts: Numbers, ways: Places | None) -> None:
        """Fill in the systems that each compute fabric joins."""
        row = len(self.offers)
        if ways is not None and ways.ndim > 1 and self.case.rewired:
            ways = self._deciding(ways)
        for system, joined in zip(self.case.rewired, self._joined, strict=True):
            here = system.fabrics[0] if ways is None else joined[ways]
            for fabric in system.fabrics:
                counts[row] = np.where(here == fabric, counts[self.index[system.id]], 0.0)
                row += 1

    def _deciding(self, ways: Places) -> Places:
        """The way of each set that names its compute fabric, else the first."""
        wired = np.array([way.fabric is not None for way in self.case.ways], dtype=bool)
        chosen = ways[0]
        for row in ways[1:]:
            chosen = np.where(wired[chosen] | (row < 0), chosen, row)
        return np.asarray(chosen)

    @cached_property
    def _joined(self) -> list[Places]:
        """Compute fabric of each type that may join several, by way: as in `Case.companions_in`."""
        case = self.case
        design = {
            f: name for s in case.systems for f, name in zip(s.fabrics, s.designs, strict=True)
        }
        names = [*dict.fromkeys(design.values()), ""]
        own = np.array([-1 if way.fabric is None else way.fabric for way in case.ways])
        of_way = np.array([names.index(design.get(fabric, "")) for fabric in own.tolist()])
        owner = np.repeat(np.arange(len(case.systems)), [len(s.ways) for s in case.systems])
        found = []
        for row, system in enumerate(case.systems):
            if len(system.fabrics) > 1:
                joins = dict(zip(system.designs, system.fabrics, strict=True))
                joined = np.array([joins.get(name, system.fabrics[0]) for name in names])[of_way]
                found.append(np.where((owner == row) & (own >= 0), own, joined))
        return found

    def _size(self, quantity: Steps, terms: PlacedTerms, counts: Numbers, *, least: bool) -> Flags:
        """Fill in the outputs of a fabric; return where one of its sizes is large enough."""
        sizes, amount = self.layout.sizes[quantity.name], summed(terms, counts)
        outputs, whole = sizes.least if least else sizes.outputs, np.rint(amount)
        size = np.searchsorted(sizes.capacities, whole, side="left")
        inside = np.minimum(size, max(0, len(sizes.capacities) - 1))
        for row, name in zip(outputs, quantity.outputs, strict=True):
            some = row[inside] if len(sizes.capacities) else 0.0
            counts[self.index[name]] = np.where(whole > 0, some, 0.0)
        return np.asarray((size < len(sizes.capacities)) | (amount <= 0))

    def _racks(self, quantity: Packed, kinds: Numbers) -> Numbers:
        """The least racks of each column of devices; equal columns are packed once."""
        if not kinds.shape[1]:
            return np.zeros(0)
        each, places = np.unique(kinds, axis=1, return_inverse=True)
        packing, prices = quantity.packing, self.layout.prices[quantity.name]
        racks = np.array([packing.least(tuple(map(round, column))) for column in each.T.tolist()])
        short = np.flatnonzero(racks > self._least_racks(quantity, each))
        for column in short[: MOST_PRICES - len(prices)].tolist():
            contents = tuple(map(round, each[:, column].tolist()))
            prices.append(packing.prices_of(contents).each)
        return racks.astype(float)[np.ravel(places)]

    def _least_racks(self, quantity: Packed, kinds: Numbers) -> Numbers:
        """Racks that no packing needs fewer of: the value of the contents by the sides of a
        rack and by prices of other packings."""
        prices = self.layout.prices[quantity.name]
        sides = np.array([*zip(*quantity.shares, strict=True), *prices])
        racks: Numbers = np.ceil((sides @ kinds).max(axis=0) - VOLUME_NOISE)
        return np.maximum(racks, 0.0)

    def _purchased(self, counts: Numbers, rows: Places) -> Numbers:
        """Units bought: spares, packs, minimum order; see `BillItem.purchased`."""
        layout, bought = self.layout, np.zeros((len(self.items), counts.shape[1]))
        standing = np.rint(counts[layout.places[rows]])
        spares = np.ceil(layout.spare_share[rows] * standing - ROUNDING)
        need = np.maximum(standing + spares - layout.installed[rows], 0.0)
        packs = np.ceil(need / layout.pack[rows])
        packs = np.where(packs > 0, np.maximum(packs, layout.least_packs[rows]), 0.0)
        bought[rows] = packs * layout.pack[rows]
        return bought

    def sums(self, bills: Bills, figures: Sequence[str]) -> Numbers:
        """Sums over bills: a row for each figure (or racks), a column for each purchase."""
        found = np.empty((len(figures), bills.counts.shape[1]))
        for row, figure in enumerate(figures):
            if figure == "racks":
                found[row] = np.rint(self.total(self.case.companions.racks, bills.counts))
                continue
            standing, bought = self.layout.weights(figure)
            found[row] = standing @ bills.counts + bought @ bills.purchased
        return found

    def total(self, terms: Terms, counts: Numbers) -> Numbers:
        """A sum of terms, added in their order."""
        return summed(self.layout.placed(terms), counts)

    def available(self, bills: Bills) -> Flags:
        """Mask of bills within stock and sizes of fabrics."""
        fine = bills.known.copy()
        for row, item in enumerate(self.items):
            if item.stock is not None:
                fine &= bills.purchased[row] <= item.stock
        return fine


def _count_of_amount(quantity: AtLeast | Ceil | Sum, amount: Numbers) -> Numbers:
    if isinstance(quantity, Sum):
        return amount + quantity.constant
    if isinstance(quantity, AtLeast):
        return np.maximum(amount, quantity.least)
    count = np.ceil(amount + quantity.constant - ROUNDING)
    return np.asarray(count + np.where(count != 0, quantity.if_any, 0))


def summed(terms: PlacedTerms, counts: Numbers) -> Numbers:
    """A sum of rows, added in their order."""
    if not terms:
        return np.zeros(counts.shape[1])
    (factor, place), *rest = terms
    found: Numbers = factor * counts[place]
    for factor, place in rest:
        found += counts[place] if factor == 1.0 else factor * counts[place]
    return found


# The bill of one purchase.


@dataclass(frozen=True)
class Bill:
    """Units in place and bought by name, and their sums by figure."""

    case: Case
    counts: Mapping[str, float]
    purchased: Mapping[str, int]
    _sums: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, figure: str) -> float:
        """A sum over the bill; terms are added in the order of the items."""
        if figure not in self._sums:
            self._sums[figure] = self._sum(figure)
        return self._sums[figure]

    def _sum(self, figure: str) -> float:
        if figure == "racks":
            return round(total(self.case.companions.racks, self.counts))
        there = [i for i in self.case.bill_items() if self.counts[i.place] or self.purchased[i.id]]
        terms = weights(self.case, figure, self.counts, self.purchased, there)
        return sum((factor * count for factor, count in terms), 0.0)


def bill(case: Case, units: Mapping[str, int], ways: Collection[str]) -> Bill:
    """The bill of one purchase.

    Args:
        units: units in the cluster by item.
        ways: ids of the ways that run the job: they decide set points and the compute fabric.

    Raises:
        ValueError: a fabric would have to be larger than three tiers can be.
    """
    chosen = tuple(units.get(offer.id, 0) for offer in case.offers())
    places = tuple(n for n, way in enumerate(case.ways) if way.id in ways)
    return _bill(case, chosen, places)


@lru_cache(maxsize=1024)
def _bill(case: Case, chosen: tuple[int, ...], places: tuple[int, ...]) -> Bill:
    kernel, column = Kernel(case), np.array(chosen, dtype=np.int64)[:, None]
    bills = kernel.bills(column, np.array(places)[:, None] if places else None)
    if not bills.known[0]:
        raise ValueError("a fabric would have to be larger than three tiers can be")
    counts = dict(zip(kernel.index, bills.counts[:, 0].tolist(), strict=True))
    purchased = (round(count) for count in bills.purchased[:, 0].tolist())
    names = (item.id for item in kernel.items)
    return Bill(case.billed, counts, dict(zip(names, purchased, strict=True)))


# Limits on sums over the bill, as vectors.


def limited(limits: Limits) -> tuple[Limit, ...]:
    """The limits on sums over the bill that are given."""
    return tuple(limit for limit in SUPPLIES if limits[limit.field] is not None)


def allowed(supplies: Sequence[Limit], limits: Limits) -> Numbers:
    """The amounts that limits allow, each in the unit of its row."""
    return np.array([limits.given(each.field) / each.scale for each in supplies], dtype=float)
