"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from planner.errors import Finding, InputError

_ELSEWHERE = "choose another folder with -o"
_FIXES = {
    errno.ENOSPC: f"free some space, or {_ELSEWHERE}",
    errno.EDQUOT: f"free some space, or {_ELSEWHERE}",
    errno.EISDIR: f"remove that folder, or {_ELSEWHERE}",
    errno.EEXIST: "the output must be a folder: " + _ELSEWHERE,
    errno.ENOTDIR: "the output must be a folder: " + _ELSEWHERE,
}


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none: all are complete beside their targets before one is replaced.

    Args:
        contents: bytes by path; folders that do not exist are made.

    Raises:
        InputError: a folder or file cannot be written, or the disk is full.
    """
    made = _missing_folders(contents)
    ready: dict[Path, Path] = {}
    try:
        for path, data in contents.items():
            ready[path] = _beside(path, data)
        _replace_all(ready)
    except InputError:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _missing_folders(paths: Iterable[Path]) -> list[Path]:
    """Return the folders that will have to be made, the deepest first."""
    folders = {folder for path in paths for folder in path.parents}
    with contextlib.suppress(OSError):
        folders = {folder for folder in folders if not folder.exists()}
    return sorted(folders, key=lambda folder: -len(folder.parts))


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what the system says of any file on the way into one line about ``path``."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = _FIXES.get(error.errno or 0, _ELSEWHERE)
        if isinstance(error, PermissionError) and path.is_file():
            fix = f"close it where it is open, or {_ELSEWHERE}"
        raise InputError(
            Finding("unwritable", f"cannot write: {reason}", str(path), fix=fix)
        ) from None


def _beside(path: Path, data: bytes) -> Path:
    """Write ``data`` to a temporary file in the target's folder and return it."""
    with _naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of this name")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o666 & ~_umask())
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    return temporary


def _replace_all(ready: Mapping[Path, Path]) -> None:
    """Put every finished file in its place; where one cannot be, take the others back."""
    former: dict[Path, bytes | None] = {}
    try:
        for path, temporary in ready.items():
            with _naming(path):
                before = path.read_bytes() if path.exists() else None
                temporary.replace(path)
                former[path] = before
    except InputError:
        for path, before in former.items():
            with contextlib.suppress(OSError, InputError):
                path.unlink() if before is None else _beside(path, before).replace(path)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
