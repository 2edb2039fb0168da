"""What storage does for checkpoints: bandwidth with units down, the stall, the local level's times.

All of it follows from the part of the state that one GPU, or one system, holds. Where all GPUs
write it falls with their number: for one GPU (``gpus=1``) each figure is that of all times their
number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planner.case.model import Case, Job, Segment, Storage, Way
from planner.sizing import two_levels
from planner.units import DAY_S


def writing_gpus(job: Job, way: Way, gpus: float) -> float:
    """Return how many of the GPUs in use write a checkpoint, each its even part."""
    if not job.one_replica_writes:
        return gpus
    assert way.replica_gpus is not None
    return way.replica_gpus


def write_needed_gb_per_s(job: Job, mode: str, to_storage_s: float, *, by_rule: bool) -> float:
    """Return the write bandwidth that checkpoints need at least, GB/s.

    Args:
        mode: how it saves.
        to_storage_s: how often a checkpoint goes to storage.
        by_rule: whether a rule sizes storage, so that a drain may take the whole interval.
    """
    share = job.max_blocking if mode == "sync" else 1.0 if by_rule else job.max_overlap
    return job.checkpoint_gb / (to_storage_s * share)


def stall_s(job: Job, way: Way, gpus: float) -> float:
    """Return how long GPUs of a type stand still for an asynchronous checkpoint, s."""
    return job.stall_s + copy_s(job, way, gpus)


def copy_s(job: Job, way: Way, gpus: float) -> float:
    """Return how long a GPU copies its part to its host, s; 0 where a stall is not derived."""
    if not job.derived_stall:
        return 0.0
    assert way.host_copy_gb_per_s is not None
    writing = writing_gpus(job, way, gpus)
    return two_levels.derived_stall_s(0.0, job.checkpoint_gb, writing, way.host_copy_gb_per_s)


def local_part_gb(job: Job, way: Way, gpus: float) -> float:
    """Return what one system writes locally per checkpoint, its peers' copies included, GB."""
    assert job.levels is not None
    writing = writing_gpus(job, way, gpus)
    held = min(way.usable_gpus, writing) if job.one_replica_writes else way.usable_gpus
    return two_levels.local_part_gb(job.checkpoint_gb, job.levels.copies, held, writing)


def local_drain_s(job: Job, way: Way, gpus: float) -> float:
    """Return how long a local checkpoint takes to be safe, s."""
    assert way.drives is not None
    return local_part_gb(job, way, gpus) / way.drives.write_gb_per_s


def worn_interval_s(job: Job, way: Way, gpus: float) -> float:
    """Return the shortest local interval that a type's drives endure, s; 0 where nobody says."""
    assert way.drives is not None
    endured = way.drives.endurance_tb_per_day
    return 0.0 if endured is None else local_part_gb(job, way, gpus) / 1000.0 * DAY_S / endured


def local_room_tb(job: Job, way: Way, gpus: float) -> float:
    """Return what one system holds of local checkpoints at a time, TB."""
    assert job.levels is not None
    return job.levels.keep * local_part_gb(job, way, gpus) / 1000.0


def nameplate(item: Storage, units: int) -> tuple[float, float]:
    """Return the (read, write) nameplate bandwidth of so many units, GB/s."""
    if not item.segments:
        return item.read_gb_per_s * units, item.write_gb_per_s * units
    for piece in item.segments:
        if piece.low <= units <= piece.high:
            over = units - piece.low
            read = piece.read_at_low + piece.read_slope * over
            return read, piece.write_at_low + piece.write_slope * over
    return 0.0, 0.0


def bought_nameplate(items: Iterable[Storage], units: Mapping[str, int]) -> tuple[float, float]:
    """Return the (read, write) nameplate bandwidth of all storage of a purchase, GB/s."""
    read = write = 0.0
    for item in items:
        count = units.get(item.id, 0)
        if count:
            item_read, item_write = nameplate(item, count)
            read, write = read + item_read, write + item_write
    return read, write


