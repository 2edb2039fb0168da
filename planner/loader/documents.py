"""Files of a problem: read as YAML 1.2 with the line of every key, and
turned into models, with faults at their lines. The only place that reads and writes YAML.

Scanning is libyaml's (through PyYAML); plain scalars are resolved by the core schema of YAML 1.2,
so ``no`` is text, ``1:30`` is text and ``0o17`` is a number. Sequences become tuples.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from planner import shipped, units
from planner.errors import Finding, InputError, clip, did_you_mean, suggest
from planner.files import contents
from planner.inputs import Document
from planner.paths import DataPath, dotted
from planner.removed import setting_successor
from planner.schema import Unit

ModelT = TypeVar("ModelT", bound=BaseModel)
FileLine = tuple[str, int | None]
"""A file and a line in it."""

OVERRIDES = "file of overrides"
MAX_BYTES, MAX_NODES, MAX_DEPTH = 5_000_000, 500_000, 40

_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NAN_OR_INF = re.compile(r"\.(nan|NaN|NAN)\Z|[-+]?\.(inf|Inf|INF)\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def shorten_path(path: Path) -> str:
    """``path`` as the user would write it: relative where that is shorter."""
    try:
        return str(Path(os.path.realpath(path)).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def read_text(
    path: Path, what: str, *, most_bytes: int = MAX_BYTES, form: str = "YAML"
) -> tuple[str, str]:
    """The file's text and the SHA-256 of its bytes.

    Raises:
        InputError: it cannot be read, or is no text in UTF-8.
    """
    name = shorten_path(path)
    try:
        content = contents(path, most_bytes=most_bytes, what=what, missing=f"no such {what}")
        text = content.decode("utf-8-sig")
    except InputError as error:
        raise InputError([replace(each, file=name) for each in error.findings]) from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        message = f"not a text file; a {what} is {form} in UTF-8"
        raise InputError(Finding("not-text", message, name))
    return text, hashlib.sha256(content).hexdigest()


def read(path: Path, what: str = "problem file", *, text: str | None = None) -> Document:
    """The single YAML document of ``path``, which must be a mapping, with its digest.

    Args:
        path: the file.
        what: its kind, for messages.
        text: content of the file, where it is not written yet.

    Raises:
        InputError: it cannot be read, is no YAML, or no mapping.
    """
    digest = "" if text is None else hashlib.sha256(text.encode()).hexdigest()
    if text is None:
        if not path.suffix and not os.path.lexists(path):
            named, known = path.with_name(f"{path.name}.yaml"), shipped.problem_files()
            hint = f"planner init {path.name}" if path.name in known else "give FILE.yaml"
            hint = f"did you mean {named}?" if named.exists() else hint
            raise InputError(Finding("not-found", f"no such {what}", shorten_path(path), fix=hint))
        text, digest = read_text(path, what)
    document = parse(text, shorten_path(path))
    if not isinstance(document.data, dict):
        kind = "empty" if document.data is None else "not a mapping of keys to values"
        fix = "planner init writes one" if what == "problem file" else None
        raise InputError(
            Finding("not-a-mapping", f"the {what} is {kind}", document.file, 1, fix=fix)
        )
    document.digest, document.folder = digest, path.parent
    return document


def parse(text: str, file: str) -> Document:
    """The data of ``text``; ``file`` names it in messages.

    Raises:
        InputError: it is no YAML, or more than a planner file needs.
    """
    document = Document(file, None)
    try:
        document.data = _Reader(document, yaml.parse(text, Loader=_Loader)).document_data()
    except yaml.MarkedYAMLError as error:
        raise InputError(_syntax(error, file)) from None
    except yaml.YAMLError:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        sign = f"the control character {found[0]!r}" if found else "a control character"
        message, fix = f"not readable as YAML: {sign}", "remove invisible characters"
        raise InputError(Finding("yaml", message, file, line, fix=fix)) from None
    return document


def scalar(text: str, origin: str) -> Any:
    """A value given on the command line, read as YAML; ``origin`` names it in messages."""
    try:
        return parse(text, origin).data
    except InputError as error:
        raise InputError([replace(finding, line=None) for finding in error.findings]) from None


class _Dumper(yaml.SafeDumper):
    """Writes texts that YAML 1.2 would read otherwise in quotes, and no aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Write the same value twice rather than as an alias."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """A text, in quotes where it would be read as another value."""
        style = None if _plain(text) == text else "'"
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def dump(data: Mapping[str, Any]) -> str:
    """The data of a file as YAML that reads back the same."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )


