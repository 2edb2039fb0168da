"""What the whole suite shares: work that thousands of tests would do again is done once."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from functools import lru_cache

import pytest
from openpyxl.workbook import Workbook
from openpyxl.worksheet.merge import MergedCellRange

from planner import audit
from planner.audit.reader import Opened
from planner.inputs import Document
from planner.loader import yaml12
from planner.outputs.workbook.data import Packed
from planner.outputs.workbook.inputs import InputCell
from planner.schema.plan import Plan
from tests.bad_input.world import FILES

gc.set_threshold(100_000, 50, 50)  # as the command line does: most of what is made stays

# A shell's background job is deaf to Ctrl-C, and so is whatever it starts: tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def catalogs_are_parsed_once() -> Iterator[None]:
    """Parse a catalog of the same name and text once; nothing changes a parsed one."""
    parse = yaml12.parse
    known = lru_cache(maxsize=None)(parse)

    def parsed(text: str, file: str, what: str = "problem file") -> Document:
        return parse(text, file, what) if what == "problem file" else known(text, file, what)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml12, "parse", parsed)
        yield


@pytest.fixture(autouse=True, scope="session")
def merged_cells_are_read_without_their_borders() -> Iterator[None]:
    """Skip what takes openpyxl a quarter of the time of opening a workbook."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MergedCellRange, "format", lambda merged: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def audits_compare_with_one_copy() -> Iterator[None]:
    """Write and open once what edits of a workbook are compared with; nothing changes it."""
    write = audit._written
    known: dict[Packed, tuple[Workbook, tuple[InputCell, ...]]] = {}

    def written(opened: Opened, plan: Plan) -> tuple[Workbook, tuple[InputCell, ...]]:
        if opened.packed not in known:
            known[opened.packed] = write(opened, plan)
        return known[opened.packed]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "_written", written)
        yield


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a small problem with its catalog and prices, for reading only."""
    folder = tmp_path_factory.mktemp("small")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    return str(folder / "problem.yaml")
