"""How the counts of what must come with a cluster move with the cluster.

A workbook carries it, so that an edited count moves switches, optics, racks and what they cost.
"""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Record

SHARED_RACKS = "racks.shared"
"""Stands for the racks that several lines share, among the catalog ids."""


class Growth(Record):
    """Counts of companions with more or fewer GPU systems, or storage units, than a plan has.

    ``units`` of ``skus`` are in the cluster as solved; the one there is most of grows and shrinks.
    ``counts`` of a catalog id (of `SHARED_RACKS`: racks) belong to ``steps``, which are the units
    more, or fewer where they are negative; 0 is among them. Ascending, at least two.
    """

    of: Literal["gpu_systems", "storage"]
    skus: tuple[str, ...]
    units: int
    steps: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
