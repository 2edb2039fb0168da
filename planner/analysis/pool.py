"""Tasks of an analysis: in this process, in others on all cores, or on a Dask cluster.

A process that dies takes nothing with it: the tasks in hand are submitted again, one at a time, so
that a task that ends every process is found and reported as lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from planner.errors import Finding, InputError, PlannerError
from planner.terminal import Progress, ignore

Task = tuple[Hashable, Any]
"""Key and argument."""
Result = tuple[Hashable, Any]

SECONDS_ALONE = 3.0
"""CPU time of this process before others are started; each start costs half a second."""
AHEAD = 2
"""Tasks submitted for each process: none waits for its next."""
MOST_TRIES = 4
"""Processes that may die of a task."""
SECONDS_TO_CONNECT, SECONDS_WITHOUT_WORKERS, _CHECK_S = 10.0, 15.0, 1.0


class Lost:
    """Result of a task that ended every process that worked on it."""

    reason = "the process that worked on this ended again and again"


def results(
    do: Callable[[Any], Any],
    tasks: Iterable[Task],
    *,
    jobs: int = 0,
    dask: str | None = None,
    alone_s: float = SECONDS_ALONE,
) -> Iterator[Result]:
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
    waiting, count = iter(tasks), jobs
    if not jobs:
        counted = hasattr(os, "sched_getaffinity")
        count = len(os.sched_getaffinity(0)) if counted else os.cpu_count() or 1
    if dask is not None:
        yield from _on_cluster(do, waiting, dask)
        return
    until_s = time.process_time() + alone_s
    while count == 1 or time.process_time() < until_s:
        task = next(waiting, None)
        if task is None:
            return
        yield task[0], do(task[1])
    first = list(islice(waiting, 2))
    if len(first) < 2:  # one task is no reason to start processes
        yield from ((key, do(argument)) for key, argument in first)
    else:
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


# Processes of this machine

_do: Callable[[Any], Any] | None = None


def _in_processes(
    do: Callable[[Any], Any], waiting: Iterator[Task], count: int
) -> Iterator[Result]:
    tries: Counter[Hashable] = Counter()
    suspects: list[Task] = []
    while True:
        running: dict[Any, Task] = {}
        handed: list[Task] = []
        with _processes(do, count) as executor:
            try:
                while True:
                    room = 1 if suspects else AHEAD * count
                    handed = list(islice(suspects or waiting, room - len(running)))
                    while handed:
                        running[executor.submit(_call, handed[0][1])] = handed[0]
                        handed.pop(0)
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        result = future.result()
                        suspects = suspects[1:]
                        yield running.pop(future)[0], result
            except BrokenProcessPool:
                suspects = suspects or [*running.values(), *handed]
        tries[suspects[0][0]] += 1
        if tries[suspects[0][0]] >= MOST_TRIES:
            yield suspects.pop(0)[0], Lost()


@contextmanager
def _processes(do: Callable[[Any], Any], count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield an executor whose processes read their function from a file.

    Through the pipe of their start it could fill the pipe of one that dies, and wait for good.
    """
    with TemporaryDirectory(prefix="planner-") as folder:
        path = Path(folder, "do")
        path.write_bytes(pickle.dumps(do, pickle.HIGHEST_PROTOCOL))
        spawn = multiprocessing.get_context("spawn")
        executor, finished = _Executor(count, spawn, _begin, (path,)), False
        try:
            yield executor
            finished = True
        finally:
            children = list((executor._processes or {}).values())
            executor.shutdown(wait=finished, cancel_futures=True)
            for child in children:
                child.kill()


class _Executor(ProcessPoolExecutor):
    """Processes that do not run the script of the caller, which may have no guard."""

    def submit(self, *given: Any, **named: Any) -> Any:
        """Submit a call; processes are started here."""
        main: dict[str, Any] = vars(sys.modules["__main__"])
        kept: dict[str, Any] = {n: main[n] for n in ("__file__", "__spec__") if n in main}
        main.pop("__file__", None)
        main["__spec__"] = None
        try:
            return super().submit(*given, **named)
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


def _on_cluster(
    do: Callable[[Any], Any], waiting: Iterator[Task], address: str
) -> Iterator[Result]:
    client = _client(address)
    running: dict[Any, Task] = {}
    try:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)
        room, seen_s = AHEAD * max(1, sum(client.ncores().values())), time.monotonic()
        executor = client.get_executor(pure=False)
        while True:
            for task in islice(waiting, room - len(running)):
                running[executor.submit(do, task[1])] = task
            if not running:
                return
            ended = wait(running, timeout=_CHECK_S, return_when=FIRST_COMPLETED).done
            for future in ended:
                key, error = running.pop(future)[0], None
                if not future.cancelled() and (error := future.exception()) is None:
                    yield key, future.result()
                elif type(error).__name__ == "KilledWorker":
                    yield key, Lost()
                else:
                    raise error or _gone(address)
            if client.status not in ("running", "connecting"):
                raise _gone(address)
            if ended or client.scheduler_info()["workers"]:
                seen_s = time.monotonic()
            elif time.monotonic() > seen_s + SECONDS_WITHOUT_WORKERS:
                fix = f"start one with dask worker {address}"
                raise _wrong("the Dask scheduler has no worker", fix, address)
    finally:
        with suppress(Exception):
            client.close(timeout=2)


def _client(address: str) -> Any:
    """Client of a scheduler.

    Raises:
        InputError: dask.distributed is missing, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        fix = "pip install 'goldilocks-planner[dask]'"
        raise _wrong("dask.distributed is not installed", fix, address) from None
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # pages about a lost connection
    make: Any = Client
    made: list[Any] = []

    def connect() -> None:
        with suppress(Exception):
            made.append(make(address, timeout=SECONDS_TO_CONNECT, set_as_default=False))

    # A program at this port that never answers is waited for no longer than this thread.
    thread = Thread(target=connect, daemon=True)
    thread.start()
    thread.join(1.5 * SECONDS_TO_CONNECT)
    if made:
        return made[0]
    fix = "give its address, such as tcp://host:8786"
    if address.startswith("tls:"):
        fix = "start it; tls:// needs certificates in Dask's distributed.comm.tls"
    raise _wrong("no Dask scheduler answers", fix, address)


def _gone(address: str) -> InputError:
    return _wrong("the Dask scheduler has gone", "start it again", address)


def _wrong(message: str, fix: str, address: str) -> InputError:
    return InputError(Finding("dask", message, f"--workers {address}", fix=fix))
