"""Every broken input gives one clear line, the right exit code, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_input import (
    rows_bill_catalog,
    rows_bill_network,
    rows_bill_policy,
    rows_bill_site,
    rows_catalog,
    rows_commands,
    rows_files,
    rows_prices,
    rows_structure,
    rows_values,
)
from tests.bad_input.conftest import Answer, RowRunner
from tests.bad_input.row import Row
from tests.world.files import BILL_FILES

ROWS = (
    *rows_values.ROWS,
    *rows_structure.ROWS,
    *rows_files.ROWS,
    *rows_catalog.ROWS,
    *rows_prices.ROWS,
    *rows_bill_site.ROWS,
    *rows_bill_network.ROWS,
    *rows_bill_policy.ROWS,
    *rows_bill_catalog.ROWS,
    *rows_commands.ROWS,
)
BY_NAME = {row.name: row for row in ROWS}
IN_A_PROCESS_OF_ITS_OWN = ("wrong_unit", "very_deep", "bomb", "circle_of_3", "unknown_command")
INTERNAL = ("Traceback", "internal error", "pydantic", "<class", "NoneType", "Value error")


def faults(row: Row, answer: Answer) -> list[str]:
    """Return what is wrong with the answer to a broken input."""
    said = answer.err.splitlines()
    place = "planner: " + row.place()
    found = [line for line in said if line.startswith(place)]
    found = [line for line in found if re.search(row.wrong, line) and re.search(row.right, line)]
    checks = {
        f"exit code {answer.exit_code}": answer.exit_code == 2,
        f"{len(said)} lines instead of {row.lines}": len(said) == row.lines,
        f"no line {place!r} with {row.wrong!r} and {row.right!r}": len(found) == 1,
        "a line without 'planner: ' or [code]": all(
            re.fullmatch(r"planner: .* \[[a-z0-9-]+\]", line) for line in said
        ),
        "words of the inside": not any(word in answer.err for word in INTERNAL),
        "text on standard output": answer.out == "",
        "files left behind": answer.before == answer.after,
    }
    return [*(fault for fault, fine in checks.items() if not fine)]


@pytest.mark.exhaustive(keep=105)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_one_clear_line(row: Row, run_row: RowRunner) -> None:
    answer = run_row(row)
    assert faults(row, answer) == [], answer.err


@pytest.mark.parametrize("name", IN_A_PROCESS_OF_ITS_OWN)
def test_the_same_from_a_shell(name: str, tmp_path: Path) -> None:
    row = BY_NAME[name]
    row.lay_out(tmp_path)
    start = "import sys; from planner.cli import main; main()"
    command = [sys.executable, "-c", start, *row.arguments()]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    answer = Answer(ended.returncode, ended.stdout, ended.stderr, frozenset(), frozenset())
    assert faults(row, answer) == [], ended.stderr


def test_the_table_is_large_and_has_no_name_twice() -> None:
    assert len(ROWS) >= 340
    assert len(BY_NAME) == len(ROWS)


def test_the_files_the_table_breaks_are_sound(run_row: RowRunner) -> None:
    answer = run_row(Row("sound", "", "", command="check problem.yaml"))
    assert (answer.exit_code, answer.err) == (0, "")
    assert "valid; 4 catalog items; 0 warnings" in answer.out
    bill = run_row(Row("sound_bill", "", "", files=BILL_FILES, command="check problem.yaml"))
    assert (bill.exit_code, bill.err) == (0, "")
    assert "valid; 15 catalog items; 1 warning" in bill.out  # a switch that draws much
    assert bill.out.count("[implausible]") == 1


def test_the_bill_the_table_breaks_has_a_plan(run_row: RowRunner) -> None:
    answer = run_row(Row("sound_bill", "", "", files=BILL_FILES, command="solve problem.yaml -q"))
    assert (answer.exit_code, answer.err) == (0, "")
