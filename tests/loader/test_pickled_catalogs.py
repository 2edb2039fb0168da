"""Figures of catalogs in other processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from planner import shipped
from planner.loader import load
from planner.schema.catalog import Figure, _kinds

CATALOG = """catalog: mine
sources: {s: {title: t}}
items:
- id: box
  vendor: V
  model: Box
  category: management
  consumes: {rack_units: {value: 2 RU, source: s, confidence: low}}
"""


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    text = shipped.problem_files()["10MW"].read_text("utf-8")
    (tmp_path / "mine.yaml").write_text(CATALOG, "utf-8")
    path = tmp_path / "problem.yaml"
    path.write_text(text.replace("catalogs: [", "catalogs: [mine.yaml, ", 1), "utf-8")
    return path


def test_figures_keep_their_unit_in_other_processes(problem: Path) -> None:
    items = load(problem).items
    again = pickle.loads(pickle.dumps(items))
    assert again == items
    assert [type(item.provides) for item in again] == [type(item.provides) for item in items]
    made = {each for kind in Figure.__subclasses__() for each in (kind, *kind.__subclasses__())}
    assert set(_kinds().values()) == made
