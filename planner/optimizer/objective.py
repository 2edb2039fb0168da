"""Objectives, tie-breaks, floors: of a run, and as the columns that a search limits and minimises.

The search scales useful work and money per useful work as logarithms, other money in MUSD. Every
column rises, or stays, with each unit that is bought: sums over the bill, and counts of units with
a weight each. Of bandwidth that falls somewhere by a table of sizes boxes see the least per unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from planner.case import Case
from planner.case.figures import SUMS
from planner.case.items import Offer, Storage, ends
from planner.figures import FIGURES, OBJECTIVES, RATIOS, Figure
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.bill import Numbers, bill
from planner.optimizer.operate import Run
from planner.optimizer.stores import bought_write_gb_per_s
from planner.optimizer.work import PRICES

TIE_TOLERANCE = 1e-6
"""Plans that differ by no more of the objective count as equally good (docs/model.md)."""
FLOOR_TOLERANCE = 9e-8
LEAST_TCO_MUSD = 1e-6
"""Counts as paid where nothing is, so that money per work has a logarithm."""
LOGARITHMIC = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that the search scales as logarithms."""


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
    measures: dict[str, Callable[[Run], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "usd_per_useful_gpu_hour": lambda o: math.log(_tco(case, o) / useful_hours(case, o)),
        "usd_per_million_tokens": lambda o: math.log(_tco(case, o) / million_tokens(case, o)),
        "disliked": lambda o: float(sum(o.units[name] for name in case.policy.disliked)),
        "least_write": lambda o: bought_write_gb_per_s(case, o.units),
        "most_write": lambda o: -bought_write_gb_per_s(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def useful_hours(case: Case, run: Run) -> float:
    """The useful GPU-hours of the term."""
    return run.useful_gpus * case.rates.hours


def million_tokens(case: Case, run: Run) -> float:
    """The million tokens trained in the term."""
    return run.useful_pflops(case.job.mfu or 0.0) * case.million_tokens_per_pflops()


def work_of_ratio(case: Case, run: Run) -> float:
    """The useful work of the term that the case's objective pays for: hours, or tokens."""
    hours = case.objective == "usd_per_useful_gpu_hour"
    return useful_hours(case, run) if hours else million_tokens(case, run)


def totals_of(case: Case, run: Run) -> dict[str, float]:
    """Sums over the bill of a run and its cost of useful work, named as a plan's totals."""
    spent, hours = bill(case, run.units, run.ways), useful_hours(case, run)
    found = {name: spent[name] for name in (*SUMS, "racks")}
    if hours > 0:
        found["usd_per_useful_gpu_hour"] = spent["tco_usd"] / hours
    if hours > 0 and case.job.active_parameters and run.useful_pflops(case.job.mfu or 0.0):
        found["usd_per_million_tokens"] = spent["tco_usd"] / million_tokens(case, run)
    return found


def _tco(case: Case, run: Run) -> float:
    return max(bill(case, run.units, run.ways)["tco_usd"], LEAST_TCO_MUSD * MILLION)


def floors(case: Case, tolerance: float = FLOOR_TOLERANCE) -> Callable[[Run], bool]:
    """The predicate whether a run reaches every floor, and ratio of money to work."""
    limits, mfu, pflops = case.limits, case.job.mfu or 0.0, case.useful_pflops_floor()

    def meets(run: Run) -> bool:
        checks = (
            (limits["min_goodput"], run.goodput),
            (limits["min_useful_gpus"], run.useful_gpus),
            (pflops, run.useful_pflops(mfu)),
            *_ratios(case, run),
        )
        return all(f is None or value >= f * (1 - tolerance) for f, value in checks)

    return meets


def _ratios(case: Case, run: Run) -> Iterator[tuple[float, float]]:
    """Yield the TCO and the most that the useful work may cost for each ratio that is limited."""
    works = {"per_useful_gpu_hour": useful_hours, "per_million_tokens": million_tokens}
    for name, work in works.items():
        limit = case.limits[name]
        if limit is not None:
            yield bill(case, run.units, run.ways)["tco_usd"], limit * work(case, run)


# Columns of a search.


TCO = "tco_usd"
WRITTEN = "bought_write"
"""The write bandwidth of the storage bought, as delivered, whatever clients can move."""
TIES = ("capex_usd", "it_power_kw", "units", "names")
"""Tie-breaks of equally good plans, in this order."""


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
    def of(cls, case: Case, also: Iterable[str] = ()) -> Columns:
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
        rows = [[self._counts(name, offer) for name in self.counted] for offer in offers]
        return np.array(rows, dtype=float).reshape(len(offers), len(self.counted))

    def _counts(self, name: str, offer: Offer) -> float:
        stores = isinstance(offer, Storage)
        if name == WRITTEN:
            return self.case.delivered_write_share * least_write(offer) if stores else 0.0
        by_name = {
            "units": 1.0,
            "names": name_weight(offer.id),
            "disliked": float(offer.id in self.case.policy.disliked),
        }
        return by_name[name]


def least_write(item: Offer) -> float:
    """The least write bandwidth that a unit of storage gives in any number, GB/s."""
    assert isinstance(item, Storage)
    if not item.segments:
        return item.nameplate_write_gb_per_s
    return min(write / count for count, _, write in ends(item))


def most_each(item: Storage) -> tuple[float, float]:
    """The most (read, write) bandwidth that a unit of an item gives, GB/s."""
    if not item.segments:
        return item.nameplate_read_gb_per_s, item.nameplate_write_gb_per_s
    known = ends(item)
    return max(r / n for n, r, _ in known), max(w / n for n, _, w in known)


def least_column(objective: str) -> str | None:
    """The column that an objective minimises, None where it is not one."""
    of_questions = {
        "least_meter": "facility_power_kw",
        "least_write": WRITTEN,
    }
    if objective in of_questions:
        return of_questions[objective]
    asked = OBJECTIVES.get(objective)
    if asked is None or asked.sense == "maximize" or objective in RATIOS:
        return None
    return asked.figure.name
