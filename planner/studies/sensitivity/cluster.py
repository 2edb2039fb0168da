"""Pieces of work on a Dask cluster. Imported only where one is asked for."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Any

from planner.errors import Finding, InputError
from planner.studies.sensitivity.scenario import Row
from planner.studies.sensitivity.work import Work
from planner.studies.sensitivity.workers import Numbered, Piece, do, lost

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
