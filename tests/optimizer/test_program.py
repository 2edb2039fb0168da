"""The integer program of a plan: known answers, agreement with the search, planted lies."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from planner import shipped
from planner.case import Case, resolve
from planner.errors import InputError, SolverError, VerificationError
from planner.loader import load
from planner.optimizer import Certificate, optimise, solvers
from planner.optimizer.objective import natural, without_dominated, without_idle_bursts
from planner.optimizer.proof import Proof, prove, prove_again
from planner.optimizer.solvers import Solved
from planner.optimizer.useful_work import Point, Team, UsefulWork
from tests.oracle.enumerate import best as enumerated_best
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_hardware import figure
from tests.world.random_jobs import together
from tests.world.requests import Request, gpu_system, price
from tests.world.solved import FILES, solved

WITH_A_PLAN = sorted(set(shipped.problem_files()) - {"infeasible_restore"})
FORMS = {"gpt3_octet": "demands", "megatron_1t": "demands"}
"""Both save synchronously."""


def searched(name: str) -> tuple[Case, Certificate]:
    """Return a shipped problem with the answer of the search."""
    case = resolve(load(FILES[name]))
    return case, optimise(case)


def by_hand(request: Request) -> tuple[Case, Certificate, Proof]:
    """Return a problem made by hand with its answer and proof."""
    case = resolve(inputs_of(request.case()))
    answer = optimise(case)
    return case, answer, prove(case, answer)


# Every shipped problem.


@pytest.mark.parametrize("name", WITH_A_PLAN)
def test_each_shipped_plan_is_proven_by_its_program(name: str) -> None:
    plan = solved(name)
    found, goal = plan.objective.program, plan.objective
    assert found is not None and goal.best is not None and plan.totals is not None
    assert (found.form, found.status) == (FORMS.get(name, "tangents"), "optimal")
    assert found.variables > 5 and found.rows > 10
    assert found.capex_usd == pytest.approx(plan.totals.capex_usd, rel=1e-6)
    assert found.capex_bound_usd is not None and plan.totals.capex_usd is not None
    assert found.capex_bound_usd <= plan.totals.capex_usd * (1.0 + 1e-6)
    if found.form == "tangents":
        assert found.bound is not None
        assert found.bound == pytest.approx(goal.best, rel=2e-6)
        sign = 1.0 if goal.sense == "maximize" else -1.0
        assert sign * (found.bound - goal.best) >= -1e-6 * goal.best


@pytest.mark.parametrize("name", ["enterprise_1MW", "full_bill", "infeasible_restore"])
def test_nothing_is_better_with_type_way_and_spares_free(name: str) -> None:
    case, answer = searched(name)
    case = without_idle_bursts(without_dominated(case), answer.operation, answer.untouched)
    known = None if answer.best is None else natural(case.objective, answer.best)
    again = prove_again(case, known, solver="highs")
    assert (again.better, again.open) == (None, ())
    late = prove_again(case, known, time_limit_s=0.0)
    assert late.parts == 0 and late.open and late.bound is None
    if known is not None:
        assert again.bound == pytest.approx(known, rel=3e-6)


def test_there_is_no_plan_where_no_storage_can_be_bought() -> None:
    """The second proof broke off in a sum over no appliances."""
    request = Request(maximize="gpus")
    request.items[1]["consumes"]["it_power"] = figure("51 kW")
    again = prove_again(resolve(inputs_of(request.case())), None, solver="highs")
    assert (again.bound, again.better, again.open, again.parts) == (None, None, (), 0)


# Answers worked out by hand.


def test_the_bill_is_the_cheapest_that_is_as_good() -> None:
    """200 kW hold 19 systems and two stores; a tenth of the work may go: 18 do 95 %, 17 do 89 %."""
    request = Request(maximize="useful_gpus")
    request.site["it_power"] = "200 kW"
    request.more["objective"]["indifference"] = 0.1
    _, answer, found = by_hand(request)
    assert found.capex_usd == pytest.approx(18 * 100_000 + 2 * 10_000)
    assert answer.untouched is not None and answer.untouched.gpus == 19 * 8


def test_a_plan_within_the_tolerance_of_its_floor_is_proven() -> None:
    case = replace(searched("space_limited")[0], indifference=0.0)
    least = math.exp(optimise(case).best or 0.0) * (1.0 + 2e-8)
    case = replace(case, limits=case.limits.replace_values(min_useful_pflops=least))
    assert prove(case, optimise(case)).capex_usd is not None


# The search against the program: lies are caught.


def test_a_plan_that_does_a_little_less_is_refused() -> None:
    """A best plan 0.1 % worse than there is, stated as the best."""
    case, answer = searched("hall_10MW")
    best = answer.untouched
    assert best is not None and answer.best is not None
    less = replace(best, goodput=best.goodput * 0.999)
    lie = replace(answer, untouched=less, best=answer.best + math.log(0.999))
    with pytest.raises(VerificationError, match=r"useful work: the integer program says 3,454\."):
        prove(case, lie)


def test_a_bill_that_is_not_the_cheapest_is_refused() -> None:
    case, answer = searched("hall_10MW")
    assert answer.untouched is not None  # it costs more, and is as good as it has to be
    with pytest.raises(VerificationError, match="the integer program says 261"):
        prove(case, replace(answer, operation=answer.untouched))


def test_a_way_that_the_search_left_out_is_found() -> None:
    """The program of the way taken has nothing to find; that with the way free has."""
    request = Request(maximize="useful_gpus")
    request.items.append(gpu_system("better", 16, "10 kW"))
    request.prices["better"] = price("150000")
    whole = resolve(inputs_of(request.case()))
    only = tuple(system for system in whole.systems if system.id == "gpu")
    answer = optimise(replace(whole, systems=only))
    known = math.exp(answer.best or 0.0)
    again = prove_again(whole, known, solver="highs")
    assert again.better is not None and again.better > 1.9 * known


def test_a_false_optimum_is_asked_again_and_then_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As HiGHS gave at tolerances of 1e-8: "Optimal", gap 0, and a plan is better."""
    case = replace(searched("space_limited")[0], indifference=0.0)
    answer, solve = optimise(case), solvers.solve
    presolved: list[bool] = []

    def lying(problem: Any, *given: Any, **named: Any) -> Solved:
        presolved.append(named["presolve"])
        found = solve(problem, *given, **named)
        if named["presolve"]:
            return replace(found, objective=100.0, bound=100.0)
        return found

    monkeypatch.setattr(solvers, "solve", lying)
    honest = prove(case, answer)
    assert honest.bound == pytest.approx(434.693648, rel=1e-6) and False in presolved
    monkeypatch.setattr(
        solvers, "solve", lambda *given, **named: Solved("optimal", 100.0, 100.0, {"x": 1.0})
    )
    with pytest.raises(SolverError, match="HiGHS says no better than 100 PFLOP/s, yet a plan has"):
        prove(case, answer)


