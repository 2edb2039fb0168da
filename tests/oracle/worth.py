"""What a plan is worth: objectives, targets, budgets on useful work, the vendors' rules."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import CustomRule, Problem, Split
from planner.verifier.limits import RULES
from tests.oracle.candidates import enters
from tests.oracle.companions import Companions
from tests.oracle.compute import Compute
from tests.oracle.facility import SLIVER, Whole
from tests.oracle.money import CAPEX, HOURS_PER_YEAR, POWER, RESOURCES, TCO, Array, Market, Mask
from tests.oracle.stores import Stores

ROUNDING = 1e-9
BTU_PER_H = 3412.14
SECONDS_PER_DAY = 86_400.0


def useful_pflops(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the useful PFLOP/s at each goodput."""
    training = problem.job.training
    if training.mfu is None and training.model is None:
        raise ValueError("useful FLOP/s need training.mfu or training.model")
    return choice.gpus_used * choice.useful_tflops * rate / 1000.0


def value(problem: Problem, choice: Compute, rate: Array, consumed: Array) -> Array:
    """Return the objective of each plan."""
    goal = problem.objective
    if goal.maximize == "goodput":
        return useful_pflops(problem, choice, rate)
    if goal.maximize == "useful_gpus":
        return choice.gpus_used * rate
    if goal.maximize == "gpus":
        return np.full(len(rate), float(choice.gpus_used))
    if goal.minimize == "usd_per_useful_gpu_hour":
        return np.asarray(consumed[:, TCO] / _useful_hours(problem, choice, rate))
    if goal.minimize == "usd_per_million_tokens":
        return np.asarray(consumed[:, TCO] / _million_tokens(problem, choice, rate))
    column = {"cost": CAPEX, "tco": TCO, "power": POWER, "heat": POWER}[goal.minimize or "cost"]
    return np.asarray(consumed[:, column] * (BTU_PER_H if goal.minimize == "heat" else 1.0))


def reaches(problem: Problem, choice: Compute, rate: Array) -> Mask:
    """Return whether the targets that depend on goodput are met."""
    targets, training = problem.targets, problem.job.training
    useful = choice.gpus_used * rate * (1.0 + ROUNDING)
    met = rate * (1.0 + ROUNDING) >= (targets.min_goodput or 0.0)
    met &= useful >= (targets.min_useful_gpus or 0.0)
    if targets.min_useful_pflops is None and targets.max_days_to_train is None:
        return met
    pflops = useful_pflops(problem, choice, rate) * (1.0 + ROUNDING)
    met &= pflops >= (targets.min_useful_pflops or 0.0)
    if targets.max_days_to_train is not None:
        active = training.active_parameters or problem.job.parameters
        work_flop = 6.0 * (active or 0.0) * (training.tokens or 0.0)
        met &= pflops * 1e15 * targets.max_days_to_train * SECONDS_PER_DAY >= work_flop
    return np.asarray(met)


def pays(problem: Problem, choice: Compute, rate: Array, tco_usd: Array) -> Mask:
    """Return whether the budgets on useful work are kept."""
    budget = problem.budget
    met = np.ones(len(rate), dtype=bool)
    if problem.term is None:
        return met
    if budget.per_useful_gpu_hour_usd is not None:
        most = budget.per_useful_gpu_hour_usd * (1.0 + ROUNDING)
        met &= tco_usd <= most * _useful_hours(problem, choice, rate)
    if budget.per_million_tokens_usd is not None:
        most = budget.per_million_tokens_usd * (1.0 + ROUNDING)
        met &= tco_usd <= most * _million_tokens(problem, choice, rate)
    return met


