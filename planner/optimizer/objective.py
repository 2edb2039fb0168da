"""Objectives: of a run, as columns that a search limits and minimises, and products that lose.

The search scales useful work and money per useful work as logarithms, other money in MUSD. Every
column rises, or stays, with each unit that is bought: sums over the bill, and counts of units with
a weight each.

A price list may hold thousands of near-clones. One covers another of the same family where the
companions count both alike, whatever it takes (money, power, weight) is no more, and whatever it
gives (bandwidth, capacity, endurance, rate) no less: units of the other are then replaced one for
one, and no limit, tie or proof is worse for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256

import numpy as np

from planner.case import Case, Storage, System
from planner.case.figures import SUMS
from planner.case.items import Offer, Terms
from planner.case.model import Ceil, Companions, ObjectiveName, Quantity, Steps, Sum
from planner.figures import FIGURES, OBJECTIVES, RATIOS, Figure
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.bill import Numbers, bill
from planner.optimizer.operate import Run, purchased_storage
from planner.optimizer.useful_work import PRICES, WORK_OBJECTIVES, Measure, Point, Team

TIE_TOLERANCE = 1e-6
"""Plans that differ by no more of the objective count as equally good (docs/model.md)."""
LEAST_TCO_MUSD = 1e-6
"""Counts as paid where nothing is, so that money per work has a logarithm."""
LOGARITHMIC = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that the search scales as logarithms."""
TCO = "tco_usd"
WRITTEN = "bought_write"
"""The write bandwidth of the storage bought, as delivered, whatever clients can move."""
TIES = ("capex_usd", "it_power_kw", "units", "names")
"""Tie-breaks of equally good plans, in this order."""
MANY = 40
"""Up to this number of products none is left out: a model of them is small."""


def name_weight(item_id: str) -> float:
    """A fixed number between 1 and 2 for an item id: the order of plans that nothing else
    tells apart, whatever else is in the catalogs."""
    return 1.0 + int.from_bytes(sha256(item_id.encode()).digest()[:2], "big") / 65_536.0


def scale(figure: Figure) -> float:
    """The scale of a figure in the search."""
    return MILLION if figure.money else 1.0


def natural(name: str, value: float) -> float:
    """An objective's value as the search scales it in the objective's own unit."""
    if name in LOGARITHMIC:
        return math.exp(value)
    return value * scale(OBJECTIVES[name].figure) if name in OBJECTIVES else value


