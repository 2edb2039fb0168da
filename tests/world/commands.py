"""A command as a user runs it, in this process: its exit code and both streams."""

from __future__ import annotations

import importlib.util
import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import pytest

from planner import cli, process


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
        code = process.run(partial(cli.app, list(arguments)))
    return Ran(code, out.getvalue(), err.getvalue())


once = cache(ran)
"""The same for commands that leave nothing behind: each is run once."""


# The scripts that write pages and pictures: tests ask what they would write.


SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """Return a script by its name, such as ``make_truth``."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
