"""Products that no plan needs, because another does all they do and takes no more.

Price lists are full of near-clones. Take a plan that holds b, and let it hold as many a instead:
x_a + x_b of a, none of b. Where

- a is of the same type or family, in the same fabric, with the same ways of running the job and
  the same companions, and gives no less: work, bandwidth, capacity, endurance;
- of every sum that the problem limits, weighs or breaks ties by, a unit of a takes no more, bought
  and in place; its spares, packs and least order are no more; nothing limits how many a there are;
- no rule tells the two apart: vendors, shares of money, what is demanded or owned;

the plan is one without b that keeps every limit, and no worse. Units that follow by rounding up,
such as racks and spares, get no more when two counts become one. So every count of the bill stays
or falls, and with it every sum. What falls might make one thing grow: a fabric whose next larger
size has fewer switches. ``outgrown`` proves that no plan which is no worse than the one found gets
that far; where it does not, the whole problem is solved.

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

from planner.case import Case, Storage, System, Way
from planner.case.bounds import Bounds, at_least, cap
from planner.case.model import Companion, Companions, Offer, Policy
from planner.case.money import SUMS, Part
from planner.case.quantities import Ceil, Packed, Quantity, Steps, Sum, Terms
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import BY_NAME
from planner.optimizer.objective import LOGARITHMIC, name_weight, natural, work_of_one_gpu

MANY = 40
"""So many products are solved as they are: a model of them is small, and known plans stay."""
ALWAYS = ("capex_usd", "it_power_kw")
"""What ties are broken by."""
OF_COUNTS = frozenset({"least_write", "most_write"})
"""Objectives of questions for which more bandwidth is no better."""
ROUNDS, RANGES = 3, 400
"""How often, and how finely, goodput is bounded."""
SLACK = 1e-5
"""By how much worse than the best a plan may be that is still looked at: more than ties allow."""


def without_dominated(case: Case) -> Case:
    """Return the case without the products that no plan needs; itself where it needs all.

    The products that stay keep their order, and companions count them as before.
    """
    if len(case.systems) + len(case.storage) <= MANY:
        return case
    if case.objective in OF_COUNTS or case.limits["most_write_gb_per_s"] is not None:
        return case
    gone = _dominated(case)
    if not gone:
        return case
    return replace(
        case,
        systems=tuple(system for system in case.systems if system.id not in gone),
        storage=tuple(item for item in case.storage if item.id not in gone),
        companions=_left(case, gone),
        policy=_policy_left(case.policy, gone),
    )


def _policy_left(policy: Policy, gone: Collection[str]) -> Policy:
    """Return what the buyer wants of vendors as far as it names products that are left."""

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
    """Return the ids of the products that another covers."""
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


def stands_in(case: Case, also: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return pairs of storage items: as many of the first do all that the second do, but for what
    they hold, and take no more. Of alike ones the first is the one that ties would take.

    Args:
        also: sums over the bill that decide beside those of its own objective and limits.
    """
    uses, figures, groups = _uses(case), _figures(case, also), defaultdict(list)
    for item in case.flash:
        if _removable(case, item) and item.installed == 0 and item.unit_net_usd is not None:
            empty = replace(item, usable_tb=0.0)
            takes = _takes(case, empty, uses, figures)
            groups[_alike(case, empty, uses)].append((takes, name_weight(item.id), item))
    return [
        (one[2].id, other[2].id)
        for some in groups.values()
        for one, other in itertools.permutations(some, 2)
        if one[2].high is None
        and all(mine <= theirs for mine, theirs in zip(one[0], other[0], strict=True))
        and (one[0] != other[0] or (one[1], one[2].id) < (other[1], other[2].id))
    ]


def _removable(case: Case, offer: Offer) -> bool:
    return offer.low == 0 and not offer.forced and offer.id not in case.must_use


