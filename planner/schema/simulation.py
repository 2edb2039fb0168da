"""What a simulation of a plan found. Additive changes only, as with the plan."""

from typing import Literal

from planner.schema.base import Record, Shown

SIMULATION_SCHEMA_VERSION = 1

FailureKind = Literal["exponential", "weibull", "empirical"]


class Estimate(Record):
    """The mean over all runs with its confidence interval, and how far single runs are apart."""

    mean: float
    low: float
    high: float
    p5: float
    p95: float


class LossBudget(Record):
    """Shares of wall-clock time that are lost; with goodput they make up all of it.

    ``stall`` counts captures and waits for a drain, ``slowdown`` computing slowed by a drain,
    ``rework`` computing lost back to the newest checkpoint captured, ``drain`` what is lost further
    back because that one was not safe yet. ``waiting`` is standing still because more units are out
    for repair than spares stand by, ``shrunk`` computing lost because fewer replicas run meanwhile,
    ``other`` lost time besides failures and checkpoints.
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
    """When a job fails: the kind, its shape (Weibull), the file and how many times it holds.

    ``variation`` is the standard deviation of times between interruptions over their mean.
    """

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
    """Checkpoints kept locally: each ``every``-th goes to the shared storage, ``settle_s`` after
    its capture. ``remote_share`` of the interruptions need that storage; ``remote_per_year`` did.
    """

    every: int
    settle_s: float
    restart_s: float
    remote_share: float
    drain_restarts: bool
    remote_per_year: float


class JobSimulated(Record):
    """A job: how it runs, what the formula predicts, and what came out.

    ``planned_goodput`` is what its plan states, None for a job that is no plan's. ``predicted`` is
    the formula's for what was simulated: this interval, this mean time between interruptions,
    without memory, all appliances up, no other job. ``waits`` is the part of ``loss.stall`` that is
    waiting. Counts are per year of simulated time.
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
    """Another interval under the same failures, against the one that was simulated.

    ``low`` and ``high`` bound ``difference`` so that all of the intervals' bounds hold together.
    ``breaks`` are limits of the plan that it does not keep.
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
    """A plan's job run event by event many times, beside what the formula predicts.

    ``best`` is the place in ``intervals`` of the one with the highest goodput of those that break
    no limit, ``better`` whether it beats the simulated one by more than the noise. ``planned`` and
    ``outages`` are (every, lasting) and (between failures, repair) in s.
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
