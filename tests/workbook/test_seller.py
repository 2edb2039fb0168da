"""A sales engineer's edits: what the sheet then shows, in three engines, is what an audit says."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from pathlib import Path

import pytest

from planner.assemble.ways import growth, live
from planner.auditor import audit
from planner.auditor.apply import (
    apply,
)
from planner.auditor.evaluate import case_of, evaluate
from planner.errors import InputError
from planner.loader import load
from planner.outputs.verification_text import render_audit
from planner.outputs.workbook import recalculated
from planner.outputs.workbook.book import Book as Sheets
from planner.outputs.workbook.own_lines import key
from planner.schema.beside import SHARED_RACKS
from planner.schema.verification import Audit
from tests.audit.books import PROBLEMS, Book, Edits, book, edited
from tests.workbook.excel import Excel
from tests.workbook.office import convert, named, needs_office, values
from tests.world.chosen import chosen

SETTINGS = (
    "consider={gpu_systems: [nvidia_dgx_b200]}",
    "jobs.0.power={points: open, curve: [{gpu_cap: 85 %, throughput: 97 %}]}",
    "jobs.0.training={tokens: 15 T, active_parameters: 1 T, mfu: 40 %, "
    "scale: {exponent: 0.02, reference: 1024}}",
)
SYSTEM, STORE, LEAF = "nvidia_dgx_b200", "wekapod_nitro_155", "nvidia_sn5600"
SWITCH, CABLE = "nvidia_sn2201", "cable_cat6"


def own(number: int, section: str = "Services", **parts: float | str) -> Edits:
    """Return what is typed into a line of one's own."""
    return {("own_line", key(section, number, part)): value for part, value in parts.items()}


def figure(**inputs: float | str) -> Edits:
    return {("figure", name): value for name, value in inputs.items()}


SESSION: dict[str, Edits] = {
    "another_list_price": {("unit_list", SYSTEM): 415_000.0},
    "a_price_of_nothing": {("unit_list", SWITCH): 0.0},
    "a_discount": {("discount", SYSTEM): 0.12},
    "a_gift": {("discount", SYSTEM): 1.0, ("discount", STORE): 1.0},
    "the_whole_bill_discounted": {
        ("discount", sku): 0.2 for sku in (SYSTEM, STORE, LEAF, SWITCH, CABLE)
    },
    "one_more_system": {("quantity", SYSTEM): 1.0},
    "ten_fewer_systems": {("quantity", SYSTEM): -10.0},
    "a_quarter_fewer_systems": {("quantity", SYSTEM): -130.0},
    "a_fifth_more_systems": {("quantity", SYSTEM): 107.0},
    "more_storage": {("quantity", STORE): 4.0},
    "both": {("quantity", SYSTEM): -16.0, ("quantity", STORE): 2.0},
    "a_count_of_ones_own": {("quantity", LEAF): 12.0},
    "a_count_held_while_systems_go": {("quantity", SYSTEM): -8.0, ("quantity", CABLE): 100.0},
    "some_are_owned": {("installed", SYSTEM): 40.0},
    "switches_are_owned": {("installed", LEAF): 20.0, ("installed", CABLE): 500.0},
    "more_in_store": {("spares", STORE): 3.0},
    "fewer_in_store": {("spares", LEAF): 0.0, ("spares", CABLE): 10.0},
    "a_longer_wait": {("lead_time", SYSTEM): "30-40 weeks"},
    "a_wait_in_months": {("lead_time", LEAF): "14 months"},
    "a_remark": {("remark", SYSTEM): "as agreed on the phone"},
    "installation": own(1, model="Installation", quantity=1.0, unit_list=250_000.0),
    "freight_by_the_pallet": own(
        2, model="Freight", vendor="Carrier", part_number="F-1", quantity=60.0, unit_list=900.0,
        discount=0.05, remark="sea",
    ),
    "own_items_in_three_sections": {
        **own(1, "Network", model="Console server", quantity=4.0, unit_list=3_000.0),
        **own(10, "Racks & power", model="Blanking panels", quantity=400.0, unit_list=12.5),
        **own(1, "Software", model="Monitoring", unit_list=80_000.0),
    },
    "support_of_ones_own": own(
        3, model="Care pack", quantity=2.0, unit_list=5_000.0, discount=0.1, per_year=12_345.67,
    ),
    "a_yearly_charge_alone": own(4, model="Remote hands", per_year=90_000.0),
    "a_budget": {("limit", "capex"): 270e6},
    "less_power": {("limit", "facility_power"): 9_000.0},
    "no_budget": {("limit", "capex"): None},
    "full_power": figure(way="bf16 at 100 % power"),
    "more_stand_by": figure(spares=20.0),
    "none_stands_by": figure(spares=0.0),
    "repairs_take_two_days": figure(repair_s=172_800.0, hardware_share=0.6),
    "energy_and_term": figure(electricity_usd_per_kwh=0.11, years=5.0, pue=1.2),
    "another_job": figure(checkpoint_gb=20_000.0, interval_s=900.0, failures_per_gpu_day=0.003),
    "a_system_more_and_one_to_spare": {("quantity", SYSTEM): 8.0, **figure(spares=9.0)},
    "the_quote_that_goes_out": {
        ("quantity", SYSTEM): -13.0, ("unit_list", SYSTEM): 430_000.0, ("discount", SYSTEM): 0.08,
        ("installed", SWITCH): 3.0, ("spares", STORE): 2.0, ("lead_time", STORE): "10 weeks",
        ("remark", LEAF): "subject to allocation", **figure(repair_s=43_200.0),
        **own(1, model="Installation", unit_list=300_000.0),
        **own(2, model="Freight", quantity=3.0, unit_list=40_000.0, discount=0.1),
    },
}  # fmt: skip
"""Edits by what they are for; a quantity is told as what is added to the solved one."""