def _alike(case: Case, offer: Offer, uses: _Uses) -> tuple[object, ...]:
    """Return what two products must have in common for one to stand in for the other."""
    policy = case.policy
    named = (
        tuple(offer.id in ids for ids in policy.required),
        tuple(dict(split.weights).get(offer.id) for split in policy.splits),
        offer.id in policy.disliked,
        offer.vendor if policy.required or policy.splits or policy.disliked else "",
    )
    common = (type(offer), offer.pack, named, frozenset(uses.factors[offer.id]))
    if isinstance(offer, System):
        ways = tuple(
            replace(w, id="", choice="", tflops_per_gpu=0.0, bubble=0.0) for w in offer.ways
        )
        return (*common, offer.gpus, offer.fabrics, ways)
    assert isinstance(offer, Storage)
    table = offer.id if offer.segments else ""
    down = (offer.read_gb_per_s, offer.write_gb_per_s, offer.units_lost)
    worn = offer.endurance_tb_per_day is None
    return (*common, offer.family, table, worn, down if case.tolerate_down else ())


def _takes(case: Case, offer: Offer, uses: _Uses, figures: Iterable[str]) -> list[float]:
    """Return the figures of which less is no worse: what a product takes, and what it lacks."""
    takes = [amount for figure in figures for amount in _amounts(case, offer, SUMS[figure])]
    takes += [offer.spare_share, float(offer.min_order), float(offer.min_units)]
    takes += [factor for _, factor in sorted(uses.factors[offer.id].items())]
    if isinstance(offer, System):
        takes += [-offer.client_write_gb_per_s, -offer.client_read_gb_per_s]
        takes += [value for way in offer.ways for value in (-way.tflops_per_gpu, way.bubble)]
    elif isinstance(offer, Storage):
        takes += [-offer.read_gb_per_s, -offer.write_gb_per_s, -offer.usable_tb]
        takes += [-(offer.endurance_tb_per_day or 0.0), -offer.bulk_tb, -offer.bulk_read_gb_per_s]
        takes += [-offer.burst_gb_per_s, -offer.buffer_gb]
    return takes


def _figures(case: Case, also: Collection[str] = ()) -> list[str]:
    """Return the sums over the bill that decide, those that ties are broken by first."""
    asked = {figure for figure in SUMS if case.limits.get(figure) is not None} | {*also}
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
        for position in companions.positions:
            uses._count(f"positions {position.name}", position.racks)
        return uses

    def owner_of(self, quantity: Quantity) -> str | None:
        """Return the product that a count is of, alone; None where it is of several or none."""
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
    """Return the companions of a case as they count without some products."""
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
        positions=tuple(replace(p, racks=left(p.racks)) for p in companions.positions),
    )


# How far fabrics can grow in any plan that is no worse than the one found.


def outgrown(case: Case, value: float | None) -> bool:
    """Say whether a plan no worse than ``value`` may need a size that has less than a smaller one.

    By a linear program over the units of products alone: their share of every limit, with what
    companions take at least, and at least the useful work found or no more of what is to be least.

    Args:
        value: the best value found, as the model scales it; None where there is no plan.
    """
    falls = [(steps, first) for steps in _steps(case) if (first := _first_fall(steps)) is not None]
    if not falls:
        return False
    bounds, least = _bounds(case), _least(case)
    reach = _Reach([offer.id for offer in case.offers()], bounds.tops)
    for figure in SUMS:
        limit = case.limits.get(figure)
        if limit is not None:
            reach.add(*_own(case, figure, least, limit), 1.0)
    if value is not None:
        _no_worse(case, reach, least, value)
    for steps, first in falls:
        each, constant = bounds.linear(steps.terms)
        most = reach.most(each)
        if most is None:
            return False
        if most + constant > first:
            return True
    return False


