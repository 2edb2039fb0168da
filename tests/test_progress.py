"""Progress of long commands: a line on a terminal, nothing elsewhere; Ctrl-C says what is kept."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from planner import terminal
from planner.terminal import progress_line

AT_ONCE = (
    "from planner import terminal; terminal.AFTER_S = terminal.EVERY_S = 0.0; "
    "from planner.cli import main; main()"
)
"""Starts the command line with a line for everything that is told, however fast it is."""


TORNADO = ("sweep", "--mode", "tornado", "--vary", "site.pue=1.1:1.3")
FRONTIER = ("sweep", "--mode", "frontier", "--against", "power")


def started(stderr: int, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", AT_ONCE, *arguments]
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
    assert told.endswith(b"\r\x1b[K")
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
    said = told.rpartition("\x1b[K")[2].splitlines()
    assert len(said) == 1
    assert said[0] == "planner: interrupted: nothing was written or changed"
    assert sorted(Path(small).parent.iterdir()) == before


def test_progress_has_the_time_left() -> None:
    line = partial(progress_line, "sweep", "scenarios")
    assert line(30, 120, 10.0) == "sweep: 30 of 120 scenarios, 0:10, about 0:30 left"
    assert line(0, 120, 10.0) == "sweep: 0 of 120 scenarios, 0:10"
    assert line(120, 120, 3660.0) == "sweep: 120 of 120 scenarios, 1:01:00"


def test_a_line_is_cut_to_the_terminal_and_nothing_in_it_steers_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda number: os.terminal_size((20, 5)))
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2, raising=False)
    terminal.show("x\x1b[2J" + "y" * 40)
    assert capsys.readouterr().err == "\r\x1b[K" + "x [2J" + "y" * 14
    terminal.say("done", err=True)
    assert capsys.readouterr().err == "\r\x1b[Kdone\n"
    terminal.show("")
    assert capsys.readouterr().err == ""
