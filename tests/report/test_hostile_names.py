"""Hostile names of problem files and scenarios: files stay in their folder, messages in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.hostile import HARMLESS, command, lay_out
from tests.report.leaks import opened

STEMS = {
    "=1+1": "=1+1",
    "-rf": "-rf",
    "@SUM": "@SUM",
    "two words": "two words",
    "ünï 漢": "ünï 漢",
    "a'b;c&d%e": "a'b;c&d%e",
    "[x]": "[x]",
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
