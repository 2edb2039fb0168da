"""Power and cooling: by section, up to the meter, in heat, air and water, per rack."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from planner.schema.plan import Plan
from tests.workbook.conftest import written
from tests.workbook.excel import saved_after
from tests.workbook.office import Cells, named, needs_office, to_read, values
from tests.workbook.test_edits import column_of
from tests.world.gear import Setup, totals
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, CASES, COMPLETE

SHEET = "Power & Cooling"
HEADER_ROW = 6
Files = dict[str, tuple[Path, Path]]


def opened(document: Plan, *, data_only: bool = False) -> Any:
    """Return a plan's workbook, for reading only."""
    return to_read(written(document), data_only=data_only)


def by_section(cells: Cells) -> dict[str, dict[str, Any]]:
    """Return the figures of every section by the titles of their columns."""
    grid = {address: value for (sheet, address), value in cells.items() if sheet == SHEET}
    letters = "BCDEFGHIJ"
    titles = {letter: str(grid.get(f"{letter}{HEADER_ROW}", "")) for letter in letters}
    found: dict[str, dict[str, Any]] = {}
    row = HEADER_ROW + 1
    while f"A{row}" in grid and "All sections" not in found:
        found[str(grid[f"A{row}"])] = {
            title: grid.get(f"{letter}{row}") for letter, title in titles.items() if title
        }
        row += 1
    found["agreement"] = {
        title: grid.get(f"{letter}{row}") for letter, title in titles.items() if title
    }
    return found


def figures_of(setup: Setup) -> dict[str, dict[str, float]]:
    """Return what every section of a set-up draws, heats and weighs, by plain arithmetic."""
    liquid_pue = setup.pue if setup.pue_liquid is None else setup.pue_liquid
    result: dict[str, dict[str, float]] = {}
    for gear in setup.gear:
        if gear.section == "Software":
            continue
        row = result.setdefault(gear.section, {})
        kw, count = gear.kw or 0.0, gear.quantity
        mixed = gear.liquid * liquid_pue + (1 - gear.liquid) * setup.pue
        for title, each in (
            ("IT power, kW", kw),
            ("Typical IT power, kW", gear.typical_kw or 0.0),
            ("Power at the meter, kW", kw * mixed),
            ("Heat, BTU/h", kw * 3412.14),
            ("Heat to liquid, kW", kw * gear.liquid),
            ("Heat to air, kW", kw * (1 - gear.liquid)),
            ("Rack units, RU", gear.rack_units or 0.0),
            ("Weight, kg", gear.kg or 0.0),
        ):
            row[title] = row.get(title, 0.0) + each * count
    everything = math.fsum(row["IT power, kW"] for row in result.values())
    for row in result.values():
        row["Share of IT power"] = row["IT power, kW"] / everything
    return result


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_every_section_has_its_figures(name: str, recalculated: Files) -> None:
    found = by_section(values(recalculated[name][1]))
    expected = figures_of(CASES[name])
    assert [section for section in found if section in expected] == list(expected)
    assert set(found) == {*expected, "All sections", "agreement"}
    for section, figures in expected.items():
        for title, shown in found[section].items():
            assert shown == pytest.approx(figures[title], rel=1e-9), (section, title)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_totals_are_the_sums_and_agree_with_the_rest(name: str, recalculated: Files) -> None:
    found = by_section(values(recalculated[name][1]))
    expected = figures_of(CASES[name])
    for title, shown in found["All sections"].items():
        assert shown == pytest.approx(math.fsum(row[title] for row in expected.values())), title
    words = {title: word for title, word in found["agreement"].items() if word is not None}
    assert set(words.values()) == {"agrees"}
    assert set(found["All sections"]) - set(words) == {"Share of IT power"}


def cooling(setup: Setup, rise_degf: float = 20.0, rise_k: float = 10.0) -> dict[str, float]:
    """Return the figures of heat and energy by their names, by plain arithmetic."""
    sums = totals(setup)
    air, liquid = sums["heat_air"] or 0.0, sums["heat_liquid"] or 0.0
    cfm = air * 3412.14 / (1.08 * rise_degf)
    racks, weight = sums["racks"] or 0.0, sums["weight_kg"] or 0.0
    result = {
        "cooling_tons": (sums["heat"] or 0.0) / 12_000,
        "energy_maximum_mwh": (sums["facility_power_kw"] or 0.0) * 8.76,
        "air_rise_k": rise_degf * 5 / 9,
        "air_flow_cfm": cfm,
        "air_flow_m3_per_h": cfm * 0.3048**3 * 60,
        "kw_per_rack": (sums["it_power_kw"] or 0.0) / racks,
        "kg_per_rack": weight / racks,
    }
    if liquid:
        result["liquid_flow_l_per_min"] = liquid * 60 / (4.186 * rise_k)
    return result


