"""The recorder and the lanes, which share no code, agree on random worlds; so do lanes that skip
undisturbed cycles and those that step through every event."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from planner.simulation.history import NAMES, TIMES, History
from planner.simulation.lanes import Lanes
from planner.simulation.operation import (
    Constant,
    Exponential,
    FailureClass,
    LocalCopies,
    LogNormal,
    RepairUnits,
    Weibull,
)
from planner.simulation.record import record
from planner.simulation.world import Appliances, JobRun, Outages, Planned, World, draw

MEAN_S = 3000.0


def random_world(seed: int, jobs: int, length_s: float) -> World:
    luck = random.Random(seed)
    kinds = tuple(
        Appliances(luck.randint(1, 4), luck.uniform(1, 10), luck.uniform(1, 10))
        for _ in range(luck.randint(1, 2))
    )
    rate = sum(kind.count * kind.write_gb_per_s for kind in kinds)
    planned = Planned(length_s / luck.uniform(3, 20), length_s / luck.uniform(40, 200))
    outages = Outages(length_s / luck.uniform(1, 10), length_s / luck.uniform(5, 200))
    return World(
        tuple(random_job(luck, number, rate) for number in range(jobs)),
        kinds,
        planned if luck.random() < 0.5 else None,
        outages if luck.random() < 0.6 else None,
    )


def random_job(luck: random.Random, number: int, rate: float) -> JobRun:
    mean = MEAN_S * luck.uniform(0.5, 2.0)
    interval = mean * luck.uniform(0.1, 0.6)
    write = luck.choice([float("inf"), rate * luck.uniform(0.3, 0.9)])
    sync = luck.random() < 0.3
    size = rate * interval * luck.choice([0.02, 0.3, 0.9, 1.5])
    size = min(size, 0.5 * interval * min(rate, write)) if sync else size
    stall = size / min(rate, write) if sync else interval * luck.choice([0.0, 0.01, 0.2])
    return JobRun(
        name=f"job {number}",
        interval_s=interval,
        stall_s=stall,
        checkpoint_gb=size,
        restore_gb=size * luck.choice([1, 2]),
        restart_s=mean * luck.choice([0.0, 0.02, 0.3]),
        failures=luck.choice([Exponential(mean), Weibull(mean, 0.7), Weibull(mean, 1.5)]),
        drain_slowdown=0.0 if sync else luck.choice([0.0, 0.1, 0.5]),
        sync=sync,
        client_write_gb_per_s=write,
        client_read_gb_per_s=luck.choice([float("inf"), rate * 0.3]),
        **random_operation(luck, interval - stall, mean, sync),
    )


def random_operation(
    luck: random.Random, compute: float, mean: float, sync: bool
) -> dict[str, Any]:
    """Return kinds of failures, units out for repair and local copies, or none of them."""
    if luck.random() < 0.3:
        return {}
    repair = luck.choice([Constant(mean), Exponential(2 * mean), LogNormal(3 * mean, 1.2)])
    kinds = (FailureClass(0.5, local=True), FailureClass(0.3, luck.random(), repair, True),
             FailureClass(0.2, 1.0, Exponential(0.5 * mean)))  # fmt: skip
    swap = luck.choice([0.0, 0.01 * mean])
    units = luck.choice([
        RepairUnits.waiting(luck.randint(0, 3), swap),
        RepairUnits.waiting(luck.randint(0, 2), swap, racks=luck.randint(2, 9)),
        RepairUnits.shrinking((8, 8, 7, 6, 4, 2, 0), swap),
    ])  # fmt: skip
    local = LocalCopies(
        compute * luck.choice([0.0, 0.1, 0.8]), luck.choice([1, 2, 7]),
        mean * luck.choice([0.0, 0.01, 0.2]), luck.random() < 0.5,
    )  # fmt: skip
    return {
        "classes": kinds,
        "units": units,
        "local": luck.choice([None, local]) if not sync else None,
    }


@pytest.mark.exhaustive(keep=24, most=100)
@pytest.mark.parametrize("seed", range(400))
def test_recorder_and_lanes_agree(seed: int) -> None:
    jobs, length_s = (1, 1, 2, 3)[seed % 4], 20 * MEAN_S
    world = random_world(seed, jobs, length_s)
    given = draw(world, length_s, seed, lanes=2)
    skipped = Lanes(world, given, length_s).run()
    stepped = Lanes(world, given, length_s, skip=False).run()
    for name in NAMES:
        np.testing.assert_allclose(skipped[name], stepped[name], rtol=0, atol=1e-9 * length_s)
    total = sum(skipped[name] for name in TIMES)
    np.testing.assert_allclose(total, length_s, rtol=1e-12)
    for lane in range(2):
        history, budgets = record(world, given, length_s, lane)
        for number, budget in enumerate(budgets):
            for name in NAMES:
                off = abs(getattr(budget, name) - skipped[name][number, 0, lane])
                assert off <= (1e-9 * length_s if name in TIMES else 0.0), (lane, number, name)
        assert_sound(history, world)


def assert_sound(history: History, world: World) -> None:
    """Stays follow one another; transfers have no gaps, and arrive whole or not."""
    for number in range(len(world.jobs)):
        stays = [stay for stay in history.stays if stay.job == number]
        assert (stays[0].start_s, stays[-1].end_s) == (0.0, history.length_s)
        assert all(one.end_s == other.start_s for one, other in pairwise(stays))
    for moved in history.transfers:
        arrived = sum((end - start) * rate for start, end, rate in moved.stretches)
        assert all(one[1] == other[0] for one, other in pairwise(moved.stretches))
        if moved.complete:
            assert arrived == pytest.approx(moved.asked_gb, rel=1e-6)
        else:
            assert arrived <= moved.asked_gb * (1 + 1e-6)
    for each in (history.transfers, history.stays):
        assert [one.start_s for one in each] == sorted(one.start_s for one in each)
    times = [each.at_s for each in history.interruptions]
    assert times == sorted(times)


def test_the_same_seed_gives_the_same_run() -> None:
    world, length_s = random_world(2, 2, 10 * MEAN_S), 10 * MEAN_S
    first, again, other = (
        record(world, draw(world, length_s, seed), length_s)[0] for seed in (5, 5, 6)
    )
    assert first == again != other


def test_what_is_recorded_up_to_some_time_does_not_depend_on_what_follows() -> None:
    world = random_world(2, 2, 10 * MEAN_S)
    given = draw(world, 10 * MEAN_S, 1)
    whole, part = (record(world, given, length)[0] for length in (10 * MEAN_S, 4 * MEAN_S))
    before = [stay for stay in whole.stays if stay.end_s < 4 * MEAN_S]
    assert before == [stay for stay in part.stays if stay.end_s < 4 * MEAN_S]
    assert before
