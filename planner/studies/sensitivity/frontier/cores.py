"""Parts of a study that do not wait for one another, done side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def at_once(tasks: Sequence[Callable[[], Any]], jobs: int) -> list[Any]:
    """Return what each task returns, in order.

    Args:
        tasks: what to do; while the solver works, another task runs.
        jobs: on how many cores, 0 for all.
    """
    cores = min(jobs or os.cpu_count() or 1, len(tasks))
    if cores < 2:
        return [task() for task in tasks]
    pool = ThreadPoolExecutor(cores)
    try:
        return list(pool.map(lambda task: task(), tasks))
    finally:  # where one has failed, or the user has had enough, nobody waits for the others
        pool.shutdown(wait=False, cancel_futures=True)
