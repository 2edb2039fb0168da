"""Result of a simulation. Additive changes only, as with the plan."""

from typing import Literal

from planner.schema.base import Record, Shown

SIMULATION_SCHEMA_VERSION = 1

FailureKind = Literal["exponential", "weibull", "empirical"]


class Estimate(Record):
    """Mean over all runs with its 95 % confidence interval, and percentiles of single runs."""

    mean: float
    low: float
    high: float
    p5: float
    p95: float


class LossBudget(Record):
    """Shares of wall-clock time lost; with goodput they add up to 1.

    ``stall``: captures and waits for a drain; ``slowdown``: computing slowed by a drain;
    ``rework``: back to the newest capture; ``drain``: further back because that one was not safe;
    ``waiting``: more units in repair than spares; ``shrunk``: fewer replicas run; ``other``: lost
    time besides.
    """

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
    """Law of the failures; ``variation``: standard deviation over mean of their times."""

    kind: FailureKind
    mean_s: float
    variation: float
    shape: float | None = None
    file: str | None = None
    times: int | None = None
    scaled: bool = False


class RepairSeen(Record):
    """Hardware in repair: assumptions, and events of a year.

    ``spares`` per rack where they are ``in_rack``. Times of repair are exponential with mean
    ``repair_s``. ``expected_out``: mean units out if the job never stood still. Where it
    ``shrinks`` the job runs on with fewer replicas; ``grown_per_year`` counts restarts with more.
    """

    spares: int
    in_rack: bool
    shrinks: bool
    hardware_share: float
    repair_s: float
    swap_s: float
    expected_out: float
    taken_per_year: float
    waits_per_year: float
    grown_per_year: float


class LocalSeen(Record):
    """Local checkpoints: each ``every``-th goes to the shared storage, ``settle_s`` after its
    capture; ``remote_share`` of the interruptions need that storage, ``remote_per_year`` did.
    """

    every: int
    settle_s: float
    restart_s: float
    remote_share: float
    drain_restarts: bool
    remote_per_year: float


class JobSimulated(Record):
    """A job: its operation, the formula's prediction, and the simulated outcome.

    ``predicted``: by the formula for this interval and mean time between interruptions, without
    memory, all appliances up. ``waits``: part of ``loss.stall`` that is waiting. Counts are per
    year.
    """

    name: str
    mode: Literal["async", "sync"]
    interval_s: float
    stall_s: float
    checkpoint_gb: float
    drain_s: float
    restart_s: float
    restore_s: float
    failures: FailuresAssumed
    planned_goodput: float | None
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
    """Another interval under the same failures, against the simulated one.

    ``low`` and ``high`` bound ``difference``, for all intervals together. ``breaks``: limits of the
    plan that it breaks.
    """

    factor: float
    interval_s: float
    predicted: float
    goodput: float
    difference: float
    low: float
    high: float
    breaks: tuple[str, ...] = ()


class Simulation(Shown, Record):
    """A plan's job run failure by failure many times, beside the formula's prediction.

    ``best``: place in ``intervals`` of the highest goodput without broken limits; ``better``:
    whether it beats the simulated one by more than the noise.
    """

    kind: Literal["simulation"] = "simulation"
    schema_version: int = SIMULATION_SCHEMA_VERSION
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
