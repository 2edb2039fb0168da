"""`.ci/smoke` tries each command in a process of its own: here that it leaves none out."""

from __future__ import annotations

from collections.abc import Iterator

import typer.main

from planner.cli import app
from tests.smoke import COMMANDS


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
