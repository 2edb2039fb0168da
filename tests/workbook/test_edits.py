"""What a reader edits flows through to totals, drain, goodput and checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from tests.workbook.office import Cells, convert, named, needs_office, values
from tests.workbook.test_recalculation import figures_of, more_of, totals_of
from tests.world.chosen import chosen
from tests.world.gear import Setup, job, totals
from tests.world.gear_plans import limit_value
from tests.world.setups import ASYNC, CASES, COMPLETE, SYNC

BOM_COLUMNS = {"quantity": "Quantity", "discount": "Discount", "unit_list": "Unit list"}
STATIC = ("client_write", "split.0", "exact_families")
"""Limits on what is not in the workbook: they stay as solved."""


@dataclass(frozen=True)
class Edit:
    """An edit of cells, and the set-up it stands for; ``edits`` is how many cells it touches."""

    case: str
    after: Setup
    bom: tuple[tuple[str, str, float], ...] = ()
    inputs: tuple[tuple[str, object], ...] = ()

    @property
    def edits(self) -> int:
        return len(self.bom) + len(self.inputs)


EDITS = {
    "more_gpus_and_storage": Edit(
        "async",
        ASYNC.change("dgx_h100", quantity=175).change("ai400x2", quantity=1),
        bom=(("dgx_h100", "quantity", 175), ("ai400x2", "quantity", 1)),
    ),
    "discount": Edit(
        "async",
        ASYNC.change("dgx_h100", discount=0.2345),
        bom=(("dgx_h100", "discount", 0.2345),),
    ),
    "interval": Edit("async", replace(ASYNC, interval_s=40.0), inputs=(("interval_s", 40.0),)),
    "sync_instead": Edit("async", replace(ASYNC, mode="sync"), inputs=(("save_mode", "sync"),)),
    "site": Edit(
        "async",
        replace(ASYNC, pue=1.4, electricity=0.11, years=6.0, failures=3e-2, restart_s=900.0),
        inputs=(
            ("pue", 1.4),
            ("electricity_usd_per_kwh", 0.11),
            ("years", 6.0),
            ("failures_per_gpu_day", 3e-2),
            ("restart_s", 900.0),
        ),
    ),
    "idle": Edit("sync", replace(SYNC, idle=64), inputs=(("gpus_idle", 64),)),
    "a_replica_no_longer_fits": Edit(
        "sync",
        replace(SYNC.change("gpu_a", quantity=10), idle=32),
        bom=(("gpu_a", "quantity", 10),),
    ),
    "another_job": Edit(
        "async",
        replace(
            ASYNC,
            checkpoint_gb=20_000.0,
            fan_out="every_replica",
            held=6,
            other_data_tb=10.0,
            fill_limit=0.7,
            replica_gpus=256,
            active_parameters=2e12,
            flop=6 * 2e12 * 20e12,
        ),
        inputs=(
            ("checkpoint_gb", 20_000.0),
            ("restore_fan_out", "every_replica"),
            ("checkpoints_held", 6),
            ("other_data_tb", 10.0),
            ("fill_limit", 0.7),
            ("replica_gpus", 256),
            ("active_parameters_billion", 2000.0),
            ("tokens_trillion", 20.0),
        ),
    ),
    "one_replica_moves": Edit(
        "async",
        replace(ASYNC, writers_at_most=32, readers_at_most=32, replica_gpus=250),
        inputs=(("writers", "one_replica"), ("readers", "one_replica"), ("replica_gpus", 250)),
    ),
    "more_systems_and_cables": Edit(
        "complete",
        COMPLETE.change("hgx_b300_liquid", quantity=40)
        .change("fibre_10m", quantity=620)
        .change("cat6", quantity=260)
        .change("sn4700", quantity=0),
        bom=(
            ("hgx_b300_liquid", "quantity", 40),
            ("fibre_10m", "quantity", 620),
            ("cat6", "quantity", 260),
            ("sn4700", "quantity", 0),
        ),
    ),
    "fewer_appliances": Edit(
        "complete",
        COMPLETE.change("ai400x3", quantity=2, discount=0.5).change("nvaie", discount=0.25),
        bom=(
            ("ai400x3", "quantity", 2),
            ("ai400x3", "discount", 0.5),
            ("nvaie", "discount", 0.25),
        ),
    ),
    "dear_money_short_term": Edit(
        "complete",
        replace(COMPLETE, rate=0.25, years=2.75, pue=1.5, pue_liquid=1.2, colocation=60.0),
        inputs=(
            ("discount_rate", 0.25),
            ("years", 2.75),
            ("pue", 1.5),
            ("pue_liquid", 1.2),
            ("colocation_usd_per_kw_month", 60.0),
        ),
    ),
    "no_rate_long_term": Edit(
        "complete",
        replace(COMPLETE, rate=0.0, years=7.0, electricity=0.2),
        inputs=(("discount_rate", 0.0), ("years", 7.0), ("electricity_usd_per_kwh", 0.2)),
    ),
    "shorter_when_down": Edit(
        "complete",
        replace(COMPLETE, interval_s=700.0),
        inputs=(("interval_s", 700.0),),
    ),
    "price_filled_in": Edit(
        "sync",
        SYNC.change("flash", list_usd=123_456.78),
        bom=(("flash", "unit_list", 123_456.78),),
    ),
}


def row_of(book: Workbook, sku: str) -> int:
    """Return the row of a line by its catalog id."""
    for row in book["BOM"].iter_rows():
        if any(cell.value == sku for cell in row):
            number = row[0].row
            assert number is not None
            return number
    raise AssertionError(sku)


def column_of(book: Workbook, title: str) -> str:
    """Return the letter of a column of the bill by its title."""
    return next(cell.column_letter for cell in book["BOM"][7] if cell.value == title)


def edited(source: Path, target: Path, change: Callable[[Workbook], None]) -> Path:
    """Save a changed copy of a workbook."""
    book = openpyxl.load_workbook(source)
    change(book)
    book.save(target)
    return target


def apply(edit: Edit, book: Workbook) -> None:
    """Type an edit's values into its cells, all of which must be unlocked."""
    for sku, column, value in edit.bom:
        cell = book["BOM"][f"{column_of(book, BOM_COLUMNS[column])}{row_of(book, sku)}"]
        assert not cell.protection.locked
        cell.value = value
    for name, value in edit.inputs:
        sheet, address = next(iter(book.defined_names[name].destinations))
        cell = book[sheet][address.replace("$", "")]
        assert not cell.protection.locked
        cell.value = value


