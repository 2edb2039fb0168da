"""Output that cannot be written: one clear line, and the folder as it was."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bad_input.conftest import Answer, HallRunner, Runner

NOBODY = 65_534
ELSEWHERE = "choose another folder with -o"


def assert_refused(answer: Answer, target: str, wrong: str, right: str = ELSEWHERE) -> None:
    assert answer.exit_code == 2, answer.err
    line = answer.err.removesuffix("\n")
    assert "\n" not in line
    assert line.startswith(f"planner: {target}: cannot write: {wrong}")
    assert line.endswith(f"{right} [unwritable]")
    assert answer.out == ""
    assert answer.before == answer.after


def solve_into(folder: str) -> str:
    return f"solve problem.yaml -o {folder}"


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Give up the privileges of the administrator, to whom every folder is writable."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written(
    run_in_hall: HallRunner, run: Runner, tmp_path: Path
) -> None:
    run_in_hall(solve_into("warm"))  # modules are loaded while they may be read
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # a parallel run is one folder deeper
        folder.chmod(0o755)
    (tmp_path / "out").mkdir(mode=0o555)
    with as_nobody():
        answer = run(["solve", "problem.yaml", "-o", "out"])
    assert_refused(answer, "out/problem.xlsx", "permission denied")


def test_a_file_where_the_folder_should_be(run_in_hall: HallRunner, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    assert_refused(run_in_hall(solve_into("out")), "out/problem.xlsx", "file exists")
    assert_refused(
        run_in_hall(solve_into("out/deeper")), "out/deeper/problem.xlsx", "not a directory"
    )
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("name", ["problem.xlsx", "problem.plan.json"])
def test_a_folder_where_a_file_should_be(
    name: str, run_in_hall: HallRunner, tmp_path: Path
) -> None:
    (tmp_path / "out" / name).mkdir(parents=True)
    wrong = "there is a folder of this name; remove that folder"
    assert_refused(run_in_hall(solve_into("out")), f"out/{name}", wrong)


def test_folders_made_on_the_way_are_taken_back(
    run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    wrong = "no space left on device; free some space"
    assert_refused(run_in_hall(solve_into("one/two")), "one/two/problem.xlsx", wrong)


def test_a_file_size_limit(run_in_hall: HallRunner) -> None:
    """The system itself cuts the file short: what a full disk does, without needing one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        answer = run_in_hall(solve_into("out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_refused(answer, "out/problem.xlsx", "file too large")


def test_a_date_that_is_none(run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    answer = run_in_hall(solve_into("."))
    assert answer.exit_code == 2
    wrong = "planner: SOURCE_DATE_EPOCH: 'yesterday' is not seconds since 1970; write for example"
    assert answer.err.startswith(wrong)
    assert answer.before == answer.after


def test_a_closed_standard_output(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'from planner.cli import main; main()' catalog >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("planner: standard output is closed; ")
    assert done.stderr.count("\n") == 1
