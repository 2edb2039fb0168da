"""Uncertain inputs: draws and their statistics, ends of ranges one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from planner.analysis import tornado, uncertain
from planner.analysis.uncertain import compute_values, read_unknowns, study
from planner.analysis.variants import Scenario, solve_many
from planner.api import Options, solve_with
from planner.case import resolve
from planner.errors import InputError
from planner.inputs import Change, Inputs, applied
from planner.loader import load
from planner.loader.axes import Variable
from planner.loader.checks import checked
from planner.optimizer import optimise
from planner.optimizer.objective import natural
from planner.paths import value_at
from planner.schema.analysis import Swing, Tornado
from planner.schema.job import FailureRate
from planner.schema.plan import Plan
from planner.schema.problem import Quantity
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request, store

EXACT = Options(gap=1e-6, jobs=1)
SHARES = np.linspace(1e-6, 1.0 - 1e-6, 41)
POWER = "site.facility_power=uniform(400 kW, 900 kW)"


@cache
def read(problem: str, *settings: str) -> tuple[Inputs, Plan]:
    inputs = load(Path(problem), settings=settings)
    return inputs, solve_with(inputs, Options(explain=False))


def test_every_distribution_can_be_asked_for(small: str) -> None:
    power = "site.facility_power="
    found: dict[str, Any] = {
        "uniform(1 MW, 2 MW)": stats.uniform(1000.0, 1000.0),
        "loguniform(1 MW, x2)": stats.loguniform(1000.0, 4000.0),
        "triangular(1 MW, x1, 4 MW)": stats.triang(1 / 3, 1000.0, 3000.0),
    }
    for text, known in found.items():
        (one,) = read_unknowns(read(small)[0], [power + text])
        assert one.distribution.ppf(SHARES) == pytest.approx(known.ppf(SHARES))


PROBLEMS = {
    "maximize": (
        (),
        (POWER, "storage.delivered_fraction.write=uniform(0.02, 0.8)",
         "jobs.0.checkpoint.interval.max=loguniform(2 min, 4 h)"),
    ),
    "minimize": (
        ("objective={minimize: tco}", "targets.min_useful_pflops=100"),
        ("targets.min_useful_pflops=uniform(80, 120)", "prices.quick_store.list=uniform(x0.2, x1)",
         "term.electricity=uniform(x1, x10)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("sense", PROBLEMS)
def test_regret_is_what_solving_with_fixed_counts_says(
    small: str, sense: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, dists = PROBLEMS[sense]
    scenarios: list[Scenario] = []

    def noted(bases: Any, each: Sequence[Scenario], *rest: Any) -> Iterator[Any]:
        scenarios.extend(each)
        return solve_many(bases, each, *rest)

    monkeypatch.setattr(uncertain, "solve_many", noted)
    inputs, plan = read(small, *settings)
    found = study(inputs, dists, EXACT, plan=plan, samples=6)
    assert found.sense == sense
    assert 3 <= len(found.candidates) <= 7
    names = [item.id for item in inputs.items if item.category in ("gpu_system", "storage")]

    def solved(scenario: Scenario, counts: dict[str, int] | None) -> float:
        fixed = () if counts is None else tuple(
            Change(f"items.{name}", Quantity(fixed=counts.get(name, 0)), "") for name in names
        )  # fmt: skip
        case = resolve(applied(inputs, (*scenario.changes, *fixed)))
        end = optimise(case, gap=1e-7, ties=False)
        return np.nan if end.value is None else natural(case.objective, end.value)

    best = np.array([solved(scenario, None) for scenario in scenarios])
    for candidate in found.candidates:
        worths = np.array([solved(scenario, candidate.counts) for scenario in scenarios])
        behind = np.where(np.isnan(worths), 1.0, np.abs(best - worths) / best)
        assert candidate.feasible == np.isfinite(worths).mean()
        there = worths[np.isfinite(worths)]
        assert candidate.mean == (pytest.approx(there.mean(), rel=1e-6) if len(there) else None)
        assert candidate.mean_regret == pytest.approx(behind.mean(), abs=1e-5)
        assert candidate.most_regret == pytest.approx(behind.max(), abs=1e-5)
    least = min(candidate.most_regret for candidate in found.candidates)
    assert found.least_regret is not None
    assert found.candidates[found.least_regret].most_regret == least
    assert [each.name for each in found.candidates].index("nominal") == 0


def turned_out(inputs: Inputs, seed: int) -> tuple[Change, ...]:
    """Return changes of a random problem that its plan may or may not survive."""
    random, problem = Random(seed), inputs.problem
    rate = FailureRate(per_gpu_day=4.74e-4 * random.choice([0.3, 1, 3, 10]))
    written = problem.storage.delivered_fraction.write * random.uniform(0.3, 1.0)
    ingest = problem.job.ingest_per_gpu_gb_per_s * random.uniform(0.3, 3.0)
    changes = [
        Change("jobs.0.failures", rate, ""),
        Change("storage.delivered_fraction.write", written, ""),
        Change("jobs.0.ingest_per_gpu", ingest, ""),
    ]
    for path in ("site.facility_power", "budget.capex", "jobs.0.restore.max_time"):
        value = value_at(inputs.problem, path)
        if value is not None:
            changes.append(Change(path, value * random.uniform(0.8, 1.2), ""))
    return tuple(changes)


@pytest.mark.parametrize("seed", [*range(8), *range(14, 20), 46, 79])
def test_a_purchase_is_run_as_solving_with_its_counts_says(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    case = resolve(inputs)
    run = optimise(case, ties=False).operation
    if run is None:
        return
    if any(run.units[offer.id] < offer.installed for offer in case.offers()):
        return  # counts of items are of what is in place: they cannot hold owned units idle
    changes = turned_out(inputs, seed)
    known = inputs.problem.items
    fixed = tuple(
        Change(f"items.{name}", Quantity(fixed=count, installed=known[name].in_place)
               if name in known else Quantity(fixed=count), "")
        for name, count in run.units.items()
    )  # fmt: skip
    end = optimise(resolve(applied(inputs, (*changes, *fixed))), ties=False)
    turned = resolve(applied(inputs, changes))
    (found,) = compute_values(turned, [run])
    assert math.isnan(found) == (end.value is None)
    if end.value is not None:
        assert found == pytest.approx(natural(case.objective, end.value), rel=3e-6)


def test_the_same_seed_gives_the_same_bytes(small: str) -> None:
    inputs, plan = read(small)
    made = [
        study(inputs, LINEAR, EXACT, plan=plan, samples=4, seed=seed).model_dump_json()
        for seed in (1, 2, 1)
    ]
    assert made[0] == made[2] != made[1]


def test_scenarios_without_a_plan_are_counted_and_left_out(small: str) -> None:
    inputs, plan = read(small)
    gpus = "jobs.0.gpus.min=uniform(313, 713)"
    found = study(inputs, (gpus,), EXACT, plan=plan, samples=20)
    assert found.statuses["infeasible"] == 10  # there are 512 GPUs at most
    assert found.statuses["optimal"] == 10
    assert found.status == "optimal"
    assert found.message is not None
    assert "10 of 20 scenarios have no plan" in found.message
    assert {outcome.count for outcome in found.outcomes} == {10}
    assert found.candidates[0].feasible == 1.0


def test_no_plan_as_it_stands(small: str) -> None:
    inputs, plan = read(small, "targets.min_useful_pflops=300")
    work = "targets.min_useful_pflops=uniform(100, 300)"
    found = study(inputs, (work,), EXACT, plan=plan, samples=4)
    assert found.base is None
    assert found.message is not None
    assert found.message.startswith("The unchanged problem has no plan: no plan meets every")
    assert found.candidates[0].name == "plan 1"


LINEAR = (
    "site.facility_power=uniform(1 MW, 2 MW)",
    "budget.capex=uniform(10 MUSD, 20 MUSD)",
    "term.electricity=uniform(0.0826795 USD/kWh, 0.1173205 USD/kWh)",
)


# Tornadoes: widths as solving by hand gives them, ranked, and why an end has no plan.


NOISE = 3e-6


def hall(**objective: str) -> Inputs:
    request = Request(**objective or {"maximize": "goodput"})
    request.items[1] = store("box", "fs", "1 kW", "0.1 GB/s")
    request.site["it_power"] = "100 kW"
    request.checkpoint |= {
        "interval": {"policy": "optimal", "min": "1 min", "max": "4 h"},
        "stall": "20 s",
    }
    request.storage["delivered_fraction"] = {"read": 0.9, "write": 0.5}
    request.more["budget"] = {"capex": "2 MUSD"}
    request.job["gpus"] = {"min": 40}
    return inputs_of(request.case())


def by_hand(inputs: Inputs, path: str, text: str) -> float | None:
    """Return the best objective with one input changed."""
    reading = Variable(inputs, path).read(text)
    case = resolve(checked(inputs, reading.changes))
    value = optimise(case, gap=1e-7, ties=False).value
    return None if value is None else natural(case.objective, value)


def check(inputs: Inputs, found: Tornado) -> None:
    """Hold ends, widths and their order against plans solved one by one."""
    for swing in found.swings:
        low, high = (by_hand(inputs, swing.path, end.text) for end in (swing.low, swing.high))
        expected = (low, high, None if low is None or high is None else abs(high - low))
        noise = NOISE * max(abs(low or 0.0), abs(high or 0.0))
        there = (swing.low.objective, swing.high.objective, swing.width)
        for one, other, room in zip(there, expected, (noise, noise, 2 * noise), strict=True):
            assert one == (None if other is None else pytest.approx(other, abs=room)), swing
    widths = [-1.0 if swing.width is None else swing.width for swing in found.swings]
    assert widths == sorted(widths, reverse=True)


def swings(found: Tornado) -> dict[str, Swing]:
    return {swing.path: swing for swing in found.swings}


def test_every_end_and_width_is_what_solving_it_alone_gives() -> None:
    inputs = hall()
    found = tornado.study(inputs, (), EXACT)
    assert found.status == "optimal"
    check(inputs, found)
    there = swings(found)
    assert len(there) == len(found.swings)
    assert {
        "site.it_power", "budget.capex", "jobs.0.gpus.min", "storage.delivered_fraction.write",
        "jobs.0.failures.per_gpu_day", "jobs.0.checkpoint.size", "jobs.0.checkpoint.stall",
        "jobs.0.restore.restart", "jobs.0.training.mfu", "prices.*.list", "prices.gpu.list",
        "catalog.*.consumes.it_power", "catalog.box.consumes.it_power", "site.pue",
    } <= set(there)  # fmt: skip
    assert found.base == pytest.approx(by_hand(inputs, "site.it_power", "100 kW"), rel=NOISE)
    power, share = there["site.it_power"], there["storage.delivered_fraction.read"]
    assert (power.low.text, power.base_text, power.high.text) == ("80 kW", "100 kW", "120 kW")
    assert (power.low.value, power.high.value, power.unit) == (80.0, 120.0, "kW")
    assert (share.low.text, share.high.text) == ("72 %", "100 %")  # no further than there is
    assert (there["prices.*.list"].low.text, there["prices.*.list"].unit) == ("x0.8", "x")
    gpus = there["jobs.0.gpus.min"]
    assert (gpus.low.text, gpus.high.text) == ("32", "48")


def test_ranges_are_read_as_the_file_would_have_them() -> None:
    inputs = hall()
    ranges = (
        "site.it_power = 60kW:0.2 MW",
        "prices.box.list=x0.5:x2",
        "budget.capex=+-25%",
        "storage.delivered_fraction.write=\u00b110 %",
        "jobs.0.gpus.max=40:56",
        "jobs.0.checkpoint.mode=async:sync",
    )
    found = tornado.study(inputs, ranges, EXACT)
    check(inputs, found)
    there = swings(found)
    assert len(there) == len(ranges)
    assert (there["site.it_power"].low.value, there["site.it_power"].high.value) == (60.0, 200.0)
    assert there["prices.box.list"].high.value == 20_000.0
    assert there["prices.box.list"].high.text == "20000 USD"
    assert there["budget.capex"].low.text == "1.5 MUSD"
    assert there["storage.delivered_fraction.write"].high.text == "55 %"
    assert there["jobs.0.gpus.max"].base_text == "null"
    mode = there["jobs.0.checkpoint.mode"]
    assert (mode.low.value, mode.high.text, mode.base_text, mode.unit) == (
        "async",
        "sync",
        "async",
        "",
    )


def test_one_item_may_be_varied_beside_all_of_them_but_no_path_twice() -> None:
    every, one = "prices.*.list=x0.9:x1.1", "prices.box.list=x0.5:x2"
    found = tornado.study(hall(), (every, one), EXACT)
    assert {swing.path for swing in found.swings} == {"prices.*.list", "prices.box.list"}
    with pytest.raises(InputError, match=r"'prices\.box\.list' is varied twice"):
        tornado.study(hall(), (one, "prices.box.list=x0.8:x1.2"), EXACT)


def test_an_end_without_a_plan_comes_last_with_the_reason() -> None:
    inputs = hall()
    found = tornado.study(inputs, ("jobs.0.gpus.min=8:800", "site.it_power=90 kW:110 kW"), EXACT)
    check(inputs, found)
    last = found.swings[-1]
    assert last.path == "jobs.0.gpus.min"
    assert (last.high.status, last.high.objective) == ("infeasible", None)
    assert last.high.reason == "no plan meets every limit"
