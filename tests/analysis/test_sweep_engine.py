"""The engine of sweeps: every row's certificate is true, whatever was reused for it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from planner import shipped
from planner.analysis import sweep
from planner.analysis import variants as solving
from planner.analysis.sweep import Row
from planner.analysis.sweep import make_rows as made
from planner.analysis.variants import FIELDS, Answer, Scenario, solve_many, solve_scenarios
from planner.api import Options
from planner.case import limit_after_change, problem_limits, resolve
from planner.errors import InputError, VerificationError
from planner.inputs import Change, Inputs, applied, changed
from planner.library import EACH_GAP
from planner.limits import SUPPLIES
from planner.loader import load
from planner.optimizer import Certificate, optimise
from planner.optimizer.objective import natural
from planner.paths import value_at
from planner.plan import assemble
from planner.schema.plan import Plan
from planner.verifier import confirms, verify
from tests.optimizer.cases import everything_limited
from tests.world.random_cases import Case, inputs_of, random_case
from tests.world.random_hardware import figure
from tests.world.random_jobs import repaired_case, with_levers
from tests.world.requests import Bill, companion
from tests.world.tampering import other, put

COUNT = 16
EXACT = 1e-6
SOLVED = ("optimal", "feasible")


def drawn(inputs: Inputs, seed: int, count: int = COUNT) -> list[Scenario]:
    """Return scenarios of up to three limits, each between half and 1.6 times what it is."""
    draw = random.Random(seed)
    paths = [path for path in FIELDS if value_at(inputs.problem, path) is not None]
    paths = draw.sample(paths, min(3, len(paths)))
    made = []
    for index in range(count):
        values = [(path, value_at(inputs.problem, path) * draw.uniform(0.5, 1.6)) for path in paths]
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
        found = rows_of(inputs, scenarios, Options(gap))
        for scenario, row in zip(scenarios, found, strict=True):
            if row["status"] != "invalid":
                check(inputs, scenario, row, gap)


def test_most_rows_of_a_fine_sweep_are_proven_by_others() -> None:
    inputs = inputs_of(random_case(29))
    path = next(path for path in FIELDS if value_at(inputs.problem, path) is not None)
    value = value_at(inputs.problem, path)
    scenarios = [Scenario(n, (Change(path, value * (0.9 + 0.002 * n), ""),)) for n in range(100)]
    rows = rows_of(inputs, scenarios, Options(gap=1e-3))
    reused = [row for row in rows if row["certificate"] == "reused"]
    assert len(reused) >= 80
    for place in (0, 33, 66, 99):
        check(inputs, scenarios[place], rows[place], 1e-3)


@pytest.mark.exhaustive(keep=3, most=6)
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_rows_state_the_plan_that_solve_takes(family: str) -> None:
    """Of plans as good as the best, preferred vendors first, then the cheapest."""
    for seed, inputs in planned(FAMILIES[family], 60_000, 6):
        options = Options(gap=2e-6, ties=True)
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


# What rows of a table share: plans in figures alone.


GAP = 1e-3


def test_a_limit_follows_from_its_value_as_from_a_problem_with_it() -> None:
    inputs = inputs_of(everything_limited().case())
    feeds = inputs.problem.site.feeds
    assert feeds is not None
    for limit in SUPPLIES:
        for value in (3, round(feeds.usable_kw) - 1, round(feeds.usable_kw) + 1, 10**6):
            after = problem_limits(changed(inputs, limit.path, value).problem)
            found = limit_after_change(inputs.problem, limit.path, value)
            assert found == after[limit.field], limit.path
    assert limit_after_change(inputs.problem, "site.facility_power", 1e6) == feeds.usable_kw


def best(inputs: Inputs, *, drawn: bool) -> Plan:
    """Return the best plan of a problem, with or without its racks, cables and next step."""
    case = resolve(inputs)
    found = optimise(case, gap=GAP, ties=False)
    return assemble(inputs, case, found, solver="highs", gap=GAP, drawn=drawn)


@pytest.mark.parametrize("name", ["10MW", "full_bill", "local_level", "space_limited"])
def test_a_plan_in_figures_has_those_of_the_whole_plan(name: str) -> None:
    inputs = load(shipped.problem_files()[name])
    whole, figures = best(inputs, drawn=True), best(inputs, drawn=False)
    verify(inputs, whole)
    assert confirms(inputs, figures)
    for part in ("totals", "jobs", "limits", "lines", "fabrics", "objective"):
        assert getattr(figures, part) == getattr(whole, part)
    assert whole.assumptions and not (figures.assumptions or figures.racks)


FIGURES = {
    "totals": "it_power_kw facility_power_kw racks capex_usd opex_usd_per_year tco_usd gpus",
    "jobs": "gpus_used interval_s stall_s drain_s overlap restore_s mtti_s goodput useful_gpus "
    "useful_pflops delivered_write_gb_per_s delivered_read_gb_per_s",
    "limits": "value limit",
    "lines": "quantity purchased spares extended_net_usd",
}


@pytest.mark.parametrize("part", FIGURES)
def test_a_wrong_figure_is_not_confirmed(part: str) -> None:
    inputs = load(shipped.problem_files()["full_bill"])
    plan = best(inputs, drawn=False)
    place = (part,) if part == "totals" else (part, 0)
    record = plan.totals if part == "totals" else getattr(plan, part)[0]
    for name in FIGURES[part].split():
        value: Any = getattr(record, name)
        if value is not None:
            assert not confirms(inputs, put(plan, (*place, name), other(value))), name


def test_racks_that_first_fit_does_not_reach_are_drawn() -> None:
    """Two devices of 0.4 and four of 0.3 of a rack: first-fit begins 4 + 4 and 3 + 3 + 3 of 10 and
    takes three racks; twice 4 + 3 + 3 is two."""
    request = Bill(minimize="cost")
    request.more["items"] = {"gpu": {"fixed": 2}}
    request.site |= {"it_power": "100 kW", "rack": {"height": "200 RU"}, "racks": 4}
    request.site["rack_classes"] = {"network": {"height": "10 RU"}}
    for name, height, count in (("large", 4, 2), ("small", 3, 4)):
        item = companion(name, "management", "0.1 kW")
        item["consumes"]["rack_units"] = figure(f"{height} RU")
        request.add(item, "10")
        request.more.setdefault("extras", {})[name] = {"count": count}
    inputs = inputs_of(request.case())
    assert not confirms(inputs, best(inputs, drawn=False))
    (row,) = rows_of(inputs, [Scenario(0, ())], Options(gap=GAP))
    assert (row["status"], row["racks"]) == ("optimal", 4)


def test_a_wrong_row_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = load(shipped.problem_files()["10MW"])
    case = resolve(inputs)
    found = optimise(case, gap=GAP, ties=False)
    assert found.operation is not None and found.value is not None
    forged = Certificate("optimal", found.operation, found.value * 1.01, found.bound, 0.0)
    with pytest.raises(VerificationError, match=r"objective\.value"):
        solving.confirm_plan(inputs, case, forged, GAP)


def test_a_plan_keeps_the_limits_of_each_of_its_scenarios() -> None:
    inputs, path = load(shipped.problem_files()["10MW"]), "site.facility_power"
    powers_kw = (9000.0, 8000.0, 10000.0)
    (group,) = solving.group_scenarios(
        Scenario(n, (Change(path, power_kw, ""),)) for n, power_kw in enumerate(powers_kw)
    )
    asked = solving.prepare_group(inputs, group, Options(gap=GAP))
    answers = solving.solve_group(asked)
    assert [row["status"] for row in sweep.make_rows(asked, answers)] == ["optimal"] * 3
    forged = [answers[0]._replace(scenario=each.scenario) for each in answers]
    assert [row["status"] for row in sweep.make_rows(asked, forged)] == [
        "optimal",
        "failed",
        "optimal",
    ]
    forged = [answers[2]._replace(scenario=each.scenario) for each in answers]
    first, *_ = sweep.make_rows(asked, forged)  # the verifier reads the first one's limits itself
    assert first["status"] == "failed" and "facility_power: broken limit" in first["reason"]


# Rows of a sweep's table, in the order of their scenarios.


def rows_of(
    inputs: Inputs, scenarios: Sequence[Scenario], options: Options | None = None
) -> list[Row]:
    """Return the row of each scenario of a problem, solved in this process."""
    how = replace(options or Options(gap=EACH_GAP), jobs=1)
    found = dict(solve_many({"": inputs}, scenarios, how, made))
    return [found[scenario.index] for scenario in scenarios]


def answers_of(inputs: Inputs, scenarios: Sequence[Scenario], options: Options) -> list[Answer]:
    """Return the answer of each scenario of a problem, solved in this process."""
    return solve_scenarios(inputs, scenarios, replace(options, jobs=1))
