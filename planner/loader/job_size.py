"""How large a job's checkpoint is, from what the problem gives."""

from __future__ import annotations

from planner.schema.problem import Job
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, checkpoint_gb


def job_size(job: Job) -> tuple[float, float]:
    """Return the checkpoint size in GB and the bytes per parameter of a job."""
    each = job.bytes_per_parameter
    each = BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each
    if job.checkpoint.size_gb is not None:
        size = job.checkpoint.size_gb
        if job.parameters is not None and "bytes_per_parameter" not in job.model_fields_set:
            each = size * 1e9 / (job.parameters * job.trained_share)
        return size, each
    assert job.parameters is not None
    return checkpoint_gb(job.parameters, each, job.trained_share), each
