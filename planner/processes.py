"""Worker processes that may be ended at any moment: what one of them was at is done by another.

Each process has a channel of its own, a pair of sockets whose other end nobody else holds. However
a process ends, half-way through its start, a task or an answer, its channel then ends too, and
neither side waits for the other for good. Nothing is shared: no lock that a dead process keeps, no
pipe into which the living write for nobody. And a process whose starter has gone ends by itself.

To start a process costs half a second of a processor. Where little may be asked for the first of
them is a thread of this process, and the others are started once it has been at work for a while.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread, local
from typing import Any

MOST_TRIES = 8
"""A task that so many processes did not come back from is given up, or done by this process where
the last of them was killed."""
_KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT)
"""How processes end that somebody else ends: their task is not to blame."""


@dataclass(frozen=True)
class Lost:
    """The result of a task that was given up, with why where that is known."""

    reason: str = ""


LOST = Lost()
"""The result of a task that process after process did not come back from."""

_STARTS = 10
"""So many processes in a row that end before they have begun: this process does the rest alone."""

_BEGIN = """
import pickle, sys
from multiprocessing.connection import Connection
channel = Connection(int(sys.argv[1]))
try:
    sys.path[:] = pickle.loads(channel.recv_bytes())
except (EOFError, OSError):  # whoever started it has gone
    raise SystemExit from None
from planner.processes import _serve
_serve(channel)
"""

Task = tuple[Hashable, Any]
"""What tells a task from others, and what is to be done."""
TaskProgress = Callable[[Hashable, int], None]
"""Is called with what tells a task from others, and how much of it is done."""
Progress = Callable[[int, int], None]
"""Is called with how many are done, of how many."""

_SO_FAR = b"+"
"""What a message begins with that says how much of a task is done."""
_LISTENER = local()


def tell(count: int) -> None:
    """Report how much of the task at hand is done."""
    say: Callable[[int], None] | None = getattr(_LISTENER, "say", None)
    if say is not None:
        say(count)


@contextmanager
def progress_to(say: Callable[[int], None]) -> Iterator[None]:
    """Have progress of tasks in this thread reported to a callback."""
    before, _LISTENER.say = getattr(_LISTENER, "say", None), say
    try:
        yield
    finally:
        _LISTENER.say = before


def _so_far(count: int) -> bytes:
    return _SO_FAR + str(count).encode()


def ignore(_: object, __: int) -> None:
    """Show no progress."""


class Processes:
    """Processes that do tasks of one kind.

    Args:
        do: what is done with each task; it, tasks and results are pickled.
        alone_s: the first is a thread of this process, and none is started before this process
            has used so many seconds of a processor; None: all are processes, from the start.
        progress: is called with what tasks ``tell``, while results are waited for.
    """

    def __init__(
        self,
        count: int,
        do: Callable[[Any], Any],
        *,
        alone_s: float | None = None,
        progress: TaskProgress = ignore,
    ) -> None:
        self._count, self.do, self._progress = count, do, progress
        self._heard: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._there: list[_Worker] = []
        self._false_starts = 0
        self._alone = alone_s is not None
        self._until_s = time.process_time() + (alone_s or 0.0)

    @cached_property
    def packed(self) -> bytes:
        """What is done with each task, as other processes are told it."""
        return pickle.dumps(self.do, pickle.HIGHEST_PROTOCOL)

    def end(self) -> None:
        """End them all, whatever they are at."""
        while self._there:
            self._there.pop().end()

    @property
    def pids(self) -> list[int]:
        """The numbers that the system gave the processes that are at work beside this one."""
        return [process.pid for process in self._there if isinstance(process, _Process)]

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its result, or with ``LOST``, as they come.

        Raises:
            RuntimeError: a task ended with an error.
        """
        work = _Tasks(tasks)
        while self._staffed(work, patience_s := self._patience_s()):
            try:
                process, message = self._heard.get(timeout=patience_s)
            except Empty:
                continue
            if message is None:
                yield from self._ended(process, work)
                continue
            if isinstance(message, bytes) and message.startswith(_SO_FAR):
                if process.task is not None:
                    self._progress(process.task[0], int(message[1:]))
                continue
            self._false_starts = 0
            task = process.task
            self._next(process, work)  # before the result is looked at: nobody is idle meanwhile
            if task is not None:
                fine, result = process.read(message)
                if not fine:
                    raise RuntimeError(result[0]) from RuntimeError(result[1])
                yield task, result

    def _staffed(self, work: _Tasks, patience_s: float | None) -> bool:
        """Start processes as long as there is work for more; say whether one is at work."""
        starting = sum(1 for process in self._there if process.task is None)
        count = self._count if patience_s is None else 1
        while len(self._there) < count and work.has_more_than(starting):
            here = self._alone and not any(isinstance(one, _Here) for one in self._there)
            try:
                self._there.append(_Here(self._heard) if here else _Process(self._heard))
            except OSError:
                count = self._go_on_alone()
                continue
            starting += 1
        return bool(self._there)

    def _go_on_alone(self) -> int:
        """Start no further process; return how many workers there may be: this process."""
        self._alone, self._count = True, 1
        return self._count

    def _patience_s(self) -> float | None:
        """Return how long others are not started yet; None where they may be."""
        left_s = self._until_s - time.process_time()
        return left_s if self._alone and left_s > 0 else None

    def _next(self, process: _Worker, work: _Tasks) -> None:
        """Give a process its next task; it goes where there is none."""
        begins, process.task = process.task is None, work.next()
        if process.task is None:
            self._there.remove(process)
            process.end()
            return
        if begins:
            process.begin(self)
        process.send(process.task[1])

    def _ended(self, process: _Worker, work: _Tasks) -> Iterator[tuple[Any, Any]]:
        """Hand out again what a process was at that has ended, or give it up."""
        if process not in self._there:
            return  # it had nothing to do any more
        self._there.remove(process)
        process.end()
        if process.task is not None:
            if work.again(process.task):
                return
            if isinstance(process, _Process) and process.code in _KILLED:
                self._go_on_alone()
                work.first(process.task)
                return
            yield process.task, LOST
            return
        self._false_starts += 1
        if self._false_starts >= _STARTS:
            self._go_on_alone()


