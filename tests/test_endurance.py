"""Write endurance of flash: derived from media and drive writes a day, a stated figure wins."""

from __future__ import annotations

from typing import Any

import pytest

from planner.schema.plan import Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve

TLC = {"type": "tlc", "raw": "4 TB", "source": "made_up", "confidence": "low"}
QLC = {"type": "qlc", "raw": "16 TB", "source": "made_up", "confidence": "low"}
HDD = {"type": "hdd", "raw": "1 TB", "source": "made_up", "confidence": "low"}


def hall(media: list[dict[str, Any]], **storage: Any) -> Request:
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
    plan = planned(hall(media, **storage))
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
    plan = planned(hall(media, **storage))
    assert endured(plan) is None
    assert not any("write endurance" in text for text in plan.warnings)


def test_a_stated_figure_wins() -> None:
    request = hall([TLC])
    request.items[1]["provides"]["endurance"] = figure("5 TB/day")
    plan = planned(request)
    assert endured(plan) == pytest.approx(5.0 * boxes(plan))
    assert not any("write endurance" in text for text in plan.warnings)


def test_flash_of_components_counts() -> None:
    request = hall([])
    shelf = {
        "id": "shelf", "vendor": "Other", "model": "shelf", "category": "component", "media": [TLC],
        "consumes": request.items[1]["consumes"],
    }  # fmt: skip
    request.items.append(shelf)
    request.items[1] |= {"components": [{"id": "shelf", "quantity": 2}], "consumes": {}}
    plan = planned(request)
    assert endured(plan) == pytest.approx(8.0 * boxes(plan))
