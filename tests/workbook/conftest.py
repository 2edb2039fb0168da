"""One run of LibreOffice for every case."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import pytest

from planner.outputs.audience import Audience, Prices
from planner.outputs.workbook import write
from planner.schema.plan import Plan
from tests.workbook.office import convert
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import CASES

CREATED = datetime(2026, 3, 1, 12, 0)


_known: dict[str, bytes] = {}


def written(
    document: Plan,
    audience: Audience = "internal",
    prices: Prices | None = None,
    *,
    appendix: bool = False,
) -> bytes:
    """Return an edition of a plan's workbook, or its appendix; the same is written once."""
    key = f"{audience} {prices} {appendix} {document!r}"
    if key not in _known:
        _known[key] = written_afresh(document, audience, prices, appendix=appendix)
    return _known[key]


def written_afresh(
    document: Plan,
    audience: Audience = "internal",
    prices: Prices | None = None,
    *,
    appendix: bool = False,
) -> bytes:
    """Return an edition of a plan's workbook, or its appendix, written now."""
    stream = io.BytesIO()
    write(document, stream, created=CREATED, audience=audience, prices=prices, appendix=appendix)
    return stream.getvalue()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with workbook and appendix of every case, and that of no plan."""
    base = tmp_path_factory.mktemp("workbooks")
    for name, setup in CASES.items():
        (base / f"{name}.xlsx").write_bytes(written(plan(setup)))
        (base / f"{name}.appendix.xlsx").write_bytes(written(plan(setup), appendix=True))
    (base / "infeasible.xlsx").write_bytes(written(infeasible()))
    return base


@pytest.fixture(scope="session")
def recalculated(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return (written, recalculated) files by case."""
    files = sorted(folder.glob("*.xlsx"))
    return {
        source.stem: (source, result)
        for source, result in zip(files, convert(folder, files), strict=True)
    }
