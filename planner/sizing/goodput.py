"""How often a job is interrupted, how often it should therefore save, and what is left of its time.

What is left is goodput (ETTR): the share of wall-clock time that ends up as kept training progress.

Arguments mean the same throughout:
    gpus: GPUs the job uses.
    mtti_s: mean time to interruption, s.
    interval_s: start of one checkpoint to the start of the next, s.
    stall_s: seconds the GPUs stop per checkpoint.
    drain_s: seconds from the end of the stall until the checkpoint is safe (0 if synchronous).
    drain_slowdown: share of computing speed lost while a checkpoint drains.
    restart_s: seconds from a failure until computing goes on, restore read included.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from planner.sizing.checks import Preset, require_non_negative, require_positive
from planner.units import DAY_S

# Below this the closed form of z - (1 - exp(-z)) loses digits to cancellation.
_DEFICIT_SERIES_BELOW = 0.5

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

# Up to this value of (restart + interval/2 + drain) / MTTI the first-order forms stay within
# about one point of the exact goodput; beyond it they fall away and turn negative.
FIRST_ORDER_VALID_BELOW = 0.15

# A transformer's forward and backward pass costs six operations per active parameter and token.
FLOP_PER_PARAMETER_TOKEN = 6.0

_SERIES_BELOW = 0.01


def mtti_s(failures_per_gpu_day: float, gpus: float) -> float:
    """Return a job's mean time to interruption in seconds, its GPUs failing in series.

    Args:
        failures_per_gpu_day: job-interrupting failures per GPU and day.
    """
    return DAY_S / (failures_per_gpu_day * gpus)


def young_s(stall_s: float, mtti_s: float) -> float:
    """Return Young's compute time between checkpoints in seconds, sqrt(2 s M).

    Source: J. W. Young, Communications of the ACM 17(9), 1974.
    """
    return math.sqrt(2 * stall_s * mtti_s)


def daly_s(stall_s: float, mtti_s: float) -> float:
    """Return Daly's higher-order compute time between checkpoints in seconds.

    Args:
        mtti_s: mean time to interruption, s; also the answer once the stall is twice as long.

    Source: J. T. Daly, Future Generation Computer Systems 22(3), 2006,
    doi 10.1016/j.future.2004.11.016.
    """
    young = young_s(stall_s, mtti_s)
    if stall_s >= 2 * mtti_s:
        return mtti_s
    ratio = stall_s / (2 * mtti_s)
    return young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall_s


def exact_period_s(stall_s: float, mtti_s: float) -> float:
    """Return the interval with the highest goodput, in seconds, stall included.

    It is M (1 + s/M + W0(-exp(-(1 + s/M)))), and depends neither on drain nor on restart time.

    Args:
        stall_s: seconds the GPUs stop per checkpoint; without a stall the answer is 0.

    Source: the stationary point of `goodput.goodput` in the interval.
    """
    return mtti_s * _optimal_period_per_mtti(stall_s / mtti_s)


def _optimal_period_per_mtti(stall_per_mtti: float) -> float:
    """Solve z - (1 - exp(-z)) = s/M for z = I/M by Newton steps.

    The left side is convex and rising, so Newton's method converges from any start above zero;
    unlike W0 near its branch point, this form keeps full precision for the smallest stalls.
    """
    if stall_per_mtti == 0:
        return 0.0
    z = min(1 + stall_per_mtti, math.sqrt(2 * stall_per_mtti) + stall_per_mtti)
    for _ in range(50):
        step = (_compute_deficit(z) - stall_per_mtti) / -math.expm1(-z)
        z -= step
        if abs(step) <= 1e-15 * z:
            break
    return z


def _compute_deficit(z: float) -> float:
    """Return z - (1 - exp(-z)) without cancellation."""
    if z >= _DEFICIT_SERIES_BELOW:
        return z + math.expm1(-z)
    term = total = z * z / 2
    order = 2
    while abs(term) > 1e-17 * total:
        order += 1
        term *= -z / order
        total += term
    return total


@dataclass(frozen=True)
class GoodputLoss:
    """Shares of wall-clock time lost, by cause; together they make up 1 - goodput.

    Attributes:
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
        """Return the sum of the shares, 1 - goodput."""
        parts = (self.stall, self.rework, self.drain, self.restart, self.restore, self.waiting)
        return math.fsum(parts)


