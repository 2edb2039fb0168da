"""Failures and repairs of a job: rates, interruptions that need storage, units in repair, spares.

Arguments mean the same throughout:
    gpus: GPUs the job uses.
    spares: hot spare units.
    load: units in repair on average if the job never waited, see `repair_load`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def mtti_s(failures_per_gpu_day: float, gpus: float) -> float:
    """Mean time to interruption of a job, s, its GPUs failing in series."""
    return DAY_S / (failures_per_gpu_day * gpus)


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
