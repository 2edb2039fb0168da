"""The fewest units of other storage that carry an operation: what anybody's storage would do.

Nothing is solved: the GPU systems, the GPUs in use and the way are those of the operation, so each
count is settled by running it. More units of an item only help the job (bandwidth, capacity), so
the fewest that carry it are found by halving, or one by one where a table has less for more; more
only take more of what is limited, so that where the fewest break a limit all do.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from planner.case import Case, Storage
from planner.case.model import Segment
from planner.figures import OBJECTIVES, RATIOS
from planner.optimizer import purchase
from planner.optimizer.goals import floors
from planner.optimizer.objective import measure, natural, work_of_ratio
from planner.optimizer.operate import Run, most_in_use, operate

MOST_UNITS = 4096
"""Nobody is told of more units than these of one item."""
MOST_DROPPED = 4
"""So many GPU systems at most may make room for a storage that draws or takes more."""


class Carrier(NamedTuple):
    """So many units of one item, and the operation they carry; so much worse by the objective.

    ``dropped`` are GPU systems that the plan has and that make room for it.
    """

    item: Storage
    operation: Run
    shortfall: float
    dropped: int

    @property
    def units(self) -> int:
        """The units of the item."""
        return self.operation.units[self.item.id]


@dataclass
class _Tried:
    """What storage of one family was tried: what gives no less does the job, too, if that does."""

    enough: list[tuple[float, ...]] = field(default_factory=list)
    few: list[tuple[float, ...]] = field(default_factory=list)

    def verdict(self, item: Storage, count: int) -> bool | None:
        """Say whether so many units do the job; None where nothing tried tells."""
        gives = _gives(item, count)
        if any(all(map(operator.ge, gives, one)) for one in self.enough):
            return True
        return False if any(all(map(operator.le, gives, one)) for one in self.few) else None

    def add(self, item: Storage, count: int, does: bool) -> None:
        """Take down whether so many units do the job."""
        (self.enough if does else self.few).append(_gives(item, count))


def _gives(item: Storage, count: int) -> tuple[float, ...]:
    endured = math.inf if item.endurance_tb_per_day is None else item.endurance_tb_per_day
    burst = max(item.burst_gb_per_s, item.write_gb_per_s)
    each = (item.read_gb_per_s, item.write_gb_per_s, item.usable_tb, endured, burst, item.buffer_gb)
    return tuple(count * one for one in each)


@dataclass(frozen=True)
class Carriers:
    """What carries the chosen operation, with what it is compared by.

    Args:
        chosen: the plan's operation.
        bound: what no plan passes, in the objective's own unit; None where nothing is proven.
        within: the share of it that another plan may be worse.
    """

    case: Case
    chosen: Run
    bound: float | None
    within: float

    def found(self, priced: Callable[[Storage, int], float]) -> Iterator[Carrier]:
        """Yield for each family that the plan does not hold what carries the job for least money.

        Args:
            priced: what so many units of an item cost, by whatever money counts.
        """
        case = self.case
        held = {item.family for item in case.flash if self.chosen.units[item.id]}
        for family in case.families:
            items = [item for item in case.flash if item.family == family.id]
            if family.id not in held:
                carrier = self._cheapest(items, priced)
                if carrier is not None:
                    yield carrier

    def worth(self, operation: Run) -> float:
        """Return by which share an operation is worse than what no plan passes.

        An objective in money is what prices decide: by it nothing is better or worse here, but for
        the work that money is paid for, which is compared with the plan's.
        """
        case = self.case
        if case.objective in RATIOS:
            planned = work_of_ratio(case, self.chosen)
            return max(0.0, 1.0 - work_of_ratio(case, operation) / planned)
        if OBJECTIVES[case.objective].figure.money or self.bound is None:
            return 0.0
        value = natural(case.objective, measure(case, case.objective)(operation))
        behind = self.bound - value if case.maximise else value - self.bound
        return max(0.0, behind) / max(abs(self.bound), 1e-12)

    def _cheapest(
        self, items: Sequence[Storage], priced: Callable[[Storage, int], float]
    ) -> Carrier | None:
        """Return the cheapest item in its fewest units beside the plan's GPU systems.

        If no limit lets any of them stand beside these, beside a few systems less.
        """
        for dropped, like in self._uses():
            unlike, tried = {_does_what(item): item for item in items}, _Tried()
            needed = {does: self._fewest(item, like, tried) for does, item in unlike.items()}
            counts = [(item, needed[_does_what(item)]) for item in items]
            sized = [(item, count) for item, count in counts if count is not None]
            for item, count in sorted(sized, key=lambda pair: priced(*pair)):
                operation = self._run(_units(item, count, like), like)
                if operation is not None:
                    return Carrier(item, operation, self.worth(operation), dropped)
        return None

    def _uses(self) -> Iterator[tuple[int, Run]]:
        """Yield the plan's own use of its GPU systems, then with a few systems less.

        Their storage is what must be; units of which there are none they do not name.
        """
        storage = {item.id: item.low for item in self.case.flash}
        beside = Counter({k: n for k, n in {**self.chosen.units, **storage}.items() if n})
        yield 0, replace(self.chosen, units=beside)
        running = self.case.in_use(self.chosen.used, self.chosen.ways)
        if len(running) != 1:
            return
        ((system, way),) = running
        for dropped in range(1, MOST_DROPPED + 1):
            left = self.chosen.units[system.id] - dropped
            if left < system.low or left < 1:
                return
            gpus = min(self.chosen.gpus, way.most_gpus(most_in_use(self.case, left)))
            if gpus < self.chosen.gpus * (1.0 - 2.0 * self.within) or gpus < 1:
                return
            units = Counter({**beside, system.id: left})
            used = {system.id: way.systems_for(gpus)}
            yield dropped, replace(self.chosen, units=units, used=used, gpus=gpus)

    def _fewest(self, item: Storage, like: Run, tried: _Tried) -> int | None:
        """Return the fewest units of an item that do the job, whatever they take or cost."""
        alone = not any(isinstance(offer, Storage) for offer in self.case.demanded)
        plain = alone and not item.segments and not self.case.tolerate_down
        plain = plain and not item.burst_gb_per_s

        def does(count: int) -> bool:
            known = tried.verdict(item, count) if plain else None
            if known is not None:
                return known
            found = self._does(_units(item, count, like), like)
            if plain:
                tried.add(item, count, found)
            return found

        return fewest(item, does)

    def _does(self, units: Mapping[str, int], like: Run) -> bool:
        """Return whether a purchase does the job, whatever it takes or costs.

        What is to be least grows with every unit and may grow beyond any fabric; more units of
        storage never do less work.
        """
        found = operate(self.case, like.mode, units, like.used, like.gpus, like.ways)
        if found is None or purchase.broken_needs(self.case, units):
            return False
        by_work = self.case.maximise or self.case.objective in RATIOS
        return not by_work or self.worth(found) <= self.within + 1e-9

    def _run(self, units: Mapping[str, int], like: Run) -> Run | None:
        """Return the operation on such a purchase if it does the job and may be ordered.

        Whether it may is asked first: beyond any fabric nothing tells what is to be least.
        """
        case = self.case
        if not purchase.orderly(case, units):
            return None
        named = {offer.id: units[offer.id] for offer in case.offers()}
        found = operate(case, like.mode, named, like.used, like.gpus, like.ways)
        if found is None or purchase.broken_rows(case, named, found.ways):
            return None
        return found if floors(case)(found) and self.worth(found) <= self.within + 1e-9 else None


def _units(item: Storage, count: int, like: Run) -> Counter[str]:
    """Return a purchase with so many units of one item for all storage that need not be."""
    return Counter({**like.units, item.id: max(count, item.low)})


def _does_what(item: Storage) -> tuple[object, ...]:
    """Return what decides how many units of a family's item do the job: near-clones share it."""
    gives = (item.read_gb_per_s, item.write_gb_per_s, item.usable_tb, item.endurance_tb_per_day)
    bursts = (item.burst_gb_per_s, item.buffer_gb)
    return *gives, *bursts, item.segments, item.units_lost, item.min_units, item.low, item.high


def fewest(item: Storage, does: Callable[[int], bool]) -> int | None:
    """Return the fewest units of an item that will do, None where none do.

    Args:
        does: whether so many do; if so many do, more do, unless more units bring less bandwidth.
    """
    low, high = max(item.min_units, item.low, 1), min(item.high or MOST_UNITS, MOST_UNITS)
    if item.segments:
        low = max(low, item.segments[0].low)
        high = min(high, item.segments[-1].high)
        if not _never_falls(item.segments):
            return next((count for count in range(low, high + 1) if does(count)), None)
    if low > high or not does(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle + 1, high)
    return low


def _never_falls(segments: Sequence[Segment]) -> bool:
    """Say whether more units never bring less bandwidth, by a table of sizes."""
    reads, writes = [0.0], [0.0]
    for piece in segments:
        wide = piece.high - piece.low
        reads += [piece.read_at_low, piece.read_at_low + piece.read_slope * wide]
        writes += [piece.write_at_low, piece.write_at_low + piece.write_slope * wide]
    return all(
        before <= after * (1.0 + 1e-12)
        for rates in (reads, writes)
        for before, after in pairwise(rates)
    )
