"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from planner.errors import Finding, InputError


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none: all are complete beside their targets before one is renamed.

    Args:
        contents: bytes by path; folders that do not exist are made.

    Raises:
        InputError: a folder or file cannot be written, or the disk is full.
    """
    ready: dict[Path, Path] = {}
    try:
        for path, data in contents.items():
            ready[path] = _beside(path, data)
        for path, temporary in ready.items():
            if path.is_dir():
                raise IsADirectoryError(21, "is a folder", str(path))
            temporary.replace(path)
    except OSError as error:
        where = str(error.filename or next(iter(contents), ""))
        reason = (error.strerror or str(error)).lower()
        raise InputError(Finding("unwritable", f"cannot write: {reason}", where)) from None
    finally:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)


def _beside(path: Path, data: bytes) -> Path:
    """Write ``data`` to a temporary file in the target's folder and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
    except OSError as error:
        temporary.unlink(missing_ok=True)
        error.filename = str(path)
        raise
    return temporary


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
