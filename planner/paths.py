"""Paths into a problem file, as users write them: dotted, with the positions in lists as numbers.

A problem has one job today; only this file knows where in the list it is.
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
    """The steps of a dotted path: ``jobs.0.name`` leads to the first entry's name."""
    return tuple(int(step) if step.isdecimal() else step for step in path.split("."))


def dotted(steps: DataPath) -> str:
    """Steps as users write them: ``jobs.0.checkpoint.stall``."""
    return ".".join(str(step) for step in steps)


def job_path(place: str = "", job: int = 0) -> str:
    """The path of a dotted place in a job, or of the job itself."""
    return f"jobs.{job}.{place}" if place else f"jobs.{job}"


def of_job(place: str, name: str) -> str:
    """A dotted place in a job as sentences name it, where commands take ``job_path``."""
    return f"{place} of the job '{name}'"


def value_at(problem: Any, path: str) -> Any:
    """The value at a dotted path of a problem, None where none is given.

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
    """The value one step below a model, a mapping or a sequence.

    Raises:
        KeyError: there is no such step; the message is the whole ``path``.
    """
    if hasattr(here, "model_fields_set"):
        model: Any = type(here)
        name = field_of(model, step)
        if name is not None:
            return getattr(here, name)
    elif isinstance(here, Mapping):
        return here.get(step)
    elif isinstance(here, Sequence) and not isinstance(here, str) and step.isdecimal():
        if int(step) < len(here):
            return here[int(step)]
    raise KeyError(path)


@lru_cache(maxsize=512)
def field_of(model: type, step: str) -> str | None:
    """The field of a pydantic model that a key of the file fills, None where there is none."""
    fields: Mapping[str, Any] = vars(model)["__pydantic_fields__"]
    return next((name for name, field in fields.items() if step in (field.alias, name)), None)
