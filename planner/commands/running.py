"""What a long command does at the terminal: how far it has come, and Ctrl-C heard.

Ctrl-C is heard also where a library loses it: one that turns Python's errors into its own may. A
key that is pressed once must end a command. Until whoever ends it says that it was heard, the
exception comes again. How far it has come is a line on the terminal, nothing anywhere else.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN_S = 1.0

Told = Callable[[int, int], None]


def heed() -> None:
    """Have Ctrl-C heard from now on, unless whoever started this process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGALRM, _stop)


def heard() -> None:
    """Say that it was heard: it comes no more."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    raise KeyboardInterrupt


def _silent(done: int, asked: int) -> None:
    """Say nothing."""


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Told]:
    """Yield what is told how many of how many are done; it shows the rate and the time left."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
    )
    from rich.progress import TimeRemainingColumn as Left
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            """Return the rate as text."""
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s")

    parts = (TextColumn(what), BarColumn(), MofNCompleteColumn(), Rate(), Left())
    with Progress(*parts, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, asked: shown.update(task, completed=done, total=asked)
