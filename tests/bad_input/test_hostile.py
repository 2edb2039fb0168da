"""Files that would never end, or never fit: refused before they are held in memory."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import re
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xlsxwriter

from planner.loader import documents
from tests.bad_input.conftest import Answer, HallRunner, Runner, lay_out_hall
from tests.world.files import SOLVE

READERS = {
    "problem": "solve {}",
    "checked": "check {}",
    "sized": "size {}",
    "overrides": "solve problem.yaml --set @{}",
    "catalog": "catalog --check {}",
    "rules": "compare --rules {}",
    "plan": "verify {}",
    "compared": "compare {0} {0}",
    "simulated": "simulate {}",
}
"""Every command that reads a file, and what kind it reads."""

PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "zero": (lambda path: path.symlink_to("/dev/zero"), "is a pipe, a device or a socket"),
    "fifo": (os.mkfifo, "is a pipe, a device or a socket"),
    "circle": (
        lambda path: path.symlink_to(path.name),
        "(cannot be read: too many levels of|there is no such file)",
    ),
    "folder": (lambda path: path.mkdir(), "is a folder, not a file; name a file in it"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_takes_a_pipe_a_device_or_a_folder(
    reader: str, place: str, run: Runner, run_in_hall: HallRunner, tmp_path: Path
) -> None:
    lay_out_hall(tmp_path)
    make, said = PLACES[place]
    make(tmp_path / "odd.yaml")
    answer = run(READERS[reader].format("odd.yaml").split())
    text = answer.err or answer.out
    assert answer.exit_code == (3 if reader == "plan" and not answer.err else 2), text
    assert re.search(f"odd.yaml: {said}", text), text
    assert answer.err.count("\n") <= 1
    assert answer.before == answer.after


ALIASES = "a: &a [1, 1]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, one in zip("abcdef", "bcdefg", strict=True)
)
TEXTS = {
    "long list": ("- a\n" * 50_100, "more than 50,000 values"),
    "long flow": (f"[{'a,' * 50_100}a]", "more than 50,000 values"),
    "a bomb of aliases": (ALIASES, "more than 50,000 values"),
    "a million dashes": ("- " * 1_000_000, "nested deeper than 40 levels"),
    "a million questions": ("? " * 1_000_000, "nested deeper than 40 levels"),
    "a million brackets": ("[" * 1_000_000, "nested deeper than 40 levels"),
    "over 5 MB": ("#" * 5_000_001, "is larger than 5 MB, the most that a problem file may have"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_yaml_too_large_is_refused_in_a_line(
    name: str, run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_NODES", 50_000)  # a tenth: its reading takes seconds
    text, said = TEXTS[name]
    (tmp_path / "problem.yaml").write_text(text)
    answer = run(SOLVE.split())
    assert answer.exit_code == 2
    assert said in answer.err and answer.err.count("\n") == 1


JSONS = {
    "brackets": b"[" * 1_000_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "no text": b"\0" * 1000,
    "nothing": b"",
    "one number": b"1" + b"0" * 100_000,
    "too large": b" " * 60_000_000,
    "a list": b"[]",
    "another thing": json.dumps({"schema_version": 1e308, "lines": None}).encode(),
}


@pytest.mark.parametrize("name", JSONS)
def test_json_without_a_plan_is_refused_in_a_line(name: str, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_bytes(JSONS[name])
    for command in ("compare odd.json odd.json", "simulate odd.json"):
        answer = run(command.split())
        assert answer.exit_code == 2
        assert re.fullmatch(r"planner: odd\.json(:\d+)?: .+ \[[a-z-]+\]\n", answer.err), answer.err


def with_part(path: Path, part: str, data: bytes) -> None:
    """Write a workbook in which one part is another."""
    book = xlsxwriter.Workbook(path.with_suffix(".own"))
    book.add_worksheet().write(0, 0, "x")
    book.close()
    with (
        zipfile.ZipFile(path.with_suffix(".own")) as own,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for info in own.infolist():
            if info.filename != part:
                archive.writestr(info.filename, own.read(info))
        archive.writestr(part, data)


def sheet(cells: bytes = b"", after: bytes = b"") -> bytes:
    name = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    inner = b"<sheetData>" + cells + b"</sheetData>" + after
    return b'<worksheet xmlns="' + name + b'">' + inner + b"</worksheet>"


ALL = b'ref="A1:XFD1048576"'
SHEET = "xl/worksheets/sheet1.xml"
ROW = b"<row>" + b'<c s="1"/>' * 100_000 + b"</row>"
BOMB = b'<!DOCTYPE w [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><worksheet>&b;</worksheet>'
BOOKS = {
    "4 million empty cells": (SHEET, sheet(ROW * 40), "more than 500,000 cells"),
    "a merged sheet": (
        SHEET,
        sheet(after=b"<mergeCells><mergeCell " + ALL + b"/></mergeCells>"),
        "more than 100,000 cells that are merged or linked",
    ),
    "a linked sheet": (
        SHEET,
        sheet(after=b"<hyperlinks><hyperlink " + ALL + b"/></hyperlinks>"),
        "more than 100,000 cells that are merged or linked",
    ),
    "5,000 sheets": (
        "xl/workbook.xml",
        b"<workbook><sheets>" + b'<sheet name="x"/>' * 5000 + b"</sheets></workbook>",
        "more than 300 sheets",
    ),
    "4 million texts": (
        "xl/sharedStrings.xml",
        b"<sst>" + b"<si/>" * 4_000_000 + b"</sst>",
        "more than 3,000,000 elements",
    ),
    "zeros": ("xl/media/x.bin", b"\0" * 200_000_000, "unpacks to more than 150 MB"),
    "entities": (SHEET, BOMB, "it declares entities"),
    "no xml": (SHEET, b"\0\xff<<", "the file is damaged"),
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", BOOKS)
def test_workbooks_too_large_are_refused_in_a_line(name: str, run: Runner, tmp_path: Path) -> None:
    part, data, said = BOOKS[name]
    with_part(tmp_path / "odd.xlsx", part, data)
    answer = run(["verify", "odd.xlsx"])
    assert answer.exit_code == 2, answer.err
    assert re.fullmatch(r"planner: odd\.xlsx: .+ \[[a-z-]+\]\n", answer.err), answer.err
    assert said in answer.err


# Output that cannot be written: one clear line, and the folder as it was.


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


def test_a_folder_without_permission_is_named(
    run_in_hall: HallRunner, run: Runner, tmp_path: Path
) -> None:
    run_in_hall(solve_into("warm"))  # modules are loaded while they may be read
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # a parallel run is one folder deeper
        folder.chmod(folder.stat().st_mode | 0o755)
    (tmp_path / "out").mkdir(mode=0o555)
    with as_nobody():
        answer = run(["solve", "problem.yaml", "-o", "out"])
    assert_refused(answer, "out/problem.xlsx", "permission denied")


def test_a_file_in_place_of_the_folder_is_named(run_in_hall: HallRunner, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    assert_refused(run_in_hall(solve_into("out")), "out/problem.xlsx", "file exists")
    assert_refused(
        run_in_hall(solve_into("out/deeper")), "out/deeper/problem.xlsx", "not a directory"
    )
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("name", ["problem.xlsx", "problem.plan.json"])
def test_a_folder_in_place_of_a_file_is_named(
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


def test_a_file_cut_short_leaves_nothing_behind(run_in_hall: HallRunner) -> None:
    """The system itself cuts the file short: what a full disk does, without needing one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        answer = run_in_hall(solve_into("out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert answer.exit_code == 2, answer.err
    assert answer.err.startswith("planner: file too large; is a disk, or the folder that TMPDIR")
    assert answer.out == "" and answer.before == answer.after
    gc.collect()  # a ZIP file left open would fail here


def test_a_wrong_source_date_epoch_is_refused(
    run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    answer = run_in_hall(solve_into("."))
    assert answer.exit_code == 2
    wrong = "planner: SOURCE_DATE_EPOCH: 'yesterday' is not seconds since 1970; write for example"
    assert answer.err.startswith(wrong)
    assert answer.before == answer.after


def test_a_closed_standard_output_is_one_line(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'from planner.cli import main; main()' catalog >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("planner: standard output is closed; ")
    assert done.stderr.count("\n") == 1
