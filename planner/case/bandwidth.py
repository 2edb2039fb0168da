"""Bandwidth of storage for checkpoints: nameplate, bursts, degraded; stall and local level.

All of it follows from the part of the state that one GPU, or one system, holds. Where all GPUs
write it falls with their number: for one GPU (``gpus=1``) each figure is that of all times their
number. Pairs are (read, write).
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
from planner.sizing.demand import write_demand_gb_per_s
from planner.units import DAY_S

# The job's side: demand, stall, local level.


def writing_gpus(job: Job, way: Way, gpus: float) -> float:
    """GPUs in use that write a checkpoint, each its even part."""
    if not job.one_replica_writes:
        return gpus
    assert way.replica_gpus is not None
    return way.replica_gpus


def write_needed_gb_per_s(job: Job, mode: str, to_storage_s: float, *, by_rule: bool) -> float:
    """Delivered write bandwidth that checkpoints require, GB/s.

    Args:
        mode: sync, or any other.
        to_storage_s: interval between checkpoints that go to storage.
        by_rule: whether a rule sizes storage, so that a drain may take the whole interval.
    """
    share = job.max_blocking if mode == "sync" else 1.0 if by_rule else job.max_overlap
    return write_demand_gb_per_s(job.checkpoint_gb, share, to_storage_s)


def stall_s(job: Job, way: Way, gpus: float) -> float:
    """Stall of GPUs of a type for an asynchronous checkpoint, s."""
    return job.stall_s + copy_s(job, way, gpus)


def copy_s(job: Job, way: Way, gpus: float) -> float:
    """Copy of a GPU's part to its host, s; 0 where a stall is not derived."""
    if not job.derived_stall:
        return 0.0
    assert way.host_copy_gb_per_s is not None
    writing = writing_gpus(job, way, gpus)
    return two_levels.derived_stall_s(0.0, job.checkpoint_gb, writing, way.host_copy_gb_per_s)


def local_part_gb(job: Job, way: Way, gpus: float) -> float:
    """Local writes of one system per checkpoint, its peers' copies included, GB."""
    assert job.levels is not None
    writing = writing_gpus(job, way, gpus)
    held = min(way.usable_gpus, writing) if job.one_replica_writes else way.usable_gpus
    return two_levels.local_part_gb(job.checkpoint_gb, job.levels.copies, held, writing)


def local_drain_s(job: Job, way: Way, gpus: float) -> float:
    """Time until a local checkpoint is safe, s."""
    assert way.drives is not None
    return local_part_gb(job, way, gpus) / way.drives.write_gb_per_s


def worn_interval_s(job: Job, way: Way, gpus: float) -> float:
    """Shortest local interval that a type's drives endure, s; 0 where not stated."""
    assert way.drives is not None
    endured = way.drives.endurance_tb_per_day
    return 0.0 if endured is None else local_part_gb(job, way, gpus) / 1000.0 * DAY_S / endured


def local_room_tb(job: Job, way: Way, gpus: float) -> float:
    """Capacity of local checkpoints on one system, TB."""
    assert job.levels is not None
    return job.levels.keep * local_part_gb(job, way, gpus) / 1000.0


# Nameplate bandwidth.


def nameplate(item: Storage, units: int) -> tuple[float, float]:
    """Nameplate bandwidth of a number of units, GB/s."""
    if not item.segments:
        return item.read_gb_per_s * units, item.write_gb_per_s * units
    if not item.segments[0].low <= units <= item.segments[-1].high:
        return 0.0, 0.0
    return _by_table(item, units)


def bought_nameplate(items: Iterable[Storage], units: Mapping[str, int]) -> tuple[float, float]:
    """Nameplate bandwidth of all storage of a purchase, GB/s."""
    read = write = 0.0
    for item in items:
        count = units.get(item.id, 0)
        if count:
            item_read, item_write = nameplate(item, count)
            read, write = read + item_read, write + item_write
    return read, write


def bursting(sustained: Any, burst: Any, buffer_gb: Any, checkpoint_gb: float, share: float) -> Any:
    """Nameplate write bandwidth at which a checkpoint is taken, GB/s, as numbers or arrays.

    Its size over the least t with ``share min(burst t, buffer + sustained t) >= size``.

    Args:
        sustained, burst: nameplate bandwidth, GB/s.
        buffer_gb: capacity of buffers beyond the sustained rate.
        share: delivered share of nameplate.
    """
    nameplate_gb = checkpoint_gb / share
    with np.errstate(divide="ignore", invalid="ignore"):
        drain_s = np.maximum(nameplate_gb / burst, (nameplate_gb - buffer_gb) / sustained)
        return np.where(np.asarray(sustained) > 0.0, nameplate_gb / drain_s, 0.0)


def checkpoint_write(case: Case, units: Mapping[str, int]) -> float:
    """Nameplate write bandwidth at which a purchase takes a checkpoint, GB/s."""
    bought = case.bought(units)
    sustained = bought_nameplate(bought, units)[1]
    if not case.bursts or sustained <= 0.0:
        return sustained
    burst = buffer_gb = 0.0
    for item in bought:
        burst += item.burst_gb_per_s * units[item.id] or nameplate(item, units[item.id])[1]
        buffer_gb += item.buffer_gb * units[item.id]
    taken = bursting(sustained, burst, buffer_gb, case.job.checkpoint_gb, case.delivered_write)
    return float(taken)


# Degraded bandwidth: with units down.


def degraded(item: Storage, units: float) -> tuple[float, float]:
    """Nameplate bandwidth of a number of units with ``units_lost`` of them down, GB/s.

    Without a table each lost unit is its own bandwidth; below a table's first row bandwidth is in
    proportion to it. Negative where more is lost than there is.
    """
    working = units - item.units_lost
    if not item.segments:
        return item.read_gb_per_s * working, item.write_gb_per_s * working
    first = item.segments[0]
    if working < first.low:
        return first.read_at_low * working / first.low, first.write_at_low * working / first.low
    return _by_table(item, working)


# Tables of bandwidth.


def _by_table(item: Storage, units: float) -> tuple[float, float]:
    for piece in item.segments:
        if units <= piece.high:
            return _on_piece(piece, units)
    return 0.0, 0.0


def _on_piece(piece: Segment, units: float) -> tuple[float, float]:
    over = units - piece.low
    read = piece.read_at_low + piece.read_slope * over
    return read, piece.write_at_low + piece.write_slope * over


def ends(item: Storage) -> list[tuple[int, float, float]]:
    """(units, read, write) at the ends of a table's pieces; between them it is straight."""
    last = item.segments[-1]
    rows = [(piece.low, piece.read_at_low, piece.write_at_low) for piece in item.segments]
    return [*rows, (last.high, *_on_piece(last, last.high))]


def with_loss(item: Storage) -> tuple[Segment, ...]:
    """A table's pieces cut so that its degraded bandwidth is straight on each.

    Cuts are at whole units: between two of them nothing is bought.
    """
    inside = {piece.low + item.units_lost for piece in item.segments}
    pieces = []
    for piece in item.segments:
        cuts = {piece.low, piece.high}
        for cut in inside:
            if piece.low < cut < piece.high:
                cuts |= {math.floor(cut), math.ceil(cut)}
        rising = sorted(cuts)
        if len(rising) == 1:
            pieces.append(piece)
        for low, high in itertools.pairwise(rising):
            read, write = _on_piece(piece, low)
            pieces.append(replace(piece, low=low, high=high, read_at_low=read, write_at_low=write))
    return tuple(pieces)
