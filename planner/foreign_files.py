"""Files from elsewhere: only plain ones are opened, and none larger than its reader can bear.

A device, a pipe or a socket may never end, and opening one can wait for ever, so what stands behind
a name is looked at before it is opened.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
        path: the file.
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
