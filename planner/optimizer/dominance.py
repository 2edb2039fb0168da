"""Products that no plan needs, because another does all they do and takes no more.

Price lists are full of near-clones. Take a plan that holds b, and let it hold as many a instead:
x_a + x_b of a, none of b. Where

- a is of the same type or family, in the same fabric, with the same ways of running the job and
  the same companions, and gives no less: work, bandwidth, capacity, endurance;
- of every sum that the problem limits, weighs or breaks ties by, a unit of a takes no more, bought
  and in place; spares, packs and minimum order are no more; nothing limits the number of a;
- no rule tells the two apart: vendors, shares of money, what is demanded or owned;

the plan is one without b that keeps every limit, and no worse. Units that follow by rounding up,
such as racks and spares, get no more when two counts become one. So every count of the bill stays
or falls, and with it every sum. What falls might make one thing grow: a fabric whose next larger
size has fewer switches. Where limits allow a fabric that large, all products stay.

Of products that are alike in money and power the one stays that ties would take.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from planner.case import Case, Storage, System
from planner.case.bounds import Bounds, at_least, cap
from planner.case.model import Companion, Companions, Offer, Policy
from planner.case.money import SUMS, Part
from planner.case.quantities import Ceil, Packed, Quantity, Steps, Sum, Terms
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import BY_NAME
from planner.optimizer.objective import name_weight

MANY = 40
"""So many products are solved as they are: a model of them is small, and known plans stay."""
ALWAYS = ("capex_usd", "it_power_kw")
"""What ties are broken by."""
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
    gone = _dominated(case)
    if not gone or _may_fall(case):
        return case
    return replace(
        case,
        systems=tuple(system for system in case.systems if system.id not in gone),
        storage=tuple(item for item in case.storage if item.id not in gone),
        companions=_left(case, gone),
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


def _dominated(case: Case) -> set[str]:
    """The ids of the products that another covers."""
    uses, figures, groups = _uses(case), _figures(case), defaultdict(list)
    for offer in (*case.systems, *case.storage):
        if offer.installed == 0 and offer.unit_net_usd is not None:
            groups[_alike(case, offer, uses)].append(offer)
    gone: set[str] = set()
    for offers in groups.values():
        if len(offers) == 1:
            continue
        rows = [(_takes(case, o, uses, figures), name_weight(o.id), o.id, o) for o in offers]
        kept, count = np.empty((len(rows), len(rows[0][0]))), 0
        for takes, _, _, offer in sorted(rows, key=lambda row: (row[0][:2], row[1], row[2])):
            if _removable(case, offer) and (kept[:count] <= takes).all(axis=1).any():
                gone.add(offer.id)
            elif offer.high is None:
                kept[count], count = takes, count + 1
    return gone


def _removable(case: Case, offer: Offer) -> bool:
    return offer.low == 0 and not offer.forced and offer.id not in case.must_use


def _alike(case: Case, offer: Offer, uses: _Uses) -> tuple[object, ...]:
    """What two products must share for one to stand in for the other."""
    policy = case.policy
    named = (
        tuple(offer.id in ids for ids in policy.required),
        tuple(dict(split.weights).get(offer.id) for split in policy.splits),
        offer.id in policy.disliked,
        offer.vendor if policy.required or policy.splits or policy.disliked else "",
    )
    common = (type(offer), offer.pack, named, frozenset(uses.factors[offer.id]))
    if isinstance(offer, System):
        ways = tuple(replace(w, id="", choice="", tflops_per_gpu=0.0) for w in offer.ways)
        return (*common, offer.gpus, offer.fabrics, ways)
    assert isinstance(offer, Storage)
    table = offer.id if offer.segments else ""
    down = (offer.read_gb_per_s, offer.write_gb_per_s, offer.units_lost)
    worn = offer.endurance_tb_per_day is None
    return (*common, offer.family, table, worn, down if case.tolerate_down else ())


def _takes(case: Case, offer: Offer, uses: _Uses, figures: Iterable[str]) -> list[float]:
    """The figures of which less is no worse: what a product takes, and what it lacks."""
    takes = [amount for figure in figures for amount in _amounts(case, offer, SUMS[figure])]
    takes += [offer.spare_share, float(offer.min_order), float(offer.min_units)]
    takes += [factor for _, factor in sorted(uses.factors[offer.id].items())]
    if isinstance(offer, System):
        takes += [-offer.client_write_gb_per_s, -offer.client_read_gb_per_s]
        takes += [-way.tflops_per_gpu for way in offer.ways]
    elif isinstance(offer, Storage):
        takes += [-offer.read_gb_per_s, -offer.write_gb_per_s, -offer.usable_tb]
        takes += [-(offer.endurance_tb_per_day or 0.0), -offer.bulk_tb, -offer.bulk_read_gb_per_s]
        takes += [-offer.burst_gb_per_s, -offer.buffer_gb]
    return takes


def _figures(case: Case) -> list[str]:
    """The sums over the bill that decide, those that ties are broken by first."""
    asked = {figure for figure in SUMS if case.limits.get(figure) is not None}
    ratios = (case.limits["per_useful_gpu_hour"], case.limits["per_million_tokens"])
    if case.objective in RATIOS or any(ratio is not None for ratio in ratios):
        asked.add("tco_usd")
    if case.objective in OBJECTIVES:
        asked.add(OBJECTIVES[case.objective].figure.name)
    asked |= {BY_NAME[limit.name].figure for limit in case.elastic if limit.name in BY_NAME}
    asked |= {"facility_power_kw"} if case.objective == "least_meter" else set()
    return [*ALWAYS, *sorted((asked & SUMS.keys()) - set(ALWAYS))]


def _amounts(case: Case, offer: Offer, parts: tuple[Part, ...]) -> Iterator[float]:
    """Yield what a unit adds to a sum when it is bought, and in place at each set point."""
    rated = [part.adds(offer, case.rates) for part in parts]
    bought = [amount for amount, part in zip(rated, parts, strict=True) if part.bought]
    placed = [part for part in parts if not part.bought]
    if bought:
        yield sum(bought)
    if placed:
        at = [offer.at(way) for way in offer.ways] if isinstance(offer, System) else []
        for each in (offer, *at):
            yield sum(part.adds(each, case.rates) for part in placed)


# What companions count of a product.


@dataclass
class _Uses:
    """What the companions of a case count of each product.

    ``owners`` are the products of counts that are of one product alone, such as its racks, by the
    name of the count. ``factors`` has for each product by how much it counts, by what counts it and
    which of its own counts is counted: names without the product's, so that two can be compared.
    """

    owners: dict[str, str]
    factors: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case) -> _Uses:
        uses = cls({offer.id: offer.id for offer in (*case.systems, *case.storage)})
        uses.factors = {offer_id: {} for offer_id in uses.owners}
        uses.owners |= {s.wired(fabric): s.id for s in case.rewired for fabric in s.fabrics}
        companions = case.companions
        for number, quantity in enumerate(companions.quantities):
            owner = uses.owner_of(quantity)
            if owner is None:
                uses._count(f"quantity {number}", quantity.terms)
            else:
                kind = type(quantity).__name__
                uses._count(f"{kind} {quantity.name.replace(owner, '')}", quantity.terms)
                uses.owners[quantity.name] = owner
        for item in companions.items:
            uses._count(f"need {item.id}", item.terms)
        uses._count("racks", companions.racks)
        return uses

    def owner_of(self, quantity: Quantity) -> str | None:
        """The product that a count is of, alone; None where it is of several or none."""
        owners = {self.owners.get(name) for _, name in quantity.terms}
        plain = isinstance(quantity, Sum | Ceil) and quantity.constant == 0.0
        if len(owners) != 1 or not plain or (isinstance(quantity, Ceil) and quantity.if_any):
            return None
        owner = next(iter(owners))
        # Of the only product of its kind a common count is no count of its own.
        return owner if owner is not None and owner in quantity.name else None

    def _count(self, what: str, terms: Terms) -> None:
        for factor, name in terms:
            owner = self.owners.get(name)
            if owner is not None:
                key, own = (what, name.replace(owner, "")), self.factors[owner]
                own[key] = own.get(key, 0.0) + factor


@lru_cache(maxsize=4)
def _uses(case: Case) -> _Uses:
    return _Uses.of(case)


def _left(case: Case, gone: Collection[str]) -> Companions:
    """The companions of a case as they count without some products."""
    uses, companions = _uses(case), case.companions
    lost = {name for name, owner in uses.owners.items() if owner in gone}

    def left(terms: Terms) -> Terms:
        return tuple(term for term in terms if term[1] not in lost)

    def needed(item: Companion) -> Companion:
        pairs = zip(item.terms, item.roles, strict=True)
        roles = tuple(role for term, role in pairs if term[1] not in lost)
        return replace(item, terms=left(item.terms), roles=roles)

    return replace(
        companions,
        quantities=tuple(
            replace(quantity, terms=left(quantity.terms))
            for quantity in companions.quantities
            if getattr(quantity, "name", "") not in lost
        ),
        items=tuple(needed(item) for item in companions.items),
        racks=left(companions.racks),
    )


# How far fabrics can grow.


def _may_fall(case: Case) -> bool:
    """Whether some plan may need a size of a fabric that has less than a smaller one.

    Of every limited sum, units cannot add more to a fabric than the best product for it does.
    """
    steps_of = (q for q in case.companions.quantities if isinstance(q, Steps))
    falls = [(steps, first) for steps in steps_of if (first := _first_fall(steps)) is not None]
    if not falls:
        return False
    bounds, least = _bounds(case), _least(case)
    rows = [
        _own(case, figure, least, limit)
        for figure in SUMS
        if (limit := case.limits.get(figure)) is not None
    ]
    for steps, first in falls:
        each, constant = bounds.linear(steps.terms)
        added = {name: weight for name, weight in each.items() if weight > 0.0}
        most = sum(weight * bounds.tops[name] for name, weight in added.items())
        for weights, owned in rows:
            rates = (
                w / weights[name] if weights[name] > 0.0 else math.inf for name, w in added.items()
            )
            most = min(most, (1.0 - owned) * max(rates, default=0.0))
        if most + constant > first:
            return True
    return False


def _first_fall(steps: Steps) -> int | None:
    """The capacity of the last size before one that has less of something."""
    for one, other in itertools.pairwise(steps.sizes):
        if any(after < before for before, after in zip(one.outputs, other.outputs, strict=True)):
            return one.capacity
    return None


def _bounds(case: Case) -> Bounds:
    """Return linear bounds of all counts; what rounds up for one product is whole for each unit."""
    tops = {offer.id: max(cap(case, offer), offer.low) for offer in case.offers()}
    bounds, uses = Bounds.of(case, tops), _uses(case)
    bounds.follow(case.rewired)
    for quantity in case.companions.quantities:
        if isinstance(quantity, Ceil) and uses.owner_of(quantity) is not None:
            whole = tuple((float(math.ceil(factor)), name) for factor, name in quantity.terms)
            bounds.majorants[quantity.name] = bounds.linear(whole)
        else:
            bounds.add([quantity])
    return bounds


def _least(case: Case) -> dict[str, dict[str, float]]:
    """Return of each count how many units of each product make it at least."""
    least: dict[str, dict[str, float]] = {offer.id: {offer.id: 1.0} for offer in case.offers()}
    least |= {offer.place: {offer.id: 1.0} for offer in case.offers()}
    for quantity in case.companions.quantities:
        amount = _sum_of(quantity.terms, least)
        if isinstance(quantity, Steps):
            for index, name in enumerate(quantity.outputs):
                # A size holds the amount: of all sizes the one with the least of it for its room.
                shares = (size.outputs[index] / size.capacity for size in quantity.sizes)
                least[name] = _scaled(amount, min(shares, default=0.0))
        else:
            least[quantity.name] = {} if isinstance(quantity, Packed) else amount
    for item in case.companions.items:
        least[item.id] = _sum_of(item.terms, least)
    return least


def _sum_of(terms: Terms, least: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    result: dict[str, float] = {}
    for factor, name in terms:
        for key, value in least.get(name, {}).items():
            result[key] = result.get(key, 0.0) + factor * value
    return result


def _scaled(amount: Mapping[str, float], factor: float) -> dict[str, float]:
    return {key: factor * value for key, value in amount.items()} if factor else {}


def _own(
    case: Case, figure: str, least: Mapping[str, Mapping[str, float]], limit: float
) -> tuple[dict[str, float], float]:
    """Return what units of products add at least to a sum over the bill, as a share of a limit, and
    what is added whatever they are."""
    parts, owned = SUMS[figure], 0.0
    weights = {offer.id: 0.0 for offer in case.offers()}
    for item in case.bill_items():
        lowest = at_least(item) if isinstance(item, Offer) else item
        bought = sum(part.adds(lowest, case.rates) for part in parts if part.bought)
        placed = sum(part.adds(lowest, case.rates) for part in parts if not part.bought)
        owned += bought * item.installed
        for key, value in least[item.id].items():
            weights[key] += (bought + placed) * value
    return {key: weight / limit for key, weight in weights.items()}, -owned / limit
