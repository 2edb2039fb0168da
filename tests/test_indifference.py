"""What a plan gives away of its objective, what that saves, and that the proof's gap is its own."""

from __future__ import annotations

import pytest

from planner.report.views.plan import whole
from planner.schema.plan import Plan
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
    assert best.given_away is not None
    assert best.given_away < 2e-6
    assert goal.best == pytest.approx(best.value, rel=2e-6)
    assert 1e-4 < (goal.given_away or 0.0) <= 0.005
    assert goal.value == pytest.approx((goal.best or 0.0) * (1 - (goal.given_away or 0.0)))
    assert easy.totals is not None
    assert strict.totals is not None
    assert goal.best_capex_usd == pytest.approx(strict.totals.capex_usd)
    shown = " ".join(whole(easy).split())
    saved = (strict.totals.capex_usd or 0.0) - (easy.totals.capex_usd or 0.0)
    assert f"less useful work saves {saved / 1e3:,.2f} kUSD" in shown
    assert "`objective.indifference: 0` takes none" in shown
    assert "% below the proven best of" in shown.split("Buy")[0]
    assert "saves" not in whole(strict)
    assert strict.status == "optimal"


def test_the_gap_is_the_proofs_alone() -> None:
    plan = solved(hall(indifference="2 %"), gap=1e-8)
    assert plan.objective.gap is not None
    assert plan.objective.gap <= 1e-8
    assert plan.objective.given_away is not None
    assert plan.objective.given_away > 1e-4


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
    assert plan.objective.given_away is not None
    assert 0 < plan.objective.given_away <= 0.03
    assert "(proven best)" not in whole(plan)
