"""The spending by year adds up to the cost of ownership, whatever the term and the rate."""

from __future__ import annotations

import io
import math
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl.workbook import Workbook

from planner.schema.plan import Plan
from tests.workbook.conftest import written
from tests.workbook.excel import saved_after, unlike
from tests.workbook.office import Cells, named, needs_office, to_read, values
from tests.workbook.test_cover import opened
from tests.world.gear import Gear, Setup, job, support_span, totals
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, MINIMAL, SYNC

Files = dict[str, tuple[Path, Path]]
TERMS = ("async", "complete", "minimal")
"""Cases whose problem gives a term."""

# A second line that pays over other years, one without a price, and a part year at the end.
MIXED = replace(
    COMPLETE,
    gear=(
        *COMPLETE.gear,
        Gear("old", "Storage", 2, list_usd=80_000.0, support_usd=6_400.5, support_from=2.25,
             support_years=1.5, read=10.0, write=5.0, usable=20.0),
        Gear("unknown", "Storage", 1, support_usd=900.0, read=1.0, write=1.0, usable=2.0),
    ),
    limits={},
)  # fmt: skip

EDITS: dict[str, tuple[str, dict[str, float]]] = {
    "short": ("complete", {"years": 0.75}),
    "whole": ("complete", {"years": 3.0, "discount_rate": 0.25}),
    "long": ("complete", {"years": 12.5}),
    "fifty": ("mixed", {"years": 50.0, "discount_rate": 0.03}),
    "no_rate": ("mixed", {"years": 9.25, "discount_rate": 0.0}),
    "plain_long": ("async", {"years": 31.5, "electricity_usd_per_kwh": 0.2}),
}
"""Inputs changed on Checkpoint, by name, and the workbook they are changed in."""

_FIELDS = {"discount_rate": "rate", "electricity_usd_per_kwh": "electricity"}


def after(name: str) -> Setup:
    """Return the set-up that an edited workbook stands for."""
    case, inputs = EDITS[name]
    setup = MIXED if case == "mixed" else CASES[case]
    return replace(setup, **{_FIELDS.get(key, key): value for key, value in inputs.items()})  # type: ignore[arg-type]


def table(cells: Cells) -> tuple[dict[str, str], list[dict[str, object]]]:
    """Return the letters of the table's columns by title, and its rows up to the total."""
    header = {c: str(cells["TCO", f"{c}6"]) for c in "ABCDEFGHIJK" if ("TCO", f"{c}6") in cells}
    rows: list[dict[str, object]] = []
    number = 7
    while True:
        row = {title: cells.get(("TCO", f"{c}{number}")) for c, title in header.items()}
        rows.append(row)
        if row["Year"] == "Total":
            return {title: c for c, title in header.items()}, rows
        number += 1


def spent(setup: Setup, year: int) -> dict[str, float]:
    """Return what is paid in a year of the term by plain arithmetic; year 0 is the purchase."""
    sums, term = totals(setup), setup.years or 0.0
    if year == 0:
        return {"Capex": sums["capex_usd"] or 0.0}
    share = max(0.0, min(1.0, term - (year - 1)))
    result = {
        title: (sums[key] or 0.0) * share
        for title, key in (("Subscriptions", "subscriptions"), ("Energy", "energy"),
                           ("Colocation", "colocation"))
    }  # fmt: skip
    result["Support"] = math.fsum(
        round(gear.support_each_usd * gear.purchased, 2) * overlap(year, support_span(setup, gear))
        for gear in setup.gear
        if gear.list_usd is not None
    )
    return result


def overlap(year: int, span: tuple[float, float]) -> float:
    """Return which share of a year lies between two times of the term."""
    start, end = span
    return max(0.0, min(end, year) - max(start, year - 1))


def expect_years(cells: Cells, setup: Setup) -> None:
    """Compare every row of the table, and its total, with plain arithmetic."""
    letters, rows = table(cells)
    *years, later, total = rows
    count = len(years) - 1
    for year, row in enumerate(years):
        assert row["Year"] == year
        expected = spent(setup, year)
        for title in set(letters) & {"Capex", "Support", "Subscriptions", "Energy", "Colocation"}:
            assert row[title] == pytest.approx(expected.get(title, 0.0), rel=1e-9), (year, title)
        together = math.fsum(expected.values())
        assert row["Together"] == pytest.approx(together, rel=1e-9)
        if "Discounted" in letters:
            assert row["Discounted"] == pytest.approx(together / (1 + setup.rate) ** year, rel=1e-9)
    assert later["Year"] == f"{count + 1} and later"
    rest = [math.fsum(spent(setup, year).values()) for year in range(count + 1, 52)]
    assert later["Together"] == pytest.approx(math.fsum(rest), rel=1e-9)
    counted = "Discounted" if "Discounted" in letters else "Together"
    tco = totals(setup)["tco"]
    assert total[counted] == pytest.approx(tco, rel=1e-9)
    assert later["Cumulative"] == pytest.approx(tco, rel=1e-9)