def in_line(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=9999)
    return text.removesuffix("\n").removesuffix("\n...")


# Events of libyaml as data.

_SYNTAX = (
    ("tab character", "a tab is used for indentation", "use spaces"),
    (
        "mapping values are not allowed",
        "a key is where none may be",
        "check the indentation, and put text that holds ': ' in quotes",
    ),
    ("expected ',' or", "a bracket that is opened here is not closed", "add ']' or '}'"),
    (
        "did not find expected",
        "this line does not fit the indentation of those above",
        "give keys of one group the same indentation, and the entries of a list",
    ),
    ("could not find expected ':'", "a key without its ':'", "write 'key: value'"),
    ("unexpected end of stream", "a quote that is opened here is not closed", "add the quote"),
)
"""Words of libyaml, the cause in plain words, the fix."""
_OPENED = ("unexpected end of stream", "expected ',' or", "could not find expected ':'")
"""Words of faults whose cause is where the context began."""
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Finding:
    problem = (error.problem or "syntax error").replace("\n", " ")
    began = any(words in problem for words in _OPENED) and error.context_mark is not None
    mark = error.context_mark if began else error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    if "nesting depth" in problem:  # libyaml's own limit, which it meets first where '[' follow '['
        return Finding("yaml-depth", _TOO_DEEP, file, line)
    known = (row[1:] for row in _SYNTAX if row[0] in f"{error.context or ''} {problem}")
    message, fix = next(known, (problem, None))
    return Finding("yaml", f"not readable as YAML: {message}", file, line, fix=fix)


