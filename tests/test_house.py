"""The house as `docs/developing.md` describes it: what it names is there, recipes touch no more."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
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
    assert missing <= {OPTIONS_OF_COMMANDS, "shipped.py", "removed.py", "version.py"}


def test_what_commands_write_is_not_kept_in_the_root() -> None:
    """Somebody who clones it finds no results of runs that nobody can place."""
    listed = subprocess.run(
        ["git", "ls-files", "--", ":(glob)*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a repository")
    results = (".csv", ".html", ".json", ".parquet", ".png", ".svg", ".xlsx")
    assert [name for name in listed.stdout.split() if name.endswith(results)] == []


SAY_NOTHING = {
    "drawn", "good", "kit", "kitting", "said", "told",
}  # fmt: skip
CLOCKS = {"time.time", "time.perf_counter", "datetime.now", "date.today"}


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules under a folder."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def test_modules_define_nothing_of_a_name_that_says_nothing() -> None:
    tables, wrong = [], []
    for path, tree in parsed("planner"):
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                tables += [path] * (node.name == "Table")
                wrong += [(path, node.name)] * (node.name.casefold() in SAY_NOTHING)
    assert wrong == []
    assert tables == ["planner/outputs/blocks.py"]


def test_no_test_reads_the_clock() -> None:
    """`time.monotonic` guards against hanging."""
    read = [
        (path, ast.unparse(node))
        for path, tree in parsed("tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS
    ]
    assert read == []


def recipe(heading: str) -> set[str]:
    """Return the files that the tables of a recipe list."""
    _, _, rest = PAGE.partition(f"### {heading}\n")
    rows = (line for line in rest.partition("\n### ")[0].splitlines() if line.startswith("| `"))
    return {path for row in rows for path in re.findall(r"`(planner/[\w./]*)`", row.split("|")[1])}


def naming(pattern: str) -> set[str]:
    """Return the files of the product in which a pattern occurs."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / "planner").rglob("*.py")
        if re.search(pattern, path.read_text("utf-8"))
    }


def test_a_limit_is_a_field_and_a_row() -> None:
    """Rows, reports, levers, cells and setters follow: only the files of the recipe know of it."""
    known = naming(r"site\.weight_limit|alias=.weight_limit|row\.name == .weight.")
    assert known == {"planner/limits.py", "planner/schema/site.py"}
    assert known < recipe("A limit on a sum over the bill")


def test_a_limit_on_a_new_figure_touches_five_files() -> None:
    """And a budget has its field in another one."""
    files = recipe("A limit on a sum over the bill") - {"planner/schema/problem.py"}
    assert files == {
        "planner/schema/catalog.py", "planner/schema/plan.py", "planner/schema/site.py",
        "planner/figures.py", "planner/limits.py",
    }  # fmt: skip
    # What adds it up, shows it or checks it knows it from the table alone.
    followers = naming(r"\bSTATED\b") - files
    assert {path.split("/")[1] for path in followers} >= {"assemble", "case", "outputs", "verifier"}
    named = naming(r"\b(line|totals|row|self)\.(unit_)?weight_kg\b")
    assert not followers & named


def test_an_objective_is_a_row() -> None:
    """What only `minimize: heat` needs stands in the files of the recipe."""
    known = naming(r"""["']heat["'](?!\s*:)""")
    columns = {path for path in known if path.startswith("planner/workbook/")}
    assert known - columns <= recipe("An objective")
    assert len(recipe("An objective")) == 2
