"""What one simulated run did, event by event, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

State = Literal["compute", "capture", "wait", "restart", "restore", "planned", "repair"]
"""What the GPUs of a job do: compute; stand still while a checkpoint is captured, or wait for
storage; are being restarted; read the checkpoint back; stand still as planned; wait for a unit to
be repaired."""


@dataclass(frozen=True)
class Stay:
    """A stretch that a job spends in one state, s from the start of the run."""

    job: int
    state: State
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Transfer:
    """Data on its way between a job and storage, at the rates of its stretches.

    Attributes:
        job: position of the job.
        kind: writing a checkpoint or reading one back.
        asked_gb: what is to be moved; less arrives where a failure breaks it off.
        stretches: (start s, end s, GB/s), in order, without gaps.
        complete: whether all of it arrived.
    """

    job: int
    kind: Literal["checkpoint", "restore"]
    asked_gb: float
    stretches: tuple[tuple[float, float, float], ...]
    complete: bool

    @property
    def start_s(self) -> float:
        """When it began."""
        return self.stretches[0][0]

    @property
    def end_s(self) -> float:
        """When it was done or broken off."""
        return self.stretches[-1][1]


@dataclass(frozen=True)
class Interruption:
    """A failure (or a planned stop) of a job, and what it cost: computing since the checkpoint
    that it goes back to, s."""

    job: int
    at_s: float
    planned: bool
    lost_s: float


@dataclass(frozen=True)
class History:
    """One run: its length, the jobs' names, and what happened, each list in order of time."""

    length_s: float
    jobs: tuple[str, ...]
    stays: tuple[Stay, ...]
    transfers: tuple[Transfer, ...]
    interruptions: tuple[Interruption, ...]


@dataclass(frozen=True)
class TimeSpent:
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
        repair: standing still because more units are out than there are spares.
        short: computing lost because fewer replicas run while units are out.
        failures: how often the job was interrupted.
        stops: how often it was stopped as planned.
        waits: how often it waited for a drain.
        taken: how often a failure took a unit out.
        far: how often a job with local copies needed the shared storage.
        short_of_units: how often it stood still for a repair.
        grown: how often it was restarted to run with more replicas again.
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
    repair: float
    short: float
    failures: float
    stops: float
    waits: float
    taken: float
    far: float
    short_of_units: float
    grown: float


NAMES = tuple(field.name for field in fields(TimeSpent))
TIMES = NAMES[:11]
"""What makes up the length of a run."""
COUNTS = NAMES[11:]
