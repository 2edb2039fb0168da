"""Files of a problem: found by name or path, with their includes, as models; faults with lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from planner import units
from planner.errors import Finding, InputError, clip, did_you_mean, suggest
from planner.inputs import Document
from planner.loader import yaml12
from planner.paths import DataPath, dotted
from planner.removed import setting_successor
from planner.schema import Unit

ModelT = TypeVar("ModelT", bound=BaseModel)
FileLine = tuple[str, int | None]
"""A file and a line in it."""


def find(
    name: str, known: Mapping[str, Path], document: Document, path: DataPath, what: str
) -> Path:
    """The file of a ``name``: a shipped name, or a path that counts from the document's folder.

    Raises:
        InputError: there is none; the place in the document is ``path``.
    """
    if name in known:
        return known[name]
    fix = None
    if name.endswith((".yaml", ".yml")):
        file = document.folder / name
        try:
            if file.exists():
                return file
        except (OSError, ValueError):
            return file  # reading it names the cause
        message = f"no such {what}: '{clip(str(file), 120)}'"
        folder = yaml12.shorten_path(document.folder)
        fix = did_you_mean(file.stem, [other.stem for other in file.parent.glob("*.y*ml")])
        fix = fix or f"the path counts from {'this folder' if folder == '.' else folder}"
    elif "/" in name:
        message = f"a {what} is a .yaml file, found '{name[:60]}'"
    else:
        message = f"no {what} named '{name[:60]}'"
        fix = did_you_mean(name, list(known)) or "shipped: " + ", ".join(known)
    raise InputError(Finding("not-found", message, *document.place(path), dotted(path), fix))


def read_with_includes(files: list[Path], what: str, known: Mapping[str, Path]) -> list[Document]:
    """Read the files and their includes, each once.

    Raises:
        InputError: a file cannot be read, or files include each other in a circle.
    """
    seen: dict[Path, Document] = {}

    def visit(path: Path, open_files: tuple[Path, ...], place: FileLine) -> None:
        real = Path(os.path.realpath(path))  # of links in a circle, too
        if real in open_files:
            circle = " -> ".join(yaml12.shorten_path(p) for p in (*open_files, real))
            message, fix = f"circular include: {circle}", "remove one of these includes"
            raise InputError(Finding("circular-include", message, *place, fix=fix))
        if real in seen:
            return
        document = yaml12.read(path, what)
        names = document.data.get("include", ())
        for at, name in enumerate(names if isinstance(names, tuple) else ()):
            file = find(str(name), known, document, ("include", at), what)
            visit(file, (*open_files, real), document.place(("include", at)))
        seen[real] = document

    for path in files:
        visit(path, (), (yaml12.shorten_path(path), None))
    return list(seen.values())


def validated(
    model: type[ModelT], document: Document, rates: units.Rates = units.NO_RATES
) -> ModelT:
    """The document as a model, amounts at the rates given.

    Raises:
        InputError: all findings, or that the file is of another kind.
    """
    _refuse_other_kind(model, document)
    try:
        return model.model_validate(document.data, context={"rates": rates})
    except ValidationError as error:
        raise InputError(findings(error, document, model)) from None


_KINDS = {
    "catalog": "a catalog",
    "price_book": "a price book",
    "jobs": "a problem file",
    "schema_version": "a result of planner",
}
"""Kinds of files by the key that only they have."""


def _refuse_other_kind(model: type[BaseModel], document: Document) -> None:
    """Refuse a file of another kind in one line instead of one per key."""
    data, own = document.data, next(key for key in _KINDS if key in model.model_fields)
    other = next((key for key in reversed(_KINDS) if key in data), own)
    if other == own or (own in data and other != "schema_version"):
        return
    fix = "a problem file has jobs" if own == "jobs" else f"{_KINDS[own]} begins with '{own}: '"
    made = data.get("provenance")
    if own == "jobs" and isinstance(made, dict) and made.get("problem_file"):
        fix = f"give the problem that it was made from: {clip(str(made['problem_file']), 120)}"
    message = f"expected {_KINDS[own]}, found {_KINDS[other]}"
    raise InputError(Finding("kind", message, *document.place((other,)), fix=fix))


# Faults that pydantic finds, with file, line, cause and fix.

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
_BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}
_ID_WORDS = "an id is lower-case letters, digits and _, and begins with a letter"
_PATTERNS = {
    r"^[a-z][a-z0-9_]{0,63}$": _ID_WORDS,
    r"^\d{4}(-\d{2}(-\d{2})?)?$": 'write a date as "2026-01-31", "2026-01" or "2026"',
    r"^\d+(-\d+)? (weeks|months)$": "write for example '12 weeks' or '8-16 weeks'",
    r"^\d+(\.\d+)? ?%$": "write a number of systems, or a share such as '2 %'",
}
_HINTS = {
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
    "id": f"id: and a name; {_ID_WORDS}",
}
"""Examples of keys whose type does not show one."""


def findings(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Finding]:
    """One finding per faulty place of ``document``, in the order of its lines."""
    chosen: dict[DataPath, tuple[int, Finding]] = {}
    for detail in error.errors(include_url=False):
        path = _data_path(detail["loc"], document.data)
        code, message, fix = _words(detail, path, model)
        finding = Finding(code, message, *document.place(path), dotted(path) or None, fix)
        rank = _rank(detail)
        if path not in chosen or rank > chosen[path][0]:
            chosen[path] = (rank, finding)
    above = {path[:length] for path in chosen for length in range(len(path))}
    # A part written once and used twice through an alias is one mistake, not two.
    once: dict[object, Finding] = {}
    for path, (_, finding) in chosen.items():
        union = path in above and finding.code in {"choice", "type", "quantity"}
        if not union:  # of a union whose faulty part is known
            once.setdefault((finding.file, finding.line, finding.message), finding)
    return sorted(once.values(), key=lambda finding: (finding.line or 0, finding.path or ""))


def _rank(detail: Any) -> int:
    """Rank of a branch of a union: the one for the kind of value given wins."""
    kind, value = detail["type"], detail.get("input")
    if kind == "literal_error":
        return 3 if isinstance(value, str) and value.lstrip("+-. ")[:1].isalpha() else 0
    if kind in _TYPES or (kind == "quantity" and isinstance(value, (dict, tuple))):
        return 0
    return 1 if kind in {"missing", "extra_forbidden"} else 2


def _data_path(location: tuple[str | int, ...], data: Any) -> DataPath:
    """The part of pydantic's location that exists in the data (unions add names)."""
    path: list[str | int] = []
    for step in location:
        known = isinstance(data, dict) and step in data
        if isinstance(data, tuple):
            known = isinstance(step, int) and 0 <= step < len(data)
        if known:
            data = data[step]
            path.append(step)
    return tuple(path)


