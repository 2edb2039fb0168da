"""Every cached value is what LibreOffice computes, and what the plan says."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import pytest

from tests.workbook.office import Cells, convert, named, needs_office, to_read, values
from tests.world.gear import Setup, job, ratios, totals
from tests.world.setups import ASYNC, CASES

NAMES = sorted([*CASES, "infeasible"])
Files = dict[str, tuple[Path, Path]]


def differences(before: Cells, after: Cells) -> list[tuple[str, str]]:
    """Return the cells whose values are not the same to 1e-9 relative."""
    return [cell for cell in {*before, *after} if not _same(before.get(cell), after.get(cell))]


def _same(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


@needs_office
@pytest.mark.parametrize("name", NAMES)
def test_cached_values_are_the_recalculated_ones(name: str, recalculated: Files) -> None:
    source, result = recalculated[name]
    assert differences(values(source), values(result)) == []


@needs_office
@pytest.mark.parametrize("name", NAMES)
def test_no_error_values(name: str, recalculated: Files) -> None:
    shown = values(recalculated[name][1])
    assert [cell for cell, value in shown.items() if str(value).startswith(("#", "Err:"))] == []


@needs_office
def test_every_formula_has_a_cached_value(recalculated: Files) -> None:
    source, _ = recalculated["async"]
    shown = values(source)
    for sheet in to_read(source.read_bytes()):
        for cells in sheet.iter_rows():
            for cell in cells:
                if cell.data_type == "f" and '""' not in str(cell.value):
                    assert (sheet.title, cell.coordinate) in shown


@pytest.mark.exhaustive(keep=0)
@needs_office
def test_a_wrong_cached_value_is_caught(folder: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted.xlsx"
    place = to_read((folder / "async.xlsx").read_bytes()).sheetnames.index("BOM") + 1
    with (
        zipfile.ZipFile(folder / "async.xlsx") as source,
        zipfile.ZipFile(planted, "w") as target,
    ):
        for name in source.namelist():
            text = source.read(name)
            if name == f"xl/worksheets/sheet{place}.xml":
                right = f"<v>{totals(ASYNC)['capex_usd']:.2f}</v>".encode()
                assert right in text
                text = text.replace(right, b"<v>12345</v>")
            target.writestr(name, text)
    (result,) = convert(tmp_path, [planted])
    found = differences(values(planted), values(result))
    assert {sheet for sheet, _ in found} == {"BOM"}


@needs_office
def test_figures_of_a_complete_bill(recalculated: Files) -> None:
    source, result = recalculated["complete"]
    shown = named(source, values(result))
    for key, value in more_of(CASES["complete"]).items():
        assert shown[key] == pytest.approx(value, rel=1e-9), key


@needs_office
def test_figures_with_appliances_down_when_checkpoints_block(recalculated: Files) -> None:
    source, result = recalculated["sync_down"]
    shown, figures = named(source, values(result)), job(CASES["sync_down"])
    for name, key in DOWN_NAMES.items():
        assert shown[name] == pytest.approx(figures[key], rel=1e-9), name


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_figures_are_those_of_plain_arithmetic(name: str, recalculated: Files) -> None:
    source, result = recalculated[name]
    expect_figures(named(source, values(result)), name)


def expect_figures(shown: dict[str, object], name: str) -> None:
    """Compare the named cells of a case with plain arithmetic."""
    setup = CASES[name]
    for key, value in (figures_of(job(setup)) | totals_of(totals(setup))).items():
        assert shown[key] == (pytest.approx(value, rel=1e-9) if value is not None else "n/a"), key


JOB_NAMES = {
    "gpus_in_use": "gpus",
    "systems_in_use": "systems",
    "write_gb_per_s": "write",
    "read_gb_per_s": "read",
    "stall_s": "stall_s",
    "drain_s": "drain_s",
    "overlap": "overlap",
    "blocking": "blocking",
    "mtti_s": "mtti_s",
    "replicas": "replicas",
    "fan_out": "fan_out",
    "restore_s": "restore_s",
    "goodput": "goodput",
    "goodput_first_order": "first_order",
    "goodput_understated": "understated",
    "young_s": "young_s",
    "daly_s": "daly_s",
    "exact_s": "exact_s",
    "loss_stall": "loss_stall",
    "loss_rework": "loss_rework",
    "loss_drain": "loss_drain",
    "loss_restart": "loss_restart",
    "loss_restore": "loss_restore",
    "useful_gpus": "useful_gpus",
    "useful_pflops": "useful_pflops",
    "days_to_train": "days",
    "write_volume_tb_per_day": "volume",
}
TOTAL_NAMES = {
    "bom_gpus": "gpus",
    "it_power_kw": "it_power_kw",
    "facility_power_kw": "facility_power_kw",
    "heat_btu_per_h": "heat",
    "bom_rack_units": "rack_units",
    "racks": "racks",
    "weight_kg": "weight_kg",
    "capex_usd": "capex_usd",
    "support_usd_per_year": "support",
    "energy_usd_per_year": "energy",
    "opex_usd_per_year": "opex",
    "tco_usd": "tco",
    "usable_tb": "usable_tb",
    "capacity_needed_tb": "needed_tb",
    "nameplate_write_gb_per_s": "nameplate_write",
    "nameplate_read_gb_per_s": "nameplate_read",
}


MORE_NAMES = {
    "typical_power_kw": "typical_kw",
    "heat_air_kw": "heat_air",
    "heat_liquid_kw": "heat_liquid",
    "subscriptions_usd_per_year": "subscriptions",
    "colocation_usd_per_year": "colocation",
    "lead_time_days": "lead_days",
}
DOWN_NAMES = {
    "degraded_write_gb_per_s": "write_down",
    "degraded_read_gb_per_s": "read_down",
    "degraded_save_s": "drain_down",
    "degraded_overlap": "overlap_down",
    "degraded_blocking": "blocking_down",
    "degraded_stall_and_drain_s": "fits_down",
    "degraded_restore_s": "restore_down",
}


def more_of(setup: Setup) -> dict[str, float | None]:
    """Return the figures of a complete bill by the workbook's names."""
    sums, figures, cost = totals(setup), job(setup), ratios(setup)
    return {
        **{name: sums[key] for name, key in MORE_NAMES.items()},
        **{name: figures[key] for name, key in DOWN_NAMES.items()},
        "usd_per_useful_gpu_hour": cost["per_gpu_hour"],
        "usd_per_million_tokens": cost["per_million"],
    }


def figures_of(figures: dict[str, float | None]) -> dict[str, float | None]:
    """Return the job's figures by the workbook's names."""
    return {name: figures[key] for name, key in JOB_NAMES.items()}


def totals_of(sums: dict[str, float | None]) -> dict[str, float | None]:
    """Return the totals by the workbook's names."""
    return {name: sums[key] for name, key in TOTAL_NAMES.items()}
