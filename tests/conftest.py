"""What the whole suite shares: work that thousands of tests would do again is done once."""

from __future__ import annotations

import gc
import os
import pickle
import re
import signal
import tempfile
from collections.abc import Iterator
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any

import pytest
import typer.main
import typer.testing
from hypothesis import settings
from openpyxl.worksheet.merge import MergedCellRange

from planner.analysis import explain
from planner.inputs import Document
from planner.loader import documents
from tests.world import solved
from tests.world.files import FILES

gc.set_threshold(100_000, 50, 50)  # most of what is made stays

# How long an example takes says how busy the machine is: no test depends on that.
settings.register_profile("planner", deadline=None)
settings.load_profile("planner")

# A shell's background job is deaf to Ctrl-C, and so is whatever it starts: tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


os.environ.setdefault("SOURCE_DATE_EPOCH", "1795305600")  # 2026-11-22: how old prices are then

KEPT = 4
"""So many of a family of exhaustive tests are run all the same, spread over it."""
LONGEST = (
    "test_problems.py", "test_exactness.py", "test_portfolio.py", "test_program.py", "test_docs.py",
    "test_pool.py", "test_plan_figures.py", "test_edited.py", "test_explore.py",
    "test_characterize_command.py", "test_arrays.py", "test_settings.py", "test_faults.py",
    "test_endings.py", "test_explain.py", "test_frontier.py",
)  # fmt: skip
"""Files begun first: plans that others ask for, then the longest."""
SEARCHED_ANEW = {
    "test_cli.py",
    "test_exactness.py",
    "test_terminal.py",
    "test_properties.py",
    "test_time_and_work.py",
}
"""Files that change what searches, watch it, or ask whether it does the same twice."""
EXPLANATION = solved.explained_once(explain.explain)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all` and `--every`."""
    parser.addoption("--all", action="store_true", help="run the exhaustive tests too")
    parser.addoption("--every", action="store_true", help="every draw of random families as well")


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder in which all processes of this run keep the plans they found."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="planner-tests-")
        os.environ[solved.FOLDER] = folder.name
        config.add_cleanup(folder.cleanup)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Thin the families of exhaustive tests without `--all`; put the longest files first.

    A family is a function with all its parameters. `@pytest.mark.exhaustive` keeps a few of it,
    `@pytest.mark.exhaustive(keep=N)` so many. Of a family with `most=N`, whose parameters are draws
    of one kind, `--all` runs so many and `--every` all.
    """
    if not config.getoption("--every"):
        families: dict[str, list[pytest.Item]] = {}
        for item in items:
            if item.get_closest_marker("exhaustive"):
                families.setdefault(item.nodeid.split("[")[0], []).append(item)
        whole = config.getoption("--all")
        thinned = (_thinned(family, whole=whole) for family in families.values())
        left_out = {item.nodeid for family in thinned for item in family}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_collection_finish() -> None:
    """Leave what collecting has made out of every garbage collection to come: it stays."""
    gc.collect()
    gc.freeze()


def _thinned(family: list[pytest.Item], *, whole: bool) -> list[pytest.Item]:
    """Return the tests of a family that are left out: all but some at equal distances."""
    marker = family[0].get_closest_marker("exhaustive")
    assert marker is not None
    few, most = marker.kwargs.get("keep", KEPT), marker.kwargs.get("most", len(family))
    keep = most if whole else min(few, most)
    if keep >= len(family):
        return []
    kept = {place * len(family) // keep for place in range(keep)}
    return [item for place, item in enumerate(family) if place not in kept]


@pytest.fixture(autouse=True, scope="session")
def catalogs_are_parsed_once() -> Iterator[None]:
    """Parse a catalog of the same name and text once; nothing changes a parsed one."""
    parse = documents.parse
    known = lru_cache(maxsize=None)(parse)

    def parsed(text: str, file: str) -> Document:
        is_catalog = re.search("^(catalog|price_book):", text, re.MULTILINE)
        return known(text, file) if is_catalog else parse(text, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "parse", parsed)
        yield


@pytest.fixture(autouse=True, scope="session")
def commands_are_made_of_their_functions_once() -> Iterator[None]:
    """Keep what typer makes of a command line, which takes longer than most commands."""
    made = lru_cache(maxsize=None)(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", made)
        patch.setattr(typer.testing, "_get_command", made)
        yield


@pytest.fixture(autouse=True, scope="session")
def merged_cells_are_read_without_their_borders() -> Iterator[None]:
    """Skip what takes openpyxl a quarter of the time of opening a workbook."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MergedCellRange, "format", lambda merged: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def panels_of_pages_are_drawn_once() -> Iterator[None]:
    """Draw the same panel once: most pages that tests make show the same studies."""
    picture = import_module("planner.report.charts")
    draw = picture.svg_element
    known: dict[bytes, str] = {}

    @wraps(draw)
    def drawn(chart: Any, place: str) -> str:
        key = pickle.dumps((chart, place))
        if key not in known:
            known[key] = draw(chart, place)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(picture, "svg_element", drawn)
        yield


@pytest.fixture(autouse=True)
def _explained_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Explain a problem once, but for tests of the search itself."""
    if request.path.name in SEARCHED_ANEW or request.path.parent.name == "optimizer":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explain, "explain", EXPLANATION)
        yield


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a small problem with its catalog and prices, for reading only."""
    folder = tmp_path_factory.mktemp("small")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    return str(folder / "problem.yaml")
