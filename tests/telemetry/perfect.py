"""The result that a perfect characterisation of a trace would give."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization, JobFound, Measured
from tests.telemetry.truth import TrueJob, Truth


def perfect(truth: Truth) -> tuple[Characterization, dict[str, Any]]:
    """Return the truth as a record and a table of checkpoints."""
    jobs = tuple(_job(job) for job in truth.jobs)
    written = truth.checkpoints
    columns: dict[str, Any] = {name: np.zeros(len(written.job)) for name in CHECKPOINT_COLUMNS}
    columns["cluster"] = np.full(len(written.job), "c")
    columns["job"] = np.array([job.name for job in truth.jobs] or [""])[written.job]
    columns["kind"] = np.where(written.complete, "checkpoint", "aborted")
    columns["start_s"] = written.start_s
    columns["size_gb"] = written.size_gb
    record = Characterization(
        traces=("t.csv",), clock="unix", read_as="rate", clusters=(), jobs=jobs,
        bursts=len(written.job), checkpoints=int(written.complete.sum()),
    )  # fmt: skip
    return record, columns


def _job(true: TrueJob) -> JobFound:
    none = Measured(value=0.0)
    return JobFound(
        name=true.name,
        cluster="c",
        start_s=true.start_s,
        end_s=true.end_s,
        segments=(),
        checkpoints=true.checkpoints,
        size_gb=Measured(value=true.size_gb),
        interval_s=Measured(value=true.interval_s),
        drain_s=Measured(value=true.drain_s),
        overlap=Measured(value=true.overlap),
        write_gb_per_s=none,
        peak_gb_per_s=none,
        bytes_per_parameter=14,
        parameters=none,
        restarts=true.restarts,
        observed_s=true.end_s - true.start_s,
    )
