"""Which items may enter a plan, and in which counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.schema.catalog import Family, Item
from planner.schema.job import Job
from planner.schema.problem import Problem, Quantity
from planner.verifier import excluded
from planner.verifier.bill import fits
from tests.oracle import facility
from tests.oracle.money import Array, Market, within
from tests.oracle.ways import spares_can_be_counted, ways

MOST_UNITS = 400
"""Enumeration gives up beyond: the problem is not small."""


@dataclass(frozen=True)
class Candidate:
    """An item with every count it may have and what each count consumes.

    ``spared`` is what of it is not, by share of power and count, where its GPUs are capped.
    """

    item: Item
    counts: tuple[int, ...]
    consumed: Mapping[int, Array]
    spared: Mapping[float, Mapping[int, Array]] = field(default_factory=dict)

    @property
    def forced(self) -> bool:
        """Whether the item cannot be left out."""
        return not self.counts or self.counts[0] > 0


def candidates(market: Market, category: str, families: Sequence[Family]) -> list[Candidate]:
    """Return the items of a category that may enter, with their counts."""
    items = [item for item in market.catalog.values() if item.category == category]
    return [
        _candidate(item, market, families)
        for item in items
        if enters(item, market) or market.owned(item)
    ]


def enters(item: Item, market: Market) -> bool:
    """Return whether an item may be in the cluster; one that may not stands there if owned."""
    if excluded(market.basis, item, 0 if market.owned(item) else 1) is not None:
        return False
    room = fits(market.basis, item)
    if (room is not None and room[1] == 0) or not facility.connects(item, market.basis):
        return False
    return _has_figures(item, market) and _has_performance(item, market)


def _has_figures(item: Item, market: Market) -> bool:
    problem, site = market.problem, market.problem.site
    if _power_matters(problem) and market.basis.rated_kw(item) is None:
        return False
    height_needed = site.racks is not None and item.consumes.racks is None
    return not height_needed or market.basis.of_unit(item, "rack_units") is not None


def _power_matters(problem: Problem) -> bool:
    """Return whether something is limited, paid or minimised that depends on power."""
    site, budget = problem.site, problem.budget
    figures = (
        site.it_power_kw,
        site.facility_limit_kw,
        site.cooling.air_limit_kw,
        site.cooling.liquid_limit_kw,
        budget.tco_usd,
        budget.opex_usd_per_year,
        budget.per_useful_gpu_hour_usd,
        budget.per_million_tokens_usd,
    )
    by_term = ("tco", "usd_per_useful_gpu_hour", "usd_per_million_tokens")
    goal = problem.objective.minimize in (*by_term, "power", "heat")
    cooled = site.cooling.cdu is not None
    return goal or cooled or any(figure is not None for figure in figures)


def _has_performance(item: Item, market: Market) -> bool:
    problem = market.problem
    if item.category == "gpu_system":
        if item.provides.gpus is None or not _holds_a_tensor_group(item, problem.job):
            return False
        if not _levels_known(item, problem.job):
            return False
        if not spares_can_be_counted(item, problem.job):
            return False
        known = any(way.tflops > 0.0 for way in ways(item, market.basis))
        return known if flops_needed(problem) else bool(ways(item, market.basis))
    bandwidth = item.provides.read is not None and item.provides.write is not None
    return bandwidth and item.provides.usable is not None


def _levels_known(item: Item, job: Job) -> bool:
    """Return whether a type's stall can be derived, and its local level planned where it must."""
    local, drives = job.checkpoint.local, item.local
    if job.checkpoint.stall_s == "derived" and drives.host_copy is None:
        return False
    return local is None or local.use != "yes" or None not in (drives.write, drives.capacity)


def _holds_a_tensor_group(item: Item, job: Job) -> bool:
    """Return whether the GPUs of one system that the job may use hold a tensor group."""
    if job.parallelism is None or job.gpus.whole == "systems" or item.provides.gpus is None:
        return True
    asked = job.gpus.per_system
    limit = asked.get(item.id) if isinstance(asked, dict) else asked
    most = [item.provides.gpus.value, limit]
    return all(job.parallelism.tensor <= gpus for gpus in most if gpus is not None)


def flops_needed(problem: Problem) -> bool:
    """Return whether the objective or a target is in FLOP/s or days."""
    targets = problem.targets
    figures = (
        targets.min_useful_pflops,
        targets.max_days_to_train,
        problem.budget.per_million_tokens_usd,
    )
    goal = problem.objective
    rated = goal.maximize == "goodput" or goal.minimize == "usd_per_million_tokens"
    return rated or any(f is not None for f in figures)


def family_of(item: Item) -> str:
    """Return the family an item serves in."""
    return item.family or item.id


def _candidate(item: Item, market: Market, families: Sequence[Family]) -> Candidate:
    quantity = market.basis.rule(item.id)
    ceiling = _ceiling(item, quantity, families)
    every = np.arange(int(min(ceiling, MOST_UNITS)) + 1)
    standing = facility.standing(item, market.basis)
    there = market.in_place(item, every)
    racks = np.zeros_like(every) if standing is None else standing.racks(there)
    consumed = market.consumption(item, every, racks)
    # Consumption and what must be purchased grow with the count: the first beyond ends the list.
    least, capped = consumed, {}
    for way in ways(item, market.basis) if item.category == "gpu_system" else ():
        if way.power_share != 1.0:
            there_too = market.consumption(item, every, racks, way.power_share)
            capped[way.power_share] = there_too
            least = np.minimum(least, there_too)
    possible = within(least, market.limits()) & market.available(item, every)
    end = len(every) if possible.all() else int(np.argmin(possible))
    if end > MOST_UNITS:
        raise ValueError(f"{item.id}: nothing limits its count to {MOST_UNITS}")
    counts = tuple(
        units
        for units in range(end)
        if _allowed(units, item, quantity, int(there[units]))
        and (units == 0 or enters(item, market))
    )
    rows = {units: consumed[units] for units in range(end)}
    spared = {
        share: {units: consumed[units] - table[units] for units in range(end)}
        for share, table in capped.items()
    }
    return Candidate(item, counts, rows, spared)


def _ceiling(item: Item, quantity: Quantity, families: Sequence[Family]) -> int | float:
    most: list[int | float] = [float("inf")]
    most += [] if quantity.max is None else [quantity.max]
    most += [] if quantity.fixed is None else [quantity.fixed]
    most += [] if item.max_units is None else [item.max_units.value]
    for family in families:
        if family.id == family_of(item) and family.max_units is not None:
            most.append(family.max_units.value)
    return min(most)


def _allowed(units: int, item: Item, quantity: Quantity, there: int) -> bool:
    """Return whether so many may be used with so many there."""
    if quantity.fixed is not None and there != quantity.fixed:
        return False
    if there < (quantity.min or 0):
        return False
    return units == 0 or units >= (1 if item.min_units is None else item.min_units.value)
