"""A run made by hand, and short ways to sample it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from planner.simulation.history import History, Interruption, Stay, Transfer
from planner.synthesis.samples import Quality, Sampler

START = datetime(2026, 1, 1, tzinfo=UTC)
START_MS = 1_767_225_600_000

HISTORY = History(
    length_s=1000.0,
    jobs=("one", "two"),
    stays=(
        Stay(0, "compute", 0.0, 95.0),
        Stay(1, "compute", 0.0, 1000.0),
        Stay(0, "capture", 95.0, 100.0),
        Stay(0, "compute", 100.0, 195.0),
        Stay(0, "wait", 195.0, 201.0),
        Stay(0, "capture", 201.0, 203.0),
        Stay(0, "restart", 203.0, 400.0),
        Stay(0, "restore", 400.0, 433.3),
        Stay(0, "compute", 433.3, 895.0),
        Stay(0, "capture", 895.0, 900.0),
        Stay(0, "compute", 900.0, 1000.0),
    ),
    transfers=(
        Transfer(0, "checkpoint", 100.0, ((100.0, 123.0, 3.0), (123.0, 154.0, 1.0)), True),
        Transfer(1, "checkpoint", 62.0, ((123.0, 154.0, 2.0),), True),
        Transfer(0, "restore", 66.6, ((400.0, 433.3, 2.0),), True),
        Transfer(0, "checkpoint", 100.0, ((900.0, 912.5, 3.0),), False),
        Transfer(1, "checkpoint", 62.0, ((912.5, 943.5, 2.0),), True),
    ),
    interruptions=(Interruption(0, 203.0, False, 98.0),),
)
"""Two jobs; the first fails while it captures, the other never stops for a checkpoint."""

WRITTEN_GB = 100.0 + 62.0 + 37.5 + 62.0
READ_GB = 66.6


def quality(**changes: Any) -> Quality:
    return Quality(**{"start": START, "length_s": 1000.0, **changes})


def sampled(
    history: History = HISTORY, seed: int = 1, **changes: Any
) -> tuple[Sampler, np.ndarray, np.ndarray, np.ndarray]:
    """Return the sampler and all samples: times in s from the start, writes, reads."""
    sampler = Sampler(history, quality(**changes), (seed, 0))
    blocks = list(sampler.blocks())
    time = np.concatenate([block.time_ms for block in blocks]) - START_MS
    write, read = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("write", "read")
    )
    return sampler, time / 1000, write, read


def lengths(time_s: np.ndarray, end_s: float = 1000.0) -> np.ndarray:
    """Return how long each of all samples is."""
    return np.diff(np.append(time_s, end_s))
