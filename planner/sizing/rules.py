"""Vendor rules of thumb for storage bandwidth, the alternative to the demand law."""

from dataclasses import dataclass
from typing import Literal

from planner.sizing.checks import require_positive

RuleFamily = Literal["ddn_per_gpu", "nvidia_superpod_h100"]

_DDN = 'DDN, "Importance of Checkpoints with LLM", slides without a date'
_NVIDIA = "NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001 V11, table 6"
_SCALABLE_UNIT_GPUS = 256


@dataclass(frozen=True)
class VendorRule:
    """Bandwidth a vendor recommends for every so many GPUs.

    Attributes:
        name: the rule's name in its family.
        family: who recommends it; figures of different families are not comparable.
        read_gb_per_s: aggregate read bandwidth per `per_gpus`, GB/s.
        write_gb_per_s: aggregate write bandwidth per `per_gpus`, GB/s.
        per_gpus: GPUs the figures stand for; a part of it counts as a whole.
        source: where the rule is printed.
        note: whom the vendor recommends it to.
    """

    name: str
    family: RuleFamily
    read_gb_per_s: float
    write_gb_per_s: float
    per_gpus: int
    source: str
    note: str


def _ddn(name: str, read_gb_per_s: float, write_gb_per_s: float, note: str) -> VendorRule:
    return VendorRule(name, "ddn_per_gpu", read_gb_per_s, write_gb_per_s, 1, _DDN, note)


def _nvidia(name: str, read_gb_per_s: float, write_gb_per_s: float, note: str) -> VendorRule:
    return VendorRule(
        name,
        "nvidia_superpod_h100",
        read_gb_per_s,
        write_gb_per_s,
        _SCALABLE_UNIT_GPUS,
        _NVIDIA,
        note,
    )


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


def rule_demand(rule: VendorRule, gpus: int) -> tuple[float, float]:
    """Return the (read, write) bandwidth in GB/s that a rule asks for.

    Args:
        rule: one of `VENDOR_RULES`, or the user's own.
        gpus: GPUs in the cluster; scalable units count whole.

    Raises:
        ValueError: the GPUs are not positive.
    """
    require_positive(gpus=gpus)
    units = -(-gpus // rule.per_gpus)
    return units * rule.read_gb_per_s, units * rule.write_gb_per_s