@dataclass
class _Reach:
    """Units of products as a linear program: ``names`` with at most ``tops`` of each, and rows."""

    names: list[str]
    tops: Mapping[str, int]
    rows: list[list[float]] = field(default_factory=list)
    most_of_rows: list[float] = field(default_factory=list)

    def add(self, weights: Mapping[str, float], constant: float, most: float) -> None:
        """Add that a sum of units and a constant is no more than so much."""
        self.rows.append([weights.get(name, 0.0) for name in self.names])
        self.most_of_rows.append(most - constant)

    def most(self, weights: Mapping[str, float]) -> float | None:
        """Return the most of a sum of units; None where the rows leave nothing."""
        from scipy.optimize import linprog  # it takes a while to import, and is seldom needed

        found = linprog(
            [-weights.get(name, 0.0) for name in self.names],
            A_ub=self.rows or None,
            b_ub=self.most_of_rows or None,
            bounds=[(0.0, float(self.tops[name])) for name in self.names],
            method="highs",
        )
        if found.status == 2:  # infeasible
            return None
        return math.inf if found.status != 0 else -float(found.fun)


def _steps(case: Case) -> list[Steps]:
    return [each for each in case.companions.quantities if isinstance(each, Steps)]


def _first_fall(steps: Steps) -> int | None:
    """Return what the last size holds before one that has less of something; None: none has."""
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


def _no_worse(
    case: Case, reach: _Reach, least: Mapping[str, Mapping[str, float]], value: float
) -> None:
    """Hold units to plans that are no worse than a value; not where no row says that."""
    name, share = case.objective, case.given_away + SLACK
    best, figure = natural(name, value), ""
    if name in OBJECTIVES:
        figure = OBJECTIVES[name].figure.name
    if figure in SUMS and best > 0.0:
        reach.add(*_own(case, figure, least, best), 1.0 + share)
    elif name in LOGARITHMIC and case.job.scale is None:
        works = {s.id: max(w.usable_gpus * _work(case, w) for w in s.ways) for s in case.systems}
        if name in RATIOS:
            most = best * (1.0 + share) * max(works.values())
            weights, constant = _own(case, "tco_usd", least, most)
            for key, work in works.items():
                weights[key] -= work / max(works.values())
            reach.add(weights, constant, 0.0)
            return
        fastest, goodput = max(_work(case, way) for way in case.ways), 1.0
        for _ in range(ROUNDS):  # so much work takes so many GPUs, which lose so much of it
            goodput = _most_goodput(case, best * (1.0 - share) / fastest / goodput)
        reach.add({key: -goodput * w / best for key, w in works.items()}, 0.0, share - 1.0)


def _most_goodput(case: Case, gpus: float) -> float:
    """Return at least the goodput of any plan with so many GPUs or more: storage takes no time.

    (1 - s/I) exp(-N l R) z/(e^z - 1), z = N l I, is less for more GPUs; of each of many ranges of
    the interval I the first factor counts at its end and the last at its beginning.
    """
    job = case.job
    if job.levels is not None or (job.repair is not None and job.repair.shrinks):
        return 1.0
    rate = gpus * min(way.failures_per_gpu_day for way in case.ways) / 86_400.0
    restarted = math.exp(-rate * job.restart_s)
    low, high = job.interval.low_s, job.interval.high_s
    if job.interval.policy == "lost_work" or not 0.0 < low <= high < math.inf:
        return restarted
    stall_s = job.stall_s if job.modes == ("async",) else 0.0
    ends = [low * (high / low) ** (part / RANGES) for part in range(RANGES + 1)]
    least = [(end, min(rate * begin, 700.0)) for begin, end in itertools.pairwise(ends)]
    kept = (max(0.0, 1.0 - stall_s / end) * z / math.expm1(z) for end, z in least)
    return restarted * float(max(kept))


def _work(case: Case, way: Way) -> float:
    """Return the most useful work of one GPU, in what the objective counts."""
    if case.objective in RATIOS:
        return work_of_one_gpu(case, case.objective, way)
    if case.objective == "useful_gpus":
        return 1.0
    return way.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0
