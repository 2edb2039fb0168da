"""What storage is rated for: nameplate bandwidth by the number of units."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from planner.schema.catalog import Item
from planner.verify.basis import Basis


def nameplate_gb_per_s(item: Item, count: float) -> tuple[float, float]:
    """Return the rated (read, write) bandwidth of ``count`` units, GB/s.

    Args:
        item: a storage item; one with a table of sizes is linear between neighbouring rows.
        count: units, or parts of them; outside the table nothing is known, hence 0.
    """
    if item.category != "storage" or count == 0:
        return 0.0, 0.0
    if item.sizes is not None:
        return _interpolated(item, count)
    read, write = item.provides.read, item.provides.write
    return (
        0.0 if read is None else read.value * count,
        0.0 if write is None else write.value * count,
    )


def _interpolated(item: Item, count: float) -> tuple[float, float]:
    rows = () if item.sizes is None else item.sizes.rows
    for row in rows:
        if row.units == count:
            return row.read, row.write
    for low, high in pairwise(rows):
        if low.units < count < high.units:
            part = (count - low.units) / (high.units - low.units)
            read = low.read + part * (high.read - low.read)
            return read, low.write + part * (high.write - low.write)
    return 0.0, 0.0


def total_nameplate_gb_per_s(basis: Basis, counts: Mapping[str, int]) -> tuple[float, float]:
    """Return the rated (read, write) bandwidth of all storage, GB/s."""
    rated = [nameplate_gb_per_s(basis.items[sku], count) for sku, count in counts.items()]
    return sum(read for read, _ in rated), sum(write for _, write in rated)


def usable_tb(item: Item, count: int) -> float | None:
    """Return the usable capacity of ``count`` units in TB, None where it is not known."""
    figure = item.provides.usable
    return None if figure is None else figure.value * count


def gpus(item: Item, count: int) -> int:
    """Return the GPUs in ``count`` units."""
    figure = item.provides.gpus
    if item.category != "gpu_system" or figure is None:
        return 0
    return figure.value * count
