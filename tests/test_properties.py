"""What must hold between plans: more never hurts; order, and what is not needed, is nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.problem import Problem, Quantity
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve
from tests.world.solved import solved as solved_once

SEEDS = range(300, 316)


@cache
def drawn(seed: int) -> tuple[Inputs, Plan]:
    inputs = inputs_of(random_case(seed))
    return inputs, solve(inputs, explain=False)


def solved() -> Iterator[tuple[Inputs, Plan]]:
    return (pair for pair in map(drawn, SEEDS) if pair[1].status == "optimal")


@cache
def hall(*settings: str) -> Plan:
    plan = solved_once("10MW", "objective.indifference=0", *settings)
    assert plan.status == "optimal", settings
    return plan


def bare_hall(*settings: str) -> Plan:
    """Return the plan of the hall without fabrics and repair, which is soon found.

    With repair it has less power for storage: the overlap binds.
    """
    return hall("network={}", "jobs.0.repair=null", *settings)


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

LOOSER: dict[str, Callable[[Problem], Problem | None]] = {
    "power": lambda p: (
        changed(p, site={"it_power_kw": 1.1 * p.site.it_power_kw}) if p.site.it_power_kw else None
    ),
    "facility power": lambda p: (
        changed(p, site={"facility_power_kw": 1.1 * p.site.facility_power_kw})
        if p.site.facility_power_kw
        else None
    ),
    "racks": lambda p: changed(p, site={"racks": p.site.racks + 1}) if p.site.racks else None,
    "capex": lambda p: (
        changed(p, budget={"capex_usd": 1.1 * p.budget.capex_usd}) if p.budget.capex_usd else None
    ),
    "opex": lambda p: (
        changed(p, budget={"opex_usd_per_year": 1.1 * p.budget.opex_usd_per_year})
        if p.budget.opex_usd_per_year
        else None
    ),
    "tco": lambda p: (
        changed(p, budget={"tco_usd": 1.1 * p.budget.tco_usd}) if p.budget.tco_usd else None
    ),
    "families": lambda p: changed(p, storage={"max_families": p.storage.max_families + 1}),
    "fill limit": lambda p: changed(p, storage={"fill_limit": 1.0}),
    "targets": lambda p: p.model_copy(update={"targets": type(p.targets)()}),
}


@pytest.mark.parametrize("limit", LOOSER)
def test_more_never_hurts(limit: str) -> None:
    tried = 0
    for inputs, plan in solved():
        looser = LOOSER[limit](inputs.problem)
        if looser is None:
            continue
        tried += 1
        assert no_worse(solve(replace(inputs, problem=looser), explain=False), plan), plan.problem
    assert tried > 0


def test_a_limit_that_does_not_bind_changes_nothing_when_it_goes() -> None:
    plan = bare_hall()
    slack = {limit.name for limit in plan.limits if not limit.binding}
    assert {"racks", "capex", "restore_time", "capacity"} <= slack
    for setting in (
        "site.racks=261",
        "budget.capex=600 MUSD",
        "jobs.0.restore.max_time=10 min",
        "storage.fill_limit=100 %",
        "jobs.0.checkpoint.max_overlap=50 %",
        "jobs.0.checkpoint.keep_last=5",
    ):
        assert bill(bare_hall(setting)) == bill(plan), setting
        assert bare_hall(setting).jobs[0].interval_s == pytest.approx(
            plan.jobs[0].interval_s, rel=1e-6
        )


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
