"""Files from elsewhere: only plain ones are opened, and none larger than its reader can bear.
JSON among them is taken only where all who read it find the same.

A device, a pipe or a socket may never end, and opening one can wait for ever, so what stands behind
a name is looked at before it is opened.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


MISSING = "there is no such file"


def regular(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> int:
    """Return how many bytes a plain file has; links are followed.

    Args:
        most_bytes: what its reader can bear.
        what: what the file is, such as "trace"; also the code of what is wrong with it.
        missing: what is said where it is not there.

    Raises:
        InputError: it is not there, is no plain file, or is larger.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise _unreachable(path, error, what, missing) from None
    _must_be_plain(path, found.st_mode, what)
    if found.st_size > most_bytes:
        raise _too_large(path, found.st_size, most_bytes, what)
    return found.st_size


def contents(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> bytes:
    """Return all of a plain file that is read at once.

    What was opened is looked at again, and no more is read than is allowed: the name may lead
    elsewhere by then, and some files of the system say that they are empty and never end.

    Raises:
        InputError: it cannot be read, is no plain file, or is larger.
    """
    regular(path, most_bytes=most_bytes, what=what, missing=missing)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as stream:
            _must_be_plain(path, os.fstat(handle).st_mode, what)
            found = stream.read(most_bytes + 1)
    except OSError as error:
        raise _unreachable(path, error, what, missing) from None
    if len(found) > most_bytes:
        raise _too_large(path, len(found), most_bytes, what)
    return found


_TOKEN = re.compile(r'[{}\[\]]|("(?:[^"\\]|\\.)*")(\s*:)?')
"""Brackets, texts, and texts that are keys."""


def json_of(data: bytes, name: str, fix: str) -> Any:
    """Return what JSON holds, with or without a byte order mark.

    Args:
        data: the bytes of the file.
        name: what it goes by in what is said of it.
        fix: which file would be right.

    Raises:
        InputError: it is no JSON, or a key stands twice: of its two values one reader takes the
            first, another the last.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _twice(text, name)
        return found

    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        message = f"this is no JSON: {error.msg.lower()}"
        raise InputError(Finding("json", message, name, error.lineno, fix=fix)) from None
    except (ValueError, RecursionError):  # bytes that are no text, or brackets without end
        raise InputError(Finding("json", "this is no JSON", name, fix=fix)) from None


def _twice(text: str, name: str) -> InputError:
    """Return what is said of the first key that stands twice in one pair of braces."""
    message, line = "a key stands twice", None
    keys: list[dict[str, int]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            keys.append({})
        elif token[0] in "}]":
            keys.pop()
        elif token[2]:
            key, line = json.loads(token[1]), text.count("\n", 0, token.start()) + 1
            if key in keys[-1]:
                message = f"key '{key[:60]}' stands twice (first in line {keys[-1][key]})"
                break
            keys[-1][key] = line
    return InputError(Finding("duplicate-key", message, name, line, fix="keep one of them"))


def _must_be_plain(path: Path, mode: int, what: str) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "no plain file")
    fix = "name a file in it" if kind == "a folder" else "put what it gives into a file first"
    raise InputError(Finding(_code(what), f"is {kind}, not a file", str(path), fix=fix))


def _unreachable(path: Path, error: Exception, what: str, missing: str) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(Finding("not-found", missing, str(path)))
    said = getattr(error, "strerror", None) or str(error)
    return InputError(Finding(_code(what), f"cannot be read: {said.lower()}", str(path)))


def _too_large(path: Path, size: int, most: int, what: str) -> InputError:
    had, may = in_words(size), in_words(most)
    message = f"has {had}, and a {what} may have {may} at most"
    if had == may:  # by a little, or nobody knows by how much
        message = f"is larger than {may}, the most that a {what} may have"
    return InputError(Finding(_code(what), message, str(path), fix="give less of it"))


def _code(what: str) -> str:
    return what.replace(" ", "-")


def in_words(size: int) -> str:
    """Return a number of bytes as it is read best."""
    for unit, worth in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= worth:
            return f"{size / worth:.3g} {unit}"
    return f"{size} bytes"
