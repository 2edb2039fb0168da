"""What was read, checked and joined of catalogs and price books, kept for the next command.

To parse and check the shipped ones takes a sixth of a `solve`, a quarter of a `check`. They are
kept in the user's cache folder, under a name that stands for all that they depend on but the bytes
of the files: what was asked for, from where, and the code that reads. Whoever takes one out still
compares the bytes of every file with those that it was read from.

What is kept is trusted no further than the files are: folder and file belong to the user and nobody
else may write to them, the bytes are those that were written, and nothing but classes of catalogs
and prices is made of them. Where anything is the matter, the files are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import VERSION

import planner

Kind = TypeVar("Kind")
FOLDER = "PLANNER_CACHE"
"""The folder to keep it in; empty for none."""
MOST = 16
"""So many are kept; of more the oldest go."""
MOST_BYTES = 20_000_000

_ENDING = ".offered"
_DIGEST_BYTES = hashlib.sha256().digest_size
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_HOMES = frozenset(
    ("planner.loader", "planner.loader.market", "planner.schema.catalog", "planner.schema.prices")
)
_MADE = frozenset((("planner.errors", "Finding"), (type(Path()).__module__, type(Path()).__name__)))


class _Reader(pickle.Unpickler):
    """Unpickles catalogs, prices and their figures, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of catalogs and prices, or what makes one of their figures."""
        if "." not in name and (module in _HOMES or (module, name) in _MADE):
            found = super().find_class(module, name)
            if isinstance(found, type) or (module, name) == ("planner.schema.catalog", "_figure"):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not kept")


def name_of(asked: object) -> str:
    """Return the name under which is kept what was asked for, by this code."""
    parts = (asked, _code(), sys.version, VERSION, planner.__version__)
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest() + _ENDING


@cache
def _code() -> tuple[tuple[str, int, int], ...]:
    """Return name, size and time of every file of planner: what another one would read differs."""
    return tuple(sorted(_files(str(Path(planner.__file__).parent))))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _files(entry.path)


def _folder() -> Path | None:
    """Return the folder to keep things in, None where there is none."""
    named = os.environ.get(FOLDER)
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "planner"
    except RuntimeError:  # nobody's process has no home
        return None


def _is_own(found: os.stat_result, kind: int) -> bool:
    mine = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
    return mine and stat.S_IFMT(found.st_mode) == kind


def load_kept(name: str, kind: type[Kind]) -> Kind | None:
    """Return what is kept under a name; None where nothing is, or nothing that can be trusted."""
    folder = _folder()
    if folder is None or not hasattr(os, "geteuid"):
        return None
    try:
        if not _is_own(folder.lstat(), stat.S_IFDIR):
            return None
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            if not _is_own(os.fstat(handle), stat.S_IFREG):
                return None
            digest, data = stream.read(_DIGEST_BYTES), stream.read(MOST_BYTES + 1)
        if hashlib.sha256(data).digest() != digest:
            return None
        value = _Reader(io.BytesIO(data)).load()
        return value if isinstance(value, kind) else None
    except Exception:  # whatever is the matter with it, the files are there
        return None


def keep(name: str, value: object) -> None:
    """Keep a value under a name, where that can be done."""
    folder = _folder()
    if folder is None or not hasattr(os, "geteuid"):
        return
    data = pickle.dumps(value, protocol=5)
    if len(data) > MOST_BYTES:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(folder.lstat(), stat.S_IFDIR):
            return
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".")  # for its owner alone
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(data).digest() + data)
            Path(temporary).replace(folder / name)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
        _remove_old(folder)


def _remove_old(folder: Path) -> None:
    kept = sorted(folder.glob(f"*{_ENDING}"), key=lambda path: -path.stat().st_mtime)
    for path in kept[MOST:]:
        path.unlink(missing_ok=True)
