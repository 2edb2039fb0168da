"""What must hold between plans: more never hurts; order, and what is not needed, is nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner import shipped
from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.plan import DEFAULT_GAP, Plan
from planner.schema.problem import Problem, Quantity
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve
from tests.world.solved import solved as solved_once

SEEDS = range(300, 316)
HALL = shipped.problem_files()["10MW"]


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


# Order, repetition and solver are nothing.


@pytest.mark.parametrize("name", ["enterprise_1MW", "infeasible_restore", "megatron_1t"])
def test_cbc_agrees_on_shipped_problems(name: str) -> None:
    path = shipped.problem_files()[name]
    by_highs = solve(path, explain=False)
    by_cbc = solve(path, solver="cbc", explain=False)
    assert by_cbc.status == by_highs.status
    if by_highs.status == "optimal":
        assert no_worse(by_cbc, by_highs)
        assert no_worse(by_highs, by_cbc)
        # Where plans within an indifference count as equal, its edge depends on the proof's way.
        loose = 1e-6 if by_highs.objective.gap_asked <= DEFAULT_GAP else 0.05
        assert bill(by_cbc) == pytest.approx(bill(by_highs), rel=loose)


# Items that are not needed, and items that are.


def free(inputs: Inputs, item: Item) -> bool:
    """Say whether only shared limits hold the item back, so that a copy of it adds nothing."""
    rule = inputs.problem.items.get(item.id, Quantity())
    demanded = rule.fixed is not None or rule.min or rule.required or rule.installed
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


# A user's own hardware, with no change of code.

OWN = """
catalog: Our own quotes
include: [storage_ddn, storage_weka]
sources:
  quote: {title: "Quotation 4711"}
families:
  - {id: acme_fs, vendor: Acme, name: AcmeFS}
items:
"""
BOOK = """
price_book: Our own prices
include: [estimates_2026]
sources:
  quote: {title: "Quotation 4711"}
prices:
"""
SAME_FAMILY = """
  - id: ddn_ai800
    vendor: DDN
    model: AI800
    category: storage
    family: ddn_exascaler
    provides:
      read: {value: 900 GB/s, source: quote, confidence: high}
      write: {value: 700 GB/s, source: quote, confidence: high}
      usable: {value: 900 TB, source: quote, confidence: high}
    consumes:
      it_power: {value: 2 kW, source: quote, confidence: high}
      rack_units: {value: 2 RU, source: quote, confidence: high}
"""
NEW_VENDOR = (
    SAME_FAMILY.replace("ddn_ai800", "acme_box")
    .replace("DDN", "Acme")
    .replace("ddn_exascaler", "acme_fs")
)
EXTENDED = """
  - id: nitro_boosted
    extends: wekapod_nitro_155
    model: Nitro, boosted
    provides:
      read: {value: 710 GB/s, source: quote, confidence: high}
      write: {value: 900 GB/s, source: quote, confidence: high}
"""
COMPANIONS = ("network", "facility", "software")
PRICED = "  {id}: {{list: 50000 USD, date: '2026-05', source: quote, confidence: high}}\n"


@pytest.mark.parametrize(
    ("item_id", "item", "family"),
    [
        ("ddn_ai800", SAME_FAMILY, "ddn_exascaler"),
        ("acme_box", NEW_VENDOR, "acme_fs"),
        ("nitro_boosted", EXTENDED, "weka_nitro"),
    ],
)
def test_own_hardware_enters_plans(item_id: str, item: str, family: str, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN + item.lstrip("\n"))
    (tmp_path / "book.yaml").write_text(BOOK + PRICED.format(id=item_id))
    problem = yaml.safe_load(HALL.read_text())
    problem |= {"catalogs": ["gpu_systems", "own.yaml", *COMPANIONS], "prices": "book.yaml"}
    problem["objective"]["indifference"] = 0
    path = tmp_path / "problem.yaml"
    path.write_text(yaml.safe_dump(problem))
    plan = solve(path)
    assert plan.status == "optimal"
    assert item_id in bill(plan)
    assert plan.jobs[0].storage_families == (family,)
    assert no_worse(plan, hall())
    line = next(line for line in plan.lines if line.sku == item_id)
    assert line.price is not None
    assert (line.unit_list_usd, line.price.source, line.price.book) == (
        50_000.0,
        "Quotation 4711",
        "Our own prices",
    )
    if item_id == "nitro_boosted":  # what is not overridden is inherited, the minimum order too
        assert (line.vendor, line.unit_it_power_kw, line.unit_rack_units) == ("WEKA", 0.8, 1.0)
        assert line.quantity >= 8
        assert line.part_number == "WPS155-SAE"
