"""Why not: every claim against exhaustive enumeration on random small problems, and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from planner import api
from planner.analysis.explain import Prober, explain_absence, items_named
from planner.errors import InputError
from planner.figures import RATIOS
from planner.inputs import Inputs, changed
from planner.loader import load
from planner.schema.analysis import Item, WhyNot
from planner.schema.plan import Plan
from planner.schema.prices import Discount
from planner.schema.problem import Quantity
from tests.oracle.enumerate import Best, best
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_jobs import ratio_case
from tests.world.solved import solve

VALUE = 1e-5
"""How closely optimiser and enumeration agree, as a share."""
MONEY = 2e-6
SEEDS = [seed for seed in range(20) if seed != 8]  # 8 takes as long as all others together
CHUNKS = 10


def enumerated(inputs: Inputs) -> Best | None:
    parts = (inputs.items, inputs.families, inputs.prices, inputs.discounts)
    return best(inputs.problem, *parts)


def with_item(inputs: Inputs, item: Item) -> Inputs | None:
    """Return the problem of plans with an item; None where the problem file cannot say so."""
    problem = inputs.problem
    if item.category == "gpu_system":
        idle = any(rule.fixed or rule.min for rule in problem.items.values())
        if problem.job.gpus.max_types > 1 or idle or problem.policy.require_vendors:
            return None
        if problem.policy.split:
            return None
        return changed(inputs, "consider.gpu_systems", (item.sku,))
    rule = problem.items.get(item.sku, Quantity())
    if rule.in_place:  # a unit that stands there idle meets what is demanded
        return None
    return changed(inputs, f"items.{item.sku}", rule.model_copy(update={"min": 1}))


def at_price(inputs: Inputs, sku: str, list_usd: float) -> Inputs:
    price = inputs.prices[sku].model_copy(update={"list_usd": list_usd})
    return replace(inputs, prices={**inputs.prices, sku: price})


def faults(inputs: Inputs, plan: Plan, answer: WhyNot) -> Iterator[str]:
    """Yield every claim about an item that enumeration does not bear out."""
    for item in answer.items:
        demanded = None if item.kind == "left_out" else with_item(inputs, item)
        if demanded is None:
            continue
        truth = enumerated(demanded)
        if truth is None or item.kind == "no_plan":
            only_bounded = item.kind in ("open", "worse") and item.at_most is None
            if truth is not None or not (item.kind == "no_plan" or only_bounded):
                yield f"{item.sku}: {item.kind}, enumerated {truth}"
            continue
        loss = loss_of(plan, truth.top)
        if item.at_least is not None and loss < item.at_least - VALUE:
            yield f"{item.sku}: loss {loss}, at least {item.at_least}"
        if item.at_most is not None and loss > item.at_most + VALUE:
            yield f"{item.sku}: loss {loss}, at most {item.at_most}"
        yield from price_faults(demanded, plan, item)


def price_faults(demanded: Inputs, plan: Plan, item: Item) -> Iterator[str]:
    price = item.break_even
    if price is None or price.outcome == "not_computed":
        return
    if price.outcome == "no_price_helps":
        if as_good(demanded, plan, item.sku, 0.0, -MONEY):
            yield f"{item.sku}: no price helps, yet for nothing it would be taken"
        return
    assert price.enters_at_list_usd is not None
    if not as_good(demanded, plan, item.sku, price.enters_at_list_usd, MONEY):
        yield f"{item.sku}: it does not enter at {price.enters_at_list_usd}"
    if price.not_at_list_usd is not None:
        if as_good(demanded, plan, item.sku, price.not_at_list_usd, -MONEY):
            yield f"{item.sku}: it still enters at {price.not_at_list_usd}"
        today = demanded.prices[item.sku].list_usd
        most = max(price.enters_at_list_usd * 1.005, price.enters_at_list_usd + today / 1e3)
        assert price.not_at_list_usd <= most + 0.02


def as_good(demanded: Inputs, plan: Plan, sku: str, list_usd: float, leeway: float) -> bool:
    """Say whether some plan with an item at a price is taken rather than the plan.

    It is no worse than what ties with the best, and costs no more than the plan; or it is better
    than the best by more than what ties.
    """
    priced, goal = at_price(demanded, sku, list_usd), plan.objective
    truth = enumerated(priced)
    if truth is None:
        return False
    if goal.name in ("cost", "tco") or goal.name in RATIOS:
        return loss_of(plan, truth.top) <= leeway
    assert plan.totals is not None
    assert plan.totals.capex_usd is not None
    assert goal.bound is not None
    sign = 1.0 if goal.sense == "maximize" else -1.0
    tie = max(1e-6, goal.indifference)
    if sign * truth.top >= sign * goal.bound * (1.0 + sign * (tie - leeway)):
        return True
    room = sign * (truth.top - goal.bound * (1.0 - sign * tie)) / truth.top + leeway
    if room < 0.0:
        return False
    settled = enumerated(changed(priced, "objective.indifference", room))
    assert settled is not None
    return settled.capex_usd <= plan.totals.capex_usd * (1.0 + leeway)


def loss_of(plan: Plan, value: float) -> float:
    mine = plan.objective.value
    assert mine is not None
    worse = mine - value if plan.objective.sense == "maximize" else value - mine
    return worse / max(abs(mine), 1e-12)


@cache
def answered(seed: int, patient: bool = True) -> tuple[Inputs, Plan, WhyNot | None]:
    inputs = inputs_of(random_case(seed))
    plan = solve(inputs)
    if not plan.lines:
        return inputs, plan, None
    return inputs, plan, explained(inputs, plan, patient)


def explained(inputs: Inputs, plan: Plan, patient: bool = True) -> WhyNot:
    """Every item bounded, or asked for."""
    found = explain_absence(Prober(inputs, api.Options(), plan))
    if not patient:
        return found
    asked = [item.sku for item in found.items if item.kind != "left_out"]
    return explain_absence(Prober(inputs, api.Options(), plan), asked)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_claims_about_items_hold(chunk: int) -> None:
    wrong = {}
    for seed in SEEDS[chunk::CHUNKS]:
        for patient in (True, False):
            inputs, plan, answer = answered(seed, patient)
            if answer is not None:
                found = list(faults(inputs, plan, answer))
                wrong |= {(seed, patient): found} if found else {}
    assert not wrong, "\n".join(f"seed {seed}: {found}" for seed, found in wrong.items())


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", [70_013, 70_005, 70_010, 70_012, 70_019, 70_024])
def test_prices_at_which_money_per_useful_work_takes_an_item_hold(seed: int) -> None:
    inputs = inputs_of(ratio_case(seed, sorted(RATIOS)[seed % 2]))
    plan = solve(inputs)
    answer = explained(inputs, plan)
    assert not list(faults(inputs, plan, answer))
    outcomes = [item.break_even.outcome for item in answer.items if item.break_even is not None]
    assert not outcomes or set(outcomes) != {"not_computed"}


# By hand, on a shipped problem.

ROOT = Path(__file__).resolve().parents[2]
ASKED = "netapp_aff_a90"


@cache
def office() -> tuple[Inputs, Plan]:
    inputs = load(ROOT / "problems" / "enterprise_1MW.yaml")
    cheaper = Discount(item=ASKED, discount=0.2)
    prices = {**inputs.prices}
    prices[ASKED] = prices[ASKED].model_copy(update={"list_usd": 300_000.0})
    inputs = replace(inputs, prices=prices, discounts=(*inputs.discounts, cheaper))
    return inputs, api.solve_with(inputs, api.Options())


@cache
def by_hand() -> WhyNot:
    inputs, plan = office()
    return explain_absence(Prober(inputs, api.Options(), plan), (ASKED,))


def test_asked_for_is_exact_and_the_rest_is_bounded() -> None:
    kinds = {item.sku: item.kind for item in by_hand().items}
    assert kinds[ASKED] == "worse"
    assert kinds["nvidia_dgx_h100"] == "no_plan"
    assert kinds["netapp_ef600_beegfs_bb"] == "left_out"
    assert "vast_ceres_4cn_2x3015" not in kinds  # it is in the plan
    for item in by_hand().items:
        if item.asked:
            assert item.exact
            assert item.at_most == pytest.approx(item.at_least, abs=1e-5)


def test_a_forced_plan_is_what_its_settings_give() -> None:
    (weka,) = [row for row in by_hand().forced if row.label == "WEKA"]
    assert weka.value is not None
    problem = ROOT / "problems" / "enterprise_1MW.yaml"
    plan = solve(problem, settings=weka.setting)
    assert plan.objective.value == pytest.approx(weka.value, rel=1e-4)
    best = office()[1].totals
    assert plan.totals is not None and best is not None and weka.extra_capex_usd is not None
    assert plan.totals.capex_usd - best.capex_usd == pytest.approx(weka.extra_capex_usd, abs=1.0)


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
    inputs, plan = office()
    with pytest.raises(InputError, match="why-not") as refused:
        items_named(inputs, (name,))
        explain_absence(Prober(inputs, api.Options(), plan), (name,))
    assert told in str(refused.value)
