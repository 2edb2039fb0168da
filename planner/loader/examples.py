"""What would have been right: an example for every key that may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from planner.schema.base import Unit

ID_WORDS = "an id is lower-case letters, digits and _, and begins with a letter"
PATTERNS = {
    r"^[a-z][a-z0-9_]{0,63}$": ID_WORDS,
    r"^\d{4}(-\d{2}(-\d{2})?)?$": 'write a date as "2026-01-31", "2026-01" or "2026"',
    r"^\d+(-\d+)? (weeks|months)$": "write for example '12 weeks' or '8-16 weeks'",
    r"^\d+(\.\d+)? ?%$": "write a number of systems, or a share such as '2 %'",
}
_GROUPS = {
    "site": "site: {facility_power: 10 MW, pue: 1.25}",
    "storage": "storage: {delivered_fraction: {read: 0.8, write: 0.8}}",
    "delivered_fraction": "delivered_fraction: {read: 0.8, write: 0.8}",
    "jobs": "jobs: with '- name: ...' and parameters or checkpoint.size",
    "objective": "objective: {maximize: goodput} or {minimize: cost}",
    "pue": "pue: 1.25",
    "every": "every: 10 min",
    "per_gpu_day": "per_gpu_day: 0.0001",
    "name": "name: and a title",
    "source": "source: and one of the names under sources",
    "date": 'date: "2026-01-31"',
    "id": "id: and a name; " + ID_WORDS,
}


def hint(models: Iterable[type[BaseModel]], key: str) -> str | None:
    """Return what to add where ``key`` is missing from a mapping of one of ``models``."""
    if key in _GROUPS:
        return "add " + _GROUPS[key]
    for model in models:
        for name, field in model.model_fields.items():
            if key in (name, field.alias):
                return next(_from_type(key, field.annotation, field.metadata), f"add '{key}: ...'")
    return None


def _from_type(key: str, annotation: Any, metadata: list[Any]) -> Iterator[str]:
    for mark in metadata:
        if isinstance(mark, Unit):
            yield f"add for example '{key}: {mark.dimension.examples[0]}'"
    if get_origin(annotation) is Literal:
        yield f"add '{key}: ' and one of: " + ", ".join(map(str, get_args(annotation)))
    if annotation is int:
        yield f"add '{key}: ' and a whole number"
