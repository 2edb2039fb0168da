"""Where a job's time went."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Budget:
    """Seconds of a run, of which all but the counts make up its length.

    Attributes:
        kept: computing that is not lost, at full speed.
        capture: standing still for checkpoints.
        wait: standing still because the checkpoint before had not drained.
        slowdown: computing lost because it is slower while a checkpoint drains.
        rework: computing lost back to the newest checkpoint captured.
        drain: computing lost further back, because that checkpoint was not safe yet.
        restart: from a failure, or the end of a planned stop, until reading begins.
        restore: reading back.
        planned: standing still as planned.
        failures: how often the job was interrupted.
        stops: how often it was stopped as planned.
        waits: how often it waited for a drain.
    """

    kept: float
    capture: float
    wait: float
    slowdown: float
    rework: float
    drain: float
    restart: float
    restore: float
    planned: float
    failures: float
    stops: float
    waits: float


NAMES = tuple(field.name for field in fields(Budget))
TIMES = NAMES[:9]
"""What makes up the length of a run."""
COUNTS = NAMES[9:]
