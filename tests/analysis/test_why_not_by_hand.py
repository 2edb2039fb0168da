"""Why not, on a shipped problem: prices that the planner itself confirms, words, refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from planner import api
from planner.analysis import explain
from planner.analysis.why_not import why_not
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.explanation import WhyNot
from planner.schema.plan import Plan
from planner.schema.prices import Discount
from tests.world.solved import solve

ROOT = Path(__file__).resolve().parents[2]
ASKED = "netapp_aff_a90"


@cache
def solved() -> tuple[Inputs, Plan]:
    inputs = load(ROOT / "problems" / "enterprise_1MW.yaml")
    cheaper = Discount(item=ASKED, discount=0.2)
    prices = {**inputs.prices}
    prices[ASKED] = prices[ASKED].model_copy(update={"list_usd": 300_000.0})
    inputs = replace(inputs, prices=prices, discounts=(*inputs.discounts, cheaper))
    return inputs, api.solve_with(inputs, api.Options())


@cache
def answered() -> WhyNot:
    inputs, plan = solved()
    return why_not(inputs, plan, api.Options(), asked=(ASKED,))


def test_asked_for_is_exact_and_the_rest_is_bounded() -> None:
    kinds = {item.sku: item.kind for item in answered().items}
    assert kinds[ASKED] == "worse"
    assert kinds["nvidia_dgx_h100"] == "no_plan"
    assert kinds["netapp_ef600_beegfs_bb"] == "left_out"
    assert "vast_ceres_4cn_2x3015" not in kinds  # it is in the plan
    for item in answered().items:
        if item.asked:
            assert item.exact
            assert item.at_most == pytest.approx(item.at_least, abs=1e-5)


def test_a_forced_plan_is_what_its_settings_give() -> None:
    (weka,) = [row for row in answered().forced if row.key == "WEKA"]
    assert weka.value is not None
    problem = ROOT / "problems" / "enterprise_1MW.yaml"
    plan = solve(problem, settings=weka.setting)
    assert plan.objective.value == pytest.approx(weka.value, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("netapp_aff_a9", "did you mean 'netapp_aff_a90'"),
        ("zzz", "planner catalog lists"),
        ("vast_ceres_4cn_2x3015", "is in the plan"),
        ("nvidia_qm9700", "is a companion"),
    ],
)
def test_questions_about_nothing_are_refused(name: str, told: str) -> None:
    inputs, plan = solved()
    with pytest.raises(InputError, match="why-not") as refused:
        why_not(inputs, plan, api.Options(), asked=(name,))
    assert told in str(refused.value)


def test_an_unknown_item_is_refused_before_anything_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explain, "solve_with", None)
    with pytest.raises(InputError, match="did you mean 'netapp_aff_a90'"):
        explain.explain(solved()[0], api.Options(), asked=("netapp_aff_a9",))
