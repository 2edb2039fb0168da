"""What a machine refuses, or a stranger's file breaks in a library: one line, exit code 2."""

from __future__ import annotations

import base64
import errno
import os
import zlib
from typing import Any

import pulp
import pytest

from planner.untrusted_workbooks import load_bytes
from planner.workbook.basis import UnreadableError, unpack
from tests.bad_input.conftest import Answer, HallRunner, Runner
from tests.world.files import SOLVE

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
NO_FORMULA = "=cmd|'/C calc'!A0"


def assert_one_line(answer: Answer, *words: str) -> None:
    assert answer.exit_code == 2, answer.err
    assert answer.err.startswith("planner: ") and answer.err.count("\n") == 1, answer.err
    assert "internal error" not in answer.err
    assert all(word in answer.err for word in words), answer.err
    assert answer.before == answer.after


def test_a_command_in_place_of_a_formula_is_an_edit(run_in_hall: HallRunner, run: Runner) -> None:
    run_in_hall(SOLVE)
    book = load_bytes("problem.xlsx")
    sheet = book["Power & cost"]
    formulas = [cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
    formulas[0].value = NO_FORMULA
    book.save("problem.xlsx")
    answer = run(["verify", "problem.xlsx", "--no-solve"])
    assert answer.exit_code == 2 and "internal error" not in answer.err
    assert f"Power & cost!{formulas[0].coordinate}: held the formula" in answer.err
    assert NO_FORMULA in answer.err and "undo it" in answer.err


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"format":' * 50_000, b"\xff", b"[]", b"null"])
def test_packed_data_that_no_reader_takes(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="it was changed"):
        unpack(base64.b64encode(zlib.compress(data)).decode())


def test_two_thousand_folders_in_one_another(run_in_hall: HallRunner) -> None:
    folder = "a/" * 2000
    answer = run_in_hall(f"{SOLVE} -o {folder}")
    assert_one_line(answer, "cannot write: too many folders", "choose another folder with -o")


@pytest.mark.parametrize("error", [IndexError("list index out of range"), NO_SPACE, ValueError()])
def test_cbc_that_fails(
    error: Exception, run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(pulp.COIN_CMD, "actualSolve", fail)
    answer = run_in_hall(f"{SOLVE} --solver cbc")
    assert_one_line(answer, "CBC failed: ", "TMPDIR", "--solver highs")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NO_SPACE, "no space left on device"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "some.file"), "some.file: too many open"),
        (MemoryError(), "out of memory"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
def test_what_the_system_refuses_anywhere(
    error: Exception, said: str, run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("planner.api.solve_with", refused)
    answer = run_in_hall(SOLVE)
    assert_one_line(answer, said)
