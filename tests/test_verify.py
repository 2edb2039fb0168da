"""A right plan passes; a plan wrong in any figure, limit or claim is refused by name."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.api import load, solve_inputs
from planner.currency import USD
from planner.errors import VerificationError
from planner.inputs import Inputs
from planner.schema.plan import NotConsidered, Plan
from planner.schema.problem import Quantity
from planner.sizing import demand, goodput
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.verifier import published, unit_faults, verify
from planner.verifier.basis import cents, present_years
from planner.verifier.goodput import Times, daly_s, exact_s, losses, young_s
from planner.verifier.goodput import goodput as goodput_of
from planner.verifier.limits import Reached
from tests.world.catalog import inputs_of
from tests.world.known_plans import PLANS, full, sync_bundle, two_of_each, vendor_rule
from tests.world.plans import Made
from tests.world.solved import DENSE_HALL
from tests.world.solved import solved as solved_problem
from tests.world.tampering import DECIDED, disagreements, leaves, put, tampered

MADE = {name: make() for name, make in PLANS.items()}
PROBLEMS = Path(__file__).resolve().parents[1] / "problems"


@cache
def everything() -> tuple[Inputs, Plan]:
    """Return a small cluster with every kind of companion, and its plan."""
    inputs = inputs_of()
    plan = solve_inputs(inputs)
    assert plan.status == "optimal"
    return inputs, plan


@pytest.mark.parametrize("name", [*PLANS, "everything"])
def test_no_figure_of_a_plan_can_be_tampered_with(name: str) -> None:
    inputs, plan = everything() if name == "everything" else (MADE[name].inputs, MADE[name].plan)
    verify(inputs, plan)
    for key, path in leaves(name, plan):
        field = str(path[-1])
        if field == "slack" and plan.limits[int(path[1])].slack < 1e-3 * abs(
            plan.limits[int(path[1])].limit
        ):
            continue  # a millionth of next to nothing is noise
        with pytest.raises(VerificationError) as caught:
            verify(inputs, tampered(plan, path))
            pytest.fail(f"{key} may be changed")
        assert field in DECIDED or field in "\n".join(caught.value.disagreements), key


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", PLANS)
def test_no_figure_of_a_solved_plan_can_be_tampered_with(name: str) -> None:
    inputs = MADE[name].inputs
    plan = solve_inputs(inputs)
    assert plan.status == "optimal"
    for key, path in leaves(name, plan):
        with pytest.raises(VerificationError):
            verify(inputs, tampered(plan, path))
            pytest.fail(f"{key} may be changed")


@pytest.mark.parametrize("name", PLANS)
def test_missing_limits_are_named(name: str) -> None:
    made = MADE[name]
    for report in made.plan.limits:
        rest = tuple(limit for limit in made.plan.limits if limit.name != report.name)
        text = disagreements(made.inputs, put(made.plan, ("limits",), rest))
        assert f"limits.{report.name}: missing" in text


def change_problem(*path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value

    def change(made: Made) -> Made:
        problem = put(made.inputs.problem, tuple(path), value)
        return replace(made, inputs=replace(made.inputs, problem=problem))

    return change


def change_item(sku: str, *path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value

    def change(made: Made) -> Made:
        items = made.inputs.items
        changed = tuple(put(i, tuple(path), value) if i.id == sku else i for i in items)
        return replace(made, inputs=replace(made.inputs, items=changed))

    return change


def change_plan(*path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value
    return lambda made: replace(made, plan=put(made.plan, tuple(path), value))


def repeat(part: str, index: int) -> Callable[[Made], Made]:
    def change(made: Made) -> Made:
        parts = getattr(made.plan, part)
        return replace(made, plan=put(made.plan, (part,), (*parts, parts[index])))

    return change


def last_line_missing(made: Made) -> Made:
    return replace(made, plan=put(made.plan, ("lines",), made.plan.lines[:-1]))


def left_out(made: Made) -> Made:
    entry = NotConsidered(sku="box", reason="no price")
    return replace(made, plan=put(made.plan, ("not_considered",), (entry,)))


JOB = ("jobs", 0)
RULES: list[tuple[Callable[[], Made], Callable[[Made], Made], str]] = [
    (full, change_plan("lines", 0, "quantity", 40.0), "lines.gpu_a.quantity: not a whole number"),
    (full, change_plan("lines", 0, "quantity", -1), "lines.gpu_a.quantity: not a whole number"),
    (full, change_plan("lines", 0, "sku", "gpu_z"), "lines.gpu_z: not in the catalogs"),
    (full, change_plan("lines", 1, "sku", "drawer"), "a component is not bought alone"),
    (full, change_problem("items", "box", "exclude", True), "box: excluded by the problem"),
    (full, change_problem("consider", "vendors", ("Cask",)), "gpu_a: not to be considered"),
    (full, change_problem("consider", "gpu_systems", ("gpu_b",)), "gpu_a: not to be considered"),
    (full, change_problem("consider", "storage_families", ("x",)), "box: not to be considered"),
    (full, change_item("gpu_a", "lifecycle", "end_of_sale"), "gpu_a: lifecycle is end_of_sale"),
    (full, change_item("gpu_a", "provides", "gpus", None), "gpu_a: number of GPUs is not known"),
    (
        full,
        change_item("box", "provides", "write", None),
        "box: bandwidth or capacity is not known",
    ),
    (full, change_item("gpu_a", "consumes", "it_power", None), "gpu_a: draw is not known"),
    (full, repeat("lines", 0), "lines.gpu_a: listed twice"),
    (full, repeat("limits", 0), "or it is listed twice"),
    (full, change_plan("jobs", ()), "jobs: plan says 0, expected one"),
    (full, change_plan("totals", None), "totals: missing"),
    (full, change_plan("lines", 0, "price", None), "lines.gpu_a.price"),
    (full, change_plan("lines", 0, "price", "date", "2020"), "gpu_a.price.date"),
    (full, change_plan("problem", "other"), "plan.problem"),
    (full, change_plan("description", "other"), "plan.description"),
    (full, change_plan(*JOB, "gpus_used", 0), "jobs.gpus_used: 0 is not"),
    (full, change_plan(*JOB, "gpus_used", 328), "jobs.gpus_used: plan says 328, recomputed 320"),
    (full, change_plan(*JOB, "systems_used", 41), "jobs.systems_used: plan says 41"),
    (full, change_plan(*JOB, "interval_s", math.nan), "jobs.interval_s: nan is not a"),
    (full, change_plan(*JOB, "interval_s", 0.0), "jobs.interval_s: 0.0 is not a"),
    (full, change_plan(*JOB, "interval_s", 20_000.0), "is outside 60 to 14400"),
    (full, change_plan(*JOB, "mode", "sync"), "jobs.mode: sync"),
    (full, change_plan(*JOB, "gpu_types", ("gpu_b",)), "jobs.gpu_type: gpu_a is not"),
    (full, change_plan(*JOB, "goodput", math.nan), "jobs.goodput: plan says nan"),
    (full, change_plan(*JOB, "storage_families", ("x",)), "jobs.storage_families: plan says"),
    (full, left_out, "lines.box: listed as not considered"),
    (two_of_each, change_problem(*JOB, "gpus", "max_types", 1), "gpu_types: broken limit"),
    (two_of_each, change_problem("storage", "max_families", 1), "2 serve the job"),
    (two_of_each, change_plan(*JOB, "drain_slowdown", 0.0), "jobs.drain_slowdown: plan says 0"),
    (vendor_rule, change_problem(*JOB, "checkpoint", "stall_s", 500.0), "makes no progress"),
    (vendor_rule, change_plan("lines", 1, "quantity", 11), "sizes go from 4 to 10"),
    (vendor_rule, change_plan(*JOB, "gpus_used", 85), "jobs.gpus_used"),
    (vendor_rule, change_problem("objective", "minimize", "tco"), "tco is not known"),
    (sync_bundle, change_plan("lines", 2, "quantity", 4), "bundle.node.quantity: plan says 4"),
    (sync_bundle, last_line_missing, "lines.bundle.drawer: component without a line"),
    (sync_bundle, repeat("lines", -1), "lines.bundle.drawer: no component of bundle"),
    (sync_bundle, change_plan("lines", 3, "unit_net_usd", 5.0), "in the bundle's line"),
    (sync_bundle, change_plan(*JOB, "interval_s", 601.0), "jobs.interval_s: plan says 601 s"),
]


@pytest.mark.parametrize(("make", "change", "says"), RULES)
def test_what_the_rules_forbid_is_named(
    make: Callable[[], Made], change: Callable[[Made], Made], says: str
) -> None:
    changed = change(make())
    assert says in disagreements(changed.inputs, changed.plan)


def test_the_users_client_limit_counts_before_the_familys_factor() -> None:
    changed = change_problem("storage", "client_limit", "write", 2.5)(full())
    text = disagreements(changed.inputs, changed.plan)
    # 40 systems x 2.5 GB/s x 1.7; the boxes still deliver less, 0.8 x 195 GB/s.
    assert text == "jobs.client_write_limit_gb_per_s: plan says 544, recomputed 170"


@pytest.mark.parametrize(("room", "holds"), [(1 - 5e-8, True), (1 + 5e-8, False)])
def test_no_slack_is_stated_only_where_none_is_left(room: float, holds: bool) -> None:
    made = vendor_rule()
    limit_s = made.plan.jobs[0].restore_s * room
    made = change_problem(*JOB, "restore", "max_time_s", limit_s)(made)
    index = [report.name for report in made.plan.limits].index("restore_time")
    for field, value in (("limit", limit_s), ("slack", 0.0), ("binding", True)):
        made = change_plan("limits", index, field, value)(made)
    if holds:
        verify(made.inputs, made.plan)
    else:
        assert "slack: plan says 0" in disagreements(made.inputs, made.plan)


def test_a_limit_holds_within_its_tolerance_and_not_where_a_figure_is_unknown() -> None:
    for name, over in (("capex", 1e-9), ("restore_time", 1e-7)):
        assert Reached(name, 1000 * (1 + 0.9 * over), 1000).holds
        assert not Reached(name, 1000 * (1 + 1.1 * over), 1000).holds
        assert not Reached(name, None, 1000).holds


def test_installed_units_need_no_price_and_no_lifecycle() -> None:
    made = change_problem("items", "gpu_a", "installed", 40)(full())
    made = change_item("gpu_a", "lifecycle", "end_of_sale")(made)
    prices = {sku: price for sku, price in made.inputs.prices.items() if sku != "gpu_a"}
    text = disagreements(replace(made.inputs, prices=prices), made.plan)
    assert "lines.gpu_a: " not in text
    assert "lines.gpu_a.unit_net_usd: plan says 294500.52, recomputed not known" in text
    assert "lines.gpu_a.purchased: plan says 40, recomputed 0" in text


def test_a_limit_on_an_item_that_is_not_bought_need_not_be_listed() -> None:
    made = full()
    for rule in (Quantity(fixed=0), Quantity(max=5), Quantity(min=0)):
        items = {**made.inputs.problem.items, "shelf": rule}
        verify(*vars(change_problem("items", items)(made)).values())
    made = change_problem("items", {**items, "shelf": Quantity(fixed=1)})(made)
    assert "limits.items.shelf.fixed: missing" in disagreements(made.inputs, made.plan)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("bound", 100.0, "objective.bound: 100.0 is worse than"),
        ("bound", None, "objective.gap: bound and gap go together"),
        ("gap", -1e-3, "objective.gap: -0.001 is negative"),
        ("gap", 1e-3, "objective.gap: plan says 0.001"),
        ("gap", math.nan, "objective.gap: nan"),
        ("gap_asked", 1e-8, "status: optimal, but the gap"),
        ("value", None, "objective.value: plan says not known"),
        ("best", None, "objective.best: missing"),
        ("best", 1e6, "objective.given_away"),
    ],
)
def test_a_wrong_certificate_is_named(field: str, value: float | None, says: str) -> None:
    made = full()
    assert says in disagreements(made.inputs, put(made.plan, ("objective", field), value))


def test_the_bound_of_a_minimum_is_below_its_value() -> None:
    made = vendor_rule()
    assert made.plan.objective.value is not None
    above = made.plan.objective.value * 1.01
    text = disagreements(made.inputs, put(made.plan, ("objective", "bound"), above))
    assert "objective.bound" in text


def test_logarithms_of_value_and_bound_fit_them() -> None:
    made = full()
    value, bound = made.plan.objective.value, made.plan.objective.bound
    assert value is not None and bound is not None
    right = {"log_value": 3.0, "log_bound": 3.0 + math.log(bound / value)}
    plan = made.plan.model_copy(update={"objective": made.plan.objective.model_copy(update=right)})
    verify(made.inputs, plan)
    text = disagreements(made.inputs, put(plan, ("objective", "log_bound"), 3.1))
    assert "objective.log_bound" in text


@pytest.mark.parametrize("status", ["infeasible", "no_solution", "unbounded"])
def test_a_plan_without_a_solution_has_no_lines(status: str) -> None:
    made = full()
    empty = {"status": status, "lines": (), "jobs": (), "totals": None, "limits": ()}
    nothing = {"value": None, "bound": None, "gap": None}
    objective = made.plan.objective.model_copy(update=nothing)
    verify(made.inputs, made.plan.model_copy(update={**empty, "objective": objective}))
    text = disagreements(made.inputs, made.plan.model_copy(update={"status": status}))
    assert text == f"lines: a plan that is {status} has none"


def test_an_interval_that_is_not_the_best_is_named() -> None:
    made = full(interval_s=3000.0)
    text = disagreements(made.inputs, made.plan)
    assert text.startswith("jobs.interval_s: 3000 s is not the best allowed interval")
    assert "\n" not in text


def test_a_type_lost_from_the_search_is_named() -> None:
    inputs, plan = everything()
    lost = tuple(sku for sku in plan.searched if sku != "gpu_b")
    text = disagreements(inputs, put(plan, ("searched",), lost))
    assert text == "searched: gpu_b was not, and nothing excludes it"
    dear = replace(inputs, prices={s: p for s, p in inputs.prices.items() if s != "gpu_b"})
    assert "not_considered: gpu_b is missing, no price" in disagreements(dear, plan)


@pytest.mark.parametrize(
    ("sku", "path", "factor", "says"),
    [
        ("nvidia_dgx_b200", ("consumes", "it_power"), 1000.0, "it_power read back from '14.3 kW'"),
        ("wekapod_nitro_155", ("provides", "write"), 1.1, "provides.write read back from"),
        ("nvidia_dgx_b200", ("gpu", "bf16_dense"), 0.5, "gpu.bf16_dense read back from"),
    ],
)
def test_a_unit_that_was_misread_is_named(
    sku: str, path: tuple[str, str], factor: float, says: str
) -> None:
    inputs, plan = load(DENSE_HALL), solved_problem("hall_10MW")
    assert unit_faults(inputs, plan) == ()
    value = getattr(getattr(inputs.by_id[sku], path[0]), path[1]).value * factor
    items = (put(i, (*path, "value"), value) if i.id == sku else i for i in inputs.items)
    (fault,) = unit_faults(replace(inputs, items=tuple(items)), plan)
    assert says in fault


def test_a_limit_of_the_problem_that_was_misread_is_named() -> None:
    inputs, plan = load(PROBLEMS / "10MW.yaml"), solved_problem("10MW")
    site = inputs.problem.site.model_copy(update={"facility_power_kw": 1e5})
    read = replace(inputs, problem=inputs.problem.model_copy(update={"site": site}))
    (fault,) = unit_faults(read, plan)
    assert fault.startswith("site.facility_power read back from '10 MW': plan says 100000")


def test_presets_are_those_that_were_published() -> None:
    rates = {name: preset.value for name, preset in goodput.FAILURES_PER_GPU_DAY.items()}
    assert rates == published.FAILURES_PER_GPU_DAY
    assert rates["llama3"] == pytest.approx(419 / 54 / 16_384, rel=2e-3)
    sizes = {name: preset.value for name, preset in BYTES_PER_PARAMETER.items()}
    assert sizes == published.BYTES_PER_PARAMETER
    for name, rule in demand.VENDOR_RULES.items():
        ours = published.RULES[name]
        assert (rule.read_gb_per_s, rule.write_gb_per_s, rule.per_gpus) == tuple(ours)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(1.239, (1.24,)), (0.125, (0.12, 0.13)), (49.995, (49.99, 50.0)), (7.0, (7.0,))],
)
def test_half_a_cent_may_go_either_way(amount: float, expected: tuple[float, ...]) -> None:
    assert tuple(cents(amount, USD)) == expected


def test_present_years_are_an_annuity_in_arrears() -> None:
    assert present_years(0.0, 4.0, 0.0) == 4.0
    assert present_years(1.5, 2.5, 0.1) == pytest.approx(0.5 / 1.1**2 + 0.5 / 1.1**3)
    assert present_years(3.0, 2.0, 0.1) == 0.0


def test_goodput_has_the_known_value() -> None:
    times = Times(1800, 5, 50.5, 600, 0, 11123)
    assert goodput_of(times) == pytest.approx(0.86652, abs=5e-6)
    assert sum(losses(times).values()) == pytest.approx(1 - goodput_of(times))
    still = Times(10, 10, 0, 0, 0, 1000)
    assert goodput_of(still) == 0 and losses(still)["stall"] == 1


# Section 5 of docs/model.md, by renewal theory: drains begun anew, and going on.
@pytest.mark.parametrize(("anew", "expected"), [(False, 0.898208), (True, 0.898107)])
def test_goodput_of_two_levels_has_the_known_value(anew: bool, expected: float) -> None:
    levels = {"every": 5, "far": 0.2, "near_drain_s": 10.0, "near_restart_s": 120.0}
    times = Times(120, 1, 60, 600, 0, 3600, drain_restarts=anew, **levels)  # type: ignore[arg-type]
    assert goodput_of(times) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("stall_per_mtti", [1e-12, 1e-5, 1e-2, 0.3, 1.9, 2.1, 40.0])
def test_the_intervals_agree_with_the_sizing_model(stall_per_mtti: float) -> None:
    mtti_s = 7000.0
    stall_s = stall_per_mtti * mtti_s
    pairs = (
        (exact_s, goodput.exact_period_s),
        (daly_s, goodput.daly_s),
        (young_s, goodput.young_s),
    )
    for ours, theirs in pairs:
        assert ours(stall_s, mtti_s) == pytest.approx(theirs(stall_s, mtti_s), rel=1e-11)


def test_verify_shares_no_code_with_what_it_judges() -> None:
    modules = set()
    for path in (Path(planner.__file__).parent / "verifier").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module)
    judged = ("planner.optimizer", "planner.case", "planner.assemble", "planner.sizing")
    assert "planner.verifier.basis" in modules
    assert not {module for module in modules if module.startswith(judged)}


def test_a_time_of_the_job_that_was_misread_is_named() -> None:
    inputs, plan = load(PROBLEMS / "10MW.yaml"), solved_problem("10MW")
    job = inputs.problem.job
    hasty = job.restore.model_copy(update={"max_time_s": 5.0})
    jobs = (job.model_copy(update={"restore": hasty}),)
    read = replace(inputs, problem=inputs.problem.model_copy(update={"jobs": jobs}))
    (fault,) = unit_faults(read, plan)
    assert fault.startswith("jobs.0.restore.max_time read back from '5 min': plan says 5")
