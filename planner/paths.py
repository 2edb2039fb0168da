"""Paths into a problem file, as users write them: dotted, with the positions in lists as numbers.

Below everything: whoever names a place of the file, from the loader to a limit's report, takes its
path from here. A problem has one job today; only this file knows where in the list it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

CATALOG, PRICES = "catalog", "prices"
"""First steps of paths, of three steps at least, into catalogs and price books."""

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


def of_job(place: str, name: str) -> str:
    """Return a place in a job as sentences call it, where ``job_path`` is what a command takes.

    Args:
        place: dotted, from the job on.
    """
    return f"{place} of the job '{name}'"


# Values by the dotted paths that ``--set`` takes.


def value_at(problem: Any, path: str) -> Any:
    """Return what a problem gives at a dotted path, None where it gives nothing.

    Raises:
        KeyError: the problem has no such place.
    """
    here = problem
    for step in path.split("."):
        if here is None:
            return None
        here = step_into(here, step, path)
    return here


def step_into(here: Any, step: str, path: str) -> Any:
    """Return what stands one step below a model, a mapping or a sequence.

    Raises:
        KeyError: there is no such step; the message is the whole ``path``.
    """
    if hasattr(here, "model_fields_set"):
        model: Any = type(here)
        return getattr(here, field_of(model, step, path))
    if isinstance(here, Mapping):
        return here.get(step)
    if isinstance(here, Sequence) and not isinstance(here, str) and step.isdigit():
        if int(step) < len(here):
            return here[int(step)]
    raise KeyError(path)


@lru_cache(maxsize=512)
def field_of(model: type, step: str, path: str) -> str:
    """Return the field of a pydantic model that a key of the file fills.

    Raises:
        KeyError: none; the message is the whole ``path``.
    """
    fields: Mapping[str, Any] = vars(model)["__pydantic_fields__"]
    for name, field in fields.items():
        if step in (field.alias, name):
            return name
    raise KeyError(path)
