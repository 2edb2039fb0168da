"""The canonical unit of every figure of a catalog item, by its dotted name."""

from __future__ import annotations

UNITS = {
    "provides.gpus": "GPUs", "provides.read": "GB/s", "provides.write": "GB/s",
    "provides.usable": "TB", "provides.endurance": "TB/day", "consumes.it_power": "kW",
    "consumes.rack_units": "RU", "consumes.weight": "kg", "consumes.racks": "racks",
    "consumes.typical_power": "kW", "provides.cooling": "kW", "provides.feed": "kW",
    "gpu.memory": "GB", "gpu.bf16_dense": "TFLOP/s", "gpu.fp8_dense": "TFLOP/s", "gpu.tdp": "kW",
    "gpu.failures_per_day": "1/day", "client.write": "GB/s", "client.read": "GB/s",
    "min_units": "units", "max_units": "units", "fail_units": "nodes",
}  # fmt: skip
