"""Scenarios: grids, tables, named ones and samples, made when they are asked for."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from planner.api import solve_inputs
from planner.errors import InputError
from planner.inputs import Inputs, value_at
from planner.loader import load
from planner.loader.vary import checked
from planner.loader.vary.place import Slot
from planner.studies.request import SweepOptions
from planner.studies.scenarios import Scenario, Scenarios, scenarios
from tests.studies.rows import rows_of
from tests.world.effort import calls_of
from tests.world.files import BOOK, FILES, PROBLEM, changed

POWER = "site.facility_power"
NAMED = """\
scenarios:
  half_power: {site: {facility_power: 1 MW}}
  hourly:
    jobs.seventy.checkpoint.interval: {policy: fixed, every: 1 h}
    targets: {min_goodput: 90 %}
  picky: {consider: {vendors: [Boxes, Quick]}, objective: {minimize: cost}}
  broken: {site: {facility_power: 1 GB}}
  dear: {prices: dear.yaml}
"""
PLACES = {"half_power": 0, "hourly": 1, "picky": 2, "broken": 3, "dear": 4}


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


def settings_of(scenario: Scenario) -> list[str]:
    return [change.setting for change in scenario.changes]


def names_of(found: Scenarios) -> list[str]:
    return [column.name for column in found.axes]


def error_of(inputs: Inputs, *vary: str, **more: object) -> str:
    with pytest.raises(InputError) as caught:
        scenarios(inputs, vary=vary, **more)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_grid_has_every_combination_the_last_axis_fastest(inputs: Inputs) -> None:
    vary = (f"{POWER}=1MW:3MW:1MW", "storage.rule=demand,light", "items.gpu_box.max=8,null")
    found = scenarios(inputs, vary=vary)
    wanted = list(product(("1 MW", "2 MW", "3 MW"), ("demand", "light"), ("8", "null")))
    assert len(found) == len(wanted) == 12
    assert [tuple(change.text for change in each.changes) for each in found] == wanted
    assert [each.index for each in found] == list(range(12))
    assert names_of(found) == ["site.facility_power [kW]", "storage.rule", "items.gpu_box.max"]
    assert [found[index].cells for index in (0, 1, 11)] == [
        (1000.0, "demand", 8), (1000.0, "demand", None), (3000.0, "light", None),
    ]  # fmt: skip
    with pytest.raises(IndexError):
        found[12]


def test_columns_tell_what_is_varied(inputs: Inputs) -> None:
    vary = (f"{POWER}=1 MW", "storage.fill_limit=50 %", "prices.*.list=x0.8", "term.years=3",
            "catalog.gpu_box.consumes.it_power=9 kW", "items.gpu_box.min=1",
            "jobs.seventy.checkpoint.stall=9 s", "items.slow_store.min=3")  # fmt: skip
    found = [(c.name, c.label, c.unit, c.path, c.kind) for c in scenarios(inputs, vary=vary).axes]
    assert found == [
        ("site.facility_power [kW]", "power at the meter", "kW", POWER, "input"),
        ("storage.fill_limit [share]", "storage fill limit", "share", "storage.fill_limit",
         "input"),
        ("prices.*.list [x]", "list price of every item", "x", "prices.*.list", "input"),
        ("term.years", "term years", "", "term.years", "input"),
        ("catalog.gpu_box.consumes.it_power [kW]", "IT power of Box 8", "kW",
         "catalog.gpu_box.consumes.it_power", "input"),
        ("items.gpu_box.min", "least Box 8", "", "items.gpu_box.min", "input"),
        ("jobs.0.checkpoint.stall [s]", "stall time", "s", "jobs.0.checkpoint.stall", "input"),
        ("items.slow_store.min", "least Slow 1", "", "items.slow_store.min", "input"),
    ]  # fmt: skip


def test_a_million_scenarios_are_not_held(inputs: Inputs) -> None:
    tracemalloc.start()
    try:
        found = scenarios(
            inputs, vary=[f"{POWER}=1MW:2MW:lin:1000", "budget.capex=1MUSD:9MUSD:lin:1000"]
        )
        some = found[999_999], found[500_007]
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 1_000_000
    assert [each.index for each in some] == [999_999, 500_007]
    assert found[999_999].cells == (2000.0, 9e6)
    assert held < 5e6


def test_ten_thousand_scenarios_are_made_at_once_and_each_value_is_read_once(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    read = Slot.read
    monkeypatch.setattr(Slot, "read", lambda slot, raw: (seen.append(raw), read(slot, raw))[1])
    found = scenarios(inputs, vary=[f"{POWER}=1MW:11MW:1kW"])
    made = list(found)
    assert len(made) == len(seen) == len(set(seen)) == 10_001
    assert made[700].changes[0].value == 1700.0
    assert [found[index].cells for index in (0, 10_000)] == [(1000.0,), (11_000.0,)]
    assert len(seen) == 10_001


def test_too_many_scenarios_are_refused_before_any_is_made(inputs: Inputs) -> None:
    vary = (f"{POWER}=1MW:10MW:1kW", "budget.capex=1MUSD:2MUSD:0.1kUSD")
    assert error_of(inputs, *vary) == (
        "9,001 x 10,001 are 90,019,001 scenarios, and at most 10,000,000 can be asked for; "
        "take larger steps or fewer paths [vary]"
    )


@pytest.mark.parametrize(
    ("vary", "twice"),
    [
        ((f"{POWER}=1 MW", "site.facility_power=2 MW"), POWER),
        (("jobs.0.dataset=1 TB", "jobs.seventy.dataset=2 TB"), "jobs.0.dataset"),
        (("prices.*.list=x2", "prices.gpu_box.list=5 USD"), "prices.gpu_box.list"),
        (("jobs.0.checkpoint.interval.max=1 h", "jobs.0.checkpoint.interval={policy: optimal}"),
         "jobs.0.checkpoint.interval"),
        (("site={pue: 1.1}", "site.pue=1.2"), "site"),
    ],
)  # fmt: skip
def test_what_is_varied_twice_is_refused(inputs: Inputs, vary: Sequence[str], twice: str) -> None:
    assert error_of(inputs, *vary) == f"'{twice}' is varied twice; vary it once [vary]"


def test_nothing_to_vary_is_said(inputs: Inputs) -> None:
    assert error_of(inputs) == ("nothing is varied; give --vary or --scenarios [vary]")


# Scenarios as inputs.


def scenario_inputs(inputs: Inputs, scenario: Scenario) -> Inputs:
    return checked(inputs, scenario.changes, recorded=True)


def test_inputs_of_a_scenario_are_those_of_set(problem: Path, inputs: Inputs) -> None:
    found = scenarios(inputs, vary=[f"{POWER}=0.5MW:1.5MW:0.1MW", "storage.rule=light,high"])
    for scenario in found[::7]:
        settings = tuple(settings_of(scenario))
        new, wanted = scenario_inputs(inputs, scenario), load(problem, settings=settings)
        assert new.problem == wanted.problem
        assert new.overrides == wanted.overrides == settings


def test_a_plan_of_a_scenario_tells_its_changes(inputs: Inputs) -> None:
    vary = ("prices.*.list=x0.5", "catalog.gpu_box.consumes.it_power=x2", f"{POWER}=x0.5")
    scenario = scenarios(inputs, vary=vary)[0]
    cheap = solve_inputs(scenario_inputs(inputs, scenario), gap=1e-4)
    base = solve_inputs(inputs, gap=1e-4)
    assert cheap.provenance.overrides == tuple(settings_of(scenario))
    assert "catalog.gpu_box.consumes.it_power=20 kW" in cheap.provenance.overrides
    line = next(line for line in cheap.lines if line.sku == "gpu_box")
    before = next(line for line in base.lines if line.sku == "gpu_box")
    assert (line.unit_it_power_kw, before.unit_it_power_kw) == (20.0, 10.0)
    assert (line.unit_list_usd, before.unit_list_usd) == (150_000.0, 300_000.0)


def test_values_that_do_not_go_together_are_told_where_they_are_checked(inputs: Inputs) -> None:
    found = scenarios(inputs, vary=["storage.rule=light,lite", "items.gpu_box.min=1,99"])
    assert [bool(each.refused) for each in found] == [False, False, True, True]
    assert "'lite' is not known here" in found[2].refused
    with pytest.raises(InputError, match=r"with items\.gpu_box\.min=99: .*more than max 64"):
        scenario_inputs(inputs, found[1])
    assert scenario_inputs(inputs, found[0])


@pytest.mark.parametrize(
    ("setting", "vary", "refused"),
    [
        ("site.floor={racks_per_row: 10, rows: 4, rack_width: 60 cm, row_pitch: 3 m, riser: 1 m}",
         ["storage.delivered_fraction.write=0.5,0.6", "site.racks=20,30,60"],
         "racks is 60; floor has places for 40"),
        ("jobs.0.repair={share: 78 %, time: 24 h}", ["jobs.0.repair.time=12 h,400 d"],
         "a repair takes 365 days at most"),
        ("jobs.0.repair={share: 78 %, time: 24 h}", ["jobs.0.gpus.hot_spares=0,1"],
         "does not go with repair"),
        ("term.years=3", ["term.support_level=none,golden"], "no price has a level"),
    ],
)  # fmt: skip
def test_one_value_that_contradicts_another_refuses_no_other(
    problem: Path, setting: str, vary: list[str], refused: str
) -> None:
    """Of a hall with places for 40 racks no row had a plan where one of them asked for 60, and a
    repair of 400 days had one where it stood beside one of 12 hours."""
    inputs = load(problem, settings=[setting])
    found = scenarios(inputs, vary=vary)
    rows = rows_of(inputs, [*found], SweepOptions(1e-3))
    for row, scenario in zip(rows, found, strict=True):
        try:
            checked(inputs, scenario.changes)
            assert row["status"] == "optimal", row
        except InputError as error:
            assert refused in str(error)
            assert (row["status"], refused in row["reason"]) == ("invalid", True)
            assert scenario.changes[-1].setting in row["reason"]


# Tables, and tables times grids.


def test_rows_times_a_grid(inputs: Inputs, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("name,storage.rule,items.gpu_box.max\na,light,\nb,lite,8\nc,,9\n", "utf-8")
    found = scenarios(inputs, vary=[f"{POWER}=1 MW,2 MW"], table=table)
    assert [each.name for each in found] == ["a", "a", "b", "b", "c", "c"]
    assert [settings_of(each) for each in found[::2]] == [
        ["storage.rule=light", "site.facility_power=1 MW"],
        ["site.facility_power=1 MW"],
        ["items.gpu_box.max=9", "site.facility_power=1 MW"],
    ]
    assert [bool(each.refused) for each in found] == [False, False, True, True, False, False]
    assert "rows.csv:3: storage.rule: 'lite' is not known" in found[2].refused
    assert [found[index].cells for index in (1, 2, 5)] == [
        ("light", 64, 2000.0), ("lite", 8, 1000.0), ("demand", 9, 2000.0),
    ]  # fmt: skip
    twice = error_of(inputs, "storage.rule=high", table=table)
    assert twice == "'storage.rule' is varied twice; vary it once [vary]"


def test_a_table_of_ten_thousand_rows(inputs: Inputs, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    body = "".join(f"{1 + row / 1000:.3f} MW,{row % 30} s\n" for row in range(10_000))
    table.write_text(f"{POWER},jobs.0.checkpoint.stall\n{body}", "utf-8")
    found = scenarios(inputs, table=table)
    made = list(found)
    assert [change.value for change in made[9_999].changes] == [10_999.0, 9.0]
    assert calls_of(lambda: list(scenarios(inputs, table=table))) < 10_000 * 200


# Named scenarios.


def test_named_scenarios_each_have_their_inputs(problem: Path, inputs: Inputs) -> None:
    found = scenarios(inputs, named=(), problem=problem)
    assert [each.name for each in found] == list(PLACES)
    assert [each.base for each in found] == list(PLACES)
    assert [bool(each.refused) for each in found] == [False, False, False, True, False]
    assert "1 GB" in found[3].refused
    assert all(each.changes == () for each in found)
    for name in ("half_power", "hourly", "picky", "dear"):
        own = found.bases[name]
        assert own == load(problem, scenario=name)
        assert scenario_inputs(own, found[PLACES[name]]).problem == own.problem
    assert "broken" not in found.bases


def test_some_named_scenarios_times_a_grid(problem: Path, inputs: Inputs) -> None:
    found = scenarios(
        inputs, vary=[f"{POWER}=x0.5,3 MW"], named=["half_power", "picky"], problem=problem
    )
    assert [(each.base, settings_of(each)) for each in found] == [
        ("half_power", ["site.facility_power=500 kW"]),
        ("half_power", ["site.facility_power=3 MW"]),
        ("picky", ["site.facility_power=1000 kW"]),
        ("picky", ["site.facility_power=3 MW"]),
    ]
    assert names_of(found) == ["site.facility_power [kW]"]
    assert found[2].cells == (1000.0,)
    new = scenario_inputs(found.bases["picky"], found[2])
    assert (new.problem.objective.minimize, value_at(new, POWER)) == ("cost", 1000.0)


def test_prices_of_the_named_scenario_are_the_ones_that_are_scaled(
    problem: Path, inputs: Inputs
) -> None:
    vary = ["prices.gpu_box.list=x0.5"]
    found = scenarios(inputs, vary=vary, named=["dear", "picky"], problem=problem)
    assert [found[index].cells[-1] for index in range(2)] == [450_000.0, 150_000.0]


def test_what_only_some_scenarios_have_is_refused_in_the_others(
    problem: Path, inputs: Inputs
) -> None:
    vary = ["jobs.0.checkpoint.interval.every=10 min,20 min"]
    found = scenarios(inputs, vary=vary, named=["half_power", "hourly"], problem=problem)
    assert [bool(each.refused) for each in found] == [True, True, False, False]
    assert "'jobs.0.checkpoint.interval' has no 'every'" in found[0].refused
    assert names_of(found)[-1] == "jobs.0.checkpoint.interval.every [s]"
    assert [found[index].cells[-1] for index in range(4)] == [None, None, 600.0, 1200.0]
    assert "has no 'every'" in error_of(inputs, *vary, named=["half_power"], problem=problem)
    over_broken = scenarios(
        inputs, vary=[f"{POWER}=1 MW,2 MW"], named=["broken", "picky"], problem=problem
    )
    assert [each.refused.count("1 GB") for each in over_broken] == [1, 1, 0, 0]


def test_settings_are_laid_over_every_named_scenario(problem: Path) -> None:
    inputs = load(problem, settings=("site.pue=1.5",))
    found = scenarios(inputs, named=["hourly"], problem=problem)
    own = found.bases["hourly"]
    assert own.problem.site.pue == 1.5
    assert own.overrides == ("site.pue=1.5",)


def test_named_scenarios_that_are_not_there(problem: Path, inputs: Inputs, small: str) -> None:
    said = error_of(inputs, named=["half_powr"], problem=problem)
    assert said == "--scenarios: no scenario 'half_powr'; did you mean 'half_power'? [scenario]"
    said = error_of(inputs, named=["broken"], problem=problem)
    assert "site.facility_power: 'GB' in '1 GB' is not a unit of power" in said
    bare = problem.with_name("bare.yaml")
    bare.write_text(PROBLEM[: PROBLEM.index("scenarios:")], "utf-8")
    said = error_of(inputs, named=(), problem=bare)
    assert said.startswith("--scenarios: bare.yaml has no scenarios; add scenarios: {half_power:")
    own = load(problem, scenario="hourly")
    said = error_of(own, named=(), problem=problem)
    assert said.startswith("--scenarios: a named scenario does not go with --scenario")
    assert scenarios(load(Path(small)), named=(), problem=Path(small))[0].name == "half_power"


def test_scenarios_travel_between_processes(problem: Path, inputs: Inputs) -> None:
    vary = ["jobs.0.failures.per_gpu_day=0.0001", "jobs.0.checkpoint.interval={policy: optimal}",
            "prices.gpu_box.support_per_year=4 %", "storage.rule=lite,light"]  # fmt: skip
    made = list(scenarios(inputs, vary=vary, named=["half_power"], problem=problem))
    assert pickle.loads(pickle.dumps(made)) == made
