"""Hostile names through the real command: text stays text in CSV, JSON and the workbook."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from openpyxl.workbook import Workbook

from planner.report.exports import defuse_formula
from planner.report.formats import CELL_LIMIT, clean
from tests.report.hostile import HARMLESS, TEXTS, command, lay_out, opened

EVERYTHING = "everything"


@dataclass(frozen=True)
class Solved:
    """The files of a problem that was solved by the command line."""

    folder: Path

    @cached_property
    def book(self) -> Workbook:
        return opened((self.folder / "problem.xlsx").read_bytes())

    @cached_property
    def formulas(self) -> set[tuple[str, str]]:
        """The part of the workbook and the address of each cell that holds one."""
        return {
            (part, address)
            for part, text in self.parts.items()
            for address in re.findall(r'<c r="([A-Z]+\d+)"[^>]*><f[ >]', text)
        }

    @cached_property
    def bill(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "problem.bill.json").read_bytes())
        return content

    @cached_property
    def table(self) -> list[dict[str, str]]:
        text = (self.folder / "problem.bill.csv").read_bytes().decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    @cached_property
    def parts(self) -> dict[str, str]:
        """The parts of the workbook as text, and the two files of the bill."""
        with zipfile.ZipFile(self.folder / "problem.xlsx") as archive:
            found = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}
        for name in ("problem.bill.csv", "problem.bill.json"):
            found[name] = (self.folder / name).read_text("utf-8-sig")
        return found


Solver = Callable[[str], Solved]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Solver:
    """Return what solves a problem in which everything bears one of the names.

    ``EVERYTHING`` is a harmless one with every hostile name in a component of its own.
    """
    base = tmp_path_factory.mktemp("hostile")

    @cache
    def solve(name: str) -> Solved:
        folder = base / name
        folder.mkdir()
        parts = {f"part_{key}": text for key, text in TEXTS.items()}
        named = TEXTS.get(name, HARMLESS)
        path = lay_out(folder, named, parts=parts if name == EVERYTHING else {})
        assert command("solve", str(path), "-o", str(folder), "-q") == 0
        return Solved(folder)

    return solve


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_becomes_a_formula(name: str, solved: Solver) -> None:
    assert solved(name).formulas == solved(HARMLESS).formulas
    assert len(solved(name).formulas) > 50


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("name", TEXTS)
def test_the_json_has_the_text_and_the_csv_a_harmless_one(name: str, solved: Solver) -> None:
    content, rows = solved(name).bill, solved(name).table
    shown = clean(TEXTS[name], limit=None)
    assert len(rows) == len(content["lines"]) == 2
    assert content["problem"] == shown
    for field in ("manufacturer", "part_number", "model", "description", "price_source"):
        assert content["lines"][0][field] == shown, field
        assert rows[0][field] == defuse_formula(TEXTS[name]), field
    assert content["lines"][0]["notes"] == [shown, shown]
    assert len(rows[0]["notes"].encode("utf-16-le")) // 2 <= CELL_LIMIT


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("name", [*TEXTS, EVERYTHING])
def test_nothing_unseen_reaches_a_file(name: str, solved: Solver) -> None:
    unseen = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    parts = solved(name).parts.items()
    assert [part for part, text in parts if unseen.search(text)] == []


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("name", TEXTS)
def test_the_workbook_shows_the_text_as_text(name: str, solved: Solver) -> None:
    shown = clean(TEXTS[name])
    # The writer escapes what looks like an escape; openpyxl shows that as it is.
    escaped = re.sub("_(x[0-9A-Fa-f]{4}_)", r"_x005F_\1", shown)
    sheet = solved(EVERYTHING).book["Quote"]
    cells = (cell for row in sheet.iter_rows() for cell in row[1:3])
    marks = re.compile("[\u200e\u200f\u061c]")  # beside text from right to left they stay
    texts = [marks.sub("", text) for text in (shown, escaped)]
    found = [c for c in cells if any(text in marks.sub("", str(c.value)) for text in texts)]
    assert {cell.data_type for cell in found} == {"s"}


# Hostile names of problem files and scenarios: files stay in their folder, messages in a line.


STEMS = {
    "=1+1": "=1+1",
    "-rf": "-rf",
    "ünï 漢": "ünï 漢",
    "x\ny": "x_y",
    "x\x1b[31my": "x[31my",
    "in\u202egpj": "ingpj",
    'a:b*c?d"e|f\\g': "a_b_c_d_e_f_g",
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("stem", STEMS, ids=[repr(stem) for stem in STEMS])
def test_hostile_names_of_problem_files(
    stem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lay_out(tmp_path, HARMLESS, stem)
    assert command("solve", str(path), "-o", str(tmp_path / "out")) == 0
    endings = ("xlsx", "plan.json", "bill.csv", "bill.json")
    expected = sorted(f"{STEMS[stem]}.{ending}" for ending in endings)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == expected
    said = capsys.readouterr().err.removesuffix("\n")
    assert said.isprintable()
    assert all(name in said for name in expected)
    opened((tmp_path / "out" / f"{STEMS[stem]}.xlsx").read_bytes())


@pytest.mark.parametrize("scenario", ["../up", "a/b", "x\ny"])
def test_hostile_names_of_scenarios_reach_no_folder(scenario: str, tmp_path: Path) -> None:
    path = lay_out(tmp_path, HARMLESS)
    more = json.dumps({"scenarios": {scenario: {"budget.capex": "50 MUSD"}}})[1:-1]
    path.write_text(path.read_text("utf-8") + f"\n{more}\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    out = str(tmp_path / "deep" / "out")
    assert command("solve", str(path), "--scenario", scenario, "-o", out, "-q") == 2
    assert sorted(tmp_path.rglob("*")) == before
