"""What enumeration says of one case: held against the search, with limits on write bandwidth."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from planner.case import Case, resolve
from planner.case.bandwidth import bought_nameplate
from planner.errors import InputError
from planner.optimizer.joint import optimise
from planner.optimizer.objective import LOGARITHMIC, measure
from planner.optimizer.operate import Run
from planner.optimizer.parametric import cells, enumerated, reaching
from tests.test_ways import with_levers
from tests.world.random_cases import inputs_of, random_case

GAP = 1e-4
EXACT = 1e-6
NOISE = 1e-5
COVERED = 6


def covered(first: int, *, most: int = COVERED) -> Iterator[tuple[int, Case]]:
    """Yield cases that enumeration covers, some of them with more or less to be written."""
    found, seed = 0, first
    while found < most:
        seed += 1
        try:
            case = resolve(inputs_of(random_case(seed)))
        except InputError:  # what is drawn does not always go together
            continue
        if not cells.covers(case) or case.objective not in LOGARITHMIC:
            continue
        best = optimise(case, gap=EXACT, ties=False).operation
        found += 1
        yield seed, case
        if best is not None:
            here = case.delivered_write * bought_nameplate(case.storage, best.units)[1]
            factor = random.Random(seed).uniform(0.3, 3.0)
            side = "most" if factor < 1.0 else "least"
            limits = replace(case.limits, **{f"{side}_write_gb_per_s": factor * here})
            yield seed, replace(case, limits=limits)


@pytest.mark.exhaustive(keep=3, most=20)
@pytest.mark.parametrize("chunk", range(40))
def test_the_best_plan_is_that_of_the_search(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settled = 0
    for seed, case in covered(40_000 + 1_000 * chunk):
        monkeypatch.setattr(cells, "MOST_MIXES", random.Random(seed).choice((8, 60, 6_000)))
        found, cold = enumerated(case, GAP), optimise(case, gap=EXACT, ties=False)
        if found is None:
            continue
        settled += 1
        assert found.status == cold.status, seed
        if found.operation is None:
            continue
        assert cold.value is not None and cold.bound is not None
        assert found.value is not None and found.bound is not None and found.gap is not None
        assert found.value <= cold.bound + NOISE, (seed, "better than any plan can be")
        assert cold.value <= found.bound + NOISE, (seed, "a plan passes the bound")
        assert found.gap <= GAP * (1 + NOISE)
        assert found.value == measure(case, case.objective)(found.operation)
    assert settled >= COVERED


@pytest.mark.exhaustive(keep=2, most=10)
@pytest.mark.parametrize("chunk", range(20))
def test_a_floor_is_reached_where_the_search_says_so(chunk: int) -> None:
    for seed, case in covered(90_000 + 1_000 * chunk):
        cold = optimise(case, gap=EXACT, ties=False)
        if cold.value is None or cold.bound is None:
            assert reaching(case, math.log(1e-6)) in ("none", "open"), seed
            continue
        below = reaching(case, cold.value - 0.01)
        assert below == "open" or isinstance(below, Run), seed
        if isinstance(below, Run):
            assert measure(case, case.objective)(below) >= cold.value - 0.01 - NOISE
        assert reaching(case, cold.bound + NOISE) in ("none", "open"), seed


def test_mixtures_of_two_items_are_filled_up_and_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer mixtures allowed than there are the fullest give the same best plan."""
    asked: list[bool] = []
    fullest = cells.Cells._fullest

    def recorded(self: cells.Cells, *given: object) -> object:
        mixes = fullest(self, *given)  # type: ignore[arg-type]
        asked.append(mixes is not None)
        return mixes

    monkeypatch.setattr(cells.Cells, "_fullest", recorded)
    compared = 0
    for seed, case in covered(70_000, most=20):
        monkeypatch.setattr(cells, "MOST_MIXES", 6_000)
        every = enumerated(case, EXACT)
        asked.clear()
        monkeypatch.setattr(cells, "MOST_MIXES", 12)
        few = enumerated(case, EXACT)
        if every is not None and few is not None and any(asked) and every.value is not None:
            compared += 1
            assert few.value == pytest.approx(every.value, abs=2 * EXACT), seed
    assert compared >= 3


def test_where_no_system_has_room_there_is_no_plan() -> None:
    """The interval follows from the time between interruptions, and there is nothing to bound."""
    case = resolve(inputs_of(with_levers(8_100_545)))
    assert case.job.interval.policy == "lost_work" and cells.covers(case)
    tight = replace(case, limits=replace(case.limits, it_power_kw=1e-3, facility_power_kw=1e-3))
    found = enumerated(tight, GAP)
    assert found is not None and found.status == "infeasible"
    assert reaching(tight, 0.0) == "none"


def test_what_enumeration_does_not_cover_is_left_open() -> None:
    seed, case = next(covered(1))
    several = replace(case, job=replace(case.job, max_types=2))
    assert (enumerated(several, GAP), reaching(several, 0.0)) == (None, "open"), seed
