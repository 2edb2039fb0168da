"""Catalogs parsed once in a process: read again when a file changes, whole after pickling."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from planner import shipped
from planner.errors import InputError
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


def test_changed_catalog_is_read_again(problem: Path) -> None:
    mine = problem.parent / "mine.yaml"
    before = load(problem)
    assert load(problem) == before
    mine.write_text(CATALOG.replace("value: 2 RU", "value: 3 RU"), "utf-8")
    after = load(problem)
    assert after.sha256 != before.sha256
    assert after.by_id["box"] != before.by_id["box"]
    mine.write_text(CATALOG + "surplus: 1\n", "utf-8")
    with pytest.raises(InputError) as found:
        load(problem)
    assert [(each.line, each.path) for each in found.value.findings] == [(9, "surplus")]


def test_figures_keep_their_unit_in_other_processes(problem: Path) -> None:
    items = load(problem).items
    again = pickle.loads(pickle.dumps(items))
    assert again == items
    assert [type(item.provides) for item in again] == [type(item.provides) for item in items]
    made = {each for kind in Figure.__subclasses__() for each in (kind, *kind.__subclasses__())}
    assert set(_kinds().values()) == made
