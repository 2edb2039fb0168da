"""Spares that stand by, in the model: availability as a factor of goodput.

    log A <= log A(h, rho),  rho = lambda N (psi tau),   A one less Erlang's loss formula at h + 1
    log A <= -log(1 + N odds/g)                          where spares stand in each rack
    log S <= log(1 - psi + psi e^(-swap/M))              longer restarts where hardware failed; with
                                                         two levels in their own restarts
    h = spares of the type in use,  h <= units of a system * x - units in use

log A is jointly concave in h and log rho (a numerical finding, see docs/model.md), and each of the
others a concave function of the logarithms, so tangents bound them everywhere. A plan that passed
its bound would be an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.case import System, Way
from planner.case.repair import Repair, SpareUnit
from planner.optimizer.context import Build
from planner.optimizer.levels import log_kept_by_swaps
from planner.optimizer.model import Linear, NegativeSoftplus, Point, combination, total
from planner.sizing.availability import log_availability_slopes, waiting

NOT_IN_RACKS = -40.0
"""Logarithm of the odds of waiting of a type whose spares do not stand in racks: none."""
SEED_WIDTHS = (-2.0, 0.0, 1.0, 2.0, 4.0)
"""First tangents stand at loads plus so many of their square roots."""


@dataclass(frozen=True)
class LogAvailability:
    """log A over (spares, log load); tangents stand at whole spares, between two loads."""

    most: int
    low: float
    high: float

    def nearest(self, at: Point) -> Point:
        """Return the whole number of spares, within the range of loads."""
        spares = min(max(round(at[0]), 0), self.most)
        return float(spares), min(max(at[1], self.low), self.high)

    def value(self, at: Point) -> float:
        """Return log A."""
        return math.log1p(-waiting(round(at[0]), math.exp(at[1])))

    def slopes(self, at: Point) -> Point:
        """Return the slopes for one more spare, and for the logarithm of the load."""
        return log_availability_slopes(round(at[0]), math.exp(at[1]))

    def seeds(self) -> list[Point]:
        """Return where first tangents stand: near as many spares as are out, and more."""
        points = []
        for log_load in (self.low, (self.low + self.high) / 2.0, self.high):
            load = math.exp(log_load)
            for width in SEED_WIDTHS:
                points.append(self.nearest((load + width * math.sqrt(load), log_load)))
        return points


def add_spare_units(build: Build) -> None:
    """Add the spares of each type whose spares are of a pool and decided."""
    repair = build.case.job.repair
    if repair is None:
        return
    for system in build.case.systems:
        units = [way.spare_unit for way in system.ways if not way.spare_unit.in_rack]
        if not units or (repair.shrinks and repair.spares is None):
            continue
        if repair.spares is None:
            most = min(_most_useful(build, repair), units[0].per_system * build.tops[system.id])
            count = build.model.var(f"spare__{system.id}", 0.0, float(most), True)
            build.spares[system.id] = count
        else:
            build.spares[system.id] = float(repair.spares) * build.type_used[system.id]


def _most_useful(build: Build, repair: Repair) -> int:
    """Return the spares that no plan gains anything from having more of."""
    rate = max(way.failures_per_gpu_day for way in build.case.ways)
    return repair.most_useful(rate, build.gpus_range[1])


def add_spares(build: Build) -> None:
    """Add the rows: spares are units that are bought and not in use, of the type in use."""
    repair = build.case.job.repair
    if repair is None:
        return
    for system in build.case.systems:
        _keep_swaps_short(build, repair, system)
        if system.id not in build.spares:
            continue
        spare, flag = build.spares[system.id], build.type_used[system.id]
        if repair.spares is None:
            most = min(_most_useful(build, repair), spare.upBound)
            build.model.row(f"spare_{system.id}", spare - float(most) * flag, "<=", 0.0)
        pools = [way for way in system.ways if not way.spare_unit.in_rack]
        unit = pools[0].spare_unit
        in_use = total(_units_in_use(build, way) for way in system.ways)
        bought = float(unit.per_system) * build.units[system.id]
        build.model.row(f"standing_by_{system.id}", spare + in_use - bought, "<=", 0.0)


def _units_in_use(build: Build, way: Way) -> Linear:
    unit = way.spare_unit
    if unit.per_system == 1 or unit.in_rack:
        return float(unit.per_system) * build.systems_of[way.id]
    return (1.0 / unit.gpus) * build.gpus_of[way.id]


def _keep_swaps_short(build: Build, repair: Repair, system: System) -> None:
    """Keep the GPUs in use few enough for the interruptions up to which the model holds."""
    if repair.swap_s == 0.0:
        return
    for way in system.ways:
        most = 86_400.0 / repair.shortest_mtti_s() / way.failures_per_gpu_day
        if most < build.gpus_range[1]:
            row = build.gpus_of[way.id] - most * build.way_used[way.id]
            build.model.row(f"swaps_{way.id}", row, "<=", 0.0)


def log_available(build: Build, repair: Repair) -> list[Linear]:
    """Return expressions whose sum is at most the logarithm of what repairs and swaps leave."""
    terms = []
    if repair.swap_s > 0.0 and build.mode != "local":
        terms.append(log_kept_by_swaps(build, repair, build.mu))
    if repair.shrinks:
        return [*terms, build.log_running - build.n]
    if build.spares:
        terms.append(_pool(build, repair))
    if any(way.spare_unit.in_rack for way in build.case.ways):
        terms.append(_racks(build, repair))
    return terms


def _pool(build: Build, repair: Repair) -> Linear:
    """Return at most log A; a type whose spares stand in racks counts as never waiting here."""
    low, high = _range_of(build, lambda way: repair.load(way.failures_per_gpu_day, 1.0))
    most = _most_useful(build, repair)
    surface = LogAvailability(max(most, math.ceil(math.exp(high))), low, high)
    racked = [way for way in build.case.ways if way.spare_unit.in_rack]
    plenty = combination((float(surface.most), build.way_used[way.id]) for way in racked)
    spares = total(build.spares.values()) + plenty
    available = build.model.var("log_available", None, 0.0)
    load = build.mu + math.log(repair.out_s)
    build.model.sheet("available", available, (spares, load), surface, surface.seeds())
    return available


def _racks(build: Build, repair: Repair) -> Linear:
    """Return at most log A where spares stand in each rack."""
    odds = {
        way.id: _log_odds(repair, way.spare_unit, way.failures_per_gpu_day)
        for way in build.case.ways
    }
    low, high = (math.log(gpus) for gpus in build.gpus_range)
    domain = (low + min(odds.values()), high + max(odds.values()))
    available = build.model.var("log_racks_available", None, 0.0)
    argument = build.n + combination((log, build.way_used[key]) for key, log in odds.items())
    build.model.link("racks_available", available, argument, NegativeSoftplus(), domain, seeds=9)
    return available


def _log_odds(repair: Repair, unit: SpareUnit, failures_per_gpu_day: float) -> float:
    if not unit.in_rack:
        return NOT_IN_RACKS
    odds = repair.rack_odds(unit, failures_per_gpu_day)
    return max(NOT_IN_RACKS, math.log(odds)) if odds > 0.0 else NOT_IN_RACKS


def _range_of(build: Build, per_gpu: Callable[[Way], float]) -> tuple[float, float]:
    """Return the least and the largest logarithm of N times a figure of the way in use."""
    logs = [math.log(per_gpu(way)) for way in build.case.ways]
    low, high = (math.log(gpus) for gpus in build.running_range)
    return low + min(logs), high + max(logs)
