"""Two levels of checkpoints: frequent ones to local drives or peers, every k-th to storage.

The local level (NVMe of the GPU systems, copies on peers) is saved every interval; each k-th of its
checkpoints drains on to the remote level, the storage of the cluster. Which failures the local
level survives decides its value.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from planner.sizing.goodput import STOPPED, GoodputLoss

Recovers = Literal["yes", "peer", "no"]
"""Local copy left by a class of failures: any, only one on a peer, or none."""

_LARGE = 30.0


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
    return math.fsum(
        share for name, share in shares.items() if not survives(recovers[name], copies)
    )


def survives(recovers: Recovers, copies: int) -> bool:
    """True if a local copy survives a class of failures."""
    return recovers == "yes" or (recovers == "peer" and copies > 1)


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
class TwoLevels:
    """Checkpointing of a job on two levels; times in seconds.

    Attributes:
        interval_s: start of one local checkpoint to the start of the next.
        every: k, each k-th of them goes on to the remote level, at least 1.
        stall_s: GPUs stopped per local checkpoint.
        local_drain_s: from the end of the stall until the local copies are safe.
        drain_s: from then until a remote checkpoint is safe.
        local_restart_s: from a failure that the local level survives until computing goes on.
        restart_s: from any other failure until computing goes on, without the restore read.
        restore_s: reading back from the remote level.
        mtti_s: mean time to interruption.
        remote_share: share of interruptions that need the remote level, above 0.
        drain_slowdown: share of computing speed lost while a remote checkpoint drains.
        hardware_share: share of interruptions of either kind after which a unit is swapped.
        swap_s: how much longer such a restart takes.
    """

    interval_s: float
    every: int
    stall_s: float
    local_drain_s: float
    drain_s: float
    local_restart_s: float
    restart_s: float
    restore_s: float
    mtti_s: float
    remote_share: float
    drain_slowdown: float = 0.0
    hardware_share: float = 0.0
    swap_s: float = 0.0

    @property
    def remote_interval_s(self) -> float:
        """Start of one remote checkpoint to the start of the next."""
        return self.every * self.interval_s

    @property
    def stopped_share(self) -> float:
        """Share of time in which GPUs stop for a checkpoint or are slowed by a drain."""
        slowed_s = self.drain_slowdown * self.drain_s
        return self.stall_s / self.interval_s + slowed_s / self.remote_interval_s

    def restarts(self, rate: float) -> tuple[float, float]:
        """-log of the chance of no failure during a restart from either level, swaps included.

        Args:
            rate: failures per second that restarts see.
        """
        swapped = self.hardware_share * math.exp(-rate * self.swap_s)
        swaps = -math.log(1.0 - self.hardware_share + swapped)
        far_s = self.restart_s + self.restore_s
        return rate * self.local_restart_s + swaps, rate * far_s + swaps


def _log_goodput(levels: TwoLevels) -> float:
    """Logarithm of the share of wall-clock time kept as progress.

    Exact for memoryless failures of both kinds, which may strike during either restart, where a
    local checkpoint is safe before the next (D1 <= I1) and a remote one likewise (D2 <= k I1); the
    slowdown is an approximation.

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
            kept(rate * levels.interval_s, restart, lag, levels.every, q2),
            drained(rate * levels.drain_s, restart, q2),
            restarted(far, q2),
        )
    )


def loss(levels: TwoLevels, waiting: float = 0.0) -> GoodputLoss:
    """Split 1 - goodput over its causes, in proportion to the logarithm of each one's factor.

    The times of causes are added in the order rework, drains, restarts, restore: the parts depend
    on that order, their sum does not. ``waiting``: share of time waited for repairs.
    """
    if levels.stopped_share >= 1:
        return STOPPED
    swapped = replace(levels, stall_s=0.0, drain_slowdown=0.0, restart_s=0.0, restore_s=0.0)
    free = replace(swapped, swap_s=0.0)
    at_once = replace(free, local_restart_s=0.0)
    safe = replace(at_once, local_drain_s=0.0, drain_s=0.0)
    steps = [_log_goodput(each) for each in (safe, at_once)]
    started = replace(swapped, restart_s=levels.restart_s)
    read = replace(started, restore_s=levels.restore_s)
    steps += [_log_goodput(each) for each in (started, read)]
    parts = [math.log1p(-levels.stopped_share), steps[0]]
    parts += [after - before for before, after in itertools.pairwise(steps)]
    return GoodputLoss.from_logs([*parts, math.log1p(-waiting)])


# The factors. Their arguments are shares of the MTTI: ``interval``, ``restart`` and ``lag`` are the
# local interval, restart and drain, ``drain`` is the remote one. Each k-th (``every``) checkpoint
# goes on to the remote level, which ``q2`` of all interruptions need. For a whole k each logarithm
# is concave in the logarithms of its times where restart + lag <= 1. With log k relaxed it is not:
# q2 = 0.65, (log interval, log k, log restart, log lag) = (-0.1391, 2.7259, -0.2914, -2.1802) and
# (0, 2.5742, -0.1930, -2.0318) have a midpoint 2.3e-4 below their mean. So k is never relaxed.


def kept(interval: float, restart: float, lag: float, every: int, q2: float) -> float:
    """log{k I q2 C0 / [(1 + y)^k - 1]}: factor of rework, the local drain and restart."""
    share = math.log(q2) - _log_mix(restart + lag, q2)
    log_steps = every * math.log1p(_grown(interval, share))
    head = math.log(every) + math.log(interval) - lag + _log_mix(restart, q2) + share
    return head - _log_expm1(log_steps)


def drained(drain: float, restart: float, q2: float) -> float:
    """Logarithm of the chance that a remote checkpoint is safe in time; local restarts begin it
    anew."""
    return _log_mix(restart, q2) - drain - _log_mix(restart + drain, q2)


def restarted(restart: float, q2: float) -> float:
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
