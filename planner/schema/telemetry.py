"""Results of storage telemetry: checkpoints and jobs.

Additive changes only, as with the plan. Checkpoints are many and stand in a table beside the
record (Parquet, CSV): one row per burst of writing, with the columns of ``CHECKPOINT_COLUMNS``.
"""

from typing import Literal

from planner.schema.base import Record, Shown

TELEMETRY_SCHEMA_VERSION = 1

CONFIDENCE = 0.9
"""How likely the truth lies within a measured figure's range."""

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
rhythm), ``aborted`` (broken off by an interruption), ``cut`` (samples are missing) or ``other``
(no job's).
"""


class Measured(Record):
    """A figure with the range in which it lies with ``CONFIDENCE``; ``low`` may be None where
    nothing bounds it from below, ``high`` likewise."""

    value: float
    low: float | None = None
    high: float | None = None


class Segment(Record):
    """A stretch of a job between two interruptions, on the trace's clock."""

    start_s: float
    end_s: float
    checkpoints: int


class JobFound(Record):
    """A training job as its checkpoints show it.

    ``checkpoints`` are those complete in the trace, ``inferred`` of them told apart from others
    written at the same time; ``missed`` fell where the rhythm asks for one and none was seen.
    ``interval_s`` is start to start. ``drain_s`` is but an upper bound where ``resolved`` is False,
    since sampling hides shorter ones. ``restarts`` are interruptions of the rhythm that no missing
    samples or clock steps explain, ``confirmed`` of them with a restoring read.
    ``mtti_s`` is None where no restart was seen. ``parameters`` follow from the size at
    ``bytes_per_parameter``.
    """

    name: str
    cluster: str
    start_s: float
    end_s: float
    segments: tuple[Segment, ...]
    checkpoints: int
    inferred: int = 0
    aborted: int = 0
    missed: int = 0
    size_gb: Measured
    interval_s: Measured
    drain_s: Measured
    resolved: bool = True
    overlap: Measured
    write_gb_per_s: Measured
    peak_gb_per_s: Measured
    bytes_per_parameter: float
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
    """One cluster's trace: sampling and contents.

    ``missing`` are samples that should be there and are not; ``steps`` sudden changes of the clock,
    ``resets`` of counters. ``window_s`` is the time over which each sample is a mean, as told or as
    what scatters in them tells; None where nothing tells it. ``reads`` says whether the trace has a
    column of reads.
    """

    name: str
    start_s: float
    end_s: float
    samples: int
    sample_s: float
    window_s: float | None = None
    missing: int = 0
    steps: int = 0
    resets: int = 0
    repeated: int = 0
    reads: bool
    background_gb_per_s: float
    noise_gb_per_s: float
    peak_gb_per_s: float
    peak_read_gb_per_s: float | None = None
    bursts: int
    checkpoints: int
    other: int
    jobs: int


class Override(Record):
    """A measured figure as a change of a problem.

    ``setting`` is the argument of ``--set``, ``distribution`` a ``--vary`` of
    ``sweep --mode uncertain``, None where the range is not known. ``now`` is the problem's value.
    """

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
    """A job of the table of jobs, with the checkpoints that telemetry shows.

    ``found`` are the jobs of the telemetry that were matched to it. ``demand_gb_per_s`` is the
    write bandwidth that keeps the overlap at the limit: size / (limit x interval).
    ``law_gb_per_s`` is the same at the fitted overlap. ``resolved`` is False where the drain is
    shorter than two samples, so that bandwidth is a lower bound; such a job is in no fit.
    """

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
    law_gb_per_s: float
    resolved: bool


class Trend(Record):
    """A power law between two figures of the jobs: y is proportional to x to the ``exponent``.

    ``exponent`` is fitted by least squares to the logarithms. ``rank_correlation`` is Spearman's,
    ``p_value`` its chance under independence.
    """

    x: str
    y: str
    jobs: int
    exponent: Measured
    rank_correlation: float
    p_value: float


class DemandLaw(Record):
    """The demand law fitted to the jobs: bandwidth = size^c / (overlap x interval^b).

    The law has c = b = 1; ``size_exponent`` and ``interval_exponent`` are fitted together, and
    None where sizes and intervals of the jobs go together so closely that they cannot be told.
    ``overlap`` is the geometric mean over the jobs with c = b = 1. ``explained`` is the share of
    the variance of the logarithm of bandwidth that c and b explain.
    """

    jobs: int
    size_exponent: Measured | None
    interval_exponent: Measured | None
    overlap: Measured
    explained: float


class ClusterStorage(Record):
    """Storage of a cluster: demand of its jobs, and bandwidth that was seen.

    ``demand_gb_per_s`` is the largest sum over jobs at one time that keeps overlaps at the limit,
    ``seen_gb_per_s`` the largest sample. ``enough_kw`` is the power of the storage with the least
    power that delivers the demand, ``seen_kw`` of that which delivers the observed bandwidth;
    ``gpus_more`` are the GPUs that the difference powers. None without a problem, or where it has
    no such storage.
    """

    cluster: str
    gpus: int
    demand_gb_per_s: float
    seen_gb_per_s: float
    enough: str | None = None
    enough_kw: float | None = None
    seen_kw: float | None = None
    gpus_more: float | None = None


class FleetStudy(Record):
    """Checkpoint bandwidth of a fleet against model size and interval.

    ``limit`` is the overlap that counts as small. Shares are of jobs and of their checkpoints.
    ``unmatched`` are jobs of the table without telemetry, ``unknown`` jobs of the telemetry that
    the table lacks.
    """

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
    """Checkpoints and jobs found in storage telemetry.

    ``clock`` is the origin of times: seconds since 1970 (UTC), or since the zero of a trace
    that has no dates. ``kind`` is how the figures in the trace were read.
    """

    kind: Literal["characterization"] = "characterization"
    schema_version: int = TELEMETRY_SCHEMA_VERSION
    traces: tuple[str, ...]
    clock: Literal["unix", "zero"]
    read_as: Literal["rate", "bytes", "counter"]
    clusters: tuple[ClusterFound, ...]
    jobs: tuple[JobFound, ...]
    bursts: int
    checkpoints: int
    calibration: Calibration | None = None
    study: FleetStudy | None = None
    notes: tuple[str, ...] = ()
