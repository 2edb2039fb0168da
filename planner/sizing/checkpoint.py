"""Size of a checkpoint, GPUs that hold it, reads of a restore, demand of storage.

Vendors' rules of thumb for bandwidth are the alternative to the demand law. ``checkpoint_gb`` is
the size of a checkpoint, ``interval_s`` the time from the start of one to that of the next.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from planner.units import DAY_S

FanOut = Literal["broadcast", "sharded_optimizer", "every_replica"]


class Preset(NamedTuple):
    """A figure that a problem may name, in the unit of its table."""

    name: str
    value: float
    meaning: str
    source: str


REPLICATED_BYTES_PER_PARAMETER = 2.0
"""The bf16 copy: the only part that a sharded optimizer keeps on every data-parallel replica."""

BYTES_PER_PARAMETER: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "mixed_adam",
            14.0,
            "bf16 weights 2 + fp32 master 4 + fp32 Adam moments 4 + 4",
            "BLOOM-176B training README: 8 optimizer + 4 fp32 + 2 bf16",
        ),
        Preset(
            "fp32_adam",
            12.0,
            "fp32 weights 4 + fp32 Adam moments 4 + 4",
            "Prime Intellect volume capacity guide: 11 to 12 bytes per parameter",
        ),
        Preset(
            "bf16_moments",
            10.0,
            "bf16 weights 2 + fp32 master 4 + bf16 Adam moments 2 + 2",
            "DeepSeek-V3, arXiv 2412.19437 section 3.3.3",
        ),
        Preset("weights_only", 2.0, "bf16 weights, no optimizer state", "size of bf16"),
        Preset(
            "megatron_1t",
            13.8,
            "13.8 TB measured for the 1T model, taken as 1e12 parameters",
            "Megatron-LM, arXiv 2104.04473 section 5.10; S. Kartik and C. Tartow, VAST Data, "
            '"A Checkpoint on Checkpoints in LLMs", 2024-01-10',
        ),
    )
}


def checkpoint_gb(parameters: float, bytes_per_parameter: float) -> float:
    """Size of one checkpoint, GB.

    Args:
        parameters: total parameters (for a mixture of experts all of them, not the active ones).
        bytes_per_parameter: bytes written per trained parameter, see `BYTES_PER_PARAMETER`.
    """
    return parameters * bytes_per_parameter / 1e9


def usable_gpus(
    gpus_per_system: int, tensor: int, replica_gpus: int, most_per_system: int | None = None
) -> int:
    """GPUs of one system that can hold parts of replicas; 0 where none can.

    A system is one NVLink domain. A replica that fits into a domain stays within one: 64 of 72
    GPUs hold a replica of 64. A larger one spans several, and may share them with others, but
    each of its tensor groups, which talk all the time, stays within one.

    Args:
        gpus_per_system: GPUs of the system.
        tensor: tensor parallel degree: GPUs that must share a domain.
        replica_gpus: GPUs that hold one model replica, a multiple of `tensor`.
        most_per_system: the most GPUs of a system that the job may use; None for all.
    """
    domain = min(gpus_per_system, most_per_system or gpus_per_system)
    unit = replica_gpus if replica_gpus <= domain else tensor
    return domain // unit * unit


def fan_out_terms(
    kind: FanOut, bytes_per_parameter: float, replica_gpus: int | None
) -> tuple[float, float]:
    """(a, c) of the fan-out a + c * GPUs: reads of the checkpoint from storage in one restore.

    Args:
        kind: `broadcast` (one reader, then the GPU fabric; MegaScale, NSDI'24),
            `sharded_optimizer` (only the 2-byte weights are read by every replica),
            `every_replica` (each replica reads everything; S. Kartik and C. Tartow, VAST Data,
            "A Checkpoint on Checkpoints in LLMs", 2024-01-10).
        bytes_per_parameter: checkpoint bytes per parameter, at least 2 for `sharded_optimizer`.
        replica_gpus: GPUs of one replica; of no account for `broadcast`.
    """
    if kind == "broadcast":
        return 1.0, 0.0
    assert replica_gpus is not None
    if kind == "every_replica":
        return 0.0, 1.0 / replica_gpus
    sharded = (bytes_per_parameter - REPLICATED_BYTES_PER_PARAMETER) / bytes_per_parameter
    return sharded, REPLICATED_BYTES_PER_PARAMETER / (bytes_per_parameter * replica_gpus)


# Demand of storage.

# Float noise of a few operations is far smaller, a real shortfall far larger.
_CEIL_TOLERANCE = 1e-9


def write_demand_gb_per_s(checkpoint_gb: float, most: float, interval_s: float) -> float:
    """The write bandwidth at which saving fills no more than its share of the interval.

    Args:
        most: largest allowed share: of a drain, or of the stall of a synchronous save.

    Source: S / (overlap x interval), our reading of G. K. Lockwood, VAST Data, "LLM training in
    practice: Insights from 85,000 checkpoints", slides without a date. Synchronous: NVIDIA's
    guidance of less than 5 %, quoted by S. Kartik and C. Tartow, VAST Data, "A Checkpoint on
    Checkpoints in LLMs", 2024-01-10.
    """
    return checkpoint_gb / (most * interval_s)


def capacity_tb(
    dataset_tb: float, checkpoint_gb: float, keep_last: int, fill_limit: float
) -> float:
    """Usable capacity that a job needs, TB.

    Args:
        dataset_tb: training data, TB.
        keep_last: recent checkpoints kept; one more is held while the next is being written.
        fill_limit: highest allowed share of usable capacity in use.
    """
    return (dataset_tb + checkpoint_gb * (keep_last + 1) / 1e3) / fill_limit


def write_volume_tb_per_day(checkpoint_gb: float, interval_s: float) -> float:
    """The checkpoint bytes written per day in TB, for the endurance of the media."""
    return checkpoint_gb / 1e3 * DAY_S / interval_s


def appliances_needed(demand: float, per_appliance: float) -> int:
    """The fewest whole appliances that meet a demand, deaf to float noise.

    Args:
        demand: in any unit.
        per_appliance: supply of one appliance, in the same unit.
    """
    ratio = demand / per_appliance
    nearest = round(ratio)
    if math.isclose(ratio, nearest, rel_tol=_CEIL_TOLERANCE):
        return nearest
    return math.ceil(ratio)


# Vendors' rules.

RuleFamily = Literal["custom", "ddn_per_gpu", "nvidia_superpod_h100"]


class BandwidthRule(NamedTuple):
    """A storage rule: nameplate bandwidth for every ``per_gpus`` GPUs bought, counted whole.

    Figures of different families are not comparable.
    """

    name: str
    nameplate_read_gb_per_s: float
    nameplate_write_gb_per_s: float
    per_gpus: int = 1
    family: RuleFamily = "custom"


VENDOR_RULES: dict[str, BandwidthRule] = {
    rule.name: rule
    for rule in (
        BandwidthRule("light", 1.0, 0.75, 1, "ddn_per_gpu"),
        BandwidthRule("medium", 2.0, 1.5, 1, "ddn_per_gpu"),
        BandwidthRule("high", 4.0, 3.0, 1, "ddn_per_gpu"),
        BandwidthRule("good", 15.0, 7.0, 256, "nvidia_superpod_h100"),
        BandwidthRule("better", 40.0, 20.0, 256, "nvidia_superpod_h100"),
        BandwidthRule("best", 125.0, 62.0, 256, "nvidia_superpod_h100"),
    )
}
"""DDN, "Importance of Checkpoints with LLM", slides without a date: for multi-node language models
(DDN calls it NVIDIA's default), large ones with compressed images and video, the largest with
uncompressed ones. NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001 V11, table 6: three
levels of storage per scalable unit."""


def rule_demand(rule: BandwidthRule, gpus: int) -> tuple[float, float]:
    """Nameplate (read, write) bandwidth that a rule requires, GB/s.

    Args:
        rule: one of `VENDOR_RULES`, or the user's own.
        gpus: GPUs bought; scalable units count whole.
    """
    units = -(-gpus // rule.per_gpus)
    return units * rule.nameplate_read_gb_per_s, units * rule.nameplate_write_gb_per_s
