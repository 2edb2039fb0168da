"""Ctrl-C, heard also where a library loses it: one that turns Python's errors into its own may.

A key that is pressed once must end a command. Until whoever ends it says that it was heard, the
exception comes again.
"""

from __future__ import annotations

import signal
from types import FrameType

_AGAIN_S = 1.0


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
