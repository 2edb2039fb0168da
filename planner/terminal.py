"""The terminal: text wrapped to its width, without control characters; progress; Ctrl-C.

Names come from problems, catalogs, plans and traces of others. A control character among them could
move the cursor, hide a line or rename the window, so none is ever written.
"""

from __future__ import annotations

import errno
import math
import os
import re
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, RLock, Thread
from types import FrameType

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
    """The columns of a line of text."""
    return _columns


def follow() -> None:
    """Take the width of the terminal from now on, or what COLUMNS says of it.

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
        line: what to show instead of the line that is there; empty for none.
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
    """Whether standard output is a terminal with colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and sys.stdout.isatty()


def harmless(text: str) -> str:
    """A text without control characters; those of JSON are escaped."""
    if text.startswith(_DATA):
        return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return text


def fitted(text: str) -> str:
    """A text whose lines fit a narrow terminal; tables and JSON are made for a wide one."""
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


# Progress of a long command, and Ctrl-C.
#
# A library may lose a Ctrl-C, since some turn Python's exceptions into their own; yet one press
# must end a command. So the exception is raised again until the command says it was handled.

_AGAIN_S = 1.0
AFTER_S, EVERY_S = 1.0, 0.25
"""Seconds until progress is shown, and between its updates."""


def catch_interrupts() -> None:
    """Catch Ctrl-C from now on, unless whoever started this process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGALRM, _stop)


def interrupt_handled() -> None:
    """Stop interrupting: until this is called a caught Ctrl-C is raised again every second."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    raise KeyboardInterrupt


@contextmanager
def show_progress(
    command: str, counts: str = "", *, quiet: bool = False, deadline: float = math.inf
) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a command on a terminal, once it has run for a second.

    Yields the callback that takes the numbers of parts done and of all parts. Until it is called
    the boxes of the search are counted.

    Args:
        command: its name.
        counts: what is counted.
        quiet: show nothing.
        deadline: when it ends at the latest, by ``time.monotonic``.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, asked: None
        return
    line, over = ProgressLine(command, counts, deadline), Event()
    thread = Thread(target=line.follow, args=(over,), daemon=True)
    thread.start()
    try:
        yield line.tell
    finally:
        over.set()
        thread.join()
        show("")


@dataclass
class ProgressLine:
    """Progress of a command since ``begun``, by ``time.monotonic``."""

    command: str
    counts: str = ""
    deadline: float = math.inf
    begun: float = field(default_factory=time.monotonic)
    done: int = 0
    asked: int = 0
    shown: float = -math.inf

    def tell(self, done: int, asked: int) -> None:
        """Take the numbers of parts done and of all parts."""
        self.done, self.asked = done, asked
        self._show()

    def follow(self, over: Event) -> None:
        """Keep the line up to date until it is over."""
        while not over.wait(EVERY_S or 1.0):
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if now - self.begun >= AFTER_S and now - self.shown >= EVERY_S:
            self.shown = now
            show(self.line(now))

    def line(self, now: float) -> str:
        """The progress at a time: parts done, rate, time left."""
        passed_s = max(now - self.begun, 1e-9)
        done, what = (self.done, self.counts) if self.asked else (_boxes(), "boxes")
        many = f"{done:,} of {self.asked:,} {what}" if self.asked else f"{done:,} {what}"
        parts = [f"{self.command}: {many}" if done or self.asked else self.command]
        parts += [_rate(done / passed_s), _clock(passed_s)] if done else [_clock(passed_s)]
        if self.asked and 0 < done < self.asked:
            parts.append(f"about {_clock(passed_s * (self.asked - done) / done)} left")
        elif math.isfinite(self.deadline):
            parts.append(f"at most {_clock(max(0.0, self.deadline - now))} left")
        return ", ".join(parts)


def _boxes() -> int:
    """Boxes of the search so far; it is not imported for that."""
    effort = sys.modules.get("planner.optimizer.effort")
    return 0 if effort is None else int(effort.Effort.boxes)


def _rate(each_s: float) -> str:
    if each_s >= 1.0:
        return f"{each_s:,.0f}/s"
    return f"{60.0 * each_s:,.{0 if each_s >= 1 / 6 else 1}f}/min"


def _clock(seconds: float) -> str:
    """A time as 0:07, 12:30, 1:02:03."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
