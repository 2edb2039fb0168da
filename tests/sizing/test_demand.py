"""Storage demand against the figures the seed documents imply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.checkpoint import (
    appliances_needed,
    capacity_tb,
    checkpoint_gb,
    write_demand_gb_per_s,
    write_volume_tb_per_day,
)
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, mtti_s

SELENE_CHECKPOINT_GB = 13_800.0
AI400X2_WRITE_GB_PER_S = 65.0

positive = st.floats(1e-2, 1e6)
shares = st.floats(0.01, 1)


@pytest.mark.parametrize(
    ("interval_s", "expected_gb_per_s", "appliances"),
    [(600, 230.0, 4), (1_800, 76.7, 2), (3_600, 38.3, 1), (14_400, 9.58, 1)],
)
def test_t12_t21_demand_at_ten_percent_overlap(
    interval_s: float, expected_gb_per_s: float, appliances: int
) -> None:
    demand = write_demand_gb_per_s(SELENE_CHECKPOINT_GB, 0.10, interval_s)
    assert demand == pytest.approx(expected_gb_per_s, rel=1e-3)
    assert appliances_needed(demand, AI400X2_WRITE_GB_PER_S) == appliances


@pytest.mark.parametrize(
    ("parameters", "bytes_per_parameter", "expected_gb_per_s"),
    [(1e12, 13.8, 124), (405e9, 14, 50.9), (70e9, 14, 8.8), (2e12, 13.8, 2 * 124)],
)
def test_lost_work_demand_at_llama3_scale(
    parameters: float, bytes_per_parameter: float, expected_gb_per_s: float
) -> None:
    size_gb = checkpoint_gb(parameters, bytes_per_parameter)
    rate, gpus = FAILURES_PER_GPU_DAY["llama3"].value, 16_384
    demand = write_demand_gb_per_s(size_gb, 0.10, 0.10 * mtti_s(rate, gpus))
    assert demand == pytest.approx(expected_gb_per_s, rel=4e-3)


@given(positive, shares, positive)
def test_meeting_the_demand_meets_the_limit(
    size_gb: float, limit: float, interval_s: float
) -> None:
    write = write_demand_gb_per_s(size_gb, limit, interval_s)
    assert size_gb / write / interval_s == pytest.approx(limit)


def test_capacity_holds_one_checkpoint_more_than_is_kept() -> None:
    expected_tb = (60 + 13.8 * (10 + 1) + 13.8 * 4 + 2.0 * 3) / 0.85
    actual_tb = capacity_tb(60, SELENE_CHECKPOINT_GB, 10, 4, 3, 1e12, 0.85)
    assert actual_tb == pytest.approx(expected_tb)


def test_bloom_archive() -> None:
    bloom_gb = checkpoint_gb(176e9, 14)
    gib_per_gb = 1e9 / 2**30
    empty_tb = capacity_tb(0, bloom_gb, 0, 0, 0, 176e9, 1)
    full_tb = capacity_tb(0, bloom_gb, 0, 12, 0, 176e9, 1) - empty_tb
    exports_tb = capacity_tb(0, bloom_gb, 0, 0, 40, 176e9, 1) - empty_tb
    assert full_tb * gib_per_gb == pytest.approx(27, rel=0.03)
    assert exports_tb * gib_per_gb == pytest.approx(13, rel=0.03)


def test_write_volume_of_a_trillion_parameters_every_half_hour() -> None:
    assert write_volume_tb_per_day(SELENE_CHECKPOINT_GB, 1_800) == pytest.approx(662.4)


@given(st.floats(0, 1e6, allow_subnormal=False), st.floats(1e-1, 1e4))
def test_appliances_are_enough_and_none_is_spare(demand: float, per_appliance: float) -> None:
    count = appliances_needed(demand, per_appliance)
    assert count * per_appliance >= demand * (1 - 1e-8)
    assert (count - 1) * per_appliance < demand or count == 0
