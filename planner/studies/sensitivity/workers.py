"""Pieces of work, and who does them: this process, others on all cores, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Literal

from planner.errors import Finding, InputError, PlannerError
from planner.inputs import Inputs
from planner.processes import LOST, Processes
from planner.studies.request import DEFAULT_GAP, SweepOptions
from planner.studies.sensitivity.scenarios import Row, Scenario
from planner.studies.sensitivity.solve import (
    Answer,
    Asked,
    Group,
    blank,
    explained,
    groups,
    pieces,
    prepare,
    reason,
    rows,
    solve,
)


@dataclass(frozen=True)
class Work:
    """What every piece of a study needs: the inputs of each base by name, and how to solve."""

    bases: Mapping[str, Inputs]
    options: SweepOptions

    @cached_property
    def _last(self) -> list[Asked]:
        """The last group that was solved here: of it is taken over what is the same."""
        return []

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs."""
        return {"bases": self.bases, "options": self.options}

    def answers(self, scenarios: Sequence[Scenario]) -> list[Answer]:
        """Return the answers of scenarios in their order."""
        found: dict[int, Answer] = {}
        for group in _groups(scenarios):
            _, answers = self._solved(group)
            found |= {answer.scenario.index: answer for answer in answers}
        return [found.get(each.index) or _refused(each) for each in scenarios]

    def rows(self, scenarios: Sequence[Scenario]) -> list[Row]:
        """Return the rows of scenarios in their order, without the columns of inputs."""
        found: dict[int, Row] = {}
        for group in _groups(scenarios):
            found |= self._rows(group)
        return [found.get(each.index) or blank(_refused(each)) for each in scenarios]

    def _rows(self, group: Group) -> dict[int, Row]:
        asked, answers = self._solved(group)
        if asked is None:
            return {each.scenario.index: blank(each) for each in answers}
        try:
            answers = explained(asked, answers)
            made = list(rows(asked, answers))
        except Exception as error:
            return {each.index: blank(_failed(each, error)) for each in group.scenarios}
        return {a.scenario.index: row for a, row in zip(answers, made, strict=True)}

    def _solved(self, group: Group) -> tuple[Asked | None, list[Answer]]:
        """Return a group with its answers; of the one before is taken over what is the same."""
        like = self._last[0] if self._last else None
        try:
            asked = prepare(self.bases[group.base], group, self.options, like)
            self._last[:] = [asked]
        except InputError as error:
            said = reason(error)
            return None, [Answer(each, "invalid", reason=said) for each in group.scenarios]
        try:
            return asked, solve(asked)
        except Exception as error:
            if len(group.scenarios) == 1:
                return None, [_failed(group.scenarios[0], error)]
        # One of them brought the solver down; the others are not to suffer for it.
        alone = [self._solved(part) for part in _apart(group)]
        answers = [answer for _, some in alone for answer in some]
        return asked, answers


def _groups(scenarios: Sequence[Scenario]) -> list[Group]:
    return groups(scenario for scenario in scenarios if not scenario.refused)


def _apart(group: Group) -> Iterator[Group]:
    for scenario in group.scenarios:
        yield Group(group.base, group.shared, group.paths, (scenario,))


def _failed(scenario: Scenario, error: Exception) -> Answer:
    """Return what is told of a scenario that an error of planner's own ended."""
    said = str(error)
    if not isinstance(error, PlannerError):
        said = f"internal error: {type(error).__name__}: {said}"
    return Answer(scenario, "failed", reason=said)


def _refused(scenario: Scenario) -> Answer:
    return Answer(scenario, "invalid", reason=scenario.refused)


SECONDS_ALONE = 3.0
"""So many seconds of a processor are worked here before other processes are started."""

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
    """Those who work on pieces: this process, and others once that has taken a while.

    A process that is ended by force takes nothing with it: another does its piece.
    """

    def __init__(
        self,
        work: Work,
        jobs: int = 0,
        pieces: int | None = None,
        alone_s: float | None = SECONDS_ALONE,
    ) -> None:
        count = min(jobs or cores(), pieces or cores())
        self.work, self.processes = work, None
        if count > 1:
            self.processes = Processes(count, partial(_task, work), alone_s=alone_s)

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


SECONDS_TO_CONNECT = 10
"""So long is waited for a scheduler's answer: at first, and when it is heard of no more."""
SECONDS_WITHOUT_WORKERS = 15
"""So long is waited for a worker where there is none: one that has ended is often started again."""
AHEAD = 2
"""Pieces handed out for each thread: it does not wait for the next."""

_GONE = ("cancelled", "lost")
"""How a piece ends whose needs were on a worker that is no more: it is handed out again."""
_TRIES = 3
_LOOK_S, _CHECK_S = 0.02, 1.0
_LOUD = ("distributed", "tornado", "asyncio")
"""Who writes pages about a lost connection, which is told in a line here."""
_KEPT = "what is done is kept, and the same command goes on from there"