@needs_office
@pytest.mark.parametrize("name", ["async", "minimal", "complete"])
def test_heat_air_and_water_by_plain_arithmetic(name: str, recalculated: Files) -> None:
    source, result = recalculated[name]
    shown = named(source, values(result))
    for key, value in cooling(CASES[name]).items():
        assert shown[key] == pytest.approx(value, rel=1e-9), key


@needs_office
def test_a_complete_bill_has_typical_power_and_two_pues(recalculated: Files) -> None:
    source, result = recalculated["complete"]
    shown, sums = named(source, values(result)), totals(COMPLETE)
    energy_usd = sums["energy"] or 0.0
    assert shown["energy_typical_mwh"] == pytest.approx(energy_usd / 0.09 / 1000)
    facility, power = sums["facility_power_kw"] or 0.0, sums["it_power_kw"] or 1.0
    assert shown["pue_mean"] == pytest.approx(facility / power)
    assert shown["typical_share"] == pytest.approx((sums["typical_kw"] or 0.0) / power)
    assert (shown["densest_rack_kw"], shown["heaviest_rack_kg"]) == (60.4, 570)


def rows_of(cells: Cells) -> dict[str, tuple[Any, ...]]:
    """Return value, unit, limit, share in use and note of every figure by its label."""
    grid = {address: value for (sheet, address), value in cells.items() if sheet == SHEET}
    numbers = [address[1:] for address in grid if address[0] == "A" and address[1:] > ""]
    return {
        str(grid[f"A{row}"]): tuple(grid.get(f"{letter}{row}") for letter in "BCDEF")
        for row in numbers
    }


@needs_office
def test_figures_are_held_against_their_limits(recalculated: Files) -> None:
    found = rows_of(values(recalculated["complete"][1]))
    sums = totals(COMPLETE)
    for label, allowed, key in (
        ("Power at the meter", 650, "facility_power_kw"),
        ("Heat to air", 250, "heat_air"),
        ("Heat to liquid", 400, "heat_liquid"),
        ("Racks", 12, "racks"),
    ):
        value = sums[key] or 0.0
        assert found[label][0] == pytest.approx(value)
        assert found[label][2:4] == (allowed, pytest.approx(value / allowed)), label
    assert found["IT power"][2:4] == (None, None)


@needs_office
def test_what_is_not_known_is_said(recalculated: Files) -> None:
    found = rows_of(values(recalculated["sync"][1]))
    assert str(found["Heat"][4]).startswith("known part: a line lacks this figure")
    assert found["Where a line lacks the figure"][0] == "known part"
    whole = rows_of(values(recalculated["async"][1]))
    assert str(whole["Heat"][4]).startswith("IT power x 3,412.14")


def write_to(book: Any, name: str, value: object) -> None:
    """Type a value into the cell with this name, which must be an input."""
    sheet, address = next(iter(book.defined_names[name].destinations))
    cell = book[sheet][address.replace("$", "")]
    assert not cell.protection.locked
    cell.value = value


@pytest.mark.exhaustive(keep=0)
def test_edits_flow_through(folder: Path, tmp_path: Path) -> None:
    after = COMPLETE.change("hgx_b300_liquid", quantity=40)

    def change(book: Any) -> None:
        write_to(book, "air_rise_degf", 27.0)
        write_to(book, "liquid_rise_k", 6.0)
        write_to(book, "bom_quantity_1", 40)
        number = [limit.name for limit in plan(COMPLETE).limits].index("heat_liquid") + 1
        write_to(book, f"check_limit_{number}", 300.0)
        number = [limit.name for limit in plan(COMPLETE).limits].index("heat_air") + 1
        write_to(book, f"check_limit_{number}", None)

    result = saved_after(folder / "complete.xlsx", tmp_path / "a.xlsx", change)
    cells = values(result)
    shown = named(result, cells)
    for key, value in cooling(after, 27.0, 6.0).items():
        assert shown[key] == pytest.approx(value, rel=1e-9), key
    found, liquid = rows_of(cells), totals(after)["heat_liquid"] or 0.0
    assert found["Heat to liquid"][2:4] == (300, pytest.approx(liquid / 300))
    assert found["Heat to air"][2:4] == ("none", None)
    figures = by_section(cells)
    for section, row in figures_of(after).items():
        assert figures[section]["Power at the meter, kW"] == pytest.approx(
            row["Power at the meter, kW"]
        )
    assert {word for word in figures["agreement"].values() if word} == {"agrees"}


