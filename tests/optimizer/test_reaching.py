"""Enumeration with limits on write bandwidth, and plans that reach a floor: as models say."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from planner.case import Case, resolve
from planner.case.bandwidth import bought_nameplate
from planner.errors import InputError
from planner.optimizer.enumerated import enumerated
from planner.optimizer.joint import Certificate, _by_models
from planner.optimizer.objective import LOGARITHMIC, measure
from planner.optimizer.operate import Run
from planner.optimizer.parametric import boxes, cells
from planner.optimizer.parametric.reaching import Reach
from planner.optimizer.purchase import given
from planner.optimizer.solver import Effort
from tests.optimizer.test_enumerated import faults
from tests.test_ways import with_levers
from tests.world.random_cases import inputs_of, random_case

EXACT = 2e-6
NOISE = 1e-5
COVERED = 4


def by_models(case: Case, *, ties: bool) -> Certificate:
    return _by_models(case, EXACT, Effort(), ties=ties, known=())


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
        best = by_models(case, ties=False).operation
        found += 1
        yield seed, case
        if best is not None:
            here = case.delivered_write * bought_nameplate(case.storage, best.units)[1]
            factor = random.Random(seed).uniform(0.3, 3.0)
            side = "most" if factor < 1.0 else "least"
            limits = case.limits.with_values(**{f"{side}_write_gb_per_s": factor * here})
            yield seed, replace(case, limits=limits)


@pytest.mark.exhaustive(keep=3, most=10)
@pytest.mark.parametrize("chunk", range(40))
def test_the_best_plan_is_that_of_models(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settled = 0
    for seed, case in covered(40_000 + 1_000 * chunk):
        # Boxes are halved to the end, or purchases looked at one by one.
        monkeypatch.setattr(boxes, "AT_ONCE", random.Random(seed).choice((-1, 60, 40_000)))
        said = [*faults(case, by_models(case, ties=True))]
        assert not said, (seed, said)
        found = enumerated(case, EXACT, ties=True)
        settled += found is not None and found.settled
    assert settled >= COVERED


@pytest.mark.exhaustive(keep=2, most=6)
@pytest.mark.parametrize("chunk", range(20))
def test_a_floor_is_reached_where_models_say_so(chunk: int) -> None:
    for seed, case in covered(90_000 + 1_000 * chunk):
        cold = by_models(case, ties=False)
        if cold.value is None or cold.bound is None:
            assert Reach().plan(case, math.log(1e-6)) in ("none", "open"), seed
            continue
        below = Reach().plan(case, cold.value - 0.01)
        assert below == "open" or isinstance(below, Run), seed
        if isinstance(below, Run):
            assert measure(case, case.objective)(below) >= cold.value - 0.01 - NOISE
        assert Reach().plan(case, cold.bound + NOISE) in ("none", "open"), seed


def test_mixtures_of_two_items_are_filled_up_and_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer mixtures allowed than there are the fullest give the same best plan."""
    asked: list[bool] = []
    fullest = cells.Cells._fullest

    def recorded(self: cells.Cells, *given: Any) -> object:
        found = fullest(self, *given)
        asked.append(bool(found[2].all()))
        return found

    monkeypatch.setattr(cells.Cells, "_fullest", recorded)
    monkeypatch.setattr(cells.Cells, "most_mixes", 12)
    compared = 0
    for seed, case in covered(70_000, most=40):
        every = enumerated(case, EXACT, ties=False)
        if every is None or not every.settled or every.best is None:
            continue
        asked.clear()
        above = Reach().plan(case, every.best + 2 * EXACT)
        if any(asked) and above != "open":
            compared += 1
            assert above == "none", seed
            assert isinstance(Reach().plan(case, every.best - 2 * EXACT), Run), seed
    assert compared >= 3


def test_where_no_system_has_room_no_floor_is_reached() -> None:
    """The interval follows from the time between interruptions, and there is nothing to bound."""
    case = resolve(inputs_of(with_levers(8_100_545)))
    assert case.job.interval.policy == "lost_work" and cells.covers(case)
    tight = replace(case, limits=case.limits.with_values(it_power_kw=1e-3, facility_power_kw=1e-3))
    assert Reach().plan(tight, 0.0) == "none"


def test_what_enumeration_does_not_cover_is_left_open() -> None:
    _, case = next(covered(1))
    assert Reach().plan(replace(case, job=replace(case.job, max_types=2)), 0.0) == "open"


def test_what_one_question_found_out_changes_no_other_answer() -> None:
    asked = 0
    for seed, case in covered(95_000, most=25):
        draw, one = random.Random(seed), Reach()
        best = enumerated(case, EXACT, ties=False)
        if best is None or best.best is None:
            continue
        supplies = given(case.limits)
        for _ in range(8):
            tight = {each.field: case.limits.given(each.field) for each in supplies}
            tight |= {field: most * draw.uniform(0.4, 1.0) for field, most in tight.items()}
            if draw.random() < 0.3:
                tight[draw.choice(("most_write_gb_per_s", "least_write_gb_per_s"))] = 10.0
            held = case.under(case.limits.with_values(**tight))
            floor = best.best - draw.choice((0.0, 0.01, 0.3, 1.0))
            assert one.plan(held, floor) == Reach().plan(held, floor), seed
            asked += 1
    assert asked >= 80
