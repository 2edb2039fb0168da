"""Repairs: spare units, waiting for them, or going on with fewer replicas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from planner.schema.plan import ShrunkPlan
from planner.schema.running import Repair
from planner.verifier import goodput as physics
from planner.verifier.goodput import DAY_S, States, Times
from planner.verifier.job import HOURS_PER_YEAR, Run
from planner.verifier.rates import gpus_of, least_replicas, usable_gpus, whole_replica


class Unit(NamedTuple):
    """The unit of repair: its GPUs, units per system, usable GPUs of a system, spares in racks."""

    gpus: int
    per_system: int
    usable: int
    in_rack: bool

    @property
    def in_each(self) -> int:
        """Spares in each system, where they stay in their rack."""
        return self.per_system - math.ceil(self.usable / self.gpus)

    @property
    def name(self) -> str:
        """Its name in a plan."""
        return "tray" if self.per_system > 1 else "system"


def unit_of(run: Run, *, tray: bool) -> Unit:
    """Return the unit of repair of the type in use: its trays where known, or the system."""
    (item,) = run.types
    gpus = item.spare_unit.tray.value if tray and item.spare_unit is not None else gpus_of(item)
    option = run.job.parallelism if whole_replica(run.job) is not None else None
    spans = gpus < gpus_of(item) and gpus % (1 if option is None else option.tensor) != 0
    return Unit(gpus, gpus_of(item) // gpus, usable_gpus(run.job, item), spans)


@dataclass(frozen=True)
class Repairs:
    """Repairs of a run: unit, share of interruptions that take one out, repair time, states.

    ``states`` are those of a job that goes on with fewer replicas, None of one that waits.
    """

    run: Run
    repair: Repair
    unit: Unit
    share: float
    repair_s: float
    states: States | None = None

    @classmethod
    def of(cls, run: Run) -> Repairs | None:
        """Return the repairs, None where the problem states none."""
        repair = run.job.repair
        if repair is None:
            return None
        kinds = [(each.share, each.time_s) for each in repair.classes]
        if repair.share is not None and repair.time_s is not None:
            kinds = [(repair.share, repair.time_s)]
        share = math.fsum(each for each, _ in kinds)
        mean_s = math.fsum(each * time_s for each, time_s in kinds) / share
        found = cls(run, repair, unit_of(run, tray=repair.unit == "tray"), share, mean_s)
        if repair.when_short != "shrink":
            return found
        return replace(found, states=found.states_with(max(0, found.spares(found.unit))))

    @property
    def per_gpu(self) -> float:
        """Units out on average per GPU, if the job never waited."""
        return self.run.failures / DAY_S * self.share * self.repair_s

    @property
    def full_s(self) -> float:
        """Mean time between interruptions with all replicas running, s."""
        return DAY_S / (self.run.failures * self.run.gpus)

    def spares(self, unit: Unit) -> int:
        """Return the spare units; negative where fewer than the problem asks for are there."""
        run, asked = self.run, self.repair.spares
        (sku,), (used,) = run.systems, run.systems.values()
        if unit.in_rack:
            return unit.in_each * used
        used = math.ceil(run.gpus / unit.gpus) if unit.per_system > 1 else used
        left = run.counts[sku] * unit.per_system - used
        if isinstance(asked, int):
            return asked if left >= asked else left - asked
        return left

    def waits(self, unit: Unit, spares: int) -> float:
        """Return the share of time waiting for repairs."""
        if not unit.in_rack:
            return physics.waiting_share(max(0, spares), self.per_gpu * self.run.gpus)
        each = physics.waiting_share(unit.in_each, self.per_gpu * unit.usable)
        odds = self.run.gpus / unit.usable * each / (1.0 - each)
        return odds / (1.0 + odds)

    def states_with(self, spares: int) -> States:
        """Return the states of a job that goes on with fewer replicas."""
        run, replica = self.run, whole_replica(self.run.job) or 1
        holds = self.unit.usable if self.unit.per_system == 1 else self.unit.gpus
        units, most = math.ceil(run.gpus / holds) + spares, run.gpus // replica
        replicas = [most]
        while replicas[-1] > 0:
            left = max(0, units - len(replicas)) * holds // replica
            replicas.append(min(most, left) if left >= self.least else 0)
        return States.of([self.per_gpu * replica * d for d in replicas], replicas, self.repair_s)

    @property
    def least(self) -> int:
        """Fewest replicas whose memory holds their state."""
        return least_replicas(self.run.types[0], self.run.job) or 1

    def added(self, times: Times) -> Times:
        """Return the times with swaps, waiting, and the failures that running replicas see."""
        times = replace(times, swapped=self.share, swap_s=self.repair.swap_s)
        if self.states is None:
            return replace(times, waits=self.waits(self.unit, self.spares(self.unit)))
        lost, _, _ = self.states.lost(times, self.share, self.full_s)
        return replace(times, mtti_s=self.full_s / self.states.seen, waits=lost)

    def figures(self, times: Times) -> dict[str, Any]:
        """Return the plan's figures of repairs."""
        unit, states, spares = self.unit, self.states, self.spares(self.unit)
        load = self.per_gpu * self.run.gpus
        kept = math.exp(physics.log_goodput(times) or 0.0) * (1.0 - times.idle)
        decided = not isinstance(self.repair.spares, int)
        other = unit_of(self.run, tray=unit.per_system == 1)
        known = decided and other != unit and states is None
        if states is None:
            waits, odds = self.waits(unit, spares), physics.running_odds(max(0, spares), load)
            out = load * odds / (1.0 + odds)
            more = waits - physics.waiting_share(max(0, spares) + 1, load)
        else:
            waits, out = states.lost(times, self.share, self.full_s)[0], states.mean(lambda j, _: j)
            wider = self.states_with(max(0, spares) + 1)
            more = waits - wider.lost(times, self.share, self.full_s)[0]
        other_h = HOURS_PER_YEAR * self.waits(other, self.spares(other)) if known else None
        own: dict[str, Any] = {"unit": unit.name, "unit_gpus": unit.gpus, "in_rack": unit.in_rack}
        own |= {"spares": spares, "decided": decided, "hardware_share": self.share, "load": load}
        own |= {
            "repair_s": self.repair_s,
            "swap_s": self.repair.swap_s,
            "availability": 1.0 - waits,
        }
        own |= {"waiting_h_per_year": HOURS_PER_YEAR * waits, "other_waiting_h_per_year": other_h}
        own |= {"other_unit": other.name if known else None, "next_spare_gpus": None}
        own |= {"units_out": None, "shrunk": states and self._shrunk(states, times)}
        if not unit.in_rack:
            own |= {"units_out": out, "next_spare_gpus": self.run.gpus * kept * more}
        return own

    def _shrunk(self, states: States, times: Times) -> ShrunkPlan:
        _, late, grows = states.lost(times, self.share, self.full_s)
        restart_s = times.restart_s + times.restore_s + times.drain_s
        if times.every:
            restart_s = times.near_restart_s + times.near_drain_s
        most = states.replicas[0]
        return ShrunkPlan(
            running=states.running,
            failing=states.seen,
            least_replicas=self.least,
            restarts_per_year=DAY_S * 365 * grows,
            restart_s=restart_s,
            short_h_per_year=HOURS_PER_YEAR * states.mean(lambda _, d: d < most),
            stopped_h_per_year=HOURS_PER_YEAR * states.mean(lambda _, d: d == 0),
            late=late,
        )
