"""Many runs, in blocks on several processes; what comes out does not depend on how many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner.errors import PlannerError
from planner.processes import Lost, Processes, Progress
from planner.simulation.lanes import Lanes
from planner.simulation.operation import Array
from planner.simulation.world import Disturbances, JobRun, World, draw

_MOST_TIMES = 4_000_000
"""Drawn times that a block may hold, for memory's sake."""
_DRAWN = 5
"""What is drawn for a failure of which kinds are known: its time, and what it does."""
_BLOCK = 500
"""Runs of a block: an event costs nearly the same for few of them and for many."""
_CELL_STEPS = 10_000_000
"""Steps of cells that are sooner done here than in processes that must be started."""
_EVENTS = 6
"""What happens about an interruption."""
_MORE = 3
"""Times as much about one that takes a unit out, or may find a local copy."""


@dataclass(frozen=True)
class Replications:
    """What to simulate: ``variants`` of the first job are tried, each in every run."""

    world: World
    length_s: float
    replications: int
    seed: int
    variants: tuple[JobRun, ...]


@dataclass(frozen=True)
class Runs:
    """What came out: seconds and counts by their names in ``TimeSpent``, by job, variant and run;
    how many appliances failed in each run, and how long some and all of them were down, s."""

    found: dict[str, Array]
    outages: Array
    some_down_s: Array
    all_down_s: Array


def replicate(asked: Replications, processes: int = 1, progress: Progress | None = None) -> Runs:
    """Make many runs.

    Args:
        processes: how many to use at most.
        progress: is told how many runs of how many are done.
    """
    blocks = list(_blocks(asked))
    ended: dict[int, Runs] = {}
    for number, runs in _done(asked, blocks, min(processes, len(blocks))):
        ended[number] = runs
        if progress is not None:
            progress(sum(blocks[each] for each in ended), asked.replications)
    return _join([ended[number] for number in range(len(blocks))])


def events(world: World, length_s: float) -> float:
    """Return about how many events a run steps through."""
    failures = sum(length_s / job.failures.mean_s for job in world.jobs)
    cycles = sum(length_s / job.interval_s for job in world.jobs)
    stops = length_s / world.planned.every_s if world.planned else 0.0
    sharing = 2 * cycles if len(world.jobs) > 1 else 0.0
    repairs = sum(
        length_s / job.failures.mean_s * (_MORE if job.units or job.local else 0)
        for job in world.jobs
    )
    about = failures + stops * len(world.jobs) + repairs
    return _EVENTS * about + 2 * _outages(world, length_s) + sharing


def _outages(world: World, length_s: float) -> float:
    if world.outages is None:
        return 0.0
    units = sum(kind.count for kind in world.appliances)
    return units * length_s / (world.outages.between_s + world.outages.repair_s)


def _blocks(asked: Replications) -> Iterator[int]:
    """Yield how many runs each block has."""
    world, length_s = asked.world, asked.world.warm_s + asked.length_s
    times = sum(
        length_s / job.failures.mean_s * (_DRAWN if job.classes else 1) for job in world.jobs
    )
    times += 4 * _outages(world, length_s) + 20 * len(world.jobs)
    most = min(_BLOCK, max(1, int(_MOST_TIMES / times)))
    left = asked.replications
    while left > 0:
        yield min(left, most)
        left -= most


def _done(asked: Replications, blocks: Sequence[int], processes: int) -> Iterator[tuple[int, Runs]]:
    small = (
        events(asked.world, asked.length_s) * asked.replications * len(asked.variants) < _CELL_STEPS
    )
    left = dict(enumerate(blocks))
    if processes > 1 and not small:
        with suppress(PlannerError):  # no process can be started: go on here
            for number, runs in _elsewhere(asked, blocks, processes):
                del left[number]
                yield number, runs
    for number, lanes in left.items():
        yield number, block(asked, number, lanes)


def _elsewhere(
    asked: Replications, blocks: Sequence[int], processes: int
) -> Iterator[tuple[int, Runs]]:
    """Yield the blocks that other processes made: all but those that were ended again and again."""
    workers = Processes(processes, partial(_task, asked))
    try:
        tasks = ((number, (number, lanes)) for number, lanes in enumerate(blocks))
        for (number, _), runs in workers.results(tasks):
            if not isinstance(runs, Lost):
                yield number, runs
    finally:
        workers.end()


def _task(asked: Replications, task: tuple[int, int]) -> Runs:
    return block(asked, *task)


def block(asked: Replications, number: int, lanes: int) -> Runs:
    """Return the runs of a block."""
    warm_s = asked.world.warm_s
    end_s = warm_s + asked.length_s
    given = draw(asked.world, end_s, asked.seed, lanes, number)
    tried: list[tuple[JobRun, ...]] = [asked.variants]
    if len(asked.world.jobs) > 1:  # other intervals take other numbers of steps
        tried = [(variant,) for variant in asked.variants]
    each = [Lanes(asked.world, given, end_s, some).run(warm_s) for some in tried]
    found = {name: np.concatenate([runs[name] for runs in each], 1) for name in each[0]}
    return Runs(found, *_down(asked.world, given, warm_s, end_s))


def _down(
    world: World, given: Disturbances, warm_s: float, end_s: float
) -> tuple[Array, Array, Array]:
    """Return how many appliances failed, and how long some and all were down, by lane, from when
    a run counts to its end."""
    edges = np.clip(np.pad(given.changes, ((0, 0), (1, 0))), warm_s, end_s)
    spans = np.diff(np.pad(edges, ((0, 0), (0, 1)), constant_values=end_s), axis=1)
    units = sum(kind.count for kind in world.appliances)
    counts = (given.changes >= warm_s) & np.isfinite(given.changes)
    failed = ((np.diff(given.down, axis=1) > 0) & counts[:, : given.down.shape[1] - 1]).sum(1)
    some = (spans * (given.down > 0)).sum(1)
    return failed.astype(np.float64), some, (spans * (given.down == units)).sum(1)


def _join(blocks: Sequence[Runs]) -> Runs:
    names = blocks[0].found
    return Runs(
        {name: np.concatenate([each.found[name] for each in blocks], 2) for name in names},
        np.concatenate([each.outages for each in blocks]),
        np.concatenate([each.some_down_s for each in blocks]),
        np.concatenate([each.all_down_s for each in blocks]),
    )


def confidence(values: Array, of: int = 1) -> float:
    """Return how far the mean may lie from the truth with 95 % confidence, to either side.

    Args:
        values: independent ones.
        of: how many such statements are to hold together.
    """
    from scipy.special import stdtrit

    count = len(values)
    quantile = float(stdtrit(count - 1, 1.0 - 0.025 / of))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(count)
