"""Limits that may be missed at a price: the plan that misses them least, weighted, by boxes.

    minimise  sum_k w_k s_k;   ceilings on sums:  s_k = (amount_k - limit_k) / limit_k,
    floors in whole numbers:  s_k = (limit_k - amount_k) / limit_k,
    times, shares and useful work:  s_k = |log(amount_k / limit_k)|;   none of them below 0

A small change counts the same in all of them: its share of the limit. Boxes have from so many to so
many GPUs in use besides, because a floor on goodput asks for few of them and one on useful work for
many. What a box misses at least is what sums miss at its lowest corner, what capacity misses at its
top, and what the job misses there at the interval that is best for all it misses: with as few
failures as its fewest GPUs have, and the ports and the work of its most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.model import Elastic
from planner.limits import BY_NAME
from planner.optimizer.bill import TOLERANCE, Counts, Flags, Numbers, Places
from planner.optimizer.checks import broken_limits
from planner.optimizer.columns import Columns
from planner.optimizer.dominance import without_dominated
from planner.optimizer.effort import Effort
from planner.optimizer.goodput import best_between
from planner.optimizer.objective import floors
from planner.optimizer.operate import Run, missed_by, run_at
from planner.optimizer.optimise import Certificate, Status, for_work, of_whole
from planner.optimizer.space import Boxes, Space
from planner.optimizer.stores import Stores, stored
from planner.optimizer.work import TOLERANCE as SLACK
from planner.optimizer.work import Ports, Uses, modes_of
from planner.units import DAY_S

TOGETHER = 128
"""Boxes that are halved together."""
NOISE = 1e-9


class _Weighed(NamedTuple):
    """Boxes of purchases with GPUs in use from so ``few`` to so ``many``."""

    boxes: Boxes
    few: Counts
    many: Counts

    def at(self, places: Places | Flags) -> _Weighed:
        """Some of them."""
        return _Weighed(self.boxes.at(places), self.few[places], self.many[places])

    @classmethod
    def joined(cls, *parts: _Weighed) -> _Weighed:
        """Return several one after the other."""
        boxes, few, many = zip(*parts, strict=True)
        return cls(Boxes.joined(*boxes), np.concatenate(few), np.concatenate(many))


def can_be_missed(case: Case, name: str) -> bool:
    """Whether a limit can be missed at a price.

    A bandwidth rule takes the place of the overlap limit, which then is none.
    """
    if name == "overlap" and case.rule is not None:
        return False
    if name in ("overlap", "blocking"):
        return True
    return name in BY_NAME and BY_NAME[name].elastic != ""


def least_missed(case: Case, gap: float, effort: Effort, *, below: float = math.inf) -> Certificate:
    """The plan that misses the elastic limits of a case least, weighted, with its proof.

    Args:
        gap: how far the sum may be from its bound, as a share of it.
        effort: how far to go; beyond it the best plan so far is taken.
        below: what the sum must be less than for a plan to be of any use.
    """
    whole, case = case, without_dominated(case)
    if not case.systems or not case.storage:
        return Certificate("infeasible", None, None, None, None, 0, 0.0, effort.late)
    search = _Search(case, gap, effort, below)
    ended = search.run()
    run = of_whole(whole, search.best)
    if run is None:
        status: Status = "infeasible" if ended else "no_solution"
        return Certificate(status, None, None, None, None, search.looked, 0.0, effort.late)
    bound = min(search.least, search.bound)
    distance = (search.least - bound) / max(search.least, NOISE)
    proven = distance <= gap + 1e-12 or search.least <= NOISE
    return Certificate(
        "optimal" if proven else "feasible",
        run, search.least, bound, distance, search.looked, 0.0, effort.late,
    )  # fmt: skip


@dataclass
class _Search:
    """The search for the plan that misses least: ``least`` so far, and the ``best`` plan."""

    case: Case
    gap: float
    effort: Effort
    below: float

    def __post_init__(self) -> None:
        rows = {limit.name: limit for limit in self.case.elastic}
        supplies = {n: BY_NAME[n].figure for n in rows if BY_NAME[n].group == "supply"}
        plain = for_work(replace(self.case, objective="cost", elastic=()).billed_as(self.case))
        self.columns = Columns.of(plain, supplies.values())
        self.spaces = [Space(one, mode, self.columns) for one, mode in modes_of(plain)]
        self.supplies = [(rows[n], self.columns.place(figure)) for n, figure in supplies.items()]
        self.of_job = [limit for limit in self.case.elastic if limit.name not in supplies]
        self.limits = self.columns.limits(plain)
        self.best: Run | None = None
        self.least, self.bound, self.looked = self.below, math.inf, 0

    def run(self) -> bool:
        """Look until nothing is left that misses less; say whether that was reached."""
        open_ = [(space, self._bounded(space, self._whole(space))) for space in self.spaces]
        while not self.effort.over:
            open_ = [(space, self._left(some)) for space, some in open_]
            open_ = [(space, some) for space, some in open_ if len(some.few)]
            if not open_:
                break
            place = min(range(len(open_)), key=lambda n: float(open_[n][1].boxes.bound.min()))
            space, some = open_[place]
            order = np.argsort(some.boxes.bound, kind="stable")
            first, rest = some.at(order[:TOGETHER]), some.at(order[TOGETHER:])
            self._look_at(space, first)
            halves = self._bounded(space, _halved(space, first, self.limits))
            open_[place] = space, _Weighed.joined(rest, halves)
            self.looked += len(first.few) + len(halves.few)
            self.effort.look(len(first.few) + len(halves.few))
        left = [float(some.boxes.bound.min()) for _, some in open_ if len(some.few)]
        self.bound = min([self._enough(), *left])
        return not left

    def _enough(self) -> float:
        """The miss below which boxes are looked into."""
        return self.least * (1.0 - 0.9 * self.gap) - NOISE

    def _left(self, some: _Weighed) -> _Weighed:
        return some.at(some.boxes.bound < self._enough())

    def _whole(self, space: Space) -> _Weighed:
        boxes = space.whole(np.zeros(1, dtype=np.int64))
        _, most = space.work.of_systems(boxes.team, boxes.high[: space.first_store])
        return _Weighed(boxes, space.work.step[boxes.team], most)

    # What boxes miss at least.

    def _bounded(self, space: Space, some: _Weighed) -> _Weighed:
        """Boxes cut to what may miss less than the best, with what each misses at least."""
        boxes = space.shared_out(_for_use(space, some))
        fits: Flags = np.asarray((boxes.low <= boxes.high).all(axis=0))
        fits = fits & space.pleases(boxes.low, boxes.high)
        some = some._replace(boxes=boxes).at(fits)
        boxes = some.boxes
        taken, bills = space.taken(boxes, boxes.low, least=True, most=boxes.high)
        most = self._allowed()[:, None]
        fits = space.kernel.available(bills) & (taken <= most * (1 + TOLERANCE)).all(axis=0)
        begun = space.rounded_up(bills, some.boxes.low)[:, fits]
        some, taken = some.at(fits), taken[:, fits]
        if not len(some.few):
            return some
        room = most * (1 + TOLERANCE) - taken + begun
        boxes = space.cut(some.boxes, room)
        stores = space.top_stores(boxes, room)
        count, top = space.work.of_systems(boxes.team, boxes.high[: space.first_store])
        many = np.minimum(some.many, top)
        missed = self._of_sums(taken) + self._of_capacity(stores.usable_tb)
        uses = _Range(boxes.team, count, some.few, np.maximum(some.few, many), stores)
        missed += self._of_job(space, uses)[0]
        missed[~space.serves(boxes.low, stores) | (many < some.few)] = np.inf
        bound = np.maximum(missed, np.where(np.isfinite(boxes.bound), boxes.bound, 0.0))
        some = _Weighed(boxes._replace(bound=bound), some.few, many)
        return some.at(np.isfinite(bound) & (bound < self._enough()))

    def _allowed(self) -> Numbers:
        """The most of each column that plans take which miss less than the best."""
        most = self.limits.copy()
        if math.isfinite(self.least):
            for limit, column in self.supplies:
                more = limit.value + limit.scale * self.least / limit.weight
                most[column] = min(most[column], more / self.columns.scale[column])
        return most

    def _of_sums(self, taken: Numbers) -> Numbers:
        missed = np.zeros(taken.shape[1])
        for limit, column in self.supplies:
            over = taken[column] * self.columns.scale[column] - limit.value
            missed += limit.weight * np.maximum(over / limit.scale, 0.0)
        return missed

    def _of_capacity(self, usable: Numbers) -> Numbers:
        missed = np.zeros_like(usable)
        for limit in self.of_job:
            if limit.name == "capacity":
                missed += limit.weight * np.maximum((limit.value - usable) / limit.scale, 0.0)
        return missed

    def _of_job(self, space: Space, uses: _Range) -> tuple[Numbers, Numbers]:
        """The least miss of jobs, infinite where they cannot run, and its interval, s."""
        job = _Jobs(space, uses, self.case)
        fixed, by_interval = np.zeros(len(uses.team)), []
        for limit in self.of_job:
            over = np.zeros(1)
            if limit.name in ("capacity", _other_mode(space)):
                continue
            if limit.name in ("gpus_min", "min_gpus"):
                over = (limit.value - job.many) / limit.scale
            elif limit.name == "gpus_max":
                over = (job.few - limit.value) / limit.scale
            elif limit.name == "restore_time":
                over = np.log(job.restore_s / limit.value)
            else:
                by_interval.append(limit)
            fixed += limit.weight * np.maximum(over, 0.0)
        missed, interval_s = job.least(by_interval)
        return np.where(job.runs, fixed + missed, np.inf), interval_s

    # Purchases.

    def _look_at(self, space: Space, some: _Weighed) -> None:
        """Run the lowest corners of boxes with the most and the fewest GPUs they may use."""
        boxes, few, many = some
        taken, _ = space.taken(boxes, boxes.low, least=True)
        stores = stored(space.case, boxes.low[space.first_store :])
        count, top = space.work.of_systems(boxes.team, boxes.low[: space.first_store])
        many = np.maximum(np.minimum(many, top), few)
        missed = self._of_sums(taken) + self._of_capacity(stores.usable_tb)
        fine = space.orderly(boxes.low, boxes.group) & space.serves(boxes.low, stores)
        for gpus in (many, few):
            alone, _ = self._of_job(space, _Range(boxes.team, count, gpus, gpus, stores))
            value = np.where(fine & (gpus <= top), missed + alone, np.inf)
            for place in np.argsort(value, kind="stable").tolist():
                if value[place] >= self._enough():
                    break
                self._take(space, boxes.at(np.array([place])), int(gpus[place]))

    def _take(self, space: Space, box: Boxes, near: int) -> None:
        """Take a purchase that misses less than the best, on so many GPUs or near them."""
        work, case, team = space.work, space.case, int(box.team[0])
        case = replace(case, objective="overrun", elastic=self.case.elastic).billed_as(case)
        units = dict.fromkeys(space.kernel.offers, 0)
        units |= {o.id: n for o, n in zip(space.offers, box.low[:, 0].tolist(), strict=True)}
        ways = [case.ways[way] for way in work.teams[team]]
        names = tuple(way.id for way in ways)
        if broken_limits(case, units, names):
            return
        systems = [int(box.low[row, 0]) for row in work.rows_of[team]]
        stores = stored(space.case, box.low[space.first_store :])
        used: tuple[int, ...] = (ways[0].systems_for(near),)
        if len(ways) > 1:
            found = work.best_division(
                team, systems, stores, near, lambda use: -self._of_job(space, _Range.of(use))[0]
            )
            if found is None:
                return
            near, used = found
        gpus, ports = np.array([near]), work.ports_of(team, np.array([used], dtype=float))
        count, _ = work.of_systems(box.team, box.low[: space.first_store])
        _, interval_s = self._of_job(space, _Range(box.team, count, gpus, gpus, stores, ports))
        every = 1 if work.drives is None else work.drives.levels.every[0]
        types = [case.systems[row].id for row in work.rows_of[team]]
        by_type = dict(zip(types, used, strict=True))
        at = float(interval_s[0])
        run = run_at(case, space.mode, units, by_type, near, at, names, every)
        if run is None or not floors(case)(run):
            return
        value = missed_by(case, run)
        if value < self.least:
            self.least, self.best = value, run


class _Range(NamedTuple):
    """Uses of purchases with GPUs in use from ``few`` to ``many``; see `Uses`."""

    team: Places
    systems: Counts
    few: Counts
    many: Counts
    stores: Stores
    ports: Ports | None = None

    @classmethod
    def of(cls, use: Uses) -> _Range:
        """The range of the one number of GPUs of each use."""
        return cls(use.team, use.systems, use.gpus, use.gpus, use.stores, use.ports)


def _for_use(space: Space, some: _Weighed) -> Boxes:
    """Boxes with no fewer systems than the fewest GPUs take, and no more than the most need
    with their hot spares; where spares for repair or vendors decide, more may help."""
    boxes, job, repair = some.boxes, space.case.job, space.case.job.repair
    low, high = boxes.low.copy(), boxes.high.copy()
    here = np.arange(len(some.few))
    alone = ~space.work.several[boxes.team]
    rows = np.array([rows[0] for rows in space.work.rows_of], dtype=np.int64)[boxes.team]
    usable = space.work.gpus_of_system[space.work.ways_of[0, boxes.team]]
    least, most = np.ceil(some.few / usable - NOISE), np.ceil(some.many / usable - NOISE)
    low[rows, here] = np.where(alone, np.maximum(low[rows, here], least), low[rows, here])
    if repair is None and not (space.vendors.required or space.vendors.splits):
        most += job.hot_spares + np.ceil(job.hot_share * most)
        most = np.maximum(most, low[rows, here])
        high[rows, here] = np.where(alone, np.minimum(high[rows, here], most), high[rows, here])
    return boxes._replace(low=low, high=high)


def _halved(space: Space, some: _Weighed, limits: Numbers) -> _Weighed:
    """The halves of boxes: of the GPUs in use where their range is the wider one."""
    step = space.work.step[some.boxes.team]
    low, high = some.boxes.low[: space.first_store], some.boxes.high[: space.first_store]
    wide = np.log(np.maximum(high.sum(axis=0), 1) / np.maximum(low.sum(axis=0), 1))
    several = some.many > some.few
    by_gpus = several & ((np.log(some.many / some.few) > wide) | some.boxes.single)
    here = some.at(by_gpus)
    steps = (here.many - here.few) // step[by_gpus]
    middle = here.few + steps // 2 * step[by_gpus]
    parts = [here._replace(many=middle), here._replace(few=middle + step[by_gpus])]
    rest = some.at(~by_gpus & ~some.boxes.single)
    numbered = rest.boxes._replace(owner=np.arange(len(rest.few)))
    halves = space.halved(numbered, limits[:, None])
    of = halves.owner
    plain = halves._replace(owner=np.zeros_like(of))
    return _Weighed.joined(*parts, _Weighed(plain, rest.few[of], rest.many[of]))


def _other_mode(space: Space) -> str:
    """The limit of the mode that is not in use."""
    return "overlap" if space.mode == "sync" else "blocking"


class _Jobs:
    """Bounds of jobs with GPUs in use in a range: the failures and reads of the fewest, the ports
    and the work of the most."""

    def __init__(self, space: Space, uses: _Range, asked: Case) -> None:
        work, job, team = space.work, space.case.job, uses.team
        self.space, self.case, self.team = space, asked, team
        self.few, self.many = uses.few.astype(float), uses.many.astype(float)
        of_many = Uses(team, uses.systems, uses.many, uses.stores, ports=uses.ports)
        of_few = replace(of_many, gpus=uses.few)
        flow = work.flow(of_many)
        self.mtti = DAY_S / (work.rate[team] * self.few)
        waiting, mends = work.waiting(of_few, self.mtti)
        self.kept = work.kept_by_swaps(self.mtti) * (1.0 - waiting) * job.progress
        self.shrinks = job.repair is not None and job.repair.shrinks
        times = work.times(team, self.many, flow, uses.stores.worn_s)
        fan = work.fan_once[team] + work.fan_each[team] * self.few
        restore = fan * job.checkpoint_gb / flow.read
        self.times = replace(times, restore=restore, recovery=job.restart_s + restore)
        self.restore_s = fan * job.checkpoint_gb / flow.degraded_read
        self.drain_s = job.checkpoint_gb / flow.degraded_write
        self.every = 1 if times.local is None else times.local.every
        self.runs = flow.moves & mends & (uses.many >= work.least[team])
        self.runs &= uses.few <= work.gpus_max[team]
        if times.local is not None and work.drives is not None:
            self.runs &= times.local.fits
            self.runs &= work.drives.longest_s + times.local.drain_s <= self.mtti * (1 + SLACK)
        if job.max_restore_s is not None:
            self.runs &= self.restore_s <= job.max_restore_s * (1 + SLACK)
        if job.ingest_per_gpu_gb_per_s:
            self.runs &= self.few * job.ingest_per_gpu_gb_per_s <= work.arrives(of_many)
        self._reach_floors()

    def _reach_floors(self) -> None:
        """Rule out jobs that reach no floor that must hold, at the interval of most work."""
        limits, pflops = self.space.case.limits, self.space.case.useful_pflops_floor()
        asked = (limits["min_goodput"], limits["min_useful_gpus"], pflops)
        if self.shrinks or all(floor is None for floor in asked):
            return
        interval, there = self.space.work.interval(self.times, self.mtti)
        kept = np.exp(self.times.log_kept(interval, self.mtti)) * self.kept
        useful = self.many * kept
        each = self.space.work.most_pflops(self.team, self.few)
        if self.space.case.job.interval.policy == "optimal":
            self.runs &= there
        if self.space.case.job.interval.policy != "optimal" and (self.few < self.many).any():
            return
        for floor, value in zip(asked, (kept, useful, useful * each), strict=True):
            if floor is not None:
                self.runs &= value >= floor * (1 - 1e-6)

    def least(self, limits: list[Elastic]) -> tuple[Numbers, Numbers]:
        """The least miss of limits on the interval, goodput and useful work, and
        the interval; that of most work where there are no such limits."""
        rule = self.space.case.job.interval
        if rule.policy == "fixed":
            low = high = np.full_like(self.mtti, rule.low_s)
            there = low * (1 + SLACK) >= self.times.low
        else:
            low = np.maximum(self.times.low, rule.low_s)
            high = np.full_like(low, rule.high_s)
            there = low <= high * (1 + SLACK)
            low = np.minimum(low, high)
        if not limits:
            interval_s, _ = self.space.work.interval(self.times, self.mtti)
            return np.where(there, 0.0, np.inf), interval_s
        at = best_between(lambda interval: -self._missed(limits, interval), low, high)
        return np.where(there, self._missed(limits, at), np.inf), at

    def _missed(self, limits: Iterable[Elastic], interval: Numbers) -> Numbers:
        found = np.zeros_like(interval)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            kept = np.exp(self.times.log_kept(interval, self.mtti)) * self.kept
            if self.shrinks:  # of fewer replicas nothing is said but what stalls take
                kept = np.maximum(1.0 - self.times.stopped / interval, 0.0)
            gpus = self.many * kept
            pflops = gpus * self.space.work.most_pflops(self.team, self.few)
            days = self.case.days_at_one_pflops() if self._has_days() else math.nan
            amounts: dict[str, Numbers] = {
                "overlap": self.drain_s / (self.every * interval),
                "blocking": self.drain_s / interval,
                "interval_max": interval,
                "interval_min": interval,
                "min_goodput": kept,
                "min_useful_gpus": gpus,
                "min_useful_pflops": pflops,
                "max_days_to_train": days / pflops,
            }
            for limit in limits:
                ratio = np.log(amounts[limit.name] / limit.value) * BY_NAME[limit.name].looser
                found += limit.weight * np.maximum(ratio, 0.0)
        return np.where(np.isnan(found), np.inf, found)

    def _has_days(self) -> bool:
        return any(limit.name == "max_days_to_train" for limit in self.case.elastic)
