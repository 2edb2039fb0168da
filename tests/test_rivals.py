"""What else could be a plan's storage: against the solver, by hand, told, verified, kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner import api
from planner.errors import InputError, VerificationError
from planner.figures import OBJECTIVES
from planner.inputs import Inputs, inputs_to_text
from planner.outputs import console, explain_text, plan_json, why_text
from planner.outputs.audience import for_audience
from planner.schema.beside import StorageOption, StorageOptions
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.schema.problem import Quantity
from planner.shipped import problem_files
from planner.verifier import verify
from tests.test_exactness import inputs_of
from tests.world.files import FILES, changed
from tests.world.random_cases import random_case

SEEDS = (4, 6, 13, 17, 18, 31, 38, 44, 62, 66, 68, 75, 80, 82, 84, 85, 86, 89, 94, 117, 128)
"""Of the first 150 random problems those whose plans have rivals."""
LOOSE = 1e-6


@cache
def random_plan(seed: int) -> tuple[Inputs, Plan]:
    inputs = inputs_of(random_case(seed))
    return inputs, api.solve_inputs(inputs, explain=False)


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
        found = api.solve_inputs(asked, explain=False)
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


def test_the_random_problems_have_rivals() -> None:
    assert sum(bool(rivals(random_plan(seed)[1])) for seed in SEEDS[:8]) >= 5


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
    plan = api.solve(tmp_path / "problem.yaml", settings=large)
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
    assert "GPU system" in console.render(plan).split("whoever sells it")[1]


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
    return api.solve(folder / "problem.yaml")


def options(plan: Plan) -> tuple[StorageOptions, dict[str, StorageOption]]:
    found = plan.storage_options
    assert found is not None
    return found, {option.items[0].sku: option for option in found.options}


def test_a_vendor_is_the_choice_where_he_wins_over_the_whole_range(tmp_path: Path) -> None:
    plan = solved(tmp_path, ", low: 80000 USD, high: 150000 USD", "    low: 150000 USD\n")
    found, by_sku = options(plan)
    slow, quick = by_sku["slow_store"], by_sku["quick_store"]
    count = slow.items[0].units
    assert count == quick.items[0].units, "the same appliance"
    assert found.choice == "Slow"
    assert found.settled_by == ()
    assert (slow.low_usd, slow.list_usd, slow.high_usd) == (
        80_000 * count, 100_000 * count, 150_000 * count
    )  # fmt: skip
    assert quick.beside_usd == pytest.approx(0.0, abs=1e-6)
    text = " ".join(console.render(plan).split())
    assert "Slow is the choice: the cheapest over the whole range of prices" in text


def test_prices_decide_where_their_ranges_overlap(tmp_path: Path) -> None:
    plan = solved(tmp_path, ", low: 80000 USD, high: 150000 USD", "    low: 90000 USD\n")
    found, by_sku = options(plan)
    slow, quick = by_sku["slow_store"], by_sku["quick_store"]
    assert found.choice is None
    assert (slow.even_usd, slow.sure_usd) == (200_000, 90_000)
    assert (quick.even_usd, quick.sure_usd) == (100_000, 80_000)
    assert found.settled_by == ("slow_store",), "nobody quotes 80,000 for the other one"
    text = " ".join(console.render(plan).split())
    assert "a quote of 90,000 USD or less for a Slow 1 (list 100,000" in text
    assert "settles it for Slow" in text
    told = " ".join(explain_text.render(Explanation(plan=plan)).split())
    assert "Whose quote decides?" in told
    assert "the cheapest at 100,000 or less with the others at list" in told
    assert "at 80,000 or less whatever the others quote" in told


def test_no_single_quote_settles_it_where_both_reach_lower(tmp_path: Path) -> None:
    found, _ = options(solved(tmp_path, ", low: 99000 USD", "    low: 90000 USD\n"))
    assert found.choice is None
    assert found.settled_by == ("quick_store",)
    both = ", low: 99000 USD, per_year: 10000 USD, per_year_low: 0 USD"
    found, by_sku = options(solved(tmp_path, both, "    low: 98000 USD\n"))
    assert by_sku["slow_store"].low_usd < by_sku["slow_store"].list_usd
    assert found.choice is None


def test_support_and_subscriptions_count_over_the_term(tmp_path: Path) -> None:
    """Four years: a unit at p comes to 1.4 p + 4 x 5,000, the other one to 200,000."""
    plan = solved(tmp_path, ", support_per_year: 10 %, per_year: 5000 USD")
    found, by_sku = options(plan)
    slow = by_sku["slow_store"]
    assert found.counted == "term"
    assert slow.list_usd == pytest.approx(slow.items[0].units * (140_000 + 20_000))
    assert slow.even_usd == pytest.approx((200_000 - 20_000) / 1.4, abs=0.02)


def test_capex_alone_counts_where_it_is_the_objective(tmp_path: Path) -> None:
    plan = solved(tmp_path, ", per_year: 50000 USD",
                  problem="objective: {minimize: cost}\ntargets: {min_gpus: 64}")  # fmt: skip
    found, by_sku = options(plan)
    assert found.counted == "purchase"
    slow = by_sku["slow_store"]
    assert slow.list_usd == 100_000 * slow.items[0].units
    assert "within" not in console.render(plan).split("whoever sells it")[1].split("Run")[0]


def test_a_firm_quote_has_no_range(tmp_path: Path) -> None:
    found, by_sku = options(solved(tmp_path))
    slow = by_sku["slow_store"]
    assert slow.low_usd == slow.list_usd == slow.high_usd
    assert found.choice == "Slow"


def test_bandwidths_of_unlike_basis_are_told(tmp_path: Path) -> None:
    assert not [text for text in solved(tmp_path).warnings if "across bases" in text]
    plain = "write: {value: 65 GB/s, source: sheet, confidence: high}"
    measured = plain.replace("}", ", basis: measured, benchmark: MLPerf}")
    own = FILES["own.yaml"].replace("provides: &gives", "provides:", 1)
    head, tail = own.split("  - id: slow_store")
    gives = head.split("    provides:\n")[-1].split("    consumes:")[0]
    tail = tail.replace(
        "    provides: *gives\n", "    provides:\n" + gives.replace(plain, measured)
    )
    (tmp_path / "own.yaml").write_text(f"{head}  - id: slow_store{tail}", encoding="utf-8")
    plan = api.solve(tmp_path / "problem.yaml")
    (text,) = [text for text in plan.warnings if "across bases" in text]
    assert text.startswith("write bandwidths of storage are compared across bases")
    assert "measured (MLPerf): Slow 1" in text
    assert "nameplate: Quick 1" in text


def test_of_one_vendor_alone_no_price_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it said that nothing else could carry it: his other product does, others' are worse
    than the plan by more than counts as equal."""
    monkeypatch.setitem(FILES, "own.yaml", FILES["own.yaml"].replace("r: Quick", "r: Slow"))
    plan = solved(tmp_path, ", low: 80000 USD, high: 150000 USD", "    low: 90000 USD\n")
    found, by_sku = options(plan)
    assert len(by_sku) == len(found.options) == 2
    text = " ".join(console.render(plan).split("whoever sells it")[1].split("Run")[0].split())
    assert text.endswith(
        "no other vendor's does it beside these GPU systems within 0.5 % of the best"
    )
    assert "prices decide" not in " ".join(explain_text.render(Explanation(plan=plan)).split())