@needs_office
@pytest.mark.parametrize("name", TERMS)
def test_years_add_up_to_the_cost_of_ownership(name: str, recalculated: Files) -> None:
    for file in recalculated[name]:
        cells = values(file)
        expect_years(cells, CASES[name])
        figures = named(recalculated[name][0], cells)
        assert figures["tco_by_year_usd"] == pytest.approx(figures["tco_usd"], rel=1e-9)
        assert figures["tco_difference_usd"] == 0


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("tco")
    (base / "mixed.xlsx").write_bytes(written(plan(MIXED)))
    files = {}
    for name, (case, inputs) in EDITS.items():
        source = base / "mixed.xlsx" if case == "mixed" else folder / f"{case}.xlsx"

        def change(book: Workbook, inputs: dict[str, float] = inputs) -> None:
            for key, value in inputs.items():
                sheet, address = next(iter(book.defined_names[key].destinations))
                book[sheet][address.replace("$", "")].value = value

        files[name] = saved_after(source, base / f"{name}.xlsx", change)
    return files


def test_lines_that_pay_over_other_years() -> None:
    content = written(plan(MIXED))
    assert unlike(content) == []
    expect_years(values(content), MIXED)


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize("name", sorted(EDITS))
def test_years_follow_term_and_rates(name: str, results: dict[str, Path]) -> None:
    cells = values(results[name])
    expect_years(cells, after(name))
    figures = named(results[name], cells)
    assert figures["tco_difference_usd"] == 0
    assert not [cell for cell, value in cells.items() if str(value).startswith(("#", "Err:"))]


@pytest.mark.exhaustive(keep=0)
def test_a_term_or_a_price_that_is_cleared_is_no_error(folder: Path, tmp_path: Path) -> None:
    def clear(name: str) -> Path:
        def change(book: Workbook) -> None:
            sheet, address = next(iter(book.defined_names[name].destinations))
            book[sheet][address.replace("$", "")].value = None

        return saved_after(folder / "complete.xlsx", tmp_path / f"{name}.xlsx", change)

    for result in (clear("years"), clear("electricity_usd_per_kwh")):
        cells = values(result)
        assert not [cell for cell, value in cells.items() if str(value).startswith(("#", "Err:"))]
        figures = named(result, cells)
        assert figures["tco_usd"] == "n/a" and figures["tco_difference_usd"] == "n/a"


def facts(document: Plan) -> dict[str, list[object]]:
    """Return the cells right of each label on the sheet."""
    rows = opened(document)["TCO"].iter_rows()
    return {str(row[0].value): [cell.value for cell in row[1:4]] for row in rows if row[0].value}


def test_sections_and_what_the_money_buys() -> None:
    shown, sums, figures = facts(plan(COMPLETE)), totals(COMPLETE), job(COMPLETE)
    capex, tco = sums["capex_usd"] or 0.0, sums["tco"] or 0.0
    by_section = plan(COMPLETE).totals
    assert by_section is not None
    for section, usd in by_section.capex_by_section_usd.items():
        assert shown[section][:2] == [pytest.approx(usd / capex), pytest.approx(usd)]
    for label, count in (
        ("Per GPU in place", sums["gpus"]),
        ("Per GPU in use", figures["gpus"]),
        ("Per PFLOP/s of useful work", figures["useful_pflops"]),
        ("Per kW at the meter", sums["facility_power_kw"]),
    ):
        assert count
        assert shown[label][1:] == [pytest.approx(capex / count), pytest.approx(tco / count)]
    counted = math.fsum(max(0.0, min(1.0, 4.5 - (y - 1))) / 1.08**y for y in range(1, 6))
    energy = (sums["energy"] or 0.0) * counted / tco
    assert shown["Energy, share of the TCO"][2] == pytest.approx(energy)


def test_without_a_term_the_sheet_says_what_is_missing() -> None:
    texts = [str(row[0].value) for row in opened(plan(SYNC))["TCO"].iter_rows()]
    assert "No cost of ownership over the years: the problem lacks a term (term.years) and a " \
        "price of electricity (term.electricity)." in texts  # fmt: skip
    assert "Year" not in texts and "Capex by section" in texts
    lacking = replace(ASYNC, electricity=None, limits={})
    texts = [str(row[0].value) for row in opened(plan(lacking))["TCO"].iter_rows()]
    assert any(text.endswith("lacks a price of electricity (term.electricity).") for text in texts)


def test_an_incomplete_sum_says_so() -> None:
    note = "Known part: a line lacks a price or a power draw"
    assert note in facts(plan(MIXED))
    assert note not in facts(plan(COMPLETE))


def test_no_sheet_without_a_plan_or_for_the_customer() -> None:
    assert "TCO" not in opened(infeasible()).sheetnames
    assert "TCO" not in opened(plan(COMPLETE), "customer").sheetnames


@pytest.mark.parametrize("setup", [COMPLETE, MINIMAL])
def test_the_chart_stacks_what_the_table_has(setup: Setup) -> None:
    content = written(plan(setup))
    book = to_read(content, data_only=True)
    kinds = [str(c.value) for c in book["TCO"][6][2:] if c.value]
    kinds = kinds[: kinds.index("Together")]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        charts = [archive.read(n).decode() for n in archive.namelist() if "charts/chart" in n]
    (chart,) = [chart for chart in charts if "Spending by year" in chart]
    names = re.findall(r"<c:ser>.*?<c:tx><c:v>([^<]*)</c:v></c:tx>", chart)
    names = names or re.findall(r"<c:tx>.*?<c:v>([^<]*)</c:v>", chart)
    assert names == kinds
    assert '<c:grouping val="stacked"/>' in chart
    assert len(re.findall(r"<a:t>[^<]+</a:t>", chart)) == 3
