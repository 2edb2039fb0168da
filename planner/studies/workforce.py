"""Runs the tasks of a study: in this process, in others on all cores, or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self

from planner.currency import Currency, current, known, rates, shown_in
from planner.errors import Finding, InputError, PlannerError
from planner.processes import (
    LOST,
    Lost,
    Processes,
    Progress,
    Task,
    TaskProgress,
    ignore,
    progress_to,
)

SECONDS_ALONE = 3.0
"""So many seconds of a processor are worked here before other processes are started."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workforce:
    """Does tasks in this process, in others too once that takes a while, or on a Dask cluster.

    All show money in the currency in which it is shown here. A process that is ended by force takes
    nothing with it: another does its task.

    Args:
        do: what is done with each task.
        jobs: how many processes to use, 0 for as many as there are cores.
        tasks: how many there are, where that is known.
        dask: the address of a Dask scheduler whose workers do them instead.
        alone_s: after how many seconds of a processor others are started; None for at once.
        progress: is called with what tasks tell while they are done, here or elsewhere.
        kept: whether what is done is kept where a cluster goes for good.

    Raises:
        InputError: there is no such scheduler.
    """

    def __init__(
        self,
        do: Callable[[Any], Any],
        *,
        jobs: int = 0,
        tasks: int | None = None,
        dask: str | None = None,
        alone_s: float | None = SECONDS_ALONE,
        progress: TaskProgress = ignore,
        kept: bool = False,
    ) -> None:
        self.do = do = partial(_with_money, current(), rates(), do)
        self._progress = progress
        self.others: Processes | Cluster | None = None
        count = min(jobs or cores(), tasks or cores())
        if dask is not None:
            self.others = Cluster(do, dask, kept=kept)
        elif count > 1:
            self.others = Processes(count, do, alone_s=alone_s, progress=progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.others is not None:
            self.others.end()

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result, or with what is ``Lost`` of it, as they come."""
        if self.others is not None:
            yield from self.others.results(tasks)
            return
        for key, task in tasks:
            with progress_to(partial(self._progress, key)):
                found = self.do(task)
            yield (key, task), found


def _with_money(
    currency: Currency, read: Mapping[str, Currency], do: Callable[[Any], Any], task: Any
) -> Any:
    """Do a task with money shown, and read, in the currencies of the process that began it."""
    with shown_in(currency), known(read):
        return do(task)


class Waiting(Iterator[Task]):
    """Tasks that wait to be done; more may come while others are under way."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = deque(tasks)

    def __next__(self) -> Task:
        if not self._tasks:
            raise StopIteration
        return self._tasks.popleft()

    def first(self, tasks: Iterable[Task]) -> None:
        """Have further tasks done before those that wait."""
        self._tasks.extendleft(reversed(list(tasks)))


class Tally:
    """Adds up how much is done of tasks of different sizes, and reports the sum as it grows."""

    def __init__(self, sizes: dict[Hashable, int], progress: Progress) -> None:
        self._sizes, self._report = sizes, progress
        self._done: dict[Hashable, int] = {}

    def advance(self, key: Hashable, count: int) -> None:
        """Note how much of a task is done."""
        self._done[key] = min(count, self._sizes[key])
        self._report(sum(self._done.values()), sum(self._sizes.values()))

    def finish(self, key: Hashable) -> None:
        """Note that all of a task is done."""
        self.advance(key, self._sizes[key])


def run_tasks(
    do: Callable[[Any], Any],
    tasks: Waiting,
    sizes: dict[Hashable, int],
    progress: Progress,
    *,
    jobs: int,
    dask: str | None,
    alone_s: float | None,
) -> Iterator[tuple[Hashable, Any]]:
    """Do tasks and yield the result of each with its key, in the order in which they end.

    Args:
        do: what is done with each task.
        tasks: the tasks, to which more may be added meanwhile.
        sizes: how much each of them counts, those to come included.
        progress: is called with how much of all is done.
        jobs: how many processes to use, 0 for as many as there are cores.
        dask: the address of a Dask scheduler whose workers do them instead.
        alone_s: after how many seconds of a processor other processes are started.

    Raises:
        PlannerError: what a task raises, or one was given up.
    """
    tally = Tally(sizes, progress)
    force = Workforce(
        partial(_refusing, do),
        jobs=jobs,
        tasks=len(sizes),
        dask=dask,
        alone_s=alone_s,
        progress=tally.advance,
    )
    with force:
        for (key, _), found in force.results(tasks):
            if isinstance(found, Lost):
                raise PlannerError(found.reason or _LOST)
            if isinstance(found, _Refused):
                raise found.error()
            tally.finish(key)
            yield key, found


_LOST = "the processes that worked on a part of it were ended again and again"


class _Refused:
    """An expected failure on its way between processes, which pickling would lose."""

    def __init__(self, error: PlannerError) -> None:
        self._kind, self._args, self._state = type(error), error.args, error.__dict__

    def error(self) -> PlannerError:
        """Return it as it was."""
        found = self._kind.__new__(self._kind)
        found.args = self._args
        found.__dict__.update(self._state)
        return found


def _refusing(do: Callable[[Any], Any], task: Any) -> Any:
    """Return what becomes of a task, its expected failure included."""
    try:
        return do(task)
    except PlannerError as error:
        return _Refused(error)


SECONDS_TO_CONNECT = 10
"""So long is waited for a scheduler's answer: at first, and when it is heard of no more."""
SECONDS_WITHOUT_WORKERS = 15
"""So long is waited for a worker where there is none: one that has ended is often started again."""
AHEAD = 2
"""Tasks handed out for each thread: it does not wait for the next."""

_GONE = ("cancelled", "lost")
"""How a task ends whose needs were on a worker that is no more: it is handed out again."""
_TRIES = 3
_AGAIN = object()
_LOOK_S, _CHECK_S = 0.02, 1.0
_LOUD = ("distributed", "tornado", "asyncio")
"""Who writes pages about a lost connection, which is told in a line here."""
_KEPT = "what is done is kept, and the same command goes on from there"
_ANEW = "the same command then begins anew"


class Cluster:
    """The workers of a Dask scheduler; tasks of a worker that is lost go to another.

    Args:
        do: what is done with each task; it, tasks and results are pickled.
        address: where the scheduler is.
        kept: whether what is done is kept where it goes for good, as is said then.

    Raises:
        InputError: dask.distributed is not installed, or no scheduler answers.
    """

    def __init__(self, do: Callable[[Any], Any], address: str, *, kept: bool = False) -> None:
        self.do, self.address, self._after = do, address, _KEPT if kept else _ANEW
        self._checked = self._manned = time.monotonic()
        try:
            import distributed  # noqa: F401
        except ImportError:
            fix = "pip install 'goldilocks-planner[dask]'"
            raise self._wrong("dask.distributed is not installed", fix) from None
        _be_quiet()
        if address.startswith("tls:") and not _has_certificates():
            fix = "name them in Dask's configuration, distributed.comm.tls"
            raise self._wrong("tls:// needs certificates", fix)
        try:
            self._client = _connected(address)
        except Exception:  # an address can be wrong in many ways
            fix = "give its address, such as tcp://host:8786"
            raise self._wrong("no Dask scheduler answers", fix) from None

    def end(self) -> None:
        """Let the scheduler go, whether it is still there or not."""
        with suppress(Exception):
            self._client.close(timeout=2)

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result, or with what is ``Lost`` of it, as they come.

        Raises:
            InputError: the scheduler or its last worker has gone for good.
        """
        waiting = iter(tasks)
        running: dict[Any, Task] = {}
        tries: Counter[Hashable] = Counter()
        room = AHEAD * self._threads()
        shared = self._shared()
        again: list[Task] = []
        while True:
            for task in [*again, *islice(waiting, max(0, room - len(running) - len(again)))]:
                future = self._client.submit(_done, shared, task[1], pure=False)
                running[future] = task
            again = []
            if not running:
                return
            for future in self._ended(running):
                task = running.pop(future)
                found = self._result(future, last=tries[task[0]] == _TRIES)
                if found is not _AGAIN:
                    yield task, found
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

    def _result(self, future: Any, *, last: bool) -> Any:
        """Return the result of a task that has ended, or that it has to be handed out again."""
        from distributed import KilledWorker

        while future.status not in _GONE:
            if future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    return LOST
                return Lost(f"{type(error).__name__}: {error}")
            try:
                return future.result(timeout=_CHECK_S)
            except Exception:  # it was on a worker that has gone: it is computed again
                self._check()
        return LOST if last else _AGAIN

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
            fix = f"start one with dask worker {self.address}; {self._after}"
            raise self._wrong("the Dask scheduler has no worker", fix)

    def _threads(self) -> int:
        """Return how many threads the workers have, once there is one."""
        self._manned = time.monotonic()
        while not (threads := self._asked(self._client.scheduler.ncores)):
            self._check()
            time.sleep(_LOOK_S)
        return sum(threads.values())

    def _shared(self) -> Any:
        """Give every worker what all tasks need."""
        while True:
            self._threads()
            try:
                return self._client.scatter(self.do, broadcast=True, hash=False)
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
            fix = f"start it again; {self._after}"
            raise self._wrong("the Dask scheduler has gone", fix) from None

    def _wrong(self, message: str, fix: str) -> InputError:
        return InputError(Finding("dask", message, f"--workers {self.address}", fix=fix))


def _done(do: Callable[[Any], Any], task: Any) -> Any:
    return do(task)


def _has_certificates() -> bool:
    """Say whether Dask's configuration names what a client needs for TLS."""
    from distributed import Security

    security: Any = Security
    return security().get_connection_args("client").get("ssl_context") is not None


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
