"""The summary shows the plan's figures, follows edits, and draws charts that say what they show."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl.workbook import Workbook

from planner import api
from planner.outputs.answer import answer_lines
from planner.schema.plan import NextStep, Plan, StepNeed
from tests.workbook.conftest import written
from tests.workbook.excel import shown_after
from tests.workbook.office import Cells, needs_office, to_read, values
from tests.workbook.test_cover import opened
from tests.workbook.test_edits import Edit, cells_of
from tests.world.files import FILES
from tests.world.gear import Setup, job, totals
from tests.world.gear_plans import limit_value, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, MINIMAL, SYNC

BILL = LIMITS = LOSSES = "A"
"""The column of the labels of all tables."""

EDIT = Edit(
    "complete",
    replace(
        COMPLETE.change("hgx_b300_liquid", quantity=40).change("ai400x3", quantity=2, discount=0.5),
        interval_s=700.0,
        pue=1.5,
    ),
    bom=(
        ("hgx_b300_liquid", "quantity", 40),
        ("ai400x3", "quantity", 2),
        ("ai400x3", "discount", 0.5),
    ),
    inputs=(("interval_s", 700.0), ("pue", 1.5)),
)
SHOWN_AS = {
    "racks": "Racks",
    "capex": "Capital budget, USD",
    "facility_power": "Power at the meter, kW",
    "hot_spares.hgx_b300_liquid": "Hot spares of hgx_b300_liquid, systems",
}


def table(cells: Cells, column: str, count: int) -> dict[str, list[object]]:
    """Return the cells right of each label in a column of labels."""
    rows = [row for (sheet, address), _ in cells.items() if sheet == "Summary"
            for row in [re.sub("[A-Z]", "", address)] if address == f"{column}{row}"]  # fmt: skip
    right = [chr(ord(column) + step) for step in range(1, count + 1)]
    return {
        str(cells["Summary", f"{column}{row}"]): [
            cells.get(("Summary", f"{c}{row}")) for c in right
        ]
        for row in rows
    }


def tiles(cells: Cells) -> dict[str, object]:
    """Return the figures in a large type by the label under each."""
    return {
        re.sub(r" \(.*\)|, known part", "", str(cells["Summary", f"{letter}10"])): cells.get(
            ("Summary", f"{letter}9")
        )
        for letter in "ABCDEFGHI"
        if cells.get(("Summary", f"{letter}10"))
    }


def expected_tiles(setup: Setup) -> dict[str, float | None]:
    """Return what the tiles show, those that there is room for, by plain arithmetic."""
    figures, sums = job(setup), totals(setup)
    return {
        "Goodput": figures["goodput"],
        "GPUs in use": figures["gpus"],
        "Days to train": figures["days"],
        "Checkpoint interval": setup.interval_s / 60,
        "Restore time": figures["restore_s"],
        "Usable capacity": sums["usable_tb"],
        "Power at the meter": sums["facility_power_kw"],
        "IT power": sums["it_power_kw"],
        "Racks": sums["racks"],
        "Capex": sums["capex_usd"],
        "TCO": sums["tco"],
    }


def expect_tiles(cells: Cells, setup: Setup) -> None:
    """Compare the tiles with plain arithmetic; what is not known has none."""
    shown, expected = tiles(cells), expected_tiles(setup)
    assert len(shown) == 9
    checked = [label for label in shown if expected.get(label) is not None]
    assert {"Goodput", "GPUs in use", "Capex"} <= set(checked) and len(checked) >= 6
    for label in checked:
        assert shown[label] == pytest.approx(expected[label], rel=1e-9), label
    assert not {label for label, value in expected.items() if value is None} & set(shown)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_tiles_are_the_plans(name: str, recalculated: dict[str, tuple[Path, Path]]) -> None:
    for file in recalculated[name]:
        expect_tiles(values(file), CASES[name])


def test_sentence_tiles_tables_and_limits_follow_edits() -> None:
    content = written(plan(COMPLETE))
    cells, after = shown_after(content, cells_of(EDIT, to_read(content))), EDIT.after
    expect_tiles(cells, after)
    said = str(cells["Summary", "A6"])
    assert said.startswith("40 Supermicro HGX B300 8U liquid-cooled and ")
    assert f": {job(after)['gpus']:.0f} GPUs in use" in said
    bill = table(cells, BILL, 4)
    system = bill["  Supermicro HGX B300 8U liquid-cooled"]
    assert system[1:3] == [40, pytest.approx(40 * 15.1)]
    store = next(gear for gear in after.gear if gear.sku == "ai400x3")
    assert bill["Storage"][3] == pytest.approx(round((store.net_usd or 0.0) * 2, 2))
    assert bill["Total"][2] == pytest.approx(totals(after)["it_power_kw"])
    limits = table(cells, LIMITS, 6)
    told = 0
    for name, label in SHOWN_AS.items():
        if label not in limits:  # only those with the least room are on the page
            continue
        told += 1
        sense, allowed, _ = after.limits[name]
        value = limit_value(after, name)
        assert value is not None
        use = value / allowed if sense == "<=" else allowed / value
        assert limits[label][1:4] == [pytest.approx(number) for number in (value, allowed, use)]
        assert (limits[label][5] == "OVER") == (use > 1), label
        assert len(str(limits[label][4] or "")) == min(10, math.floor(use * 10 + 0.5))
    assert told >= 2
    assert "OVER" in [row[5] for row in limits.values()]


def test_losses_and_goodput_make_up_the_day() -> None:
    cells = values(written(plan(ASYNC)))
    rows = table(cells, LOSSES, 4)
    names = [
        "Stalls and slowdown", "Work done again", "Checkpoints not yet drained", "Restarts",
        "Restores", "Kept progress (goodput)",
    ]  # fmt: skip
    shares = [float(str(rows[name][2])) for name in names]
    assert sum(shares) == pytest.approx(1.0)
    assert [row[3] for row in map(rows.__getitem__, names)] == [
        pytest.approx(1440 * share) for share in shares
    ]


MOST_LIMITS = 9


def test_many_limits_are_cut_to_those_with_the_least_room() -> None:
    cells = values(written(plan(COMPLETE)))
    rows = table(cells, LIMITS, 5)
    count = len(COMPLETE.limits)
    (said,) = [label for label in rows if "more, with more room: see Checks" in label]
    assert f"; {count - MOST_LIMITS} more" in said
    uses = {}
    for name, (sense, allowed, _) in COMPLETE.limits.items():
        value = limit_value(COMPLETE, name) or 0.0
        uses[name] = value / allowed if sense == "<=" else allowed / value
    labels = list(rows)
    first = labels.index("What holds the plan") + 1
    shown = [row[3] for row in list(rows.values())[first : first + MOST_LIMITS]]
    assert len(shown) == MOST_LIMITS
    assert max(uses.values()) in [pytest.approx(use) for use in shown]


def test_what_binds_is_said_of_the_solved_plan_with_what_the_next_step_needs() -> None:
    document = plan(ASYNC)
    limits = (document.limits[0].model_copy(update={"binding": True}), *document.limits[1:])
    need = StepNeed(name=limits[0].name, label=limits[0].label, value=1234.5,
                    limit=limits[0].limit, unit="kW")  # fmt: skip
    sku = next(line.sku for line in document.lines if line.gpus)
    step = NextStep(
        sku=sku, systems=3, gpus=24, value=2.0, interval_s=600.0, every=0, needs=(need,)
    )

    def texts(**update: object) -> list[str]:
        book = opened(document.model_copy(update=update))
        return [str(cell.value) for row in book["Summary"].iter_rows() for cell in row]

    told = texts(limits=limits, next_step=step)
    assert any(text.startswith("As solved, this binds: power at the meter") for text in told)
    (said,) = [text for text in told if text.startswith("binds; ")]
    assert said.startswith("binds; as solved, 1,234.5 kW let in 3 ")
    (line,) = [text for text in told if text.startswith("As solved, 3 ")]
    assert "more would need 1,234.5 kW of power at the meter" in line
    assert "binds" in texts(limits=limits)
    assert any(text.startswith("As solved, no limit binds") for text in texts())


def test_the_sentence_is_the_plan_and_the_page_begins_with_it() -> None:
    document = plan(ASYNC)
    sheet = opened(document)["Summary"]
    said, ran = str(sheet["A6"].value), document.jobs[0]
    systems = next(line for line in document.lines if line.gpus)
    assert said.startswith(f"{systems.quantity} ") and systems.model in said
    assert f": {ran.gpus_used} GPUs in use" in said
    assert document.totals is not None and document.totals.capex_usd is not None
    assert f"for {round(document.totals.capex_usd / 1e6, 1):g} MUSD." in said
    outside = str(opened(document, "customer", "none")["Summary"]["A6"].value)
    assert "USD" not in outside and outside.startswith(said.split(",")[0][:20])


def charts(content: bytes) -> list[str]:
    """Return the charts of the sheet Summary, which is the second."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        place = to_read(content, data_only=True).sheetnames.index("Summary") + 1
        rels = archive.read(f"xl/worksheets/_rels/sheet{place}.xml.rels").decode()
        drawing = re.findall(r"drawings/(drawing\d+\.xml)", rels)[0]
        rels = archive.read(f"xl/drawings/_rels/{drawing}.rels").decode()
        return [
            archive.read(f"xl/charts/{name}").decode()
            for name in re.findall(r"charts/(chart\d+\.xml)", rels)
        ]


