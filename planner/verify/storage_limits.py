"""What storage owes the job: checkpoints, restores, capacity, endurance, vendor rules."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.problem import CustomRule
from planner.sizing.demand import VENDOR_RULES
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.degraded import Degraded
from planner.verify.figures import JobFigures
from planner.verify.limit import TIMED, Limit
from planner.verify.totals import TotalFigures


def storage_limits(
    basis: Basis,
    decisions: Decisions,
    totals: TotalFigures,
    figures: JobFigures,
    degraded: Degraded,
) -> Iterator[Limit]:
    """Yield the limits on storage.

    Args:
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        totals: the plan's sums as re-computed.
        figures: the job as re-computed.
        degraded: the same with appliances down, where the problem asks for that.
    """
    job = basis.problem.job
    yield from _checkpoint_limits(basis, decisions, figures, degraded)
    if job.restore.max_time_s is not None:
        limit, down_s = job.restore.max_time_s, degraded.restore_s
        restore_s = figures.restore_s if down_s is None else down_s
        yield Limit("restore_time", restore_s, "<=", limit, "s", TIMED)
    needed_tb = figures.capacity_needed_tb
    yield Limit("capacity", totals.usable_tb, ">=", needed_tb, "TB", must_be_listed=needed_tb > 0)
    if job.ingest_per_gpu_gb_per_s > 0:
        value, limit = figures.ingest_gb_per_s, figures.delivered_read_gb_per_s
        yield Limit("ingest", value, "<=", limit, "GB/s", TIMED)
    endurance = endurance_tb_per_day(basis, decisions)
    if endurance is not None:
        value = figures.write_volume_tb_per_day
        yield Limit("endurance", value, "<=", endurance, "TB/day", TIMED)
    yield from _rule_limits(basis, totals)


def _checkpoint_limits(
    basis: Basis, decisions: Decisions, figures: JobFigures, degraded: Degraded
) -> Iterator[Limit]:
    checkpoint, interval_s = basis.problem.job.checkpoint, decisions.interval_s
    stall_s, drain_s = stall_and_drain_s(decisions, figures, degraded)
    if decisions.mode == "sync":
        limit = checkpoint.max_blocking
        yield Limit("blocking", stall_s / interval_s, "<=", limit, "share", TIMED)
        return
    if basis.problem.storage.rule == "demand":
        overlap, limit = drain_s / interval_s, checkpoint.max_overlap
        yield Limit("overlap", overlap, "<=", limit, "share", TIMED)
    yield Limit("drain_fits", stall_s + drain_s, "<=", interval_s, "s", TIMED)


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
        if item.provides.endurance is None:
            return None
        total += item.provides.endurance.value * count
    return total


def _rule_limits(basis: Basis, totals: TotalFigures) -> Iterator[Limit]:
    rule = basis.problem.storage.rule
    if rule == "demand":
        return
    if isinstance(rule, CustomRule):
        read, write, per_gpus = rule.read, rule.write, rule.per_gpus
    else:
        vendor = VENDOR_RULES[rule]
        read, write, per_gpus = vendor.read_gb_per_s, vendor.write_gb_per_s, vendor.per_gpus
    units = -(-totals.gpus // per_gpus)
    sides = (
        ("rule_read", totals.read_gb_per_s, units * read),
        ("rule_write", totals.write_gb_per_s, units * write),
    )
    for name, rated, asked in sides:
        yield Limit(name, rated, ">=", asked, "GB/s", TIMED, must_be_listed=asked > 0)
