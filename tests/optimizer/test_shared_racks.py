"""Racks that network devices share, where they are scarce: by hand and against enumeration."""

from __future__ import annotations

import copy
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.schema.plan import Plan
from planner.sizing.placement import Box, Space, rack_use
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


# How items use racks, by hand and against a placement that is tried out.


def device(rack_units: float, it_power_kw: float, weight_kg: float | None = None) -> Box:
    return Box("device", rack_units, it_power_kw, weight_kg)


halves = st.integers(1, 60).map(lambda n: n / 2)
devices = st.tuples(st.builds(device, halves, halves, halves), st.integers(1, 6))
sizes = st.integers(20, 60)


@given(st.lists(devices, min_size=1, max_size=4), sizes, sizes, sizes)
def test_racks_hold_what_they_are_said_to_hold(
    parts: list[tuple[Box, int]], height_ru: int, power_kw: int, weight_kg: int
) -> None:
    limits = (height_ru, power_kw, weight_kg)
    use = rack_use(parts, Space(*limits))
    sides = [(box.rack_units, box.it_power_kw, box.weight_kg or 0.0) for box, _ in parts]
    if use is None:
        assert any(x > limit for side in sides for x, limit in zip(side, limits, strict=True))
        return
    counts = [count for _, count in parts]
    whole = [sum(s[n] * count for s, count in zip(sides, counts, strict=True)) for n in range(3)]
    if use.racks_each == 1:
        pairs = list(zip(whole, limits, strict=True))
        assert all(use.per_rack * x <= limit for x, limit in pairs)
        assert any((use.per_rack + 1) * x > limit for x, limit in pairs)
    else:
        assert any(x > limit for x, limit in zip(whole, limits, strict=True))
        assert all(use.racks_each * limit >= x for x, limit in zip(whole, limits, strict=True))
        assert use.racks_each <= sum(counts)
