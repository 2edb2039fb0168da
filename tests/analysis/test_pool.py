"""Tasks in processes that die, on a cluster that goes, and analyses that any worker answers."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from planner.analysis import pool, tornado
from planner.analysis.pool import Lost, run_tasks
from planner.api import Options
from planner.errors import Finding, InputError, VerificationError
from planner.inputs import Inputs
from planner.library import EACH_GAP
from planner.loader import load

LARGE = os.urandom(300_000)
"""More than a pipe between processes holds, as the inputs of a real problem are."""


def doubled(large: bytes, task: int) -> int:
    assert len(large) == len(LARGE)
    time.sleep(0.02)
    return 2 * task


def done(do: Callable[[Any], Any], count: int, jobs: int = 2) -> dict[Any, Any]:
    """Return the result of each number, worked on by processes from the start."""
    return dict(run_tasks(do, [(n, n) for n in range(count)], jobs=jobs, alone_s=0.0))


def kill_one(draw: random.Random) -> None:
    with suppress(ProcessLookupError, IndexError):
        child = draw.choice([each for each in active_children() if each.pid])
        os.kill(child.pid or 0, draw.choice([signal.SIGKILL, signal.SIGTERM]))


def test_a_process_killed_at_any_moment_loses_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "AHEAD", 1)  # fewer are begun anew, each in a new process
    draw, over = random.Random(0), threading.Event()

    def kill() -> None:
        for _ in range(2):
            if over.wait(draw.uniform(0.2, 0.9)):
                return
            kill_one(draw)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = done(partial(doubled, LARGE), 20)
    over.set()
    killer.join()
    assert found == {n: 2 * n for n in range(20)}


def died(task: int) -> int:
    if task == 3:
        os._exit(1)
    return task


def test_a_task_that_ends_every_process_is_lost_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "MOST_TRIES", 2)
    monkeypatch.setattr(pool, "AHEAD", 1)
    found = done(died, 5)
    lost = found.pop(3)
    assert isinstance(lost, Lost)
    assert found == {n: n for n in (0, 1, 2, 4)}


def where(task: int) -> tuple[int, int]:
    time.sleep(0.1)
    return task, os.getpid()


def test_short_work_starts_no_process_and_long_work_does() -> None:
    found = dict(run_tasks(where, [(n, n) for n in range(4)], jobs=2, alone_s=600.0))
    assert found == {n: (n, os.getpid()) for n in range(4)}
    found = done(where, 20)
    assert {n: result[0] for n, result in found.items()} == {n: n for n in range(20)}
    assert len({pid for _, pid in found.values()}) == 2


def refused(task: int) -> int:
    if task == 7:
        raise InputError(Finding("seven", "no seven", fix="give another"))
    if task == 8:
        raise VerificationError(["eight"])
    return 10 * task


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_expected_failure_comes_back_as_it_was(jobs: int) -> None:
    with pytest.raises(InputError) as caught:
        list(run_tasks(refused, [(n, n) for n in (1, 2, 7)], jobs=jobs, alone_s=0.0))
    assert caught.value.findings == (Finding("seven", "no seven", fix="give another"),)
    with pytest.raises(VerificationError, match="the plan failed verification: eight"):
        list(run_tasks(refused, [(n, n) for n in (1, 2, 8)], jobs=jobs, alone_s=0.0))


def test_processes_end_with_a_killed_starter_without_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, threading, time\n"
        "from multiprocessing import active_children\n"
        "from planner.analysis.pool import run_tasks\n"
        "def end():\n"
        "    while len(active_children()) < 2:\n"
        "        time.sleep(0.01)\n"
        "    time.sleep(1)\n"
        "    print(*(child.pid for child in active_children()), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=end).start()\n"
        "list(run_tasks(time.sleep, [(n, 600) for n in range(2)], jobs=2, alone_s=0.0))\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    pids = [int(text) for text in ended.stdout.split()]
    assert len(pids) == 2, ended.stderr
    until = time.monotonic() + 600
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < until, "a process outlives its starter"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# Analyses


def _tornado(inputs: Inputs, jobs: int, dask: str | None) -> str:
    options = Options(gap=EACH_GAP, jobs=jobs, dask=dask)
    return tornado.study(inputs, ("site.pue=1.1:1.3",), options).model_dump_json()


# Dask


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Yield a Dask cluster in this process."""
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            silence_logs=50,
            protocol="tcp",
        )
        with cluster:
            yield cluster


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Yield the address of a scheduler with two workers."""
    with cluster_of(2) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("default")
def test_processes_and_a_cluster_answer_as_one_process(
    small: str, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = load(Path(small))
    one = _tornado(inputs, 1, None)
    assert _tornado(inputs, 1, scheduler) == one
    monkeypatch.setattr(pool.run_tasks, "__kwdefaults__", {"jobs": 0, "dask": None, "alone_s": 0.0})
    assert _tornado(inputs, 2, None) == one


def test_a_missing_scheduler_is_one_line(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS_TO_CONNECT", 0.5)
    inputs = load(Path(small))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for port in (1, silent.getsockname()[1]):  # nobody, and somebody who never answers
            with pytest.raises(InputError, match="no Dask scheduler answers") as caught:
                _tornado(inputs, 1, f"tcp://127.0.0.1:{port}")
            assert f"--workers tcp://127.0.0.1:{port}" in str(caught.value)
    for address, said in (("nonsense://", "no Dask"), ("tls://127.0.0.1:1", "certificates")):
        with pytest.raises(InputError, match=said):
            _tornado(inputs, 1, address)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("gone", "said"),
    [("scheduler", "the Dask scheduler has gone"), ("workers", "the Dask scheduler has no worker")],
)
def test_a_cluster_that_goes_is_one_line(
    gone: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in ("SECONDS_TO_CONNECT", "SECONDS_WITHOUT_WORKERS"):
        monkeypatch.setattr(pool, seconds, 1.0)
    with cluster_of(1) as cluster:
        found = run_tasks(where, [(n, n) for n in range(600)], dask=cluster.scheduler_address)
        next(found)
        if gone == "workers":
            cluster.scale(0)
        else:
            cluster.close()
        with pytest.raises(InputError, match=said) as caught:
            list(found)
    assert str(caught.value).count("\n") == 0
