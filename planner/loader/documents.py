"""Files of a problem: read as YAML 1.2 with the line of every key, and
turned into models, with faults at their lines. The only place that reads and writes YAML.

Nodes are libyaml's (through PyYAML); plain scalars are resolved by the core schema of YAML 1.2, so
``no`` is text, ``1:30`` is text and ``0o17`` is a number. Sequences become tuples.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from planner import shipped, units
from planner.currency import Currency
from planner.errors import Finding, InputError, clip, describe, suggest
from planner.files import contents, nearest_file, shorten_path
from planner.inputs import Document
from planner.paths import DataPath, dotted
from planner.removed import setting_successor
from planner.schema import Unit
from planner.schema.prices import ExchangeRate

ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_BYTES, MAX_NODES, MAX_DEPTH = 5_000_000, 500_000, 40

_BEGINS = {
    "problem file": "planner init writes one",
    "catalog": "begin with catalog: NAME, sources: and items:",
    "price book": "begin with price_book: NAME, sources: and prices:",
    "mapping": "planner quote import writes one, FILE.map.yaml",
    "file of overrides": "write for example site.facility_power: 12 MW",
}
"""Kinds of files, and the fix of one that is no mapping."""


def read_text(path: Path, what: str, *, most_bytes: int = MAX_BYTES, form: str = "YAML") -> str:
    """The text of a file.

    Raises:
        InputError: it cannot be read, or is no text in UTF-8.
    """
    name = shorten_path(path)
    content = contents(Path(name), most_bytes=most_bytes, what=what, missing=f"no such {what}")
    with suppress(UnicodeDecodeError):
        text = content.decode("utf-8-sig")
        if "\0" not in text:
            return text
    message = f"not a text file; a {what} is {form} in UTF-8"
    raise InputError(Finding("not-text", message, name, fix="save it as text in UTF-8"))


def read(path: Path, what: str = "problem file") -> Document:
    """The single YAML document of ``path``, which must be a mapping, with its digest.

    Args:
        path: the file.
        what: its kind, for messages.

    Raises:
        InputError: it cannot be read, is no YAML, or no mapping.
    """
    if not os.path.lexists(path):
        is_shipped = path.name in shipped.problem_files()
        fix = f"planner init {path.name}" if is_shipped else nearest_file(path) or _BEGINS[what]
        raise InputError(Finding("not-found", f"no such {what}", shorten_path(path), fix=fix))
    document = parse(read_text(path, what), shorten_path(path))
    if not isinstance(document.data, dict):
        kind = "empty" if document.data is None else "not a mapping of keys to values"
        message = f"the {what} is {kind}"
        raise InputError(Finding("not-a-mapping", message, document.file, 1, fix=_BEGINS[what]))
    document.folder = path.parent
    return document


def parse(text: str, file: str) -> Document:
    """The data of ``text``; ``file`` names it in messages.

    Raises:
        InputError: it is no YAML, or more than a planner file needs.
    """
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    document = Document(file, None, digest=digest)
    if deep := _NESTED_IN_A_LINE.search(text):
        raise InputError(_too_deep(file, text.count("\n", 0, deep.start()) + 1))
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise InputError(_syntax(error, file)) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        sign = f"the control character {found[0]!r}" if found else "a control character"
        message, fix = f"not readable as YAML: {sign}", "remove invisible characters"
        raise InputError(Finding("yaml", message, file, line, fix=fix)) from None
    document.data = None if node is None else _Reader(document).value(node, ())
    return document


def scalar(text: str, origin: str) -> Any:
    """A value given on the command line, read as YAML; ``origin`` names it in messages."""
    try:
        return parse(text, origin).data
    except InputError as error:
        raise error.placed(line=None) from None


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
    return _dumped(data, default_flow_style=None, allow_unicode=True, width=100)


def in_line(value: Any) -> str:
    """A value as YAML in one line."""
    text = _dumped(value, default_flow_style=True, width=9999)
    return text.removesuffix("\n").removesuffix("\n...")


def _dumped(data: Any, **form: Any) -> str:
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, **form))


# Nodes of libyaml as data.

_SYNTAX = (
    ("tab character", "a tab is used for indentation", "use spaces"),
    ("cannot start any token", "a tab, or a sign with a meaning in YAML", "put text in quotes"),
    (
        "sequence entries are not allowed",
        "an entry of a list is where none may be",
        "give it its own line",
    ),
    (
        "keys are not allowed",
        "a key is where none may be",
        "put text that begins with '?' in quotes",
    ),
    (
        "mapping values are not allowed",
        "a key is where none may be",
        "check the indentation, and put text that holds ': ' in quotes",
    ),
    ("expected ',' or", "a bracket that is opened here is not closed", "add ']' or '}'"),
    ("another document", "more than one document", "keep one and remove '---'"),
    ("undefined alias", "'*' refers to an '&' that is not above", "put text with '*' in quotes"),
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
_NESTED_IN_A_LINE = re.compile(r"(?:[-?:][ \t]+){500}")
"""Levels of a line that old versions of libyaml overflow the stack with."""


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Finding:
    problem = (error.problem or "syntax error").replace("\n", " ")
    began = any(words in problem for words in _OPENED) and error.context_mark is not None
    mark = error.context_mark if began else error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    if "nesting depth" in problem:  # libyaml's own limit
        return _too_deep(file, line)
    known = (row[1:] for row in _SYNTAX if row[0] in f"{error.context or ''} {problem}")
    message, fix = next(known, (problem, "put text with signs such as & * ! % @ ` in quotes"))
    return Finding("yaml", f"not readable as YAML: {message}", file, line, fix=fix)


def _too_deep(file: str, line: int | None) -> Finding:
    message, fix = f"nested deeper than {MAX_DEPTH} levels", "no planner file has half as many"
    return Finding("yaml-depth", message, file, line, fix=fix)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes whose tag is empty where none is written."""

    def resolve(self, *_: object) -> str:
        """The tag of a node without one."""
        return ""


