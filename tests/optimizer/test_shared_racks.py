"""Racks that network devices share, where they are scarce: by hand and against enumeration."""

from __future__ import annotations

import copy
from random import Random

import pytest

from planner.errors import PlannerError
from planner.schema.plan import Plan
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.random_cases import Case, inputs_of, random_case, read
from tests.world.random_hardware import figure
from tests.world.requests import Bill, companion
from tests.world.solved import solve

SEEDS = (7016, 7039, 7056, 7062, 7078, 7123)


def in_shared_racks(plan: Plan) -> int:
    groups = (g for g in plan.racks if g.rack_class == "network" and not g.product)
    return sum(group.count for group in groups)


def of_three_sizes() -> Bill:
    """Return the request for most GPUs beside two devices of 4.4 RU, three of 3.3 and one of 1.2
    for each system, in racks of 13.2 RU.

    Six systems' devices are worth 25.9 of 26.4 RU in two racks, and yet they take three.
    """
    request = Bill(maximize="gpus")
    request.site |= {"it_power": "100 kW", "rack": {"height": "200 RU"}, "racks": 2 + 2}
    request.site["rack_classes"] = {"network": {"height": "13.2 RU"}}
    for name, height in (("large", 4.4), ("middle", 3.3), ("small", 1.2)):
        item = companion(name, "management", "0.1 kW")
        item["consumes"]["rack_units"] = figure(f"{height} RU")
        request.add(item, "10")
    request.more["extras"] = {"large": {"count": 2}, "middle": {"count": 3}}
    request.more["extras"]["small"] = {"per": "gpu_system"}
    return request


@pytest.mark.parametrize(("racks", "gpus"), [(4, 5 * 8), (5, 8 * 8)])
def test_no_plan_in_fewer_racks_than_its_devices_take(racks: int, gpus: int) -> None:
    request = of_three_sizes()
    request.site["racks"] = racks
    plan = solve(inputs_of(request.case()), explain=False)
    assert (plan.status, plan.objective.value) == ("optimal", gpus)
    assert plan.objective.bound == pytest.approx(gpus)
    assert in_shared_racks(plan) == racks - 2
    assert request.plan().gpus_used == gpus


def scarce(seed: int) -> Case | None:
    """Return a random case whose network devices share racks, a few to each, with few racks.

    None where the case of this seed has none.
    """
    random, case = Random(seed), random_case(seed)
    documents = copy.deepcopy(dict(case.documents))
    problem = documents["problem"]
    site = problem["site"]
    if "rack" not in site or not {"network", "extras"} & {*problem}:
        return None
    height = random.choice((4, 5, 7, 9, 13, 42))
    own = {"height": f"{height} RU", "power": f"{random.uniform(3.2, 12):.3f} kW"}
    site["rack_classes"] = {**site.get("rack_classes", {}), "network": own}
    site.pop("racks", None)
    try:
        plan = solve(inputs_of(read(documents)), explain=False)
    except PlannerError:  # a device may not fit
        return None
    if plan.totals is None or plan.totals.racks is None or not in_shared_racks(plan):
        return None
    site["racks"] = max(1, plan.totals.racks - random.choice((0, 1, 1, 2, 3)))
    return read(documents)


@pytest.mark.parametrize("seed", SEEDS)
def test_scarce_racks_against_enumeration(seed: int) -> None:
    case = scarce(seed)
    assert case is not None
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    plan = solve(inputs_of(case), explain=False)
    assert not disagreements(case, plan, truth)
    assert all(group.devices for group in plan.racks)