# Random problems.


def check(case: Case) -> str:
    """Return what the proof of a case came to; an error where program and search disagree."""
    answer = optimise(case)
    if answer.operation is None:
        return answer.status
    found = prove(case, answer)
    assert found.capex_gap is not None and found.capex_gap <= 1e-6
    assert found.gap is None or found.gap <= 2e-6
    assert found.form == "demands" or found.bound is not None
    return found.form


@pytest.mark.exhaustive(keep=2, most=20)
@pytest.mark.parametrize("chunk", range(40))
def test_program_and_search_agree_on_random_problems(chunk: int) -> None:
    forms = [check(resolve(inputs_of(random_case(seed)))) for seed in chunk_of(chunk, 15)]
    assert "tangents" in forms


@pytest.mark.exhaustive(keep=3, most=20)
@pytest.mark.parametrize("chunk", range(40))
def test_program_and_search_agree_with_every_lever(chunk: int) -> None:
    for seed in chunk_of(chunk, 6):
        try:
            case = resolve(inputs_of(together(seed)))
        except InputError:
            continue
        check(case)


def chunk_of(number: int, size: int) -> range:
    return range(number * size, (number + 1) * size)


@pytest.mark.exhaustive(keep=1, most=8)
@pytest.mark.parametrize("chunk", range(8))
def test_no_bound_is_beaten_by_enumeration(chunk: int) -> None:
    """With types, ways and spares free: what was enumerated without the program."""
    for seed in chunk_of(chunk, 8):
        made = random_case(seed)
        case = resolve(inputs_of(made))
        truth = enumerated_best(
            made.problem, made.items, made.families, made.prices, made.discounts
        )
        again = prove_again(case, None if truth is None else truth.top, solver="highs")
        assert again.better is None, (seed, truth, again)
        if truth is not None and again.bound is not None:
            assert again.bound == pytest.approx(truth.top, rel=3e-6)


# Tangents.


def points(useful: UsefulWork, random: Random, count: int) -> list[Point]:
    """Return operating points in which work is worth having: goodput of a fifth or more."""
    low, high = useful.gpus_range
    size, found = useful.job.checkpoint_gb, list[Point]()
    for _ in range(50 * count):
        gpus = math.exp(random.uniform(math.log(max(low, 1.0)), math.log(min(high, 1e5))))
        write, read = (size / 60.0 * math.exp(random.uniform(-4.0, 4.0)) for _ in range(2))
        safe = write * random.choice((1.0, 1.0, 0.7))
        endured = size * 86.4 / 600.0 * math.exp(random.uniform(-3.0, 3.0))
        at = Point(gpus, write, read, safe, endured)
        if (useful.goodput(at) or 0.0) > 0.2:
            found.append(at)
    return found[:count]


@pytest.mark.exhaustive(keep=2, most=20)
@pytest.mark.parametrize("chunk", range(30))
def test_no_tangent_cuts_off_useful_work(chunk: int) -> None:
    """Concavity is proven piece by piece (docs/optimisation.md) and tried for ever."""
    random, tried = Random(chunk), 0
    for seed in chunk_of(chunk, 5):
        for make in (random_case, together):
            try:
                case = resolve(inputs_of(make(seed)))
            except InputError:
                continue
            for useful in concave_works(case, random):
                tried += holds_everywhere(useful, random)
    assert tried > 300


def concave_works(case: Case, random: Random) -> list[UsefulWork]:
    found = []
    for system in case.systems:
        for way in system.ways[:2]:
            for mode in case.job.modes:
                levels = case.job.levels
                every = random.choice(levels.every) if mode == "local" and levels else 1
                spares = random.choice((0, 1, 3, 8))
                useful = UsefulWork(case, Team(((system, way),), mode, every, spares, spares))
                low, high = useful.gpus_range
                if useful.concave and max(low, 1.0) <= min(high, 1e5):
                    found.append(useful)
    return found


def holds_everywhere(useful: UsefulWork, random: Random) -> int:
    some, tried = points(useful, random, 7), 0
    most = Point(*(max(each) for each in zip(*some, strict=True))) if some else None
    for at in some:
        assert most is not None
        tangent = useful.tangent(at, "gpus", most)
        for other in some if tangent is not None else ():
            assert tangent is not None
            value = useful.value(other, "gpus") or 0.0
            assert tangent.evaluate(other) >= value * (1.0 - 1e-7), (useful.team, at, other)
            tried += 1
    return tried
