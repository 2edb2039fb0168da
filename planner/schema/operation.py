"""Operation of the job: planned, sized, simulated, measured in storage telemetry.

Additive changes only; field names end in their unit. Measured checkpoints are a table beside the
record (Parquet, CSV): one row per burst of writing, with the columns of ``CHECKPOINT_COLUMNS``.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from planner.currency import USD, Currency
from planner.schema import Customer, PlanModel, Record, Shown, is_empty, is_none
from planner.schema.catalog import Precision


class Loss(PlanModel):
    """Shares of wall-clock time lost, 1 - goodput in sum; replacements are in ``restart``."""

    stall: Customer[float]
    rework: Customer[float]
    drain: Customer[float]
    restart: Customer[float]
    restore: Customer[float]
    waiting: Customer[float] = Field(default=0.0, exclude_if=is_empty)
    other: Customer[float] = Field(default=0.0, exclude_if=is_empty)


class LocalPlan(PlanModel):
    """The local level of checkpoints; of several GPU types in use each figure is the worst."""

    every: Customer[int]
    remote_interval_s: Customer[float]
    drain_s: Customer[float]
    restart_s: Customer[float]
    remote_share: Customer[float]
    room_tb: Customer[float]
    capacity_tb: Customer[float]


class ShrunkPlan(PlanModel):
    """Elastic training with fewer replicas while units are in repair, on average."""

    running: Customer[float]
    failing: Customer[float]
    least_replicas: Customer[int]


class Repair(PlanModel):
    """Hardware in repair, and its spares.

    ``load``: units in repair on average if the job never waited; ``decided``: by the plan.
    """

    unit: Customer[Literal["system", "tray"]]
    unit_gpus: Customer[int]
    in_rack: Customer[bool]
    spares: Customer[int]
    decided: Customer[bool]
    hardware_share: Customer[float]
    repair_s: Customer[float]
    swap_s: Customer[float]
    load: Customer[float]
    availability: Customer[float]
    shrunk: Customer[ShrunkPlan | None] = Field(default=None, exclude_if=is_none)


def _is_one(value: object) -> bool:
    return value == 1.0


class WayPlan(PlanModel):
    """The configuration of the job on one GPU type; power, throughput: shares of rated.

    ``option`` names the spread of a replica by its degrees, such as t8p16.
    """

    id: Customer[str]
    gpu_type: Customer[str]
    precision: Customer[Precision]
    gpu_cap: Customer[float]
    power_share: Customer[float]
    throughput: Customer[float]
    rate_tflops: Customer[float | None] = None
    rate_gpus: Customer[int | None] = None
    option: Customer[str | None] = None
    min_replicas: Customer[int] = 1


class BurstPlan(PlanModel):
    """Delivered write bursts: the rate until ``buffer_gb`` are held; time to empty them."""

    delivered_write_gb_per_s: Customer[float]
    delivered_sustained_gb_per_s: Customer[float]
    buffer_gb: Customer[float]
    recovery_s: Customer[float]


class BulkPlan(PlanModel):
    """The bulk tier beside flash; training data is staged on flash, beside checkpoints."""

    needed_tb: Customer[float]
    usable_tb: Customer[float]
    delivered_read_gb_per_s: Customer[float]
    staging_gb_per_s: Customer[float]


class JobPlan(PlanModel):
    """Operation of the job on the plan: every figure of the sizing model, and its inputs.

    ``rate_share``: share of the rate left by set points and ``scale_share``.
    """

    name: str
    gpu_type: Customer[str]
    gpu_types: Customer[tuple[str, ...]]
    storage_family: Customer[str | None]
    storage_families: Customer[tuple[str, ...]]
    mode: Customer[Literal["async", "sync"]]
    gpus_used: Customer[int]
    systems_used: Customer[int]
    systems_by_type: Customer[dict[str, int]] = {}
    replica_gpus: Customer[int | None]
    replicas: Customer[float | None]
    tflops_per_gpu: Customer[float]
    mfu: Customer[float | None]
    failures_per_gpu_day: Customer[float]
    checkpoint_gb: Customer[float]
    delivered_write_gb_per_s: Customer[float]
    delivered_read_gb_per_s: Customer[float]
    client_write_limit_gb_per_s: Customer[float]
    client_read_limit_gb_per_s: Customer[float]
    writing_systems: Customer[int]
    reading_systems: Customer[int]
    interval_s: Customer[float]
    interval_policy: Customer[Literal["fixed", "optimal"]]
    stall_s: Customer[float]
    drain_s: Customer[float]
    overlap: Customer[float]
    blocking: Customer[float]
    fan_out: Customer[float]
    restore_s: Customer[float]
    restart_s: Customer[float]
    drain_slowdown: Customer[float]
    mtti_s: Customer[float]
    goodput: Customer[float]
    loss: Customer[Loss]
    useful_gpus: Customer[float]
    useful_pflops: Customer[float | None]
    days_to_train: Customer[float | None]
    ingest_demand_gb_per_s: Customer[float]
    capacity_needed_tb: Customer[float]
    write_volume_tb_per_day: Customer[float]
    tolerate_down: Customer[int] = 0
    degraded_write_gb_per_s: Customer[float | None] = None
    degraded_read_gb_per_s: Customer[float | None] = None
    bytes_per_parameter: Customer[float | None] = None
    writers: Customer[Literal["all", "one_replica"]] = "all"
    checkpoints_held: Customer[int] = 0
    other_data_tb: Customer[float] = 0.0
    tokens: Customer[float | None] = None
    active_parameters: Customer[float | None] = None
    max_overlap: Customer[float | None] = None
    max_blocking: Customer[float | None] = None
    whole_replicas: Customer[bool] = False
    tensor_gpus: Customer[int | None] = None
    per_system_gpus: Customer[int | None] = None
    usable_gpus_by_type: Customer[dict[str, int]] = {}
    local: Customer[LocalPlan | None] = Field(default=None, exclude_if=is_none)
    derived_stall: Customer[bool] = Field(default=False, exclude_if=is_empty)
    repair: Customer[Repair | None] = Field(default=None, exclude_if=is_none)
    ways: Customer[tuple[WayPlan, ...]] = Field(default=(), exclude_if=is_empty)
    scale_share: Customer[float] = Field(default=1.0, exclude_if=_is_one)
    rate_share: Customer[float] = Field(default=1.0, exclude_if=_is_one)
    lost_time: Customer[float] = Field(default=0.0, exclude_if=is_empty)
    burst: Customer[BurstPlan | None] = Field(default=None, exclude_if=is_none)
    bulk: Customer[BulkPlan | None] = Field(default=None, exclude_if=is_none)

    @property
    def spares_move(self) -> bool:
        """True if the plan decided the number of spares of a common pool."""
        repair = self.repair
        return repair is not None and repair.decided and not repair.in_rack

    @property
    def losses(self) -> dict[str, float]:
        """Where wall-clock time goes, by cause; repairs and other losses where stated."""
        absent = {
            name
            for name, there in (("waiting", self.repair), ("other", self.lost_time))
            if not there
        }
        return {n: getattr(self.loss, n) for n in Loss.model_fields if n not in absent}

    @property
    def to_storage_s(self) -> float:
        """Interval between checkpoints to storage."""
        return self.interval_s if self.local is None else self.local.remote_interval_s

    def most_gpus(self, sku: str, systems: int) -> int:
        """Most GPUs that the job can use of a number of systems of a type."""
        step = self.replica_gpus if self.whole_replicas and self.replica_gpus else 1
        return systems * self.usable_gpus_by_type[sku] // step * step


Mode = Literal["async", "sync", "local"]
RuleGroup = Literal["demand_law", "ddn_per_gpu", "nvidia_superpod_h100", "custom"]


@dataclass(frozen=True)
class Running:
    """Operation of the job at an interval with just the required bandwidth."""

    mode: Mode
    interval_s: float
    stall_s: float
    drain_s: float
    restore_s: float
    goodput_share: float


@dataclass(frozen=True)
class IntervalRow:
    """Bandwidth that one interval requires; None where its stall fills the interval."""

    interval_s: float
    write_demand_gb_per_s: float | None
    write_mb_per_s_per_gpu: float | None
    write_volume_tb_per_day: float
    running: Running | None


@dataclass(frozen=True)
class ModeReport:
    """One mode of checkpointing: demand of the interval of the policy, then of others."""

    mode: Mode
    policy: str
    limit_share: float
    rows: tuple[IntervalRow, ...]


@dataclass(frozen=True)
class ApplianceRow:
    """Units of one storage item that meet a rule."""

    item: str
    name: str
    family: str
    units: int
    decided_by: str
    it_power_kw: float | None
    racks: int | None
    net_usd: float | None


@dataclass(frozen=True)
class RuleRow:
    """Demand of one rule, delivered by the job's law, else nameplate; operation with just that."""

    rule: str
    group: RuleGroup
    chosen: bool
    read_demand_gb_per_s: float
    write_demand_gb_per_s: float | None
    running: Running | None
    appliances: tuple[ApplianceRow, ...]


