"""What would be right where a path leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from planner.errors import did_you_mean
from planner.loader import examples
from planner.schema.catalog import Figure

ADD_FIGURE = "add the figure and its source to a catalog"


def key_of(model: type[BaseModel], name: str) -> str:
    """Return a field as a file has it."""
    return model.model_fields[name].alias or name


def field_of(model: type[BaseModel], key: str) -> str | None:
    """Return the field that a key of a file fills, None where there is none."""
    return next((name for name in model.model_fields if key_of(model, name) == key), None)


def known(word: str, words: Sequence[str]) -> str:
    """Return the words nearest to one that is not known, or all that are."""
    return did_you_mean(word, words) or "expected one of: " + (", ".join(words) or "none")


def giving(model: type[BaseModel]) -> str:
    """Return how to give what a value is to be a part of."""
    if issubclass(model, Figure):
        return ADD_FIGURE
    needed = [key_of(model, name) for name, f in model.model_fields.items() if f.is_required()]
    hints = [examples.hint([model], key) or "" for key in needed]
    parts = [hint.removeprefix("add ").removeprefix("for example ") for hint in hints]
    return f"give it whole, with {', '.join(parts)}"


def key_hint(model: BaseModel, path: str, step: str, keys: Sequence[str]) -> str:
    """Return what would be right where a model has no such key: one like it, or one further in."""
    deeper = [inner for inner in _inner(model) if inner.rpartition(".")[2] == step]
    if not deeper:
        return known(step, keys)
    before = f"{path}." if path else ""
    return "did you mean " + " or ".join(f"'{before}{inner}'" for inner in deeper[:2]) + "?"


def _inner(value: Any, depth: int = 6) -> Iterator[str]:
    """Yield the dotted paths inside a model, as far as its parts are given."""
    parts: dict[str, Any] = {}
    if isinstance(value, BaseModel) and not isinstance(value, Figure):
        parts = {key_of(type(value), name): part for name, part in value}
    elif isinstance(value, (tuple, Mapping)):
        entries = value if isinstance(value, Mapping) else dict(enumerate(value))
        parts = {str(key): part for key, part in entries.items()}
    for key, part in parts.items():
        yield key
        if depth:
            yield from (f"{key}.{path}" for path in _inner(part, depth - 1))
