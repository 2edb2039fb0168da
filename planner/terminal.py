"""Text for the terminal: wrapped to its width, without control characters.

Names come from problems, catalogs, plans and traces of others. A control character among them could
move the cursor, hide a line or rename the window, so none is ever written.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import typer

from planner.errors import PlannerError

STANDARD = 100
"""Columns where there is no terminal, so that files and pipes get the same text anywhere."""

_NARROWEST, _WIDEST = 40, 240
_DATA = ("{", "[")
"""What JSON begins with."""
_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_COMMAND = re.compile(r"\s*(- )?(\$ )?planner ")

_columns = STANDARD
_passing = ""
_ONE_AT_A_TIME = RLock()


class OutputError(PlannerError):
    """Standard output takes no more (exit code 2)."""

    exit_code = 2


def width() -> int:
    """Return the columns of a line of text."""
    return _columns


def follow() -> None:
    """Take the width of the terminal from now on, or by COLUMNS.

    Many programs pass COLUMNS on to those that write into files, so it counts on a terminal only.
    """
    global _columns
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and len(asked) < 6:
        found = int(asked)
    _columns = min(max(found or STANDARD, _NARROWEST), _WIDEST)


@contextmanager
def as_wide(columns: int) -> Iterator[None]:
    """Temporarily set the wrap width."""
    global _columns
    before, _columns = _columns, min(max(columns, _NARROWEST), _WIDEST)
    try:
        yield
    finally:
        _columns = before


def say(
    text: str,
    *,
    err: bool = False,
    nl: bool = True,
    styled: bool = False,
) -> None:
    """Write a text to standard output or standard error.

    Args:
        err: to standard error.
        nl: end the line.
        styled: the text is laid out already, its names harmless and its escape sequences meant.

    Raises:
        OutputError: standard output takes no more.
        BrokenPipeError: whoever read it has left.
    """
    show("")
    try:
        shown = text if styled else harmless(text) if err else fitted(harmless(text))
        typer.echo(shown, err=err, nl=nl)
    except OSError as error:
        if err:  # there is nowhere left to say it
            return
        if error.errno == errno.EPIPE:
            raise
        discard()
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"cannot write the output: {reason}") from None


def show(line: str) -> None:
    """Show a line on the terminal of standard error until the next output.

    Args:
        line: text that replaces the current line; empty for none.
    """
    global _passing
    with _ONE_AT_A_TIME:
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
    """Return a text without control characters; those of JSON are escaped."""
    if text.startswith(_DATA):
        return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return text


def fitted(text: str) -> str:
    """Return a text whose lines fit a narrow terminal; tables and JSON are made for a wide one."""
    if _columns >= STANDARD or text.startswith(_DATA):
        return text
    return "\n".join(part for line in text.split("\n") for part in _folded(line))


def _folded(line: str) -> list[str]:
    """A line wrapped to the width; a command to copy stays in one."""
    if len(line) <= _columns or _COMMAND.match(line):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    hanging = indent[: _columns // 2] + "    "
    return textwrap.wrap(
        line,
        _columns,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def discard() -> None:
    """Drop buffered output, so that the process ends without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_closed_streams() -> None:
    """Replace standard streams that the parent process closed by the null device.

    Otherwise the next opened file would take the place of one, and get what a library prints.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, "r", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
