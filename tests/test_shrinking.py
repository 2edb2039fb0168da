"""A job that goes on with fewer replicas: the formula, plans by enumeration and by simulation, what
is refused, plans that were changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from planner.inputs import Inputs
from planner.schema.operation import ShrunkPlan
from planner.schema.plan import Plan
from planner.sizing.availability import Restarts, Shrinking, shrunk
from planner.verifier.physics import States, replicas_running
from tests.test_repair import asked
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve

DAY_S = 86_400.0

# The formula.


def jobs(count: int) -> Iterator[tuple[Shrinking, float]]:
    """Yield random jobs, each with a load: replicas of parts of a unit, and of several."""
    luck = Random(7)
    while count:
        size, each, units = (
            luck.choice((1, 2, 3, 8, 64)),
            luck.choice((1, 8, 72)),
            luck.randint(1, 60),
        )
        most = each * units // size
        if most:
            replicas = max(1, most - luck.randint(0, 3))
            least = luck.randint(1, max(1, replicas // 2))
            yield Shrinking(units, each, size, replicas, least), luck.uniform(0.01, 10.0)
            count -= 1


HOW = Restarts(0.8, 3600.0, ((0.7, 60.0), (0.3, 400.0)), 60.0, 9.0)
"""Repairs of an hour after four of five failures; three of ten need a far restart."""


def test_sizing_and_enumeration_agree() -> None:
    for job, load in jobs(200):
        found = shrunk(job.running, load)
        limits = job.least, job.replicas
        running = replicas_running(job.units, job.unit_gpus / job.replica_gpus, limits)
        chain = States.of(running, load, HOW.repair_s)
        assert chain.running == pytest.approx(1.0 - found.idle, abs=1e-12)
        assert chain.seen == pytest.approx(found.failing, abs=1e-12)
        assert chain.mean(lambda out, _: out) == pytest.approx(found.units_out, rel=1e-9)


@pytest.mark.parametrize(("domain", "expected"), [(64, 0.0602), (72, 0.0672)])
def test_domains_lost_with_a_thousandth_of_the_gpus_out(domain: int, expected: float) -> None:
    """The NTP paper has an availability of 94 % with domains of 64: one failed GPU loses all of it.

    Independent failures would lose 1 - 0.999^64 = 6.2 %; here a domain that is out does not fail.
    """
    units, out = 500, 0.001
    load = units * domain * out / (1.0 - out)
    found = shrunk(Shrinking(units, domain, domain, units).running, load)
    assert found.idle == pytest.approx(expected, abs=1e-4)
    assert found.idle == pytest.approx(1.0 - (1.0 - out) ** domain, abs=0.003)


# Plans.


def request(pipeline: int = 4, **repair: Any) -> Request:
    """Systems of 8 GPUs that fail every 100 days each, mended in a day; replicas over two."""
    said = {"share": 0.8, "time": "24 h", "when_short": "shrink"}
    found = asked(said | repair, maximize="useful_gpus")
    found.job["parallelism"] = {"tensor": 4, "pipeline": pipeline}
    return found


@cache
def by_hand() -> tuple[Inputs, Plan]:
    inputs = inputs_of(request().case())
    return inputs, solve(inputs, explain=False)


def captured(before: float, rate: float, interval_s: float) -> float:
    """How likely an interval ends before anything of a rate comes, at a moment in it that has the
    density exp(-before * age)."""
    ends = math.exp(-rate * interval_s) - math.exp(-before * interval_s)
    return before / (before - rate) * ends / -math.expm1(-before * interval_s)


def told(plan: Plan) -> ShrunkPlan:
    repair = plan.jobs[0].repair
    assert repair is not None and repair.shrunk is not None
    return repair.shrunk


def test_the_figures_by_hand() -> None:
    plan = by_hand()[1]
    job, repair = plan.jobs[0], plan.jobs[0].repair
    assert repair is not None
    units = -(-job.gpus_used // 8) + repair.spares
    load = 0.01 * job.gpus_used * 0.8
    found = shrunk(Shrinking(units, 8, 16, job.gpus_used // 16).running, load)
    restart_s = job.restart_s + job.restore_s
    assert told(plan).restart_s == pytest.approx(restart_s + job.drain_s)
    assert job.mtti_s == pytest.approx(DAY_S / (0.01 * job.gpus_used * found.failing))
    # A unit that is back finds the job computing; then a failure, or another unit, may be first.
    full_s = job.mtti_s * found.failing
    ran, could = (found.grown - found.late) / found.restarts, found.grown / found.restarts
    before = found.met / DAY_S + 0.2 * ran / full_s
    computing = math.exp(-job.restart_s * before)
    fails, every_s = ran / full_s, job.interval_s
    first = fails + (found.met - 1.0) / DAY_S
    planned = computing * captured(before, first, every_s)
    again = math.exp(could * job.restart_s / full_s)
    stands_s = (again - 1.0) * full_s / could
    planned /= 1.0 + 0.8 * fails * stands_s * planned
    assert told(plan).restarts_per_year == pytest.approx(365.0 * found.restarts * planned)
    # Two systems hold a replica: every unit that is back and brings one brings one of all.
    assert found.late == pytest.approx(found.restarts * 16 / job.gpus_used)
    waits_s = (1.0 - captured(before, fails, every_s)) / fails
    late = found.late * (1.0 - found.eased) * computing * waits_s / DAY_S
    assert told(plan).late == pytest.approx(late)
    stands_s += again * (job.restore_s + job.drain_s)
    left = 1.0 - found.idle - found.grown * planned * stands_s / DAY_S - late
    # Restarts after failures are of those that are left, unless the unit is back before they end.
    out = job.restart_s / DAY_S
    resized = found.late / (1.0 - found.idle) / repair.load
    spared = 0.8 * resized * (1.0 - math.exp(-out)) / out
    left *= math.exp(restart_s / job.mtti_s * spared / found.failing)
    assert repair.availability == pytest.approx(left)
