"""Pieces of work on a Dask cluster. Imported only where one is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from planner.errors import Finding, InputError
from planner.studies.sensitivity.scenario import Row
from planner.studies.sensitivity.work import Work
from planner.studies.sensitivity.workers import Numbered, do, lost

SECONDS_TO_CONNECT = 10
AHEAD = 2
"""Pieces handed out for each thread: it does not wait for the next."""
_GONE = ("cancelled", "lost")
"""How a piece ends whose needs were on a worker that is no more: it is handed out again."""

_TRIES = 3


class Cluster:
    """The workers of a Dask scheduler; pieces of a worker that is lost go to another.

    Raises:
        InputError: dask.distributed is not installed, or no scheduler answers.
    """

    def __init__(self, work: Work, address: str) -> None:
        self.work, self.address = work, address
        self._client: Any
        try:
            from distributed import Client
        except ImportError:
            message = "dask.distributed is not installed"
            fix = "pip install 'goldilocks-planner[dask]'"
            raise InputError(Finding("dask", message, f"--dask {address}", fix=fix)) from None
        try:
            client: Any = Client
            self._client = client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError):
            message, fix = "no Dask scheduler answers", "give its address, such as tcp://host:8786"
            raise InputError(Finding("dask", message, f"--dask {address}", fix=fix)) from None

    def close(self) -> None:
        """Let the scheduler go."""
        self._client.close()

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come."""
        import distributed

        as_completed: Any = distributed.as_completed
        client, waiting = self._client, iter(pieces)
        shared = self._shared()
        running: dict[Any, Numbered] = {}
        again: Counter[int] = Counter()
        threads = max(1, sum(client.nthreads().values()))

        def handed_out(tasks: list[Numbered]) -> list[Any]:
            futures = [client.submit(do, shared, "rows", task[1], pure=False) for task in tasks]
            running.update(zip(futures, tasks, strict=True))
            return futures

        coming = as_completed(handed_out(list(islice(waiting, threads * AHEAD))), loop=client.loop)
        for future in coming:
            task = running.pop(future)
            number, piece = task
            tasks = list(islice(waiting, 1))
            if future.status in _GONE and again[number] < _TRIES:
                again[number] += 1
                tasks = [task, *tasks]
                if shared.status != "finished":
                    shared = self._shared()
            else:
                done = future.status == "finished"
                yield number, future.result() if done else lost("rows", piece)
            for more in handed_out(tasks):
                coming.add(more)

    def _shared(self) -> Any:
        """Give every worker what all pieces need."""
        return self._client.scatter(self.work, broadcast=True, hash=False)
