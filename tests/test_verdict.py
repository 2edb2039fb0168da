"""A plan nobody would build says so in its first line, with the cause."""

from __future__ import annotations

from planner.plan.notes import verdict
from planner.report.views import plan as plan_view
from planner.schema.plan import Plan
from planner.verifier import faults
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve


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


def test_storage_of_more_than_a_tenth_is_told() -> None:
    _, plan = failing(1e-5)
    assert plan.totals is not None and plan.totals.capex_usd is not None
    share = plan.totals.capex_by_section_usd["Storage"] / plan.totals.capex_usd
    assert ("storage" in codes(plan)) == (share > 0.1)
    dear = {**plan.totals.capex_by_section_usd, "Storage": 0.2 * plan.totals.capex_usd}
    totals = plan.totals.model_copy(update={"capex_by_section_usd": dear})
    (said,) = [
        each
        for each in verdict(plan.model_copy(update={"totals": totals}))
        if each.code == "storage"
    ]
    assert said.text.startswith("storage is 20 % of capex: ")


def test_a_goodput_floor_that_binds_leaves_supply_unused() -> None:
    request = Request(maximize="useful_gpus")
    request.site["it_power"] = "50 MW"
    request.more["targets"] = {"min_goodput": 0.93}
    plan = solve(inputs_of(request.case()), explain=False)
    assert any(each.name == "min_goodput" and each.binding for each in plan.limits)
    assert "supply" not in codes(plan)


def test_most_gpus_nearly_reached_leaves_supply_unused() -> None:
    _, plan = failing(1e-5)
    limit = plan.limits[0].model_copy(
        update={"name": "gpus_max", "sense": "<=", "value": 993.0, "limit": 1000.0,
                "binding": False}
    )  # fmt: skip
    power = limit.model_copy(update={"name": "it_power", "value": 1.0, "limit": 10.0})
    for value, told in ((993.0, False), (900.0, True)):
        held = limit.model_copy(update={"value": value})
        seen = plan.model_copy(update={"limits": (held, power)})
        assert any(each.code == "supply" for each in verdict(seen)) == told
