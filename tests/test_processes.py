"""Worker processes that are killed at any moment: all is done, and nothing waits for good."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planner.processes import _BEGIN, LOST, Processes

LARGE = os.urandom(300_000)
"""More than a pipe between processes holds, as the inputs of a real problem are."""


def slowly_doubled(large: bytes, task: tuple[int, bytes]) -> tuple[int, bytes]:
    assert len(large) == len(LARGE)
    time.sleep(0.02)
    return 2 * task[0], task[1]


def died(task: int) -> int:
    if task == 3:
        os._exit(1)
    return task


def failed(task: int) -> int:
    raise ZeroDivisionError(f"of {task}")


GUARD_S = 600.0
"""Against hanging: no busy machine takes so long."""


def in_time(work: Callable[[], Any]) -> Any:
    """Return what work returns; a test that would hang fails instead."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(GUARD_S)
    assert not thread.is_alive(), "it hangs"
    assert found, "it raised"
    return found[0]


def killed(pool: Processes, draw: random.Random) -> None:
    os.kill(draw.choice(pool.pids), signal.SIGKILL)


def killed_once(seed: int, results: int) -> None:
    """Do 12 tasks in two processes, one of which is killed after so many results.

    Before the first result it is killed as soon as both have started, or a little later.
    """
    draw = random.Random(seed)
    pool = Processes(2, partial(slowly_doubled, LARGE))

    def kill() -> None:
        while len(pool.pids) < 2:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.02))
        killed(pool, draw)

    def work() -> list[tuple[int, tuple[int, bytes]]]:
        found = []
        for task, result in pool.results([(number, (number, LARGE)) for number in range(12)]):
            found.append((task[0], result))
            if len(found) == results:
                killed(pool, draw)
        return found

    killer = threading.Thread(target=kill, daemon=True)
    if not results:
        killer.start()
    try:
        found = in_time(work)
    finally:
        pool.end()
    assert sorted(found) == [(number, (2 * number, LARGE)) for number in range(12)]


@pytest.mark.parametrize(("seed", "results"), [(0, 0), (1, 0), (2, 1), (3, 7)])
def test_a_process_that_is_killed_at_any_moment_loses_nothing(seed: int, results: int) -> None:
    """Half of these kills hit a process before it has read what it is to work with."""
    killed_once(seed, results)


def done(pool: Processes, count: int) -> dict[int, Any]:
    """Return what becomes of numbers by number."""
    try:
        tasks = [(number, number) for number in range(count)]
        return {task[0]: result for task, result in pool.results(tasks)}
    finally:
        pool.end()


def test_a_task_that_ends_every_process_is_given_up() -> None:
    found = in_time(lambda: done(Processes(2, died), 6))
    assert found == {n: LOST if n == 3 else n for n in range(6)}


def test_tasks_whose_every_process_is_killed_are_done_by_this_one() -> None:
    pool, over = Processes(2, where), threading.Event()

    def kill_all() -> None:
        while not over.wait(0.01):
            for pid in pool.pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    killer = threading.Thread(target=kill_all, daemon=True)
    killer.start()
    found = in_time(lambda: done(pool, 5))
    over.set()
    killer.join()
    assert {n: result[0] for n, result in found.items()} == {n: n for n in range(5)}
    assert os.getpid() in {pid for _, pid in found.values()}


@pytest.mark.parametrize("alone_s", [None, 600.0])
def test_an_error_of_a_task_is_told(alone_s: float | None) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError: of 0"):
        done(Processes(1, failed, alone_s=alone_s), 1)


def left(task: int) -> int:
    if task == 3:
        raise SystemExit
    return task


def test_a_task_that_ends_the_thread_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    found = in_time(lambda: done(Processes(2, left, alone_s=600.0), 6))
    assert found == {n: LOST if n == 3 else n for n in range(6)}


def where(task: int) -> tuple[int, int]:
    time.sleep(0.1)
    return task, os.getpid()


def test_what_takes_little_is_done_without_another_process() -> None:
    found = in_time(lambda: done(Processes(2, where, alone_s=600.0), 4))
    assert found == {n: (n, os.getpid()) for n in range(4)}


def test_what_takes_long_is_done_by_this_process_and_others() -> None:
    found = in_time(lambda: done(Processes(3, where, alone_s=0.0), 60))
    assert {n: result[0] for n, result in found.items()} == {n: n for n in range(60)}
    assert len({pid for _, pid in found.values()}) == 3
    assert os.getpid() in {pid for _, pid in found.values()}


def busy(folder: Path, task: int) -> int:
    """Take a while; from the third on, until two processes have had a task."""
    (folder / str(os.getpid())).touch()
    until_s = time.process_time() + 0.3
    while time.process_time() < until_s and task < 2:
        pass
    while task >= 2 and len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    return os.getpid()


def test_others_are_started_while_the_first_is_at_work(tmp_path: Path) -> None:
    found = in_time(lambda: done(Processes(2, partial(busy, tmp_path), alone_s=0.5), 6))
    assert len(set(found.values())) == 2
    assert found[0] == found[1] == os.getpid()


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
def test_where_no_process_lives_this_one_does_all(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    found = in_time(lambda: done(Processes(2, where), 5))
    assert found == {n: (n, os.getpid()) for n in range(5)}


def test_a_process_whose_starter_goes_at_once_ends_without_a_word() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-c", _BEGIN, str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 0


def test_processes_end_with_whoever_started_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import functools, os, signal, threading, time\n"
        "from planner.processes import Processes\n"
        "pool = Processes(2, time.sleep)\n"  # no guard: nothing of this script runs in them
        "def end():\n"
        "    while len(pool.pids) < 2:\n"
        "        time.sleep(0.01)\n"
        "    print(*pool.pids, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=end).start()\n"
        "list(pool.results([(n, 600) for n in range(2)]))\n"
    )
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=GUARD_S
    )
    pids = [int(text) for text in ended.stdout.split()]
    assert len(pids) == 2, ended.stderr
    until = time.monotonic() + GUARD_S
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < until, "a process outlives its starter"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