def measure(case: Case, name: str) -> Callable[[Run], float]:
    """The value of an objective or tie-break on a run, as the search scales it."""
    mfu = case.job.mfu or 0.0
    summed = {"capex": "capex_usd", "least_meter": "facility_power_kw"}
    summed |= {key: asked.figure.name for key, asked in OBJECTIVES.items()}
    if name in summed and summed[name] in SUMS:
        figure = FIGURES[summed[name]]
        return lambda o: bill(case, o.units, o.ways)[figure.name] / scale(figure)

    def price(run: Run, ratio: str) -> float:
        spent = max(bill(case, run.units, run.ways)[TCO], LEAST_TCO_MUSD * MILLION)
        return math.log(spent / work_paid(case, run, ratio))

    def written(run: Run) -> float:
        return float(case.delivered_write_share * purchased_storage(case, run.units).sustained[0])

    measures: dict[str, Callable[[Run], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        **{f"usd_{ratio}": partial(price, ratio=ratio) for ratio in PRICES},
        "disliked": lambda o: float(sum(o.units.get(name, 0) for name in case.policy.disliked)),
        "least_write": written,
        "most_write": lambda o: -written(o),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def work_paid(case: Case, run: Run, ratio: str = "") -> float:
    """The useful work of the term that a ratio of money to work pays for, GPU-hours or million
    tokens; without one that of the case's objective."""
    if (ratio or case.objective.removeprefix("usd_")) == "per_useful_gpu_hour":
        return run.useful_gpus * case.rates.hours
    return run.useful_pflops(case.job.mfu or 0.0) * case.million_tokens_per_pflops()


def bill_totals(case: Case, run: Run) -> dict[str, float]:
    """Sums over the bill of a run and its cost of useful work, named as a plan's totals."""
    spent = bill(case, run.units, run.ways)
    found = {name: spent[name] for name in (*SUMS, "racks")}
    for ratio in PRICES if run.useful_gpus > 0 and case.rates.hours > 0 else ():
        tokens = case.job.active_parameters and run.useful_pflops(case.job.mfu or 0.0)
        if ratio == "per_useful_gpu_hour" or tokens:
            found[f"usd_{ratio}"] = spent[TCO] / work_paid(case, run, ratio)
    return found


# A run as a program has it.


def plan_team(case: Case, run: Run) -> Team:
    """The team of a plan: types, ways, mode and spares."""
    running = tuple(case.in_use(run.used, run.ways))
    return Team(running, run.mode, run.every, run.spares, run.spares)


def operating_point(case: Case, run: Run) -> Point:
    """The operating point of a plan."""
    endured = 0.0
    for item in case.bought(run.units):
        each = item.endurance_tb_per_day
        endured += math.inf if each is None else each * run.units[item.id]
    write, read = run.delivered_write_gb_per_s, run.delivered_read_gb_per_s
    return Point(float(run.gpus), write, read, run.degraded_write_gb_per_s, endured or math.inf)


def useful_work(case: Case, run: Run) -> dict[Measure, float]:
    """Useful work of a plan in each measure."""
    return {"gpus": run.useful_gpus, "pflops": run.useful_pflops(case.job.mfu or 0.0)}


# Columns of a search.


@dataclass(frozen=True)
class Columns:
    """The columns of a search, in order, for the purchases of a case.

    Attributes:
        figures: sums over the bill by name, first.
        counted: the other columns by name.
    """

    case: Case
    figures: tuple[str, ...]
    counted: tuple[str, ...]

    @classmethod
    def for_case(cls, case: Case, also: Iterable[str] = ()) -> Columns:
        """The columns that limits of a case need, and others."""
        asked = {*also}
        if case.objective in RATIOS or any(case.limits[name] is not None for name in PRICES):
            asked.add(TCO)
        limited = {each.figure for each in SUPPLIES if case.limits[each.field] is not None}
        if case.limits["most_write_gb_per_s"] is not None:
            asked.add(WRITTEN)
        figures = [name for name in (*SUMS, "racks") if name in limited | asked]
        return cls(case, tuple(figures), tuple(sorted(asked - {*figures})))

    @property
    def names(self) -> tuple[str, ...]:
        """Every column."""
        return (*self.figures, *self.counted)

    def place(self, name: str) -> int:
        """The place of a column."""
        return self.names.index(name)

    @cached_property
    def scale(self) -> Numbers:
        """Units of each column that count as one: money in millions."""
        money = [FIGURES[name].money for name in self.figures]
        return np.array([MILLION if each else 1.0 for each in money] + [1.0] * len(self.counted))

    def limits(self, case: Case) -> Numbers:
        """The limit of a case on each column, infinite where there is none."""
        fields = {each.figure: each.field for each in SUPPLIES}
        most = [case.limits[fields[name]] if name in fields else None for name in self.figures]
        for name in self.counted:
            most.append(case.limits["most_write_gb_per_s"] if name == WRITTEN else None)
        allowed = np.array([math.inf if each is None else each for each in most])
        return np.asarray(allowed / self.scale)

    @cached_property
    def weights(self) -> Numbers:
        """Units of ``counted`` for one unit of each GPU system and storage item, a row each."""
        offers: Sequence[Offer] = (*self.case.systems, *self.case.storage)
        counted: dict[str, Callable[[Offer], float]] = {
            "units": lambda offer: 1.0,
            "names": lambda offer: name_weight(offer.id),
            "disliked": lambda offer: float(offer.id in self.case.policy.disliked),
            WRITTEN: lambda offer: (
                self.case.delivered_write_share
                * (offer.nameplate_write_gb_per_s if isinstance(offer, Storage) else 0.0)
            ),
        }
        rows = [[counted[name](offer) for name in self.counted] for offer in offers]
        return np.array(rows, dtype=float).reshape(len(offers), len(self.counted))


def least_column(objective: str) -> str | None:
    """The column that an objective minimises, None where it is not one."""
    of_questions = {"least_meter": "facility_power_kw", "least_write": WRITTEN}
    if objective in of_questions:
        return of_questions[objective]
    asked = OBJECTIVES.get(objective)
    if asked is None or asked.sense == "maximize" or objective in RATIOS:
        return None
    return asked.figure.name


def for_work(case: Case) -> Case:
    """A case that asks for most work, in the unit that its objective or floor counts."""
    if case.objective in WORK_OBJECTIVES:
        return case
    counted = case.job.mfu is not None and case.useful_pflops_floor() is not None
    tokens = case.objective == "usd_per_million_tokens"
    hours = case.objective == "usd_per_useful_gpu_hour"
    name: ObjectiveName = "useful_gpus"
    if tokens or (counted and not hours):
        name = "goodput"
    return replace(case, objective=name, indifference=0.0).share_bills_of(case)


# Products that no plan needs, because another is as good in everything.


def without_dominated(case: Case) -> Case:
    """The case without the products that no plan needs; itself where it needs all.

    The products that stay keep their order, and companions count them as before.
    """
    many = len(case.systems) + len(case.storage) > MANY
    # Where bandwidth is held or minimised, more of it is no better.
    of_bandwidth = case.objective in ("least_write", "most_write")
    if not many or of_bandwidth or case.limits["most_write_gb_per_s"] is not None:
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
        companions=case.companions.rename_counts(lost),
        covered=(*case.covered, *sorted(gone)),
    )


def without_idle_bursts(case: Case, *plans: Run | None) -> Case:
    """The case of a proof of plans: without bursts where their storage has none, because useful
    work is not concave with them."""
    bursting = [item.id for item in case.storage if item.burst_nameplate_gb_per_s]
    runs = [run for run in plans if run is not None]
    if not case.bursts or any(run.units[name] for run in runs for name in bursting):
        return case
    plain = [replace(i, burst_nameplate_gb_per_s=0.0, buffer_gb=0.0) for i in case.storage]
    return replace(case, storage=tuple(plain))


def _dominated(case: Case, owners: dict[str, str]) -> set[str]:
    """The ids of the products that another covers."""
    counted, groups = _dependents(case.companions, owners), defaultdict(list)
    asked = [name for name in (*TIES, least_column(case.objective)) if name is not None]
    figures = [name for name in Columns.for_case(case, asked).figures if name in SUMS]
    figures.sort(key=lambda name: TIES.index(name) if name in TIES else len(TIES))
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
        tuple(any(offer.id in ids for ids in split.vendors) for split in policy.splits),
        offer.id in policy.disliked,
        offer.vendor if policy.required or policy.splits or policy.disliked else "",
    )
    if isinstance(offer, System):
        ways = tuple(replace(w, id="", choice="", tflops_per_gpu=0.0) for w in offer.ways)
        return (offer.pack, named, offer.gpus, offer.fabrics, ways)
    assert isinstance(offer, Storage)
    down = (offer.nameplate_read_gb_per_s, offer.nameplate_write_gb_per_s, offer.units_lost)
    worn = offer.endurance_tb_per_day is None
    return (offer.pack, named, offer.family, worn, down if case.tolerate_down else ())


def _takes(case: Case, offer: Offer, figures: Iterable[str]) -> list[float]:
    """Figures of which less is no worse: terms of a unit when bought, and in place at each set
    point, and missing properties."""
    states: list[Offer] = [offer]
    if isinstance(offer, System):
        capped = {way.power_share: way for way in offer.ways if way.power_share != 1.0}
        states += [offer.at_set_point(way) for way in capped.values()]
    takes = []
    for parts in (SUMS[figure] for figure in figures):
        takes.append(sum(part.addend(offer, case.rates) for part in parts if part.bought))
        placed = [part for part in parts if not part.bought]
        takes += [sum(part.addend(each, case.rates) for part in placed) for each in states]
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


# What companions count of a product.


def _owners(case: Case) -> dict[str, str]:
    """The product of each count that is of one product alone, such as its racks."""
    owners = {offer.id: offer.id for offer in (*case.systems, *case.storage)}
    owners |= {
        s.fabric_count(fabric): s.id for s in case.multi_fabric_systems for fabric in s.fabrics
    }
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
