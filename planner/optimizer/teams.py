"""Types of GPU systems that run one job together, as arrays: as slow as the slowest of them.

A team is one way, or one way each of several types: it interrupts as often as its worst type, and
moves no more than all its ports. For several types the arrays say what no use of the team passes;
the use itself is worked out for one purchase (`run_team`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, System, Way
from planner.case.model import Mode
from planner.optimizer import operate
from planner.optimizer.intervals import Drives
from planner.optimizer.kernel import Numbers, Places
from planner.optimizer.operate import Run
from planner.optimizer.operations import Operation
from planner.sizing.throughput import ScaleLaw

Counts = NDArray[np.int64]
ANY_SYSTEMS = 2**20
"""Systems of a team: its hot spares are counted type by type, in the most GPUs."""
_OF_SEVERAL: Mapping[str, Callable[[Any], Any]] = {
    "usable": min,
    "least": max,
    "gpus_max": min,
    "rate": max,
    "tflops": min,
    "flat_pflops": min,
    "copy_s": max,
    "of_replica": max,
    "fan_once": min,
    "fan_each": min,
    "step": np.gcd.reduce,
    "filled": min,
}


def teams_of(case: Case) -> list[tuple[int, ...]]:
    """Return the places in `Case.ways` that can run the job together, single ways first.

    Types in use share one compute fabric, and are all that must be in use.
    """
    owner = [system for system in case.systems for _ in system.ways]
    teams: list[tuple[int, ...]] = [(way,) for way in range(len(owner))]
    most = 1 if case.job.repair is not None else case.job.max_types
    for size in range(2, most + 1):
        for team in itertools.combinations(range(len(owner)), size):
            types = {owner[way].id for way in team}
            fabrics = {case.ways[way].fabric for way in team} - {None}
            if len(types) == size and len(fabrics) <= 1:
                teams.append(team)
    return teams


class Teams(Operation):
    """`Operation` of teams: places of ways are places of teams, and the first are single ways."""

    def __init__(self, case: Case, mode: Mode) -> None:
        super().__init__(case, mode)
        self.teams = teams_of(case)
        owner = [row for row, system in enumerate(case.systems) for _ in system.ways]
        self.rows_of = [[owner[way] for way in team] for team in self.teams]
        self.several = np.array([len(team) > 1 for team in self.teams], dtype=bool)
        widest = max(map(len, self.teams), default=1)
        padded = [[*team, *[-1] * (widest - len(team))] for team in self.teams]
        self.ways_of = np.array(padded, dtype=np.int64).reshape(len(self.teams), widest).T
        rows = [[*of, *[-1] * (widest - len(of))] for of in self.rows_of]
        self.rows_padded = np.array(rows, dtype=np.int64).reshape(len(self.teams), widest).T
        self.gpus_of_system = self.usable.copy()
        if len(self.teams) > len(case.ways):
            self._extend()

    def _extend(self) -> None:
        """Take down what several types do together, after what each way does alone."""
        usable, clients = self.usable, (self.client_write, self.client_read)
        for name, of in _OF_SEVERAL.items():
            each = getattr(self, name)
            together = [of([each[way] for way in team]) for team in self.teams]
            setattr(self, name, np.array(together, dtype=each.dtype))
        # Ports of a GPU count: no systems have more of them than those of the type with most.
        self.client_write, self.client_read = (
            np.array(
                [max(c[w] / usable[w] for w in t) * min(usable[w] for w in t) for t in self.teams]
            )
            for c in clients
        )
        if self.drives is not None:
            self.drives = _drives_together(self.drives, self.teams)

    def of_systems(self, team: Places, systems: Counts) -> tuple[Counts, Counts]:
        """Return the systems and the most GPUs of purchases.

        Args:
            team: the place of the team of each.
            systems: a row for each GPU system of the case, a column for each purchase.
        """
        count, most = np.zeros((2, len(team)), dtype=np.int64)
        for place in np.unique(team).tolist():
            here = team == place
            if not self.several[place]:
                count[here] = systems[self.rows_of[place][0], here]
                most[here] = self.most_gpus(place, count[here])
                continue
            for way, row in zip(self.teams[place], self.rows_of[place], strict=True):
                most[here] += self.most_gpus(way, systems[row, here])
            limit = min(float(self.gpus_max[place]), float(ANY_SYSTEMS) * 64)
            most[here] = np.minimum(most[here], int(limit)) // self.step[place] * self.step[place]
            count[here] = ANY_SYSTEMS
        return count, most

    def most_gpus(self, number: int, systems: Counts) -> Counts:
        """Return the most GPUs that the job can use of so many systems of one way's type."""
        return super().most_gpus(number, systems)

    def _scaled(self, way: Places, gpus: Numbers, law: ScaleLaw | None) -> Numbers:
        """Return what a law of scale leaves of the rate of a GPU: of a team the best of types."""
        if law is None or not self.several.any():
            return super()._scaled(way, gpus, law)
        share = np.zeros(len(way))
        for members in self.ways_of:
            some = members[way] >= 0
            share[some] = np.maximum(
                share[some], super()._scaled(members[way][some], gpus[some], law)
            )
        return share