class _Tasks:
    """The tasks that wait: those to be done again first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._more, self._first = iter(tasks), deque[Task]()
        self._tries: Counter[Hashable] = Counter()

    def next(self) -> Task | None:
        """Take the next task; None where there is none."""
        return self._first.popleft() if self._first else next(self._more, None)

    def has_more_than(self, count: int) -> bool:
        """Say whether more than so many wait."""
        while len(self._first) <= count and (task := next(self._more, None)) is not None:
            self._first.append(task)
        return len(self._first) > count

    def again(self, task: Task) -> bool:
        """Put back a task that a process did not come back from; False where that was the last."""
        self._tries[task[0]] += 1
        if self._tries[task[0]] >= MOST_TRIES:
            return False
        self.first(task)
        return True

    def first(self, task: Task) -> None:
        """Put back a task, to be done before those that wait."""
        self._first.appendleft(task)


class _Here:
    """A thread of this process that does tasks as another process would, and the one it is at.

    It cannot be ended half-way: what it is at when nobody wants it any more it ends by itself.
    """

    def __init__(self, heard: SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.task: Task | None = None
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._heard, self._wanted = heard, True
        Thread(target=self._serve, daemon=True).start()

    def begin(self, work: Processes) -> None:
        """Tell it what is done with each task."""
        self._tasks.put(work.do)

    def send(self, task: Any) -> None:
        """Give it a task."""
        self._tasks.put(task)

    def read(self, message: tuple[bool, Any]) -> tuple[bool, Any]:
        """Return whether a task went well, and its result."""
        return message

    def end(self) -> None:
        """Give it nothing more to do."""
        self._wanted = False
        self._tasks.put(None)

    def _serve(self) -> None:
        try:
            self._heard.put((self, b""))
            do = self._tasks.get()
            with progress_to(lambda count: self._heard.put((self, _so_far(count)))):
                while self._wanted:
                    task = self._tasks.get()
                    if self._wanted:
                        self._heard.put((self, _attempted(do, task)))
        finally:  # what is no error of its task's ends it as it would end a process
            self._heard.put((self, None))


class _Process:
    """A process, its channel, and the task that it is at: None until it has begun."""

    def __init__(self, heard: SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.task: Task | None = None
        here, there = socket.socketpair()
        # It puts no folder of the user's before Python's own (-P), and is in a group of its own: of
        # Ctrl-C in a terminal only its starter hears, who decides.
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _BEGIN, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(there.fileno(),),
                process_group=0,
            )
        except BaseException:
            here.close()
            raise
        finally:
            there.close()
        self._channel = Connection(here.detach())
        self._say(pickle.dumps(sys.path))
        self._listener = Thread(target=self._listen, args=(heard,), daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The number that the system gave it."""
        return self._child.pid

    @property
    def code(self) -> int | None:
        """How it ended: its exit code, or the signal that ended it as a negative number."""
        return self._child.returncode

    def begin(self, work: Processes) -> None:
        """Tell it what is done with each task."""
        self._say(work.packed)

    def send(self, task: Any) -> None:
        """Give it a task."""
        self._say(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))

    def _say(self, message: bytes) -> None:
        """Say something to it, if it is still there; if not, ``heard`` will say so."""
        with suppress(OSError):
            self._channel.send_bytes(message)

    def read(self, message: bytes) -> tuple[bool, Any]:
        """Return whether a task went well, and its result."""
        read: tuple[bool, Any] = pickle.loads(message)
        return read

    def end(self) -> None:
        """End it, whatever it is at."""
        self._child.kill()
        self._child.wait()
        self._listener.join()
        self._channel.close()

    def _listen(self, heard: SimpleQueue[tuple[_Worker, Any]]) -> None:
        with suppress(EOFError, OSError):
            while True:
                heard.put((self, self._channel.recv_bytes()))
        heard.put((self, None))


_Worker = _Here | _Process


def _attempted(do: Callable[[Any], Any], task: Any) -> tuple[bool, Any]:
    """Return whether a task went well, and its result, or what is said of its error."""
    try:
        return True, do(task)
    except Exception as error:
        return False, (f"{type(error).__name__}: {error}", traceback.format_exc())


def _serve(channel: Connection) -> None:
    """Do tasks for as long as somebody wants them: what a worker process is there for."""
    os.set_inheritable(channel.fileno(), False)  # a solver that is started here must not keep it
    heard: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                heard.put(channel.recv_bytes())
        os._exit(0)  # whoever started this process has gone

    def say(message: bytes) -> None:
        try:
            channel.send_bytes(message)
        except OSError:
            os._exit(0)

    Thread(target=listen, daemon=True).start()
    say(b"")
    packed = heard.get()
    do: Callable[[Any], Any] | None = None

    def done(task: bytes) -> bytes:
        nonlocal do
        do = do or pickle.loads(packed)
        return pickle.dumps((True, do(pickle.loads(task))), pickle.HIGHEST_PROTOCOL)

    with progress_to(lambda count: say(_so_far(count))):
        while True:
            fine, answer = _attempted(done, heard.get())
            say(answer if fine else pickle.dumps((False, answer)))
