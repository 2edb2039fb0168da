"""How parts of a job break, by which law of time, and how it goes on.

What a failure does (its kind, whether it takes a unit out and for how long, which rack it strikes)
is drawn before a run together with its time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exponential:
    """Failures without memory."""

    mean_s: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.exponential(self.mean_s, shape)

    def scaled(self, mean_s: float) -> Exponential:
        """Return the same kind of failures with another mean, s."""
        return Exponential(mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return 1.0


@dataclass(frozen=True)
class Weibull:
    """Failures that come in bunches (``shape`` below 1) or with wear (above 1)."""

    mean_s: float
    shape: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
        return scale * draw.weibull(self.shape, shape)

    def scaled(self, mean_s: float) -> Weibull:
        """Return the same kind of failures with another mean, s."""
        return Weibull(mean_s, self.shape)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        first, second = (math.gamma(1.0 + power / self.shape) for power in (1.0, 2.0))
        return math.sqrt(max(0.0, second / first**2 - 1.0))


@dataclass(frozen=True)
class Empirical:
    """Failures as far apart as measured ones, drawn with replacement."""

    measured_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        """Mean time between interruptions, s."""
        return math.fsum(self.measured_s) / len(self.measured_s)

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.choice(np.array(self.measured_s), shape)

    def scaled(self, mean_s: float) -> Empirical:
        """Return the same failures stretched to another mean, s."""
        factor = mean_s / self.mean_s
        return Empirical(tuple(gap * factor for gap in self.measured_s))

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        mean = self.mean_s
        squares = math.fsum((gap - mean) ** 2 for gap in self.measured_s)
        return math.sqrt(squares / len(self.measured_s)) / mean


@dataclass(frozen=True)
class Constant:
    """Always the same time."""

    mean_s: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times, s; nothing is drawn."""
        return np.full(shape, self.mean_s)

    def scaled(self, mean_s: float) -> Constant:
        """Return another time, s, that is always the same."""
        return Constant(mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return 0.0


@dataclass(frozen=True)
class LogNormal:
    """Most times short, a few very long; ``sigma`` is the standard deviation of their logarithm."""

    mean_s: float
    sigma: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times, s."""
        middle = math.log(self.mean_s) - self.sigma**2 / 2.0
        return draw.lognormal(middle, self.sigma, shape)

    def scaled(self, mean_s: float) -> LogNormal:
        """Return the same spread about another mean, s."""
        return LogNormal(mean_s, self.sigma)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return math.sqrt(math.expm1(self.sigma**2))


Failures: TypeAlias = Exponential | Weibull | Empirical
Law: TypeAlias = Failures | Constant | LogNormal


@dataclass(frozen=True)
class FailureClass:
    """Interruptions of one kind.

    Attributes:
        share: of all interruptions of the job.
        out: how likely one of them takes a unit out for repair.
        repair: how long that unit is out; needed where one goes out.
        local: whether the checkpoints that are kept locally survive it.
    """

    share: float
    out: float = 0.0
    repair: Law | None = None
    local: bool = False


@dataclass(frozen=True)
class RepairUnits:
    """Units that fail and are repaired, and how much of the job runs while some of them are out.

    Attributes:
        running: share of the job that runs with 0, 1, 2, ... units out, the first of them 1. With
            more out than it lists the job stands still.
        swap_s: added to the restart after a failure that took a unit out.
        racks: 1 where a spare serves all of the job; else in how many racks the job stands, all of
            which it needs: ``running`` is then of each rack, whose spares serve that rack alone.
    """

    running: tuple[float, ...]
    swap_s: float = 0.0
    racks: int = 1

    @classmethod
    def waiting(cls, spares: int, swap_s: float = 0.0, racks: int = 1) -> RepairUnits:
        """Return units of a job that waits while more are out than spares stand by."""
        return cls((1.0,) * (spares + 1), swap_s, racks)

    @classmethod
    def shrinking(cls, replicas: Sequence[int], swap_s: float = 0.0) -> RepairUnits:
        """Return units of a job that goes on with fewer replicas.

        Args:
            replicas: how many run with 0, 1, 2, ... units out.
            swap_s: added to the restart after a failure that took a unit out.
        """
        return cls(tuple(each / replicas[0] for each in replicas if each), swap_s)

    @property
    def shrinks(self) -> bool:
        """Whether the job ever runs on a part of its GPUs."""
        return self.running[-1] < 1.0


@dataclass(frozen=True)
class LocalCopies:
    """Checkpoints kept close to the GPUs, every few of which are written to the shared storage.

    Every checkpoint of the job is captured to the local level.

    Attributes:
        settle_s: from the end of a capture until the local copy can be used; no longer than the
            interval less the stall.
        every: which of them go to the shared storage: each so many-th.
        restart_s: from a failure that the local copies survive until the job computes again.
        drain_survives: whether writing to the shared storage goes on through such a failure, or
            begins anew after its restart.
    """

    settle_s: float
    every: int
    restart_s: float
    drain_survives: bool = True


@dataclass(frozen=True)
class Marks:
    """What each failure of a job does; by lane and failure, in the order of their times.

    Attributes:
        local: whether local copies survive it.
        out_s: how long the unit that it takes is out, s; 0 where it takes none.
        rack: the rack it strikes.
        luck: even between 0 and 1: it strikes where more than this share of the job runs.
    """

    local: npt.NDArray[np.bool_]
    out_s: Array
    rack: npt.NDArray[np.intp]
    luck: Array


def draw_marks(
    classes: Sequence[FailureClass], racks: int, draws: np.random.Generator, shape: tuple[int, int]
) -> Marks:
    """Return what failures do.

    Args:
        classes: kinds of failures; their shares add up to 1.
        racks: in how many racks the job stands.
        draws: where from.
        shape: lanes, and failures of each.
    """
    edges = np.cumsum([each.share for each in classes])
    kind = np.searchsorted(edges[:-1], draws.random(shape), side="right")
    taken = draws.random(shape) < np.array([each.out for each in classes])[kind]
    out_s = np.zeros(shape)
    for number, each in enumerate(classes):
        if each.repair is not None:
            lasting = each.repair.gaps(draws, shape)
            out_s = np.where(taken & (kind == number), lasting, out_s)
    rack = draws.integers(0, racks, shape) if racks > 1 else np.zeros(shape, np.intp)
    local = np.array([each.local for each in classes])[kind]
    return Marks(local, out_s, rack, draws.random(shape))


@dataclass
class UnitsOut:
    """The units of many runs that are out for repair, by cell.

    Attributes:
        groups: the units of the job of each group of cells, None where none ever is out.
        runs: cells of a group, which follow one another.
    """

    groups: Sequence[RepairUnits | None]
    runs: int
    back_s: Array = field(init=False)
    """When each unit that is out is back; inf where the place is free."""

    def __post_init__(self) -> None:
        """Begin with nothing out."""
        cells = len(self.groups) * self.runs
        width = max((len(each.running) for each in self.groups if each is not None), default=0)
        self._running = np.zeros((len(self.groups), width + 1))
        for number, units in enumerate(self.groups):
            running = (1.0,) if units is None else units.running
            self._running[number, : len(running)] = running
        racks = max((each.racks for each in self.groups if each is not None), default=1)
        self.back_s = np.full((cells, 2), math.inf)
        self._rack = np.zeros((cells, 2), np.intp)
        self._count = np.zeros((cells, racks), np.intp)

    def take(self, cells: npt.NDArray[np.intp], back_s: Array, rack: npt.NDArray[np.intp]) -> None:
        """Take a unit out of each of some cells.

        Args:
            cells: which, each once.
            back_s: until when.
            rack: which rack it stood in.
        """
        free = np.isinf(self.back_s[cells])
        if not free.any(1).all():
            self.back_s = np.pad(self.back_s, ((0, 0), (0, 4)), constant_values=math.inf)
            self._rack = np.pad(self._rack, ((0, 0), (0, 4)))
            free = np.isinf(self.back_s[cells])
        place = free.argmax(1)
        self.back_s[cells, place] = back_s
        self._rack[cells, place] = rack
        self._count[cells, rack] += 1

    def bring_back(self, cells: npt.NDArray[np.intp], now: Array) -> None:
        """Put units whose repair is done back where they were."""
        back = self.back_s[cells] <= now[:, None]
        row, place = np.nonzero(back)
        if row.size:
            at = cells[row]
            np.subtract.at(self._count, (at, self._rack[at, place]), 1)
            self.back_s[at, place] = math.inf

    def running(self, cells: npt.NDArray[np.intp]) -> Array:
        """Return which share of the job could run: that of the rack with the most units out."""
        out = np.minimum(self._count[cells].max(1), self._running.shape[1] - 1)
        share: Array = self._running[cells // self.runs, out]
        return share

    def next_back_s(self, cells: npt.NDArray[np.intp]) -> Array:
        """Return when the next unit is back, s; inf where none is out."""
        soonest: Array = self.back_s[cells].min(1)
        return soonest
