"""The engine of sweeps: every row's certificate is true, whatever was reused for it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from planner.analysis.request import SweepOptions
from planner.analysis.sweep import Row
from planner.analysis.variants import FIELDS, Scenario, groups
from planner.case import resolve
from planner.errors import InputError
from planner.inputs import Change, Inputs, applied, value_at
from planner.optimizer.objective import natural
from planner.optimizer.optimise import optimise
from tests.analysis.rows import answers_of, rows_of
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_jobs import repaired_case, with_levers

COUNT = 16
EXACT = 1e-6
SOLVED = ("optimal", "feasible")


def drawn(inputs: Inputs, seed: int, count: int = COUNT) -> list[Scenario]:
    """Return scenarios of up to three limits, each between half and 1.6 times what it is."""
    draw = random.Random(seed)
    paths = [path for path in FIELDS if value_at(inputs, path) is not None]
    paths = draw.sample(paths, min(3, len(paths)))
    made = []
    for index in range(count):
        values = [(path, value_at(inputs, path) * draw.uniform(0.5, 1.6)) for path in paths]
        changes = [Change(p, max(1, round(v)) if p == "site.racks" else v, "") for p, v in values]
        made.append(Scenario(index, tuple(changes)))
    return made


def check(inputs: Inputs, scenario: Scenario, row: Row, gap: float) -> None:
    """Solve a scenario by itself, to 1e-6, and hold it against its row."""
    case = resolve(applied(inputs, scenario.changes))
    cold = optimise(case, gap=EXACT, ties=False)
    if row["status"] not in SOLVED:
        assert row["status"] == cold.status, row
        return
    assert cold.value is not None and cold.bound is not None, row
    least, most = (natural(case.objective, each) for each in (cold.value, cold.bound))
    sign = 1.0 if case.maximise else -1.0
    noise = 2 * EXACT * max(1.0, abs(least))
    assert sign * row["objective"] <= sign * most + noise, "better than any plan can be"
    assert sign * least <= sign * row["bound"] + noise, "a plan passes the bound"
    assert row["status"] == "optimal" and row["gap"] <= gap * (1 + 1e-9)


def changed_in_all(inputs: Inputs, seed: int, count: int = 4) -> list[Scenario]:
    """Return scenarios with limits, what storage delivers, and prices of their own."""
    draw, made = random.Random(seed), []
    for scenario in drawn(inputs, seed, count):
        more = [
            Change(f"storage.delivered_fraction.{side}", round(draw.uniform(0.2, 1), 3), "")
            for side in ("read", "write")
            if draw.random() < 0.5
        ]
        for name in draw.sample(sorted(inputs.prices), min(2, len(inputs.prices))):
            usd = inputs.prices[name].list_usd
            if usd:
                usd = round(usd * draw.uniform(0.5, 1.5), 2)
                more.append(Change(f"prices.{name}.list", usd, ""))
        made.append(Scenario(scenario.index, (*scenario.changes, *more)))
    return made


def planned(make: Callable[[int], Case], first: int, most: int) -> Iterator[tuple[int, Inputs]]:
    """Yield problems that have something on offer."""
    found = 0
    for seed in itertools.count(first):
        try:
            inputs = inputs_of(make(seed))
            case = resolve(inputs)
        except InputError:  # what is drawn does not always go together
            continue
        if case.systems and case.storage:
            yield seed, inputs
            found += 1
        if found == most:
            return


FAMILIES = {
    "plain": random_case,
    "wide": lambda seed: random_case(seed, wide=True),
    "repair": lambda seed: repaired_case(seed, wide=False),
    "ways": with_levers,
}


@pytest.mark.exhaustive(keep=4, most=8)
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_proven_of_many_scenarios_is_true_of_each(family: str, chunk: int) -> None:
    for seed, inputs in planned(FAMILIES[family], 10_000 + 1_000 * chunk, 4):
        gap = random.Random(seed).choice((1e-2, 1e-3, 1e-5))
        scenarios = changed_in_all(inputs, seed)
        found = rows_of(inputs, scenarios, SweepOptions(gap))
        for scenario, row in zip(scenarios, found, strict=True):
            if row["status"] != "invalid":
                check(inputs, scenario, row, gap)


def test_most_rows_of_a_fine_sweep_are_proven_by_others() -> None:
    inputs = inputs_of(random_case(29))
    path = next(path for path in FIELDS if value_at(inputs, path) is not None)
    value = value_at(inputs, path)
    scenarios = [Scenario(n, (Change(path, value * (0.9 + 0.002 * n), ""),)) for n in range(100)]
    rows = rows_of(inputs, scenarios, SweepOptions(1e-3))
    reused = [row for row in rows if row["certificate"] == "reused"]
    assert len(reused) >= 80
    for place in (0, 33, 66, 99):
        check(inputs, scenarios[place], rows[place], 1e-3)


def test_scenarios_that_differ_in_more_than_limits_are_apart() -> None:
    power, pue = "site.facility_power", "site.pue"
    made = [
        Scenario(n, (Change(power, 100.0 + n, ""), Change(pue, 1.1 + 0.1 * (n % 2), "")))
        for n in range(6)
    ]
    found = groups(made)
    assert [len(group.scenarios) for group in found] == [3, 3]
    assert all(group.paths == (power,) for group in found)
    off = groups([Scenario(0, (Change(power, None, ""),)), Scenario(1, (Change(power, 5.0, ""),))])
    assert len(off) == 2, "a limit that is not given is another problem"


@pytest.mark.exhaustive(keep=3, most=6)
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_rows_state_the_plan_that_solve_takes(family: str) -> None:
    """Of plans as good as the best, preferred vendors first, then the cheapest."""
    for seed, inputs in planned(FAMILIES[family], 60_000, 6):
        options = SweepOptions(2e-6, ties=True)
        for answer in answers_of(inputs, drawn(inputs, seed, 8), options):
            case = resolve(applied(inputs, answer.scenario.changes))
            alone = optimise(case, gap=2e-6)
            if alone.operation is None or alone.status == "unbounded":
                assert answer.status == alone.status
                continue
            assert answer.operation is not None and alone.value is not None
            assert answer.operation.units == alone.operation.units
            # equal purchases may run on either of two types that tie within 1e-6
            assert answer.value == pytest.approx(natural(case.objective, alone.value), rel=1e-6)
