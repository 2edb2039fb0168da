"""The search: what it must not cut away, and what it must not believe."""

from __future__ import annotations

import pytest

from planner import api, shipped
from planner.case import resolve
from planner.errors import InputError, SolverError
from planner.optimizer import constraints
from planner.optimizer.context import Build
from planner.optimizer.joint import _by_models, optimise, share
from planner.optimizer.master import Master
from planner.optimizer.solver import Effort
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request, gpu_system, price

MOST_SOLVES = 250


def split_request(**gpus: object) -> Request:
    """Two vendors' one-GPU systems, the second half as fast; no vendor may have over 60 %."""
    request = Request(maximize="goodput")
    request.items[0] = gpu_system("gpu", 1, "1 kW", "2000 TFLOP/s")
    request.items.append(gpu_system("late", 8, "1 kW") | {"vendor": "Omega"})
    request.prices["late"] = price("1000")
    request.job["gpus"] = gpus
    request.more["policy"] = {"split": [{"category": "gpu_system", "max_share": "60 %"}]}
    return request


@pytest.mark.exhaustive(keep=0)
def test_idle_systems_may_be_more_than_the_job_may_use() -> None:
    """8 GPUs of the fast vendor want 6 systems of the other, of which one would be 8 GPUs."""
    drawn = split_request(max=8).case()
    plan = api.solve_inputs(inputs_of(drawn))
    truth = best(drawn.problem, drawn.items, drawn.families, drawn.prices, drawn.discounts)
    assert disagreements(drawn, plan, truth) == []
    counts = {line.sku: line.quantity for line in plan.lines}
    assert counts["gpu"] == 8
    assert counts["late"] == 6


def test_more_gpus_asked_for_than_allowed_is_infeasible() -> None:
    request = Request(maximize="gpus")
    request.job["gpus"] = {"max": 4}
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    plan = api.solve_inputs(inputs_of(request.case()))
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    ((named,),) = [conflict.limits for conflict in plan.infeasibility.conflicts]
    assert named.path == "jobs.0.gpus.max"
    settings = {step.settings for step in plan.infeasibility.changes}
    assert ("jobs.0.gpus.max=8",) in settings
    request.job["gpus"] = {"max": 8}
    assert api.solve_inputs(inputs_of(request.case())).status == "optimal"


def test_a_model_that_rules_out_a_plan_in_hand_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row that no whole number meets stands for a model that is too tight."""
    families = constraints.families()

    def impossible(build: Build) -> None:
        build.model.row("half", build.model.var("half", 0.25, 0.75, True) + 0, ">=", 0.25)

    monkeypatch.setattr(constraints, "families", lambda: (*families, impossible))
    case = resolve(inputs_of(Request(maximize="useful_gpus").case()))
    with pytest.raises(SolverError, match="rules out a plan that exists"):
        _by_models(case, 2e-6, Effort(), ties=True, known=())


@pytest.mark.exhaustive(keep=0, most=1)
@pytest.mark.parametrize(
    "settings",
    [
        ("budget.per_useful_gpu_hour=3.02 USD",),
        (
            "budget.per_million_tokens=6.2 USD",
            "objective={minimize: power}",
            "targets.min_gpus=500",
        ),
    ],
)
def test_money_per_work_is_proven_in_few_solves(settings: tuple[str, ...]) -> None:
    """The search must not peel thin slices off the range of useful work."""
    plan = api.solve(shipped.problem_files()["10MW"], settings=settings)
    assert plan.status == "optimal"
    assert plan.provenance.iterations < MOST_SOLVES


@pytest.mark.exhaustive(keep=0)
def test_a_bound_that_a_plan_disproves_is_searched_again() -> None:
    """At 9 MW the presolve of HiGHS 1.15.1 loses the best purchase, and a later plan shows it."""
    problem = shipped.problem_files()["10MW"]
    less, more = (
        api.solve(problem, settings=(f"site.facility_power={power} kW",)) for power in (9000, 9100)
    )
    assert less.status == more.status == "optimal"
    assert less.objective.value is not None and more.objective.value is not None
    assert less.objective.bound is not None
    assert less.objective.value <= less.objective.bound * (1 + 1e-6)
    assert less.objective.value <= more.objective.value * (1 + more.objective.indifference)


WITHOUT_TANGENTS = (0, 6, 10, 14, 19, 27, 28, 38, 39, 40)
"""Wide random problems of different objectives that have a plan and few purchases."""


def test_a_search_ends_with_a_proof_whatever_the_model_can_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No tangent is ever added, so that only splitting, down to single purchases, closes gaps."""
    cases = [resolve(inputs_of(random_case(seed, wide=True))) for seed in WITHOUT_TANGENTS]
    expected = [optimise(case, ties=False) for case in cases]
    monkeypatch.setattr(Master, "cut", lambda *_: 0)
    monkeypatch.setattr(Master, "cut_at", lambda *_: 0)
    found = [optimise(case, ties=False) for case in cases]
    assert {answer.status for answer in (*expected, *found)} == {"optimal"}
    values = [answer.value for answer in found]
    assert values == pytest.approx([answer.value for answer in expected], rel=2e-6)
    assert sum(a.iterations for a in found) > 2 * sum(a.iterations for a in expected)


@pytest.mark.exhaustive(keep=16, most=80)
@pytest.mark.parametrize("seed", range(71_000, 71_160))
def test_a_value_alone_is_that_of_the_whole_search(seed: int) -> None:
    """Without a choice among plans the model is held to better ones, and narrowed further."""
    try:
        case = resolve(inputs_of(random_case(seed, wide=seed % 4 == 0)))
    except InputError:  # it contradicts itself
        return
    alone, whole = optimise(case, ties=False), optimise(case)
    assert alone.status == whole.status
    if alone.best is not None and whole.best is not None:
        assert alone.bound is not None
        assert whole.bound is not None
        assert share(case, alone.best, whole.bound) <= 4e-6
        assert share(case, whole.best, alone.bound) <= 4e-6
