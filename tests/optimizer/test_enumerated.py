"""What enumeration settles is what models prove: the best value, and the same plan of equals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from planner import api
from planner.case import Case, resolve
from planner.case.model import ObjectiveName, Policy
from planner.errors import InputError
from planner.limits import SUPPLIES
from planner.optimizer.enumerated import enumerated
from planner.optimizer.goals import width_of
from planner.optimizer.joint import LOOSE, Certificate, _by_models, fitted
from planner.optimizer.objective import TIE_BREAKS, measure
from planner.optimizer.operate import Run
from planner.optimizer.parametric import bands, boxes
from planner.optimizer.solver import Effort
from planner.optimizer.ways import needed
from tests.test_all_levers import together
from tests.test_ways import with_levers
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_repair import repaired_case

GAP = 2e-6
SEEDS = range(3000, 3100)
MAKERS = {
    "plain": random_case,
    "wide": lambda seed: random_case(seed, wide=True),
    "repaired": lambda seed: repaired_case(seed, wide=False),
    "levers": with_levers,
    "together": together,
}


def cases(kind: str, seed: int) -> Iterator[Case]:
    """Yield a random case asked for work; with something to give away; with a vendor preferred."""
    try:
        case = needed(resolve(inputs_of(MAKERS[kind](seed))))
    except InputError:  # what is drawn does not always go together
        return
    # Where only GPUs counted a type without a rate stands in the case, too.
    counted = case.job.mfu is not None and all(way.tflops_per_gpu > 0 for way in case.ways)
    asked: ObjectiveName = "goodput" if counted else "useful_gpus"
    case = freed(replace(case, objective="gpus" if seed % 5 == 0 else asked, policy=Policy()))
    yield case
    yield replace(case, indifference=0.02)
    named = {offer.id for offer in case.offers()[:: 1 + seed % 3]}
    policy = Policy(disliked=tuple(sorted(named)), within=0.2)
    yield replace(case, policy=policy, indifference=0.01)
    most = enumerated(replace(case, objective="useful_gpus"), GAP, ties=False)
    if most is None or most.best is None:
        return
    floor = 0.6 * math.exp(most.best)
    limits = case.limits.with_values(min_useful_gpus=floor)
    least: tuple[ObjectiveName, ...] = ("cost", "power", "tco")
    for objective in least:
        given = 0.0 if objective == "cost" else 0.01  # under cost it changes nothing
        yield replace(case, objective=objective, limits=limits, indifference=given)
    rates = replace(case.rates, years=4.0, factor=3.5)
    ratio: ObjectiveName = "usd_per_useful_gpu_hour"
    if counted and case.job.active_parameters is not None and seed % 2:
        ratio = "usd_per_million_tokens"
    yield replace(case, objective=ratio, rates=rates)
    yield replace(case, objective=ratio, rates=rates, limits=limits, indifference=0.01)
    yield replace(case, objective=ratio, rates=rates, policy=policy)


def freed(case: Case) -> Case:
    """Return a case without what enumeration does not cover."""
    limits = case.limits.with_values(per_useful_gpu_hour=None, per_million_tokens=None)
    return replace(
        case,
        must_use=(),
        exact_families=None,
        limits=limits,
        job=replace(case.job, max_types=1),
    )


def ranked(case: Case, run: Run) -> list[float]:
    return [measure(case, name)(run) for name in TIE_BREAKS]


def faults(case: Case, proven: Certificate) -> Iterator[str]:
    """Yield what enumeration says otherwise of a case than models that are solved."""
    mine = enumerated(case, GAP, ties=True)
    if mine is None or not mine.settled:
        return
    if mine.taken.operation is None or proven.operation is None:
        if (mine.taken.operation is None) != (proven.status == "infeasible"):
            yield f"{mine.taken} where models say {proven.status}"
        return
    assert mine.best is not None
    assert mine.taken.bound is not None
    assert proven.best is not None
    if abs(mine.best - proven.best) > 1e-6 * max(1.0, abs(proven.best)):
        yield f"best {mine.best}, by models {proven.best}"
    passed = proven.best - mine.taken.bound if case.maximise else mine.taken.bound - proven.best
    if passed > 1e-7 * max(1.0, abs(proven.best)):
        yield f"the bound {mine.taken.bound} is passed by {proven.best}"
    pairs = [(mine.taken.operation, proven.operation)]
    if proven.untouched is not None and mine.taken.untouched is not None:
        pairs.append((mine.taken.untouched, proven.untouched))
    for one, other in pairs:
        edge = given_away(case, proven.best, other)
        if not (bought(one) == bought(other) or edge or beside(case, one, other)):
            yield f"{bought(one)}, by models {bought(other)}"


def bought(run: Run) -> Mapping[str, object]:
    return {name: count for name, count in run.units.items() if count} | {"gpus": run.gpus}


def given_away(case: Case, best: float, run: Run) -> bool:
    """Say whether models, whose rows have a tolerance, give away a little more than may be."""
    behind = best - measure(case, case.objective)(run)
    behind = behind if case.maximise else -behind
    edges = (width_of(case.objective, best, share) for share in (1e-6, case.given_away))
    return any(edge < behind <= edge + LOOSE for edge in edges)


def beside(case: Case, one: Run, other: Run) -> bool:
    """Say whether tie-breaks tell two plans apart by no more than they are held to."""
    pairs = zip(ranked(case, one), ranked(case, other), strict=True)
    return all(ours <= theirs * (1 + 2.5e-6) for ours, theirs in pairs)


@pytest.mark.exhaustive(keep=5, most=60)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", MAKERS)
def test_enumeration_says_what_models_prove(kind: str, seed: int) -> None:
    same_as_models(cases(kind, seed))


@pytest.mark.exhaustive(keep=5, most=30)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", MAKERS)
def test_boxes_say_what_models_prove(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where so many purchases fit that boxes are halved; with 30 times as much of all; and with so
    many products that each storage item alone goes first."""
    same_as_models(larger(case) for case in cases(kind, seed + 1_000))
    monkeypatch.setattr(boxes, "AT_ONCE", -1)
    same_as_models(cases(kind, seed + 1_000))
    monkeypatch.setattr(bands, "MANY", 0)
    same_as_models(cases(kind, seed + 1_000))


