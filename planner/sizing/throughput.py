"""Rate of a GPU at a power set point and in a job of N GPUs, memory of replicas, days to train.

Laws of scale are concave in the logarithm of the GPUs, or are made of straight pieces or of steps
in it, so that a plan that weighs them against everything else can still be proven best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from planner.units import DAY_S

FLOP_PER_PARAMETER_TOKEN = 6.0
"""Operations of forward and backward pass of a transformer, per active parameter and token."""


def gpu_share_of_draw(tdp_kw: float, gpus: int, system_kw: float) -> float:
    """The GPUs' share of a system's rated power, at most 1.

    Args:
        tdp_kw: rated power of one GPU, kW.
        gpus: GPUs of the system.
        system_kw: rated power of the system, kW.
    """
    return min(1.0, tdp_kw * gpus / system_kw)


def provisioned_share(gpu_cap: float, gpu_share: float) -> float:
    """The share of a system's rated power that is drawn with its GPUs capped.

    The cap acts on the GPUs, not on processors, switches, fans and losses of the system.

    Args:
        gpu_cap: the GPUs' power limit as a share of their rated power.
        gpu_share: the GPUs' share of the system's rated power.
    """
    return 1.0 - gpu_share * (1.0 - gpu_cap)


FARTHEST = 1e9
"""Multiple of the GPUs of a table's last row up to which a law is used."""


class ScaleLaw(NamedTuple):
    """Scaling efficiency: rate of a GPU in a job of N GPUs, as a share of its rate in a small one.

    Exactly one law holds: ``exponent`` e, ``(N / reference)^-e``; ``table`` of (GPUs, share),
    straight between rows on logarithmic scales, flat below the first and as its last piece beyond
    the last.
    """

    exponent: float = 0.0
    reference: float = 1.0
    table: tuple[tuple[float, float], ...] = ()

    def share(self, gpus: float) -> float:
        """Share of the rate in a job of a number of GPUs."""
        if self.table:
            return _interpolated(self.table, gpus)
        return float((gpus / self.reference) ** -self.exponent)


def concave_above(law: ScaleLaw) -> ScaleLaw:
    """The least law that is concave in logarithms and nowhere below a law.

    Of a table it keeps the rows that no straight line between two others passes above.
    """
    if not law.table:
        return law
    first, last = law.table[0], law.table[-1]
    rows = [(1.0, first[1])] if first[0] > 1.0 else []
    rows += [*law.table, (FARTHEST * last[0], law.share(FARTHEST * last[0]))]
    kept: list[tuple[float, float]] = []
    for row in rows:
        while len(kept) > 1 and _slope(kept[-2], kept[-1]) <= _slope(kept[-1], row):
            kept.pop()
        kept.append(row)
    return ScaleLaw(table=tuple(kept))


def _slope(one: tuple[float, float], other: tuple[float, float]) -> float:
    return math.log(other[1] / one[1]) / math.log(other[0] / one[0])


class MemoryNeed(NamedTuple):
    """Memory that a replica needs.

    Bytes per parameter that every replica holds, and that all replicas share between them; GB of
    activations in each GPU; the share of a GPU's memory that can be used.
    """

    held: float
    shared: float
    activations_gb: float
    usable: float

    def least_replicas(self, parameters_per_gpu: float, memory_gb: float) -> int | None:
        """The least d with ``held + shared/d + activations <= usable memory``.

        Args:
            parameters_per_gpu: parameters that a GPU has of one replica.
            memory_gb: memory of a GPU, GB.

        None where held state fills the memory. Source: Rajbhandari et al., "ZeRO: Memory
        Optimizations Toward Training Trillion Parameter Models", SC 2020, section 5 (stage 1).
        """
        held_gb = self.held * parameters_per_gpu / 1e9 + self.activations_gb
        room_gb = self.usable * memory_gb - held_gb
        shared_gb = self.shared * parameters_per_gpu / 1e9
        if room_gb <= 0.0:
            return None
        return max(1, math.ceil(shared_gb / room_gb * (1.0 - 1e-12)))


def _interpolated(table: Sequence[tuple[float, float]], gpus: float) -> float:
    first, last = table[0], table[-1]
    if gpus <= first[0]:
        return first[1]
    for (low, share), (high, less) in pairwise(table):
        if gpus <= high or (high, less) == last:
            part = math.log(gpus / low) / math.log(high / low)
            return float(share * (less / share) ** part)
    raise AssertionError("a table has two rows or more")


def days_to_train(active_parameters: float, tokens: float, useful_pflops: float) -> float:
    """Days of a training run.

    Args:
        active_parameters: parameters used per token (all of them in a dense model).
        tokens: tokens to train on.
        useful_pflops: training rate kept as progress, PFLOP/s.
    """
    flop = FLOP_PER_PARAMETER_TOKEN * active_parameters * tokens
    return flop / (useful_pflops * 1e15) / DAY_S
