"""Answers without a solver: every purchase of one GPU type, bounded and enumerated as arrays.

The purchases are divided into cells: a way in which the job runs, and how many systems of its type
there are. Useful work does not fall where storage moves more, and what a purchase takes does not
fall where more is bought. So a cell is bounded three times, each closer than the one before:

1. as if storage were no limit (whatever the limits are);
2. by storage family, with the most bandwidth that the room which the systems leave could hold: each
   limit alone filled with what gives most of it, a knapsack in fractions;
3. exactly: the counts of storage that fit, by `Kernel` in its least form.

Cells are opened from the highest bound down, until none is above the best plan by more than the
gap. What cannot be settled so (many mixtures of items in one family) keeps its bound, and whoever
asked goes on with the solver.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.bandwidth import ends
from planner.case.bounds import cap, cap_in_use, unlimited
from planner.case.model import Mode, Storage
from planner.case.quantities import RackUse
from planner.limits import Limit
from planner.optimizer import operations
from planner.optimizer.kernel import Bills, Flags, Kernel, Numbers, Places
from planner.optimizer.operate import Run
from planner.optimizer.operations import (
    Operation,
    Stores,
    Uses,
    endurance_tb_per_day,
    stored,
    worn_interval_s,
)
from planner.optimizer.parametric.plans import Plans, Proposal
from planner.optimizer.purchase import TOLERANCE

TCO = "tco_usd"
MOST_CELLS = 1_000_000
MANY_CELLS = 20_000
"""Of so many those that fit are looked for before any is bounded."""
CHUNK = 256
"""Cells that are looked at together."""
FIRST = 8
"""Of those so many are opened first, then twice as many each time: what they hold closes others."""
BATCH = 4
"""Cells and families that are enumerated together."""
TRIES = 4
"""Purchases of a cell that are taken up as plans until one may be made."""
BILLED = 64
"""So many of the best have their bills at first, then four times as many, until those fit."""
GUESSES = 4
"""So often how many fit is guessed by what each takes, before it is found by halving."""
NOISE = 1e-9
SLACK = 1e-6
"""Where what cannot run is left out early, times and rates count as this much better."""


def covers(case: Case) -> bool:
    """Say whether `covers_alone`, nothing must be bought or is owned, and money per useful work is
    not limited: what the cells of many scenarios are opened for."""
    demanded = any(offer.low or offer.installed for offer in case.offers())
    return not demanded and not priced(case) and covers_alone(case)


def priced(case: Case) -> bool:
    """Say whether money per useful work is limited."""
    return any(case.limits[name] is not None for name in operations.PRICES)


def covers_alone(case: Case) -> bool:
    """Say whether no plan of a case needs more than one GPU type, beside those that must be bought,
    and what that leaves is known.

    What vendors are asked for makes purchases of several types worth having; cost and power as
    objectives are best at the least that meets the floors.
    """
    offers = case.offers()
    had = any(offer.low or offer.installed for offer in offers)
    serving = {item.family for item in case.storage if item.low}
    return (
        case.objective in operations.WORTH
        and bool(case.systems and case.storage)
        and case.job.max_types == 1
        and all(operations.covers(case, mode) for mode in case.job.modes)
        and not (case.policy.required or case.policy.splits or case.must_use)
        and not (case.policy.disliked and had)
        and case.exact_families in (None, 1)
        and not any(offer.forced and not offer.low for offer in offers)
        and {family.id for family in case.families if family.forced} <= serving
        and len(serving) <= (1 if case.exact_families else case.max_families)
        and sum(cap_in_use(case, s) * len(s.ways) for s in case.systems) <= _most_cells(case)
    )


def _most_cells(case: Case) -> int:
    """Return how many cells are tried: many only where all are held back by some limit."""
    endless = any(cap(case, s) == unlimited(case, s) > (s.high or 0) for s in case.systems)
    return MANY_CELLS if endless else MOST_CELLS


class Cells:
    """The cells of one case in one mode, for all limits on what may be used up.

    Args:
        case: the case under limits that no scenario's are looser than; `covers` says it is one.
        mode: how checkpoints are saved; see `operations.ways_to_save`.
        plans: takes in plans, and says what those known are worth.
        give: how much of the score a plan may be worth less that takes least: it fits tighter
            limits, too. 0 where there are none.
    """

    most_mixes = 6_000
    """More mixtures of a family's items in one cell are left to the solver."""

    def __init__(
        self, case: Case, mode: Mode, supplies: Sequence[Limit], plans: Plans, give: float = 0.0
    ) -> None:
        self.case, self.mode, self.supplies, self.plans = case, mode, tuple(supplies), plans
        self.give = give
        self.kernel, self.operation = Kernel(case), Operation(case, mode)
        self.figures = [each.figure for each in supplies]
        self.scales = np.array([each.scale for each in supplies], dtype=float)
        self.tco = self.figures.index(TCO) if priced(case) else None
        self._know_demands()
        self._lay_out()
        self._know_storage()
        count = len(self.way)
        self.base = np.full((len(self.supplies), count), np.nan)
        self.fits, self.based = np.zeros((2, count), dtype=bool)
        self.need = -math.inf  # what a plan must score more than to be of use
        self.bounds = self._outer()
        self._begin()

    def _begin(self) -> None:
        """Reset what is known of cells to their first bounds."""
        self.refined = np.zeros(len(self.way), dtype=bool)
        self.outer, self.closer = self.bounds.copy(), np.full(len(self.way), np.nan)

    def under(self, case: Case, plans: Plans, need: float) -> Cells:
        """Return the cells of a case that differs in limits, none of them looser.

        What is known of bounds, and of what systems take, is known to both from then on.

        Args:
            case: it has the same bills, and nothing is limited that was not.
            plans: takes in its plans.
            need: what a plan must score more than to be of use.
        """
        made = copy.copy(self)
        made.case, made.plans, made.need = case, plans, need
        made._limit_writing()
        if made.most_write == self.most_write:
            made.bounds, made.refined = self.outer.copy(), np.zeros(len(self.way), dtype=bool)
        else:
            made.bounds = made._outer()
            made._begin()
        most = np.array([cap_in_use(case, system) for system in case.systems], dtype=np.int64)
        made.bounds[self.systems > most[self.row_of[self.way]]] = -np.inf
        return made

    def _know_demands(self) -> None:
        """Take down what every purchase has: ``begun`` of each offer but storage, ``low`` of it."""
        case = self.case
        self.begun = np.zeros((len(self.kernel.offers), 1), dtype=np.int64)
        self.begun[: len(case.systems), 0] = [max(s.low, s.min_units) if s.low else 0
                                              for s in case.systems]  # fmt: skip
        firsts = (i.segments[0].low if i.segments else i.min_units for i in case.storage)
        lows = [max(i.low, n) if i.low else 0 for i, n in zip(case.storage, firsts, strict=True)]
        self.low = np.array(lows, dtype=np.int64)
        self.installed = np.array([item.installed for item in case.storage], dtype=float)

    def _lay_out(self) -> None:
        """Number the cells: the way, and how many systems."""
        offers = self.case.systems
        owners = [(row, system) for row, system in enumerate(offers) for _ in system.ways]
        self.row_of = np.array([row for row, _ in owners], dtype=np.int64)
        first = np.array([max(1, s.min_units, s.low) for _, s in owners], dtype=np.int64)
        last = np.array([cap_in_use(self.case, system) for _, system in owners], dtype=np.int64)
        idle = {system.id for system in offers if system.low}
        unplaced = [not idle.isdisjoint(self.case.unplaced.get(w.id, ())) for w in self.case.ways]
        last[np.array(unplaced)] = 0
        if last.sum() > MANY_CELLS:
            last = self._most_that_fit(first, last)
        sizes = np.maximum(last - first + 1, 0)
        self.way = np.repeat(np.arange(len(owners)), sizes)
        begun = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.systems = np.arange(len(self.way)) - begun + first[self.way]
        self.step = self.operation.step
        self.most = np.zeros(len(self.way), dtype=np.int64)
        for place in range(len(owners)):
            here = self.way == place
            self.most[here] = self.operation.most_gpus(place, self.systems[here])

    def _most_that_fit(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many systems fit the limits at most in each way, without any storage."""
        ways = np.arange(len(first))

        def over(rows: Places, counts: NDArray[np.int64]) -> Flags:
            units = np.tile(self.begun, len(rows))
            units[self.row_of[rows], np.arange(len(rows))] = first[rows] + counts
            return ~self.kernel.fit(self.kernel.bills(units, ways[rows], least=True))

        return first + least_that(np.maximum(last - first + 1, 0), over) - 1

    def _know_storage(self) -> None:
        """Take down what one unit of each item takes at least, and gives at most."""
        case, items = self.case, self.case.storage
        numbers = {item.id: n for n, item in enumerate(self.kernel.items)}
        self.weights = [
            None if figure == "racks" else self.kernel.weights(case, figure)
            for figure in self.figures
        ]
        takes = np.zeros((len(items), len(self.supplies)))
        for column, weights in enumerate(self.weights):
            if weights is None:
                uses = [item.rack_use for item in items]
                takes[:, column] = [u.racks_each / u.per_rack if u else 0.0 for u in uses]
                continue
            standing, bought = weights
            for row, item in enumerate(items):
                takes[row, column] = standing[self.kernel.index[item.place]]
                takes[row, column] += bought[numbers[item.id]]
        self.takes = takes / self.scales
        each = [_most_each(item) for item in items]
        endured = [endurance_tb_per_day(item) for item in items]
        usable = [item.usable_tb for item in items]
        self.gives = np.column_stack([*zip(*each, strict=True), usable, endured]).astype(float)
        self.high = np.array([math.inf if i.high is None else i.high for i in items])
        self._limit_writing()
        self.families = self._families()
        self._lay_out_families()

    def _limit_writing(self) -> None:
        most = self.case.limits["most_write_gb_per_s"]
        each = self.case.delivered_write
        self.most_write = math.inf if most is None else most * (1 + TOLERANCE) / each

    def _families(self) -> list[tuple[Places, float, float, float]]:
        """Return what may be mixed: items, the most units of all, the clients' factors."""
        known = {family.id: family for family in self.case.families}
        demanded, found = set(np.flatnonzero(self.low).tolist()), []
        for family in dict.fromkeys(item.family for item in self.case.storage):
            places = [n for n, item in enumerate(self.case.storage) if item.family == family]
            one = known[family]
            most = math.inf if one.max_units is None else float(one.max_units)
            found.append((np.array(places), most, one.write_factor, one.read_factor))
        if self.case.max_families > 1 and len(found) > 1:
            everything = np.arange(len(self.case.storage))
            factors = max(f[2] for f in found), max(f[3] for f in found)
            found.append((everything, math.inf, *factors))
        return [each for each in found if demanded <= set(each[0].tolist())]

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
        # What is owned takes no more in the cluster than idle, and more may stand in its last rack.
        self.free = self.takes * self.installed[:, None]
        racks = [row for row, weights in enumerate(self.weights) if weights is None]
        for place, item in enumerate(self.case.storage):
            if item.rack_use is not None:
                self.free[place, racks] += (
                    begun(item.rack_use, self.installed[place]) / (self.scales[racks])
                )
        self.free_of = np.add.reduceat(self.free[self.members], self.starts, axis=0)
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
        bounds = np.where(known, top, self._peaks(known, top)[self.way])
        return np.where(self.most >= least, bounds, -np.inf)

    def _peaks(self, known: Flags, top: Numbers) -> Numbers:
        """Return for each way the most that any cell scores of which nothing is known."""
        peaks = np.full(len(self.row_of), np.inf)
        for way in range(len(peaks)):
            here = np.flatnonzero((self.way == way) & (self.most >= self.step[way]))
            if known[here].all() or not np.isfinite(top[here]).all():
                continue
            first = here[np.argmin(known[here])]
            low = self.most[here[here < first][-1:]].max(initial=0)
            gpus = np.arange(low + self.step[way], self.most[first] + 1, self.step[way])
            some = self._without_waiting(np.full(len(gpus), first), gpus)
            # Useful work has one peak: up to the last known it rises, and it falls from there on.
            peaks[way] = max(float(some.max()), float(top[here[here < first]].max(initial=-np.inf)))
        return peaks

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

    def _best_use(
        self, cells: Places, stores: Stores, taken: Numbers
    ) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the best score of each purchase over the GPUs in use, and those GPUs.

        Args:
            cells: the cell of each.
            stores: what its storage gives.
            taken: what it takes at least: useful work may be asked for the money.
        """
        tco_usd = None if self.tco is None else taken[self.tco] * self.scales[self.tco]
        of = self.way[cells], self.systems[cells], self.most[cells]
        return self.operation.best(*of, stores, tco_usd)

    # The second bound: what the room holds.

    def answer(self, place: int, limits: Numbers, most: Callable[[], float]) -> float:
        """Return what no plan's score passes under limits; plans found on the way are kept.

        Args:
            place: the scenario, for `Plans`.
            limits: what may be used up of each supply.
            most: how high the bound may be for the best plan known to be good enough.
        """
        proved = -math.inf
        order = np.argsort(-self.bounds, kind="stable")
        for begin in range(0, len(order), CHUNK):
            cells = order[begin : begin + CHUNK]
            if self.bounds[cells[0]] <= most() or not self._looks():
                return max(proved, float(self.bounds[cells[0]]))
            self._refine(cells[self.bounds[cells] > most()])
            open_ = self.bounds[cells] > most()
            proved = max(proved, float(self.bounds[cells[~open_]].max(initial=-np.inf)))
            proved = max(proved, self._open(place, cells[open_], limits, most))
            if proved > most():  # the solver is asked anyway
                return max(proved, float(self.bounds[order[begin:]].max(initial=-np.inf)))
        return proved

    def value(self, score: Numbers, taken: Numbers) -> Numbers:
        """Return what purchases are worth that score so much work and take so much at least."""
        return score

    def spare(self, cells: Places, bound: Numbers, taken: Numbers, need: float) -> Numbers | None:
        """Return how much more of each supply purchases of cells may take that are worth more than
        is needed, where no more than bounds and no less than what is taken; None without end."""
        if self.tco is None:
            return None
        more = np.full_like(taken, np.inf)
        most_usd = self.operation.affordable(self.way[cells], bound) * (1 + SLACK)
        more[self.tco] = most_usd / self.scales[self.tco] - taken[self.tco]
        return more

    def _looks(self) -> bool:
        """Say whether to look on: there is no end to it here."""
        return True

    def _refine(self, cells: Places) -> None:
        """Bring the bounds of cells closer by the spares they have; work out what systems take."""
        cells = cells[~self.refined[cells]]
        if not len(cells):
            return
        self._know_base(cells[~self.based[cells]])
        unknown = cells[np.isnan(self.closer[cells])]
        if len(unknown):
            least = self._endless(unknown), self.base[:, unknown]
            self.closer[unknown] = self._best_use(unknown, *least)[0]
        self.bounds[cells] = self.closer[cells]
        self.refined[cells] = True

    def _know_base(self, cells: Places) -> None:
        """Work out what the systems of cells take by themselves."""
        if not len(cells):
            return
        units = np.tile(self.begun, len(cells))
        rows = self.row_of[self.way[cells]]
        units[rows, np.arange(len(cells))] = self.systems[cells]
        bills = self.kernel.bills(units, self.way[cells], least=True)
        self.base[:, cells] = self._taken(bills)
        self.fits[cells] = self.kernel.can_be_had(bills)
        self.based[cells] = True

    def _taken(self, bills: Bills) -> Numbers:
        """Return what bills take of each supply; see `Kernel.sums`."""
        taken = np.empty((len(self.figures), bills.counts.shape[1]))
        for row, (figure, weights) in enumerate(zip(self.figures, self.weights, strict=True)):
            if weights is None:
                taken[row] = self.kernel.sums(self.case, bills, [figure])[0]
            else:
                taken[row] = weights[0] @ bills.counts + weights[1] @ bills.purchased
        taken /= self.scales[:, None]
        return taken

    def _open(self, place: int, cells: Places, limits: Numbers, most: Callable[[], float]) -> float:
        """Return what is proven of some cells under limits, each opened as far as it must be."""
        room = limits[:, None] * (1 + TOLERANCE) - self.base[:, cells]
        there = self.fits[cells] & (room >= 0).all(axis=0)
        cells, room = cells[there], room[:, there]
        proved, begin, count = -math.inf, 0, FIRST
        while begin < len(cells):
            rest = self.bounds[cells[begin:]]
            if (rest <= most()).all():
                return max(proved, float(rest.max()))
            some = slice(begin, begin + count)
            proved = max(proved, self._opened(place, cells[some], room[:, some], limits, most))
            begin, count = begin + count, 2 * count
        return proved

    def _opened(
        self, place: int, cells: Places, room: Numbers, limits: Numbers, most: Callable[[], float]
    ) -> float:
        open_ = self.bounds[cells] > most()
        left = float(self.bounds[cells[~open_]].max(initial=-np.inf))
        cells, family, bounds = self._by_family(cells[open_], room[:, open_])
        settled = np.zeros(len(cells), dtype=bool)
        while True:
            order = np.argsort(-bounds, kind="stable")
            if not len(order) or bounds[order[0]] <= most() or settled[order[0]]:
                return max(left, float(bounds.max(initial=-np.inf)))
            for row in order[~settled[order]][:BATCH].tolist():
                if bounds[row] > most():
                    one = int(cells[row]), int(family[row])
                    bounds[row] = min(bounds[row], self._settle(place, *one, limits))
                    settled[row] = True

    def _by_family(self, cells: Places, room: Numbers) -> tuple[Places, Places, Numbers]:
        """Return cells with families that may serve them, and the second bound of each pair."""
        which, families, bounds = self.by_family(cells, room)
        return cells[which], families, bounds

    def by_family(self, cells: Places, room: Numbers) -> tuple[Places, Places, Numbers]:
        """Return which of some cells which families may serve, and the second bound of each pair.

        Args:
            cells: the cells; one may stand there several times.
            room: what their systems leave of each supply, a column for each.
        """
        stores, enough = self._most_stored(cells, room)
        rows = np.flatnonzero(enough)
        which = rows % len(cells) if len(cells) else rows
        bounds = self._best_use(cells[which], stores.at(rows), self.base[:, cells[which]])[0]
        return which, rows // max(1, len(cells)), bounds

    def _most_stored(self, cells: Places, room: Numbers) -> tuple[Stores, Flags]:
        """Return the most that the items of each family could give, and where that is enough.

        Of each limit alone: what gives most for what it takes. The least over the limits counts.
        Families stand one after the other, each with all the cells.
        """
        takes, gives = self.takes[self.members][:, :, None], self.gives[self.members][:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            free = self.free[self.members][:, :, None]
            alone = np.where(takes > 0, (room + free) / takes, np.inf).min(axis=1, initial=np.inf)
            alone = np.minimum(alone, self.units_of)
            alone = np.minimum(np.floor(alone * (1 + NOISE) + NOISE), self.high[self.members, None])
            limited = self.best[:, :, :-1, None] * (room + self.free_of[:, :, None])[:, None]
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
        asked = self.case.limits["least_write_gb_per_s"]
        if asked is not None:
            enough &= self.case.delivered_write * write >= asked * (1 - TOLERANCE)
        enough &= write <= self.most_write * (1 + NOISE)
        if rule is not None:
            each = np.array([system.gpus for system in self.case.systems])
            row = self.row_of[self.way[cells]]
            had = self.begun[: len(each), 0]
            gpus = each[row] * (self.systems[cells] - had[row]) + each @ had
            groups = -(-gpus // rule.per_gpus)
            enough &= read >= groups * rule.read_gb_per_s * (1 - TOLERANCE)
            enough &= write >= groups * rule.write_gb_per_s * (1 - TOLERANCE)
        return enough

    # The third: counts of storage.

    def _settle(self, place: int, cell: int, family: int, limits: Numbers) -> float:
        """Enumerate the storage of a cell and family; keep the best plans; return what is proven.

        Where mixtures are too many the fullest are enough; where these are, too, each item alone is
        tried, and nothing is proven.
        """
        items, most_units, _, _ = self.families[family]
        room = limits * (1 + TOLERANCE) - self.base[:, cell]
        mixes = self._mixes(items, most_units, room)
        known = max(float(self.plans.score[place]), self.need)
        if mixes is None:
            full = self._fullest(np.array([cell]), items, most_units, limits[:, None], known)
            mixes = full[0] if full[2][0] else None
        whole = mixes is not None
        if mixes is None:
            alone = [self._mixes(items[n : n + 1], most_units, room) for n in range(len(items))]
            placed = [_placed(one, n, len(items)) for n, one in enumerate(alone) if one is not None]
            mixes = np.column_stack([np.zeros((len(items), 0), dtype=np.int64), *placed])
        counts = self._spread(items, mixes)
        score, gpus, counts = self._scored(cell, counts, limits, known)
        for best in range(len(score)):
            if score[best] <= self.plans.score[place]:
                break
            self.take(cell, counts[:, best], int(gpus[best]))
        return max(known, float(score.max(initial=-np.inf))) + NOISE if whole else math.inf

    def _spread(self, items: Places, mixes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return counts of some items as counts of all."""
        counts = np.zeros((len(self.case.storage), mixes.shape[1]), dtype=np.int64)
        counts[items] = mixes
        return counts

    def _mixes(self, items: Places, most_units: float, room: Numbers) -> NDArray[np.int64] | None:
        """Return the counts of some items that what each takes by itself leaves room for.

        None where they are too many.
        """
        found, _, many = self.mixes(items, most_units, room[:, None])
        return None if many[0] else found

    def mixes(
        self, items: Places, most_units: float, room: Numbers
    ) -> tuple[NDArray[np.int64], Places, Flags]:
        """Return the counts of some items that what each takes by itself leaves room for.

        Args:
            most_units: how many of all there may be.
            room: what is left of each supply, a column for each owner.

        Returns:
            The mixtures as columns, the owner of each, and which owners have too many to list.
        """
        found, own = np.zeros((0, room.shape[1]), dtype=np.int64), np.arange(room.shape[1])
        left, units = room.copy(), np.full(len(own), most_units)
        many = np.zeros(len(own), dtype=bool)
        for place in items.tolist():
            most = self._most_of(place, left, units)
            each = np.where(np.isinf(most), self.most_mixes, most) + 1
            many |= np.bincount(own, each, len(many)) > self.most_mixes
            each[many[own]] = 0
            each = each.astype(np.int64)
            rows = np.repeat(np.arange(len(each)), each)
            count = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
            kept = _ordered(self.case.storage[place], count)
            rows, count = rows[kept], count[kept]
            found, own = np.vstack([found[:, rows], count]), own[rows]
            left = left[:, rows] - self.takes[place][:, None] * count
            units = units[rows] - count
        some = found.sum(axis=0) > 0
        return found[:, some], own[some], many

    def _most_of(self, place: int, left: Numbers, units: Numbers) -> Numbers:
        """Return the most units of an item that room allows by itself; inf where nothing does."""
        takes = self.takes[place][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(takes > 0, left / takes, np.inf).min(axis=0, initial=np.inf)
        most = np.minimum(np.minimum(most, self.high[place]), units)
        whole: Numbers = np.floor(most * (1 + NOISE) + NOISE)
        return whole

    def _fullest(
        self, cells: Places, items: Places, most_units: float, limits: Numbers,
        need: float = -math.inf,
    ) -> tuple[NDArray[np.int64], Places, Flags]:  # fmt: skip
        """Return the mixtures of a family's items to which no unit of the last can be added.

        Work does not fall where there is more of an item, and what a purchase takes does not
        either: so of those with the same counts of the others none is better, and how many of the
        last fit is found by halving. Those are left out that score no more than is needed with
        more of the last than fits.

        Args:
            cells: a cell for each owner.
            most_units: how many of all there may be.
            limits: what may be used up, a column for each owner.
            need: what all must score more than.

        Returns:
            The mixtures as columns, the owner of each, and whose are all: not where work may fall,
            or they are too many still.
        """
        some, nothing = [self.case.storage[place] for place in items.tolist()], np.zeros(0, int)
        if len({item.family for item in some}) > 1 or any(item.segments for item in some):
            return nothing.reshape(len(items), 0), nothing, np.zeros(len(cells), dtype=bool)
        room = limits * (1 + TOLERANCE) - self.base[:, cells]
        others, last, each = items[:-1], int(items[-1]), np.arange(len(cells))
        mixes, own, many = self.mixes(others, most_units, room)
        mixes = np.column_stack([np.zeros((len(others), len(cells)), dtype=np.int64), mixes])
        own = np.concatenate([each, own])
        left = room[:, own] - self.takes[others].T @ mixes
        most = self._most_of(last, left, most_units - mixes.sum(axis=0))
        fine = ~many
        fine[own[np.isinf(most)]] = False
        if self.gives[last, 1] > 0 and not math.isinf(self.most_write):
            written = (self.most_write - self.gives[others, 1] @ mixes) / self.gives[last, 1]
            most = np.minimum(most, np.floor(written * (1 + NOISE) + NOISE))
        kept = np.flatnonzero(fine[own] & (most >= 0))
        kept = kept[np.argsort(own[kept], kind="stable")]
        counts, own = self._spread(others, mixes[:, kept]), own[kept]
        counts[last] = most[kept]
        useful = self._may_score(cells[own], counts, need)
        counts, own = counts[:, useful], own[useful]
        found = self._most_that_fits(cells[own], counts, last, limits[:, own])
        counts[last] = np.where(_ordered(some[-1], np.maximum(found, 0)), found, 0)
        useful = np.flatnonzero((found >= 0) & (counts.sum(axis=0) > 0))
        return counts[items][:, useful], own[useful], fine

    def _most_that_fits(
        self, cells: Places, counts: NDArray[np.int64], last: int, limits: Numbers
    ) -> NDArray[np.int64]:
        """Return how many of an item fit at most, up to those given, beside the others of each
        mixture; -1 where not even they do."""
        limited, rate = not math.isinf(self.most_write), self.takes[last][:, None]
        low, high, now = np.full(len(cells), -1), counts[last].copy(), counts[last].copy()
        guesses = GUESSES
        while len(open_ := np.flatnonzero(low < high)):
            tried, count = counts[:, open_], now[open_]
            tried[last] = count
            taken, fits = self.taken(cells[open_], tried, least=True)
            room = limits[:, open_] * (1 + TOLERANCE) - taken
            fits &= np.all(room >= 0, axis=0)
            if limited:
                fits &= stored(self.case, tried)[0].write <= self.most_write * (1 + NOISE)
            low[open_], high[open_] = np.where(fits, (count, high[open_]), (low[open_], count - 1))
            # By what each takes alone so many more are too many, or so many fewer may do.
            more = np.where(rate > 0, room / np.where(rate > 0, rate, 1.0), np.inf).min(axis=0)
            near = count + np.clip(np.floor(more) + fits, -count, high[open_] - count).astype(int)
            middle = (low[open_] + high[open_] + 1) // 2
            near = np.where(fits | (near < middle), np.maximum(near, low[open_] + 1), middle)
            now[open_], guesses = near if guesses else middle, max(0, guesses - 1)
        return low

    def _may_score(self, cells: Places, counts: NDArray[np.int64], need: float) -> Places:
        """Return which storage of cells, or less of it, may score more than is needed."""
        stores, usable = stored(self.case, counts)
        most = (np.minimum(each, self.most_write) for each in (stores.write, stores.safe_write))
        stores = replace(stores, **dict(zip(("write", "safe_write"), most, strict=True)))
        some = np.flatnonzero(self._enough(cells, stores.read, stores.write, usable))
        if need == -math.inf:
            return some
        score, _ = self._best_use(cells[some], stores.at(some), self.base[:, cells[some]])
        return some[score > need]

    def _scored(
        self, cell: int, counts: NDArray[np.int64], limits: Numbers, need: float
    ) -> tuple[Numbers, NDArray[np.int64], NDArray[np.int64]]:
        """Return the best storage of a cell that scores more than is needed and fits, best first.

        That is: scores, GPUs in use, counts.
        """
        score, gpus, rows = self.better(cell, counts, need)
        order, found = np.argsort(-score, kind="stable"), np.zeros(0, dtype=np.int64)
        begin, count = 0, BILLED
        while begin < len(order) and len(found) < TRIES:
            some = order[begin : begin + count]
            taken, fits = self.taken(cell, counts[:, rows[some]], least=True)
            fits &= np.all(taken <= limits[:, None] * (1 + TOLERANCE), axis=0)
            found = np.concatenate([found, some[fits]])
            begin, count = begin + count, 4 * count
        best = found[:TRIES]
        return score[best], gpus[best], counts[:, rows[best]]

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
        least = self.base[:, cells[enough]]
        score, gpus = self._best_use(cells[enough], stores.at(enough), least)
        good = score > np.broadcast_to(need, counts.shape[1])[enough]
        return score[good], gpus[good], enough[good]

    def taken(
        self, cells: int | Places, counts: NDArray[np.int64], *, least: bool
    ) -> tuple[Numbers, Flags]:
        """Return what purchases take, or take at least, and which can be had; see `better`."""
        bills = self.kernel.bills(*self.columns(cells, counts), least=least)
        return self._taken(bills), self.kernel.can_be_had(bills)

    def columns(
        self, cell: int | Places, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Places]:
        """Return purchases of a cell, or each of its own, as `Kernel.bills` takes them: units and
        ways."""
        units = np.tile(self.begun, counts.shape[1])
        first = len(self.case.systems)
        units[first : first + len(counts)] = counts
        cells = np.broadcast_to(cell, counts.shape[1:])
        way = self.way[cells]
        units[self.row_of[way], np.arange(len(cells))] = self.systems[cells]
        return units, way

    def take(self, cell: int, counts: NDArray[np.int64], gpus: int) -> Run | None:
        """Offer a purchase to the plans, which take it where it may be made; return how it runs."""
        return self.plans.offer(self.proposed(cell, counts, gpus))

    def proposed(self, cell: int, counts: NDArray[np.int64], gpus: int) -> Proposal:
        """Return a purchase of a cell and a use of it as a proposal."""
        case, number = self.case, int(self.way[cell])
        way, system = case.ways[number], case.systems[int(self.row_of[number])]
        units = dict(zip(self.kernel.offers, self.begun[:, 0].tolist(), strict=True))
        units[system.id] = int(self.systems[cell])
        units |= {item.id: n for item, n in zip(case.storage, counts.tolist(), strict=True)}
        used = {system.id: way.systems_for(gpus)}
        return Proposal(self.mode, units, used, gpus, (way.id,))


def begun(use: RackUse, count: Numbers) -> Numbers:
    """Return what so many units leave free of the racks that they stand in."""
    racks: Numbers = use.racks_each * (np.ceil(count / use.per_rack) - count / use.per_rack)
    return racks


def _placed(mixes: NDArray[np.int64], row: int, rows: int) -> NDArray[np.int64]:
    """Return counts of one item as a row among those of others."""
    placed = np.zeros((rows, mixes.shape[1]), dtype=np.int64)
    placed[row] = mixes[0]
    return placed


def least_that(
    high: NDArray[np.int64], enough: Callable[[Places, NDArray[np.int64]], Flags]
) -> NDArray[np.int64]:
    """Return the least numbers that are enough, none above those given, which are, by halves."""
    low, high = np.zeros_like(high), high.copy()
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        fine = enough(open_, middle)
        high[open_[fine]], low[open_[~fine]] = middle[fine], middle[~fine] + 1
    return low


def _ordered(item: Storage, count: NDArray[np.int64]) -> Flags:
    """Say which counts of an item may be ordered: none, or at least so many."""
    least = max(1, item.min_units, item.segments[0].low if item.segments else 1)
    most = item.segments[-1].high if item.segments else math.inf
    fine: Flags = (count == 0) | ((count >= least) & (count <= most))
    return fine


def _most_each(item: Storage) -> tuple[float, float]:
    """Return the most (read, write) bandwidth that a unit of an item gives, GB/s."""
    if not item.segments:
        return item.read_gb_per_s, item.write_gb_per_s
    known = ends(item)
    return max(r / n for n, r, _ in known), max(w / n for n, _, w in known)
