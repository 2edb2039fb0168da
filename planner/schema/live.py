"""What a workbook carries beside a plan so that its figures follow an edit.

How the counts of what must come with a cluster move with it, and what each way of running the job
draws and does.
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


class WayRow(Record):
    """A way in which the job may run: what a system draws in it, and what a GPU does.

    ``id`` is the way's in the plan, ``label`` what a reader chooses it by. The GPUs are capped at
    ``gpu_cap`` of their rated power, ``gpu_limit_w`` each. ``tflops_per_gpu`` is what the plan's
    MFU applies to, at the GPUs that are in use as solved.
    """

    id: str
    label: str
    gpu_cap: float
    gpu_limit_w: float | None
    power_kw: float | None
    typical_kw: float | None
    tflops_per_gpu: float


class Ways(Record):
    """The ways in which the job of a plan may run on its GPU systems with its replicas.

    ``chosen`` is the label of the plan's own. At other counts of GPUs in use than ``gpus_used`` a
    GPU does another share of its rate: by an ``exponent``, or by the ``bubble`` of a pipeline, as
    in `planner.sizing.throughput.ScaleLaw`; a law given as a table is not carried along.
    """

    sku: str
    chosen: str
    rows: tuple[WayRow, ...]
    gpus_used: int
    exponent: float = 0.0
    bubble: float = 0.0


class Live(Record):
    """All that a workbook carries for its figures to follow."""

    growth: tuple[Growth, ...] = ()
    ways: Ways | None = None
