"""Goodput of a job: interruptions, checkpoint intervals, one or two levels, hardware in repair.

Goodput (ETTR) is the share of wall-clock time that ends up as kept training progress. Arguments
mean the same throughout:
    gpus: GPUs the job uses.
    mtti_s: mean time to interruption, s.
    interval_s: start of one checkpoint to the start of the next, s.
    stall_s: seconds the GPUs stop per checkpoint.
    drain_s: seconds from the end of the stall until the checkpoint is safe (0 if synchronous).
    drain_slowdown: share of computing speed lost while a checkpoint drains.
    restart_s: seconds from a failure until computing goes on, restore read included.
    spares: hot spare units.
    load: units in repair on average if the job never waited, see `repair_load`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from planner.sizing.checkpoint import Preset
from planner.units import DAY_S

Recovers = Literal["yes", "peer", "no"]
"""Local copy left by a class of failures: any, only one on a peer, or none."""
FAILURES_PER_GPU_DAY: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "rsc2",
            2.93e-4,
            "Meta RSC-2, 2.34 failures per 1,000 node-days of 8 GPUs",
            "arXiv 2410.21680 (HPCA'25)",
        ),
        Preset(
            "llama3",
            4.74e-4,
            "Llama 3 405B, 419 unexpected interruptions in 54 days on 16,384 GPUs",
            "arXiv 2407.21783 table 5",
        ),
        Preset(
            "mlcommons",
            4.8e-4,
            "50,000 h mean time to failure per accelerator",
            "MLCommons, MLPerf Storage v2.0 press release, 2025-08-04",
        ),
        Preset(
            "rsc1",
            8.13e-4,
            "Meta RSC-1, 6.50 failures per 1,000 node-days of 8 GPUs",
            "arXiv 2410.21680 (HPCA'25)",
        ),
        Preset(
            "shared_research",
            2.97e-3,
            "Meta's measured 1,024-GPU jobs, 7.9 h mean time to failure",
            "arXiv 2410.21680 (HPCA'25)",
        ),
    )
}


class LostTime(NamedTuple):
    """Published range of lost time besides failures and checkpoints, a share."""

    low: float
    high: float
    meaning: str
    source: str


LOST_TIME = LostTime(
    0.01,
    0.16,
    "evaluation, restarts by people, network faults, slow starts; Gemini 2.5: 4.5 % of steps were "
    "replays or rollbacks; Olmo 3: 83 % kept where failures alone leave 98.9 %",
    "arXiv 2507.06261 section 2.3; arXiv 2512.13961",
)

FLOP_PER_PARAMETER_TOKEN = 6.0
"""Operations of forward and backward pass of a transformer, per active parameter and token."""
CONVERGED = 1e-12
_SERIES_BELOW = 1e-3
_LARGE = 30.0


def mtti_s(failures_per_gpu_day: float, gpus: float) -> float:
    """Mean time to interruption of a job, s, its GPUs failing in series."""
    return DAY_S / (failures_per_gpu_day * gpus)


def days_to_train(active_parameters: float, tokens: float, useful_pflops: float) -> float:
    """Days of a training run.

    Args:
        active_parameters: parameters used per token (all of them in a dense model).
        tokens: tokens to train on.
        useful_pflops: training rate kept as progress, PFLOP/s.
    """
    flop = FLOP_PER_PARAMETER_TOKEN * active_parameters * tokens
    return flop / (useful_pflops * 1e15) / DAY_S


# Intervals.


def exact_period_s(stall_s: float, mtti_s: float) -> float:
    """The interval of the highest goodput, s, stall included; 0 without a stall.

    It is M (1 + s/M + W0(-exp(-(1 + s/M)))), whatever drain and restart are.

    Source: the stationary point of `goodput` in the interval: z - (1 - exp(-z)) = s/M with
    z = I/M. The left side is convex and rising, so Newton's method converges from any start above
    zero.
    """
    ratio = stall_s / mtti_s
    if ratio == 0:
        return 0.0
    z = min(1 + ratio, math.sqrt(2 * ratio) + ratio)
    for _ in range(50):
        step = (z + math.expm1(-z) - ratio) / -math.expm1(-z)
        z -= step
        if abs(step) <= CONVERGED * z:
            break
    return mtti_s * z


def best_interval_s(stall_s: float, mtti_s: float, low_s: float, high_s: float) -> float:
    """The interval within bounds that has the highest goodput, s.

    Goodput has a single peak in the interval, so the best allowed one is the peak or the bound
    nearest to it.

    Args:
        stall_s: stall per checkpoint; with a slowdown while draining, plus slowdown times drain.

    Raises:
        ValueError: the bounds cross.
    """
    if low_s > high_s:
        raise ValueError(f"low_s {low_s!r} is above high_s {high_s!r}")
    return min(max(exact_period_s(stall_s, mtti_s), low_s), high_s)


# Goodput, and the shares of wall-clock time lost by cause.

CAUSES = ("stall", "rework", "drain", "restart", "restore", "waiting")
"""Causes of lost time: GPUs stopped, or slowed by a drain; progress since the last capture computed
again; progress lost as the newest checkpoint was not safe yet; detecting a failure, replacing the
unit and starting again; reading the checkpoint back; more units in repair than spares."""


# Two levels of checkpoints: frequent ones to local drives or peers (NVMe of the GPU systems), every
# k-th of them drains on to the storage of the cluster. Which failures the local level survives
# decides its value.


def remote_share(
    shares: Mapping[str, float], recovers: Mapping[str, Recovers], copies: int
) -> float:
    """Share of interruptions that need the remote level.

    Args:
        shares: share of all interruptions by class; their sum is 1.
        recovers: local copies that each class leaves.
        copies: local copies of each checkpoint; the second and further ones are on peers.

    Raises:
        ValueError: the shares do not add up, or a class has no entry in ``recovers``.
    """
    if not math.isclose(math.fsum(shares.values()), 1.0, abs_tol=1e-6):
        raise ValueError(f"the shares add up to {math.fsum(shares.values())!r}, not to 1")
    if set(shares) != set(recovers):
        raise ValueError("each class needs its share and what it leaves of the local level")
    lost = ("no",) if copies > 1 else ("no", "peer")
    return math.fsum(share for name, share in shares.items() if recovers[name] in lost)


def derived_stall_s(
    overhead_s: float, checkpoint_gb: float, writing_gpus: float, copy_gb_per_s: float
) -> float:
    """Stall while the state is copied to the memory of hosts, s, beside an overhead.

    Args:
        writing_gpus: GPUs that save, each its even part.
        copy_gb_per_s: from one GPU to its host.
    """
    return overhead_s + checkpoint_gb / (writing_gpus * copy_gb_per_s)


def local_part_gb(
    checkpoint_gb: float, copies: int, system_gpus: float, writing_gpus: float
) -> float:
    """Local writes of one GPU system per checkpoint, its peers' copies included, GB.

    Args:
        system_gpus: GPUs of a system that the job can use.
        writing_gpus: GPUs that save, each its even part.
    """
    return copies * checkpoint_gb * system_gpus / writing_gpus


@dataclass(frozen=True)
class Levels:
    """Checkpointing of a job on one level (the defaults) or two; times in seconds.

    Attributes:
        interval_s: start of one (local) checkpoint to the start of the next.
        stall_s: GPUs stopped per checkpoint.
        drain_s: from the end of the stall, or of the local drain, until a checkpoint is on storage.
        restart_s: from a failure that needs storage until computing goes on, without the read.
        restore_s: reading back from storage.
        mtti_s: mean time to interruption.
        every: k, each k-th checkpoint goes on to storage, at least 1.
        local_drain_s: from the end of the stall until the local copies are safe.
        local_restart_s: from a failure that the local level survives until computing goes on.
        remote_share: share of interruptions that need storage, above 0.
        drain_slowdown: share of computing speed lost while a checkpoint drains to storage.
        hardware_share: share of interruptions of either kind after which a unit is swapped.
        swap_s: how much longer such a restart takes.
    """

    interval_s: float
    stall_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    mtti_s: float
    every: int = 1
    local_drain_s: float = 0.0
    local_restart_s: float = 0.0
    remote_share: float = 1.0
    drain_slowdown: float = 0.0
    hardware_share: float = 0.0
    swap_s: float = 0.0

    @property
    def stopped_share(self) -> float:
        """Share of time in which GPUs stop for a checkpoint or are slowed by a drain."""
        slowed_s = self.drain_slowdown * self.drain_s / self.every
        return (self.stall_s + slowed_s) / self.interval_s

    def restarts(self, rate: float) -> tuple[float, float]:
        """-log of the chance of no failure during a restart from either level, swaps included.

        Args:
            rate: failures per second that restarts see.
        """
        swapped = self.hardware_share * math.exp(-rate * self.swap_s)
        swaps = -math.log(1.0 - self.hardware_share + swapped)
        far_s = self.restart_s + self.restore_s
        return rate * self.local_restart_s + swaps, rate * far_s + swaps


def goodput(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """Share of wall-clock time kept as progress with one level; 0 where the stall fills the
    interval.

    Source: (1 - s/I) exp(-(D + R)/M) z/(exp(z) - 1) with z = I/M; for D = 0 this is
    J. T. Daly, doi 10.1016/j.future.2004.11.016.
    """
    levels = Levels(
        interval_s, stall_s, drain_s, restart_s, 0.0, mtti_s, drain_slowdown=drain_slowdown
    )
    return 0.0 if levels.stopped_share >= 1 else math.exp(_log_goodput(levels))


def _log_goodput(levels: Levels) -> float:
    """Logarithm of the share of wall-clock time kept as progress.

    Exact for memoryless failures of both kinds, which may strike during either restart, where a
    local checkpoint is safe before the next (D1 <= I1) and a remote one likewise (D2 <= k I1). The
    slowdown is charged to every interval, also to the first after a restart, which has none.

    Source: renewals at failures that need the remote level. Between them the time until n local
    checkpoints are safe has the Laplace transform C0 (1 + y)^-n at the rate q2/M of those failures:

        h  = q2 / (q2 + q1 e^(-(R1 + D1)/M)),   y = (e^(I1/M) - 1) h
        C0 = e^(-D1/M) (q2 + q1 e^(-R1/M)) / (q2 + q1 e^(-(R1 + D1)/M))
        E  = (1 - s/I1 - a D2/(k I1)) (k I1/M) q2 C0
             / {[(1 + y)^k - 1] [1 + q2 (e^(R2/M) - 1)]}
             / {1 + (e^(D2/M) - 1) q2/(q2 + q1 e^(-R1/M))}

    Where a share p of restarts is longer by a swap w, e^(-R1/M) and e^(-R2/M) are their means: both
    times 1 - p + p e^(-w/M), because all that counts is how likely a restart ends before a failure.

    q2 is `remote_share`, q1 the rest; each local restart begins a drain to storage anew. With
    q2 = 1 and k = 1 this is that of `goodput.goodput` with the two drains added up.
    """
    rate, q2 = 1.0 / levels.mtti_s, levels.remote_share
    (restart, far), lag = levels.restarts(rate), rate * levels.local_drain_s
    return math.fsum(
        (
            math.log1p(-levels.stopped_share),
            log_rework(rate * levels.interval_s, restart, lag, levels.every, q2),
            log_drain(rate * levels.drain_s, restart, q2),
            log_restart(far, q2),
        )
    )


def goodput_loss(levels: Levels, waiting: float = 0.0) -> dict[str, float]:
    """1 - goodput by cause, in proportion to the logarithm of each one's factor on goodput.

    The times of causes are added in the order rework, drains, restarts, restore: the parts depend
    on that order, their sum does not. ``waiting``: share of time waited for repairs.
    """
    if levels.stopped_share >= 1:
        return dict.fromkeys(CAUSES, 0.0) | {"stall": 1.0}
    swapped = replace(levels, stall_s=0.0, drain_slowdown=0.0, restart_s=0.0, restore_s=0.0)
    at_once = replace(swapped, swap_s=0.0, local_restart_s=0.0)
    safe = replace(at_once, local_drain_s=0.0, drain_s=0.0)
    started = replace(swapped, restart_s=levels.restart_s)
    read = replace(started, restore_s=levels.restore_s)
    steps = [0.0, *map(_log_goodput, (safe, at_once, started, read))]
    parts = [after - before for before, after in itertools.pairwise(steps)]
    logs = [math.log1p(-levels.stopped_share), *parts, math.log1p(-waiting)]
    whole = math.fsum(logs)
    loss_per_log = math.expm1(whole) / whole if whole else 1.0
    return {cause: abs(log * loss_per_log) for cause, log in zip(CAUSES, logs, strict=True)}


# The factors. Their arguments are shares of the MTTI: ``interval``, ``restart`` and ``lag`` are the
# local interval, restart and drain, ``drain`` is the remote one. Each k-th (``every``) checkpoint
# goes on to the remote level, which ``q2`` of all interruptions need. For a whole k each logarithm
# is concave in the logarithms of its times where restart + lag <= 1. With log k relaxed it is not:
# q2 = 0.65, (log interval, log k, log restart, log lag) = (-0.1391, 2.7259, -0.2914, -2.1802) and
# (0, 2.5742, -0.1930, -2.0318) have a midpoint 2.3e-4 below their mean. So k is never relaxed.


def log_rework(interval: float, restart: float, lag: float, every: int, q2: float) -> float:
    """log{k I q2 C0 / [(1 + y)^k - 1]}: factor of rework, the local drain and restart."""
    share = math.log(q2) - _log_mix(restart + lag, q2)
    log_steps = every * math.log1p(_grown(interval, share))
    head = math.log(every) + math.log(interval) - lag + _log_mix(restart, q2) + share
    return head - _log_expm1(log_steps)


def log_drain(drain: float, restart: float, q2: float) -> float:
    """Logarithm of the chance that a remote checkpoint is safe in time; local restarts begin it
    anew."""
    return _log_mix(restart, q2) - drain - _log_mix(restart + drain, q2)


def log_restart(restart: float, q2: float) -> float:
    """-log[1 + q2 (e^R - 1)]: factor of restarts from the remote level, restore read included."""
    if restart > _LARGE:
        return -(restart + math.log(q2))
    return -math.log1p(q2 * math.expm1(restart))


def _log_mix(x: float, q2: float) -> float:
    """log(q2 + q1 e^-x)."""
    return math.log1p((1.0 - q2) * math.expm1(-x))


def _grown(interval: float, log_share: float) -> float:
    """y = (e^I - 1) h, at most the largest float."""
    return math.exp(min(_log_expm1(interval) + log_share, 700.0))


def _log_expm1(x: float) -> float:
    """log(e^x - 1) without overflow."""
    return x + math.log1p(-math.exp(-x)) if x > _LARGE else math.log(math.expm1(x))


# Hardware in repair. Of the job's interruptions a share takes one spare unit (a GPU system, or a
# tray of it) out for a repair. Others stand by and take its place; the job waits while more are out
# than stood by. Nothing fails while it waits, so the units out are a loss system with as many
# places as there are spares, and one more: Erlang's loss formula, whatever the law of the repair
# times is. A job may also go on with fewer replicas: then what runs fails, the less the more units
# are out, a loss system whose arrivals fall with the units out.


def repair_load(failures_per_gpu_day: float, gpus: float, out_s: float) -> float:
    """Units out on average if the job never waited.

    Args:
        failures_per_gpu_day: job-interrupting failures per GPU and day.
        out_s: repair time per interruption, s: the share of interruptions that take a unit out,
            times the mean of its repair; a sum over classes where there are some.
    """
    return failures_per_gpu_day / DAY_S * gpus * out_s


def waiting_share(spares: int, load: float) -> float:
    """Share of time in which the job waits: more units are out than stood by.

    Source: A. K. Erlang, 1917: B(0) = 1, B(c) = load B(c - 1)/(c + load B(c - 1)), with a place
    more than there are spares.
    """
    blocked = 1.0
    for place in range(1, spares + 2):
        blocked = load * blocked / (place + load * blocked)
    return blocked


def waiting_odds(spares: int, load: float) -> float:
    """Time a job waits for repairs over the time it does not.

    Of several racks with spares of their own, all needed, the sum is an upper bound, close up to
    0.02, as repairs go on while the job waits.
    """
    blocked = waiting_share(spares, load)
    return blocked / (1.0 - blocked)


@lru_cache(maxsize=256)
def spares_needed(load: float, waiting: float) -> int:
    """The fewest spares with which the job waits no more than a share of its time, above 0."""
    spares, blocked = 0, load / (1.0 + load)
    while blocked > waiting:
        spares += 1
        blocked = load * blocked / (spares + 1 + load * blocked)
    return spares


class Restarts(NamedTuple):
    """Restarts of a job that goes on with fewer replicas; times in seconds.

    ``after_failures`` are shares of failures, each with the restart after it, ``grow_s`` is that
    with more replicas, all without reading a checkpoint back. A ``hardware_share`` of failures
    takes a unit out, for ``repair_s``.
    """

    hardware_share: float
    repair_s: float
    after_failures: tuple[tuple[float, float], ...]
    grow_s: float

    def left_out(self) -> float:
        """Share of the longest restart for which a unit that failed before it is out."""
        longest = max(each_s for _, each_s in self.after_failures) / self.repair_s
        return -math.expm1(-longest) / longest if longest > 0.0 else 1.0


@lru_cache(maxsize=256)
def longest_swap_per_mtti(hardware_share: float) -> float:
    """The longest swap, as a share of the MTTI, up to which the optimum can be proven.

    Up to it the logarithm of the factor ``1 + hardware_share expm1(-swap / MTTI)`` of swaps on
    goodput is concave in the logarithm of the MTTI: where g (1 - p) <= 1, g the swap over the MTTI
    and p the share of hardware in the rest.
    """
    low, high = 1.0, 700.0
    for _ in range(100):
        middle = (low + high) / 2.0
        left = hardware_share * math.exp(-middle)
        if middle * (1.0 - left / (1.0 - hardware_share + left)) <= 1.0:
            low = middle
        else:
            high = middle
    return low
