"""The cells into which purchases of one GPU type are divided, and what none in a cell passes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.bandwidth import ends
from planner.case.bounds import cap_in_use
from planner.case.model import Mode, Storage
from planner.limits import Limit
from planner.optimizer.kernel import Bills, Flags, Kernel, Numbers, Places
from planner.optimizer.operations import (
    Operation,
    Stores,
    Uses,
    endurance_tb_per_day,
    most_gpus,
    stored,
    worn_interval_s,
)
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.purchase import TOLERANCE

NOISE = 1e-9
SLACK = 1e-6
"""Where what cannot run is left out early, times and rates count as this much better."""


class Bounded:
    """The cells of one case in one mode, for all limits on what may be used up.

    Args:
        case: the case under limits that no scenario's are looser than; `covers` says it is one.
        mode: how checkpoints are saved.
        supplies: what is limited.
        plans: takes in plans, and says what those known are worth.
        give: how much of the score a plan may be worth less that takes least: it fits tighter
            limits, too. 0 where there are none.
    """

    def __init__(
        self, case: Case, mode: Mode, supplies: Sequence[Limit], plans: Plans, give: float = 0.0
    ) -> None:
        self.case, self.mode, self.supplies, self.plans = case, mode, tuple(supplies), plans
        self.give = give
        self.kernel, self.operation = Kernel(case), Operation(case, mode)
        self.figures = [each.figure for each in supplies]
        self.scales = np.array([each.scale for each in supplies], dtype=float)
        self._lay_out()
        self._know_storage()
        count = len(self.way)
        self.base = np.full((len(self.supplies), count), np.nan)
        self.fits = np.zeros(count, dtype=bool)
        self.refined = np.zeros(count, dtype=bool)
        self.bounds = self._outer()

    def _lay_out(self) -> None:
        """Number the cells: the way, and how many systems."""
        way, systems, number = [], [], 0
        rows_of: list[int] = []
        for row, system in enumerate(self.case.systems):
            counts = np.arange(max(1, system.min_units), cap_in_use(self.case, system) + 1)
            for _ in system.ways:
                way.append(np.full(len(counts), number, dtype=np.int64))
                systems.append(counts.astype(np.int64))
                rows_of.append(row)
                number += 1
        self.way, self.systems = np.concatenate(way), np.concatenate(systems)
        self.rows = np.array(rows_of, dtype=np.int64)
        self.step = self.operation.step
        self.most = np.zeros(len(self.way), dtype=np.int64)
        for place in range(number):
            here = self.way == place
            self.most[here] = most_gpus(self.case, place, self.systems[here])

    def _know_storage(self) -> None:
        """Take down what one unit of each item takes at least, and gives at most."""
        case, items = self.case, self.case.storage
        numbers = {item.id: n for n, item in enumerate(self.kernel.items)}
        takes = np.zeros((len(items), len(self.supplies)))
        for column, figure in enumerate(self.figures):
            if figure == "racks":
                uses = [item.rack_use for item in items]
                takes[:, column] = [u.racks_each / u.per_rack if u else 0.0 for u in uses]
                continue
            standing, bought = self.kernel.weights(case, figure)
            for row, item in enumerate(items):
                takes[row, column] = standing[self.kernel.index[item.place]]
                takes[row, column] += bought[numbers[item.id]]
        self.takes = takes / self.scales
        each = [_most_each(item) for item in items]
        endured = [endurance_tb_per_day(item) for item in items]
        usable = [item.usable_tb for item in items]
        self.gives = np.column_stack([*zip(*each, strict=True), usable, endured]).astype(float)
        self.high = np.array([math.inf if i.high is None else i.high for i in items])
        most = case.limits.most_write_gb_per_s
        self.most_write = (
            math.inf if most is None else most * (1 + TOLERANCE) / case.delivered_write
        )
        self.families = self._families()
        self._lay_out_families()

    def _families(self) -> list[tuple[Places, float, float, float]]:
        """Return what may be mixed: items, the most units of all, the clients' factors."""
        known = {family.id: family for family in self.case.families}
        found = []
        for family in dict.fromkeys(item.family for item in self.case.storage):
            places = [n for n, item in enumerate(self.case.storage) if item.family == family]
            one = known[family]
            most = math.inf if one.max_units is None else float(one.max_units)
            found.append((np.array(places), most, one.write_factor, one.read_factor))
        if self.case.max_families > 1 and len(found) > 1:
            everything = np.arange(len(self.case.storage))
            factors = max(f[2] for f in found), max(f[3] for f in found)
            found.append((everything, math.inf, *factors))
        return found

    def _lay_out_families(self) -> None:
        """Take down the members of all families one after the other, and the best of each.

        ``best`` is the most of each good that a family gives for one of each thing it takes: of
        every supply, and of the units that it may have.
        """
        self.members = np.concatenate([items for items, *_ in self.families])
        sizes = np.array([len(items) for items, *_ in self.families])
        self.starts = np.cumsum(sizes) - sizes
        self.units = np.array([units for _, units, *_ in self.families])
        self.units_of = np.repeat(self.units, sizes)[:, None]
        gives = self.gives[self.members][:, :, None]
        takes = np.column_stack([self.takes, np.ones(len(self.takes))])[self.members][:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(gives > 0, gives / takes, 0.0)
        self.best = np.maximum.reduceat(rates, self.starts, axis=0)

    # The first bound: storage without end.

    def _outer(self) -> Numbers:
        """Return a bound of each cell with storage without end and nothing ever waited for.

        Useful work has one peak in the GPUs in use, so where one step fewer is worse the most are
        best; elsewhere nothing is known yet.
        """
        if not len(self.way):
            return np.zeros(0)
        least = self.step[self.way]
        most = np.maximum(self.most, least)
        top = self._without_waiting(np.arange(len(self.way)), most)
        # What the next cell's more GPUs are better than, fewer are not either.
        known = np.zeros(len(top), dtype=bool)
        known[:-1] = (most[1:] > most[:-1]) & (top[1:] > top[:-1]) & (self.way[1:] == self.way[:-1])
        asked = np.flatnonzero(~known & (self.most >= least))
        fewer = np.maximum(most[asked] - least[asked], least[asked])
        known[asked] = self._without_waiting(asked, fewer) <= top[asked]
        if self.case.job.interval.policy == "lost_work":
            known &= np.isfinite(top)
        bounds = np.where(known, top, np.inf)
        return np.where(self.most >= least, bounds, -np.inf)

    def _without_waiting(self, cells: Places, gpus: NDArray[np.int64]) -> Numbers:
        """Return the score of cells with endless storage, where repairs are never waited for."""
        use = Uses(self.way[cells], self.systems[cells], gpus, self._endless(cells))
        return self.operation.without_waiting(use)

    def _endless(self, cells: Places) -> Stores:
        """Return storage without end, but for the write bandwidth that may be bought."""
        endless, write = np.full(len(cells), np.inf), np.full(len(cells), self.most_write)
        factors = [max(f[side] for f in self.families) for side in (2, 3)]
        return Stores(
            write, endless, write, endless, np.zeros(len(cells)),
            np.full(len(cells), factors[0]), np.full(len(cells), factors[1]),
        )  # fmt: skip

    def _best_use(self, cells: Places, stores: Stores) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the best score of each purchase over the GPUs in use, and those GPUs."""
        return self.operation.best(self.way[cells], self.systems[cells], self.most[cells], stores)

    # The second bound: what the room holds.

    def refine(self, cells: Places) -> None:
        """Bring the bounds of cells closer by the spares they have; work out what systems take."""
        cells = cells[~self.refined[cells]]
        if not len(cells):
            return
        self.bounds[cells] = self._best_use(cells, self._endless(cells))[0]
        self.refined[cells] = True
        nothing = np.zeros((len(self.case.storage), len(cells)), dtype=np.int64)
        self.base[:, cells], self.fits[cells] = self.taken(cells, nothing, least=True)

    def _taken(self, bills: Bills) -> Numbers:
        sums = self.kernel.sums(self.case, bills, self.figures)
        taken: Numbers = sums / self.scales[:, None]
        return taken

    def by_family(self, cells: Places, room: Numbers) -> tuple[Places, Places, Numbers]:
        """Return which of some cells which families may serve, and the second bound of each pair.

        Args:
            cells: the cells; one may stand there several times.
            room: what their systems leave of each supply, a column for each.
        """
        stores, enough = self._most_stored(cells, room)
        rows = np.flatnonzero(enough)
        which = rows % len(cells)
        bounds = self._best_use(cells[which], stores.at(rows))[0]
        return which, rows // len(cells), bounds

    def _most_stored(self, cells: Places, room: Numbers) -> tuple[Stores, Flags]:
        """Return the most that the items of each family could give, and where that is enough.

        Of each limit alone: what gives most for what it takes. The least over the limits counts.
        Families stand one after the other, each with all the cells.
        """
        takes, gives = self.takes[self.members][:, :, None], self.gives[self.members][:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(takes > 0, room / takes, np.inf).min(axis=1, initial=np.inf)
            alone = np.minimum(alone, self.units_of)
            alone = np.minimum(np.floor(alone * (1 + NOISE) + NOISE), self.high[self.members, None])
            limited = self.best[:, :, :-1, None] * room
            most = np.where(np.isnan(limited), np.inf, limited).min(axis=2, initial=np.inf)
            limited = self.best[:, :, -1] * self.units[:, None]
            most = np.minimum(most, np.where(np.isnan(limited), np.inf, limited)[:, :, None])
            each = np.where(gives > 0, gives * alone[:, None, :], 0.0)
            most = np.fmin(most, np.add.reduceat(each, self.starts, axis=0)) * (1 + NOISE)
        some = np.logical_or.reduceat(alone >= 1, self.starts, axis=0).ravel()
        read, write, usable, endured = most.transpose(1, 0, 2).reshape(most.shape[1], -1)
        write = np.minimum(write, self.most_write)
        worn = worn_interval_s(self.case, endured)
        factors = (
            np.repeat([family[side] for family in self.families], len(cells)) for side in (2, 3)
        )
        everywhere = np.tile(cells, len(self.families))
        stores = Stores(write, read, write, read, worn, *factors)
        return stores, self._enough(everywhere, read, write, usable) & some

    def _enough(self, cells: Places, read: Numbers, write: Numbers, usable: Numbers) -> Flags:
        """Say where storage has what is asked of it, however the job runs."""
        job, rule = self.case.job, self.case.rule
        enough: Flags = usable >= job.capacity_needed_tb * (1 - TOLERANCE)
        least = self.operation.least[self.way[cells]]
        arrives = self.case.delivered_read * read * (1 + SLACK)
        enough &= least * job.ingest_per_gpu_gb_per_s <= arrives
        if job.max_restore_s is not None:
            fan = self.operation.fan_once + self.operation.fan_each * self.operation.least
            enough &= fan[self.way[cells]] * job.checkpoint_gb <= job.max_restore_s * arrives
        asked = self.case.limits.least_write_gb_per_s
        if asked is not None:
            enough &= self.case.delivered_write * write >= asked * (1 - TOLERANCE)
        enough &= write <= self.most_write * (1 + NOISE)
        if rule is not None:
            each = np.array([system.gpus for system in self.case.systems])
            gpus = each[self.rows[self.way[cells]]] * self.systems[cells]
            groups = -(-gpus // rule.per_gpus)
            enough &= read >= groups * rule.read_gb_per_s * (1 - TOLERANCE)
            enough &= write >= groups * rule.write_gb_per_s * (1 - TOLERANCE)
        return enough

    def better(
        self, cells: int | Places, counts: NDArray[np.int64], need: float | Numbers
    ) -> tuple[Numbers, NDArray[np.int64], Places]:
        """Return of purchases what scores more than is needed: scores, GPUs in use, which.

        Args:
            cells: the cell of all of them, or of each.
            counts: their storage, a column for each.
            need: what all of them, or each, must score more than.
        """
        cells = np.broadcast_to(cells, counts.shape[1])
        stores, usable = stored(self.case, counts)
        enough = np.flatnonzero(self._enough(cells, stores.read, stores.write, usable))
        score, gpus = self._best_use(cells[enough], stores.at(enough))
        good = score > np.broadcast_to(need, counts.shape[1])[enough]
        return score[good], gpus[good], enough[good]

    def taken(
        self, cells: int | Places, counts: NDArray[np.int64], *, least: bool
    ) -> tuple[Numbers, Flags]:
        """Return what purchases take, or take at least, and which can be had; see `better`."""
        bills = self.kernel.bills(*self.columns(cells, counts), least=least)
        return self._taken(bills), self.kernel.can_be_had(bills)

    def columns(
        self, cells: int | Places, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Places]:
        """Return purchases as `Kernel.bills` takes them: units and ways; see `better`."""
        size = counts.shape[1]
        cells = np.broadcast_to(cells, size)
        units = np.zeros((len(self.kernel.offers), size), dtype=np.int64)
        first = len(self.case.systems)
        units[first : first + len(counts)] = counts
        units[self.rows[self.way[cells]], np.arange(size)] = self.systems[cells]
        return units, self.way[cells]


def _most_each(item: Storage) -> tuple[float, float]:
    """Return the most (read, write) bandwidth that a unit of an item gives, GB/s."""
    if not item.segments:
        return item.read_gb_per_s, item.write_gb_per_s
    known = ends(item)
    return max(r / n for n, r, _ in known), max(w / n for n, _, w in known)
