"""Counts are of an item at a site in a period: several sites add up to one, and none is lost."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import planner
from planner import paths
from planner.case import resolve
from planner.case.model import Key, by_item
from planner.optimizer.optimise import optimise
from tests.world.random_cases import inputs_of, random_case

SITES = ("north", "south")


def test_counts_of_one_item_add_up() -> None:
    counts = {Key("gpu", "north"): 3, Key("gpu", "south"): 4, Key("box", "north", 1): 5}
    assert by_item(counts.items()) == {"gpu": 7, "box": 5}


def test_one_site_and_one_period_need_no_names() -> None:
    case = resolve(inputs_of(random_case(1)))
    assert case.keys("gpu") == (Key("gpu"),)
    assert replace(case, sites=SITES, periods=(0, 1)).keys("gpu") == (
        Key("gpu", "north", 0),
        Key("gpu", "north", 1),
        Key("gpu", "south", 0),
        Key("gpu", "south", 1),
    )


@pytest.mark.parametrize("seed", range(12))
def test_units_spread_over_two_sites_are_worth_what_they_are_at_one(seed: int) -> None:
    case = resolve(inputs_of(random_case(seed)))
    one, two = optimise(case), optimise(replace(case, sites=SITES))
    assert two.status == one.status
    if one.operation is not None and two.operation is not None:
        assert two.operation.units == one.operation.units
        assert two.value == pytest.approx(one.value, rel=4e-6)


def test_only_one_file_knows_where_in_the_problem_the_job_stands() -> None:
    root = Path(planner.__file__).parent
    named = [path for path in root.rglob("*.py") if "jobs.0" in path.read_text("utf-8")]
    for path in named:
        tree = ast.parse(path.read_text("utf-8"))
        shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        found = [t for t in texts if id(t) not in shown and "jobs.0" in str(t.value)]
        assert path == Path(paths.__file__) or not found, path
