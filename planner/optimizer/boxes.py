"""Boxes of purchases, with the least consumption and the most work of a box.

A box is a team that runs the job (GPU systems with their set points, parallelism, mode and k), a
group of storage families, and a range of counts of each GPU system and storage item. More
storage never does less work, and more of anything never takes less. So the goal of no purchase in a
box exceeds

    goal(work at the top corner of the box, consumption of its lowest corner)

for every goal that rises with work and falls with consumption. That is the whole proof: every lever
must keep it, and a test draws points in boxes of problems with every lever.

Ranges are cut first. Each count can rise only as far as the room that the limits leave beside the
lowest corner; the bandwidth, capacity and GPUs of the top corner are at most those of the best item
for each limit in that room.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.figures import max_units, max_units_in_use
from planner.case.items import Offer
from planner.case.job import ROUNDING, Mode
from planner.optimizer.bill import (
    TOLERANCE,
    Bills,
    Counts,
    Flags,
    Numbers,
    Places,
    Stores,
    Vendors,
    add_bursts,
    endurance_tb_per_day,
    get_kernel,
    least_order,
    sum_storage,
    unmet_needs,
    worn_interval_s,
)
from planner.optimizer.objective import TCO, Columns
from planner.optimizer.useful_work import PRICES, BestUse

NOISE = 1e-9
MOST = 2**40
"""More units of anything are as good as any number."""
MOST_GROUPS = 40
"""Groups of storage families that are boxes of their own; beyond these all are one."""
NEAR, MANY_SYSTEMS = 0.97, 1_000
"""Of more GPU systems than these, counts that differ by less are split after storage."""
ENDLESS = 1e30
"""The endurance of drives that are not rated, TB per day."""
GOODS = (
    *("read", "write", "usable", "endurance", "units", "bulk_read", "bulk_tb"),
    *("burst", "buffer"),
)
"""Supply of storage: nameplate bandwidth, GB/s; TB; TB per day; its units; the bulk tier's; write
bandwidth in bursts, until buffers of that many GB are full."""
WRITE, BURST = (GOODS.index(name) for name in ("write", "burst"))


class Boxes(NamedTuple):
    """Boxes of purchases, an entry or a column for each.

    Attributes:
        team: the place of the team in `Teams.teams`.
        group: the place of the group of storage families.
        low, high: least and most units of each offer: GPU systems, then storage, a row each.
        bound: upper bound of the goal of every purchase in it.
        owner: the scenario that it belongs to.
    """

    team: Places
    group: Places
    low: Counts
    high: Counts
    bound: Numbers
    owner: Places

    def take(self, places: Places | Flags) -> Boxes:
        """The boxes at some places."""
        team, group, owner = (each[places] for each in (self.team, self.group, self.owner))
        low, high = self.low[:, places], self.high[:, places]
        return Boxes(team, group, low, high, self.bound[places], owner)

    @classmethod
    def joined(cls, *parts: Boxes) -> Boxes:
        """Several one after the other."""
        return cls(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))

    @property
    def size(self) -> int:
        """Number of boxes."""
        return len(self.team)

    @property
    def single(self) -> Flags:
        """Where a box is one purchase."""
        return np.asarray((self.low == self.high).all(axis=0))


class Corner(NamedTuple):
    """Arguments of the goal of boxes or purchases: score of work with the GPUs in use for it,
    consumption of each column, and supply of their storage."""

    score: Numbers
    gpus: Counts
    taken: Numbers
    goods: Numbers

    def take(self, places: Places | Flags) -> Corner:
        """The corners at some places."""
        score, gpus = self.score[places], self.gpus[places]
        return Corner(score, gpus, self.taken[:, places], self.goods[:, places])


class Group(NamedTuple):
    """Storage families that serve together: which items, and the best factors of their clients."""

    families: tuple[str, ...]
    items: Flags
    write_factor: float
    read_factor: float


class Space:
    """The purchases of a case in one mode, with a local level at one k.

    Args:
        case: `Case.job` has one k, and the objective is one of work.
        columns: the limited and minimised sums.
        whole: the case with every k, where it has several.
    """

    def __init__(
        self,
        case: Case,
        mode: Mode,
        columns: Columns,
        *,
        whole: Case | None = None,
    ) -> None:
        self.of_every = case if whole is None else whole
        self.case, self.mode, self.columns = case, mode, columns
        self.kernel, self.work, self.vendors = get_kernel(case), BestUse(case, mode), Vendors(case)
        self.offers: tuple[Offer, ...] = (*case.systems, *case.storage)
        self.first_store, self.families = len(case.systems), case.families
        self.installed = np.array([offer.installed for offer in self.offers], dtype=float)
        self.first = np.array([least_order(offer) for offer in self.offers], dtype=np.int64)
        priced = any(case.limits[name] is not None for name in PRICES)
        self.tco = columns.place(TCO) if priced else None
        self._set_consumption()
        self._set_teams()
        self._set_storage()

    def _set_consumption(self) -> None:
        """Set the least consumption of one more unit of each column, beside any others; and
        of offers of which more may take less than that much each, of begun racks and packs, the
        consumption of a unit bought and of a rack's place."""
        columns, kernel, split = self.columns, self.kernel, len(self.columns.figures)
        uses = [offer.rack_use for offer in self.offers]
        shelves = np.array([use.per_rack if use else 1.0 for use in uses])
        racks = np.array([use.racks_each if use else 0.0 for use in uses])
        numbers = [kernel.number[offer.id] for offer in self.offers]
        places = [kernel.index[offer.place] for offer in self.offers]
        least = np.ones(len(self.offers))  # of its power, at the set points of its ways
        for row, system in enumerate(self.case.systems):
            least[row] = min(1.0, *(way.power_share for way in system.ways))
        packed, begun, takes = np.zeros((3, len(self.offers), len(columns.names)))
        for column, name in enumerate(columns.figures):
            if name == "racks":
                begun[:, column], takes[:, column] = racks, racks / shelves
                continue
            standing, bought = kernel.weights(name)
            packed[:, column] = bought[numbers] / columns.scale[column]
            takes[:, column] = standing[places] * least + bought[numbers]
        takes[:, split:] = columns.weights
        self.takes = takes / columns.scale
        rounds = [not offer.sold_plainly for offer in self.offers]
        some = np.flatnonzero(np.array(rounds, dtype=bool) | (shelves > 1))
        self.rounding_rows, self.rounding_places = np.array(numbers)[some], np.array(places)[some]
        self.packed, self.begun = packed[some, :split], begun[some, :split]
        share = np.array([offer.spare_share for offer in self.offers])
        rounding = np.array([share[some], self.installed[some], shelves[some]])
        self.roundings = rounding[:, :, None]

    def _set_teams(self) -> None:
        """Set, by team, the types that run, those without a fabric, and whether all GPU systems
        that must be in use run."""
        case, teams, systems = self.case, self.work.teams, self.case.systems
        self.runs, self.refused = np.zeros((2, len(teams), len(systems)), dtype=bool)
        for place, team in enumerate(teams):
            self.runs[place, self.work.rows_of[place]] = True
            unplaced = {name for way in team for name in case.unplaced.get(case.ways[way].id, ())}
            self.refused[place] = [system.id in unplaced for system in systems]
        must = np.array([system.id in case.must_use for system in systems], dtype=bool)
        self.complete = (self.runs | ~must).all(axis=1)

    def _set_storage(self) -> None:
        """Set the most that each item gives, the groups of families, and the rate of supply to
        consumption."""
        items, families = self.case.storage, self.families
        gives = []
        for item in items:
            read, write = item.nameplate_read_gb_per_s, item.nameplate_write_gb_per_s
            endured = min(endurance_tb_per_day(item), ENDLESS)
            bulk = (item.bulk_nameplate_read_gb_per_s, item.bulk_tb)
            burst = (item.burst_nameplate_gb_per_s or write, item.buffer_gb)
            units = float(not item.is_bulk)
            gives.append((read, write, item.usable_tb, endured, units, *bulk, *burst))
        self.gives = np.array(gives, dtype=float).reshape(len(items), len(GOODS)).T
        members = [[item.family == family.id for item in items] for family in families]
        self.members = np.array(members, dtype=bool).reshape(len(families), len(items))
        most = [math.inf if f.max_units is None else f.max_units for f in families]
        self.most_units = np.array(most, dtype=float)
        self.groups = self._groups()
        takes = self.takes[self.first_store :]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(self.gives[:, :, None] > 0, self.gives[:, :, None] / takes[None], 0.0)
        best = [rate[:, group.items].max(axis=1, initial=0.0) for group in self.groups]
        self.rate = np.array(best).reshape(len(best), len(GOODS), len(self.columns.names))

    def _groups(self) -> list[Group]:
        """The families that may serve together; those that must are in each."""
        case, names = self.case, [family.id for family in self.families]
        sizes = range(1, min(case.max_families, len(names)) + 1)
        sets = [some for size in sizes for some in itertools.combinations(names, size)]
        needed = {f.id for f in self.families if f.forced}
        needed |= {i.family for i in case.flash if i.low or i.id in case.must_use}
        sets = [some for some in sets if needed <= {*some}]
        if len(sets) > MOST_GROUPS:
            sets = [some for some in sets if len(some) == 1] + [tuple(names)]
        groups = []
        for some in sets:
            here = [family for family in self.families if family.id in some]
            items = [item.is_bulk or item.family in some for item in case.storage]
            factors = [max(f.write_factor for f in here), max(f.read_factor for f in here)]
            groups.append(Group(some, np.array(items, dtype=bool), *factors))
        return groups

    # The widest boxes.

    def whole(self, owners: Places) -> Boxes:
        """Every purchase: a box for each team and group of storage, for each owner."""
        case, count = self.case, len(self.groups)
        team = np.repeat(np.flatnonzero(self.complete), count)
        group = np.tile(np.arange(count), int(self.complete.sum()))
        low, high = np.zeros((2, len(self.offers), len(team)), dtype=np.int64)
        free = bool(case.policy.required or case.policy.splits)  # idle systems may please vendors
        for row, system in enumerate(case.systems):
            idle = max(system.low, system.min_units) if system.low else 0
            most = max_units(case, system) if free else max_units_in_use(case, system)
            runs = self.runs[team, row]
            low[row] = np.where(runs, max(1, system.min_units, system.low), idle)
            high[row] = np.where(runs, most, most if free else idle)
            high[row, self.refused[team, row]] = 0
        for row, item in enumerate(case.storage, self.first_store):
            inside = np.array([each.items[row - self.first_store] for each in self.groups], bool)
            high[row] = np.where(inside[group], min(max_units(case, item), MOST), 0)
            if item.low > 0 or item.id in case.must_use:
                low[row] = max(item.low, int(self.first[row]))
        boxes = Boxes(team, group, low, high, np.full(len(team), np.inf), np.zeros_like(team))
        boxes = boxes.take(np.asarray((low <= high).all(axis=0)))
        places = np.tile(np.arange(boxes.size), len(owners))
        return boxes.take(places)._replace(owner=np.repeat(owners, boxes.size))

    def box_of(self, units: Mapping[str, int], ways: Collection[str]) -> Boxes | None:
        """One purchase, run in some ways, as a box; None where it is none of this space."""
        team = tuple(sorted(n for n, way in enumerate(self.case.ways) if way.id in ways))
        bought = {item.family for item in self.case.flash if units.get(item.id)}
        groups = [n for n, group in enumerate(self.groups) if bought <= {*group.families}]
        if team not in self.work.teams or not groups:
            return None
        place = self.work.teams.index(team)
        for offer in self.offers:  # within the bounds of the case
            most = math.inf if offer.high is None else offer.high
            least = max(offer.low, 1 if offer.id in self.case.must_use else 0)
            if not least <= units.get(offer.id, 0) <= most:
                return None
        counts = np.array([[units.get(offer.id, 0)] for offer in self.offers], dtype=np.int64)
        owner, bound = np.zeros(1, dtype=np.int64), np.full(1, np.inf)
        box = Boxes(owner + place, owner + groups[0], counts, counts, bound, owner)
        return box if self.complete[place] else None

    def boxes_like(self, box: Boxes) -> Boxes:
        """A purchase once for each team that has the same types."""
        alike = (self.runs == self.runs[box.team[0]]).all(axis=1)
        alike &= ~self.refused[:, box.low[: self.first_store, 0] > 0].any(axis=1)
        teams = np.flatnonzero(alike)
        return box.take(np.zeros(len(teams), dtype=np.int64))._replace(team=teams)

    # Bounds.

    def taken(self, boxes: Boxes, counts: Counts, *, least: bool) -> tuple[Numbers, Bills]:
        """Consumption of purchases by column, a row each, and their bills.

        Args:
            counts: a row for each offer, a column for each box.
            least: no more than that, and never less with more bought; see `Kernel.bills`.
        """
        columns, ways = self.columns, self.work.ways_of[:, boxes.team]
        bills = self.kernel.bills(counts, ways, least=least)
        found = np.empty((len(columns.names), boxes.size))
        split = len(columns.figures)
        found[:split] = self.kernel.sums(bills, columns.figures)
        found[split:] = columns.weights.T @ counts
        return found / columns.scale[:, None], bills

    def rounding_consumption(self, bills: Bills, counts: Counts) -> Numbers:
        """Consumption of purchases by rounding up alone: more may take less than each by
        itself by that much. Owned units outside the cluster are in place already."""
        has = np.rint(bills.counts[self.rounding_places])
        share, owned, shelf = self.roundings
        need = has + np.ceil(share * has - ROUNDING) - owned
        over = np.maximum(bills.purchased[self.rounding_rows] - np.maximum(need, 0.0), 0.0)
        begun = np.ceil(has / shelf) - has / shelf
        idle = np.maximum(self.installed[:, None] - counts, 0.0)
        found = self.takes.T @ idle
        split = len(self.columns.figures)
        found[:split] += self.packed.T @ over + self.begun.T @ begun
        return np.asarray(found)

    def cut(self, boxes: Boxes, room: Numbers) -> Boxes:
        """Boxes with no more of anything than there is room for.

        Args:
            room: consumption left beside the lowest corners, a row for each column.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(
                self.takes[:, :, None] > 0, room[None] / self.takes[:, :, None], np.inf
            ).min(axis=1, initial=np.inf)
        stores = boxes.low[self.first_store :]
        left = self.most_units[:, None] - self.members @ stores
        for row, members in enumerate(self.members):
            if np.isfinite(self.most_units[row]):
                here = np.flatnonzero(members) + self.first_store
                each[here] = np.minimum(each[here], left[row])
        more = np.floor(np.minimum(each * (1 + NOISE) + NOISE, float(MOST))).astype(np.int64)
        high = np.minimum(boxes.high, boxes.low + np.maximum(more, 0))
        few = (boxes.low == 0) & (high < self.first[:, None])
        return boxes._replace(high=np.where(few, 0, high))

    def top(self, boxes: Boxes, room: Numbers, taken: Numbers) -> Corner:
        """The top corners of boxes, with the consumption of their lowest corners."""
        goods = self._top_goods(boxes, room)
        stores = self._stores_of(boxes, goods)
        count, most = self.work.systems_and_gpus(boxes.team, boxes.high[: self.first_store])
        most = self._gpus_by_rule(boxes.team, most, stores)
        fine = self.serves(boxes.low, stores)
        score, gpus = self._best(boxes.team, count, most, stores, taken, fine)
        return Corner(score, gpus, taken, goods)

    def _top_goods(self, boxes: Boxes, room: Numbers) -> Numbers:
        low, high = boxes.low[self.first_store :], boxes.high[self.first_store :]
        with np.errstate(invalid="ignore"):
            fits = self.rate[boxes.group] * room.T[:, None, :]
        most_more = np.nan_to_num(fits, nan=np.inf).min(axis=2, initial=np.inf).T
        return np.asarray(self.gives @ low + np.minimum(self.gives @ (high - low), most_more))

    def _stores_of(self, boxes: Boxes, goods: Numbers) -> Stores:
        read, plate, usable, endured, _, bulk_read, bulk_tb, *_ = goods * (1 + NOISE)
        factors = np.array([[g.write_factor, g.read_factor] for g in self.groups])[boxes.group]
        worn = worn_interval_s(self.case, endured)
        write = plate
        if self.case.bursts:
            burst, buffer_gb = goods[BURST:] * (1 + NOISE)
            write, worn = add_bursts(self.case, plate, burst, buffer_gb, worn)
        sides = (write, read, write, read, worn, factors[:, 0], factors[:, 1])
        return Stores(*sides, plate, bulk_read, usable, bulk_tb)

    def _gpus_by_rule(self, team: Places, most: Counts, stores: Stores) -> Counts:
        """The most GPUs in use where a rule asks for bandwidth for all in the cluster."""
        rule = self.case.rule
        if rule is None:
            return most
        groups = np.full(len(team), float(MOST))
        for bandwidth, each in (
            (stores.read, rule.nameplate_read_gb_per_s),
            (stores.sustained, rule.nameplate_write_gb_per_s),
        ):
            if each > 0:
                groups = np.minimum(groups, bandwidth / (each * (1 - TOLERANCE)))
        step = self.work.step[team]
        gpus = np.floor(groups * (1 + NOISE) + NOISE).astype(np.int64) * rule.per_gpus
        return np.asarray(np.minimum(most, gpus // step * step))

    def serves(self, counts: Counts, stores: Stores) -> Flags:
        """Mask of entries whose storage meets every need, however the job uses it."""
        fine = np.ones(counts.shape[1], dtype=bool)
        for _, unmet in unmet_needs(self.case, counts, stores):
            fine &= ~unmet
        return fine

    def _best(
        self, team: Places, count: Counts, most: Counts, stores: Stores, taken: Numbers, fine: Flags
    ) -> tuple[Numbers, Counts]:
        score, gpus = np.full(len(team), -np.inf), np.zeros(len(team), dtype=np.int64)
        rows = np.flatnonzero(fine)
        if len(rows):
            tco = None
            if self.tco is not None:
                tco = taken[self.tco][rows] * self.columns.scale[self.tco]
            of = team[rows], count[rows], most[rows], stores.take(rows)
            score[rows], gpus[rows] = self.work.best(*of, tco)
        return score, gpus

    # Single purchases.

    def points(
        self, boxes: Boxes, limits: Numbers, useful: Callable[[Boxes, Corner], Flags]
    ) -> tuple[Boxes, Corner]:
        """The lowest corners of boxes that may be made and are of use, exactly.

        Args:
            limits: of each owner, a column each.
            useful: says which are worth a bill in full, by what they do and take at least.
        """
        boxes = boxes.take(
            self.can_be_ordered(boxes.low, boxes.group) & self.keeps_policy(boxes.low, boxes.low)
        )
        corner = self._exactly(boxes, np.zeros((len(self.columns.names), boxes.size)))
        for least in (None, True, False):  # first as if nothing were taken
            if least is not None:
                taken, bills = self.taken(boxes, boxes.low, least=least)
                most = limits[:, boxes.owner] * (1 + TOLERANCE)
                fits = self.kernel.available(bills) & (taken <= most).all(axis=0)
                boxes, taken = boxes.take(fits), taken[:, fits]
                corner = corner.take(fits)._replace(taken=taken)
                if self.tco is not None:
                    corner = self._exactly(boxes, taken)
            fits = useful(boxes, corner)
            boxes, corner = boxes.take(fits), corner.take(fits)
            if not boxes.size:
                break
        return boxes, corner

    def _exactly(self, boxes: Boxes, taken: Numbers) -> Corner:
        """The lowest corners, by their consumption."""
        stores = sum_storage(self.case, boxes.low[self.first_store :])
        fine = self.serves(boxes.low, stores)
        count, most = self.work.systems_and_gpus(boxes.team, boxes.low[: self.first_store])
        score, gpus = self._best(boxes.team, count, most, stores, taken, fine)
        goods: Numbers = self.gives @ boxes.low[self.first_store :]
        goods[WRITE] = stores.sustained
        return Corner(score, gpus, taken, goods)

    def can_be_ordered(self, counts: Counts, group: Places) -> Flags:
        """Mask of counts that may be ordered: minimum orders, families in use and their units."""
        fine: Flags = ((counts == 0) | (counts >= self.first[:, None])).all(axis=0)
        units = self.members @ counts[self.first_store :]
        fine &= (units <= self.most_units[:, None]).all(axis=0)
        serving = (units > 0).sum(axis=0)
        sizes = np.array([len(g.families) for g in self.groups])[group]
        most = self.case.max_families
        if len(self.groups) and sizes.max(initial=0) > most:  # all are one group
            sizes = np.where(sizes > most, np.minimum(np.maximum(serving, 2), most), sizes)
        fine &= serving == sizes
        forced = np.array([family.forced for family in self.families], dtype=bool)
        return np.asarray(fine & ((units > 0) | ~forced[:, None]).all(axis=0) & (serving > 0))

    def keeps_policy(self, low: Counts, high: Counts) -> Flags:
        """Mask of boxes with a purchase that may keep the vendor policy."""
        fine = np.ones(low.shape[1], dtype=bool)
        for _, broken in self.vendors.broken(low, high):
            fine &= ~broken
        return fine

    # Dividing boxes.

    def halve(self, boxes: Boxes, limits: Numbers, systems_first: bool = True) -> Boxes:
        """The two halves of each box, across its widest side: GPU systems first or last.

        Very many systems that do nearly the same are as one until storage is decided: the last of
        them are spares, or stay in hand where most of the work is lost.
        """
        most = limits.max(axis=1, initial=0.0)
        with np.errstate(invalid="ignore"):
            share = self.takes / np.where(np.isfinite(most) & (most > 0), most, np.inf)
        share = np.maximum(share.max(axis=1, initial=0.0), 1e-12)
        width = (boxes.high - boxes.low) * share[:, None]
        few = slice(self.first_store)
        if systems_first:
            near = (boxes.low[few] >= NEAR * boxes.high[few]) & (boxes.high[few] > MANY_SYSTEMS)
            width[few] *= np.where(near, 1.0, 1e6)
        else:
            width[few] *= 1e-6
        which = np.argmax(width, axis=0)
        here = np.arange(boxes.size)
        low, high = boxes.low[which, here], boxes.high[which, here]
        first = self.first[which]
        middle = np.where((low == 0) & (first > 1), 0, (low + high) // 2)
        below, above = boxes.high.copy(), boxes.low.copy()
        below[which, here], above[which, here] = middle, np.maximum(middle + 1, first)
        halves = Boxes.joined(boxes._replace(high=below), boxes._replace(low=above))
        return halves.take(np.asarray((halves.low <= halves.high).all(axis=0)))
