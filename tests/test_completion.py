"""What a shell completes, and that help is told whole with an example that can be run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner import shipped
from planner.cli import EXAMPLES
from planner.cli_options import (
    complete_items,
    complete_owned,
    complete_scenarios,
    complete_settings,
)
from tests.world.commands import ran

PLANNER = str(Path(sys.executable).parent / "planner")
COMMAND = SimpleNamespace(params={"problem": shipped.problem_files()["10MW"]})


def completed(shell: str, words: str) -> list[str]:
    """Return what the installed command offers a shell after these words."""
    number = len(words.split(" ")) - 1
    asked = {"bash": {"COMP_WORDS": words, "COMP_CWORD": str(number)}}.get(
        shell, {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    environment = os.environ | asked | {"_PLANNER_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([PLANNER], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_offered_examples(shell: str) -> None:
    assert "enterprise_1MW" in " ".join(completed(shell, "planner init e"))


def test_settings_are_completed_step_by_step() -> None:
    assert complete_settings(COMMAND, "site.facility") == ["site.facility_power="]
    assert "jobs." in complete_settings(COMMAND, "j")
    assert complete_settings(COMMAND, "jobs.") == ["jobs.0."]
    assert "jobs.0.checkpoint." in complete_settings(COMMAND, "jobs.0.ch")
    assert "jobs.0.checkpoint.interval.min=" in complete_settings(
        COMMAND, "jobs.0.checkpoint.interval."
    )
    assert complete_settings(COMMAND, "items.ddn_ai400x2_t") == ["items.ddn_ai400x2_turbo."]
    assert "items.ddn_ai400x2_turbo.max=" in complete_settings(COMMAND, "items.ddn_ai400x2_turbo.m")
    assert complete_settings(COMMAND, "site.facility_power=1") == []
    assert complete_settings(COMMAND, "nothing.of.it") == []


def test_names_are_completed(tmp_path: Path) -> None:
    assert complete_items("ddn_ai400x2_t") == ["ddn_ai400x2_turbo"]
    assert complete_owned("ddn_ai400x2_t") == ["ddn_ai400x2_turbo="]
    assert complete_scenarios(COMMAND, "h") == ["half_power"]
    assert complete_scenarios(SimpleNamespace(params={}), "") == []
    missing = SimpleNamespace(params={"problem": tmp_path / "none.yaml"})
    assert complete_scenarios(missing, "") == []


def test_no_help_is_cut() -> None:
    for group in ((), ("quote",)):
        shown = ran(*group, "--help").out
        assert "..." not in shown.replace("[ARGS]...", ""), group


@pytest.mark.parametrize("command", sorted(EXAMPLES))
def test_the_example_of_a_command_is_one_of_it(command: str) -> None:
    words = shlex.split(EXAMPLES[command])
    assert words[: len(command.split()) + 1] == ["planner", *command.split()]
    shown = ran(*command.split(), "--help").out
    assert f"Example: {EXAMPLES[command][:50]}" in " ".join(shown.split())
    for word in words:
        if word.startswith("--"):
            assert f"{word} " in shown or f"{word}\n" in shown, word
