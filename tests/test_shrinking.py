"""A job that goes on with fewer replicas: the formula, plans by enumeration and by simulation, what
is refused, plans that were changed."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from planner.inputs import Inputs
from planner.optimizer.goodput import Shrunk, Units
from planner.schema.operation import ShrunkPlan
from planner.schema.plan import Plan
from planner.sizing.goodput import Restarts
from tests.test_repair import asked
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve

DAY_S = 86_400.0

# The formula.


@pytest.mark.parametrize(("domain", "expected"), [(64, 0.0602), (72, 0.0672)])
def test_domains_lost_with_a_thousandth_of_the_gpus_out(domain: int, expected: float) -> None:
    """The NTP paper has an availability of 94 % with domains of 64: one failed GPU loses all of it.

    Independent failures would lose 1 - 0.999^64 = 6.2 %; here a domain that is out does not fail.
    """
    units, out = 500, 0.001
    load = units * domain * out / (1.0 - out)
    how = Restarts(1.0, DAY_S, ((1.0, 60.0),), 60.0)
    job = Units(domain, domain, 1, load / units, how)
    (running,) = Shrunk.of(job, np.array([float(units)]), np.array([float(units)])).running
    assert 1.0 - running == pytest.approx(expected, abs=1e-4)
    assert 1.0 - running == pytest.approx(1.0 - (1.0 - out) ** domain, abs=0.003)


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
    units, whole = -(-job.gpus_used // 8) + repair.spares, job.gpus_used // 16
    load, weight, states = 0.01 * job.gpus_used * 0.8, 1.0, list[tuple[int, float, int]]()
    for out in range(units + 1):  # two systems of those that are left hold a replica
        states.append((out, weight, min(whole, (units - out) // 2)))
        weight *= load * states[-1][2] / whole / (out + 1)
    total = math.fsum(w for _, w, _ in states)
    chain = [(out, w / total, d) for out, w, d in states]
    running = math.fsum(p * d for _, p, d in chain) / whole
    failing = math.fsum(p * d * d for _, p, d in chain) / whole**2 / running
    assert (told(plan).running, told(plan).failing) == pytest.approx((running, failing))
    assert job.mtti_s == pytest.approx(DAY_S / (0.01 * job.gpus_used * failing))
    # A unit that is back lets a replica more run; it finds the job computing, then a failure, or
    # another unit, may be first.
    steps = [
        (p * out, out, was, now) for (_, _, now), (out, p, was) in pairwise(chain) if 0 < was < now
    ]
    often = math.fsum(each for each, *_ in steps)
    met = math.fsum(each * out for each, out, _, _ in steps) / often
    full_s = job.mtti_s * failing
    ran = math.fsum(each * was for each, _, was, _ in steps) / often / whole
    could = math.fsum(each * now for each, *_, now in steps) / often / whole
    before = met / DAY_S + 0.2 * ran / full_s
    computing = math.exp(-job.restart_s * before)
    fails, every_s = ran / full_s, job.interval_s
    planned = computing * captured(before, fails + (met - 1.0) / DAY_S, every_s)
    again = math.exp(could * job.restart_s / full_s)
    stands_s = (again - 1.0) * full_s / could
    planned /= 1.0 + 0.8 * fails * stands_s * planned
    waits_s = (1.0 - captured(before, fails, every_s)) / fails
    met_out = math.fsum(p * out * d for out, p, d in chain) / (running * whole)
    eased = math.fsum(p * out for out, p, _ in chain) - met_out
    late = often * (could - ran) * (1.0 - eased) * computing * waits_s / DAY_S
    stands_s += again * (job.restore_s + job.drain_s)
    left = running - often * could * planned * stands_s / DAY_S - late
    # Restarts after failures are of those that are left, unless the unit is back before they end.
    out_s = job.restart_s / DAY_S
    resized = often * (could - ran) / running / repair.load
    spared = 0.8 * resized * (1.0 - math.exp(-out_s)) / out_s
    left *= math.exp((job.restart_s + job.restore_s) / job.mtti_s * spared / failing)
    assert repair.availability == pytest.approx(left)
