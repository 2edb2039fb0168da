"""Products that no plan needs, because another is as good in everything and no worse in anything.

A price list may hold thousands of near-clones. One covers another of the same family where the
companions count both alike, whatever it takes (money, power, weight) is no more, and whatever it
gives (bandwidth, capacity, endurance, rate) no less: units of the other are then replaced one for
one, and no limit, tie or proof is worse for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np

from planner.case import Case, Storage, System
from planner.case.figures import SUMS
from planner.case.items import Offer, Terms
from planner.case.model import Ceil, Companions, Policy, Quantity, Steps, Sum
from planner.figures import OBJECTIVES, RATIOS
from planner.optimizer.objective import name_weight

MANY = 40
"""So many products are solved as they are: a model of them is small, and known plans stay."""
ALWAYS = ("capex_usd", "it_power_kw")
"""Order of ties."""
OF_COUNTS = frozenset({"least_write", "most_write"})
"""Objectives of questions for which more bandwidth is no better."""


def without_dominated(case: Case) -> Case:
    """The case without the products that no plan needs; itself where it needs all.

    The products that stay keep their order, and companions count them as before.
    """
    if len(case.systems) + len(case.storage) <= MANY:
        return case
    if case.objective in OF_COUNTS or case.limits["most_write_gb_per_s"] is not None:
        return case
    owners = _owners(case)
    gone = _dominated(case, owners)
    if not gone:
        return case
    lost: dict[str, str | None] = {name: None for name, owner in owners.items() if owner in gone}
    return replace(
        case,
        systems=tuple(system for system in case.systems if system.id not in gone),
        storage=tuple(item for item in case.storage if item.id not in gone),
        companions=case.companions.renamed(lost),
        policy=_policy_left(case.policy, gone),
    )


def _policy_left(policy: Policy, gone: Collection[str]) -> Policy:
    """The policy of vendors as far as it names products that are left."""

    def left(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in ids if name not in gone)

    splits = (
        replace(
            split,
            weights=tuple(pair for pair in split.weights if pair[0] not in gone),
            vendors=tuple((vendor, left(ids)) for vendor, ids in split.vendors),
        )
        for split in policy.splits
    )
    required = tuple(left(ids) for ids in policy.required)
    disliked = left(policy.disliked)
    return replace(policy, required=required, splits=tuple(splits), disliked=disliked)


def _dominated(case: Case, owners: dict[str, str]) -> set[str]:
    """The ids of the products that another covers."""
    counted, figures, groups = (
        _dependents(case.companions, owners),
        _figures(case),
        defaultdict(list),
    )
    for offer in (*case.systems, *case.storage):
        if offer.installed == 0 and offer.unit_net_usd is not None:
            groups[_alike(case, offer), frozenset(counted[offer.id])].append(offer)
    gone: set[str] = set()
    for offers in groups.values():
        if len(offers) == 1:
            continue
        rows = [(_takes(case, offer, figures), offer) for offer in offers]
        rows.sort(key=lambda row: (row[0][:2], name_weight(row[1].id), row[1].id))
        kept, count = np.empty((len(rows), len(rows[0][0]))), 0
        for takes, offer in rows:
            needed = offer.low > 0 or offer.forced or offer.id in case.must_use
            if not needed and (kept[:count] <= takes).all(axis=1).any():
                gone.add(offer.id)
            elif offer.high is None:
                kept[count], count = takes, count + 1
    return gone


def _alike(case: Case, offer: Offer) -> tuple[object, ...]:
    """Properties two products must share for one to replace the other."""
    policy = case.policy
    named = (
        tuple(offer.id in ids for ids in policy.required),
        tuple(dict(split.weights).get(offer.id) for split in policy.splits),
        offer.id in policy.disliked,
        offer.vendor if policy.required or policy.splits or policy.disliked else "",
    )
    if isinstance(offer, System):
        ways = tuple(replace(w, id="", choice="", tflops_per_gpu=0.0) for w in offer.ways)
        return (offer.pack, named, offer.gpus, offer.fabrics, ways)
    assert isinstance(offer, Storage)
    table = offer.id if offer.segments else ""
    down = (offer.nameplate_read_gb_per_s, offer.nameplate_write_gb_per_s, offer.units_lost)
    worn = offer.endurance_tb_per_day is None
    return (offer.pack, named, offer.family, table, worn, down if case.tolerate_down else ())


def _takes(case: Case, offer: Offer, figures: Iterable[str]) -> list[float]:
    """Figures of which less is no worse: consumption, and missing properties."""
    takes = [amount for figure in figures for amount in _amounts(case, offer, figure)]
    takes += [offer.spare_share, float(offer.min_order), float(offer.min_units)]
    if isinstance(offer, System):
        takes += [-offer.client_write_gb_per_s, -offer.client_read_gb_per_s]
        takes += [-way.tflops_per_gpu for way in offer.ways]
    elif isinstance(offer, Storage):
        takes += [-offer.nameplate_read_gb_per_s, -offer.nameplate_write_gb_per_s, -offer.usable_tb]
        takes += [
            -(offer.endurance_tb_per_day or 0.0),
            -offer.bulk_tb,
            -offer.bulk_nameplate_read_gb_per_s,
        ]
        takes += [-offer.burst_nameplate_gb_per_s, -offer.buffer_gb]
    return takes


def _figures(case: Case) -> list[str]:
    """The sums over the bill that decide, those that ties are broken by first."""
    asked = {figure for figure in SUMS if case.limits.get(figure) is not None}
    ratios = (case.limits["per_useful_gpu_hour"], case.limits["per_million_tokens"])
    if case.objective in RATIOS or any(ratio is not None for ratio in ratios):
        asked.add("tco_usd")
    if case.objective in OBJECTIVES:
        asked.add(OBJECTIVES[case.objective].figure.name)
    asked |= {"facility_power_kw"} if case.objective == "least_meter" else set()
    return [*ALWAYS, *sorted((asked & SUMS.keys()) - set(ALWAYS))]


def _amounts(case: Case, offer: Offer, figure: str) -> Iterator[float]:
    """Yield the terms of a unit in a sum when bought, and in place at each set point."""
    parts = SUMS[figure]
    yield sum(part.adds(offer, case.rates) for part in parts if part.bought)
    points = [offer.provisioned_for(way) for way in offer.ways] if isinstance(offer, System) else []
    for each in (offer, *points):
        yield sum(part.adds(each, case.rates) for part in parts if not part.bought)


# What companions count of a product.


def _owners(case: Case) -> dict[str, str]:
    """The product of each count that is of one product alone, such as its racks."""
    owners = {offer.id: offer.id for offer in (*case.systems, *case.storage)}
    owners |= {s.wired(fabric): s.id for s in case.rewired for fabric in s.fabrics}
    for quantity in case.companions.quantities:
        owner = _owner_of(quantity, owners)
        if owner is not None and not isinstance(quantity, Steps):
            owners[quantity.name] = owner
    return owners


def _owner_of(quantity: Quantity, owners: dict[str, str]) -> str | None:
    """The product that a count is of, alone; None where it is of several or none."""
    of = {owners.get(name) for _, name in quantity.terms}
    plain = isinstance(quantity, Sum | Ceil) and quantity.constant == 0.0
    if len(of) != 1 or not plain or (isinstance(quantity, Ceil) and quantity.if_any):
        return None
    owner = next(iter(of))
    # Of the only product of its kind a common count is no count of its own.
    return owner if owner is not None and owner in quantity.name else None


def _dependents(companions: Companions, owners: dict[str, str]) -> dict[str, set[object]]:
    """What counts each product, by how much, and which of its own counts is counted: names without
    the product's, so that two can be compared."""
    found: dict[str, set[object]] = defaultdict(set)

    def count(what: object, terms: Terms) -> None:
        for factor, name in terms:
            owner = owners.get(name)
            if owner is not None:
                found[owner].add((what, name.replace(owner, ""), factor))

    for number, quantity in enumerate(companions.quantities):
        owner = None if isinstance(quantity, Steps) else owners.get(quantity.name)
        kind = type(quantity).__name__
        name = "" if owner is None or isinstance(quantity, Steps) else quantity.name
        count(number if owner is None else (kind, name.replace(owner, "")), quantity.terms)
    for item in companions.items:
        count(item.id, item.terms)
    count("racks", companions.racks)
    return found
