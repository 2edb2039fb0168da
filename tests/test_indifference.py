"""What a plan gives away of its objective, what that saves, and that the proof's gap is its own."""

from __future__ import annotations

import pytest

from planner.report.views import plan as plan_view
from planner.report.views.plan import whole
from planner.schema.plan import Plan
from planner.verifier import faults
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve


def hall(**objective: object) -> Request:
    """Return a hall where each box shortens drains a little and costs a lot."""
    request = Request()
    request.more["objective"] = {"maximize": "goodput", **objective}
    request.site["it_power"] = "100 kW"
    request.items[1]["consumes"]["it_power"] = {
        "value": "0.5 kW", "source": "made_up", "confidence": "low",
    }  # fmt: skip
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "1 h"}
    return request


def solved(request: Request, **options: object) -> Plan:
    plan = solve(inputs_of(request.case()), **options)  # type: ignore[arg-type]
    assert plan.status == "optimal", plan.message
    return plan


def boxes(plan: Plan) -> int:
    return sum(line.quantity for line in plan.lines if line.sku == "box")


def test_half_a_percent_saves_most_of_the_storage() -> None:
    strict, easy = solved(hall(indifference=0)), solved(hall())
    assert boxes(strict) > 2 * boxes(easy)
    goal, best = easy.objective, strict.objective
    assert best.near_optimal_loss is not None
    assert best.near_optimal_loss < 2e-6
    assert goal.best == pytest.approx(best.value, rel=2e-6)
    assert 1e-4 < (goal.near_optimal_loss or 0.0) <= 0.005
    assert goal.value == pytest.approx((goal.best or 0.0) * (1 - (goal.near_optimal_loss or 0.0)))
    assert easy.totals is not None
    assert strict.totals is not None
    assert goal.best_capex_usd == pytest.approx(strict.totals.capex_usd)
    shown = " ".join(whole(easy).split())
    saved = (strict.totals.capex_usd or 0.0) - (easy.totals.capex_usd or 0.0)
    assert f"less useful work saves {saved / 1e3:,.2f} kUSD" in shown
    assert "(objective.indifference: 0 for none)" in shown
    assert "% below the proven best of" in shown.split("Buy")[0]
    assert "saves" not in whole(strict)
    assert strict.status == "optimal"


def test_the_gap_is_the_proofs_alone() -> None:
    plan = solved(hall(indifference="2 %"), gap=1e-8)
    assert plan.objective.gap is not None
    assert plan.objective.gap <= 1e-8
    assert plan.objective.near_optimal_loss is not None
    assert plan.objective.near_optimal_loss > 1e-4


def test_a_preference_is_given_away_and_no_gap() -> None:
    request = hall(indifference=0)
    request.items.append(
        {**request.items[1], "id": "other", "vendor": "Gamma", "model": "other", "family": "of"}
    )
    request.families.append({"id": "of", "vendor": "Gamma", "name": "of"})
    request.items[-1]["provides"] = {
        **request.items[1]["provides"],
        "write": {"value": "0.2 GB/s", "source": "made_up", "confidence": "low"},
    }
    request.prices["other"] = request.prices["box"]
    request.more["policy"] = {"prefer": {"vendors": ["Gamma"], "within": "3 %"}}
    plan = solved(request)
    assert {line.sku for line in plan.lines} >= {"other"}
    assert plan.objective.gap is not None
    assert plan.objective.gap < 2e-6
    assert plan.objective.near_optimal_loss is not None
    assert 0 < plan.objective.near_optimal_loss <= 0.03
    assert "(proven best)" not in whole(plan)


# A plan nobody would build says so in its first line, with the cause.


def failing(per_gpu_day: float) -> tuple[Request, Plan]:
    """Return a plan whose GPUs fail so often that little work is left."""
    request = Request(maximize="useful_gpus")
    request.job["failures"] = {"per_gpu_day": per_gpu_day}
    return request, solve(inputs_of(request.case()), explain=False)


def codes(plan: Plan) -> set[str]:
    return {each.code for each in plan.verdict}


def first_line(text: str) -> str:
    """Return the first line of a screen, however many rows it takes."""
    return " ".join(text.split("\n\n")[0].split())


def test_little_goodput_is_told_first_with_its_cause() -> None:
    request, plan = failing(2.0)
    assert plan.jobs[0].goodput < 0.8
    assert "goodput" in codes(plan)
    largest = max(plan.jobs[0].losses.values())
    for screen in (plan_view.render(plan), plan_view.whole(plan)):
        line = first_line(screen)
        assert "not to be built" in line
        assert f"{100 * plan.jobs[0].goodput:.1f} %" in line
        assert f"{100 * largest:.1f} % of the time" in line
        assert "proven best" not in line
    assert not faults(inputs_of(request.case()), plan)


def test_a_plan_to_be_built_has_none() -> None:
    _, plan = failing(1e-5)
    assert "goodput" not in codes(plan)


def test_a_goodput_floor_that_binds_leaves_supply_unused() -> None:
    request = Request(maximize="useful_gpus")
    request.site["it_power"] = "50 MW"
    request.more["targets"] = {"min_goodput": 0.93}
    plan = solve(inputs_of(request.case()), explain=False)
    assert any(each.name == "min_goodput" and each.binding for each in plan.limits)
    assert "supply" not in codes(plan)
