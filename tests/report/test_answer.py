"""The first screen: one page that answers, and what the next GPU systems would need and give."""

from __future__ import annotations

import pytest

from planner.case.resolve import resolve
from planner.inputs import Inputs
from planner.report.views.plan import binding_text, reached, render
from planner.report.words import duration, significant, write_row, years
from planner.schema.plan import LimitReport, NextStep, Plan
from planner.terminal import STANDARD
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.shown import CASES
from tests.world.shown import plan as made
from tests.world.solved import solve

PAGE = 45
"""Lines that a terminal of a laptop shows at once."""


def hall(**site: str) -> Request:
    """Return a hall for five systems of 8 GPUs and 10 kW, storage beside them."""
    request = Request(maximize="goodput")
    request.job["training"] = {"mfu": "40 %"}
    request.site |= site
    return request


def solved(request: Request) -> tuple[Inputs, Plan]:
    inputs = inputs_of(request.case())
    plan = solve(inputs, explain=False)
    assert plan.status == "optimal", plan.message
    return inputs, plan


def step_of(plan: Plan) -> NextStep:
    assert plan.next_step is not None
    return plan.next_step


@pytest.mark.parametrize("name", sorted(CASES))
def test_it_fits_a_page_and_says_what_more_there_is(name: str) -> None:
    shown = render(made(CASES[name]))
    lines = shown.splitlines()
    assert len(lines) <= PAGE
    assert max(map(len, lines)) <= STANDARD
    for label in ("Objective", "Facility power", "Checkpoint", "More"):
        assert [line for line in lines if line.startswith(f"{label} ")], label
    assert "HiGHS" not in shown
    assert "--show lines" in " ".join(lines[-2:])


def test_the_next_step_needs_what_it_takes_and_gives_what_it_gives() -> None:
    inputs, plan = solved(hall(it_power="53 kW"))
    step = step_of(plan)
    (need,) = step.needs
    assert (step.systems, step.gpus) == (1, 8)
    assert need.name == "it_power"
    assert need.value == pytest.approx(plan.totals.it_power_kw + 10.0 if plan.totals else 0.0)
    assert need.limit == 53.0
    more = solved(hall(it_power=f"{need.value} kW"))[1]
    assert more.objective.value is not None
    assert plan.objective.value is not None
    assert plan.objective.value < step.value <= more.objective.value * (1 + 1e-6)
    assert "Next step +1 Alpha gpu: +" in " ".join(render(plan).split())
    assert resolve(inputs).maximise


def test_no_next_step_where_less_is_asked_for_or_nothing_gives_way() -> None:
    request = hall(it_power="53 kW")
    request.more["objective"] = {"minimize": "power", "indifference": 0}
    request.more["targets"] = {"min_gpus": 16}
    assert solved(request)[1].next_step is None
    request = hall(it_power="200 kW")
    request.more["items"] = {"gpu": {"stock": 2}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    assert solved(request)[1].next_step is not None
    request.more["items"] = {"gpu": {"max": 4}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    request.job["gpus"] = {"max": 32}
    assert solved(request)[1].next_step is None


def test_small_times_and_sizes_are_never_0() -> None:
    assert (duration(0.004), duration(0.3), significant(0.012, "GB"), significant(0.4, "GB")) == (
        "0.004 s", "0.3 s", "0.012 GB", "0.4 GB"
    )  # fmt: skip
    assert (years(1.0), years(3.5)) == ("1 year", "3.5 years")


def limit(value: float, bound: float, unit: str, sense: str = "<=") -> LimitReport:
    given = {"value": value, "sense": sense, "limit": bound, "unit": unit}
    return LimitReport.model_construct(binding=True, exact=False, **given)


def test_a_binding_limit_with_room_says_why_it_binds() -> None:
    assert binding_text(limit(138.8, 22.09, "TB", ">=")) == "one unit less breaks it"
    assert binding_text(limit(9_972.2, 10_000.0, "kW")) == "binding"


def test_large_power_is_in_megawatts() -> None:
    assert reached(limit(282_612.0, 1e6, "kW")) == "282.6 of 1,000 MW"
    assert reached(limit(9_000.0, 12_000.0, "kW")) == "9 of 12 MW"
    assert reached(limit(9_972.2, 10_000.0, "kW")) == "9,972.2 of 10,000 kW"


def test_figures_side_by_side_have_equally_many_decimals() -> None:
    assert write_row([774.0, 975.3, None], "PFLOP/s") == ["774.0", "975.3", "-"]
    assert write_row([24.97, 25, "none"], "days") == ["24.97", "25.00", "none"]
    assert write_row([46, 1920], "") == ["46", "1,920"]
    assert write_row([1e-5, 25.5], "") == ["1e-05", "25.5"]