@dataclass(frozen=True)
class SizeReport(Shown):
    """The sizing model of a problem at one number of GPUs."""

    problem: str
    item: str
    name: str
    reason: str
    gpus: int
    systems: int
    writing_systems: int
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    failures_per_gpu_day: float
    mtti_s: float
    checkpoint_gb: float
    max_restore_s: float | None
    restore_gb_per_s: float | None
    capacity_needed_tb: float
    bulk_needed_tb: float
    ingest_demand_gb_per_s: float
    delivered_read_share: float
    delivered_write_share: float
    modes: tuple[ModeReport, ...] = ()
    rules: tuple[RuleRow, ...] = ()
    notes: tuple[str, ...] = ()
    currency: Currency = USD


class Estimate(Record):
    """Mean over all runs with its 95 % confidence interval, and percentiles of single runs."""

    mean: float
    low: float
    high: float
    p5: float
    p95: float


class LossBudget(Loss):
    """The shares with slowdown and fewer replicas apart; with goodput they add up to 1."""

    slowdown: float
    shrunk: float = 0.0


class FailuresAssumed(Record):
    """Law of the failures."""

    kind: Literal["exponential", "weibull", "empirical"]
    mean_s: float
    shape: float | None = None
    file: str | None = None
    times: int | None = None
    scaled: bool = False


class RepairSeen(Record):
    """Hardware in repair: assumptions, and events of a year."""

    shrinks: bool
    taken_per_year: float
    waits_per_year: float
    grown_per_year: float


class JobSimulated(Record):
    """A job: prediction by formula, simulated outcome; counts per year."""

    name: str
    interval_s: float
    failures: FailuresAssumed
    predicted: float
    predicted_loss: LossBudget
    goodput: Estimate
    loss: LossBudget
    interruptions_per_year: float
    repair: RepairSeen | None = None
    remote_restores_per_year: float | None = None


class IntervalTried(Record):
    """Another interval under the same failures; ``low`` and ``high`` bound ``difference``."""

    factor: float
    interval_s: float
    predicted: float
    goodput: float
    difference: float
    low: float
    high: float
    breaks: tuple[str, ...] = ()


class Simulation(Shown, Record):
    """A plan's job run failure by failure many times, beside the formula's prediction."""

    kind: Literal["simulation"] = "simulation"
    schema_version: int = 1
    problem: str
    problem_file: str
    scenario: str | None
    length_s: float
    replications: int
    seed: int
    jobs: tuple[JobSimulated, ...]
    intervals: tuple[IntervalTried, ...] = ()
    best: int | None = None
    better: bool = False


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
