"""What else could be a plan's storage: against the solver, by hand, told, verified, kept."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs
from planner.report.explain import view
from planner.report.plan import PARTS, render
from planner.report.screen import show
from planner.schema.analysis import Explanation
from planner.schema.plan import Plan, StorageOption, StorageOptions
from planner.schema.problem import Quantity
from tests.world.files import FILES, changed
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve

SEEDS = (4, 6, 13, 17, 18, 31, 38, 44, 62, 66, 68, 75, 80, 82, 84, 85, 86, 89, 94, 117, 128)
"""Of the first 150 random problems those whose plans have rivals."""
LOOSE = 1e-6


@cache
def random_plan(seed: int) -> tuple[Inputs, Plan]:
    inputs = inputs_of(random_case(seed))
    return inputs, solve(inputs, explain=False)


def rivals(plan: Plan) -> tuple[StorageOption, ...]:
    found = plan.storage_options
    return () if found is None else tuple(each for each in found.options if not each.chosen)


def demanded(inputs: Inputs, plan: Plan, option: StorageOption, fewer: int) -> Inputs | None:
    """Return the problem with a rival's storage, in so many units less, and the plan's operation:
    its systems, GPUs and mode. None where the problem cannot ask for that."""
    problem, wanted = inputs.problem, {item.sku: item.units - fewer for item in option.items}
    counts: dict[str, Quantity] = dict(problem.items)
    for offer in inputs.items:
        rule = counts.get(offer.id, Quantity())
        if offer.category == "storage" and offer.id not in wanted:
            counts[offer.id] = Quantity(exclude=True)
        elif offer.id in wanted:
            if wanted[offer.id] < max(1, rule.in_place, rule.least):
                return None
            changes = {"fixed": wanted[offer.id], "min": None, "max": None}
            counts[offer.id] = rule.model_copy(update=changes)
    for line in plan.lines:
        if line.section == "Compute" and line.parent is None and line.working:
            rule = counts.get(line.sku, Quantity())
            left = line.working - option.fewer_systems
            if left >= rule.in_place:
                counts[line.sku] = rule.model_copy(update={"fixed": left, "min": None, "max": None})
    job, used = problem.job, plan.jobs[0]
    mode = job.checkpoint.model_copy(update={"mode": used.mode})
    gpus = job.gpus.model_copy(update={"min": used.gpus_used, "max": used.gpus_used})
    changes = {"checkpoint": mode} | ({} if option.fewer_systems else {"gpus": gpus})
    job = job.model_copy(update=changes)
    return replace(inputs, problem=problem.model_copy(update={"items": counts, "jobs": (job,)}))


def reached(inputs: Inputs, plan: Plan, option: StorageOption, fewer: int) -> float | None:
    """Return by which share the best such plan misses the bound, None where there is none."""
    asked = demanded(inputs, plan, option, fewer)
    if asked is None:
        return None
    try:
        found = solve(asked, explain=False)
    except InputError:
        return None
    if found.status == "infeasible":
        return None
    goal, bound = found.objective, plan.objective.bound
    assert goal.value is not None
    assert bound is not None
    if OBJECTIVES[goal.name].figure.money:
        return 0.0
    behind = bound - goal.value if goal.sense == "maximize" else goal.value - bound
    return behind / abs(bound)


@pytest.mark.exhaustive(keep=12)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_solver_finds_what_is_offered_and_nothing_smaller(seed: int) -> None:
    inputs, plan = random_plan(seed)
    found = plan.storage_options
    for option in rivals(plan) if found is not None else ():
        if demanded(inputs, plan, option, 0) is None:  # some of what is owned stays idle
            continue
        missed = reached(inputs, plan, option, 0)
        assert missed is not None, option
        assert missed <= option.shortfall + LOOSE
        if option.fewer_systems or len(option.items) > 1:
            continue
        fewer = reached(inputs, plan, option, 1)
        assert fewer is None or fewer > found.within - LOOSE, option


def test_a_rival_that_draws_more_takes_the_place_of_a_few_systems(tmp_path: Path) -> None:
    """4,000 kW hold 399 boxes of 10 kW and a store of 2.2; one of 12 kW takes the place of one."""
    hungry = (
        "consumes:\n      it_power: {value: 12 kW, source: sheet, confidence: high}"
        "\n      rack_units: {value: 2 RU, source: sheet, confidence: high}"
    )
    own = FILES["own.yaml"].replace("&takes", "").replace("consumes: *takes", hungry)
    for name, text in {**FILES, "own.yaml": own}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    large = ("site.facility_power=5 MW", "site.racks=400", "budget.capex=500 MUSD",
             "items.gpu_box.max=2000", "jobs.0.gpus.whole=systems",
             "objective.indifference=0")  # fmt: skip
    plan = solve(tmp_path / "problem.yaml", settings=large)
    found, by_sku = options(plan)
    (own,) = [option for option in found.options if option.chosen]
    assert own.items[0].sku == "quick_store"
    rival = by_sku["slow_store"]
    assert rival.fewer_systems >= 1
    boxes = next(line.working for line in plan.lines if line.sku == "gpu_box")
    slow = rival.items[0].units
    assert 10.0 * (boxes - rival.fewer_systems) + 12.0 * slow <= 4000.0
    assert 10.0 * (boxes - rival.fewer_systems + 1) + 12.0 * slow > 4000.0
    assert 0.0 < rival.shortfall <= found.within
    assert "GPU system" in render(plan, PARTS).split("Storage alternatives")[1]


# By hand: two vendors of the same appliance, so that prices alone tell them apart.

SLOW = '  slow_store: {list: 100000 USD, date: "2026-01", source: quote, confidence: low}\n'
QUICK = '    list: 200000 USD\n    date: "2026-01"\n    source: quote\n    confidence: high\n'


def solved(folder: Path, slow: str = "", quick: str = "", *, problem: str = "") -> Plan:
    files = dict(FILES)
    files["book.yaml"] = changed(files["book.yaml"], SLOW, SLOW.replace("}", f"{slow}}}"))
    book, head = files["book.yaml"], "  quick_store:\n"
    assert head + QUICK in book
    files["book.yaml"] = book.replace(head + QUICK, head + QUICK + quick)
    if problem:
        files["problem.yaml"] = files["problem.yaml"].replace(
            "objective: {maximize: goodput}", problem
        )
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return solve(folder / "problem.yaml")


def options(plan: Plan) -> tuple[StorageOptions, dict[str, StorageOption]]:
    found = plan.storage_options
    assert found is not None
    return found, {option.items[0].sku: option for option in found.options}


def test_prices_decide_where_their_ranges_overlap(tmp_path: Path) -> None:
    plan = solved(tmp_path, ", low: 80000 USD, high: 150000 USD", "    low: 90000 USD\n")
    found, by_sku = options(plan)
    slow, quick = by_sku["slow_store"], by_sku["quick_store"]
    assert found.choice is None
    assert (slow.sure_usd, quick.sure_usd) == (90_000, 80_000)
    assert found.settled_by == ("slow_store",), "nobody quotes 80,000 for the other one"
    text = " ".join(render(plan, PARTS).split())
    assert "Slow wins at 90,000 USD or less per Slow 1 (list 100,000" in text
    shown = show(view(Explanation(plan=plan)), full=True)
    assert {"100,000", "200,000", "80,000", "90,000"} <= {*shown.split("Storage alt")[1].split()}
