"""How often a job is interrupted, and how often it should therefore save."""

import math

from planner.sizing.checks import Preset, require_non_negative, require_positive
from planner.units import DAY_S

# Below this the closed form of z - (1 - exp(-z)) loses digits to cancellation.
_SERIES_BELOW = 0.5

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


def mtti_s(failures_per_gpu_day: float, gpus: float) -> float:
    """Return a job's mean time to interruption in seconds, its GPUs failing in series.

    Args:
        failures_per_gpu_day: job-interrupting failures per GPU and day.
        gpus: GPUs the job uses.

    Raises:
        ValueError: a quantity is not positive.
    """
    require_positive(failures_per_gpu_day=failures_per_gpu_day, gpus=gpus)
    return DAY_S / (failures_per_gpu_day * gpus)


def fit_to_mtbf_h(fit: float) -> float:
    """Return the mean time between failures in hours of a part rated in FIT.

    Args:
        fit: failures per 1e9 hours; the FIT of parts in series add up.

    Raises:
        ValueError: the rating is not positive.
    """
    require_positive(fit=fit)
    return 1e9 / fit


def mtbf_h_to_failures_per_day(mtbf_h: float) -> float:
    """Return the failures per day of a part with the given mean time between failures.

    Args:
        mtbf_h: mean time between failures, hours.

    Raises:
        ValueError: the time is not positive.
    """
    require_positive(mtbf_h=mtbf_h)
    return 24.0 / mtbf_h


def young_s(stall_s: float, mtti_s: float) -> float:
    """Return Young's compute time between checkpoints in seconds, sqrt(2 s M).

    Args:
        stall_s: seconds the GPUs stop per checkpoint.
        mtti_s: mean time to interruption, s.

    Raises:
        ValueError: the stall is negative or the time to interruption not positive.

    Source: J. W. Young, Communications of the ACM 17(9), 1974.
    """
    require_non_negative(stall_s=stall_s)
    require_positive(mtti_s=mtti_s)
    return math.sqrt(2 * stall_s * mtti_s)


def daly_s(stall_s: float, mtti_s: float) -> float:
    """Return Daly's higher-order compute time between checkpoints in seconds.

    Args:
        stall_s: seconds the GPUs stop per checkpoint.
        mtti_s: mean time to interruption, s; also the answer once the stall is twice as long.

    Raises:
        ValueError: the stall is negative or the time to interruption not positive.

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
        mtti_s: mean time to interruption, s.

    Raises:
        ValueError: the stall is negative or the time to interruption not positive.

    Source: the stationary point of `goodput.goodput` in the interval.
    """
    require_non_negative(stall_s=stall_s)
    require_positive(mtti_s=mtti_s)
    return mtti_s * _optimal_period_per_mtti(stall_s / mtti_s)


def exact_compute_s(stall_s: float, mtti_s: float) -> float:
    """Return the compute time between checkpoints of `exact_period_s`, in seconds.

    Args:
        stall_s: seconds the GPUs stop per checkpoint.
        mtti_s: mean time to interruption, s.

    Raises:
        ValueError: the stall is negative or the time to interruption not positive.
    """
    # At the optimum period - stall = M (1 - exp(-period/M)), which does not cancel.
    return -mtti_s * math.expm1(-exact_period_s(stall_s, mtti_s) / mtti_s)


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
    if z >= _SERIES_BELOW:
        return z + math.expm1(-z)
    term = total = z * z / 2
    order = 2
    while abs(term) > 1e-17 * total:
        order += 1
        term *= -z / order
        total += term
    return total
