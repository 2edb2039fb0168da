"""A purchase in whole numbers: its bill, checked against its limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.bandwidth import bought_nameplate
from planner.case.model import Limits, Split, Storage
from planner.case.money import weights
from planner.case.quantities import total
from planner.limits import SUPPLIES, Limit

Vector = NDArray[np.float64]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class PurchaseSums:
    """Everything in place and everything bought, with what it costs and takes by figure.

    A sum is added up when it is first asked for: of what is there, in the order of its terms.
    """

    case: Case
    counts: Mapping[str, float]
    purchased: Mapping[str, int]
    amounts: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, figure: str) -> float:
        """Return a sum over the bill, by the name of its figure."""
        if figure not in self.amounts:
            self.amounts[figure] = self._sum(figure)
        return self.amounts[figure]

    def _sum(self, figure: str) -> float:
        if figure == "racks":
            return round(total(self.case.companions.racks, self.counts))
        sides: tuple[Mapping[str, float], Mapping[str, float]] = (self.counts, self.purchased)
        terms = _terms_of(self.case, self._there, figure)
        return sum((factor * sides[side][name] for factor, (side, name) in terms), 0.0)

    @cached_property
    def _there(self) -> tuple[str, ...]:
        items = self.case.bill_items()
        return tuple(i.id for i in items if self.counts[i.place] or self.purchased[i.id])


def bill(case: Case, units: Mapping[str, int], ways: Collection[str]) -> PurchaseSums:
    """Return the bill of a purchase, companions included.

    Args:
        ways: the ways in which the job runs, by id: their set points are what counts of power.

    Raises:
        ValueError: a fabric would have to be larger than three tiers can be.
    """
    chosen = tuple(units[offer.id] for offer in case.offers())
    return _bill(case.billed, chosen, _capped(case, ways), _wiring(case, ways))


def standing(
    case: Case, units: Mapping[str, int], ways: Collection[str]
) -> tuple[Mapping[str, float], int]:
    """Return what stands there with a purchase, by id, and its racks: its bill without the sums.

    Args and errors are those of `bill`.
    """
    counts = _counts(case.billed, units, _capped(case, ways), _wiring(case, ways))
    return counts, round(total(case.companions.racks, counts))


def _capped(case: Case, ways: Collection[str]) -> tuple[str, ...]:
    return tuple(way for way in case.capped if way in ways) if ways else ()


def _wiring(case: Case, ways: Collection[str]) -> tuple[int | None, ...]:
    """Return the compute fabric of each type that may join several."""
    return tuple(case.fabric_of(system, ways) for system in case.rewired)


def _counts(
    case: Case,
    units: Mapping[str, int],
    capped: tuple[str, ...],
    wiring: tuple[int | None, ...],
) -> dict[str, float]:
    counts = case.companions.values(case.joined(units, wiring))
    for name, (system, way) in case.capped.items():
        counts[way.standing] = counts[system.place] if name in capped else 0.0
    return counts


@lru_cache(maxsize=1024)
def _bill(
    case: Case,
    chosen: tuple[int, ...],
    capped: tuple[str, ...],
    wiring: tuple[int | None, ...],
) -> PurchaseSums:
    offers = case.offers()
    units = {offer.id: count for offer, count in zip(offers, chosen, strict=True)}
    counts = _counts(case, units, capped, wiring)
    purchased = {
        item.id: item.purchased(round(count)) if (count := counts[item.id]) else 0
        for item in case.bill_items()
    }
    return PurchaseSums(case, counts, purchased)


def sharing(case: Case, units: Mapping[str, int]) -> tuple[int, ...]:
    """Return how many there are of each kind that shares racks, in the order of their kinds.

    Nothing where nothing shares, or where a fabric would have to be larger than it can be.
    """
    if case.companions.shared is None:
        return ()
    try:
        return case.companions.shared.counts(bill(case, units, ()).counts)
    except ValueError:
        return ()


@dataclass(frozen=True)
class _Side:
    """Stands for one of two mappings of amounts where expressions ask for amounts by id."""

    place: int

    def __getitem__(self, name: str) -> tuple[int, str]:
        return self.place, name


@lru_cache(maxsize=256)
def terms(case: Case, figure: str) -> list[tuple[float, tuple[int, str]]]:
    """Return what a sum of a bill weighs, and what of: worked out once for all purchases."""
    return weights(case, figure, _Side(0), _Side(1))


@lru_cache(maxsize=1024)
def _terms_of(
    case: Case, there: tuple[str, ...], figure: str
) -> list[tuple[float, tuple[int, str]]]:
    """Return what a sum of a bill weighs where nothing but some items is there, and what of."""
    some = set(there)
    items = [item for item in case.bill_items() if item.id in some]
    return weights(case, figure, _Side(0), _Side(1), items)


# Limits on what a purchase uses up, as vectors.


def given(limits: Limits) -> tuple[Limit, ...]:
    """Return the limits that only a purchase uses up, of those that are given."""
    return tuple(limit for limit in SUPPLIES if limits[limit.field] is not None)


def amounts(supplies: Iterable[Limit], limits: Limits) -> Vector:
    """Return what limits allow of each supply, in the unit that it is counted in."""
    return np.array([limits.given(each.field) / each.scale for each in supplies], dtype=float)


def used(supplies: Iterable[Limit], bill: PurchaseSums) -> Vector:
    """Return what a purchase uses up of each supply, in the unit that it is counted in."""
    return np.array([bill[each.figure] / each.scale for each in supplies], dtype=float)


def orderly(case: Case, units: Mapping[str, int]) -> bool:
    """Say whether the counts are such as may be ordered, whatever they cost and take."""
    if any(units[offer.id] < offer.low for offer in case.demanded):
        return False
    for offer, count in case.there(units):
        if count < offer.min_units or (offer.high is not None and count > offer.high):
            return False
        if isinstance(offer, Storage) and offer.segments:
            if not offer.segments[0].low <= count <= offer.segments[-1].high:
                return False
    return _families_fit(case, units)


def _families_fit(case: Case, units: Mapping[str, int]) -> bool:
    """Say whether the storage families in use are as many, and as large, as they may be."""
    serving: dict[str, int] = {}
    for item in case.bought(units):
        if item.is_bulk:
            continue
        serving[item.family] = serving.get(item.family, 0) + units[item.id]
    if len(serving) > case.max_families and case.exact_families is None:
        return False
    if case.exact_families is not None and len(serving) != case.exact_families:
        return False
    return all(
        family.max_units is None or serving.get(family.id, 0) <= family.max_units
        for family in case.families
    )


def broken_rows(case: Case, units: Mapping[str, int], ways: Collection[str]) -> list[str]:
    """Return the names of the limits that the whole numbers break."""
    limits = case.limits
    try:
        spent = bill(case, units, ways)
    except ValueError:
        return ["fabric"]
    broken = [
        limit.name
        for limit in given(limits)
        if spent[limit.figure] > limits.given(limit.field) * (1 + TOLERANCE)
    ]
    broken += [
        f"stock_{item.id}"
        for item in case.stocked
        if item.stock is not None and spent.purchased[item.id] > item.stock
    ]
    broken += [
        some.name
        for some in case.companions.positions
        if round(total(some.racks, spent.counts)) > some.count
    ]
    broken += [
        f"unplaced_{name}"
        for name in dict.fromkeys(name for way in ways for name in case.unplaced.get(way, ()))
        if units[name]
    ]
    return broken + broken_by_counts(case, units)


def broken_by_counts(case: Case, units: Mapping[str, int]) -> list[str]:
    """Return the rows that the whole numbers break, whatever they cost and take."""
    broken = []
    most = case.limits["most_write_gb_per_s"]
    if most is not None and bought_write_gb_per_s(case, units) > most * (1 + TOLERANCE):
        broken.append("most_write")
    return broken + _broken_policies(case, units) + broken_needs(case, units)


def broken_needs(case: Case, units: Mapping[str, int]) -> list[str]:
    """Return the rows that ask for more storage than the whole numbers have: more of it helps."""
    broken = []
    usable = sum(item.usable_tb * units[item.id] for item in case.bought(units))
    if usable < case.job.capacity_needed_tb * (1 - TOLERANCE):
        broken.append("capacity")
    if case.in_bulk(units)[0] < case.job.bulk_needed_tb * (1 - TOLERANCE):
        broken.append("bulk_capacity")
    least = case.limits["least_write_gb_per_s"]
    if least is not None and bought_write_gb_per_s(case, units) < least * (1 - TOLERANCE):
        broken.append("least_write")
    return broken + _broken_rules(case, units)


def bought_write_gb_per_s(case: Case, units: Mapping[str, int]) -> float:
    """Return what the storage of a purchase would deliver in writing, whatever clients can move."""
    return case.delivered_write * bought_nameplate(case.bought(units), units)[1]


def _broken_policies(case: Case, units: Mapping[str, int]) -> list[str]:
    broken = []
    for number, ids in enumerate(case.policy.required):
        if sum(units[item_id] for item_id in ids) < 1:
            broken.append(f"require_vendor_{number}")
    for number, split in enumerate(case.policy.splits):
        for place, share in enumerate(_shares(split, units)):
            if share > split.max_share * (1 + TOLERANCE):
                broken.append(f"split_{number}_{place}")
    return broken


def largest_share(split: Split, units: Mapping[str, int]) -> float:
    """Return the share of the vendor that has most of a category, 0 where nothing is bought."""
    return max(_shares(split, units), default=0.0)


def _shares(split: Split, units: Mapping[str, int]) -> list[float]:
    """Return the share of each vendor of a category."""
    weights = dict(split.weights)
    whole = sum(weight * units[item_id] for item_id, weight in weights.items())
    parts = (sum(weights[i] * units[i] for i in ids) for _, ids in split.vendors)
    return [part / whole if whole else 0.0 for part in parts]


def _broken_rules(case: Case, units: Mapping[str, int]) -> list[str]:
    rule = case.rule
    if rule is None:
        return []
    gpus = sum(system.gpus * units[system.id] for system in case.systems)
    groups = gpus if rule.per_gpus == 1 else -(-gpus // rule.per_gpus)
    read_gb_per_s, write_gb_per_s = bought_nameplate(case.bought(units), units)
    broken = []
    if read_gb_per_s < groups * rule.read_gb_per_s * (1 - TOLERANCE):
        broken.append("rule_read")
    if write_gb_per_s < groups * rule.write_gb_per_s * (1 - TOLERANCE):
        broken.append("rule_write")
    return broken
