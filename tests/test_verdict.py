"""A plan nobody would build says so in its first line, with the cause."""

from __future__ import annotations

import pytest

from planner import api
from planner.assemble.verdict import verdict
from planner.outputs import answer, console
from planner.outputs.audience import for_audience
from planner.schema.plan import Plan
from planner.verifier import faults
from tests.world.random_cases import inputs_of
from tests.world.requests import Request


def failing(per_gpu_day: float) -> tuple[Request, Plan]:
    """Return a plan whose GPUs fail so often that little work is left."""
    request = Request(maximize="useful_gpus")
    request.job["failures"] = {"per_gpu_day": per_gpu_day}
    return request, api.solve_inputs(inputs_of(request.case()), explain=False)


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
    for screen in (answer.render(plan), console.render(plan)):
        line = first_line(screen)
        assert "not to be built" in line
        assert f"{100 * plan.jobs[0].goodput:.1f} %" in line
        assert f"{100 * largest:.1f} % of the time" in line
        assert "proven best" not in line
    without = plan.model_copy(update={"verdict": ()})
    assert faults(inputs_of(request.case()), without)
    assert not faults(inputs_of(request.case()), plan)


def test_a_plan_to_be_built_has_none() -> None:
    _, plan = failing(1e-5)
    assert "goodput" not in codes(plan)


def test_storage_of_more_than_a_tenth_is_told() -> None:
    _, plan = failing(1e-5)
    assert plan.totals is not None and plan.totals.capex_usd is not None
    share = plan.totals.capex_by_section_usd["Storage"] / plan.totals.capex_usd
    assert ("storage" in codes(plan)) == (share > 0.1)
    dear = {**plan.totals.capex_by_section_usd, "Storage": 0.2 * plan.totals.capex_usd}
    totals = plan.totals.model_copy(update={"capex_by_section_usd": dear})
    (said,) = [
        each
        for each in verdict(plan.model_copy(update={"totals": totals}), None)
        if each.code == "storage"
    ]
    assert said.text.startswith("storage is 20 % of capex: ")


@pytest.mark.parametrize(("used", "binding", "told"), [(0.7, False, True), (0.8, False, False),
                                                       (0.7, True, False)])  # fmt: skip
def test_a_supply_left_over_is_told_where_no_limit_binds(
    used: float, binding: bool, told: bool
) -> None:
    _, plan = failing(1e-5)
    power = next(each for each in plan.limits if each.name == "it_power")
    limit = power.model_copy(update={"value": used * power.limit, "binding": binding})
    found = verdict(plan.model_copy(update={"limits": (limit,)}), None)
    assert ("supply" in {each.code for each in found}) == told


def test_a_search_cut_short_is_not_called_the_best() -> None:
    _, plan = failing(1e-5)
    plan = plan.model_copy(update={"verdict": ()})
    cut = plan.model_copy(update={"verdict": verdict(plan, "the time limit")})
    assert codes(cut) >= {"search"}
    line = first_line(answer.render(cut))
    assert "proven best" not in line
    assert "the time limit came before the cheapest" in line


def test_customers_are_not_told() -> None:
    _, plan = failing(2.0)
    assert for_audience(plan, "customer").verdict == ()


def test_one_number_of_the_best_plan() -> None:
    """What a plan gives away is told beside the best, which all other screens state."""
    request = Request(maximize="useful_gpus")
    request.more["objective"] = {"maximize": "useful_gpus", "indifference": "10 %"}
    plan = api.solve_inputs(inputs_of(request.case()), explain=False)
    goal = plan.objective
    if goal.given_away and goal.best is not None and not plan.verdict:
        assert f"of {goal.best:,.6g} " in first_line(answer.render(plan))
