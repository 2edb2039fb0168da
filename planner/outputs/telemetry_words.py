"""What storage telemetry shows in words: names of jobs, medians, counts."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.text_safety import clean
from planner.schema.telemetry import Characterization, JobFound

USUAL_OVERLAP = 0.10
"""The overlap that studies and problems take as the limit."""


def one_line(text: str, width: int | None = None) -> str:
    """Return a text from a file on one line, cut in its middle where it is longer."""
    text = " ".join(clean(text, limit=None).split())
    if width is None or len(text) <= width:
        return text
    tail = width // 2
    return f"{text[: width - tail - 1]}…{text[-tail:]}"


def labels(record: Characterization, jobs: Sequence[JobFound], width: int) -> list[str]:
    """Return what jobs are called, each its own, cut to a width.

    Args:
        record: where they were found; with several clusters a job's is part of its name.
        jobs: the jobs to name.
        width: most characters.
    """
    several = len(record.clusters) > 1
    names: list[str] = []
    taken: set[str] = set()
    for place, job in enumerate(jobs, start=1):
        full = job.name if not several or job.cluster in job.name else f"{job.cluster} {job.name}"
        name = one_line(full, width) or "job"
        if name in taken:
            mark = f" #{place}"
            name = one_line(full, width - len(mark)) + mark
        taken.add(name)
        names.append(name)
    return names


def largest(record: Characterization, count: int) -> list[JobFound]:
    """Return the jobs with the largest checkpoints, the largest first."""
    return sorted(record.jobs, key=lambda job: -job.size_gb.value)[:count]


def median_overlap(jobs: Sequence[JobFound]) -> float | None:
    """Return the overlap that half of all checkpoints do not pass, each taken as its job's."""
    order = sorted(jobs, key=lambda job: job.overlap.value)
    half = sum(job.checkpoints for job in order) / 2
    passed = 0
    for job in order:
        passed += job.checkpoints
        if job.checkpoints and passed >= half:
            return job.overlap.value
    return None


def within(jobs: Sequence[JobFound], limit: float = USUAL_OVERLAP) -> int:
    """Return how many jobs stay under an overlap."""
    return sum(job.overlap.value < limit for job in jobs)
