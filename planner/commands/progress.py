"""How far a long command has come: a line on the terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[int, int], None]


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
