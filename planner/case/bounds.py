"""Upper bounds of counts: units of an offer by each limit alone, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.case.figures import SUMS
from planner.case.items import Offer, Storage, System
from planner.case.job import ROUNDING
from planner.case.model import AtLeast, Case, Ceil, Packed, Quantity, Steps

Majorant = tuple[dict[str, float], float]
"""Factors of the offers' units, and a constant."""

# By each limit alone.


UNLIMITED_UNITS = 20_000
"""Units that may be bought at least where no limit holds an item back."""
GENEROUS = 4.0
"""Multiple of a demand that an item which no limit holds back may cover alone."""


def cap(case: Case, offer: Offer) -> int:
    """The most units of an offer that any plan can hold, idle ones included."""
    bounds = [math.inf if offer.high is None else float(offer.high)]
    limits, use = case.limits, offer.rack_use
    if limits["racks"] is not None and use is not None:
        bounds.append(limits["racks"] // use.racks_each * use.per_rack)
    lowest = at_least(offer)
    for figure, parts in SUMS.items():
        if (limit := limits.get(figure)) is not None:
            each = sum(part.adds(lowest, case.rates) for part in parts)
            # What is owned adds nothing to a sum over units bought.
            owned = offer.installed if any(part.bought for part in parts) else 0
            bounds += [owned + limit / each] if each > 0 else []
    if isinstance(offer, Storage) and offer.table:
        bounds.append(offer.table[-1].units)
    elif isinstance(offer, Storage):
        most = limits["most_write_gb_per_s"]
        each = case.delivered_write_share * offer.nameplate_write_gb_per_s
        bounds += [] if most is None or each <= 0 else [most / each]
    least = min(bounds)
    if math.isinf(least):
        return unlimited(case, offer)
    return math.floor(least * (1 + ROUNDING) + ROUNDING)


def at_least(offer: Offer) -> Offer:
    """An offer at its lowest power set point."""
    if not isinstance(offer, System):
        return offer
    least = min(offer.ways, key=lambda way: way.power_share)
    return offer.provisioned_for(least) if least.power_share < 1.0 else offer


def cap_in_use(case: Case, system: System) -> int:
    """The most systems that any plan needs for the job: those in use and spares."""
    most = cap(case, system)
    if case.job.gpus_max is None:
        return most
    fewest = [(way, way.systems_for(case.job.gpus_max)) for way in system.ways]
    needed = max(count + case.job.spare_systems(way, count) for way, count in fewest)
    return min(most, max(needed, system.low, system.min_units))


def unlimited(case: Case, offer: Offer) -> int:
    """Units of an offer that no limit holds back.

    Several times the largest demand on this item alone. A plan that reaches it is a sign that
    nothing bounds the problem.
    """
    demands = [0.0, float(offer.low), float(offer.min_units)]
    if isinstance(offer, System):
        gpus = [float(case.job.gpus_min), case.limits["min_useful_gpus"] or 0.0]
        floor = case.useful_pflops_floor() or 0.0
        for way in offer.ways:
            rate = way.tflops_per_gpu * (case.job.mfu or 0.0)
            work = floor * 1000.0 / rate if rate > 0 else 0.0
            demands += [count / way.usable_gpus for count in (*gpus, work)]
    if isinstance(offer, Storage):
        demands += _storage_demands(case, offer)
    return max(UNLIMITED_UNITS, math.ceil(GENEROUS * max(demands)))


def _storage_demands(case: Case, offer: Storage) -> list[float]:
    """Units of a storage item alone that each demand requires."""
    job, rule = case.job, case.rule
    read = [job.gpus_min * job.ingest_per_gpu_gb_per_s / case.delivered_read_share]
    write = [(case.limits["least_write_gb_per_s"] or 0.0) / case.delivered_write_share]
    if rule is not None:
        read.append(job.gpus_min / rule.per_gpus * rule.nameplate_read_gb_per_s)
        write.append(job.gpus_min / rule.per_gpus * rule.nameplate_write_gb_per_s)
    if job.max_restore_s is not None:
        once = job.checkpoint_gb / job.max_restore_s / case.delivered_read_share
        terms = [job.fan_out_terms(way.replica_gpus) for way in case.ways]
        read += [(a + c * job.gpus_min) * once for a, c in terms]
    if job.interval.high_s > 0:
        share = min(job.max_overlap, job.max_blocking)
        write.append(job.checkpoint_gb / (share * job.interval.high_s) / case.delivered_write_share)
    demands = [(job.capacity_needed_tb, offer.usable_tb), (job.bulk_needed_tb, offer.bulk_tb)]
    demands += [
        (need, offer.nameplate_read_gb_per_s or offer.bulk_nameplate_read_gb_per_s) for need in read
    ]
    demands += [(need, offer.nameplate_write_gb_per_s) for need in write]
    return [need / each for need, each in demands if each > 0]


def sizes_fall(case: Case) -> bool:
    """True if a larger size of some fabric has less of something than a smaller one."""
    return any(isinstance(each, Steps) and each.falls for each in case.companions.quantities)


# Of counts that follow from the offers': they keep fabrics small.


@dataclass
class Bounds:
    """Upper bounds of the counts of a case; ``tops`` are the most units of each offer."""

    tops: dict[str, int]
    weights: list[tuple[float, dict[str, float]]]
    majorants: dict[str, Majorant] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Case, tops: dict[str, int]) -> Bounds:
        """The bounds of a case whose offers have at most ``tops`` units."""
        limits, offers = case.limits, [at_least(offer) for offer in case.offers()]
        price = {o.id: 0.0 if o.installed else o.unit_net_usd or 0.0 for o in offers}
        uses = ((o.id, o.rack_use) for o in offers)
        racks = {name: use.racks_each / use.per_rack if use else 0.0 for name, use in uses}
        each = (
            (limits["it_power_kw"], {o.id: o.it_power_kw for o in offers}),
            (limits["facility_power_kw"], {o.id: o.meter_kw for o in offers}),
            (limits["capex_usd"], price),
            (limits["racks"], racks),
        )
        return cls(tops, [(float(limit), use) for limit, use in each if limit is not None])

    def follow(self, systems: Iterable[System]) -> None:
        """Add the systems that each compute fabric joins: at most all of a type."""
        for system in systems:
            for fabric in system.fabrics:
                self.majorants[system.wired(fabric)] = {system.id: 1.0}, 0.0

    def add(self, quantities: Iterable[Quantity]) -> None:
        """Add majorants of dependent counts, whose terms have majorants already."""
        for quantity in quantities:
            terms, constant = self.linear(quantity.terms)
            if isinstance(quantity, Packed):
                alone = quantity.packing.alone  # racks that would hold every kind by itself
                shares = zip(alone, quantity.terms, strict=True)
                terms, constant = self.linear((1.0 / n, name) for n, (_, name) in shares)
                self.majorants[quantity.name] = terms, constant + len(alone)
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
        """Upper bound of a sum of terms."""
        factors, constant = self.linear(terms)
        best = sum(factor * self.tops[name] for name, factor in factors.items())
        for limit, use in self.weights:
            free = sum(f * self.tops[name] for name, f in factors.items() if use[name] <= 0)
            rates = (f / use[name] for name, f in factors.items() if use[name] > 0)
            best = min(best, free + limit * max(rates, default=0.0) * (1 + ROUNDING))
        return best + constant

    def linear(self, terms: Iterable[tuple[float, str]]) -> Majorant:
        """Majorant of a sum of terms."""
        factors: dict[str, float] = {}
        constant = 0.0
        for factor, name in terms:
            inner, more = self.majorants.get(name, ({name: 1.0}, 0.0))
            constant += factor * more
            for key, value in inner.items():
                factors[key] = factors.get(key, 0.0) + factor * value
        return factors, constant

    def _steps(
        self, quantity: Steps, index: int, terms: dict[str, float], constant: float
    ) -> Majorant:
        """Output <= first + rate * amount, with the steepest rate of any size reached."""
        most = self.most(quantity.terms) + 1.0
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
