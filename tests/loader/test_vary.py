"""Values of settings and sweeps: ranges, tables, files of settings, and wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs import Inputs, applied
from planner.loader import documents, load, read_document
from planner.loader.axes import values
from planner.loader.checks import checked
from planner.removed import SETTINGS
from planner.schema.problem import Problem
from tests.world.files import BOOK, CATALOG, FILES, PROBLEM, changed

POWER = "site.facility_power"


@pytest.fixture(scope="module")
def inputs(small: str) -> Inputs:
    return load(Path(small))


def problem_of(path: Path, *settings: str) -> Problem:
    """Return the problem of a file with settings, without its catalogs: quick."""
    document = read_document(path, settings, None)
    return documents.validated(Problem, document)


def texts_of(inputs: Inputs, option: str) -> list[str]:
    """Return the texts of what an option varies a single place to."""
    axis = values(inputs, option)
    return [each.changes[0].text for each in axis.readings]


def error_of(inputs: Inputs, option: str) -> str:
    with pytest.raises(InputError) as caught:
        values(inputs, option)
    return str(caught.value)


# Ranges and lists.


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        ("5MW:6MW:0.25MW", "5 MW, 5.25 MW, 5.5 MW, 5.75 MW, 6 MW"),
        ("6 MW : 5 MW : 0.5 MW", "6 MW, 5.5 MW, 5 MW"),
        ("5MW:6MW:0.4MW", "5 MW, 5.4 MW, 5.8 MW"),
        ("5MW:5.2MW:100kW", "5000 kW, 5100 kW, 5200 kW"),
        ("900kW:1.1MW:100kW", "900 kW, 1000 kW, 1100 kW"),
        ("1kW:1MW:log:4", "1 kW, 10 kW, 100 kW, 1000 kW"),
        ("4MW:1MW:log:3", "4 MW, 2 MW, 1 MW"),
        ("1e3 kW:3e3 kW:1e3 kW", "1000 kW, 2000 kW, 3000 kW"),
        (".5MW:1.MW:.25MW", "0.5 MW, 0.75 MW, 1 MW"),
        ("5 MW", "5 MW"),
        ("5 MW,700 kW , 1e3 kW", "5 MW, 700 kW, 1e3 kW"),
        ("x0.5,x2", "1000 kW, 4000 kW"),
        ("x0.5:x1:x0.25", "1000 kW, 1500 kW, 2000 kW"),
        ("x0.25:x1:log:3", "500 kW, 1000 kW, 2000 kW"),
        ("x1,3 MW,null", "2000 kW, 3 MW, null"),
    ],
)
def test_forms_of_values(inputs: Inputs, spec: str, texts: str) -> None:
    assert ", ".join(texts_of(inputs, f"{POWER}={spec}")) == texts


def test_a_wrong_value_among_others_is_refused(inputs: Inputs) -> None:
    assert "storage.rule: 'hig' is not known here" in error_of(inputs, "storage.rule=light,hig")
    said = error_of(inputs, f"{POWER}=0MW:2MW:1MW")
    assert "0 MW is out of range: expected more than 0 kW" in said
    axis = values(inputs, "jobs.0.parameters=405 B,500 k,x0.000001")
    assert axis.cells == (405e9, 500e3, 70e3)
    assert "70 has no unit; write '70 B'" in error_of(inputs, "jobs.0.parameters=70,405 B")
    assert "found 2.5" in error_of(inputs, "items.gpu_box.max=2.5,3")


# The front door.


FIELDS = {
    POWER: ("MW", "kW", "W"),
    "budget.capex": ("MUSD", "USD", "kUSD"),
    "jobs.0.checkpoint.stall": ("s", "min"),
    "jobs.0.restore.max_time": ("h", "min"),
    "storage.fill_limit": ("", "%"),
    "storage.client_limit.write": ("GB/s",),
    "site.pue": ("",),
    "jobs.0.parameters": ("B", "T", ""),
    "items.gpu_box.max": ("",),
    "items.slow_store.min": ("",),
    "jobs.0.failures.per_gpu_day": ("",),
    "spares.storage": ("%",),
    "term.years": ("",),
}
"""Numbers of the small problem, and units that each is written in."""


@settings(max_examples=60)
@given(
    field=st.sampled_from([(path, unit) for path, units in FIELDS.items() for unit in units]),
    low=st.decimals(0, 30, places=3),
    step=st.decimals("0.001", 5, places=3),
    count=st.integers(2, 400),
    place=st.integers(0, 399),
)
def test_a_value_of_a_range_is_that_of_its_text(
    small: str, field: tuple[str, str], low: Any, step: Any, count: int, place: int
) -> None:
    path, unit, place = *field, place % count
    whole = path.startswith("items")
    low, step = (int(low), max(1, int(step))) if whole else (low, step)
    inputs = load(Path(small))
    written = f"{low + step * place}"
    high = low + step * (count - 1)
    option = f"{path}={low}{unit}:{high}{unit}:{step}{unit}"
    try:
        reading = values(inputs, option).readings[place]
    except InputError:
        with pytest.raises(InputError):  # an end of the range is refused by itself
            for end in (low, high):
                problem_of(Path(small), f"{path}={end} {unit}".strip())
        return
    try:
        wanted = problem_of(Path(small), f"{path}={written} {unit}".strip())
    except InputError as error:  # rules between fields are asked later
        assert [finding.code for finding in error.findings] == ["value"], str(error)
        return
    assert applied(inputs, reading.changes).problem == wanted
    again = [change.setting for change in reading.changes]
    assert problem_of(Path(small), *again) == wanted


# Catalogs and prices.


def test_figures_and_prices_are_those_of_files_that_say_so(small: str, tmp_path: Path) -> None:
    inputs = load(Path(small))
    changes = [
        change
        for option in (
            "catalog.gpu_box.consumes.it_power=11 kW",
            "prices.quick_store.list=150 kUSD",
            "prices.gpu_box.support_per_year=40000 USD",
        )
        for change in values(inputs, option).readings[0].changes
    ]
    new = applied(inputs, changes, recorded=True)
    files = {
        **FILES,
        "own.yaml": changed(CATALOG, "value: 10 kW", "value: 11 kW"),
        "book.yaml": changed(BOOK, "200000 USD", "150000 USD").replace("8 %", "40000 USD"),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    wanted = load(tmp_path / "problem.yaml")
    assert new.items == wanted.items
    assert new.prices == wanted.prices
    assert new.problem == wanted.problem
    assert new.overrides == (
        "catalog.gpu_box.consumes.it_power=11 kW",
        "prices.quick_store.list=150 kUSD",
        "prices.gpu_box.support_per_year=40000 USD",
    )
    assert (inputs.overrides, applied(inputs, changes).overrides) == ((), ())
    figure = next(item for item in new.items if item.id == "gpu_box").consumes.it_power
    assert figure is not None
    assert (figure.value, figure.source, figure.confidence) == (11.0, "sheet", "high")


# Values that are put together.


@pytest.mark.parametrize(
    "settings_",
    [
        ("items.gpu_box.min=70",),
        ("items.gpu_box.min=70", "items.gpu_box.max=80"),
        ("items.gpu_box.fixed=3",),
        ("items.gpu_box.exclude=true", "items.gpu_box.min=1", "items.gpu_box.max=null"),
        ("jobs.0.checkpoint.stall=5 h",),
        ("jobs.0.checkpoint.stall=10 min", "targets.min_goodput=99 %"),
        ("targets.min_goodput=97 %", "jobs.0.checkpoint.stall=10 min"),
        ("jobs.0.checkpoint.interval.min=5 h",),
        ("jobs.0.gpus.max=16",),
        ("jobs.0.parallelism=null", "jobs.0.gpus.whole=replicas"),
        ("objective.maximize=null",),
        ("objective.maximize=null", "objective.minimize=cost"),
        ("objective.minimize=tco", "objective.maximize=null", "term=null"),
        ("term=null", "budget.tco=5 MUSD"),
        ("jobs.0.training.mfu=null",),
        ("site.rack=null",),
        ("site.rack=null", "site.racks=null"),
        ("site.facility_power=null", "site.racks=null", "budget.capex=null"),
        ("jobs.0.parallelism.tensor=1", "jobs.0.parallelism.pipeline=1"),
        ("jobs.0.checkpoint.size=2 TB",),
        ("jobs.0.checkpoint.size=980 GB",),
        ("consider.gpu_systems=[gpu_boxx]",),
        ("items.tray.min=1",),
        ("items.quick_store.min=1", "items.slow_store.min=1"),
        ("site.rack.height=61 RU",),
    ],
)
def test_contradicting_values_are_refused_as_by_set(small: str, settings_: tuple[str, ...]) -> None:
    inputs = load(Path(small))
    changes = [c for option in settings_ for c in values(inputs, option).readings[0].changes]
    try:
        wanted = load(Path(small), settings=settings_)
    except InputError as error:
        with pytest.raises(InputError) as caught:
            checked(inputs, changes)
        said = [(f.code, f.message, f.path, f.fix) for f in caught.value.findings]
        assert said == [(f.code, f.message, f.path, f.fix) for f in error.findings]
        about = {f.file for f in caught.value.findings if f.file and f.file.startswith("with ")}
        assert about or "consider" in settings_[0] or "rack" in settings_[0] or len(settings_) > 1
        return
    new = checked(inputs, changes, recorded=True)
    assert new.problem == wanted.problem
    assert new.overrides == wanted.overrides == settings_
    assert new.warnings == wanted.warnings


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# Overrides in a file: --set @FILE.


def laid(tmp_path: Path, text: str, name: str = "measured.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    return f"@{path}"


def test_values_of_a_file_are_laid_over(small: str, tmp_path: Path) -> None:
    text = "jobs.0.checkpoint.stall: 7 s\nstorage: {delivered_fraction: {write: 0.33}}\n"
    problem = load(Path(small), settings=(laid(tmp_path, text),)).problem
    assert problem.job.checkpoint.stall_s == 7
    assert problem.storage.delivered_fraction.write == pytest.approx(0.33)
    assert (
        problem.storage.delivered_fraction.read
        == load(Path(small)).problem.storage.delivered_fraction.read
    )


def test_settings_apply_in_their_order(small: str, tmp_path: Path) -> None:
    file = laid(tmp_path, "jobs.0.checkpoint.stall: 7 s\n")
    plain = "jobs.0.checkpoint.stall=9 s"
    for both, stall in (((file, plain), 9), ((plain, file), 7)):
        assert load(Path(small), settings=both).problem.job.checkpoint.stall_s == stall


def test_where_a_value_stands_is_told(small: str, tmp_path: Path) -> None:
    inputs = load(Path(small), settings=(laid(tmp_path, "# note\njobs.0.checkpoint.stall: 7 s\n"),))
    assert (inputs.where("jobs.0.checkpoint.stall") or "").endswith("measured.yaml:2")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the file of overrides is empty"),
        ("- a\n", "the file of overrides is not a mapping of keys to values"),
        ("jobs.3.checkpoint.stall: 7 s\n", r"measured\.yaml:1: .*has no entry '3'"),
        ("x: 1\njobs.0.checkpoint.stall: 7 h?\n", r"measured\.yaml:2: .*stall"),
        ("nonsense: 1\n", r"measured\.yaml:1: .*nonsense"),
        ("a: [\n", r"measured\.yaml"),
    ],
)
def test_wrong_files(small: str, tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        load(Path(small), settings=(laid(tmp_path, text),))


# A setting of version 0.1 that is gone is refused with the way to say it now.


AROUND: dict[str, Any] = {
    "rule": {"read": "1 GB/s", "write": "1 GB/s"},
    "split": [{"category": "storage", "max_share": 0.5}],
    "scale": {"exponent": 0.1, "reference": 512},
    "compute": {"switches": ["any"]},
    "storage": {"switch": "any"},
    "in_band": {"switch": "any"},
    "power_points": [{"gpu_cap": 0.5}],
    "service": {"per": "order"},
}
OF_PROBLEM = ("items.support_level", "items.support_years", "items.public_note")


def put(data: dict[str, Any], path: str) -> None:
    """Add a key to a file, with the mappings around it."""
    *above, last = path.split(".")
    for step in above:
        if not isinstance(data.get(step), (dict, list)):
            data[step] = AROUND.get(step, {}).copy()
        data = data[step][0] if isinstance(data[step], list) else data[step]
    data[last] = 1


@pytest.mark.parametrize("path", SETTINGS)
def test_a_removed_setting_is_refused_with_its_successor(path: str, tmp_path: Path) -> None:
    problem, catalog, book = (yaml.safe_load(text) for text in (PROBLEM, CATALOG, BOOK))
    if path in OF_PROBLEM:
        problem.setdefault("items", {}).setdefault("gpu_box", {})[path.split(".")[1]] = 1
    elif path == "exchange":  # of a price book
        book[path] = 1
    elif path.startswith("prices."):
        book["prices"]["gpu_box"][path.split(".")[1]] = 1
    else:
        put(catalog if path.startswith("items.") else problem, path)
    files = {"own.yaml": catalog, "book.yaml": book, "problem.yaml": problem}
    for name, text in {**FILES, **{n: yaml.safe_dump(data) for n, data in files.items()}}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load(tmp_path / "problem.yaml")
    assert SETTINGS[path] in [each.fix for each in refused.value.findings if each.line]
