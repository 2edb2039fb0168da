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
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from planner import terminal
from planner.terminal import STANDARD, harmless
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


def on_a_terminal(folder: Path, arguments: list[str], columns: int, **environment: str) -> str:
    """Return what a command writes on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-c", START, *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=theirs, env=kept | environment) as running:
        os.close(theirs)
        said = seen(ours)
    os.close(ours)
    assert running.returncode == 0
    return said.decode().replace("\r\n", "\n")


def in_a_pipe(folder: Path, arguments: list[str], **environment: str) -> str:
    command = [sys.executable, "-c", START, *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        env=os.environ | environment,
        check=True,
        text=True,
    ).stdout


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


def test_no_escape_sequence_reaches_the_terminal(world: Path) -> None:
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
        said = on_a_terminal(world, command, 100, NO_COLOR="1")
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in said.replace("\n", "")), command
    data = in_a_pipe(world, ["solve", "problem.yaml", "-o", "out", "--json"])
    assert "\x9b" not in data and json.loads(data)["problem"] == "Hall" + ESCAPE


def test_colours_reach_a_terminal_alone_and_no_name_brings_its_own(world: Path) -> None:
    hostile = json.dumps(f"Buy {ESCAPE}")
    (world / "problem.yaml").write_text(
        PROBLEM.replace(PROBLEM.split("\n")[0], f"name: {hostile}"), "utf-8"
    )
    size = ["size", "problem.yaml"]
    shown = on_a_terminal(world, size, 100, TERM="xterm")
    assert "\x1b[1m" in shown and "Buy" in shown
    plain = "\n".join(line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", shown).split("\n"))
    assert "\x1b" not in plain
    assert plain == on_a_terminal(world, size, 100, NO_COLOR="1")
    assert plain == on_a_terminal(world, size, 100, TERM="dumb") == in_a_pipe(world, size)


def test_harmless_text() -> None:
    assert harmless("a\x1b[2Jb\x9bc\u202ed\r\ne\tf") == "a [2Jb c d \ne f"
    assert harmless("é ü 10 µs, 東京\n") == "é ü 10 µs, 東京\n"
    assert harmless('{"a": "\x9b\x7f"}') == '{"a": "\\u009b\\u007f"}'


def test_an_output_that_cannot_be_written_to(world: Path) -> None:
    command = f"{sys.executable} -c '{START}' size problem.yaml 1</dev/null"
    ended = subprocess.run(
        command, shell=True, cwd=world, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == "planner: cannot write the output: bad file descriptor\n"


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
        ((*TORNADO, "--workers", "1"), b"sweep, tornado: 2 of 2 ends"),
        ((*FRONTIER, "--points", "4"), b" of 3 parts"),
        (("simulate", "--replications", "8"), b"simulate: 8 of 8 runs"),
    ],
)
def test_it_is_on_the_terminal_and_goes(
    arguments: tuple[str, ...], shows: bytes, small: str
) -> None:
    ours, theirs = pty.openpty()
    name, *options = arguments
    with started(theirs, name, small, *options) as process:
        os.close(theirs)
        told, (out, _) = seen(ours), process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert shows in told
    assert told.rstrip().endswith(b"\x1b[2K")
    assert b"\x1b" not in out and b"\r" not in out


@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_of_it_is_in_a_pipe_or_where_it_is_not_wanted(quiet: bool, small: str) -> None:
    words = (*TORNADO, small, "--workers", "1")
    if not quiet:
        with started(subprocess.PIPE, *words) as process:
            assert process.communicate()[1] == b""
        return
    ours, theirs = pty.openpty()
    with started(theirs, *words, "-q") as process:
        os.close(theirs)
        assert seen(ours) == b""
        assert process.communicate()[0]
    os.close(ours)


@pytest.mark.parametrize(
    "arguments",
    [("sweep", "--mode", "uncertain", "--samples", "20000", "--workers", "1"),
     ("simulate", "--replications", "100000")],
)  # fmt: skip
def test_one_key_ends_it_and_it_says_what_is_kept(arguments: tuple[str, ...], small: str) -> None:
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
