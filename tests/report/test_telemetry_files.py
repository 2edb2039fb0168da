"""Checkpoints and jobs of a trace as files: types and units, jobs that load, texts that stay so."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner.commands.check import report_findings
from planner.loader import documents, load_with_findings
from planner.report import telemetry
from planner.report.screen import show
from planner.report.telemetry import checkpoints_parquet, overrides_yaml
from planner.schema.operation import (
    CHECKPOINT_COLUMNS,
    Calibration,
    Characterization,
    ClusterFound,
    JobFound,
    Measured,
    Override,
)
from tests.report.hostile import TEXTS
from tests.world.files import FILES

BEGIN, DAY_S = 1_709_251_200.0, 86_400.0
RESTARTS: dict[str, Any] = {
    "restarts": 40,
    "confirmed": 38,
    "missed": 3,
    "inferred": 12,
    "mtti_s": Measured(value=10_800.0, low=8_300.0, high=14_000.0),
}


def near(value: float, share: float = 0.01) -> Measured:
    return Measured(value=value, low=value * (1 - share), high=value * (1 + share))


def job(name: str = "job 1", size_gb: float = 13_800.0, interval_s: float = 662.0,
        drain_s: float = 50.0, **more: Any) -> JobFound:  # fmt: skip
    made: dict[str, Any] = {
        "name": name, "cluster": "hall", "start_s": BEGIN, "end_s": BEGIN + 5 * DAY_S,
        "checkpoints": int(5 * DAY_S / interval_s), "size_gb": near(size_gb),
        "interval_s": near(interval_s), "drain_s": near(drain_s),
        "overlap": near(drain_s / interval_s), "write_gb_per_s": near(size_gb / drain_s),
        "parameters": near(size_gb * 1e9 / 14.0),
        "observed_s": 5 * DAY_S,
    }  # fmt: skip
    return JobFound(**{**made, **more})


def record(*jobs: JobFound, calibration: Calibration | None = None) -> Characterization:
    names = sorted({each.cluster for each in jobs})
    clusters = tuple(
        ClusterFound(name=name, start_s=BEGIN, end_s=BEGIN + 6 * DAY_S, samples=51_840,
                     sample_s=10.0, reads=True, peak_gb_per_s=301.0,
                     other=31)
        for name in names
    )  # fmt: skip
    return Characterization(
        traces=("hall.parquet",), clock="unix", read_as="counter", clusters=clusters, jobs=jobs,
        checkpoints=sum(each.checkpoints for each in jobs), calibration=calibration,
    )  # fmt: skip


JOBS = (
    job(**RESTARTS), job("wide", 2_450.0, 900.0),
    job("small", 980.0, 300.0).model_copy(
        update={"resolved": False, "drain_s": Measured(value=11.0, high=20.0),
                "overlap": Measured(value=0.037, high=0.067)}),
)  # fmt: skip
CALIBRATION = Calibration(
    job="job 1", problem="10 MW training hall", gpus=13_600,
    overrides=(
        Override(path="jobs.0.checkpoint.size", label="checkpoint size", unit="GB",
                 measured=near(13_800.0), setting="jobs.0.checkpoint.size=13.8 TB", now="13.80 TB",
                 source="651 checkpoints of job 1"),
        Override(path="jobs.0.checkpoint.interval", label="checkpoint interval", unit="s",
                 measured=near(662.0), source="start to start",
                 setting="jobs.0.checkpoint.interval={policy: fixed, every: 662 s}"),
        Override(path="jobs.0.failures.per_gpu_day", label="failures", unit="1/GPU/day",
                 measured=near(5.9e-4), setting="jobs.0.failures.per_gpu_day=0.00059",
                 now="llama3", source="40 restarts in 5 days, 13,600 GPUs"),
    ),
    not_measured=("stall: storage does not see it",),
)  # fmt: skip
TABLE: dict[str, Any] = {
    name: np.array([n + 0.25, n + 1.5]) if unit else np.array(["a", "b"], dtype=object)
    for n, (name, unit) in enumerate(CHECKPOINT_COLUMNS.items())
}


def test_parquet_has_types_and_units() -> None:
    found = pq.read_table(io.BytesIO(checkpoints_parquet(record(*JOBS), TABLE)))
    assert found.column_names == list(CHECKPOINT_COLUMNS)
    for name, unit in CHECKPOINT_COLUMNS.items():
        assert found[name].to_pylist() == TABLE[name].tolist()
        told = found.schema.field(name).metadata
        assert told == ({b"unit": unit.encode()} if unit else None)
    assert found.schema.metadata == {b"clock": b"unix"}


def test_unresolved_drains_are_upper_bounds() -> None:
    text = show(telemetry.view(record(*JOBS)), full=True)
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20 s" in row and "< 6.7 %" in row


# Jobs and overrides as text for problem files: they load, and say what was measured.


def lay_out(folder: Path, problem: str) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    path = folder / "problem.yaml"
    path.write_text(problem, "utf-8")
    return path


@pytest.mark.parametrize("name", TEXTS)
def test_no_name_is_more_than_a_name(name: str) -> None:
    text = TEXTS[name]
    overrides = tuple(
        each.model_copy(update={"label": text, "source": text, "now": text})
        for each in CALIBRATION.overrides
    )
    hostile = CALIBRATION.model_copy(
        update={"job": text, "problem": text, "overrides": overrides, "not_measured": (text,)}
    )
    found = documents.parse(overrides_yaml(hostile), "overrides").data
    assert list(found) == [each.path for each in overrides]


def test_overrides_do_the_same_as_settings_and_as_a_scenario(tmp_path: Path) -> None:
    below = "".join(f"    {line}\n" for line in overrides_yaml(CALIBRATION).splitlines())
    by_size = re.sub(r" +parameters:.*\n +bytes_per_parameter:.*\n", "", FILES["problem.yaml"])
    by_size = by_size.replace("mode: async", "size: 980 GB")
    path = lay_out(tmp_path, f"{by_size}  measured:\n{below}")
    settings = tuple(each.setting for each in CALIBRATION.overrides)
    one, _ = load_with_findings(path, scenario="measured")
    other, _ = load_with_findings(path, settings=settings)
    assert one.problem.jobs == other.problem.jobs
    assert one.problem.job.checkpoint.size_gb == 13_800.0
    assert report_findings(path, (), None, as_json=False)[1] == 0
