"""Output files, written whole or not at all: made complete beside their place, then renamed.

A link stays and the file behind it is replaced. Folders, pipes, devices and sockets are refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planner.errors import Finding, InputError

OTHER_FOLDER = "choose another folder with -o"
OTHER_NAME = "choose another name"

put_in_place: list[Path] = []
"""Files that this process has written, in order."""

_FIXES = {
    errno.ENOSPC: "free some space, or {}",
    errno.EDQUOT: "free some space, or {}",
    errno.EISDIR: "remove that folder, or {}",
    errno.EEXIST: "a folder is needed where a file is: {}",
    errno.ENOTDIR: "a folder is needed where a file is: {}",
}


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none; missing folders are made.

    Raises:
        InputError: a folder or file cannot be written, or the disk is full.
    """
    with whole(tuple(contents)) as temporaries:
        for temporary, (path, data) in zip(temporaries, contents.items(), strict=True):
            with _naming(path, OTHER_FOLDER):
                temporary.write_bytes(data)


@contextlib.contextmanager
def whole(targets: Sequence[Path], elsewhere: str = OTHER_FOLDER) -> Iterator[list[Path]]:
    """Yield a temporary file for each target; rename all of them at the end, unless it raises.

    Args:
        targets: the files; missing folders are made.
        elsewhere: the fix where a name cannot be written to.

    Raises:
        InputError: a file cannot be written, or the disk is full.
    """
    made: list[Path] = []
    ready: dict[Path, Path] = {}
    try:
        for target in targets:
            with _naming(target, elsewhere):
                made += [each for each in target.parents if not each.exists()][::-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                real = _real_path(target)
                ready[target] = real.with_name(f".{real.name[:40]}.{secrets.token_hex(4)}")
                ready[target].open("xb").close()
        with _naming(targets[0] if len(targets) == 1 else targets[0].parent, elsewhere):
            yield list(ready.values())
        for target, temporary in ready.items():
            with _naming(target, elsewhere):
                temporary.replace(_real_path(target))
        put_in_place.extend(ready)
    except BaseException:
        for left in (*ready.values(), *reversed(made)):
            with contextlib.suppress(OSError):
                left.rmdir() if left in made else left.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Remove a plain file of an earlier run, if it exists."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode):
            path.unlink()


@contextlib.contextmanager
def _naming(path: Path, elsewhere: str) -> Iterator[None]:
    """Turn any error of the system into one line about ``path``."""
    try:
        yield
    except RecursionError:  # pathlib calls itself for each folder that it makes
        message = "cannot write: too many folders in one another"
        raise InputError(Finding("unwritable", message, str(path), fix=elsewhere)) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = _FIXES.get(error.errno or 0, "{}").format(elsewhere)
        if isinstance(error, PermissionError) and path.is_file():
            fix = f"close it where it is open, or {elsewhere}"
        raise InputError(
            Finding("unwritable", f"cannot write: {reason}", str(path), fix=fix)
        ) from None


def _real_path(path: Path) -> Path:
    """The plain file behind a path, links followed; OSError of a folder, pipe, device or socket."""
    if path.is_relative_to("/dev") or path.is_relative_to("/proc"):
        raise OSError(errno.EINVAL, "a device or a stream, not a file")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:  # also a link to a missing file
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "there is a folder of this name")
        raise OSError(errno.EINVAL, "a pipe, device or socket, not a file")
    return Path(os.path.realpath(path))
