"""What a plan gives away of its objective, what that saves, and that the proof's gap is its own."""

from __future__ import annotations

import math

import pytest

from planner.errors import InputError
from planner.report import plan as plan_view
from planner.report.plan import PARTS, render
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
        "value": "0.5 kW",
        "source": "made_up",
        "confidence": "low",
    }
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "1 h"}
    return request


def solved(request: Request, **options: object) -> Plan:
    plan = solve(inputs_of(request.case()), **options)  # type: ignore[arg-type]
    assert plan.status == "optimal", plan.message
    return plan


def boxes(plan: Plan) -> int:
    return sum(line.quantity for line in plan.lines if line.sku == "box")


def test_one_unit_of_a_required_vendor_is_enough() -> None:
    request = Request(minimize="cost")
    request.job["gpus"] = {"min": 8}
    request.more["policy"] = {"require_vendors": ["Alpha"]}
    assert [line.quantity for line in solved(request).lines if line.vendor == "Alpha"] == [1]


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
    shown = " ".join(render(easy, PARTS).split())
    saved = (strict.totals.capex_usd or 0.0) - (easy.totals.capex_usd or 0.0)
    assert f"less useful work saves {saved / 1e3:,.2f} kUSD" in shown
    assert "(objective.indifference: 0 for none)" in shown
    assert "% below the proven best of" in shown.split("Buy")[0]
    assert "saves" not in render(strict, PARTS)
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
    assert "(proven best)" not in render(plan, PARTS)


# A plan nobody would build says so in its first line, with the cause.


def failing(per_gpu_day: float) -> tuple[Request, Plan]:
    """Return a plan whose GPUs fail so often that little work is left."""
    request = Request(maximize="useful_gpus")
    request.job["failures"] = {"per_gpu_day": per_gpu_day}
    return request, solve(inputs_of(request.case()), explain=False)


def test_little_goodput_is_told_first_with_its_cause() -> None:
    request, plan = failing(2.0)
    assert plan.jobs[0].goodput < 0.8
    assert "goodput" in plan.verdict
    for screen in (plan_view.render(plan), plan_view.render(plan, plan_view.PARTS)):
        line = " ".join(screen.split("\n\n")[0].split())
        assert "not to be built" in line and "proven best" not in line
        assert f"{100 * plan.jobs[0].goodput:.1f} %" in line
        assert f"{100 * max(plan.jobs[0].losses.values()):.1f} % of the time" in line
    assert not faults(inputs_of(request.case()), plan)
    assert "goodput" not in failing(1e-5)[1].verdict


def test_a_goodput_floor_that_binds_leaves_supply_unused() -> None:
    request = Request(maximize="useful_gpus")
    request.site["it_power"] = "50 MW"
    request.more["targets"] = {"min_goodput": 0.93}
    plan = solve(inputs_of(request.case()), explain=False)
    assert any(each.name == "min_goodput" and each.binding for each in plan.limits)
    assert "supply" not in plan.verdict


# Money per useful work as the objective: enumeration, both solvers, and what must always hold.


def by_hand(*, installed: bool = False, electricity: str = "0.10 USD/kWh") -> Request:
    """Return a problem of one kind of GPU and one of storage, for the least money per GPU-hour."""
    request = Request(minimize="usd_per_useful_gpu_hour")
    request.more["term"] = {"years": 2, "electricity": electricity}
    if installed:
        owned = {"gpu": {"installed": 3, "fixed": 3}, "box": {"installed": 2, "fixed": 2}}
        request.more["items"] = owned
    return request


def test_work_for_nothing_has_no_ratio() -> None:
    """All that is used is owned, and electricity is free: refused with what would be right."""
    case = by_hand(installed=True, electricity="0 USD/kWh").case()
    with pytest.raises(InputError, match="installed units have no running cost"):
        solve(inputs_of(case))
    paid = by_hand(installed=True).case()
    assert solve(inputs_of(paid)).status == "optimal"


def test_the_least_cost_of_a_gpu_hour_by_hand() -> None:
    """Two stores of 5 kW serve any number of 10 kW systems; 50 kW leave room for four of these.

    Goodput falls so slowly that fixed costs decide: all four, 40 kW + 10 kW.
    """
    plan = solve(inputs_of(by_hand().case()))
    assert plan.totals is not None
    gpus, hours = 32, 2 * 8760.0
    tco = 4 * 100_000 + 2 * 10_000 + 50.0 * 1.25 * hours * 0.10
    assert plan.totals.gpus_used == gpus
    mtti_s = 86_400 / (0.01 * gpus)
    drain_s, interval_s = 100.0 / 2.0, 600.0
    lost_s = drain_s + 600.0 + 100.0 / 8.0
    z = interval_s / mtti_s
    goodput = (1 - 5.0 / interval_s) * math.exp(-lost_s / mtti_s) * z / math.expm1(z)
    assert plan.objective.value == pytest.approx(tco / (gpus * goodput * hours), rel=1e-9)
    assert plan.objective.unit == "USD"
    gap = plan.objective.gap
    assert gap is not None and gap <= 2e-6
