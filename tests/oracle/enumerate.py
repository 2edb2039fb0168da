"""The best plan of a small problem by trying every purchase: slow, simple, and exact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Family, Figure, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem
from planner.verifier.job import checkpoint_size
from tests.oracle import compute, facility, operation, stores, worth
from tests.oracle.candidates import Candidate, candidates
from tests.oracle.compute import Compute
from tests.oracle.money import CAPEX, POWER, TCO, Array, Market, Mask, within
from tests.oracle.stores import Stores
from tests.oracle.worth import ROUNDING, Plant, preferred_kinds

TIE = 1e-6
"""Objectives and tie-breakers this close (relative) count as equal."""
EDGE = 0.2
"""Values that are apart by a tie, give or take this share of it, count as equal or not: the check
of a tie in the optimiser is so much looser than its row."""
NOTHING_GB_PER_S = 1e-12
AT_A_TIME = 50
"""Purchases whose companions are counted before it is asked which are still worth it."""
Mode = Literal["async", "sync", "local"]


@dataclass(frozen=True)
class Best:
    """The best plan: value of the objective, its tie-breakers, and how it is reached.

    ``top`` is the best value there is, ``top_capex_usd`` the least and the most that the
    cheapest plan so good costs, as closely as a solver's tolerance tells what is as good;
    ``value`` is worse where preferred vendors or money are worth it, and ``others`` counts the
    units from vendors that are not preferred.
    """

    value: float
    capex_usd: float
    it_power_kw: float
    units: int
    counts: dict[str, int]
    gpus_used: int
    mode: Mode
    interval_s: float
    goodput: float
    top: float
    top_capex_usd: tuple[float, float]
    others: int


@dataclass(frozen=True)
class _Found:
    """Feasible plans of one choice of GPUs and one mode, a row per storage purchase."""

    choice: Compute
    mode: Mode
    counts: npt.NDArray[np.int64]
    value: Array
    capex_usd: Array
    it_power_kw: Array
    units: Array
    interval_s: Array
    goodput: Array
    others: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]

    def rows(self, chosen: Mask | npt.NDArray[np.int64]) -> _Found:
        columns = {
            name: column for name, column in vars(self).items() if name not in ("choice", "mode")
        }
        return replace(self, **{name: column[chosen] for name, column in columns.items()})


def best(
    problem: Problem,
    items: Sequence[Item],
    families: Sequence[Family],
    prices: Mapping[str, Price],
    discounts: Sequence[Discount] = (),
) -> Best | None:
    """Return the best plan by exhaustive enumeration, None where no plan is feasible.

    With several options to spread a replica each is a problem of its own, and so is each compute
    fabric that may be built, and each number of GPUs used of a system; all plans compete.
    """
    every = Market(problem, {item.id: item for item in items}, prices, discounts, families)
    known = {item.id: _worn(item, every) for item in items}
    job = problem.job
    markets = []
    for option, network in product(job.options or (None,), facility.built(problem.network)):
        jobs = (job.model_copy(update={"parallelisms": option}),)
        for one in compute.uses(jobs[0], items):
            alone = problem.model_copy(update={"jobs": (one,), "network": network})
            markets.append(Market(alone, known, prices, discounts, families))
    # What is preferred is asked of the problem: a type may fit one of the options alone.
    kinds = frozenset().union(*(preferred_kinds(market) for market in markets))
    found = [plan for market in markets for plan in _every(market, families, kinds)]
    return None if not found else _first(problem, found)


def _every(
    market: Market, families: Sequence[Family], kinds: frozenset[str]
) -> list[tuple[_Found, list[str]]]:
    """Return every plan that ties with the best where a replica is spread in one way.

    ``kinds`` are the categories in which a preferred vendor has something on offer.
    """
    problem = market.problem
    systems = candidates(market, "gpu_system", families)
    storage = candidates(market, "storage", families)
    if not _has_what_is_demanded(market, (*systems, *storage)):
        return []
    bought = [candidate.item for candidate in (*systems, *storage)]
    plant = Plant(market, bought, kinds)
    limits = market.limits()
    gpus = [
        choice
        for choice in compute.choices(market, systems)
        if bool(within(choice.consumed, limits))
    ]
    if not gpus:
        return []
    left = limits - np.min([choice.consumed for choice in gpus], axis=0)
    purchases = stores.choices(problem, storage, families, left)
    if purchases is None:
        return []
    ids = [item.id for item in bought]
    return [(found, ids) for found in _Search(problem, plant, purchases).run(gpus)]


def _has_what_is_demanded(market: Market, entering: Sequence[Candidate]) -> bool:
    """Say whether every product that must be in the cluster may be in it."""
    there = {candidate.item.id for candidate in entering}
    return all(
        item.id in there or not (asked.min or asked.fixed)
        for item in market.catalog.values()
        if item.category in ("gpu_system", "storage")
        for asked in (market.basis.rule(item.id),)
    )


def _worn(item: Item, market: Market) -> Item:
    """Return an item with what the problem counts as written to it at most, a day."""
    if item.category != "storage":
        return item
    most = market.basis.unit_endurance(item.id)
    known = None if most is None else Figure(value=most, source="derived", confidence="low")
    provides = item.provides.model_copy(update={"endurance": known})
    return item.model_copy(update={"provides": provides})


class _Search:
    """All choices of GPUs against all storage purchases, skipping what cannot win."""

    def __init__(self, problem: Problem, plant: Plant, purchases: Stores) -> None:
        self.problem = problem
        self.plant = plant
        self.purchases = purchases
        self.dream = purchases.dream()
        self.sign = 1.0 if problem.objective.maximize is not None else -1.0
        self.best = -math.inf
        prefer = problem.policy.prefer
        self.slack = TIE + (0.0 if prefer is None else prefer.within)
        self.slack += problem.objective.indifferent

    def run(self, gpus: Sequence[Compute]) -> list[_Found]:
        """Return every plan that ties with the best (and some that were best for a while)."""
        wanted = self.problem.job.checkpoint.mode
        modes: tuple[Mode, ...] = ("async", "sync") if wanted == "open" else (wanted,)
        local = self.problem.job.checkpoint.local
        if local is not None and local.use != "no":
            modes = ("local",) if local.use == "yes" else (*modes, "local")
        # The best hopes first: the sooner a good plan is known, the more is skipped. What a choice
        # would be worth without any loss is known at once, and the rest of its hope seldom needed.
        pairs = [(mode, choice) for choice in gpus for mode in modes]
        hopes = [-self._hope(choice, None) for choice in gpus]
        waiting = [(hopes[at // len(modes)], False, at) for at in range(len(pairs))]
        heapify(waiting)
        found = []
        while waiting:
            hope, is_known, at = heappop(waiting)
            mode, choice = pairs[at]
            if hope == math.inf or -hope < self._tied():
                break
            if not is_known:
                heappush(waiting, (-self._hope(choice, mode), True, at))
                continue
            found += self._plans(choice, mode)
        return found

    def _tied(self) -> float:
        """Return the signed objective from which on a plan ties with the best one known."""
        if self.best == -math.inf:
            return -math.inf
        return self.best - self.slack * abs(self.best) - 1e-300

    def _hope(self, choice: Compute, mode: Mode | None) -> float:
        """Return a signed objective that no purchase reaches beyond: all storage is as dreamt.

        Goodput, limits and targets never get worse with more bandwidth, endurance or client
        factor, nor with less consumption, here without companions; a fixed or lost-work interval
        does not depend on them. Without a mode nothing is lost but to swaps.
        """
        consumed, limits = self.dream.consumed + choice.consumed, self.plant.limits
        if mode is None:
            rate = np.array([1.0 + ROUNDING])
            met = within(consumed, limits) & _is_met(self.problem, choice, rate, consumed)
            values = worth.value(self.problem, choice, rate, consumed)[met & (rate > 0.0)]
        else:
            values = _plans(self.problem, choice, mode, self.dream, consumed, limits).value
        return float(self.sign * values[0]) if len(values) else -math.inf

    def _plans(self, choice: Compute, mode: Mode) -> list[_Found]:
        """Return plans of one choice of GPUs that tie with the best one known, best hopes first.

        What comes with a purchase makes no plan better: it is counted for those that tie without.
        """
        found, own = [], self.purchases.consumed + choice.consumed
        hoped = _plans(self.problem, choice, mode, self.purchases, own, self.plant.limits)
        order = np.argsort(-self.sign * hoped.value, kind="stable")
        for first in range(0, len(order), AT_A_TIME):
            some = hoped.rows(order[first : first + AT_A_TIME])
            some = some.rows(self.sign * some.value >= self._tied())
            if not len(some.value):
                break
            consumed, possible = self.plant.of(choice.bought, some.counts)
            purchases = self.purchases.rows(some.place[possible])
            consumed = purchases.consumed + choice.consumed + consumed[possible]
            plans = _plans(self.problem, choice, mode, purchases, consumed, self.plant.limits)
            if len(plans.value):
                self.best = max(self.best, float((self.sign * plans.value).max()))
                others = self.plant.others(choice.bought, plans.counts)
                plans = replace(plans, others=others)
                found.append(plans.rows(self.sign * plans.value >= self._tied()))
        return found


def _plans(
    problem: Problem,
    choice: Compute,
    mode: Mode,
    purchases: Stores,
    consumed: Array,
    limits: Array,
) -> _Found:
    """Return the feasible plans of one choice of GPUs with each storage purchase."""
    kept = within(consumed, limits) & worth.rule_holds(problem, choice, purchases)
    purchases, consumed, job = purchases.rows(kept), consumed[kept], problem.job
    write, read = _delivered(problem, choice, purchases, down=False)
    write_down, read_down = _delivered(problem, choice, purchases, down=True)
    ingest = choice.gpus_used * job.ingest_per_gpu_gb_per_s <= read * (1.0 + ROUNDING)
    restore_gb, size_gb = _restore_gb(problem, choice), checkpoint_size(job)[0]
    most_s = (job.restore.max_time_s or math.inf) * (1.0 + ROUNDING)
    in_time = restore_gb / read_down <= most_s
    # With all of it down nothing is left, whatever the limits.
    in_time &= (write_down > NOTHING_GB_PER_S) & (read_down > NOTHING_GB_PER_S)
    drains = size_gb / write, size_gb / write_down
    interval_s, rate = operation.run(problem, choice, mode, purchases, drains, restore_gb / read)
    found = _Found(
        choice,
        mode,
        purchases.counts,
        worth.value(problem, choice, rate, consumed),
        consumed[:, CAPEX],
        consumed[:, POWER],
        purchases.counts.sum(axis=1) + float(choice.units),
        interval_s,
        rate,
        np.zeros(len(rate), dtype=np.int64),
        np.flatnonzero(kept),
    )
    met = _is_met(problem, choice, rate, consumed)
    return found.rows(ingest & in_time & (rate > 0.0) & met)


def _is_met(problem: Problem, choice: Compute, rate: Array, consumed: Array) -> Mask:
    """Return whether what is asked of a goodput, and of what it costs, is met."""
    reaches = worth.reaches(problem, choice, rate)
    return np.asarray(reaches & worth.pays(problem, choice, rate, consumed[:, TCO]))


def _delivered(
    problem: Problem, choice: Compute, purchases: Stores, down: bool
) -> tuple[Array, Array]:
    """Return what is delivered for writing and for reading, with appliances down or not."""
    shares = problem.storage.delivered_fraction
    write = purchases.write_down_gb_per_s if down else purchases.write_gb_per_s
    read = purchases.read_down_gb_per_s if down else purchases.read_gb_per_s
    # Nothing at all is left where time is infinite, and then no limit holds.
    write = np.maximum(shares.write * write, NOTHING_GB_PER_S)
    read = np.maximum(shares.read * read, NOTHING_GB_PER_S)
    return (
        np.minimum(write, choice.client_write_gb_per_s * purchases.write_factor),
        np.minimum(read, choice.client_read_gb_per_s * purchases.read_factor),
    )


def _restore_gb(problem: Problem, choice: Compute) -> float:
    """Return what all readers together read: the checkpoint times its fan-out."""
    job = problem.job
    size_gb, each = checkpoint_size(job)
    if job.restore.fan_out == "broadcast" or job.parallelism is None:
        return size_gb
    replicas = choice.gpus_used / job.parallelism.replica_gpus
    if job.restore.fan_out == "every_replica":
        return size_gb * replicas
    return size_gb * ((each - 2.0) + 2.0 * replicas) / each


def _first(problem: Problem, of_options: Sequence[tuple[_Found, list[str]]]) -> Best:
    """Return the plan that objective, capex, IT power, units and goodput put first, in order.

    Before them, among plans good enough, come the fewest units from vendors not preferred.
    """
    sign = -1.0 if problem.objective.maximize is not None else 1.0
    owned = any(rule.in_place for rule in problem.items.values())
    found = [plans for plans, _ in of_options]
    keys = np.vstack(
        [
            np.column_stack(
                [
                    sign * f.value,
                    f.capex_usd,
                    f.it_power_kw,
                    sign * f.value if owned else 0.0 * f.value,
                    f.units,
                    -f.goodput,
                ]
            )
            for f in found
        ]
    )
    places = [(f, ids, row) for f, ids in of_options for row in range(len(f.value))]
    others = np.concatenate([f.others for f in found])
    left, top = np.arange(len(keys)), keys[:, 0].min()
    if problem.policy.prefer is not None:
        near = top + (TIE + problem.policy.prefer.within) * abs(top)
        left = left[keys[:, 0] <= near]
        left = left[others[left] == others[left].min()]
    widths = [max(TIE, problem.objective.indifferent), *(TIE for _ in keys.T[1:])]
    for column, width in zip(keys.T, widths, strict=True):
        lowest = column[left].min()
        left = left[column[left] <= lowest + width * abs(lowest)]

    def least(width: float) -> float:
        return float(keys[keys[:, 0] <= top + width * abs(top), 1].min())

    plans, ids, row = places[int(left[0])]
    bought = (*plans.choice.bought, *(int(n) for n in plans.counts[row]))
    return Best(
        value=float(plans.value[row]),
        capex_usd=float(plans.capex_usd[row]),
        it_power_kw=float(plans.it_power_kw[row]),
        units=int(plans.units[row]),
        counts={name: count for name, count in zip(ids, bought, strict=True) if count},
        gpus_used=plans.choice.gpus_used,
        mode=plans.mode,
        interval_s=float(plans.interval_s[row]),
        goodput=float(plans.goodput[row]),
        top=float(sign * top),
        top_capex_usd=(least(TIE * (1.0 + EDGE)), least(TIE * (1.0 - EDGE))),
        others=int(plans.others[row]),
    )