RELATIVE = ("quantity",)
FIGURES = ("gpus_in_use", "goodput", "useful_pflops", "drain_s", "restore_s", "overlap",
           "days_to_train", "capex_usd", "it_power_kw", "facility_power_kw", "racks",
           "support_usd_per_year", "energy_usd_per_year", "opex_usd_per_year", "tco_usd",
           "lead_time_days", "bom_edits", "own_edits", "checkpoint_edits",
           "checks_edits")  # fmt: skip
"""Names on the sheets that engines and audit must agree on."""
ABOUT = 0.02
"""How far a total may be off where counts follow a changed cluster between two steps."""


@lru_cache
def source() -> Book:
    return book("10MW", *SETTINGS)


@lru_cache
def typed(name: str) -> Edits:
    """Return what is typed: new quantities rather than changes of them."""
    cells, edits = source(), SESSION[name]
    return {
        (kind, sku): (cells.cell(kind, sku).value or 0) + value if kind in RELATIVE else value  # type: ignore[operator]
        for (kind, sku), value in edits.items()
    }


@lru_cache
def evaluated(name: str) -> Sheets:
    """Return the sheets as the evaluator works them out after the edits."""
    cells = {source().cell(*which): value for which, value in typed(name).items()}
    edits = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
    inputs = load(PROBLEMS / "10MW.yaml", settings=SETTINGS)
    carried = live(inputs, source().plan)
    return recalculated(source().plan, edits, created=datetime(2026, 3, 1), live=carried)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seller")


@lru_cache
def audited(name: str, folder: Path) -> Audit:
    path = edited(source(), folder / f"{name}.xlsx", typed(name))
    return audit(path, solve_again=False)


def test_there_are_36_of_every_kind() -> None:
    assert len(SESSION) == 36
    kinds = {kind for edits in SESSION.values() for kind, _ in edits}
    open_kinds = {cell.kind for cell in source().cells} - {"local"}
    assert kinds == open_kinds


@pytest.mark.parametrize("name", SESSION)
def test_no_green_banner_over_a_changed_bill(name: str) -> None:
    banner = str(evaluated(name).value("plan_banner"))
    assert banner.startswith("EDITED: ") and banner.endswith(f" {len(SESSION[name])}")
    cluster = {("quantity", SYSTEM), ("quantity", STORE)} & set(SESSION[name])
    assert ("planner audit counts them" in banner) == bool(cluster)


