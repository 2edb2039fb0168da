"""Storage bandwidth and capacity of purchases, as arrays, and the limits that purchases break."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.items import Offer, Storage, ends
from planner.case.model import Split
from planner.optimizer.bill import TOLERANCE, Counts, Flags, Numbers, Places, bill, limited
from planner.units import DAY_S


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

    def at(self, places: Places | Flags) -> Stores:
        """Some of them."""
        return Stores(*(getattr(self, each.name)[places] for each in fields(self)))


def nameplates(item: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """The (read, write) nameplate bandwidth of an item's units, GB/s."""
    if not item.segments:
        return item.nameplate_read_gb_per_s * units, item.nameplate_write_gb_per_s * units
    known, read, write = (np.array(side, dtype=float) for side in zip(*ends(item), strict=True))
    inside = (units >= known[0]) & (units <= known[-1])
    return (
        np.where(inside, np.interp(units, known, read), 0.0),
        np.where(inside, np.interp(units, known, write), 0.0),
    )


def degraded(item: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """(read, write) with ``units_lost`` of the units down, GB/s; see `bandwidth`."""
    left = units - item.units_lost
    if not item.segments:
        return item.nameplate_read_gb_per_s * left, item.nameplate_write_gb_per_s * left
    first = item.segments[0]
    few = left < first.low
    read, write = nameplates(item, np.maximum(left, first.low))
    return (
        np.where(few, first.read_at_low_gb_per_s * left / first.low, read),
        np.where(few, first.write_at_low_gb_per_s * left / first.low, write),
    )


def stored(case: Case, counts: Counts) -> Stores:
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
        some = units > 0
        if item.is_bulk:
            bulk_read += item.bulk_nameplate_read_gb_per_s * units
            bulk_tb += item.bulk_tb * units
            continue
        each_read, each_write = (np.where(some, e, 0.0) for e in nameplates(item, units))
        read += each_read
        write += each_write
        burst += (
            item.burst_nameplate_gb_per_s * units if item.burst_nameplate_gb_per_s else each_write
        )
        buffer_gb += item.buffer_gb * units
        if case.tolerate_down:
            left = degraded(item, units)
            np.maximum(lost_read, np.where(some, each_read - left[0], 0.0), out=lost_read)
            np.maximum(lost_write, np.where(some, each_write - left[1], 0.0), out=lost_write)
        endured[some] += endurance_tb_per_day(item) * units[some]
        both = np.array(factors[item.family])[:, None]
        factor = np.where(some, np.minimum(factor, both), factor)
    usable: Numbers = np.array([item.usable_tb for item in case.storage]) @ counts.astype(float)
    by_write, by_read = np.where(np.isinf(factor), 1.0, factor)
    plate, worn_s = write, worn_interval_s(case, endured)
    if case.bursts:
        write, worn_s = with_bursts(case, plate, burst, buffer_gb, worn_s)
    safe = write - lost_write, read - lost_read
    return Stores(write, read, *safe, worn_s, by_write, by_read, plate, bulk_read, usable, bulk_tb)


def stored_of(case: Case, units: Mapping[str, int]) -> Stores:
    """Bandwidth, capacity and endurance of the storage of one purchase."""
    return stored(case, np.array([[units.get(item.id, 0)] for item in case.storage], np.int64))


def with_bursts(
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


def staged(case: Case, stores: Stores) -> Numbers:
    """The training data that comes from the bulk tier to flash, GB/s."""
    write = case.job.staged_share * case.delivered_write_share * stores.sustained
    return np.asarray(np.minimum(case.delivered_read_share * stores.bulk_read, write))


# Limits that purchases break, by name.


def least_order(offer: Offer) -> int:
    """The fewest units of an offer that may be bought, if any are."""
    segments = offer.segments if isinstance(offer, Storage) else ()
    return max(1, offer.min_units, segments[0].low if segments else 1)


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


class Shares(NamedTuple):
    """A split of a category: the weight of a unit of each offer, the rows of each vendor, and the
    largest share of one vendor."""

    weights: Numbers
    vendors: tuple[Places, ...]
    max_share: float

    def sums(self, counts: Counts, rows: Places | None = None) -> Numbers:
        """Weighted counts, summed over all or some rows."""
        if rows is None:
            return np.asarray(self.weights @ counts)
        return np.asarray(self.weights[rows] @ counts[rows])


class Vendors:
    """The policy of a case by rows of offers: vendors required, and shares of categories."""

    def __init__(self, case: Case) -> None:
        places = {o.id: row for row, o in enumerate((*case.systems, *case.storage))}

        def rows(ids: Iterable[str]) -> Places:
            return np.array([places[name] for name in ids if name in places], dtype=np.int64)

        self.required = [rows(ids) for ids in case.policy.required]
        self.splits: list[Shares] = []
        for split in case.policy.splits:
            weights = np.zeros(len(places))
            for name, each in split.weights:
                if name in places:
                    weights[places[name]] = each
            vendors = tuple(rows(ids) for _, ids in split.vendors)
            self.splits.append(Shares(weights, vendors, split.max_share))

    def broken(self, low: Counts, high: Counts) -> Iterator[tuple[str, Flags]]:
        """Yield each rule with where no purchase between two corners keeps it."""
        for number, rows in enumerate(self.required):
            yield f"require_vendor_{number}", high[rows].sum(axis=0) < 1
        for number, split in enumerate(self.splits):
            for place, rows in enumerate(split.vendors):
                mine, others = split.sums(low, rows), split.sums(high) - split.sums(high, rows)
                most = split.max_share * (mine + others) * (1 + TOLERANCE)
                yield f"split_{number}_{place}", mine > most


# One purchase.


def is_orderly(case: Case, units: Mapping[str, int]) -> bool:
    """True if counts may be ordered: minimum orders, highest counts, families in use."""
    if any(units[offer.id] < offer.low for offer in case.demanded):
        return False
    serving: dict[str, int] = {}
    for offer, count in case.held_offers(units):
        if count < least_order(offer) or (offer.high is not None and count > offer.high):
            return False
        if isinstance(offer, Storage) and not offer.is_bulk:
            serving[offer.family] = serving.get(offer.family, 0) + count
            if offer.segments and count > offer.segments[-1].high:
                return False
    if len(serving) > case.max_families:
        return False
    most = {family.id: family.max_units for family in case.families}
    return all((limit := most[name]) is None or n <= limit for name, n in serving.items())


def broken_limits(case: Case, units: Mapping[str, int], ways: Collection[str]) -> list[str]:
    """The names of the limits that a purchase breaks, whatever the job does with it.

    Args:
        ways: ids of the ways that run the job.
    """
    try:
        spent = bill(case, units, ways)
    except ValueError:
        return ["fabric"]
    sums = limited(case.limits)
    return [
        *(s.name for s in sums if spent[s.figure] > case.limits.given(s.field) * (1 + TOLERANCE)),
        *(f"stock_{i.id}" for i in case.stocked if spent.purchased[i.id] > (i.stock or 0)),
        *(f"unplaced_{name}" for name in _unplaced(case, ways) if units[name]),
        *broken_by_counts(case, units),
    ]


def _unplaced(case: Case, ways: Collection[str]) -> list[str]:
    return list(dict.fromkeys(name for way in ways for name in case.unplaced.get(way, ())))


def broken_by_counts(case: Case, units: Mapping[str, int]) -> list[str]:
    """The limits that counts of GPU systems and storage break without their bill."""
    most, stores = case.limits["most_write_gb_per_s"], stored_of(case, units)
    counts = _column(case, units)
    broken = []
    if most is not None and case.delivered_write_share * stores.sustained[0] > most * (
        1 + TOLERANCE
    ):
        broken.append("most_write")
    named = (*Vendors(case).broken(counts, counts), *unmet_needs(case, counts, stores))
    return broken + [name for name, flags in named if flags[0]]


def _column(case: Case, units: Mapping[str, int]) -> Counts:
    offers = (*case.systems, *case.storage)
    return np.array([[units.get(offer.id, 0)] for offer in offers], dtype=np.int64)


def largest_share(split: Split, units: Mapping[str, int]) -> float:
    """The largest share of one vendor in a category, 0 where nothing is bought."""
    weighted = {name: weight * units[name] for name, weight in split.weights}
    whole = sum(weighted.values())
    parts = (sum(weighted[name] for name in ids) for _, ids in split.vendors)
    return max((part / whole for part in parts), default=0.0) if whole else 0.0


def bought_write_gb_per_s(case: Case, units: Mapping[str, int]) -> float:
    """The write bandwidth of the storage bought, as delivered, whatever clients move."""
    return float(case.delivered_write_share * stored_of(case, units).sustained[0])