@pytest.mark.exhaustive(keep=0)
def test_a_blank_input_or_an_empty_bill_is_no_error_value(folder: Path, tmp_path: Path) -> None:
    def blank(book: Any) -> None:
        for name in ("air_rise_degf", "liquid_rise_k", "pue"):
            write_to(book, name, None)

    def empty(book: Any) -> None:
        for cell in book["BOM"][column_of(book, "Quantity")]:
            if not cell.protection.locked:
                cell.value = 0

    results = [
        saved_after(folder / "complete.xlsx", tmp_path / "blank.xlsx", blank),
        saved_after(folder / "complete.xlsx", tmp_path / "empty.xlsx", empty),
    ]
    for result in results:
        wrong = [
            cell
            for cell, value in values(result).items()
            if cell[0] == SHEET and str(value).startswith(("#", "Err:"))
        ]
        assert wrong == []
    shown = named(results[0], values(results[0]))
    assert shown["air_flow_cfm"] == shown["liquid_flow_l_per_min"] == "n/a"
    assert named(results[1], values(results[1]))["pue_mean"] == "n/a"


def test_the_inputs_take_sensible_numbers_only() -> None:
    book = opened(plan(COMPLETE))
    rules = {
        str(rule.sqref): (float(rule.formula1), float(rule.formula2))
        for rule in book[SHEET].data_validations.dataValidation
    }
    for name, allowed in (("air_rise_degf", (1, 100)), ("liquid_rise_k", (1, 60))):
        sheet, address = next(iter(book.defined_names[name].destinations))
        assert sheet == SHEET
        cell = book[SHEET][address.replace("$", "")]
        assert not cell.protection.locked
        assert rules.pop(cell.coordinate) == allowed
    assert rules == {}
    unlocked = [
        cell for row in book[SHEET].iter_rows() for cell in row if not cell.protection.locked
    ]
    assert len(unlocked) == 2


def test_a_plan_cooled_by_air_has_no_liquid() -> None:
    book = opened(plan(ASYNC), data_only=True)
    text = " ".join(str(cell.value) for row in book[SHEET].iter_rows() for cell in row)
    assert "all of the IT power: no line says" in text
    assert "liquid_rise_k" not in book.defined_names
    assert "Liquid flow" not in text


def test_the_chart_has_a_title_and_units() -> None:
    document = plan(COMPLETE)
    (chart,) = opened(document)[SHEET]._charts
    sections = len(figures_of(COMPLETE))
    first, last = HEADER_ROW + 1, HEADER_ROW + sections
    (series,) = chart.series
    assert series.val.numRef.f == f"'{SHEET}'!$B${first}:$B${last}"
    assert series.cat.strRef.f == f"'{SHEET}'!$A${first}:$A${last}"

    def words(title: Any) -> str:
        return "".join(run.t for line in title.tx.rich.p for run in line.r or ())

    assert words(chart.title) == "IT power by section"
    assert {words(chart.x_axis.title), words(chart.y_axis.title)} == {
        "Section of the bill",
        "IT power, kW",
    }


def test_the_chart_covers_no_cell() -> None:
    sheet = opened(plan(COMPLETE))[SHEET]
    (chart,) = sheet._charts
    top, bottom = chart.anchor._from.row, chart.anchor.to.row
    covered = [
        cell.coordinate
        for row in sheet.iter_rows(top + 1, bottom + 1)
        for cell in row
        if cell.value is not None
    ]
    assert covered == []


def test_the_edition_for_the_customer_has_the_sheet_without_money() -> None:
    content = written(plan(COMPLETE), "customer", "none")
    sheet = to_read(content, data_only=True)[SHEET]
    text = [str(cell.value) for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert "Energy per year at typical power" in text
    assert not [words for words in text if "USD" in words or "cost" in words]


def test_without_a_plan_there_is_no_sheet() -> None:
    assert SHEET not in opened(infeasible()).sheetnames
