"""Checkpoint sizes, writers, delivered bandwidth, drain and restore against published figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.checkpoint import (
    BYTES_PER_PARAMETER,
    FanOut,
    WritersPolicy,
    blocking_share,
    checkpoint_gb,
    drain_s,
    overlap,
    replicas,
    restore_fan_out,
    restore_read_s,
    writing_systems,
)

SELENE_CHECKPOINT_GB = 13_800.0
SELENE_WRITE_GB_PER_S = 273.0
GB_PER_GIB = 2**30 / 1e9

positive = st.floats(1e-3, 1e6)


def dlio_parameters(hidden: int, ffn: int, layers: int, kv_share: float) -> float:
    """Count parameters the way dlio_benchmark's base_checkpointing.py does."""
    vocabulary = 128_256
    per_layer = (
        2 * hidden + hidden * (hidden + 2 * hidden * kv_share) + hidden * hidden + 3 * hidden * ffn
    )
    return 2 * vocabulary * hidden + hidden + layers * per_layer


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


@pytest.mark.parametrize(
    ("dimensions", "expected_parameters"),
    [
        ((4096, 14336, 32, 8 / 32), 8.030e9),
        ((16384, 53248, 126, 8 / 128), 4.059e11),
    ],
)
def test_mlperf_models_hold_14_bytes_per_parameter(
    dimensions: tuple[int, int, int, float], expected_parameters: float
) -> None:
    parameters = dlio_parameters(*dimensions)
    assert parameters == pytest.approx(expected_parameters, rel=2e-4)
    model_bytes, optimizer_bytes = 2 * parameters, 3 * 4 * parameters
    mixed_adam = BYTES_PER_PARAMETER["mixed_adam"].value
    assert checkpoint_gb(parameters, mixed_adam) * 1e9 == pytest.approx(
        model_bytes + optimizer_bytes
    )


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


@pytest.mark.parametrize(
    ("policy", "per_system_gb_per_s", "per_gpu_gb_per_s"),
    [("one_replica", 4.266, 0.5332), ("all", 0.711, 0.0889)],
    ids=["T2 T3", "T25"],
)
def test_selene_write_bandwidth_per_writer(
    policy: WritersPolicy, per_system_gb_per_s: float, per_gpu_gb_per_s: float
) -> None:
    writers = writing_systems(policy, 384, 8, 512)
    assert SELENE_WRITE_GB_PER_S / writers == pytest.approx(per_system_gb_per_s, rel=1e-3)
    assert SELENE_WRITE_GB_PER_S / (8 * writers) == pytest.approx(per_gpu_gb_per_s, rel=1e-3)


@pytest.mark.parametrize(
    ("size_gb", "write_gb_per_s", "expected_s"),
    [
        (SELENE_CHECKPOINT_GB, SELENE_WRITE_GB_PER_S, 50.55),
        (SELENE_CHECKPOINT_GB, 280, 49.3),
        (2_415, SELENE_WRITE_GB_PER_S, 8.85),
        (2_415, 64 * 0.5332, 70.8),
        (2_415, 8 * 8, 37.7),
        (2_464, 61.6, 40),
    ],
    ids=["T1", "T9", "X1 GPT-3", "X1 own 64 GPUs", "X1 own 8 systems", "BLOOM"],
)
def test_drain_times(size_gb: float, write_gb_per_s: float, expected_s: float) -> None:
    assert drain_s(size_gb, write_gb_per_s) == pytest.approx(expected_s, rel=1e-3)


def test_t20_hybrid_io_factor_on_write() -> None:
    faster_gb_per_s = 1.7 * SELENE_WRITE_GB_PER_S
    assert faster_gb_per_s == pytest.approx(464, rel=1e-3)
    assert drain_s(SELENE_CHECKPOINT_GB, faster_gb_per_s) == pytest.approx(29.7, rel=2e-3)


@pytest.mark.parametrize(
    ("stall_s", "expected"), [(50.55, 0.00351), (50.0, 0.00347)], ids=["T10", "T10 rounded"]
)
def test_synchronous_saves_every_four_hours(stall_s: float, expected: float) -> None:
    assert blocking_share(stall_s, 14_400) == pytest.approx(expected, rel=2e-3)


def test_an_instant_drain_or_stall_takes_no_share() -> None:
    assert overlap(0, 60) == blocking_share(0, 60) == 0


def test_t11_five_percent_of_four_hours() -> None:
    assert blocking_share(720, 14_400) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("kind", "fan_out", "read_s"),
    [("broadcast", 1.0, 13.8), ("every_replica", 6.0, 82.8), ("sharded_optimizer", 1.714, 23.66)],
)
def test_t14_restore_at_one_terabyte_per_second(
    kind: FanOut, fan_out: float, read_s: float
) -> None:
    actual = restore_fan_out(kind, 14, 6)
    assert actual == pytest.approx(fan_out, rel=5e-4)
    assert restore_read_s(SELENE_CHECKPOINT_GB, actual, 1_000) == pytest.approx(read_s, rel=5e-4)


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


def test_weights_only_checkpoints_have_nothing_sharded() -> None:
    assert restore_fan_out("sharded_optimizer", 2, 6) == pytest.approx(6)


@given(positive, positive, positive, st.floats(0.1, 10))
def test_drain_and_overlap_scale_with_their_units(
    size_gb: float, write_gb_per_s: float, interval_s: float, factor: float
) -> None:
    drain = drain_s(size_gb, write_gb_per_s)
    assert drain_s(size_gb * factor, write_gb_per_s * factor) == pytest.approx(drain)
    assert overlap(drain * factor, interval_s * factor) == pytest.approx(overlap(drain, interval_s))
    assert overlap(drain, interval_s) * interval_s * write_gb_per_s == pytest.approx(size_gb)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_sizes_are_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match="parameters must be positive"):
        checkpoint_gb(bad, 14)
    with pytest.raises(ValueError, match="write_gb_per_s must be positive"):
        drain_s(1, bad)
    with pytest.raises(ValueError, match="interval_s must be positive"):
        overlap(1, bad)
    with pytest.raises(ValueError, match="fan_out must be positive"):
        restore_read_s(1, bad, 1)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, math.nan])
def test_impossible_shares_are_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match="trained_share must be above 0"):
        checkpoint_gb(1e9, 14, bad)


@pytest.mark.parametrize("bad", [0.0, 0.5, math.nan, math.inf])
def test_impossible_replica_counts_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="data_parallel must be at least 1"):
        restore_fan_out("broadcast", 14, bad)


def test_unknown_choices_and_too_few_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown writers policy 'some'"):
        writing_systems("some", 4, 8, 8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown fan-out 'twice'"):
        restore_fan_out("twice", 14, 6)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 2 bytes per parameter"):
        restore_fan_out("sharded_optimizer", 1, 6)
    with pytest.raises(ValueError, match="drain_s must be finite and not negative"):
        overlap(-1, 60)
