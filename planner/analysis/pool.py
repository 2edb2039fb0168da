"""Tasks of an analysis: in this process, in others on all cores, or on a Dask cluster.

A process that dies takes nothing with it: its tasks are submitted again, one at a time, so that a
task that ends every process is found and reported as lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from planner.errors import Finding, InputError, PlannerError

Task = tuple[Hashable, Any]
"""Key and argument."""
Progress = Callable[[int, int], None]
"""Called with the numbers of tasks done and of all tasks."""

SECONDS_ALONE = 3.0
"""CPU time of this process before others are started; each start costs half a second."""
AHEAD = 2
"""Tasks submitted for each process: none waits for its next."""
_CHECK_S = 1.0
MOST_TRIES = 4
"""Processes that may die of a task."""


class Lost:
    """Result of a task that ended every process that worked on it."""

    reason = "the process that worked on this ended again and again"


def ignore(_: object, __: int) -> None:
    """Show no progress."""


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results(
    do: Callable[[Any], Any],
    tasks: Iterable[Task],
    *,
    jobs: int = 0,
    dask: str | None = None,
    alone_s: float = SECONDS_ALONE,
) -> Iterator[tuple[Hashable, Any]]:
    """Yield the result of each task with its key, as they end; ``Lost`` where processes died.

    Args:
        do: function of a task's argument; it, arguments and results are pickled.
        tasks: consumed as needed.
        jobs: number of processes, 0 for the number of cores.
        dask: address of a Dask scheduler to use instead.
        alone_s: CPU time of this process before other processes are started.

    Raises:
        InputError: there is no such scheduler, or it or its last worker has gone.
        PlannerError: raised by a task.
    """
    waiting = iter(tasks)
    if dask is not None:
        with _cluster(dask) as client:
            workers, executor = _Workers(client, dask), client.get_executor(pure=False)
            yield from _submitted(executor, do, waiting, AHEAD * workers.threads(), workers)
        return
    until_s = time.process_time() + alone_s
    count = jobs or cores()
    while count == 1 or time.process_time() < until_s:
        task = next(waiting, None)
        if task is None:
            return
        yield task[0], do(task[1])
    first = list(task for task in (next(waiting, None), next(waiting, None)) if task)
    if len(first) < 2:
        yield from ((key, do(argument)) for key, argument in first)
        return
    yield from _in_processes(do, chain(first, waiting), count)


def all_results(
    do: Callable[[Any], Any],
    tasks: Mapping[Hashable, Any],
    progress: Progress = ignore,
    **how: Any,
) -> dict[Hashable, Any]:
    """Result of each task by its key; see ``results`` for ``how``.

    Raises:
        PlannerError: raised by a task, or processes died of one.
    """
    found: dict[Hashable, Any] = {}
    for key, result in results(do, tasks.items(), **how):
        if isinstance(result, Lost):
            raise PlannerError(result.reason)
        found[key] = result
        progress(len(found), len(tasks))
    return {key: found[key] for key in tasks}


class _BrokenError(Exception):
    """A process died; ``tasks`` were submitted and have no result."""

    def __init__(self, tasks: list[Task]) -> None:
        super().__init__()
        self.tasks = tasks


def _in_processes(
    do: Callable[[Any], Any], waiting: Iterator[Task], count: int
) -> Iterator[tuple[Hashable, Any]]:
    tries: Counter[Hashable] = Counter()
    suspects: deque[Task] = deque()
    while True:
        try:
            with _processes(do, count) as executor:
                yield from _submitted(executor, _call, _drained(suspects), 1)
                yield from _submitted(executor, _call, waiting, AHEAD * count)
                return
        except _BrokenError as broken:
            tries.update(key for key, _ in broken.tasks)
            suspects.extendleft(reversed(broken.tasks))
        for task in [each for each in suspects if tries[each[0]] >= MOST_TRIES]:
            suspects.remove(task)
            yield task[0], Lost()


def _drained(tasks: deque[Task]) -> Iterator[Task]:
    while tasks:
        yield tasks.popleft()


def _submitted(
    executor: Executor,
    call: Callable[[Any], Any],
    waiting: Iterator[Task],
    room: int,
    workers: _Workers | None = None,
) -> Iterator[tuple[Hashable, Any]]:
    """Yield results of an executor that has at most ``room`` tasks at a time."""
    running: dict[Any, Task] = {}
    task: Task | None = None
    try:
        while True:
            while len(running) < room and (task := next(waiting, None)) is not None:
                with _without_script():
                    running[executor.submit(call, task[1])] = task
                task = None
            if not running:
                return
            ended = wait(running, timeout=_CHECK_S, return_when=FIRST_COMPLETED).done
            if workers is not None and not ended:
                workers.check()
            for future in ended:
                task = running[future]
                found = future.result() if workers is None else _found(future, workers)
                del running[future]
                yield task[0], found
                task = None
    except BrokenProcessPool:
        raise _BrokenError(
            list({task[0]: task for task in [*running.values(), task] if task}.values())
        ) from None


def _found(future: Any, workers: _Workers) -> Any:
    try:
        return future.result()
    except CancelledError:
        raise _wrong("the Dask scheduler has gone", "start it again", workers.address) from None
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            return Lost()
        raise


# Processes of this machine

_do: Callable[[Any], Any] | None = None


@contextmanager
def _processes(do: Callable[[Any], Any], count: int) -> Iterator[Executor]:
    """Yield an executor whose processes read their function from a file.

    Through the pipe of their start it could fill the pipe of one that dies, and wait for good.
    """
    with TemporaryDirectory(prefix="planner-") as folder:
        path = Path(folder, "do")
        path.write_bytes(pickle.dumps(do, pickle.HIGHEST_PROTOCOL))
        executor = ProcessPoolExecutor(
            count,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(path,),
        )
        finished = False
        try:
            yield executor
            finished = True
        finally:
            children = list((executor._processes or {}).values())
            executor.shutdown(wait=finished, cancel_futures=True)
            for child in children:
                child.kill()


@contextmanager
def _without_script() -> Iterator[None]:
    """Start processes that do not run the script of the caller, which may have no guard."""
    main: dict[str, Any] = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {n: main[n] for n in ("__file__", "__spec__") if n in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(kept)


def _begin(path: Path) -> None:
    """Prepare a process: Ctrl-C is the starter's, and the process ends with the starter."""
    global _do
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_starter, daemon=True).start()
    _do = pickle.loads(path.read_bytes())


