"""Purchases as arrays: the bill, and bandwidth and capacity of their storage.

A column is a purchase; the bill of one plan is an array of one. Whole numbers are added in the
order of their terms, so counts are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.figures import weights
from planner.case.items import Offer, Storage, Terms, sum_terms
from planner.case.job import ROUNDING
from planner.case.model import (
    AtLeast,
    Ceil,
    Limits,
    Packed,
    Quantity,
    Steps,
    Sum,
    follows_from_terms,
)
from planner.limits import SUPPLIES, Limit
from planner.units import DAY_S

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


class _Sizes:
    """The sizes of a fabric: capacities, outputs, and the least outputs of this size or larger."""

    def __init__(self, quantity: Steps) -> None:
        self.capacities = np.array([size.capacity for size in quantity.sizes], dtype=float)
        rows = np.array([size.outputs for size in quantity.sizes], dtype=float)
        self.outputs = rows.reshape(len(self.capacities), len(quantity.outputs)).T
        self.least = np.minimum.accumulate(self.outputs[:, ::-1], axis=1)[:, ::-1]


class Kernel:
    """The bill of a case over arrays of purchases.

    Attributes:
        index: the row of each count: first the ``decided`` ones (offers, and the systems that each
            compute fabric joins), then all that follow.
        items: every item of the bill; ``places`` has the row of its units in place.
        companions: row, row that it counts, and factor of each term of a companion.
    """

    def __init__(self, case: Case) -> None:
        companions, self.case, self.items = case.companions, case, case.bill_items()
        self.offers = tuple(offer.id for offer in case.offers())
        names = [
            *self.offers,
            *(s.fabric_count(f) for s in case.multi_fabric_systems for f in s.fabrics),
        ]
        self.decided = len(names)
        names += [name for each in companions.quantities for name in _outputs(each)]
        names += [item.id for item in companions.items]
        names += [way.count_name for _, way in case.capped.values()]
        self.index = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.number = {item.id: number for number, item in enumerate(self.items)}
        self.quantities = [(each, self._placed(each.terms)) for each in companions.quantities]
        each = [
            (self.index[c.id], term) for c in companions.items for term in self._placed(c.terms)
        ]
        self.companions = (
            np.array([row for row, _ in each], dtype=np.int64),
            np.array([place for _, (_, place) in each], dtype=np.int64),
            np.array([factor for _, (factor, _) in each], dtype=float),
        )
        self.places = np.array([self.index[item.id] for item in self.items], dtype=np.int64)
        orders = [
            (item.spare_share, item.installed, item.pack, -(-item.min_order // item.pack))
            for item in self.items
        ]
        self.orders = np.array(orders, dtype=float).reshape(-1, 4).T[:, :, None]
        self.sizes = {q.name: _Sizes(q) for q, _ in self.quantities if isinstance(q, Steps)}
        self.prices: dict[str, list[tuple[float, ...]]] = {
            q.name: [] for q, _ in self.quantities if isinstance(q, Packed)
        }
        self._capped = [
            (n, *case.capped[w.id]) for n, w in enumerate(case.ways) if w.id in case.capped
        ]
        self._dependents: dict[tuple[int, ...], Dependents] = {}
        self._weights: dict[str, tuple[Numbers, Numbers]] = {}

    def _placed(self, terms: Terms) -> PlacedTerms:
        return tuple((factor, self.index[name]) for factor, name in terms)

    def dependents(self, bought: tuple[int, ...]) -> Dependents:
        """The counts that may differ from 0 where only some rows do."""
        if bought in self._dependents:
            return self._dependents[bought]
        there, quantities = set(bought), list[tuple[Quantity, PlacedTerms]]()
        for quantity, terms in self.quantities:
            some = tuple(term for term in terms if term[1] in there)
            if some or not follows_from_terms(quantity):
                there.update(self.index[name] for name in _outputs(quantity))
                quantities.append((quantity, terms if isinstance(quantity, Packed) else some))
        rows, counted, factors = self.companions
        here = np.isin(counted, np.array(sorted(there), dtype=np.int64))
        rows, row = np.unique(rows[here], return_inverse=True)
        counted, place = np.unique(counted[here], return_inverse=True)
        matrix = np.zeros((len(rows), len(counted)))
        np.add.at(matrix, (row, place), factors[here])
        there.update(rows.tolist())
        items = [number for number, row in enumerate(self.places.tolist()) if row in there]
        found = Dependents(quantities, rows, counted, matrix, np.array(items, dtype=np.int64))
        if len(self._dependents) == MOST_FOLLOWED:
            self._dependents.clear()
        self._dependents[bought] = found
        return found

    def weights(self, figure: str) -> tuple[Numbers, Numbers]:
        """Share of a figure of one unit of each count in place, and of each item bought."""
        if figure not in self._weights:
            standing, bought = np.zeros(len(self.index)), np.zeros(len(self.items))
            names = {name: (standing, row) for name, row in self.index.items()}
            buys = {name: (bought, row) for name, row in self.number.items()}
            for factor, (side, row) in weights(self.case, figure, names, buys):
                side[row] += factor
            self._weights[figure] = standing, bought
        return self._weights[figure]

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
        counts = np.zeros((len(self.index), units.shape[1]))
        counts[: len(units)] = units
        self._join_fabrics(counts, ways)
        known = np.ones(units.shape[1], dtype=bool)
        rows = np.flatnonzero(counts[: self.decided].any(axis=1)).tolist()
        dependents = self.dependents(tuple(rows))
        for quantity, terms in dependents.quantities:
            if isinstance(quantity, Steps):
                known &= self._size(quantity, terms, counts, least=least)
            elif isinstance(quantity, Packed):
                kinds = np.rint(counts[[place for _, place in terms]])
                packed = self._least_racks if least else self._racks
                counts[self.index[quantity.name]] = packed(quantity, kinds)
            else:
                counts[self.index[quantity.name]] = _count_of_amount(
                    quantity, sum_rows(terms, counts)
                )
        counted = counts[dependents.counted]
        counts[dependents.companions] = np.rint(dependents.factors @ counted)
        if ways is not None:
            for number, system, way in self._capped:
                here = (ways == number).any(axis=0) if ways.ndim > 1 else ways == number
                standing = np.where(here, counts[self.index[system.place]], 0.0)
                counts[self.index[way.count_name]] = standing
        return Bills(counts, self._purchased(counts, dependents.items), known)

    def _join_fabrics(self, counts: Numbers, ways: Places | None) -> None:
        """Fill in the systems that each compute fabric joins."""
        row = len(self.offers)
        if ways is not None and ways.ndim > 1:  # types in use share one fabric
            ways = ways[0]
        for system, joined in zip(self.case.multi_fabric_systems, self._joined, strict=True):
            units = counts[self.index[system.id]]
            if units.any():
                here = system.fabrics[0] if ways is None else joined[ways]
                for number, fabric in enumerate(system.fabrics):
                    counts[row + number] = np.where(here == fabric, units, 0.0)
            row += len(system.fabrics)

    @cached_property
    def _joined(self) -> list[Places]:
        """Compute fabric of each type that may join several, by way; see `Case.companions_for`."""
        case = self.case
        if not case.multi_fabric_systems:
            return []
        design = {
            f: name for s in case.systems for f, name in zip(s.fabrics, s.designs, strict=True)
        }
        names = [*dict.fromkeys(design.values())]
        own = np.array([way.fabric for way in case.ways])  # each has one where any type may choose
        of_way = np.array([names.index(design[fabric]) for fabric in own.tolist()])
        owner = np.repeat(np.arange(len(case.systems)), [len(s.ways) for s in case.systems])
        found = []
        for row, system in enumerate(case.systems):
            if len(system.fabrics) > 1:
                joins = dict(zip(system.designs, system.fabrics, strict=True))
                joined = np.array([joins.get(name, system.fabrics[0]) for name in names])[of_way]
                found.append(np.where(owner == row, own, joined))
        return found

    def _size(self, quantity: Steps, terms: PlacedTerms, counts: Numbers, *, least: bool) -> Flags:
        """Fill in the outputs of a fabric; return where one of its sizes is large enough."""
        sizes, amount = self.sizes[quantity.name], sum_rows(terms, counts)
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
        packing, prices = quantity.packing, self.prices[quantity.name]
        racks = np.array([packing.least(tuple(map(round, column))) for column in each.T.tolist()])
        short = np.flatnonzero(racks > self._least_racks(quantity, each))
        for column in short[: MOST_PRICES - len(prices)].tolist():
            contents = tuple(map(round, each[:, column].tolist()))
            prices.append(packing.price_counts(contents).each)
        return racks.astype(float)[np.ravel(places)]

    def _least_racks(self, quantity: Packed, kinds: Numbers) -> Numbers:
        """Racks that no packing needs fewer of: the value of the contents by the sides of a
        rack and by prices of other packings."""
        prices = self.prices[quantity.name]
        sides = np.array([*zip(*quantity.shares, strict=True), *prices])
        racks: Numbers = np.ceil((sides @ kinds).max(axis=0) - VOLUME_NOISE)
        return np.maximum(racks, 0.0)

    def _purchased(self, counts: Numbers, rows: Places) -> Numbers:
        """Units bought: spares, packs, minimum order; see `BillItem.purchased`."""
        bought = np.zeros((len(self.items), counts.shape[1]))
        standing = np.rint(counts[self.places[rows]])
        spare_share, installed, pack, least_packs = self.orders[:, rows]
        need = standing + np.ceil(spare_share * standing - ROUNDING) - installed
        packs = np.ceil(np.maximum(need, 0.0) / pack)
        bought[rows] = np.where(packs > 0, np.maximum(packs, least_packs), 0.0) * pack
        return bought

    def sums(self, bills: Bills, figures: Sequence[str]) -> Numbers:
        """Sums over bills: a row for each figure (or racks), a column for each purchase."""
        found = np.empty((len(figures), bills.counts.shape[1]))
        for row, figure in enumerate(figures):
            if figure == "racks":
                terms = self._placed(self.case.companions.racks)
                found[row] = np.rint(sum_rows(terms, bills.counts))
                continue
            standing, bought = self.weights(figure)
            found[row] = standing @ bills.counts + bought @ bills.purchased
        return found

    def available(self, bills: Bills) -> Flags:
        """Mask of bills within stock and sizes of fabrics."""
        fine = bills.known.copy()
        for row, item in enumerate(self.items):
            if item.stock is not None:
                fine &= bills.purchased[row] <= item.stock
        return fine


_kernel = lru_cache(maxsize=16)(Kernel)


def get_kernel(case: Case) -> Kernel:
    """The kernel of a case, shared by all cases with the same bills."""
    return _kernel(case.billed)


def _outputs(quantity: Quantity) -> tuple[str, ...]:
    """The counts that a quantity gives."""
    return quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)


def _count_of_amount(quantity: AtLeast | Ceil | Sum, amount: Numbers) -> Numbers:
    if isinstance(quantity, Sum):
        return amount + quantity.constant
    if isinstance(quantity, AtLeast):
        return np.maximum(amount, quantity.least)
    count = np.ceil(amount + quantity.constant - ROUNDING)
    return np.asarray(count + np.where(count != 0, quantity.if_any, 0))


def sum_rows(terms: PlacedTerms, counts: Numbers) -> Numbers:
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
            return round(sum_terms(self.case.companions.racks, self.counts))
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
    return _bill(case.billed, chosen, places)


@lru_cache(maxsize=1024)
def _bill(case: Case, chosen: tuple[int, ...], places: tuple[int, ...]) -> Bill:
    kernel, column = _kernel(case), np.array(chosen, dtype=np.int64)[:, None]
    bills = kernel.bills(column, np.array(places)[:, None] if places else None)
    if not bills.known[0]:
        raise ValueError("a fabric would have to be larger than three tiers can be")
    counts = dict(zip(kernel.index, bills.counts[:, 0].tolist(), strict=True))
    purchased = (round(count) for count in bills.purchased[:, 0].tolist())
    names = (item.id for item in kernel.items)
    return Bill(case, counts, dict(zip(names, purchased, strict=True)))


# Storage: bandwidth, capacity and endurance of a purchase.


@dataclass(frozen=True)
class Stores:
    """Bandwidth and capacity of storage, an entry for each purchase.

    Attributes:
        write, read: nameplate bandwidth, GB/s; ``write`` is that at which checkpoints are taken.
        degraded_write, degraded_read: with units down, as limits count on it.
        worn_s: the shortest interval that drives endure and in which buffers recover, s.
        write_factor, read_factor: of the clients' limits, by the storage families in use.
        sustained: nameplate write bandwidth that is sustained, GB/s.
        bulk_read: nameplate read bandwidth of the bulk tier, GB/s.
        usable_tb, bulk_tb: usable capacity of flash and of the bulk tier, TB.
    """

    write: Numbers
    read: Numbers
    degraded_write: Numbers
    degraded_read: Numbers
    worn_s: Numbers
    write_factor: Numbers
    read_factor: Numbers
    sustained: Numbers
    bulk_read: Numbers
    usable_tb: Numbers
    bulk_tb: Numbers

    def take(self, places: Places | Flags) -> Stores:
        """The storage at some places."""
        return Stores(*(getattr(self, each.name)[places] for each in fields(self)))


def sum_storage(case: Case, counts: Counts) -> Stores:
    """Bandwidth, capacity and endurance of storage.

    Args:
        counts: a row for each storage item of the case, a column for each purchase.
    """
    size = counts.shape[1]
    sums = np.zeros((9, size))
    read, write, lost_read, lost_write, endured, burst, buffer_gb, bulk_read, bulk_tb = sums
    factors = {f.id: (f.write_factor, f.read_factor) for f in case.families}
    factor = np.full((2, size), np.inf)
    for row in np.flatnonzero(counts.any(axis=1)).tolist():
        item, units = case.storage[row], counts[row].astype(float)
        if item.is_bulk:
            bulk_read += item.bulk_nameplate_read_gb_per_s * units
            bulk_tb += item.bulk_tb * units
            continue
        some = units > 0
        read += item.nameplate_read_gb_per_s * units
        write += item.nameplate_write_gb_per_s * units
        burst += (item.burst_nameplate_gb_per_s or item.nameplate_write_gb_per_s) * units
        buffer_gb += item.buffer_gb * units
        if case.tolerate_down:
            down = item.units_lost * some
            np.maximum(lost_read, item.nameplate_read_gb_per_s * down, out=lost_read)
            np.maximum(lost_write, item.nameplate_write_gb_per_s * down, out=lost_write)
        endured[some] += endurance_tb_per_day(item) * units[some]
        both = np.array(factors[item.family])[:, None]
        factor = np.where(some, np.minimum(factor, both), factor)
    usable: Numbers = np.array([item.usable_tb for item in case.storage]) @ counts.astype(float)
    by_write, by_read = np.where(np.isinf(factor), 1.0, factor)
    plate, worn_s = write, worn_interval_s(case, endured)
    if case.bursts:
        write, worn_s = add_bursts(case, plate, burst, buffer_gb, worn_s)
    safe = write - lost_write, read - lost_read
    return Stores(write, read, *safe, worn_s, by_write, by_read, plate, bulk_read, usable, bulk_tb)


def add_bursts(
    case: Case, sustained: Numbers, burst: Numbers, buffer_gb: Numbers, worn_s: Numbers
) -> tuple[Numbers, Numbers]:
    """Nameplate write bandwidth at which a checkpoint is taken, GB/s, and shortest interval that
    drives endure and in which buffers recover, s.

    The bandwidth is the size over the least t with
    ``share min(burst t, buffer + sustained t) >= size``, 0 without sustained bandwidth.
    """
    checkpoint_gb, share = case.job.checkpoint_gb, case.delivered_write_share
    nameplate_gb = checkpoint_gb / share
    with np.errstate(divide="ignore", invalid="ignore"):
        recovered_s = checkpoint_gb / (share * sustained)
        drain_s = np.maximum(nameplate_gb / burst, (nameplate_gb - buffer_gb) / sustained)
        write = np.where(sustained > 0.0, nameplate_gb / drain_s, 0.0)
    return write, np.maximum(worn_s, recovered_s)


def endurance_tb_per_day(item: Storage) -> float:
    """The writes a day that a unit endures, TB; infinite where it is not rated."""
    rated = item.endurance_tb_per_day
    return np.inf if rated is None else rated


def worn_interval_s(case: Case, endured_tb_per_day: Numbers) -> Numbers:
    """The shortest interval that drives endure, s; 0 where they set none."""
    with np.errstate(divide="ignore"):
        worn = case.job.checkpoint_gb / 1e3 * DAY_S / endured_tb_per_day
    return np.where(endured_tb_per_day > 0, worn, 0.0)


# Limits on purchases, as vectors.


def given_supplies(limits: Limits) -> tuple[Limit, ...]:
    """The limits on sums over the bill that are given."""
    return tuple(limit for limit in SUPPLIES if limits[limit.field] is not None)


def supply_limits(supplies: Sequence[Limit], limits: Limits) -> Numbers:
    """The amounts that limits allow, each in the unit of its row."""
    return np.array([(limits[each.field] or 0.0) / each.scale for each in supplies], dtype=float)


def least_order(offer: Offer) -> int:
    """The fewest units of an offer that may be bought, if any are."""
    return max(1, offer.min_units)


def unmet_needs(case: Case, counts: Counts, stores: Stores) -> Iterator[tuple[str, Flags]]:
    """Yield each need of storage with where it is not met; more storage never meets fewer.

    Args:
        counts: a row for each GPU system of the case, more rows are not looked at.
        stores: bandwidth and capacity of each purchase.
    """
    job, least, rule = case.job, case.limits["least_write_gb_per_s"], case.rule
    yield "capacity", stores.usable_tb < job.capacity_needed_tb * (1 - TOLERANCE)
    yield "bulk_capacity", stores.bulk_tb < job.bulk_needed_tb * (1 - TOLERANCE)
    if least is not None:
        bought = case.delivered_write_share * stores.sustained
        yield "least_write", bought < least * (1 - TOLERANCE)
    if rule is not None:
        gpus = np.array([system.gpus for system in case.systems]) @ counts[: len(case.systems)]
        groups = -(-gpus // rule.per_gpus)
        yield "rule_read", stores.read < groups * rule.nameplate_read_gb_per_s * (1 - TOLERANCE)
        yield (
            "rule_write",
            stores.sustained < groups * rule.nameplate_write_gb_per_s * (1 - TOLERANCE),
        )


class Vendors:
    """The policy of a case by rows of offers: vendors required, and shares of categories.

    A split has the weight of a unit of each offer, the rows of each vendor, and the largest share
    of one vendor.
    """

    def __init__(self, case: Case) -> None:
        places = {o.id: row for row, o in enumerate((*case.systems, *case.storage))}

        def rows(ids: Iterable[str]) -> Places:
            return np.array([places[name] for name in ids if name in places], dtype=np.int64)

        self.required = [rows(ids) for ids in case.policy.required]
        splits = case.policy.splits
        self.splits = [([rows(ids) for ids in each.vendors], each.max_share) for each in splits]

    def broken(self, low: Counts, high: Counts) -> Iterator[tuple[str, Flags]]:
        """Yield each rule with where no purchase between two corners keeps it."""
        for number, rows in enumerate(self.required):
            yield f"require_vendor_{number}", high[rows].sum(axis=0) < 1
        for number, (vendors, max_share) in enumerate(self.splits):
            most = [high[rows].sum(axis=0) for rows in vendors]
            for place, rows in enumerate(vendors):
                mine = low[rows].sum(axis=0)
                others = sum(most[:place] + most[place + 1 :])
                yield (
                    f"split_{number}_{place}",
                    mine > max_share * (mine + others) * (1 + TOLERANCE),
                )
