"""What a job asks of its storage: bandwidth, capacity, write volume, appliances.

Vendors' rules of thumb for bandwidth are the alternative to the demand law. ``checkpoint_gb`` is
the size of a checkpoint, ``interval_s`` the time from the start of one to that of the next.
"""

import math
from typing import Literal, NamedTuple

from planner.units import DAY_S

WEIGHTS_ONLY_BYTES_PER_PARAMETER = 2.0

# Float noise of a few operations is far smaller, a real shortfall far larger.
_CEIL_TOLERANCE = 1e-9


def write_demand_gb_per_s(checkpoint_gb: float, most: float, interval_s: float) -> float:
    """The write bandwidth at which saving fills no more than its share of the interval.

    Args:
        most: largest allowed share: of a drain, or of the stall of a synchronous save.

    Source: S / (overlap x interval), our reading of G. K. Lockwood, VAST Data, "LLM training in
    practice: Insights from 85,000 checkpoints", slides without a date. Synchronous: NVIDIA's
    guidance of less than 5 %, told in S. Kartik and C. Tartow, VAST Data, "A Checkpoint on
    Checkpoints in LLMs", 2024-01-10.
    """
    return checkpoint_gb / (most * interval_s)


def exports_tb(parameters: float | None, exports: int) -> float:
    """Capacity of weights-only exports (bf16), TB; 0 where no size is known."""
    return WEIGHTS_ONLY_BYTES_PER_PARAMETER * (parameters or 0.0) * exports / 1e12


def capacity_tb(
    dataset_tb: float,
    checkpoint_gb: float,
    keep_last: int,
    milestones: int,
    exports: int,
    parameters: float | None,
    fill_limit: float,
) -> float:
    """Usable capacity that a job needs, TB.

    Args:
        dataset_tb: training data, TB.
        keep_last: recent checkpoints kept; one more is held while the next is being written.
        milestones: checkpoints archived for good.
        exports: weights-only exports (bf16) kept for good.
        parameters: total parameters, for the size of an export; None where not known.
        fill_limit: highest allowed share of usable capacity in use.
    """
    checkpoints_tb = checkpoint_gb * (keep_last + 1 + milestones) / 1e3
    return (dataset_tb + checkpoints_tb + exports_tb(parameters, exports)) / fill_limit


def write_volume_tb_per_day(checkpoint_gb: float, interval_s: float) -> float:
    """The checkpoint bytes written per day in TB, for the endurance of the media."""
    return checkpoint_gb / 1e3 * DAY_S / interval_s


def appliances_needed(demand: float, per_appliance: float) -> int:
    """The fewest whole appliances that meet a demand, deaf to float noise.

    Args:
        demand: what is asked for, in any unit.
        per_appliance: what one appliance gives, in the same unit.
    """
    ratio = demand / per_appliance
    nearest = round(ratio)
    if math.isclose(ratio, nearest, rel_tol=_CEIL_TOLERANCE):
        return nearest
    return math.ceil(ratio)


RuleFamily = Literal["ddn_per_gpu", "nvidia_superpod_h100"]

_DDN = 'DDN, "Importance of Checkpoints with LLM", slides without a date'
_NVIDIA = "NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001 V11, table 6"
_SCALABLE_UNIT_GPUS = 256


class BandwidthRule(NamedTuple):
    """A storage rule: nameplate bandwidth for every ``per_gpus`` GPUs bought, counted whole."""

    name: str
    nameplate_read_gb_per_s: float
    nameplate_write_gb_per_s: float
    per_gpus: int


class VendorRule(NamedTuple):
    """Bandwidth a vendor recommends for every so many GPUs.

    Attributes:
        name: the rule's name in its family.
        family: who recommends it; figures of different families are not comparable.
        nameplate_read_gb_per_s: aggregate read bandwidth per `per_gpus`, GB/s.
        nameplate_write_gb_per_s: aggregate write bandwidth per `per_gpus`, GB/s.
        per_gpus: GPUs the figures stand for; a part of it counts as a whole.
        source: where the rule is printed.
        note: whom the vendor recommends it to.
    """

    name: str
    family: RuleFamily
    nameplate_read_gb_per_s: float
    nameplate_write_gb_per_s: float
    per_gpus: int
    source: str
    note: str


def _ddn(name: str, read_gb_per_s: float, write_gb_per_s: float, note: str) -> VendorRule:
    return VendorRule(name, "ddn_per_gpu", read_gb_per_s, write_gb_per_s, 1, _DDN, note)


def _nvidia(name: str, read_gb_per_s: float, write_gb_per_s: float, note: str) -> VendorRule:
    family: RuleFamily = "nvidia_superpod_h100"
    gpus = _SCALABLE_UNIT_GPUS
    return VendorRule(name, family, read_gb_per_s, write_gb_per_s, gpus, _NVIDIA, note)


VENDOR_RULES: dict[str, VendorRule] = {
    rule.name: rule
    for rule in (
        _ddn("light", 1.0, 0.75, "multi-node language models; DDN calls it NVIDIA's default"),
        _ddn("medium", 2.0, 1.5, "large language models, compressed images and video"),
        _ddn("high", 4.0, 3.0, "largest language models, uncompressed images and video"),
        _nvidia("good", 15.0, 7.0, "lowest of the three storage levels, per scalable unit"),
        _nvidia("better", 40.0, 20.0, "middle of the three storage levels, per scalable unit"),
        _nvidia("best", 125.0, 62.0, "highest of the three storage levels, per scalable unit"),
    )
}


def rule_demand(rule: BandwidthRule | VendorRule, gpus: int) -> tuple[float, float]:
    """Nameplate (read, write) bandwidth that a rule requires, GB/s.

    Args:
        rule: one of `VENDOR_RULES`, or the user's own.
        gpus: GPUs bought; scalable units count whole.
    """
    units = -(-gpus // rule.per_gpus)
    return units * rule.nameplate_read_gb_per_s, units * rule.nameplate_write_gb_per_s
