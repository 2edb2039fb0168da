"""Operation of the job: planned, sized, simulated.

Additive changes only; field names end in their unit.
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


class LossBudget(Record):
    """Shares of wall-clock time lost; with goodput they add up to 1."""

    stall: float
    slowdown: float
    rework: float
    drain: float
    restart: float
    restore: float
    waiting: float = 0.0
    shrunk: float = 0.0
    other: float = 0.0


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


class LocalSeen(Record):
    """Local checkpoints: each ``every``-th goes to storage."""

    every: int
    remote_per_year: float


class JobSimulated(Record):
    """A job: operation, prediction by formula, simulated outcome; counts per year."""

    name: str
    mode: Literal["async", "sync"]
    interval_s: float
    stall_s: float
    checkpoint_gb: float
    drain_s: float
    restart_s: float
    restore_s: float
    failures: FailuresAssumed
    predicted: float
    predicted_loss: LossBudget
    goodput: Estimate
    loss: LossBudget
    waits: float
    interruptions_per_year: float
    waits_per_year: float
    repair: RepairSeen | None = None
    local: LocalSeen | None = None


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
