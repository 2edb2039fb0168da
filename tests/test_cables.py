"""The cable schedule: as many cables as the bill has, every port once, lengths by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from planner.inputs import Inputs
from planner.loader import load
from planner.plan.cables import cable_schedule
from planner.schema.plan import CableSchedule, Plan
from tests.test_superpod import SUPERPOD
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve

FLOOR = "floor: {racks_per_row: 10, rack_width: 60 cm, row_pitch: 3 m, riser: 1.5 m, slack: 10 %}"


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("superpod") / "problem.yaml"
    path.write_text(SUPERPOD.replace("  racks: 60\n", f"  racks: 60\n  {FLOOR}\n"), "utf-8")
    return path


@pytest.fixture(scope="module")
def superpod(problem: Path) -> tuple[Inputs, Plan]:
    inputs = load(problem)
    return inputs, solve(inputs)


@pytest.fixture(scope="module")
def schedule(superpod: tuple[Inputs, Plan]) -> CableSchedule:
    return cable_schedule(*superpod)


def pulled(schedule: CableSchedule) -> Counter[str]:
    """Return the cables by item: rows that share a number are one."""
    return Counter(sku for sku, _ in {(c.sku, c.number) for c in schedule.cables if c.sku})


def billed(inputs: Inputs, plan: Plan) -> Counter[str]:
    kinds = {item.id: item.category for item in inputs.items}
    named = inputs.problem.extras
    lines = [line for line in plan.lines if kinds[line.sku] == "cable" and line.sku not in named]
    return Counter({line.sku: line.quantity for line in lines if line.quantity})


def twice(schedule: CableSchedule) -> list[tuple[str, str]]:
    ends = [(e.device, e.port) for c in schedule.cables for e in (c.lower, c.upper)]
    return [end for end, count in Counter(ends).items() if count > 1]


def test_the_superpod_has_the_cables_of_its_bill(
    superpod: tuple[Inputs, Plan], schedule: CableSchedule
) -> None:
    assert pulled(schedule) == billed(*superpod)
    assert pulled(schedule)["nvidia_mfp7e10"] == 2044
    assert twice(schedule) == []
    assert schedule.notes == ()


def test_lengths_follow_from_rows_positions_and_heights(schedule: CableSchedule) -> None:
    cable = next(c for c in schedule.cables if c.lower.device == "nvidia_dgx_h100-001")
    assert (cable.lower.rack, cable.lower.position_ru) == (1, 1)
    rack, unit = cable.upper.rack or 0, cable.upper.position_ru or 0
    assert rack > 32, "behind the racks of systems"
    row, place = divmod(rack - 1, 10)
    way = row * 3 + place * 0.6 + 2 * 1.5 + ((48 - 1) + (48 - unit)) * 0.04445
    assert cable.length_m == -(-way * 1.1 // 1)
    assert cable.medium == "multimode"
    beside = [c for c in schedule.cables if c.lower.rack == c.upper.rack and c.lower.rack]
    assert beside
    assert all((c.length_m or 0) <= 4 for c in beside)


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("seed", range(60))
def test_random_plans_have_the_cables_of_their_bills(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    plan = solve(inputs, explain=False)
    if not plan.lines:
        return
    found = cable_schedule(inputs, plan)
    assert pulled(found) == billed(inputs, plan)
    free = [end for end in twice(found) if end[0] not in ("no free out-of-band port",)]
    assert free == []
