"""Frontiers: points are the best plans that enumeration finds, proven, none dominated."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from planner.analysis import frontier
from planner.analysis.frontier import AGAINST, Against, knee
from planner.api import Options
from planner.inputs import Change, Inputs, applied
from planner.schema.analysis import Frontier, FrontierPoint
from planner.schema.catalog import Item
from planner.schema.problem import Objective
from tests.analysis.test_alternatives import enumerated
from tests.oracle.candidates import candidates
from tests.oracle.money import Array, Market
from tests.world.commands import ran
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request, gpu_system, price, store

SEEDS = (0, 6, 9)
EXACT = Options(gap=1e-6, jobs=1)
NOISE = 1e-5
BOUND_NOISE = 1e-7
MANY = 24


def study(
    inputs: Inputs, options: Options, against: Against = "storage", points: int = 50
) -> Frontier:
    return frontier.study(inputs, options, against, points=points)


@cache
def asked(seed: int) -> Inputs:
    """Return a random problem that maximises useful work."""
    inputs = inputs_of(random_case(seed))
    work = Objective.model_validate({"maximize": "goodput"})
    changes = [Change("objective", work, ""), Change("policy.prefer", None, "")]
    return applied(inputs, changes)


@cache
def found(seed: int, against: Against) -> Frontier:
    return study(asked(seed), EXACT, against=against, points=MANY)


def written(item: Item, counts: Array) -> Array:
    """Return the nameplate write bandwidth of so many units."""
    return counts * (item.provides.write.value if item.provides.write else 0.0)


@cache
def every_plan(seed: int) -> dict[str, Array]:
    """Return every feasible plan's place on each axis, and its useful work."""
    inputs = asked(seed)
    known = {item.id: item for item in inputs.items}
    market = Market(inputs.problem, known, inputs.prices, inputs.discounts, inputs.families)
    items = [candidate.item for candidate in candidates(market, "storage", inputs.families)]
    share = inputs.problem.storage.delivered_fraction.write
    found: dict[str, list[Array]] = {"cost": [], "power": [], "storage": [], "work": []}
    for plans in enumerated(inputs):
        columns = zip(items, plans.counts.T, strict=True)
        found["storage"].append(share * sum(written(item, column) for item, column in columns))
        found["cost"].append(plans.capex_usd)
        found["power"].append(plans.it_power_kw * inputs.problem.site.pue_air)
        found["work"].append(plans.value)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def best_at_most(xs: Array, work: Array, x: float) -> float:
    return float(work[xs <= x * (1 + 1e-9)].max(initial=0.0))


