"""What the storage of purchases gives, as arrays: bandwidth, endurance, capacity, bursts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from planner.case import Case
from planner.case.items import Storage, burst_write_gb_per_s, ends
from planner.optimizer.bill import Counts, Flags, Numbers, Places
from planner.units import DAY_S


@dataclass(frozen=True)
class Stores:
    """What storage gives, an entry for each purchase.

    Attributes:
        write, read: nameplate bandwidth, GB/s; ``write`` is that at which checkpoints are taken.
        degraded_write, degraded_read: with units down, as limits count on it.
        worn_s: the shortest interval that drives endure and in which buffers recover, s.
        write_factor, read_factor: of the clients' limits, by the storage families in use.
        sustained: nameplate write bandwidth that is sustained, GB/s.
        bulk_read: nameplate read bandwidth of the bulk tier, GB/s.
        usable_tb, bulk_tb: usable capacity of flash and of the bulk tier, TB.
    """

    write: Numbers
    read: Numbers
    degraded_write: Numbers
    degraded_read: Numbers
    worn_s: Numbers
    write_factor: Numbers
    read_factor: Numbers
    sustained: Numbers
    bulk_read: Numbers
    usable_tb: Numbers
    bulk_tb: Numbers

    def at(self, places: Places | Flags) -> Stores:
        """Some of them."""
        return Stores(*(getattr(self, each.name)[places] for each in fields(self)))


def nameplates(item: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """The (read, write) nameplate bandwidth of an item's units, GB/s."""
    if not item.segments:
        return item.nameplate_read_gb_per_s * units, item.nameplate_write_gb_per_s * units
    known, read, write = (np.array(side, dtype=float) for side in zip(*ends(item), strict=True))
    inside = (units >= known[0]) & (units <= known[-1])
    return (
        np.where(inside, np.interp(units, known, read), 0.0),
        np.where(inside, np.interp(units, known, write), 0.0),
    )


def degraded(item: Storage, units: Numbers) -> tuple[Numbers, Numbers]:
    """Return (read, write) with ``units_lost`` of the units down, GB/s; see `bandwidth`."""
    left = units - item.units_lost
    if not item.segments:
        return item.nameplate_read_gb_per_s * left, item.nameplate_write_gb_per_s * left
    first = item.segments[0]
    few = left < first.low
    read, write = nameplates(item, np.maximum(left, first.low))
    return (
        np.where(few, first.read_at_low * left / first.low, read),
        np.where(few, first.write_at_low * left / first.low, write),
    )


def stored(case: Case, counts: Counts) -> Stores:
    """Bandwidth, capacity and endurance of storage.

    Args:
        counts: a row for each storage item of the case, a column for each purchase.
    """
    size = counts.shape[1]
    sums = np.zeros((9, size))
    read, write, lost_read, lost_write, endured, burst, buffer_gb, bulk_read, bulk_tb = sums
    factors = {f.id: (f.write_factor, f.read_factor) for f in case.families}
    factor = np.full((2, size), np.inf)
    for row in np.flatnonzero(counts.any(axis=1)).tolist():
        item, units = case.storage[row], counts[row].astype(float)
        some = units > 0
        if item.is_bulk:
            bulk_read += item.bulk_read_gb_per_s * units
            bulk_tb += item.bulk_tb * units
            continue
        each_read, each_write = (np.where(some, e, 0.0) for e in nameplates(item, units))
        read += each_read
        write += each_write
        burst += item.burst_gb_per_s * units if item.burst_gb_per_s else each_write
        buffer_gb += item.buffer_gb * units
        if case.tolerate_down:
            left = degraded(item, units)
            np.maximum(lost_read, np.where(some, each_read - left[0], 0.0), out=lost_read)
            np.maximum(lost_write, np.where(some, each_write - left[1], 0.0), out=lost_write)
        endured[some] += endurance_tb_per_day(item) * units[some]
        both = np.array(factors[item.family])[:, None]
        factor = np.where(some, np.minimum(factor, both), factor)
    usable: Numbers = np.array([item.usable_tb for item in case.storage]) @ counts.astype(float)
    by_write, by_read = np.where(np.isinf(factor), 1.0, factor)
    plate, worn_s = write, worn_interval_s(case, endured)
    if case.bursts:
        write, worn_s = with_bursts(case, plate, burst, buffer_gb, worn_s)
    safe = write - lost_write, read - lost_read
    return Stores(write, read, *safe, worn_s, by_write, by_read, plate, bulk_read, usable, bulk_tb)


def stored_of(case: Case, units: Mapping[str, int]) -> Stores:
    """Bandwidth, capacity and endurance of the storage of one purchase."""
    return stored(case, np.array([[units.get(item.id, 0)] for item in case.storage], np.int64))


def with_bursts(
    case: Case, sustained: Numbers, burst: Numbers, buffer_gb: Numbers, worn_s: Numbers
) -> tuple[Numbers, Numbers]:
    """The nameplate bandwidth at which checkpoints are taken, GB/s, and the shortest
    interval that drives endure and in which buffers recover, s; see `burst_write_gb_per_s`."""
    checkpoint_gb, share = case.job.checkpoint_gb, case.delivered_write
    write = burst_write_gb_per_s(sustained, burst, buffer_gb, checkpoint_gb, share)
    with np.errstate(divide="ignore"):
        return write, np.maximum(worn_s, checkpoint_gb / (share * sustained))


def endurance_tb_per_day(item: Storage) -> float:
    """The writes a day that a unit endures, TB; infinite where it is not rated."""
    rated = item.endurance_tb_per_day
    return np.inf if rated is None else rated


def worn_interval_s(case: Case, endured_tb_per_day: Numbers) -> Numbers:
    """The shortest interval that drives endure, s; 0 where they set none."""
    with np.errstate(divide="ignore"):
        worn = case.job.checkpoint_gb / 1e3 * DAY_S / endured_tb_per_day
    return np.where(endured_tb_per_day > 0, worn, 0.0)


def staged(case: Case, stores: Stores) -> Numbers:
    """The training data that comes from the bulk tier to flash, GB/s."""
    write = case.job.staged_share * case.delivered_write * stores.sustained
    return np.asarray(np.minimum(case.delivered_read * stores.bulk_read, write))