@pytest.mark.parametrize(("setup", "count"), [(COMPLETE, 2), (SYNC, 2), (MINIMAL, 2)])
def test_charts_have_titles_units_and_values(setup: Setup, count: int) -> None:
    found = charts(written(plan(setup)))
    assert len(found) == count
    for chart in found:
        titles = re.findall(r"<a:t>([^<]*)</a:t>", chart)
        assert len(titles) == 3 and all(titles), "a title of the chart and of both axes"
        assert "c:dLbls" in chart
        numbers = re.findall(r"<c:v>([-\d.e]+)</c:v>", chart)
        assert any(float(number) > 0 for number in numbers)


def test_a_bill_of_nothing_has_no_chart_of_money() -> None:
    free = replace(MINIMAL, gear=tuple(replace(g, list_usd=0.0) for g in MINIMAL.gear))
    assert len(charts(written(plan(free)))) == 1


def test_an_objective_is_marked() -> None:
    document = plan(ASYNC)
    goal = document.objective.model_copy(update={"name": "cost", "sense": "minimize"})
    for changed, label in ((document, "Useful work (maximised)"),
                           (document.model_copy(update={"objective": goal}),
                            "Capex (minimised)")):  # fmt: skip
        book = opened(changed)
        assert label in [cell.value for cell in book["Summary"][10]]


