"""YAML files as plain data with the line of every key: the only place that reads YAML.

Scanning is libyaml's (through PyYAML); plain scalars are resolved by the core schema of YAML 1.2,
so ``no`` is text, ``1:30`` is text and ``0o17`` is a number. Sequences become tuples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from planner.errors import Finding, InputError

Path_ = tuple[str | int, ...]
MAX_BYTES = 5_000_000
MAX_NODES = 200_000
MAX_DEPTH = 40

_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".nan": float("nan"), ".NaN": float("nan"), ".NAN": float("nan"),
}  # fmt: skip
_INFINITE = re.compile(r"([-+]?)(\.inf|\.Inf|\.INF)\Z")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Document:
    """The data of one file and where each part of it stands."""

    file: str
    data: Any
    lines: dict[Path_, int] = field(default_factory=dict)

    def line(self, path: Path_) -> int | None:
        """Return the line of ``path`` or of its nearest known ancestor."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def shown(path: Path) -> str:
    """Return ``path`` as the user would write it: relative where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def read_text(path: Path, what: str) -> str:
    """Return the file's text; raise InputError in one line where that cannot be done."""
    name = shown(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(Finding("too-large", f"{what} is larger than 5 MB", name))
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(Finding("not-found", f"no such {what}", name)) from None
    except IsADirectoryError:
        raise InputError(
            Finding("not-a-file", f"expected a {what}, found a folder", name)
        ) from None
    except OSError as error:
        text = (error.strerror or "cannot be read").lower()
        raise InputError(Finding("unreadable", f"cannot read the {what}: {text}", name)) from None
    except ValueError:
        raise InputError(Finding("not-found", f"not a path of a {what}", repr(name))) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(_binary(name, what)) from None
    if "\0" in text:
        raise InputError(_binary(name, what))
    return text


def _binary(name: str, what: str) -> Finding:
    return Finding("not-text", f"not a text file; a {what} is YAML in UTF-8", name)


def read(path: Path, what: str = "problem file") -> Document:
    """Return the single YAML document of ``path``, which must be a mapping."""
    document = parse(read_text(path, what), shown(path), what)
    if not isinstance(document.data, dict):
        kind = "empty" if document.data is None else "not a mapping of keys to values"
        raise InputError(Finding("not-a-mapping", f"the {what} is {kind}", document.file, 1))
    return document


def parse(text: str, file: str, what: str = "problem file") -> Document:
    """Return the data of ``text``; ``file`` names it in messages."""
    document = Document(file, None)
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise InputError(_syntax(error, file)) from None
    except yaml.YAMLError as error:
        message = f"not readable as YAML: {_first_line(error)}"
        raise InputError(Finding("yaml", message, file)) from None
    except RecursionError:
        raise InputError(Finding("yaml-depth", "nested too deeply", file)) from None
    if node is not None:
        document.data = _Builder(document).build(node, (), ())
    return document


def scalar(text: str) -> Any:
    """Return a value given on the command line, read as YAML."""
    return parse(text, "--set").data


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    problem = (error.problem or "syntax error").replace("\n", " ")
    if "expected a single document" in (error.context or ""):
        problem = "more than one document; keep one and remove '---'"
    elif "\\t" in problem or "tab" in problem.lower():
        problem = "a tab is used for indentation; use spaces"
    return Finding("yaml", f"not readable as YAML: {problem}", file, line)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["syntax error"])[0][:200]


class _Builder:
    """Turns nodes into data, with guards against bombs, cycles and duplicate keys."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def build(self, node: Any, path: Path_, parents: tuple[int, ...]) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        self.document.lines.setdefault(path, line)
        if id(node) in parents:
            raise self._error("yaml-cycle", "an alias refers to itself", line)
        if self.nodes > MAX_NODES:
            raise self._error("yaml-bomb", f"aliases expand to over {MAX_NODES:,} values", line)
        if len(parents) > MAX_DEPTH:
            raise self._error("yaml-depth", f"nested deeper than {MAX_DEPTH} levels", line)
        below = (*parents, id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, below)
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return tuple(self.build(child, (*path, index), below) for index, child in items)
        return self._scalar(node, line)

    def _mapping(self, node: Any, path: Path_, parents: tuple[int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._key(key_node, line)
            below = (*path, key)
            if key in result:
                first = self.document.lines[below]
                message = f"key '{key}' stands twice (first in line {first})"
                raise self._error("duplicate-key", message, line)
            self.document.lines[below] = line
            result[key] = self.build(value_node, below, parents)
        return result

    def _key(self, node: Any, line: int) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error("key", "a key must be text", line)
        value = self._scalar(node, line)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self._error("key", f"the key {node.value!r} must be text in quotes", line)
        return value

    def _scalar(self, node: Any, line: int) -> Any:
        if node.tag.startswith("!") or "python" in node.tag:
            raise self._error("yaml-tag", f"the tag {node.tag!r} is not allowed", line)
        text: str = node.value
        if node.style:  # quoted or block text is text; libyaml gives plain scalars an empty style
            return text
        if text in _SPECIAL:
            return _SPECIAL[text]
        try:
            return _number(text)
        except (ValueError, OverflowError):
            raise self._error(
                "number", f"'{text[:30]}...' is not a sensible number", line
            ) from None

    def _error(self, code: str, message: str, line: int) -> InputError:
        return InputError(Finding(code, message, self.document.file, line))


def _number(text: str) -> str | int | float:
    if _INT.match(text):
        return int(text)
    if _BASED.match(text):
        return int(text, 0)
    if _FLOAT.match(text):
        return float(text)
    if match := _INFINITE.match(text):
        return float(f"{match[1]}inf")
    return text
