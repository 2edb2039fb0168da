"""Validation errors in the user's own words: file, line, what was wrong, what would be right."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from planner.errors import Finding, did_you_mean
from planner.inputs import Document
from planner.paths import DataPath, dotted
from planner.removed import setting_successor
from planner.schema.base import Unit

_TYPES = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    "dict_type": "expected a mapping of keys to values",
    "model_type": "expected a mapping of keys to values",
    "model_attributes_type": "expected a mapping of keys to values",
}
MOST_UNKNOWN = 5
"""Unknown keys of one mapping that have a line each."""
_BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}

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


def findings(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Finding]:
    """Return one finding per faulty place of ``document``, in the order of its lines."""
    chosen: dict[DataPath, tuple[int, Finding]] = {}
    for detail in error.errors(include_url=False):
        path = data_path(detail["loc"], document.data)
        code, message, fix = _words(detail, path, model)
        finding = Finding(code, message, *document.place(path), dotted(path) or None, fix)
        rank = _rank(detail)
        if path not in chosen or rank > chosen[path][0]:
            chosen[path] = (rank, finding)
    chosen = _joined(chosen)
    # A part written once and used twice through an alias is one mistake, not two.
    once = {(f.file, f.line, f.message): f for _, f in reversed(list(_without_covered(chosen)))}
    result = list(once.values())
    return sorted(result, key=lambda finding: (finding.line or 0, finding.path or ""))


def _joined(chosen: dict[DataPath, tuple[int, Finding]]) -> dict[DataPath, tuple[int, Finding]]:
    """Return one finding for all the unknown keys of a mapping where they are many."""
    unknown: dict[DataPath, list[DataPath]] = {}
    for path, (_, finding) in chosen.items():
        if finding.code == "unknown-key":
            unknown.setdefault(path[:-1], []).append(path)
    many = {parent: paths for parent, paths in unknown.items() if len(paths) > MOST_UNKNOWN}
    left_out = {path for paths in many.values() for path in paths} | set(many)  # lacks keys, too
    joined = {path: found for path, found in chosen.items() if path not in left_out}
    for parent, paths in many.items():
        rank, first = chosen[paths[0]]
        names = ", ".join(_quote(path[-1]) for path in paths[:MOST_UNKNOWN])
        message = f"{len(paths):,} unknown keys: {names}, ..."
        joined[paths[0]] = rank, replace(first, message=message, path=dotted(parent) or None)
    return joined


def _without_covered(chosen: dict[DataPath, tuple[int, Finding]]) -> Iterator[tuple[int, Finding]]:
    """Leave out a union's complaint about a mapping where a place inside it is known."""
    above = {path[:length] for path in chosen for length in range(len(path))}
    for path, (rank, finding) in chosen.items():
        if not (path in above and finding.code in {"choice", "type", "quantity"}):
            yield rank, finding


def _rank(detail: Any) -> int:
    """Rank the branches of a union: the one that fits the kind of value given wins."""
    kind, value = detail["type"], detail.get("input")
    if kind == "literal_error":
        return 3 if isinstance(value, str) and not any(map(str.isdigit, value)) else 0
    if kind in _TYPES:
        return 0
    return 1 if kind in {"missing", "extra_forbidden"} else 2


def data_path(location: tuple[str | int, ...], data: Any) -> DataPath:
    """Return the part of pydantic's location that exists in the data (unions add names)."""
    path: list[str | int] = []
    here = data
    for step in location:
        if _holds(here, step):
            here = here[step]
            path.append(step)
    return tuple(path)


def _holds(value: Any, step: str | int) -> bool:
    if isinstance(value, tuple):
        return isinstance(step, int) and 0 <= step < len(value)
    return isinstance(value, dict) and step in value