class _Reader:
    """Turns the events of libyaml into data, with the line of every part.

    Events, not the nodes of PyYAML: those overflow the stack where a hostile file nests deeply.
    Guards against bombs of aliases, deep nesting, too many values and duplicate keys.
    """

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self.file, self.lines, self.events = document.file, document.lines, events
        self.anchors: dict[str, tuple[Any, list[tuple[DataPath, int]]]] = {}
        """By name: the value, and the lines of its parts."""
        self.values = 0

    def document_data(self) -> Any:
        """The data of the only document, None where there is none."""
        next(self.events)  # begin of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        data = self.value(next(self.events), ())
        next(self.events)  # end of the document
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            message = "not readable as YAML: more than one document"
            raise self._error("yaml", message, event, "keep one and remove '---'")
        return data

    def value(self, event: Any, path: DataPath) -> Any:
        """The value that begins with an event."""
        self.lines.setdefault(path, event.start_mark.line + 1)
        self._guard(path, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")[:60]
            fix = "remove it, and put text that looks like a number in quotes"
            raise self._error("yaml-tag", f"the tag '{tag}' is not allowed", event, fix)
        before = len(self.lines)
        if isinstance(event, yaml.MappingStartEvent):
            data: Any = self._mapping(path)
        elif isinstance(event, yaml.SequenceStartEvent):
            data = self._sequence(path)
        else:
            data = self._scalar(event)
        if event.anchor is not None:
            parts = islice(self.lines.items(), before, None)
            self.anchors[event.anchor] = data, [(p[len(path) :], line) for p, line in parts]
        return data

    def _guard(self, path: DataPath, event: Any) -> None:
        self.values += 1
        if self.values > MAX_NODES:
            raise self._error("yaml-size", f"more than {MAX_NODES:,} values", event)
        if len(path) > MAX_DEPTH:
            raise self._error("yaml-depth", _TOO_DEEP, event)

    def _alias(self, event: Any, path: DataPath) -> Any:
        """The value of an anchor, the lines of its parts where they are written."""
        if event.anchor not in self.anchors:
            message = "not readable as YAML: '*' refers to an '&' that is not above"
            raise self._error("yaml", message, event, "put text with '*' in quotes")
        data, parts = self.anchors[event.anchor]
        for place, line in parts:
            self._guard((*path, *place), event)
            self.lines[(*path, *place)] = line
        return data

    def _sequence(self, path: DataPath) -> tuple[Any, ...]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.value(event, (*path, len(items))))
        return tuple(items)

    def _mapping(self, path: DataPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            value = self._scalar(event) if isinstance(event, yaml.ScalarEvent) else None
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole or isinstance(value, str)):
                fix = "write 'key: value', and a key such as true in quotes"
                raise self._error("key", "a key must be text", event, fix)
            key = str(value)
            below = (*path, key)
            if key in result:
                message = f"duplicate key '{key}' (first in line {self.lines[below]})"
                raise self._error("duplicate-key", message, event, "keep one of them")
            self.lines[below] = event.start_mark.line + 1
            result[key] = self.value(next(self.events), below)
        return result

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.style:  # quoted or block text is text; libyaml gives plain scalars an empty style
            return text
        try:
            return _plain(text)
        except (ValueError, OverflowError):
            message = f"'{text[:30]}...' is not a sensible number"
            fix = "write fewer digits, for example 70 B or 60 MUSD"
            raise self._error("number", message, event, fix) from None

    def _error(self, code: str, message: str, event: Any, fix: str | None = None) -> InputError:
        line = event.start_mark.line + 1
        return InputError(Finding(code, message, self.file, line, fix=fix))


def _plain(text: str) -> str | float | bool | None:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _NAN_OR_INF.match(text):
        return float(text.replace(".", ""))
    return float(text) if _FLOAT.match(text) else text


# Files by name.


def find(
    name: str, known: Mapping[str, Path], document: Document, path: DataPath, what: str
) -> Path:
    """The file of a ``name``: a shipped name, or a path that counts from the document's folder.

    Raises:
        InputError: there is none; the place in the document is ``path``.
    """
    file = document.folder / name
    if name in known:
        return known[name]
    if name.endswith((".yaml", ".yml")):
        if os.path.exists(file):  # noqa: PTH110  (False of a name that no system takes)
            return file
        fix = did_you_mean(file.stem, [other.stem for other in file.parent.glob("*.y*ml")])
        folder = shorten_path(document.folder)
        fix = fix or f"the path counts from {'this folder' if folder == '.' else folder}"
    else:
        fix = did_you_mean(name, list(known))
        fix = fix or f"name a .yaml file, or a shipped one: {', '.join(known)}"
    message = f"no such {what}: '{clip(name, 120)}'"
    raise InputError(Finding("not-found", message, *document.place(path), dotted(path), fix))


# Data as models.


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
    if other != own and (own not in data or other == "schema_version"):
        message = f"expected {_KINDS[own]}, found {_KINDS[other]}"
        fix = f"{_KINDS[own]} has the key '{own}'"
        fix = "planner verify checks a plan" if "provenance" in data else fix
        raise InputError(Finding("kind", message, *document.place((other,)), fix=fix))


# Faults that pydantic finds, with file, line, cause and fix.

