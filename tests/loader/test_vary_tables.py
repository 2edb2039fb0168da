"""Scenarios as rows: CSV files, whole and with faults, and numbers that were drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.loader.axes import Axis, of_table, read_table

POWER = "site.facility_power"


@pytest.fixture(scope="module")
def inputs(small: str) -> Inputs:
    return load(Path(small))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(inputs: Inputs, text: str | bytes) -> Axis:
    path = Path("table.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return of_table(inputs, read_table(path))


def error_of(inputs: Inputs, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        rows_of(inputs, text)
    return str(caught.value)


def test_each_row_is_a_scenario_and_empty_cells_are_as_they_stand(inputs: Inputs) -> None:
    rows = rows_of(
        inputs,
        "name,site.facility_power,storage.rule,items.gpu_box.max\n"
        "base,,,\n"
        "half, 1 MW ,,x0.5\n"
        "\n"
        'mapped,null,"{read: 1 GB/s, write: 2 GB/s}",10\n'
        ",3 MW,light,null\n",
    )
    points = list(rows.points)
    assert [point.name for point in points] == ["base", "half", "mapped", ""]
    assert [point.refused for point in points] == ["", "", "", ""]
    assert [column.path for column in rows.inputs] == [
        POWER, "storage.rule", "items.gpu_box.max",
    ]  # fmt: skip
    assert [point.cells for point in points] == [
        (2000.0, "demand", 64),
        (1000.0, "demand", 32),
        (None, "{read: 1 GB/s, write: 2 GB/s}", 10),
        (3000.0, "light", None),
    ]
    assert points[0].changes == ()
    assert [change.setting for change in points[1].changes] == [
        "site.facility_power=1 MW", "items.gpu_box.max=32",
    ]  # fmt: skip
    assert [change.value for change in points[3].changes] == [3000.0, "light", None]


def test_a_bad_cell_spoils_its_row_alone(inputs: Inputs) -> None:
    rows = rows_of(
        inputs,
        "site.facility_power,storage.rule\n"
        "1 MW,light\n"
        "1 GB,lite\n"
        "2 MW\n"
        "2 MW,light,5\n"
        "3 MW,{a: 1\n"
        "-20 %,\n"
        '"4 MW",\n',
    )
    points = list(rows.points)
    said = [point.refused for point in points]
    assert [bool(one) for one in said] == [False, True, True, True, True, True, False]
    assert said[1].startswith("table.csv:3: site.facility_power: 'GB' in '1 GB' is not a unit")
    assert "; table.csv:3: storage.rule: 'lite' is not known here; did you mean" in said[1]
    assert said[2] == (
        "table.csv:4: expected 2 values, found 1; give each path a value, "
        "or leave its place empty between commas [scenario]"
    )
    assert said[3].startswith("table.csv:5: expected 2 values, found 3")
    assert said[4].startswith("table.csv:6: storage.rule: not readable as YAML")
    assert said[5].startswith("table.csv:7: site.facility_power: '-20 %' is no value; write x0.8")
    assert all(not point.changes for point in points if point.refused)
    assert points[1].cells == (None, "lite")
    assert points[2].cells == (None, None)
    assert points[6].cells == (4000.0, "demand")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv: the table has no paths; begin with a line of paths, such as"),
        ("\n \n", "table.csv: the table has no paths"),
        ("name\na\n", "table.csv: the table has no paths"),
        ("storage.rule\n", "table.csv: the table has no scenarios"),
        ("storage.rul\nlight\n", "table.csv:1: 'storage' has no 'rul'; did you mean 'rule'?"),
        ("storage.rule,\nlight,\n", "table.csv:1: '' is not a path"),
        ("storage.rule;site.pue\nlight;1.1\n", "separate columns with commas"),
        ("storage.rule\nlite\nhig\n", "table.csv:2: storage.rule: 'lite' is not known here"),
        ('storage.rule\n"light\n', "table.csv:2: not readable as CSV: unexpected end of data"),
        ('storage.rule\n"light"x\n', "table.csv:2: not readable as CSV"),
        (b"storage.rule\n\xff\xfe\n", "table.csv: not a text file; a table of scenarios is CSV"),
    ],
)
def test_a_bad_table_is_an_error_for_all(inputs: Inputs, text: str | bytes, message: str) -> None:
    assert message in error_of(inputs, text)


def test_files_that_cannot_be_read(inputs: Inputs) -> None:
    with pytest.raises(InputError, match=r"gone\.csv: no such table of scenarios"):
        read_table(Path("gone.csv"))
    Path("folder").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_table(Path("folder"))
