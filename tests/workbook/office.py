"""LibreOffice without a window: recalculate a workbook for certain, and read it back."""

from __future__ import annotations

import fcntl
import io
import os
import re
import shutil
import subprocess
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from openpyxl.workbook import Workbook

from planner.files import load_bytes
from tests.world.solved import FOLDER

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


def convert(folder: Path, files: list[Path]) -> list[Path]:
    """Recalculate files; the results lie in ``folder/out``.

    What one process of a run has recalculated the others take from it.
    """
    out, kept = folder / "out", Path(os.environ[FOLDER])
    out.mkdir(exist_ok=True)
    known = {file: kept / sha256(file.read_bytes()).hexdigest() for file in files}
    with (kept / "office.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _recalculate(folder, {file: to for file, to in known.items() if not to.exists()})
    results = [out / file.name for file in files]
    for file, result in zip(files, results, strict=True):
        shutil.copyfile(known[file], result)
    return results


def _recalculate(folder: Path, files: dict[Path, Path]) -> None:
    """Convert files in one go with a throw-away profile."""
    assert SOFFICE is not None, "soffice must be installed where CI is set"
    if not files:
        return
    user, fresh = folder / "profile" / "user", folder / "fresh"
    user.mkdir(parents=True, exist_ok=True)
    (user / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [SOFFICE, profile, "--headless", "--convert-to", "xlsx", "--outdir", str(fresh)]
    # The limit is a guard against hanging: a busy machine may be slow.
    subprocess.run([*command, *map(str, files)], check=True, capture_output=True, timeout=1800)
    for file, kept in files.items():
        (fresh / file.name).replace(kept)


@lru_cache(maxsize=32)
def to_read(content: bytes, *, data_only: bool = False) -> Workbook:
    """Return a workbook, opened once for all who only read it.

    Args:
        content: the file.
        data_only: whether its cells hold what they show, not their formulas.
    """
    return load_bytes(io.BytesIO(content), shown=data_only)


@lru_cache(maxsize=32)
def _read(content: bytes) -> tuple[Cells, dict[str, tuple[str, str]]]:
    """Return what every cell of a workbook shows, and where its names point."""
    book = load_bytes(io.BytesIO(content), shown=True)
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


def with_value(sheet: bytes, address: str, value: object) -> bytes:
    """Return the XML of a sheet with a value in a cell that it has."""
    found = re.search(rb'<c r="%b"( s="\d+")?[^>]*?(/>|>.*?</c>)' % address.encode(), sheet)
    assert found is not None, address
    head = b'<c r="%b"%b' % (address.encode(), found[1] or b"")
    if value is None:
        cell = head + b"/>"
    elif isinstance(value, str):
        text = escape(value).encode()
        cell = head + b' t="inlineStr"><is><t xml:space="preserve">%b</t></is></c>' % text
    else:
        assert isinstance(value, (int, float))
        cell = head + b"><v>%b</v></c>" % repr(float(value)).encode()
    return sheet[: found.start()] + cell + sheet[found.end() :]