_MAPPING = "expected a mapping of keys to values"
_TYPES = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _MAPPING),
}
_BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}
_PATTERNS = {
    r"^[a-z][a-z0-9_]{0,63}$": "an id is lower-case letters, digits and _, a letter first",
    r"^\d{4}(-\d{2}(-\d{2})?)?$": 'write a date as "2026-01-31", "2026-01" or "2026"',
    r"^\d+(-\d+)? (weeks|months)$": "write for example '12 weeks' or '8-16 weeks'",
    r"^\d+(\.\d+)? ?%$": "write a number of systems, or a share such as '2 %'",
}
_EXAMPLES = {
    "site": "{facility_power: 10 MW, pue: 1.25}",
    "storage": "{delivered_fraction: {read: 0.8, write: 0.8}}",
    "delivered_fraction": "{read: 0.8, write: 0.8}",
    "jobs": "with '- name: ...' and parameters or checkpoint.size",
    "objective": "{maximize: goodput} or {minimize: cost}",
    "name": "and a title",
    "source": "and one of the names under sources",
    "date": '"2026-01-31"',
}
"""Values of keys whose type does not show one."""


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
        keys = kind.startswith("model") and f"its keys: {', '.join(sorted(_fields(model, path)))}"
        quoted = f"put it in quotes: '{value}'"
        fix = quoted if kind == "string_type" and isinstance(value, (int, float)) else keys or None
        return "type", f"{_TYPES[kind]}, found {_quote(value)}", fix
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return "range", f"{value} is out of range: expected {words} {context[key]:,}", None
    if kind == "string_pattern_mismatch":
        fix = _PATTERNS.get(context["pattern"], f"it must match {context['pattern']}")
        return "text", f"{_quote(value)} is not well formed", fix
    if kind == "too_short":
        return "type", "the list is empty", "give one entry"
    text = str(detail["msg"]).removeprefix("Value error, ")
    return "value", text[:1].lower() + text[1:], None


def _key_words(detail: Any, path: DataPath, model: type[BaseModel]) -> tuple[str, str, str | None]:
    """Code, cause and fix of a key that is unknown or missing."""
    if detail["type"] == "union_tag_not_found":
        return "missing-key", "'policy' is missing", "write fixed or optimal"
    if detail["type"] == "missing":
        name = str(detail["loc"][-1])
        fix = f"add {name}: {_example(name, _fields(model, path).get(name))}"
        return "missing-key", f"'{name}' is missing", fix
    if (instead := setting_successor(path)) is not None:
        return "removed-setting", f"the setting {_quote(path[-1])} is gone", instead
    fix = suggest(str(path[-1]), sorted(_fields(model, path[:-1])))
    return "unknown-key", f"unknown key {_quote(path[-1])}", fix


def _example(name: str, field: FieldInfo | None) -> str:
    """A value of a field, or its choices."""
    if name in _EXAMPLES or field is None:
        return _EXAMPLES.get(name, "...")
    if get_origin(field.annotation) is Literal:
        return f"and one of: {', '.join(map(str, get_args(field.annotation)))}"
    units = [mark.dimension.examples[0] for mark in field.metadata if isinstance(mark, Unit)]
    return units[0] if units else "a whole number" if field.annotation is int else "..."


def _quote(value: object) -> str:
    if isinstance(value, (dict, tuple)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None:
        return "nothing"
    return f"'{clip(str(value).lower() if isinstance(value, bool) else str(value), 40)}'"


def _fields(model: type[BaseModel], path: DataPath) -> dict[str, FieldInfo]:
    """The fields of the mapping at ``path`` by their key.

    A key of a mapping or a place in a list leads to the same models.
    """
    models = [model]
    for step in path:
        inside: list[type[BaseModel]] = []
        for one in models:
            field = by_key(one).get(str(step))
            inside += [one] if field is None else _models(field.annotation)
        models = inside
    return {key: field for one in models for key, field in by_key(one).items()}


def by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by their key in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside an annotation: through unions, lists, mappings."""
    parts = get_args(annotation)
    if isinstance(annotation, type) and not parts and issubclass(annotation, BaseModel):
        yield annotation
    for part in parts[:1] if get_origin(annotation) is Annotated else parts:
        yield from _models(part)