def _words(detail: Any, path: DataPath, model: type[BaseModel]) -> tuple[str, str, str | None]:
    kind, context = detail["type"], detail.get("ctx", {})
    value = detail.get("input")
    if kind in {"quantity", "range"}:
        return kind, context["text"], context.get("fix")
    if kind in {"extra_forbidden", "missing", "union_tag_not_found"}:
        return _key_words(detail, path, model)
    if kind in {"literal_error", "union_tag_invalid"}:
        expected = context.get("expected") or context.get("expected_tags", "")
        return _choice(str(context.get("tag", value)), str(expected))
    if kind in _TYPES:
        fix = _quote_hint(kind, value) or _keys_hint(kind, model, path)
        return "type", f"{_TYPES[kind]}, found {_quote(value)}", fix
    return _limit_words(detail, path)


def _key_words(detail: Any, path: DataPath, model: type[BaseModel]) -> tuple[str, str, str | None]:
    """Return what to say of a key that is unknown or missing."""
    if detail["type"] == "union_tag_not_found":
        return "missing-key", "'policy' is missing", "write fixed or optimal"
    if detail["type"] == "missing":
        name = str(detail["loc"][-1])
        return "missing-key", f"'{name}' is missing", hint(models_at(model, path), name)
    if (instead := setting_successor(path)) is not None:
        return "removed-setting", f"the setting {_quote(path[-1])} is gone", instead
    known = sorted(field_names(model, path[:-1]))
    fix = did_you_mean(str(path[-1]), known) or ("expected one of: " + ", ".join(known))
    return "unknown-key", f"unknown key {_quote(path[-1])}", fix


def _limit_words(detail: Any, path: DataPath) -> tuple[str, str, str | None]:
    """Return what to say of a value of the right kind that is not within its limits."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return "range", f"{value} is out of range: expected {words} {context[key]:,}", None
    if kind == "too_short":
        return "type", "the list is empty", "give one entry"
    if kind == "too_long" and path == ("jobs",):
        return "several-jobs", "several jobs on one cluster are not supported yet", "keep one job"
    if kind == "string_pattern_mismatch":
        words = PATTERNS.get(context["pattern"], f"it must match {context['pattern']}")
        return "text", f"{_quote(value)} is not well formed", words
    text = str(detail["msg"]).removeprefix("Value error, ")
    return "value", text[:1].lower() + text[1:], None


def _choice(value: str, expected: str) -> tuple[str, str, str | None]:
    options = [part.strip("' ") for part in expected.replace(" or ", ", ").split(",")]
    hint = did_you_mean(value, options) or "expected one of: " + ", ".join(options)
    return "choice", f"'{value[:40]}' is not known here", hint


def _quote_hint(kind: str, value: object) -> str | None:
    if kind == "string_type" and isinstance(value, (int, float)):
        return f"put it in quotes: '{value}'"
    return None


def _keys_hint(kind: str, model: type[BaseModel], path: DataPath) -> str | None:
    if not kind.startswith("model"):
        return None
    return "its keys: " + ", ".join(sorted(field_names(model, path)))


def _quote(value: object) -> str:
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "nothing"
    text = str(value)
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"


def field_names(model: type[BaseModel], path: DataPath) -> set[str]:
    """Return the keys that may stand in the mapping at ``path``."""
    fields = (pair for one in models_at(model, path) for pair in one.model_fields.items())
    return {field.alias or name for name, field in fields}


def models_at(model: type[BaseModel], path: DataPath) -> list[type[BaseModel]]:
    """Return the models the mapping at ``path`` may be of."""
    models = [model]
    for step in path:
        models = [deeper for one in models for deeper in _step(one, step)]
    return models


def _step(model: type[BaseModel], step: str | int) -> list[type[BaseModel]]:
    if isinstance(step, int) or not issubclass(model, BaseModel):
        return [model]
    for name, field in model.model_fields.items():
        if step in (name, field.alias):
            return list(_models(field.annotation))
    return [model]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside an annotation: through unions, lists, mappings."""
    origin = get_origin(annotation)
    if isinstance(annotation, type) and origin is None and issubclass(annotation, BaseModel):
        yield annotation
    elif origin is Annotated:
        yield from _models(get_args(annotation)[0])
    elif origin in (Union, types.UnionType, tuple) or origin in (dict, Mapping):
        for part in get_args(annotation):
            yield from _models(part)


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
