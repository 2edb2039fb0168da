"""Checkpoint sizes, writers, delivered bandwidth, drain and restore against published figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.checkpoint import (
    BYTES_PER_PARAMETER,
    checkpoint_gb,
    drain_s,
    replicas,
    restore_fan_out,
    restore_read_s,
    writing_systems,
)

SELENE_CHECKPOINT_GB = 13_800.0
SELENE_WRITE_GB_PER_S = 273.0
GB_PER_GIB = 2**30 / 1e9


@pytest.mark.parametrize(
    ("model", "parameters", "bytes_per_parameter", "expected_gb"),
    [
        ("Megatron 1T as 1e12", 1e12, 13.8, 13_800),
        ("Megatron 1T by its dimensions", 1.008e12, 13.69, 13_800),
        ("BLOOM-176B", 176e9, 14, 2_464),
        ("MLPerf 8B", 8.03e9, 14, 112.4),
        ("MLPerf 70B", 69.88e9, 14, 978.4),
        ("MLPerf 405B", 405.9e9, 14, 5_682),
        ("MLPerf 1T", 1.183e12, 14, 16_560),
        ("Baidu 7B", 6.74e9, 14, 94.5),
        ("Baidu 70B", 69e9, 14, 965),
        ("Baidu 130B", 130e9, 14.06, 1_828),
        ("Qwen3-30B-A3B, all experts", 30.5e9, 12, 366),
        ("NVIDIA nvCOMP 70B", 70e9, 12, 839.7),
        ("MT-NLG 530B", 530e9, 11.9, 6_300),
        ("DeepSeek-V3-like", 671e9, 10, 6_700),
        ("GPT-3 175B", 175e9, 13.8, 2_415),
    ],
)
def test_published_checkpoint_sizes(
    model: str, parameters: float, bytes_per_parameter: float, expected_gb: float
) -> None:
    assert checkpoint_gb(parameters, bytes_per_parameter) == pytest.approx(expected_gb, rel=2e-3)


@pytest.mark.parametrize(
    ("parameters", "bytes_per_parameter", "printed_gib"),
    [
        (176e9, 14, 2_294.77),
        (8.03e9, 14, 104.70),
        (69.88e9, 14, 911.2),
        (405.9e9, 14, 5_291.7),
        (1.183e12, 14, 15_425),
        (70e9, 12, 782),
    ],
)
def test_tables_that_print_gib_as_gb(
    parameters: float, bytes_per_parameter: float, printed_gib: float
) -> None:
    size_gib = checkpoint_gb(parameters, bytes_per_parameter) / GB_PER_GIB
    assert size_gib == pytest.approx(printed_gib, rel=5e-4)


def test_bytes_per_parameter_presets() -> None:
    values = {name: preset.value for name, preset in BYTES_PER_PARAMETER.items()}
    assert values == {
        "mixed_adam": 14,
        "fp32_adam": 12,
        "bf16_moments": 10,
        "weights_only": 2,
        "megatron_1t": 13.8,
    }
    assert all(preset.source and preset.meaning for preset in BYTES_PER_PARAMETER.values())


def test_lora_saves_only_its_trained_share() -> None:
    assert checkpoint_gb(70e9, 14, trained_share=0.01) == pytest.approx(9.8)


@pytest.mark.parametrize(
    ("gpus", "tensor", "pipeline", "data_parallel", "systems", "writers"),
    [(3072, 8, 64, 6, 384, 64), (1024, 8, 8, 16, 128, 8)],
    ids=["T4 one trillion", "T5 GPT-3"],
)
def test_seed_layouts(
    gpus: int, tensor: int, pipeline: int, data_parallel: int, systems: int, writers: int
) -> None:
    replica_gpus = tensor * pipeline
    assert replicas(gpus, replica_gpus) == data_parallel
    assert data_parallel * replica_gpus == gpus
    assert gpus // 8 == systems
    assert writing_systems("one_replica", systems, 8, replica_gpus) == writers
    assert writing_systems("all", systems, 8, replica_gpus) == systems


@pytest.mark.parametrize(
    ("systems", "gpus_per_system", "replica_gpus", "expected"),
    [(384, 8, 4, 1), (384, 8, 9, 2), (384, 72, 512, 8), (5, 8, 512, 5)],
)
def test_one_replica_writes_from_whole_systems(
    systems: int, gpus_per_system: int, replica_gpus: int, expected: int
) -> None:
    assert writing_systems("one_replica", systems, gpus_per_system, replica_gpus) == expected


def test_gpus_beyond_whole_replicas_hold_none() -> None:
    assert replicas(3071, 512) == 5
    assert replicas(512, 512) == 1


def test_a_job_smaller_than_one_replica_is_refused() -> None:
    with pytest.raises(ValueError, match="one replica needs 512 GPUs"):
        replicas(511, 512)


def test_t6_t7_every_replica_restores_at_write_speed() -> None:
    fan_out = restore_fan_out("every_replica", 14, replicas(3072, 512))
    read_gb_per_s = fan_out * SELENE_WRITE_GB_PER_S
    assert read_gb_per_s == pytest.approx(1_638)
    assert pytest.approx(0.167, rel=3e-3) == SELENE_WRITE_GB_PER_S / read_gb_per_s
    assert restore_read_s(SELENE_CHECKPOINT_GB, fan_out, read_gb_per_s) == pytest.approx(
        drain_s(SELENE_CHECKPOINT_GB, SELENE_WRITE_GB_PER_S)
    )


@given(st.floats(2, 18), st.floats(1, 1e4))
def test_fan_outs_are_ordered_and_meet_for_one_replica(
    bytes_per_parameter: float, data_parallel: float
) -> None:
    broadcast = restore_fan_out("broadcast", bytes_per_parameter, data_parallel)
    sharded = restore_fan_out("sharded_optimizer", bytes_per_parameter, data_parallel)
    everyone = restore_fan_out("every_replica", bytes_per_parameter, data_parallel)
    assert broadcast <= sharded * (1 + 1e-12)
    assert sharded <= everyone * (1 + 1e-12)
    assert restore_fan_out("sharded_optimizer", bytes_per_parameter, 1) == pytest.approx(1)
