"""YAML files as plain data with the line of every key: the only place that reads YAML.

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
from typing import Any

import yaml

from planner.errors import Finding, InputError
from planner.inputs import Document
from planner.paths import DataPath, job_path
from planner.untrusted_files import contents

OVERRIDES = "file of overrides"
MAX_BYTES, MAX_NODES, MAX_DEPTH = 5_000_000, 500_000, 40

_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{
        f"{sign}{name}": float(f"{sign}inf")
        for sign in ("", "+", "-")
        for name in (".inf", ".Inf", ".INF")
    },
}
_TAGS = {None, "!"} | {
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
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
    if any("\ud800" <= letter <= "\udfff" for letter in name):  # bytes that are no UTF-8
        message = f"the name of the {what} is not text"
        raise InputError(Finding("file-name", message, ascii(name), fix="rename it"))
    try:
        content = contents(path, most_bytes=most_bytes, what=what, missing=f"no such {what}")
        text = content.decode("utf-8-sig")
    except InputError as error:
        (finding,) = error.findings
        new = finding.code == "not-found" and what == "problem file"
        fix = "planner init writes one" if new else finding.fix
        raise InputError(replace(finding, file=name, fix=fix)) from None
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
        text, digest = read_text(path, what)
    document = parse(text, shorten_path(path))
    if not isinstance(document.data, dict):
        kind = "empty" if document.data is None else "not a mapping of keys to values"
        fixes = {
            "problem file": "start from an example: planner init",
            OVERRIDES: f"write for example {job_path('checkpoint.size')}: 13.8 TB",
        }
        fix = fixes.get(what, f"begin with '{what.replace(' ', '_')}: ' and its title")
        message = f"the {what} is {kind}"
        raise InputError(Finding("not-a-mapping", message, document.file, 1, fix=fix))
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
        """A text, in quotes where it would be read as a number, a Boolean or null."""
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
    ("cannot start any token", "a character that no value begins with", "put the text in quotes"),
    ("unexpected end of stream", "a quote that is opened here is not closed", "add the quote"),
)
"""Words of libyaml, the cause in plain words, the fix."""
_OPENED = ("unexpected end of stream", "expected ',' or", "could not find expected ':'")
"""Words of faults whose cause is where the context began."""


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Finding:
    problem = (error.problem or "syntax error").replace("\n", " ")
    began = any(words in problem for words in _OPENED) and error.context_mark is not None
    mark = error.context_mark if began else error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    if "nesting depth" in problem:  # libyaml's own limit, which it meets first where '[' follow '['
        return _too_deep(file, line)
    known = (row[1:] for row in _SYNTAX if row[0] in f"{error.context or ''} {problem}")
    message, fix = next(known, (problem, None))
    return Finding("yaml", f"not readable as YAML: {message}", file, line, fix=fix)


def _too_deep(file: str, line: int | None) -> Finding:
    message = f"nested deeper than {MAX_DEPTH} levels"
    return Finding("yaml-depth", message, file, line, fix="no planner file needs more than ten")


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
        self._guard(1, path, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        if event.tag not in _TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")[:60]
            message = f"the tag '{tag}' is not allowed"
            raise self._error("yaml-tag", message, event, "remove it: plain values are enough")
        before = len(self.lines)
        data = self._content(event, path)
        if event.anchor is not None:
            parts = islice(self.lines.items(), before, None)
            self.anchors[event.anchor] = data, [(p[len(path) :], line) for p, line in parts]
        return data

    def _guard(self, values: int, path: DataPath, event: Any) -> None:
        self.values += values
        if self.values > MAX_NODES:
            message, fix = f"more than {MAX_NODES:,} values", "no planner file needs them"
            raise self._error("yaml-size", message, event, fix)
        if len(path) > MAX_DEPTH:
            raise InputError(_too_deep(self.file, event.start_mark.line + 1))

    def _alias(self, event: Any, path: DataPath) -> Any:
        """The value of an anchor, the lines of its parts where they are written."""
        if event.anchor not in self.anchors:
            message = "not readable as YAML: '*' refers to an '&' that is not above"
            raise self._error("yaml", message, event, "put text with '*' in quotes")
        data, parts = self.anchors[event.anchor]
        for place, line in parts:
            self._guard(1, (*path, *place), event)
            self.lines[(*path, *place)] = line
        return data

    def _content(self, event: Any, path: DataPath) -> Any:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                items.append(self.value(event, (*path, len(items))))
            return tuple(items)
        return self._scalar(event)

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
    if text in _SPECIAL:
        return _SPECIAL[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INT.match(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    return float(text) if _FLOAT.match(text) else text