@pytest.mark.exhaustive(keep=12)
@pytest.mark.parametrize("name", SESSION)
def test_the_audit_reads_every_edit_and_agrees(name: str, folder: Path) -> None:
    found, sheets = audited(name, folder), evaluated(name)
    assert {(edit.kind, edit.key): edit.after for edit in found.edits} == typed(name)
    assert found.edited is not None, found.reason
    assert found.edited.totals is not None
    job, totals = found.edited.jobs[0], found.edited.totals
    for cell, value in {
        "gpus_in_use": job.gpus_used, "goodput": job.goodput, "useful_pflops": job.useful_pflops,
        "drain_s": job.drain_s, "restore_s": job.restore_s, "days_to_train": job.days_to_train,
    }.items():  # fmt: skip
        assert sheets.number(cell) == pytest.approx(value, rel=1e-9), cell
    cluster = {("quantity", SYSTEM), ("quantity", STORE)} & set(SESSION[name])
    counted = {("quantity", LEAF), ("quantity", CABLE)} & set(SESSION[name])
    for cell, value in {
        "capex_usd": totals.capex_usd, "it_power_kw": totals.it_power_kw, "racks": totals.racks,
        "facility_power_kw": totals.facility_power_kw, "tco_usd": totals.tco_usd,
    }.items():  # fmt: skip
        within = ABOUT if cluster or counted else 1e-9
        assert sheets.number(cell) == pytest.approx(value, rel=within), cell
    assert sheets.number("bom_lead_time_days") == totals.lead_time_days
    assert found.sheet_capex_usd == sheets.number("bom_capex_usd")
    assert bool(found.shortages) >= bool(counted)


@pytest.mark.exhaustive(keep=5)
@pytest.mark.parametrize("name", SESSION)
def test_excel_shows_the_same(name: str) -> None:
    """In an engine that follows Excel, on the file as it was written."""
    excel, sheets = Excel(source().content), evaluated(name)
    for which, value in typed(name).items():
        cell = source().cell(*which)
        excel.write(cell.sheet, cell.cell, value)
    for cell_name in FIGURES:
        sheet, _, address = sheets.address(cell_name).partition("!")
        shown = excel.value(sheet.strip("'"), address.replace("$", ""))
        assert shown == pytest.approx(sheets.value(cell_name), rel=1e-9), cell_name
    assert excel.value("BOM", "A3") == sheets.value("plan_banner")


@pytest.fixture(scope="module")
def in_office(request: pytest.FixtureRequest, folder: Path) -> dict[str, Path]:
    """Return the edited workbooks as LibreOffice has recalculated them."""
    names = sorted(chosen(request, "shown"))
    files = [edited(source(), folder / f"{name}.xlsx", typed(name)) for name in names]
    return dict(zip(names, convert(folder, files), strict=True))


@needs_office
@pytest.mark.exhaustive(keep=0, most=9)
@pytest.mark.parametrize("shown", SESSION)
def test_libreoffice_shows_the_same(shown: str, in_office: dict[str, Path]) -> None:
    cells, sheets = values(in_office[shown]), evaluated(shown)
    assert not [cell for cell, value in cells.items() if str(value).startswith(("#", "Err:"))]
    found = named(in_office[shown], cells)
    for cell_name in FIGURES:
        value, expected = found[cell_name], sheets.value(cell_name)
        assert value == pytest.approx(expected, rel=1e-9), cell_name
    for sheet in {sheet for sheet, _ in cells} - {"Data"}:
        assert str(cells[sheet, "A3"]) == sheets.value("plan_banner"), sheet


def test_own_lines_come_back_as_services_of_the_order(folder: Path) -> None:
    found = audited("the_quote_that_goes_out", folder)
    assert found.edited is not None
    lines = {line.sku: line for line in found.edited.lines if line.sku.startswith("own_")}
    freight = lines["own_services_2"]
    assert (freight.section, freight.model, freight.quantity) == ("Services", "Freight", 3)
    assert (freight.unit_net_usd, freight.extended_net_usd) == (36_000.0, 108_000.0)
    assert freight.it_power_kw == 0.0 and lines["own_services_1"].quantity == 1
    remarked = next(line for line in found.edited.lines if line.sku == LEAF)
    assert "subject to allocation" in remarked.notes
    screen = render_audit(found)
    assert "own line 2 of Services" in screen and "Against the solved plan" in screen


def test_the_audit_solves_again_with_what_was_added(tmp_path: Path) -> None:
    """The best plan under the edited inputs pays for the added line, within a budget it meets."""
    small = book("enterprise_1MW")
    edits: Edits = own(1, model="Installation", unit_list=500_000.0)
    found = audit(edited(small, tmp_path / "small.xlsx", edits))
    assert found.best is not None and any(line.sku == "own_services_1" for line in found.best.lines)
    assert found.edited is not None and found.edited.totals is not None
    assert found.solved.totals is not None and found.solved.totals.capex_usd is not None
    paid = found.edited.totals.capex_usd
    assert paid == pytest.approx(found.solved.totals.capex_usd + 500_000.0)
    assert not found.shortages and not found.stale


