"""Limits that purchases break, by name: order quantities, needs, policy, and the bill's sums."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.items import Offer, Storage
from planner.case.model import Split
from planner.optimizer.bill import TOLERANCE, Counts, Flags, Numbers, Places, bill, limited
from planner.optimizer.stores import Stores, stored_of


def least_order(offer: Offer) -> int:
    """The fewest units of an offer that may be bought, if any are."""
    segments = offer.segments if isinstance(offer, Storage) else ()
    return max(1, offer.min_units, segments[0].low if segments else 1)


def unmet_needs(case: Case, counts: Counts, stores: Stores) -> Iterator[tuple[str, Flags]]:
    """Yield each need of storage with where it is not met; more storage never meets fewer.

    Args:
        counts: a row for each GPU system of the case, more rows are not looked at.
        stores: what the storage of each purchase gives.
    """
    job, least, rule = case.job, case.limits["least_write_gb_per_s"], case.rule
    yield "capacity", stores.usable_tb < job.capacity_needed_tb * (1 - TOLERANCE)
    yield "bulk_capacity", stores.bulk_tb < job.bulk_needed_tb * (1 - TOLERANCE)
    if least is not None:
        bought = case.delivered_write * stores.sustained
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
        """Return weighted counts, summed over all or some rows."""
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
    """Whether counts may be ordered: minimum orders, highest counts, families in use."""
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
    if most is not None and case.delivered_write * stores.sustained[0] > most * (1 + TOLERANCE):
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
    return float(case.delivered_write * stored_of(case, units).sustained[0])
