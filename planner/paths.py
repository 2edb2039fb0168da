"""Paths into a problem file, as users write them: dotted, with the positions in lists as numbers.

Below everything: whoever names a place of the file, from the loader to a limit's report, takes its
path from here. A problem has one job today; only this file knows where in the list it stands.
"""

from __future__ import annotations

DataPath = tuple[str | int, ...]
"""The steps to a part of a file's data: keys of mappings, positions in lists."""


def steps_of(path: str) -> DataPath:
    """Return the steps of a dotted path: ``jobs.0.name`` leads to the first entry's name."""
    return tuple(int(step) if step.isdigit() else step for step in path.split("."))


def dotted(steps: DataPath) -> str:
    """Return steps as users write them: ``jobs.0.checkpoint.stall``."""
    return ".".join(str(step) for step in steps)


def job_path(place: str = "", job: int = 0) -> str:
    """Return the path of a job, or of a place in it.

    Args:
        place: dotted, from the job on; empty for the job itself.
        job: the job's position in the file.
    """
    return f"jobs.{job}.{place}" if place else f"jobs.{job}"
