"""The interval between checkpoints: what its policy asks for, the shortest that limits allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from planner.limits import TIMED
from planner.schema.catalog import Item
from planner.schema.problem import FixedInterval, LostWorkInterval, OptimalInterval
from planner.verifier.basis import Basis, Ledger, close
from planner.verifier.decisions import Decisions
from planner.verifier.job import Degraded, JobFigures, rhythms
from planner.verifier.levels import (
    SECONDS_PER_DAY,
    ProgressTimes,
    find_levels,
    goodput,
    shortest_worn_s,
)

BEST_WITHIN = 1e-6
PEAK_WITHIN = 1e-7
"""Of the logarithm of the interval: goodput is flat at its peak, so it keeps ``BEST_WITHIN``."""


def stall_and_drain_s(
    decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> tuple[float, float]:
    """Return the stall and the drain that the limits are about, with appliances down if asked."""
    if degraded.drain_s is None:
        return figures.stall_s, figures.drain_s
    if decisions.mode == "sync":
        return degraded.drain_s, 0.0
    return figures.stall_s, degraded.drain_s


def endurance_tb_per_day(basis: Basis, decisions: Decisions) -> float | None:
    """Return what the storage in use may be written per day, TB; None where one does not say."""
    total = 0.0
    for sku, count in decisions.counts.items():
        item = basis.items[sku]
        if item.category != "storage" or count == 0:
            continue
        each = _of_unit(basis, item)
        if each is None:
            return None
        total += each * count
    return total


def _of_unit(basis: Basis, item: Item) -> float | None:
    """Return what a unit endures, TB a day: as stated, or by the flash in it; None for no limit."""
    asked, stated = basis.problem.storage, item.provides.endurance
    if asked.endurance == "off" or (stated is None and asked.endurance == "stated"):
        return None
    if stated is not None:
        return stated.value
    inside = [(basis.items[part.id], part.quantity) for part in item.components] or [(item, 1)]
    endured = []
    for kind, often in (("tlc", asked.dwpd.tlc), ("qlc", asked.dwpd.qlc), ("scm", asked.dwpd.scm)):
        raw_tb = sum(n * m.raw_tb for part, n in inside for m in part.media if m.type == kind)
        if raw_tb > 0:
            endured.append(often * raw_tb)
    return min(endured, default=None)


def check_interval(
    ledger: Ledger, basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> None:
    """Require the interval that the policy asks for.

    Args:
        degraded: the same with appliances down, where the problem asks for that.
    """
    interval_s = decisions.interval_s
    match basis.problem.job.checkpoint.interval:
        case FixedInterval() as policy:
            _require_policy(ledger, interval_s, policy.every_s)
        case LostWorkInterval() as policy:
            _require_policy(ledger, interval_s, policy.kappa * figures.mtti_s)
        case OptimalInterval() as policy:
            low_s, high_s = policy.min_s * (1 - TIMED), policy.max_s * (1 + TIMED)
            if not low_s <= interval_s <= high_s:
                ledger.breach(
                    "jobs.interval_s",
                    f"{interval_s:.12g} s is outside {policy.min_s:g} to {policy.max_s:g} s",
                )
            else:
                shortest_s = shortest_allowed_s(basis, decisions, figures, degraded)
                _check_best(ledger, basis, decisions, figures, policy, shortest_s, degraded)


def _require_policy(ledger: Ledger, interval_s: float, asked_s: float) -> None:
    if not close(interval_s, asked_s):
        text = f"the plan says {interval_s:.12g} s, the policy asks for {asked_s:.12g} s"
        ledger.breach("jobs.interval_s", text)


def _check_best(
    ledger: Ledger,
    basis: Basis,
    decisions: Decisions,
    figures: JobFigures,
    policy: OptimalInterval,
    shortest_s: float,
    degraded: Degraded,
) -> None:
    """Goodput has one peak in the interval, so the best is the peak or the limit next to it."""
    if decisions.every:
        _check_best_of_two(ledger, basis, decisions, figures, policy, degraded)
        return
    shortest_s = max(policy.min_s, shortest_s)
    best_s = min(max(figures.exact_s, shortest_s), max(policy.max_s, shortest_s))
    best = goodput(rhythms(basis, decisions, figures)(best_s))
    if figures.goodput < best * (1 - BEST_WITHIN):
        ledger.breach(
            "jobs.interval_s",
            f"{decisions.interval_s:.12g} s is not the best allowed interval, "
            f"{best_s:.12g} s gives a goodput of {best:.12g}",
        )


def _check_best_of_two(
    ledger: Ledger,
    basis: Basis,
    decisions: Decisions,
    figures: JobFigures,
    policy: OptimalInterval,
    degraded: Degraded,
) -> None:
    """Of every k there is, with its best interval: the logarithm has one peak in that of I."""
    asked = basis.problem.job.checkpoint.local
    for every in () if asked is None else asked.every:
        other = replace(decisions, every=every)
        low_s = max(policy.min_s, shortest_allowed_s(basis, other, figures, degraded))
        if low_s > policy.max_s:
            continue
        rhythm = rhythms(basis, other, figures)

        def share(log_s: float, rhythm: Callable[[float], ProgressTimes] = rhythm) -> float:
            return goodput(rhythm(math.exp(log_s)))

        best_s = math.exp(_peak(share, math.log(low_s), math.log(policy.max_s)))
        best = share(math.log(best_s))
        if figures.goodput < best * (1 - BEST_WITHIN):
            ledger.breach(
                "jobs.interval_s",
                f"{decisions.interval_s:.12g} s and each {decisions.every}-th to storage are not "
                f"the best allowed, {best_s:.12g} s and each {every}-th give a goodput of "
                f"{best:.12g}",
            )


def _peak(share: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one peak is highest, by thirds; an end where it is there."""
    ends = (low, high)
    while high - low > PEAK_WITHIN:
        third = (high - low) / 3
        if share(low + third) < share(high - third) or share(high - third) <= 0:
            low += third
        else:
            high -= third
    return max(*ends, low, key=share)


def shortest_allowed_s(
    basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> float:
    """Return the shortest interval that the limits allow, s.

    Args:
        degraded: the same with appliances down, where the problem asks for that.
    """
    checkpoint = basis.problem.job.checkpoint
    stall_s, drain_s = stall_and_drain_s(decisions, figures, degraded)
    levels = find_levels(basis, decisions)
    if levels is not None:
        share = checkpoint.max_overlap if basis.problem.storage.rule == "demand" else 1.0
        remote_s, endured = drain_s / share, endurance_tb_per_day(basis, decisions)
        if endured is not None:
            remote_s = max(remote_s, figures.checkpoint_gb / 1000 * SECONDS_PER_DAY / endured)
        return max(
            stall_s + levels.drain_s, shortest_worn_s(basis, decisions), remote_s / decisions.every
        )
    if decisions.mode == "sync":
        shortest_s = stall_s / checkpoint.max_blocking
    else:
        shortest_s = stall_s + drain_s
        if basis.problem.storage.rule == "demand":
            shortest_s = max(shortest_s, drain_s / checkpoint.max_overlap)
    endurance = endurance_tb_per_day(basis, decisions)
    if endurance is not None:
        worn_s = figures.checkpoint_gb / 1000 * SECONDS_PER_DAY / endurance
        shortest_s = max(shortest_s, worn_s)
    return shortest_s
