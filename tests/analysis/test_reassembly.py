"""Plans that somebody changed and gave new checksums: found by writing the plan again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.analysis.verification import (
    PlanFile,
    assembly_faults,
    from_data,
    is_repeatable,
    open_plan,
    search_faults,
)
from planner.report.plan_json import carrying
from planner.schema.plan import Plan
from planner.verifier import faults
from tests.world.commands import ran
from tests.world.solved import write_plan

PROBLEMS = sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
HALL = Path(__file__).parents[2] / "problems" / "10MW.yaml"
Where = tuple[str | int, ...]


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> PlanFile:
    file = tmp_path_factory.mktemp("hall") / "10MW.plan.json"
    write_plan(file, HALL)
    return open_plan(file)


def changed(opened: PlanFile, where: Where, value: Any) -> PlanFile:
    """Return the plan file with one part changed, and its checksums made again."""
    document = json.loads(opened.plan.model_dump_json())
    part = document
    for step in where[:-1]:
        part = part[step]
    assert part[where[-1]] != value
    part[where[-1]] = value
    plan = Plan.model_validate_json(json.dumps(document))
    again = from_data("x", carrying(plan, opened.carried).model_dump_json().encode())
    assert again.changed == ()
    return again


ASSEMBLED: list[tuple[Where, Any]] = [
    (("assumptions", 0, "value"), "1 %"),
    (("assumptions",), []),
    (("warnings",), []),
    (("warnings", 3), "all prices are quotes"),
    (("not_counted",), []),
    (("not_considered",), []),
    (("description",), "as ordered"),
    (("lines", 0, "price", "confidence"), "high"),
    (("lines", 0, "notes"), ["free of charge"]),
]
SEARCHED: list[tuple[Where, Any]] = [
    (("objective", "best_capex_usd"), 9e9),
    (("objective", "best_capex_usd"), None),
    (("provenance", "iterations"), 1),
    (("storage_options", "options", 0, "beside_usd"), 1.0),
]


@pytest.mark.parametrize(("where", "value"), ASSEMBLED, ids=str)
def test_texts_that_follow_from_the_decisions(hall: PlanFile, where: Where, value: Any) -> None:
    tampered = changed(hall, where, value)
    found = assembly_faults(tampered.inputs, tampered.plan)
    assert found and all(each.startswith(str(where[0])) for each in found)


@pytest.mark.parametrize(("where", "value"), SEARCHED, ids=str)
def test_figures_that_follow_from_the_search(hall: PlanFile, where: Where, value: Any) -> None:
    tampered = changed(hall, where, value)
    assert faults(tampered.inputs, tampered.plan) or is_repeatable(tampered.plan)
    found = search_faults(tampered.inputs, tampered.plan)
    assert found and all(each.startswith(str(where[0])) for each in found)


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_a_plan_as_written_is_no_suspect(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.plan.json"
    write_plan(file, path)
    opened = open_plan(file)
    assert assembly_faults(opened.inputs, opened.plan) == ()
    assert is_repeatable(opened.plan) == (opened.plan.status == "optimal")
    assert not is_repeatable(opened.plan) or search_faults(opened.inputs, opened.plan) == ()


def test_verify_tells_of_emptied_warnings_and_claims_no_signature(
    hall: PlanFile, tmp_path: Path
) -> None:
    file = tmp_path / "x.plan.json"
    emptied = changed(hall, ("warnings",), [])
    file.write_text(carrying(emptied.plan, hall.carried).model_dump_json())
    done = ran("verify", str(file), "--no-solve")
    assert done.code == 3
    assert "checksums agree (no signature)" in done.out
    assert "warnings: 0 entries, assembled again" in done.out
