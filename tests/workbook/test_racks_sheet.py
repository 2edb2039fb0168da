"""The drawn racks: every device over its RUs, nothing cut, and the table under them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter as letter

from planner.outputs.workbook.racks.drawing import MOST_DRAWN, blocks, choose_drawn, fit, room, rows
from planner.schema.plan import Device, Plan, RackGroup
from tests.workbook.conftest import written
from tests.workbook.office import to_read
from tests.world.gear_plans import plan
from tests.world.setups import ASYNC, COMPLETE, MIXED, rack, stack

FIRST_BAND = 7
"""One-based row of the first rack's heading."""

RACK_COLUMNS = 4
WIDTH_PT, HEIGHT_PT = 842 - 2 * 0.4 * 72, 595 - (0.5 + 0.6) * 72
"""What a landscape A4 page holds between the margins."""


def with_racks(*groups: RackGroup) -> Plan:
    """Return a complete plan with other racks."""
    return plan(COMPLETE, racks=groups)


def tall(group: RackGroup, height: float, **changes: object) -> RackGroup:
    """Return a rack of another height."""
    return group.model_copy(update={"height_ru": height, **changes})


def opened(document: Plan, *, data_only: bool = False) -> Any:
    """Return a plan's workbook, for reading only."""
    return to_read(written(document), data_only=data_only)


def sheet_of(document: Plan) -> Any:
    """Return its sheet of racks with what the cells show."""
    return opened(document, data_only=True)["Racks"]


def drawn_blocks(sheet: Any, index: int) -> dict[str, tuple[int, int]]:
    """Return text and RUs (lowest, highest) of every block of a rack of the first band."""
    side = 1 + index * RACK_COLUMNS
    floor = next(cell.row for cell in sheet[letter(side)] if cell.value == "kW")
    found = {}
    for merged in sheet.merged_cells.ranges:
        if merged.min_col == side + 1 and FIRST_BAND < merged.min_row < floor:
            text = str(sheet.cell(merged.min_row, merged.min_col).value)
            numbers = [sheet.cell(row, side).value for row in (merged.max_row, merged.min_row)]
            found[text] = (int(str(numbers[0])), int(str(numbers[1])))
    return found


def table(sheet: Any) -> list[dict[str, Any]]:
    """Return the rows of the table by the titles of its header."""
    cells = list(sheet.iter_rows(values_only=True))
    header = next(index for index, row in enumerate(cells) if row[0] == "From rack")
    titles = [str(title) for title in cells[header]]
    return [dict(zip(titles, row, strict=True)) for row in cells[header + 1 :]]


def test_a_device_is_drawn_over_the_rows_of_its_rack_units() -> None:
    sheet = sheet_of(plan(COMPLETE))
    assert drawn_blocks(sheet, 0) == {
        "Supermicro HGX B300 8U liquid-cooled\nRU 1–8": (1, 8),
        "Supermicro HGX B300 8U liquid-cooled\nRU 9–16": (9, 16),
        "Supermicro HGX B300 8U liquid-cooled\nRU 17–24": (17, 24),
        "Supermicro HGX B300 8U liquid-cooled\nRU 25–32": (25, 32),
    }
    assert set(drawn_blocks(sheet, 1).values()) == {(1, 2), (3, 4), (5, 6), (7, 8)}


def test_what_is_of_another_kind_than_its_rack_says_so_in_words() -> None:
    assert drawn_blocks(sheet_of(plan(COMPLETE)), 2) == {
        "Supermicro In-rack CDU 250 kW\nCooling · RU 1–4": (1, 4),
        "Supermicro In-rack CDU 250 kW\nCooling · RU 5–8": (5, 8),
        "Supermicro In-rack CDU 250 kW\nCooling · RU 9–12": (9, 12),
        "NVIDIA Quantum-2 QM9700 · RU 13": (13, 13),
        "NVIDIA SN2201 · RU 14": (14, 14),
    }


