"""Alternatives to a plan: other storage for its job, plans with other items, and its fit elsewhere.

Other storage is not solved: GPU systems, GPUs in use and way are those of the plan, so counts are
compared by running them, all items at once. More units of an item never do less work, and take more
of what is limited: the fewest are found by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from planner.case import Case, Storage
from planner.figures import OBJECTIVES, RATIOS
from planner.optimizer.bill import Counts, Flags, least_order, stored, unmet_needs
from planner.optimizer.objective import measure, natural, work_paid
from planner.optimizer.operate import (
    Run,
    broken_limits,
    goodput_with,
    is_orderable,
    meets_floors,
    operate,
)
from planner.optimizer.optimise import Question
from planner.optimizer.search import Effort, Search
from planner.optimizer.work import most_gpus

MOST_UNITS = 4096
"""No more units than these of one item are proposed."""
MOST_DROPPED = 4
"""GPU systems that may make room for a storage that draws or takes more."""


class Alternative(NamedTuple):
    """Units of one item and the run they serve; ``shortfall`` is the share it is worse by the
    objective, ``dropped`` are GPU systems of the plan that make room."""

    item: Storage
    operation: Run
    shortfall: float
    dropped: int

    @property
    def units(self) -> int:
        """The units of the item."""
        return self.operation.units[self.item.id]


@dataclass(frozen=True)
class OtherStorage:
    """Other storage for the chosen plan.

    Attributes:
        chosen: the plan's run.
        bound: the bound of the objective, in its own unit; None where nothing is proven.
        within: the share of it that another plan may be worse.
    """

    case: Case
    chosen: Run
    bound: float | None
    within: float

    def found(self, priced: Callable[[Storage, int], float]) -> Iterator[Alternative]:
        """Yield the cheapest alternative of each storage family that the plan does not hold.

        Beside the plan's own GPU systems; if limits leave no room, beside a few systems less.

        Args:
            priced: the cost of units of an item.
        """
        held = {item.family for item in self.case.flash if self.chosen.units[item.id]}
        left = [family.id for family in self.case.families if family.id not in held]
        for dropped, like in self._uses():
            items = [item for item in self.case.flash if item.family in left]
            counts = list(zip(items, self._fewest(items, like).tolist(), strict=True))
            for family in list(left):
                sized = [(item, n) for item, n in counts if item.family == family and n]
                for item, count in sorted(sized, key=lambda pair: priced(*pair)):
                    run = self._run(item, count, like)
                    if run is not None:
                        yield Alternative(item, run, self.shortfall(run), dropped)
                        left.remove(family)
                        break

    def shortfall(self, run: Run) -> float:
        """The share by which a run is worse than the bound.

        An objective in money is for prices to decide: by it nothing is worse here, but for the
        work that money is paid for, which is compared with the plan's.
        """
        case = self.case
        if case.objective in RATIOS:
            return max(0.0, 1.0 - work_paid(case, run) / work_paid(case, self.chosen))
        if OBJECTIVES[case.objective].figure.money or self.bound is None:
            return 0.0
        value = natural(case.objective, measure(case, case.objective)(run))
        behind = self.bound - value if case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def _uses(self) -> Iterator[tuple[int, Run]]:
        """Yield the plan without storage that need not be, then with a few systems less."""
        storage = {item.id: item.low for item in self.case.flash}
        units = {**self.chosen.units, **storage}
        yield 0, replace(self.chosen, units=units)
        running = self.case.in_use(self.chosen.used, self.chosen.ways)
        if len(running) != 1:
            return
        ((system, way),) = running
        for dropped in range(1, MOST_DROPPED + 1):
            left = units[system.id] - dropped
            if left < system.low or left < 1:
                return
            most = int(most_gpus(self.case.job, way, np.array([left]))[0])
            gpus = min(self.chosen.gpus, most)
            if gpus < self.chosen.gpus * (1.0 - 2.0 * self.within) or gpus < 1:
                return
            used = {system.id: way.systems_for(gpus)}
            less = {**units, system.id: left}
            yield dropped, replace(self.chosen, units=less, used=used, gpus=gpus)

    def _fewest(self, items: Sequence[Storage], like: Run) -> Counts:
        """The fewest units of each item that serve the job, whatever they take; 0: none."""
        few = np.array([max(least_order(item), item.low) for item in items], dtype=np.int64)
        many = np.array([_most_units(item) for item in items], dtype=np.int64)
        found = np.zeros(len(items), dtype=np.int64)
        open_ = np.flatnonzero(few <= many)
        open_ = open_[self._serves([items[n] for n in open_.tolist()], many[open_], like)]
        few, many, some = few[open_], many[open_], [items[n] for n in open_.tolist()]
        while (few < many).any():
            middle = (few + many) // 2
            fine = self._serves(some, middle, like)
            few, many = np.where(fine, few, middle + 1), np.where(fine, middle, many)
        found[open_] = few
        return found

    def _serves(self, items: Sequence[Storage], counts: Counts, like: Run) -> Flags:
        """True if units of each item serve the job, whatever they take or cost."""
        case, rows = self.case, {item.id: n for n, item in enumerate(self.case.storage)}
        units = np.array([like.units.get(o.id, 0) for o in (*case.systems, *case.storage)])
        columns = np.tile(units[:, None], (1, len(items)))
        storage = columns[len(case.systems) :]
        for place, item in enumerate(items):
            storage[rows[item.id], place] = max(int(counts[place]), item.low)
        stores = stored(case, storage)
        goodput = goodput_with(case, like, stores)
        fine: Flags = goodput > 0.0
        for _, unmet in unmet_needs(case, columns, stores):
            fine &= ~unmet
        least = self._least_goodput(like)
        return fine if least is None else fine & (goodput >= least)

    def _least_goodput(self, like: Run) -> float | None:
        """The least goodput with which the GPUs of a run do enough work, if that counts."""
        case, share = self.case, 1.0 - self.within - 1e-9
        if case.objective in RATIOS:
            hours = case.objective == "usd_per_useful_gpu_hour"
            rate = 1.0 if hours else self.chosen.tflops_per_gpu / like.tflops_per_gpu
            return share * self.chosen.useful_gpus / like.gpus * rate
        if not case.maximise or self.bound is None or case.objective == "gpus":
            return None
        pflops = like.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0
        return share * self.bound / like.gpus / (pflops if case.objective == "goodput" else 1.0)

    def _run(self, item: Storage, count: int, like: Run) -> Run | None:
        """The run on such a purchase if it serves the job and may be ordered."""
        case = self.case
        units = {**like.units, item.id: max(count, item.low)}
        if not is_orderable(case, units):
            return None
        named = {offer.id: units[offer.id] for offer in case.offers()}
        run = operate(case, like.mode, named, like.used, like.gpus, like.ways)
        if run is None or broken_limits(case, named, run.ways):
            return None
        return (
            run if meets_floors(case, run) and self.shortfall(run) <= self.within + 1e-9 else None
        )


def _most_units(item: Storage) -> int:
    most = min(item.high or MOST_UNITS, MOST_UNITS)
    return min(most, item.table[-1].units) if item.table else most


# What no plan with some item passes, for many items at once.


Bound = float | Literal["no plan"] | None
"""As the search scales the objective; None where the search was cut short."""


def bounds_with(case: Case, ids: Iterable[str], gap: float, effort: Effort) -> dict[str, Bound]:
    """Bound of the objective of plans with each item.

    Args:
        ids: GPU systems (which are then to be in use) and storage items.
        gap: how close the values are to the best plan with the item, as a share.
        effort: limits of work and time.
    """
    names = list(ids)
    found: dict[str, Bound] = dict.fromkeys(names, "no plan")
    if effort.over:
        return dict.fromkeys(names)
    if not names or not case.systems or not case.storage:
        return found
    ask = Question(case, gap, effort, ties=False)
    space = ask.spaces[0]
    rows = {offer.id: row for row, offer in enumerate(space.offers)}
    demands = np.zeros((len(space.offers), len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        demands[rows[name], place] = space.first[rows[name]]
    limits = np.tile(ask.columns.limits(case)[:, None], (1, len(names)))
    search = Search(
        ask.spaces, ask.worth, limits, gap, not ask.logarithmic, effort=effort, demands=demands
    )
    begin = []
    for space in ask.spaces:  # the GPU systems that a scenario demands are in use
        boxes = space.whole(np.arange(len(names)))
        demanded = demands[: space.first_store, boxes.owner].T > 0
        runs = np.asarray((space.runs[boxes.team] | ~demanded).all(axis=1))
        begin.append((space, boxes.take(runs)))
    sign, measured = (1.0 if case.maximise else -1.0), measure(case, case.objective)
    for name, answer in zip(names, search.run(begin=begin), strict=True):
        run = None if answer.point is None else answer.point.operated()
        if run is not None:
            found[name] = measured(run) + sign * (answer.bound - answer.value)
        elif not answer.ended:
            found[name] = None
    return found


# Whether a plan in hand is one of another problem, too: found by arithmetic.


def fitted(case: Case, run: Run) -> Run | None:
    """An operation at its best under a case; None where that refuses its purchase or use.

    Args:
        run: an operation of another case with the same products.
    """
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    units = {name: run.units.get(name, 0) for name in ids}
    if not is_orderable(case, units) or broken_limits(case, units, run.ways):
        return None
    if len(run.used) > case.job.max_types or run.mode not in case.job.modes:
        return None
    found = operate(case, run.mode, units, run.used, run.gpus, run.ways)
    if found is None or not meets_floors(case, found):
        return None
    held = units | {system.id: found.used.get(system.id, 0) for system in case.systems}
    if not all(held[name] for name in case.must_use):
        return None
    return replace(found, units=units)
