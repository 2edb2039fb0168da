"""What an audit says: nothing where nothing was edited, and the same as solving with the change."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from planner.api import Options, solve
from planner.auditor import audit
from planner.auditor.apply import (
    apply,
    set_limit,
)
from planner.auditor.draft import (
    FIGURES,
    Draft,
)
from planner.auditor.evaluate import NothingRunsError, case_of, evaluate
from planner.cli import app
from planner.errors import InputError
from planner.inputs import inputs_from_text, inputs_to_text
from planner.limits import LIMITS
from planner.loader import load
from planner.outputs.workbook.cells import Scalar
from planner.outputs.workbook.checks import editable
from planner.schema.verification import Audit, Edit
from tests.audit.books import PROBLEMS, SOLVABLE, Edits, book, edited


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("problem", SOLVABLE)
def test_a_round_trip_without_edits_changes_nothing(problem: str, tmp_path: Path) -> None:
    source = book(problem)
    found = audit(edited(source, tmp_path / "same.xlsx", {}))
    assert found.edits == found.breaches == found.shortages == found.stale == found.remarks == ()
    assert found.edited is not None
    for part in ("lines", "totals", "fabrics", "racks"):
        assert getattr(found.edited, part) == getattr(source.plan, part), part
    assert found.edited.storage_options is None  # what is edited is compared with no other storage
    compared = [text for text in source.plan.warnings if "are compared across bases" in text]
    assert source.plan.storage_options is not None or not compared
    assert [*found.edited.warnings, *compared] == list(source.plan.warnings)
    assert found.edited.jobs == source.plan.jobs
    assert found.best == source.plan
    assert found.shortfall == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("problem", SOLVABLE)
def test_every_input_has_a_meaning(problem: str) -> None:
    for cell in book(problem).cells:
        if cell.kind == "figure":
            assert cell.key in FIGURES, cell.key


@dataclass(frozen=True)
class Change:
    """An edit of a workbook and the same change of the problem file."""

    edits: Edits
    settings: tuple[str, ...]
    base: tuple[str, ...] = ("network={}",)
    """Settings of the problem that the workbook is of: without fabrics it is soon solved."""


CHANGES = {
    "site": Change(
        {("figure", "pue"): 1.4, ("limit", "facility_power"): 9000.0},
        ("site.pue=1.4", "site.facility_power=9 MW"),
        base=(),
    ),
    "racks": Change({("limit", "racks"): 60.0}, ("site.racks=60",), base=()),
    "size": Change({("figure", "checkpoint_gb"): 20_160.0}, ("jobs.0.bytes_per_parameter=20",)),
    "sync": Change({("figure", "save_mode"): "sync"}, ("jobs.0.checkpoint.mode=sync",)),
    "restore": Change(
        {("figure", "max_restore_s"): 3.0, ("figure", "restart_s"): 300.0},
        ("jobs.0.restore.max_time=3 s", "jobs.0.restore.restart=5 min"),
    ),
    "failures": Change(
        {("figure", "failures_per_gpu_day"): 0.002}, ("jobs.0.failures={per_gpu_day: 0.002}",)
    ),
    "delivered": Change(
        {("figure", "delivered_fraction_write"): 0.3, ("figure", "delivered_fraction_read"): 0.2},
        ("storage.delivered_fraction={read: 0.2, write: 0.3}",),
    ),
    "the_rest": Change(
        {
            ("figure", "max_overlap"): 0.01,
            ("figure", "years"): 6.0,
            ("figure", "electricity_usd_per_kwh"): 0.2,
            ("figure", "writers"): "one_replica",
            ("figure", "checkpoints_held"): 400.0,
        },
        (
            "jobs.0.checkpoint.max_overlap=1 %",
            "term.years=6",
            "term.electricity=0.2 USD/kWh",
            "jobs.0.checkpoint.writers=one_replica",
            "jobs.0.checkpoint.keep_last=399",
        ),
    ),
}  # fmt: skip


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", sorted(CHANGES))
def test_the_best_plan_is_that_of_the_changed_problem(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    path = edited(book("10MW", *change.base), tmp_path / "edited.xlsx", change.edits)
    found = audit(path)
    expected = solve(PROBLEMS / "10MW.yaml", settings=(*change.base, *change.settings))
    assert found.best is not None and expected.objective.value is not None
    assert found.best.objective.value == pytest.approx(expected.objective.value, rel=1e-4)
    bought = [(line.sku, line.quantity) for line in found.best.lines if line.section == "Compute"]
    assert bought == [(x.sku, x.quantity) for x in expected.lines if x.section == "Compute"]
    assert {edit.key: edit.after for edit in found.edits} == {
        key: value for (_, key), value in change.edits.items()
    }


def audited(
    tmp_path: Path,
    edits: Edits,
    problem: str = "10MW",
    *settings: str,
    solve_again: bool = True,
) -> Audit:
    path = edited(book(problem, *settings), tmp_path / "edited.xlsx", edits)
    return audit(path, Options(explain=False), solve_again=solve_again)


def sku(section: str, problem: str = "10MW") -> str:
    return next(line.sku for line in book(problem).plan.lines if line.section == section)


def test_more_systems_break_the_power_limit_and_need_more_cables(tmp_path: Path) -> None:
    bought = next(line.quantity for line in book("10MW").plan.lines if line.section == "Compute")
    found = audited(tmp_path, {("quantity", sku("Compute")): float(bought + 8)})
    assert [breach.name for breach in found.breaches] == ["facility_power"]
    assert found.breaches[0].over == pytest.approx(found.breaches[0].value - 10_000)  # type: ignore[operator]
    # Counts follow at the steps that were worked out, of which 8 is one.
    assert not found.shortages
    assert found.best == found.solved  # a quantity is a decision, not an input
    assert found.shortfall is not None and found.shortfall < 0
    assert found.edited is not None and found.edited.totals is not None
    assert found.sheet_capex_usd is not None and found.edited.totals.capex_usd is not None
    spares_usd = 1e-3 * found.edited.totals.capex_usd  # cold spares stay as solved on the sheet
    assert found.sheet_capex_usd == pytest.approx(found.edited.totals.capex_usd, abs=spares_usd)


def test_less_storage_costs_less_and_loses_work(tmp_path: Path) -> None:
    all_of_it = ("10MW", "objective.indifference=0")
    lines = book(*all_of_it).plan.lines
    bought = next(line.quantity for line in lines if line.section == "Storage")
    found = audited(tmp_path, {("quantity", sku("Storage")): bought - 2.0}, *all_of_it)
    assert not found.breaches and found.shortfall is not None and found.shortfall > 1e-5
    assert found.edited is not None and found.edited.totals and found.solved.totals
    assert (found.edited.totals.capex_usd or 0) < (found.solved.totals.capex_usd or 0)


def test_a_discount_changes_money_and_nothing_else(tmp_path: Path) -> None:
    found = audited(tmp_path, {("discount", sku("Compute")): 0.1})
    assert found.edited is not None and found.edited.totals and found.solved.totals
    line = next(line for line in found.solved.lines if line.section == "Compute")
    paid = found.edited.totals.capex_usd
    assert paid == pytest.approx(
        (found.solved.totals.capex_usd or 0) - 0.1 * (line.extended_list_usd or 0), rel=1e-9
    )
    assert found.edited.jobs == found.solved.jobs and not found.stale


def test_an_interval_of_ones_own_is_remarked_on(tmp_path: Path) -> None:
    found = audited(tmp_path, {("figure", "interval_s"): 3600.0})
    assert not found.breaches and "not the best allowed interval" in found.remarks[0]
    assert found.best == found.solved and (found.shortfall or 0) > 0


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("section", ["Compute", "Storage"])
def test_without_a_part_nothing_runs(section: str, tmp_path: Path) -> None:
    found = audited(tmp_path, {("quantity", sku(section)): 0.0})
    assert found.edited is None and found.reason


@pytest.mark.exhaustive(keep=1, most=2)
@pytest.mark.parametrize("problem", ["megatron_1t", "gpt3_octet", "enterprise_1MW"])
def test_no_value_that_a_cell_allows_breaks_the_audit(problem: str) -> None:
    """The ends of every range, 0 and blank: a plan, or a reason why nothing runs; never a crash.

    Of every section of the bill the first line stands for the others.
    """
    source = book(problem)
    inputs = inputs_from_text(inputs_to_text(load(PROBLEMS / f"{problem}.yaml")))
    firsts = {line.section: line.sku for line in reversed(source.plan.lines)}.values()
    quantities = {line.sku: line.quantity for line in source.plan.lines if line.parent is None}
    tried = 0
    for cell in source.cells:
        if cell.kind in ("quantity", "discount", "unit_list") and cell.key not in firsts:
            continue
        values: set[Scalar] = {cell.range.low, cell.range.high, 0.0, 1.0, 3.0, None}
        for value in values | set(cell.range.choices):
            if cell.kind == "local" or value == cell.value or not cell.range.allows(value):
                continue
            edit = Edit(
                sheet=cell.sheet, cell=cell.cell, kind=cell.kind, key=cell.key, label=cell.label,
                unit=cell.unit, before=cell.value, after=value,
            )  # fmt: skip
            tried += 1
            try:
                draft = apply("x.xlsx", inputs, source.plan, [edit], quantities)
                evaluate(draft, case_of(draft))
            except (NothingRunsError, InputError) as error:
                assert str(error)
    assert tried > 50


def test_a_lead_time_that_cannot_be_met_is_a_broken_limit(tmp_path: Path) -> None:
    found = audited(tmp_path, {("limit", "lead_time"): 90.0}, "full_bill", solve_again=False)
    assert [breach.name for breach in found.breaches] == ["lead_time"]


def test_a_fixed_interval_is_an_input(tmp_path: Path) -> None:
    found = audited(tmp_path, {("figure", "interval_s"): 7200.0}, "megatron_1t")
    assert not found.remarks and found.best is not None
    assert found.best.jobs[0].interval_s == 7200.0
    assert found.shortfall == pytest.approx(0.0, abs=1e-9)


def test_more_of_what_has_no_price_asks_for_one(tmp_path: Path) -> None:
    line = next(x for x in book("megatron_1t").plan.lines if x.unit_list_usd is None)
    more = {("quantity", line.sku): line.quantity + 1.0}
    found = audited(tmp_path, dict(more), "megatron_1t")
    assert found.edited is None and "price" in str(found.reason)
    found = audited(tmp_path, {**more, ("unit_list", line.sku): 1000.0}, "megatron_1t")
    assert found.edited is not None and found.sheet_capex_usd == pytest.approx(1000.0)


def test_a_cleared_limit_limits_nothing(tmp_path: Path) -> None:
    found = audited(tmp_path, {("limit", "facility_power"): None, ("limit", "capex"): 3e8})
    assert found.best is not None and found.best.totals is not None
    assert (found.best.totals.facility_power_kw or 0) > 10_000


def test_impossible_inputs_leave_no_best_plan(tmp_path: Path) -> None:
    found = audited(tmp_path, {("limit", "facility_power"): 100.0})
    assert found.best is None and found.reason and found.breaches
    assert found.shortfall is None


@pytest.mark.parametrize("name", ["items.x.min", "items.x.max", "items.x.fixed", "stock.x"])
def test_limits_of_items_are_set_and_cleared(name: str) -> None:
    inputs = load(PROBLEMS / "10MW.yaml")
    draft = Draft(inputs, book("10MW").plan)
    field = name.rpartition(".")[2] if name.startswith("items") else "stock"
    set_limit(draft, name, 7.0)
    assert getattr(draft.problem.items["x"], field) == 7
    set_limit(draft, name, None)
    assert getattr(draft.problem.items["x"], field) is None


def run(arguments: list[str]) -> tuple[int, str, str]:
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("edits", "code", "said"),
    [
        ({}, 0, "Nothing was edited"),
        ({("quantity", "storage"): 20.0}, 0, "keeps every limit"),
        ({("limit", "facility_power"): 9000.0}, 3, "breaks 1 limit"),
    ],
)
def test_the_command(
    edits: dict[tuple[str, str], Scalar], code: int, said: str, tmp_path: Path
) -> None:
    named = {
        (kind, sku("Storage") if key == "storage" else key): value
        for (kind, key), value in edits.items()
    }
    path = edited(book("10MW"), tmp_path / "edited.xlsx", named)
    exit_code, out, _ = run(["audit", str(path)])
    assert (exit_code, said in out) == (code, True), out
    exit_code, out, _ = run(["audit", str(path), "--json", "--no-solve"])
    assert exit_code == code
    assert Audit.model_validate_json(out).workbook == str(path)
    assert len(json.loads(out)["edits"]) == len(edits)


EDITABLE = [row.name for row in LIMITS if row.editable and "*" not in row.name]


@pytest.mark.parametrize("name", EDITABLE)
def test_every_limit_that_may_be_edited_has_a_meaning(name: str) -> None:
    draft = Draft(load(PROBLEMS / "10MW.yaml"), book("10MW").plan)
    assert editable(name)
    before = draft.problem
    set_limit(draft, name, 7.0)
    assert draft.problem != before
