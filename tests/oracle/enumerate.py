"""The best plan of a small problem by trying every purchase: slow, simple, and exact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import CustomRule, FixedInterval, LostWorkInterval, Problem
from tests.oracle import compute, stores
from tests.oracle.candidates import candidates
from tests.oracle.compute import Compute
from tests.oracle.goodput import best_interval_s, goodput
from tests.oracle.money import CAPEX, POWER, TCO, Array, Market, within
from tests.oracle.stores import Stores

TIE = 1e-6
"""Objectives and tie-breakers this close (relative) count as equal."""
ROUNDING = 1e-9
SECONDS_PER_DAY = 86_400.0
Mode = Literal["async", "sync"]
Mask = npt.NDArray[np.bool_]

# DDN guidance per GPU and NVIDIA DGX SuperPOD H100 guidance per 256 GPUs: read, write, GPUs.
VENDOR_RULES = {
    "light": (1.0, 0.75, 1),
    "medium": (2.0, 1.5, 1),
    "high": (4.0, 3.0, 1),
    "good": (15.0, 7.0, 256),
    "better": (40.0, 20.0, 256),
    "best": (125.0, 62.0, 256),
}


@dataclass(frozen=True)
class Best:
    """The best plan: value of the objective, its tie-breakers, and how it is reached."""

    value: float
    capex_usd: float
    it_power_kw: float
    units: int
    counts: dict[str, int]
    gpus_used: int
    mode: Mode
    interval_s: float
    goodput: float


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

    def rows(self, chosen: Mask) -> _Found:
        return _Found(
            self.choice,
            self.mode,
            self.counts[chosen],
            self.value[chosen],
            self.capex_usd[chosen],
            self.it_power_kw[chosen],
            self.units[chosen],
            self.interval_s[chosen],
            self.goodput[chosen],
        )


def best(
    problem: Problem,
    items: Sequence[Item],
    families: Sequence[Family],
    prices: Mapping[str, Price],
    discounts: Sequence[Discount] = (),
) -> Best | None:
    """Return the best plan by exhaustive enumeration, None where no plan is feasible."""
    market = Market(problem, {item.id: item for item in items}, prices, discounts)
    systems = candidates(market, "gpu_system", families)
    storage = candidates(market, "storage", families)
    limits = market.limits()
    gpus = [c for c in compute.choices(problem, systems) if bool(within(c.consumed, limits))]
    if not gpus:
        return None
    left = limits - np.min([choice.consumed for choice in gpus], axis=0)
    purchases = stores.choices(problem, storage, families, left)
    if purchases is None:
        return None
    found = _Search(problem, limits).run(gpus, purchases)
    ids = [candidate.item.id for candidate in (*systems, *storage)]
    return None if not found else _first(problem, found, ids)


class _Search:
    """All choices of GPUs against all storage purchases, skipping what cannot win."""

    def __init__(self, problem: Problem, limits: Array) -> None:
        self.problem = problem
        self.limits = limits
        self.sign = 1.0 if problem.objective.maximize is not None else -1.0
        self.best = -math.inf

    def run(self, gpus: Sequence[Compute], purchases: Stores) -> list[_Found]:
        """Return every plan that ties with the best (and some that were best for a while)."""
        dream = purchases.dream()
        wanted = self.problem.job.checkpoint.mode
        modes: tuple[Mode, ...] = ("async", "sync") if wanted == "open" else (wanted,)
        pairs = [(self._hope(c, mode, dream), c, mode) for c in gpus for mode in modes]
        # The best hopes first: the sooner a good plan is known, the more is skipped.
        pairs.sort(key=lambda pair: -pair[0])
        found = []
        for hope, choice, mode in pairs:
            if hope == -math.inf or hope < self._tied():
                break
            plans = _plans(self.problem, choice, mode, purchases, self.limits)
            if len(plans.value):
                self.best = max(self.best, float((self.sign * plans.value).max()))
                found.append(plans.rows(self.sign * plans.value >= self._tied()))
        return found

    def _tied(self) -> float:
        """Return the signed objective from which on a plan ties with the best one known."""
        if self.best == -math.inf:
            return -math.inf
        return self.best - TIE * abs(self.best) - 1e-300

    def _hope(self, choice: Compute, mode: Mode, dream: Stores) -> float:
        """Return a signed objective that no purchase reaches beyond: all storage is as ``dream``.

        Goodput, limits and targets never get worse with more bandwidth, endurance or client
        factor, nor with less consumption; a fixed or lost-work interval does not depend on them.
        """
        plans = _plans(self.problem, choice, mode, dream, self.limits)
        return float(self.sign * plans.value[0]) if len(plans.value) else -math.inf


def _plans(
    problem: Problem, choice: Compute, mode: Mode, purchases: Stores, limits: Array
) -> _Found:
    """Return the feasible plans of one choice of GPUs with each storage purchase."""
    affordable = within(purchases.consumed + choice.consumed, limits)
    purchases = purchases.rows(affordable & _rule_holds(problem, choice, purchases))
    shares, job = problem.storage.delivered_fraction, problem.job
    write = np.minimum(
        shares.write * purchases.write_gb_per_s,
        choice.client_write_gb_per_s * purchases.write_factor,
    )
    read = np.minimum(
        shares.read * purchases.read_gb_per_s, choice.client_read_gb_per_s * purchases.read_factor
    )
    ingest = choice.gpus_used * job.ingest_per_gpu_gb_per_s <= read * (1.0 + ROUNDING)
    restore_s = _restore_gb(problem, choice) / read
    in_time = restore_s <= (job.restore.max_time_s or math.inf) * (1.0 + ROUNDING)
    write_s = stores.checkpoint_gb(job) / write
    interval_s, rate = _run(problem, choice, mode, purchases, write_s, restore_s)
    consumed = purchases.consumed + choice.consumed
    found = _Found(
        choice,
        mode,
        purchases.counts,
        _value(problem, choice, rate, consumed),
        consumed[:, CAPEX],
        consumed[:, POWER],
        purchases.counts.sum(axis=1) + float(choice.units),
        interval_s,
        rate,
    )
    return found.rows(ingest & in_time & (rate > 0.0) & _reaches(problem, choice, rate))


def _rule_holds(problem: Problem, choice: Compute, purchases: Stores) -> Mask:
    rule = problem.storage.rule
    if rule == "demand":
        return np.ones(len(purchases), dtype=bool)
    if isinstance(rule, CustomRule):
        read, write, per_gpus = rule.read, rule.write, rule.per_gpus
    else:
        read, write, per_gpus = VENDOR_RULES[rule]
    times = math.ceil(choice.gpus_bought / per_gpus) * (1.0 - ROUNDING)
    enough = (purchases.read_gb_per_s >= read * times) & (purchases.write_gb_per_s >= write * times)
    return np.asarray(enough)


def _restore_gb(problem: Problem, choice: Compute) -> float:
    """Return what all readers together read: the checkpoint times its fan-out."""
    job = problem.job
    size_gb = stores.checkpoint_gb(job)
    if job.restore.fan_out == "broadcast" or job.parallelism is None:
        return size_gb
    replicas = choice.gpus_used / job.parallelism.replica_gpus
    if job.restore.fan_out == "every_replica":
        return size_gb * replicas
    each = stores.bytes_per_parameter(job)
    return size_gb * ((each - 2.0) + 2.0 * replicas) / each


def _run(
    problem: Problem,
    choice: Compute,
    mode: Mode,
    purchases: Stores,
    write_s: Array,
    restore_s: Array,
) -> tuple[Array, Array]:
    """Return interval and goodput, goodput 0 where no interval is allowed."""
    checkpoint, job = problem.job.checkpoint, problem.job
    size_tb = stores.checkpoint_gb(job) / 1000.0
    low = size_tb * SECONDS_PER_DAY / purchases.endurance_tb_per_day
    if mode == "sync":
        lost_s, drain_s = write_s, np.zeros_like(write_s)
        low = np.maximum(low, write_s / checkpoint.max_blocking)
    else:
        lost_s, drain_s = checkpoint.stall_s + checkpoint.drain_slowdown * write_s, write_s
        low = np.maximum(low, checkpoint.stall_s + drain_s)
        if problem.storage.rule == "demand":
            low = np.maximum(low, drain_s / checkpoint.max_overlap)
    policy = checkpoint.interval
    if isinstance(policy, FixedInterval):
        bottom = high = policy.every_s
    elif isinstance(policy, LostWorkInterval):
        bottom = high = policy.kappa * choice.mtti_s
    else:
        bottom, high = policy.min_s, policy.max_s
    allowed = low <= high * (1.0 + ROUNDING)
    low = np.clip(low, bottom, high)
    interval_s = best_interval_s(lost_s, choice.mtti_s, low, high)
    restart_s = job.restore.restart_s + restore_s
    rate = goodput(interval_s, lost_s, drain_s, restart_s, choice.mtti_s)
    return interval_s, np.where(allowed, rate, 0.0)


def _useful_pflops(problem: Problem, choice: Compute, rate: Array) -> Array:
    mfu = problem.job.training.mfu
    if mfu is None:
        raise ValueError("useful FLOP/s need training.mfu")
    return choice.gpus_used * choice.tflops_per_gpu * mfu * rate / 1000.0


def _value(problem: Problem, choice: Compute, rate: Array, consumed: Array) -> Array:
    goal = problem.objective
    if goal.maximize == "goodput":
        return _useful_pflops(problem, choice, rate)
    if goal.maximize == "useful_gpus":
        return choice.gpus_used * rate
    if goal.maximize == "gpus":
        return np.full(len(rate), float(choice.gpus_used))
    column = {"cost": CAPEX, "tco": TCO, "power": POWER}[goal.minimize or "cost"]
    return np.asarray(consumed[:, column])


def _reaches(problem: Problem, choice: Compute, rate: Array) -> Mask:
    """Return whether the targets that depend on goodput are met."""
    targets, training = problem.targets, problem.job.training
    useful = choice.gpus_used * rate * (1.0 + ROUNDING)
    met = rate * (1.0 + ROUNDING) >= (targets.min_goodput or 0.0)
    met &= useful >= (targets.min_useful_gpus or 0.0)
    if targets.min_useful_pflops is None and targets.max_days_to_train is None:
        return met
    pflops = _useful_pflops(problem, choice, rate) * (1.0 + ROUNDING)
    met &= pflops >= (targets.min_useful_pflops or 0.0)
    if targets.max_days_to_train is not None:
        active = training.active_parameters or problem.job.parameters
        work_flop = 6.0 * (active or 0.0) * (training.tokens or 0.0)
        met &= pflops * 1e15 * targets.max_days_to_train * SECONDS_PER_DAY >= work_flop
    return np.asarray(met)


def _first(problem: Problem, found: Sequence[_Found], ids: Sequence[str]) -> Best:
    """Return the plan that objective, capex, IT power, units and goodput put first, in order."""
    sign = -1.0 if problem.objective.maximize is not None else 1.0
    keys = np.vstack(
        [
            np.column_stack([sign * f.value, f.capex_usd, f.it_power_kw, f.units, -f.goodput])
            for f in found
        ]
    )
    places = [(f, row) for f in found for row in range(len(f.value))]
    left = np.arange(len(keys))
    for column in keys.T:
        lowest = column[left].min()
        left = left[column[left] <= lowest + TIE * abs(lowest)]
    plans, row = places[int(left[0])]
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
    )