FILLED_IN = "price_filled_in"


@pytest.fixture(scope="module")
def results(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Return the edited workbooks that tests ask for, recalculated."""
    base, wanted = tmp_path_factory.mktemp("edits"), {FILLED_IN, *chosen(request, "name")}
    edits = {name: edit for name, edit in EDITS.items() if name in wanted}
    files = [
        edited(
            folder / f"{edit.case}.xlsx",
            base / f"{name}.xlsx",
            lambda book, edit=edit: apply(edit, book),
        )
        for name, edit in edits.items()
    ]
    return dict(zip(edits, convert(base, files), strict=True))


@needs_office
@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", sorted(EDITS))
def test_totals_and_the_sizing_model_follow(name: str, results: dict[str, Path]) -> None:
    after = EDITS[name].after
    shown = named(results[name], values(results[name]))
    expected = figures_of(job(after)) | totals_of(totals(after))
    if EDITS[name].case == "complete":
        expected |= more_of(after)
    for key, value in expected.items():
        assert shown[key] == (pytest.approx(value, rel=1e-9) if value is not None else "n/a"), key


def checks(cells: Cells) -> dict[str, tuple[object, ...]]:
    """Return value, limit, slack and result of every check by its id (column L)."""
    rows = [address[1:] for sheet, address in cells if sheet == "Checks" and address[0] == "L"]
    return {
        str(cells["Checks", f"L{row}"]): tuple(cells.get(("Checks", f"{c}{row}")) for c in "BDFG")
        for row in rows
    }


@needs_office
@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", sorted(EDITS))
def test_checks_follow(name: str, results: dict[str, Path]) -> None:
    edit = EDITS[name]
    found = checks(values(results[name]))
    for limit, (sense, allowed, _) in CASES[edit.case].limits.items():
        setup = CASES[edit.case] if limit in STATIC else edit.after
        value = limit_value(setup, limit)
        assert value is not None
        if limit == "drain_fits":
            allowed = edit.after.interval_s
        if limit == "replica_fits":
            allowed = edit.after.replica_gpus or 0.0
        if limit == "capacity":
            allowed = edit.after.needed_tb
        if limit == "ingest":
            allowed = job(edit.after)["ingest"] or 0.0
        slack = allowed - value if sense == "<=" else value - allowed
        shown, shown_limit, shown_slack, result = found[limit]
        assert shown == pytest.approx(value, rel=1e-9), limit
        assert shown_limit == pytest.approx(allowed, rel=1e-9), limit
        assert shown_slack == pytest.approx(slack, rel=1e-9, abs=1e-6), limit
        if edit.after.mode != CASES[edit.case].mode and limit in ("overlap", "drain_fits"):
            assert result == "n/a"
            continue
        assert str(result).split(" ")[0] == ("OK" if slack >= 0 else "OVER"), limit


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_edits_break_limits_in_both_directions(results: dict[str, Path]) -> None:
    over = {
        limit
        for name in EDITS
        for limit, row in checks(values(results[name])).items()
        if row[3] == "OVER"
    }
    assert {"facility_power", "overlap", "items.dgx_h100.max", "drain_fits"} <= over
    assert {"min_goodput", "min_useful_gpus", "capacity", "tco"} & over


@needs_office
@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", sorted(EDITS))
def test_the_banner_counts_the_edits(name: str, results: dict[str, Path]) -> None:
    cells = values(results[name])
    for sheet in {sheet for sheet, _ in cells}:
        text = str(cells[sheet, "A3"])
        assert text.startswith("EDITED: optimality no longer proven")
        assert text.endswith(f" {EDITS[name].edits}")


@pytest.mark.exhaustive(keep=0)
@needs_office
def test_a_price_filled_in_completes_the_sum(
    results: dict[str, Path], recalculated: dict[str, tuple[Path, Path]]
) -> None:
    before = recalculated["sync"][1]
    assert named(before, values(before))["bom_capex_usd_flag"] == "known part"
    after = named(results[FILLED_IN], values(results[FILLED_IN]))
    assert after["bom_capex_usd_flag"] is None
    assert after["bom_it_power_kw_flag"] == "known part"


@pytest.mark.exhaustive(keep=0)
@needs_office
def test_nothing_left_to_write_to_is_no_error_value(folder: Path, tmp_path: Path) -> None:
    def empty(book: Workbook) -> None:
        for sku in ("dgx_h100", "ai400x2", "ai400x"):
            book["BOM"][f"F{row_of(book, sku)}"].value = 0

    (result,) = convert(tmp_path, [edited(folder / "async.xlsx", tmp_path / "a.xlsx", empty)])
    cells = values(result)
    assert not [cell for cell, value in cells.items() if str(value).startswith(("#", "Err:"))]
    assert named(result, cells)["goodput"] == "n/a"
    assert checks(cells)["overlap"][3] == "OVER"


@pytest.mark.exhaustive(keep=0)
@needs_office
def test_a_line_inserted_at_the_end_of_a_section_counts(folder: Path, tmp_path: Path) -> None:
    def fill_spacer(book: Workbook) -> None:
        sheet = book["BOM"]
        row = row_of(book, "ai400x") + 1
        sheet[f"{column_of(book, 'Section')}{row}"].value = "Storage"
        sheet[f"{column_of(book, 'Extended net')}{row}"].value = 1_000_000

    source = edited(folder / "async.xlsx", tmp_path / "a.xlsx", fill_spacer)
    (result,) = convert(tmp_path, [source])
    capex = totals(ASYNC)["capex_usd"] or 0.0
    assert named(result, values(result))["capex_usd"] == pytest.approx(capex + 1_000_000)
