"""Memory: the weights of a replica have to fit into its GPUs."""

from __future__ import annotations

import pytest

from tests.world.random_cases import inputs_of
from tests.world.requests import two_systems
from tests.world.solved import solve


@pytest.mark.parametrize(
    ("parameters", "precision", "taken"),
    [
        ("320 B", "bf16", "small"),  # 80 GB each: it just fits
        ("320.001 B", "bf16", "large"),
        ("640 B", "fp8", "small"),
        ("640.001 B", "fp8", "large"),
        ("769 B", "bf16", "silent"),  # whose memory nobody states
    ],
)
def test_weights_fit_to_the_last_byte_or_not(parameters: str, precision: str, taken: str) -> None:
    request = two_systems(parameters, tensor=8, pipeline=1)
    request.job["training"] = {"mfu": 0.5, "precision": precision}
    plan = solve(inputs_of(request.case()))
    assert {line.sku for line in plan.lines if line.section == "Compute"} == {taken}