def bursting(sustained: Any, burst: Any, buffer_gb: Any, checkpoint_gb: float, share: float) -> Any:
    """Return the nameplate write bandwidth at which a checkpoint is taken, GB/s, as numbers or
    arrays: its size over the least t with ``share min(burst t, buffer + sustained t) >= size``.

    Args:
        sustained, burst: nameplate bandwidth, GB/s.
        buffer_gb: what buffers take beyond the sustained rate.
        share: delivered share of nameplate.
    """
    asked = checkpoint_gb / share
    with np.errstate(divide="ignore", invalid="ignore"):
        drain_s = np.maximum(asked / burst, (asked - buffer_gb) / sustained)
        return np.where(np.asarray(sustained) > 0.0, asked / drain_s, 0.0)


def checkpoint_write(case: Case, units: Mapping[str, int]) -> float:
    """Return the nameplate write bandwidth at which a purchase takes a checkpoint, GB/s."""
    bought = case.bought(units)
    sustained = bought_nameplate(bought, units)[1]
    if not case.bursts or sustained <= 0.0:
        return sustained
    burst = buffer_gb = 0.0
    for item in bought:
        burst += item.burst_gb_per_s * units[item.id] or nameplate(item, units[item.id])[1]
        buffer_gb += item.buffer_gb * units[item.id]
    at = bursting(sustained, burst, buffer_gb, case.job.checkpoint_gb, case.delivered_write)
    return float(at)


def degraded(item: Storage, units: float) -> tuple[float, float]:
    """Return the (read, write) bandwidth of so many units with ``units_lost`` of them down, GB/s.

    Without a table each lost unit is its own bandwidth; below a table's first row bandwidth is in
    proportion to it. Negative where more is lost than there is.
    """
    left = units - item.units_lost
    if not item.segments:
        return item.read_gb_per_s * left, item.write_gb_per_s * left
    first = item.segments[0]
    if left < first.low:
        return first.read_at_low * left / first.low, first.write_at_low * left / first.low
    for piece in item.segments:
        if left <= piece.high:
            over = left - piece.low
            read = piece.read_at_low + piece.read_slope * over
            return read, piece.write_at_low + piece.write_slope * over
    return 0.0, 0.0


def ends(item: Storage) -> list[tuple[int, float, float]]:
    """Return (units, read, write) where the pieces of a table end; between them it is straight."""
    last = item.segments[-1]
    span = last.high - last.low
    end = (last.read_at_low + last.read_slope * span, last.write_at_low + last.write_slope * span)
    rows = [(piece.low, piece.read_at_low, piece.write_at_low) for piece in item.segments]
    return [*rows, (last.high, *end)]


def with_loss(item: Storage) -> tuple[Segment, ...]:
    """Return a table's pieces cut so that what is left with units down is straight on each.

    Cuts are at whole units: between two of them nothing is bought.
    """
    inside = {piece.low + item.units_lost for piece in item.segments}
    pieces = []
    for piece in item.segments:
        cuts = {piece.low, piece.high}
        for cut in inside:
            if piece.low < cut < piece.high:
                cuts |= {math.floor(cut), math.ceil(cut)}
        ends = sorted(cuts)
        if len(ends) == 1:
            pieces.append(piece)
        for low, high in itertools.pairwise(ends):
            over = low - piece.low
            read, write = piece.read_at_low, piece.write_at_low
            pieces.append(
                replace(
                    piece,
                    low=low,
                    high=high,
                    read_at_low=read + piece.read_slope * over,
                    write_at_low=write + piece.write_slope * over,
                )
            )
    return tuple(pieces)


def safe_bandwidth(items: Iterable[tuple[Storage, int]]) -> tuple[float, float]:
    """Return the (read, write) nameplate bandwidth that is left in the worst case, GB/s.

    Units of one item are down at a time: of several items the one whose loss is largest counts,
    for reading and for writing by itself.
    """
    read = write = lost_read = lost_write = 0.0
    for item, units in items:
        if units:
            item_read, item_write = nameplate(item, units)
            left_read, left_write = degraded(item, units)
            read, write = read + item_read, write + item_write
            lost_read = max(lost_read, item_read - left_read)
            lost_write = max(lost_write, item_write - left_write)
    return read - lost_read, write - lost_write
