"""Files that would never end, or never fit: refused before they are held in memory."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter

from tests.bad_input.conftest import HallRunner, Runner, lay_out_hall
from tests.world.files import SOLVE

READERS = {
    "problem": "solve {}",
    "checked": "check {}",
    "sized": "size {}",
    "overrides": "solve problem.yaml --set @{}",
    "catalog": "catalog --check {}",
    "rules": "compare --rules {}",
    "varied": "sweep problem.yaml --scenarios {} -o out",
    "plan": "verify {}",
    "compared": "compare {0} {0}",
    "simulated": "simulate {}",
}
"""Every command that reads a file, and what kind it reads."""

PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "zero": (lambda path: path.symlink_to("/dev/zero"), "is a device or a socket, not a file"),
    "fifo": (os.mkfifo, "is a pipe, not a file; write its content into a file first"),
    "circle": (
        lambda path: path.symlink_to(path.name),
        "(cannot be read: too many levels of|there is no such file)",
    ),
    "folder": (lambda path: path.mkdir(), "is a folder, not a file; name a file in it"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_plain_file(
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


TEXTS = {
    "list of a million": ("- a\n" * 1_000_000, "more than 500,000 values"),
    "flow of a million": (f"[{'a,' * 1_000_000}a]", "more than 500,000 values"),
    "a million dashes": ("- " * 1_000_000, "nested deeper than 40 levels"),
    "a million questions": ("? " * 1_000_000, "a key must be text"),
    "a million brackets": ("[" * 1_000_000, "nested deeper than 40 levels"),
    "over 5 MB": ("#" * 5_000_001, "is larger than 5 MB, the most that a problem file may have"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_yaml_that_would_not_fit(name: str, run: Runner, tmp_path: Path) -> None:
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
def test_json_that_is_no_plan(name: str, run: Runner, tmp_path: Path) -> None:
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
    "4 million texts": ("xl/sharedStrings.xml", b"<sst>" + b"<si/>" * 4_000_000 + b"</sst>",
                        "more than 3,000,000 elements"),
    "zeros": ("xl/media/x.bin", b"\0" * 200_000_000, "unpacks to more than 150 MB"),
    "entities": (SHEET, BOMB, "it declares entities"),
    "no xml": (SHEET, b"\0\xff<<", "the file is damaged"),
}  # fmt: skip


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", BOOKS)
def test_workbooks_that_would_not_fit(name: str, run: Runner, tmp_path: Path) -> None:
    part, data, said = BOOKS[name]
    with_part(tmp_path / "odd.xlsx", part, data)
    answer = run(["verify", "odd.xlsx"])
    assert answer.exit_code == 2, answer.err
    assert re.fullmatch(r"planner: odd\.xlsx: .+ \[[a-z-]+\]\n", answer.err), answer.err
    assert said in answer.err


NUMBERS = {
    "jobs.0.checkpoint.max_overlap=1e-30": "at least 1e-06",
    "jobs.0.checkpoint.max_overlap=-0.0": "at least 1e-06",
    "jobs.0.failures={per_gpu_day: 1e-300}": "at least 1e-12",
    "jobs.0.failures={per_gpu_day: 1e308}": "not a finite, sensible number",
    "jobs.0.checkpoint.stall=1e-300 s": "0 or at least 1e-09 s",
    "jobs.0.ingest_per_gpu=1e-12 GB/s": "0 or at least 1e-06 GB/s",
    "jobs.0.dataset=5e-324 TB": "0 or at least 1e-09 TB",
    "jobs.0.parallelism={tensor: 8, pipeline: 1, expert_parameters: 8.5}": "8.5 has no unit",
    "site.pue=.inf": "not a finite, sensible number",
    f"site.pue={'9' * 400}": "not a finite, sensible number",
    "site.facility_power=1e-30 MW": "at least 1e-06 kW",
    "site.facility_power=1e15 MW": "more than any cluster can have",
    "budget.capex=nan USD": "cannot read 'nan USD'",
    "budget.capex=1e18 USD": "more than any cluster can have",
    "term={years: 1e-300, electricity: 1 USD/kWh}": "at least 1e-12",
    "storage.fill_limit=1e-300": "at least 1e-06",
    "storage.tolerate_down=-1": "at least 0",
    "storage.tolerate_down=99999999999999999999999": "at most 10,000,000",
    "targets.min_useful_gpus=1e-30": "at least 1e-12",
    "site.rack_classes=null": "expected a mapping of keys to values, found nothing",
    "jobs=null": "expected a list, found nothing",
    "jobs.0=null": "expected a mapping of keys to values, found nothing",
}


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda text: text[:50])
def test_numbers_no_cluster_has(setting: str, run: Runner, tmp_path: Path) -> None:
    lay_out_hall(tmp_path)
    answer = run([*SOLVE.split(), "--set", setting])
    assert answer.exit_code == 2, answer.err
    assert NUMBERS[setting] in answer.err and answer.err.count("\n") == 1