def larger(case: Case) -> Case:
    """Return a case with 30 times as much of every supply."""
    most = {each.field: case.limits[each.field] for each in SUPPLIES}
    wide = {name: 30 * limit for name, limit in most.items() if limit is not None}
    return replace(case, limits=case.limits.with_values(**wide))


def test_time_holds_for_enumeration() -> None:
    """The best plan so far is taken, with the bound there is."""
    case = freed(needed(resolve(inputs_of(random_case(3004)))))
    found = enumerated(case, GAP, ties=True, effort=Effort(deadline=-math.inf))
    assert found is not None
    assert not found.settled
    whole = enumerated(case, GAP, ties=True)
    assert whole is not None
    assert whole.settled


def test_enumeration_counts_as_work() -> None:
    case = freed(needed(resolve(inputs_of(random_case(3003)))))
    effort = Effort()
    assert enumerated(case, GAP, ties=False, effort=effort) is not None
    assert 0.0 < effort.work < 1.0


@pytest.mark.parametrize("objective", ["cost", "power", "tco"])
def test_a_plan_that_is_known_limits_a_hall_that_has_no_limit(objective: ObjectiveName) -> None:
    """Models took minutes where no idle limit was left: 20,000 systems of each type fitted."""
    problem = Path(__file__).parents[2] / "problems" / "enterprise_1MW.yaml"
    case = needed(replace(resolve(api.load(problem)), objective=objective))
    endless = replace(
        case, limits=case.limits.with_values(**{each.field: None for each in SUPPLIES})
    )
    assert enumerated(endless, GAP, ties=True) is None
    within = enumerated(case, GAP, ties=True)
    assert within is not None and within.taken.operation is not None
    known = fitted(endless, within.taken.operation)
    assert known is not None
    found, wide = (
        enumerated(endless, GAP, [known], ties=True),
        enumerated(larger(case), GAP, ties=True),
    )
    assert found is not None and wide is not None and found.settled and wide.settled
    assert (found.best, found.taken.operation) == (wide.best, wide.taken.operation)


def same_as_models(cases: Iterator[Case]) -> None:
    for case in cases:
        if enumerated(case, GAP, ties=True) is None:
            return
        proven = _by_models(case, GAP, Effort(), ties=True, known=())
        assert not [*faults(case, proven)]


def test_no_system_that_fits_is_no_plan() -> None:
    """Cells of which there are none are bounded, too."""
    case = freed(needed(resolve(inputs_of(random_case(3003)))))
    none = replace(case, systems=tuple(replace(system, high=0) for system in case.systems))
    found = enumerated(none, GAP, ties=True)
    assert found is not None
    assert found.settled
    assert found.taken.operation is None
