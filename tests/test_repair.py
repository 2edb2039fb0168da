"""Repair and spares, and jobs that go on with fewer replicas: plans by hand, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from planner.schema.operation import Repair
from planner.schema.plan import Plan
from planner.sizing.availability import Restarts
from planner.sizing.goodput import Shrunk, Units
from planner.verifier import faults
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve
from tests.world.tampering import put

RATE = 0.01
"""Failures per GPU and day of the requests by hand."""


def asked(repair: dict[str, Any], **objective: str) -> Request:
    request = Request(**objective)
    request.site["it_power"] = "200 kW"
    request.job["repair"] = repair
    return request


def planned(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


def repair_of(plan: Plan) -> Repair:
    found = plan.jobs[0].repair
    assert found is not None
    return found


def poisson(count: int, mean: float) -> float:
    return math.exp(-mean) * mean**count / math.factorial(count)


def test_spares_and_waiting_are_those_by_hand() -> None:
    """Systems of 8 that fail 0.08 times a day, a day of repair: every split of 19 systems tried."""
    plan = planned(asked({"share": 1.0, "time": "24 h"}, maximize="useful_gpus"))
    assert plan.status == "optimal"
    (systems,) = (line.quantity for line in plan.lines if line.sku == "gpu")
    tried = {}
    for used in range(1, systems + 1):
        load, spares = RATE * 8 * used, systems - used
        most = sum(poisson(out, load) for out in range(spares + 2))
        tried[used] = 8 * used * (1.0 - poisson(spares + 1, load) / most)
    repair, job = repair_of(plan), plan.jobs[0]
    used = job.systems_used
    load = RATE * 8 * used
    assert (repair.spares, repair.unit, repair.decided) == (systems - used, "system", True)
    assert 0 < repair.spares < 6
    assert repair.load == pytest.approx(load)
    assert repair.availability == pytest.approx(tried[used] / (8 * used))
    # Goodput hardly depends on the GPUs in use here, so these decide.
    assert tried[used] == pytest.approx(max(tried.values()), rel=0.01)
    assert job.goodput < repair.availability
    assert sum(job.losses.values()) == pytest.approx(1.0 - job.goodput)


def test_a_swap_longer_than_the_time_between_failures_is_no_plan() -> None:
    """80 GPUs fail every 30 h; the formulas hold for swaps of up to 1.2 times that."""
    request = asked({"share": 0.5, "time": "1 h", "swap": "90 h"}, maximize="useful_gpus")
    request.job["gpus"] = {"min": 80}
    assert planned(request).status == "infeasible"
    request.job["repair"]["swap"] = "2 h"
    assert planned(request).status == "optimal"


def trays(tensor: int, pipeline: int, per_system: int = 16) -> Request:
    """Systems of 18 GPUs in trays of 2, of which replicas take so many."""
    request = asked({"share": 1.0, "time": "24 h", "unit": "tray"}, maximize="useful_gpus")
    request.items[0]["provides"]["gpus"] = figure(18)
    request.items[0]["spare_unit"] = {"tray": figure(2)}
    request.job["parallelism"] = {"tensor": tensor, "pipeline": pipeline}
    request.job["gpus"] = {"per_system": per_system}
    return request


def test_spare_trays_stay_in_racks_whose_tensor_groups_span_trays() -> None:
    plan = planned(trays(4, 4))
    repair, job = repair_of(plan), plan.jobs[0]
    assert (repair.unit, repair.unit_gpus, repair.in_rack) == ("tray", 2, True)
    assert repair.spares == job.systems_used  # 16 of 18 GPUs in use leave a tray in each
    load = RATE * 16
    short = poisson(2, load) / sum(poisson(out, load) for out in range(3))
    odds = job.systems_used * short / (1.0 - short)
    assert repair.availability == pytest.approx(1.0 / (1.0 + odds))


@pytest.mark.parametrize(
    ("hours", "used"), [(24, 16), (240, 12), (2400, 4)], ids=["a day", "ten days", "a hundred days"]
)
def test_how_many_gpus_of_a_system_are_used_is_decided(hours: int, used: int) -> None:
    """As many as are best of the numbers that could be given: the longer repairs, the fewer."""
    request = trays(4, 6)
    request.job["repair"]["time"] = f"{hours} h"
    of_each = {}
    for most in (16, 12, 8, 4):
        request.job["gpus"] = {"per_system": most}
        plan = planned(request)
        of_each[most] = plan.objective.best or 0.0
    request.job["gpus"] = {}
    plan = planned(request)
    assert plan.jobs[0].usable_gpus_by_type == {"gpu": used}
    assert plan.objective.best == pytest.approx(max(of_each.values()), rel=1e-6)
    assert of_each[used] == max(of_each.values())


@pytest.mark.parametrize("used", [0, 6, 19])
def test_other_gpus_of_a_system_than_it_has_are_refused(used: int) -> None:
    request = trays(4, 6)
    request.job["gpus"] = {}
    inputs = inputs_of(request.case())
    wrong = put(planned(request), ("jobs", 0, "per_system_gpus"), used)
    assert "jobs.per_system_gpus" in "\n".join(faults(inputs, wrong))


# A job that goes on with fewer replicas.


DAY_S = 86_400.0


def test_a_job_of_its_fewest_replicas_may_run() -> None:
    request = asked({"share": 1.0, "time": "24 h", "when_short": "shrink"}, maximize="useful_gpus")
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1, "min_replicas": 4}
    request.job["gpus"] = {"max": 32, "whole": "replicas"}
    assert planned(request).jobs[0].gpus_used == 32


@pytest.mark.parametrize(("domain", "expected"), [(64, 0.0602), (72, 0.0672)])
def test_domains_lost_with_a_thousandth_of_the_gpus_out(domain: int, expected: float) -> None:
    """The NTP paper has an availability of 94 % with domains of 64: one failed GPU loses all of it.

    Independent failures would lose 1 - 0.999^64 = 6.2 %; here a domain that is out does not fail.
    """
    units, out = 500, 0.001
    load = units * domain * out / (1.0 - out)
    how = Restarts(1.0, DAY_S, ((1.0, 60.0),), 60.0)
    job = Units(domain, domain, 1, load / units, how)
    count = np.array([float(units)])
    (running,) = Shrunk.average_states(job, count, count).running
    assert 1.0 - running == pytest.approx(expected, abs=1e-4)
    assert 1.0 - running == pytest.approx(1.0 - (1.0 - out) ** domain, abs=0.003)
