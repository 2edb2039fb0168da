"""`import planner` with lists, dicts and pandas frames in place of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import planner
from tests.world.files import BOOK, CATALOG, PROBLEM

TRACE = "trace.csv"
Call = Callable[[Any], Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a problem and a trace, in which the test runs."""
    for name, text in (("small.yaml", PROBLEM), ("own.yaml", CATALOG), ("book.yaml", BOOK)):
        (tmp_path / name).write_text(text)
    bursts().to_csv(tmp_path / TRACE, index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bursts() -> pd.DataFrame:
    """Return a trace with a checkpoint of 600 GB every 10 min."""
    times = pd.date_range("2026-01-01", periods=2000, freq="10s")
    write = np.where(np.arange(2000) % 60 < 6, 10.0, 0.0)
    return pd.DataFrame({"time": times, "write_gb_per_s": write})


def test_a_frame_is_a_trace(here: Path) -> None:
    of_file = planner.characterize(TRACE)
    frame = bursts()
    for given in (frame, frame.set_index("time"), frame.rename(columns={"time": 0})):
        options = {"time": "0"} if 0 in given.columns else {}
        found = planner.characterize(given, **options)
        assert [job.size_gb.value for job in found.jobs] == [
            job.size_gb.value for job in of_file.jobs
        ]
    assert list(frame.columns) == ["time", "write_gb_per_s"]  # the caller's frame is left alone
    unnamed = frame.set_index(pd.DatetimeIndex(frame.pop("time"), name=None))
    assert planner.characterize(unnamed).jobs


def test_a_list_is_its_files_one_by_one(here: Path) -> None:
    bursts().to_csv("other.csv", index=False)
    whole = planner.characterize(TRACE, "other.csv")
    for given in ([TRACE, "other.csv"], (Path(TRACE), "other.csv"), iter([TRACE, ["other.csv"]])):
        assert planner.characterize(given) == whole
    assert len(planner.characterize([bursts(), bursts()]).clusters) == len(whole.clusters)
    assert len(planner.compare(["small.yaml", "small.yaml"]).sides) == 2


def test_a_dict_is_a_problem_as_its_file(here: Path) -> None:
    data = yaml.safe_load(PROBLEM)
    of_file = planner.solve("small.yaml", settings={"site.facility_power": "1.5 MW"})
    plan = planner.solve(data, settings={"site.facility_power": "1.5 MW"})
    assert plan.lines == of_file.lines
    assert planner.load(data, scenario="half_power").problem.site.facility_power_kw == 1000.0
    assert planner.size(data | {"site": {"it_power": "1 MW", "pue": np.float64(1.25)}})
    assert planner.sweep(data, {"site.facility_power": ["1 MW", "2 MW"]}, workers=1).table


def test_a_frame_is_scenarios(here: Path) -> None:
    table = pd.DataFrame({"site.facility_power": ["1 MW", "1.5 MW"]})
    swept = planner.sweep("small.yaml", scenarios=table, workers=1)
    assert len(swept.table["status"]) == 2


WRONG: dict[str, tuple[Call, str]] = {
    "list of one problem": (lambda _: planner.solve(["small.yaml"]), "found a list"),
    "frame as problem": (lambda frame: planner.explain(frame), "found a DataFrame; a DataFrame"),
    "frame as plan": (lambda frame: planner.simulate(frame), "found a DataFrame"),
    "frame among bids": (lambda frame: planner.bid("small.yaml", [frame]), "found a DataFrame"),
    "missing bids": (lambda _: planner.bid("small.yaml", ["offer.csv"]), "offer.csv"),
    "nothing": (lambda _: planner.solve(None), "found None"),
    "number": (lambda _: planner.size(3), "found int 3"),
    "bytes": (lambda _: planner.load(b"small.yaml"), "found bytes"),
    "empty list": (lambda _: planner.characterize([]), "nothing is given"),
    "series": (lambda frame: planner.characterize(frame["time"]), "found a value of Series"),
    "empty frame": (
        lambda _: planner.characterize(pd.DataFrame()),
        "no column of writes is recognised",
    ),
    "frame of objects": (
        lambda frame: planner.characterize(frame.assign(write_gb_per_s=[object()] * len(frame))),
        "the DataFrame cannot be read",
    ),
    "dict as trace": (lambda _: planner.characterize({"time": [1]}), "a dict is no trace"),
    "incomplete dict": (lambda _: planner.solve({"name": "x"}), "'site' is missing"),
    "dict of objects": (
        lambda frame: planner.load({"name": frame}),
        "the problem cannot be read: found a DataFrame",
    ),
    "dict as plan": (lambda _: planner.write_workbook({"x": 1}, "x.xlsx"), "unknown key 'x'"),
    "list as file": (
        lambda _: planner.write_workbook("small.yaml", ["x.xlsx"]),
        "found a list; give its path",
    ),
    "problem option": (
        lambda _: planner.characterize(TRACE, problem={"name": "x"}),
        "expected a file for problem, found a dict",
    ),
    "settings": (lambda _: planner.load("small.yaml", settings=[{"a": 1}]), "found a dict"),
    "number as settings": (lambda _: planner.load("small.yaml", settings=5), "found int 5"),
    "frame as setting": (
        lambda frame: planner.load("small.yaml", settings={"site.pue": frame}),
        "the setting cannot be read",
    ),
    "scenario": (lambda _: planner.load("small.yaml", scenario=["x"]), "name of a scenario"),
    "solver": (lambda _: planner.solve("small.yaml", solver="gurobi"), "one of highs, cbc"),
    "gpus": (lambda _: planner.size("small.yaml", gpus="64"), "whole number of GPUs"),
    "list of scenarios": (
        lambda _: planner.sweep("small.yaml", scenarios=["a.csv"]),
        "expected a CSV file of scenarios",
    ),
    "example": (lambda _: planner.example(["10MW"]), "name of an example"),
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_an_input_error(name: str, here: Path) -> None:
    call, words = WRONG[name]
    with pytest.raises(planner.InputError) as caught:
        call(bursts())
    said = str(caught.value)
    assert words in said
    assert "/tmp" not in said and "planner-" not in said


def test_settings_have_the_values_of_python(here: Path) -> None:
    settings = {"budget.capex": None, "storage.max_families": np.int64(1), "prices": ["book.yaml"]}
    problem = planner.load("small.yaml", settings=settings).problem
    assert (problem.budget.capex_usd, problem.prices) == (None, ("book.yaml",))
