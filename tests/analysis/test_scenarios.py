"""Scenarios: grids, named ones and samples, made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from planner.analysis.sweep import read_scenarios
from planner.api import Options
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from tests.analysis.test_sweep_engine import rows_of
from tests.world.files import BOOK, FILES, PROBLEM, changed

POWER = "site.facility_power"
NAMED = """\
scenarios:
  half_power: {site: {facility_power: 1 MW}}
  hourly:
    jobs.seventy.checkpoint.interval: {policy: fixed, every: 1 h}
    targets: {min_goodput: 90 %}
  picky: {consider: {vendors: [Boxes, Quick]}, objective: {minimize: cost}}
  dear: {prices: dear.yaml}
"""
NAMES = ["half_power", "hourly", "picky", "dear"]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small problem with scenarios of every kind."""
    folder = tmp_path_factory.mktemp("named")
    text = PROBLEM[: PROBLEM.index("scenarios:")] + NAMED
    dear = changed(BOOK, "list: 300000 USD", "list: 900000 USD")
    for name, content in {**FILES, "problem.yaml": text, "dear.yaml": dear}.items():
        (folder / name).write_text(content, "utf-8")
    return folder / "problem.yaml"


@pytest.fixture(scope="module")
def inputs(problem: Path) -> Inputs:
    return load(problem)


def error_of(inputs: Inputs, *vary: str, **more: object) -> str:
    with pytest.raises(InputError) as caught:
        read_scenarios(inputs, vary=vary, **more)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_grid_has_every_combination_the_last_axis_fastest(inputs: Inputs) -> None:
    vary = (f"{POWER}=1MW:3MW:1MW", "storage.rule=demand,light", "items.gpu_box.max=8,null")
    found = read_scenarios(inputs, vary=vary)
    wanted = list(product(("1 MW", "2 MW", "3 MW"), ("demand", "light"), ("8", "null")))
    assert len(found) == len(wanted) == 12
    assert [tuple(change.text for change in each.changes) for each in found] == wanted
    assert [each.index for each in found] == list(range(12))
    assert [column.name for column in found.axes] == [
        "site.facility_power [kW]",
        "storage.rule",
        "items.gpu_box.max",
    ]
    assert [found[index].cells for index in (0, 1, 11)] == [
        (1000.0, "demand", 8),
        (1000.0, "demand", None),
        (3000.0, "light", None),
    ]
    with pytest.raises(IndexError):
        found[12]


def test_too_many_scenarios_are_refused_before_any_is_made(inputs: Inputs) -> None:
    vary = (f"{POWER}=1MW:10MW:1kW", "budget.capex=1MUSD:2MUSD:0.1kUSD")
    assert error_of(inputs, *vary) == (
        "9,001 x 10,001 are 90,019,001 scenarios, more than 100,000; "
        "take larger steps or fewer paths [vary]"
    )


@pytest.mark.parametrize(
    ("vary", "twice"),
    [
        ((f"{POWER}=1 MW", "site.facility_power=2 MW"), POWER),
        (("jobs.0.dataset=1 TB", "jobs.seventy.dataset=2 TB"), "jobs.0.dataset"),
        (("prices.*.list=x2", "prices.gpu_box.list=5 USD"), "prices.gpu_box.list"),
        (
            ("jobs.0.checkpoint.interval.max=1 h", "jobs.0.checkpoint.interval={policy: optimal}"),
            "jobs.0.checkpoint.interval",
        ),
        (("site={pue: 1.1}", "site.pue=1.2"), "site"),
    ],
)
def test_what_is_varied_twice_is_refused(inputs: Inputs, vary: Sequence[str], twice: str) -> None:
    assert error_of(inputs, *vary) == f"'{twice}' is varied twice; vary it once [vary]"


# Scenarios as inputs.


def test_one_value_that_contradicts_another_refuses_no_other(problem: Path) -> None:
    inputs = load(problem, settings=["jobs.0.repair={share: 78 %, time: 24 h}"])
    found = read_scenarios(inputs, vary=["jobs.0.gpus.max_types=1,2"])
    fine, refused = rows_of(inputs, [*found], Options(gap=1e-3))
    assert (fine["status"], refused["status"]) == ("optimal", "invalid")
    assert "repair needs one GPU type" in refused["reason"]
    assert "jobs.0.gpus.max_types=2" in refused["reason"]


# Named scenarios.


def test_named_scenarios_each_have_their_inputs(problem: Path, inputs: Inputs) -> None:
    found = read_scenarios(inputs, named=(), problem=problem)
    assert [each.base for each in found] == NAMES
    assert not any(each.changes for each in found)
    for name in NAMES:
        assert found.bases[name] == load(problem, scenario=name)


def test_prices_of_the_named_scenario_are_the_ones_that_are_scaled(
    problem: Path, inputs: Inputs
) -> None:
    vary = ["prices.gpu_box.list=x0.5"]
    found = read_scenarios(inputs, vary=vary, named=["dear", "picky"], problem=problem)
    assert [found[index].cells[-1] for index in range(2)] == [450_000.0, 150_000.0]


def test_a_wrong_named_scenario_is_refused_with_its_line(problem: Path, inputs: Inputs) -> None:
    wrong = problem.with_name("wrong.yaml")
    wrong.write_text(problem.read_text("utf-8") + "  broken: {site: {facility_power: 1 GB}}\n")
    with pytest.raises(InputError, match=r"wrong\.yaml:\d+.*'GB' in '1 GB' is not a unit of power"):
        read_scenarios(inputs, named=(), problem=wrong)
