"""A restore reads F times the checkpoint in time: F(N) S <= T Br, F = a + c N, so linear.

One more second of restore time is that much less read bandwidth.
"""

from __future__ import annotations

from planner.optimizer.context import Build


def add(build: Build) -> None:
    """Add the row, where the job limits restore time."""
    job = build.case.job
    if job.max_restore_s is None:
        return
    a, c = job.fan_out_terms()
    per_gb = job.checkpoint_gb / job.max_restore_s
    build.model.row(
        "restore_time",
        build.safe_read - (c * per_gb) * build.gpus,
        ">=",
        a * per_gb,
    )