def _words(detail: Any, path: DataPath, model: type[BaseModel]) -> tuple[str, str, str | None]:
    """Code, cause and fix of a fault."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind in {"quantity", "range"}:
        return kind, context["text"], context.get("fix")
    if kind in {"extra_forbidden", "missing", "union_tag_not_found"}:
        return _key_words(detail, path, model)
    if kind in {"literal_error", "union_tag_invalid"}:
        expected = str(context.get("expected") or context.get("expected_tags", ""))
        options = [part.strip("' ") for part in expected.replace(" or ", ", ").split(",")]
        text = str(context.get("tag", value))
        return "choice", f"'{text[:40]}' is not known here", suggest(text, options)
    if kind in _TYPES:
        fix = None
        if kind == "string_type" and isinstance(value, (int, float)):
            fix = f"put it in quotes: '{value}'"
        elif kind.startswith("model"):
            fix = "its keys: " + ", ".join(sorted(field_names(model, path)))
        return "type", f"{_TYPES[kind]}, found {_quote(value)}", fix
    return _limit_words(detail, path)


def _key_words(detail: Any, path: DataPath, model: type[BaseModel]) -> tuple[str, str, str | None]:
    """Code, cause and fix of a key that is unknown or missing."""
    if detail["type"] == "union_tag_not_found":
        return "missing-key", "'policy' is missing", "write fixed or optimal"
    if detail["type"] == "missing":
        name = str(detail["loc"][-1])
        return "missing-key", f"'{name}' is missing", _hint(models_at(model, path), name)
    if (instead := setting_successor(path)) is not None:
        return "removed-setting", f"the setting {_quote(path[-1])} is gone", instead
    fix = suggest(str(path[-1]), sorted(field_names(model, path[:-1])))
    return "unknown-key", f"unknown key {_quote(path[-1])}", fix


def _limit_words(detail: Any, path: DataPath) -> tuple[str, str, str | None]:
    """Code, cause and fix of a value of the right kind that is not within its limits."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return "range", f"{value} is out of range: expected {words} {context[key]:,}", None
    if kind == "too_short":
        return "type", "the list is empty", "give one entry"
    if kind == "too_long" and path == ("jobs",):
        return "several-jobs", "several jobs on one cluster are not supported yet", "keep one job"
    if kind == "string_pattern_mismatch":
        words = _PATTERNS.get(context["pattern"], f"it must match {context['pattern']}")
        return "text", f"{_quote(value)} is not well formed", words
    text = str(detail["msg"]).removeprefix("Value error, ")
    return "value", text[:1].lower() + text[1:], None


def _quote(value: object) -> str:
    if isinstance(value, (dict, tuple)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None:
        return "nothing"
    return f"'{clip(str(value).lower() if isinstance(value, bool) else str(value), 40)}'"


# The schema at a place of a file.


def field_names(model: type[BaseModel], path: DataPath) -> set[str]:
    """The keys of the mapping at ``path``."""
    fields = (pair for one in models_at(model, path) for pair in one.model_fields.items())
    return {field.alias or name for name, field in fields}


def models_at(model: type[BaseModel], path: DataPath) -> list[type[BaseModel]]:
    """The models that the mapping at ``path`` may be of."""
    models = [model]
    for step in path:
        models = [deeper for one in models for deeper in _below(one, step)]
    return models


def _below(model: type[BaseModel], step: str | int) -> Iterable[type[BaseModel]]:
    """The models of a field; of the key of a mapping or the place in a list the same model."""
    field = next((f for n, f in model.model_fields.items() if step in (n, f.alias)), None)
    return [model] if field is None else _models(field.annotation)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside an annotation: through unions, lists, mappings."""
    parts = get_args(annotation)
    if isinstance(annotation, type) and not parts and issubclass(annotation, BaseModel):
        yield annotation
    for part in parts[:1] if get_origin(annotation) is Annotated else parts:
        yield from _models(part)


def _hint(models: Iterable[type[BaseModel]], key: str) -> str | None:
    """The key to add where it is missing from a mapping of one of ``models``, with an example."""
    if key in _HINTS:
        return "add " + _HINTS[key]
    fields = (pair for model in models for pair in model.model_fields.items())
    for field in (field for name, field in fields if key in (name, field.alias)):
        unit = next((mark for mark in field.metadata if isinstance(mark, Unit)), None)
        if unit is not None:
            return f"add for example '{key}: {unit.dimension.examples[0]}'"
        if get_origin(field.annotation) is Literal:
            options = ", ".join(map(str, get_args(field.annotation)))
            return f"add '{key}: ' and one of: {options}"
        whole = field.annotation is int
        return f"add '{key}: ' and a whole number" if whole else f"add '{key}: ...'"
    return None
