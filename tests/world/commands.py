"""A command as a user runs it, in this process: its exit code and both streams."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial

import pytest

from planner import cli


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def ran(*arguments: str) -> Ran:
    """Run a command; an unexpected error fails the test as it is."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("PLANNER_DEBUG", "1")
        patch.setenv("COLUMNS", "100")
        code = cli._run(partial(cli.app, list(arguments)))
    return Ran(code, out.getvalue(), err.getvalue())


once = cache(ran)
"""The same for commands that leave nothing behind: each is run once."""