@dataclass
class _Reader:
    """Turns nodes into data, with the line of every part in the document.

    A part that is used again through an alias keeps its lines. Guards against bombs of aliases,
    deep nesting, too many values and duplicate keys.
    """

    document: Document
    values: int = 0

    def value(self, node: yaml.Node, path: DataPath) -> Any:
        """The value of a node."""
        self.values += 1
        self.document.marks.setdefault(path, node.start_mark.line + 1)
        if self.values > MAX_NODES:
            message, fix = f"more than {MAX_NODES:,} values", "give fewer, and fewer aliases (*)"
            raise self._error("yaml-size", message, node, fix)
        if len(path) > MAX_DEPTH:
            raise InputError(_too_deep(self.document.file, node.start_mark.line + 1))
        if node.tag:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")[:60]
            fix = "remove it, and put text that looks like a number in quotes"
            raise self._error("yaml-tag", f"the tag '{tag}' is not allowed", node, fix)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        return tuple(self.value(each, (*path, at)) for at, each in enumerate(node.value))

    def _mapping(self, node: yaml.MappingNode, path: DataPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if isinstance(key, bool) or not isinstance(key, (int, str)):
                fix = "write 'key: value', and a key such as true in quotes"
                raise self._error("key", "a key must be text", key_node, fix)
            below = (*path, str(key))
            if str(key) in result:
                message = f"duplicate key '{key}' (first in line {self.document.marks[below]})"
                raise self._error("duplicate-key", message, key_node, "keep one of them")
            self.document.marks[below] = key_node.start_mark.line + 1
            result[str(key)] = self.value(value_node, below)
        return result

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.style:  # quoted or block text is text; plain scalars have an empty style
            return text
        try:
            return _plain(text)
        except (ValueError, OverflowError):
            message = f"'{text[:30]}...' is not a sensible number"
            fix = "write fewer digits, for example 70 B or 60 MUSD"
            raise self._error("number", message, node, fix) from None

    def _error(self, code: str, message: str, node: yaml.Node, fix: str) -> InputError:
        line = node.start_mark.line + 1
        return InputError(Finding(code, message, self.document.file, line, fix=fix))


_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NAN_OR_INF = re.compile(r"\.(nan|NaN|NAN)\Z|[-+]?\.(inf|Inf|INF)\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _plain(text: str) -> str | float | bool | None:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        number = int(text, 0 if text[:2] in ("0o", "0x") else 10)
        float(number)  # raises OverflowError where no message could hold its digits
        return number
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
    is_path = name.endswith((".yaml", ".yml"))
    if name in known or (is_path and os.path.exists(file)):  # noqa: PTH110  (False of odd names)
        return known.get(name, file)
    if is_path:
        folder = "this folder" if document.folder == Path() else shorten_path(document.folder)
        counts = f"the path counts from {folder}"
        fix = nearest_file(file) or ("check the path" if Path(name).is_absolute() else counts)
    else:
        fix = suggest(name, list(known), "name a .yaml file, or a shipped one")
    message = f"no such {what}: '{clip(name, 120)}'"
    raise InputError(Finding("not-found", message, *document.place(path), dotted(path), fix))


# Data as models.


def validated(model: type[ModelT], document: Document, rates: units.Rates | None = None) -> ModelT:
    """The document as a model, amounts at the rates given, else at those that it states.

    Raises:
        InputError: all findings, or that the file is of another kind.
    """
    _refuse_other_kind(model, document)
    rates = _rates_in(document.data) if rates is None else rates
    try:
        return model.model_validate(document.data, context={"rates": rates})
    except ValidationError as error:
        found = findings(error, document, model)
    settings = {dotted(p): mark for p, mark in document.marks.items() if isinstance(mark, str)}
    if settings:
        found = list(_blame_settings(found, settings, model, document, rates))
    raise InputError(found)


def _blame_settings(
    found: Iterable[Finding],
    settings: Mapping[str, str],
    model: type[BaseModel],
    document: Document,
    rates: units.Rates,
) -> Iterator[Finding]:
    """Yield findings; contradictions that the file itself does not have are the settings'."""
    own = set[str]()
    try:
        model.model_validate(document.bare, context={"rates": rates})
    except ValidationError as error:
        bare = replace(document, data=document.bare, marks={})
        own = {finding.message for finding in findings(error, bare, model)}
    for finding in found:
        inside = f"{finding.path}." if finding.path else ""
        causes = [mark for path, mark in settings.items() if path.startswith(inside)]
        is_new = finding.file == document.file and finding.message not in own
        place = " ".join(dict.fromkeys(causes))
        yield replace(finding, file=place, line=None) if is_new and causes else finding


def _rates_in(data: Mapping[str, Any]) -> dict[str, Currency]:
    """The exchange rates of a file that are right."""
    stated, rates = data.get("exchange"), dict[str, Currency]()
    for code, rate in stated.items() if isinstance(stated, dict) else ():
        with suppress(ValidationError):
            rates[code] = ExchangeRate.model_validate(rate).as_currency(code)
    return rates


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

_MAPPING = "expected a mapping of keys to values, found {found}"
_FAULTS: dict[str, tuple[str, str, str | None]] = {
    "string_type": ("type", "expected text, found {found}", "write one text, or leave it out"),
    "int_type": ("type", "expected a whole number, found {found}", "write for example 8"),
    "bool_type": ("type", "expected true or false, found {found}", "write it without quotes"),
    "tuple_type": ("type", "expected a list, found {found}", "write [a, b], or '- a' in each line"),
    "dict_type": ("type", _MAPPING, "write 'key: value' in each line"),
    **dict.fromkeys(("model_type", "model_attributes_type"), ("type", _MAPPING, None)),
    "string_too_short": ("type", "the text is empty", "give a text, or leave the key out"),
    "string_too_long": ("type", "the text has over {max_length:,} letters", "shorten it"),
    "too_short": ("type", "the list is empty", "give one entry"),
    "too_long": ("type", "the list has over {max_length:,} entries", "give fewer"),
    "greater_than_equal": ("range", "{value} is out of range: expected at least {ge:,}", None),
    "less_than_equal": ("range", "{value} is out of range: expected at most {le:,}", None),
}
"""Code, cause and fix by the type of pydantic's error."""
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
    if kind.endswith("_type") or (kind == "quantity" and isinstance(value, (dict, tuple))):
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
    if kind in {"missing", "union_tag_not_found", "extra_forbidden"}:
        return _key_words(detail, path, model)
    if kind in {"literal_error", "union_tag_invalid"}:
        expected = str(context.get("expected") or context.get("expected_tags", ""))
        options = [part.strip("' ") for part in expected.replace(" or ", ", ").split(",")]
        text = context.get("tag", value)
        return "choice", f"{describe(text)} is not known here", suggest(str(text), options)
    if kind in _FAULTS:
        code, message, fix = _FAULTS[kind]
        if kind.startswith("model"):
            fix = f"its keys: {', '.join(sorted(_fields(model, path)))}"
        elif kind == "string_type" and isinstance(value, (int, float)):
            fix = f"put it in quotes: '{describe(value)}'"
        texts = {"found": describe(value), "value": describe(value), **context}
        return code, message.format(**texts), fix
    if kind == "string_pattern_mismatch":
        fix = _PATTERNS.get(context["pattern"], f"it must match {context['pattern']}")
        return "text", f"{describe(value)} is not well formed", fix
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
        return "removed-setting", f"the setting {describe(path[-1])} is gone", instead
    key, known = str(path[-1]), sorted(_fields(model, path[:-1]))
    fix = suggest(key, known) if len(path) > 1 else suggest_key(key, known, model)
    return "unknown-key", f"unknown key {describe(path[-1])}", fix


def _example(name: str, field: FieldInfo | None) -> str:
    """A value of a field, or its choices."""
    if name in _EXAMPLES or field is None:
        return _EXAMPLES.get(name, "...")
    if get_origin(field.annotation) is Literal:
        return f"and one of: {', '.join(map(str, get_args(field.annotation)))}"
    units = [mark.dimension.examples[0] for mark in field.metadata if isinstance(mark, Unit)]
    return units[0] if units else "a whole number" if field.annotation is int else "..."


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


def suggest_key(key: str, known: Sequence[str], model: type[BaseModel]) -> str:
    """A hint at the places of a key that is none of a whole file, else at its known keys."""
    places = sorted(_places(model, key, 2), key=lambda place: place.count("."))
    return f"did you mean '{places[0]}'?" if places else suggest(key, known)


def _places(model: type[BaseModel], key: str, depth: int) -> Iterator[str]:
    """Yield the paths below a model, so deep at most, that end in a key."""
    for name, field in by_key(model).items():
        inner = f"{name}.0" if get_origin(field.annotation) is tuple else name
        if name == key:
            yield name
        elif depth and get_origin(field.annotation) is not dict:
            for below in _models(field.annotation):
                yield from (f"{inner}.{place}" for place in _places(below, key, depth - 1))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside an annotation: through unions, lists, mappings."""
    parts = get_args(annotation)
    if isinstance(annotation, type) and not parts and issubclass(annotation, BaseModel):
        yield annotation
    for part in parts[:1] if get_origin(annotation) is Annotated else parts:
        yield from _models(part)