def test_incomplete_sums_say_so() -> None:
    labels = [cell.value for cell in opened(plan(SYNC))["Summary"][10]]
    assert "Capex, known part" in labels and "Power at the meter, known part" in labels


def test_racks_are_no_tile_where_the_problem_knows_none(tmp_path: Path) -> None:
    labels = {}
    for name, settings in (("racks", ()), ("none", ("site.racks=null", "site.rack=null"))):
        labels[name] = {cell.value for cell in opened(of_files(tmp_path, *settings))["Summary"][10]}
    assert "Racks" in labels["racks"]
    assert not any(str(label).startswith("Racks") for label in labels["none"])


def test_racks_of_which_storage_has_none_are_a_known_part(tmp_path: Path) -> None:
    """GPU systems that are racks, in a hall that does not say what others hold."""
    document = of_files(tmp_path, "site.racks=null", "site.rack=null")
    lines = [
        line.model_copy(update={"racks": line.quantity}) if line.sku == "gpu_box" else line
        for line in document.lines
    ]
    sheets = opened(document.model_copy(update={"lines": tuple(lines)}))
    (row,) = [row for row in sheets["Checkpoint"].iter_rows(values_only=True) if row[0] == "Racks"]
    assert any(str(cell).startswith("known part") for cell in row)


def test_the_ratio_that_is_minimised_is_the_first_tile_whatever_the_bill_holds(
    tmp_path: Path,
) -> None:
    goal = "objective={minimize: usd_per_useful_gpu_hour}"
    document = of_files(tmp_path, goal, "targets.min_gpus=64")
    assert document.totals is not None
    assert opened(document)["Summary"]["A9"].value == pytest.approx(document.objective.value)
    other = of_files(tmp_path, "targets.min_gpus=64")
    assert "useful GPU-hour" in dict(labelled(document))["Money"]
    assert "useful GPU-hour" not in dict(labelled(other))["Money"]


def labelled(document: Plan) -> Iterator[tuple[str, str]]:
    assert document.totals is not None
    return answer_lines(document, document.totals, document.jobs[0])


def of_files(folder: Path, *settings: str) -> Plan:
    """Return the plan of the small problem, whose bill has no networks, with other settings."""
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    return api.solve(folder / "problem.yaml", settings=settings)


def test_long_texts_stay_on_one_line() -> None:
    long = "A product whose name goes on and on and on beyond any column of any sheet"
    document = plan(MINIMAL.change("box", vendor="V", model=long))
    book: Workbook = opened(document)
    shown = [str(row[0].value) for row in book["Summary"].iter_rows(min_row=12)]
    assert [text for text in shown if text.startswith("  V A product") and text.endswith("…")]
