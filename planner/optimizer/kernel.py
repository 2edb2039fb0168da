"""Bills of many purchases at once, as arrays: what `purchase.bill` gives for one.

A column is a purchase. Counts are exactly those of `planner/case/quantities.py`, since whole
numbers are added in the same order; the tests hold them against the code for one purchase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.model import BillItem
from planner.case.quantities import (
    ROUNDING,
    AtLeast,
    Ceil,
    Packed,
    Quantity,
    Steps,
    Sum,
    Terms,
)
from planner.optimizer import purchase

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

PlacedTerms = tuple[tuple[float, int], ...]
"""Terms of a sum: a factor, and the row of what it is of."""


class Followed(NamedTuple):
    """What may be more than 0: quantities and companions with the terms that may be, and the rows
    of items of the bill.

    ``whole`` are companions that are whole numbers of whole numbers, which come to the same in any
    order: their rows, the rows that they are of, and how many of each.
    """

    steps: list[tuple[Quantity, PlacedTerms]]
    needed: list[tuple[int, PlacedTerms]]
    whole: tuple[Places, Places, Numbers]
    items: Places


MOST_WORTHS = 8
"""So many sets of what devices are worth in racks are kept to bound other racks with."""
MOST_FOLLOWED = 1_000
"""For so many sets of what is bought it is kept what follows."""
VOLUME_NOISE = 1e-6
"""A rack's shares add up to no more than this above a whole number by rounding."""


# The bill: every count that follows from what is bought, and the sums over it.


class Bills(NamedTuple):
    """The bills of many purchases.

    Attributes:
        counts: a row for each count by `Kernel.index`, a column for each purchase.
        purchased: a row for each item of the bill in its order, a column for each purchase.
        known: False where a fabric would have to be larger than it can be.
    """

    counts: Numbers
    purchased: Numbers
    known: Flags


