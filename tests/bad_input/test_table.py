"""Every bad input gives one clear line with its place, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bad_input.conftest import Answer, Runner
from tests.world.files import BILL_FILES, FILES, SOLVE, changed

IN_A_PROCESS_OF_ITS_OWN = ("wrong unit", "unknown command")
INTERNAL = ("Traceback", "internal error", "pydantic", "<class", "NoneType", "Value error")
DEEP = "a: " + "[" * 5000 + "]" * 5000
BOMB = "a: &a [1, 1]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, one in zip("abcdef", "bcdefg", strict=True)
)
BROKEN_FILES: dict[str, dict[str, str | bytes]] = {
    "empty": {"problem.yaml": ""},
    "a list": {"problem.yaml": "- 1\n"},
    "an unknown alias": {"problem.yaml": "name: *hall\n"},
    "deep": {"problem.yaml": DEEP},
    "a bomb of aliases": {"problem.yaml": BOMB},
    "control characters": {"problem.yaml": "name: a\x07b\n"},
    "a price book as catalog": {"own.yaml": FILES["book.yaml"]},
    "a catalog as price book": {"book.yaml": FILES["own.yaml"]},
    "binary": {"problem.yaml": b"\x00\x01\x02\xff"},
    "packed": {"problem.yaml": b"PK\x03\x04\x14\x00\x00\x00"},
    "latin 1": {"problem.yaml": "name: H\xf6lle\n".encode("latin-1")},
    "utf 16": {"problem.yaml": "name: hall\n".encode("utf-16")},
    "binary catalog": {"own.yaml": b"\x00\x01\x02\xff"},
}


class Row(NamedTuple):
    """One broken input: what is run on which files, and the message that it must give."""

    name: str
    files: dict[str, str]
    command: str
    place: str
    code: str
    fix: str
    lines: int

    def lay_out(self, folder: Path) -> None:
        """Write the files into ``folder``."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")


def read_row(line: str) -> Row:
    """Return the row of a line of the table."""
    texts = (part.replace("\\n", "\n").replace("\\x7c", "|") for part in line.split(" | "))
    name, file, old, new, place, code, fix = (text.replace("\\\\", "\\") for text in texts)
    files, command = FILES, SOLVE
    if file.startswith("$ "):
        command = file[2:]
    else:
        files = BILL_FILES if file.startswith("bill:") else FILES
        file = file.removeprefix("bill:")
        files = {**files, file: changed(files[file], old, new)}
    code, _, lines = code.partition(" x")
    return Row(name, files, command, place, code, fix, int(lines or 1))


LINES = (Path(__file__).parent / "table.txt").read_text("utf-8").splitlines()
ROWS = [read_row(line) for line in LINES if not line.startswith("#")]
BY_NAME = {row.name: row for row in ROWS}


def faults(row: Row, answer: Answer) -> list[str]:
    """Return what is wrong with the answer to a broken input."""
    said = answer.err.splitlines()
    place = f"planner: {row.place}: " if row.place else "planner: "
    found = [line for line in said if line.startswith(place) and row.fix in line]
    checks = {
        f"exit code {answer.exit_code}": answer.exit_code == 2,
        f"{len(said)} lines instead of {row.lines}": len(said) == row.lines,
        f"no {place!r} with {row.fix!r} [{row.code}]": any(
            line.endswith(f"[{row.code}]") for line in found
        ),
        "a line without 'planner: ' or [code]": all(
            re.fullmatch(r"planner: .* \[[a-z0-9-]+\]", line) for line in said
        ),
        "words of the inside": not any(word in answer.err for word in INTERNAL),
        "text on standard output": answer.out == "",
        "files left behind": answer.before == answer.after,
    }
    return [fault for fault, fine in checks.items() if not fine]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_one_clear_line(row: Row, run: Runner, tmp_path: Path) -> None:
    row.lay_out(tmp_path)
    answer = run(shlex.split(row.command))
    assert faults(row, answer) == [], answer.err


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_files_that_are_broken_as_a_whole(name: str, run: Runner, tmp_path: Path) -> None:
    for file, content in {**FILES, **BROKEN_FILES[name]}.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = run(shlex.split(SOLVE))
    (said,) = answer.err.splitlines()
    assert (answer.exit_code, answer.out, answer.before) == (2, "", answer.after)
    assert said.startswith(f"planner: {next(iter(BROKEN_FILES[name]))}")


@pytest.mark.parametrize("name", IN_A_PROCESS_OF_ITS_OWN)
def test_the_same_from_a_shell(name: str, tmp_path: Path) -> None:
    row = BY_NAME[name]
    row.lay_out(tmp_path)
    start = "import sys; from planner.cli import main; main()"
    command = [sys.executable, "-c", start, *shlex.split(row.command)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    answer = Answer(ended.returncode, ended.stdout, ended.stderr, frozenset(), frozenset())
    assert faults(row, answer) == [], ended.stderr


@pytest.mark.parametrize("files", [FILES, BILL_FILES], ids=["hall", "bill"])
def test_files_of_the_table_have_a_plan(files: dict[str, str], run: Runner, tmp_path: Path) -> None:
    Row("sound", files, "", "", "", "", 0).lay_out(tmp_path)
    answer = run(["solve", "problem.yaml", "-q"])
    assert (answer.exit_code, answer.err) == (0, "")
