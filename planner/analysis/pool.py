"""Tasks of an analysis: in this process, in others on all cores, or on a Dask cluster.

A process that dies takes no result with it: the tasks in hand are done again, each in a process of
its own, so that a task that ends every process is found and reported as lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from planner.errors import Finding, InputError

Do = Callable[[Any], Any]
Task = tuple[Hashable, Any]
"""Key and argument; of a result, key and result."""

SECONDS_ALONE = 3.0
"""CPU time of this process before others are started; each start costs half a second."""
AHEAD = 2
"""Tasks submitted for each process: none waits for its next."""
MOST_TRIES = 3
"""Processes of its own in which a task is tried."""
SECONDS_TO_CONNECT, SECONDS_WITHOUT_WORKERS, _CHECK_S = 10.0, 15.0, 1.0


class Lost:
    """Result of a task that ended every process that worked on it."""

    reason = "the process that worked on this ended again and again"


def run_tasks(
    do: Do,
    tasks: Iterable[Task],
    *,
    jobs: int = 0,
    dask: str | None = None,
    alone_s: float = SECONDS_ALONE,
) -> Iterator[Task]:
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


# Processes of this machine


def _in_processes(do: Do, waiting: Iterator[Task], count: int) -> Iterator[Task]:
    hand: dict[Hashable, Any] = {}
    while True:
        with _processes(do, count) as submit, suppress(BrokenProcessPool):
            running: dict[Future[Any], Hashable] = {}
            while True:
                for key, argument in islice(waiting, AHEAD * count - len(hand)):
                    hand[key] = argument
                    running[submit(argument)] = key
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result, key = future.result(), running.pop(future)
                    del hand[key]
                    yield key, result
        while hand:
            key, argument = hand.popitem()
            yield key, _tried_alone(do, argument)


def _tried_alone(do: Do, argument: Any) -> Any:
    """Result of a task in a process of its own."""
    for _ in range(MOST_TRIES):
        with _processes(do, 1) as submit, suppress(BrokenProcessPool):
            return submit(argument).result()
    return Lost()


@contextmanager
def _processes(do: Do, count: int) -> Iterator[Callable[[Any], Future[Any]]]:
    """Yield the submission to processes, which read their function from a file.

    Through the pipe of their start it could fill the pipe of one that dies, and wait for good.
    Processes do not run the script of the caller, which may have no guard.
    """
    with TemporaryDirectory(prefix="planner-") as folder:
        path = Path(folder, "do")
        path.write_bytes(pickle.dumps(do, pickle.HIGHEST_PROTOCOL))
        spawn = multiprocessing.get_context("spawn")
        executor, finished = ProcessPoolExecutor(count, spawn, _begin, (path,)), False

        def submit(argument: Any) -> Future[Any]:
            main: dict[str, Any] = vars(sys.modules["__main__"])
            kept: dict[str, Any] = {n: main[n] for n in ("__file__", "__spec__") if n in main}
            main.pop("__file__", None)
            main["__spec__"] = None
            try:
                return executor.submit(_call, argument)  # processes are started here
            finally:
                main.update(kept)

        try:
            yield submit
            finished = True
        finally:
            children = list((executor._processes or {}).values())
            executor.shutdown(wait=finished, cancel_futures=True)
            for child in children:
                child.kill()


_do: list[Do] = []


def _begin(path: Path) -> None:
    """Prepare a process: Ctrl-C is the starter's, and the process ends with the starter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_starter, daemon=True).start()
    _do.append(pickle.loads(path.read_bytes()))


def _end_with_starter() -> None:
    starter = multiprocessing.parent_process()
    if starter is not None:
        wait_for_end([starter.sentinel])
        os._exit(1)


def _call(argument: Any) -> Any:
    return _do[0](argument)


# Dask


def _on_cluster(do: Do, waiting: Iterator[Task], address: str) -> Iterator[Task]:
    """Results of tasks on the workers of a Dask scheduler, in the order in which they end."""
    client = _client(address)
    running: dict[Future[Any], Hashable] = {}
    try:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)
        room, seen_s = AHEAD * max(1, sum(client.ncores().values())), time.monotonic()
        executor = client.get_executor(pure=False)
        while True:
            for key, argument in islice(waiting, room - len(running)):
                running[executor.submit(do, argument)] = key
            if not running:
                return
            ended = wait(running, timeout=_CHECK_S, return_when=FIRST_COMPLETED).done
            for future in ended:
                key, error = running.pop(future), None
                if not future.cancelled() and (error := future.exception()) is None:
                    yield key, future.result()
                elif type(error).__name__ == "KilledWorker":
                    yield key, Lost()
                else:
                    raise error or _wrong("the Dask scheduler has gone", "start it again", address)
            if client.status not in ("running", "connecting"):
                raise _wrong("the Dask scheduler has gone", "start it again", address)
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
        import distributed
    except ImportError:
        fix = "pip install 'goldilocks-planner[dask]'"
        raise _wrong("dask.distributed is not installed", fix, address) from None
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # pages about a lost connection
    make: Any = distributed.Client
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


def _wrong(message: str, fix: str, address: str) -> InputError:
    return InputError(Finding("dask", message, f"--workers {address}", fix=fix))
