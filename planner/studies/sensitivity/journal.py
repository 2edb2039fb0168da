"""What of a sweep is done, on disk: so that one that was interrupted goes on where it stopped."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError
from planner.outputs import sweep_files
from planner.studies.sensitivity.scenarios import Row
from planner.whole_files import OTHER_FOLDER, missing_folders

KEY, LOCK = "key", "lock"

_OWN = re.compile(r"\d{8,}\.(parquet|new)|key")
"""What a journal writes: nothing else in its folder is removed."""
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
"""How disks say that they know no locks, as some of clusters are set up: one sweep is as before."""


class Journal:
    """The finished pieces of one sweep, in a folder of their own; each is there whole or not.

    A folder of another sweep, or of this one asked otherwise, is emptied. As long as the journal is
    open the folder is locked: two sweeps would take each other's pieces away. The system lets the
    lock go with the process, however that ends. No link is followed: a folder that is one, or
    has anything but plain files in it, is refused.
    """

    def __init__(self, folder: Path, key: str) -> None:
        """Open the journal.

        Args:
            folder: where it is.
            key: what this sweep is, so that no other one's rows are taken for its own.

        Raises:
            InputError: the folder cannot be made or written to, or another sweep is at work in it.
        """
        self.folder = folder
        self._made = missing_folders([folder / KEY]) or [folder]
        with _naming(folder):
            self._at, self._lock = _locked(folder)
        try:
            with _naming(folder):
                self._open(key)
        except BaseException:
            self.close()
            raise

    def _open(self, key: str) -> None:
        for entry in self._there():
            if not entry.is_file(follow_symlinks=False):
                message = "a sweep keeps nothing but plain files here, and this is none"
                raise InputError(
                    Finding("partial", message, str(self.folder / entry.name), fix="remove it")
                )
        key_file = self.folder / KEY
        if not key_file.exists() or key_file.read_text("utf-8", "replace") != key:
            self._remove_all()
            key_file.write_text(key)

    def has(self, number: int) -> bool:
        """Say whether a piece is done, and can be read."""
        try:
            return bool(self.columns(number))
        except (OSError, ValueError):  # none, or one that the machine did not get onto its disk
            return False

    def put(self, number: int, rows: Sequence[Row]) -> None:
        """Keep the rows of a piece.

        Raises:
            InputError: they cannot be written; the journal stays as it was.
        """
        path = self._path(number)
        temporary = path.with_suffix(".new")
        try:
            with _naming(self.folder):
                sweep_files.save(temporary, rows)
                temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def values(self, number: int) -> dict[str, list[Any]]:
        """Return the rows of a piece that is done, by column."""
        return sweep_files.columns_of(self._path(number))

    def columns(self, number: int) -> list[str]:
        """Return the names of what the rows of a piece have."""
        return sweep_files.names(self._path(number))

    @property
    def empty(self) -> bool:
        """Whether no piece is done."""
        return not any(entry.name.endswith(".parquet") for entry in self._there())

    def forget(self) -> None:
        """Remove the journal, and the folders that were made for it if nothing else is in them."""
        with suppress(OSError):
            self._remove_all()
            os.unlink(LOCK, dir_fd=self._at)
            for folder in self._made:
                folder.rmdir()

    def close(self) -> None:
        """Unlock the folder for other sweeps."""
        for handle in (self._lock, self._at):
            os.close(handle)

    def _remove_all(self) -> None:
        for entry in self._there():
            if _OWN.fullmatch(entry.name):
                os.unlink(entry.name, dir_fd=self._at)

    def _there(self) -> list[os.DirEntry[str]]:
        with os.scandir(self._at) as there:
            return list(there)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.parquet"


def _locked(folder: Path) -> tuple[int, int]:
    """Return the folder and its lock, both open; the folder is made where there is none."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            message = "this is a link; what a sweep keeps is not put elsewhere"
            fix = f"remove the link, or {OTHER_FOLDER}"
            raise InputError(Finding("partial", message, str(folder), fix=fix))
        at = lock = -1
        try:
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666, dir_fd=at)
            _lock(lock, folder)
            if os.path.samestat(os.fstat(lock), os.lstat(folder / LOCK)):
                return at, lock
        except FileNotFoundError:
            pass  # the sweep that was at work here has just ended and taken all away
        except BaseException:
            _close(at, lock)
            raise
        _close(at, lock)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 32).decode("ascii", "replace").strip()
        message = "another sweep is writing these results" + (holder and f" (process {holder})")
        fix = f"wait for its end, or {OTHER_FOLDER}"
        raise InputError(Finding("locked", message, str(folder), fix=fix)) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())


def _close(*handles: int) -> None:
    for handle in handles:
        if handle >= 0:
            os.close(handle)


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into one line."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        fix = "free some space and start it again: what is done is kept"
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            fix = OTHER_FOLDER
        finding = Finding("unwritable", f"cannot write: {why}", str(folder), fix=fix)
        raise InputError(finding) from None
