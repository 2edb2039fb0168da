"""What of a sweep is done, on disk: so that one that was interrupted goes on where it stopped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.errors import Finding, InputError
from planner.outputs import sweep_parquet
from planner.studies.sensitivity.scenario import Row

KEY = "key"


class Journal:
    """The finished pieces of one sweep, in a folder of their own; each is there whole or not.

    A folder of another sweep, or of this one asked otherwise, is emptied.
    """

    def __init__(self, folder: Path, key: str) -> None:
        """Open the journal.

        Args:
            folder: where it is.
            key: what this sweep is, so that no other one's rows are taken for its own.

        Raises:
            InputError: the folder cannot be made or written to.
        """
        self.folder = folder
        with _naming(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            told = self.folder / KEY
            if not told.exists() or told.read_text() != key:
                for old in self.folder.iterdir():
                    old.unlink()
                told.write_text(key)

    def has(self, number: int) -> bool:
        """Say whether a piece is done."""
        return self._path(number).exists()

    def put(self, number: int, rows: Sequence[Row]) -> None:
        """Keep the rows of a piece.

        Raises:
            InputError: they cannot be written; the journal stays as it was.
        """
        path = self._path(number)
        temporary = path.with_suffix(".new")
        try:
            with _naming(self.folder):
                sweep_parquet.save(temporary, rows)
                temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def rows(self, number: int) -> list[Row]:
        """Return the rows of a piece that is done."""
        return sweep_parquet.load(self._path(number))

    def columns(self, number: int) -> list[str]:
        """Return the names of what the rows of a piece have."""
        return sweep_parquet.names(self._path(number))

    def forget(self) -> None:
        """Remove the journal."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.parquet"


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Turn what the system says of the journal into one line."""
    try:
        yield
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        fix = "free some space and start it again: what is done is kept"
        finding = Finding("unwritable", f"cannot write: {said}", str(folder), fix=fix)
        raise InputError(finding) from None
