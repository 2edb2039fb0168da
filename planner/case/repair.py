"""Repair of failed hardware in numbers: repair units, spares, share of time waited.

Spares stand by in one of two ways. Of a *pool* each takes the place of any unit: whole GPU systems
do, and trays where no tensor group spans two of them. Where tensor groups span trays, the trays
that a job leaves over *in each rack* take the place of trays of that rack alone, and nothing is
decided about them: they are the GPUs of a system that its replicas do not fill.
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
"""Share of time waited below which more spares change nothing."""


class SpareUnit(NamedTuple):
    """The part of a GPU system that fails and is swapped: the system, or a tray of it.

    A unit has ``gpus`` GPUs, a system ``per_system`` units, of which the job uses ``usable_gpus``
    GPUs. Spares are of a pool, or ``in_rack``.
    """

    gpus: int
    per_system: int
    usable_gpus: int
    in_rack: bool

    @property
    def name(self) -> Literal["system", "tray"]:
        """The unit in words."""
        return "tray" if self.per_system > 1 else "system"

    @property
    def in_each_rack(self) -> int:
        """Spares in each system in use, where they stand in racks."""
        return self.per_system - math.ceil(self.usable_gpus / self.gpus) if self.in_rack else 0

    @property
    def holding_gpus(self) -> int:
        """GPUs of a unit of a pool that replicas can fill."""
        return self.usable_gpus if self.per_system == 1 else self.gpus

    @classmethod
    def for_system(cls, gpus: int, usable_gpus: int, tray: int | None, tensor: int) -> SpareUnit:
        """The repair unit of a GPU system.

        Args:
            usable_gpus: GPUs that the job uses.
            tray: GPUs of a tray where trays are swapped, None where systems are.
            tensor: GPUs of a tensor group, which stand in one NVLink domain; 1 without any.
        """
        if tray is None or tray >= gpus:
            return cls(gpus, 1, usable_gpus, in_rack=False)
        return cls(tray, gpus // tray, usable_gpus, in_rack=tray % tensor != 0)

    def in_use(self, gpus: int) -> int:
        """Units of a number of GPUs in use: systems as replicas fill them, or trays anywhere."""
        return math.ceil(gpus / self.holding_gpus)


class Repair(NamedTuple):
    """Failures that take hardware out, and for how long.

    A ``hardware_share`` of the interruptions does; ``out_s`` is the repair time per interruption,
    s, and ``swap_s`` the delay of a restart after one that does. ``spares`` is None where their
    number is decided. A job that ``shrinks`` goes on with fewer replicas where units are short;
    another waits.
    """

    hardware_share: float
    out_s: float
    swap_s: float
    spares: int | None
    shrinks: bool = False

    @property
    def repair_s(self) -> float:
        """Mean time to repair of a unit, s."""
        return self.out_s / self.hardware_share

    def load(self, failures_per_gpu_day: float, gpus: float) -> float:
        """Units out on average if the job never waited."""
        return repair_load(failures_per_gpu_day, gpus, self.out_s)

    def standing_by(self, unit: SpareUnit, systems: int, gpus: int) -> int:
        """Spares of a number of systems in the cluster; negative if fewer than stated."""
        if unit.in_rack:
            return unit.in_each_rack * math.ceil(gpus / unit.usable_gpus)
        free = systems * unit.per_system - unit.in_use(gpus)
        if self.spares is None:
            return free
        return self.spares if free >= self.spares else free - self.spares

    def waiting(
        self, unit: SpareUnit, spares: int, gpus: float, failures_per_gpu_day: float
    ) -> float:
        """Share of time the job waits for repairs; in each rack spares follow from the system."""
        if not unit.in_rack:
            return waiting(spares, self.load(failures_per_gpu_day, gpus))
        each = self.load(failures_per_gpu_day, unit.usable_gpus)
        return in_rack_waiting(gpus / unit.usable_gpus, unit.in_each_rack, each)

    def rack_odds(self, unit: SpareUnit, failures_per_gpu_day: float) -> float:
        """Time waited over the time not waited, per GPU in use, spares in each rack."""
        each = self.load(failures_per_gpu_day, unit.usable_gpus)
        return waiting_odds(unit.in_each_rack, each) / unit.usable_gpus

    def shrunk(
        self, unit: SpareUnit, spares: int, replicas: tuple[int, int, int], rate: float
    ) -> Shrunk:
        """Averages of a job that goes on with fewer replicas.

        Args:
            unit: of a pool.
            replicas: how many run, the GPUs of one, and the fewest that can run.
            rate: job-interrupting failures per GPU and day.
        """
        count, replica_gpus, least = replicas
        gpus = count * replica_gpus
        units = unit.in_use(gpus) + spares
        job = Shrinking(units, unit.holding_gpus, replica_gpus, count, least)
        return shrunk(job.running, self.load(rate, gpus))

    def most_useful(self, failures_per_gpu_day: float, gpus: float) -> int:
        """Spares beyond which availability gains nothing."""
        if self.spares is not None:
            return self.spares
        return most_spares(self.load(failures_per_gpu_day, gpus), NEVER_WAITS)

    def swap_factor(self, mtti_s: float) -> float:
        """Factor of swaps on goodput."""
        return swap_factor(self.hardware_share, self.swap_s, mtti_s)

    def shortest_mtti_s(self) -> float:
        """MTTI from which on swaps are short enough for the optimum to be proven, s."""
        return self.swap_s / longest_swap_per_mtti(self.hardware_share)
