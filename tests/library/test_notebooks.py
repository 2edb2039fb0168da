"""The notebooks: what the script writes, one for each study, each cell run as it stands."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from planner.schema import Shown
from tests.world.commands import script

notebooks = script("make_notebooks")
NAMES = tuple(notebooks.NOTEBOOKS)


def test_notebooks_are_those_of_their_script() -> None:
    assert sorted(path.stem for path in notebooks.FOLDER.iterdir()) == sorted(NAMES)
    for name, parts in notebooks.NOTEBOOKS.items():
        written = (notebooks.FOLDER / f"{name}.ipynb").read_text("utf-8")
        assert written == notebooks.notebook(parts), "run python scripts/make_notebooks.py"


def cells(name: str) -> list[dict[str, Any]]:
    whole = json.loads((notebooks.FOLDER / f"{name}.ipynb").read_text("utf-8"))
    found: list[dict[str, Any]] = whole["cells"]
    return found


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, where that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    rest = ast.Module(tree.body[:-1], [])
    exec(compile(rest, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    values = [
        shown("".join(cell["source"]), names) for cell in cells(name) if cell["cell_type"] == "code"
    ]
    assert capsys.readouterr() == ("", "")
    pages = [value._repr_html_() for value in values if isinstance(value, Shown)]
    assert all(page.startswith("<h3>") for page in pages)
    assert pages
    for value in values:
        if isinstance(value, pd.DataFrame):
            assert len(value) > 0
            assert len(value.columns) > 1
