"""Sheets of sensitivity studies: what they hold, their charts, what they survive."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.commands.report import write_workbook
from planner.outputs.words import clean
from planner.outputs.workbook import STUDY_SHEETS, write
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.studies import (
    frontier,
    sweep,
    tornado,
    uncertain,
    write_study,
)
from planner.outputs.workbook.studies.stack import beginning, caption
from planner.schema.plan import Plan
from tests.outputs import samples_sensitivity as samples
from tests.outputs.hostile import TEXTS
from tests.outputs.samples_sensitivity import everything, nothing, saying
from tests.workbook.conftest import CREATED
from tests.workbook.office import convert, needs_office
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC

Add = Callable[[Book], None]
ADDRESS = "what!A1"
"""A text that a chart could take for a place in a workbook."""

HOSTILE = {"place": ADDRESS} | {
    name: TEXTS[name]
    for name in ("equals", "command", "link", "array", "newline", "control", "noncharacter",
                 "sheet_reference", "xml", "escape", "override", "astral", "long")
}  # fmt: skip


def adder(study: Any, rows: Any = None) -> Add:
    """Return what adds the sheet of a study."""
    if study.kind == "sweep":
        rows = samples.power_sweep()[1] if rows is None else rows
        return partial(sweep.add, study=study, rows=rows)
    modules = {"frontier": frontier, "tornado": tornado, "uncertain": uncertain}
    return partial(modules[study.kind].add, study=study)


def content(adders: Sequence[Add], of: Plan | None = None) -> bytes:
    stream = io.BytesIO()
    write_study(stream, plan(ASYNC) if of is None else of, adders, created=CREATED)
    return stream.getvalue()


def opened(*adders: Add, of: Plan | None = None) -> Workbook:
    return openpyxl.load_workbook(io.BytesIO(content(adders, of)))


def texts(sheet: Worksheet) -> list[str]:
    return [c.value for row in sheet.iter_rows() for c in row if isinstance(c.value, str)]


def row_under(sheet: Worksheet, head: str) -> int:
    """Return the row under the one in which a cell says this."""
    return next(c.row for row in sheet.iter_rows() for c in row if c.value == head) + 1


def line(sheet: Worksheet, row: int, cells: int) -> list[Any]:
    return [sheet.cell(row, column).value for column in range(1, cells + 1)]


def near(value: Any) -> Any:
    """Return what a cell may hold, whose numbers are written with 16 digits."""
    return pytest.approx(value, rel=1e-14) if isinstance(value, float) else value


def titles(chart: Any) -> str:
    return "".join(run.t for part in chart.title.tx.rich.p for run in part.r or ())


def series_names(chart: Any) -> list[str]:
    return [each.tx.v for each in chart.series]


ALL = [adder(study) for study in everything().values()]


# The workbook.


def test_every_sheet_is_registered_under_its_name() -> None:
    power = samples.cost_frontier().model_copy(update={"x_name": "power", "x_unit": "kW"})
    names = opened(*ALL, adder(power)).sheetnames
    assert names == [
        "Sweep", "Sweep table", "Frontier storage", "Frontier cost", "Tornado", "Uncertainty",
        "Frontier power",
    ]  # fmt: skip
    assert set(names) <= set(STUDY_SHEETS)


def test_the_same_studies_give_the_same_bytes() -> None:
    assert content(ALL) == content(ALL)


def test_the_sheets_can_stand_in_a_plans_workbook() -> None:
    stream = io.BytesIO()
    studies = [("Tornado", adder(samples.tornado())), ("Sweep", adder(samples.power_sweep()[0]))]
    write(plan(ASYNC), stream, created=CREATED, studies=studies)
    names = openpyxl.load_workbook(stream).sheetnames
    first = names.index("Sweep")
    assert names[first : first + 4] == ["Sweep", "Sweep table", "Tornado", "Checks"]


def test_they_are_laid_out_for_print_and_reading() -> None:
    book = opened(*ALL)
    for sheet in book:
        assert sheet.freeze_panes is not None and sheet.print_area
        assert sheet.page_setup.orientation == "landscape" and sheet.protection.sheet
        assert sheet.oddFooter.left.text == "10 MW training hall"
    assert book["Sweep table"].freeze_panes == "B7"
    for name in ("Sweep table", "Frontier storage", "Tornado"):
        assert book[name].auto_filter.ref and book[name].print_title_rows


@pytest.mark.parametrize("name", nothing())
def test_without_a_plan_they_say_why_and_have_no_chart(name: str, tmp_path: Path) -> None:
    (path,) = write_workbook(tmp_path, "a.xlsx", infeasible(), [adder(nothing()[name])])
    (sheet,) = openpyxl.load_workbook(path)
    assert any("the racks hold no GPU system" in text for text in texts(sheet))
    assert "status: infeasible" in sheet["A2"].value
    assert sheet._charts == []


def test_a_sweep_of_a_problem_without_a_plan_is_written() -> None:
    study, rows = samples.power_sweep()
    none = study.model_copy(update={"base": None, "base_bound": None})
    book = opened(adder(none, rows), of=infeasible())
    assert any("The problem as it stands has no plan." in text for text in texts(book["Sweep"]))
    assert len(book["Sweep"]._charts) == 1


# Sweeps.


def test_the_table_holds_every_row_with_its_units() -> None:
    study, rows = samples.power_sweep()
    sheet = opened(adder(study, rows))["Sweep table"]
    names = [c.name for c in study.columns]
    top = row_under(sheet, "site.facility_power") - 1
    assert line(sheet, top, len(names)) == names
    assert line(sheet, top - 1, 4) == [
        "Power at the meter, kW", "How it ended", "Useful work, PFLOP/s", "No plan passes, PFLOP/s",
    ]  # fmt: skip
    assert sheet.max_row == top + study.rows
    for at, place in enumerate(range(top + 1, sheet.max_row + 1)):
        shown = dict(zip(names, line(sheet, place, len(names)), strict=True))
        expected = {name: rows[name][at] for name in names}
        says = {"optimal": "proven best", "infeasible": "no plan"}
        expected["status"] = says[expected["status"]]
        assert shown == {name: near(value) for name, value in expected.items()}
    assert sheet.auto_filter.ref == f"A{top}:P{top + study.rows}"
    assert sheet.cell(top + 20, 5).number_format == "0.0000%"


def test_one_input_is_drawn_with_its_bound_from_the_cells_of_the_table() -> None:
    book = opened(adder(*samples.power_sweep()))
    (chart,) = book["Sweep"]._charts
    assert (type(chart).__name__, chart.scatterStyle) == ("ScatterChart", "lineMarker")
    assert titles(chart) == "Best useful work over power at the meter"
    assert series_names(chart) == ["useful work", "no plan passes"]
    assert [s.xVal.numRef.f for s in chart.series] == ["'Sweep table'!$A$7:$A$107"] * 2
    assert [s.yVal.numRef.f for s in chart.series] == [
        "'Sweep table'!$C$7:$C$107", "'Sweep table'!$D$7:$D$107",
    ]  # fmt: skip
    assert all(s.marker.symbol in (None, "none") for s in chart.series)


def test_rows_in_no_order_are_dots_instead_of_lines() -> None:
    study, rows = samples.power_sweep()
    mixed = {name: [*column[50:], *column[:50]] for name, column in rows.items()}
    (chart,) = opened(adder(study, mixed))["Sweep"]._charts
    assert all(s.graphicalProperties.line.noFill for s in chart.series)
    assert all(s.marker.symbol == "circle" for s in chart.series)


def test_where_the_plan_changes_is_listed() -> None:
    sheet = opened(adder(*samples.power_sweep(21)))["Sweep"]
    row = row_under(sheet, "GPU systems and storage, or why there is no plan")
    assert line(sheet, row, 7) == [f"no plan: {samples.NO_ROOM}", 500, 1000, 2, None, None, None]
    work = near(samples.answer(1500.0)["objective"])
    buys = "3 × DGX GB200 NVL72, 8 × WEKApod Nitro 155"
    assert line(sheet, row + 1, 7) == [buys, 1500, 1500, 1, work, work, 216]


def test_two_inputs_are_a_coloured_matrix() -> None:
    study, rows = samples.grid_sweep()
    sheet = opened(adder(study, rows))["Sweep"]
    head = "Power at the meter, kW \\ Failures per GPU and day, 1/day"
    row = row_under(sheet, head)
    assert line(sheet, row - 1, 10)[1:] == pytest.approx([1e-5 * n for n in range(1, 10)])
    assert line(sheet, row, 3) == [1000, "no plan", "no plan"]
    body = [line(sheet, row + at, 10)[1:] for at in range(1, 12)]
    assert [cell for cells in body for cell in cells] == [near(w) for w in rows["objective"][9:]]
    (ranges,) = sheet.conditional_formatting
    assert str(ranges.sqref) == f"B{row}:J{row + 11}"
    (rule,) = ranges.rules
    best, worst = rule.colorScale.color[2].rgb, rule.colorScale.color[0].rgb
    least = study.model_copy(update={"sense": "minimize"})
    (other,) = opened(adder(least, rows))["Sweep"].conditional_formatting
    assert [c.rgb for c in other.rules[0].colorScale.color][::2] == [best, worst]


def test_a_matrix_of_few_columns_is_drawn_as_lines() -> None:
    sheet = opened(adder(*samples.grid_sweep(12, 3)))["Sweep"]
    (chart,) = sheet._charts
    assert series_names(chart) == ["0.00001 1/day", "0.00002 1/day", "0.00003 1/day"]
    assert opened(adder(*samples.grid_sweep(12, 9)))["Sweep"]._charts == []


@pytest.mark.parametrize(("name", "most"), [("MOST_DOWN", 11), ("MOST_ACROSS", 8)])
def test_what_is_too_large_for_a_matrix_is_in_the_table_alone(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, name, most)
    book = opened(adder(*samples.grid_sweep(12, 9)))
    assert list(book["Sweep"].conditional_formatting) == []
    assert book["Sweep table"].max_row == 6 + 12 * 9


def test_points_that_are_no_grid_are_no_matrix() -> None:
    places = [(1000.0 + 100 * at, 1e-5 * (at + 1)) for at in range(9)]
    made = samples.sweep((samples.POWER, samples.FAILURES), places, samples.answer)
    assert list(opened(adder(*made))["Sweep"].conditional_formatting) == []


def test_a_choice_is_drawn_as_bars() -> None:
    (chart,) = opened(adder(*samples.rule_sweep()))["Sweep"]._charts
    assert type(chart).__name__ == "BarChart"
    assert titles(chart) == "Best useful work by what sizes storage"


def test_more_rows_than_fit_are_said_to_be_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MOST_ROWS", 50)
    book = opened(adder(*samples.power_sweep()))
    assert book["Sweep table"].max_row == 6 + 50
    said = "The first 50 of 101 rows; the Parquet file has all of them."
    assert any(text.startswith(said) for text in texts(book["Sweep table"]))
    (chart,) = book["Sweep"]._charts
    assert chart.series[0].yVal.numRef.f == "'Sweep table'!$C$7:$C$56"


def test_a_sweep_without_rows_or_without_any_plan() -> None:
    study, rows = samples.power_sweep()
    none = study.model_copy(update={"rows": 0, "asked": 0, "statuses": {}})
    assert opened(adder(none, {name: [] for name in rows}))["Sweep"]._charts == []
    places = [(float(at),) for at in range(5)]
    broke = samples.sweep((samples.POWER,), places, samples.answer)
    book = opened(adder(*broke))
    assert book["Sweep"]._charts == []
    assert any(samples.NO_ROOM in text for text in texts(book["Sweep"]))


def test_inputs_show_the_digits_that_tell_them_apart() -> None:
    column = samples.POWER
    assert sweep.format_of(column, [10_073.1, 10_073.2]) == "#,##0.0"
    assert sweep.format_of(column, [1000.0, 2000.0]) == "#,##0"
    share = column.model_copy(update={"unit": "share"})
    assert sweep.format_of(share, [0.125, 0.25]) == "0.0%"
    assert sweep.format_of(column, [1e-9, 2e-9]) == "General"


# Frontiers.


def test_the_curve_has_knee_best_and_rules_as_series_of_their_own() -> None:
    sheet = opened(adder(samples.storage_frontier()))["Frontier storage"]
    (chart,) = sheet._charts
    assert series_names(chart) == [
        "Best plans", "No plan passes", "Knee: 102.4 GB/s", "Best: 614.4 GB/s",
        "By a rule for storage",
    ]  # fmt: skip
    assert (chart.x_axis.scaling.logBase, chart.x_axis.scaling.min) == (10, 10)
    assert chart.y_axis.scaling.min == 2000
    knee = chart.series[2]
    place = re.fullmatch(r"'Frontier storage'!\$C\$(\d+)", knee.xVal.numRef.f)
    assert place and line(sheet, int(place[1]), 3) == [4, "knee", 102.4]
    assert knee.dLbls.showSerName and not knee.dLbls.showVal


def test_money_is_on_a_plain_axis_in_millions() -> None:
    (chart,) = opened(adder(samples.cost_frontier()))["Frontier cost"]._charts
    assert chart.x_axis.scaling.logBase is None
    assert chart.x_axis.number_format.formatCode == "#,##0.#,,"
    assert "million USD" in "".join(run.t for run in chart.x_axis.title.tx.rich.p[0].r)


def test_the_points_are_all_there_with_their_proof() -> None:
    study = samples.storage_frontier()
    sheet = opened(adder(study))["Frontier storage"]
    first = row_under(sheet, "Point")
    for at, point in enumerate(study.points):
        assert line(sheet, first + at, 8) == [
            at + 1, {3: "knee", 9: "best"}.get(at), near(point.x), near(point.y),
            near(point.bound), point.gap, near(point.from_x),
            "no end" if point.to_x is None else near(point.to_x),
        ]  # fmt: skip
    assert any(text.startswith("The knee is point 4, at 102.4 GB/s") for text in texts(sheet))
    assert row_under(sheet, "best rule") and "no plan: no plan meets every limit" in texts(sheet)


def test_knee_and_best_may_be_one_point() -> None:
    study = samples.cost_frontier().model_copy(update={"knee": 10})
    (chart,) = opened(adder(study))["Frontier cost"]._charts
    assert series_names(chart)[2:] == ["Knee and best: 237.7 MUSD"]


# A tornado.


def test_bars_are_ranked_about_the_base() -> None:
    study = samples.tornado()
    sheet = opened(adder(study))["Tornado"]
    (chart,) = sheet._charts
    assert (type(chart).__name__, chart.barDir, chart.overlap) == ("BarChart", "bar", 100)
    assert titles(chart) == "Change of useful work from 4,055.68 PFLOP/s, by input"
    assert chart.y_axis.scaling.orientation == "minMax"
    assert chart.x_axis.scaling.orientation == "maxMin"
    drawn = []
    for series in chart.series:
        ends = re.findall(r"\$([A-Z]+)\$(\d+)", series.val.numRef.f)
        column, rows = ends[0][0], range(int(ends[0][1]), int(ends[1][1]) + 1)
        drawn.append([sheet[f"{column}{row}"].value for row in rows])
    behind, high, front = drawn
    for at, swing in enumerate(study.swings):
        low = swing.low.objective
        change = None if low is None else pytest.approx(low - 4055.68)
        assert (behind[at] if front[at] is None else front[at]) == change
        assert high[at] == pytest.approx((swing.high.objective or 0.0) - 4055.68)
        # The shorter bar of two is drawn last, in front.
        assert front[at] is None or abs(front[at]) < abs(high[at])
    assert front[3] is not None and front[4] is None and behind[4] is not None


def test_bars_say_what_they_are_and_two_to_one_side_share_a_label() -> None:
    xml = part(content([adder(samples.tornado())]), "xl/charts/chart1.xml")
    said = [text.replace("\u00a0", " ") for text in re.findall("<a:t>([^<]*)</a:t>", xml)]
    assert {"8 MW: −837.3", "12 MW: +818.2", "high: −204.7; light: −67.68"} <= set(said)
    assert {"200: no change; 320: no change", "1 min: no plan; 15 min: +0.32"} <= set(said)
    assert "light: −67.68" not in said


def test_ends_without_a_plan_say_why() -> None:
    sheet = opened(adder(samples.tornado()))["Tornado"]
    row = row_under(sheet, "rack positions")
    assert sheet.cell(row - 1, 2).value == "rack positions"
    assert line(sheet, row, 5) == [7, "restore time", "5 min", "1 min", "no plan"]
    assert str(sheet.cell(row, 15).value).startswith("no plan: what one GPU system can read")


def test_without_a_base_there_is_a_table_and_no_chart() -> None:
    study = samples.tornado().model_copy(update={"base": None, "base_bound": None})
    sheet = opened(adder(study))["Tornado"]
    assert sheet._charts == [] and "power at the meter" in texts(sheet)


# An uncertainty study.


def test_an_uncertainty_study_has_its_tables_and_charts() -> None:
    study = samples.uncertain()
    sheet = opened(adder(study))["Uncertainty"]
    assert [titles(chart).split(",")[0] for chart in sheet._charts] == [
        "How far outcomes spread about their median: nine in ten scenarios",
        "How often the nominal plan breaks each limit",
        "Share of the variance that each input explains",
    ]
    row = row_under(sheet, "Outcome")
    first = study.outcomes[0]
    assert line(sheet, row, 11) == [
        "useful work", "PFLOP/s", 487, *map(near, (first.mean, first.least, first.p5, first.p25,
                                                   first.p50, first.p75, first.p95, first.most)),
    ]  # fmt: skip
    row = row_under(sheet, "Plan")
    assert [sheet.cell(row + at, 1).value for at in range(3)] == [
        "nominal", "plan 1", "plan 2: least regret, best worst case",
    ]  # fmt: skip
    assert [sheet.cell(row + at, 6).value for at in range(3)] == [
        "breaks a limit", "breaks a limit", 3466.3,
    ]  # fmt: skip


def test_what_explains_most_stands_first_with_its_confidence() -> None:
    sheet = opened(adder(samples.uncertain()))["Uncertainty"]
    indices = sheet._charts[2]
    assert [bool(series.errBars) for series in indices.series] == [True, True]
    row = row_under(sheet, "In all (total)")
    assert [sheet.cell(row + at, 5).value for at in range(3)] == [0.68, 0.21, 0.19]


def test_outcomes_about_zero_are_not_drawn_against_their_median() -> None:
    zero = samples.outcome("a", "a", "", 0.0, 0.1)
    study = samples.uncertain().model_copy(update={"outcomes": (zero,)})
    assert len(opened(adder(study))["Uncertainty"]._charts) == 2


# Hostile texts.


def part(file: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return archive.read(name).decode()


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_texts(name: str) -> None:
    text = HOSTILE[name]
    study, rows = samples.rule_sweep([f"{text}{place}"[-2000:] for place in range(3)])
    adders = [adder(saying(each, text)) for each in everything().values() if each.kind != "sweep"]
    file = content([*adders, adder(saying(study, text), rows)])
    book = openpyxl.load_workbook(io.BytesIO(file))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert [cell.coordinate for cell in cells if cell.data_type in ("f", "e")] == []
    assert any(clean(text)[:40] in str(cell.value) for cell in cells) or name == "escape"
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        for chart in (n for n in archive.namelist() if "charts/chart" in n):
            places = re.findall("<c:f>([^<]*)</c:f>", archive.read(chart).decode())
            own = r"('[A-Z][a-z ]+'|[A-Z][a-z]+)!\$[A-Z]+\$\d+(:\$[A-Z]+\$\d+)?"
            assert [place for place in places if not re.fullmatch(own, place)] == []


@pytest.mark.parametrize("text", [ADDRESS, "=Sheet!$A$1", "='a b'!B2:C3"])
def test_a_caption_is_no_address(text: str) -> None:
    assert "! " in caption(text)


@pytest.mark.parametrize(
    ("values", "least"),
    [((90.0, 100.0), 90.0), ((2394.6, 4101.3), 2000.0), ((1.0, 100.0), None), ((), None),
     ((5.0, 5.0), None), ((-3.0, 4.0), None)],
)  # fmt: skip
def test_an_axis_begins_where_the_figures_are(
    values: tuple[float, ...], least: float | None
) -> None:
    assert beginning(values).get("min") == least


# LibreOffice.


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_an_office_program_reads_them_without_an_error(tmp_path: Path) -> None:
    file = tmp_path / "studies.xlsx"
    file.write_bytes(content(ALL))
    (result,) = convert(tmp_path, [file])
    before, after = (openpyxl.load_workbook(path) for path in (file, result))
    assert after.sheetnames == before.sheetnames
    assert [len(s._charts) for s in after] == [len(s._charts) for s in before]
    cells = [cell for sheet in after for row in sheet.iter_rows() for cell in row]
    assert [cell.coordinate for cell in cells if cell.data_type == "e"] == []
    for name in ("Frontier storage", "Tornado", "Sweep table"):
        shown = {c.coordinate: c.value for row in after[name].iter_rows() for c in row if c.value}
        expected = {
            c.coordinate: c.value for row in before[name].iter_rows() for c in row if c.value
        }
        assert shown == pytest.approx(expected)


def test_the_date_is_the_only_thing_that_changes_the_bytes() -> None:
    stream = io.BytesIO()
    write_study(stream, plan(ASYNC), ALL, created=datetime(2026, 3, 2))
    assert stream.getvalue() != content(ALL)
