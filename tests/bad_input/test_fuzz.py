"""Random damage to good files: every ending is a known one, and says itself in plain lines."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner import cli, shipped
from tests.world.files import BILL_FILES, FILES

SHIPPED = shipped.problem_files()["10MW"].read_text("utf-8")
CHUNKS = [
    "\t",
    "\n",
    " ",
    ":",
    "- ",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "#",
    "&a ",
    "*a",
    "!!x ",
    "%",
    "null",
    "true",
    ".nan",
    ".inf",
    "-1",
    "0",
    "1e999",
    "0x1F",
    "1.5",
    "1_000",
    "10 MW",
    "5 s",
    "12 Gb/s",
    "70 B",
    "[]",
    "{}",
    "é",
    "\u2028",
    "😀",
    "\x00",
    "\x1b[31m",
    "<<: ",
    "---\n",
    "9" * 400,
]
CODES = {0, 2}


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Return ``text`` with one to four places deleted, doubled, replaced or swapped."""
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("delete", "double", "insert", "value", "line", "swap")))
        if kind in {"delete", "double", "insert"}:
            start = draw(st.integers(0, len(text)))
            end = min(len(text), start + draw(st.integers(1, 12)))
            old = text[start:end]
            new = {"delete": "", "double": old * 2}.get(kind) or (
                "" if kind == "delete" else draw(st.sampled_from(CHUNKS))
            )
            text = text[:start] + new + text[end:]
        else:
            text = _line_damaged(draw, text, kind)
    return text


def _line_damaged(draw: st.DrawFn, text: str, kind: str) -> str:
    lines = text.split("\n")
    index = draw(st.integers(0, len(lines) - 1))
    other = draw(st.integers(0, len(lines) - 1))
    if kind == "value":
        new = draw(st.sampled_from(CHUNKS))
        lines[index] = re.sub(r": .*", lambda _: ": " + new, lines[index], count=1)
    elif kind == "line":
        lines.insert(other, lines[index])
    else:
        lines[index], lines[other] = lines[other], lines[index]
    return "\n".join(lines)


def ending(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli._run(partial(cli.app, arguments))
    return code, out.getvalue(), err.getvalue()


def assert_plain(code: int, out: str, err: str) -> None:
    assert code in CODES, err
    assert err == ""
    assert not re.search("Traceback|internal error|<class|object at 0x", out)
    lines = out.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert bool(errors) == (code == 2), out
    assert all(re.fullmatch(r"(error|warning): .* \[[a-z0-9-]+\]", line) for line in lines[:-1])


@pytest.fixture(scope="module")
def folder() -> object:
    """Return a folder of the test's own and work in it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        yield Path(name)
        os.chdir(before)


BOUNDED = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.exhaustive(keep=0)
@settings(BOUNDED, max_examples=40)
@given(text=damaged(SHIPPED))
def test_a_damaged_shipped_problem(text: str, folder: Path) -> None:
    (folder / "problem.yaml").write_text(text, "utf-8")
    assert_plain(*ending(["check", "problem.yaml"]))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["own.yaml", "book.yaml"])
def test_a_damaged_catalog_or_price_book(name: str, folder: Path) -> None:
    @BOUNDED
    @given(text=damaged(FILES[name]))
    def check(text: str) -> None:
        for other, content in FILES.items():
            (folder / other).write_text(text if other == name else content, "utf-8")
        assert_plain(*ending(["check", "problem.yaml"]))

    check()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["problem.yaml", "own.yaml", "net.yaml", "net_book.yaml"])
def test_a_damaged_bill(name: str, folder: Path) -> None:
    @settings(BOUNDED, max_examples=50)
    @given(text=damaged(BILL_FILES[name]))
    def check(text: str) -> None:
        for other, content in BILL_FILES.items():
            (folder / other).write_text(text if other == name else content, "utf-8")
        assert_plain(*ending(["check", "problem.yaml"]))

    check()