def _drives_together(drives: Drives, teams: Sequence[tuple[int, ...]]) -> Drives:
    """Return the drives of teams: all of them there, as slow as the slowest, as full as the
    fullest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.where(drives.there, drives.room_tb / drives.most_tb, np.inf)
    of = [list(team) for team in teams]
    drives.there, drives.drain_s, drives.worn_s, drives.room_tb = (
        np.array([drives.there[team].all() for team in of]),
        np.array([drives.drain_s[team].max() for team in of]),
        np.array([drives.worn_s[team].max() for team in of]),
        np.array([full[team].max() for team in of]),
    )
    drives.most_tb = np.ones(len(of))
    return drives


# The use of one purchase by several types.


def run_team(
    case: Case,
    mode: Mode,
    units: Mapping[str, int],
    ways: Sequence[Way],
    near: int,
    value: Callable[[Run], float],
) -> Run | None:
    """Return the best use of a purchase by several types near so many GPUs; None without any.

    Args:
        units: what is bought, by item.
        ways: one of each type that runs the job.
        near: GPUs in use where what the arrays say is most.
        value: what a use is worth, -inf where it is none.
    """
    owners = {way.id: system for system in case.systems for way in system.ways}
    types = [(owners[way.id], way) for way in ways]
    names = tuple(way.id for way in ways)

    @cache
    def at(gpus: int) -> Run | None:
        runs = [
            operate.operate(case, mode, units, used, gpus, names)
            for used in _uses(case, types, units, gpus)
        ]
        return max((run for run in runs if run is not None), key=value, default=None)

    def worth(gpus: int) -> float:
        run = at(gpus)
        return -math.inf if run is None else value(run)

    numbers = _reachable(case, types, units)
    if not numbers:
        return None
    place = min(range(len(numbers)), key=lambda n: abs(numbers[n] - near))
    moved = True
    while moved:
        moved = False
        for step in (1, -1):
            while 0 <= place + step < len(numbers) and (
                worth(numbers[place + step]) > worth(numbers[place])
            ):
                place, moved = place + step, True
    run = at(numbers[place])
    return run if run is not None and value(run) > -math.inf else None


def _reachable(
    case: Case, types: Sequence[tuple[System, Way]], units: Mapping[str, int]
) -> list[int]:
    """Return the GPUs in use to which whole steps of every type add up, fewest first."""
    sums = {0}
    for system, way in types:
        most = way.most_gpus(operate.most_in_use(case, units[system.id]))
        sums = {
            have + more for have in sums for more in range(way.step_gpus, most + 1, way.step_gpus)
        }
    return sorted(sums)


def _uses(
    case: Case, types: Sequence[tuple[System, Way]], units: Mapping[str, int], gpus: int
) -> list[dict[str, int]]:
    """Return systems in use by type for so many GPUs: those with most ports to either side."""
    systems = {system.id: system for system, _ in types}

    def ports(used: Mapping[str, int], side: str) -> float:
        return sum(float(getattr(systems[name], side)) * count for name, count in used.items())

    found = list(_divided(case, types, units, gpus))
    sides = ("client_write_gb_per_s", "client_read_gb_per_s")
    return [max(found, key=lambda used: ports(used, side)) for side in sides if found]


def _divided(
    case: Case, types: Sequence[tuple[System, Way]], units: Mapping[str, int], gpus: int
) -> Iterator[dict[str, int]]:
    """Yield every way to divide GPUs in whole steps among types: systems in use by type."""
    (system, way), *rest = types
    most = way.most_gpus(operate.most_in_use(case, units[system.id]))
    if not rest:
        if 0 < gpus <= most and gpus % way.step_gpus == 0:
            yield {system.id: way.systems_for(gpus)}
        return
    for mine in range(way.step_gpus, min(most, gpus - 1) + 1, way.step_gpus):
        for others in _divided(case, rest, units, gpus - mine):
            yield {system.id: way.systems_for(mine), **others}
