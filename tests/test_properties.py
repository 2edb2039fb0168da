"""Properties between plans: more never hurts; order, leftovers, a second run change nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner import shipped
from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.prices import Price
from planner.schema.problem import Problem, Quantity
from tests.world import catalog
from tests.world.catalog import figures, hardware, part, switch
from tests.world.known_plans import everything
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve

SEEDS = range(300, 316)


@cache
def drawn(seed: int) -> tuple[Inputs, Plan]:
    inputs = inputs_of(random_case(seed))
    return inputs, solve(inputs, explain=False)


def solved() -> Iterator[tuple[Inputs, Plan]]:
    return (pair for pair in map(drawn, SEEDS) if pair[1].status == "optimal")


def changed(problem: Problem, **sections: dict[str, Any]) -> Problem:
    """Return the problem with fields of its sections replaced."""
    updates = {
        name: getattr(problem, name).model_copy(update=fields) for name, fields in sections.items()
    }
    return problem.model_copy(update=updates)


def no_worse(one: Plan, other: Plan) -> bool:
    """Say whether the best there is for the first is at least as good, but for the gap."""
    assert one.objective.best is not None
    assert other.objective.best is not None
    width = (one.objective.gap_asked + other.objective.gap_asked) * abs(other.objective.best)
    if one.objective.sense == "maximize":
        return one.objective.best >= other.objective.best - width
    return one.objective.best <= other.objective.best + width


def bill(plan: Plan) -> dict[str, int]:
    return {line.sku: line.quantity for line in plan.lines if line.parent is None}


# More of a limit never hurts.

LOOSER: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "power": ("site", "it_power_kw", lambda kw: 1.1 * kw),
    "facility power": ("site", "facility_power_kw", lambda kw: 1.1 * kw),
    "racks": ("site", "racks", lambda count: count + 1),
    "capex": ("budget", "capex_usd", lambda usd: 1.1 * usd),
    "opex": ("budget", "opex_usd_per_year", lambda usd: 1.1 * usd),
    "tco": ("budget", "tco_usd", lambda usd: 1.1 * usd),
    "families": ("storage", "max_families", lambda count: count + 1),
    "fill limit": ("storage", "fill_limit", lambda _: 1.0),
    "goodput": ("targets", "min_goodput", lambda _: None),
    "work": ("targets", "min_useful_gpus", lambda _: None),
}


def looser(problem: Problem, limit: str) -> Problem | None:
    section, field, by = LOOSER[limit]
    value = getattr(getattr(problem, section), field)
    return changed(problem, **{section: {field: by(value)}}) if value else None


@pytest.mark.parametrize("limit", LOOSER)
def test_more_never_hurts(limit: str) -> None:
    tried = 0
    for inputs, plan in solved():
        problem = looser(inputs.problem, limit)
        if problem is None:
            continue
        tried += 1
        assert no_worse(solve(replace(inputs, problem=problem), explain=False), plan), plan.problem
    assert tried > 0


# Items that are not needed, and items that are.


def free(inputs: Inputs, item: Item) -> bool:
    """Say whether only shared limits hold the item back, so that a copy of it adds nothing."""
    rule = inputs.problem.items.get(item.id, Quantity())
    demanded = rule.fixed is not None or rule.min or rule.installed
    return not demanded and item.max_units is None and item.consumes.it_power is not None


def test_without_an_item_of_the_plan_nothing_gets_better() -> None:
    tried = worse = 0
    for inputs, plan in solved():
        for item in inputs.items:
            if item.id not in bill(plan) or not free(inputs, item):
                continue
            prices = {name: p for name, p in inputs.prices.items() if name != item.id}
            if item.category not in ("gpu_system", "storage"):  # it cannot be done without
                if not inputs.problem.items.get(item.id, Quantity()).installed:
                    with pytest.raises(InputError, match=f"'{item.id}' comes with this plan"):
                        solve(replace(inputs, prices=prices), explain=False)
                continue
            found = solve(replace(inputs, prices=prices), explain=False)
            tried += 1
            if found.status == "optimal":
                assert no_worse(plan, found), (plan.problem, item.id)
            else:
                assert found.status == "infeasible"
            worse += found.status != "optimal" or not no_worse(found, plan)
    assert tried >= 10
    assert worse >= 3


# What must change nothing in a whole bill: the order of catalogs, leftovers, a second run.


def content(plan: Plan) -> dict[str, object]:
    """Return what a plan says, without where it comes from and what it could not use."""
    return plan.model_dump(exclude={"provenance", "not_considered", "objective"})


def test_order_in_the_catalogs_is_nothing() -> None:
    inputs, random = everything().inputs, Random(0)
    items, families = list(inputs.items), list(inputs.families)
    random.shuffle(items)
    random.shuffle(families)
    prices = dict(random.sample(list(inputs.prices.items()), len(inputs.prices)))
    shuffled = replace(inputs, items=tuple(items), families=tuple(families), prices=prices)
    assert content(solve(shuffled)) == content(everything().plan)


def test_items_that_no_problem_names_change_nothing() -> None:
    """Better and cheaper companions are on offer."""
    named = {
        "a_better": switch("infiniband", ("800 Gbit/s", 512, None)),
        "z_better": switch("ethernet", ("800 Gbit/s", 512, None)),
        "free_rack": part("rack"),
        "free_cable": part("cable"),
        "free_suite": part("software", licence={"per": "gpu"}),
        "free_pump": part("cdu", provides=figures(cooling="9 kW")),
    }
    inputs = catalog.inputs_of(items=named | hardware())
    free = {"list": "0 USD", "date": "2026-03", "source": "sheet", "confidence": "medium"}
    given = {name: Price.model_validate(free) for name in named}
    more = replace(inputs, prices={**given, **inputs.prices})
    assert content(solve(more)) == content(everything().plan)


# The same problem gives the same bytes: whichever machine, language, time zone and folder.


PROBLEM = shipped.problem_files()["full_bill"]
MAIN = "from planner.cli import main; main()"
SOLVE = "solve hall.yaml --also bill.csv,bill.json -o out"
COMMAND = f"umask {{}} && exec '{sys.executable}' -c '{MAIN}' {SOLVE}"
SETTINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"},
    {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "POSIX", "LANG": "de_DE"},
)


def test_a_plan_is_the_same_everywhere(tmp_path: Path) -> None:
    made = []
    for place, umask, setting in zip(("a", "b/c d"), ("022", "077"), SETTINGS, strict=True):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        shutil.copy(PROBLEM, folder / "hall.yaml")
        done = subprocess.run(
            COMMAND.format(umask), shell=True, cwd=folder, check=True, capture_output=True,
            env={**os.environ, **setting},
        )  # fmt: skip
        files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        ends = {name.partition(".")[2] for name in files}
        assert ends >= {"plan.json", "xlsx", "bill.csv", "bill.json"}
        made.append({"screen": done.stdout, **files})
    first, other = made
    assert [name for name in first if first[name] != other.get(name)] == []
