"""Presets as published: the verifier's own numbers beside those of the product."""

from __future__ import annotations

from typing import NamedTuple

FAILURES_PER_GPU_DAY = {
    "rsc1": 8.13e-4,  # 6.50 failures per 1,000 node-days of 8 GPUs, arXiv 2410.21680 (HPCA'25)
    "rsc2": 2.93e-4,  # 2.34 failures per 1,000 node-days of 8 GPUs, the same paper
    "llama3": 4.74e-4,  # 419 interruptions in 54 days on 16,384 GPUs, arXiv 2407.21783 table 5
    "mlcommons": 4.8e-4,  # 50,000 h per accelerator, MLPerf Storage v2.0 press release
    "shared_research": 2.97e-3,  # 7.9 h per job of 1,024 GPUs, arXiv 2410.21680
}
DEFAULT_FAILURES = "llama3"

BYTES_PER_PARAMETER = {
    "mixed_adam": 14.0,  # bf16 weights 2, fp32 master 4, fp32 moments 4 + 4 (BLOOM-176B)
    "fp32_adam": 12.0,  # fp32 weights 4, fp32 moments 4 + 4
    "bf16_moments": 10.0,  # bf16 weights 2, fp32 master 4, bf16 moments 2 + 2, arXiv 2412.19437
    "weights_only": 2.0,
    "megatron_1t": 13.8,  # 13.8 TB of 1e12 parameters, arXiv 2104.04473 section 5.10
}


class Rule(NamedTuple):
    """A vendor's bandwidth rule: GB/s of reading and writing for so many GPUs."""

    read: float
    write: float
    per_gpus: int


RULES = {
    "light": Rule(1.0, 0.75, 1),
    "medium": Rule(2.0, 1.5, 1),
    "high": Rule(4.0, 3.0, 1),
    "good": Rule(15.0, 7.0, 256),
    "better": Rule(40.0, 20.0, 256),
    "best": Rule(125.0, 62.0, 256),
}
"""DDN's AI400X2 rules per GPU; NVIDIA's SuperPOD rules per scalable unit of 32 systems."""
