"""The Python examples run and print figures."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from planner.cli import app
from tests.smoke import COMMANDS

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_a_plan(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path))
    printed = capsys.readouterr().out
    assert "PFLOP/s" in printed
    assert "nan" not in printed.lower()


# `.ci/smoke` tries each command in a process of its own: here that it leaves none out.


def commands(group: object, name: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every command, and whether it prints JSON on demand."""
    for word, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{word} ")
        else:
            yield name + word, any("--json" in option.opts for option in command.params)


def test_every_command_is_tried_with_json_where_it_has_it() -> None:
    for name, has_json in commands(typer.main.get_command(app)):
        tried = [line for line in COMMANDS if line[2:].startswith(f"{name} ")]
        assert tried, name
        assert any("--json" in line for line in tried) == has_json, name