def _useful_hours(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the useful GPU-hours of the term at each goodput."""
    assert problem.term is not None
    # No goodput at all is no plan; it must not divide by zero before it is left out.
    return choice.gpus_used * np.maximum(rate, 1e-300) * HOURS_PER_YEAR * problem.term.years


def _million_tokens(problem: Problem, choice: Compute, rate: Array) -> Array:
    """Return the million tokens trained in the term at each goodput."""
    assert problem.term is not None
    active = problem.job.training.active_parameters or problem.job.parameters or 0.0
    useful_flop = useful_pflops(problem, choice, np.maximum(rate, 1e-300)) * 1e15
    tokens = useful_flop * HOURS_PER_YEAR * problem.term.years * 3600.0 / (6.0 * active)
    return np.maximum(tokens / 1e6, 1e-300)


def rule_holds(problem: Problem, choice: Compute, purchases: Stores) -> Mask:
    """Return which purchases a vendor's rule, if one is asked for, is content with."""
    rule = problem.storage.rule
    if rule == "demand":
        return np.ones(len(purchases), dtype=bool)
    if isinstance(rule, CustomRule):
        read, write, per_gpus = rule.read, rule.write, 1
    else:
        read, write, per_gpus = RULES[rule]
    times = math.ceil(choice.gpus_bought / per_gpus) * (1.0 - ROUNDING)
    enough = (purchases.read_gb_per_s >= read * times) & (purchases.write_gb_per_s >= write * times)
    return np.asarray(enough)


# All that follows from counts: what companions consume, and the policies on vendors.


class Plant:
    """Companions and policies, worked out once for each purchase of GPU systems.

    ``kinds`` are the categories in which a preferred vendor has something on offer.
    """

    def __init__(
        self, market: Market, items: Sequence[Item], kinds: frozenset[str] = frozenset()
    ) -> None:
        self.market = market
        self.items = items
        self.kinds = kinds
        self.limits = market.limits()
        self.companions = Companions(market, items)
        self._seen: dict[tuple[int, ...], tuple[Array, bool]] = {}

    def of(self, bought: tuple[int, ...], stores: Whole) -> tuple[Array, Mask]:
        """Return what comes with GPU systems bought and each storage purchase (rows), and where
        that is possible."""
        counts = self._joined(bought, stores)
        rows = [tuple(row) for row in counts.tolist()]
        new = [row for row in rows if row not in self._seen]
        if new:
            units = np.array(new, dtype=np.int64)
            possible, consumed = holds(self.market, self.items, units), np.zeros(RESOURCES)
            self._seen |= dict.fromkeys(new, (consumed, False))
            units = units[possible]
            every, room = self.companions.consumption(units)
            pairs = zip(every, room.tolist(), strict=True)
            self._seen |= zip(map(tuple, units.tolist()), pairs, strict=True)
        found = [self._seen[row] for row in rows]
        return np.array([c for c, _ in found]), np.array([p for _, p in found], dtype=bool)

    def others(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        """Return the units from vendors that are not preferred."""
        return others(self.market, self.items, self._joined(bought, stores), self.kinds)

    def _joined(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        systems = np.tile(np.array(bought, dtype=np.int64), (len(stores), 1))
        return np.hstack([systems, stores])


# Some vendors required, none too large, some preferred.


def holds(market: Market, items: Sequence[Item], counts: Whole) -> Mask:
    """Return where counts (a column for each item) obey the policies."""
    kept = np.ones(len(counts), dtype=bool)
    for vendor in market.problem.policy.require_vendors:
        kept &= _units(items, counts, {vendor}) >= 1
    for split in market.problem.policy.split:
        kept &= _split(market, split, items, counts)
    return kept


def preferred_kinds(market: Market) -> frozenset[str]:
    """Return the categories in which a preferred vendor has something on offer."""
    prefer = market.problem.policy.prefer
    if prefer is None:
        return frozenset()
    return frozenset(
        item.category
        for item in market.catalog.values()
        if item.category in ("gpu_system", "storage")
        and item.vendor in prefer.vendors
        and enters(item, market)
    )


def others(market: Market, items: Sequence[Item], counts: Whole, kinds: frozenset[str]) -> Whole:
    """Return the units from vendors that are not preferred, 0 where none are.

    Where no preferred vendor is on offer, in ``kinds``, there is nothing to prefer.
    """
    prefer = market.problem.policy.prefer
    if prefer is None:
        return np.zeros(len(counts), dtype=np.int64)
    other = [
        item.category in kinds and item.vendor not in prefer.vendors and enters(item, market)
        for item in items
    ]
    return np.asarray(counts[:, other].sum(axis=1))


def _units(items: Sequence[Item], counts: Whole, vendors: set[str]) -> Whole:
    chosen = [item.vendor in vendors for item in items]
    return np.asarray(counts[:, chosen].sum(axis=1))


def _split(market: Market, split: Split, items: Sequence[Item], counts: Whole) -> Mask:
    """Return where no vendor has more than its share of a category."""
    places = [place for place, item in enumerate(items) if item.category == split.category]
    shares: dict[str, Array] = {}
    for place in places:
        item = items[place]
        shares[item.vendor] = shares.get(item.vendor, np.zeros(len(counts))) + counts[:, place]
    total = sum(shares.values(), np.zeros(len(counts)))
    largest = np.max([*shares.values(), np.zeros(len(counts))], axis=0)
    return np.asarray(largest <= split.max_share * total * (1.0 + SLIVER))
