"""The terminal: its width, text without control characters, progress, Ctrl-C.

Names come from problems, catalogs, plans and traces of others. A control character among them could
move the cursor, hide a line or rename the window, so none is ever written.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, RLock, Thread
from types import FrameType

import typer

from planner.errors import PlannerError

STANDARD = 100
"""Columns where there is no terminal, so that files and pipes get the same text anywhere."""

_NARROWEST, _WIDEST = 40, 240
_JSON = ("{", "[")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")

_columns = STANDARD
_passing = ""
_LOCK = RLock()


class OutputError(PlannerError):
    """Standard output cannot be written (exit code 2)."""

    exit_code = 2


def width() -> int:
    """The columns of a line of text."""
    return _columns


def follow() -> None:
    """Use the width of the terminal from now on."""
    global _columns
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return
    _columns = min(max(found or STANDARD, _NARROWEST), _WIDEST)


def say(text: str, *, err: bool = False, nl: bool = True, styled: bool = False) -> None:
    """Write a text to standard output or standard error.

    Args:
        err: to standard error.
        nl: end the line.
        styled: the text is laid out and harmless already, and its escape sequences are meant.

    Raises:
        OutputError: standard output cannot be written.
        BrokenPipeError: its reader has left.
    """
    show("")
    try:
        typer.echo(text if styled else harmless(text), err=err, nl=nl)
    except OSError as error:
        if err:
            return
        if error.errno == errno.EPIPE:
            raise
        discard()
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"cannot write the output: {reason}") from None


def show(line: str) -> None:
    """Show a passing line on the terminal of standard error until the next output.

    Args:
        line: replaces the passing line; empty for none.
    """
    global _passing
    with _LOCK:
        if not line and not _passing:
            return
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or STANDARD
            sys.stderr.write(f"\r\x1b[K{harmless(line)[: columns - 1]}")
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal has gone
            pass
        _passing = line


def coloured() -> bool:
    """True if standard output is a terminal with colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and sys.stdout.isatty()


def harmless(text: str) -> str:
    """A text without control characters; those of JSON are escaped."""
    if text.startswith(_JSON):
        return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return text


def discard() -> None:
    """Drop buffered output, so that the process ends without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Progress of a long command, and Ctrl-C.
#
# A library may lose a Ctrl-C, since some turn Python's exceptions into their own; yet one press
# must end a command. So the exception is raised again until the command says it was handled.

Progress = Callable[[int, int], None]
"""Called with the numbers of parts done and of all parts."""

_AGAIN_S = 1.0
AFTER_S, EVERY_S = 1.0, 0.25
"""Seconds until progress is shown, and between its updates."""


def catch_interrupts() -> None:
    """Catch Ctrl-C from now on, unless the parent of this process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGALRM, _stop)


def interrupt_handled() -> None:
    """Stop interrupting: until this is called a caught Ctrl-C is raised again every second."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    raise KeyboardInterrupt


def ignore(_: int, __: int) -> None:
    """Show no progress."""


@contextmanager
def show_progress(command: str, counts: str = "", *, quiet: bool = False) -> Iterator[Progress]:
    """Show the progress of a command on a terminal, once it has run for a second.

    Yields the callback that takes the numbers of parts done and of all parts. Until it is called
    the boxes of the search are counted.

    Args:
        command: its name.
        counts: the name of the parts.
        quiet: show nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield ignore
        return
    begun, over, parts = time.monotonic(), Event(), [0, 0]
    shown = [-EVERY_S]

    def update() -> None:
        passed_s = time.monotonic() - begun
        if passed_s >= AFTER_S and passed_s - shown[0] >= EVERY_S:
            shown[0] = passed_s
            show(progress_line(command, counts, parts[0], parts[1], passed_s))

    def count(done: int, asked: int) -> None:
        parts[:] = done, asked
        update()

    def follow_clock() -> None:
        while not over.wait(EVERY_S or 1.0):
            update()

    thread = Thread(target=follow_clock, daemon=True)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join()
        show("")


def progress_line(command: str, counts: str, done: int, asked: int, passed_s: float) -> str:
    """The progress of a command: parts done, time passed, time left."""
    if not asked:
        effort = sys.modules.get("planner.optimizer.search")  # not imported for that
        boxes = 0 if effort is None else int(effort.Effort.boxes)
        return f"{command}: {boxes:,} boxes, {_clock(passed_s)}" if boxes else command
    line = f"{command}: {done:,} of {asked:,} {counts}, {_clock(passed_s)}"
    if 0 < done < asked:
        line += f", about {_clock(passed_s * (asked - done) / done)} left"
    return line


def _clock(seconds: float) -> str:
    """A time as 0:07, 12:30, 1:02:03."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
