"""Storage demand against the figures the seed documents imply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.checkpoint import (
    FanOut,
    appliances_needed,
    capacity_tb,
    checkpoint_gb,
    fan_out_terms,
    write_demand_gb_per_s,
)

SELENE_CHECKPOINT_GB = 13_800.0
AI400X2_WRITE_GB_PER_S = 65.0


@pytest.mark.parametrize(
    ("interval_s", "expected_gb_per_s", "appliances"),
    [(600, 230.0, 4), (1_800, 76.7, 2), (3_600, 38.3, 1), (14_400, 9.58, 1)],
)
def test_write_demand_at_ten_percent_overlap_is_as_published(
    interval_s: float, expected_gb_per_s: float, appliances: int
) -> None:
    demand = write_demand_gb_per_s(SELENE_CHECKPOINT_GB, 0.10, interval_s)
    assert demand == pytest.approx(expected_gb_per_s, rel=1e-3)
    assert appliances_needed(demand, AI400X2_WRITE_GB_PER_S) == appliances


def test_eleven_checkpoints_of_bloom_are_27_tib() -> None:
    bloom_gb = checkpoint_gb(176e9, 14)
    kept_tb = capacity_tb(0, bloom_gb, 11, 1)
    assert kept_tb * 1e9 / 2**30 == pytest.approx(27, rel=0.03)


@given(st.floats(0, 1e6, allow_subnormal=False), st.floats(1e-1, 1e4))
def test_appliances_are_enough_and_none_is_spare(demand: float, per_appliance: float) -> None:
    count = appliances_needed(demand, per_appliance)
    assert count * per_appliance >= demand * (1 - 1e-8)
    assert (count - 1) * per_appliance < demand or count == 0


# Checkpoint sizes and restore fan-outs against published figures.


@pytest.mark.parametrize(
    ("model", "parameters", "bytes_per_parameter", "expected_gb"),
    [
        ("Megatron 1T by its dimensions", 1.008e12, 13.69, 13_800),
        ("BLOOM-176B", 176e9, 14, 2_464),
        ("MLPerf 405B", 405.9e9, 14, 5_682),
        ("NVIDIA nvCOMP 70B", 70e9, 12, 839.7),
        ("DeepSeek-V3-like", 671e9, 10, 6_700),
        ("GPT-3 175B", 175e9, 13.8, 2_415),
    ],
)
def test_published_checkpoint_sizes(
    model: str, parameters: float, bytes_per_parameter: float, expected_gb: float
) -> None:
    assert checkpoint_gb(parameters, bytes_per_parameter) == pytest.approx(expected_gb, rel=2e-3)


@given(st.floats(2, 18), st.integers(1, 10_000))
def test_fan_outs_are_ordered_and_meet_for_one_replica(
    bytes_per_parameter: float, data_parallel: int
) -> None:
    def fan_out(kind: FanOut, replicas: int) -> float:
        once, per_gpu = fan_out_terms(kind, bytes_per_parameter, 8)
        return once + per_gpu * 8 * replicas

    sharded = fan_out("sharded_optimizer", data_parallel)
    assert fan_out("broadcast", data_parallel) <= sharded * (1 + 1e-12)
    assert sharded <= fan_out("every_replica", data_parallel) * (1 + 1e-12)
    assert fan_out("sharded_optimizer", 1) == pytest.approx(1)
