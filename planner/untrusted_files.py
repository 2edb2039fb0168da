"""Files from elsewhere: only plain ones are opened, and none larger than its reader can bear.

A device, a pipe or a socket may never end, and opening one can block for ever, so the kind of a
file is checked before it is opened. JSON is taken only where all readers of it find the same.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError

MISSING = "there is no such file"


def regular(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> int:
    """The size of a plain file in bytes; links are followed.

    Args:
        path: the file.
        most_bytes: the largest size that its reader can bear.
        what: the kind of file, such as "trace"; also the code of its findings.
        missing: the message where it does not exist.

    Raises:
        InputError: it does not exist, is no plain file, or is larger.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise _unreachable(path, error, what, missing) from None
    _must_be_plain(path, found.st_mode, what)
    if found.st_size > most_bytes:
        raise _too_large(path, most_bytes, what)
    return found.st_size


def contents(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> bytes:
    """All of a plain file that is read at once.

    The opened file is checked again, and no more is read than is allowed: the name may lead
    elsewhere by then, and some files of the system claim to be empty and never end.

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
        raise _too_large(path, most_bytes, what)
    return found


def json_of(data: bytes, name: str, fix: str) -> Any:
    """The data of a JSON file, with or without a byte order mark.

    Args:
        data: the bytes of the file.
        name: its name in messages.
        fix: the file that would be right.

    Raises:
        InputError: it is no JSON, or has a duplicate key: of its two values one reader takes the
            first, another the last.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            key, line = _second_key(text)
            message, fix = f"duplicate key '{key[:60]}'", "keep one of them"
            raise InputError(Finding("duplicate-key", message, name, line, fix=fix))
        return found

    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        message = f"this is no JSON: {error.msg.lower()}"
        raise InputError(Finding("json", message, name, error.lineno, fix=fix)) from None
    except (ValueError, RecursionError):  # bytes that are no text, or brackets without end
        raise InputError(Finding("json", "this is no JSON", name, fix=fix)) from None


def _second_key(text: str) -> tuple[str, int]:
    """The first key that its object has already, and its line, in JSON with such a key."""
    keys: list[set[str]] = []
    for token in re.finditer(r'[{}]|("(?:[^"\\]|\\.)*")(\s*:)?', text):
        if token[0] == "{":
            keys.append(set())
        elif token[0] == "}":
            keys.pop()
        elif token[2]:
            if (key := json.loads(token[1])) in keys[-1]:
                return key, text.count("\n", 0, token.start()) + 1
            keys[-1].add(key)
    raise AssertionError("no key is there twice")


def _must_be_plain(path: Path, mode: int, what: str) -> None:
    if stat.S_ISREG(mode):
        return
    folder = stat.S_ISDIR(mode)
    kind = "a folder" if folder else "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
    fix = "name a file in it" if folder else "write its content into a file first"
    raise InputError(Finding(_code(what), f"is {kind}, not a file", str(path), fix=fix))


def _unreachable(path: Path, error: Exception, what: str, missing: str) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(Finding("not-found", missing, str(path)))
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(Finding(_code(what), f"cannot be read: {reason.lower()}", str(path)))


def _too_large(path: Path, most: int, what: str) -> InputError:
    message = f"is larger than {in_words(most)}, the most that a {what} may have"
    return InputError(Finding(_code(what), message, str(path), fix="give less of it"))


def _code(what: str) -> str:
    return what.replace(" ", "-")


def in_words(size: int) -> str:
    """A number of bytes in the largest unit that fits."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"
