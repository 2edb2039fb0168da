"""GPU systems that differ in their memory."""

from __future__ import annotations

from tests.oracle.by_hand import Request, gpu_system, price
from tests.oracle.hardware import figure


def two_systems(parameters: str, **parallelism: int) -> Request:
    """Three GPU systems, each dearer: of 80 GB, of 192 GB, and one of which nobody knows."""
    request = Request(minimize="cost")
    request.items[0] = gpu_system("small", 8, "1 kW")
    request.items.append(gpu_system("large", 8, "1 kW"))
    request.items.append(gpu_system("silent", 8, "1 kW"))
    for item, memory in zip((request.items[0], request.items[2]), ("80 GB", "192 GB"), strict=True):
        item["gpu"]["memory"] = figure(memory)
    del request.prices["gpu"]
    request.prices |= {"small": price("1000"), "large": price("5000"), "silent": price("9000")}
    request.job |= {"parameters": parameters, "parallelism": parallelism}
    request.more["targets"] = {"min_gpus": 8}
    return request
