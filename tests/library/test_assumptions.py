"""The page of assumptions: complete, and what the planner says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.world.scripts import script

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
