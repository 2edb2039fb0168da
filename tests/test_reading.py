"""Training data is read by all systems in use, as a restore is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.plan import LimitReport, Plan
from planner.size import size_report
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.test_local_level import with_levels
from tests.test_ratio_objective import NAMES, ratio_case
from tests.test_ways import with_levers
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_hardware import figure
from tests.world.random_reading import reading
from tests.world.random_repair import repaired_case, shrinking
from tests.world.requests import Request
from tests.world.solved import solve

# By hand: each system has 8 GPUs, which are a replica, and reads at most 4 GB/s, as a box gives.


def hall(port: str = "4 GB/s") -> Request:
    """Return a hall of 200 kW whose GPUs ask for 0.2 GB/s each: 1.6 GB/s of a system's 4."""
    request = Request(maximize="gpus")
    request.site["it_power"] = "200 kW"
    request.items[0]["client"] = {"read": figure(port)}
    request.job |= {
        "parallelism": {"tensor": 8, "pipeline": 1},
        "ingest_per_gpu": "0.2 GB/s",
    }
    return request


def solved(request: Request) -> tuple[Inputs, Plan]:
    inputs = inputs_of(request.case())
    return inputs, solve(inputs, explain=False)


def ingest(plan: Plan) -> LimitReport:
    return next(limit for limit in plan.limits if limit.name == "ingest")


def test_data_is_read_by_all_systems_in_use() -> None:
    """160 + 35 kW are 16 systems and the 7 boxes that give their 25.6 GB/s; a seventeenth makes it
    205 kW."""
    _, plan = solved(hall())
    job = plan.jobs[0]
    assert job.gpus_used == 128
    assert ingest(plan).value == pytest.approx(25.6)
    assert ingest(plan).limit == pytest.approx(28.0)
    assert job.delivered_read_gb_per_s == pytest.approx(28.0)
    assert job.read_limited_by == "appliances"


def test_size_asks_all_systems_for_data() -> None:
    """At 128 GPUs data takes 25.6 GB/s: 7 boxes, read by 16 systems; at 1.5 GB/s they cannot."""
    report = size_report(inputs_of(hall().case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert [each.units for each in row.appliances] == [7]
    assert not [note for note in report.notes if "can move" in note]
    report = size_report(inputs_of(hall(port="1.5 GB/s").case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert row.appliances[0].reason == "the GPU systems read at most 24 GB/s"
    assert any("reading 26 GB/s, more than the 24 GB/s" in n for n in report.notes)


# Against enumeration.


def together(seed: int) -> Case:
    case = with_levels(seed, with_levers(seed, reading(seed)))
    case = repaired_case(seed, case) if seed % 2 else shrinking(case, seed)
    return ratio_case(seed, NAMES[seed // 4 % 2], case) if seed % 4 == 0 else case


FAMILIES: dict[str, Callable[[int], Case]] = {
    "plain": reading,
    "wide": lambda seed: reading(seed, random_case(seed, wide=True)),
    "together": together,
}


def wrong_in(case: Case) -> list[str]:
    """Disagreements of the plan of a case with exhaustive enumeration."""
    try:
        plan = solve(inputs_of(case), explain=False)
    except InputError:  # what is demanded cannot be planned
        return []
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    return disagreements(case, plan, truth)


@pytest.mark.exhaustive(keep=2, most=6)
@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.parametrize("family", FAMILIES)
def test_the_plan_is_the_enumerated_best(family: str, chunk: int) -> None:
    first = 43_000_000 + 20 * chunk
    found = {seed: wrong_in(FAMILIES[family](seed)) for seed in range(first, first + 20)}
    assert not {seed: wrong for seed, wrong in found.items() if wrong}