def test_nothing_is_told_where_no_storage_is_bought(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    plan = api.solve(tmp_path / "problem.yaml", settings=("items.slow_store.installed=50",))
    assert plan.storage_options is None
    assert "whoever sells it" not in console.render(plan)


def test_the_customer_is_told_nothing_of_rivals(tmp_path: Path) -> None:
    plan = solved(tmp_path)
    assert for_audience(plan, "customer").storage_options is None
    inputs = api.load(tmp_path / "problem.yaml")
    again = plan_json.from_bytes(plan_json.to_bytes(plan, inputs_to_text(inputs)))
    assert again.storage_options == plan.storage_options


# The verifier: whatever is changed, it notices.


def _changed(plan: Plan, **values: Any) -> Plan:
    assert plan.storage_options is not None
    found = plan.storage_options.model_copy(update=values)
    return plan.model_copy(update={"storage_options": found})


def _with_option(plan: Plan, place: int, values: Mapping[str, Any]) -> Plan:
    assert plan.storage_options is not None
    rows = list(plan.storage_options.options)
    rows[place] = rows[place].model_copy(update=dict(values))
    return _changed(plan, options=tuple(rows))


def _with_item(plan: Plan, place: int, values: Mapping[str, Any]) -> Plan:
    assert plan.storage_options is not None
    item = plan.storage_options.options[place].items[0].model_copy(update=dict(values))
    return _with_option(plan, place, {"items": (item,)})


def tampered(plan: Plan) -> Iterator[tuple[str, Plan]]:
    found = plan.storage_options
    assert found is not None
    whole: dict[str, Any] = {"read_gb_per_s": 1e6, "usable_tb": 1.0}
    for field, value in whole.items():
        yield field, _changed(plan, **{field: value})
    for place in range(len(found.options)):
        option = found.options[place]
        for field in ("read_gb_per_s", "write_gb_per_s", "usable_tb"):
            value = getattr(option, field)
            assert value is not None, field
            yield f"{place}.{field}", _with_option(plan, place, {field: 1.01 * value})
        yield f"{place}.family", _with_option(plan, place, {"family": "other"})
        yield f"{place}.chosen", _with_option(plan, place, {"chosen": not option.chosen})
        for field in ("unit_list_usd", "unit_low_usd", "unit_high_usd"):
            value = getattr(option.items[0], field)
            yield f"{place}.{field}", _with_item(plan, place, {field: 0.9 * value})
        texts = (("sku", "tray"), ("model", "x"), ("vendor", "x"), ("units", 99), ("purchased", 77))
        for field, text in texts:
            yield f"{place}.{field}", _with_item(plan, place, {field: text})
    own = next(place for place, option in enumerate(found.options) if option.chosen)
    yield "own.beside_usd", _with_option(plan, own, {"beside_usd": 1000.0})
    yield "own.fewer_systems", _with_option(plan, own, {"fewer_systems": 1})
    other = 1 - own
    yield "other.shortfall", _with_option(plan, other, {"shortfall": 0.4})


def test_whatever_is_changed_is_noticed(tmp_path: Path) -> None:
    plan = solved(tmp_path, ", low: 80000 USD, high: 150000 USD, support_per_year: 5 %",
                  "    low: 90000 USD\n")  # fmt: skip
    inputs = api.load(tmp_path / "problem.yaml")
    verify(inputs, plan)
    for name, wrong in tampered(plan):
        try:
            verify(inputs, wrong)
        except VerificationError as error:
            assert any("storage_options" in text for text in error.disagreements), name
        else:
            pytest.fail(f"{name} is not noticed")


@pytest.mark.parametrize("objective", ["usd_per_million_tokens", "usd_per_useful_gpu_hour"])
def test_at_list_prices_no_rival_is_cheaper_per_work(objective: str) -> None:
    """Storage that saves money and loses work was told to settle it at prices above its list."""
    settings = (
        f"objective={{minimize: {objective}}}",
        "site.facility_power=2 MW",
        "consider.gpu_systems=[nvidia_dgx_b200]",
    )
    plan = api.solve(problem_files()["10MW"], settings=settings)
    found = plan.storage_options
    assert found is not None
    own = next(each for each in found.options if each.chosen)
    assert rivals(plan)
    for each in rivals(plan):
        assert each.shortfall <= found.within + LOOSE
        assert each.list_usd + each.beside_usd >= own.list_usd * (1 - LOOSE)
    assert why_text.needs(plan, found).endswith("do it within 0.5 % of the work")
