"""Interruptions, checkpoint intervals and goodput of a job.

Goodput (ETTR) is the share of wall-clock time that ends up as kept training progress. Arguments
mean the same throughout:
    gpus: GPUs the job uses.
    mtti_s: mean time to interruption, s.
    interval_s: start of one checkpoint to the start of the next, s.
    stall_s: seconds the GPUs stop per checkpoint.
    drain_s: seconds from the end of the stall until the checkpoint is safe (0 if synchronous).
    drain_slowdown: share of computing speed lost while a checkpoint drains.
    restart_s: seconds from a failure until computing goes on, restore read included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from planner.sizing.checkpoint import Preset
from planner.units import DAY_S

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


# Goodput.


@dataclass(frozen=True)
class GoodputLoss:
    """Shares of wall-clock time lost, by cause; their sum is 1 - goodput.

    stall: GPUs stopped while a checkpoint is captured (or slowed while it drains).
    rework: progress since the last capture, computed again.
    drain: progress lost because the newest checkpoint had not reached storage yet.
    restart: detecting the failure, replacing the system and starting again.
    restore: reading the checkpoint back.
    waiting: for repairs, while fewer spares stand by than units are out.
    """

    stall: float
    rework: float
    drain: float
    restart: float
    restore: float
    waiting: float = 0.0

    @property
    def total(self) -> float:
        """Sum of the shares, 1 - goodput."""
        parts = (self.stall, self.rework, self.drain, self.restart, self.restore, self.waiting)
        return math.fsum(parts)

    @classmethod
    def from_logs(cls, logs: list[float]) -> GoodputLoss:
        """1 - goodput in proportion to the logarithms of goodput's factors, by cause in order."""
        whole = math.fsum(logs)
        loss_per_log = math.expm1(whole) / whole if whole else 1.0
        return cls(*(abs(log * loss_per_log) for log in logs))


STOPPED = GoodputLoss(stall=1.0, rework=0.0, drain=0.0, restart=0.0, restore=0.0)
"""The loss where stalls fill the interval."""


def goodput(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """Share of wall-clock time kept as progress, for memoryless failures; times at least 0.

    Failures may strike during a restart, and one that comes before the newest checkpoint has
    drained falls back to the one before it. 0 where the stall fills the interval. Exact without a
    slowdown, which is charged to every interval; with one it is too low by `understated_goodput`.

    Source: (1 - s/I) exp(-(D + R)/M) z/(exp(z) - 1) with z = I/M; for D = 0 this is
    J. T. Daly, doi 10.1016/j.future.2004.11.016.
    """
    logs = _log_factors(interval_s, stall_s, drain_s, restart_s, 0.0, mtti_s, drain_slowdown)
    return math.exp(math.fsum(logs))


def understated_goodput(
    interval_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """The amount by which `goodput` is too low, a share of wall-clock time.

    The first interval after a restart has no drain that slows it, yet `goodput` charges one to it.
    Exact where the checkpoint drains within its interval; 0 without a slowdown.

    Source: the first interval's work is kept where its checkpoint drains before the next failure,
    with probability exp(-(R + I + D)/M); the work charged in vain is slowdown x drain, once per M.
    """
    survives = math.exp(-(restart_s + interval_s + drain_s) / mtti_s)
    return drain_slowdown * drain_s / mtti_s * survives


def goodput_loss(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_only_s: float,
    restore_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
    kept_by_swaps: float = 1.0,
    waiting: float = 0.0,
) -> GoodputLoss:
    """Split 1 - goodput over its causes, in proportion to the logarithm of each one's factor.

    Args:
        restart_only_s: seconds to detect, replace and start again, without the restore read.
        restore_s: seconds to read the checkpoint back.
        kept_by_swaps: factor of longer restarts after hardware failures; its loss counts as
            restarts.
        waiting: share of time spent waiting for repairs.
    """
    stall, rework, drain, restart, restore = _log_factors(
        interval_s, stall_s, drain_s, restart_only_s, restore_s, mtti_s, drain_slowdown
    )
    if stall == -math.inf:
        return STOPPED
    restart += math.log(kept_by_swaps)
    return GoodputLoss.from_logs([stall, rework, drain, restart, restore, math.log1p(-waiting)])


def _log_factors(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_only_s: float,
    restore_s: float,
    mtti_s: float,
    drain_slowdown: float,
) -> tuple[float, float, float, float, float]:
    """Logarithms of goodput's factors, in the order of `GoodputLoss`."""
    stopped = (stall_s + drain_slowdown * drain_s) / interval_s
    return (
        math.log1p(-stopped) if stopped < 1 else -math.inf,
        _log_rework_factor(interval_s / mtti_s),
        -drain_s / mtti_s,
        -restart_only_s / mtti_s,
        -restore_s / mtti_s,
    )


def _log_rework_factor(z: float) -> float:
    """log(z / (exp(z) - 1)) for z = I/M without cancellation or overflow."""
    if z < _SERIES_BELOW:
        return -z / 2 - z**2 / 24  # expanded; the first term left out is z**4 / 2880
    return math.log(z) - z - math.log(-math.expm1(-z))
