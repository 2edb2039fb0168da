"""The page of assumptions: complete, and what the planner says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.limits import SUPPLIES
from planner.paths import value_at
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


def test_every_weak_price_stands_on_the_page_with_its_range() -> None:
    for line in made.plan().lines:
        if line.purchased and line.price is not None:
            (row,) = (
                row
                for row in PAGE.splitlines()
                if row.startswith(f"| {line.model} | {line.unit_net_usd:,.0f} ")
            )
            assert f"| {line.price.confidence} | {line.price.date} |" in row
            assert (
                line.price.low_usd is None
                or f"{line.price.low_usd * (1 - line.discount):,.0f} to" in row
            )


def test_every_lever_stands_on_the_page_with_its_worth() -> None:
    """Repair without spares costs more than half of the work; a lever of one row is solved."""
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.splitlines()}
    assert set(made.LEVERS) <= set(rows)
    (plain, *_) = made.LEVERS
    work, systems = made.best(plain)
    assert f"| {work} | {systems} |" in rows[plain]
    without = made.best("systems swapped, not trays; no spares", made.ALONE)
    assert rows["systems swapped, not trays; no spares"].endswith(f"| {' | '.join(without)} |")
    assert float(without[0].replace(",", "")) < 0.5 * float(work.replace(",", ""))


def test_what_is_left_out_is_not_in_the_problem() -> None:
    problem = made.hall().problem
    for path in made.LEFT_OUT:
        assert not value_at(problem, path), f"{path} is given: it is not left out"


def test_a_sum_of_what_catalogs_state_is_given_or_left_out() -> None:
    problem = made.hall().problem
    for limit in SUPPLIES:
        if limit.known_part and not value_at(problem, limit.path):
            assert limit.path in made.LEFT_OUT, "say so in scripts/make_assumptions.py"


@pytest.mark.exhaustive(keep=0)
def test_the_page_is_what_the_planner_says() -> None:
    assert made.page() == PAGE, "run python scripts/make_assumptions.py"