def test_every_kind_has_a_colour_of_its_own_and_a_word_in_the_legend() -> None:
    sheet = sheet_of(plan(COMPLETE))
    legend = {
        cell.value: cell.fill.fgColor.rgb
        for cell in sheet[FIRST_BAND - 2]
        if cell.value is not None
    }
    assert list(legend) == ["GPU systems", "Storage", "Network", "Cooling"]
    assert len(set(legend.values())) == len(legend)
    first = next(cell for cell in sheet["B"] if str(cell.value).startswith("Supermicro HGX"))
    assert first.fill.fgColor.rgb == legend["GPU systems"]


def test_a_rack_says_what_it_is_and_holds_its_figures_against_the_limits() -> None:
    sheet = sheet_of(plan(COMPLETE))
    headings = [sheet.cell(FIRST_BAND, 1 + index * RACK_COLUMNS).value for index in range(4)]
    assert headings == [
        "Racks 1–8 (8) · GPU",
        "Rack 9 · storage",
        "Racks 10–11 (2) · network",
        None,
    ]
    assert sheet.cell(FIRST_BAND + 1, 2).value == "32 of 48 RU in use"
    floor = FIRST_BAND + 2 + 48
    figures = [[cell.value for cell in row[:4]] for row in sheet.iter_rows(floor, floor + 2)]
    assert figures[0] == ["kW", pytest.approx(60.4), 70, pytest.approx(60.4 / 70)]
    assert figures[1] == ["kg", 570, 1400, pytest.approx(570 / 1400)]
    assert figures[2][:2] == ["PDUs", 2]


def test_what_is_not_known_or_not_limited_is_said() -> None:
    group = rack(1, 1, "network", MIXED, 2).model_copy(
        update={"weight_kg": None, "power_limit_kw": None, "weight_limit_kg": None}
    )
    sheet = sheet_of(with_racks(group))
    floor = FIRST_BAND + 2 + 48
    assert [cell.value for cell in sheet[floor][1:3]] == [pytest.approx(10.398), "no limit"]
    assert [cell.value for cell in sheet[floor + 1][1:3]] == ["not known", "no limit"]


def test_a_product_fills_its_rack_and_an_empty_rack_stays_empty() -> None:
    whole = stack("hgx_b300_liquid", 1, 0.0, 120.0, 1360.0)
    product = rack(1, 5, "gpu", whole, 0).model_copy(update={"product": True})
    sheet = sheet_of(with_racks(product, rack(6, 2, "network", (), 2)))
    assert drawn_blocks(sheet, 0) == {"Supermicro HGX B300 8U liquid-cooled\nRU 1–48": (1, 48)}
    assert drawn_blocks(sheet, 1) == {}
    assert "0 of 48 RU" in str(sheet.cell(FIRST_BAND + 1, 2 + RACK_COLUMNS).value)


def test_thirty_equal_devices_each_have_their_own_line() -> None:
    group = rack(1, 1, "network", stack("qm9700", 30, 1.0, 1.3, 14.8), 2)
    found = drawn_blocks(sheet_of(with_racks(group)), 0)
    assert found == {f"NVIDIA Quantum-2 QM9700 · RU {ru}": (ru, ru) for ru in range(1, 31)}


def at(position: float, height: float) -> Device:
    return Device(
        sku="box", position_ru=position, rack_units=height, it_power_kw=1.0, weight_kg=None
    )


def spans(*devices: Device, height: float = 42.0) -> list[tuple[int, int, int]]:
    """Return lowest and highest row of each block, and how many devices it holds."""
    group = tall(rack(1, 1, "network", devices, 0), height)
    return [(block.lowest, block.highest, len(block.devices)) for block in blocks(group)]


def test_fractions_of_rack_units_are_rounded_outwards() -> None:
    assert spans(at(1, 1.5)) == [(1, 2, 1)]
    assert spans(at(1, 1.5), at(2.5, 1.5)) == [(1, 2, 1), (3, 3, 1)]
    assert spans(at(2.5, 3)) == [(2, 5, 1)]
    assert spans(at(1, 0.1 + 0.2), at(1.3, 0.7)) == [(1, 1, 2)]
    assert spans(*(at(1 + 0.1 * step, 0.1) for step in range(10)), at(2, 2)) == [
        (1, 1, 10),
        (2, 3, 1),
    ]


