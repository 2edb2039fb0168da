"""Training data is read by all systems in use, a restore at times by those of one replica alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner import api
from planner.errors import InputError
from planner.report.views.plan import whole
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
from tests.world.requests import Request, gpu_system

# By hand: each system has 8 GPUs, which are a replica, and reads at most 4 GB/s, as a box gives.


def hall(readers: str = "one_replica", port: str = "4 GB/s", **restore: str) -> Request:
    """Return a hall of 200 kW whose GPUs ask for 0.2 GB/s each: 1.6 GB/s of a system's 4."""
    request = Request(maximize="gpus")
    request.site["it_power"] = "200 kW"
    request.items[0]["client"] = {"read": figure(port)}
    request.job |= {
        "parallelism": {"tensor": 8, "pipeline": 1},
        "restore": {"readers": readers, **restore},
        "ingest_per_gpu": "0.2 GB/s",
    }
    return request


def solved(request: Request) -> tuple[api.Inputs, Plan]:
    inputs = inputs_of(request.case())
    return inputs, api.solve_inputs(inputs, explain=False)


def ingest(plan: Plan) -> LimitReport:
    return next(limit for limit in plan.limits if limit.name == "ingest")


@pytest.mark.parametrize("readers", ["one_replica", "all"])
def test_data_is_read_by_all_systems_in_use(readers: str) -> None:
    """160 + 35 kW are 16 systems and the 7 boxes that give their 25.6 GB/s; a seventeenth makes it
    205 kW. What the one system of a replica reads, 4 GB/s, would do for 20 GPUs alone."""
    _, plan = solved(hall(readers))
    job = plan.jobs[0]
    assert job.gpus_used == 128
    assert ingest(plan).value == pytest.approx(25.6)
    assert ingest(plan).limit == pytest.approx(28.0)
    assert job.delivered_read_gb_per_s == pytest.approx(28.0 if readers == "all" else 4.0)
    assert job.read_limited_by == ("appliances" if readers == "all" else "clients")
    assert job.client_data_limit_gb_per_s == (None if readers == "all" else pytest.approx(64.0))
    told = " ".join(whole(plan).split())
    assert ("client read limit 64 GB/s for training data" in told) is (readers != "all")


def test_systems_of_two_types_read_what_each_takes_in(tmp_path: Path) -> None:
    """56 GPUs ask for 5.6 GB/s, and three systems of 4 GB/s and two of 1 GB/s take in 14; a replica
    on one of the large systems reads 1 GB/s, which would do for 10 GPUs."""
    request = hall()
    request.items.append(gpu_system("large", 16, "10 kW"))
    request.items[-1]["client"] = {"read": figure("1 GB/s")}
    request.prices["large"] = request.prices["gpu"]
    request.job |= {"gpus": {"max_types": 2}, "ingest_per_gpu": "0.1 GB/s"}
    request.more["items"] = {"gpu": {"max": 3}, "large": {"max": 2}}
    plan = solved(request)[1]
    job = plan.jobs[0]
    assert (job.gpus_used, job.client_read_limit_gb_per_s) == (56, pytest.approx(1.0))
    assert job.client_data_limit_gb_per_s == pytest.approx(14.0)


def test_size_asks_all_systems_for_data() -> None:
    """At 128 GPUs data takes 25.6 GB/s: 7 boxes, read by 16 systems; at 1.5 GB/s they cannot."""
    report = size_report(inputs_of(hall().case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert [each.units for each in row.appliances] == [7]
    assert row.running is not None
    assert row.running.restore_s == pytest.approx(25.0)
    assert not [note for note in report.notes if "can move" in note]
    report = size_report(inputs_of(hall(port="1.5 GB/s").case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert row.appliances[0].reason == "the GPU systems read at most 24 GB/s"
    assert any("reading training data at 26 GB/s, more than the 24 GB/s" in n for n in report.notes)


# Against enumeration.


def together(seed: int) -> Case:
    case = with_levels(seed, with_levers(seed, reading(seed)))
    case = repaired_case(seed, case) if seed % 2 else shrinking(case, seed)
    return ratio_case(seed, NAMES[seed // 4 % 2], case) if seed % 4 == 0 else case


FAMILIES: dict[str, Callable[[int], Case]] = {
    "plain": reading,
    "wide": lambda seed: reading(seed, random_case(seed, wide=True)),
    "repair": lambda seed: repaired_case(seed, reading(seed)),
    "shrink": lambda seed: shrinking(reading(seed), seed),
    "ways": lambda seed: with_levers(seed, reading(seed)),
    "local": lambda seed: with_levels(seed, reading(seed)),
    "ratio": lambda seed: ratio_case(seed, NAMES[seed % 2], reading(seed)),
    "together": together,
}


def told(case: Case) -> tuple[list[str], Plan | None]:
    """Return what is wrong with the plan of a case, by exhaustive enumeration, and the plan."""
    try:
        plan = api.solve_inputs(inputs_of(case), explain=False)
    except InputError:  # what is demanded cannot be planned
        return [], None
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    return disagreements(case, plan, truth), plan


@pytest.mark.exhaustive(keep=2, most=6)
@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.parametrize("family", FAMILIES)
def test_the_plan_is_the_enumerated_best(family: str, chunk: int) -> None:
    first, wrong, more = 43_000_000 + 20 * chunk, {}, 0
    for seed in range(first, first + 20):
        said, plan = told(FAMILIES[family](seed))
        wrong |= {seed: said} if said else {}
        more += plan is not None and any(
            limit.name == "ingest" and limit.value > plan.jobs[0].delivered_read_gb_per_s
            for limit in plan.limits
        )
    assert not wrong
    assert more > 0, "no plan reads more data than one replica's systems could"
