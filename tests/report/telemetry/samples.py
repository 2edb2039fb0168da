"""Hand-made records of telemetry, and checkpoint tables that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    Calibration,
    Characterization,
    ClusterFound,
    JobFound,
    Measured,
    Override,
)

BEGIN = 1_709_251_200.0  # 2024-03-01
DAY = 86_400.0


def near(value: float, share: float) -> Measured:
    return Measured(value=value, low=value * (1 - share), high=value * (1 + share))


def job(
    name: str = "job 1", size_gb: float = 13_800.0, interval_s: float = 662.0, write: float = 273.0,
    cluster: str = "hall", days: float = 5.0, **more: Any,
) -> JobFound:  # fmt: skip
    drain = size_gb / write
    count = int(days * DAY / interval_s)
    made: dict[str, Any] = {
        "name": name,
        "cluster": cluster,
        "start_s": BEGIN + 3_600,
        "end_s": BEGIN + 3_600 + days * DAY,
        "checkpoints": count,
        "size_gb": near(size_gb, 0.003),
        "interval_s": near(interval_s, 0.002),
        "drain_s": near(drain, 0.04),
        "overlap": near(drain / interval_s, 0.04),
        "write_gb_per_s": near(write, 0.04),
        "bytes_per_parameter": 14.0,
        "parameters": near(size_gb * 1e9 / 14.0, 0.003),
        "observed_s": days * DAY,
    }
    return JobFound(**{**made, **more})


RESTARTS: dict[str, Any] = {
    "restarts": 40, "confirmed": 38, "missed": 3, "inferred": 12,
    "mtti_s": Measured(value=10_800.0, low=8_300.0, high=14_000.0),
    "restore_gb": near(13_800.0, 0.01), "restore_s": near(41.0, 0.1),
    "read_gb_per_s": near(336.0, 0.1), "notes": ("the size grew by 0.1 % on the third day",),
}  # fmt: skip


def cluster(name: str = "hall", jobs: Sequence[JobFound] = (), **more: Any) -> ClusterFound:
    made: dict[str, Any] = {
        "name": name,
        "start_s": BEGIN,
        "end_s": BEGIN + 6 * DAY,
        "samples": 51_840,
        "sample_s": 10.0,
        "reads": True,
        "peak_gb_per_s": 301.0,
        "other": 31,
    }
    return ClusterFound(**{**made, **more})


def record(jobs: Sequence[JobFound], **more: Any) -> Characterization:
    names = sorted({each.cluster for each in jobs}) or ["hall"]
    made: dict[str, Any] = {
        "traces": ("hall.parquet",),
        "clock": "unix",
        "read_as": "counter",
        "clusters": tuple(cluster(name, jobs) for name in names),
        "jobs": tuple(jobs),
        "checkpoints": sum(each.checkpoints for each in jobs),
    }
    return Characterization(**{**made, **more})


def unresolved(name: str = "small") -> JobFound:
    return job(
        name, 980.0, 300.0, 90.0, resolved=False,
        drain_s=Measured(value=11.0, high=20.0), overlap=Measured(value=0.037, high=0.067),
        write_gb_per_s=Measured(value=90.0, low=49.0),
    )  # fmt: skip


def one() -> Characterization:
    return record([job(**RESTARTS)], calibration=calibration())


def three() -> Characterization:
    return record([job(**RESTARTS), job("wide", 2_450.0, 900.0, 21.0), unresolved()])


def calibration() -> Calibration:
    size, rate = near(13_800.0, 0.003), near(5.9e-4, 0.2)
    return Calibration(
        job="job 1",
        problem="10 MW training hall",
        gpus=13_600,
        overrides=(
            Override(
                path="jobs.0.checkpoint.size", label="checkpoint size", unit="GB", measured=size,
                setting="jobs.0.checkpoint.size=13.8 TB", now="13.80 TB",
                distribution="jobs.0.checkpoint.size=triangular(13.76 TB, 13.8 TB, 13.84 TB)",
                source="651 checkpoints of job 1",
            ),
            Override(
                path="jobs.0.checkpoint.interval", label="checkpoint interval", unit="s",
                measured=near(662.0, 0.002), source="start to start",
                setting="jobs.0.checkpoint.interval={policy: fixed, every: 662 s}",
            ),
            Override(
                path="jobs.0.failures.per_gpu_day", label="failures", unit="1/GPU/day",
                measured=rate, setting="jobs.0.failures.per_gpu_day=0.00059", now="llama3",
                distribution="jobs.0.failures.per_gpu_day=0.00047..0.00071",
                source="40 restarts in 5 days, 13,600 GPUs",
            ),
        ),
        not_measured=("stall: storage does not see it", "delivered fraction of reads"),
    )  # fmt: skip


def checkpoints(of: Characterization, each: int | None = None) -> Mapping[str, Any]:
    """Return a table with the checkpoints of every job, at most so many of each, in order."""
    columns: dict[str, list[Any]] = {name: [] for name in CHECKPOINT_COLUMNS}
    for found in of.jobs:
        count = found.checkpoints if each is None else min(each, found.checkpoints)
        for place in range(count):
            wobble = 1 + 0.12 * np.sin(7.0 * place) * np.cos(3.0 * place)
            size = found.size_gb.value * (1 + 0.001 * np.cos(5.0 * place))
            rate = found.write_gb_per_s.value * wobble
            row = (
                found.cluster, found.name, "inferred" if place % 50 == 49 else "checkpoint",
                found.start_s + place * found.interval_s.value, 2.0, size / rate, 3.0, size,
                0.01 * size, 1.1 * rate, rate,
            )  # fmt: skip
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return {
        name: np.array(values, dtype=float if unit else object)
        for (name, unit), values in zip(CHECKPOINT_COLUMNS.items(), columns.values(), strict=True)
    }