def goodput(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """Return the share of wall-clock time kept as progress, for memoryless failures.

    Failures may strike during a restart, and one that comes before the newest checkpoint has
    drained falls back to the one before it. The result is 0 when the stall fills the interval.
    Exact without a slowdown; with one it is too low by `understated_goodput`.

    Args:
        drain_slowdown: share of computing speed lost while a checkpoint drains; it is charged
            to every interval, the first after a restart included.

    Raises:
        ValueError: a time is negative, or the interval or time to interruption not positive.

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
    """Return by how much `goodput` is too low, as a share of wall-clock time.

    The first interval after a restart has no drain that slows it, yet `goodput` charges one to it.
    Exact where the checkpoint drains within its interval; 0 without a slowdown.

    Raises:
        ValueError: a time is negative, or the interval or time to interruption not positive.

    Source: the first interval's work is kept where its checkpoint drains before the next failure,
    with probability exp(-(R + I + D)/M); the work charged in vain is slowdown x drain, once per M.
    """
    _require_goodput_inputs(interval_s, 0.0, drain_s, mtti_s, drain_slowdown)
    require_non_negative(restart_s=restart_s)
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
        kept_by_swaps: what longer restarts after hardware failures leave, as a factor; its loss
            counts as restarts.
        waiting: share of time spent waiting for repairs.

    Raises:
        ValueError: a time is negative, or the interval or time to interruption not positive.
    """
    stall, rework, drain, restart, restore = _log_factors(
        interval_s, stall_s, drain_s, restart_only_s, restore_s, mtti_s, drain_slowdown
    )
    restart += math.log(kept_by_swaps)
    logs = (stall, rework, drain, restart, restore, math.log1p(-waiting))
    if logs[0] == -math.inf:
        return GoodputLoss(stall=1.0, rework=0.0, drain=0.0, restart=0.0, restore=0.0)
    log_goodput = math.fsum(logs)
    loss_per_log = math.expm1(log_goodput) / log_goodput if log_goodput else 1.0
    return GoodputLoss(*(abs(log * loss_per_log) for log in logs))


def _log_factors(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_only_s: float,
    restore_s: float,
    mtti_s: float,
    drain_slowdown: float,
) -> tuple[float, float, float, float, float]:
    """Return the logarithms of goodput's factors, in the order of `GoodputLoss`."""
    _require_goodput_inputs(interval_s, stall_s, drain_s, mtti_s, drain_slowdown)
    require_non_negative(restart_s=restart_only_s, restore_s=restore_s)
    stopped = (stall_s + drain_slowdown * drain_s) / interval_s
    return (
        math.log1p(-stopped) if stopped < 1 else -math.inf,
        _log_rework_factor(interval_s / mtti_s),
        -drain_s / mtti_s,
        -restart_only_s / mtti_s,
        -restore_s / mtti_s,
    )


def _require_goodput_inputs(
    interval_s: float, stall_s: float, drain_s: float, mtti_s: float, drain_slowdown: float
) -> None:
    require_positive(interval_s=interval_s, mtti_s=mtti_s)
    require_non_negative(stall_s=stall_s, drain_s=drain_s)
    if not 0 <= drain_slowdown <= 1:
        raise ValueError(f"drain_slowdown must lie between 0 and 1, got {drain_slowdown!r}")


def _log_rework_factor(z: float) -> float:
    """Return log(z / (exp(z) - 1)) for z = I/M without cancellation or overflow."""
    if z < _SERIES_BELOW:
        # -z/2 - log(sinh(z/2) / (z/2)), expanded; the first term left out is z**6 / 181440.
        return -z / 2 - z**2 / 24 + z**4 / 2880
    return math.log(z) - z - math.log(-math.expm1(-z))


def first_order_goodput(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    drain_slowdown: float = 0.0,
) -> float:
    """Return the first-order goodput, (1 - s/I) (1 - (R + I/2 + D)/M), for comparison only.

    Usable while (R + I/2 + D)/M is below `FIRST_ORDER_VALID_BELOW`; negative for rare saves.

    Args:
        drain_s: seconds from the end of the stall until the checkpoint is safe.

    Raises:
        ValueError: a time is negative, or the interval or time to interruption not positive.

    Source: Meta's form (arXiv 2410.21680, HPCA'25) with the drain added to the work lost per
    failure.
    """
    _require_goodput_inputs(interval_s, stall_s, drain_s, mtti_s, drain_slowdown)
    require_non_negative(restart_s=restart_s)
    running = max(0.0, 1 - (stall_s + drain_slowdown * drain_s) / interval_s)
    return running * (1 - (restart_s + interval_s / 2 + drain_s) / mtti_s)


def best_interval_s(stall_s: float, mtti_s: float, low_s: float, high_s: float) -> float:
    """Return the interval within the bounds that has the highest goodput, in seconds.

    Goodput has a single peak in the interval, so the best allowed one is the peak or the bound
    nearest to it.

    Args:
        stall_s: seconds the GPUs stop per checkpoint; with a slowdown while draining, the stall
            plus slowdown times drain.
        low_s: shortest interval allowed, s.
        high_s: longest interval allowed, s.

    Raises:
        ValueError: the bounds are not positive or cross, the stall is negative or the time to
            interruption not positive.
    """
    require_positive(low_s=low_s, high_s=high_s)
    if low_s > high_s:
        raise ValueError(f"low_s {low_s!r} is above high_s {high_s!r}")
    return min(max(exact_period_s(stall_s, mtti_s), low_s), high_s)


def useful_gpus(gpus: float, goodput: float) -> float:
    """Return how many GPUs' worth of time becomes kept progress.

    Args:
        goodput: share of wall-clock time kept as progress.

    Raises:
        ValueError: the GPUs are not positive or goodput lies outside 0 to 1.
    """
    require_positive(gpus=gpus)
    if not 0 <= goodput <= 1:
        raise ValueError(f"goodput must lie between 0 and 1, got {goodput!r}")
    return gpus * goodput


def useful_pflops(gpus: float, tflops_per_gpu: float, mfu: float, goodput: float) -> float:
    """Return the training rate that becomes kept progress, in PFLOP/s.

    Args:
        tflops_per_gpu: dense peak rate of one GPU, TFLOP/s.
        mfu: model FLOP/s utilisation, the share of the peak reached while computing.
        goodput: share of wall-clock time kept as progress.
    """
    return useful_gpus(gpus, goodput) * tflops_per_gpu * mfu / 1000


def days_to_train(active_parameters: float, tokens: float, useful_pflops: float) -> float:
    """Return the days a training run takes, at six operations per active parameter and token.

    Args:
        active_parameters: parameters used per token (all of them in a dense model).
        tokens: tokens to train on.
        useful_pflops: training rate kept as progress, PFLOP/s.
    """
    flop = FLOP_PER_PARAMETER_TOKEN * active_parameters * tokens
    return flop / (useful_pflops * 1e15) / DAY_S
