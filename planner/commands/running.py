"""Progress of a long command on the terminal, and Ctrl-C.

A library may lose a Ctrl-C, since some turn Python's exceptions into their own; yet one press must
end a command. So the exception is raised again until the command says that it was handled. Progress
is a line on a terminal, and nothing elsewhere.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from types import FrameType

from planner import terminal
from planner.studies.pool import Progress

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
) -> Iterator[Progress]:
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
    course = ProgressLine(command, counts, deadline)
    over = Event()
    clock = Thread(target=course.follow, args=(over,), daemon=True)
    clock.start()
    try:
        yield course.tell
    finally:
        over.set()
        clock.join()
        terminal.show("")


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
            terminal.show(self.line(now))

    def line(self, now: float) -> str:
        """Return the progress at a time: parts done, rate, time left."""
        passed_s = max(now - self.begun, 1e-9)
        done, what = (self.done, self.counts) if self.asked else (_boxes(), "boxes")
        many = f"{done:,} of {self.asked:,} {what}" if self.asked else f"{done:,} {what}"
        parts = [f"{self.command}: {many}" if done or self.asked else self.command]
        parts += [_rate(done / passed_s), clock(passed_s)] if done else [clock(passed_s)]
        if self.asked and 0 < done < self.asked:
            parts.append(f"about {clock(passed_s * (self.asked - done) / done)} left")
        elif math.isfinite(self.deadline):
            parts.append(f"at most {clock(max(0.0, self.deadline - now))} left")
        return ", ".join(parts)


def _boxes() -> int:
    """Boxes of the search so far; it is not imported for that."""
    effort = sys.modules.get("planner.optimizer.effort")
    return 0 if effort is None else int(effort.Effort.boxes)


def _rate(each_s: float) -> str:
    """A rate per second, or per minute where that is below one."""
    if each_s >= 1.0:
        return f"{each_s:,.0f}/s"
    return f"{60.0 * each_s:,.{0 if each_s >= 1 / 6 else 1}f}/min"


def clock(seconds: float) -> str:
    """Return a time as a clock has it: 0:07, 12:30, 1:02:03."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
