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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

from planner.errors import PlannerError

STANDARD = 100
"""Columns where there is no terminal, so that files and pipes get the same text anywhere."""

_NARROWEST, _WIDEST = 40, 240
_JSON = ("{", "[")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")

_columns = STANDARD


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
    """Show a line on a terminal while a command runs: parts done, time passed, time left.

    Yields the callback that takes the numbers of parts done and of all parts.

    Args:
        command: its name.
        counts: the name of the parts.
        quiet: show nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield ignore
        return
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()
    plain: Any = {"redirect_stdout": False, "redirect_stderr": False, "transient": True}
    with Line(*columns, console=Console(stderr=True), **plain) as line:
        task = line.add_task(command, total=None)

        def count(done: int, asked: int) -> None:
            text = f"{command}: {done:,} of {asked:,} {counts}"
            line.update(task, description=text, completed=done, total=asked)

        yield count
