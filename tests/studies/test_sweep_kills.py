"""Sweeps whose worker processes are killed at random moments: same files, nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner.commands import sweep as command
from planner.processes import Processes
from planner.studies.sensitivity.workers import Workers
from tests.world.commands import ran

MANY = ("--vary", "site.pue=1.1:1.5:lin:64")
KILLS = 12


class Killer(threading.Thread):
    """Kills workers at random moments, until it has killed enough or is told to stop."""

    def __init__(self, seed: int) -> None:
        super().__init__(daemon=True)
        self.random, self.over, self.killed = Random(seed), threading.Event(), 0
        self.workers: list[Workers] = []

    def run(self) -> None:
        while self.killed < KILLS and not self.over.wait(self.random.uniform(0.0, 0.6)):
            others = [each.others for each in self.workers if isinstance(each.others, Processes)]
            pids = [pid for each in others for pid in each.pids]
            with suppress(ProcessLookupError, IndexError):
                os.kill(
                    self.random.choice(pids), self.random.choice([signal.SIGKILL, signal.SIGTERM])
                )
                self.killed += 1


@pytest.mark.parametrize("seed", range(2))
def test_killed_workers_change_no_byte(
    seed: int, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = Killer(seed)

    def workers(*arguments: Any, **named: Any) -> Workers:
        killer.workers.append(Workers(*arguments, **named, alone_s=None))
        return killer.workers[-1]

    assert ran("sweep", small, *MANY, "--workers", "1", "-o", str(tmp_path / "one")).code == 0
    monkeypatch.setattr(command, "Workers", workers)
    killer.start()
    try:
        done = ran("sweep", small, *MANY, "--workers", "2", "-o", str(tmp_path / "two"))
    finally:
        killer.over.set()
        killer.join()
    assert done.code == 0, done.err
    assert killer.killed > 0
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ("one", "two")
    ]
    assert files[0] == files[1]
