"""Money per useful work as the objective: enumeration, both solvers, and what must always hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from planner.errors import InputError
from planner.figures import RATIOS
from planner.schema.problem import Budget, Objective, Term
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.test_ways import with_levers
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_repair import repaired_case
from tests.world.requests import Request
from tests.world.solved import solve

NAMES = sorted(RATIOS)
LIMITED = {
    "per_useful_gpu_hour_usd": "usd_per_useful_gpu_hour",
    "per_million_tokens_usd": "usd_per_million_tokens",
}
CHUNKS, SEEDS_PER_CHUNK = 10, 10
FIRST_SEED = 70_000
TOO_MANY = frozenset({70_006})
"""Seeds whose enumeration takes minutes: hardly a purchase can be left out of it."""


def ratio_case(seed: int, name: str, case: Case | None = None) -> Case:
    """Return the random case of a seed with a ratio as its objective, and what that needs."""
    random, case = Random(seed), case or random_case(seed)
    problem = case.problem
    goal = Objective.model_construct(minimize=name)  # type: ignore[arg-type]
    if random.random() < 0.3:
        share = round(random.uniform(0.001, 0.05), 4)
        goal = Objective.model_construct(minimize=name, indifference=share)  # type: ignore[arg-type]
    term = problem.term or Term.model_construct(
        years=round(random.uniform(1.0, 6.0), 1),
        electricity_usd_per_kwh=round(random.uniform(0.02, 0.3), 3),
        discount_rate=random.choice((0.0, 0.05)),
    )
    job = problem.job
    given: dict[str, Any] = {}
    if job.training.mfu is None and job.training.model is None:
        given["mfu"] = round(random.uniform(0.2, 0.6), 2)
    if job.parameters is None and job.training.active_parameters is None:
        given["active_parameters"] = random.choice((7e9, 7e10, 1e12))
    job = job.model_copy(update={"training": job.training.model_copy(update=given)})
    update = {"objective": goal, "term": term, "jobs": (job,)}
    return replace(case, problem=problem.model_copy(update=update))


@pytest.mark.exhaustive(keep=2, most=5)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_least_ratio_is_that_of_the_enumeration(chunk: int) -> None:
    start = FIRST_SEED + chunk * SEEDS_PER_CHUNK
    wrong, solved = [], 0
    for seed in sorted({*range(start, start + SEEDS_PER_CHUNK)} - TOO_MANY):
        for name in NAMES:
            case = ratio_case(seed, name)
            truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
            plan = solve(inputs_of(case), explain=False)
            wrong += [f"seed {seed}, {name}: {said}" for said in disagreements(case, plan, truth)]
            if plan.totals is not None:
                solved += 1
                value = getattr(plan.totals, name)
                assert plan.objective.value == pytest.approx(value, rel=1e-9)
    assert not wrong, "\n".join(wrong)
    assert solved >= 4


@pytest.mark.exhaustive(keep=2, most=5)
@pytest.mark.parametrize("levers", [with_levers, repaired_case])
@pytest.mark.parametrize("chunk", range(5))
def test_the_least_ratio_with_levers_is_that_of_the_enumeration(
    levers: Callable[[int], Case], chunk: int
) -> None:
    """Set points, rates and laws of scale, or repair and spares: decided with the purchase."""
    wrong, solved = [], 0
    for seed in range(82_000 + 8 * chunk, 82_008 + 8 * chunk):
        case = ratio_case(seed, NAMES[seed % 2], levers(seed))
        truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
        plan = solve(inputs_of(case), explain=False)
        solved += plan.totals is not None
        wrong += [f"seed {seed}: {said}" for said in disagreements(case, plan, truth)]
    assert not wrong, "\n".join(wrong)
    assert solved >= 2


def limited(seed: int, case: Case) -> Case | None:
    """Return a case whose money per useful work may be about what its best plan pays without that
    limit; None where it has no plan."""
    random, objective = Random(f"limited {seed}"), case.problem.objective
    case = ratio_case(seed, NAMES[seed % 2], case)
    if seed % 3:
        case = replace(case, problem=case.problem.model_copy(update={"objective": objective}))
    free = Budget.model_construct(**{**dict(case.problem.budget or ()), **dict.fromkeys(LIMITED)})
    budgeted = replace(case, problem=case.problem.model_copy(update={"budget": free}))
    try:
        totals = solve(inputs_of(budgeted), explain=False).totals
    except InputError:  # what is demanded cannot be planned
        return None
    if totals is None:
        return None
    name, figure = random.choice([*LIMITED.items()])
    paid = getattr(totals, figure)
    assert paid is not None
    held = free.model_copy(update={name: paid * random.choice((0.9, 0.98, 0.999, 1.01))})
    return replace(case, problem=case.problem.model_copy(update={"budget": held}))


@pytest.mark.exhaustive(keep=2, most=5)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_limit_on_money_per_work_is_that_of_the_enumeration(chunk: int) -> None:
    start, wrong = FIRST_SEED + 1_000 + chunk * SEEDS_PER_CHUNK, []
    for seed in range(start, start + SEEDS_PER_CHUNK):
        case = limited(seed, with_levers(seed) if seed % 2 else random_case(seed))
        if case is not None:
            plan = solve(inputs_of(case), explain=False)
            truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
            wrong += [f"seed {seed}: {said}" for said in disagreements(case, plan, truth)]
    assert not wrong, "\n".join(wrong)


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
