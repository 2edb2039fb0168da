"""Records beside a plan: its cable schedule, and what lets a workbook follow an edit.

How the counts of what must come with a cluster move with it, and what each way of running the job
draws and does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.schema.base import Record

NetworkOfCable = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True, slots=True)
class CableEnd:
    """A device, where it stands and its port; a place is None where nobody gives racks.

    ``position_ru`` is the lowest rack unit of the device, None for what has no height; ``position``
    where its rack stands, in a hall of several groups of positions.
    """

    device: str
    port: str
    rack: int | None = None
    position_ru: float | None = None
    position: str | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """One link. Links with the same ``number`` and ``sku`` share a cable, as a splitter's do.

    ``sku`` is None where no cable is listed for such ports. ``length_m`` is the run in whole
    metres, None where the problem gives no ``site.floor``; ``medium`` says what such a length asks
    for, or where parts are bought by length what they are. ``ordered_m`` is then the length as it
    is sold, and ``counted_as`` the item that the bill counts for it.
    """

    number: int
    network: NetworkOfCable
    lower: CableEnd
    upper: CableEnd
    sku: str | None
    model: str | None
    part_number: str | None
    length_m: int | None
    medium: str
    ordered_m: float | None = None
    counted_as: str | None = None
    in_place_of: int = 1
    spares: str | None = None


@dataclass(frozen=True)
class CableSchedule:
    """All cables of a plan, and what should be known of them."""

    cables: tuple[Cable, ...]
    notes: tuple[str, ...]


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