def _end_with_starter() -> None:
    starter = multiprocessing.parent_process()
    if starter is not None:
        wait_for_end([starter.sentinel])
        os._exit(1)


def _call(argument: Any) -> Any:
    assert _do is not None
    return _do(argument)


# Dask

SECONDS_TO_CONNECT = 10.0
SECONDS_WITHOUT_WORKERS = 15.0
_LOUD = ("distributed", "tornado", "asyncio")
"""Loggers that write pages about a lost connection."""


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """Yield a client of a scheduler.

    Raises:
        InputError: dask.distributed is missing, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        fix = "pip install 'goldilocks-planner[dask]'"
        raise _wrong("dask.distributed is not installed", fix, address) from None
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in _LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    made, make = SimpleQueue[Any](), partial[Any](Client, address, set_as_default=False)

    def connect() -> None:
        with suppress(Exception):
            made.put(make(timeout=SECONDS_TO_CONNECT))

    # A program at this port that never answers is waited for no longer than this thread.
    Thread(target=connect, daemon=True).start()
    try:
        client = made.get(timeout=1.5 * SECONDS_TO_CONNECT)
    except Empty:
        fix = "give its address, such as tcp://host:8786"
        if address.startswith("tls:"):
            fix = "start it; tls:// needs certificates in Dask's distributed.comm.tls"
        raise _wrong("no Dask scheduler answers", fix, address) from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=2)


class _Workers:
    """Workers of a Dask scheduler."""

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self.seen_s = time.monotonic()

    def threads(self) -> int:
        """Number of threads, once there is one.

        Raises:
            InputError: there is none for long.
        """
        with suppress(TimeoutError):
            self.client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)
        return sum(self.client.ncores().values()) or self._missing()

    def check(self) -> None:
        """Look after scheduler and workers while no task ends.

        Raises:
            InputError: the scheduler has gone, or has had no worker for long.
        """
        if self.client.status not in ("running", "connecting"):
            raise _wrong("the Dask scheduler has gone", "start it again", self.address)
        if self.client.scheduler_info()["workers"]:
            self.seen_s = time.monotonic()
        elif time.monotonic() > self.seen_s + SECONDS_WITHOUT_WORKERS:
            self._missing()

    def _missing(self) -> int:
        fix = f"start one with dask worker {self.address}"
        raise _wrong("the Dask scheduler has no worker", fix, self.address)


def _wrong(message: str, fix: str, address: str) -> InputError:
    return InputError(Finding("dask", message, f"--workers {address}", fix=fix))
