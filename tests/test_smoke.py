"""Each command once, in a process of its own; `.ci/smoke` does the same for an installation."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator

import typer.main

from planner.cli import app
from tests.smoke import COMMANDS, smoke

PLANNER = shlex.join([sys.executable, "-c", "from planner.cli import main; main()"])


def commands(group: object, name: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every command, and whether it prints JSON on demand."""
    for word, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{word} ")
        else:
            yield name + word, any("--json" in option.opts for option in command.params)


def test_no_command_prints_what_is_not_its_own() -> None:
    assert smoke(PLANNER) == []


def test_every_command_is_tried_with_json_where_it_has_it() -> None:
    for name, has_json in commands(typer.main.get_command(app)):
        tried = [line for line in COMMANDS if line[2:].startswith(f"{name} ")]
        assert tried, name
        assert any("--json" in line for line in tried) == has_json, name
