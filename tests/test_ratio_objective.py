"""Money per useful work as the objective: enumeration, both solvers, and what must always hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner import api
from planner.case import resolve
from planner.errors import InputError
from planner.figures import RATIOS
from planner.inputs import Inputs
from planner.optimizer.optimise import optimise
from planner.schema.problem import Budget, Objective, Term
from planner.studies.why_not import why_not
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.test_ways import with_levers
from tests.world.files import FILES, PROBLEM
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_repair import repaired_case
from tests.world.requests import Request, gpu_system, price, store

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
            plan = api.solve_inputs(inputs_of(case), explain=False)
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
        plan = api.solve_inputs(inputs_of(case), explain=False)
        solved += plan.totals is not None
        wrong += [f"seed {seed}: {said}" for said in disagreements(case, plan, truth)]
    assert not wrong, "\n".join(wrong)
    assert solved >= 2


def test_a_type_without_a_measured_rate_is_no_plan() -> None:
    """Of two types only one that is too dear has a rate: there is no money per token without."""
    case = ratio_case(92_016, "usd_per_million_tokens", with_levers(92_016))
    inputs = inputs_of(case)
    plan = api.solve_inputs(inputs, explain=False)
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    assert (plan.status, truth) == ("infeasible", None)
    assert [reason for _, reason in resolve(inputs).not_considered] == [
        "not known: a measured rate of dense_70b in fp8"
    ]


def value_of(inputs: Inputs) -> float:
    """Return the least ratio of a problem, infinite where it has no plan."""
    end = optimise(resolve(inputs), ties=False)
    assert end.status in ("optimal", "infeasible")
    return math.inf if end.value is None else math.exp(end.value)


def cheaper(case: Case, share: float) -> Case:
    """Return a case with every price at a share of what it was."""
    prices = {
        name: price.model_copy(update={"list_usd": round(price.list_usd * share, 2)})
        for name, price in case.prices.items()
    }
    return replace(case, prices=prices)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("seed", [s for s in range(70_001, 70_019) if s not in TOO_MANY])
def test_what_makes_plans_cheaper_or_longer_never_raises_the_ratio(seed: int) -> None:
    for name in NAMES:
        case = ratio_case(seed, name)
        base = value_of(inputs_of(case))
        assert value_of(inputs_of(cheaper(case, 0.7))) <= base * (1 + 1e-6)
        term = case.problem.term
        assert term is not None
        cheap = term.model_copy(update={"electricity_usd_per_kwh": 0.0})
        free = replace(case, problem=case.problem.model_copy(update={"term": cheap}))
        assert value_of(inputs_of(free)) <= base * (1 + 1e-6)


def test_no_plan_of_another_objective_has_a_better_ratio() -> None:
    """The plan of most useful work, of least TCO and of least ratio: none beats the last."""
    tried = 0
    for seed in range(70_000, 70_016):
        if seed in TOO_MANY:
            continue
        name = NAMES[seed % 2]
        case = ratio_case(seed, name)
        least = api.solve_inputs(inputs_of(case), explain=False)
        for goal in ({"maximize": "goodput"}, {"minimize": "tco"}):
            other = case.problem.model_copy(update={"objective": Objective.model_validate(goal)})
            plan = api.solve_inputs(inputs_of(replace(case, problem=other)), explain=False)
            assert (plan.totals is None) == (least.totals is None)
            if plan.totals is not None and least.totals is not None:
                tried += 1
                bound = least.objective.bound
                assert bound is not None
                assert getattr(plan.totals, name) >= bound * (1 - 1e-9)
    assert tried >= 8


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
        totals = api.solve_inputs(inputs_of(budgeted), explain=False).totals
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
            plan = api.solve_inputs(inputs_of(case), explain=False)
            truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
            wrong += [f"seed {seed}: {said}" for said in disagreements(case, plan, truth)]
    assert not wrong, "\n".join(wrong)


RATIO_NEEDS = (
    ("usd_per_useful_gpu_hour", "term", "the cost of a useful GPU-hour needs a term"),
    ("usd_per_million_tokens", "term", "the cost of a million tokens needs a term"),
    ("usd_per_million_tokens", "mfu", "need the model FLOP/s utilisation"),
    ("usd_per_million_tokens", "parameters", "cost of a million tokens needs the parameters"),
)
WITHOUT = {
    "term": (("term: {years: 4, electricity: 0.08 USD/kWh}\n", ""),),
    "mfu": (("mfu: 40 %", "tokens: 1 T"),),
    "parameters": (
        ("    parameters: 70 B\n    bytes_per_parameter: 14\n", ""),
        ("      mode: async\n", "      mode: async\n      size: 980 GB\n"),
    ),
}


@pytest.mark.parametrize(("name", "missing", "said"), RATIO_NEEDS)
def test_what_a_ratio_needs_is_asked_for_with_its_line(
    tmp_path: Path, name: str, missing: str, said: str
) -> None:
    text = PROBLEM.replace("maximize: goodput", f"minimize: {name}")
    for old, new in WITHOUT[missing]:
        assert old in text
        text = text.replace(old, new)
    for file, content in {**FILES, "problem.yaml": text}.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        api.solve(tmp_path / "problem.yaml")
    (finding,) = error.value.findings
    assert said in finding.message
    assert finding.line is not None and finding.fix


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
    with pytest.raises(InputError, match="where what is owned runs for nothing"):
        api.solve_inputs(inputs_of(case))
    paid = by_hand(installed=True).case()
    assert api.solve_inputs(inputs_of(paid)).status == "optimal"


def test_the_least_cost_of_a_gpu_hour_by_hand() -> None:
    """Two stores of 5 kW serve any number of 10 kW systems; 50 kW leave room for four of these.

    Goodput falls so slowly that fixed costs decide: all four, 40 kW + 10 kW.
    """
    plan = api.solve_inputs(inputs_of(by_hand().case()))
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


def test_hours_of_several_types_are_warned_of() -> None:
    request = by_hand()
    said = api.solve_inputs(inputs_of(request.case())).warnings
    assert not any("an hour of one GPU type" in text for text in said)
    request.items.append(gpu_system("slow", 8, "10 kW", "100 TFLOP/s"))
    request.prices["slow"] = price("90000")
    plan = api.solve_inputs(inputs_of(request.case()))
    assert any("an hour of one GPU type is not worth an hour of" in w for w in plan.warnings)
    assert [line.sku for line in plan.lines if line.section == "Compute"] == ["slow"]


@pytest.mark.parametrize(("tokens", "warned"), [("1.5 T", False), ("30 T", True)])
def test_training_that_outlasts_the_term_is_told(tokens: str, warned: bool) -> None:
    """The least cost of a token may be that of a small cluster, which trains for decades."""
    request = by_hand()
    request.job |= {"parameters": "7 B", "training": {"tokens": tokens, "mfu": "40 %"}}
    plan = api.solve_inputs(inputs_of(request.case()))
    days = plan.jobs[0].days_to_train
    assert days is not None and (days > 2 * 365) is warned
    said = [text for text in plan.warnings if "beyond the term of 2 years" in text]
    assert len(said) == warned
    if warned:
        assert f"{2 * 365 / days:.0%} of its tokens" in said[0]
        assert "targets.max_days_to_train" in said[0]


def test_the_price_at_which_a_rival_ties_is_where_the_ratios_meet() -> None:
    """The other box is as fast and draws as much: it enters where it costs no more."""
    request = by_hand()
    request.items.append(store("other", "fs"))
    request.prices["other"] = price("12500")
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs)
    found = why_not(inputs, plan, api.Options(), asked=("other",))
    (item,) = [each for each in found.items if each.sku == "other"]
    assert item.break_even is not None
    assert item.break_even.enters_at_usd == pytest.approx(10_000.0, abs=1.0)
