"""The best number of GPUs in use of purchases, and its division among several types, as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from planner.case import Way
from planner.case.job import ROUNDING
from planner.optimizer.bill import Counts, Flags, Numbers, Places
from planner.optimizer.goodput import MOST_EXPONENT
from planner.optimizer.stores import Stores, staged
from planner.optimizer.work import ANY_SYSTEMS, PRICED, TOLERANCE, Ports, Uses, Work, most_gpus
from planner.units import DAY_S

TRIED = 4
"""Numbers of GPUs of a purchase that are tried first."""
PARTS = 16
"""Parts of a range of fewer GPUs that are looked at together."""
AROUND = 16
"""Numbers of GPUs that are tried together where several types share them."""


class BestUse(Work):
    """`Work` with the number of GPUs in use that does most of it."""

    def of_systems(self, team: Places, systems: Counts) -> tuple[Counts, Counts]:
        """The systems and the most GPUs of purchases.

        Args:
            team: the team of each.
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
        """Most GPUs that the job can use of a number of systems of one way's type."""
        way, job, step = self.case.ways[number], self.case.job, int(self.step[number])
        gpus, limit = most_gpus(job, way, systems), job.gpus_max
        if limit is not None:
            gpus = np.minimum(gpus, limit // way.step_gpus * way.step_gpus)
        lost_s = job.restart_s + job.interval.low_s
        if lost_s > 0.0:  # of more GPUs work is lost to the last float, and more with more
            most = MOST_EXPONENT / 2.0 * DAY_S / (float(self.rate[number]) * lost_s)
            gpus = np.minimum(gpus, max(int(most), int(self.least[number]) + step) // step * step)
        if self.drives is None:
            return gpus
        most = self.drives.most_gpus(number, float(self.rate[number]), TOLERANCE)
        steps = np.floor(np.minimum(most, gpus) / step * (1.0 + ROUNDING) + ROUNDING)
        return np.asarray(steps.astype(np.int64) * step)

    def best(
        self,
        team: Places,
        systems: Counts,
        most: Counts,
        stores: Stores,
        tco_usd: Numbers | None = None,
    ) -> tuple[Numbers, Counts]:
        """The best score of each purchase over the GPUs in use, and these GPUs.

        A few numbers are tried from the most on; where the bound of fewer is no better than the
        best of these, as nearly always, that is all.

        Args:
            team: the team that runs each.
            systems: GPU systems of its type in the cluster.
            most: the most GPUs that may be in use; see `of_systems`.
            stores: bandwidth and capacity of its storage.
            tco_usd: the TCO at least, where limits on money per useful work ask for it.
        """
        best, chosen = np.full(len(team), -np.inf), most.copy()
        step = self.step[team]
        least, most = self._served(team, most, stores)
        least = np.maximum(least, np.maximum(step, self.least[team]))

        def use(rows: Places, fewer: Counts) -> Uses:
            cost = None if tco_usd is None else tco_usd[rows]
            gpus = most[rows] - fewer * step[rows]
            return Uses(team[rows], systems[rows], gpus, stores.at(rows), cost)

        open_ = np.flatnonzero(most >= least)
        tried = np.tile(np.arange(TRIED), (len(open_), 1))
        some = most[open_, None] > tried * step[open_, None]
        score, patient = np.full((2, *tried.shape), -np.inf)
        rows = np.repeat(open_, TRIED)[some.ravel()]
        score[some], patient[some], _ = self.worth(use(rows, tried[some]))
        at, here = np.argmax(score, axis=1), np.arange(len(open_))
        best[open_] = score[here, at]
        chosen[open_] = most[open_] - at * step[open_]
        last = ((most[open_] - least[open_]) // step[open_]).astype(np.int64)
        done = (last < TRIED) | (
            ((patient[:, -1] <= patient[:, -2]) | self.shrinks)
            & ~self._may_be_better(use(open_, tried[:, -1]), patient[:, -1], best[open_])
        )
        if not done.all():
            self._try_fewer(use, open_[~done], last[~done], patient[~done], best, chosen)
        return best, chosen

    def _may_be_better(self, use: Uses, bound: Numbers, best: Numbers) -> Flags:
        """Mask of uses whose bound is better than the best so far, and may be paid for."""
        fine = bound > best
        if use.tco_usd is not None:
            most_usd = self.affordable(use.team, bound) * (1 + ROUNDING)
            fine &= use.tco_usd * (1 - PRICED) <= most_usd
        return np.asarray(fine)

    def _may_reach_goodput(self, use: Uses, bound: Numbers) -> Flags:
        """Mask of ranges, by their fewest GPUs and the bound of their work, with enough goodput."""
        least, objective = self.case.limits["min_goodput"], self.case.objective
        if least is None or objective == "gpus":
            return np.ones(len(bound), dtype=bool)
        each: Numbers | float = 1.0
        if objective == "goodput":  # more GPUs together never compute less
            each = self.rates(use.team, use.gpus.astype(float), self.concave) * self.pflops_each
        with np.errstate(over="ignore"):
            most = np.exp(bound) / each
        return np.asarray(most >= least * (1 - TOLERANCE) * (1 - ROUNDING) * use.gpus)

    def _try_fewer(
        self,
        use: Callable[[Places, Counts], Uses],
        rows: Places,
        last: Counts,
        first: Numbers,
        best: Numbers,
        chosen: Counts,
    ) -> None:
        """Improve on the best of purchases with fewer GPUs in use.

        Ranges of numbers are divided while they may hold a better one: with fewer GPUs less is
        waited for, and work without waiting has one peak. So where the peak is not in a range none
        of it does more than the better of its ends would, if it waited as little as the fewest.

        Args:
            use: uses of purchases by their rows, with so many steps fewer than the most.
            last: the most steps fewer of each.
            first: the bounds of the first tries, a row for each purchase.
        """
        peak, top = np.argmax(first, axis=1), first.max(axis=1)
        place, few, many = np.arange(len(rows)), np.full(len(rows), TRIED - 1), last
        at_few, parts = first[:, -1], np.arange(PARTS + 1)
        while len(place):
            grow = (many / few)[:, None] ** (parts / PARTS)  # fewer GPUs matter less and less
            ends = np.rint(few[:, None] * grow).astype(np.int64)
            place, few, many = np.repeat(place, PARTS), ends[:, :-1].ravel(), ends[:, 1:].ravel()
            tried, of = use(rows[place], many), rows[place]
            score, patient, waited = self.worth(tried)
            order = np.argsort(score, kind="stable")  # of each purchase the best comes last
            order = order[score[order] > best[of[order]]]
            best[of[order]], chosen[of[order]] = score[order], tried.gpus[order]
            order = np.argsort(patient, kind="stable")
            order = order[patient[order] > top[place[order]]]
            top[place[order]], peak[place[order]] = patient[order], many[order]
            patient = patient.reshape(-1, PARTS)
            at_few = np.column_stack([at_few, patient[:, :-1]]).ravel()
            bound = np.maximum(at_few, patient.ravel())
            bound[(few <= peak[place]) & (peak[place] <= many)] = np.inf
            bound = at_few if self.shrinks else bound + waited
            keep = (many - few > 1) & self._may_be_better(tried, bound, best[of])
            keep &= self._may_reach_goodput(tried, bound)
            place, few, many, at_few = place[keep], few[keep], many[keep], at_few[keep]

    def _served(self, team: Places, most: Counts, stores: Stores) -> tuple[Numbers, Counts]:
        """The fewest and the most GPUs between which all lie that are read for in time.

        Reads, for a restore and every second, rise with the GPUs, and so do the ports through
        which they come; storage gives the same.
        """
        job, asked = self.case.job, []
        if job.max_restore_s is not None:
            each_s = job.checkpoint_gb / job.max_restore_s
            once, each = self.fan_once[team] * each_s, self.fan_each[team] * each_s
            asked.append((once, each, stores.degraded_read))
        if job.ingest_per_gpu_gb_per_s > 0:
            each = np.full(len(team), job.ingest_per_gpu_gb_per_s)
            asked.append((np.zeros(len(team)), each, stores.read))
        sides: list[tuple[Numbers, Numbers | float]]
        low, high = np.zeros(len(team)), np.full(len(team), np.inf)
        factor = stores.read_factor * (1 + TOLERANCE)
        port, part = self.client_read[team] * factor, self.more_read[team] * factor
        for once, each, stored in asked:
            # once + each * gpus <= gives + more * gpus; a system used in part has its port, too
            whole = self.case.delivered_read_share * stored * (1 + TOLERANCE)
            sides = [(whole, 0.0), (part, port / self.usable[team])]
            for gives, more in sides:
                with np.errstate(divide="ignore", invalid="ignore"):
                    end = (gives - once) / (each - more)
                high = np.where((each > more) & (end < high), end, high)
                low = np.where((each < more) & (end > low), end, low)
                high = np.where((each == more) & (gives < once), 0.0, high)
        if job.bulk_needed_tb and job.ingest_per_gpu_gb_per_s > 0:
            most_staged = staged(self.case, stores) * (1 + TOLERANCE)
            high = np.minimum(high, most_staged / job.ingest_per_gpu_gb_per_s)
        step = self.step[team]
        over = np.ceil(np.maximum(most - high * (1 + ROUNDING), 0.0) / step)
        return low * (1 - ROUNDING), most - over.astype(np.int64) * step

    # Several types.

    def best_division(
        self,
        team: int,
        systems: Sequence[int],
        stores: Stores,
        score: Callable[[Uses], Numbers],
    ) -> tuple[int, tuple[int, ...]] | None:
        """The GPUs in use of the best score and the systems in use of each type.

        Numbers of GPUs are tried in the order of their bound, until the best is no worse than the
        next bound; each is divided among the types in every way that no other passes both in what
        is written and in what is read.

        Args:
            team: a team of several types.
            systems: systems of each type in the cluster.
            stores: bandwidth and capacity of the one purchase.
            score: of uses, -inf where they are not allowed; no less with more ports.
        """
        ways = [self.case.ways[way] for way in self.teams[team]]
        pairs = zip(self.teams[team], systems, strict=True)
        most = [int(self.most_gpus(way, np.array([count]))[0]) for way, count in pairs]
        numbers = _reachable(ways, most)
        bounds = score(self._uses_of(team, numbers, stores))
        best, found = -math.inf, None
        order = np.argsort(-bounds, kind="stable")
        for first in range(0, len(order), AROUND):
            some = order[first : first + AROUND]
            if bounds[some[0]] <= best:
                break
            rows = [
                (n, used)
                for n in numbers[some].tolist()
                for used in self._divisions(team, ways, most, n)
            ]
            if not rows:
                continue
            gpus, used = (np.array(each) for each in zip(*rows, strict=True))
            ports = self.ports_of(team, used.astype(float))
            values = score(self._uses_of(team, gpus, stores, ports))
            place = int(np.argmax(values))
            if values[place] > best:
                best, found = float(values[place]), rows[place]
        return found

    def _uses_of(self, team: int, gpus: Counts, stores: Stores, ports: Ports | None = None) -> Uses:
        some = np.zeros(len(gpus), dtype=np.int64)
        return Uses(some + team, some + ANY_SYSTEMS, gpus, stores.at(some), ports=ports)

    def _divisions(
        self, team: int, ways: Sequence[Way], most: Sequence[int], gpus: int
    ) -> list[tuple[int, ...]]:
        """Systems in use by type for a number of GPUs: no other writes as much and reads more."""
        ends = [min(m, gpus) for m in most]
        first = [
            np.arange(w.step_gpus, m + 1, w.step_gpus) for w, m in zip(ways, ends, strict=True)
        ]
        parts = [np.ravel(each) for each in np.meshgrid(*first[:-1], indexing="ij")]
        last = gpus - np.sum(parts, axis=0)
        fine = (last > 0) & (last <= most[-1]) & (last % ways[-1].step_gpus == 0)
        each = zip([*parts, last], ways, strict=True)
        used = np.array([np.ceil(p[fine] / w.usable_gpus - ROUNDING) for p, w in each]).T
        if not len(used):
            return []
        types = [self.case.systems[row] for row in self.rows_of[team]]
        write = used @ np.array([system.client_write_gb_per_s for system in types])
        read = used @ np.array([system.client_read_gb_per_s for system in types])
        order = np.lexsort((-read, -write))
        most_read = np.maximum.accumulate(read[order])
        ahead = np.concatenate([[True], most_read[1:] > most_read[:-1]])
        return [tuple(int(n) for n in used[place]) for place in order[ahead].tolist()]


def _reachable(ways: Sequence[Way], most: Sequence[int]) -> Counts:
    """The GPUs in use to which whole steps of every type add up, fewest first."""
    sums = np.zeros(1, dtype=np.int64)
    for way, top in zip(ways, most, strict=True):
        steps = np.arange(way.step_gpus, top + 1, way.step_gpus)
        sums = np.unique(sums[:, None] + steps)
    return sums
