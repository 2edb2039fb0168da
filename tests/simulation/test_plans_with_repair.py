"""Plans that state how hardware is repaired: the simulation runs them as they stand, and finds the
availability that they state."""

from __future__ import annotations

from typing import Any

import pytest

from planner.analysis.simulation import SimulationOptions, study
from planner.schema.operation import Repair
from planner.schema.plan import Plan
from planner.schema.telemetry import RepairSeen, Simulation
from tests.test_repair import asked
from tests.world.random_cases import inputs_of
from tests.world.random_repair import repaired_case
from tests.world.requests import Request
from tests.world.solved import solve

DAY_S = 86_400.0
REPAIR: dict[str, Any] = {"share": 0.8, "time": "48 h", "swap": "5 min", "spares": 1}


def planned(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """24 GPUs in use, failing often; the third system of 8 is decided to stand by, or not."""
    request = asked(REPAIR, maximize="useful_gpus")
    request.job["gpus"] = {"min": 80, "max": 80}
    return planned(request)


def simulated(plan: Plan, **options: object) -> Simulation:
    plain = {"replications": 100, "length_s": 200 * DAY_S, "intervals": False}
    return study(plan, SimulationOptions(**(plain | options)))  # type: ignore[arg-type]


def seen(found: Simulation) -> RepairSeen:
    repair = found.jobs[0].repair
    assert repair is not None
    return repair


def stated(plan: Plan) -> Repair:
    repair = plan.jobs[0].repair
    assert repair is not None
    return repair


def test_the_plan_is_what_is_simulated(plan: Plan) -> None:
    found = simulated(plan)
    job, repair = found.jobs[0], seen(found)
    assert job.predicted == pytest.approx(plan.jobs[0].goodput, rel=1e-9)
    for name, share in plan.jobs[0].losses.items():
        assert getattr(job.predicted_loss, name) == pytest.approx(share), name
    assert job.goodput.low - 0.003 <= job.predicted <= job.goodput.high + 0.003
    assert job.loss.waiting == pytest.approx(1.0 - stated(plan).availability, rel=0.1)
    assert (repair.in_rack, repair.shrinks) == (False, False)
    assert repair.expected_out == pytest.approx(stated(plan).load)


def test_a_job_that_shrinks_keeps_more_of_its_time(plan: Plan) -> None:
    request = asked(REPAIR | {"when_short": "shrink"}, maximize="useful_gpus")
    request.job |= {"gpus": {"min": 80, "max": 80}, "parallelism": {"tensor": 8, "pipeline": 1}}
    waits, shrinks = simulated(plan), simulated(planned(request))
    assert shrinks.jobs[0].goodput.low > waits.jobs[0].goodput.high
    assert shrinks.jobs[0].loss.shrunk > 0.01
    assert seen(shrinks).shrinks


@pytest.mark.exhaustive(keep=3, most=12)
@pytest.mark.parametrize("seed", range(40))
def test_random_plans_keep_what_they_state(seed: int) -> None:
    case = repaired_case(seed, wide=False)
    plan = solve(inputs_of(case), explain=False)
    if not plan.jobs or plan.jobs[0].repair is None:
        return
    found = simulated(plan, replications=200, length_s=300 * DAY_S).jobs[0]
    assert found.predicted == pytest.approx(plan.jobs[0].goodput, rel=1e-6)
    room = 2.0 * (found.goodput.high - found.goodput.mean) + 1e-3
    expected = found.predicted + plan.jobs[0].goodput_understated
    assert found.goodput.mean > expected - room
    assert stated(plan).in_rack or found.goodput.mean < expected + room