NONSENSE: list[tuple[Edits, str]] = [
    ({("quantity", SYSTEM): -3.0}, "quantity of DGX B200: holds -3; write a whole number"),
    ({("unit_list", SYSTEM): "on request"}, "holds the text 'on request'; write a number"),
    ({("unit_list", STORE): "290.000,00"}, "holds the text '290.000,00'; write a number"),
    ({("discount", SYSTEM): 12.0}, "discount of DGX B200: holds 12; write a number between 0 and"),
    ({("discount", SYSTEM): "12 %"}, "holds the text '12 %'; write a number between 0 and 1"),
    ({("lead_time", STORE): "six weeks after the order"}, "write a text such as 12 weeks"),
    (own(1, model="Trade-in", unit_list=-50_000.0), "holds -50,000; write a number"),
]


@pytest.mark.parametrize(("edits", "said"), NONSENSE)
def test_no_green_banner_over_what_makes_no_sense(edits: Edits, said: str, tmp_path: Path) -> None:
    """A program that ignores the rule of a cell takes it: the sheet says so, the audit refuses."""
    cells = {source().cell(*which): value for which, value in edits.items()}
    laid = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
    sheets = recalculated(source().plan, laid, created=datetime(2026, 3, 1))
    assert str(sheets.value("plan_banner")).startswith("EDITED: ")
    with pytest.raises(InputError) as caught:
        audit(edited(source(), tmp_path / "wrong.xlsx", edits), solve_again=False)
    (line,) = str(caught.value).splitlines()
    assert said.casefold() in line.casefold(), line


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (own(3, unit_list=5.0), "own line 3 of Services: it has no description"),
        (own(4, model="Freight", quantity=2.0), "own line 4 of Services: it has no list price"),
        ({("lead_time", SYSTEM): "soon"}, "holds the text 'soon'; write a text such as 12 weeks"),
        ({("installed", SYSTEM): 2.5}, "installed of DGX B200: holds 2.5; write a whole number"),
        ({("unit_list", SYSTEM): None}, "unit list of DGX B200: is blank"),
        ({("figure", "way"): "fp4"}, "way in which the job runs"),
        ({("spares", SYSTEM): 1e6}, "cold spares of DGX B200: more than 100 for each in place"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(edits: Edits, said: str, tmp_path: Path) -> None:
    path = edited(source(), tmp_path / "wrong.xlsx", edits)
    with pytest.raises(InputError) as caught:
        audit(path, solve_again=False)
    (line,) = str(caught.value).splitlines()
    assert said.casefold() in line.casefold(), line


def test_what_is_owned_has_one_cell(tmp_path: Path) -> None:
    """The limit that owned units stay follows the cell on the bill."""
    idle = "nvidia_dgx_h200"
    owned = book("10MW", "network={}", f"items.{idle}.installed=10")
    assert not [cell for cell in owned.cells if cell.key == f"items.{idle}.installed"]
    cell = owned.cell("installed", idle)
    sheets = recalculated(owned.plan, {(cell.sheet, cell.cell): 12.0}, created=datetime(2026, 3, 1))
    names = [limit.name for limit in owned.plan.limits]
    row = names.index(f"items.{idle}.installed") + 1
    assert (sheets.number(f"check_value_{row}"), sheets.number(f"check_limit_{row}")) == (10, 12)
    path = edited(owned, tmp_path / "owned.xlsx", {("installed", idle): 12.0})
    found = audit(path, solve_again=False)
    assert found.edited is not None
    limit = next(x for x in found.edited.limits if x.name.endswith(".installed"))
    assert (limit.value, limit.limit) == (12.0, 12.0)
    (short,) = found.shortages
    assert (short.sku, short.listed, short.needed) == (idle, 10, 12)


def test_counts_that_follow_are_exact_at_the_steps() -> None:
    """As solved at no step, and at others what the audit counts; there is a step down to none."""
    plan = book("full_bill").plan
    inputs = load(PROBLEMS / "full_bill.yaml")
    for each in growth(inputs, plan):
        assert each.steps[0] == -each.units and list(each.steps) == sorted({*each.steps, 0})
        sku, solved = each.skus[0], each.steps.index(0)
        for place in (solved - 1, solved, len(each.steps) - 2):
            quantities = {x.sku: x.quantity for x in plan.lines if x.parent is None}
            quantities[sku] += each.steps[place]
            draft = apply("x.xlsx", inputs, plan, [], quantities)
            edited_plan, _ = evaluate(draft, case_of(draft))
            needed = {x.sku: x.quantity for x in edited_plan.lines if x.parent is None}
            for name, counts in each.counts.items():
                if name != SHARED_RACKS:
                    assert counts[place] == needed.get(name, 0), (name, each.steps[place])
