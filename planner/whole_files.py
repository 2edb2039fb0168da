"""Files that are written whole or not at all; every output of every command is written here.

What a name stands for decides how:

    nothing, or a plain file     made complete beside it, then put in its place
    a link                       the file that it leads to, in the same way; the link stays
    a pipe, a character device   written to, once all is complete
    anything else                refused: a folder, a disk, a socket, a stream that is open already

Nothing but a plain file is ever replaced or removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from planner.errors import Finding, InputError

OTHER_FOLDER = "choose another folder with -o"
OTHER_NAME = "choose another name"
READER_S = 10.0
"""So long is waited for somebody to read from a pipe."""

put_in_place: list[Path] = []
"""What this process has written, in order: one that is interrupted can say so."""

_PROCESSES = "/proc/"
_LINKS = 40
"""As many links in a row as the system follows."""
_KINDS = {
    stat.S_IFDIR: "there is a folder of this name",
    stat.S_IFBLK: "a disk has this name",
    stat.S_IFSOCK: "a socket has this name",
}
_STREAMS = (stat.S_IFIFO, stat.S_IFCHR)


class _NotAFileError(OSError):
    """A name stands for something that is neither replaced nor written to."""


class _Place(NamedTuple):
    """Where a file goes: ``path``, which stands for ``real``, plain or a ``stream``."""

    path: Path
    real: Path
    stream: int | None = None

    def temporary(self) -> Path:
        """Return a new file where this one can be made complete."""
        if self.stream is not None:
            handle, name = tempfile.mkstemp(prefix="planner.")
        else:
            handle, name = tempfile.mkstemp(dir=self.real.parent, prefix=f".{self.real.name[:40]}.")
        os.close(handle)
        return Path(name)


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none: all are complete before one is put in its place.

    Args:
        contents: bytes by path; folders that do not exist are made.

    Raises:
        InputError: a folder or file cannot be written, or the disk is full; all is as before.
    """
    with whole(tuple(contents)) as temporaries:
        for temporary, (path, data) in zip(temporaries, contents.items(), strict=True):
            with _naming(path, OTHER_FOLDER):
                temporary.write_bytes(data)


@contextlib.contextmanager
def whole(targets: Sequence[Path], elsewhere: str = OTHER_FOLDER) -> Iterator[list[Path]]:
    """Yield a temporary file for each target; put all in place where all went well.

    Args:
        targets: where the files go; folders that do not exist are made.
        elsewhere: what helps where a name cannot be written to.

    Raises:
        InputError: a file cannot be written, or the disk is full; all is as before.
    """
    folders = missing_folders(targets)
    ready: dict[_Place, Path] = {}
    try:
        for target in targets:
            with _naming(target, elsewhere):
                place = _place(target)
                ready[place] = place.temporary()
        with _naming(targets[0] if len(targets) == 1 else targets[0].parent, elsewhere):
            yield list(ready.values())
        _finish(ready, elsewhere)
        folders = []
    finally:
        for left in ready.values():
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def remove(path: Path) -> None:
    """Remove what an earlier run wrote, if it is there; what is no plain file stays."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode):
            path.unlink()


def missing_folders(paths: Iterable[Path]) -> list[Path]:
    """Return the folders that will have to be made, the deepest first."""
    folders = {folder for path in paths for folder in path.parents}
    with contextlib.suppress(OSError):
        folders = {folder for folder in folders if not folder.exists()}
    return sorted(folders, key=lambda folder: -len(folder.parts))


@contextlib.contextmanager
def _naming(path: Path, elsewhere: str) -> Iterator[None]:
    """Turn what the system says of any file on the way into one line about ``path``."""
    try:
        yield
    except RecursionError:  # pathlib calls itself for each folder that it makes
        message = "cannot write: too many folders in one another"
        raise InputError(Finding("unwritable", message, str(path), fix=elsewhere)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        fix = {
            errno.ENOSPC: f"free some space, or {elsewhere}",
            errno.EDQUOT: f"free some space, or {elsewhere}",
            errno.EISDIR: f"remove that folder, or {elsewhere}",
            errno.EEXIST: f"a folder is needed where a file is: {elsewhere}",
            errno.ENOTDIR: f"a folder is needed where a file is: {elsewhere}",
            errno.ENXIO: f"start what reads from it first, or {elsewhere}",
        }.get(error.errno or 0, elsewhere)
        if not isinstance(error, _NotAFileError):
            reason = reason.lower()
        if isinstance(error, PermissionError) and path.is_file():
            fix = f"close it where it is open, or {elsewhere}"
        raise InputError(
            Finding("unwritable", f"cannot write: {reason}", str(path), fix=fix)
        ) from None


def _place(path: Path) -> _Place:
    """Tell where a file goes.

    Raises:
        OSError: it can go nowhere.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:  # also a link to what is not there yet
        kind = stat.S_IFREG
    if kind in _STREAMS:
        return _Place(path, path, kind)
    if kind != stat.S_IFREG:
        number = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
        raise _NotAFileError(number, _KINDS.get(kind, "it is no plain file"))
    if _is_open_stream(path):
        raise _NotAFileError(errno.EINVAL, "this name stands for a stream that is open")
    return _Place(path, Path(os.path.realpath(path)))


