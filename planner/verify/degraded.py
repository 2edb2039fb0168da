"""The job with appliances down: what storage still delivers, and what that does to its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from planner.schema.catalog import Item
from planner.schema.plan import JobPlan
from planner.verify.bandwidth import nameplate_gb_per_s, total_nameplate_gb_per_s
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.figures import JobFigures
from planner.verify.ledger import Ledger


@dataclass(frozen=True)
class Degraded:
    """Figures under the names the plan gives them after ``degraded_``; None where all are up."""

    write_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    drain_s: float | None = None
    overlap: float | None = None
    restore_s: float | None = None


def check_degraded(
    ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan, figures: JobFigures
) -> Degraded:
    """Re-compute the job with appliances down, compare it and return it.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        stated: the plan's job.
        figures: the job with everything up, as re-computed.
    """
    down = basis.problem.storage.tolerate_down
    ledger.equal("jobs.tolerate_down", stated.tolerate_down, down)
    degraded = _degrade(basis, decisions, figures, down) if down else Degraded()
    for field in fields(Degraded):
        name = f"degraded_{field.name}"
        ledger.same(f"jobs.{name}", getattr(stated, name), getattr(degraded, field.name))
    return degraded


def _degrade(basis: Basis, decisions: Decisions, figures: JobFigures, down: int) -> Degraded:
    share = basis.problem.storage.delivered_fraction
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    read_loss, write_loss = _worst_losses(basis, decisions.counts, down)
    left_write = min(share.write * (write - write_loss), figures.client_write_limit_gb_per_s)
    left_read = min(share.read * (read - read_loss), figures.client_read_limit_gb_per_s)
    write_s = figures.checkpoint_gb / left_write if left_write > 0 else float("inf")
    read_gb = figures.fan_out * figures.checkpoint_gb
    return Degraded(
        write_gb_per_s=left_write,
        read_gb_per_s=left_read,
        drain_s=write_s,
        overlap=write_s / decisions.interval_s if decisions.mode == "async" else None,
        restore_s=read_gb / left_read if left_read > 0 else float("inf"),
    )


def _worst_losses(basis: Basis, counts: Mapping[str, int], down: int) -> tuple[float, float]:
    """Return the largest (read, write) bandwidth that one item loses, GB/s."""
    losses = [
        _loss(basis.items[sku], count, down)
        for sku, count in counts.items()
        if count > 0 and basis.items[sku].category == "storage"
    ]
    return max(read for read, _ in losses), max(write for _, write in losses)


def _loss(item: Item, count: int, down: int) -> tuple[float, float]:
    units = down / (1 if item.fail_units is None else item.fail_units.value)
    if item.sizes is None:
        each_read, each_write = nameplate_gb_per_s(item, 1)
        return each_read * units, each_write * units
    before, after = nameplate_gb_per_s(item, count), _below(item, count - units)
    return before[0] - after[0], before[1] - after[1]


def _below(item: Item, count: float) -> tuple[float, float]:
    """Return the bandwidth of part of a published size; below the table as its first row."""
    assert item.sizes is not None
    first = item.sizes.rows[0]
    if count < first.units:
        return first.read * count / first.units, first.write * count / first.units
    return nameplate_gb_per_s(item, count)