class Cluster:
    """The workers of a Dask scheduler; pieces of a worker that is lost go to another.

    Raises:
        InputError: dask.distributed is not installed, or no scheduler answers.
    """

    def __init__(self, work: Work, address: str) -> None:
        self.work, self.address = work, address
        self._checked = self._manned = time.monotonic()
        try:
            import distributed  # noqa: F401
        except ImportError:
            fix = "pip install 'goldilocks-planner[dask]'"
            raise self._wrong("dask.distributed is not installed", fix) from None
        _be_quiet()
        try:
            self._client = _connected(address)
        except Exception as error:  # an address can be wrong in many ways
            message, fix = "no Dask scheduler answers", "give its address, such as tcp://host:8786"
            if isinstance(error, TypeError) and address.startswith("tls:"):  # no key was given
                message = "tls:// needs certificates"
                fix = "name them in Dask's configuration, distributed.comm.tls"
            raise self._wrong(message, fix) from None

    def close(self) -> None:
        """Let the scheduler go, whether it is still there or not."""
        with suppress(Exception):
            self._client.close(timeout=2)

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come.

        Raises:
            InputError: the scheduler or its last worker has gone for good.
        """
        waiting = iter(pieces)
        running: dict[Any, Numbered] = {}
        tries: Counter[int] = Counter()
        room = AHEAD * self._threads()
        shared = self._shared()
        again: list[Numbered] = []
        while True:
            for task in [*again, *islice(waiting, max(0, room - len(running) - len(again)))]:
                future = self._client.submit(do, shared, "rows", task[1], pure=False)
                running[future] = task
            again = []
            if not running:
                return
            for future in self._ended(running):
                task = running.pop(future)
                rows = self._rows(future, task[1], last=tries[task[0]] == _TRIES)
                if rows is not None:
                    yield task[0], rows
                    continue
                tries[task[0]] += 1
                again.append(task)
            if again and shared.status != "finished":
                shared = self._shared()

    def _ended(self, running: Iterable[Any]) -> list[Any]:
        """Wait until some of what is running has ended, and return it."""
        while True:
            if ended := [future for future in running if future.status != "pending"]:
                return ended
            self._check()
            time.sleep(_LOOK_S)

    def _rows(self, future: Any, piece: Piece, *, last: bool) -> list[Row] | None:
        """Return the rows of a piece that has ended; None where it has to be handed out again."""
        from distributed import KilledWorker

        while future.status not in _GONE:
            if future.status == "error":
                error = future.exception()
                told = "" if isinstance(error, KilledWorker) else f"{type(error).__name__}: {error}"
                return lost("rows", piece, told)
            try:
                rows: list[Row] = future.result(timeout=_CHECK_S)
                return rows
            except Exception:  # they were on a worker that has gone: they are computed again
                self._check()
        return lost("rows", piece) if last else None

    def _check(self) -> None:
        """Make sure, now and then, that there is a scheduler and a worker.

        Raises:
            InputError: there is none any more.
        """
        now = time.monotonic()
        if now < self._checked + _CHECK_S:
            return
        self._checked = now
        if self._asked(self._client.scheduler.ncores):
            self._manned = now
        elif now > self._manned + SECONDS_WITHOUT_WORKERS:
            fix = f"start one with dask worker {self.address}; {_KEPT}"
            raise self._wrong("the Dask scheduler has no worker", fix)

    def _threads(self) -> int:
        """Return how many threads the workers have, once there is one."""
        self._manned = time.monotonic()
        while not (threads := self._asked(self._client.scheduler.ncores)):
            self._check()
            time.sleep(_LOOK_S)
        return sum(threads.values())

    def _shared(self) -> Any:
        """Give every worker what all pieces need."""
        while True:
            self._threads()
            try:
                return self._client.scatter(self.work, broadcast=True, hash=False)
            except Exception:  # the worker has gone in the meantime
                self._check()

    def _asked(self, question: Callable[..., Any]) -> Any:
        """Return what the scheduler says.

        Raises:
            InputError: it has gone.
        """
        while self._client.status == "connecting":  # Dask itself tries to find it again
            time.sleep(_LOOK_S)
        try:
            return self._client.sync(question, callback_timeout=SECONDS_TO_CONNECT)
        except Exception:
            if self._client.status == "connecting":
                return self._asked(question)
            fix = f"start it again; {_KEPT}"
            raise self._wrong("the Dask scheduler has gone", fix) from None

    def _wrong(self, message: str, fix: str) -> InputError:
        return InputError(Finding("dask", message, f"--dask {self.address}", fix=fix))


def _connected(address: str) -> Any:
    """Return a client of a scheduler.

    Dask keeps to its time only until somebody answers at all: whoever does and then says nothing,
    as another program at this port would, is waited for no longer either.
    """
    from distributed import Client

    made: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        client: Any = Client
        try:
            made.put(client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False))
        except BaseException as error:
            made.put(error)

    Thread(target=connect, daemon=True).start()
    found = made.get(timeout=1.5 * SECONDS_TO_CONNECT)
    if isinstance(found, BaseException):
        raise found
    return found


def _be_quiet() -> None:
    """Let no library write beside the one line that says what went wrong."""
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in _LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


__all__ = ["DEFAULT_GAP", "Answer", "SweepOptions", "answers"]


MOST_WHOLE = 600
"""Scenarios that are kept as they are, 200 kB each; those of further answers are packed."""


def answers(
    inputs: Inputs,
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    told: Callable[[int], None] | None = None,
) -> list[Answer]:
    """Return an answer for each scenario, in order; ``told`` hears how many are done."""
    parts = pieces(scenarios)
    found: dict[int, Answer] = {}
    with Workers(Work({"": inputs}, options), options.jobs, len(parts)) as workers:
        for _, done in workers.answers(enumerate(parts)):
            many = len(found) >= MOST_WHOLE
            found |= {each.scenario.index: each.packed() if many else each for each in done}
            if told is not None:
                told(len(found))
    return [found[scenario.index] for scenario in scenarios]