def _is_open_stream(path: Path) -> bool:
    """Say whether a name leads to what a process has open, as /dev/stdout does."""
    for _ in range(_LINKS):
        folder = os.path.realpath(path.parent)
        if f"{folder}/".startswith(_PROCESSES):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return False


def _finish(ready: Mapping[_Place, Path], elsewhere: str) -> None:
    """Bring every finished file to its place; what can still fail for many reasons comes first."""
    for place, temporary in ready.items():
        if place.stream is None:
            with _naming(place.path, elsewhere):
                temporary.chmod(0o666 & ~_umask())
                _settle(temporary)
    for place, temporary in ready.items():
        if place.stream is not None:
            with _naming(place.path, elsewhere):
                _pour(temporary, place)
    _replace_all({place: each for place, each in ready.items() if place.stream is None}, elsewhere)
    put_in_place.extend(place.path for place in ready)


def _settle(path: Path) -> None:
    """Have the system put a file on the disk."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _pour(source: Path, into: _Place) -> None:
    """Write a file into a pipe or device; a pipe needs somebody who reads from it."""
    until = time.monotonic() + READER_S
    while True:
        try:  # without waiting: to open a pipe that nobody reads from would never end
            handle = os.open(into.path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or into.stream != stat.S_IFIFO:
                raise
            if time.monotonic() > until:
                raise _NotAFileError(errno.ENXIO, "nobody reads from this pipe") from None
            time.sleep(0.05)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as stream, source.open("rb") as data:
        shutil.copyfileobj(data, stream)


def _replace_all(ready: Mapping[_Place, Path], elsewhere: str) -> None:
    """Put every finished file in its place; where one cannot be, take the others back."""
    former: dict[Path, Path | None] = {}
    try:
        for place, temporary in ready.items():
            with _naming(place.path, elsewhere):
                former[place.real] = _kept(place)
                temporary.replace(place.real)
    except BaseException:
        for real, before in former.items():
            with contextlib.suppress(OSError):
                real.unlink() if before is None else before.replace(real)
        raise
    finally:
        for before in former.values():
            if before is not None:
                with contextlib.suppress(OSError):
                    before.unlink(missing_ok=True)


def _kept(place: _Place) -> Path | None:
    """Return another name for the file that is about to be replaced, None where there is none."""
    if not place.real.exists():
        return None
    kept = place.temporary()
    kept.unlink()
    try:
        os.link(place.real, kept)
    except OSError:  # not every disk knows a second name
        shutil.copy2(place.real, kept)
    return kept


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
