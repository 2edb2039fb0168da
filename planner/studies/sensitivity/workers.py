"""Pieces of work on all cores: in this process, or in others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Literal

from planner.processes import LOST, Processes
from planner.studies.sensitivity.options import Answer
from planner.studies.sensitivity.rows import blank
from planner.studies.sensitivity.scenario import Row, Scenario
from planner.studies.sensitivity.work import Work

Piece = tuple[Scenario, ...]
Numbered = tuple[int, Piece]
What = Literal["answers", "rows"]
REASON_LOST = "the process that worked on this scenario was ended again and again"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def do(work: Work, what: What, piece: Piece) -> list[Any]:
    """Return the answers or rows of a piece."""
    return work.rows(piece) if what == "rows" else work.answers(piece)


def lost(what: What, piece: Piece, reason: str = "") -> list[Any]:
    """Return what is told of a piece that no worker came back from, or came back with an error."""
    answers = [Answer(scenario, "failed", reason=reason or REASON_LOST) for scenario in piece]
    return [blank(answer) for answer in answers] if what == "rows" else answers


def _task(work: Work, task: tuple[What, Piece]) -> list[Any]:
    return do(work, *task)


class Workers:
    """Processes that work on pieces; with one piece or one core the work is done here.

    A process that is ended by force takes nothing with it: another does its piece.
    """

    def __init__(self, work: Work, jobs: int = 0, pieces: int | None = None) -> None:
        count = min(jobs or cores(), pieces or cores())
        self.work = work
        self.processes = Processes(count, partial(_task, work)) if count > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.processes is not None:
            self.processes.end()

    def answers(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Answer]]]:
        """Yield the answers of each piece under its number, as they come."""
        return self._run("answers", pieces)

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come."""
        return self._run("rows", pieces)

    def _run(self, what: What, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Any]]]:
        if self.processes is None:
            for number, piece in pieces:
                yield number, do(self.work, what, piece)
            return
        tasks = ((number, (what, piece)) for number, piece in pieces)
        for (number, (_, piece)), found in self.processes.results(tasks):
            yield number, lost(what, piece) if found is LOST else found
