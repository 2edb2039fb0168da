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


def test_a_dict_is_a_problem_as_its_file(here: Path) -> None:
    data = yaml.safe_load(PROBLEM)
    of_file = planner.solve("small.yaml", settings={"site.facility_power": "1.5 MW"})
    plan = planner.solve(data, settings={"site.facility_power": "1.5 MW"})
    assert plan.lines == of_file.lines
    assert planner.load(data, scenario="half_power").problem.site.facility_power_kw == 1000.0
    assert planner.size(data | {"site": {"it_power": "1 MW", "pue": np.float64(1.25)}})
    assert planner.sweep(data, {"site.facility_power": ["1 MW", "2 MW"]}, workers=1).table


WRONG: dict[str, tuple[Call, str]] = {
    "list of one problem": (lambda _: planner.solve(["small.yaml"]), "found list"),
    "frame as problem": (lambda frame: planner.explain(frame), "found DataFrame"),
    "frame among bids": (lambda frame: planner.bid("small.yaml", frame), "found DataFrame"),
    "frame as trace": (lambda frame: planner.characterize(frame), "found DataFrame"),
    "missing bids": (lambda _: planner.bid("small.yaml", "offer.csv"), "offer.csv"),
    "nothing": (lambda _: planner.solve(None), "found NoneType"),
    "number": (lambda _: planner.size(3), "found int 3"),
    "no trace": (lambda _: planner.characterize(), "nothing is given"),
    "incomplete dict": (lambda _: planner.solve({"name": "x"}), "'site' is missing"),
    "dict of objects": (lambda frame: planner.load({"name": frame}), "the problem cannot be read"),
    "dict as plan": (lambda _: planner.write_workbook({"x": 1}, "x.xlsx"), "unknown key 'x'"),
    "settings": (lambda _: planner.load("small.yaml", settings=[{"a": 1}]), "found dict"),
    "number as settings": (lambda _: planner.load("small.yaml", settings=5), "found int 5"),
    "solver": (lambda _: planner.solve("small.yaml", solver="gurobi"), "one of highs, cbc"),
    "gpus": (lambda _: planner.size("small.yaml", gpus="64"), "whole number of GPUs"),
    "list of scenarios": (
        lambda _: planner.sweep("small.yaml", scenarios=["a.csv"]), "expected the path of a file"
    ),
    "example": (lambda _: planner.example(["10MW"]), "no example named"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_an_input_error(name: str, here: Path) -> None:
    call, words = WRONG[name]
    with pytest.raises(planner.InputError) as caught:
        call(bursts())
    said = str(caught.value)
    assert words in said
    assert "/tmp" not in said and "planner-" not in said
