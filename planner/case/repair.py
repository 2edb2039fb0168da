"""How failed hardware is mended, in numbers, and how much of its time a purchase then waits.

Spares stand by in one of two ways. Of a *pool* each takes the place of any unit: whole GPU systems
do, and trays where no tensor group spans two of them. Where tensor groups span trays, those that a
job leaves over *in each rack* take the place of trays of that rack alone, and nothing is decided
about them: they are the GPUs of a system that its replicas do not fill.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from planner.sizing.availability import (
    Shrinking,
    Shrunk,
    in_rack_waiting,
    longest_swap_per_mtti,
    most_spares,
    repair_load,
    shrunk,
    swap_factor,
    waiting,
    waiting_odds,
)

NEVER_WAITS = 1e-9
"""Spares beyond those that leave this share of time waiting change nothing that can be seen."""
SWAP_TOLERANCE = 1e-9


class SpareUnit(NamedTuple):
    """What of a GPU system fails and is swapped: a system, or a tray of it.

    A unit has ``gpus`` GPUs, a system ``per_system`` units, of which the job uses ``usable_gpus``
    GPUs. Spares are of a pool, or ``in_rack``.
    """

    gpus: int
    per_system: int
    usable_gpus: int
    in_rack: bool

    @property
    def in_each_rack(self) -> int:
        """Spares in each system in use, where they stand in racks."""
        return self.per_system - math.ceil(self.usable_gpus / self.gpus) if self.in_rack else 0

    @property
    def name(self) -> Literal["system", "tray"]:
        """The unit in words."""
        return "tray" if self.per_system > 1 else "system"

    @classmethod
    def for_system(cls, gpus: int, usable_gpus: int, tray: int | None, tensor: int) -> SpareUnit:
        """Return what of a GPU system is swapped.

        Args:
            usable_gpus: those the job uses.
            tray: GPUs of a tray where trays are swapped, None where systems are.
            tensor: GPUs of a tensor group, which stand in one NVLink domain; 1 without any.
        """
        if tray is None or tray >= gpus:
            return cls(gpus, 1, usable_gpus, in_rack=False)
        return cls(tray, gpus // tray, usable_gpus, in_rack=tray % tensor != 0)

    @property
    def holding_gpus(self) -> int:
        """GPUs of a unit of a pool that replicas can fill."""
        return self.usable_gpus if self.per_system == 1 else self.gpus

    def in_use(self, gpus: int) -> int:
        """Return the units that so many GPUs in use take: systems as replicas fill them, or trays
        wherever they stand."""
        return math.ceil(gpus / self.holding_gpus)


class Repair(NamedTuple):
    """What of a job's failures takes hardware out, and for how long.

    ``hardware_share`` of the interruptions do; ``out_s`` is the repair time an interruption causes
    on average, s, and ``swap_s`` how much longer a restart takes after one that does. ``spares`` is
    None where their number is decided. A job that ``shrinks`` goes on with fewer replicas where
    units are short; another waits.
    """

    hardware_share: float
    out_s: float
    swap_s: float
    spares: int | None
    shrinks: bool = False

    @property
    def repair_s(self) -> float:
        """How long a unit is out on average, s."""
        return self.out_s / self.hardware_share

    def load(self, failures_per_gpu_day: float, gpus: float) -> float:
        """Return the units that would be out on average if the job never waited."""
        return repair_load(failures_per_gpu_day, gpus, self.out_s)

    def standing_by(self, unit: SpareUnit, systems: int, gpus: int) -> int:
        """Return the spares of a purchase: negative where it has fewer than are asked for.

        Args:
            unit: what is swapped.
            systems: GPU systems of the type in the cluster.
        """
        if unit.in_rack:
            return unit.in_each_rack * math.ceil(gpus / unit.usable_gpus)
        left = systems * unit.per_system - unit.in_use(gpus)
        if self.spares is None:
            return left
        return self.spares if left >= self.spares else left - self.spares

    def waiting(
        self, unit: SpareUnit, spares: int, gpus: float, failures_per_gpu_day: float
    ) -> float:
        """Return the share of time the job waits for repairs.

        Args:
            unit: what is swapped.
            spares: units standing by; in each rack they follow from the system.
            failures_per_gpu_day: job-interrupting failures per GPU and day.
        """
        if not unit.in_rack:
            return waiting(spares, self.load(failures_per_gpu_day, gpus))
        each = self.load(failures_per_gpu_day, unit.usable_gpus)
        return in_rack_waiting(gpus / unit.usable_gpus, unit.in_each_rack, each)

    def shrunk(
        self, unit: SpareUnit, spares: int, replicas: tuple[int, int, int], rate: float
    ) -> Shrunk:
        """Return what a job does on average that goes on with fewer replicas.

        Args:
            unit: what is swapped, of a pool.
            spares: units standing by.
            replicas: how many run, the GPUs of one, and the fewest that can run.
            rate: job-interrupting failures per GPU and day.
        """
        count, replica_gpus, least = replicas
        gpus = count * replica_gpus
        units = unit.in_use(gpus) + spares
        job = Shrinking(units, unit.holding_gpus, replica_gpus, count, least)
        return shrunk(job.running, self.load(rate, gpus))

    def rack_odds(self, unit: SpareUnit, failures_per_gpu_day: float) -> float:
        """Return the time waited over the time not waited, per GPU in use, spares in each rack."""
        each = self.load(failures_per_gpu_day, unit.usable_gpus)
        return waiting_odds(unit.in_each_rack, each) / unit.usable_gpus

    def swap_factor(self, mtti_s: float) -> float:
        """Return what swaps leave of the goodput."""
        return swap_factor(self.hardware_share, self.swap_s, mtti_s)

    def shortest_mtti_s(self) -> float:
        """Return the time between interruptions from which on swaps are short enough for a proof,
        s."""
        return self.swap_s / longest_swap_per_mtti(self.hardware_share)

    def swaps_fit(self, mtti_s: float) -> bool:
        """Say whether the job runs long enough between swaps for the optimum to be proven."""
        return mtti_s >= self.shortest_mtti_s() * (1.0 - SWAP_TOLERANCE)

    def most_useful(self, failures_per_gpu_day: float, gpus: float) -> int:
        """Return the spares beyond which availability gains nothing that can be seen."""
        if self.spares is not None:
            return self.spares
        return most_spares(self.load(failures_per_gpu_day, gpus), NEVER_WAITS)