def test_rounding_noise_moves_nothing() -> None:
    assert spans(at(1.0000000001, 2), at(2.9999999999, 2)) == [(1, 2, 1), (3, 4, 1)]


def test_what_stands_out_of_a_rack_is_drawn_at_its_top() -> None:
    assert spans(at(41, 4), at(50, 2)) == [(41, 42, 2)]


@given(
    heights=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 7.3]), max_size=60),
    height=st.floats(1, 60),
)
def test_blocks_never_overlap_and_hold_every_device(heights: list[float], height: float) -> None:
    tops = itertools.accumulate(heights, initial=1.0)
    devices = tuple(at(top, each) for top, each in zip(tops, heights, strict=False))
    group = tall(rack(1, 1, "network", devices, 0), height)
    found = blocks(group)
    assert sum(len(block.devices) for block in found) == len(devices)
    taken = [row for block in found for row in range(block.lowest, block.highest + 1)]
    assert len(taken) == len(set(taken))
    assert all(1 <= row <= rows(group) for row in taken)
    assert all(block.lowest <= block.highest for block in found)


def test_merged_cells_of_the_sheet_do_not_overlap() -> None:
    groups = [
        tall(rack(1, 1, "network", tuple(at(1 + n * 1.5, 1.5) for n in range(20)), 0), height)
        for height in (42.0, 52.5, 60.0)
    ]
    seen: set[tuple[int, int]] = set()
    for merged in sheet_of(with_racks(*groups)).merged_cells.ranges:
        cells = {(row, column) for row, column in merged.cells}
        assert not cells & seen
        seen |= cells


NAME = "Manufacturer of Very Long Names Model 12345-ABCDE with everything one can have inside"


@pytest.mark.parametrize("lines", [1, 2, 8])
def test_a_long_name_is_cut_but_never_its_place(lines: int) -> None:
    space = room(150, 11 * lines, 7.5)
    text = fit(NAME, "Cooling", "RU 17–24", space)
    assert text.endswith("RU 17–24") and "Cooling" in text
    assert text.count("\n") == (1 if lines > 1 else 0)
    assert ("…" in text) == (lines < 8)
    assert fit("x" * 40_000, "", "RU 1", space).endswith("RU 1")


def test_a_name_of_several_lines_is_one() -> None:
    assert fit("a\r\nb\tc", "", "RU 1", room(150, 11, 7.5)) == "a b c · RU 1"


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("height", [42.0, 48.0, 52.0, 60.0])
def test_no_rack_is_cut_by_a_page(height: float) -> None:
    groups = [tall(rack(n, 1, "network", MIXED, 2), height) for n in range(1, 13)]
    sheet = opened(with_racks(*groups))["Racks"]
    setup, scale = sheet.page_setup, (sheet.page_setup.scale or 100) / 100
    assert not sheet.sheet_properties.pageSetUpPr.fitToPage, "a scale keeps the breaks"
    assert (setup.orientation, setup.paperSize) == ("landscape", 9)
    # A column's width holds so many digits of 7 pixels and a margin, in pixels of 0.75 pt.
    width = sum(
        column.width * 7 * 0.75 * (column.max - column.min + 1)
        for column in sheet.column_dimensions.values()
    )
    assert width * scale <= WIDTH_PT
    breaks = [entry.id for entry in sheet.row_breaks.brk]
    assert len(breaks) == 3
    for first, last in itertools.pairwise([0, *breaks]):
        points = sum(sheet.row_dimensions[row].height or 15 for row in range(first + 1, last + 1))
        assert points * scale <= HEIGHT_PT
    assert min(sheet.row_dimensions[row].height or 15 for row in range(10, 50)) >= 7.5
    headings = [
        cell.row
        for cells in sheet.iter_rows()
        for cell in cells
        if str(cell.value).startswith("Rack ")
    ]
    assert {row - 1 for row in headings} == {FIRST_BAND - 1, *breaks[:-1]}


