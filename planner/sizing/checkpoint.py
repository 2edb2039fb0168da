"""How large a checkpoint is, who writes it, and how long writing and restoring take."""

from typing import Literal

from planner.sizing.checks import Preset

WritersPolicy = Literal["one_replica", "all"]
FanOut = Literal["broadcast", "sharded_optimizer", "every_replica"]

# The bf16 copy is the only part a sharded optimizer keeps on every data-parallel replica.
REPLICATED_BYTES_PER_PARAMETER = 2.0

BYTES_PER_PARAMETER: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "mixed_adam",
            14.0,
            "bf16 weights 2 + fp32 master 4 + fp32 Adam moments 4 + 4",
            "BLOOM-176B training README: 8 optimizer + 4 fp32 + 2 bf16",
        ),
        Preset(
            "fp32_adam",
            12.0,
            "fp32 weights 4 + fp32 Adam moments 4 + 4",
            "Prime Intellect volume capacity guide: 11 to 12 bytes per parameter",
        ),
        Preset(
            "bf16_moments",
            10.0,
            "bf16 weights 2 + fp32 master 4 + bf16 Adam moments 2 + 2",
            "DeepSeek-V3, arXiv 2412.19437 section 3.3.3",
        ),
        Preset("weights_only", 2.0, "bf16 weights, no optimizer state", "size of bf16"),
        Preset(
            "megatron_1t",
            13.8,
            "13.8 TB measured for the 1T model, taken as 1e12 parameters",
            "Megatron-LM, arXiv 2104.04473 section 5.10; S. Kartik and C. Tartow, VAST Data, "
            '"A Checkpoint on Checkpoints in LLMs", 2024-01-10',
        ),
    )
}


def checkpoint_gb(
    parameters: float, bytes_per_parameter: float, trained_share: float = 1.0
) -> float:
    """Return the size of one checkpoint in GB.

    Args:
        parameters: total parameters (for a mixture of experts all of them, not the active ones).
        bytes_per_parameter: bytes written per trained parameter, see `BYTES_PER_PARAMETER`.
        trained_share: share of the parameters that is trained and saved (below 1 for LoRA).
    """
    return parameters * trained_share * bytes_per_parameter / 1e9


def replicas(gpus: int, replica_gpus: int) -> int:
    """Return how many whole data-parallel replicas fit on the GPUs in use.

    Args:
        gpus: GPUs the job uses.
        replica_gpus: GPUs that hold one model replica (tensor times pipeline parallel degree).

    Raises:
        ValueError: not even one replica fits.
    """
    if gpus < replica_gpus:
        raise ValueError(f"one replica needs {replica_gpus} GPUs, the job uses {gpus}")
    return gpus // replica_gpus


def usable_gpus(
    gpus_per_system: int, tensor: int, replica_gpus: int, most_per_system: int | None = None
) -> int:
    """Return how many GPUs of one system can hold parts of replicas; 0 where none can.

    A system is one NVLink domain. A replica that fits into a domain stays within one: 64 of 72
    GPUs hold a replica of 64. A larger one spans several, and may share them with others, but
    each of its tensor groups, which talk all the time, stays within one.

    Args:
        gpus_per_system: GPUs of the system.
        tensor: tensor parallel degree: GPUs that must share a domain.
        replica_gpus: GPUs that hold one model replica, a multiple of `tensor`.
        most_per_system: the most GPUs of a system that the job may use; None for all.
    """
    domain = min(gpus_per_system, most_per_system or gpus_per_system)
    unit = replica_gpus if replica_gpus <= domain else tensor
    return domain // unit * unit


def writing_systems(
    policy: WritersPolicy, systems_in_use: int, gpus_per_system: int, replica_gpus: int
) -> int:
    """Return how many GPU systems write one checkpoint.

    Args:
        policy: `one_replica` when a single model replica saves (S. Kartik and C. Tartow, VAST
            Data, "A Checkpoint on Checkpoints in LLMs", 2024-01-10), `all` when saving is fully
            parallel.
        systems_in_use: GPU systems the job runs on.
        gpus_per_system: GPUs per system.
        replica_gpus: GPUs that hold one model replica.
    """
    if policy == "all":
        return systems_in_use
    return min(systems_in_use, -(-replica_gpus // gpus_per_system))


def drain_s(checkpoint_gb: float, write_gb_per_s: float) -> float:
    """Return the seconds storage needs to absorb one checkpoint.

    Args:
        checkpoint_gb: checkpoint size, GB.
        write_gb_per_s: delivered write bandwidth, GB/s.
    """
    return checkpoint_gb / write_gb_per_s


def restore_fan_out(kind: FanOut, bytes_per_parameter: float, data_parallel: float) -> float:
    """Return how many times the checkpoint's bytes are read from storage in one restore.

    Args:
        kind: `broadcast` (one reader, then the GPU fabric; MegaScale, NSDI'24),
            `sharded_optimizer` (only the 2-byte weights are read by every replica),
            `every_replica` (each replica reads everything; S. Kartik and C. Tartow, VAST Data,
            "A Checkpoint on Checkpoints in LLMs", 2024-01-10).
        bytes_per_parameter: checkpoint bytes per parameter, at least 2 for `sharded_optimizer`.
        data_parallel: number of data-parallel replicas.
    """
    if kind == "broadcast":
        return 1.0
    if kind == "every_replica":
        return float(data_parallel)
    sharded_bytes = bytes_per_parameter - REPLICATED_BYTES_PER_PARAMETER
    replicated_bytes = REPLICATED_BYTES_PER_PARAMETER * data_parallel
    return (sharded_bytes + replicated_bytes) / bytes_per_parameter


def restore_read_s(checkpoint_gb: float, fan_out: float, read_gb_per_s: float) -> float:
    """Return the seconds it takes to read a checkpoint back.

    Args:
        checkpoint_gb: checkpoint size, GB.
        fan_out: how many times it is read, see `restore_fan_out`.
        read_gb_per_s: delivered read bandwidth, GB/s.
    """
    return fan_out * checkpoint_gb / read_gb_per_s
