"""The house as `docs/developing.md` describes it: what it names is there, recipes touch no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "developing.md").read_text("utf-8")


def test_every_path_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:planner|tests|docs|catalogs|problems|schemas)/[\w./]*)`", PAGE))
    assert len(named) > 50
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


CLOCKS = {"time.time", "time.perf_counter", "datetime.now", "date.today"}


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules under a folder."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def test_no_test_reads_the_clock() -> None:
    """`time.monotonic` guards against hanging."""
    read = [
        (path, ast.unparse(node))
        for path, tree in parsed("tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS
    ]
    assert read == []


def test_no_file_spells_the_path_of_the_job() -> None:
    """`planner/paths.py` joins it; `jobs.0` elsewhere would miss problems with several jobs."""
    holders = []
    for path, tree in parsed("planner"):
        shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        if any(id(text) not in shown and "jobs.0" in str(text.value) for text in texts):
            holders.append(path)
    assert holders == []
