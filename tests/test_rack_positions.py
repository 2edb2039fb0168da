"""Halls with positions of different power and height: by hand, and against enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from planner import api
from planner.errors import InputError, VerificationError
from planner.plan.racks import spread
from planner.schema.plan import LimitReport, Plan
from planner.schema.problem import RackPositions, Site
from planner.verifier import verify
from tests.test_exactness import faults
from tests.world.bills import Bill
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_hardware import Raw


def hall(*positions: Raw, gpu: str = "12 kW", storage: str = "10 kW") -> Bill:
    """Return as many GPUs as a hall holds: a system a rack of 10 RU, up to two stores in one."""
    request = Bill(maximize="gpus")
    request.site |= {"it_power": "200 kW", "racks": list(positions), "rack": {"height": "10 RU"}}
    classes = {"gpu": {"power": gpu}, "storage": {"power": storage}, "network": {"power": "5 kW"}}
    request.site["rack_classes"] = classes
    return request


def group(count: int, power: str | None = None, height: str | None = None) -> Raw:
    given = {"count": count, "power": power, "height": height}
    return {key: value for key, value in given.items() if value is not None}


def solved(request: Bill) -> Plan:
    plan = api.solve_inputs(inputs_of(request.case()), explain=False)
    assert plan.totals is not None
    return plan


def systems(plan: Plan) -> int:
    return sum(line.quantity for line in plan.lines if line.sku == "gpu")


def position_limits(plan: Plan) -> dict[str, LimitReport]:
    return {each.name: each for each in plan.limits if each.name.startswith("rack_positions.")}


@pytest.mark.parametrize(
    ("positions", "storage", "expected"),
    [
        # The stores' rack needs 10 kW: it takes a strong position where the weak ones are too weak.
        ([group(3, "12 kW"), group(2, "5 kW")], "10 kW", 2),
        ([group(3, "12 kW"), group(2, "10 kW")], "10 kW", 3),
        # One store in each rack of 5 kW: both stand on weak positions.
        ([group(3, "12 kW"), group(2, "5 kW")], "5 kW", 3),
        ([group(3, "12 kW"), group(1, "5 kW")], "5 kW", 2),
        # Racks of 10 RU do not stand where 8 RU do.
        ([group(3, "12 kW"), group(5, "12 kW", "8 RU")], "10 kW", 2),
        ([group(3), group(1, "5 kW")], "10 kW", 2),
    ],
)
def test_every_rack_stands_where_it_may(positions: list[Raw], storage: str, expected: int) -> None:
    request = hall(*positions, storage=storage)
    plan = solved(request)
    assert systems(plan) == expected
    assert request.plan().gpus_used == 8 * expected
    assert plan.site.racks_limit == sum(each["count"] for each in positions)


def test_kinds_of_racks_compete_for_the_positions_that_both_need() -> None:
    """Nine low, weak positions help neither: three racks share the three of two other groups."""
    request = hall(group(2, "12 kW", "10 RU"), group(1, "12 kW", "20 RU"), group(9, "5 kW", "8 RU"))
    request.site["rack_classes"]["network"]["height"] = "8 RU"
    plan = solved(request)
    assert systems(plan) == 2
    assert request.plan().gpus_used == 16
    (limit,) = (each for each in position_limits(plan).values() if each.value)
    assert (limit.name, limit.value, limit.limit) == ("rack_positions.0_1", 3, 3)
    assert limit.binding
    assert limit.label == "racks that need positions of 12 kW and 10 RU or 12 kW and 20 RU"


def test_the_verifier_counts_positions_itself() -> None:
    request = hall(group(3, "12 kW"), group(2, "10 kW"))
    plan = solved(request)
    request.site["racks"] = [group(2, "12 kW"), group(3, "10 kW")]
    with pytest.raises(VerificationError, match=r"rack_positions\.0"):
        verify(inputs_of(request.case()), plan)


def with_positions(seed: int) -> Case | None:
    """Return a random case whose racks are of two or three kinds; None where it has no racks."""
    case, random = random_case(seed), Random(seed)
    site = case.problem.site
    if site.rack is None or not isinstance(site.racks, int):
        return None
    classes = (getattr(site.rack_classes, name).power_kw for name in ("gpu", "storage", "network"))
    powers = sorted(power for power in (site.rack.power_kw, *classes) if power)
    groups = []
    for _ in range(random.randint(2, 3)):
        known = [None, *(power * random.choice((1.0, 1.5)) for power in powers)]
        power = random.choice(known) if powers else random.choice((None, random.uniform(10, 80)))
        count = max(1, round(site.racks * random.choice((0.3, 0.5, 0.8))))
        height = random.choice((None, None, site.rack.height_ru, 52.0))
        fields = {"count": count, "power_kw": power, "height_ru": height}
        groups.append(RackPositions.model_construct(**fields))
    changed = site.model_copy(update={"racks": tuple(groups)})
    try:
        Site._racks_have_a_place(changed)
    except ValueError:
        return None
    return replace(case, problem=case.problem.model_copy(update={"site": changed}))


@pytest.mark.exhaustive(keep=6, most=40)
@pytest.mark.parametrize("seed", range(120))
def test_random_halls_agree_with_enumeration(seed: int) -> None:
    case = with_positions(seed)
    if case is None:
        return
    try:
        inputs_of(case)
        found = faults(case)
    except InputError:  # what is demanded fits no position
        return
    assert found == [] or "is demanded but cannot be planned" in found[0]


@pytest.mark.exhaustive(keep=30)
@pytest.mark.parametrize("seed", range(300))
def test_all_stand_where_enumeration_finds_a_way(seed: int) -> None:
    random = Random(seed)
    groups = range(random.randint(1, 3))
    room = [random.randint(0, 3) for _ in groups]
    counts = [random.randint(0, 3) for _ in range(random.randint(1, 3))]
    allowed = [{g for g in groups if random.random() < 0.6} for _ in counts]
    order = random.sample(list(groups), len(groups))
    found = spread(counts, allowed, room, order)
    ways = [
        [
            Counter({g: n for g, n in zip(groups, each, strict=True) if n})
            for each in itertools.product(range(count + 1), repeat=len(groups))
            if sum(each) <= count
        ]
        for count in counts
    ]

    def holds(way: Sequence[Counter[int]]) -> bool:
        inside = all(set(own) <= may for own, may in zip(way, allowed, strict=True))
        return inside and all(sum(own[g] for own in way) <= room[g] for g in groups)

    assert holds(found)
    most = max(sum(own.total() for own in way) for way in itertools.product(*ways) if holds(way))
    assert sum(own.total() for own in found) == most


def test_positions_that_cannot_be_are_caught() -> None:
    request = hall(group(3, "12 kW"), group(2, "5 kW"), storage="5 kW")
    inputs, plan = inputs_of(request.case()), solved(request)
    first = plan.racks[0]

    def refused(**changes: object) -> str:
        place = first.places[0].model_copy(update=changes)
        racks = (first.model_copy(update={"places": (place,)}), *plan.racks[1:])
        with pytest.raises(VerificationError) as caught:
            verify(inputs, plan.model_copy(update={"racks": racks}))
        return str(caught.value)

    assert "group 2 takes no such rack" in refused(group="group 2")
    assert "no position group 1-04" in refused(first=2, hall_first=2)
    assert "places: racks" in refused(count=2)
    assert "hall_first" in refused(hall_first=2)
    assert "no position attic-01" in refused(group="attic")
    bare = tuple(rack.model_copy(update={"places": ()}) for rack in plan.racks)
    with pytest.raises(VerificationError, match="places: racks"):
        verify(inputs, plan.model_copy(update={"racks": bare}))
    second = plan.racks[1].model_copy(
        update={"places": (plan.racks[1].places[0].model_copy(update={"count": 1}),) * 2}
    )
    with pytest.raises(VerificationError, match="taken twice"):
        verify(inputs, plan.model_copy(update={"racks": (first, second)}))
