"""LibreOffice without a window: recalculate a workbook for certain, and read it back."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

SOFFICE = shutil.which("soffice")
needs_office = pytest.mark.skipif(
    SOFFICE is None and not os.environ.get("CI"), reason="soffice is not installed"
)

# Left to itself LibreOffice shows the cached values of a file; 0 makes it always recalculate.
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry"
 xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode"
 oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""

Cells = dict[tuple[str, str], object]


def convert(folder: Path, files: list[Path], kind: str = "xlsx") -> list[Path]:
    """Convert files in one go with a throw-away profile; the results lie in ``folder/out``."""
    assert SOFFICE is not None, "soffice must be installed where CI is set"
    user = folder / "profile" / "user"
    user.mkdir(parents=True, exist_ok=True)
    (user / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
    out = folder / "out"
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [SOFFICE, profile, "--headless", "--convert-to", kind, "--outdir", str(out)]
    # The limit is a guard against hanging: a busy machine may be slow.
    subprocess.run([*command, *map(str, files)], check=True, capture_output=True, timeout=1800)
    return [out / f"{file.stem}.{kind}" for file in files]


@lru_cache(maxsize=32)
def to_read(content: bytes, *, data_only: bool = False) -> Workbook:
    """Return a workbook, opened once for all who only read it.

    Args:
        content: the file.
        data_only: whether its cells hold what they show, not their formulas.
    """
    return openpyxl.load_workbook(io.BytesIO(content), data_only=data_only)


@lru_cache(maxsize=32)
def _read(content: bytes) -> tuple[Cells, dict[str, tuple[str, str]]]:
    """Return what every cell of a workbook shows, and where its names point."""
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True, read_only=True)
    try:
        cells = {
            (sheet.title, cell.coordinate): cell.value
            for sheet in book.worksheets
            for row in sheet.iter_rows()
            for cell in row
            if cell.value not in (None, "")
        }
    finally:
        book.close()
    places = {name: next(iter(each.destinations)) for name, each in book.defined_names.items()}
    return cells, places


def values(source: Path | bytes) -> Cells:
    """Return what every cell shows, by sheet and address; blank or empty ones left out."""
    cells, _ = _read(source if isinstance(source, bytes) else source.read_bytes())
    return cells.copy()


def named(source: Path, cells: Cells) -> dict[str, object]:
    """Return the values of all defined names."""
    _, places = _read(source.read_bytes())
    return {
        name: cells.get((sheet, address.replace("$", "")))
        for name, (sheet, address) in places.items()
    }
