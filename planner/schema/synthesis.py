"""What is true of synthetic storage telemetry, for whoever looks for it in the trace.

Additive changes only, as with the plan. Times are seconds since the trace's start by a clock that
is never set.
"""

from __future__ import annotations

from typing import Literal

from planner.schema.record import Record

SYNTHESIS_SCHEMA_VERSION = 1


class Moved(Record):
    """A checkpoint written to storage, or one read back; ``size_gb`` is what arrived.

    What is not ``complete`` was broken off by a failure or by the end of the trace.
    """

    job: str
    start_s: float
    end_s: float
    size_gb: float
    complete: bool


class Interrupted(Record):
    """A failure (or a planned stop) of a job; ``lost_s`` of computing had to be done again."""

    job: str
    at_s: float
    planned: bool
    lost_s: float


class JobTruth(Record):
    """A job as it ran, and as the plan has it.

    ``size_gb`` is the size of a complete checkpoint, ``interval_s`` the time from the start of one
    to the start of the next with nothing in between, ``drain_s`` how long one is being written,
    ``overlap`` the drain over the interval: medians, None where there are too few to tell.
    ``restarts`` count failures and planned stops; ``mtti_s`` is the trace's length over the
    failures, None without any.
    """

    name: str
    gpus: int
    checkpoints: int
    restores: int
    restarts: int
    size_gb: float | None
    interval_s: float | None
    drain_s: float | None
    overlap: float | None
    mtti_s: float | None
    planned_size_gb: float
    planned_interval_s: float
    planned_drain_s: float
    planned_mtti_s: float


class ClockStep(Record):
    """At ``at_s`` the clock that stamps the samples is set forward or back by ``by_s``."""

    at_s: float
    by_s: float


class ClusterTruth(Record):
    """All that happened on one cluster, and what its telemetry does not tell.

    ``samples`` were taken and ``missing`` of them got lost. Counters started again at 0 at
    ``resets_s``. ``peak_write_gb_per_s`` and ``peak_read_gb_per_s`` are the largest of the samples.
    """

    name: str
    samples: int
    missing: int
    peak_write_gb_per_s: float
    peak_read_gb_per_s: float
    clock_steps: tuple[ClockStep, ...] = ()
    resets_s: tuple[float, ...] = ()
    jobs: tuple[JobTruth, ...]
    checkpoints: tuple[Moved, ...]
    restores: tuple[Moved, ...]
    interruptions: tuple[Interrupted, ...]


class Truth(Record):
    """What a synthetic trace was made from.

    ``start`` is when it begins (ISO 8601, UTC) and ``start_s`` the same in seconds since 1970.
    ``background_gb_per_s`` is the mean of other traffic in each direction, ``noise`` a share of the
    rate.
    """

    kind: Literal["synthesis"] = "synthesis"
    schema_version: int = SYNTHESIS_SCHEMA_VERSION
    plans: tuple[str, ...]
    trace: str
    read_as: Literal["rate", "counter"]
    start: str
    start_s: float
    length_s: float
    sample_s: float
    seed: int
    background_gb_per_s: float = 0.0
    noise: float = 0.0
    missing: float = 0.0
    jitter_s: float = 0.0
    clusters: tuple[ClusterTruth, ...]
