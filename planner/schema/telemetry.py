"""Checkpoints, jobs and storage demand measured in storage telemetry.

Additive changes only; field names end in their unit. Checkpoints are a table beside the record of a
trace (Parquet, CSV): one row per burst of writing, with the columns of ``CHECKPOINT_COLUMNS``.
"""

from typing import Literal

from planner.schema import Record, Shown

CONFIDENCE = 0.9
"""Probability that the truth lies within a measured figure's range."""
CHECKPOINT_COLUMNS: dict[str, str] = {
    "cluster": "",
    "job": "",
    "kind": "",
    "start_s": "s",
    "start_error_s": "s",
    "duration_s": "s",
    "duration_error_s": "s",
    "size_gb": "GB",
    "size_error_gb": "GB",
    "peak_gb_per_s": "GB/s",
    "mean_gb_per_s": "GB/s",
}
"""The table's columns and their units.

``start_s`` counts on the trace's own clock (``Characterization.clock``). An error is half of the
range that sampling and noise leave. ``mean_gb_per_s`` is size over duration. ``kind`` is
``checkpoint``, ``inferred`` (one of several that were written at once, told apart by the jobs'
rhythm), ``cut`` (samples are missing) or ``other`` (no job's).
"""


class Measured(Record):
    """A figure with its range at ``CONFIDENCE``; an end is None where nothing bounds it."""

    value: float
    low: float | None = None
    high: float | None = None


class JobFound(Record):
    """A training job as its checkpoints show it.

    ``inferred``: told apart from others written at the same time. ``drain_s`` is an upper bound
    where not ``resolved`` by the sampling. ``restarts``: ``confirmed`` by a restoring read.
    """

    name: str
    cluster: str
    start_s: float
    end_s: float
    checkpoints: int
    inferred: int = 0
    missed: int = 0
    size_gb: Measured
    interval_s: Measured
    drain_s: Measured
    resolved: bool = True
    overlap: Measured
    write_gb_per_s: Measured
    parameters: Measured
    restarts: int = 0
    confirmed: int = 0
    observed_s: float
    mtti_s: Measured | None = None
    restore_gb: Measured | None = None
    restore_s: Measured | None = None
    read_gb_per_s: Measured | None = None
    notes: tuple[str, ...] = ()


class ClusterFound(Record):
    """One cluster's trace: sampling, gaps, clock steps and counter resets, contents."""

    name: str
    start_s: float
    end_s: float
    samples: int
    sample_s: float
    window_s: float | None = None
    missing: int = 0
    steps: int = 0
    reads: bool
    peak_gb_per_s: float
    other: int


class Override(Record):
    """A measured figure as a change of a problem, and its distribution for an uncertain sweep."""

    path: str
    label: str
    unit: str
    measured: Measured
    setting: str
    distribution: str | None = None
    now: str | None = None
    source: str


class Calibration(Record):
    """Measured inputs of a problem as overrides, and inputs not measured."""

    job: str
    problem: str
    gpus: int | None
    overrides: tuple[Override, ...]
    not_measured: tuple[str, ...] = ()


class FleetJob(Record):
    """A listed job and its checkpoints; one not ``resolved`` is in no fit."""

    name: str
    cluster: str
    gpus: int
    parameters: float
    found: tuple[str, ...]
    checkpoints: int
    size_gb: float
    interval_s: float
    drain_s: float
    overlap: float
    write_gb_per_s: float
    mb_per_s_per_gpu: float
    demand_gb_per_s: float
    resolved: bool


class Trend(Record):
    """A power law between two figures, by least squares of logarithms; Spearman's rank."""

    x: str
    y: str
    jobs: int
    exponent: Measured
    rank_correlation: float
    p_value: float


class DemandLaw(Record):
    """The demand law fitted to the jobs: bandwidth = size^c / (overlap x interval^b)."""

    jobs: int
    size_exponent: Measured | None
    interval_exponent: Measured | None
    overlap: Measured
    explained: float


class ClusterStorage(Record):
    """Storage of a cluster: demand, bandwidth seen, least power that delivers either."""

    cluster: str
    gpus: int
    demand_gb_per_s: float
    seen_gb_per_s: float
    enough: str | None = None
    enough_kw: float | None = None
    seen_kw: float | None = None
    gpus_more: float | None = None


class FleetStudy(Record):
    """Checkpoint bandwidth of a fleet; ``limit``: the overlap that counts as small."""

    limit: float
    jobs: tuple[FleetJob, ...]
    bandwidth: Trend | None
    per_gpu: Trend | None
    interval: Trend | None
    law: DemandLaw | None
    under_limit_jobs: Measured
    under_limit_checkpoints: float
    storage: tuple[ClusterStorage, ...]
    unmatched: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Characterization(Shown, Record):
    """Checkpoints and jobs found in storage telemetry."""

    kind: Literal["characterization"] = "characterization"
    schema_version: int = 1
    traces: tuple[str, ...]
    clock: Literal["unix", "zero"]
    read_as: Literal["rate", "bytes", "counter"]
    clusters: tuple[ClusterFound, ...]
    jobs: tuple[JobFound, ...]
    checkpoints: int
    calibration: Calibration | None = None
    study: FleetStudy | None = None
    notes: tuple[str, ...] = ()