@dataclass(frozen=True)
class Layout:
    """Where everything of a bill stands in the arrays.

    Attributes:
        index: the row of each count.
        offers, items: what is on offer, and every item of the bill, in the order of rows.
        decided: so many rows come first of which the others follow: units of what is on offer, and
            the systems that each compute fabric joins.
        places: the row of what stands of each item.
        spare_share, installed, pack, least_packs: of each item, a row each.
        steps, needed: quantities and companions with the rows that their terms are of.
        found: what `of` has been asked for.
        weights: what `Kernel.weights` has been asked for, of the case itself.
        tables: sizes of fabrics as arrays, as they are or in their least form.
        runs: the least of neighbouring sizes.
    """

    index: dict[str, int]
    offers: tuple[str, ...]
    decided: int
    items: tuple[BillItem, ...]
    places: Places
    spare_share: Numbers
    installed: Numbers
    pack: Numbers
    least_packs: Numbers
    steps: list[tuple[Quantity, PlacedTerms]]
    needed: list[tuple[int, PlacedTerms]]
    found: dict[tuple[int, ...], Followed] = field(default_factory=dict)
    weights: dict[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    tables: dict[tuple[str, bool], tuple[Numbers, Numbers]] = field(default_factory=dict)
    runs: dict[str, Numbers] = field(default_factory=dict)

    def of(self, bought: tuple[int, ...]) -> Followed:
        """Return what follows where nothing is bought but in some rows: all else stays 0."""
        if bought not in self.found:
            if len(self.found) == MOST_FOLLOWED:
                self.found.clear()
            self.found[bought] = self._followed(bought)
        return self.found[bought]

    def _followed(self, bought: tuple[int, ...]) -> Followed:
        there, steps = set(bought), list[tuple[Quantity, PlacedTerms]]()
        whole = set(range(self.decided))
        for quantity, terms in self.steps:
            some = tuple(term for term in terms if term[1] in there)
            if not some and _is_nothing(quantity):
                continue
            names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
            there.update(self.index[name] for name in names)
            if isinstance(quantity, (Ceil, Packed, Steps)) or _adds_whole(quantity, some, whole):
                whole.update(self.index[name] for name in names)
            steps.append((quantity, terms if isinstance(quantity, Packed) else some))
        needed = [(row, tuple(t for t in terms if t[1] in there)) for row, terms in self.needed]
        needed = [(row, terms) for row, terms in needed if terms]
        there.update(row for row, _ in needed)
        exact = [(row, terms) for row, terms in needed if _of_whole(terms, whole)]
        rest = [(row, terms) for row, terms in needed if not _of_whole(terms, whole)]
        matrix = np.zeros((len(exact), len(self.index)))
        for number, (_, terms) in enumerate(exact):
            for factor, place in terms:
                matrix[number, place] += factor
        of = np.flatnonzero(matrix.any(axis=0))
        items = [number for number, row in enumerate(self.places.tolist()) if row in there]
        rows = np.array([row for row, _ in exact], dtype=np.int64)
        return Followed(steps, rest, (rows, of, matrix[:, of]), np.array(items, dtype=np.int64))


_LAID: WeakKeyDictionary[Case, Layout] = WeakKeyDictionary()


def _layout(case: Case) -> Layout:
    """Return the layout of a case, kept as long as the case: studies come back to their draws."""
    found = _LAID.get(case)
    if found is None:
        found = _LAID[case] = _laid_out(case)
    return found


def _laid_out(case: Case) -> Layout:
    companions, items = case.companions, case.bill_items()
    names = [offer.id for offer in case.offers()]
    names += [each.wired(fabric) for each in case.rewired for fabric in each.fabrics]
    decided = len(names)
    for quantity in companions.quantities:
        names += quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
    names += [item.id for item in companions.items]
    names += [way.standing for _, way in case.capped.values()]
    index = {name: place for place, name in enumerate(dict.fromkeys(names))}

    def each(values: Sequence[float]) -> Numbers:
        return np.array(values, dtype=float).reshape((len(items), 1))

    return Layout(
        index=index,
        offers=tuple(offer.id for offer in case.offers()),
        decided=decided,
        items=items,
        places=np.array([index[item.id] for item in items], dtype=np.int64),
        spare_share=each([item.spare_share for item in items]),
        installed=each([item.installed for item in items]),
        pack=each([item.pack for item in items]),
        least_packs=each([-(-item.min_order // item.pack) for item in items]),
        steps=[(each, _placed(index, each.terms)) for each in companions.quantities],
        needed=[(index[item.id], _placed(index, item.terms)) for item in companions.items],
    )


@lru_cache(maxsize=64)
def _weights(laid: Case, case: Case, figure: str) -> tuple[Numbers, Numbers]:
    """Return what one of each count, and one of each item that is bought, adds to a figure."""
    layout = _layout(laid)
    standing, bought = np.zeros(len(layout.index)), np.zeros(len(layout.items))
    numbers = {item.id: number for number, item in enumerate(layout.items)}
    for factor, (side, name) in purchase.terms(case, figure):
        if side == 0:
            standing[layout.index[name]] += factor
        else:
            bought[numbers[name]] += factor
    return standing, bought


def _placed(index: Mapping[str, int], terms: Terms) -> PlacedTerms:
    return tuple((factor, index[name]) for factor, name in terms)


class Kernel:
    """The bill of a case over arrays of purchases.

    Nothing in it depends on prices, limits or on how the job runs, but for `sums`, which takes
    those of the case that is given: one kernel serves every case with the same companions.
    """

    def __init__(self, case: Case) -> None:
        self.case, self.laid = case, _layout(case.billed)
        self.index, self.offers, self.items = self.laid.index, self.laid.offers, self.laid.items

    def bills(self, units: NDArray[np.int64], ways: Places | None = None, *, least: bool = False,
              most: NDArray[np.int64] | None = None, apart: bool = False) -> Bills:  # fmt: skip
        """Return the bills of purchases.

        Args:
            units: a row for each offer of the case in their order, a column for each purchase.
            ways: the place in `Case.ways` of the way in which each runs, or a row for each of
                several; without, at full power.
            least: return counts that are never more than the bill's and never fall where more is
                bought: fabrics count as the least of any that is no smaller, shared racks as their
                shares added up.
            most: with ``least``, no more than the bills of purchases of up to so many units: a
                compute fabric counts as the least that any of them has.
        """
        counts = np.zeros((len(self.index), units.shape[1]))
        counts[: len(self.offers)] = units
        first = self._wire(counts, ways)
        known = np.ones(units.shape[1], dtype=bool)
        followed = self.laid.of(tuple(np.flatnonzero(counts[:first].any(axis=1)).tolist()))
        for quantity, terms in followed.steps:
            if isinstance(quantity, Packed):
                kinds = np.rint(counts[[place for _, place in terms]])
                packed = self._least_shares if least else _apart if apart else self._packed
                counts[self.index[quantity.name]] = packed(quantity, kinds)
            else:
                self._add(quantity, terms, counts, known, least=least)
                if most is not None and quantity.name in self._falling:
                    self._add_within(self._falling[quantity.name], most, ways, counts)
        rows, of, factors = followed.whole
        counts[rows] = factors @ counts[of]
        for place, terms in followed.needed:
            np.rint(_summed(terms, counts), out=counts[place])
        if ways is not None:
            for name, (system, way) in self.case.capped.items():
                number = next(n for n, one in enumerate(self.case.ways) if one.id == name)
                here = (ways == number).any(axis=0) if ways.ndim > 1 else ways == number
                standing = np.where(here, counts[self.index[system.place]], 0.0)
                counts[self.index[way.standing]] = standing
        return Bills(counts, self._purchased(counts, followed.items), known)

    def _wire(self, counts: Numbers, ways: Places | None) -> int:
        """Fill in the systems that each compute fabric joins; return how many rows are known."""
        row = len(self.offers)
        if ways is not None and ways.ndim > 1 and self._rewired:
            ways = self._deciding(ways)
        for (system, fabrics), joined in zip(self._rewired, self._wiring, strict=True):
            here = fabrics[0] if ways is None else joined[ways]
            for fabric in fabrics:
                counts[row] = np.where(here == fabric, counts[system], 0.0)
                row += 1
        return row

    def _deciding(self, ways: Places) -> Places:
        """Return the way of each team that names its compute fabric, else its first.

        Args:
            ways: a row for each member of the team, -1 where there is none.
        """
        wired = np.array([way.fabric is not None for way in self.case.ways], dtype=bool)
        chosen = ways[0]
        for row in ways[1:]:
            chosen = np.where(wired[chosen] | (row < 0), chosen, row)
        return np.asarray(chosen)

    @cached_property
    def _rewired(self) -> list[tuple[int, tuple[int, ...]]]:
        """The row of each type that may join several compute fabrics, and these."""
        return [(self.index[each.id], each.fabrics) for each in self.case.rewired]

    @cached_property
    def _wiring(self) -> list[Places]:
        """The compute fabric of each of them by the place of the way in which the job runs."""
        case = self.case
        return [
            np.array([case.fabric_of(each, (way.id,)) for way in case.ways], dtype=np.int64)
            for each in case.rewired
        ]

    def total(self, terms: Terms, counts: Numbers) -> Numbers:
        """Return a sum of terms, added in their order."""
        return _summed(self._placed(terms), counts)

    def _placed(self, terms: Terms) -> PlacedTerms:
        return _placed(self.index, terms)

    def _add(self, quantity: AtLeast | Ceil | Sum | Steps, terms: PlacedTerms, counts: Numbers,
             known: Flags, *, least: bool) -> None:  # fmt: skip
        amount = _summed(terms, counts)
        if isinstance(quantity, Sum):
            counts[self.index[quantity.name]] = amount + quantity.constant
        elif isinstance(quantity, AtLeast):
            counts[self.index[quantity.name]] = np.maximum(amount, quantity.least)
        elif isinstance(quantity, Ceil):
            count = np.ceil(amount + quantity.constant - ROUNDING)
            if quantity.if_any:
                count += np.where(count != 0, quantity.if_any, 0)
            counts[self.index[quantity.name]] = count
        else:
            capacities, outputs = self._sizes(quantity, least)
            whole = np.rint(amount)
            size = np.searchsorted(capacities, whole, side="left")
            known &= (size < len(capacities)) | (amount <= 0)
            inside = np.minimum(size, max(0, len(capacities) - 1))
            for place, name in enumerate(quantity.outputs):
                some = outputs[place][inside] if len(capacities) else 0.0
                counts[self.index[name]] = np.where(whole > 0, some, 0.0)

    @cached_property
    def _falling(self) -> dict[str, Steps]:
        """Fabrics of decided counts alone of which a larger one has less of something."""
        return {
            quantity.name: quantity
            for quantity, terms in self.laid.steps
            if isinstance(quantity, Steps)
            and quantity.falls
            and all(place < self.laid.decided for _, place in terms)
        }

    def _add_within(
        self, quantity: Steps, most: NDArray[np.int64], ways: Places | None, counts: Numbers
    ) -> None:
        """Raise the least outputs of a fabric to those of sizes up to what ``most`` needs."""
        terms = self._placed(quantity.terms)
        tops = np.zeros((self.laid.decided, most.shape[1]))
        tops[: len(self.offers)] = most
        self._wire(tops, ways)
        capacities, _ = self._sizes(quantity, least=False)
        first, last = (
            np.minimum(
                np.searchsorted(capacities, np.rint(_summed(terms, of))), len(capacities) - 1
            )
            for of in (counts, tops)
        )
        level = np.log2(last - first + 1).astype(np.int64)
        end = last - (1 << level) + 1
        there = np.rint(_summed(terms, counts)) > 0
        for name, table in zip(quantity.outputs, self._least_of_runs(quantity), strict=True):
            some = np.minimum(table[level, first], table[level, end])
            counts[self.index[name]] = np.where(there, some, 0.0)

    def _least_of_runs(self, quantity: Steps) -> Numbers:
        """Return for each output the least of runs of 1, 2, 4, ... sizes, a row each, from each."""
        if quantity.name not in self.laid.runs:
            rows = [self._sizes(quantity, least=False)[1]]
            length = 1
            while 2 * length <= rows[0].shape[1]:
                half = rows[-1]
                after = np.concatenate((half[:, length:], half[:, -1:].repeat(length, 1)), axis=1)
                rows.append(np.minimum(half, after))
                length *= 2
            self.laid.runs[quantity.name] = np.stack(rows, axis=1)
        return self.laid.runs[quantity.name]

    def _packed(self, quantity: Packed, kinds: Numbers) -> Numbers:
        """Return the least racks of each column of counts; alike ones are packed once."""
        if not kinds.shape[1]:
            return np.zeros(0)
        each, places = np.unique(kinds, axis=1, return_inverse=True)
        known, worths = quantity.packing, self._worths[quantity.name]
        racks = np.array([known.least(tuple(map(round, column))) for column in each.T.tolist()])
        short = np.flatnonzero(racks > self._least_shares(quantity, each))
        for column in short[: MOST_WORTHS - len(worths)].tolist():
            worths.append(known.prices_of(tuple(map(round, each[:, column].tolist()))).each)
        return racks.astype(float)[np.ravel(places)]

    def _least_shares(self, quantity: Packed, kinds: Numbers) -> Numbers:
        """Return racks that no packing needs fewer of: what devices are worth, by their sides and
        by the prices at which others were packed."""
        sides = np.array([*zip(*quantity.shares, strict=True), *self._worths[quantity.name]])
        racks: Numbers = np.ceil((sides @ kinds).max(axis=0) - VOLUME_NOISE)
        return np.maximum(racks, 0.0)

    @cached_property
    def _worths(self) -> dict[str, list[tuple[float, ...]]]:
        packed = (q for q in self.case.companions.quantities if isinstance(q, Packed))
        return {quantity.name: [] for quantity in packed}

    def _sizes(self, quantity: Steps, least: bool) -> tuple[Numbers, Numbers]:
        key = (quantity.name, least)
        known = self.laid.tables
        if key not in known:
            capacities = np.array([size.capacity for size in quantity.sizes], dtype=float)
            rows = np.array([size.outputs for size in quantity.sizes], dtype=float)
            outputs = rows.reshape(len(capacities), len(quantity.outputs)).T
            if least:
                outputs = np.minimum.accumulate(outputs[:, ::-1], axis=1)[:, ::-1]
            known[key] = capacities, outputs
        return known[key]

    def _purchased(self, counts: Numbers, rows: Places) -> Numbers:
        """Return the units bought: spares, packs, least order; see `BillItem.purchased`.

        Args:
            counts: of everything.
            rows: the items of which there may be any.
        """
        laid, bought = self.laid, np.zeros((len(self.items), counts.shape[1]))
        standing = np.rint(counts[laid.places[rows]])
        spares = np.ceil(laid.spare_share[rows] * standing - ROUNDING)
        need = np.maximum(standing + spares - laid.installed[rows], 0.0)
        packs = np.ceil(need / laid.pack[rows])
        packs = np.where(packs > 0, np.maximum(packs, laid.least_packs[rows]), 0.0)
        bought[rows] = packs * laid.pack[rows]
        return bought

    def sums(self, case: Case, bills: Bills, figures: Sequence[str]) -> Numbers:
        """Return sums over bills: a row for each figure, a column for each purchase.

        Args:
            case: the prices and draws that count, of a case with the same companions.
            bills: bills of this kernel.
            figures: names of figures that are sums over the bill, or racks.
        """
        found = np.empty((len(figures), bills.counts.shape[1]))
        for row, figure in enumerate(figures):
            if figure == "racks":
                found[row] = np.rint(self.total(case.companions.racks, bills.counts))
                continue
            standing, bought = self.weights(case, figure)
            found[row] = standing @ bills.counts + bought @ bills.purchased
        return found

    def can_be_had(self, bills: Bills) -> Flags:
        """Say which purchases no stock, no position in the hall and no fabric refuses."""
        fine = bills.known.copy()
        for row, item in enumerate(self.items):
            if item.stock is not None:
                fine &= bills.purchased[row] <= item.stock
        for some in self.case.companions.positions:
            fine &= np.rint(self.total(some.racks, bills.counts)) <= some.count
        return fine

    def within_limits(self, units: NDArray[np.int64], ways: Places) -> Flags:
        """Say which purchases take no more than the limits of the case; arguments as of `bills`.

        Shared racks are packed only where that decides.
        """
        fits = self.fit(self.bills(units, ways, apart=True))
        open_ = np.flatnonzero(~fits)
        for least in (True, False):
            if len(open_):
                open_ = open_[self.fit(self.bills(units[:, open_], ways[open_], least=least))]
        fits[open_] = True
        return fits

    def fit(self, bills: Bills) -> Flags:
        """Say which bills take no more than the limits of the case, and can be had."""
        supplies = purchase.given(self.case.limits)
        most = purchase.amounts(supplies, self.case.limits) * [each.scale for each in supplies]
        taken = self.sums(self.case, bills, [each.figure for each in supplies])
        within = (taken <= most[:, None] * (1 + purchase.TOLERANCE)).all(axis=0)
        return within & self.can_be_had(bills)

    def weights(self, case: Case, figure: str) -> tuple[Numbers, Numbers]:
        """Return what one of each count, and one of each item that is bought, adds to a figure."""
        laid, billed = self.case.billed, case.billed
        if laid is not billed:
            return _weights(laid, billed, figure)
        if figure not in self.laid.weights:
            self.laid.weights[figure] = _weights(laid, billed, figure)
        return self.laid.weights[figure]


def _of_whole(terms: PlacedTerms, whole: set[int]) -> bool:
    """Say whether a sum is whole because all of it is."""
    return all(factor == int(factor) and place in whole for factor, place in terms)


def _adds_whole(quantity: AtLeast | Sum, terms: PlacedTerms, whole: set[int]) -> bool:
    more = quantity.constant if isinstance(quantity, Sum) else quantity.least
    return more == int(more) and _of_whole(terms, whole)


def _is_nothing(quantity: Packed | AtLeast | Ceil | Sum | Steps) -> bool:
    """Return whether a quantity is 0 wherever all of its terms are."""
    if isinstance(quantity, (Ceil, Sum)):
        return quantity.constant == 0
    return not isinstance(quantity, AtLeast) or quantity.least <= 0


def _summed(terms: PlacedTerms, counts: Numbers) -> Numbers:
    """Return a sum of rows, added in their order."""
    if not terms:
        return np.zeros(counts.shape[1])
    (factor, place), *rest = terms
    summed: Numbers = factor * counts[place]
    for factor, place in rest:
        summed += counts[place] if factor == 1.0 else factor * counts[place]
    return summed


def _apart(quantity: Packed, kinds: Numbers) -> Numbers:
    """Return the racks that hold each kind by itself."""
    alone = np.array(quantity.packing.alone, dtype=float)[:, None]
    racks: Numbers = np.ceil(kinds / alone).sum(axis=0)
    return racks
