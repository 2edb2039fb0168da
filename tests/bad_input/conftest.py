"""Runs the real command line in this process, which is faster than one process each."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from planner import cli, process
from tests.world.files import FILES


@dataclass(frozen=True)
class Answer:
    """What a command said, and how the folder changed."""

    exit_code: int
    out: str
    err: str
    before: frozenset[str]
    after: frozenset[str]


Runner = Callable[[list[str]], Answer]
HallRunner = Callable[[str], Answer]


def listing(folder: Path) -> frozenset[str]:
    """Return every path in ``folder``, hidden ones too."""
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    """Return what runs a command line in an own folder."""
    monkeypatch.chdir(tmp_path)

    def command(arguments: list[str]) -> Answer:
        before = listing(tmp_path)
        code = process.run(partial(cli.app, arguments))
        said = capsys.readouterr()
        return Answer(code, said.out, said.err, before, listing(tmp_path))

    return command


def lay_out_hall(folder: Path) -> None:
    """Write the files of a small hall."""
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")


@pytest.fixture
def run_in_hall(run: Runner, tmp_path: Path) -> HallRunner:
    """Return what runs a command line beside the files of a small hall."""

    def command(line: str) -> Answer:
        lay_out_hall(tmp_path)
        return run(shlex.split(line))

    return command
