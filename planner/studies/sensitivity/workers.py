"""Pieces of work on all cores: in this process, in others, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Literal

from planner.errors import PlannerError
from planner.studies.sensitivity.options import Answer
from planner.studies.sensitivity.rows import blank
from planner.studies.sensitivity.scenario import Row, Scenario
from planner.studies.sensitivity.work import Work

Piece = tuple[Scenario, ...]
Numbered = tuple[int, Piece]
What = Literal["answers", "rows"]
AHEAD = 2
"""Pieces handed out for each worker: enough to keep it busy, few enough to keep memory flat."""
MOST_TRIES = 3
NO_START = (
    "worker processes end as soon as they start; a script must call this below "
    "if __name__ == '__main__', or ask for one process"
)
LOST = "the process that worked on this scenario was ended again and again"

_work: Work | None = None


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def do(work: Work, what: What, piece: Piece) -> list[Any]:
    """Return the answers or rows of a piece."""
    return work.rows(piece) if what == "rows" else work.answers(piece)


def lost(what: What, piece: Piece) -> list[Any]:
    """Return what is told of a piece that no worker came back from."""
    answers = [Answer(scenario, "failed", reason=LOST) for scenario in piece]
    return [blank(answer) for answer in answers] if what == "rows" else answers


def _begin(work: Work) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides when to end


def _do(what: What, piece: Piece) -> list[Any]:
    assert _work is not None
    return do(_work, what, piece)


class Workers:
    """Processes that work on pieces; with one piece or one core the work is done here.

    A process that is ended by force takes nothing with it: another does its pieces.
    """

    def __init__(self, work: Work, jobs: int = 0, pieces: int | None = None) -> None:
        self.work = work
        self.count = min(jobs or cores(), pieces or cores())
        self._pool: ProcessPoolExecutor | None = None
        self._proven = False

    def __enter__(self) -> Workers:
        if self.count > 1:
            self._pool = self._started(self.count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(kind is not None)

    def answers(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Answer]]]:
        """Yield the answers of each piece under its number, as they come."""
        return self._run("answers", pieces)

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come."""
        return self._run("rows", pieces)

    def _run(self, what: What, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Any]]]:
        if self._pool is None:
            for number, piece in pieces:
                yield number, do(self.work, what, piece)
            return
        waiting, tries = iter(pieces), dict[int, int]()
        again: list[Numbered] = []
        running: dict[Future[list[Any]], Numbered] = {}
        while True:
            room = self.count * AHEAD - len(running)
            for task in [*again, *islice(waiting, max(0, room - len(again)))]:
                running[self._pool.submit(_do, what, task[1])] = task
            again = []
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            ended = [self._broke(future, running) for future in done]
            broken = [task for task in ended if task is not None]
            for future in done:
                if future in running:
                    number, _ = running.pop(future)
                    yield number, future.result()
            if broken:
                again = self._restart([*broken, *running.values()], tries)
                running = {}
                for number, piece in [t for t in again if tries[t[0]] >= MOST_TRIES]:
                    again.remove((number, piece))
                    yield number, self._alone(what, piece)

    def _broke(
        self, future: Future[list[Any]], running: dict[Future[list[Any]], Numbered]
    ) -> Numbered | None:
        """Take a future whose process was ended out of those running; return its task."""
        if isinstance(future.exception(), BrokenProcessPool):
            return running.pop(future)
        return None

    def _restart(self, tasks: list[Numbered], tries: dict[int, int]) -> list[Numbered]:
        """Start anew; return the tasks that were under way, each with one more try."""
        for number, _ in tasks:
            tries[number] = tries.get(number, 0) + 1
        self._end(True)
        if not self._proven:
            self._require_start()
        self._pool = self._started(self.count)
        return sorted(tasks)

    def _require_start(self) -> None:
        """Make sure that processes can be started at all.

        Raises:
            PlannerError: they end before they have done anything.
        """
        with self._started(1) as pool:
            try:
                pool.submit(int).result()
            except BrokenProcessPool:
                raise PlannerError(NO_START) from None
        self._proven = True

    def _alone(self, what: What, piece: Piece) -> list[Any]:
        """Do a piece in a process of its own, so that it is known which piece ends it."""
        with self._started(1) as pool:
            try:
                return pool.submit(_do, what, piece).result()
            except BrokenProcessPool:
                return lost(what, piece)

    def _started(self, count: int) -> ProcessPoolExecutor:
        context = get_context("spawn")
        return ProcessPoolExecutor(count, context, initializer=_begin, initargs=(self.work,))

    def _end(self, at_once: bool) -> None:
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=not at_once, cancel_futures=True)
        if at_once:
            for process in processes:
                process.kill()
        self._pool = None
