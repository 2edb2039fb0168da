"""The checkpoint interval: as the policy says, and where it is free, the best one allowed."""

from __future__ import annotations

from planner.schema.problem import FixedInterval, LostWorkInterval, OptimalInterval
from planner.verify import progress
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.degraded import Degraded
from planner.verify.figures import SECONDS_PER_DAY, JobFigures
from planner.verify.ledger import Ledger, close
from planner.verify.limit import TIMED
from planner.verify.storage_limits import endurance_tb_per_day, stall_and_drain_s

BEST_WITHIN = 1e-6


def check_interval(
    ledger: Ledger, basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> None:
    """Require the interval that the policy asks for.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        figures: the job as re-computed.
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
                _check_best(ledger, basis, decisions, figures, policy, shortest_s)


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
) -> None:
    """Goodput has one peak in the interval, so the best is the peak or the limit next to it."""
    shortest_s = max(policy.min_s, shortest_s)
    best_s = min(max(figures.exact_s, shortest_s), max(policy.max_s, shortest_s))
    best = progress.goodput(_rhythm(basis, decisions, figures, best_s))
    if figures.goodput < best * (1 - BEST_WITHIN):
        ledger.breach(
            "jobs.interval_s",
            f"{decisions.interval_s:.12g} s is not the best allowed interval, "
            f"{best_s:.12g} s gives a goodput of {best:.12g}",
        )


def shortest_allowed_s(
    basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> float:
    """Return the shortest interval that the limits allow, s.

    Args:
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        figures: the job as re-computed.
        degraded: the same with appliances down, where the problem asks for that.
    """
    checkpoint = basis.problem.job.checkpoint
    stall_s, drain_s = stall_and_drain_s(decisions, figures, degraded)
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


def _rhythm(
    basis: Basis, decisions: Decisions, figures: JobFigures, interval_s: float
) -> progress.Rhythm:
    slowdown = basis.problem.job.checkpoint.drain_slowdown if decisions.mode == "async" else 0.0
    return progress.Rhythm(
        interval_s=interval_s,
        stopped_s=figures.stall_s + slowdown * figures.drain_s,
        drain_s=figures.drain_s,
        restart_s=figures.restart_s,
        restore_s=figures.restore_s,
        mtti_s=figures.mtti_s,
    )
