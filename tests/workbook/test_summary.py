"""The summary shows the plan's figures, follows edits, and draws charts that say what they show."""

from __future__ import annotations

import io
import math
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl.workbook import Workbook

from tests.workbook.conftest import written
from tests.workbook.office import Cells, convert, needs_office, to_read, values
from tests.workbook.test_cover import opened
from tests.workbook.test_edits import Edit, apply, edited
from tests.world.gear import Setup, job, totals
from tests.world.gear_plans import limit_value, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, MINIMAL, SYNC

HEADLINES, BILL, LIMITS = "A", "E", "K"
"""Columns of the labels of the three tables."""

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
    "capex": "Capex, USD",
    "facility_power": "Facility power, kW",
    "hot_spares.hgx_b300_liquid": "Hot spares.hgx b300 liquid, systems",
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


def expected_headlines(setup: Setup) -> dict[str, float | None]:
    """Return the headline figures by plain arithmetic."""
    figures, sums = job(setup), totals(setup)
    return {
        "Goodput": figures["goodput"],
        "GPUs in place": sums["gpus"],
        "GPUs in use": figures["gpus"],
        "Days to train": figures["days"],
        "Checkpoint size": setup.checkpoint_gb / 1000,
        "Checkpoint interval": setup.interval_s / 60,
        "Checkpoint drain": figures["drain_s"],
        "Restore time": figures["restore_s"],
        "Storage appliances": float(sum(g.quantity for g in setup.gear if g.section == "Storage")),
        "Usable capacity": sums["usable_tb"],
        "Power at the meter": sums["facility_power_kw"],
        "Racks": sums["racks"],
        "Capex": sums["capex_usd"],
        "TCO": sums["tco"],
    }


def expect_headlines(cells: Cells, setup: Setup) -> None:
    """Compare the headlines with plain arithmetic; what is not known has no row."""
    shown = {
        re.sub(r" \(.*\)|, known part", "", label): row[0]
        for label, row in table(cells, HEADLINES, 2).items()
    }
    for label, value in expected_headlines(setup).items():
        if value is None:
            assert label not in shown
        else:
            assert shown[label] == pytest.approx(value, rel=1e-9), label


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_headlines_are_the_plans(name: str, recalculated: dict[str, tuple[Path, Path]]) -> None:
    for file in recalculated[name]:
        expect_headlines(values(file), CASES[name])


@needs_office
def test_headlines_tables_and_limits_follow_edits(folder: Path, tmp_path: Path) -> None:
    source = edited(folder / "complete.xlsx", tmp_path / "c.xlsx", lambda book: apply(EDIT, book))
    (result,) = convert(tmp_path, [source])
    cells, after = values(result), EDIT.after
    expect_headlines(cells, after)
    bill = table(cells, BILL, 4)
    assert bill["Supermicro HGX B300 8U liquid-cooled"][:2] == [40, pytest.approx(40 * 15.1)]
    store = next(gear for gear in after.gear if gear.sku == "ai400x3")
    assert bill["Storage"][3] == pytest.approx(round((store.net_usd or 0.0) * 2, 2))
    assert bill["Total"][1] == pytest.approx(totals(after)["it_power_kw"])
    limits = table(cells, LIMITS, 5)
    for name, label in SHOWN_AS.items():
        sense, allowed, _ = after.limits[name]
        value = limit_value(after, name)
        assert value is not None
        use = value / allowed if sense == "<=" else allowed / value
        assert limits[label][:3] == [pytest.approx(number) for number in (value, allowed, use)]
        assert (limits[label][4] == "OVER") == (use > 1), label
        assert len(str(limits[label][3] or "")) == min(10, math.floor(use * 10 + 0.5))
    assert "OVER" in [row[4] for row in limits.values()]


def test_losses_and_goodput_make_up_the_day() -> None:
    cells = values(written(plan(ASYNC)))
    rows = table(cells, LIMITS, 2)
    names = [
        "Stalls and slowdown", "Work done again", "Checkpoints not yet drained", "Restarts",
        "Restores", "Kept progress (goodput)",
    ]  # fmt: skip
    shares = [float(str(rows[name][0])) for name in names]
    assert sum(shares) == pytest.approx(1.0)
    assert [row[1] for row in map(rows.__getitem__, names)] == [
        pytest.approx(1440 * share) for share in shares
    ]


def test_many_limits_are_cut_to_those_with_the_least_room() -> None:
    cells = values(written(plan(COMPLETE)))
    rows = table(cells, LIMITS, 5)
    count = len(COMPLETE.limits)
    assert f"{count - 14} more, with more room: see Checks" in rows
    uses = {}
    for name, (sense, allowed, _) in COMPLETE.limits.items():
        value = limit_value(COMPLETE, name) or 0.0
        uses[name] = value / allowed if sense == "<=" else allowed / value
    shown = sorted(row[2] for row in rows.values() if isinstance(row[2], (int, float)))
    assert shown == pytest.approx(sorted(sorted(uses.values())[-14:]))


def test_what_binds_is_said_of_the_solved_plan() -> None:
    document = plan(ASYNC)
    limits = (document.limits[0].model_copy(update={"binding": True}), *document.limits[1:])
    book = opened(document.model_copy(update={"limits": limits}))
    texts = [str(cell.value) for row in book["Summary"].iter_rows() for cell in row]
    assert texts.count("binds") == 1
    assert "As solved, this binds: facility power" in texts
    texts = [str(c.value) for row in opened(document)["Summary"].iter_rows() for c in row]
    assert "As solved, no limit binds" in texts


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


@pytest.mark.parametrize(("setup", "count"), [(COMPLETE, 3), (SYNC, 3), (MINIMAL, 3)])
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
    assert len(charts(written(plan(free)))) == 2


def test_an_objective_is_marked() -> None:
    document = plan(ASYNC)
    goal = document.objective.model_copy(update={"name": "cost", "sense": "minimize"})
    for changed, label in ((document, "Useful work (maximised)"),
                           (document.model_copy(update={"objective": goal}),
                            "Capex (minimised)")):  # fmt: skip
        book = opened(changed)
        assert label in [row[0].value for row in book["Summary"].iter_rows()]


def test_incomplete_sums_say_so() -> None:
    labels = [row[0].value for row in opened(plan(SYNC))["Summary"].iter_rows()]
    assert "Capex, known part" in labels and "Power at the meter, known part" in labels


def test_long_texts_stay_on_one_line() -> None:
    long = "A product whose name goes on and on and on beyond any column of any sheet"
    document = plan(MINIMAL.change("box", vendor="V", model=long))
    book: Workbook = opened(document)
    shown = [str(row[4].value) for row in book["Summary"].iter_rows()]
    assert [text for text in shown if text.startswith("V A product") and text.endswith("…")]
    assert all(len(text) <= 38 for text in shown)
