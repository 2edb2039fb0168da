"""`import planner`: what commands tell with --json, from files or models, nothing printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import planner
from planner import results as shown
from planner.inputs import inputs_from_text, inputs_to_text
from planner.loader.axes import values
from planner.loader.checks import checked
from tests.world.commands import ran, script
from tests.world.files import BOOK, CATALOG, PROBLEM
from tests.world.solved import solve
from tests.world.traces import write_trace

POWER = {"site.facility_power": "1.5 MW"}
SET = ("--set", "site.facility_power=1.5 MW")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a problem, its catalog and its prices, in which the test runs."""
    for name, text in (("small.yaml", PROBLEM), ("own.yaml", CATALOG), ("book.yaml", BOOK)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FUNCTIONS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "solve": (lambda: planner.solve("small.yaml", settings=POWER), (*SET, "-o", "out")),
    "size": (lambda: planner.size("small.yaml", gpus=64), ("--gpus", "64")),
    "explain": (lambda: planner.explain("small.yaml", settings=POWER), SET),
    "alternatives": (lambda: planner.alternatives("small.yaml", within=0.02), ("--near", "2 %")),
    "compare": (
        lambda: planner.compare("small.yaml", Path("small.yaml"), scenario="half_power"),
        ("small.yaml", "--scenario", "half_power"),
    ),
    "compare_rules": (
        lambda: planner.compare_rules("small.yaml", settings=POWER), ("--rules", *SET),
    ),
    "sweep": (
        lambda: planner.sweep("small.yaml", {"site.facility_power": ["1 MW", "2 MW"]}, workers=1),
        ("--vary", "site.facility_power=1 MW,2 MW", "--workers", "1", "-o", "out"),
    ),
    "frontier": (
        lambda: planner.frontier("small.yaml", "cost", points=4, gap=0.01, workers=1),
        ("--mode", "frontier", "--against", "cost", "--points", "4", "--gap", "1 %",
         "--workers", "1"),
    ),
    "tornado": (
        lambda: planner.tornado("small.yaml", {"site.pue": "1.1:1.4"}, workers=1),
        ("--mode", "tornado", "--vary", "site.pue=1.1:1.4", "--workers", "1"),
    ),
    "uncertain": (
        lambda: planner.uncertain(
            "small.yaml", ["site.pue=uniform(1.1, 1.4)"], samples=3, workers=1
        ),
        ("--mode", "uncertain", "--vary", "site.pue=uniform(1.1, 1.4)", "--samples", "3",
         "--workers", "1"),
    ),
    "simulate": (
        lambda: planner.simulate("small.yaml", replications=5, length="30 days"),
        ("--replications", "5", "--length", "30 days"),
    ),
}  # fmt: skip


