"""What a command says: as wide as the terminal, harmless, and sound where streams are closed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fcntl import ioctl
from functools import partial
from pathlib import Path

import pytest

from planner import cli, process, terminal
from planner.terminal import STANDARD, harmless
from tests.world.commands import ran
from tests.world.files import CATALOG, FILES, PROBLEM, changed

START = "from planner.cli import main; main()"
ESCAPE = "\x1b]0;gone\x07\x1b[2J\x9b31m"


@pytest.fixture(autouse=True)
def standard_again() -> Iterator[None]:
    yield
    terminal._columns = STANDARD


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def on_a_terminal(
    folder: Path, arguments: Sequence[str], columns: int = 100, stream: str = "stdout", **env: str
) -> str:
    """Return the output of a command, run in this process, on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as reader:
        told = reader.submit(seen, ours)
        with os.fdopen(theirs, "w", encoding="utf-8") as screen:
            patch.setattr(sys, stream, screen)
            patch.chdir(folder)
            patch.delenv("COLUMNS", raising=False)
            for name, value in env.items():
                patch.setenv(name, value)
            terminal.follow()
            assert process.run(partial(cli.app, list(arguments))) == 0
        said = told.result()
    os.close(ours)
    terminal._columns = STANDARD
    return said.decode().replace("\r\n", "\n")


def in_a_pipe(folder: Path, arguments: list[str]) -> str:
    command = [sys.executable, "-c", START, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True).stdout


def longest(text: str) -> int:
    return max(len(line) for line in text.split("\n") if "planner " not in line)


def figures(text: str) -> list[str]:
    """Return what must never be cut: amounts have a point or a comma, names have none."""
    return sorted(re.findall(r"\d+[.,][\d.,]*\d", text))


def test_text_follows_the_terminal(world: Path) -> None:
    size, plain = ["size", "problem.yaml", "--full"], {"NO_COLOR": "1"}
    piped = in_a_pipe(world, size)
    narrow, wide = (on_a_terminal(world, size, columns, **plain) for columns in (60, 140))
    assert 50 < longest(narrow) <= 60 < longest(piped) <= STANDARD < longest(wide) <= 140
    assert figures(piped) == figures(wide)
    assert set(figures(narrow)) == set(figures(wide)), "a narrow table says some again"
    assert on_a_terminal(world, size, 0, **plain) == piped


def test_no_escape_sequence_reaches_the_terminal(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    hostile = json.dumps(f"Box {ESCAPE}8")
    (world / "own.yaml").write_text(changed(CATALOG, "model: Box 8", f"model: {hostile}"), "utf-8")
    (world / "problem.yaml").write_text(
        PROBLEM.replace(PROBLEM.split("\n")[0], f"name: {json.dumps('Hall' + ESCAPE)}"), "utf-8"
    )
    for command in (
        ["solve", "problem.yaml", "-o", "out"],
        ["catalog", "own.yaml"],
        ["catalog", "gpu_box", "own.yaml"],
    ):
        said = on_a_terminal(world, command, NO_COLOR="1")
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in said.replace("\n", "")), command
    data = ran("solve", "problem.yaml", "-o", "out", "--json").out
    assert "\x9b" not in data and json.loads(data)["problem"] == "Hall" + ESCAPE


def test_colours_reach_a_terminal_alone_and_no_name_brings_its_own(world: Path) -> None:
    hostile = json.dumps(f"Buy {ESCAPE}")
    (world / "problem.yaml").write_text(
        PROBLEM.replace(PROBLEM.split("\n")[0], f"name: {hostile}"), "utf-8"
    )
    size = ["size", "problem.yaml"]
    shown = on_a_terminal(world, size, TERM="xterm")
    assert "\x1b[1m" in shown and "Buy" in shown
    plain = "\n".join(line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", shown).split("\n"))
    assert "\x1b" not in plain
    assert plain == on_a_terminal(world, size, NO_COLOR="1")
    assert plain == on_a_terminal(world, size, TERM="dumb")


def test_control_characters_become_spaces() -> None:
    assert harmless("a\x1b[2Jb\x9bc\u202ed\r\ne\tf") == "a [2Jb c d \ne f"
    assert harmless("é ü 10 µs, 東京\n") == "é ü 10 µs, 東京\n"
    assert harmless('{"a": "\x9b\x7f"}') == '{"a": "\\u009b\\u007f"}'


# Progress of long commands: a line on a terminal, nothing elsewhere; Ctrl-C says what is kept.


TORNADO = ("sweep", "--mode", "tornado", "--vary", "site.pue=1.1:1.3")
FRONTIER = ("sweep", "--mode", "frontier", "--against", "power")


def started(stderr: int, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", START, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)


def seen(ours: int, until: bytes = b"") -> bytes:
    """Return what comes to a terminal, to its end or to a text in it."""
    found = b""
    while not until or until not in found:
        try:
            more = os.read(ours, 65_536)
        except OSError:  # whoever wrote has gone
            break
        if not more:
            break
        found += more
    return found


@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        ((*TORNADO, "--workers", "1"), "sweep, tornado: 2 of 2 ends"),
        ((*FRONTIER, "--points", "4"), " of 3 parts"),
        (("simulate", "--replications", "8"), "simulate: 8 of 8 runs"),
    ],
)
def test_progress_is_on_the_terminal_and_goes(
    arguments: tuple[str, ...],
    shows: str,
    small: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = (arguments[0], small, *arguments[1:])
    told = on_a_terminal(tmp_path, command, stream="stderr")
    out = capsys.readouterr().out
    assert shows in told
    assert told.rstrip().endswith("\x1b[2K")
    assert out and "\x1b" not in out and "\r" not in out
    if arguments[1:3] == TORNADO[1:3]:
        assert on_a_terminal(tmp_path, (*command, "-q"), stream="stderr") == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "--mode", "uncertain", "--samples", "20000", "--workers", "1"),
        ("simulate", "--replications", "100000"),
    ],
)
def test_ctrl_c_ends_a_command_and_states_what_is_kept(
    arguments: tuple[str, ...], small: str
) -> None:
    before = sorted(Path(small).parent.iterdir())
    ours, theirs = pty.openpty()
    name, *options = arguments
    with started(theirs, name, small, *options) as process:
        os.close(theirs)
        seen(ours, name.encode())
        process.send_signal(signal.SIGINT)
        told = seen(ours).decode()
    os.close(ours)
    assert process.returncode == 130
    assert told.splitlines()[-1].endswith("planner: interrupted: nothing was written or changed")
    assert sorted(Path(small).parent.iterdir()) == before
