"""Lost time besides failures: known answers, its parts, and the same in every reckoning of it."""

from __future__ import annotations

import pytest

from planner.analysis.simulation import SimulationOptions, study
from planner.schema.job import DEFAULT_LOST_TIME
from planner.sizing.goodput import LOST_TIME
from tests.world.catalog import inputs_of
from tests.world.solved import solved

MAIN = "10MW"
LOCAL = "local_level"
NONE, SOME = "jobs.0.lost_time=none", "jobs.0.lost_time=8 %"


@pytest.mark.parametrize("problem", [MAIN, LOCAL])
def test_goodput_falls_by_the_share_and_the_purchase_stays(problem: str) -> None:
    free, lossy = (solved(problem, setting, explain=False) for setting in (NONE, SOME))
    before, after = free.jobs[0], lossy.jobs[0]

    assert after.goodput == pytest.approx(0.92 * before.goodput, rel=1e-9)
    assert after.useful_pflops == pytest.approx(0.92 * (before.useful_pflops or 0.0), rel=1e-9)
    assert after.interval_s == pytest.approx(before.interval_s, rel=1e-6)
    counts = [[(line.sku, line.quantity) for line in plan.lines] for plan in (free, lossy)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("problem", [MAIN, LOCAL])
def test_losses_fill_the_rest_and_the_share_is_apart(problem: str) -> None:
    free, lossy = (solved(problem, setting, explain=False).jobs[0] for setting in (NONE, SOME))

    assert sum(lossy.losses.values()) == pytest.approx(1.0 - lossy.goodput, abs=1e-12)
    assert lossy.loss.other == pytest.approx(0.08 * free.goodput, rel=1e-9)
    assert lossy.loss.restart == pytest.approx(free.loss.restart, rel=1e-6)
    assert "other" not in free.losses


def test_it_is_on_unless_asked_off_and_within_the_published_range() -> None:
    asked = inputs_of().problem.job
    assert asked.lost_share == 0.0  # "none" in this problem

    usual = type(asked).model_validate({"name": "any", "parameters": "70 B"})
    assert usual.lost_share == DEFAULT_LOST_TIME
    assert LOST_TIME.low < DEFAULT_LOST_TIME < LOST_TIME.high


def test_a_share_that_nobody_stated_is_named_with_its_worth() -> None:
    usual = solved(MAIN, explain=False)
    worth = (usual.jobs[0].useful_pflops or 0.0) / 0.95 * 0.05

    (note,) = (text for text in usual.warnings if "lost time besides failures" in text)
    assert f"{worth:,.0f} PFLOP/s" in note
    assert not any("lost time besides" in text for text in solved(MAIN, SOME).warnings)


def test_simulation_loses_it_too() -> None:
    plan = solved(MAIN, SOME, explain=False)
    found = study(plan, SimulationOptions(replications=40, intervals=False)).jobs[0]

    assert found.predicted == pytest.approx(plan.jobs[0].goodput, rel=1e-9)
    assert found.loss.other == pytest.approx(0.08 / 0.92 * found.goodput.mean, rel=1e-9)
    lost = sum(found.loss.model_dump().values())
    assert lost == pytest.approx(1.0 - found.goodput.mean, abs=1e-9)