COMMANDS = {
    "alternatives": "compare",
    "compare_rules": "compare",
    "frontier": "sweep",
    "tornado": "sweep",
    "uncertain": "sweep",
}
"""Commands of functions of another name."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_returns_what_its_command_prints_and_shows_it(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function, options = FUNCTIONS[name]
    before = sorted(here.iterdir())
    record = function()
    assert capsys.readouterr() == ("", "")
    assert sorted(here.iterdir()) == before
    command = ran(COMMANDS.get(name, name), "small.yaml", *options, "--json")
    assert (command.code, command.err.count("error")) == (0, 0)
    plain = asdict(record) if is_dataclass(record) else json.loads(record.model_dump_json())
    assert json.loads(json.dumps(plain)) == json.loads(command.out)
    shown_well(record)


def shown_well(result: Any) -> None:
    said, page = str(result), result._repr_html_()
    assert said.count("\n") >= 3
    assert page.startswith("<h3>")
    assert "<script" not in page
    for part in ("", *shown.parts(result)):
        assert len(result.to_frame(part).columns) == len(set(result.to_frame(part).columns))
    with pytest.raises(ValueError, match=r"has no table 'nothing'; it has \w+"):
        result.to_frame("nothing")


def test_a_plan_in_memory_is_as_good_as_its_file(here: Path) -> None:
    plan = planner.solve("small.yaml")
    path = here / "small.plan.json"
    path.write_text(plan.model_dump_json())
    for function in (
        lambda source: planner.verify(source),
        lambda source: planner.simulate(source, replications=3, length="30 days"),
    ):
        memory, file = function(plan), function(path)
        whole = {"plan"} if hasattr(memory, "checks") else set()
        assert memory.model_dump(exclude=whole) == file.model_dump(exclude=whole)
    goal = plan.objective.model_copy(update={"value": 2.0 * (plan.objective.value or 0.0)})
    changed = plan.model_copy(update={"objective": goal})
    assert planner.verify(changed, solve_again=False).result == "fails"
    with pytest.raises(planner.InputError, match="the plan does not hold: objective"):
        planner.simulate(changed)
    bare = solve("small.yaml")
    with pytest.raises(planner.InputError, match="does not carry what it was made from"):
        planner.verify(bare)


def test_a_price_that_leaves_its_range_is_carried(here: Path) -> None:
    """A sweep may set a list price below what its book says is the least quote."""
    inputs = planner.load("small.yaml")
    item = next(item for item, price in inputs.prices.items() if price.list_usd > 10)
    price = inputs.prices[item]
    price = price.model_copy(update={"low_usd": price.list_usd - 1.0})
    ranged = replace(inputs, prices=inputs.prices | {item: price})
    asked = checked(ranged, values(ranged, f"prices.{item}.list=10 USD").readings[0].changes)
    again = inputs_from_text(inputs_to_text(asked)).prices[item]
    assert again == asked.prices[item]
    assert again.low_usd is not None and again.list_usd < again.low_usd


def test_settings_on_loaded_inputs_are_settings_on_the_file(here: Path) -> None:
    inputs = planner.load("small.yaml", settings={"site.pue": 1.3})
    changed = planner.load(inputs, settings=POWER)
    fresh = planner.load("small.yaml", settings=["site.pue=1.3", "site.facility_power=1.5 MW"])
    assert inputs_to_text(changed) == inputs_to_text(fresh)
    assert changed.document == fresh.document
    assert planner.solve(changed) == planner.solve(fresh)
    assert inputs.problem.site.facility_power_kw == 2000.0, "what was changed stays as it was"
    scenario = planner.load("small.yaml", scenario="half_power")
    assert planner.solve(scenario) == planner.solve("small.yaml", scenario="half_power")
    back = planner.load(scenario, settings={"site.facility_power": "2 MW"})
    assert back.scenario == "half_power"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: planner.solve("none.yaml"), "no such problem file"),
        (lambda: planner.solve("small.yaml", settings={"site.pue": 0}), "site.pue"),
        (lambda: planner.solve("small.yaml", settings="site.pue=1.2"), "is one value"),
        (lambda: planner.compare(["small.yaml"] * 2), "an argument of its own"),
        (lambda: planner.characterize(pd.DataFrame()), "with to_csv"),
        (lambda: planner.bid("small.yaml", ["offer.csv"]), "an argument of its own"),
        (lambda: planner.solve("small.yaml", gap=2), "--gap 2 must be more than 0"),
        (lambda: planner.solve("small.yaml", time_limit="5"), "'5' has no unit"),
        (lambda: planner.sweep("small.yaml"), "nothing is varied"),
        (lambda: planner.sweep("small.yaml", scenarios=Path("x.csv")), "row of a table as"),
        (lambda: planner.bid("small.yaml", date="x"), "no keyword 'date'; use planner quote"),
        (lambda: planner.compare(), "two files or more"),
        (lambda: planner.frontier("small.yaml", points=1), "--points 1 must be 3 or more"),
        (lambda: planner.frontier("small.yaml", "money"), "--against 'money' is not known; one of"),
        (lambda: planner.explain(pd.DataFrame()), "DataFrame is no file"),
        (lambda: planner.characterize(), "nothing is given"),
        (lambda: planner.solve({"name": "x"}), "'site' is missing"),
        (lambda: planner.example("10MV"), "no example named '10MV'; did you mean '10MW'"),
    ],
)
def test_a_wrong_argument_is_one_line(
    call: Callable[[], Any], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(planner.InputError) as error:
        call()
    assert words in str(error.value)
    assert not set("\n") & set(str(error.value)) and "/tmp" not in str(error.value)
    assert capsys.readouterr() == ("", "")


def test_a_problem_without_a_plan_is_told_and_has_no_simulation(here: Path) -> None:
    none = {"jobs.0.gpus.min": 100_000}
    plan = planner.solve("small.yaml", settings=none)
    assert (plan.status, plan.infeasibility is None) == ("infeasible", False)
    assert plan._repr_html_().startswith("<h3>")
    with pytest.raises(planner.NoPlanError, match="no plan, so nothing to simulate"):
        planner.simulate(plan)


def test_traces_are_read(here: Path) -> None:
    trace = write_trace(here / "hall.csv")
    found = planner.characterize(trace)
    assert len(found.jobs) == 1
    assert found.to_frame()["size_gb.value"][0] == found.jobs[0].size_gb.value
    assert str(found).splitlines()[0] in ran("characterize", str(trace)).out


def test_money_is_shown_in_the_currency_of_the_result(here: Path) -> None:
    rate = {"usd": 1.25, "on": "2026-11-20", "source": "a bank"}
    euros = PROBLEM + f"currency: EUR\nexchange: {{EUR: {json.dumps(rate)}}}\n"
    (here / "euros.yaml").write_text(euros)
    dollars = planner.solve("small.yaml")
    said = str(dollars), dollars._repr_html_()
    plan = planner.solve("euros.yaml")
    assert (str(dollars), dollars._repr_html_()) == said
    assert "MUSD" in said[0]
    planner.load("small.yaml")
    assert "MEUR" in str(plan)
    assert "MUSD" not in str(plan) + plan._repr_html_()


# The page of assumptions: complete, and what the planner says now.


made = script("make_assumptions")
PAGE = made.PAGE.read_text("utf-8")


def test_every_assumption_of_the_plan_stands_on_the_page() -> None:
    models = {line.sku: line.model for line in made.plan().lines}
    for each in made.plan().assumptions:
        sku = each.name.partition(".")[0]
        if sku not in models:
            named = {*made.INPUTS, *made.IN_MONEY, *made.AT_REST}
            hint = f"say what moves it in {Path(made.__file__).name}"
            assert each.name in named, f"{each.name}: {hint}"
            continue
        assert f"| {models[sku]} |" in PAGE
        if each.confidence == "low":
            assert f"{each.label.partition(': ')[2]} {each.value:g} {each.unit}" in PAGE


@pytest.mark.exhaustive(keep=0)
def test_the_page_is_what_the_planner_says() -> None:
    assert made.page() == PAGE, "run python scripts/make_assumptions.py"


# `import planner` with lists, dicts and pandas frames in place of files.


def test_a_dict_is_a_problem_as_its_file(here: Path) -> None:
    data = yaml.safe_load(PROBLEM)
    of_file = planner.solve("small.yaml", settings=POWER)
    assert planner.solve(data, settings=POWER).lines == of_file.lines
    assert planner.load(data, scenario="half_power").problem.site.facility_power_kw == 1000.0
    assert planner.size(data | {"site": {"it_power": "1 MW", "pue": np.float64(1.25)}})
    assert planner.sweep(data, {"site.facility_power": ["1 MW", "2 MW"]}, workers=1).table