def rising_faults(points: tuple[FrontierPoint, ...], xs: Array, work: Array) -> list[str]:
    """Return where points, by rising x and work, are not what enumeration says."""
    wrong = []
    for point in points:
        truth = best_at_most(xs, work, point.x)
        if abs(point.y - truth) > NOISE * truth or truth > point.bound * (1 + BOUND_NOISE):
            wrong.append(f"at {point.x}: {point.y} to {point.bound}, enumerated {truth}")
    return wrong


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("against", ["cost", "power"])
def test_every_point_is_the_best_of_its_stretch(seed: int, against: Against) -> None:
    answer, plans = found(seed, against), every_plan(seed)
    assert answer.status == "optimal"
    assert not rising_faults(answer.points, plans[against], plans["work"])
    assert answer.points[0].x == pytest.approx(plans[against].min(), rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_goldilocks_curve_is_the_enumerated_one(seed: int) -> None:
    answer, plans = found(seed, "storage"), every_plan(seed)
    assert answer.best is not None
    xs, work = plans["storage"], plans["work"]
    assert not rising_faults(answer.points[: answer.best + 1], xs, work)
    assert answer.points[answer.best].y == pytest.approx(work.max(), rel=NOISE)
    for point in answer.points[answer.best + 1 :]:
        truth = work[xs >= point.x * (1 - 1e-9)].max()
        assert point.y == pytest.approx(truth, rel=NOISE)
        assert truth <= point.bound * (1 + BOUND_NOISE)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("against", AGAINST)
def test_no_point_is_dominated_and_every_bound_is_kept(seed: int, against: Against) -> None:
    answer = found(seed, against)
    assert answer.best is not None
    xs, ys = [p.x for p in answer.points], [p.y for p in answer.points]
    assert xs == sorted(set(xs))
    assert ys[: answer.best + 1] == sorted(set(ys[: answer.best + 1]))
    falling = ys[answer.best + 1 :]  # the first may be as good as the best, with more storage
    assert falling == sorted(set(falling), reverse=True)
    assert max(falling, default=0.0) <= ys[answer.best]
    for point in answer.points:
        assert 0 <= point.gap <= EXACT.gap + 1e-9
        assert point.bound >= point.y


def a_hall(**objective: str) -> Request:
    """Return a hall in which too little storage costs goodput and too much costs GPUs."""
    request = Request(**objective)
    request.items = [gpu_system("gpu", 8, "10 kW"), store("box", "fs", "1 kW", "0.1 GB/s")]
    request.site = {"pue": 1.25, "it_power": "100 kW"}
    request.checkpoint |= {"interval": {"policy": "optimal", "min": "1 min", "max": "4 h"}}
    request.prices["box"] = price("10000")
    return request


def test_without_a_plan_or_without_an_end_there_is_no_frontier() -> None:
    request = a_hall(maximize="goodput")
    request.job["gpus"] = {"min": 1000}
    for against in AGAINST:
        answer = study(inputs_of(request.case()), EXACT, against=against)
        assert (answer.status, answer.points, answer.knee) == ("infeasible", (), None)
        assert answer.message == "no plan meets every limit"
    endless = a_hall(maximize="goodput")
    endless.site = {"pue": 1.25}
    endless.job["failures"] = {"per_gpu_day": 1e-12}
    answer = study(inputs_of(endless.case()), EXACT, against="cost")
    assert answer.status == "unbounded"
    assert answer.message is not None
    assert "nothing limits" in answer.message


def test_an_end_that_is_cut_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "END_WORK", 1e-9)
    answer = study(asked(0), EXACT, against="cost", points=3)
    assert answer.status == "feasible"
    assert answer.message is not None and "not proven" in answer.message


def test_the_command_prints_and_writes(small: str, tmp_path: Path) -> None:
    words = ("sweep", "--mode", "frontier", small, "--gap", "1 %", "--points", "3",
             "--workers", "1", "--against", "cost")  # fmt: skip
    both = ("cost", "power")
    assert ran(*words, "--against", "power", "-o", str(tmp_path / "a")).code == 0
    written = [*(tmp_path / "a").iterdir()]
    assert {path.name for path in written} == {
        *(f"problem.frontier-{name}.{kind}" for name in both for kind in ("json", "png")),
        "problem.frontier.xlsx",
        "problem.frontier.html",
    }
    assert all(path.stat().st_size for path in written)
    record = (tmp_path / "a/problem.frontier-cost.json").read_text("utf-8")
    assert Frontier.model_validate_json(record).points
    assert ran(*words, "--json").out == record
    two = ran(*words, "--against", "power", "--json")
    assert [each["x_name"] for each in json.loads(two.out)] == list(both)
    hopeless = ran(*words, "--set", "jobs.0.gpus.min=100000", "-o", str(tmp_path / "none"))
    names = {path.name for path in (tmp_path / "none").iterdir()}
    assert (hopeless.code, "problem.frontier-cost.png" in names) == (3, False)


def test_the_knee_of_a_curve_made_by_hand() -> None:
    # In logarithms of 10 the chord runs from (0, 0) to (4, 100): 25 a decade.
    xs, ys = [1.0, 10.0, 100.0, 1000.0, 10_000.0], [0.0, 70.0, 80.0, 95.0, 100.0]
    assert knee(xs, ys, logarithmic=True) == 1
    # On a plain scale all but the last lie at the left end, so height alone decides.
    assert knee(xs, ys, logarithmic=False) == 3
    assert knee([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], logarithmic=False) is None
    assert knee([1.0, 2.0, 3.0], [5.0, 5.0, 5.0], logarithmic=False) is None
    # A curve that sags below its chord has no knee.
    assert knee([0.0, 1.0, 2.0], [0.0, 0.2, 2.0], logarithmic=False) is None
