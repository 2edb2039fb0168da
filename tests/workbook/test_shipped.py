"""The workbook of the shipped example, solved for real and in its harder variants."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pytest

from planner.api import solve
from planner.schema.plan import Plan
from tests.workbook.conftest import written
from tests.workbook.office import convert, named, needs_office, values
from tests.workbook.test_recalculation import differences

PROBLEM = Path(__file__).parents[2] / "problems" / "10MW.yaml"
VARIANTS = {
    "as_shipped": (),
    "sync": ("jobs.0.checkpoint.mode=sync",),
    "every_replica": (
        "jobs.0.restore.fan_out=every_replica",
        "jobs.0.restore.readers=one_replica",
        "jobs.0.checkpoint.writers=one_replica",
        "jobs.0.gpus.whole=replicas",
    ),
    "rule": ("storage.rule=good", "jobs.0.checkpoint.drain_slowdown=0.1"),
    "two_types": ("jobs.0.gpus.max_types=2", "storage.max_families=2"),
}


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: solve(PROBLEM, settings=settings) for name, settings in VARIANTS.items()}


@needs_office
def test_recalculated_values_are_the_plans(plans: dict[str, Plan], tmp_path: Path) -> None:
    files = []
    for name, plan in plans.items():
        files.append(tmp_path / f"{name}.xlsx")
        files[-1].write_bytes(written(plan))
    for (name, plan), source, result in zip(
        plans.items(), files, convert(tmp_path, files), strict=True
    ):
        shown = values(result)
        assert differences(values(source), shown) == [], name
        figures, job = named(result, shown), plan.jobs[0]
        assert plan.totals is not None
        assert figures["goodput"] == pytest.approx(job.goodput, rel=1e-9)
        assert figures["restore_s"] == pytest.approx(job.restore_s, rel=1e-9)
        assert figures["exact_s"] == pytest.approx(job.exact_s, rel=1e-9)
        assert figures["capex_usd"] == pytest.approx(plan.totals.capex_usd, rel=1e-9)
        assert figures["tco_usd"] == pytest.approx(plan.totals.tco_usd, rel=1e-9)
        assert figures["facility_power_kw"] == pytest.approx(
            plan.totals.facility_power_kw, rel=1e-9
        )
        assert shown["Checks", "A6"] == f"All {len(plan.limits)} limits hold"


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_no_limit_is_left_as_solved(name: str, plans: dict[str, Plan]) -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(plans[name])), data_only=True)
    follows = [row[8].value for row in book["Checks"].iter_rows(min_row=9)]
    assert len(follows) == len(plans[name].limits)
    assert all(text in ("yes", "the value") for text in follows)
