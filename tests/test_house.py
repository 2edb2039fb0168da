"""The house as `docs/developing.md` describes it: what it names is there, recipes touch no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "developing.md").read_text("utf-8")
PACKAGES = sorted(
    path.name for path in (ROOT / "planner").iterdir() if (path / "__init__.py").is_file()
)
MODULES = sorted(
    path.name for path in (ROOT / "planner").glob("*.py") if not path.name.startswith("_")
)
OPTIONS_OF_COMMANDS = "cli_options.py"


def test_every_path_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:planner|tests|docs|catalogs|problems|schemas)/[\w./]*)`", PAGE))
    assert len(named) > 50
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_stands_on_the_page(package: str) -> None:
    assert f"`planner/{package}/" in PAGE


def test_every_module_of_the_top_stands_on_the_page() -> None:
    missing = {name for name in MODULES if f"`planner/{name}`" not in PAGE}
    assert missing <= {OPTIONS_OF_COMMANDS, "shipped.py"}


def test_what_follows_from_the_table_of_limits_names_no_limit_on_weight() -> None:
    """Rows, reports, levers, cells and setters follow: only the files of the recipe know of it."""
    known = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "planner").rglob("*.py")
        if re.search(r"site\.weight_limit|row\.name == .weight.", path.read_text("utf-8"))
    }
    assert known <= {"planner/limits.py", "planner/verifier/limits.py"}


def test_an_objective_is_a_row() -> None:
    """What only `minimize: heat` needs stands in the files of the recipe."""
    known = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "planner").rglob("*.py")
        if re.search(r"""["']heat["'](?!\s*:)""", path.read_text("utf-8"))
    }
    recipe = {"planner/schema/problem.py", "planner/figures.py", "planner/case/money.py"}
    columns = {path for path in known if path.startswith("planner/outputs/workbook/")}
    assert known - columns <= recipe