def test_racks_of_different_heights_stand_on_one_floor() -> None:
    groups = [tall(rack(n, 1, "network", MIXED, 2), height) for n, height in ((1, 42), (2, 48))]
    sheet = sheet_of(with_racks(*groups))
    floor = FIRST_BAND + 2 + 48
    for side, height in ((1, 42), (5, 48)):
        numbers = [sheet.cell(row, side).value for row in range(floor - height, floor)]
        assert numbers == list(range(height, 0, -1))


def test_of_very_many_the_commonest_are_drawn_and_the_table_holds_all() -> None:
    count = MOST_DRAWN + 7
    groups = [rack(10 * n + 1, 1 if n < 7 else 3, "network", MIXED, 2) for n in range(count)]
    assert [group.count for group in choose_drawn(groups)] == [3] * MOST_DRAWN
    sheet = sheet_of(with_racks(*groups))
    note = str(sheet["A4"].value)
    assert f"Drawn are the {MOST_DRAWN} commonest of {count} kinds" in note
    assert f"{3 * MOST_DRAWN} of {3 * MOST_DRAWN + 7} racks" in note
    listed = [row["From rack"] for row in table(sheet) if isinstance(row["From rack"], int)]
    assert listed == [group.first for group in groups]


def test_all_are_drawn_where_they_are_not_too_many() -> None:
    assert choose_drawn(plan(COMPLETE).racks) == list(plan(COMPLETE).racks)
    assert "commonest" not in str(sheet_of(plan(COMPLETE))["A4"].value)


def test_the_link_leads_to_the_table() -> None:
    sheet = opened(plan(COMPLETE))["Racks"]
    (link,) = [cell.hyperlink for cells in sheet.iter_rows() for cell in cells if cell.hyperlink]
    assert link.target is None, "no link leads out of the workbook"
    address = link.location.rpartition("!")[2]
    assert str(sheet[address].value).startswith("All racks")


def test_the_table_shows_every_device_once() -> None:
    listed = table(sheet_of(plan(COMPLETE)))
    devices = [row for row in listed if row["Catalog id"]]
    assert [row["Catalog id"] for row in devices] == [
        "hgx_b300_liquid", "ai400x3", "sn2201", "qm9700", "cdu_250",
    ]  # fmt: skip
    assert (devices[0]["Lowest RU"], devices[0]["Highest RU"], devices[0]["Devices"]) == (1, 32, 4)
    assert devices[4]["kW"] == pytest.approx(9.0)
    total = listed[-1]
    assert (total["Racks"], total["PDUs"]) == (11, 22)
    assert total["kW"] == pytest.approx(8 * 60.4 + 12.4 + 2 * 10.398)


def test_a_sum_of_weights_that_lacks_one_says_so() -> None:
    unknown = rack(9, 1, "network", MIXED, 2).model_copy(update={"weight_kg": None})
    total = table(sheet_of(with_racks(rack(1, 8, "network", MIXED, 2), unknown)))[-1]
    assert total["kg"] == pytest.approx(8 * (3 * 114 + 14.8 + 8.5))
    assert "known part" in total.values()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("text", ["=1+1", "{=1}", "@SUM(A1)", "http://example.com", "", "\x00"])
def test_names_stay_text(text: str) -> None:
    document = plan(COMPLETE)
    lines = tuple(
        line.model_copy(update={"vendor": text, "model": text}) for line in document.lines
    )
    book = opened(document.model_copy(update={"lines": lines}))
    formulas = {
        cell.value
        for cells in book["Racks"].iter_rows()
        for cell in cells
        if cell.data_type == "f" and cell.column > 1
    }
    assert all(
        str(formula)[:5] in ("=SUM(", "=SUMP") or "/" in str(formula) for formula in formulas
    )
    assert not any("example" in str(formula) or "1+1" in str(formula) for formula in formulas)


def test_a_plan_that_places_nothing_has_no_sheet() -> None:
    assert "Racks" not in opened(plan(ASYNC)).sheetnames
