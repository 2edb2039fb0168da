"""A right plan passes; a plan wrong in any figure, limit or claim is refused by name."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import planner
from planner.api import solve_inputs
from planner.currency import USD
from planner.errors import VerificationError
from planner.inputs import Inputs
from planner.limits import COUNTED, LIMITS, TIMED
from planner.schema.catalog import Figure
from planner.schema.plan import LimitReport, NotConsidered
from planner.schema.prices import ExchangeRate
from planner.schema.problem import Quantity
from planner.sizing import goodput
from planner.verifier import basis, levels, recheck, verify
from planner.verifier.basis import Basis, Ledger
from planner.verifier.decisions import read_decisions
from planner.verifier.interval import shortest_allowed_s
from planner.verifier.job import Degraded, check_job
from planner.verifier.limits import Reached
from planner.verifier.money import cents
from planner.verifier.racks import Placement, place
from tests.world.known_plans import PLANS, full, sync_bundle, two_of_each, vendor_rule
from tests.world.plans import Made
from tests.world.tampering import DECIDED, DataPath, disagreements, leaves, put, tampered

MADE = {name: make() for name, make in PLANS.items()}


def every_field() -> list[Any]:
    return [
        pytest.param(name, path, id=key)
        for name, made in MADE.items()
        for key, path in leaves(name, made.plan)
    ]


@pytest.mark.parametrize("name", PLANS)
def test_a_right_plan_passes(name: str) -> None:
    verify(MADE[name].inputs, MADE[name].plan)


@pytest.mark.parametrize(("name", "path"), every_field())
def test_each_wrong_field_is_named(name: str, path: DataPath) -> None:
    made = MADE[name]
    text = disagreements(made.inputs, tampered(made.plan, path))
    field = str(path[-1])
    if field not in DECIDED:
        assert field in text


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", PLANS)
def test_a_solved_plan_passes_and_no_figure_of_it_can_be_changed(name: str) -> None:
    inputs = MADE[name].inputs
    plan = solve_inputs(inputs)
    assert plan.status == "optimal"
    verify(inputs, plan)
    for key, path in leaves(name, plan):
        with pytest.raises(VerificationError):
            verify(inputs, tampered(plan, path))
            pytest.fail(f"{key} may be changed")


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("field", ["problem", "description"])
def test_the_problem_is_named_right(name: str, field: str) -> None:
    made = MADE[name]
    assert field in disagreements(made.inputs, put(made.plan, (field,), "other"))


def each_limit() -> Iterator[Any]:
    for name, made in MADE.items():
        for report in made.plan.limits:
            yield pytest.param(name, report, id=f"{name}-{report.name}")


@pytest.mark.parametrize(("name", "report"), list(each_limit()))
def test_a_missing_limit_is_named(name: str, report: LimitReport) -> None:
    made = MADE[name]
    rest = tuple(limit for limit in made.plan.limits if limit.name != report.name)
    text = disagreements(made.inputs, put(made.plan, ("limits",), rest))
    assert f"limits.{report.name}: missing" in text


def test_a_limit_that_the_problem_has_not_is_named() -> None:
    made = sync_bundle()
    extra = made.plan.limits[0].model_copy(update={"name": "capex"})
    text = disagreements(made.inputs, put(made.plan, ("limits",), (*made.plan.limits, extra)))
    assert text == "limits.capex: the problem has no such limit"


def test_a_limit_listed_twice_is_named() -> None:
    made = sync_bundle()
    twice = (*made.plan.limits, made.plan.limits[0])
    assert "listed twice" in disagreements(made.inputs, put(made.plan, ("limits",), twice))


JOB = ("jobs", 0)
BROKEN: list[tuple[str, str, DataPath, Any]] = [
    ("full", "it_power", ("site", "it_power_kw"), 400.0),
    ("full", "facility_power", ("site", "facility_power_kw"), 500.0),
    ("full", "racks", ("site", "racks"), 10),
    ("full", "capex", ("budget", "capex_usd"), 1e7),
    ("full", "opex", ("budget", "opex_usd_per_year"), 1e6),
    ("full", "tco", ("budget", "tco_usd"), 1.5e7),
    ("full", "overlap", (*JOB, "checkpoint", "max_overlap"), 1e-3),
    ("full", "restore_time", (*JOB, "restore", "max_time_s"), 1.0),
    ("full", "capacity", ("storage", "fill_limit"), 0.1),
    ("full", "ingest", (*JOB, "ingest_per_gpu_gb_per_s"), 1.0),
    ("full", "replica_fits", (*JOB, "parallelisms", "pipeline"), 64),
    ("full", "gpus_min", (*JOB, "gpus", "min"), 321),
    ("full", "gpus_max", (*JOB, "gpus", "max"), 319),
    ("full", "min_gpus", ("targets", "min_gpus"), 321),
    ("full", "min_goodput", ("targets", "min_goodput"), 0.999),
    ("full", "min_useful_gpus", ("targets", "min_useful_gpus"), 319.9),
    ("full", "min_useful_pflops", ("targets", "min_useful_pflops"), 130.0),
    ("full", "max_days_to_train", ("targets", "max_days_to_train"), 10.0),
    ("full", "items.box.min", ("items", "box", "min"), 4),
    ("full", "items.box.max", ("items", "box", "max"), 2),
    ("sync_bundle", "blocking", (*JOB, "checkpoint", "max_blocking"), 1e-3),
    ("sync_bundle", "items.bundle.fixed", ("items", "bundle", "fixed"), 2),
    ("sync_bundle", "items.bundle.fixed", ("items", "bundle", "fixed"), 0),
    ("vendor_rule", "rule_read", ("storage", "rule"), "high"),
    ("vendor_rule", "rule_write", ("storage", "rule"), "high"),
    ("vendor_rule", "drain_fits", (*JOB, "checkpoint", "stall_s"), 500.0),
]


@pytest.mark.parametrize(("name", "limit", "path", "value"), BROKEN)
def test_a_broken_limit_is_named(name: str, limit: str, path: DataPath, value: Any) -> None:
    made = MADE[name]
    inputs = replace(made.inputs, problem=put(made.inputs.problem, path, value))
    assert f"{limit}: the plan breaks the limit" in disagreements(inputs, made.plan)


def with_item(inputs: Inputs, sku: str, path: tuple[str, ...], value: object) -> Inputs:
    items = tuple(put(i, path, value) if i.id == sku else i for i in inputs.items)
    return replace(inputs, items=items)


def of(value: Any) -> Figure[Any]:
    return Figure(value=value, source="sheet", confidence="high")


EUR = ExchangeRate.model_validate({"usd": 3.0, "on": "2026-11-01", "source": "a bank"})
SHARED: dict[str, tuple[str, DataPath, Any]] = {
    "pue": ("problem", ("site", "pue"), 1.5),
    "rack": ("problem", ("site", "rack"), None),
    "discounting": ("problem", ("term", "discount_rate"), 0.2),
    "support": ("problem", ("term", "support_years"), 1.0),
    "spares": ("problem", ("spares",), {"gpu_system": 0.5, "storage": 0.5}),
    "currency": ("problem", ("currency",), "EUR"),
    "installed": ("problem", ("items", "gpu_a"), Quantity(installed=1)),
    "price": ("prices", ("gpu_a", "list_usd"), 12.34),
    "pack": ("prices", ("box", "pack"), 7),
    "discount": ("discounts", (0, "discount"), 0.5),
    "draw": ("items", (0, "consumes", "it_power"), of(9.0)),
    "weight": ("items", (3, "consumes", "weight"), of(9.0)),
}
"""What plans made from the same inputs share follows from these."""


@pytest.mark.parametrize("name", SHARED)
def test_what_follows_from_other_inputs_is_not_taken(name: str) -> None:
    made, (part, path, value) = MADE["full"], SHARED[name]
    ours = replace(made.inputs, problem=put(made.inputs.problem, ("exchange",), {"EUR": EUR}))
    other = replace(ours, **{part: put(getattr(ours, part), path, value)})
    basis._LATEST.clear()
    expected = recheck(other, made.plan)
    assert expected.disagreements
    for _ in range(2):
        verify(ours, made.plan)
        assert recheck(other, made.plan) == expected


@pytest.mark.parametrize(
    ("limit", "sku", "path", "value"),
    [
        ("min_units.gpu_a", "gpu_a", ("min_units",), 41),
        ("max_units.gpu_a", "gpu_a", ("max_units",), 39),
        ("endurance", "box", ("provides", "endurance"), 10.0),
    ],
)
def test_a_broken_catalog_limit_is_named(
    limit: str, sku: str, path: tuple[str, ...], value: float
) -> None:
    made = full()
    inputs = with_item(made.inputs, sku, path, of(value))
    assert f"{limit}: the plan breaks the limit" in disagreements(inputs, made.plan)


def test_a_broken_family_limit_is_named() -> None:
    made = two_of_each()
    families = tuple(
        put(family, ("max_units",), of(4)) if family.id == "drum_fs" else family
        for family in made.inputs.families
    )
    text = disagreements(replace(made.inputs, families=families), made.plan)
    assert "family_max_units.drum_fs: the plan breaks the limit" in text
    assert "limits.family_max_units.drum_fs: missing" in text


def change_problem(*path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value

    def change(made: Made) -> Made:
        problem = put(made.inputs.problem, tuple(path), value)
        return replace(made, inputs=replace(made.inputs, problem=problem))

    return change


def change_item(sku: str, *path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value
    return lambda made: replace(made, inputs=with_item(made.inputs, sku, tuple(path), value))


def change_plan(*path_and_value: Any) -> Callable[[Made], Made]:
    *path, value = path_and_value
    return lambda made: replace(made, plan=put(made.plan, tuple(path), value))


def without_price(made: Made) -> Made:
    prices = {sku: price for sku, price in made.inputs.prices.items() if sku != "gpu_a"}
    return replace(made, inputs=replace(made.inputs, prices=prices))


def line_twice(made: Made) -> Made:
    lines = (*made.plan.lines, made.plan.lines[0])
    return replace(made, plan=put(made.plan, ("lines",), lines))


def last_line_twice(made: Made) -> Made:
    lines = (*made.plan.lines, made.plan.lines[-1])
    return replace(made, plan=put(made.plan, ("lines",), lines))


def last_line_missing(made: Made) -> Made:
    return replace(made, plan=put(made.plan, ("lines",), made.plan.lines[:-1]))


@pytest.mark.parametrize(
    ("make", "change", "says"),
    [
        (full, change_plan("lines", 0, "quantity", 40.0), "lines.gpu_a.quantity: 40.0 is not"),
        (full, change_plan("lines", 0, "quantity", -1), "lines.gpu_a.quantity: -1 is not"),
        (full, change_plan("lines", 0, "sku", "gpu_z"), "lines.gpu_z: no such item"),
        (full, change_plan("lines", 1, "sku", "drawer"), "a component is not bought alone"),
        (full, change_problem("items", "box", "exclude", True), "box: the problem excludes"),
        (full, change_problem("consider", "vendors", ("Cask",)), "gpu_a: the problem does not"),
        (full, change_problem("consider", "gpu_systems", ("gpu_b",)), "gpu_a: the problem does"),
        (full, change_problem("consider", "storage_families", ("drum_fs",)), "box: the problem"),
        (full, change_item("gpu_a", "lifecycle", "end_of_sale"), "gpu_a: its lifecycle"),
        (full, without_price, "lines.gpu_a: it has no price"),
        (full, change_item("gpu_a", "consumes", "rack_units", of(49.0)), "does not fit into"),
        (full, change_item("gpu_a", "consumes", "it_power", None), "it_power: the plan breaks"),
        (full, change_item("gpu_a", "provides", "gpus", None), "gpu_a: its GPUs are not known"),
        (full, change_item("box", "provides", "write", None), "box: its bandwidth is not known"),
        (full, change_item("box", "provides", "usable", None), "capacity: the plan breaks"),
        (full, line_twice, "lines.gpu_a: listed twice"),
        (full, change_plan("jobs", ()), "jobs: expected one job"),
        (full, change_plan("totals", None), "totals: missing"),
        (full, change_plan("lines", 0, "price", None), "lines.gpu_a.price"),
        (full, change_plan("lines", 0, "price", "date", "2020"), "gpu_a.price.date"),
        (full, change_plan("lines", 0, "price", "confidence", "low"), "gpu_a.price.confidence"),
        (full, change_plan("jobs", 0, "gpus_used", 0), "jobs.gpus_used: 0 is not"),
        (full, change_plan("jobs", 0, "gpus_used", 328), "jobs.systems_used: 40 systems"),
        (full, change_plan("jobs", 0, "systems_used", 41), "jobs.systems_used: 41 systems"),
        (full, change_plan("jobs", 0, "interval_s", math.nan), "jobs.interval_s: nan is not a"),
        (full, change_plan("jobs", 0, "interval_s", 0.0), "jobs.interval_s: 0.0 is not a"),
        (full, change_plan("jobs", 0, "interval_s", 20_000.0), "is outside 60 to 14400"),
        (full, change_plan("jobs", 0, "mode", "sync"), "jobs.mode: sync"),
        (full, change_plan("jobs", 0, "gpu_types", ("gpu_b",)), "jobs.gpu_types: gpu_b is not"),
        (full, change_plan("jobs", 0, "goodput", math.nan), "jobs.goodput: the plan says nan"),
        (
            full,
            change_plan("jobs", 0, "storage_families", ("cask_fs", "drum_fs")),
            "jobs.storage_families: the plan says ['cask_fs', 'drum_fs'], expected ['cask_fs']",
        ),
        (two_of_each, change_problem("jobs", 0, "gpus", "max_types", 1), "is not one to 1"),
        (two_of_each, change_problem("storage", "max_families", 1), "2 serve the job"),
        (two_of_each, change_plan("jobs", 0, "storage_families", ("box",)), "storage_families"),
        (
            two_of_each,
            change_plan("jobs", 0, "drain_slowdown", 0.0),
            "jobs.drain_slowdown: the plan says 0, computed 0.05",
        ),
        (
            vendor_rule,
            change_problem("jobs", 0, "checkpoint", "stall_s", 500.0),
            "jobs.goodput: the job makes no progress",
        ),
        (vendor_rule, change_plan("lines", 1, "quantity", 11), "its sizes go from 4 to 10"),
        (vendor_rule, change_plan("jobs", 0, "gpus_used", 85), "not a whole multiple"),
        (vendor_rule, change_problem("objective", "minimize", "tco"), "tco cannot be computed"),
        (sync_bundle, change_plan("lines", 2, "quantity", 4), "bundle.node.quantity: the plan"),
        (sync_bundle, last_line_missing, "lines.bundle.drawer: the component has no line"),
        (sync_bundle, last_line_twice, "lines.bundle.drawer: is not a component of bundle"),
        (sync_bundle, change_plan("lines", 3, "unit_net_usd", 5.0), "in the bundle's line"),
    ],
)  # fmt: skip
def test_what_the_rules_forbid_is_named(
    make: Callable[[], Made], change: Callable[[Made], Made], says: str
) -> None:
    changed = change(make())
    assert says in disagreements(changed.inputs, changed.plan)


def test_the_users_client_limit_counts_before_the_familys_factor() -> None:
    change = change_problem("storage", "client_limit", "write", 2.5)
    changed = change(full())
    text = disagreements(changed.inputs, changed.plan)
    # 40 systems x 2.5 GB/s x 1.7; the boxes still deliver less, 0.8 x 195 GB/s.
    assert text == "jobs.client_write_limit_gb_per_s: the plan says 544, computed 170"


@pytest.mark.parametrize("sense", ["<=", ">="])
@pytest.mark.parametrize("tolerance", [COUNTED, TIMED])
def test_a_limit_holds_within_its_tolerance(sense: Literal["<=", ">="], tolerance: float) -> None:
    sign = 1 if sense == "<=" else -1
    just, over = (1000 * (1 + sign * factor * tolerance) for factor in (0.9, 1.1))
    rows = (row for row in LIMITS if (row.sense, row.tolerance) == (sense, tolerance))
    name = next(row.name for row in rows if not row.exact)
    assert Reached(name, just, 1000).holds()
    assert not Reached(name, over, 1000).holds()
    assert not Reached(name, None, 1000).holds()


@pytest.mark.parametrize(("room", "says"), [(1 - 5e-8, None), (1 + 5e-8, "slack: the plan says 0")])
def test_no_slack_is_stated_only_where_none_is_left(room: float, says: str | None) -> None:
    made = vendor_rule()
    limit_s = made.plan.jobs[0].restore_s * room
    made = change_problem("jobs", 0, "restore", "max_time_s", limit_s)(made)
    index = [report.name for report in made.plan.limits].index("restore_time")
    for field, value in (("limit", limit_s), ("slack", 0.0), ("binding", True)):
        made = change_plan("limits", index, field, value)(made)
    if says is None:
        verify(made.inputs, made.plan)
    else:
        assert says in disagreements(made.inputs, made.plan)


def test_an_installed_item_without_a_price_has_no_money() -> None:
    made = without_price(change_problem("items", "gpu_a", "installed", 40)(full()))
    text = disagreements(made.inputs, made.plan)
    for field in ("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd"):
        assert f"lines.gpu_a.{field}: the plan says" in text
    assert "lines.gpu_a.support_usd_per_year: the plan says" in text
    assert "lines.gpu_a.price: the item has no price" in text
    assert "lines.gpu_a: it has no price" not in text


def test_an_item_not_considered_cannot_be_bought() -> None:
    made = full()
    entry = NotConsidered(sku="box", reason="no price")
    text = disagreements(made.inputs, put(made.plan, ("not_considered",), (entry,)))
    assert text == "lines.box: is also listed as not considered"


def test_installed_units_need_no_price_and_no_lifecycle() -> None:
    made = full()
    problem = put(made.inputs.problem, ("items", "gpu_a", "installed"), 40)
    inputs = replace(made.inputs, problem=problem)
    inputs = with_item(inputs, "gpu_a", ("lifecycle",), "end_of_sale")
    text = disagreements(inputs, made.plan)
    assert "which the problem does not consider" not in text
    assert "lines.gpu_a.purchased: the plan says 40, expected 0" in text


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("bound", 100.0, "objective.bound: 100.0 is on the wrong side"),
        ("bound", None, "objective.gap: bound and gap go together"),
        ("gap", -1e-3, "objective.gap: -0.001 is negative"),
        ("gap", 1e-3, "objective.gap: the plan says 0.001"),
        ("gap", math.nan, "objective.gap: nan"),
        ("gap_asked", 1e-8, "status: optimal, but the gap"),
        ("value", None, "objective.value: the plan says not known"),
    ],
)
def test_a_wrong_certificate_is_named(field: str, value: float | None, says: str) -> None:
    made = full()
    text = disagreements(made.inputs, put(made.plan, ("objective", field), value))
    assert says in text


def test_the_bound_of_a_minimum_lies_below() -> None:
    made = vendor_rule()
    value = made.plan.objective.value
    assert value is not None
    text = disagreements(made.inputs, put(made.plan, ("objective", "bound"), value * 1.01))
    assert "on the wrong side" in text


def test_the_logarithms_must_fit_the_bound() -> None:
    made = full()
    value, bound = made.plan.objective.value, made.plan.objective.bound
    assert value is not None and bound is not None
    right = {"log_value": 3.0, "log_bound": 3.0 + math.log(bound / value)}
    plan = made.plan.model_copy(update={"objective": made.plan.objective.model_copy(update=right)})
    verify(made.inputs, plan)
    text = disagreements(made.inputs, put(plan, ("objective", "log_bound"), 3.1))
    assert "objective.log_bound" in text


def test_a_plan_with_a_gap_may_be_feasible_but_not_optimal() -> None:
    made = full()
    value = made.plan.objective.value
    assert value is not None
    loose = made.plan.objective.model_copy(update={"bound": value * 1.01, "gap": 0.01})
    plan = made.plan.model_copy(update={"objective": loose, "status": "feasible"})
    verify(made.inputs, plan)
    optimal = put(plan, ("status",), "optimal")
    assert disagreements(made.inputs, optimal).startswith("status: optimal")


@pytest.mark.parametrize("status", ["infeasible", "no_solution", "unbounded"])
def test_a_plan_without_a_solution_carries_none(status: str) -> None:
    made = full()
    empty = {"status": status, "lines": (), "jobs": (), "totals": None, "limits": ()}
    nothing = {"value": None, "bound": None, "gap": None}
    objective = made.plan.objective.model_copy(update=nothing)
    verify(made.inputs, made.plan.model_copy(update={**empty, "objective": objective}))
    text = disagreements(made.inputs, made.plan.model_copy(update={"status": status}))
    for part in ("lines", "jobs", "totals", "objective.value"):
        assert f"{part}: a plan that is {status} has none" in text


def test_an_interval_that_is_not_the_best_is_named() -> None:
    made = full(interval_s=3000.0)
    text = disagreements(made.inputs, made.plan)
    assert text.startswith("jobs.interval_s: 3000 s is not the best allowed interval")
    assert "\n" not in text


@pytest.mark.parametrize("made", [sync_bundle(interval_s=601.0), vendor_rule(kappa=0.011)])
def test_an_interval_against_its_policy_is_named(made: Made) -> None:
    text = disagreements(made.inputs, made.plan)
    assert text.startswith("jobs.interval_s: the plan says")
    assert "\n" not in text


# 980 GB at 0.8 x 195 GB/s, or at 16 GB/s of two clients for 98 GB.
DRAIN_S = 980 / 156


@pytest.mark.parametrize(
    ("make", "change", "seconds"),
    [
        (full, change_plan("message", None), DRAIN_S / 0.1),
        (full, change_item("box", "provides", "endurance", of(100.0)), 0.98 * 86400 / 300),
        (full, change_problem("storage", "rule", "light"), max(5 + DRAIN_S, 0.98 * 86400 / 2100)),
        (sync_bundle, change_plan("message", None), 98 / 16 / 0.05),
        (vendor_rule, change_plan("message", None), 5 + 280 / 88),
    ],
)
def test_the_shortest_interval_follows_from_the_limits(
    make: Callable[[], Made], change: Callable[[Made], Made], seconds: float
) -> None:
    made = change(make())
    ledger, basis = Ledger(), Basis.from_inputs(made.inputs)
    decisions = read_decisions(ledger, basis, made.plan)
    assert decisions is not None
    figures = check_job(ledger, basis, decisions, made.plan)
    assert figures is not None
    shortest_s = shortest_allowed_s(basis, decisions, figures, Degraded())
    assert shortest_s == pytest.approx(seconds, rel=1e-12)


def test_a_limit_on_what_is_not_bought_need_not_be_listed() -> None:
    made = full()
    for rule in (Quantity(fixed=0), Quantity(max=5), Quantity(min=0)):
        items = {**made.inputs.problem.items, "shelf": rule}
        problem = put(made.inputs.problem, ("items",), items)
        verify(replace(made.inputs, problem=problem), made.plan)
    problem = put(made.inputs.problem, ("items",), {**items, "shelf": Quantity(fixed=1)})
    text = disagreements(replace(made.inputs, problem=problem), made.plan)
    assert "limits.items.shelf.fixed: missing" in text


def test_binding_cannot_be_denied_where_nothing_is_left() -> None:
    made = sync_bundle()
    index = [report.name for report in made.plan.limits].index("items.bundle.fixed")
    text = disagreements(made.inputs, put(made.plan, ("limits", index, "binding"), False))
    assert text.startswith("limits.items.bundle.fixed.binding")


def test_every_disagreement_is_named_at_once() -> None:
    made = full()
    plan = put(made.plan, ("totals", "capex_usd"), 1.0)
    plan = put(plan, ("jobs", 0, "drain_s"), 1.0)
    text = disagreements(made.inputs, plan)
    assert "totals.capex_usd" in text and "jobs.drain_s" in text


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(1.239, (1.24,)), (0.125, (0.12, 0.13)), (49.995, (49.99, 50.0)), (7.0, (7.0,))],
)
def test_half_a_cent_may_go_either_way(amount: float, expected: tuple[float, ...]) -> None:
    assert cents(amount, USD) == expected


def test_goodput_has_the_known_value() -> None:
    rhythm = levels.ProgressTimes(1800, 5, 50.5, 600, 0, 11123)
    assert levels.goodput(rhythm) == pytest.approx(0.86652, abs=5e-6)
    assert sum(levels.losses(rhythm).values()) == pytest.approx(1 - levels.goodput(rhythm))


@pytest.mark.parametrize("interval_s", [1.0, 900.0, 6e6])
def test_the_losses_agree_with_the_sizing_model(interval_s: float) -> None:
    rhythm = levels.ProgressTimes(interval_s, 0.1, 0.2, 30, 4, 1e4)
    theirs = goodput.goodput_loss(interval_s, 0.1, 0.2, 30, 4, 1e4)
    assert levels.losses(rhythm) == pytest.approx(vars(theirs), rel=1e-9)


# First 3 nodes of 0.8 kW and 1 RU, then 30 drawers of 1.1 kW and 3 RU.
@pytest.mark.parametrize(("power_kw", "racks"), [(10.0, 1 + 3), (45.0, 2), (None, 2)])
def test_a_bundle_is_placed_first_fit(power_kw: float | None, racks: int) -> None:
    made = change_problem("site", "rack", "power_kw", power_kw)(sync_bundle())
    basis = Basis.from_inputs(made.inputs)
    assert place(basis, basis.items["bundle"]) == Placement(racks, 1)


def test_a_stall_that_fills_the_interval_leaves_nothing() -> None:
    rhythm = levels.ProgressTimes(10, 10, 0, 0, 0, 1000)
    assert levels.goodput(rhythm) == 0
    assert levels.losses(rhythm)["stall"] == 1


@pytest.mark.parametrize("stall_per_mtti", [1e-12, 1e-8, 1e-5, 1e-4, 1e-2, 0.3, 1.9, 2.1, 40.0])
def test_the_intervals_agree_with_the_sizing_model(stall_per_mtti: float) -> None:
    mtti_s = 7000.0
    stall_s = stall_per_mtti * mtti_s
    for ours, theirs in (
        (levels.exact_s, goodput.exact_period_s),
        (levels.daly_s, goodput.daly_s),
        (levels.young_s, goodput.young_s),
    ):
        assert ours(stall_s, mtti_s) == pytest.approx(theirs(stall_s, mtti_s), rel=1e-11)


def test_verify_shares_no_code_with_what_it_judges() -> None:
    imported = set()
    for path in (Path(planner.__file__).parent / "verifier").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {(alias.name, "") for alias in node.names}
    ours = {pair for pair in imported if pair[0].startswith("planner")}
    modules = {module for module, _ in ours}
    assert "planner.verifier.basis" in modules
    assert not {m for m in modules if m.startswith(("planner.optimizer", "planner.case"))}
    tables = {name for module, name in ours if module.startswith("planner.sizing")}
    assert tables == {"BYTES_PER_PARAMETER", "FAILURES_PER_GPU_DAY", "VENDOR_RULES"}
