"""What storage has to do: data that is read, wear of flash, checkpoints that drives take off it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from planner import shipped
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.operation import LocalPlan
from planner.schema.plan import LimitReport, Plan
from planner.size_report import size_report
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve
from tests.world.solved import solved as solved_once

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


def test_size_asks_all_systems_for_data() -> None:
    """At 128 GPUs data takes 25.6 GB/s: 7 boxes, read by 16 systems; at 1.5 GB/s they cannot."""
    report = size_report(inputs_of(hall().case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert [each.units for each in row.appliances] == [7]
    assert not [note for note in report.notes if "can move" in note]
    report = size_report(inputs_of(hall(port="1.5 GB/s").case()), 128)
    row = next(row for row in report.rules if row.chosen)
    assert not row.appliances
    assert any("reading needs 26 GB/s" in n for n in report.notes)


# Write endurance of flash: derived from media and drive writes a day, a stated figure wins.


TLC = {"type": "tlc", "raw": "4 TB", "source": "made_up", "confidence": "low"}
QLC = {"type": "qlc", "raw": "16 TB", "source": "made_up", "confidence": "low"}
HDD = {"type": "hdd", "raw": "1 TB", "source": "made_up", "confidence": "low"}


def hall_endurance(media: list[dict[str, Any]], **storage: Any) -> Request:
    """Return a hall whose checkpoints of 0.1 TB are to be as often as every 10 min."""
    request = Request(minimize="cost")
    request.items[1]["media"] = media
    request.storage |= storage
    request.checkpoint["interval"] = {"policy": "optimal", "min": "600 s", "max": "2000 s"}
    request.checkpoint |= {"stall": "0 s", "max_overlap": 0.05}
    return request


def planned(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


def endured(plan: Plan) -> float | None:
    """Return how much of the storage bought may be written a day, TB; None without a limit."""
    return next((each.limit for each in plan.limits if each.name == "endurance"), None)


def boxes(plan: Plan) -> int:
    return sum(line.quantity for line in plan.lines if line.sku == "box")


@pytest.mark.parametrize(
    ("media", "storage", "each"),
    [
        ([TLC], {}, 4.0),
        ([QLC], {}, 8.0),
        ([TLC, QLC], {}, 4.0),  # both take all that is written
        ([TLC, TLC], {}, 8.0),
        ([TLC, HDD], {}, 4.0),
    ],
)
def test_endurance_is_that_of_the_flash(
    media: list[dict[str, Any]], storage: dict[str, Any], each: float
) -> None:
    plan = planned(hall_endurance(media, **storage))
    assert endured(plan) == pytest.approx(each * boxes(plan))
    assert any("write endurance of box is derived" in text for text in plan.warnings)
    assert plan.jobs[0].write_volume_tb_per_day <= each * boxes(plan) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("media", "storage"),
    [([HDD], {}), ([TLC], {"endurance": "off"}), ([TLC], {"endurance": "stated"})],
)
def test_nothing_limits_what_has_no_flash_or_is_left_out(
    media: list[dict[str, Any]], storage: dict[str, Any]
) -> None:
    plan = planned(hall_endurance(media, **storage))
    assert endured(plan) is None
    assert not any("write endurance" in text for text in plan.warnings)


def test_a_stated_figure_wins() -> None:
    request = hall_endurance([TLC])
    request.items[1]["provides"]["endurance"] = figure("5 TB/day")
    plan = planned(request)
    assert endured(plan) == pytest.approx(5.0 * boxes(plan))
    assert not any("write endurance" in text for text in plan.warnings)


def test_flash_of_components_counts() -> None:
    request = hall_endurance([])
    shelf = {
        "id": "shelf", "vendor": "Other", "model": "shelf", "category": "component", "media": [TLC],
        "consumes": request.items[1]["consumes"],
    }  # fmt: skip
    request.items.append(shelf)
    request.items[1] |= {"components": [{"id": "shelf", "quantity": 2}], "consumes": {}}
    plan = planned(request)
    assert endured(plan) == pytest.approx(8.0 * boxes(plan))


# The local level of checkpoints: optimum, verifier, workbook, screens and what is refused.


PROBLEM = "local_level"


@cache
def shipped_plan(scenario: str | None = None) -> Plan:
    return solved_once(PROBLEM, scenario=scenario, explain=False)


def local_of(plan: Plan) -> LocalPlan:
    local = plan.jobs[0].local
    assert local is not None
    return local


def test_the_level_leaves_storage_little_to_do() -> None:
    """The finding: drains of few MB/s per GPU, within 10 % of the time between them."""
    near, alone = shipped_plan().jobs[0], shipped_plan("storage_alone").jobs[0]
    assert local_of(shipped_plan()).every > 8 and alone.local is None
    assert near.overlap <= 0.1 * (1 + 1e-7)
    assert near.delivered_write_gb_per_s < alone.delivered_write_gb_per_s / 5
    assert 1000 * near.delivered_write_gb_per_s / near.gpus_used < 15
    assert near.goodput > alone.goodput + 0.01
    assert near.interval_s < alone.interval_s


JOB = "jobs.frontier-1t"
LOCAL = f"{JOB}.checkpoint.local"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({f"{JOB}.checkpoint.stall": "5 s"}, "stall_overhead adds to a derived stall"),
        ({f"{JOB}.failures.shares.rack": "4 %"}, "add up to 101 %"),
        ({f"{JOB}.checkpoint.mode": "sync"}, "is for checkpoints that drain while GPUs go on"),
        ({f"{LOCAL}.recovers.pdu": "no"}, "name different classes: pdu"),
        ({f"{LOCAL}.recovers.rack": "yes"}, "survives every class of failures"),
        ({f"{LOCAL}.k": "some"}, "'some' is not known here; expected one of: open"),
        ({f"{LOCAL}.k": "0"}, "k"),
        ({f"{LOCAL}.copies": "0"}, "copies"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings: Mapping[str, str], said: str) -> None:
    file = shipped.problem_files()[PROBLEM]
    with pytest.raises(InputError) as caught:
        load(file, settings=tuple(f"{path}={value}" for path, value in settings.items()))
    assert said in str(caught.value)
