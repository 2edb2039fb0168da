"""Boxes of purchases: what is said of a box holds for every purchase in it, with every lever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.case import Case, resolve
from planner.errors import InputError
from planner.loader import load
from planner.optimizer import Question, optimise
from planner.optimizer.boxes import Boxes, Space
from planner.optimizer.objective import TIES, Columns, for_work
from planner.optimizer.search import Effort, Point, divide_among_types
from planner.optimizer.useful_work import BestUse
from planner.optimizer.work import Uses, list_modes
from planner.shipped import problem_files
from tests.world.random_cases import Case as Drawn
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_jobs import together
from tests.world.requests import Request
from tests.world.solved import solve

SIDE = 400
"""Boxes hold no more than so many of anything: of the rest the same is said."""
NOISE = 1e-9

FAMILIES: dict[str, Callable[[int], Drawn]] = {
    "plain": random_case,
    "wide": lambda seed: random_case(seed, wide=True),
    "levers": together,
}


def cases(family: str, first: int, count: int) -> Iterator[Case]:
    for seed in range(first, first + count):
        try:
            case = resolve(inputs_of(FAMILIES[family](seed)))
        except InputError:  # what is drawn does not always go together
            continue
        if case.systems and case.storage:
            yield case


def spaces(case: Case) -> list[Space]:
    work = for_work(case)
    columns = Columns.for_case(case, {*TIES, "tco_usd"})
    return [Space(one, mode, columns) for one, mode in list_modes(work)]


def drawn(space: Space, rng: np.random.Generator, count: int = 120) -> tuple[Boxes, Boxes]:
    """Return random boxes of a space, and a random purchase in each."""
    boxes = space.whole(np.zeros(1, dtype=np.int64))
    if not boxes.size:
        return boxes, boxes
    boxes = boxes.take(rng.integers(0, boxes.size, count))
    low, high = boxes.low, np.minimum(boxes.high, boxes.low + SIDE)

    def between(start: Any, end: Any) -> Any:
        return start + np.floor(rng.random(start.shape) * (end - start + 1) * 0.999).astype(int)

    least = between(low, np.maximum(low, (high * rng.random(low.shape)).astype(int)))
    most = between(least, high)
    here = between(least, most)
    return boxes._replace(low=least, high=most), boxes._replace(low=here, high=here)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("chunk", range(5))
@pytest.mark.parametrize("family", FAMILIES)
def test_no_purchase_does_more_or_takes_less_than_its_box(family: str, chunk: int) -> None:
    rng, tested = np.random.default_rng(chunk), 0
    for case in cases(family, 9_860_000 + 1_000 * chunk, 12):
        for space in spaces(case):
            boxes, points = drawn(space, rng)
            if not boxes.size:
                continue
            endless = np.full((len(space.columns.names), boxes.size), np.inf)
            least, _ = space.taken(boxes, boxes.low, least=True)
            top = space.top(boxes, endless, least)
            kept, corner = space.points(
                points._replace(owner=np.arange(points.size)),
                endless,
                lambda _, at: at.score > -1e99,
            )
            places = kept.owner
            tested += len(places)
            alone = ~space.work.several[kept.team]
            beyond = corner.score[alone] - top.score[places][alone]
            assert (beyond <= NOISE).all(), (case.job, beyond.max())
            room = NOISE * np.maximum(1.0, np.abs(corner.taken))
            assert (least[:, places] <= corner.taken + room).all()
            assert (corner.goods <= top.goods[:, places] * (1 + NOISE)).all()
            for place in np.flatnonzero(~alone)[:3].tolist():
                here = np.array([place])
                run = divide_among_types(Point(space, kept.take(here), corner.take(here), None))
                if run is not None:
                    assert run.corner.score[0] <= top.score[places][place] + NOISE
    assert tested > 60


@pytest.mark.parametrize("family", FAMILIES)
def test_room_cuts_no_purchase_that_fits(family: str) -> None:
    rng, tested = np.random.default_rng(1), 0
    for case in cases(family, 9_870_000, 12):
        for space in spaces(case):
            boxes, points = drawn(space, rng)
            if not boxes.size:
                continue
            full, _ = space.taken(points, points.low, least=False)
            least, bills = space.taken(boxes, boxes.low, least=True)
            room = full * (1 + NOISE) - least + space.rounding_consumption(bills, boxes.low)
            cut = space.cut(boxes, room)
            fine = ((points.low == 0) | (points.low >= space.first[:, None])).all(axis=0)
            units = space.members @ points.low[space.first_store :]
            fine &= (units <= space.most_units[:, None]).all(axis=0)
            tested += int(fine.sum())
            assert (points.low <= cut.high)[:, fine].all()
    assert tested > 100


def test_the_end_of_work_is_the_bound_that_is_left() -> None:
    case = resolve(inputs_of(random_case(9)))
    whole = optimise(case)
    assert whole.best is not None and whole.bound is not None
    cut = Question(case, 2e-6, Effort(most_work=0.02), ties=True).answer()
    assert cut.status in ("feasible", "no_solution")
    if cut.bound is not None and cut.best is not None:
        sign = 1.0 if case.maximise else -1.0
        assert sign * cut.bound >= sign * whole.best - NOISE
        assert sign * cut.best <= sign * whole.bound + NOISE


def test_ten_million_systems_may_be_bought() -> None:
    """Of so many no work is left in floats, and none was taken for a plan."""
    request = Request(minimize="cost")
    request.site = {"pue": 1.25}
    request.job["failures"] = {"per_gpu_day": 1.0}
    request.more["items"] = {"gpu": {"max": 10_000_000}}
    request.job["gpus"] = {"min": 16}
    plan = solve(inputs_of(request.case()), explain=False)
    assert plan.status == "optimal"
    assert plan.jobs[0].gpus_used == 16


# Bounds are tight enough: searches that took 25,000 to 250,000 boxes, counted.


def test_a_rule_limits_the_gpus_in_use_before_storage_is_counted_out() -> None:
    """Owned GPU systems cost nothing, and so their number alone tells nothing of storage."""
    rule = ("storage.rule=light", "storage.max_families=2", "budget.capex=4.36 MUSD")
    case = resolve(load(Path(problem_files()["gpt3_octet"]), settings=rule))
    limits = case.limits.replace_values(facility_power_kw=None, racks=None)
    case = replace(case, limits=limits).share_bills_of(case)
    case = replace(case, objective="power", job=replace(case.job, max_types=4)).share_bills_of(case)
    answer = optimise(case, ties=False)
    assert answer.status == "infeasible"
    assert answer.iterations < 1_000


def test_least_write_bandwidth_counts_switches_and_systems() -> None:
    case = resolve(load(Path(problem_files()["10MW"])))
    best = optimise(case, ties=False)
    assert best.operation is not None
    work = 0.999 * best.operation.useful_pflops(case.job.mfu or 0.0)
    limits = case.limits.replace_values(min_useful_pflops=work)
    least = replace(case, limits=limits, objective="least_write").share_bills_of(case)
    answer = optimise(least, gap=1e-3, ties=False)
    assert answer.status == "optimal"
    assert answer.iterations < 10_000


@pytest.mark.parametrize("name", ["enterprise_1MW", "local_level"])
def test_far_too_many_gpus_take_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many for every floor on work, or for swaps at all: millions of numbers were scored."""
    sizes, score = [0], BestUse.score_uses

    def counted(self: BestUse, use: Uses) -> object:
        sizes.append(len(use.gpus))
        return score(self, use)

    monkeypatch.setattr(BestUse, "score_uses", counted)
    many = ("jobs.0.gpus.min=9000000", "site.facility_power=null", "site.racks=null")
    goal = ("objective={minimize: power}",)
    answer = optimise(resolve(load(Path(problem_files()[name]), settings=many + goal)), ties=False)
    assert answer.status == "infeasible"
    assert max(sizes) < 10_000
