"""What a reader edits flows through to totals, drain, goodput and checks.

In an engine that follows Excel; that LibreOffice shows the same is asked of one edit of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from tests.workbook.conftest import written
from tests.workbook.excel import shown_after
from tests.workbook.office import Cells, convert, named, needs_office, to_read, values
from tests.workbook.test_recalculation import differences, figures_of, more_of, totals_of
from tests.world.chosen import chosen
from tests.world.gear import Setup, job, totals
from tests.world.gear_plans import limit_value, plan
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


def cells_of(edit: Edit, book: Workbook) -> Cells:
    """Return an edit's values by the cells they are typed into, all of which must be unlocked."""
    typed: Cells = {}
    for sku, column, value in edit.bom:
        typed["BOM", f"{column_of(book, BOM_COLUMNS[column])}{row_of(book, sku)}"] = value
    for name, value in edit.inputs:
        sheet, address = next(iter(book.defined_names[name].destinations))
        typed[sheet, address.replace("$", "")] = value
    for sheet, address in typed:
        assert not book[sheet][address].protection.locked
    return typed


def all_set_to_nothing(book: Workbook) -> Cells:
    return {("BOM", f"F{row_of(book, sku)}"): 0 for sku in ("dgx_h100", "ai400x2", "ai400x")}


def a_line_at_the_end_of_a_section(book: Workbook) -> Cells:
    row = row_of(book, "ai400x") + 1
    section, extended = (column_of(book, title) for title in ("Section", "Extended net"))
    return {("BOM", f"{section}{row}"): "Storage", ("BOM", f"{extended}{row}"): 1_000_000}


MORE = {"all_set_to_nothing": all_set_to_nothing, "a_line_more": a_line_at_the_end_of_a_section}
"""What is typed into the workbook of `ASYNC` beside the edits that stand for set-ups."""


def source_of(name: str) -> bytes:
    """Return the workbook that an edit is made in."""
    return written(plan(CASES[EDITS[name].case if name in EDITS else "async"]))


def typed_by(name: str) -> Cells:
    book = to_read(source_of(name))
    return cells_of(EDITS[name], book) if name in EDITS else MORE[name](book)


@cache
def after(name: str) -> Cells:
    """Return what every cell shows after an edit."""
    return shown_after(source_of(name), typed_by(name))


def figures_after(name: str) -> dict[str, object]:
    return named(source_of(name), after(name))


@pytest.mark.parametrize("name", sorted(EDITS))
def test_totals_and_the_sizing_model_follow(name: str) -> None:
    setup, shown = EDITS[name].after, figures_after(name)
    expected = figures_of(job(setup)) | totals_of(totals(setup))
    if EDITS[name].case == "complete":
        expected |= more_of(setup)
    for key, value in expected.items():
        assert shown[key] == (pytest.approx(value, rel=1e-9) if value is not None else "n/a"), key


def checks(cells: Cells) -> dict[str, tuple[object, ...]]:
    """Return value, limit, slack and result of every check by its id (column L)."""
    rows = [address[1:] for sheet, address in cells if sheet == "Checks" and address[0] == "L"]
    return {
        str(cells["Checks", f"L{row}"]): tuple(cells.get(("Checks", f"{c}{row}")) for c in "BDFG")
        for row in rows
    }


@pytest.mark.parametrize("name", sorted(EDITS))
def test_checks_follow(name: str) -> None:
    edit = EDITS[name]
    found = checks(after(name))
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


def test_edits_break_limits_in_both_directions() -> None:
    over = {
        limit for name in EDITS for limit, row in checks(after(name)).items() if row[3] == "OVER"
    }
    assert {"facility_power", "overlap", "items.dgx_h100.max", "drain_fits"} <= over
    assert {"min_goodput", "min_useful_gpus", "capacity", "tco"} & over


@pytest.mark.parametrize("name", sorted(EDITS))
def test_the_banner_counts_the_edits(name: str) -> None:
    cells = after(name)
    for sheet in {sheet for sheet, _ in cells}:
        text = str(cells[sheet, "A3"])
        assert text.startswith("EDITED: optimality no longer proven")
        assert text.endswith(f" {EDITS[name].edits}")


def test_a_price_filled_in_completes_the_sum() -> None:
    source = source_of("price_filled_in")
    assert named(source, values(source))["bom_capex_usd_flag"] == "known part"
    shown = figures_after("price_filled_in")
    assert shown["bom_capex_usd_flag"] is None
    assert shown["bom_it_power_kw_flag"] == "known part"


def test_nothing_left_to_write_to_is_no_error_value() -> None:
    cells = after("all_set_to_nothing")
    assert not [cell for cell, value in cells.items() if str(value).startswith(("#", "Err:"))]
    assert figures_after("all_set_to_nothing")["goodput"] == "n/a"
    assert checks(cells)["overlap"][3] == "OVER"


def test_a_line_inserted_at_the_end_of_a_section_counts() -> None:
    capex = totals(ASYNC)["capex_usd"] or 0.0
    assert figures_after("a_line_more")["capex_usd"] == pytest.approx(capex + 1_000_000)


IN_OFFICE = ("another_job", *MORE, "fewer_appliances", "price_filled_in", "sync_instead")


@pytest.fixture(scope="module")
def in_office(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Return edited workbooks, saved by a program that keeps no values, recalculated."""
    folder, names = tmp_path_factory.mktemp("edits"), sorted(chosen(request, "in_calc"))
    files = [folder / f"{name}.xlsx" for name in names]
    for name, file in zip(names, files, strict=True):
        file.write_bytes(source_of(name))
        book = openpyxl.load_workbook(file)
        for (sheet, address), value in typed_by(name).items():
            book[sheet][address].value = value  # type: ignore[assignment]
        book.save(file)
    return dict(zip(names, convert(folder, files), strict=True))


@needs_office
@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("in_calc", IN_OFFICE)
def test_libreoffice_shows_the_same(in_calc: str, in_office: dict[str, Path]) -> None:
    assert differences(after(in_calc), values(in_office[in_calc])) == []
